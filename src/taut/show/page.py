"""One self-contained HTML page: text, tables and pictures in one look, everything escaped."""

from __future__ import annotations

import platform
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.metadata import version

from taut._version import __version__
from taut.show.page_style import CSS, SCRIPT
from taut.show.style import Picture
from taut.text import Sheet

_BELOW = re.compile(r"(?<=\w)_(?:\{([^}]*)\}|(\w)\b)")
GOOD = (
    "round-off",
    "no drift",
    "symplectic",
    "met",
    "stable",
    "conserved",
    "reversible",
    "resolved",
)
OPEN = ("not kept exactly", "not asked", "not checked")
BAD = ("drifts", "not ", "wrong", "missed", "beyond", "some corrections", "unresolved", "passed")
TITLE = 90  # letters
COLUMNS = 4  # of words: with more a table does not fit on a narrow screen
SENTENCE = 40  # characters from which on a cell is more than a number or a name
PACKAGES = ("numpy", "sympy", "casadi", "llvmlite", "numba", "matplotlib")


@dataclass(frozen=True)
class Entry:
    """A line of the contents, and those below it."""

    text: str
    anchor: str
    below: list[Entry]

    def link(self) -> str:
        return f'<a href="#{escape(self.anchor)}">{escape(self.text)}</a>'

    def item(self) -> str:
        """As an item of a list, with a list of what is below it."""
        below = "".join(entry.item() for entry in self.below)
        return f"<li>{self.link()}{f'<ul>{below}</ul>' if below else ''}</li>"


@dataclass
class Page:
    """An HTML page under construction; text is escaped, pictures are embedded.

    Sections follow each other, or stand in chapters.  What has a name can be linked to: in a
    chapter "zg" the figure "fig01" is ``#zg-fig01``, so that chapters may use the same names.

    Parameters
    ----------
    title, subtitle : str
    warning : str
        What a reader must know before anything else.
    """

    title: str
    subtitle: str
    warning: str = ""
    parts: list[str] = field(default_factory=list)
    pictures: dict[str, bytes] = field(default_factory=dict)
    heads: list[str] = field(default_factory=list)  # markup for the head, trusted
    tails: list[str] = field(default_factory=list)  # and for the end of the body
    _chapter: str = field(default="", init=False)
    _contents: list[Entry] = field(default_factory=list, init=False)

    def chapter(self, text: str, name: str, subtitle: str = "") -> None:
        """Open a chapter: what follows belongs to it."""
        self._chapter = name
        self._contents.append(Entry(text, name, []))
        self.parts.append(f'<h2 class="chapter" id="{escape(name)}">{escape(text)}</h2>')
        if subtitle:
            self.parts.append(f'<p class="subtitle">{marked(subtitle)}</p>')

    def heading(self, text: str, name: str) -> None:
        """A section with an entry in the contents."""
        entry = Entry(text, self._anchor(name), [])
        (self._contents[-1].below if self._chapter else self._contents).append(entry)
        level = "h3" if self._chapter else "h2"
        self.parts.append(f'<{level} id="{escape(entry.anchor)}">{escape(text)}</{level}>')

    def _anchor(self, name: str) -> str:
        return f"{self._chapter}-{name}" if self._chapter else name

    def text(self, *paragraphs: str) -> None:
        """Paragraphs, as `marked` reads them."""
        self.parts += [f"<p>{marked(p)}</p>" for p in paragraphs]

    def items(self, entries: Iterable[str]) -> None:
        """A list."""
        self.parts.append("<ul>" + "".join(f"<li>{marked(e)}</li>" for e in entries) + "</ul>")

    def plain_items(self, entries: Iterable[str]) -> None:
        """A list of texts in which no sign means anything."""
        self.parts.append("<ul>" + "".join(f"<li>{escape(e)}</li>" for e in entries) + "</ul>")

    def table(
        self,
        head: Sequence[str],
        rows: Iterable[Sequence[str]],
        caption: str = "",
        name: str = "",
        plain: bool = False,
    ) -> None:
        """A table, with a name if it is to be linked to; in `plain` cells no sign means anything.

        Short numbers are not broken into lines.  A table with sentences becomes a list of its rows
        on a narrow screen, any other one is moved sideways.
        """
        rows = [list(row) for row in rows]
        place = f' id="{escape(self._anchor(name))}"' if name else ""
        long = len(head) > 2 and any(len(x) > SENTENCE for row in rows for x in row)
        long = long or (plain and len(head) > COLUMNS)
        kind = ' class="prose"' if long else ""
        lines = [f'<div class="wide"{place}><table{kind}>']
        if caption:
            lines.append(f"<caption>{marked(caption)}</caption>")
        lines.append("<thead><tr>" + "".join(f"<th>{marked(h)}</th>" for h in head))
        lines.append("</tr></thead><tbody>")
        labels = [f' data-head="{escape(h)}"' if kind and k else "" for k, h in enumerate(head)]
        for row in rows:
            cells = (
                f"<td{label}{_aligned(cell)}>{escape(cell) if plain else marked(cell)}</td>"
                for label, cell in zip(labels, row, strict=True)
            )
            lines.append(f"<tr>{''.join(cells)}</tr>")
        self.parts.append("\n".join([*lines, "</tbody></table></div>"]))

    def figure(self, name: str, picture: Picture, title: str, caption: str) -> None:
        """An embedded picture, also kept as a file of its own."""
        data, anchor = picture.bytes("svg"), self._anchor(name)
        self.pictures[f"{anchor}.svg"] = data
        width = round(120 * picture.get_figwidth())
        source = "data:image/svg+xml;base64," + b64encode(data).decode("ascii")
        image = (
            f'<img width="{width}" style="--width: {width}px" alt="{escape(title)}" src="{source}">'
        )
        self.parts.append(
            f'<figure id="{escape(anchor)}"><div class="wide">{image}</div>'
            f"<figcaption><b>{marked(title)}</b> {marked(caption)}</figcaption></figure>"
        )

    def certificate(self, sheet: Sheet) -> None:
        """A certificate, its verdicts in colour."""
        lines = [f'<div class="wide"><table class="certificate"><caption>{marked(sheet.title())}']
        lines.append("</caption><tbody>")
        for what, value, verdict in sheet.rows():
            mark = f'<td class="{_judged(verdict)}">{escape(verdict)}</td>'
            lines.append(f"<tr><th>{escape(what)}</th><td>{escape(value)}</td>{mark}</tr>")
        self.parts.append("\n".join([*lines, "</tbody></table></div>"]))

    def formulas(self, rows: Iterable[tuple[str, str]]) -> None:
        """Names, and formulas as presentation MathML."""
        lines = [
            f"<tr><th>{escape(name)}</th><td><math displaystyle='true'>{formula}</math></td></tr>"
            for name, formula in rows
        ]
        self.parts.append(
            f'<div class="wide"><table class="formulas">{"".join(lines)}</table></div>'
        )

    def folded(self, label: str, text: str) -> None:
        """Preformatted text behind a line that opens it."""
        self.parts.append(
            f"<details><summary>{marked(label)}</summary><pre>{escape(text)}</pre></details>"
        )

    def html(self) -> str:
        """The whole page."""
        kind = script = beside = whole = ""
        if shortened(self.title) != self.title:
            whole = f' title="{escape(self.title)}"'
        links = "".join(entry.link() for entry in self._contents)
        above = f"<nav>{links}</nav>"
        warning = f'<p class="warning">{escape(self.warning)}</p>' if self.warning else ""
        if self._chapter:
            kind, script, above = ' class="book"', f"\n<script>{SCRIPT}</script>", ""
            items = "".join(entry.item() for entry in self._contents)
            beside = (
                '\n<details class="contents"><summary>Contents</summary>'
                f"<nav><ul>{items}</ul></nav></details>"
            )
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(shortened(self.title))}</title>\n<style>{CSS}</style>{''.join(self.heads)}"
            f"</head><body{kind}>\n"
            f"<header><h1{whole}>{escape(shortened(self.title))}</h1><p>{marked(self.subtitle)}</p>{warning}"
            f"{above}</header>{beside}\n<main>\n"
            + "\n".join(self.parts)
            + f"\n</main>{''.join(self.tails)}{script}</body></html>\n"
        )


