"""The state that a controller sees: numbers, and parts and joints of a mechanism by name.

The same views as those of a run (see `parts`), of one state, and compiled where arithmetic on short
vectors would take longer than a step:

    ω = ½ Σ dᵢ × ḋᵢ,      φ = atan2(w·b, u·b),      φ̇ = (w·b)˙ (u·b) − (u·b)˙ (w·b),

with two directions u, w of the first part at right angles to the axis and one, b, of the second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from taut.errors import InputError, UnknownName, close_to
from taut.kernel.jit import entry, within
from taut.lie import SO3
from taut.march.beam_parts import BeamView
from taut.march.force_parts import force_view
from taut.march.parts import CounterView, FrameView, JointView, PartView
from taut.model.mechanism.joints import Joint
from taut.model.mechanism.shapes import BODY, POINT, ROD
from taut.model.system import System

KINDS = {"ground": 0, "rod": 1, "plate": 2, "body": 3}


class Here:
    """One state of a run that is under way.

    Attributes
    ----------
    t : float
    k : int
        Number of the step that begins here.
    member : int
        Number of the trajectory in a batch.
    q, v, p : ndarray, shape (n,)
    """

    def __init__(self, names: Names, t: float, k: int, member: int, values: np.ndarray) -> None:
        n = names.system.n
        self.t, self.k, self.member, self._names = t, k, member, names
        self.q, self.p, self.v = values[:n], values[n : 2 * n], values[2 * n :]
        self._views: dict[str, Any] = {}

    @property
    def system(self) -> System:
        """What is moving."""
        return self._names.system

    @property
    def multipliers(self) -> np.ndarray:
        """Not to be had: they depend on what the controller is about to say."""
        raise InputError(
            "reactions are not known while a controller is asked",
            expected="positions, velocities, angles and their rates",
        )

    def held_values(self) -> dict[str, np.ndarray]:
        """Not to be had, either."""
        raise InputError(
            "what controllers say is not known while they are asked",
            expected="length, angle or slide of what they set, and its rate",
            remedy="let the controller keep what it said",
        )

    def __getitem__(self, name: str) -> Any:
        """A part, beam, joint, force or frame of a mechanism, with the words of a run.

        Of all systems a coordinate, velocity or momentum.
        """
        if not isinstance(name, str):
            raise TypeError(f"parts, joints, forces and coordinates have names, not {name!r}")
        if name not in self._views:
            self._views[name] = self._names.view(self, name)
        return self._views[name]

    def __repr__(self) -> str:
        return f"State: t = {self.t:g}, {self.system.n} coordinates"


class Names:
    """What the names of a system stand for, worked out once."""

    def __init__(self, system: System) -> None:
        self.system = system
        groups = (("q", system.coordinates), ("v", system.velocities), ("p", system.momenta))
        self.numbers = {s.name: (x, i) for x, group in groups for i, s in enumerate(group)}
        self.gauges: dict[str, Gauge] = {}
        m = system.mechanism
        self.groups: list[tuple[Mapping[str, Any], Callable[..., Any]]] = []
        if m is not None:
            self.groups = [
                (m.parts, PartHere), (m.ends, PartHere), (m.beams, BeamView),
                (m.joints, JointHere), (m.frames, FrameView), (m.forces, force_view),
                (m.counters, CounterView),
            ]  # fmt: skip

    def view(self, here: Here, name: str) -> Any:
        """Of one name in a state."""
        for group, made in self.groups:
            if name in group:
                return made(here, group[name])
        if name in self.numbers:
            vector, i = self.numbers[name]
            return float(getattr(here, vector)[i])
        known = [x for group, _ in self.groups for x in group]
        what = "part, joint, force, frame or coordinate" if self.groups else "coordinate"
        near = close_to(name, self.numbers)  # of a mechanism's raw coordinates only that one
        raise UnknownName(what, name, [*known, near] if known and near else known or self.numbers)

    def gauge(self, joint: Joint) -> Gauge:
        """How a joint is measured."""
        if joint.name not in self.gauges:
            self.gauges[joint.name] = Gauge(joint)
        return self.gauges[joint.name]


class PartHere(PartView):
    """A part of a mechanism at one state; arrays are (3,), rotations (3, 3)."""

    @cached_property
    def directors(self) -> np.ndarray:
        """Columns: principal axes in space."""
        if self.part.shape is not BODY:
            return super().directors
        first = self.part.first + 3
        return self.run.q[first : first + 9].reshape(3, 3).T

    @cached_property
    def angular_velocity(self) -> np.ndarray:
        """In space; of a thin rod without its turning about the axis."""
        if self.part.shape is POINT:
            return super().angular_velocity  # says what is wrong
        kind = KINDS[self.part.shape.name]
        return np.array(spin(self.run.q, self.run.v, self.part.first, kind))

    @property
    def quaternion(self) -> np.ndarray:
        """(w, x, y, z) of the rotation, w ≥ 0."""
        found = SO3._quaternion(self.rotation)
        return -found if found[0] < 0 else found


class JointHere(JointView):
    """A joint of a mechanism at one state."""

    @cached_property
    def _found(self) -> tuple[float, float, float, float]:
        """Angle, its rate, slide, its rate."""
        names = self.run._names  # type: ignore[attr-defined]
        return names.gauge(self.joint)(self.run.q, self.run.v)

    @property
    def angle(self) -> float:  # type: ignore[override]
        """Of a hinge: between −π and π, unless it is counted (``m.angle``)."""
        if self.joint.counter is not None:
            return float(self.run.q[self.joint.counter.first])
        self._held("angle", ("revolute", "cylindrical"))
        return self._found[0]

    @property
    def slide(self) -> float:  # type: ignore[override]
        """Of a slider: how far the second has moved along the axis since the start."""
        self._held("slide", ("prismatic", "cylindrical"))
        return self._found[2]

    @property
    def rate(self) -> float:  # type: ignore[override]
        """Of the angle, or of the slide of a slider."""
        if self.joint.counter is not None:
            return float(self.run.v[self.joint.counter.first])
        self._held("rate", ("revolute", "cylindrical", "prismatic"))
        return self._found[3 if self.joint.kind == "prismatic" else 1]


class Gauge:
    """The angle and the slide of a joint and their rates, with all constants at hand."""

    def __init__(self, joint: Joint) -> None:
        a, b, what = joint.a, joint.b, f"joint {joint.name}"
        held, rod = joint.triad, b.shape is ROD  # which has no angle, and one number for a place
        rows = [a.along(held[x], what) for x in "uwe"]
        rows += [a.on(joint.at[0], what), np.zeros(3) if rod else b.along(joint.other["u"], what)]
        rows.append(np.pad(b.on(joint.at[1], what), (2, 0)) if rod else b.on(joint.at[1], what))
        self.constants = np.array(rows)
        self.sides = (a.first, KINDS[a.shape.name], b.first, KINDS[b.shape.name])

    def __call__(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float, float, float]:
        """Angle, its rate, slide, its rate."""
        return measured(q, v, *self.sides, self.constants)


@entry
def measured(q, v, first_a, kind_a, first_b, kind_b, constants):
    """Angle, its rate, slide, its rate of a joint; rows of `constants` are u, w, e, P_a, b, P_b."""
    u, du = along(q, v, first_a, kind_a, constants[0])
    w, dw = along(q, v, first_a, kind_a, constants[1])
    e, de = along(q, v, first_a, kind_a, constants[2])
    a, da = along(q, v, first_a, kind_a, constants[3])
    other, bent = along(q, v, first_b, kind_b, constants[4])
    b, db = along(q, v, first_b, kind_b, constants[5])
    c, c1 = _dot(u, other), _dot(du, other) + _dot(u, bent)
    s, s1 = _dot(w, other), _dot(dw, other) + _dot(w, bent)
    slide, rate = 0.0, 0.0
    for i in range(3):
        apart, moved = b[i] - a[i], db[i] - da[i]
        if kind_a != 0:
            apart, moved = apart - q[first_a + i], moved - v[first_a + i]
        if kind_b != 0:
            apart, moved = apart + q[first_b + i], moved + v[first_b + i]
        slide += e[i] * apart
        rate += e[i] * moved + de[i] * apart
    return np.arctan2(s, c), s1 * c - c1 * s, slide, rate


@within
def along(q, v, first, kind, c):
    """The direction Σ cᵢ dᵢ of a part and its rate."""
    if kind == 0:  # the ground
        return (c[0], c[1], c[2]), (0.0, 0.0, 0.0)
    d3, r3 = _triple(q, first + 3), _triple(v, first + 3)
    if kind == 1:  # a thin rod has the third director alone
        return _scaled(c[2], d3), _scaled(c[2], r3)
    d1, r1, d2, r2 = d3, r3, _triple(q, first + 6), _triple(v, first + 6)
    if kind == 2:  # a plate
        d3, one, other = _cross(d1, d2), _cross(r1, d2), _cross(d1, r2)
        r3 = (one[0] + other[0], one[1] + other[1], one[2] + other[2])
    else:
        d3, r3 = _triple(q, first + 9), _triple(v, first + 9)
    return _summed(c, d1, d2, d3), _summed(c, r1, r2, r3)


@entry
def spin(q, v, first, kind):
    """ω in space."""
    total = (0.0, 0.0, 0.0)
    if kind == 1:
        return _cross(_triple(q, first + 3), _triple(v, first + 3))
    unit = np.zeros(3)
    for i in range(3):
        unit[:] = 0.0
        unit[i] = 1.0
        d, rate = along(q, v, first, kind, unit)
        more = _cross(d, rate)
        total = (total[0] + 0.5 * more[0], total[1] + 0.5 * more[1], total[2] + 0.5 * more[2])
    return total


@within
def _triple(x, at):
    return (x[at], x[at + 1], x[at + 2])


@within
def _scaled(c, a):
    return (c * a[0], c * a[1], c * a[2])


@within
def _summed(c, a, b, d):
    return (
        c[0] * a[0] + c[1] * b[0] + c[2] * d[0],
        c[0] * a[1] + c[1] * b[1] + c[2] * d[1],
        c[0] * a[2] + c[1] * b[2] + c[2] * d[2],
    )


@within
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@within
def _cross(a, b):
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )
