"""Random trees and loops of bodies, and an independent code that moves them in joint angles.

The code knows every joint as turns about and slides along axes, one after the other (a ball is
three turns), and a body by what they make of its place at the start.  With Jacobians J of places
and turns, and what accelerates where no joint does,

    Σ Jᵀ (m a, I α + ω × I ω) = Σ Jᵀ (forces, torques) − Cᵀλ,      C θ̈ = −Ċ θ̇,

in NumPy, with C for the place at which a loop is closed, and integrated by DOP853.  taut has twelve
coordinates for a body and a constraint for everything that a joint does not let go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from random_models import (
    EXACT,
    NEAR,
    TRIES,
    Ends,
    Judged,
    Look,
    duration_of,
    judge,
    wrong_pull,
    wrong_work,
)
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import taut
from taut.model.mechanism import Mechanism

METHODS = ("rattle", "gauss-lobatto-4", "composition-4")
MOST = 4  # bodies


@dataclass(frozen=True)
class Axis:
    """A turn about or a slide along an axis, at the start in space."""

    slides: bool
    along: np.ndarray
    at: np.ndarray


@dataclass(frozen=True)
class Body:
    """One body of a tree, and the joint to its parent (−1 is the ground)."""

    parent: int
    joint: str
    axes: tuple[Axis, ...]
    at: np.ndarray
    turn: np.ndarray
    mass: float
    moments: np.ndarray


@dataclass(frozen=True)
class Spring:
    """Between places of two bodies at the start; of the ground, body −1."""

    between: tuple[int, int]
    ends: tuple[np.ndarray, np.ndarray]
    stiffness: float
    damping: float
    length: float


@dataclass(frozen=True)
class Tree:
    """Bodies, springs, gravity, and for a loop the place where the last body is held."""

    bodies: list[Body]
    springs: list[Spring]
    gravity: np.ndarray
    closed: np.ndarray | None
    flat: np.ndarray | None  # the common axis of a loop in a plane
    kinds: tuple[str, ...]

    @property
    def axes(self) -> list[tuple[int, Axis]]:
        """(body, axis) of all freedoms."""
        return [(i, x) for i, b in enumerate(self.bodies) for x in b.axes]


def drawn(seed: int) -> Tree:
    """The mechanism of this number."""
    random = np.random.default_rng(seed)
    count = int(random.integers(1, MOST + 1))
    loop = count >= 3 and random.random() < 0.5
    flat = _unit(random) if loop and random.random() < 0.6 else None
    bodies: list[Body] = []
    kinds = ["a loop in a plane" if flat is not None else "a loop" if loop else "a tree"]
    for i in range(count):
        parent = i - 1 if loop or i == 0 else int(random.integers(-1, i))
        base = bodies[parent].at if parent >= 0 else np.zeros(3)
        at, far = (base + random.uniform(-1, 1, 3) for _ in range(2))
        if flat is not None:
            at, far = (x - flat * (flat @ x) for x in (at, far))
        joint = "revolute" if flat is not None else str(random.choice(KINDS))
        axis = _unit(random) if flat is None else flat
        kinds.append(joint)
        bodies.append(
            Body(
                parent,
                joint,
                _axes(joint, axis, far),
                at,
                _turned(random.normal(size=3)),
                float(10.0 ** random.uniform(-1, 1)),
                _moments(random),
            )
        )
    springs = [_spring(random, bodies) for _ in range(int(random.integers(0, 3)))]
    kinds += ["spring and damper" if x.damping else "spring" for x in springs]
    closed = None
    if loop:
        closed = bodies[-1].at + random.uniform(-1, 1, 3)
        closed = closed if flat is None else closed - flat * (flat @ closed)
    return Tree(bodies, springs, 3 * _unit(random), closed, flat, tuple(kinds))


KINDS = ("revolute", "prismatic", "spherical", "cylindrical", "universal")


def _unit(random: np.random.Generator) -> np.ndarray:
    x = random.standard_normal(3)
    return x / np.linalg.norm(x)


def _turned(by: np.ndarray) -> np.ndarray:
    """The rotation about a vector, by its length."""
    return Rotation.from_rotvec(by).as_matrix()


def _moments(random: np.random.Generator) -> np.ndarray:
    """Of a solid body: the sum of two is more than the third."""
    a, b, c = random.uniform(0.05, 0.5, 3)
    return np.array([b + c, a + c, a + b])


def _axes(joint: str, axis: np.ndarray, at: np.ndarray) -> tuple[Axis, ...]:
    across = np.linalg.svd(axis[None])[2][1:]
    turns = [Axis(False, x, at) for x in (axis, *across)]
    slide = Axis(True, axis, at)
    return {
        "revolute": (turns[0],), "prismatic": (slide,), "cylindrical": (slide, turns[0]),
        "universal": (turns[0], turns[1]), "spherical": tuple(turns),
    }[joint]  # fmt: skip


def _spring(random: np.random.Generator, bodies: list[Body]) -> Spring:
    one, other = -1, int(random.integers(len(bodies)))
    ends = random.uniform(-1, 1, 3) - 2, bodies[other].at + random.uniform(-0.5, 0.5, 3)
    apart = float(np.linalg.norm(ends[0] - ends[1]))
    damping = float(random.uniform(0.1, 0.5)) * (random.random() < 0.4)
    return Spring((one, other), ends, float(random.uniform(0.5, 3)), damping, 0.8 * apart)


# ---- the independent code ------------------------------------------------------------------------


class Moving:
    """Where everything is, and how it moves, for some θ and θ̇."""

    def __init__(self, tree: Tree, theta: np.ndarray, rate: np.ndarray) -> None:
        self.tree, n = tree, len(theta)
        self.turned: list[np.ndarray] = []
        self.frames: list[tuple] = []
        k = 0
        for body in tree.bodies:
            # Of what the parent carries: turn D, and the image p of the place x₀ of the start.
            if body.parent < 0:
                turn, anchor, image = np.eye(3), np.zeros(3), np.zeros(3)
                spin, jt, bt = np.zeros(3), np.zeros((3, n)), np.zeros(3)
                speed, jp, bp = np.zeros(3), np.zeros((3, n)), np.zeros(3)
            else:
                (turn, anchor, image, spin, jt, bt, speed, jp, bp) = self.frames[body.parent]
            for axis in body.axes:
                # Go to the place of the axis first.
                image, speed, jp, bp = _carried(
                    turn @ (axis.at - anchor), image, spin, jt, bt, speed, jp, bp
                )
                anchor, along = axis.at, turn @ axis.along
                jt, jp = jt.copy(), jp.copy()
                if axis.slides:
                    # What is beyond slides by s along an axis that turns with what carries it.
                    s, v = theta[k], rate[k]
                    image, speed, jp, bp = _carried(s * along, image, spin, jt, bt, speed, jp, bp)
                    jp[:, k] += along
                    bp = bp + 2 * v * np.cross(spin, along)
                    speed = speed + v * along
                else:
                    bt = bt + np.cross(spin, along) * rate[k]
                    jt[:, k] += along
                    spin = spin + rate[k] * along
                    turn = turn @ _turned(theta[k] * axis.along)
                k += 1
            self.frames.append((turn, anchor, image, spin, jt, bt, speed, jp, bp))

    def place(self, body: int, at: np.ndarray) -> tuple[np.ndarray, ...]:
        """Of a place of the start on a body: where it is, its velocity, Jacobian and bias."""
        if body < 0:
            n = len(self.tree.axes)
            return at, np.zeros(3), np.zeros((3, n)), np.zeros(3)
        turn, anchor, image, spin, jt, bt, speed, jp, bp = self.frames[body]
        return _carried(turn @ (at - anchor), image, spin, jt, bt, speed, jp, bp)

    def pulls(self) -> Iterator[tuple[Spring, Any, np.ndarray]]:
        """(spring, what it pulls with, the direction from its first place to its second)."""
        for x in self.tree.springs:
            (p, u, *_), (q, w, *_) = (self.place(*y) for y in zip(x.between, x.ends, strict=True))
            apart = float(np.linalg.norm(q - p))
            along = (q - p) / apart
            yield x, x.stiffness * (apart - x.length) + x.damping * along @ (w - u), along

    def energy(self, zero: np.ndarray) -> float:
        """Kinetic, and potential with gravity's zero there."""
        found = 0.0
        for i, body in enumerate(self.tree.bodies):
            turn, _, _, spin, *_ = self.frames[i]
            at, speed, *_ = self.place(i, body.at)
            spin = (turn @ body.turn).T @ spin
            found += (body.mass * speed @ speed + body.moments @ spin**2) / 2
            found -= body.mass * self.tree.gravity @ (at - zero)
        for x in self.tree.springs:
            p, q = (self.place(*y)[0] for y in zip(x.between, x.ends, strict=True))
            found += x.stiffness * (np.linalg.norm(q - p) - x.length) ** 2 / 2
        return float(found)

    def forces(self) -> np.ndarray:
        """What its parent does to each body by their joint, which moves all that is beyond."""
        tree, (rate, closing) = self.tree, self._answer()
        force = np.zeros((len(tree.bodies), 3))
        force[-1] -= closing
        for i, body in enumerate(tree.bodies):
            _, _, jp, bp = self.place(i, body.at)
            force[i] += body.mass * (jp @ rate + bp - tree.gravity)
        for x, pull, along in self.pulls():
            for body, sign in zip(x.between, (1, -1), strict=True):
                if body >= 0:
                    force[body] -= sign * pull * along
        for i, body in reversed(list(enumerate(tree.bodies))):
            if body.parent >= 0:
                force[body.parent] += force[i]
        return force

    def acceleration(self) -> np.ndarray:
        """θ̈."""
        return self._answer()[0]

    def _answer(self) -> tuple[np.ndarray, np.ndarray]:
        """θ̈, and the force that closes a loop, on the last body."""
        tree, n = self.tree, len(self.tree.axes)
        mass, right = np.zeros((n, n)), np.zeros(n)
        for i, body in enumerate(tree.bodies):
            turn, _, _, spin, jt, bt, *_ = self.frames[i]
            _, _, jp, bp = self.place(i, body.at)
            axes = turn @ body.turn
            inertia = axes @ np.diag(body.moments) @ axes.T
            mass += body.mass * jp.T @ jp + jt.T @ inertia @ jt
            right += jp.T @ (body.mass * (tree.gravity - bp))
            right -= jt.T @ (inertia @ bt + np.cross(spin, inertia @ spin))
        for x, pull, along in self.pulls():
            jp, jq = (self.place(*y)[2] for y in zip(x.between, x.ends, strict=True))
            right += (jp - jq).T @ (pull * along)
        if tree.closed is None:
            return np.linalg.solve(mass, right), np.zeros(3)
        _, _, tie, bias = self.place(len(tree.bodies) - 1, tree.closed)
        across = np.eye(3) if tree.flat is None else np.linalg.svd(tree.flat[None])[2][1:]
        tie, bias = across @ tie, across @ bias
        free = np.linalg.solve(mass, np.column_stack([right, tie.T]))
        lam = np.linalg.solve(tie @ free[:, 1:], tie @ free[:, 0] + bias)
        return free[:, 0] - free[:, 1:] @ lam, -across.T @ lam

    def state(self) -> np.ndarray:
        """Places, velocities, turns and spins of all bodies, one after the other."""
        found = []
        for i, b in enumerate(self.tree.bodies):
            turn, _, _, spin, *_ = self.frames[i]
            found += [*self.place(i, b.at)[:2], (turn @ b.turn).ravel(), spin]
        return np.concatenate(found)


