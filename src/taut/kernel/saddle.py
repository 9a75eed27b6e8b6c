"""Sparse saddle points: the equations of accelerations, of projections and of multipliers.

    [ M  Gᵀ ] [ x ]   [ a ]             [ 1  W Gᵀ ] [ x ]   [ W a ]
    [ G  0  ] [ λ ] = [ b ]     or      [ G   0   ] [ λ ] = [  b  ],      W = H_pp = M⁻¹.

Rows of G are scaled to size 1 in the metric of the mass.  Constraints may be redundant: the zero is
replaced by a small −ε, whose effect repeated refinement takes away again; of all multipliers that
solve the equations those of least (scaled) norm are found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy import sparse

    from taut.kernel.evaluate import Mechanics

SMALL = 1e-10  # ε
PASSES = 20  # of refinement, at most


class Saddle:
    """The matrix at one state, factorised."""

    def __init__(self, mechanics: Mechanics, q, v, p, t: float, par) -> None:
        from scipy import sparse

        self.g = mechanics.jacobian(q, t, par)
        self.plain = mechanics.form == "lagrangian"
        n, c = mechanics.n, mechanics.c
        found = -mechanics.derivative("respond", mechanics.inertia, t, par, q=q, v=v, p=p)
        self.inertia = sparse.csr_matrix(found)  # M, or W
        size = np.abs(self.inertia.diagonal())
        weights = 1.0 / np.where(size > 0.0, size, 1.0) if self.plain else size
        norms = np.sqrt(self.g.multiply(self.g) @ weights)
        self.scale = 1.0 / np.where(norms > 0.0, norms, 1.0)
        self.rows = sparse.diags(self.scale) @ self.g
        turned = self.rows.T if self.plain else self.inertia @ self.rows.T
        block = self.inertia if self.plain else sparse.eye(n)
        self.matrix = sparse.bmat([[block, turned], [self.rows, sparse.csr_matrix((c, c))]]).tocsr()
        softened = self.matrix - sparse.diags(np.repeat([0.0, SMALL], [n, c]))
        self.factors = _factors(softened)
        self.n, self.c = n, c

    def solve(self, top: np.ndarray, bottom: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(x, λ) for the right side (a, b)."""
        first = top if self.plain else self.inertia @ top
        right = np.concatenate([first, self.scale * bottom])
        found = self.factors.solve(right)
        last = np.inf
        for _ in range(PASSES):
            rest = right - self.matrix @ found
            size = np.abs(rest).max(initial=0.0)
            if not size < 0.5 * last:
                break
            found, last = found + self.factors.solve(rest), size
        return found[: self.n], self.scale * found[self.n :]

    def least(self, multipliers: np.ndarray) -> np.ndarray:
        """The multipliers of least norm with the same Gᵀλ, where constraints are redundant."""
        if self._regular():
            return multipliers
        from scipy import sparse

        square = (self.g @ self.g.T).tocsr()
        size = max(square.diagonal().max(initial=0.0), 1e-300)
        factors = _factors(square + SMALL * size * sparse.eye(self.c))
        found, right = np.zeros(self.c), square @ multipliers
        for _ in range(PASSES):
            found = found + factors.solve(right - square @ found)
        return found

    def _regular(self) -> bool:
        """Whether no pivot is as small as ε."""
        return bool(np.abs(self.factors.U.diagonal()).min(initial=1.0) > 100 * SMALL)


def _factors(matrix: sparse.spmatrix):
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import splu

    options = {"SymmetricMode": True}
    return splu(
        csc_matrix(matrix), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=1e-3, options=options
    )
