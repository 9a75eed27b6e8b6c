"""ZG's time element: discretise the action, constrain the stations.

On one element q is linear in time, V = (q₁ − q₀)/h, and the action is a quadrature (b, c)

    S(q₀, q₁) = h Σ bᵢ L(Qᵢ, V, t + cᵢh),   Qᵢ = q₀ + cᵢ h V.

With Pᵢ = L_v and Fᵢ = L_q + f at the nodes (f by the discrete Lagrange–d'Alembert principle),

    −∂S/∂q₀ = Σ bᵢ (Pᵢ − (1 − cᵢ) h Fᵢ),      ∂S/∂q₁ = Σ bᵢ (Pᵢ + cᵢ h Fᵢ).

Multipliers (form B):     p₀ = −∂S/∂q₀ + G(q₀)ᵀλ,  g(q₁) = 0;  p₁ = ∂S/∂q₁.
Independent (form A):     N(q₀)ᵀ(p₀ + ∂S/∂q₀) = 0,  g(q₁) = 0;  π₁ = N(q₁)ᵀ ∂S/∂q₁,

where N = ∂q/∂u spans the null space of G in the chart of independent coordinates u.  In both,
the state handed on is the tangent momentum: G M⁻¹ p₁ + ∂g/∂t = 0.

Source: Zhong & Gao 2006 (ZG), section 2; the index of λ is shifted as in the digest's item 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from taut.errors import UnknownName
from taut.methods.base import Method, Step, Vector, projected

# Symmetric quadratures on [0, 1]: (weights, nodes).
QUADRATURES = {
    "trapezoid": ((Fraction(1, 2), Fraction(1, 2)), (Fraction(0), Fraction(1))),
    "midpoint": ((Fraction(1),), (Fraction(1, 2),)),
    "simpson": (
        (Fraction(1, 6), Fraction(2, 3), Fraction(1, 6)),
        (Fraction(0), Fraction(1, 2), Fraction(1)),
    ),
    "gauss2": ((Fraction(1, 2), Fraction(1, 2)), (0.5 - 3**0.5 / 6, 0.5 + 3**0.5 / 6)),
}


@dataclass(frozen=True)
class TimeElement(Method):
    """Linear time element of Zhong & Gao.

    Parameters
    ----------
    form : "multipliers" or "independent"
        Multipliers at the stations (n + c unknowns), or n − c independent coordinates with
        automatic charts.  Both give the same trajectory.
    quadrature : "trapezoid", "midpoint", "simpson" or "gauss2"
        How the action of an element is integrated.
    start : "exact" or "paper"
        p₀ = L_v(q₀, v₀), or ZG's p₀ = −∂S₁/∂q₀ with (q₁ − q₀)/h taken as v₀, which makes the whole
        run first order.
    """

    form: str = "multipliers"
    quadrature: str = "trapezoid"
    start: str = "exact"

    name: ClassVar[str] = "time-element"
    order: ClassVar[int] = 2
    symplectic: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True
    source: ClassVar[str] = "Zhong & Gao 2006"

    def __post_init__(self) -> None:
        for option, known in (
            ("form", ("multipliers", "independent")),
            ("quadrature", tuple(QUADRATURES)),
            ("start", ("exact", "paper")),
        ):
            if getattr(self, option) not in known:
                raise UnknownName(f"TimeElement {option}", getattr(self, option), known)

    @property
    def charted(self) -> bool:  # type: ignore[override]
        """Whether the step is written in a chart that may have to be changed."""
        return self.form == "independent"

    def program(self, step: Step) -> None:
        t, t1, h, q, p = step.t, step.t1, step.h, step.q, step.p
        v = step.unknown("v", guess=step.v)
        pairs, before, after, pull = [], -p, 0 * p, 0 * p
        dq = h * v
        q1 = step.moved(dq)
        for i, (b, c) in enumerate(zip(*QUADRATURES[self.quadrature], strict=True)):
            at, when = _between(step, q, q1, dq, c)
            momentum = step.unknown(f"P{i}", guess=p)
            pairs.append((momentum, step.link(at, v, momentum, when)))
            force = step.force(at, v, momentum, when)
            b, c = float(b), float(c)
            before += b * momentum - ((1 - c) * b * h) * force if c < 1 else b * momentum
            after += b * momentum + (c * b * h) * force if c > 0 else b * momentum
            pull += (b * h) * force
        if self.form == "multipliers":
            lam = step.unknown("lambda", "c")
            impulse = step.push(q, t, lam)
            step.solve(*pairs, (v, before + impulse), (lam, step.g(q1, t1)), watch=v)
            dp = pull - impulse
            correction, v1 = projected(step, q1, step.kicked(dp), t1)
            step.advance(q=dq, p=dp, v=v1, tangent=correction)
        else:
            self._independent(step, pairs, v, dq, q1, before, after)

    def _independent(
        self, step: Step, pairs, v: Vector, dq: Vector, q1: Vector, before, after
    ) -> None:
        t, t1, q = step.t, step.t1, step.q
        free, bound = step.split(v)
        start, end = step.null_space(q, t), step.null_space(q1, t1)
        step.solve(*pairs, (bound, step.g(q1, t1)), (free, start.T @ before), watch=v)
        # Tangent momentum with the same pairing: N₁ᵀ p₁ = π₁, link(v₁, p₁), G v₁ + g_t = 0.
        v1, p1 = step.unknown("v1", guess=step.v), step.unknown("p1", guess=step.p)
        free1, bound1 = step.split(v1)
        step.solve(
            (p1, step.link(q1, v1, p1, t1)),
            (bound1, step.hidden(q1, v1, t1)),
            (free1, end.T @ (p1 - after)),
            watch=v1,
        )
        step.advance(q=dq, p=p1 - step.p, v=v1)

    def start_momentum(self, step: Step, v: Vector) -> Vector | None:
        if self.start == "exact":
            return None
        # p₀ = −∂S/∂q₀ at V = v₀ for the trapezoid: L_v − (h/2) L_q.
        weight = float(sum(b * (1 - c) for b, c in zip(*QUADRATURES[self.quadrature], strict=True)))
        return -weight * step.h * step.force(step.q, v, step.p, step.t)


def _between(step: Step, q: Vector, q1: Vector, dq: Vector, c) -> tuple[Vector, object]:
    """Position and time at the fraction c of the element, exact at its ends."""
    if c == 0:
        return q, step.t
    if c == 1:
        return q1, step.t1
    return q + float(c) * dq, step.t + float(c) * step.h
