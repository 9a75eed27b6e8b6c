"""Angles that count turns, gears, screws, rolling, curves and drives: against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import taut
from taut.model.mechanism.relations import SHARE

G = 9.81


def simulated(m, duration, step, **settings):
    return taut.simulate(m, duration=duration, step=step, method="composition-4", laws=None,
                         **settings)  # fmt: skip


class TestScrew:
    def test_falls_as_slowly_as_its_thread_lets_it(self):
        m = taut.Mechanism(gravity=(0, 0, -G))
        nut = m.body("nut", mass=2, inertia=(0.03, 0.03, 0.05), at=(0, 0, 0))
        m.screw("thread", m.ground, nut, at=(0, 0, 0), axis=(0, 0, 1), pitch=0.5)
        run = simulated(m, 2, 0.002)
        lead = 0.5 / (2 * np.pi)
        fall = -G / (1 + 0.05 / (2 * lead**2))
        np.testing.assert_allclose(run["nut"].position[-1], [0, 0, 2 * fall], atol=2e-6)
        turned = run.q[:, -1]  # the angle counts turns
        assert turned[-1] == pytest.approx(2 * fall / lead, rel=1e-6)
        assert abs(turned[-1]) > 12 * np.pi
        rate = run["nut"].angular_velocity[-1]
        np.testing.assert_allclose(rate, [0, 0, 2 * fall / lead], rtol=1e-5, atol=1e-9)

    def test_the_lent_inertia_does_not_change_the_motion(self, monkeypatch):
        runs = []
        for share in (SHARE, SHARE / 50):
            monkeypatch.setattr("taut.model.mechanism.relations.SHARE", share)
            m = taut.Mechanism(gravity=(1, 2, -G))
            arm = m.body("arm", mass=1, inertia=(0.2, 0.3, 0.4), at=(1, 0, 0))
            tip = m.body("tip", mass=1, inertia=(0.1, 0.2, 0.15), at=(2, 0, 0),
                         angular_velocity=(0, 5, 0))  # fmt: skip
            m.revolute("shoulder", m.ground, arm, at=(0, 0, 0), axis=(0, 0, 1))
            m.revolute("elbow", arm, tip, at=(1.5, 0, 0), axis=(0, 1, 0))
            m.angle("elbow")
            runs.append(simulated(m, 0.5, 0.0025, project=True))
        for name in ("arm", "tip"):
            np.testing.assert_allclose(
                runs[0][name].position, runs[1][name].position, atol=1e-7, rtol=0
            )
        frames = (runs[0][name].rotation for name in ("arm", "tip"))
        apart = np.einsum("nji,njk->nik", *frames)
        turned = np.unwrap(np.arctan2(apart[:, 0, 2], apart[:, 0, 0]))
        np.testing.assert_allclose(runs[0]["elbow"].angle, turned, atol=1e-9)


class TestRolling:
    def test_down_a_slope(self):
        m = taut.Mechanism(gravity=(3, 0, -G))
        wheel = m.body("wheel", mass=2, inertia=(0.03, 0.05, 0.03), at=(0, 0, 0.1))
        m.rolling("contact", m.ground, wheel, at=(0, 0, 0.1), axis=(0, 1, 0), along=(1, 0, 0),
                  radius=0.1)  # fmt: skip
        run = simulated(m, 2, 0.01)
        fast = 3 / (1 + 0.05 / (2 * 0.01))
        np.testing.assert_allclose(run["wheel"].position[-1], [2 * fast, 0, 0.1], atol=2e-6)
        np.testing.assert_allclose(run["wheel"].angular_velocity[-1], [0, 20 * fast, 0], atol=1e-5)
        # What touches the ground stands still.
        still = run["wheel"].velocity + np.cross(run["wheel"].angular_velocity, [0, 0, -0.1])
        np.testing.assert_allclose(still, 0, atol=1e-12)

    def test_refused(self):
        m = taut.Mechanism()
        wheel = m.body("wheel", mass=1, inertia=(1, 1, 1), at=(0, 0, 0))
        given = {"at": (0, 0, 0), "axis": (0, 1, 0)}
        with pytest.raises(taut.ModelError, match="right angles"):
            m.rolling(m.ground, wheel, along=(1, 1, 0), radius=1, **given)
        with pytest.raises(taut.ModelError, match="radius"):
            m.rolling(m.ground, wheel, along=(1, 0, 0), radius=0, **given)


class TestGear:
    @pytest.mark.parametrize("ratio", [2.0, -0.5])
    def test_two_wheels_share_a_torque(self, ratio):
        m = taut.Mechanism()
        first = m.body("first", mass=1, inertia=(0.15, 0.1, 0.2), at=(0, 0, 0),
                       angular_velocity=(0, 0, 3))  # fmt: skip
        second = m.body("second", mass=1, inertia=(0.3, 0.3, 0.5), at=(1, 0, 0),
                        angular_velocity=(0, 0, -3 / ratio))  # fmt: skip
        a = m.revolute("a", m.ground, first, at=(0, 0, 0), axis=(0, 0, 1))
        b = m.revolute("b", m.ground, second, at=(1, 0, 0), axis=(0, 0, 1))
        m.gear(a, b, ratio=ratio)
        m.torque(first, (0, 0, 0.7))
        run = simulated(m, 4, 0.02)
        rate = 3 + 4 * 0.7 / (0.2 + 0.5 / ratio**2)
        assert run["first"].angular_velocity[-1, 2] == pytest.approx(rate, rel=1e-9)
        assert run["second"].angular_velocity[-1, 2] == pytest.approx(-rate / ratio, rel=1e-9)

    def test_sliders_that_move_together(self):
        m = taut.Mechanism()
        m.body("one", mass=2, inertia=(1, 1, 1), at=(0, 0, 0))
        m.body("other", mass=3, inertia=(1, 1, 1), at=(0, 5, 0))
        m.prismatic("x", m.ground, "one", at=(0, 0, 0), axis=(1, 0, 0))
        m.prismatic("y", "other", m.ground, at=(0, 5, 0), axis=(0, 1, 0))  # the ground is second
        m.gear("x", "y", ratio=1.5, name="link")
        m.force("one", (0.7, 0, 0))
        run = simulated(m, 2, 0.02)
        gone = 2 * 0.7 / (2 + 3 / 1.5**2)
        assert run["x"].slide[-1] == pytest.approx(gone, rel=1e-12)
        assert run["y"].slide[-1] == pytest.approx(-gone / 1.5, rel=1e-12)
        assert run["other"].position[-1, 1] == pytest.approx(5 + gone / 1.5, rel=1e-12)
        # 3 a = what the gear does to the other.
        np.testing.assert_allclose(run["link"].force[:, 1], 3 * (gone / 2) / 1.5, rtol=1e-9)

    def test_a_rack_on_its_pinion(self):
        m = taut.Mechanism()
        m.body("rack", mass=2, inertia=(1, 1, 1), at=(0, -0.3, 0))
        m.body("pinion", mass=1, inertia=(0.1, 0.1, 0.05), at=(0, 0, 0))
        m.prismatic("guide", m.ground, "rack", at=(0, -0.3, 0), axis=(1, 0, 0))
        m.revolute("axle", m.ground, "pinion", at=(0, 0, 0), axis=(0, 0, 1))
        m.gear("guide", "axle", ratio=-0.3, name="teeth")
        m.force("rack", (0.7, 0, 0))
        run = simulated(m, 4, 0.02)
        rate = 0.7 / (2 + 0.05 / 0.3**2)
        assert run["rack"].velocity[-1, 0] == pytest.approx(4 * rate, rel=1e-11)
        assert run["axle"].angle[-1] == pytest.approx(8 * rate / 0.3, rel=1e-8)
        assert run["axle"].angle[-1] > 2 * np.pi
        np.testing.assert_allclose(run["teeth"].torque[:, 2], 0.05 * rate / 0.3, rtol=1e-9)

    def test_fingers_on_one_palm_against_angles(self):
        """A palm that turns carries two fingers on one rail; T in the angle and one slide."""
        palm, fingers, ratio, stiffness = 0.4, (0.5, 0.8), 2.0, 30.0
        m = taut.Mechanism()
        m.body("palm", mass=1, inertia=(0.3, 0.3, palm), at=(0, 0, 0), angular_velocity=(0, 0, 2))
        for name, mass, x in (("left", fingers[0], 1), ("right", fingers[1], -1)):
            m.body(name, mass=mass, inertia=(0.1, 0.1, 0.1), at=(x, 0, 0),
                   velocity=(0, 2 * x, 0), angular_velocity=(0, 0, 2))  # fmt: skip
            m.prismatic(f"{name} rail", "palm", name, at=(x, 0, 0), axis=(1, 0, 0))
        m.revolute("axle", m.ground, "palm", at=(0, 0, 0), axis=(0, 0, 1))
        m.gear("left rail", "right rail", ratio=ratio)
        m.spring("left", "right", stiffness=stiffness)
        run = simulated(m, 2, 0.005)

        _, s = q = taut.coordinates("theta s")
        turning, sliding = v = sp.symbols("theta_dot s_dot")
        arms = 1 + s, 1 + s / ratio
        inertia = palm + 0.2 + sum(x * r**2 for x, r in zip(fingers, arms, strict=True))
        kinetic = (inertia * turning**2 + (fingers[0] + fingers[1] / ratio**2) * sliding**2) / 2
        stored = stiffness * (s + s / ratio) ** 2 / 2
        system = taut.System(q, velocities=v, lagrangian=kinetic - stored)
        exact = taut.simulate(
            system,
            q0=[0, 0],
            v0=[2, 0],
            duration=2,
            step=0.005,
            method="gauss-lobatto-6",
            laws=None,
        )
        assert np.ptp(exact.q[:, 1]) > 0.1
        np.testing.assert_allclose(run["left rail"].slide, exact.q[:, 1], rtol=0, atol=1e-7)
        np.testing.assert_allclose(run["axle"].angle, exact.q[:, 0], rtol=0, atol=1e-7)
        np.testing.assert_allclose(
            run["right rail"].slide, -exact.q[:, 1] / ratio, rtol=0, atol=1e-7
        )

    def test_momenta_are_kept_across_a_gear(self):
        m = taut.Mechanism()
        m.body("palm", mass=1, inertia=(0.3, 0.2, 0.4), at=(0, 0, 0), velocity=(1, 0.5, 2))
        for name, x in (("left", 1), ("right", -1)):
            m.body(name, mass=0.5 + 0.2 * x, inertia=(0.1, 0.2, 0.15), at=(x, 0, 0),
                   velocity=(1, 0.5, 2))  # fmt: skip
            m.prismatic(f"{name} rail", "palm", name, at=(x, 0, 0), axis=(1, 0, 0))
        m.gear("left rail", "right rail", ratio=1, name="gear")
        m.torque("palm", (0, 0, 0.2 * taut.t), follower=True)
        m.spring("left", "right", stiffness=20, length=1.5)
        run = taut.simulate(m, duration=1, step=0.005)
        kept = {law.name for law in run.certificate.watched}
        assert {"momentum x", "momentum y", "momentum z"} <= kept
        assert not any(x.startswith("angular") for x in kept)
        np.testing.assert_allclose(run["left rail"].slide, -run["right rail"].slide, atol=1e-13)
        assert np.abs(run["gear"].multipliers).max() > 0.1

    def test_what_a_gear_acts_on_does_not_depend_on_the_order_of_parts(self):
        found = []
        for turned in (False, True):
            m = taut.Mechanism()
            m.body("palm", mass=1, inertia=(0.3, 0.2, 0.4), at=(0, 0, 0))
            for name, mass, x in (("left", 1.0, 1), ("right", 0.5, -1)):
                m.body(name, mass=mass, inertia=(0.1, 0.2, 0.15), at=(x, 0, 0))
                sides = (name, "palm") if turned else ("palm", name)
                m.prismatic(f"{name} rail", *sides, at=(x, 0, 0), axis=(1, 0, 0))
            joint = m.gear("left rail", "right rail", ratio=1, name="gear")
            assert (joint.a.name, joint.b.name) == ("left", "right")
            m.force("left", (1, 0, 0))
            m.force("palm", (-1, 0, 0))
            found.append(taut.simulate(m, duration=0.1, step=0.01, laws=None)["gear"].force)
        assert np.abs(found[0]).max() > 0.1
        np.testing.assert_allclose(*found, rtol=0, atol=1e-12)

    def test_one_that_cannot_be_counted_leaves_nothing_behind(self):
        m = taut.Mechanism()
        m.body("rod", mass=1, inertia=(1, 1, 0), at=(3, 0, 0))
        m.revolute("r", m.ground, "rod", at=(3, 0, 0), axis=(0, 0, 1))
        with pytest.raises(taut.ModelError, match="thin rod"):
            m.angle("r")
        assert list(m.parts) == ["rod"]

    def test_a_screw_has_a_slide(self):
        m = taut.Mechanism(gravity=(0, 0, -G))
        m.body("nut", mass=2, inertia=(0.03, 0.03, 0.05), at=(0, 0, 0))
        m.screw("thread", m.ground, "nut", at=(0, 0, 0), axis=(0, 0, 1), pitch=0.5)
        run = taut.simulate(m, duration=0.5, step=0.01, laws=None)
        np.testing.assert_allclose(run["thread"].slide, run["nut"].position[:, 2], atol=1e-14)
        np.testing.assert_allclose(
            run["thread"].slide, 0.5 / (2 * np.pi) * run["thread"].angle, atol=1e-12
        )

    def test_refused(self):
        m = taut.Mechanism()
        wheel = m.body("wheel", mass=1, inertia=(1, 1, 1), at=(0, 0, 0))
        hinge = m.revolute("hinge", m.ground, wheel, at=(0, 0, 0), axis=(0, 0, 1))
        ball = m.spherical("ball", m.ground, wheel, at=(0, 0, 0))
        with pytest.raises(taut.ModelError, match="to itself"):
            m.gear(hinge, "hinge", ratio=1)
        with pytest.raises(taut.ModelError, match="no such motion"):
            m.gear(hinge, ball, ratio=1)
        with pytest.raises(taut.UnknownName, match="joint"):
            m.gear(hinge, "hinges", ratio=1)
        with pytest.raises(taut.ModelError, match="ratio zero"):
            m.gear(hinge, ball, ratio=0)


class TestCurves:
    def test_a_bead_on_a_helix(self):
        s = sp.Symbol("s")
        m = taut.Mechanism(gravity=(0, 0, -G))
        bead = m.point("bead", mass=3, at=(1, 0, 0))
        m.on_curve(bead, ((sp.cos(s), sp.sin(s), s / 4), s), name="helix")
        run = simulated(m, 3, 0.01)
        fall = -G / 16 / (1 + 1 / 16)
        assert run["bead"].position[-1, 2] == pytest.approx(4.5 * fall, rel=1e-6)
        assert run.q[-1, -1] == pytest.approx(4 * 4.5 * fall, rel=1e-6)

    def test_a_curve_is_the_same_as_two_equations(self):
        x, y, z = sp.symbols("x y z")
        s = sp.Symbol("s")
        found = []
        for curve in ((z - x**2 / 2, y), ((s, 0, s**2 / 2), s)):
            m = taut.Mechanism(gravity=(0, 0, -G))
            body = m.body("body", mass=1, inertia=(0.1, 0.2, 0.15), at=(1, 0, 0.7),
                          angular_velocity=(0, 1, 0), velocity=(-0.2, 0, 0))  # fmt: skip
            m.on_curve(body, curve, at=(1, 0, 0.5), start=1, name="track")
            found.append(simulated(m, 1, 0.0025, project=True))
        np.testing.assert_allclose(
            found[0]["body"].position, found[1]["body"].position, atol=1e-7, rtol=0
        )

    def test_a_point_on_a_sphere_is_a_spherical_pendulum(self):
        x, y, z = sp.symbols("x y z")
        m = taut.Mechanism(gravity=(0, 0, -G))
        bob = m.point("bob", mass=1, at=(1, 0, 0), velocity=(0, 1, 0))
        m.on_surface(bob, x**2 + y**2 + z**2 - 1)
        run = taut.simulate(m, duration=1.3, step=0.01, method="composition-8", laws=None)
        # Problem 14 of the reference problems.
        np.testing.assert_allclose(
            run["bob"].position[-1], [-0.7551901643418, -0.6513026240283, -0.0741128033159],
            atol=1e-10,
        )  # fmt: skip

    @pytest.mark.parametrize("curve", ["x", (1, 2, 3), (sp.Symbol("k"), sp.Symbol("y")), 3])
    def test_refused(self, curve):
        m = taut.Mechanism()
        bob = m.point("bob", mass=1, at=(1, 0, 0))
        with pytest.raises(taut.TautError):
            m.on_curve(bob, curve)


class TestDrives:
    def test_an_angle(self):
        m = taut.Mechanism()
        arm = m.body("arm", mass=1, inertia=(0.1, 0.2, 0.15), at=(0.5, 0, 0))
        hinge = m.revolute("hinge", m.ground, arm, at=(0, 0, 0), axis=(0, 1, 0))
        m.drive(hinge, angle=2 * taut.t**2, name="motor")
        run = simulated(m, 3, 0.01)
        np.testing.assert_allclose(run["hinge"].angle, 2 * run.t**2, atol=1e-9)
        # The motor turns a moment of inertia of 0.2 + 1/4 about the hinge.
        np.testing.assert_allclose(run["motor"].torque[:, 1], 4 * 0.45, rtol=1e-6)

    def test_a_slide_and_a_place(self):
        m = taut.Mechanism()
        cart = m.body("cart", mass=2, inertia=(0.1, 0.2, 0.15), at=(0, 0, 0), velocity=(3, 0, 0))
        rail = m.prismatic("rail", m.ground, cart, at=(0, 0, 0), axis=(1, 0, 0))
        m.drive(rail, slide=3 * sp.sin(taut.t), name="motor")
        bob = m.point("bob", mass=0.5, at=(0, 0, 1), velocity=(0, 0, 2))
        m.move(bob, (0, 0, sp.cosh(taut.t) + 2 * taut.t), name="lift")
        run = simulated(m, 2, 0.01)
        np.testing.assert_allclose(run["cart"].position[:, 0], 3 * np.sin(run.t), atol=1e-12)
        np.testing.assert_allclose(run["rail"].slide, 3 * np.sin(run.t), atol=1e-12)
        np.testing.assert_allclose(run["motor"].force[:, 0], -6 * np.sin(run.t), atol=1e-9)
        np.testing.assert_allclose(run["lift"].force[:, 2], 0.5 * np.cosh(run.t), atol=1e-9)

    def test_refused(self):
        m = taut.Mechanism()
        cart = m.body("cart", mass=2, inertia=(0.1, 0.2, 0.15), at=(0, 0, 0))
        rail = m.prismatic("rail", m.ground, cart, at=(0, 0, 0), axis=(1, 0, 0))
        with pytest.raises(taut.ModelError, match="one thing"):
            m.drive(rail)
        with pytest.raises(taut.ModelError, match="no such motion"):
            m.drive(rail, angle=taut.t)
        with pytest.raises(taut.ModelError, match="depends on x"):
            m.drive(rail, slide=sp.Symbol("x"))
        with pytest.raises(taut.ModelError, match="ground does not move"):
            m.move(m.ground, (0, 0, 0))


# ---- counters ----------------------------------------------------------------------------------


def counted():
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    arm = {"mass": 1, "inertia": (0.1, 0.1, 0.02), "at": (0, 0, -0.5)}
    m.body("arm", **arm, velocity=(-1, 0, 0), angular_velocity=(0, 2, 0))
    m.point("bead", mass=1, at=(1, 0, 0))
    m.revolute("hinge", m.ground, "arm", at=(0, 0, 0), axis=(0, 1, 0))
    m.angle("hinge")
    s = sp.Symbol("s")
    m.on_curve("bead", ((sp.cos(s), sp.sin(s), s), s), name="helix")
    m.point("last", mass=1, at=(3, 0, 0))
    return m


class TestCounters:
    """Coordinates that count an angle, or say where on a curve, are no parts."""

    def test_parts_are_what_has_a_place(self):
        m = counted()
        run = taut.simulate(m, duration=0.1, step=0.01, laws=None)
        assert list(m.parts) == ["arm", "bead", "last"]
        for name in m.parts:
            assert run[name].position.shape == (11, 3)
            assert np.all(run[name].kinetic_energy >= 0)
            assert np.isfinite(run[name].angular_momentum).all()
        assert list(m.counters) == ["angle_hinge", "s_helix"]
        assert [x.name for x in m.carriers] == ["arm", "bead", "angle_hinge", "s_helix", "last"]
        assert repr(m["angle_hinge"]) == "<coordinate 'angle_hinge' of joint hinge>"
        assert m.assemble().groups == (("ground", "arm", "bead"), ("last",))
        assert list(m.assemble().moved) == list(m.parts)

    def test_a_counter_has_a_value_and_a_rate(self):
        m = counted()
        run = taut.simulate(m, duration=0.1, step=0.01, laws=None)
        np.testing.assert_array_equal(run["angle_hinge"].value, run["hinge"].angle)
        np.testing.assert_array_equal(run["angle_hinge"].rate, run["hinge"].rate)
        np.testing.assert_allclose(run["s_helix"].value, run["bead"].position[:, 2], atol=1e-14)
        with pytest.raises(taut.UnknownName, match="attribute of angle_hinge called 'rotation'"):
            print(run["angle_hinge"].rotation)
        assert m.assemble()["s_helix"].rate == 0.0
        assert m.symbols("s_helix") == sp.symbols("s_helix s_helix_dot", real=True)

    @pytest.mark.parametrize(
        "call",
        [
            lambda m: m.force("angle_hinge", (1, 0, 0)),
            lambda m: m.spherical("last", "angle_hinge", at=(0, 0, 0)),
            lambda m: m.spherical("last", m["s_helix"], at=(0, 0, 0)),
            lambda m: m.frame("tool", "angle_hinge", at=(0, 0, 0)),
            lambda m: m.look("s_helix", "ball", size=1),
        ],
    )
    def test_nothing_acts_on_a_counter(self, call):
        with pytest.raises(
            taut.ModelError, match=r"is a coordinate of joint (hinge|helix), and no"
        ):
            call(counted())

    def test_nothing_else_is_called_so(self):
        with pytest.raises(taut.ModelError, match="there is a 'angle_hinge'"):
            counted().point("angle_hinge", mass=1, at=(0, 0, 0))


# ---- given motions, and none -------------------------------------------------------------------


def planar_arm():
    """Two links about −y: x forward, z up."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    m.body("upper", mass=2.0, inertia=(0.02, 0.11, 0.11), at=(0.35, 0, 0))
    m.body("lower", mass=1.0, inertia=(0.01, 0.04, 0.04), at=(1.05, 0, 0))
    m.revolute("shoulder", m.ground, "upper", at=(0, 0, 0), axis=(0, -1, 0))
    m.revolute("elbow", "upper", "lower", at=(0.8, 0, 0), axis=(0, -1, 0))
    return m


