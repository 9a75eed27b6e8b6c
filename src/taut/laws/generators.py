"""What laws are built from: the state, the functions that occur in the equations, constants."""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp

from taut.laws.dynamics import Dynamics
from taut.laws.ring import FREE
from taut.laws.search import Search
from taut.model import t


def generators(dynamics: Dynamics, search: Search) -> list[sp.Expr]:
    """The functions that occur, closed under D: roots or their inverses, sines, exponentials."""
    moving = {*dynamics.state, t}
    sources = list(dynamics.explicit.values())
    if dynamics.mechanical:
        energy, w = dynamics.energy_function, dynamics.rates_of
        sources = [energy, *dynamics.constraints, *dynamics.forces]
        if any(e.free_symbols & set(w) for row in dynamics.mass for e in row):
            sources += [energy.diff(x) for x in w]  # 1/√(1 − q̇²) is in the momenta
    found: dict[sp.Expr, None] = {}
    for source in sources:
        for e in sp.preorder_traversal(source):
            if not e.free_symbols & moving:
                continue
            if isinstance(e, sp.Pow) and e.exp.is_Rational:
                if not (e.exp.is_Integer and e.exp > 0):
                    found.setdefault(e.base ** sp.Rational(1 if e.exp > 0 else -1, e.exp.q))
            elif isinstance(e, (sp.Pow, sp.exp, *FREE)):
                found.setdefault(e)
    for base in search.ring.angles.basis:
        if base.free_symbols & moving:
            found.setdefault(sp.sin(base))
            found.setdefault(sp.cos(base))
    return [*dynamics.state, *(e for e in found if e not in dynamics.state)]


def constants(expressions: Iterable[sp.Expr], moving: set[sp.Symbol]) -> dict[sp.Expr, sp.Expr]:
    """√a, sin a, π, … with a symbol for each, or a power of it: all that is neither rational."""
    found: dict[sp.Expr, sp.Expr] = {}
    symbols: dict[sp.Expr, sp.Symbol] = {}
    for source in expressions:
        walk = sp.preorder_traversal(source)
        for e in walk:
            whole = e.is_Pow and e.exp.is_Integer
            if e.free_symbols & moving or e.is_Rational or e.is_Symbol or whole:
                continue
            if not (e.is_Add or e.is_Mul):
                root = e.is_Pow and e.exp.is_Rational
                kind = e.base ** sp.Rational(1, e.exp.q) if root else e
                symbol = symbols.setdefault(kind, sp.Dummy(f"k{len(symbols)}", real=True))
                found[e] = symbol ** (e.exp.p if root else 1)
                walk.skip()
    return found
