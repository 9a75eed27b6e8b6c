"""Fields whose density mixes strains and momenta: an axially moving string, and strands."""

import numpy as np
import pytest

import taut
from taut.errors import InputError

SPEED = 0.3


def string(nodes, ends="periodic", speed=SPEED):
    """L = ½(φ_t + c φ_s)² − ½φ_s², so that h = ½μ² − c μγ + ½γ²."""
    g, m, c = taut.coordinates("gamma mu c")
    return taut.Field(
        taut.lie.abelian(1), m**2 / 2 - c * m * g + g**2 / 2, strain=[g], momentum=[m],
        length=2 * np.pi, nodes=nodes, ends=ends, parameters={"c": speed},
    )  # fmt: skip


def waves(s, t):
    """γ and μ: μ ± γ go with the speeds ±1 − c."""
    right, left = s + (1 - SPEED) * t, s - (1 + SPEED) * t
    one, other = 0.5 * np.sin(right) + np.cos(right), 0.5 * np.sin(left) - np.cos(left)
    return (one - other) / 2, (one + other) / 2


def error(nodes, share=0.4):
    field = string(nodes)
    start = waves(field.middles, 0)[0], waves(field.places, 0)[1]
    run = taut.simulate(
        field, strain0=start[0][:, None], momentum0=start[1][:, None], duration=2.0,
        step=2.0 / round(2.0 / (share * field.spacing)), every=10**6,
    )  # fmt: skip
    gamma, mu = waves(field.middles, 2.0)[0], waves(field.places, 2.0)[1]
    return max(
        np.abs(run.strain[-1, :, 0] - gamma).max(), np.abs(run.momentum[-1, :, 0] - mu).max()
    )


def test_a_moving_string_is_of_first_order():
    """In time, the parts that mix; in space it is of second order, as short steps show."""
    errors = [error(nodes) for nodes in (160, 320, 640)]
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 1, rtol=0, atol=0.1)
    errors = [error(nodes, share) for nodes, share in ((20, 4e-3), (40, 2e-3))]
    np.testing.assert_allclose(np.log2(errors[0] / errors[1]), 2, rtol=0, atol=0.1)


def test_steps_are_those_of_the_equations():
    """(36) with H taken at both ends of each edge, in NumPy."""
    field, h = string(12), 0.05
    gamma, mu0 = np.cos(field.middles), 0.5 * np.sin(field.places)
    run = taut.simulate(
        field, strain0=gamma[:, None], momentum0=mu0[:, None], duration=5 * h, step=h
    )

    def force(gamma, mu):
        n = gamma - SPEED * 0.5 * (mu + np.roll(mu, -1))
        return (n - np.roll(n, 1)) / field.spacing

    mu = mu0 - h / 2 * force(gamma, mu0)
    for k in range(6):
        new = mu
        for _ in range(200):
            new = mu + h * force(gamma, new)
        np.testing.assert_allclose(run.momentum[k, :, 0], 0.5 * (mu + new), rtol=0, atol=1e-14)
        np.testing.assert_allclose(run.strain[k, :, 0], gamma, rtol=0, atol=1e-14)
        zeta = new - SPEED * 0.5 * (gamma + np.roll(gamma, 1))
        gamma = gamma + h * (np.roll(zeta, -1) - zeta) / field.spacing
        mu = new


@pytest.mark.parametrize("ends", ["periodic", ("free", "clamped"), ("clamped", "free")])
def test_without_mixing_it_is_the_same_as_ever(ends):
    """c = 0 through the road of mixed densities, and through the other."""
    g, m = taut.coordinates("gamma mu")
    plain = taut.Field(
        taut.lie.abelian(1), m**2 / 2 + g**2 / 2, strain=[g], momentum=[m], length=2 * np.pi,
        nodes=30, ends=ends,
    )  # fmt: skip
    start = {"strain0": np.sin(plain.middles)[:, None], "duration": 3.0, "step": 0.1}
    one, other = taut.simulate(plain, **start), taut.simulate(string(30, ends, 0.0), **start)
    np.testing.assert_allclose(one.strain, other.strain, rtol=0, atol=1e-13)
    np.testing.assert_allclose(one.momentum, other.momentum, rtol=0, atol=1e-13)
    np.testing.assert_allclose(one.energy, other.energy, rtol=0, atol=1e-13)
    np.testing.assert_allclose(one.velocity, other.velocity, rtol=0, atol=1e-13)
    np.testing.assert_allclose(one.stress, other.stress, rtol=0, atol=1e-13)


def strand():
    gamma, mu = taut.coordinates("g1:4"), taut.coordinates("m1:4")
    density = sum(x**2 for x in (*gamma, *mu)) / 2
    density += sum(a * b for a, b in zip(gamma, mu, strict=True)) / 5
    return taut.Field(taut.lie.so3, density, strain=gamma, momentum=mu, length=1, nodes=21)


def strand_start():
    return {
        "strain0": 0.5 * np.sin(np.linspace(0, 6, 60)).reshape(20, 3),
        "momentum0": np.cos(np.linspace(0, 9, 63)).reshape(21, 3),
    }


def test_energy_of_a_strand_stays_in_a_band_of_second_order():
    bands = [
        taut.simulate(strand(), **strand_start(), duration=3, step=h).certificate.energy.band
        for h in (0.02, 0.01)
    ]
    assert 3 < bands[0] / bands[1] < 5
    run = taut.simulate(strand(), **strand_start(), duration=300, step=0.02, every=1000)
    assert not run.certificate.drifts


def test_runs_go_on_bit_by_bit():
    whole = taut.simulate(strand(), **strand_start(), duration=2, step=0.02, every=7)
    parts = taut.simulate(strand(), **strand_start(), duration=1, step=0.02, every=7).continue_(1)
    np.testing.assert_array_equal(whole.t, parts.t)
    np.testing.assert_array_equal(whole.momentum, parts.momentum)
    np.testing.assert_array_equal(whole.strain, parts.strain)


def fine_at(t):
    steps = round(t / 0.001)
    run = taut.simulate(strand(), **strand_start(), duration=t, step=0.001, every=steps)
    return run.momentum[-1]


def test_a_last_shorter_step():
    run = taut.simulate(strand(), **strand_start(), duration=0.05, step=0.02)
    fine = taut.simulate(strand(), **strand_start(), duration=0.05, step=0.001, every=50)
    assert run.t[-1] == 0.05
    before = np.abs(run.momentum[-2] - fine_at(0.04)).max()
    after = np.abs(run.momentum[-1] - fine.momentum[-1]).max()
    assert after < 1.3 * before


def test_only_the_poisson_integrator_knows_them():
    with pytest.raises(InputError, match="mix strains and momenta"):
        taut.simulate(string(10), duration=1, step=0.1, method="hamel")


def test_a_step_that_is_too_long_for_the_repetition_is_an_error():
    field = string(20, speed=5.0)
    with pytest.warns(UserWarning, match="limit of stability"), pytest.raises(taut.StepError):
        taut.simulate(field, strain0=np.cos(field.middles)[:, None], duration=1, step=0.2)
