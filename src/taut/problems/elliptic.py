"""Pendulum motion in closed form, by Jacobi's elliptic functions.

Everything here is for unit mass and unit length; t is an array of any shape, positions and
velocities have one more axis.  The functions sn, cn, dn of SciPy are smooth through all quarter
periods and the amplitude am counts full turns, so no branch has to be chosen for any t.

Source: Whittaker 1904, §§ 44, 55; Carlson 1995 for Π by R_F and R_J.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ellipj, ellipk, ellipkm1, elliprf, elliprj

Motion = Callable[[Any], tuple[np.ndarray, np.ndarray]]


class Height(NamedTuple):
    """w = 1 + z of a spherical pendulum: low + (high − low) sn²(rate·t + first | m)."""

    low: float
    high: float
    rate: float
    m: float
    first: float


def plane_period(cosine: float, gravity: float) -> float:
    """Period 4 K(m)/√g of a pendulum released at rest where cos θ = `cosine`; m = sin²(θ₀/2)."""
    return 4.0 * float(ellipk((1.0 - cosine) / 2.0)) / gravity**0.5


def plane_angle(t: Any, cosine: float, gravity: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(sin θ, cos θ, θ̇) of θ̈ = −g sin θ released at rest from θ₀ in (0, π).

    With k² = m = (1 − cos θ₀)/2 and u = K(m) − √g t,

        sin(θ/2) = k sn u,   sin θ = 2k sn u dn u,   cos θ = 1 − 2m sn² u,   θ̇ = −2k √g cn u.
    """
    m, rate = (1.0 - cosine) / 2.0, gravity**0.5
    t = np.remainder(np.asarray(t, dtype=float), plane_period(cosine, gravity))
    sn, cn, _, _ = ellipj(ellipk(m) - rate * t, m)
    dn = np.sqrt(1.0 - m * sn**2)  # SciPy's own is less accurate near the quarter period
    return 2.0 * m**0.5 * sn * dn, 1.0 - 2.0 * m * sn**2, -2.0 * m**0.5 * rate * cn


def full_turn(rate: float, gravity: float) -> float:
    """Time 2 K(m)/ω of a turn of a pendulum that is pushed when upright; see `over_the_top`."""
    square = rate**2 / 4.0 + gravity
    return 2.0 * float(ellipkm1(rate**2 / (4.0 * square))) / square**0.5


