"""How a law is written down: whole coefficients, as few terms as can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import gcd, lcm

import sympy as sp

WIDE = 16  # functions in a law up to which simpler ones are looked for

Terms = Mapping[sp.Expr, sp.Expr]  # function → coefficient


def cancelled(e: sp.Expr) -> sp.Expr:
    """`sympy.cancel`, but it does not look for what terms have in common before: that is slow."""
    if not e.free_symbols:
        return sp.cancel(e)
    factor, top, below = sp.cancel(e.as_numer_denom())
    return factor * (top / below)


def cleared(terms: Terms) -> dict[sp.Expr, sp.Expr]:
    """The same law without denominators and common factors in its coefficients."""
    found = dict(zip(terms, whole(list(terms.values())), strict=True))
    parts = [y for x in found.values() for y in sp.Add.make_args(x)]
    if 2 * sum(y.could_extract_minus_sign() for y in parts) > len(parts):
        return {e: -x for e, x in found.items()}  # more plus than minus signs
    return found


def whole(numbers: list[sp.Expr]) -> list[sp.Expr]:
    """Numbers in the same ratios, without denominators and common factors."""
    plain = all(x.is_Rational for x in numbers)
    return _whole_numbers(numbers) if plain else _whole(numbers)  # type: ignore[arg-type]


def _whole_numbers(numbers: list[sp.Rational]) -> list[sp.Expr]:
    below = lcm(*(int(x.q) for x in numbers))
    whole = [int(x * below) for x in numbers]
    common = gcd(*whole) if len(whole) > 1 else whole[0]
    return [sp.Integer(x // common) for x in whole]


def _whole(numbers: list[sp.Expr]) -> list[sp.Expr]:
    below = sp.Integer(1)
    for x in numbers:
        below = sp.lcm(below, sp.denom(sp.together(x)))
    whole = [cancelled(x * below) for x in numbers]
    common = whole[0]
    for x in whole[1:]:
        common = sp.gcd(common, x)
    return [sp.expand(cancelled(x / common)) for x in whole]


def presented(terms: Terms) -> sp.Expr:
    """Σ coefficient·function without denominators and common factors."""
    law = sp.Add(*(x * e for e, x in cleared(terms).items()))
    parts = sp.Add.make_args(law)
    even = 2 * sum(x.could_extract_minus_sign() for x in parts) == len(parts)
    return -law if even and str(law).startswith("-") else law


def simplest(terms: Terms, known: Sequence[Terms]) -> dict[sp.Expr, sp.Expr]:
    """The law plus a multiple of a known one, if that has fewer terms.

    With parameters a null vector lacks a function that the law of the textbooks has, because
    another one was subtracted: Σ xᵢ²/Aᵢ comes out as Σ xᵢ² (1/Aᵢ − 1/A₃).  A summand that several
    coefficients share, in proportion to those of a known law, is therefore taken out of them all.
    """
    best = dict(terms)
    symbols = set().union(*(x.free_symbols for x in terms.values()))
    if not symbols or len(terms) > WIDE:
        return best
    own = cleared(terms)
    least = _size(own)
    if least[0] == len(terms):
        return best  # where every coefficient is one term there is nothing to take out
    for law in known:
        shared: Counter[sp.Expr] = Counter()
        for e in set(law) & set(own):
            shared.update(sp.Add.make_args(sp.expand(own[e] / law[e])))
        for factor, times in shared.items():
            if times > 1:
                new = {e: sp.expand(own.get(e, 0) - factor * law.get(e, 0)) for e in {**own, **law}}
                new = {e: x for e, x in new.items() if x != 0}
                if new and (size := _size(cleared(new))) < least:
                    best, least = new, size
    return best


def _size(whole: Terms) -> tuple[int, int]:
    """Terms of a law without denominators when multiplied out, and their length."""
    parts = [y for x in whole.values() for y in sp.Add.make_args(x)]
    return len(parts), sum(len(str(y)) for y in parts)
