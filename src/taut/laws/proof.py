"""Proof that a quantity is conserved: the normal form of its rate is zero.

All functions become polynomials in symbols over the rational numbers: one for each variable,
parameter, root, base exponential, sine and cosine of a base angle, logarithm.  The rate of I is

    D I = I_t + I_q·q̇ + I_w·ẇ,   A (ẇ, λ) = b,
    det A · D I = det A (I_t + I_q·q̇) − det [A b; I_w 0],

and no linear system is solved.  Its numerator is reduced by the relations, which form a triangular
set: rᵏ = u for roots, s² + c² = 1 for sines, then the hidden constraints, each linear in a velocity
of its own, then the constraints, each with a coordinate of its own.  If pseudo-remainders end in
zero, D I vanishes wherever the leading coefficients do not, and hence on the variety.  Level sets
come before the constraints.  With both, or where a variable had to be eliminated, a remainder that
is not zero proves nothing: the triangular set may have other zeros than the variety.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp
from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx

from taut.laws.budget import spend
from taut.laws.dynamics import Dynamics
from taut.laws.ring import Ring, _coordinates
from taut.model import t

TERM = 20  # multiplications that a product of two terms costs
WORK = 4_000_000  # products of terms in one sum of quotients, likewise
LARGE = 40_000  # terms of a polynomial beyond which a proof is given up


class TooLarge(Exception):
    """The normal form is not worth its time."""


@dataclass
class Quotient:
    """A quotient of polynomials."""

    top: fmpq_mpoly
    bottom: fmpq_mpoly

    def __add__(self, other: Quotient) -> Quotient:
        if self.bottom == other.bottom:
            return Quotient(self.top + other.top, self.bottom)
        spend(TERM * (len(self.top) + len(other.top)))
        common = self.bottom.gcd(other.bottom)
        mine, theirs = other.bottom / common, self.bottom / common
        work = len(self.top) * len(mine) + len(other.top) * len(theirs)
        spend(TERM * work)
        if work > WORK:
            raise TooLarge
        top = self.top * mine + other.top * theirs
        if len(top) > LARGE:
            raise TooLarge
        return Quotient(top, self.bottom * mine)

    def __mul__(self, other: Quotient) -> Quotient:
        spend(TERM * len(self.top) * len(other.top))
        return Quotient(self.top * other.top, self.bottom * other.bottom)

    def power(self, k: int) -> Quotient:
        """To the k-th power, also a negative one."""
        if k < 0:
            return Quotient(self.bottom ** (-k), self.top ** (-k))
        return Quotient(self.top**k, self.bottom**k)


class Forms:
    """Expressions of a model as quotients of polynomials."""

    def __init__(self, dynamics: Dynamics, ring: Ring) -> None:
        self.dynamics, self.ring = dynamics, ring
        own = (*dynamics.state, t, *dynamics.parameters)
        names = [f"_x{i}" for i in range(len(own))]  # FLINT knows ASCII only, and no θ
        self.symbols = dict(zip(own, names, strict=True))
        names += [f"_r{i}" for i in range(len(ring.roots))]
        names += [f"_e{i}" for i in range(len(ring.exponents.basis))]
        for i in range(len(ring.angles.basis)):
            names += [f"_c{i}", f"_s{i}"]
        names += [f"_f{i}" for i in range(len(ring.free))]
        names += [f"_p{i}" for i in range(len(ring.powers))]
        self.context = fmpq_mpoly_ctx.get(tuple(names), Ordering.lex)
        self.at = dict(zip(names, self.context.gens(), strict=True))
        self.number = {name: i for i, name in enumerate(names)}
        self.one = self.context.constant(1)
        self._known: dict[sp.Expr, Quotient] = {}

    def __call__(self, e: sp.Expr) -> Quotient:
        found = self._known.get(e)
        if found is None:
            found = self._known[e] = self._of(e)
        return found

    def _plain(self, polynomial) -> Quotient:
        return Quotient(polynomial, self.one)

    def _of(self, e: sp.Expr) -> Quotient:
        ring = self.ring
        if e.is_Rational:
            return self._plain(self.context.constant(fmpq(int(e.p), int(e.q))))
        if e in self.symbols:
            return self._plain(self.at[self.symbols[e]])
        if e in ring.free:
            return self._plain(self.at[f"_f{list(ring.free).index(e)}"])
        if e.is_Add or e.is_Mul:
            total = self(e.args[0])
            for x in e.args[1:]:
                total = total + self(x) if e.is_Add else total * self(x)
            return total
        if isinstance(e, sp.exp):
            total = self._plain(self.one)
            for i, k in enumerate(_coordinates(e.args[0], ring.exponents)):
                total = total * self._plain(self.at[f"_e{i}"]).power(k)
            return total
        if isinstance(e, sp.sin | sp.cos):
            return self._turned(e)
        if e.is_Pow and e.exp.is_Integer:
            return self(e.base).power(int(e.exp))
        if e.is_Pow and e.exp.is_Rational:
            i = list(ring.roots).index((e.base, int(e.exp.q)))
            return self._plain(self.at[f"_r{i}"]).power(int(e.exp.p))
        number, places = ring.power(e.base, e.exp)
        total = self(e.base**number)
        for key, k in places.items():
            i = list(ring.powers).index(key)
            total = total * self._plain(self.at[f"_p{i}"]).power(k)
        return total

    def _turned(self, e: sp.Expr) -> Quotient:
        c, s = self.one, self.context.constant(0)
        for i, k in enumerate(_coordinates(e.args[0], self.ring.angles)):
            a, b = self.at[f"_c{i}"], self.at[f"_s{i}"]
            b = b if k > 0 else -b
            for _ in range(abs(k)):
                c, s = c * a - s * b, c * b + s * a
        return self._plain(s if isinstance(e, sp.sin) else c)

    # ---- relations ---------------------------------------------------------------------------

    def vanishes(self, polynomial) -> bool:
        """Whether it is zero on the variety, by pseudo-remainders."""
        d = self.dynamics
        polynomial = self._by_functions(polynomial)
        for g, x in d.steps[::-1]:
            polynomial = self._remainder(polynomial, self(g).top, self.symbols[x])
        place = dict(zip(d.positions, d.rates_of, strict=bool(d.rates_of)))
        for g, x in d.ladder[::-1]:
            h = sum((g.diff(y) * d.explicit[y] for y in d.positions), g.diff(t))
            polynomial = self._remainder(polynomial, self(h).top, self.symbols[place[x]])
        for g, x in d.ladder[::-1]:
            polynomial = self._remainder(polynomial, self(g).top, self.symbols[x])
        return self._by_functions(polynomial) == 0  # constraints may bring sines of t back

    def _by_functions(self, polynomial) -> Any:
        """Reduced by what roots and sines are."""
        ring = self.ring
        for i, (base, k) in reversed(list(enumerate(ring.roots))):
            u, name = self(base), f"_r{i}"
            polynomial = self._remainder(polynomial, self.at[name] ** k * u.bottom - u.top, name)
        for i in range(len(ring.angles.basis)):
            c, s = self.at[f"_c{i}"], self.at[f"_s{i}"]
            polynomial = self._remainder(polynomial, s * s + c * c - 1, f"_s{i}")
        return polynomial

    def _remainder(self, polynomial, divisor, name: str):
        number = self.number[name]
        top = _degree(divisor, number)
        lead = _leading(divisor, number, top, self.context)
        x = self.at[name]
        while polynomial != 0 and (k := _degree(polynomial, number)) >= top > 0:
            first = _leading(polynomial, number, k, self.context)
            spend(TERM * (len(polynomial) * len(lead) + len(first) * len(divisor)))
            polynomial = lead * polynomial - first * x ** (k - top) * divisor
            if len(polynomial) > LARGE:
                raise TooLarge
        return polynomial


def _degree(polynomial, number: int) -> int:
    return int(polynomial.degrees()[number]) if polynomial != 0 else -1


def _leading(polynomial, number: int, degree: int, context):
    """The coefficient of the highest power of one symbol."""
    terms = {}
    for exponents, c in polynomial.to_dict().items():
        if exponents[number] == degree:
            row = list(exponents)
            row[number] = 0
            terms[tuple(row)] = c
    return context.from_dict(terms)


def _determinant(matrix: list[list], one, large: int = LARGE):
    """By fraction-free elimination; entries are polynomials."""
    rows, sign, last = [row[:] for row in matrix], 1, one
    n = len(rows)
    for k in range(n - 1):
        swap = next((i for i in range(k, n) if rows[i][k] != 0), None)
        if swap is None:
            return one - one
        if swap != k:
            rows[k], rows[swap], sign = rows[swap], rows[k], -sign
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                spend(
                    TERM * (len(rows[i][j]) * len(rows[k][k]) + len(rows[i][k]) * len(rows[k][j]))
                )
                value = rows[i][j] * rows[k][k] - rows[i][k] * rows[k][j]
                if len(value) > large:
                    raise TooLarge
                rows[i][j] = value / last if last != one else value
        last = rows[k][k]
    return rows[-1][-1] * sign


def proved(dynamics: Dynamics, ring: Ring, law: sp.Expr, forms: Forms | None = None) -> bool | None:
    """Whether D law = 0 by its normal form; None if that takes too long or shows nothing.

    `forms` of the model may be given where there are several laws.
    """
    forms = forms or Forms(dynamics, ring)
    try:
        found = forms.vanishes(rate(dynamics, forms, law).top)
    except TooLarge:
        return None
    return found or (False if _plain(dynamics) else None)


def _plain(d: Dynamics) -> bool:
    """Whether the triangular set is made of the relations themselves."""
    rungs = {e for e, _ in (*d.ladder, *d.steps)}
    return rungs == {*d.constraints, *d.levels}


def rate(d: Dynamics, forms: Forms, law: sp.Expr) -> Quotient:
    """D law as a quotient of polynomials, not yet reduced by the relations."""
    rest = forms(law.diff(t))
    for x, e in d.explicit.items():
        slope = law.diff(x)
        if slope != 0:
            rest = rest + forms(slope) * forms(e)
    return _bordered(d, forms, law, rest) if d.rates_of else rest


def _bordered(d: Dynamics, forms: Forms, law: sp.Expr, rest: Quotient) -> Quotient:
    n, c = len(d.rates_of), len(d.constraints)
    zero = forms._plain(forms.one - forms.one)
    slopes = [forms(law.diff(w)) for w in d.rates_of]
    if all(x.top == 0 for x in slopes):
        return rest
    rows = [
        [forms(e) for e in d.mass[i]]
        + [forms(d.jacobian[k][i]) for k in range(c)]
        + [forms(d.right[i])]
        for i in range(n)
    ]
    rows += [[forms(e) for e in d.slopes[k]] + [zero] * c + [forms(d.bends[k])] for k in range(c)]
    rows.append([*slopes, *[zero] * c, zero])
    cleared, factor = [], forms.one
    for i, row in enumerate(rows):
        below = forms.one
        for x in row:
            below = below / below.gcd(x.bottom) * x.bottom
        cleared.append([x.top * (below / x.bottom) for x in row])
        if i == len(rows) - 1:
            factor = below
    whole = _determinant([row[:-1] for row in cleared[:-1]], forms.one)
    border = _determinant(cleared, forms.one)
    # The rows of A and b were cleared alike in both determinants, the last one only in the border.
    top = rest.top * whole * factor - border * rest.bottom
    return Quotient(top, rest.bottom * whole * factor)


__all__ = ["Forms", "Quotient", "TooLarge", "proved", "rate"]
