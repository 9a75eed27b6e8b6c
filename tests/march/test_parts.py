"""Orientations in and out, connected parts, and what is refused about them by name."""

import numpy as np
import pytest
import sympy as sp

import taut

BOX = {"mass": 1.0, "inertia": (0.5, 0.9, 1.0)}
ANGLES = (0.3, 0.8, -0.5)


@pytest.fixture(scope="module")
def run():
    m = taut.Mechanism()
    spin = (0.3, -0.2, 0.9)
    m.body("box", **BOX, at=(1, 0, 0), rotation=taut.rotation(ANGLES), body_angular_velocity=spin)
    return taut.simulate(m, duration=6, step=0.01, laws=None)


def test_angles_go_in_and_come_out(run):
    np.testing.assert_allclose(run["box"].euler()[0], ANGLES, rtol=0, atol=1e-14)
    for axes in ("zxz", "zyx", "xyz"):
        turned = taut.rotation(run["box"].euler(axes), axes)
        np.testing.assert_allclose(turned, run["box"].rotation, rtol=0, atol=1e-13)


def test_angles_are_continuous(run):
    angles = run["box"].euler()
    assert np.abs(np.diff(angles, axis=0)).max() < 0.1
    assert np.abs(angles).max() > np.pi  # past where arctan2 jumps


def test_a_quaternion_goes_in_and_comes_out(run):
    m = taut.Mechanism()
    m.body("box", **BOX, at=(0, 0, 0), rotation=run["box"].quaternion[0])
    again = taut.simulate(m, duration=0.01, step=0.01, laws=None)
    np.testing.assert_allclose(again["box"].rotation[0], run["box"].rotation[0], atol=1e-15)


def test_angular_velocities_and_momenta_in_both_frames(run):
    box = run["box"]
    np.testing.assert_allclose(box.body_angular_velocity[0], (0.3, -0.2, 0.9), atol=1e-14)
    expected = np.array(BOX["inertia"]) * box.body_angular_velocity
    np.testing.assert_allclose(box.body_angular_momentum, expected, atol=1e-13)
    turned = np.einsum("tij,tj->ti", box.rotation, box.body_angular_momentum)
    np.testing.assert_allclose(box.angular_momentum, turned, atol=1e-13)
    np.testing.assert_allclose(
        box.angular_momentum, box.angular_momentum[:1] + 0 * turned, atol=1e-13
    )


def test_places_move_as_they_change(run):
    at = (1.5, 0.2, 0.1)
    place, velocity = run["box"].place(at), run["box"].place_velocity(at)
    middle = (place[2:] - place[:-2]) / 0.02
    np.testing.assert_allclose(velocity[1:-1], middle, atol=1e-4)
    assert np.abs(velocity).max() > 0.3


def test_places_of_rods_and_joints_move_as_they_change():
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    rod = m.body("rod", mass=1, inertia=(1 / 12, 1 / 12, 0), at=(0.5, 0, 0),
                 rotation=taut.rotation((np.pi / 2, np.pi / 2, 0)))  # fmt: skip
    end = m.point("end", mass=1, at=(1, 0, 0))
    m.spherical("pivot", m.ground, rod, at=(0, 0, 0))
    m.spherical("tip", rod, end, at=(1, 0, 0))
    run = taut.simulate(m, duration=0.5, step=0.001, laws=None)
    np.testing.assert_allclose(run["tip"].velocity, run["end"].velocity, atol=1e-13)
    np.testing.assert_allclose(
        run["rod"].place_velocity((1, 0, 0)), run["end"].velocity, atol=1e-13
    )
    assert np.abs(run["pivot"].velocity).max() < 1e-13
    assert run["tip"].velocity[-1, 2] < -1


def test_two_angular_velocities_are_refused():
    m = taut.Mechanism()
    with pytest.raises(taut.ModelError, match="two angular velocities of body box"):
        m.body(
            "box", **BOX, at=(0, 0, 0), angular_velocity=(1, 0, 0), body_angular_velocity=(0, 1, 0)
        )


@pytest.mark.parametrize(
    ("rotation", "words"),
    [
        ((1, 1, 0, 0), "quaternion of body box.*length 1.41421"),
        ((0, 0, 0, 0), "quaternion of body box.*length 0"),
        (-np.eye(3), "rotation of body box is not a rotation"),
        ((0.1, 0.2, 0.3), r"taut.rotation\(\(α, β, γ\)"),
    ],
)
def test_what_is_no_rotation_is_refused_by_name(rotation, words):
    m = taut.Mechanism()
    with pytest.raises(taut.TautError, match=f"(?s){words}"):
        m.body("box", **BOX, at=(0, 0, 0), rotation=rotation)


def test_parts_that_nothing_connects_are_named():
    m = taut.Mechanism()
    a, b, c, d, e = (m.body(x, **BOX, at=(k, 0, 0)) for k, x in enumerate("abcde"))
    m.spherical(m.ground, a, at=(0, 0, 0))
    m.spring(m.ground, b, stiffness=1, ends=((0, 0, 0), (1, 0, 0)))
    m.rod(c, d)
    found = m.assemble()
    assert found.groups == (("ground", "a", "b"), ("c", "d"), ("e",))
    assert "not connected  ground, a, b; c, d; e" in str(found)
    m.central(d, e, energy=lambda r: -1 / r)
    m.spherical(b, c, at=(1.5, 0, 0))
    assert len(m.assemble().groups) == 1
    assert "not connected" not in str(m.assemble())


