"""URDF files: the mechanism they become, against two other roads; and what is refused or noted."""

import contextlib
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from scipy.integrate import solve_ivp

import taut

HERE = Path(__file__).parent
ROBOTS = runpy.run_path(str(HERE / "robots.py"))
link, joint, robot, Reference = (ROBOTS[x] for x in ("link", "joint", "robot", "Reference"))
ARM = Path(taut.problems.__file__).parent / "six_axis_arm.urdf"
KINDS = ("revolute", "prismatic", "continuous", "planar", "fixed", "floating", "revolute")


@pytest.fixture
def read(tmp_path):
    """A mechanism from the text of a file."""

    def made(text, **options):
        file = tmp_path / "robot.urdf"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return taut.urdf(file, **options)

    return made


def refused(read, text, *words, **options):
    with pytest.raises(taut.FileError) as caught:
        read(text, **options)
    said = str(caught.value)
    assert "robot.urdf" in said
    for word in words:
        assert word in said, said


TWO = (link("base"), link("arm", 2.0), joint("hinge", "revolute", "base", "arm", axis="0 1 0"))


# ---- the motion --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A random tree with every kind of joint, where it goes, and where it should go."""
    file = tmp_path_factory.mktemp("tree") / "tree.urdf"
    text = ROBOTS["random_tree"](4, KINDS)
    file.write_text(text)
    reference = Reference(text)
    rng = np.random.default_rng(1)
    q, v = 0.3 * rng.standard_normal((2, reference.count))
    at, rates = {}, {}
    for name in dict.fromkeys(reference.names):
        own = np.flatnonzero(np.array(reference.names) == name)
        if len(own) == 6:  # floating: no Euler angles to begin with
            q[own[3:]] = 0.0
        at[name] = [*q[own[:3]], 1, 0, 0, 0] if len(own) == 6 else q[own]
        rates[name] = v[own]
    m = taut.urdf(file, positions=at, velocities=rates)
    run = taut.simulate(m, duration=0.4, step=0.004, method="composition-8", laws=None)
    return m, run, reference, (q, v), file


def test_a_tree_of_every_kind_of_joint_starts_where_kinematics_says(tree):
    m, _, reference, (q, v), _ = tree
    walk = reference.walk(q, v)
    assert sorted(m.parts) == ["l1", "l2", "l3", "l4", "l6", "l7"]  # l5 is fixed to another
    for name, frame in m.frames.items():
        pose, moving, turning, _, _ = walk[name]
        np.testing.assert_allclose(frame.at, pose[:3, 3], atol=1e-14)
        np.testing.assert_allclose(frame.rotation, pose[:3, :3], atol=1e-14)
        part = frame.part
        spin, arm = turning @ v, part.position - frame.at
        np.testing.assert_allclose(part.angular_velocity, spin, atol=1e-14)
        np.testing.assert_allclose(part.velocity, moving @ v + np.cross(spin, arm), atol=1e-14)


def test_a_tree_of_every_kind_of_joint_moves_as_by_kanes_equations(tree):
    m, run, reference, start, _ = tree
    rows = np.arange(0, len(run.t), 25)
    places = zip(rows, *reference.run(*start, run.t[rows]), strict=True)
    for row, q, v in places:
        walk = reference.walk(q, v)
        for name, frame in m.frames.items():
            if frame.part is m.ground:
                continue
            found = run[frame.part.name].place(frame.at)[row]
            np.testing.assert_allclose(found, walk[name][0][:3, 3], atol=1e-11)
    moved = run["l7"].position
    assert np.abs(moved[-1] - moved[0]).max() > 0.1


def test_accelerations_at_the_start_are_those_of_kanes_equations(tree):
    """q̈ = g + M⁻¹(reactions) of centres of mass, against J q̈ + a₀."""
    m, run, reference, (q, v), _ = tree
    rates = reference.accelerations(q, v)
    walk = reference.walk(q, v)
    for name, part in m.parts.items():
        at, moving, turning, own, twist = walk[name]
        arm, spin, twist = part.position - at[:3, 3], turning @ v, turning @ rates + twist
        expected = moving @ rates + own + np.cross(twist, arm) + np.cross(spin, np.cross(spin, arm))
        pushed = run.reactions[0, part.first : part.first + 3]
        np.testing.assert_allclose(m.gravity + pushed / part.mass, expected, atol=1e-10)


def test_a_frame_of_a_link_that_is_part_of_another_body_goes_with_it(tree):
    m, run, _, _, _ = tree
    frame = m.frames["l5"]
    assert frame.part.name == "l2"
    seen = run["l5"]
    np.testing.assert_allclose(seen.position[0], frame.at, atol=1e-15)
    np.testing.assert_allclose(seen.rotation[0], frame.rotation, atol=1e-15)
    rates = np.gradient(seen.position, run.t, axis=0, edge_order=2)
    np.testing.assert_allclose(seen.velocity[1:-1], rates[1:-1], atol=1e-3)
    np.testing.assert_allclose(seen.angular_velocity, run["l2"].angular_velocity)
    still = run["l0"]
    assert still.position.shape == (len(run.t), 3)
    assert not np.any(still.velocity)


