"""Constraints on velocities: what can be done about one that a user has written.

    ω = a(q, t)·dq + b(q, t) dt = 0        (a·q̇ + b = 0)

follows from a constraint g(q, t) if ∂aᵢ/∂xⱼ = ∂aⱼ/∂xᵢ for all pairs of x = (q, t); then g is the
integral of ω along any path.  It follows from one as well if that holds for μω with a factor μ, and
there is such a factor where

    ω ∧ dω = 0        (Frobenius),

in two variables therefore always.  If there is none (a blade, a wheel that steers), the force
−c ∂f/∂q̇ f, with f what is to vanish, has the motion of the constraint as the limit of large c;
so it has of an f that is not linear in the velocities (by Chetaev's rule), where its slopes do not
vanish with it.

Sources: Brendelev 1981, J. Appl. Math. Mech. 45, 351 (viscous friction as the limit);
Flanders 1963, Differential Forms, chapter VII (Frobenius).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from random import Random
from typing import Any, TypeVar

import sympy as sp

from taut.model.symbols import t

Found = TypeVar("Found")

LONG = 200  # operations of what is looked into
MANY = 5  # variables of a form that factors are looked for
TRIED = 2  # factors that are integrated with: an integral may take a second
POINTS = 4  # places at which a function is looked at that may vanish everywhere
DIGITS = 30  # of the values there
NOTHING = sp.Float("1e-12")  # of the summands: what rounding leaves there
WRITTEN = 14  # digits of a user's float that are no rounding


def remedy(expr: sp.Expr, *symbols: Sequence[sp.Symbol]) -> str:
    """What to write instead of expr = 0, which depends on rates.

    Parameters
    ----------
    *symbols : sequence of Symbol
        Coordinates, velocities and momenta.
    """
    q, v, p = symbols
    pairs = [(a, b) for a, b in zip(p, v, strict=True) if a in expr.free_symbols]
    if pairs:
        written = ", ".join(f"{a} as ∂L/∂{b}" for a, b in pairs)
        return f"write {written}; of one on velocities it is told what can be done"
    if sp.count_ops(expr) > LONG:
        return (
            "with f for it and v for the velocities, forces=[-c*f*f.diff(x) for x in v] resist it: "
            "it holds the better, the larger c"
        )
    slopes = [expr.diff(x) for x in v]
    if any(a.free_symbols & set(v) for a in slopes):
        return _not_linear(expr, v, _damping(*symbols))
    left = expr.xreplace(dict.fromkeys(v, sp.Integer(0)))
    resisted = _resisted(expr, slopes, _damping(*symbols))
    return _linear(*_form([*slopes, left], [*q, t]), resisted)


def _linear(form: Sequence[sp.Expr], x: Sequence[sp.Symbol], resisted: str) -> str:
    """Of one that is linear in the velocities: a form in the variables x."""
    found = _if_any(_integral, form, x)
    if found is not None:
        return f"constraints=[{found} - value], whose rate it is, with the value at the start"
    integrable = len(x) == 2 or _if_any(_integrable, form, x)
    if integrable is None:
        return f"if it is the rate of a g(q, t), constraints=[g - value]; {resisted}"
    if not integrable:
        return (
            "it is no rate of a g(q, t), nor is it times any factor (ω ∧ dω is not 0); "
            f"{resisted}; of a taut.Mechanism m.rolling(…) is a wheel along a line"
        )
    factor, found = _if_any(_with_a_factor, form, x) or (None, None)
    if found is not None:
        return (
            f"constraints=[{found} - value], whose rate it is times {factor}, with the value at "
            "the start, where that factor has one"
        )
    why = "as any in two variables" if len(x) == 2 else "for ω ∧ dω = 0"
    return (
        f"times a factor it is the rate of a g(q, t), {why}, but none was found: it holds places, "
        f"and belongs into constraints=[g - value] if you know a g with slopes along "
        f"({', '.join(map(str, form))}) by ({', '.join(map(str, x))}); {resisted}"
    )


def _if_any(look: Callable[..., Found], *given: Any) -> Found | None:
    """What is found, None where SymPy gives up, which it does in many ways."""
    try:
        return look(*given)
    except Exception:
        return None


def _not_linear(expr: sp.Expr, v: Sequence[sp.Symbol], c: sp.Symbol) -> str:
    """Of one that is not linear in the velocities."""
    root = _if_any(_root, expr, v)
    if root is not None:
        return f"write {root}, which vanishes where it does, and has slopes there"
    resisted = _resisted(expr, [expr.diff(x) for x in v], c)
    return (
        "it is not linear in the velocities, and so no rate of a g(q, t); "
        f"{resisted}, if its slopes do not vanish where it does"
    )


def _root(expr: sp.Expr, v: Sequence[sp.Symbol]) -> sp.Expr | None:
    """The same without the powers of factors, such as f of f²."""
    whole = sp.Poly(expr, *(x for x in v if expr.has(x)))
    part = whole.sqf_part()
    return part.as_expr() if part.total_degree() < whole.total_degree() else None


def _resisted(expr: sp.Expr, slopes: Sequence[sp.Expr], c: sp.Symbol) -> str:
    """The forces −c ∂f/∂v f."""
    listed = ", ".join(str(-c * a * expr) for a in slopes)
    return (
        f"resisted by forces=[{listed}] it holds the better, the larger {c} "
        "(a number, or one of parameters=)"
    )


def _damping(*symbols: Sequence[sp.Symbol]) -> sp.Symbol:
    """The letter c, or one that no coordinate has."""
    taken = {x.name for group in symbols for x in group}
    names = ("c", *(f"c{k}" for k in range(len(taken) + 1)))
    return sp.Symbol(next(x for x in names if x not in taken))


# ---- forms ---------------------------------------------------------------------------------------


def _form(a: Sequence[sp.Expr], x: Sequence[sp.Symbol]) -> tuple[list[sp.Expr], list[sp.Symbol]]:
    """The form in the variables that it depends on, with floats as the fractions they mean."""
    a = [
        y.xreplace({f: sp.Rational(str(sp.Float(f, WRITTEN))) for f in y.atoms(sp.Float)})
        for y in a
    ]
    met = set().union(*(y.free_symbols for y in a))
    kept = [(y, s) for y, s in zip(a, x, strict=True) if y != 0 or s in met]
    return [y for y, _ in kept], [s for _, s in kept]


def _integral(a: Sequence[sp.Expr], x: Sequence[sp.Symbol]) -> sp.Expr | None:
    """G with ∂g/∂xᵢ = aᵢ, if there is one that SymPy finds."""
    if not _closed(a, x):
        return None
    g = sp.Integer(0)
    for y, s in reversed(list(zip(a, x, strict=True))):
        rest = y - g.diff(s)
        if not _vanishes(rest):
            g += _antiderivative(sp.simplify(rest), s)
    right = all(_vanishes(g.diff(s) - y) for y, s in zip(a, x, strict=True))
    return g if right and not g.has(sp.Integral, sp.Piecewise) else None


def _antiderivative(y: sp.Expr, s: sp.Symbol) -> sp.Expr:
    """∫ y ds by rules, which end soon, for signs of symbols that are checked afterwards."""
    signs = {x: sp.Dummy(x.name, positive=True) for x in y.free_symbols if isinstance(x, sp.Symbol)}
    found = (
        sp.integrate(sp.expand(y).xreplace(signs), signs[s], manual=True) if s in signs else y * s
    )
    found = found.xreplace({x: s for s, x in signs.items()})
    return found.replace(
        sp.atan, lambda u: sp.atan2(*u.as_numer_denom()) if _ratio(u) else sp.atan(u)
    )


def _ratio(u: sp.Expr) -> bool:
    return bool(u.as_numer_denom()[1].free_symbols)


def _closed(a: Sequence[sp.Expr], x: Sequence[sp.Symbol]) -> bool:
    """Whether ∂aᵢ/∂xⱼ = ∂aⱼ/∂xᵢ for all pairs."""
    pairs = combinations(range(len(x)), 2)
    return all(_vanishes(_curl(a, x, i, j)) for i, j in pairs)


def _curl(a: Sequence[sp.Expr], x: Sequence[sp.Symbol], i: int, j: int) -> sp.Expr:
    return a[j].diff(x[i]) - a[i].diff(x[j])


def _integrable(a: Sequence[sp.Expr], x: Sequence[sp.Symbol]) -> bool:
    """Whether ω ∧ dω = 0: whether there is a factor."""
    return all(
        _vanishes(a[i] * _curl(a, x, j, k) + a[j] * _curl(a, x, k, i) + a[k] * _curl(a, x, i, j))
        for i, j, k in combinations(range(len(x)), 3)
    )


def _with_a_factor(
    a: Sequence[sp.Expr], x: Sequence[sp.Symbol]
) -> tuple[sp.Expr, sp.Expr] | tuple[None, None]:
    """(μ, g) with ∂g/∂xᵢ = μaᵢ, if one of the usual factors does it."""
    if len(x) > MANY:
        return None, None
    shared, tried = sp.gcd_list([y for y in a if y != 0]), 0
    a = [sp.cancel(y / shared) for y in a]
    for factor in _factors(a, x):
        form = [sp.simplify(factor * y) for y in a]
        if tried < TRIED and _closed(form, x):
            found, tried = _integral(form, x), tried + 1
            if found is not None:
                return factor / shared, found
    return None, None


def _factors(a: Sequence[sp.Expr], x: Sequence[sp.Symbol]) -> Iterator[sp.Expr]:
    """Factors that often do it: of circles, of one variable, of separated and of similar forms.

    Of one variable s: μ′/μ = (∂aₛ/∂xⱼ − ∂aⱼ/∂s)/aⱼ.  Of forms that are homogeneous: 1/Σ xᵢaᵢ.
    """
    yield sp.Integer(1)
    for i, j in combinations(range(len(x)), 2):
        yield 1 / (x[i] ** 2 + x[j] ** 2)
    for i, s in reversed(
        list(enumerate(x))
    ):  # of the time, e^−t before 1/q, which may have no value
        j = next((k for k, y in enumerate(a) if k != i and y != 0), None)
        if j is not None:
            slope = sp.simplify(_curl(a, x, j, i) / a[j])
            if not slope.free_symbols & (set(x) - {s}):
                yield sp.exp(_antiderivative(slope, s))
    own = [y for y in a if y != 0]
    yield from (1 / y for y in own)
    yield from (1 / (y * z) for y, z in combinations(own, 2))
    similar = sp.simplify(sum(s * y for s, y in zip(x, a, strict=True)))
    if not _vanishes(similar):
        yield 1 / similar


def _vanishes(f: sp.Expr) -> bool:
    """Whether it is zero everywhere: at a few places of either sign, or for SymPy."""
    f = sp.expand(f)
    if f == 0 or not f.free_symbols:
        return bool(f == 0)
    seen = [x for x in (_at(f, Random(k)) for k in range(POINTS)) if x is not None]
    return all(seen) if seen else bool(sp.simplify(f) == 0)


def _at(f: sp.Expr, chance: Random) -> bool | None:
    """Whether it is zero but for rounding at some place, None where it has no value."""
    symbols = sorted(f.free_symbols, key=str)
    place = {
        s: sp.Rational(chance.choice((-1, 1)) * chance.randrange(300, 2000), 997) for s in symbols
    }
    values = [sp.N(y.xreplace(place), DIGITS) for y in sp.Add.make_args(f)]
    if not all(y.is_number and y.is_finite for y in values):
        return None
    size = sp.Add(*(abs(y) for y in values))
    return bool(abs(sp.Add(*values)) <= NOTHING * size)
