"""`run.plot()`: path, energy error and constraint residuals in one figure."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from taut.errors import InputError
from taut.march.trajectory import Trajectory
from taut.show import style
from taut.show.geometry import Point, down_of, points_of, rods_at

SERIES = 6  # coordinates in one panel
ZOOM = 0.4  # a path smaller than this part of the whole is shown alone
PATHS = 4  # points whose paths are drawn; a longer chain is shown by its shape


def plot(
    run: Trajectory,
    *,
    down: str | None = "auto",
    title: str | None = None,
    members: int = 6,
    points: int = 5000,
) -> style.Picture:
    """Draw a run: where it went, and what it kept.

    The path of every point (coordinates named x, y[, z] or x1, y1[, z1] …; other coordinates are
    drawn against time) with the rods at the last state, the energy error with its drift (for a
    flow, what its laws change by), and the largest residuals of the constraints and hidden ones.

    Parameters
    ----------
    run : Trajectory
    down : "auto", "x", "y", "z" or None
        The axis that points down on paper.  "auto" takes the one along which a uniform force
        such as gravity pulls, None turns nothing round.
    title : str, optional
        A heading; the method and its step if not given.
    members : int
        How many trajectories of a batch are drawn.
    points : int
        Samples per curve; longer runs keep their extremes.

    Returns
    -------
    matplotlib.figure.Figure
    """
    places = points_of(run.system)
    _check(places, down, members, points)
    if down == "auto":
        down = down_of(run.system, places, run.parameters)
    runs, which = _chosen(run, members)
    constrained = run.system.c > 0
    with style.styled():
        figure = style.picture(3.3 if constrained else 2.9)
        grid = figure.add_gridspec(2 if constrained else 1, 2, width_ratios=(1, 1.25))
        space = bool(places) and len(places[0].columns) == 3
        left = figure.add_subplot(grid[:, 0], projection="3d" if space else None)
        if places:
            _draw_paths(left, runs, places, down, points)
        else:
            _draw_coordinates(left, runs, points)
        energy = figure.add_subplot(grid[0, 1])
        if run.system.first_order:
            _draw_laws(energy, runs, points)
        else:
            _draw_energy(energy, runs, points)
        if constrained:
            below = figure.add_subplot(grid[1, 1], sharex=energy)
            _draw_residuals(below, runs)
            energy.tick_params(labelbottom=False)
            energy.set_xlabel("")
        heading = f"{run.method.label}, step {run.step:g}{which}" if title is None else title
        if heading:
            figure.suptitle(heading, x=0.01, ha="left", fontsize=8, color=style.FAINT)
    return figure


def _check(places: list[Point], down: str | None, members: int, points: int) -> None:
    letters = tuple("xyz"[: len(places[0].columns)]) if places else ()
    if down not in (None, "auto", *letters):
        raise InputError(
            "down is not an axis of this picture",
            expected="one of " + ", ".join([*letters, "auto", "None"]),
            received=repr(down),
        )
    for name, value, least in (("members", members, 1), ("points", points, 10)):
        if not isinstance(value, int) or value < least:
            raise InputError(f"{name} is too small", expected=f"{name} ≥ {least}", received=value)


def _chosen(run: Trajectory, members: int) -> tuple[list[Trajectory], str]:
    """The trajectories to draw, and what to say about it."""
    if run.batch is None:
        return [run], ""
    rows = np.unique(np.linspace(0, run.batch - 1, min(members, run.batch)).astype(int))
    said = f"{len(rows)} of {run.batch}" if len(rows) < run.batch else f"{run.batch}"
    return [run[int(i)] for i in rows], f", {said} trajectories"


# ---- where it went ----------------------------------------------------------------------------


def _draw_paths(axes: Any, runs: list[Trajectory], places: list[Point], down, points: int) -> None:
    note, box = "", _box(runs, places)
    for k, run in enumerate(runs):
        shown = _traced(places)
        for number, place in enumerate(shown):
            colour = style.COLOURS[(k if len(runs) > 1 else number) % len(style.COLOURS)]
            note = _draw_path(axes, run, place, colour, points) or note
        _draw_shape(axes, run, places, box, light=len(runs) > 1)
    _frame(axes, runs[0], places, box, down)
    style.title(axes, "path", note)


def _traced(places: list[Point]) -> list[Point]:
    """Points whose path is drawn: all if they are few, the last one of many."""
    return places if len(places) <= PATHS else places[-1:]


def _draw_path(axes: Any, run: Trajectory, place: Point, colour: str, points: int) -> str:
    """Draw the path of one point; returns a remark if it is not the whole path."""
    path = run.q[:, list(place.columns)]
    path = path[np.isfinite(path).all(axis=1)]
    extent = np.linalg.norm(np.ptp(path, axis=0))
    strides = np.linalg.norm(np.diff(path, axis=0), axis=1)
    typical = float(np.median(strides)) / extent if extent > 0 else 0.0
    look: dict[str, Any] = {"color": colour, "label": f"path {place.name}".strip()}
    points = max(points, len(path) if len(path) <= 1.2 * points else 0)  # a few more do not matter
    skip = -(-len(path) // points)
    if typical > 0.1:  # stored too rarely for a line to mean anything
        axes.plot(*path[::skip].T, ".", ms=1.2, mew=0, **look)
        return "stored states"
    if skip * typical < 0.02:
        axes.plot(*path[::skip].T, lw=0.7, **look)
        return ""
    axes.plot(*path[-points:].T, lw=0.7, **look)
    if len(path) <= points:
        return ""
    return f"from t = {run.t[-points]:.4g}"


def _draw_shape(axes: Any, run: Trajectory, places: list[Point], box: np.ndarray, light) -> None:
    """Rods and points at the last state, as far as they lie in the box."""
    at = _last(run, places)
    for start, end in _segments(run, places):
        cut = _inside(start, end, box)
        if cut is not None:
            axes.plot(*cut.T, color=style.FAINT, lw=0.6, zorder=3, label="_rod")
    held = {tuple(end) for _, end in _segments(run, places)} - {tuple(x) for x in at}
    held = [x for x in sorted(held) if (box[0] <= x).all() and (x <= box[1]).all()]
    if held:
        axes.plot(*np.array(held).T, "+", color=style.FAINT, ms=5, mew=0.8, label="_held")
    axes.plot(
        *at.T, "o", color=style.INK, ms=3.5 if len(places) <= 10 else 1.2, mew=0, zorder=4,
        label="_points", alpha=0.6 if light else 1.0,
    )  # fmt: skip
    if not light and 1 < len(places) <= PATHS:
        for place, position in zip(places, at, strict=True):
            axes.text(
                *position, f"  {place.name}", fontsize=7, zorder=5, va="center",
                path_effects=[withStroke(linewidth=1.5, foreground="white")],
            )  # fmt: skip


def _last(run: Trajectory, places: list[Point]) -> np.ndarray:
    """Where the points are at the last finite state."""
    row = np.flatnonzero(np.isfinite(run.q).all(axis=1))[-1]
    return np.array([run.q[row, list(p.columns)] for p in places])


def _segments(run: Trajectory, places: list[Point]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Both ends of every rod at the last state."""
    at = _last(run, places)
    rods = rods_at(run.system, places, run.parameters, float(run.t[-1]))
    return [(at[r.start], np.array(r.end) if isinstance(r.end, tuple) else at[r.end]) for r in rods]


