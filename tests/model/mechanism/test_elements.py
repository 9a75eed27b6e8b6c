"""Strains in directors: exact in rational numbers, and the same energy as that of a beam."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.kernel.compile import workshop
from taut.lie import SE3, SO3
from taut.model.mechanism.elements import turned

K, V = sp.Matrix([sp.Rational(1, 3), sp.Rational(-2, 5), sp.Rational(3, 7)]), sp.Matrix([1, 4, -2])


def cay(k: sp.Matrix) -> sp.Matrix:
    """Cayley's rotation: rational where k is."""
    hat = sp.Matrix([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]]) / 2
    return (sp.eye(3) - hat).inv() * (sp.eye(3) + hat)


def pair(frame: sp.Matrix, place: sp.Matrix):
    return tuple(place), tuple(tuple(frame[:, i]) for i in range(3))


def strains(first: tuple, second: tuple) -> list[sp.Rational]:
    return [sp.nsimplify(x) for x in turned(pair(*first), pair(*second))]


@pytest.fixture(scope="module")
def poses():
    """A frame at a place, and one that is reached from it by the adjoint Cayley map of (K, V)."""
    frame, place = cay(sp.Matrix([2, sp.Rational(1, 4), -1])), sp.Matrix([3, -1, sp.Rational(1, 2)])
    share = 1 / (1 + K.dot(K) / 4)
    return (frame, place), (frame * cay(K), place + frame * (V + K.cross(V) / 2) * share)


def test_strain_is_the_motion_from_node_to_node_exactly(poses):
    assert strains(*poses) == [*K, *V]


def test_strain_is_objective_exactly(poses):
    turn, shift = cay(sp.Matrix([1, -3, sp.Rational(2, 3)])), sp.Matrix([5, 7, -11])
    moved = [(turn * r, turn * x + shift) for r, x in poses]
    assert strains(*moved) == strains(*poses)


def test_equal_frames_are_stretched_and_not_bent():
    frame = cay(sp.Matrix([1, 2, 3]))
    found = strains((frame, sp.zeros(3, 1)), (frame, frame * V))
    assert found == [0, 0, 0, *V]


COMMON = {"length": 1.0, "nodes": 3, "frame": (1, 2, -0.5), "curvature": (0.3, 0.2, 0.5)}
PLAIN = {"section": taut.Rectangle(0.1, 0.05), "density": 1e3, "young": 1e7, "poisson": 0.3}


def full() -> dict:
    """Stiffness with coupling, and inertia about a centre beside the node, with turned axes."""
    rng = np.random.default_rng(3)
    a, c = rng.standard_normal((6, 6)), SO3.hat([0.01, -0.02, 0.03])
    turn = SO3.exp([0.4, 0.2, -0.7])
    moments = turn @ np.diag([2.0, 3.0, 4.0]) @ turn.T * 1e-3
    inertia = np.block([[moments - 2 * c @ c, 2 * c], [-2 * c, 2 * np.eye(3)]])
    return {"stiffness": a @ a.T + np.eye(6), "inertia": inertia}


@pytest.mark.parametrize("kind", ["section", "body", "matrices"])
def test_energies_are_those_of_the_beam(kind):
    beam = taut.Beam(**COMMON, **(full() if kind == "matrices" else PLAIN))
    if kind == "body":  # whose centre of mass is not where the node is
        beam.body(at="tip", mass=2.0, inertia=(0.1, 0.2, 0.25), offset=(0.1, 0, 0))
    m = taut.Mechanism()
    part = m.beam("rod", beam)
    system = m.system()
    q, rng = m.start()[0], np.random.default_rng(1)
    poses = part.poses(q) @ SE3.exp(0.2 * rng.standard_normal((3, 6)))
    part.place(q, poses)
    v = np.zeros_like(q)
    spin, moving = rng.standard_normal((2, 3, 3))
    for k, node in enumerate(part.nodes):
        d = part.directors(q)[k]
        rates = [np.cross(spin[k], d[:, i - 1]) for i in node.shape.directors]
        centre = moving[k] + np.cross(spin[k], poses[k, :3, :3] @ part.offsets[k])
        v[node.indices] = np.concatenate([centre, *rates])
    mechanics = workshop(system).mechanics
    gamma = SE3.cay_ad_inverse(SE3.inverse(poses[:-1]) @ poses[1:]) / beam.spacing - beam.reference
    strain = 0.5 * beam.spacing * np.einsum("ei,eij,ej", gamma, beam.stiffness, gamma)
    still = mechanics.energy(q, 0 * q, 0 * q, 0.0, system.values())
    assert still == pytest.approx(strain, rel=1e-12)
    local = np.hstack([np.einsum("nji,nj->ni", poses[:, :3, :3], x) for x in (spin, moving)])
    heavy = beam.weights[:, None, None] * beam.mesh().inertia
    kinetic = 0.5 * np.einsum("ni,nij,nj", local, heavy, local)
    assert mechanics.energy(q, v, 0 * q, 0.0, system.values()) - still == pytest.approx(
        kinetic, rel=1e-11
    )
