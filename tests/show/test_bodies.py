"""Scenes of mechanisms: shapes by inertia, shapes that were given, meshes; page and film."""

import io

import numpy as np
import pytest
from PIL import Image

import taut
from taut.lie import SO3
from taut.show.bodies import TURNS, scene_of
from taut.show.body_shapes import all_shapes, shape_of
from taut.show.scene import as_json
from taut.show.solid import CLEAR, Bodies

CORNERS = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype=float) - 0.25
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
TURN = SO3.exp([0.3, -0.5, 0.9])


@pytest.fixture(scope="module")
def run():
    """A body with a mesh that is thrown, spinning; beside it one with shapes, and the ground."""
    m = taut.Mechanism()
    m.body(
        "thrown", mass=1, inertia=(0.1, 0.12, 0.15), at=(1, 2, 3), rotation=TURN,
        velocity=(0, 0, 1), angular_velocity=(0, 2, 1), mesh=(CORNERS, FACES), colour="magenta",
    )  # fmt: skip
    other = m.body("other", mass=1, inertia=(0.1, 0.12, 0.15), at=(0, 0, 0), rotation=TURN.T)
    m.look(other, "box", size=(0.5, 0.2, 0.1), at=(0.3, 0, 0), rotation=np.eye(3))
    m.look(other, "cylinder", size=(0.2, 0.2, 1), at=(0, 0.4, 0), rotation=TURN, colour=(0, 1, 0))
    m.body("plain", mass=1, inertia=(0.1, 0.1, 0.1), at=(3, 0, 0))
    m.look(m.ground, "ball", size=0.5, at=(-2, 0, 0))
    return taut.simulate(m, duration=1, step=0.05, laws=None)


def test_bodies_are_as_large_as_their_inertia_says():
    """Solids of uniform density: a box of 1 × 2 × 3, a cylinder, a ball, a rod, a plate."""
    m, mass = taut.Mechanism(), 2.0
    box = mass / 12 * np.array([4 + 9, 1 + 9, 1 + 4])
    cylinder = mass * np.array([(3 * 0.25 + 4) / 12, (3 * 0.25 + 4) / 12, 0.125])
    rest = {"mass": mass, "at": (0, 0, 0)}
    assert shape_of(m.body("b", inertia=box, **rest)) == ("box", pytest.approx((1, 2, 3)))
    found = shape_of(m.body("c", inertia=cylinder, **rest))
    assert found == ("cylinder", pytest.approx((1, 1, 2)))
    ball = m.body("s", inertia=[0.4 * mass * 0.7**2] * 3, **rest)
    assert shape_of(ball) == ("ball", pytest.approx((1.4, 1.4, 1.4)))
    rod = shape_of(m.body("r", inertia=(mass * 9 / 12, mass * 9 / 12, 0), **rest))
    assert rod == ("cylinder", pytest.approx((0.06, 0.06, 3)))
    plate = shape_of(m.body("p", inertia=mass / 12 * np.array([4, 9, 13]), **rest))
    assert plate == ("box", pytest.approx((3, 2, 0.06)))


def nested(**looks):
    """Three bodies about one centre, turned; the largest has joints inside and outside."""
    m = taut.Mechanism()
    about = {"at": (1, 2, 3), "rotation": TURN}
    large = m.body("large", mass=1, inertia=(0.1, 0.1, 0.1), **about, **looks)  # 1 across
    m.body("middle", mass=1, inertia=(0.02, 0.02, 0.02), **about)
    m.body("small", mass=1, inertia=(1e-3, 2e-3, 2.5e-3), **about)
    m.revolute("inside", m.ground, large, at=(1.2, 2, 3), axis=(0, 0, 1))
    m.spherical("outside", m.ground, large, at=(1, 2, 5))
    return m


def test_what_would_hide_smaller_bodies_is_clear():
    m = nested()
    large, middle, small = all_shapes(m, list(m.parts.values()))
    assert [own[0].clear for own in (large, middle, small)] == [True, True, False]
    solid, *bars = large
    assert solid.size == pytest.approx((1, 1, 1))
    assert len(bars) == 2
    assert not any(bar.clear for bar in bars)
    # A bar goes from the centre to the joint: its middle is half way, its axis points there.
    for bar, place in zip(bars, ([0.2, 0, 0], [0, 0, 2]), strict=True):
        np.testing.assert_allclose(TURN @ bar.offset, np.array(place) / 2, atol=1e-12)
        along = bar.size[2] * SO3.from_quaternion(bar.spin)[:, 2]
        np.testing.assert_allclose(TURN @ along, place, atol=1e-12)
    assert (len(middle), len(small)) == (1, 1)


