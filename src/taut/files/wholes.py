"""Kinds of values that say more than a number or a formula: masses, starts, drawings, methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import sympy as sp

from taut import methods
from taut.errors import FileError
from taut.files import toml
from taut.files.desk import Desk, words_of
from taut.files.kinds import NUMBER, TEXT, Count, Flag, Formula, Kind, Number, Text
from taut.files.source import Node
from taut.methods import CATALOGUE, Method, method_of

LIST = {"type": "array", "items": NUMBER}
BY_NAME = {"type": "object", "additionalProperties": NUMBER}


@dataclass(frozen=True)
class Words(Kind):
    """Names of coordinates, in one text or in a list."""

    words: ClassVar[str] = "names: a list, or one text with spaces between"
    schema: ClassVar[dict[str, Any]] = {"anyOf": [TEXT, {"type": "array", "items": TEXT}]}

    def read(self, node: Node, desk: Desk) -> list[str]:
        found = words_of(node.data, node)
        if not found:
            node.fail(expected="at least one name")
        return found

    def write(self, value: Any) -> str:
        return toml.array(map(toml.text, value))


@dataclass(frozen=True)
class Mass(Kind):
    """A mass for all coordinates, one for each, or a matrix."""

    words: ClassVar[str] = "a formula, or one for each coordinate, or a matrix of them"
    schema: ClassVar[dict[str, Any]] = {
        "anyOf": [NUMBER, LIST, {"type": "array", "items": LIST}]
    }  # fmt: skip

    def read(self, node: Node, desk: Desk) -> Any:
        return desk.nested(node, lambda x: desk.formula(x, "state"))

    def write(self, value: Any) -> str:
        if isinstance(value, Sequence):
            return toml.array(map(self.write, value))
        return toml.formula(value)


@dataclass(frozen=True)
class Equations(Kind):
    """Formulas that are zero, or equations; with or without names."""

    words: ClassVar[str] = 'a list, or name = formula; zero, or with "=" in it'
    schema: ClassVar[dict[str, Any]] = {"anyOf": [LIST, BY_NAME]}

    def read(self, node: Node, desk: Desk) -> Any:
        if isinstance(node.data, dict):
            return {name: desk.equation(x, "state") for name, x in node.entries()}
        return [desk.equation(x, "state") for x in node.elements()]

    def write(self, value: Any) -> str:
        if isinstance(value, Mapping):
            return toml.table({name: toml.formula(x) for name, x in value.items()})
        return toml.array(map(toml.formula, value))


@dataclass(frozen=True)
class Rows(Kind):
    """A value for each coordinate, in a list or by name."""

    formulas: bool = True
    alone: bool = False

    @property
    def words(self) -> str:
        what = "formula" if self.formulas else "number"
        return f"a {what} for each: a list, or by name" + ", or one number" * self.alone

    @property
    def schema(self) -> dict[str, Any]:
        return {"anyOf": [LIST, BY_NAME, *([NUMBER] if self.alone else [])]}

    def read(self, node: Node, desk: Desk) -> Any:
        def value(x: Node) -> Any:
            return desk.formula(x, "state") if self.formulas else desk.number(x)

        if self.alone and not isinstance(node.data, list | dict):
            return value(node)
        if isinstance(node.data, dict):
            return self._by_name(node, desk, value)
        if len(node.elements()) != len(desk.coordinates):
            node.fail(
                f"{node.name} does not have the right length",
                expected=f"{len(desk.coordinates)} values, for {', '.join(desk.coordinates)[:200]}",
                received=f"{len(node.data)} values",
            )
        return [value(x) for x in node.elements()]

    def _by_name(self, node: Node, desk: Desk, value: Any) -> list[Any]:
        known = set(desk.coordinates)
        found = {}
        for name, x in node.entries():
            if name not in known:
                node.unknown("coordinate", name, desk.coordinates, x)
            found[name] = value(x)
        missing = [name for name in desk.coordinates if name not in found]
        if missing and not (self.formulas or self.alone):
            node.fail(
                f"{node.name} does not say where {', '.join(missing)[:200]} "
                + ("begins" if len(missing) == 1 else "begin"),
                expected="a number for each coordinate",
            )
        return [found.get(name, 0) for name in desk.coordinates]

    def write(self, value: Any) -> str:
        if isinstance(value, Mapping):
            return toml.table({name: toml.formula(x) for name, x in value.items()})
        if isinstance(value, Sequence):
            return toml.array(map(toml.formula, value))
        return toml.number(value)


# ---- drawings ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Points(Kind):
    """Places by name."""

    words: ClassVar[str] = "name = [x, y] or [x, y, z], formulas of coordinates, parameters and t"
    schema: ClassVar[dict[str, Any]] = {"type": "object", "additionalProperties": LIST}

    def read(self, node: Node, desk: Desk) -> dict[str, list[sp.Expr]]:
        return {
            name: [desk.formula(x, "state") for x in place.elements()]
            for name, place in node.entries()
        }

    def write(self, value: Any) -> str:
        written = {name: toml.array(map(toml.formula, place)) for name, place in value.items()}
        return toml.table(written)


@dataclass(frozen=True)
class Links(Kind):
    """Pairs of points."""

    words: ClassVar[str] = 'a list of [point, point] or [point, point, "rod", "spring" or "line"]'
    schema: ClassVar[dict[str, Any]] = {
        "type": "array", "items": {"type": "array", "items": TEXT, "minItems": 2, "maxItems": 3},
    }  # fmt: skip

    def read(self, node: Node, desk: Desk) -> list[list[str]]:
        return [[x.expect(str) for x in link.elements()] for link in node.elements()]

    def write(self, value: Any) -> str:
        return toml.array(toml.array(map(toml.text, link)) for link in value)


@dataclass(frozen=True)
class Tracks(Kind):
    """Lines that stand in space."""

    words: ClassVar[str] = "a list of { places = [x(s), y(s)], first = …, last = … }"
    schema: ClassVar[dict[str, Any]] = {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"places": LIST, "first": NUMBER, "last": NUMBER},
            "required": ["places", "first", "last"],
            "additionalProperties": False,
        },
    }
    keys: ClassVar[tuple[str, ...]] = ("places", "first", "last")

    def read(self, node: Node, desk: Desk) -> list[Any]:
        return [self._one(track, desk) for track in node.elements()]

    def _one(self, node: Node, desk: Desk) -> Any:
        node.check(self.keys, self.keys)
        places = [desk.formula(x, "track") for x in node["places"].elements()]
        ends = desk.number(node["first"]), desk.number(node["last"])
        return places, (sp.Symbol("s", real=True), *ends)

    def write(self, value: Any) -> str:
        own = sp.Symbol("s", real=True)
        tracks = []
        for places, (symbol, first, last) in value:
            written = [toml.formula(e.xreplace({symbol: own})) for e in places]
            ends = (toml.number(first), toml.number(last))
            tracks.append(dict(zip(self.keys, (toml.array(written), *ends), strict=True)))
        return toml.array(map(toml.table, tracks))


# ---- runs --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Laws(Kind):
    """What a certificate watches."""

    words: ClassVar[str] = '"auto", "none", or name = formula'
    schema: ClassVar[dict[str, Any]] = {"anyOf": [{"enum": ["auto", "none"]}, BY_NAME]}

    def read(self, node: Node, desk: Desk) -> Any:
        if isinstance(node.data, dict):
            return {name: desk.formula(x, "state") for name, x in node.entries()}
        return None if Text(("auto", "none")).read(node, desk) == "none" else "auto"

    def write(self, value: Any) -> str:
        if isinstance(value, Mapping):
            return toml.table({name: toml.formula(x) for name, x in value.items()})
        return toml.text("none" if value is None else value)


@dataclass(frozen=True)
class MethodOf(Kind):
    """A method by name, or by kind and options."""

    words: ClassVar[str] = 'a name, as in `taut methods`, or { kind = "GaussLobatto", stages = 5 }'
    schema: ClassVar[dict[str, Any]] = {"type": ["string", "object"]}

    def read(self, node: Node, desk: Desk) -> str | Method:
        if not isinstance(node.data, dict):
            with node.blamed():
                method_of(node.expect(str))
            return node.data
        node.check([*node.data], ["kind"])
        kind = node["kind"].expect(str)
        if kind not in METHODS:
            node.unknown("method", kind, METHODS, node["kind"])
        options = METHODS[kind]
        node.check(["kind", *options])
        given = {name: options[name].read(x, desk) for name, x in node.entries() if name != "kind"}
        with node.blamed():
            return getattr(methods, kind)(**given)

    def write(self, value: Any) -> str:
        if isinstance(value, str):
            return toml.text(value)
        for name, known in CATALOGUE.items():
            if known == value:
                return toml.text(name)
        kind = type(value).__name__
        options = METHODS.get(kind, {})
        changed = {
            f.name: getattr(value, f.name)
            for f in fields(value)
            if f.init and getattr(value, f.name) != f.default
        }
        strange = sorted(set(changed) - set(options))
        if kind not in METHODS or strange:
            raise FileError(
                f"the method {value.label} cannot be written",
                expected="one of "
                + ", ".join(METHODS)
                + ", with options that are numbers or names",
                received=", ".join(strange) or kind,
            )
        written = {name: options[name].write(x) for name, x in changed.items()}
        return toml.table({"kind": toml.text(kind), **written})


METHODS: dict[str, dict[str, Kind]] = {
    "Adaptive": {"base": MethodOf(), "scale": Formula("state")},
    "Baumgarte": {"alpha": Number(), "beta": Number(), "base": Text()},
    "Composition": {"base": MethodOf(), "order": Count(), "scheme": Text()},
    "Corrected": {"base": MethodOf(), "iterate": Flag(), "norm": Text(), "symmetric": Flag()},
    "EnergyMomentum": {"hidden": Flag()},
    "ExplicitRK": {"tableau": Text()},
    "GGL": {"stages": Count()},
    "GaussLobatto": {"stages": Count()},
    "GeneralizedAlpha": {"rho": Number(), "stabilised": Flag()},
    "ImplicitTrapezoid": {},
    "LobattoPair": {"stages": Count()},
    "PreciseElement": {},
    "Projected": {"base": MethodOf()},
    "Rattle": {},
    "SymplecticEuler": {},
    "SymplecticRK": {"tableau": Text()},
    "TimeElement": {"form": Text(), "quadrature": Text(), "start": Text(), "degree": Count()},
}
