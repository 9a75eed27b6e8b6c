"""A run under way: trajectories in groups of SIMD lanes, driven by threads in chunks of steps.

The run is cut into chunks so that progress can be shown, Ctrl-C is heard, and a failure keeps
what had been computed.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from taut.errors import ProgressError, StepError
from taut.interrupts import Forced, between_states
from taut.kernel.compile import MANY, CompiledStep, Workshop, workshop
from taut.kernel.evaluate import Snapshot
from taut.kernel.native import lanes as simd_lanes
from taut.kernel.step_code import NOTES, PAR
from taut.march import loop
from taut.march.charts import best_chart, threshold
from taut.march.events import Watch
from taut.march.kept import watched
from taut.march.plan import Plan
from taut.march.rescue import NEVER, goes_on, guard, guarded, look
from taut.march.start import Start, smallest_sizes
from taut.march.trajectory import Ending, Trajectory
from taut.methods.base import Method, Step
from taut.model.system import System
from taut.progress import Progress

CHUNK_SECONDS = 0.1
# The simplified Newton iteration is given up after so many setbacks, and one in so many steps.
PATIENCE, RARE, GIVEN_UP = 100, 50, -1
UNGUARDED = np.zeros(0), np.inf


class Group:
    """Trajectories that advance together, one per lane.

    `books` has one row per lane, `store` one row per stored state with the lanes innermost; lanes
    that are left over repeat the last trajectory.
    """

    def __init__(self, members: list[int], step: CompiledStep, par, books, store, sheet=None):
        self.members, self.step, self.par = members, step, par
        self.books, self.store = books, store
        self.sheet = sheets(1, step)[0] if sheet is None else sheet
        self.row, self.done, self.code = 0, 0, loop.DONE
        self.setbacks = 0  # steps that the simplified Newton iteration could not make
        self.guard = UNGUARDED  # units of velocities, and by how much they may turn in a step
        self.look = NEVER  # the step before which it is asked again which constraints to keep
        self.keeps = [(-np.inf, step.keep)]  # which it keeps, from when on
        self.compiling = 0.0  # seconds

    @property
    def state(self) -> np.ndarray:
        """The inner states, one column per lane."""
        return self.sheet[: self.step.slots]

    @property
    def graves(self) -> np.ndarray:
        """The last good states of lanes that failed."""
        return self.sheet[self.step.slots : 2 * self.step.slots]

    def use(self, step: CompiledStep, state: np.ndarray) -> None:
        """Advance with this compiled step from now on."""
        self.step, self.sheet = step, sheets(1, step)[0]
        self.state[:, 0] = state
        self.endure(self.setbacks)

    @property
    def frail(self) -> bool:
        """Whether a step that cannot be made is tried again with `CompiledStep.thorough`.

        Lanes of a batch do not depend on each other: one that fails goes on alone instead.
        """
        return self.step.simplified and self.step.lanes == 1

    def advance(self, plan: Plan, count: int, watch: Watch | None = None) -> None:
        """Make up to `count` steps."""
        self._advance(plan, count, watch)
        if self.code == loop.FRAIL:
            begin, usual = time.perf_counter(), self.step
            self.step = usual.thorough
            self.compiling += time.perf_counter() - begin
            self._advance(plan, 1, watch)
            self.step = usual
            many = self.setbacks + 1 >= PATIENCE + (plan.first + self.done) / RARE
            self.endure(GIVEN_UP if many else self.setbacks + 1)

    def endure(self, setbacks: int) -> None:
        """There have been so many steps that only the exact matrix could make."""
        self.setbacks = setbacks
        if setbacks == GIVEN_UP and self.step.simplified:
            self.step = self.step.thorough

    def _advance(self, plan: Plan, count: int, watch: Watch | None) -> None:
        with self.step.guard:
            if watch is not None:
                made, self.row, self.code = watch.advance(self, plan, count)
            else:
                given = (
                    self.step.address, self.step.context, self.sheet, self.par, self.books,
                    self.store, self.row, plan.t0, plan.step, plan.end_step,
                    plan.first + self.done, count, plan.every, plan.last, self.frail,
                )  # fmt: skip
                guarded = len(self.guard[0]) > 0
                made, self.row, self.code = (
                    loop.guarded(*given, *self.guard) if guarded else loop.march(*given)
                )
        self.done += made

    @contextmanager
    def unguarded(self):
        """Whatever turns, turns."""
        guard, self.guard = self.guard, UNGUARDED
        try:
            yield
        finally:
            self.guard = guard


def handed(step: CompiledStep, values: np.ndarray, plan: Plan, charted: float = -1.0) -> np.ndarray:
    """What compiled steps are given besides the state: a row for all of them, one for the last.

    t₀, k and h are filled in by the loop.
    """
    usual = step.given(values, plan.step)
    rows = np.array([usual, step.given(values, plan.end_step) if plan.short else usual])
    rows[:, PAR.index("threshold")] = charted
    return rows


def sheets(count: int, step: CompiledStep) -> np.ndarray:
    """Work space of `count` groups (see `loop.march`); no lanes straddle cache lines."""
    size = count * (2 * step.slots + len(NOTES)) * step.lanes
    raw = np.zeros(size + 8)
    begin = -raw.ctypes.data % 64 // 8
    return raw[begin : begin + size].reshape(count, -1, step.lanes)


class Run:
    """One call of `simulate` while it is under way."""

    unsure = False  # whether a step failed because nobody can be sure of its branch

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
        self.charting = 0.0  # seconds spent on compiling charts while marching
        self.total = plan.last - plan.first
        self.numbers = self._rows()
        self.groups: list[Group] = []
        self.alone: dict[int, Group] = {}
        self.start: Start | None = None
        self.watch: Watch | None = None
        self.setbacks: list[int] = []  # of every trajectory, before this call

    def _rows(self) -> np.ndarray:
        """Numbers of the states that are stored."""
        return self.plan.kept()

    @property
    def width(self) -> int:
        """Values of a stored state."""
        return 3 * self.system.n

    @property
    def compiling(self) -> float:
        """Seconds spent on compiling while marching."""
        groups = [*self.groups, *self.alone.values()]
        return self.charting + sum(group.compiling for group in groups)

    # ---- beginnings --------------------------------------------------------------------------

    def begin(self, start: Start) -> None:
        """Set up the inner states from a consistent start."""
        self.start = start
        self.single = start.here.q.ndim == 1
        here = self._sampled(start.here.rows())
        correction = self.method.start_momentum(cast(Step, _Numeric(here, self.plan.step)), here.v)
        if correction is not None:
            here = replace(here, p=here.p + correction)
        q, v, p = here.q, here.v, here.p
        self.origin = np.concatenate([q, p, v], axis=1)
        floors = smallest_sizes(here, self.plan.step)
        self._make_groups([self._chart(x) for x in q])
        self.books[:, : loop.HEAD] = self._opened(here)[self.filled]
        if self.method.charted or not self.shop.unrolled(self.method) or here.par.ndim > 1:
            # One by one: charts may differ in length, parameters in value.
            for group, i in zip(self.groups, self.filled, strict=True):
                own = here[i].par
                group.state[:, 0] = self._inner(group.step, q[i], p[i], v[i], floors[i], own)
            self._guard()
            return
        inner = self._inner(self.groups[0].step, q.T, p.T, v.T, floors.T)[:, self.filled]
        wide = self.groups[0].step.lanes
        for k, group in enumerate(self.groups):
            group.state[:] = inner[:, k * wide : (k + 1) * wide]
        self._guard()

    def _guard(self) -> None:
        """Have an eye on how much velocities turn, where that is necessary."""
        for group in self.groups:
            guard(self, group)
        self.groups[0].advance(self.plan, 0)  # compiles the loop itself, outside the clock

    def _sampled(self, here: Snapshot) -> Snapshot:
        """The start with the parameters that it has there."""
        return here

    def resume(self, run: Trajectory, steps: np.ndarray, joint: int) -> None:
        """Set up the inner states from where `run` ended.

        A trajectory that is ahead of the others brings the rows after the first `joint` with it.
        """
        ending = run.ending
        self.single = run.batch is None
        q, p, v = (x.reshape(len(ending.states), len(run.t), -1) for x in (run.q, run.p, run.v))
        self.setbacks = list(ending.setbacks)
        self._make_groups(ending.charts, steps, ending.keeps)
        self.books[:] = ending.books[self.filled]
        at = 0
        for group in self.groups:
            group.done = int(steps[group.members[0]]) - self.plan.first
            group.endure(self.setbacks[group.members[0]] if self._apart(group.members) else 0)
            if group.look < NEVER and not ending.short:
                group.look = ending.looks[group.members[0]]
            if group.done:
                group.row = self.plan.rows_up_to(self.plan.first + group.done, run.t) - joint
            for lane in range(group.step.lanes):
                member = self.filled[at + lane]
                group.state[:, lane] = ending.states[member]
                ahead = [x[member, joint : joint + group.row] for x in (q, p, v)]
                group.store[: group.row, :, lane] = np.concatenate(ahead, axis=1)
            at += group.step.lanes
        self._guard()

    def _make_groups(self, charts, steps: np.ndarray | None = None, keeps=None) -> None:
        """Trajectories in groups of as many as there are lanes, all after the same steps."""
        count = len(charts)
        wide = self._wide(count)
        steps = np.zeros(count, dtype=np.int64) if steps is None else steps
        if not self.setbacks:
            self.setbacks = [0] * count
        given_up = np.array(self.setbacks) == GIVEN_UP
        alike = np.stack([steps, given_up], axis=1)
        equal = [np.flatnonzero((alike == x).all(axis=1)) for x in np.unique(alike, axis=0)]
        # The trajectory in each lane of each group; the rows of `books` belong to them.
        self.filled = np.concatenate([np.pad(x, (0, -len(x) % wide), mode="edge") for x in equal])
        self.books = np.zeros((len(self.filled), loop.SIZE))
        shape = (len(self.filled) // wide, len(self.numbers), self.width, wide)
        self.store = np.zeros(shape)
        keeps = [[(self.plan.t0, self.keep)]] * count if keeps is None else keeps
        kinds = [(chart, keep[-1][1]) for chart, keep in zip(charts, keeps, strict=True)]
        asked = self._expected * shape[0]
        made = {kind: self.compiled(wide, *kind, asked) for kind in set(kinds)}
        given = {kind: self._given(step) for kind, step in made.items()}
        work = sheets(shape[0], *made.values()) if len(made) == 1 else None
        for i, members in enumerate(self.filled.reshape(-1, wide).tolist()):
            here = slice(i * wide, (i + 1) * wide)
            kind = kinds[members[0]]
            parts = given[kind].copy(), self.books[here], self.store[i]
            sheet = None if work is None else work[i]
            group = Group(list(dict.fromkeys(members)), made[kind], *parts, sheet)
            group.look = 0 if self._watched else NEVER
            group.keeps = list(keeps[members[0]])
            self.groups.append(group)

    def _wide(self, count: int) -> int:
        """Trajectories in a group."""
        if self.single or self.method.charted or not self.shop.unrolled(self.method):
            return 1
        if self._watched or guarded(self.method, self.shop, self.keep):
            return 1  # each goes its own way
        return min(simd_lanes(), 1 << (count - 1).bit_length())

    def _apart(self, members: list[int]) -> bool:
        """Whether the setbacks of these are those of their group: alone, or given up together."""
        return len(members) == 1 or self.setbacks[members[0]] == GIVEN_UP

    def _given(self, step: CompiledStep) -> np.ndarray:
        """What compiled steps are given besides the state."""
        charted = threshold(self.system.n, len(self.keep)) if self.method.charted else -1.0
        return handed(step, self.values, self.plan, charted)

    @property
    def _expected(self) -> int:
        """Steps of a trajectory."""
        return self.total

    def compiled(self, lanes: int, chart, keep: tuple[int, ...], steps: int = 0) -> CompiledStep:
        """The run's own step, with these constraints kept: for so many steps, or to go on."""
        many = MANY if any(not group.step.draft for group in self.groups) else steps
        return self.shop.step(self.method, keep=keep, lanes=lanes, chart=chart, steps=many)

    @property
    def _watched(self) -> bool:
        """Whether it may have to keep other constraints later on."""
        return self.method.pace is None and watched(self.shop.mechanics, self.keep)

    def time(self, group: Group) -> float:
        """When a group is."""
        return self.plan.t0 + (self.plan.first + group.done) * self.plan.step

    def _chart(self, q: np.ndarray) -> tuple[int, ...] | None:
        if not self.method.charted:
            return None
        return best_chart(self.shop.mechanics, q, self.plan.t0, self.values, self.keep)

    def _inner(self, step: CompiledStep, q, p, v, floor, par=None) -> np.ndarray:
        """The inner state before the first step: a column, or one column per trajectory."""
        zero, move = np.zeros_like(q), self.plan.step * v
        values = self.values if par is None else par
        inherited = step.first_inherited(q, p, v, self.plan.t0, values)
        memory = step.first_memory(q, p, v)
        return np.concatenate([q, p, v, zero, p, zero, move, floor, memory, inherited])

    def _opened(self, here: Snapshot) -> np.ndarray:
        """The heads of the books at the start."""
        g, hidden = (np.abs(x).max(axis=1, initial=0.0) for x in (here.g, here.hidden))
        power = np.zeros(len(here.q))
        if not self.system.conservative:
            state, t, par = (here.q, here.v, here.p), here.t, here.par
            mechanics = here.mechanics.during(t, t + self.plan.step)
            multipliers = mechanics.accelerations(*state, t, par)[1]
            power = mechanics.power(*state, multipliers, t, par)
        return loop.opened(max_g=g, max_hidden=hidden, energy0=here.energy, power=power)

    # ---- marching ----------------------------------------------------------------------------

    def march(self, progress: Any) -> tuple[float, BaseException | None]:
        """Make all steps; (wall time, what stopped it)."""
        begin = time.perf_counter()
        bar = Progress(progress, sum(self.total - g.done for g in self.groups), self.system)
        error: BaseException | None = None
        threads = min(len(self.groups), self.threads)
        try:
            with between_states(self._stop), bar:
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
        except Forced:
            raise
        except (KeyboardInterrupt, ProgressError) as stopped:
            error = stopped
        wall = time.perf_counter() - begin - self.compiling
        self.ended = any(group.code == loop.EVENT for group in self.groups)
        unfinished = not self.ended and any(group.done < self.total for group in self._ends())
        if error is None and self.stopping and unfinished:
            error = KeyboardInterrupt()
        lost = np.any(self.books[:, loop.FAILED_AT] >= 0) and any(
            group.books[lane, loop.FAILED_AT] >= 0 for group, lane, _ in self._members()
        )
        if error is None and lost:
            error = Failure()
        return wall, error

    stopping = False

    @property
    def threads(self) -> int:
        """That may drive groups side by side."""
        return _threads()

    def _stop(self) -> None:
        """No more chunks: what is under way is finished, so that all states are whole."""
        self.stopping = True

    def _ask_for(self, group: Group, count: int) -> int:
        """How many of `count` steps can be made at once."""
        number = self.plan.first + group.done
        if number >= group.look:
            look(self, group)
        if self._switched and self.plan.short:
            whole = self.plan.last - 1 - number
            if whole == 0:
                self._powered(group)
            count = min(count, max(whole, 1))
        return min(count, self.total - group.done, group.look - number)

    @cached_property
    def _switched(self) -> bool:
        """Whether something jumps in time."""
        return any(local.switched for local in self.shop.mechanics.locals)

    def _powered(self, group: Group) -> None:
        """Enter the power with which the shorter last step begins: of means over its own length."""
        t, n = self.plan.t0 + (self.plan.last - 1) * self.plan.step, self.system.n
        q, p, v = (np.ascontiguousarray(group.state[i * n : (i + 1) * n].T) for i in range(3))
        par = group.par[0, len(PAR) : len(PAR) + len(self.values)]
        mechanics = self.shop.mechanics.during(t, t + self.plan.end_step)
        multipliers = mechanics.accelerations(q, v, p, t, par)[1]
        power = mechanics.power(q, v, p, multipliers, t, par)
        group.books[:, loop.BOOKS.index("power")] = power

    def heard(self, group: Group, number: int, state: np.ndarray) -> None:
        """Nobody is asked before step `number`, at a state that is not the group's."""

    def _drive(self, group: Group, bar: Progress) -> None:
        count = self.chunk
        while group.done < self.total and not self.stopping:
            begin = time.perf_counter()
            before = group.done
            ask = self._ask_for(group, count)
            group.advance(self.plan, ask, self.watch)
            if not goes_on(self, group):
                break
            bar.add(group.done - before)
            spent = time.perf_counter() - begin
            if spent < CHUNK_SECONDS and group.done - before == ask:
                count = min(4 * count, 1 << 40)
            elif spent > 2 * CHUNK_SECONDS:
                count = max(1, count // 2)
        self.chunk = count  # what the next group of a batch begins with
        if group.step.lanes > 1:
            self._salvage(group, bar)

    def _salvage(self, group: Group, bar: Progress) -> None:
        """Lanes that failed go on alone from where they stopped, as a single run would."""
        for lane, member in enumerate(group.members):
            failed = int(group.books[lane, loop.FAILED_AT])
            if failed < 0:
                continue
            here = slice(lane, lane + 1)
            step = self.compiled(1, None, self.keep)
            parts = self._given(step), group.books[here].copy(), group.store[:, :, here].copy()
            alone = Group([member], step, *parts)
            alone.state[:, 0] = group.graves[:, lane]
            alone.done, alone.row = failed - self.plan.first, int(np.sum(self.numbers <= failed))
            alone.books[0, loop.FAILED_AT] = -1.0
            alone.endure(self.setbacks[member])
            guard(self, alone)
            self.alone[member] = alone
            bar.expect(self.total - alone.done)
            self._drive(alone, bar)

    def _ends(self) -> list[Group]:
        """All groups in which a trajectory has come to its end."""
        return [group for group, _, _ in self._members()] if self.alone else self.groups

    def _members(self):
        """(group, lane, member) for every trajectory."""
        for group in self.groups:
            for lane, member in enumerate(group.members):
                alone = self.alone.get(member)
                yield (group, lane, member) if alone is None else (alone, 0, member)

    # ---- results -----------------------------------------------------------------------------

    def trajectory(self, parameters, projected: bool, wall, compile_time, laws) -> Trajectory:
        """What has been stored so far, and how to go on."""
        n, members = self.system.n, int(self.filled.max()) + 1
        rows = max(group.row for group in self._ends())
        numbers = self.numbers[:rows]
        first: Any = np.unique(self.filled, return_index=True)[1]  # lane of every trajectory
        if np.array_equal(first, np.arange(members)):
            first = slice(members)  # no copies
        by_lane = np.moveaxis(self.store[:, :rows], 3, 1).reshape(len(self.filled), rows, 3 * n)
        data, books = by_lane[first], self.books[first]
        states: list[np.ndarray] = [np.zeros(0)] * members
        charts: list[tuple[int, ...] | None] = [None] * members
        steps, setbacks = np.zeros(members, dtype=np.int64), [0] * members
        keeps, looks = [[(self.plan.t0, self.keep)]] * members, [0] * members
        for group in [*self.groups, *self.alone.values()]:
            inner = group.state.T.copy()
            for member, state in zip(group.members, inner, strict=False):
                states[member], charts[member] = state, group.step.chart
                keeps[member], looks[member] = group.keeps, group.look
                wide = group.step.lanes > 1 and group.setbacks != GIVEN_UP
                setbacks[member] = self.setbacks[member] if wide else group.setbacks
            steps[group.members] = self.plan.first + group.done
            if group.row < rows:
                data[group.members, group.row :] = np.nan
        for member, group in self.alone.items():
            data[member, : group.row] = group.store[: group.row, :, 0]
            data[member, group.row :], books[member] = np.nan, group.books[0]
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
        ending = Ending(
            states, books, charts, steps, short, self.plan.end_step, setbacks, keeps, looks
        )
        return Trajectory(
            system=self.system, method=self.method, t=times, q=q, v=v, p=p, t0=self.plan.t0,
            step=self.plan.step, every=self.plan.every, parameters=dict(parameters),
            keep=self.keep, projected=projected, wall_time=wall, compile_time=compile_time,
            laws=laws, ending=ending,
        )  # fmt: skip


def one_step(
    step: CompiledStep, q, v, p, t: float, h: float, par, floor: np.ndarray | None = None
) -> tuple[np.ndarray, ...]:
    """One compiled step from a bare state: (q₁, v₁, p₁, the whole inner state).

    The units of coordinates are those of a run that begins there, or `floor`.
    """
    mechanics = workshop(step.system).mechanics
    state = Snapshot(mechanics, q, v, p, t, par)
    least = smallest_sizes(state.rows(), h)[0] if floor is None else floor
    memory, inherited = step.first_memory(q, p, v), step.first_inherited(q, p, v, t, par)
    inner = np.concatenate([q, p, v, 0 * q, p, 0 * q, h * v, least, memory, inherited])
    after = trial(step, inner, t, h, par)
    if after is None:
        raise StepError("no step could be made", t=t, index=0)
    q1, p1, v1 = np.split(after[: 3 * step.system.n].copy(), 3)
    return q1, v1, p1, after


def trial(step: CompiledStep, inner: np.ndarray, t: float, h: float, par) -> np.ndarray | None:
    """The inner state after one compiled step, which belongs to no run; None if it failed."""
    plan = Plan(t, h, h, 0, 1, 1)
    books, store = np.zeros((1, loop.SIZE)), np.zeros((1, 3 * step.system.n, 1))
    books[:, : loop.HEAD] = loop.opened(energy0=np.zeros(1))
    group = Group([0], step, handed(step, par, plan), books, store)
    group.state[:, 0] = inner
    group.advance(plan, 1)
    return None if group.code == loop.FAILED else group.state[:, 0]


class Failure(Exception):
    """A step failed; the books say where."""


class _Numeric:
    """Enough of a `Step` to evaluate a method's start correction with numbers."""

    def __init__(self, here: Snapshot, h: float) -> None:
        self._here, self.h = here, h
        self.q, self.p, self.t = here.q, here.p, here.t

    def force(self, q, v, p, t):
        return self._here.mechanics.apply("force", t, self._here.par, q=q, v=v, p=p)


def _threads() -> int:
    chosen = os.environ.get("TAUT_THREADS", "")
    return int(chosen) if chosen.isdigit() and int(chosen) > 0 else (os.cpu_count() or 1)
