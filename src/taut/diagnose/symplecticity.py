"""The symplecticity defect of a compiled step, on the constraint manifold.

The step is Φ: (q, p) ↦ (q₁, p₁).  Its derivative comes from implicit differentiation of the very
program that was compiled, at the values that the compiled step found: with Newton residual
R(z, x) = 0 and result y(z, x),

    DΦ = y_x − y_z R_z⁻¹ R_x.

(Systems too large to be unrolled are differentiated in the same way, stage by stage, along a few
random tangent vectors.)  On the manifold {g = 0, G H_p + g_t = 0} with tangent basis T the defect
is

    ‖Tᵀ(DΦᵀ J DΦ − J)T‖ / ‖TᵀJT‖,

zero for a symplectic method.  A method that keeps the form but leaves the manifold is no map of it:
the components of DΦ T normal to the manifold at the image are counted in the defect as well.

A method that remembers vectors is a map of more than (q, p).  Its Φ is the first step of a run:
what is remembered is the acceleration v̇(q, p), or the values of laws, whose derivative (and that
of v) is taken by central differences of order four and enters by the chain rule.  Where a step
leaves out laws that depend on each other, and the derivative of what it would have done with them
is infinite, the whole of DΦ is taken by differences.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property

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
from taut.march.trajectory import Trajectory

SX = ca.SX
DENSE = 60  # coordinates up to which the whole tangent space is used
PAIRS = 6  # random tangent vectors for larger systems
NOTHING = np.zeros(0)
DEPENDENT = 1e-6  # of the longest: what is left of a vector that depends on others
NUDGE = 2e-4  # of the size of q and p, for differences


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
        self, q, p, v, z, t: float, h: float, par, tangents: np.ndarray, inherited=NOTHING
    ) -> np.ndarray:
        """DΦ · tangents at one state; rows below those of q and p are of what follows from them."""
        blocks = self._function(q, np.zeros_like(q), p, v, t, t + h, h, par, inherited, z)
        yx, yz, rx, rz = (sparse.csc_matrix(block.sparse()) for block in blocks)
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


def _weights(shop: Workshop, q, v, p, t: float, par) -> np.ndarray:
    """What δq and δp are multiplied by, 1/√m and √m: both are then of the size of energies.

    The form is the same, and light parts do not move by more than others do.
    """
    mass = np.abs(Snapshot(shop.mechanics, q, v, p, t, par).sparse_hessian().diagonal())
    if shop.mechanics.form != "lagrangian":
        mass = 1.0 / np.where(mass > 0.0, mass, np.inf)
    usual = mass[np.isfinite(mass) & (mass > 0.0)]
    typical = float(np.exp(np.log(usual).mean())) if usual.size else 1.0
    root = np.sqrt(np.where(np.isfinite(mass) & (mass > 0.0), mass, typical) / typical)
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
        rank = int(np.sum(s > 1e-9 * s.max(initial=1e-300)))
        return vt[rank:].T
    random = _random(n)
    # A little of the identity, since constraints may be redundant; what it leaves over goes next.
    gram = splu(sparse.csc_matrix(gradients @ gradients.T + 1e-10 * sparse.identity(c)))
    for _ in range(4):
        random -= gradients.T @ gram.solve(gradients @ random)
    # There may be fewer directions than vectors: a mechanism of many parts may have one freedom.
    basis, triangle, _ = qr(random, mode="economic", pivoting=True)
    sizes = np.abs(np.diagonal(triangle))
    return basis[:, sizes > DEPENDENT * sizes.max(initial=1e-300)]


def _random(n: int) -> np.ndarray:
    """A few vectors that span planes on which ω does not vanish."""
    return np.linalg.qr(np.random.default_rng(0).standard_normal((2 * n, PAIRS)))[0]


class Probe:
    """Measures the defect of a run's method at states of the run."""

    def __init__(self, run: Trajectory) -> None:
        self.run = run
        self.shop = workshop(run.system)
        self._linearised: dict = {}

    def defect(self, q: np.ndarray, v: np.ndarray, p: np.ndarray, t: float) -> float:
        """The relative defect of one step from this state."""
        par, n = self.run._par, self.run.system.n
        weights = _weights(self.shop, q, v, p, t, par)
        own = tangent_basis(_unit(gradients_of(self.shop, q, v, p, t, par) @ diags(weights)))
        if own.shape[1] == 0:
            return 0.0
        moved = basis = weights[:, None] * own
        for share in self.run.method.substeps:
            h = share * self.run.step
            q, v, p, moved = self._pushed(q, v, p, t, h, moved)
            t += h
        before, after = pairing(basis), pairing(moved)
        normal = _unit(gradients_of(self.shop, q, v, p, t, par) @ diags(weights))
        moved = moved[: 2 * n] / weights[:, None]
        leaves = np.abs(normal @ moved).max(initial=0.0) / np.abs(moved).max()
        return float(max(np.abs(after - before).max() / np.abs(before).max(), leaves))

    def _pushed(self, q, v, p, t: float, h: float, tangents: np.ndarray):
        """The state after one step of size h, and where it takes tangent vectors."""
        run, par = self.run, self.run._par
        method, chart = run.method.whole, None
        keep = chosen(self.shop.mechanics, q, t, par, run.keep)
        if method.charted:
            chart = best_chart(self.shop.mechanics, q, t, par, keep)
        step = self.shop.step(method, keep=keep, chart=chart)
        q1, v1, p1, inner = one_step(step, q, v, p, t, h, par)
        inherited = step.first_inherited(q, p, v, t, par)
        tangents = np.concatenate([tangents, self._implied(step, q, p, t, tangents)])
        if hasattr(step.program, "last_solution"):
            z = step.program.last_solution(inner)
            given = step.given(par, h)[len(PAR) :]
            derivative = self._derivative(method, chart, keep)
            moved = derivative(q, p, v, z, t, h, given, tangents, inherited)
            if not np.isfinite(moved).all():
                moved = self._compared(step, q, p, t, h, tangents[: 2 * len(q)])
            return q1, v1, p1, moved
        return q1, v1, p1, LinearisedStages(step.program.machine, q, v, p, inherited)(tangents)

    def _implied(self, step, q, p, t: float, tangents: np.ndarray) -> np.ndarray:
        """Changes of v and of what is remembered along (δq, δp), one below the other."""
        run, m, n = self.run, self.shop.mechanics, self.run.system.n
        if not step.program.implies:
            return tangents[:0]

        def at(change: np.ndarray) -> np.ndarray:
            x, y = q + change[:n], p + change[n:]
            v = m.velocity(x, y, t, run._par)
            return np.concatenate([v, step.first_inherited(x, y, v, t, run._par)])

        return self._differences(at, tangents)

    def _compared(self, step, q, p, t: float, h: float, tangents: np.ndarray) -> np.ndarray:
        """DΦ along tangents, by steps from neighbouring states."""
        m, n, par = self.shop.mechanics, self.run.system.n, self.run._par

        def at(change: np.ndarray) -> np.ndarray:
            x, y = q + change[:n], p + change[n:]
            q1, _, p1, _ = one_step(step, x, m.velocity(x, y, t, par), y, t, h, par)
            return np.concatenate([q1, p1])

        return self._differences(at, tangents)

    def _differences(self, at, tangents: np.ndarray) -> np.ndarray:
        """The derivative of a function of (δq, δp) along tangents, by differences of order four."""
        run, n = self.run, self.run.system.n
        scales = [np.abs(x[np.isfinite(x)]).max() or 1.0 for x in (run.q, run.p)]
        sizes = [np.abs(x).max(axis=0) for x in (tangents[:n], tangents[n:])]
        nudges = NUDGE / np.maximum(sizes[0] / scales[0], sizes[1] / scales[1])
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

    def worst(self) -> float:
        """The largest defect over the sampled states; NaN if no step could be made from any."""
        found = []
        for state in self.states:
            with suppress(StepError):  # the last state of a run that failed
                found.append(self.defect(*state))
        return max(found, default=np.nan)


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

    def __call__(self, tangents: np.ndarray) -> np.ndarray:
        """DΦ · tangents, for the step that the machine made last."""
        at, n = self.machine.vectors, self.n
        seeds = np.zeros((len(self.bank), tangents.shape[1]))
        tangents, implied = tangents[: 2 * n], tangents[2 * n :]
        seeds[at["q"] + self.place], seeds[at["p"] + self.place] = tangents[:n], tangents[n:]
        if len(implied):
            seeds[at["v"] + self.place] = implied[:n]
            seeds[self._inherited(len(implied) - n)] = implied[n:]
        for stage in self.machine.before_sum:
            change, matrix = self._evaluated(stage, seeds)
            if matrix is not None:
                change = _solved(matrix, -change)
            start = 0
            for where, size in zip(stage.unknowns, stage.sizes, strict=True):
                seeds[where : where + size] = change[start : start + size]
                start += size
        dq, dp, tangent = (seeds[at[name] + self.place] for name in ("dq", "dp", "tangent"))
        return np.concatenate([tangents[:n] + dq, tangents[n:] + dp + tangent])

    def _evaluated(self, stage, seeds: np.ndarray):
        """Directional derivatives of a stage's values, and its matrix if it is a solve."""
        size, many = stage.size, seeds.shape[1]
        change = np.zeros((size + 1, many))
        rows, cols, entries = [], [], []
        for part in stage.contributions:
            known = part.gather >= 0
            inputs = np.where(known, self.bank[part.gather], 0.0).T
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
