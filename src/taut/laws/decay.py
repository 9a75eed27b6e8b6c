"""Laws that decay, I e^{−λt} with D I = λ I: eigenvalues of D on polynomials, modulo p.

With the values M and the rates DM of the columns at as many points as there are columns, every law
of this kind is an eigenvector of M⁻¹ DM.  Of the eigenvalues those are kept for which the same
holds at more points: D in general leads out of the polynomials, and the others mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, product

import numpy as np
import sympy as sp
from flint import nmod_mat, nmod_poly

from taut.laws.dynamics import Dynamics, Moving
from taut.laws.field import WORD, Field, rational
from taut.laws.search import Ansatz, table

SMALL = 6  # whole numbers in λ, with parameters
LARGE = 1000  # and without them
MANY = 100_000  # combinations that are tried
FEW = 12  # numbers of a model that λ may be measured by


@dataclass
class Decaying:
    """A law that decays, modulo p: D I = λ I for I with these functions."""

    rate: int
    functions: list[sp.Expr]
    degree: int


def decaying(ansatz: Ansatz, points: Moving) -> list[Decaying]:
    """All of them in an ansatz, by degree, without λ = 0."""
    f = points.point.field
    found = table(ansatz, points)
    pivots = f.pivots(found.values)
    values, rates = found.values[:, pivots], found.rates[:, pivots]
    k = len(pivots)
    square, regular = f.solve(values[None, :k], rates[None, :k])
    if not regular[0]:
        return []
    matrix = nmod_mat(k, k, square[0].ravel().tolist(), f.p)
    roots = nmod_poly(list(matrix.charpoly()), f.p).roots()
    degrees = ansatz.exponents.sum(axis=1)[pivots]
    made = []
    for residue in sorted(int(root) for root, _ in roots):
        if residue:
            for row in f.null_space(f.sub(rates, f.mul(values, WORD(residue)))):
                used = np.flatnonzero(row)
                functions = [found.functions[pivots[i]] for i in used]
                made.append(Decaying(residue, functions, int(degrees[used].max())))
    return sorted(made, key=lambda x: x.degree)


def rate_of(residue: int, dynamics: Dynamics, values: dict, field: Field) -> sp.Expr | None:
    """λ: a number, parameters with small whole numbers, halves or thirds, or a product of two."""
    plain = rational(residue, field.p)
    if plain is not None and max(abs(plain[0]), plain[1]) < LARGE:
        return sp.Rational(*plain)
    for unit in _units(dynamics):
        share = rational(residue * pow(field.number(unit), -1, field.p) % field.p, field.p)
        if share is not None and max(abs(share[0]), share[1]) < LARGE:
            return sp.Rational(*share) * unit
    symbols = dynamics.parameters
    atoms: dict[sp.Expr, int] = {s: int(values[s][0]) for s in symbols} | {sp.Integer(1): 1}
    for denominator in (1, 2, 3):
        wanted = residue * denominator % field.p
        for chosen in _small(len(atoms)):
            if sum(c * x for c, x in zip(chosen, atoms.values(), strict=True)) % field.p == wanted:
                return sp.Add(*(c * s for c, s in zip(chosen, atoms, strict=True))) / denominator
    for (a, x), (b, y) in combinations_with_replacement(list(atoms.items())[:-1], 2):
        factor = rational(residue * pow(x * y, -1, field.p) % field.p, field.p)
        if factor is not None and max(abs(factor[0]), factor[1]) <= SMALL:
            return sp.Rational(*factor) * a * b
    return None


def _units(dynamics: Dynamics) -> list[sp.Rational]:
    """Numbers of the model and ratios of two: in other units λ is a small fraction of one."""
    every = set().union(*(e.atoms(sp.Rational) for e in dynamics.expressions))
    long = sorted((abs(x) for x in every if max(abs(x.p), x.q) >= LARGE), key=str)[:FEW]
    return list(dict.fromkeys([*long, *(a / b for a in long for b in long if a != b)]))


def _small(count: int) -> Iterator[tuple[int, ...]]:
    """Rows of small whole numbers, the smallest first; of long rows not many."""
    tried = 0
    for size in range(1, SMALL + 1):
        tried += (2 * size + 1) ** count
        if tried > MANY:
            break
        rows = product(range(-size, size + 1), repeat=count)
        yield from (row for row in rows if max(map(abs, row)) == size)
    if tried > MANY:
        for k in range(count):
            for c in range(-SMALL, SMALL + 1):
                yield tuple(c * (i == k) for i in range(count))
