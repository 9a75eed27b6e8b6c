"""Parts of a large system that are alike: coordinates that move together, and what holds them.

A *group* is the coordinates of one instance of a term with kinetic energy (a point, a rigid body),
with the constraints that touch nothing else.  Groups to which the same kinds of terms are attached
in the same way form a *type*: one kernel eliminates all of them, several at a time, in SIMD lanes.
A chain of any length has one type, and a few groups at its ends that have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from taut.kernel.operators import Local
from taut.kernel.passes import LANES
from taut.model.symbols import free_symbols

FEWEST = 4  # groups of a type: one block of lanes
LARGEST = 32  # coordinates of a group
OTHERS = 1 << 32  # in the place of coordinates that are no place of this group


@dataclass
class Kind:
    """A type of term with its instances: where its local vectors lie in the system's vectors."""

    local: Local | None
    coordinates: np.ndarray
    rows: np.ndarray
    values: np.ndarray
    full: bool = False  # one instance (i, j) for each entry of the tables


@dataclass
class Member:
    """A term attached to the groups of a type.

    Attributes
    ----------
    kind : int
        Which kind of term.
    instances : ndarray, shape (groups,)
    slots : list of int
        Its coordinates among the type's: first own, then foreign ones.
    rows : list of int
        Its constraints among the type's: first private, then outer ones.
    """

    kind: int
    instances: np.ndarray
    slots: list[int]
    rows: list[int]


@dataclass
class GroupType:
    """Groups that are alike; all arrays have one row per group.

    Attributes
    ----------
    own, foreign : ndarray
        Coordinates of a group, and other coordinates that its terms look at.
    private, outer : ndarray
        Constraints that touch this group only, and those that touch others too.
    """

    own: np.ndarray
    foreign: np.ndarray
    private: np.ndarray
    outer: np.ndarray
    members: list[Member] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(self.own)


def group_types(kinds: Sequence[Kind], n: int, c: int) -> list[GroupType]:
    """The types with at least `FEWEST` groups; the largest first."""
    label = _labels(kinds, n)
    place = _places(label)
    touched = _touched(kinds, label, c)
    sizes = np.bincount(label)
    order, ends = np.argsort(label, kind="stable"), np.cumsum(sizes)
    attached = _attached(kinds, label, place)
    begins = np.searchsorted(attached[:, 0], np.arange(len(sizes) + 1))
    alike: dict[tuple, list[int]] = {}
    for g in np.flatnonzero(sizes <= LARGEST).tolist():
        what = attached[begins[g] : begins[g + 1], 1:3]
        alike.setdefault((int(sizes[g]), what.tobytes()), []).append(g)
    found = []
    for (size, _), groups in alike.items():
        chosen = np.array(groups)
        own = order[(ends - sizes)[chosen][:, None] + np.arange(size)]
        first = groups[0]
        rows = begins[chosen][:, None] + np.arange(int(begins[first + 1]) - int(begins[first]))
        found += _split(kinds, chosen, own, attached[rows], label, place, touched, c)
    found.sort(key=lambda x: (-x.count * (x.own.shape[1] + x.private.shape[1]), x.own.min()))
    return found


