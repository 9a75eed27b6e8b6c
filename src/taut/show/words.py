"""Symbols, expressions and names as Matplotlib can set them, whatever they contain."""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy as sp
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.mathtext import MathTextParser

from taut.model.system import System

LONGEST = 90  # characters of LaTeX in a label
SHOWN = 40  # characters of a plain one


def symbol(name: sp.Symbol) -> str:
    """A symbol as Matplotlib can set it: θ₁ for theta1."""
    return _set(sp.latex(name), str(name))


def formula(system: System, expression: Any) -> str:
    """An expression of a system; q̇ and p of a coordinate carry its name."""
    expression = sp.sympify(expression)
    return _set(sp.latex(expression, symbol_names=_names(system)), str(expression))


def _names(system: System) -> dict[sp.Symbol, str]:
    """LaTeX of velocities and momenta that are named after their coordinates."""
    names = {}
    rows = zip(system.coordinates, system.velocities, system.momenta, strict=True)
    for q, v, p in rows:
        if v.name == f"{q.name}_dot":
            names[v] = rf"\dot{{{sp.latex(q)}}}"
        if p.name == f"p_{q.name}":
            names[p] = f"p_{{{sp.latex(q)}}}"
    return names


def plain(text: str, longest: int = SHOWN) -> str:
    """Text that is shown letter by letter: no formulas in it, and in every legend."""
    text = "".join(x if x in _letters() else " " if x.isspace() else "□" for x in str(text))
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    text = text.replace("$", r"\$")
    # Matplotlib leaves names that begin with a line out of legends.
    return f" {text}" if text.startswith("_") or not text.strip() else text


def _set(latex: str, text: str) -> str:
    latex = latex.replace(r"\bmod", r"\,\mathrm{mod}\,")
    fits = "$" not in latex and not latex.startswith(("_", "^"))
    if fits and len(latex) <= LONGEST and set(latex) <= _letters():
        try:
            MathTextParser("path").parse(f"${latex}$")
        except ValueError:
            return plain(text)
        return f"${latex}$"
    return plain(text)


@cache
def _letters() -> frozenset[str]:
    """What the font has."""
    font = get_font(findfont(FontProperties(family="DejaVu Sans")))
    return frozenset(map(chr, font.get_charmap()))
