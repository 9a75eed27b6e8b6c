"""Places that a motion cannot pass, and switches that it throws, read off the expressions.

A *pole* is guarded by an expression that is zero there: x of 1/x² or log x, cos x of tan x.  No
motion goes through a repelling pole, and none goes on behind an attracting one; a step can jump
over both.  Guards are followed along the chord of every step, from one stored state to the next.
Where one changes its sign, or touches zero, and forces grow without limit towards that place, the
run has passed through a pole.  (Forces are looked at since 1/x in a formula need not be a pole of
it: sin(x)/x has none.)  In a plane or in space a step rather jumps *past* a pole: where a guard is
nearly zero on the chord, accelerations along it are integrated, closely around that place.  What
they do to the velocities, and the step did not see at its ends, must be small beside the speed.

A *switch* is the argument g of sign(v), Abs(x), Heaviside(x), the condition of a `Piecewise` and
the like.  Where g depends on velocities and the accelerations on both sides of g = 0 point towards
it, ġ(0⁺) < 0 < ġ(0⁻), the motion *sticks* there (Filippov): a block at rest under the friction
−sign(v).  Steps of any method go to and fro then, or creep; which of both may be decided by
rounding, so it is not looked at.  And whatever g is made of: where it changes its sign in two steps
one after the other, and the forces with it, the switch does not switch but chatter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.relational import Relational

from taut.errors import TautError
from taut.kernel.evaluate import LARGE
from taut.march.dense import States, moved
from taut.march.halving import norm_of
from taut.march.trajectory import Trajectory
from taut.model.symbols import free_symbols, t as time_symbol
from taut.model.terms import Term

CHORD = (0.0, 0.25, 0.5, 0.75, 1.0)  # of a step: where guards are looked at
MUCH = 2_000_000  # values of guards, at most, that are looked at
TOUCHED = 1e-9  # of a guard: a zero that it touches
CLOSE = (1e-2, 1e-3, 1e-4)  # of a step, from a pole: where forces are compared
GROWS = 2.0  # times as much that they change from each of these to the next, at least
CHATTER = 0.01  # of the steps, in which a switch is thrown to and fro
NEAR = 1e-3  # of a guard: as small as this on a chord it may touch zero
SEEN, SOME = 8, 64  # places that are looked at for each guard; states, where few were stored
MISSED = 0.05  # of the speed: a kick that a step did not see, as `UNRESOLVED` of a step's error
CLOSER = 24  # times that the way to the place next to a pole is halved
# What g is, of its largest value, on both sides of a switch, and again nearer to it: a force that
# jumps is the same at both, one that is only steep is not.
SIDE, NEARER = 1e-6, 1e-2
STICKS = 400  # states at which it is looked for it, fewer of large systems
JUMPS = 0.1  # of what a step does to momenta: forces that change with a switch


@dataclass(frozen=True)
class Pole:
    """A pole that a run has passed through, or next to: what is (nearly) zero there, and when."""

    guard: str
    t: float
    near: bool = False


@dataclass(frozen=True)
class Chatter:
    """A switch that is thrown to and fro, or sticks: its argument, and in what part of steps."""

    switch: str
    share: float


def poles_of(term: Term) -> list[sp.Expr]:
    """What is zero at poles of a term."""
    if term.kind == "constraint":
        return []
    found: dict[sp.Expr, None] = {}
    for part in _nodes(term):
        if isinstance(part, sp.Pow) and part.exp.could_extract_minus_sign():
            found[part.base] = None
        elif isinstance(part, sp.log):
            found[part.args[0]] = None
        elif isinstance(part, sp.tan | sp.sec):
            found[sp.cos(part.args[0])] = None
        elif isinstance(part, sp.cot | sp.csc):
            found[sp.sin(part.args[0])] = None
    return [x for x in _varying(term, found) if x.is_positive is not True]


def switches_of(term: Term) -> list[sp.Expr]:
    """What changes its sign where a term switches."""
    if term.kind == "constraint":
        return []
    found: dict[sp.Expr, None] = {}
    for part in _nodes(term):
        if isinstance(part, sp.sign | sp.Abs | sp.Heaviside):
            found[part.args[0]] = None
        elif isinstance(part, Relational):
            found[part.lhs - part.rhs] = None
        elif isinstance(part, sp.Max | sp.Min):
            found |= dict.fromkeys(a - b for a, b in pairwise(part.args))
    return _varying(term, found)


def _nodes(term: Term) -> Iterator[Any]:
    for expression in dict.fromkeys(term.expressions):
        yield from dict.fromkeys(sp.preorder_traversal(expression))


def _varying(term: Term, found: Any) -> list[sp.Expr]:
    """Those that the motion changes."""
    names = {s.name for s in (*term.coordinates, *term.rates, time_symbol)}
    return [x for x in found if names & {s.name for s in free_symbols(x)}]


def passed(run: Trajectory) -> list[Pole]:
    """The poles that a single run has passed through, each guard the first time."""
    terms = enumerate(run.system.terms)
    return [x for i, term in terms for x in _passed(run, i, poles_of(term)) if x is not None]


def _passed(run: Trajectory, number: int, guards: list[sp.Expr]) -> Iterator[Pole | None]:
    """Of one term."""
    starts = _starts(run, number, len(guards) * len(CHORD))
    if not guards or not len(starts):
        return
    with np.errstate(all="ignore"):
        values = np.array([_along(run, number, guards, starts, s) for s in CHORD])
        finite = np.isfinite(values[[0, -1]]).all(axis=0)
        negative = np.signbit(values)
        through = finite & (negative[1:] != negative[:-1]).any(axis=0)
        # Between states that are several steps apart the chord is not the way.
        touching = finite & ~through & (_lowest(values)[1] <= NEAR) & (run.every == 1)
        crossed = np.asarray(through | touching)
        for k in range(len(guards)):
            places = np.argwhere(crossed[..., k])[:SEEN].tolist()
            found = (
                _pole(run, number, guards, int(starts[i]), values[:, i], j, k) for i, j in places
            )
            yield next((x for x in found if x is not None), None)


def _pole(run, number: int, guards, row: int, values, instance: int, k: int) -> Pole | None:
    """The pole that a step passes through, if it is one."""

    def at(s: float) -> float:
        return float(_along(run, number, guards, np.array([row]), s)[0, instance, k])

    own = values[:, instance, k]
    changes = np.flatnonzero(np.signbit(own[1:]) != np.signbit(own[:-1]))
    if len(changes):
        place = _zero(at, *CHORD[changes[0] : changes[0] + 2])
    else:
        place = float(_lowest(values)[0][instance, k])
    touched = bool(len(changes)) or abs(at(place)) <= TOUCHED * np.abs(own).min()
    if not (_grows(run, row, place) if touched else _kicked(run, row, place)):
        return None
    when = run.t[row] + place * (run.t[row + 1] - run.t[row])
    return Pole(_named(run, number, guards[k], instance), float(when), near=not touched)


def _starts(run: Trajectory, number: int, each: int) -> np.ndarray:
    """Stored states with one after them: all of them, or as many as can be looked at."""
    good = np.logical_and.reduce(np.isfinite(np.hstack([run.q, run.v])), axis=1)
    rows = np.flatnonzero(good[1:] & good[:-1])
    most = max(1, MUCH // max(1, each * run.system.terms[number].instances))
    if len(rows) > most:
        rows = rows[np.linspace(0, len(rows) - 1, most).astype(int)]
    return rows


def _along(run: Trajectory, number: int, parts, rows: np.ndarray, s: float) -> np.ndarray:
    """Parts of a term on the way from stored states to the next: (rows, instances, parts)."""
    state, t = _between(run, rows, s)
    return run._mechanics.parts(number, parts, t, _pars(run, rows), **state)


def _between(run: Trajectory, rows: np.ndarray, s: Any):
    """States and times on chords; `s` is a number, or a column of one for each row."""
    state = {x: (1 - s) * getattr(run, x)[rows] + s * getattr(run, x)[rows + 1] for x in "qvp"}
    s = np.ravel(s)
    return state, (1 - s) * run.t[rows] + s * run.t[rows + 1]


def _pars(run: Trajectory, rows: np.ndarray) -> np.ndarray:
    return run._pars if run._pars.ndim == 1 else run._pars[rows]


def _lowest(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where on the chord a guard is smallest, by a parabola, and how small, of its ends; or ∞."""
    first, middle, last = values[0], values[len(CHORD) // 2], values[-1]
    bend, slope = 2 * (first - 2 * middle + last), 4 * middle - 3 * first - last
    place = -slope / (2 * bend)
    size = np.abs(first + 0.5 * slope * place) / np.minimum(np.abs(first), np.abs(last))
    return place, np.where((place > 0.0) & (place < 1.0), size, np.inf)


def _zero(at, low: float, high: float) -> float:
    """Where it changes its sign."""
    sign = np.signbit(at(low))
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.signbit(at(middle)) == sign else (low, middle)
    return 0.5 * (low + high)


def _grows(run: Trajectory, row: int, place: float) -> bool:
    """Whether forces grow without limit towards a place on the chord of a step."""
    for side in (-1.0, 1.0):
        seen = [_force(run, row, place + side * x) for x in CLOSE]
        changes = [float(np.linalg.norm(b - a)) for a, b in pairwise(seen)]
        if all(b > GROWS * a > 0.0 for a, b in pairwise(changes)):
            return True
    return False


def _kicked(run: Trajectory, row: int, place: float) -> bool:
    """Whether there are accelerations next to a place on the chord that the step did not see."""
    closer = 0.5 ** np.arange(CLOSER + 1.0)
    ways = np.concatenate([[0.0, 1.0, place], place * (1 - closer), place + (1 - place) * closer])
    ways = np.unique(ways.clip(0.0, 1.0))
    state, t = _between(run, np.full(len(ways), row), ways[:, None])
    par, norm = _pars(run, np.full(len(ways), row)), norm_of(run)
    a = run._mechanics.accelerations(state["q"], state["v"], state["p"], np.ravel(t), par)[0]
    span = run.t[row + 1] - run.t[row]
    kick = span * np.trapezoid(a, ways, axis=0)
    seen = span * (np.abs(a[0]) + np.abs(a[-1]))  # whatever the step made of it
    speed = np.linalg.norm(norm(run.v[[row, row + 1]]), axis=1).max()
    missed = np.linalg.norm(norm(np.maximum(np.abs(kick) - seen, 0.0)))
    return bool(missed > MISSED * speed)


def _force(run: Trajectory, row: int, s: float) -> np.ndarray:
    rows = np.array([row])
    state, t = _between(run, rows, s)
    return run._mechanics.apply("force", t, _pars(run, rows), **state)[0]


def _named(run: Trajectory, number: int, part: sp.Expr, instance: int) -> str:
    """A part of a term in the symbols of the system."""
    term, system = run.system.terms[number], run.system
    where = term.indices[instance].tolist()
    table = {s: system.coordinates[i] for s, i in zip(term.coordinates, where, strict=True)}
    rates = system.momenta if term.kind == "hamiltonian" else system.velocities
    table |= {s: rates[i] for s, i in zip(term.rates, where, strict=False)}
    known = zip(term.constants, term.values[instance].tolist(), strict=True)
    return str(part.xreplace(table | {s: sp.Float(x, 4) for s, x in known}))


def chattering(run: Trajectory) -> list[Chatter]:
    """The switches of a single run that are thrown to and fro, or stick."""
    found = []
    for number, term in enumerate(run.system.terms):
        if not (parts := switches_of(term)):
            continue
        with np.errstate(all="ignore"):
            share = _thrown(run, number, parts)
            for k, part in enumerate(parts):
                share[:, k] = np.maximum(share[:, k], _stuck(run, number, part))
        for k, part in enumerate(parts):  # of all instances the worst
            worst = int(np.argmax(share[:, k]))
            if share[worst, k] > CHATTER:
                found.append(Chatter(_named(run, number, part, worst), float(share[worst, k])))
    return found


def _thrown(run: Trajectory, number: int, parts: list[sp.Expr]) -> np.ndarray:
    """In what share of the steps each switch of each instance goes to and fro, with its forces."""
    term, states = run.system.terms[number], _in_a_row(run, number, len(parts))
    if not states:
        return np.zeros((term.instances, len(parts)))
    signs = np.sign(np.nan_to_num([_parts_at(run, number, parts, x) for x in states]))
    thrown = (signs[0] * signs[1] < 0) & (signs[1] * signs[2] < 0)
    one, two = (_forces_at(run, x) for x in states[:2])
    change, made = (two - one) * (states[1].t - states[0].t)[:, None], states[1].p - states[0].p
    own = term.indices
    with np.errstate(all="ignore"):
        large = np.abs(change[:, own]).max(axis=2) > JUMPS * np.abs(made[:, own]).max(axis=2)
    return (thrown & large[..., None]).mean(axis=0)


def _stuck(run: Trajectory, number: int, part: sp.Expr) -> np.ndarray:
    """In what share of the states each instance of a switch of velocities sticks at zero."""
    term = run.system.terms[number]
    share = np.zeros(term.instances)
    names = {s.name for s in free_symbols(part)}
    if run.system.form != "lagrangian" or not names & {s.name for s in term.rates}:
        return share
    rows, few = _starts(run, number, 3), STICKS if run.system.n <= LARGE else SEEN
    if not len(rows):
        return share
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, few).astype(int))]
    states = _stored(run, rows)
    known = {s.name: s for s in free_symbols(part)}
    symbols = [known.get(s.name, s) for s in (*term.rates, *term.coordinates, time_symbol)]
    changes = [sp.diff(part, x) for x in symbols]
    if any(x.has(sp.DiracDelta, sp.Derivative, sp.Subs) for x in changes):  # jumps itself
        return share
    values = _parts_at(run, number, [part, *changes], states)
    g, slopes = values[..., 0], values[..., 1 : 1 + len(term.rates)]
    n = len(term.coordinates)
    carried = values[..., -1].copy()  # what ġ is without accelerations
    for i in range(n):
        carried += values[..., 1 + len(term.rates) + i] * states.v[:, term.indices[:, i]]
    reach = np.nanmax(np.abs(g), axis=0)
    for i in np.flatnonzero(reach > 0.0)[:SEEN]:
        share[i] = np.mean(_sticks(run, states, term.indices[i], g[:, i], slopes[:, i],
                                   carried[:, i], SIDE * reach[i]))  # fmt: skip
    return share


