"""Laws that decay, I e^{−λt} with D I = λ I: eigenvalues of D on polynomials, modulo p.

With the values M and the rates DM of the columns at as many points as there are columns, every law
of this kind is an eigenvector of M⁻¹ DM.  Of the eigenvalues those are kept for which the same
holds at more points: D in general leads out of the polynomials, and the others mean nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import sympy as sp
from flint import nmod_mat, nmod_poly

from taut.laws.dynamics import Dynamics, Moving
from taut.laws.field import WORD, Field, rational
from taut.laws.search import Ansatz, table

SMALL = 6  # whole numbers in λ, with parameters
LARGE = 1000  # and without them


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
    _, pivots = f.reduced(found.values)
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
    """λ: a number, or the parameters with small whole numbers, halves or thirds."""
    plain = rational(residue, field.p)
    if plain is not None and max(abs(plain[0]), plain[1]) < LARGE:
        return sp.Rational(*plain)
    symbols = dynamics.parameters
    numbers = [int(values[s][0]) for s in symbols] + [1]
    for denominator in (1, 2, 3):
        wanted = residue * denominator % field.p
        for size in range(1, SMALL + 1):
            for chosen in product(range(-size, size + 1), repeat=len(numbers)):
                if (
                    max(map(abs, chosen)) == size
                    and sum(c * x for c, x in zip(chosen, numbers, strict=True)) % field.p == wanted
                ):
                    parts = zip(chosen, [*symbols, sp.Integer(1)], strict=True)
                    return sp.Add(*(c * s for c, s in parts)) / denominator
    return None
