"""ZG redrawn: the numbers of the reproduction against the digest's and against direct formulas."""

import json
import re
from base64 import b64decode
from html.parser import HTMLParser
from math import cos, sqrt
from pathlib import Path

import numpy as np
import pytest

import taut
from taut.papers import PAPERS, paper, zg_figures, zg_study
from taut.papers.page import plain, written
from taut.problems import problem
from taut.show.page import Page, marked

FIGURES = {f"fig{k:02d}.svg" for k in (*range(1, 10), *range(11, 17))} | {"rivals.svg", "order.svg"}


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def report(tmp_path_factory, told):
    out = tmp_path_factory.mktemp("zg") / "new" / "folder"
    return PAPERS["zg"].reproduce(out, lambda *stage: told.append(stage))


@pytest.fixture(scope="module")
def data(report):
    return json.loads(report.data.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def page(report):
    return report.page.read_text(encoding="utf-8")


class TestNumbers:
    @pytest.mark.parametrize(
        ("key", "energy"),
        [
            ("zg-pendulum@0.01", -10 * sqrt(1 - 0.99**2)),
            ("zg-spherical@0.03", 0.0018 - cos(0.1)),
            ("zg-spherical@0.1", 0.0018 - cos(0.1)),
            ("zg-spherical-printed@0.03", 0.0018 + cos(0.1)),
            ("zg-double@0.01", -25 * sqrt(2)),
            ("zg-spatial@0.01", 33 / 2500 - 50 / sqrt(3)),
            ("zg-spatial-printed@0.01", 103 / 25 - 50 / sqrt(3)),
        ],
    )
    def test_energies_are_those_of_the_start(self, data, key, energy):
        assert data["examples"][key]["energy"] == pytest.approx(energy, abs=1e-13 * 30)

    @pytest.mark.parametrize(
        ("key", "rounded"),
        [("zg-spherical@0.03", "-0.99320"), ("zg-spherical-printed@0.03", "0.99680"),
         ("zg-double@0.01", "-35.35534"), ("zg-spatial@0.01", "-28.85431")],
    )  # fmt: skip
    def test_energies_as_the_digest_prints_them(self, data, key, rounded):
        assert f"{data['examples'][key]['energy']:.5f}" == rounded

    @pytest.mark.parametrize(
        ("key", "low", "high"),
        [
            ("zg-spherical@0.03", -7.22e-7, 0.0),
            ("zg-spherical@0.1", -8.02e-6, 0.0),
            ("zg-double@0.01", -5.43e-2, 0.0),
        ],
    )
    def test_bands(self, data, key, low, high):
        found = data["examples"][key]["energy error"]
        assert found == pytest.approx([low, high], rel=0.01, abs=1e-12)

    def test_bands_scale_with_the_square_of_the_step(self, data):
        fine, coarse = (
            np.ptp(data["examples"][f"zg-spherical@{h}"]["energy error"]) for h in ("0.03", "0.1")
        )
        assert coarse / fine == pytest.approx((0.1 / 0.03) ** 2, rel=0.01)

    def test_every_run_keeps_constraints_and_has_no_drift(self, data):
        assert len(data["examples"]) == 8
        for found in data["examples"].values():
            assert found["constraints"] < 2e-15
            assert found["hidden constraints"] < 1e-14
            assert found["symplecticity defect"] < 1e-14
            assert not found["energy drifts"]
            long = found["long run"]
            assert long["steps"] == 100_000
            # Chaotic runs wander, and where to depends on the last bits, hence on the machine.
            assert abs(long["drift"]) < max(0.05, 3 * long["half width"])
            assert long["half width"] < 0.1

    def test_both_forms_give_the_same_path(self, data):
        apart = {key: found["difference of the forms"] for key, found in data["examples"].items()}
        assert max(apart.values()) < 1e-10
        assert 0 < apart["zg-double@0.01"] < 1e-11

    def test_printed_starts_break_the_hidden_constraint(self, data):
        slow, fast = (data["starts"][k] for k in ("zg-spatial", "zg-spatial-printed"))
        assert f"{slow['energy as printed']:.5f}" == "-28.85251"
        assert f"{fast['energy as printed']:.5f}" == "-24.36751"
        assert f"{slow['energy after projection']:.5f}" == "-28.85431"
        # G v = 2 q₁·v₁ and 2 (q₂ − q₁)·(v₂ − v₁)
        assert slow["G v as printed"] == pytest.approx(0.2 / sqrt(3))
        assert fast["G v as printed"] == pytest.approx(2 / sqrt(3))
        assert "start" in slow["taut says"]

    def test_symplectic_euler_grows(self, data):
        short, long = (data["comparison"][f"symplectic-euler@{span}"] for span in (50, 500))
        assert short["energy error at the end"] == pytest.approx(5.2e-3, rel=0.02)
        assert long["energy error at the end"] == pytest.approx(10 * 5.2e-3, rel=0.05)
        assert short["energy drifts"]
        assert long["energy drifts"]
        assert long["constraints"] > 0.05

    def test_projected_euler_grows_too_but_less_than_it_oscillates_in_50_seconds(self, data):
        name = "projected-symplectic-euler"
        short, long = (data["comparison"][f"{name}@{span}"] for span in (50, 500))
        assert short["energy error"] == pytest.approx([-4.6e-5, 8.9e-5], rel=0.02)
        assert 50 * short["energy slope"] < 0.5 * np.ptp(short["energy error"])
        assert long["energy drifts"]
        assert long["energy slope"] == pytest.approx(8.2e-7, rel=0.02)
        assert long["constraints"] < 1e-15

    def test_time_element_has_no_slope(self, data):
        found = data["comparison"]["time-element@500"]
        assert not found["energy drifts"]
        assert abs(found["energy slope"]) < 1e-3 * 8.2e-7
        assert np.ptp(found["energy error"]) == pytest.approx(7.22e-7, rel=0.01)

    @pytest.mark.parametrize("name", ["zg-pendulum", "zg-spherical", "zg-double"])
    def test_orders_of_both_starts(self, data, name):
        exact, printed = (data["order"][f"{name}, {s} start"] for s in ("exact", "paper"))
        assert exact["orders"][-1] == pytest.approx(2, abs=0.01)
        assert printed["orders"][-1] == pytest.approx(1, abs=0.05)
        assert printed["errors"][-1] > 30 * exact["errors"][-1]

    def test_errors_of_the_double_pendulum_as_the_design_states_them(self, data):
        found = data["order"]["zg-double, exact start"]["errors"][:4]
        assert found == pytest.approx([1.8e-2, 4.5e-3, 1.1e-3, 2.8e-4], rel=0.03)

    def test_closed_forms(self, data):
        assert data["examples"]["zg-spherical@0.03"]["error"] < 2e-4
        ratio = (data["examples"]["zg-spherical@0.1"]["error"]
                 / data["examples"]["zg-spherical@0.03"]["error"])  # fmt: skip
        assert ratio == pytest.approx((0.1 / 0.03) ** 2, rel=0.02)

    def test_certificates_are_complete(self, data):
        assert data["certificates"].keys() == data["examples"].keys()
        for key, certificate in data["certificates"].items():
            assert certificate["max_g"] == data["examples"][key]["constraints"]
            assert "time-element" in certificate["method"]

    def test_says_how_it_was_made(self, data):
        assert data["command"] == "taut papers zg"
        assert data["versions"]["taut"] == taut.__version__
        assert {"numpy", "casadi", "numba", "sympy", "python"} <= data["versions"].keys()
        assert data["printed"]["true H"] == {"2": 0.9968, "3a": -35.35534, "3b": -28.85251}

    def test_start_energy_against_the_engine(self):
        given = problem("zg-double")
        run = given.simulate(duration=0.1)
        for k in (0, -1):
            assert zg_study.start_energy(given, run.q[k], run.v[k]) == pytest.approx(run.energy[k])


class _Reader(HTMLParser):
    """Open tags must be closed, and nothing may come from elsewhere."""

    EMPTY = ("img", "meta")

    def __init__(self):
        super().__init__()
        self.open, self.sources, self.links, self.ids, self.words = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in self.EMPTY:
            self.open.append(tag)
        self.sources += [attrs[k] for k in ("src", "href") if k in attrs and tag != "a"]
        self.links += [attrs["href"]] if tag == "a" else []
        self.ids += [attrs["id"]] if "id" in attrs else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if self.open and self.open[-1] not in ("style", "title"):
            self.words.append(text)


@pytest.fixture(scope="module")
def reader(page):
    found = _Reader()
    found.feed(page)
    return found


class TestPage:
    def test_is_well_formed_and_self_contained(self, reader, page):
        assert reader.open == []
        assert len(reader.sources) == len(FIGURES)
        assert all(s.startswith("data:image/svg+xml;base64,") for s in reader.sources)
        assert {f"#{i}" for i in reader.ids} >= set(reader.links)
        assert "http" not in re.sub(r"base64,[^\"]*", "", page)
        assert "url(" not in page

    def test_embeds_exactly_the_files_beside_it(self, report, reader):
        assert {f.name for f in report.figures} == FIGURES
        assert {f.name for f in report.page.parent.iterdir()} == FIGURES | {"index.html", "zg.json"}
        embedded = sorted(b64decode(s.partition(",")[2]) for s in reader.sources)
        assert embedded == sorted(f.read_bytes() for f in report.figures)
        assert all(data.startswith(b"<?xml") for data in embedded)

    def test_tells_the_numbers_of_both_sides(self, reader):
        text = " ".join(reader.words)
        for number in ("0.99680", "−0.99320", "−35.35534", "−28.85251", "−24.36751", "−28.85431",
                       "−24.74751", "−7.2×10⁻⁷", "+8.2×10⁻⁷"):  # fmt: skip
            assert number in text, number
        for k in (*range(1, 10), *range(11, 17)):
            assert f"Fig. {k}" in text
        assert "taut papers zg" in text

    def test_verdicts_follow_the_numbers(self, report):
        from taut.papers.zg import _claims

        verdicts = {row[0]: row[3] for row in _claims(_study(report.numbers))}
        assert verdicts["3b: true H, printed velocities"] == "does not agree"
        assert verdicts["3a: true H"] == "agrees"
        assert verdicts["2: true H, U = z"].startswith("does not agree")
        wrong = json.loads(json.dumps(report.numbers))
        wrong["examples"]["zg-double@0.01"].update(energy=-35.0)
        wrong["examples"]["zg-double@0.01"]["long run"]["drift"] = 0.5
        wrong["examples"]["zg-spherical@0.1"]["constraints"] = 1e-6
        verdicts = {row[0]: row[3] for row in _claims(_study(wrong))}
        assert verdicts["3a: true H"] == "does not agree"
        assert verdicts["3a: H − H₀"].startswith("does not agree; drift +50.00")
        assert verdicts["constraints at the stations"] == "does not agree"

    def test_every_run_shows_its_certificate(self, page):
        assert page.count("<details>") == 8 + 6 + 1
        assert page.count("symplecticity defect") >= 14

    def test_holds_no_path_of_this_machine(self, page, data):
        assert str(Path.home()) not in page
        assert "/tmp" not in page + json.dumps(data)

    def test_progress_is_told_in_order(self, report, told):
        assert [stage[0] for stage in told] == list(range(6))
        assert {stage[1] for stage in told} == {5}

    def test_a_place_that_cannot_be_written_is_an_error(self, tmp_path):
        (tmp_path / "file").write_text("")
        page = Page("title", "subtitle")
        with pytest.raises(taut.FileError, match="cannot be written"):
            written(page, tmp_path / "file", "zg", {})


def _study(numbers):
    return zg_study.Study(runs={}, rivals={}, order={}, numbers=numbers)


class TestFigures:
    def test_steps_are_drawn_as_in_the_paper(self):
        t = np.linspace(0, 1, 5)
        curves = [("0.1 s", t, t), ("0.03 s", t, t)]
        (axes,) = zg_figures.series([("reading", curves)], "$x$").axes
        solid, dashed = axes.lines
        assert solid.get_linestyle() == "-"
        assert dashed.get_linestyle() == "--"
        assert [x.get_text() for x in axes.get_legend().get_texts()] == ["0.1 s", "0.03 s"]

    def test_figure_1_lies_on_the_circle_with_y_down(self):
        run = problem("zg-pendulum").simulate(duration=1)
        (axes,) = zg_figures.circle(run).axes
        assert axes.yaxis_inverted()
        for line in axes.lines:
            np.testing.assert_allclose(np.hypot(*line.get_xydata().T), 1, rtol=1e-14)


class TestParts:
    def test_catalogue(self):
        assert paper("zg").name == "zg"
        with pytest.raises(taut.UnknownName, match="did you mean 'zg'"):
            paper("zgg")

    def test_marked_escapes_and_marks(self):
        assert marked("a < b & *c*") == "a &lt; b &amp; <i>c</i>"
        assert marked("`x_1*2`, S_k, x_{k−1}") == (
            "<code>x_1*2</code>, S<sub>k</sub>, x<sub>k−1</sub>"
        )

    def test_plain_has_no_infinity(self):
        given = {"a": np.float64(1.5), "b": (np.inf, np.int64(2)), "c": np.bool_(True), "d": None}
        assert plain(given) == {"a": 1.5, "b": [None, 2], "c": True, "d": None}
