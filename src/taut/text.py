"""Aligned text for terminals."""

from __future__ import annotations

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from html import escape


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


class Sheet(ABC):
    """What has a `title` and `rows` of text, as it prints and as a notebook shows it."""

    @abstractmethod
    def title(self) -> str:
        """One line: what it is about."""

    @abstractmethod
    def rows(self) -> list[tuple[str, str, str]]:
        """(quantity, value, verdict)."""

    def __str__(self) -> str:
        return "\n".join([self.title(), *aligned(self.rows())])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        cells = "".join(
            "<tr>" + "".join(f"<td style='text-align:left'>{escape(x)}</td>" for x in row) + "</tr>"
            for row in self.rows()
        )
        return f"<table><caption>{escape(self.title())}</caption>{cells}</table>"
