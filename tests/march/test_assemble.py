"""Assembly, rest and modes of mechanisms."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import taut
from taut.kernel.compile import workshop
from taut.march.project import _metric, _null_space

BAR = {"mass": 1.0, "inertia": (0.084, 0.084, 0.002)}


def swing(length=1.0):
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    a = m.point("a", mass=1, at=(0.3, 0, -0.9))
    b = m.point("b", mass=2, at=(0.5, 0.2, -1.9))
    m.rod("upper", m.ground, a, length=length)
    m.rod("lower", a, b, length=length)
    return m


def four_bar():
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    crank = m.body("crank", **BAR, at=(0, 0, 0.5))
    rocker = m.body("rocker", **BAR, at=(1, 0, 0.5))
    coupler = m.body("coupler", mass=1, inertia=(0.002, 0.084, 0.084), at=(0.5, 0, 1))
    for name, one, other, at in (
        ("a", m.ground, crank, (0, 0, 0)), ("b", m.ground, rocker, (1, 0, 0)),
        ("c", crank, coupler, (0, 0, 1)), ("d", coupler, rocker, (1, 0, 1)),
    ):  # fmt: skip
        m.revolute(name, one, other, at=at, axis=(0, 1, 0))
    return m


def test_rough_positions_are_moved_until_all_fits():
    m = swing()
    found = m.assemble()
    assert found.freedom == 4
    assert found.redundant == {}
    a, b = found.q[:3], found.q[3:]
    assert np.linalg.norm(a) == pytest.approx(1, abs=1e-14)
    assert np.linalg.norm(a - b) == pytest.approx(1, abs=1e-14)
    assert 0 < found.moved["a"] < 0.1
    run = taut.simulate(m, q0=found.q, v0=found.v, duration=0.1, step=0.01)
    assert run.certificate.max_g < 1e-14


def test_what_is_redundant_is_named():
    found = four_bar().assemble()
    assert found.freedom == 1
    assert sum(found.redundant.values()) == 3
    assert set(found.redundant) <= {"a", "b", "c", "d"}
    assert "1 degree of freedom" in str(found)


def test_a_closed_loop_runs_and_keeps_its_energy():
    m = four_bar()
    start, v0 = m.start()
    for part, lever in (("crank", 0.5), ("rocker", 0.5), ("coupler", 1.0)):
        first = m.parts[part].first
        v0[first] = lever
        if part != "coupler":
            spin = np.array([0.0, 1.0, 0.0])
            for k in range(3):
                axis = start[first + 3 + 3 * k : first + 6 + 3 * k]
                v0[first + 3 + 3 * k : first + 6 + 3 * k] = np.cross(spin, axis)
    run = taut.simulate(m, v0=v0, duration=1.5, step=0.0025, laws=None)
    # All bars share an angle: ½ I θ̇² + P g cos θ is constant, as of one bar.
    inertia = 2 * (0.084 + 0.25) + 1.0
    weight = 9.81 * 2.0
    top = run["crank"].place((0, 0, 1))
    theta = np.unwrap(np.arctan2(top[:, 0], top[:, 2]))
    rate = run["crank"].angular_velocity[:, 1]
    energy = inertia * rate**2 / 2 + weight * np.cos(theta)
    assert theta[-1] > 3
    np.testing.assert_allclose(energy, inertia / 2 + weight, rtol=2e-3)
    assert run.certificate.max_g < 1e-13


def test_modes_of_a_double_pendulum():
    mass, stiffness = np.array([[3, 2], [2, 2]]), 9.81 * np.diag([3, 2])
    want = np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(mass, stiffness))))
    m = swing()
    rest = m.equilibrium()
    np.testing.assert_allclose(rest.q, [0, 0, -1, 0, 0, -2], atol=1e-9)
    found = m.modes(rest)
    np.testing.assert_allclose(found.frequencies, np.repeat(want, 2), rtol=1e-9)
    assert found.stable
    assert "Hz" in str(found)


def test_rest_of_springs_is_statics():
    m = taut.Mechanism(gravity=(0, 0, -10))
    bob = m.point("bob", mass=2, at=(0.1, 0.2, -1))
    m.spring(m.ground, bob, stiffness=100, length=1)
    rest = m.equilibrium()
    np.testing.assert_allclose(rest.q, [0, 0, -1.2], atol=1e-8)
    found = m.modes(rest)
    np.testing.assert_allclose(found.squares, [10 / 1.2, 10 / 1.2, 50], rtol=1e-6)


def test_from_upright_it_comes_to_hang():
    """Begun exactly where nothing pushes it to either side; a chain has two such motions."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    for k, name in enumerate("abc"):
        m.point(name, mass=1, at=(0, 0, k + 1))
        m.rod(m.ground if k == 0 else "abc"[k - 1], name)
    upright = m.equilibrium(stable=False)
    assert upright.stable is False
    np.testing.assert_allclose(upright.q, [0, 0, 1, 0, 0, 2, 0, 0, 3], atol=1e-12)
    found = m.equilibrium()
    assert found.stable is True
    assert "stable" in str(found)
    np.testing.assert_allclose(found.q, [0, 0, -1, 0, 0, -2, 0, 0, -3], atol=1e-9)
    np.testing.assert_array_equal(found.q, m.equilibrium().q)


