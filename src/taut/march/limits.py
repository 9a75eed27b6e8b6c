"""The longest step that an explicit scheme can make with a beam.

About its reference configuration a mesh is M z̈ + K z = 0, and a scheme that goes from velocities
to strains and back (symplectic Euler, Störmer–Verlet, and those of `taut.methods.fields`) is stable
for

    h < 2/ω_max,        ω²_max = max zᵀK z / zᵀM z.

λ > ω²_max means that λM − K is positive definite, which a Cholesky factorisation decides; bisection
ends within a part in a thousand, on the safe side.  A straight uniform beam of axis speed c, shear
speed c_s and radius of gyration r has about min(Δs/c, 2 r/c_s): slender beams are limited by shear
across their thickness and not by their nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from taut.errors import ModelError
from taut.fields.mesh import Mesh
from taut.march.freedoms import elastic, freedoms_of

CLOSE = 1e-3  # relative width of the interval in which ω²_max is found
LARGEST = 1e200  # ω², that can be halved and squared
BAND = 64  # a matrix whose band is wider than this is factorised as a sparse one

Triplets = tuple[np.ndarray, np.ndarray, np.ndarray]


def stable_step(mesh: Mesh) -> float:
    """2/ω_max of the undamped mesh about its reference configuration.

    It is below the true value by a part in two thousand at most; infinite if nothing can move.
    Strains are those of Cayley's map, as in `variational`; others differ by (curvature·Δs)²/4, and
    damping and large strains shorten what is stable: leave a margin.

    Parameters
    ----------
    mesh : Mesh
        See `taut.fields.mesh.mesh_of`.
    """
    freedoms = freedoms_of(mesh)
    n = freedoms.count
    if n == 0:
        return math.inf
    stiff = freedoms.of_edges(elastic(mesh, freedoms.edges))
    heavy = freedoms.of_nodes(freedoms.inertia(mesh))
    above = definite(n, stiff, heavy)
    diagonals = [np.bincount(i[i == j], x[i == j], n) for x, i, j in (stiff, heavy)]
    with np.errstate(all="ignore"):  # what is too large is said
        low = float(np.max(diagonals[0] / diagonals[1]))  # a Rayleigh quotient
    if low == 0.0:
        return math.inf
    if not low < LARGEST:
        raise ModelError(
            "a beam is too stiff, or too light, for numbers of double precision",
            expected=f"stiffness/(inertia·Δs²) below {LARGEST:g}",
            received=f"{low:.3g}",
            remedy="use other units",
        )
    high = 2.0 * low  # enough if nodes fall into two groups without edges inside
    while not above(high):
        low, high = high, 2.0 * high
    while high > low * (1 + CLOSE):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if above(middle) else (middle, high)
    return 2.0 / math.sqrt(high)


def definite(n: int, stiff: Triplets, heavy: Triplets) -> Callable[[float], bool]:
    """Whether λM − K is positive definite, as a function of λ."""
    width = int(max(np.max(i - j) for _, i, j in (stiff, heavy)))
    if width > BAND:
        return _sparse(n, stiff, heavy)
    from scipy.linalg.lapack import dpbtrf

    lower = []
    for x, i, j in (stiff, heavy):  # entry (i, j) at [i − j, j]
        below = i >= j
        at = ((i - j) * n + j)[below]
        lower.append(np.bincount(at, x[below], (width + 1) * n).reshape(width + 1, n))
    k, m = lower

    def above(value: float) -> bool:
        return dpbtrf(value * m - k, lower=1, overwrite_ab=1)[1] == 0

    return above


def _sparse(n: int, stiff: Triplets, heavy: Triplets) -> Callable[[float], bool]:
    """The same by the signs of pivots, taken on the diagonal, of frames with many joints."""
    from scipy.sparse import csc_matrix

    k, m = (csc_matrix((x, (i, j)), shape=(n, n)) for x, i, j in (stiff, heavy))

    def above(value: float) -> bool:
        return negative(value * m - k) == 0

    return above


def negative(matrix: Any) -> int | None:
    """Negative eigenvalues of a sparse symmetric matrix, by its pivots; None if one is zero."""
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import splu

    try:
        factors = splu(
            csc_matrix(matrix),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError:
        return None
    return int(np.sum(factors.U.diagonal() <= 0))
