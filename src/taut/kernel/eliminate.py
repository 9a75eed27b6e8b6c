"""Symbolic elimination: what can be solved in closed form never reaches Newton.

Three tools.  `solve_linear` unrolls Gaussian elimination of a small sparse matrix of SX entries in
the given order (mass-like blocks first, then the Schur complement of the multipliers); `Factors`
are what it leaves behind, where a matrix serves several right-hand sides.
`little_fill` finds such an order for the many unknowns of a step with several stages.
`reduce` walks through the pairs (unknown, residual) of an implicit solve and eliminates every
unknown whose residual is affine in it with a coefficient matrix free of the other unknowns; what
remains is left to Newton.  `written_out` puts what was found into an expression.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import casadi as ca
import numpy as np

from taut import portable
from taut.kernel.emit import LIBRARY
from taut.kernel.sparse import analysed

SX = ca.SX
GRADED = 1e3  # condition from which on a constant inverse is too inexact to be used alone


def solve_linear(matrix: SX, right: SX) -> SX:
    """X with matrix·x = right, by unrolled sparse elimination without pivoting.

    A numeric matrix is inverted numerically, with one rounding per entry of the inverse.
    """
    n = matrix.shape[0]
    if n == 0:
        return SX(0, 1)
    if matrix.is_constant():
        inverse = portable.inverse(np.array(ca.DM(matrix)))
        size = np.abs(inverse)  # what is tiny in its row and in its column is round-off
        inverse[size < 1e-15 * np.minimum(size.max(1)[:, None], size.max(0))] = 0.0
        return ca.densify(ca.mtimes(SX(ca.sparsify(ca.DM(inverse))), right))
    if _by_rule(matrix):
        return _by_cofactors(ca.densify(matrix), right)
    return Factors.of(matrix).solve(right)


@dataclass
class Factors:
    """What an unrolled elimination of a sparse matrix leaves behind, to solve with.

    Attributes
    ----------
    swaps : list of (int, int)
        Rows exchanged before the elimination of column k, for want of a pivot.
    lower : list of (int, int, SX)
        (i, k, factor): of row i, so many times row k is subtracted; in this order.
    upper : list of dict
        What is right of the diagonal, row by row.
    reciprocals : list of SX
        One over each pivot.
    """

    swaps: list[tuple[int, int]]
    lower: list[tuple[int, int, SX]]
    upper: list[dict[int, SX]]
    reciprocals: list[SX]

    @classmethod
    def of(cls, matrix: SX) -> Factors:
        """Eliminate in the given order, without pivoting."""
        n = matrix.shape[0]
        rows: list[dict[int, SX]] = [{} for _ in range(n)]
        i_all, j_all = matrix.sparsity().get_triplet()
        entries: list = matrix.nonzeros()
        for i, j, e in zip(i_all, j_all, entries, strict=True):
            if not e.is_zero():
                rows[i][j] = e
        made = cls([], [], rows, [])
        for k in range(n):
            made._eliminate(k)
        return made

    def _eliminate(self, k: int) -> None:
        rows, n = self.upper, len(self.upper)
        if k not in rows[k]:
            other = next((i for i in range(k + 1, n) if k in rows[i]), None)
            if other is None:
                raise ZeroDivisionError("structurally singular system")
            rows[k], rows[other] = rows[other], rows[k]
            self.swaps.append((k, other))
        reciprocal = 1 / rows[k].pop(k)
        self.reciprocals.append(reciprocal)
        for i in range(k + 1, n):
            entry = rows[i].pop(k, None)
            if entry is None:
                continue
            factor = entry * reciprocal
            for j, e in rows[k].items():
                rows[i][j] = rows[i][j] - factor * e if j in rows[i] else -(factor * e)
                if rows[i][j].is_zero():
                    del rows[i][j]
            self.lower.append((i, k, factor))

    def solve(self, right: SX) -> SX:
        """X with matrix·x = right."""
        n, swaps = len(self.upper), dict(self.swaps)
        b = [right[i] for i in range(n)]
        below: list[list[tuple[int, SX]]] = [[] for _ in range(n)]
        for i, k, factor in self.lower:
            below[k].append((i, factor))
        for k in range(n):
            if k in swaps:
                b[k], b[swaps[k]] = b[swaps[k]], b[k]
            for i, factor in below[k]:
                b[i] = b[i] - factor * b[k]
        x: list[SX] = [SX(0)] * n
        for k in reversed(range(n)):
            total = b[k]
            for j in sorted(self.upper[k], reverse=True):  # what was found last comes last
                total = total - self.upper[k][j] * x[j]
            x[k] = total * self.reciprocals[k]
        return ca.vertcat(*x)

    def named(self, prefix: str) -> tuple[Factors, SX, SX]:
        """The same with symbols for all entries that are not constants: (it, symbols, values)."""
        values: list[SX] = []
        symbols: list[SX] = []

        def name(entry: SX) -> SX:
            if entry.is_constant():
                return entry
            values.append(entry)
            symbols.append(SX.sym(f"{prefix}{len(symbols)}"))
            return symbols[-1]

        twin = Factors(
            self.swaps,
            [(i, k, name(x)) for i, k, x in self.lower],
            [{j: name(x) for j, x in row.items()} for row in self.upper],
            [name(x) for x in self.reciprocals],
        )
        return twin, ca.vertcat(SX(0, 1), *symbols), ca.vertcat(SX(0, 1), *values)


def little_fill(matrix: SX, h: SX) -> list[int]:
    """An order in which `solve_linear` needs few operations and no pivots: see `sparse`.

    Unknowns come first whose own equation has them even without a step, then those that it has
    with one, then multipliers, each after its neighbours.
    """
    pattern, without = matrix.sparsity(), ca.substitute(matrix, h, SX(0))
    late = [
        (0 if not without[i, i].is_zero() else 1) if pattern.has_nz(i, i) else 2
        for i in range(matrix.shape[0])
    ]
    entries = [np.array(x) for x in pattern.get_triplet()]
    return analysed(len(late), [(entries[0], entries[1])], np.array(late)).order.tolist()


def _by_rule(matrix: SX) -> bool:
    """Whether it is solved by Cramer's rule."""
    n = matrix.shape[0]
    return n <= 3 and matrix.nnz() > n


