"""RATTLE for a general Hamiltonian H(q, p, t), with forces and moving constraints.

    p½ = p₀ + h/2 F(q₀, p½) − G(q₀)ᵀλ,
    q₁ = q₀ + h/2 (H_p(q₀, p½) + H_p(q₁, p½)),     g(q₁, t₁) = 0,
    p₁ = p½ + h/2 F(q₁, p½) − G(q₁)ᵀμ,             G(q₁) H_p(q₁, p₁) + ∂g/∂t = 0,

F = −H_q + f.  The velocities v_a ∼ (q₀, p½) and v_b ∼ (q₁, p½) are unknowns of their own, linked
to p½ by the Legendre transform, so that a system given by L needs no inverse mass.

Source: Andersen 1983; Jay 1996, eq. (2.1); Hairer, Lubich & Wanner 2006, VII.1.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taut.calls import public
from taut.methods.base import Method, Step, projected


@public
@dataclass(frozen=True)
class Rattle(Method):
    """RATTLE: Störmer–Verlet on the constraint manifold, for general H(q, p, t)."""

    name: ClassVar[str] = "rattle"
    order: ClassVar[int] = 2
    symplectic: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True
    references: ClassVar[tuple[str, ...]] = ("andersen1983", "jay1996")

    def program(self, step: Step) -> None:
        t, t1, h, q, p = step.t, step.t1, step.h, step.q, step.p
        half = step.unknown("p_half", guess=p)
        va, vb = (step.unknown(name, guess=step.v) for name in ("va", "vb"))
        lam = step.unknown("lambda", "c")
        dq = h * (0.5 * (va + vb))
        q1 = step.moved(dq)
        impulse = step.push(q, t, lam)
        kick = (0.5 * h) * step.force(q, va, half, t)
        step.solve(
            (va, step.link(q, va, half, t)),
            (half, half - p - kick + impulse),
            (vb, step.link(q1, vb, half, t1)),
            (lam, step.g(q1, t1)),
            watch=0.5 * (va + vb),
        )
        dp = kick - impulse + (0.5 * h) * step.force(q1, vb, half, t1)
        correction, v1 = projected(step, q1, step.kicked(dp), t1)
        step.advance(q=dq, p=dp, v=v1, tangent=correction)
