"""Calls that do not fit a signature, answered: what fits, what was given, what was meant.

``@public`` stands before every function and class of the front door.  It lets calls through as they
are, and looks at a signature only after Python has refused a call; so it costs a frame, some
0.1 µs, and what `inspect`, `help`, `pickle` and type checkers see is what was written.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from itertools import combinations
from numbers import Real
from types import FunctionType
from typing import Any, TypeVar, cast

from taut.errors import InputError, TautError, UnknownKey, brief, close_to

Thing = TypeVar("Thing")

SHORT = 24  # letters of a value that is repeated in advice
WORDS = {"Mechanism": "m", "Trajectory": "run", "FieldTrajectory": "run"}  # as pages say it

# What others call arguments, and what they are called here; the first that there is.
CALLED = {
    # of runs
    "dt": ("step",), "h": ("step",), "timestep": ("step",), "time_step": ("step",),
    "stepsize": ("step",), "step_size": ("step",), "delta_t": ("step",), "max_step": ("step",),
    "first_step": ("step",), "dtmax": ("step",),
    "t_span": ("duration", "span"), "tspan": ("duration", "span"), "t_end": ("duration",),
    "tend": ("duration",), "tf": ("duration",), "t_final": ("duration",), "t_max": ("duration",),
    "tmax": ("duration",), "t1": ("duration",), "t_bound": ("duration",), "stop": ("duration",),
    "end_time": ("duration",), "final_time": ("duration",), "time": ("duration",),
    "T": ("duration", "kinetic"), "t_start": ("t0",), "start_time": ("t0",),
    "y0": ("q0",), "u0": ("q0",), "x0": ("q0",), "z0": ("q0",), "q_0": ("q0",),
    "qd0": ("v0",), "qdot0": ("v0",), "dq0": ("v0",), "v_0": ("v0",), "p_0": ("p0",),
    "rtol": ("tolerance",), "atol": ("tolerance",), "tol": ("tolerance",), "eps": ("tolerance",),
    "reltol": ("tolerance",), "abstol": ("tolerance",), "accuracy": ("tolerance",),
    "args": ("parameters",), "params": ("parameters",), "constants": ("parameters",),
    "solver": ("method",), "integrator": ("method",), "alg": ("method",), "algorithm": ("method",),
    "scheme": ("method",), "save_every": ("every",), "stride": ("every",), "skip": ("every",),
    "event": ("events",), "callback": ("progress", "controls"), "control": ("controls",),
    # of systems
    "q": ("coordinates",), "coords": ("coordinates",), "variables": ("coordinates",),
    "M": ("mass",), "masses": ("mass",), "mass_matrix": ("mass",), "ke": ("kinetic",),
    "kinetic_energy": ("kinetic",), "V": ("potential",), "U": ("potential",), "pe": ("potential",),
    "potential_energy": ("potential",), "L": ("lagrangian", "length"), "H": ("hamiltonian",),
    "constraint": ("constraints",), "g": ("constraints",), "holonomic": ("constraints",),
    "force": ("forces",), "f": ("forces", "rhs"), "Q": ("forces",), "fun": ("rhs",),
    # of beams
    "elements": ("nodes",), "n_elements": ("nodes",), "num_nodes": ("nodes",), "n": ("nodes",),
    "cross_section": ("section",), "r": ("radius",), "radius": ("outer",), "rho": ("density",),
    "nu": ("poisson",), "poisson_ratio": ("poisson",), "youngs_modulus": ("young",),
    "E": ("young",),
    # of mechanisms
    "position": ("at",), "pos": ("at",), "location": ("at",), "origin": ("at",), "center": ("at",),
    "centre": ("at",), "point": ("at",), "com": ("at",), "place": ("at",),
    "orientation": ("rotation",), "quaternion": ("rotation",), "rot": ("rotation",),
    "omega": ("angular_velocity",), "spin": ("angular_velocity",), "vel": ("velocity",),
    "k": ("stiffness",), "c": ("damping",), "rest_length": ("length",), "l0": ("length",),
    "color": ("colour",), "moments": ("inertia",), "moi": ("inertia",), "m": ("mass",),
    "direction": ("axis", "normal", "along"), "torque": ("drive",),
    # of files
    "file": ("path",), "filename": ("path",), "fname": ("path",), "name": ("path",),
}  # fmt: skip

# What others have an argument for, and how it is said here: the argument by which such a function
# is known, and the sentence.
_WHOLE = "duration=steps*step makes so many of them"
_LATER = "run.at(t) gives the states at any times, after the run"
_OWN = "leave it out: derivatives are found from the expressions"
_ROLLING = (
    "constraints= are g(q, t) = 0; one on velocities that cannot be integrated is none of these"
)
SAID = {
    "t_span": ("duration", "t0=begin, duration=end - begin"),
    "tspan": ("duration", "t0=begin, duration=end - begin"),
    "n_steps": ("duration", _WHOLE), "nsteps": ("duration", _WHOLE), "N": ("duration", _WHOLE),
    "num_steps": ("duration", _WHOLE), "steps": ("duration", _WHOLE),
    "dense_output": ("duration", _LATER), "t_eval": ("duration", _LATER),
    "saveat": ("duration", _LATER), "jac": ("duration", _OWN), "jacobian": ("duration", _OWN),
    "vectorized": ("duration", "a start q0 of shape (B, n) runs a batch"),
    "nonholonomic": ("constraints", _ROLLING), "velocity_constraints": ("constraints", _ROLLING),
}  # fmt: skip

# In which order others take what has a name here, and which of these a call cannot do without.
ORDERS = (
    (("q0", "v0", "duration", "step"), {"v0", "duration", "step"}),
    (("mass", "potential", "constraints", "forces"), set()),
)
NOT_OF = {"Flow": {"v0", "p0"}}  # what kinds of models do not have
INSTEAD = {"v0": "p0", "step": "tolerance", "mass": "kinetic"}
# What may be among an argument of ours; the answer to that says more than a sentence could.
AMONG = {"nonholonomic": "constraints", "velocity_constraints": "constraints"}


class Names(dict[str, Any]):
    """Things of one kind by their names; one that does not exist is an `UnknownKey`."""

    def __init__(self, kind: str, things: Any = ()) -> None:
        super().__init__(things)
        self.kind = kind

    def __missing__(self, name: Any) -> Any:
        raise UnknownKey(self.kind, name, map(str, self))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kind, dict(self))


def public(thing: Thing) -> Thing:
    """A function or a class whose callers are told how it is called.

    Of a class: its construction, and the public methods that it defines itself.
    """
    if isinstance(thing, FunctionType):
        return cast(Thing, _answering(thing, 0))
    for name, held in list(vars(thing).items()):
        if (name.startswith("_") and name != "__init__") or hasattr(held, "is_verb"):
            continue  # verbs of mechanisms answer by themselves
        if isinstance(held, FunctionType):
            setattr(thing, name, _answering(held, 1))
        elif isinstance(held, classmethod):
            setattr(thing, name, classmethod(_answering(held.__func__, 1)))
    return thing


def _answering(function: Callable[..., Any], own: int) -> Callable[..., Any]:
    """`function`, with an `InputError` for a call that Python does not let into it.

    A call that fits its signature has come in, and what is wrong inside stays what it is.
    """

    @wraps(function)
    def asked(*given: Any, **options: Any) -> Any:
        try:
            return function(*given, **options)
        except TypeError:
            shown = _written(function, given[:own])
            among = _among(function, given, options)
            wrong = misfit(shown, inspect.signature(function), given, options, own, among)
            if wrong is None:
                raise
        raise wrong

    return asked


def _among(
    function: Callable[..., Any], given: tuple[Any, ...], options: Mapping[str, Any]
) -> dict[str, str]:
    """What is advised where such a thing is given to the argument that we have."""
    rest = {key: x for key, x in options.items() if key not in AMONG}
    found = {}
    for word in (x for x in AMONG if x in options):
        try:
            function(*given, **rest)  # of a call with other faults the answer is no answer to this
        except (TypeError, TautError):
            break
        try:
            function(*given, **rest | {AMONG[word]: options[word]})
        except TautError as answer:
            if answer.remedy is not None:
                found[word] = str(answer.remedy)
    return found


def _written(function: Callable[..., Any], owner: tuple[Any, ...]) -> str:
    """A function as people write it."""
    if not owner:
        return _from_the_door(function)
    if isinstance(owner[0], type):
        return f"{_from_the_door(owner[0])}.{function.__name__}"
    kind = type(owner[0])
    if function.__name__ == "__init__":
        return _from_the_door(kind)
    return f"{WORDS.get(kind.__name__, kind.__name__.lower())}.{function.__name__}"


def _from_the_door(thing: Any) -> str:
    """Where a function or a class is found: at the front door, or in a room."""
    room, _, inner = thing.__module__.partition(".")
    if room == "taut" and thing.__name__ not in import_module(room).__all__:
        room = f"{room}.{inner.partition('.')[0]}"
    return f"{room}.{thing.__name__}"


def misfit(
    shown: str,
    signature: inspect.Signature,
    given: tuple[Any, ...],
    options: Mapping[str, Any],
    own: int,
    among: Mapping[str, str] | None = None,
) -> InputError | None:
    """The error that tells how a call has to be made; None if it fits.

    Parameters
    ----------
    shown : str
        What is called, as people write it.
    signature : Signature
    given, options : tuple, mapping
        What it was called with.
    own : int
        How many arguments come first without being written: an object, or a class.
    among : mapping, optional
        What is advised instead of words that others have.
    """
    known, given = list(signature.parameters.values())[own:], given[own:]
    first = [x for x in known if x.kind in (x.POSITIONAL_OR_KEYWORD, x.POSITIONAL_ONLY)]
    names = [x.name for x in known if x.kind is not x.VAR_POSITIONAL]
    filled = [x.name for x in first[: len(given)]]
    some, any_name = (any(x.kind is kind for x in known) for kind in (
        inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD))  # fmt: skip
    missing = [
        x.name for x in known
        if x.default is x.empty and x.kind in (x.KEYWORD_ONLY, x.POSITIONAL_OR_KEYWORD)
        and x.name not in (*filled, *options)
    ]  # fmt: skip
    meant = {x: elsewhere(x, names) for x in options} | dict(among or {})
    strange = [x for x in options if x not in names and (meant[x] or not any_name)]
    twice = [x for x in options if x in filled]
    many = len(given) - len(first)
    remedy = None
    if strange:
        what = f"has no argument {' or '.join(map(repr, strange))}"
        close = {x: close_to(x, names) for x in strange}
        advice = [meant[x] or (f"did you mean {close[x]}=…?" if close[x] else "") for x in strange]
        remedy = "; ".join(filter(None, advice)) or None
    elif many > 0 and not some:
        what = f"takes {len(first)} without a name, not {len(given)}"
        others = [x for x in known if x.kind is x.KEYWORD_ONLY and x.name not in options]
        without = NOT_OF.get(type(given[0]).__name__, set()) if first else set()
        others = [x for x in others if x.name not in without]
        wanted = _named(given[len(first) :], others, missing, options)
        remedy = f"name the others: {', '.join(wanted)}" if wanted else None
    elif twice:
        what, remedy = f"is given {twice[0]} twice", "leave one of them out"
    elif missing:
        what = f"needs {' and '.join(missing)}"
        remedy = "add " + ", ".join(f"{x}=…" for x in missing)
    else:
        return None
    words = [brief(x, 40) for x in given] + [f"{key}=…" for key in options]
    return InputError(
        f"{shown} {what}",
        expected=f"{shown}({', '.join(_shown(known))})",
        received=f"{shown}({', '.join(words)})",
        remedy=remedy,
    )


def _named(
    extra: tuple[Any, ...],
    others: list[inspect.Parameter],
    missing: list[str],
    options: Mapping[str, Any],
) -> list[str]:
    """What was given without a name under the name it most likely has, and what is needed beside.

    Numbers that are not zero are times and sizes, whose type says so; among what fits alike, the
    earliest.
    """
    free = {x.name: x for x in others}
    known = [(usual, needed) for usual, needed in ORDERS if usual[-1] in {*free, *options}]
    usual, needed = known[0] if known else ((), set())
    order = [x for x in usual if x in free and INSTEAD.get(x) not in options]
    if len(order) < len(extra):  # then comes what is after these
        last = max((list(free).index(x) for x in order), default=-1)
        order += [x for x in list(free)[last + 1 :]]

    def fit(names: tuple[str, ...]) -> tuple[int, int]:
        pairs = zip(names, extra, strict=False)
        same = sum(_counts(value) == _is_number(free[x]) for x, value in pairs)
        return same, len({*missing} & {*names})

    chosen = max(combinations(order, min(len(extra), len(order))), key=fit)
    after = order[order.index(chosen[0]) :] if chosen else []
    beside = {*missing, *(x for x in after if x in needed)}
    found = {x: f"{x}={_short(value)}" for x, value in zip(chosen, extra, strict=False)}
    return [found.get(x, f"{x}=…") for x in free if x in found or x in beside]


def _short(value: Any) -> str:
    """A value that is not longer than its name would be, and otherwise dots."""
    shown = brief(value)
    return shown if len(shown) <= SHORT else "…"


def _counts(value: Any) -> bool:
    """Whether it is a number that may be a duration or a size."""
    return isinstance(value, Real) and not isinstance(value, bool) and value != 0


def _is_number(known: inspect.Parameter) -> bool:
    return str(known.annotation).startswith(("float", "int"))


def elsewhere(name: str, names: list[str]) -> str:
    """What to write for an argument that others have; empty if nothing is known of it."""
    if name in names:
        return ""
    by, sentence = SAID.get(name, ("", ""))
    if by in names:
        return sentence
    ours = next((x for x in CALLED.get(name, ()) if x in names), "")
    return f"{name} is called {ours} here: {ours}=…" if ours else ""


def _shown(known: list[inspect.Parameter]) -> list[str]:
    """A signature for people: what may be left out in brackets."""
    found = []
    for x in known:
        if x.name == "sides":
            found += ['["name"]', "a", "b"]
        elif x.kind in (x.VAR_POSITIONAL, x.VAR_KEYWORD):
            found.append("…")
        else:
            word = f"{x.name}=…" if x.kind is x.KEYWORD_ONLY else x.name
            found.append(word if x.default is x.empty else f"[{word}]")
    return found
