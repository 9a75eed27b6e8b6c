"""`run.cite()`: the references of what a run used, from the one file `references.bib`.

Methods name their references by the keys of that file, with a place in the work where there is one
(``"hairer2006, IV.4"``), or bring an entry of their own (``"@article{…}"``).  Everything that is
shown of a reference, from "Andersen 1983" to BibTeX, is made from its entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import Any, ClassVar
from urllib.parse import quote

from taut._version import __version__
from taut.calls import public
from taut.errors import InputError, UnknownName, brief
from taut.text import marked

FILE = Path(__file__).with_name("references.bib")
LIBRARIES = ("numpy", "scipy", "sympy", "casadi", "numba", "llvm")
NOETHER = "noether1918"
NAMED = 3  # authors; where there are more, the first one and "et al."
WIDTH = 100  # of a line

_HEAD = re.compile(r"@(\w+)\s*\{\s*([^\s,{}]+)\s*,")
_FIELD = re.compile(r"\s*(\w+)\s*=\s*\{")
_REST = re.compile(r"\s*,?\s*")
_PLAIN = {"--": "–", "``": "“", "''": "”", r"$\alpha$": "α", "{": "", "}": ""}


@public
@dataclass(frozen=True)
class Reference:
    """One entry of BibTeX.

    Attributes
    ----------
    key, kind : str
        As in ``@kind{key, …}``.
    fields : dict
        As they stand in the file.
    where : str
        The place in the work that is meant; empty for all of it.
    """

    key: str
    kind: str
    fields: dict[str, str]
    where: str = ""

    def _field(self, name: str) -> str:
        """A field as text: without braces, with dashes and quotes as they are printed."""
        text = self.fields.get(name, "")
        for mark, letter in _PLAIN.items():
            text = text.replace(mark, letter)
        return text

    @property
    def authors(self) -> list[tuple[str, str]]:
        """(family, given) names, as far as they are listed."""
        names = [x for x in self._field("author").split(" and ") if x]
        return [tuple(map(str.strip, x.partition(",")[::2])) for x in names]  # type: ignore[misc]

    @property
    def short(self) -> str:
        """For a line of text: "Hairer, Lubich & Wanner 2006"."""
        names = [family for family, _ in self.authors]
        if "others" in names or len(names) > NAMED:
            who = f"{names[0]} et al."
        elif len(names) > 1:
            who = f"{', '.join(names[:-1])} & {names[-1]}"
        else:
            who = names[0] if names else self._field("key") or self.key
        return f"{who} {self._field('year')}".strip()

    def __str__(self) -> str:
        listed = [" ".join(x for x in (given, family) if x) for family, given in self.authors]
        who = ", ".join("et al." if x == "others" else x for x in listed)
        year = f"({self._field('year')})" if self._field("year") else ""
        place = self._field("journal") or self._field("booktitle") or self._field("howpublished")
        number = f"({self._field('number')})" if self._field("number") else ""
        volume = self._field("volume") + number
        series = ", ".join(x for x in (self._field("series"), self._field("volume")) if x)
        edition = f"{self._field('edition')} edition" if self._field("edition") else ""
        if self._field("journal"):
            place, series = " ".join(x for x in (place, volume) if x), ""
        parts = (place, series, edition, self._field("publisher"), self._field("pages"))
        version = f"Version {self._field('version')}" if self._field("version") else ""
        source = ", ".join(x for x in (*parts, version, self.where) if x)
        link = f"doi:{self._field('doi')}" if self._field("doi") else self._field("url")
        heads = (f"{who} {year}".strip(), self._field("title"), source, self._field("note"), link)
        return " ".join(f"{x.rstrip('.')}." if x != link else x for x in heads if x)

    def html(self) -> str:
        """As it prints, with a link to the work."""
        doi = self._field("doi")
        if not doi:
            return marked(self)
        link = f'<a href="https://doi.org/{quote(doi)}">{marked(f"doi:{doi}")}</a>'
        return marked(str(self).removesuffix(f"doi:{doi}")) + link

    def bibtex(self) -> str:
        """The entry."""
        lines = [f"  {name} = {{{value}}}," for name, value in self.fields.items()]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])


@public
class Sourced:
    """What comes from somewhere: a method or a scheme.

    Attributes
    ----------
    references : tuple of str
        Keys of `references.bib`, with a place in the work if there is one, or entries in BibTeX.
    """

    references: ClassVar[tuple[str, ...]] = ()

    @property
    def cited(self) -> tuple[str, ...]:
        """Its references, and those of what it is made of."""
        return self.references

    @property
    def source(self) -> str:
        """Its own references in one line."""
        return shortly(self.references)


@public
@dataclass(frozen=True)
class Citations:
    """References in groups; prints as a list, `bibtex` is for a paper.

    Attributes
    ----------
    groups : dict
        What the references are for, and the references.
    """

    groups: dict[str, tuple[Reference, ...]]

    @property
    def keys(self) -> tuple[str, ...]:
        """Of all of them, for the citations of a paper."""
        return tuple(reference.key for group in self.groups.values() for reference in group)

    def bibtex(self) -> str:
        """All of them as BibTeX."""
        entries = [reference.bibtex() for group in self.groups.values() for reference in group]
        return "\n\n".join(entries) + "\n"

    def __str__(self) -> str:
        lines: list[str] = []
        for title, group in self.groups.items():
            lines.append(title)
            for reference in group:
                lines.append(fill(str(reference), WIDTH, initial_indent="  ",
                                  subsequent_indent="    ", break_on_hyphens=False,
                                  break_long_words=False))  # fmt: skip
            if not group:
                lines.append("  no reference is given")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        parts = []
        for title, group in self.groups.items():
            items = "".join(f"<li>{reference.html()}</li>" for reference in group)
            listed = f"<ul>{items}</ul>" if group else "<p>no reference is given</p>"
            parts.append(f"<p><b>{marked(title)}</b></p>{listed}")
        return f"<div>{''.join(parts)}</div>"


def cite(run: Any) -> Citations:
    """The references of a run: taut, the method and what it is made of, laws, libraries."""
    version = replace(_known()["taut"], fields={**_known()["taut"].fields, "version": __version__})
    groups = {"taut": (version,), f"the method, {run.method.label}": found(run.method.cited)}
    watched = getattr(run, "laws", None) is not None and not run.system.first_order
    if watched and not run.system.forced:
        groups["laws of the certificate"] = found([NOETHER])
    groups["built on"] = found(LIBRARIES)
    return Citations(groups)


def found(given: Iterable[str]) -> tuple[Reference, ...]:
    """References by key or as entries of their own, each once, with all the places that are meant.

    Examples
    --------
    >>> from taut.cite import found
    >>> [reference.short for reference in found(["andersen1983", "hairer2006, IV.4"])]
    ['Andersen 1983', 'Hairer, Lubich & Wanner 2006']
    """
    listed: dict[str, Reference] = {}
    for text in [given] if isinstance(given, str) else given:
        reference = _reference(text)
        if (twin := listed.get(reference.key)) and reference.where not in twin.where.split("; "):
            places = "; ".join(x for x in (twin.where, reference.where) if x)
            reference = replace(reference, where=places)
        elif twin:
            reference = twin
        listed[reference.key] = reference
    return tuple(listed.values())


def shortly(given: Iterable[str]) -> str:
    """References in one line of text."""
    places = [", ".join(x for x in (reference.short, reference.where) if x)
              for reference in found(given)]  # fmt: skip
    return "; ".join(places)


def entries(text: str) -> list[Reference]:
    """The entries of a text in BibTeX, values in braces; what stands between them is left out."""
    listed = []
    for head in _HEAD.finditer(text):
        fields, at = {}, head.end()
        while match := _FIELD.match(text, at):
            end = _closed(text, match.end())
            fields[match[1].lower()] = " ".join(text[match.end() : end].split())
            at = _REST.match(text, end + 1).end()  # type: ignore[union-attr]
        if not fields or not text.startswith("}", at):
            raise _unreadable(text[head.start() :])
        listed.append(Reference(head[2], head[1].lower(), fields))
    return listed


def _closed(text: str, start: int) -> int:
    """Where the brace that was opened before `start` is closed."""
    depth = 1
    for i in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise _unreadable(text[start:])


def _unreadable(text: str) -> InputError:
    return InputError(
        "a reference cannot be read",
        expected="@article{key, author = {…}, title = {…}, year = {…}}, values in braces",
        received=text[:80],
    )


def _reference(text: str) -> Reference:
    if not isinstance(text, str):
        raise InputError("a reference is no text", expected="a key or BibTeX", received=brief(text))
    if text.lstrip().startswith("@"):
        own = entries(text)
        if len(own) != 1:
            raise _unreadable(text)
        return own[0]
    key, _, where = text.partition(", ")
    if key not in _known():
        raise UnknownName("reference", key, _known(), 'or an entry of its own, "@article{…}"')
    return replace(_known()[key], where=where)


@cache
def _known() -> dict[str, Reference]:
    """The entries of the file, by key."""
    return {reference.key: reference for reference in entries(FILE.read_text("utf-8"))}
