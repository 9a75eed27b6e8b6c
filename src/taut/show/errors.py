"""Errors over time: about zero or on a logarithmic axis, drift lines, the energy's balance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from taut.diagnose.drift import Drift
from taut.march.loop import BOOKS, HEAD
from taut.show import style

FEW = 0.02  # of the values on a logarithmic axis may lie below it
NOTHING = 1e-300  # what such an axis takes for zero
ORDERS = 30.0  # curves whose sizes differ by more are drawn on a logarithmic axis

Curve = tuple[np.ndarray, np.ndarray, dict[str, Any]]  # times, values, look


def over_time(axes: Axes, run: Any) -> None:
    """Time goes to the right."""
    axes.set_xlabel("$t$")
    begin, end = float(run.t[0]), float(run.t[-1])
    half = 0.0 if end > begin else 0.5 * run.step
    axes.set_xlim(begin - half, end + half)


def around_zero(axes: Axes, label: str, values: Sequence[Any]) -> None:
    """The y axis of errors."""
    largest = max(_largest(np.asarray(x)) for x in values)
    style.powers(axes, label, largest)
    if largest == 0.0:
        axes.set_ylim(-1, 1)
        axes.set_yticks([0])


def draw_errors(
    axes: Axes,
    curves: Sequence[Curve],
    *,
    label: str,
    size: str,
    points: int = 5000,
    round_off: float = 0.0,
) -> None:
    """Curves about zero, named `label`.

    Their `size` on a logarithmic axis if they differ by orders, or where `round_off` is all there
    is to see.
    """
    values = [y for _, y, _ in curves]
    largest = max(_largest(y) for y in values)
    if within_orders(values) and not 0 < largest < round_off:
        for t, y, look in curves:
            style.draw(axes, t, y, points, **{"lw": 0.7, **look})
        around_zero(axes, label, values)
    else:
        draw_decades(axes, curves)
        axes.set_ylabel(size)


def within_orders(values: Sequence[np.ndarray]) -> bool:
    """Whether curves can be read on one linear axis."""
    known = [x for x in map(_largest, values) if x > 0]
    return not known or max(known) <= ORDERS * min(known)


def _largest(values: np.ndarray) -> float:
    return float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))


def draw_decades(axes: Axes, curves: Sequence[Curve]) -> None:
    """The largest |y| of every interval of time on a logarithmic axis."""
    highs = [(*style.highest(t, y), look) for t, y, look in curves]
    shown = [y[(y > 0) & np.isfinite(y)] for _, y, _ in highs]
    # Zeros, and dips where the motion stops, leave the picture at its foot.
    foot = min((float(np.quantile(y, FEW)) / 2 for y in shown if len(y)), default=1e-17)
    top = max((float(y.max()) for y in shown if len(y)), default=foot)
    style.decades(axes)
    for t, y, look in highs:
        axes.plot(t, np.maximum(y, NOTHING), **{"lw": 0.8, **style.marks(len(t)), **look})
    axes.set_ylim(foot, max(10 * top, 100 * foot))


def draw_drift(axes: Axes, t: np.ndarray, error: np.ndarray, drift: Drift) -> str:
    """The straight line of the measured drift, and its size in words."""
    if drift.band == 0:
        return ""
    if not drift.relative_half_width <= 1:
        return "too short to tell a drift"
    ends = drift_line(t, error, drift)[[0, -1]]
    axes.plot(t[[0, -1]], ends, "--", color=style.ORANGE, lw=0.9, label="drift")
    return f"drift {style.percent(drift)} of the band"


def draw_books(axes: Axes, books: list[np.ndarray], run: Any) -> None:
    """E − E₀ − work, as means over blocks of steps: the books have them of all steps."""
    ends = []
    for k, row in enumerate(books):
        look = style.look(k)
        t, means = blocks(row, run)
        axes.plot(t, means, **look, lw=0.9, label="balance", **style.marks(len(t)))
        ends += extremes(row)
        for end in ends[-2:]:
            axes.axhline(end, color=look["color"], lw=0.6, ls=(0, (3, 3)), label="_extreme")
    low, high = min(ends), max(ends)
    around_zero(axes, "$E - E_0 - W$", [np.array(ends)])
    room = 0.15 * (high - low) or 1e-16
    if np.isfinite(room):
        axes.set_ylim(low - room, high + room)
    over_time(axes, run)
    style.title(axes, "energy − work", "dashed: extremes of all steps")


def extremes(books: np.ndarray) -> tuple[float, float]:
    """The lowest and the highest balance of the energy of all steps."""
    value = dict(zip(BOOKS, books, strict=False))
    return float(value["error_min"]), float(value["error_max"])


def all_steps(books: Sequence[np.ndarray]) -> str:
    """The lowest and the highest of several, in words."""
    ends = np.array([extremes(row) for row in books])
    return f"all steps: {style.number(ends[:, 0].min())} … {style.number(ends[:, 1].max())}"


def blocks(books: np.ndarray, run: Any) -> tuple[np.ndarray, np.ndarray]:
    """Times and means of the blocks of the energy's balance.

    Blocks are of equal numbers of steps; where steps vary, stored states tell when these were.
    """
    value = dict(zip(BOOKS, books, strict=False))
    means = books[HEAD : HEAD + int(value["blocks"])]
    middle = value["block_length"] * (np.arange(len(means)) + 0.5)
    if getattr(run.method, "pace", None) is None:
        return float(run.t[0]) + run.step * middle, means
    steps = np.minimum(run.every * np.arange(len(run.t)), value["steps"])
    return np.interp(middle, steps, run.t), means


def drift_line(t: np.ndarray, error: np.ndarray, drift: Drift) -> np.ndarray:
    """The straight line of a drift through the middle of what drifts: its rise over the run."""
    span = float(t[-1] - t[0]) or 1.0
    rise = drift.relative * drift.band
    return float(np.nanmean(error)) + rise * ((t - t[0]) / span - 0.5)
