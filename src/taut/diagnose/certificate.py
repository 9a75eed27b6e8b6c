"""The certificate: what was measured on a run, over all of its steps.

A table a person reads in ten seconds, and a dict a test asserts on.  Nothing here is claimed by a
method; everything was measured on this trajectory.  For a batch the worst trajectory counts, and
the drift is the mean over all trajectories with the interval that their scatter gives.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from taut.diagnose.drift import Drift, drift_of, pooled
from taut.diagnose.rounding import SAMPLES, Rounding, rounding
from taut.diagnose.symplecticity import Probe
from taut.diagnose.watched import Watched, held, watched
from taut.kernel.newton_code import LIMIT
from taut.march import loop
from taut.march.redundant import owners, told
from taut.march.trajectory import Trajectory
from taut.march.tuned import energy_error
from taut.text import Sheet

EPS = np.finfo(float).eps
ROUNDED = 100 * EPS  # of the size of a constraint: what rounding may leave of it
WALK = 0.4  # of a slope: with a wider interval than that it may be a part of a walk
ROUNDED_ENERGY = 1e-13  # of the energy: an error that is none
BROKEN = 1e-3  # of their size: constraints that are off by more are not met to rounding
LOST = 0.5  # of the largest kinetic energy: an error of the energy that is no small one
HELD = 1e-6  # change of a law, relative to its terms, from which on it is not held
LISTED = 6  # redundant joints or constraints that are named
NAME = 40  # characters of a quantity that are shown
LONG_ENOUGH = 100  # steps after which a drift can be told, if the energy is a number
LONG = 100_000  # steps after which a run counts as long


@dataclass(frozen=True, repr=False)
class Certificate(Sheet):
    """Facts measured on a run; ``print`` it, or take ``to_dict()``.

    Attributes
    ----------
    max_g, max_hidden : float
        Largest |g| and |G q̇ + ∂g/∂t| over all steps.
    energy : Drift
        Band and drift of the energy; of the energy *balance* E − E₀ − work where forces act or
        constraints move.
    work : float
        Work of forces and of moving constraints (0 for a conservative system).
    worst : int
        Of a batch: the trajectory with the widest band, whose energy, band and work these are.
    """

    run: Trajectory = field(repr=False)
    steps: int
    max_g: float
    max_hidden: float
    energy0: float
    energy: Drift
    work: float
    gross_work: float
    iterations: float
    most_iterations: int
    failures: int
    charts: int
    worst: int = 0

    @cached_property
    def held(self) -> float | None:
        """How well a corrected method holds its laws: the largest change, relative to their terms.

        None for other methods.
        """
        return held(self.run)

    @cached_property
    def _followed(self) -> tuple[list[Watched], str]:
        return watched(self.run)

    @property
    def watched(self) -> list[Watched]:
        """The laws of the system (looked for when this is first asked for), or what was given."""
        return self._followed[0]

    @cached_property
    def symplecticity(self) -> float | None:
        """The largest relative defect ‖DΦᵀJDΦ − J‖ on the manifold at sampled states.

        ``None`` for flows and systems with non-conservative forces, which have no symplectic form,
        and for steps of varying size, which are reversible at best.
        """
        varying = self.run.method.pace is not None
        system = self.run.system
        if system.forced or system.first_order or varying:
            return None
        return Probe(self.run).worst()

    @cached_property
    def long_enough(self) -> bool:
        """Whether the run is long enough to tell a drift from a part of a slow oscillation.

        Some coordinate or velocity must have turned at least six times in the stored states; a run
        of which too few states were stored to see that counts as long from 10⁵ steps on.
        """
        if len(self.run.t) < 16:
            return self.steps >= LONG
        turns = 0
        for x in (self.run.q, self.run.v):  # a coordinate may only ever grow
            change = np.diff(x, axis=-2)
            turned = change[..., 1:, :] * change[..., :-1, :] < 0
            turns = max(turns, int(turned.sum(axis=-2).max()))
        return turns >= 6

    @property
    def drifts(self) -> bool:
        """Whether the energy drifts, as far as the run can tell."""
        return self.run.system.conservative and self._energy_verdict() == "drifts"

    @cached_property
    def symplectic(self) -> bool | None:
        """Whether the step keeps the form: its defect is round-off, and not for small steps only.

        None where there is no form to keep or it could not be measured.
        """
        defect = self.symplecticity
        if defect is None or not np.isfinite(defect):
            return None
        return bool(defect < self._defect_limit) and self.run.method.symplectic

    @property
    def _defect_limit(self) -> float:
        return 1e-12 * max(1.0, self.run.system.n / 20)

    @property
    def redundant(self) -> tuple[str, ...]:
        """Names of constraints that follow from the others."""
        names, keep = self.run.system.constraint_names, set(self.run.keep)
        return tuple(name for i, name in enumerate(names) if i not in keep)

    @property
    def steps_per_second(self) -> float:
        """Steps of all trajectories per second of wall time."""
        many = self.run.batch or 1
        return self.steps * many / self.run.wall_time if self.run.wall_time else np.inf

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and strings."""
        run = self.run
        return {
            "method": run.method.key,
            "step": run.step,
            "tolerance": run.tolerance,
            "steps": self.steps,
            "duration": float(run.t[-1] - run.t[0]),
            "shortened_last_step": run.ending.short,
            "max_g": self.max_g,
            "max_hidden": self.max_hidden,
            "energy0": self.energy0,
            "energy_of": self.worst if run.batch else None,
            "energy_is_balance": not run.system.conservative,
            "energy_band": self.energy.band,
            "energy_drift": self.energy.relative,
            "energy_drift_half_width": self.energy.relative_half_width,
            "energy_drifts": self.drifts,
            "energy_slope": self.energy.slope,
            "energy_slope_half_width": self.energy.half_width,
            "work": self.work,
            "symplecticity": self.symplecticity,
            "newton_iterations_mean": self.iterations,
            "newton_iterations_max": self.most_iterations,
            "failures": self.failures,
            "ended_early": run.ended_early,
            "chart_changes": self.charts,
            "redundant_constraints": list(self.redundant),
            "method_notes": {what: f"{value}: {word}" for what, value, word in self._notes},
            "start_projected": run.projected,
            "laws": {
                w.name: {
                    "first": w.first,
                    "largest_change": w.largest_change,
                    "drift": w.drift.relative,
                    "expression": str(w.expression),
                    "proof": w.proof,
                    "broken": w.broken,
                }
                for w in self.watched
            },
            "laws_held": self.held,
            "wall_time": run.wall_time,
            "compile_time": run.compile_time,
            "steps_per_second": self.steps_per_second,
        }

    # ---- printing ----------------------------------------------------------------------------

    def rows(self) -> list[tuple[str, str, str]]:
        """(quantity, value, verdict) of the table."""
        run, rows = self.run, ended(self.run)
        if run.system.c:
            rows.append(("max |g|", f"{self.max_g:.1e}", self._kept(0)))
            rows.append(("max |G q̇ + ∂g/∂t|", f"{self.max_hidden:.1e}", self._kept(1)))
        rows += self._energy_rows()
        if run.tolerance is not None:
            error = energy_error(run)
            word, value = "not checked after the trial", f"{run.tolerance:g}"
            if run.system.conservative and not run.system.first_order:
                word = "met" if error <= run.tolerance else "missed"
                value += f", the energy's error {error:.1e} of the kinetic energy"
            rows.append(("tolerance", value, word))
        if self.symplectic is not None:
            place = " on the constraints" if run.system.c else ""
            word = "symplectic" if self.symplectic else f"not symplectic{place}"
            if not run.method.symplectic and (self.symplecticity or 0.0) < self._defect_limit:
                word = "small at this step, not by construction"
            rows.append(("symplecticity defect", f"{self.symplecticity:.1e}", word))
        rows += self._notes
        if self.held is not None:
            word = "" if self.held < HELD else "not held everywhere: steps too coarse to correct"
            count = len(run.method.laws)  # type: ignore[attr-defined]
            value = f"{count}, to {self.held:.1e} of their size"
            rows.append(("laws held", value, word))
        for w in self.watched:
            if not np.isfinite(w.largest_change):
                value = f"{w.first:.6g} at the start{self._whose(w.worst)}"
                rows.append((w.name, value, "not a number"))
                continue
            name = w.name if len(w.name) <= NAME else w.name[: NAME - 1] + "…"
            value = f"{w.first:.6g} ± {w.largest_change:.1e}{self._whose(w.worst)}"
            rows.append((name, value, self._fate(w)))
        if self._followed[1]:
            rows.append(("laws", f"not looked for: {self._followed[1]}", ""))
        if run.watch is not None:
            for event, steps in zip(run.watch.events, run.watch.blank, strict=True):
                if steps:
                    value = f"not a number after {steps} of the steps"
                    rows.append((f"event {event.label}", value, "not watched there"))
        if run.method.pace is not None and run.every == 1 and len(run.t) > 2:
            sizes = np.diff(run.t)[:-1]
            value = f"{sizes.min():.2g} … {sizes.max():.2g}, in the mean {sizes.mean():.2g}"
            rows.append(("step sizes", value, "" if run.system.forced else "reversible"))
        if self.iterations:
            part = " in a part of it" if len(run.method.substeps) > 1 else ""
            value = f"{self.iterations:.2f} per step, at most {self.most_iterations}{part}"
            word = f"{self.failures} failed" if self.failures else ""
            if run.method.name == "corrected" and self.most_iterations >= LIMIT and not word:
                word = "some corrections did not converge"
            rows.append(("Newton iterations", value, word))
        if self.charts:
            rows.append(("chart changes", str(self.charts), ""))
        if self.redundant:
            extra = owners(run.system, run.keep)
            rows.append(("redundant", told(run.system, extra, LISTED), "least-norm multipliers"))
        return rows

    @cached_property
    def _notes(self) -> list[tuple[str, str, str]]:
        return self.run.method.notes(self.run.system)

    def _kept(self, which: int) -> str:
        """Verdict on g (0) or on the hidden constraints (1)."""
        value, found = (self.max_g, self.max_hidden)[which], self._rounding[which]
        rows_met = found.worst.max(initial=0.0) <= ROUNDED
        if value <= self._round_off[which] and rows_met and found.share <= BROKEN:
            return "round-off"
        return "not kept" if self.run.method.keeps_hidden or not which else "not asked for"

    @property
    def _round_off(self) -> tuple[float, float]:
        """What rounding may do to g and to G v + ∂g/∂t: a hundred times ε, times their sizes."""
        if self.run.system.c == 0:
            return 0.0, 0.0
        g, hidden = (ROUNDED * float(x.size.max(initial=0.0)) for x in self._rounding)
        return g, hidden + 1e-300

    @cached_property
    def _rounding(self) -> tuple[Rounding, Rounding]:
        return rounding(self.run)

    def _energy_rows(self) -> list[tuple[str, str, str]]:
        e = self.energy
        if self.run.system.first_order:
            return []
        amount = f"({_percent(e.relative, '+')} ± {_percent(e.relative_half_width)}) % of the band"
        if np.isinf(e.half_width) or not np.isfinite(e.band):
            amount = "too few steps to tell" if self.steps < LONG_ENOUGH else "beyond measure"
        if self.run.system.conservative:
            start = (
                "energy",
                f"{self.energy0:.8g}, band {e.band:.1e}{self._whose(self.worst)}",
                "",
            )
            mean = " in the mean" if self.run.batch else ""
            return [start, ("energy drift", amount + mean, self._energy_verdict())]
        # What is left is an error of the method, and of the trapezoidal rule by which work is
        # summed; it need not oscillate about zero.
        share = ""
        if e.band <= ROUNDED_ENERGY * abs(self.energy0):
            share = "round-off"
        elif self.gross_work > 0:
            share = f"{_percent(e.band / self.gross_work)} % of the work"
            share += ", which is summed to order 2" if self.run.method.order > 2 else ""
        work = f"{self.work:.6g} (in and out {self.gross_work:.3g})"
        return [
            ("energy, work done", f"{self.energy0:.8g}, {work}{self._whose(self.worst)}", ""),
            ("energy − work", f"constant to {e.band:.1e}", share),
        ]

    def _whose(self, trajectory: int) -> str:
        """Which trajectory of a batch a value is of: the worst."""
        return f" (trajectory {trajectory})" if self.run.batch else ""

    def _fate(self, w: Watched) -> str:
        """Verdict on a law."""
        if w.broken:
            return f"the model does not keep it: {w.broken}"
        if w.drift.band <= 1e3 * EPS * max(abs(w.first), w.size):
            return "round-off"
        verdict = self._verdict(w.drift)
        lost = w.first != 0 and w.largest_change > LOST * abs(w.first)
        return "not kept" if lost and verdict.startswith(("no drift", "none seen")) else verdict

    def _energy_verdict(self) -> str:
        verdict = self._verdict(self.energy, self._energy_noise)
        if verdict.startswith(("no drift", "none seen")) or not verdict:
            share = self._lost
            # Of a few steps, which may begin at rest, only what blows up.
            gone = self.energy.band > LOST * (abs(self.energy0) + self._kinetic.max(initial=0.0))
            if share > LOST and (gone or self.steps >= LONG_ENOUGH):
                amount = f"{_percent(share)} % of" if share < 1 else "more than"
                return f"lost: {amount} the kinetic energy"
        return verdict

    @cached_property
    def _kinetic(self) -> np.ndarray:
        """Half of |p·v| at all states where it is finite."""
        with np.errstate(all="ignore"):
            kinetic = 0.5 * np.abs(np.sum(self.run.v * self.run.p, axis=-1))
        return kinetic[np.isfinite(kinetic)]

    @cached_property
    def _lost(self) -> float:
        """The band of the energy as a share of the largest kinetic energy that is known."""
        known = self._kinetic
        usual = float(np.quantile(known, 0.9)) if known.size else 0.0
        band = self.energy.band
        return band / usual if usual > 0 and np.isfinite(band) else np.inf * (not band <= 0)

    @cached_property
    def _energy_noise(self) -> float:
        """What rounding of momenta and coordinates does to the energy over the whole run."""
        run, m = self.run, self.run._mechanics
        motion = np.abs(run.v * run.p).sum(axis=-1)
        q, v, p = (x.reshape(-1, run.system.n) for x in (run.q, run.v, run.p))
        rows = np.unique(np.linspace(0, len(q) - 1, SAMPLES).astype(int))
        pulls = [
            m.apply("force", t, run._par, q=q[i], v=v[i], p=p[i])
            for i, t in zip(rows, np.resize(run.t, len(q))[rows], strict=True)
        ]
        work = np.abs(np.array(pulls) * q[rows]).sum(axis=-1)
        # A constant is rounded again in every step, but does not walk.
        walk = float(np.nanmax(motion) - np.nanmin(motion)) + float(np.nanmax(work, initial=0.0))
        still = abs(self.energy0) + float(np.nanmax(motion, initial=0.0))
        return 8 * EPS * (still + float(np.sqrt(self.steps)) * walk)

    def _verdict(self, drift: Drift, noise: float = 0.0) -> str:
        """In words; the same rule for every method.

        A drift within a band that rounding alone may make is round-off.  One that is much larger
        than its interval goes along a line; a walk does not, and may turn at any time.
        """
        if np.isinf(drift.half_width):
            return ""
        one_way = drift.turns == 0 and abs(drift.relative) > 0.5
        # Faster than linearly is what no interval of a slope can tell.
        grows = one_way and self.symplectic is False and self.long_enough
        if (drift.significant or grows) and drift.band <= noise:
            return "round-off"
        if drift.significant:
            # A symplectic method may be on its way along a slow oscillation.
            waiting = self.symplectic and self.steps < LONG
            if not self.long_enough or waiting:
                return "too short to tell"
            return "drifts" if drift.half_width < WALK * abs(drift.slope) or grows else "wanders"
        if grows:
            return "drifts"
        if self.failures or self.max_g > self._round_off[0]:
            return "no claim: " + ("the run failed" if self.failures else "constraints not kept")
        return "no drift" if drift.relative_half_width < 0.1 else "none seen; too short to exclude"

    def title(self) -> str:
        """One line: what was run."""
        run = self.run
        many = f"{run.batch} trajectories × " if run.batch else ""
        speed = 1e9 / self.steps_per_second if self.steps_per_second else np.nan
        short = ", last one shortened" if run.ending.short else ""
        return (
            f"{run.method.label}, {many}{self.steps} steps of {run.step:g}{short}: "
            f"{run.wall_time:.3g} s ({speed:.0f} ns per step)"
        )


