"""Motors, springs that count turns, and the words that their laws are written in."""

import numpy as np
import pytest
import sympy as sp

import taut

DISC = {"mass": 1.0, "inertia": (0.4, 0.4, 0.5), "at": (0, 0, 0)}


def disc(spin=0.0):
    m = taut.Mechanism()
    body = m.body("disc", **DISC, angular_velocity=(0, 0, spin))
    m.revolute("axle", m.ground, body, at=(0, 0, 0), axis=(0, 0, 1))
    return m


def simulated(m, duration=1.0, step=0.01, **given):
    return taut.simulate(m, duration=duration, step=step, laws=None, **given)


class TestTurns:
    @pytest.mark.parametrize("early", [True, False])
    def test_a_spring_is_wound_up(self, early):
        """J φ̈ = −k φ through several turns: φ = (ω₀/ω) sin ωt."""
        m = disc(spin=20.0)
        if early:
            m.torsion("axle", stiffness=0.5)
            m.angle("axle")
        else:
            m.torsion("axle", stiffness=0.5, turns=True)
        run = simulated(m, 2.0, 0.002)
        np.testing.assert_allclose(run["axle"].angle, 20 * np.sin(run.t), atol=2e-2)
        assert run["axle"].angle.max() > 6 * np.pi
        assert not run.certificate.drifts

    def test_without_turns_it_snaps_back(self):
        m = disc(spin=20.0)
        m.torsion("axle", stiffness=0.5)
        run = simulated(m, 1.5, 0.004)
        assert np.abs(run["axle"].angle - 20 * np.sin(run.t)).max() > 1


class TestMotor:
    def test_constant(self):
        m = disc()
        assert repr(m.motor("axle", 2.0, name="motor")) == "<motor 'motor' in axle>"
        run = simulated(m, 2.0)
        np.testing.assert_allclose(run["axle"].angle, 2 * run.t**2, rtol=1e-3, atol=1e-9)
        assert run.certificate.work == pytest.approx(2 * run["axle"].angle[-1], rel=1e-3)

    def test_along_a_slider(self):
        m = taut.Mechanism()
        block = m.body("block", mass=2.0, inertia=(0.1, 0.1, 0.1), at=(1, 0, 0))
        m.prismatic("rail", m.ground, block, at=(1, 0, 0), axis=(1, 0, 0))
        m.motor("rail", 3 * taut.t)
        run = simulated(m)
        np.testing.assert_allclose(run["rail"].slide[-1], 0.25, rtol=1e-3)
        np.testing.assert_allclose(run["rail"].rate[-1], 0.75, rtol=1e-12)

    @pytest.mark.parametrize("counted", [False, True])
    def test_its_own_angle_and_rate(self, counted):
        """The law of a torsional spring and damper, written in three ways."""
        runs = []
        for how in range(3):
            m = disc(spin=1.0)
            if counted:
                m.angle("axle")
            if how == 0:
                m.torsion("axle", pull=lambda angle, rate: 2 * angle + 0.3 * rate)
            elif how == 1:
                angle, rate = m.symbols("axle")
                m.motor("axle", -2 * angle - 0.3 * rate)
            else:
                m.motor("axle", law=lambda angle, rate: -2 * angle - 0.3 * rate)
            runs.append(simulated(m, 1.0))
        assert np.array_equal(runs[1].q, runs[2].q)
        np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-13)

    def test_the_angle_of_another_joint(self):
        """A follower motor: the second disc is driven by the angle of the first."""
        m = disc(spin=1.0)
        other = m.body("other", mass=1.0, inertia=(0.4, 0.4, 0.5), at=(3, 0, 0))
        m.revolute("pin", m.ground, other, at=(3, 0, 0), axis=(0, 0, 1))
        angle, rate = m.symbols("axle")
        m.motor("pin", sp.Rational(1, 2) * angle + 0 * rate)
        run = simulated(m)
        np.testing.assert_allclose(run["pin"].angle[-1], 1 / 6, rtol=1e-3)

    def test_acts_on_both_parts(self):
        """Between two free bodies it changes no momentum."""
        m = taut.Mechanism()
        a = m.body("a", mass=1.0, inertia=(0.1, 0.2, 0.25), at=(0, 0, 0))
        b = m.body("b", mass=2.0, inertia=(0.3, 0.2, 0.15), at=(1, 0, 0))
        m.revolute("elbow", a, b, at=(0.4, 0, 0), axis=(1, 2, 3))
        m.motor("elbow", 1.0)
        run = simulated(m)
        total = sum(
            run[x].angular_momentum + np.cross(run[x].position, run[x].momentum) for x in "ab"
        )
        np.testing.assert_allclose(total, 0, atol=1e-13)
        assert np.abs(run["elbow"].angle).max() > 0.1

    def test_a_wheel(self):
        """M ẍ = F, (M + J/r²) ẍ = τ/r of a wheel that rolls along the ground."""
        m = taut.Mechanism()
        wheel = m.body("wheel", mass=2.0, inertia=(0.1, 0.1, 0.1), at=(0, 0, 0.5))
        m.rolling("road", m.ground, wheel, at=(0, 0, 0.5), axis=(0, 1, 0), along=(1, 0, 0),
                  radius=0.5)  # fmt: skip
        m.motor("road", lambda t, state: 1.0 if state["road"].rate < 99 else 0.0)
        run = simulated(m)
        want = 0.5 * (1 / 0.5) / (2.0 + 0.1 / 0.25)
        assert run["wheel"].position[-1, 0] == pytest.approx(want, rel=1e-5)
        assert run["road"].angle[-1] == pytest.approx(want / 0.5, rel=1e-5)

    def test_refused(self):
        m = disc()
        sleeve = m.body("sleeve", mass=1, inertia=(1, 1, 1), at=(0, 0, 1))
        m.cylindrical("tube", m.ground, sleeve, at=(0, 0, 1), axis=(0, 0, 1))
        with pytest.raises(taut.ModelError, match="turns and slides"):
            m.motor("tube", 1.0)
        m.motor("tube", 1.0, of="slide")
        with pytest.raises(taut.ModelError, match="cannot drive its slide"):
            m.motor("axle", 1.0, of="slide")
        with pytest.raises(taut.ModelError, match="needs one drive"):
            m.motor("axle")
        with pytest.raises(taut.UnknownName, match="nonsense"):
            m.motor("axle", sp.Symbol("nonsense"))
        with pytest.raises(taut.ModelError, match="is not sampled"):
            m.motor("axle", 1.0, every=3)
        with pytest.raises(taut.UnknownName, match="joint"):
            m.motor("axel", 1.0)


