"""Discrete gradients: difference quotients that are exact for the function they belong to.

A discrete gradient D of f satisfies D f(x, y)·(y − x) = f(y) − f(x) and D f(x, x) = ∇f(x).  For a
function F(w) of one group of variables,

    D F(a, b) = A + [F(b) − F(a) − A·d] d / |d|²,      d = b − a,

is Gonzalez' formula with the mean A of ∇F over the three Gauss points of the segment in place of
its value at the midpoint.  The bracket is then O(|d|⁷/2016000) instead of O(|d|³/24), and zero for
polynomials up to degree 6.  Where d is below a sixtieth or so of the scale on which F bends (at a
turning point, at rest) the bracket is below 10⁻¹⁸ of F and is left out; so nothing is divided by
zero, the rounding of F is not magnified by 1/|d|, and the energy is kept all the same.  Elsewhere
it is never left out: what is too small to be seen in one step would be seen after 10⁵.

Groups are taken one after the other, forwards and backwards, and the mean of the two is symmetric
(Itoh & Abe 1988).  That needs no metric in which the change of an angle and of a length, or of q
and of p, would have to be compared.

Inner functions w(z) of a `Piece` are at most quadratic, so their gradient at the midpoint is exact.

Source: Gonzalez 1996, J. Nonlinear Sci. 6, 449; Itoh & Abe 1988, J. Comput. Phys. 76, 85;
McLachlan, Quispel & Robidoux 1999, Phil. Trans. R. Soc. A 357, 1021.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import casadi as ca
import numpy as np
import sympy as sp

from taut.kernel.translate import to_casadi
from taut.model.invariants import Piece, degree, pieces, polarised
from taut.model.symbols import t as time_symbol
from taut.model.terms import Term

SX = ca.SX
GAUSS = ((-np.sqrt(0.15), 5 / 18), (0.0, 4 / 9), (np.sqrt(0.15), 5 / 18))  # (place, weight)
EXACT = 6  # degree up to which the mean of a gradient over them is exact
# First and second differences of F' times d, relative to F, at |d| = 1/60 of the scale of F.
BENDS = (2e-4, 5e-7)


def discrete_gradient(
    found: list[Piece],
    variables: list[sp.Symbol],
    start: SX,
    end: SX,
    table: Mapping[sp.Symbol, SX],
) -> SX:
    """Σ D f over the pieces `found` by `variables`, from their values `start` to `end`: a column.

    `table` holds all other symbols.
    """
    total, z = SX.zeros(len(variables)), SX.sym("z", len(variables))
    here = {**table, **{s: z[i] for i, s in enumerate(variables)}}
    for piece in found:
        inner = ca.vertcat(*to_casadi(list(piece.inner), here))
        slope = ca.jacobian(inner, z)
        moving = {k for k in range(inner.numel()) if slope[k, :].nnz()}
        before, after = (ca.substitute(inner, z, x) for x in (start, end))
        outer = _outer_gradient(piece, moving, before, after, table)
        total += ca.mtimes(ca.substitute(slope, z, (start + end) / 2).T, outer)
    return ca.densify(total)


def _outer_gradient(piece: Piece, moving: set[int], a: SX, b: SX, table) -> SX:
    """D F(a, b) by the inner functions that change at all."""
    w = SX.sym("w", a.numel())
    named = {s: w[k] for k, s in enumerate(piece.symbols)}
    outer = _Outer(to_casadi([piece.outer], {**table, **named})[0], w)
    whole = degree(piece.outer, [piece.symbols[k] for k in moving])
    if whole is not None and whole <= EXACT:  # no bracket, so no metric
        return outer.gradient(a, b, sorted(moving), whole)
    steps = [
        ([k for k in group if k in moving], order)
        for group, order in zip(piece.groups, piece.degrees, strict=True)
        if order != 0 and moving & set(group)
    ]
    ways = [steps] if len(steps) == 1 else [steps, steps[::-1]]
    total = SX.zeros(w.numel())
    for way in ways:
        here = a
        for group, order in way:
            there = SX(here)
            there[group] = b[group]
            total += outer.gradient(here, there, group, order) / len(ways)
            here = there
    return total


class _Outer:
    """F(w) with its gradient, between two points that differ in one group of the w."""

    def __init__(self, value: SX, w: SX) -> None:
        self.w, self.value, self.slope = w, value, ca.densify(ca.gradient(value, w))

    def gradient(self, a: SX, b: SX, group: list[int], order: int | None) -> SX:
        """The formula at the module's head; zero outside the group."""
        total, middle, d = SX.zeros(a.numel()), (a + b) / 2, b - a
        if order is not None and order <= 2:
            total[group] = self._at(self.slope, middle)[group]
            return total
        slopes = [self._at(self.slope, middle + c * d)[group] for c, _ in GAUSS]
        mean = sum((weight * x for x, (_, weight) in zip(slopes, GAUSS, strict=True)), SX(0))
        if order is not None and order <= EXACT:
            total[group] = mean
            return total
        d = d[group]
        before, after = (self._at(self.value, x) for x in (a, b))
        reach = ca.dot(ca.fabs(mean), ca.fabs(a[group]) + ca.fabs(b[group]))
        size = ca.fabs(before) + ca.fabs(after) + reach
        first, middle, last = slopes
        bends = (last - first, first - 2 * middle + last)
        seen = [
            ca.dot(ca.fabs(x), ca.fabs(d)) > least * size
            for x, least in zip(bends, BENDS, strict=True)
        ]
        moves = ca.logic_or(*seen)
        # A true selection also in derivatives: what is not selected must be finite.
        bracket = ca.if_else(moves, after - before - ca.dot(mean, d), 0)
        total[group] = mean + bracket / ca.if_else(moves, ca.dot(d, d), 1) * d
        return total

    def _at(self, expression: SX, w: SX) -> SX:
        return ca.substitute(expression, self.w, w)


