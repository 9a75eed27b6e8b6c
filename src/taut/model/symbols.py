"""The symbols models are written in, and how foreign ones become ours.

A model may be written with `taut.coordinates`, with plain SymPy symbols, or with
`dynamicsymbols` and their derivatives.  Inside taut every quantity is one plain real symbol,
known by its name.
"""

from __future__ import annotations

import builtins
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import sympy as sp
from sympy.core.function import AppliedUndef

from taut.calls import public
from taut.errors import InputError, ModelError, brief, catalogue, close_to, listed, text

t = sp.Symbol("t", real=True)

MOST = 100_000  # names that a text may count out: a second or two, and far beyond any model
COUNTED = re.compile(r"([0-9]*):([0-9]+)")  # SymPy's x1:3
PLAIN = {"abs", "max", "min", "pow"}  # builtins that a formula may have


@public
def coordinates(names: str) -> tuple[sp.Symbol, ...]:
    """Real symbols for coordinates: ``x, y = taut.coordinates("x y")``.

    Examples
    --------
    >>> import taut
    >>> taut.coordinates("x1:3")
    (x1, x2)
    """
    try:
        if not isinstance(names, str):
            names = " ".join(text("a name", x) for x in listed("the names", names))
        _check_count(names)
        found = sp.symbols(names, real=True, seq=True)
    except (TypeError, ValueError, InputError) as error:
        raise ModelError(
            "these are no names for coordinates",
            expected='names in one string, as in taut.coordinates("x y")',
            received=brief(names),
        ) from error
    if len(set(found)) < len(found):
        raise ModelError(
            "these coordinates are not all different",
            expected="a name of its own for each",
            received=brief(names),
        )
    return tuple(found)


def _check_count(names: str) -> None:
    """Raise if a text stands for more names than can be meant; in x(1:3)(1:4) counts multiply."""
    many = 0
    for name in re.split(r"[\s,]+", names):
        ranges = COUNTED.findall(name)
        many += math.prod(max(int(end) - int(begin or 0), 0) for begin, end in ranges)
    if many > MOST:
        raise ModelError(
            f"{many:,} coordinates are too many",
            expected=f"at most {MOST:,}",
            received=brief(names),
        )


@public
def velocities(coordinates: Iterable[sp.Basic]) -> tuple[sp.Symbol, ...]:
    """The velocity symbols that a `System` uses when it is given none: ``x`` → ``x_dot``."""
    given = listed("the coordinates", coordinates, "a list of symbols")
    return tuple(sp.Symbol(f"{name_of(q)}_dot", real=True) for q in given)


@public
def momenta(coordinates: Iterable[sp.Basic]) -> tuple[sp.Symbol, ...]:
    """The momentum symbols that a `System` uses when it is given none: ``x`` → ``p_x``."""
    given = listed("the coordinates", coordinates, "a list of symbols")
    return tuple(sp.Symbol(f"p_{name_of(q)}", real=True) for q in given)


def name_of(symbol: sp.Basic) -> str:
    """The name of a symbol, of ``x(t)``, or of a derivative of it."""
    if isinstance(symbol, sp.Symbol):
        return symbol.name
    if isinstance(symbol, AppliedUndef):
        return symbol.func.__name__
    if isinstance(symbol, sp.Derivative):
        return name_of(symbol.expr) + "_dot" * symbol.derivative_count
    raise ModelError(
        f"{brief(symbol)} cannot stand for a coordinate, velocity or parameter",
        expected="a SymPy symbol, a dynamicsymbol x(t) or its time derivative",
        received=type(symbol).__name__,
    )