def test_torque_by_a_function():
    m = disc()
    m.torque("disc", lambda t, state: (0, 0, 1.0), name="twist")
    run = simulated(m)
    np.testing.assert_allclose(run["axle"].angle[-1], 1.0, rtol=1e-4)
    assert run.controls["twist"].shape == (101, 3)


# ---- laws that are none --------------------------------------------------------------------------


def bench():
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    bar = {"mass": 1.0, "inertia": (0.1, 0.1, 0.02)}
    m.body("arm", **bar, at=(0, 0, -0.5))
    m.body("cart", **bar, at=(1, 0, 0))
    m.revolute("hinge", m.ground, "arm", at=(0, 0, 0), axis=(0, 1, 0))
    m.prismatic("rail", m.ground, "cart", at=(1, 0, 0), axis=(1, 0, 0))
    return m


ANGLE, LENGTH = sp.symbols("angle length")


class TestLaws:
    @pytest.mark.parametrize(
        ("call", "said"),
        [
            (lambda m: m.torsion("hinge", energy=ANGLE**4, name="coil"), "of coil contains angle"),
            (lambda m: m.torsion("hinge", energy=ANGLE**4), r"lambda angle: …, of angle and"),
            (lambda m: m.torsion("hinge", energy=lambda: 1), r"takes 0 positional arguments"),
            (lambda m: m.torsion("hinge", energy=lambda angle: np.cos(angle)), "TypeError"),
            (lambda m: m.torsion("hinge", energy=lambda angle: None), "not a scalar expression"),
            (lambda m: m.torsion("hinge", energy=lambda angle: 3), "does nothing: its energy"),
            (lambda m: m.torsion("hinge", energy="__import__('os')"), "is not a formula"),
            (lambda m: m.push("rail", pull=ANGLE), r"pull=lambda slide, rate: …"),
            (lambda m: m.motor("rail", law=sp.Symbol("slide")), r"law=lambda slide, rate: …"),
            (lambda m: m.motor("hinge", law=lambda angle: angle), r"law=lambda angle, rate: …"),
            (lambda m: m.spring("arm", "cart", energy=LENGTH**2), r"energy=lambda length: …"),
            (lambda m: m.spring("arm", "cart", pull=lambda s: s), r"pull=lambda length, rate: …"),
            (lambda m: m.central("arm", "cart", energy=sp.Symbol("k")), "contains k"),
            (lambda m: m.spring("arm", "cart", stiffness=1, energy=lambda s: s**2), "has a stiff"),
            (lambda m: m.torsion("hinge", damping=-1), r"pull=lambda angle, rate: … may drive"),
            (lambda m: m.spring("arm", "cart", stiffness=-1), r"energy=lambda length: … may fall"),
            (lambda m: m.rope("arm", "cart", stiffness=0), "does nothing"),
            (lambda m: m.torsion("hinge", stiffness=1, turns="no"), "turns is a flag"),
            (lambda m: m.force("arm", (1, 0, 0), follower=[]), "follower is a flag"),
            (lambda m: m.force("arm", np.array(1.0)), "cannot be read"),
            (lambda m: m.force("arm", (1, 0, 0), name=np.eye(3)), "a part needs a name"),
            (lambda m: m.motor(bench()["hinge"], 1), "a joint of another mechanism"),
            (lambda m: m.on_surface("arm", taut.t), "an expression of x, y, z"),
            (lambda m: m.point("p", mass=10**400, at=(0, 0, 0)), "is not finite"),
            (lambda m: m.point("p", mass=1, at=(10**400, 0, 0)), "cannot be read"),
        ],
    )  # fmt: skip
    def test_what_is_said_at_once(self, call, said):
        with pytest.raises(taut.TautError, match=said):
            call(bench())

    def test_laws_that_are_some(self):
        m = bench()
        m.torsion(
            "hinge", energy=lambda angle: angle**4 + taut.t * angle, pull=lambda a, rate: rate
        )
        m.motor("hinge", law=lambda angle, rate: m.symbols("cart")[0][0] - rate)
        m.push("rail", stiffness=-1, name="bistable")  # falls from where it is
        assert len(m.system().terms) > 3