class TestDriven:
    @pytest.mark.parametrize("method", ["rattle", "gauss-lobatto-4"])
    def test_torques_of_drives_are_those_of_inverse_dynamics(self, method):
        """τ = M(q) q̈ + C(q, q̇) + ∂V/∂q of two links, by hand (Craig, Introduction to Robotics)."""
        given = sp.sin(2 * taut.t) / 2, sp.sin(3 * taut.t) / 3
        m = planar_arm()
        for name, motion in zip(("shoulder", "elbow"), given, strict=True):
            m.drive(name, angle=motion, name=f"{name} drive")
        run = taut.simulate(m, duration=1, step=0.01, project=True, laws=None, method=method)
        (q1, w1, a1), (q2, w2, a2) = (
            [sp.lambdify(taut.t, e.diff(taut.t, k), "numpy")(run.t) for k in range(3)]
            for e in given
        )
        cross = 1.0 * 0.8 * 0.25
        whole = 0.11 + 0.04 + 2.0 * 0.35**2 + 1.0 * (0.8**2 + 0.25**2) + 2 * cross * np.cos(q2)
        part, small = 0.04 + 0.25**2 + cross * np.cos(q2), 0.04 + 0.25**2
        bend = cross * np.sin(q2)
        tip = 9.81 * 0.25 * np.cos(q1 + q2)
        first = whole * a1 + part * a2 - bend * (2 * w1 * w2 + w2**2) + tip
        first += 9.81 * (2.0 * 0.35 + 0.8) * np.cos(q1)
        second = part * a1 + small * a2 + bend * w1**2 + tip
        assert np.abs(-run["shoulder drive"].torque[:, 1] - first).max() < 1e-11
        assert np.abs(-run["elbow drive"].torque[:, 1] - second).max() < 1e-11
        assert np.abs(first).max() > 10

    def test_poses_follow_from_where_a_tool_is_to_be(self):
        m = planar_arm()
        target = np.array([0.7, 0.0, 0.5])
        m.move("lower", tuple(target), at=(1.4, 0, 0), name="tool")
        rough = planar_arm()
        rough.drive("elbow", angle=-0.5)
        begun = rough.assemble()
        found = m.assemble(begun.q, begun.v)
        a, b = found["shoulder"].angle, found["elbow"].angle
        tool = (0.8 * np.cos(a) + 0.6 * np.cos(a + b), 0, 0.8 * np.sin(a) + 0.6 * np.sin(a + b))
        np.testing.assert_allclose(tool, target, atol=1e-13)
        assert found.freedom == 0

    def test_no_freedom_is_said(self):
        held, led = planar_arm(), planar_arm()
        held.fixed("weld", "upper", "lower", at=(0.8, 0, 0))
        held.fixed("clamp", "ground", "upper", at=(0, 0, 0))
        led.drive("shoulder", angle=taut.t)
        led.drive("elbow", angle=taut.t)
        assert ("freedom", "none: joints hold all parts where they are") in held.assemble().rows()
        assert ("freedom", "none: all parts move as joints are told to") in led.assemble().rows()
        assert "none: joints hold" in str(held.equilibrium())
        assert str(held.modes()).startswith("Modes of a mechanism: none, since no freedom is left")
        assert "freedom  " not in str(planar_arm().assemble())
