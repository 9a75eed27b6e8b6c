"""Values as TOML: what ``tomllib`` reads, written."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import sympy as sp

from taut.errors import FileError
from taut.files.written import written

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def text(value: str) -> str:
    """A text in quotes."""
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def key(name: str) -> str:
    """A key, in quotes if it needs them."""
    return name if _BARE.fullmatch(name) else text(name)


def number(value: Any) -> str:
    """A finite number, exact to the last bit."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    found = float(value)
    if not math.isfinite(found):
        raise FileError("a number cannot be written", expected="finite numbers", received=found)
    return repr(found)


def formula(value: Any) -> str:
    """A number, or an expression as text."""
    if isinstance(value, sp.Integer) and abs(value) < 10**15:
        return str(int(value))
    if isinstance(value, sp.Float) and sp.Float(float(value)) == value:
        return number(float(value))
    return text(written(value)) if isinstance(value, sp.Basic) else number(value)


def array(parts: Iterable[str]) -> str:
    """A list of values, each written."""
    return "[" + ", ".join(parts) + "]"


def table(pairs: Mapping[str, str]) -> str:
    """An inline table of values, each written."""
    inner = ", ".join(f"{key(name)} = {value}" for name, value in pairs.items())
    return f"{{ {inner} }}" if inner else "{}"


def section(path: Iterable[str], pairs: Mapping[str, str]) -> str:
    """A table with its header."""
    lines = [f"{key(name)} = {value}\n" for name, value in pairs.items()]
    return f"\n[{'.'.join(map(key, path))}]\n" + "".join(lines)
