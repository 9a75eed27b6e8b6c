"""The papers taut grows from, redrawn from its own runs: one module per paper, and this catalogue.

Importing the catalogue imports no paper.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from taut.calls import public
from taut.errors import word

if TYPE_CHECKING:
    from taut.papers.chapter import Chapter


@dataclass(frozen=True)
class Paper:
    """A paper that can be reproduced.

    Attributes
    ----------
    name : str
    title, source : str
        What it is called, and where it appeared.
    shown : tuple of str
        The figures and tables of the paper that are redrawn, by their names in its chapter: what
        is "fig01" here is ``#zg-fig01`` on the page.
    """

    name: str
    title: str
    source: str
    shown: tuple[str, ...]

    def chapter(self) -> Chapter[Any]:
        """What is run and what is said; this imports the paper's module."""
        return import_module(f"taut.papers.{self.name}").CHAPTER


def figures(*numbers: int) -> tuple[str, ...]:
    """The names of figures in a chapter."""
    return tuple(f"fig{k:02d}" for k in numbers)


PAPERS: dict[str, Paper] = {
    paper.name: paper
    for paper in (
        Paper(
            "zg",
            "Integration of constrained dynamical systems via analytical structural mechanics",
            "Zhong Wanxie & Gao Qiang, Journal of Dynamics and Control 4(3), 2006",
            figures(*range(1, 10), *range(11, 17)),  # 10 is a sketch
        ),
        Paper(
            "cq",
            "Symplectic algorithm for dynamic equations of constrained multibody systems",
            "Journal of Chongqing University 27(6), 2004, 102–105",
            figures(2, 3, 4, 5),  # 1 is a sketch
        ),
        Paper(
            "sgm",
            "Conserved quantities and one-step corrections method for holonomic system",
            "Shang Mei, Guo Yongxin & Mei Fengxiang, 2008",
            ("example",),  # a body in formulas, without figures
        ),
        Paper(
            "cs",
            "A Poisson integrator for geometric exact beam",
            "Chen Xiao & Shi Donghua, Journal of Dynamics and Control, 2025",
            (*figures(1, 2, 3), "table1", "table2", "algorithm1"),
        ),
    )
}


@public
def paper(name: str) -> Paper:
    """The paper of this name."""
    return PAPERS[word("paper", name, PAPERS)]


def chosen(names: Iterable[str]) -> list[Paper]:
    """The papers of these names, each once; all of them if none is named."""
    return [paper(name) for name in dict.fromkeys(names)] or list(PAPERS.values())


__all__ = ["PAPERS", "Paper", "chosen", "paper"]
