"""`taut.compare`: several runs of one system on one page, as a table and as a figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from taut.calls import public
from taut.errors import InputError, UnknownName, brief
from taut.march.field_trajectory import FieldTrajectory
from taut.march.trajectory import Trajectory
from taut.text import Sheet

TIMES = 400  # at which runs are compared
SAME = 1e-6  # of a step: times that are one time

Run = Trajectory | FieldTrajectory


@public
def compare(
    runs: Sequence[Run] | Mapping[str, Run], *, reference: Run | str | Callable | None = None
) -> Comparison:
    """Put runs of one system side by side: other methods, steps, parameters or starts.

    Parameters
    ----------
    runs : sequence of runs, or mapping label → run
        Without labels they are named by what differs.
    reference : a run, a label, or a function t → q, optional
        What distances are measured from; by default the run that should be the most accurate by its
        order and step (of equals the first), which the title names.  A function takes times of
        shape (N,) and gives coordinates of shape (N, n), or (q, v) as the closed form of a problem.

    Returns
    -------
    Comparison
        Prints as a table; ``plot()``, ``to_dict()``.

    Examples
    --------
    >>> import taut
    >>> x, y = taut.coordinates("x y")
    >>> s = taut.System([x, y], mass=[1, 1], potential=y, constraints=[x**2 + y**2 - 1])
    >>> runs = [taut.simulate(s, q0=[1, 0], v0=0, duration=1, step=0.1, method=m)
    ...         for m in ("rattle", "time-element")]
    >>> list(taut.compare(runs).runs)
    ['rattle', 'time-element']
    """
    if isinstance(runs, Mapping):
        named = {str(label): run for label, run in runs.items()}
    elif isinstance(runs, Sequence):
        named = _named(list(runs))
    else:
        raise InputError(
            "runs cannot be compared",
            expected="a list of runs, or {label: run}",
            received=brief(runs),
        )
    _check(named)
    if isinstance(reference, str):
        if reference not in named:
            raise UnknownName("run", reference, named)
        reference = named[reference]
    if reference is None:
        reference = _finest(list(named.values()))
    if isinstance(reference, Run):
        _check({**named, "reference": reference})
    elif not callable(reference):
        raise InputError(
            "the reference cannot be read",
            expected="a run, a label, or a function t → q",
            received=brief(reference),
        )
    elif isinstance(next(iter(named.values())), FieldTrajectory):
        raise InputError(
            "runs of beams and fields are compared with runs",
            expected="a run or a label as the reference",
            received="a function",
        )
    return Comparison(named, reference)


@public
@dataclass(frozen=True, repr=False)
class Comparison(Sheet):
    """Several runs side by side.

    Attributes
    ----------
    runs : dict, label → run
    reference : run or function
    """

    runs: dict[str, Run]
    reference: Any
    head = True

    def title(self) -> str:
        """One line: what they were runs of."""
        first = next(iter(self.runs.values()))
        model = first.model if isinstance(first, FieldTrajectory) else first.system
        model = getattr(model, "flow", None) or model
        work = any("*" in cell for row in side_by_side(self.runs)[1:] for cell in row[1:])
        star = "; * energy minus work" if work else ""
        return f"{len(self.runs)} runs of one model, {model!r}; distances from {self.origin}{star}"

    @property
    def origin(self) -> str:
        """What distances are measured from, in words."""
        same = (label for label, run in self.runs.items() if run is self.reference)
        return next(same, "another run" if isinstance(self.reference, Run) else "a function")

    def rows(self) -> list[list[str]]:
        """The main lines of the certificates, one column for each run."""
        table = side_by_side(self.runs)
        far = [self._farthest(label) for label in self.runs]
        table.append(["distance", *far])
        return table

    def _farthest(self, label: str) -> str:
        t, distance = self.distances[label]
        if self.runs[label] is self.reference:
            return "reference"
        return f"{np.nanmax(distance):.1e}" if len(t) else "no common times"

    @cached_property
    def distances(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Of each run from the reference: times, and |q − q_ref| at them.

        Of beams the largest distance of a node from where it is in the reference, of a field the
        largest |μ − μ_ref|; of a batch that of the worst trajectory.
        """
        return {label: distance_of(run, self.reference) for label, run in self.runs.items()}

    def to_dict(self) -> dict[str, Any]:
        """The certificates by label, each with the largest distance from the reference."""
        return {
            label: {
                **run.certificate.to_dict(),
                "distance": float(np.nanmax(d)) if len(d := self.distances[label][1]) else None,
            }
            for label, run in self.runs.items()
        }

    def plot(self, title: str | None = None) -> Any:
        """Errors, residuals and distances over time, and the table, as a Matplotlib figure."""
        from taut.show.compare_plot import figure_of

        return figure_of(self, title)


