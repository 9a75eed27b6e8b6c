"""Planar pendulum, released at rest from the horizontal (IFToMM benchmark A01).

A point of mass m on a rigid massless rod of length l, y up, gravity along −y:

    L = m/2 (ẋ² + ẏ²) − m g y,      x² + y² − l² = 0,      m = l = 1,  g = 9.81,

from (−1, 0) at rest.  The rod's angle θ from the lower vertical, (x, y) = (−sin θ, −cos θ), is
known in closed form: k = sin(π/4), sin(θ/2) = k sn(K(k) − √g t).  The energy is 0.

The multiplier in m q̈ = −∇U − 2λ q is λ = (|v|² − g y)/2; the rod pulls with 2λ.

Source: IFToMM Multibody Benchmark, problem A01; the closed form is classical.
"""

from __future__ import annotations

import numpy as np

from taut.model import System, coordinates
from taut.problems.base import Fact, Problem, hanging
from taut.problems.elliptic import plane_angle

GRAVITY = 9.81
SOURCE = "IFToMM Multibody Benchmark A01"


def pendulum() -> Problem:
    """A01: 10 s in the closed form's company."""
    x, y, m, l, g = coordinates("x y m l g")
    system = System(
        [x, y],
        mass=[m, m],
        potential=m * g * y,
        constraints={"rod": x**2 + y**2 - l**2},
        parameters={"m": 1, "l": 1, "g": GRAVITY},
        drawing=hanging((x, y)),
    )
    at = "closed form, evaluated in extended precision"
    return Problem(
        name="pendulum",
        title="Planar pendulum from the horizontal",
        system=system,
        q0=(-1.0, 0.0),
        v0=(0.0, 0.0),
        step=0.01,
        duration=10.0,
        source=SOURCE,
        exact=exact,
        exact_multipliers=exact_multipliers,
        facts=(
            Fact("the energy is 0", SOURCE, energy=0.0),
            Fact("period", at, period=2.3678419475762374),
            Fact(
                "state at t = 1", at, t=1.0,
                q=(0.98629175113187532, -0.16501085312554117),
                v=(0.29690551591631582, 1.7746436411126556),
            ),
            Fact(
                "state at t = 5", at, t=5.0,
                q=(-0.94230543504375734, -0.33475433841400058),
                v=(0.85790425688594907, -2.4149286543704886),
            ),
            Fact(
                "state at t = 9.99", at, t=9.99,
                q=(-0.31643646991303229, -0.94861370457577652),
                v=(4.0924519914940207, -1.3651511202403047),
            ),
            Fact(
                "state at t = 10", at, t=10.0,
                q=(-0.27508746257611686, -0.96141920509912506),
                v=(4.1755981009517288, -1.1947490545604753),
            ),
        ),
    )  # fmt: skip


def exact(t) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) at t."""
    sin, cos, rate = plane_angle(t, 0.0, GRAVITY)
    q = np.stack([-sin, -cos], axis=-1)
    return q, rate[..., None] * np.stack([-cos, sin], axis=-1)


def exact_multipliers(t) -> np.ndarray:
    """λ = (|v|² − g y)/2 at t."""
    q, v = exact(t)
    return ((v**2).sum(axis=-1, keepdims=True) - GRAVITY * q[..., 1:]) / 2.0
