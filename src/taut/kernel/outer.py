"""The matrix of the unknowns that no group eliminates: where its entries lie, how it is solved.

Unknowns with the same neighbours (the multipliers of one joint) are eliminated together.  In each
*round* as many of them as possible that are not neighbours of each other, and that have as many
neighbours as the others, are eliminated by one kernel, several at a time, in SIMD lanes; for a
chain that is cyclic reduction, log₂ N rounds.  Multipliers still come after what they touch (see
`sparse`), and any order among them is as good as any other.  What is left, because it is little or
because all parts of it differ, is factorised as a sparse matrix.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from taut.kernel.condense import Elimination, eliminated
from taut.kernel.passes import LANES, Pass
from taut.kernel.sparse import analysed

if TYPE_CHECKING:
    from taut.kernel.solves import SolveStage

SX = ca.SX
FEWEST = 16  # of a kind that are worth a kernel
FRONT = 16  # unknowns and neighbours: a kernel has FRONT³/3 operations
SPREAD = 2.0  # neighbours of those in one round, over the fewest


@dataclass
class Batch:
    """Unknowns that are eliminated in one pass: k at a time, each with b neighbours.

    Attributes
    ----------
    own, around : ndarray, shapes (count, k) and (count, b)
    first, slot : int
        Where their right sides and their entries begin.
    strand : bool
        Whether each block of them is eliminated after the one before, which is its neighbour.
    """

    own: np.ndarray
    around: np.ndarray
    first: int
    slot: int
    strand: bool = False

    @property
    def local(self) -> np.ndarray:
        """Own unknowns and their neighbours, shape (count, k + b)."""
        return np.hstack([self.own, self.around])

    @property
    def entries(self) -> list[tuple[int, int]]:
        """Local places of the entries that belong to the batch, in the order of their slots."""
        k, size = self.own.shape[1], self.own.shape[1] + self.around.shape[1]
        return [(i, j) for i in range(size) for j in range(size) if min(i, j) < k]

    def slots(self, number: int) -> np.ndarray:
        """Slots of an entry, one for each of the batch."""
        return self.slot + number * len(self.own) + np.arange(len(self.own))


class Outer:
    """Unknowns in the order of their elimination, and slots of the entries of their matrix.

    Parameters
    ----------
    pairs : ndarray
        Which unknowns are neighbours, see `neighbours`.
    late : ndarray
        See `sparse.analysed`.

    Attributes
    ----------
    place : ndarray
        Where each unknown stands in the right side.
    begin, first_slot : int
        Where the part that is left to the sparse factorisation begins.
    """

    def __init__(self, pairs: np.ndarray, late: np.ndarray) -> None:
        self.size, self.late = len(late), late
        self._begin(pairs)
        while self._strand() or self._round():
            pass
        self._analyse()
        if self.batches and 4 * len(self.pattern.order) > self.size:
            # Rounds did not come far, and their order may fill more than that of least degrees.
            rounds, after = self.pattern.operations, dict(self.__dict__)
            self._begin(pairs)
            self._analyse()
            if self.pattern.operations > rounds:
                self.__dict__.update(after)

    def _begin(self, pairs: np.ndarray) -> None:
        self.pairs = pairs
        self.alive = np.ones(self.size, dtype=bool)
        self.batches: list[Batch] = []
        self.begin = self.first_slot = 0

    # ---- strands -----------------------------------------------------------------------------

    def _strand(self) -> bool:
        """Eliminate the longest strand in each lane, from its beginning; whether there was one.

        An unknown of a strand has two neighbours (with what belongs to each): the one a block
        further, and the one before, for which what is before the strand stands once that one is
        eliminated.
        """
        i, j = np.divmod(self.pairs, self.size)
        leaders, members, around = self._alike(i, j)
        beside = self._beside(leaders, members, around, i, j)
        first, length = self._longest(members, beside)
        if length < 2:
            return False
        blocks = first + np.arange(LANES * length).reshape(length, LANES)
        before = [sum(beside[x]) - (x + LANES) for x in blocks[0].tolist()]
        after = [sum(beside[x]) - (x - LANES) for x in blocks[-1].tolist()]
        if any(a == b for a, b in zip(before, after, strict=True)):
            return False
        ahead = np.vstack([blocks[1:], after])
        table = {x: members[x] for x in {*blocks.ravel().tolist(), *before, *after}}
        own, further = ([table[x] for x in y.ravel().tolist()] for y in (blocks, ahead))
        back = [table[x] for _ in blocks for x in before]
        self._eliminate(np.array(own), np.hstack([further, back]), strand=True)
        return True

    def _beside(self, leaders, members, around, i, j) -> dict[int, list[int]]:
        """The two neighbours of those that have two, each as large as they are."""
        waits = self._waits(i, j)
        leader = {x: y for y, own in members.items() for x in own}
        found = {}
        for x in leaders:
            k, near = len(members[x]), around[x]
            if len(near) == 2 * k and 3 * k <= FRONT and not waits[x]:
                two = list(dict.fromkeys(leader[y] for y in near))
                if len(two) == 2 and all(len(members[y]) == k for y in two):
                    found[x] = two
        return found

    def _longest(self, members, beside: dict[int, list[int]]) -> tuple[int, int]:
        """First unknown and number of blocks of the longest strand; none of its ends are in it."""
        linked = np.zeros(self.size + LANES, dtype=bool)  # x with x + LANES
        good = np.zeros(self.size + LANES, dtype=bool)
        for x, two in beside.items():
            good[x] = True
            y = x + LANES
            linked[x] = y in two and y in beside and len(members[x]) == len(members[y])
        best = (0, 0)
        for shift in range(LANES):
            end = shift + max(self.size - shift, 0) // LANES * LANES
            whole, goes_on = (
                np.logical_and.reduce(x[shift:end].reshape(-1, LANES), axis=1)
                for x in (good, linked)
            )
            joined = np.concatenate([[False], whole[:-1] & goes_on[:-1] & whole[1:], [False]])
            begins, ends = np.flatnonzero(np.diff(joined.astype(int))).reshape(-1, 2).T
            if len(begins):
                k = int(np.argmax(ends - begins))
                at, length = int(begins[k]), int(ends[k] - begins[k]) + 1
                found = self._freed(shift + LANES * at, length, beside)
                best = max(best, found, key=lambda x: x[1])
        return best

    def _freed(self, first: int, length: int, beside) -> tuple[int, int]:
        """The strand without blocks at its ends that other lanes go on to."""
        while length >= 2:
            inside = range(first, first + LANES * length)
            begins = range(first, first + LANES)
            if any(y in inside for x in begins for y in beside[x] if y != x + LANES):
                first += LANES
            elif not any(y in inside for x in inside[-LANES:] for y in beside[x] if y != x - LANES):
                return first, length
            length -= 1
        return first, 0

    def _waits(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Unknowns with neighbours that have to be eliminated before."""
        waits = np.zeros(self.size, dtype=bool)
        waits[i[self.late[j] < self.late[i]]] = True
        return waits

    # ---- rounds ------------------------------------------------------------------------------

    def _round(self) -> bool:
        """Eliminate one set of independent unknowns; whether there was one."""
        if self.alive.sum() < 2 * FEWEST:
            return False
        i, j = np.divmod(self.pairs, self.size)
        leaders, members, around = self._alike(i, j)
        chosen = self._independent(leaders, members, around, i, j)
        kinds: dict[tuple[int, int], list[int]] = {}
        for leader in chosen:
            kinds.setdefault((len(members[leader]), len(around[leader])), []).append(leader)
        found = False
        for (k, b), group in sorted(kinds.items()):
            if len(group) >= FEWEST and k + b <= FRONT:
                own = np.array([members[x] for x in group]).reshape(-1, k)
                beside = np.array([around[x] for x in group], np.int64).reshape(len(group), b)
                self._eliminate(own, beside)
                found = True
        return found

    def _alike(self, i: np.ndarray, j: np.ndarray) -> tuple[list[int], dict, dict]:
        """Unknowns with the same neighbours, themselves included: leaders, members, neighbours."""
        weights = np.random.default_rng(0).integers(1, 2**62, self.size, dtype=np.uint64)
        sums = weights.copy()
        np.add.at(sums, i, weights[j])
        bounds = np.searchsorted(i, np.arange(self.size + 1))
        members: dict[int, list[int]] = {}
        first: dict[tuple[int, int], int] = {}
        for x in np.flatnonzero(self.alive).tolist():
            leader = first.setdefault((int(sums[x]), int(self.late[x])), x)
            members.setdefault(leader, []).append(x)
        around = {}
        for leader, own in members.items():
            beside = j[bounds[leader] : bounds[leader + 1]].tolist()
            around[leader] = [x for x in beside if x not in own] if len(own) > 1 else beside
        return list(members), members, around

    def _independent(self, leaders, members, around, i, j) -> list[int]:
        """Leaders that are not neighbours, with few neighbours first."""
        waits = self._waits(i, j)
        ready = [x for x in leaders if not waits[x] and len(members[x]) + len(around[x]) <= FRONT]
        degrees = {x: len(around[x]) for x in ready}
        shapes = Counter((len(members[x]), degrees[x]) for x in ready)
        many = [b for (_, b), count in shapes.items() if count >= FEWEST]
        least = min(many, default=0)
        blocked = np.zeros(self.size, dtype=bool)
        chosen = []
        for x in sorted(ready, key=lambda x: (degrees[x], x)):
            common = shapes[len(members[x]), degrees[x]] >= FEWEST
            if common and degrees[x] <= SPREAD * max(least, 1) and not blocked[x]:
                chosen.append(x)
                blocked[around[x]] = True
        return sorted(chosen)

    def _eliminate(self, own: np.ndarray, around: np.ndarray, strand: bool = False) -> None:
        batch = Batch(own, around, self.begin, self.first_slot, strand)
        self.batches.append(batch)
        self.begin += own.size
        self.first_slot += len(batch.entries) * len(own)
        self.alive[own] = False
        i, j = np.divmod(self.pairs, self.size)
        left = self.pairs[self.alive[i] & self.alive[j]]
        fill = (around[:, :, None] * self.size + around[:, None, :]).reshape(-1)
        i, j = np.divmod(fill, self.size)
        new = fill[(i != j) & self.alive[i] & self.alive[j]]
        self.pairs = np.unique(np.concatenate([left, new]))

    # ---- what is left ------------------------------------------------------------------------

    def _analyse(self) -> None:
        rest = np.flatnonzero(self.alive)
        self.number = np.full(self.size + 1, len(rest))
        self.number[rest] = np.arange(len(rest))
        i, j = np.divmod(self.pairs, max(self.size, 1))
        self.pattern = analysed(len(rest), [(self.number[i], self.number[j])], self.late[rest])
        self.slots = self.first_slot + self.pattern.slots
        self.place = np.zeros(self.size + 1, np.int64)
        self.place[rest] = self.begin + self.pattern.place
        keys, slots = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for batch in self.batches:
            count, local = len(batch.own), batch.local
            for k in range(batch.own.shape[1]):
                self.place[batch.own[:, k]] = batch.first + k * count + np.arange(count)
            for number, (a, b) in enumerate(batch.entries):
                keys.append(local[:, a] * self.size + local[:, b])
                slots.append(batch.slots(number))
        order = np.argsort(np.concatenate(keys))
        self._keys, self._slots = np.concatenate(keys)[order], np.concatenate(slots)[order]

    def slot(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Slots of entries (row, column); any slot for entries that do not exist."""
        i, j = np.minimum(rows, self.size), np.minimum(cols, self.size)
        late = self.first_slot + self.pattern.slot(self.number[i], self.number[j])
        late = np.minimum(late, self.slots - 1)
        if not len(self._keys):
            return late
        found = np.minimum(np.searchsorted(self._keys, i * self.size + j), len(self._keys) - 1)
        return np.where(self._keys[found] == i * self.size + j, self._slots[found], late)

    # ---- passes ------------------------------------------------------------------------------

    def passes(self, stage: SolveStage) -> tuple[list[Pass], list[Pass]]:
        """What eliminates unknowns before the sparse factorisation, and finds them after it."""
        forward = [self._forward(x, stage) for x in self.batches]
        backward = [self._backward(x, stage) for x in reversed(self.batches)]
        return forward, backward

    def _forward(self, batch: Batch, stage: SolveStage) -> Pass:
        """Eliminate, keep U and L⁻¹r where A and r were, and add to the others."""
        k, b = batch.own.shape[1], batch.around.shape[1]
        function = _half(k, b)[0]
        entries = {e: stage.matrix + batch.slots(x) for x, e in enumerate(batch.entries)}
        right = [stage.right + self.place[x] for x in batch.local.T]
        lost = [stage.lost + self.place[x] for x in batch.local.T]
        gather = [*entries.values(), *right[:k], *lost[:k]]
        target = [entries[e] for e in _kept(k, b)] + right[:k]
        hows = "=" * len(target)
        for i in range(k, k + b):
            for j in range(k, k + b):
                slots = self.slot(batch.local[:, i], batch.local[:, j])
                target.append(stage.matrix + slots)
        target += right[k:] + lost[k:]
        hows += "a" * (len(target) - len(hows)) + "m"
        target.append(np.full(len(batch.own), stage.bad))
        return stage.layout.passed(function, np.stack(gather, 1), np.stack(target, 1), hows)

    def _backward(self, batch: Batch, stage: SolveStage) -> Pass:
        k, b = batch.own.shape[1], batch.around.shape[1]
        function = _half(k, b)[1]
        entries = {e: stage.matrix + batch.slots(x) for x, e in enumerate(batch.entries)}
        right = [stage.right + self.place[x] for x in batch.local.T]
        gather = [entries[e] for e in _kept(k, b)] + right
        return stage.layout.passed(
            function, np.stack(gather, 1), np.stack(right[:k], 1), "=" * k, batch.strand
        )


def neighbours(entries: list[tuple[np.ndarray, np.ndarray]], size: int) -> np.ndarray:
    """Places i n + j of all pairs of different neighbours, from where a matrix has entries."""
    none = np.zeros(0, np.int64)
    i = np.concatenate([none, *(np.ravel(x) for x, _ in entries)])
    j = np.concatenate([none, *(np.ravel(x) for _, x in entries)])
    good = (j >= 0) & (j < size) & (i < size) & (i != j)
    i, j = i[good], j[good]
    return np.unique(np.concatenate([i * size + j, j * size + i]))


def _kept(k: int, b: int) -> list[tuple[int, int]]:
    """Places of U with the reciprocals of its diagonal."""
    return [(i, j) for i in range(k) for j in range(i, k + b)]


@lru_cache(maxsize=64)
def _half(k: int, b: int) -> tuple[ca.Function, ca.Function]:
    """The two halves of a solution: a full matrix, k unknowns with b neighbours."""
    size = k + b
    places = [(i, j) for i in range(size) for j in range(size) if min(i, j) < k]
    entries, right, lost = SX.sym("a", len(places)), SX.sym("r", k), SX.sym("lost", k)
    matrix = {place: entries[n] for n, place in enumerate(places)}
    e: Elimination = eliminated(
        matrix, {i: right[i] for i in range(k)}, list(range(k)), {i: lost[i] for i in range(k)}
    )
    kept = [e.inverse[i] if i == j else e.upper[i][j] for i, j in _kept(k, b)]
    schur = [e.schur[i, j] for i in range(k, size) for j in range(k, size)]
    outputs = [*kept, *(e.right[i] for i in range(k)), *schur]
    outputs += [e.rest[i] for i in range(k, size)] + [e.lost[i] for i in range(k, size)]
    forward = ca.Function(
        "forward", [ca.vertcat(entries, right, lost)], [ca.vertcat(*outputs, e.bad)]
    )
    known, sides = SX.sym("u", len(kept)), SX.sym("x", size)
    numbers = dict(zip(_kept(k, b), ca.vertsplit(known), strict=True))
    x = e.solution(
        {i: {j: numbers[i, j] for j in e.upper[i]} for i in range(k)},
        {i: numbers[i, i] for i in range(k)},
        {i: sides[i] for i in range(k)},
        {i: sides[i] for i in range(k, size)},
    )
    found = ca.vertcat(*(x[i] for i in range(k)))
    return forward, ca.Function("backward", [ca.vertcat(known, sides)], [found])
