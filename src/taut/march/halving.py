"""What single steps of a run are worth: sampled ones are made again in parts, by the same method.

From a state of the run one step h is compared with 2, 4 and (of systems that are not large) 8
shorter ones that end at the same time.  Their lengths are in golden ratios, so that no force that
varies with time, and no fast motion, can be back where it was at the ends of all of them (a force
of 100 Hz, seen every 0.01 s, is a constant; and the phase of a discrete step is below π whatever
the true one is).  With the velocities v of coordinates of equal mass, in the norm of the kinetic
energy,

    error = max ‖v(h) − v(parts)‖ / s,      turn = Σ ‖changes of v over the parts‖ / s,

where s is the larger of the speed in this step and of its mean over the run, relative to the mean
velocity (uniform translation does not count, if what else moves has a speed of more than `TRAVEL`
of it); what has less than `SMALL` of the largest speed is held against that, and in `light` against
its own: a part that carries little energy may still be what somebody looks at.  For a vibration
x(t) = sin ωt turn is about ωh, and a step of RATTLE has an error of about (ωh)³/10.  (If the run is
shorter than a vibration, its mean velocity is none to compare with, and both are too large.  Turns
are not shown then.)  What is fast but at rest, a stiff spring that nothing excites, has no error:
the motion is judged, not what could move.  A method that is exact at any step has none either.  Of
a flow the variables take the place of velocities, each by itself.

States are spread over the run; those at which velocities turn most are among them, and those at
which forces change most within a step.

What a step does to v is a small part of it, and errors that turn with the motion do not add up.
Those of a force do that is met at the same phase in every step.  Where forces go through most of
their range within a step, in more than a few of them, `forcing` is the error of a step as a share
of what it does to the velocities.  `share` is the same wherever an error is large enough to be
seen: what is quick but small hides behind the rest, a moon that goes round the sun with its planet.

The equations of a step may have several solutions, and the guess, which comes from the steps
before, decides between them: the light end of a linkage is thrown to the other side, and goes on
from there.  A step that is made again, from a guess of its own, ends where it ended, or it is
`astray`: each mass is judged by itself, by the way it went in this step.  What is light counts,
and what trembles is no more astray than the rest: it is the same equations that are solved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from taut.errors import TautError
from taut.kernel.evaluate import LARGE, Snapshot
from taut.march.between import parts_between
from taut.march.dense import States, moved
from taut.march.kicks import lengths
from taut.model.symbols import t as time_symbol
from taut.portable import norm, product

if TYPE_CHECKING:
    from taut.march.trajectory import Trajectory

EPS = np.finfo(float).eps
GOLDEN = (5**0.5 - 1) / 2
HALVINGS, TWICE = 3, 2  # times that a step is divided, and of systems with more than `LARGE`
SAMPLES, FEW = 16, 6  # states, and of systems with more than `LARGE` coordinates
MEMBERS = 4  # of a batch
SMALL = 0.03  # of the largest speed, a thousandth of its energy
TRAVEL = 1e-3  # of the speed of a translation, a millionth of its energy
NOISE = 256 * EPS  # of coordinates: what rounding may leave of them in a step
REST = 1e-11  # of coordinates: a motion that is none
LOOKS, TIMES = 2000, 5  # states at which forces are looked at, and times within their steps
MUCH = 200_000  # numbers that are looked at at most
SEEN = 5e-3  # of the speed: an error that is large enough to be seen
WIDE, OFTEN = 0.5, 0.1  # of the range of a force, within a step; of the steps
DIGITS = 8  # to which masses are equal
LOST, LEFT = 0.5, 1e-8  # of its way in a step; of the largest speed: what Newton may leave of it


@dataclass(frozen=True)
class Halved:
    """What steps that were made again in parts have shown.

    Attributes
    ----------
    error, turn : float
        The largest of all steps; see the module's head.
    t : float
        When the step with the largest error began.
    steps : int
        How many were made again.
    share : float
        Of what steps do to velocities the error of one, at most, if that is to be seen; else 0.
    light : float
        As `error`, but of each mass relative to its own speed: of parts that carry little energy.
    forcing : float
        Of what steps do to velocities their error, the median, if forces change quickly; else 0.
    still : bool
        Whether nothing moved in any of them.
    turned : bool
        Whether the run is long enough for `turn` to mean anything: as a whole it turns once.
    astray : bool
        Whether a step, made again, ends elsewhere; it began at `t`.
    looked : float
        The share of the steps among which these were chosen.
    """

    error: float
    turn: float
    t: float
    steps: int
    share: float = 0.0
    light: float = 0.0
    forcing: float = 0.0
    still: bool = False
    turned: bool = True
    astray: bool = False
    looked: float = 1.0


class Look(NamedTuple):
    """A member of a run, it or parts of it with all their steps, and the share of the steps."""

    member: Trajectory
    parts: list[Trajectory]
    share: float


def looks(run: Trajectory) -> list[Look]:
    """Where steps are looked at, of a few members of a batch."""
    turning = ((x, _turning(x.v, x.p)[: _whole(x)]) for x in members(run))
    return [Look(x, *parts_between(x, turns)) for x, turns in turning]


def halved(run: Trajectory, where: list[Look] | None = None) -> Halved | None:
    """The worst of the sampled steps, of a few members of a batch; None if none could be made."""
    found = []
    for member, parts, share in looks(run) if where is None else where:
        of_parts = [x for part in parts if (x := _of_one(part, member)) is not None]
        found += [replace(x, looked=share) for x in of_parts]
    worst = max(found, key=lambda x: (x.astray, max(x.error, x.forcing)), default=None)
    if worst is None:
        return None
    return replace(
        worst, turn=max(x.turn for x in found), steps=sum(x.steps for x in found),
        still=all(x.still for x in found), share=max(x.share for x in found),
        light=max(x.light for x in found),
    )  # fmt: skip


def members(run: Trajectory) -> Iterator[Trajectory]:
    """The run itself, or those of a batch whose velocities turn most, and some others."""
    if run.batch is None:
        yield run
        return
    turns = [_turning(x, p).max(initial=0.0) for x, p in zip(run.v, run.p, strict=True)]
    worst = np.argsort(-np.array(turns), kind="stable")[: MEMBERS // 2]
    evenly = np.linspace(0, run.batch - 1, MEMBERS // 2).astype(int)
    for i in np.unique(np.concatenate([worst, evenly])):
        yield run[int(i)]


def parts_of(halvings: int = HALVINGS) -> list[list[float]]:
    """Lengths of the parts of a step of length one: one, two, four … of them."""
    found = [[1.0]]
    for _ in range(halvings):
        pairs = ((GOLDEN * x, (1 - GOLDEN) * x) for x in found[-1])
        found.append([y for i, x in enumerate(pairs) for y in (x if i % 2 == 0 else x[::-1])])
    return found


def _of_one(run: Trajectory, whole: Trajectory) -> Halved | None:
    if len(run.t) < 2 or (run.method.pace is not None and run.every > 1):
        return None
    changing = None if run.system.first_order or not _timed(run) else _changing(run)
    rows = _rows(run, changing)
    if not len(rows):
        return None
    h = np.full(len(rows), run.step)
    if run.method.pace is not None:
        h = np.diff(run.t)[rows]
    elif run.every == 1 and run.ending.short:
        h[rows == len(run.t) - 2] = run.t[-1] - run.t[-2]
    begin = States(run.t[rows], run.q[rows], run.v[rows], run.p[rows])
    made = _made(run, begin, h)
    if made is None:
        return None
    sizes = _lengths_of(run, begin, h)
    quick = changing is not None and np.mean(changing[changing >= 0.0] > WIDE) > OFTEN
    paths, kept = made
    found = _judged(whole, paths, h[kept], sizes[kept], quick=bool(quick))
    astray = np.flatnonzero(_astray(run, paths, h[kept], sizes[kept], rows[kept]))
    if not len(astray):
        return found
    return replace(found, astray=True, t=float(run.t[rows[kept][astray[0]]]))


def _made(run: Trajectory, begin: States, h: np.ndarray):
    """The states along all divisions of steps, and which steps these are.

    Whole steps that cannot be made are left out; where parts cannot, they are no numbers.
    """
    divisions = parts_of(TWICE if run.system.n > LARGE else HALVINGS)
    try:
        return [_path(run, begin, h, parts) for parts in divisions], np.arange(len(h))
    except (TautError, np.linalg.LinAlgError):
        pass
    each = []
    for i in range(len(h)):
        one, size = _row(begin, [i]), h[[i]]
        try:
            paths = [_path(run, one, size, [1.0])]
        except (TautError, np.linalg.LinAlgError):
            continue
        for parts in divisions[1:]:
            try:
                paths.append(_path(run, one, size, parts))
            except (TautError, np.linalg.LinAlgError):
                lost = States(one.t, *(np.full_like(getattr(one, x), np.nan) for x in "qvp"))
                paths.append([one, *[lost] * len(parts)])
        each.append((paths, i))
    if not each:
        return None
    numbers = [range(len(path)) for path in each[0][0]]
    paths = [[_joined([x[k][j] for x, _ in each]) for j in js] for k, js in enumerate(numbers)]
    return paths, np.array([i for _, i in each])


def _path(run: Trajectory, begin: States, h: np.ndarray, parts: list[float]) -> list[States]:
    path = [begin]
    for share in parts:
        here = path[-1]
        path.append(States(here.t + share * h, *moved(run, here, np.arange(len(h)), share * h)))
    return path


def _row(states: States, rows: list[int]) -> States:
    return States(*(getattr(states, x)[rows] for x in "tqvp"))


def _joined(states: list[States]) -> States:
    return States(*(np.concatenate([getattr(s, x) for s in states]) for x in "tqvp"))


def _lengths_of(run: Trajectory, begin: States, h: np.ndarray) -> np.ndarray:
    """What rounding compares coordinates with in each step: themselves, and what steps make."""
    states = zip(begin.q, begin.v, begin.p, begin.t.tolist(), h.tolist(), strict=True)
    with np.errstate(all="ignore"):  # a run that blows up
        own = np.array([
            lengths(run._mechanics, q, v, p, t, run._par_at(t), run._kept_at(t, 0), size)
            for q, v, p, t, size in states
        ])  # fmt: skip
    return np.abs(begin.q) + own


def _judged(
    run: Trajectory, paths: list[list[States]], h: np.ndarray, sizes: np.ndarray, *, quick: bool
) -> Halved:
    """The worst of these steps."""
    flow, begin, finest = run.system.first_order, paths[0][0], paths[-1]
    norm, name = norm_of(run), "q" if flow else "v"
    stored = getattr(run, name)
    stored = stored[np.all(np.isfinite(stored), axis=1)]
    mean = stored.mean(axis=0)
    usual = np.sqrt((norm(stored - mean) ** 2).mean(axis=0))
    whole = getattr(paths[0][-1], name)
    with np.errstate(all="ignore"):  # what blows up is no number
        gaps = [norm(getattr(path[-1], name) - whole) for path in paths[1:]]
        fast = [norm(getattr(x, name) - mean) for x in finest]
        turn = sum(norm(getattr(b, name) - getattr(a, name)) for a, b in pairwise(finest))
        noise = norm(sizes) if flow else norm(sizes / h[:, None] + np.abs(begin.v))
        gap = np.maximum(np.max(gaps, axis=0) - NOISE * noise, 0.0)
        gap[~np.isfinite(gap)] = np.inf
        scale = own = np.fmax(np.fmax.reduce(fast), usual)
        if not flow:
            own = np.maximum(scale, LEFT * scale.max(axis=1, keepdims=True))
            scale = np.maximum(scale, SMALL * scale.max(axis=1, keepdims=True))
            scale = np.maximum(scale, TRAVEL * norm(mean).max())
        error = np.where(gap > 0.0, gap / scale, 0.0)
        error[~np.isfinite(error)] = np.inf
        light = np.nan_to_num(np.where(gap > 0.0, gap / own, 0.0))
        turn = np.nan_to_num(turn)
        angle = np.where(turn > 0.0, turn / scale, 0.0)
        moving = np.fmax.reduce([np.abs(x.q - begin.q).max(axis=0) for x in finest])
    spread = np.abs(run.q[np.isfinite(run.q).all(axis=1)] - run.q[0]).max(axis=0)
    least = REST * np.fmax(np.abs(begin.q).max(), sizes.max(axis=0))
    if not flow and np.all(np.fmax(moving, spread) <= least):
        return Halved(0.0, 0.0, float(begin.t[0]), len(h), still=True)
    typical = np.sqrt(np.square(turn).mean(axis=0))
    worst, seen = int(np.argmax(error.max(axis=1))), error > SEEN
    return Halved(
        error=float(error.max()),
        turn=float(angle.max()),
        t=float(begin.t[worst]),
        steps=len(h),
        share=float((gap / (np.fmax(turn, typical) + 1e-300))[seen].max(initial=0.0)),
        light=float(light.max()),
        forcing=float(np.median(_lengths(gap) / _lengths(turn))) if quick else 0.0,
        turned=bool((angle / h[:, None]).max() * (run.t[-1] - run.t[0]) > 2 * np.pi),
    )


def _astray(
    run: Trajectory, paths: list[list[States]], h: np.ndarray, sizes: np.ndarray, rows
) -> np.ndarray:
    """Which whole steps end elsewhere than the run's own, in any of the masses."""
    if run.every > 1:
        return np.zeros(len(rows), dtype=bool)
    norm, begin, again, end = norm_of(run), run.q[rows], paths[0][-1].q, run.q[rows + 1]
    with np.errstate(all="ignore"):
        ways = np.fmax(norm(again - begin), norm(end - begin))
        fastest = np.fmax(norm(run.v).max(initial=0.0), ways.max(axis=1) / abs(h))
        least = LEFT * fastest * abs(h) + NOISE * norm(sizes).T
        return np.any(np.fmax(LOST * ways.T, least) < norm(end - again).T, axis=0)


