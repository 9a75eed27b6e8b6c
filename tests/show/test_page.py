"""The frame of a page: what is escaped, what can be linked to, and how it is laid out."""

import pytest

from taut.show import style
from taut.show.page import Page, marked


def test_marked_escapes_and_marks():
    assert marked("a < b & *c*") == "a &lt; b &amp; <i>c</i>"
    assert marked("`x_1*2`, S_k, x_{k−1}") == "<code>x_1*2</code>, S<sub>k</sub>, x<sub>k−1</sub>"


def test_sections_alone_stand_in_a_line_above():
    page = Page("A page", "about *this*")
    page.heading("First", "one")
    page.heading("Second", "two")
    html = page.html()
    assert '<nav><a href="#one">First</a><a href="#two">Second</a></nav></header>' in html
    assert '<h2 id="one">First</h2>' in html
    assert "<script" not in html


def test_chapters_hold_their_sections_and_their_names():
    page = Page("A book", "")
    for name in ("one", "two"):
        page.chapter(name.title(), name, "by *somebody*")
        page.heading("Same", "same")
        page.table(("a",), [("1",)], name="table1")
    html = page.html()
    assert (
        '<li><a href="#two">Two</a><ul><li><a href="#two-same">Same</a></li></ul></li></ul></nav>'
        in html
    )
    assert '<h2 class="chapter" id="two">Two</h2>' in html
    assert '<h3 id="two-same">Same</h3>' in html
    assert '<div class="wide" id="two-table1">' in html
    assert html.count("<i>somebody</i>") == 2


@pytest.mark.parametrize(
    ("cell", "kept"),
    [("−1.2×10⁻⁷", True), ("+5", True), ("words", False), ("", False),
     ("−28.85251 needs a kinetic energy of 0.015", False)],
)  # fmt: skip
def test_numbers_are_not_broken_and_sentences_are(cell, kept):
    page = Page("", "")
    page.table(("",), [(cell,)])
    assert ('<td class="n">' in page.parts[0]) == kept


def test_names_are_escaped():
    page = Page("<b>", "<b>")
    page.chapter("<b>", 'a"><b>', "<b>")
    page.heading("<b>", 'c"><b>')
    page.table(("<b>",), [("<b>",)], "<b>", name='d"><b>')
    page.folded("<b>", "<b>")
    assert page.html().count("<b>") == 0


def test_pictures_fit_a_narrow_page_and_can_be_made_large(visit, tmp_path):
    page = Page("A book", "")
    page.chapter("One", "one")
    wide = style.picture(2.0)
    wide.add_subplot().plot([0, 1], [0, 1])
    page.figure("fig", wide, "Fig. 1", "A line.")
    (tmp_path / "book.html").write_text(page.html())
    opened = visit(tmp_path / "book.html", width=390)
    frame = "document.querySelector('figure .wide')"
    assert opened.evaluate(f"{frame}.scrollWidth - {frame}.clientWidth") == 0
    picture = opened.locator("figure img")
    small = picture.bounding_box()
    assert small["width"] > 300
    picture.click()
    assert picture.bounding_box()["width"] > 1.4 * small["width"]
    picture.click()
    assert picture.bounding_box() == small
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390
    broad = visit(tmp_path / "book.html", width=1280)
    assert broad.locator("figure img").bounding_box()["width"] == round(120 * wide.get_figwidth())
