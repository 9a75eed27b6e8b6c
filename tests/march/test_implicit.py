"""Implicit steps of beams: what they keep, how accurate they are, ends, joints, loads, failures."""

import itertools
import runpy
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from taut.fields.beam import Beam
from taut.fields.ends import End
from taut.fields.mesh import mesh_of
from taut.fields.section import Circle, Square
from taut.kernel.jit import entry
from taut.lie import SE3
from taut.march import assembly
from taut.march.codes import DONE, HALF_TURN, NOT_FINITE, SLOW
from taut.march.coupled import NOTES
from taut.model.symbols import t

STEPS = runpy.run_path(str(Path(__file__).with_name("steps.py")))
ImplicitRun, advance = STEPS["ImplicitRun"], STEPS["advance"]

STUFF = {"density": 1e3, "young": 1e7, "poisson": 0.35}
GRAVITY = (0.4, -3.0, -9.81)


@entry
def balance(coupling, special, rows, par, room, step, slopes):
    """What is left of the equations, as Python can call it."""
    return assembly.balance(coupling, special, rows, par, room, step, slopes)


def square(length=1.0, nodes=11, **more):
    return Beam(length, Square(0.1), **STUFF, nodes=nodes, **more)


def noted(run, name):
    return run.notes[NOTES.index(name)]


def watched(run, steps):
    """Largest errors of E − E₀ − work + loss and of momenta, relative to their sizes."""
    energy, momentum = run.total, run.momentum
    work, worst, turned, scale = 0.0, 0.0, 0.0, max(abs(energy), 1e-300)
    for _ in range(steps):
        run.run(1)
        now = run.energy
        work += now["work"] + now["held"] - now["dissipated"]
        scale = max(scale, abs(run.total))
        counted = now["kinetic"] + now["elastic"] + now["gravity"]
        assert counted == pytest.approx(run.total, abs=1e-12 * scale)
        worst = max(worst, abs(run.total - energy - work))
        turned = max(turned, np.abs(run.momentum - momentum).max())
    return worst / scale, turned / max(np.abs(momentum).max(), 1e-300)


def bent_and_thrown(h, nodes=101):
    """The free beam of CS: bent into an arc, and thrown."""
    beam = square(2 * np.pi / 3, nodes)
    momentum, strain = np.zeros((nodes, 6)), np.zeros((nodes - 1, 6))
    momentum[:, 3], momentum[:, 4] = 10 * np.sin(np.linspace(0, np.pi, nodes)), 10
    strain[:, 0] = -1
    return ImplicitRun(mesh_of([beam]), h, momentum=momentum, strain=strain)


# ---- what is kept ----------------------------------------------------------------------------


def test_energy_and_momenta_are_kept_at_a_hundred_times_the_explicit_limit():
    energy, momenta = watched(bent_and_thrown(2e-2), 1000)
    assert energy < 2e-12
    assert momenta < 2e-12


def test_energy_does_not_drift():
    """Round-off and what Newton leaves have no direction: 10⁴ steps with old factors."""
    run = bent_and_thrown(2e-4, nodes=21)
    start = run.total
    found = [abs(run.run(500).total / start - 1) for _ in range(20)]
    assert max(found) < 1e-13
    assert noted(run, "factorisations") < 0.01 * noted(run, "made")


def test_a_slender_rod_is_spun_up():
    """Length over radius 10³, and a step of 300 times the explicit limit of 3.2e−7 s."""
    rod = Beam(1.0, Circle(1e-3), density=7850, young=2e11, poisson=0.3, nodes=31)
    pulse = sp.Piecewise((0.5 * sp.sin(sp.pi * t / 0.05) ** 2, t < 0.05), (0, True))
    rod.load(at="root", moment=(pulse, 0, 0.3 * pulse))
    run = ImplicitRun(mesh_of([rod]), 1e-4)
    energy, _ = watched(run, 500)
    assert energy < 1e-12
    # the impulse of the moment is the angular momentum, by the midpoint rule and exactly
    assert run.momentum[:3] == pytest.approx([0.0125, 0, 0.00375], rel=1e-12, abs=1e-15)
    at_rest = run.total
    energy, momenta = watched(run, 500)
    assert energy < 1e-12
    assert momenta < 1e-11
    assert at_rest > 1e-3


