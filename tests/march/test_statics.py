"""Equilibria: wrenches and tangents, holds, joints, loads, paths, and what is refused."""

from dataclasses import replace
from itertools import pairwise

import casadi as ca
import mpmath
import numpy as np
import pytest

import taut
from taut.lie import SE3, SO3
from taut.march.freedoms import freedoms_of
from taut.march.statics.applied import applied_at, nothing
from taut.march.statics.balance import Balance
from taut.march.statics.graded import Graded
from taut.march.statics.newton import Newton
from taut.march.statics.rigid import unloaded, unstoppable

EI, GJ, EA, GA, L = 2.0, 1.5, 4e4, 1e4, 2.0
PHI = 12 * EI / (GA * L**2)
X = {"frame": (1, 0, 0)}  # along the first axis of space; its local axis 3 is that of space


def straight(nodes=21, ends=("clamped", "free"), **more) -> taut.Beam:
    more = {"inertia": [0.01, 0.02, 0.01, 1, 1, 1], "stiffness": [EI, GJ, EI, GA, EA, GA]} | more
    return taut.Beam(L, nodes=nodes, ends=ends, **(X | more))


def rich(rng) -> taut.Beams:
    """Two bent beams with full stiffness, a roller, bodies, gravity and all kinds of loads."""
    a = rng.standard_normal((6, 6))
    made = {
        "inertia": np.diag([1, 2, 3, 4, 4, 4.0]), "stiffness": a @ a.T + np.eye(6), "nodes": 4,
        "curvature": (0.3, 0.2, 0.5), "gravity": (1, 2, 3),
    }  # fmt: skip
    first = taut.Beam(1.0, **made, ends=("roller", "free"))
    end = first.mesh().pose[-1, :3, 3]
    second = taut.Beam(1.5, **made, at=end, frame=(1, 2, 0))
    first.load(at="all", force=(taut.s, 1, taut.t), moment=(1, 0, taut.s**2))
    second.load(force=(1, 2, 3), moment=(2, 1, 3)).load(at="root", moment=(1, 1, 1), follower=True)
    second.load(at="all", force=(0, 1, 2), follower=True).body(mass=2, offset=(0.1, 0.2, 0.3))
    return taut.Beams([first, second])


def moved(mesh, pose, eta):
    """Poses moved by η; a roller along its line, followers with their leaders."""
    found = pose @ SE3.cay_ad(eta)
    for hold in mesh.holds:
        frame = pose[hold.node, :3, :3]
        found[hold.node, :3, :3] = frame @ SO3.cay(eta[hold.node, :3])
        found[hold.node, :3, 3] = pose[hold.node, :3, 3] + frame @ eta[hold.node, 3:]
    for joint in mesh.joints:
        found[joint.follower] = found[joint.leader] @ joint.motion
    return found


# ---- wrenches and tangents -------------------------------------------------------------------


def test_the_tangent_is_the_derivative_of_the_wrenches(rng):
    mesh = rich(rng).mesh()
    balance, applied = Balance(mesh), applied_at(mesh, 0.5)
    pose = moved(mesh, mesh.pose, 0.3 * rng.standard_normal((mesh.nodes, 6)))
    freedoms = freedoms_of(mesh, pose)

    def residual(z):
        there = moved(mesh, pose, freedoms.nodal(z))
        force = balance.force(balance.at(there), applied).total
        return freedoms_of(mesh, there).reduced(force)

    exact = balance.tangent(balance.at(pose), applied, freedoms).toarray()
    small = 1e-5 * np.eye(freedoms.count)
    measured = np.array([(residual(-e) - residual(e)) / 2e-5 for e in small]).T
    assert np.abs(exact - measured).max() < 1e-8 * np.abs(exact).max()


def test_edges_agree_with_casadi():
    """The wrenches are minus the gradient of the energy of an edge, and K its second derivative."""
    rng = np.random.default_rng(3)
    a = rng.standard_normal((6, 6))
    beam = taut.Beam(0.7, inertia=np.ones(6), stiffness=a @ a.T, nodes=2, curvature=(0.4, 1, -0.5))
    mesh = beam.mesh()
    balance = Balance(mesh)
    pose = mesh.pose @ SE3.cay_ad(0.5 * rng.standard_normal((2, 6)))

    def cay(x):
        k, v = x[:3], x[3:]
        hat = ca.skew(k)
        turn = ca.SX.eye(3) + (hat + hat @ hat / 2) / (1 + ca.dot(k, k) / 4)
        return turn, (v + ca.cross(k, v) / 2) / (1 + ca.dot(k, k) / 4)

    eta = ca.SX.sym("eta", 12)
    frames = []
    for j in range(2):
        turn, shift = cay(eta[6 * j : 6 * j + 6])
        frames.append(
            (ca.DM(pose[j, :3, :3]) @ turn, pose[j, :3, 3] + ca.DM(pose[j, :3, :3]) @ shift)
        )
    (r0, x0), (r1, x1) = frames
    q, d = r0.T @ r1, r0.T @ (x1 - x0)
    k = 2 * ca.vertcat(q[2, 1] - q[1, 2], q[0, 2] - q[2, 0], q[1, 0] - q[0, 1]) / (1 + ca.trace(q))
    v = d - ca.cross(k, d) / 2 + k * ca.dot(k, d) / 4
    ds = mesh.spacing[0]
    gamma = ca.vertcat(k, v) / ds - mesh.reference[0]
    energy = ds / 2 * ca.dot(gamma, ca.DM(mesh.stiffness[0]) @ gamma)
    slope = ca.gradient(energy, eta)
    f = ca.Function("f", [eta], [energy, slope, ca.jacobian(slope, eta)])
    value, gradient, hessian = (np.array(x) for x in f(np.zeros(12)))

    state = balance.at(pose)
    force = balance.force(state, nothing(mesh)).total
    assert balance.energy(state.turns) == pytest.approx(value.item(), rel=1e-13)
    np.testing.assert_allclose(force.ravel(), -gradient.ravel(), rtol=1e-12, atol=1e-12)
    # K is not symmetric off equilibrium: the Hessian along cay is its symmetric part.
    tangent = balance.edge_tangent(state)[0]
    np.testing.assert_allclose((tangent + tangent.T) / 2, hessian, rtol=1e-11, atol=1e-11)


