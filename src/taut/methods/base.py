"""The language a method is written in.

A method is one function ``program(step)`` that writes down a step in terms of a `Step`:

* ``step.q, step.p, step.v``                   the state at the start and its velocity;
* ``step.t, step.t1, step.h``                  both times and the step size;
* ``step.mixed``                               whether it is given by L, and L_v depends on q;
* ``step.separable``                           whether the mass is constant, and p − M v, too;
* ``step.unknown(name, guess=…)``              a vector to be solved for;
* ``step.stages(name, nodes, guess=…)``        values of a smooth curve at nodes of the step;
* ``step.solve((u, residual), …, watch=v)``    residual = 0, each paired with "its" unknown;
* ``step.advance(q=Δq, p=Δp, v=…)``            the new state, as increments;
* ``step.table(name) @ x``                     a matrix that depends on h, see `Method.tables`;
* ``step.remember(name)``                      what the step before handed on under this name;

and of the mechanics, which is a sum of terms (``v``, ``p`` are linked by the Legendre transform):

* ``step.link(q, v, p, t)``          zero where p = L_v (or v = H_p)
* ``step.force(q, v, p, t)``         L_q + f (or −H_q + f)
* ``step.g(q, t)``                   the constraints
* ``step.push(q, t, λ)``             Gᵀλ
* ``step.hidden(q, v, t)``           G v + ∂g/∂t
* ``step.rate(q, v, p, a, r, t)``    zero where r = d/dt L_v (or a = d/dt H_p), v̇ = a, ṗ = r
* ``step.respond(q, v, p, w, r, t)`` zero where r = L_vv w (or w = H_pp r): impulse and response
* ``step.hidden_rate(q, v, a, t)``   d/dt (G v + ∂g/∂t)

Between two states there are means that are exact difference quotients (D is a discrete gradient,
D f·(y − x) = f(y) − f(x); t is the time of the middle; ψ = G v + ∂g/∂t):

* ``step.mean_velocity(q, v, p, q1, v1, p1, t)``       (v + v₁)/2 (or D_p H)
* ``step.mean_force(q, v, p, q1, v1, p1, t)``          D_q L (or −D_q H) + f at the middle
* ``step.mean_push(q, q1, t, λ)``                      (D_q g)ᵀλ
* ``step.mean_lift(q, v, q1, v1, t, λ)``               (D_v ψ)ᵀλ
* ``step.mean_respond(q, p, q1, p1, w, r, t)``         zero where w is the velocity of the impulse r
* ``step.mean_bend(q, v, p, q1, v1, p1, w, r, t, λ)``  (D_q ψ)ᵀλ, also through v(q, p)

Without f, E₁ − E₀ = mean_velocity·(p₁ − p₀) − mean_force·(q₁ − q₀); and for r = mean_lift and its
w, λ·(ψ₁ − ψ₀) = w·(p₁ − p₀) + mean_bend·(q₁ − q₀).

These are all linear in the terms of the system, so the same program serves the fused back end
(everything inlined) and the assembled one (kernels per type of term, gathered and scattered).
Elimination, differentiation, Newton and the loop are the engine's business.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    import sympy as sp

    from taut.model.system import System

import numpy as np

from taut.calls import public
from taut.cite import Sourced
from taut.errors import InputError
from taut.text import table

Vector = Any  # a CasADi SX column; methods only add, scale and pass it on


class Step(Protocol):
    """What a method sees; see the module's head."""

    q: Vector
    p: Vector
    v: Vector
    t: Any
    t1: Any
    h: Any
    mixed: bool  # whether the system is given by L and its p = L_v depends on q as well
    separable: bool  # whether v is an affine function of p alone: a constant mass, no terms q v

    def unknown(self, name: str, space: str = "q", guess: Vector | None = None) -> Vector:
        """A vector to be solved for: in the space of coordinates ``"q"`` or of multipliers ``"c"``.

        `guess` (default 0) starts the first step; later ones extrapolate from the steps before.
        """
        ...

    def stages(self, name: str, nodes: np.ndarray, guess: Vector | None = None) -> list[Vector]:
        """Unknowns that are the values of one smooth function of time at t + node·h.

        Guesses are then extrapolated by the polynomial through all stages of the last steps.
        """
        ...

    def solve(
        self, *pairs: tuple[Vector, Vector], watch: Vector, each: Sequence[Vector] = ()
    ) -> None:
        """Require residual = 0 for every pair (unknown, residual).

        Pairs are listed in the order in which they are best eliminated: mass-like blocks first,
        multipliers last.  `watch` is the velocity whose changes tell whether an iteration has
        converged: h·Δwatch is compared with the size of the coordinates.  Where it is a mean of
        several velocities, these are given as `each` and watched one by one: their errors may
        cancel in the mean (from rest the guess 3V₁ of the second step is right in the mean alone),
        and what is quadratic in them stays.
        """
        ...

    def moved(self, dq: Vector) -> Vector:
        """Q + Δq as the compensated sum will round it."""
        ...

    def kicked(self, dp: Vector) -> Vector:
        """P + Δp as the compensated sum will round it."""
        ...

    def corrected(self, inner: Method, laws: Sequence[sp.Expr], **options: Any) -> None:
        """A step of another method, corrected so that laws keep their values at the start."""
        ...

    def remember(self, name: str) -> Vector:
        """The vector that the step before handed on; before the first step, the acceleration v̇.

        A step that remembers is no map of (q, p), so it cannot be symmetric.
        """
        ...

    def advance(
        self,
        *,
        q: Vector,
        p: Vector,
        v: Vector,
        tangent: Vector | None = None,
        remember: dict[str, Vector] | None = None,
    ) -> None:
        """State at the end: increments of q and p, and the velocity there.

        `tangent` is a part of Δp in the range of Gᵀ that makes the result tangent.  It belongs to
        the result, but need not be carried into the next step: every method that solves for an
        impulse Gᵀλ at its start absorbs it there.  `remember` hands vectors on to the next step.
        """
        ...

    def table(self, name: str, cols: str = "q") -> Any:
        """A matrix of `Method.tables`, n × n, or with ``cols="1"`` a vector."""
        ...

    def link(self, q: Vector, v: Vector, p: Vector, t: Any) -> Vector: ...
    def force(self, q: Vector, v: Vector, p: Vector, t: Any) -> Vector: ...
    def g(self, q: Vector, t: Any) -> Vector: ...
    def push(self, q: Vector, t: Any, multipliers: Vector) -> Vector: ...
    def hidden(self, q: Vector, v: Vector, t: Any) -> Vector: ...
    def rate(self, q: Vector, v: Vector, p: Vector, a: Vector, r: Vector, t: Any) -> Vector: ...
    def respond(self, q: Vector, v: Vector, p: Vector, w: Vector, r: Vector, t: Any) -> Vector: ...
    def hidden_rate(self, q: Vector, v: Vector, a: Vector, t: Any) -> Vector: ...
    def mean_velocity(
        self, q: Vector, v: Vector, p: Vector, q1: Vector, v1: Vector, p1: Vector, t: Any
    ) -> Vector: ...
    def mean_force(
        self, q: Vector, v: Vector, p: Vector, q1: Vector, v1: Vector, p1: Vector, t: Any
    ) -> Vector: ...
    def mean_push(self, q: Vector, q1: Vector, t: Any, multipliers: Vector) -> Vector: ...
    def mean_lift(
        self, q: Vector, v: Vector, q1: Vector, v1: Vector, t: Any, multipliers: Vector
    ) -> Vector: ...
    def mean_respond(
        self, q: Vector, p: Vector, q1: Vector, p1: Vector, w: Vector, r: Vector, t: Any
    ) -> Vector: ...
    def mean_bend(
        self, q: Vector, v: Vector, p: Vector, q1: Vector, v1: Vector, p1: Vector,
        w: Vector, r: Vector, t: Any, multipliers: Vector,
    ) -> Vector: ...  # fmt: skip
    def split(self, x: Vector) -> tuple[Vector, Vector]:
        """The independent and the dependent components of x in the present chart."""
        ...

    def null_space(self, q: Vector, t: Any) -> Vector:
        """N = ∂q/∂u in the present chart: G N = 0, identity in the independent rows."""
        ...


