"""The implicit trapezoidal rule on the stabilised index-2 equations (see `ggl`).

    q₁ = q + h/2 (v + v₁ + w₁),                  M w₁ = −G(q₁)ᵀη,      g(q₁, t₁) = 0,
    p₁ = p + h/2 (R + F(q₁, v₁, p₁) − G(q₁)ᵀλ₁),  v₁ ∼ (q₁, p₁),       G(q₁) v₁ + ∂g/∂t = 0.

At the start the multipliers are those of the exact motion: η = 0, and R = F − G(q)ᵀλ(q, p, t) with
λ from d/dt (G v + ∂g/∂t) = 0.  So a step needs nothing but the state; multipliers that are carried
from step to step instead would oscillate.  The price is the symmetry: the multiplier at the start
is the exact one, that at the end is what the constraints ask for.

Source: Ascher & Petzold 1998, sections 9.3 and 10.1 (the rule, and its use for DAEs); Gear,
Leimkuhler & Gupta 1985.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taut.calls import public
from taut.methods.base import Method, Step
from taut.methods.explicit_rk import acceleration, slopes


@public
@dataclass(frozen=True)
class ImplicitTrapezoid(Method):
    """The trapezoidal rule with the constraints on position and velocity at the end: order 2."""

    name: ClassVar[str] = "implicit-trapezoid"
    order: ClassVar[int] = 2
    symplectic: ClassVar[bool] = False
    symmetric: ClassVar[bool] = False
    references: ClassVar[tuple[str, ...]] = ("ascher1998, 9.3 and 10.1", "gear1985")

    def program(self, step: Step) -> None:
        h, t1 = step.h, step.t1
        v0, rate = slopes(step, step.q, step.p, step.t, acceleration)
        v, p = step.unknown("v1", guess=step.v), step.unknown("p1", guess=step.p)
        w, r = step.unknown("w"), step.unknown("r")
        lam, eta = step.unknown("lambda", "c"), step.unknown("eta", "c")
        dq = (0.5 * h) * (v0 + v + w)
        q1 = step.moved(dq)
        dp = (0.5 * h) * (rate + step.force(q1, v, p, t1) - step.push(q1, t1, lam))
        step.solve(
            (r, r + step.push(q1, t1, eta)),
            (w, step.respond(q1, v, p, w, r, t1)),
            (v, step.link(q1, v, p, t1)),
            (p, p - step.p - dp),
            (lam, step.hidden(q1, v, t1)),
            (eta, step.g(q1, t1)),
            watch=v + w,
            each=[v, w],
        )
        step.advance(q=dq, p=dp, v=v)
