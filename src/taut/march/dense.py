"""States between the stored ones, on the manifold: shortened steps of the run's own method.

    run.at(t) = Φ_{t − t_k}(state at t_k),      t_k the last stored time up to t

(whole steps first, where not every state was stored).  Nothing is interpolated: such a state meets
the constraints to round-off, is as accurate as the run itself, and comes out at t_{k+1} as the
stored state does.  A method that remembers vectors starts afresh at t_k, with the acceleration
there: as accurate, but what it finds at t_{k+1} is not to the bit the stored state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from taut.calls import public
from taut.errors import InputError, StepError, brief
from taut.fields.ends import real_array
from taut.kernel.compile import CompiledStep, workshop
from taut.kernel.fused import CLOCK, HEAD
from taut.kernel.jit import copy, entry
from taut.kernel.step_code import PAR
from taut.march.call import call_steps
from taut.march.charts import best_chart
from taut.march.kept import chosen, watched
from taut.march.loop import COUNT, OK
from taut.text import counted

if TYPE_CHECKING:
    from taut.march.trajectory import Trajectory

EPS = np.finfo(float).eps
MOST = 1 << 23  # numbers in the inner states that are set up at once


@public
@dataclass(frozen=True, repr=False)
class States:
    """States at given times: t, q, v, p as in a trajectory, or one state."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    p: np.ndarray

    def __len__(self) -> int:
        return np.size(self.t)

    def __repr__(self) -> str:
        if np.ndim(self.t) == 0 and self.q.ndim == 1:
            with np.printoptions(precision=6, threshold=8):
                return f"State: t = {self.t:g}, q = {self.q}, v = {self.v}"
        span = f", t = {np.min(self.t):g} … {np.max(self.t):g}" if len(self) else ""
        return f"States: {len(self)} of {counted(self.q.shape[-1], 'coordinate')}{span}"


def states_at(run: Trajectory, t: Any) -> States:
    """States of `run` at the time or times `t`; see the module's head."""
    times = _checked(run, t)
    check_stored(run)
    if run.batch is not None:
        members = [states_at(run[i], t) for i in range(run.batch)]
        return States(times, *(np.stack([getattr(m, x) for m in members]) for x in "qvp"))
    rows = np.searchsorted(run.t, times.ravel(), side="right") - 1
    order = np.lexsort((times.ravel(), rows))
    starts, which = np.unique(rows[order], return_inverse=True)
    begin = States(run.t[starts], run.q[starts], run.v[starts], run.p[starts])
    wanted = times.ravel()[order]
    blur = 4 * EPS * np.abs(wanted)  # times of the grid may have been rounded in other ways
    found = moved(run, begin, which, wanted - run.t[rows[order]], blur)
    back = np.argsort(order)
    shape = (*times.shape, run.system.n)
    return States(times, *(x[back].reshape(shape) for x in found))


def check_stored(run: Trajectory) -> None:
    """Whether enough states were stored to find those between them."""
    if run.method.pace is not None and run.every > 1:
        raise InputError(
            "there are no states between those of every few varying steps",
            expected="a run that has kept every state",
            received=f"every={run.every}",
            remedy="simulate with every=1",
        )


