"""Equations in triangular form, each with a variable of its own, so that points can be found.

An equation with a variable that no other has is put aside, to be solved last.  Where there is none,
as in closed loops of rods, a variable x is eliminated: of two polynomials f, g in x the sequence of
subresultants contains one that is linear in x, and ends in the resultant, which is free of it.  For
two circles the former is the radical axis f − g.  Common zeros satisfy both; zeros that do not come
from common ones are dropped, by looking at the equations themselves.
"""

from __future__ import annotations

import sympy as sp

Rung = tuple[sp.Expr, sp.Symbol]  # a polynomial, and the variable that it is solved for
HIGHEST = 8  # degree of a resultant beyond which it is given up


def triangular(equations: list[sp.Expr], variables: list[sp.Symbol]) -> list[Rung] | None:
    """Equations with the variable that each is solved for, in order; None if there is no way."""
    left, found = list(equations), []
    while left:
        single = _single(left, variables)
        if single is not None:
            found.append(single)
            left.remove(single[0])
            continue
        step = _eliminated(left, variables)
        if step is None:
            return None
        rung, left = step
        found.append(rung)
    return found[::-1]


def _single(left: list[sp.Expr], variables: list[sp.Symbol]) -> Rung | None:
    """The equation that is of lowest degree in a variable that no other has."""
    best = None
    for k, e in enumerate(left):
        others = set().union(*(x.free_symbols for i, x in enumerate(left) if i != k))
        for x in variables:
            if x in e.free_symbols and x not in others and e.is_polynomial(x):
                degree = sp.degree(e, x)
                if best is None or degree < best[0]:
                    best = (degree, e, x)
    return None if best is None else best[1:]


def _eliminated(left: list[sp.Expr], variables) -> tuple[Rung, list[sp.Expr]] | None:
    """The equations without one of the variables, and one that is linear in it."""
    choices = []
    for k, x in enumerate(variables):
        own = [e for e in left if x in e.free_symbols]
        if len(own) > 1 and all(e.is_polynomial(x) for e in own):
            choices.append((len(own), sum(sp.degree(e, x) for e in own), k, x, own))
    for _, _, _, x, own in sorted(choices, key=lambda c: c[:3]):
        own = sorted(own, key=lambda e: sp.degree(e, x))
        rest = [e for e in left if e not in own]
        linear, new = None, []
        for e in own[1:]:
            chain = sp.subresultants(own[0], e, x)
            steps = [f for f in chain if sp.degree(f, x) == 1]
            last = _squarefree(chain[-1], variables)
            if last is None or x in last.free_symbols or not steps:
                break
            linear = steps[-1] if linear is None else linear
            new.append(last)
        else:
            if linear is not None:
                return (sp.expand(linear), x), rest + new
    return None


def _squarefree(e: sp.Expr, variables: list[sp.Symbol]) -> sp.Expr | None:
    """The factors that contain variables, once each; None if there is none, or too high a one."""
    _, factors = sp.factor_list(e)
    kept = [f for f, _ in factors if f.free_symbols & set(variables)]
    if not kept:
        return None
    whole = sp.expand(sp.Mul(*kept))
    inside = [x for x in variables if whole.has(x)]
    if not whole.is_polynomial(*inside) or max(sp.degree(whole, x) for x in inside) > HIGHEST:
        return None
    return whole
