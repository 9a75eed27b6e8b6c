"""What a run does when its compiled steps stop: other guesses, charts and constraints, care.

    FAILED   Newton found no step: with care beside a singular configuration, or from other guesses
    TURN     velocities turned so much that the step may have changed the branch: with care
    CHART    other coordinates are independent by now

And from time to time it looks which constraints to keep (see `taut.march.kept`).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from taut.kernel.fused import HEAD
from taut.kernel.step_code import PAR
from taut.march import loop
from taut.march.charts import best_chart
from taut.march.kept import looked
from taut.march.passage import loops, near, passed

if TYPE_CHECKING:
    from taut.kernel.compile import CompiledStep, Workshop
    from taut.march.run import Group, Run
    from taut.methods.base import Method

NEVER = 1 << 62  # the number of the step before which nobody looks
TURN = 0.3  # of the velocities: a turn in one step that a change of branch may have made


def goes_on(run: Run, group: Group) -> bool:
    """Whether a run that has stopped can go on, and then does."""
    if group.code == loop.FAILED and not rescued(run, group):
        return False
    if group.code == loop.TURN and not _turned(run, group):
        return False
    if group.code == loop.CHART:
        switch(run, group)
    return group.code != loop.EVENT


def rescued(run: Run, group: Group) -> bool:
    """A failed step is tried once more without extrapolation, from the methods' own guess.

    In a chart of independent coordinates, also with the chart that is best by now.  Beside a
    singular configuration it is made with care, elsewhere if nothing else helps.
    """
    if group.step.lanes > 1:
        return False
    if passed(run, group):
        return True
    if run.unsure:  # what other guesses would find may be another branch
        return False
    return _begun_anew(run, group) or passed(run, group, anywhere=True)


def _turned(run: Run, group: Group) -> bool:
    """A step in which velocities turn: with care if there is a singular configuration near."""
    if near(run, group):
        if passed(run, group):
            return True
        if run.unsure:
            group.code, number = loop.FAILED, run.plan.first + group.done
            group.books[0, loop.FAILED_AT] = number
            return False
    with group.unguarded():
        group.advance(run.plan, 1, run.watch)
    return goes_on(run, group)


def _begun_anew(run: Run, group: Group) -> bool:
    n = run.system.n
    if group.step.chart is not None:
        switch(run, group)
    q, p, v = (group.state[i * n : (i + 1) * n, 0].copy() for i in range(3))
    fresh = group.step.first_memory(q, p, v)
    memory = slice(HEAD * n, HEAD * n + len(fresh))
    remembered = group.state[memory, 0].copy()
    group.books[0, loop.FAILED_AT] = -1.0
    group.state[memory, 0] = fresh
    before = group.done
    with group.unguarded():
        group.advance(run.plan, 1, run.watch)
    if group.done == before:
        group.state[memory, 0] = remembered
        return False
    return True


def switch(run: Run, group: Group) -> None:
    """Change to the best chart at the present state."""
    n, t = run.system.n, run.time(group)
    q, keep = group.state[:n, 0].copy(), group.step.keep
    chart = best_chart(run.shop.mechanics, q, t, run.values, keep)
    if chart != group.step.chart:
        group.books[0, loop.CHARTS] += 1
        _use(run, group, lambda: run.compiled(1, chart, keep))


def look(run: Run, group: Group) -> None:
    """Keep other constraints from now on, if those that are kept become dependent."""
    n, t = run.system.n, run.time(group)
    q, v = group.state[:n, 0].copy(), group.state[2 * n : 3 * n, 0].copy()
    par = group.par[0, len(PAR) : len(PAR) + len(run.values)].copy()
    now = group.step.keep
    keep, steps = looked(run.shop.mechanics, q, v, t, run.plan.step, par, now, run.keep)
    group.look = run.plan.first + group.done + steps
    if keep != now:
        group.keeps.append((t, keep))
        chart = group.step.chart
        chart = None if chart is None else best_chart(run.shop.mechanics, q, t, par, keep)
        _use(run, group, lambda: run.compiled(1, chart, keep))


def _use(run: Run, group: Group, compiled) -> None:
    """Go on with another compiled step, from where the run is."""
    begin, n = time.perf_counter(), run.system.n
    step: CompiledStep = compiled()
    run.charting += time.perf_counter() - begin
    q, p, v = (group.state[i * n : (i + 1) * n, 0].copy() for i in range(3))
    inner = run._inner(step, q, p, v, q)
    inner[: HEAD * n] = group.state[: HEAD * n, 0]
    last = n * step.program.remembers + step.program.holds
    inner[len(inner) - last :] = group.state[len(group.state) - last :, 0]
    group.use(step, inner)


def guarded(method: Method, shop: Workshop, keep, program: Any = None) -> bool:
    """Whether a step alone cannot tell that it changed the branch, as its pivots do elsewhere."""
    if method.pace is not None or method.charted or not keep or not loops(shop):
        return False
    if not shop.unrolled(method):
        return True
    program = shop.program(method, keep) if program is None else program
    return not all(x.certain for x in program.newtons)


def guard(run: Run, group: Group) -> None:
    """Let velocities turn by no more than they should."""
    step = group.step
    if step.lanes == 1 and guarded(run.method, run.shop, run.keep, step.program):
        n = run.system.n
        floors = group.state[(HEAD - 1) * n : HEAD * n, 0]
        group.guard = np.where(floors > 0.0, floors, floors.max() or 1.0), TURN
