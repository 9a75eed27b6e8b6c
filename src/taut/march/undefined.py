"""Which forces and joints of a mechanism have no value in a state: names for what is not finite.

The distance s = |Δ| of two places has no slope where it is zero: what pushes or pulls along it has
no direction there, unless its energy is a smooth function of s².
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy as sp

from taut.errors import InputError
from taut.model.mechanism import Mechanism
from taut.model.mechanism.forces import Acting
from taut.model.mechanism.library import Piece
from taut.model.symbols import t as time

LISTED = 4  # names


def check_defined(mechanism: Mechanism, q: np.ndarray, v: np.ndarray, t: float) -> None:
    """An `InputError` with the names of forces and joints that are not finite in a state."""
    held = [*mechanism.forces.values(), *mechanism.joints.values()]
    wrong = [x for x in held if not all(_finite(piece, q, v, t) for piece in x.pieces)]
    if not wrong:
        return
    shrunk = [x for x in wrong if isinstance(x, Acting) and _length(x, q) == 0.0]
    found = shrunk or wrong
    names = ", ".join(x.name for x in found[:LISTED]) + (" …" if len(found) > LISTED else "")
    if shrunk:
        raise InputError(
            f"{names} {'has' if len(found) == 1 else 'have'} no length where the mechanism is: "
            "the direction of the force is 0/0",
            expected="two places that are apart",
            remedy="ends=(place, place), or other places of the parts; a spring with length=0 and "
            "without damping may begin there",
        )
    raise InputError(
        f"{names} {'is' if len(found) == 1 else 'are'} not finite where the mechanism is",
        expected="energies, forces and equations that are numbers there, and so are their slopes",
        remedy="look for roots and quotients of what is zero there",
    )


def _length(force: Acting, q: np.ndarray) -> float:
    """The distance that it acts on; 1 where it acts on something else."""
    if force.measure.kind != "length":
        return 1.0
    a, b, length = force.measure.sides()
    values = dict(zip((*a.constants, *b.constants), force.measure.values, strict=True))
    where = [*force.measure.a.indices, *force.measure.b.indices]
    places = dict(zip((*a.coordinates, *b.coordinates), q[where], strict=True))
    return float(length.xreplace(values | places))


def _finite(piece: Piece, q: np.ndarray, v: np.ndarray, t: float) -> bool:
    """Whether what a piece is made of, and its slopes, are numbers."""
    where = list(piece.indices)
    coordinates, rates, constants, rows = piece.write()
    written = [*coordinates, *rates, *constants, time]
    given = [*q[where], *v[where], *piece.values, t]
    slopes = [e.diff(x) for e in rows for x in coordinates] if piece.kind != "force" else []
    values = dict(zip(written, given, strict=False))
    with np.errstate(all="ignore"):
        return all(np.isfinite(x) for x in _numbers([*rows, *slopes], values))


def _numbers(expressions: list[sp.Expr], values: dict[sp.Symbol, Any]) -> Iterator[float]:
    """With what is not given (what controllers say) as zero."""
    free = sorted(set().union(*(e.free_symbols for e in expressions)), key=str)
    function = sp.lambdify(free, expressions, "numpy")
    found = function(*(np.float64(values.get(x, 0.0)) for x in free))
    return (float(np.real(x)) for x in found)
