"""Turns from node to node: how much moments are off, and where it is said."""

import numpy as np
import pytest

import taut
from taut.fields.turning import excess, turn_per_edge, turning

SOFT = {"density": 1000, "young": 1e7, "poisson": 0.3}


def twisted(angle, nodes=9):
    """A beam that is twisted by this angle per edge: it, and its strains."""
    beam = taut.Beam(1, taut.Circle(0.05), nodes=nodes, **SOFT)
    strain = np.zeros((nodes - 1, 6))
    strain[:, 1] = 2 * np.tan(angle / 2) / beam.spacing
    return beam, strain


def test_angles_and_what_they_cost():
    assert turn_per_edge(np.array([[0.0, 2 * np.tan(0.3), 0, 5, 5, 5]])) == pytest.approx(0.6)
    assert excess(0.0) == 0.0
    assert excess(np.pi / 2) == pytest.approx(4 / np.pi - 1)
    assert excess(0.1) == pytest.approx(0.1**2 / 12, rel=1e-2)
    assert turning(0.1) == []
    assert [turning(x)[0][2].split(":")[0] for x in (0.4, 1.0)] == ["coarse", "unresolved"]


@pytest.mark.parametrize("angle", [0.1, 0.4, 1.2])
def test_moments_are_off_by_as_much(angle):
    """The moment of a twist against G J θ/L."""
    beam, strain = twisted(angle)
    run = taut.simulate(beam, strain0=strain, duration=1e-4, step=1e-5)
    facts = run.certificate
    assert facts.turn_per_edge == pytest.approx(angle, rel=0.02)
    exact = 1e7 / 2.6 * np.pi / 2 * 0.05**4 * angle * 8
    assert run.stress[0, 4, 1] / exact - 1 == pytest.approx(excess(angle), rel=0.05)
    rows = [row for row in facts.rows() if row[0] == "turn per edge"]
    assert rows == turning(facts.turn_per_edge)
    assert bool(rows) == (angle > 0.25)
    assert facts.to_dict()["turn_per_edge"] == facts.turn_per_edge


def test_equilibria_and_modes_say_it():
    """A cantilever that a moment rolls up: θ per edge is that of the constant curvature."""
    beam = taut.Beam(1, taut.Square(0.05), nodes=9, ends=("clamped", "free"), **SOFT)
    stiffness = 1e7 * 0.05**4 / 12
    for moment, word in ((0.5, None), (8.0, "unresolved")):
        rest = taut.equilibrium(beam.load(moment=(0, 0, moment * stiffness)))
        angle = 2 * np.arctan(moment / 8 / 2)
        assert rest.turn_per_edge == pytest.approx(angle, rel=0.1)  # in the large
        assert rest.to_dict()["turn_per_edge"] == rest.turn_per_edge
        assert ("unresolved: use more nodes" in str(rest)) == bool(word)
        motions = taut.modes(rest, count=2)
        assert ("unresolved: use more nodes" in motions.title()) == bool(word)
        assert motions.to_dict()["turn_per_edge"] == rest.turn_per_edge
