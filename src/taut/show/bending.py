"""The scene of a run of beams, and the curves of a run of beams or of a field."""

from __future__ import annotations

from typing import Any

import numpy as np

from taut.diagnose.field_certificate import alone
from taut.errors import InputError
from taut.fields import Beam, Beams
from taut.fields.section import Rectangle, Tube
from taut.march.field_trajectory import FieldTrajectory
from taut.show import style, waves
from taut.show.beam_geometry import bodies_of, check_factor, magnification, mesh_of
from taut.show.errors import all_steps, blocks, drift_line
from taut.show.scene import Item, Panel, Scene, box_of, rows_of, settled, told

ROUND = 20  # corners of a round section
THIN = 0.004  # of the scene: beams are drawn at least this thick
TURNS = 32767  # whole numbers per unit of a quaternion
NUMBERS = 8  # per node and frame: place, turn, colour
MOST = 0.99  # of all nodes and times: what the colours reach to


def scene_of(run: FieldTrajectory, magnify: str | float = "auto") -> Scene:
    """What is seen of a run of beams, or, over the place s, of a field."""
    check_factor(magnify)
    if run.mesh is None:
        return waves.scene_of(run)
    finite = _finite(run)
    if finite == 0:
        raise InputError("there is nothing to draw: no state of the run is finite")
    mesh = mesh_of(run)
    shown = shown_of(run)
    rows = rows_of(shown, NUMBERS * mesh.nodes)
    start = mesh.pose[:, :3, 3]
    shift = run.positions[rows] - start
    factor = magnification(run, start, shift) if magnify == "auto" else float(magnify)
    places = run.positions[rows] + (factor - 1.0) * shift
    notes = [f"displacements are drawn {factor:g} times as large"] if factor != 1.0 else []
    notes += told(run.t, finite, shown, len(rows))
    box = box_of([places])
    size = float(np.linalg.norm(box[1] - box[0])) or 1.0
    bend, top = _bending(run, rows)
    items = []
    beams = run.model.beams if isinstance(run.model, Beams) else [run.model]
    for beam, span in zip(beams, mesh.spans, strict=True):
        items.append(
            Item(
                "beam",
                {
                    "places": places[:, span],
                    "turns": np.round(TURNS * run._turns[rows][:, span]).astype(np.int16),  # type: ignore[index]
                    "outline": outlines(beam, THIN * size),
                    "shade": np.round(255 * bend[:, span]).astype(np.uint8),
                    "top": top,
                },
            )
        )
    items += _marks(run, places)
    return Scene(run.t[rows], items, box, _up(mesh.gravity), ("x", "y", "z"), notes)


def _finite(run: FieldTrajectory) -> int:
    bad = np.flatnonzero(~np.isfinite(run.positions).all(axis=(1, 2)))
    return int(bad[0]) if len(bad) else len(run.t)


def shown_of(run: FieldTrajectory) -> int:
    """How many states there are before beams are nowhere, or blow up."""
    start = mesh_of(run).pose[:, :3, 3]
    gone = np.abs(run.positions - run.positions[0]).max(axis=(1, 2))
    return settled(gone, float(np.ptp(start, axis=0).max()), run.ending.failed)


def _up(gravity: np.ndarray) -> tuple[float, float, float]:
    """Against gravity; without it along the third axis."""
    pull = float(np.linalg.norm(gravity))
    up = -gravity / pull if pull > 0 else np.array([0.0, 0.0, 1.0])
    return float(up[0]), float(up[1]), float(up[2])


def _bending(run: FieldTrajectory, rows: np.ndarray) -> tuple[np.ndarray, float]:
    """|bending and twist| at the nodes as a share of what 99 % stay below, and that value."""
    mesh = mesh_of(run)
    edges = np.linalg.norm(run.strain[rows][..., :3], axis=-1)
    edges = np.where(mesh.alive, edges, 0.0)
    nodes = np.zeros((len(rows), mesh.nodes))
    many = np.zeros(mesh.nodes)
    for side in (slice(None, -1), slice(1, None)):
        nodes[:, side] += edges
        many[side] += mesh.alive
    nodes /= np.maximum(many, 1)
    nodes = np.nan_to_num(nodes)
    top = float(np.quantile(nodes, MOST))
    return (np.minimum(nodes / top, 1.0) if top > 0 else 0.0 * nodes), top


