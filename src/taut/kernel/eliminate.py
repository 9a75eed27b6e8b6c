"""Symbolic elimination: what can be solved in closed form never reaches Newton.

Two tools.  `solve_linear` unrolls Gaussian elimination of a small sparse matrix of SX entries in
the given order (mass-like blocks first, then the Schur complement of the multipliers).
`reduce` walks through the pairs (unknown, residual) of an implicit solve and eliminates every
unknown whose residual is affine in it with a coefficient matrix free of the other unknowns; what
remains is left to Newton.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

SX = ca.SX


def solve_linear(matrix: SX, right: SX) -> SX:
    """x with matrix·x = right, by unrolled sparse elimination without pivoting.

    A numeric matrix is inverted numerically, with one rounding per entry of the inverse.
    """
    n = matrix.shape[0]
    if n == 0:
        return SX(0, 1)
    if matrix.is_constant():
        inverse = np.linalg.inv(np.array(ca.DM(matrix)))
        inverse[np.abs(inverse) < 1e-15 * np.abs(inverse).max()] = 0.0
        return ca.densify(ca.mtimes(SX(ca.sparsify(ca.DM(inverse))), right))
    rows: list[dict[int, SX]] = [{} for _ in range(n)]
    i_all, j_all = matrix.sparsity().get_triplet()
    entries = matrix.nonzeros()
    for i, j, e in zip(i_all, j_all, entries, strict=True):
        if not e.is_zero():
            rows[i][j] = e
    b = [right[i] for i in range(n)]
    reciprocals: list[SX] = []
    for k in range(n):
        pivot = rows[k].get(k)
        if pivot is None:
            k_swap = next((i for i in range(k + 1, n) if k in rows[i]), None)
            if k_swap is None:
                raise ZeroDivisionError("structurally singular system")
            rows[k], rows[k_swap] = rows[k_swap], rows[k]
            b[k], b[k_swap] = b[k_swap], b[k]
            pivot = rows[k][k]
        reciprocal = 1 / pivot
        reciprocals.append(reciprocal)
        for i in range(k + 1, n):
            entry = rows[i].pop(k, None)
            if entry is None:
                continue
            factor = entry * reciprocal
            for j, e in rows[k].items():
                if j > k:
                    rows[i][j] = rows[i][j] - factor * e if j in rows[i] else -(factor * e)
            b[i] = b[i] - factor * b[k]
    x: list[SX] = [SX(0)] * n
    for k in reversed(range(n)):
        total = b[k]
        for j, e in rows[k].items():
            if j > k:
                total = total - e * x[j]
        x[k] = total * reciprocals[k]
    return ca.vertcat(*x)


@dataclass
class Reduced:
    """What is left of an implicit solve.

    Attributes
    ----------
    unknowns : SX
        The unknowns that Newton must find, stacked.
    residual : SX
        As many equations.
    known : list of (SX, SX)
        Eliminated unknowns and their expressions, in terms of `unknowns` and the data.
    """

    unknowns: SX
    residual: SX
    known: list[tuple[SX, SX]]


def reduce(pairs: list[tuple[SX, SX]]) -> Reduced:
    """Eliminate everything affine from `pairs`, in order; see the module's head."""
    todo = [(u, r) for u, r in pairs if u.numel()]
    known: list[tuple[SX, SX]] = []
    progress = True
    while progress:
        progress = False
        for k, (u, r) in enumerate(todo):
            matrix = ca.jacobian(r, u)
            others = ca.vertcat(*(x for x, _ in todo))
            if matrix.nnz() == 0 or ca.depends_on(matrix, others):
                continue
            if ca.sprank(matrix) < u.numel():
                continue
            rest = ca.substitute(r, u, SX.zeros(*u.shape))
            found = solve_linear(matrix, -rest)
            del todo[k]
            todo = [(x, ca.substitute(y, u, found)) for x, y in todo]
            known = [(x, ca.substitute(y, u, found)) for x, y in known]
            known.append((u, found))
            progress = True
            break
    if not todo:
        return Reduced(SX(0, 1), SX(0, 1), known)
    return Reduced(
        ca.vertcat(*(u for u, _ in todo)), ca.vertcat(*(r for _, r in todo)), known
    )