def test_the_tangent_is_symmetric_at_rest_unless_loads_have_no_potential():
    def asymmetry(beam):
        rest = taut.equilibrium(beam)
        k = rest.balance.tangent(rest.state, rest.applied, rest.freedoms).toarray()
        return rest.conservative, np.abs(k - k.T).max() / np.abs(k).max()

    hung = straight(ends=("hinged", "roller"), gravity=(0, -3, 0)).load(at=1.0, force=(0, 2, 0))
    hung.body(at=0.5, mass=0.3, offset=(0.2, 0.1, 0.0))
    potential, size = asymmetry(hung)
    assert potential
    assert size < 1e-14
    for load in ({"moment": (1, 0, 2)}, {"force": (1, 0, 0), "follower": True}):
        potential, size = asymmetry(straight().load(**load))
        assert not potential
        assert size > 1e-9


def test_reactions_balance_everything(rng):
    beam = straight(nodes=11, ends=("clamped", "pinned"), gravity=(0, 0, -2)).body(at=0.6, mass=1.5)
    beam.load(at=1.2, force=(1, 2, 3), moment=(1, 0, 1)).load(at="all", force=(0, taut.s, 0))
    beam.load(at=0.4, force=(1, 1, 0), follower=True)
    rest = taut.equilibrium(beam)
    mesh, x, frames = rest.mesh, rest.positions, rest.frames
    force, moment = np.zeros(3), np.zeros(3)

    def act(node, f, m=(0, 0, 0)):
        nonlocal force, moment
        force = force + f
        moment = moment + m + np.cross(x[node], f)

    for node, wrench in rest.reactions.items():
        act(node, wrench[3:], wrench[:3])
    for node in range(mesh.nodes):
        act(node, mesh.weight[node] * np.array([0, 0, -2.0]))
    for edge, (left, right) in enumerate(pairwise(mesh.s)):  # s, by levers to both ends
        first, whole = (right**3 - left**3) / 3, (right**2 - left**2) / 2
        far = (first - left * whole) / (right - left)
        act(edge, np.array([0, whole - far, 0]))
        act(edge + 1, np.array([0, far, 0]))
    act(3, np.array([0, 0, -3.0]))
    act(6, np.array([1.0, 2, 3]), np.array([1.0, 0, 1]))
    act(2, frames[2] @ [1, 1, 0])
    assert set(rest.reactions) == {0, 10}
    assert np.abs(force).max() < 1e-10
    assert np.abs(moment).max() < 1e-10
    assert np.abs(rest.reactions[10][:3]).max() < 1e-9  # a pin takes no moment


# ---- small loads against closed forms --------------------------------------------------------


def small(beam, node=-1):
    return taut.equilibrium(beam).displacements[node]


def test_a_cantilever_sags_under_its_weight():
    q = 1e-3
    exact = q * L**4 / (8 * EI) + q * L**2 / (2 * GA)
    assert small(straight(gravity=(0, 0, -q)))[2] == pytest.approx(-exact, rel=1e-6)


def test_a_load_that_grows_along_the_beam():
    q = 1e-3
    exact = 11 * q * L**4 / (120 * EI) + q * L**2 / (3 * GA)
    beam = straight(101).load(at="all", force=(0, q * taut.s / L, 0))
    assert small(beam)[1] == pytest.approx(exact, rel=2e-4)


def test_a_beam_on_two_supports():
    p = 1e-3
    exact = p * L**3 / (48 * EI) + p * L / (4 * GA)
    rest = taut.equilibrium(straight(101, ends=("pinned", "roller")).load(at=1.0, force=(0, 0, -p)))
    assert rest.displacements[50, 2] == pytest.approx(-exact, rel=2e-4)
    assert rest.free == "rotation about the axis (1, 0, 0) through (1, 0, 0)"
    assert rest.stable
    for node in (0, 100):
        np.testing.assert_allclose(rest.reactions[node][3:], [0, 0, p / 2], atol=1e-10)


