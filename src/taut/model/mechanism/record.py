"""What a mechanism was told: its verbs with their arguments, in order, so that files can say it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

from taut.errors import InputError, ModelError, close_to

Verb = TypeVar("Verb", bound=Callable[..., Any])


# What others call arguments, and what they are called here.
CALLED = {
    "position": ("at",), "pos": ("at",), "location": ("at",), "origin": ("at",), "center": ("at",),
    "centre": ("at",), "point": ("at",), "com": ("at",), "place": ("at",),
    "orientation": ("rotation",), "quaternion": ("rotation",), "rot": ("rotation",),
    "omega": ("angular_velocity",), "spin": ("angular_velocity",), "vel": ("velocity",),
    "k": ("stiffness",), "c": ("damping",), "rest_length": ("length",), "l0": ("length",),
    "color": ("colour",), "moments": ("inertia",), "moi": ("inertia",), "m": ("mass",),
    "direction": ("axis", "normal", "along"), "torque": ("drive",),
}  # fmt: skip


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
        given, options = _named(mechanism, signature, given, options)
        _check_call(verb.__name__, signature, given, options)
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


def _named(
    mechanism: Any, signature: inspect.Signature, given: tuple, options: dict
) -> tuple[tuple, dict]:
    """The arguments with the name where the verb takes it."""
    known = signature.parameters
    if "sides" in known and "name" in options and len(given) == 2:
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


def _check_call(verb: str, signature: inspect.Signature, given: tuple, options: dict) -> None:
    """An `InputError` with the signature for a call that does not fit it."""
    known = list(signature.parameters.values())[1:]
    first, names = _first(signature), [x.name for x in known if x.kind is not x.VAR_POSITIONAL]
    filled = [x.name for x in first[: len(given)]]
    some, any_name = (any(x.kind is kind for x in known) for kind in (
        inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD))  # fmt: skip
    missing = [
        x.name for x in known
        if x.default is x.empty and x.kind in (x.KEYWORD_ONLY, x.POSITIONAL_OR_KEYWORD)
        and x.name not in (*filled, *options)
    ]  # fmt: skip
    called = {x: next((y for y in CALLED.get(x, ()) if y in names), "") for x in options}
    strange = [x for x in options if x not in names and (called[x] or not any_name)]
    twice = [x for x in options if x in filled]
    many = len(given) - len(first)
    remedy = None
    if strange:
        what, close = f"has no argument {strange[0]!r}", close_to(strange[0], names)
        remedy = f"did you mean {close}=…?" if close else None
        if own := called[strange[0]]:
            remedy = f"{strange[0]} is called {own} here: {own}=…"
    elif many > 0 and not some:
        what = f"takes {len(first)} without a name, not {len(given)}"
        remedy = f"name the others: {', '.join(f'{x}=…' for x in missing or names[len(first) :])}"
    elif twice:
        what, remedy = f"is given {twice[0]} twice", "leave one of them out"
    elif missing:
        what = f"needs {' and '.join(missing)}"
        remedy = "add " + ", ".join(f"{x}=…" for x in missing)
    else:
        return
    words = [repr(x)[:40] for x in given] + [f"{key}=…" for key in options]
    raise InputError(
        f"m.{verb} {what}",
        expected=f"m.{verb}({', '.join(_shown(known))})",
        received=f"m.{verb}({', '.join(words)})",
        remedy=remedy,
    )


def _shown(known: list[inspect.Parameter]) -> list[str]:
    """A signature for people: what may be left out in brackets."""
    found = []
    for x in known:
        if x.name == "sides":
            found += ['["name"]', "a", "b"]
        elif x.kind in (x.VAR_POSITIONAL, x.VAR_KEYWORD):
            found.append("…")
        else:
            word = x.name if x.kind is x.POSITIONAL_OR_KEYWORD else f"{x.name}=…"
            found.append(word if x.default is x.empty else f"[{word}]")
    return found


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
