"""A TOML file as a tree of values that know their lines."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from taut.errors import FileError, TautError, UnknownName, brief, place
from taut.files import lines
from taut.files.lines import LineError, Ruler
from taut.text import shortened

LARGEST = 2_000_000  # bytes

_WHERE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
WORDS = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}
# Keys that messages have other words for.
SAID = {
    "axis": ("axes", "normal"),
    "direction": ("axis", "axes", "normal", "frame"),
    "equation": ("surface", "curve"),
    "length": ("ends",),
    "line": ("along",),
    "name": ("coordinates", "variables"),
    "nothing": ("damping", "stiffness"),
    "place": ("at", "ends"),
    "potential": ("energy",),
    "quaternion": ("rotation",),
}


class Node:
    """A value of a file, and where it is.

    Parameters
    ----------
    source : Source
    path : tuple
        Keys and numbers of elements, from the top.
    data : str, bool, int, float, list, dict, or a date
    """

    def __init__(self, source: Source, path: lines.Path, data: Any) -> None:
        self.source, self.path, self.data = source, path, data

    @property
    def name(self) -> str:
        """The path in words."""
        parts = [f"[{x}]" if isinstance(x, int) else f".{x}" for x in self.path]
        return "".join(parts).removeprefix(".")[:80] or "the file"

    @property
    def place(self) -> int:
        """Where it begins: an offset."""
        for k in range(len(self.path), 0, -1):
            found = self.source.places.get(self.path[:k])
            if found is not None:
                return found
        return 0

    @property
    def line(self) -> int:
        """Its line, counted from 1."""
        return self.source.ruler.line(self.place)

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def __getitem__(self, key: str | int) -> Node:
        return Node(self.source, (*self.path, key), self.data[key])

    def entries(self) -> Iterator[tuple[str, Node]]:
        """Of a table: keys and values, in the order of the file."""
        self.expect(dict)
        found = [(key, self[key]) for key in self.data]
        yield from sorted(found, key=lambda item: item[1].place)

    def elements(self) -> list[Node]:
        """Of a list."""
        self.expect(list)
        return [self[k] for k in range(len(self.data))]

    def expect(self, kind: type) -> Any:
        """The value, if it is of this kind."""
        if type(self.data) is not kind:
            self.fail(expected=WORDS[kind])
        return self.data

    def check(self, known: Iterable[str], needed: Iterable[str] = ()) -> None:
        """A table with these keys only, and with all that are needed."""
        self.expect(dict)
        known = list(known)
        for key, node in self.entries():
            if key not in known:
                self.unknown("key", key, known, node)
        missing = [key for key in needed if key not in self.data]
        if missing:
            self.fail(
                f"{self.name} has no {' and no '.join(missing)}",
                expected=", ".join(needed),
                received=", ".join(map(str, self.data))[:80] or "nothing",
            )

    def unknown(self, kind: str, name: str, known: Iterable[str], at: Node | None = None) -> None:
        """Refuse a name that does not exist, with the nearest one that does."""
        error = UnknownName(kind, name[:40], known)
        where = "" if not self.path else f" in {self.name}"
        (at or self).fail(
            error.what + where,
            expected=shortened(error.expected, 400),
            received=None,
            remedy=error.remedy,
        )

    def fail(
        self, what: str = "", *, expected: Any = None, received: Any = ..., remedy: Any = None
    ) -> NoReturn:
        """Refuse this value."""
        raise LineError(
            what or f"{self.name} cannot be used",
            file=self.source.name,
            line=self.line,
            expected=expected,
            received=shown(self.data) if received is ... else received,
            remedy=remedy,
        )

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Errors of what is made of this value become errors of its line."""
        try:
            yield
        except LineError:
            raise
        except TautError as error:
            raise LineError(
                error.what,
                file=self.source.name,
                line=self._guilty(error.what).line,
                expected=error.expected,
                received=error.received,
                remedy=error.remedy,
            ) from error
        except (ArithmeticError, RecursionError, TypeError, ValueError) as error:
            raise LineError(
                f"{self.name} cannot be used",
                file=self.source.name,
                line=self.line,
                received=f"{type(error).__name__}: {str(error)[:80]}",
            ) from error

    def _guilty(self, said: str) -> Node:
        """What a message names first, if it names something of this table: a key, or its value."""
        if not isinstance(self.data, dict):
            return self
        words = re.findall(r"\w+", said)
        for word, after in zip(words, [*words[1:], ""], strict=True):
            low = word.lower()
            # "angular velocity", "Young's modulus"; constraint a is in constraints
            for key in (f"{word}_{after}", word, low, f"{word}s", *SAID.get(low, ())):
                if key in self.data:
                    return self[key]._guilty(said)
        for key, value in self.data.items():
            for name in value if isinstance(value, list) else [value]:
                named = isinstance(name, str) and key != "kind"
                if named and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said):
                    return self[key]
        return self


class Source(Node):
    """A file, read.

    Parameters
    ----------
    text : str
    name : str
        Of the file, for messages.
    """

    def __init__(self, text: str, name: str) -> None:
        self.name_of_file = name
        self.places = lines.places(text, name)
        self.ruler = Ruler(text)
        super().__init__(self, (), _parsed(text, name))

    @property
    def name(self) -> str:  # type: ignore[override]
        """Of the file."""
        return self.name_of_file


def shown(data: Any) -> str:
    """A value, for messages."""
    if type(data) in (dict, list):
        return f"{WORDS[type(data)]} of {len(data)}" if len(data) > 6 else str(data)[:80]
    return brief(data) if isinstance(data, str) else str(data).lower()[:80]


def read(path: str | Path) -> Source:
    """The tree of a file."""
    path = place(path)
    name = path.name
    try:
        if not path.is_file():
            raise FileError(
                f"{path} is a directory" if path.is_dir() else f"there is no file {path}",
                expected="a model in a TOML file",
            )
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise FileError(f"{str(path)[:200]!r} cannot be read", received=str(error)[:80]) from error
    if len(raw) > LARGEST:
        raise LineError(
            "the file is too large",
            file=name,
            line=1,
            expected=f"at most {LARGEST:,} bytes",
            received="more",
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise LineError(
            "the file is not UTF-8",
            file=name,
            line=line,
            expected="a text in UTF-8",
            received=f"the byte 0x{raw[error.start]:02x}",
            remedy="save it as UTF-8 in your editor",
        ) from error
    return Source(text, name)


def _parsed(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said = str(error)
        found = _WHERE.search(said)
        line = int(found[1]) if found and found[1] else text.rstrip("\n").count("\n") + 1
        column = f" (column {found[2]})" if found and found[2] else ""
        what = _WHERE.sub("", said)[:120]
        raise LineError(
            f"this is not TOML: {what[:1].lower()}{what[1:]}{column}", file=name, line=line
        ) from error
    except (RecursionError, ValueError) as error:
        raise LineError(
            "this cannot be read", file=name, line=1, received=type(error).__name__
        ) from error