def test_moved_ends():
    """A clamped beam whose end is displaced, or turned."""
    d = 1e-4
    ends = ("clamped", taut.End("clamped", position=(0, 0, d * taut.t)))
    rest = taut.equilibrium(straight(201, ends=ends), loads_at=3.0)
    force = 12 * EI * 3 * d / (L**3 * (1 + PHI))
    assert rest.reactions[200][5] == pytest.approx(force, rel=2e-4)
    assert rest.reactions[0][5] == pytest.approx(-force, rel=2e-4)
    np.testing.assert_allclose(rest.tip, [L, 0, 3 * d], atol=1e-15)
    ends = ("clamped", taut.End("clamped", rotation=(0, 0, d)))
    rest = taut.equilibrium(straight(201, ends=ends))
    near, far = ((c + PHI * s) * EI * d / (L * (1 + PHI)) for c, s in ((4, 1), (2, -1)))
    assert rest.reactions[200][2] == pytest.approx(near, rel=1e-4)
    assert rest.reactions[0][2] == pytest.approx(far, rel=2e-4)


def test_a_moved_root_takes_the_beam_along():
    turn = np.array([0.3, 2.0, -1.0])
    end = taut.End("clamped", position=(1, 2, 3), rotation=turn)
    rest = taut.equilibrium(straight(ends=(end, "free")))
    mesh = rest.mesh
    expected = mesh.pose[:, :3, 3] @ SO3.exp(turn).T + [1, 2, 3]
    assert np.abs(rest.positions - expected).max() < 1e-12
    assert np.abs(rest.strain).max() < 1e-12


def test_moved_ends_along_an_arc():
    """Ends that are pushed together, by arc length: the same as by steps."""
    ends = ("clamped", taut.End("clamped", position=(-0.2, 0.1, 0)))
    beam = straight(stiffness=[EI, GJ, EI, 100, 400, 100], ends=ends)
    arc, plain = (taut.equilibrium(beam, arc_length=x) for x in (True, False))
    assert arc.load_factor == 1
    assert len(arc.path) > 5
    np.testing.assert_allclose(arc.positions, plain.positions, atol=1e-9)


@pytest.mark.parametrize("direction", [0, 1, 2])
def test_an_elbow(direction):
    """A post and an arm: deflections of the corner and the arm, by hand."""
    a, b, p = 1.0, 1.5, 1e-4
    made = {"inertia": np.ones(6), "stiffness": [EI, GJ, EI, GA, EA, GA], "nodes": 61}
    post = taut.Beam(a, at=(0, 0, 0), frame=(0, 0, 1), ends=("clamped", "free"), **made)
    arm = taut.Beam(b, at=(0, 0, a), frame=(1, 0, 0), **made)
    force = np.zeros(3)
    force[direction] = p
    arm.load(force=force)
    found = taut.equilibrium(taut.Beams([post, arm])).displacements[-1] / p
    if direction == 0:  # along the arm: the post bends, the arm stretches
        expected = [a**3 / (3 * EI) + a / GA + b / EA, 0, -(a**2) * b / (2 * EI)]
    elif direction == 1:  # out of the plane: both bend, the post twists
        expected = [0, (a**3 + b**3) / (3 * EI) + a * b**2 / GJ + (a + b) / GA, 0]
    else:  # along the post
        expected = [-(a**2) * b / (2 * EI), 0, b**3 / (3 * EI) + a * b**2 / EI + a / EA + b / GA]
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)


def test_a_portal():
    """A closed frame under a push to the side: moments at its feet (Kleinlogel 1914)."""
    h, w, p = 1.0, 2.0, 1e-3
    made = {"inertia": np.ones(6), "stiffness": [1, 1, 1, 1e6, 1e6, 1e6], "nodes": 41}
    left = taut.Beam(h, at=(0, 0, 0), frame=(0, 0, 1), ends=("clamped", "free"), **made)
    right = taut.Beam(h, at=(w, 0, 0), frame=(0, 0, 1), ends=("clamped", "free"), **made)
    top = taut.Beam(w, at=(0, 0, h), frame=(1, 0, 0), **made).load(at="root", force=(p, 0, 0))
    rest = taut.equilibrium(taut.Beams([left, top, right]))
    k = h / w
    foot = p * h / 2 * (3 * k + 1) / (6 * k + 1)
    feet = [wrench for node, wrench in rest.reactions.items()]
    assert len(feet) == 2
    for wrench in feet:
        assert abs(wrench[1]) == pytest.approx(foot, rel=1e-3)
        assert wrench[3] == pytest.approx(-p / 2, rel=1e-3)
    sway = p * h**3 / 12 * (3 * k + 2) / (6 * k + 1)
    assert rest.displacements[40, 0] == pytest.approx(sway, rel=1e-3)


# ---- large loads -----------------------------------------------------------------------------


