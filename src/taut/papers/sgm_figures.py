"""SGM's body in figures; the paper itself has none."""

from __future__ import annotations

from typing import Any

import numpy as np

from taut.papers.sgm_study import HAND, SPANS, STEP, SWING_STEP, WAYS, Study, changes
from taut.show import style
from taut.show.style import Picture

LOOK: dict[str, dict[str, Any]] = {
    "none": {"color": style.INK},
    "|x|² alone": {"color": style.ORANGE},
    "E alone": {"color": style.GREEN, "ls": (0, (4, 1.5))},
    "both": {"color": style.BLUE, "lw": 1.4},
}
FLOOR = 1e-17  # what a logarithmic axis shows of nothing
BARE = "dimensionless"  # the paper prints no numbers, and ours for the body have no units


def body(study: Study) -> Picture:
    """The motion on the sphere, and its components."""
    run = study.runs["both"]
    rows = slice(0, round(60 / STEP) + 1)
    t, x = run.t[rows], run.q[rows]
    radius = float(np.linalg.norm(x[0]))
    with style.styled():
        figure = style.picture(2.9)
        axes: Any = figure.add_subplot(1, 2, 1, projection="3d")
        around, up = np.meshgrid(np.linspace(0, 2 * np.pi, 25), np.linspace(0, np.pi, 13))
        ball = np.stack([np.sin(up) * np.cos(around), np.sin(up) * np.sin(around), np.cos(up)])
        axes.plot_wireframe(*(radius * ball), color=style.PALE, lw=0.4)
        axes.plot(*x.T, color=style.BLUE, lw=1.2)
        for k, letter in enumerate("xyz", start=1):
            getattr(axes, f"set_{letter}lim")(-radius, radius)
            getattr(axes, f"set_{letter}label")(f"$x_{k}$", labelpad=-3)
            getattr(axes, f"{letter}axis").set_major_locator(style.MaxNLocator(3))
        style.space(axes)
        style.title(axes, "", BARE)
        axes = figure.add_subplot(1, 2, 2)
        for k, colour in enumerate((style.BLUE, style.ORANGE, style.GREEN)):
            axes.plot(t, x[:, k], color=colour, label=f"$x_{k + 1}$")
        axes.set(xlabel=f"$t$, {BARE}", ylabel=f"angular momentum, {BARE}")
        axes.margins(x=0)
        style.key(axes)
    return figure


def formulas(study: Study) -> Picture:
    """(27) as printed and right: |x|², and its error."""
    first = study.hand["none"][0]
    with style.styled():
        figure = style.picture(2.4)
        axes = figure.add_subplot(1, 2, 1)
        steps = np.arange(11)
        for name, colour, mark in (("right", style.BLUE, "o"), ("printed", style.ORANGE, "s")):
            values = study.hand[name][:11]
            axes.plot(steps, values, mark, ls="-", ms=3.5, color=colour, label=f"(27) {name}")
        axes.set(xlabel="step", ylabel=f"$|x|^2$, {BARE}")
        axes.set_ylim(bottom=-0.05)
        axes.legend(loc="center right")
        axes = figure.add_subplot(1, 2, 2)
        shown = (("none", style.INK, "not corrected"), ("exact", style.SKY, "nearest point"),
                 ("right", style.BLUE, "(27) right"))  # fmt: skip
        for name, colour, label in shown:
            off = np.abs(study.hand[name] - first)
            t, size = style.highest(STEP * np.arange(HAND + 1), off, 60)
            axes.plot(t, np.maximum(size, FLOOR), color=colour, label=label)
        style.decades(axes)
        axes.set(xlabel=f"$t$, {BARE}", ylabel=f"error of $|x|^2$, {BARE}")
        axes.margins(x=0)
        axes.legend(loc="center right", bbox_to_anchor=(1, 0.4))
    return figure


def _so_far(t: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest error up to times that are even on a logarithmic axis."""
    rows = np.unique(np.geomspace(1, len(t) - 1, 300).round().astype(int))
    return t[rows], np.maximum(np.maximum.accumulate(error)[rows], FLOOR)


def long(study: Study) -> Picture:
    """Errors of both integrals and of the path over 10⁵ steps."""
    with style.styled():
        figure = style.picture(2.7)
        panels = [figure.add_subplot(1, 3, k) for k in (1, 2, 3)]
        for way in WAYS:
            run = study.runs[way]
            for axes, error in zip(panels, (*changes(run), study.off(way)), strict=True):
                axes.plot(*_so_far(run.t, error), label=way, **LOOK[way])
        headings = (r"error of $|x|^2$", "error of $E$", "error of the path")
        for axes, heading in zip(panels, headings, strict=True):
            axes.set_xscale("log")
            style.decades(axes)
            axes.set_xlabel(f"$t$, {BARE}")
            style.title(axes, heading)
        panels[0].set_ylabel(f"largest so far, {BARE}")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def crowd(study: Study) -> Picture:
    """How many of the random starts gain how much."""
    with style.styled():
        figure = style.picture(2.6)
        shared = None
        for k, span in enumerate(SPANS):
            shared = axes = figure.add_subplot(1, len(SPANS), k + 1, sharey=shared)
            axes.axvline(1, color=style.INK, lw=0.6, ls=":")
            for way in WAYS[1:]:
                ratios = study.crowd[way, span]
                share = 100 * np.arange(1, len(ratios) + 1) / len(ratios)
                axes.step(ratios, share, where="post", label=way, **LOOK[way])
            axes.set_xscale("log")
            axes.set_xlim(1e-4, 30)
            axes.set_ylim(0, 100)
            axes.minorticks_off()
            axes.set_xlabel("error ÷ uncorrected")
            axes.set_ylabel("% of the starts" if k == 0 else "")
            style.title(axes, f"to t = {span:g}")
        figure.legend(
            *figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3
        )
    return figure


def swing(study: Study) -> Picture:
    """φ and φ̇ of the pendulum."""
    with style.styled():
        figure = style.picture(2.5)
        for k, (label, unit, column) in enumerate(
            ((r"$|\varphi|$", "m²", 2), (r"$|\dot\varphi|$", "m²/s", 3)), start=1
        ):
            axes = figure.add_subplot(1, 2, k)
            for name, colour, text in (
                ("none", style.INK, "not corrected"),
                ("printed", style.ORANGE, "(28) printed"),
                ("right", style.BLUE, "(28) right"),
            ):
                rows = study.swing[name]
                size = np.maximum(rows[:, column], FLOOR)
                t = SWING_STEP * np.arange(1, len(rows) + 1)
                mark = {"marker": "s", "ms": 3} if len(rows) < 20 else {}
                axes.plot(t, size, color=colour, label=text, lw=0.9, **mark)
            style.decades(axes)
            axes.set(xlabel="$t$ [s]", ylabel=style.with_unit(label, unit))
        figure.legend(
            *figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3
        )
    return figure
