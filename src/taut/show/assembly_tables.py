"""What a mechanism is made of, as tables: parts, joints, forces, and what is free."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from taut.march.parts import PartView
from taut.march.redundant import owners, told
from taut.march.trajectory import Trajectory
from taut.model.controls import Control, is_control
from taut.model.mechanism import Mechanism
from taut.model.mechanism.joints import Joint
from taut.model.mechanism.parts import Part
from taut.model.mechanism.shapes import GROUND, POINT
from taut.show.page import Page
from taut.text import counted

MOST = 60  # rows of a table
NOISE = 1e-9  # of a quaternion: what matrices that were put together leave of a zero
LISTED = 6  # joints in a sentence
LONG = 80  # letters of a law
AXES = ("revolute", "cylindrical", "prismatic", "screw", "rolling", "planar")  # that have one axis
KINDS = {"surface": "on a surface", "curve": "on a curve", "moved": "moved as told"}
ENDS = ("between", "joint", "part", "first", "second")  # what an entry of the record refers to


def describe(page: Page, run: Trajectory) -> None:
    """Tables of a mechanism; starts are those of the run."""
    mechanism: Mechanism = run.system.mechanism
    one = run if run.batch is None else run[0]
    page.text(_freedom(run))
    if run.batch is not None:
        page.text(f"Starts are those of the first of {run.batch} trajectories.")
    tables = (_parts(mechanism, one), _joints(mechanism, run), _forces(mechanism))
    for caption, (head, rows) in zip(("Parts", "Joints", "Forces"), tables, strict=True):
        if rows:
            left = len(rows) - MOST
            more = f", the first {MOST} of {len(rows)}" if left > 0 else ""
            used = [k for k in range(len(head)) if any(row[k] for row in rows)]
            shown = [[row[k] for k in used] for row in rows[:MOST]]
            page.table([head[k] for k in used], shown, caption + more, plain=True)


def _freedom(run: Trajectory) -> str:
    """Degrees of freedom, and what they come from."""
    system, mechanism = run.system, run.system.mechanism
    held = {row for joint in mechanism.joints.values() for row in joint.rows}
    joints = sum(name in held for name in system.constraint_names)
    rigid, extra = system.c - joints, owners(system, run.keep)
    parts = [counted(system.n, "coordinate")]
    if rigid:
        parts.append(f"{rigid} constraints that keep bodies rigid")
    if joints:
        parts.append(f"{joints} of joints")
    more = f"; redundant: {told(system, extra, LISTED)}" if extra else ""
    free = counted(system.n - len(run.keep), "degree of freedom", "degrees of freedom")
    pull = f" Gravity is {_vector(mechanism.gravity)}." if np.any(mechanism.gravity) else ""
    return f"{free}: {', '.join(parts)}{more}.{pull}"


# ---- parts --------------------------------------------------------------------------------------


def _parts(mechanism: Mechanism, run: Trajectory) -> tuple[list[str], list[list[str]]]:
    head = ["part", "kind", "mass", "moments of inertia", "at", "turned (w, x, y, z)", "velocity",
            "angular velocity"]  # fmt: skip
    rows = [_part(run, x) for x in mechanism.parts.values()
            if "beam" not in x.looks]  # fmt: skip
    for beam in mechanism.beams.values():
        nodes = [PartView(run, node) for node in beam.nodes]
        mass = sum(node.part.mass for node in nodes)
        ends = f"{_vector(nodes[0].position[0])} … {_vector(nodes[-1].position[0])}"
        rows.append([beam.name, f"beam of {len(nodes)} nodes", f"{mass:.6g}", "", ends, "", "", ""])
    return head, rows


def _part(run: Trajectory, part: Part) -> list[str]:
    seen = PartView(run, part)
    turned = spin = ""
    if part.shape is not POINT:
        spin = _moving(seen.angular_velocity[0])
        if len(part.shape.directors) > 1:
            turned = _turned(seen.quaternion[0])
    inertia = _vector(part.inertia) if part.inertia.any() else ""
    at, velocity = _vector(seen.position[0]), _moving(seen.velocity[0])
    return [part.name, part.shape.name, f"{part.mass:.6g}", inertia, at, turned, velocity, spin]


def _moving(velocity: np.ndarray) -> str:
    return _vector(velocity) if np.abs(velocity).max() > 1e-14 else ""


def _turned(quaternion: np.ndarray) -> str:
    turned = np.where(np.abs(quaternion) < NOISE, 0.0, quaternion)
    return _vector(turned) if turned[1:].any() else ""


# ---- joints -------------------------------------------------------------------------------------


def _joints(mechanism: Mechanism, run: Trajectory) -> tuple[list[str], list[list[str]]]:
    head = ["joint", "kind", "between", "at", "axis", "with", "takes away", "note"]
    extra = owners(run.system, run.keep)
    return head, [_joint(mechanism, x, extra.get(x.name, 0)) for x in mechanism.joints.values()]


def _joint(mechanism: Mechanism, joint: Joint, extra: int) -> list[str]:
    places = joint.at[:1] if np.array_equal(*joint.at) else joint.at
    axes = [joint.triad["e"], joint.other["e"]] if joint.kind in AXES else []
    if joint.kind == "universal":
        axes = [joint.triad["u"], joint.other["w"]]
    elif axes and np.array_equal(axes[0], axes[1]):
        axes = axes[:1]
    axis = (" and " if joint.kind == "universal" else " – ").join(map(_vector, axes))
    own = joint.counter is not None or f"s_{joint.name}" in mechanism.counters
    redundant = "" if not extra else f"redundant ({extra} of {len(joint.rows)})"
    return [
        joint.name,
        KINDS.get(joint.kind, joint.kind),
        _sides(joint),
        " – ".join(map(_vector, places)),
        axis,
        _told(mechanism, joint.name, ("at", "axis", "axes", "normal", "ends")),
        str(len(joint.rows) - own),
        redundant,
    ]


def _sides(joint: Joint) -> str:
    if joint.a.shape is GROUND and joint.kind in KINDS:
        return joint.b.name
    return f"{joint.a.name}, {joint.b.name}"


# ---- forces -------------------------------------------------------------------------------------


def _forces(mechanism: Mechanism) -> tuple[list[str], list[list[str]]]:
    rows = []
    for name, force in mechanism.forces.items():
        told = mechanism.record.get(name)
        if told is None:
            rows.append([name, repr(force).strip("<>"), "", ""])
            continue
        ends = [x for key in ENDS for x in _names(told.arguments.get(key))]
        rows.append([name, told.verb, ", ".join(ends), _told(mechanism, name)])
    return ["force", "kind", "acts on", "with"], rows


def _names(given: Any) -> list[str]:
    if given is None:
        return []
    return [str(x) for x in given] if isinstance(given, list | tuple) else [str(given)]


def _told(mechanism: Mechanism, name: str, but: tuple[str, ...] = ()) -> str:
    """The other arguments that a joint or a force was given."""
    told = mechanism.record.get(name)
    arguments: Mapping[str, Any] = {} if told is None else told.arguments
    shown = {k: x for k, x in arguments.items() if k not in (*ENDS, *but) and x is not None}
    return ", ".join(f"{key} {_said(x)}" for key, x in shown.items())


def _said(given: Any) -> str:
    if isinstance(given, Control) or is_control(given):
        return "by a Python function"
    if isinstance(given, bool):
        return "yes" if given else "no"
    if isinstance(given, int | float):
        return _number(given)
    if isinstance(given, list | tuple):
        return f"({', '.join(map(_said, given))})"
    text = str(given)
    return text if len(text) <= LONG else text[: LONG - 1] + "…"


def _vector(values: Any) -> str:
    return f"({', '.join(map(_number, values))})"


def _number(x: float) -> str:
    """Short, and zero where there is nothing but rounding."""
    return f"{0.0 if abs(x) < 1e-14 else float(x):.5g}".replace("-", "−")
