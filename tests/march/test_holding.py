"""Why there is no rest, by name; and at which time a rest is one."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.march import assemble
from taut.model.mechanism.laws import jumping, timed

BOX = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
DOWN = (0, 0, -9.81)


def pendulum(gravity=DOWN):
    m = taut.Mechanism(gravity=gravity)
    m.body("bob", **BOX, at=(1, 0, 0))
    m.revolute("hinge", m.ground, "bob", at=(0, 0, 0), axis=(0, 1, 0))
    return m


class TestFree:
    def test_parts_that_nothing_holds_are_named_at_once(self):
        m = pendulum()
        for k in range(6):
            m.body(f"box {k}", **BOX, at=(0, k, 0))
        m.spring("box 0", "box 1", stiffness=3)
        with pytest.raises(taut.NoEquilibrium) as caught:
            m.equilibrium()
        assert caught.value.what == (
            "nothing holds box 0, box 1, box 2, box 3 and 2 more: under gravity there is no rest"
        )
        assert "gravity (0, 0, -9.81)" in str(caught.value)
        assert "bob" not in str(caught.value)

    def test_nothing_but_bodies_is_named(self):
        m = pendulum()
        m.body("box", **BOX, at=(0, 3, 0))
        m.body("lid", **BOX, at=(0, 4, 0))
        m.revolute("loose", "box", "lid", at=(0, 3.5, 0), axis=(0, 1, 0))
        m.angle("loose")
        with pytest.raises(taut.NoEquilibrium, match=r"^nothing holds box, lid: under"):
            m.equilibrium()

    def test_one_that_a_load_carries_rests(self):
        m = pendulum()
        m.point("drone", mass=2, at=(0, 0, 1))
        m.force("drone", (0, 0, 2 * 9.81))
        assert m.equilibrium().stable

    def test_without_gravity_it_rests_where_it_is(self):
        m = pendulum(gravity=(0, 0, 0))
        m.body("box", **BOX, at=(0, 1, 0))
        np.testing.assert_array_equal(m.equilibrium().q, m.start()[0])

    def test_what_would_move_on_is_named(self):
        m = pendulum()
        m.body("cart", **BOX, at=(0, 3, 0))
        m.prismatic("shaft", m.ground, "cart", at=(0, 3, 0), axis=(0, 0, 1))
        with pytest.raises(taut.NoEquilibrium, match=r"^no rest was found: cart would move on\n"):
            m.equilibrium()  # warnings are errors here: none of NumPy comes through

    @pytest.mark.parametrize("hill", [lambda x: -sp.exp(x**2), sp.log, lambda x: -(x**450)])
    def test_what_runs_away_is_said_and_nothing_else(self, hill):
        """Not by NumPy: warnings are errors here."""
        m = taut.Mechanism()
        m.point("ball", mass=1, at=(2, 0, 0))
        m.potential(hill(m.symbols("ball")[0][0]), name="hill")
        with pytest.raises(taut.NoEquilibrium, match="no rest was found"):
            m.equilibrium()

    def test_nor_of_one_alone_in_a_shaft(self):
        m = taut.Mechanism(gravity=DOWN)
        m.body("cart", **BOX, at=(0, 0, 0))
        m.prismatic("shaft", m.ground, "cart", at=(0, 0, 0), axis=(0, 0, 1))
        with pytest.raises(taut.NoEquilibrium, match="cart would move on") as refused:
            m.equilibrium()
        assert "forces of which 100 % are not balanced where" in refused.value.received

    def test_a_large_one_says_so_too(self):
        m = taut.Mechanism(gravity=DOWN)
        for k in range(60):
            m.body(f"box {k}", **BOX, at=(0, 0, k))
        with pytest.raises(taut.NoEquilibrium, match=r"nothing holds box 0, box 1, .* and 56 more"):
            m.equilibrium()


class TestTime:
    """A torque 3 cos t about y, and that of gravity: 3 cos t + m g x = 0."""

    @pytest.mark.parametrize("at", [0.0, 0.7])
    def test_a_motor_is_taken_at_the_time(self, at):
        driven = pendulum()
        driven.motor("motor", "hinge", 3 * sp.cos(taut.t))
        rest = driven.equilibrium(time=at)
        x, _, z = rest.q[:3]
        assert abs(9.81 * x + 3 * np.cos(at)) < 1e-10
        assert z < 0
        assert rest.time == at
        assert f"taken at     t = {at:g}: motor changes with time" in str(rest)
        assert taut.equilibrium(driven, loads_at=at).q == pytest.approx(rest.q, abs=1e-12)

    def test_nothing_is_said_where_nothing_changes(self):
        assert "taken at" not in str(pendulum().equilibrium())

    def test_modes_are_those_at_that_time(self):
        m = taut.Mechanism()
        m.point("a", mass=1.0, at=(0, 0, 0))
        x, y, z = m.symbols("a")[0]
        m.potential((1 + taut.t) * x**2 / 2 + y**2 + 2 * z**2, name="well")
        for modes in (m.modes(time=3), m.equilibrium(time=3).modes(), m.modes([0, 0, 0], time=3)):
            np.testing.assert_allclose(modes.squares, [2, 4, 4], rtol=1e-12)
        np.testing.assert_allclose(m.modes().squares, [1, 2, 4], rtol=1e-12)

    def test_drives_are_taken_at_the_time(self):
        m = pendulum()
        m.drive("hinge", angle=taut.t, name="crank")
        found = m.assemble(time=0.5)
        np.testing.assert_allclose(found.q[:3], (np.cos(0.5), 0, -np.sin(0.5)), atol=1e-12)
        assert "t = 0.5: crank changes with time" in str(found)

    def test_with_beams_too(self):
        m = taut.Mechanism()
        stiff = {"section": taut.Square(0.03), "density": 1100, "young": 2e7, "poisson": 0.45}
        rod = m.beam("rod", length=0.5, **stiff, nodes=5, frame=(1, 0, 0))
        m.fixed(m.ground, rod.root, at=(0, 0, 0))
        m.force("rod tip", (0, 0, taut.t), name="pull")
        tips = [rod.positions(m.equilibrium(time=x).q)[-1, 2] for x in (0.0, 1.0, 2.0)]
        assert tips[0] == pytest.approx(0, abs=1e-12)
        assert tips[2] == pytest.approx(2 * tips[1], rel=0.05)
        assert tips[1] > 0.01

    def test_a_column_is_buckled_at_one_time_and_not_at_another(self):
        """Beyond π² E I/(4 L²); what goes on from the straight one takes the same time."""
        m, side, length, young = taut.Mechanism(), 0.03, 0.5, 2e7
        made = {"section": taut.Square(side), "density": 1100, "young": young, "poisson": 0.45}
        rod = m.beam("rod", length=length, **made, nodes=5, frame=(0, 0, 1))
        m.fixed(m.ground, rod.root, at=(0, 0, 0))
        critical = np.pi**2 * young * side**4 / 12 / (4 * length**2)
        m.force("rod tip", (0, 0, -critical * taut.t), name="press")
        found = [m.equilibrium(time=x) for x in (0.5, 1.5)]
        aside = [float(np.abs(rod.positions(x.q)[-1, :2]).max()) for x in found]
        assert found[0].stable
        assert found[1].stable
        assert aside[0] < 1e-9
        assert aside[1] > 0.1 * length

    @pytest.mark.parametrize("wrong", ["soon", np.nan])
    def test_a_time_that_is_none(self, wrong):
        with pytest.raises(taut.InputError, match="the time is not"):
            pendulum().equilibrium(time=wrong)


class TestJumps:
    @pytest.fixture
    def steps(self, monkeypatch):
        """Steps downhill: there were 200 of them."""
        found, downhill = [], assemble._downhill
        monkeypatch.setattr(assemble, "_downhill", lambda *x: (found.append(1), downhill(*x))[1])
        return found

    def test_a_force_that_jumps_is_named_and_soon(self, steps):
        m = taut.Mechanism(gravity=DOWN)
        m.point("bob", mass=1, at=(1, 0, 0))
        m.spring(m.ground, "bob", stiffness=10)
        m.force("bob", (-3 * sp.sign(m.symbols("bob")[0][0] - 0.3), 0, 0), name="switch")
        with pytest.raises(taut.NoEquilibrium) as caught:
            m.equilibrium()
        assert len(steps) < 60
        assert "forces that jump: switch by sign(x_bob - 0.3)" in caught.value.received
        assert "tanh(x/ε)" in caught.value.remedy

    def test_one_in_a_hinge(self, steps):
        m = pendulum()
        m.motor("motor", "hinge", -20 * sp.sign(m.symbols("hinge")[0] - 0.5))
        with pytest.raises(taut.NoEquilibrium, match=r"motor by sign\(angle - 0.5\)"):
            m.equilibrium()
        assert len(steps) < 60

    def test_it_rests_where_the_force_does_not_jump(self):
        m = pendulum()
        m.motor("motor", "hinge", -2 * sp.sign(m.symbols("hinge")[0] - 0.5))
        x = m.equilibrium().q[0]
        assert abs(9.81 * x - -2) < 1e-10 or abs(9.81 * x - 2) < 1e-10

    def test_friction_is_no_jump_at_rest(self):
        m = pendulum()
        m.motor("friction", "hinge", -2 * sp.sign(m.symbols("hinge")[1]))
        assert jumping(m) == {}
        assert abs(m.equilibrium().q[0]) < 1e-10

    def test_which_jump_and_which_change(self):
        m = pendulum()
        m.point("a", mass=1, at=(0, 5, 0))
        x = m.symbols("a")[0][0]
        m.rope("rope", m.ground, "a", stiffness=1)
        m.spring("bent", m.ground, "a", energy=lambda s: abs(s - 1))
        m.spring("smooth", m.ground, "a", energy=lambda s: s**4, pull=lambda s, rate: taut.t * s)
        m.potential(sp.Piecewise((x, x > 0), (0, True)), name="ramp")
        m.force("a", (0, 0, sp.Heaviside(taut.t - 1)), name="later")
        assert jumping(m).keys() == {"bent", "ramp"}
        assert timed(m) == ["smooth", "later"]
