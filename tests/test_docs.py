"""What is shown is executed: every Python block of the README and of the pages, every example."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from taut.methods import CATALOGUE

ROOT = Path(__file__).resolve().parents[1]
REFRESH = runpy.run_path(str(ROOT / "docs" / "refresh.py"))
PAGES, TRANSLATIONS = REFRESH["PAGES"], REFRESH["TRANSLATIONS"]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def without_times(text: str) -> str:
    """Wall time and speed differ from run to run, digits of round-off from processor to processor.

    Everything else must be what was printed.
    """
    text = re.sub(r": \S+ s \(\S+ [nµ]s per step\)", "", text)
    return re.sub(r"\d\.\de-1[5-9]", "round-off", text)


@pytest.mark.usefixtures("catalogue_as_it_was")
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_blocks_run_and_print_what_is_shown(page):
    """The blocks of a page run in order; the output shown below one is what it printed."""
    for block, printed in REFRESH["outputs"](page.read_text(), page.name):
        if block.group(2) is not None:
            assert without_times(block.group(2)) == without_times(printed), "run docs/refresh.py"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.stem)
def test_examples_draw_only_if_they_are_given_a_name(example):
    """They run, with a name, for the site: see test_docs_site.py."""
    text = example.read_text()
    before, guard, after = text.partition("    if len(sys.argv) > 1:\n")
    assert guard
    assert "sys.argv[" not in before
    assert "sys.argv[1]" in after
    assert all(line.startswith(" " * 8) for line in after.splitlines() if "sys.argv" in line)


def test_flying_spaghetti_is_where_others_find_it():
    """Reference values converged elsewhere; the example's mesh is off by 3e-3 in a length of 10."""
    names = runpy.run_path(str(ROOT / "examples" / "flying_spaghetti.py"))
    assert names["errors"].keys() == {2.5, 5.0, 10.0}
    assert max(names["errors"].values()) < 5e-3
    assert abs(names["thrown"] - [50, 0, 0]).max() < 1e-11


@pytest.mark.parametrize(
    "page",
    [*PAGES, *TRANSLATIONS, ROOT / "NOTATION.md", ROOT / "CONTRIBUTING.md"],
    ids=lambda p: p.name,
)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text()):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_method_shown_in_contributing_works():
    """The program printed in CONTRIBUTING.md is a working first-order method."""
    import numpy as np

    import taut
    from taut.methods.base import projected

    text = (ROOT / "CONTRIBUTING.md").read_text()
    body = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert body is not None
    lines = [line[3:] if line.startswith("   ") else line for line in body.group(1).splitlines()]
    names = {"projected": projected}
    exec("\n".join(lines), names)

    class Shown(taut.Method):
        name, order, symplectic, symmetric, source = "shown", 1, True, False, "CONTRIBUTING.md"
        program = names["program"]

    x, y = taut.coordinates("x y")
    system = taut.System([x, y], mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1])
    fine = taut.simulate(system, q0=[0.6, -0.8], v0=0, duration=1, step=1e-4).q[-1]
    errors = []
    for step in (0.01, 0.005):
        run = taut.simulate(system, q0=[0.6, -0.8], v0=0, duration=1, step=step, method=Shown())
        errors.append(np.abs(run.q[-1] - fine).max())
        assert run.certificate.max_g < 1e-14
        assert run.certificate.symplecticity < 1e-13
    assert np.log2(errors[0] / errors[1]) == pytest.approx(1, abs=0.1)


def test_the_benchmarks_of_the_readme_are_those_of_their_page():
    """Both are pasted from one run: the README's table follows from the page's lines."""
    paste = runpy.run_path(str(ROOT / "benchmarks" / "paste.py"))
    page, readme = ((ROOT / name).read_text() for name in ("docs/benchmarks.md", "README.md"))
    lines = re.findall(r"^(\S.*?) {2,}([\d.e-]+) (?:ns|×)", page, re.MULTILINE)
    rows = [{"name": name, "value": float(value)} for name, value in lines]
    figures = re.compile(r"[\d.]+(?= (?:ns|×))")
    shown = readme.split(paste["BEGIN"])[1].split("\n\n")[0]
    ours, theirs = (figures.findall(text) for text in (paste["speed_table"](rows), shown))
    assert len(ours) == 11
    for one, two in zip(ours, theirs, strict=True):  # rounded from four digits, or from all
        assert abs(float(one) - float(two)) <= (0.11 if float(two) >= 10 else 0.011)


def test_model_files_of_the_pages_are_read():
    """What is shown as a model file is one, and the first is the example that it says it is."""
    from taut.files.reader import model_of
    from taut.files.source import Source

    text = (ROOT / "docs" / "files.md").read_text()
    shown = re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(shown) == 4
    assert shown[0] == (ROOT / "examples" / "pendulum.toml").read_text()
    assert shown[3] == (ROOT / "examples" / "blade.toml").read_text()
    for model in shown:
        model_of(Source(model, "files.md"), "shown", {})


def test_the_page_of_sources_is_that_of_its_files():
    written = runpy.run_path(str(ROOT / "docs" / "sources.py"))["page"]()
    assert (ROOT / "docs" / "theory" / "sources.md").read_text() == written, "run docs/sources.py"
    for name in ("Jay 1996", "Noether 1918", "Moser 1968", "ZG, Zhong & Gao 2006"):
        assert f"* **{name}**: " in written


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_the_verification_page_has_every_method(name):
    """Written by docs/verification.py; what it measured fits what is claimed today."""
    rows = [
        [cell.strip() for cell in line.strip("|\n ").split("|")]
        for line in (ROOT / "docs" / "verification.md").read_text().splitlines()
        if line.startswith(f"| `{name}` |")
    ]
    assert len(rows) == 2
    order, kept = rows
    assert int(order[1]) == CATALOGUE[name].order
    for measured in order[2:4]:
        assert float(measured) == pytest.approx(CATALOGUE[name].order, abs=0.6)
    assert (float(kept[1]) < 1e-14) == CATALOGUE[name].keeps_constraints
    assert (float(kept[4]) < 1e-12) == CATALOGUE[name].symplectic
