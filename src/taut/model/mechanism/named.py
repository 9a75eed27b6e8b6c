"""Parts, joints and forces by name: what all verbs of a `Mechanism` share."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from taut.calls import Names, public
from taut.errors import InputError, ModelError, UnknownName, UnknownVerb, brief, close_to
from taut.model.mechanism import forces, joints, parts
from taut.model.mechanism.joints import Joint
from taut.model.mechanism.library import Piece
from taut.model.mechanism.parts import Counter, Part, direction, vector
from taut.model.mechanism.record import Told
from taut.model.mechanism.shapes import GROUND, INNER

if TYPE_CHECKING:
    from taut.model.mechanism.beams import BeamPart
    from taut.model.mechanism.frames import Frame

# What is no verb, but close to one that means something else.
MEANT = {
    "part": 'm.point(…), m.body(…) and m.beam(…) make parts; m["name"] is one, m.parts are all',
    "joint": "m.revolute(…), m.spherical(…), m.prismatic(…), … make joints; m.joints are all",
    "bodies": "m.parts are all of them",
    "constraint": "m.rod(…), m.revolute(…), m.on_surface(…), … hold parts; m.joints are all",
    "constraints": "m.joints are all of them",
    "load": "m.force(…) and m.torque(…) make loads; m.forces are all that acts",
    "simulate": "taut.simulate(m, duration=…, step=…)",
    "run": "taut.simulate(m, duration=…, step=…)",
    "save": "taut.Model(m).save(file)",
    "position": 'm["name"].position, at the start; run["name"].position along a run',
}
Made = TypeVar("Made", bound=Part)
PULLING = ("spring", "damper", "rope", "central")
_LEFT_OUT = "where one of them is the ground, it is said, too: m.ground"


@public
class Named:
    """What a mechanism has, and how it is found and added; `Mechanism` and its verbs are this."""

    def __init__(self, gravity: Any = (0.0, 0.0, 0.0)) -> None:
        self.gravity = vector("gravity", gravity)
        self.ground = parts.ground()
        self.parts: dict[str, Part] = Names("part")
        self.counters: dict[str, Counter] = Names("counter")
        self.beams: dict[str, BeamPart] = Names("beam")
        self.ends: dict[str, Part] = {}  # of beams: "rod root" and "rod tip" are nodes, too
        self.joints: dict[str, Joint] = Names("joint")
        self.forces: dict[str, forces.Force] = Names("force")
        self.frames: dict[str, Frame] = Names("frame")
        self.notes: list[str] = []
        self.size = 0
        self.numbers: dict[str, int] = {}  # of coordinates, by their names
        self.record: dict[str, Told] = {}  # by name, in order
        self._telling = False
        self._sealed = False  # what a system was made of stays as it was

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            known = {x for x in (*dir(type(self)), *self.__dict__) if not x.startswith("_")}
            raise UnknownVerb("verb of a mechanism", name, known, MEANT.get(name))

    def __getitem__(self, name: str) -> Any:
        for group in self._groups:
            if name in group:
                return group[name]
        if name == "ground":
            return self.ground
        raise UnknownName("part, joint, force or frame", name, {x for g in self._groups for x in g})

    @property
    def _groups(self) -> tuple[dict[str, Any], ...]:
        """Everything that has a name."""
        return (
            self.parts, self.ends, self.beams, self.joints, self.forces, self.frames, self.counters,
        )  # fmt: skip

    @property
    def carriers(self) -> list[Part]:
        """Parts and counters: all that have coordinates, in the order of these."""
        return sorted((*self.parts.values(), *self.counters.values()), key=lambda x: x.first)

    # ---- names -----------------------------------------------------------------------------------

    def _new(self, name: Any) -> str:
        if not isinstance(name, str) or not name.strip():
            raise ModelError("a part needs a name", expected="a string", received=brief(name))
        if name.endswith(INNER):
            raise ModelError(f"{name!r} is no name", expected=f"one that does not end in {INNER}")
        if name == "ground" or any(name in group for group in self._groups):
            raise ModelError(
                f"there is a {name!r} in this mechanism already", remedy="choose another name"
            )
        return name

    def _called(self, name: Any, word: str) -> str:
        """The name that was given, or one that is free."""
        left_out = name is None or (isinstance(name, str) and not name)
        return self._free(word) if left_out else self._new(name)

    def _free(self, word: str) -> str:
        k = len(self.joints) + len(self.forces) + 1
        while f"{word} {k}" in self.joints or f"{word} {k}" in self.forces:
            k += 1
        return f"{word} {k}"

    # ---- parts -----------------------------------------------------------------------------------

    def _added(self, part: Made, looks: dict[str, Any]) -> Made:
        part.first, part.looks = self.size, looks
        if isinstance(part, Counter):
            self.counters[part.name] = part
        else:
            self.parts[part.name] = part
        for k, coordinate in enumerate(part.shape.names(part.name)):
            self.numbers[coordinate] = self.size + k
        self.size += part.shape.size
        return part

    def _part(self, given: Any) -> Part:
        held = given if isinstance(given, str) else getattr(given, "name", None)
        if held in self.counters:
            joint = self.counters[held].joint
            raise ModelError(
                f"{held} is a coordinate of joint {joint}, and no part",
                expected="m.ground, a point or a body, or its name",
                remedy=f'm.symbols("{held}") are its symbol and that of its rate',
            )
        if held in self.beams and not isinstance(given, Part):
            raise ModelError(
                f"{held} is a beam: what acts on it acts on one of its nodes",
                expected=f'"{held} root", "{held} tip" or "{held} 0", "{held} 1", … by name; '
                "its .root, .tip, .nodes[k] or .near(s)",
            )
        if isinstance(given, str):
            if given == "ground":
                return self.ground
            if given in self.ends:
                return self.ends[given]
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
            received=brief(given),
        )

    def _sides(self, kind: str, given: tuple[Any, ...]) -> tuple[str, Part, Part]:
        """The name of a joint or a force, and the parts that it holds on to."""
        led = len(given) == 2  # the first may be meant as a name
        if len(given) == 3 and not isinstance(given[0], str):
            raise self._no_sides(kind, given, "a name comes first, before both parts")
        if len(given) == 3:
            name, given = self._new(given[0]), given[1:]
        else:
            name = self._free("force" if kind in PULLING else "joint")
        if len(given) != 2:
            raise self._no_sides(kind, given, _LEFT_OUT)
        if led and self._is_name(given[0]) and not self._is_name(given[1]):
            raise self._no_sides(kind, given, _LEFT_OUT, f"; no part is called {given[0]!r}")
        a, b = (self._part(x) for x in given)
        if a is b:
            raise ModelError(f"{name} holds {a.name} to itself", expected="two different parts")
        return name, a, b

    def _no_sides(
        self, kind: str, given: tuple[Any, ...], remedy: str, more: str = ""
    ) -> ModelError:
        return ModelError(
            f"a {kind} acts between two parts",
            expected=f'm.{kind}(a, b, …) or m.{kind}("name", a, b, …)',
            received=(", ".join(brief(x, 40) for x in given) or "none") + more,
            remedy=remedy,
        )

    def _is_name(self, given: Any) -> bool:
        """Whether it is a text that no part is called, or nearly."""
        known = {"ground", *self.parts, *self.ends, *self.beams, *self.counters}
        return isinstance(given, str) and given not in known and not close_to(given, known)

    def _ends(self, name: str, a: Part, b: Part, ends: Any) -> np.ndarray:
        if ends is None:
            return np.array([a.position, b.position])
        if not counts(ends, 2):
            raise ModelError(
                f"the ends of {name} cannot be read",
                expected="two places",
                received=brief(ends),
            )
        return np.array([vector(f"an end of {name}", x) for x in ends])

    # ---- joints ----------------------------------------------------------------------------------

    def _at(self, kind: str, sides: Any, at: Any, axis: Any = None, triads: Any = None) -> Joint:
        """A joint at a place and along an axis: one for both parts, or for each its own.

        Parts that are not in place yet are brought together.
        """
        name, a, b = self._sides(kind, sides)
        places = [vector(f"the place of {name}", x) for x in each(at)]
        held, other = triads or ({}, {})
        if triads is None and joints.KINDS[kind].first:
            axes = [direction(f"the axis of {name}", x) for x in each(axis)]
            held = other = joints.triad(axes[0])
            if len(np.shape(axis)) == 2:
                other = joints.tilted(held, axes[1])
        return self._joined(name, kind, a, b, np.array(places), [], held, other)

    def _joined(self, name, kind, a, b, at, own, held, other) -> Joint:
        what, written = f"joint {name}", joints.KINDS[kind]
        values = np.concatenate(
            [
                a.on(at[0], what), *(a.along(held[x], what) for x in written.first),
                b.on(at[1], what), *(b.along(other[x], what) for x in written.second),
                own,
            ]
        )  # fmt: skip
        if a.shape is GROUND and b.shape is GROUND:
            raise ModelError(f"{name} holds the ground to itself")
        rows = joints.numbered(name, len(joints.written(kind, a, b)[3]))
        key, indices = (kind, a.shape.name, b.shape.name), [*a.indices, *b.indices]
        piece = Piece("constraint", key, partial(joints.written, kind, a, b), indices, values, rows)
        return self._kept(Joint(name, kind, a, b, at, [piece], held, other))

    def _kept(self, joint: Joint) -> Joint:
        self.joints[joint.name] = joint
        return joint

    def _joint(self, given: Any, allowed: tuple[str, ...]) -> Joint:
        name = given if isinstance(given, str) else getattr(given, "name", None)
        if name not in self.joints:
            raise UnknownName("joint", str(name), self.joints)
        joint = self.joints[name]
        if isinstance(given, Joint) and given is not joint:
            raise ModelError(
                f"this {name} is a joint of another mechanism",
                expected=f'm.joints["{name}"], or its name',
                received=brief(given),
            )
        if joint.kind not in allowed:
            raise ModelError(
                f"{joint.name} has no such motion",
                expected="a joint of kind " + " or ".join(allowed),
                received=joint.kind,
            )
        return joint

    def measure(self, joint: Joint, kind: str) -> forces.Measure:
        """The angle or the slide of a joint."""
        a, b, what = joint.a, joint.b, f"joint {joint.name}"
        held = joint.triad
        if kind == "angle":
            other = joint.other["u"]
            parts = [a.along(held["u"], what), a.along(held["w"], what), b.along(other, what)]
        else:
            parts = [a.on(joint.at[0], what), a.along(held["e"], what), b.on(joint.at[1], what)]
        return forces.Measure(kind, a, b, np.concatenate(parts), joint)


def counts(given: Any, many: int) -> bool:
    """Whether it is a list of so many things."""
    try:
        return not isinstance(given, str | bytes | dict | set) and len(given) == many
    except TypeError:
        return False


def flag(what: str, given: Any) -> bool:
    """Yes or no."""
    if not isinstance(given, bool | np.bool_):
        raise InputError(f"{what} is a flag", expected="True or False", received=brief(given))
    return bool(given)


def each(given: Any) -> tuple[Any, Any]:
    """What is given for each of two parts, or for both."""
    if isinstance(given, str) or _shape(given) != (2, 3):
        return given, given
    first, second = given
    return first, second


def _shape(given: Any) -> tuple[int, ...]:
    """Of numbers, or () if they have none."""
    try:
        return np.shape(given)
    except ValueError:
        return ()
