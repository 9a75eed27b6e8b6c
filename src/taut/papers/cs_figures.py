"""CS's figures, each from our own runs, and those of what was found."""

from __future__ import annotations

from typing import Any

import numpy as np

from taut.papers.cs_study import LATER, READ, STEP, Study, momenta
from taut.show import style
from taut.show.field_curves import draw_energies
from taut.show.shapes import TIME, Drawn, draw_shapes
from taut.show.style import Picture

LOOK: dict[str, dict[str, Any]] = {
    "poisson": {"color": style.ORANGE, "label": "Poisson"},
    "hamel": {"color": style.GREEN, "label": "Hamel", "ls": (0, (4, 1.5))},
    "variational": {"color": style.BLUE, "label": "variational"},
}
SAMPLED: dict[str, dict[str, Any]] = {
    "(μⁿ, gⁿ)": {"color": style.AMBER, "label": r"$(\mu^n, g^n)$"},
    "(55) printed, (μⁿ, gⁿ)": {
        "color": style.PINK, "lw": 1.4, "ls": (0, (1, 1)),
        "label": r"$(\mu^n, g^n)$, (55) as printed",
    },
    "(μⁿ, gⁿ⁻½)": {"color": style.INK, "label": r"$(\mu^n, g^{n-1/2})$"},
    "hamel": {**LOOK["hamel"]},
    "variational": {**LOOK["variational"]},
}  # fmt: skip
LONG_LOOK: dict[str, dict[str, Any]] = {
    "poisson, {}": {"lw": 1.0, **LOOK["poisson"]},
    "poisson, {}, nudged": {"lw": 1.2, "color": style.PINK, "ls": (0, (1, 1)), "label": "nudged"},
    "poisson, {}, full cells": {
        "lw": 0.8, "color": style.AMBER, "ls": (0, (5, 1, 1, 1)), "label": "Poisson, full cells"
    },
    "hamel, {}": {"lw": 1.0, **LOOK["hamel"]},
    "variational, {}": {"lw": 1.0, **LOOK["variational"]},
}  # fmt: skip
COLOURS = (style.BLUE, style.ORANGE, style.GREEN)
SHAPES, APART = 11, 0.8  # how many of the beam, and how far apart [m]
FLOOR = 1e-17  # what a logarithmic axis shows of nothing


def motion(study: Study) -> Picture:
    """Shapes of the beam in space, and side by side without the flight, from two directions."""
    drawn = Drawn(study.first, SHAPES)
    with style.styled():
        figure = style.picture(3.7)
        grid = figure.add_gridspec(2, 2, width_ratios=(1, 1.9))
        space = figure.add_subplot(grid[:, 0], projection=drawn.projection)
        draw_shapes(space, drawn, length="m", time="s")
        style.title(space, "in space", " ")
        for k, (across, seen) in enumerate(((1, "x"), (0, "y"))):
            axes = figure.add_subplot(grid[k, 1])
            _side_by_side(axes, drawn, across)
            style.title(axes, f"seen along {seen}", "about the middle, side by side")
            axes.set_xlabel("$t$ [s]")
    return figure


def _side_by_side(axes: Any, drawn: Drawn, across: int) -> None:
    """Shapes about their mean, each at its time; z up."""
    run, rows = drawn.run, drawn.rows
    shifts = APART * np.arange(len(rows))
    for row, shift in zip(rows, shifts, strict=True):
        shape = run.positions[row] - run.positions[row].mean(axis=0)
        colour = TIME(shift / shifts[-1])
        axes.plot(shift + shape[:, across], shape[:, 2], color=colour, lw=1.2)
    axes.set(ylabel="$z$ [m]")
    axes.set_aspect("equal", adjustable="datalim")  # a box that shrinks leaves the layout behind
    axes.set_xticks(shifts, [f"{t:.2g}" for t in run.t[rows]])


def energies(study: Study) -> Picture:
    """Fig. 1: kinetic, potential and total energy, and the total one by itself."""
    run = study.first
    with style.styled():
        figure = style.picture(2.5)
        axes = figure.add_subplot(1, 2, 1)
        draw_energies(axes, run)
        axes.set(xlabel="$t$ [s]", ylabel="energy [J]")
        axes.set_ylim(0, 125)
        axes = figure.add_subplot(1, 2, 2)
        axes.plot(run.t, run.energy, color=style.INK, lw=0.5)
        axes.set(xlabel="$t$ [s]", ylabel=r"$K^n + V^n$ [J]")
        axes.margins(x=0)
        style.title(axes, "total")
    return figure


def momentum(study: Study, angular: bool) -> Picture:
    """Figs 2 and 3: a momentum in space as (μⁿ, gⁿ), and how it changes."""
    run = study.first
    letter, columns = ("L", slice(0, 3)) if angular else ("P", slice(3, 6))
    unit = "kg m²/s" if angular else "kg m/s"
    values = momenta(run)[:, columns]
    with style.styled():
        figure = style.picture(2.4)
        left, right = (figure.add_subplot(1, 2, k) for k in (1, 2))
        for k, colour in enumerate(COLOURS):
            name = f"${letter}_{'xyz'[k]}$"
            left.plot(run.t, values[:, k], color=colour, label=name)
            right.plot(run.t, values[:, k] - values[0, k], color=colour, lw=0.5, label=name)
        left.set_ylabel(f"${letter}$ [{unit}]")
        left.margins(y=0.15)
        largest = float(np.abs(values - values[0]).max())
        style.powers(right, f"${letter} - {letter}_0$", largest, unit)
        for axes, heading in ((left, "momentum"), (right, "its change")):
            axes.set_xlabel("$t$ [s]")
            axes.margins(x=0)
            style.title(axes, heading)
            style.key(axes)
    return figure