def _inside(start: np.ndarray, end: np.ndarray, box: np.ndarray) -> np.ndarray | None:
    """The part of a segment that lies in the box."""
    direction = end - start
    with np.errstate(divide="ignore", invalid="ignore"):
        cuts = (box - start) / direction
    cuts[:, direction == 0] = [[-np.inf], [np.inf]]
    a, b = max(0.0, np.min(cuts, axis=0).max()), min(1.0, np.max(cuts, axis=0).min())
    return np.array([start + a * direction, start + b * direction]) if a < b else None


def _box(runs: list[Trajectory], places: list[Point]) -> np.ndarray:
    """Corners of a box around the paths, and around what holds them unless that is far away.

    A cube in space, and not too flat a rectangle in the plane.
    """
    path = np.vstack([run.q[:, list(p.columns)] for run in runs for p in places])
    ends = [end for run in runs for segment in _segments(run, places) for end in segment]
    everything = np.vstack([path, *ends])
    inner, outer = (
        np.array([np.nanmin(x, axis=0), np.nanmax(x, axis=0)]) for x in (path, everything)
    )
    small = 0 < np.ptp(inner, axis=0).max() < ZOOM * np.ptp(outer, axis=0).max()
    box = inner if small else outer
    side = np.ptp(box, axis=0).max() or 1.0
    least = 1.0 if box.shape[1] == 3 else 0.65
    half = 0.54 * np.maximum(np.ptp(box, axis=0), least * side)
    return box.mean(axis=0) + np.array([-half, half])


def _frame(axes: Any, run: Trajectory, places: list[Point], box: np.ndarray, down) -> None:
    letters = "xyz"[: len(places[0].columns)]
    labels = [run.system.coordinates[c] for c in places[0].columns]
    for k, letter in enumerate(letters):
        label = style.symbol(labels[k]) if len(places) == 1 else f"${letter}$"
        getattr(axes, f"set_{letter}label")(label, labelpad=-2 if len(letters) == 3 else 2)
        getattr(axes, f"set_{letter}lim")(*box[:, k])
        axis = getattr(axes, f"{letter}axis")
        axis.set_major_locator(style.MaxNLocator(5 if len(letters) == 2 else 4))
    if len(letters) == 3:
        style.space(axes)
    else:
        axes.set_aspect("equal", adjustable="box", anchor="N")
    if down is not None:
        getattr(axes, f"invert_{down}axis")()