def _lengths(x: np.ndarray) -> np.ndarray:
    """Of all masses together, not zero."""
    return np.maximum(norm(x), 1e-300)


def norm_of(run: Trajectory):
    """√Σ m x² over coordinates of equal mass, shape (…, masses); of flows each by itself."""
    if run.system.first_order:
        return np.abs
    here = Snapshot(run._mechanics, run.q[0], run.v[0], run.p[0], float(run.t[0]), _par(run))
    hessian = abs(here.sparse_hessian())
    mass = hessian.diagonal()
    # Where momenta belong to other coordinates than their own, H = p₁ p₂: the largest entry.
    mass = np.where(mass > 0.0, mass, hessian.max(axis=1).toarray().ravel())
    if here.mechanics.form != "lagrangian":
        mass = np.where(mass > 0.0, 1.0 / np.where(mass > 0.0, mass, 1.0), 0.0)
    mass = np.where(np.isfinite(mass), mass, 0.0)
    kinds = np.round(np.log(np.where(mass > 0.0, mass, 1.0)), DIGITS)
    which, own = np.unique(kinds, return_inverse=True)
    member = np.zeros((len(mass), len(which)))
    member[np.arange(len(mass)), own] = mass
    return lambda x: np.sqrt(product(np.square(x), member))


def _par(run: Trajectory) -> np.ndarray:
    return run._par_at(float(run.t[0]))


