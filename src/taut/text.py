"""Text for terminals, HTML and LaTeX for notebooks; whatever is given is escaped.

Notebooks show facts as HTML tables and mathematics as LaTeX.  The two are kept apart: a notebook
takes HTML where it can have both, and not every one typesets formulas in it.
"""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from html import escape
from typing import ClassVar

LONG = 400  # characters of a text in LaTeX
# What is no letter in the text mode of LaTeX, as mathematics.
_SIGNS = {
    "\\": r"\backslash ", "$": r"\$", "%": r"\%", "#": r"\#", "&": r"\&", "{": r"\{", "}": r"\}",
    "_": r"\_", "^": r"\wedge ", "~": r"\sim ", "<": r"\lt ", ">": r"\gt ", "|": r"\vert ",
    "`": r"\text{‘}", '"': r"\text{”}",
}  # fmt: skip
_RUNS = re.compile("([" + re.escape("".join(_SIGNS)) + "])")


def columns(text: str) -> int:
    """Width on a terminal: the dot over q̇ stands on the letter before it."""
    return sum(not unicodedata.combining(letter) for letter in text)


def aligned(rows: Iterable[Sequence[object]], head: bool = False) -> list[str]:
    """Rows as lines with aligned columns; with `head` the first one is underlined."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(columns, column)) for column in zip(*cells, strict=True)]
    if head:
        cells.insert(1, ["─" * width for width in widths])
    return [
        "  "
        + "  ".join(c + " " * (w - columns(c)) for c, w in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def shortened(text: object, most: int) -> str:
    """A text of so many letters at most, with a mark where it is cut."""
    found = str(text)
    return found if len(found) <= most else found[: most - 1] + "…"


def counted(count: int, one: str, many: str = "") -> str:
    """The number and the word for it: "1 joint", "2 joints"."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def percent(share: float, sign: str = "") -> str:
    """A share in hundredths, without its sign %: two digits, from ten on whole ones."""
    value = 100 * share
    return f"{value:{sign}.0f}" if abs(value) >= 10 else f"{value:{sign}.2g}"


def marked(text: object) -> str:
    """Text in HTML: escaped, and with nothing in it that a notebook takes for a formula."""
    return escape(str(text)).replace("$", "<span>$</span>").replace("\\", "<span>\\</span>")


def table(rows: Iterable[Sequence[object]], title: str = "", head: bool = False) -> str:
    """An HTML table; with `head` the first row is one of names."""
    lines = []
    for i, row in enumerate(rows):
        tag = "th" if head and i == 0 else "td"
        cells = (f"<{tag} style='text-align:left'>{marked(x)}</{tag}>" for x in row)
        lines.append(f"<tr>{''.join(cells)}</tr>")
    above = (
        f"<caption style='text-align:left;white-space:nowrap'>{marked(title)}</caption>"
        if title
        else ""
    )
    return f"<table>{above}{''.join(lines)}</table>"


def tex(text: object) -> str:
    """Text inside a formula: its letters upright, its signs as mathematics."""
    words = "".join(x if x.isprintable() else " " for x in str(text))
    words = shortened(words, LONG)
    runs = (_SIGNS.get(run) or rf"\text{{{run}}}" for run in _RUNS.split(words) if run)
    return "".join(runs)


class Sheet(ABC):
    """What has a `title` and `rows` of text, as it prints and as a notebook shows it."""

    head: ClassVar[bool] = False  # whether the first row is one of names

    @abstractmethod
    def title(self) -> str:
        """One line: what it is about."""

    @abstractmethod
    def rows(self) -> Sequence[Sequence[str]]:
        """Such as (quantity, value, verdict)."""

    def __str__(self) -> str:
        return "\n".join([self.title(), *aligned(self.rows(), self.head)])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return table(self.rows(), self.title(), self.head)