# ---- labels, and what can be compared ---------------------------------------------------------


def _named(runs: list[Run]) -> dict[str, Run]:
    """Labels that say what differs."""
    _check_runs(runs)
    if not runs:
        return {}
    sides: list[list[str]] = [[_method(run) for run in runs], [f"h = {run.step:g}" for run in runs]]
    for name in runs[0].parameters:
        sides.append([f"{name} = {run.parameters.get(name, np.nan):g}" for run in runs])
    told = [side for side in sides if len(set(side)) > 1]
    labels = [", ".join(parts) for parts in zip(*told, strict=True)] or [""] * len(runs)
    if len(set(labels)) < len(labels):
        labels = [f"{x or 'run'} ({k})".strip() for k, x in enumerate(labels, 1)]
    return dict(zip(labels, runs, strict=True))


def _method(run: Run) -> str:
    return run.method.label if isinstance(run, Trajectory) else run.method.name


def _finest(runs: list[Run]) -> Run:
    """The run whose error should be least: hᵖ is, with steps in units of ten of the longest."""
    whole = [run for run in runs if not run.ended_early] or runs
    unit = 10 * max(run.step for run in whole)
    return min(whole, key=lambda run: run.method.order * np.log(run.step / unit))


def _check_runs(runs: Sequence[Any]) -> None:
    for run in runs:
        if not isinstance(run, Run):
            raise InputError(
                "only runs can be compared",
                expected="what taut.simulate returns",
                received=type(run).__name__,
            )


def _check(runs: Mapping[str, Any]) -> None:
    """Whether runs are of the same kind, or an error that says what differs."""
    _check_runs(list(runs.values()))
    if len(runs) < 2:
        raise InputError(
            "there is nothing to compare", expected="two runs or more", received=len(runs)
        )
    (first, one), *others = runs.items()
    for label, run in others:
        for what, a, b in zip(_FACTS, _facts(one), _facts(run), strict=True):
            if a != b:
                raise InputError(
                    f"these runs differ in their {what}, so they cannot be compared",
                    expected=f"{a}, as of {first!r}",
                    received=f"{b}, of {label!r}",
                )


_FACTS = ("kind", "coordinates", "number of trajectories")


def _facts(run: Run) -> tuple[str, str, int]:
    if isinstance(run, Trajectory):
        kind = "a flow" if run.system.first_order else "a system"
        return kind, ", ".join(s.name for s in run.system.coordinates), run.batch or 1
    kind = "a field" if run.mesh is None else "beams"
    return kind, f"{run.momentum.shape[1]} nodes × {run.momentum.shape[2]}", 1


# ---- distances --------------------------------------------------------------------------------


def distance_of(run: Run, reference: Any) -> tuple[np.ndarray, np.ndarray]:
    """(times, distance from the reference at them)."""
    rows = np.unique(np.linspace(0, len(run.t) - 1, TIMES).astype(int))
    if isinstance(run, FieldTrajectory) and isinstance(reference, FieldTrajectory):
        rows, there = _common(run.t, reference)
        beams = run.mesh is not None
        mine, its = (x.positions if beams else x.momentum for x in (run, reference))
        return run.t[rows], np.linalg.norm(mine[rows] - its[there], axis=2).max(axis=1)
    assert isinstance(run, Trajectory)
    if isinstance(reference, Trajectory):
        slack = SAME * run.step
        t = run.t[rows]
        rows = rows[(t >= reference.t[0] - slack) & (t <= reference.t[-1] + slack)]
        q = _states(reference, run.t[rows])
    else:
        q = _values(reference, run.t[rows], run.q[..., rows, :].shape)
    gap = np.linalg.norm(run.q[..., rows, :] - q, axis=-1)
    return run.t[rows], gap if gap.ndim == 1 else np.nanmax(gap, axis=0)


