"""The scene and the curves of a run of a system."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from taut.errors import InputError
from taut.march.trajectory import Trajectory
from taut.model.drawing import Drawing
from taut.show import bodies, style
from taut.show.curves import law_changes
from taut.show.errors import all_steps, blocks, drift_line
from taut.show.frames import part_of, rows_shown, shown_of
from taut.show.geometry import down_of, drawing_of, linked, points_of, trails_of
from taut.show.joint_forces import PEAK, USUAL, efforts_in, held_in, motions_in
from taut.show.scene import Chooser, Item, Panel, Scene, box_of
from taut.show.view import members as members_of

MEMBERS = 6  # trajectories of a batch that are drawn
LABELS = 12  # points whose names are written
CURVES = 6  # in one panel
JOINTS = 40  # that a reader can choose from
LARGE = 40  # constraints, up to which their multipliers are solved for
SAMPLES = 200  # of a standing curve
REMEDY = 'give the system a drawing: taut.System(…, drawing=taut.Drawing({"bob": (x, y)}, …))'


def scene_of(run: Trajectory, members: Any = MEMBERS) -> Scene:
    """What is seen of a run; an `InputError` where there is nothing to draw.

    Parameters
    ----------
    run : Trajectory
    members : int or sequence of int
        How many trajectories of a batch are drawn, or which.
    """
    if run.system.mechanism is not None:
        return bodies.scene_of(run, members)
    drawing = drawing_of(run.system)
    if drawing is None:
        raise InputError(
            "there is nothing to draw: no coordinates are the place of a point",
            expected="coordinates named x, y or x1, y1 (and z), or a drawing",
            received=", ".join(s.name for s in run.system.coordinates[:8]),
            remedy=REMEDY,
        )
    runs, numbers, words = members_of(run, members)
    rows, ends, notes = rows_shown(run, runs, numbers, drawing.dimension * len(drawing.points))
    if len(runs) < (run.batch or 1):
        notes.insert(0, f"{words} are drawn")
    items = [Item("curve", {"places": curve_places(c, run)}) for c in drawing.curves]
    for k, (one, end) in enumerate(zip(runs, ends, strict=True)):
        part = part_of(one, np.minimum(rows, end - 1))
        items += _member(drawing, part, k if len(runs) > 1 else None)
    box = box_of([i.data["places"] for i in items if "places" in i.data])
    return Scene(run.t[rows], items, box, _up(drawing, run), _axes(drawing), notes)


def _member(drawing: Drawing, run: Trajectory, member: int | None) -> list[Item]:
    """Points, links and trails of one trajectory."""
    places = places_of(drawing, run)
    moving = np.ptp(places, axis=0).any(axis=-1) | (len(places) == 1)
    known = run.system.parameter_symbols(run.parameters)
    still = [not _symbols(place, known) for place in drawing.points.values()]
    moving &= ~np.array(still)
    index = {name: i for i, name in enumerate(drawing.names)}
    named = len(index) <= LABELS and member is None
    items = [
        Item(
            "points",
            {
                "places": places,
                "names": list(index) if named else [],
                "moving": moving.tolist(),
                "member": member,
            },
        )
    ]
    for look in dict.fromkeys(link.look for link in drawing.links):
        pairs = [[index[x.start], index[x.end]] for x in drawing.links if x.look == look]
        items.append(Item("links", {"look": look, "pairs": pairs, "member": member}))
    trails = drawing.trails
    if trails is None:
        free = [name for name, moves in zip(index, moving, strict=True) if moves]
        trails = [free[k] for k in trails_of(len(free), linked(run.system))]
    if trails:
        items.append(Item("trails", {"points": [index[n] for n in trails], "member": member}))
    return items


def _symbols(place: tuple[sp.Expr, ...], known: Any) -> set[Any]:
    return set().union(*(e.free_symbols for e in place)) - set(known)


def places_of(drawing: Drawing, run: Trajectory) -> np.ndarray:
    """Where the points of a drawing are at every state, shape (N, points, 3)."""
    columns = {s: i for i, s in enumerate(run.system.coordinates)}
    found = np.zeros((len(run.t), len(drawing.points), 3))
    others: list[tuple[int, int, sp.Expr]] = []
    for k, place in enumerate(drawing.points.values()):
        for a, e in enumerate(place):
            if e in columns:
                found[:, k, a] = run.q[:, columns[e]]
            elif e.is_number:
                found[:, k, a] = float(e)
            else:
                others.append((k, a, e))
    for (k, a, _), values in zip(others, run.evaluate_all([e for *_, e in others]), strict=True):
        found[:, k, a] = values
    return found


def curve_places(curve: Any, run: Trajectory) -> np.ndarray:
    """A curve that stands in space, shape (1, samples, 3)."""
    values = run.system.parameter_symbols(run.parameters)
    along = np.linspace(curve.first, curve.last, SAMPLES)
    places = np.zeros((1, SAMPLES, 3))
    for a, e in enumerate(curve.places):
        of_s = sp.lambdify(curve.symbol, e.subs(values), "numpy")
        with np.errstate(all="ignore"):  # a curve has gaps where it is not finite
            places[0, :, a] = of_s(along)
    return places


def _up(drawing: Drawing, run: Trajectory) -> tuple[float, float, float]:
    """Against `down`; otherwise y in the plane and z in space."""
    down = drawing.down
    if down == "auto":
        down = down_of(run.system, points_of(run.system), run.parameters)
    axis = ("xyz".index(down), -1.0) if down else (drawing.dimension - 1, 1.0)
    up = [0.0, 0.0, 0.0]
    up[axis[0]] = axis[1]
    return up[0], up[1], up[2]


def _axes(drawing: Drawing) -> tuple[str, ...]:
    """Names of the directions: those of the coordinates where a single point has all of them."""
    places = list(drawing.points.values())
    if len(places) == 1 and all(isinstance(e, sp.Symbol) for e in places[0]):
        return tuple(str(e) for e in places[0])
    return ("x", "y", "z")[: drawing.dimension]


# ---- curves -----------------------------------------------------------------------------------


def panels_of(run: Trajectory, drawn: bool = True, members: Any = MEMBERS) -> list[Panel | Chooser]:
    """Controls, energy, its balance, constraints, laws, forces of joints or multipliers.

    And the coordinates, if nothing else is drawn or they are all there is.
    """
    runs, numbers, _ = members_of(run, members)
    system = run.system
    found: list[Panel | Chooser]
    found = [] if drawn and not system.first_order else [_coordinates(runs, numbers)]
    if run.held is not None:
        found.append(_controls(runs, numbers))
    if not system.first_order:
        found.append(_energy(runs, numbers))
        if not system.conservative:
            found += _balance(runs, numbers)
    if system.c:
        found.append(_residuals(runs))
    if run.batch is None:
        found += _laws(run)
        if system.mechanism is not None:
            found += [*_turning(run), *_acting(run)]
        if system.mechanism is not None and system.c:
            found += _joints(run)
        elif 0 < system.c <= LARGE:
            found.append(_multipliers(run))
    ends = [shown_of(one) for one in runs]
    until = float(run.t[max(ends) - 1]) if max(ends) else np.inf
    return [panel.reined(until) for panel in found]


def _coordinates(runs: list[Trajectory], numbers: list[int]) -> Panel:
    system = runs[0].system
    each = max(1, (CURVES if len(runs) == 1 else 2 * CURVES) // len(runs))
    names = [s.name for s in system.coordinates[:each]]
    curves = [
        (name if len(runs) == 1 else f"{name}, {k}", run.q[:, i])
        for k, run in zip(numbers, runs, strict=True)
        for i, name in enumerate(names)
    ]
    left_out = system.n - len(names)
    note = f"{left_out} more are not shown" if left_out else ""
    title, label = ("state", "x") if system.first_order else ("coordinates", "q")
    return Panel(title, label, runs[0].t, curves, note=note)


def _controls(runs: list[Trajectory], numbers: list[int]) -> Panel:
    """What controllers said, held from stored state to stored state."""
    curves = []
    for k, run in zip(numbers, runs, strict=True):
        for name, values in run.held_values().items():
            curves.append((name if len(runs) == 1 else f"{name}, {k}", values))
    shown = curves[: CURVES if len(runs) == 1 else 2 * CURVES]
    left_out = len(curves) - len(shown)
    note = f"{left_out} more are not shown" if left_out else "held from step to step"
    return Panel("controls", "u", runs[0].t, shown, note=note)


def _energy(runs: list[Trajectory], numbers: list[int]) -> Panel:
    run = runs[0]
    conserved = run.system.conservative
    if len(runs) > 1:
        numbered = zip(numbers, runs, strict=True)
        curves = [(f"trajectory {k}", r.energy - r.energy[0]) for k, r in numbered]
    else:
        curves = [("H − H₀", run.energy - run.energy[0])]
    title = "energy error" if conserved else "change of the energy"
    note, dashed = "", ()
    if conserved and len(runs) == 1 and run.failed_at is None:
        drift = run.certificate.energy
        if drift.band > 0 and drift.relative_half_width <= 1:
            curves.append(("drift", drift_line(run.t, curves[0][1], drift)))
            note, dashed = f"drift {style.percent(drift)} of the band", ("drift",)
    return Panel(title, "H − H₀", run.t, curves, note=note, dashed=dashed)


def _balance(runs: list[Trajectory], numbers: list[int]) -> list[Panel]:
    """E − E₀ − work, as the books have it of all steps; nothing for a run of a few steps."""
    found = [blocks(r.ending.books[0], r) for r in runs]
    times = max((t for t, _ in found), key=lambda t: t[-1] if len(t) else -np.inf)
    if not len(times):
        return []
    names = [f"trajectory {k}" for k in numbers] if len(runs) > 1 else ["means of blocks of steps"]
    curves = [
        (name, np.interp(times, t, y, right=np.nan) if len(t) else np.full(len(times), np.nan))
        for name, (t, y) in zip(names, found, strict=True)
    ]
    note = all_steps([r.ending.books[0] for r in runs])
    return [Panel("energy − work", "E − E₀ − W", times, curves, note=note)]


def _residuals(runs: list[Trajectory]) -> Panel:
    curves = []
    hidden = "|G q̇ + ∂g/∂t|" if runs[0].system.rheonomic else "|G q̇|"
    for name, label in (("constraints", "|g|"), ("hidden", hidden)):
        largest = np.fmax.reduce([np.abs(getattr(run, name)).max(axis=-1) for run in runs])
        curves.append((label, np.where(largest > 0, largest, np.nan)))
    return Panel("constraints", "largest residual", runs[0].t, curves, log=True)


def _laws(run: Trajectory) -> list[Panel]:
    laws = run.certificate.watched[:CURVES]
    if not laws:
        return []
    changes = law_changes(run, laws)
    curves = [(law.name, x) for law, x in zip(laws, changes, strict=True)]
    note = "against the size of their terms"
    return [Panel("conserved quantities", "(I − I₀)/‖I‖", run.t, curves, note=note)]


def _turning(run: Trajectory) -> list[Panel]:
    """Angles and slides of joints."""
    moved = motions_in(run)
    note = f"{CURVES} of {len(moved)}, those that move most" if len(moved) > CURVES else ""
    label = "since the start"
    return [Panel("angles and slides", label, run.t, moved[:CURVES], note=note)] if moved else []


def _acting(run: Trajectory) -> list[Panel]:
    """Forces, and torques, of springs, ropes, dampers and motors."""
    found = []
    for title, label, turning in (("forces of", "F", False), ("torques of", "T", True)):
        group, left_out = efforts_in(run, turning)
        note = "what makes lengths, slides and angles grow is positive"
        if len(group) > CURVES or left_out:
            note = f"the largest {min(len(group), CURVES)} of {len(group) + left_out}; {note}"
        if group:
            heading = f"{title} springs, dampers, motors"
            found.append(Panel(heading, label, run.t, group[:CURVES], note=note))
    return found


def _joints(run: Trajectory) -> list[Panel | Chooser]:
    """Forces in joints: the largest side by side, then one by one; likewise torques."""
    t, joints, left_out = held_in(run, JOINTS)
    pulling = [x for x in joints if x.force.any()]
    turning = [x for x in joints if x.torque.any()]
    found: list[Panel | Chooser] = []
    if len(pulling) > 1:
        sizes = [float(np.nanmax(x.size)) for x in pulling]
        shown = sorted(np.argsort(sizes, kind="stable")[::-1][:CURVES].tolist())
        curves = [(pulling[k].name, pulling[k].size) for k in shown]
        many = len(pulling) + left_out
        note = f"the largest {len(shown)} of {many}" if len(shown) < many else ""
        found.append(_peaked(Panel("forces in joints", "|F|", t, curves, note=note)))
    note = "on the second part, in space"
    if left_out:
        note = f"{left_out} joints with less are left out"
    for title, label, group, values in (
        ("force in", "F", pulling, [x.force for x in pulling]),
        ("torque in", "T", turning, [x.torque for x in turning]),
    ):
        panels = [
            (x.name, _peaked(Panel(f"{title} {x.name}", label, t, _components(y), note=note)))
            for x, y in zip(group, values, strict=True)
        ]
        if panels:
            found.append(Chooser(title, panels) if len(panels) > 1 else panels[0][1])
    return found


def _components(values: np.ndarray) -> list[tuple[str, np.ndarray]]:
    return list(zip("xyz", values.T, strict=True))


def _peaked(panel: Panel) -> Panel:
    """The panel, its axis made for what is usual where there are peaks: beside singular places."""
    values = np.abs([y for _, y in panel.curves])
    top, usual = float(np.nanmax(values)), float(np.nanquantile(values.max(axis=0), USUAL))
    if not top > PEAK * usual > 0:
        return panel
    low = 0.0 if min(float(np.nanmin(y)) for _, y in panel.curves) >= 0 else -3 * usual
    said = f"peaks up to {top:.1e}"
    note = f"{panel.note}; {said}" if panel.note else said
    return replace(panel, limits=(low, 3 * usual), note=note)


def _multipliers(run: Trajectory) -> Panel:
    """λ: of many the largest."""
    sizes = np.nan_to_num(np.abs(run.multipliers).max(axis=0))
    shown = sorted(np.argsort(sizes, kind="stable")[::-1][:CURVES].tolist())
    names = run.system.constraint_names
    curves = [(f"λ {names[i]}", run.multipliers[:, i]) for i in shown]
    many = run.system.c
    note = f"the largest {len(shown)} of {many}" if len(shown) < many else ""
    return Panel("multipliers", "λ", run.t, curves, note=note)
