"""Which states of a run are frames of its scene."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from taut.errors import InputError
from taut.march.trajectory import Trajectory
from taut.show.scene import rows_of, settled, told


def rows_shown(
    run: Trajectory, runs: list[Trajectory], numbers: list[int], each: int
) -> tuple[np.ndarray, list[int], list[str]]:
    """Which states are frames, how many states each trajectory has, and what to say about it.

    A trajectory of a batch that ends before the others stays where it is.

    Parameters
    ----------
    run : Trajectory
    runs, numbers : list
        What is drawn of it.
    each : int
        Numbers that a frame of one trajectory takes.
    """
    finite = [_finite(one) for one in runs]
    if max(finite) == 0:
        raise InputError("there is nothing to draw: no state of the run is finite")
    ends = [max(shown_of(one), 1) for one in runs]
    rows = rows_of(max(ends), len(runs) * each + 2)
    notes = told(run.t, max(finite), max(ends), len(rows))
    early = [(k, end) for k, end in zip(numbers, ends, strict=True) if end < max(ends)]
    notes += [f"trajectory {k} ends at t = {run.t[end - 1]:.6g}" for k, end in early]
    return rows, ends, notes


def _finite(run: Trajectory) -> int:
    """How many states there are before the first that is not finite."""
    bad = np.flatnonzero(~np.isfinite(run.q).all(axis=1))
    return int(bad[0]) if len(bad) else len(run.t)


def shown_of(run: Trajectory) -> int:
    """How many states there are before it is not finite, or blows up."""
    gone = np.abs(run.q - run.q[0]).max(axis=1)
    return settled(gone, float(np.abs(run.q[0]).max()), run.failed_at is not None)


def part_of(run: Trajectory, rows: np.ndarray) -> Trajectory:
    """These states of a trajectory."""
    return replace(run, t=run.t[rows], q=run.q[rows], v=run.v[rows], p=run.p[rows])
