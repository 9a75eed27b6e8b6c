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

FEWEST = 4  # groups of a type: one block of lanes
LARGEST = 32  # coordinates of a group


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
    attached: dict[int, list[tuple]] = {}
    for number, kind in enumerate(kinds):
        if kind.local is None:
            continue
        labels = label[kind.coordinates]
        for i, around in enumerate(labels):
            own = place[kind.coordinates[i]]
            for g in dict.fromkeys(around.tolist()):
                key = np.where(around == g, own, -1).tobytes()
                attached.setdefault(g, []).append((number, key, i))
    found: dict[tuple, list[_Group]] = {}
    members = np.split(np.argsort(label, kind="stable"), np.cumsum(np.bincount(label))[:-1])
    for g, coordinates in enumerate(members):
        if len(coordinates) <= LARGEST:
            group = _Group(kinds, coordinates, sorted(attached.get(g, ())), touched, c, g)
            found.setdefault(group.signature, []).append(group)
    good = [groups for groups in found.values() if len(groups) >= FEWEST]
    return [_type(groups) for groups in sorted(good, key=lambda x: -len(x) * x[0].size)]


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
            symbols = kind.local.term.coordinates
            used = [i for i, s in enumerate(symbols) if s in expression.free_symbols]
            around = label[kind.coordinates[:, used]]
            if used:
                alone = np.all(around == around[:, :1], axis=1)
                found[kind.rows[:, k]] = np.where(alone, around[:, 0], -1)
    found[c] = -1
    return found


class _Group:
    """One group: its coordinates and constraints by number, in the order of its signature."""

    def __init__(self, kinds, coordinates, attached, touched, c: int, g: int) -> None:
        self.own = coordinates
        slots = {int(x): i for i, x in enumerate(coordinates)}
        foreign: dict[int, int] = {}
        self.private: list[int] = []
        self.outer: list[int] = []
        self.instances = [i for _, _, i in attached]
        members = []
        for number, _, i in attached:
            kind = kinds[number]
            where = []
            for x in kind.coordinates[i].tolist():
                at = slots.get(x)
                where.append(
                    at if at is not None else len(slots) + foreign.setdefault(x, len(foreign))
                )
            lines = []
            for row in kind.rows[i].tolist():
                # Dropped constraints have no multiplier: they are in a class of their own.
                mine = touched[row] == g
                target = self.private if mine else self.outer
                lines.append(("dropped", 0) if row == c else (mine, len(target)))
                if row < c:
                    target.append(row)
            members.append((number, tuple(where), tuple(lines)))
        self.foreign = list(foreign)
        self.signature = (len(coordinates), tuple(members))

    @property
    def size(self) -> int:
        return len(self.own) + len(self.private)


def _spread(groups: list[_Group]) -> list[_Group]:
    """Neighbours in one lane, one after the other, and distant groups side by side.

    What groups in different lanes add to constraints between them does not collide, and lies in a
    row where the groups do.  The last few, which fill no block, come after all others.
    """
    length = len(groups) // LANES
    order = np.arange(LANES * length).reshape(LANES, length).T.ravel()
    return [groups[k] for k in order.tolist()] + groups[LANES * length :]


def _type(groups: list[_Group]) -> GroupType:
    groups = _spread(groups)
    first = groups[0]
    _, members = first.signature
    tables = {
        name: np.array([getattr(x, name) for x in groups], np.int64).reshape(len(groups), -1)
        for name in ("own", "foreign", "private", "outer")
    }
    found = GroupType(**tables, members=[])
    held = len(first.private)
    for k, (kind, slots, lines) in enumerate(members):
        rows = [-1 if a == "dropped" else i if a else held + i for a, i in lines]
        instances = np.array([x.instances[k] for x in groups])
        found.members.append(Member(kind, instances, list(slots), rows))
    return found
