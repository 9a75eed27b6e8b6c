"""Car axis: an axle on two springs over a bumpy road, with a moving constraint.

The left wheel rolls on a flat road, the right one on y_b(t) = r sin ωt, x_b = √(L² − y_b²).  The
ends (x_l, y_l), (x_r, y_r) of the axle carry springs of rest length L₀ and stiffness 1 to the
wheels; the axle is rigid, and its left spring stays perpendicular to the line of the wheels:

    L = k/2 (ẋ_l² + ẏ_l² + ẋ_r² + ẏ_r²) − (ℓ_l − L₀)²/2 − (ℓ_r − L₀)²/2 − k g (y_l + y_r),
    ℓ_l² = x_l² + y_l²,      ℓ_r² = (x_r − x_b)² + (y_r − y_b)²,      k = M ε²/2 = 5e−4,
    0 = x_b x_l + y_b y_l,                                   (depends on time)
    0 = (x_l − x_r)² + (y_l − y_r)² − L².

Index 3 with a small mass: general DAE codes fail on this form or need to be told the index.

The test set writes k q̈ = f + Gᵀλ; here and everywhere in taut it is k q̈ = f − Gᵀλ, so the
multipliers below have the opposite sign of the published ones.

Source: Test Set for IVP Solvers, `caraxis`; 21-digit reference from the R package deTestSet.  The
16-digit values in the Fortran file are less accurate (velocity constraint off by 8.5e−12,
multipliers by 1.6e−10) and are not used.  The 21 digits meet the constraints to 1e−20; as a
solution they are good to 5e−12 (y_l′; the others to 5e−13), where taut's runs extrapolated to
step 0 and DOP853 on the index-1 equations agree with each other.
"""

from __future__ import annotations

import sympy as sp

from taut.model import Drawing, System, coordinates, t
from taut.problems.base import Fact, Problem

SOURCE = "Test Set for IVP Solvers, caraxis (deTestSet, 21 digits)"


def car_axis() -> Problem:
    """The car axis over 3 seconds."""
    xl, yl, xr, yr, L, L0, M, eps, r, w, g = coordinates("xl yl xr yr L L0 M eps r w g")
    k = M * eps**2 / 2
    yb = r * sp.sin(w * t)
    xb = sp.sqrt(L**2 - yb**2)
    left = sp.sqrt(xl**2 + yl**2)
    right = sp.sqrt((xr - xb) ** 2 + (yr - yb) ** 2)
    system = System(
        [xl, yl, xr, yr],
        mass=[k, k, k, k],
        potential=(left - L0) ** 2 / 2 + (right - L0) ** 2 / 2 + k * g * (yl + yr),
        constraints={
            "left spring": xb * xl + yb * yl,
            "axle": (xl - xr) ** 2 + (yl - yr) ** 2 - L**2,
        },
        parameters={"L": 1, "L0": 0.5, "M": 10, "eps": 0.01, "r": 0.1, "w": 10, "g": 1},
        drawing=Drawing(
            {"wheel": (0, 0), "other wheel": (xb, yb), "left": (xl, yl), "right": (xr, yr)},
            [("left", "right"), ("wheel", "left", "spring"), ("other wheel", "right", "spring")],
            trails=["left", "right"],
        ),
    )
    return Problem(
        name="car-axis",
        title="Car axis on a bumpy road",
        system=system,
        q0=(0.0, 0.5, 1.0, 0.5),
        v0=(-0.5, 0.0, -0.5, 0.0),
        step=1e-4,
        duration=3.0,
        source=SOURCE,
        facts=(
            Fact("the multipliers vanish at the start", SOURCE, t=0.0, multipliers=(0.0, 0.0)),
            Fact(
                "state and multipliers at t = 3", SOURCE, t=3.0,
                q=(
                    0.493455784275402809122e-1, 0.496989460230171153861,
                    0.104174252488542151681e1, 0.373911027265361256927,
                ),
                v=(
                    -0.770583684040972357970e-1, 0.744686658723778553466e-2,
                    0.175568157537232222276e-1, 0.770341043779251976443,
                ),
                multipliers=(0.473688659084893324729e-2, 0.110468033125734368808e-2),
                accuracy=5e-12,
            ),
        ),
    )  # fmt: skip
