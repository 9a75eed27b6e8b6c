"""Any method, held to the laws of its system: SGM's one-step correction, and what became of it.

After a step of the base method the state ŷ = (q̂, v̂), or (q̂, p̂), no longer has the values C that the
laws I had at the start.  With φ = (g, G v + ∂g/∂t, I − C) and J = ∂φ/∂y,

    Δy = −N⁻¹Jᵀ (J N⁻¹Jᵀ)⁻¹ φ(ŷ)                         (one step: φ is O(φ²) afterwards),
    y₁ = ŷ + N⁻¹J(ŷ)ᵀκ,   φ(y₁) = 0                      (iterate: to round-off),

in the norm N = 1, or N = M for changes of q and v (M⁻¹ for those of p), in the model's unit of
time.
All laws and constraints are corrected together: one after the other, each would undo some of the
others.  Where laws are functions of the positions, φ(q, t) (constraints among them), one step is
SGM's (10) to (20) as printed: positions with ∂φ/∂q, then velocities with φ̇ and ∂φ̇/∂q̇.

Rows of J that depend on the ones before them at the present state are left out of the step; so
laws may be redundant, everywhere or at some states.

The symmetric variant leaves the surface before the step and comes back after it with the same
multipliers, so that a symmetric base stays symmetric: ŷ₀ = y₀ + N⁻¹J(y₀)ᵀμ, ŷ₁ = Φ_h(ŷ₀),
y₁ = ŷ₁ + N⁻¹J(y₁)ᵀμ.

The order of the base is kept, symplecticity is lost.

Source: Shang, Guo & Mei 2008, equations (10) to (20); Hairer, Lubich & Wanner 2006, IV.4 and V.4.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import sympy as sp

from taut.calls import public
from taut.errors import InputError, brief, flag, listed, word
from taut.methods.base import Method, Step, Wrapped
from taut.methods.registry import method_of
from taut.model.symbols import scalar

if TYPE_CHECKING:
    from taut.model.system import System

NORMS = ("mass", "euclid")
_CHECKED: dict[tuple, tuple[sp.Expr, ...]] = {}  # laws that have been found to be some system's


@public
@dataclass(frozen=True)
class Corrected(Wrapped):
    """A method whose every step is corrected so that laws keep their values.

    Parameters
    ----------
    base : str or Method
        Any method of the catalogue, explicit ones included, or a method object.
    laws : list of `Law` or of expressions, optional
        What to keep; redundant ones do no harm.  Without it laws are looked for when a run begins.
        ``[]`` corrects constraints alone.
    iterate : bool
        To round-off; otherwise one correction per step.
    norm : "mass" or "euclid"
        In which the corrected state is the nearest.  Flows have no mass: "euclid".
    symmetric : bool
        The symmetric variant, of a symmetric base; it always iterates.

    Examples
    --------
    >>> import sympy as sp, taut
    >>> x, y = q = taut.coordinates("x y")
    >>> kepler = taut.System(q, mass=1, potential=-1 / sp.sqrt(x**2 + y**2))
    >>> held = taut.Corrected("rk4", taut.conserved(kepler), iterate=True)
    >>> run = taut.simulate(kepler, q0=[0.5, 0], v0=[0, 1.7], duration=50, step=0.02, method=held)
    >>> bool(abs(run.energy - run.energy[0]).max() < 1e-14)
    True
    """

    base: str | Method = "rk4"
    laws: Any = None
    iterate: bool = False
    norm: str = "mass"
    symmetric: bool = field(default=False, kw_only=True)  # type: ignore[assignment]

    name: ClassVar[str] = "corrected"
    symplectic: ClassVar[bool] = False
    keeps_energy: ClassVar[bool] = False
    references: ClassVar[tuple[str, ...]] = ("shang2008", "hairer2006, IV.4 and V.4.1")

    def __post_init__(self) -> None:
        base = method_of(self.base)
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "laws", _listed(self.laws))
        if isinstance(base, Wrapped) and base.corrects:
            raise InputError(
                "a corrected method cannot be corrected again",
                expected="one correction, with all the laws in one list",
                received=base.label,
            )
        for option in ("iterate", "symmetric"):
            flag(option, getattr(self, option))
        word("norm", self.norm, NORMS)
        fit = base.symmetric and base.keeps_hidden and not base.charted and base.pace is None
        if self.symmetric and not (fit and len(base.substeps) == 1):
            raise InputError(
                f"{base.label} has no symmetric correction",
                expected="a symmetric method that keeps the constraints, in one step of one size",
                received=base.label,
                remedy="iterate=True holds the laws of any method; rattle and gauss-lobatto are "
                "symmetric"
                if not base.symmetric
                else "Composition(Corrected(…, symmetric=True)) and Adaptive(Corrected(…, "
                "symmetric=True), scale=…) go the other way round",
            )

    @property
    def inner(self) -> Method:
        """The method that is corrected."""
        assert isinstance(self.base, Method)
        return self.base

    @property
    def corrects(self) -> bool:
        return True

    @property
    def whole(self) -> Method:
        return replace(self, base=self.inner.whole)

    @property
    def steady(self) -> Method:
        return replace(self, base=self.inner.steady)

    @property
    def pace(self) -> Any:  # type: ignore[override]
        return self.inner.pace

    @property
    def keeps_constraints(self) -> bool:  # type: ignore[override]
        return self.iterate or self.symmetric

    @property
    def keeps_hidden(self) -> bool:  # type: ignore[override]
        return self.keeps_constraints

    @property
    def label(self) -> str:
        how = "symmetric" if self.symmetric else "to round-off" if self.iterate else "one step"
        count = 0 if self.laws is None else len(self.laws)
        what = f"{count} law{'s'[: count != 1]}" if count else "constraints"
        return f"{self.inner.label} corrected ({what}, {how})"

    def fitted(self, system: System, values: Mapping[str, float]) -> Method:
        """With laws that are there: those that were given are checked, others looked for."""
        from taut.laws.check import checked
        from taut.laws.known import laws_of

        laws = self.laws
        if laws is None:
            found = laws_of(system, values)
            if isinstance(found, Exception):
                raise found
            laws = _listed(found)
        else:
            key = (system.key, laws, tuple(values.items()))
            if key not in _CHECKED:
                model = system if system.flow is None else system.flow
                _CHECKED[key] = tuple(checked(model, e, values).expression for e in laws)
            laws = _CHECKED[key]
        return replace(self, base=self.inner.fitted(system, values), laws=laws)

    def notes(self, system: System) -> list[tuple[str, str, str]]:
        rows = self.inner.notes(system)
        if not self.laws and not system.c:
            rows = [*rows, ("corrections", "no law and no constraint to correct", "")]
        return rows

    def program(self, step: Step) -> None:
        assert self.laws is not None, "laws are looked for before a step is made"
        step.corrected(
            self.inner,
            self.laws,
            iterate=self.iterate,
            norm=self.norm,
            symmetric=self.symmetric,
        )


def _listed(laws: Any) -> tuple[sp.Expr, ...] | None:
    """Laws as expressions.

    Not the independent ones alone: on special motions they may depend on each other.
    """
    if laws is None:
        return None
    if hasattr(laws, "expression") or isinstance(laws, sp.Expr):
        laws = [laws]
    if isinstance(laws, Mapping):  # {name: expression}, as simulate(laws=…) takes them
        laws = laws.values()
    if isinstance(laws, str) or not isinstance(laws, Iterable):
        raise InputError(
            "laws cannot be kept",
            expected="a list of laws or expressions, as taut.conserved returns it",
            received=brief(laws),
        )
    return tuple(scalar(getattr(x, "expression", x), "a law") for x in listed("laws", laws))
