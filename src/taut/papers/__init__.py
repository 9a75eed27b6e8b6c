"""The papers taut grows from, redrawn from its own runs: one module per paper, and this catalogue.

Importing the catalogue imports no paper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from taut.errors import UnknownName

if TYPE_CHECKING:
    from taut.papers.page import Report


@dataclass(frozen=True)
class Paper:
    """A paper that can be reproduced.

    Attributes
    ----------
    name : str
    title, source : str
        What it is called, and where it appeared.
    module : str
        Where its ``reproduce(out, progress) -> Report`` is.
    """

    name: str
    title: str
    source: str
    module: str

    def reproduce(
        self, out: str | Path, progress: Callable[[int, int, str], object] | None = None
    ) -> Report:
        """Redraw the paper into a directory.

        Parameters
        ----------
        out : path
            Made if it does not exist.
        progress : callable(done, total, what), optional
        """
        return import_module(self.module).reproduce(Path(out), progress)


PAPERS: dict[str, Paper] = {
    paper.name: paper
    for paper in (
        Paper(
            "zg",
            "Integration of constrained dynamical systems via analytical structural mechanics",
            "Zhong Wanxie & Gao Qiang, Journal of Dynamics and Control 4(3), 2006",
            "taut.papers.zg",
        ),
        Paper(
            "cq",
            "Symplectic algorithm for dynamic equations of constrained multibody systems",
            "Journal of Chongqing University 27(6), 2004, 102–105",
            "taut.papers.cq",
        ),
        Paper(
            "sgm",
            "Conserved quantities and one-step corrections method for holonomic system",
            "Shang Mei, Guo Yongxin & Mei Fengxiang, 2008",
            "taut.papers.sgm",
        ),
        Paper(
            "cs",
            "A Poisson integrator for geometric exact beam",
            "Chen Xiao & Shi Donghua, Journal of Dynamics and Control, 2025",
            "taut.papers.cs",
        ),
    )
}


def paper(name: str) -> Paper:
    """The paper of this name."""
    if name not in PAPERS:
        raise UnknownName("paper", name, PAPERS)
    return PAPERS[name]


__all__ = ["PAPERS", "Paper", "paper"]
