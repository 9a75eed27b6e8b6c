"""Normal forms that can be read: what is left of an equation that does not hold.

An expression becomes a quotient of polynomials (`taut.laws.proof`).  Modulo the relations r = 0 of
the variety its numerator u is replaced by the pseudo-remainder u′ with ℓᵏ u = u′ + (…) r, where ℓ
is the leading coefficient of r, so that u = u′/ℓᵏ wherever the relations hold.  The accelerations
are those of Cramer's rule.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import sympy as sp

from taut.errors import ModelError
from taut.laws.dynamics import Dynamics, Moving
from taut.laws.proof import Forms, Quotient, TooLarge, _degree, _leading, rate
from taut.laws.ring import Ring
from taut.model import t

WIDE = 6  # equations up to which accelerations are written down
FRESH = 24  # points modulo each of two primes
LONG = 300  # letters of a residual that are shown


class Normal:
    """Expressions of a model in a form in which zero is zero.

    Parameters
    ----------
    dynamics : Dynamics
    more : iterable of Expr
        What occurs besides the equations of motion.
    """

    def __init__(self, dynamics: Dynamics, more=()) -> None:
        self.dynamics = dynamics
        known = [*dynamics.state, *dynamics.parameters, t]
        self.ring = Ring([*dynamics.expressions, *more], known)
        self.forms = Forms(dynamics, self.ring)

    # ---- normal forms ------------------------------------------------------------------------

    def zero(self, e: sp.Expr) -> bool | None:
        """Whether an expression vanishes on the variety; None if that takes too long."""
        try:
            return self.forms.vanishes(self.forms(e).top)
        except TooLarge:
            return None

    def of(self, e: sp.Expr | Quotient) -> sp.Expr:
        """The normal form, as an expression."""
        quotient = e if isinstance(e, Quotient) else self.forms(e)
        top, above = self._reduced(quotient.top)
        bottom, below = self._reduced(quotient.bottom)
        return self._quotient(top * below, bottom * above)

    def _quotient(self, top, bottom) -> sp.Expr:
        """In lowest terms, factored."""
        common = top.gcd(bottom)
        (a, above), (b, below) = ((x / common).factor() for x in (top, bottom))
        number = sp.Rational(int(a.p), int(a.q)) / sp.Rational(int(b.p), int(b.q))
        factors = [self._written(x) ** int(k) for x, k in above]
        return sp.Mul(number, *factors, *(self._written(x) ** -int(k) for x, k in below))

    def _reduced(self, polynomial):
        """(u′, ℓ) with u = u′/ℓ on the variety."""
        forms, factor = self.forms, self.forms.one
        for divisor, name in self._relations:
            number = forms.number[name]
            top = _degree(divisor, number)
            lead = _leading(divisor, number, top, forms.context)
            while polynomial != 0 and (k := _degree(polynomial, number)) >= top > 0:
                first = _leading(polynomial, number, k, forms.context)
                polynomial = lead * polynomial - first * forms.at[name] ** (k - top) * divisor
                factor = factor * lead
        return polynomial, factor

    @cached_property
    def _relations(self) -> list[tuple]:
        """Polynomials that vanish, with the symbol that each is solved for."""
        forms, d = self.forms, self.dynamics
        found = []
        for i, (base, k) in reversed(list(enumerate(self.ring.roots))):
            u, name = forms(base), f"_r{i}"
            found.append((forms.at[name] ** k * u.bottom - u.top, name))
        for i in range(len(self.ring.angles.basis)):
            c, s = forms.at[f"_c{i}"], forms.at[f"_s{i}"]
            found.append((s * s + c * c - 1, f"_s{i}"))
        if d.constraints:
            place = dict(zip(d.positions, d.rates_of, strict=True))
            ladder = d.ladder[::-1]
            for g, x in ladder:
                h = sum((g.diff(y) * d.explicit[y] for y in d.positions), g.diff(t))
                found.append((forms(h).top, forms.symbols[place[x]]))
            found += [(forms(g).top, forms.symbols[x]) for g, x in ladder]
        return found

    @cached_property
    def _meanings(self) -> dict[str, sp.Expr]:
        ring, forms = self.ring, self.forms
        found: dict[str, sp.Expr] = {name: x for x, name in forms.symbols.items()}
        found |= {f"_r{i}": u ** sp.Rational(1, k) for i, (u, k) in enumerate(ring.roots)}
        found |= {f"_e{i}": sp.exp(u) for i, u in enumerate(ring.exponents.basis)}
        found |= {f"_c{i}": sp.cos(u) for i, u in enumerate(ring.angles.basis)}
        found |= {f"_s{i}": sp.sin(u) for i, u in enumerate(ring.angles.basis)}
        found |= {f"_f{i}": e for i, e in enumerate(ring.free)}
        return found | {f"_p{i}": u**a for i, (u, a) in enumerate(ring.powers)}

    def _written(self, polynomial) -> sp.Expr:
        names = list(self.forms.number)
        meaning = [self._meanings[name] for name in names]
        return sp.Add(
            *(
                sp.Rational(int(c.p), int(c.q))
                * sp.Mul(*(x ** int(k) for x, k in zip(meaning, row, strict=True) if k))
                for row, c in polynomial.to_dict().items()
            )
        )

    # ---- the motion --------------------------------------------------------------------------

    @cached_property
    def rates(self) -> dict[sp.Symbol, sp.Expr]:
        """The rates of the state and of time, as expressions."""
        d = self.dynamics
        found = {t: sp.Integer(1), **d.explicit}
        if len(d.rates_of) + len(d.constraints) > WIDE:
            raise TooLarge
        for w in d.rates_of:
            q = rate(d, self.forms, w)
            if q.bottom == 0:
                raise ModelError(
                    "the mass matrix is singular, so that there are no accelerations",
                    expected="∂²L/∂q̇∂q̇ regular",
                    remedy="taut.noether finds point symmetries of singular Lagrangians, too",
                )
            found[w] = self._quotient(q.top, q.bottom)
        return found

    def rate(self, e: sp.Expr) -> sp.Expr:
        """D e with the accelerations written out."""
        return sp.Add(*(e.diff(x) * dx for x, dx in self.rates.items()))

    def fresh(self, e: sp.Expr) -> bool:
        """Whether an expression vanishes at random points modulo two primes near 2³¹."""
        return self._everywhere(lambda points: points(e))

    def steady(self, e: sp.Expr) -> bool:
        """Whether D e vanishes there."""
        return self._everywhere(lambda points: points.rate(e))

    def agrees(self, e: sp.Expr, rate: sp.Expr) -> bool:
        """Whether D e is `rate` there."""

        def gap(points: Moving) -> np.ndarray:
            return points.point.field.sub(points.rate(e), points(rate))

        return self._everywhere(gap)

    def _everywhere(self, values) -> bool:
        d = self.dynamics
        for f in d.fields(self.ring, 2, block=7):
            own = d.drawn(self.ring, f)
            if values(d.moving(self.ring, f, FRESH, own, True)).any():
                return False
        return True


def shown(e: sp.Expr) -> str:
    """An expression, if it is not too long to be read."""
    text = str(e)
    return text if len(text) <= LONG else f"{text[:LONG]} … ({sp.count_ops(e)} operations)"


__all__ = ["Normal", "shown"]