def kept(study: Study) -> Picture:
    """Changes of both momenta over some seconds."""
    with style.styled():
        figure = style.picture(2.9)
        panels = [figure.add_subplot(1, 2, k) for k in (1, 2)]
        for axes, columns, heading in zip(
            panels, (slice(4, 7), slice(1, 4)), ("linear momentum", "angular momentum"), strict=True
        ):
            for name, look in SAMPLED.items():
                rows = study.later[name]
                values = rows[:, columns]
                off = np.linalg.norm(values - values[0], axis=1) / np.linalg.norm(values[0])
                t, off = style.highest(rows[:, 0], off, 100)
                axes.plot(t, np.maximum(off, FLOOR), **{"lw": 0.9, **look})
            axes.axhline(1e-4, color=style.FAINT, lw=0.6, ls=":")
            style.decades(axes)
            axes.set_xlabel("$t$ [s]")
            axes.set_xlim(0, LATER)
            style.title(axes, heading, "dotted: $10^{-4}$")
        panels[0].set_ylabel(r"$|P - P_0|\,/\,|P_0|$")
        panels[1].set_ylabel(r"$|L - L_0|\,/\,|L_0|$")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def read(study: Study) -> Picture:
    """How far the strain of the configuration is from γ."""
    looks = {
        "old, 4 × 4": (style.ORANGE, "with the old velocity, as (55) is printed"),
        "new, adjoint": (style.BLUE, "with the new velocity"),
    }
    with style.styled():
        figure = style.picture(2.4, 5.4)
        axes = figure.add_subplot()
        for name, (colour, label) in looks.items():
            times, sizes = study.read[name]
            t, off = style.highest(times, sizes, 100)
            axes.plot(t, off, color=colour, label=label)
        style.decades(axes)
        axes.set_ylim(1e-5, 10)
        axes.set_xlim(0, READ * STEP)
        axes.set(xlabel="$t$ [s]", ylabel=r"largest $|\gamma_g - \gamma|$ [1/m, 1]")
        axes.legend(loc="upper right")
    return figure


def long(study: Study) -> Picture:
    """Energy and modified energy over 10⁶ steps, from both starts."""
    with style.styled():
        figure = style.picture(4.2)
        shared: Any = None
        for row, start in enumerate(("rough", "smooth")):
            for column, name in enumerate(("energy", "modified")):
                axes = figure.add_subplot(2, 2, 2 * row + column + 1, sharex=shared)
                shared = shared or axes
                largest = 0.0
                for known, look in LONG_LOOK.items():
                    if (key := known.format(start)) not in study.long:
                        continue
                    t, y = _means(study.long[key]["t"], study.long[key][name])
                    axes.plot(t, y, **look)
                    largest = max(largest, float(np.abs(y).max()))
                label = "$E - E_0$" if column == 0 else r"$\tilde E - \tilde E_0$"
                style.powers(axes, label, largest, "J")
                axes.margins(x=0)
                what = "the paper's start" if start == "rough" else "a smooth start"
                style.title(axes, ("energy", "modified energy")[column], what)
                if row == 1:
                    axes.set_xlabel("$t$ [s]")
                else:
                    axes.tick_params(labelbottom=False)
        figure.legend(
            *figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5
        )
    return figure


def _means(t: np.ndarray, y: np.ndarray, many: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Means over equal spans of time."""
    parts = [np.array_split(x[1:], many) for x in (t, y)]
    return tuple(np.array([x.mean() for x in part]) for part in parts)  # type: ignore[return-value]


def convergence(study: Study) -> Picture:
    """Errors against step and mesh."""
    found = study.numbers["convergence"]
    with style.styled():
        figure = style.picture(2.5)
        for k, (names, across, label) in enumerate(
            (
                (("printed start", "staggered start"), "steps", "step [s]"),
                (("full cells", "half cells"), "nodes", r"$\Delta s$ [m]"),
            ),
            start=1,
        ):
            axes = figure.add_subplot(1, 2, k)
            for name, colour, mark in zip(names, (style.ORANGE, style.BLUE), "so", strict=True):
                x = np.array(found[name][across], dtype=float)
                x = x if across == "steps" else study.first.model.length / (x - 1)
                order = found[name]["orders"][-1]
                axes.loglog(
                    x, found[name]["errors"], mark, ls="-", ms=4, color=colour,
                    label=f"{name}: order {order:.2f}",
                )  # fmt: skip
            axes.minorticks_off()
            axes.set_xticks(x, [style.number(v) for v in x])
            axes.set(xlabel=label, ylabel="error of positions [m]" if k == 1 else "")
            axes.margins(y=0.1)
            style.title(axes, "in time" if k == 1 else "in space, step in proportion")
            axes.legend(loc="lower right")
    return figure
