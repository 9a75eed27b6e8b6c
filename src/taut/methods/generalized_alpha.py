"""The generalised-α method on the index-3 equations: what structural and multibody codes use.

An acceleration-like vector a, which the step remembers, is a filtered v̇:

    q₁ = q₀ + h v₀ + h² ((½ − β) a₀ + β a₁),      v₁ = v₀ + h ((1 − γ) a₀ + γ a₁),
    (1 − α_m) a₁ + α_m a₀ = (1 − α_f) v̇₁ + α_f v̇₀,
    ṗ = F − G(q₁)ᵀλ at the end,  with p₁ ∼ (q₁, v₁) and v̇₁,      g(q₁, t₁) = 0.

The spectral radius ρ of the step for a spring of infinite stiffness is chosen; then

    α_m = (2ρ − 1)/(ρ + 1),   α_f = ρ/(ρ + 1),   γ = ½ − α_m + α_f,   β = ¼ (γ + ½)²

is of order 2 and damps low frequencies as little as that allows.  Before the first step a = v̇ of
the exact motion; a is then off by O(h), which leaves q and v at order 2.

Nothing asks for G v = 0: the velocity leaves the constraints by O(h²), and the energy is damped.
All roots of the recursion in the direction of the constraints lie at −ρ.  For ρ = 1 errors grow
with the number of steps, and for ρ < 1 the steps must be fine, the finer the nearer ρ is to 1.
`stabilised` adds an impulse −G(q₁)ᵀμ at the end such that G v₁ + ∂g/∂t = 0, which allows much
coarser ones.

Source: Chung & Hulbert 1993, J. Appl. Mech. 60, 371 (the method); Arnold & Brüls 2007, Multibody
Syst. Dyn. 18, 185 (with constraints, order 2); Lunk & Simeon 2006, ZAMM 86, 772 (both constraints).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taut.calls import public
from taut.errors import InputError, brief, number
from taut.methods.base import Method, Step, projected


@public
@dataclass(frozen=True)
class GeneralizedAlpha(Method):
    """Generalised α for constrained systems (index 3): order 2, with damping of high frequencies.

    Parameters
    ----------
    rho : float
        Spectral radius at infinity, from 0 (all is damped in a step) to 1 (nothing is damped).
    stabilised : bool
        Whether the velocity is made tangent at the end of each step.
    """

    rho: float = 0.8
    stabilised: bool = False

    name: ClassVar[str] = "generalized-alpha"
    order: ClassVar[int] = 2
    symplectic: ClassVar[bool] = False
    symmetric: ClassVar[bool] = False
    shared: ClassVar[bool] = True
    references: ClassVar[tuple[str, ...]] = ("chung1993", "arnold2007", "lunk2006")

    def __post_init__(self) -> None:
        rho = number("rho", self.rho, "a spectral radius between 0 and 1")
        if not 0 <= rho <= 1:
            raise InputError(
                "rho is out of range", expected="a spectral radius between 0 and 1", received=rho
            )
        if not isinstance(self.stabilised, bool):
            raise InputError(
                "stabilised is neither True nor False",
                expected="True or False",
                received=brief(self.stabilised),
            )
        object.__setattr__(self, "rho", rho)

    @property
    def label(self) -> str:
        return f"{self.name} ({self.rho:g}{', stabilised' if self.stabilised else ''})"

    @property
    def keeps_hidden(self) -> bool:  # type: ignore[override]
        return self.stabilised

    @property
    def coefficients(self) -> tuple[float, float, float, float]:
        """α_m, α_f, β, γ."""
        alpha_m, alpha_f = (2 * self.rho - 1) / (self.rho + 1), self.rho / (self.rho + 1)
        gamma = 0.5 - alpha_m + alpha_f
        return alpha_m, alpha_f, 0.25 * (gamma + 0.5) ** 2, gamma

    def program(self, step: Step) -> None:
        h, t1, (alpha_m, alpha_f, beta, gamma) = step.h, step.t1, self.coefficients
        a0, w0 = step.remember("a"), step.remember("w")  # w = v̇
        w1, p1 = step.unknown("w1"), step.unknown("p1", guess=step.p)
        r, lam = step.unknown("r"), step.unknown("lambda", "c")
        a1 = ((1 - alpha_f) * w1 + alpha_f * w0 - alpha_m * a0) / (1 - alpha_m)
        dq = h * (step.v + h * ((0.5 - beta) * a0 + beta * a1))
        q1, v1 = step.moved(dq), step.v + h * ((1 - gamma) * a0 + gamma * a1)
        step.solve(
            (r, r - step.force(q1, v1, p1, t1) + step.push(q1, t1, lam)),
            (p1, step.link(q1, v1, p1, t1)),
            (w1, step.rate(q1, v1, p1, w1, r, t1)),
            (lam, step.g(q1, t1)),
            watch=v1,
        )
        dp, kept = p1 - step.p, {"a": a1, "w": w1}
        if self.stabilised:
            correction, v1 = projected(step, q1, p1, t1)
            dp = dp + correction
        step.advance(q=dq, p=dp, v=v1, remember=kept)
