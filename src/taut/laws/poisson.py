"""Poisson brackets: what they keep whatever the energy is, and what they can absorb.

A bracket {f, g} = ∇f·J(x) ∇g needs J antisymmetric and Jacobi's identity

    Σ_l (J_il ∂_l J_jk + J_jl ∂_l J_ki + J_kl ∂_l J_ij) = 0.

A Casimir C has J ∇C = 0, so that ẋ = J ∇H keeps it for every H.  An additional term Λ in
ẋ = J ∇H + Λ is absorbed by an h with

    J ∇h = Λ,

and H + h is conserved then.  Such a Λ keeps every Casimir and the bracket itself; a Λ that does
not has no h, of whatever form.  Both equations are linear in one unknown function u: with random
weights ρ they read (ρᵀJ)·∇u = 0 and ρ·Λ, a derivative along a direction at every point.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
import sympy as sp

from taut.calls import public
from taut.errors import InputError, ModelError, listed
from taut.laws.check import NORMAL_FORM, gradient_ranks, points_of
from taut.laws.dynamics import Dynamics, Moving
from taut.laws.field import WORD
from taut.laws.find import several, whole
from taut.laws.generators import generators
from taut.laws.law import Law, Laws
from taut.laws.linear import Linear, Part
from taut.laws.normal import Normal, shown
from taut.laws.rates import Jet
from taut.laws.ring import Point, tidy
from taut.laws.search import Search
from taut.model import Flow, t
from taut.model.symbols import scalar

EXTRA = sp.Dummy("extra")  # where ρ·Λ is kept beside the rates


class Bracket(Dynamics):
    """Points, and directions ρᵀJ in place of the rates of a motion."""

    def __init__(self, variables: Sequence[sp.Symbol], matrix: Any, extra: Any = None) -> None:
        try:
            rows = matrix.tolist() if hasattr(matrix, "tolist") else matrix
            rows = [listed("a row", row) for row in listed("a bracket", rows)]
            given = sp.Matrix([[scalar(e, "an entry") for e in row] for row in rows])
        except (TypeError, ValueError, InputError) as error:
            raise ModelError(
                "a bracket is not a matrix", expected="n rows of n expressions"
            ) from error
        variables = listed("the variables", variables, "a list of symbols")
        n = len(variables)
        if given.shape != (n, n):
            raise ModelError(
                "a bracket does not fit the variables",
                expected=f"a matrix of shape ({n}, {n})",
                received=f"shape {given.shape}",
            )
        self.matrix = [[self._read(given[i, j]) for j in range(n)] for i in range(n)]
        self.extra = [
            self._read(e)
            for e in (listed("the additional terms", extra) if extra is not None else [0] * n)
        ]
        if len(self.extra) != n:
            raise ModelError(
                "the additional terms do not fit the variables",
                expected=f"{n} expressions",
                received=len(self.extra),
            )
        # Different whole numbers, so that nothing cancels: what occurs in J occurs here.
        mixed = [
            sp.Add(*((j + 2) * e for j, e in enumerate(row)), more)
            for row, more in zip(self.matrix, self.extra, strict=True)
        ]
        super().__init__(Flow(variables, mixed))
        self.entries = [*(e for row in self.matrix for e in row), *self.extra]
        own = set().union(*(e.free_symbols for e in self.entries))
        self.parameters = sorted(own - {*self.state, t}, key=lambda s: s.name)

    def _read(self, e: Any) -> sp.Expr:
        e = tidy(scalar(e, "an entry"))
        return e.xreplace({s: t for s in e.free_symbols if s.name == t.name})

    def _rated(self, point: Point, time: bool) -> Moving:
        drawn = super()._rated(point, time)
        field, size = point.field, len(point)
        weights = [field.random(size) for _ in self.state]
        rates = {}
        for j, x in enumerate(self.state):
            column = [(w, row[j]) for w, row in zip(weights, self.matrix, strict=True)]
            rates[x] = self._along(drawn, column)
        rates[t] = np.zeros(size, dtype=WORD)
        rates[EXTRA] = self._along(drawn, zip(weights, self.extra, strict=True))
        return Moving(drawn.point, rates)

    def _along(self, drawn: Moving, pairs) -> np.ndarray:
        f, total = drawn.point.field, np.zeros(len(drawn.point), dtype=WORD)
        for weight, e in pairs:
            if e != 0:
                total = f.add(total, f.mul(weight, drawn(e)))
        return total

    def gradient(self, e: sp.Expr) -> list[sp.Expr]:
        """J ∇e."""
        slopes = [e.diff(x) for x in self.state]
        return [sum((a * b for a, b in zip(row, slopes, strict=True))) for row in self.matrix]

    # ---- what a bracket must be --------------------------------------------------------------

    def checked(self, normal: Normal) -> None:
        """Antisymmetry and Jacobi's identity, exactly."""
        n, matrix, x = len(self.state), self.matrix, self.state
        for i in range(n):
            for j in range(i + 1):
                rest = matrix[i][j] + matrix[j][i]
                if not normal.zero(rest):
                    raise ModelError(
                        f"the bracket is not antisymmetric in {x[j]} and {x[i]}",
                        expected="J + Jᵀ = 0",
                        received=shown(normal.of(rest)),
                    )
        for i, j, k in combinations(range(n), 3):
            rest = sum(
                matrix[a][l] * matrix[b][c].diff(x[l])
                for a, b, c in ((i, j, k), (j, k, i), (k, i, j))
                for l in range(n)
            )
            if not normal.zero(sp.sympify(rest)):
                raise ModelError(
                    f"the bracket breaks Jacobi's identity for {x[i]}, {x[j]}, {x[k]}",
                    expected="{x, {y, z}} + {y, {z, x}} + {z, {x, y}} = 0",
                    received=shown(normal.of(sp.sympify(rest))),
                )

    @property
    def corank(self) -> int:
        """How many independent Casimirs there are locally."""
        normal = Normal(self, self.entries)
        points = points_of(normal, 1)
        rows = np.array([[int(points(e)[0]) for e in row] for row in self.matrix], dtype=WORD)
        return len(rows) - len(points.point.field.pivots(rows))


