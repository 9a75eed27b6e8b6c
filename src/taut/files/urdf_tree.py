"""The tree of a URDF: which links move as one, where all are, and how they move, at the start.

With the pose T of a link, the origin O of a joint and its motion Q(q),

    T_child = T_parent O Q(q),
    ω_child = ω_parent + R w,      ẋ_child = ẋ_parent + ω_parent × (x_child − x_parent) + R u,

R the rotation of T_parent O, and (w, u) the velocity that the joint gives, in its own frame:

| joint                | q                     | q̇       | Q                                     |
|----------------------|-----------------------|---------|---------------------------------------|
| revolute, continuous | φ                     | φ̇       | rotation by φ about e                 |
| prismatic            | s                     | ṡ       | shift by s e                          |
| planar               | x, y, φ               | ẋ, ẏ, φ̇ | shift across e, rotation by φ about e |
| floating             | x, y, z, (w, x, y, z) | u, w    | shift, rotation                       |

Links that fixed joints hold together are one rigid body, with m = Σ mᵢ, m c = Σ mᵢ cᵢ and

    J = Σ Rᵢ Jᵢ Rᵢᵀ + mᵢ (|dᵢ|² 1 − dᵢ dᵢᵀ),      dᵢ = cᵢ − c   (the parallel axis theorem).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from taut.errors import InputError, UnknownName, brief
from taut.lie import SO3
from taut.model.mechanism.joints import triad
from taut.model.mechanism.parts import direction

COUNTS = {"revolute": (1, 1), "continuous": (1, 1), "prismatic": (1, 1), "planar": (3, 3),
          "floating": (7, 6), "fixed": (0, 0)}  # fmt: skip


@dataclass
class Placed:
    """A link in space at the start.

    Attributes
    ----------
    link : Link
        Of the library.
    pose : ndarray, shape (4, 4)
    velocity, spin : ndarray, shape (3,)
        Of its origin, and angular.
    head : str
        The first link of those that it moves as one with.
    local : ndarray, shape (4, 4)
        Its pose in the frame of that one: the same to the last bit wherever the robot is, so that
        principal axes, which round-off chooses where two moments are equal, are too.
    joint : Joint or None
        That holds it to its parent.
    axis : ndarray, shape (3,)
        Of that joint, in space.
    """

    link: Any
    pose: np.ndarray
    velocity: np.ndarray = field(default_factory=lambda: np.zeros(3))
    spin: np.ndarray = field(default_factory=lambda: np.zeros(3))
    head: str = ""
    local: np.ndarray = field(default_factory=lambda: np.eye(4))
    joint: Any = None
    axis: np.ndarray = field(default_factory=lambda: np.zeros(3))


@dataclass
class Lump:
    """Links that move as one: mass, centre of mass, and inertia about it along the head's axes."""

    mass: float
    centre: np.ndarray
    inertia: np.ndarray


def placed(
    links: Mapping[str, Any],
    joints: list[Any],
    root: str,
    positions: Mapping[str, Any],
    velocities: Mapping[str, Any],
) -> dict[str, Placed]:
    """Every link in space, parents before children.

    Parameters
    ----------
    links, joints : of the library
        A tree with this root.
    positions, velocities : mapping
        Joint (or, for a free base, root link) → numbers.
    """
    children: dict[str, list[Any]] = {}
    for joint in joints:
        children.setdefault(joint.parent, []).append(joint)
    first = Placed(links[root], np.eye(4), head=root)
    if root in positions or root in velocities:
        motion, w, u = moved("floating", np.array([0.0, 0.0, 1.0]), positions.get(root),
                             velocities.get(root), f"link {root}")  # fmt: skip
        first = Placed(links[root], motion, u, w, root)
    found = {root: first}
    waiting = children.get(root, [])[::-1]
    while waiting:  # depth first, as the file has them
        joint = waiting.pop()
        found[joint.child] = _next(found[joint.parent], joint, links, positions, velocities)
        waiting += children.get(joint.child, [])[::-1]
    return found


