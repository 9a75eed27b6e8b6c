"""A run whose steps vary: how many there are is known at its end only.

The compiled steps keep the time themselves and return when the next step would go beyond the end;
one step of the steady method, as long as there is room, then lands there.  Rows that are stored
carry their time.
"""

from __future__ import annotations

import math
import time

import numpy as np

from taut.errors import InputError
from taut.kernel.compile import Workshop
from taut.kernel.fused import CLOCK, HEAD
from taut.march import loop
from taut.march.plan import Plan
from taut.march.rescue import rescued
from taut.march.run import CHUNK_SECONDS, Group, Run, handed
from taut.march.start import Start
from taut.march.trajectory import Ending, Trajectory
from taut.methods.base import Method
from taut.model.system import System
from taut.progress import Progress

MOST = 2**62  # steps
SLACK = 1e-9  # of a step: as near to the end as that is there
TICKS = 1000  # units of progress


class PacedRun(Run):
    """One call of `simulate` with steps that vary, while it is under way."""

    def __init__(
        self, model: System, shop: Workshop, method: Method, plan: Plan, values, keep
    ) -> None:
        if not shop.unrolled(method):
            raise InputError(
                "steps that vary are not available for systems of this size",
                expected="a system and a method small enough to be unrolled into one kernel",
                remedy=f"use {method.whole.name} with steps of one size",
            )
        end = float(plan.times(np.array([plan.last]))[0])
        self.t0, self.duration = plan.t0, end - plan.t0
        endless = Plan(end, plan.step, plan.step, plan.first, plan.first + MOST, plan.every)
        super().__init__(model, shop, method, endless, values, keep)

    @property
    def _expected(self) -> int:
        return math.ceil(self.duration / self.plan.step)

    def _given(self, step) -> np.ndarray:
        return handed(step, self.values, self.plan, 1.0 - SLACK)

    @property
    def width(self) -> int:
        return 3 * self.system.n + 1

    def _rows(self) -> np.ndarray:
        first = int(self.duration / self.plan.step / self.plan.every) + 16
        return np.arange(1, first + 1)  # room for these; it grows

    def begin(self, start: Start) -> None:
        if start.here.q.ndim > 1:
            raise InputError(
                "steps that vary are not available in a batch",
                expected="one trajectory, since each would have times of its own",
                received=f"{len(start.here.q)} of them",
                remedy="simulate them one by one",
            )
        super().begin(start)
        self.shop.step(self.method.steady, keep=self.keep)  # for the landing, outside the clock

    def resume(self, run: Trajectory, steps: np.ndarray, joint: int) -> None:
        self.single = True
        self.setbacks = list(run.ending.setbacks)
        self._make_groups([None])
        (group,) = self.groups
        self.books[:] = run.ending.books
        group.state[:, 0] = run.ending.states[0]
        group.endure(run.ending.setbacks[0])
        self._guard()

    def _inner(self, step, q, p, v, floor, par=None) -> np.ndarray:
        here = super()._inner(step, q, p, v, floor, par)
        pace = step.program.pace_at(q[:, 0], p[:, 0], v[:, 0], self.t0, self.values)
        density = 1.0 + 0.5 * self.plan.step * pace
        if not 0.0 < density < 100.0:
            raise InputError(
                "the scale changes too quickly at the start",
                expected="a scale that changes little within a step",
                received=f"d/dt ln(scale) = {-pace:.3g} with a step of {self.plan.step:g}",
                remedy="use a smaller step, or another scale",
            )
        return np.concatenate([here, np.array([[self.t0], [0.0], [density]])])

    # ---- marching ----------------------------------------------------------------------------

    def _drive(self, group: Group, bar: Progress) -> None:
        count, begun = self.chunk, group.state[-CLOCK, 0]
        ticked, whole = 0, self.plan.t0 - begun
        bar.expect(TICKS - MOST)
        if whole * group.state[-1, 0] < (1.0 - SLACK) * self.plan.step:  # no room for a whole step
            self._land(group)
            group.code = group.code or loop.CHART
        while not self.stopping and group.code == loop.DONE:
            self._make_room(group, count)
            begin, before = time.perf_counter(), group.done
            group.advance(self.plan, count, self.watch)
            if group.code == loop.FAILED and not rescued(self, group):
                break
            if group.code == loop.CHART:
                self._land(group)
            done = min(TICKS, int(TICKS * (group.state[-CLOCK, 0] - begun) / whole))
            bar.add(done - ticked)
            ticked = done
            if group.code in (loop.CHART, loop.FAILED, loop.EVENT):
                break
            spent = time.perf_counter() - begin
            if spent < CHUNK_SECONDS and group.done - before == count:
                count *= 4
        self._keep_last(group)
        self.total = group.done + (group.code not in (loop.CHART, loop.EVENT))

    def _make_room(self, group: Group, count: int) -> None:
        """So that `count` more steps can be stored."""
        more = group.row + count // self.plan.every + 3 - len(group.store)
        if more > 0:
            room = np.zeros((1, max(more, len(group.store)), self.width, 1))
            self.store = np.concatenate([self.store, room], axis=1)
            group.store = self.store[0]

    def _land(self, group: Group) -> None:
        """The rest of the way in one step of the steady method."""
        n, (now, _, density) = self.system.n, group.state[-CLOCK:, 0]
        rest = self.plan.t0 - now
        if not density > 0.0:
            group.code, group.books[0, loop.FAILED_AT] = loop.FAILED, group.done
            return
        if rest <= SLACK * self.plan.step / density:
            return
        step = self.shop.step(self.method.steady, keep=self.keep)
        plan = Plan(now, rest, rest, 0, 1, 1)
        given = handed(step, self.values, plan)
        last = Group([0], step, given, group.books, np.zeros((1, 3 * n, 1)))
        q, p, v = np.split(group.state[: 3 * n, 0], 3)
        held = step.first_inherited(q, p, v, now, self.values, group.state[:-CLOCK, 0])
        memory = step.first_memory(q, p, v)
        last.state[:, 0] = np.concatenate([group.state[: HEAD * n, 0], memory, held])
        last.advance(plan, 1, self.watch)
        if last.done == 0:
            group.code, group.books[0, loop.FAILED_AT] = loop.FAILED, group.done
            return
        if last.code == loop.EVENT:
            group.code = loop.EVENT
        group.state[: HEAD * n] = last.state[: HEAD * n]
        # The density where the next step begins, had this one been a part of it.
        q, p, v = np.split(group.state[: 3 * n, 0], 3)
        group.state[-CLOCK:, 0] = (
            self.plan.t0,
            0.0,
            group.step.program.density_after(density, rest, q, p, v, self.plan.t0, self.values),
        )
        group.done += 1

    def _keep_last(self, group: Group) -> None:
        """The last state is always stored."""
        now = group.state[-CLOCK, 0]
        kept = group.store[group.row - 1, -1, 0] if group.row else self.t0
        if now > kept:
            self._make_room(group, 1)
            group.store[group.row, :-1, 0] = group.state[: 3 * self.system.n, 0]
            group.store[group.row, -1, 0] = now
            group.row += 1

    # ---- results -----------------------------------------------------------------------------

    def trajectory(self, parameters, projected: bool, wall, compile_time, laws) -> Trajectory:
        n, (group,) = self.system.n, self.groups
        data = group.store[: group.row, :, 0]
        times = data[:, -1]
        if self.start is not None:
            data = np.concatenate([np.append(self.origin, [[0.0]], axis=1), data])
            times = np.append(self.t0, times)
        q, p, v = (data[:, i * n : (i + 1) * n].copy() for i in range(3))
        steps = np.array([int(self.books[0, loop.STEPS])])
        ending = Ending(
            [group.state[:, 0].copy()], self.books, [None], steps, False, self.plan.step,
            [group.setbacks], [group.keeps], [0],
        )  # fmt: skip
        return Trajectory(
            system=self.system, method=self.method, t=times, q=q, v=v, p=p, t0=self.t0,
            step=self.plan.step, every=self.plan.every, parameters=dict(parameters),
            keep=self.keep, projected=projected, wall_time=wall, compile_time=compile_time,
            laws=laws, ending=ending,
        )  # fmt: skip