class Discrete:
    """The discrete gradients of one term, in its local variables.

    `gradient(by)` is that of the energy ℓ̂ or 𝓗, or λ·g; `bend(by)` that of ℓ_v(q, v̄)·a, 𝓗_p·r or
    λ·ψ, the functions whose differences make up the hidden constraint's.
    """

    def __init__(self, term: Term, given: tuple[sp.Expr, ...], arguments: dict[str, SX], table):
        self.term, self.given, self.x = term, given, arguments
        self.coordinates = list(term.coordinates)
        rates = term.rates or term.coordinates
        self.rates = [sp.Dummy(s.name, real=True) for s in rates]
        self.rates1, self.other = ([sp.Dummy(s.name, real=True) for s in rates] for _ in range(2))
        self.table = dict(table)
        for symbols, name in ((self.rates, "v"), (self.rates1, "v1")):
            self.table |= self._named(symbols, name)
        self.table |= self._named(self.other, "r" if term.kind == "hamiltonian" else "a")

    def _named(self, symbols: list[sp.Symbol], name: str) -> dict[sp.Symbol, SX]:
        return {s: self.x[name][i] for i, s in enumerate(symbols)}

    def gradient(self, by: str) -> SX:
        return self._gradients[by]

    def bend(self, by: str) -> SX:
        return self._bends[by]

    @cached_property
    def _gradients(self) -> dict[str, SX]:
        term = self.term
        if term.kind == "constraint":
            return self._weighted([self._pieces(e) for e in term.expressions], "q")
        if term.kind == "hamiltonian":
            return self._of(self._pieces(term.expressions[0]), "qp")
        energy = polarised(term.expressions[0], term.rates, self.rates, self.rates1)
        return self._of(self._pieces(energy), "q")

    @cached_property
    def _bends(self) -> dict[str, SX]:
        term = self.term
        if term.kind == "constraint":
            motion = dict(zip(self.coordinates, self.rates, strict=True))
            rows = [
                [x.along(motion) for x in self._pieces(e)] + self._pieces(e.diff(time_symbol))
                for e in term.expressions
            ]
            return self._weighted(rows, "qv")
        if term.kind == "hamiltonian":
            push = dict(zip(term.rates, self.other, strict=False))
            return self._of([x.along(push) for x in self._pieces(term.expressions[0])], "qp")
        middle = {
            v: (a + b) / 2 for v, a, b in zip(term.rates, self.rates, self.rates1, strict=False)
        }
        slopes = (term.expressions[0].diff(v).xreplace(middle) for v in term.rates)
        return self._of(
            self._pieces(sp.Add(*(a * m for a, m in zip(self.other, slopes, strict=False)))), "q"
        )

    def _pieces(self, expression: sp.Expr) -> list[Piece]:
        groups = [self.coordinates]
        if self.term.kind == "hamiltonian":
            groups.append(list(self.term.rates))
        return pieces(expression, groups, self.given)

    def _of(self, found: list[Piece], kinds: str) -> dict[str, SX]:
        """D by q, and by v or p."""
        rates = self.rates if "v" in kinds else list(self.term.rates) or self.rates
        variables = self.coordinates + (rates if len(kinds) == 2 else [])
        start, end = (ca.vertcat(*(self.x[kind + end] for kind in kinds)) for end in ("", "1"))
        total = discrete_gradient(found, variables, start, end, self.table)
        count = len(self.coordinates)
        return {kind: total[i * count : (i + 1) * count] for i, kind in enumerate(kinds)}

    def _weighted(self, rows: list[list[Piece]], kinds: str) -> dict[str, SX]:
        """Σ λᵢ D of row i."""
        total = {kind: SX.zeros(len(self.coordinates)) for kind in kinds}
        for i, row in enumerate(rows):
            for kind, part in self._of(row, kinds).items():
                total[kind] += self.x["lam"][i] * part
        return total
