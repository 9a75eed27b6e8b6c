"""What is to be seen of a run: which trajectories, which expressions, how finely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp

from taut.errors import InputError
from taut.march.trajectory import Trajectory

MOVES = 1e-9  # of the largest range of a coordinate: a smaller one is rest
CURVES = 4  # that have all their points; more of them share those


@dataclass(frozen=True)
class View:
    """A run and what is to be seen of it.

    Attributes
    ----------
    run : Trajectory
        As it was given, perhaps a batch.
    runs : list of Trajectory
        The single ones that are drawn.
    of : Expr or sequence of them, optional
        What is drawn, of panels that let one choose.
    when : Expr, Event or str, optional
        Of the section.
    """

    run: Trajectory
    runs: list[Trajectory]
    down: str | None = "auto"
    of: Any = None
    when: Any = None
    points: int = 5000

    def share(self, curves: int) -> int:
        """Points per curve, so that a file stays small however many curves there are."""
        return max(min(self.points, CURVES * self.points // max(curves, 1)), 10)

    def chosen(self, *sizes: int) -> list[sp.Expr] | None:
        """The expressions of `of`, read; there must be as many as one of `sizes`, if any."""
        if self.of is None:
            return None
        several = isinstance(self.of, Sequence | np.ndarray) and not isinstance(self.of, str)
        given = list(self.of) if several else [self.of]
        if (sizes and len(given) not in sizes) or not given:
            words = " or ".join(map(str, sizes)) or "at least one"
            raise InputError(
                f"of= has {len(given)} expressions",
                expected=f"{words}, of coordinates, velocities, momenta, t and parameters",
                received=repr(self.of)[:80],
            )
        return [self.run.system.read(e) for e in given]

    def moving(self) -> list[int]:
        """The coordinates that change, or the first one if none does."""
        q = self.run.q.reshape(-1, self.run.system.n)
        extent = np.nanmax(q, axis=0) - np.nanmin(q, axis=0)
        found = np.flatnonzero(extent > MOVES * extent.max())
        return found.tolist() or [0]


def members(run: Trajectory, most: int) -> tuple[list[Trajectory], str]:
    """The trajectories to draw, and what to say about it."""
    if run.batch is None:
        return [run], ""
    rows = np.unique(np.linspace(0, run.batch - 1, min(most, run.batch)).astype(int))
    said = f"{len(rows)} of {run.batch}" if len(rows) < run.batch else f"{run.batch}"
    return [run[int(i)] for i in rows], f", {said} trajectories"


def thinned(run: Trajectory, most: int) -> Trajectory:
    """At most so many of the stored states, first and last among them."""
    if len(run.t) <= most:
        return run
    rows = np.unique(np.linspace(0, len(run.t) - 1, most).astype(int))
    return replace(run, t=run.t[rows], **{x: getattr(run, x)[..., rows, :] for x in "qvp"})
