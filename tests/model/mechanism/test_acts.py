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