def test_what_is_apart_is_not_clear_and_has_bars_to_what_is_outside():
    m = taut.Mechanism()
    one, two = (m.body(f"b{k}", mass=1, inertia=(0.1,) * 3, at=(k, 0, 0)) for k in (0, 1))
    bob = m.point("bob", mass=1, at=(3, 0, 0))
    m.spherical("ball", one, two, at=(0.5, 0, 0))  # in both
    m.rod("rod", two, bob, ends=((1, 1, 0), (3, 0, 0)))
    m.spring("spring", one, two, stiffness=1, length=1, ends=((0, 0, -1), (1, 1, 0)))
    found = all_shapes(m, [one, two])
    assert [[x.clear for x in own] for own in found] == [[False, False], [False, False]]
    np.testing.assert_allclose([own[1].offset for own in found], [(0, 0, -0.5), (0, 0.5, 0)])


@pytest.mark.parametrize(("place", "clear"), [((0, 0, 1.4), True), ((0, 0.6, 0), False)])
def test_a_box_is_clear_where_a_point_lies_in_it_as_it_is_turned(place, clear):
    m = taut.Mechanism()
    sides = np.array([0.5, 1, 3])  # of a box, which is turned
    moments = (np.sum(sides**2) - sides**2) / 12
    box = m.body("box", mass=1, inertia=moments, at=(1, 2, 3), rotation=TURN)
    m.point("bob", mass=1, at=np.array([1, 2, 3]) + TURN @ place)
    ((solid,),) = all_shapes(m, [box])
    assert (solid.look, solid.clear) == ("box", clear)


@pytest.mark.parametrize("looks", [{"look": "ball"}, {"size": 2.0}])
def test_a_look_that_was_given_is_as_it_was_given(looks):
    m = nested(**looks)
    ((given,), *_) = all_shapes(m, list(m.parts.values()))
    assert not given.clear


def test_a_clear_body_is_seen_through_in_a_film():
    m = nested()
    run = taut.simulate(m, duration=0.1, step=0.1, laws=None)
    (item,) = (x for x in scene_of(run, 6).items if x.kind == "bodies")
    solids = Bodies(item, np.eye(3))
    colours = solids.faces((0, 0.0))[1]
    assert set(colours[solids.owner == 0, 3]) == {CLEAR, 1.0}  # the ball and its bars
    assert set(colours[solids.owner == 2, 3]) == {1.0}


def test_a_scene_has_all_shapes_with_their_bodies(run):
    scene = scene_of(run, 6)
    moving, ground = (item.data for item in scene.items if item.kind == "bodies")
    assert moving["looks"] == ["mesh", "box", "cylinder", "ball"]
    assert moving["owners"] == [0, 1, 1, 2]
    assert moving["names"] == ["", "", "plain"]
    assert moving["colours"] == ["#ff00ff", None, "#00ff00", None]
    assert moving["meshes"] == [[0, 4, 0, 4], None, None, None]
    np.testing.assert_array_equal(moving["vertices"][0], CORNERS)
    np.testing.assert_array_equal(moving["faces"][0], FACES)
    assert (ground["looks"], ground["inks"], len(ground["places"])) == (["ball"], [None], 1)
    assert scene.box[0, 0] == pytest.approx(-2.25)  # of the ball on the ground
    page = as_json(scene, [])["scene"]["items"]
    kinds = [x["faces"]["dtype"] for x in page if "faces" in x]
    assert kinds == ["i4"]


def test_a_mesh_that_is_used_twice_is_kept_once():
    m = taut.Mechanism()
    mesh = taut.model.mechanism.meshes.mesh((CORNERS, FACES))
    for k in range(3):
        m.body(f"b{k}", mass=1, inertia=(1, 1, 1), at=(k, 0, 0), mesh=mesh)
    run = taut.simulate(m, duration=0.1, step=0.1, laws=None)
    (item,) = (x for x in scene_of(run, 6).items if x.kind == "bodies")
    assert item.data["vertices"].shape == (1, 4, 3)
    assert item.data["meshes"] == [[0, 4, 0, 4]] * 3