def moved(run: Trajectory, begin: States, which: np.ndarray, dt: np.ndarray, blur: Any = 0.0):
    """(q, v, p) the times `dt` after the states number `which` of `begin`; both ascending.

    A rest of a step that is shorter than `blur`, or round-off, is not made.
    """
    method, h, n = run.method.steady, run.step, run.system.n
    tiny = np.maximum(4 * EPS * np.maximum(h, dt), blur)
    counts = np.floor((dt + tiny) / h).astype(np.int64)
    if run.method.pace is not None:
        counts[:] = 0
    rest = dt - counts * h
    rest[rest < tiny] = 0.0
    shop, out = workshop(run.system), np.empty((len(dt), 3 * n))
    kinds = [_kind(run, q, float(t)) for q, t in zip(begin.q, begin.t, strict=True)]
    # On the way charts and kept constraints may have to be changed, and controllers were asked.
    changing = method.charted or watched(shop.mechanics, run.keep)
    if run.held is not None or (changing and np.any(counts > 0)) or _guarded(run):
        return _one_by_one(run, begin, which, counts, rest)
    for step, own in _pieces(kinds, lambda x: shop.step(method, keep=x[1], chart=x[0])):
        inner = _inner(run, step, States(*(getattr(begin, x)[own] for x in "tqvp")))
        number = np.full(len(begin.t), -1)
        number[own] = np.arange(len(own))
        mine = np.flatnonzero(number[which] >= 0)
        found = np.empty((len(mine), 3 * n))
        wanted = number[which[mine]], counts[mine], rest[mine], found
        done = _made(run, step, inner, begin.t[own], *wanted)
        if done < len(mine) and step.simplified:
            done = _made(run, step.thorough, inner, begin.t[own], *wanted)
        while done < len(mine):  # beside a singular configuration, say: this one with care
            one = mine[done : done + 1]
            q, v, p = _one_by_one(run, begin, which[one], counts[one], rest[one])
            found[done] = np.concatenate([q[0], p[0], v[0]])
            done += 1
            done += _made(run, step, inner, begin.t[own], *(x[done:] for x in wanted))
        out[mine] = found
    return out[:, :n], out[:, 2 * n :], out[:, n : 2 * n]


def _kind(run: Trajectory, q: np.ndarray, t: float, par: Any = None) -> tuple[Any, tuple[int, ...]]:
    """The chart and the constraints to keep at a configuration."""
    mechanics, par = workshop(run.system).mechanics, run._par if par is None else par
    keep = chosen(mechanics, q, t, par, run.keep)
    return best_chart(mechanics, q, t, par, keep) if run.method.charted else None, keep


def _guarded(run: Trajectory) -> bool:
    """Whether steps have to be looked at one by one, since they may change the branch."""
    from taut.march.rescue import guarded

    return guarded(run.method.steady, workshop(run.system), run.keep)


