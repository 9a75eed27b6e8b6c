"""CQ's figures, each from our own runs."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.ticker import FixedLocator

from taut.march.trajectory import Trajectory
from taut.papers.cq_study import (
    DRAWN,
    INNER,
    INNER_STEPS,
    INNER_TIME,
    LOST,
    SPANS,
    Study,
    position_error,
)
from taut.show import style
from taut.show.style import Picture

LOOK: dict[str, dict[str, Any]] = {
    "symplectic": {"color": style.BLUE},
    "Baumgarte": {"color": style.ORANGE},
    "projected RK4": {"color": style.PINK},
    "Gauss–Lobatto 4": {"color": style.GREEN},
}
MARKS: dict[str, dict[str, Any]] = {
    "midpoint": {"marker": "o", "ms": 8, "mfc": "none", "color": style.BLUE},
    "gauss2": {"marker": "s", "ms": 5, "mfc": "none", "color": style.ORANGE},
    "gauss3": {"marker": ".", "ms": 4, "color": style.GREEN},
}


def paths(run: Trajectory) -> Picture:
    """The pendulum at the start, and the paths of its masses."""
    with style.styled():
        figure = style.picture(3.1, 2.6)
        axes = figure.add_subplot()
        for k, colour in enumerate((style.SKY, style.AMBER, style.GREEN)):
            path = run.q[:, 2 * k : 2 * k + 2]
            axes.plot(*path.T, color=colour, lw=0.8, label=f"mass {k + 1}")
        rods = np.vstack([[0, 0], run.q[0].reshape(3, 2)])
        axes.plot(*rods.T, "o-", color=style.INK, lw=1.2, ms=4, label="start")
        axes.set(xlabel="$x$ [m]", ylabel="$y$ [m]", aspect="equal")
        axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
    return figure


def errors(t: np.ndarray, error: np.ndarray, label: str, unit: str) -> Picture:
    """Figs 2 to 5: the norm of a residual against time."""
    with style.styled():
        figure = style.picture(2.0, 5.6)
        axes = figure.add_subplot()
        axes.plot(t, error, color=style.BLUE, lw=0.8)
        style.powers(axes, label, float(error.max()), unit)
        axes.set_xlabel("$t$ [s]")
        axes.set_ylim(bottom=0)
        axes.margins(x=0)
    return figure


def sweep(study: Study) -> Picture:
    """Largest residuals against α = β, and where nothing is left."""
    kept = [a for a, found in study.sweep.items() if found.lost is None and a > 0]
    lost = [a for a, found in study.sweep.items() if found.lost is not None]
    with style.styled():
        figure = style.picture(2.7, 5.8)
        axes = figure.add_subplot()
        worst = np.array([study.sweep[a].worst for a in kept])
        for column, name, colour, mark in (
            (1, r"$\max\,\|G\dot q\|$", style.ORANGE, "s"),
            (0, r"$\max\,\|g\|$", style.BLUE, "o"),
        ):
            axes.plot(kept, worst[:, column], mark, ls="-", ms=2.6, color=colour, label=name)
        style.decades(axes)
        low, high = worst.min() / 3, worst.max() * 4
        axes.set_ylim(low, high)
        axes.axvline(study.best, color=style.INK, lw=0.6, ls=":")
        axes.annotate(
            rf"best: $\alpha = {study.best:g}$", (study.best, low), (4, 4),
            textcoords="offset points", fontsize=7,
        )  # fmt: skip
        if lost:
            edge = (max(kept) + min(lost)) / 2
            axes.axvspan(edge, max(lost) + 0.5, color=style.PALE, lw=0)
            axes.text(
                (edge + max(lost) + 0.5) / 2, np.sqrt(low * high), "blows up", rotation=90,
                ha="center", va="center", color=style.INK,
            )  # fmt: skip
        axes.set_xlim(0, max(study.sweep) + 0.5)
        axes.set(xlabel=r"$\alpha = \beta$ [1/s]", ylabel="largest in 60 s [m², m²/s]")
        axes.legend(loc="lower center", ncols=2)
    return figure


def decay(study: Study) -> Picture:
    """‖g‖ against time for some rates."""
    with style.styled():
        figure = style.picture(2.9, 6.4)
        axes = figure.add_subplot()
        for alpha, colour in zip(DRAWN, style.COLOURS, strict=True):
            found = study.sweep[alpha]
            points = 100 if found.lost is None else len(found.run.t)
            t, error = style.highest(found.run.t, position_error(found.run), points)
            seen = error < LOST
            axes.plot(t[seen], error[seen], color=colour, lw=1, label=rf"$\alpha = {alpha:g}$")
            if found.lost is not None:
                axes.plot(found.lost, LOST, "x", color=colour, ms=6, mew=1.6, clip_on=False)
        style.decades(axes)
        axes.set_ylim(1e-6, LOST)
        axes.yaxis.set_major_locator(FixedLocator([1e-6, 1e-4, 1e-2, 1]))
        axes.margins(x=0.01)
        axes.set(xlabel="$t$ [s]", ylabel=r"$\|g\|$ [m²]")
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def energies(study: Study) -> Picture:
    """Energy errors over a short and over a long time."""
    with style.styled():
        figure = style.picture(2.6)
        for k, span in enumerate(SPANS):
            axes = figure.add_subplot(1, 2, k + 1)
            axes.axhline(0, color=style.INK, lw=0.6, ls=":")
            largest = 0.0
            for label, look in LOOK.items():
                run = study.runs[label, span]
                error = run.energy - run.energy[0]
                largest = max(largest, float(np.abs(error).max()))
                axes.plot(*style.envelope(run.t, error, 2500), lw=0.8, label=label, **look)
            style.powers(axes, "$H - H_0$", largest, "J")
            axes.set_xlabel("$t$ [s]")
            axes.margins(x=0)
            style.title(axes, f"{span:g} s")
        figure.legend(
            *figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4
        )
    return figure


def inner(study: Study) -> Picture:
    """Error against step for the inner methods, in both coordinates."""
    with style.styled():
        figure = style.picture(2.6)
        headings = {"Cartesian": "constant mass", "polar": "mass that depends on q"}
        shared = None
        for k, (kind, heading) in enumerate(headings.items()):
            shared = axes = figure.add_subplot(1, 2, k + 1, sharey=shared)
            for name in INNER:
                axes.loglog(INNER_STEPS, study.inner[kind, name], label=name, **MARKS[name])
            axes.minorticks_off()
            axes.set_xticks(INNER_STEPS, [f"{h:g}" for h in INNER_STEPS])
            axes.set_xlabel("step [s]")
            axes.set_ylabel("error of a coordinate [m]" if k == 0 else "")
            style.title(axes, heading, f"{kind} coordinates, t = {INNER_TIME:g} s")
            axes.legend(loc="lower right")
    return figure
