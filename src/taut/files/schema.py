"""Everything that a model file may say: one table, for reading, writing, and telling people.

A new joint, force or part of `taut.Mechanism` is one entry here: its key is the name of the verb,
and its keys are the arguments.  ``between`` are the two sides that a verb takes first.
"""

from __future__ import annotations

from typing import NamedTuple

from taut.files.beams import BODIES, LOADS, Curvature, Ends, SchemeOf, SectionOf
from taut.files.kinds import (
    Count,
    Curve,
    Flag,
    Formula,
    Formulas,
    Kind,
    Names,
    Number,
    Numbers,
    Reference,
    Text,
)
from taut.files.wholes import Equations, Laws, Links, Mass, MethodOf, Points, Rows, Tracks, Words
from taut.model.mechanism.forces import LENGTH, RATE


class Key(NamedTuple):
    """A key: what it holds, what that means, whether it may be left out."""

    kind: Kind
    text: str
    needed: bool = False


class Table(NamedTuple):
    """A table with its keys."""

    text: str
    keys: dict[str, Key]

    @property
    def needed(self) -> list[str]:
        """Keys that may not be left out."""
        return [name for name, key in self.keys.items() if key.needed]


VECTOR = Numbers(((3,),))
BETWEEN = Key(Names('parts, or "ground"', 2), "what it holds together", True)
AT = Key(VECTOR, "its place, in space at the start", True)
MET = Key(
    Numbers(((3,), (2, 3))),
    "its place, in space at the start; or one on each part, which assembling brings together",
    True,
)
AXIS = Key(
    Numbers(((3,), (2, 3))),
    "its axis, in space at the start; or one of each part, which assembling brings together",
    True,
)
PLACE = Key(VECTOR, "where on the part, in space at the start; its centre of mass if left out")
ENDS = Key(Numbers(((2, 3),)), "its two places, if they are not the centres of mass")
PART = Key(Reference("part"), "the part it acts on", True)
JOINT = Key(Reference("joint"), "the joint it belongs to", True)
REST = Key(Number(), "at rest; what it is at the start if left out")
FOLLOWER = Key(Flag(), "along the part's own axes")
VELOCITY = Key(VECTOR, "at the start, in space")
SHAPE = Text(("box", "cylinder", "ball"))
ROTATION = Numbers(((4,), (3, 3)))
SIZE = Key(Numbers(((), (3,))), "its extents")
COLOUR = Key(Text(), '"#rrggbb", or a name such as "orange"')
MATRICES = Numbers(((6,), (6, 6), (None, 6, 6)))
MOVING = Numbers(((3,), (None, 3)))
BEAM: dict[str, Key] = {
    "length": Key(Number(), "", True),
    "section": Key(SectionOf(), "with density, young, and poisson or shear_modulus"),
    "density": Key(Number(), ""),
    "young": Key(Number(), "Young's modulus"),
    "poisson": Key(Number(), "Poisson's ratio"),
    "shear_modulus": Key(Number(), "instead of it"),
    "inertia": Key(MATRICES, "per length, instead of a section: a matrix, its diagonal, or one "
                   "matrix for each node"),
    "stiffness": Key(MATRICES, "the same; one for each edge"),
    "nodes": Key(Count(), "101 if left out"),
    "at": Key(VECTOR, "where node 0 is; the origin if left out"),
    "frame": Key(Numbers(((3,), (3, 3))), "its direction at node 0, or the matrix of the local "
                 "axes there; along y if left out"),
    "curvature": Key(Curvature(), "of its shape without stress: bending about axis 1, twist, "
                     "bending about axis 3"),
    "damping": Key(Number(), "a time: stress C(γ + damping·γ̇)"),
    "cells": Key(Text(("half", "full")), "of the end nodes"),
    "loads": Key(LOADS, 'at = "tip", "root", s, or "all": per length, of s and t; in space, or '
                 "follower = true: in the local frame"),
    "bodies": Key(BODIES, "fixed to it, in the local frame"),
}  # fmt: skip


