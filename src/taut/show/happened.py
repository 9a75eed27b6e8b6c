"""The events of a run as a table: when, which, and where things were."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from taut.march.dense import States
from taut.march.parts import JointView, PartView
from taut.march.trajectory import Trajectory
from taut.model.mechanism.words import motions
from taut.text import counted

HEAD = ("t", "event", "state")
FEW = 4  # coordinates, joints or parts that a state is told by
DIGITS = 6  # of a state


def happened(run: Trajectory, most: int) -> list[tuple[str, str, str]]:
    """Rows (time, event, state) in the order of time, under a head; none without events.

    Parameters
    ----------
    run : Trajectory
    most : int
        Events that are listed; the last row counts the others.
    """
    found = [(float(t), name, k) for name, x in run.events.items() for k, t in enumerate(x.t)]
    found.sort(key=lambda row: row[0])
    rows = [(f"{t:.9g}", name, _state(run, run.events[name], k)) for t, name, k in found[:most]]
    if len(found) > most:
        rows.append(("…", f"and {len(found) - most} more", _counts(run)))
    rows += [("never", name, "") for name, x in run.events.items() if not len(x)]
    return [HEAD, *rows] if rows else []


def _counts(run: Trajectory) -> str:
    times = ((name, len(x)) for name, x in run.events.items() if len(x))
    return ", ".join(f"{name} {counted(many, 'time')}" for name, many in times)


def _state(run: Trajectory, states: States, row: int) -> str:
    """A state in a few words: coordinates and their rates, or what joints and parts do."""
    one = replace(
        run, events={}, held=None, **{x: getattr(states, x)[row : row + 1] for x in "tqvp"}
    )
    if run.system.mechanism is not None:
        return _of_mechanism(one)
    names = [s.name for s in run.system.coordinates[:FEW]]
    more = ", …" if run.system.n > FEW else ""
    told = _listed(names, one.q[0]) + more
    if run.system.first_order:
        return told
    return f"{told}; {_listed([s.name for s in run.system.velocities[:FEW]], one.v[0])}{more}"


def _of_mechanism(one: Trajectory) -> str:
    """Angles and slides of joints; places of parts where there are none."""
    mechanism = one.system.mechanism
    joints = [
        (f"{kind} {joint.name}", getattr(JointView(one, joint), kind)[0])
        for joint in mechanism.joints.values()
        for kind in motions(joint.kind)
        if joint.triad
    ]
    if len(joints) == 1:
        (joint,) = (x for x in mechanism.joints.values() if motions(x.kind) and x.triad)
        joints.append(("rate", JointView(one, joint).rate[0]))
    if joints:
        more = ", …" if len(joints) > FEW else ""
        return _listed(*zip(*joints[:FEW], strict=True)) + more
    moving = list(mechanism.parts.values())
    places = [(x.name, PartView(one, x).position[0]) for x in moving[:FEW]]
    more = ", …" if len(moving) > FEW else ""
    return ", ".join(f"{name} at ({', '.join(map(_number, at))})" for name, at in places) + more


def _listed(names: object, values: object) -> str:
    pairs = zip(names, values, strict=False)  # type: ignore[call-overload]
    return ", ".join(f"{name} = {_number(x)}" for name, x in pairs)


def _number(x: float) -> str:
    """What is zero but for rounding is zero."""
    return f"{0.0 if abs(x) < 1e-12 else x:.{DIGITS}g}".replace("-", "−") if np.isfinite(x) else "–"