def _prepared(bracket: Bracket, functions: Iterable[Any]) -> tuple[Search, tuple[sp.Expr, ...]]:
    more = [bracket._read(e) for e in several("functions", functions)]
    search = Search(bracket, [*bracket.entries, *more])
    own = generators(bracket, search)
    return search, (*own, *(e for e in more if e not in own))


def _along(jet: Jet) -> list[Part]:
    return [(None, np.ones(jet.size, dtype=WORD), None)]


@public
def casimirs(
    variables: Sequence[sp.Symbol],
    bracket: Any,
    *,
    degree: int = 2,
    functions: Iterable[Any] = (),
) -> Laws:
    """The Casimirs of a Poisson bracket within an ansatz, without products of lower ones.

    Parameters
    ----------
    variables : sequence of Symbol, length n
    bracket : (n, n) matrix of Expr
        J(x); antisymmetry and Jacobi's identity are checked exactly.  Other symbols are parameters.
    degree : int
        Of the polynomials in the variables, and in functions of them that occur in J.
    functions : iterable of Expr
        More functions to build Casimirs from.

    Returns
    -------
    Laws

    Examples
    --------
    >>> import sympy as sp, taut
    >>> x, y, z = sp.symbols("x y z")
    >>> print(taut.casimirs([x, y, z], [[0, -z, y], [z, 0, -x], [-y, x, 0]]))
      Casimir  x**2 + y**2 + z**2
    1 law, 1 independent, proved by normal form
    all that there are: J has corank 1
    """
    d = Bracket(variables, bracket)
    search, basis = _prepared(d, functions)
    normal = Normal(d, [*d.entries, *basis])
    d.checked(normal)
    found: list[tuple[sp.Expr, int]] = []
    for k in range(1, whole("degree", degree, 1) + 1):
        linear = Linear(
            d, search.ring, basis, [k], 0, _along, without_constant=frozenset({0})
        )  # fmt: skip

        def check(made: list[sp.Expr]) -> str | None:
            left = d.gradient(made[0])
            return NORMAL_FORM if all(e == 0 or normal.zero(e) for e in left) else None

        new = [made[0] for made, _ in linear.solutions(check)]
        found += [(e, k) for e in _not_products(normal, found, new, k)]
    points = points_of(normal, 1)
    laws = [Law(e, "Casimir", k, NORMAL_FORM) for e, k in found]
    chosen = gradient_ranks(d, points, [e for e, _ in found]) if found else []
    corank = d.corank
    if len(chosen) == corank:
        words = f"all that there are: J has corank {corank}"
    else:
        names = ", ".join(map(str, basis))
        words = f"J has corank {corank}; complete in this ansatz: degree ≤ {degree} in {names}"
    return Laws(laws, len(chosen), chosen, words)