def _by_cofactors(matrix: SX, right: SX) -> SX:
    """Cramer's rule for 2 × 2 and 3 × 3: one division instead of a chain of dependent ones."""
    a = [[matrix[i, j] for j in range(matrix.shape[1])] for i in range(matrix.shape[0])]
    b = [right[i] for i in range(matrix.shape[0])]
    if len(b) == 2:
        found = a[1][1] * b[0] - a[0][1] * b[1], a[0][0] * b[1] - a[1][0] * b[0]
        return ca.vertcat(*found) / _determinant(a)
    cofactors = [[_cofactor(a, i, j) for j in range(3)] for i in range(3)]
    found = (sum(cofactors[i][j] * b[i] for i in range(3)) for j in range(3))
    return ca.vertcat(*found) / _determinant(a)


def _solve_sharply(matrix: SX, right: SX) -> SX:
    """The same for what no iteration looks at again.

    Cramer's rule loses twice the digits of the condition, an inverse as many: constraints between
    a light part and heavy ones are met to ε·10¹² where their masses differ by 10⁶.  What is left is
    solved for, too.
    """
    found = solve_linear(matrix, right)
    if matrix.is_constant():
        if matrix.is_scalar() or np.linalg.cond(np.array(ca.DM(matrix))) < GRADED:
            return found
    elif not _by_rule(matrix):
        return found
    return found + solve_linear(matrix, right - ca.mtimes(matrix, found))


def _cofactor(a: list[list[SX]], i: int, j: int) -> SX:
    (p, q), (r, s) = ([k for k in range(3) if k != x] for x in (i, j))
    return (-1) ** (i + j) * (a[p][r] * a[q][s] - a[p][s] * a[q][r])


def _determinant(a: list[list[SX]]) -> SX:
    if len(a) == 2:
        return a[0][0] * a[1][1] - a[0][1] * a[1][0]
    first, *rest = (a[0][j] * _cofactor(a, 0, j) for j in range(3))
    return first + rest[0] + rest[1]


def pivots(matrix: SX) -> list[tuple[SX, SX]]:
    """What `solve_linear` divides by, and what it would be if the matrix were diagonal."""
    n = matrix.shape[0]
    if matrix.is_constant():
        return []
    if n <= 3 and matrix.nnz() > n:
        whole = _determinant([[matrix[i, j] for j in range(n)] for i in range(n)])
        return [(whole, prod((matrix[k, k] for k in range(n)), start=SX(1)))]
    found = Factors.of(matrix).reciprocals
    return [(1 / x, matrix[k, k]) for k, x in enumerate(found)]