def _draw_coordinates(axes: Axes, runs: list[Trajectory], points: int) -> None:
    system = runs[0].system
    shown = range(min(system.n, SERIES if len(runs) == 1 else 1))
    for k, run in enumerate(runs):
        for i in shown:
            colour = style.COLOURS[(k if len(runs) > 1 else i) % len(style.COLOURS)]
            name = style.symbol(system.coordinates[i]) if k == 0 else f"_{k}"
            axes.plot(*style.envelope(run.t, run.q[:, i], points), color=colour, label=name)
    left_out = f"{len(shown)} of {system.n}" if len(shown) < system.n else ""
    style.title(axes, "coordinates", left_out)
    axes.set_xlabel("$t$")
    axes.margins(x=0)
    if len(shown) > 1:
        style.key(axes)
    else:
        axes.set_ylabel(style.symbol(system.coordinates[0]))


# ---- what it kept -----------------------------------------------------------------------------


def _draw_energy(axes: Axes, runs: list[Trajectory], points: int) -> None:
    conserved = runs[0].system.conservative
    largest, note = 0.0, ""
    for k, run in enumerate(runs):
        error = run.energy - run.energy[0]
        colour = style.COLOURS[k % len(style.COLOURS)]
        axes.plot(*style.envelope(run.t, error, points), color=colour, lw=0.7, label="energy error")
        largest = max(largest, float(np.nanmax(np.abs(error), initial=0.0)))
        if conserved and len(runs) == 1:
            note = _draw_drift(axes, run, error)
    style.title(axes, "energy error" if conserved else "energy, not conserved", note)
    style.powers(axes, "$H - H_0$", largest)
    if largest == 0.0:
        axes.set_ylim(-1e-16, 1e-16)
    axes.set_xlabel("$t$")
    axes.margins(x=0)


def _draw_laws(axes: Axes, runs: list[Trajectory], points: int) -> None:
    """What the laws of a flow change by."""
    largest = 0.0
    laws = runs[0].certificate.watched
    for k, run in enumerate(runs):
        for i, law in enumerate(laws):
            values = run.evaluate(law.expression)
            colour = style.COLOURS[(i if len(runs) == 1 else k) % len(style.COLOURS)]
            label = law.name if k == 0 else None
            change = values - values[0]
            axes.plot(*style.envelope(run.t, change, points), color=colour, lw=0.7, label=label)
            largest = max(largest, float(np.nanmax(np.abs(change), initial=0.0)))
    style.title(axes, "change of the laws" if laws else "no laws were found", "")
    if laws:
        style.powers(axes, "$I - I_0$", largest)
        if len(runs) == 1:
            axes.legend(loc="best", fontsize=6, frameon=False)
    if largest == 0.0:
        axes.set_ylim(-1e-16, 1e-16)
    axes.set_xlabel("$t$")
    axes.margins(x=0)


def _draw_drift(axes: Axes, run: Trajectory, error: np.ndarray) -> str:
    """The straight line of the measured drift, and its size in words."""
    drift = run.certificate.energy
    if drift.band == 0:
        return ""
    if not drift.relative_half_width <= 1:
        return "too short to tell a drift"
    span = run.t - run.t[0]
    middle = float(np.nanmean(error)) - drift.slope * float(span.mean())
    axes.plot(
        run.t[[0, -1]], middle + drift.slope * span[[0, -1]], "--", color=style.ORANGE, lw=0.9,
        label="drift",
    )  # fmt: skip
    return f"drift {style.percent(drift)} of the band"


def _draw_residuals(axes: Axes, runs: list[Trajectory]) -> None:
    hidden = r"$|G\dot q + g_t|$" if runs[0].system.rheonomic else r"$|G\dot q|$"
    curves = []
    for name, label, colour in (
        ("constraints", "$|g|$", style.BLUE),
        ("hidden", hidden, style.ORANGE),
    ):
        values = np.array([np.abs(getattr(run, name)).max(axis=-1) for run in runs]).max(axis=0)
        curves.append((*style.highest(runs[0].t, values), label, colour))
    shown = [y[(y > 0) & np.isfinite(y)] for _, y, *_ in curves]
    # Zeros, and dips where the motion stops, end at the foot of the picture.
    foot = min((float(np.median(y)) / 30 for y in shown if len(y)), default=1e-17)
    top = max((float(y.max()) for y in shown if len(y)), default=foot)
    style.decades(axes)
    for t, y, label, colour in curves:
        axes.plot(t, np.maximum(y, foot), color=colour, label=label, lw=0.8)
    axes.set_ylim(foot, max(10 * top, 100 * foot))
    axes.set_xlabel("$t$")
    axes.margins(x=0)
    style.title(axes, "constraints")
    style.key(axes)
