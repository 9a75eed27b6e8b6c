"""A tolerance instead of a step: trial runs choose the step, and for ``method="auto"`` the method.

The error that is held to the tolerance is the larger of two:

* the energy's, max − min over the run, relative to the largest kinetic energy;
* that of position and velocity in a trial of some forty characteristic times, relative to the size
  of the system.  (From there on it grows with time, linearly for regular motions; no step can hold
  it in chaotic ones.)

1. A characteristic time τ comes from the start: √(size/acceleration), size/speed, and the quickest
   frequency of small motions about it; forces that depend on time are looked at over the whole
   duration.  No step is longer than τ/2.
2. The method of highest order gives a reference, at steps halved until it no longer changes.
3. Each candidate's error e(h) is measured against it, and h is moved to where e(h) is the
   tolerance, by the slope of the method's order.
4. The candidate that needs the least work for the whole duration is taken.
5. After the run the energy is looked at again, over all its steps.  Where it exceeds the tolerance
   (a violent moment that the trial did not see), or where the run fails, the step is shortened and
   the run made anew, as long as that helps.  Where energy is not conserved there is nothing to look
   at, and the certificate says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from taut.errors import InputError, StepError, number
from taut.kernel.evaluate import Snapshot
from taut.march import loop
from taut.march.dense import EPS
from taut.march.start import smallest_sizes
from taut.march.trajectory import Trajectory
from taut.methods.base import Method
from taut.methods.registry import CATALOGUE, method_of

FREE = ("rattle", "composition-4", "composition-6", "composition-8")
FORCED = ("rattle", "gauss-lobatto-4", "gauss-lobatto-6")  # they never step backwards
TRIAL, FINEST, AGAIN = 40.0, 2.0**-16, 12  # times τ; share of τ; runs that may be made anew
LOOKS = 33  # times at which trials are compared
SAMPLES = 4096  # times at which forces are looked at
LONGEST = 1e8  # steps of a run that is made anew
SAFETY = 0.8
LEAST, MOST = 1e-13, 1e-1  # tolerances that make sense


@dataclass(frozen=True)
class Choice:
    """A method with the step that it needs."""

    method: Method
    step: float
    work: float


def tuned(
    trial_run: Callable[..., Trajectory],
    whole_run: Callable[..., Trajectory],
    here: Snapshot,
    method: str | Method,
    duration: float,
    tolerance: float,
) -> Trajectory:
    """The run that meets the tolerance.

    `trial_run(method=…, step=…, duration=…)` makes a trial, `whole_run(method=…, step=…)` the run.
    """
    tolerance = number("tolerance", tolerance)
    if not LEAST <= tolerance <= MOST:
        raise InputError(
            "tolerance is out of range",
            expected=f"a relative error between {LEAST:g} and {MOST:g}",
            received=tolerance,
        )
    chosen = method_of(method)
    if chosen.pace is not None:
        raise InputError(
            "a tolerance chooses steps of one size",
            expected="a method with steps of one size, or a step",
            received=chosen.label,
        )
    system = here.mechanics.system
    names = FORCED if system.forced or system.first_order else FREE
    candidates = [CATALOGUE[name] for name in names] if method == "auto" else [chosen]
    trial = _Trial(trial_run, here, duration, tolerance, CATALOGUE[names[-1]])
    choices = [found for m in candidates if (found := trial.choice(m)) is not None]
    if not choices:
        raise StepError(
            "no step was found that meets the tolerance",
            expected=f"an error of {tolerance:g} in a trial of {trial.horizon:g}",
            received=f"steps down to {FINEST * trial.tau:g}",
            remedy="give a step, a larger tolerance, or another method",
            t=here.t,
            index=0,
        )
    best = min(choices, key=lambda x: x.work)
    return _checked(best, whole_run, tolerance, duration)


def _checked(best: Choice, whole_run, tolerance: float, duration: float) -> Trajectory:
    """The run, made anew with shorter steps as long as its energy exceeds the tolerance."""
    before, failed_at = np.inf, None
    for k in range(AGAIN):
        last = k == AGAIN - 1 or duration / best.step > LONGEST
        try:
            run = replace(whole_run(method=best.method, step=best.step), tolerance=tolerance)
        except StepError as error:
            here = error.partial.t[-1] if error.partial is not None else 0.0
            stuck = failed_at is not None and here <= failed_at * (1 + 1e-6)
            if last or (stuck and k > 3):  # shorter steps do not lead further
                raise
            failed_at = here
            shorter = best.step / 4
        else:
            excess = energy_error(run) / tolerance
            if not excess > 1.0 or last or excess > 0.7 * before:
                return run
            before = excess
            share = max(SAFETY * excess ** (-1.0 / best.method.order), 1 / 8)
            shorter = best.step * share
        best = replace(best, step=fitting(shorter, duration))
    return run


def energy_error(run: Trajectory) -> float:
    """The energy's band over all steps, relative to the largest kinetic energy.

    What rounding does to the energy itself does not count; 0 where energy is not conserved.
    """
    if not run.system.conservative:
        return 0.0
    books = run.ending.books
    column = {name: books[:, i] for i, name in enumerate(loop.BOOKS)}
    rounding = 64 * EPS * (np.abs(column["energy0"]) + _kinetic(run))
    band = column["error_max"] - column["error_min"] - rounding
    return max(float(band.max()), 0.0) / max(_kinetic(run), 1e-300)


def _kinetic(run: Trajectory) -> float:
    """½ v·p, the largest there is among the stored states."""
    return float(0.5 * np.abs((run.v * run.p).sum(axis=-1)).max())


def fitting(step: float, duration: float) -> float:
    """The longest step up to `step` of which a whole number makes the duration."""
    return duration / max(1, int(np.ceil(duration / step)))


class _Trial:
    """Short runs from the start, and the reference they are held against."""

    def __init__(self, go, here: Snapshot, duration: float, tolerance: float, best: Method) -> None:
        self.go, self.tolerance, self.duration = go, tolerance, duration
        self.tau, self.size = _scales(here.rows(), duration)
        self.horizon, self.t0 = min(duration, TRIAL * self.tau), float(here.t)
        self.reference, self.kinetic = self._converged(best)

    def _run(self, method: Method, step: float) -> Trajectory | None:
        """A trial run with about this step, or None if it fails."""
        try:
            return self.go(method=method, step=fitting(step, self.horizon), duration=self.horizon)
        except StepError:
            return None

    def _converged(self, method: Method) -> tuple[np.ndarray, float]:
        """The reference at the end of the trial, and the largest kinetic energy."""
        step, before = min(self.tau, self.horizon) / 4, None
        while step >= FINEST * self.tau:
            run = self._run(method, step)
            if run is not None and run.t[-1] < self.t0 + 0.999 * self.horizon:
                # A terminal event has ended it: only what comes before is to be tried.
                self.horizon = 0.9 * (run.t[-1] - self.t0)
                step, before = min(self.tau, self.horizon) / 4, None
                continue
            here = None if run is None else self._looked(run)
            if run is not None and here is not None and before is not None:
                gap = self._gap(here, before)
                if gap <= max(0.02 * self.tolerance, 1e-13):
                    return here, max(_kinetic(run), 1e-300)
                if gap > 0.1 and step < self.tau / 64:  # not to be resolved for as long as that
                    self.horizon /= 2
                    step, before = min(self.tau, self.horizon) / 4, None
                    continue
            before = here
            step /= 2
        raise StepError(
            "the motion could not be resolved",
            expected="trial runs that agree when their steps are halved",
            received=f"steps down to {FINEST * self.tau:g} in a trial of {self.horizon:g}",
            remedy="ask for less, as tolerance=1e-9, or give a step and a method",
            t=self.t0,
            index=0,
        )

    def _looked(self, run: Trajectory) -> np.ndarray:
        """Positions, and velocities times τ, at the times at which trials are compared."""
        found = run.at(self.t0 + self.horizon * np.linspace(0.0, 1.0, LOOKS)[1:])
        return np.concatenate([found.q, self.tau * found.v], axis=-1)

    def _gap(self, here: np.ndarray, other: np.ndarray) -> float:
        return float(np.abs(here - other).max() / self.size)

    def error(self, method: Method, step: float) -> float:
        """Of a trial with this step; infinite if it fails."""
        run = self._run(method, step)
        if run is None or not np.all(np.isfinite(run.q)):
            return np.inf
        energy = energy_error(run) * _kinetic(run) / self.kinetic
        return max(self._gap(self._looked(run), self.reference), energy)

    def choice(self, method: Method) -> Choice | None:
        """The longest step with which this method meets the tolerance in the trial."""
        step, goal = self.tau / 8, SAFETY * self.tolerance
        longest = min(self.horizon, self.tau / 2)
        good: float | None = None
        for _ in range(8):
            step = min(step, longest)
            error = self.error(method, step)
            if error <= goal:
                good = step if good is None else max(good, step)
            share = np.clip((goal / max(error, 1e-300)) ** (1.0 / method.order), 1 / 16, 4.0)
            if good is not None and (0.7 < share < 1.3 or step >= longest or share < 1.0):
                break
            step *= 0.9 * share
            if step < FINEST * self.tau:
                return None
        if good is None:
            return None
        step = fitting(good, self.duration)
        parts = len(method.substeps) * (1.0 + 2.0 * (method.depth**2 - 1))
        return Choice(method, step, parts * self.duration / step)


def _scales(here: Snapshot, duration: float) -> tuple[float, float]:
    """A characteristic time of the motion from its start, and the size of the system."""
    length = 1e7 * smallest_sizes(here, 1e-3 * duration)
    size = float(length.max())
    times = [duration]
    for i in range(min(len(here.q), 64)):
        row = here[i]

        def acceleration(q, t, row=row) -> np.ndarray:
            return here.mechanics.accelerations(q, row.v, row.p, t, row.par)[0]

        a = acceleration(row.q, row.t)
        quick, speed = float(np.abs(a).max()), float(np.abs(row.v).max())
        times += [np.sqrt(size / quick)] if quick > 0.0 else []
        times += [size / speed] if speed > 0.0 else []
        # Small motions about the start: |∂a/∂q| is the square of a frequency.
        dq = 1e-6 * size * np.sign(np.random.default_rng(0).standard_normal((8, len(row.q))))
        bends = [np.abs(acceleration(row.q + d, row.t) - a).max() / (1e-6 * size) for d in dq]
        times += [1 / np.sqrt(x) for x in bends if np.isfinite(x) and x > 0.0]
        if i == 0 and not here.mechanics.system.conservative:
            times += _by_time(acceleration, row, duration, size)
    return float(min(x for x in times if np.isfinite(x) and x > 0.0)), size


def _by_time(acceleration, row: Snapshot, duration: float, size: float) -> list[float]:
    """How strong, and how quick to change, forces at the start become with time."""
    t = row.t + duration * np.linspace(0.0, 1.0, SAMPLES)
    with np.errstate(all="ignore"):
        a = np.array([acceleration(row.q, s) for s in t])
    largest = np.abs(a).max()
    change = np.abs(np.diff(a, axis=0)).max() / (t[1] - t[0])
    if not largest > 0.0 or not np.isfinite(largest):
        return []
    return [np.sqrt(size / largest)] + ([largest / change] if change > 0.0 else [])


__all__ = ["energy_error", "tuned"]
