"""Animations: in a notebook, as a page, as a film."""

from __future__ import annotations

import html
import io
import re
import shutil
import subprocess

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from mpl_toolkits.mplot3d import proj3d
from PIL import Image

import taut
from taut.lie import SO3
from taut.problems import problem
from taut.show import film, style
from taut.show.solid import DARK, Solid, lit, shades, turned

needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="needs the program ffmpeg")


@pytest.fixture(scope="module")
def run():
    return problem("zg-double").simulate()


@pytest.fixture(scope="module")
def beam():
    made = taut.Beam(
        length=1, section=taut.Circle(0.02), nodes=11, density=1100, young=5e6, poisson=0.45,
        frame=(1, 0, 0), ends=("clamped", "free"), gravity=(0, 0, -9.81),
    )  # fmt: skip
    return taut.simulate(made, duration=0.5, every=20)


class TestInANotebook:
    def test_is_a_frame_with_the_page_in_it(self, run):
        shown = run.animate()._repr_html_()
        (source,) = re.findall(r'srcdoc="([^"]*)"', shown)
        assert html.unescape(source) == run.animate().html()
        assert "<script" not in shown

    def test_plays_inside_a_frame(self, run, tmp_path, visit):
        file = tmp_path / "notebook.html"
        file.write_text(f"<!DOCTYPE html><html><body>{run.animate()._repr_html_()}</body></html>")
        page = visit(file, reduced_motion="no-preference")
        inner = page.frames[1]
        inner.wait_for_function("tautViews.length === 1 && tautViews[0].time > 0.1")
        picture = inner.locator(".stage").screenshot()
        pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("RGB")).astype(int)
        assert (np.ptp(pixels, axis=2) > 40).mean() > 0.0007

    def test_title_is_escaped(self, run, tmp_path, visit):
        made = run.animate(tmp_path / "run.html", title="<script>alert(1)</script>")
        assert made.title == "<script>alert(1)</script>"
        page = visit(tmp_path / "run.html", width=390)
        assert page.locator("h1").inner_text() == "<script>alert(1)</script>"


class TestPart:
    def test_span(self, run):
        scene = run.animate(span=(5, 6)).scene
        assert scene.t[[0, -1]].tolist() == [5, 6]

    def test_span_of_a_batch_and_of_beams(self, beam):
        given = problem("zg-double")
        batch = given.simulate(q0=np.array([given.q0] * 3), v0=0, duration=2)
        assert batch.animate(span=(1, 2)).scene.t[[0, -1]].tolist() == [1, 2]
        times = beam.animate(span=(0.1, 0.2)).scene.t
        assert times[0] >= 0.1
        assert times[-1] <= 0.2

    def test_a_batch_as_long_as_its_members_are_many(self):
        """Which axis is time is not guessed from lengths."""
        given = problem("zg-double")
        batch = given.simulate(q0=np.array([given.q0] * 4), v0=0, duration=0.03)
        assert batch.q.shape == (4, 4, 4)
        made = batch.animate(span=(0.01, 0.03)).scene
        assert len(made.t) == 3
        assert sum(item.kind == "points" for item in made.items) == 4

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"span": (50, 60)}, "no stored state"),
            ({"span": 3}, "span cannot be read"),
            ({"span": (1, 2, 3)}, "span cannot be read"),
            ({"span": ("a", 2)}, "not a number"),
            ({"speed": 0}, "not positive"),
            ({"seconds": -1}, "not positive"),
            ({"speed": "fast"}, "not a number"),
            ({"speed": 1, "seconds": 2}, "one of them"),
            ({"fps": 0}, "fps"),
            ({"fps": 2.5}, "fps"),
            ({"magnify": 2}, "no option 'magnify'"),
            ({"colour": "red"}, "no option 'colour'"),
            ({"trail": "endless"}, "trail cannot be used"),
            ({"trail": -1}, "trail cannot be used"),
            ({"trail": float("nan")}, "trail cannot be used"),
            ({"trail": None}, "trail cannot be used"),
            ({"trail": 10**400}, "trail cannot be used"),
            ({"span": (6, 5)}, "ends before it begins"),
        ],
    )
    def test_refused(self, run, options, words):
        with pytest.raises(taut.InputError, match=words):
            run.animate(**options)

    @pytest.mark.parametrize("factor", ["large", None, float("nan"), 0, -1, float("inf")])
    def test_displacements_that_cannot_be_enlarged(self, beam, factor):
        with pytest.raises(taut.InputError, match=r"magnify is n(o factor|ot a number|ot finite)"):
            beam.animate(magnify=factor)

    def test_unwritable_places_and_unknown_endings(self, run, tmp_path):
        with pytest.raises(taut.InputError, match="another ending"):
            run.animate(tmp_path / "run.avi")
        (tmp_path / "file").write_text("")
        with pytest.raises(taut.FileError, match="cannot be written"):
            run.animate(tmp_path / "file" / "run.gif")


