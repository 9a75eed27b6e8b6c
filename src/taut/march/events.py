"""Events: zero crossings of an expression, found in every step and located on the manifold.

A step over which an event's expression changes its sign is divided: the crossing is the root of
τ ↦ e(Φ_τ(state before the step)), a state of the same kind as those of `run.at`.  An event that is
terminal ends the run there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import sympy as sp

from taut.calls import Names, public
from taut.errors import InputError, UnknownName, flag, listed, text
from taut.kernel.compile import CompiledMap, workshop
from taut.kernel.fused import CLOCK, HEAD
from taut.kernel.jit import copy, entry
from taut.kernel.operators import translated
from taut.march import loop
from taut.march.call import call_map
from taut.march.dense import EPS, States, moved
from taut.march.trajectory import Trajectory, apply_map
from taut.model.symbols import check_formula, scalar
from taut.model.system import System

if TYPE_CHECKING:
    from taut.march.run import Group

DIRECTIONS = {"both": 0, "up": 1, "down": -1}
ROOM = 256  # crossings that are written down between two looks


@public
@dataclass(frozen=True)
class Event:
    """A zero crossing to be watched for.

    Parameters
    ----------
    expression : SymPy expression of coordinates, velocities, momenta, t and parameters
    direction : "both", "up" or "down"
        Whether the expression must grow or fall through zero.
    terminal : bool
        Whether the run ends there.
    name : str, optional
        Under which `run.events` lists it; the expression itself by default.
    """

    expression: Any
    direction: str = "both"
    terminal: bool = False
    name: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.direction, str) or self.direction not in DIRECTIONS:
            raise UnknownName("direction", self.direction, DIRECTIONS)
        flag("terminal", self.terminal)
        if self.name is not None:
            text("the name of an event", self.name)
        given = getattr(self.expression, "expression", self.expression)
        if isinstance(given, str):
            check_formula(given, "an event", None)  # its names are those of a system
        else:
            scalar(given, "an event")

    @property
    def label(self) -> str:
        return str(self.expression) if self.name is None else self.name


@dataclass
class Watch:
    """The events of a run: what to look for, the signs seen last, and the crossings found.

    Attributes
    ----------
    signs : ndarray
        −1 or 1 of each expression when it was last not zero, 0 as long as it has been.
    heights : ndarray
        The y of each atan2(y, x) in an expression at the last state.  Where it changes sign while
        x < 0 the angle jumps by a whole turn, and what depends on it has not crossed zero.
    """

    system: System
    events: tuple[Event, ...]
    signs: np.ndarray = field(repr=False)
    heights: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)

    def __post_init__(self) -> None:
        n = self.system.n
        self.cuts = [
            (k, *angle.args)
            for k, e in enumerate(self.events)
            for angle in sorted(e.expression.atoms(sp.atan2), key=str)
        ]
        self.owners = np.array([k for k, _, _ in self.cuts], dtype=np.int64)
        if len(self.heights) != len(self.cuts):
            self.heights = np.zeros(len(self.cuts))
        self.wanted = np.array(
            [[DIRECTIONS[e.direction], e.terminal] for e in self.events], dtype=np.float64
        )
        self.found = np.zeros((ROOM + len(self.events), 3 + 3 * n))  # all may cross in one step
        self.tally = np.zeros(1, dtype=np.int64)
        self.blank = np.zeros(len(self.events), dtype=np.int64)  # steps without a value
        self.records: list[np.ndarray] = []

    @cached_property
    def map(self) -> CompiledMap:
        """(q, v, p, t, parameters) → all expressions, then y and x of their angles."""
        q, v, p = (ca.SX.sym(name, self.system.n) for name in "qvp")
        t, par = ca.SX.sym("t"), ca.SX.sym("par", len(self.system.parameters))
        every = [e.expression for e in self.events]
        every += [x for _, *both in self.cuts for x in both]
        values = translated(self.system, every, q, v, p, t, par)
        function = ca.Function("events", [q, v, p, t, par], [ca.densify(ca.vertcat(*values))])
        return CompiledMap(function)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is compiled, which is made again where it is asked for."""
        return {name: value for name, value in vars(self).items() if name != "map"}

    def begin(self, states: States, par: np.ndarray) -> None:
        """Take the signs of the first of these states."""
        first, many = self._mapped(states, par)[0], len(self.events)
        self.signs = np.nan_to_num(np.sign(first[:many]))  # no sign yet where there is no value
        self.heights = first[many::2].copy()

    def values(self, states: States, par: np.ndarray) -> np.ndarray:
        """Of all expressions at many states."""
        return self._mapped(states, par)[:, : len(self.events)]

    def _mapped(self, states: States, par: np.ndarray) -> np.ndarray:
        spread = np.broadcast_to(par, (len(states), len(par)))
        rows = np.hstack([states.q, states.v, states.p, states.t[:, None], spread])
        return apply_map(self.map, np.ascontiguousarray(rows))

    def advance(self, group: Group, plan, count: int) -> tuple[int, int, int]:
        """As `loop.march`, one step at a time, with an eye on the expressions."""
        source = np.zeros(3 * self.system.n + 1 + len(self.system.parameters))
        target = np.zeros(len(self.events) + 2 * len(self.cuts))
        clock = group.step.slots - 3 if group.step.method.pace is not None else -1
        made, row, code = _march(
            group.step.address, group.step.context, group.sheet, group.par, group.books,
            group.store, group.row, plan.t0, plan.step, plan.end_step, plan.first + group.done,
            count, plan.every, plan.last, group.frail, self.map.address, source, target, self.signs,
            self.wanted, self.found, self.tally, self.blank, clock, self.owners, self.heights,
            *group.guard,
        )  # fmt: skip
        if self.tally[0]:
            self.records.append(self.found[: self.tally[0]].copy())
            self.tally[0] = 0
        return made, row, code


