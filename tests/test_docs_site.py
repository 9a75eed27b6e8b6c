"""The site of `make docs`: built strictly, whole, and without anything from the network."""

from __future__ import annotations

import json
import os
import re
import runpy
import sys
import time
import traceback
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from PIL import Image

import taut

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
FRONT_DOOR = sorted(set(taut.__all__) - {"__version__"})
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The folder of the site, built once, whichever worker comes first."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    out, said = shared / "site", shared / "site.json"
    try:
        (shared / "site.lock").mkdir()
    except FileExistsError:
        while not said.exists():
            time.sleep(0.5)
    else:
        _build(out, said)
    assert json.loads(said.read_text())["trouble"] == ""
    return out


@pytest.fixture(scope="session")
def examples(site) -> dict[str, dict]:
    """What the runs of all examples are like, by name."""
    return json.loads(site.with_suffix(".json").read_text())["examples"]


def _build(out: Path, said: Path) -> None:
    """Build it as `make docs` does, here; leave for every worker what went wrong and what ran."""
    examples, trouble, real = {}, "", runpy.run_path

    def noted(path: str, *given, **options):
        names = real(path, *given, **options)
        if Path(path).parent == ROOT / "examples":
            examples[Path(path).stem] = _told(names["run"])
        return names

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runpy, "run_path", noted)
        patch.setattr(sys, "argv", ["make_site.py", str(out)])
        try:
            real(str(ROOT / "docs" / "make_site.py"), run_name="__main__")
        except (Exception, SystemExit):
            trouble = traceback.format_exc()
    half = said.with_suffix(".half")
    half.write_text(json.dumps({"trouble": trouble, "examples": examples}))
    half.rename(said)


def _told(run) -> dict:
    facts = run.certificate.to_dict()
    known = {name: facts[name] for name in ("max_g", "orthogonality") if name in facts}
    bound = "max_g" in facts and run.system.c > 0
    return {**known, "bound": bound, "certificate": str(run.certificate)}


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value for key, value in attrs if value}
        self.places |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and given.get("rel") not in ("stylesheet", "icon", "preload"):
            return  # where to go from here, not what to load
        if LOADED.get(tag, "") in given:
            self.loaded.append(given[LOADED[tag]])


@cache
def read(path: Path) -> Page:
    return Page(path)


def pages_to_open(site: Path) -> list[Path]:
    """Those that Sphinx made; the reports of the gallery are tested where reports are."""
    return sorted(x for x in site.rglob("*.html") if x.parent.name != "reports")


