"""Order on a mass that depends on time and place: every link must be made at its own time."""

from functools import cache

import numpy as np
import pytest
import sympy as sp

import taut
from taut.methods import CATALOGUE

x, y, z = Q = taut.coordinates("x y z")
GROWING = 1 + sp.sin(2 * taut.t) / 2
MASS = [[2 * GROWING + x**2, 0, 0], [0, 1 + y**2, sp.cos(taut.t) / 4], [0, sp.cos(taut.t) / 4, 2]]
SYSTEM = taut.System(Q, mass=MASS, potential=z + x * y, constraints=[x**2 + y**2 + z**2 - 1])
START = {"q0": [0.6, 0, 0.8], "v0": [0, 1, 0], "duration": 1}
COUNTS = {
    1: (200, 400),
    2: (50, 100),
    4: (24, 48),
    5: (24, 40),
    6: (12, 18),
    8: (9, 12),
    10: (4, 5),
}


@cache
def exact() -> np.ndarray:
    """Gauss–Lobatto of order 12; DOP853 on the index-1 equations, at many steps, agrees."""
    fine = taut.simulate(SYSTEM, **START, step=1 / 64, method=taut.GaussLobatto(6))
    other = taut.simulate(SYSTEM, **START, step=1 / 400, method="dop853")
    assert np.abs(fine.q[-1] - other.q[-1]).max() < 1e-12
    return np.concatenate([fine.q[-1], fine.p[-1]])


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_order(name):
    order = CATALOGUE[name].order
    counts, errors = COUNTS[order], []
    for count in counts:
        run = taut.simulate(SYSTEM, **START, step=1 / count, method=name)
        errors.append(np.abs(np.concatenate([run.q[-1], run.p[-1]]) - exact()).max())
    assert errors[1] > 1e-14
    slope = np.log(errors[0] / errors[1]) / np.log(counts[1] / counts[0])
    assert slope > order - 0.12 * order - 0.1
