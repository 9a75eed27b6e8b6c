"""One page about papers: chapters, contents, figures, files, and the command that makes it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import taut
from taut import cli
from taut.papers import PAPERS, Paper, book, chosen, paper
from taut.papers.chapter import (
    OMISSION,
    Certified,
    Chapter,
    Claim,
    Erratum,
    Stage,
    Summary,
    corrected,
    undecided,
    verdict,
)  # fmt: skip
from taut.papers.numbers import orders, plain, ratio
from taut.problems import problem
from taut.show import style

EVIL = "<script>alert('&')</script>"


class Small:
    """A study of next to nothing."""

    def __init__(self):
        self.numbers: dict[str, Any] = {}
        self.run = problem("zg-pendulum").simulate(duration=0.1, laws=None)


def _draw(page, study):
    with style.styled():
        figure = style.picture(1, 2)
        figure.add_subplot().plot([0, 1], [0, study.numbers["answer"]])
    page.heading("A section", "section")
    page.figure("fig01", figure, "Fig. 1", "A line.")
    page.table(("a",), [("1",)], name="table1")


def small(stages=(), heading="Somebody 1999", **changes):
    """A chapter that takes no time."""
    parts = {
        "heading": heading, "lead": "They say so.", "begin": Stage("the start", 2, Small),
        "stages": [Stage("the rest", 3, lambda s: s.numbers.update(answer=42)), *stages],
        "claims": lambda s: [
            Claim("answer", "41", "42", verdict(False), ratio(42, 41)),
            Claim("question", "?", "?", verdict(True)), Claim("rest", "", "0", "nothing said"),
            Claim("unit", "1", "1", undecided("no unit")),
            Claim("mended", "", "0", corrected(True)),
        ],
        "errata": lambda s: [
            Erratum("(1)", "41", "42", "it was computed"), Erratum("(2)", "", "m", "?", OMISSION),
        ],
        "summary": lambda s: Summary("All.", "Nothing.", "answer", "41", "42", ratio(42, 41)),
        "certificates": lambda s: [Certified("run", "the run", s.run.certificate)],
        "sections": [_draw],
    }  # fmt: skip
    return Chapter(**{**parts, **changes})


@pytest.fixture
def quick(monkeypatch):
    """Every paper is a small chapter."""
    made = []
    monkeypatch.setattr(Paper, "chapter", lambda self: made.append(self.name) or small())
    return made


@pytest.fixture(scope="module")
def html(reproduced):
    """The page of all papers; its pictures are looked at one paper at a time, further down."""
    done = [reproduced(name)[0].done[0] for name in PAPERS]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(style.Picture, "bytes", lambda *_: b"<svg/>")
        return book.page_of(done).html()


@pytest.fixture(scope="module")
def reader(html, read):
    return read(html)


class TestPage:
    def test_ids_are_unique_and_links_lead_somewhere(self, reader):
        assert len(reader.ids) == len(set(reader.ids)) > 80
        assert len(reader.links) == len(set(reader.links)) > 40
        assert {link.removeprefix("#") for link in reader.links} <= set(reader.ids)

    def test_every_chapter_and_every_section_is_in_the_contents(self, html, reader):
        headings = re.findall(r'<h[23][^>]* id="([^"]*)"', html)
        assert headings[0] == "glance"
        assert headings[-1] == "how"
        assert [h for h in headings if "-" not in h] == ["glance", *PAPERS, "how"]
        assert [f"#{h}" for h in headings] == reader.links

    def test_shows_what_the_papers_show(self, reader):
        for known in PAPERS.values():
            for name in known.shown:
                pictures, cells = reader.inside[f"{known.name}-{name}"]
                assert pictures or cells, name

    def test_opens_with_one_line_for_each_paper_and_all_errata(self, html, reader, reproduced):
        summary = re.search(r'id="glance-summary">.*?</table>', html, re.S)[0]
        assert summary.count("<tr>") == 1 + len(PAPERS)
        assert "−35.35534" in summary
        first = html.split('<h2 class="chapter" id="zg"')[0]
        for name in PAPERS:
            done = reproduced(name)[0].done[0]
            errata = done.chapter.errata(done.study)
            assert len(errata) >= 3
            assert first.count(f"<td>{name.upper()}</td>") == len(errata)

    def test_says_how_it_was_made(self, reader):
        text = " ".join(reader.words)
        assert "taut papers --json" in text
        for name in PAPERS:
            assert f"taut papers {name}" in text
        assert taut.__version__ in reader.inside["how-versions"][1]


@pytest.mark.parametrize("name", PAPERS)
class TestEachPage:
    def test_every_figure_and_table_of_the_paper_is_there(self, name, reproduced, read):
        reader = read(reproduced(name)[0].page.html())
        shown = paper(name).shown
        assert len(shown) == {"zg": 15, "cq": 4, "sgm": 1, "cs": 6}[name]
        for what in shown:
            pictures, cells = reader.inside[f"{name}-{what}"]
            if what.startswith(("table", "algorithm")):
                assert len(cells) > 10
            else:
                (picture,) = pictures
                assert picture.startswith(b"<?xml")
                assert picture.count(b"<path") > 10
        numbers = {int(i[-2:]) for i in reader.ids if re.fullmatch(rf"{name}-fig\d\d", i)}
        assert numbers == {int(w[-2:]) for w in shown if w.startswith("fig")}

    def test_needs_no_network(self, name, reproduced, read):
        html = reproduced(name)[0].page.html()
        reader = read(html)
        assert reader.sources
        assert all(s.startswith("data:image/svg+xml;base64,") for s in reader.sources)
        bare = re.sub(r"base64,[^\"]*", "", html)
        for word in ("http", "url(", "@import", "fetch("):
            assert word not in bare, word
        for picture in reader.inside[name + "-" + paper(name).shown[0]][0]:
            assert not re.findall(rb'href="(?!#)', picture)

    def test_is_of_reasonable_size(self, name, reproduced):
        assert 2e5 < len(reproduced(name)[0].page.html()) < 4e6

    def test_ids_are_unique_and_links_lead_somewhere(self, name, reproduced, read):
        reader = read(reproduced(name)[0].page.html())
        assert len(reader.ids) == len(set(reader.ids))
        assert {link.removeprefix("#") for link in reader.links} <= set(reader.ids)

    def test_every_run_shows_its_certificate(self, name, reproduced):
        done = reproduced(name)[0].done[0]
        html = reproduced(name)[0].page.html()
        certified = list(done.chapter.certificates(done.study))
        assert len(certified) >= 4
        assert {c.key for c in certified} == done.numbers["certificates"].keys()
        for c in certified:
            assert f"<pre>{escape(str(c.certificate))}</pre>" in html
        assert html.count("<details>") >= len(certified)

    def test_holds_no_path_of_this_machine(self, name, reproduced):
        made = reproduced(name)[0]
        text = made.page.html() + json.dumps(made.numbers)
        assert str(Path.home()) + "/" not in text
        assert "/tmp" not in text

    def test_numbers_have_one_head(self, name, reproduced):
        made = reproduced(name)[0]
        numbers = made.numbers["papers"][name]
        assert made.numbers["command"] == numbers["command"] == f"taut papers {name}"
        assert numbers["paper"]["title"] == paper(name).title
        assert numbers["versions"]["taut"] == taut.__version__
        assert {"numpy", "casadi", "numba", "sympy", "python"} <= numbers["versions"].keys()
        assert len(numbers["claims"]) >= 5
        assert len(numbers["errata"]) >= 3

    def test_progress_grows_to_its_end(self, name, reproduced):
        made, told = reproduced(name)
        chapter = made.done[0].chapter
        done, totals = zip(*told, strict=True)
        assert set(totals) == {chapter.seconds}
        assert len(told) == 1 + len(chapter.stages) + 1
        assert list(done) == sorted(set(done))
        assert done[-1] == totals[0]


class TestFrame:
    def test_everything_given_is_escaped(self, monkeypatch, read):
        given = small(
            heading=EVIL, lead=EVIL,
            claims=lambda s: [Claim(EVIL, EVIL, EVIL, EVIL, EVIL)],
            errata=lambda s: [Erratum(EVIL, EVIL, EVIL, EVIL)],
            summary=lambda s: Summary(*[EVIL] * 6),
            certificates=lambda s: [Certified(EVIL, EVIL, s.run.certificate)],
        )  # fmt: skip
        monkeypatch.setattr(Paper, "chapter", lambda self: given)
        evil = Paper("evil", EVIL, EVIL, ())
        html = book.reproduce([evil]).page.html()
        assert html.count("<script>") == 1  # that of the contents
        assert "alert" not in html.split("<script>")[1]
        reader = read(html)
        assert sum(EVIL in text for text in reader.words) >= 15

    def test_chapters_may_use_the_same_names(self, quick, read):
        reader = read(book.reproduce(chosen(["zg", "cq"])).page.html())
        assert {"zg-fig01", "cq-fig01", "zg-section", "cq-section"} <= set(reader.ids)
        assert len(reader.ids) == len(set(reader.ids))

    def test_claims_are_counted_and_signed(self, quick):
        made = book.reproduce(chosen(["zg"]))
        words = "of its statements 1 of 2 agree, 1 cannot be decided; 1 misprint, 1 omission"
        assert made.done[0].in_words() == words
        html = made.page.html()
        assert "1 of 2 agree, 1 cannot be decided" in html
        assert "<td>so corrected it holds</td>" in html
        assert "✗ does not agree" in html
        assert "✓ agrees" in html
        assert "<td>nothing said</td>" in html
        assert '<td class="n">1.0244</td>' in html

    def test_stages_are_made_in_order_and_told(self, monkeypatch):
        seen, told = [], []
        extra = [Stage("more", 5, lambda s: seen.append(s.numbers["answer"]))]
        monkeypatch.setattr(Paper, "chapter", lambda self: small(extra, drawing=7))
        book.reproduce(chosen(["zg", "cq"]), progress=lambda *x: told.append(x))
        assert seen == [42, 42]
        assert told == [(k, 34) for k in (2, 5, 10, 12, 15, 20, 27, 34)]

    def test_without_a_page_nothing_is_drawn(self, monkeypatch):
        def no(*_):
            raise AssertionError

        told = []
        monkeypatch.setattr(Paper, "chapter", lambda self: small(sections=[no], drawing=7))
        made = book.reproduce(chosen(["zg"]), drawn=False, progress=lambda *x: told.append(x))
        assert made.page is None
        assert made.numbers["papers"]["zg"]["answer"] == 42
        assert told == [(2, 5), (5, 5)]

    def test_certificates_are_compared_in_what_all_of_them_tell(self, quick):
        html = book.reproduce(chosen(["zg"])).page.html()
        table = html.split('id="zg-certificates"')[1].split("</table>")[0]
        heads = re.findall(r"<th>(.*?)</th>", table)
        assert heads[0] == "run"
        assert {"max |g|", "band of the energy", "drift / band"} <= set(heads)
        assert "Newton iterations" not in heads
        assert len(re.findall("<td", table)) == len(heads)

    def test_names(self):
        assert [p.name for p in chosen([])] == list(PAPERS)
        assert [p.name for p in chosen(["cs", "zg", "cs"])] == ["cs", "zg"]
        with pytest.raises(taut.UnknownName, match="did you mean 'zg'"):
            chosen(["cs", "zgg"])
        assert book.command(chosen([])) == "taut papers"
        assert book.command(chosen(["cs", "zg"])) == "taut papers cs zg"


class TestNumbers:
    def test_plain_has_no_infinity(self):
        given = {"a": np.float64(1.5), "b": (np.inf, np.int64(2)), "c": np.bool_(True), "d": None}
        assert plain(given) == {"a": 1.5, "b": [None, 2], "c": True, "d": None}

    def test_orders(self):
        assert orders([8.0, 2.0, 1.0]) == [2.0, 1.0]

    @pytest.mark.parametrize(
        ("ours", "theirs", "text"),
        [(-35.35534, -35.35534, "1.0000"), (-0.9932, 0.9968, "−0.9964"), (0.022, 1e-4, "220"),
         (2.0, 14.49, "0.14"), (0.0013, 15.947, "8.2×10⁻⁵")],
    )  # fmt: skip
    def test_ratios(self, ours, theirs, text):
        assert ratio(ours, theirs) == text


class TestCommand:
    @pytest.fixture
    def command(self, capsys, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)

        def run(*arguments):
            code = cli.main(["papers", *arguments])
            said = capsys.readouterr()
            return code, said.out, said.err

        return run

    def test_writes_one_page_of_all_papers(self, command, quick):
        code, out, err = command()
        assert (code, err) == (0, "")
        assert quick == list(PAPERS)
        assert [str(f) for f in Path().rglob("*") if f.is_file()] == ["out/papers/index.html"]
        assert "out/papers/index.html" in out
        html = Path("out/papers/index.html").read_text(encoding="utf-8")
        assert "<title>Four papers, reproduced</title>" in html

    def test_writes_those_that_are_named(self, command, quick):
        assert command("cs", "zg", "--out", "there/new")[0] == 0
        html = Path("there/new/index.html").read_text(encoding="utf-8")
        assert re.findall(r'class="chapter" id="(\w+)"', html) == ["glance", "cs", "zg", "how"]
        assert "Two papers" in html

    def test_figures_as_files(self, command, quick, read):
        assert command("zg", "--figures")[0] == 0
        (file,) = Path("out/papers/figures").iterdir()
        assert file.name == "zg-fig01.svg"
        reader = read(Path("out/papers/index.html").read_text(encoding="utf-8"))
        assert reader.inside["zg-fig01"][0] == [file.read_bytes()]

    def test_json_is_all_that_is_printed_and_the_page_waits_for_out(self, command, quick):
        code, out, err = command("zg", "cq", "--json")
        assert (code, err) == (0, "")
        assert json.loads(out)["papers"].keys() == {"zg", "cq"}
        assert not list(Path().iterdir())
        code, out, _ = command("zg", "--json", "--out", "there")
        assert json.loads(out)["papers"]["zg"]["answer"] == 42
        assert Path("there/index.html").is_file()

    def test_lists_and_runs_nothing(self, command, quick):
        code, out, _ = command("--list")
        assert code == 0
        for known in PAPERS.values():
            assert f"  {known.name:<6}{known.title}\n        {known.source}\n" in out
        assert quick == []

    def test_unknown_names_are_found_first(self, command, quick):
        code, _, err = command("zg", "abc")
        assert code == 2
        assert "no paper called 'abc'" in err
        assert "cq, cs, sgm, zg" in err
        assert quick == []

    @pytest.mark.parametrize("out", ["file", "file/below"])
    def test_a_file_is_no_directory(self, command, quick, out):
        Path("file").write_text("")
        code, _, err = command("zg", "--out", out)
        assert code == 2
        assert f"{out} cannot be made" in err
        assert quick == []
        assert Path("file").read_text() == ""

    def test_a_directory_that_takes_no_files_is_found_first(self, command, quick, monkeypatch):
        Path("there").mkdir()
        monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != Path("there"))
        code, _, err = command("zg", "--out", "there")
        assert code == 2
        assert "there cannot be written to" in err
        assert quick == []

    def test_a_page_that_cannot_be_written_in_the_end_is_an_error(self, tmp_path):
        (tmp_path / "index.html").mkdir()
        with pytest.raises(taut.FileError, match="cannot be written"):
            book.write(book.Page("title", ""), tmp_path)

    def test_an_old_page_stays_until_the_new_one_is_whole(self, tmp_path, monkeypatch):
        (tmp_path / "index.html").write_text("old")
        monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
        with pytest.raises(taut.FileError, match="full"):
            book.write(book.Page("title", ""), tmp_path)
        assert (tmp_path / "index.html").read_text() == "old"

    def test_ctrl_c_says_where_it_was(self, command, monkeypatch):
        def interrupted(study):
            raise KeyboardInterrupt

        given = small([Stage("long runs", 1, interrupted)])
        monkeypatch.setattr(Paper, "chapter", lambda self: given)
        code, out, err = command("cq", "zg")
        assert (code, out) == (130, "")
        assert err == "interrupted at cq: long runs; nothing was written\n"
        assert not list(Path().rglob("*.html"))

    @pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT between processes")
    def test_ctrl_c_in_earnest(self, tmp_path):
        out = tmp_path / "there"
        line = [sys.executable, "-m", "taut", "papers", "cq", "--out", str(out)]
        process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not out.exists():  # it is made before anything is computed
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said, err = process.communicate()
        # Where Ctrl-C breaks into exec("…"), say a dataclass being made, CPython's -m ends by the
        # signal although it was caught; a shell sees 130 both times.
        assert process.returncode in (130, -signal.SIGINT)
        assert said == ""
        assert "interrupted" in err
        assert "Traceback" not in err
        assert not list(out.iterdir())
