"""Orientations in and out, connected parts, and what is refused about them by name."""

import numpy as np
import pytest

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
    with pytest.raises(taut.ConstraintError, match="short, long"):
        m.assemble()