def test_the_side_of_a_double_well_is_the_deeper_one():
    """From the top between two wells, one of them a little deeper."""
    x, y, z = sp.symbols("x_a y_a z_a", real=True)
    for tilt in (0.3, -0.3):
        m = taut.Mechanism()
        m.point("a", mass=1, at=(0, 0, 0))
        m.potential(x**4 / 4 - x**2 / 2 + tilt * x**3 + y**2 + z**2)
        wells = np.roots([1, 3 * tilt, -1, 0])
        deeper = min(wells, key=lambda s: s**4 / 4 - s**2 / 2 + tilt * s**3)
        np.testing.assert_allclose(m.equilibrium().q, [deeper, 0, 0], atol=1e-9)


def driven(torque, turned=0.0):
    """A bar on a hinge, hanging but for a turn, with a motor."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    c, s = np.cos(turned), np.sin(turned)
    turn = [[c, 0, s], [0, 1, 0], [-s, 0, c]]
    bar = m.body("bar", **BAR, at=(-s / 2, 0, -c / 2), rotation=turn)
    m.revolute("hinge", m.ground, bar, at=(0, 0, 0), axis=(0, 1, 0))
    m.motor("hinge", torque)
    return m


@pytest.mark.parametrize("torque", [0.5, -4.0])
def test_a_motor_holds_a_bar_aside(torque):
    """Its work is no part of the energy: m g l sin θ = torque."""
    want = np.arcsin(torque / (9.81 / 2))
    m = driven(torque)
    found = m.equilibrium()
    assert found.stable
    np.testing.assert_allclose(found.q[:3], [-np.sin(want) / 2, 0, -np.cos(want) / 2], atol=1e-11)
    square = 9.81 / 2 * np.cos(want) / (0.084 + 1 / 4)
    np.testing.assert_allclose(m.modes(found).squares, [square], rtol=1e-9)


def test_what_a_motor_holds_upright_falls_to_the_side_to_which_it_turns():
    """Of −τθ − m g l cos θ, the side beyond the top is the lower one, by its third derivative."""
    torque = 2.0
    hanging = np.arcsin(torque / (9.81 / 2))
    m = driven(torque, turned=np.pi - hanging)
    m.angle("hinge")
    upright = m.equilibrium(stable=False)
    assert upright.stable is False
    np.testing.assert_allclose(upright.q[-1], 0, atol=1e-12)
    found = m.equilibrium()
    assert found.stable
    np.testing.assert_allclose(found.q[-1], np.pi + 2 * hanging, rtol=1e-9)


def test_a_motor_against_a_spring_behind_a_gear():
    """φ₁ = −r φ₂, τ φ₁ − ½ k φ₂²: φ₁ = τ r²/k, to the last digits and without dithering."""
    m = taut.Mechanism()
    for name, x in (("one", 0.0), ("two", 1.0)):
        wheel = m.body(f"wheel {name}", mass=1, inertia=(0.01, 0.01, 0.02), at=(x, 0, 0))
        m.revolute(name, m.ground, wheel, at=(x, 0, 0), axis=(0, 0, 1))
    m.gear("one", "two", ratio=2)
    m.torsion("two", stiffness=50)
    m.motor("one", 3.0)
    rest = m.equilibrium()
    np.testing.assert_allclose(rest.q[-2:], [3 * 4 / 50, -3 * 2 / 50], rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_rough_positions_of_a_redundant_loop_are_moved_to_the_nearest(seed):
    """Three rows of a plane four-bar depend on others, but only where all constraints hold."""
    m = four_bar()
    begin = m.start()[0]
    rough = begin + 0.03 * np.random.default_rng(seed).standard_normal(len(begin))
    found = m.assemble(q0=rough)
    mechanics, par = workshop(found.system).mechanics, found.system.values()
    assert np.abs(mechanics.g(found.q, 0.0, par)).max() < 1e-14
    metric = _metric(mechanics, rough, 0 * rough, 0.0, par)
    z = np.linalg.solve(metric, found.q - rough)
    along = _null_space(mechanics.gradients(found.q, 0.0, par) @ metric)
    assert along.shape[1] == found.freedom == 1
    assert np.linalg.norm(along.T @ z) < 1e-9 * np.linalg.norm(z)


def column(push, follower=False):
    m = taut.Mechanism()
    a = m.body("a", mass=2, inertia=(0.1, 0.1, 0.01), at=(0, 0, 0.5))
    b = m.body("b", mass=1, inertia=(0.1, 0.1, 0.01), at=(0, 0, 1.5))
    m.revolute("lower", m.ground, a, at=(0, 0, 0), axis=(0, 1, 0))
    m.revolute("upper", a, b, at=(0, 0, 1), axis=(0, 1, 0))
    for hinge in ("lower", "upper"):
        m.torsion(hinge, stiffness=10)
    m.force(b, (0, 0, -push), at=(0, 0, 2), follower=follower)
    return m


def test_a_straight_column_stands_until_it_buckles():
    """Links of length 1 buckle at k (3 − √5)/2; the joints carry all of the load."""
    least = 10 * (3 - np.sqrt(5)) / 2
    straight = [0, 0, 0.5, 0, 0, 1.5]
    for push in (0.5 * least, 0.99 * least):
        rest = column(push).equilibrium()
        assert rest.stable
        np.testing.assert_allclose(rest.q[[0, 1, 2, 12, 13, 14]], straight, atol=1e-9)
    rest = column(1.05 * least).equilibrium()
    assert rest.stable
    assert abs(rest.q[12]) > 0.1
    assert column(5, follower=True).equilibrium().stable is None


def test_what_drives_instead_of_damping_is_not_stable():
    m = driven(0.0)
    m.motor("hinge", law=lambda angle, rate: 3 * rate)
    found = m.equilibrium()
    assert found.stable is False
    assert not m.modes(found).stable
    m = driven(0.0)
    m.motor("hinge", law=lambda angle, rate: -3 * rate)
    assert m.equilibrium().stable is True


def test_a_chain_laid_out_level_comes_to_hang():
    """Far from rest: steps that turn links by much are cut short, not refused."""
    m, before, n = taut.Mechanism(gravity=(0, 0, -9.81)), "ground", 10
    for k in range(n):
        at = ((k + 0.5) / 10, 0, 0)
        m.body(f"link {k}", mass=0.1, inertia=(1e-5, 8.4e-5, 8.4e-5), at=at)
        m.revolute(before, f"link {k}", at=(k / 10, 0, 0), axis=(0, 1, 0))
        before = f"link {k}"
    rest = m.equilibrium()
    assert rest.stable
    places = rest.q.reshape(n, -1)[:, :3]
    np.testing.assert_allclose(places[:, 2], -(np.arange(n) + 0.5) / 10, atol=1e-12)
    np.testing.assert_allclose(places[:, :2], 0, atol=1e-10)


def test_drives_that_agree_are_redundant():
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    a = m.body("a", **BAR, at=(0.5, 0, 0))
    b = m.body("b", **BAR, at=(1.5, 0, 0))
    m.revolute("one", m.ground, a, at=(0, 0, 0), axis=(0, 1, 0))
    m.revolute("two", a, b, at=(1, 0, 0), axis=(0, 1, 0))
    m.gear("one", "two", ratio=2)
    m.drive("one", angle=3 * taut.t)
    m.drive("two", angle=-1.5 * taut.t, name="second")
    assert m.assemble().redundant == {"second": 1}
    run = taut.simulate(m, duration=0.5, step=0.005, laws=None, project=True)
    np.testing.assert_allclose(run["two"].angle, -1.5 * run.t, atol=1e-12)


def test_an_inverted_pendulum_is_not_stable():
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    bob = m.point("bob", mass=1, at=(0, 0, 1))
    m.rod(m.ground, bob)
    found = m.modes(m.assemble())
    assert not found.stable
    np.testing.assert_allclose(found.squares, [-9.81, -9.81], rtol=1e-9)
    assert "grows" in str(found)


def test_refused():
    m = swing(length=0.1)
    m.rod("third", m.ground, m.parts["b"], length=5)
    with pytest.raises(taut.ConstraintError, match="contradict"):
        m.assemble()
    with pytest.raises(taut.InputError, match="q0"):
        m.assemble(q0=[1, 2])


@pytest.mark.parametrize("at", [(1, 0, 0), (0.6, 0.8, 0), (0.8, 0, 0.6)])
def test_a_pendulum_that_is_held_level_has_no_stiffness_at_all(at):
    m = taut.Mechanism(gravity=(0, 0, -10))
    m.rod(m.ground, m.point("bob", mass=2, at=at), length=1)
    rest = m.equilibrium()
    assert rest.stable
    np.testing.assert_allclose(rest["bob"].position, (0, 0, -1), atol=1e-9)


def test_all_that_moves_is_at_the_origin():
    m = taut.Mechanism(gravity=(0, 0, -10))
    m.rod(m.ground, m.point("bob", mass=2, at=(0, 0, 0)), ends=((1, 0, 0), (0, 0, 0)))
    np.testing.assert_allclose(m.equilibrium()["bob"].position, (1, 0, -1), atol=1e-9)
    m = taut.Mechanism(gravity=(0, 0, -10))
    m.spring(m.ground, m.point("bob", mass=2, at=(0, 0, 0)), ends=((0, 0, 1), (0, 0, 0)),
             stiffness=40)  # fmt: skip
    np.testing.assert_allclose(m.equilibrium()["bob"].position, (0, 0, -0.5), atol=1e-9)


def scattered(reach=1.0):
    """A crank of 1, a coupler of 2 and a rocker of 1.5 that lie about, over a ground of 2."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    link = {"mass": 1.0, "inertia": (0.08, 0.08, 0.01)}
    for name, at in (
        ("crank", (0, 0, 0.55)),
        ("coupler", (0.8, 0, 1.4)),
        ("rocker", (2.3, 0, 0.8)),
    ):
        m.body(name, **link, at=at)
    for name, parts, at in (
        ("a", (m.ground, "crank"), ((0, 0, 0), (0, 0, 0.05))),
        ("b", ("crank", "coupler"), ((0, 0, 1.05), (0.8 - reach, 0, 1.4))),
        ("c", ("coupler", "rocker"), ((0.8 + reach, 0, 1.4), (2.3, 0, 1.55))),
        ("d", (m.ground, "rocker"), ((2, 0, 0), (2.3, 0, 0.05))),
    ):
        m.revolute(name, *parts, at=at, axis=(0, 1, 0))
    return m