def curved(slope: SX, z: SX, h: SX, slow: bool) -> bool:
    """Whether Newton's matrix changes with the velocities even for h → 0.

    `slow` says that z are accelerations, which change the velocities by h z: then also what is
    proportional to h counts.
    """
    parts = [slope, ca.jacobian(ca.vec(slope), h)] if slow else [slope]
    return any(ca.depends_on(ca.substitute(x, h, SX(0)), z) for x in parts)


def straightened(expression: SX, z: SX) -> SX:
    """`expression` as constant + matrix·z if it is affine in z, so that both can be hoisted."""
    if z.numel() == 0 or expression.numel() == 0:
        return expression
    matrix = ca.jacobian(expression, z)
    if matrix.nnz() == 0 or ca.depends_on(matrix, z):
        return expression
    return ca.substitute(expression, z, SX.zeros(*z.shape)) + ca.mtimes(matrix, z)


def written_out(expression: SX, table: list[tuple[SX, SX]]) -> SX:
    """`expression` with the symbols of `table` replaced by their values.

    Values may contain other symbols of the table; each is written out once and then shared.
    """
    if not table:
        return expression
    owner = {e: k for k, (symbol, _) in enumerate(table) for e in entries(symbol)}
    done: dict[int, SX] = {}

    def written(x: SX) -> SX:
        used = {owner[e] for e in entries(x) if e in owner}
        for k in used - done.keys():
            done[k] = written(table[k][1])
        order = sorted(used)
        return ca.substitute([x], [table[k][0] for k in order], [done[k] for k in order])[0]

    return written(expression)


DEAR = {op: 20 for op in LIBRARY} | dict.fromkeys((ca.OP_DIV, ca.OP_INV, ca.OP_SQRT), 4)


def cost(expression: SX, z: SX) -> int:
    """What the operations that depend on z take, in units of an addition or a product."""
    return operations(expression, z, DEAR)


def operations(expression: SX, z: SX, weights: Mapping[int, int] | None = None) -> int:
    """How many operations of an expression depend on z."""
    own = entries(z)
    others = [x for x in ca.symvar(expression) if x.element_hash() not in own]
    function = ca.Function("f", [z, ca.vertcat(SX(0, 1), *others)], [ca.cse(expression)])
    late: dict[int, bool] = {}
    count = 0
    for k in range(function.n_instructions()):
        op, slots = function.instruction_id(k), function.instruction_input(k)
        if op == ca.OP_OUTPUT:
            continue
        if op == ca.OP_INPUT:
            moves = slots[0] == 0
        else:
            moves = op != ca.OP_CONST and any(late[s] for s in slots)
            count += moves * (weights or {}).get(op, 1)
        late[function.instruction_output(k)[0]] = moves
    return count


def entries(expression: SX) -> set[int]:
    """The scalar symbols of an expression, as hashes that tell them apart."""
    if expression.is_scalar() and expression.is_symbolic():  # mostly; looking into it takes longer
        return {expression.element_hash()}
    return {symbol.element_hash() for symbol in ca.symvar(expression)}


@dataclass
class Reduced:
    """What is left of an implicit solve.

    Attributes
    ----------
    left : list of int
        Numbers of the pairs that Newton must solve.
    known : list of (SX, SX)
        Eliminated unknowns and their expressions, in terms of those left and of the data.
    """

    left: list[int]
    known: list[tuple[SX, SX]]


def reduce(pairs: list[tuple[SX, SX]]) -> Reduced:
    """Eliminate everything affine from `pairs`, in order; see the module's head."""
    todo = {k: pair for k, pair in enumerate(pairs) if pair[0].numel()}
    known: list[tuple[SX, SX]] = []
    while (k := _affine(todo)) is not None:
        u, r = todo.pop(k)
        rest = ca.substitute(r, u, SX.zeros(*u.shape))
        found = _solve_sharply(ca.jacobian(r, u), -rest)
        todo = {i: (x, ca.substitute(y, u, found)) for i, (x, y) in todo.items()}
        known = [(x, ca.substitute(y, u, found)) for x, y in known]
        known.append((u, found))
    return Reduced(list(todo), known)


def _affine(todo: dict[int, tuple[SX, SX]]) -> int | None:
    """The first pair with a residual affine in its unknown, by a matrix free of unknowns."""
    if not todo:
        return None
    unknowns = ca.vertcat(*(u for u, _ in todo.values()))
    for k, (u, r) in todo.items():
        matrix = ca.jacobian(r, u)
        if ca.sprank(matrix) == u.numel() and not ca.depends_on(matrix, unknowns):
            return k
    return None
