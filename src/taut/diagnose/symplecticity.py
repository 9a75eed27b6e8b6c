"""The symplecticity defect of a compiled step, on the constraint manifold.

The step is Φ: (q, p) ↦ (q₁, p₁).  Its derivative comes from implicit differentiation of the very
program that was compiled, at the values that the compiled step found: with Newton residual
R(z, x) = 0 and result y(z, x),

    DΦ = y_x − y_z R_z⁻¹ R_x.

(Systems too large to be unrolled are differentiated in the same way, stage by stage, along a few
random tangent vectors.)  On the manifold {g = 0, G H_p + g_t = 0} with tangent basis T the defect
is

    ‖Tᵀ(DΦᵀ J DΦ − J)T‖ / ‖TᵀJT‖        (spectral norms),

zero for a symplectic method.  A method that keeps the form but leaves the manifold is no map of it:
the components of DΦ T normal to the manifold at the image are counted in the defect as well.

Norms need units.  With δq multiplied by √(m/h) and δp by √(h/m), m the mass of each coordinate and
h the step, both are roots of actions: the form is the same, the figure does not change with the
units of length, mass and time (nor with one of a coordinate alone), and a step that resolves the
motion, (X, P) ↦ (X + P, P − (hω)² X) at lowest order, has entries of order 1.

What rounding may leave of zero is measured too: everything that DΦ and T are made from (the state,
what Newton's iteration found, the entries of the blocks, gradients and the places they are at) is
shaken by δ = 2⁻³⁰ of itself, independently, and what that changes, times ε/δ, is what one
rounding of each of them does.  What is rounded on the way shows where they are shaken by no more
than a bit: everything comes out rounded in another way.  That knows how well
conditioned the linear systems are, and how many digits of the coordinates mean anything.

A method that remembers vectors is a map of more than (q, p).  Its Φ is the first step of a run:
what is remembered is the acceleration v̇(q, p), or the values of laws, whose derivative (and that
of v) is taken by central differences of order four and enters by the chain rule.  Where a step
leaves out laws that depend on each other, and the derivative of what it would have done with them
is infinite, the whole of DΦ is taken by differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import scipy.sparse as sparse
from scipy.linalg import qr
from scipy.sparse import diags
from scipy.sparse.linalg import splu

from taut.errors import StepError
from taut.kernel.compile import Workshop, workshop
from taut.kernel.evaluate import Snapshot
from taut.kernel.fused import FusedProgram
from taut.kernel.step_code import PAR
from taut.march.charts import best_chart
from taut.march.kept import chosen
from taut.march.run import one_step
from taut.march.start import smallest_sizes
from taut.march.trajectory import Trajectory

SX = ca.SX
EPS = np.finfo(float).eps
DENSE = 60  # coordinates up to which the whole tangent space is used
PAIRS = 6  # random tangent vectors for larger systems
NOTHING = np.zeros(0)
RANK = 1e-9  # of the largest singular value: rows that follow from others
DEPENDENT = 1e-6  # of unit vectors: what is left of one that depends on others
NUDGE = 6e-3  # of what a step moves at the fastest, for differences
SHAKE = 2.0**-30  # far above rounding, and small enough that its effects add up linearly
BIT, BITS = 2.0**-51, 3  # two roundings: what is made of them is rounded anew; so many times
SAFETY = 100.0  # roundings of one value: every one of DΦ is what is left of a few dozen


Shake = Callable[[Any], np.ndarray]  # of an array: as it is, or with its last digits disturbed


def shakers() -> tuple[Shake, ...]:
    """What leaves arrays as they are; disturbs them by up to `SHAKE` of themselves; a few by `BIT`.

    The same from run to run.
    """
    random = np.random.default_rng(1)

    def by(size: float) -> Shake:
        return lambda x: np.asarray(x) * (1.0 + size * random.uniform(-1.0, 1.0, np.shape(x)))

    return np.asarray, by(SHAKE), *(by(BIT) for _ in range(BITS))


class Defect(NamedTuple):
    """How far a step is from keeping the form, and what rounding alone may make of that."""

    size: float
    rounding: float


class Linearised:
    """Derivative functions of a fused program."""

    def __init__(self, program: FusedProgram) -> None:
        x = ca.vertcat(program.inputs["q"], program.inputs["p"])
        inherited = program.inputs.get("inherited", SX(0, 1))
        s = ca.vertcat(program.inputs["v"], inherited) if program.implies else inherited
        z = ca.vertcat(SX(0, 1), *(newton.unknowns for newton in program.newtons))
        residual = ca.vertcat(SX(0, 1), *(newton.residual for newton in program.newtons))
        q1 = program.inputs["q"] + program.dq
        dp = ca.substitute(program.dp, program.q1, q1)
        p1 = program.inputs["p"] + dp
        tangent = ca.substitute([program.tangent], [program.q1, program.p1], [q1, p1])[0]
        y = ca.vertcat(q1, p1 + tangent)
        self._inputs = [
            program.inputs[name] for name in ("q", "cq", "p", "v", "t", "t1", "h", "par")
        ]
        both = (program.explicit(y), program.explicit(residual))
        blocks = [ca.jacobian(a, b) for a in both for b in (ca.vertcat(x, s), z)]
        self._function = ca.Function("linearised", [*self._inputs, inherited, z], blocks)
        self._z = z.numel()

    def __call__(
        self, q, p, v, z, t: float, h: float, par, tangents: np.ndarray, inherited=NOTHING,
        shake: Shake = np.asarray,
    ) -> np.ndarray:  # fmt: skip
        """DΦ · tangents at one state; rows below those of q and p are of what follows from them."""
        q, p, v, inherited, z = (shake(x) for x in (q, p, v, inherited, z))
        blocks = self._function(q, np.zeros_like(q), p, v, t, t + h, h, par, inherited, z)
        yx, yz, rx, rz = (sparse.csc_matrix(block.sparse()) for block in blocks)
        for block in (yx, yz, rx, rz):
            block.data = shake(block.data)
        moved = yx @ tangents
        if self._z:
            moved = moved - yz @ _solved(rz, rx @ tangents)
        return moved


def _solved(matrix: sparse.csc_matrix, right: np.ndarray) -> np.ndarray:
    """What solves a linear system, with what rounding left of it taken away once."""
    factors = splu(matrix)
    found = factors.solve(right)
    return found + factors.solve(right - matrix @ found)


def gradients_of(shop: Workshop, q, v, p, t: float, par) -> sparse.csr_matrix:
    """Gradients of g(q) and of G v(q, p) + g_t with respect to (q, p), scaled to unit length."""
    m, n = shop.mechanics, shop.system.n
    if m.c == 0:
        return sparse.csr_matrix((0, 2 * n))
    g = m.jacobian(q, t, par)
    lq, lv, lp = (m.derivative("link", by, t, par, q=q, v=v, p=p) for by in ("q", "v", "p"))
    eye = sparse.identity(n)
    if m.form == "lagrangian":
        lp = lp + eye
    else:
        lv = lv + eye
    hq = m.derivative("hidden", "q", t, par, q=q, v=v)
    hv = m.derivative("hidden", "v", t, par, q=q, v=v)
    # φ(q, p) = hidden(q, v(q, p)) with dv = −lv⁻¹ (lq dq + lp dp)
    adjoint = _divided(hv, sparse.csc_matrix(lv))
    blocks = [[g, sparse.csr_matrix((m.c, n))], [hq - adjoint @ lq, -(adjoint @ lp)]]
    return _unit(sparse.csr_matrix(sparse.bmat(blocks)))


def _unit(rows: sparse.csr_matrix) -> sparse.csr_matrix:
    """Rows of unit length."""
    sizes = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel()).clip(1e-300)
    return sparse.csr_matrix(diags(1.0 / sizes) @ rows)


def _weights(shop: Workshop, q, v, p, t: float, par, h: float) -> np.ndarray:
    """What roots of actions are multiplied by to give δq and δp: √(h/m) and √(m/h).

    Coordinates without a mass are taken to have the mean one.
    """
    hessian = abs(Snapshot(shop.mechanics, q, v, p, t, par).sparse_hessian())
    mass = hessian.diagonal()
    # Where momenta belong to other coordinates than their own, H = p₁ p₂: the largest entry.
    mass = np.where(mass > 0.0, mass, hessian.max(axis=1).toarray().ravel())
    if shop.mechanics.form != "lagrangian":
        mass = 1.0 / np.where(mass > 0.0, mass, np.inf)
    usual = mass[np.isfinite(mass) & (mass > 0.0)]
    typical = float(np.exp(np.log(usual).mean())) if usual.size else 1.0
    root = np.sqrt(np.where(np.isfinite(mass) & (mass > 0.0), mass, typical) / abs(h))
    return np.concatenate([1.0 / root, root])


def _divided(rows: sparse.csr_matrix, by: sparse.csc_matrix) -> sparse.csr_matrix:
    """Rows times the inverse of a matrix, which is diagonal where the masses are."""
    diagonal = by.diagonal()
    if np.all(diagonal != 0) and (by - sparse.diags(diagonal)).count_nonzero() == 0:
        return sparse.csr_matrix(rows @ sparse.diags(1.0 / diagonal))
    return sparse.csr_matrix(splu(by.T.tocsc()).solve(rows.T.toarray()).T)


def tangent_basis(gradients: sparse.csr_matrix) -> np.ndarray:
    """Orthonormal vectors (δq, δp) that all `gradients` annihilate, as columns.

    For large systems, a few random ones instead of all.
    """
    c, n = gradients.shape[0], gradients.shape[1] // 2
    if c == 0:
        return np.eye(2 * n) if n <= DENSE else _random(n)
    if n <= DENSE:
        _, s, vt = np.linalg.svd(gradients.toarray())
        rank = int(np.sum(s > RANK * s.max(initial=1e-300)))
        return vt[rank:].T
    random = _random(n)
    gram = _gram(gradients)
    for _ in range(4):  # what the bit of the identity leaves over goes next
        random -= gradients.T @ gram.solve(gradients @ random)
    # There may be fewer directions than vectors: a mechanism of many parts may have one freedom.
    # Or none: what is left of unit vectors is rounding then, and no direction.
    basis, triangle, _ = qr(random, mode="economic", pivoting=True)
    return basis[:, np.abs(np.diagonal(triangle)) > DEPENDENT]


def _narrowness(normal: sparse.csr_matrix) -> float:
    """What rounding of normals that are nearly parallel is multiplied by: 1/σ, the smallest.

    Between a light part and heavy ones they are, in these units.
    """
    c, n = normal.shape[0], normal.shape[1] // 2
    if c == 0 or n > DENSE:
        return 1.0
    sizes = np.linalg.svd(normal.toarray(), compute_uv=False)
    return float(1.0 / sizes[sizes > RANK * sizes.max(initial=1e-300)].min(initial=1.0))


def _leaning(normal: sparse.csr_matrix, tilted: sparse.csr_matrix, basis: np.ndarray) -> np.ndarray:
    """What takes tangent vectors to those of tilted normals, N (T + δT) = (N − Ñ) T; the least."""
    c, n = normal.shape[0], normal.shape[1] // 2
    if c == 0:
        return np.zeros_like(basis)
    off = (normal - tilted) @ basis
    if n <= DENSE:
        return np.linalg.lstsq(normal.toarray(), off, rcond=RANK)[0]
    return normal.T @ _gram(normal).solve(off)


def _gram(rows: sparse.csr_matrix) -> Any:
    """Factors of N Nᵀ, and a little of the identity, since constraints may be redundant."""
    return splu(sparse.csc_matrix(rows @ rows.T + 1e-10 * sparse.identity(rows.shape[0])))


def _random(n: int) -> np.ndarray:
    """A few vectors that span planes on which ω does not vanish."""
    return np.linalg.qr(np.random.default_rng(0).standard_normal((2 * n, PAIRS)))[0]


class Probe:
    """Measures the defect of a run's method at states of the run."""

    def __init__(self, run: Trajectory) -> None:
        self.run = run
        self.shop = workshop(run.system)
        self._linearised: dict = {}

    def defect(self, q: np.ndarray, v: np.ndarray, p: np.ndarray, t: float) -> Defect | None:
        """The relative defect of one step from this state; None where nothing is free to move."""
        n, h, shakes = self.run.system.n, self.run.step, shakers()
        weights = _weights(self.shop, q, v, p, t, self.run._par, h)
        normals = [self._normals(q, v, p, t, weights, shake) for shake in shakes]
        own = tangent_basis(normals[0])
        if own.shape[1] == 0:
            return None
        begun = [weights[:, None] * (own + _leaning(normals[0], x, own)) for x in normals]
        images = begun
        for share in self.run.method.substeps:
            q, v, p, images = self._pushed(q, v, p, t, share * h, images, shakes)
            t += share * h
        changes = [pairing(x) - pairing(y) for x, y in zip(images, begun, strict=True)]
        moved = [x[: 2 * n] / weights[:, None] for x in images]
        normals = [self._normals(q, v, p, t, weights, shake) for shake in shakes]
        leaves = [normals[0] @ x for x in moved]
        leaves[1] += (normals[1] - normals[0]) @ moved[0]
        size, long = np.linalg.norm(pairing(begun[0]), 2), np.abs(moved[0]).max()

        def largest(form: np.ndarray, away: np.ndarray) -> float:
            return max(np.linalg.norm(form, 2) / size, np.abs(away).max(initial=0.0) / long)

        found = largest(changes[0], leaves[0])
        blur, *noise = (
            largest(x - changes[0], y - leaves[0])
            for x, y in zip(changes[1:], leaves[1:], strict=True)
        )
        # An effect may happen to be small, but one rounding of the result is always there.
        narrow = _narrowness(normals[0])
        return Defect(float(found), float((narrow + blur / SHAKE) * EPS + max(noise)))

    def _normals(self, q, v, p, t: float, weights: np.ndarray, shake: Shake) -> sparse.csr_matrix:
        """Unit vectors normal to the manifold in units of (δq, δp).

        They are known to the rounding of the place: far from the origin to few digits.
        """
        rows = gradients_of(self.shop, shake(q), shake(v), shake(p), t, self.run._par)
        rows.data = shake(rows.data)
        return _unit(sparse.csr_matrix(rows @ diags(weights)))

    def _pushed(
        self, q, v, p, t: float, h: float, tangents: list[np.ndarray], shakes: Iterable[Shake]
    ):
        """The state after one step of size h, and where it takes tangent vectors when shaken."""
        run, par = self.run, self.run._par
        method, chart = run.method.whole, None
        keep = chosen(self.shop.mechanics, q, t, par, run.keep)
        if method.charted:
            chart = best_chart(self.shop.mechanics, q, t, par, keep)
        step = self.shop.step(method, keep=keep, chart=chart)
        q1, v1, p1, inner = one_step(step, q, v, p, t, h, par)
        inherited, moved = step.first_inherited(q, p, v, t, par), []
        stages = None
        if not hasattr(step.program, "last_solution"):
            stages = LinearisedStages(step.program.machine, q, v, p, inherited)
        for vectors, shaken in zip(tangents, shakes, strict=True):
            x = np.concatenate([vectors, self._implied(step, q, p, t, h, vectors, shaken)])
            if stages is not None:
                moved.append(stages(x, shaken))
                continue
            z = step.program.last_solution(inner)
            given = step.given(par, h)[len(PAR) :]
            derivative = self._derivative(method, chart, keep)
            found = derivative(q, p, v, z, t, h, given, x, inherited, shaken)
            if not np.isfinite(found).all():
                found = self._compared(step, q, p, t, h, vectors, shaken)
            moved.append(found)
        return q1, v1, p1, moved

    def _implied(self, step, q, p, t: float, h: float, tangents: np.ndarray, shake: Shake):
        """Changes of v and of what is remembered along (δq, δp), one below the other."""
        run, m, n = self.run, self.shop.mechanics, self.run.system.n
        if not step.program.implies:
            return tangents[:0]

        def at(change: np.ndarray) -> np.ndarray:
            x, y = q + change[:n], p + change[n:]
            v = m.velocity(x, y, t, run._par)
            return shake(np.concatenate([v, step.first_inherited(x, y, v, t, run._par)]))

        return self._differences(at, q, p, t, h, tangents[: 2 * n])

    def _compared(self, step, q, p, t: float, h: float, tangents: np.ndarray, shake: Shake):
        """DΦ along tangents, by steps from neighbouring states."""
        m, n, par = self.shop.mechanics, self.run.system.n, self.run._par

        def at(change: np.ndarray) -> np.ndarray:
            x, y = q + change[:n], p + change[n:]
            q1, _, p1, _ = one_step(step, x, m.velocity(x, y, t, par), y, t, h, par)
            return shake(np.concatenate([q1, p1]))

        return self._differences(at, q, p, t, h, tangents[: 2 * n])

    def _differences(self, at, q, p, t: float, h: float, tangents: np.ndarray) -> np.ndarray:
        """The derivative of a function of (δq, δp) along tangents, by differences of order four."""
        run, par, n = self.run, self.run._par, self.run.system.n
        v = self.shop.mechanics.velocity(q, p, t, par)
        weights = _weights(self.shop, q, v, p, t, par, run.step)
        fast = np.abs(run.step * run.v / weights[:n])
        reach = NUDGE * float(np.max(fast, initial=0.0, where=np.isfinite(fast)))
        if reach == 0.0:  # at rest all the time: lengths of what may move
            (length,) = smallest_sizes(Snapshot(self.shop.mechanics, q, v, p, t, par).rows(), h)
            reach = 1e3 * float(np.max(length / weights[:n]))
        nudges = reach / np.abs(tangents / weights[:, None]).max(axis=0)
        return np.stack(
            [
                (8 * (at(e * x) - at(-e * x)) - (at(2 * e * x) - at(-2 * e * x))) / (12 * e)
                for e, x in zip(nudges, tangents.T, strict=True)
            ],
            axis=1,
        )

    def _derivative(self, method, chart, keep) -> Linearised:
        if (chart, keep) not in self._linearised:
            program = self.shop.program(method, keep, chart)
            self._linearised[chart, keep] = Linearised(program)
        return self._linearised[chart, keep]

    @cached_property
    def states(self) -> list[tuple]:
        """Up to five states spread over the run, of up to five members of a batch each."""
        run = self.run
        rows = np.unique(np.linspace(0, len(run.t) - 1, 5).astype(int))
        members = [run]
        if run.batch:
            members = [run[i] for i in np.unique(np.linspace(0, run.batch - 1, 5).astype(int))]
        return [
            (m.q[i], m.v[i], m.p[i], float(run.t[i]))
            for m in members
            for i in rows
            if np.all(np.isfinite(m.q[i]))
        ]

    @cached_property
    def found(self) -> list[Defect]:
        """The defects at the sampled states from which a step could be made."""
        found = []
        for state in self.states:
            with suppress(StepError):  # the last state of a run that failed
                found.append(self.defect(*state))
        return [x for x in found if x is not None]

    @cached_property
    def free(self) -> bool:
        """Whether anything is: constraints may tell the whole motion."""
        q, v, p, t = self.states[0]
        weights = _weights(self.shop, q, v, p, t, self.run._par, self.run.step)
        return tangent_basis(self._normals(q, v, p, t, weights, np.asarray)).shape[1] > 0

    def worst(self) -> float:
        """The largest defect over the sampled states; NaN if no step could be made from any."""
        return max((x.size for x in self.found), default=np.nan)

    @property
    def rounding(self) -> float:
        """What rounding may make of it."""
        return SAFETY * max((x.rounding for x in self.found), default=np.nan)

    @property
    def rounded(self) -> bool:
        """Whether all that was found is rounding."""
        return all(x.size <= SAFETY * x.rounding for x in self.found)


