"""Whether constraints close loops: without them nothing can fall into one line.

Constraints of an open system can be taken off one by one, each with a coordinate (or a part) that
no other has: their gradients are independent wherever none of them vanishes.  Where they close a
loop, their gradients may depend on each other at some configurations.  Gears and drives close none:
in the angles and slides of an open mechanism they are linear, with the same rank everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

OF_JOINTS = ("gear", "driven angle", "driven slide")  # hold what joints leave free


def closed(system: Any, pairs: Iterable[tuple[int, int]]) -> bool:
    """Whether there are loops, given the pairs (constraint, coordinate on which it depends)."""
    if system.mechanism is not None:
        links = [x for x in system.mechanism.joints.values() if x.kind not in OF_JOINTS]
        return _ring([(x.a.name, x.b.name) for x in links])
    rows: dict[int, set[int]] = {}
    users: dict[int, set[int]] = {}
    for i, j in pairs:
        rows.setdefault(int(i), set()).add(int(j))
        users.setdefault(int(j), set()).add(int(i))
    ends = [j for j, own in users.items() if len(own) == 1]
    while ends:
        for i in users[ends.pop()].copy():  # none if it has been taken off since
            for j in rows.pop(i):
                users[j].discard(i)
                if len(users[j]) == 1:
                    ends.append(j)
    return bool(rows)


def _ring(links: list[tuple[str, str]]) -> bool:
    """Whether some link joins what other links join already."""
    leader: dict[str, str] = {}

    def root(name: str) -> str:
        while name in leader:
            name = leader[name]
        return name

    for one, other in links:
        a, b = root(one), root(other)
        if a == b:
            return True
        leader[a] = b
    return False


__all__ = ["closed"]
