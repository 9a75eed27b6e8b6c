"""Model files, read: the tree of a file becomes a `Model`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sympy as sp

from taut.errors import UnknownName
from taut.fields.beam import Beam
from taut.files import source
from taut.files.assembly import assembled
from taut.files.beams import Room, beam_of
from taut.files.desk import Desk
from taut.files.model import Model
from taut.files.schema import (
    ALONE,
    BEAM_RUN,
    BEAM_START,
    DRAWING,
    EVENT,
    FLOW,
    MECHANISM,
    PARTS,
    RUN,
    SECTIONS,
    START,
    SYSTEM,
    TOP,
    Table,
)
from taut.files.source import Node, Source
from taut.march.events import Event
from taut.model import Drawing, Flow, Mechanism, System
from taut.model.symbols import momenta, t, velocities

MANY = 200  # coordinates of a system: its mass is looked at as a matrix of expressions
STATE = {
    "q": "q0", "v": "v0", "p": "p0", "t": "t0", "strain": "strain0", "momentum": "momentum0",
}  # fmt: skip


def read(path: str | Path, changes: Mapping[str, float] | None = None) -> Model:
    """The model in a file, with other values for some of its parameters."""
    return model_of(source.read(path), Path(path).stem, changes or {})


def model_of(file: Source, name: str, changes: Mapping[str, float]) -> Model:
    """The model that a tree stands for."""
    file.check(SECTIONS)
    desk = Desk()
    if "parameters" in file:
        desk.define(file["parameters"], changes)
    elif changes:
        raise UnknownName("parameter", next(iter(changes)), ())
    title = TOP["title"].kind.read(file["title"], desk) if "title" in file else ""
    model, parameters = _model(file, desk)
    alone = isinstance(model, Beam)
    settings = _start(file, desk, model) | _run(file, desk, BEAM_RUN if alone else RUN)
    if "events" in file:
        settings["events"] = dict(_events(file["events"], desk))
    if parameters:
        settings["parameters"] = parameters
    found = Model(model, name=name, title=title, **settings)
    found.unused = desk.unused
    return found


def table(node: Node, known: Table, desk: Desk) -> dict[str, Any]:
    """The values of a table."""
    node.check(known.keys, known.needed)
    return {key: known.keys[key].kind.read(x, desk) for key, x in node.entries()}


def _model(file: Source, desk: Desk) -> tuple[System | Flow | Mechanism | Beam, dict[str, float]]:
    """What the file describes, and values for the run that the model does not hold itself."""
    kinds = [key for key in ("system", "flow", "beam", *PARTS) if key in file]
    kinds = ["mechanism" if key in PARTS else key for key in kinds]
    if len(set(kinds)) != 1:
        file.fail(
            "the file holds " + (" and ".join(dict.fromkeys(kinds)) or "no model"),
            expected="one of [system], [flow], [beam], and [points.…], [bodies.…] or [beams.…] "
            "of a mechanism",
            received=None,
        )
    allowed = {"mechanism": MECHANISM, "beam": ("gravity",)}.get(kinds[0], ("drawing", "events"))
    allowed = (*allowed, "events") if kinds[0] == "mechanism" else allowed
    for key in (*MECHANISM, "drawing", "events"):
        if key in file and key not in allowed:
            file[key].fail(f"a {kinds[0]} has no {key}", received=None)
    if kinds[0] == "system":
        return _system(file, desk), {}
    if kinds[0] == "flow":
        return _flow(file, desk)
    if kinds[0] == "beam":
        given = table(file["beam"], ALONE, desk)
        gravity = TOP["gravity"].kind.read(file["gravity"], desk) if "gravity" in file else None
        return beam_of(file["beam"], given, Room(), gravity), {}
    return assembled(file, desk), {}


def _system(file: Source, desk: Desk) -> System:
    node = file["system"]
    node.check(SYSTEM.keys, SYSTEM.needed)
    names = {
        key: SYSTEM.keys[key].kind.read(node[key], desk)
        for key in ("coordinates", "velocities", "momenta")
        if key in node
    }
    if len(names["coordinates"]) > MANY:
        node["coordinates"].fail(
            "there are too many coordinates",
            expected=f"at most {MANY}",
            received=len(names["coordinates"]),
            remedy="points, bodies and joints of a mechanism may be thousands",
        )
    q = _symbols(names["coordinates"])
    v = _symbols(names.get("velocities")) or velocities(q)
    p = _symbols(names.get("momenta")) or momenta(q)
    parameters = _symbols(list(desk.parameters))
    desk.coordinates = names["coordinates"]
    desk.scopes["state"] = {x.name: x for x in (*parameters, *q, *v, *p, t)}
    given = table(node, SYSTEM, desk) | {"coordinates": q, "velocities": v, "momenta": p}
    drawing = _drawing(file, desk, parameters)
    with node.blamed():
        return System(**given, parameters=desk.values, drawing=drawing)


def _flow(file: Source, desk: Desk) -> tuple[Flow, dict[str, float]]:
    node = file["flow"]
    node.check(FLOW.keys, FLOW.needed)
    names = FLOW.keys["variables"].kind.read(node["variables"], desk)
    x, parameters = _symbols(names), _symbols(list(desk.parameters))
    desk.coordinates = names
    desk.scopes["state"] = {s.name: s for s in (*parameters, *x, t)}
    given = table(node, FLOW, desk)
    missing = [name for name in names if isinstance(node["rates"].data, dict)
               and name not in node["rates"].data]  # fmt: skip
    if missing:
        node["rates"].fail(
            f"there is no rate for {', '.join(missing)[:200]}", expected="one for each variable"
        )
    drawing = _drawing(file, desk, parameters)
    with node.blamed():
        flow = Flow(x, given["rates"], drawing=drawing)
        used = [s.name for s in flow.parameters]
    return flow, {name: desk.values[name] for name in used}


def _symbols(names: list[str] | None) -> list[sp.Symbol]:
    return [sp.Symbol(name, real=True) for name in names or ()]


def _drawing(file: Source, desk: Desk, parameters: list[sp.Symbol]) -> Drawing | None:
    if "drawing" not in file:
        return None
    own = {s.name: s for s in parameters}
    desk.scopes["track"] = {**own, "s": sp.Symbol("s", real=True)}
    given = table(file["drawing"], DRAWING, desk)
    if given.get("down") == "none":
        given["down"] = None
    with file["drawing"].blamed():
        return Drawing(**given)


# ---- start and run -----------------------------------------------------------------------------


def _start(file: Source, desk: Desk, model: System | Flow | Mechanism | Beam) -> dict[str, Any]:
    if "start" not in file:
        return {}
    node = file["start"]
    known = BEAM_START if isinstance(model, Beam) else START
    found = {STATE[key]: value for key, value in table(node, known, desk).items()}
    if isinstance(model, Flow) and ("v" in node or "p" in node):
        node.fail("a flow has no velocities or momenta to start with", received=None)
    for key in ("p", "momentum"):
        if "v" in node and key in node:
            node[key].fail("there are velocities and momenta", expected=f"one of v and {key}")
    return found


def _run(file: Source, desk: Desk, known: Table) -> dict[str, Any]:
    if "run" not in file:
        return {}
    node = file["run"]
    found = table(node, known, desk)
    for key in ("duration", "step", "tolerance"):
        if key in found and not found[key] > 0:
            node[key].fail(f"{node[key].name} is not positive", expected="a positive number")
    if "step" in found and "tolerance" in found:
        node["tolerance"].fail("a step and a tolerance are one too many", expected="one of them")
    return found


def _events(node: Node, desk: Desk):
    for name, given in node.entries():
        if isinstance(given.data, dict):
            values = table(given, EVENT, desk)
        else:
            values = {"expression": desk.formula(given, "state")}
        with given.blamed():
            yield name, Event(**values, name=name)
