"""What a run did between the states that it stored: parts of it, made again with all their steps.

Parts are chosen where velocities turn most from one stored state to the next, since that is where
steps are coarse, and evenly.  How many there are is a matter of time: what share of the steps was
looked at is said with what was seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from taut.errors import TautError

if TYPE_CHECKING:
    from taut.march.trajectory import Trajectory

PARTS = 16  # half of them where velocities turn most
SECONDS, LEAST = 0.5, 2000  # that steps made again may take, and how many are made in any case
GOLDEN = (5**0.5 - 1) / 2


def parts_between(run: Trajectory, turning: np.ndarray) -> tuple[list[Trajectory], float]:
    """(runs with all steps, the share of the steps that they make).

    Parameters
    ----------
    run : Trajectory
        A single one.
    turning : ndarray, shape (N,)
        How much velocities change from each stored state that has one after it to the next.
    """
    count = len(turning)
    if run.every == 1 or run.method.pace is not None or run.held is not None or not count:
        return [run], 1.0
    whole = max(1, round((run.t[-1] - run.t[0]) / run.step))
    most = max(LEAST, int(SECONDS * whole / run.wall_time) if run.wall_time else 0)
    many = max(1, min(count, PARTS, most // run.every))
    steps, found = min(run.every, most), []
    for row in _rows(turning, many):
        length = min(steps * run.step, float(run.t[row + 1] - run.t[row]))
        if (part := _again(run, row, length)) is not None:
            found.append(part)
    made = sum(len(x.t) - 1 for x in found)
    return found or [run], min(1.0, made / whole)


def _rows(turning: np.ndarray, many: int) -> list[int]:
    """Stored states: those of the quickest parts, and of parts spread over the run."""
    if many >= len(turning):
        return list(range(len(turning)))
    worst = np.argsort(-turning, kind="stable")[: (many + 1) // 2].tolist()
    evenly = (np.arange(1, 8 * many) * GOLDEN % 1.0 * len(turning)).astype(int).tolist()
    return sorted(list(dict.fromkeys([*worst, *evenly]))[:many])


def _again(run: Trajectory, row: int, duration: float) -> Trajectory | None:
    """From a stored state on."""
    from taut.march.simulate import simulate

    start: dict[str, Any] = {"q0": run.q[row], "v0": run.v[row]}
    if run.system.first_order:
        start = {"q0": run.q[row], "p0": 0.0}
    try:
        return simulate(
            run.system, **start, t0=float(run.t[row]), duration=duration, step=run.step,
            method=run.method, parameters=run.parameters, laws=None, project=True, progress=False,
        )  # fmt: skip
    except TautError:
        return None


__all__ = ["parts_between"]
