"""Coefficients of collocation methods, computed with 60 digits and rounded once.

With nodes c₁ … c_s and the Lagrange polynomials ℓⱼ on them,

    aᵢⱼ = ∫₀^{cᵢ} ℓⱼ dτ,      bⱼ = ∫₀¹ ℓⱼ dτ.

Gauss nodes are the zeros of the Legendre polynomial P_s on [0, 1]; Lobatto nodes are 0, 1 and the
zeros of P′_{s−1}; Radau nodes (IIA) are the zeros of P_s − P_{s−1}, of which 1 is the last.
"""

from __future__ import annotations

from functools import cache

import mpmath as mp
import numpy as np
import sympy as sp

DIGITS = 60


@cache
def gauss_nodes(s: int) -> tuple[mp.mpf, ...]:
    """Zeros of the Legendre polynomial of degree s on [0, 1]."""
    return _zeros(sp.legendre_poly(s, _x, polys=True))


@cache
def lobatto_nodes(s: int) -> tuple[mp.mpf, ...]:
    """0, 1 and the s − 2 points between them that make the quadrature exact to degree 2s − 3."""
    inner = _zeros(sp.legendre_poly(s - 1, _x, polys=True).diff(_x)) if s > 2 else ()
    return (mp.mpf(0), *inner, mp.mpf(1))


@cache
def radau_nodes(s: int) -> tuple[mp.mpf, ...]:
    """1 and the s − 1 points before it that make the quadrature exact to degree 2s − 2."""
    last = sp.legendre_poly(s, _x, polys=True) - sp.legendre_poly(s - 1, _x, polys=True)
    inner = _zeros(last.exquo(sp.Poly(_x - 1, _x))) if s > 1 else ()
    return (*inner, mp.mpf(1))


_x = sp.Symbol("x")


def _zeros(polynomial: sp.Poly) -> tuple[mp.mpf, ...]:
    with mp.workdps(DIGITS):
        found = [mp.mpf(str(root)) for root in polynomial.nroots(n=DIGITS, maxsteps=200)]
        return tuple(sorted((1 + root) / 2 for root in found))


def integrals(nodes, ends) -> list[list[mp.mpf]]:
    """∫₀^{end} ℓⱼ dτ for every end and every node."""
    with mp.workdps(DIGITS):
        wholes = [[mp.mpf(0), *(a / (i + 1) for i, a in enumerate(x))] for x in _lagrange(nodes)]
        return [[_horner(x, end) for x in wholes] for end in ends]


def values(nodes, points) -> list[list[mp.mpf]]:
    """ℓⱼ at every point, for every node."""
    with mp.workdps(DIGITS):
        return [[_horner(x, point) for x in _lagrange(nodes)] for point in points]


def _lagrange(nodes) -> list[list[mp.mpf]]:
    """Coefficients of the ℓⱼ, lowest first."""
    found = []
    for j, own in enumerate(nodes):
        powers = [mp.mpf(1)]
        for k, other in enumerate(nodes):
            if k != j:
                scale = 1 / (own - other)
                shifted = [mp.mpf(0), *powers]
                powers = [
                    scale * (shifted[i] - (other * powers[i] if i < len(powers) else 0))
                    for i in range(len(shifted))
                ]
        found.append(powers)
    return found


def _horner(powers: list[mp.mpf], x) -> mp.mpf:
    total = mp.mpf(0)
    for a in reversed(powers):
        total = total * x + a
    return total


def conjugate(matrix, weights, others) -> list[list[mp.mpf]]:
    """b̃ⱼ (1 − aⱼᵢ/bᵢ): what makes the pair symplectic."""
    with mp.workdps(DIGITS):
        return [
            [w * (1 - matrix[j][i] / b) for j, w in enumerate(others)]
            for i, b in enumerate(weights)
        ]


def rounded(values) -> np.ndarray:
    """As doubles; what is zero to the digits computed is zero."""
    array = np.array([[float(x) for x in row] for row in values])
    array[np.abs(array) < 1e-40] = 0.0
    return array


def symplectic_defect(a: np.ndarray, b: np.ndarray) -> float:
    """Largest |bᵢaᵢⱼ + bⱼaⱼᵢ − bᵢbⱼ|."""
    matrix = b[:, None] * a
    return float(np.abs(matrix + matrix.T - np.outer(b, b)).max())
