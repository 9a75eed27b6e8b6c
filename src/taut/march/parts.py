"""What became of the parts and joints of a mechanism: views of a trajectory by name.

Everything follows from the stored states.  With directors dᵢ, the rotation of a part is the matrix
of them, its angular velocity ω = ½ Σ dᵢ × ḋᵢ.  The force of a joint is −Gᵀλ of its own rows: on the
second part the force is the part along r, the torque about the centre of mass Σ dᵢ × fᵢ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from taut.errors import ModelError, UnknownKey, UnknownName
from taut.lie import SO3, euler
from taut.march.view import View
from taut.model.mechanism.shapes import PLATE, POINT, ROD

if TYPE_CHECKING:
    from taut.march.trajectory import Trajectory
    from taut.model.mechanism.frames import Frame
    from taut.model.mechanism.joints import Joint
    from taut.model.mechanism.parts import Counter, Part


def view(run: Trajectory, name: str) -> View:
    """The part, beam, joint, frame, force or counter of this name in a run."""
    mechanism = run.system.mechanism
    if mechanism is None:
        raise _no_parts(run, name)
    part = mechanism.parts.get(name) or mechanism.ends.get(name)
    if part is not None:
        return PartView(run, part)
    if name in mechanism.beams:
        from taut.march.beam_parts import BeamView

        return BeamView(run, mechanism.beams[name])
    if name in mechanism.joints:
        return JointView(run, mechanism.joints[name])
    if name in mechanism.frames:
        return FrameView(run, mechanism.frames[name])
    if name in mechanism.forces:
        from taut.march.force_parts import force_view

        return force_view(run, mechanism.forces[name])
    if name in mechanism.counters:
        return CounterView(run, mechanism.counters[name])
    groups = (mechanism.beams, mechanism.parts, mechanism.joints, mechanism.frames)
    known = {x for group in (*groups, mechanism.forces) for x in group}
    raise UnknownName("part, joint, force or frame", name, known)


def _no_parts(run: Trajectory, name: str) -> UnknownKey:
    """Of a run of a system or a flow, which has arrays: where in them a name is found."""
    system = run.system
    groups = {
        "q": system.coordinates, "v": system.velocities, "p": system.momenta,
        "constraints": system.constraint_names,
    }  # fmt: skip
    columns = {
        str(getattr(x, "name", x)): f"run.{array}[..., {i}]"
        for array, names in groups.items()
        for i, x in enumerate(names)
    }
    if name in columns:
        return UnknownKey("part", name, [], columns[name], "in a run of a system: it has arrays")
    return UnknownKey("coordinate or constraint", name, columns, where="(parts are of a Mechanism)")


def when(run: Any) -> str:
    """Of what a view is one: of a run, or of the one state that a controller sees."""
    return f"at t = {run.t:g}" if np.ndim(run.t) == 0 else f"at {len(run.t)} states"


@dataclass(frozen=True)
class PartView(View):
    """A part of a mechanism along a run; arrays have one row per stored state."""

    run: Trajectory
    part: Part

    def _columns(self, of: np.ndarray) -> np.ndarray:
        return of[..., self.part.first : self.part.first + self.part.shape.size]

    @property
    def position(self) -> np.ndarray:
        """Of the centre of mass, shape (N, 3)."""
        return self._columns(self.run.q)[..., :3]

    @property
    def velocity(self) -> np.ndarray:
        """Of the centre of mass, shape (N, 3)."""
        return self._columns(self.run.v)[..., :3]

    @property
    def momentum(self) -> np.ndarray:
        """Linear momentum, shape (N, 3)."""
        return self.part.mass * self.velocity

    @cached_property
    def directors(self) -> np.ndarray:
        """Columns: principal axes in space, shape (N, 3, 3)."""
        return self._frames(self.run.q, self.run.q)

    def _frames(self, of: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Directors, or (of velocities) their rates."""
        if self.part.shape in (POINT, ROD):
            what = "point" if self.part.shape is POINT else "thin rod"
            raise ModelError(
                f"{self.part.name} is a {what}: it has no rotation",
                expected="a body, or .axis of a rod",
            )
        given = self._columns(of)[..., 3:]
        carried = [given[..., 3 * k : 3 * k + 3] for k in range(given.shape[-1] // 3)]
        if self.part.shape is PLATE:
            first, second = (self._columns(q)[..., 3 + 3 * k : 6 + 3 * k] for k in range(2))
            if of is q:
                carried.append(np.cross(first, second))
            else:
                carried.append(np.cross(carried[0], second) + np.cross(first, carried[1]))
        return np.stack(carried, axis=-1)

    @property
    def axis(self) -> np.ndarray:
        """The third principal axis in space, shape (N, 3): that along which a thin rod lies."""
        if self.part.shape is ROD:
            return self._columns(self.run.q)[..., 3:6]
        return self.directors[..., 2]

    @cached_property
    def rotation(self) -> np.ndarray:
        """The body's own axes in space, as columns, shape (N, 3, 3)."""
        return self.directors @ self.part.axes.T

    @property
    def quaternion(self) -> np.ndarray:
        """(w, x, y, z) of the rotation, continuous along the run, shape (N, 4)."""
        found = SO3._quaternion(self.rotation)
        signs = np.sign(np.sum(found[..., 1:, :] * found[..., :-1, :], axis=-1))
        flips = np.cumprod(np.where(signs < 0, -1.0, 1.0), axis=-1)
        found[..., 1:, :] *= flips[..., None]
        return found

    def euler(self, axes: str = "zxz") -> np.ndarray:
        """Angles of the rotation about axes that turn with the body, shape (N, 3).

        The first and the third are continuous along the run, see `taut.rotation` for the axes.
        """
        found = euler(self.rotation, axes)
        for k in (0, 2):
            found[..., k] = np.unwrap(found[..., k], axis=-1)
        return found

    @cached_property
    def angular_velocity(self) -> np.ndarray:
        """In space, shape (N, 3); of a thin rod without its turning about the axis."""
        if self.part.shape is ROD:
            rate = self._columns(self.run.v)[..., 3:6]
            return np.cross(self.axis, rate)
        rates = self._frames(self.run.v, self.run.q)
        frames = self.directors
        return 0.5 * np.cross(frames, rates, axisa=-2, axisb=-2, axisc=-2).sum(axis=-1)

    @property
    def body_angular_velocity(self) -> np.ndarray:
        """Along the body's own axes, shape (N, 3)."""
        return np.einsum("...ji,...j->...i", self.rotation, self.angular_velocity)

    @property
    def angular_momentum(self) -> np.ndarray:
        """About the centre of mass, in space, shape (N, 3)."""
        if self.part.shape is POINT:
            return np.zeros_like(self.position)
        if self.part.shape is ROD:
            return self.part.inertia[0] * self.angular_velocity
        frames = self.directors
        own = np.einsum("...ji,...j->...i", frames, self.angular_velocity) * self.part.inertia
        return np.einsum("...ij,...j->...i", frames, own)

    @property
    def body_angular_momentum(self) -> np.ndarray:
        """About the centre of mass, along the body's own axes, shape (N, 3)."""
        return np.einsum("...ji,...j->...i", self.rotation, self.angular_momentum)

    @property
    def kinetic_energy(self) -> np.ndarray:
        """½ Σ m q̇², shape (N,)."""
        return 0.5 * (self._columns(self.run.v) ** 2) @ np.array(self.part.masses)

    def place(self, at: Any) -> np.ndarray:
        """Where a place of the part is, which is given in space at the start, shape (N, 3)."""
        given = self.part.on(at, f"part {self.part.name}")
        if self.part.shape is POINT:
            return self.position
        if self.part.shape is ROD:
            return self.position + given[0] * self.axis
        return self.position + np.einsum("...ij,j->...i", self.directors, given)

    def place_velocity(self, at: Any) -> np.ndarray:
        """How a place of the part moves, which is given in space at the start, shape (N, 3)."""
        given = self.part.on(at, f"part {self.part.name}")
        if self.part.shape is POINT:
            return self.velocity
        if self.part.shape is ROD:
            return self.velocity + given[0] * self._columns(self.run.v)[..., 3:6]
        rates = self._frames(self.run.v, self.run.q)
        return self.velocity + np.einsum("...ij,j->...i", rates, given)

    def __repr__(self) -> str:
        return f"<{self.part.shape.name} {self.part.name!r} {when(self.run)}>"


@dataclass(frozen=True)
class CounterView(View):
    """A coordinate that counts an angle, or says where on a curve, along a run."""

    run: Trajectory
    counter: Counter

    @property
    def value(self) -> np.ndarray:
        """Shape (N,)."""
        return self.run.q[..., self.counter.first]

    @property
    def rate(self) -> np.ndarray:
        """How fast it changes, shape (N,)."""
        return self.run.v[..., self.counter.first]

    def __repr__(self) -> str:
        return f"<coordinate {self.counter.name!r} {when(self.run)}>"


@dataclass(frozen=True)
class JointView(View):
    """A joint of a mechanism along a run."""

    run: Trajectory
    joint: Joint

    @cached_property
    def rows(self) -> list[int]:
        """Numbers of its constraints."""
        number = {name: i for i, name in enumerate(self.run.system.constraint_names)}
        return [number[name] for name in self.joint.rows]

    @property
    def multipliers(self) -> np.ndarray:
        """λ of its rows, shape (N, rows)."""
        return self.run.multipliers[..., self.rows]

    @cached_property
    def _pushes(self) -> np.ndarray:
        """−Gᵀλ of these rows alone, without the one that only counts an angle.

        That one carries what acts on the angle (motors, other joints) to the parts, less the
        inertia that the angle was lent: nothing of it is done by a hinge.
        """
        run, names = self.run, self.run.system.constraint_names
        only = np.zeros_like(run.multipliers)
        rows = [i for i in self.rows if names[i] != self.joint.counting]
        only[..., rows] = run.multipliers[..., rows]
        flat = only.reshape(-1, run.system.c)
        return run._along(lambda q, v, p, t: -run._mechanics.push(q, t, flat, run._par))

    def _wrench(self, part: Part) -> tuple[np.ndarray, np.ndarray]:
        """Force, and torque about the centre of mass, on one of the parts."""
        pushed = self._pushes[..., part.first : part.first + part.shape.size]
        carried = self.run.q[..., part.first : part.first + part.shape.size]
        torque = np.zeros_like(pushed[..., :3])
        for k in range(1, part.shape.size // 3):
            span = slice(3 * k, 3 * k + 3)
            torque += np.cross(carried[..., span], pushed[..., span])
        # What it does to the angle of a hinge is a torque about the axis, on both sides of it.
        mechanism = self.run.system.mechanism
        counted = [x for x in mechanism.joints.values() if x.counter is not None]
        for hinge in (x for x in counted if part in (x.a, x.b)):
            turned = self._pushes[..., hinge.counter.first]
            axis = self._direction(hinge.a, hinge.triad["e"])
            torque += (1.0 if part is hinge.b else -1.0) * turned[..., None] * axis
        if self.joint.counter is not None and part in (self.joint.a, self.joint.b):
            torque += (1.0 if part is self.joint.b else -1.0) * self._lent_to_angle()
        return pushed[..., :3], torque

    def _lent_to_angle(self) -> np.ndarray:
        """−μ φ̇ (b·ω) n, which the inertia that an angle is lent does to the second part.

        With y = φ̇ n, n = e × b, it acts on the direction b by μ ẏ, and b × ẏ is φ̈ e − φ̇ (b·ω) n.
        What is along the axis e comes back by the row that counts.
        """
        hinge, run = self.joint, self.run
        assert hinge.counter is not None
        sides = [x for x in (hinge.a, hinge.b) if x.shape.size and x.shape is not ROD]
        other = self._direction(hinge.b, hinge.other["u"])
        turning = PartView(run, sides[0]).angular_velocity  # b·ω is the same on both sides
        rate = hinge.lent * run.v[..., hinge.counter.first] * np.sum(other * turning, axis=-1)
        axis = self._direction(hinge.a, hinge.triad["e"])
        return -rate[..., None] * np.cross(axis, other)

    @property
    def _taken(self) -> tuple[Part, float, np.ndarray]:
        """A part that moves, the sign for the second part, and the place on it at the start."""
        if self.joint.b.shape.size:
            return self.joint.b, 1.0, self.joint.at[1]
        return self.joint.a, -1.0, self.joint.at[0]

    @property
    def force(self) -> np.ndarray:
        """With which the first part acts on the second, in space, shape (N, 3)."""
        part, sign, _ = self._taken
        found = self._wrench(part)[0]
        # Adding zero makes a zero of −0.
        return sign * (found if self.joint.track is None else found + self._lent()) + 0.0

    def _lent(self) -> np.ndarray:
        """Of a curve c(s): μ P̈, the inertia that was moved from the place to s.

        On the curve P̈ = c′s̈ + c″ṡ², and μ (|c′|² s̈ + c′·c″ ṡ²) is what the rows do to s.
        """
        track = self.joint.track
        assert track is not None
        at = track.place.first
        slope, bend = track.slopes(self.run.q[..., at])
        fast = self.joint.lent * self.run.v[..., at, None] ** 2
        along = self._pushes[..., at, None] - fast * np.sum(slope * bend, axis=-1, keepdims=True)
        return slope * along / np.sum(slope**2, axis=-1, keepdims=True) + fast * bend

    @property
    def torque(self) -> np.ndarray:
        """With which the first acts on the second, about the joint, in space, shape (N, 3)."""
        part, sign, at = self._taken
        force, torque = self._wrench(part)
        seen = PartView(self.run, part)
        arm = seen.place(at) - seen.position
        return sign * (torque - np.cross(arm, force)) + 0.0

    @property
    def position(self) -> np.ndarray:
        """Where it is on the second part (the first, if the second is the ground), shape (N, 3)."""
        part, _, at = self._taken
        return PartView(self.run, part).place(at)

    @property
    def velocity(self) -> np.ndarray:
        """How fast the place moves that `position` says, shape (N, 3)."""
        part, _, at = self._taken
        return PartView(self.run, part).place_velocity(at)

    @cached_property
    def angle(self) -> np.ndarray:
        """Of a hinge: by how much the second has turned against the first since the start.

        Turns are counted: in every step if it is a coordinate (``m.angle``), otherwise from stored
        state to stored state, by the rate at both: the mean of the two must tell to half a turn how
        far it has gone.  Shape (N,).
        """
        if self.joint.counter is not None:
            return self.run.q[..., self.joint.counter.first]
        held = self._held("angle", ("revolute", "cylindrical"))
        u, w = (self._direction(self.joint.a, held[x]) for x in "uw")
        other = self._direction(self.joint.b, self.joint.other["u"])
        found = np.arctan2(np.sum(w * other, axis=-1), np.sum(u * other, axis=-1))
        rate = self.rate
        gone = (rate[..., 1:] + rate[..., :-1]) / 2 * np.diff(self.run.t)
        with np.errstate(invalid="ignore"):
            turns = np.rint((gone - np.diff(found, axis=-1)) / (2 * np.pi))
        found[..., 1:] += 2 * np.pi * np.cumsum(turns, axis=-1)
        return found

    @property
    def slide(self) -> np.ndarray:
        """Of a slider: how far the second has moved along the axis since the start, shape (N,)."""
        held = self._held("slide", ("prismatic", "cylindrical", "screw"))
        axis = self._direction(self.joint.a, held["e"])
        ends = [
            self._place(x, at)
            for x, at in zip((self.joint.a, self.joint.b), self.joint.at, strict=True)
        ]
        return np.sum(axis * (ends[1] - ends[0]), axis=-1)

    @property
    def rate(self) -> np.ndarray:
        """Of the angle, or of the slide of a slider, shape (N,).

        φ̇ = (w·b)˙ (u·b) − (u·b)˙ (w·b) with directions u, w of the first part and b of the second.
        """
        if self.joint.counter is not None:
            return self.run.v[..., self.joint.counter.first]
        held = self._held("rate", ("revolute", "cylindrical", "prismatic"))
        a, b = self.joint.a, self.joint.b
        if self.joint.kind == "prismatic":
            axis, turned = self._direction(a, held["e"]), self._turned(a, held["e"])
            ends, moved = (
                [of(x, at) for x, at in zip((a, b), self.joint.at, strict=True)]
                for of in (self._place, self._moved)
            )
            return np.sum(axis * (moved[1] - moved[0]) + turned * (ends[1] - ends[0]), axis=-1)
        mark = self.joint.other["u"]
        other, bent = self._direction(b, mark), self._turned(b, mark)
        found = []
        for x in "uw":
            way, turned = self._direction(a, held[x]), self._turned(a, held[x])
            found.append((np.sum(way * other, -1), np.sum(turned * other + way * bent, -1)))
        (u, u1), (w, w1) = found
        return w1 * u - u1 * w

    def _turned(self, part: Part, direction: np.ndarray) -> np.ndarray:
        """The rate of a direction of a part."""
        if part.shape.size == 0:
            return np.zeros((*self.run.q.shape[:-1], 3))
        rates = PartView(self.run, part)._frames(self.run.v, self.run.q)
        return np.einsum("...ij,j->...i", rates, part.along(direction, f"part {part.name}"))

    def _moved(self, part: Part, at: np.ndarray) -> np.ndarray:
        """The velocity of a place of a part."""
        if part.shape.size == 0:
            return np.zeros((*self.run.q.shape[:-1], 3))
        return PartView(self.run, part).velocity + self._turned(part, at - part.position)

    def _held(self, what: str, kinds: tuple[str, ...]) -> dict[str, np.ndarray]:
        if self.joint.kind not in kinds:
            raise ModelError(
                f"{self.joint.name} has no {what}",
                expected=" or ".join(kinds),
                received=self.joint.kind,
            )
        return self.joint.triad

    def _direction(self, part: Part, direction: np.ndarray) -> np.ndarray:
        """Where a direction of a part points, which is given in space at the start."""
        if part.shape.size == 0:
            return np.broadcast_to(direction, (*self.run.q.shape[:-1], 3))
        given = part.along(direction, f"part {part.name}")
        if part.shape is ROD:
            return given[0] * PartView(self.run, part).axis
        return np.einsum("...ij,j->...i", PartView(self.run, part).directors, given)

    def _place(self, part: Part, at: np.ndarray) -> np.ndarray:
        if part.shape.size == 0:
            return np.broadcast_to(at, (*self.run.q.shape[:-1], 3))
        return PartView(self.run, part).place(at)

    def __repr__(self) -> str:
        return f"<{self.joint.kind} joint {self.joint.name!r} {when(self.run)}>"


@dataclass(frozen=True)
class FrameView(View):
    """A frame of a mechanism along a run."""

    run: Trajectory
    frame: Frame

    @property
    def _part(self) -> PartView:
        return PartView(self.run, self.frame.part)

    def _still(self, values: np.ndarray) -> np.ndarray:
        """What does not change, at every state."""
        return np.broadcast_to(values, (*self.run.q.shape[:-1], *values.shape))

    @property
    def moves(self) -> bool:
        """Whether it is not on the ground."""
        return self.frame.part.shape.size > 0

    @property
    def position(self) -> np.ndarray:
        """Of its origin, shape (N, 3)."""
        return self._part.place(self.frame.at) if self.moves else self._still(self.frame.at)

    @property
    def velocity(self) -> np.ndarray:
        """Of its origin, shape (N, 3)."""
        if not self.moves:
            return self._still(np.zeros(3))
        seen = self._part
        arm = self.position - seen.position
        return seen.velocity + np.cross(seen.angular_velocity, arm)

    @property
    def rotation(self) -> np.ndarray:
        """Its axes in space, as columns, shape (N, 3, 3)."""
        if not self.moves:
            return self._still(self.frame.rotation)
        return self._part.directors @ (self.frame.part.directors.T @ self.frame.rotation)

    @property
    def angular_velocity(self) -> np.ndarray:
        """In space, shape (N, 3)."""
        return self._part.angular_velocity if self.moves else self._still(np.zeros(3))

    def __repr__(self) -> str:
        return f"<frame {self.frame.name!r} {when(self.run)}>"