def test_a_roller_keeps_to_its_line():
    axis = np.array([np.cos(0.3), np.sin(0.3), 0])
    ends = ("hinged", taut.End("roller", axis=axis))
    rest = taut.equilibrium(straight(ends=ends).load(at=1.0, force=(0, 3, 0)))
    shift = rest.tip - [L, 0, 0]
    assert np.linalg.norm(shift) > 0.05
    np.testing.assert_allclose(np.cross(shift, axis), 0, atol=1e-14)
    assert abs(rest.reactions[20][3:] @ axis) < 1e-9
    assert np.abs(rest.reactions[20][:3]).max() < 1e-9


def test_a_slide_turns_nothing():
    ends = (taut.End("sliding", axis=(0, 1, 0)), "clamped")
    rest = taut.equilibrium(straight(ends=ends).load(at="root", force=(0, 2.0, 0)))
    np.testing.assert_allclose(rest.frames[0], rest.mesh.pose[0, :3, :3], atol=1e-14)
    assert rest.displacements[0, 1] > 0.05
    assert abs(rest.displacements[0, 0]) < 1e-14
    assert abs(rest.reactions[0][4]) < 1e-9


def test_hanging_from_a_hinge():
    """Gravity holds what the hinge leaves free."""
    beam = straight(ends=("hinged", "free"), gravity=(4.0, -1.0, 0))
    rest = taut.equilibrium(beam)
    along = rest.tip / np.linalg.norm(rest.tip)
    np.testing.assert_allclose(along, np.array([4, -1, 0]) / np.sqrt(17), atol=1e-10)
    assert rest.stable
    assert rest.free is None
    upside_down = taut.equilibrium(straight(ends=("hinged", "free"), gravity=(-4.0, 1.0, 0)))
    assert not upside_down.stable


@pytest.mark.parametrize("end", ["pinned", "hinged", "roller"])
def test_a_beam_may_start_upside_down(end):
    """Ends that may turn are turned by half a turn against their reference."""
    down = straight(ends=(end, "free"), gravity=(0, 5, 0))
    poses = down.mesh().pose
    flip = np.diag([1.0, -1.0, -1.0]) if end != "hinged" else np.diag([-1.0, -1.0, 1.0])
    turn = SO3.exp([0, 0, np.pi / 2]) if end != "hinged" else np.eye(3)
    poses[:, :3, :] = turn @ (flip @ poses[:, :3, :])
    if end == "hinged":  # it hangs along −x, and gravity pulls there
        down = straight(ends=(end, "free"), gravity=(-5, 0, 0))
    if end == "roller":
        down = straight(ends=(taut.End("roller", axis=(1, 0, 0)), "free"), gravity=(0, 5, 0))
    rest = taut.equilibrium(down, start=poses)
    assert np.linalg.norm(rest.tip) == pytest.approx(L, rel=1e-3)
    assert rest.stable


def test_it_does_not_matter_where_and_how_a_beam_stands(rng):
    turn, shift = SO3.exp(rng.standard_normal(3)), rng.standard_normal(3)
    force, moment = rng.standard_normal((2, 3))
    plain = taut.equilibrium(straight().load(force=force, moment=moment))
    frame = turn @ plain.mesh.pose[0, :3, :3]
    other = straight(at=shift, frame=frame).load(force=turn @ force, moment=turn @ moment)
    found = taut.equilibrium(other)
    np.testing.assert_allclose(found.positions, plain.positions @ turn.T + shift, atol=1e-10)
    np.testing.assert_allclose(found.strain, plain.strain, atol=1e-9)
    assert found.energy == pytest.approx(plain.energy, rel=1e-10)


def test_a_ring_of_two_halves():
    """Closed through joints on both sides, without holds: pulled apart it stays in balance."""
    made = {"inertia": np.ones(6), "stiffness": [1, 1, 1, 1e4, 1e4, 1e4], "nodes": 41}
    half = np.pi
    up = taut.Beam(half, frame=(0, 1, 0), curvature=(0, 0, -1), **made)
    top = up.mesh().pose[-1, :3, 3]
    down = taut.Beam(half, at=top, frame=(0, -1, 0), curvature=(0, 0, -1), **made)
    up.load(at=half / 2, force=(0, 1e-4, 0))
    down.load(at=half / 2, force=(0, -1e-4, 0))
    rest = taut.equilibrium(taut.Beams([up, down]))
    taller = rest.displacements[20, 1] - rest.displacements[61, 1]
    exact = np.pi / 4 - 2 / np.pi + np.pi / 2 / 1e4  # Timoshenko 1956; stretch and shear
    assert taller / 1e-4 == pytest.approx(exact, rel=5e-3)
    assert rest.reactions == {}


# ---- paths -----------------------------------------------------------------------------------


def test_steps_are_kept():
    rest = taut.equilibrium(straight().load(force=(0, 3, 0)), steps=4)
    path = rest.path
    np.testing.assert_allclose(path.load_factor, [0, 0.25, 0.5, 0.75, 1.0])
    assert len(path) == 5
    np.testing.assert_array_equal(path.tip[-1], rest.tip)
    assert path.frames.shape == (5, 21, 3, 3)
    half = taut.equilibrium(straight().load(force=(0, 1.5, 0)))
    np.testing.assert_allclose(path.positions[2], half.positions, atol=1e-10)
    assert path.energy[2] == pytest.approx(half.energy)
    assert path.iterations.sum() == rest.iterations


