"""A crank turns a rocker through a coupler in space (the RSSR four-bar mechanism).

The crank turns about the z axis through the origin, the rocker about an axis along y through P; the
coupler, a thin rod with a ball joint at either end, holds their tips A and B at the distance l:

    A = a (cos θ, sin θ, 0),      B = P + b (sin φ, 0, cos φ),      |B − A|² = l².

Written out the last equation is α cos φ + β sin φ = γ with

    α = 2 b (P − A)·e₃,   β = 2 b (P − A)·e₁,   γ = l² − b² − |P − A|²,

so the rocker is at φ = atan2(β, α) − arccos(γ/√(α² + β²)), on the same side for all θ.  The rates
follow from (B − A)·(Ḃ − Ȧ) = 0.

Here a = 0.5, b = 1, l = 1.5, P = (1, 0.8, 0); every bar is of mass 1 per length, crank and rocker
are w = 0.1 thick; g = 9.81 along −z.  From θ = 0 with θ̇ = 6 the crank goes round.  With θ alone
the energy is ½ J(θ) θ̇² + U(θ), and the motion a quadrature (`taut.problems.turning`).

Source: Hartenberg & Denavit 1964, chapter 12; the motion is a quadrature.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from taut.model.mechanism import Mechanism
from taut.problems.base import Fact, Problem
from taut.problems.frames import about, crossed, stacked
from taut.problems.turning import Turning

GRAVITY = 9.81
CRANK, ROCKER, COUPLER = 0.5, 1.0, 1.5
PIVOT = np.array([1.0, 0.8, 0.0])
WIDTH = 0.1
START, RATE = 0.0, 6.0
SOURCE = "loop closure; time by quadrature"


class Pose(NamedTuple):
    """Angle of the rocker, tips, and their derivatives by θ."""

    theta: np.ndarray
    phi: np.ndarray
    slope: np.ndarray
    a: np.ndarray
    b: np.ndarray
    da: np.ndarray
    db: np.ndarray


def spatial_four_bar() -> Problem:
    """The crank goes round, the rocker swings."""
    return Problem.of(
        mechanism(),
        name="spatial-four-bar",
        title="Crank, coupler and rocker in space",
        step=0.001,
        duration=5.0,
        source=SOURCE,
        exact=exact,
        facts=(
            Fact("the energy", SOURCE, energy=turning().energy),
            Fact("the time of a turn of the crank", SOURCE, period=turning().period),
        ),
    )


def mechanism() -> Mechanism:
    """The mechanism at the start."""
    m = Mechanism(gravity=(0.0, 0.0, -GRAVITY))
    pose = pose_at(START)
    axis = (pose.b - pose.a) / COUPLER
    swing = RATE * float(pose.slope)
    crank = m.body(
        "crank", mass=CRANK, inertia=bar(CRANK)[[2, 1, 0]], at=pose.a / 2,
        rotation=about(2, pose.theta), velocity=RATE * pose.da / 2, angular_velocity=(0, 0, RATE),
    )  # fmt: skip
    rocker = m.body(
        "rocker", mass=ROCKER, inertia=bar(ROCKER), at=(PIVOT + pose.b) / 2,
        rotation=about(1, pose.phi), velocity=RATE * pose.db / 2, angular_velocity=(0, swing, 0),
    )  # fmt: skip
    rate = RATE * (pose.db - pose.da) / COUPLER
    coupler = m.body(
        "coupler", mass=COUPLER, inertia=rod(), at=(pose.a + pose.b) / 2, rotation=_along(axis),
        velocity=RATE * (pose.da + pose.db) / 2, angular_velocity=np.cross(axis, rate),
    )  # fmt: skip
    m.revolute("crank hinge", m.ground, crank, at=(0, 0, 0), axis=(0, 0, 1))
    m.revolute("rocker hinge", m.ground, rocker, at=PIVOT, axis=(0, 1, 0))
    m.spherical("tip of the crank", coupler, crank, at=pose.a)
    m.spherical("tip of the rocker", coupler, rocker, at=pose.b)
    return m


def bar(length: float) -> np.ndarray:
    """Principal moments of a bar along its third axis; its mass is its length."""
    across = length * (length**2 + WIDTH**2) / 12
    return np.array([across, across, length * WIDTH**2 / 6])


def rod() -> np.ndarray:
    """Those of the thin coupler."""
    return np.array([1.0, 1.0, 0.0]) * COUPLER**3 / 12


def _along(axis: np.ndarray) -> np.ndarray:
    """A rotation whose third column is an axis."""
    first = np.cross([0.0, 1.0, 0.0], axis)
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(axis, first), axis], axis=-1)


def pose_at(theta: Any) -> Pose:
    """Where everything is when the crank is at θ."""
    theta = np.asarray(theta, dtype=float)
    none = np.zeros_like(theta)
    a = CRANK * np.stack([np.cos(theta), np.sin(theta), none], axis=-1)
    da = CRANK * np.stack([-np.sin(theta), np.cos(theta), none], axis=-1)
    apart = PIVOT - a
    alpha, beta = 2 * ROCKER * apart[..., 2], 2 * ROCKER * apart[..., 0]
    gamma = COUPLER**2 - ROCKER**2 - (apart**2).sum(axis=-1)
    phi = np.arctan2(beta, alpha) - np.arccos(gamma / np.hypot(alpha, beta))
    b = PIVOT + ROCKER * np.stack([np.sin(phi), none, np.cos(phi)], axis=-1)
    turn = ROCKER * np.stack([np.cos(phi), none, -np.sin(phi)], axis=-1)
    slope = ((b - a) * da).sum(axis=-1) / ((b - a) * turn).sum(axis=-1)
    return Pose(theta, phi, slope, a, b, da, slope[..., None] * turn)


def _inertia(theta: Any) -> np.ndarray:
    """J(θ): bars about their hinges, the coupler by ∫ |ṙ|² dm along it."""
    pose = pose_at(theta)
    crank = bar(CRANK)[0] + CRANK**3 / 4
    rocker = (bar(ROCKER)[1] + ROCKER**3 / 4) * pose.slope**2
    both = pose.da**2 + pose.da * pose.db + pose.db**2
    return crank + rocker + COUPLER / 3 * both.sum(axis=-1)


def _potential(theta: Any) -> np.ndarray:
    pose = pose_at(theta)
    height = ROCKER * (PIVOT[2] + pose.b[..., 2]) + COUPLER * (pose.a[..., 2] + pose.b[..., 2])
    return GRAVITY * height / 2


@cache
def turning() -> Turning:
    """The motion of the crank."""
    return Turning(_inertia, _potential, START, RATE)


def exact(t: Any) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) at t, of crank, rocker and coupler."""
    pose = pose_at(turning().angle(t))
    rate = (1 / turning().slowness(pose.theta))[..., None]
    crank, rocker = about(2, pose.theta), about(1, pose.phi)
    spin, swing = np.eye(3)[2], pose.slope[..., None] * np.eye(3)[1]
    q = [
        stacked(pose.a / 2, crank), stacked((PIVOT + pose.b) / 2, rocker),
        (pose.a + pose.b) / 2, (pose.b - pose.a) / COUPLER,
    ]  # fmt: skip
    v = [
        stacked(pose.da / 2, crossed(spin) @ crank), stacked(pose.db / 2, crossed(swing) @ rocker),
        (pose.da + pose.db) / 2, (pose.db - pose.da) / COUPLER,
    ]  # fmt: skip
    return np.concatenate(q, axis=-1), rate * np.concatenate(v, axis=-1)
