"""Everything that can go wrong, as one tree.

TautError
├── ModelError            a system that cannot be built: shapes, symbols, mass, expressions
├── InputError            a call that cannot be carried out: step, duration, names, values
│   └── UnknownName       a name that does not exist (the known ones are listed)
│       └── UnknownVerb   one that an object is asked for (also an AttributeError)
├── ConstraintError       constraints that cannot hold together, or a singular configuration
├── InconsistentStart     a start off the constraints (carries the nearest state on them)
├── StepError             a step that could not be made: Newton, singular matrix, blow-up
│   └── ControlError      a controller that failed, or returned something else than numbers
├── NoEquilibrium         loads under which no rest was found, or a beam that is not held
├── Interrupted           Ctrl-C during a run (also a KeyboardInterrupt)
└── FileError             a file that cannot be read or written

Every message says what happened and, where it helps, what was expected, what was received
and what to do.  A `StepError` says when (time and step number); a run that ended half-way
hands over what it has in ``error.partial``.  `UnstableStep`, `Unsimulated` and `Uncontrolled` are
warnings (`UserWarning`).
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from copy import deepcopy
from difflib import get_close_matches
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


# What others call it, for those who come from elsewhere.
ELSEWHERE = {
    "hinge": "revolute", "pin": "revolute", "pivot": "revolute", "bearing": "revolute",
    "ball": "spherical", "socket": "spherical", "ball_joint": "spherical", "sphere": "ball",
    "slider": "prismatic", "slide": "prismatic", "translational": "prismatic", "rail": "prismatic",
    "weld": "fixed", "clamp": "fixed", "rigid": "fixed", "lock": "fixed",
    "cardan": "universal", "hooke": "universal", "u_joint": "universal",
    "link": "rod", "bar": "rod", "distance": "rod", "wheel": "rolling", "belt": "gear",
    "dashpot": "damper", "shock": "damper", "cable": "rope", "string": "rope", "tendon": "rope",
    "actuator": "motor", "rotational_spring": "torsion", "torsion_spring": "torsion",
    "mass": "point", "particle": "point", "marker": "frame",
}  # fmt: skip


class TautError(Exception):
    """What happened, what was expected, what was received, and the remedy.

    Parameters
    ----------
    what : str
        One sentence.
    expected, received, remedy : str, optional
        Printed on lines of their own.
    partial : Trajectory, optional
        What had been computed when the error arose.
    """

    partial: Any = None

    def __init__(
        self,
        what: str,
        *,
        expected: object = None,
        received: object = None,
        remedy: object = None,
        partial: Any = None,
    ) -> None:
        lines = [what]
        for label, text in (("expected", expected), ("received", received), ("remedy", remedy)):
            if text is not None:
                lines.append(f"  {label + ':':<10}{text}")
        super().__init__("\n".join(lines))
        self.what = what
        self.expected = expected
        self.received = received
        self.remedy = remedy
        self.partial = partial

    # A copy, or what comes out of a pickle, has the same message and the same facts; errors of
    # sweeps in several processes are pickled.

    def __copy__(self) -> TautError:
        return _again(type(self), self.args, dict(self.__dict__), self.__cause__)

    def __deepcopy__(self, memo: dict[int, Any]) -> TautError:
        return _again(type(self), self.args, deepcopy(self.__dict__, memo), self.__cause__)

    def __reduce__(self) -> tuple[Any, ...]:
        """Without what cannot be pickled: a trajectory with a controller that is a lambda."""
        kept = {key: x for key, x in self.__dict__.items() if _pickles(x)}
        lost: dict[str, Any] = {key: str(x) for key, x in self.__dict__.items() if key not in kept}
        if "partial" in lost:
            lost["partial"] = None
        cause = self.__cause__ if _pickles(self.__cause__) else None
        return _again, (type(self), self.args, kept | lost, cause)


def _again(
    kind: type[TautError], args: tuple[Any, ...], facts: dict[str, Any], cause: Any
) -> TautError:
    """An error as it was."""
    made = kind.__new__(kind, *args)
    made.__dict__.update(facts)
    made.__cause__ = cause
    return made


def _pickles(given: Any) -> bool:
    try:
        pickle.loads(pickle.dumps(given))
    except Exception:  # whatever others raise
        return False
    return True


class ModelError(TautError):
    """A system that cannot be built."""


class InputError(TautError):
    """A call whose arguments cannot be used."""


MOST, NEAREST = 40, 8  # names that are listed; of more than that, those that are most like it


class UnknownName(InputError):
    """A name that is not in a catalogue; the message lists those that are, or the nearest."""

    def __init__(
        self,
        kind: str,
        name: object,
        known: Iterable[str],
        remedy: str | None = None,
        where: str = "",
    ) -> None:
        known = sorted(known)
        close = close_to(str(name), known)
        super().__init__(
            f"there is no {kind} called {name!r} {where}".rstrip(),
            expected=catalogue(str(name), known) if known else f"no {kind}: there are none",
            received=repr(name),
            remedy=remedy or (f"did you mean {close!r}?" if close else None),
        )


class UnknownVerb(UnknownName, AttributeError):
    """An attribute that does not exist."""


def catalogue(name: str, known: list[str], what: str = "one of") -> str:
    """All names, or of many the nearest first, and how many there are."""
    if len(known) <= MOST:
        return f"{what} {', '.join(known)}"
    near = get_close_matches(name, known, n=NEAREST, cutoff=0.5)
    usual = [x for x in (close_to(name, known),) if x and x not in near]
    rest = (x for x in known if x not in near and x not in usual)
    shown = [*usual, *near, *rest][:NEAREST]
    return f"{what} {', '.join(shown)}, … ({len(known)} in all)"


def close_to(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant, if there is one."""
    known = list(known)
    usual = ELSEWHERE.get(name.lower().replace("-", "_").replace(" ", "_"))
    if usual in known:
        return usual
    same = [x for x in known if x.lower() == name.lower()]
    return next(iter(get_close_matches(name, known, n=1) or same), "")


