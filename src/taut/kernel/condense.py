"""Elimination written out: a few unknowns of a sparse system, in a fixed order, without pivoting.

With the unknowns K to be eliminated and the others B,

    [ A_KK  A_KB ] [x_K]   [r_K]          A_KK = L U,    x_K = U⁻¹ (L⁻¹ r_K − L⁻¹A_KB x_B),
    [ A_BK   0   ] [x_B] = [ 0 ]          S = −A_BK A_KK⁻¹ A_KB,   s = −A_BK A_KK⁻¹ r_K:

what K adds to the matrix and to the right side of B.  Every pivot is compared with what was
subtracted to get it, as in `sparse`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from taut.kernel.arithmetic import less, minus, no, plus, size_of, times
from taut.kernel.sparse import TINY_PIVOT, analysed

SX = ca.SX
LAST = 9  # see `analysed`: of unknowns that are not eliminated


@dataclass
class Elimination:
    """The first half of a solution, and what the second half needs.

    Attributes
    ----------
    order : list of int
        The unknowns K in the order of elimination.
    upper : dict
        Row k of U without its diagonal: {column: entry}.
    inverse, right : dict
        1/U_kk and (L⁻¹ r)_k.
    untouched : set of int
        Rows whose entries in `upper` are those of the matrix itself.
    schur, rest, lost : dict
        What is added to the matrix {(i, j): …} and the right side of B, and the sizes of what was
        added to its diagonal.
    bad : SX
        1 if a pivot was lost to cancellation, else 0.
    """

    order: list[int]
    upper: dict[int, dict[int, SX]] = field(default_factory=dict)
    inverse: dict[int, SX] = field(default_factory=dict)
    right: dict[int, SX] = field(default_factory=dict)
    untouched: set[int] = field(default_factory=set)
    schur: dict[tuple[int, int], SX] = field(default_factory=dict)
    rest: dict[int, SX] = field(default_factory=dict)
    lost: dict[int, SX] = field(default_factory=dict)
    bad: SX = field(default_factory=lambda: SX(0))

    def kept(self) -> dict[tuple, SX]:
        """Numbers that are not computed a second time."""
        found = {}
        for k in self.order:
            found["right", k] = self.right[k]
            if not self.inverse[k].is_constant():
                found["inverse", k] = self.inverse[k]
            if k not in self.untouched:
                found |= {(k, j): x for j, x in self.upper[k].items() if not x.is_constant()}
        return found

    def found(self, number: dict[tuple, SX], outside: dict[int, SX]) -> dict[int, SX]:
        """x_K from the numbers that were kept, and from x_B."""
        upper = {
            k: {j: number.get((k, j), x) for j, x in row.items()} for k, row in self.upper.items()
        }
        inverse = {k: number.get(("inverse", k), x) for k, x in self.inverse.items()}
        right = {k: number["right", k] for k in self.order}
        return self.solution(upper, inverse, right, outside)

    def solution(self, upper, inverse, right, outside) -> dict[int, SX]:
        """x_K from rows of U and the right side, and from x_B."""
        x = dict(outside)
        for k in reversed(self.order):
            total = right[k]
            for j, entry in upper[k].items():
                total = minus(total, times(entry, x[j]))
            x[k] = times(total, inverse[k])
        return {k: x[k] for k in self.order}


def elimination_order(size: int, places, late: np.ndarray) -> list[int]:
    """K (where `late` is below `LAST`) in an order with little fill."""
    i, j = (np.array(x, np.int64) for x in zip(*places, strict=True))
    pattern = analysed(size, [(i, j)], late)
    return [int(k) for k in pattern.order if late[k] < LAST]


def eliminated(
    matrix: dict[tuple[int, int], SX], right: dict[int, SX], order: list[int], lost=None
) -> Elimination:
    """Eliminate the unknowns of `order`; `lost` are sizes that earlier eliminations left."""
    found = Elimination(order)
    rows: dict[int, dict[int, SX]] = {}
    for (i, j), entry in matrix.items():
        rows.setdefault(i, {})[j] = entry
    columns: dict[int, set[int]] = {}
    for i, j in matrix:
        columns.setdefault(j, set()).add(i)
    right, sizes, changed, left = dict(right), dict(lost or {}), set(), set(order)
    for k in order:
        left.discard(k)
        row = rows.pop(k)
        pivot = row.pop(k)
        size = plus(size_of(pivot), sizes.get(k, 0))
        found.bad = plus(found.bad, no(less(times(TINY_PIVOT, size), size_of(pivot))))
        inverse = 1 / pivot
        if k not in changed:
            found.untouched.add(k)
        # Columns of unknowns that were eliminated before are no longer in the row.
        found.upper[k], found.inverse[k], found.right[k] = row, inverse, right[k]
        for i in sorted(columns[k]):
            if i == k or i not in rows:
                continue
            factor = times(rows[i].pop(k), inverse)
            changed.add(i)
            for j, entry in row.items():
                part = times(factor, entry)
                rows[i][j] = minus(rows[i][j], part) if j in rows[i] else -part
                columns.setdefault(j, set()).add(i)
                if i == j:
                    sizes[i] = plus(sizes.get(i, 0), size_of(part))
            if i in right:
                right[i] = minus(right[i], times(factor, right[k]))
            else:
                right[i] = times(-factor, right[k])
    inner = set(order)
    for i, row in rows.items():
        found.schur |= {(i, j): entry for j, entry in row.items() if j not in inner}
        if i in right:
            found.rest[i] = right[i]
        if i in sizes:
            found.lost[i] = sizes[i]
    return found