def _attached(kinds: Sequence[Kind], label: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Which terms are attached to which groups: rows (group, kind, way, instance), sorted.

    Terms whose coordinates are the same ones of the group are attached in the same way.
    """
    found = [np.zeros((0, 4), np.int64)]
    for number, kind in enumerate(kinds):
        if kind.local is None or not kind.coordinates.size:
            continue
        around = label[kind.coordinates]
        groups, ways, instances = [], [], []
        for j in range(around.shape[1]):
            fresh = np.flatnonzero(~np.any(around[:, :j] == around[:, j : j + 1], axis=1))
            here = around[fresh, j]
            own = np.where(around[fresh] == here[:, None], place[kind.coordinates[fresh]], OTHERS)
            groups.append(here)
            ways.append(own)
            instances.append(fresh)
        every = np.concatenate(ways)
        numbers = _numbered(every)
        kept = np.unique(numbers, return_index=True)[1]
        rank = np.empty(len(kept), np.int64)
        rank[np.lexsort(every[kept].T[::-1])] = np.arange(len(kept))
        way = rank[numbers]
        group, instance = np.concatenate(groups), np.concatenate(instances)
        what = np.full(len(group), number)
        found.append(np.stack([group, what, way, instance], axis=1))
    table = np.concatenate(found)
    return table[np.lexsort(table.T[::-1])]


def _split(kinds, groups, own, attached, label, place, touched, c: int) -> list[GroupType]:
    """Types of groups to which the same kinds of terms are attached in the same way.

    They differ in who their neighbours are (two joints may hold two others, or one), and in which
    of their constraints touch others or are dropped.
    """
    if len(groups) < FEWEST:
        return []
    members = [kinds[k] for k in attached[0, :, 1].tolist()]
    where = [kind.coordinates[attached[:, m, 3]] for m, kind in enumerate(members)]
    lines = [kind.rows[attached[:, m, 3]] for m, kind in enumerate(members)]
    none = np.zeros((len(groups), 0), np.int64)
    places, rows = np.hstack([none, *where]), np.hstack([none, *lines])
    mine = label[places[0]] == groups[0]
    others = places[:, ~mine]
    same = others[:, :, None] == others[:, None, :]
    first = np.argmax(same, axis=2) if same.size else others
    held = np.where(rows == c, 2, touched[rows] == groups[:, None])
    numbers = _numbered(np.hstack([first, held]))
    found = []
    for number in range(numbers.max(initial=-1) + 1):
        here = _spread(np.flatnonzero(numbers == number))
        if len(here) >= FEWEST:
            tables = own[here], places[here], rows[here], attached[here]
            found.append(_type(members, *tables, place, mine, first[here[0]], held[here[0]]))
    return found


def _numbered(rows: np.ndarray) -> np.ndarray:
    """Equal numbers for equal rows."""
    weights = np.random.default_rng(0).integers(1, 2**62, rows.shape[1], dtype=np.int64)
    return np.unique(rows @ weights, return_inverse=True)[1].ravel()


def _type(members, own, places, rows, attached, place, mine, first, held) -> GroupType:
    """The type of groups that are alike, of which `mine`, `first` and `held` are one's."""
    others, new = np.flatnonzero(~mine), np.flatnonzero(first == np.arange(len(first)))
    foreign = others[new]
    private, outer = np.flatnonzero(held == 1), np.flatnonzero(held == 0)
    found = GroupType(own, places[:, foreign], rows[:, private], rows[:, outer])
    slots = np.where(mine, place[places[0]], -1)
    slots[others] = own.shape[1] + np.searchsorted(new, first)
    numbers = np.full(len(held), -1)
    numbers[private] = np.arange(len(private))
    numbers[outer] = len(private) + np.arange(len(outer))
    at = line = 0
    for m, kind in enumerate(members):
        wide, high = kind.coordinates.shape[1], kind.rows.shape[1]
        here, there = slots[at : at + wide].tolist(), numbers[line : line + high].tolist()
        found.members.append(Member(int(attached[0, m, 1]), attached[:, m, 3], here, there))
        at, line = at + wide, line + high
    return found


def _labels(kinds: Sequence[Kind], n: int) -> np.ndarray:
    """The number of the group of each coordinate: those that share a kinetic energy."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    rows, cols = [np.zeros(0, int)], [np.zeros(0, int)]
    for kind in kinds:
        used = [] if kind.local is None else _moving(kind.local)
        if len(used) > 1:
            table = kind.coordinates[:, used]
            rows.append(np.repeat(table[:, 0], len(used) - 1))
            cols.append(table[:, 1:].ravel())
    i, j = np.concatenate(rows), np.concatenate(cols)
    graph = coo_matrix((np.ones(len(i)), (i, j)), shape=(n, n))
    return connected_components(graph, directed=False)[1].astype(np.int64)


def _moving(local: Local) -> list[int]:
    """Local coordinates whose velocities or momenta occur in an energy."""
    if local.term.kind not in ("lagrangian", "hamiltonian"):
        return []
    x = local.arguments["v" if local.term.kind == "lagrangian" else "p"]
    return [i for i, used in enumerate(ca.which_depends(local.value, x)) if used]


def _places(label: np.ndarray) -> np.ndarray:
    """The number of each coordinate within its group."""
    order = np.argsort(label, kind="stable")
    begins = np.concatenate([[0], np.cumsum(np.bincount(label))])[:-1]
    place = np.empty(len(label), np.int64)
    place[order] = np.arange(len(label)) - begins[label[order]]
    return place


def _touched(kinds: Sequence[Kind], label: np.ndarray, c: int) -> np.ndarray:
    """The only group that a constraint touches, −1 if there are several."""
    found = np.full(c + 1, -1)
    for kind in kinds:
        if kind.local is None or not kind.local.rows:
            continue
        for k, expression in enumerate(kind.local.term.expressions):
            symbols, free = kind.local.term.coordinates, free_symbols(expression)
            used = [i for i, s in enumerate(symbols) if s in free]
            around = label[kind.coordinates[:, used]]
            if used:
                alone = np.all(around == around[:, :1], axis=1)
                found[kind.rows[:, k]] = np.where(alone, around[:, 0], -1)
    found[c] = -1
    return found


def _spread(groups: np.ndarray) -> np.ndarray:
    """Neighbours in one lane, one after the other, and distant groups side by side.

    What groups in different lanes add to constraints between them does not collide, and lies in a
    row where the groups do.  The last few, which fill no block, come after all others.
    """
    length = len(groups) // LANES
    blocks = groups[: LANES * length].reshape(LANES, length).T.ravel()
    return np.concatenate([blocks, groups[LANES * length :]])
