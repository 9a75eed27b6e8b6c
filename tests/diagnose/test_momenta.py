"""Momenta of mechanisms: found from their symmetries, and kept."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.diagnose.momenta import momenta_of

SPIN = {"angular_velocity": (1, 0.5, 0.3), "velocity": (1, 2, 3)}


def two(gravity=(0, 0, 0)):
    m = taut.Mechanism(gravity=gravity)
    m.body("a", mass=1, inertia=(0.1, 0.2, 0.25), at=(0, 0, 0), **SPIN)
    m.body("b", mass=2, inertia=(0.3, 0.2, 0.15), at=(1, 0, 0))
    m.spherical("elbow", "a", "b", at=(0.4, 0, 0))
    return m


def found(m):
    system = m.system()
    return {law.name: law for law in momenta_of(system, system.parameters)}


POST = ((0, 0, 1), (0, 0, 0))
ABOUT_POST = [f"angular momentum {x}" for x in ("x about (0, 0, 1)", "y about (0, 0, 1)", "z")]
FREE = [f"{kind} {axis}" for kind in ("angular momentum", "momentum") for axis in "xyz"]


class TestFound:
    def test_free(self):
        assert list(found(two())) == FREE

    def test_two_groups(self):
        m = two()
        m.point("c", mass=1, at=(0, 5, 0))
        names = list(found(m))
        assert names == [f"{x} of a … b" for x in FREE] + [f"{x} of c" for x in FREE]

    def test_gravity(self):
        names = list(found(two(gravity=(0, 0, -9.81))))
        assert names == ["angular momentum z", "momentum x", "momentum y"]

    def test_oblique_gravity_and_a_ball_joint(self):
        m = two(gravity=(1, 2, -9))
        m.spherical("ball", m.ground, "a", at=(-1, -1, 0))
        (law,) = found(m).values()
        np.testing.assert_allclose(law.turn, [1, 2, -9])
        # About a line through the ball joint.
        np.testing.assert_allclose(np.cross(law.turn, [-1, -1, 0]) + law.shift, 0, atol=1e-12)

    def test_a_hinge_whose_angle_is_counted(self):
        m = two()
        m.revolute("hinge", m.ground, "a", at=(-1, -1, 0), axis=(0, 0, 1))
        m.angle("hinge")
        (law,) = found(m).values()
        assert law.name == "angular momentum z about (-1, -1, 0)"
        assert law.angles == {24: pytest.approx(1)}

    def test_a_screw_has_a_helix(self):
        m = two()
        m.screw("screw", m.ground, "a", at=(0, 0, 0), axis=(0, 0, 1), pitch=0.5)
        (law,) = found(m).values()
        np.testing.assert_allclose(law.shift, [0, 0, 0.5 / (2 * np.pi)], atol=1e-12)

    @pytest.mark.parametrize(
        ("act", "left"),
        [
            (lambda m: m.spring("a", "b", stiffness=3, ends=((0, 1, 0), (1, 1, 0))), FREE),
            (lambda m: m.damper("a", "b", damping=3, ends=((0, 1, 0), (1, 1, 0))), FREE),
            (lambda m: m.rope("a", "b", stiffness=3, length=50), FREE),
            (lambda m: m.rope(m.ground, "a", stiffness=3, length=50, ends=POST), ABOUT_POST),
            (lambda m: m.spring(m.ground, "a", stiffness=1e-12, ends=POST), ABOUT_POST),
            (lambda m: m.force("b", lambda t, s: (0, 0, 1)), []),
            (lambda m: m.force("b", (taut.t, 0, 0)), [FREE[0], *FREE[4:]]),
            (lambda m: m.torque("b", (0, 1, 0)), [FREE[0], *FREE[2:]]),
            (lambda m: m.planar(m.ground, "a", at=(0, 0, 0), normal=(0, 0, 1)), FREE[2:5]),
            (lambda m: m.potential(m.symbols("a")[0][0] ** 2), [FREE[0], *FREE[4:]]),
            (lambda m: m.move("a", (sp.sin(taut.t), 0, 0)), [FREE[0]]),
            (lambda m: m.move("a", (sp.sin(taut.t), taut.t**2, 0)), []),
        ],
    )
    def test_what_acts(self, act, left):
        m = two()
        act(m)
        assert list(found(m)) == left


def test_in_the_certificate():
    run = taut.simulate(two(gravity=(0, 0, -9.81)), duration=1, step=0.005, project=True)
    followed = {w.name: w for w in run.certificate.watched}
    assert list(followed) == ["angular momentum z", "momentum x", "momentum y"]
    for law in followed.values():
        assert law.largest_change < 1e-13
        assert "no term changes" in law.proof
        values = run.evaluate(law.expression)
        np.testing.assert_allclose(values, law.first, atol=1e-13)
    own = sum(run[x].angular_momentum + np.cross(run[x].position, run[x].momentum) for x in "ab")
    assert followed["angular momentum z"].first == pytest.approx(own[0, 2])
    assert str(run.certificate).count("round-off") == 5


def test_a_momentum_of_zero_is_kept_to_rounding():
    m = taut.Mechanism()
    m.body("a", mass=1, inertia=(0.1, 0.2, 0.25), at=(0, 0, 0), angular_velocity=(3, 0.1, 0))
    m.body("b", mass=1, inertia=(0.1, 0.2, 0.25), at=(1, 0, 0), angular_velocity=(-3, 0, 1))
    m.spherical("ball", "a", "b", at=(0.5, 0, 0))
    run = taut.simulate(m, duration=1, step=0.005, project=True)
    rows = [row for row in run.certificate.rows() if "momentum" in row[0]]
    assert len(rows) == 6
    assert {row[2] for row in rows} == {"round-off"}
