"""Everything that can go wrong, as one tree.

TautError
├── ModelError            a system that cannot be built: shapes, symbols, mass, expressions
├── InputError            a call that cannot be carried out: step, duration, names, values
│   └── UnknownName       a name that does not exist (the known ones are listed)
│       ├── UnknownVerb   one that an object is asked for (also an AttributeError)
│       └── UnknownKey    one that is looked up in brackets (also a KeyError and an IndexError)
├── ConstraintError       constraints that cannot hold together, or a singular configuration
├── InconsistentStart     a start off the constraints (carries the nearest state on them)
├── StepError             a step that could not be made: Newton, singular matrix, blow-up
│   └── ControlError      a controller that failed, or returned something else than numbers
├── ToleranceError        a tolerance that the run does not meet
├── ProgressError         a function that is told how far work is, and fails
├── NoEquilibrium         loads under which no rest was found, or a beam that is not held
├── Interrupted           Ctrl-C or SIGTERM during a run (also a KeyboardInterrupt)
└── FileError             a file that cannot be read or written

Every message says what happened and, where it helps, what was expected, what was received
and what to do.  A `StepError` says when (time and step number); a run that ended half-way
hands over what it has in ``error.partial``.  `UnstableStep`, `Unsimulated` and `Uncontrolled` are
warnings (`UserWarning`).
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterable
from copy import deepcopy
from difflib import get_close_matches
from inspect import currentframe
from math import inf, isfinite
from operator import index
from os import PathLike, fsencode
from pathlib import Path
from signal import SIGINT
from typing import TYPE_CHECKING, Any, cast

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
LONGEST = 120  # letters of a name that are repeated


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
        known, given = sorted(known), brief(name, LONGEST)
        asked = name[:LONGEST] if isinstance(name, str) else given
        close = close_to(asked, known)
        super().__init__(
            f"there is no {kind} called {given} {where}".rstrip(),
            expected=catalogue(asked, known) if known else f"no {kind}: there are none",
            received=given,
            remedy=remedy or (f"did you mean {close!r}?" if close else None),
        )


class UnknownVerb(UnknownName, AttributeError):
    """An attribute that does not exist."""


class UnknownKey(UnknownName, KeyError, IndexError):
    """A name or a number in brackets that does not exist."""

    __str__ = Exception.__str__  # of a KeyError it is a repr, in one line


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


# ---- what is given at the door -------------------------------------------------------------------


def brief(value: Any, longest: int = 80) -> str:
    """A value in one line, as far as it can be shown: numbers may be too long for a text."""
    try:
        found = " ".join(repr(value).split())
    except Exception:  # of anything that somebody has written
        return f"a {type(value).__name__}"
    if len(found) <= longest:
        return found
    # Where a part or else a word ends, if one does in the second half.
    ends = [found.rfind(x, longest // 2, longest - 1) for x in (", ", " ")]
    cut = next((x for x in ends if x > 0), longest - 2)
    return found[: cut + 1].rstrip() + "…"


def number(what: str, value: Any, expected: str = "a finite number") -> float:
    """`value` as a finite number, or an `InputError` that says what is wrong with it."""
    try:
        if not _one_real(value):
            raise TypeError
        found = float(value)
    except OverflowError:
        found = inf
    except Exception as error:  # whatever __float__ of somebody's own raises
        raise InputError(
            f"{what} is not a number", expected=expected, received=brief(value)
        ) from error
    if not isfinite(found):
        raise InputError(f"{what} is not finite", expected=expected, received=brief(value))
    return found


def _one_real(value: Any) -> bool:
    """Whether it may be one real number: `float` takes texts, yes and no, and arrays of one, too.

    NumPy's numbers and arrays say what they hold; those of no dimension are numbers.
    """
    if isinstance(value, bool | str | bytes | complex):
        return False
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    return not getattr(value, "ndim", 0) and kind in "iufO"


def whole(what: str, value: Any, least: int, most: int) -> int:
    """`value` as a whole number in a range."""
    try:
        found: int | None = index(value) if _one_real(value) else None
    except Exception:  # whatever __index__ of somebody's own raises
        found = None
    if found is None or not least <= found <= most:
        raise InputError(
            f"{what} is not a number that counts",
            expected=f"a whole number, {least:,} … {most:,}",
            received=brief(value),
        )
    return found


def flag(what: str, value: Any) -> bool:
    """`value` as True or False; nothing else stands for them."""
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):  # NumPy's, too
        return bool(value)
    raise InputError(
        f"{what} is neither True nor False", expected="True or False", received=brief(value)
    )


def word(kind: str, value: Any, known: Iterable[str]) -> str:
    """`value`, if it is one of the known words."""
    known = list(known)
    if isinstance(value, str) and value in known:
        return value
    raise UnknownName(kind, value, known)


def text(what: str, value: Any) -> str:
    """`value`, if it is a text."""
    if isinstance(value, str):
        return value
    raise InputError(f"{what} is no text", expected="a string", received=brief(value))


def place(value: Any) -> Path:
    """`value` as the path of a file or a folder, which need not be there."""
    try:
        if not isinstance(value, str | PathLike):
            raise TypeError
        found = Path(
            cast("str | PathLike[str]", value)
        ).expanduser()  # a folder called ~ is not what anybody wants
        if b"\0" in fsencode(found):  # or letters that no name can have
            raise ValueError
    except (TypeError, ValueError, RuntimeError) as error:
        raise FileError(
            "this is no path of a file", expected="a string or a Path", received=brief(value)
        ) from error
    return found


def listed(what: str, value: Any, expected: str = "a list of expressions") -> list[Any]:
    """The things in a list, if it is one; a set is none, since its order is not the user's."""
    try:
        if isinstance(value, str | bytes | set | frozenset):
            raise TypeError
        return list(value)
    except Exception as error:  # whatever __iter__ of somebody's own raises
        raise InputError(
            f"{what} cannot be read", expected=expected, received=brief(value)
        ) from error


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


class ToleranceError(TautError):
    """A tolerance that no step was found to meet; ``error.partial`` holds the nearest run.

    Attributes
    ----------
    error : float
        What was measured where the tolerance was asked for.
    """

    def __init__(self, what: str, *, error: float, **text: Any) -> None:
        super().__init__(what, **text)
        self.error = error


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
    """Ctrl-C or SIGTERM during a run; ``error.partial`` holds the run so far, None before steps.

    Attributes
    ----------
    signal : int
        ``signal.SIGINT`` or ``signal.SIGTERM``.
    """

    signal: int = SIGINT


class ProgressError(TautError):
    """A function given as ``progress=`` that failed; ``error.partial`` holds the run so far."""


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


def warn(warning: Warning) -> None:
    """Warn where taut was called: at the first line on the way there that is not its own."""
    frame, level = currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith("taut."):
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)