@public
@dataclass(frozen=True)
class Method(Sourced, ABC):
    """A one-step method: its mathematics, its claims (verified by the tests), its references.

    The claims are class attributes; a method's options are dataclass fields.
    """

    name: ClassVar[str]
    order: ClassVar[int]
    symplectic: ClassVar[bool]
    symmetric: ClassVar[bool]
    keeps_constraints: ClassVar[bool] = True
    keeps_hidden: ClassVar[bool] = True  # where constraints are kept: G v + ∂g/∂t = 0, too
    keeps_energy: ClassVar[bool] = False  # to round-off
    charted: ClassVar[bool] = False
    depth: ClassVar[int] = 1  # stages that are solved for together
    substeps: ClassVar[tuple[float, ...]] = (1.0,)  # a step is the program with h times each
    pace: ClassVar[Any] = None  # the expression that steps are to be proportional to, if they vary
    told_by_order: ClassVar[str] = ""  # the option that stands in its name as the order
    shared: ClassVar[bool] = False  # whether forces at t₁ serve half of this step and of the next

    @abstractmethod
    def program(self, step: Step) -> None:
        """Write one step down."""

    @property
    def tabled(self) -> bool:
        """Whether the program asks for tables, which belong to one step size."""
        return type(self).tables is not Method.tables

    @property
    def whole(self) -> Method:
        """The method whose steps a step is composed of: itself, unless there are sub-steps."""
        return self

    @property
    def steady(self) -> Method:
        """The method with steps of one size: itself, unless they vary."""
        return self

    @property
    def key(self) -> str:
        """Name and options, as one string."""
        options = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self))
        return f"{self.name}({options})"

    @property
    def label(self) -> str:
        """Name and the options that differ from their defaults, for people."""
        told = self.told_by_order
        name = f"{self.name}-{self.order}" if told else self.name
        others = [f for f in fields(self) if f.name != told]
        changed = [str(getattr(self, f.name)) for f in others if getattr(self, f.name) != f.default]
        return f"{name} ({', '.join(changed)})" if changed else name

    def claims(self) -> list[tuple[str, str]]:
        """What it is said to do, and where it is from: rows of a table."""
        words = {True: "yes", False: "no"}
        return [
            ("order", str(self.order)),
            ("symplectic", words[self.symplectic]),
            ("symmetric", words[self.symmetric]),
            ("keeps g = 0", words[self.keeps_constraints]),
            ("keeps the energy", words[self.keeps_energy]),
            ("source", self.source),
        ]

    def _repr_html_(self) -> str:
        return table(self.claims(), self.label)

    def tables(self, mechanics: Any, parameters: np.ndarray, h: float) -> dict[str, np.ndarray]:
        """The numbers that `program` asks for as tables, for this step size.

        `mechanics` are the system's operators as numbers (`taut.kernel.evaluate.Mechanics`).
        """
        return {}

    def invariants_of(self, system: System) -> tuple[sp.Expr, ...]:
        """At most quadratic functions that discrete gradients go through where they can."""
        return ()

    def fitted(self, system: System, values: Mapping[str, float]) -> Method:
        """The method for this system, with these parameters: itself, unless it looks for laws."""
        return self

    def begun(self, mechanics: Any, parameters: np.ndarray, q: np.ndarray) -> Method:
        """The method for a run that begins at q: itself, unless it is made for that state."""
        return self

    def notes(self, system: System) -> list[tuple[str, str, str]]:
        """What the method found out about a system: rows (what, value, verdict) of a table."""
        return []

    def start_momentum(self, step: Step, v: Vector) -> Vector | None:
        """Correction added to p₀ = L_v(q₀, v₀) at the start of a run; ``None`` for none."""
        return None


