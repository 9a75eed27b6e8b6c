"""Beams that are joined: one beam made of two, elbows, stars, rings, and what is refused."""

from itertools import pairwise

import numpy as np
import pytest
import sympy as sp

import taut
from taut.errors import InputError
from taut.lie import SE3, SO3

t, s = taut.t, taut.s
SOFT = {"section": taut.Square(0.05), "density": 1000, "young": 1e7, "poisson": 0.3, "nodes": 6}
schemes = pytest.mark.parametrize("method", ["poisson", "hamel", "variational"])


def soft(length=0.5, **options):
    return taut.Beam(length, **{**SOFT, **options})


def poses(run, row):
    found = np.zeros((run.positions.shape[1], 4, 4))
    found[:, :3, :3], found[:, :3, 3], found[:, 3, 3] = run.frames[row], run.positions[row], 1
    return found


# ---- one beam made of two ----------------------------------------------------------------------


def halves(first=None, second=None, flip=False, **options):
    """A beam of length 1 in two parts; `flip` lets the second run from the tip to the middle."""
    one = soft(**options, **(first or {}))
    if flip:
        two = soft(**options, at=(0, 1, 0), frame=np.diag([-1, -1, 1]), **(second or {}))
    else:
        two = soft(**options, at=(0, 0.5, 0), **(second or {}))
    return taut.Beams([one, two])


def wave(beam):
    """Strains and velocities of a beam of length 1, smooth and in all directions."""
    x, y = beam.places, beam.middles
    v0, strain = np.zeros((beam.nodes, 6)), np.zeros((beam.nodes - 1, 6))
    v0[:, 3], v0[:, 0], v0[:, 4], v0[:, 1] = np.sin(4 * x), np.cos(5 * x), 0.1 * x, 0.3
    strain[:, 2], strain[:, 0], strain[:, 4] = 0.5 * np.sin(5 * y), 0.3, 0.01 * y
    return strain, v0


@schemes
def test_two_beams_in_a_line_are_one(method):
    whole = taut.Beam(1, **{**SOFT, "nodes": 11})
    strain, v0 = wave(whole)
    settings = {"duration": 0.1, "step": 1e-4, "method": method, "every": 20}
    one = taut.simulate(whole, strain0=strain, v0=v0, **settings)
    parts = {
        "strain0": np.vstack([strain[:5], np.zeros((1, 6)), strain[5:]]),
        "v0": np.vstack([v0[:6], v0[5:]]),
    }
    two = taut.simulate(halves(), **parts, **settings)
    both = np.r_[0:6, 5:11]
    np.testing.assert_allclose(two.positions, one.positions[:, both], rtol=0, atol=1e-12)
    np.testing.assert_allclose(two.frames, one.frames[:, both], rtol=0, atol=1e-12)
    np.testing.assert_allclose(two.velocity, one.velocity[:, both], rtol=0, atol=1e-10)
    np.testing.assert_allclose(two.energy, one.energy, rtol=0, atol=1e-12)
    np.testing.assert_allclose(two.spatial_momentum, one.spatial_momentum, rtol=0, atol=1e-12)
    assert two.limit == pytest.approx(one.limit, rel=2e-3)
    # The momenta of all nodes as they are, or as a run shows them, are the same start.
    inertia = whole.inertia[0]
    del parts["v0"]
    for momentum in (np.vstack([v0[:6], v0[5:]]) @ inertia, two.momentum[0]):
        again = taut.simulate(halves(), momentum0=momentum, **parts, **settings)
        np.testing.assert_allclose(again.positions, two.positions, rtol=0, atol=1e-12)


@schemes
def test_the_second_may_run_the_other_way(method):
    """Tip to tip: the same motion."""
    settings = {"duration": 0.1, "step": 1e-4, "method": method, "every": 20}
    push = {"force": (1, 0.5, 3 * t), "moment": (0.1, 0, 0)}
    one = halves()
    one.beams[1].load(at="tip", **push)
    two = halves(flip=True)
    two.beams[1].load(at="root", **push)
    a, b = (taut.simulate(x, **settings) for x in (one, two))
    back = np.r_[0:6, 11:5:-1]
    np.testing.assert_allclose(b.positions, a.positions[:, back], rtol=0, atol=1e-12)


