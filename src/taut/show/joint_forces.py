"""What joints of a mechanism do and hold: angles, slides, forces and torques, by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taut.march.parts import JointView
from taut.march.trajectory import Trajectory
from taut.model.mechanism.words import motions
from taut.show.frames import part_of, shown_of

NUMBERS = 150_000  # multipliers that are solved for, each time for some states
STATES = (100, 4000)  # of them, at least and at most
USUAL, PEAK = 0.95, 6.0  # of the states, and times what is usual in them: a peak
LARGE, FEW = 200, 8  # constraints, from which on so few joints are looked at
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