def scalar(
    given: object,
    where: str,
    remedy: str | None = None,
    known: Mapping[str, sp.Symbol] | None = None,
) -> sp.Expr:
    """`given` as a SymPy expression of finite real numbers; anything else is an error.

    A text is a formula, in which the names that are `known` are those symbols: E, say, which is a
    number to SymPy.  Nothing else in taut makes expressions of texts, since SymPy runs them.
    """
    if isinstance(given, list | tuple | dict | set | frozenset | bytes):
        raise ModelError(
            f"{where} is not a scalar expression",
            expected="a SymPy expression or a number",
            received=f"{type(given).__name__}: {brief(given)}",
        )
    if isinstance(given, str):
        check_formula(given, where, remedy)
    try:
        expr = sp.sympify(given, locals=dict(known)) if known else sp.sympify(given)
    except Exception as error:  # of SymPy about a text, and of things of somebody's own
        raise ModelError(
            f"{where} is not an expression",
            expected="a SymPy expression or a number",
            received=brief(given),
            remedy=remedy,
        ) from error
    if not isinstance(expr, sp.Expr) or expr.is_Matrix or isinstance(expr, sp.Lambda):
        raise ModelError(
            f"{where} is not a scalar expression",
            expected="a SymPy expression or a number",
            received=f"{type(expr).__name__}: {str(expr)[:80]}",
        )
    if expr.has(sp.nan, sp.zoo, sp.oo, -sp.oo) or not all(map(_fits, distinct(expr))):
        raise ModelError(
            f"{where} is not finite", expected="finite numbers", received=str(expr)[:80]
        )
    if not _rational(expr) and (expr.has(sp.I) or expr.is_extended_real is False):
        raise ModelError(f"{where} is complex", expected="real numbers", received=str(expr)[:80])
    return expr


def check_formula(text: str, where: str, remedy: str | None) -> None:
    """Refuse a text that is no formula: SymPy would run it as Python."""
    names = set(re.findall(r"[^\W\d]\w*", text))
    strange = [x for x in sorted(names) if "__" in x or (x in vars(builtins) and x not in PLAIN)]
    signs = re.findall(r"""['"`{}\[\];:=@\\]|\.\s*[^\W\d]""", text)
    if strange or signs:
        raise ModelError(
            f"{where} is not a formula",
            expected="names, numbers, functions, + − * / ** and parentheses",
            received=f"{(strange or signs)[0]!r} in {text[:60]!r}",
            remedy=remedy,
        )


def distinct(*expressions: sp.Basic) -> list[sp.Basic]:
    """All nodes of expressions, shared ones once: of a tree of 100 000 that may be hundreds."""
    found = {id(x): x for x in expressions}
    todo = list(expressions)
    while todo:
        for x in todo.pop().args:
            if id(x) not in found:
                found[id(x)] = x
                todo.append(x)
    return list(found.values())


def spread(expression: sp.Basic) -> int:
    """How many nodes an expression has if shared ones are written each time."""
    sizes: dict[sp.Basic, int] = {}
    todo = [expression]
    while todo:
        x = todo[-1]
        fresh = [a for a in x.args if a not in sizes]
        if fresh:
            todo += fresh
        else:
            sizes[todo.pop()] = 1 + sum(sizes[a] for a in x.args)
    return sizes[expression]


def spelled(*expressions: sp.Basic) -> str:
    """A text that is the same for the same expressions only; shared nodes are written once."""
    numbers: dict[sp.Basic, int] = {}
    lines: list[str] = []
    todo = list(reversed(expressions))
    while todo:
        x = todo[-1]
        fresh = [a for a in x.args if a not in numbers]
        if fresh and x not in numbers:
            todo += reversed(fresh)
            continue
        todo.pop()
        if x in numbers:
            continue
        parts = " ".join(str(numbers[a]) for a in x.args)
        lines.append(f"{x.func.__name__} {parts}" if x.args else sp.srepr(x))
        numbers[x] = len(lines) - 1
    roots = " ".join(str(numbers[x]) for x in expressions)
    return "\n".join([*lines, roots])


def free_symbols(*expressions: sp.Basic) -> set[sp.Symbol]:
    """What SymPy's `free_symbols` are, of all of them together; shared nodes are seen once."""
    found: set[sp.Symbol] = set()
    seen: dict[int, sp.Basic] = {}
    todo = list(expressions)
    while todo:
        x = todo.pop()
        if id(x) in seen:
            continue
        seen[id(x)] = x
        if _binds_nothing(type(x)):
            todo += x.args
        else:  # a symbol, or one that binds some, as integrals and sums do
            found |= x.free_symbols
    return found


@cache
def _binds_nothing(kind: type) -> bool:
    """Whether the free symbols of such a node are those of its arguments.

    Functions have classes with `free_symbols` of their own, so each has to be asked by itself.
    """
    says = next(x for x in kind.__mro__ if "free_symbols" in vars(x))
    return says is sp.Basic


def _rational(expr: sp.Expr) -> bool:
    """Whether it is plainly a rational function of real numbers: to ask SymPy takes long."""
    return all(
        x.is_real if isinstance(x, sp.Symbol)
        else isinstance(x.exp, sp.Integer) if isinstance(x, sp.Pow)
        else isinstance(x, sp.Add | sp.Mul | sp.Rational | sp.Float)
        for x in distinct(expr)
    )  # fmt: skip