def test_steps_can_be_taken_back():
    run = bent_and_thrown(5e-3, nodes=21)
    place, chi = run.positions, run["chi"].copy()
    run.run(100)
    assert np.abs(run.positions - place).max() > 0.1
    run["mu"] *= -1
    run["last"] *= -1
    run["change"] = 0
    run.run(100)
    assert np.abs(run.positions - place).max() < 1e-9
    assert np.abs(run["chi"] - chi).max() < 1e-9


def test_a_beam_has_no_direction(rng):
    """The same beam, its nodes counted from the other end, moves in the same way."""
    nodes, h = 11, 2e-2
    beam = square(nodes=nodes)
    momentum = rng.normal(size=(nodes, 6)) * [0.02, 0.02, 0.02, 5, 5, 5]
    run = ImplicitRun(mesh_of([beam]), h, momentum=momentum)
    turn = np.diag([1.0, -1.0, -1.0])  # tangents point the other way
    other = square(nodes=nodes, at=(0, 1, 0), frame=turn)
    turned = np.concatenate([momentum[::-1, :3] @ turn, momentum[::-1, 3:] @ turn], axis=1)
    mirror = ImplicitRun(mesh_of([other]), h, momentum=turned)
    assert mirror.momentum == pytest.approx(run.momentum, rel=1e-13)
    assert np.abs(mirror.run(30).positions[::-1] - run.run(30).positions).max() < 1e-11


def test_strains_are_those_of_the_poses():
    run = bent_and_thrown(2e-3, nodes=21).run(300)
    poses = np.array([run.pose(j) for j in range(21)])
    steps = SE3.cay_ad_inverse(SE3.inverse(poses[:-1]) @ poses[1:]) / run.mesh.spacing[0]
    assert np.abs(run["chi"].T - steps).max() < 1e-12


# ---- how accurate it is ----------------------------------------------------------------------


def spaghetti(edges, h, times):
    """A1 of the benchmarks (Simo & Vu-Quoc 1988): both ends and the energy at some times."""
    size = sp.Piecewise((80 * t, t <= 2.5), (80 * (5 - t), t <= 5), (0, True))
    beam = Beam(
        10.0, inertia=[10, 20, 10, 1, 1, 1], stiffness=[500, 500, 500, 1e4, 1e4, 1e4],
        nodes=edges + 1, at=(0, 8, 0), frame=(0.6, -0.8, 0),
    )  # fmt: skip
    beam.load(at="tip", force=(size / 10, 0, 0), moment=(0, size / 2, -size))
    run, found = ImplicitRun(mesh_of([beam]), h), []
    for time in times:
        run.run(round((time - run.time) / h))
        found.append([*run.positions[-1], *run.positions[0], run.total])
    return np.array(found), run


# Converged values of an independent scheme, uncertain by 1e−5.
SPAGHETTI = [
    [4.068264, -0.496175, -0.223947, 1.647067, 8.093373, 0.281818, 159.4295],
    [19.213602, 1.625555, 2.127241, 12.953001, 6.809428, -3.028772, 724.4361],
    [42.832148, 3.692677, 4.386287, 38.312120, 5.198166, -4.251537, 724.4361],
]


def test_flying_spaghetti():
    """Order 2 in space and time together, to the known limit; its exact impulse."""
    coarse, fine = (spaghetti(n, 0.5 / n, (2, 5, 10))[0] for n in (40, 80))
    finest, run = spaghetti(160, 0.5 / 160, (2, 5, 10))
    limit = (4 * finest - fine) / 3
    assert np.abs(limit - SPAGHETTI)[:, :6].max() < 5e-5
    assert np.abs(limit - SPAGHETTI)[:, 6].max() < 2e-4
    order = np.log2(np.linalg.norm(coarse - limit, axis=1) / np.linalg.norm(fine - limit, axis=1))
    assert np.abs(order - 2).max() < 0.1
    assert run.momentum[3:] == pytest.approx([50, 0, 0], rel=1e-12, abs=1e-10)


def test_order_in_time():
    states = [spaghetti(16, h, (5,))[0][0, :6] for h in (0.05, 0.025, 0.0125, 0.00625)]
    gaps = [np.linalg.norm(a - b) for a, b in itertools.pairwise(states)]
    assert np.log2(gaps[0] / gaps[1]) == pytest.approx(2, abs=0.1)
    assert np.log2(gaps[1] / gaps[2]) == pytest.approx(2, abs=0.05)