def test_links_that_lie_about_are_brought_together():
    """Joints with a place on each part; against the meeting of two circles."""
    m = scattered()
    found = m.assemble()
    a, b, c, d = (found[name].position for name in "abcd")
    np.testing.assert_allclose([a, d], [(0, 0, 0), (2, 0, 0)], atol=1e-12)
    lengths = [np.linalg.norm(x - y) for x, y in ((a, b), (b, c), (c, d))]
    np.testing.assert_allclose(lengths, [1, 2, 1.5], atol=1e-12)
    # Where the coupler's end is, given the crank's.
    apart = d - b
    far = np.linalg.norm(apart)
    along = (2**2 - 1.5**2 + far**2) / (2 * far)
    side = np.array([-apart[2], 0, apart[0]]) / far
    np.testing.assert_allclose(
        c, b + along * apart / far + np.sqrt(4 - along**2) * side, atol=1e-12
    )
    assert found.moved["rocker"] > 0.2
    with pytest.raises(taut.InconsistentStart, match="revolute joint b"):
        taut.simulate(m, duration=0.1, step=0.01)
    run = taut.simulate(m, q0=found.q, v0=0, duration=0.1, step=0.01, laws=None)
    np.testing.assert_allclose(run["b"].position[0], b, atol=1e-12)


