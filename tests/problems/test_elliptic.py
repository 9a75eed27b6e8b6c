"""The closed forms against mpmath in 30 digits."""

import mpmath as mp
import numpy as np
import pytest

from taut.problems.elliptic import (
    full_turn,
    over_the_top,
    plane_angle,
    plane_period,
    spherical_height,
    spherical_motion,
    third_kind,
)


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(30):
        yield


@pytest.mark.parametrize("cosine", [0.99, 0.5, 0.0, -0.5, -0.99])
@pytest.mark.parametrize("periods", [0.0, 0.1, 0.25, 0.6, 0.75, 3.9, 1000.3])
def test_plane_angle_is_the_jacobi_solution(cosine, periods):
    gravity = 9.81
    m = (1 - mp.mpf(cosine)) / 2
    period = 4 * mp.ellipk(m) / mp.sqrt(gravity)
    assert plane_period(cosine, gravity) == pytest.approx(float(period), rel=1e-15)
    t = periods * plane_period(cosine, gravity)
    u = mp.ellipk(m) - mp.sqrt(gravity) * mp.mpf(t)
    sn, cn, dn = (mp.ellipfun(name, u, m=m) for name in ("sn", "cn", "dn"))
    expected = [2 * mp.sqrt(m) * sn * dn, 1 - 2 * m * sn**2, -2 * mp.sqrt(m * gravity) * cn]
    # t itself is known to 1 ulp only: that is 1000 times more of a period after 1000 periods.
    accuracy = 2e-15 * max(20.0, 20.0 * periods)
    np.testing.assert_allclose(
        plane_angle(t, cosine, gravity), [float(x) for x in expected], atol=accuracy, rtol=0
    )


@pytest.mark.parametrize("rate", [0.1, 1.0, -2.5, 30.0])
@pytest.mark.parametrize("turns", [0.0, 0.2, 0.5, 0.9, 3.25, 1000.3])
def test_over_the_top_is_the_jacobi_solution(rate, turns):
    gravity = 11.445
    square = mp.mpf(rate) ** 2 / 4 + gravity
    m, omega = gravity / square, mp.sqrt(square)
    assert full_turn(rate, gravity) == pytest.approx(float(2 * mp.ellipk(m) / omega), rel=1e-15)
    t = turns * full_turn(rate, gravity)
    u = omega * mp.mpf(t) - mp.ellipk(m)
    sn, cn, dn = (mp.ellipfun(name, u, m=m) for name in ("sn", "cn", "dn"))
    sign = 1 if rate > 0 else -1
    expected = [-sign * 2 * sn * cn, 2 * sn**2 - 1, sign * 2 * omega * dn]
    # what t is rounded by, times the rates of the three
    accuracy = 1e-15 * max(20.0, 20.0 * turns) * max(1.0, abs(rate)) ** 2
    np.testing.assert_allclose(
        over_the_top(t, rate, gravity), [float(x) for x in expected], atol=accuracy, rtol=0
    )


@pytest.mark.parametrize("n", [0.9, 0.3, -0.5, -40.0])
@pytest.mark.parametrize("amplitude", [-7.0, -1.0, 0.0, 0.5, 1.5, 1.6, 3.2, 40.0])
def testthird_kind_is_mpmaths_for_every_amplitude(n, amplitude):
    expected = mp.ellippi(mp.mpf(n), mp.mpf(amplitude), mp.mpf(0.3))
    found = third_kind(n, np.asarray(amplitude), 0.3)
    assert float(found) == pytest.approx(float(mp.re(expected)), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize(
    ("height", "speed"), [(-0.995, 0.06), (0.0, 1.0), (0.9, 0.1), (-0.5, 2.5), (0.995, 0.06)]
)
def test_height_of_the_spherical_pendulum_turns_where_the_cubic_vanishes(height, speed):
    radius = (1 - height**2) ** 0.5
    swing = spherical_height(radius, height, speed, 9.81)
    (other,) = (z for w in swing[:2] if abs((z := w - 1) - height) > 1e-9)
    energy, spin = speed**2 / 2 + 9.81 * height, speed**2 * (1 - height**2)
    assert 2 * (energy - 9.81 * other) * (1 - other**2) - spin == pytest.approx(0, abs=1e-13)
    assert -1 < other < 1
    # Half a period of the height later the pendulum is there, and moves horizontally again.
    motion = spherical_motion((radius, 0, height), (0, speed, 0), 9.81)
    q, v = motion(float(mp.ellipk(swing.m)) / swing.rate)
    assert q[2] == pytest.approx(other, abs=1e-13)
    assert v[2] == pytest.approx(0, abs=1e-12)


def test_azimuth_follows_small_ellipses_near_the_bottom():
    """Linear theory: q ≈ (a cos √g t, b sin √g t), up to the amplitude squared."""
    a, b = 1e-4, 5e-5
    motion = spherical_motion((a, 0, -((1 - a * a) ** 0.5)), (0, b, 0), 1.0)
    t = np.linspace(0, 50, 301)
    expected = np.stack([a * np.cos(t), b * np.sin(t)], axis=-1)
    np.testing.assert_allclose(motion(t)[0][:, :2], expected, atol=2e-11)