def test_loads_and_bodies_where_beams_meet():
    """On the leader or on the follower, dead or following, steady or not, with gravity."""
    fall = {"gravity": (1, 2, -9.81)}
    whole = taut.Beam(1, **{**SOFT, "nodes": 11}, **fall)
    whole.load(at=0.5, force=(1, 0, t), moment=(0, 0.1, 0)).load(
        at=0.5, force=(0, 2, t), follower=True
    )
    whole.body(at=0.5, mass=1, offset=(0.02, 0, 0.01), inertia=(0.01,) * 3)
    settings = {"duration": 0.1, "step": 1e-4, "every": 20}
    one = taut.simulate(whole, **settings)
    for beam, place in ((0, "tip"), (1, "root")):
        two = halves(**fall)
        two.beams[beam].load(at=place, force=(1, 0, t), moment=(0, 0.1, 0))
        two.beams[beam].load(at=place, force=(0, 2, t), follower=True)
        two.beams[beam].body(at=place, mass=1, offset=(0.02, 0, 0.01), inertia=(0.01,) * 3)
        run = taut.simulate(two, **settings)
        np.testing.assert_allclose(
            run.positions, one.positions[:, np.r_[0:6, 5:11]], rtol=0, atol=1e-12
        )


def test_loads_and_bodies_of_a_follower_that_is_turned():
    """Its local frame is not the leader's."""
    settings = {"duration": 0.1, "step": 1e-4, "every": 20}
    one, two = halves(), halves(flip=True)
    body = {"mass": 1, "inertia": (0.01, 0.02, 0.03)}
    one.beams[1].load(at="root", force=(1, 2, 3 * t), follower=True).body(
        at="root", offset=(0.01, 0.02, 0), **body
    )
    two.beams[1].load(at="tip", force=(-1, -2, 3 * t), follower=True).body(
        at="tip", offset=(-0.01, -0.02, 0), **body
    )
    a, b = (taut.simulate(x, **settings) for x in (one, two))
    np.testing.assert_allclose(b.positions, a.positions[:, np.r_[0:6, 11:5:-1]], rtol=0, atol=1e-12)
    assert np.abs(a.positions[-1] - a.positions[0]).max() > 1e-3


@pytest.mark.parametrize(
    "force", [(1 + s, 0, 2), ((1 + s) * t, 0, 2 * t)], ids=["steady", "varying"]
)
def test_distributed_loads_reach_over_joints(force):
    whole = taut.Beam(1, **{**SOFT, "nodes": 11}).load(at="all", force=force)
    two = halves()
    two.beams[0].load(at="all", force=force)
    two.beams[1].load(at="all", force=[sp.sympify(x).subs(s, s + sp.Rational(1, 2)) for x in force])
    settings = {"duration": 0.1, "step": 1e-4, "every": 20}
    a, b = (taut.simulate(x, **settings) for x in (whole, two))
    np.testing.assert_allclose(b.positions, a.positions[:, np.r_[0:6, 5:11]], rtol=0, atol=1e-12)


@pytest.mark.parametrize("follower", [False, True], ids=["dead", "follower"])
@pytest.mark.parametrize("force", [(1, 0, 2), (t, 0, 2 * t)], ids=["steady", "varying"])
def test_distributed_loads_act_once_on_a_joint(force, follower):
    """Also where all nodes are solved for together: energy is work, and the order is 2."""
    slow = {"inertia": [0.02] * 3 + [1] * 3, "stiffness": [2] * 3 + [100] * 3, "nodes": 3}
    pair = taut.Beams([taut.Beam(1, **slow), taut.Beam(1, at=(0, 1, 0), frame=(1, 0, 0), **slow)])
    pair.beams[1].load(at="all", force=force, follower=follower)
    settings = {"duration": 1, "method": "implicit", "every": 1000}
    runs = [taut.simulate(pair, step=step, **settings) for step in (5e-3, 2.5e-3, 1.25e-3)]
    for run in runs:
        assert run.certificate.energy.band < 1e-11 * run.certificate.gross_work
    first, second = (np.abs(a.positions - b.positions)[-1].max() for a, b in pairwise(runs))
    assert first / second == pytest.approx(4, abs=0.6)


def test_a_load_of_one_beam_acts_on_no_other():
    two = halves()
    two.beams[0].load(at="all", force=(1, 0, 0))
    run = taut.simulate(two, duration=0.01, step=1e-4, method="variational")
    np.testing.assert_allclose(run.linear_momentum[-1], [0.5 * 0.01, 0, 0], rtol=0, atol=1e-15)