def _sticks(run: Trajectory, x: States, own, g, slopes, carried, side: float) -> np.ndarray:
    """Where both sides of g = 0 lead back to it, so quickly that a step would pass it."""
    size = (slopes**2).sum(axis=1)

    def rate(value: float) -> np.ndarray:
        """ġ where g has this value, velocities being changed along its slope."""
        v = x.v.copy()
        v[:, own] += ((value - g) / np.where(size > 0.0, size, np.inf))[:, None] * slopes
        par = run._par if run.held is None else np.array([run._par_at(t) for t in x.t.tolist()])
        a = run._mechanics.accelerations(x.q, v, x.p, x.t, par)[0]
        return (slopes * a[:, own]).sum(axis=1) + carried

    above, below = rate(side), rate(-side)
    jump = below - above
    sharp = rate(-NEARER * side) - rate(NEARER * side) > 0.5 * jump
    return (above < 0.0) & (below > 0.0) & sharp & (np.abs(g) <= abs(run.step) * jump)


def _forces_at(run: Trajectory, x: States) -> np.ndarray:
    par = run._par if run.held is None else np.array([run._par_at(t) for t in x.t.tolist()])
    return run._mechanics.apply("force", x.t, par, q=x.q, v=x.v, p=x.p)


def _in_a_row(run: Trajectory, number: int, count: int) -> list[States]:
    """States, and those one and two steps after them; stored ones where all steps were stored."""
    rows = _starts(run, number, 3 * count)
    if run.every == 1:
        rows = rows[rows + 2 < len(run.t)]
        return [_stored(run, rows + k) for k in range(3)] if len(rows) else []
    if run.method.pace is not None or not len(rows):
        return []
    states = [_stored(run, rows[np.unique(np.linspace(0, len(rows) - 1, SOME).astype(int))])]
    try:
        for _ in range(2):
            x = states[-1]
            each, h = np.arange(len(x.t)), np.full(len(x.t), run.step)
            states.append(States(x.t + run.step, *moved(run, x, each, h)))
    except TautError:  # beside what ended the run
        return []
    return states


def _stored(run: Trajectory, rows: np.ndarray) -> States:
    return States(run.t[rows], run.q[rows], run.v[rows], run.p[rows])


def _parts_at(run: Trajectory, number: int, parts: list[sp.Expr], x: States) -> np.ndarray:
    par = run._par if run.held is None else np.array([run._par_at(t) for t in x.t.tolist()])
    return run._mechanics.parts(number, parts, x.t, par, q=x.q, v=x.v, p=x.p)