def test_joint_angles_of_the_arm_are_those_of_pinocchio():
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(str(ARM))
    data = model.createData()
    p = taut.problems.problem("six-axis-arm")
    run = p.simulate(duration=1.5, step=0.001, method="composition-8", laws=None)

    def turned(angles):
        return np.column_stack([np.cos(angles), np.sin(angles)]).ravel()

    def rates(_, y):
        return np.concatenate([y[6:], pin.aba(model, data, turned(y[:6]), y[6:], np.zeros(6))])

    begun = np.array([0, 0.9, 0.6, 0.4, 0, 0]), np.array([1.0, 0, 0, 0, 0, 2])
    done = solve_ivp(
        rates, (0, 1.5), np.concatenate(begun), "DOP853", run.t, rtol=1e-13, atol=1e-13
    )
    angles = np.column_stack([run[f"joint_{k}"].angle for k in range(1, 7)]) + begun[0]
    assert np.abs(angles - done.y[:6].T).max() < 1e-8
    assert np.abs(run.energy - pin.computeMechanicalEnergy(
        model, data, turned(begun[0]), begun[1])).max() < 1e-9  # fmt: skip


def test_accelerations_at_the_start_are_those_of_pinocchio(tree, tmp_path):
    pin = pytest.importorskip("pinocchio")
    m, run, reference, (q, v), file = tree
    limit = '<limit lower="-9" upper="9" effort="1" velocity="1"/></joint>'
    text = file.read_text().replace("</joint>", limit)  # it asks for them
    (tmp_path / "limited.urdf").write_text(text)
    model = pin.buildModelFromUrdf(str(tmp_path / "limited.urdf"))
    data, names = model.createData(), np.array(reference.names)
    at, rates = pin.neutral(model), np.zeros(model.nv)
    for name in dict.fromkeys(reference.names):
        held = model.joints[model.getJointId(name)]
        own, rate = q[names == name], v[names == name].copy()
        if len(own) == 3:  # planar: cosine and sine, velocity along its own axes
            c, s = np.cos(own[2]), np.sin(own[2])
            rate[:2] = [c * rate[0] + s * rate[1], c * rate[1] - s * rate[0]]
            own = [*own[:2], c, s]
        elif len(own) == 6:
            own = [*own[:3], 0, 0, 0, 1]
        elif held.nq == 2:
            own = [np.cos(own[0]), np.sin(own[0])]
        at[held.idx_q : held.idx_q + held.nq] = own
        rates[held.idx_v : held.idx_v + held.nv] = rate
    pin.forwardKinematics(model, data, at, rates, pin.aba(model, data, at, rates, 0 * rates))
    pin.updateFramePlacements(model, data)
    seen = pin.LOCAL_WORLD_ALIGNED
    for name, part in m.parts.items():
        number = model.getFrameId(name)
        arm = part.position - data.oMf[number].translation
        found = pin.getFrameClassicalAcceleration(model, data, number, seen)
        spin = pin.getFrameVelocity(model, data, number, seen).angular
        expected = found.linear + np.cross(found.angular, arm) + np.cross(spin, np.cross(spin, arm))
        pushed = run.reactions[0, part.first : part.first + 3]
        np.testing.assert_allclose(m.gravity + pushed / part.mass, expected, atol=1e-10)


# ---- what becomes of it ------------------------------------------------------------------------


def test_links_held_by_fixed_joints_are_one_body(read):
    """Two equal balls a distance 2 apart, turned against each other: by hand."""
    ball = (0.4, 0.4, 0.4, 0, 0, 0)
    m = read(robot(
        link("base"), link("one", 1.0, ball), link("two", 3.0, ball, xyz="0 0 1"), link("empty"),
        joint("hinge", "continuous", "base", "one", axis="0 1 0"),
        joint("weld", "fixed", "one", "two", xyz="1 0 0", rpy="0 1.5707963267948966 0"),
        joint("mark", "fixed", "two", "empty", xyz="0 0 1"),
    ))  # fmt: skip
    (part,) = m.parts.values()
    assert (part.name, part.mass) == ("one", 4.0)
    np.testing.assert_allclose(part.position, (1.5, 0, 0), atol=1e-15)  # of 0 and 2
    across = 0.8 + 1.0 * 1.5**2 + 3.0 * 0.5**2
    np.testing.assert_allclose(np.sort(part.inertia), (0.8, across, across), rtol=1e-14)
    np.testing.assert_allclose(m.frames["empty"].at, (2, 0, 0), atol=1e-15)
    np.testing.assert_allclose(m.frames["empty"].rotation[:, 2], (1, 0, 0), atol=1e-15)
    assert not m.notes