def _next(parent: Placed, joint: Any, links: Any, positions: Any, velocities: Any) -> Placed:
    origin = np.eye(4) if joint.origin is None else joint.origin
    base = parent.pose @ origin
    axis = unit(joint.axis)
    motion, w, u = moved(joint.type, axis, positions.get(joint.name), velocities.get(joint.name),
                         f"joint {joint.name}")  # fmt: skip
    pose, turn = base @ motion, base[:3, :3]
    arm = pose[:3, 3] - parent.pose[:3, 3]
    velocity = parent.velocity + np.cross(parent.spin, arm) + turn @ u
    head, local = joint.child, np.eye(4)
    if joint.type == "fixed":
        head, local = parent.head, parent.local @ origin
    spin = parent.spin + turn @ w
    return Placed(links[joint.child], pose, velocity, spin, head, local, joint, turn @ axis)


def unit(axis: Any) -> np.ndarray:
    """A direction of length one; the first axis where none is given."""
    found = np.array([1.0, 0.0, 0.0] if axis is None else axis, dtype=float)
    return direction("an axis", found) if found.any() else found


def moved(
    kind: str, axis: np.ndarray, position: Any, rate: Any, what: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Q(q), and the velocities w and u, of a joint."""
    many, rates = COUNTS[kind]
    rest = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0] if kind == "floating" else [0.0] * many
    q = _numbers(f"the position of {what}", position, many, rest)
    v = _numbers(f"the velocity of {what}", rate, rates, [0.0] * rates)
    motion, w, u = np.eye(4), np.zeros(3), np.zeros(3)
    if kind in ("revolute", "continuous"):
        motion[:3, :3], w = SO3.exp(q[0] * axis), v[0] * axis
    elif kind == "prismatic":
        motion[:3, 3], u = q[0] * axis, v[0] * axis
    elif kind == "planar":
        plane = in_plane(axis)
        motion[:3, :3], w = SO3.exp(q[2] * axis), v[2] * axis
        motion[:3, 3], u = plane @ q[:2], plane @ v[:2]
    elif kind == "floating":
        motion[:3, :3], motion[:3, 3] = SO3.from_quaternion(q[3:]), q[:3]
        u, w = v[:3], v[3:]
    return motion, w, u


def in_plane(normal: np.ndarray) -> np.ndarray:
    """Directions x and y of a planar joint, as columns: those of its frame if z is the normal."""
    if np.array_equal(normal, [0.0, 0.0, 1.0]):
        return np.eye(3)[:, :2]
    held = triad(normal)
    return np.column_stack([held["u"], held["w"]])


def _numbers(what: str, given: Any, many: int, rest: list[float]) -> np.ndarray:
    if given is None:
        return np.array(rest)
    try:
        found = np.array(given, dtype=float).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        found = np.zeros(0)
    if many == 0 or len(found) != many or not np.isfinite(found).all():
        raise InputError(
            f"{what} cannot be used",
            expected=f"{many} finite number{'s' * (many != 1)}" if many else "a joint that moves",
            received=brief(given),
        )
    return found


def known(given: Mapping[str, Any] | None, names: Any, what: str) -> dict[str, Any]:
    """A mapping whose keys are joints that move."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(
            f"{what} cannot be read",
            expected='a mapping such as {"elbow": 0.5}',
            received=brief(given),
        )
    for name in given:
        if name not in names:
            raise UnknownName("joint that moves", name, names)
    return dict(given)


def lump(members: list[Placed]) -> Lump:
    """Mass, centre and inertia of links that move as one, in the frame of the first of them."""
    pieces = []
    for member in members:
        own = member.link.inertial
        if own is None:
            continue
        there = member.local @ (np.eye(4) if own.origin is None else own.origin)
        turned = there[:3, :3] @ own.inertia @ there[:3, :3].T
        pieces.append((float(own.mass), there[:3, 3], turned))
    mass = sum(m for m, _, _ in pieces)
    if not mass > 0:
        return Lump(0.0, np.zeros(3), np.zeros((3, 3)))
    centre = sum(m * c for m, c, _ in pieces) / mass
    inertia = np.zeros((3, 3))
    for m, c, own in pieces:
        d = c - centre
        inertia += own + m * (d @ d * np.eye(3) - np.outer(d, d))
    return Lump(mass, np.asarray(centre), (inertia + inertia.T) / 2)
