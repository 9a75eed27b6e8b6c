"""ZG's examples: what is run, and what is measured on the runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy as sp

from taut.errors import InconsistentStart
from taut.march.trajectory import Trajectory
from taut.methods import TimeElement
from taut.papers.chapter import fate
from taut.papers.numbers import orders
from taut.problems import problem
from taut.problems.base import Problem

# What the page prints.
TRUE_H = {"2": 0.99680, "3a": -35.35534, "3b": -28.85251}

# Example, problem, steps, duration (ours: the text gives none) and what the reading is called.
READINGS = (
    ("1", "zg-pendulum", (0.01,), 10.0, "simple pendulum"),
    ("2", "zg-spherical", (0.03, 0.1), 50.0, "U = z, start near the bottom"),
    ("2", "zg-spherical-printed", (0.03, 0.1), 50.0, "U = −z, start near the top"),
    ("3a", "zg-double", (0.01,), 20.0, "planar double pendulum"),
    ("3b", "zg-spatial", (0.01,), 20.0, "v = (0.1, 0, 0), (0.1, 0, 0)"),
    ("3b", "zg-spatial-printed", (0.01,), 20.0, "v = (1, 0, 0), (2, 0, 0)"),
)
READING = {name: reading for _, name, _, _, reading in READINGS}
LONG = 100_000  # steps over which a drift would show
RIVALS = ("symplectic-euler", "projected-symplectic-euler", "time-element")
SPANS = (50.0, 500.0)
# Problem, time of comparison and steps of the order measurement.
ORDER = (
    ("zg-pendulum", 1.0, (0.02, 0.01, 0.005, 0.0025, 0.00125)),
    ("zg-spherical", 3.0, (0.1, 0.05, 0.025, 0.0125, 0.00625)),
    ("zg-double", 2.0, (0.02, 0.01, 0.005, 0.0025, 0.00125)),
)


@dataclass(frozen=True)
class Study:
    """Everything that was run and measured.

    Attributes
    ----------
    runs : dict "problem@step" → Trajectory
    rivals : dict (method, duration) → Trajectory
    order : dict (problem, start) → errors, one per step
    numbers : dict
        What is known in the end.
    """

    runs: dict[str, Trajectory]
    rivals: dict[tuple[str, float], Trajectory] = field(default_factory=dict)
    order: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, key: str) -> Trajectory:
        return self.runs[key]


# ---- runs -------------------------------------------------------------------------------------


def examples() -> dict[str, Trajectory]:
    """Every example in every reading with every step of the paper."""
    return {
        f"{name}@{step:g}": problem(name).simulate(
            step=step, duration=duration, method=TimeElement()
        )
        for _, name, steps, duration, _ in READINGS
        for step in steps
    }


def rivals() -> dict[tuple[str, float], Trajectory]:
    """Example 2 with the methods the paper compares with."""
    given = problem("zg-spherical")
    return {(m, span): given.simulate(method=m, duration=span) for m in RIVALS for span in SPANS}


def order() -> dict[tuple[str, str], list[float]]:
    """Largest error of a coordinate at one time, for both starts and falling steps."""
    found = {}
    for name, time, steps in ORDER:
        given = problem(name)
        reference = _reference(given, time)
        for start in ("exact", "paper"):
            method = TimeElement(start=start)
            ends = [given.simulate(step=h, duration=time, method=method).q[-1] for h in steps]
            found[name, start] = [float(np.abs(q - reference).max()) for q in ends]
    return found


def _reference(given: Problem, time: float) -> np.ndarray:
    """The closed form, or two fine runs extrapolated."""
    if given.exact is not None:
        return given.exact(time)[0]
    coarse, fine = (given.simulate(step=h, duration=time).q[-1] for h in (2.5e-4, 1.25e-4))
    return (4 * fine - coarse) / 3


# ---- numbers ----------------------------------------------------------------------------------


def numbers(study: Study) -> dict[str, Any]:
    """Everything that is measured."""
    return {
        "printed": {"true H": TRUE_H},
        "examples": {key: _example(key, run) for key, run in study.runs.items()},
        "starts": {name: _start(problem(name)) for name in ("zg-spatial", "zg-spatial-printed")},
        "comparison": {f"{m}@{span:g}": _kept(run) for (m, span), run in study.rivals.items()},
        "order": {
            f"{name}, {start} start": {
                "steps": list(steps),
                "t": time,
                "errors": study.order[name, start],
                "orders": orders(study.order[name, start]),
            }
            for name, time, steps in ORDER
            for start in ("exact", "paper")
        },
    }


def _example(key: str, run: Trajectory) -> dict[str, Any]:
    """What is measured on a run of the paper."""
    given = problem(key.split("@")[0])
    duration = float(run.t[-1] - run.t[0])
    independent = TimeElement(form="independent")
    other = given.simulate(step=run.step, duration=duration, method=independent)
    found = {
        "step": run.step,
        "energy": float(run.energy[0]),
        **_kept(run),
        "difference of the forms": float(np.abs(run.q - other.q).max()),
        "energy error, own momenta": own_energy_error(given, run),
        "long run": _long(given, run.step),
    }
    if given.exact is not None:
        found["error"] = float(np.abs(run.q - given.exact(run.t)[0]).max())
    return found


def _long(given: Problem, step: float) -> dict[str, Any]:
    """Drift of the energy over many steps, as a share of its band."""
    method = TimeElement()
    run = given.simulate(step=step, duration=LONG * step, every=LONG, method=method)
    drift = run.certificate.energy
    return {
        "steps": LONG,
        "drift": float(drift.relative),
        "half width": float(drift.relative_half_width),
    }


def _kept(run: Trajectory) -> dict[str, Any]:
    """Energy error over the stored states; slope and residuals over all steps."""
    error, certificate = run.energy - run.energy[0], run.certificate
    return {
        "duration": float(run.t[-1] - run.t[0]),
        "energy error": [float(error.min()), float(error.max())],
        "energy error at the end": float(error[-1]),
        "energy slope": float(certificate.energy.slope),
        "energy slope half width": float(certificate.energy.half_width),
        "energy drift": float(certificate.energy.relative),
        "energy drift half width": float(certificate.energy.relative_half_width),
        "energy drifts": certificate.drifts,
        "fate of the energy": fate(certificate),
        "constraints": certificate.max_g,
        "hidden constraints": certificate.max_hidden,
        "symplecticity defect": certificate.symplecticity,
    }


def _start(given: Problem) -> dict[str, Any]:
    """The start as printed, what is wrong with it, and what becomes of it."""
    try:
        given.simulate(duration=given.step, project=False)
    except InconsistentStart as error:
        hidden, said = np.abs(error.hidden).max(), str(error)
    run = given.simulate(duration=given.step)
    return {
        "energy as printed": start_energy(given, given.q0, given.v0),
        "G v as printed": float(hidden),
        "taut says": said,
        "projected velocities": run.v[0].tolist(),
        "energy after projection": float(run.energy[0]),
    }


def own_energy_error(given: Problem, run: Trajectory) -> list[float]:
    """Lowest and highest H − H₀ with ZG's own momenta p_k = ∂S_k/∂q_k instead of tangent ones.

    S_k is the action of a linear element, the potential by the trapezoidal rule:
    p_k = M (q_k − q_{k−1})/η − (η/2) ∂U/∂q(q_k).  The momentum of a constraint is left in it.
    """
    lagrangian, energy, names = _expressions(given)
    q, v = given.system.coordinates, given.system.velocities
    mass = sp.Matrix([lagrangian]).jacobian(v).jacobian(v)
    pull = mass.LUsolve(sp.Matrix([lagrangian]).jacobian(q).T)
    acceleration = sp.lambdify(names, list(pull), "numpy")
    kinetic = sp.lambdify(names, energy, "numpy")
    ends = run.q[: -1 if run.ending.short else None]
    ones = np.ones(len(ends) - 1)
    still = [0.0 * ones for _ in v]
    bent = np.stack([x * ones for x in acceleration(*ends[1:].T, *still)], axis=1)
    velocity = np.diff(ends, axis=0) / run.step + run.step / 2 * bent
    error = kinetic(*ends[1:].T, *velocity.T) - run.energy[0]
    return [float(error.min()), float(error.max())]


def _expressions(given: Problem) -> tuple[Any, Any, list[Any]]:
    """Lagrangian and energy with numbers for parameters, and the symbols that are left."""
    system = given.system
    values = {**system.parameters, **given.parameters}
    lagrangian = system.energy_function
    energy = sum(w * lagrangian.diff(w) for w in system.velocities) - lagrangian
    table = {s: values[s.name] for s in lagrangian.free_symbols if s.name in values}
    names = [*system.coordinates, *system.velocities]
    return lagrangian.subs(table), energy.subs(table), names


def start_energy(given: Problem, q: Any, v: Any) -> float:
    """v·L_v − L at a state that need not be consistent, from the symbolic Lagrangian."""
    _, energy, names = _expressions(given)
    return float(energy.subs(dict(zip(names, [*q, *v], strict=True))))
