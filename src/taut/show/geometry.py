"""What can be drawn of a system: points, and the rods that its constraints describe."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import sympy as sp

from taut.model.drawing import Drawing
from taut.model.mechanism.forces import Acting
from taut.model.mechanism.shapes import GROUND, POINT
from taut.model.symbols import t
from taut.model.system import System
from taut.model.terms import Term

FEW = 4  # points that are joined and whose paths are told apart
CROWD = 100  # points whose paths are lines and not a cloud
_AXIS = re.compile(r"([xyz])_?(\w*)")


@dataclass(frozen=True)
class Point:
    """Coordinates that are the position of one thing.

    Attributes
    ----------
    name : str
        What follows the letters x, y, z: ``"1"`` for x1, y1; empty for x, y.
    columns : tuple of int
        Which coordinates x, y (and z) are.
    """

    name: str
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Rod:
    """A fixed distance between a point and another one, or a place in space.

    Attributes
    ----------
    start : int
        Number of the point.
    end : int or tuple
        Number of the other point, or where the rod is held: expressions of parameters and t.
    """

    start: int
    end: int | tuple[Any, ...]


def points_of(system: System) -> list[Point]:
    """Points among the coordinates: x1, y1[, z1], x_a, y_a …; all in space, or all in a plane.

    Of a mechanism the centres of its parts; nodes of beams where there is nothing else.
    """
    if system.mechanism is not None:
        parts = list(system.mechanism.parts.values())
        solid = [x for x in parts if "beam" not in x.looks] or parts
        return [Point(x.name, (x.first, x.first + 1, x.first + 2)) for x in solid]
    named: dict[str, dict[str, int]] = {}
    for i, symbol in enumerate(system.coordinates):
        match = _AXIS.fullmatch(symbol.name)
        if match:
            named.setdefault(match[2], {})[match[1]] = i
    for axes in ("xyz", "xy"):
        found = [
            Point(name, tuple(columns[a] for a in axes))
            for name, columns in named.items()
            if set(columns) >= set(axes)
        ]
        if found:
            return found
    return []


def down_of(system: System, points: list[Point], parameters: Mapping[str, float]) -> str | None:
    """The axis along which a uniform force, positive on every point, pulls; None without one."""
    if system.mechanism is not None:
        along = np.flatnonzero(system.mechanism.gravity)
        only = len(along) == 1 and system.mechanism.gravity[along[0]] > 0
        return "xyz"[along[0]] if only else None
    force: list[Any] = [sp.Integer(0)] * system.n
    for term in system.terms:
        if term.kind in ("lagrangian", "hamiltonian"):
            sign = 1 if term.kind == "lagrangian" else -1
            energy = term.expressions[0].subs({**dict.fromkeys(term.rates, 0), t: 0})
            energy = energy.xreplace(_values(energy, parameters))
            slopes = [sign * energy.diff(s) for s in term.coordinates]
            for row, constants in zip(term.indices, term.values, strict=True):
                own = dict(zip(term.constants, constants, strict=True))
                for column, slope in zip(row, slopes, strict=True):
                    force[column] += slope.subs(own) if own else slope
    columns = [c for p in points for c in p.columns]
    if not columns or not all(force[c].is_number for c in columns):
        return None
    pull = np.array([[float(force[c]) for c in p.columns] for p in points])
    along = [a for a in range(pull.shape[1]) if pull[:, a].any()]
    return "xyz"[along[0]] if len(along) == 1 and (pull[:, along[0]] > 0).all() else None


def _values(expression: sp.Expr, parameters: Mapping[str, float]) -> dict[sp.Basic, sp.Float]:
    named = {s: s.name for s in expression.free_symbols if isinstance(s, sp.Symbol)}
    return {s: sp.Float(parameters[name]) for s, name in named.items() if name in parameters}


def drawing_of(system: System) -> Drawing | None:
    """The drawing that a system carries, or one of its points and rods; None if it has none."""
    if system.drawing is not None:
        return system.drawing
    places = points_of(system)
    q = system.coordinates
    if not places:
        if system.first_order and system.n in (2, 3):
            return Drawing({"state": q}, down=None)
        return None
    names = [place.name or "point" for place in places]
    points: dict[str, Any] = {
        name: tuple(q[c] for c in place.columns) for name, place in zip(names, places, strict=True)
    }
    links, held = [], {}
    for rod in rods_of(system, places):
        if not isinstance(rod.end, tuple):
            links.append((names[rod.start], names[rod.end]))
            continue
        if rod.end not in held:
            held[rod.end] = _new_name("ground", points)
            points[held[rod.end]] = rod.end
        links.append((held[rod.end], names[rod.start]))
    return Drawing(points, links).read(system)


def _new_name(name: str, taken: Mapping[str, Any]) -> str:
    return next(n for k in count(1) if (n := name if k == 1 else f"{name} {k}") not in taken)


def rods_of(system: System, points: list[Point]) -> list[Rod]:
    """Rods among the constraints: a (|r − r₀|² − l²) = 0 or a (|r₁ − r₂|² − l²) = 0."""
    if system.mechanism is not None:
        return list(_rods_of_mechanism(system.mechanism, points))
    owner = {column: (k, a) for k, p in enumerate(points) for a, column in enumerate(p.columns)}
    found: list[Rod] = []
    for term in system.terms:
        if term.kind == "constraint":
            for expression in term.expressions:
                found += _rods(term, expression, owner, points)
    return found


def _rods_of_mechanism(mechanism: Any, points: list[Point]) -> Iterator[Rod]:
    """Those of its rods that hold point masses, to each other or to the ground."""
    number = {point.name: k for k, point in enumerate(points)}
    for joint in mechanism.joints.values():
        if joint.kind != "rod":
            continue
        sides = [(x, at) for x, at in zip((joint.a, joint.b), joint.at, strict=True)]
        ends = [number[x.name] for x, _ in sides if x.shape is POINT]
        held = [tuple(float(c) for c in at) for x, at in sides if x.shape is GROUND]
        if len(ends) == 2:
            yield Rod(ends[0], ends[1])
        elif ends and held:
            yield Rod(ends[0], held[0])


def _rods(term: Term, expression: sp.Expr, owner: dict, points: list[Point]) -> Iterator[Rod]:
    used = [k for k, s in enumerate(term.coordinates) if s in expression.free_symbols]
    symbols = [term.coordinates[k] for k in used]
    square = _square(expression, symbols)
    if square is None:
        return
    matrix, centre = square
    for row, constants in zip(term.indices, term.values, strict=True):
        at = [owner.get(int(row[k])) for k in used]
        if None in at:
            continue
        members = sorted({k for k, _ in at})  # type: ignore[misc]
        size = len(points[members[0]].columns)
        if len(used) != size * len(members):
            continue
        order = [at.index((k, a)) for k in members for a in range(size)]
        shape = matrix[np.ix_(order, order)]
        if len(members) == 1 and np.array_equal(shape, np.eye(size)):
            table = dict(zip(term.constants, map(float, constants), strict=True))
            held = [sp.sympify(centre[i]).subs(table) for i in order]
            if not any(x.free_symbols & set(term.coordinates) for x in held):
                yield Rod(members[0], tuple(held))
        elif len(members) == 2 and not any(centre):
            eye = np.eye(size)
            if np.array_equal(shape, np.block([[eye, -eye], [-eye, eye]])):
                yield Rod(members[0], members[1])


def _square(expression: sp.Expr, symbols: list[sp.Symbol]) -> tuple[np.ndarray, list[Any]] | None:
    """A and b of a·(xᵀA x − 2 bᵀx + const) with A₁₁ = 1; None for anything else."""
    if not symbols or not expression.is_polynomial(*symbols):
        return None
    poly = sp.Poly(expression, *symbols)
    if poly.total_degree() != 2:
        return None
    n = len(symbols)
    unit = poly.coeff_monomial(symbols[0] ** 2)
    matrix, linear = np.zeros((n, n)), [sp.Integer(0)] * n
    for powers, coefficient in poly.terms():
        at = [i for i, k in enumerate(powers) for _ in range(k)]
        ratio = coefficient / unit if unit != 0 else sp.nan
        if len(at) == 2:
            if not ratio.is_number or ratio is sp.nan:
                return None
            matrix[at[0], at[1]] += float(ratio) / 2
            matrix[at[1], at[0]] += float(ratio) / 2
        elif len(at) == 1:
            linear[at[0]] = -ratio / 2
    return matrix, linear


def linked(system: System) -> bool:
    """Whether rods, joints or springs hold points that move to each other."""
    mechanism = system.mechanism
    if mechanism is None:
        drawing = drawing_of(system)
        rods = drawing.links if drawing is not None else ()
        places = drawing.points.items() if drawing is not None else ()
        moving = {name for name, place in places if _free(place) & {*system.coordinates}}
        return any(x.start in moving and x.end in moving for x in rods)
    acting = (x for x in mechanism.forces.values() if isinstance(x, Acting))
    drawn = [x.measure for x in acting if x.ends is not None]
    return any(x.a.shape.size and x.b.shape.size for x in (*mechanism.joints.values(), *drawn))


def _free(place: Iterable[Any]) -> set[Any]:
    return set().union(*(e.free_symbols for e in place))


def trails_of(many: int, joined: bool) -> list[int]:
    """Numbers of the points whose paths are drawn: of many that are joined the last one alone.

    A chain is told by its shape; what moves by itself, by its path.
    """
    whole = many <= FEW or (not joined and many <= CROWD)
    return list(range(many)) if whole else [many - 1]
