"""Charts for independent coordinates: which c coordinates the constraints determine.

The condition of a chart is |det G_bound| / √det(G Gᵀ), between 0 and 1: the volume that the bound
columns span, relative to all.  The best chart is found by QR with column pivoting; a run changes
charts when the condition falls below a threshold that the best chart always exceeds for the
dimensions at hand.
"""

from __future__ import annotations

from scipy.linalg import qr

from taut.kernel.evaluate import Mechanics

THRESHOLD = 0.2


def best_chart(mechanics: Mechanics, q, t, par, keep: tuple[int, ...]) -> tuple[int, ...]:
    """Numbers of the bound coordinates of the best chart at q, in ascending order."""
    jacobian = mechanics.jacobian(q, t, par).toarray()[list(keep)]
    order = qr(jacobian, mode="r", pivoting=True)[1]
    return tuple(sorted(int(i) for i in order[: len(keep)]))