def test_links_that_cannot_meet_are_named():
    with pytest.raises(taut.ConstraintError, match="contradict") as caught:
        scattered(reach=3.0).assemble()
    assert "revolute joint b" in caught.value.what
    assert "rigid" not in caught.value.what


def test_a_slider_that_begins_out_of_place():
    m = taut.Mechanism()
    m.body("block", mass=1, inertia=(1, 1, 1), at=(3, 0.2, 0))
    m.prismatic("rail", m.ground, "block", at=((1, 0, 0), (3, 0.2, 0)), axis=(1, 0, 0))
    found = m.assemble()
    np.testing.assert_allclose(found["block"].position, (3, 0, 0), atol=1e-12)
    assert found["rail"].slide == pytest.approx(2)


LOOSE = {
    "revolute": "axis", "cylindrical": "axis", "prismatic": "axis", "screw": "axis",
    "planar": "normal", "universal": "axes",
}  # fmt: skip


@pytest.mark.parametrize("kind", LOOSE)
def test_bodies_that_lie_askew_are_turned_until_axes_meet(kind):
    """The same joint of a body in place and of one thrown aside holds on to the same of both."""
    lead = {"pitch": 0.3} if kind == "screw" else {}
    place, axis = np.array([0.2, 0.1, 0.5]), np.array([2.0, 1.0, -2.0]) / 3
    turned, aside = taut.rotation((0.7, -0.4, 0.5), "zyx"), np.array([0.3, -0.2, 0.4])
    known = {"mass": 1.0, "inertia": (0.3, 0.2, 0.4)}
    centre = np.array([1.0, 0.3, 0.2])
    there = centre + aside + turned @ (place - centre)
    second = (-1.0, 2.0, 0.0) if kind == "universal" else axis
    ready, loose = taut.Mechanism(), taut.Mechanism()
    ready.body("b", **known, at=centre)
    loose.body("b", **known, at=centre + aside, rotation=turned)
    options = (axis, second) if kind == "universal" else axis
    getattr(ready, kind)("joint", ready.ground, "b", at=place, **{LOOSE[kind]: options}, **lead)
    getattr(loose, kind)("joint", loose.ground, "b", at=(place, there),
                         **{LOOSE[kind]: (axis, turned @ second)}, **lead)  # fmt: skip
    if kind != "prismatic":  # which keeps the directions across the axis as they are, too
        np.testing.assert_allclose(
            loose.joints["joint"].pieces[0].values, ready.joints["joint"].pieces[0].values,
            atol=1e-14,
        )  # fmt: skip
    found = loose.assemble()
    seen = found["b"].rotation @ second
    if kind == "universal":
        assert abs(seen @ axis) < 1e-12
    else:
        np.testing.assert_allclose(seen, axis, atol=1e-12)
    met = found["b"].place(there) - place
    if kind in ("revolute", "universal"):
        np.testing.assert_allclose(met, 0, atol=1e-12)
    elif kind == "planar":
        assert abs(met @ axis) < 1e-12
    else:
        np.testing.assert_allclose(np.cross(met, axis), 0, atol=1e-12)
    run = taut.simulate(loose, q0=found.q, v0=0, duration=0.05, step=0.01, laws=None)
    np.testing.assert_allclose(run.constraints, 0, atol=1e-13)


