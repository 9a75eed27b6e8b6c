"""The implicit scheme once more, in plain NumPy: slow and clear, with 6 × 6 matrices and poses.

Nothing here comes from the compiled scheme: coefficients A are products of matrices as they were
derived, strains are read from poses in every step, and Newton's matrix is found by differences.
"""

import itertools
import runpy
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
import sympy as sp

from taut.fields.beam import Beam
from taut.fields.mesh import mesh_of
from taut.kernel.implicit_code import SWEEPS, sweeps
from taut.kernel.strand import rigid
from taut.lie import SE3, SO3, se3
from taut.march.implicit_plan import layout_of
from taut.methods.fields.implicit import EnergyMomentumBeam
from taut.model.symbols import t

ImplicitRun = runpy.run_path(str(Path(__file__).with_name("steps.py")))["ImplicitRun"]

ONE = np.eye(6)
NIL = np.block([[np.zeros((3, 3)), np.zeros((3, 3))], [np.eye(3), np.zeros((3, 3))]])  # ε


def ad(x):
    return se3.ad(x)


def dual_dot(x, y):
    """x·y of dual vectors, as the matrix of the multiplication with it."""
    return (x[:3] @ y[:3]) * ONE + (x[:3] @ y[3:] + x[3:] @ y[:3]) * NIL


def tangent(a):
    """1 + a× + a aᵀ."""
    outer = np.array([dual_dot(a, e) @ a for e in ONE]).T
    return ONE + ad(a) + outer


def coefficients(a0, a1, f0, f1, bi, bj):
    """A_i and A_j, as sums of two products each."""
    back0, back1 = (SE3.adjoint(SE3.inverse(f)) for f in (f0, f1))
    beta0, beta1 = back0 @ bi, back1 @ bi
    d = 0.5 * SE3.cay_ad_inverse(SE3.cay_ad(-2 * beta0) @ SE3.cay_ad(2 * bj))
    c0 = (ONE - dual_dot(a0, d)) @ (ONE + dual_dot(beta0, bj))
    c1 = (ONE + dual_dot(a1, d)) @ (ONE + dual_dot(beta1, bj))
    first = tangent(a0) @ (ONE - ad(0.5 * (beta0 + bj))) @ SE3.adjoint(SE3.cay_ad(2 * bj))
    second = tangent(a1) @ (ONE + ad(0.5 * (beta1 + bj)))
    x = 0.5 * (np.linalg.solve(c0, first) + np.linalg.solve(c1, second))
    return -x @ back1 @ (ONE - ad(bi)), x @ (ONE - ad(bj))


class Plain:
    """One beam by the same scheme; `held` is a list of nodes with ζ = 0."""

    def __init__(self, mesh, h, momentum, strain, held=()):
        self.mesh, self.h, self.held, self.time = mesh, h, list(held), 0.0
        self.m = mesh.weight[:, None] * momentum
        self.inertia = mesh.weight[:, None, None] * mesh.inertia
        self.poses = [mesh.pose[0]]
        for ds, chi in zip(mesh.spacing, mesh.reference + strain, strict=True):
            self.poses.append(self.poses[-1] @ SE3.cay_ad(ds * chi))
        self.zeta = np.linalg.solve(self.inertia, self.m[..., None])[..., 0]
        self.work = self.lost = 0.0

    def between(self, poses):
        return [SE3.inverse(g) @ after for g, after in itertools.pairwise(poses)]

    def strains(self, poses):
        steps = np.array([SE3.cay_ad_inverse(f) for f in self.between(poses)])
        return steps / self.mesh.spacing[:, None]

    def moved(self, zeta):
        return [g @ SE3.cay_ad(self.h * x) for g, x in zip(self.poses, zeta, strict=True)]

    def edge_forces(self, zeta):
        mesh, h, after = self.mesh, self.h, self.moved(zeta)
        force = np.zeros_like(zeta)
        f0, f1 = self.between(self.poses), self.between(after)
        chi0, chi1 = self.strains(self.poses), self.strains(after)
        lost = 0.0
        for e, ds in enumerate(mesh.spacing):
            change, c = chi1[e] - chi0[e], mesh.stiffness[e]
            n = c @ (0.5 * (chi0[e] + chi1[e]) - mesh.reference[e])
            n += mesh.damping[e] * c @ change / h
            ai, aj = coefficients(
                0.5 * ds * chi0[e], 0.5 * ds * chi1[e], f0[e], f1[e],
                0.5 * h * zeta[e], 0.5 * h * zeta[e + 1],
            )  # fmt: skip
            force[e] -= ai.T @ n
            force[e + 1] -= aj.T @ n
            lost += ds * mesh.damping[e] * change @ c @ change / h
        return force, lost

    def loads(self, zeta):
        """Forces of loads, and of weight, at the middle of the step."""
        given, weight = np.zeros_like(zeta), np.zeros_like(zeta)
        for load in self.mesh.loads:
            wrench = np.array([float(x.subs(t, self.time + 0.5 * self.h)) for x in load.wrench])
            if load.follower:
                given[load.node] += wrench
            else:
                given[load.node] += self.dead(load.node, zeta, wrench)
        for node, x in enumerate(zeta):
            rotation = self.poses[node][:3, :3]
            k, g = self.h * x[:3], rotation.T @ self.mesh.gravity
            bent = np.concatenate([np.zeros(3), g - np.cross(0.5 * k, g)])
            weight[node] = self.inertia[node] @ bent
            way = self.h * (self.inertia[node] @ x)[3:]
            shift = (way + np.cross(0.5 * k, way)) / (1 + 0.25 * k @ k)
            weight[node, :3] -= 0.25 * k * (g @ shift)
        return given, weight

    def dead(self, node, zeta, wrench):
        """From its impulse in space: moment and force at the mean, and −k(f·Δx)/4."""
        before = self.poses[node]
        after = before @ SE3.cay_ad(self.h * zeta[node])
        k = self.h * zeta[node, :3]
        moment, force = (
            (np.eye(3) - SO3.hat(0.5 * k)) @ before[:3, :3].T @ x for x in (wrench[:3], wrench[3:])
        )
        work = wrench[3:] @ (after[:3, 3] - before[:3, 3])
        return np.concatenate([moment - 0.25 * k * work, force])

    def residual(self, zeta):
        mean = np.einsum("nij,nj->ni", self.inertia, zeta)
        turning = np.array([se3.dual(x, m) for x, m in zip(zeta, mean, strict=True)])
        force = self.edge_forces(zeta)[0] + sum(self.loads(zeta))
        found = mean - self.m - 0.5 * self.h * (turning + force)
        found[self.held] = zeta[self.held]
        return found.ravel()

    def step(self):
        zeta = self.zeta.copy()
        zeta[self.held] = 0.0
        for _ in range(12):
            here, scale = self.residual(zeta), 1e-6 * (1 + np.abs(zeta).max())
            columns = []
            for k in range(zeta.size):
                other = zeta.copy().ravel()
                other[k] += scale
                columns.append((self.residual(other.reshape(zeta.shape)) - here) / scale)
            change = np.linalg.solve(np.array(columns).T, here).reshape(zeta.shape)
            zeta = zeta - change
            if np.abs(change).max() < 1e-14 * np.abs(zeta).max():
                break
        self.work += self.h * np.sum(zeta * self.loads(zeta)[0])
        self.lost += self.edge_forces(zeta)[1]
        self.m = 2 * np.einsum("nij,nj->ni", self.inertia, zeta) - self.m
        self.poses, self.zeta = self.moved(zeta), zeta
        self.time += self.h


