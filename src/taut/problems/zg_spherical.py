"""ZG's example 2: a spherical pendulum, in two readings.

Unit mass, length and gravity; q₀ = (0, sin 0.1, −cos 0.1), p₀ = (0.06, 0, 0), |q|² − 1 = 0; steps
0.03 and 0.1.  The page says "z down" and prints H = |p|²/2 + z, which contradict each other:

* `zg_spherical` is the problem of Hairer, Lubich & Wanner, from which ZG takes it: z up,
  U = z, a start near the bottom, H = 0.0018 − cos 0.1 = −0.99320.
* `zg_spherical_printed` takes "z down" by the letter: U = −z with the same q₀, which is then near
  the *top*, H = 0.0018 + cos 0.1 = 0.99680.  This is the "true H" printed under ZG's Fig. 3.

Both keep x p_y − y p_x = −0.06 sin 0.1, and both have the closed form of
`taut.problems.elliptic.spherical_motion`; the multiplier is λ = (|v|² − q·∇U)/2.

Source: Zhong & Gao 2006, example 2, Figs 2–9, after Hairer, Lubich & Wanner 2002, VII.1.
"""

from __future__ import annotations

from math import cos, sin

import numpy as np

from taut.model import System, coordinates, velocities
from taut.problems.base import Fact, Problem, hanging
from taut.problems.elliptic import spherical_motion

Q0, V0 = (0.0, sin(0.1), -cos(0.1)), (0.06, 0.0, 0.0)
SOURCE = "Zhong & Gao 2006, example 2"


def zg_spherical() -> Problem:
    """Near the bottom: U = z, as Hairer, Lubich & Wanner."""
    return _reading(
        "zg-spherical",
        "ZG 2: spherical pendulum near the bottom",
        1.0,
        Fact(
            "H = 0.0018 − cos 0.1 (ZG prints 0.99680, the other reading)",
            "Hairer, Lubich & Wanner 2002, VII.1",
            energy=-0.99320,
            accuracy=5e-6,
        ),
    )


def zg_spherical_printed() -> Problem:
    """Near the top: U = −z, as printed."""
    return _reading(
        "zg-spherical-printed",
        "ZG 2 as printed: spherical pendulum near the top",
        -1.0,
        Fact("the printed 'true H'", "Zhong & Gao 2006, Fig. 3", energy=0.99680, accuracy=5e-6),
    )


def _reading(name: str, title: str, gravity: float, energy: Fact) -> Problem:
    """The problem with U = g z."""
    x, y, z, g = coordinates("x y z g")
    vx, vy, _ = velocities([x, y, z])
    system = System(
        [x, y, z],
        mass=[1, 1, 1],
        potential=g * z,
        constraints={"rod": x**2 + y**2 + z**2 - 1},
        parameters={"g": gravity},
        drawing=hanging((x, y, z)),
    )
    exact = spherical_motion(Q0, V0, gravity)

    def exact_multipliers(t) -> np.ndarray:
        q, v = exact(t)
        return ((v**2).sum(axis=-1, keepdims=True) - gravity * q[..., 2:]) / 2.0

    spin = Fact(
        "angular momentum about z", SOURCE, quantity=x * vy - y * vx, value=-0.06 * sin(0.1)
    )
    return Problem(
        name=name,
        title=title,
        system=system,
        q0=Q0,
        v0=V0,
        step=0.03,
        more_steps=(0.1,),
        duration=60.0,
        source=SOURCE,
        exact=exact,
        exact_multipliers=exact_multipliers,
        facts=(energy, spin),
    )
