"""Newton's iterations end at round-off of the state: from rest, far from the origin; or it is told.

The reference is a run of another method at another step, or the same step made to converge.
"""

from functools import cache

import numpy as np
import pytest
import sympy as sp

import taut
from taut.kernel import newton_code

START = [
    -0.0617138900142764496, 0.0, 0.455279819163070380, 0.222668390165885885, 0.487364979543842550,
    -0.222668390165885885, 1.23054744454982119,
]  # fmt: skip
END = 0.03
# Published positions at the end, and how good they are: what the start is given to.
PUBLISHED, GOOD = [
    15.8107711962990, -15.7563710598430, 0.0408222401307310, -0.534730116322695, 0.524409965880530,
    0.534730116322695, 1.04808074104226,
], 3e-9  # fmt: skip

x, y, x2, y2 = taut.coordinates("x y x2 y2")
vx, vy = taut.velocities([x, y])
ROD = taut.System([x, y, x2, y2], mass=[1] * 4, constraints=[(x - x2) ** 2 + (y - y2) ** 2 - 1])


@cache
def squeezer() -> taut.System:
    """Andrews' squeezer: seven bodies in a plane, driven by a constant moment, in their angles.

    Source: Test Set for IVP Solvers, `andrews`; Hairer & Wanner, Solving Ordinary Differential
    Equations II, section VII.7.  Units are kg, m and s; the run takes 0.03 s from rest.
    """
    beta, theta, gamma, phi, delta, omega, eps = q = taut.coordinates(
        "beta theta gamma phi delta omega epsilon"
    )
    sin, cos = sp.sin, sp.cos
    m1, m2, m3, m4, m5, m6, m7 = 0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498
    i1, i2, i3, i4, i5, i6, i7 = (
        2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5,
    )  # fmt: skip
    xa, ya, xb, yb, xc, yc = -0.06934, -0.00227, -0.03635, 0.03273, 0.014, 0.072
    c0, l0, moment = 4530, 0.07785, 0.033
    d, da, e, ea, rr, ra, ss, sa, sb = (
        28e-3,
        115e-4,
        2e-2,
        1421e-5,
        7e-3,
        92e-5,
        35e-3,
        1874e-5,
        0.01043,
    )
    sc, sd, ta, tb, u, ua, ub, zf, zt, fa = (
        18e-3, 2e-2, 2308e-5, 916e-5, 4e-2, 1228e-5, 449e-5, 2e-2, 4e-2, 1421e-5,
    )  # fmt: skip
    mass = sp.zeros(7)
    mass[0, 0] = m1 * ra**2 + m2 * (rr**2 - 2 * da * rr * cos(theta) + da**2) + i1 + i2
    mass[0, 1] = m2 * (da**2 - da * rr * cos(theta)) + i2
    mass[1, 1] = m2 * da**2 + i2
    mass[2, 2] = m3 * (sa**2 + sb**2) + i3
    mass[3, 3] = m4 * (e - ea) ** 2 + i4
    mass[3, 4] = m4 * ((e - ea) ** 2 + zt * (e - ea) * sin(phi)) + i4
    mass[4, 4] = m4 * (zt**2 + 2 * zt * (e - ea) * sin(phi) + (e - ea) ** 2)
    mass[4, 4] += m5 * (ta**2 + tb**2) + i4 + i5
    mass[5, 5] = m6 * (zf - fa) ** 2 + i6
    mass[5, 6] = m6 * ((zf - fa) ** 2 - u * (zf - fa) * sin(omega)) + i6
    mass[6, 6] = m6 * ((zf - fa) ** 2 - 2 * u * (zf - fa) * sin(omega) + u**2)
    mass[6, 6] += m7 * (ua**2 + ub**2) + i6 + i7
    for i, j in ((0, 1), (3, 4), (5, 6)):
        mass[j, i] = mass[i, j]
    spring = sp.sqrt(
        (sd * cos(gamma) + sc * sin(gamma) + xb - xc) ** 2
        + (sd * sin(gamma) - sc * cos(gamma) + yb - yc) ** 2
    )
    x, y = (rr * f(beta) - d * f(beta + theta) for f in (cos, sin))
    loops = [
        x - ss * sin(gamma) - xb,
        y + ss * cos(gamma) - yb,
        x - e * sin(phi + delta) - zt * cos(delta) - xa,
        y + e * cos(phi + delta) - zt * sin(delta) - ya,
        x - zf * cos(omega + eps) - u * sin(eps) - xa,
        y - zf * sin(omega + eps) + u * cos(eps) - ya,
    ]
    potential = c0 * (spring - l0) ** 2 / 2 - moment * beta
    return taut.System(list(q), mass=mass, potential=potential, constraints=loops)