def test_the_angle_of_a_hinge_that_was_askew_is_the_same_to_all_who_tell_it():
    m, heard = taut.Mechanism(), []
    turned = taut.rotation((0.7, -0.4, 0.5), "zyx")
    m.body("b", mass=1, inertia=(0.3, 0.2, 0.4), at=(0, 0, 0.3), rotation=turned)
    m.revolute(
        "hinge", m.ground, "b", at=((0, 0, 0), (0.1, 0, 0)), axis=((0, 0, 1), (0.48, 0.6, 0.64))
    )
    m.torque("b", lambda t, state: (heard.append(state["hinge"].angle), (0, 0, 0.7))[1])
    plain = m.assemble()
    counted = m.copy()
    counted.angle("hinge")
    first, second = m.joints["hinge"].triad, m.joints["hinge"].other
    for given in (m, counted):
        heard.clear()
        run = taut.simulate(given, project=True, duration=0.5, step=0.01, laws=None)
        mark = run["b"].rotation @ (turned.T @ second["u"])  # where b's own u is
        angle = np.arctan2(mark @ first["w"], mark @ first["u"])
        assert np.ptp(angle) > 0.1
        np.testing.assert_allclose(run["hinge"].angle, angle, atol=1e-12)
        np.testing.assert_allclose(heard, angle[:-1], atol=1e-12)
    np.testing.assert_allclose(float(plain["hinge"].angle), angle[0], atol=0.02)