@entry
def _march(
    address, context, sheet, par, books, store, row, t0, h, end_h, first, count, every, last,
    frail, events, source, target, signs, wanted, found, tally, blank, clock, owners, heights,
    units, most,
):  # fmt: skip
    jumps = np.zeros(len(signs), dtype=np.bool_)
    n = store.shape[1] // 3
    before = np.empty(3 * n)
    done, code = 0, loop.DONE
    while done < count and code == loop.DONE:
        copy(sheet[: 3 * n, 0], before)
        k = first + done
        t = t0 + k * h if clock < 0 else sheet[clock, 0]
        if len(units):
            made, row, code = loop.guarded(
                address, context, sheet, par, books, store, row, t0, h, end_h, k, 1, every, last,
                frail, units, most,
            )  # fmt: skip
        else:
            made, row, code = loop.march(
                address, context, sheet, par, books, store, row, t0, h, end_h, k, 1, every, last,
                frail,
            )  # fmt: skip
        if made == 0:
            break
        done += 1
        for i, j in ((0, 0), (1, 2), (2, 1)):  # q, v, p from q, p, v
            copy(sheet[j * n : (j + 1) * n, 0], source[i * n : (i + 1) * n])
        size = end_h if k + 1 == last else h
        t1 = t0 + (k + 1) * h if size == h else t + size
        if clock >= 0:
            t1 = sheet[clock, 0]
            size = t1 - t
        source[3 * n] = t1
        more = len(source) - (3 * n + 1)
        copy(par[0, 4 : 4 + more], source[3 * n + 1 :])
        call_map(events, source.ctypes.data, target.ctypes.data)  # pyright: ignore[reportCallIssue]
        jumps[:] = False
        for i in range(len(owners)):
            y, x = target[len(signs) + 2 * i], target[len(signs) + 2 * i + 1]
            if x < 0.0 and np.copysign(1.0, y) != np.copysign(1.0, heights[i]):
                jumps[owners[i]] = True
            heights[i] = y
        for e in range(len(signs)):
            sign = np.sign(target[e])
            if sign != sign:
                blank[e] += 1
                continue
            if (
                sign * signs[e] < 0.0
                and not jumps[e]
                and (wanted[e, 0] == 0.0 or wanted[e, 0] == sign)
            ):
                entry = found[tally[0]]
                entry[0], entry[1], entry[2] = e, t, size
                entry[3:] = before
                tally[0] += 1
                if wanted[e, 1] != 0.0:
                    code = loop.EVENT
            if sign != 0.0:
                signs[e] = sign
        if tally[0] + len(signs) > len(found):
            break
    return done, row, code


def watched(system: System, events: Any) -> tuple[Event, ...]:
    """The events of a call, checked."""
    if events is None:
        events = ()
    elif isinstance(events, Event):
        events = [events]
    elif isinstance(events, Mapping):
        events = [
            replace(e, name=str(name)) if isinstance(e, Event) else Event(e, name=str(name))
            for name, e in events.items()
        ]
    elif isinstance(events, str | sp.Basic) or not isinstance(events, Iterable):
        events = [events]
    events = listed("events", events, "expressions or taut.Event objects")
    found = tuple(e if isinstance(e, Event) else Event(e) for e in events)
    found = tuple(replace(e, expression=system.read(e.expression), name=e.label) for e in found)
    names = [e.label for e in found]
    for event in found:
        if not event.expression.free_symbols:
            raise InputError(
                "an event that is a number happens never or always",
                expected="an expression of coordinates, velocities, momenta or t",
                received=event.label,
            )
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"two events are called {name}",
                expected="a name of its own for each",
                received=", ".join(names),
                remedy="taut.Event(expression, name=…)",
            )
    return found