def test_a_free_body_is_one_group():
    m = taut.Mechanism()
    m.body("box", **BOX, at=(0, 0, 0))
    assert m.assemble().groups == (("box",),)


def test_joints_that_contradict_each_other_are_named():
    m = taut.Mechanism()
    p = m.point("p", mass=1, at=(1, 0, 0))
    m.rod("short", m.ground, p, length=1)
    m.rod("long", m.ground, p, length=2)
    with pytest.raises(taut.ConstraintError, match="rod joint short, rod joint long"):
        m.assemble()


class TestWhatCountingDoesNotChange:
    """Angles and places on curves are lent inertia: none of it is in the forces of joints."""

    def test_forces_of_a_hinge_that_tumbles(self):
        found = []
        for counted in (False, True):
            m = taut.Mechanism(gravity=(0, 0, -9.81))
            bar = {"mass": 1.0, "inertia": (0.1, 0.09, 0.05), "angular_velocity": (1, 2, 3)}
            m.body("a", **bar, at=(0, 0, 0))
            m.body("b", **bar, at=(0, 0, -1), velocity=(-2, 1, 0))
            m.revolute("hinge", "a", "b", at=(0, 0, -0.5), axis=(0, 1, 0))
            m.motor("hinge", 1.0)
            if counted:
                m.angle("hinge")
            run = taut.simulate(m, duration=0.05, step=0.001, laws=None)
            found.append(np.hstack([run["hinge"].force, run["hinge"].torque]))
        assert np.abs(found[0]).max() > 0.3
        np.testing.assert_allclose(*found, rtol=0, atol=1e-5)

    def test_a_gear_has_a_torque_and_its_hinges_have_none(self):
        m = taut.Mechanism()
        m.body("a", mass=1, inertia=(0.1, 0.1, 0.05), at=(0, 0, 0))
        m.body("b", mass=1, inertia=(0.2, 0.2, 0.2), at=(1, 0, 0))
        m.revolute("ha", m.ground, "a", at=(0, 0, 0), axis=(0, 0, 1))
        m.revolute("hb", m.ground, "b", at=(1, 0, 0), axis=(0, 0, 1))
        m.gear("ha", "hb", ratio=2.0, name="mesh")
        m.motor("ha", 0.7)
        run = taut.simulate(m, duration=0.02, step=0.001, laws=None)
        # 0.05 α_a = 0.7 − λ, 0.2 α_b = −2 λ, α_a = −2 α_b: so λ = 0.35.
        exact = np.broadcast_to([0, 0, -0.7], (len(run.t), 3))
        np.testing.assert_allclose(run["mesh"].torque, exact, rtol=0, atol=1e-12)
        for name in ("ha", "hb"):
            np.testing.assert_allclose(run[name].torque, 0.0, atol=1e-12)

    def test_a_screw_turns_force_into_torque(self):
        m = taut.Mechanism(gravity=(0, 0, -9.81))
        m.body("nut", mass=2, inertia=(0.1, 0.1, 0.05), at=(0, 0, 0))
        m.screw("thread", m.ground, "nut", at=(0, 0, 0), axis=(0, 0, 1), pitch=0.5)
        run, lead = taut.simulate(m, duration=0.02, step=0.001, laws=None), 0.5 / (2 * np.pi)
        force = 2 * 9.81 * (1 - 2 / (2 + 0.05 / lead**2))
        np.testing.assert_allclose(run["thread"].force[:, 2], force, rtol=1e-10)
        np.testing.assert_allclose(run["thread"].torque[:, 2], -lead * force, rtol=1e-10)

    def test_a_wheel_is_pushed_where_it_rolls(self):
        m = taut.Mechanism(gravity=(0, 0, -9.81))
        wheel = m.body("wheel", mass=2, inertia=(0.1, 0.1, 0.1), at=(0, 0, 0))
        m.rolling(
            "contact", m.ground, wheel, at=(0, 0, 0), axis=(0, 1, 0), along=(1, 0, 0), radius=0.3
        )
        m.force(wheel, (1.5, 0, 0))
        run = taut.simulate(m, duration=0.02, step=0.001, laws=None)
        rate = 1.5 / (2 + 0.1 / 0.3**2)
        np.testing.assert_allclose(run["contact"].force[:, 0], 2 * rate - 1.5, rtol=1e-9)
        np.testing.assert_allclose(run["contact"].torque[:, 1], 0.1 * rate / 0.3, rtol=1e-9)

    def test_a_helix_pushes_across_itself(self):
        s = sp.Symbol("s")
        m = taut.Mechanism(gravity=(0, 0, -9.81))
        bead = m.point("bead", mass=2, at=(1, 0, 0))
        m.on_curve(bead, ((sp.cos(s), sp.sin(s), s / 2), s), name="helix")
        run = taut.simulate(m, duration=0.2, step=0.001, laws=None)
        rate = -9.81 * 0.5 / 1.25
        s, fast = rate * run.t**2 / 2, rate * run.t
        none = np.zeros_like(s)
        tangent = np.stack([-np.sin(s), np.cos(s), none + 0.5], axis=1)
        inward = np.stack([-np.cos(s), -np.sin(s), none], axis=1)
        exact = 2 * (rate * tangent + fast[:, None] ** 2 * inward + [0, 0, 9.81])
        np.testing.assert_allclose(run["helix"].force, exact, rtol=0, atol=1e-4)
        np.testing.assert_allclose(
            np.sum(run["helix"].force * run["bead"].velocity, axis=1), 0.0, atol=1e-10
        )


