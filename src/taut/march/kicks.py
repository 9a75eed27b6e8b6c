"""What forces and constraints do to velocities within a step, each by its own size.

    h M⁻¹ (Σ |F| + |G|ᵀ |λ|)

of all summands of the forces, and of impulses that constraints take away again.  What is at rest at
the origin has neither coordinates nor velocities that rounding could be compared with: its forces
balance, each of them rounded at its own size, so that h times this is what a step can know its
coordinates to.  And constraints place it only as well as their own summands are known,

    Σ M⁻¹|G_i|ᵀ |summands of g_i| / (G_i M⁻¹ G_iᵀ),

as on a circle through the origin.  Both are `lengths`, in all units and from any origin.
"""

from __future__ import annotations

import numpy as np

from taut.kernel.evaluate import Mechanics, Snapshot
from taut.march.kept import Keep, watched


def kicks(
    mechanics: Mechanics, q, v, p, t: float, par: np.ndarray, keep: Keep, h: float
) -> np.ndarray:
    """The velocities at one state; zero for a flow, which has no masses."""
    if mechanics.system.first_order:
        return np.zeros_like(q)
    pulls = mechanics.sizes("force", t, par, q=q, v=v, p=p)
    if mechanics.c:
        slopes = abs(mechanics.jacobian(q, t, par))
        pulls = pulls + slopes.T @ np.abs(multipliers(mechanics, q, v, p, t, par, keep))
    found = abs(h) * responses(mechanics, q, v, p, t, par) * pulls
    return np.nan_to_num(found, posinf=0.0)


def lengths(
    mechanics: Mechanics, q, v, p, t: float, par: np.ndarray, keep: Keep, h: float
) -> np.ndarray:
    """What rounding compares coordinates with at one state, besides what they are."""
    found = abs(h) * kicks(mechanics, q, v, p, t, par, keep, h)
    if mechanics.c == 0 or mechanics.system.first_order:
        return found
    slopes = abs(mechanics.jacobian(q, t, par))
    light = responses(mechanics, q, v, p, t, par)
    steep = slopes.power(2) @ light
    shares = mechanics.apply("size", t, par, q=q) / np.where(steep > 0.0, steep, np.inf)
    return found + np.nan_to_num(light * (slopes.T @ shares), posinf=0.0)


def multipliers(mechanics: Mechanics, q, v, p, t: float, par: np.ndarray, keep: Keep) -> np.ndarray:
    """Those of the kept constraints at one state; of least norm they are spread over all rows."""
    found = mechanics.accelerations(q, v, p, t, par)[1]
    if not watched(mechanics, keep):
        return found
    rows, own = mechanics.gradients(q, t, par), list(keep)
    alone = np.zeros_like(found)
    alone[own] = np.linalg.lstsq(rows[own].T, rows.T @ found, rcond=None)[0]
    return alone


def responses(mechanics: Mechanics, q, v, p, t: float, par: np.ndarray) -> np.ndarray:
    """What velocity an impulse gives to each coordinate by itself; zero where it has no mass."""
    diagonal = np.abs(Snapshot(mechanics, q, v, p, t, par).sparse_hessian().diagonal())
    if mechanics.form == "lagrangian":
        return 1.0 / np.where(diagonal > 0.0, diagonal, np.inf)
    return diagonal


__all__ = ["kicks", "lengths", "multipliers", "responses"]