def ended(run: Any) -> list[tuple[str, str, str]]:
    """The row of a run that did not come to its end; the first one, as it bears on all others."""
    why = run.ended_early
    stopped = "stopped" if why.startswith("interrupted") else "failed"
    return [("ended early", why, stopped)] if why else []


def _percent(share: float, sign: str = "") -> str:
    value = 100 * share
    return f"{value:{sign}.0f}" if abs(value) >= 10 else f"{value:{sign}.2g}"


def certify(run: Trajectory) -> Certificate:
    """Measure a run: its books cover every step, its stored states the watched laws."""
    books = run.ending.books
    column = {name: books[:, i] for i, name in enumerate(loop.BOOKS)}
    drifts = [_energy_drift(row, run.step) for row in books]
    worst = max(range(len(drifts)), key=lambda i: drifts[i].band)
    steps = int(column["steps"].max())
    return Certificate(
        run=run,
        steps=steps,
        max_g=float(column["max_g"].max()),
        max_hidden=float(column["max_hidden"].max()),
        energy0=float(column["energy0"][worst]),
        energy=pooled(drifts),
        work=float(column["work"][worst]),
        gross_work=float(column["gross_work"][worst]),
        iterations=float(column["iterations"].sum() / max(column["steps"].sum(), 1)),
        most_iterations=int(column["most_iterations"].max()),
        failures=int(np.sum(column["failed_at"] >= 0)),
        charts=int(column["charts"].sum()),
        worst=worst,
    )


def _energy_drift(books: np.ndarray, step: float) -> Drift:
    value = dict(zip(loop.BOOKS, books, strict=False))
    count = int(value["blocks"])
    means = books[loop.HEAD : loop.HEAD + count]
    band = value["error_max"] - value["error_min"]
    return drift_of(means, value["block_length"] * step, value["steps"] * step, float(band))
