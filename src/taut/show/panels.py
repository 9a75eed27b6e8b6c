"""The grammar of `run.plot`: panels by name, in one figure or in axes of the user's own.

A panel is drawn by a function of axes and of a view: the run and what is to be seen of it.  Where
panels go follows from their shapes: *square* ones (paths, portraits) beside or above *flat* ones
(curves over time, which share their axis), *wide* ones in rows of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import Any

from matplotlib.axes import Axes

from taut.errors import InputError, UnknownName, whole
from taut.show import style

FLAT, SQUARE, WIDE = "flat", "square", "wide"
HEIGHTS = {FLAT: 1.6, SQUARE: 2.9, WIDE: 2.5}  # inches of a row
HEADING = 0.12  # inches


def _no(_: Any) -> Any:
    return None


@dataclass(frozen=True)
class Panel:
    """One kind of picture of a run.

    Attributes
    ----------
    draw : (axes, view) → None
    absent : (view) → InputError or None
        Why there is nothing to show.
    shape : "flat", "square" or "wide", or (view) → one of them
    space : (view) → bool
        Whether the axes have three dimensions.
    timed : (view) → bool
        Whether time goes to the right.
    parts : (view) → list of Panel, optional
        The pictures that it consists of, where it is not one.
    """

    draw: Callable[[Any, Any], None]
    absent: Callable[[Any], InputError | None] = _no
    shape: str | Callable[[Any], str] = FLAT
    space: Callable[[Any], bool] = _no
    timed: Callable[[Any], bool] = lambda _: True
    parts: Callable[[Any], list[Panel]] | None = None

    def tiles(self, view: Any) -> list[Tile]:
        """What it is drawn as."""
        return [Tile(x, view) for x in (self.parts(view) if self.parts else [self])]


@dataclass(frozen=True)
class Tile:
    """A panel and what is to be seen in it."""

    panel: Panel
    view: Any

    @property
    def shape(self) -> str:
        shape = self.panel.shape
        return shape if isinstance(shape, str) else shape(self.view)

    @property
    def projection(self) -> str | None:
        return "3d" if self.panel.space(self.view) else None

    @property
    def timed(self) -> bool:
        return self.shape == FLAT and bool(self.panel.timed(self.view))


def named(known: Mapping[str, Panel], names: Sequence[str], view: Any) -> list[Tile]:
    """The panels that are asked for; what is not known or has nothing to show is an error."""
    tiles = []
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise UnknownName("panel", name, known)
        why = known[name].absent(view)
        if why is not None:
            raise why
        tiles += known[name].tiles(view)
    return tiles


def present(known: Mapping[str, Panel], names: Sequence[str], view: Any) -> list[Tile]:
    """Those of the named panels that have something to show."""
    there = [known[x] for x in names if known[x].absent(view) is None]
    return [tile for panel in there for tile in panel.tiles(view)]


LARGEST = 1 << 53  # whole numbers that floats hold


def count(name: str, value: Any, least: int) -> None:
    """Whether an option is a whole number and large enough."""
    whole(name, value, least, LARGEST)


def into(axes: Any, tiles: list[Tile]) -> Any:
    """Draw one panel into the user's own axes, with the user's own settings; returns them."""
    if not isinstance(axes, Axes):
        raise InputError(
            "axes are not axes", expected="matplotlib Axes", received=type(axes).__name__
        )
    if len(tiles) != 1:
        raise InputError(
            "axes hold one panel",
            expected='one panel that is one picture: run.plot("energy", axes=axes)',
            received=f"{len(tiles)} pictures",
            remedy="leave axes= out, name one panel, or choose with of=",
        )
    wanted = tiles[0].projection or "rectilinear"
    if axes.name != wanted:
        flat = 'projection="3d"' if wanted == "3d" else "without a projection"
        raise InputError(
            "the axes have the wrong projection",
            expected=wanted,
            received=axes.name,
            remedy=f"make them {'with ' if wanted == '3d' else ''}{flat}",
        )
    tiles[0].panel.draw(axes, tiles[0].view)
    return axes


def figure_of(tiles: list[Tile], heading: str = "") -> style.Picture:
    """A figure of panels; its axes are in the order of the tiles."""
    with style.styled():
        figure, places, columns = _arranged(tiles)
        clock = None
        for tile, place in zip(tiles, places, strict=True):
            axes = figure.add_subplot(
                place, projection=tile.projection, sharex=clock if tile.timed else None
            )
            clock = axes if tile.timed and clock is None else clock
            tile.panel.draw(axes, tile.view)
            if tile.timed:
                axes.xaxis.set_major_locator(style.ticks(5))
        _one_clock(figure, tiles, columns)
        if heading:
            figure.suptitle(heading, x=0.01, ha="left", fontsize=8, color=style.FAINT)
        if heading and any(tile.projection for tile in tiles):
            _lower(figure)
    return figure


def _lower(figure: style.Picture) -> None:
    """Room for the heading: axes in space turn out higher than the layout takes them for."""
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0, 0, 1, 1 - HEADING / figure.get_figheight()))


def _one_clock(figure: Any, tiles: list[Tile], columns: list[list[int]]) -> None:
    """Time is written under the last of the panels that stand above each other."""
    drawn = [a for a in figure.axes if a.get_label() != "<colorbar>"]
    for column in columns:
        for above, below in pairwise(column):
            if tiles[above].timed and tiles[below].timed:
                drawn[above].tick_params(labelbottom=False)
                drawn[above].set_xlabel("")


def _arranged(tiles: list[Tile]) -> tuple[style.Picture, list[Any], list[list[int]]]:
    """(figure, place of each tile, which tiles stand above each other)."""
    groups = {
        shape: [i for i, tile in enumerate(tiles) if tile.shape == shape]
        for shape in (WIDE, SQUARE, FLAT)
    }
    if len(tiles) == 1:
        (shape,) = (x for x, group in groups.items() if group)
        height = {FLAT: 2.2, SQUARE: 3.1, WIDE: 2.8}[shape]
        figure = style.picture(height, style.WIDTH if shape == WIDE else style.COLUMN)
        return figure, [figure.add_gridspec(1, 1)[0]], [[0]]
    if len(groups[SQUARE]) == 1 and not groups[WIDE]:
        return _beside(groups[SQUARE][0], groups[FLAT])
    return _above(groups)


def _beside(square: int, flats: list[int]) -> tuple[style.Picture, list[Any], list[list[int]]]:
    """The square panel on the left, curves on the right; those that are too many under it."""
    right = min(len(flats), ceil((len(flats) + 2) / 2))
    under = len(flats) - right
    rows = max(right, 2 + under)
    figure = style.picture(3.2 if rows == 2 else 0.5 + 1.25 * rows)
    grid = figure.add_gridspec(1, 2, width_ratios=(1, 1.25))
    left = grid[0].subgridspec(1 + under, 1, height_ratios=[2.4] + [1] * under)
    other = grid[1].subgridspec(right, 1)
    places = {square: left[0]}
    places.update({k: other[i] for i, k in enumerate(flats[:right])})
    places.update({k: left[1 + i] for i, k in enumerate(flats[right:])})
    return figure, [places[k] for k in sorted(places)], [flats[:right], flats[right:]]


def _above(groups: dict[str, list[int]]) -> tuple[style.Picture, list[Any], list[list[int]]]:
    """Wide panels above, then square ones, then curves, in rows of two or three."""
    shapes = [shape for shape in (WIDE, SQUARE, FLAT) if groups[shape]]
    across = {x: 1 if x == WIDE else _across(len(groups[x])) for x in shapes}
    rows = {x: ceil(len(groups[x]) / across[x]) for x in shapes}
    heights = [
        rows[x] * HEIGHTS[x] * (0.85 if across[x] == 3 and x == SQUARE else 1.0) for x in shapes
    ]
    figure = style.picture(0.4 + sum(heights))
    outer = figure.add_gridspec(len(shapes), 1, height_ratios=heights)
    places: dict[int, Any] = {}
    columns: list[list[int]] = []
    for k, shape in enumerate(shapes):
        inner = outer[k].subgridspec(rows[shape], across[shape])
        for i, tile in enumerate(groups[shape]):
            places[tile] = inner[i // across[shape], i % across[shape]]
        if shape == FLAT:
            columns = [groups[FLAT][i :: across[FLAT]] for i in range(across[FLAT])]
    return figure, [places[k] for k in sorted(places)], columns


def _across(many: int) -> int:
    """Panels in a row."""
    return many if many <= 3 else 3 if many % 3 == 0 else 2
