"""References: the file is whole, methods name what is in it, and a run cites what it used."""

import re
from pathlib import Path

import numpy as np
import pytest

import taut
from taut import cite
from taut.methods import CATALOGUE
from taut.methods.composition import SCHEMES as COMPOSITIONS
from taut.methods.fields import SCHEMES

x, y = taut.coordinates("x y")
PENDULUM = taut.System([x, y], mass=[1, 1], potential=y, constraints=[x**2 + y**2 - 1])
OWN = "@article{me2030, author = {Me, {M}}, title = {A {Method}}, journal = {J}, year = {2030}}"
ENTRIES = {entry.key: entry for entry in cite.entries(cite.FILE.read_text("utf-8"))}
MORE = [
    taut.Corrected("rk4", []),
    taut.Adaptive("rattle", scale=x),
    taut.Baumgarte(base="dopri5"),
    *(taut.Composition("rattle", order=int(s[:2] if s[0] == "1" else s[0]), scheme=s)
      for s in COMPOSITIONS),
]  # fmt: skip


def swing(**settings):
    start = {"q0": [1, 0], "v0": 0, "duration": 0.1, "step": 0.01}
    return taut.simulate(PENDULUM, **{**start, **settings})


# ---- the file ---------------------------------------------------------------------------------


def test_every_entry_of_the_file_is_read():
    text = cite.FILE.read_text("utf-8")
    heads = re.findall(r"^@\w+\{(\w+),$", text, re.MULTILINE)
    assert list(ENTRIES) == heads
    assert len(set(heads)) == len(heads) > 40
    fields = re.findall(r"^  (\w+) = \{.*\},$", text, re.MULTILINE)
    assert sum(len(entry.fields) for entry in ENTRIES.values()) == len(fields)


@pytest.mark.parametrize("key", ENTRIES)
def test_an_entry_has_what_its_kind_needs(key):
    entry = ENTRIES[key]
    needs = {
        "article": {"author", "title", "journal", "year"},
        "book": {"author", "title", "publisher", "year"},
        "incollection": {"author", "title", "booktitle", "year"},
        "inproceedings": {"author", "title", "booktitle", "year"},
        "misc": {"title", "year"},
    }
    assert needs[entry.kind] <= set(entry.fields)
    assert entry.authors or entry.fields["key"]
    assert re.fullmatch(r"(18|19|20)\d\d", entry.fields["year"])
    assert re.fullmatch(r"10\.\d{4,}/\S+", entry.fields.get("doi", "10.1000/none"))
    assert entry.fields["title"].count("{") == entry.fields["title"].count("}")


@pytest.mark.parametrize("key", ENTRIES)
def test_an_entry_comes_back_from_its_bibtex(key):
    assert cite.entries(ENTRIES[key].bibtex()) == [ENTRIES[key]]


@pytest.mark.parametrize("key", ENTRIES)
def test_an_entry_is_printed_without_marks_of_latex(key):
    entry = ENTRIES[key]
    for text in (str(entry), entry.short):
        assert not set(text) & set("{}$\\")
        assert "--" not in text
        assert "  " not in text
        assert entry.fields["year"] in text


def test_every_entry_is_used():
    named = [m.cited for m in (*CATALOGUE.values(), *SCHEMES.values(), *MORE)]
    used = {reference.key for keys in named for reference in cite.found(keys)}
    assert set(ENTRIES) == used | {*cite.LIBRARIES, cite.NOETHER, "taut"}


# ---- methods ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*CATALOGUE, *SCHEMES])
def test_every_method_has_references(name):
    method = {**CATALOGUE, **SCHEMES}[name]
    found = cite.found(method.references)
    assert found
    assert method.source == cite.shortly(method.references)
    assert all(reference.short in method.source for reference in found)
    assert set(method.references) <= set(method.cited)


def test_short_forms():
    short = {key: entry.short for key, entry in ENTRIES.items()}
    assert short["andersen1983"] == "Andersen 1983"
    assert short["zhong2006"] == "Zhong & Gao 2006"
    assert short["hairer2006"] == "Hairer, Lubich & Wanner 2006"
    assert short["demoures2015"] == "Demoures et al. 2015"
    assert short["numpy"] == "Harris et al. 2020"
    assert short["cq2004"] == "CQ 2004"


def test_all_places_in_a_work_are_named():
    (reference,) = cite.found(["hairer2006, XIV.4", "hairer2006, IV.4", "hairer2006, XIV.4"])
    assert reference.where == "XIV.4; IV.4"


