"""What laws are built from: the state, and the functions that occur in the equations."""

from __future__ import annotations

import sympy as sp

from taut.laws.dynamics import Dynamics
from taut.laws.search import Search
from taut.model import t


def generators(dynamics: Dynamics, search: Search) -> list[sp.Expr]:
    """The functions that occur, closed under D: roots or their inverses, sines, exponentials."""
    moving = {*dynamics.state, t}
    sources = list(dynamics.explicit.values())
    if dynamics.mechanical:
        sources = [dynamics.energy_function, *dynamics.constraints, *dynamics.forces]
    found: dict[sp.Expr, None] = {}
    for source in sources:
        for e in sp.preorder_traversal(source):
            if not e.free_symbols & moving:
                continue
            if isinstance(e, sp.Pow) and e.exp.is_Rational:
                if not (e.exp.is_Integer and e.exp > 0):
                    found.setdefault(e.base ** sp.Rational(1 if e.exp > 0 else -1, e.exp.q))
                    if e.base.has(*dynamics.rates_of):  # momenta have its inverse
                        found.setdefault(e.base ** sp.Rational(-1, e.exp.q))
            elif (isinstance(e, sp.Pow) and not isinstance(e, sp.exp)) or isinstance(
                e, sp.exp | sp.log | sp.atan
            ):
                found.setdefault(e)
    for base in search.ring.angles.basis:
        if base.free_symbols & moving:
            found.setdefault(sp.sin(base))
            found.setdefault(sp.cos(base))
    return [*dynamics.state, *(e for e in found if e not in dynamics.state)]
