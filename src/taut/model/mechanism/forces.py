"""Forces: what acts on a *measure* of the mechanism, on a place, or on anything at all.

A measure s(q) is a length, an angle or a slide.  An energy U(s) and a pull F(s, ṡ) act on it:

    L ∋ −U(s),      f = −F(s, ṡ) ∂s/∂q,

so a spring, a rope, a damper and a torsional spring are one thing.  A force at a place P has the
generalised force (∂P/∂q)ᵀF; one that depends on time alone is the potential −F·P instead, so that
the energy is kept where it does not depend on time either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from taut.errors import ModelError
from taut.model.controls import Channel
from taut.model.mechanism.library import Piece, Written
from taut.model.mechanism.parts import Part, ground
from taut.model.mechanism.shapes import Side, Vector, dot, inner, minus
from taut.model.symbols import scalar, t

if TYPE_CHECKING:
    from taut.model.mechanism.joints import Joint

LENGTH, RATE = sp.symbols("length rate", real=True)
MEASURES = ("angle", "slide")  # what else a law may be of
STIFFNESS, REST, DAMPING = inner("k", "s0", "c")
_text = lru_cache(maxsize=256)(sp.srepr)  # springs are many and their laws few


@dataclass(frozen=True, eq=False)
class Measure:
    """A number that two sides have.

    Attributes
    ----------
    kind : "length", "angle", "slide" or "number" (a coordinate of its own)
    a, b : Part
    values : ndarray
        Constants of both sides, in the order in which `written` declares them.
    joint : Joint, optional
        Whose it is.
    """

    kind: str
    a: Part
    b: Part
    values: np.ndarray
    joint: Joint | None = None

    @property
    def counted(self) -> Measure:
        """The coordinate that counts turns, if the angle has one."""
        if self.kind != "angle" or self.joint is None or self.joint.counter is None:
            return self
        return Measure("number", self.joint.counter, ground(), np.zeros(0), self.joint)

    @property
    def key(self) -> tuple[str, ...]:
        return self.kind, self.a.shape.name, self.b.shape.name

    def sides(self) -> tuple[Side, Side, sp.Expr]:
        """Both sides in local symbols, and the measure."""
        a, b = Side(self.a.shape, "a"), Side(self.b.shape, "b")
        if self.kind == "number":
            return a, b, a.coordinates[0]
        if self.kind == "angle":
            u, w, other = a.vector(), a.vector(), b.vector()
            return a, b, sp.atan2(dot(w, other), dot(u, other))
        apart = minus(b.place(), a.place())
        if self.kind == "slide":
            return a, b, dot(a.vector(), apart)
        return a, b, sp.sqrt(dot(apart, apart))


@dataclass(frozen=True, eq=False)
class Acting:
    """An energy and a pull that depend on a measure.

    Attributes
    ----------
    energy : Expr or None
        U of LENGTH and own constants.
    pull : Expr or None
        F of LENGTH, RATE, t and own constants; positive where it makes the measure smaller.
    constants : tuple of Symbol
    values : tuple of float
    look : str
        How it is drawn.
    others : sequence of (Symbol, int, Symbol)
        Coordinates of the mechanism that the pull depends on, too: symbol, number, rate.
    channel : Channel, optional
        The control that sets it.
    """

    name: str
    measure: Measure
    energy: sp.Expr | None
    pull: sp.Expr | None
    constants: tuple[sp.Symbol, ...]
    values: tuple[float, ...]
    look: str = "spring"
    ends: np.ndarray | None = None
    others: tuple[tuple[sp.Symbol, int, sp.Symbol], ...] = ()
    channel: Channel | None = None

    def __repr__(self) -> str:
        if self.measure.joint is not None:
            return f"<{self.look} {self.name!r} in {self.measure.joint.name}>"
        sides = f"{self.measure.a.name} and {self.measure.b.name}"
        return f"<{self.look} {self.name!r} between {sides}>"

    @property
    def pieces(self) -> list[Piece]:
        """Its terms."""
        m, found = self.measure.counted, []
        indices, values = [*m.a.indices, *m.b.indices], [*m.values, *self.values]
        if self.energy is not None:
            key = (*m.key, _text(self.energy))
            found.append(Piece("lagrangian", key, self._potential, indices, values))
        if self.pull is not None:
            more = [x for x in self.others if x[1] not in indices]
            places = [(s, r, indices.index(i)) for s, i, r in self.others if i in indices]
            key = (*m.key, _text(self.pull), tuple(places), tuple(s.name for s, _, _ in more))
            indices = [*indices, *(i for _, i, _ in more)]
            found.append(Piece("force", key, lambda: self._force(places, more), indices, values))
        return found

    def _written(self) -> tuple[Side, Side, sp.Expr, list[sp.Symbol]]:
        a, b, s = self.measure.counted.sides()
        return a, b, s, [*a.constants, *b.constants, *self.constants]

    def _potential(self) -> Written:
        a, b, s, constants = self._written()
        assert self.energy is not None
        value = -self.energy.subs(LENGTH, s)
        return [*a.coordinates, *b.coordinates], [*a.rates, *b.rates], constants, [value]

    def _force(self, places: Sequence, more: Sequence) -> Written:
        """−F ∂s/∂q; `places` are coordinates of both sides that F knows, `more` those of others."""
        a, b, s, constants = self._written()
        assert self.pull is not None
        q, v = [*a.coordinates, *b.coordinates], [*a.rates, *b.rates]
        slopes = [s.diff(x) for x in q]
        rate = sp.Add(*(e * x for e, x in zip(slopes, v, strict=True)))
        own = {x: y for own, speed, i in places for x, y in ((own, q[i]), (speed, v[i]))}
        pull = self.pull.subs({LENGTH: s, RATE: rate, **own}, simultaneous=True)
        pushed = [-pull * e for e in slopes] + [sp.Integer(0)] * len(more)
        return [*q, *(x for x, _, _ in more)], [*v, *(r for _, _, r in more)], constants, pushed


@dataclass(frozen=True, eq=False)
class Load:
    """A force at a place of a part, or a torque on it.

    Attributes
    ----------
    given : tuple of Expr
        Components, in space or (follower) along the part's own axes.
    values : ndarray
        Constants of the place; none of a torque.
    others : sequence of (Symbol, int, Symbol)
        Coordinates of other parts that the components depend on: symbol, number, rate.
    channel : Channel, optional
        The control that sets the components.
    own : sequence of (Symbol, float)
        Constants of the components, which loads of one law have each for itself.
    """

    name: str
    part: Part
    given: tuple[sp.Expr, sp.Expr, sp.Expr]
    values: np.ndarray
    torque: bool = False
    follower: bool = False
    others: tuple[tuple[sp.Symbol, int, sp.Symbol], ...] = ()
    channel: Channel | None = None
    own: tuple[tuple[sp.Symbol, float], ...] = ()

    def __repr__(self) -> str:
        return f"<{'torque' if self.torque else 'force'} {self.name!r} on {self.part.name}>"

    @property
    def potential(self) -> bool:
        """Whether it is the gradient of F(t)·P."""
        known = {t, *(symbol for symbol, _ in self.own)}
        known = set().union(*(e.free_symbols for e in self.given)) <= known
        return known and not self.torque and not self.follower

    @property
    def pieces(self) -> list[Piece]:
        """Its term."""
        indices = [*self.part.indices, *(i for _, i, _ in self.others)]
        numbers = all(e.is_number for e in self.given)
        given = [float(e) for e in self.given] if numbers else []
        law = "numbers" if numbers else sp.srepr(self._local(Side(self.part.shape, "a")))
        names = tuple(s.name for s, _, _ in self.others)
        key = ("load", self.part.shape.name, self.torque, self.follower, law, names)
        kind = "lagrangian" if self.potential else "force"
        values = [*self.values, *given, *(value for _, value in self.own)]
        return [Piece(kind, key, lambda: self._written(numbers), indices, values)]

    def _written(self, numbers: bool) -> Written:
        side = Side(self.part.shape, "a")
        place = None if self.torque else side.place()
        one, two, three = inner("F1", "F2", "F3")
        own: Vector = one, two, three
        force = own if numbers else self._local(side)
        if self.follower:
            axes = [side.vector() for _ in range(3)]
            force = tuple(
                sp.Add(*(f * axis[k] for f, axis in zip(force, axes, strict=True)))
                for k in range(3)
            )
        q = [*side.coordinates, *(s for s, _, _ in self.others)]
        v = [*side.rates, *(r for _, _, r in self.others)]
        constants = [*side.constants, *(own if numbers else ()), *(x for x, _ in self.own)]
        if self.potential:
            assert place is not None
            return q, v, constants, [dot(force, place)]
        pushed = side.turned(force) if place is None else side.pushed(force, place)
        return q, v, constants, [*pushed, *[sp.Integer(0)] * len(self.others)]

    def _local(self, side: Side) -> Vector:
        """The components with the part's own coordinates in local symbols."""
        names = self.part.shape.names(self.part.name)
        table: dict[sp.Basic, sp.Basic] = {}
        for name, q, v in zip(names, side.coordinates, side.rates, strict=True):
            table[sp.Symbol(name, real=True)] = q
            table[sp.Symbol(f"{name}_dot", real=True)] = v
        x, y, z = (e.xreplace(table) for e in self.given)
        return x, y, z