def test_a_rod_that_spins_about_its_axis():
    """A rigid motion: nothing but the rotation, by 2 arctan(hω/2) in a step."""
    momentum = np.zeros((11, 6))
    momentum[:, 1], momentum[:, 4] = 3.0, 10.0
    run = ImplicitRun(mesh_of([square()]), 0.05, momentum=momentum).run(40)
    rate = 3.0 / run.mesh.inertia[0, 1, 1]
    assert pytest.approx(momentum, rel=1e-12, abs=1e-10) == run["mu"].T
    assert np.abs(run["chi"].T - run.mesh.reference).max() < 1e-13
    angle = 40 * 2 * np.arctan(0.5 * 0.05 * rate)
    assert run.frames[3][0, 0] == pytest.approx(np.cos(angle), abs=1e-9)


def test_a_rod_that_spins_about_its_middle_is_stretched():
    """x(S) = sin(kS)/(k cos(kL/2)) from the middle, k = ω√(ρA/EA), stays as it is."""
    nodes, rate = 41, 60.0
    beam = square(nodes=nodes)
    k = rate * np.sqrt(1e3 / 1e7)
    s = beam.places - 0.5
    x = np.sin(k * s) / (k * np.cos(0.5 * k))
    strain, momentum = np.zeros((nodes - 1, 6)), np.zeros((nodes, 6))
    strain[:, 4] = np.diff(x) / beam.spacing - 1
    momentum[:, 0], momentum[:, 5] = beam.inertia[0, 0, 0] * rate, 10 * rate * x
    run = ImplicitRun(mesh_of([beam]), 3e-4, momentum=momentum, strain=strain)
    length = x[-1] - x[0]
    for _ in range(5):
        run.run(40)
        place = run.positions
        assert np.linalg.norm(place[-1] - place[0]) == pytest.approx(length, abs=2e-4 * length)
    assert length > 1.03


# ---- loads, damping --------------------------------------------------------------------------


def test_weight_and_constant_forces_have_a_potential():
    """With a body off the axis, and turning in space; the impulse is exact as well."""
    beam = square(gravity=GRAVITY, nodes=6)
    beam.body(at="tip", mass=3.0, inertia=(0.02, 0.01, 0.03), offset=(0.1, 0.2, -0.1))
    beam.load(at="root", force=(2.0, -7.0, 5.0))
    momentum = np.zeros((6, 6))
    momentum[:, :3] = [0.5, -0.2, 0.4]
    run = ImplicitRun(mesh_of([beam]), 0.02, momentum=momentum)
    start, before, root = run.total, run.momentum, run.positions[0]
    worst = 0.0
    for _ in range(100):
        run.run(1)
        now = run.energy
        assert now["kinetic"] + now["elastic"] + now["gravity"] == pytest.approx(run.total)
        lifted = np.dot([2.0, -7.0, 5.0], run.positions[0] - root)
        worst = max(worst, abs(run.total - start - lifted))
    assert worst < 1e-11
    impulse = 2.0 * (13.0 * np.array(GRAVITY) + [2.0, -7.0, 5.0])
    assert run.momentum[3:] - before[3:] == pytest.approx(impulse, rel=1e-12)


def test_damping_takes_what_it_says_and_leaves_momenta():
    def run(damping):
        beam = square(nodes=21, damping=damping)
        momentum, strain = np.zeros((21, 6)), np.zeros((20, 6))
        momentum[:, 1], momentum[:, 5] = 0.05, np.linspace(-5, 5, 21)
        strain[:, 2], strain[:, 1] = 0.8, 0.3
        return ImplicitRun(mesh_of([beam]), 1e-2, momentum=momentum, strain=strain)

    damped = run(2e-3)
    elastic, lost = [], []
    for _ in range(5):
        energy, momenta = watched(damped, 40)
        assert energy < 1e-13
        assert momenta < 1e-12
        elastic.append(damped.energy["elastic"])
        lost.append(damped.energy["dissipated"])
    assert min(lost) > 0
    assert elastic[-1] < 0.1 * elastic[0]
    stiff = run(100.0)  # strains need 100 s to vanish
    chi = stiff["chi"].copy()
    assert watched(stiff, 20)[0] < 1e-11
    assert np.abs(stiff["chi"] - chi).max() < 5e-3


# ---- ends ------------------------------------------------------------------------------------

