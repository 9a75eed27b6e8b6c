"""Beams and fields, stated in other ways: the same motion, so the same verdicts.

The ways are those of `trials`, as far as they make sense: units, a shift, a rotation, a
description from the other end (node 0 is the last one then), and other steps.  Six-vectors are
(angular, linear) in frames that are carried along, so that only what is said in space is turned;
from the other end local axes are turned by half a turn about the third.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import sympy as sp
import trials
from trials import AWAY, Way

import taut

STEPS = 400  # of a trial
WAYS = {name: way for name, way in trials.WAYS.items() if not way.lanes}
BACK = np.array([-1.0, -1.0, 1.0])  # half a turn about axis 3
BOTH = np.tile(BACK, 2)
SPACE = np.array(trials.SPACE, dtype=float)


class Told(NamedTuple):
    """A model and its start, as `taut.simulate` takes them."""

    model: Any
    start: dict[str, Any]


class Units:
    """Units of what beams and fields are made of, and places and directions in space."""

    def __init__(self, way: Way) -> None:
        self.way = way
        self.length, self.mass, self.time = map(float, (way.length, way.mass, way.time))
        self.force = self.mass * self.length / self.time**2
        self.moment = self.force * self.length
        self.turn = SPACE if way.turned else np.eye(3)

    def place(self, x: Any) -> np.ndarray:
        """A place in space."""
        return self.length * (self.turn @ np.array(x, dtype=float) + AWAY * bool(self.way.shift))

    def along(self, x: Any) -> np.ndarray:
        """A direction in space."""
        return self.turn @ np.array(x, dtype=float)

    def clock(self, x: Any) -> sp.Expr:
        """A function of time."""
        return sp.sympify(x).subs(taut.t, taut.t / self.way.time)

    def vector(self, unit: float, x: Any) -> list[sp.Expr]:
        """Functions of time in space, with a unit of their own."""
        told = [self.clock(y) for y in x]
        return [unit * sum(self.turn[i, j] * told[j] for j in range(3)) for i in range(3)]

    def both(self, angular: float, linear: float) -> np.ndarray:
        """Of six-vectors."""
        return np.repeat([angular, linear], 3)

    def beam(self, length: float, at: Any, frame: Any, ends: tuple, **told: Any) -> taut.Beam:
        """A straight beam, from its other end if that is the way."""
        frame, at = np.array(frame, dtype=float).T, np.array(at, dtype=float)
        if self.way.reversed:
            at, frame, ends = at + length * frame[:, 1], frame * BACK, ends[::-1]
        if "inertia" in told:
            told["inertia"] = told["inertia"] * self.mass * self.both(self.length, 1 / self.length)
            told["stiffness"] = told["stiffness"] * self.both(self.moment * self.length, self.force)
        else:
            told["density"] *= self.mass / self.length**3
            told["young"] *= self.force / self.length**2
        if "gravity" in told:
            told["gravity"] = self.along(told["gravity"]) * self.length / self.time**2
        if "damping" in told:
            told["damping"] *= self.time
        return taut.Beam(
            self.length * length, at=self.place(at), frame=self.turn @ frame, ends=ends, **told
        )

    def end(self, at: str) -> str:
        """The name of an end."""
        return {"root": "tip", "tip": "root"}[at] if self.way.reversed else at

    def load(self, beam: taut.Beam, at: Any, force: Any, moment: Any = (0, 0, 0)) -> None:
        """A load in space, at an end or (per length) along the whole beam."""
        per = 1 / self.length if at == "all" else 1.0
        beam.load(
            at=at if at == "all" else self.end(at), force=self.vector(per * self.force, force),
            moment=self.vector(per * self.moment, moment),
        )  # fmt: skip

    def body(self, beam: taut.Beam, at: str, mass: float, inertia: Any, offset: Any) -> None:
        """A rigid body; offset and moments in local axes."""
        offset = np.array(offset) * (BACK if self.way.reversed else 1.0)
        beam.body(
            at=self.end(at), mass=self.mass * mass, offset=self.length * offset,
            inertia=self.mass * self.length**2 * np.array(inertia),
        )  # fmt: skip

    def velocity(self, v: np.ndarray) -> np.ndarray:
        """Of nodes in local axes, shape (nodes, 6)."""
        told = v * self.both(1 / self.time, self.length / self.time)
        return told[::-1] * BOTH if self.way.reversed else told


# Rotations of straight beams, their rows the local axes: the second is along the beam.
ALONG_X = ((0, 0, 1), (1, 0, 0), (0, 1, 0))
ALONG_Z = ((1, 0, 0), (0, 0, 1), (0, -1, 0))
DOWN_Z = ((-1, 0, 0), (0, 0, -1), (0, -1, 0))
DOWN = (0, 0, -9.81)
RUBBER = {"density": 1100.0, "young": 5e6, "poisson": 0.45}


def _cantilever(way: Way) -> Told:
    u = Units(way)
    width, height = 0.05 * u.length, 0.02 * u.length
    section = taut.Rectangle(width, height)
    beam = u.beam(1, (0.1, 0.2, 0.3), ALONG_X, ("clamped", "free"), section=section, nodes=9,
                  **RUBBER)  # fmt: skip
    u.load(beam, "tip", (0, 0.2, -1.5))
    return Told(beam, {})


def _sagging(way: Way) -> Told:
    """With damping, a moment that rises, and a body on its tip."""
    u = Units(way)
    beam = u.beam(
        2, (0, 0, 0), ALONG_X, ("clamped", "free"), inertia=np.array([0.02, 0.03, 0.01, 1, 1, 1]),
        stiffness=np.array([8, 6, 4, 300, 400, 300]), nodes=11, gravity=DOWN, damping=0.002,
    )  # fmt: skip
    u.load(beam, "tip", (0, 0, 0), (0, 0.5 * sp.sin(3 * taut.t), 0.2))
    u.body(beam, "tip", 0.3, (0.01, 0.02, 0.02), (0.0, 0.02, 0.01))
    return Told(beam, {})


SPAGHETTI = {
    "inertia": np.array([10.0, 20, 10, 1, 1, 1]),
    "stiffness": np.array([500.0, 500, 500, 1e4, 1e4, 1e4]), "nodes": 13,
}  # fmt: skip
TILTED = ((0.8, 0.6, 0), (0.6, -0.8, 0), (0, 0, -1))


def _flying(way: Way) -> Told:
    """Free, thrown with a spin and a wave of its own: its momenta are kept."""
    u = Units(way)
    beam = u.beam(10, (0, 8, 0), TILTED, ("free", "free"), **SPAGHETTI)
    s = np.linspace(0, 1, beam.nodes)[:, None]
    return Told(beam, {"v0": u.velocity(np.array([[0.3, 0.2, -0.5, 1, 0.4, 2]]) * np.cos(3 * s))})


def _thrown(way: Way) -> Told:
    """Free, pushed at one end for a while."""
    u = Units(way)
    beam = u.beam(10, (0, 8, 0), TILTED, ("free", "free"), **SPAGHETTI)
    pulse = sp.Piecewise((80 * taut.t, taut.t <= 2), (80 * (4 - taut.t), taut.t <= 4), (0, True))
    u.load(beam, "tip", (pulse / 10, 0, 0), (0, pulse / 2, -pulse))
    return Told(beam, {})


def _portal(way: Way) -> Told:
    """Two posts and a girder, under their weight and the wind."""
    u = Units(way)
    told = {
        **RUBBER, "section": taut.Tube(0.03 * u.length, 0.02 * u.length), "nodes": 7,
        "gravity": DOWN,
    }  # fmt: skip
    left = u.beam(1, (0, 0, 0), ALONG_Z, ("clamped", "free"), **told)
    girder = u.beam(1.5, (0, 0, 1), ALONG_X, ("free", "free"), **told)
    right = u.beam(1, (1.5, 0, 1), DOWN_Z, ("free", "pinned"), **told)
    u.load(girder, "all", (0.4 * sp.sin(7 * taut.t), 0.2, 0))
    beams = [left, girder, right]
    return Told(taut.Beams(beams[::-1] if way.reversed else beams), {})


def _wave(way: Way) -> Told:
    """A string whose strain stiffens it; a strain of displacements has no unit."""
    u = Units(way)
    g, m, rho, k, b = sp.symbols("gamma mu rho k b", real=True)
    field = taut.Field(
        taut.lie.abelian(1), m**2 / (2 * rho) + k * g**2 / 2 + b * g**4 / 4, strain=[g],
        momentum=[m], length=2 * u.length, nodes=41,
        ends=("clamped", "free")[:: -1 if way.reversed else 1],
        parameters={"rho": 1.5 * u.mass / u.length, "k": 2 * u.force, "b": u.force},
    )  # fmt: skip
    pluck = 0.5 * np.exp(-20 * (np.linspace(0, 1, 41)[:-1] - 0.3) ** 2)[:, None]
    return Told(field, {"strain0": -pluck[::-1] if way.reversed else pluck})


def _ring(way: Way) -> Told:
    """A closed string that is set in motion, and is free: its momentum is kept."""
    u = Units(way)
    g, m, rho, k = sp.symbols("gamma mu rho k", real=True)
    field = taut.Field(
        taut.lie.abelian(1), m**2 / (2 * rho) + k * (1 - sp.cos(g)), strain=[g], momentum=[m],
        length=2 * u.length, nodes=32, ends="periodic",
        parameters={"rho": u.mass / u.length, "k": u.force},
    )  # fmt: skip
    momentum = (0.3 + 0.2 * np.sin(2 * np.pi * np.arange(32) / 32))[:, None]
    momentum = momentum[::-1] if way.reversed else momentum
    return Told(field, {"momentum0": momentum * u.mass / u.time})


def _strand(way: Way) -> Told:
    """Bodies that turn, held together by what bends and twists them."""
    u = Units(way)
    gamma, mu = sp.symbols("gamma1:4", real=True), sp.symbols("mu1:4", real=True)
    j, a = sp.symbols("J A", real=True)
    density = sum(x**2 / (2 * i * j) for x, i in zip(mu, (1, 2, 3), strict=True))
    density += a * (gamma[0] ** 2 + 2 * gamma[1] ** 2 + gamma[2] ** 2) / 2
    field = taut.Field(
        taut.lie.so3, density, strain=gamma, momentum=mu, length=u.length, nodes=21,
        parameters={"J": u.mass * u.length, "A": u.moment * u.length},
    )  # fmt: skip
    s = np.linspace(0, 1, 21)
    momentum = np.stack([np.sin(3 * s), np.cos(3 * s), 0.3 + 0 * s], axis=1)
    momentum = momentum[::-1] if way.reversed else momentum
    return Told(field, {"momentum0": momentum * u.mass * u.length / u.time})


class Trial(NamedTuple):
    """What is run: a model, and for each method a step, in its own unit of time."""

    told: Callable[[Way], Told]
    steps: dict[str, float]


# Explicit steps are below 0.4 of the limit of stability, so that twice as long ones are below it;
# implicit ones are beyond it.
PROBLEMS: dict[str, Trial] = {
    "cantilever": Trial(
        _cantilever, {"variational": 1e-4, "poisson": 1e-4, "hamel": 1e-4, "implicit": 2e-3}
    ),
    "sagging": Trial(_sagging, {"variational": 2e-3, "poisson": 2e-3, "implicit": 1e-2}),
    "flying": Trial(
        _flying, {"variational": 3e-3, "poisson": 3e-3, "hamel": 3e-3, "implicit": 2e-2}
    ),
    "thrown": Trial(_thrown, {"variational": 3e-3, "poisson": 3e-3, "implicit": 2e-2}),
    "portal": Trial(_portal, {"variational": 1e-4, "poisson": 1e-4, "implicit": 2e-3}),
    "wave": Trial(_wave, {"poisson": 1e-2, "hamel": 1e-2}),
    "ring": Trial(_ring, {"poisson": 1e-2, "hamel": 1e-2}),
    "strand": Trial(_strand, {"poisson": 1e-2, "hamel": 1e-2}),
}
NAMES = tuple(f"{name}, {method}" for name, x in PROBLEMS.items() for method in x.steps)
FIELDS = ("wave", "ring", "strand")


def run_of(name: str, way: Way) -> Any:
    """A problem by a method, “cantilever, implicit”, run as this way states it."""
    problem, _, method = name.partition(", ")
    trial = PROBLEMS[problem]
    told, step = trial.told(way), trial.steps[method]
    time = float(way.time)
    return taut.simulate(
        told.model, **told.start, method=method, step=way.pace * step * time,
        duration=STEPS * step * time,
    )  # fmt: skip


def apt(name: str, way: Way) -> bool:
    """Whether there is such a run: a field is in no space."""
    return not (name.startswith(FIELDS) and (way.shift or way.turned))
