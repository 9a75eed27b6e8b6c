"""Sparse LU of matrices made of 6 × 6 blocks, with a pattern that is analysed once.

Nodes of beams are coupled to their neighbours, so the matrix of a step has one row of blocks per
node and one block per edge.  Nodes are eliminated by minimum degree: along a beam from its end,
which makes no fill (block Thomas), and joints late.  With D_k the pivot block and U_kj = D_k⁻¹A_kj,

    A_ij ← A_ij − A_ik U_kj        for all i, j after k,

and D_k is factorised with partial pivoting.  Blocks have rows of `WIDE` numbers, the last ones
zero, so that a row is a whole number of SIMD registers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from taut.kernel.jit import within
from taut.kernel.sparse import analysed

SIZE, WIDE = 6, 8


class Pattern(NamedTuple):
    """Where blocks are, in the order of elimination.

    Attributes
    ----------
    order, place : ndarray, shape (n,)
        order[k] is the node eliminated as number k; `place` is its inverse.
    diagonal : ndarray, shape (n,)
        Slots of the blocks A_kk.
    start : ndarray, shape (n + 1,)
    row, upper, lower : ndarray
        For u from start[k] to start[k + 1]: a later node j = row[u] (by its number in the order),
        and the slots of A_kj and A_jk.
    first : ndarray, shape (n + 1,)
    target, left, right : ndarray
        For w from first[k] to first[k + 1]: block target[w] loses left[w]·right[w].
    slots : int
    """

    order: np.ndarray
    place: np.ndarray
    diagonal: np.ndarray
    start: np.ndarray
    row: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    first: np.ndarray
    target: np.ndarray
    left: np.ndarray
    right: np.ndarray
    slots: int


def pattern_of(n: int, pairs: np.ndarray) -> Pattern:
    """Order the nodes 0 … n − 1 that are coupled in `pairs`, shape (m, 2), and find the fill."""
    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    found = analysed(n, [(pairs[:, 0], pairs[:, 1])], np.zeros(n, dtype=np.int64))
    row = [found.column[found.diagonal[k] + 1 : found.start[k + 1]] for k in range(n)]
    upper = [np.arange(found.diagonal[k] + 1, found.start[k + 1]) for k in range(n)]
    lower = [found.mirror[u] for u in upper]
    target, left, right = [], [], []
    for k in range(n):
        for i, below in zip(row[k], lower[k], strict=True):
            for j, above in zip(row[k], upper[k], strict=True):
                here = slice(found.start[i], found.start[i + 1])
                target.append(here.start + int(np.searchsorted(found.column[here], j)))
                left.append(below)
                right.append(above)
    many = np.array([len(x) for x in row], dtype=np.int64)

    def starts(counts: np.ndarray) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def whole(parts: list) -> np.ndarray:
        return np.array([x for part in parts for x in part], dtype=np.int64)

    return Pattern(
        found.order, found.place, found.diagonal,
        starts(many), whole(row), whole(upper), whole(lower),
        starts(many**2), whole([target]), whole([left]), whole([right]), found.slots,
    )  # fmt: skip


def slots_of(pattern: Pattern, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Slots of blocks (row, column) of nodes as they were numbered at first."""
    found = {(k, k): int(slot) for k, slot in enumerate(pattern.diagonal)}
    for k in range(len(pattern.order)):
        for u in range(pattern.start[k], pattern.start[k + 1]):
            j = int(pattern.row[u])
            found[k, j], found[j, k] = int(pattern.upper[u]), int(pattern.lower[u])
    place = pattern.place
    return np.array(
        [found[int(place[i]), int(place[j])] for i, j in zip(rows, columns, strict=True)],
        dtype=np.int64,
    )


def room(pattern: Pattern) -> tuple[np.ndarray, np.ndarray]:
    """Blocks, shape (slots, SIZE, WIDE), and pivots, shape (n, SIZE)."""
    return (
        np.zeros((pattern.slots, SIZE, WIDE)),
        np.zeros((len(pattern.order), SIZE), dtype=np.int64),
    )


@njit(nogil=True, error_model="numpy", inline="always")
def _factor(block, pivot):
    """LU of a block with rows exchanged; diagonals become reciprocals.  False if it is singular."""
    for k in range(SIZE):
        best, size = k, abs(block[k, k])
        for i in range(k + 1, SIZE):
            if abs(block[i, k]) > size:
                best, size = i, abs(block[i, k])
        pivot[k] = best
        if not size > 0.0:  # nor a number
            return False
        if best != k:
            for j in range(WIDE):
                block[k, j], block[best, j] = block[best, j], block[k, j]
        one = 1.0 / block[k, k]
        block[k, k] = one
        for i in range(k + 1, SIZE):
            factor = block[i, k] * one
            block[i, k] = factor
            for j in range(k + 1, SIZE):
                block[i, j] -= factor * block[k, j]
    return True


@within
def factorise(p, blocks, pivots):
    """Replace blocks by their factors; −1, or the number of one that is singular."""
    diagonal, start, upper = p.diagonal, p.start, p.upper
    first, target, left, right = p.first, p.target, p.left, p.right
    for k in range(diagonal.shape[0]):
        d, pivot = blocks[diagonal[k]], pivots[k]
        if not _factor(d, pivot):
            return k
        for u in range(start[k], start[k + 1]):
            x = blocks[upper[u]]
            for i in range(SIZE):
                other = pivot[i]
                if other != i:
                    for j in range(WIDE):
                        x[i, j], x[other, j] = x[other, j], x[i, j]
            for i in range(1, SIZE):
                for l in range(i):
                    factor = d[i, l]
                    for j in range(WIDE):
                        x[i, j] -= factor * x[l, j]
            for i in range(SIZE - 1, -1, -1):
                for l in range(i + 1, SIZE):
                    factor = d[i, l]
                    for j in range(WIDE):
                        x[i, j] -= factor * x[l, j]
                for j in range(WIDE):
                    x[i, j] *= d[i, i]
        for w in range(first[k], first[k + 1]):
            a, x, y = blocks[left[w]], blocks[right[w]], blocks[target[w]]
            for i in range(SIZE):
                for l in range(SIZE):
                    factor = a[i, l]
                    for j in range(WIDE):
                        y[i, j] -= factor * x[l, j]
    return -1


@within
def solve(p, blocks, pivots, x):
    """Solve in place for x, shape (n, SIZE), by its rows in the order of elimination."""
    diagonal, start, row, upper, lower = p.diagonal, p.start, p.row, p.upper, p.lower
    n = diagonal.shape[0]
    for k in range(n):
        d, y = blocks[diagonal[k]], x[k]
        for i in range(SIZE):
            other = pivots[k, i]
            if other != i:
                y[i], y[other] = y[other], y[i]
        for i in range(1, SIZE):
            total = y[i]
            for l in range(i):
                total -= d[i, l] * y[l]
            y[i] = total
        for i in range(SIZE - 1, -1, -1):
            total = y[i]
            for l in range(i + 1, SIZE):
                total -= d[i, l] * y[l]
            y[i] = total * d[i, i]
        for u in range(start[k], start[k + 1]):
            a, z = blocks[lower[u]], x[row[u]]
            for i in range(SIZE):
                total = z[i]
                for l in range(SIZE):
                    total -= a[i, l] * y[l]
                z[i] = total
    for k in range(n - 1, -1, -1):
        y = x[k]
        for u in range(start[k], start[k + 1]):
            a, z = blocks[upper[u]], x[row[u]]
            for i in range(SIZE):
                total = y[i]
                for l in range(SIZE):
                    total -= a[i, l] * z[l]
                y[i] = total