def test_what_is_not_simulated_is_noted_and_warned_of(read):
    text = robot(
        link("base"),
        link("arm", 2.0, more="<collision><geometry><nonsense/></geometry></collision>"),
        joint("hinge", "revolute", "base", "arm", axis="0 1 0", more=(
            '<limit lower="-1" upper="1" effort="5" velocity="2"/><calibration rising="0"/>'
            '<dynamics damping="0.5" friction="0.1"/><safety_controller k_velocity="0"/>'
        )),
        '<transmission name="t"/><gazebo reference="arm"/><antenna length="1"/>',
    )  # fmt: skip
    with pytest.warns(taut.Unsimulated, match="<limit> of hinge") as caught:
        m = read(text)
    for word in ("limit", "calibration", "friction", "safety_controller", "transmission", "gazebo",
                 "collision", "antenna"):  # fmt: skip
        (note,) = [x for x in m.notes if x.startswith(f"<{word}>")]
        assert note in str(caught[0].message)
    assert "<antenna> is not simulated: it is not known" in m.notes
    assert "<collision> of arm is not simulated: parts pass through each other" in m.notes
    assert len(m.notes) == 8
    assert list(m.forces) == ["hinge damping"]


def test_damping_is_a_torque_and_a_force_against_the_motion(read):
    """One body on a slider, one on a hinge: both slow down exponentially."""
    own = '<dynamics damping="0.5"/>'
    m = read(
        robot(
            link("base"), link("cart", 2.0), link("wheel", 1.0),
            joint("rail", "prismatic", "base", "cart", axis="1 0 0", more=own),
            joint("axle", "continuous", "base", "wheel", axis="0 0 1", more=own),
        ),
        gravity=(0, 0, 0), velocities={"rail": 3.0, "axle": 2.0},
    )  # fmt: skip
    run = taut.simulate(m, duration=1.0, step=0.01, method="composition-4", laws=None)
    fallen = 1 - np.exp(-0.5 / 2.0 * run.t[-1]), 1 - np.exp(-0.5 / 0.15 * run.t[-1])
    assert run["rail"].slide[-1] == pytest.approx(3.0 * 2.0 / 0.5 * fallen[0], rel=1e-6)
    assert run["axle"].angle[-1] == pytest.approx(2.0 * 0.15 / 0.5 * fallen[1], rel=1e-4)


def test_mimic_is_a_gear(read):
    ball = (0.2, 0.2, 0.2, 0, 0, 0)
    m = read(
        robot(
            link("base"), link("a", 1.0, ball), link("b", 1.0, ball), link("c", 1.0, ball),
            joint("ja", "continuous", "base", "a", axis="0 0 1"),
            joint("jb", "continuous", "base", "b", axis="0 0 1",
                  more='<mimic joint="ja" multiplier="-2" offset="0.5"/>'),
            joint("jc", "revolute", "b", "c", xyz="1 0 0", axis="0 0 1",
                  more='<mimic joint="jb"/>'),
        ),
        gravity=(0, 0, 0), positions={"ja": 0.25}, velocities={"ja": 1.0},
    )  # fmt: skip
    np.testing.assert_allclose(m.parts["c"].position, (1, 0, 0), atol=1e-15)  # jb is at 0
    np.testing.assert_allclose(m.parts["c"].angular_velocity, (0, 0, -4), atol=1e-15)
    run = taut.simulate(m, duration=0.5, step=0.01, laws=None)
    np.testing.assert_allclose(run["jb"].angle, -2 * run["ja"].angle, atol=1e-13)
    np.testing.assert_allclose(run["jc"].angle, -2 * run["ja"].angle, atol=1e-13)
    assert abs(run["ja"].angle[-1]) > 0.2


def test_fingers_that_mimic_each_other(read):
    """As in most grippers: a slider follows another one, and a hinge a slider."""
    ball, masses = (0.2, 0.2, 0.2, 0, 0, 0), {"left": 1.0, "right": 2.0, "knob": 1.0}
    m = read(
        robot(
            link("palm"), *(link(x, mass, ball) for x, mass in masses.items()),
            joint("jl", "prismatic", "palm", "left", axis="0 1 0"),
            joint("jr", "prismatic", "palm", "right", axis="0 -1 0",
                  more='<mimic joint="jl" offset="0.01"/>'),
            joint("jk", "continuous", "palm", "knob", axis="1 0 0",
                  more='<mimic joint="jl" multiplier="4"/>'),
        ),
        gravity=(0, 3, 0), positions={"jl": 0.02},
    )  # fmt: skip
    np.testing.assert_allclose(m.parts["right"].position, (0, -0.03, 0), atol=1e-15)
    run = taut.simulate(m, duration=1.0, step=0.01, method="composition-4", laws=None)
    # (1 + 2 + 0.2·4²) s̈ = (1 − 2)·3
    gone = -3 / 6.2 / 2
    assert run["jl"].slide[-1] == pytest.approx(gone, rel=1e-9)
    assert run["jr"].slide[-1] == pytest.approx(gone, rel=1e-9)
    assert run["jk"].angle[-1] == pytest.approx(4 * gone, rel=1e-9)


