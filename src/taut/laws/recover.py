"""From residues to coefficients: rational numbers, or rational functions of the parameters.

A law is known by its monomials.  On these alone the null space is computed again, modulo as many
primes as the numbers need; with parameters at many values of them, to which every coefficient is
fitted as a quotient of polynomials, of rising degree.  Both are linear algebra modulo p.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement

import numpy as np
import sympy as sp

from taut.laws.budget import spend
from taut.laws.dynamics import Dynamics, Moving
from taut.laws.field import WORD, Field, combined, rational
from taut.laws.ring import Ring

MORE = 3  # points beyond those that are needed
PRIMES = 24  # of 31 bits each: floats such as 1e-30 have 150 bits, and laws hold products of them
HIGHEST = 6  # degree of a coefficient in the parameters
MANY = 400  # terms of numerator and denominator


def coefficients(
    dynamics: Dynamics, ring: Ring, functions: list[sp.Expr], lam: sp.Expr | int = 0
) -> list[sp.Expr] | None:
    """Exact c with Σ c·D(function) = λ Σ c·function, the last of them 1; None if none was found."""

    def rows(drawn: Moving) -> np.ndarray:
        rates = np.array([drawn.rate(e) for e in functions])
        if lam == 0:
            return rates
        f, factor = drawn.point.field, drawn(sp.sympify(lam))
        shares = np.array([drawn(e) for e in functions])
        return f.sub(rates, f.mul(factor[None], shares))

    return solved(dynamics, ring, rows, len(functions))


def solved(
    dynamics: Dynamics, ring: Ring, rows: Callable[[Moving], np.ndarray], count: int
) -> list[sp.Expr] | None:
    """Exact c with Σ c·row = 0 for `count` rows of values at points, the last of them 1."""
    if dynamics.parameters:
        return _fitted(dynamics, ring, rows, count)
    columns, moduli, last = [], [], None
    for field in dynamics.fields(ring, PRIMES):
        found = _null_vectors(dynamics, ring, rows, count, field, 1)
        if found is None:
            return None
        columns.append(found[0].tolist())
        moduli.append(field.p)
        numbers = [_number(residues, moduli) for residues in zip(*columns, strict=True)]
        if all(x is not None for x in numbers) and (numbers == last or _small(numbers)):
            return numbers
        last = numbers
    return None


def plain(residues: list[int], p: int) -> list[sp.Expr] | None:
    """The residues as small fractions, if all of them are."""
    numbers = [_number([x], [p]) for x in residues]
    return numbers if all(x is not None for x in numbers) and _small(numbers) else None


def _small(numbers) -> bool:
    return all(abs(x.p) < 1000 and x.q < 1000 for x in numbers)


def _number(residues, moduli) -> sp.Rational | None:
    found = rational(*combined([int(x) for x in residues], moduli))
    return None if found is None else sp.Rational(*found)


def _null_vectors(
    dynamics: Dynamics, ring: Ring, of, k: int, field: Field, groups: int, values=None
) -> np.ndarray | None:
    """The null vector of k rows for each of `groups` values of the parameters."""
    need = k + MORE
    each = 4 * need * 2 ** (len(ring.roots) + len(dynamics.constraints) + len(dynamics.levels))
    given = {} if values is None else {s: np.repeat(v, each) for s, v in values.items()}
    drawn = dynamics._drawn(ring, field, groups * each, given, True)
    spend(8 * groups * each * k + groups * k**3)
    rates = of(drawn)
    good = drawn.point.good.reshape(groups, each)
    chosen = np.argsort(~good, axis=1, kind="stable")[:, :need]
    if not np.all(np.take_along_axis(good, chosen, axis=1)):
        return None
    rows = rates.reshape(k, groups, each).transpose(1, 2, 0)
    rows = np.take_along_axis(rows, chosen[:, :, None], axis=1)
    if k == 1:
        return np.ones((groups, 1), dtype=WORD) if not rows.any() else None
    minus = field.sub(WORD(0), rows[:, :, -1:])
    solution, fine = field.solve(rows[:, : k - 1, :-1], minus[:, : k - 1])
    if not fine.all():
        return None
    # The other points must agree.
    for extra in range(k - 1, need):
        total = np.zeros(groups, dtype=WORD)
        for i in range(k - 1):
            total = field.add(total, field.mul(rows[:, extra, i], solution[:, i, 0]))
        if np.any(total != minus[:, extra, 0]):
            return None
    return np.hstack([solution[:, :, 0], np.ones((groups, 1), dtype=WORD)])


def _fitted(dynamics: Dynamics, ring: Ring, rows, count: int) -> list[sp.Expr] | None:
    symbols = dynamics.parameters
    (field,) = dynamics.fields(ring, 1, block=1)
    known: dict[str, np.ndarray] = {}
    vectors: np.ndarray | None = None
    values: dict = {}
    found: list[sp.Expr | None] = [None] * count
    found[-1] = sp.Integer(1)
    for degree in range(HIGHEST + 1):
        terms = _terms(len(symbols), degree)
        if 2 * len(terms) > MANY:
            return None
        need = 2 * len(terms) + 8
        if vectors is None or len(vectors) < need:
            values = {s: field.random(need) for s in symbols}
            vectors = _null_vectors(dynamics, ring, rows, count, field, need, values)
            if vectors is None:
                return None
            known.clear()
        arrays = [values[s] for s in symbols]
        monomials = np.array([_product(field, arrays, e, len(vectors)) for e in terms]).T
        for i, done in enumerate(found):
            if done is None:
                spend(8 * len(terms) ** 2 * len(monomials))
                found[i] = _quotient(field, monomials, vectors[:, i], terms, symbols)
        if all(x is not None for x in found):
            return [sp.cancel(x) for x in found]
    return None


def _terms(count: int, degree: int) -> list[tuple[int, ...]]:
    return [
        tuple(chosen.count(i) for i in range(count))
        for d in range(degree + 1)
        for chosen in combinations_with_replacement(range(count), d)
    ]


def _product(field: Field, arrays, exponents, size: int) -> np.ndarray:
    total = np.ones(size, dtype=WORD)
    for x, e in zip(arrays, exponents, strict=True):
        for _ in range(e):
            total = field.mul(total, x)
    return total


def _quotient(field: Field, monomials, values, terms, symbols) -> sp.Expr | None:
    """The quotient of polynomials with these values, if there is one of this degree."""
    k = monomials.shape[1]
    matrix = np.hstack([monomials, field.sub(WORD(0), field.mul(monomials, values[:, None]))])
    null = field.null_space(matrix)
    if not len(null):
        return None
    vector = null[0]
    lead = next(int(x) for x in vector[k:] if x) if vector[k:].any() else None
    if lead is None:
        return None
    scaled = [int(x) * pow(lead, -1, field.p) % field.p for x in vector]
    numbers = [x for x in (rational(x, field.p) for x in scaled) if x is not None]
    if len(numbers) < 2 * k or any(max(abs(a), b) > 5000 for a, b in numbers):
        return None
    powers = [sp.Mul(*(s**e for s, e in zip(symbols, row, strict=True))) for row in terms]
    top, bottom = (
        sp.Add(*(sp.Rational(*x) * m for x, m in zip(part, powers, strict=True)))
        for part in (numbers[:k], numbers[k:])
    )
    return top / bottom


__all__ = ["coefficients", "solved"]
