"""What holds a mechanism: which parts are connected, and why there may be no rest.

Within a group that nothing connects with the ground, joints, springs and motors act in pairs that
add up to nothing: under gravity alone Σ m g is left, and there is no rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from taut.errors import NoEquilibrium
from taut.model.mechanism.forces import Acting
from taut.model.mechanism.laws import jumping
from taut.model.mechanism.shapes import NUMBER

if TYPE_CHECKING:
    from taut.model.mechanism import Mechanism
    from taut.model.mechanism.parts import Part

LISTED = 4  # names
MOVING = 0.05  # of the largest acceleration: that of a part that moves on
BALANCED = "a configuration in which all forces are in balance"


def connected(mechanism: Mechanism) -> tuple[tuple[str, ...], ...]:
    """Groups of parts that joints or forces connect; what holds on to the ground is one group."""
    counters = mechanism.counters
    groups = ([name for name in group if name not in counters] for group in _groups(mechanism))
    return tuple(tuple(group) for group in groups)


def _groups(mechanism: Mechanism) -> list[list[str]]:
    """The same with the counters that belong to their joints."""
    names = ["ground", *(x.name for x in mechanism.carriers)]
    leader = {name: name for name in names}

    def lead(name: str) -> str:
        while leader[name] != name:
            leader[name] = name = leader[leader[name]]
        return name

    for pieces in _touched(mechanism):
        first, *rest = pieces
        for name in rest:
            leader[lead(name)] = lead(first)
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(lead(name), []).append(name)
    return [group for group in groups.values() if group != ["ground"]]


def _touched(mechanism: Mechanism) -> list[list[str]]:
    """Names of the parts that each beam, joint and force holds on to."""
    owner = {i: part.name for part in mechanism.carriers for i in part.indices}
    found = []
    held_by = (mechanism.beams, mechanism.joints, mechanism.forces)
    for held in (x for group in held_by for x in group.values()):
        sides = getattr(held, "measure", held)
        ends = (getattr(sides, "a", None), getattr(sides, "b", None))
        inside = sorted({owner[i] for piece in held.pieces for i in piece.indices})
        found.append([*(["ground"] if mechanism.ground in ends else []), *inside])
    return [names for names in found if names]


def listed(names: Iterable[str]) -> str:
    """A few names, and how many there are more."""
    found = list(names)
    more = len(found) - LISTED
    shown = ", ".join(found[:LISTED])
    return f"{shown} and {more} more" if more > 0 else shown


# ---- no rest ----------------------------------------------------------------------------------


def check_held(mechanism: Mechanism) -> None:
    """A `NoEquilibrium` with the names of parts that fall, whatever their configuration is."""
    if not mechanism.gravity.any():
        return
    loads = [x for x in mechanism.forces.values() if not isinstance(x, Acting)]
    pulled = {i for force in loads for piece in force.pieces for i in piece.indices}
    falling = []
    for group in _groups(mechanism):
        parts = [mechanism[name] for name in group if name != "ground"]
        if "ground" not in group and not pulled & {i for part in parts for i in part.indices}:
            falling += _bodies(parts)
    if falling:
        gravity = ", ".join(f"{x:g}" for x in mechanism.gravity)
        raise NoEquilibrium(
            f"nothing holds {listed(falling)}: under gravity there is no rest",
            load_factor=0.0,
            expected="joints or springs that connect all parts with the ground",
            received=f"gravity ({gravity}), and nothing that connects "
            f"{'it' if len(falling) == 1 else 'them'} with the ground",
            remedy="hold what is meant to rest by a joint or a spring; m.assemble() lists what is "
            "not connected",
        )


def _bodies(parts: Iterable[Part]) -> list[str]:
    """Names that a user gave: of beams, not of their nodes, and of nothing that counts turns."""
    found = (part.looks.get("beam", part.name) for part in parts if part.shape is not NUMBER)
    return list(dict.fromkeys(found))


def no_rest(
    mechanism: Mechanism, received: str, load_factor: float, acceleration: np.ndarray | None = None
) -> NoEquilibrium:
    """Why there is none, as far as it can be known.

    Parameters
    ----------
    acceleration : (n,) ndarray, optional
        Of the coordinates, where the search ended.
    """
    moving = () if acceleration is None else _moving(mechanism, acceleration)
    jumps = jumping(mechanism)
    what = f"no rest was found: {listed(moving)} would move on" if moving else "no rest was found"
    remedy = "begin nearer to it with q0=…, hold what moves on, or let it come to rest: simulate "
    remedy += "it with dampers"
    if jumps:
        laws = ", ".join(f"{name} by {law}" for name, law in list(jumps.items())[:LISTED])
        received += f"; forces that jump: {laws}"
        remedy = "where a force jumps there may be no balance: make it steep instead, tanh(x/ε) "
        remedy += "for sign(x), or begin with q0=… on the side where it rests"
    return NoEquilibrium(
        what, load_factor=load_factor, expected=BALANCED, received=received, remedy=remedy
    )


def _moving(mechanism: Mechanism, acceleration: np.ndarray) -> Sequence[str]:
    """Parts that would be accelerated most, the most first."""
    parts = mechanism.carriers
    spans = [acceleration[x.first : x.first + x.shape.size] for x in parts]
    sizes = np.array([float(np.linalg.norm(x)) for x in spans])
    if not 0 < sizes.max() < np.inf:
        return ()
    order = np.argsort(-sizes, kind="stable")
    return _bodies(parts[i] for i in order if sizes[i] >= MOVING * sizes.max())
