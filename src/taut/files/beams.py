"""Beams in files: sections, matrices, loads, bodies and ends, and the `taut.Beam` made of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import sympy as sp

from taut.fields.beam import Beam
from taut.fields.ends import KINDS as ENDS, End
from taut.fields.loads import s
from taut.fields.section import COWPER, EXACT, POLAR, Circle, Rectangle, Section, Square, Tube
from taut.files import toml
from taut.files.desk import Desk
from taut.files.kinds import (
    NUMBER,
    TEXT,
    Flag,
    Formulas,
    Kind,
    Number,
    Numbers,
    Text,
    has_shape,
)
from taut.files.source import Node
from taut.methods.fields import scheme_of

NODES = 2_000  # of all beams of a file together
LOADED = 4_000  # nodes that loads act on, each counted once for each load

USUAL = inspect.signature(Beam).parameters["nodes"].default

# Sections by the name of their kind: what makes them, and their sizes in order.
SECTIONS: dict[str, tuple[type[Section], tuple[str, ...]]] = {
    "circle": (Circle, ("radius",)),
    "tube": (Tube, ("outer", "inner")),
    "square": (Square, ("side",)),
    "rectangle": (Rectangle, ("width", "height")),
}
_SIZES = {"radius": "outer", "side": "width"}  # what a section calls them


@dataclass(frozen=True)
class Or(Kind):
    """One of some words, or what else may be there."""

    choices: tuple[str, ...]
    other: Kind

    @property
    def words(self) -> str:
        return " or ".join([*(f'"{x}"' for x in self.choices), self.other.words])

    @property
    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(self.choices)}, self.other.schema]}

    def read(self, node: Node, desk: Desk) -> Any:
        return node.data if node.data in self.choices else self.other.read(node, desk)

    def write(self, value: Any) -> str:
        return toml.text(value) if isinstance(value, str) else self.other.write(value)


@dataclass(frozen=True)
class Entries(Kind):
    """A table, or a list of tables, with these keys; those with * are needed."""

    keys: Mapping[str, Kind]
    needed: tuple[str, ...] = ()
    several: bool = True

    @property
    def words(self) -> str:
        inner = ", ".join(f"{name}{' *' * (name in self.needed)} = …" for name in self.keys)
        return f"{'a list of ' * self.several}{{ {inner} }}"

    @property
    def schema(self) -> dict[str, Any]:
        properties = {
            name: {**kind.schema, "description": kind.words} for name, kind in self.keys.items()
        }
        one = {
            "type": "object", "properties": properties, "required": list(self.needed),
            "additionalProperties": False,
        }  # fmt: skip
        return {"type": "array", "items": one} if self.several else one

    def read(self, node: Node, desk: Desk) -> Any:
        return (
            [self.one(x, desk) for x in node.elements()] if self.several else self.one(node, desk)
        )

    def one(self, node: Node, desk: Desk) -> dict[str, Any]:
        """A single table."""
        node.check(self.keys, self.needed)
        return {name: self.keys[name].read(x, desk) for name, x in node.entries()}

    def write(self, value: Any) -> str:
        if self.several:
            return toml.array(map(self._written, value))
        return self._written(value)

    def _written(self, given: Mapping[str, Any]) -> str:
        return toml.table({name: self.keys[name].write(x) for name, x in given.items()})


class Loads(Entries):
    """Loads; along the whole beam they may depend on s."""

    def one(self, node: Node, desk: Desk) -> dict[str, Any]:
        along = isinstance(node.data, dict) and node.data.get("at") == "all"
        keys = {
            name: Formulas("along", 3) if along and isinstance(kind, Formulas) else kind
            for name, kind in self.keys.items()
        }
        return Entries(keys).one(node, desk)


@dataclass(frozen=True)
class SectionOf(Kind):
    """A cross-section by its kind and its sizes."""

    OPTIONS: ClassVar[dict[str, Kind]] = {
        "shear": Or((COWPER,), Numbers(((), (2,)))),
        "torsion": Or((POLAR, EXACT), Number()),
    }
    words: ClassVar[str] = (
        '{ kind = "circle", radius = … }, or "tube" with outer, inner, "square" with side, '
        '"rectangle" with width, height, numbers or formulas of s; shear = …, torsion = …'
    )

    @property
    def schema(self) -> dict[str, Any]:
        options = {name: kind.schema for name, kind in self.OPTIONS.items()}
        found = []
        for name, (_, sizes) in SECTIONS.items():
            keys = {"kind": {"const": name}, **dict.fromkeys(sizes, NUMBER), **options}
            found.append({
                "type": "object", "properties": keys, "required": ["kind", *sizes],
                "additionalProperties": False,
            })  # fmt: skip
        return {"oneOf": found}

    def read(self, node: Node, desk: Desk) -> Section | Callable[[float], Section]:
        node.expect(dict)
        if "kind" not in node:
            node.fail(f"{node.name} has no kind", expected="one of " + ", ".join(SECTIONS))
        kind = node["kind"].expect(str)
        if kind not in SECTIONS:
            node.unknown("section", kind, SECTIONS, node["kind"])
        made, names = SECTIONS[kind]
        node.check(["kind", *names, *self.OPTIONS], names)
        options = {x: k.read(node[x], desk) for x, k in self.OPTIONS.items() if x in node}
        sizes = [desk.formula(node[name], "curve") for name in names]
        if not any(x.has(s) for x in sizes):
            with node.blamed():
                return made(*map(float, sizes), **options)
        functions = [sp.lambdify(s, x, "numpy") for x in sizes]
        return lambda place: made(*(float(f(place)) for f in functions), **options)

    def write(self, value: Any) -> str:
        kind, sizes = next((k, x) for k, (made, x) in SECTIONS.items() if made is type(value))
        written = {x: toml.number(getattr(value, _SIZES.get(x, x))) for x in sizes}
        for name, plain in (("shear", 1.0), ("torsion", POLAR)):
            if (option := getattr(value, name)) != plain:
                written[name] = self.OPTIONS[name].write(option)
        return toml.table({"kind": toml.text(kind), **written})


@dataclass(frozen=True)
class Curvature(Kind):
    """Three formulas of s, or numbers for each edge."""

    words: ClassVar[str] = "three formulas of s, or three numbers for each edge"
    schema: ClassVar[dict[str, Any]] = {
        "anyOf": [Formulas("curve", 3).schema, Numbers(((None, 3),)).schema]
    }

    def read(self, node: Node, desk: Desk) -> Any:
        if has_shape(node.data, (None, 3)):
            return desk.nested(node, desk.number)
        return Formulas("curve", 3).read(node, desk)

    def write(self, value: Any) -> str:
        if isinstance(value, tuple):
            return Formulas("curve", 3).write(value)
        return Numbers(((None, 3),)).write(np.asarray(value).tolist())


@dataclass(frozen=True)
class Ends(Kind):
    """How both ends are held."""

    HELD: ClassVar[Entries] = Entries(
        {
            "kind": Text(ENDS), "axis": Numbers(((3,),)), "position": Formulas("time", 3),
            "rotation": Formulas("time", 3),
        },
        ("kind",), several=False,
    )  # fmt: skip
    words: ClassVar[str] = (
        "two of " + ", ".join(f'"{x}"' for x in ENDS) + ', or of { kind = "hinged", axis = … }'
    )

    @property
    def schema(self) -> dict[str, Any]:
        one = {"anyOf": [TEXT | {"enum": list(ENDS)}, self.HELD.schema]}
        return {"type": "array", "items": one, "minItems": 2, "maxItems": 2}

    def read(self, node: Node, desk: Desk) -> list[End]:
        if not has_shape(node.data, (2,)):
            node.fail(f"{node.name} does not have the right length", expected=self.words)
        return [self._end(x, desk) for x in node.elements()]

    def _end(self, node: Node, desk: Desk) -> End:
        if isinstance(node.data, dict):
            given = self.HELD.read(node, desk)
        else:
            given = {"kind": Text(ENDS).read(node, desk)}
        with node.blamed():
            return End(**given)

    def write(self, value: Any) -> str:
        return toml.array(map(self._written, value))

    def _written(self, end: End) -> str:
        names = ("kind", "axis", "position", "rotation")
        given = {x: getattr(end, x) for x in names if getattr(end, x) is not None}
        if list(given) == ["kind"]:
            return toml.text(end.kind)
        if end.axis is not None:
            given["axis"] = end.axis.tolist()
        return self.HELD.write(given)


@dataclass(frozen=True)
class SchemeOf(Kind):
    """A method for beams by name."""

    words: ClassVar[str] = 'a method for beams: "variational", "hamel", "poisson" or "implicit"'
    schema: ClassVar[dict[str, Any]] = TEXT

    def read(self, node: Node, desk: Desk) -> str:
        with node.blamed():
            scheme_of(node.expect(str), beam=True)
        return node.data

    def write(self, value: Any) -> str:
        return toml.text(value if isinstance(value, str) else value.name)


PLACE = Or(("tip", "root"), Number())
LOADS = Loads(
    {
        "at": Or(("tip", "root", "all"), Number()), "force": Formulas("time", 3),
        "moment": Formulas("time", 3), "follower": Flag(),
    }
)  # fmt: skip
BODIES = Entries(
    {"at": PLACE, "mass": Number(), "inertia": Numbers(((3,), (3, 3))), "offset": Numbers(((3,),))},
    ("mass",),
)


# ---- beams as a whole --------------------------------------------------------------------------


@dataclass
class Room:
    """How much beams of a file may still ask for."""

    nodes: int = NODES
    loaded: int = LOADED


def beam_of(node: Node, given: dict[str, Any], room: Room, gravity: Any = None) -> Beam:
    """The beam that a table describes, whose values have been read."""
    made = {key: x for key, x in given.items() if key not in ("loads", "bodies")}
    many = made.setdefault("nodes", USUAL)
    if many > room.nodes:
        guilty = node["nodes"] if "nodes" in given else node
        guilty.fail(
            "there are too many nodes", expected=f"at most {NODES:,} in a file", received=many
        )
    with node.blamed(), np.errstate(all="ignore"):  # formulas of s: what is not finite is said
        beam = Beam(**made, gravity=gravity)
    room.nodes -= many
    room.loaded -= sum(many if x.get("at") == "all" else 2 for x in given.get("loads", ()))
    if room.loaded < 0:
        node["loads"].fail(
            "there are too many loads",
            expected=f"up to {LOADED:,} in a file, counted at each node that they act on",
            received=len(given["loads"]),
        )
    for name, add in (("loads", beam.load), ("bodies", beam.body)):
        for k, options in enumerate(given.get(name, ())):
            with node[name][k].blamed():
                add(**options)
    return beam


def told(beam: Beam) -> dict[str, Any]:
    """What a file has to say of a beam, apart from what holds and moves it."""
    found: dict[str, Any] = {"length": beam.length}
    if type(beam.section) in {made for made, _ in SECTIONS.values()}:
        density, young, shear = beam.material
        found |= {"section": beam.section, "density": density, "young": young}
        found |= {"shear_modulus": shear} if beam.poisson is None else {"poisson": beam.poisson}
    else:  # a function of s, or a section of one's own
        found |= {"inertia": _short(beam.inertia), "stiffness": _short(beam.stiffness)}
    found["nodes"] = beam.nodes
    plain = (("at", np.zeros(3)), ("frame", np.eye(3)), ("damping", 0.0), ("cells", "half"))
    for name, usual in plain:
        value = getattr(beam, name)
        if not np.array_equal(value, usual):
            found[name] = value.tolist() if isinstance(value, np.ndarray) else value
    if beam.curvature is not None:
        found["curvature"] = beam.curvature
    usual = {"at": "tip", "force": (0, 0, 0), "moment": (0, 0, 0), "follower": False,
             "inertia": np.zeros((3, 3)), "offset": np.zeros(3)}  # fmt: skip
    for name, verb in (("loads", "load"), ("bodies", "body")):
        given = [_told(options, usual) for kind, options in beam.told if kind == verb]
        found |= {name: given} if given else {}
    return found


def _told(options: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that are not what they are without being given."""
    said = {
        name: x
        for name, x in options.items()
        if name not in usual
        or type(x) is not type(usual[name])
        or not np.array_equal(x, usual[name])
    }
    return {name: x.tolist() if isinstance(x, np.ndarray) else x for name, x in said.items()}


def _short(matrices: np.ndarray) -> Any:
    """One matrix if all are the same, and its diagonal if the rest is zero."""
    first: Sequence[Any] = matrices[0].tolist()
    if not np.array_equal(matrices, np.broadcast_to(matrices[0], matrices.shape)):
        return matrices.tolist()
    diagonal = np.diagonal(matrices[0])
    return diagonal.tolist() if np.array_equal(np.diag(diagonal), matrices[0]) else first
