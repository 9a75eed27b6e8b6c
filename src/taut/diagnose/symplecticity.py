"""The symplecticity defect of a compiled step, on the constraint manifold.

The step is Φ: (q, p) ↦ (q₁, p₁).  Its derivative comes from implicit differentiation of the very
program that was compiled, at the values that the compiled step found: with Newton residual
R(z, x) = 0 and result y(z, x),

    DΦ = y_x − y_z R_z⁻¹ R_x.

On the manifold {g = 0, G H_p + g_t = 0} with tangent basis T the defect is

    ‖Tᵀ(DΦᵀ J DΦ − J)T‖ / ‖TᵀJT‖,

zero for a symplectic method.  A method that keeps the form but leaves the manifold is no map of it:
the components of DΦ T normal to the manifold at the image are counted in the defect as well.
"""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

from taut.kernel.compile import Workshop, workshop
from taut.kernel.fused import FusedProgram
from taut.march.charts import best_chart
from taut.march.simulate import one_step
from taut.march.trajectory import Trajectory

SX = ca.SX
DENSE = 60  # coordinates up to which the whole tangent space is used
PAIRS = 6  # random tangent vectors for larger systems


class Linearised:
    """Derivative functions of a fused program."""

    def __init__(self, program: FusedProgram) -> None:
        x = ca.vertcat(program.inputs["q"], program.inputs["p"])
        z = ca.vertcat(*(newton.unknowns for newton in program.newtons))
        residual = ca.vertcat(*(newton.residual for newton in program.newtons))
        q1 = program.inputs["q"] + program.dq
        dp = ca.substitute(program.dp, program.q1, q1)
        p1 = program.inputs["p"] + dp
        tangent = ca.substitute([program.tangent], [program.q1, program.p1], [q1, p1])[0]
        y = ca.vertcat(q1, p1 + tangent)
        self._inputs = [program.inputs[name] for name in ("q", "cq", "p", "v", "t", "t1", "h", "par")]
        blocks = [ca.jacobian(a, b) for a in (y, residual) for b in (x, z)]
        self._function = ca.Function("linearised", [*self._inputs, z], blocks)
        self._z = z.numel()

    def __call__(self, q, p, v, z, t: float, h: float, par, tangents: np.ndarray) -> np.ndarray:
        """DΦ · tangents at one state."""
        blocks = self._function(q, np.zeros_like(q), p, v, t, t + h, h, par, z)
        yx, yz, rx, rz = (sparse.csc_matrix(block.sparse()) for block in blocks)
        moved = yx @ tangents
        if self._z:
            moved = moved - yz @ splu(rz).solve(rx @ tangents)
        return moved


def gradients_of(shop: Workshop, q, v, p, t: float, par) -> np.ndarray:
    """Gradients of g(q) and of G v(q, p) + g_t with respect to (q, p), scaled to unit length."""
    m, n = shop.mechanics, shop.system.n
    if m.c == 0:
        return np.zeros((0, 2 * n))
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
    adjoint = splu(sparse.csc_matrix(lv.T)).solve(hv.T.toarray()).T
    top = sparse.hstack([g, sparse.csr_matrix((m.c, n))]).toarray()
    bottom = np.hstack([(hq - adjoint @ lq), -(adjoint @ lp)])
    rows = np.vstack([top, np.asarray(bottom)])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(1e-300)


def tangent_basis(gradients: np.ndarray) -> np.ndarray:
    """Orthonormal vectors (δq, δp) that all `gradients` annihilate, as columns.

    For large systems, a few random ones instead of all.
    """
    n = gradients.shape[1] // 2
    if n <= DENSE:
        _, s, vt = np.linalg.svd(gradients) if len(gradients) else (0, np.zeros(0), np.eye(2 * n))
        rank = int(np.sum(s > 1e-9 * s.max(initial=1e-300)))
        return vt[rank:].T
    random = np.random.default_rng(0).standard_normal((2 * n, PAIRS))
    random -= np.linalg.pinv(gradients) @ (gradients @ random)
    return np.linalg.qr(random)[0]


class Probe:
    """Measures the defect of a run's method at states of the run."""

    def __init__(self, run: Trajectory) -> None:
        self.run = run
        self.shop = workshop(run.system)
        self._linearised: dict = {}

    def defect(self, q: np.ndarray, v: np.ndarray, p: np.ndarray, t: float) -> float:
        """The relative defect of one step from this state."""
        run, par = self.run, self.run._par
        chart = None
        if run.method.charted:
            chart = best_chart(self.shop.mechanics, q, t, par, run.keep)
        if chart not in self._linearised:
            self._linearised[chart] = Linearised(self.shop.program(run.method, run.keep, chart))
        q1, v1, p1, z = one_step(self.shop, run.method, run.keep, chart, q, v, p, t, run.step, par)
        basis = tangent_basis(gradients_of(self.shop, q, v, p, t, par))
        if basis.shape[1] == 0:
            return 0.0
        moved = self._linearised[chart](q, p, v, z, t, run.step, par, basis)
        before, after = pairing(basis), pairing(moved)
        normal = gradients_of(self.shop, q1, v1, p1, t + run.step, par) @ moved
        leaves = np.abs(normal).max(initial=0.0) / np.abs(moved).max()
        return float(max(np.abs(after - before).max() / np.abs(before).max(), leaves))

    @cached_property
    def states(self) -> list[tuple]:
        """Up to five states spread over the run."""
        run = self.run
        q, v, p = (x[0] if run.batch else x for x in (run.q, run.v, run.p))
        rows = np.unique(np.linspace(0, len(run.t) - 1, 5).astype(int))
        good = [i for i in rows if np.all(np.isfinite(q[i]))]
        return [(q[i], v[i], p[i], float(run.t[i])) for i in good]

    def worst(self) -> float:
        """The largest defect over the sampled states."""
        return max((self.defect(*state) for state in self.states), default=np.nan)


def pairing(vectors: np.ndarray) -> np.ndarray:
    """ω(a, b) = a_q·b_p − a_p·b_q for all pairs of columns."""
    n = len(vectors) // 2
    q, p = vectors[:n], vectors[n:]
    half = q.T @ p
    return half - half.T
