"""Formulas in files that may come from strangers: text to SymPy, and nothing is run.

    sum     = product { ("+" | "-") product }
    product = signed { ("*" | "/") signed }
    signed  = { "+" | "-" } power
    power   = atom [ ("**" | "^") signed ]
    atom    = number | name | function "(" sum { "," sum } ")" | "(" sum ")"

This is Python's: −x² is −(x²), and a**b**c is a**(b**c).  The text is taken apart here, and SymPy
is handed finished objects only, each of which has to pass `bounds`.
"""

from __future__ import annotations

import math
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

import sympy as sp

from taut.errors import FileError, UnknownName, brief
from taut.files.bounds import FUNCTIONS, Gate, Refused

LONGEST = 20_000  # characters of a text
DEEPEST = 60  # parentheses, signs and exponents inside each other
DIGITS = 30  # of a whole number
CONSTANTS = {"pi": sp.pi, "e": sp.E}

SUM, PRODUCT, SIGNED, POWER, ATOM = range(1, 6)  # how strongly things bind
_BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "**": 4, "^": 4}
NAME = re.compile(r"[^\W\d]\w*")
_TOKEN = re.compile(
    r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)"
    rf"|(?P<name>{NAME.pattern})|(?P<sign>\*\*|[-+*/^(),])|(?P<space>\s+)"
)
_ALIKE = {"−": "-", "–": "-", "×": "*", "·": "*", "÷": "/"}


class ExpressionError(FileError):
    """A formula that cannot be read or written.

    Attributes
    ----------
    column : int
        Where in the text, counted from 1; 0 if there is no text.
    """

    def __init__(self, what: str, *, column: int = 0, **text: Any) -> None:
        super().__init__(what, **text)
        self.column = column


def parse(
    text: str,
    names: Mapping[str, sp.Expr],
    *,
    where: str = "the expression",
    gate: Gate | None = None,
) -> sp.Expr:
    """The SymPy expression that a text stands for.

    Parameters
    ----------
    text : str
        Such as ``"k*(sqrt(x**2 + y**2) - l0)**2/2 + m*g*z"``.
    names : mapping of str to Expr
        The symbols or numbers that names stand for; ``pi`` and ``e`` are known besides.
    where : str
        What the text is, for messages.
    gate : Gate, optional
        That of the texts before this one, whose work is counted together.

    Raises
    ------
    ExpressionError
        For whatever is no formula, for unknown names, for numbers that are complex, infinite or
        too large, and for what would take too long.  No text raises anything else.

    Examples
    --------
    >>> x = sp.Symbol("x", real=True)
    >>> parse("-x^2/4 + sin(pi/6)", {"x": x})
    1/2 - x**2/4
    """
    return _Reader(text, names, where, gate or Gate()).read()


class _Token(NamedTuple):
    kind: str
    text: str
    column: int


