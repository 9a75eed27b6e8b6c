"""Planar pendulum whose period is exactly 2: a test over any length of time.

Unit mass and length, y up, released at rest from (1, 0):

    L = (ẋ² + ẏ²)/2 − g y,      x² + y² − 1 = 0.

A swing from the horizontal has the period 4 K(1/2)/√g (K of the parameter m = k²), so

    g = 4 K(1/2)² = 13.750371636040745655…

makes it 2, and every even t repeats the start.  The energy is 0.

On the circle RATTLE (and ZG's time element) is the splitting "half a kick, Δθ = arcsin(h p), half
a kick", which follows the modified Hamiltonian

    H + h² (p⁴/24 + p² U″/12 − U′²/24) + O(h⁴),      U = −g cos θ,

so its energy stays in a band and its period is 2 (1 − (5π/8) h² + O(h⁴)): a phase error that grows
linearly and in proportion to h².

Source: the closed form of `taut.problems.elliptic`.  Assimulo ships g = 13.7503671 for the same
purpose, a misprint of 13.75037164 (its period is 2.00000033).
"""

from __future__ import annotations

import numpy as np

from taut.model import System, coordinates
from taut.problems.base import Fact, Problem, hanging
from taut.problems.elliptic import plane_angle

GRAVITY = 13.750371636040745655
Q0, V0 = (1.0, 0.0), (0.0, 0.0)
SOURCE = "closed form: g = 4 K(m = 1/2)²"


def period_2_pendulum() -> Problem:
    """The pendulum of period 2."""
    x, y, g = coordinates("x y g")
    system = System(
        [x, y],
        mass=[1, 1],
        potential=g * y,
        constraints={"rod": x**2 + y**2 - 1},
        parameters={"g": GRAVITY},
        drawing=hanging((x, y)),
    )
    return Problem(
        name="period-2-pendulum",
        title="Planar pendulum of period 2",
        system=system,
        q0=Q0,
        v0=V0,
        step=0.01,
        duration=200.0,
        source=SOURCE,
        exact=exact,
        exact_multipliers=exact_multipliers,
        facts=(
            Fact("the energy is 0", SOURCE, energy=0.0),
            Fact("the period is 2", SOURCE, period=2.0),
            Fact("half-way it rests on the other side", SOURCE, t=1.0, q=(-1.0, 0.0), v=V0),
            Fact("back at the start at t = 2", SOURCE, t=2.0, q=Q0, v=V0),
            Fact("back at the start at t = 200 000", SOURCE, t=2e5, q=Q0, v=V0),
        ),
    )


def exact(t) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) at t."""
    # t is reduced by the true period 2, without rounding, for all t.
    sin, cos, rate = plane_angle(np.remainder(t, 2.0), 0.0, GRAVITY)
    q = np.stack([sin, -cos], axis=-1)
    return q, rate[..., None] * np.stack([cos, sin], axis=-1)


def exact_multipliers(t) -> np.ndarray:
    """λ = (|v|² − g y)/2 at t."""
    q, v = exact(t)
    return ((v**2).sum(axis=-1, keepdims=True) - GRAVITY * q[..., 1:]) / 2.0
