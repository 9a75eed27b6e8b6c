"""What of a sum changes with time, however it is written.

    e(q, t) = e₀(q) + e₁(q, t),

where e₁ holds the summands that know t when e is multiplied out, products of sines and cosines
being those of sums and differences: k (1 + cos t), k + k cos t and 2 k cos² t/2 all have e₀ = k.
"""

from __future__ import annotations

import sympy as sp
from sympy.simplify.fu import TR8

from taut.model.tidy import terms

MOST = 2000  # terms that may be written out: a power of a long sum is left as it stands
HIGHEST = 12  # sines and cosines in a product that becomes a sum: it has up to 2ⁿ⁻¹ terms


def changing(e: sp.Expr, time: sp.Symbol) -> sp.Expr:
    """e₁: the summands that know `time`."""
    written = (_waves(x, time) for x in sp.Add.make_args(_multiplied(e, time)))
    parts = sp.Add.make_args(sp.Add(*written))
    return sp.Add(*(x for x in parts if x.has(time)))


def _multiplied(e: sp.Expr, time: sp.Symbol) -> sp.Expr:
    """Multiplied out where it knows `time`; functions, roots and denominators stay whole."""
    hidden: dict[sp.Expr, sp.Dummy] = {}

    def hide(x: sp.Expr) -> sp.Expr:
        power = x.is_Pow and x.exp.is_Integer and x.exp > 0
        if not x.args or (x.has(time) and (x.is_Add or x.is_Mul or power)):
            return x.func(*map(hide, x.args)) if x.args else x
        return hidden.setdefault(x, sp.Dummy(real=True))

    inside = hide(e)
    inside = inside if terms(inside) > MOST else sp.expand(inside)
    return inside.xreplace({dummy: x for x, dummy in hidden.items()})


def _waves(e: sp.Expr, time: sp.Symbol) -> sp.Expr:
    """A summand whose sines and cosines of time are multiplied into each other."""
    own, timed = e.as_independent(time, as_Add=False)
    factors = [x.as_base_exp() for x in sp.Mul.make_args(timed)]
    count = sp.Add(*(power for base, power in factors if isinstance(base, sp.sin | sp.cos)))
    if not (count.is_Integer and 1 < count <= HIGHEST):
        return e
    return sp.Add(*(own * x for x in sp.Add.make_args(sp.expand_mul(TR8(timed)))))


__all__ = ["changing"]
