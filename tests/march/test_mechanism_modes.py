"""Modes of mechanisms with dampers: decay and damping ratios."""

import mpmath
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


def test_where_there_is_no_rest_there_are_no_modes():
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    m.body("bar", mass=1, inertia=(0.1, 0.1, 0.02), at=(0.5, 0, 0))
    m.revolute("hinge", m.ground, "bar", at=(0, 0, 0), axis=(0, 1, 0))
    with pytest.raises(taut.InputError, match="there is no rest there"):
        m.modes(at=m.assemble())
    with pytest.raises(taut.InputError, match="the parts do not fit together there"):
        m.modes(at=np.zeros(12))
    standing = m.equilibrium(stable=True)
    assert m.modes(at=standing).stable
    turned = standing.q.copy()
    turned[[0, 2, 3, 5, 9, 11]] *= -1  # half a turn about y
    assert not m.modes(at=turned).stable


# ---- what is stiff beside what is soft ---------------------------------------------------------


def chain(springs, masses, held, dampers=()):
    """Points on a line with springs between them, the first of them to the ground if `held`."""
    m = taut.Mechanism()
    _, y, z = sp.symbols("x y z", real=True)
    for k, mass in enumerate(masses):
        m.point(f"p{k}", mass=mass, at=(k + 1.0, 0, 0))
        m.on_curve(f"p{k}", (y, z))
    names = [*([m.ground] if held else []), *(f"p{k}" for k in range(len(masses)))]
    for k, stiffness in enumerate(springs):
        damping = dampers[k] if dampers else 0.0
        m.spring(names[k], names[k + 1], stiffness=stiffness, damping=damping)
    return m


LOST = [1e-3, 1e12]  # what the first adds to the second is rounded off


def exact_chain(springs, masses, held):
    """Its frequencies with sixty digits."""
    n = len(masses)
    with mpmath.workdps(60):
        stiff = mpmath.zeros(n)
        for k, s in enumerate(springs):
            move = mpmath.zeros(1, n)
            move[k if held else k + 1] = 1
            if not held or k:
                move[k - 1 if held else k] = -1
            stiff += s * move.T * move
        scale = mpmath.diag([1 / mpmath.sqrt(x) for x in masses])
        values = mpmath.eigsy(scale * stiff * scale, eigvals_only=True)
        return np.sqrt([max(float(x), 0.0) for x in values])


@pytest.mark.parametrize(
    ("springs", "masses", "held"),
    [
        ([1.0, 1e12, 1e6, 1e12], [1.0] * 4, True),
        ([1e12, 1.0, 1e12], [1.0] * 4, False),
        ([1e9, 1.0, 1e-9], [1e3, 1.0, 1e-3], True),
        ([1e12, 1e-3], [1.0, 1.0], True),
        (LOST, [1.0, 1.0], True),
        ([1e-3, 1.0], [1e-6, 1e6], True),
    ],
)
def test_soft_springs_beside_stiff_ones(springs, masses, held):
    """Numbers are what they should be, or it is said by how much they may be off."""
    m = chain(springs, masses, held)
    found, want = m.modes(at=m.start()[0]), exact_chain(springs, masses, held)
    assert np.all(np.abs(found.frequencies - want) <= found.errors + 1e-8 * want)
    if springs != LOST:
        assert np.all(found.errors <= 0.1 * want[want > 1e-9].min() + 1e-6 * want)
    assert found.stable
    assert m.equilibrium().stable
    assert ("beyond round-off" in str(found)) is (not held or springs == LOST)


def test_a_soft_spring_that_pushes_beside_a_stiff_one_is_not_stable():
    """A pendulum upside down beside a spring of 10¹² N/m falls."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    m.point("foot", mass=1.0, at=(1, 0, 0))
    _, y, z = sp.symbols("x y z", real=True)
    m.on_curve("foot", (y, z))
    m.spring(m.ground, "foot", stiffness=1e12)
    bar = m.body("bar", mass=1.0, inertia=(0.1, 0.1, 0.01), at=(0, 0, 1.5))
    m.revolute("pivot", m.ground, bar, at=(0, 0, 1), axis=(0, 1, 0))
    found = m.modes(at=m.start()[0])
    assert found.stable is False
    assert found.rates.max() == pytest.approx(np.sqrt(0.5 * 9.81 / 0.35), rel=1e-6)
    assert m.equilibrium(stable=False).stable is False


@pytest.mark.parametrize("arm", [0.1 + 0.2, 0.3, 0.6 - 0.3])
def test_a_stiffness_that_is_round_off_is_neither_up_nor_down(arm):
    """A rod that stands on a spring of just its weight's moment: K is off by a unit of rounding."""
    m = taut.Mechanism(gravity=(0, 0, -1))
    rod = m.body("rod", mass=1, inertia=(0.1, 0.1, 0.01), at=(0, 0, arm))
    m.revolute("foot", m.ground, rod, at=(0, 0, 0), axis=(0, 1, 0))
    m.torsion("foot", stiffness=0.3)
    assert m.modes(at=m.start()[0]).stable is not False
    m.torsion("foot", stiffness=-1e-9)
    assert m.modes(at=m.start()[0]).stable is False
