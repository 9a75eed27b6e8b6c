"""Parts that lie askew are turned before they are brought together.

Rows of joints do not tell an axis from its opposite (u·e = w·e = 0 for both), nor the three axes of
a slider from each other in turn, and Newton's method ends at whatever is near.  So where a joint
has an axis on each part, the second part is first turned by the least turn that makes them meet,
about the place of the joint on it, with all that other joints hold to it as it stands.  Parts keep
their velocities and angular velocities in space.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from taut.errors import ConstraintError
from taut.model.loops import OF_JOINTS
from taut.portable import product

if TYPE_CHECKING:
    from taut.model.mechanism import Mechanism
    from taut.model.mechanism.joints import Joint
    from taut.model.mechanism.parts import Part

ACROSS = 0.5  # cosine: directions that are to be one meet with 1, others with 0 or −1


def is_askew(joint: Joint) -> bool:
    """Whether it has directions of its own on each part."""
    if not joint.triad or joint.kind in (*OF_JOINTS, "universal"):
        return False
    return any(not np.array_equal(joint.triad[x], joint.other[x]) for x in "uwe")


def turned(mechanism: Mechanism, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities of the start, with axes that meet."""
    tilted = [x for x in mechanism.joints.values() if is_askew(x)]
    if not tilted:
        return q, v
    group = _groups(mechanism)
    turns = {group[id(mechanism.ground)]: np.eye(3)}
    q, v, waiting = q.copy(), v.copy(), tilted
    while waiting:
        ready = [x for x in waiting if {group[id(x.a)], group[id(x.b)]} & turns.keys()]
        if not ready:  # nothing holds on to the ground: the first of them stays
            turns[group[id(waiting[0].a)]] = np.eye(3)
            continue
        joint = ready[0]
        waiting = [x for x in waiting if x is not joint]
        a, b = (group[id(x)] for x in (joint.a, joint.b))
        frames = [np.column_stack([x[k] for k in "uwe"]) for x in (joint.triad, joint.other)]
        if a in turns and b not in turns:
            turns[b] = product(turns[a], frames[0], frames[1].T)
            _turn(mechanism, q, v, (group, b), turns[b], joint.at[1])
        elif b in turns and a not in turns:
            turns[a] = product(turns[b], frames[1], frames[0].T)
            _turn(mechanism, q, v, (group, a), turns[a], joint.at[0])
    return q, v


def _groups(mechanism: Mechanism) -> dict[int, int]:
    """A number for each part, the same for those that joints hold together as they stand."""
    leader = {id(x): id(x) for x in (mechanism.ground, *mechanism.carriers)}

    def lead(part: int) -> int:
        while leader[part] != part:
            part = leader[part]
        return part

    links = [(x.a, x.b) for x in mechanism.joints.values() if _holds(x)]
    for beam in mechanism.beams.values():
        links += list(zip(beam.nodes, beam.nodes[1:], strict=False))
    for one, other in links:
        leader[lead(id(one))] = lead(id(other))
    return {part: lead(part) for part in leader}


def _holds(joint: Joint) -> bool:
    return joint.kind not in OF_JOINTS and not is_askew(joint)


def _turn(mechanism, q, v, which: tuple[dict[int, int], int], turn, place) -> None:
    """Turn all parts of a group about a place."""
    group, number = which
    for part in mechanism.parts.values():
        if group[id(part)] != number or part.shape.size < 3:
            continue
        here = slice(part.first, part.first + 3)
        q[here] = place + product(turn, q[here] - place)
        for k in range(part.first + 3, part.first + part.shape.size, 3):
            q[k : k + 3] = product(turn, q[k : k + 3])
            v[k : k + 3] = np.cross(part.angular_velocity, q[k : k + 3])


def check_met(mechanism: Mechanism, q: np.ndarray) -> None:
    """Refuse a configuration in which axes met the wrong way."""
    wrong = []
    for joint in (x for x in mechanism.joints.values() if is_askew(x)):
        letters = "ue" if joint.kind == "prismatic" else "e"
        sides = ((joint.a, joint.triad), (joint.b, joint.other))
        for x in letters:
            one, other = (_direction(part, held[x], q) for part, held in sides)
            if product(one, other) < ACROSS:
                wrong.append(joint)
                break
    if wrong:
        raise ConstraintError(
            f"the axes of {', '.join(x.title for x in wrong)} meet the wrong way round",
            expected="axis=(axis of the first, axis of the second) that point the same way where "
            "all fits together",
            remedy="begin with parts nearer to where they are to be, or turn one of the axes round",
        )


def _direction(part: Part, direction: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Where a direction of a part points, which is given in space at the start."""
    if part.shape.size == 0:
        return direction
    found = product(part.directors.T, direction)
    own = q[part.first + 3 : part.first + part.shape.size].reshape(-1, 3)
    axes = {k: own[i] for i, k in enumerate(part.shape.directors)}
    if len(axes) == 2:  # a plate
        axes[3] = np.cross(axes[1], axes[2])
    return np.sum([found[k - 1] * x for k, x in axes.items()], axis=0)