def test_a_base_may_be_free(read):
    text = robot(link("hull", 5.0), link("arm", 1.0), joint("j", "revolute", "hull", "arm"))
    with pytest.raises(taut.UnknownName, match="hull"):
        read(text, positions={"hull": (0, 0, 1, 1, 0, 0, 0)})
    turn = (0.0, 0.0, 0.0, 1.0)  # half a turn about z
    m = read(text, base="free", positions={"hull": (1, 2, 3, *turn)},
             velocities={"hull": (1, 0, 0, 0, 0, 2)})  # fmt: skip
    assert list(m.parts) == ["hull", "arm"]
    np.testing.assert_allclose(m.parts["arm"].position, (1, 2, 3))
    np.testing.assert_allclose(m.parts["hull"].rotation, np.diag([-1, -1, 1]), atol=1e-15)
    np.testing.assert_allclose(m.parts["arm"].angular_velocity, (0, 0, 2))
    assert m.assemble().freedom == 7


def test_a_joint_and_a_link_may_have_the_same_name(read):
    m = read(robot(link("base"), link("arm", 2.0), joint("arm", "revolute", "base", "arm")))
    assert list(m.parts) == ["arm"]
    assert list(m.joints) == ["arm joint"]
    other = read(robot(link("ground"), link("a", 1.0), joint("j", "prismatic", "ground", "a")))
    assert other.frames["ground"].part is other.ground
    free = read(robot(link("ground", 1.0)), base="free")
    assert list(free.parts) == ["ground link"]


# ---- looks -------------------------------------------------------------------------------------


def seen(geometry, origin="", material=""):
    return f"<visual>{origin}<geometry>{geometry}</geometry>{material}</visual>"


STL = """solid x
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
endsolid
"""


def test_visuals_are_looks_with_their_places_and_colours(read):
    m = read(
        robot(
            '<material name="blue"><color rgba="0 0 1 1"/></material>',
            link("base", more=seen('<sphere radius="0.5"/>', '<origin xyz="0 0 -1"/>')),
            link("arm", 1.0, xyz="0 0 0.5", more=seen(
                '<box size="1 2 3"/>', '<origin xyz="0.1 0 0" rpy="0 0 1.5707963267948966"/>',
                '<material name="blue"/>',
            )),
            link("tip", more=seen('<cylinder radius="0.1" length="2"/>')),
            joint("hinge", "revolute", "base", "arm", xyz="0 0 1", axis="0 1 0"),
            joint("weld", "fixed", "arm", "tip", xyz="1 0 0"),
        ),
        positions={"hinge": np.pi / 2},
    )  # fmt: skip
    (ball,) = m.ground.looks["shapes"]
    assert (ball.kind, ball.size.tolist(), ball.at.tolist()) == ("ball", [1, 1, 1], [0, 0, -1])
    box, cylinder = m.parts["arm"].looks["shapes"]
    assert (box.kind, box.colour, box.size.tolist()) == ("box", "#0000ff", [1, 2, 3])
    np.testing.assert_allclose(box.at, (0, 0, 0.9), atol=1e-15)  # x points down now
    np.testing.assert_allclose(box.rotation[:, 1], (0, 0, 1), atol=1e-15)
    assert (cylinder.kind, cylinder.size.tolist()) == ("cylinder", [0.2, 0.2, 2])
    np.testing.assert_allclose(cylinder.at, (0, 0, 0), atol=1e-15)
    assert not m.notes


@pytest.mark.parametrize(
    "name",
    ["part.stl", "../meshes/part.stl", "package://robots/meshes/part.stl", "file://part.stl"],
)
def test_meshes_beside_the_file_are_drawn(tmp_path, name):
    folder = tmp_path / "robots" / "urdf"
    for place in (folder, tmp_path / "robots" / "meshes"):
        place.mkdir(parents=True)
        (place / "part.stl").write_text(STL)
    text = robot(link("base", more=seen(f'<mesh filename="{name}" scale="2 2 2"/>')))
    (folder / "r.urdf").write_text(text)
    (look,) = taut.urdf(folder / "r.urdf").ground.looks["shapes"]
    assert look.mesh.vertices.max() == 2.0


