"""`project` for large systems: the same questions, by sparse matrices.

Nothing of shape (n, n) or (c, n) is formed.  The nearest configuration is approached by steps

    min ½ (q + δ − q₀)ᵀ M (q + δ − q₀)   with   g(q) + G(q) δ = 0,

each of them one sparse saddle point (`taut.kernel.saddle`), which is Newton's method up to the
curvature of the constraints.  Rows of G that depend on others are pivots of G Gᵀ that vanish.
"""

from __future__ import annotations

import numpy as np

from taut.kernel.evaluate import Mechanics, Snapshot
from taut.kernel.saddle import Saddle
from taut.kernel.sparse import analysed, dependent_rows

LOST = 1e-11  # a pivot of G Gᵀ, with rows of length 1, of a row that depends on others
CLOSE = 1e-13


def involved_largest(mechanics: Mechanics, x: np.ndarray) -> np.ndarray:
    """For each constraint the largest xⱼ among the coordinates that it depends on."""
    found = np.zeros(mechanics.c)
    rows, cols = mechanics.involved_pairs
    np.maximum.at(found, rows, x[cols])
    return found


def slopes(here: Snapshot) -> np.ndarray:
    """Σ |Gᵢⱼ| of each constraint."""
    return np.asarray(abs(here.jacobian()).sum(axis=1)).ravel()


def nearest(mechanics: Mechanics, q0, v, t, par, close) -> np.ndarray:
    """The nearest configuration with g = 0; `close(q, g)` says whether g is at round-off."""
    q, last = q0, np.inf
    for _ in range(100):
        saddle = Saddle(mechanics, q, v, mechanics.momentum(q, v, t, par), t, par)
        g = mechanics.g(q, t, par)
        back = saddle.inertia @ (q0 - q) if saddle.plain else np.zeros_like(q)
        change = saddle.solve(back, -g)[0]
        if not saddle.plain:
            change = _towards(saddle, q0 - q, -g)
        if not np.all(np.isfinite(change)):
            break
        q, size = _moved(mechanics, q, change, g, t, par), np.abs(change).max()
        if size <= CLOSE * max(np.abs(q).max(), 1e-300) or (size >= last and size < 1e-9):
            break
        last = size
    for _ in range(3):  # round-off
        g = mechanics.g(q, t, par)
        if close(g):
            break
        q = (
            q
            + Saddle(mechanics, q, v, mechanics.momentum(q, v, t, par), t, par).solve(0 * q, -g)[0]
        )
    return q


def _towards(saddle: Saddle, back: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """The same step for a system given by H: δ + W Gᵀλ = q₀ − q."""
    rest = saddle.solve(np.zeros_like(back), bottom - saddle.g @ back)[0]
    return back + rest


def _moved(mechanics: Mechanics, q, change, g, t, par) -> np.ndarray:
    """A step that does not make the constraints much worse."""
    for _ in range(30):
        with np.errstate(all="ignore"):
            there = np.abs(mechanics.g(q + change, t, par)).max()
        if there <= 2.0 * np.abs(g).max() + CLOSE or there <= np.abs(change).max() ** 2:
            break
        change = 0.5 * change
    return q + change


def tangent(mechanics: Mechanics, q, v0, t, par) -> np.ndarray:
    """The nearest velocity with G v + ∂g/∂t = 0."""
    saddle = Saddle(mechanics, q, v0, mechanics.momentum(q, v0, t, par), t, par)
    v = v0
    for _ in range(3):  # the later passes remove the round-off of the first
        v = v + saddle.solve(np.zeros_like(v), -mechanics.hidden(q, v, t, par))[0]
    return v


def dependent(jacobian, typical: np.ndarray, below: float) -> list[int]:
    """Rows that depend on others; a row much smaller than it typically is counts as zero."""
    from scipy.sparse import diags

    sizes = row_norms(jacobian)
    zero = sizes <= below * typical
    unit = diags(np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, sizes))) @ jacobian
    square = (unit @ unit.T).tocsr()
    if not zero.any() and _surely_independent(square):
        return []
    coo = square.tocoo()
    pattern = analysed(len(sizes), [(coo.row, coo.col)], np.zeros(len(sizes), int))
    values = np.zeros(pattern.slots + 1)
    np.add.at(values, pattern.slot(coo.row, coo.col), coo.data)
    row = np.zeros(len(sizes))
    lost = dependent_rows(values, pattern.start, pattern.column, pattern.diagonal, row, LOST)
    return sorted(pattern.order[lost].tolist())


def row_norms(matrix) -> np.ndarray:
    """Lengths of the rows."""
    return np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())


def _surely_independent(square) -> bool:
    """A cheap sufficient test: pivots of G Gᵀ far from zero."""
    from taut.kernel.saddle import _factors

    try:
        return bool(np.abs(_factors(square).U.diagonal()).min(initial=1.0) > 1e-10)
    except RuntimeError:
        return False


def beside(mechanics: Mechanics, q, t, par, size: float, rng) -> np.ndarray:
    """A configuration nearby that satisfies the constraints that determine the others."""
    rest = np.zeros(len(q))
    momentum = mechanics.momentum(q, rest, t, par)
    step = size * rng.standard_normal(len(q))
    saddle = Saddle(mechanics, q, rest, momentum, t, par)
    q = q + step + saddle.solve(rest, -(saddle.g @ step))[0]
    for _ in range(30):
        saddle = Saddle(mechanics, q, rest, momentum, t, par)
        change = saddle.solve(rest, -mechanics.g(q, t, par))[0]
        q = q + change
        if np.all(np.abs(change) <= 4e-16 * np.abs(q).max()):
            break
    return q
