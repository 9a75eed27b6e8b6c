"""`run.plot()` of fields and beams: shapes, or γ and μ over s and t; energy, momenta, balance."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, ListedColormap, Normalize

from taut.diagnose.field_certificate import alone, momentum_changes
from taut.errors import InputError
from taut.fields import Beams
from taut.march.field_trajectory import FieldTrajectory
from taut.march.loop import BOOKS, HEAD
from taut.show import style
from taut.show.plots import _draw_drift

FLAT = 1e-9  # of the extent: what a planar motion may leave its plane by
MARKED = 20  # stored states: fewer are marked on curves
FEW = 8  # stored states: fewer are drawn as curves, not as an image
SMALL = 0.05  # of the size of beams: displacements below it are enlarged
SEEN = 0.2  # of that size: to about this
WIDE = 2.0  # times wider than high: shapes above, not beside, the rest
COMPONENTS = 3  # of strain and momentum that are shown
# Readers with any colour vision can follow both; the pale end of viridis is left out.
TIME: Colormap = ListedColormap(colormaps["viridis"](np.linspace(0, 0.87, 256)), name="time")
SIGNED = "RdBu_r"


def plot(
    run: FieldTrajectory,
    *,
    shapes: int = 12,
    magnify: str | float = "auto",
    down: str | None = "auto",
    title: str | None = None,
    points: int = 5000,
) -> style.Picture:
    """Draw a run of a field or of beams: what it did, and what it kept.

    Of beams: shapes at times that are evenly spaced, in the plane if they stay in one; kinetic
    energy, that of the strains, and their sum; its error and the momenta in space, or, where loads
    act, energy − work.  Of fields: strain and momentum over place and time, and the energy error.

    Parameters
    ----------
    run : FieldTrajectory
    shapes : int
        How many shapes of beams are drawn.
    magnify : "auto" or float
        By how much displacements from the reference shape are enlarged; "auto" does it where beams
        that are held move too little to be seen, and the heading says so.
    down : "auto", "x", "y", "z" or None
        The axis that points down on paper; "auto" follows gravity.
    title : str, optional
        A heading; the method and its step if not given.
    points : int
        Samples per curve; longer runs keep their extremes.

    Returns
    -------
    matplotlib.figure.Figure
    """
    for name, value, least in (("shapes", shapes, 2), ("points", points, 10)):
        if not isinstance(value, int) or value < least:
            raise InputError(f"{name} is too small", expected=f"{name} ≥ {least}", received=value)
    if down not in (None, "auto", "x", "y", "z"):
        raise InputError(
            "down is not an axis", expected="one of x, y, z, auto, None", received=repr(down)
        )
    if magnify != "auto" and (not isinstance(magnify, float | int) or not 0 < magnify < np.inf):
        raise InputError(
            "magnify is no factor", expected='"auto" or a positive number', received=repr(magnify)
        )
    with style.styled():
        if run.mesh is None:
            figure = _field(run, points)
        else:
            drawn = Drawn(run, shapes, magnify)
            figure = _beams(drawn, down, points)
        nodes = run.momentum.shape[1]
        heading = f"{run.method.name}, step {run.step:.4g}, {nodes} nodes"
        heading = heading if title is None else title
        if heading:
            figure.suptitle(heading, x=0.01, ha="left", fontsize=8, color=style.FAINT)
    return figure


# ---- beams ------------------------------------------------------------------------------------


class Drawn:
    """What is drawn of a run of beams.

    Attributes
    ----------
    rows : ndarray
        The states whose shapes are drawn.
    places : ndarray, shape (rows, nodes, 3)
        Where nodes are drawn: displacements from the reference shape are enlarged by `factor`.
    columns : list of int
        The axes that are drawn.
    """

    def __init__(self, run: FieldTrajectory, shapes: int, magnify: str | float = "auto") -> None:
        self.run = run
        self.rows = np.unique(np.linspace(0, len(run.t) - 1, shapes).round().astype(int))
        start = _mesh(run).pose[:, :3, 3]
        shift = run.positions[self.rows] - start
        self.factor = _factor(run, start, shift) if magnify == "auto" else float(magnify)
        # Added to what is there, so that beams in a plane stay in it to the last bit.
        self.places = run.positions[self.rows] + (self.factor - 1) * shift
        self.columns = _plane(self.places, _mesh(run).gravity)
        extent = np.ptp(self.places[..., self.columns].reshape(-1, len(self.columns)), axis=0)
        rest = np.delete(extent, extent[:-1].argmax()).max()
        self.wide = bool(extent[:-1].max() > WIDE * rest)  # more room across than upwards


def _factor(run: FieldTrajectory, start: np.ndarray, shift: np.ndarray) -> float:
    """1, 2 or 5 times a power of ten, so that small displacements are seen."""
    size, moved = float(np.ptp(start, axis=0).max()), float(np.abs(shift).max())
    if not _mesh(run).holds or not 0 < moved < SMALL * size:
        return 1.0
    wanted = SEEN * size / moved
    power = 10.0 ** np.floor(np.log10(wanted))
    return float(max(k * power for k in (1, 2, 5) if k * power <= wanted))


def _beams(drawn: Drawn, down: str | None, points: int) -> style.Picture:
    run = drawn.run
    work, free = run.certificate.gross_work > 0, alone(run)
    many = 2 + (not work and free)
    if drawn.wide:  # shapes above, panels in a row below them
        figure = style.picture(4.3)
        grid = figure.add_gridspec(2, many, height_ratios=(1.5, 1))
        draw_shapes(figure, grid[0, :], drawn, down)
        places = [grid[1, k] for k in range(many)]
    else:
        figure = style.picture(3.5 if many == 2 else 4.2)
        grid = figure.add_gridspec(many, 2, width_ratios=(1.1, 1))
        draw_shapes(figure, grid[:, 0], drawn, down)
        places = [grid[k, 1] for k in range(many)]
    panels: list[Axes] = []
    for place in places:
        panels.append(figure.add_subplot(place, sharex=panels[0] if panels else None))
    draw_energies(panels[0], run, points)
    if work:
        _draw_balance(panels[1], run)
    else:
        _draw_energy_error(panels[1], run, points)
    if many == 3:
        _draw_momenta(panels[2], run)
    stacked = panels[:-1] if not drawn.wide else []
    for axes in panels:
        axes.xaxis.set_major_locator(style.MaxNLocator(5))
        if axes in stacked:
            axes.tick_params(labelbottom=False)
        else:
            axes.set_xlabel("$t$")
    return figure


def draw_shapes(figure: Any, place: Any, drawn: Drawn, down: str | None = "auto") -> Any:
    """Draw shapes at evenly spaced times into a place of a figure; returns its axes."""
    run, rows, columns = drawn.run, drawn.rows, drawn.columns
    gravity = _mesh(run).gravity
    axes = figure.add_subplot(place, projection="3d" if len(columns) == 3 else None)
    norm = Normalize(float(run.t[0]), float(run.t[-1]) if len(run.t) > 1 else 1.0)
    for row, places in zip(rows, drawn.places, strict=True):
        colour = TIME(norm(run.t[row]))
        width = 1.4 if row in (rows[0], rows[-1]) else 0.9
        for span in _mesh(run).spans:
            (line,) = axes.plot(
                *places[span][:, columns].T, color=colour, lw=width,
                label=f"_shape {row}", clip_on=False,
            )  # fmt: skip
            line.set_in_layout(False)  # in space it may leave the axes, and harms nothing
        bodies = places[_bodies(run)][:, columns]
        if len(bodies):
            axes.plot(*bodies.T, "o", color=colour, ms=3.5, mew=0, label="_body")
    _draw_holds(axes, run, drawn.places[0], columns)
    _frame(axes, drawn.places[..., columns], columns)
    if down == "auto":
        down = _down(gravity, columns)
    if down is not None and "xyz".index(down) in columns:
        upside = "xyz"[columns.index("xyz".index(down))]
        getattr(axes, f"invert_{upside}axis")()
    if len(columns) == 3:  # Matplotlib puts this name anywhere
        top = axes.text(*(getattr(axes, f"get_{x}lim")()[1] for x in "xyz"), "$z$\n", ha="center")
        top.set_in_layout(False)
    bar = figure.colorbar(
        ScalarMappable(norm, TIME), ax=axes, location="bottom", shrink=0.7,
        aspect=70 if drawn.wide else 40,
        pad=0.1 if len(columns) == 3 else 0.03,
    )  # fmt: skip
    bar.outline.set_visible(False)
    bar.ax.xaxis.set_major_locator(style.MaxNLocator(6))
    bar.set_label("$t$", labelpad=1)
    note = f"{len(rows)} of {len(run.t)} states"
    if drawn.factor != 1.0:
        note = f"displacements × {drawn.factor:g}"
    style.title(axes, "shapes", note)
    return axes


def _mesh(run: FieldTrajectory) -> Any:
    assert run.mesh is not None
    return run.mesh


def _plane(positions: np.ndarray, gravity: np.ndarray) -> list[int]:
    """The axes that are drawn: two where the third never changes, vertical last."""
    extent = np.ptp(positions.reshape(-1, 3), axis=0)
    for flat in (2, 1, 0):
        if extent[flat] <= FLAT * extent.max():
            kept = [k for k in range(3) if k != flat]
            pull = np.abs(gravity)[kept]
            return kept[::-1] if pull[0] > pull[1] else kept
    return [0, 1, 2]


def _down(gravity: np.ndarray, columns: list[int]) -> str | None:
    """The axis whose positive direction gravity pulls along, if it is one."""
    pull = gravity[columns]
    k = int(np.argmax(np.abs(pull)))
    return "xyz"[columns[k]] if pull[k] > 0 and pull[k] >= 0.9 * np.linalg.norm(pull) else None


def _bodies(run: FieldTrajectory) -> list[int]:
    beams = run.model.beams if isinstance(run.model, Beams) else [run.model]
    starts = [span.start for span in _mesh(run).spans]
    return [a + body.node for a, b in zip(starts, beams, strict=True) for body in b.bodies]


def _draw_holds(axes: Any, run: FieldTrajectory, places: np.ndarray, columns: list[int]) -> None:
    """A square where an end is clamped, a ring where it is held otherwise, at the start."""
    for hold in _mesh(run).holds:
        at = places[hold.node][columns]
        look = {"marker": "s"} if hold.end.kind == "clamped" else {"marker": "o", "mfc": "white"}
        axes.plot(
            *at[:, None], ls="none", ms=4.5, color=style.INK, mew=0.8, zorder=5, label="_held",
            clip_on=False, **look,
        )  # fmt: skip


def _frame(axes: Any, places: np.ndarray, columns: list[int]) -> None:
    """Equal scales, axes named, a box around the shapes that is not too flat."""
    flat = places.reshape(-1, len(columns))
    low, high = flat.min(axis=0), flat.max(axis=0)
    side = float((high - low).max()) or 1.0
    space = len(columns) == 3
    half = 0.54 * np.maximum(high - low, (0.25 if space else 0.4) * side)
    middle = (low + high) / 2
    for letter, column, a, z in zip("xyz", columns, middle - half, middle + half, strict=False):
        getattr(axes, f"set_{letter}lim")(a, z)
        if letter != "z":
            getattr(axes, f"set_{letter}label")(f"${'xyz'[column]}$", labelpad=-2 if space else 2)
    if not space:
        axes.set_aspect("equal", adjustable="box", anchor="C")
        axes.xaxis.set_major_locator(style.MaxNLocator(5))
        axes.yaxis.set_major_locator(style.MaxNLocator(5))
        return
    style.space(axes)
    ratio = half / half.max()
    longest = int(ratio.argmax())
    wide = longest < 2 and ratio[longest] > WIDE * np.delete(ratio, longest).max()
    if wide:
        axes.view_init(elev=22, azim=(-72, -18)[longest])
        axes.set_box_aspect(tuple(ratio), zoom=2.2)
    else:
        axes.set_box_aspect(tuple(ratio), zoom=1.0)
    # The last tick of x and the first of y stand at the same corner.
    for letter, share, prune in zip("xyz", ratio, ("upper", "lower", None), strict=True):
        many = 2 if share < 0.35 else 3 if letter != "z" and not wide else 5
        axis = getattr(axes, f"{letter}axis")
        axis.set_major_locator(style.MaxNLocator(many, prune=prune if many > 2 else None))
    axes.zaxis.set_tick_params(pad=3)
    if wide:  # names of axes stand further off the more a box is enlarged
        axes.yaxis.labelpad = -13
        axes.yaxis.set_tick_params(pad=-5)
        axes.zaxis.set_tick_params(pad=-4.5)


def draw_energies(axes: Axes, run: FieldTrajectory, points: int = 5000) -> None:
    """Kinetic energy, that of the strains, and their sum."""
    for name, label, colour in (
        ("kinetic", "kinetic", style.BLUE),
        ("potential", "strain", style.ORANGE),
        ("energy", "total", style.INK),
    ):
        t, y = style.envelope(run.t, getattr(run, name), points)
        axes.plot(t, y, color=colour, lw=0.8, label=label, **_marked(run))
    style.powers(axes, "$K,\\ V,\\ E$", float(np.nanmax(np.abs(run.energy), initial=0.0)))
    axes.margins(x=0)
    style.title(axes, "energy")
    style.key(axes)


def _marked(run: FieldTrajectory) -> dict[str, Any]:
    """Dots where states are few."""
    return {"marker": "o", "ms": 2.5} if len(run.t) <= MARKED else {}


def _draw_energy_error(axes: Axes, run: FieldTrajectory, points: int) -> None:
    error = run.energy - run.energy[0]
    axes.plot(
        *style.envelope(run.t, error, points), color=style.BLUE, lw=0.7, label="energy error",
        **_marked(run),
    )  # fmt: skip
    note = _draw_drift(axes, run, error)  # type: ignore[arg-type]  (it reads t and certificate)
    largest = float(np.nanmax(np.abs(error), initial=0.0))
    style.powers(axes, "$E - E_0$", largest)
    if largest == 0.0:
        axes.set_ylim(-1e-16, 1e-16)
    axes.margins(x=0)
    style.title(axes, "energy error", note)


def _draw_balance(axes: Axes, run: FieldTrajectory) -> None:
    """E − E₀ − work, as means over blocks of steps: the books have them of all steps."""
    t, means = _blocks(run)
    axes.plot(t, means, color=style.BLUE, lw=0.9, label="balance")
    value = dict(zip(BOOKS, run.books, strict=False))
    low, high = value["error_min"], value["error_max"]
    axes.axhspan(low, high, color=style.SKY, alpha=0.25, lw=0, label="_band")
    style.powers(axes, "$E - E_0 - W$", float(max(abs(low), abs(high))))
    room = 0.15 * (high - low) or 1e-16
    axes.set_ylim(low - room, high + room)
    axes.set_xlim(run.t[0], run.t[-1])
    style.title(axes, "energy − work", "shaded: all steps")


def _blocks(run: FieldTrajectory) -> tuple[np.ndarray, np.ndarray]:
    """Times and means of the blocks of the balance."""
    value = dict(zip(BOOKS, run.books, strict=False))
    means = run.books[HEAD : HEAD + int(value["blocks"])]
    span = value["block_length"] * run.step
    return float(run.t[0]) + span * (np.arange(len(means)) + 0.5), means


def _draw_momenta(axes: Axes, run: FieldTrajectory) -> None:
    """How far momenta in space are from their start."""
    looks = {"linear": (style.BLUE, "linear"), "angular": (style.ORANGE, "angular")}
    top, foot = 0.0, 1e-17
    for name, change in momentum_changes(run).items():
        colour, label = looks[name]
        t, y = style.highest(run.t, change)
        axes.plot(t, np.maximum(y, foot), color=colour, lw=0.9, label=label)
        top = max(top, float(y.max()))
    style.decades(axes)
    axes.set_ylim(foot, max(10 * top, 1e-13))
    axes.margins(x=0)
    axes.set_ylabel(r"$|\Delta P|,\ |\Delta L|$")
    style.title(axes, "momenta in space")
    style.key(axes)


# ---- fields -----------------------------------------------------------------------------------


def _field(run: FieldTrajectory, points: int) -> style.Picture:
    shown = _largest(run)
    figure = style.picture(1.1 + 1.25 * (len(shown) + 1))
    grid = figure.add_gridspec(len(shown) + 1, 2)
    first = None
    for row, component in enumerate(shown):
        for column, (values, places, name) in enumerate(_sides(run, component)):
            axes = figure.add_subplot(grid[row, column], sharex=first)
            if len(run.t) < FEW:
                _draw_curves(axes, run, values, places)
                axes.set_xlim(0, run.model.length)
            else:
                first = first or axes
                _draw_image(figure, axes, run, values, places)
            style.title(axes, name)
            if row == len(shown) - 1:
                axes.set_xlabel("$s$" if len(run.t) < FEW else "$t$")
            else:
                axes.tick_params(labelbottom=False)
    if len(run.t) < FEW:
        figure.legend(
            *figure.axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=FEW
        )
    left = figure.add_subplot(grid[-1, 0])
    draw_energies(left, run, points)
    right = figure.add_subplot(grid[-1, 1])
    _draw_energy_error(right, run, points)
    for axes in (left, right):
        axes.set_xlabel("$t$")
    return figure


def _largest(run: FieldTrajectory) -> list[int]:
    """The components that change most, in their order."""
    many = run.momentum.shape[2]
    if many <= COMPONENTS:
        return list(range(many))
    sizes = []
    for values in (run.strain, run.momentum):
        extent = np.ptp(values.reshape(-1, many), axis=0)
        sizes.append(extent / max(float(extent.max()), 1e-300))
    return sorted(np.argsort(-np.maximum(*sizes), kind="stable")[:COMPONENTS].tolist())


def _sides(run: FieldTrajectory, k: int) -> Iterator[tuple[np.ndarray, np.ndarray, str]]:
    model = run.model
    for what, values, places, symbol in (
        ("strain", run.strain, model.middles, model.strain[k]),
        ("momentum", run.momentum, model.places, model.momentum[k]),
    ):
        yield values[:, :, k], places, f"{what} {style.symbol(symbol)}"


def _draw_image(
    figure: Any, axes: Axes, run: FieldTrajectory, values: np.ndarray, places: np.ndarray
) -> None:
    """Values over time and place."""
    rows = np.unique(np.linspace(0, len(run.t) - 1, min(len(run.t), 600)).round().astype(int))
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    largest = max(abs(low), abs(high)) or 1e-16
    # White is zero; what has one sign everywhere has a scale without it.
    norm, colours = Normalize(-largest, largest), SIGNED
    if low * high > 0 and high > low:
        norm, colours = Normalize(low, high), TIME
    image = axes.pcolormesh(
        _edges(run.t[rows]), _edges(places), values[rows].T, cmap=colours, norm=norm,
        rasterized=True, shading="flat",
    )  # fmt: skip
    axes.set_ylabel("$s$")
    bar = figure.colorbar(image, ax=axes, pad=0.02, aspect=14)
    bar.outline.set_visible(False)
    style.powers(bar.ax, "", largest)
    bar.ax.yaxis.set_major_locator(style.MaxNLocator(4, symmetric=colours == SIGNED))


def _edges(x: np.ndarray) -> np.ndarray:
    """Borders of cells around points."""
    inner = np.array([0.5 * (a + b) for a, b in pairwise(x)])
    return np.concatenate([[x[0] - (inner[0] - x[0])], inner, [x[-1] + (x[-1] - inner[-1])]])


def _draw_curves(axes: Axes, run: FieldTrajectory, values: np.ndarray, places: np.ndarray) -> None:
    norm = Normalize(float(run.t[0]), max(float(run.t[-1]), float(run.t[0]) + 1e-300))
    for t, row in zip(run.t, values, strict=True):
        axes.plot(places, row, color=TIME(norm(t)), lw=0.9, label=f"$t$ = {t:.3g}")
    style.powers(axes, "", float(np.nanmax(np.abs(values), initial=0.0)))
