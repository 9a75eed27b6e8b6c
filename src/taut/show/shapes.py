"""Shapes of beams at evenly spaced times, in their plane or in space."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, ListedColormap, Normalize

from taut.march.field_trajectory import FieldTrajectory
from taut.show import style
from taut.show.beam_geometry import bodies_of, magnification, mesh_of

FLAT = 1e-9  # of the extent: what a planar motion may leave its plane by
WIDE = 2.0  # times wider than high: shapes above, not beside, the rest
# Readers with any colour vision can follow it; the pale end of viridis is left out.
TIME: Colormap = ListedColormap(colormaps["viridis"](np.linspace(0, 0.87, 256)), name="time")


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
        start = mesh_of(run).pose[:, :3, 3]
        shift = run.positions[self.rows] - start
        self.factor = magnification(run, start, shift) if magnify == "auto" else float(magnify)
        # Added to what is there, so that beams in a plane stay in it to the last bit.
        self.places = run.positions[self.rows] + (self.factor - 1) * shift
        self.columns = _plane(self.places, mesh_of(run).gravity)
        extent = np.ptp(self.places[..., self.columns].reshape(-1, len(self.columns)), axis=0)
        rest = np.delete(extent, extent[:-1].argmax()).max()
        self.projection = "3d" if len(self.columns) == 3 else None
        self.wide = bool(extent[:-1].max() > WIDE * rest)  # more room across than upwards


def draw_shapes(
    axes: Any, drawn: Drawn, down: str | None = "auto", length: str = "", time: str = ""
) -> None:
    """Draw shapes at evenly spaced times, with a scale of their colours; units where known."""
    run, rows, columns = drawn.run, drawn.rows, drawn.columns
    gravity = mesh_of(run).gravity
    begin, end = float(run.t[0]), float(run.t[-1])
    norm = Normalize(begin, end if end > begin else begin + run.step)
    for row, places in zip(rows, drawn.places, strict=True):
        colour = TIME(norm(run.t[row]))
        width = 1.4 if row in (rows[0], rows[-1]) else 0.9
        for span in mesh_of(run).spans:
            (line,) = axes.plot(
                *places[span][:, columns].T, color=colour, lw=width,
                label=f"_shape {row}", clip_on=False,
            )  # fmt: skip
            line.set_in_layout(False)  # in space it may leave the axes, and harms nothing
        bodies = places[bodies_of(run)][:, columns]
        if len(bodies):
            axes.plot(*bodies.T, "o", color=colour, ms=3.5, mew=0, label="_body")
    _draw_holds(axes, run, drawn.places[0], columns)
    _frame(axes, drawn.places[..., columns], columns, length)
    if down == "auto":
        down = _down(gravity, columns)
    if down is not None and "xyz".index(down) in columns:
        upside = "xyz"[columns.index("xyz".index(down))]
        getattr(axes, f"invert_{upside}axis")()
    if len(columns) == 3:
        style.above(axes, style.with_unit("$z$", length))
    bar = axes.figure.colorbar(
        ScalarMappable(norm, TIME), ax=axes, location="bottom", shrink=0.7,
        aspect=70 if drawn.wide else 40,
        pad=0.16 if len(columns) == 3 else 0.03,
    )  # fmt: skip
    bar.outline.set_visible(False)
    bar.ax.xaxis.set_major_locator(style.ticks(6))
    bar.set_label(style.with_unit("$t$", time), labelpad=1)
    note = f"{len(rows)} of {len(run.t)} states"
    if drawn.factor != 1.0:
        note = f"displacements × {drawn.factor:g}"
    style.title(axes, "shapes", note)


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


def _draw_holds(axes: Any, run: FieldTrajectory, places: np.ndarray, columns: list[int]) -> None:
    """A square where an end is clamped, a ring where it is held otherwise, at the start."""
    for hold in mesh_of(run).holds:
        at = places[hold.node][columns]
        look = {"marker": "s"} if hold.end.kind == "clamped" else {"marker": "o", "mfc": "white"}
        axes.plot(
            *at[:, None], ls="none", ms=4.5, color=style.INK, mew=0.8, zorder=5, label="_held",
            clip_on=False, **look,
        )  # fmt: skip


def _frame(axes: Any, places: np.ndarray, columns: list[int], unit: str) -> None:
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
            label = style.with_unit(f"${'xyz'[column]}$", unit)
            getattr(axes, f"set_{letter}label")(label, labelpad=-2 if space else 2)
    if not space:
        axes.set_aspect("equal", adjustable="box", anchor="C")
        axes.xaxis.set_major_locator(style.ticks(5))
        axes.yaxis.set_major_locator(style.ticks(5))
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
    for letter, share in zip("xyz", ratio, strict=True):
        many = 2 if share < 0.35 else 3 if letter != "z" and not wide else 5
        style.clear_corner(axes, letter, many)
    axes.zaxis.set_tick_params(pad=3)
    if wide:  # names of axes stand further off the more a box is enlarged
        axes.yaxis.labelpad = -13
        axes.yaxis.set_tick_params(pad=-5)
        axes.zaxis.set_tick_params(pad=-4.5)