def squeezed(method, steps):
    return taut.simulate(
        squeezer(), q0=START, v0=np.zeros(7), duration=END, step=END / steps, method=method,
        project=True, laws=None,
    )  # fmt: skip


def along(away, method, **changes):
    """A rod that turns, so far away."""
    settings = {"duration": 5, "step": 0.01, "laws": None, "method": method} | changes
    return taut.simulate(ROD, q0=[away, 0, away + 1, 0], v0=[1, 0, 1, 1], **settings)


@cache
def reference():
    return squeezed("gauss-lobatto-8", 4000).q[-1]


def test_the_reference_is_what_was_published():
    assert np.abs(reference() - PUBLISHED).max() < GOOD


@pytest.mark.parametrize("method", ["gauss-lobatto-6", "time-element-6"])
def test_fine_steps_from_rest_stay_at_their_floor(method):
    """In the second step errors of the guess cancel in the mean velocity, and only there."""
    for steps in (1200, 1600, 2400):
        run = squeezed(method, steps)
        assert np.abs(run.q[-1] - reference()).max() < 3e-13, steps
        assert run.certificate.loose == 0


@pytest.mark.parametrize("method", ["rattle", "gauss-lobatto-4"])
def test_far_from_the_origin_newton_does_not_chase_digits_that_are_not_there(method):
    """What is left falls by a factor, in directions that know more digits than others."""
    near = along(0.0, method)
    for away in (5e5, 5e8):
        run = along(away, method)
        assert run.certificate.most_iterations <= 10
        lost = 100 * np.finfo(float).eps * away
        assert run.certificate.max_g < lost
        gap = (run.q[-1, 2:] - run.q[-1, :2]) - (near.q[-1, 2:] - near.q[-1, :2])
        assert np.abs(gap).max() < 5 * lost  # |x₁ − x₂| is known to as much, at every step


def test_steps_that_end_too_early_are_counted_and_shown(monkeypatch, afresh):
    """An iteration that takes any small move for noise."""
    pendulum = taut.System([x, y], mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1])
    settings = {"q0": [0.8, -0.6], "v0": 0, "step": 0.02, "duration": 2, "laws": None}
    good = taut.simulate(pendulum, **settings)
    assert good.certificate.to_dict()["newton_loose_steps"] == 0
    afresh()
    monkeypatch.setattr(newton_code, "STALL_RATIO", 0.0)
    monkeypatch.setattr(newton_code, "SMALL", 0.0)
    facts = taut.simulate(pendulum, **settings).certificate
    assert 0 < facts.loose <= facts.steps
    assert 1e-14 < facts.left < 1e-7
    (word,) = (word for what, _, word in facts.rows() if what == "Newton iterations")
    assert word.startswith(f"not to round-off in {facts.loose} of the steps")


@pytest.mark.parametrize("step", [0.01, 1e-5])
@pytest.mark.parametrize("method", ["rattle", "gauss-lobatto-6", "energy-momentum", "ggl"])
def test_steps_are_those_that_are_made_to_converge(method, step, monkeypatch, afresh):
    """From rest, with a kink in the force."""
    kinked = taut.System(
        [x, y], mass=[1, 1], potential=10 * y + 50 * sp.Max(0, y + sp.Rational(1, 2)) ** 2,
        constraints=[x**2 + y**2 - 1],
    )  # fmt: skip
    settings = {"q0": [0.8, -0.6], "v0": 0, "step": step, "duration": 60 * step, "laws": None}
    usual = taut.simulate(kinked, **settings, method=method)
    assert usual.certificate.loose == 0
    afresh("converged")
    for name in ("FIRST", "SURE", "NEXT"):
        monkeypatch.setattr(newton_code, name, 0.0)
    made = taut.simulate(kinked, **settings, method=method)
    assert np.abs(usual.q - made.q).max() < 2e-14
