"""Phase portraits and Poincaré sections: states against states."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from taut.errors import InputError, ModelError, UnknownName
from taut.march.crossings import crossings
from taut.march.dense import States
from taut.march.events import Event, watched
from taut.march.trajectory import Trajectory
from taut.show import style
from taut.show.paths import draw_line
from taut.show.view import View
from taut.show.words import formula, plain

POINT = 1e-3  # of its values: what is smaller in all directions is a point
ROUND = 1e-12  # of its values: a range that is rounding
BRIEF = 44  # characters of LaTeX in a remark
MARKS = ".^sD"  # once all colours are used
DOTS = 8000  # more of them are an image in a vector file


def phase_pair(view: View) -> list[sp.Expr]:
    """What a phase portrait shows: the expressions given, or a coordinate and its momentum."""
    given = view.chosen(1, 2, 3)
    if given is not None and len(given) > 1:
        return given
    system = view.run.system
    if given is None:
        moving = view.moving()
        if system.first_order and len(moving) > 1:
            return [system.coordinates[i] for i in moving[:2]]
        return _with_partner(view, moving[0])
    if given[0] not in system.coordinates:
        raise InputError(
            "a phase portrait of one expression needs a second one",
            expected="a coordinate, or two (or three) expressions: of=(a, b)",
            received=str(given[0]),
        )
    return _with_partner(view, system.coordinates.index(given[0]))


def _with_partner(view: View, column: int) -> list[sp.Expr]:
    """A coordinate with its momentum, or, of a flow, with its rate."""
    system = view.run.system
    partners = system.velocities if system.first_order else system.momenta
    return [system.coordinates[column], partners[column]]


def in_space(view: View) -> bool:
    """Whether three expressions are drawn."""
    return len(phase_pair(view)) == 3


def draw_phase(axes: Any, view: View) -> None:
    """One expression against another."""
    shown, notes = phase_pair(view), set()
    ends = []
    for k, run in enumerate(view.runs):
        path = np.column_stack(run.evaluate_all(shown))
        extent = _extent(path)
        ends.append(path)
        look = {**style.look(k), "label": f"phase {k}"}
        points = view.share(len(view.runs))
        notes.add(draw_line(axes, run.t, path, extent, look, points))
    _calm(axes, np.vstack(ends))
    _name_axes(axes, view, shown)
    style.title(axes, "phase portrait", max(notes))


def _extent(path: np.ndarray) -> np.ndarray:
    """Ranges of the columns; one that is rounding has none."""
    low, high = np.nanmin(path, axis=0), np.nanmax(path, axis=0)
    size = np.maximum(np.abs(low), np.abs(high))
    return np.where(high - low > ROUND * size, high - low, np.inf)


def _calm(axes: Any, points: np.ndarray) -> None:
    """Sensible limits where a column is constant, or all of it is one point but for errors."""
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    size = np.maximum(np.abs(low), np.abs(high))
    still = high - low <= (POINT if np.all(high - low <= POINT * size) else ROUND) * size
    for k in np.flatnonzero(still):
        middle, half = (low[k] + high[k]) / 2, 0.5 * size[k] or 1.0
        getattr(axes, f"set_{'xyz'[k]}lim")(middle - half, middle + half)


def _name_axes(axes: Any, view: View, shown: list[sp.Expr]) -> None:
    space = len(shown) == 3
    for letter, expression in zip("xyz", shown, strict=False):
        label = formula(view.run.system, expression)
        getattr(axes, f"set_{letter}label")(label, labelpad=-2 if space else 2)
        getattr(axes, f"{letter}axis").set_major_locator(style.ticks(5))
    if space:
        style.space(axes)


# ---- sections ---------------------------------------------------------------------------------


def no_section(view: View) -> InputError | None:
    """Something must say when, and it must happen."""
    try:
        event_of(view)
    except InputError as error:
        return error
    return None


def event_of(view: View) -> Event | str:
    """What `when` means: the name of an event of the run, or a crossing to be looked for."""
    run, when = view.run, view.when
    if when is None and len(run.events) == 1:
        return next(iter(run.events))
    if when is None:
        raise InputError(
            "a section needs to know when",
            expected="when=expression that crosses zero upwards, a taut.Event, or the name of one",
            remedy='run.plot("section", when=x, of=(y, p_y))',
        )
    if isinstance(when, str) and when in run.events:
        return when
    if isinstance(when, str) and run.events:
        try:
            run.system.read(when)
        except ModelError as error:
            raise UnknownName("event", when, run.events) from error
    (event,) = watched(run.system, when if isinstance(when, Event) else Event(when, "up"))
    return event


def section_pair(view: View, event: Event | str) -> list[sp.Expr]:
    """What is drawn at the crossings: not what is zero there, if there is a choice."""
    given = view.chosen(2)
    if given is not None:
        return given
    system, used = view.run.system, set()
    if isinstance(event, Event):
        used = event.expression.free_symbols
    elif view.run.watch is not None:
        used = {s for e in view.run.watch.events if e.label == event
                for s in e.expression.free_symbols}  # fmt: skip
    moving = view.moving()
    free = [i for i in moving if system.coordinates[i] not in used] or moving
    if system.first_order and len(free) > 1:
        return [system.coordinates[i] for i in free[:2]]
    return _with_partner(view, free[0])


def states_of(run: Trajectory, event: Event | str) -> States:
    """The states of a single run at its crossings."""
    return run.events[event] if isinstance(event, str) else crossings(run, event)


def draw_section(axes: Any, view: View) -> None:
    """Dots where the run crosses the section."""
    event = event_of(view)
    shown, clouds = section_pair(view, event), []
    for run in view.runs:
        found = states_of(run, event)
        there = replace(run, t=found.t, q=found.q, v=found.v, p=found.p)
        dots = np.column_stack(there.evaluate_all(shown)) if len(found) else np.zeros((0, 2))
        clouds.append(dots[np.isfinite(dots).all(axis=1)])
    many = sum(map(len, clouds))
    label = event if isinstance(event, str) else event.label
    if not many:
        raise InputError(
            "there is no crossing in this run, so there is no section",
            expected=f"{label} to cross zero",
            received=f"t = {view.run.t[0]:g} … {view.run.t[-1]:g}",
            remedy="simulate for longer, or choose another when=",
        )
    size = 3.0 if many <= 300 else 1.6 if many <= DOTS else 0.7
    for k, dots in enumerate(clouds):
        axes.plot(
            *dots.T, MARKS[k // len(style.COLOURS) % len(MARKS)], ms=size, mew=0,
            color=style.look(k)["color"], label=f"section {k}", rasterized=many > DOTS,
        )  # fmt: skip
    _calm(axes, np.vstack(clouds))
    _name_axes(axes, view, shown)
    style.title(axes, "Poincaré section", _when(view, event))


def _when(view: View, event: Event | str) -> str:
    """The section in words, if they are few."""
    if isinstance(event, str):
        return plain(event)
    arrow = {"up": "↑", "down": "↓", "both": "↕"}[event.direction]
    text = formula(view.run.system, event.expression)
    return f"{text} = 0 {arrow}" if text.startswith("$") and len(text) <= BRIEF else ""
