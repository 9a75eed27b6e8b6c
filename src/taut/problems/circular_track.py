"""Particle on a circular track, driven by a tangential force: exact and not conservative.

    ẍ = 2y + x Λ,      ÿ = −2x + y Λ,      x² + y² − 1 = 0,

from t = 1 to 5, with the solution x = sin t², y = cos t², Λ = −4t².  The force (2y, −2x) is
tangent to the circle and does work at the rate 4t: the energy is 2t².

With G = (2x, 2y) taut's multiplier in q̈ = f − Gᵀλ is λ = −Λ/2 = 2t².

Source: Arévalo 1995; solve_dae, examples/daes/arevalo.py.
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from taut.model import Drawing, System, coordinates
from taut.problems.base import Fact, Problem

SOURCE = "Arévalo 1995"


def circular_track() -> Problem:
    """The driven particle, t = 1 … 5."""
    x, y, s = coordinates("x y s")
    system = System(
        [x, y],
        mass=[1, 1],
        forces=[2 * y, -2 * x],
        constraints={"track": x**2 + y**2 - 1},
        drawing=Drawing({"particle": (x, y)}, curves=[((sp.cos(s), sp.sin(s)), (s, 0, 2 * np.pi))]),
    )
    q0, v0 = (tuple(a.tolist()) for a in exact(1.0))
    return Problem(
        name="circular-track",
        title="Driven particle on a circular track",
        system=system,
        q0=q0,
        v0=v0,
        t0=1.0,
        step=0.005,
        duration=4.0,
        source=SOURCE,
        exact=exact,
        exact_multipliers=exact_multipliers,
        facts=(
            Fact("the energy is 2t²: at the start", SOURCE, t=1.0, energy=2.0, multipliers=(2.0,)),
            Fact("the energy is 2t²: at the end", SOURCE, t=5.0, energy=50.0),
            Fact(
                "place, velocity and multiplier at the end", SOURCE, t=5.0, multipliers=(50.0,),
                q=(np.sin(25.0), np.cos(25.0)), v=(10 * np.cos(25.0), -10 * np.sin(25.0)),
            ),
        ),
    )  # fmt: skip


def exact(t) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) at t."""
    t = np.asarray(t, dtype=float)
    q = np.stack([np.sin(t**2), np.cos(t**2)], axis=-1)
    return q, 2.0 * t[..., None] * np.stack([q[..., 1], -q[..., 0]], axis=-1)


def exact_multipliers(t) -> np.ndarray:
    """λ = 2t² at t."""
    return 2.0 * np.asarray(t, dtype=float)[..., None] ** 2
