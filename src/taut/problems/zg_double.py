"""ZG's example 3a: a planar double pendulum.

Masses m₁ = 1, m₂ = 2 on rods r₁ = r₂ = 1, g = 10, y down:

    L = m₁/2 (ẋ₁² + ẏ₁²) + m₂/2 (ẋ₂² + ẏ₂²) + g (m₁ y₁ + m₂ y₂),
    x₁² + y₁² − r₁² = 0,      (x₂ − x₁)² + (y₂ − y₁)² − r₂² = 0,

from q₁ = (1, 1)/√2, q₂ = (0, √2) at rest: H = −25 √2 = −35.35534.  The motion passes close to
complex singularities (about 0.15 s away): steps above 0.05 are no use for any method.

Source: Zhong & Gao 2006, example 3, Figs 10–12 (step 0.01).
"""

from __future__ import annotations

from taut.model import System, coordinates
from taut.problems.base import Fact, Problem, hanging

SOURCE = "Zhong & Gao 2006, example 3"
REFERENCE = "index-1 equations by extrapolation in 25 digits; two step sizes agree to 3e-16"


def zg_double() -> Problem:
    """The double pendulum of Figs 11 and 12."""
    x1, y1, x2, y2, m1, m2, r1, r2, g = coordinates("x1 y1 x2 y2 m1 m2 r1 r2 g")
    system = System(
        [x1, y1, x2, y2],
        mass=[m1, m1, m2, m2],
        potential=-g * (m1 * y1 + m2 * y2),
        constraints={
            "upper rod": x1**2 + y1**2 - r1**2,
            "lower rod": (x2 - x1) ** 2 + (y2 - y1) ** 2 - r2**2,
        },
        parameters={"m1": 1, "m2": 2, "r1": 1, "r2": 1, "g": 10},
        drawing=hanging((x1, y1), (x2, y2)),
    )
    return Problem(
        name="zg-double",
        title="ZG 3a: planar double pendulum",
        system=system,
        q0=(0.5**0.5, 0.5**0.5, 0.0, 2**0.5),
        v0=(0.0, 0.0, 0.0, 0.0),
        step=0.01,
        duration=20.0,
        source=SOURCE,
        facts=(
            Fact("the printed 'true H'", "ZG, Fig. 12", energy=-35.35534, accuracy=5e-6),
            Fact("H = −25 √2", "U at the start", energy=-25 * 2**0.5),
            Fact(
                "state at t = 2", REFERENCE, t=2.0,
                q=(
                    -0.10956327542121524, 0.99397982307437958,
                    0.078228109932168444, 1.9761887599035335,
                ),
                v=(
                    -4.6003524653128341, -0.50708241001590227,
                    0.96434626384121729, -1.5710133561093212,
                ),
            ),
        ),
    )  # fmt: skip