class LinearisedStages:
    """The derivative of an assembled step, stage by stage, at the values its bank holds."""

    def __init__(
        self, machine, q: np.ndarray, v: np.ndarray, p: np.ndarray, inherited=NOTHING
    ) -> None:
        self.machine, self.n = machine, len(q)
        # The bank now holds the state after the step; its stages began with this one.
        self.bank = machine.floats.copy()
        # Vectors of the bank are sorted (see `taut.kernel.assembled`).
        self.place = machine.place
        for name, value in (("q", q), ("v", v), ("p", p), ("cq", 0.0), ("cp", 0.0)):
            self.bank[machine.vectors[name] + self.place] = value
        self.bank[self._inherited(len(inherited))] = inherited

    def _inherited(self, length: int) -> np.ndarray:
        """Addresses of the vectors that a step inherits."""
        starts = self.n * np.arange(length // self.n if self.n else 0)
        return (self.machine.inherited + starts[:, None] + self.place).ravel()

    def __call__(self, tangents: np.ndarray, shake: Shake = np.asarray) -> np.ndarray:
        """DΦ · tangents, for the step that the machine made last."""
        at, n = self.machine.vectors, self.n
        bank = shake(self.bank)
        seeds = np.zeros((len(bank), tangents.shape[1]))
        tangents, implied = tangents[: 2 * n], tangents[2 * n :]
        seeds[at["q"] + self.place], seeds[at["p"] + self.place] = tangents[:n], tangents[n:]
        if len(implied):
            seeds[at["v"] + self.place] = implied[:n]
            seeds[self._inherited(len(implied) - n)] = implied[n:]
        for stage in self.machine.before_sum:
            change, matrix = self._evaluated(stage, seeds, bank, shake)
            if matrix is not None:
                change = _solved(matrix, -change)
            start = 0
            for where, size in zip(stage.unknowns, stage.sizes, strict=True):
                seeds[where : where + size] = change[start : start + size]
                start += size
        dq, dp, tangent = (seeds[at[name] + self.place] for name in ("dq", "dp", "tangent"))
        return np.concatenate([tangents[:n] + dq, tangents[n:] + dp + tangent])

    def _evaluated(self, stage, seeds: np.ndarray, bank: np.ndarray, shake: Shake):
        """Directional derivatives of a stage's values, and its matrix if it is a solve."""
        size, many = stage.size, seeds.shape[1]
        change = np.zeros((size + 1, many))
        rows, cols, entries = [], [], []
        for part in stage.contributions:
            known = part.gather >= 0
            inputs = np.where(known, bank[part.gather], 0.0).T
            slopes = np.where(
                known[..., None], seeds[part.gather], 0.0
            )  # (instances, inputs, many)
            values = np.array(part.function(inputs))
            forward = part.function.forward(1)(
                np.repeat(inputs, many, axis=1),
                np.repeat(values, many, axis=1),
                np.moveaxis(slopes, 0, 1).reshape(len(inputs), many * len(part.gather)),
            )
            forward = np.moveaxis(np.array(forward).reshape(len(values), -1, many), 0, 1)
            forward, values = shake(forward), shake(values)
            is_value = part.cols < 0
            np.add.at(change, part.rows[is_value], forward[is_value])
            rows.append(part.rows[~is_value])
            cols.append(part.cols[~is_value])
            entries.append(values.T[~is_value])
        if stage.kind != "solve":
            return change[:size], None
        i, j, e = (np.concatenate(x) for x in (rows, cols, entries))
        good = (i < size) & (j < size)
        matrix = sparse.csc_matrix((e[good], (i[good], j[good])), shape=(size, size))
        return change[:size], matrix


def pairing(vectors: np.ndarray) -> np.ndarray:
    """ω(a, b) = a_q·b_p − a_p·b_q for all pairs of columns."""
    n = len(vectors) // 2
    q, p = vectors[:n], vectors[n:]
    half = q.T @ p
    return half - half.T
