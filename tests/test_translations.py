"""The Chinese pages say what the English ones say: block by block, and letter by letter in code."""

from __future__ import annotations

import re
import runpy
from collections import Counter
from itertools import zip_longest
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
REFRESH = runpy.run_path(str(ROOT / "docs" / "refresh.py"))
PASTE = runpy.run_path(str(ROOT / "benchmarks" / "paste.py"))
CHINESE = REFRESH["CHINESE"]
CODE = re.compile(r"`[^`]+`")
LINK = re.compile(r"(!?)\[((?:`[^`]*`|[^\]`])*)\]\(([^)\s]+)\)")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-−]?\d+)?")
MARK = re.compile(r"#+ |```\w*|\* |\||<!--|!\[")

translations = pytest.mark.parametrize(
    "translation", REFRESH["TRANSLATIONS"], ids=lambda page: page.name
)


def blocks(text: str) -> list[str]:
    """Headings, paragraphs, list items, tables and fenced blocks of a page, in their order."""
    fenced = REFRESH["FENCED"]
    found = []
    for words, code in zip_longest(fenced.split(text)[::2], fenced.finditer(text)):
        for part in re.split(r"\n\s*\n", words.strip()):
            found += [item.strip() for item in re.split(r"\n(?=\* |<!--)|(?<=-->)\n", part)]
        found += [code.group()] if code else []
    return [block for block in found if block]


def mark(block: str) -> str:
    """What kind of block it is: its level for a heading, its language for code, "" for prose."""
    found = MARK.match(block)
    return found.group() if found else ""


def sections(page: Path) -> list[list[str]]:
    """The blocks of a page, from heading to heading."""
    found: list[list[str]] = []
    for block in blocks(page.read_text()):
        if block.startswith("#"):
            found.append([])
        found[-1].append(block)
    return found


def prose(block: str) -> str:
    """The words of a block: without code and without where links lead."""
    return CODE.sub("", LINK.sub(r"\2", block))


def expected(target: str, page: Path) -> str:
    """Where a translated page links to: the translation of the target, if there is one."""
    chinese = re.sub(r"\.md(?=#|$)", f"{CHINESE}.md", target)
    return chinese if (page.parent / chinese.partition("#")[0]).exists() else target


def pairs(translation: Path) -> list[tuple[str, str]]:
    """The blocks of the English page with those of the Chinese one, but for the line of tongues."""
    english, chinese = (
        blocks(page.read_text()) for page in (REFRESH["original"](translation), translation)
    )
    both = list(zip(english, chinese, strict=True))
    return [both[0], *both[2:]]


def test_the_readme_and_the_tutorial_are_translated():
    names = {page.relative_to(ROOT).as_posix() for page in REFRESH["TRANSLATIONS"]}
    assert names >= {"README.zh-CN.md", "docs/tutorial.zh-CN.md"}
    assert not names & {page.relative_to(ROOT).as_posix() for page in REFRESH["PAGES"]}


@translations
def test_the_pages_lead_to_each_other(translation):
    english = REFRESH["original"](translation)
    for page, line in (
        (english, f"**English** · [简体中文]({translation.name})"),
        (translation, f"[English]({english.name}) · **简体中文**"),
    ):
        heading, tongues = blocks(page.read_text())[:2]
        assert heading.startswith("# ")
        assert tongues == line


@translations
def test_code_and_output_are_the_same(translation):
    """Letter by letter: neither is executed nor measured a second time."""
    english, chinese = (
        [block.group() for block in REFRESH["FENCED"].finditer(page.read_text())]
        for page in (REFRESH["original"](translation), translation)
    )
    assert {mark(block) for block in english} >= {"```python", "```text"}
    assert chinese == english, "run docs/refresh.py"


@translations
def test_sections_are_the_same(translation):
    """As many headings of each level, and below each the same kinds of blocks."""
    english, chinese = map(sections, (REFRESH["original"](translation), translation))
    assert len(english) >= 6
    assert [mark(section[0]) for section in chinese] == [mark(section[0]) for section in english]
    for (heading, *theirs), (_, *ours) in zip(english, chinese, strict=True):
        assert [mark(block) for block in ours] == [mark(block) for block in theirs], heading


@translations
def test_every_block_has_the_names_numbers_and_links_of_the_original(translation):
    """Words may stand in another order; code spans, figures and targets may not be lost."""
    for english, chinese in pairs(translation):
        if english.startswith("```"):
            continue
        assert chinese.count("|") == english.count("|"), f"cells of {chinese}"
        assert Counter(CODE.findall(chinese)) == Counter(CODE.findall(english)), chinese
        assert Counter(NUMBER.findall(prose(chinese))) == Counter(NUMBER.findall(prose(english)))
        targets = [(kind, expected(to, translation)) for kind, _, to in LINK.findall(english)]
        assert Counter((k, to) for k, _, to in LINK.findall(chinese)) == Counter(targets), chinese


@translations
def test_every_block_is_in_chinese(translation):
    for english, chinese in pairs(translation)[1:]:
        if not english.startswith(("```", "<!--")):
            assert re.search("[一-鿿]", prose(chinese)), f"not translated: {chinese}"
            assert prose(chinese) != prose(english)


def test_the_tables_of_the_readme_are_those_of_the_english_one():
    """Both are pasted from one run, through one list of words, each of which is of use."""
    english, chinese = (
        (ROOT / name).read_text().partition(PASTE["BEGIN"])[2].partition(PASTE["END"])[0]
        for name in ("README.md", "README.zh-CN.md")
    )
    assert len(NUMBER.findall(english)) > 20
    assert chinese == PASTE["in_chinese"](english)
    for word in PASTE["CHINESE"]:
        assert word in english


def test_refreshing_brings_a_translation_back_into_step(tmp_path):
    (tmp_path / "page.md").write_text("# A\n\n```python\n1\n```\n\n```text\nnew\n```\n\nwords\n")
    page = tmp_path / f"page{CHINESE}.md"
    page.write_text("# 甲\n\n```python\n2\n```\n\n```text\nold\n```\n\n字\n")
    assert REFRESH["in_step"](page) == "# 甲\n\n```python\n1\n```\n\n```text\nnew\n```\n\n字\n"
    page.write_text("# 甲\n\n```python\n2\n```\n\n字\n")
    with pytest.raises(SystemExit, match=r"the blocks of page\.md, 2 .* but has 1"):
        REFRESH["in_step"](page)
