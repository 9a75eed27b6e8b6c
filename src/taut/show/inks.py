"""Which colour each part of a mechanism has: its own where they are few, else that of its type.

Colours are those of `style.COLOURS`, which readers with any colour vision can tell apart; there are
six of them.  Parts of one type have the same shape, mass and moments of inertia.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from taut.model.mechanism.parts import Part
from taut.show import style

ALIKE = 6  # digits of masses and moments of one type


def inks_of(parts: Sequence[Part], member: int | None) -> dict[str, int]:
    """Numbers of colours, by name; of one trajectory of many all have that of the trajectory.

    Where there are more types than colours, neighbours in the order of the parts differ.
    """
    if member is not None:
        return dict.fromkeys((part.name for part in parts), member)
    most = len(style.COLOURS)
    kinds = {part.name: k for k, part in enumerate(parts)}
    if len(parts) > most:
        known: dict[Hashable, int] = {}
        types = {part.name: known.setdefault(_type(part), len(known)) for part in parts}
        kinds = types if len(known) <= most else kinds
    return {name: k % most for name, k in kinds.items()}


def legend_of(parts: Sequence[Part], inks: dict[str, int]) -> list[tuple[str, int]]:
    """What each colour stands for, if it stands for one type: names, and how many more there are.

    Parts that are drawn as a user said are known by that.
    """
    groups: dict[int, list[Part]] = {}
    for part in parts:
        if not {"shapes", "colour"} & part.looks.keys():
            groups.setdefault(inks[part.name], []).append(part)
    if any(len({_type(x) for x in group}) > 1 for group in groups.values()):
        return []
    return [(_named(group), ink) for ink, group in groups.items()]


def _named(group: Sequence[Part]) -> str:
    more = len(group) - 1
    return f"{group[0].name} and {more} more" if more else group[0].name


def _type(part: Part) -> Hashable:
    numbers = (float(f"{x:.{ALIKE}g}") for x in (part.mass, *sorted(part.inertia.tolist())))
    return part.shape.name, *numbers
