"""Sparse saddle points: the equations of accelerations, of projections and of multipliers.

    [ M  Gᵀ ] [ x ]   [ a ]             [ 1  W Gᵀ ] [ x ]   [ W a ]
    [ G  0  ] [ λ ] = [ b ]     or      [ G   0   ] [ λ ] = [  b  ],      W = H_pp = M⁻¹.

Rows of G are scaled to size 1 in the metric of the mass.  Constraints may be redundant: the zero is
replaced by a small −ε, whose effect repeated refinement takes away again; of all multipliers that
solve the equations those of least (scaled) norm are found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from taut.kernel.jit import entry
from taut.kernel.sparse import analysed, factorise, substitute

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
        late = np.repeat([0, 1], [n, c])
        self.factors = Factors(mechanics.patterns, self.matrix, -SMALL * late, late)
        self.n, self.c, self.patterns = n, c, mechanics.patterns

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
        square = (self.g @ self.g.T).tocsr()
        size = max(square.diagonal().max(initial=0.0), 1e-300)
        zero = np.zeros(self.c, dtype=np.int64)
        factors = Factors(self.patterns, square, SMALL * size + zero, zero)
        found, right = np.zeros(self.c), square @ multipliers
        for _ in range(PASSES):
            found = found + factors.solve(right - square @ found)
        return found

    def _regular(self) -> bool:
        """Whether no pivot of a multiplier is as small as ε."""
        return bool(np.abs(self.factors.pivots[self.n :]).min(initial=1.0) > 100 * SMALL)


class Factors:
    """L U of a sparse matrix with something on its diagonal, in the order of `analysed`.

    SciPy's factors differ in the last bits with the CPU.  Where a pivot is lost (a mass that is not
    positive), they are taken all the same: they can exchange rows.
    """

    def __init__(self, patterns: dict, matrix: sparse.csr_matrix, more: np.ndarray, late) -> None:
        n = len(more)
        key = (n, matrix.indptr.tobytes(), matrix.indices.tobytes(), late.tobytes())
        if key not in patterns:
            rows = np.repeat(np.arange(n), np.diff(matrix.indptr))
            cols = matrix.indices.astype(np.int64)
            pattern = analysed(n, [(rows, cols)], late)
            patterns[key] = pattern, pattern.slot(rows, cols)
        self.pattern, slots = patterns[key]
        p = self.pattern
        self.values = np.zeros(p.slots)
        np.add.at(self.values, slots, matrix.data)
        self.values[p.diagonal] += more[p.order]
        self.other: Any = None
        if not _factorised(self.values, p.start, p.column, p.diagonal, p.mirror, np.zeros(n)):
            from scipy.sparse import diags

            self.other = _factors(matrix + diags(more))

    @property
    def pivots(self) -> np.ndarray:
        """In the order of the unknowns, as far as they are known."""
        if self.other is not None:
            return self.other.U.diagonal()
        return 1.0 / self.values[self.pattern.diagonal][self.pattern.place]

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The x with matrix·x = right."""
        if self.other is not None:
            return self.other.solve(right)
        p, x = self.pattern, right[self.pattern.order]
        _substituted(self.values, p.start, p.column, p.diagonal, x)
        return x[p.place]


@entry
def _factorised(values, start, column, diagonal, mirror, row):
    return factorise(values, start, column, diagonal, mirror, row)


@entry
def _substituted(values, start, column, diagonal, x):
    substitute(values, start, column, diagonal, x)


def _factors(matrix: sparse.spmatrix):
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import splu

    options = {"SymmetricMode": True}
    return splu(
        csc_matrix(matrix), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=1e-3, options=options
    )
