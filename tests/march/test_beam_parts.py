"""Beams of mechanisms in motion: the twin of `taut.Beam`, momenta, energy, and steps."""

from itertools import pairwise

import numpy as np
import pytest

import taut
from taut.lie import SO3

SPIN = np.array([15.0, 10.0, -20.0])
ROD = taut.Beam(
    1, taut.Rectangle(0.1, 0.05), density=1000, young=1e7, poisson=0.3, nodes=9,
    frame=(1, 0, 0), curvature=(0.3, 0.2, 0.5),
)  # fmt: skip
DURATION = 0.01


def free() -> taut.Mechanism:
    """A bent beam that spins, and is bent by that."""
    m = taut.Mechanism()
    m.beam("rod", ROD, angular_velocity=SPIN)
    return m


@pytest.fixture(scope="module")
def runs():
    """The same motion of the mechanism and of the beam, with steps h and h/2."""
    mesh = ROD.mesh()
    frames, places = mesh.pose[:, :3, :3], mesh.pose[:, :3, 3]
    moving = np.cross(SPIN, places - places[0])
    v0 = np.hstack([np.einsum("nji,j->ni", frames, SPIN), np.einsum("nji,nj->ni", frames, moving)])
    m, found = free(), []
    for parts in (50, 100):
        step = DURATION / parts
        found.append(
            (
                taut.simulate(m, duration=DURATION, step=step, laws=None),
                taut.simulate(ROD, v0=v0, duration=DURATION, step=step),
            )
        )
    return found


def test_it_moves_as_the_beam_does_to_second_order_of_the_step(runs):
    """Both are the same beam in space, so that they differ by the error of their steps alone."""
    for name in ("positions", "strain"):
        coarse, fine = (
            np.abs(getattr(one["rod"], name)[-1] - getattr(two, name)[-1]).max()
            for one, two in runs
        )
        assert coarse < 0.02 * np.abs(getattr(runs[0][1], name)[-1]).max()
        assert coarse / fine == pytest.approx(4, rel=0.1), name


def test_views_agree_with_those_of_the_beam(runs):
    one, two = runs[0]
    seen = one["rod"]
    for name in ("positions", "frames", "velocity", "kinetic", "energy", "angular_momentum"):
        np.testing.assert_allclose(getattr(seen, name)[0], getattr(two, name)[0], atol=1e-9)
    assert seen.stress.shape == two.stress.shape
    np.testing.assert_allclose(seen.energy, one.energy, rtol=1e-12)
    assert "9 nodes" in repr(seen)


def test_a_free_beam_keeps_momenta_to_round_off_and_energy_in_a_band(runs):
    seen = runs[0][0]["rod"]
    for momentum in (seen.linear_momentum, seen.angular_momentum):
        assert np.abs(momentum - momentum[0]).max() < 1e-12 * np.abs(momentum).max()
    assert np.ptp(seen.potential) > 1e-3 * seen.energy[0]  # it is bent
    assert np.ptp(seen.energy) < 1e-5 * seen.energy[0]


def test_flying_spaghetti_is_where_others_find_it():
    """Simo & Vu-Quoc 1988 in space at t = 2; the reference has six digits."""
    ends = np.array([[1.647067, 8.093373, 0.281818], [4.068264, -0.496175, -0.223947]])
    errors = []
    for nodes in (11, 21):
        stiff, heavy = (500, 500, 500, 1e4, 1e4, 1e4), (10, 20, 10, 1, 1, 1)
        rod = taut.Beam(
            10, inertia=heavy, stiffness=stiff, nodes=nodes, at=(0, 8, 0), frame=(0.6, -0.8, 0)
        )
        pull = 80 * taut.t
        rod.load(at="tip", force=(pull / 10, 0, 0), moment=(0, pull / 2, -pull))
        m = taut.Mechanism()
        m.beam("rod", rod)
        seen = taut.simulate(m, duration=2.0, laws=None)["rod"]
        errors.append(np.abs(seen.positions[-1, [0, -1]] - ends).max())
        np.testing.assert_allclose(seen.linear_momentum[-1], (16, 0, 0), atol=1e-12)
    assert errors[1] < 0.01
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)


def test_steps_are_half_of_what_is_stable_unless_given():
    m = free()
    limit = m.stable_step()
    run = taut.simulate(m, duration=DURATION, laws=None)
    assert 0.45 * limit < run.step <= 0.5 * limit
    with pytest.warns(taut.UnstableStep, match="limit of stability of beams"):
        taut.simulate(m, duration=3 * limit, step=1.5 * limit, laws=None)
    with pytest.raises(taut.TautError, match="implicit method needs a step"):
        taut.simulate(m, duration=DURATION, method="energy-momentum", laws=None)
    assert taut.Mechanism().stable_step() == np.inf


def test_bodies_between_springs_may_rest_at_zero():
    """Forces that cancel leave round-off, which is no length that steps are measured by."""
    m = taut.Mechanism()
    box = {"mass": 1, "inertia": (1.0, 1.5, 2.0)}
    turns = [SO3.exp(0.1 * k * np.array([1.0, 0.3, 0.5])) for k in range(12)]
    row = [
        m.body(f"b{k}", **box, at=(k, 0, 0), rotation=turns[k], angular_velocity=(0.1 * k, 0.2, 0))
        for k in range(12)
    ]
    off = np.array([0.1, 0.2, 0.1])
    for a, b in pairwise(row):
        m.spring(a, b, stiffness=1.0, ends=(a.position + off, b.position - off))
    run = taut.simulate(m, duration=0.1, step=0.01, laws=None)
    assert run.t[-1] == pytest.approx(0.1)