@pytest.mark.parametrize(
    "name", ["{root}/secret.stl", "../../secret.stl", "package://other/secret.stl", "missing.stl",
             "package://urdf/../../secret.stl", "bad.stl", "part.dae", "&#x2028;.stl"],
)  # fmt: skip
def test_meshes_elsewhere_are_not_opened_and_noted(tmp_path, name):
    folder = tmp_path / "robots" / "urdf"
    folder.mkdir(parents=True)
    (tmp_path / "secret.stl").write_text(STL)
    (folder / "bad.stl").write_text("solid of something else")
    (folder / "part.dae").write_text("<COLLADA/>")
    name = name.format(root=tmp_path)
    text = robot(link("base", more=seen(f'<mesh filename="{name}"/>')))
    (folder / "r.urdf").write_text(text)
    with pytest.warns(taut.Unsimulated, match="is not drawn"):
        m = taut.urdf(folder / "r.urdf")
    assert len(m.notes) == 1
    assert "shapes" not in m.ground.looks
    with pytest.warns(taut.Unsimulated) if "other" not in name else contextlib.nullcontext():
        m = taut.urdf(folder / "r.urdf", packages={"other": tmp_path})
    assert ("shapes" in m.ground.looks) == ("other" in name)


def test_a_look_that_is_not_known_is_noted(read):
    with pytest.warns(taut.Unsimulated, match="<capsule> of base"):
        m = read(robot(link("base", more=seen('<capsule radius="1" length="2"/>'))))
    assert "line 3: the <geometry> of link 'base' has 0 shapes" in m.notes[1]
    assert not m.ground.looks


def test_a_look_without_size_is_noted(read):
    with pytest.warns(taut.Unsimulated, match="look of link base"):
        m = read(robot(link("base", more=seen('<sphere radius="0"/>'))))
    assert not m.ground.looks


RED = '<material name="red"><color rgba="1 0 0 1"/></material>'


@pytest.mark.parametrize(
    ("look", "said"),
    [
        ('<mesh filename="part.stl" scale="1 1 1 1"/>', "scale of the <mesh> of link 'arm' cannot"),
        ('<mesh filename="part.stl" scale="big"/>', "scale of the <mesh> of link 'arm' cannot"),
        ('<mesh filename="part.stl" scale="1 0 1"/>', "the scale of the mesh part.stl is zero"),
        ("<mesh/>", "has no filename"),
        ('<box size="1 1"/>', "size of the <box>"),
        ('<box size="1 -1 1"/>', "a look of link arm is not drawn"),
        ('<cylinder radius="1"/>', "has no length"),
        ('<sphere radius="wide"/>', "radius of the <sphere>"),
        ('<sphere radius="1"/><box size="1 1 1"/>', "has 2 shapes"),
        ('<sphere radius="1"/></geometry><geometry><box size="1 1 1"/>', "has 2 <geometry>"),
    ],
)
def test_what_is_wrong_with_a_look_is_noted_and_the_robot_moves(tmp_path, read, look, said):
    (tmp_path / "part.stl").write_text(STL)
    text = robot(link("base"), link("arm", 2.0, more=seen(look) + seen('<sphere radius="3"/>')),
                 TWO[2])  # fmt: skip
    with pytest.warns(taut.Unsimulated, match=re.escape(said)):
        m = read(text)
    (ball,) = m.parts["arm"].looks["shapes"]
    assert ball.kind == "ball"
    assert m.assemble().freedom == 1


@pytest.mark.parametrize(
    ("words", "said", "colour"),
    [
        (RED.replace("1 0 0 1", "1 0 0"), "rgba of the <color>", None),
        (RED.replace("1 0 0 1", "255 0 0 1"), "the colour 255 0 0 is not shown", None),
        ('<material name="blue"/>', "the material blue is not in the file", None),
        (RED, None, "#ff0000"),
    ],
)
def test_a_colour_that_is_none_leaves_the_shape(read, words, said, colour):
    text = robot(link("base"), link("arm", 2.0, more=seen('<sphere radius="1"/>', "", words)),
                 TWO[2])  # fmt: skip
    with pytest.warns(taut.Unsimulated, match=said) if said else contextlib.nullcontext():
        m = read(text)
    (ball,) = m.parts["arm"].looks["shapes"]
    assert ball.colour == colour


# ---- inertias ----------------------------------------------------------------------------------

NONE_SUCH = (0.1, 0.1, 0.5, 0, 0, 0)  # J₁ + J₂ < J₃


