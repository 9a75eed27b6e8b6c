"""Steps beside a singular configuration, where constraints hold less than elsewhere.

Where rows of G become dependent at one point q* of a motion (bars of a parallelogram in one line),
several branches of g = 0 meet.  The motion stays on the one that it is on: there G(q)ᵀλ, which is
−M q̈ − ∂U/∂q, is smooth, while λ itself grows like 1/distance.  A step from q₀ to q₁ has one
solution on that branch as long as neither is q* itself, but Newton's method must begin nearer to
it than the other branches are, and rounding moves its solution by ε/distance.

*Approach.*  The step is followed along its size, from the state to its end, by solutions that
extrapolate each other (see `taut.march.follow`); Newton's method, in velocities and multipliers
with a factorisation that knows how much was lost (see `taut.kernel.machine`), starts from there.
If nobody can be sure of the branch, the step fails and says so.

*Across.*  If q₁ is so close to q* that rounding hides the branch, the motion goes past it: a step
of h − ε, where |v| ε is 3e−5 of the size of the coordinates, and one of h + ε from there.  The
state between them is that of both sides: with x(h) as the state after a step of size h,

    x(h) = (4 (x(h − ε) + x(h + ε)) − x(h − 2ε) − x(h + 2ε))/6 + O(ε⁴).

Two such steps are as symplectic as others, but they belong to slightly different sizes, which
changes the energy by O(h²ε).  Controllers see the state between them, at its own time, and what
they say holds from then on.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from taut.errors import InputError
from taut.kernel.fused import HEAD
from taut.kernel.step_code import PAR
from taut.march import loop
from taut.march.follow import Followed, Sheet, Way
from taut.model.loops import closed

if TYPE_CHECKING:
    from taut.kernel.compile import CompiledStep, Workshop
    from taut.march.run import Group, Run
    from taut.methods.base import Method

REACH = 3.0  # steps within which there is a singular configuration
FAST = 0.3  # of the largest coordinate: the move of a step that is too long, or has blown up
PAST = 3e-5  # of the size of the coordinates: how far to go past a singular configuration


def passed(run: Run, group: Group, anywhere: bool = False) -> bool:
    """Whether a step that has failed could be made with care; two of them, if it went across.

    It is tried where a singular configuration is near, or `anywhere`.
    """
    usual, here = group.step, _Place(run, group)
    run.unsure, step = False, here.careful(anywhere)
    if step is None:
        return False
    way = Way(step, here.par, here.head, here.time)
    found = way.to(here.size, PAST)
    try:
        if found is not None:
            group.use(step, found.begin)
            here.advance(run.plan)
        if not here.made:
            here.across(way)
        run.unsure = not here.made and here.near
    finally:  # a controller may fail
        here.back_to(usual)
    return here.made


@lru_cache(maxsize=64)
def loops(shop: Workshop) -> bool:
    """Whether constraints of a system close loops."""
    return closed(shop.system, zip(*shop.mechanics.involved_pairs, strict=True))


def near(run: Run, group: Group) -> bool:
    """Whether there is a singular configuration within a few steps."""
    return _Place(run, group).near


def beside(shop: Workshop, step: CompiledStep, head: np.ndarray, t: float, h: float, par) -> bool:
    """Whether there is a singular configuration within a few steps of a state."""
    if not step.keep or not loops(shop):
        return False
    sheet, n = Sheet(step, par, head, t), shop.system.n
    q, v = head[:n], head[2 * n : 3 * n]
    room = sheet.room(q + h * v, t)
    return bool(min(room, sheet.room_here) <= REACH * h * sheet.length(v))


def carefully(shop: Workshop, method: Method, keep, head: np.ndarray, t: float, h: float, par):
    """(q₁, p₁, v₁) of one step with care, which belongs to no run; None if it cannot be made."""
    step = _careful_step(shop, method, keep)
    if step is None:
        return None
    way, n = Way(step, par, head, t), shop.system.n
    found = way.to(h, PAST)
    if found is not None:
        return found.end[: 3 * n]
    sides = _sides(way, h)
    return None if sides is None else _between(sides, n)


def _careful_step(shop: Workshop, method: Method, keep) -> CompiledStep | None:
    """The step as it is made for large systems; None if there is none."""
    if method.pace is not None or method.charted or not keep:
        return None
    try:
        step = shop.step(method, keep=keep, backend="assembled")
    except InputError:  # a method that has no other form
        return None
    return None if step.program.holds or step.program.remembers else step


def _past(way: Way) -> float:
    """The time in which the motion goes past a singular configuration."""
    fastest = way.sheet.length(way.v)
    return PAST / fastest if fastest > 0 else np.inf


def _sides(way: Way, h: float) -> dict[int, Followed] | None:
    """Steps that end a little before and a little after the end of a step."""
    past = _past(way)
    if not past < h / 4:
        return None
    sides = {}
    for k in (-2, -1, 1, 2):
        found = way.to(h + k * past)
        if found is None:
            return None
        sides[k] = found
    return sides


def _between(sides: dict[int, Followed], n: int) -> np.ndarray:
    """The state between those beside it."""
    near, far = (sides[-k].end[: 3 * n] + sides[k].end[: 3 * n] for k in (1, 2))
    return (4 * near - far) / 6


class _Place:
    """Where a run is: the state before the step that failed."""

    def __init__(self, run: Run, group: Group) -> None:
        self.run, self.group, self.plan, self.n = run, group, run.plan, run.system.n
        self.mechanics = run.shop.mechanics
        self.begun, self.number = group.done, run.plan.first + group.done
        self.time = self.plan.t0 + self.number * self.plan.step
        self.state = group.state[:, 0].copy()
        self.head, self.size = self.state[: HEAD * self.n].copy(), self._size(self.number)

    @property
    def par(self) -> np.ndarray:
        """Parameters as they are now: controllers change them from step to step."""
        return self.group.par[0, len(PAR) : len(PAR) + len(self.run.values)].copy()

    def _size(self, number: int) -> float:
        return self.plan.end_step if number == self.plan.last - 1 else self.plan.step

    @property
    def made(self) -> bool:
        """Whether steps were made."""
        return self.group.done > self.begun

    def careful(self, anywhere: bool) -> CompiledStep | None:
        """The step that is made with care; None if it would not help."""
        if self.group.step.lanes > 1 or not (self._slow() if anywhere else self.near):
            return None
        return _careful_step(self.run.shop, self.run.method, self.group.step.keep)

    @property
    def near(self) -> bool:
        """Whether there is a singular configuration within a few steps."""
        return beside(self.run.shop, self.group.step, self.head, self.time, self.size, self.par)

    def _slow(self) -> bool:
        """Whether a step is short: one that is too long should fail, and what blows up does."""
        q, p, v = np.split(self.head[: 3 * self.n], 3)
        rate = self.mechanics.accelerations(q, v, p, self.time, self.par)[0]
        move = self.size * np.abs(v).max() + self.size**2 * np.abs(rate).max() / 2
        return bool(move < FAST * np.abs(q).max())

    # ---- across ------------------------------------------------------------------------------

    def across(self, way: Way) -> None:
        """Two steps, past a singular configuration at the end of the first."""
        sides = _sides(way, self.size)
        if sides is None:
            return
        past, between = _past(way), _between(sides, self.n)
        group, row, step = self.group, self.group.row, way.step
        group.use(step, sides[-1].begin)
        self.advance(self._shifted(self.number, self.time, self.size - past))
        if group.row > row:  # it is stored
            group.store[row, :, 0] = between
        if self.number + 1 == self.plan.last:
            self._end_at(between)
        elif group.code != loop.EVENT:
            head = group.state[: HEAD * self.n, 0].copy()
            self._end_at(between)  # that is all, unless the next step can be made
            self.run.heard(group, self.number + 1, between)
            begin, size = self.time + self.size - past, self._size(self.number + 1) + past
            found = Way(step, self.par, head, begin).to(size)
            if found is not None:
                group.use(step, found.begin)
                self.advance(self._shifted(self.number + 1, begin, size))

    def _end_at(self, between: np.ndarray) -> None:
        self.group.state[: 3 * self.n, 0] = between
        self.group.state[4 * self.n : 5 * self.n, 0] = between[self.n : 2 * self.n]

    def _shifted(self, number: int, t: float, size: float):
        """A plan whose step of this number begins at t and has this size."""
        return replace(self.plan, t0=t - number * size, step=size, end_step=size)

    # ---- the run ---------------------------------------------------------------------------------

    def advance(self, plan) -> None:
        """Make one step of a plan, with the books of the run."""
        group, given = self.group, self.group.par
        if plan is not self.plan:
            group.par = given.copy()
            group.par[:] = group.step.given(self.par, plan.step)
        group.books[0, loop.FAILED_AT] = -1.0
        with group.unguarded():
            group.advance(plan, 1, self.run.watch)
        group.par = given

    def back_to(self, usual: CompiledStep) -> None:
        """Go on with the usual step: from the method's own guesses, or as before if it failed."""
        group, state = self.group, self.state
        if self.made:
            head = group.state[: HEAD * self.n, 0].copy()
            q, p, v = np.split(head[: 3 * self.n], 3)
            state = np.concatenate([head, usual.first_memory(q, p, v)])
        group.use(usual, state)
