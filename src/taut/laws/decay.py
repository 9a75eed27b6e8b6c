"""Laws that decay, I e^{−λt} with D I = λ I: eigenvalues of D on polynomials, modulo p.

With the values M and the rates DM of the columns at as many points as there are columns, every law
of this kind is an eigenvector of M⁻¹ DM.  Of the eigenvalues those are kept for which the same
holds at more points: D in general leads out of the polynomials, and the others mean nothing.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import sympy as sp
from flint import nmod_mat, nmod_poly

from taut.laws.dynamics import Dynamics, Moving
from taut.laws.field import WORD, Field
from taut.laws.search import Ansatz, table

SMALL = 6  # whole numbers in λ


def eigenspaces(
    ansatz: Ansatz, points: Moving
) -> tuple[list[sp.Expr], list[tuple[int, np.ndarray]]]:
    """(columns, [(λ, null vectors over them), …]) modulo p, without λ = 0."""
    f = points.point.field
    found = table(ansatz, points)
    _, pivots = f.reduced(found.values)
    values, rates = found.values[:, pivots], found.rates[:, pivots]
    k = len(pivots)
    columns = [found.functions[i] for i in pivots]
    square, regular = f.solve(values[None, :k], rates[None, :k])
    if not regular[0]:
        return columns, []
    matrix = nmod_mat(k, k, square[0].ravel().tolist(), f.p)
    roots = nmod_poly(list(matrix.charpoly()), f.p).roots()
    spaces = []
    for residue in sorted(int(root) for root, _ in roots):
        if residue:
            null = f.null_space(f.sub(rates, f.mul(values, WORD(residue))))
            if len(null):
                spaces.append((residue, null))
    return columns, spaces


def rate_of(residue: int, dynamics: Dynamics, values: dict, field: Field) -> sp.Expr | None:
    """λ as a combination of the parameters with small whole numbers, halves or thirds."""
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