def _carried(arm, image, spin, jt, bt, speed, jp, bp) -> tuple[np.ndarray, ...]:
    """Place, velocity, Jacobian and bias of what is an arm away on the same rigid thing."""
    return (
        image + arm, speed + np.cross(spin, arm), jp + np.cross(jt.T, arm).T,
        bp + np.cross(bt, arm) + np.cross(spin, np.cross(spin, arm)),
    )  # fmt: skip


def rates(tree: Tree, seed: int) -> np.ndarray:
    """Random θ̇ at the start that keep a loop closed."""
    random, n = np.random.default_rng(seed + 10**6), len(tree.axes)
    return _kept(tree, random.uniform(-0.7, 0.7, n))


def _kept(tree: Tree, rate: np.ndarray) -> np.ndarray:
    """The nearest θ̇ at the start that keeps a loop closed."""
    n = len(rate)
    if tree.closed is None:
        return rate
    tie = Moving(tree, np.zeros(n), rate).place(len(tree.bodies) - 1, tree.closed)[2]
    return rate - np.linalg.pinv(tie, rcond=1e-9) @ (tie @ rate)


def ends(tree: Tree, rate: np.ndarray, duration: float) -> Moving:
    """Where DOP853 takes it."""
    n = len(rate)

    def slope(_: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[n:], Moving(tree, y[:n], y[n:]).acceleration()])

    begin = np.concatenate([np.zeros(n), rate])
    found = solve_ivp(slope, (0.0, duration), begin, method="DOP853", **EXACT)
    if not found.success:
        raise RuntimeError(found.message)
    return Moving(tree, found.y[:n, -1], found.y[n:, -1])


