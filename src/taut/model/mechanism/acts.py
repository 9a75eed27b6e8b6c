"""What acts on a mechanism: springs, ropes, dampers, loads, potentials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from taut.errors import ModelError, UnknownName, number
from taut.model.mechanism import forces
from taut.model.mechanism.forces import LENGTH, RATE, Acting, Load, Measure, Potential
from taut.model.mechanism.parts import Part, vector
from taut.model.mechanism.shapes import POINT
from taut.model.symbols import scalar, t

if TYPE_CHECKING:
    from taut.model.mechanism.joints import Joint

TURNING = ("revolute", "cylindrical")
SLIDING = ("prismatic", "cylindrical")
DOT = "_dot"  # what the name of a rate ends in


class Acts:
    """The verbs by which forces are added; a part of `Mechanism`."""

    ground: Part
    parts: dict[str, Part]
    joints: dict[str, Joint]
    forces: dict[str, forces.Force]
    numbers: dict[str, int]

    # ---- between two places --------------------------------------------------------------------

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
        name, a, b = self._sides("spring", sides)  # type: ignore[attr-defined]
        at = self._ends(name, a, b, ends)  # type: ignore[attr-defined]
        apart = float(np.linalg.norm(at[0] - at[1]))
        rest = apart if length is None else _not_negative(f"the length of {name}", length)
        for what, value in (("stiffness", stiffness), ("damping", damping)):
            _not_negative(f"the {what} of {name}", value)
        law, drag, (constants, values) = forces.spring(stiffness, rest, damping)
        if energy is not None:
            law = forces.law(energy, LENGTH)
        if pull is not None:
            drag = (drag or 0) + forces.law(pull, LENGTH, RATE)
        if law is None and drag is None:
            raise ModelError(
                f"{name} does nothing", expected="a stiffness, a damping, an energy or a pull"
            )
        _check_law(name, law, {LENGTH, t, *constants})
        _check_law(name, drag, {LENGTH, RATE, t, *constants})
        measure = self._length(name, a, b, at)
        return self._acting(Acting(name, measure, law, drag, constants, values, "spring", at))

    def rope(
        self, *sides: Any, stiffness: float, length: float | None = None, ends: Any = None
    ) -> Acting:
        """A stiff spring that pulls and does not push: U = ½ k max(0, s − s₀)²."""
        name, a, b = self._sides("rope", sides)  # type: ignore[attr-defined]
        at = self._ends(name, a, b, ends)  # type: ignore[attr-defined]
        apart = float(np.linalg.norm(at[0] - at[1]))
        rest = apart if length is None else _not_negative(f"the length of {name}", length)
        _not_negative(f"the stiffness of {name}", stiffness)
        k, s0 = sp.symbols("k s0", real=True)
        energy = k * sp.Max(0, LENGTH - s0) ** 2 / 2
        measure = self._length(name, a, b, at)
        values = (float(stiffness), rest)
        return self._acting(Acting(name, measure, energy, None, (k, s0), values, "line", at))

    def damper(self, *sides: Any, damping: float, ends: Any = None) -> Acting:
        """A force against the rate at which the distance of two places changes."""
        return self.spring(*sides, damping=damping, ends=ends)

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
        name, a, b = self._sides("central", sides)  # type: ignore[attr-defined]
        at = self._ends(name, a, b, ends)  # type: ignore[attr-defined]
        law = forces.law(energy, LENGTH)
        _check_law(name, law, {LENGTH, t})
        return self._acting(
            Acting(name, self._length(name, a, b, at), law, None, (), (), "central")
        )

    def _length(self, name: str, a: Part, b: Part, at: np.ndarray) -> Measure:
        what = f"force {name}"
        return Measure("length", a, b, np.concatenate([a.on(at[0], what), b.on(at[1], what)]))

    # ---- in a joint ----------------------------------------------------------------------------

    def torsion(
        self,
        joint: Any,
        *,
        stiffness: float = 0.0,
        angle: float = 0.0,
        damping: float = 0.0,
        energy: Any = None,
        pull: Any = None,
        name: str | None = None,
    ) -> Acting:
        """A torsional spring and damper in a hinge.

        The angle is that of the second part against the first, zero at the start, between −π and π;
        for a spring that is wound up by whole turns, ``m.potential`` of ``m.angle(joint)``.
        """
        return self._in_joint(
            joint, "angle", TURNING, stiffness, angle, damping, energy, pull, name
        )

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
        name = self._new(name) if name else self._free("force")  # type: ignore[attr-defined]
        law, drag, (constants, values) = forces.spring(
            number(f"the stiffness of {name}", stiffness),
            number(f"the rest of {name}", rest),
            number(f"the damping of {name}", damping),
        )
        law = law if energy is None else forces.law(energy, LENGTH)
        if pull is not None:
            drag = (drag or 0) + forces.law(pull, LENGTH, RATE)
        measure = self.measure(joint, kind)
        return self._acting(Acting(name, measure, law, drag, constants, values, "torsion"))

    def measure(self, joint: Joint, kind: str) -> Measure:
        """The angle or the slide of a joint."""
        a, b, what = joint.a, joint.b, f"joint {joint.name}"
        held = joint.triad
        if kind == "angle":
            parts = [a.along(held["u"], what), a.along(held["w"], what), b.along(held["u"], what)]
        else:
            parts = [a.on(joint.at[0], what), a.along(held["e"], what), b.on(joint.at[1], what)]
        return Measure(kind, a, b, np.concatenate(parts))

    def _joint(self, given: Any, allowed: tuple[str, ...]) -> Joint:
        name = given if isinstance(given, str) else getattr(given, "name", None)
        if name not in self.joints:
            raise UnknownName("joint", str(name), self.joints)
        joint = self.joints[name]
        if joint.kind not in allowed:
            raise ModelError(
                f"{joint.name} has no such motion",
                expected="a joint of kind " + " or ".join(allowed),
                received=joint.kind,
            )
        return joint

    # ---- on a part -----------------------------------------------------------------------------

    def force(
        self, part: Any, force: Any, *, at: Any = None, follower: bool = False, name: str = ""
    ) -> Load:
        """A force on a part.

        Parameters
        ----------
        part : Part or name
        force : three expressions
            Of `taut.t`, and of the symbols of coordinates and velocities of the mechanism (see
            `symbols`); in space, or with `follower` along the part's own axes.
        at : (3,) array_like, optional
            Where on the part, in space at the start; its centre of mass if not given.
        """
        held = self._part(part)  # type: ignore[attr-defined]
        name = self._new(name) if name else self._free("force")  # type: ignore[attr-defined]
        place = held.position if at is None else vector(f"the place of {name}", at)
        values = [held.on(place, f"force {name}")]
        return self._loaded(name, held, force, values, follower, torque=False)

    def torque(self, part: Any, torque: Any, *, follower: bool = False, name: str = "") -> Load:
        """A torque on a body; see `force`."""
        held = self._part(part)  # type: ignore[attr-defined]
        name = self._new(name) if name else self._free("force")  # type: ignore[attr-defined]
        if held.shape is POINT or held is self.ground:
            raise ModelError(f"{name} turns {held.name}, which does not turn", expected="a body")
        return self._loaded(name, held, torque, [], follower, torque=True)

    def _loaded(self, name, part, given, values, follower: bool, torque: bool) -> Load:
        if part is self.ground:
            raise ModelError(f"{name} acts on the ground", expected="a part that moves")
        if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != 3:
            raise ModelError(
                f"{name} cannot be read", expected="three components", received=repr(given)[:80]
            )
        read = tuple(self._read(e, name) for e in given)
        if follower:
            if not part.shape.turns:
                raise ModelError(f"{name} follows a point, which has no axes")
            values = [*values, *(part.along(axis, f"force {name}") for axis in part.rotation.T)]
        own = set(part.shape.names(part.name))
        others = [x for x in self._used(read) if x[0].name not in own]
        flat = np.concatenate(values) if values else np.zeros(0)
        made = Load(name, part, read, flat, torque, follower, tuple(others))  # type: ignore[arg-type]
        self.forces[name] = made
        return made

    def potential(self, energy: Any, *, name: str = "") -> Potential:
        """Any potential energy, as an expression of the symbols of coordinates and of t."""
        name = self._new(name) if name else self._free("force")  # type: ignore[attr-defined]
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

    # ---- words ---------------------------------------------------------------------------------

    def symbols(self, part: Any) -> tuple[tuple[sp.Symbol, ...], tuple[sp.Symbol, ...]]:
        """The symbols of a part's coordinates and of their rates, for laws of your own.

        Examples
        --------
        >>> import taut
        >>> m = taut.Mechanism()
        >>> a = m.point("a", mass=1, at=(1, 0, 0))
        >>> (x, y, z), (u, v, w) = m.symbols(a)
        >>> m.force(a, (-0.1 * u, 0, 0), name="drag")
        <force 'drag' on a>
        """
        held = self._part(part)  # type: ignore[attr-defined]
        names = held.shape.names(held.name)
        q = tuple(sp.Symbol(name, real=True) for name in names)
        return q, tuple(sp.Symbol(name + DOT, real=True) for name in names)

    def _read(self, given: Any, name: str) -> sp.Expr:
        """An expression in the symbols of the mechanism, known by their names."""
        read = scalar(given, f"force {name}")
        table = {}
        for symbol in read.free_symbols:
            word = symbol.name  # type: ignore[attr-defined]
            if word == t.name:
                table[symbol] = t
            elif word in self.numbers or word.removesuffix(DOT) in self.numbers:
                table[symbol] = sp.Symbol(word, real=True)
            else:
                known = [t.name, *self.numbers, *(x + DOT for x in self.numbers)]
                raise UnknownName("coordinate", word, known, f"in {name}")
        return read.xreplace(table)

    def _used(self, expressions: Any) -> list[tuple[sp.Symbol, int, sp.Symbol]]:
        """Coordinates that expressions depend on, or on whose rates: symbol, number, rate."""
        free = {s.name for e in expressions for s in e.free_symbols} - {t.name}
        names = {x if x in self.numbers else x.removesuffix(DOT) for x in free}
        return [
            (sp.Symbol(x, real=True), self.numbers[x], sp.Symbol(x + DOT, real=True))
            for x in sorted(names, key=self.numbers.__getitem__)
        ]

    def _acting(self, made: Acting) -> Acting:
        self.forces[made.name] = made
        return made


def _not_negative(what: str, given: Any) -> float:
    found = number(what, given)
    if found < 0:
        raise ModelError(f"{what} is negative", expected="a number ≥ 0", received=found)
    return found


def _check_law(name: str, law: sp.Expr | None, known: set[sp.Symbol]) -> None:
    stray = set() if law is None else law.free_symbols - known
    if stray:
        names = ", ".join(sorted(s.name for s in stray))  # type: ignore[attr-defined]
        raise ModelError(
            f"the law of {name} contains {names}",
            expected="an expression of its length (and rate) and of t",
            received=str(law)[:80],
        )
