"""Formulas of a model as presentation MathML, which browsers set without any script."""

from __future__ import annotations

from html import escape
from typing import Any

import sympy as sp
from sympy.printing.mathml import MathMLPresentationPrinter

DOT = "\u0307"
SIGNS = str.maketrans("<>&", "‹›＆")
LONG = 300  # operations of an expression that is still set


class _Printer(MathMLPresentationPrinter):
    """Velocities are letters with a dot."""

    def __init__(self, dotted: dict[sp.Symbol, sp.Symbol]) -> None:
        super().__init__()
        self._dotted = dotted

    def _print_Symbol(self, sym: Any, style: str = "plain") -> Any:
        if sym not in self._dotted:
            return super()._print_Symbol(_tame(sym), style)
        made = super()._print_Symbol(_tame(self._dotted[sym]), style)
        letter = made
        while letter.nodeName != "mi":
            letter = letter.firstChild
        letter.firstChild.data += DOT  # not <mover>: few fonts have its dot
        letter.setAttribute("style", "font-style: italic")  # as a single letter would be
        return made

    def _print_Pow(self, e: Any) -> Any:
        made = super()._print_Pow(e)
        if made.nodeName == "msup" and e.base in self._dotted:  # its dot would touch the exponent
            space = self.dom.createElement("mspace")
            space.setAttribute("width", "0.12em")
            row = self.dom.createElement("mrow")
            row.appendChild(made.replaceChild(row, made.firstChild))
            row.appendChild(space)
        return made


def formula(expression: sp.Expr, dotted: dict[sp.Symbol, sp.Symbol] | None = None) -> str:
    """The inside of a ``<math>`` element.

    Parameters
    ----------
    expression : Expr
    dotted : dict, optional
        Velocities and the coordinates whose rates they are.
    """
    if expression.count_ops() > LONG:
        return f"<mtext>{escape(str(expression)[:LONG])} …</mtext>"
    return str(_Printer(dotted or {}).doprint(expression)).replace("<mo>-</mo>", "<mo>−</mo>")


def _tame(symbol: sp.Symbol) -> sp.Symbol:
    """A symbol without the signs of markup: SymPy's printer does not escape them."""
    return sp.Symbol(symbol.name.translate(SIGNS), real=True)
