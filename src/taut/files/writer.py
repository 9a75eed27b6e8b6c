"""Models as files: what `taut.files.reader` reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from taut.errors import FileError, brief
from taut.fields.beam import Beam
from taut.fields.beams import Beams
from taut.files import beams, toml
from taut.files.kinds import unwritten
from taut.files.model import Model
from taut.files.schema import (
    ALONE,
    BEAM_RUN,
    BEAM_START,
    DRAWING,
    EVENT,
    FLOW,
    PLAIN,
    RUN,
    START,
    SYSTEM,
    VERBS,
    Table,
)
from taut.march.events import watched
from taut.model import Drawing, Flow, Mechanism, System
from taut.model.mechanism.looks import hexadecimal
from taut.model.symbols import momenta, velocities

BY_NAME = 12  # coordinates up to which starts say their names
SECTIONS = {verb: section for section, known in VERBS.items() for verb in known} | {
    verb: section for section, (verb, _) in PLAIN.items()
}


def text_of(model: Model) -> str:
    """The whole file."""
    held = model.model
    if isinstance(held, System) and held.controls and held.mechanism is None:
        raise unwritten([x.name for x in held.controls], "a system without controls")
    if isinstance(held, System) and held.mechanism is not None:
        held = held.mechanism
    if isinstance(held, System) and held.flow is not None:
        held = held.flow
    if isinstance(held, Beams):
        raise FileError(
            "several beams cannot be written",
            expected="one taut.Beam, or beams that are parts of a taut.Mechanism",
            received=brief(held),
            remedy="m.beam(…) for each of them, and m.fixed(…) where they meet",
        )
    title = model.title or model.name
    head = f"title = {toml.text(title)}\n" if title else ""
    if isinstance(held, Mechanism):
        head += _gravity(held.gravity)
        body = "".join(_told(held))
    elif isinstance(held, Beam):
        head += _gravity(held.gravity)
        body = _beam(held)
    else:
        head += _parameters(model, held)
        body = _system(held) if isinstance(held, System) else _flow(held)
        body += _drawing(held.drawing)
    return (head + body + _start(model) + _run(model) + "".join(_events(model))).lstrip("\n")


def _table(table: Table, given: Mapping[str, Any]) -> dict[str, str]:
    """Values as TOML, in the order of the schema."""
    strange = [key for key in given if key not in table.keys]
    if strange:
        raise FileError(
            f"{strange[0]} cannot be written",
            expected="one of " + ", ".join(table.keys),
            received=repr(given[strange[0]])[:80],
        )
    return {key: table.keys[key].kind.write(given[key]) for key in table.keys if key in given}


# ---- mechanisms --------------------------------------------------------------------------------


def _gravity(gravity: np.ndarray | None) -> str:
    if gravity is None or not gravity.any():
        return ""
    return f"gravity = {toml.array(map(toml.number, gravity.tolist()))}\n"


def _told(mechanism: Mechanism) -> Iterator[str]:
    made = list(mechanism.parts)
    made += [*mechanism.beams, *mechanism.joints, *mechanism.forces]
    own = {x for beam in mechanism.beams.values() for x in beam.made}  # which it makes by itself
    made = [name for name in made if name not in own]
    strange = [x.name for x in mechanism.record.values() if x.verb not in SECTIONS]
    strange += [x for x in made if x not in mechanism.record]
    if strange:
        raise FileError(
            f"{strange[0]} cannot be written",
            expected="parts, joints and forces of the kinds " + ", ".join(SECTIONS),
            received=repr(mechanism[strange[0]])[:80],
        )
    for told in mechanism.record.values():
        if told.verb == "frame":  # below: a file of robots gives them, too
            continue
        section = SECTIONS[told.verb]
        given = {key: x for key, x in told.arguments.items() if x is not None}
        if told.verb == "beam":
            moving = {key: x for key, x in given.items() if key in ("velocity", "angular_velocity")}
            given = beams.told(mechanism.beams[told.name].beam) | moving
        if isinstance(given.get("colour"), list):
            given["colour"] = hexadecimal(told.name, given["colour"])
        if section in PLAIN:
            pairs = _table(PLAIN[section][1], given)
        else:
            pairs = {"kind": toml.text(told.verb), **_table(VERBS[section][told.verb], given)}
        yield toml.section([section, told.name], pairs)
    for name, frame in mechanism.frames.items():
        given = {"part": frame.part.name, "at": frame.at.tolist()}
        if not np.array_equal(frame.rotation, frame.part.rotation):
            given["rotation"] = frame.rotation.tolist()
        yield toml.section(["frames", name], _table(PLAIN["frames"][1], given))


def _beam(beam: Beam) -> str:
    given = beams.told(beam)
    if any(end.kind != "free" for end in beam.ends):
        given["ends"] = beam.ends
    return toml.section(["beam"], _table(ALONE, given))


# ---- systems and flows -------------------------------------------------------------------------


def _parameters(model: Model, held: System | Flow) -> str:
    values: dict[str, Any] = {s.name: None for s in held.parameters} if isinstance(
        held, Flow
    ) else dict(held.parameters)  # fmt: skip
    for key, value in (model.settings.get("parameters") or {}).items():
        values[getattr(key, "name", key)] = value
    missing = [name for name, value in values.items() if value is None]
    if missing:
        raise FileError(
            f"the parameter {missing[0]} has no value",
            expected="a number for each parameter",
            remedy=f"taut.Model(…, parameters={{{missing[0]!r}: …}})",
        )
    pairs = {name: toml.number(value) for name, value in values.items()}
    return toml.section(["parameters"], pairs) if pairs else ""


def _system(system: System) -> str:
    if system.given is None:
        raise FileError(
            "a system of terms cannot be written",
            expected="one that was made by taut.System(…) or by a mechanism",
            remedy="write taut.System(coordinates, lagrangian=…, constraints=…)",
        )
    q = system.coordinates
    given: dict[str, Any] = {"coordinates": [s.name for s in q]}
    for key, names, default in (
        ("velocities", system.velocities, velocities(q)),
        ("momenta", system.momenta, momenta(q)),
    ):
        if names != default:
            given[key] = [s.name for s in names]
    for form, value in system.given.items():
        given[form] = _read(system, value)
    if given["potential"] == 0:
        del given["potential"]
    if system.c:
        named = dict(zip(system.constraint_names, system.constraints, strict=True))
        plain = list(named) == [f"g{k}" for k in range(system.c)]
        given["constraints"] = list(named.values()) if plain else named
    if system.forced:
        pairs = zip(q, system.forces, strict=True)
        given["forces"] = {s.name: f for s, f in pairs if f != 0}
    return toml.section(["system"], _table(SYSTEM, given))


def _read(system: System, value: Any) -> Any:
    """Numbers and expressions, in lists or not, in the symbols of the system."""
    rows = np.array(value, dtype=object)
    if rows.ndim:
        return [_read(system, x) for x in rows]
    return value if isinstance(value, int | float) else system.read(value)


def _flow(flow: Flow) -> str:
    names = [s.name for s in flow.variables]
    given = {"variables": names, "rates": dict(zip(names, flow.rhs, strict=True))}
    return toml.section(["flow"], _table(FLOW, given))


def _drawing(drawing: Drawing | None) -> str:
    if drawing is None:
        return ""
    given: dict[str, Any] = {"points": drawing.points}
    if drawing.links:
        given["links"] = [
            [x.start, x.end, *([x.look] if x.look != "rod" else [])] for x in drawing.links
        ]
    if drawing.trails is not None:
        given["trails"] = drawing.trails
    if drawing.curves:
        given["curves"] = [(x.places, (x.symbol, x.first, x.last)) for x in drawing.curves]
    if drawing.down != "auto":
        given["down"] = drawing.down or "none"
    return toml.section(["drawing"], _table(DRAWING, given))


# ---- start and run -----------------------------------------------------------------------------


def _start(model: Model) -> str:
    if isinstance(model.model, Beam):
        names = {"strain": "strain0", "v": "v0", "momentum": "momentum0", "t": "t0"}
        held = {key: model.settings.get(name) for key, name in names.items()}
        rows = {key: np.asarray(x, float).tolist() for key, x in held.items() if x is not None}
        return toml.section(["start"], _table(BEAM_START, rows)) if rows else ""
    given = {key[0]: model.settings[key] for key in ("q0", "v0", "p0", "t0")
             if model.settings.get(key) is not None}  # fmt: skip
    if not given:
        return ""
    for key in set(given) & {"q", "v", "p"}:
        given[key] = _state(model, key, given[key])
    return toml.section(["start"], _table(START, given))


def _state(model: Model, key: str, value: Any) -> Any:
    found = np.asarray(value, dtype=float)
    if found.ndim > 1:
        raise FileError(
            "a batch of starts cannot be written",
            expected=f"{key}0 of one trajectory",
            received=f"shape {found.shape}",
        )
    names = [s.name for s in model.system.coordinates]
    if found.ndim == 0 or len(found) != len(names) or len(names) > BY_NAME:
        return found.tolist()
    return dict(zip(names, found.tolist(), strict=True))


def _run(model: Model) -> str:
    known = BEAM_RUN if isinstance(model.model, Beam) else RUN
    given = {key: model.settings[key] for key in known.keys if key in model.settings}
    laws = given.get("laws")
    if laws is not None and not isinstance(laws, str):
        given["laws"] = _laws(model.system, laws)
    return toml.section(["run"], _table(known, given)) if given else ""


def _laws(system: System, laws: Any) -> dict[str, sp.Expr]:
    if isinstance(laws, Mapping):
        return {str(name): system.read(e) for name, e in laws.items()}
    several = laws if isinstance(laws, Sequence) else [laws]
    return {str(getattr(e, "name", None) or f"law {k + 1}"): system.read(e)
            for k, e in enumerate(several)}  # fmt: skip


def _events(model: Model) -> Iterator[str]:
    events = model.settings.get("events")
    if not events:
        return
    for event in watched(model.system, events):
        given: dict[str, Any] = {"expression": event.expression}
        if event.direction != "both":
            given["direction"] = event.direction
        if event.terminal:
            given["terminal"] = True
        yield toml.section(["events", event.label], _table(EVENT, given))
