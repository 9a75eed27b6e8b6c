"""Properties that hold for any system: random potentials, masses and constraint surfaces."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import taut

x, y, z = Q = taut.coordinates("x y z")
NUMBER = st.floats(-1, 1).map(lambda a: round(a, 3))
MASS = st.floats(0.3, 3).map(lambda a: round(a, 3))
SLOW = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)


@st.composite
def systems(draw):
    """A point with unequal masses on a random quadric, in a random polynomial potential."""
    a = [draw(st.floats(0.6, 1.6).map(lambda v: round(v, 3))) for _ in range(3)]
    c = [draw(NUMBER) for _ in range(6)]
    potential = c[0] * x + c[1] * y + c[2] * z + c[3] * x * y + c[4] * z**3 + c[5] * x**2 * z
    surface = a[0] * x**2 + a[1] * y**2 + a[2] * z**2 + draw(NUMBER) * x * y / 4 - 1
    masses = [draw(MASS) for _ in range(3)]
    return taut.System(Q, mass=masses, potential=potential, constraints=[surface])


@st.composite
def starts(draw):
    q = np.array([draw(NUMBER), draw(NUMBER), draw(NUMBER)])
    assume(np.abs(q).max() > 0.3)
    return q, np.array([draw(NUMBER), draw(NUMBER), draw(NUMBER)])


@SLOW
@given(systems(), starts())
def test_constraints_and_reversal(system, start):
    """From the projected start: g and G v at round-off, and the way back ends where it began."""
    q0, v0 = start
    given = {"duration": 2, "step": 0.02, "laws": None}
    out = taut.simulate(system, q0=q0, v0=v0, project=True, **given)
    facts = out.certificate.to_dict()
    assert facts["max_g"] < 1e-14
    assert facts["max_hidden"] < 1e-13
    back = taut.simulate(system, q0=out.q[-1], p0=-out.p[-1], **given)
    assert np.abs(back.q[-1] - out.q[0]).max() < 1e-11
    assert facts["symplecticity"] < 1e-12


@SLOW
@given(systems(), starts())
def test_the_two_forms_agree(system, start):
    q0, v0 = start
    a, b = (
        taut.simulate(system, q0=q0, v0=v0, duration=1, step=0.02, project=True, method=method)
        for method in ("time-element", "time-element-independent")
    )
    assert np.abs(a.q - b.q).max() < 1e-12
    assert np.abs(a.p - b.p).max() < 1e-11


@SLOW
@given(systems(), starts())
def test_projection_is_idempotent(system, start):
    """A projected start is consistent: it needs no projection, and projecting changes nothing."""
    q0, v0 = start
    first = taut.simulate(system, q0=q0, v0=v0, duration=0.1, step=0.1, project=True)
    again = taut.simulate(system, q0=first.q[0], v0=first.v[0], duration=0.1, step=0.1)
    assert np.abs(again.q[0] - first.q[0]).max() < 1e-15
    assert np.abs(again.v[0] - first.v[0]).max() < 1e-14


@SLOW
@given(systems(), starts(), st.sampled_from([4.0, 0.25, 1024.0]))
def test_scaling_mass_and_energy_together(system, start, factor):
    """L → f L (f a power of two) changes nothing but the momenta, bit by bit in the positions."""
    q0, v0 = start
    scaled = taut.System(
        Q,
        lagrangian=factor * system.energy_function,
        constraints=system.constraints,
        velocities=system.velocities,
    )
    one = taut.simulate(system, q0=q0, v0=v0, duration=1, step=0.02, project=True)
    other = taut.simulate(scaled, q0=one.q[0], v0=one.v[0], duration=1, step=0.02)
    assert np.abs(one.q - other.q).max() < 1e-12
    assert np.abs(factor * one.p - other.p).max() < 1e-11 * factor


@SLOW
@given(systems(), starts(), st.integers(1, 9), st.integers(1, 7))
def test_continuing_and_thinning_change_no_bit(system, start, cut, every):
    q0, v0 = start
    whole = taut.simulate(system, q0=q0, v0=v0, duration=1, step=0.1, project=True, every=every)
    part = taut.simulate(
        system, q0=q0, v0=v0, duration=cut / 10, step=0.1, project=True, every=every
    ).continue_(1 - cut / 10)
    assert np.array_equal(whole.t, part.t)
    assert np.array_equal(whole.q, part.q)
    assert np.array_equal(whole.p, part.p)
    assert np.array_equal(whole.ending.books, part.ending.books)