def test_parts_of_different_length_and_matter():
    """Nothing is lost at a joint: momenta, and the energy at second order."""
    bands = []
    thick = soft(0.3, section=taut.Circle(0.04), nodes=4, at=(0, 0, 0))
    thin = soft(
        0.6,
        section=taut.Rectangle(0.02, 0.03),
        nodes=9,
        at=(0, 0.3, 0),
        frame=(0, 1, 1),
        curvature=(1, 0, 2),
    )
    pair = taut.Beams([thick, thin])
    strain = np.zeros((12, 6))
    strain[:, 0], strain[3] = 0.5, 0
    for step in (1e-4, 5e-5):
        run = taut.simulate(pair, strain0=strain, duration=0.2, step=step, method="variational")
        assert run.certificate.momenta["linear"] < 1e-13
        assert run.certificate.momenta["angular"] < 1e-13
        bands.append(run.certificate.energy.band)
    assert bands[0] / bands[1] == pytest.approx(4, abs=0.3)
    assert bands[0] < 0.01 * run.energy[0]


# ---- elbows, stars, rings ----------------------------------------------------------------------


def elbow():
    return taut.Beams([soft(), soft(at=(0, 0.5, 0), frame=(1, 0, 0))])


def star(**options):
    """Three beams from one place, the middle one the other way round."""
    return taut.Beams(
        [
            soft(at=(0, 0.5, 0), frame=(0, -1, 0), **options),
            soft(at=(-0.5, 0, 0), frame=(1, 0, 0)),
            soft(at=(0, 0, 0), frame=(0, 0.6, 0.8)),
        ],
    )


def kicked(model, rng):
    """Random momenta, one velocity where beams meet."""
    momentum = 0.3 * rng.normal(size=(model.mesh().nodes, 6)) * [0.01, 0.01, 0.01, 1, 1, 1]
    return {"momentum0": momentum}


@schemes
@pytest.mark.parametrize("make", [elbow, star], ids=["elbow", "star"])
def test_beams_that_meet_stay_together(rng, method, make):
    model = make()
    run = taut.simulate(
        model, **kicked(model, rng), duration=0.2, step=1e-4, method=method, every=20
    )
    joints = run.mesh.joints
    assert len(joints) == len(model.beams) - 1
    assert len({joint.leader for joint in joints}) == 1
    for joint in joints:
        a, b = joint.leader, joint.follower
        assert np.abs(run.positions[:, a] - run.positions[:, b]).max() < 1e-12
        turned = np.swapaxes(run.frames[:, a], 1, 2) @ run.frames[:, b]
        assert np.abs(turned - turned[0]).max() < 1e-12
        assert np.array_equal(run.momentum[:, b], np.zeros((len(run), 6)))
        back = SE3.adjoint(SE3.inverse(joint.motion))
        wanted = run.velocity[:, a] @ back.T
        np.testing.assert_allclose(run.velocity[:, b], wanted, rtol=0, atol=1e-14)
    changes = run.certificate.momenta
    exact = 1e-13 if method == "variational" else 2e-2
    assert changes["linear"] < exact
    assert changes["angular"] < exact
    assert np.abs(run.positions[-1] - run.positions[0]).max() > 0.01


@schemes
def test_a_star_may_be_held_at_any_of_its_beams(method):
    """The same node is held, however it is said."""
    found = []
    for held in range(3):
        model = star()
        ends = ["free", "free"]
        ends[0 if held == 2 else 1] = taut.End("hinged", axis=(0, 0, 1))
        beams = list(model.beams)
        old = beams[held]
        beams[held] = soft(at=old.at, frame=old.frame, ends=tuple(ends))
        beams[1].load(at="root", force=(1, 2, 3))
        run = taut.simulate(taut.Beams(beams), duration=0.1, step=1e-4, method=method, every=20)
        node = run.mesh.joints[0].leader
        assert np.abs(run.positions[:, node]).max() < 1e-13
        found.append(run.positions)
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[2], found[0], rtol=0, atol=1e-12)


def test_a_clamp_where_beams_meet():
    """Two arms of one clamp do not feel each other."""
    push = {"force": (0, 0, 2), "moment": (0.1, 0, 0)}
    alone = soft(ends=("clamped", "free")).load(**push)
    other = soft(frame=(1, 0, 0)).load(force=(0, 1, 0))
    one = taut.simulate(alone, duration=0.1, step=1e-4)
    two = taut.simulate(taut.Beams([alone, other]), duration=0.1, step=1e-4)
    three = taut.simulate(taut.Beams([other, alone]), duration=0.1, step=1e-4)
    np.testing.assert_allclose(two.positions[:, :6], one.positions, rtol=0, atol=1e-13)
    np.testing.assert_allclose(three.positions[:, 6:], one.positions, rtol=0, atol=1e-13)
    assert np.abs(two.positions[-1, 6:] - two.positions[0, 6:]).max() > 1e-4


