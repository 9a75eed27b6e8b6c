"""The path panel: where points go, in the plane or in space, and what links them at the end.

Of a mechanism also the shapes of its beams, and lines from the centres of bodies to their joints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.patheffects import withStroke

from taut.errors import InputError, brief
from taut.march.beam_parts import BeamView
from taut.march.trajectory import Trajectory
from taut.model.drawing import Drawing
from taut.show import style
from taut.show.bodies import links_at
from taut.show.frames import part_of
from taut.show.geometry import FEW, down_of, drawing_of, linked, points_of, trails_of
from taut.show.motion import curve_places, places_of
from taut.show.view import View, thinned
from taut.show.words import plain, symbol

ZOOM = 0.4  # a path smaller than this part of the whole is shown alone
LOOKS: dict[str, Any] = {"rod": "-", "spring": (0, (1.5, 1)), "line": (0, (4, 2))}
RESTS = 1e-9  # of the picture: what moves less is at rest, but for rounding
CLOSE = 0.02  # of the picture: points that are not farther from each other share a label
SHAPES = 5  # of a beam of a mechanism, from the first to the last


@dataclass(frozen=True)
class Traced:
    """What of a run is drawn in the plane or in space.

    Attributes
    ----------
    names : list of str
        Of the points that move.
    paths : list of ndarray, shape (N, 2) or (N, 3)
        Where each of them was.
    trails : list of int
        Those whose path is drawn.
    links : list of (ends, look)
        Both ends of each link, shape (2, size), at the last state that is finite.
    curves : list of ndarray
        What stands in space.
    beams : list of ndarray, shape (shapes, nodes, 3)
        Beams of a mechanism at a few states, the last of them the last that is finite.
    labels : list of str
        Names of the axes.
    columns : set of int
        The coordinates that are seen in this.
    down : "x", "y", "z" or None
    """

    names: list[str]
    paths: list[np.ndarray]
    trails: list[int]
    links: list[tuple[np.ndarray, str]]
    curves: list[np.ndarray]
    beams: list[np.ndarray]
    labels: list[str]
    columns: frozenset[int]
    down: str | None

    @property
    def size(self) -> int:
        """2 or 3."""
        return len(self.labels)

    @property
    def last(self) -> np.ndarray:
        """Where the points are at the last finite state, shape (points, size)."""
        return np.array(self.paths)[:, _last_row(np.hstack(self.paths))]

    @property
    def straight(self) -> bool:
        """Whether all points stay on one line along an axis, where a path shows little."""
        places = np.vstack(self.paths)
        extent = np.nanmax(places, axis=0) - np.nanmin(places, axis=0)
        return int((extent > 0).sum()) <= 1


def _last_row(values: np.ndarray) -> int:
    """The last row that is finite, or as much so as any."""
    many = np.isfinite(values).sum(axis=1)
    return int(np.flatnonzero(many == many.max())[-1])


def traced(run: Trajectory) -> Traced | None:
    """What the drawing of a system shows of a run; None where there is none, or nothing moves."""
    drawing = drawing_of(run.system)
    if drawing is None:
        return None
    places = places_of(drawing, run)[..., : drawing.dimension]
    q = run.system.coordinates
    used = {name: set().union(*(e.free_symbols for e in place)) & {*q}
            for name, place in drawing.points.items()}  # fmt: skip
    seen: np.ndarray = np.asarray(np.isfinite(places).all(axis=2).any(axis=0))
    moving = [k for k, symbols in enumerate(used.values()) if symbols and seen[k]]
    if not moving:
        return None
    names = [drawing.names[k] for k in moving]
    row = _last_row(places[:, moving].reshape(len(places), -1))
    return Traced(
        names,
        [places[:, k] for k in moving],
        _trails(drawing, names, linked(run.system)),
        _links(drawing, places[row], run, row),
        [curve_places(c, run)[0, :, : drawing.dimension] for c in drawing.curves],
        _beams(run, row),
        _labels(drawing, moving if run.system.mechanism is None else []),
        frozenset(i for i, s in enumerate(q) if any(s in symbols for symbols in used.values())),
        down_of(run.system, points_of(run.system), run.parameters)
        if drawing.down == "auto"
        else drawing.down,
    )


def _links(
    drawing: Drawing, places: np.ndarray, run: Trajectory, row: int
) -> list[tuple[np.ndarray, str]]:
    """Those of a drawing, or of a mechanism, at a state."""
    if run.system.mechanism is not None:
        return links_at(run.system.mechanism, part_of(run, np.array([row])))
    index = {name: k for k, name in enumerate(drawing.names)}
    return [(places[[index[x.start], index[x.end]]], x.look) for x in drawing.links]


def _beams(run: Trajectory, row: int) -> list[np.ndarray]:
    """The beams of a mechanism, from the start to a state."""
    if run.system.mechanism is None:
        return []
    few = part_of(run, np.unique(np.linspace(0, row, SHAPES).astype(int)))
    return [BeamView(few, beam).positions for beam in run.system.mechanism.beams.values()]


def _trails(drawing: Drawing, names: list[str], joined: bool) -> list[int]:
    """Points whose path is drawn: those wished, or those that tell most."""
    if drawing.trails is not None:
        return [names.index(name) for name in drawing.trails if name in names]
    return trails_of(len(names), joined)


def _labels(drawing: Drawing, moving: list[int]) -> list[str]:
    """Names of the axes: those of the coordinates where a single point has all of them."""
    if len(moving) == 1:
        place = list(drawing.points.values())[moving[0]]
        if all(e.is_Symbol for e in place):
            return [symbol(e) for e in place]
    return [f"${x}$" for x in "xyz"[: drawing.dimension]]


def absent(view: View) -> InputError | None:
    """There must be points that move."""
    if traced(thinned(view.runs[0], 2)) is not None:
        return None
    return InputError(
        "no coordinates are those of points, so there is no path",
        expected="coordinates named x, y[, z] or x1, y1[, z1] …, or a drawing",
        received=", ".join(s.name for s in view.run.system.coordinates[:8]),
        remedy='taut.System(…, drawing=taut.Drawing(…)), or run.plot("phase", of=(a, b))',
    )


def in_space(view: View) -> bool:
    """Whether points have three coordinates."""
    drawing = drawing_of(view.run.system)
    return drawing is not None and drawing.dimension == 3


def draw(axes: Any, view: View) -> None:
    """Paths, with the links at the last state."""
    drawn = [x for run in view.runs if (x := traced(run)) is not None]
    _check_down(view.down, drawn[0].size)
    box, several, notes = _box(drawn), len(drawn) > 1, {""}
    for curve in drawn[0].curves:
        axes.plot(*curve.T, color=style.PALE, lw=0.9, zorder=1, label="_curve")
    points = view.share(len(drawn) * max(len(drawn[0].trails), 1))
    for k, (run, one) in enumerate(zip(view.runs, drawn, strict=True)):
        for i, point in enumerate(one.trails):
            look = {
                **style.look(k if several else i),
                "label": plain(f"path {one.names[point]}"),
            }
            path = one.paths[point]
            extent = np.linalg.norm(np.nanmax(path, axis=0) - np.nanmin(path, axis=0))
            scale = max(extent, RESTS * np.ptp(box, axis=0).max())
            notes.add(draw_line(axes, run.t, path, scale, look, points))
        _draw_shape(axes, one, box, light=several)
    _frame(axes, drawn[0], box, drawn[0].down if view.down == "auto" else view.down)
    style.title(axes, "path", max(notes))


def _check_down(down: str | None, size: int) -> None:
    if down not in (None, "auto", *"xyz"[:size]):
        raise InputError(
            "down is not an axis of this picture",
            expected="one of " + ", ".join([*"xyz"[:size], "auto", "None"]),
            received=brief(down),
        )


def draw_line(
    axes: Any, t: np.ndarray, path: np.ndarray, scale: Any, look: dict[str, Any], points: int
) -> str:
    """Draw a curve through states in two or three dimensions; a remark if it is not all of it.

    `scale` is the size of the picture, in all directions or in each: strides that are a large part
    of it do not make a line.
    """
    fine = np.isfinite(path).all(axis=1)
    t, path = t[fine], path[fine]
    if len(path) == 1:
        axes.plot(*path.T, marker="o", ms=2.5, mew=0, **look)
        return ""
    typical = float(np.median(np.linalg.norm(np.diff(path, axis=0) / scale, axis=1)))
    points = max(points, len(path) if len(path) <= 1.2 * points else 0)  # a few more do not matter
    skip = -(-len(path) // points)
    if typical > 0.1 and len(path) > style.FEW:  # stored too rarely for a line to mean anything
        axes.plot(*path[::skip].T, marker=".", ms=1.2, mew=0, **{**look, "ls": "none"})
        return "stored states"
    if skip * typical < 0.02:
        axes.plot(*path[::skip].T, lw=0.7, **look)
        return ""
    axes.plot(*path[-points:].T, lw=0.7, **look)
    return "" if len(path) <= points else f"from t = {t[-points]:.4g}"


def _draw_shape(axes: Any, one: Traced, box: np.ndarray, light: bool) -> None:
    """Beams, rods and points at the last state, as far as they lie in the box."""
    at = one.last
    for beam in one.beams:
        for k, shape in enumerate(beam):
            newest = k == len(beam) - 1
            ink = {"color": style.INK if newest else style.FAINT, "lw": 1.1 if newest else 0.5}
            axes.plot(*shape.T, **ink, alpha=0.6 if light else 1.0, zorder=3, label="_beam")
    for (start, end), look in one.links:
        cut = _inside(start, end, box)
        if cut is not None:
            axes.plot(*cut.T, color=style.FAINT, lw=0.6, ls=LOOKS[look], zorder=3, label=f"_{look}")
    held = {tuple(end) for ends, _ in one.links for end in ends} - {tuple(x) for x in at}
    held = [x for x in sorted(held) if (box[0] <= x).all() and (x <= box[1]).all()]
    if held:
        axes.plot(*np.array(held).T, "+", color=style.FAINT, ms=5, mew=0.8, label="_held")
    axes.plot(
        *at.T, "o", color=style.INK, ms=3.5 if len(at) <= 10 else 1.2, mew=0, zorder=4,
        label="_points", alpha=0.6 if light else 1.0, ls="none",
    )  # fmt: skip
    if not light and 1 < len(at) <= FEW:
        for position, names in _named(one.names, at, CLOSE * np.ptp(box, axis=0).max()):
            axes.text(
                *position, f"  {plain(names)}", fontsize=7, zorder=5, va="center",
                path_effects=[withStroke(linewidth=1.5, foreground="white")],
            )  # fmt: skip


def _named(names: list[str], at: np.ndarray, apart: float) -> list[tuple[np.ndarray, str]]:
    """Places and what is written there; points that are less apart than that share a line."""
    found: dict[tuple[float, ...], tuple[np.ndarray, list[str]]] = {}
    for name, place in zip(names, at, strict=True):
        found.setdefault(tuple(np.round(place / apart)), (place, []))[1].append(name)
    return [(place, ", ".join(together)) for place, together in found.values()]


def _inside(start: np.ndarray, end: np.ndarray, box: np.ndarray) -> np.ndarray | None:
    """The part of a segment that lies in the box."""
    direction = end - start
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        cuts = (box - start) / direction
    cuts[:, direction == 0] = [[-np.inf], [np.inf]]
    a, b = max(0.0, np.min(cuts, axis=0).max()), min(1.0, np.max(cuts, axis=0).min())
    return np.array([start + a * direction, start + b * direction]) if a < b else None


def _box(drawn: list[Traced]) -> np.ndarray:
    """Corners of a box around the paths, and around what holds them unless that is far away.

    A cube in space, and not too flat a rectangle in the plane.
    """
    corners = [
        corner
        for one in drawn
        for path in [*one.paths, *(beam.reshape(-1, 3) for beam in one.beams)]
        for corner in (np.nanmin(path, axis=0), np.nanmax(path, axis=0))
    ]
    ends = [end for one in drawn for ends, _ in one.links for end in ends]
    ends += [end for one in drawn for curve in one.curves for end in curve]
    ends = [end for end in ends if np.isfinite(end).all()]
    inner, outer = (
        np.array([np.min(x, axis=0), np.max(x, axis=0)]) for x in (corners, [*corners, *ends])
    )
    small = 0 < np.ptp(inner, axis=0).max() < ZOOM * np.ptp(outer, axis=0).max()
    box = inner if small else outer
    side = np.ptp(box, axis=0).max() or 1.0
    least = 1.0 if box.shape[1] == 3 else 0.65
    half = 0.54 * np.maximum(np.ptp(box, axis=0), least * side)
    return box.mean(axis=0) + np.array([-half, half])


def _frame(axes: Any, one: Traced, box: np.ndarray, down: str | None) -> None:
    for k, (letter, label) in enumerate(zip("xyz", one.labels, strict=False)):
        pad = 2 if one.size == 2 else 0 if letter == "z" else -2
        getattr(axes, f"set_{letter}label")(label, labelpad=pad)
        getattr(axes, f"set_{letter}lim")(*box[:, k])
        getattr(axes, f"{letter}axis").set_major_locator(style.ticks(5))
    if one.size == 3:
        style.space(axes)
    else:
        axes.set_aspect("equal", adjustable="box", anchor="N")
    if down is not None:
        getattr(axes, f"invert_{down}axis")()
