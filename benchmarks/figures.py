"""The pictures of the work-precision benchmark, from its results."""

from __future__ import annotations

from io import BytesIO

import angles
from curves import Curve, Point, best, time_at
from matplotlib.ticker import LogLocator, NullFormatter
from PIL import Image

from taut.methods import CATALOGUE
from taut.show import style

SHAPES = {
    "gauss-lobatto": "o", "lobatto": "^", "composition": "s", "rattle": "v",
    "time-element-independent": "+", "time-element": "x", "symplectic-rk": "*",
}  # fmt: skip
BY_ORDER = {2: style.SKY, 4: style.BLUE, 6: style.GREEN, 8: style.PINK}
DASHES = {
    "heyoka, lagrangian": "--", "SciPy LSODA, compiled": "--",
    "SciPy DOP853, NumPy": ":", "SciPy Radau, compiled": "-.",
}  # fmt: skip
ENERGY = 3e-8
DPI, SHADES = 140, 240


def curves_of(results):
    """{problem: curves} as they were measured."""
    return {
        name: [Curve(**{**c, "points": [Point(**p) for p in c["points"]]}) for c in curves]
        for name, curves in results["curves"].items()
    }


def draw(results, folder):
    """Write both pictures into `folder`; returns their files."""
    curves, amounts = curves_of(results), results["amounts"]
    chains = {
        links: curves[angles.TRIPLE.name if links == angles.TRIPLE.links else f"{links} links"]
        for links in amounts["chains"]
    }
    with style.styled():
        pictures = {
            "work_precision.png": _pendulums(curves, amounts),
            "work_precision_chains.png": _chains(chains, amounts),
        }
        for name, picture in pictures.items():
            drawn = Image.open(BytesIO(picture.bytes("png", dpi=DPI))).convert("RGB")
            drawn.quantize(SHADES).save(folder / name, optimize=True)  # a third of the size
    return [folder / name for name in pictures]


def _pendulums(curves, amounts):
    """Error and energy error against wall time, of the double and the triple pendulum."""
    figure = style.picture(6.6)
    grid = figure.subplots(2, 2, sharey="col")
    for row, problem in zip(grid, ("double", "triple"), strict=True):
        for axes, pairs in zip(row, (Curve.errors, Curve.energies), strict=True):
            for curve in curves[problem]:
                _line(axes, curve, pairs(curve))
            _logarithmic(axes)
        short, long = row
        style.title(short, f"{problem} pendulum")
        short.set(xlabel=f"wall time of {amounts['short']:g} s  [s]", ylabel=_error(amounts))
        long.set(xlabel=f"wall time of {amounts['long']:g} s  [s]", ylabel=_change(amounts))
        long.axhline(ENERGY, color=style.FAINT, linewidth=0.6, linestyle=":")
        short.set_ylim(1e-13, 10)
        long.set_ylim(1e-13, 10)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, handlelength=3)
    return figure


def _chains(chains, amounts):
    """Wall time at equal energy error against the number of links, and two chains in full."""
    figure = style.picture(3.4)
    shown = [links for links in (6, max(chains)) if links in chains]
    first, *others = figure.subplots(1, 1 + len(shown), width_ratios=[1.3] + [1] * len(shown))
    for name, pick, look in _families(chains):
        times = [(links, wall) for links in chains if (wall := pick(chains[links])) is not None]
        if times:
            first.plot(*zip(*times, strict=True), label=name, markersize=3, **look)
    first.set_yscale("log")
    first.set(xlabel="links", ylabel=f"wall time of {amounts['long']:g} s  [s]")
    first.set_xticks(list(chains))
    style.title(first, f"at |ΔH| = {style.number(ENERGY, 1)}")
    for axes, links in zip(others, shown, strict=True):
        for curve in chains[links]:
            _line(axes, curve, curve.energies())
        _logarithmic(axes)
        axes.axhline(ENERGY, color=style.FAINT, linewidth=0.6, linestyle=":")
        axes.set(xlabel=f"wall time of {amounts['long']:g} s  [s]", ylabel=_change(amounts))
        style.title(axes, f"{links} links")
    found = {}
    for axes in (first, *others):
        handles, labels = axes.get_legend_handles_labels()
        found |= {label: handle for handle, label in zip(handles, labels, strict=True)}
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=4, handlelength=3)
    return figure


def _families(chains):
    """(label, curves → wall time, look) of the lines over the number of links."""

    def fair(curve):
        return curve.family != "taut" or CATALOGUE[curve.solver].symplectic

    def fastest(family):
        return lambda curves: (best(list(filter(fair, curves)), family, ENERGY) or (None,))[0]

    def of(solver):
        return lambda curves: next(
            (time_at(c.energies(), ENERGY) for c in curves if c.solver == solver), None
        )

    strong = {"linewidth": 1.6, "marker": "o"}
    yield "taut, its fastest", fastest("taut"), {"color": style.INK, **strong}
    for solver in ("heyoka, tensions", "heyoka, lagrangian"):
        yield solver, of(solver), _look(solver)
    yield "SciPy, its fastest", fastest("SciPy"), {"color": style.FAINT, **strong}


def _look(solver):
    """Colour, marker and dashes: methods of taut by order and family, others by package."""
    dashes = DASHES.get(solver, "-")
    if solver.startswith("heyoka"):
        return {"color": style.ORANGE, "marker": "D", "linestyle": dashes}
    if solver.startswith("SciPy"):
        return {"color": style.FAINT, "marker": ".", "linestyle": dashes}
    shape = next((m for family, m in SHAPES.items() if solver.startswith(family)), ".")
    colour = BY_ORDER.get(CATALOGUE[solver].order, style.AMBER)
    if not CATALOGUE[solver].symplectic:  # there to be compared with
        return {"color": colour, "marker": ".", "linestyle": ":", "linewidth": 0.6}
    return {"color": colour, "marker": shape}


def _line(axes, curve, pairs):
    if pairs:
        look = {"markersize": 2.8, "linewidth": 0.8, **_look(curve.solver)}
        axes.plot(*zip(*pairs, strict=True), label=_label(curve), **look)


def _label(curve):
    return f"taut {curve.solver}" if curve.family == "taut" else curve.solver


def _error(amounts):
    return f"max |Δ position| at t = {amounts['short']:g}"


def _change(amounts):
    return f"max |ΔH| over {amounts['long']:g} s"


def _logarithmic(axes):
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
    axes.set(xscale="log", yscale="log")
    axes.yaxis.set_major_locator(LogLocator(numticks=8))
    axes.minorticks_off()
    axes.grid(color=style.PALE, linewidth=0.4)
