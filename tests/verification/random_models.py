"""Random systems in random units, frames and places, and an independent code that moves them.

A model is drawn in units in which its masses, lengths and times are about one, and so it is
integrated here: the equations are differentiated by SymPy until nothing but ordinary ones is left,

    M a + Gᵀλ = L_q + f − L_vq v − L_vt,      G a = −(vᵀ g_qq v + 2 g_qt v + g_tt),

or, of a Hamiltonian, q̇ = H_p, ṗ = −H_q + f − Gᵀλ with λ from the second derivative of g, and
given to DOP853, with the work ∫ (f·v + λ·g_t − L_t) dt as one more unknown.  Nothing of that is
taut's.  taut is told the same model in other units of length, mass and time, in a frame that is
turned, at another place, and each constraint in a unit of its own; what it finds is brought back.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp

import taut
from taut.model.system import System

MOST = 8  # coordinates
LARGE = 4  # coordinates from which on models are simpler, and methods cheaper
EXACT = {"rtol": 1e-12, "atol": 1e-13}
PATIENCE, AWAY = 20_000, 20.0  # evaluations; units: what goes on longer or farther is left out
NEAR, TRIES = 1e-6, 2  # motions beside the one that is looked at: how far, and how many
T = sp.Symbol("T", real=True)  # the time of a model


class Ends(NamedTuple):
    """Where a motion is at the end, in the units of the model."""

    q: np.ndarray
    v: np.ndarray
    pull: np.ndarray  # Gᵀλ
    work: float
    energy: float  # at the start, without potentials that depend on time: they count as forces


@dataclass(frozen=True)
class Model:
    """A random system: expressions of q, of v or p, and of T."""

    seed: int
    q: sp.Matrix
    w: sp.Matrix  # velocities, or momenta if it is Hamiltonian
    energy: sp.Expr  # L or H
    constraints: list[sp.Expr]
    forces: sp.Matrix  # f(q, v, T)
    speeds: sp.Matrix  # the symbols of velocities in them
    masses: np.ndarray  # units of mass of the coordinates
    hamiltonian: bool
    kinds: tuple[str, ...]

    @property
    def n(self) -> int:
        """The number of coordinates."""
        return len(self.q)

    @property
    def conservative(self) -> bool:
        """Whether nothing depends on time and no force acts."""
        written = [self.energy, *self.constraints]
        return not any(e.has(T) for e in written) and self.forces.is_zero_matrix is True


# ---- drawing a model -----------------------------------------------------------------------------


def drawn(seed: int) -> Model:
    """The model of this number."""
    return _Drawer(seed).model()


class _Drawer:
    def __init__(self, seed: int) -> None:
        self.seed, self.random = seed, np.random.default_rng(seed)
        self.n = int(self.random.integers(1, MOST + 1))
        self.q = sp.Matrix([sp.Symbol(f"x{i}", real=True) for i in range(self.n)])
        self.v = sp.Matrix([sp.Symbol(f"u{i}", real=True) for i in range(self.n)])
        self.p = sp.Matrix([sp.Symbol(f"y{i}", real=True) for i in range(self.n)])
        self.kinds: list[str] = []

    def model(self) -> Model:
        """All of it."""
        hamiltonian = self.chance(0.25)
        masses = np.ones(self.n)
        if self.chance(0.3):
            masses = 10.0 ** self.random.uniform(-6, 6, self.n)
            self.kinds.append("masses over 12 decades")
        mass = self.mass()
        # Each coordinate has a scale of forces of its own, so that its motion takes about one.
        potential = self.potential(masses)
        root = sp.diag(*[sp.Float(x) for x in np.sqrt(masses)])
        w = self.p if hamiltonian else self.v
        if hamiltonian:
            kinetic = self.separate(root.inv() * self.p, mass)
            energy = kinetic + potential
        else:
            kinetic = ((root * self.v).T * mass * (root * self.v))[0] / 2
            energy = kinetic - potential + self.gyroscopic(masses)
        constraints = self.constraints()
        forces = self.forces(masses)
        kind = "Hamiltonian" if hamiltonian else "Lagrangian"
        return Model(
            self.seed, self.q, w, energy, constraints, forces, self.v, masses, hamiltonian,
            (kind, *self.kinds),
        )  # fmt: skip

    def chance(self, p: float) -> bool:
        return bool(self.random.random() < p)

    def number(self, low: float = 0.3, high: float = 1.5) -> sp.Float:
        return sp.Float(round(float(self.random.uniform(low, high)), 4))

    def sign(self) -> int:
        return 1 if self.chance(0.5) else -1

    def one(self) -> sp.Symbol:
        return self.q[int(self.random.integers(self.n))]

    def along(self) -> sp.Expr:
        """A linear function of two or three coordinates."""
        picked = self.random.permutation(self.n)[: int(self.random.integers(1, 4))]
        return sum((self.sign() * self.number() * self.q[int(i)] for i in picked), sp.S.Zero)

    def clock(self) -> sp.Expr:
        """A function of time about one."""
        return 1 + self.number(0.1, 0.4) * sp.sin(self.number(1, 3) * T + self.number(0, 3))

    def mass(self) -> sp.Matrix:
        """A positive definite one."""
        n, kind = self.n, int(self.random.integers(4 if self.n <= LARGE else 2))
        found = sp.diag(*[self.number(0.5, 2) for _ in range(n)])
        if kind == 1:
            part = 0.3 * self.random.standard_normal((n, n))
            part = (part @ part.T).round(6)
            found += sp.Matrix(n, n, lambda i, j: sp.Float(part[i, j]))
            self.kinds.append("full mass matrix")
        elif kind > 1:
            for i in range(n):
                found[i, i] += self.number(0.2, 0.5) * (1 + sp.sin(self.along()))
            if n > 1 and kind == 3:
                i, j = (int(k) for k in self.random.permutation(n)[:2])
                found[i, j] = found[j, i] = self.number(0.1, 0.3) * sp.cos(self.one())
            self.kinds.append("M(q)")
            if self.chance(0.15):
                found *= self.clock()
                self.kinds.append("M(q, t)")
        return found

    def separate(self, p: sp.Matrix, mass: sp.Matrix) -> sp.Expr:
        """A kinetic energy of momenta, of which more than the square may be used."""
        mass = sp.diag(*mass.diagonal())
        square = (p.T * mass * p)[0]
        if self.chance(0.5):
            self.kinds.append("relativistic")
            return sp.sqrt(1 + square)
        extra = self.number(0.05, 0.2) * sp.cos(p[0] + self.one())
        self.kinds.append("not separable")
        return square / 2 + extra

    def gyroscopic(self, masses: np.ndarray) -> sp.Expr:
        """v·A(q): forces that do no work."""
        if self.n < 2 or not self.chance(0.3):
            return sp.S.Zero
        self.kinds.append("gyroscopic")
        i, j = (int(k) for k in self.random.permutation(self.n)[:2])
        size = sp.Float(min(masses[i], masses[j]))
        bend = sp.sin(self.q[j]) if self.chance(0.5) else self.q[j]
        return size * self.number() * self.v[i] * bend

    def potential(self, masses: np.ndarray) -> sp.Expr:
        """Each coordinate held by a spring, and what couples some of them."""
        found = sp.S.Zero
        for x, m in zip(self.q, masses, strict=True):
            found += sp.Float(m) * self.number() * x**2 / 2
        for _ in range(int(self.random.integers(1, 4))):
            found += self.coupling(sp.Float(masses.min()))
        if self.chance(0.2):
            found *= self.clock()
            self.kinds.append("potential of time")
        return found

    def coupling(self, size: sp.Float) -> sp.Expr:
        kind = int(self.random.integers(4))
        if kind == 0:
            self.kinds.append("polynomial")
            return size * self.number(0.1, 0.4) * self.along() ** int(self.random.integers(3, 5))
        if kind == 1:
            self.kinds.append("trigonometric")
            return size * self.number() * sp.cos(self.along() + self.number())
        i, j = (int(self.random.integers(self.n)) for _ in range(2))
        far = (self.q[i] - 3) ** 2 + (self.q[j] + 2) ** 2
        if kind == 2:
            self.kinds.append("Coulomb")
            return self.sign() * size * self.number() / sp.sqrt(far)
        self.kinds.append("spring")
        return size * self.number() * (sp.sqrt(far) - 3) ** 2 / 2

    def constraints(self) -> list[sp.Expr]:
        """Up to three, of coordinates that leave freedom; the start fits them, see `start`."""
        found: list[sp.Expr] = []
        many = int(self.random.integers(0, min(self.n - 1, 3) + 1))
        groups = np.array_split(self.random.permutation(self.n), max(many, 1))
        for group in groups[:many]:
            x = [self.q[int(i)] for i in group]
            kind = int(self.random.integers(4))
            moving = self.chance(0.2)
            clock = self.clock() if moving else sp.S.One
            if moving:
                self.kinds.append("moving constraint")
            if kind == 0 or len(x) == 1:
                self.kinds.append("plane")
                found.append(self.along() + self.one() - self.number() * clock)
            elif kind == 1:
                self.kinds.append("sphere")
                found.append(sum(a**2 for a in x) - clock * self.number(0.7, 1.5) ** 2)
            elif kind == 2:
                self.kinds.append("quadric")
                bent = sum(self.number(0.4, 2) * a**2 for a in x) + 0.3 * x[0] * x[1]
                found.append(bent - clock)
            else:
                self.kinds.append("surface")
                found.append(x[0] - self.number() * sp.sin(x[1]) * clock - self.number(0, 0.5))
        if found and self.chance(0.08):
            self.kinds.append("redundant")
            found.append(found[0] * self.number() + (found[-1] if len(found) > 1 else 0))
        return found

    def forces(self, masses: np.ndarray) -> sp.Matrix:
        """Damping, pushes over time, and such as turn round."""
        found = sp.zeros(self.n, 1)
        if not self.chance(0.4):
            return found
        size = sp.diag(*[sp.Float(m) for m in masses])
        if self.chance(0.6):
            self.kinds.append("damping")
            c = self.number(0.05, 0.4)
            cubic = self.chance(0.3)
            drag = [-c * u * (1 + u**2 if cubic else 1) for u in self.v]
            found += size * sp.Matrix(drag)
        if self.chance(0.5):
            self.kinds.append("force of time")
            i = int(self.random.integers(self.n))
            found[i] += sp.Float(masses[i]) * self.number() * sp.cos(self.number(1, 4) * T)
        if self.n > 1 and self.chance(0.3):
            self.kinds.append("follower force")
            i, j = (int(k) for k in self.random.permutation(self.n)[:2])
            small, k = sp.Float(min(masses[i], masses[j])), self.number(0.1, 0.5)
            found[i] += small * k * self.q[j]
            found[j] -= small * k * self.q[i]
        return found


# ---- the independent code ------------------------------------------------------------------------


class Reference:
    """A model's equations without constraints, from SymPy, and where DOP853 takes them."""

    def __init__(self, model: Model) -> None:
        self.model = model
        m, q, n = model, model.q, model.n
        self.g = sp.Matrix(m.constraints) if m.constraints else sp.zeros(0, 1)
        self.c = len(m.constraints)
        slope = self.g.jacobian(q) if self.c else sp.zeros(0, n)
        gt = self.g.diff(T)
        if m.hamiltonian:
            v = sp.Matrix([m.energy.diff(y) for y in m.w])
            known = dict(zip(m.speeds, v, strict=True))
            pull = -sp.Matrix([m.energy.diff(x) for x in q]) + m.forces.xreplace(known)
            link = slope * v + gt
            matrix = link.jacobian(m.w) if self.c else sp.zeros(0, n)
            rest = matrix * pull + (link.jacobian(q) * v + link.diff(T) if self.c else link)
            block, right = sp.eye(n), pull
            power = (m.forces.xreplace(known).T * v)[0] + m.energy.diff(T)
            energy, still = m.energy, m.energy
        else:
            v = m.w
            momenta = sp.Matrix([m.energy.diff(u) for u in v])
            block = momenta.jacobian(v)
            acting = m.forces.xreplace(dict(zip(m.speeds, v, strict=True)))
            right = sp.Matrix([m.energy.diff(x) for x in q]) + acting
            right -= momenta.jacobian(q) * v + momenta.diff(T)
            link = slope * v + gt
            matrix = slope
            rest = link.jacobian(q) * v + link.diff(T) if self.c else link
            power = (acting.T * v)[0] - m.energy.diff(T)
            energy, still = (momenta.T * v)[0] - m.energy, -m.energy
        # Potentials swing about their mean over time, which is energy; the rest of them does work.
        rest_of = still.xreplace(dict.fromkeys(m.w, sp.S.Zero))
        swings = dict.fromkeys((x for x in rest_of.atoms(sp.sin, sp.cos) if x.has(T)), sp.S.Zero)
        timed = rest_of - rest_of.xreplace(swings)
        inputs = (*q, *m.w, T)
        given = (v, block, right, slope, matrix, rest, gt, sp.Matrix([power, energy, timed]))
        self._function = sp.lambdify(inputs, given, modules="numpy", cse=True)
        self._place = sp.lambdify((*q, *m.w, T), (self.g, slope, link, matrix), "numpy", cse=True)

    def _at(self, q: np.ndarray, w: np.ndarray, t: float) -> list[np.ndarray]:
        return [np.array(x, dtype=float) for x in self._function(*q, *w, t)]

    def _slope(self, t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(q̇, ẇ, Ẇ) and Gᵀλ."""
        n = self.model.n
        v, block, right, slope, matrix, rest, gt, scalars = self._at(y[:n], y[n : 2 * n], t)
        v, right, gt, rest = v.ravel(), right.ravel(), gt.ravel(), rest.ravel()
        inverse = np.linalg.solve(block, np.column_stack([right[:, None], slope.T]))
        free, answer = inverse[:, 0], inverse[:, 1:]
        lam = np.zeros(self.c)
        if self.c:
            # of a Hamiltonian the pull is in the rest already
            want = rest if self.model.hamiltonian else matrix @ free + rest
            # Each in its own unit: that of a heavy part is none that follows from the others.
            response = matrix @ answer
            unit = 1.0 / np.sqrt(np.abs(np.diag(response)))
            scaled = unit[:, None] * response * unit
            lam = unit * np.linalg.lstsq(scaled, unit * want, rcond=1e-9)[0]
        rate = free - answer @ lam
        power = scalars.ravel()[0] + lam @ gt
        return np.concatenate([v, rate, [power]]), slope.T @ lam

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Random q and w that meet the constraints, by Newton's method."""
        n, random = self.model.n, np.random.default_rng(self.model.seed + 10**6)
        for _ in range(50):
            q, w = random.uniform(-0.8, 0.8, n), random.uniform(-0.8, 0.8, n)
            if self.model.hamiltonian:
                w *= np.sqrt(self.model.masses)
            if self._meets(q, w):
                return q, w
        raise RuntimeError("no start was found")

    def _meets(self, q: np.ndarray, w: np.ndarray) -> bool:
        unit = np.sqrt(self.model.masses) if self.model.hamiltonian else np.ones(len(q))
        for _ in range(40):
            g, slope, *_ = self._where(q, w)
            if not self.c:
                return True
            q -= np.linalg.lstsq(slope, g.ravel(), rcond=1e-9)[0]
        for _ in range(40):
            _, slope, link, matrix = self._where(q, w)
            w -= unit * np.linalg.lstsq(matrix * unit, link.ravel(), rcond=1e-9)[0]
        g, slope, link, _ = self._where(q, w)
        rows = np.linalg.svd(slope / np.linalg.norm(slope, axis=1)[:, None], compute_uv=False)
        kept = rows[rows > 1e-9]
        good = np.abs(g).max() < 1e-14 and np.abs(link).max() < 1e-14 and np.abs(q).max() < 1.6
        return bool(good and kept.min() > 0.2 and np.abs(w / unit).max() < 3)

    def _where(self, q, w) -> list[np.ndarray]:
        return [np.array(x, dtype=float) for x in self._place(*q, *w, 0.0)]

    def ends(self, q: np.ndarray, w: np.ndarray, duration: float) -> Ends:
        """What DOP853 finds."""
        m, n = self.model, self.model.n
        unit = np.sqrt(m.masses) if m.hamiltonian else np.ones(n)
        size = self.energy_size(q, w)
        units = np.concatenate([np.ones(n), unit, [size]])
        calls = itertools.count()

        def slope(t: float, y: np.ndarray) -> np.ndarray:
            if next(calls) > PATIENCE or np.abs(y[: 2 * n]).max() > AWAY:
                raise RuntimeError("the motion runs away, or is stiff")
            return self._slope(t, y * units)[0] / units

        begin = np.concatenate([q, w, [0.0]]) / units
        found = solve_ivp(slope, (0.0, duration), begin, method="DOP853", **EXACT)
        if not found.success:
            raise RuntimeError(found.message)
        y = found.y[:, -1] * units
        v, *_, last = self._at(y[:n], y[n : 2 * n], duration)
        first, last = self._at(q, w, 0.0)[-1].ravel(), last.ravel()
        if abs(last[1] - first[1] - y[-1]) > 1e-8 * (size + abs(first[1])):
            raise RuntimeError("energy and work of the reference itself do not agree")
        first, last = (float(x[1] - x[2]) for x in (first, last))
        return Ends(y[:n], v.ravel(), self._slope(duration, y)[1], last - first, first)

    def growth(self, q: np.ndarray, w: np.ndarray, duration: float) -> float:
        """By how much the motion itself makes small differences of the start larger; 1 at least."""
        unit = np.sqrt(self.model.masses) if self.model.hamiltonian else np.ones(len(q))
        random, found = np.random.default_rng(self.model.seed + 5 * 10**6), 1.0
        truth, begin = self.ends(q, w, duration), self._at(q, w, 0.0)[0].ravel()
        for _ in range(TRIES):
            beside = q + NEAR * random.standard_normal(len(q))
            moved = w + NEAR * unit * random.standard_normal(len(w))
            self._meets(beside, moved)  # which it moves there
            speed = self._at(beside, moved, 0.0)[0].ravel()
            apart = max(np.abs(beside - q).max(), np.abs(speed - begin).max())
            found = max(found, gap(self.ends(beside, moved, duration), truth) / apart)
        return found

    def energy_size(self, q: np.ndarray, w: np.ndarray) -> float:
        """A unit of energy: p·v."""
        v, block, *_ = self._at(q, w, 0.0)
        p = w if self.model.hamiltonian else block @ w
        return float(abs(p) @ abs(v.ravel())) or 1.0


# ---- telling it to taut --------------------------------------------------------------------------


@dataclass(frozen=True)
class Telling:
    """Units, a frame and a place: q′ = λ R D q + a, t′ = τ t."""

    length: float
    mass: float
    time: float
    frame: np.ndarray
    place: np.ndarray
    scale: np.ndarray  # of constraints

    @property
    def energy(self) -> float:
        """The unit of energy."""
        return self.mass * self.length**2 / self.time**2

    @property
    def turn(self) -> np.ndarray:
        """δq′ = turn δq."""
        return self.length * self.frame


def telling(model: Model) -> Telling:
    """A random one; frames are turned where masses are alike."""
    random = np.random.default_rng(model.seed + 2 * 10**6)
    length, mass, time = 10.0 ** random.uniform(-4, 4, 3)
    frame = np.eye(model.n)
    alike = np.ptp(np.log10(model.masses)) == 0
    if alike and model.n <= LARGE and random.random() < 0.6:
        frame = np.linalg.qr(random.standard_normal((model.n, model.n)))[0]
    elif not alike and random.random() < 0.5:  # coordinates that have units of their own
        frame = np.diag(1.0 / np.sqrt(model.masses))
    place = random.uniform(-10, 10, model.n) * (random.random() < 0.5)
    scale = 10.0 ** random.uniform(-4, 4, len(model.constraints))
    return Telling(length, mass, time, frame, length * frame @ place, scale)


def told(model: Model, way: Telling) -> System:
    """The model as taut is told it."""
    names = [f"z{i}" for i in range(model.n)]
    z = sp.Matrix([sp.Symbol(x, real=True) for x in names])
    rates, momenta = sp.Matrix(taut.velocities(list(z))), sp.Matrix(taut.momenta(list(z)))
    back = _exact(np.linalg.inv(way.turn))
    time = sp.Float(way.time)
    q = back * (z - _exact(way.place[:, None]))
    v = back * rates * time
    table = dict(zip(model.q, q, strict=True)) | {T: taut.t / time}
    table |= dict(zip(model.speeds, v, strict=True))
    if model.hamiltonian:  # p′ = (energy · time) turn⁻ᵀ p
        p = _exact(way.turn.T / (way.energy * way.time)) * momenta
        table |= dict(zip(model.w, p, strict=True))
    forces = None
    if model.forces.is_zero_matrix is not True:
        acting = sp.Float(way.energy) * back.T * model.forces.xreplace(table)
        forces = list(acting)
    kind = "hamiltonian" if model.hamiltonian else "lagrangian"
    return System(
        list(z), **{kind: sp.Float(way.energy) * model.energy.xreplace(table)},
        constraints=[
            sp.Float(x) * g.xreplace(table)
            for x, g in zip(way.scale, model.constraints, strict=True)
        ],
        forces=forces,
    )  # fmt: skip


def _exact(matrix: np.ndarray) -> sp.Matrix:
    return sp.Matrix(*matrix.shape, [sp.Float(float(x)) for x in matrix.ravel()])


def begin(model: Model, way: Telling, q: np.ndarray, w: np.ndarray) -> dict[str, Any]:
    """A start for `taut.simulate`."""
    there = way.turn @ q + way.place
    if model.hamiltonian:
        return {"q0": there, "p0": way.energy * way.time * np.linalg.solve(way.turn.T, w)}
    return {"q0": there, "v0": way.turn @ w / way.time}


def brought_back(model: Model, way: Telling, run: taut.Trajectory) -> Ends:
    """Where taut's run ends, in the model's units."""
    inverse = np.linalg.inv(way.turn)
    pull = np.zeros(model.n)
    if model.constraints:
        q, t = run.q[-1], float(run.t[-1])
        slope = run._mechanics.gradients(q, t, run._par)
        pull = way.turn.T @ (slope.T @ run.multipliers[-1]) / way.energy
    c = run.certificate
    return Ends(
        inverse @ (run.q[-1] - way.place), inverse @ run.v[-1] * way.time, pull,
        c.work / way.energy, c.energy0 / way.energy,
    )  # fmt: skip


def gap(one: Ends, other: Ends) -> float:
    """How far two motions are apart, of place and velocity."""
    return float(max(np.abs(one.q - other.q).max(), np.abs(one.v - other.v).max()))


# ---- judging -------------------------------------------------------------------------------------


DURATION, COARSE = 2.0, 20
STEPS = 100  # and twice as many
LONG, RARE = 5, 0.2  # times the duration, and as many more steps: a share of the models
# What DOP853 leaves, and what numbers that are brought from units of their own and back do.
FLOOR = 2e-9
SLACK = 1.7  # of the factor 2^order by which half the step is better
# Of the motion's size: how far the path of what is called so may be out at the end, times what the
# motion makes of errors.  A step of what is resolved is out by 0.5 % of the speed at most, one of
# what is coarse by 5 %, and part of that is taken back within a period.
PROMISED = {"resolved": 0.1, "coarse": 0.5}
GOOD = 1e-3  # an error at which nothing is unresolved
METHODS = (
    "rattle", "gauss-lobatto-4", "gauss-lobatto-6", "composition-4", "composition-6",
    "time-element-4", "lobatto-4", "projected-dop853",
)  # fmt: skip
CHEAP = ("rattle", "gauss-lobatto-4", "composition-4", "composition-6", "projected-dop853")


@dataclass
class Judged:
    """What was seen of one model.

    Attributes
    ----------
    kinds : tuple of str
        What the model has.
    method : str
    error : float
        Of the run with the smaller step; NaN if there was none.
    said : dict row → word
        The verdicts.
    resolved : (str, float) or None
        Of a coarse run: the verdict, see `verdict_of`, and its error as a share of the motion.
    wrong : list of str
        Where a number or a verdict is not the truth.
    refused : str
        Why there is no run.
    """

    seed: int
    kinds: tuple[str, ...]
    method: str
    error: float
    said: dict[str, str]
    resolved: tuple[str, float] | None
    wrong: list[str]
    refused: str = ""


def judged(seed: int) -> Judged | None:
    """Run a model by a method of its turn, and hold it against the truth; None without a start."""
    model, duration = drawn(seed), duration_of(seed)
    reference = Reference(model)
    try:
        q, w = reference.start()
        truth = reference.ends(q, w, duration)
    except RuntimeError:  # no start, or a motion that runs away
        return None
    method = (METHODS if model.n <= LARGE else CHEAP)[seed % (8 if model.n <= LARGE else 5)]
    way = telling(model)
    made = Judged(seed, model.kinds, method, np.nan, {}, None, [])
    try:
        system, start = told(model, way), begin(model, way, q, w)
    except taut.TautError as error:  # which moves well
        made.refused = str(error).splitlines()[0]
        made.wrong.append(f"a sound model is refused: {made.refused}")
        return made

    def run_of(steps: int) -> taut.Trajectory:
        step = duration * way.time / steps
        return taut.simulate(
            system, **start, step=step, duration=duration * way.time, method=method, laws=None
        )

    found: list[Ends] = []

    def error_of(run: taut.Trajectory) -> float:
        found.append(brought_back(model, way, run))
        return gap(found[-1], truth)

    size = max(np.abs([truth.q, truth.v, q]).max(), 1.0)
    look = Look(run_of, error_of, lambda: reference.growth(q, w, duration), size, duration)
    run = judge(made, look)
    if run is not None:
        made.wrong += wrong_pull(model.masses.max(), found[1], truth, made.error)
        made.wrong += wrong_work(way.energy, run, found[1], truth, made.error)
    return made


def duration_of(seed: int) -> float:
    """Of a motion, about one in five of them a long one."""
    rare = np.random.default_rng(seed + 4 * 10**6).random() < RARE
    return DURATION * LONG if rare else DURATION


class Look(NamedTuple):
    """How a model is run, and what is known of it."""

    run_of: Callable[[int], taut.Trajectory]  # by a number of steps
    error_of: Callable[[taut.Trajectory], float]
    growth: Callable[[], float]  # what the motion makes of errors
    size: float  # of places and speeds
    duration: float


def judge(made: Judged, look: Look) -> taut.Trajectory | None:
    """Three runs: of two the path and the words, of a coarse one whether it is resolved.

    The second is given back; None if the steps could not be made.
    """
    growth, longer = cache(look.growth), round(look.duration / DURATION)
    try:
        runs = [look.run_of(many * STEPS * longer) for many in (1, 2)]
    except taut.TautError as error:
        made.refused = str(error).splitlines()[0]
        return None
    errors = [look.error_of(run) for run in runs]
    made.error = errors[1]
    made.said = {name: word for name, _, word in runs[1].certificate.rows()}
    floor = (lambda: FLOOR * longer**2 * growth()) if longer > 1 else (lambda: FLOOR)
    made.wrong += wrong_path(runs[1].method.order, errors, floor)
    made.wrong += wrong_words(runs[1], errors[1])
    share = np.random.default_rng(made.seed + 3 * 10**6).random()
    steps = round(COARSE ** (share + 0.2)) * longer
    try:
        coarse = look.run_of(steps)
    except taut.TautError:  # which is an answer, too
        return runs[1]
    made.resolved = verdict_of(coarse), look.error_of(coarse) / look.size
    made.wrong += [f"{steps} steps are called {x}" for x in wrong_verdict(*made.resolved, growth)]
    return runs[1]


def verdict_of(run: taut.Trajectory) -> str:
    """Of "resolved", "coarse", "at rest" and "unresolved", if only of parts; "" if not known."""
    if run.certificate.resolved is None:
        return ""
    word = {name: word for name, _, word in run.certificate.rows()}.get("resolution", "")
    return word if run.certificate.resolved else "unresolved"


def wrong_verdict(word: str, error: float, growth: Callable[[], float]) -> list[str]:
    """Whether the verdict on a coarse run is what its path says."""
    limit = PROMISED.get(word, np.inf)
    if error > limit and error > limit * growth():
        return [f"{word}, with an error of {error:.1e} where errors grow by {growth():.2g}"]
    if word == "unresolved" and error < GOOD:
        return [f"{word}, with an error of {error:.1e}"]
    return []


def wrong_path(
    order: int, errors: list[float], floor: Callable[[], float] = lambda: FLOOR
) -> list[str]:
    """Half the step is as much better as the order says, or both are at the floor.

    Over a long time the errors of DOP853 grow as all do, and with the square of time: its
    constraints are kept in their second derivatives alone.
    """
    coarse, fine = errors
    if fine <= max(FLOOR, SLACK * coarse / 2**order):
        return []
    if coarse > 1e-2 and fine < coarse / 2:  # not yet where the order shows
        return []
    if fine <= floor():
        return []
    return [f"errors {coarse:.1e} and {fine:.1e}, which is no order {order}"]


def wrong_pull(mass: float, found: Ends, truth: Ends, error: float) -> list[str]:
    """Forces of constraints, of masses up to this one."""
    size = np.abs(truth.pull).max(initial=0.0) + mass
    off = np.abs(found.pull - truth.pull).max(initial=0.0) / size
    return [f"forces of constraints are off by {off:.1e}"] if off > 1e-7 + 100 * error else []


def wrong_work(
    unit: float, run: taut.Trajectory, found: Ends, truth: Ends, error: float
) -> list[str]:
    """The energy at the start, and what was done: it changes the energy as it truly does."""
    c, wrong = run.certificate, []
    kinetic = 0.5 * float(np.abs(run.v * run.p).sum(axis=-1).max())
    size = (kinetic + c.gross_work) / unit + abs(truth.energy)
    if abs(found.energy - truth.energy) > 1e-9 * size:
        wrong.append(f"energy {found.energy:.6g} at the start, in truth {truth.energy:.6g}")
    known = 2 * (c.sum_error + c.energy.band) / unit
    if not run.system.conservative and abs(found.work - truth.work) > known + size * (
        1e-8 + 20 * error
    ):
        wrong.append(f"work {found.work:.6g}, in truth {truth.work:.6g}")
    return wrong


def wrong_words(run: taut.Trajectory, error: float) -> list[str]:
    """What is known of a method and of the model, and what the certificate says."""
    c, wrong, rows = run.certificate, [], {name: word for name, _, word in run.certificate.rows()}
    for name in ("max |g|", "max |G q̇ + ∂g/∂t|"):
        if not rows.get(name, "round-off").startswith("round-off"):  # and how many digits are lost
            wrong.append(f"{name}: {rows[name]}")
    if c.symplecticity is not None and np.isfinite(c.symplecticity):
        expected = ("symplectic",) if run.method.symplectic else ("not", "small")
        word = rows["symplecticity defect"]
        if not word.startswith((*expected, "cannot be told")):
            wrong.append(f"{run.method.key}: {word}, defect {c.symplecticity:.1e}")
    drift = rows.get("energy drift", "")
    if run.method.symplectic and drift.startswith(("drifts", "wanders", "wrong")):
        wrong.append(f"energy of a symplectic method: {drift}")
    if c.resolved is not True and error < GOOD:
        wrong.append(f"{rows.get('resolution', 'resolution not measured')}, error {error:.1e}")
    if c.failures or "failed" in rows.get("Newton iterations", ""):
        wrong.append("Newton's iteration failed")
    return wrong
