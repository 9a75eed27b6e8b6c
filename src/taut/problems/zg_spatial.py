"""ZG's example 3b: a spatial double pendulum, in two readings.

The masses and rods of example 3a in space, z down:

    L = m₁/2 |q̇₁|² + m₂/2 |q̇₂|² + g (m₁ z₁ + m₂ z₂),      m₁ = 1, m₂ = 2, r₁ = r₂ = 1, g = 10,
    |q₁|² − r₁² = 0,      |q₂ − q₁|² − r₂² = 0,

from q₁ = (1, 1, 1)/√3, q₂ = (0, 0, 2)/√3, where U = −50/√3 = −28.86751.  The printed velocities
and the printed energy contradict each other:

* `zg_spatial` has the printed energy: H = −28.85251 needs the kinetic energy 0.015, that is
  v₁ = v₂ = (0.1, 0, 0) (momenta 0.1 and 0.2).
* `zg_spatial_printed` has the printed velocities: v₁ = (1, 0, 0), v₂ = (2, 0, 0), H = −24.36751.

In both q₁·v₁ ≠ 0: the start breaks the hidden constraint G q̇ = 0 and has to be projected.  The
M-orthogonal projection is rational, and lowers H to −28.85431 and −24.74751.

Source: Zhong & Gao 2006, example 3, Figs 13–16 (step 0.01).
"""

from __future__ import annotations

from taut.model import System, coordinates
from taut.problems.base import Fact, Problem, hanging

R3 = 3**0.5
SOURCE = "Zhong & Gao 2006, example 3 (spatial)"
PROJECTION = "M-orthogonal projection, in rational arithmetic"
REFERENCE = "index-1 equations by extrapolation in 25 digits; two step sizes agree to 2e-15"


def zg_spatial() -> Problem:
    """The printed energy: both velocities (0.1, 0, 0)."""
    return _reading(
        "zg-spatial",
        "ZG 3b: spatial double pendulum",
        v0=(0.1, 0.0, 0.0, 0.1, 0.0, 0.0),
        energy=33 / 2500 - 50 / R3,
        facts=(
            Fact(
                "the printed 'true H', of the start as it is given", "ZG, Fig. 16",
                t=0.0, energy=-28.85251, accuracy=5e-6, raw=True,
            ),
            Fact(
                "the start after projection", PROJECTION, t=0.0,
                v=(9 / 125, -7 / 250, -11 / 250, 12 / 125, -1 / 250, 1 / 250),
            ),
            Fact(
                "state at t = 2", REFERENCE, t=2.0,
                q=(
                    0.57055033110521874, 0.45967396643548273, 0.68056753100423177,
                    -0.0084431893304936358, 0.03854266091432352, 1.3787186083531852,
                ),
                v=(
                    -0.64579235592598508, -0.58613648777890693, 0.93728939105782386,
                    0.20850168746236855, 0.24257266098625238, 2.1456612016248606,
                ),
            ),
        ),
    )  # fmt: skip


def zg_spatial_printed() -> Problem:
    """The printed velocities: (1, 0, 0) and (2, 0, 0)."""
    return _reading(
        "zg-spatial-printed",
        "ZG 3b as printed: spatial double pendulum",
        v0=(1.0, 0.0, 0.0, 2.0, 0.0, 0.0),
        energy=103 / 25 - 50 / R3,
        facts=(
            Fact(
                "H of the start as it is given (ZG prints −28.85251, the other reading)", "T + U",
                t=0.0, energy=-24.36751, accuracy=5e-6, raw=True,
            ),
            Fact(
                "the start after projection", PROJECTION, t=0.0,
                v=(22 / 25, -3 / 25, -19 / 25, 46 / 25, -4 / 25, 4 / 25),
            ),
            Fact(
                "state at t = 2", REFERENCE, t=2.0,
                q=(
                    0.72944229180773222, -0.0058961958489262469, 0.68401694262408029,
                    -0.12745042564167263, 0.076584373473096043, 1.1928703856373801,
                ),
                v=(
                    -0.53789317872343154, -0.63094858808396962, 0.56817574590898385,
                    0.54281900456201086, 0.12081267934124352, 2.2662063164952616,
                ),
            ),
        ),
    )  # fmt: skip


def _reading(name: str, title: str, *, v0, energy: float, facts: tuple[Fact, ...]) -> Problem:
    """The problem with these velocities, which are to be projected."""
    q = x1, y1, z1, x2, y2, z2 = coordinates("x1 y1 z1 x2 y2 z2")
    m1, m2, r1, r2, g = coordinates("m1 m2 r1 r2 g")
    system = System(
        q,
        mass=[m1, m1, m1, m2, m2, m2],
        potential=-g * (m1 * z1 + m2 * z2),
        constraints={
            "upper rod": x1**2 + y1**2 + z1**2 - r1**2,
            "lower rod": (x2 - x1) ** 2 + (y2 - y1) ** 2 + (z2 - z1) ** 2 - r2**2,
        },
        parameters={"m1": 1, "m2": 2, "r1": 1, "r2": 1, "g": 10},
        drawing=hanging((x1, y1, z1), (x2, y2, z2)),
    )
    return Problem(
        name=name,
        title=title,
        system=system,
        q0=(1 / R3, 1 / R3, 1 / R3, 0.0, 0.0, 2 / R3),
        v0=v0,
        step=0.01,
        duration=20.0,
        source=SOURCE,
        project=True,
        facts=(*facts, Fact("H after projection", PROJECTION, energy=energy)),
    )