def test_inertias_are_judged_of_what_moves_as_one(read):
    weld = joint("weld", "fixed", "arm", "tip", xyz="0 0 1")
    with pytest.warns(taut.Unsimulated, match="the inertia of link 'tip' is not that of a body"):
        m = read(robot(*TWO, link("tip", 1.0, NONE_SUCH, xyz="0 0 1"), weld))
    assert m.parts["arm"].mass == 3.0
    assert m.notes[0].startswith("line 6: ")  # and what counts
    hole = link("tip", -0.5, (0.01, 0.01, 0.01, 0, 0, 0), xyz="0 0 -1")
    with pytest.warns(taut.Unsimulated, match="the mass of link 'tip' is negative"):
        m = read(robot(*TWO, hole, weld))
    assert m.parts["arm"].mass == 1.5
    refused(read, robot(link("base"), link("arm", 2.0, NONE_SUCH), TWO[2]), "line 4", "J₁ + J₂")
    light = link("arm", 1e-6, (1e-9, 1e-9, 1e-9, 0, 0, 0))  # what it carries counts
    whole = robot(link("base"), light, link("tip", 1.0, NONE_SUCH), TWO[2], weld)
    refused(read, whole, "line 4", "J₁ + J₂")


def test_the_inertia_of_what_is_fixed_to_the_ground_does_not_matter(read):
    for base in (link("base", 1.0, NONE_SUCH), link("base", -1.0), link("base", 0.0)):
        assert read(robot(base, *TWO[1:])).assemble().freedom == 1
    plate = (link("plate", 1.0, NONE_SUCH), joint("weld", "fixed", "base", "plate"))
    assert not read(robot(*TWO, *plate)).notes
    refused(read, robot(link("base", 1.0, NONE_SUCH), *TWO[1:]), "link 'base'", base="free")


def test_links_that_are_put_together_move_as_bodies_with_fixed_joints(tmp_path):
    """A free tree with four fixed joints, against one body for each link and `m.fixed`."""
    kinds = ("revolute", "fixed", "prismatic", "fixed", "continuous", "fixed", "fixed", "revolute")
    text = ROBOTS["random_tree"](11, kinds)
    (tmp_path / "r.urdf").write_text(text)
    rates = {"j1": 1.0, "l0": (0.1, 0.2, 0.3, 0.5, -0.4, 0.3)}
    lumped = taut.urdf(tmp_path / "r.urdf", base="free", velocities=rates, positions={"j3": 0.2})
    apart = ROBOTS["unlumped"](text, lumped)
    assert (len(lumped.parts), len(apart.parts)) == (5, 9)
    one, other = (taut.simulate(m, duration=0.3, step=0.005, laws=None) for m in (lumped, apart))
    for name, frame in lumped.frames.items():
        there = one[frame.part.name]
        assert np.abs(other[name].place(frame.at) - there.place(frame.at)).max() < 1e-12
        assert np.abs(other[name].angular_velocity - there.angular_velocity).max() < 1e-12
        assert np.ptp(there.place(frame.at), axis=0).max() > 0.1
    for name in ("j1", "j3", "j5", "j8"):
        np.testing.assert_allclose(other[name].torque, one[name].torque, atol=1e-11)


# ---- odd files ---------------------------------------------------------------------------------


def test_a_fixed_joint_that_mimics_is_noted(read):
    weld = joint("weld", "fixed", "arm", "tip", more='<mimic joint="nothing"/>')
    with pytest.warns(taut.Unsimulated, match="<mimic> of joint weld is left out"):
        m = read(robot(*TWO, link("tip", 1.0), weld))
    assert m.assemble().freedom == 1


def test_dynamics_of_a_fixed_joint_do_nothing(read):
    weld = joint("weld", "fixed", "arm", "tip", more='<dynamics damping="-1" friction="2"/>')
    m = read(robot(*TWO, link("tip", 1.0), weld))
    assert not m.notes
    assert not m.forces


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<robot", '<robot xmlns="http://www.ros.org"'),
        ("<robot", '<robot xmlns:xacro="http://ros.org/wiki/xacro"'),
        (' name="r"', ""),
        (' name="r"', ' name=" "'),
        ('<axis xyz="0 1 0"/>', '<axis xyz="0 1e-200 0"/>'),
        ('<axis xyz="0 1 0"/>', '<axis xyz="0 1e200 0"/>'),
        ('<axis xyz="0 1 0"/>', '<axis xyz="0 7 0"/>'),
        (' rpy="0 0 0"', ""),
        ("</robot>", "<!-- <link> --></robot>"),
        ('xyz="0 0 0"', 'xyz=" 0\t0\n0 "'),
        ('<?xml version="1.0"?>', '<?xml version="1.1" encoding="latin-1"?>'),
    ],
)
def test_what_changes_nothing(read, old, new):
    plain = read(robot(*TWO))
    m = read(robot(*TWO).replace(old, new))
    assert not m.notes
    (one,), (other,) = (x.joints.values() for x in (plain, m))
    np.testing.assert_allclose(other.triad["e"], one.triad["e"], atol=1e-16)
    assert m.parts["arm"].mass == 2.0


