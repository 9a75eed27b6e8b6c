"""How long a step an explicit scheme can make with a field in Hamel form.

Small waves e^{iθj} on a uniform line obey δγ̇ = D(θ) δζ, δμ̇ = −D(θ)* δn with

    D(θ) = 2i sin(θ/2)/Δs + c ad_χ,   δζ = K δμ + c X δγ,   δn = V δγ + c Xᵀδμ,   c = cos(θ/2),

K = h_μμ, V = h_γγ, X = h_μγ.  Symplectic Euler is stable for h < 2/ω_max, ω being the sizes of the
eigenvalues; the largest over all θ and over the places of the start is taken.  Where X is not zero
the repetition of sweeps (see `mixed_loop`) needs h < Δs/(2|X|) as well.  (For beams see
`taut.march.limits`.)
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from taut.errors import InputError
from taut.fields.field import Field
from taut.kernel.translate import to_casadi

PLACES, ANGLES = 60, 24  # that are looked at


def stable_step_of_field(
    model: Field, values: np.ndarray, strain: np.ndarray, momentum: np.ndarray
) -> float:
    """About 2/ω_max at a start; infinite where nothing oscillates."""
    which = np.unique(np.linspace(0, len(strain) - 1, PLACES).astype(int))
    n = model.size
    names = (*model.strain, *model.momentum)
    symbols = [SX.sym(x.name) for x in (*names, model.place, *model.parameters)]
    (h,) = to_casadi([model.density], dict(zip((*names, model.place, *model.parameters), symbols,
                                               strict=True)))  # fmt: skip
    state = ca.vertcat(*symbols[: 2 * n])
    bend = ca.Function("bend", [ca.vertcat(*symbols)], [ca.hessian(h, state)[0]])
    largest = mixing = 0.0
    for e in which:
        near = momentum[[e, min(e + 1, len(momentum) - 1)]]
        heavy = max(near, key=lambda m: float(m @ m))
        point = np.concatenate([strain[e], heavy, [model.middles[e]], values])
        second = np.array(bend(point))
        if not np.all(np.isfinite(second)):
            raise InputError(
                f"the density is not smooth at the start, s = {model.middles[e]:g}",
                expected="finite second derivatives at every place",
                received=f"strain {strain[e].tolist()}, momentum {heavy.tolist()}",
                remedy="choose strain0 and momentum0 where it is",
            )
        v, x, k = second[:n, :n], second[n:, :n], second[n:, n:]
        mixing = max(mixing, float(np.abs(np.linalg.eigvals(x)).max()) if x.any() else 0.0)
        ad = np.asarray(model.algebra.ad(model.reference[e] + strain[e]), dtype=float)
        for theta in np.linspace(0.0, np.pi, ANGLES):
            c = np.cos(theta / 2)
            d = 2j * np.sin(theta / 2) / model.spacing * np.eye(n) + c * ad
            star = d.conj().T
            waves = np.block([[c * d @ x, d @ k], [-star @ v, -c * star @ x.T]])
            largest = max(largest, float(np.abs(np.linalg.eigvals(waves)).max()))
    limit = 2.0 / largest if largest > 0 else np.inf
    return min(limit, model.spacing / (2 * mixing)) if mixing else limit