class _Reader:
    """Precedence climbing: one loop for all operators, by how strongly they bind."""

    def __init__(self, text: str, names: Mapping[str, sp.Expr], where: str, gate: Gate) -> None:
        self._names, self._where = ChainMap(names, CONSTANTS), where  # type: ignore[arg-type]
        self._gate, self._depth = gate, 0
        gate.begin()
        if not isinstance(text, str) or len(text) > LONGEST:
            received = f"{len(text)} characters" if isinstance(text, str) else brief(text, 40)
            self._fail(1, f"a text of at most {LONGEST} characters", received)
        self._tokens = self._split(text)
        self._next = next(self._tokens)

    def read(self) -> sp.Expr:
        """The whole text as one expression."""
        made = self._expression(0)
        if self._next.kind != "end":
            product = self._next.text not in (")", ",")
            self._unexpected("an operator or the end", "write a product with *" if product else "")
        return made

    def _split(self, text: str) -> Iterator[_Token]:
        place = 0
        while place < len(text):
            found, letter = _TOKEN.match(text, place), text[place]
            if found is None:
                remedy = f"write {_ALIKE[letter]}" if letter in _ALIKE else ""
                expected = "numbers, names, + - * / ** ^ ( ) and commas"
                self._fail(place + 1, expected, repr(letter), remedy)
            if found.lastgroup != "space":
                yield _Token(str(found.lastgroup), found[0], place + 1)
            place = found.end()
        yield _Token("end", "", len(text) + 1)

    def _take(self) -> _Token:
        token = self._next
        self._next = next(self._tokens)
        return token

    def _expression(self, weakest: int) -> sp.Expr:
        """What follows, up to an operator that binds no stronger than `weakest`."""
        made = self._operand()
        while (binding := _BINDING.get(self._next.text, 0)) > weakest:
            if binding == POWER:
                token = self._take()
                made = self._made(token, sp.Pow, made, self._nested(token, SIGNED))
            else:
                made = self._chain(made, binding)
        return made

    def _chain(self, first: sp.Expr, binding: int) -> sp.Expr:
        """A sum or a product, made at once: term by term would take time quadratic in them."""
        parts, token = [first], self._next
        while _BINDING.get(self._next.text) == binding:
            operator = self._take()
            part = self._expression(binding)
            if operator.text == "-":
                part = self._made(operator, sp.Mul, sp.Integer(-1), part)
            elif operator.text == "/":
                part = self._made(operator, sp.Pow, part, sp.Integer(-1))
            parts.append(part)
        return self._made(token, sp.Add if binding == SUM else sp.Mul, *parts)

    def _nested(self, token: _Token, weakest: int = 0) -> sp.Expr:
        self._depth += 1
        if self._depth > DEEPEST:
            self._fail(token.column, f"at most {DEEPEST} formulas inside each other", "more")
        made = self._expression(weakest)
        self._depth -= 1
        return made

    def _operand(self) -> sp.Expr:
        token = self._next
        if token.kind == "number":
            return self._number(self._take())
        if token.kind == "name":
            return self._named(self._take())
        if token.text not in ("(", "+", "-"):
            self._unexpected("a number, a name, a sign or a parenthesis")
        self._take()
        if token.text == "(":
            made = self._nested(token)
            self._close(token)
            return made
        made = self._nested(token, SIGNED)
        return self._made(token, sp.Mul, sp.Integer(-1), made) if token.text == "-" else made

    def _close(self, opening: _Token) -> None:
        if self._next.text != ")":
            self._unexpected(f"an operator, or ) for the ( at column {opening.column}")
        self._take()

    def _number(self, token: _Token) -> sp.Expr:
        """Whole numbers are exact and all others doubles, as in a model written in Python.

        So the same model has the same `System.key` and finds its compiled kernels again, its
        equations show 9.81 and not 981/100, and `taut.laws` takes 0.5 for ½ as it does there.
        """
        if token.text.isdecimal():
            if len(token.text) > DIGITS:
                self._fail(token.column, f"at most {DIGITS} digits", f"{len(token.text)} digits")
            return sp.Integer(int(token.text))
        value = float(token.text)
        if math.isinf(value) or (value == 0 and re.match(r"[0.]*[1-9]", token.text)):
            self._fail(token.column, "a number that doubles hold", repr(token.text[:40]))
        return sp.Float(value)

    def _named(self, token: _Token) -> sp.Expr:
        if self._next.text == "(":
            return self._call(token)
        if token.text not in self._names:
            self._unknown("name", token, self._names)
        return self._made(token, sp.Add, self._names[token.text])  # itself, if it may pass

    def _call(self, token: _Token) -> sp.Expr:
        made = FUNCTIONS.get(token.text)
        if made is None:
            product = token.text in self._names
            self._unknown("function", token, FUNCTIONS, "write a product with *" if product else "")
        opening = self._take()
        arguments = [self._nested(opening)]
        while self._next.text == ",":
            self._take()
            arguments.append(self._nested(opening))
        self._close(opening)
        wanted = 2 if made is sp.atan2 else 1
        if len(arguments) != wanted and made not in (sp.Min, sp.Max):
            self._fail(token.column, f"{token.text} of {wanted}", f"of {len(arguments)}")
        if made is sp.sqrt:
            return self._made(token, sp.Pow, *arguments, sp.S.Half)
        return self._made(token, made, *arguments)

    def _made(self, token: _Token, kind: Any, *arguments: sp.Expr) -> sp.Expr:
        try:
            return self._gate.made(kind, arguments)
        except Refused as reason:
            received = f"{reason} (at {token.text[:40]!r})"
            self._fail(token.column, reason.expected, received, reason.remedy)
        except Exception as error:  # whatever SymPy stumbles over, deep down, is no formula
            self._fail(token.column, "what SymPy can compute", type(error).__name__)

    def _unexpected(self, expected: str, remedy: str = "") -> NoReturn:
        received = repr(self._next.text[:40]) if self._next.kind != "end" else "the end"
        self._fail(self._next.column, expected, received, remedy)

    def _unknown(self, kind: str, token: _Token, known: Any, remedy: str = "") -> NoReturn:
        error = UnknownName(kind, token.text[:40], known, remedy)
        self._fail(token.column, error.expected, f"the {kind} {error.received}", error.remedy)

    def _fail(self, column: int, expected: Any, received: Any, remedy: Any = None) -> NoReturn:
        raise ExpressionError(
            f"{self._where} cannot be read at column {column}",
            expected=expected,
            received=received,
            remedy=remedy or None,
            column=column,
        ) from None
