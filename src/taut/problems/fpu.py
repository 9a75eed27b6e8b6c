"""The Fermi–Pasta–Ulam chain with alternating stiff and soft springs.

Six unit masses in a row between two walls; stiff harmonic springs within three pairs of masses,
soft quartic ones between the pairs and to the walls.  With the scaled mean xᵢ and extension x₃₊ᵢ
of the i-th pair, x = (q₂ᵢ ± q₂ᵢ₋₁)/√2,

    L = ½ Σ ẋᵢ² − ω²/2 (x₄² + x₅² + x₆²)
        − ¼ [(x₁ − x₄)⁴ + (x₂ − x₅ − x₁ − x₄)⁴ + (x₃ − x₆ − x₂ − x₅)⁴ + (x₃ + x₆)⁴],     ω = 50,

from x₁ = ẋ₁ = ẋ₄ = 1 and x₄ = 1/ω, the others zero.  The stiff springs exchange their energies
Iⱼ = ½ (ẋ₃₊ⱼ² + ω² x₃₊ⱼ²) over times of the order of ω, but I = I₁ + I₂ + I₃ is an adiabatic
invariant: it stays within O(1/ω) of its value over times that are exponential in ω.

Source: Hairer, Lubich & Wanner 2006, I.5.1 and XIII.
"""

from __future__ import annotations

from itertools import pairwise

import sympy as sp

from taut.model import Drawing, System, coordinates, velocities
from taut.problems.base import Fact, Problem

OMEGA = 50.0
APART = 3
COMPUTED = "equations of the six masses, extrapolation with 40 digits, two step sizes"


def fpu() -> Problem:
    """Three stiff springs, one of them excited."""
    x1, x2, x3, x4, x5, x6 = x = coordinates("x1 x2 x3 x4 x5 x6")
    (w,) = coordinates("omega,")
    stiff = w**2 / 2 * (x4**2 + x5**2 + x6**2)
    middle = (x2 - x5 - x1 - x4) ** 4 + (x3 - x6 - x2 - x5) ** 4
    system = System(
        x,
        mass=[1] * 6,
        potential=stiff + ((x1 - x4) ** 4 + middle + (x3 + x6) ** 4) / 4,
        parameters={"omega": OMEGA},
        drawing=_row(x),
    )
    oscillatory = sum(v**2 for v in velocities(x)[3:]) / 2 + stiff
    small = 1 / OMEGA
    return Problem(
        name="fpu",
        title="Fermi-Pasta-Ulam chain with stiff springs",
        system=system,
        q0=(1.0, 0.0, 0.0, small, 0.0, 0.0),
        v0=(1.0, 0.0, 0.0, 1.0, 0.0, 0.0),
        step=0.002,
        duration=200.0,
        source="Hairer, Lubich & Wanner 2006, I.5.1",
        facts=(
            Fact(
                "the energy is 3/2 + ((1 − 1/ω)⁴ + (1 + 1/ω)⁴)/4", "the start",
                energy=1.5 + ((1 - small) ** 4 + (1 + small) ** 4) / 4,
            ),
            Fact(
                "the oscillatory energy stays within O(1/ω) of 1",
                "Hairer, Lubich & Wanner 2006, XIII", quantity=oscillatory, value=1.0,
                accuracy=4 * small,
            ),
            Fact(
                "state at t = 2", COMPUTED, t=2.0,
                q=(-0.24926288167006406, 0.99404422134188487, 0.24819728835568072,
                   0.010111971609678926, 0.0021179559283966322, -0.00017449708273996927),
                v=(-0.49194737770883490, -0.35541686070546442, 0.52913688848921647,
                   1.3334651550409509, -0.0090206638286950213, -0.00062182637632801833),
                accuracy=1e-15,
            ),
        ),
    )  # fmt: skip


def _row(x) -> Drawing:
    """The six masses between their walls, at rest three lengths apart."""
    root = sp.sqrt(2)
    shifts = [(x[i] + sign * x[3 + i]) / root for i in range(3) for sign in (-1, 1)]
    masses = {f"{k}": (APART * k + shift, 0) for k, shift in enumerate(shifts, 1)}
    points = {"wall": (0, 0), **masses, "other wall": (APART * (len(masses) + 1), 0)}
    names = list(points)
    return Drawing(points, [(a, b, "spring") for a, b in pairwise(names)], trails=[])