def located(run: Trajectory, watch: Watch, ended: bool) -> Trajectory:
    """`run` with its crossings located, cut off at the terminal event that ended it."""
    n, par = run.system.n, run._par
    records = np.concatenate([np.zeros((0, 3 + 3 * n)), *watch.records])
    numbers = records[:, 0].astype(int)
    q, p, v = (records[:, 3 + i * n : 3 + (i + 1) * n] for i in range(3))
    begin = States(records[:, 1], q, v, p)

    def moved_by(dt: np.ndarray, rows: np.ndarray) -> States:
        start = States(*(getattr(begin, x)[rows] for x in "tqvp"))
        return States(start.t + dt, *moved(run, start, np.arange(len(rows)), dt))

    def values(dt: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return watch.values(moved_by(dt, rows), par)[np.arange(len(rows)), numbers[rows]]

    every = np.arange(len(records))
    dt = roots(values, records[:, 2]) if len(records) else begin.t
    states = moved_by(dt, every) if len(records) else begin
    if ended:
        run, states, kept = _cut(run, watch, numbers, states, records)
        numbers = numbers[kept]
    elif len(records):
        # What is larger there than before and after has a pole: 1/x has no zero.
        ends = [np.abs(values(x, every)) for x in (np.zeros_like(dt), records[:, 2])]
        near = np.abs(values(dt, every)) <= np.fmax(*ends)
        states = States(*(getattr(states, x)[near] for x in "tqvp"))
        numbers = numbers[near]
    found = {
        e.label: States(*(getattr(states, x)[numbers == i] for x in "tqvp"))
        for i, e in enumerate(watch.events)
    }
    return replace(run, events=Names("event", found), watch=watch)


def _cut(run: Trajectory, watch: Watch, numbers, states: States, records):
    """The run up to its first terminal event, and the events up to then."""
    last = np.array([watch.events[i].terminal for i in numbers]) & (records[:, 1] == records[-1, 1])
    first = int(np.flatnonzero(last)[np.argmin(states.t[last])])
    t, q, v, p = (getattr(states, x)[first] for x in "tqvp")
    rows = int(np.searchsorted(run.t, t, side="left"))
    joined = {
        name: np.concatenate([getattr(run, name)[:rows], x[None]])
        for name, x in (("q", q), ("v", v), ("p", p))
    }
    n, zero, end = run.system.n, np.zeros(run.system.n), run.ending
    state = end.states[0].copy()
    state[: (HEAD - 1) * n] = np.concatenate([q, p, v, zero, p, zero, run.step * v])
    step = workshop(run.system).step(run.method, keep=run.keep, chart=end.charts[0])
    fresh = step.first_inherited(q, p, v, t, run._par, state)
    if run.method.pace is None:
        state[len(state) - len(fresh) :] = fresh
    else:
        begun, size = records[first, 1:3]
        density = step.program.density_after(run.step / size, t - begun, q, p, v, t, run._par)
        state[-CLOCK:] = t, 0.0, density
    # What changed its sign after the cut has not done so yet.
    kept = np.flatnonzero(states.t <= t)
    many = len(watch.events)
    here = watch._mapped(States(np.array([t]), q[None], v[None], p[None]), run._par)[0]
    here, watch.heights = here[:many], here[many::2].copy()
    fired = numbers[kept[records[kept, 1] == records[first, 1]]]
    waiting = np.setdiff1d(np.arange(len(watch.events)), fired)
    watch.signs[waiting] = np.where(here == 0.0, watch.signs, np.sign(here))[waiting]
    ending = replace(end, states=[state], short=True, end_step=float(t - records[first, 1]))
    states = States(*(getattr(states, x)[kept] for x in "tqvp"))
    held = None if run.held is None else run.held.up_to(t)
    run = replace(run, t=np.append(run.t[:rows], t), **joined, ending=ending, held=held)
    return run, states, kept


def roots(f, high: np.ndarray, enough: Any = 0.0) -> np.ndarray:
    """Roots of f between 0 and `high`, where it changes sign: regula falsi, and bisection in turn.

    All at once: f(x, rows) gives the values at x of those roots that are not found yet.  They are
    found to round-off, or to `enough` if that is more.
    """
    a, b = np.zeros_like(high), high.copy()
    every = np.arange(len(high))
    fa, fb = f(a, every), f(b, every)
    enough = np.maximum(2 * EPS * high, enough)
    moved = np.zeros(len(high))  # the end that was moved last: −1 or 1
    for k in range(120):
        rows = np.flatnonzero(b - a > enough)
        if not len(rows):
            break
        low, top, f_low, f_top = a[rows], b[rows], fa[rows], fb[rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            c = top - f_top * (top - low) / (f_top - f_low)
        c = np.where((k % 3 == 2) | ~((c > low) & (c < top)), 0.5 * (low + top), c)
        fc = f(c, rows)
        left = (np.sign(fc) == np.sign(f_low)) & (fc != 0.0)
        # An end that stays twice counts for less, so that both ends move (Illinois).
        end = np.where(left, -1.0, 1.0)
        less = np.where(moved[rows] == end, 0.5, 1.0)
        fa[rows], fb[rows] = np.where(left, fc, less * f_low), np.where(left, less * f_top, fc)
        a[rows], b[rows] = np.where(left | (fc == 0.0), c, low), np.where(left, top, c)
        moved[rows] = end
    return b


__all__ = ["DIRECTIONS", "Event", "Watch", "located", "roots", "watched"]
