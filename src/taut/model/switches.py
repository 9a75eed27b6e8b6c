"""What jumps or bends at a time, or at a place, taken in the mean over a short span.

A force that is switched on at a time T and is sampled at the ends of steps acts for up to half a
step too long or too short.  So a span from a to b is cut where a condition that knows nothing but x
(the time, or the place along a beam) changes, where a sign, a step or `floor` jumps, and where |g|,
Max or Min bend:

    f(x)  →  Σ wⱼ f(xⱼ),      xⱼ = mⱼ + wⱼ (x − (a + b)/2),

wⱼ being the share of the span that piece j has, mⱼ its middle, at which all conditions are decided.
Where a step has several stages, their places x in the span become the same places in each piece:
what is integrated over the step is integrated over every piece with the same accuracy, and no
impulse is lost.  With a span that nothing cuts, and with a = b = x, this is f(x) itself.

A condition changes at the zero of some g(x), that of its secant between a and b; of polynomials it
is their own.  The first `CUTS` in a span count: what jumps more often than that is not resolved.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import sympy as sp
from sympy.core.relational import Relational
from sympy.functions.elementary.miscellaneous import MinMaxBase

Definitions = list[tuple[sp.Dummy, sp.Expr]]
Known = Callable[[sp.Symbol], bool]
CUTS = 4  # of a span, at most: two pulses
INWARD = 1 - sp.Float(2.0**-30)  # of a piece: roots of what vanishes at its ends stay real
SAME = 1e-12  # of what meets at a place: equal
JUMPS = (Relational, sp.sign, sp.Heaviside, sp.floor)


def switches(expression: sp.Expr, x: sp.Symbol, known: Known) -> list[sp.Basic]:
    """What jumps or bends in it with x, and depends otherwise on what is `known` only."""
    if not expression.has(x):
        return []
    found = _plain(expression, x, known).atoms(*JUMPS)
    return [e for e in found if _tells(e, x, known)]


def levels(jump: sp.Basic) -> list[sp.Expr]:
    """Functions at whose zeros it jumps: none of what holds at one place only."""
    if isinstance(jump, sp.Eq | sp.Ne):
        return []
    return _branches(jump.lhs - jump.rhs if isinstance(jump, Relational) else jump.args[0])


def _branches(level: sp.Expr) -> list[sp.Expr]:
    """What a function with cases may be: |x| < 1 changes where x − 1 and −x − 1 do."""
    cases = next(iter(sorted(level.atoms(sp.Piecewise), key=sp.default_sort_key)), None)
    if cases is None:
        return [level]
    parts = [_branches(level.xreplace({cases: branch})) for branch, _ in cases.args]
    return list(dict.fromkeys(g for part in parts for g in part))


def roots(level: sp.Expr, x: sp.Symbol) -> list[float] | None:
    """Real zeros of a polynomial in x with numbers in it; None for what is none."""
    if level.free_symbols != {x} or not level.is_polynomial(x):
        return None
    numbers = sp.nsimplify(level, rational=True).as_poly(x).all_coeffs()
    numbers = [c if c.is_Rational else sp.Rational(float(c)) for c in numbers]
    found = sp.real_roots(sp.Poly(numbers, x)) if len(numbers) > 1 else []
    return [float(r) for r in dict.fromkeys(found)]


def jumps(expression: sp.Expr, x: sp.Symbol, known: Known) -> bool:
    """Whether it jumps somewhere, and does not only bend; True where nobody can tell."""
    e = _plain(expression, x, known)
    edges = [a for a in e.atoms(*JUMPS) if _tells(a, x, known)]
    others = sorted(e.free_symbols - {x}, key=str)
    numbers = {s: sp.Rational(k + 7, 5) for k, s in enumerate(others)}
    for level in (g for edge in edges for g in levels(edge)):
        places = roots(level, x)
        if places is None:
            return True
        for place in places:
            beside = [place - 2**-20 * (1 + abs(place)), place + 2**-20 * (1 + abs(place))]
            sides = [
                e.xreplace({a: a.subs(x, side) for a in edges}).subs(x, place).subs(numbers)
                for side in beside
            ]
            one, two = (complex(side.evalf()) for side in sides)
            if not abs(one - two) <= SAME * max(abs(one), abs(two)):
                return True
    return False


def smeared(
    expression: sp.Expr, x: sp.Symbol, begin: sp.Symbol, end: sp.Symbol, known: Known
) -> tuple[sp.Expr, Definitions]:
    """The mean of what jumps or bends, over the span from `begin` to `end`.

    Parameters
    ----------
    known : function
        Whether a symbol other than x is a number that the span does not change.

    Returns
    -------
    (expression, definitions)
        Symbols of the expression that are defined one after the other, so that what is long is
        written down once.
    """
    if not switches(expression, x, known):
        return expression, []
    smear = _Smear(x, begin, end, known)
    terms = sp.Add.make_args(_plain(expression, x, known))
    return sp.Add(*map(smear.mean, terms)), smear.definitions


def _tells(e: sp.Basic, x: sp.Symbol, known: Known) -> bool:
    """Whether x and what is known say when it jumps."""
    if isinstance(e, sp.sign | sp.Heaviside | sp.Abs) and e.args[0].is_extended_real is False:
        return False
    return x in e.free_symbols and all(s == x or known(s) for s in e.free_symbols)


def _plain(expression: sp.Expr, x: sp.Symbol, known: Known) -> sp.Expr:
    """All stairs as those of `floor`, and all bends as those of a `Piecewise`."""
    forms = {
        sp.Abs: lambda e: sp.Piecewise((e.args[0], e.args[0] > 0), (-e.args[0], True)),
        MinMaxBase: lambda e: e.rewrite(sp.Piecewise),
        sp.Mod: lambda e: e.args[0] - e.args[1] * sp.floor(e.args[0] / e.args[1]),
        sp.frac: lambda e: e.args[0] - sp.floor(e.args[0]),
        sp.ceiling: lambda e: -sp.floor(-e.args[0]),
    }
    for kind, form in forms.items():
        if expression.has(kind):
            expression = expression.replace(
                lambda e, kind=kind: isinstance(e, kind) and _tells(e, x, known),
                form,
            )
    return expression


class _Smear:
    """Writes means down."""

    def __init__(self, x: sp.Symbol, begin: sp.Symbol, end: sp.Symbol, known: Known) -> None:
        self.x, self.begin, self.end, self.known = x, begin, end, known
        self.definitions: Definitions = []
        self._names: dict[sp.Expr, sp.Dummy] = {}
        self.width, self.middle = self._called(end - begin), self._called((begin + end) / 2)

    def _called(self, value: sp.Expr) -> sp.Expr:
        """A name for a value, unless it is a number."""
        if value.is_Number or value.is_Symbol:
            return value
        if value not in self._names:
            self._names[value] = sp.Dummy("mean", real=True)
            self.definitions.append((self._names[value], value))
        return self._names[value]

    def _at(self, e: sp.Basic, place: sp.Expr) -> sp.Basic:
        return e.xreplace({self.x: place})

    def mean(self, term: sp.Expr) -> sp.Expr:
        """The mean of a summand."""
        rest, e = term.as_independent(self.x, as_Add=False)
        edges = [a for a in e.atoms(*JUMPS) if _tells(a, self.x, self.known)]
        if not edges:
            return term
        edges.sort(key=sp.default_sort_key)  # what is written down is the same in every process
        found = list(dict.fromkeys(g for edge in edges for g in self._levels(edge)))
        found = [g for i, g in enumerate(found) if -g not in found[:i]]
        ends = [sp.S.Zero, *self._cuts([self._cut(g) for g in found]), sp.S.One]
        parts = []
        for low, high in itertools.pairwise(ends):
            share = self._called(high - low)
            middle = self._called(self.begin + (low + high) / 2 * self.width)
            inside = middle + INWARD * share * (self.x - self.middle)
            place = self._called(sp.Piecewise((self.x, share >= 1), (inside, True)))
            value = self._at(e.xreplace({a: self._decided(a, middle) for a in edges}), place)
            parts.append(sp.Piecewise((share * value, share > 0), (0, True)))
        return rest * self._called(sp.Add(*parts))

    def _decided(self, jump: sp.Basic, middle: sp.Expr) -> sp.Basic:
        """A jump on one of its sides; what holds at one place only holds in no span."""
        if isinstance(jump, sp.Eq | sp.Ne):
            point = sp.Eq(self.begin, self.end) & sp.Eq(*jump.args)
            return self._at(point if isinstance(jump, sp.Eq) else ~point, middle)
        return self._at(jump, middle)

    def _levels(self, edge: sp.Basic) -> Iterator[sp.Expr]:
        """Functions of x at whose zeros it jumps or bends."""
        if isinstance(edge, sp.floor):
            (inner,) = edge.args
            for e in self._frozen(inner):
                yield e - sp.Max(*(sp.floor(self._at(e, x)) for x in (self.begin, self.end)))
            return
        for level in levels(edge):
            for e in self._frozen(level):
                if e.has(self.x):
                    yield from self._factors(e)

    def _frozen(self, e: sp.Expr) -> list[sp.Expr]:
        """Without the stairs in it: as they are at the begin of the span, and at its end."""
        floors = [a for a in e.atoms(sp.floor) if a.has(self.x)]
        if not floors:
            return [e]
        return [e.xreplace({a: self._at(a, x) for a in floors}) for x in (self.begin, self.end)]

    def _factors(self, level: sp.Expr) -> list[sp.Expr]:
        """Linear ones of a polynomial, or the function itself."""
        found = roots(level, self.x)
        return [level] if found is None else [self.x - sp.Float(x) for x in found]

    def _cut(self, level: sp.Expr) -> sp.Expr:
        """The share of the span after which it changes its sign; one if it does not."""
        one, two = (self._called(self._at(level, x)) for x in (self.begin, self.end))
        return self._called(sp.Piecewise((one / (one - two), one * two < 0), (1, True)))

    def _cuts(self, found: list[sp.Expr]) -> list[sp.Expr]:
        """The first of them, one after the other."""
        ordered: list[sp.Expr] = []
        for _ in range(min(len(found), CUTS)):
            if ordered:
                later = [sp.Piecewise((x, x > ordered[-1]), (1, True)) for x in found]
            else:
                later = found
            ordered.append(self._called(sp.Min(*later)))
        return ordered