def _springs(measure: str, rest: str) -> dict[str, Key]:
    return {
        "stiffness": Key(Number(), "k of U = k/2 (… − rest)²"),
        rest: Key(Number(), "at which it is at rest"),
        "damping": Key(Number(), "c of the force c × rate"),
        "energy": Key(
            Formula(measure, (LENGTH,)), "a potential of your own, instead of a stiffness"
        ),
        "pull": Key(Formula(measure, (LENGTH, RATE)), "a force of your own that makes it smaller"),
    }


# ---- mechanisms: sections, and the verbs of `taut.Mechanism` in each --------------------------

PARTS: dict[str, tuple[str, Table]] = {
    "points": ("point", Table("a point mass", {
        "mass": Key(Number(), "", True),
        "at": Key(VECTOR, "its place at the start", True),
        "velocity": VELOCITY,
    })),
    "bodies": ("body", Table("a rigid body; thin rods and plates by their inertia", {
        "mass": Key(Number(), "", True),
        "inertia": Key(Numbers(((3,), (3, 3))), "about its centre of mass, in its own axes", True),
        "at": Key(VECTOR, "its centre of mass at the start", True),
        "rotation": Key(ROTATION, "of its axes: a unit quaternion (w, x, y, z) or a matrix"),
        "velocity": VELOCITY,
        "angular_velocity": Key(VECTOR, "at the start, in space"),
        "body_angular_velocity": Key(VECTOR, "the same in its own axes"),
        "look": Key(SHAPE, "how it is drawn"), "size": SIZE, "colour": COLOUR,
    })),
    "beams": ("beam", Table('a beam; its nodes are parts, "NAME 0", "NAME 1", …, and "NAME root", '
                            '"NAME tip"', {
        **BEAM,
        "velocity": Key(MOVING, "at the start, in space: of the root, or of each node"),
        "angular_velocity": Key(MOVING, "at the start, in space: of all, or of each node"),
    })),
}  # fmt: skip
MARKS: dict[str, tuple[str, Table]] = {
    "frames": ("frame", Table("a place with axes on a part, which a run knows by its name", {
        "part": Key(Reference("part"), "", True), "at": AT,
        "rotation": Key(ROTATION, "of its axes in space at the start; the part's if left out"),
    })),
    "looks": ("look", Table("a shape that a part, or the ground, is drawn as", {
        "part": Key(Reference("part"), "", True), "kind": Key(SHAPE, "", True), "size": SIZE,
        "at": Key(VECTOR, "its middle, in space at the start; that of the part if left out"),
        "rotation": Key(ROTATION, "of its axes in space at the start; the part's if left out"),
        "colour": COLOUR,
    })),
}  # fmt: skip
PLAIN = {**PARTS, **MARKS}

