"""Charts: which coordinates are bound, and in which order they are eliminated."""

from __future__ import annotations

import numpy as np
import pytest

import taut
from taut.march.charts import threshold


def test_a_zero_on_the_diagonal_does_not_stop_the_independent_form():
    """G_bound is regular, but its first pivot in the order of the coordinates is zero."""
    a, b, c, d, e, f = q = taut.coordinates("a b c d e f")
    system = taut.System(
        q,
        mass=[1] * 6,
        potential=10 * f,
        constraints=[
            a**2 + b**2 - 1,
            (a - 1) ** 2 + b**2 - 2,
            (c - 3) ** 2 + d**2 - 1,
            (c - 4) ** 2 + d**2 - 2,
            (e - a) ** 2 + (f - b) ** 2 - 1,
        ],
    )
    start = {"q0": [0, 1, 3, 1, 1, 1], "v0": 0, "duration": 2, "step": 0.01}
    one = taut.simulate(system, **start, method="time-element")
    other = taut.simulate(system, **start, method="time-element-independent")
    assert np.abs(one.q - other.q).max() < 1e-12
    assert np.ptp(one.q[:, 5]) > 0.5, "nothing moves"


@pytest.mark.parametrize(("n", "c"), [(2, 1), (4, 2), (6, 2), (9, 3), (12, 6)])
def test_the_best_chart_passes_the_threshold(n, c):
    """By Cauchy-Binet some chart reaches 1/sqrt(binomial); pivoting must find one good enough."""
    rng = np.random.default_rng(n * 100 + c)
    for _ in range(50):
        matrix = rng.standard_normal((c, n))
        from scipy.linalg import qr

        bound = qr(matrix, mode="r", pivoting=True)[1][:c]
        volume = np.sqrt(np.linalg.det(matrix @ matrix.T))
        assert abs(np.linalg.det(matrix[:, bound])) / volume > threshold(n, c)


def test_a_run_keeps_the_model_it_was_given():
    """Equal systems share compiled code, but each run belongs to its own model."""
    x, y = taut.coordinates("x y")
    build = lambda name: taut.System(  # noqa: E731
        [x, y],
        mass=[1, 1],
        potential=y,
        constraints=[x**2 + y**2 - 1],
        drawing=taut.Drawing({name: (x, y)}),
    )
    one, other = build("first"), build("second")
    start = {"q0": [1, 0], "v0": 0, "duration": 1, "step": 0.1}
    assert taut.simulate(one, **start).system is one
    run = taut.simulate(other, **start)
    assert run.system is other
    assert run.continue_(1).system is other