_REAL = sp.Symbol("x", real=True).assumptions0


def _plain(symbol: sp.Basic) -> sp.Symbol:
    """The plain real symbol of the same name: mostly itself, and large systems have many."""
    if type(symbol) is sp.Symbol and symbol.assumptions0 == _REAL:
        return symbol
    return sp.Symbol(name_of(symbol), real=True)


class Vocabulary:
    """Replaces every symbol of a user's expression by ours, by name.

    Parameters
    ----------
    groups : sequences of symbols
        Each symbol, of whatever kind, is known from now on as one plain real symbol.
    """

    def __init__(self, *groups: Sequence[sp.Basic]) -> None:
        self._ours: dict[str, sp.Symbol] = {"t": t}
        self._foreign: dict[sp.Basic, sp.Symbol] = {}
        self.given: dict[sp.Symbol, sp.Basic] = {}  # ours → how the model spells them
        self.learning = False  # whether what is read is the model itself
        self.groups: list[tuple[sp.Symbol, ...]] = []
        for group in groups:
            ours = tuple(_plain(s) for s in group)
            self.groups.append(ours)
            for foreign, own in zip(group, ours, strict=True):
                if own.name in self._ours:
                    raise ModelError(
                        f"the name {own.name!r} is used twice",
                        expected="coordinates, velocities and parameters with different names,"
                        " none of them 't', which is time",
                        received=", ".join(name_of(s) for g in groups for s in g),
                        remedy="rename one of them",
                    )
                self._ours[own.name] = own
                self._foreign[foreign] = own
                if foreign is not own:
                    self.given[own] = foreign

    def alias(self, foreign: sp.Basic, own: sp.Symbol) -> None:
        """Read `foreign` (say the derivative of a dynamicsymbol) as `own`."""
        self._foreign[foreign] = own
        self.given.setdefault(own, foreign)

    def scalar(self, expression: object, where: str) -> sp.Expr:
        """`expression`, also of a text, in whatever symbols."""
        names = ", ".join([*self._ours][:3])
        remedy = f"names in a text are those of symbols, such as {names}"
        return scalar(expression, where, remedy, self._ours)

    def read(self, expression: object, where: str) -> sp.Expr:
        """`expression` in our symbols; an unknown symbol or a non-number is an error."""
        expr = self.scalar(expression, where)
        if expr.is_number:
            return expr
        return self._replaced(expr, where)

    def _replaced(self, expr: sp.Expr, where: str) -> sp.Expr:
        if self._foreign and expr.has(AppliedUndef, sp.Derivative):
            # Derivatives first: x(t).diff(t) contains x(t).
            derivatives = {d: o for d, o in self._foreign.items() if isinstance(d, sp.Derivative)}
            expr = expr.xreplace(derivatives).xreplace(self._foreign)
            left = [d for d in expr.atoms(sp.Derivative) if any(s.name == "t" for s in d.variables)]
            if left:
                raise ModelError(
                    f"{where} contains {left[0]}",
                    expected="coordinates and their first derivatives",
                    received=str(expr)[:120],
                )
        table, unknown = {}, []
        for symbol in expr.free_symbols:
            own = self._ours.get(symbol.name)
            if own is None:
                unknown.append(symbol.name)
            elif own is not symbol:
                table[symbol] = own
                if self.learning:
                    self.given.setdefault(own, symbol)
        unknown += [str(f) for f in expr.atoms(AppliedUndef)]
        if unknown:
            first = min(unknown)
            close = close_to(first, self._ours)
            raise ModelError(
                f"{where} contains {', '.join(sorted(unknown))}, which the system does not know",
                expected=catalogue(first, sorted(self._ours), "only"),
                received=str(expr)[:120],
                remedy=(f"did you mean {close!r}? Else " if close else "")
                + 'add it to coordinates, or to parameters={"k": 2.0} (or ["k"]); '
                "velocities and momenta come from taut.velocities(q) and taut.momenta(q)",
            )
        return expr.xreplace(table) if table else expr


def _fits(node: sp.Basic) -> bool:
    """Whether a number is one of float64 too; anything else is none."""
    try:
        return not isinstance(node, sp.Number) or abs(float(node)) < float("inf")
    except OverflowError:
        return False
