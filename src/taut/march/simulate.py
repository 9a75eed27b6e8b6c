"""`simulate`: a model and a start become a trajectory.

The run is cut into chunks so that progress can be shown, Ctrl-C is heard, and a failure keeps
what had been computed.  A batch is cut into groups of SIMD lanes that threads work through.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from taut.errors import ConstraintError, InputError, Interrupted, StepError
from taut.kernel.compile import CompiledStep, Workshop, workshop
from taut.kernel.fused import HEAD
from taut.kernel.native import lanes as simd_lanes
from taut.kernel.step_code import NOTES, PAR
from taut.march import loop
from taut.march.charts import best_chart, threshold
from taut.march.progress import Progress
from taut.march.start import Start, prepare, smallest_sizes
from taut.march.trajectory import Ending, Trajectory
from taut.methods.base import Method
from taut.methods.catalogue import method_of
from taut.model.system import System

CHUNK_SECONDS = 0.1


def simulate(
    model: System,
    *,
    q0: Any = None,
    v0: Any = None,
    p0: Any = None,
    t0: float = 0.0,
    duration: float,
    step: float,
    method: str | Method = "auto",
    every: int = 1,
    parameters: Mapping[Any, float] | None = None,
    project: bool = False,
    laws: Any = "auto",
    progress: Any = None,
) -> Trajectory:
    """Simulate a model and return its certified trajectory.

    Parameters
    ----------
    model : System
    q0 : array_like, shape (n,) or (B, n)
        Start; two dimensions run a batch.
    v0, p0 : array_like, shape (n,) or (B, n), or one number
        Exactly one of them; ``v0=0`` starts from rest.
    t0, duration, step : float
        ``duration/step`` steps are taken (a last shorter one if that is not a whole number).
    method : str or Method
        A name from the catalogue, ``"auto"``, or a method object.
    every : int
        Keep every k-th state (the start and the last state always).
    parameters : mapping, optional
        Values for the system's parameters in this run.
    project : bool
        Take the nearest consistent state if the start breaks the constraints.
    laws : "auto", None, or SymPy expressions of q, v, p, t (a list, or a mapping name → expression)
        Quantities the certificate watches besides the energy.
    progress : bool or callable, optional
        A bar on long runs in a terminal by default; ``callable(done, total)`` to be told.

    Returns
    -------
    Trajectory

    Examples
    --------
    >>> import taut
    >>> x, y = taut.coordinates("x y")
    >>> pendulum = taut.System([x, y], mass=[1, 1], potential=10*y, constraints=[x**2 + y**2 - 1])
    >>> run = taut.simulate(pendulum, q0=[1, 0], v0=0, duration=10, step=0.01)
    >>> bool(abs(run.constraints).max() < 1e-15)
    True
    """
    if not isinstance(model, System):
        raise InputError(
            "there is nothing to simulate", expected="a taut.System", received=type(model).__name__
        )
    chosen = method_of(method)
    plan = Plan.of(t0, duration, step, every)
    values = model.values(parameters)
    watched = _watched(model, laws)
    shop = workshop(model)
    begin = time.perf_counter()
    start = prepare(shop.mechanics, q0, v0, p0, plan.t0, values, project)
    with _roomy(plan):
        run = _Run(model, shop, chosen, plan, values, start.keep)
        run.begin(start)
    compile_time = time.perf_counter() - begin
    wall, error = run.march(progress)
    named = dict(zip(model.parameters, values.tolist(), strict=True))
    compile_time += run.compiling
    trajectory = run.trajectory(named, start.projected, wall, compile_time, watched)
    if error is not None:
        raise _explained(error, trajectory, run)
    _check_dropped(trajectory)
    return trajectory


def _check_dropped(run: Trajectory) -> None:
    """Constraints left out as redundant at the start must hold along the whole run."""
    system = run.system
    dropped = [i for i in range(system.c) if i not in run.keep]
    if not dropped or not run.method.keeps_constraints:
        return
    g = np.abs(run.constraints[..., dropped])
    size = (
        workshop(system)
        .mechanics.apply(
            "size", np.tile(run.t, run.batch or 1), run._par, q=run.q.reshape(-1, system.n)
        )
        .reshape(*run.q.shape[:-1], system.c)[..., dropped]
    )
    broken = np.argwhere(~(g <= 1e-9 * size + 1e-300))
    if not len(broken):
        return
    row, which = int(broken[0][-2]), dropped[int(broken[0][-1])]
    raise ConstraintError(
        f"constraint {system.constraint_names[which]} does not hold at t = {run.t[row]:g}",
        expected="a constraint that follows from the others, as it did at the start",
        received=f"g = {run.constraints[tuple(broken[0][:-1])][which]:.3g}",
        remedy="the constraints contradict each other there; error.partial holds the run",
        partial=run,
    )


def continued(run: Trajectory, duration: float, progress: Any = None) -> Trajectory:
    """`run` and what comes after it for `duration`, as one trajectory."""
    ending = run.ending
    if np.any(ending.books[:, loop.FAILED_AT] >= 0):
        raise InputError(
            "a run that failed cannot go on",
            expected="a run that was completed or interrupted",
            remedy="simulate from its last state with a smaller step"
            + ("" if run.batch is None else "; the others go on alone: run[i].continue_(…)"),
        )
    # After a shortened last step the grid of times starts anew at the last state.
    steps = np.zeros_like(ending.steps) if ending.short else ending.steps
    t0 = float(run.t[-1]) if ending.short else run.t0
    plan = Plan.of(t0, duration, run.step, run.every, first=int(steps.max()))
    plan = replace(plan, first=int(steps.min()))  # those that are behind catch up
    # The last state of the first part is kept only if one long run would have kept it.
    joint = len(run.t) if ending.short else plan.rows_up_to(plan.first, run.t)
    shop = workshop(run.system)
    values = np.array([run.parameters[name] for name in run.system.parameters])
    with _roomy(plan):
        work = _Run(run.system, shop, run.method, plan, values, run.keep)
        work.resume(run, steps, joint)
    wall, error = work.march(progress)
    more = work.trajectory(
        run.parameters, run.projected, run.wall_time + wall, run.compile_time, run.laws
    )
    joined = replace(
        more,
        t=np.concatenate([run.t[:joint], more.t]),
        **{
            name: np.concatenate([getattr(run, name)[..., :joint, :], getattr(more, name)], axis=-2)
            for name in ("q", "v", "p")
        },
    )
    if error is not None:
        raise _explained(error, joined, work)
    return joined


@dataclass(frozen=True)
class Plan:
    """Which steps are made: numbers `first` … `last − 1` at t0 + k·step."""

    t0: float
    step: float
    end_step: float
    first: int
    last: int
    every: int

    @classmethod
    def of(cls, t0, duration, step, every, first: int = 0) -> Plan:
        """Check the numbers of a call and count its steps."""
        t0, duration, step = (
            _number(*x) for x in (("t0", t0), ("duration", duration), ("step", step))
        )
        if step <= 0:
            raise InputError("step must be positive", expected="step > 0", received=step)
        if duration <= 0:
            raise InputError(
                "duration must be positive", expected="duration > 0", received=duration
            )
        if step > duration * (1 + 1e-9):
            raise InputError(
                "step is longer than duration",
                expected=f"step ≤ duration = {duration:g}",
                received=step,
                remedy="choose a smaller step",
            )
        if isinstance(every, bool) or not isinstance(every, int | np.integer) or every < 1:
            raise InputError(
                "every must be a whole number", expected="every ≥ 1", received=repr(every)
            )
        every = min(int(every), 2**62)
        ratio = duration / step
        if not ratio < 2**53:
            raise InputError(
                "there are too many steps",
                expected="duration/step < 2⁵³",
                received=f"{duration:g}/{step:g}",
                remedy="choose a larger step",
            )
        whole = round(ratio)
        if abs(ratio - whole) <= max(1e-9, 4e-16 * ratio):
            return cls(t0, step, step, first, first + whole, every)
        whole = int(ratio)
        return cls(t0, step, duration - whole * step, first, first + whole + 1, every)

    @property
    def short(self) -> bool:
        """Whether the last step is shorter than the others."""
        return self.end_step != self.step

    def kept(self) -> np.ndarray:
        """Numbers of the states that are stored by the march (the start is not among them)."""
        grid = np.arange((self.first // self.every + 1) * self.every, self.last + 1, self.every)
        return grid if len(grid) and grid[-1] == self.last else np.append(grid, self.last)

    def rows_up_to(self, number: int, t: np.ndarray) -> int:
        """How many rows of an earlier part with times `t` are on the grid, up to this number."""
        here = self.t0 + number * self.step
        count = int(np.searchsorted(t, here, side="right"))
        return count - 1 if number % self.every and t[count - 1] == here else count

    def times(self, numbers: np.ndarray) -> np.ndarray:
        """Times of the states with these numbers."""
        t = self.t0 + numbers * self.step
        if self.short:
            t = np.where(
                numbers == self.last, self.t0 + (self.last - 1) * self.step + self.end_step, t
            )
        return t


class _Group:
    """Trajectories that advance together, one per lane."""

    def __init__(
        self, members: list[int], step: CompiledStep, plan: Plan, values: np.ndarray, rows: int
    ) -> None:
        self.members = members
        self.par = np.concatenate([np.zeros(len(PAR)), values])
        charted = step.chart is not None
        self.par[PAR.index("threshold")] = (
            threshold(step.system.n, len(step.keep)) if charted else -1.0
        )
        self.notes = np.zeros((len(NOTES), step.lanes))
        self.store = np.zeros((step.lanes, rows, 3 * step.system.n))
        self.row, self.done, self.code = 0, 0, loop.DONE
        self.state = np.zeros((step.slots, step.lanes))
        self.graves = np.zeros((step.slots, step.lanes))
        self.books = np.zeros((step.lanes, loop.SIZE))
        self.use(step)

    def use(self, step: CompiledStep) -> None:
        """Advance with this compiled step from now on."""
        self.step = step
        self.addresses = np.array(
            [x.ctypes.data for x in (self.state, self.par, self.notes)], dtype=np.int64
        )

    def advance(self, plan: Plan, count: int) -> None:
        """Make up to `count` steps."""
        with self.step.guard:
            made, self.row, self.code = loop.march(
                self.step.address, self.step.context, self.state, self.par, self.notes,
                self.addresses, self.books, self.graves, self.store, self.row, plan.t0, plan.step,
                plan.end_step, plan.first + self.done, count, plan.every, plan.last,
            )  # fmt: skip
        self.done += made


class _Run:
    """One call of `simulate` while it is under way."""

    def __init__(
        self,
        model: System,
        shop: Workshop,
        method: Method,
        plan: Plan,
        values: np.ndarray,
        keep: tuple[int, ...],
    ) -> None:
        self.shop, self.method, self.plan, self.values, self.keep = shop, method, plan, values, keep
        self.system = model  # the workshop may belong to an equal system
        self.chunk = 1
        self.compiling = 0.0  # seconds spent on charts while marching
        self.total = plan.last - plan.first
        self.numbers = plan.kept()
        self.groups: list[_Group] = []
        self.alone: dict[int, _Group] = {}
        self.start: Start | None = None

    # ---- beginnings --------------------------------------------------------------------------

    def begin(self, start: Start) -> None:
        """Set up the inner states from a consistent start."""
        self.start = start
        q, v, p = (np.atleast_2d(x) for x in (start.q, start.v, start.p))
        self.single = start.q.ndim == 1
        p = np.array([self._start_momentum(*row) for row in zip(q, v, p, strict=True)])
        self.origin = np.concatenate([q, p, v], axis=1)
        books = self._opened(q, v, p)
        charts = [self._chart(x) for x in q]
        scales = smallest_sizes(
            self.shop.mechanics, q, v, p, self.plan.t0, self.plan.step, self.values
        )
        self._make_groups(charts)
        if not self.method.charted and self.shop.small:  # one call for all of a batch
            inner = self._inner(self.groups[0].step, q.T, p.T, v.T, scales)
        else:
            steps = {member: g.step for g in self.groups for member in g.members}
            rows = enumerate(zip(q, p, v, scales, strict=True))
            inner = np.stack([self._inner(steps[i], *row) for i, row in rows], axis=1)
        for group in self.groups:
            members = [member for _, member in self._lanes(group)]
            group.state[:] = inner[:, members]
            group.books[:] = books[members]

    def resume(self, run: Trajectory, steps: np.ndarray, joint: int) -> None:
        """Set up the inner states from where `run` ended.

        A trajectory that is ahead of the others brings the rows after the first `joint` with it.
        """
        ending = run.ending
        self.single = run.batch is None
        q, p, v = (x.reshape(len(ending.states), len(run.t), -1) for x in (run.q, run.p, run.v))
        self._make_groups(ending.charts, steps)
        for group in self.groups:
            group.done = int(steps[group.members[0]]) - self.plan.first
            if group.done:
                group.row = self.plan.rows_up_to(self.plan.first + group.done, run.t) - joint
            for lane, member in self._lanes(group):
                group.state[:, lane] = ending.states[member]
                group.books[lane] = ending.books[member]
                ahead = [x[member, joint : joint + group.row] for x in (q, p, v)]
                group.store[lane, : group.row] = np.concatenate(ahead, axis=1)

    def _lanes(self, group: _Group):
        """(lane, member) with the last member repeated where lanes are left over."""
        return [(k, group.members[min(k, len(group.members) - 1)]) for k in range(group.step.lanes)]

    def _make_groups(self, charts, steps: np.ndarray | None = None) -> None:
        """Trajectories in groups of as many as there are lanes, all after the same steps."""
        count = len(charts)
        wide = 1
        if not self.single and self.shop.small and not self.method.charted:
            wide = min(simd_lanes(), 1 << (count - 1).bit_length())
        steps = np.zeros(count, dtype=np.int64) if steps is None else steps
        for number in np.unique(steps):
            alike = np.flatnonzero(steps == number).tolist()
            for at in range(0, len(alike), wide):
                members = alike[at : at + wide]
                step = self._compiled(wide, charts[members[0]])
                self.groups.append(_Group(members, step, self.plan, self.values, len(self.numbers)))
        self.groups[0].advance(self.plan, 0)  # compiles the loop itself, outside the clock

    def _compiled(self, lanes: int, chart) -> CompiledStep:
        return self.shop.step(self.method, keep=self.keep, lanes=lanes, chart=chart)

    def _chart(self, q: np.ndarray) -> tuple[int, ...] | None:
        if not self.method.charted:
            return None
        return best_chart(self.shop.mechanics, q, self.plan.t0, self.values, self.keep)

    def _inner(self, step: CompiledStep, q, p, v, scale) -> np.ndarray:
        """The inner state before the first step: a column, or one column per lane."""
        zero, scale = np.zeros_like(q), np.atleast_2d(scale) if q.ndim > 1 else [scale]
        move, memory = self.plan.step * v, step.first_memory(q, p, v)
        return np.concatenate([q, p, v, zero, p, zero, move, scale, memory])

    def _start_momentum(self, q, v, p) -> np.ndarray:
        step: Any = _Numeric(self.shop, q, p, self.plan, self.values)
        correction = self.method.start_momentum(step, v)
        return p if correction is None else p + correction

    def _opened(self, q, v, p) -> np.ndarray:
        m, t, par = self.shop.mechanics, self.plan.t0, self.values
        energy = m.energy(q, v, p, t, par)
        g, hidden = (
            np.abs(x).max(axis=1, initial=0.0) for x in (m.g(q, t, par), m.hidden(q, v, t, par))
        )
        power = np.zeros(len(q))
        if not self.system.conservative:
            lam = np.array([m.accelerations(*row, t, par)[1] for row in zip(q, v, p, strict=True)])
            power = m.power(q, v, p, lam, t, par)
        return np.array([loop.opened(*row) for row in zip(g, hidden, energy, power, strict=True)])

    # ---- marching ----------------------------------------------------------------------------

    def march(self, progress: Any) -> tuple[float, BaseException | None]:
        """Make all steps; (wall time, what stopped it)."""
        begin = time.perf_counter()
        bar = Progress(progress, sum(self.total - g.done for g in self.groups), self.system)
        error: BaseException | None = None
        threads = min(len(self.groups), _threads())
        try:
            with bar, _heard(self._stop):
                if threads <= 1:
                    for group in self.groups:
                        self._drive(group, bar)
                else:
                    with ThreadPoolExecutor(threads) as pool:
                        try:
                            list(pool.map(lambda group: self._drive(group, bar), self.groups))
                        except BaseException:
                            self._stop()
                            raise
        except KeyboardInterrupt as interrupt:
            error = interrupt
        wall = time.perf_counter() - begin - self.compiling
        unfinished = any(group.done < self.total for group, _, _ in self._members())
        if error is None and self.stopping and unfinished:
            error = KeyboardInterrupt()
        if error is None and any(g.books[k, loop.FAILED_AT] >= 0 for g, k, _ in self._members()):
            error = _Failure()
        return wall, error

    stopping = False

    def _stop(self) -> None:
        """No more chunks: what is under way is finished, so that all states are whole."""
        self.stopping = True

    def _drive(self, group: _Group, bar: Progress) -> None:
        count = self.chunk
        while group.done < self.total and not self.stopping:
            begin = time.perf_counter()
            before = group.done
            group.advance(self.plan, min(count, self.total - group.done))
            if group.code == loop.FAILED and not self._rescued(group):
                break
            if group.code == loop.CHART:
                self._switch(group)
            bar.add(group.done - before)
            spent = time.perf_counter() - begin
            if spent < CHUNK_SECONDS and group.done - before == count:
                count = min(4 * count, 1 << 40)
            elif spent > 2 * CHUNK_SECONDS:
                count = max(1, count // 2)
        self.chunk = count  # what the next group of a batch begins with
        if group.step.lanes > 1:
            self._salvage(group, bar)

    def _salvage(self, group: _Group, bar: Progress) -> None:
        """Lanes that failed go on alone from where they stopped, as a single run would."""
        for lane, member in enumerate(group.members):
            failed = int(group.books[lane, loop.FAILED_AT])
            if failed < 0:
                continue
            alone = _Group(
                [member], self._compiled(1, None), self.plan, self.values, len(self.numbers)
            )
            alone.state[:, 0] = group.graves[:, lane]
            alone.books[0] = group.books[lane]
            alone.done, alone.row = failed - self.plan.first, int(np.sum(self.numbers <= failed))
            alone.store[0] = group.store[lane]
            alone.code = loop.FAILED
            self.alone[member] = alone
            if self._rescued(alone):
                bar.expect(self.total - alone.done)
                self._drive(alone, bar)

    def _switch(self, group: _Group) -> None:
        """Change to the best chart at the present state."""
        n, old = self.system.n, group.step
        q, p, v = (group.state[i * n : (i + 1) * n, 0].copy() for i in range(3))
        t = self.plan.t0 + (self.plan.first + group.done) * self.plan.step
        chart = best_chart(self.shop.mechanics, q, t, self.values, self.keep)
        if chart == old.chart:
            return
        begin = time.perf_counter()
        step = self._compiled(1, chart)
        self.compiling += time.perf_counter() - begin
        inner = self._inner(step, q, p, v, group.state[HEAD * n, 0])
        inner[: HEAD * n] = group.state[: HEAD * n, 0]
        group.state = inner[:, None].copy()
        group.graves = np.zeros_like(group.state)
        group.books[0, loop.CHARTS] += 1
        group.use(step)

    def _rescued(self, group: _Group) -> bool:
        """A failed step is tried once more without extrapolation, from the methods' own guess.

        In a chart of independent coordinates, also with the chart that is best by now.
        """
        if group.step.lanes > 1 or group.code != loop.FAILED:
            return False
        n = self.system.n
        if group.step.chart is not None:
            self._switch(group)
        q, p, v = (group.state[i * n : (i + 1) * n, 0].copy() for i in range(3))
        remembered = group.state[HEAD * n + 1 :, 0].copy()
        fresh = group.step.first_memory(q, p, v)
        group.books[0, loop.FAILED_AT] = -1.0
        group.state[HEAD * n + 1 :, 0] = fresh
        before = group.done
        group.advance(self.plan, 1)
        if group.done == before:
            group.state[HEAD * n + 1 :, 0] = remembered
            return False
        return True

    def _members(self):
        """(group, lane, member) for every trajectory."""
        for group in self.groups:
            for lane, member in enumerate(group.members):
                alone = self.alone.get(member)
                yield (group, lane, member) if alone is None else (alone, 0, member)

    # ---- results -----------------------------------------------------------------------------

    def trajectory(self, parameters, projected: bool, wall, compile_time, laws) -> Trajectory:
        """What has been stored so far, and how to go on."""
        n, members = self.system.n, sum(len(g.members) for g in self.groups)
        ends = list(self._members())
        rows = max(group.row for group, _, _ in ends)
        numbers = self.numbers[:rows]
        data = np.full((members, rows, 3 * n), np.nan)
        states: list[np.ndarray] = [np.zeros(0)] * members
        charts: list[tuple[int, ...] | None] = [None] * members
        books = np.zeros((members, loop.SIZE))
        steps = np.zeros(members, dtype=np.int64)
        for group, lane, member in ends:
            data[member, : group.row] = group.store[lane, : group.row]
            states[member] = group.state[:, lane].copy()
            charts[member] = group.step.chart
            books[member] = group.books[lane]
            steps[member] = self.plan.first + group.done
        # The last state of a run that ended between two stored ones.
        stored = numbers[-1] if rows else self.plan.first - self.plan.first % self.plan.every
        if members == 1 and steps[0] > stored:
            last = states[0][: 3 * n]
            data = np.concatenate([data, last[None, None, :]], axis=1)
            numbers = np.append(numbers, steps[0])
        times = self.plan.times(numbers)
        if self.start is not None:
            data = np.concatenate([self.origin[:, None, :], data], axis=1)
            times = np.concatenate([[self.plan.t0], times])
        if self.single:
            data = data[0]
        q, p, v = (data[..., i * n : (i + 1) * n] for i in range(3))
        short = self.plan.short and bool(steps.max() == self.plan.last)
        ending = Ending(states, books, charts, steps, short)
        return Trajectory(
            system=self.system, method=self.method, t=times, q=q, v=v, p=p, t0=self.plan.t0,
            step=self.plan.step, every=self.plan.every, parameters=dict(parameters),
            keep=self.keep, projected=projected, wall_time=wall, compile_time=compile_time,
            laws=laws, ending=ending,
        )  # fmt: skip


def one_step(step: CompiledStep, q, v, p, t: float, h: float, par) -> tuple[np.ndarray, ...]:
    """One compiled step from a bare state: (q₁, v₁, p₁, the whole inner state)."""
    plan = Plan(t, h, h, 0, 1, 1)
    group = _Group([0], step, plan, par, 1)
    mechanics = workshop(step.system).mechanics
    (scale,) = smallest_sizes(mechanics, q[None], v[None], p[None], t, h, par)
    group.state[:, 0] = np.concatenate(
        [q, p, v, 0 * q, p, 0 * q, h * v, [scale], step.first_memory(q, p, v)]
    )
    group.books[0] = loop.opened(0.0, 0.0, 0.0, 0.0)
    group.par[PAR.index("threshold")] = -1.0
    group.advance(plan, 1)
    if group.code == loop.FAILED:
        raise StepError("no step could be made", t=t, index=0)
    q1, p1, v1 = np.split(group.state[: 3 * step.system.n, 0].copy(), 3)
    return q1, v1, p1, group.state[:, 0]


class _Failure(Exception):
    """A step failed; the books say where."""


class _Numeric:
    """Enough of a `Step` to evaluate a method's start correction with numbers."""

    def __init__(self, shop: Workshop, q, p, plan: Plan, values) -> None:
        self._m, self._par = shop.mechanics, values
        self.q, self.p, self.t, self.h = q, p, plan.t0, plan.step

    def force(self, q, v, p, t):
        return self._m.apply("force", t, self._par, q=q, v=v, p=p)


