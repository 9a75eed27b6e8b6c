"""What is redundant, in one wording everywhere: joints, and how many of their rows are too many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from taut.model.system import System


def owners(system: System, keep: Iterable[int]) -> dict[str, int]:
    """Joints of a mechanism, or constraints, and how many of their rows others hold already."""
    kept, owner = set(keep), _owner(system)
    found: dict[str, int] = {}
    for i, row in enumerate(system.constraint_names):
        if i not in kept:
            name = owner.get(row, row)
            found[name] = found.get(name, 0) + 1
    return found


def told(system: System, extra: Mapping[str, int], most: int | None = None) -> str:
    """Such as "d (3 of 5), again"; "none" if nothing is."""
    rows: dict[str, int] = {}
    for name in _owner(system).values():
        rows[name] = rows.get(name, 0) + 1
    words = [
        f"{name} ({count} of {rows[name]})" if rows.get(name, 1) > 1 else name
        for name, count in extra.items()
    ]
    more = 0 if most is None else len(words) - most
    shown = ", ".join(words[: most if more > 0 else None])
    return (f"{shown} and {more} more" if more > 0 else shown) or "none"


def _owner(system: System) -> dict[str, str]:
    """Joints by the names of their rows."""
    joints = () if system.mechanism is None else system.mechanism.joints.values()
    return {row: joint.name for joint in joints for row in joint.rows}