def test_a_roller_and_a_moved_end_where_beams_meet():
    moved = taut.End("clamped", position=(0, 0, 0.1 * t), rotation=(0, t, 0))
    pair = taut.Beams([soft(), soft(at=(0, 0.5, 0), frame=(1, 0, 0), ends=(moved, "roller"))])
    run = taut.simulate(pair, duration=0.2, step=1e-4, every=100)
    for node in (5, 6):
        wanted = [[0, 0.5, 0.1 * x] for x in run.t]
        np.testing.assert_allclose(run.positions[:, node], wanted, rtol=0, atol=1e-13)
    turned = SO3.exp([[0, x, 0] for x in run.t])
    np.testing.assert_allclose(run.frames[:, 5], turned @ run.frames[0, 5], rtol=0, atol=1e-12)
    assert np.abs(run.positions[:, -1, 1:] - run.positions[0, -1, 1:]).max() < 1e-12
    roller = taut.Beams(
        [
            soft(ends=("pinned", "free")),
            soft(at=(0, 0.5, 0), frame=(1, 0, 0), ends=("roller", "free")),
        ]
    )
    roller.beams[1].load(force=(0, 0, 1))
    run = taut.simulate(roller, duration=0.2, step=1e-4, every=100)
    assert np.abs(run.positions[:, 5, 1:] - [0.5, 0]).max() < 1e-12  # along the second beam
    assert np.abs(run.positions[:, 5] - run.positions[:, 6]).max() < 1e-13


@schemes
def test_a_roller_where_beams_meet_at_any_angle(method):
    """The mass there is even, but for round-off of the angle."""
    first = soft(ends=("clamped", "free"), gravity=(0, 0, -9.81))
    rolling = (taut.End("roller", axis=(0, 1, 0)), "free")
    pair = taut.Beams([first, soft(at=(0, 0.5, 0), frame=(1, 0.2, -0.3), ends=rolling)])
    run = taut.simulate(pair, duration=0.1, step=1e-4, method=method, every=100)
    assert np.abs(run.positions[:, 5, [0, 2]]).max() < 1e-12
    assert np.abs(run.positions[-1, -1] - run.positions[0, -1]).max() > 1e-3


def ring(nodes=25):
    return taut.Beams([soft(1, nodes=nodes, curvature=(0, 0, -2 * np.pi), at=(0.5, 0, 0))])


@schemes
def test_a_beam_may_close_in_itself(method):
    """A ring that spins about its axis: it stays round, and as one piece."""
    model = ring()
    assert repr(model) == "Beams(1 beams, 25 nodes, 1 joint)"
    spin, radius = 3.0, 0.5 / np.pi
    v0 = np.zeros((25, 6))
    v0[:, 2], v0[:, 4] = -spin, spin * radius
    run = taut.simulate(model, v0=v0, duration=0.5, method=method, every=10)
    centre = run.positions[:, :-1].mean(axis=1)
    assert np.abs(centre - centre[0]).max() < 1e-4
    assert np.abs(run.positions[:, 0] - run.positions[:, -1]).max() < 1e-12
    size = np.linalg.norm(run.positions - centre[:, None], axis=2)
    assert np.ptp(size, axis=1).max() < 1e-4  # round
    assert np.abs(size - radius).max() < 3e-3  # and a little wider at times


def test_vibrations_of_a_ring():
    """In its plane ω² = n²(n² − 1)²/(n² + 1) EI/(ρA R⁴), if it is thin (Love 1927)."""
    model, radius = ring(49), 0.5 / np.pi
    beam = model.beams[0]
    slim = taut.Beam(
        1, taut.Square(0.004), density=1000, young=1e7, poisson=0.3, nodes=49,
        curvature=(0, 0, -2 * np.pi), at=(0.5, 0, 0),
    )  # fmt: skip
    angle = 2 * np.pi * beam.places
    v0 = np.zeros((49, 6))
    v0[:, 3], v0[:, 4] = 1e-4 * np.cos(2 * angle), -0.5e-4 * np.sin(2 * angle)
    i, area = 0.004**4 / 12, 0.004**2
    omega = np.sqrt(4 * 9 / 5 * 1e7 * i / (1000 * area * radius**4))
    run = taut.simulate(
        taut.Beams([slim]), v0=v0, project=True, duration=6 * 2 * np.pi / omega, every=20
    )
    signal = run.positions[:, 0, 0] - run.positions[:, 24, 0]
    signal = signal - signal.mean()
    crossings = np.flatnonzero(signal[1:] * signal[:-1] < 0)
    found = np.pi * (len(crossings) - 1) / (run.t[crossings[-1]] - run.t[crossings[0]])
    assert found == pytest.approx(omega, rel=0.02)