def test_an_arc_leads_to_the_same_place():
    beam = straight().load(force=(0, 3, 0))
    arc, plain = (taut.equilibrium(beam, arc_length=x) for x in (True, False))
    assert arc.load_factor == 1.0
    assert len(arc.path) > 4
    np.testing.assert_allclose(arc.positions, plain.positions, atol=1e-10)


def test_an_arc_of_few_steps_says_how_far_it_came():
    found = taut.equilibrium(straight().load(force=(0, 3, 0)), arc_length=True, steps=2)
    assert len(found.path) == 3
    assert 0 < found.load_factor < 1
    there = taut.equilibrium(straight().load(force=(0, 3 * found.load_factor, 0)))
    np.testing.assert_allclose(found.positions, there.positions, atol=1e-8)


def test_starting_from_another_equilibrium():
    first = taut.equilibrium(straight().load(force=(0, 4, 0)))
    plain = taut.equilibrium(straight().load(force=(0, 5, 0)))
    next_ = taut.equilibrium(straight().load(force=(0, 5, 0)), start=first)
    np.testing.assert_allclose(next_.positions, plain.positions, atol=1e-10)
    assert next_.iterations <= plain.iterations
    again = taut.equilibrium(straight().load(force=(0, 5, 0)), start=plain.poses)
    assert again.iterations <= 1
    between = taut.equilibrium(straight().load(force=(0, 5, 0)), start=first, steps=2).path
    half = taut.equilibrium(straight().load(force=(0, 4.5, 0)))
    np.testing.assert_allclose(between.positions[1], half.positions, atol=1e-10)


def test_loads_are_taken_at_a_time():
    beam = straight().load(force=(0, taut.t**2, 0))
    late = taut.equilibrium(beam, loads_at=2.0)
    np.testing.assert_allclose(
        late.tip, taut.equilibrium(straight().load(force=(0, 4, 0))).tip, atol=1e-12
    )
    assert taut.equilibrium(beam).energy < 1e-20


def test_the_same_twice_is_the_same():
    beam = straight().load(force=(1, 3, 2), moment=(1, 1, 0))
    one, two = taut.equilibrium(beam), taut.equilibrium(beam)
    np.testing.assert_array_equal(one.poses, two.poses)


def test_a_simulation_from_an_equilibrium_stays_there():
    beam = straight(nodes=11, gravity=(0, -1, 0)).load(force=(0, 0, 1))
    rest = taut.equilibrium(beam)
    run = taut.simulate(beam, strain0=rest.strain, duration=0.5, method="variational")
    assert np.abs(run.positions - rest.positions).max() < 1e-9


def test_text_and_dict():
    rest = taut.equilibrium(straight().load(force=(0, 1e-3, 0)))
    facts = rest.to_dict()
    assert facts["stable"] is True
    assert facts["load_factor"] == 1
    assert facts["reactions"][0][4] == pytest.approx(-1e-3)
    for word in ("Equilibrium", "load factor", "stable", "held at s = 0", "iterations"):
        assert word in str(rest)
    assert "path of 2 equilibria" in repr(rest.path)
    assert repr(rest) == str(rest)


def test_progress_is_reported():
    seen = []
    taut.equilibrium(straight().load(force=(0, 1, 0)), steps=4, progress=lambda *x: seen.append(x))
    assert seen == [(250, 1000), (500, 1000), (750, 1000), (1000, 1000)]


def test_an_interruption_keeps_what_was_found():
    def stop(done, total):
        if done >= 500:
            raise KeyboardInterrupt

    with pytest.raises(taut.Interrupted, match=r"after the load factor 0\.25") as caught:
        taut.equilibrium(straight().load(force=(0, 1, 0)), steps=4, progress=stop)
    assert caught.value.partial.load_factor == 0.25


# ---- what is refused -------------------------------------------------------------------------


def test_no_equilibrium_keeps_the_last_one():
    """A shallow arch beyond its limit load."""
    with pytest.raises(taut.NoEquilibrium, match="arc_length=True") as caught:
        taut.equilibrium(shallow_arch(0.5))
    error = caught.value
    assert error.load_factor == pytest.approx(0.3087, abs=3e-4)
    assert error.partial.load_factor == error.load_factor
    assert error.partial.stable
    assert f"beyond the load factor {error.load_factor:.6g}" in str(error)


def shallow_arch(push: float) -> taut.Beam:
    angle, radius = 0.3, 10.0
    frame = SO3.exp([0, 0, angle - np.pi / 2])
    length = 2 * angle * radius
    beam = taut.Beam(
        length, inertia=np.ones(6), stiffness=[99, 99, 1, 25, 50, 25], nodes=31,
        at=(-radius * np.sin(angle), 0, 0), frame=frame, curvature=(0, 0, -1 / radius),
        ends=("hinged", "hinged"),
    )  # fmt: skip
    return beam.load(at=length / 2, force=(0, -push, 0))


