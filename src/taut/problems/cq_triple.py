"""CQ's example: a planar triple pendulum.

Three masses m = 1 on rods l = 1, g = 1, y up:

    L = m/2 Σ (ẋᵢ² + ẏᵢ²) − m g Σ yᵢ,      (xᵢ − xᵢ₋₁)² + (yᵢ − yᵢ₋₁)² − l² = 0,   (x₀, y₀) = 0,

from q = (½, −√3/2, 0, −√3, 0, −1 − √3) at rest: H = −1 − (5/2) √3 = −5.33013.

Source: CQ 2004, section 4 (step 0.12, 60 s).
"""

from __future__ import annotations

from taut.model import System, coordinates
from taut.problems.base import Fact, Problem, hanging

SOURCE = "CQ 2004, section 4"
REFERENCE = "Gauss-Lobatto of order 12, and DOP853 in angles; they agree to 3e-14"


def cq_triple() -> Problem:
    """The triple pendulum of Figs 2 to 5."""
    x1, y1, x2, y2, x3, y3, m, l, g = coordinates("x1 y1 x2 y2 x3 y3 m l g")
    system = System(
        [x1, y1, x2, y2, x3, y3],
        mass=[m] * 6,
        potential=m * g * (y1 + y2 + y3),
        constraints={
            "upper rod": x1**2 + y1**2 - l**2,
            "middle rod": (x2 - x1) ** 2 + (y2 - y1) ** 2 - l**2,
            "lower rod": (x3 - x2) ** 2 + (y3 - y2) ** 2 - l**2,
        },
        parameters={"m": 1, "l": 1, "g": 1},
        drawing=hanging((x1, y1), (x2, y2), (x3, y3)),
    )
    root = 3**0.5
    return Problem(
        name="cq-triple",
        title="CQ: planar triple pendulum",
        system=system,
        q0=(0.5, -root / 2, 0.0, -root, 0.0, -1 - root),
        v0=(0.0,) * 6,
        step=0.12,
        duration=60.0,
        source=SOURCE,
        facts=(
            Fact("H = −1 − (5/2) √3", "U at the start", energy=-1 - 2.5 * root),
            Fact(
                "state at t = 3", REFERENCE, t=3.0, accuracy=1e-13,
                q=(
                    0.05878326308385365, -0.9982707688704575, -0.3007075631662202,
                    -1.931419388245763, 0.11084009368171142, -2.84280762941578,
                ),
                v=(
                    0.7964053162749014, 0.04689639793914698, 0.20452511078672544,
                    0.27491527906276697, -0.3612396365427372, 0.019437815592655266,
                ),
            ),
        ),
    )  # fmt: skip
