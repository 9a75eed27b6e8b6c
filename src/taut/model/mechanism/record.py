"""What a mechanism was told: its verbs with their arguments, in order, so that files can say it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

from taut.calls import misfit
from taut.errors import InputError, ModelError

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
    """A verb that is kept in ``mechanism.record``, unless another verb calls it.

    The name of what it makes may be given first or as ``name=…``, whichever of them it declares.
    """
    signature = inspect.signature(verb)

    @wraps(verb)
    def told(mechanism: Any, *given: Any, **options: Any) -> Any:
        if mechanism._sealed:
            raise ModelError(
                f"m.{verb.__name__} would change what a system was made of",
                expected="the mechanism itself, or a copy",
                remedy="m = system.mechanism.copy()",
            )
        given, options = _named(mechanism, verb.__name__, signature, given, options)
        wrong = misfit(f"m.{verb.__name__}", signature, (mechanism, *given), options, 1)
        if wrong is not None:
            raise wrong
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

    vars(told)["is_verb"] = True
    return cast(Verb, told)


def _named(
    mechanism: Any, verb: str, signature: inspect.Signature, given: tuple, options: dict
) -> tuple[tuple, dict]:
    """The arguments with the name where the verb takes it."""
    known = signature.parameters
    many = 3 if "sides" in known else len(_first(signature)) + 1
    if (
        isinstance(options.get("name"), str)
        and options["name"]
        and len(given) == many
        and ("sides" in known or "name" in known)
    ):
        raise InputError(
            f"m.{verb} is given two names",
            received=f"{given[0]!r} and {options['name']!r}"[:80],
            remedy="leave one of them out",
        )
    if "sides" in known and "name" in options and len(given) <= 2:
        name = options.pop("name")
        return ((name, *given) if name else given), options
    own = known.get("name")
    if own is None or own.kind is not own.KEYWORD_ONLY or "name" in options or len(given) < 2:
        return given, options
    first = _first(signature)
    more = len(given) - sum(x.default is x.empty for x in first)
    joints = [x if isinstance(x, str) else getattr(x, "name", None) for x in given[:2]]
    led = more == 1 and joints[0] not in mechanism.joints and joints[1] in mechanism.joints
    if isinstance(given[0], str) and (len(given) == len(first) + 1 or led):
        return given[1:], {**options, "name": given[0]}
    return given, options


def _first(signature: inspect.Signature) -> list[inspect.Parameter]:
    """What a verb takes by position, without the mechanism."""
    return [x for x in signature.parameters.values() if x.kind is x.POSITIONAL_OR_KEYWORD][1:]


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
