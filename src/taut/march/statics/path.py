"""Paths of equilibria: load factors from 0 to 1, in steps of loads or of arc length.

In steps of loads the whole load is tried first, and a step that fails is halved.  So is one after
which the energy falls in more or fewer directions than before: Newton's method may have found an
equilibrium of another path.  Where that happens in a short step too, and nodes move as the tangent
said they would, it is believed (a column that is pressed beyond its critical load stays straight).

By arc length (Riks 1979; Crisfield 1981) the load factor is an unknown, and the distance from the
last equilibrium is given instead, so that the path is followed through limit points, where loads
fall.  With weights w of the nodes and ρ a quarter of the length, the distance is

    ℓ² = Σ w (|x − x₀|² + ρ² (3 − tr R₀ᵀR))/Σ w,

a cylinder: the load factor does not count.  Newton's method solves balance and distance together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taut.lie import SO3
from taut.march.statics.applied import Applied
from taut.march.statics.balance import HalfTurn, State
from taut.march.statics.moves import moved
from taut.march.statics.newton import LIMIT, Failed, Linear, Newton, Right, Solved, diverges
from taut.march.statics.stability import Falls, falls
from taut.progress import Progress

SMALLEST = 2.0**-26  # of the whole load: a step that is not halved any more
SLOW = 2.0**-14  # of the load so far: the same
SURE = 2.0**-6  # of the whole load: a step across which a change of stability may be believed
EXPECTED = 0.2  # of a motion: by how much it may differ from what was expected
TURN = 1.5  # radians that an end is turned by in one step
FIRST = 0.05  # load factor of the first step along an arc
QUICK = 5  # iterations after which a step along an arc is as long as it should be
SHORTEST = 1e-8  # of the first step along an arc
LONGEST = 0.01  # of the length of the beams: a step along an arc, unless the first one is longer
MANY = 500  # steps along an arc, unless a number is given


@dataclass(frozen=True)
class Stage:
    """An equilibrium on a path."""

    load_factor: float
    solved: Solved
    falls: Falls | None


class Stuck(Exception):
    """A path that cannot be followed further, and why."""


@dataclass(frozen=True)
class Way:
    """From what acts at load factor 0 to what acts at 1."""

    newton: Newton
    begin: Applied
    end: Applied
    idle: int  # rigid motions that nothing determines where it starts

    def at(self, factor: float) -> Applied:
        return self.end if factor == 1.0 else self.begin.towards(self.end, factor)

    def stage(self, factor: float, solved: Solved) -> Stage:
        """What was found, with its stability."""
        return Stage(factor, solved, falls(self.newton, solved.state, self.at(factor)))


def load_steps(way: Way, stages: list[Stage], steps: int | None, progress: Progress) -> None:
    """Append equilibria at load factors up to 1: at `steps` equal ones, or as few as will do."""
    last = stages[-1]
    marks = [1.0] if steps is None else [(k + 1) / steps for k in range(steps)]
    turned = np.linalg.norm((way.end.moved - way.begin.moved)[:, :3], axis=1).max(initial=0.0)
    longest = min(1.0, TURN / max(turned, 1e-300))
    step = marks[0]
    for mark in marks:
        while last.load_factor < mark:
            aim = last.load_factor + min(step, longest)
            aim = mark if aim > mark - 1e-9 else aim
            try:
                found = way.stage(aim, way.newton.solve(last.solved.state, way.at(aim)))
                if _change(found, last) and not _believed(way, last, found):
                    raise Failed("stability changes: this may be another path")
            except Failed as error:
                step = (aim - last.load_factor) / 2
                if step < max(SMALLEST, SLOW * last.load_factor):
                    if len(stages) > 1 and _change(stages[-1], stages[-2]):
                        stages.pop()  # it lies on the far side of a limit point
                    raise Stuck(str(error)) from error
                continue
            progress.add(round(1000 * aim) - round(1000 * last.load_factor))
            step = (aim - last.load_factor) * _growth(found.solved.iterations)
            last = found
            if steps is None or aim == mark:
                stages.append(found)


def _change(one: Stage, other: Stage) -> int:
    """In how many more, or fewer, directions the energy falls; 0 if that is not known."""
    return 0 if one.falls is None or other.falls is None else one.falls.apart(other.falls)


def _believed(way: Way, last: Stage, found: Stage) -> bool:
    """Whether stability changes on the way: the step is short, and goes where the tangent leads."""
    factor, more = last.load_factor, found.load_factor - last.load_factor
    if more > SURE:
        return False
    linear = Linear(way.newton, last.solved.state, way.at(factor))
    return _as_expected(way, last, found, more * _ahead(way, linear, factor))


def _as_expected(way: Way, last: Stage, found: Stage, expected: np.ndarray) -> bool:
    """Whether the motion between two stages is the expected one."""
    state = last.solved.state
    arc, motion = Arc(way.newton, state), _motion(state.pose, found.solved.state.pose)
    return arc.length(motion - expected) <= EXPECTED * arc.length(motion)


def _ahead(way: Way, linear: Linear, factor: float) -> np.ndarray:
    """Where the tangent of an equilibrium leads, per load factor."""
    right, ends = _pushed(way, linear, factor)
    return linear.freedoms.nodal(linear.solve(right)[0]) + ends


def _growth(iterations: int) -> float:
    """By how much the next step may be larger than one that took so many iterations."""
    return 2.0 if iterations <= 4 else 1.4 if iterations <= 6 else 1.0


# ---- arc length ------------------------------------------------------------------------------


class Arc:
    """Distances from an equilibrium."""

    def __init__(self, newton: Newton, origin: State) -> None:
        mesh = newton.balance.mesh
        self.origin = origin
        self.weight = mesh.weight / mesh.weight.sum()
        self.turning = (0.25 * newton.balance.length) ** 2

    def square(self, pose: np.ndarray) -> float:
        """ℓ²."""
        old = self.origin.pose
        shift = np.sum((pose[:, :3, 3] - old[:, :3, 3]) ** 2, axis=1)
        trace = np.einsum("nij,nij->n", old[:, :3, :3], pose[:, :3, :3])
        return float(self.weight @ (shift + self.turning * (3 - trace)))

    def slope(self, pose: np.ndarray) -> np.ndarray:
        """∂ℓ²/∂η of all nodes, shape (N, 6)."""
        old, frame = self.origin.pose, pose[:, :3, :3]
        both = np.swapaxes(old[:, :3, :3], 1, 2) @ frame
        half = 0.5 * (both - np.swapaxes(both, 1, 2))
        angular = self.turning * SO3.vee(half)
        linear = np.einsum("nji,nj->ni", frame, pose[:, :3, 3] - old[:, :3, 3])
        return 2 * self.weight[:, None] * np.hstack([angular, linear])

    def length(self, eta: np.ndarray) -> float:
        """ℓ of a small motion."""
        each = self.turning * np.sum(eta[:, :3] ** 2, axis=1) + np.sum(eta[:, 3:] ** 2, axis=1)
        return float(np.sqrt(self.weight @ each))


def _pushed(way: Way, linear: Linear, factor: float) -> tuple[Right, np.ndarray]:
    """∂r/∂λ, and η of the ends that are moved on, for a load factor that grows."""
    balance, pose = way.newton.balance, linear.state.pose
    more = balance.loads(pose, way.end) - balance.loads(pose, way.begin)
    right = Right(linear.freedoms.reduced(more), np.zeros(linear.graded.stresses))
    ends = np.zeros((len(pose), 6))
    if not np.array_equal(way.begin.moved, way.end.moved):
        small = 1e-6
        before, after = (
            way.newton.misplaced(pose, way.at(factor + change), linear.freedoms)
            for change in (-small, small)
        )
        ends = (after - before) / (2 * small)
        right = right.without(linear.pushed(ends))
    return right, ends


def arc_steps(way: Way, stages: list[Stage], steps: int | None, progress: Progress) -> None:
    """Append equilibria along the path until the load factor is 1, or `steps` of them."""
    newton, state = way.newton, stages[-1].solved.state
    factor, length, first = 0.0, 0.0, 0.0
    before: np.ndarray | None = None  # where the path went last, as a motion of the nodes
    while len(stages) <= (MANY if steps is None else steps):
        try:
            linear = Linear(newton, state, way.at(factor))
            ahead = _ahead(way, linear, factor)
        except (Failed, HalfTurn) as error:
            raise Stuck(str(error)) from error
        arc = Arc(newton, state)
        speed = arc.length(ahead)
        if speed == 0.0:
            raise Stuck("the loads do not move anything")
        if not first:
            first = length = FIRST * speed
        sign = 1.0 if before is None or np.sum(ahead * before) >= 0 else -1.0
        try:
            part = sign * length / speed
            after, solved = _along(way, state, factor, arc, length, part * ahead, part)
            found = way.stage(after, solved)
            expected = part * ahead
            if _change(found, stages[-1]) and not _as_expected(way, stages[-1], found, expected):
                raise Failed("stability changes: this may be another path")
            if (factor - 1) * (after - 1) <= 0:  # 1 lies on the way
                last = newton.solve(solved.state, way.end)
                if arc.square(last.state.pose) > (1.5 * length) ** 2:
                    raise Failed("the load factor 1 is elsewhere")
                after, solved = 1.0, last
                found = way.stage(after, solved)
        except (Failed, HalfTurn) as error:
            length /= 2
            if length < SHORTEST * first:
                raise Stuck(str(error)) from error
            continue
        before = _motion(state.pose, solved.state.pose)
        progress.add(1)
        stages.append(found)
        if after == 1.0:
            return
        state, factor = solved.state, after
        length *= float(np.clip(np.sqrt(QUICK / max(solved.iterations, 1)), 0.5, 1.5))
        length = min(length, max(4 * first, LONGEST * newton.balance.length))
    if steps is None:
        raise Stuck(f"the load factor was not 1 after {MANY} steps")


def _along(
    way: Way, state: State, factor: float, arc: Arc, length: float, eta: np.ndarray, more: float
) -> tuple[float, Solved]:
    """The equilibrium at a distance, from a first motion η and a change of the load factor."""
    newton, sizes = way.newton, []
    state, factor = moved(newton.balance, state, eta), factor + more
    for iteration in range(LIMIT):
        linear = Linear(newton, state, way.at(factor))
        right, ends = _pushed(way, linear, factor)
        both, stress = linear.solve(linear.right.beside(right))
        first = linear.freedoms.nodal(both[:, 0]) + linear.offset
        second = linear.freedoms.nodal(both[:, 1]) + ends
        slope = arc.slope(state.pose)
        off = arc.square(state.pose) - length**2 + np.sum(slope * first)
        change = -float(off / np.sum(slope * second))
        eta = first + change * second
        sizes.append(newton.size(eta))
        if diverges(sizes):
            break
        state = moved(newton.balance, state, eta, stress[:, :, 0] + change * stress[:, :, 1])
        factor = factor + change
        if sizes[-1] <= newton.tolerance:
            return factor, Solved(state, iteration + 1, sizes[-1])
    raise Failed("Newton's method did not converge along the arc")


def _motion(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """From old poses to new ones as η in the new frames, for its direction."""
    both = np.swapaxes(old[:, :3, :3], 1, 2) @ new[:, :3, :3]
    angular = SO3.vee(0.5 * (both - np.swapaxes(both, 1, 2)))
    linear = np.einsum("nji,nj->ni", new[:, :3, :3], new[:, :3, 3] - old[:, :3, 3])
    return np.hstack([angular, linear])
