"""SciPy's DOP853 and Radau on the same motion, written as users write it.

Two right-hand sides: the angle form derived by hand, and the Cartesian index-1 form with the
multipliers solved for. Each is timed at the loosest tolerance that is as accurate at t = 2 as
RATTLE with h = 0.01, and at 1e−10. `python benchmarks/peers.py` prints the table.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from pendulum import (
    START,
    START_ANGLES,
    angle_ode,
    cartesian_ode,
    constraints,
    energy,
    positions,
    velocities,
)
from scipy.integrate import solve_ivp

RATTLE_ERROR = 4.5e-3  # max |Δq| at t = 2 of RATTLE with h = 0.01; check_c.py prints it
TIGHT = 1e-10
LADDER = 10.0 ** -np.arange(2, 8, 0.5)
SECONDS = 100.0


@dataclass(frozen=True)
class Peer:
    """One solver on one form of the motion: its cost, and what it lost on the way."""

    method: str
    form: str
    setting: str  # tolerance or step
    seconds: float  # simulated
    reached: float  # less than `seconds` where the solver gives up
    wall_per_second: float  # wall time per simulated second
    max_energy_error: float
    end_energy_error: float
    max_g: float


def _from_angles(y):
    return positions(y[:2].T), velocities(y[:2].T, y[2:].T)


def _from_cartesian(y):
    return y[:4].T, y[4:].T


FORMS = {
    "angles": (angle_ode, np.concatenate([START_ANGLES, np.zeros(2)]), _from_angles),
    "Cartesian": (cartesian_ode, np.concatenate([START, np.zeros(4)]), _from_cartesian),
}


def _solve(method, form, tolerance, seconds):
    """Time reached, states (q, v) at the solver's own steps, and the wall time."""
    ode, y0, states = FORMS[form]
    began = time.perf_counter()
    solution = solve_ivp(ode, (0, seconds), y0, method=method, rtol=tolerance, atol=tolerance)
    wall = time.perf_counter() - began
    return float(solution.t[-1]), *states(solution.y), wall


def reference_state(t):
    """(q, v) at time t by DOP853 on the angles near round-off."""
    ode, y0, states = FORMS["angles"]
    end = solve_ivp(ode, (0, t), y0, method="DOP853", rtol=3e-14, atol=1e-15).y[:, -1:]
    q, v = states(end)
    return q[0], v[0]


def matched_tolerance(method, form, error=RATTLE_ERROR):
    """The loosest tolerance of the ladder whose error at t = 2 is at most `error`."""
    exact, _ = reference_state(2.0)
    for tolerance in LADDER:
        reached, q, _, _ = _solve(method, form, tolerance, 2.0)
        if reached == 2.0 and np.abs(q[-1] - exact).max() <= error:
            return float(tolerance)
    raise RuntimeError(f"{method} on {form} does not reach {error:g}")


def measured(method, form, setting, seconds, reached, wall, q, v):
    """The record of one solver, with the errors of its states (q, v)."""
    change = energy(q, v) - energy(START, np.zeros(4))
    return Peer(
        *(method, form, setting, seconds, reached),
        wall_per_second=wall / reached,
        max_energy_error=float(np.abs(change).max()),
        end_energy_error=float(change[-1]),
        max_g=float(np.abs(constraints(q)).max()),
    )


def measure(method, form, tolerance, seconds, patience=2.0):
    """Best wall time of the solves that fit into `patience` seconds (one at least), and errors."""
    solves = [_solve(method, form, tolerance, seconds)]
    while sum(wall for *_, wall in solves) < patience:
        solves.append(_solve(method, form, tolerance, seconds))
    reached, q, v, _ = solves[0]
    wall = min(wall for *_, wall in solves)
    return measured(method, form, f"tolerance {tolerance:.0e}", seconds, reached, wall, q, v)


def measure_all(seconds=SECONDS):
    """Every solver × form × tolerance."""
    return [
        measure(method, form, tolerance, seconds)
        for method in ("DOP853", "Radau")
        for form in FORMS
        for tolerance in (matched_tolerance(method, form), TIGHT)
    ]


def table(peers):
    """The measurements as lines of text."""
    head = f"{'solver':<13}{'form':<11}{'setting':<17}{'wall / simulated s':>19}"
    lines = [head + f"{'max |ΔH|':>11}{'ΔH at end':>11}{'max |g|':>10}"]
    for p in peers:
        lines.append(
            f"{p.method:<13}{p.form:<11}{p.setting:<17}{p.wall_per_second * 1e3:>16.4g} ms"
            f"{p.max_energy_error:>11.1e}{p.end_energy_error:>11.1e}{p.max_g:>10.1e}"
            + (f"  gives up at t = {p.reached:.1f}" if p.reached < p.seconds else "")
        )
    return lines


if __name__ == "__main__":
    print("\n".join(table(measure_all())))