def test_faces_in_a_film_are_where_the_bodies_are(run):
    scene = scene_of(run, 6)
    moving, ground = (Bodies(x, np.eye(3)) for x in scene.items if x.kind == "bodies")
    for row in (0, len(run.t) - 1):
        faces, colours = moving.faces((row, 0.0))
        turn, centre = run["thrown"].rotation[row], run["thrown"].position[row]
        np.testing.assert_allclose(faces[:4, :3], (CORNERS @ turn.T + centre)[FACES], atol=3e-4)
        np.testing.assert_array_equal(faces[:4, 2], faces[:4, 3])
        box = faces[4:10].reshape(-1, 3)
        np.testing.assert_allclose(box.max(axis=0) - box.min(axis=0), (0.5, 0.2, 0.1), atol=1e-4)
        np.testing.assert_allclose((box.max(axis=0) + box.min(axis=0)) / 2, (0.3, 0, 0), atol=1e-4)
        tube = faces[moving.owner == 1][6:].reshape(-1, 3) - (0, 0.4, 0)
        assert np.abs(tube @ TURN[:, 2]).max() == pytest.approx(0.5, abs=1e-4)
        assert np.all(colours[:4, 1] == 0)
        assert np.all(colours[:4, 0] > 0.5)
    still = ground.faces((7, 0.5))[0].reshape(-1, 3)
    np.testing.assert_allclose(still.mean(axis=0), (-2, 0, 0), atol=1e-3)


def test_looks_of_a_thin_rod_stay_along_it():
    m = taut.Mechanism()
    m.body("rod", mass=1, inertia=(0.1, 0.1, 0), at=(0, 0, 0), angular_velocity=(1, 0, 0))
    m.look("rod", "ball", size=0.2, at=(0, 0, 0.5))
    run = taut.simulate(m, duration=1, step=0.05, laws=None)
    (item,) = (x for x in scene_of(run, 6).items if x.kind == "bodies")
    faces = Bodies(item, np.eye(3)).faces((len(run.t) - 1, 0.0))[0].reshape(-1, 3)
    np.testing.assert_allclose(faces.mean(axis=0), 0.5 * run["rod"].axis[-1], atol=1e-3)


def test_a_report_says_what_is_not_simulated(run, tmp_path, monkeypatch):
    assert "not simulated" not in run.report(tmp_path / "run.html").read_text()
    monkeypatch.setattr(run.system.mechanism, "notes", ["<limit> of elbow_1: *not* simulated"])
    page = run.report(tmp_path / "run.html").read_text()
    assert "<li>&lt;limit&gt; of elbow_1: *not* simulated</li>" in page


def test_a_mesh_is_seen_on_the_page_and_turns(run, visit, tmp_path):
    """Magenta is of no other thing in the picture."""
    run.animate(tmp_path / "run.html")
    page = visit(tmp_path / "run.html", width=900, height=700)
    page.wait_for_function("tautViews.length === 1")
    seen = []
    for time in (0.0, 0.9):
        page.evaluate(
            """(time) => new Promise((done) => {
                tautViews[0].pause();
                tautViews[0].seek(time);
                const wait = (k) => (k ? requestAnimationFrame(() => wait(k - 1)) : done());
                wait(3);
            })""",
            time,
        )
        data = page.locator("canvas").first.screenshot()
        colours = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)
        red, green, blue = np.moveaxis(colours, -1, 0)
        seen.append((red > green + 60) & (blue > green + 60) & (np.abs(red - blue) < 30))
    assert min(x.sum() for x in seen) > 200
    assert np.mean(seen[0] != seen[1]) > 2e-4


@pytest.mark.parametrize("inertia", [(1, 1.9, 1), (1, 2, 1), (0, 1, 1)])
def test_sizes_are_along_the_axes_of_the_body(inertia):
    """Also of plates and thin rods, whose principal axes are sorted."""
    m = taut.Mechanism()
    m.body("b", mass=1, inertia=inertia, at=(0, 0, 0), look="cylinder", size=(0.2, 0.3, 0.9))
    run = taut.simulate(m, duration=0.1, step=0.1, laws=None)
    (solid,) = (x for x in scene_of(run, 1).items if x.kind == "bodies")
    turn = solid.data["turns"][0, 0] / TURNS
    frame = SO3.from_quaternion(turn / np.linalg.norm(turn))
    (drawn,) = all_shapes(run.system.mechanism, [run.system.mechanism.parts["b"]])[0]
    axes = frame @ SO3.from_quaternion(drawn.spin)
    assert drawn.size == pytest.approx((0.2, 0.3, 0.9))
    np.testing.assert_allclose(np.abs(axes[:, 2]), (0, 0, 1), atol=1e-3)
    assert solid.data["names"] == ["b"]