def _pieces(charts: list[Any], compiled: Callable[[Any], CompiledStep]):
    """(step, starts in its chart): so few at a time that their inner states need little room."""
    for chart in set(charts):
        step, own = compiled(chart), [i for i, x in enumerate(charts) if x == chart]
        size = max(1, MOST // step.slots)
        yield from ((step, own[i : i + size]) for i in range(0, len(own), size))


def _one_by_one(run: Trajectory, begin: States, which, counts, rest):
    """The same, each step in the best chart of its start, and with care if need be."""
    found = []
    for i, count, last in zip(which, counts, rest, strict=True):
        q, v, p, t = begin.q[i], begin.v[i], begin.p[i], float(begin.t[i])
        for h in [run.step] * int(count) + ([float(last)] if last > 0.0 else []):
            q, v, p = _one(run, q, v, p, t, h)
            t += h
        found.append((q, v, p))
    return tuple(np.array([x[k] for x in found]) for k in range(3))


def _one(run: Trajectory, q, v, p, t: float, h: float) -> tuple[np.ndarray, ...]:
    """One step from a stored state, as the run would make it."""
    from taut.march.passage import beside, carefully
    from taut.march.rescue import TURN, guarded
    from taut.march.run import one_step

    shop, method, par = workshop(run.system), run.method.steady, run._par_at(t)
    chart, keep = _kind(run, q, t, par)
    floor = run.ending.states[0][(HEAD - 1) * run.system.n : HEAD * run.system.n]
    head = np.concatenate([q, p, v, 0 * q, p, 0 * q, h * v, floor])
    step = shop.step(method, keep=keep, chart=chart)
    try:
        after = one_step(step, q, v, p, t, h, par, floor)[:3]
    except StepError:
        after = None
    speed = np.maximum(np.abs(v), 0 if after is None else np.abs(after[1])) / floor
    # From rest all velocities turn: that alone is no other branch.
    if after is None or (
        guarded(method, shop, keep)
        and np.max(np.abs(after[1] - v) / floor) > TURN * speed.max()
        and beside(shop, step, head, t, h, par)
    ):
        found = carefully(shop, method, keep, head, t, h, par)
        if found is None:
            raise StepError(
                f"no step could be made from t = {t:g}",
                expected="a finite state near the one before, and Newton to find it",
                received=f"method {method.name}, a step of {h:g}",
                remedy="simulate with a smaller step",
                t=t,
                index=0,
            )
        q1, p1, v1 = np.split(found, 3)
        after = q1, v1, p1
    return after


def _made(run: Trajectory, step, inner, times, which, counts, rest, found) -> int:
    """Fill in `found`; the number of queries done."""
    sheet = np.zeros((2 * step.slots + COUNT, 1))
    # Steps with tables need some for each length; the others take all lengths at once.
    many = [slice(i, i + 1) for i in range(len(which))] if step.program.tables else [slice(None)]
    done = 0
    for part in many:
        last = float(rest[part][-1]) if step.program.tables else run.step
        par = np.array([step.given(run._par, run.step), step.given(run._par, last or run.step)])
        par[:, PAR.index("threshold")] = -1.0
        with step.guard:
            done += _steps_from(
                step.address, step.context, sheet, par, inner, times, which[part], counts[part],
                rest[part], run.step, found[part],
            )  # fmt: skip
    return done


def _inner(run: Trajectory, step, begin: States) -> np.ndarray:
    """The inner states of a compiled step that starts at these, one row for each."""
    n, q, v, p = run.system.n, begin.q, begin.v, begin.p
    floor = np.broadcast_to(run.ending.states[0][(HEAD - 1) * n : HEAD * n], q.shape)
    if workshop(run.system).unrolled(step.method):
        memory = step.first_memory(q.T, p.T, v.T).T
    else:
        memory = np.array([step.first_memory(*row) for row in zip(q, p, v, strict=True)])
    state = run.ending.states[0]
    state = state if run.method.pace is None else state[:-CLOCK]
    inherited = step.first_inherited(q.T, p.T, v.T, begin.t, run._par, state).T
    zero, move = np.zeros_like(q), run.step * v
    rows = [q, p, v, zero, p, zero, move, floor, memory, inherited]
    return np.ascontiguousarray(np.hstack(rows))


@entry
def _steps_from(address, context, sheet, par, inner, times, which, counts, rest, h, out):
    """For each query `counts` whole steps and one of length `rest`; the number of queries done."""
    slots = (sheet.shape[0] - COUNT) // 2
    now, then, notes = sheet[:slots, 0], sheet[slots : 2 * slots, 0], sheet[2 * slots :, 0]
    at = sheet.ctypes.data
    last, made = -1, 0
    for i in range(len(which)):
        if which[i] != last:
            last, made = which[i], 0
            copy(inner[last], now)
        begin = times[last]
        if counts[i] > made:
            ask = counts[i] - made
            par[0, 0], par[0, 1], par[0, 2] = begin, made, h
            notes[OK] = 1.0
            did = call_steps(  # pyright: ignore[reportCallIssue]
                address, context, at, par.ctypes.data, at + 16 * slots, ask, at, ask + 1, ask + 1
            )
            if did < ask:
                return i
            made = counts[i]
        copy(now, then)
        if rest[i] > 0.0:
            par[1, 0], par[1, 1], par[1, 2] = begin + made * h, 0.0, rest[i]
            notes[OK] = 1.0
            did = call_steps(  # pyright: ignore[reportCallIssue]
                address, context, at + 8 * slots, par[1].ctypes.data, at + 16 * slots, 1, at, 2, 2
            )
            if did < 1:
                return i
        for j in range(out.shape[1]):
            out[i, j] = then[j]
    return len(which)


def _checked(run: Trajectory, t: Any) -> np.ndarray:
    try:
        times = real_array(t)
    except (TypeError, ValueError) as error:
        raise InputError("t is not a time", expected="numbers", received=brief(t)) from error
    begin, end = float(run.t[0]), float(run.t[-1])
    slack = 1e-9 * run.step
    if not np.all((times >= begin - slack) & (times <= end + slack)):
        raise InputError(
            "t lies outside of the run",
            expected=f"{begin:g} ≤ t ≤ {end:g}",
            received=f"{np.min(times):g} … {np.max(times):g}"
            if times.size > 1
            else f"{times.item():g}",
            remedy="simulate for longer, or go on: run.continue_(…)",
        )
    return np.clip(times, begin, end)


__all__ = ["States", "check_stored", "moved", "states_at"]