def over_the_top(t: Any, rate: float, gravity: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(sin θ, cos θ, θ̇) of θ̈ = g sin θ from θ = 0, upright, with θ̇ = `rate` ≠ 0.

    It turns on and on.  With ω² = θ̇₀²/4 + g, m = g/ω² and u = ω t − K(m),

        θ = π + 2 am u,   sin θ = −2 sn u cn u,   cos θ = 2 sn² u − 1,   θ̇ = ±2ω dn u,

    where dn² u = 1 − m + m cn² u has no cancellation.
    """
    square = rate**2 / 4.0 + gravity
    omega, missing = square**0.5, rate**2 / (4.0 * square)
    m, sign = gravity / square, np.sign(rate)
    t = np.remainder(np.asarray(t, dtype=float), full_turn(rate, gravity))
    sn, cn, _, _ = ellipj(omega * t - ellipkm1(missing), m)
    dn = np.sqrt(missing + m * cn**2)
    return -sign * 2.0 * sn * cn, sn**2 - cn**2, sign * 2.0 * omega * dn


def spherical_height(radius: float, height: float, speed: float, gravity: float) -> Height:
    """How high a spherical pendulum swings that leaves q₀ = (ρ₀, z₀) horizontally.

    The height above the lowest point, w = 1 + z, obeys

        ẇ² = (w − w₀) (2g w² − (4g + s) w + s (2 − w₀)),      s = |v₀|²,

    with a second root w₁ in (0, 2) and a third, w₃ > 2.  With w₋ < w₊ the two inner ones

        w = w₋ + (w₊ − w₋) sn²(ω t + u₀ | m),   ω² = g (w₃ − w₋)/2,   m = (w₊ − w₋)/(w₃ − w₋),

    and u₀ is 0 or K(m).  The period is 2 K(m)/ω.
    """
    s = speed**2
    # ρ² = w (2 − w) gives w₀ and 2 − w₀ without cancellation.
    w0 = 1.0 + height if height > 0.0 else radius**2 / (1.0 - height)
    top = radius**2 / w0
    middle = 4.0 * gravity + s
    root = (middle**2 - 8.0 * gravity * s * top) ** 0.5
    outer, other = (middle + root) / (4.0 * gravity), 2.0 * s * top / (middle + root)
    low, high = sorted((w0, other))
    m = (high - low) / (outer - low)
    first = 0.0 if w0 == low else float(ellipk(m))
    return Height(low, high, (gravity * (outer - low) / 2.0) ** 0.5, m, first)


def spherical_motion(q0: Sequence[float], v0: Sequence[float], gravity: float) -> Motion:
    """The motion with U = g z from q₀ on the unit sphere with a horizontal velocity v₀ ≠ 0.

    The azimuth, counted from q₀ towards v₀, turns at φ̇ = ℓ/ρ², ρ² = w (2 − w), ℓ = |v₀| ρ₀, so

        φ = ℓ/(2ω) [ Π(n₁; am u | m)/w₋ + Π(n₂; am u | m)/(2 − w₋) ]  from u = u₀ to u₀ + ω t,
        n₁ = −(w₊ − w₋)/w₋,   n₂ = (w₊ − w₋)/(2 − w₋).

    A negative g is gravity along +z.
    """
    up, strength = np.sign(gravity), abs(gravity)
    start, velocity = np.array(q0, dtype=float), np.array(v0, dtype=float)
    radius, speed = (float(np.hypot(*x[:2])) for x in (start, velocity))
    swing = spherical_height(radius, float(up * start[2]), speed, strength)
    low, span, spin = swing.low, swing.high - swing.low, speed * radius
    axes = np.array([start[:2] / radius, velocity[:2] / speed])

    def azimuth(amplitude: np.ndarray) -> np.ndarray:
        below = third_kind(-span / low, amplitude, swing.m) / low
        above = third_kind(span / (2.0 - low), amplitude, swing.m) / (2.0 - low)
        return spin / (2.0 * swing.rate) * (below + above)

    def motion(t: Any) -> tuple[np.ndarray, np.ndarray]:
        u = swing.first + swing.rate * np.asarray(t, dtype=float)
        sn, cn, _, amplitude = ellipj(u, swing.m)
        w = low + span * sn**2
        dw = 2.0 * span * swing.rate * sn * cn * np.sqrt(1.0 - swing.m * sn**2)
        turn = azimuth(amplitude) - azimuth(np.asarray(np.pi / 2 if swing.first else 0.0))
        along, across = _on_circle(turn, axes)
        rho = np.sqrt(w * (2.0 - w))
        flat = rho[..., None] * along
        dflat = ((1.0 - w) * dw / rho)[..., None] * along + (spin / rho)[..., None] * across
        q = np.concatenate([flat, (up * (w - 1.0))[..., None]], axis=-1)
        return q, np.concatenate([dflat, (up * dw)[..., None]], axis=-1)

    return motion


def _on_circle(angle: np.ndarray, axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors along and across the direction `angle`, counted from the first axis."""
    cos, sin = np.cos(angle)[..., None], np.sin(angle)[..., None]
    return cos * axes[0] + sin * axes[1], cos * axes[1] - sin * axes[0]


def third_kind(n: float, amplitude: np.ndarray, m: float) -> np.ndarray:
    """Π(n; φ | m) = ∫₀^φ dϑ / ((1 − n sin²ϑ) √(1 − m sin²ϑ)), for every φ."""
    turns = np.round(amplitude / np.pi)
    rest = amplitude - turns * np.pi
    complete = elliprf(0.0, 1.0 - m, 1.0) + n / 3.0 * elliprj(0.0, 1.0 - m, 1.0, 1.0 - n)
    s = np.sin(rest)
    x, y = np.cos(rest) ** 2, 1.0 - m * s**2
    part = s * elliprf(x, y, 1.0) + n / 3.0 * s**3 * elliprj(x, y, 1.0, 1.0 - n * s**2)
    return 2.0 * turns * complete + part
