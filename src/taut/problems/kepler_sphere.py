"""Kepler's problem on a sphere, very eccentric: steps of one size do not do.

A unit mass on the unit sphere, attracted by the north pole:

    H = |p|²/2 − k cot θ,      cot θ = z/√(x² + y²),      |q|² − 1 = 0,      k = 1,

from the farthest point θ₀ = 1.2, φ = 0 with angular momentum x ẏ − y ẋ = L = 0.2.  With u = cot θ,
θ̇ = −L du/dφ and sin⁻²θ = 1 + u², the energy is ½ L²(u′² + u² + 1) − k u, so u″ + u = k/L²: orbits
are closed, as in the plane,

    cot θ = (k/L²)(1 − e cos φ),      e = 1 − L² cot θ₀/k = 0.984…,

and the nearest point is at θ = 0.0202, where steps must be some 300 times as small as at the
farthest.  The period is ∮ dφ sin²θ/L = (2π/L) Im 1/√((a − i)² − (a e)²), a = k/L².

Source: Kozlov & Harin 1992, Celest. Mech. Dyn. Astron. 54, 393 (Kepler's problem in constant
curvature); the closed forms above are derived here.
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from taut.methods.adaptive import Adaptive
from taut.model import Drawing, System, coordinates, velocities
from taut.problems.base import Fact, Problem

STRENGTH, FARTHEST, MOMENTUM = 1.0, 1.2, 0.2
SOURCE = "closed form"


def kepler_sphere() -> Problem:
    """An eccentric orbit about the pole of a sphere."""
    x, y, z, k = coordinates("x y z k")
    vx, vy, _ = velocities([x, y, z])
    system = System(
        [x, y, z],
        mass=[1, 1, 1],
        potential=-k * z / sp.sqrt(x**2 + y**2),
        constraints={"sphere": x**2 + y**2 + z**2 - 1},
        parameters={"k": STRENGTH},
        drawing=_globe((x, y, z)),
    )
    far, near, quick = np.sin(FARTHEST), nearest(), MOMENTUM / np.sin(nearest())
    q0, v0 = (far, 0.0, np.cos(FARTHEST)), (0.0, MOMENTUM / far, 0.0)
    energy = 0.5 * (MOMENTUM / far) ** 2 - STRENGTH / np.tan(FARTHEST)
    return Problem(
        name="kepler-sphere",
        title="Eccentric Kepler orbit on a sphere",
        system=system,
        q0=q0,
        v0=v0,
        step=0.02,
        duration=20.0,
        source="Kozlov & Harin 1992",
        method=Adaptive("rattle", scale=(x**2 + y**2) ** sp.Rational(3, 4)),
        facts=(
            Fact("the energy", SOURCE, energy=energy),
            Fact("angular momentum", SOURCE, quantity=x * vy - y * vx, value=MOMENTUM),
            Fact(
                "nearest point, after half a period", SOURCE, t=period() / 2,
                q=(-np.sin(near), 0.0, np.cos(near)), v=(0.0, -quick, 0.0),
            ),
            Fact("farthest point again, after a period", SOURCE, t=period(), q=q0, v=v0),
        ),
    )  # fmt: skip


def _globe(place) -> Drawing:
    """The mass, the pole, and circles of longitude and latitude."""
    (s,) = coordinates("s,")
    c, w, turn = sp.cos(s), sp.sin(s), (s, 0, 2 * np.pi)
    half = sp.Rational(1, 2) * sp.sqrt(3)
    curves = [((c, w, 0), turn), ((c, 0, w), turn), ((0, c, w), turn)]
    curves += [((half * c, half * w, sign * sp.Rational(1, 2)), turn) for sign in (1, -1)]
    return Drawing({"mass": place, "pole": (0, 0, 1)}, trails=["mass"], curves=curves)


def eccentricity() -> float:
    """Of cot θ = (k/L²)(1 − e cos φ)."""
    return 1.0 - MOMENTUM**2 / np.tan(FARTHEST) / STRENGTH


def nearest() -> float:
    """The smallest θ."""
    return float(np.arctan(MOMENTUM**2 / STRENGTH / (1.0 + eccentricity())))


def period() -> float:
    """Of the motion, which is that of the orbit."""
    a = STRENGTH / MOMENTUM**2
    root = np.sqrt((a - 1j) ** 2 - (a * eccentricity()) ** 2)
    return float(2 * np.pi / MOMENTUM * abs((1 / root).imag))