def leads_nowhere(site: Path, page: Path, target: str) -> bool:
    """Whether a link within the site has no page, or its page no such place."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return False
    path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not path.is_file() or not path.is_relative_to(site):
        return True
    return bool(parts.fragment) and unquote(parts.fragment) not in read(path).places


def test_every_name_of_the_front_door_is_in_the_list():
    """docs/api.md is what the reference is made of; a new name needs a place in it."""
    listed = re.findall(r"^\* `taut\.(\w+)`", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    assert sorted(listed) == FRONT_DOOR


def test_every_example_is_in_the_gallery():
    text = (ROOT / "docs" / "gallery.md").read_text()
    assert sorted(re.findall(r"\.\./examples/(\w+)\.py", text)) == EXAMPLES


@pytest.mark.slow
def test_links_lead_somewhere(site):
    pages = pages_to_open(site)
    assert len(pages) > 50
    dead = [
        f"{page.relative_to(site)} → {target}"
        for page in pages
        for target in read(page).links
        if leads_nowhere(site, page, target)
    ]
    assert dead == []
    assert sum(len(read(page).links) for page in pages) > 2000


@pytest.mark.slow
def test_nothing_is_loaded_from_outside(site):
    missing, outside = [], []
    for page in pages_to_open(site):
        assert len(read(page).loaded) > 3
        for target in read(page).loaded:
            if urlsplit(target).scheme not in ("", "data") or target.startswith("//"):
                outside.append(f"{page.relative_to(site)} loads {target}")
            elif target[:5] != "data:" and not _file(page, target).is_file():
                missing.append(f"{page.relative_to(site)} lacks {target}")
    for sheet in site.rglob("*.css"):
        text = sheet.read_text()
        outside += re.findall(r"@import[^;]*//[^;]*|url\(['\"]?(?:https?:)?//[^)]*", text)
    assert (missing, outside) == ([], [])


def _file(page: Path, target: str) -> Path:
    return (page.parent / unquote(urlsplit(target).path)).resolve()


@pytest.mark.slow
@pytest.mark.parametrize("name", FRONT_DOOR)
def test_every_name_has_an_entry_with_words(site, name):
    places = [page for page in (site / "api").glob("*.html") if f"taut.{name}" in read(page).places]
    assert len(places) == 1
    text = places[0].read_text().split(f'id="taut.{name}"', 1)[1].split("<dd>", 1)[1]
    assert len(re.sub(r"<[^>]*>", "", text[:2000]).strip()) > 20


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_has_a_picture_and_a_certificate(site, name):
    picture = site / "_images" / f"{name}.png"
    assert f"_images/{name}.png" in read(site / "gallery.html").loaded
    grey = np.asarray(Image.open(picture).convert("L"), dtype=float)
    inked = (grey < 250).mean()
    assert 0.01 < inked < 0.7
    assert (grey < 250).any(axis=0).mean() > 0.5  # not in one corner
    page = site / "gallery" / f"{name}.html"
    assert f"../_images/{name}.png" in read(page).loaded
    assert "steps of" in page.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_hold_their_laws_and_print_it(site, examples, name):
    told = examples[name]
    page = (site.with_name("site-pages") / "gallery" / f"{name}.md").read_text()
    printed = page.rpartition("It prints\n\n```text\n")[2]
    if "max_g" in told:
        assert told["max_g"] < 1e-11
        assert ("max |g|" in printed) == told["bound"]
        assert told["certificate"] in printed
    else:
        assert told["orthogonality"] < 1e-13
        assert "strain against poses" in printed


@pytest.mark.slow
def test_equations_have_numbers_and_mathjax_comes_with_the_site(site):
    for source in sorted((ROOT / "docs" / "theory").glob("*.md")):
        labels = re.findall(r"^\$\$ \(([\w-]+)\)$", source.read_text(), re.MULTILINE)
        page = site / "theory" / f"{source.stem}.html"
        assert len(labels) > 5 or source.stem == "sources"
        numbers = re.findall(r'class="eqno">\((\d+)\)', page.read_text())
        assert numbers == [str(i + 1) for i in range(len(labels))]
        assert {f"equation-{label}" for label in labels} <= read(page).places
        if labels:
            assert any(x.startswith("../_static/mathjax.js") for x in read(page).loaded)
    assert (site / "_static" / "mathjax.js").stat().st_size > 10**6


@pytest.mark.slow
def test_the_search_finds_words_of_the_pages(site):
    index = (site / "searchindex.js").read_text()
    for word in ("rattl", "certif", "symplect", "cosserat"):
        assert f'"{word}"' in index or f"{word}:" in index


# ---- in a browser; `visit` fails on what is written to the console or asked of the network -----

WIDE = ("index", "tutorial", "gallery", "verification", "api/running", "theory/beams")
SEEN = """() => {
    const [frame, all] = [document.querySelector(".content"), document.documentElement];
    const formulas = [...document.querySelectorAll(".math")];
    return {
        sideways: frame.scrollWidth > frame.clientWidth || all.scrollWidth > all.clientWidth,
        words: document.querySelector("article").innerText.length,
        empty: [...document.images].filter(i => !i.complete || !i.naturalWidth).length,
        formulas: formulas.length,
        unset: formulas.filter(f => !f.querySelector("mjx-container")).length,
        wrong: document.querySelectorAll("mjx-merror, [data-mjx-error]").length,
    }
}"""


def amiss_on(page, path: Path) -> str:
    """What a reader of an open page would find amiss, once its formulas are set; or nothing."""
    page.evaluate("() => window.MathJax && MathJax.startup.promise.then(() => null)")
    facts = page.evaluate(SEEN)
    theory = path.parent.name == "theory" and path.stem != "sources"
    amiss = {
        "scrolls sideways": facts["sideways"],
        "is empty": facts["words"] < 80,
        "lacks pictures": facts["empty"] > 0,
        "lacks formulas": facts["unset"] > 0 or (theory and facts["formulas"] < 20),
        "has formulas that are none": facts["wrong"] > 0,
    }
    return ", ".join(f"{path.name} {what}" for what, is_so in amiss.items() if is_so)


@pytest.mark.slow
def test_every_page_on_a_telephone(site, visit):
    page = visit(site / "index.html", width=390)
    amiss = []
    for path in pages_to_open(site):
        if path.stem != "search":
            page.goto(path.as_uri())
            amiss.append(amiss_on(page, path))
    assert len(amiss) > 50
    assert list(filter(None, amiss)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", WIDE)
def test_pages_on_a_desk(site, visit, name):
    path = site / f"{name}.html"
    assert amiss_on(visit(path), path) == ""


@pytest.mark.slow
def test_the_search_works_without_a_server(site, visit):
    page = visit(site / "index.html")
    page.goto((site / "search.html").as_uri() + "?q=rattle")
    page.wait_for_selector("#search-results li a")
    found = page.locator("#search-results li a").all_inner_texts()
    assert any("Rattle" in title for title in found)