ENDS = {
    "clamped": ("clamped", "free"),
    "pinned": ("pinned", "free"),
    "hinged": (End("hinged", axis=(1, 0, 2)), "free"),
    "sliding": (End("sliding", axis=(0, 1, 1)), "free"),
    "roller": (End("roller", axis=(1, 2, 0)), "free"),
    "both": ("pinned", "roller"),
    "clamped twice": ("clamped", "clamped"),
}


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
def test_ends_hold_and_energy_is_kept(ends):
    mesh = mesh_of([square(nodes=9, ends=ends, gravity=GRAVITY)])
    run = ImplicitRun(mesh, 1e-2)
    energy, _ = watched(run, 60)
    assert energy < 2e-13
    assert run.energy["held"] == pytest.approx(0.0, abs=1e-13)
    free_fall = ImplicitRun(mesh_of([square(nodes=9, gravity=GRAVITY)]), 1e-2).run(60)
    assert np.abs(run.positions - free_fall.positions).max() > 0.1
    for hold in mesh.holds:
        node, start = hold.node, mesh.pose[hold.node]
        moved, frame = run.positions[node] - start[:3, 3], run.frames[node]
        kind, axis = hold.end.kind, hold.end.axis
        if kind in ("clamped", "pinned", "hinged"):
            assert np.abs(moved).max() < 1e-15
        if kind in ("clamped", "sliding"):
            assert np.abs(frame - start[:3, :3]).max() < 1e-15
        if kind == "hinged":  # the axis stays where it is, in the body and in space
            assert np.abs(frame @ start[:3, :3].T @ axis - axis).max() < 1e-13
            assert np.abs(frame - start[:3, :3]).max() > 0.1
        if kind in ("sliding", "roller"):
            along = hold.direction if axis is None else axis
            assert np.abs(np.cross(moved, along)).max() < 1e-14
            assert abs(moved @ along) > 1e-4


def test_ends_that_are_moved():
    """They are where they should be, and their work is what the energy gains."""
    way = (sp.sin(3 * t), 0, 0.5 * t**2)
    for end in (End("clamped", position=way, rotation=(t, 0, 2 * t)), End("pinned", position=way)):
        run = ImplicitRun(mesh_of([square(nodes=9, ends=(end, "free"), gravity=GRAVITY)]), 1e-2)
        energy, _ = watched(run, 60)
        assert energy < 1e-12
        assert run.positions[0] == pytest.approx([np.sin(1.8), 0, 0.18], abs=1e-12)
        assert abs(run.energy["held"]) > 1e-3


def test_forces_of_holds_carry_the_weight():
    """A damped cantilever comes to rest: its clamp carries the weight and the moment."""
    beam = square(nodes=9, ends=("clamped", "free"), gravity=(0, 0, -1.0), damping=0.05)
    run = ImplicitRun(mesh_of([beam]), 0.05).run(400)
    force = run.frames[0] @ run["other"][3:, 0]
    moment = run.frames[0] @ run["other"][:3, 0]
    assert force == pytest.approx([0, 0, 10], abs=1e-3)
    assert moment[0] == pytest.approx(10 * run.positions[:, 1] @ run.mesh.weight, rel=1e-3)


# ---- joints ----------------------------------------------------------------------------------


