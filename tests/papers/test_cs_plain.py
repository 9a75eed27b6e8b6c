"""CS's Algorithm 1 in NumPy: its equations in another form, the two schemes, and the energy."""

import numpy as np
import pytest

from taut.errors import StepError, UnknownName
from taut.papers import cs_plain as cs

SMALL = cs.Beam(nodes=6)


@pytest.fixture
def bent():
    """A beam that is bent, twisted, sheared and spinning, without symmetry."""
    rng = np.random.default_rng(4)
    mu = SMALL.inertia * rng.normal(size=(6, 6)) * [50, 50, 50, 1, 1, 1]
    gamma = 0.1 * rng.normal(size=(5, 6))
    return cs.Start(SMALL, mu, gamma, *cs.placed(gamma, SMALL.spacing))


@pytest.fixture
def smooth():
    """A bow in two planes with free ends, thrown and turning."""
    at = (np.arange(5) + 0.5) / 5
    gamma = np.sin(np.pi * at)[:, None] * [0.3, 0.4, -0.5, 0, 0, 0]
    along = np.cos(np.pi * np.linspace(0, 1, 6))[:, None]
    mu = SMALL.inertia * (along * [0, 3, 1, 0.5, 0, 1] + [2, 0, 0, 0, 1, 0])
    return cs.Start(SMALL, mu, gamma, *cs.placed(gamma, SMALL.spacing))


def matrix(xi):
    """A twist as a 4 × 4 matrix."""
    out = np.zeros((4, 4))
    out[:3, :3] = np.cross(np.eye(3), xi[:3])
    out[:3, 3] = xi[3:]
    return out


def bracket(xi, eta):
    """[ξ, η] as a commutator."""
    a = matrix(xi) @ matrix(eta) - matrix(eta) @ matrix(xi)
    return np.array([a[2, 1], a[0, 2], a[1, 0], *a[:3, 3]])


def dual(xi, alpha):
    """[ξ, α]* by its definition (5): its product with η is ⟨α, [ξ, η]⟩."""
    return np.array([alpha @ bracket(xi, eta) for eta in np.eye(6)])


def terms_of_53(mu, new, gamma, step, scheme):
    """The terms of (53) at every node, the last axis; their sum is zero."""
    beam, ends = SMALL, np.zeros((1, 6))
    strain = np.concatenate([ends, gamma, ends])
    stress = strain @ np.diag(beam.stiffness)
    pushed = np.array([dual(x, n) for x, n in zip(strain + cs.E2, stress, strict=True)])
    if scheme is cs.poisson:
        turned = [dual(m / beam.inertia, m) for m in (mu + new) / 2]
    else:
        both = [[dual(m / beam.inertia, m) for m in end] for end in (mu, new)]
        turned = np.mean(both, axis=0)
    left, right = slice(None, -1), slice(1, None)
    return np.stack(
        [
            (mu - new) / step,
            (stress[right] - stress[left]) / beam.spacing,
            -(pushed[right] + pushed[left]) / 2,
            np.array(turned),
        ]
    )


def terms_of_54(zeta, gamma, new, step):
    """The terms of (54) at every edge, the last axis; their sum is zero."""
    mean = (zeta[1:] + zeta[:-1]) / 2
    strain = (gamma + new + 2 * cs.E2) / 2
    turned = np.array([bracket(x, z) for x, z in zip(strain, mean, strict=True)])
    return np.stack([(gamma - new) / step, np.diff(zeta, axis=0) / SMALL.spacing, turned])


@pytest.mark.parametrize("scheme", [cs.poisson, cs.hamel])
def test_the_equations_hold_to_round_off(bent, scheme):
    step = 1e-4
    run = scheme(bent, step, 3)
    for n in range(3):
        (mu, gamma), (mu1, gamma1) = ((run.mu[k], run.gamma[k]) for k in (n, n + 1))
        zeta = mu1 / SMALL.inertia
        for terms in (
            terms_of_53(mu, mu1, gamma, step, scheme) / SMALL.inertia,
            terms_of_54(zeta, gamma, gamma1, step),
        ):
            assert np.abs(terms).max(axis=(1, 2)).min() > 1e-2  # every term counts
            scale = np.abs(terms).sum(axis=0).max(axis=1, keepdims=True)
            assert (np.abs(terms.sum(axis=0)) < 1e-12 * scale).all()


