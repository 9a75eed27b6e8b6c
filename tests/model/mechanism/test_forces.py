"""Springs, ropes, dampers, torsion, loads and potentials: against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import taut
from taut.lie import SO3

BOX = {"mass": 2.0, "inertia": (0.3, 0.4, 0.5)}


def simulated(m, duration, step=0.005, **settings):
    return taut.simulate(m, duration=duration, step=step, method="composition-4", laws=None,
                         **settings)  # fmt: skip


class TestBetweenPlaces:
    def test_a_spring_swings_with_its_frequency(self):
        m = taut.Mechanism()
        bob = m.point("bob", mass=2, at=(1.1, 0, 0))
        m.spring("spring", m.ground, bob, stiffness=8, length=1)
        run = simulated(m, 5)
        np.testing.assert_allclose(
            run["bob"].position[:, 0], 1 + 0.1 * np.cos(2 * run.t), atol=1e-6
        )
        assert run.certificate.energy0 == pytest.approx(0.5 * 8 * 0.01)

    def test_one_without_a_length_rests_at_the_start(self):
        m = taut.Mechanism()
        bob = m.point("bob", mass=2, at=(1.1, 0, 0))
        m.spring(m.ground, bob, stiffness=8)
        assert np.ptp(simulated(m, 1)["bob"].position, axis=0).max() < 1e-12

    def test_length_zero_has_no_root(self):
        m = taut.Mechanism()
        bob = m.point("bob", mass=1, at=(0, 0, 0), velocity=(1, 0, 0))
        m.spring(m.ground, bob, stiffness=4, length=0)
        run = simulated(m, 3)
        np.testing.assert_allclose(run["bob"].position[:, 0], np.sin(2 * run.t) / 2, atol=1e-6)

    def test_a_damper_slows_down(self):
        m = taut.Mechanism()
        bob = m.point("bob", mass=2, at=(1, 0, 0), velocity=(1, 0, 0))
        m.damper(m.ground, bob, damping=3)
        run = simulated(m, 2)
        np.testing.assert_allclose(run["bob"].velocity[:, 0], np.exp(-1.5 * run.t), atol=1e-6)
        assert run.certificate.energy.band < 1e-4

    def test_a_rope_pulls_and_does_not_push(self):
        m = taut.Mechanism()
        bob = m.point("bob", mass=1, at=(0.5, 0, 0), velocity=(1, 0, 0))
        m.rope(m.ground, bob, stiffness=100, length=1)
        run = simulated(m, 1.5, step=0.001)
        slack = run.t < 0.5
        np.testing.assert_allclose(run["bob"].position[slack, 0], 0.5 + run.t[slack], atol=1e-12)
        assert run["bob"].position[:, 0].max() == pytest.approx(1.1, abs=1e-4)
        assert run["bob"].velocity[-1, 0] == pytest.approx(-1, abs=1e-4)

    def test_laws_of_ones_own(self):
        m = taut.Mechanism()
        bob = m.point("bob", mass=1, at=(1.2, 0, 0))
        m.spring(m.ground, bob, energy=lambda s: 3 * (s - 1) ** 4)
        run = simulated(m, 3)
        energy = 3 * (np.abs(run["bob"].position[:, 0]) - 1) ** 4
        np.testing.assert_allclose(energy + run["bob"].kinetic_energy, 3 * 0.2**4, atol=1e-7)
        m = taut.Mechanism()
        bob = m.point("bob", mass=1, at=(1, 0, 0), velocity=(1, 0, 0))
        m.spring(m.ground, bob, pull=lambda s, rate: rate * sp.Abs(rate))
        run = simulated(m, 2)
        np.testing.assert_allclose(run["bob"].velocity[:, 0], 1 / (1 + run.t), atol=1e-5)

    def test_springs_of_bodies_push_both_alike(self, rng):
        m = taut.Mechanism()
        a = m.body("a", **BOX, at=(0, 0, 0), rotation=SO3.exp(rng.normal(size=3)))
        b = m.body("b", **BOX, at=(2, 0, 0), rotation=SO3.exp(rng.normal(size=3)))
        m.spring(a, b, stiffness=20, length=0.5, damping=0.3, ends=((0.3, 0.2, 0.1), (1.6, 0, 0.4)))
        run = simulated(m, 1, step=0.002)
        both = [run[name] for name in "ab"]
        linear = sum(x.momentum for x in both)
        turning = sum(x.angular_momentum + np.cross(x.position, x.momentum) for x in both)
        assert np.abs(linear).max() < 1e-12
        assert np.abs(turning - turning[0]).max() < 1e-11
        assert np.abs(both[0].momentum).max() > 0.1

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({}, "does nothing"),
            ({"stiffness": -1}, "is negative"),
            ({"stiffness": "hard"}, "not a number"),
            ({"stiffness": 1, "length": -1}, "is negative"),
            ({"energy": sp.Symbol("z")}, "contains z"),
            ({"stiffness": 1, "ends": (1, 2, 3)}, "ends of"),
        ],
    )
    def test_refused(self, options, words):
        m = taut.Mechanism()
        bob = m.point("bob", mass=1, at=(1, 0, 0))
        with pytest.raises(taut.TautError, match=words):
            m.spring(m.ground, bob, **options)


class TestInJoints:
    def test_a_torsional_pendulum(self):
        m = taut.Mechanism()
        disc = m.body("disc", **BOX, at=(0, 0, 0), angular_velocity=(0, 0, 1))
        hinge = m.revolute("hinge", m.ground, disc, at=(0, 0, 0), axis=(0, 0, 1))
        m.torsion(hinge, stiffness=4.5, damping=0.2)
        run = simulated(m, 4)
        decay, rate = 0.2, np.sqrt(9 - 0.04)
        want = np.exp(-decay * run.t) * np.sin(rate * run.t) / rate
        np.testing.assert_allclose(run["hinge"].angle, want, atol=1e-6)

    def test_a_slider_on_a_spring(self):
        m = taut.Mechanism()
        cart = m.body("cart", **BOX, at=(1, 2, 3), velocity=(0, 0.5, 0))
        rail = m.prismatic("rail", m.ground, cart, at=(1, 2, 3), axis=(0, 1, 0))
        m.push(rail, stiffness=8, slide=0.3)
        run = simulated(m, 4)
        want = 0.3 - 0.3 * np.cos(2 * run.t) + 0.25 * np.sin(2 * run.t)
        np.testing.assert_allclose(run["rail"].slide, want, atol=1e-6)
        with pytest.raises(taut.ModelError, match="no such motion"):
            m.torsion(rail, stiffness=1)


class TestOnParts:
    def test_a_constant_force_keeps_an_energy(self):
        m = taut.Mechanism()
        box = m.body("box", **BOX, at=(0, 0, 0))
        m.force(box, (1, 2, 3), at=(0.1, 0, 0))
        run = simulated(m, 2, step=0.002)
        np.testing.assert_allclose(run["box"].position[-1], np.array([1, 2, 3]), atol=1e-9)
        assert run.system.conservative
        assert run.certificate.energy.band < 1e-6
        # d/dt of the angular momentum is the arm times the force.
        arm = run["box"].place((0.1, 0, 0)) - run["box"].position
        rate = np.gradient(run["box"].angular_momentum, run.t, axis=0, edge_order=2)
        np.testing.assert_allclose(rate[5:-5], np.cross(arm, [1, 2, 3])[5:-5], atol=2e-4)

    @pytest.mark.parametrize("inertia", [(0.3, 0.4, 0.5), (0.3, 0.5, 0.2), (0.5, 0.5, 0)])
    def test_torques_turn(self, rng, inertia):
        """Dead and follower torques, on bodies, plates and rods: dL/dt = τ."""
        for follower in (False, True):
            m = taut.Mechanism()
            start = SO3.exp(rng.normal(size=3)) if 0 not in inertia else np.eye(3)
            box = m.body("box", mass=1, inertia=inertia, at=(0, 0, 0), rotation=start)
            torque = np.array([0.3, -0.2, 0.0 if 0 in inertia else 0.5])
            if follower and 0 in inertia:
                continue  # a rod has no axes across it that could be followed
            m.torque(box, torque, follower=follower)
            run = simulated(m, 1, step=0.002)
            seen = run["box"]
            given = np.tile(torque, (len(run.t), 1))
            if follower:
                given = np.einsum("tij,j->ti", seen.rotation, torque)
            if 0 in inertia:
                given -= np.sum(given * seen.axis, axis=1)[:, None] * seen.axis
            rate = np.gradient(seen.angular_momentum, run.t, axis=0, edge_order=2)
            np.testing.assert_allclose(rate[5:-5], given[5:-5], atol=3e-4)

    def test_a_follower_force(self):
        """A rocket that turns at a constant rate: v = (F/mω)(sin ωt, 1 − cos ωt)."""
        m = taut.Mechanism()
        rocket = m.body("rocket", **BOX, at=(0, 0, 0), angular_velocity=(0, 0, 2))
        m.force(rocket, (4, 0, 0), follower=True)
        run = simulated(m, 2)
        want = np.stack([np.sin(2 * run.t), 1 - np.cos(2 * run.t), 0 * run.t], axis=1)
        np.testing.assert_allclose(run["rocket"].velocity, want, atol=1e-6)

    def test_forces_of_time_velocities_and_other_parts(self):
        m = taut.Mechanism()
        a = m.point("a", mass=1, at=(0, 0, 0))
        b = m.point("b", mass=1, at=(1, 0, 0), velocity=(0, 1, 0))
        (_, y, _), (_, w, _) = m.symbols(b)
        m.force(a, (sp.cos(taut.t), y, 0), name="mixed")
        m.force(b, (0, -w, 0), name="drag")
        run = simulated(m, 2)
        np.testing.assert_allclose(run["a"].velocity[:, 0], np.sin(run.t), atol=1e-6)
        np.testing.assert_allclose(run["b"].velocity[:, 1], np.exp(-run.t), atol=1e-6)
        want = run.t - 1 + np.exp(-run.t)
        np.testing.assert_allclose(run["a"].velocity[:, 1], want, atol=1e-6)

    def test_kepler_as_a_potential(self):
        m = taut.Mechanism()
        a = m.point("a", mass=1, at=(1, 0, 0), velocity=(0, 1, 0))
        (x, y, z), _ = m.symbols(a)
        m.potential(-1 / sp.sqrt(x**2 + y**2 + z**2))
        run = taut.simulate(m, duration=2 * np.pi, step=2 * np.pi / 800, method="composition-6",
                            laws=None)  # fmt: skip
        np.testing.assert_allclose(run["a"].position[-1], [1, 0, 0], atol=1e-8)

    def test_refused(self):
        m = taut.Mechanism()
        a = m.point("a", mass=1, at=(1, 0, 0))
        with pytest.raises(taut.ModelError, match="does not turn"):
            m.torque(a, (0, 0, 1))
        with pytest.raises(taut.ModelError, match="follows a point"):
            m.force(a, (0, 0, 1), follower=True)
        with pytest.raises(taut.ModelError, match="on the ground"):
            m.force(m.ground, (0, 0, 1))
        with pytest.raises(taut.UnknownName, match="coordinate"):
            m.force(a, (sp.Symbol("x_b"), 0, 0))
        with pytest.raises(taut.ModelError, match="three components"):
            m.force(a, (1, 2))
        with pytest.raises(taut.ModelError, match="no potential"):
            m.potential(3)


def hinged():
    m = taut.Mechanism()
    m.body("arm", mass=1, inertia=(1, 1, 1), at=(1, 0, 0))
    m.revolute("hinge", "ground", "arm", at=(0, 0, 0), axis=(0, 0, 1))
    m.point("cart", mass=1, at=(0, 0, 2))
    return m


def test_a_law_is_shown_in_the_letters_that_it_is_of():
    k = sp.Symbol("k")
    for law in ({"energy": lambda angle: k * angle}, {"pull": lambda angle, rate: k * angle}):
        with pytest.raises(taut.ModelError, match="of coil contains k") as caught:
            hinged().torsion("coil", "hinge", **law)
        assert caught.value.received == "angle*k"
    with pytest.raises(taut.ModelError, match="of tie contains k") as caught:
        hinged().spring("tie", "arm", "cart", energy=lambda s: k * s)
    assert caught.value.received == "k*length"


def test_a_damper_is_answered_as_a_damper():
    for given in (("s", "cart"), ("cart",)):
        with pytest.raises(taut.ModelError, match="a damper acts between two parts") as caught:
            hinged().damper(*given, damping=1)
        assert caught.value.expected.startswith("m.damper(a, b, …)")


@pytest.mark.parametrize("length", [0, -1])
def test_a_rod_without_length_is_told_which_length(length):
    with pytest.raises(taut.ModelError, match="the length of r is no length of a rod") as caught:
        hinged().rod("r", "ground", "arm", length=length)
    assert caught.value.received == f"length={length}"
    assert caught.value.remedy == "leave it out for 1, the distance of its ends"
    with pytest.raises(taut.ModelError, match="r has no length") as caught:
        hinged().rod("r", "ground", "arm", ends=[(1, 0, 0), (1, 0, 0)])
    assert caught.value.expected == "two places apart"