def test_stability_on_the_way_through_two_limit_points():
    path = taut.equilibrium(shallow_arch(0.5), arc_length=True).path
    turns = np.flatnonzero(np.diff(path.falling))
    rises = np.diff(path.load_factor) > 0
    assert path.falling[0] == path.falling[-1] == 0
    assert len(turns) == 2
    assert set(path.falling[turns[0] + 1 : turns[1] + 1]) == {1}
    assert not rises[turns[0] + 1 : turns[1]].any()
    assert rises[: turns[0]].all()
    assert rises[turns[1] + 1 :].all()


def test_a_column_stays_straight_beyond_its_critical_load():
    """Found by short steps, not by a jump; the loss of stability is on the path."""
    critical = np.pi**2 * EI / (4 * L**2)
    rest = taut.equilibrium(straight().load(force=(-1.5 * critical, 0, 0)))
    assert np.abs(rest.displacements[:, 1:]).max() < 1e-12
    assert rest.stable is False
    assert rest.falling == 2  # it may bend to both sides
    lost = int(np.argmax(np.array(rest.path.falling) > 0))
    before, after = rest.path.load_factor[[lost - 1, lost]]
    assert before <= 1 / 1.5 * (1 + 1e-3)
    assert after >= 1 / 1.5 * (1 - 1e-3)
    assert after - before < 0.02


@pytest.mark.parametrize("arc_length", [False, True])
def test_a_wire_that_buckles_early(arc_length):
    """Its end is pushed in by 15 %; it buckles at a load factor of 1e-5, downwards, and hangs."""
    wire = {"section": taut.Circle(1e-3), "density": 7800, "young": 2e11, "poisson": 0.3}

    def hung(push):
        ends = ("clamped", taut.End("clamped", position=(-push, 0, 0)))
        return taut.Beam(2.0, **wire, **X, nodes=31, ends=ends, gravity=(0, 0, -9.81))

    rest = taut.equilibrium(hung(0.3), arc_length=arc_length)
    assert rest.stable
    assert rest.path.falling == [0] * len(rest.path)
    assert rest.positions[15, 2] == pytest.approx(-0.47, abs=5e-3)
    first = taut.equilibrium(hung(0.0))  # the weight first, then the push
    after = taut.equilibrium(hung(0.3), start=first)
    np.testing.assert_allclose(rest.positions, after.positions, atol=1e-9)


def test_an_end_that_is_turned_by_more_than_a_turn():
    ends = ("clamped", taut.End("clamped", rotation=(7.0, 0, 0)))
    rest = taut.equilibrium(straight(201, ends=ends, stiffness=[20, GJ, 20, GA, EA, GA]))
    assert rest.strain[:, 1] == pytest.approx(7.0 / L, rel=1e-3)
    assert rest.reactions[200][0] == pytest.approx(GJ * 7.0 / L, rel=1e-3)


def test_an_arc_that_needs_more_steps_says_so(monkeypatch):
    monkeypatch.setattr("taut.march.statics.path.MANY", 3)
    with pytest.raises(taut.NoEquilibrium, match="not 1 after 3 steps") as caught:
        taut.equilibrium(shallow_arch(0.5), arc_length=True)
    assert len(caught.value.partial.path) == 4
    assert "more steps" in str(caught.value)


@pytest.mark.parametrize(
    ("ends", "gravity", "words"),
    [
        (("free", "free"), (0, 0, -1), r"translation along \(0, 0, -?1\)"),
        (("roller", "roller"), (1, 0, 0), r"translation along \(-?1, 0, 0\)"),
        (
            ("hinged", "free"),
            (0, -1, 0),
            r"rotation about the axis \(0, 0, -?1\) through \(0, 0, 0\)",
        ),
        (("sliding", "free"), (1, 0, 0), r"translation along \(-?1, 0, 0\)"),
    ],
)
def test_what_can_move_freely_is_named(ends, gravity, words):
    with pytest.raises(taut.NoEquilibrium, match=words) as caught:
        taut.equilibrium(straight(ends=ends, gravity=gravity))
    assert "hold an end" in str(caught.value)
    assert ends[0] in str(caught.value)


def test_a_force_somewhere_drives_a_free_beam():
    """It turns and moves; no motion stops that the sum of the forces is not zero."""
    beam = straight(ends=("free", "free")).load(at=0.4, force=(0, 1, 2))
    beam.load(at=1.7, force=(0, 1, -2), moment=(0, 1, 0))
    with pytest.raises(taut.NoEquilibrium, match="can move freely"):
        taut.equilibrium(beam)
    with pytest.raises(taut.NoEquilibrium, match=r"translation along \(1, 0, 0\)"):
        taut.equilibrium(straight(ends=("roller", "free")).load(at=1.0, force=(1, 0, 0.5)))


def test_what_loads_alone_hold_is_said_where_they_do_not():
    """Upside down, and far from where it would hang."""
    beam = straight(ends=("hinged", "free"), gravity=(-1e8, 3e8, 0))
    with pytest.raises(taut.NoEquilibrium, match="loads alone stop its rotation") as caught:
        taut.equilibrium(beam)
    assert "start closer" in str(caught.value)


