"""A tolerance instead of a step: trial runs choose the step, and for ``method="auto"`` the method.

The error that is held to the tolerance is the larger of two:

* the energy's, max − min over the run, relative to the largest kinetic energy;
* that of position and velocity in a trial of some forty characteristic times, relative to the size
  of the system or the reach of the trial.  (From there on it grows with time, linearly for regular
  motions; no step can hold it in chaotic ones.)

1. A characteristic time τ comes from the start: √(size/acceleration), size/speed, and the quickest
   frequency of small motions about it; forces that depend on time are looked at over the whole
   duration, and may make it shorter.  No step is longer than τ/2.  The trial is as long as the
   motion by itself asks for.  Of a batch τ is that of the quickest trajectory, and every error that
   of the worst.
2. The method of highest order gives a reference, at steps halved until it no longer changes.  Where
   rounding, which chaos makes larger, changes it all the same, that is small against the tolerance,
   or no step can meet it.
3. Each candidate's error e(h) is measured against it, and h is moved to where e(h) is the
   tolerance, by the slope of the method's order.
4. The candidate that needs the least work for the whole duration is taken; one that would need
   more than another is not followed to the end.
5. After the run the energy is looked at again, over all its steps.  Where it is not conserved a few
   pieces of the run are made anew with shorter steps, those at which velocities or forces change
   most.  Where an error exceeds the tolerance (a violent moment that the trial did not see), or
   where the run fails, the step is shortened and the run made anew, as long as that helps.  A run
   that misses the tolerance all the same is an error, and not a result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from taut.errors import (
    ConstraintError,
    InconsistentStart,
    InputError,
    StepError,
    ToleranceError,
    number,
)
from taut.kernel.evaluate import Snapshot
from taut.march import loop
from taut.march.dense import EPS
from taut.march.halving import GOLDEN, quickest
from taut.march.start import smallest_sizes
from taut.march.trajectory import Trajectory
from taut.methods.base import Method
from taut.methods.registry import CATALOGUE, method_of

FREE = ("rattle", "composition-4", "composition-6", "composition-8")
FORCED = ("rattle", "gauss-lobatto-4", "gauss-lobatto-6")  # they never step backwards
TRIAL, FINEST, AGAIN = 40.0, 2.0**-16, 12  # times τ; share of τ; runs that may be made anew
PIECES, PIECE = 4, TRIAL / 8  # of a run that are made anew, and their length: times τ
FINER = (0.5, 0.5 * GOLDEN)  # of the step, with which pieces are made anew
LOOKS, NEAR = 33, 16  # times at which trials are compared; states beside the quickest of a piece
SAMPLES, TOGETHER = 4096, 64  # times at which forces are looked at, so many at once
LONGEST = 1e8  # steps of a run that is made anew
HALVED = 3  # times that steps are halved without use before a tolerance is given up
TRIED = 1e6  # steps of a trial that is not resolved, from which on it is made shorter
STORED = 2**24  # numbers that a trial keeps, at most
SAFETY = 0.8  # of the tolerance is left to a candidate, the rest to the reference
SHRINK = 1 / 16  # by which a step is shortened at once, at most
LEVEL = 3  # gaps in a row that are held against as many before them
FLAT = 0.5, 64.0  # gaps that stay: not below so much of those before, nor above the least by more
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
    candidates = [CATALOGUE[name] for name in reversed(names)] if method == "auto" else [chosen]
    trial = _Trial(trial_run, here, duration, tolerance, CATALOGUE[names[-1]])
    best: Choice | None = None
    for candidate in candidates:
        found = trial.choice(candidate, np.inf if best is None else best.work)
        if found is not None and (best is None or found.work <= best.work):
            best = found
    if best is None:
        raise StepError(
            "no step was found that meets the tolerance",
            expected=f"an error of {tolerance:g} in a trial of {trial.horizon:g}",
            received=f"steps down to {FINEST * trial.tau:g}{trial.whose}",
            remedy="give a step, a larger tolerance, or another method",
            t=here.t,
            index=0,
        )
    return _checked(best, whole_run, tolerance, duration)


def _checked(best: Choice, whole_run, tolerance: float, duration: float) -> Trajectory:
    """The run, made anew with shorter steps as long as its energy exceeds the tolerance."""
    least, failed_at, order = (np.inf, np.inf), None, best.method.order
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
            error, member = _worst(run)
            excess = error / tolerance
            if not excess > 1.0:
                return run
            if excess < 0.7 * least[0]:
                least = excess, best.step
            if last or best.step < 0.5**HALVED * least[1]:
                raise _missed(run, error, member)
            shorter = best.step * max(SAFETY * excess ** (-1.0 / order), 1 / 8)
            order = min(order, 2)  # jumps within steps, and kinks, are met to that order at best
        best = replace(best, step=fitting(shorter, duration))
    raise AssertionError("the last run returns or raises")


def _missed(run: Trajectory, error: float, member: int) -> ToleranceError:
    kept = keeps_energy(run)
    what = "energy, of the kinetic energy" if kept else "path, of the size of the system"
    return ToleranceError(
        f"the tolerance was missed: the error is {error:.1e}"
        + ("" if run.batch is None else f", of trajectory {member}"),
        expected=f"{run.tolerance:g}",
        received=f"{error:.1e} in the {what}, with {run.method.label}, step {run.step:g}",
        remedy="there may be a collision or a pole on the way: error.partial holds the run; end it "
        "before by a terminal event, ask for less, or give a step",
        error=error,
        partial=run,
    )


def keeps_energy(run: Trajectory) -> bool:
    """Whether there is an energy that tells how good a run is."""
    return run.system.conservative and not run.system.first_order


def run_error(run: Trajectory) -> float:
    """What is held to the tolerance after a run: the error of the energy, or else of the path."""
    return _worst(run)[0]


def _worst(run: Trajectory) -> tuple[float, int]:
    """The error of a run, and the trajectory of a batch whose it is."""
    errors = _energy_errors(run) if keeps_energy(run) else _path_errors(run)
    return float(errors.max()), int(np.argmax(errors))


def _path_errors(run: Trajectory) -> np.ndarray:
    """Of position and velocity in a few pieces of a run, made anew from stored states.

    Shares r of the step are taken; by the method's order that leaves 1 − rᵖ of the error to be
    seen.  There are two: what jumps within a step may be met by one of them as it was by the whole.
    NaN if no piece could be made.
    """
    from taut.march.simulate import simulate

    here = Snapshot(run._mechanics, run.q[..., 0, :], run.v[..., 0, :], run.p[..., 0, :],
                    float(run.t[0]), run._par)  # fmt: skip
    times = _scales(here.rows(), float(run.t[-1] - run.t[0]))
    found = []
    for first, row, last in _pieces(run, PIECE * times.whole):
        rows = np.linspace(first + 1, last, LOOKS).astype(int)
        rows = np.unique(np.r_[rows, np.arange(max(row - NEAR, first + 1), min(row + NEAR, last))])
        start: dict[str, Any] = {"q0": run.q[..., first, :], "v0": run.v[..., first, :]}
        if run.system.first_order:
            start = {"q0": start["q0"], "p0": 0.0}
        begin, end = float(run.t[first]), float(run.t[last])
        for share in FINER:
            try:
                again = simulate(
                    run.system, **start, t0=begin, duration=end - begin, project=True,
                    step=fitting(share * run.step, end - begin), method=run.method, laws=None,
                    parameters=run.parameters, progress=False,
                )  # fmt: skip
            except (StepError, InconsistentStart, ConstraintError):
                continue
            found.append(_differ(run, again, rows, times.whole) / (1 - share**run.method.order))
    size = max(times.size, _reach(run.q))
    return np.max(found or [np.full(run.batch or 1, np.nan)], axis=0) / size


def _differ(run: Trajectory, again: Trajectory, rows: np.ndarray, time: float) -> np.ndarray:
    """How far a piece that was made anew is from states of the run, velocities times a time."""
    states = again.at(run.t[rows])
    gaps = (np.abs(getattr(states, x) - getattr(run, x)[..., rows, :]) for x in "qv")
    q, v = (np.atleast_1d(gap.max(axis=(-2, -1))) for gap in gaps)
    return q if run.system.first_order else np.maximum(q, time * v)


def _pieces(run: Trajectory, length: float) -> list[tuple[int, int, int]]:
    """First, quickest and last stored states of pieces about so long, where the run is quickest."""
    count = len(run.t) - 1
    members = [run] if run.batch is None else [run[i] for i in range(min(run.batch, PIECES))]
    rows = np.unique(np.concatenate([quickest(x, PIECES) for x in members]))
    found = []
    for row in rows.tolist():
        first = int(np.searchsorted(run.t, run.t[row] - 0.25 * length))
        last = int(np.searchsorted(run.t, run.t[first] + length, side="right")) - 1
        last = min(max(last, first + 1), count)
        if first < last and run.t[last] - run.t[first] <= TRIAL / PIECE * length:
            found.append((first, row, last))
    return list(dict.fromkeys(found))


def _energy_errors(run: Trajectory) -> np.ndarray:
    """The energy's band over all steps, relative to the largest kinetic energy.

    What rounding does to the energy itself does not count; 0 where energy is not conserved.
    """
    if not run.system.conservative:
        return np.zeros(run.batch or 1)
    books = run.ending.books
    column = {name: books[:, i] for i, name in enumerate(loop.BOOKS)}
    rounding = 64 * EPS * (np.abs(column["energy0"]) + _kinetic(run))
    band = column["error_max"] - column["error_min"] - rounding
    return np.maximum(band, 0.0) / max(_kinetic(run), 1e-300)


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
        self.tau, self.whole, self.size = _scales(here.rows(), duration)
        self.horizon, self.t0 = min(duration, TRIAL * self.whole), float(here.t)
        self.state, self.batch = 3 * here.rows().q.size, here.q.ndim > 1
        self.worst = 0  # of a batch: the trajectory that was off most when last compared
        self.reference, self.kinetic = self._converged(best)

    @property
    def whose(self) -> str:
        """Which trajectory of a batch an error is of."""
        return f"; trajectory {self.worst} is off most" if self.batch else ""

    def _run(self, method: Method, step: float) -> Trajectory | None:
        """A trial run with about this step, or None if it fails."""
        step = fitting(step, self.horizon)
        every = 1 + int(self.horizon / step * self.state / STORED)
        try:
            return self.go(method=method, step=step, duration=self.horizon, every=every)
        except StepError:
            return None

    def _converged(self, method: Method) -> tuple[np.ndarray, float]:
        """The reference at the end of the trial, and the largest kinetic energy."""
        step, before, gaps = min(self.tau, self.horizon) / 4, None, []
        while step >= FINEST * self.tau and not _level(gaps, method.order):
            if self.horizon > max(TRIED * step, TRIAL * self.tau):
                self.horizon /= 4
                step, before, gaps = min(self.tau, self.horizon) / 4, None, []
                continue
            run = self._run(method, step)
            if run is not None and run.t[-1] < self.t0 + 0.999 * self.horizon:
                # A terminal event has ended it: only what comes before is to be tried.
                self.horizon = 0.9 * (run.t[-1] - self.t0)
                step, before, gaps = min(self.tau, self.horizon) / 4, None, []
                continue
            here = None if run is None else self._looked(run)
            if run is not None and here is not None and before is not None:
                gaps.append(self._gap(here, before))
                if self._agreed(gaps, method.order):
                    return here, max(_kinetic(run), 1e-300)
                if gaps[-1] > 0.1 and step < self.tau / 64:  # not to be resolved for as long
                    self.horizon /= 2
                    step, before, gaps = min(self.tau, self.horizon) / 4, None, []
                    continue
            before = here
            step /= 2
        left = f", and still differ by {gaps[-1]:.1e} of the size" if gaps else ""
        raise StepError(
            "the motion could not be resolved",
            expected="trial runs that agree when their steps are halved",
            received=f"steps down to {2 * step:g} in a trial of {self.horizon:g}{left}{self.whose}",
            remedy=f"ask for less, as tolerance={min(10 * self.tolerance, MOST):g}, or give a step "
            "and a method",
            t=self.t0,
            index=0,
        )

    def _agreed(self, gaps: list[float], order: int) -> bool:
        """Whether trials agree as well as the tolerance asks, or as well as rounding lets them."""
        if gaps[-1] <= max(0.02 * self.tolerance, 1e-13):
            return True
        return _level(gaps, order) and max(gaps[-LEVEL:]) <= (1 - SAFETY) * self.tolerance

    def _looked(self, run: Trajectory) -> np.ndarray:
        """Positions, and velocities times τ, at the times at which trials are compared."""
        found = run.at(self.t0 + self.horizon * np.linspace(0.0, 1.0, LOOKS)[1:])
        return np.concatenate([found.q, self.whole * found.v], axis=-1)

    def _gap(self, here: np.ndarray, other: np.ndarray) -> float:
        """The largest difference, against the size of the system or the reach of the first."""
        size = max(self.size, _reach(here[..., : here.shape[-1] // 2]))
        gaps = np.abs(here - other).max(axis=(-2, -1)).reshape(-1)
        self.worst = int(np.argmax(gaps))
        return float(gaps.max() / size)

    def error(self, method: Method, step: float) -> float:
        """Of a trial with this step; infinite if it fails."""
        run = self._run(method, step)
        if run is None or not np.all(np.isfinite(run.q)):
            return np.inf
        energy = float(_energy_errors(run).max()) * _kinetic(run) / self.kinetic
        return max(self._gap(self.reference, self._looked(run)), energy)

    def choice(self, method: Method, most: float = np.inf) -> Choice | None:
        """The longest step with which this method meets the tolerance in the trial.

        None if there is none, or if the work for it is sure to be more than `most`.
        """
        parts = len(method.substeps) * (1.0 + 2.0 * (method.depth**2 - 1))
        step, goal = self.tau / 8, SAFETY * self.tolerance
        longest = min(self.horizon, self.tau / 2)
        good: float | None = None
        for _ in range(8):
            step = min(step, longest)
            error = self.error(method, step)
            if error <= goal:
                good = step if good is None else max(good, step)
            share = np.clip((goal / max(error, 1e-300)) ** (1.0 / method.order), SHRINK, 4.0)
            if good is not None and (0.7 < share < 1.3 or step >= longest or share < 1.0):
                break
            step *= 0.9 * share
            # The last share may have shortened the step by more than was necessary.
            if step < FINEST * self.tau or SHRINK * parts * self.duration > most * step:
                return None
        if good is None:
            return None
        step = fitting(good, self.duration)
        return Choice(method, step, parts * self.duration / step)


def _level(gaps: list[float], order: int) -> bool:
    """Whether halving has ceased to change gaps, after they fell as the order says: by rounding.

    What is seen only by shorter steps makes gaps larger than they were.
    """
    if len(gaps) < 2 * LEVEL:
        return False
    early, late = (float(np.median(x)) for x in (gaps[-2 * LEVEL : -LEVEL], gaps[-LEVEL:]))
    fell = np.array(gaps[1:]) < 0.5 ** (order / 2) * np.array(gaps[:-1])
    steep = bool(np.any(fell[1:] & fell[:-1]))
    return steep and FLAT[0] * early <= late <= FLAT[1] * min(gaps)


class Scales(NamedTuple):
    """Characteristic times, with forces over time and of the motion by itself, and a size."""

    quick: float
    whole: float
    size: float


def _reach(q: np.ndarray) -> float:
    """How far any coordinate goes."""
    return float(np.ptp(q, axis=-2).max())


def _scales(here: Snapshot, duration: float) -> Scales:
    """Characteristic times of the motion from its start, and the size of the system."""
    length = 1e7 * smallest_sizes(here, 1e-3 * duration)
    size = float(length.max())
    times, more = [duration], []
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
            more = _by_time(row, duration, size)
    whole, forced = (min(x for x in y if np.isfinite(x) and x > 0.0) for y in (times, times + more))
    return Scales(float(forced), float(whole), size)


def _by_time(row: Snapshot, duration: float, size: float) -> list[float]:
    """How strong, and how quick to change, forces at the start become with time."""
    t = row.t + duration * np.linspace(0.0, 1.0, SAMPLES)
    q, v, p = (np.tile(x, (TOGETHER, 1)) for x in (row.q, row.v, row.p))
    with np.errstate(all="ignore"):
        parts = t.reshape(-1, TOGETHER)
        a = np.concatenate([row.mechanics.accelerations(q, v, p, x, row.par)[0] for x in parts])
    largest = np.abs(a).max()
    change = np.abs(np.diff(a, axis=0)).max() / (t[1] - t[0])
    if not largest > 0.0 or not np.isfinite(largest):
        return []
    return [np.sqrt(size / largest)] + ([largest / change] if change > 0.0 else [])


__all__ = ["keeps_energy", "run_error", "tuned"]
