"""Beams of mechanisms in scenes: solids of their own, and not as many plates."""

import numpy as np
import pytest

import taut
from taut.lie import SO3
from taut.show.frames import part_of
from taut.show.motion import scene_of


@pytest.fixture(scope="module")
def run():
    """A beam that spins and bends, with a body on its tip."""
    m = taut.Mechanism()
    spin = {"angular_velocity": (0, 0, -40.0)}
    rod = taut.Beam(
        1, taut.Rectangle(0.1, 0.06), density=1e3, young=1e6, poisson=0.3, nodes=9, frame=(1, 0, 0)
    )
    made = m.beam("rod", rod, **spin)
    box = {"mass": 1, "inertia": (0.01, 0.01, 0.01)}
    bob = m.body("bob", **box, at=(1, 0, 0.2), velocity=(0, -40.0, 0))
    m.spherical("ball", made.tip, bob, at=(1, 0, 0))
    return taut.simulate(m, duration=0.05, laws=None)


def items(scene, kind: str) -> list[dict]:
    return [item.data for item in scene.items if item.kind == kind]


def test_a_beam_is_one_solid(run):
    scene = scene_of(run)
    (beam,) = items(scene, "beam")
    np.testing.assert_array_equal(beam["places"], run["rod"].positions)
    assert beam["outline"] == [[[0.05, 0.03], [-0.05, 0.03], [-0.05, -0.03], [0.05, -0.03]]]
    assert beam["shade"].max() == 255
    assert beam["top"] > 0
    (bodies,) = items(scene, "bodies")
    assert bodies["names"] == ["bob"]
    (trails,) = items(scene, "trails")
    assert trails["places"].shape[1] == 2  # of the bob and of the tip


def test_turns_are_those_of_the_frames_and_do_not_jump(run):
    (beam,) = items(scene_of(run), "beam")
    turns = beam["turns"] / 32767
    unit = turns / np.linalg.norm(turns, axis=-1, keepdims=True)
    np.testing.assert_allclose(SO3.from_quaternion(unit), run["rod"].frames, atol=2e-4)
    assert np.all(np.sum(turns[1:] * turns[:-1], axis=-1) > 0)


def test_a_plot_shows_the_beam_and_what_it_carries(run):
    """Thin lines at five states, the last one dark, all in the picture; the bob is linked."""
    axes = run.plot("path").axes[0]
    shapes = [np.array(x.get_data_3d()).T for x in axes.lines if x.get_label() == "_beam"]
    rows = np.linspace(0, len(run.t) - 1, 5).astype(int)
    np.testing.assert_array_equal(shapes, run["rod"].positions[rows])
    inks = [x.get_color() for x in axes.lines if x.get_label() == "_beam"]
    assert inks[:4] == [inks[0]] * 4
    assert inks[4] != inks[0]
    (link,) = (np.array(x.get_data_3d()).T for x in axes.lines if x.get_label() == "_rod")
    np.testing.assert_allclose(link, [run["bob"].position[-1], run["ball"].position[-1]])


def test_the_beam_is_in_the_picture_where_its_bob_moves_little(run):
    axes = part_of(run, np.arange(3)).plot("path").axes[0]
    limits = np.array([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()]).T
    places = run["rod"].positions[:3]
    assert np.all(limits.min(axis=0) <= places.min(axis=(0, 1)))
    assert np.all(limits.max(axis=0) >= places.max(axis=(0, 1)))
