"""Kelvin–Voigt damping as a step of its own, for schemes that are explicit otherwise.

At fixed poses the strain of an edge from i to j changes by χ̇ = (M(a)ζ_j − M(−a)ζ_i)/Δs =: B ζ with
a = Δs χ/2 and M(a) = 1 + a× + a aᵀ; where strains are not read from poses, with M(a) = 1 + a×.  The
stress D χ̇, D = damping·C, acts on the momenta over a time τ by the midpoint rule,

    m' − m = −τ Σ Δs BᵀD B ζ̄,        ζ̄ = I⁻¹(m + m')/2,

which is linear, stable for every τ, and takes τ Σ Δs χ̇·D χ̇ from the kinetic energy, exactly.  The
momenta in space stay as they are where strains are read from poses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taut.methods.fields.base import Place, Vector
from taut.methods.fields.dual import Matrix, hat, load, motion, tangent


@dataclass(frozen=True)
class Damping:
    """Implicit damping at fixed poses.

    Parameters
    ----------
    posed : bool
        Whether strains are read from poses.
    """

    posed: bool = True

    def _rates(self, at: Place) -> tuple[Matrix, Matrix]:
        """−M(−a) and M(a)."""
        a = motion(at.chi * (0.5 / at.per_length))
        if self.posed:
            return -tangent(-a), tangent(a)
        return hat(a) - np.eye(3), hat(a) + np.eye(3)

    def _rate(self, at: Place) -> Vector:
        """χ̇; the forces on both ends are left."""
        first, second = self._rates(at)
        one, two = at.slow
        rate = at.of_motion(first @ motion(one) + second @ motion(two)) * at.per_length
        n = load(at.viscous(rate))
        at.write("drag_left", -at.of_load(first.T @ n))
        at.write("drag_right", -at.of_load(second.T @ n))
        return rate

    def pull(self, at: Place) -> None:
        """Leave the forces on both ends."""
        self._rate(at)

    def pull_slopes(self, at: Place) -> None:
        """Leave the forces, and the slopes of −½τ F by ζ."""
        self._rate(at)
        ends = self._rates(at)
        stiff = (0.5 * at.span * at.per_length) * at.viscosity
        by = [stiff @ at.from_motion_to_motion(x) for x in ends]
        at.write_slopes([[at.from_load_to_load(x.T) @ y for y in by] for x in ends])

    def balance(self, at: Place) -> None:
        """Leave I ζ̄ − m − ½τ F, which is to vanish."""
        gap = at.weight * (at.inertia(at.slow) - at.mu) - (0.5 * at.span) * at.drag
        at.write("gap", gap)

    def edge(self, at: Place) -> None:
        """Forces, and what is dissipated."""
        at.lose(self._rate(at))

    def node(self, at: Place) -> None:
        """Momenta afterwards."""
        at.mu = at.mu + (at.span * at.share) * at.drag
