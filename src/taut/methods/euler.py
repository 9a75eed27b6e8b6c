"""Symplectic Euler on the index-1 equations: what ZG compares with, plain and projected.

The multiplier is replaced by its value at the level of accelerations, λ(q, p, t), which turns
the DAE into the ODE  q̇ = H_p,  ṗ = F(q, p) − G(q)ᵀλ(q, p);  then

    p₁ = p₀ + h (F(q₀, p₁) − G(q₀)ᵀλ(q₀, p₁)),      q₁ = q₀ + h H_p(q₀, p₁).

The ODE is Hamiltonian on the constraint manifold only, so this step is not symplectic there and
its energy drifts; projecting afterwards (`Projected`) repairs g and G q̇ but not the energy.

Source: Hairer, Lubich & Wanner 2006, p. 13 (I.1) and VII.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taut.calls import public
from taut.methods.base import Method, Step, Vector


@public
@dataclass(frozen=True)
class SymplecticEuler(Method):
    """Symplectic Euler on the index-reduced equations: drifts off the constraints."""

    name: ClassVar[str] = "symplectic-euler"
    order: ClassVar[int] = 1
    symplectic: ClassVar[bool] = False
    symmetric: ClassVar[bool] = False
    keeps_constraints: ClassVar[bool] = False
    references: ClassVar[tuple[str, ...]] = ("hairer2006, I.1",)

    def program(self, step: Step) -> None:
        v, rate = reduced_euler(step)
        dq, dp = step.h * v, step.h * rate
        q1, p1 = step.moved(dq), step.p + dp
        v1 = step.unknown("v1", guess=step.v)
        step.solve((v1, step.link(q1, v1, p1, step.t1)), watch=v1)
        step.advance(q=dq, p=dp, v=v1)


def reduced_euler(step: Step) -> tuple[Vector, Vector]:
    """(v, ṗ) of the index-1 equations at (q₀, p₁), p₁ = p₀ + h ṗ."""
    t, h, q, p = step.t, step.h, step.q, step.p
    v = step.unknown("v", guess=step.v)
    a, rate = step.unknown("a"), step.unknown("rate")
    lam = step.unknown("lambda", "c")
    p1 = p + h * rate
    step.solve(
        (v, step.link(q, v, p1, t)),
        (rate, rate - step.force(q, v, p1, t) + step.push(q, t, lam)),
        (a, step.rate(q, v, p1, a, rate, t)),
        (lam, step.hidden_rate(q, v, a, t)),
        watch=v,
    )
    return v, rate
