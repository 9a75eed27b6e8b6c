"""Reports: what is on the page, and what it does when it is opened."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import sympy as sp
from PIL import Image

import taut
from taut.problems import problem
from taut.show.report import page_of

NASTY = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def pendulum():
    """The double pendulum over 20 s."""
    return problem("zg-double").simulate()


@pytest.fixture(scope="module")
def beam():
    made = taut.Beam(
        length=1, section=taut.Rectangle(0.05, 0.02), nodes=21, density=1100, young=5e6,
        poisson=0.45, frame=(1, 0, 0), ends=("clamped", "free"), gravity=(0, 0, -9.81),
    )  # fmt: skip
    made.body(at="tip", mass=0.1)
    return taut.simulate(made, duration=0.5, every=20)


class Reader(HTMLParser):
    """Tags that are open, texts, and data of scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.words: list[str] = []
        self.scripts: list[str] = []
        self._in_script = False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._in_script = tag == "script"
        if self._in_script:
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._in_script = False

    def handle_data(self, data):
        if self._in_script:
            self.scripts[-1] += data
        else:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def data(self) -> dict:
        """What the viewer is given."""
        (found,) = [
            s for (tag, a), s in zip(self._scripts(), self.scripts, strict=True) if a.get("type")
        ]
        return json.loads(found)

    def _scripts(self):
        return [(tag, a) for tag, a in self.tags if tag == "script"]


def read(path) -> Reader:
    return Reader(path.read_text(encoding="utf-8"))


def shot(page, selector: str) -> np.ndarray:
    """What an element looks like, as an array of colours."""
    data = page.locator(selector).first.screenshot()
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def put(page, time: float, **settings) -> None:
    """Stop at a time and wait until that is drawn."""
    page.wait_for_function("tautViews.length === 1")
    for name, value in settings.items():
        page.evaluate(f"tautViews[0].stage.{name} = {value}")
    page.evaluate(
        """(time) => new Promise((done) => {
            tautViews[0].pause();
            tautViews[0].seek(time);
            const wait = (k) => (k ? requestAnimationFrame(() => wait(k - 1)) : done());
            wait(3);
        })""",
        time,
    )


def coloured(picture: np.ndarray) -> float:
    """The share of points that are neither white nor grey."""
    return float(np.mean(np.ptp(picture, axis=2) > 40))


