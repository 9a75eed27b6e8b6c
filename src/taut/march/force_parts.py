"""What forces of a mechanism do along a run: views of a trajectory by name.

Everything follows from the stored states.  A spring, damper or motor acts on a measure s(q), a
length, an angle or a slide, with the *effort*

    e = −(dU/ds + F(s, ṡ, t)),      power = e ṡ,

a force or a torque that makes s grow where it is positive.  The second part has the force e ∂s/∂r,
r being its centre: e along the line of the ends, or along the axis of a slider; in a hinge it has
the torque e about the axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from taut.errors import ModelError
from taut.march.parts import JointView, PartView, when
from taut.march.view import View
from taut.model.mechanism.forces import (
    LENGTH,
    RATE,
    REST,
    STIFFNESS,
    Acting,
    Force,
    Load,
    Measure,
    Potential,
)
from taut.model.mechanism.parts import Part
from taut.model.mechanism.shapes import Shape
from taut.model.mechanism.words import DOT
from taut.model.symbols import t

if TYPE_CHECKING:
    from taut.march.trajectory import Trajectory


def force_view(run: Trajectory, force: Force) -> ActingView | LoadView | PotentialView:
    """The view that suits a force."""
    if isinstance(force, Acting):
        return ActingView(run, force)
    return LoadView(run, force) if isinstance(force, Load) else PotentialView(run, force)


# Laws are few, and a controller may ask for them in every step.


@lru_cache(maxsize=256)
def _function(expression: sp.Expr) -> tuple[list[sp.Symbol], Any]:
    """The symbols of an expression, and it as a function of them."""
    read = sp.sympify(expression)
    used = sorted(read.free_symbols, key=lambda s: s.name)
    return used, sp.lambdify(used, read, "numpy", cse=True)


@lru_cache(maxsize=256)
def _slope(energy: sp.Expr) -> sp.Expr:
    return energy.diff(LENGTH)


@lru_cache(maxsize=256)
def _gauge(kind: str, first: Shape, second: Shape) -> Any:
    """Constants, coordinates, velocities → s, its rate, and ∂s/∂r of the second part's centre."""
    a, b, s = Measure(kind, Part("a", first), Part("b", second), np.zeros(0)).sides()
    q, v = [*a.coordinates, *b.coordinates], [*a.rates, *b.rates]
    slopes = {x: s.diff(x) for x in q}
    rate = sp.Add(*(slopes[x] * y for x, y in zip(q, v, strict=True)))
    sign, centre = (1, b.coordinates[:3]) if b.coordinates else (-1, a.coordinates[:3])
    along = [sp.Integer(0)] * 3 if kind == "number" else [sign * slopes[x] for x in centre]
    return sp.lambdify([*a.constants, *b.constants, *q, *v], [s, rate, *along], "numpy", cse=True)


@dataclass(frozen=True)
class ForceView(View):
    """What all forces share."""

    run: Trajectory
    acting: Any

    def _value(self, symbol: sp.Symbol) -> np.ndarray:
        """Of the time, a coordinate, its rate, or what a controller said."""
        run, name = self.run, symbol.name
        numbers = run.system.mechanism.numbers
        if symbol == t:
            return self._each(run.t)
        if name in numbers:
            return run.q[..., numbers[name]]
        if name.removesuffix(DOT) in numbers:
            return run.v[..., numbers[name.removesuffix(DOT)]]
        return run.held_values()[name]

    def _each(self, values: Any) -> Any:
        """One number for each state."""
        shape = self.run.q.shape[:-1]
        return np.broadcast_to(values, shape) if shape else np.float64(values)

    def _valued(self, expression: Any, more: dict[sp.Symbol, Any] | None = None) -> np.ndarray:
        """An expression at each state."""
        known, (used, function) = more or {}, _function(expression)
        values = [known[s] if s in known else self._value(s) for s in used]
        with np.errstate(all="ignore"):
            return self._each(function(*values))

    def __repr__(self) -> str:
        return f"{repr(self.acting)[:-1]} {when(self.run)}>"