def swing():
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    m.body("arm", **BOX, at=(0.5, 0, 0))
    m.revolute("hinge", m.ground, "arm", at=(0, 0, 0), axis=(0, 1, 0))
    m.motor("motor", "hinge", 0.3 * taut.t)
    m.torsion("coil", "hinge", stiffness=2.0)
    m.frame("tool", "arm", at=(1, 0, 0))
    return m


def seen(run):
    """All numbers that views by name give."""
    views = [run["arm"], run["hinge"], run["motor"], run["coil"], run["tool"]]
    words = ("position", "angle", "rate", "force", "torque", "multipliers", "power", "energy")
    return [getattr(x, word) for x in views for word in words if hasattr(type(x), word)]


def test_a_run_keeps_what_it_was_made_from(tmp_path):
    m = swing()
    run = taut.simulate(m, duration=0.5, step=0.01, laws=None)
    before = seen(taut.simulate(swing(), duration=0.5, step=0.01, laws=None))
    m.angle("hinge")
    m.body("fifth wheel", **BOX, at=(0, 2, 0))
    m.revolute("other", "arm", "fifth wheel", at=(0, 1, 0), axis=(0, 1, 0))
    for a, b in zip(seen(run), before, strict=True):
        np.testing.assert_array_equal(a, b)
    assert "fifth wheel" not in run.report(tmp_path / "run.html").read_text(encoding="utf-8")
    run.plot().savefig(tmp_path / "run.png")
    run.save(tmp_path / "run.zarr")
    assert taut.load(tmp_path / "run.zarr").sizes["coordinate"] == 12
    assert "energy" in str(run.certificate)
    with pytest.raises(taut.UnknownName):
        run["fifth wheel"]
    further = taut.simulate(m, duration=0.02, step=0.01, laws=None, project=True)
    assert further.q.shape[1] == 25


def test_an_assembly_and_modes_keep_what_they_were_made_from():
    m = swing()
    found, rest, modes = m.assemble(), m.equilibrium(), m.modes()
    before = [str(x) for x in (found, rest, modes)]
    m.body("fifth wheel", **BOX, at=(0, 2, 0))
    assert [str(x) for x in (found, rest, modes)] == before
    assert found.groups == (("ground", "arm"),)


@pytest.mark.parametrize("every", [1, 100, 700])
def test_turns_are_counted_by_the_rate(every):
    """Several turns between stored states."""
    m = taut.Mechanism()
    m.body("wheel", mass=1, inertia=(1, 1, 1), at=(0, 0, 0), angular_velocity=(0, 20, 0))
    m.revolute("hinge", m.ground, "wheel", at=(0, 0, 0), axis=(0, 1, 0))
    m.motor("hinge", -1.5, name="brake")
    run = taut.simulate(m, duration=7, step=0.001, every=every, laws=None)
    np.testing.assert_allclose(run["hinge"].angle, 20 * run.t - 0.75 * run.t**2, atol=0.01)
    both = taut.simulate(m, q0=np.stack([run.q[0]] * 2), v0=run.v[0], duration=7, step=0.001,
                         every=every, laws=None)  # fmt: skip
    np.testing.assert_allclose(both["hinge"].angle, [run["hinge"].angle] * 2, atol=1e-9)


def test_a_run_of_a_system_has_columns_by_name_and_no_parts():
    x, z = taut.coordinates("x z")
    system = taut.System([x, z], mass=1, potential=z, constraints={"rod": x**2 + z**2 - 1})
    run = taut.simulate(system, q0=[1, 0], v0=0, duration=0.2, step=0.1)
    for name, column in (
        ("z", "q[..., 1]"),
        ("z_dot", "v[..., 1]"),
        ("rod", "constraints[..., 0]"),
    ):
        with pytest.raises(taut.InputError, match="in a run of a system: it has arrays") as caught:
            run[name]
        assert caught.value.remedy == f"run.{column}"
        assert eval(caught.value.remedy).shape == (3,)
    with pytest.raises(taut.InputError, match="no coordinate or constraint called 'y'") as caught:
        run["y"]
    assert "rod" in str(caught.value)
    flow = taut.simulate(taut.Flow([x, z], [z, -x]), q0=[1, 0], duration=0.2, step=0.1)
    with pytest.raises(taut.InputError) as caught:
        flow["z"]
    assert caught.value.remedy == "run.q[..., 1]"
