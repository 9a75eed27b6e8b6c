"""`run.plot()` of fields and beams: an overview of a run, or the panels that are named."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from taut.calls import public
from taut.diagnose.field_certificate import alone
from taut.errors import InputError, brief, text
from taut.march.field_trajectory import FieldTrajectory
from taut.show import field_curves as curves
from taut.show.beam_geometry import check_factor
from taut.show.panels import SQUARE, WIDE, Panel, Tile, count, figure_of, into, named, present
from taut.show.shapes import Drawn, draw_shapes


@dataclass(frozen=True)
class FieldView:
    """A run of a field or of beams, and what is to be seen of it."""

    run: FieldTrajectory
    drawn: Drawn | None
    down: str | None
    of: Any
    points: int


def _no_shapes(view: FieldView) -> InputError | None:
    if view.drawn is not None:
        return None
    return InputError(
        "a field has no shapes: those are of beams", remedy='run.plot("strain", "momentum")'
    )


def _shape(view: FieldView) -> str:
    return WIDE if view.drawn is not None and view.drawn.wide else SQUARE


def _parted(axes: Any, view: FieldView) -> None:
    raise AssertionError("drawn by its parts")


PANELS = {
    "shapes": Panel(
        lambda axes, view: draw_shapes(axes, view.drawn, view.down),
        _no_shapes,
        _shape,
        lambda view: view.drawn.projection is not None,
    ),
    "energies": Panel(lambda axes, view: curves.draw_energies(axes, view.run, view.points)),
    "energy": Panel(curves.draw_error),
    "balance": Panel(curves.draw_balance, curves.no_work),
    "momenta": Panel(curves.draw_momenta, curves.no_momenta),
    "strain": Panel(_parted, parts=partial(curves.components, "strain")),
    "momentum": Panel(_parted, parts=partial(curves.components, "momentum")),
}


@public
def plot(
    run: FieldTrajectory,
    *panels: str,
    axes: Any = None,
    of: Any = None,
    shapes: int = 12,
    magnify: str | float = "auto",
    down: str | None = "auto",
    title: str | None = None,
    points: int = 5000,
) -> Any:
    """Draw a run of a field or of beams; see `taut.FieldTrajectory.plot`."""
    count("shapes", shapes, 2)
    count("points", points, 10)
    title = None if title is None else text("the title", title)
    _check(down, magnify)
    drawn = None if run.mesh is None else Drawn(run, shapes, magnify)
    view = FieldView(run, drawn, down, of, points)
    tiles = named(PANELS, panels, view) if panels else _overview(view)
    if axes is not None:
        found = into(axes, tiles)
        if _curves_of(axes):
            axes.legend()
        return found
    nodes = run.momentum.shape[1]
    heading = f"{run.method.name}, step {run.step:.4g}, {nodes} nodes" if title is None else title
    figure = figure_of(tiles, heading)
    several = [a for a in figure.axes if _curves_of(a)]
    if several:
        figure.legend(
            *several[0].get_legend_handles_labels(), loc="outside upper right", ncols=curves.FEW
        )
    return figure


def _curves_of(axes: Any) -> bool:
    """Whether curves stand for times."""
    return any(str(line.get_label()).startswith("$t$ = ") for line in axes.lines)


def _check(down: Any, magnify: Any) -> None:
    if down is not None and not (isinstance(down, str) and down in ("auto", "x", "y", "z")):
        raise InputError(
            "down is not an axis", expected="one of x, y, z, auto, None", received=brief(down)
        )
    check_factor(magnify)


def _overview(view: FieldView) -> list[Tile]:
    """What it did, and what it kept."""
    if view.drawn is None:
        pairs = [Tile(panel, view) for panel in curves.pairs(view)]
        return pairs + present(PANELS, ("energies", "energy"), view)
    work, free = view.run.certificate.gross_work > 0, alone(view.run)
    names = ["shapes", "energies", "balance" if work else "energy"]
    return present(PANELS, names + ["momenta"] * (free and not work), view)


__all__ = ["PANELS", "plot"]
