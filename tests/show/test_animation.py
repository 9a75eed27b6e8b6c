"""Animations: in a notebook, as a page, as a film."""

from __future__ import annotations

import html
import io
import re
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image

import taut
from taut.problems import problem
from taut.show import film

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
        page = visit(file)
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
        ],
    )
    def test_refused(self, run, options, words):
        with pytest.raises(taut.InputError, match=words):
            run.animate(**options)

    @pytest.mark.parametrize("factor", ["large", None, float("nan"), 0, -1, float("inf")])
    def test_displacements_that_cannot_be_enlarged(self, beam, factor):
        with pytest.raises(taut.InputError, match="magnify is no factor"):
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
