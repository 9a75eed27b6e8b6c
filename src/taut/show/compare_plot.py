"""The page of `taut.compare`: what runs kept, how far they are apart, and their certificates."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from taut.errors import text
from taut.march.field_trajectory import FieldTrajectory
from taut.march.trajectory import Trajectory
from taut.show import style
from taut.show.compare import Comparison, Run
from taut.show.curves import law_changes
from taut.show.errors import Curve, blocks, draw_decades, draw_errors, over_time, within_orders
from taut.show.words import plain

ROW = 0.19  # inches of a line of the table
LETTER = 0.0082  # of the width: of a letter of the table
GAPS = (0.02, 0.07)  # of the width: between its columns, at least and at most
ORIGIN = 20  # letters of the name of what distances are measured from
LEFT_OUT = ("method", "in % of the band")  # lines of the table that the figure has no room for
SHORT = {
    "max |G q̇|": r"max $|G\dot q|$",
    "max |g|": "max $|g|$",
    "energy drift": "drift",
    "laws change by": "change",
    "linear momentum": "lin. mom.",
    "angular momentum": "ang. mom.",
    "total momentum": "momentum",
    "symplectic to": "sympl. to",
}


def figure_of(comparison: Comparison, title: str | None) -> style.Picture:
    """Panels in a row, the table under them with a sample of each run's line."""
    heading = None if title is None else text("the title", title)
    many = len(comparison.runs)
    looks = {label: _look(k, many, label) for k, label in enumerate(comparison.runs)}
    panels = [draw for draw in (_kept, _residuals, _distances) if draw(None, comparison, looks)]
    with style.styled():
        table = ROW * (many + 1.6)
        figure = style.picture(2.15 + table)
        grid = figure.add_gridspec(2, 1, height_ratios=(2.0, table))
        row = grid[0].subgridspec(1, len(panels))
        for k, draw in enumerate(panels):
            axes = figure.add_subplot(row[k])
            draw(axes, comparison, looks)
            over_time(axes, max(comparison.runs.values(), key=lambda run: run.t[-1]))
            axes.xaxis.set_major_locator(style.ticks(5))
        _draw_table(figure.add_subplot(grid[1]), comparison, looks)
        if heading:
            figure.suptitle(heading, x=0.01, ha="left", fontsize=8, color=style.FAINT)
    return figure


def _look(k: int, many: int, label: str) -> dict[str, Any]:
    """Later lines are thinner, so that those which agree are all seen."""
    return {
        **style.look(k),
        "lw": 0.7 + 0.8 * (many - 1 - k) / (many - 1),
        "label": plain(label),
    }


