"""ZG's example 1: a simple pendulum in Cartesian coordinates.

Mass m = 1 on a rod r = 1, g = 10, y down:

    L = m/2 (ẋ² + ẏ²) + m g y,      x² + y² − r² = 0,

from x = 0.99, y = √(1 − 0.99²) at rest.  ZG takes y as a function of x, which fails at x = ±1;
the motion stays inside |x| ≤ 0.99 and the whole of it lies on the lower half circle.  The closed
form is that of `taut.problems.elliptic` with cos θ₀ = y(0), (x, y) = (sin θ, cos θ).

ZG writes the constraint as r² − x² − y²: its λ has the opposite sign.  Here λ = (|v|² + g y)/2.

Source: Zhong & Gao 2006, example 1, Fig. 1 (step 0.01).
"""

from __future__ import annotations

import numpy as np

from taut.model import System, coordinates
from taut.problems.base import Fact, Problem, hanging
from taut.problems.elliptic import plane_angle, plane_period

GRAVITY = 10.0
Y0 = (1 - 0.99**2) ** 0.5
SOURCE = "Zhong & Gao 2006, example 1"


def zg_pendulum() -> Problem:
    """The pendulum of Fig. 1."""
    x, y, m, r, g = coordinates("x y m r g")
    system = System(
        [x, y],
        mass=[m, m],
        potential=-m * g * y,
        constraints={"rod": x**2 + y**2 - r**2},
        parameters={"m": 1, "r": 1, "g": GRAVITY},
        drawing=hanging((x, y)),
    )
    return Problem(
        name="zg-pendulum",
        title="ZG 1: simple pendulum",
        system=system,
        q0=(0.99, Y0),
        v0=(0.0, 0.0),
        step=0.01,
        duration=10.0,
        source=SOURCE,
        exact=exact,
        exact_multipliers=exact_multipliers,
        facts=(
            Fact("the energy is −10 y(0)", "U = −m g y", energy=-1.4106735979665885),
            Fact("period", "closed form: 4 K/√g", period=plane_period(Y0, GRAVITY)),
        ),
    )


def exact(t) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) at t."""
    sin, cos, rate = plane_angle(t, Y0, GRAVITY)
    return np.stack([sin, cos], axis=-1), rate[..., None] * np.stack([cos, -sin], axis=-1)


def exact_multipliers(t) -> np.ndarray:
    """λ = (|v|² + g y)/2 at t."""
    q, v = exact(t)
    return ((v**2).sum(axis=-1, keepdims=True) + GRAVITY * q[..., 1:]) / 2.0
