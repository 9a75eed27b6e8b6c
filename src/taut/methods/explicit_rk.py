"""Explicit Runge–Kutta methods on the index-1 equations: what is used where nothing else is known.

The multiplier is replaced by its value λ(q, p, t) at the level of accelerations, from

    d/dt (G v + ∂g/∂t) = 0,

which turns the DAE into the ODE  q̇ = v,  ṗ = F − Gᵀλ;  a tableau (A, b) then gives

    Qᵢ = q + h Σ aᵢⱼ Vⱼ,      Pᵢ = p + h Σ aᵢⱼ Rⱼ,      Vᵢ ∼ (Qᵢ, Pᵢ),      Rᵢ = F − Gᵀλ at stage i,
    q₁ = q + h Σ bⱼ Vⱼ,       p₁ = p + h Σ bⱼ Rⱼ.

g and G v are invariants of the ODE that no such method keeps: they drift off, and so does the
energy.

Source: Hairer, Nørsett & Wanner 1993, II.1, II.5 and II.10; Hairer & Wanner 1996, VII.2 (index
reduction).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from taut.calls import public
from taut.errors import InputError, UnknownName, brief
from taut.methods.base import Method, Step, Vector, moment, weighted
from taut.methods.explicit_tableaux import TABLEAUX, full, order_of

REFERENCES = {
    "dopri5": ("dormand1980", "hairer1993, II.5"),
    "dop853": ("hairer1993, II.5 and II.10",),
}
Level = Callable[[Step, Vector, Vector, Vector, Any], Vector]


def acceleration(step: Step, q: Vector, v: Vector, a: Vector, t: Any) -> Vector:
    """d/dt (G v + ∂g/∂t): zero for the multiplier of the index-1 equations."""
    return step.hidden_rate(q, v, a, t)


@public
@dataclass(frozen=True)
class ExplicitRK(Method):
    """An explicit Runge–Kutta method on the index-1 equations: drifts off the constraints.

    Parameters
    ----------
    tableau : "rk4", "dopri5", "dop853", or (A, b)
        A of your own must be strictly lower triangular.
    """

    tableau: Any = "rk4"

    symplectic: ClassVar[bool] = False
    symmetric: ClassVar[bool] = False
    keeps_constraints: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if isinstance(self.tableau, str):
            if self.tableau not in TABLEAUX:
                raise UnknownName("tableau", self.tableau, TABLEAUX)
            return
        a, b = self.arrays
        kept = (tuple(tuple(row[:i]) for i, row in enumerate(a.tolist())), tuple(b.tolist()))
        object.__setattr__(self, "tableau", kept)  # hashable, and part of the method's key

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.tableau if isinstance(self.tableau, str) else "explicit-rk"

    @property
    def references(self) -> tuple[str, ...]:  # type: ignore[override]
        return REFERENCES.get(self.name, ("hairer1993, II.1",))

    @property
    def label(self) -> str:
        return self.name

    @property
    def order(self) -> int:  # type: ignore[override]
        return order_of(*self.arrays)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """(A, b)."""
        given = TABLEAUX[self.tableau] if isinstance(self.tableau, str) else self.tableau
        try:
            rows, weights = given
            a, b = full(rows), np.array(weights, dtype=float)
        except Exception as error:  # things of somebody's own raise what they like
            raise _misshapen(given) from error
        finite = np.all(np.isfinite(a)) and np.all(np.isfinite(b))
        if b.ndim != 1 or len(b) != len(a) or not len(b) or not finite:
            raise _misshapen(given)
        if np.any(np.triu(a)) or abs(b.sum() - 1) > 1e-13:
            raise InputError(
                "the tableau is not explicit" if np.any(np.triu(a)) else "weights do not add up",
                expected="A strictly lower triangular and Σ bᵢ = 1",
                received=f"Σ bᵢ = {b.sum():.16g}, {np.count_nonzero(np.triu(a))} entries above",
                remedy="implicit symplectic tableaux are for SymplecticRK",
            )
        return a, b

    def program(self, step: Step) -> None:
        self.march(step, acceleration)

    def march(self, step: Step, level: Level) -> None:
        """The step, with λ from level(step, q, v, a, t) = 0."""
        a, b = self.arrays
        h, v, rates = step.h, [], []
        for row in a:
            place, momentum = step.q, step.p
            if np.any(row):
                place = step.moved(h * weighted(row, v))
                momentum = step.kicked(h * weighted(row, rates))
            found = slopes(step, place, momentum, moment(step, float(row.sum())), level)
            v.append(found[0])
            rates.append(found[1])
        dq, dp = h * weighted(b, v), h * weighted(b, rates)
        q1, p1 = step.moved(dq), step.kicked(dp)
        v1 = step.unknown("v1", guess=step.v)
        step.solve((v1, step.link(q1, v1, p1, step.t1)), watch=v1)
        step.advance(q=dq, p=dp, v=v1)


def slopes(step: Step, q: Vector, p: Vector, t: Any, level: Level) -> tuple[Vector, Vector]:
    """(q̇, ṗ) of the index-reduced equations."""
    v = step.unknown("V", guess=step.v)
    step.solve((v, step.link(q, v, p, t)), watch=v)
    a, rate, lam = step.unknown("A"), step.unknown("R"), step.unknown("lambda", "c")
    step.solve(
        (rate, rate - step.force(q, v, p, t) + step.push(q, t, lam)),
        (a, step.rate(q, v, p, a, rate, t)),
        (lam, level(step, q, v, a, t)),
        watch=a,
    )
    return v, rate


def _misshapen(given: Any) -> InputError:
    return InputError(
        "that is no tableau",
        expected="a name, or (A, b) with rows of A as long as their number or shorter",
        received=brief(given),
    )
