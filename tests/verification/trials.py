"""The problems of the catalogue, stated in other ways: the same motion, so the same verdicts.

A way of stating it is a `Way`: units of length, mass and time, a rotation, a shift, and the order
of coordinates and parts.  In new coordinates Q and time T

    q = Rᵀ(Q − a)/λ,    t = T/τ,    L′ = μ λ²/τ² L,    f′ = μ λ/τ² R f,    g′ = λ² g

for systems that are written down; mechanisms are built again from what they were told, with other
numbers.  What is compared is every verdict of the certificate: its figures are not, but for
percentages, which a change of units, axes or order must leave where they are.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp

import taut
from taut.methods import Adaptive, Method, method_of
from taut.model.mechanism import Mechanism
from taut.model.system import System
from taut.problems import Problem, problem

STEPS = 400  # of a trial, at most
AWAY = 10**6  # of their lengths: as far as things are moved
PLANE = sp.Matrix([[3, -4], [4, 3]]) / 5
SPACE = sp.Matrix([[2, -1, 2], [2, 2, -1], [-1, 2, 2]]) / 3
# Problems in space whose coordinates are written down; others of those are in a plane.
IN_SPACE = (
    "spherical-pendulum", "zg-spherical", "zg-spherical-printed", "zg-spatial",
    "zg-spatial-printed", "kepler-sphere",
)  # fmt: skip


@dataclass(frozen=True)
class Way:
    """How a problem is stated; see the module."""

    length: sp.Rational = sp.S.One
    mass: sp.Rational = sp.S.One
    time: sp.Rational = sp.S.One
    shift: int = 0  # along all axes
    turned: bool = False
    reversed: bool = False
    pace: float = 1.0  # step sizes, of those of the problem
    lanes: int = 0  # width of a batch of eight equal runs; none for 0

    @property
    def energy(self) -> sp.Expr:
        """The new unit of energy."""
        return self.mass * self.length**2 / self.time**2

    @property
    def alike(self) -> bool:
        """Whether the run is the same one but for rounding, and that no larger than it was."""
        return self.pace == 1.0 and not self.shift


MILLION, MILLIONTH = sp.Integer(10**6), sp.Rational(1, 10**6)
WAYS: dict[str, Way] = {
    "as it is": Way(),
    "length × 10⁶": Way(length=MILLION),
    "length × 10⁻⁶": Way(length=MILLIONTH),
    "mass × 10⁶": Way(mass=MILLION),
    "mass × 10⁻⁶": Way(mass=MILLIONTH),
    "time × 10⁶": Way(time=MILLION),
    "time × 10⁻⁶": Way(time=MILLIONTH),
    "moved by 10⁶": Way(shift=AWAY),
    "turned": Way(turned=True),
    "other order": Way(reversed=True),
    "step × 2": Way(pace=2.0),
    "step / 4": Way(pace=0.25),
    "lanes 1": Way(lanes=1),
    "lanes 2": Way(lanes=2),
    "lanes 4": Way(lanes=4),
    "lanes 8": Way(lanes=8),
}


def run_of(name: str, way: Way) -> taut.Trajectory:
    """A problem of the catalogue, run as this way states it."""
    given = problem(name)
    method = _method(given)
    if given.mechanism is not None:
        system: Any = rebuilt(given.mechanism, way).system()
        q0, v0 = system.mechanism.start()
    else:
        system, q0, v0, method = restated(given, way, method)
    time = float(way.time)
    if way.lanes:
        q0, v0 = (np.tile(x, (8, 1)) for x in (q0, v0))
    steps = min(round(given.duration / given.step), STEPS)
    with wide(way.lanes):
        return taut.simulate(
            system, q0=q0, v0=v0, t0=given.t0 * time, step=given.step * way.pace * time,
            duration=given.step * steps * time, method=method, parameters=given.parameters,
            project=given.project,
        )  # fmt: skip


def _method(given: Problem) -> Method:
    method = "rattle" if given.method == "auto" else given.method
    return method_of(method) if isinstance(method, str) else method


@contextmanager
def wide(lanes: int) -> Iterator[None]:
    """Batches in groups of so many trajectories, for a while."""
    before = os.environ.pop("TAUT_LANES", None)
    os.environ.update({"TAUT_LANES": str(lanes)} if lanes else {})
    try:
        yield
    finally:
        os.environ.pop("TAUT_LANES", None)
        os.environ.update({} if before is None else {"TAUT_LANES": before})


def apt(name: str, way: Way) -> bool:
    """Whether there is such a run: steps that vary are for one trajectory."""
    return not (way.lanes and _method(problem(name)).pace is not None)


# ---- systems that are written down ---------------------------------------------------------------


def restated(given: Problem, way: Way, method: Method) -> tuple:
    """(system, q0, v0, method) with other coordinates and another clock."""
    old = given.system
    n, wide = old.n, 3 if given.name in IN_SPACE else 2
    turn = sp.diag(*[_turn(way, wide)] * (n // wide))
    order = range(n)[::-1] if way.reversed else range(n)
    names = [old.coordinates[i].name for i in order]
    system_symbols = [sp.Symbol(x, real=True) for x in names]
    rates = taut.velocities(system_symbols)
    clock, a = taut.t / way.time, way.shift * way.length
    back, forth = [list(order).index(i) for i in range(n)], list(order)
    place = turn.T * (sp.Matrix([system_symbols[i] for i in back]) - a * sp.ones(n, 1)) / way.length
    speed = turn.T * sp.Matrix([rates[i] for i in back]) * way.time / way.length
    table = dict(zip(old.coordinates, place, strict=True))
    table |= dict(zip(old.velocities, speed, strict=True)) | {taut.t: clock}

    def restated_one(e: sp.Expr) -> sp.Expr:
        return e.xreplace(table)

    constraints = {
        x: way.length**2 * restated_one(g)
        for x, g in zip(old.constraint_names, old.constraints, strict=True)
    }
    if way.reversed:
        constraints = dict(reversed(constraints.items()))
    forces = None
    if old.forced:
        force = turn * sp.Matrix([restated_one(f) for f in old.forces])
        forces = [force[i] * way.energy / way.length for i in forth]
    system = System(
        system_symbols, lagrangian=way.energy * restated_one(old.energy_function),
        constraints=constraints, forces=forces, parameters=old.parameters,
    )  # fmt: skip
    if isinstance(method, Adaptive):
        method = replace(method, scale=restated_one(old.read(method.scale)))
    spin = np.array(turn, dtype=float)
    unit, time = float(way.length), float(way.time)
    q0 = unit * (spin @ np.array(given.q0)) + float(a)
    return system, q0[forth], (unit / time * (spin @ np.array(given.v0)))[forth], method


def _turn(way: Way, wide: int) -> sp.Matrix:
    return (PLANE if wide == 2 else SPACE) if way.turned else sp.eye(wide)


# ---- mechanisms ----------------------------------------------------------------------------------


def rebuilt(given: Mechanism, way: Way) -> Mechanism:
    """The same mechanism, told in another way."""
    return _Builder(given, way).built()


class _Builder:
    """Repeats what a mechanism was told."""

    def __init__(self, given: Mechanism, way: Way) -> None:
        self.given, self.way = given, way
        self.turn = np.array(_turn(way, 3), dtype=float)
        self.units = {
            "mass": way.mass, "inertia": way.mass * way.length**2, "length": way.length,
        }  # fmt: skip
        self.vectors = {
            "velocity": way.length / way.time, "angular_velocity": 1 / way.time, "axis": 1,
        }  # fmt: skip
        self.expressions: dict[str, Callable[[Any, Any], Any]] = {
            "surface": self._surface, "force": self._force, "energy": self._energy,
        }  # fmt: skip

    def built(self) -> Mechanism:
        """The mechanism."""
        way = self.way
        pull = float(way.length / way.time**2) * (self.turn @ self.given.gravity)
        made = Mechanism(gravity=tuple(pull))
        calls = [x for x in self.given.record.values() if x.verb != "look"]
        parts = [x for x in calls if x.verb in ("body", "point")]
        rest = [x for x in calls if x.verb not in ("body", "point")]
        if way.reversed:
            parts, rest = parts[::-1], rest[::-1]
        for call in (*parts, *rest):
            told = self._arguments(made, dict(call.arguments), call.verb == "body")
            verb, between = getattr(made, call.verb), told.pop("between", ())
            sides = [made.ground if x == "ground" else x for x in between]
            part = [told.pop("part")] if "part" in told else []
            if call.verb in ("on_surface", "force"):
                verb(*part, told.pop("surface", None) or told.pop("force"), name=call.name, **told)
            elif call.verb == "potential":
                verb(told.pop("energy"), name=call.name, **told)
            elif call.verb == "central":
                verb(*sides, name=call.name, **told)
            else:
                verb(call.name, *sides, *part, **told)
        return made

    def _arguments(self, made: Mechanism, told: dict[str, Any], body: bool) -> dict[str, Any]:
        """Numbers in other units, vectors turned, places moved."""
        if body and self.way.turned:
            told["rotation"] = self.turn @ _rotation(told.get("rotation", np.eye(3)))
        for name, value in told.items():
            if name in self.units:
                told[name] = (np.array(value) * float(self.units[name])).tolist()
            elif name in self.vectors:
                turned = self.turn @ np.array(value, dtype=float)
                told[name] = (float(self.vectors[name]) * turned).tolist()
            elif name in ("at", "ends"):
                told[name] = self._place(np.array(value, dtype=float)).tolist()
            elif name in self.expressions:
                told[name] = self.expressions[name](value, told)
        return told

    def _place(self, at: np.ndarray) -> np.ndarray:
        return float(self.way.length) * (at @ self.turn.T + self.way.shift)

    def _surface(self, value: sp.Expr, _: Any) -> sp.Expr:
        x = sp.Matrix(taut.coordinates("x y z"))
        way = self.way
        there = _turn(way, 3).T * (x / way.length - way.shift * sp.ones(3, 1))
        return way.length**2 * value.xreplace(dict(zip(x, there, strict=True)))

    def _table(self) -> dict[sp.Symbol, sp.Expr]:
        """Coordinates and velocities of all parts as functions of the new ones."""
        way, turn, table = self.way, _turn(self.way, 3), {}
        for part in self.given.parts.values():
            q, v = self.given.symbols(part)
            for k in range(0, len(q), 3):
                unit, shift = (way.length, way.shift) if k == 0 else (1, 0)
                place = turn.T * (sp.Matrix(q[k : k + 3]) / unit - shift * sp.ones(3, 1))
                table |= dict(zip(q[k : k + 3], place, strict=True))
                speed = turn.T * sp.Matrix(v[k : k + 3]) * way.time / unit
                table |= dict(zip(v[k : k + 3], speed, strict=True))
        return table

    def _force(self, value: Any, _: Any) -> list[sp.Expr]:
        force = sp.Matrix([sp.sympify(f).xreplace(self._table()) for f in value])
        return list(_turn(self.way, 3) * force * self.way.energy / self.way.length)

    def _energy(self, value: Any, _: Any) -> Any:
        way = self.way
        if callable(value) and not isinstance(value, sp.Expr):
            return lambda distance: way.energy * value(distance / way.length)
        return way.energy * sp.sympify(value).xreplace(self._table())


def _rotation(value: Any) -> np.ndarray:
    """A matrix, or a quaternion (w, x, y, z) as one."""
    value = np.array(value, dtype=float)
    if value.shape == (3, 3):
        return value
    w, *u = value / np.linalg.norm(value)
    u = np.array(u)
    return (w**2 - u @ u) * np.eye(3) + 2 * np.outer(u, u) + 2 * w * np.cross(np.eye(3), -u)


# ---- verdicts ------------------------------------------------------------------------------------


SHARE = re.compile(r"(\d[\d.]*(?:e[-+]\d+)?)(?= %)")
FIGURE = re.compile(r"(\d[\d.]*(?:e[-+]\d+)?)( %)?")
LOST = re.compile(r"; (#|\d+) digits? (is|are) lost far from the origin")
# Between the percentages of two runs that are alike: what rounding and steps that are looked at
# elsewhere may do, and less than an order of magnitude.
FACTOR = 3.0


def verdicts(run: Any) -> dict[str, Any]:
    """Row → verdict, its figures but percentages as #; of laws how often each is given.

    Laws have formulas that depend on coordinates.  That digits are lost far from the origin is said
    beside a verdict, and is none itself.
    """
    watched = getattr(run.certificate, "watched", ())  # of fields there are no laws
    laws = {w.name if len(w.name) <= 40 else w.name[:39] + "…" for w in watched}
    found: dict[str, Any] = {"laws": Counter()}
    for name, _, word in run.certificate.rows():
        word = FIGURE.sub(lambda x: x[0] if x[2] else "#", LOST.sub("", word))
        if name in laws:
            found["laws"][word] += 1
        elif name != "laws":  # where the search ended, which no verdict is
            found[name] = word
    return found


def differences(
    one: Mapping[str, Any], other: Mapping[str, Any], alike: bool = False
) -> Iterator[tuple[str, str, str]]:
    """(row, verdict of one, verdict of the other) where they are not the same.

    Of runs that are alike percentages are compared as well.
    """
    for row in dict.fromkeys([*one, *other]):
        mine, theirs = one.get(row, ""), other.get(row, "")
        if _masked(mine) != _masked(theirs) or (alike and not _near(mine, theirs)):
            yield row, _said(one.get(row, "no such row")), _said(other.get(row, "no such row"))


def _masked(word: Any) -> Any:
    """A verdict without any figure."""
    return SHARE.sub("#", word) if isinstance(word, str) else word


def _near(one: Any, other: Any) -> bool:
    """Whether the percentages of two verdicts, which are the same otherwise, are about the same."""
    if not isinstance(one, str):
        return True
    pairs = zip(*(map(float, SHARE.findall(x)) for x in (one, other)), strict=True)
    return all(max(a, b) <= FACTOR * min(a, b) for a, b in pairs)


def _said(word: Any) -> str:
    if isinstance(word, Counter):
        return ", ".join(f"{many} × {x or 'nothing'}" for x, many in sorted(word.items())) or "none"
    return word or "nothing"