def outlines(beam: Beam, least: float) -> list[list[list[float]]]:
    """The outline of the section in the local axes 1 and 3, of each node or one for all.

    Enlarged to be at least `least` thick; a beam that was given by matrices is a thin tube.
    """
    section: Any = beam.section
    if section is None:
        return [_circle(least)]
    if not callable(section):
        return [_outline(section, least)]
    found = [_outline(section(float(x)), least) for x in beam.places]
    if len({len(x) for x in found}) > 1:  # of different shapes: all with as many corners
        found = [_rounded(x) for x in found]
    return found


def _rounded(outline: list[list[float]]) -> list[list[float]]:
    """The same outline with `ROUND` corners, by angle as those of a circle."""
    corners = np.array([*outline, outline[0]])
    if len(outline) == ROUND:
        return outline
    found = []
    for angle in 2 * np.pi * np.arange(ROUND) / ROUND:
        ray = np.array([np.cos(angle), np.sin(angle)])
        across = corners @ [-ray[1], ray[0]]
        along = corners @ ray
        for k in range(len(outline)):
            a, b = across[k], across[k + 1]
            if (a <= 0 < b or b <= 0 < a) and (
                far := along[k] - a * (along[k + 1] - along[k]) / (b - a)
            ) > 0:
                found.append((far * ray).tolist())
                break
    return found


def _outline(section: Any, least: float) -> list[list[float]]:
    if isinstance(section, Rectangle):
        a, b = section.width / 2, section.height / 2
        factor = max(1.0, least / max(a, b))
        a, b = factor * a, max(factor * b, least / 4)
        return [[a, b], [-a, b], [-a, -b], [a, -b]]
    if isinstance(section, Tube):
        return _circle(max(section.outer, least))
    return _circle(least)


def _circle(radius: float) -> list[list[float]]:
    angle = 2 * np.pi * np.arange(ROUND) / ROUND
    return (radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)).tolist()


def _marks(run: FieldTrajectory, places: np.ndarray) -> list[Item]:
    """Bodies, and where beams are held."""
    mesh = mesh_of(run)
    bodies = bodies_of(run)
    held = [hold.node for hold in mesh.holds]
    nodes = [*bodies, *held]
    if not nodes:
        return []
    return [
        Item(
            "points",
            {
                "places": places[:, nodes],
                "names": [],
                "moving": [True] * len(bodies) + [False] * len(held),
                "member": None,
            },
        )
    ]


# ---- curves -----------------------------------------------------------------------------------


def panels_of(run: FieldTrajectory) -> list[Panel]:
    """Energies, what is kept of them, and momenta."""
    names = (("kinetic", "kinetic"), ("potential", "strain"), ("energy", "total"))
    energies = [(label, getattr(run, name)) for name, label in names]
    found = [Panel("energy", "K, V, E", run.t, energies)]
    if not run.certificate.gross_work > 0:
        found.append(_error(run))
    else:
        found += _balance(run)
    if run.mesh is not None:
        found += _momenta(run)
    many = len(run.t) if run.mesh is None else shown_of(run)
    until = float(run.t[many - 1]) if many else np.inf
    return [panel.reined(until) for panel in found]


def _error(run: FieldTrajectory) -> Panel:
    drift = run.certificate.energy
    curves = [("E − E₀", run.energy - run.energy[0])]
    note, dashed = "", ()
    if drift.band > 0 and drift.relative_half_width <= 1 and not run.ending.failed:
        curves.append(("drift", drift_line(run.t, curves[0][1], drift)))
        note, dashed = f"drift {style.percent(drift)} of the band", ("drift",)
    return Panel("energy error", "E − E₀", run.t, curves, note=note, dashed=dashed)


def _balance(run: FieldTrajectory) -> list[Panel]:
    """Nothing for a run of a few steps, which has no blocks."""
    t, means = blocks(run.books, run)
    curves = [("means of blocks of steps", means)]
    panel = Panel("energy − work", "E − E₀ − W", t, curves, note=all_steps([run.books]))
    return [panel] if len(t) else []


def _momenta(run: FieldTrajectory) -> list[Panel]:
    kept = alone(run)
    found = []
    for name, label in (("linear", "P"), ("angular", "L")):
        values = getattr(run, f"{name}_momentum")
        shown = values - values[0] if kept else values
        curves = [(f"{label}{axis}", shown[:, k]) for k, axis in enumerate("xyz")]
        title = f"change of the {name} momentum" if kept else f"{name} momentum"
        found.append(Panel(title, f"{label} − {label}₀" if kept else label, run.t, curves))
    return found
