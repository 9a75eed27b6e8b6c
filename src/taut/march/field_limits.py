"""How long a step an explicit scheme can make with a field in Hamel form.

Small waves e^{iθj} on a uniform line obey δγ̇ = D(θ) δζ, δμ̇ = −D(θ)* δn with

    D(θ) = 2i sin(θ/2)/Δs + c ad_χ,   δζ = K δμ + c X δγ,   δn = V δγ + c Xᵀδμ,   c = cos(θ/2),

K = h_μμ, V = h_γγ, X = h_μγ.  Symplectic Euler is stable for h < 2/ω_max, ω being the sizes of the
eigenvalues; the largest over all θ and over the places of the start is taken, K being that of
either end of an edge, where momenta are.  Of many places those are looked at where it must be
largest, going by the sizes of K, V, X and χ, and some others.  Where X is not zero the repetition
of sweeps (see `mixed_loop`) needs h < Δs/(2|X|) as well.  (For beams see `taut.march.limits`.)
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
    n, edges = model.size, np.arange(len(strain))
    bend = _second_derivatives(model, values)
    ad = np.asarray(model.algebra.ad(model.reference + strain), dtype=float)
    largest = mixing = 0.0
    for end in (edges, (edges + 1) % model.nodes):
        middle = bend(strain, momentum[end], model.middles)
        own = middle if model.mixed else bend(strain, momentum[end], model.places[end])
        k, v, x = own[:, n:, n:], middle[:, :n, :n], middle[:, n:, :n]
        if x.any():
            mixing = max(mixing, float(np.abs(np.linalg.eigvals(x)).max()))
        e = _chosen(model, k, v, x, ad)
        largest = max(largest, _fastest(model.spacing, k[e], v[e], x[e], ad[e]))
    limit = 2.0 / largest if largest > 0 else np.inf
    return min(limit, model.spacing / (2 * mixing)) if mixing else limit


def _fastest(spacing: float, k, v, x, ad) -> float:
    """ω of the fastest waves on lines with these matrices, shape (…, n, n), everywhere."""
    largest, one = 0.0, np.eye(k.shape[-1])
    for theta in np.linspace(0.0, np.pi, ANGLES):
        c = np.cos(theta / 2)
        d = 2j * np.sin(theta / 2) / spacing * one + c * ad
        star = np.swapaxes(d, 1, 2).conj()
        waves = np.block([[c * d @ x, d @ k], [-star @ v, -c * star @ np.swapaxes(x, 1, 2)]])
        largest = max(largest, float(np.abs(np.linalg.eigvals(waves)).max()))
    return largest


def _second_derivatives(model: Field, values: np.ndarray):
    """(γ, μ, s) of places → second derivatives of the density by (γ, μ), shape (…, 2n, 2n)."""
    n = model.size
    names = (*model.strain, *model.momentum, model.place, *model.parameters)
    symbols = [SX.sym(x.name) for x in names]
    (h,) = to_casadi([model.density], dict(zip(names, symbols, strict=True)))
    state = ca.vertcat(*symbols[: 2 * n])
    second = ca.sparsify(ca.hessian(h, state)[0])
    rows, columns = second.sparsity().get_triplet()
    function = ca.Function("bend", [ca.vertcat(*symbols)], [ca.densify(second.nz[:])])

    def bend(strain: np.ndarray, momentum: np.ndarray, places: np.ndarray) -> np.ndarray:
        same = np.broadcast_to(values, (len(strain), len(values)))
        points = np.hstack([strain, momentum, places[:, None], same])
        found = np.zeros((len(strain), 2 * n, 2 * n))
        if rows:
            found[:, rows, columns] = np.array(function(points.T)).T
        bad = np.flatnonzero(~np.isfinite(found).all(axis=(1, 2)))
        if len(bad):
            raise InputError(
                f"the density is not smooth at the start, s = {places[bad[0]]:g}",
                expected="finite second derivatives at every place",
                received=f"strain {strain[bad[0]].tolist()}, momentum {momentum[bad[0]].tolist()}",
                remedy="choose strain0 and momentum0 where it is",
            )
        return found

    return bend


def _chosen(model: Field, k, v, x, ad) -> np.ndarray:
    """Edges at which waves are the fastest, going by sizes; and some others."""
    with np.errstate(all="ignore"):
        k, v, x, ad = (np.linalg.norm(m, axis=(1, 2)) for m in (k, v, x, ad))
        size = (2 / model.spacing + ad) * (np.sqrt(k * v) + x)
    evenly = np.linspace(0, len(size) - 1, PLACES // 2).astype(int)
    return np.unique(np.concatenate([evenly, np.argsort(-size)[: PLACES // 2]]))
