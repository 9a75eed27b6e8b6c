"""What joints of a mechanism do and hold, and what springs and motors do, by name."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from taut.march.force_parts import ActingView
from taut.march.parts import JointView
from taut.march.trajectory import Trajectory
from taut.model.mechanism.forces import Acting
from taut.model.mechanism.words import motions
from taut.show.frames import part_of, shown_of

NUMBERS = 150_000  # multipliers that are solved for, each time for some states
STATES = (100, 4000)  # of them, at least and at most
USUAL, PEAK = 0.95, 6.0  # of the states, and times what is usual in them: a peak
LARGE, FEW = 200, 8  # constraints, from which on so few joints are looked at
ASKED, LOOKS = 40, 200  # forces that are followed; of more, those that do most at so many states
NOTHING = 1e-11  # of the largest force, times the size of the mechanism: a torque that is rounding


@dataclass(frozen=True)
class Held:
    """A joint and what it does to its second part.

    Attributes
    ----------
    name : str
    force, torque : ndarray, shape (N, 3)
        In space; the torque about the joint.
    """

    name: str
    force: np.ndarray
    torque: np.ndarray

    @property
    def size(self) -> np.ndarray:
        """|force|, or |torque| of a joint without force, shape (N,)."""
        return np.linalg.norm(self.force if self.force.any() else self.torque, axis=1)


def held_in(run: Trajectory, most: int) -> tuple[np.ndarray, list[Held], int]:
    """Times, joints in the order of the mechanism, and how many others hold less.

    Parameters
    ----------
    run : Trajectory
        A single one of a mechanism.
    most : int
        Joints that are looked at: those with the largest multipliers; of large mechanisms fewer.
    """
    most = most if run.system.c <= LARGE else min(most, FEW)
    few = _few_states(run)
    joints = [x for x in run.system.mechanism.joints.values() if x.rows]
    multipliers = np.nan_to_num(np.abs(few.multipliers).max(axis=0))
    number = {name: i for i, name in enumerate(run.system.constraint_names)}
    sizes = [max(multipliers[number[row]] for row in joint.rows) for joint in joints]
    chosen = sorted(np.argsort(sizes, kind="stable")[::-1][:most].tolist())
    found = [_held(few, joints[k]) for k in chosen]
    length = float(np.abs(run.q[0]).max(initial=0.0)) or 1.0
    largest = max((float(np.nanmax(np.abs(x.force))) for x in found), default=0.0)
    small = NOTHING * max(largest * length, 1e-300)
    found = [Held(x.name, _plain(x.force, small), _plain(x.torque, small)) for x in found]
    acting = [x for x in found if x.force.any() or x.torque.any()]
    return few.t, acting, len(joints) - len(chosen)


def motions_in(run: Trajectory) -> list[tuple[str, np.ndarray]]:
    """Names of joints and how far they have turned or slid, those that move most first."""
    found = []
    for joint in run.system.mechanism.joints.values():
        kinds = motions(joint.kind) if joint.triad else ()
        for kind in kinds:
            name = joint.name if len(kinds) == 1 else f"{joint.name}, {kind}"
            found.append((name, getattr(JointView(run, joint), kind)))
    return sorted(found, key=lambda x: -np.ptp(np.nan_to_num(x[1])))


def efforts_in(
    run: Trajectory, turning: bool, names: Collection[str] = ()
) -> tuple[list[tuple[str, np.ndarray]], int]:
    """Springs, ropes, dampers and motors, or those in hinges, by name: the force or torque of each.

    Of `names`, or of those that do something, the largest first; with them how many are left out.
    What makes the length, the slide or the angle grow is positive: a spring that is stretched
    pulls with less than zero.
    """
    every = [x for x in run.system.mechanism.forces.values() if isinstance(x, Acting)]
    forces = [x for x in every if (x.measure.kind == "angle") == turning]
    if names:
        return [(x.name, ActingView(run, x).effort) for x in forces if x.name in names], 0
    left_out = max(len(forces) - ASKED, 0)
    if left_out:
        rows = np.unique(np.linspace(0, max(shown_of(run), 1) - 1, LOOKS).astype(int))
        some = part_of(run, rows)
        sizes = [_largest(ActingView(some, x).effort) for x in forces]
        forces = [forces[k] for k in np.argsort(sizes, kind="stable")[::-1][:ASKED]]
    found = [(x.name, ActingView(run, x).effort) for x in forces]
    found = [x for x in found if _largest(x[1]) > 0.0]
    return sorted(found, key=lambda x: -_largest(x[1])), left_out


def _largest(values: np.ndarray) -> float:
    return float(np.nanmax(np.abs(values), initial=0.0))


def _few_states(run: Trajectory) -> Trajectory:
    """Those before a blow-up, as many as can be solved for in a second or so."""
    most = int(np.clip(NUMBERS // max(run.system.c, 1), *STATES))
    many = max(shown_of(run), 1)
    return part_of(run, np.unique(np.linspace(0, many - 1, min(most, many)).astype(int)))


def _held(run: Trajectory, joint: object) -> Held:
    seen = JointView(run, joint)  # type: ignore[arg-type]
    return Held(seen.joint.name, seen.force, seen.torque)


def _plain(values: np.ndarray, small: float) -> np.ndarray:
    """Zero where there is nothing but rounding."""
    return values if np.nanmax(np.abs(values), initial=0.0) > small else np.zeros_like(values)