def _explained(error: BaseException, partial: Trajectory, run: _Run) -> BaseException:
    """The error a user sees, with the partial trajectory."""
    if isinstance(error, KeyboardInterrupt):
        return Interrupted(
            f"interrupted at t = {partial.t[-1]:g}",
            remedy="error.partial holds the trajectory so far; error.partial.continue_(…) goes on",
            partial=partial,
        )
    failed = partial.ending.books[:, loop.FAILED_AT]
    which = np.flatnonzero(failed >= 0)
    index = int(failed[which].min())
    t = run.plan.t0 + index * run.plan.step
    many = "" if partial.batch is None else f" for trajectories {which[:8].tolist()}"
    return StepError(
        f"no step could be made at t = {t:g} (step {index}){many}",
        expected="Newton to converge to a finite state near the one before",
        received=f"method {run.method.name}, step {run.plan.step:g}",
        remedy="use a smaller step; error.partial holds the trajectory up to here",
        t=t,
        index=index,
        partial=partial,
    )


@contextmanager
def _roomy(plan: Plan):
    """Too many states to be stored are the user's to hear of."""
    try:
        yield
    except MemoryError as error:
        raise InputError(
            "the states do not fit into memory",
            received=f"{(plan.last - plan.first) // plan.every:,} of them",
            remedy="keep fewer with every=…",
        ) from error


