"""`run.report(path)`: one page about one run, to keep beside the data or to send to somebody."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from errno import EACCES, EISDIR
from pathlib import Path
from typing import Any

from taut.calls import public
from taut.errors import FileError, InputError, place, text as as_text
from taut.fields import Beams, Field
from taut.fields.shown import beam_rows
from taut.march.field_trajectory import FieldTrajectory
from taut.march.trajectory import Trajectory
from taut.show import bending, motion, viewer
from taut.show.assembly_tables import describe
from taut.show.formulas import formula
from taut.show.happened import happened
from taut.show.motion import MEMBERS
from taut.show.page import Page, versions
from taut.show.scene import Chooser, Panel, Scene
from taut.show.view import chosen_members
from taut.text import counted

Run = Trajectory | FieldTrajectory
MANY = 6  # instances of a term, each of which is still printed; beams likewise
EVENTS = 200  # that are listed one by one
STARTS = 40  # coordinates whose start is printed


@public
def report(run: Run, path: str | Path, *, title: str | None = None, members: Any = MEMBERS) -> Path:
    """Write a page with the certificate, an animation, curves against time and the model.

    The page is one file that needs no network.

    Parameters
    ----------
    run : Trajectory or FieldTrajectory
    path : path
        Ends in .html; directories are made.
    title : str, optional
    members : int or sequence of int
        How many trajectories of a batch are shown, or which.

    Returns
    -------
    Path
        Where the page is.
    """
    file = writable(path, (".html", ".htm"))
    return written(page_of(run, title, members).html(), file)


def collected(runs: Mapping[str, Run], path: str | Path, *, title: str, subtitle: str = "") -> Path:
    """Write one page about several runs: certificate, animation and curves of each.

    Parameters
    ----------
    runs : mapping heading → run
    path : path
        Ends in .html; directories are made.
    title, subtitle : str

    Returns
    -------
    Path
        Where the page is.
    """
    file = writable(path, (".html", ".htm"))
    page = Page(title, subtitle)
    for k, (heading, run) in enumerate(runs.items()):
        page.heading(heading, f"run-{k}")
        page.certificate(run.certificate)
        _motion(page, *seen(run), name=f"view-{k}")
    page.heading("How this was computed", "how")
    page.table(("", "version"), list(versions().items()))
    return written(page.html(), file)


def page_of(run: Run, title: str | None = None, members: Any = MEMBERS) -> Page:
    """The page, not yet written."""
    heading = _title(run) if title is None else as_text("the title", title)
    page = Page(heading or _title(run), _subtitle(run), warning=_warning(run))
    scene, panels, notes = seen(run, members)
    page.heading("Certificate", "certificate")
    page.certificate(run.certificate)
    page.heading("Motion" if scene is not None else "Curves", "motion")
    _motion(page, scene, panels, notes)
    if isinstance(run, Trajectory):
        _events(page, run)
    page.heading("Model", "model")
    _model(page, run)
    if getattr(getattr(run, "system", None), "mechanism", None) is None:
        _start(page, run)
    page.heading("How this was computed", "how")
    page.table(("", ""), _settings(run))
    page.table(("", "version"), list(versions().items()))
    page.heading("What to cite", "cite")
    for what, references in run.cite().groups.items():
        page.text(what)
        page.plain_items(str(reference) for reference in references)
    return page


def _motion(
    page: Page,
    scene: Scene | None,
    panels: Sequence[Panel | Chooser],
    notes: list[str],
    name: str = "view",
) -> None:
    page.parts.append(viewer.view(scene, panels, name))
    page.text(*notes)
    if not page.heads:
        page.heads.append(viewer.head())
        page.tails.append(viewer.scripts())


def seen(
    run: Run, members: Any = MEMBERS
) -> tuple[Scene | None, Sequence[Panel | Chooser], list[str]]:
    """Scene, curves, and what a reader ought to know; the scene is None if there is none."""
    options = {} if isinstance(run, FieldTrajectory) else {"members": members}
    if options:
        chosen_members(run, members)  # type: ignore[arg-type]
    try:
        scene = scene_of(run, **options)
        notes = list(scene.notes)
    except InputError as error:
        scene = None
        parts = [str(x) for x in (error.what, error.remedy) if x]
        notes = [". ".join(x[0].upper() + x[1:] for x in parts)]
    if isinstance(run, FieldTrajectory):
        return scene, bending.panels_of(run), notes
    return scene, motion.panels_of(run, scene is not None, members), notes


def scene_of(run: Run, **options: Any) -> Scene:
    """What is seen of a run."""
    if isinstance(run, FieldTrajectory):
        return bending.scene_of(run, **options)
    return motion.scene_of(run, **options)


# ---- words ------------------------------------------------------------------------------------


def _title(run: Run) -> str:
    if isinstance(run, FieldTrajectory):
        many = len(run.model.beams) if isinstance(run.model, Beams) else 1
        kind = "Field" if run.mesh is None else "Beam" if many == 1 else f"{many} beams"
        return f"{kind} of {run.momentum.shape[1]} nodes"
    if run.system.flow is not None:
        return f"Flow: {counted(run.system.n, 'variable')}"
    if run.system.mechanism is not None:
        return str(run.system.mechanism)
    held = f", {counted(run.system.c, 'constraint')}" if run.system.c else ""
    return f"System: {counted(run.system.n, 'coordinate')}{held}"


def _subtitle(run: Run) -> str:
    many = f"{len(run.t)} stored states"
    if isinstance(run, Trajectory) and run.batch is not None:
        many = f"{run.batch} trajectories of {many}"
    method = getattr(run.method, "label", run.method.name)
    return f"{method}, step {run.step:g}, t = {run.t[0]:g} … {run.t[-1]:g}, {many}"


def _warning(run: Run) -> str:
    """What a reader must know before anything else."""
    why = run.ended_early
    return f"This run ended early: {why}." if why else ""


def _settings(run: Run) -> list[tuple[str, str]]:
    rows = [
        ("method", str(getattr(run.method, "label", run.method.name))),
        ("step", f"{run.step!r}"),
        ("t", f"{float(run.t[0])!r} … {float(run.t[-1])!r}"),
        ("stored", f"every {run.every} steps" if run.every > 1 else "every step"),
    ]
    rows += [(name, f"{float(value)!r}") for name, value in run.parameters.items()]
    rows.append(("wall time", f"{run.wall_time:.3g} s, compiling {run.compile_time:.3g} s"))
    return rows


def _start(page: Page, run: Run) -> None:
    """Where a single run of a system began, where that can be read at a glance."""
    if isinstance(run, FieldTrajectory) or run.system.n > STARTS:
        return
    one: Trajectory = run if run.batch is None else run[0]
    if run.batch is not None:
        page.text(f"The start of the first of {run.batch} trajectories:")
    system = run.system
    states = [one.q[0]] if system.first_order else [one.q[0], one.v[0]]
    names = ("at the start", "x") if system.first_order else ("at the start", "q", "q̇")
    rows = [
        (s.name, *(f"{float(x[i])!r}" for x in states)) for i, s in enumerate(system.coordinates)
    ]
    page.table(names, rows)


def _events(page: Page, run: Trajectory) -> None:
    """What was watched for, and when it happened."""
    found = happened(run, EVENTS)
    if found:
        page.heading("Events", "events")
        page.table(found[0], found[1:], plain=True)


def _fields(page: Page, model: Any) -> None:
    """Of beams what they are made of, of a field its density."""
    if isinstance(model, Field):
        page.text(f"`{model!r}`")
        page.formulas([("h", formula(model.density))])
        return
    beams = model.beams if isinstance(model, Beams) else [model]
    for k, beam in enumerate(beams[:MANY]):
        page.table(("beam" if len(beams) == 1 else f"beam {k}", ""), beam_rows(beam))
    if len(beams) > MANY:
        page.text(f"and {len(beams) - MANY} more beams")
    if isinstance(model, Beams):
        page.text(f"`{model!r}`")


def _model(page: Page, run: Run) -> None:
    if isinstance(run, FieldTrajectory):
        _fields(page, run.model)
        return
    system = run.system
    notes = getattr(getattr(system, "mechanism", None), "notes", [])
    if notes:
        page.text("What the file says and is not simulated:")
        page.plain_items(notes)
    if system.mechanism is not None:
        describe(page, run)
        return
    flow = getattr(system, "flow", None)
    if flow is not None:
        rates = zip(flow.variables, flow.rhs, strict=True)
        page.formulas((f"d{x.name}/dt", formula(e)) for x, e in rates)
        return
    if max(term.instances for term in system.terms) > MANY:
        page.text(f"`{system!r}`, a sum of terms:")
        page.items(f"{t.instances} × {t.kind}" for t in system.terms)
        return
    dotted = dict(zip(system.velocities, system.coordinates, strict=True))
    rates = dotted if system.form == "lagrangian" else {}
    letter = "L" if system.form == "lagrangian" else "H"
    rows = [(letter, formula(system.energy_function, rates))]
    named = zip(system.constraint_names, system.constraints, strict=True)
    rows += [(f"constraint {name}", formula(e) + "<mo>=</mo><mn>0</mn>") for name, e in named]
    rows += [
        (f"force on {q.name}", formula(f, dotted))
        for q, f in zip(system.coordinates, system.forces, strict=True)
        if f != 0
    ]
    page.formulas(rows)


# ---- files ------------------------------------------------------------------------------------


def writable(path: str | Path, endings: tuple[str, ...]) -> Path:
    """The path of a file that can be written, found out before anything is computed."""
    file = place(path)
    if file.suffix.lower() not in endings:
        raise InputError(
            f"{file.name!r} has another ending",
            expected="a name that ends in " + ", ".join(endings),
            received=str(file),
        )
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.is_dir():
            raise OSError(EISDIR, "there is a directory of this name")
        if not os.access(file if file.exists() else file.parent, os.W_OK):
            raise OSError(EACCES, "it is not allowed")
    except OSError as error:
        raise FileError(
            f"{file} cannot be written",
            received=error.strerror or str(error),
            remedy="choose another place",
        ) from error
    return file


def written(text: str, file: Path) -> Path:
    """Write a page; what is no character becomes a question mark."""
    try:
        file.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise FileError(
            f"{file} cannot be written", received=error.strerror or str(error)
        ) from error
    return file