@pytest.mark.parametrize("degrees", [75, 90, 150, 179.9999, 180])
@pytest.mark.parametrize("kind", ["prismatic", "revolute", "planar"])
def test_axes_point_the_same_way_in_the_end(kind, degrees):
    """Rows of joints do not know an axis from its opposite, nor a slider's three axes in turn."""
    angle = np.radians(degrees)
    axis = np.array([0.6 * np.sin(angle), 0.8 * np.sin(angle), np.cos(angle)])
    m = taut.Mechanism()
    m.body("b", mass=1, inertia=(0.3, 0.2, 0.4), at=(0, 0, 0), angular_velocity=(0, 0, 3))
    m.body("c", mass=1, inertia=(0.3, 0.2, 0.4), at=(1, 0, 0))  # goes with b as it stands
    m.fixed("weld", "b", "c", at=(0.5, 0, 0))
    word = "normal" if kind == "planar" else "axis"
    places = (0, 0, 0), (0, 0, 0)
    getattr(m, kind)("joint", m.ground, "b", at=places, **{word: ((0, 0, 1), axis)})
    frame = np.column_stack([m.joints["joint"].other[x] for x in "uwe"])
    np.testing.assert_allclose(frame.T @ frame, np.eye(3), atol=1e-14)
    assert np.linalg.det(frame) == pytest.approx(1)
    found = m.assemble()
    np.testing.assert_allclose(found["b"].rotation @ axis, (0, 0, 1), atol=1e-9)
    np.testing.assert_allclose(found["c"].rotation, found["b"].rotation, atol=1e-9)
    run = taut.simulate(m, project=True, duration=0.01, step=0.01, laws=None)
    np.testing.assert_allclose(run["b"].rotation[0] @ axis, (0, 0, 1), atol=1e-9)


def test_what_turns_about_its_axis_in_space_still_does_when_it_was_askew():
    for counted in (False, True):
        m = taut.Mechanism()
        m.body("b", mass=1, inertia=(0.3, 0.2, 0.4), at=(0, 0, 0), angular_velocity=(0, 0, 3))
        axes = (0, 0, 1), (0.8, 0, 0.6)
        m.revolute("hinge", m.ground, "b", at=((0, 0, 0), (0, 0, 0)), axis=axes)
        if counted:
            m.angle("hinge")
        assert float(m.assemble()["hinge"].rate) == pytest.approx(3, rel=1e-12)


