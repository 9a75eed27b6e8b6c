"""A mechanism of its own with the same parts, joints and forces, each holding on to the others."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TypeVar, cast

import numpy as np

from taut.model.mechanism.beams import BeamPart
from taut.model.mechanism.forces import Acting, Force, Load
from taut.model.mechanism.joints import Joint
from taut.model.mechanism.named import Named
from taut.model.mechanism.parts import Counter, Part

Kind = TypeVar("Kind", bound=Named)


def copied(given: Kind) -> Kind:
    """The same mechanism; parts and joints are copies, and hold on to copies."""
    made = object.__new__(type(given))
    made.__dict__.update(given.__dict__)
    made._telling, made.gravity = False, given.gravity.copy()
    made.notes, made.numbers, made.record = (
        list(given.notes), dict(given.numbers), dict(given.record),
    )  # fmt: skip
    twins = {id(part): _part(part) for part in (given.ground, *given.carriers)}
    made.ground = twins[id(given.ground)]
    made.parts = {name: twins[id(part)] for name, part in given.parts.items()}
    made.counters = {name: cast(Counter, twins[id(x)]) for name, x in given.counters.items()}
    made.ends = {name: twins[id(part)] for name, part in given.ends.items()}
    made.beams = {name: _beam(beam, twins) for name, beam in given.beams.items()}
    made.joints = {name: _joint(joint, twins) for name, joint in given.joints.items()}
    made.forces = {name: _force(x, twins, made.joints) for name, x in given.forces.items()}
    made.frames = {name: replace(x, part=twins[id(x.part)]) for name, x in given.frames.items()}
    return made


def _part(part: Part) -> Part:
    made = copy(part)
    for name, value in vars(part).items():
        if isinstance(value, np.ndarray):
            setattr(made, name, value.copy())
    made.looks = {key: list(x) if key == "shapes" else x for key, x in part.looks.items()}
    return made


def _beam(beam: BeamPart, twins: dict[int, Part]) -> BeamPart:
    nodes = tuple(twins[id(node)] for node in beam.nodes)
    return replace(beam, nodes=nodes, pieces=list(beam.pieces), loads=list(beam.loads))


def _joint(joint: Joint, twins: dict[int, Part]) -> Joint:
    counter, track = joint.counter, joint.track
    return replace(
        joint,
        a=twins[id(joint.a)],
        b=twins[id(joint.b)],
        pieces=list(joint.pieces),
        counter=None if counter is None else twins[id(counter)],
        track=None if track is None else replace(track, place=twins[id(track.place)]),
    )


def _force(force: Force, twins: dict[int, Part], joints: dict[str, Joint]) -> Force:
    if isinstance(force, Load):
        return replace(force, part=twins[id(force.part)])
    if not isinstance(force, Acting):
        return force  # it knows coordinates by their numbers
    held = force.measure
    a, b = twins[id(held.a)], twins[id(held.b)]
    joint = None if held.joint is None else joints[held.joint.name]
    return replace(force, measure=replace(held, a=a, b=b, joint=joint))
