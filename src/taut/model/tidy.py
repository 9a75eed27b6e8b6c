"""Equations that fit a screen: terms collected, sin² + cos² = 1, and inverses over one denominator.

An expression is written as a polynomial in some symbols (rates, accelerations, momenta), whose
coefficients are functions of the rest; each coefficient is expanded, its products of sines and
cosines are those of sums and differences where that is shorter, and common factors are taken out.
These are identities, and a form that is longer than what was given is not taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import sympy as sp
from sympy.simplify.fu import TR11, TR10i

MOST = 1000  # terms that an expression may have when it is expanded, to be worked on at all
LONG = (
    24  # terms of a coefficient whose sines and cosines are looked at: they are compared in pairs
)


def tidy(expr: sp.Expr, symbols: Sequence[sp.Symbol]) -> sp.Expr:
    """The same expression, collected by powers of some symbols where it is a polynomial of them."""
    if terms(expr) > MOST:
        return expr
    used = {x for x in symbols if x in expr.free_symbols}
    parts: dict[sp.Expr, list[sp.Expr]] = {}
    for term in sp.Add.make_args(sp.expand(expr)):
        own, power = term.as_independent(*used, as_Add=False)
        parts.setdefault(power, []).append(own)
    collected = (coefficient(sp.Add(*plain)) * power for power, plain in parts.items())
    return min((sp.Add(*collected), expr), key=_size)


def coefficient(expr: sp.Expr) -> sp.Expr:
    """A function of angles and parameters in a short form."""
    if terms(expr) > MOST:
        return expr
    found = [expr, sp.expand(expr)]
    if expr.has(sp.sin, sp.cos) and len(sp.Add.make_args(found[1])) <= LONG:
        turned = TR10i(found[1])
        found += [turned, TR11(turned), _pythagoras(found[1])]
    found += [sp.factor_terms(x) for x in found]
    return min(found, key=_size)


def shorter(expr: sp.Expr) -> sp.Expr:
    """With common factors taken out, where that is shorter."""
    return expr if terms(expr) > MOST else min((expr, sp.factor_terms(expr)), key=_size)


def _pythagoras(expr: sp.Expr) -> sp.Expr:
    """With 1 − sin² for cos², or the other way round, whichever is shorter."""
    angles = sorted({x.args[0] for x in expr.atoms(sp.sin, sp.cos)}, key=str)
    for angle in angles:
        sine, cosine = sp.sin(angle), sp.cos(angle)
        s, c = sp.Dummy(real=True), sp.Dummy(real=True)
        plain = expr.xreplace({sine: s, cosine: c})
        try:
            forms = [sp.rem(plain, c**2 + s**2 - 1, x) for x in (c, s)]
        except sp.PolynomialError:
            continue
        back = [sp.expand(x).xreplace({s: sine, c: cosine}) for x in forms]
        expr = min((expr, *back), key=_size)
    return expr


def inverse(matrix: sp.Matrix) -> tuple[sp.Matrix, sp.Expr]:
    """Adjugate and determinant, both tidy."""
    n = matrix.rows
    minors = sp.Matrix(
        n, n, lambda i, j: (-1) ** (i + j) * _determinant(matrix.minor_submatrix(j, i))
    )
    return minors, _determinant(matrix)


def _determinant(matrix: sp.Matrix) -> sp.Expr:
    """Along the first row."""
    if not matrix.rows:
        return sp.Integer(1)
    row = matrix.row(0)
    summands = (
        (-1) ** j * row[j] * _determinant(matrix.minor_submatrix(0, j))
        for j in range(matrix.cols)
        if row[j] != 0
    )
    return coefficient(sp.Add(*summands))


def blocks(matrix: sp.Matrix) -> list[list[int]]:
    """Which rows belong together: the others have zeros between them."""
    return [sorted(x) for x in matrix.connected_components()]


def _size(expr: sp.Expr) -> int:
    return sum(1 for _ in sp.preorder_traversal(expr))


def terms(expr: sp.Expr) -> int:
    """How many terms a sum has at most when its products are multiplied out."""
    if expr.is_Add:
        return sum(map(terms, expr.args))
    if expr.is_Mul:
        return prod(map(terms, expr.args))
    if expr.is_Pow and expr.exp.is_Integer and expr.exp > 0:
        return terms(expr.base) ** int(expr.exp)
    return 1