@public
class Wrapped(Method):
    """A method made of another one, `inner`, which it is like in all that it does not change."""

    @property
    @abstractmethod
    def inner(self) -> Method:
        """The method inside."""

    @property
    def corrects(self) -> bool:
        """Whether there is a correction in it, here or further inside."""
        return isinstance(self.inner, Wrapped) and self.inner.corrects

    @property
    def order(self) -> int:  # type: ignore[override]
        return self.inner.order

    @property
    def symplectic(self) -> bool:  # type: ignore[override]
        return self.inner.symplectic

    @property
    def shared(self) -> bool:  # type: ignore[override]
        return self.inner.shared

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return self.inner.symmetric

    @property
    def keeps_constraints(self) -> bool:  # type: ignore[override]
        return self.inner.keeps_constraints

    @property
    def keeps_hidden(self) -> bool:  # type: ignore[override]
        return self.inner.keeps_hidden

    @property
    def keeps_energy(self) -> bool:  # type: ignore[override]
        return self.inner.keeps_energy

    @property
    def charted(self) -> bool:  # type: ignore[override]
        return self.inner.charted

    @property
    def depth(self) -> int:  # type: ignore[override]
        return self.inner.depth

    @property
    def substeps(self) -> tuple[float, ...]:  # type: ignore[override]
        return self.inner.substeps

    @property
    def whole(self) -> Method:
        return self.inner.whole

    @property
    def tabled(self) -> bool:
        return self.inner.tabled

    def program(self, step: Step) -> None:
        self.inner.program(step)

    @property
    def cited(self) -> tuple[str, ...]:
        return (*self.references, *self.inner.cited)

    def fitted(self, system: System, values: Mapping[str, float]) -> Method:
        inner = self.inner.fitted(system, values)
        return self if inner is self.inner else replace(self, base=inner)  # type: ignore[call-arg]

    def begun(self, mechanics: Any, parameters: np.ndarray, q: np.ndarray) -> Method:
        inner = self.inner.begun(mechanics, parameters, q)
        return self if inner is self.inner else replace(self, base=inner)  # type: ignore[call-arg]

    def start_momentum(self, step: Step, v: Vector) -> Vector | None:
        return self.inner.start_momentum(step, v)

    def tables(self, mechanics: Any, parameters: np.ndarray, h: float) -> dict[str, np.ndarray]:
        return self.inner.tables(mechanics, parameters, h)

    def invariants_of(self, system: System) -> tuple[sp.Expr, ...]:
        return self.inner.invariants_of(system)

    def notes(self, system: System) -> list[tuple[str, str, str]]:
        return self.inner.notes(system)


