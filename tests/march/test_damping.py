"""Damping in a step of its own: the linear equations, what it takes, and what it leaves."""

from itertools import pairwise

import numpy as np
import pytest
import sympy as sp

import taut
from taut.fields.beam import Beam
from taut.fields.mesh import mesh_of
from taut.fields.section import Square
from taut.kernel.implicit_code import DAMPING_ROWS, sweeps_of
from taut.kernel.jit import entry
from taut.kernel.strand import rigid
from taut.kernel.sweep_code import MARGIN
from taut.lie import SE3, SO3, se3
from taut.march import damping
from taut.march.codes import DONE
from taut.march.coupled import NOTES
from taut.march.implicit_plan import coupling_of, layout_of, room_of, special_of
from taut.methods.fields.damping import Damping

NODES = 8


@entry
def damp(coupling, special, rows, par, room, notes):
    """A step of damping, as Python can call it."""
    return damping.damp(coupling, special, rows, par, room, notes)


class Damped:
    """A mesh with momenta and strains, at fixed poses."""

    def __init__(self, mesh, span, momentum, strain, posed=True):
        self.mesh = mesh
        self.layout, data = layout_of(mesh, DAMPING_ROWS)
        self.rows = np.zeros((self.layout.height, mesh.nodes + 2 * MARGIN))
        self.par = np.zeros(self.layout.width)
        chi = mesh.reference + strain
        poses = [mesh.pose[0]]
        for e in range(mesh.nodes - 1):
            here = poses[-1] @ SE3.cay_ad(mesh.spacing[e] * chi[e])
            poses.append(here if mesh.alive[e] else mesh.pose[e + 1])
        for joint in mesh.joints:
            motion = poses[joint.leader] @ joint.motion @ SE3.inverse(poses[joint.follower])
            span_of = mesh.spans[mesh.beam_of(joint.follower)]
            for j in range(span_of.start, span_of.stop):
                poses[j] = motion @ poses[j]
        self.poses = np.array(poses)
        for name, value in {
            **data, "mu": momentum.T, "chi": chi.T, "span": span,
            "turn": SO3.quaternion(self.poses[:, :3, :3]).T, "place": self.poses[:, :3, 3].T,
        }.items():  # fmt: skip
            self[name][:] = value
        self.sweeps = sweeps_of(Damping(posed), self.layout, rigid())
        self.coupling = coupling_of(mesh, self.layout, self.sweeps.address, damping=True)
        self.special, self.room = special_of(mesh), room_of(self.coupling)
        self.notes = np.zeros(len(NOTES))

    def __getitem__(self, name):
        if name in self.layout.slots:
            at, size = self.layout.slots[name]
            return self.par[at : at + size]
        at, size = self.layout.rows[name]
        many = self.mesh.nodes
        if name in ("chi", "stiffness", "reference", "damping", "per_length"):
            many -= 1
        return self.rows[at : at + size, MARGIN : MARGIN + many]

    def damp(self):
        code, lost = damp(self.coupling, self.special, self.rows, self.par, self.room, self.notes)
        assert code == DONE
        return lost

    @property
    def momenta(self):
        return (self["weight"] * self["mu"]).T

    @property
    def kinetic(self):
        m = self.momenta
        own = self["weight"][0] > 0
        inertia = self["weight"][0][own, None, None] * self.mesh.inertia[own]
        return 0.5 * np.sum(m[own] * np.linalg.solve(inertia, m[own][..., None])[..., 0])

    @property
    def in_space(self):
        body = self.momenta
        pairs = zip(self.poses, body, strict=True)
        return sum(SE3.adjoint(SE3.inverse(g)).T @ m for g, m in pairs)


def tangent(a, posed):
    found = np.eye(6) + se3.ad(a)
    if posed:
        square, cross = a[:3] @ a[:3], 2 * a[:3] @ a[3:]
        ad = se3.ad(a)  # a aᵀ = ad² + a·a, over the dual numbers
        nil = np.zeros((6, 6))
        nil[3:, :3] = np.eye(3)
        found += ad @ ad + square * np.eye(6) + cross * nil
    return found


def state(rng, **more):
    beam = Beam(
        1.0, Square(0.1), density=1e3, young=1e7, poisson=0.35, nodes=NODES, damping=1e-3, **more
    )
    momentum = rng.normal(size=(NODES, 6)) * [0.02, 0.02, 0.02, 5, 5, 5]
    return mesh_of([beam]), momentum, 0.3 * rng.normal(size=(NODES - 1, 6))


@pytest.mark.parametrize("posed", [True, False])
def test_the_same_as_the_dense_equations(rng, posed):
    mesh, momentum, strain = state(rng)
    span = 3e-3
    run = Damped(mesh, span, momentum, strain, posed)
    inertia = np.zeros((6 * NODES, 6 * NODES))
    drag = np.zeros_like(inertia)
    for j in range(NODES):
        own = slice(6 * j, 6 * j + 6)
        inertia[own, own] = mesh.weight[j] * mesh.inertia[j]
    for e, (ds, chi) in enumerate(zip(mesh.spacing, mesh.reference + strain, strict=True)):
        rate = np.zeros((6, 6 * NODES))
        a = 0.5 * ds * chi
        rate[:, 6 * e : 6 * e + 6] = -tangent(-a, posed) / ds
        rate[:, 6 * e + 6 : 6 * e + 12] = tangent(a, posed) / ds
        drag += ds * mesh.damping[e] * rate.T @ mesh.stiffness[e] @ rate
    before = run.momenta.ravel()
    mean = np.linalg.solve(inertia + 0.5 * span * drag, before)
    expected = before - span * drag @ mean
    lost = run.damp()
    assert np.abs(run.momenta.ravel() - expected).max() < 1e-14
    assert lost == pytest.approx(span * mean @ drag @ mean, rel=1e-12)


