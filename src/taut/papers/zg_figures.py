"""ZG's figures, each from our own runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from taut.march.trajectory import Trajectory
from taut.papers.numbers import orders
from taut.papers.zg_study import ORDER, RIVALS, SPANS, Study
from taut.show import style
from taut.show.style import Picture

LONG, SHORT = style.ORANGE, style.BLUE  # steps 0.1 and 0.03
TITLES = {
    "zg-pendulum": "1, simple pendulum",
    "zg-spherical": "2, spherical pendulum",
    "zg-double": "3a, planar double pendulum",
}


def circle(run: Trajectory) -> Picture:
    """Fig. 1."""
    with style.styled():
        figure = style.picture(3.0, 3.4)
        axes = figure.add_subplot()
        angle = np.linspace(0, 2 * np.pi, 400)
        axes.plot(
            np.cos(angle), np.sin(angle), "--", color=style.FAINT, label="unit circle", lw=0.8
        )
        axes.plot(*run.q.T, color=SHORT, label="pendulum", lw=1.6)
        axes.set(xlabel="$x$ [m]", ylabel="$y$ [m], down", aspect="equal")
        axes.invert_yaxis()
        axes.legend(loc="center")
    return figure


def spaces(paths: list[tuple[str, list[tuple[str, np.ndarray]]]], down: list[bool]) -> Picture:
    """Paths in space, one panel per reading."""
    with style.styled():
        figure = style.picture(3.3)
        for k, (heading, curves) in enumerate(paths):
            axes: Any = figure.add_subplot(1, len(paths), k + 1, projection="3d")
            for label, path in curves:
                axes.plot(*path.T, lw=0.8, label=label, **_look(label))
            everything = np.vstack([path for _, path in curves])
            middle = (everything.max(axis=0) + everything.min(axis=0)) / 2
            half = 0.54 * np.ptp(everything, axis=0).max()
            for letter, centre in zip("xyz", middle, strict=True):
                getattr(axes, f"set_{letter}lim")(centre - half, centre + half)
                getattr(axes, f"set_{letter}label")(f"${letter}$ [m]", labelpad=-3)
                getattr(axes, f"{letter}axis").set_major_locator(style.MaxNLocator(4))
            style.space(axes)
            if down[k]:
                axes.invert_zaxis()
            style.above(axes, "$z$ [m], down" if down[k] else "$z$ [m]")
            style.title(axes, heading)
            if len(curves) > 1:
                axes.legend(loc="lower left", bbox_to_anchor=(0, 0.9), ncols=2)
    return figure


def _look(label: str) -> dict[str, Any]:
    """The paper's lines: dashed for step 0.03, solid for 0.1."""
    if label == "0.03 s":
        return {"color": SHORT, "ls": (0, (3, 1.5)), "zorder": 3}
    return {"color": LONG} if label == "0.1 s" else {"color": SHORT}


def series(panels: list[tuple[str, list[tuple[str, np.ndarray, np.ndarray]]]], label: str,
            unit: str, height: float = 1.9, true: bool = False) -> Picture:  # fmt: skip
    """Something against time, one panel per reading."""
    with style.styled():
        figure = style.picture(height)
        for k, (heading, curves) in enumerate(panels):
            axes = figure.add_subplot(1, len(panels), k + 1)
            if true:
                axes.axhline(0, color=style.INK, lw=0.6, ls=":")
            for name, t, y in curves:
                axes.plot(t, y, lw=0.9, label=name, **_look(name))
            style.powers(axes, label, max(float(np.abs(y).max()) for *_, y in curves), unit)
            axes.set_xlabel("$t$ [s]")
            axes.margins(x=0)
            style.title(axes, heading)
            if len(curves) > 1 and k == len(panels) - 1:
                style.key(axes)
    return figure


def plane(run: Trajectory) -> Picture:
    """Fig. 11."""
    with style.styled():
        figure = style.picture(3.2, 4.2)
        axes = figure.add_subplot()
        axes.plot(run.q[:, 2], run.q[:, 3], color=SHORT, lw=0.7, label="mass 2")
        axes.set(xlabel="$x$ [m]", ylabel="$y$ [m], down", aspect="equal")
        axes.invert_yaxis()
    return figure


def rivalry(study: Study) -> Picture:
    """Energy error of the three methods over a short and a long time."""
    with style.styled():
        figure = style.picture(4.6)
        grid = figure.subplots(len(RIVALS), len(SPANS), sharex="col")
        for row, method in zip(grid, RIVALS, strict=True):
            for axes, span in zip(row, SPANS, strict=True):
                run = study.rivals[method, span]
                error = run.energy - run.energy[0]
                axes.axhline(0, color=style.INK, lw=0.6, ls=":")
                axes.plot(*style.envelope(run.t, error), color=SHORT, lw=0.8, label=method)
                style.powers(axes, "$H - H_0$", float(np.abs(error).max()), "J")
                axes.margins(x=0)
                style.title(axes, method if span == SPANS[0] else "", f"to {span:g} s")
        for axes in grid[-1]:
            axes.set_xlabel("$t$ [s]")
    return figure


def slopes(study: Study) -> Picture:
    """Error against step for both starts."""
    with style.styled():
        figure = style.picture(2.5)
        for k, (name, time, steps) in enumerate(ORDER):
            axes = figure.add_subplot(1, len(ORDER), k + 1)
            for start, colour, mark in (("paper", LONG, "s"), ("exact", SHORT, "o")):
                errors = study.order[name, start]
                slope = orders(errors)[-1]
                axes.loglog(
                    steps, errors, mark, ls="-", ms=3.5, color=colour,
                    label=f"{start} start: order {slope:.2f}",
                )  # fmt: skip
            axes.minorticks_off()
            axes.set_xlabel("step [s]")
            axes.set_ylabel("error of $q$ [m]" if k == 0 else "")
            axes.set_xticks(steps[::2], [f"{h:g}" for h in steps[::2]])
            style.title(axes, f"example {TITLES[name].partition(',')[0]}", f"t = {time:g} s")
            low, high = axes.get_ylim()
            axes.set_ylim(low, high * 12)
            axes.legend(loc="upper left", borderaxespad=0.2)
    return figure
