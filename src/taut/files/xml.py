"""XML from anyone: read up to a size, as UTF-8, without declarations that could fetch or multiply.

A document type is refused as a whole.  Only there entities can be declared, which would read other
files or grow to any size; formats that robots are described in do without.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NoReturn

from taut.errors import FileError

LARGEST = 16_000_000  # bytes
XACRO = "this is a xacro file, not yet a URDF"
BY_XACRO = "xacro model.xacro > model.urdf, with the program xacro"


def read_xml(path: Path, largest: int = LARGEST) -> Any:
    """The root of an XML file, an element of lxml, whose elements know their lines."""
    etree = _lxml()
    content = _content(path, largest)
    for word in (b"<!DOCTYPE", b"<!ENTITY"):
        if word in content:
            line = content[: content.index(word)].count(b"\n") + 1
            refuse(path, line, f"there is a {word[2:].decode()}", remedy="remove it: none is used")
    parser = etree.XMLParser(
        encoding="utf-8", resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    try:
        return etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        said = getattr(error, "msg", None) or str(error)
        raise _unread(path, line, said, content) from error


def _unread(path: Path, line: int, said: str, content: bytes) -> FileError:
    """What is wrong with a file that the parser refuses."""
    if version := re.match(r"Unsupported version '([^']*)'", said):
        return located(path, line, f"XML of version {version[1][:20]} cannot be read",
                       expected='<?xml version="1.0"?>')  # fmt: skip
    if "xacro" in said:
        return located(path, line, XACRO, received=said, remedy=BY_XACRO)
    kind = "this XML cannot be read" if content.lstrip().startswith(b"<") else "this is no XML"
    return located(path, line, f"{kind}: {said}")


def _lxml() -> Any:
    try:
        from lxml import etree
    except ImportError as error:
        raise missing("lxml") from error
    return etree


def missing(name: str) -> FileError:
    """What to say where a library for files of robots is not there."""
    return FileError(
        f"URDF files are read with {name}, which is not installed",
        remedy='pip install "taut[urdf]"',
    )


def _content(path: Path, largest: int) -> bytes:
    try:
        if not path.is_file():
            raise FileError(f"there is no file {path}", expected="a URDF file")
        with path.open("rb") as file:
            content = file.read(largest + 1)
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read", received=str(error)) from error
    if len(content) > largest:
        raise FileError(f"{path} is too large", expected=f"at most {largest // 1_000_000} MB")
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise located(path, line, "this is not UTF-8", received=f"{error.reason}") from error
    if not content.strip():
        refuse(path, 1, "the file is empty", expected="a <robot>")
    return content


def located(path: Path, line: int | None, what: str, **words: Any) -> FileError:
    """An error at a line of a file."""
    where = f"{path}, line {line}" if line else f"{path}"
    return FileError(f"{where}: {what}", **words)


def refuse(path: Path, line: int | None, what: str, **words: Any) -> NoReturn:
    """Say what is wrong at a line of a file."""
    raise located(path, line, what, **words)
