"""Formulas as text that `taut.files.expressions` reads."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from taut.files.bounds import FUNCTIONS
from taut.files.expressions import (
    ATOM,
    DEEPEST,
    NAME,
    POWER,
    PRODUCT,
    SIGNED,
    SUM,
    ExpressionError,
    parse,
)

_NAMES = {made: name for name, made in FUNCTIONS.items()}


def written(expression: sp.Expr) -> str:
    """A text that `parse` reads as this expression.

    Where SymPy holds what it would not make by itself, such as 2 (x + y), not multiplied out, the
    text is read as what it makes of that.

    Examples
    --------
    >>> x, y = sp.symbols("x y", real=True)
    >>> written(-sp.sqrt(x) * sp.exp(-y) / 2)
    '-sqrt(x)*exp(-y)/2'
    """
    if not isinstance(expression, sp.Expr):
        raise _unwritten(type(expression).__name__, "a SymPy expression")
    try:
        text, symbols = _text(expression), expression.free_symbols
    except RecursionError:
        raise _unwritten("more", f"at most {DEEPEST} formulas inside each other") from None
    names = {x.name: x for x in symbols}
    if len(names) < len(symbols) or ("pi" in names and expression.has(sp.pi)):
        raise _unwritten("two symbols of one name", "a name of its own for each")
    parse(text, names, where=f"the text {text[:40]!r}")  # what is too large to be read is an error
    return text


def _text(node: sp.Basic, weakest: int = 0) -> str:
    """The text, in parentheses if it binds less than `weakest`."""
    text, binding = _bound(node)
    return text if binding >= weakest else f"({text})"


def _bound(node: sp.Basic) -> tuple[str, int]:
    """The text and how strongly it binds."""
    if isinstance(node, sp.Symbol):
        if not NAME.fullmatch(node.name):
            raise _unwritten(f"the name {node.name[:40]!r}", "letters, digits and _")
        return node.name, ATOM
    if isinstance(node, sp.Integer | sp.Float):
        return _digits(node), SIGNED if node < 0 else ATOM
    if node in (sp.pi, sp.E):  # a symbol may be called e
        return "pi" if node is sp.pi else "exp(1)", ATOM
    if isinstance(node, sp.Add):
        terms = sorted((_text(x, PRODUCT) for x in node.args), key=lambda x: x.startswith("-"))
        return " + ".join(terms).replace("+ -1*(", "- (").replace("+ -", "- "), SUM
    if node.func is sp.Pow and not _below(node):
        if node.exp is sp.S.Half:
            return f"sqrt({_text(node.base)})", ATOM
        return f"{_text(node.base, ATOM)}**{_text(node.exp, ATOM)}", POWER
    if isinstance(node, sp.Rational | sp.Mul | sp.Pow):
        return _fraction(sp.Mul.make_args(node)), PRODUCT
    if node.func in _NAMES:
        return f"{_NAMES[node.func]}({', '.join(map(_text, node.args))})", ATOM
    raise _unwritten(type(node).__name__, "numbers, + - * / ** and " + ", ".join(FUNCTIONS))


def _digits(node: sp.Integer | sp.Float) -> str:
    if isinstance(node, sp.Integer):
        return str(node)
    if sp.Float(float(node)) != node:
        raise _unwritten("a number of more digits than doubles have", "doubles")
    return repr(float(node))


def _fraction(factors: Sequence[sp.Expr]) -> str:
    """A product as one fraction, its sign before it."""
    sign, top, bottom = 1, [], []
    for factor in factors:
        if factor.is_Number and factor.is_negative:
            sign, factor = -sign, -factor
        if isinstance(factor, sp.Rational):
            top += [sp.Integer(factor.p)] if factor.p != 1 else []
            bottom += [sp.Integer(factor.q)] if factor.q != 1 else []
        elif _below(factor):
            bottom.append(sp.Pow(factor.base, -factor.exp))
        else:
            top.append(factor)
    top.sort(key=lambda x: bool(x.is_Add))
    above = "*".join(_text(x, POWER) for x in top) or "1"
    if sign < 0 and above.startswith("(") and len(factors) > 2:  # −(x + y) is multiplied out
        above = "1*" + above
    below = "".join("/" + _text(x, POWER) for x in bottom)
    return ("-" if sign < 0 else "") + above + below


def _below(node: sp.Basic) -> bool:
    """Whether it is a power that is written below the line of a fraction."""
    return node.func is sp.Pow and node.exp.is_Rational and bool(node.exp.is_negative)


def _unwritten(received: str, expected: str) -> ExpressionError:
    return ExpressionError("an expression cannot be written", expected=expected, received=received)
