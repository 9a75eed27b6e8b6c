"""How the ends of a beam are held.

A held end keeps some velocities at zero.  In the local frame of the end (tangent second), with
ζ = (ω, v), the names leave free

    free      all of ζ
    clamped   nothing
    pinned    ω
    hinged    ω along an axis
    sliding   v along an axis; no rotation
    roller    ω, and v along an axis (or in a plane) that is fixed in space

The axis is given in space; without one it is the tangent of the reference shape for sliding ends
and rollers, and local axis 3 for hinges.  A clamped or pinned end may be moved: its position and,
if clamped, its rotation are given as functions of time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from taut.calls import public
from taut.errors import InputError, ModelError, brief, listed, word
from taut.model.symbols import Vocabulary, t
from taut.portable import norm

KINDS = ("free", "clamped", "pinned", "hinged", "sliding", "roller")
WITH_AXIS = ("hinged", "sliding", "roller")
MOVED = ("clamped", "pinned")
UNIT = 4e-16  # from one: a vector that has been divided by its length before
DEFAULT_AXIS = {"hinged": 2, "sliding": 1, "roller": 1}


@public
@dataclass(frozen=True)
class End:
    """A held end.

    Parameters
    ----------
    kind : str
        "free", "clamped", "pinned", "hinged", "sliding" or "roller".
    axis : (3,) array_like, optional
        Of a hinge, of sliding, of a roller, in space.
    position : three expressions of t, optional
        Where a moved end is, relative to where it starts: all zero at the start.
    rotation : three expressions of t, optional
        The rotation vector, in space, of a moved clamped end relative to how it starts.

    Examples
    --------
    >>> import taut
    >>> taut.End("clamped", position=(0, 0, taut.t**2)).moved
    True
    """

    kind: str
    axis: Any = None
    position: Any = None
    rotation: Any = None

    def __post_init__(self) -> None:
        word("end", self.kind, KINDS)
        if self.axis is not None:
            if self.kind not in WITH_AXIS:
                raise InputError(
                    f"a {self.kind} end has no axis", expected="an axis for " + ", ".join(WITH_AXIS)
                )
            object.__setattr__(self, "axis", direction("the axis of an end", self.axis))
        for name in ("position", "rotation"):
            given = getattr(self, name)
            if given is None:
                continue
            if self.kind not in MOVED or (name == "rotation" and self.kind != "clamped"):
                raise InputError(
                    f"a {self.kind} end cannot be given a {name}",
                    expected="position and rotation of a clamped end, or position of a pinned one",
                    remedy="forces move free ends: beam.load(…)",
                )
            object.__setattr__(self, name, functions_of_time(f"the {name} of an end", given))

    @property
    def moved(self) -> bool:
        return self.position is not None or self.rotation is not None

    def __hash__(self) -> int:
        return hash((self.kind, str(self.axis), self.position, self.rotation))


def end_of(given: Any) -> End:
    """An end by name, or as it is."""
    if isinstance(given, End):
        return given
    if isinstance(given, str):
        return End(given)
    raise InputError(
        "an end cannot be read",
        expected="one of " + ", ".join(KINDS) + ", or a taut.End",
        received=brief(given),
    )


def direction(what: str, given: Any) -> np.ndarray:
    """A unit vector."""
    vector = triple(what, given)
    size = float(norm(vector))
    if size == 0:
        raise InputError(f"{what} has no direction", expected="a vector that is not zero")
    return vector if abs(size - 1) <= UNIT else vector / size


def triple(what: str, given: Any) -> np.ndarray:
    """Three finite numbers."""
    try:
        found = real_array(given)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{what} cannot be read", expected="3 numbers", received=brief(given)
        ) from error
    if found.shape != (3,) or not np.all(np.isfinite(found)):
        raise InputError(
            f"{what} cannot be read", expected="3 finite numbers", received=brief(given)
        )
    return found


def real_array(given: Any) -> np.ndarray:
    """An array of numbers; what is complex, a text, or too large is a TypeError."""
    try:
        if np.iscomplexobj(given) or np.asarray(given).dtype.kind in "USMmb":
            raise TypeError("no numbers")
        return np.array(given, dtype=float)
    except ValueError:  # rows of different lengths
        raise
    except Exception as error:  # too large, or whatever __array__ of somebody's own raises
        raise TypeError("no numbers") from error


def functions_of_time(what: str, given: Any, *others: sp.Symbol) -> tuple[sp.Expr, ...]:
    """Three expressions of t (and of `others`)."""
    entries = listed(what, given, "3 expressions of t")
    if len(entries) != 3:
        raise InputError(
            f"{what} cannot be read", expected="3 expressions of t", received=brief(given)
        )
    words, known = Vocabulary(others), " and ".join(["t", *map(str, others)])
    try:
        return tuple(words.read(x, what) for x in entries)
    except ModelError as error:
        along = not others and any(re.search(r"\bs\b", str(x)) for x in entries)
        raise ModelError(
            f"{what} cannot be read: {error.what.removesuffix(', which the system does not know')}",
            expected=f"numbers, or expressions of {known} (taut.t is the time)",
            received=brief(given),
            remedy='at="all" spreads a load along the beam; then it may depend on taut.s'
            if along
            else "put numbers in the place of parameters",
        ) from None


__all__ = ["End", "direction", "end_of", "functions_of_time", "real_array", "t", "triple"]