def _rows(run: Trajectory, changing: np.ndarray | None) -> np.ndarray:
    """Stored states to begin at: spread evenly, and the quickest of each part of the run."""
    count = _whole(run)
    half = (FEW if run.system.n > LARGE else SAMPLES) // 2
    evenly = (np.arange(1, half + 1) * GOLDEN % 1.0 * count).astype(int)
    worst = _worst(run, changing, half)
    return np.unique(np.concatenate([[0], evenly, worst, _leaps(run, count)]))[:count]


def _leaps(run: Trajectory, count: int) -> np.ndarray:
    """Steps in which coordinates go farthest from where their velocities lead, of their ranges."""
    if run.system.first_order or run.every > 1 or not count:
        return np.zeros(0, dtype=int)
    q, v = run.q[: count + 1], run.v[: count + 1]
    with np.errstate(all="ignore"):
        off = np.diff(q, axis=0) - np.diff(run.t[: count + 1])[:, None] * (v[1:] + v[:-1]) / 2
        share = np.nan_to_num(np.abs(off) / np.ptp(q, axis=0)).max(axis=1)
    return np.argsort(-share, kind="stable")[: FEW // 2]


def quickest(run: Trajectory, many: int) -> np.ndarray:
    """Stored states after which velocities turn most, or forces change most, of parts of a run."""
    return _worst(run, None if run.system.first_order or not _timed(run) else _changing(run), many)


def _worst(run: Trajectory, changing: np.ndarray | None, many: int) -> np.ndarray:
    count = _whole(run)
    quick = [_turning(run.v, run.p)[:count]]
    if changing is not None:
        quick.append(changing[:count])
    blocks = [x for x in np.array_split(np.arange(count), many) if len(x)]
    return np.array([x[np.argmax(speed[x])] for speed in quick for x in blocks], dtype=int)


def _whole(run: Trajectory) -> int:
    """Stored states that have one after them."""
    good = np.flatnonzero(np.all(np.isfinite(run.q), axis=1))
    return min(len(run.t) - 1, int(good.max(initial=0)))


def _turning(v: np.ndarray, p: np.ndarray) -> np.ndarray:
    """How much a step from each state changes v, and more or less than the steps beside it.

    In the norm of the kinetic energy, squared.
    """
    with np.errstate(all="ignore"):
        own = np.abs((np.diff(v, axis=0) * np.diff(p, axis=0)).sum(axis=1))
        bent = np.abs((np.diff(v, 2, axis=0) * np.diff(p, 2, axis=0)).sum(axis=1))
        own[1:] += bent
        own[:-1] += bent
    return np.nan_to_num(np.append(own, 0.0))


def _timed(run: Trajectory) -> bool:
    """Whether anything depends on time by itself."""
    return any(time_symbol.name in {s.name for s in x.free_symbols} for x in run.system.terms)


def _changing(run: Trajectory) -> np.ndarray:
    """Of the range of each force what it goes through in the step from each state; −1 if unknown.

    The state stays what it is: it is what time does to forces that counts.
    """
    count = max(1, _whole(run))
    looks = max(FEW, min(count, LOOKS, MUCH // run.system.n))
    rows = np.unique(np.linspace(0, count - 1, looks).astype(int))
    shares = np.concatenate([[0.0], np.arange(1, TIMES + 1) * GOLDEN % 1.0])
    reach = np.diff(run.t)[rows] if run.method.pace is not None else run.step
    with np.errstate(all="ignore"):
        width = np.ptp([_forces(run, rows, run.t[rows] + x * reach) for x in shares], axis=0)
        whole = np.zeros(run.system.n)
        for k in np.unique(rows[[0, len(rows) // 2, -1]]):  # over all times, at a few states
            same = np.full(len(rows), k)
            seen = np.array([_forces(run, same, run.t[rows] + x * reach) for x in shares])
            whole = np.fmax(whole, np.ptp(seen, axis=(0, 1)))
    found = np.full(len(run.t) - 1, -1.0)
    found[rows] = np.nan_to_num(width / np.maximum(whole, 1e-300), posinf=1.0).max(axis=1)
    return found


def _forces(run: Trajectory, rows: np.ndarray, times: np.ndarray) -> np.ndarray:
    """At stored states, but at other times."""
    par = run._pars if run._pars.ndim == 1 else run._pars[rows]
    state = {x: getattr(run, x)[rows] for x in "qvp"}
    return run._mechanics.apply("force", times, par, **state)


__all__ = ["Halved", "Look", "halved", "looks", "norm_of", "quickest"]
