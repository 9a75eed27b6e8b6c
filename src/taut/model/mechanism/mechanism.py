"""`Mechanism`: parts, joints and forces by name; `system()` writes down the equations."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import sympy as sp

from taut.errors import ModelError, UnknownName, number
from taut.model.mechanism import forces, joints, parts
from taut.model.mechanism.acts import Acts
from taut.model.mechanism.joints import Joint
from taut.model.mechanism.library import Library, Piece, Written
from taut.model.mechanism.parts import Part, direction, vector
from taut.model.mechanism.relations import Relations
from taut.model.mechanism.shapes import BODY, GROUND, NUMBER, PLATE, ROD, Side, dot
from taut.model.system import System

PULLING = ("spring", "rope", "central")


class Mechanism(Relations, Acts):
    """Points, rigid bodies, joints and forces.

    Everything is given in space as it is at the start: a joint at a place is at that place of both
    parts.

    Parameters
    ----------
    gravity : (3,) array_like
        The acceleration of gravity.

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

    def __init__(self, gravity: Any = (0.0, 0.0, 0.0)) -> None:
        self.gravity = vector("gravity", gravity)
        self.ground = parts.ground()
        self.parts: dict[str, Part] = {}
        self.joints: dict[str, Joint] = {}
        self.forces: dict[str, forces.Force] = {}
        self.size = 0
        self.numbers: dict[str, int] = {}  # of coordinates, by their names

    # ---- parts -------------------------------------------------------------------------------

    def point(
        self, name: str, *, mass: float, at: Any, velocity: Any = (0.0, 0.0, 0.0), **looks: Any
    ) -> Part:
        """A point mass."""
        return self._added(parts.point(self._new(name), mass, at, velocity), looks)

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
        """
        made = parts.body(
            self._new(name), mass, inertia, at, rotation, velocity, angular_velocity,
            body_angular_velocity,
        )  # fmt: skip
        return self._added(made, looks)

    def _new(self, name: Any) -> str:
        if not isinstance(name, str) or not name.strip():
            raise ModelError("a part needs a name", expected="a string", received=repr(name))
        if name == "ground" or name in self.parts or name in self.joints or name in self.forces:
            raise ModelError(
                f"there is a {name!r} in this mechanism already", remedy="choose another name"
            )
        return name

    def _added(self, part: Part, looks: dict[str, Any]) -> Part:
        part.first, part.looks = self.size, looks
        self.parts[part.name] = part
        for k, coordinate in enumerate(part.shape.names(part.name)):
            self.numbers[coordinate] = self.size + k
        self.size += part.shape.size
        return part

    def __getitem__(self, name: str) -> Any:
        for group in (self.parts, self.joints, self.forces):
            if name in group:
                return group[name]
        if name == "ground":
            return self.ground
        raise UnknownName("part, joint or force", name, [*self.parts, *self.joints, *self.forces])

    # ---- joints ------------------------------------------------------------------------------

    def rod(self, *sides: Any, ends: Any = None, length: float | None = None) -> Joint:
        """A massless rod: the distance of two places stays what it is.

        ``m.rod(a, b)`` or ``m.rod("name", a, b)``; `ends` are the two places, if they are not the
        centres of mass and the origin of the ground.
        """
        name, a, b = self._sides("rod", sides)
        at = self._ends(name, a, b, ends)
        apart = float(np.linalg.norm(at[0] - at[1]))
        span = apart if length is None else number(f"the length of {name}", length)
        if not span > 0:
            raise ModelError(
                f"{name} has no length",
                expected="two places apart",
                received=f"{at[0].tolist()} and {at[1].tolist()}",
                remedy="a joint at one place is spherical",
            )
        return self._joined(name, "rod", a, b, at, {}, {}, [span])

    def spherical(self, *sides: Any, at: Any) -> Joint:
        """A ball joint: a place of one part is a place of the other."""
        return self._at("spherical", sides, at, None)

    def revolute(self, *sides: Any, at: Any, axis: Any) -> Joint:
        """A hinge: both turn about a common axis."""
        return self._at("revolute", sides, at, axis)

    def universal(self, *sides: Any, at: Any, axes: Any) -> Joint:
        """A universal joint: an axis of the first and one of the second stay at right angles."""
        first, second = (direction("an axis of a universal joint", x) for x in axes)
        if abs(first @ second) > 1e-9:
            raise ModelError(
                "the axes of a universal joint are not at right angles",
                received=f"cosine {first @ second:.3g}",
            )
        return self._at("universal", sides, at, np.cross(first, second), first)

    def cylindrical(self, *sides: Any, at: Any, axis: Any) -> Joint:
        """Both turn about and slide along a common axis."""
        return self._at("cylindrical", sides, at, axis)

    def prismatic(self, *sides: Any, at: Any, axis: Any) -> Joint:
        """One slides along an axis of the other and does not turn."""
        return self._at("prismatic", sides, at, axis)

    def planar(self, *sides: Any, at: Any, normal: Any) -> Joint:
        """A plane of one stays in a plane of the other."""
        return self._at("planar", sides, at, normal)

    def fixed(self, *sides: Any, at: Any) -> Joint:
        """Both move as one."""
        return self._at("fixed", sides, at, (0.0, 0.0, 1.0))

    def _at(self, kind: str, sides: Any, at: Any, axis: Any, across: Any = None) -> Joint:
        name, a, b = self._sides(kind, sides)
        place = vector(f"the place of {name}", at)
        what = joints.KINDS[kind]
        held = {}
        if axis is not None:
            held = joints.triad(direction(f"the axis of {name}", axis), across)
        first = {x: held[x] for x in what.first}
        second = {x: held[x] for x in what.second}
        return self._joined(name, kind, a, b, np.array([place, place]), first, second, [], held)

    def _sides(self, kind: str, given: tuple[Any, ...]) -> tuple[str, Part, Part]:
        """The name of a joint or a force, and the parts that it holds on to."""
        if len(given) == 3:
            name, given = self._new(given[0]), given[1:]
        else:
            name = self._free("force" if kind in PULLING else "joint")
        if len(given) != 2:
            raise ModelError(
                f"a {kind} holds two parts together",
                expected=f'm.{kind}(a, b, …) or m.{kind}("name", a, b, …)',
                received=f"{len(given)} of them",
            )
        a, b = (self._part(x) for x in given)
        if a is b:
            raise ModelError(f"{name} holds {a.name} to itself", expected="two different parts")
        return name, a, b

    def _free(self, word: str) -> str:
        k = len(self.joints) + len(self.forces) + 1
        while f"{word} {k}" in self.joints or f"{word} {k}" in self.forces:
            k += 1
        return f"{word} {k}"

    def _part(self, given: Any) -> Part:
        if isinstance(given, str):
            if given == "ground":
                return self.ground
            if given not in self.parts:
                raise UnknownName("part", given, ["ground", *self.parts])
            return self.parts[given]
        if given is self.ground or (
            isinstance(given, Part) and self.parts.get(given.name) is given
        ):
            return given
        raise ModelError(
            "this is no part of the mechanism",
            expected="m.ground, what m.point(…) or m.body(…) returned, or its name",
            received=repr(given)[:80],
        )

    def _ends(self, name: str, a: Part, b: Part, ends: Any) -> np.ndarray:
        if ends is None:
            return np.array([a.position, b.position])
        if isinstance(ends, str) or not hasattr(ends, "__len__") or len(ends) != 2:
            raise ModelError(
                f"the ends of {name} cannot be read",
                expected="two places",
                received=repr(ends)[:80],
            )
        return np.array([vector(f"an end of {name}", x) for x in ends])

    def _joined(self, name, kind, a, b, at, first, second, own, held=None) -> Joint:
        what = f"joint {name}"
        values = np.concatenate(
            [
                a.on(at[0], what), *(a.along(x, what) for x in first.values()),
                b.on(at[1], what), *(b.along(x, what) for x in second.values()),
                own,
            ]
        )  # fmt: skip
        if a.shape is GROUND and b.shape is GROUND:
            raise ModelError(f"{name} holds the ground to itself")
        rows = joints.numbered(name, len(joints.written(kind, a, b)[3]))
        key, indices = (kind, a.shape.name, b.shape.name), [*a.indices, *b.indices]
        piece = Piece("constraint", key, lambda: joints.written(kind, a, b), indices, values, rows)
        return self._kept(Joint(name, kind, a, b, at, [piece], held or {}))

    def _kept(self, joint: Joint) -> Joint:
        self.joints[joint.name] = joint
        return joint

    # ---- the system --------------------------------------------------------------------------

    def system(self) -> System:
        """The mechanism as an ordinary `System`; `start` is where it begins."""
        self._check_parts()
        library = Library()
        moving = [part for part in self.parts.values() if part.shape is not NUMBER]
        for part in moving:
            self._inertial(library, part)
        for part in moving:
            _rigid(library, part)
        for part in (*self.joints.values(), *self.forces.values()):
            library.add(*part.pieces)
        names = [x for part in self.parts.values() for x in part.shape.names(part.name)]
        system = System.from_terms([sp.Symbol(x, real=True) for x in names], library.terms())
        system.mechanism = self
        return system

    def _check_parts(self) -> None:
        if not self.parts:
            raise ModelError("the mechanism has no parts", remedy="m.point(…), m.body(…)")

    def _inertial(self, library: Library, part: Part) -> None:
        """½ m |ṙ|² + ½ Σ Eᵢ |ḋᵢ|² + m g·r."""

        def write() -> Written:
            side = Side(part.shape, "a")
            m = sp.Symbol("m", positive=True)
            extents = [sp.Symbol(f"E{k}", positive=True) for k in part.shape.directors]
            masses = [m] * 3 + [e for e in extents for _ in range(3)]
            kinetic = sp.Add(*(x * v**2 / 2 for x, v in zip(masses, side.rates, strict=True)))
            pull = sp.Add(
                *(float(g) * x for g, x in zip(self.gravity, side.centre, strict=True) if g)
            )
            return side.coordinates, side.rates, [m, *extents], [kinetic + m * pull]

        constants = [part.mass, *(part.extents[k - 1] for k in part.shape.directors)]
        library.add(Piece("lagrangian", part.shape.name, write, part.indices, constants))

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities at the start."""
        self._check_parts()
        found = [part.start() for part in self.parts.values()]
        return np.concatenate([q for q, _ in found]), np.concatenate([v for _, v in found])

    # ---- as a whole --------------------------------------------------------------------------

    def assemble(self, q0: Any = None, v0: Any = None) -> Any:
        """A consistent configuration near this one, and what is free and what is redundant in it.

        Parameters
        ----------
        q0, v0 : array_like, optional
            Rough coordinates and velocities; those that the parts were given if left out.

        Returns
        -------
        Assembly
            Prints as a table; ``.q`` and ``.v`` are a start for `taut.simulate`.
        """
        return _from_march("assemble")(self, q0, v0)

    def equilibrium(self, q0: Any = None) -> Any:
        """Where all forces are in balance, found downhill from here (or from `q0`)."""
        return _from_march("rest")(self, q0)

    def modes(self, at: Any = None, count: int = 10) -> Any:
        """Frequencies and shapes of small motions about a rest (which is looked for if not given).

        Dampers and other forces that do work are left out.
        """
        return _from_march("mechanism_modes")(self, at, count)

    def __repr__(self) -> str:
        return (
            f"Mechanism: {len(self.parts)} parts, {len(self.joints)} joints, "
            f"{len(self.forces)} forces"
        )


def _from_march(name: str) -> Any:
    """A function of a room further up, which is not needed to write a mechanism down."""
    return getattr(import_module("taut.march.assemble"), name)


def _rigid(library: Library, part: Part) -> None:
    """The directors that it carries stay orthonormal."""
    if part.shape not in (ROD, PLATE, BODY):
        return

    def write() -> Written:
        side = Side(part.shape, "a")
        d = list(side.directors.values())
        rows = [(dot(x, x) - 1) / 2 for x in d]
        rows += [dot(d[i], d[j]) for i in range(len(d)) for j in range(i + 1, len(d))]
        return side.coordinates[3:], side.rates[3:], [], rows

    count = {1: 1, 2: 3, 3: 6}[len(part.shape.directors)]
    names = [f"{part.name} rigid {k + 1}" for k in range(count)]
    key = f"rigid {part.shape.name}"
    library.add(Piece("constraint", key, write, part.indices[3:], [], names))
