"""A Lie-group variational integrator for beams: strain and velocity are Cayley maps of poses.

    L_d = h Σ_j w_j ½⟨ζ, Iζ⟩ − h Σ_e Δs_e V(χ_e),
    h ζ = cay⁻¹(g_j⁻¹ g_j'),        Δs χ = cay⁻¹(g_j⁻¹ g_{j+1}),

with the adjoint Cayley map of SE(3), Ad cay(ξ) = (1 − ½ad_ξ)⁻¹(1 + ½ad_ξ): that of SO(3) with dual
numbers for the entries.  With b = hζ/2 and a = Δs χ/2, and T(b) = 1 + ad_b + b bᵀ its inverse
tangent, the discrete Euler–Lagrange equations are

    T(−b)ᵀ I ζ = π + h F(g),     g' = g cay(h ζ),     π' = T(b)ᵀ I ζ,
    F = (T(−a)ᵀ n)_{j+½} − (T(a)ᵀ n)_{j−½} per length.

π is the momentum just before the kick; π + ½hF is that at the time of the poses.  Left translations
leave L_d as it is, so the momenta in space are conserved to round-off; the map is symplectic.

Source: Demoures et al. 2015 with the matrix Cayley map; the adjoint one as in Hairer, Lubich &
Wanner 2006, IV.8.3 for quadratic groups, by transference to dual numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taut.calls import public
from taut.methods.fields.base import Place, Scheme, Vector


@public
@dataclass(frozen=True)
class Variational(Scheme):
    """The Lie-group variational integrator: momenta in space kept to round-off."""

    name: ClassVar[str] = "variational"
    references: ClassVar[tuple[str, ...]] = ("demoures2015", "hairer2006, IV.8.3")
    posed: ClassVar[bool] = True

    def begin(self, at: Place) -> Vector:
        return at.mu - (0.5 * at.h) * at.force

    def shown(self, at: Place) -> Vector:
        return at.mu + (0.5 * at.h) * at.force

    def node(self, at: Place) -> None:
        half = 0.5 * at.h
        now = self.shown(at)
        at.now(now)
        kicked = now + half * at.force

        def momentum(m: Vector) -> Vector:  # T(−b)ᵀ m = m − ad_bᵀ m + (b bᵀ)ᵀ m
            b = half * at.velocity(m)
            return kicked + at.dual(b, m) - at.stretched(b, m)

        m = at.solve(kicked, momentum)
        at.zeta = at.velocity(m)
        b = half * at.zeta
        turned = at.dual(b, m)  # T(b)ᵀ m is also T(−b)ᵀ m + 2 ad_bᵀ m, which rounds less
        at.mu = at.either(free=kicked + 2 * turned, held=m + turned + at.stretched(b, m))
        at.move(at.zeta)

    def edge(self, at: Place) -> None:
        at.chi = at.relative()
        at.pull(at.chi, exact=True)
