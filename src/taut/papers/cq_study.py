"""CQ's triple pendulum: what is run, and what is measured on the runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

from taut.errors import StepError
from taut.march.simulate import simulate
from taut.march.trajectory import Trajectory
from taut.methods import Baumgarte, ExplicitRK, GaussLobatto, Method, Projected, SymplecticRK
from taut.model import System, coordinates, velocities
from taut.papers.numbers import orders, plain
from taut.problems import problem
from taut.problems.base import Problem

SYMPLECTIC = SymplecticRK("midpoint")
# α = β: every half from 0 to 20; α = 0 is RK4 on the index-1 equations.
SWEEP = tuple(k / 2 for k in range(41))
SHOWN = (0.0, 1.0, 2.5, 5.0, 10.0, 15.0, 16.0, 20.0)  # rows of the table
DRAWN = (1.0, 5.0, 10.0, 15.0, 16.0, 20.0)
SPANS = (60.0, 6000.0)
LONG = 60_000.0
LOST = 10.0  # ‖g‖ beyond which nothing is left of the pendulum
# Inner methods of the composition, time of comparison and steps.
INNER = ("midpoint", "gauss2", "gauss3")
INNER_TIME, INNER_STEPS = 3.0, (0.12, 0.06, 0.03, 0.015)


@dataclass(frozen=True)
class Attempt:
    """A run that may have ended early.

    Attributes
    ----------
    run : Trajectory
        All of it, or what there was when no further step could be made.
    lost : float or None
        When ‖g‖ passed `LOST`; None if it never did.
    """

    run: Trajectory
    lost: float | None

    @property
    def worst(self) -> tuple[float, float]:
        """Largest ‖g‖ and ‖G q̇‖ over the run; infinite if it was lost."""
        if self.lost is not None:
            return np.inf, np.inf
        return float(position_error(self.run).max()), float(velocity_error(self.run).max())


@dataclass(frozen=True)
class Study:
    """Everything that was run and measured.

    Attributes
    ----------
    sweep : dict α → Attempt
    runs : dict (label, duration) → Trajectory
    inner : dict (coordinates, inner method) → errors, one per step
    numbers : dict
        What is known in the end.
    """

    sweep: dict[float, Attempt]
    runs: dict[tuple[str, float], Trajectory] = field(default_factory=dict)
    inner: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)

    @property
    def best(self) -> float:
        """The α = β with the smallest of the largest ‖g‖."""
        return min(self.sweep, key=lambda alpha: self.sweep[alpha].worst[0])


# ---- runs -------------------------------------------------------------------------------------


def position_error(run: Trajectory) -> np.ndarray:
    """‖g‖, the 2-norm that the paper draws."""
    return np.linalg.norm(run.constraints, axis=-1)


def velocity_error(run: Trajectory) -> np.ndarray:
    """‖G q̇‖."""
    return np.linalg.norm(run.hidden, axis=-1)


def attempt(given: Problem, method: Method, **options: Any) -> Attempt:
    """Run it as far as it goes."""
    try:
        run = given.simulate(method=method, **options)
    except StepError as error:
        run = error.partial
    beyond = ~(position_error(run) < LOST)
    return Attempt(run, float(run.t[np.argmax(beyond)]) if beyond.any() else None)


def sweep() -> dict[float, Attempt]:
    """Baumgarte with RK4 for every α = β."""
    given = problem("cq-triple")
    return {alpha: attempt(given, Baumgarte(alpha, alpha)) for alpha in SWEEP}


def rivals(best: float) -> dict[str, Method]:
    """The methods whose energy is compared, by label."""
    return {
        "symplectic": SYMPLECTIC,
        "Baumgarte": Baumgarte(best, best),
        "projected RK4": Projected(ExplicitRK("rk4")),
        "Gauss–Lobatto 4": GaussLobatto(2),
    }


def runs(best: float) -> dict[tuple[str, float], Trajectory]:
    """CQ's example with every rival, for CQ's 60 s and a hundred times as long."""
    given = problem("cq-triple")
    return {
        # Every state is kept: the page tells extremes, and steps left out may hold them.
        (label, span): given.simulate(method=method, duration=span)
        for span in SPANS
        for label, method in rivals(best).items()
    }


# ---- inner methods ----------------------------------------------------------------------------


@cache
def polar() -> System:
    """The same pendulum in lengths and angles of its rods: a mass matrix that depends on q.

    xₖ = Σ rᵢ sin θᵢ,  yₖ = −Σ rᵢ cos θᵢ  (i ≤ k),      rᵢ = 1.
    """
    q = coordinates("r1 r2 r3 theta1 theta2 theta3")
    r, theta = q[:3], q[3:]
    rates = sp.Matrix(velocities(q))
    x = y = sp.Integer(0)
    lagrangian = sp.Integer(0)
    for length, angle in zip(r, theta, strict=True):
        x, y = x + length * sp.sin(angle), y - length * sp.cos(angle)
        speed = sp.Matrix([x, y]).jacobian(q) * rates
        lagrangian += speed.dot(speed) / 2 - y
    mass = sp.hessian(lagrangian, rates).applyfunc(sp.trigsimp)
    potential = -lagrangian.subs(dict.fromkeys(rates, 0))
    return System(q, mass=mass.tolist(), potential=potential, constraints=[s - 1 for s in r])


def inner() -> dict[tuple[str, str], list[float]]:
    """Largest error of a Cartesian coordinate, for every inner method, in both coordinates."""
    given = problem("cq-triple")
    fact = next(f for f in given.facts if f.t == INNER_TIME)
    exact = np.array(fact.q)
    found = {}
    for name in INNER:
        method = SymplecticRK(name)
        flat = [given.simulate(method=method, step=h, duration=INNER_TIME) for h in INNER_STEPS]
        found["Cartesian", name] = [float(np.abs(run.q[-1] - exact).max()) for run in flat]
        curved = [
            simulate(
                polar(), q0=[1, 1, 1, np.pi / 6, -np.pi / 6, 0], v0=0, duration=INNER_TIME,
                step=h, method=method,
            )
            for h in INNER_STEPS
        ]  # fmt: skip
        found["polar", name] = [float(np.abs(cartesian(run.q[-1]) - exact).max()) for run in curved]
    return found


def cartesian(q: np.ndarray) -> np.ndarray:
    """(x₁, y₁, x₂, y₂, x₃, y₃) of lengths and angles."""
    rods = q[:3, None] * np.stack([np.sin(q[3:]), -np.cos(q[3:])], axis=1)
    return np.cumsum(rods, axis=0).ravel()


# ---- numbers ----------------------------------------------------------------------------------


def numbers(study: Study) -> dict[str, Any]:
    """Everything that is measured."""
    given = problem("cq-triple")
    reference = given.simulate(method=GaussLobatto(6), step=given.step / 12, every=12)
    return {
        "step": given.step,
        "best rate": study.best,
        "energy above rest": float(study.runs["symplectic", SPANS[0]].energy[0] + 6.0),
        "runs": {
            f"{label}@{span:g}": _kept(run, reference if span == SPANS[0] else None)
            for (label, span), run in study.runs.items()
        },
        "long run": _long(given),
        "sweep": {f"{alpha:g}": _swept(found) for alpha, found in study.sweep.items()},
        "inner methods": {
            "t": INNER_TIME,
            "steps": list(INNER_STEPS),
            "gap on the example": _gap(given),
            **{
                f"{kind}, {name}": {"errors": errors, "orders": orders(errors)}
                for (kind, name), errors in study.inner.items()
            },
        },
    }


def _kept(run: Trajectory, reference: Trajectory | None) -> dict[str, Any]:
    """What a run kept, over all its steps; every state of it has to be stored."""
    energy, certificate = run.energy - run.energy[0], run.certificate
    found = {
        "position error": float(position_error(run).max()),
        "velocity error": float(velocity_error(run).max()),
        "energy error": [float(energy.min()), float(energy.max())],
        "energy error at the end": float(energy[-1]),
        "energy drift": float(certificate.energy.relative),
        "energy drift half width": float(certificate.energy.relative_half_width),
        "symplecticity defect": certificate.symplecticity,
    }
    if reference is not None:
        found["error of the path"] = float(np.abs(run.q - reference.q).max())
    return found


def _long(given: Problem) -> dict[str, Any]:
    """The symplectic scheme over many steps, and with half the step."""
    found = {}
    for step, span in ((given.step, LONG), (given.step / 2, SPANS[1])):
        run = given.simulate(method=SYMPLECTIC, step=step, duration=span, every=1000)
        drift = run.certificate.energy
        found[f"{step:g}"] = {
            "duration": span,
            "steps": run.certificate.steps,
            "band": float(drift.band),
            "drift": float(drift.relative),
            "drift half width": float(drift.relative_half_width),
            "constraints": run.certificate.max_g,
        }
    return found


def _swept(found: Attempt) -> dict[str, Any]:
    position, velocity = found.worst
    energy = None if found.lost is not None else found.run.energy[-1] - found.run.energy[0]
    return plain(
        {
            "position error": position,
            "velocity error": velocity,
            "energy error at the end": energy,
            "lost at": found.lost,
        }
    )


def _gap(given: Problem) -> float:
    """How far apart the inner methods are on the example, over all of it."""
    paths = [given.simulate(method=SymplecticRK(name)).q for name in INNER]
    return float(max(np.abs(paths[0] - path).max() for path in paths[1:]))
