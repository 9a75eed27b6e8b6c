"""Assemblies and rests by name: reactions against statics by hand, and against runs from there."""

import copy
import pickle

import numpy as np
import pytest
import sympy as sp

import taut

G = 9.81


@pytest.fixture(scope="module")
def bridge():
    """A bar on a bearing and a roller, with a weight at a quarter of the span, and a strut."""
    m = taut.Mechanism(gravity=(0, 0, -G))
    bar = m.body("bar", mass=3, inertia=(0.1, 4, 4), at=(2, 0, 0))
    m.revolute("bearing", m.ground, bar, at=(0, 0, 0), axis=(0, 1, 0))
    m.on_surface("roller", bar, "z", at=(4, 0, 0))
    weight = m.point("weight", mass=5, at=(1, 0, -1.5))
    ends = (1, 0, 0), (1, 0, -1.5)
    m.spring("cord", bar, weight, ends=ends, stiffness=100, length=1)
    return m


def test_a_bridge(bridge):
    rest = bridge.equilibrium()
    stretched = 5 * G / 100
    np.testing.assert_allclose(rest["bearing"].force, (0, 0, 3 * G / 2 + 5 * G * 3 / 4), atol=1e-8)
    np.testing.assert_allclose(rest["roller"].force, (0, 0, 3 * G / 2 + 5 * G / 4), atol=1e-8)
    np.testing.assert_allclose(rest["bearing"].torque, 0, atol=1e-8)
    np.testing.assert_allclose(rest["weight"].position, (1, 0, -1 - stretched), atol=1e-8)
    assert rest["cord"].length == pytest.approx(1 + stretched, abs=1e-8)
    assert rest["cord"].extension == pytest.approx(stretched, abs=1e-8)
    assert rest["bearing"].angle == pytest.approx(0, abs=1e-8)
    run = taut.simulate(bridge, q0=rest.q, v0=0, duration=0.1, step=0.01, laws=None)
    for name in ("bearing", "roller"):
        np.testing.assert_allclose(rest[name].force, run[name].force[0], atol=1e-10)
        np.testing.assert_allclose(rest[name].multipliers, run[name].multipliers[0], atol=1e-10)
    np.testing.assert_allclose(rest["cord"].force, run["cord"].force[0], atol=1e-10)


def test_what_is_held_as_a_motion_begins(bridge):
    """The weight falls with its spring, which is longer than it was made by half: 50 N."""
    begun = bridge.assemble()
    assert begun["cord"].extension == pytest.approx(0.5)
    np.testing.assert_allclose(begun["roller"].force, (0, 0, 3 * G / 2 + 50 / 4), atol=1e-9)
    free = taut.Mechanism(gravity=(0, 0, -G))
    free.rod("rod", free.ground, free.point("bob", mass=2, at=(1, 0, 0), velocity=(0, 0, 3)))
    np.testing.assert_allclose(free.assemble()["rod"].force, (-2 * 3**2, 0, 0), atol=1e-12)


def test_hinges_that_share_the_load():
    door = taut.Mechanism(gravity=(0, 0, -G))
    leaf = door.body("leaf", mass=10, inertia=(3, 4, 1), at=(0.5, 0, 0))
    for name, height in (("low", -0.8), ("high", 0.8)):
        door.revolute(name, door.ground, leaf, at=(0, 0, height), axis=(0, 0, 1))
    held = door.assemble()
    low, high = held["low"], held["high"]
    np.testing.assert_allclose(low.force + high.force, (0, 0, 10 * G), atol=1e-10)
    arms = np.cross((0, 0, 0.8), high.force) - np.cross((0, 0, 0.8), low.force)
    moment = arms + low.torque + high.torque
    np.testing.assert_allclose(moment, np.cross((0.5, 0, 0), (0, 0, 10 * G)), atol=1e-10)


def test_a_clamped_beam():
    m = taut.Mechanism(gravity=(0, 0, -G))
    rod = m.beam("rod", length=0.5, section=taut.Square(0.03), density=1100, young=2e7,
                 poisson=0.45, nodes=5, frame=(1, 0, 0))  # fmt: skip
    m.fixed("clamp", m.ground, rod.root, at=(0, 0, 0))
    rest = m.equilibrium()
    weight = 1100 * 0.03**2 * 0.5 * G
    np.testing.assert_allclose(rest["clamp"].force, (0, 0, weight), atol=1e-9 * weight)
    shares = np.array([1, 2, 2, 2, 1]) / 8 * weight
    arms = np.array([rest[f"rod {k}"].position[0] for k in range(5)])
    assert rest["clamp"].torque[1] == pytest.approx(-np.sum(shares * arms), rel=1e-7)
    np.testing.assert_allclose(rest["rod"].positions, rod.positions(rest.q), atol=1e-15)


def test_controls_are_what_they_were_given_as():
    m = taut.Mechanism()
    m.body("block", mass=1, inertia=(1, 1, 1), at=(0, 0, 0))
    m.prismatic("rail", m.ground, "block", at=(0, 0, 0), axis=(1, 0, 0))
    m.motor("drive", "rail", lambda t, state: 5.0)
    assert m.assemble()["drive"].effort == 0.0


@pytest.mark.parametrize("time", [0.0, np.pi / 8, 1.3])
def test_what_moves_with_time_is_held_as_it_is(time):
    """Of a rest there are no accelerations, though a drive would have some."""
    m = taut.Mechanism(gravity=(0, 0, -10))
    m.body("load", mass=1, inertia=(1, 1, 1), at=(0, 0, 0))
    m.prismatic("rail", m.ground, "load", at=(0, 0, 0), axis=(0, 0, 1))
    m.drive("lift", "rail", slide=sp.cos(20 * taut.t) / 10 - sp.Rational(1, 10))
    m.rod("rod", "load", m.point("bob", mass=2, at=(0.6, 0, -0.8)))
    rest = m.equilibrium(q0=m.assemble(time=time), time=time)
    np.testing.assert_allclose(rest["lift"].force, (0, 0, 30), atol=1e-8)
    np.testing.assert_allclose(rest["rod"].force, (0, 0, 20), atol=1e-8)
    height = np.cos(20 * time) / 10 - 0.1
    np.testing.assert_allclose(rest["bob"].position, (0, 0, height - 1), atol=1e-8)
    begun = m.assemble(time=time)
    run = taut.simulate(m, q0=begun.q, v0=begun.v, t0=time, duration=0.01, step=0.001, laws=None)
    np.testing.assert_allclose(begun["lift"].force, run["lift"].force[0], atol=1e-7)
    assert abs(begun["lift"].force[2] - 30) > 1


def test_names_copies_and_loops(bridge):
    rest = bridge.equilibrium()
    with pytest.raises(taut.UnknownName, match="did you mean 'roller'"):
        rest["rolller"]
    again = pickle.loads(pickle.dumps(rest))
    assert (again["roller"].force == rest["roller"].force).all()
    view = copy.deepcopy(rest["bearing"])
    assert (view.force == rest["bearing"].force).all()
    with pytest.raises(TypeError, match="have names"):
        rest[0]
    with pytest.raises(TypeError, match="by name"):
        list(rest)