JOINTS = {
    "rod": Table("the distance of two places stays", {
        "between": BETWEEN, "ends": ENDS,
        "length": Key(Number(), "what it is at the start if left out"),
    }),
    "spherical": Table("a ball joint", {"between": BETWEEN, "at": MET}),
    "revolute": Table("a hinge", {"between": BETWEEN, "at": MET, "axis": AXIS}),
    "universal": Table("two axes stay at right angles", {
        "between": BETWEEN, "at": MET,
        "axes": Key(Numbers(((2, 3),)), "one of each part, at right angles", True),
    }),
    "cylindrical": Table("turns and slides", {"between": BETWEEN, "at": MET, "axis": AXIS}),
    "prismatic": Table("slides", {"between": BETWEEN, "at": MET, "axis": AXIS}),
    "planar": Table("a plane of one stays in a plane of the other", {
        "between": BETWEEN, "at": MET,
        "normal": Key(AXIS.kind, "of the plane; or one of each part", True),
    }),
    "fixed": Table("both move as one", {"between": BETWEEN, "at": MET}),
    "screw": Table("slides by `pitch` for each turn", {
        "between": BETWEEN, "at": MET, "axis": AXIS, "pitch": Key(Number(), "per turn", True),
    }),
    "rolling": Table("a wheel (the second part) rolls along a line of the first", {
        "between": BETWEEN, "at": AT, "axis": Key(VECTOR, "its axis, in space at the start", True),
        "along": Key(VECTOR, "the line, at right angles to the axis", True),
        "radius": Key(Number(), "of the wheel", True),
    }),
    "gear": Table("what the first does = −ratio × what the second does: angles or slides", {
        "first": Key(Reference("joint"), "a hinge or a slider", True),
        "second": Key(Reference("joint"), "another one", True),
        "ratio": Key(Number(), "r₂/r₁ of toothed wheels, −r₂/r₁ of a belt, −r of a rack", True),
    }),
    "angle": Table("the angle of a hinge as a coordinate that counts turns: `angle_` and its name",
                   {"joint": Key(Reference("joint"), "the hinge", True)}),
    "on_surface": Table("a place of a part stays on a surface", {
        "part": PART, "surface": Key(Formula("space"), "zero on the surface", True), "at": PLACE,
    }),
    "on_curve": Table("a place of a part stays on a curve", {
        "part": PART, "curve": Key(Curve(), "", True), "at": PLACE,
        "start": Key(Number(), "s at the start"),
    }),
    "drive": Table("a hinge or a slider that moves as told", {
        "joint": JOINT, "angle": Key(Formula("time"), "of a hinge"),
        "slide": Key(Formula("time"), "of a slider"),
    }),
    "move": Table("a place of a part that moves as told", {
        "part": PART, "motion": Key(Formulas("time", 3), "where it is", True), "at": PLACE,
    }),
}  # fmt: skip

FORCES = {
    "spring": Table("a spring and damper between two places", {
        "between": BETWEEN, **_springs("length", "length"), "length": REST, "ends": ENDS,
    }),
    "rope": Table("a spring that does not push", {
        "between": BETWEEN, "stiffness": Key(Number(), "", True), "length": REST, "ends": ENDS,
    }),
    "damper": Table("a force against the change of a distance", {
        "between": BETWEEN, "damping": Key(Number(), "", True), "ends": ENDS,
    }),
    "central": Table("a potential of the distance of two places, not drawn", {
        "between": BETWEEN, "ends": ENDS,
        "energy": Key(Formula("length", (LENGTH,)), "", True),
    }),
    "torsion": Table("a spring and damper in a hinge", {
        "joint": JOINT, **_springs("angle", "angle"),
        "turns": Key(Flag(), "count turns, so that it is wound up"),
    }),
    "push": Table("a spring and damper along a slider",
                  {"joint": JOINT, **_springs("slide", "slide")}),
    "motor": Table("a torque about a hinge, or a force along a slider", {
        "joint": JOINT,
        "drive": Key(Formula("state"), "makes the angle or the slide grow"),
        "law": Key(Formula("motion", (LENGTH, RATE)), "instead of a drive"),
        "of": Key(Text(("angle", "slide")), "what it drives in a cylindrical joint"),
    }),
    "force": Table("a force on a part", {
        "part": PART, "force": Key(Formulas("state", 3), "its components", True), "at": PLACE,
        "follower": FOLLOWER,
    }),
    "torque": Table("a torque on a body", {
        "part": PART, "torque": Key(Formulas("state", 3), "its components", True),
        "follower": FOLLOWER,
    }),
    "potential": Table("any potential energy", {"energy": Key(Formula("state"), "", True)}),
}  # fmt: skip

VERBS: dict[str, dict[str, Table]] = {"joints": JOINTS, "forces": FORCES}

# ---- systems, flows, and what is common to all ------------------------------------------------

