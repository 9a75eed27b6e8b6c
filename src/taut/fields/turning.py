"""How far neighbouring nodes of beams are turned against each other, and what that costs.

Strains are differences of poses by Cayley's map: over an edge that turns by θ the strain is
Δs κ = 2 tan(θ/2).  So moments, which are proportional to it, are too large by tan(θ/2)/(θ/2) − 1,
about θ²/12: 2 % at half a radian, 27 % at a right angle; and what turns by more than half a turn
from node to node cannot be told from what turns by less.
"""

from __future__ import annotations

import numpy as np

from taut.text import percent

# Of the moments; the same shares as of a step's error (see `taut.diagnose.resolution`).
UNRESOLVED, COARSE = 0.05, 0.005


def turn_per_edge(turns: np.ndarray) -> float:
    """The largest angle between neighbours, from Δs times the whole strain: shape (E, 6)."""
    size = np.linalg.norm(turns[:, :3], axis=1)
    return 2 * float(np.arctan(np.max(size, initial=0.0, where=np.isfinite(size)) / 2))


def excess(angle: float) -> float:
    """By what share moments are too large where neighbours are turned by this angle."""
    return float(np.tan(angle / 2) / (angle / 2)) - 1 if angle > 0 else 0.0


def turning(angle: float) -> list[tuple[str, str, str]]:
    """(quantity, value, verdict), if it has to be said."""
    off = excess(angle)
    if off <= COARSE:
        return []
    word = "unresolved: use more nodes" if off > UNRESOLVED else "coarse: more nodes are better"
    return [("turn per edge", f"{angle:.2g} rad, moments {percent(off)} % off", word)]
