"""Constraints on velocities: what can be done about one that a user has written.

    a(q)·q̇ = 0

follows from a constraint g(q) if ∂aᵢ/∂qⱼ = ∂aⱼ/∂qᵢ, then g is the integral of a along any path.
If it does not (a blade, a wheel that steers), the force −c a (a·q̇) has its motion as the limit of
large c.

Source: Brendelev 1981, J. Appl. Math. Mech. 45, 351 (viscous friction as the limit).
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from taut.model.symbols import t

LONG = 200  # operations of what is looked into


def remedy(expr: sp.Expr, *symbols: Sequence[sp.Symbol]) -> str:
    """What to write instead of expr = 0, which depends on rates.

    Parameters
    ----------
    *symbols : sequence of Symbol
        Coordinates, velocities and momenta.
    """
    q, v, p = symbols
    slopes = [expr.diff(x) for x in v]
    left = expr.xreplace(dict.fromkeys(v, sp.Integer(0)))
    linear = not any(a.free_symbols & set(v) for a in slopes)
    if not linear or expr.free_symbols & set(p) or sp.count_ops(expr) > LONG:
        return "write it as a force that works against what is left of it"
    found = _integral([*slopes, left], [*q, t])
    if found is not None:
        return f"constraints=[{found} - value], whose rate it is, with the value at the start"
    a = ", ".join(str(-sp.Symbol("c") * x * expr) for x in slopes)
    return (
        f"it is no rate of a g(q, t); resisted by forces=[{a}] it holds the better, the larger c; "
        "of a taut.Mechanism m.rolling(…) is a wheel along a line"
    )


def _integral(slopes: Sequence[sp.Expr], x: Sequence[sp.Symbol]) -> sp.Expr | None:
    """G with ∂g/∂xᵢ = aᵢ, if there is one that SymPy finds."""
    for i, a in enumerate(slopes):
        for b, other in zip(slopes[:i], x[:i], strict=True):
            if sp.expand(a.diff(other) - b.diff(x[i])) != 0:
                return None
    g = sp.Integer(0)
    for a, s in zip(slopes, x, strict=True):
        g += sp.integrate(sp.expand(a - g.diff(s)), s)
    right = all(sp.expand(g.diff(s) - a) == 0 for a, s in zip(slopes, x, strict=True))
    return g if right and not g.has(sp.Integral) else None
