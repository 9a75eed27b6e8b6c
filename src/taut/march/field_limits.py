"""How long a step an explicit scheme can make with a field in Hamel form.

Small waves e^{iθj} on a uniform line obey δγ̇ = D(θ) K δμ, δμ̇ = −D(θ)* V δγ with

    D(θ) = 2i sin(θ/2)/Δs + cos(θ/2) ad_χ,        K = k_μμ,  V = v_γγ,

so that ω² are the eigenvalues of K D*V D.  Symplectic Euler is stable for h < 2/ω_max; the largest
over all θ and over the places of the start is taken.  (For beams see `taut.march.limits`.)
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from taut.fields.field import Field
from taut.kernel.strand import medium_of

PLACES, ANGLES = 60, 24  # that are looked at


def stable_step_of_field(
    model: Field, values: np.ndarray, strain: np.ndarray, momentum: np.ndarray
) -> float:
    """About 2/ω_max at a start; infinite where nothing oscillates."""
    which = np.unique(np.linspace(0, len(strain) - 1, PLACES).astype(int))
    medium, n = medium_of(model), model.size
    x, data = SX.sym("x", n), SX.sym("data", 1 + len(values))
    bends = [ca.Function("bend", [x, data], [ca.jacobian(f(x, data), x)])
             for f in (medium.velocity, medium.stress)]  # fmt: skip
    largest = 0.0
    for e in which:
        near = momentum[[e, min(e + 1, len(momentum) - 1)]]
        heavy = max(near, key=lambda m: float(m @ m))
        k, v = (
            np.array(bend(point, [model.middles[e], *values]))
            for bend, point in zip(bends, (heavy, strain[e]), strict=True)
        )
        ad = np.asarray(model.algebra.ad(model.reference[e] + strain[e]), dtype=float)
        for theta in np.linspace(0.0, np.pi, ANGLES):
            slope = 2j * np.sin(theta / 2) / model.spacing * np.eye(n) + np.cos(theta / 2) * ad
            found = np.linalg.eigvals(k @ slope.conj().T @ v @ slope)
            largest = max(largest, float(np.abs(found).max()))
    return 2.0 / np.sqrt(largest) if largest > 0 else np.inf
