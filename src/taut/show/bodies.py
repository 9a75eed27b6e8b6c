"""The scene of a run of a mechanism: bodies, joints, rods, springs; what the ground carries."""

from __future__ import annotations

from typing import Any

import numpy as np

from taut.lie import SO3
from taut.march.parts import JointView, PartView
from taut.march.trajectory import Trajectory
from taut.model.mechanism import Mechanism
from taut.model.mechanism.forces import Acting
from taut.model.mechanism.parts import Part
from taut.model.mechanism.shapes import GROUND, POINT, ROD
from taut.show import style
from taut.show.body_shapes import (
    HOLDING,
    Drawn,
    all_shapes,
    as_data,
    grips,
    rod_frame,
    shapes_of,
)
from taut.show.flexible import beams_of
from taut.show.frames import part_of, rows_shown
from taut.show.geometry import linked, trails_of
from taut.show.inks import inks_of, legend_of
from taut.show.scene import Item, Scene, box_of
from taut.show.view import members as members_of

TURNS = 32767  # whole numbers per unit of a quaternion
LABELS = 12


def scene_of(run: Trajectory, members: Any) -> Scene:
    """What is seen of a run of a mechanism."""
    mechanism: Mechanism = run.system.mechanism
    runs, numbers, words = members_of(run, members)
    each = 7 * len(mechanism.parts) + 3 * len(mechanism.joints)
    rows, ends, notes = rows_shown(run, runs, numbers, each)
    if len(runs) < (run.batch or 1):
        notes.insert(0, f"{words} are drawn")
    solids = [x for x in mechanism.parts.values() if x.shape.directors and not _node(x)]
    shapes = all_shapes(mechanism, solids)
    items = []
    for k, (one, end) in enumerate(zip(runs, ends, strict=True)):
        part = part_of(one, np.minimum(rows, end - 1))
        items += _member(mechanism, shapes, part, k if len(runs) > 1 else None)
    items += _ground(mechanism)
    box = box_of([_around(item, mechanism, shapes) for item in items])
    return Scene(run.t[rows], items, box, _up(mechanism), ("x", "y", "z"), notes)


def _member(
    mechanism: Mechanism, shapes: list[list[Drawn]], run: Trajectory, member: int | None
) -> list[Item]:
    """All that is seen of one trajectory."""
    moving = [x for x in mechanism.parts.values() if not _node(x)]
    points = [part for part in moving if part.shape is POINT]
    solids = [part for part in moving if part.shape is not POINT]
    named = len(moving) <= LABELS and member is None
    inks = inks_of(moving, member)
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
        items.append(_solids(shapes, run, solids, named, inks, member))
    if items and member is None:
        items[0].data["legend"] = legend_of(moving, inks)
        items[0].data["named"] = named and len(moving) <= len(style.COLOURS)
    items += beams_of(mechanism, run, member)
    items += _marks(mechanism, run, member)
    items += _links(mechanism, run, member)
    tips = [beam.tip for beam in mechanism.beams.values()]
    used = len(set(inks.values()))
    inks |= {part.name: used + k if member is None else member for k, part in enumerate(tips)}
    trailing = [*moving, *tips]
    trailing = [trailing[k] for k in trails_of(len(trailing), linked(run.system))]
    places = np.stack([PartView(run, x).position for x in trailing], axis=1)
    numbers = [inks[part.name] for part in trailing]
    data = {"places": places, "points": list(range(len(trailing))), "inks": numbers}
    data["member"] = member
    return [*items, Item("trails", data)]


def _node(part: Part) -> bool:
    """Whether it is a node of a beam, which is drawn as a whole."""
    return "beam" in part.looks


def _solids(
    shapes: list[list[Drawn]],
    run: Trajectory,
    solids: list[Part],
    named: bool,
    inks: dict[str, int],
    member: int | None,
) -> Item:
    turns = np.stack([SO3._quaternion(_frames(run, part)) for part in solids], axis=1)
    data = {
        "places": np.stack([PartView(run, x).position for x in solids], axis=1),
        "turns": np.round(TURNS * turns).astype(np.int16),
        # What has a look of its own is known by it.
        "names": [x.name if _labelled(x) else "" for x in solids] if named else [],
        "inks": [inks[part.name] for part in solids],
        "member": member,
    }
    return Item("bodies", data | as_data(shapes))


def _labelled(part: Part) -> bool:
    return "shapes" not in part.looks or "named" in part.looks


def _frames(run: Trajectory, part: Part) -> np.ndarray:
    """Principal axes at every state; those of a thin rod turn as little as they can."""
    seen = PartView(run, part)
    return rod_frame(seen.axis) if part.shape is ROD else seen.directors


def _ground(mechanism: Mechanism) -> list[Item]:
    """What the ground is drawn as, if anything was said of it."""
    if not mechanism.ground.looks.get("shapes"):
        return []
    data = {
        "places": np.zeros((1, 1, 3)),
        "turns": np.array([[[TURNS, 0, 0, 0]]], dtype=np.int16),
        "names": [],
        "inks": [None],
        "member": None,
    }
    return [Item("bodies", data | as_data([shapes_of(mechanism.ground)]))]


def _marks(mechanism: Mechanism, run: Trajectory, member: int | None) -> list[Item]:
    """Where joints are."""
    held = [joint for joint in mechanism.joints.values() if joint.kind in HOLDING]
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


def links_at(mechanism: Mechanism, run: Trajectory) -> list[tuple[np.ndarray, str]]:
    """Ends, shape (2, 3), and looks of what links parts at the first state of a run.

    Rods, springs and ropes, and lines from the centres of bodies to where joints hold them.
    """
    found = []
    for item in _links(mechanism, run, None):
        places = item.data["places"][0]
        found += [(places[pair], item.data["look"]) for pair in item.data["pairs"]]
    for part, at in grips(mechanism):
        if part.name in mechanism.parts and part.shape is not POINT and not _node(part):
            seen = PartView(run, part)
            found.append((np.stack([seen.position[0], seen.place(at)[0]]), "rod"))
    return found


def _ends(run: Trajectory, a: Part, b: Part, at: np.ndarray) -> list[np.ndarray]:
    found = []
    for part, place in zip((a, b), at, strict=True):
        if part.shape is GROUND:
            found.append(np.broadcast_to(place, (len(run.t), 3)))
        else:
            found.append(PartView(run, part).place(place))
    return found


def _around(item: Item, mechanism: Mechanism, shapes: list[list[Drawn]]) -> np.ndarray:
    """Places of an item, and for bodies the corners of the room that they need."""
    places = item.data["places"]
    if item.kind != "bodies":
        return places
    if item.data["inks"] == [None]:  # the ground
        still = shapes_of(mechanism.ground)
        low = high = np.array([shape.offset for shape in still])
        room = np.array([shape.radius for shape in still])
    else:
        room = np.array([max(x.reach for x in own) for own in shapes])
        low, high = places.min(axis=0), places.max(axis=0)
    return np.stack([low - room[:, None], high + room[:, None]])


def _up(mechanism: Mechanism) -> tuple[float, float, float]:
    """Against gravity; without it along the third axis."""
    pull = float(np.linalg.norm(mechanism.gravity))
    up = -mechanism.gravity / pull if pull > 0 else np.array([0.0, 0.0, 1.0])
    return float(up[0]), float(up[1]), float(up[2])
