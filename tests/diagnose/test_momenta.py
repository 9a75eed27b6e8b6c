"""Momenta of mechanisms: found from their symmetries, and kept."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.diagnose.momenta import Momentum, holding, momenta_of

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


def coordinates(name):
    return sp.symbols(f"x_{name} y_{name} z_{name}", real=True)


def gauss(x, y, z, width=1e-3):
    """A bump that no random state will meet."""
    return sp.exp(-(x**2 + y**2 + z**2) / width**2)


class TestWritten:
    """What users write may act at one place alone; what it allows is shown exactly."""

    x, y, z = coordinates("a")

    @pytest.mark.parametrize(
        ("energy", "left"),
        [
            (gauss(x - 50, y, z), FREE[:3]),
            (x**2 + y**2 + gauss(x - 50, y, z), []),
            (gauss(x, y, 0), [FREE[2], FREE[5]]),
            (gauss(0, 0, z - 50), FREE[2:5]),
            (x**2 + y**2 + gauss(sp.sqrt(x**2 + y**2) - 50, 0, z), [FREE[2]]),
            (1 / (1 + 1e12 * (x - 50) ** 2), [FREE[0], *FREE[4:]]),
            (sp.Max(0, 1e-3 - (x - 50) ** 2 - y**2), [FREE[2], FREE[5]]),
            (sp.Max(0, x**2 + y**2 - 1e9), [FREE[2], FREE[5]]),
            (sp.Piecewise((z, x > 1e9), (0, True)), [FREE[4]]),
            (sp.exp(-(1e6 * (taut.t - 50) ** 2)) * x, [FREE[0], *FREE[4:]]),
            (gauss(x - sp.Rational(1, 3), y - 0.7, 0), ["angular momentum z", FREE[5]]),
            (gauss(x - sp.pi, y, z), [FREE[0]]),
        ],
        ids=str,
    )
    def test_potentials(self, energy, left):
        m = two()
        m.potential(energy)
        names = [name.partition(" about")[0] for name in found(m)]
        assert names == left

    def test_about_the_place_of_a_bump(self):
        """Momenta about a place away from the origin are found, too."""
        m = two()
        m.potential(gauss(self.x - 5, self.y + 0.25, self.z - 1.75))
        laws = list(found(m).values())
        assert len(laws) == 3
        for law in laws:
            still = np.cross(law.turn, [5, -0.25, 1.75]) + law.shift
            np.testing.assert_allclose(still, 0, atol=1e-12)

    def test_forces_and_joints(self):
        late = sp.exp(-((taut.t - 50) ** 2) * 1e6)
        for act, left in (
            (lambda m: m.force("a", (0, 0, late)), FREE[2:5]),
            (lambda m: m.force("a", (0, 0, gauss(self.x - 50, 0, 0))), FREE[2:5]),
            (lambda m: m.force("a", (gauss(self.x - 50, 0, 0), 0, 0)), [FREE[0], *FREE[4:]]),
            (lambda m: m.torque("a", (late, 0, 0)), FREE[1:]),
            (lambda m: m.force("a", (0, 0, late), follower=True), []),
            (lambda m: m.torque("a", (0, 0, late), follower=True), FREE[3:]),
            (lambda m: m.force("a", (0, 0, late), at=(1, 2, 3)), FREE[2:5]),
            (lambda m: m.move("a", (sp.sin(taut.t), late, 0)), []),
            (lambda m: m.on_surface("a", sp.Symbol("z") + late), FREE[2:5]),
            (
                lambda m: m.on_surface("a", sp.Symbol("z") + gauss(sp.Symbol("x") - 50, 0, 0)),
                [FREE[4]],
            ),
        ):
            m = two()
            act(m)
            assert list(found(m)) == left

    def test_a_bump_on_the_way_breaks_what_it_breaks(self):
        """A body flies through it: its momentum changes, and is not claimed."""
        m = taut.Mechanism()
        m.body("a", mass=1, inertia=(0.1, 0.2, 0.25), at=(0, 0, 0), velocity=(1, 0, 0))
        m.potential(0.05 * gauss(self.x - 0.5, self.y - 0.02, 0, 0.05))
        run = taut.simulate(m, duration=1, step=0.005)
        assert np.ptp(run["a"].momentum[:, 1]) > 0.01
        kept = {w.name: w for w in run.certificate.watched}
        assert list(kept) == ["angular momentum z about (0.5, 0.02, 0)", "momentum z"]
        for law in kept.values():
            assert law.largest_change < 1e-13

    def test_the_run_asks_again(self):
        """If a symmetry were claimed that is none, the states of the run would tell."""
        m = taut.Mechanism()
        m.body("a", mass=1, inertia=(0.1, 0.2, 0.25), at=(0, 0, 0), velocity=(1, 0, 0))
        m.potential(0.05 * gauss(self.x - 0.5, self.y - 0.02, 0, 0.05))
        run = taut.simulate(m, duration=1, step=0.005, laws=None)
        along = {x: Momentum(x, 0, np.zeros(3), np.eye(3)[k], {}, (m["a"],)) for k, x in
                 enumerate("xyz")}  # fmt: skip
        par = np.zeros((len(run.t), 0))
        kept = holding(list(along.values()), run.system, run.t, par, run.q, run.v)
        assert [law.name for law in kept] == ["z"]


@pytest.mark.parametrize("away", [0.0, 1e6])
def test_what_nearly_turns_about_a_place_far_away_is_no_law(away):
    """A linkage between two posts: far from the origin they look like one."""
    m = taut.Mechanism()
    bar = {"mass": 1, "inertia": (0.1, 0.2, 0.25)}
    m.body("a", **bar, at=(away, away, 0.5), angular_velocity=(0, 0.1, 0))
    m.body("b", **bar, at=(away + 0.5, away, 1))
    m.body("c", **bar, at=(away + 1, away, 0.5))
    m.revolute("post", m.ground, "a", at=(away, away, 0), axis=(0, 1, 0))
    m.revolute("left", "a", "b", at=(away, away, 1), axis=(0, 1, 0))
    m.revolute("right", "b", "c", at=(away + 1, away, 1), axis=(0, 1, 0))
    m.revolute("other", m.ground, "c", at=(away + 1, away, 0), axis=(0, 1, 0))
    assert list(found(m)) == []
    free = two()
    free.parts["a"].position[0] += away
    free.parts["b"].position[0] += away
    names = list(found(free))
    assert names == FREE