class TestPage:
    def test_holds_the_certificate_the_model_and_the_settings(self, pendulum, tmp_path):
        page = read(pendulum.report(tmp_path / "deep" / "run.html"))
        for what, value, verdict in pendulum.certificate.rows():
            assert what in page.text
            assert value in page.text
            assert verdict in page.text
        for word in ("rattle", "constraint upper rod", "0.01", "numpy", "Newton iterations"):
            assert word in page.text
        assert any(tag == "math" for tag, _ in page.tags)
        assert "Andersen (1983)" in page.text

    def test_formulas_and_values_are_those_of_the_model(self, tmp_path):
        x, y, k = taut.coordinates("x y k")
        system = taut.System([x, y], mass=[1, 3], potential=k * x**2, parameters={"k": 2.5},
                             forces={y: -x})  # fmt: skip
        run = taut.simulate(system, q0=[1, 0], v0=0, duration=1, step=0.1)
        text = run.report(tmp_path / "run.html").read_text()
        assert re.search(r"<td[^>]*>k</td><td[^>]*>2\.5</td>", text)
        rows = re.findall(r"<th>(L|H|force on [xy])</th><td><math[^>]*>(.*?)</math>", text)
        assert [name for name, _ in rows] == ["L", "force on y"]
        plain = ["".join(re.sub(r"<[^>]*>", "", x).split()) for _, x in rows]
        assert "x&#775;" in plain[0]
        assert "−k" in plain[0]
        assert plain[1] == "−x"
        px, py = sp.symbols("px py", real=True)
        given = taut.System([x, y], momenta=[px, py], hamiltonian=(px**2 + py**2) / 2)
        other = taut.simulate(given, q0=[1, 0], p0=[0, 1], duration=1, step=0.1)
        assert ">H</th>" in other.report(tmp_path / "h.html").read_text()
        flow = taut.simulate(taut.Flow([x, y], [7 * y, -x]), q0=[1, 0], duration=1, step=0.1)
        text = flow.report(tmp_path / "flow.html").read_text()
        rows = dict(re.findall(r"<th>(d[xy]/dt)</th><td><math[^>]*>(.*?)</math>", text))
        assert "7" in rows["dx/dt"]
        assert "7" not in rows["dy/dt"]

    def test_terms_are_added_up(self, tmp_path):
        a, b, c, u, v = taut.coordinates("a b c u v")
        body = taut.Term("lagrangian", (u,), [v**2 / 2 - 3 * u], [[0], [1], [2]], rates=(v,))
        system = taut.System.from_terms([a, b, c], [body])
        run = taut.simulate(system, q0=[1, 2, 3], v0=0, duration=1, step=0.1)
        text = run.report(tmp_path / "run.html").read_text()
        (row,) = re.findall(r"<th>L</th><td><math[^>]*>(.*?)</math>", text)
        plain = re.sub(r"<[^>]*>", "", row)
        for letter in "abc":
            assert letter in plain
        assert "u" not in plain

    def test_every_beam_is_described(self, tmp_path):
        one, two = (
            taut.Beam(1, taut.Square(size), nodes=5, density=1000, young=1e7, poisson=0.3,
                      at=at, frame=(1, 0, 0))
            for size, at in ((0.1, (0, 0, 0)), (0.2, (1, 0, 0)))
        )  # fmt: skip
        two.body(at="tip", mass=0.75)
        run = taut.simulate(taut.Beams([one, two]), duration=0.001)
        page = read(run.report(tmp_path / "run.html"))
        for word in ("Square(0.1)", "Square(0.2)", "mass 0.75 at node 4"):
            assert word in page.text

    def test_needs_nothing_but_itself(self, pendulum, tmp_path):
        page = read(pendulum.report(tmp_path / "run.html"))
        for tag, attributes in page.tags:
            assert "src" not in attributes or attributes["src"].startswith("data:"), tag
            assert tag != "link"
        assert (
            "three.js authors" in (tmp_path / "run.html").read_text()
        )  # their licence asks for it

    def test_title(self, pendulum, tmp_path):
        page = read(pendulum.report(tmp_path / "run.html", title="A swing"))
        assert page.words.count("A swing") == 2  # of the window and of the page

    def test_nothing_of_a_user_is_read_as_markup(self, tmp_path, visit):
        x, y = sp.symbols("x_<script>alert('x')</script> y_<script>alert('x')</script>")
        system = taut.System(
            [x, y], mass=[1, 1], potential=y, constraints={NASTY: x**2 + y**2 - 1},
            parameters={"<b>k": 1.0}, drawing=taut.Drawing({NASTY: (x, y)}),
        )  # fmt: skip
        run = taut.simulate(
            system, q0=[1, 0], v0=0, duration=1, step=0.1, laws={"<img src=x onerror=alert(2)>": y}
        )
        file = run.report(tmp_path / "run.html", title=NASTY)
        allowed = {"html", "head", "meta", "title", "style", "script", "body", "header", "h1", "p",
                   "nav", "a", "main", "h2", "div", "table", "caption", "tbody", "thead", "tr",
                   "th", "td", "math", "mrow", "mi", "mo", "mn", "msub", "msup", "mfrac", "sub",
                   "mfenced", "msubsup", "mtext", "mspace", "ul", "li"}  # fmt: skip
        page = read(file)
        assert {tag for tag, _ in page.tags} <= allowed
        assert len(page.scripts) == 3
        assert not any("alert" in s for s in page.scripts[1:])
        assert "<" not in page.scripts[0]
        opened = visit(file)
        opened.wait_for_function("tautViews.length === 1")
        assert opened.locator(".u-legend").count() == 4
        assert NASTY in opened.locator(".u-legend").nth(3).inner_text()
        assert opened.locator(".overlay .label").inner_text() == NASTY
        assert opened.locator(".u-legend script, .u-legend img, .overlay script").count() == 0

    def test_colours_verdicts(self, tmp_path):
        good = problem("zg-spherical").simulate(duration=60)
        bad = problem("zg-spherical").simulate(duration=600, method="symplectic-euler")
        classes = [
            {a.get("class") for tag, a in Reader(page_of(run).html()).tags if tag == "td"}
            for run in (good, bad)
        ]
        assert "bad" not in classes[0]
        assert "good" in classes[0]
        assert "bad" in classes[1]


