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
from taut.show.style import Picture
from taut.text import Sheet

_BELOW = re.compile(r"(?<=\w)_(?:\{([^}]*)\}|(\w)\b)")
GOOD = ("round-off", "no drift", "symplectic", "met", "stable", "conserved", "reversible")
OPEN = ("not kept exactly", "not asked", "not checked")
BAD = ("drifts", "not ", "missed", "beyond", "some corrections")
PACKAGES = ("numpy", "sympy", "casadi", "llvmlite", "numba", "matplotlib")


@dataclass
class Page:
    """An HTML page under construction; text is escaped, pictures are embedded.

    Parameters
    ----------
    title, subtitle : str
    """

    title: str
    subtitle: str
    parts: list[str] = field(default_factory=list)
    pictures: dict[str, bytes] = field(default_factory=dict)
    heads: list[str] = field(default_factory=list)  # markup for the head, trusted
    tails: list[str] = field(default_factory=list)  # and for the end of the body

    def heading(self, text: str, name: str) -> None:
        """A section with an entry in the contents."""
        self.parts.append(f'<h2 id="{escape(name)}">{escape(text)}</h2>')

    def text(self, *paragraphs: str) -> None:
        """Paragraphs, as `marked` reads them."""
        self.parts += [f"<p>{marked(p)}</p>" for p in paragraphs]

    def items(self, entries: Iterable[str]) -> None:
        """A list."""
        self.parts.append("<ul>" + "".join(f"<li>{marked(e)}</li>" for e in entries) + "</ul>")

    def plain_items(self, entries: Iterable[str]) -> None:
        """A list of texts in which no sign means anything."""
        self.parts.append("<ul>" + "".join(f"<li>{escape(e)}</li>" for e in entries) + "</ul>")

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> None:
        """A table; cells that read as numbers stand on the right."""
        lines = ['<div class="wide"><table>']
        if caption:
            lines.append(f"<caption>{marked(caption)}</caption>")
        lines.append("<thead><tr>" + "".join(f"<th>{marked(h)}</th>" for h in head))
        lines.append("</tr></thead><tbody>")
        for row in rows:
            cells = (f"<td{_aligned(cell)}>{marked(cell)}</td>" for cell in row)
            lines.append(f"<tr>{''.join(cells)}</tr>")
        self.parts.append("\n".join([*lines, "</tbody></table></div>"]))

    def figure(self, name: str, picture: Picture, title: str, caption: str) -> None:
        """An embedded picture, also kept as a file of its own."""
        data = picture.bytes("svg")
        self.pictures[f"{name}.svg"] = data
        width = round(120 * picture.get_figwidth())
        source = "data:image/svg+xml;base64," + b64encode(data).decode("ascii")
        image = f'<img width="{width}" alt="{escape(title)}" src="{source}">'
        self.parts.append(
            f'<figure id="{escape(name)}">{image}'
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
        contents = "".join(
            f'<a href="#{part.split(chr(34))[1]}">{part.split(">")[1].split("<")[0]}</a>'
            for part in self.parts
            if part.startswith("<h2")
        )
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(self.title)}</title>\n<style>{CSS}</style>{''.join(self.heads)}"
            "</head><body>\n"
            f"<header><h1>{escape(self.title)}</h1><p>{marked(self.subtitle)}</p>"
            f"<nav>{contents}</nav></header>\n<main>\n"
            + "\n".join(self.parts)
            + f"\n</main>{''.join(self.tails)}</body></html>\n"
        )


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
    return ' class="n"' if cell[:1] in set("+−-0123456789±") and cell[:1] else ""


CSS = """
:root { color-scheme: light; --ink: #1d1d1f; --faint: #6b6b70; --line: #e2e2e6; --blue: #0b5c94; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: #fff; font: 16px/1.55 system-ui, -apple-system,
  "Segoe UI", "Helvetica Neue", "Liberation Sans", Arial, sans-serif; }
header, main { max-width: 60rem; margin: 0 auto; padding: 0 1.5rem; }
header { padding-top: 2.5rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; letter-spacing: -.01em; }
header p { color: var(--faint); margin: 0; }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: 1.2rem 0 0; padding: .6rem 0;
  border-block: 1px solid var(--line); font-size: .9rem; }
a { color: var(--blue); text-decoration: none; } a:hover { text-decoration: underline; }
h2 { font-size: 1.25rem; margin: 2.8rem 0 .6rem; }
p, ul { margin: .6rem 0; max-width: 46rem; } li { margin: .35rem 0; }
sub { font-size: .72em; line-height: 0; }
code, pre { font: .85em/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
code { background: #f4f4f6; padding: .1em .3em; border-radius: 3px; }
pre { background: #f7f7f9; border: 1px solid var(--line); border-radius: 4px; padding: .8rem 1rem;
  overflow-x: auto; margin: .5rem 0; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .9rem; min-width: 70%; }
caption { text-align: left; color: var(--faint); padding-bottom: .4rem; }
th, td { text-align: left; vertical-align: top; padding: .38rem .9rem .38rem 0;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; border-bottom: 1.5px solid var(--ink); }
td.n { font-variant-numeric: tabular-nums; white-space: nowrap; }
figure { margin: 1.6rem 0; } figure img { max-width: 100%; height: auto; display: block; }
figcaption { font-size: .88rem; color: var(--faint); max-width: 46rem; margin-top: .3rem; }
figcaption b { color: var(--ink); font-weight: 600; }
.certificate th, .formulas th { font-weight: 400; border-bottom: 1px solid var(--line);
  color: var(--faint); white-space: nowrap; }
.certificate td.good { color: #00694d; } .certificate td.bad { color: #a83200; font-weight: 600; }
.certificate td { font-variant-numeric: tabular-nums; }
.formulas td { width: 100%; } .formulas math { font-size: 1.05rem; }
details { margin: .5rem 0; } summary { cursor: pointer; color: var(--blue); font-size: .92rem; }
main > :last-child { margin-bottom: 4rem; }
@media (max-width: 34rem) { header, main { padding-inline: 1rem; } h1 { font-size: 1.45rem; }
  table { font-size: .82rem; } th, td { padding-right: .5rem; }
  .certificate th { white-space: normal; } }
@media print { details { display: none; } h2 { break-after: avoid; }
  figure { break-inside: avoid; } }
"""
