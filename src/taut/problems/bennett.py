"""A closed loop of four bars in space that should not move, and does (Bennett's linkage).

Four hinges in space join three bars and the ground to a ring.  Each hinge leaves one freedom and a
ring takes six away: 4 − 6 = −2, so in general nothing moves.  With opposite bars alike, lengths a
and b, twists α and β of the hinges at their ends, and

    sin α/a = sin β/b,

it does (Bennett 1903): three equations are redundant, in every configuration.  With the angles θᵢ
at the hinges, in the convention of Denavit and Hartenberg (x along the bar, z along the hinge),

    θ₁ + θ₃ = θ₂ + θ₄ = 2π,      tan(θ₁/2) tan(θ₂/2) = sin((β + α)/2)/sin((β − α)/2).

Here a = 1, b = 2, α = 30°, β = 90°, so the product is √3; bar 4, from (−2, 0, 0) to the origin, is
the ground.  From θ₁ = 90°, where θ₂ = 120°, with θ̇₁ = 8, it goes round and round.  The bars are
square, w = 0.1 thick, of mass 1 per length; g = 9.81 along −z.

With θ = θ₁ alone the energy is ½ J(θ) θ̇² + U(θ), and the motion a quadrature
(`taut.problems.turning`).

Source: Bennett 1903; Denavit & Hartenberg 1955; the motion is a quadrature.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from taut.model.mechanism import Mechanism
from taut.problems.base import Fact, Problem
from taut.problems.frames import about, crossed, stacked
from taut.problems.turning import Turning

GRAVITY = 9.81
LENGTHS = (1.0, 2.0, 1.0)  # of the bars that move
TWISTS = (np.pi / 6, np.pi / 2, np.pi / 6)
PRODUCT = 3**0.5
WIDTH = 0.1
START, RATE = np.pi / 2, 8.0
SOURCE = "Bennett 1903; time by quadrature"


def bennett() -> Problem:
    """Bennett's linkage, going round."""
    return Problem.of(
        mechanism(),
        name="bennett",
        title="Bennett's linkage: a ring of four hinges",
        step=0.001,
        duration=10.0,
        source=SOURCE,
        exact=exact,
        facts=(
            Fact("the energy", SOURCE, energy=turning().energy),
            Fact("the time of a turn", SOURCE, period=turning().period),
        ),
    )


def mechanism() -> Mechanism:
    """The ring at the start."""
    m = Mechanism(gravity=(0.0, 0.0, -GRAVITY))
    bars, joints, axes = _poses(np.asarray(START))
    made = [m.ground]
    for k, ((centre, rotation, speed, spin), length) in enumerate(zip(bars, LENGTHS, strict=True)):
        made.append(
            m.body(
                f"bar {k + 1}", mass=length, inertia=moments(length), at=centre, rotation=rotation,
                velocity=RATE * speed, angular_velocity=RATE * spin,
            )
        )  # fmt: skip
    for k in range(4):
        m.revolute(f"hinge {k + 1}", made[k], made[(k + 1) % 4], at=joints[k], axis=axes[k])
    return m


def moments(length: float) -> tuple[float, float, float]:
    """Principal moments of inertia of a bar along x; its mass is its length."""
    across = length * (length**2 + WIDTH**2) / 12
    return length * WIDTH**2 / 6, across, across


def angles(theta: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """θ₁, θ₂, θ₃ and their derivatives by θ₁."""
    cos, sin = np.cos(theta / 2), np.sin(theta / 2)
    second = 2 * np.arctan2(PRODUCT * cos, sin)
    slope = -PRODUCT / (sin**2 + PRODUCT**2 * cos**2)
    return [theta, second, 2 * np.pi - theta], [np.ones_like(theta), slope, -np.ones_like(theta)]


def _poses(theta: np.ndarray) -> tuple[list[tuple], list[np.ndarray], list[np.ndarray]]:
    """Of each bar: centre, rotation and their rates by θ; places and axes of the hinges."""
    place = speed = spin = np.zeros((*theta.shape, 3))
    frame = np.broadcast_to(np.eye(3), (*theta.shape, 3, 3))
    bars, joints, axes = [], [place], [frame[..., 2]]
    for angle, slope, length, twist in zip(*angles(theta), LENGTHS, TWISTS, strict=True):
        spin = spin + slope[..., None] * frame[..., 2]
        frame = frame @ about(2, angle)
        arm = length * frame[..., 0]
        swing = np.cross(spin, arm)
        bars.append((place + arm / 2, frame, speed + swing / 2, spin))
        place, speed, frame = place + arm, speed + swing, frame @ about(0, twist)
        joints.append(place)
        axes.append(frame[..., 2])
    return bars, joints, axes


def _inertia(theta: Any) -> np.ndarray:
    """J(θ), twice the kinetic energy at θ̇ = 1."""
    total = 0.0
    for (_, rotation, speed, spin), length in zip(
        _poses(np.asarray(theta))[0], LENGTHS, strict=True
    ):
        own = np.einsum("...ji,...j->...i", rotation, spin)
        total = total + length * (speed**2).sum(axis=-1) + own**2 @ np.array(moments(length))
    return np.asarray(total)


def _potential(theta: Any) -> np.ndarray:
    bars = _poses(np.asarray(theta))[0]
    heights = [bar[0][..., 2] * length for bar, length in zip(bars, LENGTHS, strict=True)]
    return GRAVITY * np.asarray(sum(heights))


@cache
def turning() -> Turning:
    """The motion of θ₁."""
    return Turning(_inertia, _potential, START, RATE)


def exact(t: Any) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) at t."""
    theta = turning().angle(t)
    rate = (1 / turning().slowness(theta))[..., None]
    bars = _poses(theta)[0]
    q = [stacked(centre, rotation) for centre, rotation, _, _ in bars]
    v = [stacked(speed, crossed(spin) @ rotation) for _, rotation, speed, spin in bars]
    return np.concatenate(q, axis=-1), rate * np.concatenate(v, axis=-1)
