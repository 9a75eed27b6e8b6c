"""A chain of N rigid bodies with ball joints, swinging in space.

Bars of length 1, mass 1 and width w = 0.2, each with a ball joint to the one before it, the first
to the ground at the origin; z up, g = 9.81 along −z.  At the start the chain lies along x, turns
about z with the rate Ω = 1 and every bar spins about its own axis with the rate s = 3.  Energy, and
the momentum about the vertical, are kept:

    T = ½ I Ω² + ½ N J s²,   U = 0,   L_z = I Ω,      I = Σ ((k − ½)² + K),  k = 1 … N,

with J = w²/6 about the axis of a bar and K = (1 + w²)/12 across it.  Momenta of the spins are along
x.

Source: energy and momentum at the start.
"""

from __future__ import annotations

import sympy as sp

from taut.errors import InputError, brief
from taut.model.mechanism import Mechanism
from taut.problems.base import Fact, Problem

GRAVITY = 9.81
BODIES = 5
WIDTH = 0.2
TURN, SPIN = 1.0, 3.0
ABOUT, ACROSS = WIDTH**2 / 6, (1 + WIDTH**2) / 12
SOURCE = "energy and momentum at the start"


def body_chain(bodies: int = BODIES) -> Problem:
    """A chain of this many bodies."""
    if bodies != int(bodies) or bodies < 1:
        raise InputError(
            "that is no number of bodies",
            expected="a whole number from 1 on",
            received=brief(bodies),
        )
    n = int(bodies)
    m = mechanism(n)
    inertia = sum((k + 0.5) ** 2 + ACROSS for k in range(n))
    return Problem.of(
        m,
        name="body-chain",
        title=f"Chain of {n} rigid bodies in space",
        step=0.001,
        duration=5.0,
        source=SOURCE,
        facts=(
            Fact("the energy", SOURCE, energy=(inertia * TURN**2 + n * ABOUT * SPIN**2) / 2),
            Fact(
                "momentum about the vertical", SOURCE, quantity=vertical_momentum(m),
                value=inertia * TURN, accuracy=1e-12 * n**3,
            ),
        ),
    )  # fmt: skip


def mechanism(bodies: int) -> Mechanism:
    """The chain along x, turning."""
    m = Mechanism(gravity=(0.0, 0.0, -GRAVITY))
    before = m.ground
    for k in range(bodies):
        bar = m.body(
            f"bar {k + 1}", mass=1.0, inertia=(ABOUT, ACROSS, ACROSS), at=(k + 0.5, 0, 0),
            velocity=(0, (k + 0.5) * TURN, 0), angular_velocity=(SPIN, 0, TURN),
        )  # fmt: skip
        m.spherical(f"ball {k + 1}", before, bar, at=(k, 0, 0))
        before = bar
    return m


def vertical_momentum(m: Mechanism) -> sp.Expr:
    """Σ μ (x ẏ − y ẋ) over centres and directors, with their masses μ."""
    total = []
    for part in m.parts.values():
        q, v = m.symbols(part)
        for k in range(0, len(q), 3):
            total.append(part.masses[k] * (q[k] * v[k + 1] - q[k + 1] * v[k]))
    return sp.Add(*total)