class ActingView(ForceView):
    """A spring, rope, damper or motor along a run; arrays have one row per stored state."""

    acting: Acting

    @cached_property
    def _measured(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The measure s, its rate, and how s grows with the place of the second part."""
        m = self.acting.measure.counted
        spans = [slice(x.first, x.first + x.shape.size) for x in (m.a, m.b)]
        # Along a run arrays; of one state numbers of Python, which are quicker.
        q, v = (
            [x for span in spans for x in of[span].tolist()]
            if of.ndim == 1
            else [x for span in spans for x in np.moveaxis(of[..., span], -1, 0)]
            for of in (self.run.q, self.run.v)
        )
        with np.errstate(all="ignore"):
            found = _gauge(m.kind, m.a.shape, m.b.shape)(*m.values, *q, *v)
        value, rate, *along = map(self._each, found)
        return value, rate, np.stack(along, axis=-1)

    def _of(self, kind: str) -> np.ndarray:
        if self.acting.measure.kind != kind:
            raise ModelError(
                f"{self.acting.name} has no {kind}",
                expected=f"its .{self.acting.measure.kind}",
                received=f".{kind}",
            )
        return self._measured[0]

    @property
    def length(self) -> np.ndarray:
        """The distance of its ends, shape (N,)."""
        return self._of("length")

    @property
    def angle(self) -> np.ndarray:
        """Of the hinge that it is in, as its law has it, shape (N,)."""
        return self._of("angle")

    @property
    def slide(self) -> np.ndarray:
        """Of the slider that it is in, shape (N,)."""
        return self._of("slide")

    @property
    def rate(self) -> np.ndarray:
        """Of the length, the angle or the slide, shape (N,)."""
        return self._measured[1]

    @property
    def extension(self) -> np.ndarray:
        """The length, angle or slide less that at rest, shape (N,)."""
        law = self.acting.energy
        if law is None or REST not in self._own or not law.has(STIFFNESS):
            raise ModelError(
                f"{self.acting.name} has no rest to be extended from",
                expected="a spring with a stiffness, or a rope",
            )
        return self._measured[0] - self._own[REST]

    @property
    def _own(self) -> dict[sp.Symbol, float]:
        """Its constants."""
        return dict(zip(self.acting.constants, self.acting.values, strict=True))

    def _law(self, expression: Any) -> np.ndarray:
        value, rate, _ = self._measured
        return self._valued(expression, {**self._own, LENGTH: value, RATE: rate})

    @cached_property
    def effort(self) -> np.ndarray:
        """The force, or in a hinge the torque, that makes the measure grow, shape (N,)."""
        found = self._each(0.0)
        if self.acting.energy is not None:
            found = found - self._law(_slope(self.acting.energy))
        return found if self.acting.pull is None else found - self._law(self.acting.pull)

    @property
    def force(self) -> np.ndarray:
        """On the second part (the first has the opposite), in space, shape (N, 3)."""
        along = self._measured[2]
        # Adding zero makes a zero of −0.
        return np.where(self.effort[..., None] == 0.0, 0.0, self.effort[..., None] * along) + 0.0

    @property
    def torque(self) -> np.ndarray:
        """In a hinge, on the second part, in space, shape (N, 3); otherwise zero."""
        m = self.acting.measure
        if m.kind != "angle":
            return np.zeros_like(self.force)
        assert m.joint is not None
        axis = JointView(self.run, m.joint)._direction(m.a, m.joint.triad["e"])
        return self.effort[..., None] * axis + 0.0

    @property
    def power(self) -> np.ndarray:
        """The work that it does on the mechanism per time, shape (N,)."""
        return np.where(self.effort == 0.0, 0.0, self.effort * self.rate)[()]

    @property
    def energy(self) -> np.ndarray:
        """What it stores, shape (N,)."""
        return self._each(0.0) if self.acting.energy is None else self._law(self.acting.energy)


class LoadView(ForceView):
    """A force or a torque on a part along a run."""

    acting: Load

    @cached_property
    def _given(self) -> np.ndarray:
        """Its components in space."""
        found = [self._valued(e, dict(self.acting.own)) for e in self.acting.given]
        given = np.stack(found, axis=-1)
        if not self.acting.follower:
            return given
        return np.einsum("...ij,...j->...i", self._part.rotation, given)

    @property
    def _part(self) -> PartView:
        return PartView(self.run, self.acting.part)

    @property
    def _at(self) -> np.ndarray:
        """Where on the part it acts, in space at the start."""
        part = self.acting.part
        reach = list(part.shape.reach)
        return part.position + part.directors[:, reach] @ self.acting.values[: len(reach)]

    @property
    def force(self) -> np.ndarray:
        """On the part, in space, shape (N, 3)."""
        return np.zeros_like(self._given) if self.acting.torque else self._given + 0.0

    @property
    def torque(self) -> np.ndarray:
        """On the part, in space, shape (N, 3); that of a force about its place is zero."""
        return self._given + 0.0 if self.acting.torque else np.zeros_like(self._given)

    @property
    def position(self) -> np.ndarray:
        """Where it acts, shape (N, 3)."""
        return self._part.position if self.acting.torque else self._part.place(self._at)

    @property
    def power(self) -> np.ndarray:
        """The work that it does on the part per time, shape (N,)."""
        seen = self._part
        moving = seen.angular_velocity if self.acting.torque else seen.place_velocity(self._at)
        return np.sum(self._given * moving, axis=-1)

    @property
    def energy(self) -> np.ndarray:
        """−F·P of a force that is a function of time alone, shape (N,); zero of others."""
        if not self.acting.potential:
            return self._each(0.0)
        return -np.sum(self._given * self.position, axis=-1)


class PotentialView(ForceView):
    """A potential of one's own along a run."""

    acting: Potential

    @property
    def energy(self) -> np.ndarray:
        """Its value, shape (N,)."""
        return self._valued(self.acting.energy)

    @property
    def power(self) -> np.ndarray:
        """The work that it does per time, −Σ ∂U/∂q q̇, shape (N,)."""
        slopes = (self._valued(self.acting.energy.diff(x)) for x in self.acting.coordinates)
        rates = (self.run.v[..., i] for i in self.acting.indices)
        return self._each(0.0) - sum(s * v for s, v in zip(slopes, rates, strict=True))

    @property
    def force(self) -> np.ndarray:
        """Not one force: it acts on all coordinates that it depends on."""
        raise ModelError(
            f"{self.acting.name} acts on coordinates, not at a place",
            expected=".energy or .power",
            received=".force",
        )