# ---- which ends are joined ---------------------------------------------------------------------


def test_ends_at_one_place_are_joined_unless_others_are_named():
    beams = [soft(), soft(at=(0, 0.5, 0), frame=(1, 0, 0)), soft(at=(0, 0.5, 0), frame=(0, 0, 1))]
    assert len(taut.Beams(beams).mesh().joints) == 2
    named = taut.Beams(beams, joints=[((0, "tip"), (2, "root"))]).mesh().joints
    assert [(j.leader, j.follower) for j in named] == [(5, 12)]
    assert taut.Beams(beams, joints=[]).mesh().joints == ()
    last = taut.Beams(beams, joints=[((-3, 0.5), (-1, 0))]).mesh().joints
    assert [(j.leader, j.follower) for j in last] == [(5, 12)]


def test_beams_apart_do_not_feel_each_other():
    one = soft().load(force=(1, 0, 0))
    two = soft(at=(5, 0, 0))
    run = taut.simulate(taut.Beams([one, two]), duration=0.1, step=1e-4)
    alone = taut.simulate(one, duration=0.1, step=1e-4)
    assert np.abs(run.positions[:, 6:] - run.positions[0, 6:]).max() < 1e-14
    np.testing.assert_allclose(run.positions[:, :6], alone.positions, rtol=0, atol=1e-14)


def test_gravity_of_one_is_gravity_of_all():
    run = taut.simulate(taut.Beams([soft(gravity=(0, 0, -1)), soft(at=(3, 0, 0))]), duration=0.1)
    fall = run.positions[-1, :, 2] - run.positions[0, :, 2]
    np.testing.assert_allclose(fall, -0.005, rtol=0, atol=1e-12)


def test_a_strain_moves_all_beams_that_are_joined():
    model = elbow()
    strain = np.zeros((11, 6))
    strain[:5, 0] = 1.0  # the first bends about axis 1, the second follows
    run = taut.simulate(model, strain0=strain, duration=1e-3)
    start = poses(run, 0)
    np.testing.assert_allclose(
        start[6], start[5] @ model.mesh().joints[0].motion, rtol=0, atol=1e-14
    )
    straight = np.linalg.norm(start[11, :3, 3] - start[6, :3, 3])
    assert straight == pytest.approx(0.5)
    assert start[11, 2, 3] > 0.1


def test_a_strain_is_handed_on_from_beam_to_beam_in_any_order():
    """Three in a line, the last one named second and running the other way."""
    turn = np.diag([-1.0, -1.0, 1.0])
    first, last, middle = soft(), soft(at=(0, 1.5, 0), frame=turn), soft(at=(0, 0.5, 0))
    model = taut.Beams([first, last, middle])
    whole = soft(1.5, nodes=16)
    strain = np.zeros((15, 6))
    strain[:, 0], strain[:, 2] = np.linspace(0.5, 1.5, 15), 0.7
    parts = np.zeros((17, 6))
    parts[:5], parts[12:] = strain[:5], strain[5:10]
    # seen from the other side curvatures have the other sense, and local axes 1 and 2 are turned
    parts[6:11] = strain[:9:-1] * [1, 1, -1, 1, 1, 1]
    run = taut.simulate(model, strain0=parts, duration=1e-5)
    one = taut.simulate(whole, strain0=strain, duration=1e-5)
    wanted = one.positions[0]
    np.testing.assert_allclose(run.positions[0, :6], wanted[:6], rtol=0, atol=1e-13)
    np.testing.assert_allclose(run.positions[0, 12:], wanted[5:11], rtol=0, atol=1e-13)
    np.testing.assert_allclose(run.positions[0, 6:12], wanted[:9:-1], rtol=0, atol=1e-13)


def test_a_ring_that_a_strain_would_open():
    with pytest.raises(InputError, match="the beams do not meet with this strain"):
        taut.simulate(ring(), strain0=[0, 0, 0.5, 0, 0, 0], duration=0.1)


