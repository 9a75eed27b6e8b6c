"""Linear algebra of small matrices with the same bits on every machine.

What BLAS and LAPACK give differs in the last bits with the kernel that they choose for the CPU.
States of runs do not depend on that: what enters them is computed here, in an order of its own, by
sums, products, quotients and square roots, which are the same everywhere.  Matrices are as NumPy
has them, with leading dimensions for many; only sizes up to some dozens are meant.
"""

from __future__ import annotations

from math import prod

import numpy as np

PRINTED = 1e-9  # of an entry: what is left of one that was written down with ten digits
ROUNDED = 1e-13  # of √(Mᵢᵢ Mⱼⱼ): of a sum of some hundred products
NEGATIVE = 1e-12  # of a matrix with a diagonal of ones: beyond rounding, what is below is negative
SWEEPS = 60  # of Jacobi's method, which needs five to ten
NOISE = 2.0**-52
TOGETHER = 1 << 16  # numbers that are eliminated at a time, so that they stay in the cache


# ---- what matrices are ---------------------------------------------------------------------------


def asymmetry(matrix: np.ndarray) -> tuple[int, int] | None:
    """Where a matrix differs most from its transpose by more than its entries were rounded.

    An entry of M = AᵀD A is a sum of products which are √(Mᵢᵢ Mⱼⱼ) together, at most; so each entry
    is judged in its own units.
    """
    root = np.sqrt(np.abs(np.diagonal(matrix)))
    own = np.maximum(np.abs(matrix), np.abs(matrix.T))
    excess = np.abs(matrix - matrix.T) - np.maximum(PRINTED * own, ROUNDED * np.outer(root, root))
    if not np.any(excess > 0.0):
        return None
    share = np.where(excess > 0.0, excess / np.where(own > 0.0, own, 1.0), 0.0)
    i, j = np.unravel_index(np.argmax(share), share.shape)
    return int(i), int(j)


def negative_along(matrix: np.ndarray) -> np.ndarray | None:
    """A direction along which a symmetric matrix is negative, None if it is semidefinite.

    Its rows are scaled by its diagonal: D M D has a diagonal of ones, whatever the units.
    """
    diagonal = np.diagonal(matrix)
    zero = diagonal == 0.0  # where a semidefinite matrix has nothing at all
    for i in np.flatnonzero((diagonal < 0.0) | (zero & np.any(matrix != 0.0, axis=1))):
        return np.eye(len(matrix))[i]
    scale = 1.0 / np.sqrt(np.where(zero, 1.0, diagonal))
    values, vectors = np.linalg.eigh(scale[:, None] * matrix * scale)
    return vectors[:, 0] if values.min(initial=0.0) < -NEGATIVE else None


# ---- products ------------------------------------------------------------------------------------


def product(first: np.ndarray, *others: np.ndarray) -> np.ndarray:
    """The product of matrices and vectors, as of ``@``, from the left."""
    for other in others:
        left = "...ij" if np.ndim(first) > 1 else "j"
        right = "...jk" if np.ndim(other) > 1 else "j"
        kept = "..." * (len(left) + len(right) > 2) + "i" * (len(left) > 1) + "k" * (len(right) > 1)
        first = np.einsum(f"{left},{right}->{kept}", first, other)  # which never calls BLAS
    return first


def norm(x: np.ndarray) -> np.ndarray:
    """Lengths of vectors, along the last axis."""
    return np.sqrt(np.square(x).sum(axis=-1))


# ---- equations -----------------------------------------------------------------------------------


def solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """matrix⁻¹ right by elimination with pivots from each column.

    As of NumPy a `right` of one dimension is a vector, and others are matrices.
    """
    if right.ndim == 1:
        return solve(matrix, right[:, None])[..., 0]
    n, lead = matrix.shape[-1], np.broadcast_shapes(matrix.shape[:-2], right.shape[:-2])
    both = [np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (matrix, right)]
    rows = np.concatenate(both, axis=-1, dtype=float).reshape(prod(lead), n, n + right.shape[-1])
    many = max(1, TOGETHER // max(rows[:1].size, 1))
    for begin in range(0, len(rows), many):
        _eliminate(rows[begin : begin + many], n)
    return rows[..., n:].reshape(*lead, n, right.shape[-1])


def _eliminate(rows: np.ndarray, n: int) -> None:
    every = np.arange(len(rows))
    for j in range(n):
        pivot = j + np.argmax(np.abs(rows[:, j:, j]), axis=1)
        upper = rows[every, pivot]
        if np.any(upper[:, j] == 0.0):
            raise np.linalg.LinAlgError("Singular matrix")
        rows[every, pivot] = rows[:, j]
        rows[:, j, j:] = upper = upper[:, j:] / upper[:, j, None]
        rows[:, j + 1 :, j + 1 :] -= rows[:, j + 1 :, j, None] * upper[:, None, 1:]
    for j in range(n - 1, 0, -1):
        rows[:, :j, n:] -= rows[:, :j, j, None] * rows[:, None, j, n:]


def inverse(matrix: np.ndarray) -> np.ndarray:
    """matrix⁻¹."""
    return solve(matrix, np.eye(matrix.shape[-1]))


# ---- orthogonal ----------------------------------------------------------------------------------


def orthogonal_rows(a, turn):
    """Turn the rows of `a` until they are orthogonal (Hestenes), and those of `turn` with them.

    With turn = 1 at first a = UᵀA and turn = Uᵀ at the end: the lengths of the rows are the
    singular values, with the relative accuracy that the rows determine them to.
    """
    many, wide = a.shape
    for _ in range(SWEEPS):
        largest = 0.0
        for i in range(many):
            size = 0.0
            for k in range(wide):
                size += a[i, k] * a[i, k]
            largest = max(largest, size)
        turned = False
        for i in range(many):
            for j in range(i + 1, many):
                one = two = both = 0.0
                for k in range(wide):
                    one += a[i, k] * a[i, k]
                    two += a[j, k] * a[j, k]
                    both += a[i, k] * a[j, k]
                # Rows that rounding has left of others have no direction.
                if not min(one, two) > NOISE * NOISE * largest:
                    continue
                if not abs(both) > NOISE * np.sqrt(one) * np.sqrt(two):
                    continue
                turned = True
                ratio = (two - one) / (2.0 * both)
                t = 1.0 / (abs(ratio) + np.sqrt(1.0 + ratio * ratio))
                if ratio < 0.0:
                    t = -t
                c = 1.0 / np.sqrt(1.0 + t * t)
                s = c * t
                for k in range(wide):
                    x, y = a[i, k], a[j, k]
                    a[i, k], a[j, k] = c * x - s * y, s * x + c * y
                for k in range(many):
                    x, y = turn[i, k], turn[j, k]
                    turn[i, k], turn[j, k] = c * x - s * y, s * x + c * y
        if not turned:
            break


def principal(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The eigenvalues of a symmetric 3 × 3 matrix, rising, and a rotation whose columns belong.

    The largest component of each column but the last is positive.
    """
    rows, turn = np.array(matrix, dtype=float), np.eye(len(matrix))
    orthogonal_rows(rows, turn)
    values = product(turn, matrix, turn.T).diagonal()
    order = np.argsort(values, kind="stable")
    axes = turn[order].T
    axes = axes * np.sign(axes[np.argmax(np.abs(axes), axis=0), np.arange(len(axes))])
    axes[:, -1] = np.cross(axes[:, 0], axes[:, 1])
    return values[order], axes


def rotation_near(matrix: np.ndarray) -> np.ndarray:
    """The orthogonal matrix next to one that is orthogonal up to rounding or a few digits."""
    for _ in range(5):  # X (3 − XᵀX)/2 squares what is off, and leaves what is not as it is
        matrix = matrix + product(matrix, np.eye(len(matrix)) - product(matrix.T, matrix)) / 2
    return matrix


def complement(rows: np.ndarray) -> np.ndarray:
    """Orthonormal rows across given orthonormal ones (Householder)."""
    count, n = rows.shape
    rest, whole = np.array(rows.T, dtype=float), np.eye(n)
    for k in range(count):
        axis = rest[k:, k].copy()
        axis[0] += np.copysign(norm(axis), axis[0])
        axis /= norm(axis)
        rest[k:] -= 2.0 * axis[:, None] * product(axis, rest[k:])
        whole[:, k:] -= 2.0 * product(whole[:, k:], axis)[:, None] * axis
    return whole[:, count:].T


def pivoted(matrix: np.ndarray) -> np.ndarray:
    """The order of columns in which each has most left across those before it (as pivots of QR)."""
    rest, order = np.array(matrix, dtype=float), []
    for _ in range(min(matrix.shape)):
        sizes = np.square(rest).sum(axis=0)
        sizes[order] = -1.0
        order.append(int(np.argmax(sizes)))
        length = norm(rest[:, order[-1]])
        axis = rest[:, order[-1]] / (length if length > 0.0 else 1.0)
        for _ in range(2):  # the second time takes away what rounding has left
            rest -= axis[:, None] * product(axis, rest)
    return np.array(order + [j for j in range(matrix.shape[1]) if j not in order], dtype=int)