class TestFilm:
    def test_gif(self, run, tmp_path):
        run.animate(tmp_path / "run.gif", seconds=1, fps=10)
        with Image.open(tmp_path / "run.gif") as picture:
            assert picture.n_frames == 10
            frames = []
            for k in (0, 9):
                picture.seek(k)
                frames.append(np.asarray(picture.convert("RGB")).astype(int))
        assert (np.abs(frames[0] - frames[1]).sum(axis=2) > 100).mean() > 0.003

    @needs_ffmpeg
    @pytest.mark.parametrize("ending", [".mp4", ".webm", ".mov"])
    def test_films(self, run, tmp_path, ending):
        file = tmp_path / f"run{ending}"
        run.animate(file, seconds=0.5, fps=10)
        told = subprocess.run(
            ["ffprobe", "-v", "error", "-count_frames", "-select_streams", "v:0",
             "-show_entries", "stream=nb_read_frames,width", "-of", "csv=p=0", str(file)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert told.stdout.strip() == "864,5"

    def test_without_ffmpeg_it_is_said(self, run, tmp_path, monkeypatch):
        monkeypatch.setattr(film.FFMpegWriter, "isAvailable", classmethod(lambda _: False))
        with pytest.raises(taut.FileError, match="needs the program ffmpeg") as caught:
            run.animate(tmp_path / "run.mp4")
        assert ".gif" in str(caught.value)
        assert not (tmp_path / "run.mp4").exists()

    def test_lasts_twenty_seconds_at_most_unless_asked(self, run):
        scene = run.animate().scene
        assert len(film._times(scene, 0.1, 30, film.LONGEST)) == 600
        assert len(film._times(scene, 1.0, 30, film.LONGEST)) == 600
        assert len(film._times(scene, 2.0, 30, film.LONGEST)) == 300
        with pytest.raises(taut.InputError, match="pictures"):
            film._times(scene, 1e-3, 120, 1e5)

    def test_a_speed_is_kept_to_the_end(self, run, tmp_path):
        run.animate(tmp_path / "run.gif", speed=0.8, fps=1)
        with Image.open(tmp_path / "run.gif") as picture:
            assert picture.n_frames == 25

    def test_title_is_shown_as_it_is(self, run):
        figure, _ = film.painted(run.animate().scene, r"$\nonsense$")
        figure.savefig(io.BytesIO())
        assert figure.get_suptitle() == r"\$\nonsense\$"

    def test_progress(self, run, tmp_path):
        seen = []
        run.animate(tmp_path / "run.gif", seconds=0.4, fps=5, progress=lambda *x: seen.append(x))
        assert seen == [(1, 2), (2, 2)]

    @pytest.mark.parametrize("name", ["car-axis", "kepler-sphere", "fpu", "zg-spatial"])
    def test_bobs_are_where_the_run_says(self, name):
        given = problem(name)
        run = given.simulate(duration=100 * given.step)
        made = run.animate().scene
        figure, update = film.painted(made)
        update(float(made.t[60]))
        basis = film._basis(made)
        points = next(i for i in made.items if i.kind == "points")
        moving = np.flatnonzero(points.data["moving"])
        places = points.data["places"][60][moving] @ basis.T
        (axes,) = figure.axes
        marks = [line for line in axes.lines if line.get_marker() == "o"]
        found = np.array(marks[0].get_data_3d() if not made.planar else marks[0].get_data()).T
        np.testing.assert_allclose(found, places[:, : found.shape[1]], rtol=0, atol=1e-12)

    @pytest.mark.parametrize(("trail", "seconds"), [("none", 0), ("short", 1.2), (3, 3.0)])
    def test_trails_last_as_long_as_one_likes(self, run, trail, seconds):
        made = run.animate(trail=trail, speed=2)
        figure, update = film.painted(made.scene, None, made.pace, made.trail)
        update(10.0)
        trails = [line for line in figure.axes[0].lines if line.get_alpha() == 0.6]
        assert len(trails) == (2 if seconds else 0)
        for line, columns in zip(trails, ([0, 1], [2, 3]), strict=False):
            t = run.t[(run.t >= 10 - 2 * seconds - 1e-9) & (run.t <= 10 + 1e-9)]
            rows = np.searchsorted(run.t, t)
            x = line.get_xdata()
            np.testing.assert_allclose(x[[0, -1]], run.q[rows[[0, -1]], columns[0]], atol=1e-6)

    @pytest.mark.parametrize(("trail", "shown"), [("all", "Infinity"), (3, "3"), ("none", "0")])
    def test_trails_on_a_page(self, run, tmp_path, visit, trail, shown):
        run.animate(tmp_path / "run.html", trail=trail)
        page = visit(tmp_path / "run.html")
        page.wait_for_function("tautViews.length === 1")
        assert page.locator("select").nth(1).input_value() == shown
        assert page.evaluate("String(tautViews[0].stage.trail)") == shown

    def test_where_things_are_in_a_film(self):
        """Rods, springs, trails and the clock, with a basis written by hand: x right, z up."""
        x, y, z = taut.coordinates("x y z")
        drawing = taut.Drawing(
            {"a": (-1, 0, 0), "b": (x, y, z)}, [("a", "b", "rod")], trails=["b"], down="z"
        )
        system = taut.System([x, y, z], mass=1, potential=10 * z, drawing=drawing)
        flown = taut.simulate(system, q0=[0, 0, 0], v0=[1, 2, 3], duration=1, step=0.01)
        scene = flown.animate().scene
        assert scene.up == (0, 0, -1)
        figure, update = film.painted(scene, "flight", pace=0.5, trail=1.0)
        update(0.73)
        k = 73
        right, away, up = np.array([1.0, 0, 0]), np.array([0.0, -1, 0]), np.array([0.0, 0, -1])
        want = np.array([[right @ q, away @ q, up @ q] for q in flown.q])
        lines = figure.axes[0].lines
        (rod,) = [x for x in lines if x.get_linewidth() == 3.0]
        ends = np.array(rod.get_data_3d())[:, :2].T
        np.testing.assert_allclose(ends, [[-1, 0, 0], want[k]], atol=1e-12)
        (trail,) = [x for x in lines if x.get_alpha() == 0.6]
        np.testing.assert_allclose(
            np.array(trail.get_data_3d()).T[:-1], want[23 : k + 1], atol=1e-12
        )
        texts = [x.get_text() for x in figure.texts]
        assert "t = 0.73" in texts

    def test_members_have_their_colours_and_what_is_held_has_none(self):
        given = problem("zg-double")
        batch = given.simulate(q0=np.array([given.q0] * 3), v0=0, duration=0.1)
        figure, _ = film.painted(batch.animate().scene)
        marks = [x for x in figure.axes[0].lines if x.get_linestyle() == "None"]
        moving = [x.get_color() for x in marks if x.get_marker() == "o"]
        assert moving == list(style.COLOURS[:3])
        assert {x.get_color() for x in marks if x.get_marker() == "s"} == {film.STEEL}

    def test_a_film_is_given_all_that_was_asked_for(self, run, tmp_path, monkeypatch):
        seen = {}
        monkeypatch.setattr(
            "taut.show.animation.film", lambda *a, **k: seen.update(k, args=a) or tmp_path
        )
        run.animate(tmp_path / "run.gif", title="swing", trail=3, speed=2, fps=25)
        assert (seen["title"], seen["trail"]) == ("swing", 3.0)
        assert seen["args"][2:] == (2, 25)

    def test_films_and_pages_say_what_is_enlarged(self):
        steel = taut.Beam(
            1, taut.Rectangle(0.02, 0.01), nodes=11, density=7800, young=2e11, poisson=0.3,
            frame=(1, 0, 0), ends=("clamped", "clamped"), gravity=(0, 0, -9.81),
        )  # fmt: skip
        made = taut.simulate(steel, duration=0.002, every=20).animate(magnify=500)
        assert "500 times as large" in made.html()
        figure, _ = film.painted(made.scene)
        assert any("500 times as large" in x.get_text() for x in figure.texts)
        (beam,) = [x for x in made.scene.items if x.kind == "beam"]
        assert f"{beam.data['top']:.3g}" in [x.get_text() for x in figure.texts]

    @pytest.mark.parametrize("gravity", [(0, 0, -9.81), (-7, 0, -7)])
    def test_everything_is_in_the_picture(self, gravity):
        long = taut.Beam(
            1, taut.Rectangle(0.02, 0.01), nodes=11, density=7800, young=2e11, poisson=0.3,
            frame=(1, 0, -0.3), ends=("clamped", "clamped"), gravity=gravity,
        )  # fmt: skip
        scene = taut.simulate(long, duration=0.002, every=20).animate().scene
        figure, _ = film.painted(scene)
        FigureCanvasAgg(figure).draw()
        axes = figure.axes[0]
        (beam,) = [x for x in scene.items if x.kind == "beam"]
        places = beam.data["places"].reshape(-1, 3) @ film._basis(scene).T
        x, y, _ = proj3d.proj_transform(*places.T, axes.get_proj())
        seen = axes.transData.transform(np.column_stack([x, y]))
        assert (seen > 0).all()
        assert (seen < [figure.bbox.width, figure.bbox.height]).all()
        assert np.ptp(seen, axis=0).max() > 0.4 * figure.bbox.height

    def test_gifs_last_as_long_as_they_should(self, run, tmp_path):
        run.animate(tmp_path / "run.gif", seconds=1, fps=30)
        with Image.open(tmp_path / "run.gif") as picture:
            total = 0
            for k in range(picture.n_frames):
                picture.seek(k)
                total += picture.info["duration"]
        assert total == pytest.approx(1000, abs=40)

    def test_solids_are_where_a_twisted_beam_is(self):
        """Corners of a tapered rectangle against places and frames of the run, away from axes."""
        beam = taut.Beam(
            1, lambda s: taut.Rectangle(0.2 - 0.1 * s, 0.05), nodes=9, density=1000, young=1e6,
            poisson=0.3, frame=(1, 0, 0), curvature=(1.5, 2, 0.5), ends=("clamped", "free"),
            gravity=(0, 0, -9.81),
        )  # fmt: skip
        bent = taut.simulate(beam, duration=0.2, every=20)
        scene = bent.animate(magnify=1).scene
        (item,) = [x for x in scene.items if x.kind == "beam"]
        basis = film._basis(scene)
        faces, colours = Solid(item, basis).faces((5, 0.0))
        outlines = np.array(item.data["outline"])
        for j in (0, 4, 8):
            local = np.zeros((4, 3))
            local[:, [0, 2]] = outlines[j]
            corners = bent.positions[5, j] + local @ bent.frames[5, j].T
            want = corners @ basis.T
            ring = faces[4 * j : 4 * j + 4, 0] if j < 8 else faces[28:32, 3]
            np.testing.assert_allclose(ring, want, atol=2e-5)
        ends = faces[-2:].reshape(-1, 3) @ basis
        assert np.abs(ends - bent.positions[5, -1]).max() < 0.15  # the last cap is at the tip
        # Colours of the sides, but for the light, are those of the shade there.
        shade = item.data["shade"][5].astype(float)
        for j in (0, 6):
            plain = shades(np.array([(shade[j] + shade[j + 1]) / 2]))[0, :3]
            found = colours[4 * j, :3]
            np.testing.assert_allclose(found / found.sum(), plain / plain.sum(), atol=1e-9)
        np.testing.assert_allclose(shades(np.array([0.0, 255.0]))[:, 0] * 255, [0x41, 0xE0])

    def test_turns_take_the_shorter_way(self):
        one = SO3.quaternion(SO3.exp(np.array([0, 0, 0.2])))
        other = -SO3.quaternion(SO3.exp(np.array([0, 0, 0.4])))
        found = turned(np.array([[one], [other]]), (0, 0.5))
        np.testing.assert_allclose(found[0], SO3.exp(np.array([0, 0, 0.3])), atol=1e-3)

    def test_beams_are_solids(self, beam):
        """Faces around the sections that the run has, each beside the other, coloured."""
        made = beam.animate(magnify=1)
        (item,) = [x for x in made.scene.items if x.kind == "beam"]
        solid = Solid(item, np.eye(3))
        frame, share = 3, 0.25
        faces, colours = solid.faces((frame, share))
        around = solid.local.shape[1]
        assert faces.shape == (10 * around + 2 * (around - 2), 4, 3)
        places = (1 - share) * beam.positions[frame] + share * beam.positions[frame + 1]
        radius = np.linalg.norm(solid.local[0], axis=1)
        np.testing.assert_allclose(radius, radius[0])
        for j in range(10):
            ring = faces[j * around : (j + 1) * around]
            for corner, node in ((0, j), (1, j), (2, j + 1), (3, j + 1)):
                away = ring[:, corner] - places[node]
                np.testing.assert_allclose(np.linalg.norm(away, axis=1), radius[0], rtol=1e-3)
                tangent = beam.frames[frame, node][:, 1]
                assert np.abs(away @ tangent).max() < 0.02 * radius[0]
        assert np.ptp(colours[:, :3], axis=0).max() > 0.1
        assert ((colours >= 0) & (colours <= 1)).all()
        # A light from the front makes what faces it brighter.
        top = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
        side = top[:, [2, 0, 1]]
        assert lit(top[None]) > lit(side[None]) > DARK

    def test_a_beam_in_a_film_is_as_thick_as_it_is(self):
        shares = []
        for width in (0.04, 0.12):
            made = taut.Beam(
                length=1, section=taut.Square(width), nodes=9, density=1000, young=1e6, poisson=0.3
            )
            still = taut.simulate(made, duration=1e-3)
            figure, _ = film.painted(still.animate().scene)
            FigureCanvasAgg(figure).draw()
            pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int)
            shares.append((np.ptp(pixels, axis=2) > 40).mean())
        assert 2 < shares[1] / shares[0] < 4

    def test_beams_and_fields(self, beam, tmp_path):
        beam.animate(tmp_path / "beam.gif", seconds=0.4, fps=5)
        g, m = taut.coordinates("gamma mu")
        string = taut.Field(
            taut.lie.abelian(1), m**2 / 2 + g**2 / 2, strain=[g], momentum=[m], length=1, nodes=21
        )
        pluck = np.exp(-200 * (string.middles - 0.3) ** 2)[:, None]
        wave = taut.simulate(string, strain0=pluck, duration=1)
        wave.animate(tmp_path / "wave.gif", seconds=0.4, fps=5)
        for name in ("beam", "wave"):
            with Image.open(tmp_path / f"{name}.gif") as picture:
                pixels = np.asarray(picture.convert("RGB")).astype(int)
            assert (np.ptp(pixels, axis=2) > 40).mean() > 0.001