def _common(t: np.ndarray, other: FieldTrajectory) -> tuple[np.ndarray, np.ndarray]:
    """Rows of both at which times are the same."""
    there = np.clip(np.searchsorted(other.t, t - SAME * other.step), 0, len(other.t) - 1)
    rows = np.flatnonzero(np.abs(other.t[there] - t) <= SAME * other.step)
    if len(rows) > TIMES:
        rows = rows[np.unique(np.linspace(0, len(rows) - 1, TIMES).astype(int))]
    return rows, there[rows]


def _states(run: Trajectory, t: np.ndarray) -> np.ndarray:
    """Coordinates at these times: stored, or by shortened steps of the run's own method."""
    rows = np.clip(np.searchsorted(run.t, t - SAME * run.step), 0, len(run.t) - 1)
    if np.all(np.abs(run.t[rows] - t) <= SAME * run.step):
        return run.q[..., rows, :]
    return run.at(np.clip(t, run.t[0], run.t[-1])).q


def _values(exact: Callable, t: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """What a function gives as q."""
    found = exact(t)
    q = np.asarray(found[0] if isinstance(found, tuple) else found, dtype=float)
    if q.shape != shape[-2:] and q.shape != shape:
        raise InputError(
            "the reference does not give coordinates",
            expected=f"shape {shape[-2:]} for {len(t)} times",
            received=q.shape,
        )
    return q


# ---- the table --------------------------------------------------------------------------------


def side_by_side(runs: Mapping[str, Run]) -> list[list[str]]:
    """The main lines of several certificates, one column each, of whatever systems."""
    columns = [main_lines(run) for run in runs.values()]
    lines = dict.fromkeys(line for column in columns for line in column)
    rows = [["", *runs]]
    return rows + [[line, *(column.get(line, "") for column in columns)] for line in lines]


def main_lines(run: Run) -> dict[str, str]:
    """The main lines of a certificate."""
    c = run.certificate
    label = _method(run)
    short = label if " " not in label else run.method.name  # a column has no room for options
    found = {"method": short, "steps": f"{c.steps} × {run.step:g}"}
    resolved = {"resolution": c.resolution.verdict}
    if isinstance(run, FieldTrajectory):
        return found | resolved | _energy_lines(c, not c.gross_work) | _momentum_lines(c)
    if c.steps_least < c.steps:  # of a batch that failed or was interrupted
        found["steps"] = f"{c.steps_least} … {found['steps']}"
    found |= resolved
    if run.system.c:
        found |= {"max |g|": f"{c.max_g:.1e}", "max |G q̇|": f"{c.max_hidden:.1e}"}
    if run.system.first_order:
        changes = [w.largest_change for w in c.watched]
        return found | {"laws change by": f"{max(changes):.1e}" if changes else "none known"}
    defect = "" if c.symplecticity is None else f"{c.symplecticity:.1e}"
    return found | _energy_lines(c, run.system.conservative) | {"symplectic to": defect}


def _energy_lines(c: Any, conservative: bool) -> dict[str, str]:
    drift = c.energy
    share = f"{100 * drift.relative:+.2f} ± {100 * drift.relative_half_width:.2g}"
    if conservative:
        sure = c.energy_verdict.partition(";")[0]
    else:
        sure = "no drift" if drift.relative_half_width < 0.1 else "none seen"
    if np.isinf(drift.half_width):
        share, sure = "", "too short"
    return {
        "energy band": f"{drift.band:.1e}{'' if conservative else ' *'}",
        "energy drift": sure,
        "in % of the band": share.replace("-", "−"),
    }


def _momentum_lines(c: Any) -> dict[str, str]:
    kept = {f"{name} momentum": f"{x:.1e}" for name, x in c.momenta.items() if c.kept[name]}
    return kept | ({} if c.compatibility is None else {"strain, poses": f"{c.compatibility:.1e}"})


__all__ = ["Comparison", "compare", "distance_of", "main_lines", "side_by_side"]
