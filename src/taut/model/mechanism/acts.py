"""What acts on a mechanism: springs, ropes, dampers, loads, potentials."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from taut.calls import public
from taut.errors import ModelError, brief, number
from taut.model.controls import Channel, control_of, is_control
from taut.model.mechanism import forces
from taut.model.mechanism.forces import (
    LENGTH,
    RATE,
    REST,
    STIFFNESS,
    Acting,
    Load,
    Measure,
    Potential,
    read_law,
)
from taut.model.mechanism.named import counts, flag
from taut.model.mechanism.parts import Part, vector
from taut.model.mechanism.record import recorded
from taut.model.mechanism.relations import Relations
from taut.model.mechanism.shapes import POINT, inner
from taut.model.mechanism.words import SLIDING, TURNING, joint_words
from taut.model.symbols import scalar
from taut.portable import norm


@public
class Acts(Relations):
    """The verbs by which forces are added; a part of `Mechanism`."""

    # ---- between two places --------------------------------------------------------------------

    @recorded
    def spring(
        self,
        *sides: Any,
        stiffness: float = 0.0,
        length: float | None = None,
        damping: float = 0.0,
        ends: Any = None,
        energy: Any = None,
        pull: Any = None,
    ) -> Acting:
        """A spring and damper between two places.

        Parameters
        ----------
        *sides : (name,) part, part
        stiffness, damping : float
            Force per length and per speed.
        length : float, optional
            At which it is at rest; what it is at the start if not given.
        ends : (place, place), optional
            In space at the start; the centres of mass if not given.
        energy : function of the length, optional
            Instead of a stiffness: U(length) as an expression, ``lambda s: k*(s - 1)**4``.
        pull : function of the length and its rate, optional
            A force that draws the ends together, as an expression; what it does to the energy is
            counted as work.
        """
        return self._spring("spring", sides, stiffness, length, damping, ends, energy, pull)

    def _spring(self, kind, sides, stiffness, length, damping, ends, energy, pull) -> Acting:
        """What a spring and a damper are, told by the name of its verb."""
        name, a, b = self._sides(kind, sides)
        at = self._ends(name, a, b, ends)
        apart = float(norm(at[0] - at[1]))
        rest = apart if length is None else _not_negative(f"the length of {name}", length)
        _not_negative(f"the stiffness of {name}", stiffness, "energy=lambda length: … may fall")
        _not_negative(f"the damping of {name}", damping, "pull=lambda length, rate: … may drive")
        law, drag, (constants, values) = forces.spring(stiffness, rest, damping)
        if energy is not None:
            _check_one(name, stiffness)
            law = read_law(name, "energy", energy, "length", LENGTH)
        if pull is not None:
            drag = (drag or 0) + read_law(name, "pull", pull, "length", LENGTH, RATE)
        _check_acts(name, law, drag)
        measure = self._length(name, a, b, at)
        return self._acting(Acting(name, measure, law, drag, constants, values, "spring", at))

    @recorded
    def rope(
        self, *sides: Any, stiffness: float, length: float | None = None, ends: Any = None
    ) -> Acting:
        """A stiff spring that pulls and does not push: U = ½ k max(0, s − s₀)²."""
        name, a, b = self._sides("rope", sides)
        at = self._ends(name, a, b, ends)
        apart = float(norm(at[0] - at[1]))
        rest = apart if length is None else _not_negative(f"the length of {name}", length)
        if _not_negative(f"the stiffness of {name}", stiffness) == 0:
            _check_acts(name, None, None)
        # A function of s² with a slope where s = 0: a slack rope does nothing there.
        drawn = sp.sqrt(sp.Max(LENGTH**2, REST**2)) - REST if rest > 0 else LENGTH
        energy = STIFFNESS * drawn**2 / 2
        measure = self._length(name, a, b, at)
        values = (float(stiffness), rest)
        return self._acting(
            Acting(name, measure, energy, None, (STIFFNESS, REST), values, "line", at)
        )

    @recorded
    def damper(self, *sides: Any, damping: float, ends: Any = None) -> Acting:
        """A force against the rate at which the distance of two places changes."""
        return self._spring("damper", sides, 0.0, None, damping, ends, None, None)

    @recorded
    def central(self, *sides: Any, energy: Any, ends: Any = None) -> Acting:
        """A potential of the distance of two places, which nothing is drawn for.

        Parameters
        ----------
        *sides : (name,) part, part
        energy : function of the distance
            U(r) as an expression: ``lambda r: -G*m1*m2/r``.
        ends : (place, place), optional
            In space at the start; the centres of mass if not given.
        """
        name, a, b = self._sides("central", sides)
        at = self._ends(name, a, b, ends)
        law = read_law(name, "energy", energy, "length", LENGTH)
        return self._acting(
            Acting(name, self._length(name, a, b, at), law, None, (), (), "central")
        )

    def _length(self, name: str, a: Part, b: Part, at: np.ndarray) -> Measure:
        what = f"force {name}"
        return Measure("length", a, b, np.concatenate([a.on(at[0], what), b.on(at[1], what)]))

    # ---- in a joint ----------------------------------------------------------------------------

    @recorded
    def torsion(
        self,
        joint: Any,
        *,
        stiffness: float = 0.0,
        angle: float = 0.0,
        damping: float = 0.0,
        energy: Any = None,
        pull: Any = None,
        turns: bool = False,
        name: str | None = None,
    ) -> Acting:
        """A torsional spring and damper in a hinge.

        The angle is that of the second part against the first and zero at the start.  It lies
        between −π and π, unless turns are counted: with ``turns=True``, or because the angle is a
        coordinate anyway (``m.angle``, screws, gears, wheels).  Then the spring is wound up.
        """
        if flag("turns", turns):
            self.angle(joint)
        return self._in_joint(
            joint, "angle", TURNING, stiffness, angle, damping, energy, pull, name
        )

    @recorded
    def push(
        self,
        joint: Any,
        *,
        stiffness: float = 0.0,
        slide: float = 0.0,
        damping: float = 0.0,
        energy: Any = None,
        pull: Any = None,
        name: str | None = None,
    ) -> Acting:
        """A spring and damper along the axis of a slider."""
        return self._in_joint(
            joint, "slide", SLIDING, stiffness, slide, damping, energy, pull, name
        )

    def _in_joint(
        self, joint, kind, allowed, stiffness, rest, damping, energy, pull, name
    ) -> Acting:
        joint = self._joint(joint, allowed)
        name = self._called(name, "force")
        law, drag, (constants, values) = forces.spring(
            number(f"the stiffness of {name}", stiffness),
            number(f"the rest of {name}", rest),
            _not_negative(
                f"the damping of {name}", damping, f"pull=lambda {kind}, rate: … may drive"
            ),
        )
        if energy is not None:
            _check_one(name, stiffness)
            law = read_law(name, "energy", energy, kind, LENGTH)
        if pull is not None:
            drag = (drag or 0) + read_law(name, "pull", pull, kind, LENGTH, RATE)
        _check_acts(name, law, drag)
        measure = self.measure(joint, kind)
        return self._acting(Acting(name, measure, law, drag, constants, values, "torsion"))

    @recorded
    def motor(
        self,
        joint: Any,
        drive: Any = None,
        *,
        law: Any = None,
        of: str | None = None,
        every: int | None = None,
        name: str | None = None,
    ) -> Acting:
        """A motor: a torque about the axis of a hinge, or a force along a slider.

        It acts on the second part, and against the first; positive where it makes the angle, or the
        slide, grow.

        Parameters
        ----------
        joint : Joint or name
        drive : number, expression or function
            An expression of `taut.t`, of coordinates and velocities (see `symbols`, of parts and of
            joints); or ``controller(t, state)``, an ordinary Python function that is asked once per
            step, or a `taut.Control`.
        law : function of the angle (or slide) and its rate, optional
            Instead of `drive`: gives an expression, ``lambda angle, rate: -5*angle - rate``.
        of : "angle" or "slide", optional
            What a cylindrical joint's motor moves.
        every : int, optional
            Steps from one call of the function to the next.
        """
        held = self._joint(joint, (*TURNING, "prismatic"))
        kind = "slide" if held.kind == "prismatic" else "angle"
        if of is not None:
            if (
                not isinstance(of, str)
                or of not in ("angle", "slide")
                or (of != kind and held.kind != "cylindrical")
            ):
                raise ModelError(f"a motor in {held.name} cannot drive its {of}", expected=kind)
            kind = of
        elif held.kind == "cylindrical":
            raise ModelError(
                f"{held.name} turns and slides", expected='of="angle" or of="slide" to choose'
            )
        name = self._called(name, "motor")
        if (drive is None) == (law is None):
            raise ModelError(f"{name} needs one drive", expected="drive, or law=…")
        channel, constants, values = self._channel(name, drive, every, ("",)), (), ()
        if law is not None:
            read = read_law(name, "law", law, kind, LENGTH, RATE, others=True)
            given = self._read(read, name, LENGTH, RATE)
        elif channel is not None:
            (given,) = channel.symbols
        elif (read := scalar(drive, f"the drive of {name}")).is_number:
            (given,), values = inner("F"), (float(read),)
            constants = (given,)
        else:
            own = dict(zip(joint_words(kind, held.name), (LENGTH, RATE), strict=True))
            read = read.xreplace({s: own[s.name] for s in read.free_symbols if s.name in own})
            given = self._read(read, name, LENGTH, RATE)
        used, measure = tuple(self._used([given])), self.measure(held, kind)
        return self._acting(
            Acting(name, measure, None, -given, constants, values, "motor", None, used, channel)
        )

    def _channel(
        self, name: str, given: Any, every: int | None, ends: tuple[str, ...]
    ) -> Channel | None:
        """The control that a function becomes; what else is given is none."""
        if is_control(given):
            names = tuple(f"{name}{end}" for end in ends)
            return Channel(name, names, control_of(given, every))
        if every is not None:
            raise ModelError(f"{name} is not sampled", expected="every=… with a function alone")
        return None

    # ---- on a part -----------------------------------------------------------------------------

    @recorded
    def force(
        self,
        part: Any,
        force: Any,
        *,
        at: Any = None,
        follower: bool = False,
        every: int | None = None,
        name: str = "",
    ) -> Load:
        """A force on a part.

        Parameters
        ----------
        part : Part or name
        force : three expressions, or a function
            Of `taut.t`, and of the symbols of coordinates and velocities of the mechanism (see
            `symbols`); in space, or with `follower` along the part's own axes.  Or
            ``controller(t, state)``, an ordinary Python function that returns three numbers and is
            asked once per step (every few steps, with `every`), or a `taut.Control`.
        at : (3,) array_like, optional
            Where on the part, in space at the start; its centre of mass if not given.
        """
        held = self._part(part)
        name = self._called(name, "force")
        place = held.position if at is None else vector(f"the place of {name}", at)
        values = [held.on(place, f"force {name}")]
        return self._loaded(name, held, force, values, follower, every, torque=False)

    @recorded
    def torque(
        self,
        part: Any,
        torque: Any,
        *,
        follower: bool = False,
        every: int | None = None,
        name: str = "",
    ) -> Load:
        """A torque on a body; see `force`."""
        held = self._part(part)
        name = self._called(name, "force")
        if held.shape is POINT or held is self.ground:
            raise ModelError(f"{name} turns {held.name}, which does not turn", expected="a body")
        return self._loaded(name, held, torque, [], follower, every, torque=True)

    def _loaded(
        self, name, part, given, values, follower: bool, every, torque: bool, own=()
    ) -> Load:
        if part is self.ground:
            raise ModelError(f"{name} acts on the ground", expected="a part that moves")
        follower = flag("follower", follower)
        channel = self._channel(name, given, every, ("_x", "_y", "_z"))
        if channel is None and not counts(given, 3):
            raise ModelError(
                f"{name} cannot be read", expected="three components", received=brief(given)
            )
        symbols = [symbol for symbol, _ in own]
        read = channel.symbols if channel else tuple(self._read(e, name, *symbols) for e in given)
        if follower:
            if not part.shape.turns:
                raise ModelError(f"{name} follows a point, which has no axes")
            values = [*values, *(part.along(axis, f"force {name}") for axis in part.rotation.T)]
        names = set(part.shape.names(part.name))
        others = [x for x in self._used(read) if x[0].name not in names]
        flat = np.concatenate(values) if values else np.zeros(0)
        made = Load(name, part, read, flat, torque, follower, tuple(others), channel, own)
        self.forces[name] = made
        return made

    @recorded
    def potential(self, energy: Any, *, name: str = "") -> Potential:
        """Any potential energy, as an expression of the symbols of coordinates and of t."""
        name = self._called(name, "force")
        read = self._read(energy, name)
        used = self._used([read])
        if not used or any(rate in read.free_symbols for _, _, rate in used):
            raise ModelError(
                f"{name} is no potential of this mechanism",
                expected="an expression of coordinates of its parts",
                received=str(read)[:80],
            )
        made = Potential(name, read, tuple(i for _, i, _ in used), tuple(s for s, _, _ in used))
        self.forces[name] = made
        return made

    def _acting(self, made: Acting) -> Acting:
        self.forces[made.name] = made
        return made


def _not_negative(what: str, given: Any, remedy: str | None = None) -> float:
    found = number(what, given)
    if found < 0:
        raise ModelError(
            f"{what} is negative", expected="a number ≥ 0", received=found, remedy=remedy
        )
    return found


def _check_acts(name: str, law: sp.Expr | None, drag: sp.Expr | None) -> None:
    if law is None and drag is None:
        raise ModelError(
            f"{name} does nothing", expected="a stiffness, a damping, an energy or a pull"
        )


def _check_one(name: str, stiffness: float) -> None:
    """An energy is given instead of a stiffness."""
    if stiffness != 0:
        raise ModelError(
            f"{name} has a stiffness and an energy",
            expected="one of them: the stiffness k is the energy k (… − rest)²/2",
            received=f"stiffness {stiffness:g}",
        )