@contextmanager
def _heard(stop: Callable[[], None]):
    """Ctrl-C calls `stop` instead of breaking in half-way; a second one breaks in."""
    quiet = signal.default_int_handler
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not quiet:
        yield
        return

    def heard(*_: object) -> None:
        signal.signal(signal.SIGINT, quiet)
        stop()

    signal.signal(signal.SIGINT, heard)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, quiet)


def _threads() -> int:
    chosen = os.environ.get("TAUT_THREADS", "")
    return int(chosen) if chosen.isdigit() and int(chosen) > 0 else (os.cpu_count() or 1)


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} is not a number", expected="a finite number", received=repr(value)
        ) from error
    if not np.isfinite(number):
        raise InputError(f"{name} is not finite", expected="a finite number", received=number)
    return number


def _watched(model: System, laws: Any) -> Any:
    """Laws as given, or a mapping name → expression in the system's symbols."""
    if laws is None or (isinstance(laws, str) and laws == "auto"):
        return laws
    if isinstance(laws, str) or not isinstance(laws, Mapping | Iterable):
        raise InputError(
            "laws cannot be watched",
            expected='"auto", None, a list of expressions or a mapping name → expression',
            received=repr(laws),
        )
    named = laws if isinstance(laws, Mapping) else {str(e): e for e in laws}
    return {str(name): model.read(e) for name, e in named.items()}


__all__ = ["continued", "simulate"]