def test_names_of_dampers_are_free(read):
    own = joint("k", "revolute", "arm", "h damping", axis="0 1 0")
    held = joint("h", "revolute", "base", "arm", axis="0 1 0", more='<dynamics damping="1"/>')
    m = read(robot(*TWO[:2], link("h damping", 1.0), held, own))
    assert list(m.forces) == ["h damping force"]


def test_a_robot_that_cannot_move_says_so(read):
    m = read(robot(link("base", 1.0)))
    with pytest.raises(taut.ModelError, match='base="free"'):
        m.system()


# ---- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (robot(*TWO).replace('"1.0"?', '"0.0"?'), ("line 1", "XML of version 0.0 cannot be read")),
        (robot(*TWO)[:-20], ("line", "this XML cannot be read")),
        ("hello", ("line 1", "this is no XML")),
        (robot(*TWO, '<xacro:property name="m"/>'), ("line 6", "xacro file", "xacro model.xacro")),
        (robot(*TWO).replace('"2.0"', '"${m}"'), ("line 4", "'${m}'", "xacro model.xacro")),
    ],
)
def test_files_that_are_none(read, text, words):
    refused(read, text, *words)


@pytest.mark.parametrize(
    ("elements", "words"),
    [
        ((*TWO, link("arm", 1.0)), ("line 6", "two links called 'arm'", "line 4")),
        ((*TWO, joint("hinge", "fixed", "base", "arm")), ("line 6", "two joints called 'hinge'")),
        ((*TWO, joint("j", "fixed", "base", "arm")), ("line 6", "two parents", "'hinge' and 'j'")),
        ((*TWO, link("far", 1.0)), ("line 6", "2 links without a parent", "base, far")),
        (
            (*TWO, link("x", 1.0), link("y", 1.0), joint("a", "fixed", "x", "y"),
             joint("b", "fixed", "y", "x")),
            ("line 6", "'x' is held in a circle"),
        ),
        ((*TWO, joint("j", "fixed", "arm", "arm")), ("line 6", "'arm' to itself")),
        ((*TWO, joint("j", "fixed", "arm", "nowhere")), ("line 6", "'nowhere', which is not")),
        ((*TWO, joint("j", "hinged", "base", "arm")), ("line 6", "hinged", "revolute or")),
        (
            (link("base"), link("arm"), joint("j", "revolute", "base", "arm")),
            ("line 4", "link 'arm', which joint 'j' lets move, has no mass"),
        ),
        (
            (link("base"), link("arm", 1.0, (0,) * 6, xyz="1 0 0"),
             joint("j", "revolute", "base", "arm")),
            ("line 4", "mass but no inertia"),
        ),
        (
            (link("base"), link("arm", 1.0, (1, 1, 3, 0, 0, 0)),
             joint("j", "revolute", "base", "arm")),
            ("line 4", "inertia of link 'arm' is not that of a body"),
        ),
        ((*TWO[::2], link("arm", -1.0)), ("line 5", "mass of link 'arm' is negative")),
        ((link("base", "heavy"),), ("line 3", "value of the <mass>", "'heavy'")),
        ((link("base", "nan"),), ("line 3", "a finite number", "'nan'")),
        ((link("base", 1.0, xyz="0 0"),), ("line 3", "xyz of the <origin>", "3 finite numbers")),
        (('<link name="a"><inertial><mass value="1"/></inertial></link>',),
         ("line 3", "no <inertia>")),
        (('<link name="a"><inertial><mass value="1"/><inertia ixx="1"/></inertial></link>',),
         ("line 3", "has no iyy")),
        (("<link/>",), ("line 3", "has no name")),
        (('<link name="a"><inertial/><inertial/></link>',), ("line 3",)),
        ((), ("line 2", "has no <link>")),
        ((*TWO[:2], joint("j", "revolute", "base", "arm", axis="0 0 0")),
         ("line 5", "no direction")),
        ((*TWO[:2], joint("j", "revolute", "base", "arm", more='<dynamics damping="-1"/>')),
         ("line 5", "negative")),
        ((*TWO[:2], joint("j", "revolute", "base", "arm", more='<mimic joint="k"/>')),
         ("line 5", "'k', which is not there")),
        ((*TWO[:2], joint("j", "revolute", "base", "arm", more='<mimic joint="j"/>')),
         ("line 5", "mimics itself")),
        ((*TWO, link("c", 1.0), joint("k", "planar", "arm", "c", more='<mimic joint="hinge"/>')),
         ("line 7", "planar and revolute")),
        ((*TWO, link("c", 1.0), joint("k", "revolute", "arm", "c",
                                      more='<mimic joint="hinge" multiplier="0"/>')),
         ("line 7", "0 times")),
        (('<xacro:macro xmlns:xacro="http://ros.org/xacro"/>', *TWO), ("line 3", "xacro")),
    ],
)  # fmt: skip
def test_what_is_no_mechanism_is_refused_with_its_line(read, elements, words):
    refused(read, robot(*elements), *words)


