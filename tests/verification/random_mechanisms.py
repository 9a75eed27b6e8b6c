"""Random trees and loops of bodies, and an independent code that moves them in joint angles.

The code knows every joint as turns about and slides along axes, one after the other (a ball is
three turns), and a body by what they make of its place at the start.  With Jacobians J of places
and turns, and what accelerates where no joint does,

    Σ Jᵀ (m a, I α + ω × I ω) = Σ Jᵀ (forces, torques) − Cᵀλ,      C θ̈ = −Ċ θ̇,

in NumPy, with C for the place at which a loop is closed, and integrated by DOP853.  taut has twelve
coordinates for a body and a constraint for everything that a joint does not let go.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from random_models import (
    DURATION,
    EXACT,
    STEPS,
    Judged,
    wrong_path,
    wrong_words,
)
from scipy.integrate import solve_ivp

import taut
from taut.lie import SO3
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
                SO3.exp(random.normal(size=(1, 3)))[0],
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
                    turn = turn @ SO3.exp((theta[k] * axis.along)[None])[0]
                k += 1
            self.frames.append((turn, anchor, image, spin, jt, bt, speed, jp, bp))

    def place(self, body: int, at: np.ndarray) -> tuple[np.ndarray, ...]:
        """Of a place of the start on a body: where it is, its velocity, Jacobian and bias."""
        if body < 0:
            n = len(self.tree.axes)
            return at, np.zeros(3), np.zeros((3, n)), np.zeros(3)
        turn, anchor, image, spin, jt, bt, speed, jp, bp = self.frames[body]
        return _carried(turn @ (at - anchor), image, spin, jt, bt, speed, jp, bp)

    def acceleration(self) -> np.ndarray:
        """θ̈."""
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
        for x in tree.springs:
            (p, u, jp, _), (q, w, jq, _) = (
                self.place(*y) for y in zip(x.between, x.ends, strict=True)
            )
            apart = np.linalg.norm(q - p)
            along = (q - p) / apart
            pull = x.stiffness * (apart - x.length) + x.damping * along @ (w - u)
            right += (jp - jq).T @ (pull * along)
        if tree.closed is None:
            return np.linalg.solve(mass, right)
        _, _, tie, bias = self.place(len(tree.bodies) - 1, tree.closed)
        if tree.flat is not None:
            across = np.linalg.svd(tree.flat[None])[2][1:]
            tie, bias = across @ tie, across @ bias
        free = np.linalg.solve(mass, np.column_stack([right, tie.T]))
        lam = np.linalg.solve(tie @ free[:, 1:], tie @ free[:, 0] + bias)
        return free[:, 0] - free[:, 1:] @ lam


def _carried(arm, image, spin, jt, bt, speed, jp, bp) -> tuple[np.ndarray, ...]:
    """Place, velocity, Jacobian and bias of what is an arm away on the same rigid thing."""
    return (
        image + arm, speed + np.cross(spin, arm), jp + np.cross(jt.T, arm).T,
        bp + np.cross(bt, arm) + np.cross(spin, np.cross(spin, arm)),
    )  # fmt: skip


def rates(tree: Tree, seed: int) -> np.ndarray:
    """Random θ̇ at the start that keep a loop closed."""
    random, n = np.random.default_rng(seed + 10**6), len(tree.axes)
    rate = random.uniform(-0.7, 0.7, n)
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

    def place(self, x: np.ndarray) -> np.ndarray:
        """Of a place of the model."""
        return self.length * (self.turn @ x) + self.away


def telling(seed: int) -> Telling:
    """A random one."""
    random = np.random.default_rng(seed + 2 * 10**6)
    length, mass, time = 10.0 ** random.uniform(-4, 4, 3)
    away = length * random.uniform(-10, 10, 3) * (random.random() < 0.5)
    return Telling(length, mass, time, SO3.exp(random.normal(size=(1, 3)))[0], away)


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


def gap(tree: Tree, way: Telling, run: taut.Trajectory, truth: Moving) -> float:
    """How far bodies are from where they should be: places, velocities, turns and spins."""
    found = 0.0
    for i, b in enumerate(tree.bodies):
        seen = run[f"b{i}"]
        at, speed, *_ = truth.place(i, b.at)
        turn, spin = truth.frames[i][0] @ b.turn, truth.frames[i][3]
        pairs = (
            (way.turn.T @ (seen.position[-1] - way.away) / way.length, at),
            (way.turn.T @ seen.velocity[-1] * way.time / way.length, speed),
            (way.turn.T @ seen.rotation[-1], turn),
            (way.turn.T @ seen.angular_velocity[-1] * way.time, spin),
        )
        found = max(found, *(float(np.abs(x - y).max()) for x, y in pairs))
    return found


def judged(seed: int) -> Judged | None:
    """As `random_models.judged`; None where a loop leaves no freedom, or the motion runs away."""
    tree, way = drawn(seed), telling(seed)
    if tree.closed is not None and len(tree.axes) <= (3 if tree.flat is None else 2):
        return None
    rate = rates(tree, seed)
    try:
        truth = ends(tree, rate, DURATION)
    except (RuntimeError, np.linalg.LinAlgError):
        return None
    made = Judged(seed, tree.kinds, METHODS[seed % 3], np.nan, {}, None, [])
    duration = DURATION * way.time
    try:
        m = told(tree, way, rate)
        runs = [
            taut.simulate(
                m, step=duration / steps, duration=duration, method=made.method, laws=None
            )
            for steps in (STEPS, 2 * STEPS)
        ]
    except taut.TautError as error:
        made.refused = str(error).splitlines()[0]
        return made
    errors = [gap(tree, way, run, truth) for run in runs]
    made.error = errors[1]
    made.said = {name: word for name, _, word in runs[1].certificate.rows()}
    made.wrong = [
        *wrong_path(runs[1].method.order, errors), *wrong_words(runs[1], errors[1])
    ]  # fmt: skip
    return made