@pytest.mark.parametrize("span", [1e-4, 1e-1, 1e2])
def test_energy_falls_by_what_is_lost_and_momenta_stay(rng, span):
    run = Damped(*_with(state(rng), span))
    before, momenta = run.kinetic, run.in_space
    lost = run.damp()
    assert lost > 0
    assert run.kinetic == pytest.approx(before - lost, rel=1e-11)
    assert np.abs(run.in_space - momenta).max() < 1e-12 * np.abs(momenta).max()


def _with(made, span):
    mesh, momentum, strain = made
    return mesh, span, momentum, strain


def test_rigid_motions_are_not_damped(rng):
    mesh, _, strain = state(rng)
    run = Damped(mesh, 1.0, np.zeros((NODES, 6)), strain)
    velocity = rng.normal(size=6)
    body = np.array([SE3.adjoint(SE3.inverse(g)) @ velocity for g in run.poses])
    run["mu"][:] = np.einsum("nij,nj->ni", mesh.inertia, body).T
    before = run["mu"].copy()
    assert run.damp() < 1e-25
    assert np.abs(run["mu"] - before).max() < 1e-12 * np.abs(before).max()


def test_old_factors_serve_and_new_ones_come_when_strains_change(rng):
    run = Damped(*_with(state(rng), 1e-3))
    factors = NOTES.index("factorisations")
    for _ in range(20):
        before, momenta = run.kinetic, run.in_space
        lost = run.damp()
        assert run.kinetic == pytest.approx(before - lost, rel=1e-12)
        assert np.abs(run.in_space - momenta).max() < 1e-12
    assert run.notes[factors] == 1
    run["span"][:] = 1.001e-3
    run.damp()
    assert run.notes[factors] == 2
    run["chi"][:] += rng.normal(size=(6, NODES - 1))
    before = run.kinetic
    lost = run.damp()
    assert run.kinetic == pytest.approx(before - lost, rel=1e-12)
    assert run.notes[factors] == 3


def test_held_ends_stay_and_joints_pass_forces_on(rng):
    mesh, momentum, strain = state(rng, ends=("clamped", "free"))
    momentum[0] = 0.0
    run = Damped(mesh, 1e-2, momentum, strain)
    before = run.kinetic
    lost = run.damp()
    assert np.abs(run["mu"][:, 0]).max() < 1e-15
    assert run.kinetic == pytest.approx(before - lost, rel=1e-12)
    stuff = {"density": 1e3, "young": 1e7, "poisson": 0.35, "nodes": 5, "damping": 1e-3}
    beams = [
        Beam(1.0, Square(0.1), **stuff),
        Beam(1.0, Square(0.1), **stuff, at=(0, 1, 0), frame=(0, 0, 1)),
    ]
    elbow = mesh_of(beams)
    momentum = rng.normal(size=(elbow.nodes, 6))
    run = Damped(elbow, 1e-2, momentum, 0.1 * rng.normal(size=(elbow.nodes - 1, 6)))
    before, momenta = run.kinetic, run.in_space
    lost = run.damp()
    assert lost > 0
    assert run.kinetic == pytest.approx(before - lost, rel=1e-12)
    assert np.abs(run.in_space - momenta).max() < 1e-12 * np.abs(momenta).max()


# ---- between the steps of explicit schemes -----------------------------------------------------

t = taut.t
SLOW = {"inertia": [0.02, 0.03, 0.025, 1, 1, 1], "stiffness": [2, 1.5, 2.5, 60, 80, 50], "nodes": 5}
PATH = (0.1 * sp.sin(4 * t), 0.1 * t**2, 0)
HELD = {
    "clamped": ("clamped", "free"),
    "roller": ("pinned", taut.End("roller", axis=(1, 0.5, 0.2))),
    "moved clamp": (taut.End("clamped", position=PATH, rotation=(0, 0, t)), "free"),
    "moved pin": ("free", taut.End("pinned", position=PATH)),
}


@pytest.mark.parametrize("method", ["poisson", "hamel", "variational"])
@pytest.mark.parametrize("ends", HELD)
def test_damped_runs_are_of_second_order(ends, method):
    """Halving the step leaves a quarter of the error, of the state and of energy − work.

    What they converge to is that of implicit runs (up to how strains are taken).
    """
    beam = taut.Beam(
        1, **SLOW, frame=(1, 0.2, -0.3), ends=HELD[ends], gravity=(0.3, 0.5, -2), damping=2e-2
    )
    settings = {"duration": 1, "every": 10**6}
    runs = [
        taut.simulate(beam, step=step, method=method, **settings) for step in (4e-3, 2e-3, 1e-3)
    ]
    states = [np.concatenate([x.positions[-1], x.frames[-1].reshape(-1, 9)], axis=1) for x in runs]
    first, second = (np.abs(a - b).max() for a, b in pairwise(states))
    assert first / second == pytest.approx(4, abs=0.5)
    for run in runs[1:]:
        assert run.certificate.energy.band < 1e-3 * run.certificate.gross_work
    limit = taut.simulate(beam, step=1e-3, method="implicit", **settings)
    assert np.abs(limit.positions[-1] - limit.positions[0]).max() > 0.01
    near = 2e-6 if method == "variational" else 1e-2
    assert np.abs(limit.positions[-1] - runs[-1].positions[-1]).max() < near