def test_a_reference_in_full():
    assert str(ENTRIES["andersen1983"]) == (
        "Hans C. Andersen (1983). Rattle: A “velocity” version of the SHAKE algorithm for "
        "molecular dynamics calculations. Journal of Computational Physics 52(1), 24–34. "
        "doi:10.1016/0021-9991(83)90014-1"
    )
    (book,) = cite.found(["hairer2006, IV.4"])
    assert ", Springer, IV.4. doi:" in str(book)
    (series,) = cite.found(["hairer1989"])
    assert "Lecture Notes in Mathematics, 1409, Springer" in str(series)


def test_what_a_method_is_made_of_is_cited():
    corrected = taut.Corrected(taut.Composition("rattle", order=4), [], iterate=True)
    keys = [reference.key for reference in cite.found(corrected.cited)]
    assert keys == ["shang2008", "hairer2006", "suzuki1990", "andersen1983", "jay1996"]
    (book,) = [r for r in cite.found(corrected.cited) if r.key == "hairer2006"]
    assert book.where == "IV.4 and V.4.1; II.4 and V.3.2"
    assert "Andersen" not in corrected.source
    dormand = cite.found(taut.Baumgarte(base="dopri5").cited)
    assert "dormand1980" in [reference.key for reference in dormand]
    assert "marsden2001" in [r.key for r in cite.found(taut.TimeElement(degree=2).cited)]


# ---- runs -------------------------------------------------------------------------------------


def test_a_run_cites_what_it_used():
    cited = swing().cite()
    assert cited.keys == ("taut", "andersen1983", "jay1996", "noether1918", *cite.LIBRARIES)
    assert "the method, rattle" in cited.groups
    assert f"Version {taut.__version__}" in str(cited)
    assert f"version = {{{taut.__version__}}}" in cited.bibtex()
    assert [entry.key for entry in cite.entries(cited.bibtex())] == list(cited.keys)
    assert (
        '<a href="https://doi.org/10.1137/0733019">doi:10.1137/0733019</a>' in cited._repr_html_()
    )
    assert max(map(len, str(cited).splitlines())) <= 100
    assert repr(cited) == str(cited)


def test_laws_are_cited_where_they_are_watched():
    assert "noether1918" not in swing(laws=None).cite().keys
    flow = taut.simulate(taut.Flow([x, y], [y, -x]), q0=[1, 0], duration=1, step=0.1, method="rk4")
    assert flow.cite().keys == ("taut", "hairer1993", *cite.LIBRARIES)


def test_a_run_of_a_beam_cites_its_scheme():
    beam = taut.Beam(1, taut.Square(0.1), density=1000, young=1e6, poisson=0.3, nodes=5)
    run = taut.simulate(beam, momentum0=np.zeros((5, 6)), duration=1e-3, method="poisson")
    assert run.cite().keys == ("taut", "chen2025", *cite.LIBRARIES)
    assert "(36), (53)–(55)" in str(run.cite())


# ---- references of one's own --------------------------------------------------------------------


def own(*given):
    class Own(taut.Rattle):
        name = "own-with-references"
        references = given

    return Own()


def test_a_method_may_bring_its_own():
    cited = swing(method=own("jay1996", OWN)).cite()
    assert cited.keys[1:3] == ("jay1996", "me2030")
    assert "M Me (2030). A Method. J." in str(cited)
    assert own(OWN).source == "Me 2030"


def test_a_method_without_any_says_so():
    cited = swing(method=own()).cite()
    assert "no reference is given" in str(cited)
    assert "no reference is given" in cited._repr_html_()


@pytest.mark.parametrize("broken", ["hairer2066", "@article{a, title = {b}", "@article{a}", "@",
                                    "@article{a, title = b}", f"{OWN} {OWN}", 7])  # fmt: skip
def test_what_cannot_be_cited_is_said_when_it_is_registered(broken):
    with pytest.raises(taut.InputError):
        taut.register("broken-references", own(broken))
    assert "broken-references" not in CATALOGUE


def test_an_unknown_key_lists_those_that_are_known():
    with pytest.raises(taut.UnknownName, match="hairer2006"):
        cite.found(["hairer2066"])


def test_own_references_are_escaped():
    entry = '@misc{a, title = {<script>x</script>}, year = {2000}, doi = {10.1/"><b>}}'
    (reference,) = cite.found([entry])
    assert "<script>" not in reference.html()
    assert '"><b>' not in reference.html()
    assert "&lt;script&gt;" in reference.html()


def test_the_file_is_part_of_the_package():
    assert Path(taut.__file__).parent == cite.FILE.parent