def test_axes_that_meet_the_wrong_way_round_are_named():
    m = taut.Mechanism()
    m.body("b", mass=1, inertia=(0.3, 0.2, 0.4), at=(0, 0, 0))
    for name, z, sign in (("one", 0, 1), ("two", 1, -1)):
        axes = (0, 0, 1), (0, 0, sign)
        m.revolute(name, m.ground, "b", at=((0, 0, z), (0, 0, z)), axis=axes)
    with pytest.raises(taut.ConstraintError, match=r"revolute joint two meet the wrong way round"):
        m.assemble()


def test_steps_of_springs_in_hinges_that_are_askew():
    steps = []
    for askew in (False, True):
        m = taut.Mechanism()
        turned = taut.rotation((0, np.radians(60), 0), "xyz") if askew else np.eye(3)
        m.body("b", mass=1, inertia=(1, 1, 0.01), at=(0, 0, 0), rotation=turned)
        axis = ((0, 0, 1), turned @ (0, 0, 1)) if askew else (0, 0, 1)
        m.revolute("hinge", m.ground, "b", at=(0, 0, 0), axis=axis)
        m.torsion("hinge", stiffness=100)
        steps.append(m.stable_step())
    assert steps[0] == pytest.approx(0.02)
    assert steps[1] == pytest.approx(steps[0], rel=1e-9)


def test_what_was_moved_has_a_centre():
    m = taut.Mechanism()
    m.body("wheel", mass=1, inertia=(0.3, 0.2, 0.4), at=(0, 0, 0), angular_velocity=(0, 0, 1))
    m.revolute("hinge", m.ground, "wheel", at=(0, 0, 0), axis=(0, 0, 1))
    m.angle("hinge")
    found = m.assemble()
    assert list(found.moved) == ["wheel"]
    assert ("moved most", "nothing") in found.rows()


def test_axes_of_universal_joints_are_checked():
    m = taut.Mechanism()
    m.body("b", mass=1, inertia=(0.3, 0.2, 0.4), at=(0, 0, 0))
    with pytest.raises(taut.ModelError, match="not at right angles") as caught:
        m.universal(m.ground, "b", at=(0, 0, 0), axes=((1, 0, 0), (1, 1, 0)))
    assert "place on the first" in str(caught.value)
    with pytest.raises(taut.ModelError, match="cannot be read"):
        m.universal(m.ground, "b", at=(0, 0, 0), axes=((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    with pytest.raises(taut.ModelError, match="cannot be read"):
        m.universal(m.ground, "b", at=(0, 0, 0), axes=(1, 0, 0))
    with pytest.raises(taut.ModelError, match="not at right angles"):
        m.universal(m.ground, "b", at=((0, 0, 0), (1, 0, 0)), axes=((1, 0, 0), (2, 0, 0)))
    with pytest.raises(taut.InputError, match="axis of hinge"):
        m.revolute("hinge", m.ground, "b", at=(0, 0, 0), axis=((1, 0, 0), (0, 1)))


@pytest.mark.parametrize(
    ("power", "sign", "stable"), [(4, -1, False), (4, 1, True), (6, -1, False), (3, 1, False)]
)
def test_without_stiffness_the_energy_decides(power, sign, stable):
    m = taut.Mechanism()
    m.point("a", mass=1, at=(0, 0, 0))
    m.on_curve("a", sp.symbols("y z", real=True))
    m.potential(sign * sp.Symbol("x_a", real=True) ** power)
    assert m.equilibrium(stable=False).stable is stable


@pytest.mark.parametrize("away", [0.0, 1e3])
def test_a_triangle_of_springs_that_flies_freely_is_stable(away):
    """Across springs without tension stiffness is a difference of large numbers, and round-off."""
    m = taut.Mechanism()
    for name, x, y in (("a", 0, 0), ("b", 1, 0), ("c", 0.5, 0.8)):
        m.point(name, mass=1, at=(away + x, y, 0))
    m.spring("a", "b", stiffness=3)
    m.spring("b", "c", stiffness=30, length=1.0)
    m.spring("a", "c", stiffness=7, length=0.7)
    assert m.equilibrium().stable is not False