def shortened(title: str) -> str:
    """A title that fits into a line or two, cut between words."""
    if len(title) <= TITLE:
        return title
    head = title[: TITLE - 1]
    return (head[: head.rfind(" ")] if " " in head[TITLE // 2 :] else head).rstrip(" ,;:–") + "…"


def versions() -> dict[str, str]:
    """What a result depends on."""
    found = {"taut": __version__, "python": platform.python_version()}
    found |= {name: version(name) for name in PACKAGES}
    found["machine"] = f"{platform.system()} {platform.machine()}"
    return found


def marked(text: str) -> str:
    """Escaped text with *italics*, `code` and x_k or x_{k−1} with an index."""
    out, inside = [], False
    for k, piece in enumerate(escape(text).split("`")):
        if k % 2:
            out.append(f"<code>{piece}</code>")
            continue
        for j, bit in enumerate(piece.split("*")):
            if j:
                inside = not inside
                out.append("<i>" if inside else "</i>")
            out.append(_BELOW.sub(lambda m: f"<sub>{m[1] or m[2]}</sub>", bit))
    return "".join(out) + ("</i>" if inside else "")


def _judged(verdict: str) -> str:
    """How a verdict of a certificate is coloured."""
    if verdict.startswith(GOOD):
        return "good"
    if verdict.startswith(OPEN):
        return "open"
    return "bad" if verdict.startswith(BAD) or verdict.endswith("failed") else "open"


def _aligned(cell: str) -> str:
    """A short cell that begins like a number is not broken into lines."""
    return ' class="n"' if len(cell) <= 24 and cell.startswith(tuple("+−-0123456789±")) else ""
