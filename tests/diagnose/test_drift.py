"""The drift estimate: finds drifts, does not invent them, and its interval is honest."""

from __future__ import annotations

import numpy as np
import pytest

from taut.diagnose.drift import drift_of, pooled


def noise(rng, n: int, rho: float) -> np.ndarray:
    """An AR(1) series with unit variance."""
    e = rng.standard_normal(n) * np.sqrt(1 - rho**2)
    y = np.empty(n)
    y[0] = rng.standard_normal()
    for k in range(1, n):
        y[k] = rho * y[k - 1] + e[k]
    return y


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_interval_covers_the_truth(rho):
    """Without a drift the 95 % interval contains zero about as often as it says."""
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(400):
        y = noise(rng, 200, rho)
        d = drift_of(y, 1.0, 200.0, float(np.ptp(y)))
        inside += abs(d.slope) <= d.half_width
    assert inside >= 0.92 * 400


@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_slope_is_unbiased_and_found(rho):
    rng = np.random.default_rng(2)
    slopes, found = [], 0
    for _ in range(100):
        y = noise(rng, 250, rho) + 0.2 * np.arange(250)
        d = drift_of(y, 1.0, 250.0, float(np.ptp(y)))
        slopes.append(d.slope)
        found += d.significant
    assert found >= (97 if rho == 0.0 else 85)
    assert np.mean(slopes) == pytest.approx(0.2, rel=0.02)


def test_bent_drift_is_a_drift():
    """Growth that accelerates is not mistaken for slow noise."""
    t = np.arange(256.0)
    y = t**2 + 500 * np.sin(t)
    d = drift_of(y, 1.0, 256.0, float(np.ptp(y)))
    assert d.significant
    assert d.relative == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("periods", [3.3, 10.7, 60.2])
def test_oscillation_is_no_drift(periods):
    y = np.sin(2 * np.pi * periods * np.arange(256) / 256)
    assert not drift_of(y, 1.0, 256.0, 2.0).significant


def test_units_of_time():
    """The slope is per unit of time, the relative drift is not."""
    y = np.linspace(0, 1, 64) + 1e-3 * np.sin(np.arange(64))
    slow, fast = drift_of(y, 1.0, 64.0, 1.0), drift_of(y, 0.5, 32.0, 1.0)
    assert fast.slope == pytest.approx(2 * slow.slope)
    assert fast.relative == pytest.approx(slow.relative)


def test_too_few_values_claim_nothing():
    d = drift_of(np.array([0.0, 1.0, 2.0]), 1.0, 3.0, 2.0)
    assert np.isinf(d.half_width)
    assert not d.significant


def test_no_band_no_drift():
    d = drift_of(np.zeros(64), 1.0, 64.0, 0.0)
    assert d.relative == 0.0
    assert not d.significant


def test_many_trajectories_are_judged_together():
    """Of many driftless trajectories some look like drifting; together they do not."""
    rng = np.random.default_rng(3)
    series = [noise(rng, 100, 0.3) for _ in range(300)]
    drifts = [drift_of(y, 1.0, 100.0, float(np.ptp(y))) for y in series]
    assert any(d.significant for d in drifts)
    assert not pooled(drifts).significant
    tilted = [drift_of(y + 0.01 * np.arange(100), 1.0, 100.0, float(np.ptp(y))) for y in series]
    assert pooled(tilted).significant
    assert pooled(drifts[:1]) is drifts[0]


def test_trajectories_that_go_side_by_side_count_once():
    """Eight copies of a slow oscillation of which a part is seen know no more than one."""
    rng = np.random.default_rng(5)
    y = noise(rng, 400, 0.9)
    one = drift_of(y, 1.0, 400.0, float(np.ptp(y)))
    for spread in (0.0, 1e-3):
        near = [y + spread * noise(rng, 400, 0.9) for _ in range(8)]
        many = pooled([drift_of(x, 1.0, 400.0, float(np.ptp(x))) for x in near])
        assert many.half_width == pytest.approx(one.half_width, rel=0.05)
    apart = [noise(rng, 400, 0.9) for _ in range(64)]
    many = pooled([drift_of(x, 1.0, 400.0, float(np.ptp(x))) for x in apart])
    assert many.half_width < one.half_width / 3


def test_turns_are_changes_of_direction():
    t = np.arange(200.0)

    def turns(y):
        return drift_of(y, 1.0, 200.0, float(np.ptp(y))).turns

    assert turns(t) == turns(-np.exp(t / 40)) == 0
    assert turns(t + 8 * np.sin(t / 4)) == 0  # a ripple is no turn
    assert turns(np.sin(np.pi * t / 200)) == 1
    assert turns(np.cos(6 * np.pi * t / 200)) in (5, 6)
    assert pooled([drift_of(y, 1.0, 200.0, 1.0) for y in (t, np.sin(t / 10))]).turns == 0
