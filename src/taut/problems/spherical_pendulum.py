"""Spherical pendulum, thrown sideways from the horizontal.

Unit mass and length, z up, gravity along −z:

    H = |p|²/2 + g z,      |q|² − 1 = 0,      g = 9.81,

from q = (1, 0, 0) with p = (0, 1, 0).  H = 1/2 and the angular momentum about the vertical,
x ẏ − y ẋ = 1, are kept.  The height is an elliptic function and the azimuth an elliptic integral
of the third kind (`taut.problems.elliptic.spherical_motion`).

The multiplier in q̈ = −∇U − 2λ q is λ = (|v|² − g z)/2.

Source: pydykit, example pendulum_3d; the closed form is classical.
"""

from __future__ import annotations

import numpy as np

from taut.model import System, coordinates, velocities
from taut.problems.base import Fact, Problem, hanging
from taut.problems.elliptic import spherical_motion

GRAVITY = 9.81
Q0, V0 = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
SOURCE = "pydykit, pendulum_3d"


def spherical_pendulum() -> Problem:
    """The spherical pendulum of pydykit."""
    x, y, z, g = coordinates("x y z g")
    vx, vy, _ = velocities([x, y, z])
    system = System(
        [x, y, z],
        mass=[1, 1, 1],
        potential=g * z,
        constraints={"rod": x**2 + y**2 + z**2 - 1},
        parameters={"g": GRAVITY},
        drawing=hanging((x, y, z)),
    )
    computed = "exact flow, two tolerances agree to 5e-13"
    return Problem(
        name="spherical-pendulum",
        title="Spherical pendulum",
        system=system,
        q0=Q0,
        v0=V0,
        step=0.01,
        duration=10.0,
        source=SOURCE,
        exact=spherical_motion(Q0, V0, GRAVITY),
        exact_multipliers=exact_multipliers,
        facts=(
            Fact("the energy is 1/2", SOURCE, energy=0.5),
            Fact("angular momentum about z", SOURCE, quantity=x * vy - y * vx, value=1.0),
            Fact(
                "state at t = 1.3", computed, t=1.3,
                q=(-0.7551901643418, -0.6513026240283, -0.0741128033159),
                p=(0.7224482407130, -0.7011049535590, -1.2002556330399),
            ),
            Fact(
                "state at t = 10", computed, t=10.0,
                q=(0.2186113380002, 0.0467283501391, -0.9746925382863),
                p=(-1.255801030406, 4.305899677286, -0.075228600666),
            ),
        ),
    )  # fmt: skip


def exact_multipliers(t) -> np.ndarray:
    """λ = (|v|² − g z)/2 at t."""
    q, v = spherical_motion(Q0, V0, GRAVITY)(t)
    return ((v**2).sum(axis=-1, keepdims=True) - GRAVITY * q[..., 2:]) / 2.0
