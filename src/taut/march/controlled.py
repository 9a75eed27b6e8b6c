"""A run with controllers: from sample to sample, each trajectory by itself.

Held values are parameters, which compiled steps read anew whenever they are called.  Where they
jump, the power of the forces does too; the books count the work of a step by the trapezoidal rule,

    W ∋ h/2 (P(state before, held values) + P(state after, held values)),

so the power at the beginning of a step is brought up to date with every sample.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import sympy as sp

from taut.errors import ControlError, InputError
from taut.kernel.compile import CompiledMap
from taut.kernel.evaluate import Snapshot
from taut.kernel.operators import translated
from taut.kernel.step_code import NOTES, PAR
from taut.march import loop
from taut.march.held import Held, Sampler
from taut.march.rescue import goes_on
from taut.march.run import CHUNK_SECONDS, Group, Run
from taut.march.trajectory import Trajectory
from taut.model.controls import Channel
from taut.model.system import System
from taut.progress import Progress

POWER, SINCE, ROUGH = (NOTES.index(x) for x in ("power", "since", "rough"))
LONGEST = 64  # steps between two looks at the clock


class ControlledRun(Run):
    """One call of `simulate` with controllers, while it is under way."""

    def __init__(self, model, shop, method, plan, values, keep) -> None:
        if method.pace is not None:
            raise InputError(
                "controls are not available with steps that vary",
                expected="steps of one size, at whose beginnings controllers are asked",
                received=method.name,
                remedy=f"use {method.whole.name}",
            )
        super().__init__(model, shop, method, plan, values, keep)
        self.problem: ControlError | None = None

    @property
    def threads(self) -> int:
        return 1  # controllers are the user's, and may share what they remember

    def _wide(self, count: int) -> int:
        return 1  # lanes would share their parameters

    def controlled_by(self, channels: list[Channel], held: Held | None = None) -> None:
        """Who is asked; before `begin` or `resume`."""
        self.sampler = Sampler(self.system, channels, self.plan.step, held)

    def _sampled(self, here: Snapshot) -> Snapshot:
        self.sampler.begin(len(here.q))
        states = np.concatenate([here.q, here.p, here.v], axis=1)
        first, k = [], self.plan.first
        for member, state in enumerate(states):
            values = self.values.copy()
            self.sampler.ask(member, self.plan.t0, k, state, values)
            first.append(values)
        return replace(here, par=np.array(first))

    def _make_groups(self, charts, steps=None, keeps=None) -> None:
        super()._make_groups(charts, steps, keeps)
        for group in self.groups:
            self._hold(group, self.sampler.last(group.members[0], self.values))

    def _hold(self, group: Group, values: np.ndarray) -> None:
        """From now on these parameters."""
        group.par[:, len(PAR) : len(PAR) + len(values)] = values
        if group.step.program.tables:
            rows = [group.step.given(values, h) for h in (self.plan.step, self.plan.end_step)]
            group.par[:, len(PAR) :] = np.array(rows)[:, len(PAR) :]

    # ---- marching ----------------------------------------------------------------------------

    def march(self, progress: Any) -> tuple[float, BaseException | None]:
        wall, error = super().march(progress)
        return wall, self.problem or error

    def _drive(self, group: Group, bar: Progress) -> None:
        told, looked = group.done, time.perf_counter()
        while group.done < self.total and not self.stopping:
            k = self.plan.first + group.done
            try:
                self._ask(group, k)
            except ControlError as error:
                self.problem = error
                self._stop()
                break
            count = self._ask_for(group, min(self.sampler.gap(k), LONGEST))
            group.advance(self.plan, count, self.watch)
            try:
                if not goes_on(self, group):
                    break
            except ControlError as error:
                self.problem = error
                self._stop()
                break
            now = time.perf_counter()
            if now - looked > CHUNK_SECONDS:
                bar.add(group.done - told)
                told, looked = group.done, now
        bar.add(group.done - told)

    def heard(self, group: Group, number: int, state: np.ndarray) -> None:
        self._ask(group, number, state.copy())

    def _ask(self, group: Group, k: int, state: np.ndarray | None = None) -> None:
        """What the controllers say before step k, if they are due; at the group's state or this."""
        (member,), t = group.members, self.plan.t0 + k * self.plan.step
        if not self.sampler.due(member, t, k):
            return
        old = group.par[0, len(PAR) : len(PAR) + len(self.values)].copy()
        new = old.copy()
        state = group.state[: self.width, 0].copy() if state is None else state
        self.sampler.ask(member, t, k, state, new)
        if new.tobytes() != old.tobytes():
            self._hold(group, new)
            group.books[0, POWER] += self._jump(state, t, old, new)
            group.books[0, ROUGH] += group.books[0, SINCE] < 1.5  # one step since the last time
            group.books[0, SINCE] = 0.0

    def _jump(self, state: np.ndarray, t: float, old: np.ndarray, new: np.ndarray) -> float:
        """By how much the power changes at a state."""
        n = self.system.n
        if self.system.rheonomic:  # reactions of moving constraints change, too
            q, p, v = state[:n], state[n : 2 * n], state[2 * n :]
            return self._power(q, v, p, t, new) - self._power(q, v, p, t, old)
        row, ready = self._buffer
        row[0, :n], row[0, n : 2 * n], row[0, 2 * n] = state[:n], state[2 * n :], t
        row[0, 2 * n + 1 :] = np.concatenate((old, new))
        loop.evaluate(*ready)
        return float(ready[-1][0, 0])

    def _power(self, q, v, p, t, par) -> float:
        mechanics = self.shop.mechanics
        multipliers = mechanics.accelerations(q, v, p, t, par)[1]
        return float(mechanics.power(q, v, p, multipliers, t, par))

    @cached_property
    def _buffer(self) -> tuple[np.ndarray, tuple]:
        """Where `jumps` reads, and what it is called with."""
        compiled = self.shop.remembered("jumps", lambda: jumps(self.system))
        row = np.zeros((1, compiled.inputs))
        source, target = np.zeros(compiled.inputs), np.zeros(1)
        places = source.ctypes.data, target.ctypes.data
        return row, (compiled.address, source, target, *places, row, np.zeros((1, 1)))

    # ---- results -----------------------------------------------------------------------------

    def trajectory(self, parameters, projected: bool, wall, compile_time, laws) -> Trajectory:
        made = super().trajectory(parameters, projected, wall, compile_time, laws)
        return replace(made, held=self.sampler.held())


def jumps(system: System) -> CompiledMap:
    """(q, v, t, old parameters, new ones) → change of f·v, of controlled forces alone."""
    power = sp.Integer(0)
    for term in system.terms:
        free = set().union(*(e.free_symbols for e in term.expressions))
        if term.kind == "force" and {s.name for s in free} & system.controlled:
            rates = [system.velocities[i] for i in term.indices.ravel()]
            pairs = zip(system._expanded(term), rates, strict=True)
            power += sp.Add(*(f * v for f, v in pairs))
    n, many = system.n, len(system.parameters)
    q, v, p = (ca.SX.sym(name, n) for name in "qvp")
    t, old, new = ca.SX.sym("t"), ca.SX.sym("old", many), ca.SX.sym("new", many)
    before, after = (translated(system, [power], q, v, p, t, par)[0] for par in (old, new))
    return CompiledMap(ca.Function("jump", [q, v, t, old, new], [ca.densify(after - before)]))
