"""A planar chain of N equal links: CQ's triple pendulum, continued.

N masses m = 1 on rods l = 1, g = 1, y up:

    L = m/2 Σ (ẋᵢ² + ẏᵢ²) − m g Σ yᵢ,      (xᵢ − xᵢ₋₁)² + (yᵢ − yᵢ₋₁)² − l² = 0,   (x₀, y₀) = 0,

at rest, the first two rods 30° to either side of the vertical and the others hanging straight
down.  Three links are CQ's example.  With y₁ = −c, y₂ = −2 c and yᵢ = −2 c − (i − 2), c = √3/2:

    H = Σ yᵢ = −(2 N − 1) c − (N − 1)(N − 2)/2.

Source: CQ 2004, section 4, for N = 3.
"""

from __future__ import annotations

from taut.errors import InputError, brief
from taut.model import System, coordinates
from taut.problems.base import Fact, Problem, hanging

LINKS = 5
SOURCE = "CQ 2004, section 4, continued to N links"
REFERENCE = "Taylor's method in 80 bits and DOP853, both in angles; they agree to 2e-14"


def chain(links: int = LINKS) -> Problem:
    """The chain of this many links, at least two."""
    if links != int(links) or links < 2:
        raise InputError(
            "that is no number of links", expected="a whole number from 2 on", received=brief(links)
        )
    n, tilt = int(links), 0.75**0.5
    names = " ".join(f"x{i} y{i}" for i in range(1, n + 1))
    *q, m, l, g = coordinates(f"{names} m l g")
    x, y = [0, *q[::2]], [0, *q[1::2]]
    rods = {
        f"rod {i}": (x[i] - x[i - 1]) ** 2 + (y[i] - y[i - 1]) ** 2 - l**2 for i in range(1, n + 1)
    }
    system = System(
        q,
        mass=[m] * (2 * n),
        potential=m * g * sum(y),
        constraints=rods,
        parameters={"m": 1, "l": 1, "g": 1},
        drawing=hanging(*zip(x[1:], y[1:], strict=True)),
    )
    places = [(0.5, -tilt), *((0.0, -2 * tilt - i) for i in range(n - 1))]
    energy = -(2 * n - 1) * tilt - (n - 1) * (n - 2) / 2
    return Problem(
        name="chain",
        title=f"Planar chain of {n} links",
        system=system,
        q0=tuple(value for place in places for value in place),
        v0=(0.0,) * (2 * n),
        step=0.02,
        duration=60.0,
        source=SOURCE,
        facts=(
            Fact("H = −(2 N − 1) √3/2 − (N − 1)(N − 2)/2", "U at the start", energy=energy),
            *(FACTS if n == LINKS else ()),
        ),
    )


FACTS = (
    Fact(
        "state of five links at t = 3", REFERENCE, t=3.0, accuracy=1e-13,
        q=(
            0.05771422952453485, -0.9983331446518188, 0.04214857268970759, -1.9982119924765442,
            -0.27790122673132484, -2.945612713338924, 0.06576850948032745, -3.884703290659458,
            0.07860999217475755, -4.884620835421129,
        ),
        v=(
            -0.29852083231214005, -0.017257665866564836, 1.1028134164610994, -0.03907299686866477,
            -0.0013487289209998029, 0.3339337629701542, -0.6073433031484872, 0.1121638927360411,
            0.1399432276265378, 0.12176095111650531,
        ),
    ),
)  # fmt: skip
