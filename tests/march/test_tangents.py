"""Directions that joints allow, and how forces along them change from place to place."""

import numpy as np
import pytest

import taut
from taut.kernel.compile import workshop
from taut.march.resting import Resting


def made(held: bool) -> tuple[Resting, np.ndarray]:
    """A bent beam, a body, a thin rod and a point between springs; hinged to the ground or not."""
    m = taut.Mechanism(gravity=(1, 2, -9))
    strip = {"density": 1e3, "young": 1e5, "poisson": 0.3, "section": taut.Rectangle(0.1, 0.05)}
    rod = m.beam("rod", length=1, nodes=3, frame=(1, 0, 0), curvature=(0.2, 0.3, 0.4), **strip)
    bob = m.body("bob", mass=1, inertia=(0.1, 0.12, 0.15), at=(1, 0.2, -0.4))
    pin = m.body("pin", mass=1, inertia=(0.1, 0.1, 0.0), at=(2, 0.1, -0.4))
    end = m.point("end", mass=1, at=(2, 1, 0))
    m.spring(rod.tip, bob, stiffness=20.0, length=0.3, ends=((1, 0.05, 0), (1.1, 0.1, -0.2)))
    m.spring(bob, pin, stiffness=20.0, length=0.3, ends=((1.1, 0.2, -0.3), (2, 0.1, -0.2)))
    m.spring(bob, end, stiffness=20.0, length=0.3)
    m.torque(rod.tip, (3.0, -2.0, 4.0))
    if held:
        m.revolute(m.ground, rod.root, at=(0, 0, 0), axis=(0, 1, 0))
        m.spherical(rod.nodes[1], bob, at=(0.6, 0, 0))
    system = m.system()
    found = Resting(m, workshop(system).mechanics, system.values())
    return found, m.start()[0]


@pytest.fixture(scope="module")
def free():
    return made(held=False)


def test_stiffness_is_the_derivative_of_forces_and_torques(free):
    """By differences, at a place that is not in balance, with a load that is held back."""
    resting, first = free
    rng = np.random.default_rng(0)
    here = resting.tangents(first)
    q = here.moved(0.1 * rng.standard_normal(here.basis.shape[1]))
    here, load = resting.tangents(q), 0.7 * resting.forces(first)

    def left(x: np.ndarray) -> np.ndarray:
        there = resting.tangents(here.moved(x))
        return there.basis.T @ (resting.forces(there.q) - there.carried(load, first))

    stiff, rest = resting.stiffness(q, here.carried(load, first))
    matrix = (here.basis.T @ stiff @ here.basis + here.turned(rest)).toarray()
    size, wide = 1e-6, matrix.shape[1]
    steps = size * np.eye(wide)
    differences = np.array([(left(x) - left(-x)) / (2 * size) for x in steps]).T
    kept = np.ones(wide, dtype=bool)
    kept[27:29] = False  # the directions in which a thin rod turns are chosen anew everywhere
    scale = np.abs(matrix).max()
    np.testing.assert_allclose(matrix[kept], differences[kept], atol=1e-6 * scale)


def test_steps_keep_directors_orthonormal_and_bend_beams_by_their_strains(free):
    resting, q = free
    here, rod = resting.tangents(q), resting.mechanism["rod"]
    x = 0.3 * np.random.default_rng(1).standard_normal(here.basis.shape[1])
    there = here.moved(x)
    assert np.abs(resting.mechanics.g(there, 0.0, resting.par)).max() < 1e-14
    whole, half = (rod.strain(y) - rod.strain(q) for y in (there, here.moved(x / 2)))
    np.testing.assert_allclose(whole, 2 * half, atol=1e-12)  # strains change in proportion
    slope = (here.moved(1e-6 * x) - q) / 1e-6
    np.testing.assert_allclose(slope, here.basis @ x, atol=1e-5)


def test_joints_take_directions_away():
    resting, q = made(held=True)
    here = resting.tangents(q)
    assert here.basis.shape[1] == 3 * 6 + 6 + 5 + 3 - 5 - 3
    jacobian = resting.mechanics.jacobian(q, 0.0, resting.par)
    assert abs(jacobian @ here.basis).max() < 1e-13
    assert np.linalg.matrix_rank(here.basis.toarray()) == here.basis.shape[1]
