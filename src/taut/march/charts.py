"""Charts for independent coordinates: which c coordinates the constraints determine.

The condition of a chart is |det G_bound| / √det(G Gᵀ), between 0 and 1: the volume that the bound
columns span, relative to all.  The squares of the conditions of all charts add up to one
(Cauchy–Binet), so the best of the B = n!/(c!(n−c)!) charts reaches at least 1/√B; a run changes
charts when the condition falls below half of that, or below 0.2.  The best chart is found by QR
with column pivoting.
"""

from __future__ import annotations

import math

import numpy as np

from taut.kernel.evaluate import Mechanics
from taut.portable import pivoted


def threshold(n: int, c: int) -> float:
    """Below which condition a chart is given up."""
    return min(0.2, 0.5 / math.sqrt(math.comb(n, c)))


def best_chart(mechanics: Mechanics, q, t, par, keep: tuple[int, ...]) -> tuple[int, ...]:
    """Numbers of the bound coordinates of the best chart at q.

    Their order is that of elimination with column pivoting: the step eliminates them without
    pivoting, constraint by constraint.
    """
    if not keep:
        return ()
    jacobian = mechanics.derivatives("g", "q", t, par, q=q[None])[0][list(keep)]
    bound = sorted(pivoted(jacobian)[: len(keep)].tolist())
    return tuple(bound[i] for i in _pivots(jacobian[:, bound]))


def _pivots(matrix: np.ndarray) -> list[int]:
    """The column that each row of a square matrix is solved for; its own where that will do."""
    rest, left = matrix.copy(), list(range(len(matrix)))
    chosen = []
    for k in range(len(rest)):
        sizes = np.abs(rest[k, left])
        natural = left.index(k) if k in left and sizes[left.index(k)] > 0.1 * sizes.max() else None
        j = left.pop(int(np.argmax(sizes)) if natural is None else natural)
        chosen.append(j)
        rest[k + 1 :] -= np.outer(rest[k + 1 :, j] / rest[k, j], rest[k])
    return chosen
