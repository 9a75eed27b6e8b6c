"""Where the keys and values of a TOML text are: ``tomllib`` reads it, but does not say.

The text is scanned once, in time proportional to its length.  What is no TOML ends the scan: then
``tomllib`` says what is wrong with it, and where.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from contextlib import suppress

from taut.errors import FileError

DEEPEST = 16  # tables, arrays and parts of a key inside each other
LONGEST = 400  # characters of a number

_SKIP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}' r"|'''(?:[^']|'(?!''))*'{3,5}"
    r'|"(?!"")(?:[^"\\\n]|\\.)*"' r"|'(?!'')[^'\n]*'",
    re.DOTALL,
)  # fmt: skip
_BARE = re.compile(r"[^,\]}\n#]+")

Path = tuple[str | int, ...]


class LineError(FileError):
    """A line of a file that cannot be used.

    Attributes
    ----------
    file : str
    line : int
        Counted from 1.
    """

    def __init__(self, what: str, *, file: str, line: int, **text: object) -> None:
        super().__init__(f"{file}:{line}: {what}", **text)  # type: ignore[arg-type]
        self.file, self.line = file, line


def places(text: str, file: str) -> dict[Path, int]:
    """Where each key, table and element begins: path → offset.

    Raises
    ------
    LineError
        For what is nested too deeply, and for numbers that are too long.
    """
    scanner = _Scanner(text, file)
    with suppress(_Lost):
        scanner.document()
    return scanner.found


class Ruler:
    """Lines by offsets."""

    def __init__(self, text: str) -> None:
        self._starts = [m.end() for m in re.finditer("\n", text)]

    def line(self, offset: int) -> int:
        """The number of the line, counted from 1."""
        return bisect_right(self._starts, offset) + 1


class _Lost(Exception):
    pass


class _Scanner:
    def __init__(self, text: str, file: str) -> None:
        self.text, self.file, self.at = text, file, 0
        self.found: dict[Path, int] = {}
        self._counts: dict[Path, int] = {}  # of arrays of tables

    def document(self) -> None:
        """Headers and pairs, to the end."""
        table: Path = ()
        while True:
            self._match(_SKIP)
            if self.at == len(self.text):
                return
            if self._next("["):
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Path:
        begin = self.at
        double = self.text.startswith("[[", begin)
        self.at += 1 + double
        keys = self._keys()
        self._take("]]" if double else "]")
        path: Path = ()
        for k, key in enumerate(keys):
            path = (*path, key)
            if path in self._counts:
                if double and k == len(keys) - 1:
                    break
                path = (*path, self._counts[path] - 1)
        if double:
            self._counts[path] = self._counts.get(path, 0) + 1
            self.found.setdefault(path, begin)
            path = (*path, self._counts[path] - 1)
        self._put(path, begin)
        return path

    def _pair(self, table: Path) -> None:
        begin = self.at
        path = (*table, *self._keys())
        self._take("=")
        self._put(path, begin)
        self._match(_SPACE)
        self._value(path)

    def _put(self, path: Path, begin: int) -> None:
        if len(path) > DEEPEST:
            self._fail(begin, f"at most {DEEPEST} tables and arrays inside each other")
        for k in range(1, len(path) + 1):
            self.found.setdefault(path[:k], begin)

    def _keys(self) -> list[str]:
        keys = []
        while True:
            self._match(_SPACE)
            begin, key = self.at, self._match(_KEY)
            if not key:
                raise _Lost
            keys.append(_unquoted(key))
            if len(keys) > DEEPEST:
                self._fail(begin, f"keys of at most {DEEPEST} parts")
            self._match(_SPACE)
            if not self._next("."):
                return keys
            self.at += 1

    def _value(self, path: Path) -> None:
        if self._next("["):
            self._elements(path)
        elif self._next("{"):
            self._inline(path)
        elif self.text.startswith(('"', "'"), self.at):
            if not self._match(_STRING):
                raise _Lost
        else:
            begin = self.at
            if len(self._match(_BARE)) > LONGEST:
                self._fail(begin, f"numbers of at most {LONGEST} characters")

    def _elements(self, path: Path) -> None:
        self._take("[")
        count, before, broken = 0, self.at, False
        if len(path) >= DEEPEST:
            self._fail(before, f"at most {DEEPEST} tables and arrays inside each other")
        while True:
            broken = "\n" in self._match(_SKIP) or broken
            if self._next("]"):
                break
            before = self.at
            if broken:  # others are in the line of their array
                self.found[(*path, count)] = before
            self._value((*path, count))
            count += 1
            broken = "\n" in self._match(_SKIP) or broken
            if self._next(","):
                self.at += 1
            elif not self._next("]") or self.at == before:
                raise _Lost
        self._take("]")

    def _inline(self, path: Path) -> None:
        self._take("{")
        self._match(_SKIP)
        while not self._next("}"):
            self._pair(path)
            self._match(_SKIP)
            if self._next(","):
                self.at += 1
                self._match(_SKIP)
            elif not self._next("}"):
                raise _Lost
        self._take("}")

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found[0]

    def _next(self, sign: str) -> bool:
        return self.text.startswith(sign, self.at)

    def _take(self, sign: str) -> None:
        self._match(_SPACE)
        if not self._next(sign):
            raise _Lost
        self.at += len(sign)

    def _fail(self, offset: int, expected: str) -> None:
        line = self.text.count("\n", 0, offset) + 1
        raise LineError(
            "this is too much", file=self.file, line=line, expected=expected, received="more"
        )


def _unquoted(key: str) -> str:
    """A key as ``tomllib`` reads it."""
    if key[0] not in "\"'":
        return key
    try:
        return str(tomllib.loads(f"key = {key}")["key"])
    except tomllib.TOMLDecodeError:
        raise _Lost from None