# ---- where a length is zero ----------------------------------------------------------------------


class TestNoLength:
    """Two points at one place, which part with speed 1."""

    def run(self, add, ends=None):
        m = taut.Mechanism()
        m.point("a", mass=1, at=(0, 0, 0))
        m.point("b", mass=1, at=(0, 0, 0), velocity=(1, 0, 0))
        add(m)
        return simulated(m, duration=0.5)

    @pytest.mark.parametrize(
        "add",
        [
            lambda m: m.spring("tie", "a", "b", stiffness=10, length=1),
            lambda m: m.spring("tie", "a", "b", stiffness=10, damping=1),
            lambda m: m.damper("tie", "a", "b", damping=1),
            lambda m: m.central("tie", "a", "b", energy=lambda r: -1 / r),
            lambda m: m.spring("tie", "a", "b", pull=lambda s, rate: 1),
        ],
    )
    def test_a_force_without_direction_is_named(self, add):
        with pytest.raises(taut.InputError, match="tie has no length where the mechanism is"):
            self.run(add)
        m = taut.Mechanism()
        m.point("a", mass=1, at=(0, 0, 0))
        m.point("b", mass=1, at=(0, 0, 0))
        add(m)
        with pytest.raises(taut.InputError, match="tie has no length"):
            m.equilibrium()

    @pytest.mark.parametrize("rest", [0, None])
    def test_a_spring_that_wants_no_length_begins_there(self, rest):
        """The distance is sin(ωt)/ω, ω² = 10·2, and goes through zero."""
        run = self.run(lambda m: m.spring("tie", "a", "b", stiffness=10, length=rest))
        apart = run["b"].position[:, 0] - run["a"].position[:, 0]
        omega = np.sqrt(20)
        assert np.abs(apart - np.sin(omega * run.t) / omega).max() < 1e-3

    def test_a_slack_rope_does_nothing_there(self):
        run = self.run(lambda m: m.rope("tie", "a", "b", stiffness=100, length=0.3))
        early = run.t < 0.29
        np.testing.assert_allclose(run["b"].position[early, 0], run.t[early], atol=1e-14)
        assert run["b"].velocity[-1, 0] < 0.9
        pulls = [run["tie"].force[k, 0] for k in (0, -1)]
        assert pulls[0] == 0
        assert pulls[1] < -0.1

    def test_another_force_is_named_too(self):
        m = taut.Mechanism()
        m.point("a", mass=1, at=(0, 0, 0))
        m.potential(1 / m.symbols("a")[0][0], name="pole")
        with pytest.raises(taut.InputError, match="pole is not finite where the mechanism is"):
            simulated(m)
        x, y = taut.coordinates("x y")
        s = taut.System([x, y], mass=1, potential=sp.sqrt(y))
        with pytest.raises(taut.InputError, match="of y"):
            taut.simulate(s, q0=[0, 0], v0=[0, 0], duration=1, step=0.1)