@pytest.mark.parametrize("velocity", cs.VELOCITIES)
@pytest.mark.parametrize("cayley", cs.CAYLEY)
def test_configurations_move_by_the_cayley_map(bent, velocity, cayley):
    step = 1e-3
    run = cs.poisson(bent, step, 1, velocity=velocity, cayley=cayley)
    zeta = run.mu[1 if velocity == "new" else 0] / SMALL.inertia
    for j in range(SMALL.nodes):
        turn = run.frames[0, j].T @ run.frames[1, j]
        shift = run.frames[0, j].T @ (run.positions[1, j] - run.positions[0, j])
        if cayley == "printed":  # of 4 × 4 matrices
            half, moved = matrix(step / 2 * zeta[j]), np.eye(4)
            moved[:3, :3], moved[:3, 3] = turn, shift
        else:  # of their action on twists, Ad(R, x) = [[R, 0], [x̂ R, R]]
            half = np.array([bracket(step / 2 * zeta[j], eta) for eta in np.eye(6)]).T
            moved = np.zeros((6, 6))
            moved[:3, :3] = moved[3:, 3:] = turn
            moved[3:, :3] = np.cross(np.eye(3), shift) @ turn
        one = np.eye(len(half))
        np.testing.assert_allclose((one - half) @ moved, one + half, rtol=0, atol=2e-15)


def test_only_the_new_velocity_keeps_the_configuration_with_the_strain():
    off, start = {}, cs.example(cs.Beam(nodes=31))
    for velocity in cs.VELOCITIES:
        run = cs.poisson(start, 1e-4, 100, every=10, velocity=velocity)
        off[velocity] = np.abs(cs.read_strains(run.beam, run.frames, run.positions) - run.gamma)
        assert off[velocity][0].max() < 1e-13
    assert 50 * off["new"].max() < off["printed"].max()


def test_the_two_schemes_agree_to_second_order(smooth):
    apart = []
    for steps in (25, 50, 100):
        ends = [
            scheme(smooth, 0.01 / steps, steps, every=steps) for scheme in (cs.poisson, cs.hamel)
        ]
        apart.append(np.abs(ends[0].gamma[-1] - ends[1].gamma[-1]).max())
    assert apart[0] < 1e-3
    np.testing.assert_allclose(np.log2(np.divide(apart[:-1], apart[1:])), 2, atol=0.05)


@pytest.mark.parametrize("scheme", [cs.poisson, cs.hamel])
def test_the_energy_is_kept_to_second_order(smooth, scheme):
    bands = []
    for steps in (100, 200):
        run = scheme(smooth, 0.02 / steps, steps)
        kinetic, potential = cs.energy(SMALL, run.mu, run.gamma).T
        # μⁿ belongs half a step before γⁿ, so the mean of two goes with γ.
        total = (kinetic[:-1] + kinetic[1:]) / 2 + potential[:-1]
        assert np.ptp(kinetic) > 0.1 * total[0]
        bands.append(np.ptp(total) / total[0])
    assert bands[0] < 0.02
    assert 3.5 < bands[0] / bands[1] < 4.5


def test_the_papers_example():
    start = cs.example()
    assert cs.energy(start.beam, start.mu, start.gamma).sum() == pytest.approx(103.079, abs=5e-4)
    # A third of a circle of radius 1: its chord, to the accuracy of 100 edges.
    assert np.linalg.norm(start.positions[-1]) == pytest.approx(3**0.5, abs=2e-4)
    turn, push = np.split(cs.momentum(start.beam, start.mu, start.frames, start.positions), 2)
    assert np.linalg.norm(push) == pytest.approx(21.94, abs=0.01)
    assert np.linalg.norm(turn) == pytest.approx(17.79, abs=0.01)
    run = cs.poisson(start, 1e-4, 1)
    assert run.mu.shape == (2, 101, 6)
    assert run.gamma.shape == (2, 100, 6)


def test_the_section():
    moment, area, shear = 0.1**4 / 12, 0.1**2, 1e7 / 2.7
    np.testing.assert_allclose(SMALL.inertia / 1000, [moment, 2 * moment, moment, *3 * [area]])
    expected = [1e7 * moment, shear * 2 * moment, 1e7 * moment, shear * area, 1e7 * area]
    np.testing.assert_allclose(SMALL.stiffness, [*expected, shear * area])


def test_momenta_are_those_of_the_nodes_in_space(bent):
    found = cs.momentum(SMALL, bent.mu, bent.frames, bent.positions) / SMALL.spacing
    nodes = list(zip(bent.frames, bent.positions, bent.mu, strict=True))
    push = sum(frame @ mu[3:] for frame, _, mu in nodes)
    turn = sum(frame @ mu[:3] + np.cross(at, frame @ mu[3:]) for frame, at, mu in nodes)
    np.testing.assert_allclose(found, [*turn, *push])


def test_what_cannot_be_run_is_refused(bent):
    with pytest.raises(UnknownName, match="Cayley"):
        cs.poisson(bent, 1e-3, 1, cayley="exp")
    with pytest.raises(UnknownName, match="velocity"):
        cs.hamel(bent, 1e-3, 1, velocity="mean")
    with pytest.raises(StepError, match="node 0"):
        cs.hamel(bent, 1e-3, 1, tolerance=-1)