class TestUnusualRuns:
    def test_no_places_to_draw(self, tmp_path, visit):
        angles = taut.coordinates("theta phi")
        swing = taut.System(angles, mass=1, potential=-sp.cos(angles[0]) - sp.cos(angles[1]))
        run = taut.simulate(swing, q0=[1, 0.5], v0=0, duration=20, step=0.1)
        file = run.report(tmp_path / "run.html")
        page = read(file)
        assert page.data()["scene"] is None
        assert page.data()["panels"][0]["names"] == ["theta", "phi"]
        assert "There is nothing to draw" in page.text
        assert "taut.Drawing" in page.text
        opened = visit(file)
        assert opened.locator(".stage").count() == 0
        assert coloured(shot(opened, ".panel")) > 0.003

    def test_one_frame(self, tmp_path, visit):
        x, y = taut.coordinates("x y")
        pendulum = taut.System([x, y], mass=[1, 1], potential=y, constraints=[x**2 + y**2 - 1])
        run = taut.simulate(pendulum, q0=[1, 0], v0=0, duration=1, step=1)
        from dataclasses import replace

        first = replace(run, t=run.t[:1], q=run.q[:1], v=run.v[:1], p=run.p[:1])
        opened = visit(first.report(tmp_path / "run.html"))
        put(opened, 0)
        assert opened.locator(".scrubber").is_disabled()
        assert opened.locator(".play").is_disabled()
        assert coloured(shot(opened, ".stage")) > 0.001

    def test_a_failed_run_is_drawn_as_far_as_it_came(self, tmp_path, visit):
        x, y = taut.coordinates("x y")
        runaway = taut.System([x, y], mass=[1, 1], potential=-(x**4))
        with pytest.raises(taut.TautError) as caught:
            taut.simulate(runaway, q0=[1, 1], v0=[1, 0], duration=100, step=0.01, method="rk4")
        run = caught.value.partial
        from dataclasses import replace

        rotten = run.q.copy()
        rotten[-3:] = np.nan
        file = replace(run, q=rotten).report(tmp_path / "run.html")
        assert f"drawn to t = {run.t[-4]:.6g}" in read(file).text
        assert read(file).data()["scene"]["t"]["shape"] == [len(run.t) - 3]
        visit(file).wait_for_function("tautViews[0].time >= 0")

    def test_a_run_that_blew_up_says_so_and_can_be_seen(self, tmp_path, visit):
        x, y = taut.coordinates("x y")
        runaway = taut.System([x, y], mass=[1, 1], potential=-(x**4))
        with pytest.raises(taut.StepError) as caught:
            taut.simulate(runaway, q0=[1, 1], v0=[1, 0], duration=100, step=0.01, method="rk4")
        run = caught.value.partial
        assert np.abs(run.q[-1]).max() > 1e20
        file = run.report(tmp_path / "run.html")
        page = read(file)
        assert f"This run ended early: {caught.value.what}." in page.words
        assert "after it the run blows up" in page.text
        assert np.ptp(page.data()["scene"]["box"], axis=0).max() < 30
        energy = page.data()["panels"][0]
        assert energy["names"] == ["H − H₀"]
        assert energy["limits"][1] < 1e3
        assert "goes on to" in energy["note"]
        opened = visit(file)
        put(opened, 0.7)
        scale = "tautViews[0].curves[0].plot.scales.y.max"
        assert opened.evaluate(scale) == energy["limits"][1]
        opened.evaluate("tautViews[0].zoom(4, 0.77)")
        opened.wait_for_function(f"{scale} > 1e20")  # seen where one looks closer
        assert opened.locator(".warning").is_visible()

    def test_a_beam_that_blew_up(self, tmp_path):
        beam = taut.Beam(
            length=1, section=taut.Square(0.1), nodes=9, density=1000, young=1e7, poisson=0.3
        )
        bent = np.tile([0.3, 0, 0, 0, 0, 0], (8, 1))
        with pytest.warns(taut.UnstableStep), pytest.raises(taut.StepError) as caught:
            taut.simulate(beam, strain0=bent, duration=2, step=1.3e-3, method="poisson")
        page = read(caught.value.partial.report(tmp_path / "run.html"))
        assert f"This run ended early: {caught.value.what}." in page.words
        assert np.ptp(page.data()["scene"]["box"], axis=0).max() < 100

    def test_the_start_is_printed(self, tmp_path):
        x, y = taut.coordinates("x y")
        pendulum = taut.System([x, y], mass=[1, 1], potential=y, constraints=[x**2 + y**2 - 1])
        run = taut.simulate(pendulum, q0=[0.6, 0.8], v0=[-0.4, 0.3], duration=1, step=0.1)
        page = read(run.report(tmp_path / "run.html"))
        cells = [" ".join(word.split()) for word in page.words]
        at = cells.index("at the start")
        assert [c for c in cells[at:] if c][:9] == [
            "at the start", "q", "q̇", "x", "0.6", "-0.4", "y", "0.8", "0.3"
        ]  # fmt: skip

    def test_beams_say_what_they_are_made_of(self, beam, tmp_path):
        page = read(beam.report(tmp_path / "run.html"))
        for word in ("Rectangle(0.05, 0.02)", "density 1100", "Young's modulus 5e+06",
                     "clamped and free", "(0, 0, -9.81)"):  # fmt: skip
            assert word in page.text

    @pytest.mark.parametrize(("members", "chosen"), [(2, [0, 4]), ([3, 1], [3, 1]), ([-1], [4])])
    def test_members_of_a_batch(self, tmp_path, members, chosen):
        given = problem("zg-double")
        starts = np.linspace(0, 0.1, 5)[:, None] * [1, -1, 2, 0]
        run = given.simulate(q0=np.array([given.q0] * 5), v0=starts, project=True, duration=1)
        page = read(run.report(tmp_path / "run.html", members=members))
        items = [x for x in page.data()["scene"]["items"] if x["kind"] == "points"]
        assert len(items) == len(chosen)
        names = page.data()["panels"][0]["names"]
        if len(chosen) > 1:
            assert names == [f"trajectory {k}" for k in chosen]
        assert f"{len(chosen)} of 5 trajectories are drawn" in page.text
        lines = run.plot("energy", members=members).axes[0].lines
        for k, line in zip(chosen, lines, strict=False):
            error = run.energy[k] - run.energy[k][0]
            np.testing.assert_array_equal(np.sort(line.get_ydata())[[0, -1]],
                                          [error.min(), error.max()])  # fmt: skip

    @pytest.mark.parametrize("members", [0, -1, 2.5, "all", [5], [0.5], [], [True], None])
    def test_members_that_are_none(self, tmp_path, members):
        given = problem("zg-double")
        run = given.simulate(q0=np.array([given.q0] * 5), v0=0, duration=0.1)
        for see in (run.plot, run.animate, lambda **x: run.report(tmp_path / "run.html", **x)):
            with pytest.raises(taut.InputError, match="members"):
                see(members=members)

    def test_a_batch(self, tmp_path, visit):
        given = problem("zg-double")
        starts = np.array(given.q0) * np.ones((9, 1))
        run = given.simulate(q0=starts, v0=np.linspace(0, 0.1, 9)[:, None] * [1, -1, 2, 0],
                             project=True, duration=2)  # fmt: skip
        file = run.report(tmp_path / "run.html")
        kinds = [item["kind"] for item in read(file).data()["scene"]["items"]]
        assert kinds.count("points") == 6
        assert "6 of 9 trajectories are drawn" in read(file).text
        page = visit(file)
        put(page, 2)
        assert coloured(shot(page, ".stage")) > 0.003

    def test_a_flow_is_drawn_in_its_own_space(self, tmp_path, visit):
        x, y, z = sp.symbols("a b c")
        lorenz = taut.Flow(
            [x, y, z], [10 * (y - x), x * (28 - z) - y, x * y - sp.Rational(8, 3) * z]
        )
        run = taut.simulate(lorenz, q0=[1, 1, 20], duration=20, step=0.01, method="rk4")
        file = run.report(tmp_path / "run.html")
        assert read(file).data()["scene"]["axes"] == ["a", "b", "c"]
        opened = visit(file)
        put(opened, 20, trail="Infinity")
        assert coloured(shot(opened, ".stage")) > 0.01

    def test_a_field_is_drawn_over_its_place(self, tmp_path, visit):
        g, m = taut.coordinates("gamma mu")
        string = taut.Field(
            taut.lie.abelian(1), m**2 / 2 + g**2 / 2, strain=[g], momentum=[m], length=1, nodes=41
        )
        pluck = np.exp(-200 * (string.middles - 0.3) ** 2)[:, None]
        file = taut.simulate(string, strain0=pluck, duration=1).report(tmp_path / "run.html")
        assert read(file).data()["scene"]["axes"] == ["s", ""]
        page = visit(file)
        pictures = []
        for time in (0, 0.3):
            put(page, time)
            pictures.append(shot(page, ".stage"))
        assert coloured(pictures[0]) > 0.003
        assert (np.abs(pictures[0] - pictures[1]).sum(axis=2) > 60).mean() > 0.001
        assert page.locator(".overlay .label").all_inner_texts() == ["strain", "momentum"]


