"""Planar double pendulum of point masses, released at rest from the horizontal.

Two unit masses on two unit rods in Cartesian coordinates, y up, gravity along −y:

    L = (ẋ₁² + ẏ₁² + ẋ₂² + ẏ₂²)/2 − g (y₁ + y₂),      g = 9.81,
    x₁² + y₁² − 1 = 0,      (x₂ − x₁)² + (y₂ − y₁)² − 1 = 0,

from (1, 0), (2, 0) at rest; the energy is 0.  The reference is given by the rods' rates θ̇₁, θ̇₂
(angles from the lower vertical); with the rods' vectors a = q₁ and b = q₂ − q₁ the velocities are
v₁ = θ̇₁ (−a_y, a_x) and v₂ = v₁ + θ̇₂ (−b_y, b_x).

Source: computed from the two angle equations; two tolerances agree to 4e−13.
"""

from __future__ import annotations

from taut.model import System, coordinates
from taut.problems.base import Fact, Problem, hanging

GRAVITY = 9.81
SOURCE = "angle equations integrated with two tolerances that agree to 4e-13"


def double_pendulum() -> Problem:
    """Both rods horizontal, at rest."""
    x1, y1, x2, y2, g = coordinates("x1 y1 x2 y2 g")
    system = System(
        [x1, y1, x2, y2],
        mass=[1, 1, 1, 1],
        potential=g * (y1 + y2),
        constraints={
            "upper rod": x1**2 + y1**2 - 1,
            "lower rod": (x2 - x1) ** 2 + (y2 - y1) ** 2 - 1,
        },
        parameters={"g": GRAVITY},
        drawing=hanging((x1, y1), (x2, y2)),
    )
    at_1 = (-0.585168391999, -0.810911803469, -1.444818849943, -1.321794461381)
    at_3 = (0.976976565891, 0.213346642111, 1.876250850682, -0.224038497913)
    return Problem(
        name="double-pendulum",
        title="Planar double pendulum",
        system=system,
        q0=(1.0, 0.0, 2.0, 0.0),
        v0=(0.0, 0.0, 0.0, 0.0),
        step=0.005,
        duration=20.0,
        source=SOURCE,
        facts=(
            Fact("the energy is 0", "U = 0 at the start", energy=0.0),
            Fact(
                "state at t = 1", SOURCE, t=1.0, q=at_1,
                v=_velocities(at_1, (-3.922279572888, -1.303099248696)), accuracy=1e-11,
            ),
            Fact(
                "state at t = 3", SOURCE, t=3.0, q=at_3,
                v=_velocities(at_3, (0.327980619514, -0.504455103945)), accuracy=1e-11,
            ),
        ),
    )  # fmt: skip


def _velocities(q, rates) -> tuple[float, ...]:
    """(v₁, v₂) from the positions and the rods' rates."""
    x1, y1, x2, y2 = q
    upper, lower = rates
    v1 = (-upper * y1, upper * x1)
    return (*v1, v1[0] - lower * (y2 - y1), v1[1] + lower * (x2 - x1))