@dataclass(frozen=True, eq=False)
class Potential:
    """Any energy of coordinates of the mechanism."""

    name: str
    energy: sp.Expr
    indices: tuple[int, ...]
    coordinates: tuple[sp.Symbol, ...]

    def __repr__(self) -> str:
        return f"<potential {self.name!r}>"

    @property
    def pieces(self) -> list[Piece]:
        """Its term."""
        rates = [sp.Symbol(f"{s.name}_dot", real=True) for s in self.coordinates]
        written = (self.coordinates, rates, [], [-self.energy])
        return [Piece("lagrangian", ("potential", self.name), lambda: written, self.indices, [])]


Force = Acting | Load | Potential


def law(given: Callable[..., Any] | Any, *arguments: sp.Symbol) -> sp.Expr:
    """A law from a function of its arguments, or from an expression of them."""
    called = callable(given) and not isinstance(given, sp.Basic)
    return scalar(given(*arguments) if called else given, "a law")


def read_law(
    name: str, what: str, given: Any, kind: str, *arguments: sp.Symbol, others: bool = False
) -> sp.Expr:
    """A law that a user gave, checked.

    Parameters
    ----------
    name, what : str
        Of the force, and which of its arguments this is: "energy", "pull" or "law".
    kind : str
        What it is a law of: "length", "angle" or "slide".
    others : bool
        Whether it may depend on other symbols of the mechanism as well.
    """
    words = ", ".join([kind, RATE.name][: len(arguments)])
    meant = f"a function that gives an expression: {what}=lambda {words}: …"
    called = callable(given) and not isinstance(given, sp.Basic)
    try:
        found = given(*arguments) if called else given
    except Exception as error:  # whatever is wrong in a function of a user
        raise ModelError(
            f"the {what} of {name} cannot be read",
            expected=meant,
            received=f"{type(error).__name__}: {error}"[:120],
        ) from error
    read = scalar(found, f"the {what} of {name}", meant)
    free = read.free_symbols - {*arguments, t}
    stray = {x for x in free if not others or x.name in (LENGTH.name, RATE.name, *MEASURES)}
    shown = str(read.xreplace({arguments[0]: sp.Symbol(kind)}))[:80]
    if stray:
        raise ModelError(
            f"the {what} of {name} contains {', '.join(sorted(x.name for x in stray))}",
            expected=f"{meant}, of {words} and taut.t",
            received=shown,
        )
    if what == "energy" and arguments[0] not in read.free_symbols:
        raise ModelError(
            f"{name} does nothing: its energy does not change with its {kind}",
            expected=meant,
            received=shown,
        )
    return read


def spring(
    stiffness: Any, rest: Any, damping: Any
) -> tuple[sp.Expr | None, sp.Expr | None, Sequence]:
    """U = ½ k (s − s₀)² and F = c ṡ, with their constants and values."""
    k, s0, c = STIFFNESS, REST, DAMPING
    energy = None if stiffness == 0 else k * (LENGTH - s0) ** 2 / 2
    if energy is not None and rest == 0:  # no square root that has no slope at zero
        energy = k * LENGTH**2 / 2
    pull = None if damping == 0 else c * RATE
    return energy, pull, ((k, s0, c), (float(stiffness), float(rest), float(damping)))