def _kept(axes: Axes | None, comparison: Comparison, looks: dict[str, Any]) -> bool:
    """The error of what each run should keep."""
    found = [(kept_error(run), looks[label]) for label, run in comparison.runs.items()]
    curves: list[Curve] = [(*pair, look) for pair, look in found if pair is not None]
    if axes is not None:
        first = next(iter(comparison.runs.values()))
        heading, label, size = _words(first)
        if within_orders([y for _, y, _ in curves]):
            draw_errors(axes, curves, label=label, size=size, points=20_000 // len(curves))
            style.widest_behind(list(axes.lines))
            style.title(axes, heading)
        else:
            draw_decades(axes, [(t, _so_far(y), look) for t, y, look in curves])
            axes.set_ylabel(size)
            style.title(axes, heading, "largest so far")
    return bool(curves)


def _so_far(values: np.ndarray) -> np.ndarray:
    """The largest |y| up to now, as long as there is one."""
    return np.where(np.isfinite(values), np.fmax.accumulate(np.abs(values)), np.nan)


def _words(run: Run) -> tuple[str, str, str]:
    if isinstance(run, Trajectory) and run.system.first_order:
        size = r"|I - I_0|\,/\,\Vert I\Vert"
        return "conserved quantities", f"${size}$", f"${size}$"
    letter = "H" if isinstance(run, Trajectory) else "E"
    if _conservative(run):
        return "energy error", f"${letter} - {letter}_0$", f"$|{letter} - {letter}_0|$"
    return "energy − work", "$E - E_0 - W$", "$|E - E_0 - W|$"


def _conservative(run: Run) -> bool:
    if isinstance(run, Trajectory):
        return run.system.conservative
    return not run.certificate.gross_work


def kept_error(run: Run) -> tuple[np.ndarray, np.ndarray] | None:
    """Times and energy error, or the energy's balance, or what the laws of a flow change by."""
    if isinstance(run, FieldTrajectory):
        if _conservative(run):
            return run.t, run.energy - run.energy[0]
        return blocks(run.books, run)
    if run.system.first_order:
        changes = law_changes(run, run.certificate.watched)
        return (run.t, _worst(np.fmax.reduce(np.abs(changes)))) if changes else None
    if _conservative(run):
        return run.t, _worst(run.energy - run.energy[..., :1])
    each = [blocks(books, run) for books in run.ending.books]
    return each[0][0], _worst(np.array([means for _, means in each]))


def _worst(values: np.ndarray) -> np.ndarray:
    """Of a batch the trajectory with the largest error."""
    if values.ndim == 1:
        return values
    sizes = np.nanmax(np.abs(values), axis=1)
    return values[int(np.argmax(sizes))]


def _residuals(axes: Axes | None, comparison: Comparison, looks: dict[str, Any]) -> bool:
    """The largest |g|."""
    runs = {
        label: run
        for label, run in comparison.runs.items()
        if isinstance(run, Trajectory) and run.system.c
    }
    if axes is not None:
        curves = []
        for label, run in runs.items():
            size = np.abs(run.constraints).max(axis=-1)
            worst = size if size.ndim == 1 else np.nanmax(size, axis=0)
            curves.append((run.t, worst, looks[label]))
        draw_decades(axes, curves)
        axes.set_ylabel("$|g|$")
        style.title(axes, "constraints")
    return bool(runs)


def _distances(axes: Axes | None, comparison: Comparison, looks: dict[str, Any]) -> bool:
    """How far runs are from the reference."""
    curves = [
        (*pair, looks[label])
        for label, pair in comparison.distances.items()
        if len(pair[0]) and comparison.runs[label] is not comparison.reference
    ]
    if axes is not None:
        draw_decades(axes, curves)
        axes.set_ylabel(_distance_name(next(iter(comparison.runs.values()))))
        style.title(axes, "distance", f"from {plain(comparison.origin, ORIGIN)}")
    return bool(curves)


def _distance_name(run: Run) -> str:
    if isinstance(run, Trajectory):
        return r"$|q - q_\mathrm{ref}|$"
    return r"$|r - r_\mathrm{ref}|$" if run.mesh is not None else r"$|\mu - \mu_\mathrm{ref}|$"


def _draw_table(axes: Axes, comparison: Comparison, looks: dict[str, Any]) -> None:
    """One row for each run, with a sample of its line."""
    axes.set_axis_off()
    _, *lines = comparison.rows()
    lines = [[SHORT.get(line[0], line[0]), *line[1:]] for line in lines if line[0] not in LEFT_OUT]
    axes.set(xlim=(0, 1), ylim=(len(looks) + 0.7, -0.6))
    widths = [LETTER * max(map(_letters, line)) for line in lines]
    wished = 0.034 + LETTER * max(len(look["label"]) for look in looks.values())
    gap = float(np.clip((1 - wished - sum(widths)) / len(lines), *GAPS))
    first = min(wished, 1 - sum(widths) - gap * len(lines))
    right = first + np.cumsum([gap + width for width in widths])
    for x, (what, *values) in zip(right, lines, strict=True):
        axes.text(x, 0, what, ha="right", va="center", fontsize=7, color=style.FAINT)
        for k, value in enumerate(values, 1):
            axes.text(x, k, plain(value), ha="right", va="center", fontsize=7)
    room = max(round((first - 0.034) / LETTER), 8)
    for k, look in enumerate(looks.values(), 1):
        axes.plot([0, 0.025], [k, k], color=look["color"], ls=look["ls"], lw=1.4)
        label = look["label"]
        label = label if len(label) <= room else label[: room - 1] + "…"
        axes.text(0.034, k, label, va="center", fontsize=7)
    axes.plot([0, right[-1]], [0.55, 0.55], color=style.PALE, lw=0.6)


def _letters(text: str) -> int:
    """About how wide a text is."""
    return len(text.replace("$", "").replace("\\dot ", ""))
