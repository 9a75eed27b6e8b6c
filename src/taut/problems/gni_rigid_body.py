"""A rigid body in a potential (GniCodes, example rigidbody).

Moments of inertia I = (0.5, 0.9, 1), momentum M = (0.2, 1, 0.4) in the body's own axes, turned by
the unit quaternion q = (0.4, 0.2, 0.4, 0.8), in the potential of its third axis, U = R₃₃ = q₀² −
q₁² − q₂² + q₃²:

    q̇ = ½ q ∗ (0, M/I),      Ṁ = M × (M/I) + 2 (q₀q₁ + q₂q₃, q₀q₂ − q₁q₃, 0).

The energy is ½ Σ Mᵢ²/Iᵢ + U = 1.27555…; the momentum about the vertical, (R M)₃ = 1.04, is kept.

Here it is a free body of a mechanism, whose centre rests at the origin, with the potential d₃·e₃ of
its third director.

Source: GniCodes (Hairer & Hairer 2003), rigidbody.f; values at t = 10 from the equations above with
two tolerances that agree to 1e−13.
"""

from __future__ import annotations

import sympy as sp

from taut.lie import SO3
from taut.model.mechanism import Mechanism
from taut.problems.base import Fact, Problem

INERTIA = (0.5, 0.9, 1.0)
TURN = (0.4, 0.2, 0.4, 0.8)
MOMENTUM = (0.2, 1.0, 0.4)
SOURCE = "GniCodes, rigidbody.f"
COMPUTED = "quaternions and body momenta, two tolerances agree to 1e-13"


def gni_rigid_body() -> Problem:
    """The rigid body of GniCodes, as a mechanism."""
    m = Mechanism()
    spin = [momentum / inertia for momentum, inertia in zip(MOMENTUM, INERTIA, strict=True)]
    body = m.body(
        "body", mass=1.0, inertia=INERTIA, at=(0, 0, 0), rotation=TURN,
        angular_velocity=SO3.from_quaternion(TURN) @ spin,
    )  # fmt: skip
    coordinates, rates = m.symbols(body)
    m.potential(coordinates[11], name="field")
    turning = [
        mass * (coordinates[3 * k] * rates[3 * k + 1] - coordinates[3 * k + 1] * rates[3 * k])
        for k, mass in zip((1, 2, 3), body.extents, strict=True)
    ]
    return Problem.of(
        m,
        name="gni-rigid-body",
        title="Rigid body in a potential",
        step=0.05,
        duration=10.0,
        method="composition-8",
        source=SOURCE,
        facts=(
            Fact("the energy", SOURCE, energy=1.2755555555555556),
            Fact("momentum about the vertical", SOURCE, quantity=sp.Add(*turning), value=1.04),
            Fact(
                "turn and momentum at t = 10", COMPUTED, t=10.0, accuracy=1e-12,
                parts={
                    "body": {
                        "quaternion": (
                            -0.7216818769389, -0.1638604692029, 0.6594396387742, 0.1321528582511,
                        ),
                        "body_angular_momentum": (
                            0.6890047056211, 1.0804242703503, -0.3892059297392,
                        ),
                    }
                },
            ),
        ),
    )  # fmt: skip
