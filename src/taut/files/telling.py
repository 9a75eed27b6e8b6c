"""The schema of model files, told: to people in a terminal, to pages, and to editors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from taut.files.kinds import NUMBER
from taut.files.schema import BEAM_TABLES, EVENT, PLAIN, TABLES, TOP, VERBS, Key, Table
from taut.text import aligned

INTRO = (
    "A model file is TOML.  It holds one model: [system], [flow], [beam], or parts, joints and\n"
    "forces of a mechanism.  Keys with * are needed.  Where a number is expected, a formula of\n"
    'parameters in quotes will do: "sqrt(2)/2".'
)


class Section(NamedTuple):
    """A table of the file: its header, what it is, and its keys."""

    header: str
    text: str
    keys: dict[str, Key]


def sections() -> Iterator[Section]:
    """All of them, in the order of a file."""
    yield Section("", "at the top", TOP)
    yield Section("[parameters]", "name = number, or a formula of other parameters", {})
    for name in ("system", "flow", "drawing"):
        yield Section(f"[{name}]", *TABLES[name])
    for name, (_, table) in PLAIN.items():
        yield Section(f"[{name}.NAME]", *table)
    for name, known in VERBS.items():
        for verb, table in known.items():
            yield Section(f'[{name}.NAME] kind = "{verb}"', *table)
    for name in ("start", "run"):
        yield Section(f"[{name}]", *TABLES[name])
    yield Section("[beam]", *TABLES["beam"])
    for name, table in BEAM_TABLES.items():
        yield Section(f"[{name}] with a [beam]", *table)
    yield Section("[events] NAME = formula, or [events.NAME]", *EVENT)


def _rows(section: Section) -> list[tuple[str, str, str]]:
    return [
        (name + " *" * key.needed, key.kind.words, key.text) for name, key in section.keys.items()
    ]


def described() -> str:
    """For a terminal."""
    lines = [INTRO]
    for section in sections():
        lines.append(f"\n{section.header}  {section.text}".replace("\n  ", "\n"))
        if section.keys:
            lines += aligned(_rows(section))
    return "\n".join(lines)


def markdown() -> str:
    """For a page: a table for each part of the file, those of one kind after another."""
    parts, last = [], None
    for section in sections():
        header, _, kind = section.header.partition('kind = "')
        header = header.strip() or "top"
        if header != last:
            heading = "At the top" if header == "top" else f"`{header}`"
            said = (
                "" if kind or header == "top" else f"{section.text[0].upper()}{section.text[1:]}.\n"
            )
            parts.append(f"\n### {heading}\n\n{said}" + "\n" * bool(said and section.keys))
            if section.keys:
                parts.append("| key | value | |\n|---|---|---|\n")
        last = header
        if kind:
            parts.append(f'| **kind = "{kind[:-1]}"** | **{section.text}** | |\n')
        for name, words, text in _rows(section):
            bare = name.removesuffix(" *")
            star = " \\*" if bare != name else ""
            parts.append(f"| `{bare}`{star} | {words} | {text} |\n")
    return "".join(parts).lstrip("\n")


def json_schema() -> dict[str, Any]:
    """As JSON Schema, for editors."""
    named = {name: _each(_object(table)) for name, (_, table) in PLAIN.items()}
    for name, known in VERBS.items():
        named[name] = _each({"oneOf": [_object(table, kind) for kind, table in known.items()]})
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "a model file of taut",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            **{name: _value(key) for name, key in TOP.items()},
            "parameters": _each(NUMBER),
            **named,
            **{name: _object(table) for name, table in TABLES.items()},
            **{
                name: {"anyOf": [_object(TABLES[name]), _object(table)]}
                for name, table in BEAM_TABLES.items()
            },
            "events": _each({"anyOf": [NUMBER, _object(EVENT)]}),
        },
    }


def _each(inner: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": inner}


def _value(key: Key) -> dict[str, Any]:
    return {**key.kind.schema, "description": "; ".join(filter(None, (key.kind.words, key.text)))}


def _object(table: Table, kind: str = "") -> dict[str, Any]:
    properties = {name: _value(key) for name, key in table.keys.items()}
    if kind:
        properties = {"kind": {"const": kind, "description": table.text}, **properties}
    return {
        "type": "object",
        "description": table.text,
        "properties": properties,
        "required": ["kind"] * bool(kind) + table.needed,
        "additionalProperties": False,
    }
