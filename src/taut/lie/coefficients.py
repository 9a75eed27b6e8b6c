"""Functions of the angle that exp and the tangents are made of, accurate down to zero.

In so(3) and se(2), X = ad ξ satisfies X³ = −u X with u = θ², the angle squared, so that every power
series is a polynomial of degree two, f(X) = f₀(u) + f₁(u) X + f₂(u) X².  With

    a = (1 − cos θ)/θ²,   b = (θ − sin θ)/θ³,   c = (1 − (θ/2) cot(θ/2))/θ²,   s = 1/(1 + θ²/4)

the tangents (trivialised on the left) and their inverses are

    (1 − e^{−X})/X = 1 − a X + b X²           X/(1 − e^{−X}) = 1 + X/2 + c X²
    Cayley's:        s − (s/2) X              its inverse:     1/s + X/2 + X²/4

For se(3), which is so(3) over the dual numbers, the slopes df/du are needed too.  Closed forms
divide small differences by powers of θ; up to θ = 2 the power series in u are summed instead, with
coefficients that are exact before they are rounded.

Sources: Iserles, Munthe-Kaas, Nørsett & Zanna, *Lie-group methods*, Acta Numerica 9 (2000),
appendix B; Müller, Proc. R. Soc. A 477 (2021) 20210303.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import comb, factorial
from typing import Any

import numpy as np

from taut.errors import InputError

NEAR = 4.0  # series for u = θ² below this; that of c converges for u < 4π²
SMALL = 1e-18  # of the sum: what is left out of a series
TERMS = 24

Function = Callable[[Any], Any]  # of u, elementwise
Three = Callable[[Any], tuple[Any, Any, Any]]


@dataclass(frozen=True)
class Coefficients:
    """Of a function of X: u ↦ (f₀, f₁, f₂) and u ↦ their slopes df/du."""

    values: Three
    slopes: Three


def _mixed(series: list[Fraction], closed: Function, slope: Function) -> tuple[Function, Function]:
    """A function of u, and its slope: by series near zero, else by closed forms in θ."""
    derived = [n * c for n, c in enumerate(series)][1:]
    return _one(series, closed), _one(derived, slope)


def _one(series: list[Fraction], closed: Function) -> Function:
    kept = [
        float(c) for n, c in enumerate(series) if abs(c * int(NEAR) ** n) > SMALL * abs(series[0])
    ]

    def function(u: Any) -> np.ndarray:
        u = np.asarray(u, dtype=float)
        small = u < NEAR
        near = np.where(small, u, 0.0)
        total = np.full_like(near, kept[-1])
        for c in kept[-2::-1]:
            total = total * near + c
        return np.where(small, total, closed(np.sqrt(np.where(small, NEAR, u))))

    return function


def _alternating(first: int) -> list[Fraction]:
    """The series 1/first! − u/(first + 2)! + …."""
    return [Fraction((-1) ** n, factorial(2 * n + first)) for n in range(TERMS)]


def _cotangents() -> list[Fraction]:
    """The series |B₂|/2! + u |B₄|/4! + …, with Bernoulli's numbers."""
    bernoulli = [Fraction(1)]
    for m in range(1, 2 * TERMS + 1):
        total = sum((comb(m + 1, k) * bernoulli[k] for k in range(m)), Fraction(0))
        bernoulli.append(-total / (m + 1))
    return [abs(bernoulli[n]) / factorial(n) for n in range(2, 2 * TERMS + 1, 2)]


# sin θ/θ; then a, b, c of the head of this file.
sine, _ = _mixed(
    _alternating(1),
    lambda x: np.sin(x) / x,
    lambda x: (x * np.cos(x) - np.sin(x)) / (2 * x**3),
)
versine, versine_slope = _mixed(
    _alternating(2),
    lambda x: 2 * np.square(np.sin(x / 2) / x),
    lambda x: (x * np.sin(x) + 2 * np.cos(x) - 2) / (2 * x**4),
)
sine_rest, sine_rest_slope = _mixed(
    _alternating(3),
    lambda x: (x - np.sin(x)) / x**3,
    lambda x: (3 * np.sin(x) - 2 * x - x * np.cos(x)) / (2 * x**5),
)
cotangent_rest, cotangent_rest_slope = _mixed(
    _cotangents(),
    lambda x: (1 - x / (2 * np.tan(x / 2))) / x**2,
    lambda x: (np.square(x / np.sin(x / 2)) / 8 + x / (4 * np.tan(x / 2)) - 1) / x**4,
)


def _regular(u: Any) -> Any:
    """`u`, if it is not the square of 2π, 4π, …, where c is infinite."""
    far = np.asarray(np.sqrt(np.maximum(u, NEAR)))
    singular = np.abs(np.sin(far / 2)) < 4 * np.finfo(float).eps * far
    if singular.any():
        raise InputError(
            "the tangent of exp has no inverse here",
            expected="angles that are no multiples of 2π, except 0",
            received=f"θ = {far[singular].flat[0]:.16g}",
            remedy="take an element of the algebra with a smaller angle, as `log` returns it",
        )
    return u


TANGENT = Coefficients(
    lambda u: (1.0, -versine(u), sine_rest(u)),
    lambda u: (0.0, -versine_slope(u), sine_rest_slope(u)),
)
INVERSE_TANGENT = Coefficients(
    lambda u: (1.0, 0.5, cotangent_rest(_regular(u))),
    lambda u: (0.0, 0.0, cotangent_rest_slope(u)),
)
CAYLEY_TANGENT = Coefficients(
    lambda u: (1 / (1 + u / 4), -1 / (2 + u / 2), 0.0),
    lambda u: (-1 / np.square(2 + u / 2), 0.5 / np.square(2 + u / 2), 0.0),
)
INVERSE_CAYLEY_TANGENT = Coefficients(
    lambda u: (1 + u / 4, 0.5, 0.25),
    lambda u: (0.25, 0.0, 0.0),
)
