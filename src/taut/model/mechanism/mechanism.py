"""`Mechanism`: parts, joints and forces by name; `system()` writes down the equations."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import sympy as sp

from taut.calls import public
from taut.errors import ModelError, Uncontrolled, brief, number, warn
from taut.model.controls import Channel
from taut.model.mechanism import looks as seen, parts
from taut.model.mechanism.beams import Flexible
from taut.model.mechanism.copies import copied
from taut.model.mechanism.forces import LENGTH, RATE
from taut.model.mechanism.frames import Marked
from taut.model.mechanism.joints import Joint, triad
from taut.model.mechanism.library import Library, Piece, Written
from taut.model.mechanism.named import each, flag
from taut.model.mechanism.parts import Part, direction
from taut.model.mechanism.record import recorded
from taut.model.mechanism.shapes import BODY, PLATE, POINT, ROD, Shape, Side, dot
from taut.model.mechanism.words import DOT
from taut.model.symbols import t
from taut.model.system import System
from taut.portable import norm
from taut.text import counted

LISTED = 4  # controllers that are named


@public
class Mechanism(Flexible, Marked):
    """Points, rigid bodies, beams, joints and forces.

    Everything is given in space as it is at the start: a joint at a place is at that place of both
    parts.

    Parameters
    ----------
    gravity : (3,) array_like
        The acceleration of gravity.

    Attributes
    ----------
    parts, joints, forces, frames : dict
        What it has, by name.
    counters : dict
        Coordinates that are no parts, by name: angles that count turns, and places on curves.
    notes : list of str
        What a file says that is not simulated; see `taut.urdf`.

    Examples
    --------
    A body that swings about a fixed point:

    >>> import taut
    >>> m = taut.Mechanism(gravity=(0, 0, -9.81))
    >>> top = m.body("top", mass=1, inertia=(0.1, 0.1, 0.02), at=(0, 0, 0.5))
    >>> m.spherical(m.ground, top, at=(0, 0, 0))
    <spherical joint 'joint 1' of ground and top>
    >>> m.system()
    System: 12 coordinates, 9 constraints, 3 degrees of freedom
    """

    # ---- parts -------------------------------------------------------------------------------

    @recorded
    def point(self, name: str, *, mass: float, at: Any, velocity: Any = (0.0, 0.0, 0.0)) -> Part:
        """A point mass."""
        return self._added(parts.point(self._new(name), mass, at, velocity), {})

    @recorded
    def body(
        self,
        name: str,
        *,
        mass: float,
        inertia: Any,
        at: Any,
        rotation: Any = None,
        velocity: Any = (0.0, 0.0, 0.0),
        angular_velocity: Any = (0.0, 0.0, 0.0),
        body_angular_velocity: Any = None,
        **looks: Any,
    ) -> Part:
        """A rigid body.

        Parameters
        ----------
        name : str
        mass : float
        inertia : (3,) or (3, 3) array_like
            About the centre of mass, in the body's own axes: principal moments, or the matrix.
            A thin rod has (J, J, 0) in some order, a plate J₁ + J₂ = J₃.
        at : (3,) array_like
            The centre of mass.
        rotation : (3, 3) or (4,) array_like, optional
            Of the body's axes: a matrix, whose columns they are, or a unit quaternion (w, x, y, z);
            `taut.rotation` makes one of Euler's angles.
        velocity, angular_velocity : (3,) array_like
            In space.
        body_angular_velocity : (3,) array_like, optional
            In the body's own axes, instead of `angular_velocity`.
        **looks
            How it is drawn, if not by its inertia: ``look="box"``, "cylinder" or "ball" with
            ``size=``, or ``mesh=`` (an STL or OBJ file, or arrays of vertices and faces) in the
            body's own axes about its centre of mass; ``colour=``.  See also `look`.
        """
        made = parts.body(
            self._new(name), mass, inertia, at, rotation, velocity, angular_velocity,
            body_angular_velocity,
        )  # fmt: skip
        return self._added(made, seen.read(made, looks))

    # ---- joints ------------------------------------------------------------------------------

    @recorded
    def rod(self, *sides: Any, ends: Any = None, length: float | None = None) -> Joint:
        """A massless rod: the distance of two places stays what it is.

        ``m.rod(a, b)`` or ``m.rod("name", a, b)``; `ends` are the two places, if they are not the
        centres of mass and the origin of the ground.
        """
        name, a, b = self._sides("rod", sides)
        at = self._ends(name, a, b, ends)
        apart = float(norm(at[0] - at[1]))
        span = apart if length is None else number(f"the length of {name}", length)
        if length is not None and not span > 0:
            raise ModelError(
                f"the length of {name} is no length of a rod",
                expected="a number > 0",
                received=f"length={span:g}",
                remedy=f"leave it out for {apart:g}, the distance of its ends"
                if apart > 0
                else "a joint at one place is spherical",
            )
        if not span > 0:
            raise ModelError(
                f"{name} has no length",
                expected="two places apart",
                received=f"{at[0].tolist()} and {at[1].tolist()}",
                remedy="a joint at one place is spherical",
            )
        return self._joined(name, "rod", a, b, at, [span], {}, {})

    @recorded
    def spherical(self, *sides: Any, at: Any) -> Joint:
        """A ball joint: a place of one part is a place of the other."""
        return self._at("spherical", sides, at)

    @recorded
    def revolute(self, *sides: Any, at: Any, axis: Any) -> Joint:
        """A hinge: both turn about a common axis."""
        return self._at("revolute", sides, at, axis)

    @recorded
    def universal(self, *sides: Any, at: Any, axes: Any) -> Joint:
        """A universal joint: an axis of the first and one of the second stay at right angles.

        Where parts are to be brought together, with a place on each, they need not be yet.
        """
        given = each(axes)
        if given[0] is axes:
            raise ModelError(
                "the axes of a universal joint cannot be read",
                expected="one of the first part and one of the second, three numbers each",
                received=brief(axes),
            )
        first, second = (direction("an axis of a universal joint", x) for x in given)
        askew, across = abs(first @ second) > 1e-9, np.cross(first, second)
        if askew and (each(at)[0] is at or not across.any()):
            raise ModelError(
                "the axes of a universal joint are not at right angles",
                received=f"cosine {first @ second:.3g}",
                remedy="at=(place on the first, place on the second) has them brought there, "
                "unless they are parallel",
            )
        axis = direction("the cross of its axes", across)
        held = triad(axis, first)
        other = triad(axis, np.cross(second, axis)) if askew else held
        return self._at("universal", sides, at, triads=(held, other))

    @recorded
    def cylindrical(self, *sides: Any, at: Any, axis: Any) -> Joint:
        """Both turn about and slide along a common axis."""
        return self._at("cylindrical", sides, at, axis)

    @recorded
    def prismatic(self, *sides: Any, at: Any, axis: Any) -> Joint:
        """One slides along an axis of the other and does not turn."""
        return self._at("prismatic", sides, at, axis)

    @recorded
    def planar(self, *sides: Any, at: Any, normal: Any) -> Joint:
        """A plane of one stays in a plane of the other."""
        return self._at("planar", sides, at, normal)

    @recorded
    def fixed(self, *sides: Any, at: Any) -> Joint:
        """Both move as one."""
        return self._at("fixed", sides, at, (0.0, 0.0, 1.0))

    # ---- the system --------------------------------------------------------------------------

    def system(self) -> System:
        """The mechanism as an ordinary `System`; `start` is where it begins."""
        self._check_parts()
        library = Library()
        moving: dict[Shape, list[Part]] = {}
        for part in self.parts.values():
            moving.setdefault(part.shape, []).append(part)
        for shape, alike in moving.items():
            self._inertial(library, shape, alike)
        for shape, alike in moving.items():
            _rigid(library, shape, alike)
        for part in (*self.beams.values(), *self.joints.values(), *self.forces.values()):
            library.add(*part.pieces)
        names = [x for part in self.carriers for x in part.shape.names(part.name)]
        acting = (getattr(force, "channel", None) for force in self.forces.values())
        channels = [channel for channel in acting if channel is not None]
        if channels:
            self._check_controls(channels)
        system = System.from_terms(names, library.terms(), controls=channels or None)
        system.mechanism = self.copy()  # runs are seen through it, whatever becomes of this one
        system.mechanism._sealed = True
        system.mechanism.gravity.flags.writeable = False
        return system

    def _check_controls(self, channels: list[Channel]) -> None:
        """What controllers say is known by the name of the force: nothing else may have it."""
        taken = {*self.numbers, *(x + DOT for x in self.numbers), LENGTH.name, RATE.name, t.name}
        for channel in channels:
            for name in taken.intersection(channel.parameters):
                raise ModelError(
                    f"a controller cannot be called {name}",
                    expected="a name that no coordinate, rate or measure of the mechanism has",
                    remedy="choose another name for the force",
                )

    def _check_parts(self) -> None:
        if not self.parts:
            still = 'all links are fixed to the ground: taut.urdf(…, base="free")'
            raise ModelError(
                "the mechanism has no parts that move",
                remedy=still if self.frames else "m.point(…), m.body(…)",
            )

    def _inertial(self, library: Library, shape: Shape, alike: list[Part]) -> None:
        """½ m |ṙ|² + ½ Σ Eᵢ |ḋᵢ|² + m g·r."""

        def write() -> Written:
            side = Side(shape, "a")
            m = sp.Symbol("m", positive=True)
            extents = [sp.Symbol(f"E{k}", positive=True) for k in shape.directors]
            masses = [m] * 3 + [e for e in extents for _ in range(3)]
            kinetic = sp.Add(*(x * v**2 / 2 for x, v in zip(masses, side.rates, strict=True)))
            pull = sp.Add(
                *(float(g) * x for g, x in zip(self.gravity, side.centre, strict=True) if g)
            )
            return side.coordinates, side.rates, [m, *extents], [kinetic + m * pull]

        which = [k - 1 for k in shape.directors]
        constants = [[part.mass, *part.extents[which]] for part in alike]
        indices = [part.indices for part in alike]
        library.add_all(Piece("lagrangian", shape.name, write, indices, constants))

    def copy(self) -> Mechanism:
        """A mechanism of its own with the same parts, joints and forces, known by their names."""
        made = copied(self)
        made._sealed = False
        return made

    __copy__ = copy

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities at the start."""
        self._check_parts()
        return parts.starts(self.carriers)

    # ---- as a whole --------------------------------------------------------------------------

    def assemble(self, q0: Any = None, v0: Any = None, *, time: float = 0.0) -> Any:
        """A consistent configuration near this one, and what is free and what is redundant in it.

        Parameters
        ----------
        q0, v0 : array_like, optional
            Rough coordinates and velocities, or an `Assembly`; those that the parts were given if
            left out.
        time : float
            At which drives, and other joints that change with time, are taken.

        Returns
        -------
        Assembly
            Prints as a table; ``.q`` and ``.v`` are a start for `taut.simulate`.
        """
        return _from_march("assemble")(self, q0, v0, time)

    def equilibrium(self, q0: Any = None, *, stable: bool = True, time: float = 0.0) -> Any:
        """Where all forces are in balance, found downhill from here.

        Parameters
        ----------
        q0 : array_like, optional
            Where to begin, or an `Assembly`; where the parts are if left out.
        stable : bool
            Go on from a balance that is not stable, along the motion that grows fastest, as long as
            all forces have a potential.  With False the first balance will do: that of a column
            that is about to buckle, or of an inverted pendulum to be controlled.
        time : float
            At which motors, loads and drives that change with time are taken: they are held as they
            are then.  The result says so.

        Returns
        -------
        Assembly
            ``.q`` is where; ``.stable`` tells whether no small motion grows, ``.modes()`` gives
            small motions about it.

        Notes
        -----
        Controllers that are Python functions are taken to say zero; a warning
        `taut.Uncontrolled` names them.
        """
        stable = flag("stable", stable)
        self._warn_of_controllers("an equilibrium")
        return _from_march("rest")(self, q0, stable, time)

    def modes(self, at: Any = None, count: int = 10, *, time: float | None = None) -> Any:
        """Frequencies and shapes of small motions about a rest (which is looked for if not given).

        With dampers, and other forces of coordinates and velocities, also how fast they decay or
        grow.  Controllers that are Python functions are taken to say zero; a warning
        `taut.Uncontrolled` names them.

        Parameters
        ----------
        at : Assembly or (n,) array_like, optional
            What `equilibrium` or `assemble` returned, or coordinates.
        count : int
            How many, the slowest first.
        time : float, optional
            At which what changes with time is taken; that of `at`, or zero.
        """
        self._warn_of_controllers("modes")
        return _from_march("mechanism_modes", "mechanism_modes")(self, at, count, time)

    def _warn_of_controllers(self, what: str) -> None:
        """Say which forces are left out, because a function cannot be looked into."""
        left = [x.name for x in self.forces.values() if getattr(x, "channel", None) is not None]
        if left:
            names = ", ".join(left[:LISTED]) + (" …" if len(left) > LISTED else "")
            warn(
                Uncontrolled(
                    f"{what} without what {names} {'says' if len(left) == 1 else 'say'}: Python "
                    "functions are taken to say zero here; give the law as an expression of "
                    "m.symbols(…), or simulate until it rests"
                )
            )

    def stable_step(self) -> float:
        """The largest stable step of RATTLE that beams and springs allow; infinite without them.

        At the start, and as if joints were not there: they only slow motions down.
        """
        return _from_march("longest_step", "beam_steps")(self)

    def __repr__(self) -> str:
        """What was made of each kind, without nodes of beams."""
        laden = {name for beam in self.beams.values() for name in beam.loads}
        made = [x.shape for x in self.parts.values() if "beam" not in x.looks]
        points = made.count(POINT)
        named = [
            (points, "point", ""),
            (len(made) - points, "body", "bodies"),
            (len(self.beams), "beam", ""),
        ]
        found = [counted(*x) for x in named if x[0]] or ["no parts"]
        found += [counted(len(self.joints), "joint")]
        found += [counted(len(self.forces.keys() - laden), "force")]
        return f"Mechanism: {', '.join(found)}"


def _from_march(name: str, module: str = "assemble") -> Any:
    """A function of a room further up, which is not needed to write a mechanism down."""
    return getattr(import_module(f"taut.march.{module}"), name)


def _rigid(library: Library, shape: Shape, alike: list[Part]) -> None:
    """The directors that they carry stay orthonormal."""
    if shape not in (ROD, PLATE, BODY):
        return

    def write() -> Written:
        side = Side(shape, "a")
        d = list(side.directors.values())
        rows = [(dot(x, x) - 1) / 2 for x in d]
        rows += [dot(d[i], d[j]) for i in range(len(d)) for j in range(i + 1, len(d))]
        return side.coordinates[3:], side.rates[3:], [], rows

    count = {1: 1, 2: 3, 3: 6}[len(shape.directors)]
    names = [f"{part.name} rigid {k + 1}" for part in alike for k in range(count)]
    indices = [part.indices[3:] for part in alike]
    key = f"rigid {shape.name}"
    library.add_all(Piece("constraint", key, write, indices, [[]] * len(alike), names))