@pytest.mark.parametrize("ending", ["run.png", "run", "run.html/"])
def test_only_pages_are_written(pendulum, tmp_path, ending):
    with pytest.raises(taut.InputError, match="another ending"):
        pendulum.report(tmp_path / ending.rstrip("/") if ending != "run.html/" else tmp_path)


def test_a_place_that_cannot_be_written(pendulum, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "page.html").mkdir()
    for place in (tmp_path / "file" / "run.html", tmp_path / "page.html"):
        with pytest.raises(taut.FileError, match="cannot be written"):
            pendulum.report(place)


class TestInTheBrowser:
    @pytest.mark.parametrize("width", [1280, 390])
    def test_shows_the_mechanism_and_the_curves(self, pendulum, tmp_path, visit, width):
        page = visit(pendulum.report(tmp_path / "run.html"), width)
        put(page, 3)
        stage = shot(page, ".stage")
        assert coloured(stage) > 0.002
        # Blue and orange bobs are both there.
        blue, orange = np.array([0, 114, 178]), np.array([213, 94, 0])
        for ink in (blue, orange):
            assert (np.abs(stage - ink).sum(axis=2) < 120).sum() > 60
        assert page.locator(".panel").count() == 3
        for k in range(3):
            panel = page.locator(".panel canvas").nth(k).screenshot()
            pixels = np.asarray(Image.open(io.BytesIO(panel)).convert("RGB")).astype(int)
            assert coloured(pixels) > 0.003, k
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    def test_scrubbing_moves_the_picture_and_every_cursor(self, pendulum, tmp_path, visit):
        page = visit(pendulum.report(tmp_path / "run.html"))
        put(page, 0)
        seen, cursors, clocks = [], [], []
        for share in (0.1, 0.15, 0.8):
            page.locator(".scrubber").fill(str(share))
            put(page, page.evaluate("tautViews[0].time"))
            seen.append(shot(page, ".stage"))
            clocks.append(page.locator(".clock").inner_text())
            cursors.append(
                [page.locator(".cursor").nth(k).bounding_box()["x"] for k in range(3)]
                + [page.locator(".panel .u-over").nth(k).bounding_box()["x"] for k in range(3)]
                + [page.locator(".panel .u-over").nth(k).bounding_box()["width"] for k in range(3)]
            )
        assert clocks == ["t = 2", "t = 3", "t = 16"]
        for a, b in ((0, 1), (1, 2)):
            assert (np.abs(seen[a] - seen[b]).sum(axis=2) > 60).mean() > 0.002
        for share, found in zip((0.1, 0.15, 0.8), cursors, strict=True):
            x, left, width = np.array(found).reshape(3, 3)
            np.testing.assert_allclose((x + 1 - left) / width, share, rtol=0, atol=0.01)

    def test_the_picture_is_that_of_the_run(self, pendulum, tmp_path, visit):
        """Bobs are where q says: projected by hand."""
        page = visit(pendulum.report(tmp_path / "run.html"))
        put(page, 7.77, trail=0)
        stage = shot(page, ".stage")
        row = int(np.abs(pendulum.t - 7.77).argmin())
        camera = page.evaluate(
            "['left', 'right', 'top', 'bottom'].map((x) => tautViews[0].stage.camera[x])"
        )
        centre = page.evaluate("tautViews[0].stage.centre.toArray()")
        height, width = stage.shape[:2]
        for ink, columns in (([0, 114, 178], (0, 1)), ([213, 94, 0], (2, 3))):
            x, y = pendulum.q[row, list(columns)] - np.array(centre)[:2]
            # y points down: so does the picture.
            at = ((x - camera[0]) / (camera[1] - camera[0]) * width,
                  (camera[2] + y) / (camera[2] - camera[3]) * height)  # fmt: skip
            rows, cols = np.nonzero(np.abs(stage - np.array(ink)).sum(axis=2) < 140)
            assert abs(np.median(cols) - at[0]) < 4
            assert abs(np.median(rows) - at[1]) < 4

    @pytest.mark.parametrize("width", [1280, 390])
    @pytest.mark.parametrize("size", [(3.0, 0.2, 0.5), (0.2, 0.4, 3.0)])
    def test_in_space_the_motion_fills_the_picture(self, tmp_path, visit, size, width):
        """Every corner of the box is seen, and the picture's height or width is used."""
        x, y, z = taut.coordinates("x y z")
        springs = taut.System([x, y, z], mass=1, potential=(x**2 + 2 * y**2 + 3 * z**2) / 2)
        run = taut.simulate(springs, q0=size, v0=0, duration=30, step=0.05, laws=None)
        page = visit(run.report(tmp_path / "run.html"), width)
        put(page, 1)
        corners = np.array(
            page.evaluate("""() => {
                const { box, camera } = tautViews[0].stage, found = [];
                for (const i of [0, 1]) for (const j of [0, 1]) for (const k of [0, 1]) {
                    const p = box[0].clone();
                    found.push(p.set(box[i].x, box[j].y, box[k].z).project(camera).toArray());
                }
                return found;
            }""")
        )
        high, low = corners[:, :2].max(axis=0), corners[:, :2].min(axis=0)
        assert high.max() < 0.95
        assert low.min() > -0.95
        assert (high - low).max() > 1.5

    @pytest.mark.parametrize("look", ["rod", "spring", "line"])
    def test_links_are_seen(self, tmp_path, visit, look):
        x, y = taut.coordinates("x y")
        grey = []
        for links in ([], [("a", "b", look)]):
            drawing = taut.Drawing({"a": (-1, 0), "b": (x, y)}, links, trails=[], down=None)
            system = taut.System([x, y], mass=1, potential=0, drawing=drawing)
            run = taut.simulate(system, q0=[1, 0], v0=[0, 0.1], duration=1, step=0.5)
            page = visit(run.animate(tmp_path / "run.html") and tmp_path / "run.html")
            put(page, 0)
            stage = shot(page, ".stage")
            middle = stage[:, int(0.4 * stage.shape[1]) : int(0.6 * stage.shape[1])]
            grey.append(int((middle.sum(axis=2) < 600).sum()))
        assert grey[0] == 0
        assert grey[1] > {"rod": 1000, "spring": 400, "line": 200}[look]

    def test_plays_and_pauses_by_button_and_key(self, pendulum, tmp_path, visit):
        page = visit(pendulum.report(tmp_path / "run.html"), reduced_motion="no-preference")
        page.wait_for_function("tautViews.length === 1 && tautViews[0].time > 0.2")
        page.locator(".play").click()
        stopped = page.evaluate("tautViews[0].time")
        page.wait_for_timeout(250)
        assert page.evaluate("tautViews[0].time") == stopped
        page.locator(".scrubber").focus()
        page.keyboard.press("ArrowRight")
        assert 0 < page.evaluate("tautViews[0].time") - stopped <= 0.0101
        page.locator(".bar select").first.select_option("10")
        assert page.evaluate("tautViews[0].speed") == 10 * page.evaluate(
            "tautViews[0].stage.speed / 10"
        )
        page.locator(".play").click()
        page.wait_for_function(f"tautViews[0].time > {stopped + 1}")

    def test_keys_work_wherever_the_reader_is(self, pendulum, tmp_path, visit):
        page = visit(pendulum.report(tmp_path / "run.html"), reduced_motion="no-preference")
        page.wait_for_function("tautViews.length === 1 && tautViews[0].playing")
        page.keyboard.press("Space")
        assert page.evaluate("tautViews[0].playing") is False
        assert page.evaluate("window.scrollY") == 0
        page.locator(".play").click()
        page.locator(".play").click()
        stopped = page.evaluate("tautViews[0].time")
        page.keyboard.press("ArrowRight")
        assert 0 < page.evaluate("tautViews[0].time") - stopped <= 0.0101

    def test_stays_still_for_readers_who_ask_for_it(self, pendulum, tmp_path, visit):
        page = visit(pendulum.report(tmp_path / "run.html"), reduced_motion="reduce")
        page.wait_for_function("tautViews.length === 1")
        page.wait_for_timeout(300)
        assert page.evaluate("tautViews[0].time") == 0

    def test_a_curve_is_a_handle_too(self, pendulum, tmp_path, visit):
        page = visit(pendulum.report(tmp_path / "run.html"))
        page.wait_for_function("tautViews.length === 1")
        curve = page.locator(".u-over").first
        curve.click(position={"x": 0.5 * curve.bounding_box()["width"], "y": 20})
        assert page.evaluate("tautViews[0].time") == pytest.approx(10, abs=0.1)
        assert page.evaluate("tautViews[0].playing") is False

    def test_curves_can_be_looked_at_closely(self, pendulum, tmp_path, visit):
        """By wheel after a click, by buttons and by keys; all of them together."""
        page = visit(pendulum.report(tmp_path / "run.html"))
        put(page, 5)

        def shown():
            pairs = page.evaluate(
                "tautViews[0].curves.map((c) => [c.plot.scales.x.min, c.plot.scales.x.max])"
            )
            assert all(pair == pairs[0] for pair in pairs)
            return pairs[0]

        def settled():
            page.evaluate("new Promise((done) => setTimeout(done, 60))")
            return shown()

        assert shown() == [0, 20]
        curve = page.locator(".u-over").first

        def quarter():
            curve.scroll_into_view_if_needed()
            box = curve.bounding_box()
            return box["x"] + 0.25 * box["width"], box["y"] + 40

        page.mouse.move(*quarter())
        page.mouse.wheel(0, -300)
        assert settled() == [0, 20]  # the page is scrolled, nothing else
        x, y = quarter()
        page.mouse.click(x, y)
        page.mouse.wheel(0, -300)
        page.wait_for_function("tautViews[0].curves[0].plot.scales.x.max < 20")
        low, high = settled()
        assert high - low == pytest.approx(20 / np.e, rel=1e-6)
        assert (5 - low) / (high - low) == pytest.approx(0.25, abs=0.01)  # it stays in place
        ranges = page.evaluate("[tautViews[0].curves[2].plot.scales.y.max]")
        part = pendulum.multipliers[(pendulum.t >= low) & (pendulum.t <= high)]
        assert ranges[0] < 1.2 * part.max()
        page.mouse.dblclick(x, y)
        assert settled() == [0, 20]
        page.get_by_label("less time").click()
        low, high = settled()
        assert high - low == pytest.approx(10)
        page.keyboard.press("0")
        assert settled() == [0, 20]
        page.keyboard.press("+")
        assert np.ptp(settled()) == pytest.approx(10)
        page.keyboard.press("-")
        assert settled() == [0, 20]
        page.keyboard.press("+")
        page.keyboard.press("+")
        page.evaluate("tautViews[0].seek(16)")
        low, high = settled()
        assert high == 20  # a new page, the last one
        page.evaluate("tautViews[0].seek(10)")
        low, high = settled()
        assert (10 - low) / (high - low) == pytest.approx(0.95, abs=1e-6)
        page.evaluate("tautViews[0].seek(14)")
        low, high = settled()
        assert (14 - low) / (high - low) == pytest.approx(0.05, abs=1e-6)
        page.evaluate("tautViews[0].zoom(1e9)")
        low, high = settled()
        assert 0.05 < high - low < 0.07  # not closer than a few states
        page.evaluate("tautViews[0].zoom(0)")
        page.mouse.click(*quarter())
        page.mouse.move(5, 5)
        page.mouse.move(*quarter())
        page.mouse.wheel(0, -300)
        assert settled() == [0, 20]  # it must be clicked again
        page.keyboard.press("+")
        page.evaluate("tautViews[0].seek(19)")
        assert page.locator(".cursor").first.is_visible()
        page.get_by_label("more time").click()
        assert settled() == [0, 20]

    def test_keys_work_where_nothing_is_drawn(self, tmp_path, visit):
        angles = taut.coordinates("theta phi")
        swing = taut.System(angles, mass=1, potential=-sp.cos(angles[0]) - sp.cos(angles[1]))
        run = taut.simulate(swing, q0=[1, 0.5], v0=0, duration=20, step=0.1)
        page = visit(run.report(tmp_path / "run.html"))
        page.wait_for_function("tautViews.length === 1")
        page.keyboard.press("+")
        page.keyboard.press(" ")
        assert page.evaluate("tautViews[0].window[1] - tautViews[0].window[0]") == 10

    def test_legends_and_labels_follow(self, pendulum, tmp_path, visit):
        page = visit(pendulum.report(tmp_path / "run.html"))
        for time in (2.0, 13.0):
            put(page, time, trail=0)
            row = int(np.abs(pendulum.t - time).argmin())
            shown = page.locator(".panel").nth(2).locator(".u-value").nth(1).inner_text()
            value = float(shown.replace("−", "-"))
            assert value == pytest.approx(pendulum.multipliers[row, 0], rel=1e-3)
            stage = page.locator(".stage").bounding_box()
            centre = page.evaluate("tautViews[0].stage.centre.toArray()")
            camera = page.evaluate(
                "['left', 'right', 'top', 'bottom'].map((x) => tautViews[0].stage.camera[x])"
            )
            names = page.locator(".overlay .label").all_inner_texts()
            for name, columns in (("1", (0, 1)), ("2", (2, 3))):
                x, y = pendulum.q[row, list(columns)] - np.array(centre)[:2]
                at = ((x - camera[0]) / (camera[1] - camera[0]) * stage["width"],
                      (camera[2] + y) / (camera[2] - camera[3]) * stage["height"])  # fmt: skip
                box = page.locator(".overlay .label").nth(names.index(name)).bounding_box()
                assert box["x"] - stage["x"] - at[0] == pytest.approx(9, abs=3)
                assert box["y"] - stage["y"] - at[1] == pytest.approx(-20, abs=3)

    def test_without_webgl_the_page_says_so(self, pendulum, tmp_path, visit):
        page = visit(pendulum.report(tmp_path / "run.html"))
        file = tmp_path / "blind.html"
        text = (tmp_path / "run.html").read_text()
        no = "HTMLCanvasElement.prototype.getContext = ((old) => function (kind, ...rest) {" \
             " return kind === 'webgl2' ? null : old.call(this, kind, ...rest); })" \
             "(HTMLCanvasElement.prototype.getContext);"  # fmt: skip
        file.write_text(text.replace("<body>", f"<body><script>{no}</script>", 1))
        page = visit(file)
        assert "no WebGL" in page.locator(".stage").inner_text()
        assert page.locator(".panel").count() == 3

    def test_beams_are_drawn_as_solids(self, beam, tmp_path, visit):
        page = visit(beam.report(tmp_path / "beam.html"))
        put(page, 0)
        flat = shot(page, ".stage")
        put(page, 0.4)
        bent = shot(page, ".stage")
        assert coloured(flat) > 0.002
        assert (np.abs(flat - bent).sum(axis=2) > 60).mean() > 0.003
        assert "bending" in page.locator(".colours").inner_text()
        assert page.locator(".panel").count() == 4

    def test_sections_of_beams_are_where_their_frames_say(self, beam, tmp_path, visit):
        """Corners of the mesh between two frames, against positions and frames of the run."""
        beam.animate(tmp_path / "beam.html", magnify=1)
        page = visit(tmp_path / "beam.html")
        k, share = len(beam.t) // 2, 0.4
        put(page, float((1 - share) * beam.t[k] + share * beam.t[k + 1]))
        found = page.evaluate(
            "(() => { const [mesh] = tautViews[0].stage.scene.children.filter("
            "(x) => x.isMesh && x.geometry.index && x.geometry.attributes.color);"
            " return ['position', 'color'].map((x) => [...mesh.geometry.attributes[x].array]); })()"
        )
        corners, colours = (np.array(x).reshape(-1, 3) for x in found)
        outline = [[0.025, 0, 0.01], [-0.025, 0, 0.01], [-0.025, 0, -0.01], [0.025, 0, -0.01]]
        frames = (1 - share) * beam.frames[k] + share * beam.frames[k + 1]  # nearly a rotation
        places = (1 - share) * beam.positions[k] + share * beam.positions[k + 1]
        want = places[:, None] + np.einsum("nij,cj->nci", frames, outline)
        moved = np.abs(beam.positions[k + 1] - beam.positions[k]).max()
        assert moved > 1e-3
        np.testing.assert_allclose(corners[: 8 * 21 : 2].reshape(21, 4, 3), want, atol=2e-5)
        bend = np.linalg.norm(beam.strain[k, :, :3], axis=1)
        assert bend[0] > 2 * bend[-1]  # so that colours differ
        assert colours[0, 0] != colours[8 * 20, 0]
        still = colours.copy()
        put(page, 0)
        again = page.evaluate(
            "[...tautViews[0].stage.scene.children.find((x) => x.isMesh && x.geometry.index"
            " && x.geometry.attributes.color).geometry.attributes.color.array]"
        )
        assert np.abs(np.array(again).reshape(-1, 3) - still).max() > 0.05

    def test_points_and_trails_between_two_frames(self, pendulum, tmp_path, visit):
        page = visit(pendulum.animate(tmp_path / "run.html") and tmp_path / "run.html")
        time, trail = 12.3456, 0.5
        put(page, time, trail=trail, speed=1)
        found, tail, many = page.evaluate(
            """(() => {
                const parts = tautViews[0].stage.scene.children;
                const balls = parts.find((x) => x.isInstancedMesh).instanceMatrix.array;
                const trail = parts.filter((x) => x.isLineSegments2
                    && x.geometry.attributes.instanceColorStart)[0].geometry;
                const path = trail.attributes.instanceStart.data.array;
                return [[...balls], [...path.slice(0, 6)], trail.instanceCount];
            })()"""
        )
        k = int(np.searchsorted(pendulum.t, time)) - 1
        w = (time - pendulum.t[k]) / (pendulum.t[k + 1] - pendulum.t[k])
        want = (1 - w) * pendulum.q[k] + w * pendulum.q[k + 1]
        balls = np.array(found).reshape(-1, 16)[:, 12:14]
        np.testing.assert_allclose(balls, want.reshape(2, 2), atol=1e-5)
        first = int(np.searchsorted(pendulum.t, time - trail)) - 1
        assert many == k - first + 1
        np.testing.assert_allclose(tail[3:5], pendulum.q[first, :2], atol=1e-5)

    def test_time_passes_at_the_chosen_speed(self, pendulum, tmp_path, visit):
        pendulum.animate(tmp_path / "run.html", speed=0.25)
        page = visit(tmp_path / "run.html")
        put(page, 1.0)
        passed = page.evaluate(
            "(() => { const v = tautViews[0]; v.visible = true; v.play(); v.last = 1000;"
            " v.tick(1080); v.pause(); return v.time; })()"
        )
        assert passed == pytest.approx(1.02)

    def test_a_hundred_thousand_frames(self, tmp_path, visit):
        run = problem("zg-double").simulate(duration=1000)
        file = run.report(tmp_path / "run.html")
        assert read(file).data()["scene"]["t"]["shape"] == [100_001]
        assert file.stat().st_size < 8e6
        page = visit(file)
        put(page, 999.9, trail="Infinity")
        assert coloured(shot(page, ".stage")) > 0.01
        # A frame with the longest trail takes a share of a second even without a graphics card.
        spent = page.evaluate(
            "(() => { const a = performance.now(); for (let k = 0; k < 5; k++)"
            " tautViews[0].stage.draw(500 + k); return (performance.now() - a) / 5; })()"
        )
        assert spent < 2000  # milliseconds: frozen is another thing


def test_a_million_states_are_decimated():
    run = problem("zg-pendulum").simulate(duration=1e4)
    from taut.show.report import seen

    scene, panels, notes = seen(run)
    assert len(run.t) == 1_000_001
    assert scene is not None
    assert len(scene.t) <= 120_000
    assert scene.t[[0, -1]].tolist() == run.t[[0, -1]].tolist()
    assert notes == [f"{len(scene.t)} of 1000001 stored states are drawn"]
    assert re.match(r"\{", json.dumps({"panels": len(panels)}))