ENTITIES = "".join(f'<!ENTITY a{k + 1} "{f"&a{k};" * 10}">' for k in range(12))
BILLION = f'<!DOCTYPE r [<!ENTITY a0 "aaaa">{ENTITIES}]>'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", ("empty",)),
        (b"\xff\xfe<\x00r", ("line 1", "not UTF-8")),
        (b'<?xml version="1.0"?>\n<robot name="\xe9"/>', ("line 2", "not UTF-8")),
        (b'<robot name="r">\n<link name="a">\n</robot>', ("line 3", "XML cannot be read")),
        (b"<sdf/>", ("line 1", "<sdf>")),
        (b"mass = 3", ("line 1", "no XML")),
        (BILLION.encode() + b'\n<robot name="&a12;"/>', ("line 1", "DOCTYPE")),
        (
            b'<?xml version="1.0"?>\n<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]>\n'
            b'<robot name="r"><link name="&x;"/></robot>',
            ("line 2", "DOCTYPE"),
        ),
        (b'<robot name="r"><link name="&x;"/></robot>', ("line 1", "XML cannot be read")),
        (b"<robot name='r'>" + b"<link name='a'>" * 5000, ("line 1", "XML cannot be read")),
    ],
)
def test_what_is_no_urdf_is_refused(read, text, words):
    refused(read, text, *words)


def test_files_that_are_not_there_or_too_large_are_refused(read, tmp_path, monkeypatch):
    with pytest.raises(taut.FileError, match="no file"):
        taut.urdf(tmp_path / "missing.urdf")
    with pytest.raises(taut.FileError, match="no file"):
        taut.urdf(tmp_path)
    monkeypatch.setattr("taut.files.xml.read_xml.__defaults__", (100,))
    with pytest.raises(taut.FileError, match="too large"):
        read(robot(*TWO))


@pytest.mark.parametrize("module", ["lxml", "yourdfpy"])
def test_without_the_library_it_says_how_to_get_it(read, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(taut.FileError, match=r"(?s)yourdfpy|lxml.*taut\[urdf\]"):
        read(robot(*TWO))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"base": "flying"}, taut.InputError, "fixed"),
        ({"positions": {"hing": 1}}, taut.UnknownName, "did you mean 'hinge'"),
        ({"positions": {"hinge": (1, 2)}}, taut.InputError, "1 finite number"),
        ({"velocities": {"hinge": "fast"}}, taut.InputError, "1 finite number"),
        ({"velocities": {"hinge": np.inf}}, taut.InputError, "1 finite number"),
        ({"positions": [1.0]}, taut.InputError, "a mapping"),
        ({"gravity": "down"}, taut.InputError, "three"),
    ],
)
def test_what_is_no_start_is_refused(read, options, error, words):
    with pytest.raises(error, match=words):
        read(robot(*TWO), **options)


def test_a_joint_that_mimics_has_no_position_of_its_own(read):
    text = robot(
        *TWO, link("c", 1.0),
        joint("k", "revolute", "arm", "c", more='<mimic joint="hinge" multiplier="2"/>'),
    )  # fmt: skip
    with pytest.raises(taut.InputError, match="k follows hinge"):
        read(text, positions={"k": 1.0})


PIECES = ("", "0", "-1", "1e400", "nan", "<", ">", '"', "&", "&lt;", "<link/>", "</link>", "é",
          "\0", "joint_1", "base", "fixed", "planar", "floating", "inertia", " ")  # fmt: skip


@pytest.mark.filterwarnings("ignore::taut.Unsimulated")
@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), st.sampled_from(PIECES)), min_size=1,
             max_size=3)
)  # fmt: skip
@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_done_to_a_file_it_is_read_or_refused(tmp_path, changes):
    text = ARM.read_text()
    for share, cut, piece in changes:
        at = int(share * len(text))
        text = text[:at] + piece + text[at + cut :]
    file = tmp_path / "changed.urdf"
    file.write_text(text)
    said = ""
    try:
        assert taut.urdf(file).frames
    except taut.TautError as error:
        said = str(error)
    assert not said or ("changed.urdf" in said and "line " in said)


def test_the_example_is_the_file_of_the_problem():
    example = HERE.parents[1] / "examples" / "six_axis_arm.urdf"
    if not example.exists():
        pytest.skip("the examples are not in the source archive")
    assert example.read_bytes() == ARM.read_bytes()


@pytest.mark.filterwarnings("ignore::taut.Unsimulated")
def test_a_file_is_a_model():
    model = taut.load(ARM)
    assert model.name == "six_axis_arm"
    assert list(model.model.parts) == list(taut.urdf(ARM).parts)
    with pytest.raises(taut.InputError, match="no parameters"):
        taut.load(ARM, length=2)
