"""Natural motions of K, M and D that are sums, of which their round-off is known.

An entry of K that was added up from parts of size |K|ᵢⱼ is off by ε|K|ᵢⱼ, and zᵀK z by
ε |z|ᵀ|K||z|.  For motions that do not move what is stiff this is little, though |K| is large:
nothing is compared with the largest stiffness of all.  What is meant lies between K − E and K + E,

    E = diag(ε Σⱼ |K|ᵢⱼ sⱼ/sᵢ)        for all s > 0,

and a number of falling directions is sure if it is the same for both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taut.march.limits import negative
from taut.march.spectrum import (
    ROUNDED,
    SMALL,
    SPARE,
    Found,
    Solver,
    damped,
    general,
    roots,
    scaling,
    symmetric,
)

EVEN = 1e-10  # of what is scaled to one: what is not symmetric
GROWS = 1e-9  # Re s over |s|
SOFT = 1e-9  # of what damping adds up: none
# Of what stands on a diagonal.  A coordinate that nothing couples has its λ there: K + typical M
# would be singular where it is negative.
ASIDE = (5**0.5 - 1) / 2
TOLD = 1e-2  # of the lowest λ that is not zero: round-off of one that may be


class Assembled:
    """K, M and D, sparse.

    Parameters
    ----------
    size : sparse matrix, optional
        |K|: the size of what the entries of K are sums of.
    """

    def __init__(self, stiff: Any, mass: Any, drag: Any = None, size: Any = None) -> None:
        from scipy.sparse import csc_matrix

        self.stiff, self.mass = csc_matrix(stiff), csc_matrix(mass)
        self.drag = csc_matrix(self.mass.shape) if drag is None else csc_matrix(drag)
        self.size = abs(self.stiff) if size is None else csc_matrix(size)

    def even(self) -> Assembled:
        """With the symmetric part of K."""
        return Assembled((self.stiff + self.stiff.T) / 2, self.mass, self.drag, self.size)

    @property
    def has_potential(self) -> bool:
        """Whether K is symmetric, but for round-off."""
        skew = (self.stiff - self.stiff.T).tocoo()
        scale = scaling(self.size)
        return bool(np.all(np.abs(skew.data) * scale[skew.row] * scale[skew.col] <= EVEN))

    @property
    def typical(self) -> float:
        """A small λ, that is no eigenvalue: where neither stiffness nor damping is, any."""
        heavy = self.mass.diagonal()
        found = [np.abs(self.stiff.diagonal()) / heavy, (self.drag.diagonal() / heavy) ** 2]
        return ASIDE * next((float(x[x > 0].min()) for x in found if np.any(x > 0)), 1.0)

    def factored(self, value: float = 0.0, border: np.ndarray | None = None) -> Solver:
        return Solver(self.stiff - value * self.mass, border)

    def damped(self, shift: float, border: np.ndarray | None = None) -> Callable:
        solver = Solver(shift**2 * self.mass + shift * self.drag + self.stiff, border)

        def solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return -solver.solve(self.mass @ (b + shift * a) + self.drag @ a)[0]

        return solve

    def energy(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        large = abs(z)
        noise = ROUNDED * np.einsum("ia,ia->a", large, self.size @ large)
        return np.real(np.einsum("ia,ia->a", z.conj(), self.stiff @ z)), noise

    def below(
        self, value: float, loads: float = 1.0, gauge: np.ndarray | None = None
    ) -> tuple[int, int]:
        from scipy.sparse import diags

        del loads, gauge  # those of a beam
        size = self.size + abs(value) * abs(self.mass)
        scale = scaling(size)
        noise = ROUNDED * (size @ scale) / scale
        matrix = self.stiff - value * self.mass
        low, high = (negative(matrix + diags(x)) for x in (noise, -noise))
        return low or 0, self.mass.shape[0] if high is None else high


def natural(pencil: Assembled, count: int) -> Found:
    """S of the motions that grow, and of the slowest, with x in columns."""
    n = pencil.mass.shape[0]
    if not n:
        return Found(np.zeros(0), np.zeros((0, 0)), np.zeros(0))
    unit, none = pencil.typical, np.zeros((0, n))
    if pencil.drag.count_nonzero():
        idle_motions = still(pencil.even())
        held = idle_motions.T @ (pencil.drag @ idle_motions)
        size = abs(idle_motions).T @ (abs(pencil.drag) @ abs(idle_motions))
        once = int(np.linalg.matrix_rank(held, tol=SOFT * size.max())) if held.any() else 0
        idle = idle_motions.shape[1] - once
        asked = 2 * n if 2 * n <= SMALL else count + SPARE
        found = damped(pencil, asked, unit, none, idle, once)
        found.values[: idle + once] = found.errors[: idle + once] = 0.0
        found.vectors[:, : idle + once] = idle_motions
    elif not pencil.has_potential:
        found = general(pencil, n if 2 * n <= SMALL else count + SPARE, unit)
    else:
        found = roots(symmetric(pencil.even(), count, unit, none))
    order = np.lexsort((np.abs(found.values), ~growing(found)))[:count]
    found = found.taken(order)
    z = found.vectors
    size = np.sqrt(np.real(np.einsum("ia,ia->a", z.conj(), pencil.mass @ z)))
    return Found(found.values, z / size, found.errors)


def growing(found: Found) -> np.ndarray:
    """Which motions grow, beyond what their s may be off."""
    least = np.maximum(GROWS * np.abs(found.values), found.errors)
    return np.real(found.values) > least


def still(pencil: Assembled) -> np.ndarray:
    """Motions without stiffness, in columns."""
    n = pencil.mass.shape[0]
    if not pencil.size.count_nonzero():
        return np.eye(n)
    many = pencil.below(0.0)[1]
    if not many:
        return np.zeros((n, 0))
    found = symmetric(pencil, many, pencil.typical, np.zeros((0, n)))
    return found.vectors[:, np.abs(found.values) <= found.errors]


def holds(pencil: Assembled) -> bool | None:
    """Whether zᵀK z falls nowhere; None if round-off hides that.

    Motions without stiffness count as if they fell nowhere, if what rounding may give them is less
    than the stiffness of all others.
    """
    n = pencil.mass.shape[0]
    if not pencil.size.count_nonzero():
        return True
    low, high = pencil.below(0.0)
    if low or not high:
        return not low
    found = symmetric(pencil, min(high + 1, n), pencil.typical, np.zeros((0, n)))
    if np.any(found.values < -found.errors):
        return False
    flat = ~(found.values > found.errors)
    others = found.values[~flat]
    return True if np.all(found.errors[flat] <= TOLD * others.min(initial=np.inf)) else None