def frame_about_tangent(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


@pytest.mark.parametrize("angle", [0.0, 0.7])
def test_two_beams_in_line_are_one(rng, angle):
    """Also where the second has its axes turned."""
    frame, h = frame_about_tangent(angle), 1e-2
    whole = square(2.0, 21)
    mesh = mesh_of([square(), square(at=(0, 1, 0), frame=frame)])
    momentum = rng.normal(size=(21, 6)) * [0.02, 0.02, 0.02, 5, 5, 5]
    parts = np.zeros((22, 6))
    parts[:11] = momentum[:11]
    parts[10] *= whole.spacing / mesh.weight[10]  # the leader carries all of the joint
    parts[12:] = np.concatenate([momentum[11:, :3] @ frame, momentum[11:, 3:] @ frame], axis=1)
    one = ImplicitRun(mesh_of([whole]), h, momentum=momentum).run(60)
    two = ImplicitRun(mesh, h, momentum=parts).run(60)
    assert np.abs(np.delete(two.positions, 11, axis=0) - one.positions).max() < 1e-12
    assert two.total == pytest.approx(one.total, rel=1e-12)


def test_elbows_and_rings_keep_energy_and_momenta(rng):
    star = [square(), square(at=(0, 1, 0), frame=(0, 0, 1)), square(at=(0, 1, 0), frame=(1, 0, 0))]
    ring = [
        square(nodes=6, frame=(0, 1, 0)),
        square(nodes=6, at=(0, 1, 0), frame=(1, 0, 0)),
        square(nodes=6, at=(1, 0, 0), frame=(0, 1, 0)),
        square(nodes=6, frame=(1, 0, 0)),
    ]
    for beams, joints in ((star, 2), (ring, 4)):
        mesh = mesh_of(beams)
        assert len(mesh.joints) == joints
        momentum = rng.normal(size=(mesh.nodes, 6)) * [0.02, 0.02, 0.02, 5, 5, 5]
        run = ImplicitRun(mesh, 1e-2, momentum=momentum)
        energy, momenta = watched(run, 100)
        assert energy < 1e-12
        assert momenta < 1e-12
        for joint in mesh.joints:
            gap = SE3.inverse(run.pose(joint.leader)) @ run.pose(joint.follower) - joint.motion
            assert np.abs(gap).max() < 1e-14
            assert np.array_equal(*run.positions[[joint.leader, joint.follower]])


def test_a_held_joint():
    """An elbow that hangs from a hinge at its joint, and whose other beam carries a load."""
    axis = End("hinged", axis=(1, 0, 0))
    first = square(ends=("free", axis), gravity=GRAVITY)
    second = square(at=(0, 1, 0), frame=(0, 0, 1), gravity=GRAVITY)
    run = ImplicitRun(mesh_of([first, second]), 1e-2)
    assert watched(run, 100)[0] < 1e-12
    assert np.abs(run.positions[[10, 11]] - [0, 1, 0]).max() < 1e-14
    assert np.abs(run.positions[0]).max() > 0.1


# ---- Newton ----------------------------------------------------------------------------------


def test_steps_that_are_far_too_long_are_found(rng):
    """Neighbours that fly apart by a third of their distance in one step."""
    momentum = rng.normal(size=(11, 6)) * [0.02, 0.02, 0.02, 10, 10, 10]
    run = ImplicitRun(mesh_of([square(2 * np.pi / 3)]), 0.05, momentum=momentum)
    energy, momenta = watched(run, 30)
    assert energy < 1e-11
    assert momenta < 1e-11
    assert noted(run, "iterations") > 15 * 30  # Newton alone does not get there


def test_what_cannot_be_done_is_said_and_leaves_the_state():
    def code(run):
        names = ("mu", "chi", "turn", "place")
        before = [run[name].copy() for name in names]
        found = advance(
            run.coupling, run.special, run.rows, run.par, run.room, run.notes, np.zeros(6)
        )
        for name, old in zip(names, before, strict=True):
            assert np.array_equal(run[name], old, equal_nan=True)
        assert run["step"] == run.step
        return found

    run = bent_and_thrown(1e-2, nodes=11)
    run["mu"][3, 4] = np.nan
    assert code(run) == NOT_FINITE
    run = bent_and_thrown(1e3, nodes=11)
    assert code(run) in (SLOW, HALF_TURN)
    with pytest.raises(RuntimeError, match="at t = 0"):
        run.run(1)


def test_half_a_turn_between_neighbours_is_seen():
    """Node 4 turns one way in a step and node 5 the other, by 88 degrees each and by 92."""
    for degrees, code in ((88, DONE), (92, HALF_TURN)):
        run = ImplicitRun(mesh_of([square()]), 0.1)
        half = np.tan(np.radians(degrees) / 2)
        run["zeta"][0, 4], run["zeta"][0, 5] = 2 * half / 0.1, -2 * half / 0.1
        for slopes in (False, True):
            found = balance(
                run.coupling, run.special, run.rows, run.par, run.room, run.step, slopes
            )
            assert found == code


def test_the_step_may_change_between_steps():
    """What is remembered of steps of another size is not used."""
    run = bent_and_thrown(2e-4, nodes=21)
    for k, h in enumerate((2e-4, 2.01e-4, 1e-4, 2e-4), start=1):
        run["step"] = run.step = h
        energy, momenta = watched(run, 20)
        assert energy < 1e-13
        assert momenta < 1e-13
        assert noted(run, "factorisations") == k
    assert run.time == pytest.approx(20 * 7.01e-4)


def test_many_steps_in_one_go_are_the_same_to_the_bit():
    one, two = bent_and_thrown(1e-3, nodes=21), bent_and_thrown(1e-3, nodes=21)
    one.run(50)
    for _ in range(50):
        two.run(1)
    assert np.array_equal(one.rows, two.rows)
