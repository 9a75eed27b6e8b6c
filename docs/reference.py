"""The API reference: the sections of docs/api.md become pages with what the docstrings say."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

SECTION = re.compile(r"^## (.+)\n((?:.*\n(?!## ))*.*\n?)", re.MULTILINE)
ENTRY = re.compile(r"^\* `(taut[\w.]*)`(?:: (.*))?$", re.MULTILINE)


def found(name: str) -> Any:
    """What a dotted name below `taut` stands for."""
    place, _, last = name.rpartition(".")
    if place in ("", "taut"):
        return getattr(import_module("taut"), last)
    return getattr(import_module(place), last)


def entry(name: str, said: str) -> str:
    """The directive that documents one name; symbols have no docstring of their own."""
    thing = found(name)
    if said:
        text = f".. py:data:: {name}\n\n   {said}\n"
    elif inspect.isclass(thing):
        options = "   :show-inheritance:\n" if issubclass(thing, Exception) else ""
        text = f".. autoclass:: {name}\n{options}"
    else:
        text = f".. autofunction:: {name}\n"
    return f"```{{eval-rst}}\n{text}```\n"


def linked(match: re.Match) -> str:
    """A line of the list: the name, which leads to its entry, and the first sentence about it."""
    name, said = match.groups()
    text = said or (inspect.getdoc(found(name)) or "").partition("\n\n")[0]
    return f"* {{py:obj}}`{name}`: {' '.join(text.split()).replace('``', '`')}"


def into(folder: Path) -> None:
    """One page per section, and the list of them with one line per name."""
    page = folder / "api.md"
    text = page.read_text()
    (folder / "api").mkdir()
    trees = []
    for heading, body in SECTION.findall(text):
        names = ENTRY.findall(body)
        slug = re.sub(r"\W+", "_", heading.lower())
        intro = body[: body.index("* `")] if names else body
        entries = "\n".join(entry(*name) for name in names)
        (folder / "api" / f"{slug}.md").write_text(f"# {heading}\n{intro}{entries}")
        trees.append(f"api/{slug}\n")

    tree = f"\n```{{toctree}}\n:hidden:\n\n{''.join(trees)}```\n"
    page.write_text(ENTRY.sub(linked, text) + tree)