# ---- what is refused ---------------------------------------------------------------------------

PAIR = ((0, "tip"), (1, "root"))


@pytest.mark.parametrize(
    ("joints", "message"),
    [
        ([((0, "root"), (1, "root"))], "beams that are joined do not meet"),
        ([((0, "tip"), (1, "tip"))], "beams that are joined do not meet"),
        ([((0, 0.2), (1, "root"))], "beams are joined at their ends"),
        ([((0, "middle"), (1, "root"))], "there is no such place on a beam"),
        ([((0, "tip"), (2, "root"))], "a joint cannot be read"),
        ([((0, "tip"), (-3, "root"))], "a joint cannot be read"),
        ([((0.5, "tip"), (1, "root"))], "a joint cannot be read"),
        ([(0, 1)], "a joint cannot be read"),
        ([((0, "tip"), (1, "root"), (1, "tip"))], "a joint cannot be read"),
        (PAIR, "a joint cannot be read"),
        ([((0, "tip"), (0, "tip"))], "an end is joined to itself"),
        (3, "the joints cannot be read"),
    ],
)
def test_joints_that_cannot_be(joints, message):
    with pytest.raises(InputError, match=message):
        taut.Beams([soft(), soft(at=(0, 0.5, 0))], joints=joints)


def test_a_gap_is_named():
    with pytest.raises(InputError, match=r"(?s)beam 0, s = 0\.5 \(node 5\).*a gap of 0\.001"):
        taut.Beams([soft(), soft(at=(0, 0.501, 0))], joints=[PAIR])
    assert taut.Beams([soft(), soft(at=(0, 0.5 + 1e-12, 0))], joints=[PAIR])


def test_joints_that_are_held_twice():
    one, two = soft(ends=("free", "clamped")), soft(at=(0, 0.5, 0), ends=("pinned", "free"))
    with pytest.raises(InputError, match="a joint is held twice"):
        taut.Beams([one, two])
    three = soft(at=(0, 0.5, 0), frame=(0, 0, 1), ends=("clamped", "free"))
    with pytest.raises(InputError, match="a joint is held twice"):
        taut.Beams([soft(), two, three])


def test_beams_that_move_apart_at_the_start():
    v0 = np.zeros((12, 6))
    v0[:6, 3] = 1.0
    with pytest.raises(
        InputError, match="beams that are joined move apart at the start: beam 1, s = 0"
    ):
        taut.simulate(elbow(), v0=v0, duration=0.1)
    run = taut.simulate(elbow(), v0=v0, duration=1e-3, project=True)
    np.testing.assert_allclose(run.velocity[0, 6], [0, 0, 0, 0, 1, 0], rtol=0, atol=1e-15)


def test_beams_that_cannot_be_together():
    for given in (3, None, soft()):
        with pytest.raises(InputError, match="the beams cannot be read"):
            taut.Beams(given)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="there are no beams"):
        taut.Beams([])
    with pytest.raises(InputError, match="that is no beam"):
        taut.Beams([soft(), "beam"])  # type: ignore[list-item]
    with pytest.raises(InputError, match="the beams have different gravity"):
        taut.Beams([soft(gravity=(0, 0, 1)), soft(gravity=(0, 0, 2))])


@pytest.mark.parametrize("at", [(0, 0, 1.0001), (0.001, 0, 0.5), (0, 0, 0.52)])
def test_beams_that_were_meant_to_meet(at):
    """An end just beside another beam, or on it but not at its end, is not left floating."""
    stuff = {"section": taut.Square(0.05), "density": 1e3, "young": 1e7, "poisson": 0.3}
    post = taut.Beam(1, frame=(0, 0, 1), nodes=11, ends=("clamped", "free"), **stuff)
    arm = taut.Beam(1, at=at, frame=(1, 0, 0), nodes=11, **stuff)
    with pytest.raises(InputError, match=r"near another beam(.*\n)*.*beam 0(.*\n)*.*joints="):
        taut.Beams([post, arm])
    assert not taut.Beams([post, arm], joints=[]).mesh().joints
    apart = taut.Beam(1, at=(0.2, 0, 0.5), frame=(1, 0, 0), nodes=11, **stuff)
    assert not taut.Beams([post, apart]).mesh().joints


def test_the_same_beam_twice():
    beam = taut.Beam(1, taut.Square(0.05), density=1e3, young=1e7, poisson=0.3, nodes=5)
    with pytest.raises(InputError, match="a beam is there twice"):
        taut.Beams([beam, beam])
