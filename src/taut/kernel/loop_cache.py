"""What Numba keeps on disk of compiled loops, and what they were made from.

Numba takes a compiled function from disk as long as the function's own file is what it was.  Those
that are inlined into it, and constants of other modules, may have changed, and a loop of yesterday
then runs on arrays that are laid out as today: a run "of 0 steps", after an update of a few files.
So all that a function can reach is a part of the key of what is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

from numba.core.caching import FunctionCache


class LoopCache(FunctionCache):
    """Compiled functions on disk, by signature, processor, and all that they are made from."""

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), reach(self._py_func))


@cache
def reach(function: FunctionType) -> str:
    """A digest of a function, of those that it names, and of the constants that they name."""
    digest, seen, waiting = hashlib.sha256(), {function}, [function]
    while waiting:
        one = waiting.pop()
        for code in _codes(one.__code__):
            plain = [x for x in code.co_consts if not isinstance(x, CodeType)]
            digest.update(repr((code.co_code, plain, code.co_names)).encode())
            for name, value in _named(code, one.__globals__):
                called = getattr(value, "py_func", getattr(value, "_defn", None))
                if called is None:
                    digest.update(repr((name, value)).encode())
                elif called not in seen:
                    seen.add(called)
                    waiting.append(called)
    return digest.hexdigest()


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of functions inside it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _named(code: CodeType, names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What it names: compiled functions and plain values, also those of modules of taut's."""
    for name in code.co_names:
        value = names.get(name)
        if isinstance(value, ModuleType):
            if value.__name__.partition(".")[0] == "taut":
                yield from _named(code, {x: y for x, y in vars(value).items() if x != name})
            continue
        compiled = hasattr(value, "py_func") or hasattr(value, "_defn")
        if compiled or isinstance(value, (bool, int, float, str, tuple)):
            yield name, value