def number(what: str, value: Any, expected: str = "a finite number") -> float:
    """`value` as a finite number, or an `InputError` that says what is wrong with it."""
    try:
        found = float(value)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{what} is not a number", expected=expected, received=repr(value)[:80]
        ) from error
    if not isfinite(found):
        raise InputError(f"{what} is not finite", expected=expected, received=found)
    return found


def listed(what: str, value: Any, expected: str = "a list of expressions") -> list[Any]:
    """The things in a list, if it is one."""
    try:
        if not isinstance(value, str | bytes):
            return list(value)
    except TypeError:
        pass
    raise InputError(f"{what} cannot be read", expected=expected, received=repr(value)[:80])


class ConstraintError(TautError):
    """Constraints that contradict each other, or a configuration where they lose rank."""


class InconsistentStart(TautError):
    """A start that breaks g(q, t) = 0 or G q̇ + ∂g/∂t = 0.

    Attributes
    ----------
    g, hidden : ndarray, shape (c,)
        Residuals of the constraints and of the hidden constraints at the start.
    q, v : ndarray, shape (n,)
        The nearest consistent state (M-orthogonal projection).
    """

    def __init__(
        self,
        what: str,
        *,
        g: np.ndarray,
        hidden: np.ndarray,
        q: np.ndarray,
        v: np.ndarray,
        **text: Any,
    ) -> None:
        super().__init__(what, **text)
        self.g, self.hidden, self.q, self.v = g, hidden, q, v


class StepError(TautError):
    """A step that could not be made.

    Attributes
    ----------
    t : float
        Time at the beginning of the step.
    index : int
        Number of the step, counted from 0.
    """

    def __init__(self, what: str, *, t: float, index: int, **text: Any) -> None:
        super().__init__(what, **text)
        self.t, self.index = t, index


class ControlError(StepError):
    """A controller that failed (``error.__cause__`` says how), or returned no finite numbers."""


class NoEquilibrium(TautError):
    """Loads under which no equilibrium was found, or a beam that can move freely.

    Attributes
    ----------
    load_factor : float
        The part of the loads up to which there was one; ``error.partial`` is that equilibrium.
    """

    def __init__(self, what: str, *, load_factor: float, **text: Any) -> None:
        super().__init__(what, **text)
        self.load_factor = load_factor


class Interrupted(TautError, KeyboardInterrupt):
    """Ctrl-C during a run; ``error.partial`` holds the trajectory so far."""


class FileError(TautError):
    """A file that cannot be read or written."""


class UnstableStep(UserWarning):
    """A step beyond the limit of stability of an explicit scheme: a warning, not an error."""


class Unsimulated(UserWarning):
    """A file says something that is not simulated: a warning, not an error.

    Attributes
    ----------
    notes : list of str
        All of it; also in ``mechanism.notes``.
    """

    def __init__(self, file: object, notes: list[str]) -> None:
        super().__init__("\n".join([f"{file}: read, but not all of it is simulated", *notes]))
        self.file, self.notes = file, notes

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.file, self.notes)


class Uncontrolled(UserWarning):
    """Controllers that are Python functions do not count here: a warning, not an error."""