def test_what_loads_drive_is_not_left_as_it_is():
    """A pendulum that passes the horizontal: no stiffness, but work."""
    nothing_there, one = np.zeros((1, 1)), np.ones(1)
    assert unloaded(nothing_there, one, 1.0).shape == (0, 1)
    assert unloaded(nothing_there, 0 * one, 1.0).shape == (1, 1)
    assert unloaded(np.eye(1), 0 * one, 1.0).shape == (0, 1)
    assert unstoppable(nothing_there, one, 1.0) is not None
    assert unstoppable(np.eye(1), one, 1.0) is None


def test_the_beam_that_is_not_held_is_named():
    held, loose = straight(), straight(at=(0, 5, 0)).load(force=(0, 0, 1))
    loose.ends = (taut.End("free"), taut.End("free"))
    with pytest.raises(taut.NoEquilibrium, match="beam 1: "):
        taut.equilibrium([held, loose])


def test_a_free_beam_without_loads_is_at_rest():
    rest = taut.equilibrium(straight(ends=("free", "free")))
    assert rest.free == "every motion"
    assert rest.stable
    pinned = taut.equilibrium(straight(ends=("pinned", "free")))
    assert pinned.free == "rotation about the point (0, 0, 0)"


def test_a_free_beam_that_is_pulled_at_both_ends():
    beam = straight(ends=("free", "free")).load(force=(5, 0, 0)).load(at="root", force=(-5, 0, 0))
    rest = taut.equilibrium(beam)
    assert np.ptp(rest.positions[:, 0]) == pytest.approx(L * (1 + 5 / EA), rel=1e-12)
    assert "translation" in rest.free
    pushed = straight(ends=("free", "free")).load(force=(-1, 0, 0)).load(at="root", force=(1, 0, 0))
    assert not taut.equilibrium(pushed).stable  # it would turn round


@pytest.mark.parametrize(
    "expression", [1 / (taut.t - 1), (taut.t - 2) ** 0.5, 1 / (taut.t - 1) ** 2]
)
def test_loads_that_are_not_numbers(expression):
    beam = straight().load(at=1.0, force=(0, expression, 0))
    with pytest.raises(
        taut.InputError, match=r"a force is not a number at s = 1 \(node 10\), t = 1"
    ):
        taut.equilibrium(beam, loads_at=1.0)


def test_distributed_loads_that_are_not_numbers():
    beam = straight().load(at="all", moment=(0, 1 / (taut.s - 0.5), 0))
    with pytest.raises(taut.InputError, match=r"a moment is not a number at s = 0.5 \(node 5\)"):
        taut.equilibrium(beam)
    end = taut.End("clamped", position=(0, 1 / (taut.t - 1), 0))
    with pytest.raises(taut.InputError, match="the position of an end is not a number"):
        taut.equilibrium(straight(ends=(end, "free")), loads_at=1.0)


def test_half_a_turn_between_neighbours():
    poses = straight(nodes=5).mesh().pose
    poses[3, :3, :3] = poses[3, :3, :3] @ np.diag([-1.0, 1.0, -1.0])
    with pytest.raises(taut.InputError, match="half a turn") as caught:
        taut.equilibrium(straight(nodes=5), start=poses)
    assert "node 2" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"steps": 0}, "steps is not a number that counts"),
        ({"steps": 2.5}, "steps is not a number that counts"),
        ({"loads_at": np.nan}, "the time of the loads is not finite"),
        ({"tolerance": 0.0}, "the tolerance"),
        ({"tolerance": "small"}, "the tolerance is not a number"),
        ({"start": np.zeros((3, 4, 4))}, "the start does not fit"),
        ({"start": "there"}, "the start does not fit"),
        ({"start": np.zeros((21, 4, 4))}, "not a rotation"),
    ],
)
def test_arguments_that_cannot_be_used(arguments, words):
    with pytest.raises(taut.InputError, match=words):
        taut.equilibrium(straight(), **arguments)


def test_what_is_no_beam():
    with pytest.raises(taut.InputError, match="not a beam"):
        taut.equilibrium(3)
    with pytest.raises(taut.InputError, match="no beam"):
        taut.equilibrium([straight(), 3])
    other = taut.equilibrium(straight(nodes=5))
    with pytest.raises(taut.InputError, match="the start does not fit"):
        taut.equilibrium(straight(), start=other)


# ---- stability of slender beams ----------------------------------------------------------------


def pressed(radius, load, ends=("clamped", "free"), nodes=33, length=1.0):
    """A steel wire under a part of Euler's load of a cantilever."""
    beam = taut.Beam(length, taut.Circle(radius * length), density=7800, young=2.1e11, poisson=0.3,
                     nodes=nodes, ends=ends, **X)  # fmt: skip
    euler = np.pi**2 / 4 * beam.stiffness[0, 0, 0] / length**2
    return taut.equilibrium(beam.load(at="tip", force=(-load * euler, 0, 0)))


