"""What a notebook shows of a run: a few facts and a small drawing.

Nothing is searched, differentiated or compiled here: the facts were kept while the run was made.
What takes longer, laws and verdicts, is in ``run.certificate``; real pictures are ``run.plot()``.
"""

from __future__ import annotations

import numpy as np

from taut.calls import public
from taut.diagnose.certificate import EPS, _energy_drift
from taut.diagnose.drift import Drift
from taut.march.field_trajectory import FieldTrajectory
from taut.march.loop import BOOKS, HEAD
from taut.march.trajectory import Trajectory
from taut.show.geometry import Point, down_of, linked, points_of, trails_of
from taut.sketch import Box, beside, flattened, sketch
from taut.text import counted, table

MANY = 64  # trajectories up to which the books of all are looked at
SERIES = 3  # coordinates that are drawn against time
SHAPES = 8  # of beams and fields
LARGE = 60  # coordinates up to which it is looked for what points down


@public
def card(run: Trajectory) -> str:
    """A run of a system as HTML."""
    rows = [
        ("system", repr(run.system if run.system.flow is None else run.system.flow)),
        ("method", f"{run.method.label}, step {run.step:g}"),
        ("states", _states(run)),
        ("time", f"{run.t[0]:g} … {run.t[-1]:g}"),
        ("ended early", run.ended_early),
        ("parameters", ", ".join(f"{name} = {x:g}" for name, x in run.parameters.items())),
    ]
    if run.batch is None or run.batch <= MANY:
        rows += _measured(run)
    rows += [("events", _events(run)), ("made in", f"{run.wall_time:.3g} s")]
    boxes = [_paths(run)] if len(run.t) > 1 else []
    if not run.system.first_order and run.batch is None:
        boxes += _error(run.ending.books[0], run.step, run.system.conservative)
    return beside(_facts(rows), sketch(boxes, "where the run went, and its energy error"))


@public
def field_card(run: FieldTrajectory) -> str:
    """A run of a field or of beams as HTML."""
    book = dict(zip(BOOKS, run.books, strict=False))
    drift, work = _energy_drift(run.books, run.step), book["gross_work"] > 0
    start = book["energy0"] if abs(book["energy0"]) > EPS**2 * book["gross_work"] else 0.0
    rows = [
        ("model", repr(run.model)),
        ("method", f"{run.method.name}, step {run.step:.4g}"),
        ("states", f"{counted(len(run.t), 'state')} of {run.momentum.shape[1]} nodes"),
        ("time", f"{run.t[0]:g} … {run.t[-1]:g}"),
        ("ended early", run.ended_early),
        ("energy", f"{start:.6g}" + (f", work {book['work']:.4g}" if work else "")),
        ("energy − work" if work else "band", f"{drift.band:.1e}" if work else _band(drift)),
        ("made in", f"{run.wall_time:.3g} s"),
    ]
    boxes = [_shapes(run), *_error(run.books, run.step, not work)]
    return beside(_facts(rows), sketch(boxes, "shapes of the run, and its energy error"))


# ---- facts ------------------------------------------------------------------------------------


def _facts(rows: list[tuple[str, str]]) -> str:
    return table([row for row in rows if row[1]], "Trajectory")


def _states(run: Trajectory) -> str:
    many = f"{counted(run.batch, 'trajectory', 'trajectories')} of " if run.batch else ""
    blank = int(np.count_nonzero(~np.isfinite(run.q).all(axis=-1)))
    return f"{many}{counted(len(run.t), 'state')}" + f", {blank} not finite" * bool(blank)


def _events(run: Trajectory) -> str:
    return ", ".join(f"{name}: {len(x)}" for name, x in run.events.items())


def _measured(run: Trajectory) -> list[tuple[str, str]]:
    c, rows = run.certificate, []
    if run.system.c:
        rows.append(("max |g|, |G q̇ + ∂g/∂t|", f"{c.max_g:.1e}, {c.max_hidden:.1e}"))
    if run.system.first_order:
        return rows
    if run.system.conservative:
        return [*rows, ("energy", f"{c.energy0:.6g}, band {_band(c.energy)}")]
    return [*rows, ("energy − work", f"{c.energy0:.6g}, constant to {c.energy.band:.1e}")]


def _band(drift: Drift) -> str:
    if not np.isfinite(drift.half_width) or not drift.band > 0:
        return f"{drift.band:.1e}"
    share, half = 100 * drift.relative, 100 * drift.relative_half_width
    return f"{drift.band:.1e}, drift ({share:+.2g} ± {half:.2g}) % of it"


# ---- drawings ---------------------------------------------------------------------------------


def _paths(run: Trajectory) -> Box:
    places = points_of(run.system)
    one = run if run.batch is None else run[0]
    note = "the first trajectory" if run.batch else ""
    if not places:
        names = [str(x) for x in run.system.coordinates[:SERIES]]
        curves = [np.column_stack([one.t, one.q[:, i]]) for i in range(len(names))]
        return Box(curves, ", ".join(names) + " over t", note)
    shown = [places[k] for k in trails_of(len(places), linked(run.system))]
    paths = [one.q[:, list(p.columns)] for p in shown]
    if paths[0].shape[1] == 3:
        return Box([*flattened(np.array(paths))], "path", note, equal=True)
    return Box([x * _upright(run, places) for x in paths], "path", note, equal=True)


def _upright(run: Trajectory, places: list[Point]) -> np.ndarray:
    """Which axes are turned round, so that what falls goes down."""
    down = down_of(run.system, places, run.parameters) if run.system.n <= LARGE else None
    return np.array([1.0, -1.0]) if down == "y" else np.array([-1.0 if down == "x" else 1.0, 1.0])


def _error(book: np.ndarray, step: float, conservative: bool) -> list[Box]:
    """The energy's error as it was kept: the means of up to 256 blocks of steps."""
    value = dict(zip(BOOKS, book, strict=False))
    means = book[HEAD : HEAD + int(value["blocks"])]
    if len(means) < 2:
        return []
    middle = (np.arange(len(means)) + 0.5) * value["block_length"] * step
    curve = np.column_stack([middle, means])
    size = float(np.nanmax(np.abs(means), initial=0.0))
    return [Box([curve], "energy error" if conservative else "energy − work", f"to {size:.1e}")]


def _shapes(run: FieldTrajectory) -> Box:
    rows = np.unique(np.linspace(0, len(run.t) - 1, SHAPES).astype(int))
    note = f"{len(rows)} of {counted(len(run.t), 'state')}"
    if run.mesh is None:
        most = int(np.argmax(np.ptp(run.momentum, axis=(0, 1))))
        curves = [np.column_stack([run.model.places, run.momentum[k, :, most]]) for k in rows]
        return Box(curves, f"{run.model.momentum[most]} over s", note, fade=True)
    drawn = flattened(run.positions[rows])
    spans = run.mesh.spans
    curves = [x[span] for x in drawn for span in spans]
    return Box(curves, "shapes", note, equal=True, fade=True)
