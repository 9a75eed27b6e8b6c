"""The Hamel field variational integrator: brackets by the trapezoidal rule in time.

    (μ' − μ)/h = F(χ) + ½([ζ', μ']* + [ζ, μ]*),
    (χ' − χ)/h = (ζ'_{j+1} − ζ'_j)/Δs + [(χ + χ')/2, (ζ'_j + ζ'_{j+1})/2],

with F as in `poisson`.  It is a kick followed by an implicit midpoint step, sampled at the midpoint
average; the Poisson integrator has the kick inside.  They differ by h²/4·[Δζ, Δμ]* per step.

Source: Wang, An & Shi 2016; derived from the discrete Hamel principle of Ball & Zenkov 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taut.calls import public
from taut.methods.fields.base import Place, Scheme, Vector
from taut.methods.fields.poisson import compatible


@public
@dataclass(frozen=True)
class Hamel(Scheme):
    """The Hamel field variational integrator, the comparator of CS."""

    name: ClassVar[str] = "hamel"
    references: ClassVar[tuple[str, ...]] = ("wang2016", "ball2015")

    def begin(self, at: Place) -> Vector:
        half = 0.5 * at.h
        return at.spun(at.mu - half * at.force, -half)

    def shown(self, at: Place) -> Vector:
        half = 0.5 * at.h
        return at.mu + half * (at.turning(at.mu) + at.force)

    def node(self, at: Place) -> None:
        half = 0.5 * at.h
        now = self.shown(at)
        at.now(now)
        at.mu = at.spun(now + half * at.force, half)
        at.zeta = at.velocity(at.mu)
        at.move(at.zeta)

    def edge(self, at: Place) -> None:
        at.chi = compatible(at)
        at.pull(at.chi)
