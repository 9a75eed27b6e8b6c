"""Papers reproduced: all runs, all numbers, and one self-contained page with a chapter for each."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from taut.errors import FileError, Interrupted
from taut.papers import PAPERS, Paper
from taut.papers.chapter import Chapter, agreement, misprints
from taut.papers.numbers import plain
from taut.progress import Progress
from taut.show.page import Page, versions

NAME = "index.html"
WORDS = {1: "One paper", 2: "Two papers", 3: "Three papers", 4: "Four papers"}


@dataclass(frozen=True)
class Done:
    """A paper and what was run for it; `seconds` is what its runs took."""

    paper: Paper
    chapter: Chapter[Any]
    study: Any
    seconds: float

    @property
    def numbers(self) -> dict[str, Any]:
        """Everything that is known, as JSON knows it."""
        paper = self.paper
        return {
            "paper": {"name": paper.name, "title": paper.title, "source": paper.source},
            "command": command([paper]),
            "versions": versions(),
            **self.study.numbers,
            "claims": [claim._asdict() for claim in self.chapter.claims(self.study)],
            "errata": [erratum._asdict() for erratum in self.chapter.errata(self.study)],
            "certificates": {
                c.key: plain(c.certificate.to_dict()) for c in self.chapter.certificates(self.study)
            },
        }

    def in_words(self) -> str:
        """How many statements hold, and how many misprints and omissions there are."""
        claims, errata = self.chapter.claims(self.study), self.chapter.errata(self.study)
        return f"of its statements {agreement(claims)}; {misprints(errata)}"


@dataclass(frozen=True)
class Reproduction:
    """Papers that were run, and the page about them if it was wished for."""

    done: tuple[Done, ...]
    page: Page | None

    @property
    def numbers(self) -> dict[str, Any]:
        """Everything that is known, by paper."""
        return {
            "command": command([d.paper for d in self.done]),
            "versions": versions(),
            "papers": {d.paper.name: d.numbers for d in self.done},
        }


def command(papers: Sequence[Paper]) -> str:
    """What is typed to make this."""
    names = [paper.name for paper in papers]
    return " ".join(["taut papers", *([] if names == list(PAPERS) else names)])


# ---- running ----------------------------------------------------------------------------------


def reproduce(
    papers: Sequence[Paper],
    *,
    drawn: bool = True,
    progress: bool | Callable[[int, int], object] | None = None,
) -> Reproduction:
    """Run everything that papers need, and write the page.

    Parameters
    ----------
    papers : sequence of Paper
    drawn : bool
        Whether there is to be a page.
    progress : None, bool or callable(done, total)
        None: a bar, if standard error is a terminal.
    """
    chapters = [paper.chapter() for paper in papers]
    total = sum(c.seconds - (not drawn) * c.drawing for c in chapters)
    with Progress(progress, total, "papers", "starting") as bar:
        done = tuple(_run(p, c, bar) for p, c in zip(papers, chapters, strict=True))
        return Reproduction(done, page_of(done, bar) if drawn else None)


def _run(paper: Paper, chapter: Chapter[Any], bar: Progress) -> Done:
    begin, first = perf_counter(), chapter.begin
    study = _made(bar, f"{paper.name}: {first.label}", first.seconds, first.work)
    for stage in chapter.stages:
        _made(bar, f"{paper.name}: {stage.label}", stage.seconds, stage.work, study)
    return Done(paper, chapter, study, perf_counter() - begin)


def _made(bar: Progress, label: str, seconds: int, work: Callable[..., Any], *given: Any) -> Any:
    """What some work makes of what is given; Ctrl-C says where it was."""
    bar.say(label, seconds)
    try:
        made = work(*given)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted at {label}; nothing was written") from None
    bar.add(seconds)
    return made


# ---- the page ---------------------------------------------------------------------------------


def page_of(done: Sequence[Done], bar: Progress | None = None) -> Page:
    """The whole page: an opening chapter, one for each paper, and how it was made."""
    bar = bar or Progress(False, 0, "papers")
    page = Page(
        f"{WORDS.get(len(done), f'{len(done)} papers')}, reproduced",
        "Every figure and every number of this page comes from runs in taut.",
    )
    _open(page, done)
    for d in done:
        page.chapter(d.chapter.heading, d.paper.name, f"{d.paper.source}: *{d.paper.title}*")
        label = f"{d.paper.name}: figures"
        _made(bar, label, d.chapter.drawing, d.chapter.write, page, d.study)
        page.text(
            f"`{command([d.paper])}` makes this chapter alone; its runs took {d.seconds:.0f} s."
        )
    _close(page, done)
    return page


def _open(page: Page, done: Sequence[Done]) -> None:
    page.chapter("At a glance", "glance")
    rows = []
    for d in done:
        s = d.chapter.summary(d.study)
        number = (s.quantity, s.paper, s.ours, s.ratio)
        rows.append((d.chapter.heading, s.claim, s.finding, *number))
    page.table(
        ("paper", "says", "we find", "for instance", "paper", "ours", "ours ÷ paper"), rows,
        "What each paper says and what its runs give; the chapters tell it in full",
        name="summary",
    )  # fmt: skip
    page.heading("Errata at a glance", "errata")
    page.table(
        ("paper", "where", "printed", "right", ""),
        [
            (d.paper.name.upper(), e.where, e.printed, e.right, e.kind)
            for d in done
            for e in d.chapter.errata(d.study)
        ],
    )


def _close(page: Page, done: Sequence[Done]) -> None:
    line = command([d.paper for d in done])
    page.chapter("How this page was made", "how")
    page.text(
        f"`{line}`",
        f"`{line} --json` prints all numbers; with `--figures` the figures are files as well.",
    )
    page.table(("", "version"), list(versions().items()), name="versions")


# ---- files ------------------------------------------------------------------------------------


def write(page: Page, out: Path, figures: bool = False) -> list[Path]:
    """Write a page into a directory, whole or not at all; its pictures before it if wished for."""
    files = {out / "figures" / name: data for name, data in page.pictures.items() if figures}
    files[out / NAME] = page.html().encode()
    try:
        for file, data in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            new = file.with_name(f".{file.name}.new")
            new.write_bytes(data)
            os.replace(new, file)
    except OSError as error:
        raise FileError(
            f"the page cannot be written to {out}",
            received=error.strerror or str(error),
            remedy="choose another directory",
        ) from error
    return list(files)[::-1]