SYSTEM = Table("a system: its energy in one of four forms, constraints, forces", {
    "coordinates": Key(Words(), "", True),
    "velocities": Key(Words(), "their rates; `x_dot` for x if left out"),
    "momenta": Key(Words(), "`p_x` for x if left out"),
    "mass": Key(Mass(), "T = ½ q̇ᵀM q̇"),
    "kinetic": Key(Formula("state"), "T, instead of a mass"),
    "potential": Key(Formula("state"), "U, beside a mass or a kinetic energy"),
    "lagrangian": Key(Formula("state"), "L, instead of T and U"),
    "hamiltonian": Key(Formula("state"), "H, of coordinates and momenta"),
    "constraints": Key(Equations(), "g = 0"),
    "forces": Key(Rows(), "generalised forces; those left out by name are zero"),
})  # fmt: skip

FLOW = Table("a flow ẋ = f(x, t)", {
    "variables": Key(Words(), "", True),
    "rates": Key(Rows(), "f", True),
})  # fmt: skip

DRAWING = Table("how a system or a flow is drawn", {
    "points": Key(Points(), "", True),
    "links": Key(Links(), "what joins them"),
    "trails": Key(Names("points"), "that leave a trail"),
    "curves": Key(Tracks(), "lines that stand in space"),
    "down": Key(Text(("x", "y", "z", "none")), "the axis that points down in a picture"),
})  # fmt: skip

ALONE = Table("a beam by itself, without a mechanism", {
    **BEAM, "ends": Key(Ends(), "free if left out"),
})  # fmt: skip

START = Table("where it begins; parts of a mechanism say so themselves", {
    "q": Key(Rows(formulas=False), "coordinates"),
    "v": Key(Rows(formulas=False, alone=True), "velocities; those left out by name are zero"),
    "p": Key(Rows(formulas=False, alone=True), "momenta, instead of velocities"),
    "t": Key(Number(), "the time"),
})  # fmt: skip

RUN = Table("how it is simulated", {
    "duration": Key(Number(), ""),
    "step": Key(Number(), ""),
    "tolerance": Key(Number(), "instead of a step: the relative error to choose it for"),
    "method": Key(MethodOf(), ""),
    "every": Key(Count(), "keep every k-th state"),
    "project": Key(Flag(), "take the nearest start that satisfies the constraints"),
    "laws": Key(Laws(), "what the certificate watches"),
})  # fmt: skip

SIX = Numbers(((6,), (None, 6)))
BEAM_START = Table("where a beam by itself begins; without stress and at rest if left out", {
    "strain": Key(SIX, "of all edges, or of each: bending, twist and stretch"),
    "v": Key(SIX, "of all nodes, or of each: angular and linear velocity in the local frame"),
    "momentum": Key(SIX, "per length, instead of v"),
    "t": Key(Number(), "the time"),
})  # fmt: skip

BEAM_RUN = Table("how a beam by itself is simulated", {
    **{key: RUN.keys[key] for key in ("duration", "step", "every", "project")},
    "method": Key(SchemeOf(), ""),
})  # fmt: skip

EVENT = Table("a zero crossing to be located", {
    "expression": Key(Formula("state"), "", True),
    "direction": Key(Text(("both", "up", "down")), "whether it grows or falls"),
    "terminal": Key(Flag(), "whether the run ends there"),
})  # fmt: skip

TOP = {
    "title": Key(Text(), "what it is about"),
    "gravity": Key(VECTOR, "of a mechanism or a beam: the acceleration of gravity"),
}
TABLES = {
    "system": SYSTEM, "flow": FLOW, "drawing": DRAWING, "beam": ALONE, "start": START, "run": RUN,
}  # fmt: skip
BEAM_TABLES = {"start": BEAM_START, "run": BEAM_RUN}  # with a [beam] instead
MECHANISM = ("gravity", *PLAIN, *VERBS)
SECTIONS = ("title", "parameters", *MECHANISM, *TABLES, "events")
