"""Which constraints are kept where others follow from them, and for how long.

If G has more rows than its rank r, a run keeps r of them.  Rows that are independent at the start
may become dependent on the way though G keeps its rank: three equations of a ring of four hinges
follow from the others at every angle, but from other ones at another.  With the least singular
values of the kept rows and of G itself, σ_keep ≤ σ_r(G), the rows are chosen anew where

    σ_keep < POOR σ_r(G),

by pivots of QR, which take the row that is farthest from those before it.  Where G itself loses
rank both vanish, and nothing is to be gained.  The run looks again after so many steps that σ_keep,
which changes by uᵀ(dG/dt)w with its singular vectors, has fallen by half at most, and that no row
has turned far.  All of this depends on the state alone, so that runs in parts are the same to the
bit.
"""

from __future__ import annotations

import numpy as np

from taut.kernel.evaluate import Mechanics
from taut.kernel.singular import svd
from taut.portable import norm, pivoted, product

POOR = 0.2
FAR = 0.4  # by which rows may turn between two looks, in radians
CLOSE = 1e-2  # of the largest singular value: normal equations of such rows lose four digits
PREFERRED = 3.0  # what rows count for that were kept at first
BETTER = 2.0  # what σ must grow by to be worth a change
LONGEST = 64  # steps between two looks
MODEST = 150  # coordinates up to which singular values are computed

Keep = tuple[int, ...]


def watched(mechanics: Mechanics, keep: Keep) -> bool:
    """Whether there is a choice, and it can be made."""
    return 0 < len(keep) < mechanics.c and mechanics.n <= MODEST


def chosen(mechanics: Mechanics, q: np.ndarray, t: float, par: np.ndarray, keep: Keep) -> Keep:
    """The rows to keep at a configuration: these, unless others are much better."""
    if not watched(mechanics, keep) or not np.all(np.isfinite(q)):
        return keep
    rows = mechanics.gradients(q, t, par)
    return _chosen(rows / _sizes(rows), keep, keep)


def looked(
    mechanics: Mechanics,
    q: np.ndarray,
    v: np.ndarray,
    t: float,
    h: float,
    par: np.ndarray,
    keep: Keep,
    first: Keep,
) -> tuple[Keep, int]:
    """The rows to keep from a state on instead of `keep`, and steps after which to look again."""
    here = mechanics.gradients_again(q, t, par)
    there = mechanics.gradients_again(q + h * v, t + h, par)
    sizes = _sizes(here)
    keep = _chosen(here / sizes, keep, first)
    own = list(keep)
    u, s, wt = svd((here / sizes)[own])
    turn = ((there - here) / sizes)[own]
    falls = 2.0 * abs(product(u[:, -1], turn, wt[-1])) / s[-1]
    turns = norm(turn).max() / FAR
    return keep, int(np.clip(1.0 / max(falls, turns, 1e-300), 1, LONGEST))


def poorly_kept(mechanics: Mechanics, q: np.ndarray, t, par: np.ndarray, keep: Keep) -> np.ndarray:
    """At which of many configurations the kept rows are close to dependent on each other."""
    if len(keep) == mechanics.c:
        return np.zeros(len(q), dtype=bool)
    rows = mechanics.derivatives("g", "q", t, par, q=q)[:, list(keep)]
    values = svd(rows / _sizes(rows))[1]
    return ~(values[:, -1] > CLOSE * values[:, 0])


def _sizes(rows: np.ndarray) -> np.ndarray:
    sizes = norm(rows)[..., None]
    return np.where(sizes > 0.0, sizes, 1.0)


def _least(rows: np.ndarray) -> float:
    return float(svd(rows)[1][-1])


def _chosen(rows: np.ndarray, keep: Keep, first: Keep) -> Keep:
    """Of unit rows; those that were kept at first are preferred, so that there are few choices."""
    best = svd(rows)[1][len(keep) - 1]
    now = _least(rows[list(keep)])
    if not now < POOR * best:
        return keep
    if first != keep and _least(rows[list(first)]) > 2.0 * POOR * best:
        return first
    weights = np.ones(len(rows))
    weights[list(first)] = PREFERRED
    order = pivoted((weights[:, None] * rows).T)
    other = tuple(sorted(order[: len(keep)].tolist()))
    return other if _least(rows[list(other)]) > BETTER * now else keep
