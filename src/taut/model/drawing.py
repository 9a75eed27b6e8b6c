"""`Drawing`: how a system looks.  Points as expressions of its coordinates, and what joins them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import sympy as sp

from taut.calls import public
from taut.errors import InputError, ModelError, UnknownName, brief, listed, word
from taut.model.symbols import scalar

if TYPE_CHECKING:
    from taut.model.system import System

LOOKS = ("rod", "spring", "line")
AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Link:
    """What joins two points.

    Attributes
    ----------
    start, end : str
        Names of the points.
    look : "rod", "spring" or "line"
    """

    start: str
    end: str
    look: str = "rod"


@dataclass(frozen=True)
class Curve:
    """A line that stands in space: a track, a circle.

    Attributes
    ----------
    places : tuple of Expr
        Of `symbol` and of parameters.
    symbol : Symbol
    first, last : float
        What it runs through.
    """

    places: tuple[sp.Expr, ...]
    symbol: sp.Symbol
    first: float
    last: float


@public
class Drawing:
    """How a system is drawn in plots, reports and animations.

    Parameters
    ----------
    points : mapping name → (x, y) or (x, y, z)
        Numbers, or expressions of coordinates, parameters and t; all in the plane or all in space.
        A point that does not move is where something is held.
    links : sequence of (name, name) or (name, name, look)
        What joins two points: a "rod" if nothing is said, a "spring", or a "line".
    trails : sequence of names, optional
        Points that leave a trail; without it those that move, if they are at most four, and the
        last one of more.
    curves : sequence of ((x, y[, z]), (symbol, first, last))
        Lines that stand in space, as expressions of the symbol and of parameters.
    down : "x", "y", "z" or None, optional
        The axis that points down in a picture; without it the one along which a uniform force
        such as gravity pulls.  None turns nothing round.

    Examples
    --------
    A pendulum in its angle:

    >>> import sympy as sp, taut
    >>> (angle,) = taut.coordinates("theta,")
    >>> bob = (sp.sin(angle), -sp.cos(angle))
    >>> drawing = taut.Drawing({"pivot": (0, 0), "bob": bob}, links=[("pivot", "bob")])
    >>> taut.System([angle], mass=1, potential=-sp.cos(angle), drawing=drawing).drawing
    Drawing: 2 points in the plane, 1 link
    """

    def __init__(
        self,
        points: Mapping[str, Iterable[Any]],
        links: Iterable[Any] = (),
        *,
        trails: Iterable[str] | None = None,
        curves: Iterable[Any] = (),
        down: str | None = "auto",
    ) -> None:
        self.points = _points(points)
        self.links = tuple(self._link(given) for given in _several("links", links))
        self.curves = tuple(self._curve(given) for given in _several("curves", curves))
        self.trails = None if trails is None else tuple(_several("trails", trails))
        for name in self.trails or ():
            self._check_name(name, "a trail")
        axes = ("auto", *AXES[: self.dimension])
        if down is not None and not (isinstance(down, str) and down in axes):
            raise ModelError(
                "down is not an axis of this drawing",
                expected="one of " + ", ".join([*AXES[: self.dimension], "auto", "None"]),
                received=brief(down),
            )
        self.down = down

    @property
    def dimension(self) -> int:
        """2 in the plane, 3 in space."""
        return len(next(iter(self.points.values())))

    @property
    def names(self) -> tuple[str, ...]:
        """Of the points."""
        return tuple(self.points)

    def read(self, system: System) -> Drawing:
        """The same drawing in the symbols of a system; what it does not know is an error."""
        if not hasattr(system, "parameters") or not hasattr(system, "read"):
            raise InputError(
                "a drawing is read by a system", expected="a taut.System", received=brief(system)
            )
        made = object.__new__(Drawing)
        made.__dict__.update(self.__dict__)
        made.points = {
            name: tuple(system.read(e, f"point {name} of the drawing") for e in place)
            for name, place in self.points.items()
        }
        own = {name: sp.Symbol(name, real=True) for name in system.parameters}
        made.curves = tuple(_read_curve(curve, own) for curve in self.curves)
        return made

    def _check_name(self, name: Any, what: str) -> None:
        if not isinstance(name, str) or name not in self.points:
            raise UnknownName("point", name, self.points, f"{what} joins points of the drawing")

    def _link(self, given: Any) -> Link:
        parts = [given] if isinstance(given, str) else _several("a link", given)
        if not 2 <= len(parts) <= 3:
            raise ModelError(
                "a link cannot be read",
                expected='two names of points and perhaps a look, as in ("a", "b", "spring")',
                received=brief(given),
            )
        for name in parts[:2]:
            self._check_name(name, "a link")
        look = parts[2] if len(parts) == 3 else "rod"
        word("look of a link", look, LOOKS)
        return Link(parts[0], parts[1], look)

    def _curve(self, given: Any) -> Curve:
        try:
            places, (symbol, first, last) = given
            places = tuple(scalar(e, "a curve of the drawing") for e in places)
            ends = float(first), float(last)
        except (TypeError, ValueError) as error:
            raise ModelError(
                "a curve cannot be read",
                expected="((x, y[, z]), (symbol, first, last))",
                received=brief(given),
            ) from error
        if not all(map(isfinite, ends)):
            raise ModelError(
                "the ends of a curve are not finite", expected="numbers", received=brief(given)
            )
        if len(places) != self.dimension or not isinstance(symbol, sp.Symbol):
            raise ModelError(
                "a curve does not fit the drawing",
                expected=f"{self.dimension} expressions of a symbol",
                received=brief(given),
            )
        return Curve(places, symbol, *ends)

    def __repr__(self) -> str:
        where = "in the plane" if self.dimension == 2 else "in space"
        parts = [_counted(len(self.points), "point") + f" {where}"]
        for many, what in ((len(self.links), "link"), (len(self.curves), "curve")):
            if many:
                parts.append(_counted(many, what))
        return "Drawing: " + ", ".join(parts)


def _counted(many: int, what: str) -> str:
    return f"{many} {what}{'s' * (many != 1)}"


def _several(what: str, given: Any) -> list[Any]:
    try:
        return listed(what, given, "a list")
    except InputError as error:
        raise ModelError(error.what, expected=error.expected, received=error.received) from None


def _points(given: Any) -> dict[str, tuple[sp.Expr, ...]]:
    if not isinstance(given, Mapping) or not given:
        raise ModelError(
            "a drawing needs points",
            expected='names and places, as in {"bob": (x, y)}',
            received=brief(given),
        )
    made = {}
    for name, place in given.items():
        if not isinstance(name, str):
            raise ModelError("a point needs a name", expected="a string", received=brief(name))
        parts = _several(f"point {name}", place)
        made[name] = tuple(scalar(e, f"point {name} of the drawing") for e in parts)
    sizes = sorted({len(place) for place in made.values()})
    if sizes not in ([2], [3]):
        raise ModelError(
            "the points of a drawing do not fit each other",
            expected="(x, y) for every point, or (x, y, z) for every point",
            received=f"places of {' and '.join(map(str, sizes))} components",
        )
    return made


def _read_curve(curve: Curve, own: dict[str, sp.Symbol]) -> Curve:
    """A curve with the system's parameters; other symbols are errors."""
    table = {}
    for symbol in set().union(*(e.free_symbols for e in curve.places)) - {curve.symbol}:
        if symbol.name not in own:
            raise ModelError(
                f"a curve of the drawing contains {symbol}, which the system does not know",
                expected=f"{curve.symbol} and parameters",
            )
        table[symbol] = own[symbol.name]
    places = tuple(e.xreplace(table) for e in curve.places)
    return Curve(places, curve.symbol, curve.first, curve.last)


def drawing_of(given: Any, system: System) -> Drawing | None:
    """What `drawing=` of a system may be, read."""
    if given is None:
        return None
    if not isinstance(given, Drawing):
        raise ModelError(
            "drawing= is no drawing",
            expected='taut.Drawing({"bob": (x, y)}, links=[…])',
            received=brief(given),
        )
    return given.read(system)