# ---- telling it to taut --------------------------------------------------------------------------


@dataclass(frozen=True)
class Telling:
    """Units, a turn of space and a place: x′ = λ R x + a."""

    length: float
    mass: float
    time: float
    turn: np.ndarray
    away: np.ndarray

    @property
    def energy(self) -> float:
        """The unit of energy."""
        return self.mass * self.length**2 / self.time**2

    def place(self, x: np.ndarray) -> np.ndarray:
        """Of a place of the model."""
        return self.length * (self.turn @ x) + self.away


def telling(seed: int) -> Telling:
    """A random one."""
    random = np.random.default_rng(seed + 2 * 10**6)
    length, mass, time = 10.0 ** random.uniform(-4, 4, 3)
    away = length * random.uniform(-10, 10, 3) * (random.random() < 0.5)
    return Telling(length, mass, time, _turned(random.normal(size=3)), away)


def told(tree: Tree, way: Telling, rate: np.ndarray) -> Mechanism:
    """The mechanism as taut is told it."""
    start = Moving(tree, np.zeros(len(rate)), rate)
    speed, force = way.length / way.time, way.mass * way.length / way.time**2
    m = Mechanism(gravity=tuple(way.length / way.time**2 * (way.turn @ tree.gravity)))
    parts = []
    for i, b in enumerate(tree.bodies):
        parts.append(
            m.body(
                f"b{i}",
                mass=way.mass * b.mass,
                inertia=way.mass * way.length**2 * b.moments,
                at=way.place(b.at),
                rotation=way.turn @ b.turn,
                velocity=speed * (way.turn @ start.place(i, b.at)[1]),
                angular_velocity=way.turn @ start.frames[i][3] / way.time,
            )
        )
    for i, b in enumerate(tree.bodies):
        other = parts[b.parent] if b.parent >= 0 else m.ground
        axes = [way.turn @ x.along for x in b.axes]
        more = {"spherical": {}, "universal": {"axes": axes}}.get(b.joint, {"axis": axes[0]})
        getattr(m, b.joint)(f"j{i}", other, parts[i], at=way.place(b.axes[0].at), **more)
    if tree.closed is not None:
        last = (m.ground, parts[-1])
        if tree.flat is None:
            m.spherical("closing", *last, at=way.place(tree.closed))
        else:
            axis = way.turn @ tree.flat
            m.revolute("closing", *last, at=way.place(tree.closed), axis=axis)
    for k, x in enumerate(tree.springs):
        sides = [m.ground if i < 0 else parts[i] for i in x.between]
        m.spring(
            f"s{k}", *sides, stiffness=force / way.length * x.stiffness,
            damping=force / speed * x.damping, length=way.length * x.length,
            ends=[way.place(y) for y in x.ends],
        )  # fmt: skip
    return m


