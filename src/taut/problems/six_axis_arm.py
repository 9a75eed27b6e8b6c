"""An arm of six axes that swings freely, read from a URDF file.

Six rigid bodies in a chain, hinges in turn about z, y, y, x, y, x, a hand held to the last of them;
x forward, z up, g = 9.81, no motors, no friction, no stops.  In the angles θ of the joints

    M(θ) θ̈ + c(θ, θ̇) + ∂U/∂θ = 0,

in taut six bodies with 12 coordinates each, 36 constraints of rigid bodies and 30 of hinges.  It
starts bent forward, turning about its column and about its last axis.  The light wrist is thrown
about by the heavy arm at up to 70 rad/s, and nearby motions part by a factor of ten in a fifth of
a second: hence a method of order 6.

Source: the file ``six_axis_arm.urdf`` beside this one, made up for this purpose; the state at t = 1
was computed from it by the articulated-body algorithm (Featherstone 1983, as in Pinocchio 4.1) and
by Kane's equations with Jacobians, both with DOP853 at tolerance 1e-13; they agree to 2e-11.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from taut.problems.base import Fact, Problem

if TYPE_CHECKING:
    from taut.model import Mechanism

FILE = Path(__file__).with_suffix(".urdf")
POSITIONS = {"joint_2": 0.9, "joint_3": 0.6, "joint_4": 0.4}
VELOCITIES = {"joint_1": 1.0, "joint_6": 2.0}
ENERGY = 507.23568090329843
LATER = (  # angles and rates at t = 1
    (3.003141647699, 4.088385796446, -0.106287058366, 10.745526261266, -7.527729085292,
     0.056302873872),
    (2.371110372889, -0.948431686509, 10.512226394516, 24.931873323724, -35.384294482947,
     -34.144482037491),
)  # fmt: skip


def six_axis_arm() -> Problem:
    """The arm, brakes off."""
    mechanism = arm(POSITIONS, VELOCITIES)
    q0, v0 = mechanism.start()
    names = [f"joint_{k}" for k in range(1, 7)]
    later = arm(*(dict(zip(names, values, strict=True)) for values in LATER))
    q1, v1 = later.start()
    return Problem(
        name="six-axis-arm",
        title="Arm of six axes swinging freely",
        system=mechanism.system(),
        q0=tuple(q0),
        v0=tuple(v0),
        step=0.002,
        duration=10.0,
        source="a URDF file",
        method="composition-6",
        facts=(
            Fact("the energy", "Pinocchio 4.1", energy=ENERGY, accuracy=1e-10),
            Fact(
                "state at t = 1", "articulated bodies and Kane's equations, DOP853 in angles",
                t=1.0, q=tuple(q1), v=tuple(v1), accuracy=1e-9,
            ),
        ),
    )  # fmt: skip


def arm(positions: dict[str, float], velocities: dict[str, float]) -> Mechanism:
    """The mechanism of the file with joints at these angles, turning at these rates."""
    read = import_module("taut.files.urdf").urdf  # of a room further up
    return read(FILE, positions=positions, velocities=velocities)
