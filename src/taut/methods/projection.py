"""Any method, followed by the projection onto the constraints: "index 1 with projection".

The step of the base method lands at (q̂, p̂) with the velocity v̂.  Then

    q₁ = q̂ + h w,      M(q̂) w = −G(q̂)ᵀν,      g(q₁, t₁) = 0,
    p₁ = p̂ − G(q₁)ᵀμ,  v₁ ∼ (q₁, p₁),          G(q₁) v₁ + ∂g/∂t = 0:

the nearest position in the metric of the mass, then the nearest momentum.  This keeps the order and
the constraints; symplecticity and symmetry are lost, and the energy drifts.

Source: Hairer, Lubich & Wanner 2006, IV.4; Hairer & Wanner 1996, VII.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

from taut.calls import public
from taut.errors import InputError
from taut.methods.base import Method, Step, Vector, Wrapped, projected
from taut.methods.registry import method_of


@public
@dataclass(frozen=True)
class Projected(Wrapped):
    """A step of another method, then the M(q̂)-orthogonal projection onto g = 0 and G q̇ = 0.

    Parameters
    ----------
    base : str or Method
    """

    base: str | Method

    symplectic: ClassVar[bool] = False
    symmetric: ClassVar[bool] = False
    keeps_constraints: ClassVar[bool] = True
    keeps_hidden: ClassVar[bool] = True
    keeps_energy: ClassVar[bool] = False
    references: ClassVar[tuple[str, ...]] = ("hairer2006, IV.4 and VII.1",)

    def __post_init__(self) -> None:
        base = method_of(self.base)
        if base.pace is not None:
            raise InputError(
                "steps of varying size are not projected",
                expected="a method with steps of one size",
                received=base.label,
                remedy="symmetric methods of the catalogue keep the constraints by themselves",
            )
        if isinstance(base, Wrapped) and base.corrects:
            raise InputError(
                "a corrected method cannot be projected",
                expected="Corrected(…, iterate=True), which keeps the constraints as well",
                received=base.label,
            )
        object.__setattr__(self, "base", base)

    @property
    def inner(self) -> Method:
        """The method whose steps are projected."""
        assert isinstance(self.base, Method)
        return self.base

    @property
    def whole(self) -> Method:
        return Projected(self.inner.whole)

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"projected-{self.inner.name}"

    @property
    def label(self) -> str:
        return f"projected-{self.inner.label}"

    def program(self, step: Step) -> None:
        landing = _Landing(step)
        self.inner.program(cast(Step, landing))
        h, t1 = step.h, step.t1
        landed, p1 = step.moved(landing.dq), step.kicked(landing.dp)
        w, r, nu = step.unknown("w"), step.unknown("r"), step.unknown("nu", "c")
        dq = landing.dq + h * w
        q1 = step.moved(dq)
        step.solve(
            (r, r + step.push(landed, t1, nu)),
            (w, step.respond(landed, landing.v, p1, w, r, t1)),
            (nu, step.g(q1, t1)),
            watch=w,
        )
        correction, v1 = projected(step, q1, p1, t1)
        step.advance(q=dq, p=landing.dp + correction, v=v1, remember=landing.remembered)


class _Landing:
    """The step that the base method sees; what it wants to advance by stays here."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def __getattr__(self, name: str) -> Any:
        return getattr(self._step, name)

    def advance(self, *, q: Vector, p: Vector, v: Vector, tangent=None, remember=None) -> None:
        self.dq, self.dp, self.v = q, p, v  # the projection finds the tangent part itself
        self.remembered = remember