def growth(tree: Tree, seed: int, rate: np.ndarray, duration: float) -> float:
    """As `random_models.Reference.growth`, of velocities at the start."""
    random, found = np.random.default_rng(seed + 5 * 10**6), 1.0
    begin = Moving(tree, np.zeros(len(rate)), rate).state()
    truth = ends(tree, rate, duration).state()
    for _ in range(TRIES):
        beside = _kept(tree, rate + NEAR * random.standard_normal(len(rate)))
        apart = np.abs(Moving(tree, np.zeros(len(rate)), beside).state() - begin).max()
        if apart > 0:
            moved = ends(tree, beside, duration).state()
            found = max(found, float(np.abs(moved - truth).max() / apart))
    return found


def seen(tree: Tree, way: Telling, run: taut.Trajectory) -> np.ndarray:
    """`Moving.state` of the end of a run."""
    found = []
    for i in range(len(tree.bodies)):
        body = run[f"b{i}"]
        found += [
            way.turn.T @ (body.position[-1] - way.away) / way.length,
            way.turn.T @ body.velocity[-1] * way.time / way.length,
            (way.turn.T @ body.rotation[-1]).ravel(),
            way.turn.T @ body.angular_velocity[-1] * way.time,
        ]
    return np.concatenate(found)


def in_truth(tree: Tree, way: Telling, start: Moving, truth: Moving) -> Ends:
    """Forces of joints at the end, work and energy, as taut should find them."""
    zero = -way.turn.T @ way.away / way.length
    first, last = (x.energy(zero) for x in (start, truth))
    return Ends(NONE, NONE, _known(tree, truth.forces()), last - first, first)