def spread(rng, diagonal):
    """A positive definite matrix that is not diagonal."""
    root = np.sqrt(np.asarray(diagonal))
    mixed = 0.15 * rng.uniform(-1, 1, (6, 6))
    return np.diag(diagonal) + root[:, None] * (mixed + mixed.T) / 2 * root


@pytest.fixture
def beam(rng):
    """Everything at once: full matrices, curvature, damping, weight, loads of both kinds."""
    beam = Beam(
        1.0,
        inertia=spread(rng, [0.02, 0.03, 0.02, 1, 1, 1]),
        stiffness=spread(rng, [2, 1.5, 2, 40, 60, 40]),
        nodes=5,
        curvature=(0.5, 0.2, -0.3),
        gravity=(0.3, -1.0, 0.5),
        damping=0.02,
        ends=("clamped", "free"),
    )
    beam.load(at="tip", force=(0.3, sp.cos(t), 0.1), moment=(0.05, 0.02 * t, -0.1))
    beam.load(at=0.5, force=(0.1, 0.2, -0.3), moment=(0.02, 0, 0.01), follower=True)
    return beam


def test_the_compiled_scheme_is_the_plain_one(beam, rng):
    mesh, h = mesh_of([beam]), 0.15
    momentum = rng.normal(size=(5, 6)) * [0.02, 0.02, 0.02, 0.5, 0.5, 0.5]
    momentum[0] = 0.0
    strain = 0.2 * rng.normal(size=(4, 6))
    plain = Plain(mesh, h, momentum, strain, held=[0])
    run = ImplicitRun(mesh, h, momentum=momentum, strain=strain)
    work = lost = 0.0
    for _ in range(6):
        plain.step()
        run.run(1)
        work, lost = work + run.energy["work"], lost + run.energy["dissipated"]
        assert np.abs(run["zeta"].T - plain.zeta).max() < 1e-12
        assert np.abs((run["weight"] * run["mu"]).T - plain.m)[1:].max() < 1e-12
        assert np.abs(run.positions - np.array(plain.poses)[:, :3, 3]).max() < 1e-12
        assert np.abs(run.frames - np.array(plain.poses)[:, :3, :3]).max() < 1e-12
        assert np.abs(run["chi"].T - plain.strains(plain.poses)).max() < 1e-12
    assert abs(work - plain.work) < 1e-12
    assert abs(lost - plain.lost) < 1e-12


def test_slopes_are_those_that_casadi_finds(beam, rng):
    """Newton's matrix of an edge, put together by hand, is the derivative of its forces."""
    layout, _ = layout_of(mesh_of([beam]))
    made = dict(zip(SWEEPS, sweeps(EnergyMomentumBeam(), layout, rigid()), strict=True))
    sweep = made["pull_slopes"]
    symbols = [*(x for x, _, _ in sweep.reads), sweep.par]
    rows = {row: x for x, row in sweep.writes}
    forces = ca.vertcat(*(rows[layout.rows[name][0]] for name in ("left", "right")))
    zeta = ca.vertcat(*(
        x for x, row, _ in sorted(sweep.reads, key=lambda y: y[2]) if row == layout.rows["zeta"][0]
    ))  # fmt: skip
    step = sweep.par[layout.slots["step"][0]]
    exact = ca.Function("exact", symbols, [ca.jacobian(-0.5 * step * forces, zeta)])
    found = ca.Function("found", symbols, [rows[layout.rows["slope"][0]]])
    for _ in range(5):
        numbers = [rng.normal(size=x.shape) * 0.4 for x in symbols]
        expected = np.array(exact(*numbers))
        blocks = np.array(found(*numbers)).reshape(2, 2, 6, 6)
        assert np.abs(np.block([list(row) for row in blocks]) - expected).max() < 1e-11 * (
            np.abs(expected).max()
        )
