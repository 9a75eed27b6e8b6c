"""What a mechanism was told: its verbs with their arguments, in order, so that files can say it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

Verb = TypeVar("Verb", bound=Callable[..., Any])


@dataclass(frozen=True)
class Told:
    """One call of a verb of `Mechanism`.

    Attributes
    ----------
    verb : str
        Such as "revolute".
    name : str
        Of what it made, given or chosen; a number for a look, which has none.
    arguments : dict
        Those that were given, parts and joints by name; ``between`` are the two sides.
    """

    verb: str
    name: str
    arguments: dict[str, Any]


def recorded(verb: Verb) -> Verb:
    """A verb that is kept in ``mechanism.record``, unless another verb calls it."""
    signature = inspect.signature(verb)

    @wraps(verb)
    def told(mechanism: Any, *given: Any, **options: Any) -> Any:
        outermost, mechanism._telling = not mechanism._telling, True
        try:
            made = verb(mechanism, *given, **options)
        finally:
            mechanism._telling = not outermost
        if outermost:
            arguments = _arguments(signature.bind(mechanism, *given, **options).arguments)
            name = getattr(made, "name", None) or _numbered(verb.__name__, mechanism.record)
            entry = Told(verb.__name__, name, arguments)
            mechanism.record.setdefault(name, entry)  # an angle may be asked for again
        return made

    return cast(Verb, told)


def _numbered(verb: str, known: dict[str, Told]) -> str:
    numbers = (f"{verb} {k + 1}" for k in range(len(known) + 1))
    return next(name for name in numbers if name not in known)


def _arguments(bound: dict[str, Any]) -> dict[str, Any]:
    """By name, without the mechanism and the name of what is made."""
    found = {key: _plain(x) for key, x in bound.items() if key not in ("self", "name")}
    if "sides" in found:
        found["between"] = found.pop("sides")[-2:]
    return found | found.pop("looks", {})


def _plain(given: Any) -> Any:
    """Parts and joints by their names, arrays as lists."""
    if type(given).__name__ in ("Part", "Joint"):
        return given.name
    if isinstance(given, dict):
        return {key: _plain(x) for key, x in given.items()}
    if hasattr(given, "tolist"):
        return given.tolist()
    return [_plain(x) for x in given] if isinstance(given, list | tuple) else given