def brought_back(tree: Tree, way: Telling, run: taut.Trajectory) -> Ends:
    """The same, as taut finds them."""
    unit = way.energy / way.length
    forces = [way.turn.T @ run[f"j{i}"].force[-1] / unit for i in range(len(tree.bodies))]
    work, energy = (x / way.energy for x in (run.certificate.work, run.certificate.energy0))
    return Ends(NONE, NONE, _known(tree, np.array(forces)), work, energy)


NONE = np.zeros(0)  # of coordinates


def _known(tree: Tree, forces: np.ndarray) -> np.ndarray:
    """Those parts of forces that equations of motion determine: across the axes of a flat loop."""
    if tree.flat is None:
        return forces
    return forces - np.outer(forces @ tree.flat, tree.flat)


def judged(seed: int) -> Judged | None:
    """As `random_models.judged`; None where a loop leaves no freedom, or the motion runs away."""
    tree, way, duration = drawn(seed), telling(seed), duration_of(seed)
    if tree.closed is not None and len(tree.axes) <= (3 if tree.flat is None else 2):
        return None
    rate = rates(tree, seed)
    start = Moving(tree, np.zeros(len(rate)), rate)
    try:
        truth = ends(tree, rate, duration)
    except (RuntimeError, np.linalg.LinAlgError):
        return None
    made = Judged(seed, tree.kinds, METHODS[seed % 3], np.nan, {}, None, [])
    m = told(tree, way, rate)

    def run_of(steps: int) -> taut.Trajectory:
        step = duration * way.time / steps
        return taut.simulate(
            m, step=step, duration=duration * way.time, method=made.method, laws=None
        )

    def error_of(run: taut.Trajectory) -> float:
        return float(np.abs(seen(tree, way, run) - truth.state()).max())

    size = max(np.abs([truth.state(), start.state()]).max(), 1.0)
    look = Look(run_of, error_of, lambda: growth(tree, seed, rate, duration), size, duration)
    run = judge(made, look)
    if run is not None:
        found, known = brought_back(tree, way, run), in_truth(tree, way, start, truth)
        made.wrong += wrong_pull(sum(b.mass for b in tree.bodies), found, known, made.error)
        made.wrong += wrong_work(way.energy, run, found, known, made.error)
    return made
