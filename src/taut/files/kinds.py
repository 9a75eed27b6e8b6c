"""Kinds of values in a model file: how each is read, written, described, and checked by editors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import sympy as sp

from taut.errors import FileError, brief
from taut.files import toml
from taut.files.desk import Desk
from taut.files.source import Node
from taut.model.mechanism.forces import LENGTH, law

MEASURES = {"angle": "angle", "slide": "slide", "motion": "angle"}
COUNTS = {1: "one", 2: "two", 3: "three", 4: "four", 6: "six"}
NUMBER = {"type": ["number", "string"]}
TEXT = {"type": "string"}


class Kind(ABC):
    """What a key may hold.

    Attributes
    ----------
    words : str
        What that is, for people.
    schema : dict
        The same as JSON Schema.
    """

    words: Any
    schema: Any

    @abstractmethod
    def read(self, node: Node, desk: Desk) -> Any:
        """The value, or an error of its line."""

    @abstractmethod
    def write(self, value: Any) -> str:
        """The value as TOML."""


@dataclass(frozen=True)
class Text(Kind):
    """Any text, or one of a few."""

    choices: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return " or ".join(f'"{x}"' for x in self.choices) or "a text"

    @property
    def schema(self) -> dict[str, Any]:
        return TEXT | ({"enum": list(self.choices)} if self.choices else {})

    def read(self, node: Node, desk: Desk) -> str:
        found = node.expect(str)
        if self.choices and found not in self.choices:
            node.unknown("choice", found, self.choices)
        return found

    def write(self, value: Any) -> str:
        return toml.text(value)


@dataclass(frozen=True)
class Reference(Kind):
    """The name of a part or a joint of the same file."""

    to: str

    @property
    def words(self) -> str:
        return f"the name of a {self.to}"

    @property
    def schema(self) -> dict[str, Any]:
        return TEXT

    def read(self, node: Node, desk: Desk) -> str:
        return node.expect(str)

    def write(self, value: Any) -> str:
        return toml.text(value)


@dataclass(frozen=True)
class Flag(Kind):
    """True or false."""

    words: ClassVar[str] = "true or false"
    schema: ClassVar[dict[str, Any]] = {"type": "boolean"}

    def read(self, node: Node, desk: Desk) -> bool:
        return node.expect(bool)

    def write(self, value: Any) -> str:
        return "true" if value else "false"


@dataclass(frozen=True)
class Count(Kind):
    """A whole number from 1 on."""

    words: ClassVar[str] = "a whole number"
    schema: ClassVar[dict[str, Any]] = {"type": "integer", "minimum": 1}

    def read(self, node: Node, desk: Desk) -> int:
        if not 1 <= node.expect(int) < 2**53:
            node.fail(expected="a whole number from 1 on")
        return node.data

    def write(self, value: Any) -> str:
        return toml.number(int(value))


@dataclass(frozen=True)
class Number(Kind):
    """A number, or a formula of parameters."""

    words: ClassVar[str] = "a number"
    schema: ClassVar[dict[str, Any]] = NUMBER

    def read(self, node: Node, desk: Desk) -> float:
        return desk.number(node)

    def write(self, value: Any) -> str:
        return toml.number(value)


@dataclass(frozen=True)
class Numbers(Kind):
    """A vector or a matrix of numbers, of one of some shapes; None is any number of rows."""

    shapes: tuple[tuple[int | None, ...], ...]

    @property
    def words(self) -> str:
        return " or ".join(map(_shape_words, self.shapes))

    @property
    def schema(self) -> dict[str, Any]:
        found = [_shape_schema(shape, NUMBER) for shape in self.shapes]
        return found[0] if len(found) == 1 else {"anyOf": found}

    def read(self, node: Node, desk: Desk) -> Any:
        if not any(has_shape(node.data, shape) for shape in self.shapes):
            node.fail(f"{node.name} does not have the right shape", expected=self.words)
        return desk.nested(node, desk.number)

    def write(self, value: Any) -> str:
        if isinstance(value, Sequence):
            return toml.array(self.write(x) for x in value)
        return toml.number(value)


@dataclass(frozen=True)
class Formula(Kind):
    """A formula of the names of a scope."""

    of: str
    arguments: tuple[sp.Symbol, ...] = ()
    OF: ClassVar[dict[str, str]] = {
        "time": "t",
        "curve": "s",
        "along": "s and t",
        "space": "x, y, z and t",
        "length": "length, rate and t",
        "angle": "angle, rate and t",
        "slide": "slide, rate and t",
        "motion": "angle or slide, rate and t",
        "state": "coordinates, their rates and t",
    }

    @property
    def words(self) -> str:
        return f"a formula of {self.OF[self.of]}"

    @property
    def schema(self) -> dict[str, Any]:
        return NUMBER

    def read(self, node: Node, desk: Desk) -> sp.Expr:
        return desk.formula(node, self.of)

    def write(self, value: Any) -> str:
        if callable(value) and not isinstance(value, sp.Basic):
            value = self._law(value)
        if isinstance(value, sp.Basic) and self.of in MEASURES:
            value = value.xreplace({LENGTH: sp.Symbol(MEASURES[self.of], real=True)})
        return toml.formula(value)

    def _law(self, given: Any) -> sp.Expr:
        """A function of the arguments, as an expression of them."""
        if not self.arguments:
            raise unwritten(given, self.words)
        return law(given, *self.arguments)


@dataclass(frozen=True)
class Formulas(Kind):
    """Some formulas of the names of a scope."""

    of: str
    count: int

    @property
    def words(self) -> str:
        return f"{COUNTS[self.count]} formulas of {Formula.OF[self.of]}"

    @property
    def schema(self) -> dict[str, Any]:
        return _shape_schema((self.count,), NUMBER)

    def read(self, node: Node, desk: Desk) -> list[sp.Expr]:
        if not has_shape(node.data, (self.count,)):
            node.fail(f"{node.name} does not have the right length", expected=self.words)
        return [desk.formula(x, self.of) for x in node.elements()]

    def write(self, value: Any) -> str:
        if not isinstance(value, Sequence):
            raise unwritten(value, self.words)
        return toml.array(Formula(self.of).write(x) for x in value)


@dataclass(frozen=True)
class Curve(Kind):
    """A curve as two equations in space, or as three functions of s."""

    words: ClassVar[str] = "two formulas of x, y, z that are zero on it, or three of s"
    schema: ClassVar[dict[str, Any]] = {
        "type": "array", "items": NUMBER, "minItems": 2, "maxItems": 3,
    }  # fmt: skip

    def read(self, node: Node, desk: Desk) -> Any:
        if has_shape(node.data, (2,)):
            return [desk.formula(x, "space") for x in node.elements()]
        if not has_shape(node.data, (3,)):
            node.fail(f"{node.name} does not have the right length", expected=self.words)
        return [desk.formula(x, "curve") for x in node.elements()], sp.Symbol("s", real=True)

    def write(self, value: Any) -> str:
        if isinstance(value[1], sp.Symbol) and isinstance(value[0], Sequence):
            path, symbol = value
            own = sp.Symbol("s", real=True)
            value = [sp.sympify(x).xreplace({symbol: own}) for x in path]
        return toml.array(map(toml.formula, value))


@dataclass(frozen=True)
class Names(Kind):
    """A list of names."""

    what: str
    count: int | None = None

    @property
    def words(self) -> str:
        return f"{COUNTS[self.count] if self.count else 'a list of'} {self.what}"

    @property
    def schema(self) -> dict[str, Any]:
        size = {"minItems": self.count, "maxItems": self.count} if self.count else {}
        return {"type": "array", "items": TEXT} | size

    def read(self, node: Node, desk: Desk) -> list[str]:
        if self.count is not None and not has_shape(node.data, (self.count,)):
            node.fail(expected=self.words)
        return [x.expect(str) for x in node.elements()]

    def write(self, value: Any) -> str:
        return toml.array(map(toml.text, value))


def _shape_words(shape: tuple[int | None, ...]) -> str:
    if not shape:
        return "a number"
    if shape[0] is None:
        return f"a list of {_shape_words(shape[1:])}"
    if len(shape) == 1:
        return f"{COUNTS[shape[0]]} numbers"
    return f"{shape[0]} × {shape[1]} numbers"


def _shape_schema(shape: tuple[int | None, ...], inner: Mapping[str, Any]) -> dict[str, Any]:
    for size in reversed(shape):
        bounds = {} if size is None else {"minItems": size, "maxItems": size}
        inner = {"type": "array", "items": dict(inner)} | bounds
    return dict(inner)


def has_shape(data: Any, shape: tuple[int | None, ...]) -> bool:
    """Whether lists in lists have these lengths, None being any."""
    if not shape:
        return not isinstance(data, list)
    fits = isinstance(data, list) and shape[0] in (None, len(data))
    return fits and all(has_shape(x, shape[1:]) for x in data)


def unwritten(given: Any, expected: str) -> FileError:
    """What is said of Python functions."""
    return FileError(
        "a Python function cannot be written",
        expected=expected,
        received=brief(given),
        remedy="write it as a SymPy expression",
    )
