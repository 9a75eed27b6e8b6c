"""Where values of a file become numbers and expressions, with the names that are in scope."""

from __future__ import annotations

import keyword
import math
import re
import unicodedata
from collections import ChainMap
from collections.abc import Callable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

import sympy as sp

from taut.errors import UnknownName, number
from taut.files.bounds import FUNCTIONS, Gate
from taut.files.expressions import NAME, ExpressionError, parse
from taut.files.source import Node
from taut.model.mechanism.forces import LENGTH, RATE
from taut.model.symbols import t

WORK = 100_000  # steps of SymPy for one file, see `bounds`
LARGEST = 10**30

_TIME = {"t": t}
_OWN = {name: sp.Symbol(name, real=True) for name in "xyzs"}
SCOPES: dict[str, Mapping[str, sp.Expr]] = {
    "time": _TIME,
    "space": {name: _OWN[name] for name in "xyz"} | _TIME,
    "curve": {"s": _OWN["s"]},
    "along": {"s": _OWN["s"]} | _TIME,
    **{name: {name: LENGTH, "rate": RATE, **_TIME} for name in ("length", "angle", "slide")},
}


class Desk:
    """Numbers and expressions of one file.

    Attributes
    ----------
    parameters : dict name → Expr
        Their values, as numbers.
    scopes : dict
        Which names formulas of a kind may use, besides parameters.
    coordinates : list of str
        Their names, for starts.
    unused : tuple of str
    """

    def __init__(self) -> None:
        self.coordinates: list[str] = []
        self.parameters: dict[str, sp.Expr] = {}
        self.scopes = dict(SCOPES)
        self._gate = Gate(WORK)
        self._used: set[str] = set()

    @property
    def values(self) -> dict[str, float]:
        """Of the parameters."""
        return {name: float(x) for name, x in self.parameters.items()}

    @property
    def unused(self) -> tuple[str, ...]:
        """Parameters that no formula has."""
        return tuple(name for name in self.parameters if name not in self._used)

    def number(self, node: Node) -> float:
        """A finite number, given as one or as a formula of parameters."""
        given = node.data
        if (type(given) is float and math.isfinite(given)) or (
            type(given) is int and abs(given) < 2**53
        ):
            return given
        return float(self._read(node, {}))

    def formula(self, node: Node, scope: str) -> sp.Expr:
        """An expression of parameters and of the names of a scope."""
        return self._read(node, self.scopes[scope])

    def equation(self, node: Node, scope: str) -> sp.Expr:
        """What is to be zero: a formula, or the difference of both sides of an equation."""
        if not isinstance(node.data, str) or "=" not in node.data:
            return self.formula(node, scope)
        sides = node.data.split("=")
        if len(sides) != 2:
            node.fail(expected="a formula, or two of them with = between")
        left, right = (self.formula(Node(node.source, node.path, side), scope) for side in sides)
        return sp.Add(left, sp.Mul(-1, right))

    def nested(self, node: Node, read: Callable[[Node], Any]) -> Any:
        """Lists in lists, each value read."""
        if isinstance(node.data, list):
            return [self.nested(x, read) for x in node.elements()]
        return read(node)

    def _read(self, node: Node, names: Mapping[str, sp.Expr]) -> sp.Expr:
        given = node.data
        if isinstance(given, str):
            self._used.update(NAME.findall(given))
            try:
                known = ChainMap(names, self.parameters)  # type: ignore[arg-type]
                return parse(given, known, where=node.name, gate=self._gate)
            except ExpressionError as error:
                node.fail(
                    error.what,
                    expected=str(error.expected)[:400],
                    received=error.received,
                    remedy=error.remedy,
                )
        whole = type(given) is int and abs(given) < LARGEST
        if not whole and not (type(given) is float and math.isfinite(given)):
            node.fail(expected="a finite number, or a formula in quotes")
        return sp.Integer(given) if whole else sp.Float(given)

    # ---- parameters ----------------------------------------------------------------------------

    def define(self, table: Node, changes: Mapping[str, float]) -> None:
        """Read the parameters, which may be formulas of each other."""
        nodes = dict(table.entries())
        for name, node in nodes.items():
            check_name(name, node)
        for name, value in changes.items():
            if name not in nodes:
                raise UnknownName("parameter", name, nodes)
            self.parameters[name] = sp.Float(number(f"parameter {name}", value))
            self._used.update(NAME.findall(str(nodes[name].data)))
        wanted = {
            name: {
                x
                for x in NAME.findall(node.data if isinstance(node.data, str) else "")
                if x in nodes and x not in changes
            }
            for name, node in nodes.items()
            if name not in changes
        }
        try:
            order = list(TopologicalSorter(wanted).static_order())
        except CycleError as error:
            ring = list(reversed(error.args[1]))
            nodes[ring[0]].fail(
                f"the parameter {ring[0]} is defined by itself",
                expected="parameters that do not refer to each other in a circle",
                received=" → ".join(ring)[:200],
            )
        for name in order:
            value = self._read(nodes[name], {})
            self.parameters[name] = value if value.is_Integer else sp.Float(float(value))
        self.parameters = {name: self.parameters[name] for name in nodes}


def check_name(name: str, node: Node) -> str:
    """A name that formulas can use."""
    fits = NAME.fullmatch(name) and unicodedata.normalize("NFKC", name) == name
    if not fits or name.startswith("_") or keyword.iskeyword(name) or len(name) > 60:
        node.fail(
            f"{name[:60]!r} is no name",
            expected="letters, digits and _, from a letter on",
            received=None,
        )
    if name in FUNCTIONS or name == "pi":
        node.fail(f"{name} has a meaning of its own", received=None, remedy="choose another name")
    return name


def words_of(text: Any, node: Node) -> list[str]:
    """Names in a list, or in one text with spaces or commas between them."""
    if isinstance(text, str):
        return [check_name(x, node) for x in re.split(r"[\s,]+", text.strip()) if x]
    return [check_name(x.expect(str), x) for x in node.elements()]
