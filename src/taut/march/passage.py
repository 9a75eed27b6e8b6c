"""Steps beside a singular configuration, where constraints hold less than elsewhere.

Where rows of G become dependent at one point q* of a motion (bars of a parallelogram in one line),
several branches of g = 0 meet.  The motion stays on the one that it is on: there G(q)ᵀλ, which is
−M q̈ − ∂U/∂q, is smooth, while λ itself grows like 1/distance.  A step from q₀ to q₁ has one
solution on that branch as long as neither is q* itself, but Newton's method must begin nearer to
it than the other branches are, and rounding moves its solution by ε/distance.

*Approach.*  The solution x(h) of a step depends smoothly on its size.  It is found for
0.7 h, 0.8 h and 0.9 h, each from the one before, and extrapolated to h: the guess is then off by
O(h⁴)/1000, and Newton's method, in velocities and multipliers with a factorisation that knows how
much was lost (see `taut.kernel.machine`), finds the branch.

*Across.*  If q₁ is so close to q* that rounding hides the branch, the motion goes past it: a step
of h − ε, where |v| ε is 3e−5 of the size of the coordinates, and one of h + ε from there.  The
state between them is that of both sides: with x(h) as the state after a step of size h,

    x(h) = (4 (x(h − ε) + x(h + ε)) − x(h − 2ε) − x(h + 2ε))/6 + O(ε⁴).

Two such steps are as symplectic as others, but they belong to slightly different sizes, which
changes the energy by O(h²ε).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from taut.errors import InputError
from taut.kernel.fused import HEAD
from taut.kernel.step_code import PAR
from taut.march import loop

if TYPE_CHECKING:
    from taut.kernel.compile import CompiledStep
    from taut.march.run import Group, Run

SPACING = 0.1  # of the step, between the sizes that a step is approached from
LARGE = 2000  # coordinates up to which singular values are computed
NEAR = 0.03  # of the largest singular value of G: the least one beside a singular configuration
FAST = 0.3  # of the largest coordinate: the move of a step that is too long, or has blown up
HIDDEN = 1e-13  # of their terms: what rounding may leave of the hidden constraints
PAST = 3e-5  # of the size of the coordinates: how far to go past a singular configuration


def passed(run: Run, group: Group, anywhere: bool = False) -> bool:
    """Whether a step that has failed could be made with care; two of them, if it went across.

    Small systems try it where constraints nearly depend on each other, or `anywhere`.
    """
    usual, here = group.step, _Place(run, group)
    step = here.careful(anywhere)
    if step is None:
        return False
    found = here.approached(step, here.head, here.time, here.size)
    if found is not None and here.sure(step, found):
        group.use(step, found)
        here.advance(run.plan)
    if not here.made and not run.asks:
        here.across(step)
    here.back_to(usual)
    return here.made


class _Place:
    """Where a run is: the state before the step that failed."""

    def __init__(self, run: Run, group: Group) -> None:
        self.run, self.group, self.plan, self.n = run, group, run.plan, run.system.n
        self.mechanics = run.shop.mechanics
        # As they are now: controllers change them from step to step.
        self.par = group.par[0, len(PAR) : len(PAR) + len(run.values)].copy()
        self.begun, self.number = group.done, run.plan.first + group.done
        self.time = self.plan.t0 + self.number * self.plan.step
        self.state = group.state[:, 0].copy()
        self.head, self.inherited = self._parts(group.step, self.state)
        self.size = self._size(self.number)

    def _size(self, number: int) -> float:
        return self.plan.end_step if number == self.plan.last - 1 else self.plan.step

    def _parts(self, step: CompiledStep, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The head of a state, and what the method remembers."""
        own = self.n * step.program.remembers + step.program.holds
        return state[: HEAD * self.n].copy(), state[len(state) - own :].copy()

    @property
    def made(self) -> bool:
        """Whether steps were made."""
        return self.group.done > self.begun

    def careful(self, anywhere: bool) -> CompiledStep | None:
        """The step as it is made for large systems; None if it would not help."""
        step, run = self.group.step, self.run
        if step.lanes > 1 or run.method.pace is not None or not run.keep:
            return None
        if step.chart is not None or step.program.holds or step.program.remembers:
            return None
        if not (self._slow() if anywhere else self._near()):
            return None
        if not run.shop.unrolled(run.method):
            return step
        try:
            return run.shop.step(run.method, keep=run.keep, backend="assembled")
        except InputError:  # a method that has no other form
            return None

    def _near(self) -> bool:
        """Whether constraints nearly depend on each other, here or at the end of the step."""
        if self.n > LARGE:
            return False  # it takes too long to find out
        q, v = self.head[: self.n], self.head[2 * self.n : 3 * self.n]
        for there in (q, q + self.size * v):
            rows = self.mechanics.gradients(there, self.time, self.par)[list(self.run.keep)]
            values = np.linalg.svd(rows, compute_uv=False)
            if not values[-1] > NEAR * values[0]:
                return True
        return False

    def _slow(self) -> bool:
        """Whether a step is short: one that is too long should fail, and what blows up does."""
        q, p, v = np.split(self.head[: 3 * self.n], 3)
        rate = self.mechanics.accelerations(q, v, p, self.time, self.par)[0]
        move = self.size * np.abs(v).max() + self.size**2 * np.abs(rate).max() / 2
        return bool(move < FAST * np.abs(q).max())

    # ---- approach ----------------------------------------------------------------------------

    def approached(
        self, step: CompiledStep, head: np.ndarray, t: float, h: float
    ) -> np.ndarray | None:
        """The inner state from which a step of size h finds its branch; None if there is none."""
        q, p, v = np.split(head[: 3 * self.n], 3)
        memory = step.first_memory(q, p, v)
        count = step.program.history
        solved = []
        for k in range(count, 0, -1):
            state = np.concatenate([head, memory, self.inherited])
            after = self._after(step, state, h * (1 - SPACING * k), t)
            if after is None:
                return None
            found = after[HEAD * self.n : HEAD * self.n + len(memory)]
            solved.insert(0, step.program.newest(found))
            memory = step.program.remembering(solved[:1] * count)
        return np.concatenate([head, step.program.remembering(solved), self.inherited])

    def _after(self, step: CompiledStep, state: np.ndarray, h: float, t=None) -> np.ndarray | None:
        """The inner state after one step, which is not part of the run."""
        from taut.march.run import trial

        return trial(step, state, self.time if t is None else t, h, self.par)

    def sure(self, step: CompiledStep, state: np.ndarray) -> bool:
        """Whether a step ends where rounding does not hide what the constraints hold."""
        after = self._after(step, state, self.size)
        if after is None:
            return False
        q, _, v = np.split(after[: 3 * self.n], 3)
        end = self.time + self.size
        left = np.abs(self.mechanics.hidden(q, v, end, self.par)[list(self.run.keep)])
        rows = self.mechanics.jacobian(q, end, self.par)[list(self.run.keep)]
        return bool(np.all(left <= HIDDEN * (abs(rows) @ np.abs(v)) + 1e-300))

    # ---- across ------------------------------------------------------------------------------

    def across(self, step: CompiledStep) -> None:
        """Two steps, past a singular configuration at the end of the first."""
        q, v = self.head[: self.n], self.head[2 * self.n : 3 * self.n]
        fastest = float(np.abs(v).max())
        past = PAST * float(np.abs(q).max()) / fastest if fastest > 0 else np.inf
        if not past < self.size / 4:
            return
        sides = {}
        for k in (-2, -1, 1, 2):
            found = self._beside(step, self.size + k * past)
            if found is None:
                return
            sides[k] = found
        near, far = (sides[-k][1] + sides[k][1] for k in (1, 2))
        between = (4 * near - far)[: 3 * self.n] / 6
        group, row = self.group, self.group.row
        group.use(step, sides[-1][0])
        self.advance(self._shifted(self.number, self.time, self.size - past))
        if group.row > row:  # it is stored
            group.store[row, :, 0] = between
        if self.number + 1 == self.plan.last:
            group.state[: 3 * self.n, 0] = between
            group.state[4 * self.n : 5 * self.n, 0] = between[self.n : 2 * self.n]
            return
        head, self.inherited = self._parts(step, group.state[:, 0])
        begin, size = self.time + self.size - past, self._size(self.number + 1) + past
        state = self.approached(step, head, begin, size)
        if state is not None:
            group.use(step, state)
            self.advance(self._shifted(self.number + 1, begin, size))

    def _beside(self, step: CompiledStep, size: float) -> tuple[np.ndarray, np.ndarray] | None:
        """The inner states before and after a step of another size."""
        state = self.approached(step, self.head, self.time, size)
        after = None if state is None else self._after(step, state, size)
        return None if state is None or after is None else (state, after)

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
        group.advance(plan, 1, self.run.watch)
        group.par = given

    def back_to(self, usual: CompiledStep) -> None:
        """Go on with the usual step: from the method's own guesses, or as before if it failed."""
        group, state = self.group, self.state
        if self.made:
            head, inherited = self._parts(group.step, group.state[:, 0])
            q, p, v = np.split(head[: 3 * self.n], 3)
            state = np.concatenate([head, usual.first_memory(q, p, v), inherited])
        group.use(usual, state)
