"""Sparse LU with a pattern that is analysed once.

The matrices of large steps are of the form [[A, Gᵀ], [G, 0]].  Rows and columns are ordered by
minimum degree under one rule that makes pivoting unnecessary: a multiplier comes after all the
coordinates it touches, so its pivot is a Schur complement −G A⁻¹ Gᵀ.  The same rule holds within A
for unknowns whose own diagonal vanishes with the step size.  The numeric factorisation
(row by row, dense work row) runs inside the compiled loop; a pivot that is tiny for its row is
reported instead of being used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taut.kernel.jit import entry, within

TINY_PIVOT = 1e-14  # relative to what was subtracted to get it
ONE = np.uint64(1)


@dataclass(frozen=True)
class Pattern:
    """The filled pattern of P A Pᵀ = L U, by rows, with sorted columns.

    Attributes
    ----------
    order : ndarray, shape (n,)
        order[k] is the unknown eliminated as number k; `place` is its inverse.
    start, column : ndarray
        Row k has columns column[start[k] : start[k+1]].
    diagonal : ndarray, shape (n,)
        Slot of the diagonal entry of each row.
    mirror : ndarray
        Slot of entry (j, i) for the slot of entry (i, j); the filled pattern is symmetric.
    """

    order: np.ndarray
    place: np.ndarray
    start: np.ndarray
    column: np.ndarray
    diagonal: np.ndarray
    mirror: np.ndarray

    @property
    def slots(self) -> int:
        """Number of entries of the filled pattern."""
        return len(self.column)

    @property
    def operations(self) -> int:
        """Multiplications, additions and divisions of a factorisation."""
        right = self.start[1:] - self.diagonal - 1
        return int(np.sum(1 + right + 2 * right**2))

    def slot(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Slots of entries (row, column) of the original matrix; `slots` for a dropped one."""
        n = len(self.order)
        if n == 0:  # rounds have left nothing
            return np.zeros(np.broadcast_shapes(rows.shape, cols.shape), np.int64)
        good = (rows < n) & (cols < n)
        keys = np.repeat(np.arange(n), np.diff(self.start)) * n + self.column
        i = self.place[np.where(good, rows, 0)]
        j = self.place[np.where(good, cols, 0)]
        found = np.searchsorted(keys, i * n + j)
        return np.where(good, found, self.slots)


def analysed(n: int, entries: list[tuple[np.ndarray, np.ndarray]], late: np.ndarray) -> Pattern:
    """Order the unknowns and find the fill.

    Parameters
    ----------
    entries : list of (rows, cols)
        Where the matrix may be nonzero; columns below 0 and rows or columns ≥ n are ignored.
    late : ndarray of int, shape (n,)
        An unknown is eliminated after all its neighbours with a lower number here: 0 for those
        with a pivot of their own, more for those that get one from their neighbours.
    """
    neighbours: list[set[int]] = [set() for _ in range(n)]
    for rows, cols in entries:
        for i, j in set(zip(rows.ravel().tolist(), cols.ravel().tolist(), strict=True)):
            if 0 <= j < n and i < n and i != j:
                neighbours[i].add(j)
                neighbours[j].add(i)
    order = _minimum_degree(neighbours, late.tolist())
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    # `neighbours` now holds what was left when each was eliminated: its row and column of L + U.
    every = np.arange(n)
    above = np.repeat(every, np.array([len(neighbours[i]) for i in order], dtype=np.int64))
    below = place[np.array([j for i in order for j in neighbours[i]], dtype=np.int64)]
    keys = np.sort(np.concatenate([every * (n + 1), above * n + below, below * n + above]))
    row, column = np.divmod(keys, max(n, 1))
    start = np.searchsorted(keys, np.arange(n + 1) * n)
    diagonal = np.searchsorted(keys, every * (n + 1))
    mirror = np.searchsorted(keys, column * n + row)
    return Pattern(np.array(order, dtype=np.int64), place, start, column, diagonal, mirror)


