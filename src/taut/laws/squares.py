"""Random points at which roots exist, of as many roots as there are.

A random residue has a square root half of the time, so that of 15 distances between six bodies one
point in 32 768 has them all.  Roots are therefore made to exist one body after the other: the
variables that a root is the first to contain are drawn again, many times at once, until the roots
that they complete are there.  Of six bodies the last one is drawn some 2⁵ times for each point.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import sympy as sp

from taut.laws.budget import spend
from taut.laws.field import WORD, Field
from taut.laws.ring import Ring

FEWEST = 2  # roots of even order, up to which points without them are left out as they are
MOST = 12  # roots that one step completes: one draw in 4096 has them
ROWS = 2**16  # drawn at once
ROUNDS = 60
COST = 48  # multiplications of a root


def with_roots(
    ring: Ring, field: Field, given: dict[sp.Symbol, np.ndarray], state: list[sp.Symbol]
) -> None:
    """Draw variables of the state again where roots are missing; `given` is changed."""
    roots = [(u, k) for u, k in ring.roots if k % 2 == 0 and u.free_symbols & set(state)]
    if len(roots) <= FEWEST or any(u.atoms(sp.Function) for u, _ in roots):
        return
    drawn: set[sp.Symbol] = set()
    for group, fresh in steps(roots, state):
        if fresh and len(group) <= MOST:
            _step(ring, field, given, group, fresh)
        drawn |= set(fresh)


def steps(roots: list, state: list[sp.Symbol]) -> list[tuple[list, list[sp.Symbol]]]:
    """(roots, variables): which roots the drawing of these variables completes, in order."""
    place = {x: i for i, x in enumerate(state)}
    last: dict[int, list] = {}
    for u, k in roots:
        own = max(place[x] for x in u.free_symbols if x in place)
        last.setdefault(own, []).append((u, k))
    found, before = [], set()
    for own in sorted(last):
        used = set().union(*(u.free_symbols for u, _ in last[own])) & set(state)
        fresh = sorted(used - before, key=place.__getitem__)
        found.append((last[own], fresh))
        before |= used
    return found


def _step(ring: Ring, field: Field, given: Mapping, roots: list, fresh: list[sp.Symbol]) -> None:
    missing = np.flatnonzero(~_there(ring, field, given, roots))
    for _ in range(ROUNDS):
        if not len(missing):
            return
        many = max(1, min(2 ** len(roots), ROWS // len(missing)))
        rows = np.repeat(missing, many)
        tried = {x: v[rows] for x, v in given.items()}
        tried |= {x: field.random(len(rows)) for x in fresh}
        good = _there(ring, field, tried, roots).reshape(len(missing), many)
        first, fine = good.argmax(axis=1), good.any(axis=1)
        chosen = np.flatnonzero(fine) * many + first[fine]
        for x in fresh:
            given[x][missing[fine]] = tried[x][chosen]
        missing = missing[~fine]


def _there(ring: Ring, field: Field, given: Mapping, roots: list) -> np.ndarray:
    """Where all of these roots exist."""
    size = len(next(iter(given.values())))
    spend(COST * size * len(roots))
    point = ring.sample(field, {x: v.astype(WORD) for x, v in given.items()})
    for u, k in roots:
        point.root(u, k)
    return point.good
