"""The scene of a run of a mechanism: bodies as large as their inertia says, joints, rods, springs.

A body is drawn as the solid of uniform density that has its principal moments: a box with sides
√(12 Eᵢ/m), Eᵢ = (J₁ + J₂ + J₃)/2 − Jᵢ; a cylinder with radius 2 √(E₁/m) and height √(12 E₃/m) where
E₁ = E₂; a ball with radius √(5 E/m) where all are equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taut.lie import SO3
from taut.march.parts import JointView, PartView
from taut.march.trajectory import Trajectory
from taut.model.mechanism import Mechanism
from taut.model.mechanism.forces import Acting
from taut.model.mechanism.parts import Part
from taut.model.mechanism.shapes import GROUND, NUMBER, PLATE, POINT, ROD
from taut.show import style
from taut.show.frames import part_of, rows_shown
from taut.show.scene import Item, Scene, box_of
from taut.show.view import members as members_of

LOOKS = ("box", "cylinder", "ball")
TURNS = 32767  # whole numbers per unit of a quaternion
ALIKE = 1e-6  # of the largest extent: two that differ by less are equal
THIN = 0.02  # of the largest side of a body: what it is drawn as thick at least
LABELS, TRAILS = 12, 4
MARKED = ("spherical", "revolute", "universal", "cylindrical", "prismatic", "fixed", "screw")


def scene_of(run: Trajectory, members: Any) -> Scene:
    """What is seen of a run of a mechanism."""
    mechanism: Mechanism = run.system.mechanism
    runs, numbers, words = members_of(run, members)
    each = 7 * len(mechanism.parts) + 3 * len(mechanism.joints)
    rows, ends, notes = rows_shown(run, runs, numbers, each)
    if len(runs) < (run.batch or 1):
        notes.insert(0, f"{words} are drawn")
    items = []
    for k, (one, end) in enumerate(zip(runs, ends, strict=True)):
        part = part_of(one, np.minimum(rows, end - 1))
        items += _member(mechanism, part, k if len(runs) > 1 else None)
    box = _grown(box_of([item.data["places"] for item in items]), mechanism)
    return Scene(run.t[rows], items, box, _up(mechanism), ("x", "y", "z"), notes)


def _member(mechanism: Mechanism, run: Trajectory, member: int | None) -> list[Item]:
    """All that is seen of one trajectory."""
    moving = [part for part in mechanism.parts.values() if part.shape is not NUMBER]
    points = [part for part in moving if part.shape is POINT]
    solids = [part for part in moving if part.shape is not POINT]
    named = len(moving) <= LABELS and member is None
    inks = {part.name: _ink(k, len(moving), member) for k, part in enumerate(moving)}
    items = []
    if points:
        items.append(
            Item(
                "points",
                {
                    "places": np.stack([PartView(run, x).position for x in points], axis=1),
                    "names": [x.name for x in points] if named else [],
                    "moving": [True] * len(points),
                    "inks": [inks[x.name] for x in points],
                    "member": member,
                },
            )
        )
    if solids:
        items.append(_solids(run, solids, named, inks, member))
    items += _marks(mechanism, run, member)
    items += _links(mechanism, run, member)
    trailing = moving if len(moving) <= TRAILS else moving[-1:]
    places = np.stack([PartView(run, x).position for x in trailing], axis=1)
    numbers = [inks[part.name] for part in trailing]
    data = {"places": places, "points": list(range(len(trailing))), "inks": numbers}
    data["member"] = member
    return [*items, Item("trails", data)]


def _ink(k: int, many: int, member: int | None) -> int:
    """The number of a part's colour: its own where they are few, its trajectory's in a batch."""
    return member if member is not None else k if many <= len(style.COLOURS) else 0


def _solids(
    run: Trajectory, solids: list[Part], named: bool, inks: dict[str, int], member: int | None
) -> Item:
    turns = np.stack([SO3._quaternion(_frames(run, part)) for part in solids], axis=1)
    shapes = [shape_of(part) for part in solids]
    return Item(
        "bodies",
        {
            "places": np.stack([PartView(run, x).position for x in solids], axis=1),
            "turns": np.round(TURNS * turns).astype(np.int16),
            "looks": [look for look, _ in shapes],
            "sizes": [list(size) for _, size in shapes],
            "names": [part.name for part in solids] if named else [],
            "inks": [inks[part.name] for part in solids],
            "member": member,
        },
    )


def _frames(run: Trajectory, part: Part) -> np.ndarray:
    """Principal axes at every state; those of a thin rod turn as little as they can."""
    seen = PartView(run, part)
    if part.shape is not ROD:
        return seen.directors
    axis = seen.axis / np.linalg.norm(seen.axis, axis=-1, keepdims=True)
    other = np.zeros_like(axis)
    other[np.arange(len(axis)), np.argmin(np.abs(axis), axis=-1)] = 1.0
    first = np.cross(other, axis)
    first /= np.linalg.norm(first, axis=-1, keepdims=True)
    return np.stack([first, np.cross(axis, first), axis], axis=-1)


def shape_of(part: Part) -> tuple[str, tuple[float, float, float]]:
    """How a body is drawn: what it is, and its extents along its principal axes."""
    given = part.looks.get("look")
    size = part.looks.get("size")
    if given is not None or size is not None:
        return given or "box", _given_size(part, size)
    per_mass = np.maximum(part.extents, 0.0) / part.mass
    sides = np.sqrt(12 * per_mass)
    least = THIN * float(sides.max())
    if part.shape is ROD:
        return "cylinder", (least, least, float(sides[2]))
    if part.shape is PLATE:
        return "box", (float(sides[0]), float(sides[1]), least)
    close = np.abs(per_mass[:, None] - per_mass[None]) <= ALIKE * per_mass.max()
    if close.all():
        ball = 2 * float(np.sqrt(5 * per_mass[0]))
        return "ball", (ball, ball, ball)
    if close[0, 1]:
        width = 4 * float(np.sqrt(per_mass[0]))
        return "cylinder", (width, width, float(sides[2]))
    return "box", (float(sides[0]), float(sides[1]), float(sides[2]))


def _given_size(part: Part, size: Any) -> tuple[float, float, float]:
    found = np.sqrt(12 * np.maximum(part.extents, 0.0) / part.mass) if size is None else size
    x, y, z = (float(e) for e in np.broadcast_to(np.asarray(found, dtype=float), (3,)))
    return x, y, z


def _marks(mechanism: Mechanism, run: Trajectory, member: int | None) -> list[Item]:
    """Where joints are."""
    held = [joint for joint in mechanism.joints.values() if joint.kind in MARKED]
    if not held:
        return []
    places = np.stack([JointView(run, joint).position for joint in held], axis=1)
    grounded = [GROUND in (joint.a.shape, joint.b.shape) for joint in held]
    return [Item("marks", {"places": places, "grounded": grounded, "member": member})]


def _links(mechanism: Mechanism, run: Trajectory, member: int | None) -> list[Item]:
    """Rods, springs and ropes, each look with the places of its ends."""
    ends: dict[str, list[np.ndarray]] = {}
    for joint in mechanism.joints.values():
        if joint.kind == "rod":
            ends.setdefault("rod", []).extend(_ends(run, joint.a, joint.b, joint.at))
    for force in mechanism.forces.values():
        if isinstance(force, Acting) and force.ends is not None:
            a, b = force.measure.a, force.measure.b
            ends.setdefault(force.look, []).extend(_ends(run, a, b, force.ends))
    found = []
    for look, places in ends.items():
        pairs = [[2 * k, 2 * k + 1] for k in range(len(places) // 2)]
        data = {"look": look, "pairs": pairs, "places": np.stack(places, axis=1), "member": member}
        found.append(Item("links", data))
    return found


def _ends(run: Trajectory, a: Part, b: Part, at: np.ndarray) -> list[np.ndarray]:
    found = []
    for part, place in zip((a, b), at, strict=True):
        if part.shape is GROUND:
            found.append(np.broadcast_to(place, (len(run.t), 3)))
        else:
            found.append(PartView(run, part).place(place))
    return found


def _grown(box: np.ndarray, mechanism: Mechanism) -> np.ndarray:
    """The box with room for the bodies at its edge."""
    sizes = [shape_of(x)[1] for x in mechanism.parts.values() if x.shape.directors]
    room = 0.5 * max((max(size) for size in sizes), default=0.0)
    return box + room * np.array([[-1.0], [1.0]])


def _up(mechanism: Mechanism) -> tuple[float, float, float]:
    """Against gravity; without it along the third axis."""
    pull = float(np.linalg.norm(mechanism.gravity))
    up = -mechanism.gravity / pull if pull > 0 else np.array([0.0, 0.0, 1.0])
    return float(up[0]), float(up[1]), float(up[2])