def _minimum_degree(neighbours: list[set[int]], late: list[int]) -> list[int]:
    """Eliminate the unknown with fewest neighbours first; `neighbours` is left with the fill."""
    import heapq

    n = len(neighbours)
    waits = [sum(late[j] < late[i] for j in neighbours[i]) for i in range(n)]
    touching = [[j for j in neighbours[i] if late[j] > late[i]] for i in range(n)]
    heap = [(len(neighbours[i]), i) for i in range(n) if waits[i] == 0]
    heapq.heapify(heap)
    done = [False] * n
    order = []
    while heap:
        degree, i = heapq.heappop(heap)
        if done[i] or degree != len(neighbours[i]):
            if not done[i]:
                heapq.heappush(heap, (len(neighbours[i]), i))
            continue
        done[i] = True
        order.append(i)
        around = neighbours[i]
        for j in around:
            neighbours[j].discard(i)
            neighbours[j] |= around
            neighbours[j].discard(j)
        for j in around:
            if waits[j] == 0:
                heapq.heappush(heap, (len(neighbours[j]), j))
        for j in touching[i]:
            waits[j] -= 1
            if waits[j] == 0:
                heapq.heappush(heap, (len(neighbours[j]), j))
    return order


@within
def factorise(values, start, column, diagonal, mirror, row):
    """Replace `values` by L (unit diagonal, below) and U; False if a pivot is lost to cancellation.

    `row` is a work array of length n, zero on entry and on exit.
    """
    return factorise_after(values, start, column, diagonal, mirror, row, np.zeros(len(row)))


@within
def factorise_after(values, start, column, diagonal, mirror, row, lost):
    """`factorise`, where `lost` are the sizes of what was subtracted from each pivot before."""
    start, column, diagonal, mirror = unsigned(start, column, diagonal, mirror)
    for k in range(np.uint64(diagonal.shape[0])):
        a, b, d = start[k], start[k + ONE], diagonal[k]
        for s in range(a, b):
            row[column[s]] = values[s]
        size = abs(values[d]) + lost[k]
        for s in range(a, d):
            j = column[s]
            factor = row[j] * values[diagonal[j]]  # diagonals hold reciprocals once done
            row[j] = factor
            size += abs(factor * values[mirror[s]])
            if factor != 0.0:
                for u in range(diagonal[j] + ONE, start[j + ONE]):
                    row[column[u]] -= factor * values[u]
        for s in range(a, b):
            values[s] = row[column[s]]
            row[column[s]] = 0.0
        pivot = values[d]
        if not abs(pivot) > TINY_PIVOT * size:
            return False
        values[d] = 1.0 / pivot
    return True


@within
def unsigned(start, column, diagonal, mirror):
    """Places that are not counted from the end, which would have to be asked each time."""
    whole = np.uint64
    return start.view(whole), column.view(whole), diagonal.view(whole), mirror.view(whole)


@within
def substitute(values, start, column, diagonal, x):
    """Solve L U x = x in place, in the eliminated order."""
    start, column, diagonal, _ = unsigned(start, column, diagonal, column)
    n = np.uint64(diagonal.shape[0])
    for k in range(n):
        total = x[k]
        for s in range(start[k], diagonal[k]):
            total -= values[s] * x[column[s]]
        x[k] = total
    for i in range(n):
        k = n - ONE - i
        total = x[k]
        for s in range(diagonal[k] + ONE, start[k + ONE]):
            total -= values[s] * x[column[s]]
        x[k] = total * values[diagonal[k]]


@entry
def dependent_rows(values, start, column, diagonal, row, below):
    """Rows of a symmetric matrix whose pivots vanish: they depend on rows before them.

    Such a row is left out, as if it were not there.
    """
    n = diagonal.shape[0]
    lost = np.zeros(n, dtype=np.bool_)
    for k in range(n):
        a, b, d = start[k], start[k + 1], diagonal[k]
        for s in range(a, b):
            row[column[s]] = values[s]
        for s in range(a, d):
            j = column[s]
            factor = row[j] * values[diagonal[j]]
            for u in range(diagonal[j] + 1, start[j + 1]):
                row[column[u]] -= factor * values[u]
        for s in range(a, b):
            values[s] = row[column[s]]
            row[column[s]] = 0.0
        lost[k] = not values[d] > below
        values[d] = 0.0 if lost[k] else 1.0 / values[d]
    return lost
