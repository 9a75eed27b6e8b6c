"""`Problem`: a model with a start and the exact facts known about it.

Every file of this room has the same skeleton: the physics, sign conventions and source in its
docstring; then a function, or one per reading of the source, that builds parameters, system,
start, closed form and facts, in this order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from taut.calls import public
from taut.model.drawing import Drawing
from taut.text import aligned, table

if TYPE_CHECKING:
    import sympy as sp

    from taut.march.trajectory import Trajectory
    from taut.methods.base import Method
    from taut.model.mechanism import Mechanism
    from taut.model.system import System


@dataclass(frozen=True)
class Fact:
    """Something known about the motion, from outside taut.

    Attributes
    ----------
    what : str
        One line, as printed by ``taut problems NAME``.
    source : str
        Publication, closed form, or how it was computed.
    t : float or None
        Time at which the values hold; ``None`` for what holds at all times.
    q, v, p, multipliers : sequences or None
        Values at t; multipliers in ṗ = −H_q + f − Gᵀλ, whatever sign the source uses.
    energy, period : float or None
    quantity, value : Expr and float, or None
        An expression of the system's coordinates and velocities, and what it equals.
    parts : mapping name → mapping, or None
        Of a mechanism: values of what a part or joint is seen to do, {"arm": {"position": (…)}},
        by the names that ``run["arm"]`` has for them.
    accuracy : float
        Absolute accuracy of the values.
    raw : bool
        Holds for the start as it is given, before the projection of a `Problem` with ``project``.
    """

    what: str
    source: str
    t: float | None = None
    q: Sequence[float] | None = None
    v: Sequence[float] | None = None
    p: Sequence[float] | None = None
    multipliers: Sequence[float] | None = None
    energy: float | None = None
    period: float | None = None
    quantity: sp.Expr | None = None
    value: float | None = None
    parts: Mapping[str, Mapping[str, Any]] | None = None
    accuracy: float = 1e-12
    raw: bool = False


@public
@dataclass(frozen=True, repr=False)
class Problem:
    """A model, a start, sensible settings, and known facts.

    Attributes
    ----------
    name, title : str
    system : System
    q0, v0 : sequences
    step, duration : float
        Settings that show the motion well, the source's own where it has any.
    more_steps : tuple of float
        Other steps that the source shows.
    facts : tuple of Fact
    source : str
    exact : callable t → (q, v), optional
        The exact motion where it is known in closed form: t of any shape, one more axis in q and v.
    exact_multipliers : callable t → λ, optional
        Where they are unique, which those of redundant joints are not.
    parameters : mapping
        Values for this problem's run where they are not the system's defaults.
    method : str or Method
        What the motion needs, where that is not the default.
    project : bool
        Whether the start is deliberately inconsistent and has to be projected.
    """

    name: str
    title: str
    system: System
    q0: Sequence[float]
    v0: Sequence[float]
    step: float
    duration: float
    source: str
    t0: float = 0.0
    more_steps: tuple[float, ...] = ()
    facts: tuple[Fact, ...] = ()
    exact: Callable[[Any], tuple[np.ndarray, np.ndarray]] | None = None
    exact_multipliers: Callable[[Any], np.ndarray] | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)
    project: bool = False
    method: str | Method = "auto"

    @classmethod
    def of(cls, mechanism: Mechanism, **rest: Any) -> Problem:
        """The problem of a mechanism, which starts as it is put together."""
        q0, v0 = mechanism.start()
        return cls(system=mechanism.system(), q0=tuple(q0), v0=tuple(v0), **rest)

    @property
    def mechanism(self) -> Mechanism | None:
        """The mechanism that the system is made of, if it is one."""
        return self.system.mechanism

    def simulate(self, **changes: Any) -> Trajectory:
        """Run the problem; any argument of `taut.simulate` may be changed."""
        from taut.march.simulate import simulate

        settings = {
            "q0": self.q0,
            "v0": self.v0,
            "t0": self.t0,
            "duration": self.duration,
            "step": self.step,
            "parameters": self.parameters,
            "project": self.project,
            "method": self.method,
        }
        if "p0" in changes:
            del settings["v0"]
        if "tolerance" in changes:  # chooses both
            del settings["step"], settings["method"]
        return simulate(self.system, **{**settings, **changes})

    def _rows(self) -> list[tuple[str, str]]:
        """What it is, in short."""
        method = self.method if isinstance(self.method, str) else self.method.label
        rows = [
            ("system", repr(self.system)),
            ("step, duration", f"{self.step:g}, {self.duration:g}"),
            ("method", method),
            ("parameters", ", ".join(f"{name} = {x:g}" for name, x in self.parameters.items())),
            ("known facts", str(len(self.facts) + (self.exact is not None))),
            ("source", self.source),
        ]
        return [row for row in rows if row[1]]

    def __repr__(self) -> str:
        return "\n".join([f"{self.name}: {self.title}", *aligned(self._rows())])

    def _repr_html_(self) -> str:
        return table(self._rows(), f"{self.name}: {self.title}")

    def changed(self, **parameters: float) -> Problem:
        """The same model and start with other parameter values.

        Facts and closed forms are those of the source's data and are dropped.
        """
        merged = {**self.parameters, **parameters}
        self.system.values(merged)  # unknown names and bad values are refused here
        return replace(self, parameters=merged, facts=(), exact=None, exact_multipliers=None)


def hanging(*bobs: Sequence[Any]) -> Drawing:
    """The drawing of masses that hang from the origin, each from the one before it."""
    names = ["bob"] if len(bobs) == 1 else [f"{k}" for k in range(1, len(bobs) + 1)]
    points = {"pivot": (0,) * len(bobs[0]), **dict(zip(names, bobs, strict=True))}
    return Drawing(points, list(pairwise(points)))
