"""What is to be seen of a run: which trajectories, which expressions, how finely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp

from taut.errors import InputError, brief
from taut.march.trajectory import Trajectory
from taut.show.panels import count

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
                received=brief(self.of),
            )
        return [self.run.system.read(e) for e in given]

    def moving(self) -> list[int]:
        """The coordinates that change, or the first one if none does."""
        q = self.run.q.reshape(-1, self.run.system.n)
        extent = np.nanmax(q, axis=0) - np.nanmin(q, axis=0)
        found = np.flatnonzero(extent > MOVES * extent.max())
        return found.tolist() or [0]


def chosen_members(run: Trajectory, members: Any) -> list[int]:
    """Numbers of the trajectories of a batch that are drawn.

    Parameters
    ----------
    run : Trajectory
    members : int or sequence of int
        How many, evenly spaced, or which.
    """
    batch = run.batch or 1
    several = isinstance(members, np.ndarray) and members.ndim > 0
    if several or (isinstance(members, Sequence) and not isinstance(members, str)):
        whole = [isinstance(i, int | np.integer) and not isinstance(i, bool) for i in members]
        if not whole or not all(whole) or not all(-batch <= i < batch for i in members):
            raise InputError(
                "there are no such members",
                expected=f"numbers of trajectories, 0 … {batch - 1}",
                received=brief(members),
            )
        return list(dict.fromkeys(int(i) % batch for i in members))
    count("members", members, 1)
    many = min(int(members), batch)
    return np.unique(np.linspace(0, batch - 1, many).astype(int)).tolist()


def members(run: Trajectory, which: Any) -> tuple[list[Trajectory], list[int], str]:
    """The trajectories that are drawn, their numbers, and what to say about them."""
    rows = chosen_members(run, which)
    if run.batch is None:
        return [run], [0], ""
    said = f"{len(rows)} of {run.batch}" if len(rows) < run.batch else f"{run.batch}"
    return [run[i] for i in rows], rows, f"{said} trajectories"


def thinned(run: Trajectory, most: int) -> Trajectory:
    """At most so many of the stored states, first and last among them."""
    if len(run.t) <= most:
        return run
    rows = np.unique(np.linspace(0, len(run.t) - 1, most).astype(int))
    return replace(run, t=run.t[rows], **{x: getattr(run, x)[..., rows, :] for x in "qvp"})
