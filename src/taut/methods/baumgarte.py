"""Baumgarte's stabilisation: the hidden constraints are made to decay instead of being kept.

The multiplier is not taken from g̈ = 0, which is unstable, but from

    g̈ + 2α ġ + β² g = 0,      ġ = G v + ∂g/∂t,

and the resulting ODE is integrated by an explicit Runge–Kutta method.  On the constraints the added
terms vanish, so the order is that of the Runge–Kutta method.  g is not zero but as large as the
errors that feed the oscillator; where h α is large the oscillator itself is stiff and the step
unstable (α = β gives the double root −α, for which RK4 needs h α < 2.79).  α and β are rates
(1/time); α = β is critical damping.

Source: Baumgarte 1972, Comput. Methods Appl. Mech. Eng. 1, 1; Ascher, Chin & Reich 1994, Numer.
Math. 67, 131 (the choice of α and β).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from taut.calls import public
from taut.errors import InputError, number
from taut.methods.base import Method, Step, Vector
from taut.methods.explicit_rk import ExplicitRK


@public
@dataclass(frozen=True)
class Baumgarte(Method):
    """Baumgarte's stabilisation with an explicit Runge–Kutta method.

    Parameters
    ----------
    alpha, beta : float
        Rates of  g̈ + 2α ġ + β² g = 0;  not negative.
    base : ExplicitRK or str
    """

    alpha: float = 5.0
    beta: float = 5.0
    base: ExplicitRK | str = "rk4"

    name: ClassVar[str] = "baumgarte"
    symplectic: ClassVar[bool] = False
    symmetric: ClassVar[bool] = False
    keeps_constraints: ClassVar[bool] = False
    references: ClassVar[tuple[str, ...]] = ("baumgarte1972", "ascher1994")

    def __post_init__(self) -> None:
        for rate in ("alpha", "beta"):
            value = number(rate, getattr(self, rate), "a rate, 0 or larger")
            if value < 0:
                raise InputError(
                    f"{rate} is negative", expected="a rate, 0 or larger", received=value
                )
            object.__setattr__(self, rate, value)
        if not isinstance(self.base, ExplicitRK):
            object.__setattr__(self, "base", ExplicitRK(self.base))

    @property
    def cited(self) -> tuple[str, ...]:
        assert isinstance(self.base, ExplicitRK)
        return (*self.references, *self.base.cited)

    @property
    def order(self) -> int:  # type: ignore[override]
        return self._base.order

    @property
    def label(self) -> str:
        return f"{self.name} ({self.alpha:g}, {self.beta:g}, {self._base.label})"

    @property
    def _base(self) -> ExplicitRK:
        assert isinstance(self.base, ExplicitRK)
        return self.base

    def program(self, step: Step) -> None:
        self._base.march(step, self.decay)

    def decay(self, step: Step, q: Vector, v: Vector, a: Vector, t: Any) -> Vector:
        """g̈ + 2α ġ + β² g."""
        pull = step.hidden_rate(q, v, a, t) + (2 * self.alpha) * step.hidden(q, v, t)
        return pull + self.beta**2 * step.g(q, t)
