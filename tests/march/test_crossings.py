"""Crossings in a run that is over are those that its events saw."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.march.crossings import _before, crossings
from taut.problems import problem


@pytest.mark.parametrize("direction", ["up", "down", "both"])
@pytest.mark.parametrize("method", ["rattle", "gauss-lobatto-6", "time-element-independent"])
def test_the_same_states_as_events_find(direction, method):
    given = problem("zg-double")
    event = taut.Event(given.system.coordinates[0], direction=direction, name="e")
    run = given.simulate(method=method, events=[event], duration=10)
    found, seen = crossings(run, event), run.events["e"]
    assert len(found) == len(seen) > 5
    np.testing.assert_allclose(found.t, seen.t, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.q, seen.q, rtol=0, atol=1e-12)
    assert np.abs(found.q[:, 0]).max() < 1e-13


def test_between_states_that_are_stored_rarely():
    given = problem("zg-double")
    event = taut.Event(given.system.coordinates[0])
    every, few = (given.simulate(every=k) for k in (1, 10))
    np.testing.assert_allclose(
        crossings(few, event).t, crossings(every, event).t, rtol=0, atol=1e-9
    )


def test_varying_steps():
    x, y = taut.coordinates("x y")
    kepler = taut.System([x, y], mass=[1, 1], potential=-1 / sp.sqrt(x**2 + y**2))
    settings = {"q0": [1, 0], "v0": [0, 0.7], "duration": 20, "step": 0.02,
                "method": taut.Adaptive("rattle", scale=(x**2 + y**2) ** 0.75)}  # fmt: skip
    run = taut.simulate(kepler, **settings)
    found = crossings(run, taut.Event(y, direction="up"))
    assert len(found) > 2
    assert np.abs(found.q[:, 1]).max() < 1e-14
    with pytest.raises(taut.InputError, match="every"):
        crossings(taut.simulate(kepler, **settings, every=3), taut.Event(y))


@pytest.mark.parametrize(
    ("values", "direction", "rows"),
    [
        ([-1, 1, -1, 1], 0, [0, 1, 2]),
        ([-1, 1, -1, 1], 1, [0, 2]),
        ([-1, 1, -1, 1], -1, [1]),
        ([-1, 0, 1], 1, [1]),
        ([0, 1, 0, 1], 0, []),
        ([0, 0, 0], 0, []),
        ([-1, np.nan, 1], 0, []),
        ([-1, 1, np.nan, np.nan], 0, [0]),
    ],
)
def test_signs(values, direction, rows):
    assert _before(np.array(values, dtype=float), direction).tolist() == rows
