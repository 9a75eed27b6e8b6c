"""Modes of mechanisms with dampers: decay and damping ratios."""

import numpy as np
import pytest
import sympy as sp

import taut

MASS = np.diag([1.0, 2.0])


def pair(near=0.0, between=0.0, stiffness=4.0):
    """Two points on a line, with springs and dampers."""
    m = taut.Mechanism()
    _, y, z = sp.symbols("x y z", real=True)
    for name, mass, x in (("a", 1.0, 1.0), ("b", 2.0, 2.0)):
        m.point(name, mass=mass, at=(x, 0, 0))
        m.on_curve(name, (y, z))
    if stiffness:
        m.spring(m.ground, "a", stiffness=stiffness, damping=near)
    m.spring("a", "b", stiffness=3.0, damping=between)
    return m


def roots(near, between, stiffness=4.0):
    """The same from 2 × 2 matrices."""
    stiff = np.array([[stiffness + 3, -3], [-3, 3]])
    drag = np.array([[near + between, -between], [-between, between]])
    low = np.hstack([-np.linalg.solve(MASS, stiff), -np.linalg.solve(MASS, drag)])
    found = np.linalg.eigvals(np.vstack([np.hstack([np.zeros((2, 2)), np.eye(2)]), low]))
    found = found[found.imag >= 0]
    return found[np.argsort(np.abs(found))]


@pytest.mark.parametrize(("near", "between"), [(0.4, 0.2), (9.0, 0.2), (0.0, 20.0)])
def test_roots(near, between):
    m = pair(near, between)
    found, want = m.modes(at=m.start()[0]), roots(near, between)
    np.testing.assert_allclose(found.eigenvalues, want, rtol=1e-9)
    np.testing.assert_allclose(found.damping_ratios, -want.real / np.abs(want), rtol=1e-9)
    assert found.stable


def test_a_mode_moves_as_it_says():
    """Started along a damped shape, the mechanism moves as Re (x e^{st})."""
    m = pair(0.4, 0.2)
    modes = m.modes(at=m.start()[0])
    s, shape = modes.eigenvalues[1], modes.shapes[1]
    assert np.iscomplexobj(shape)
    begin = m.start()[0]
    run = taut.simulate(
        m, q0=begin + 1e-3 * shape.real, v0=1e-3 * (s * shape).real, duration=2, step=0.01,
        laws=None,
    )  # fmt: skip
    want = 1e-3 * np.real(shape[None] * np.exp(s * run.t)[:, None])
    np.testing.assert_allclose(run.q - begin, want, atol=1e-7)


def test_printed():
    m = pair(0.4, 0.2)
    table = str(m.modes(at=m.start()[0]))
    assert "decay 1/s" in table
    assert "0.0328366" in table
    assert "decay" not in str(pair().modes(at=m.start()[0]))


def test_without_stiffness():
    m = pair(0.0, 0.3, stiffness=0.0)
    found = m.modes(at=m.start()[0])
    assert found.eigenvalues[0] == 0
    np.testing.assert_allclose(found.eigenvalues[1], roots(0, 0.3, 0.0)[-1], rtol=1e-9)
    assert len(found) == 2


def test_a_motor_that_stabilises_and_one_that_does_not():
    def upright(gain, drag):
        m = taut.Mechanism(gravity=(0, 0, -9.81))
        bar = m.body("bar", mass=1, inertia=(0.1, 0.1, 0.01), at=(0, 0, 0.5))
        m.revolute("pivot", m.ground, bar, at=(0, 0, 0), axis=(0, 1, 0))
        angle, rate = m.symbols("pivot")
        m.motor("pivot", -gain * angle - drag * rate)
        return m.modes(at=m.start()[0])

    # (J + m l²) φ̈ = (m g l − gain) φ − drag φ̇
    s = np.roots([0.35, 0.7, 20 - 0.5 * 9.81])
    found = upright(20.0, 0.7)
    assert found.stable
    np.testing.assert_allclose(found.eigenvalues, s[s.imag > 0], rtol=1e-9)
    assert not upright(20.0, -0.7).stable
    assert not upright(2.0, 0.7).stable


def test_count():
    m = pair()
    assert len(m.modes(at=m.start()[0], count=1)) == 1
    with pytest.raises(taut.InputError, match="no number of modes"):
        m.modes(count=0)


@pytest.mark.parametrize("what", ["equilibrium", "modes"])
def test_controllers_that_do_not_count_are_named(what):
    m = pair(0.4, 0.2)
    plain = getattr(m, what)()  # no warning
    for k in range(2):
        m.force("b", lambda t, state: (5.0, 0, 0), name=f"pusher {k}")
    with pytest.warns(taut.Uncontrolled, match="pusher 0, pusher 1 say.*expression") as caught:
        found = getattr(m, what)()
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert str(found).splitlines()[1:] == str(plain).splitlines()[1:]


def test_natural_calls():
    m = pair(0.4, 0.2)
    rest, want = m.equilibrium(), roots(0.4, 0.2)
    calls = [
        taut.modes(m), taut.modes(rest), taut.modes(taut.equilibrium(m)), taut.modes(m.system()),
        rest.modes(), m.modes(at=rest), m.modes(at=rest.q), taut.modes(m.assemble()),
    ]  # fmt: skip
    for found in calls:
        np.testing.assert_allclose(found.eigenvalues, want, rtol=1e-9)
    assert len(taut.modes(rest, count=1)) == len(rest.modes(count=1)) == 1
    np.testing.assert_allclose(m.equilibrium(q0=m.assemble()).q, rest.q, atol=1e-12)
    again = m.assemble(q0=rest, v0=rest)
    np.testing.assert_array_equal(again.v, 0)


@pytest.mark.parametrize("wrong", ["here", [1, 2], taut.Mechanism(), None.__class__, {"q": 1}])
def test_what_is_no_place(wrong):
    with pytest.raises(taut.InputError, match=r"at cannot be used\n.*what m.assemble"):
        pair().modes(at=wrong)


def test_a_rest_of_another_mechanism():
    m = pair()
    rest = m.equilibrium()
    m.point("c", mass=1, at=(0, 0, 0))
    with pytest.raises(taut.InputError, match="received: 6 coordinates"):
        m.modes(at=rest)
    assert len(rest.modes()) == 2  # it keeps what it was made from
