"""Expressions of models in LaTeX, as notebooks show them.

Names are the user's: velocities get their dots, plain names the form SymPy gives them, and all
others are set as text, so that no name can break a formula.  What is long is cut short.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import sympy as sp

from taut.text import counted, tex

SIZE, CUT = 120, 40  # operations and symbols: of what is shown whole, and of what is cut short
MOST = 8  # things in a list that is shown whole
DOTS = {"_ddot": r"\ddot", "_dot": r"\dot"}  # how names of accelerations and velocities end
_PLAIN = re.compile(r"[^\W\d_][^\W_]*(_[^\W_]+)*")


def latex(expression: Any) -> str:
    """An expression, with every name made safe."""
    free = getattr(expression, "free_symbols", ())
    written = sp.latex(expression, symbol_names={s: name(s.name) for s in free})
    return written.replace("<", r"\lt ").replace(">", r"\gt ")


def name(given: str) -> str:
    """The name of a symbol; a dot is over the letter, not over its index."""
    for ending, dot in DOTS.items():
        if given.endswith(ending) and len(given) > len(ending):
            letter, mark, index = name(given.removesuffix(ending)).partition("_{")
            return rf"{dot}{{{letter}}}{mark}{index}"
    if not _PLAIN.fullmatch(given):
        return tex(given)
    return sp.latex(sp.Symbol(given))


def excerpt(expression: Any) -> str:
    """An expression, the first terms of a long sum, or the number of its terms."""
    if not _longer(expression, SIZE):
        return latex(expression)
    terms = sp.Add.make_args(expression)
    shown, left = [], CUT
    for term in terms:
        if _longer(term, left):
            break
        shown.append(term)
        left -= sum(1 for _ in sp.preorder_traversal(term))
    rest = tex(counted(len(terms) - len(shown), "more term" if shown else "long term"))
    return rf"{latex(sp.Add(*shown))} + \cdots\ ({rest})" if shown else rf"\cdots\ ({rest})"


def _longer(expression: Any, size: int) -> bool:
    walk = sp.preorder_traversal(expression)
    return next(islice(walk, max(size, 0), None), None) is not None


def listed(parts: Iterable[Any], most: int = MOST) -> str:
    """Things between brackets, the first ones if they are many."""
    items = list(parts)
    if len(items) <= most:
        return rf"({', '.join(map(excerpt, items))})"
    return rf"({', '.join(map(excerpt, items[: most - 1]))}, \ldots, {excerpt(items[-1])})"


def block(rows: Sequence[tuple[str, str]], title: str = "") -> str:
    """Equations one below the other, as a notebook reads them: (left side, right side)."""
    lines = [rf"{left} &{'= ' if left else ' '}{right}" for left, right in rows]
    equations = r"\begin{aligned}" + r" \\ ".join(lines) + r"\end{aligned}"
    return formula(array([(tex(title),), (equations,)]) if title else equations)


def array(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """A table of formulas."""
    cells = list(rows)
    above = " & ".join(map(tex, head)) + r" \\ \hline " if head else ""
    lines = r" \\ ".join(" & ".join(rf"\displaystyle {x}" for x in row) for row in cells)
    return rf"\begin{{array}}{{{'l' * len(cells[0])}}}{above}{lines}\end{{array}}"


def formula(inside: str) -> str:
    """What a notebook typesets."""
    return rf"$\displaystyle {inside}$"
