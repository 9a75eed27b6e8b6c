"""Laws in the symbols that a model was written in.

Inside taut a name is one real symbol.  Whoever wrote c = Symbol("c") would find that
``law.expression.subs(c, 2)`` does nothing, and is given c back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from typing import Any, TypeVar

import sympy as sp

from taut.model import Flow, System

Public = TypeVar("Public", bound=Callable[..., Any])
OWN = "coordinates"  # names for people, not expressions


def as_written(model: Any, found: Any) -> Any:
    """What was found, in the symbols of a model as it was written."""
    if not isinstance(model, System | Flow) or not model.foreign:
        return found
    return _spelled(model, found, {})


def in_given_symbols(function: Public) -> Public:
    """Of a function of a model: its result is spelled as the model is."""

    @wraps(function)
    def public(*given: Any, **options: Any) -> Any:
        found = function(*given, **options)
        every = (*given, *options.values())
        model = next((x for x in every if isinstance(x, System | Flow)), None)
        return as_written(model, found)

    return public  # type: ignore[return-value]


def in_own_symbols(function: Public) -> Public:
    """The same function for use inside, where a name is one symbol."""
    return function.__wrapped__  # type: ignore[attr-defined]


def _spelled(model: System | Flow, x: Any, seen: dict[int, Any]) -> Any:
    """Lists are changed, all else is made anew; what is the same object stays one."""
    if id(x) in seen:
        return seen[id(x)][1]
    if isinstance(x, sp.Expr):
        return model.spelled(x)
    if isinstance(x, tuple):
        return tuple(_spelled(model, y, seen) for y in x)
    if isinstance(x, list):
        x[:] = [_spelled(model, y, seen) for y in x]
        for name, y in getattr(x, "__dict__", {}).items():
            setattr(x, name, _spelled(model, y, seen))
    elif is_dataclass(x) and not isinstance(x, type):
        parts = {f.name: getattr(x, f.name) for f in fields(x) if f.name != OWN}
        made = replace(x, **{name: _spelled(model, y, seen) for name, y in parts.items()})
        seen[id(x)] = seen[id(made)] = (x, made)  # both kept, so that no other has their place
        return made
    return x


__all__ = ["as_written", "in_given_symbols", "in_own_symbols"]
