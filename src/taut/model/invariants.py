"""Functions as outer functions of at most quadratic inner ones, for discrete gradients.

The gradient of a quadratic function w at the midpoint is an exact difference quotient,
w(y) − w(x) = ∇w((x + y)/2)·(y − x).  A function f = F(w₁, …, w_K) of such functions therefore has
the discrete gradient Σ ∇w_k((x + y)/2) D_k F, whatever discrete gradient D is used for F, and it is
orthogonal to every affine symmetry that the w_k have.

`pieces` cuts an expression into its summands and finds the inner functions of each: distances,
lengths, differences of coordinates, and the like.

Source: Gonzalez 1996, J. Nonlinear Sci. 6, 449, section 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import sympy as sp

from taut.errors import InputError
from taut.model.terms import Term

How = Literal["quadratic", "invariants", "given", "plain"]


@dataclass(frozen=True)
class Piece:
    """A summand F(w(z)).

    Attributes
    ----------
    outer : Expr
        F, an expression of `symbols`.
    symbols, inner : tuples of length K
        The names of w₁ … w_K in `outer`, and what they are, at most quadratic in the variables.
    groups : tuple of tuples of int
        Which of them a discrete gradient of F takes together; the others one after the other.
    how : str
        "quadratic" (F is w₁ itself), "invariants" (found), "given", or "plain" (w = z).
    """

    outer: sp.Expr
    symbols: tuple[sp.Symbol, ...]
    inner: tuple[sp.Expr, ...]
    groups: tuple[tuple[int, ...], ...]
    how: How

    @cached_property
    def degrees(self) -> tuple[int | None, ...]:
        """Degree of F in each group; None if it is no polynomial there."""
        return tuple(degree(self.outer, [self.symbols[k] for k in group]) for group in self.groups)

    def along(self, direction: Mapping[sp.Symbol, sp.Expr]) -> Piece:
        """The derivative of the piece in a direction: Σ ∂F/∂w_k ω_k with ω_k = ∇w_k·direction.

        ω_k is at most quadratic in variables and direction together.
        """
        rates = tuple(sp.Dummy(f"d{s.name}", real=True) for s in self.symbols)
        outer = sp.Add(*(self.outer.diff(s) * r for s, r in zip(self.symbols, rates, strict=True)))
        inner = tuple(sp.Add(*(w.diff(z) * d for z, d in direction.items())) for w in self.inner)
        count = len(self.symbols)
        groups = tuple(tuple(k + count for k in group) for group in self.groups)
        return Piece(
            outer, self.symbols + rates, self.inner + inner, self.groups + groups, self.how
        )


def degree(expression: sp.Basic, variables: Iterable[sp.Symbol]) -> int | None:
    """The degree of a polynomial as it is written, or None for what is no polynomial."""
    found = set(variables)

    def of(node: sp.Basic) -> int | None:
        if not node.free_symbols & found:
            return 0
        if isinstance(node, sp.Symbol):
            return 1
        below = [of(a) for a in node.args]
        if isinstance(node, sp.Add | sp.Mul) and None not in below:
            return (max if isinstance(node, sp.Add) else sum)(below)  # type: ignore[arg-type]
        if isinstance(node, sp.Pow) and below[0] is not None:
            power = node.exp
            if isinstance(power, sp.Integer) and int(power) > 0:
                return below[0] * int(power)
        return None

    return of(expression)


def pieces(
    expression: sp.Expr, groups: Sequence[Sequence[sp.Symbol]], given: Sequence[sp.Expr] = ()
) -> list[Piece]:
    """`expression`, up to a constant, as a sum of pieces.

    Parameters
    ----------
    groups : sequence of sequences of Symbol
        The variables; those of one kind (all positions, all momenta) together.
    given : sequence of Expr
        At most quadratic functions to be used where a summand is a function of them.
    """
    variables = {s for group in groups for s in group}
    simple, rest = [], []
    for summand in sp.Add.make_args(expression):
        if summand.free_symbols & variables:
            order = degree(summand, variables)
            (rest if order is None or order > 2 else simple).append(summand)
    found: list[Piece] = []
    if simple:
        w = sp.Dummy("w", real=True)
        found.append(Piece(w, (w,), (sp.Add(*simple),), ((0,),), "quadratic"))
    if rest and given:
        rest, known = _by_given(rest, variables, given)
        found += known
    return found + _by_search(rest, groups)


def _by_given(rest: list[sp.Expr], variables: set[sp.Symbol], given):
    """What the given functions do not determine, and pieces of what they do."""
    symbols = tuple(sp.Dummy(f"w{k}", real=True) for k in range(len(given)))
    whole = _expressed(sp.Add(*rest), variables, given, symbols)
    parts = [(s, _expressed(s, variables, given, symbols)) for s in rest] if whole is None else []
    outers = [whole] if whole is not None else [outer for _, outer in parts if outer is not None]
    left = [s for s, outer in parts if outer is None]
    if not outers:
        return left, []
    outer = sp.Add(*outers)
    used = [k for k, s in enumerate(symbols) if s in outer.free_symbols]
    singles = tuple((k,) for k in range(len(used)))
    names, inner = (tuple(x[k] for k in used) for x in (symbols, given))
    return left, [Piece(outer, names, inner, singles, "given")]


def _expressed(expression: sp.Expr, variables: set[sp.Symbol], given, symbols) -> sp.Expr | None:
    """`expression` as a function of the given ones, or None.

    Each of them, w = A x² + B x + C, is solved for one variable, x = −B/2A + σ, and σ² is traded
    for w; the expression must be even in σ.
    """
    trades: list[tuple[sp.Symbol, sp.Expr]] = []
    for inner, w in zip(given, symbols, strict=True):
        for x, value in trades:
            inner = inner.xreplace({x: value})
        solved = _solved(_expanded(inner), w, variables - {x for x, _ in trades})
        if solved is None:
            continue
        x, middle, square = solved
        sigma = sp.Dummy("sigma", real=True)
        if square is None:
            trades.append((x, middle))
            expression = expression.xreplace({x: middle})
            continue
        here = _expanded(expression.xreplace({x: middle + sigma}))
        if _expanded(here.xreplace({sigma: -sigma}) - here) != 0:
            continue
        trades.append((x, middle + sp.sqrt(square)))
        expression = here.subs(sigma, sp.sqrt(square))
    expression = _expanded(expression)
    return None if expression.free_symbols & variables else expression


def _expanded(expression: sp.Expr) -> sp.Expr:
    """Products and powers of sums multiplied out, functions left as they are."""
    return sp.expand(expression, power_exp=False, power_base=False, log=False)


def _solved(inner: sp.Expr, w: sp.Symbol, variables: set[sp.Symbol]):
    """(x, −B/2A, σ²), or (x, value, None) where x occurs linearly, or None."""
    for x in sorted(inner.free_symbols & variables, key=lambda s: s.name):
        order = degree(inner, [x])
        if order not in (1, 2):
            continue
        a, b = inner.coeff(x, 2), inner.coeff(x, 1)
        c = sp.expand(inner - a * x**2 - b * x)
        if a == 0 and not b.free_symbols & variables:
            return x, (w - c) / b, None
        if a != 0 and not a.free_symbols & variables:
            middle = sp.expand(-b / (2 * a))
            return x, middle, sp.expand((w - c) / a + middle**2)
    return None


def _by_search(summands: list[sp.Expr], groups: Sequence[Sequence[sp.Symbol]]) -> list[Piece]:
    """Pieces by the largest at most quadratic subexpressions; plain ones where that is no gain."""
    search = _Search({s for group in groups for s in group})
    sums: dict[tuple[How, tuple], list[sp.Expr]] = {}
    for summand in summands:
        outer = search.visit(summand)
        used = tuple(s for s in search.names if s in outer.free_symbols)
        variables = tuple(s for group in groups for s in group if s in summand.free_symbols)
        if len(used) >= len(variables) > 1:
            sums.setdefault(("plain", variables), []).append(summand)
        else:
            sums.setdefault(("invariants", used), []).append(outer)
    found = []
    for (how, names), parts in sums.items():
        if how == "invariants":
            inner = tuple(search.names[s] for s in names)
            split = tuple((k,) for k in range(len(names)))
            found.append(Piece(sp.Add(*parts), names, inner, split, how))
        else:
            kinds = ([k for k, s in enumerate(names) if s in group] for group in groups)
            split = tuple(tuple(kind) for kind in kinds if kind)
            found.append(Piece(sp.Add(*parts), names, names, split, how))
    return found


class _Search:
    """Replaces the largest at most quadratic subexpressions by symbols."""

    def __init__(self, variables: set[sp.Symbol]) -> None:
        self.variables = variables
        self.names: dict[sp.Symbol, sp.Expr] = {}
        self.known: dict[sp.Expr, tuple[sp.Symbol, sp.Expr, sp.Expr]] = {}

    def visit(self, node):
        if not node.free_symbols & self.variables:
            return node
        if self._small(node):
            return self._symbol(node)
        if isinstance(node, sp.Add | sp.Mul):
            small = [a for a in node.args if self._small(a) and a.free_symbols & self.variables]
            together = node.func(*small)
            if small and self._small(together):
                rest = [self.visit(a) for a in node.args if a not in small]
                return node.func(self._symbol(together), *rest)
        return node.func(*(self.visit(a) for a in node.args))

    def _small(self, node) -> bool:
        order = degree(node, self.variables)
        return order is not None and order <= 2

    def _symbol(self, node: sp.Expr) -> sp.Expr:
        """A name for the function; functions that differ by a number or a constant share one.

        They are evaluated as the first of them is written: multiplied out, (x − a)² would lose its
        digits far from the origin.
        """
        flat = sp.expand(node)
        constant = flat.xreplace(dict.fromkeys(self.variables, sp.Integer(0)))
        factor, core = (flat - constant).primitive()
        if -core in self.known:
            factor, core = -factor, -core
        if core not in self.known:
            name = sp.Dummy(f"w{len(self.names)}", real=True)
            self.known[core], self.names[name] = (name, factor, constant), node
        name, first, offset = self.known[core]
        ratio = factor / first
        return ratio * name + (constant - ratio * offset)


def polarised(
    energy: sp.Expr, rates: Sequence[sp.Symbol], first: Sequence[sp.Symbol], second
) -> sp.Expr:
    """½ v₀ᵀM(q)v₁ + A(q)·(v₀ + v₁)/2 − U(q) of L = ½ vᵀM(q)v + A(q)·v − U(q).

    Its difference in q with v₀ and v₁ fixed is what a mean velocity needs to keep the energy:
    E(q₁, v₁) − E(q₀, v₀) = (v₀ + v₁)/2·(p₁ − p₀) − [its difference].  Parts that do not depend on q
    may be missing.
    """
    rest = dict.fromkeys(rates, sp.Integer(0))
    total = [energy.xreplace(rest)]
    for i, v in enumerate(rates):
        momentum = energy.diff(v)
        for j, w in enumerate(rates):
            mass = _free(momentum.diff(w), rates)
            total.append(mass * first[i] * second[j] / 2)
        total.append(momentum.xreplace(rest) * (first[i] + second[i]) / 2)
    return sp.Add(*total)


def _free(mass: sp.Expr, rates: Sequence[sp.Symbol]) -> sp.Expr:
    if mass.free_symbols & set(rates):
        mass = sp.simplify(mass)
    if mass.free_symbols & set(rates):
        raise InputError(
            "a discrete gradient of this Lagrangian is not known",
            expected="L at most quadratic in the velocities",
            received=f"∂²L/∂q̇∂q̇ with {str(mass)[:80]}",
            remedy="give the system by its Hamiltonian, hamiltonian=…, or take another method",
        )
    return mass


def known_to(
    term: Term, parameters: Sequence[str], expressions: Sequence[sp.Expr]
) -> tuple[sp.Expr, ...]:
    """Those of the expressions that are functions of a term's variables, in its own symbols."""
    variables = (*term.coordinates, *(term.rates if term.kind == "hamiltonian" else ()))
    own = {s.name: s for s in (*variables, *term.constants)}
    own |= {name: sp.Symbol(name, real=True) for name in parameters if name not in own}
    found = []
    for expression in expressions:
        names = {s.name for s in expression.free_symbols}
        if names <= set(own):
            found.append(expression.xreplace({s: own[s.name] for s in expression.free_symbols}))
    return tuple(found)
