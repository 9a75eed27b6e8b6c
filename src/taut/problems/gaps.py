"""How far a run is from what is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from taut.march.loop import BOOKS
from taut.march.parts import JointView, PartView
from taut.march.trajectory import Trajectory
from taut.problems.base import Fact

STATE = ("q", "v", "p")


def gap(fact: Fact, run: Trajectory) -> float | None:
    """The largest difference from a fact; `None` where the run cannot tell.

    The energy is that of all steps; other quantities are known at the stored states only.
    """
    if fact.raw:
        return None
    if fact.quantity is not None:
        return float(np.abs(run.evaluate(fact.quantity) - fact.value).max())
    if fact.t is None and fact.energy is not None and run.system.conservative:
        return float(np.abs(_energies(run) - fact.energy).max())
    row = 0 if fact.t is None else int(np.abs(run.t - fact.t).argmin())
    if fact.t is not None and abs(run.t[row] - fact.t) > 1e-9 * max(1.0, abs(fact.t)):
        between = run.t[0] <= fact.t <= run.t[-1] and fact.multipliers is None
        return _between(fact, run) if between and fact.energy is None else None
    found = [
        _off(getattr(run, name)[row], value)
        for name in (*STATE, "multipliers", "energy")
        if (value := getattr(fact, name)) is not None
    ]
    found += [
        _off(getattr(run[part], what)[row], value, what) for part, what, value in _parts(fact)
    ]
    return max(found, default=None)


def _energies(run: Trajectory) -> np.ndarray:
    """Energy at the start, and the lowest and highest of all steps, stored or not."""
    first, low, high = (
        run.ending.books[:, BOOKS.index(name)] for name in ("energy0", "error_min", "error_max")
    )
    return np.stack([first, first + low, first + high])


def _between(fact: Fact, run: Trajectory) -> float | None:
    """Of a time that is none of the grid's."""
    there: Any = run.at([fact.t])
    found = [
        _off(getattr(there, name)[0], value)
        for name in STATE
        if (value := getattr(fact, name)) is not None
    ]
    mechanism = run.system.mechanism
    for name, what, value in _parts(fact):
        if name in mechanism.parts:
            seen: Any = PartView(there, mechanism.parts[name])
        else:
            seen = JointView(there, mechanism.joints[name])
        found.append(_off(getattr(seen, what)[0], value, what))
    return max(found, default=None)


def _parts(fact: Fact) -> list[tuple[str, str, Any]]:
    given = fact.parts or {}
    return [(part, what, x) for part, values in given.items() for what, x in values.items()]


def _off(found: Any, known: Any, what: str = "") -> float:
    found, known = np.asarray(found), np.asarray(known)
    gaps = [float(np.abs(found - known).max())]
    if what == "quaternion":  # q and −q are the same rotation
        gaps.append(float(np.abs(found + known).max()))
    return min(gaps)
