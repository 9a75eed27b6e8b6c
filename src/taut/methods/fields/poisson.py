"""The Poisson integrator of CS: symplectic Euler between μ and γ, midpoint in local brackets.

    (μ' − μ)/h = F(χ) + [ζ̄, μ̄]*,                    μ̄ = (μ + μ')/2, ζ̄ = (h_μ(μ) + h_μ(μ'))/2,
    (χ' − χ)/h = (ζ'_{j+1} − ζ'_j)/Δs + [χ̄, (ζ'_j + ζ'_{j+1})/2],      χ̄ = (χ + χ')/2,
    g' = g cay(h ζ'),

F = (n_{j+½} − n_{j−½})/Δs − ½([χ, n]*_{j+½} + [χ, n]*_{j−½}), n = h_γ.  μ lives half a step
before χ; the momentum at the time of χ is μ̄.

It is of second order, but of first order where the density mixes strains and momenta.

Source: CS (36), (53)–(55); the configuration moves with ζ', with which (54) was made (with ζ, as
printed, it drifts away from the strain: see docs/papers.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taut.calls import public
from taut.errors import word
from taut.methods.fields.base import Place, Scheme, Vector

STARTS = ("staggered", "printed")
POSES = ("new", "printed")


@public
@dataclass(frozen=True)
class Poisson(Scheme):
    """CS's Poisson integrator.

    Parameters
    ----------
    start : "staggered" or "printed"
        Whether μ at the start is taken back by half a step, as order 2 needs, or as it is.
    pose : "new" or "printed"
        Whether the configuration moves with the new velocity, or as (55) is printed: with the old
        one.
    """

    start: str = "staggered"
    pose: str = "new"

    name: ClassVar[str] = "poisson"
    references: ClassVar[tuple[str, ...]] = ("chen2025, (36), (53)–(55)",)

    def __post_init__(self) -> None:
        for kind, given, known in (("start", self.start, STARTS), ("pose", self.pose, POSES)):
            word(kind, given, known)

    def begin(self, at: Place) -> Vector:
        mu, half = at.mu, 0.5 * at.h
        if self.start == "printed":
            return mu
        return at.solve(mu, lambda old: mu - half * (at.turning(mu, old) + at.force))

    def _mean(self, at: Place) -> Vector:
        mu, half = at.mu, 0.5 * at.h
        return at.spun(mu + half * at.force, half, mu)

    def shown(self, at: Place) -> Vector:
        return at.mu if self.start == "printed" else self._mean(at)

    def node(self, at: Place) -> None:
        old, mean = at.mu, self._mean(at)
        at.now(at.mu if self.start == "printed" else mean)
        at.mu = 2 * mean - old
        at.zeta = at.velocity(at.mu)
        at.move(at.velocity(old) if self.pose == "printed" else at.zeta)

    def edge(self, at: Place) -> None:
        at.chi = compatible(at)
        at.pull(at.chi)


def compatible(at: Place) -> Vector:
    """The strain after a step in which both ends moved: CS (54)."""
    first, second = at.zeta
    b = (0.25 * at.h) * (first + second)  # χ̄ + [b, χ̄] = χ + ½h ∂ζ
    known = at.chi + (0.5 * at.h * at.per_length) * (second - first)
    return 2 * at.resolved(b, known) - at.chi