@pytest.mark.parametrize("radius", [2e-2, 1e-3, 1e-4, 1e-5, 2e-6])
@pytest.mark.parametrize(("ends", "factor"), [(("clamped", "free"), 1), (("pinned", "roller"), 4)])
def test_slender_columns_buckle_under_eulers_load(radius, ends, factor):
    """Load factors beyond which it is not stable, for L/r from 100 to a million."""
    kept, gone = (
        pressed(radius, factor * x, ends) for x in (0.999 - 6 * radius**2 * factor, 1.0001)
    )
    assert kept.stable is True
    assert gone.stable is False
    assert gone.falling == 2
    assert "not stable" in str(gone)
    assert pressed(radius, 5.0).falling == 2  # 1, 9, 25, … in both directions
    assert pressed(radius, 30.0).falling == 6


def test_the_critical_load_to_its_digits():
    """Where the verdict changes, against the sign of pivots with fifty digits."""
    low, high = 0.99, 1.01
    while True:
        middle = (low + high) / 2
        verdict = pressed(1e-4, middle, nodes=9).stable
        if verdict is None:
            break
        low, high = (middle, high) if verdict else (low, middle)
    assert high - low < 1e-7
    assert "undecided" in str(pressed(1e-4, middle, nodes=9))

    def falling(load):
        rest = pressed(1e-4, load, nodes=9)
        graded = Graded(rest.balance, rest.state, rest.applied, rest.freedoms, even=True)
        with mpmath.workdps(50):
            b = mpmath.matrix(graded.strains.toarray())
            c = mpmath.diag([
                mpmath.mpf(x) / mpmath.mpf(ds)
                for block, ds in zip(rest.balance.stiffness, rest.balance.spacing, strict=True)
                for x in np.diagonal(block)
            ])  # fmt: skip
            k = b.T * c * b + mpmath.matrix(graded.geometric.toarray())
            count = 0
            for i in range(k.rows):  # pivots of LDLᵀ
                count += k[i, i] < 0
                for j in range(i + 1, k.rows):
                    if k[j, i] != 0:
                        part = k[j, i] / k[i, i]
                        for m in range(i, k.rows):
                            k[j, m] -= part * k[i, m]
            return count

    assert [falling(x) for x in (low - 1e-7, high + 1e-7)] == [0, 2]


def test_a_motion_without_stiffness_is_not_called_stable():
    """A round column that has buckled may bend to all sides alike."""
    made = {"inertia": np.ones(6), "stiffness": [1, 1, 1, 1e4, 1e4, 1e4], "nodes": 17, **X}
    column = taut.Beam(1.0, **made, ends=("clamped", "free"))
    aside = taut.equilibrium(
        taut.Beam(1.0, **made, ends=("clamped", "free")).load(force=(-3, 0.3, 0))
    )
    rest = taut.equilibrium(column.load(force=(-3, 0, 0)), start=aside)
    assert abs(rest.tip[1]) > 0.3
    assert rest.stable is None
    assert "no stiffness beyond round-off" in str(rest)


def test_a_roller_from_which_something_hangs_may_roll():
    rest = taut.equilibrium(
        straight(ends=(taut.End("roller", axis=(1, 0, 0)), "free"), frame=(0, 1, 0),
                 gravity=(0, 5, 0))
    )  # fmt: skip
    assert rest.free is not None
    assert "translation along (1, 0, 0)" in rest.free
    assert "rotation about the axis (0, 1, 0)" in rest.free
    assert rest.stable


def test_what_motions_in_space_do_is_what_is_seen_when_others_are_made(rng):
    mesh = rich(rng).mesh()
    loose = replace(mesh, holds=())
    balance = Balance(loose)
    newton = Newton(balance, 1.0)
    applied = applied_at(loose, 0.3)
    freedoms = newton.freedoms(loose.pose)
    state = balance.at(loose.pose)
    rigid, stiffness, work, _ = newton.loaded(state, applied, freedoms)
    found = stiffness + rigid.turned(loose.pose, balance.loads(loose.pose, applied))

    def works(pose):
        return np.einsum("ani,ni->a", rigid.nodal(pose), balance.loads(pose, applied))

    np.testing.assert_allclose(works(loose.pose), work, atol=1e-12)
    small = 1e-5
    for b, (twist, centre) in enumerate(zip(rigid.twists, rigid.centres, strict=True)):
        about = np.eye(4)
        about[:3, 3] = -centre
        sides = [
            works(np.linalg.inv(about) @ SE3.cay_ad(x * twist) @ about @ loose.pose)
            for x in (small, -small)
        ]
        slope = (sides[0] - sides[1]) / (2 * small)
        np.testing.assert_allclose(-slope, found[:, b], atol=1e-6 * np.abs(found).max())


def test_units_that_cannot_be_right_are_said():
    """Young's modulus in MPa: a metre of wire hangs down by hundreds of metres."""
    made = {"section": taut.Circle(0.01), "density": 7800, "poisson": 0.3, "nodes": 11}
    made |= {"gravity": (0, 0, -9.81), "ends": ("clamped", "free"), **X}
    rest = taut.equilibrium(taut.Beam(1.0, young=2e2, **made))
    assert np.linalg.norm(rest.tip) > 400
    assert "beyond s = 0 (node 0): far beyond elastic; look at units" in str(rest)
    assert "elastic" not in str(taut.equilibrium(taut.Beam(1.0, young=2e6, **made)))
