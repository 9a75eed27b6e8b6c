"""`run.plot()`: an overview of a run, or the panels that are named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.lines import Line2D

from taut.calls import public
from taut.errors import InputError, brief, text
from taut.march.trajectory import Trajectory
from taut.show import curves, paths, portraits, style
from taut.show.frames import part_of, shown_of
from taut.show.panels import SQUARE, Panel, Tile, count, figure_of, into, named, present
from taut.show.view import View, members as chosen, thinned
from taut.show.words import plain

PANELS = {
    "path": Panel(paths.draw, paths.absent, SQUARE, paths.in_space),
    "coordinates": Panel(curves.draw_coordinates),
    "joints": Panel(curves.draw_motions, curves.no_motions),
    "forces": Panel(curves.draw_forces, curves.no_forces),
    "torques": Panel(curves.draw_torques, curves.no_torques),
    "controls": Panel(curves.draw_controls, curves.no_controls),
    "energy": Panel(curves.draw_energy, curves.no_energy),
    "balance": Panel(curves.draw_balance, curves.no_work),
    "laws": Panel(curves.draw_laws, curves.no_laws),
    "constraints": Panel(curves.draw_constraints, curves.no_constraints),
    "multipliers": Panel(curves.draw_multipliers, curves.no_multipliers),
    "phase": Panel(portraits.draw_phase, shape=SQUARE, space=portraits.in_space),
    "section": Panel(portraits.draw_section, portraits.no_section, SQUARE),
}
LONGEST = 110  # letters of a heading
SOME = 100  # states that tell what there is to see
OVERVIEW = ("controls", "energy", "balance", "laws", "constraints", "multipliers")


@public
def plot(
    run: Trajectory,
    *panels: str,
    axes: Any = None,
    of: Any = None,
    when: Any = None,
    down: str | None = "auto",
    title: str | None = None,
    members: Any = 6,
    points: int = 5000,
) -> Any:
    """Draw a run; see `taut.Trajectory.plot`."""
    count("points", points, 10)
    title = None if title is None else text("the title", title)
    _check(panels, down, of, when)
    runs, numbers, which = chosen(run, members)
    ends = [max(shown_of(one), 1) for one in runs]
    cut = ""
    if max(ends) < len(run.t):
        cut = f"drawn to t = {run.t[max(ends) - 1]:.6g}"
        runs = [part_of(one, np.arange(max(ends))) for one in runs]
    view = View(run, runs, down, of, when, points)
    tiles = named(PANELS, panels, view) if panels else _overview(view)
    if axes is not None:
        return into(axes, tiles)
    words = (run.method.label, f"step {run.step:g}", which, cut, run.ended_early)
    heading = plain(", ".join(filter(None, words)), LONGEST) if title is None else title
    figure = figure_of(tiles, heading)
    if len(runs) > 1:
        _tell_apart(figure, numbers)
    return figure


def _tell_apart(figure: Any, numbers: list[int]) -> None:
    """A key of the trajectories of a batch, by their numbers, under all panels."""
    with style.styled():
        lines = [Line2D([], [], lw=1.2, **style.look(k)) for k in range(len(numbers))]
        names = [f"{k}" for k in numbers]
        names[0] = f"trajectory {names[0]}"
        figure.legend(
            lines, names, loc="outside lower left", ncols=min(len(names), 12), columnspacing=1.2,
            handlelength=2.2,
        )  # fmt: skip


def _check(panels: tuple[str, ...], down: Any, of: Any, when: Any) -> None:
    if down is not None and not (isinstance(down, str) and down in ("auto", "x", "y", "z")):
        raise InputError(
            "down is not an axis", expected="one of x, y, z, auto, None", received=brief(down)
        )
    for name, value in (("of", of), ("when", when)):
        if value is not None and not panels:
            raise InputError(
                f"{name}= belongs to a panel",
                expected="the name of one",
                remedy='run.plot("phase", of=…) or run.plot("section", when=…, of=…)',
            )


def _overview(view: View) -> list[Tile]:
    """Where it went, and what it kept."""
    system = view.run.system
    kept = present(PANELS, OVERVIEW, view)
    in_time = system.first_order and system.drawing is None
    drawn = None if in_time else paths.traced(thinned(view.runs[0], SOME))
    moving = view.moving()
    if in_time and len(moving) > 1:
        space = replace(view, of=[system.coordinates[i] for i in moving[:3]])
        return [Tile(PANELS["phase"], space), Tile(PANELS["coordinates"], view), *kept]
    if drawn is None:
        return [Tile(replace(PANELS["coordinates"], shape=SQUARE), view), *kept]
    if system.mechanism is not None:  # directors mean little to the eye
        return [
            Tile(PANELS["path"], view),
            *present(PANELS, ("joints", "forces", "torques"), view),
            *kept,
        ]
    rest = [s for i, s in enumerate(system.coordinates) if i not in drawn.columns or drawn.straight]
    others = [Tile(PANELS["coordinates"], replace(view, of=rest))] if rest else []
    return [Tile(PANELS["path"], view), *kept, *others]


__all__ = ["PANELS", "plot"]
