"""Steps of beams and fields: those that resolve the motion, those that do not, and rest."""

from itertools import pairwise

import numpy as np
import pytest

import taut
from taut.march.field_halving import halved_field

SOFT = {"section": taut.Square(0.05), "density": 1000, "young": 1e7, "poisson": 0.3, "nodes": 9}


def bent(size=0.05, at=(0, 0, 0), **options):
    """A free beam that is bent, and let go."""
    beam = taut.Beam(1, **SOFT, at=at)
    strain = np.zeros((8, 6))
    strain[:, 0] = size * np.sin(np.pi * beam.middles) ** 2
    return taut.simulate(beam, **{"strain0": strain, "duration": 0.1} | options)


def test_errors_of_steps_fall_with_their_cube():
    usual = bent()
    found = [halved_field(bent(step=usual.step / share)) for share in (1, 2, 4)]
    assert found[0].error < 0.05
    for coarse, fine in pairwise(found):
        assert not fine.still
        assert coarse.error / fine.error == pytest.approx(8, rel=0.2)


def test_implicit_steps_that_are_too_large_are_found_out():
    """A thousandth of the first mode's period, and three of them."""
    period = 2 * np.pi / taut.modes(taut.Beam(1, **SOFT), count=8).frequencies[6]
    fine, coarse = (
        halved_field(bent(method="implicit", step=share * period, duration=40 * share * period))
        for share in (1e-3, 3)
    )
    assert fine.error < 0.05
    assert coarse.error > 0.3


@pytest.mark.parametrize("method", ["variational", "implicit"])
def test_rest_is_rest_and_motion_is_motion_wherever_it_is(method):
    settings = {"method": method, "step": 1e-4, "duration": 0.01}
    for at in ((0, 0, 0), (1e6, -1e6, 0)):
        assert halved_field(bent(0.0, at, **settings)).still
        moving = halved_field(bent(1e-3, at, **settings))
        assert not moving.still
        assert moving.error < 0.05
