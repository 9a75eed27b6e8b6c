"""Joints as constraints in places P and directions of two sides, a and b.

With the axis e of a joint, u and w at right angles to it, and Δ = P_b − P_a,

| joint       | equations                                     | takes away |
|-------------|-----------------------------------------------|------------|
| rod         | (|P_a − P_b|² − l²)/(2 l)                     | 1          |
| spherical   | P_a − P_b                                     | 3          |
| universal   | P_a − P_b, u_a·w_b                            | 4          |
| revolute    | P_a − P_b, u_a·e_b, w_a·e_b                   | 5          |
| fixed       | P_a − P_b, u_a·w_b, w_a·e_b, e_a·u_b          | 6          |
| cylindrical | u_a·e_b, w_a·e_b, u_a·Δ, w_a·Δ                | 4          |
| prismatic   | u_a·w_b, w_a·e_b, e_a·u_b, u_a·Δ, w_a·Δ        | 5          |
| planar      | u_a·e_b, w_a·e_b, e_a·Δ                       | 3          |
| track       | u_a·e_b, w_a·e_b, e_a·Δ, w_a·Δ                | 4          |

All are polynomials of degree two (but for plates, whose third axis is a product).  The multiplier
of a row is a force or a torque: that of the rod is its pull, those of P_a − P_b are the components
of the force that acts on b.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import sympy as sp

from taut.errors import ModelError
from taut.model.mechanism.library import Piece, Written
from taut.model.mechanism.parts import Part
from taut.model.mechanism.shapes import Side, dot, minus
from taut.portable import norm, product


@dataclass(frozen=True)
class Kind:
    """A kind of joint.

    Attributes
    ----------
    places, first, second : int, str, str
        Whether it has places; which of the directions u, w, e (at right angles) each side holds.
    rows : (sides, constants) → list of Expr
    """

    first: str
    second: str
    rows: Callable[..., list[sp.Expr]]
    length: bool = False


def _point(pa, pb) -> list[sp.Expr]:
    return list(minus(pa, pb))


def _rod(pa, pb, a, b, length) -> list[sp.Expr]:
    apart = minus(pa, pb)
    return [(dot(apart, apart) - length**2) / (2 * length)]


def _locked(a, b) -> list[sp.Expr]:
    return [dot(a["u"], b["w"]), dot(a["w"], b["e"]), dot(a["e"], b["u"])]


def _aligned(a, b) -> list[sp.Expr]:
    return [dot(a["u"], b["e"]), dot(a["w"], b["e"])]


def _kept_on_axis(pa, pb, a) -> list[sp.Expr]:
    apart = minus(pb, pa)
    return [dot(a["u"], apart), dot(a["w"], apart)]


KINDS: dict[str, Kind] = {
    "rod": Kind("", "", _rod, length=True),
    "spherical": Kind("", "", lambda pa, pb, a, b: _point(pa, pb)),
    "universal": Kind("u", "w", lambda pa, pb, a, b: [*_point(pa, pb), dot(a["u"], b["w"])]),
    "revolute": Kind("uw", "e", lambda pa, pb, a, b: [*_point(pa, pb), *_aligned(a, b)]),
    "fixed": Kind("uwe", "uwe", lambda pa, pb, a, b: [*_point(pa, pb), *_locked(a, b)]),
    "cylindrical": Kind(
        "uw", "e", lambda pa, pb, a, b: [*_aligned(a, b), *_kept_on_axis(pa, pb, a)]
    ),
    "prismatic": Kind(
        "uwe", "uwe", lambda pa, pb, a, b: [*_locked(a, b), *_kept_on_axis(pa, pb, a)]
    ),
    "track": Kind(
        "uwe",
        "e",
        lambda pa, pb, a, b: [
            *_aligned(a, b),
            dot(a["e"], minus(pb, pa)),
            dot(a["w"], minus(pb, pa)),
        ],
    ),
    "planar": Kind("uwe", "e", lambda pa, pb, a, b: [*_aligned(a, b), dot(a["e"], minus(pb, pa))]),
}


@dataclass(frozen=True)
class Track:
    """A curve c(s) whose parameter is a coordinate of its own."""

    place: Part
    curve: tuple[sp.Expr, ...]
    symbol: sp.Symbol

    def slopes(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """c′ and c″, shapes (N, 3)."""
        first = [e.diff(self.symbol) for e in self.curve]
        found = []
        for row in (first, [e.diff(self.symbol) for e in first]):
            values = (sp.lambdify(self.symbol, e, "numpy")(s) for e in row)
            found.append(np.stack([np.broadcast_to(x, s.shape) for x in values], axis=-1))
        return found[0], found[1]


@dataclass(frozen=True, eq=False)
class Joint:
    """What holds two parts together.

    Attributes
    ----------
    name, kind : str
    a, b : Part
    at : ndarray, shape (2, 3)
        Its places on both, in space at the start.
    pieces : list of Piece
        Its terms.
    triad : dict
        Directions u, w and the axis e of the first part, in space at the start.
    other : dict
        Those of the second part that they are to meet; the same if the parts are in place.
    angle : str
        The coordinate that is its angle, if it has one.
    counter : Part
        The part that is that coordinate.
    track : Track
        The curve that it holds a place on, if that has a parameter.
    """

    name: str
    kind: str
    a: Part
    b: Part
    at: np.ndarray
    pieces: list[Piece]
    triad: dict[str, np.ndarray] = field(default_factory=dict)
    other: dict[str, np.ndarray] = field(default_factory=dict)
    angle: str = ""
    counter: Part | None = None
    track: Track | None = None

    @property
    def counting(self) -> str:
        """The name of the constraint that makes a coordinate its angle."""
        return f"{self.name} angle"

    @property
    def lent(self) -> float:
        """The inertia μ that was moved to a coordinate of its own."""
        return float(sum(x.values[-1] for x in self.pieces if x.kind == "lagrangian"))

    @property
    def title(self) -> str:
        """What it is, for messages; one that was given no name is known by its parts."""
        if re.fullmatch(r"joint \d+", self.name):
            return f"{self.kind} {self.name} of {self.a.name} and {self.b.name}"
        return f"{self.kind} joint {self.name}"

    @property
    def rows(self) -> list[str]:
        """Names of its constraints."""
        return [name for piece in self.pieces for name in piece.names]

    def __repr__(self) -> str:
        return f"<{self.kind} joint {self.name!r} of {self.a.name} and {self.b.name}>"


def numbered(name: str, count: int) -> tuple[str, ...]:
    """Names of the rows of a joint."""
    return tuple(f"{name} {k + 1}" for k in range(count)) if count > 1 else (name,)


_WRITTEN: dict[tuple[str, str, str], Written] = {}  # the same in all mechanisms


def written(kind: str, a: Part, b: Part) -> Written:
    """The rows of a joint between parts of these shapes."""
    key = (kind, a.shape.name, b.shape.name)
    if key not in _WRITTEN:
        sides = Side(a.shape, "a"), Side(b.shape, "b")
        rows, own = expressions(kind, *sides)
        _WRITTEN[key] = (
            [*sides[0].coordinates, *sides[1].coordinates],
            [*sides[0].rates, *sides[1].rates],
            [*sides[0].constants, *sides[1].constants, *own],
            rows,
        )
    return _WRITTEN[key]


def expressions(kind: str, a: Side, b: Side) -> tuple[list[sp.Expr], tuple[sp.Symbol, ...]]:
    """The rows of a joint in the symbols of both sides, and its own constants."""
    what = KINDS[kind]
    pa, pb = a.place(), b.place()
    first = {letter: a.vector() for letter in what.first}
    second = {letter: b.vector() for letter in what.second}
    if what.length:
        length = sp.Symbol("length", positive=True)
        return what.rows(pa, pb, first, second, length), (length,)
    return what.rows(pa, pb, first, second), ()


def triad(axis: np.ndarray, across: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Directions u, w, e at right angles, e along an axis, u along `across` if it is given."""
    aside = np.eye(3)[int(np.argmin(np.abs(axis)))] if across is None else across
    u = aside - product(aside, axis) * axis
    size = float(norm(u))
    if size < 1e-12:
        raise ModelError(
            "two axes of a joint are parallel", expected="axes at right angles to each other"
        )
    u = u / size
    return {"u": u, "w": np.cross(axis, u), "e": axis}


def tilted(held: dict[str, np.ndarray], axis: np.ndarray) -> dict[str, np.ndarray]:
    """The same directions after the least turn that takes e to another axis.

    It is two reflections, across e (which leaves u) and across m = e + axis.
    """
    middle = held["e"] + axis
    size = float(norm(middle))
    if size < 1e-9:  # half a turn about u
        return triad(axis, held["u"])
    middle /= size
    return triad(axis, held["u"] - 2 * product(middle, held["u"]) * middle)