def weighted(weights: Any, vectors: list[Vector]) -> Vector:
    """Σ wᵢ xᵢ without the zeros; weights beyond the last vector are left out."""
    parts = [float(w) * x for w, x in zip(weights, vectors, strict=False) if w]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def handed_on(asked: Iterable[str], given: dict[str, Vector] | None) -> list[Vector]:
    """What a program hands on, in the order in which it asks for it."""
    names, values = list(asked), given or {}
    if set(names) != set(values):
        raise InputError(
            "a method must hand on what it remembers",
            expected=f"remember= with {', '.join(names) or 'nothing'}",
            received=", ".join(values) or "nothing",
        )
    return [values[name] for name in names]


def moment(step: Step, c: float) -> Any:
    """The time t + c h, exact at both ends."""
    if c == 0:
        return step.t
    return step.t1 if c == 1 else step.t + float(c) * step.h


def projected(step: Step, q: Vector, p: Vector, t: Any) -> tuple[Vector, Vector]:
    """The impulse −Gᵀμ and the velocity v with  v ∼ p − Gᵀμ,  G v + ∂g/∂t = 0.

    Returns (−Gᵀμ, v).
    """
    v = step.unknown("v1", guess=step.v)
    p1 = step.unknown("p1", guess=step.p)
    mu = step.unknown("mu", "c")
    step.solve(
        (p1, p1 - p + step.push(q, t, mu)),
        (v, step.link(q, v, p1, t)),
        (mu, step.hidden(q, v, t)),
        watch=v,
    )
    return -step.push(q, t, mu), v