def _not_products(normal: Normal, found: list[tuple[sp.Expr, int]], new, degree: int):
    """Those that are no combinations of products of the ones that are known."""
    sets = [
        chosen
        for count in range(degree + 1)
        for chosen in combinations_with_replacement(range(len(found)), count)
        if sum(found[i][1] for i in chosen) <= degree
    ]
    points = points_of(normal, len(sets) + len(new) + 8)
    f = points.point.field
    columns = []
    for chosen in sets:
        total = np.ones(len(points.point), dtype=WORD)
        for i in chosen:
            total = f.mul(total, points(found[i][0]))
        columns.append(total)
    columns += [points(e) for e in new]
    pivots = f.pivots(np.ascontiguousarray(np.array(columns).T))
    return [new[k - len(sets)] for k in pivots if k >= len(sets)]


@public
def absorbed(
    variables: Sequence[sp.Symbol],
    bracket: Any,
    extra: Sequence[Any],
    *,
    degree: int = 2,
    functions: Iterable[Any] = (),
) -> sp.Expr:
    """The h with J ∇h = Λ: an additional term of ẋ = J ∇H + Λ that is part of the energy.

    Parameters
    ----------
    variables, bracket
        As for `casimirs`.
    extra : sequence of Expr, length n
        Λ.
    degree : int
        Of h as a polynomial in the variables, and in functions of them that occur.
    functions : iterable of Expr
        More functions to build h from.

    Returns
    -------
    Expr
        h, up to Casimirs; H + h is conserved.  If there is none, an `InputError` says why.

    Examples
    --------
    >>> import sympy as sp, taut
    >>> x, y, z, k = sp.symbols("x y z k")
    >>> taut.absorbed([x, y, z], [[0, -z, y], [z, 0, -x], [-y, x, 0]], [k*y, -k*x, 0])
    k*z
    """
    d = Bracket(variables, bracket, extra)
    search, basis = _prepared(d, functions)
    normal = Normal(d, [*d.entries, *basis])
    d.checked(normal)
    degree = whole("degree", degree, 1)
    linear = Linear(
        d, search.ring, basis, [degree], 0, _along,
        right=lambda jet: jet.first[EXTRA], without_constant=frozenset({0}),
    )  # fmt: skip

    def check(made: list[sp.Expr]) -> str | None:
        left = zip(d.gradient(made[0]), d.extra, strict=True)
        return NORMAL_FORM if all(normal.zero(a - b) for a, b in left) else None

    found = linear.solutions(check)
    if found:
        return found[0][0][0]
    _explain(d, normal, casimirs(variables, d.matrix, degree=degree, functions=functions))
    raise InputError(
        "no h with J ∇h = Λ was found",
        expected=f"a polynomial of degree ≤ {degree} in {', '.join(map(str, basis))}",
        remedy="ask for a higher degree, or give more functions",
    )


def _explain(d: Bracket, normal: Normal, known: Laws) -> None:
    """Why there is no h at all, if there is a reason."""
    x = d.state
    for law in known:
        rate = sp.Add(*(law.expression.diff(y) * e for y, e in zip(x, d.extra, strict=True)))
        if not normal.zero(rate):
            raise InputError(
                f"the additional terms are not absorbed: they change the Casimir {law.expression}",
                expected="J ∇h = Λ, which changes no Casimir",
                received=f"∇C·Λ = {shown(normal.of(rate))}",
            )
    n = len(x)
    for i, j in combinations(range(n), 2):
        rest = sum(
            d.extra[l] * d.matrix[i][j].diff(x[l])
            - d.matrix[l][j] * d.extra[i].diff(x[l])
            - d.matrix[i][l] * d.extra[j].diff(x[l])
            for l in range(n)
        )
        if not normal.zero(sp.sympify(rest)):
            raise InputError(
                "the additional terms are not absorbed: they do not keep the bracket",
                expected="Λ·∇J − J (∂Λ)ᵀ − (∂Λ) J = 0",
                received=f"{shown(normal.of(sp.sympify(rest)))} in ({x[i]}, {x[j]})",
            )


__all__ = ["absorbed", "casimirs"]
