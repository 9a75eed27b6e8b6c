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

from taut.calls import public
from taut.diagnose.drift import Drift, drift_of, pooled
from taut.diagnose.resolution import Resolution, resolution
from taut.diagnose.rounding import SAMPLES, Rounding, blur, loss, rounding
from taut.diagnose.symplecticity import SAFETY, Probe
from taut.diagnose.watched import Watched, held, watched
from taut.kernel.newton_code import LIMIT, LOOSE
from taut.kernel.newtons import ROUNDED as MOVED
from taut.march import loop
from taut.march.kicks import kicks, multipliers
from taut.march.redundant import owners, told
from taut.march.trajectory import Trajectory
from taut.march.tuned import keeps_energy, run_error
from taut.text import Sheet, percent

EPS = np.finfo(float).eps
ROUNDED = 100 * EPS  # of the size of a constraint: what rounding may leave of it
WALK = 0.4  # of a slope: with a wider interval than that it may be a part of a walk
BROKEN = 1e-3  # of their size: constraints that are off by more are not met to rounding
LOST = 0.5  # of the largest kinetic energy: an error of the energy that is no small one
FAR = 1e3  # of the lengths that constraints are about: coordinates that are far from zero
HIDDEN = 1e-6  # of the form: a defect below it is a small one, and has to be told from rounding
SMALL_LAW = 0.1  # of what it is made from: a law below it is judged as if it were that large
WALKED = 1e3  # roundings of a law, of up to 10⁴ steps; more go on as a walk does, with √steps
TOLD = 0.05  # of the balance: what its sum is off by is said from there on
ROUGH = 0.1  # of the steps: where power jumps that often, what its sum is off by is not known
FEW = 3  # steps before the work, and with it the balance, is known
HELD = 1e-6  # change of a law, relative to its terms, from which on it is not held
LISTED = 6  # redundant joints or constraints that are named
NAME = 40  # characters of a quantity that are shown
LONG_ENOUGH = 100  # steps after which a drift can be told, if the energy is a number
LONG = 100_000  # steps after which a run counts as long


@public
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
    gross_work : float
        What went in and out: the sum of the sizes of the work of all steps.
    sum_error : float
        What the sum of the work is off by, at most, about; NaN where that is not known.
    loose : int
        Steps that Newton's iteration ended above round-off, as far as it knows, of all
        trajectories.
    left : float
        Its last moves in them, at most, as a share of the largest coordinate.
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
    sum_error: float
    iterations: float
    most_iterations: int
    loose: int
    left: float
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
    def resolution(self) -> Resolution:
        """Whether steps resolve the motion: sampled ones made again in parts, poles, switches."""
        return resolution(self.run)

    @property
    def resolved(self) -> bool | None:
        """Whether the steps resolve the motion; None if that could not be measured."""
        return self.resolution.resolved

    @cached_property
    def symplecticity(self) -> float | None:
        """The largest relative defect ‖DΦᵀJDΦ − J‖ on the manifold at sampled states.

        ``None`` for flows and systems with non-conservative forces, which have no symplectic form,
        for what has no freedom left, and for steps of varying size, which are reversible at best.
        """
        return self._probe.worst() if self._has_form and self._probe.free else None

    @property
    def _has_form(self) -> bool:
        """Whether there is a symplectic form that steps of one size might keep."""
        system, varying = self.run.system, self.run.method.pace is not None
        return not (system.forced or system.first_order or varying)

    @cached_property
    def _probe(self) -> Probe:
        return Probe(self.run)

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
        return self.run.system.conservative and self.energy_verdict == "drifts"

    @cached_property
    def symplectic(self) -> bool | None:
        """Whether the step keeps the form: its defect is round-off, and not for small steps only.

        None where there is no form to keep, or where it could not be measured: no step could be
        made, or rounding hides it.
        """
        defect = self.symplecticity
        if defect is None or not np.isfinite(defect):
            return None
        if self._probe.rounded and self._probe.rounding > HIDDEN:
            return None
        return self._probe.rounded and self.run.method.symplectic

    @property
    def _symplectic_word(self) -> str:
        if self.symplectic is None:
            return f"cannot be told: rounding alone may make it {self._probe.rounding:.0e}"
        if self._probe.rounded and not self.symplectic:
            return "small at this step, not by construction"
        place = " on the constraints" if self.run.system.c else ""
        if not self.symplectic:
            return f"not symplectic{place}"
        blurred = self._probe.rounding > FAR * SAFETY * EPS
        return f"symplectic{self._far if blurred else ''}"

    @property
    def redundant(self) -> tuple[str, ...]:
        """Names of constraints that follow from the others."""
        names, keep = self.run.system.constraint_names, set(self.run.keep)
        return tuple(name for i, name in enumerate(names) if i not in keep)

    @property
    def steps_per_second(self) -> float:
        """Steps of all trajectories per second of wall time."""
        return int(self._made.sum()) / self.run.wall_time if self.run.wall_time else np.inf

    @property
    def steps_least(self) -> int:
        """Of a batch the steps of the trajectory that has made the fewest."""
        return int(self._made.min())

    @property
    def _made(self) -> np.ndarray:
        """Steps that each trajectory has made: fewer of those that failed or were interrupted."""
        return self.run.ending.books[:, loop.STEPS].astype(int)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and strings."""
        run = self.run
        return {
            "method": run.method.key,
            "step": run.step,
            "tolerance": run.tolerance,
            "tolerance_error": None if run.tolerance is None else self._tolerated,
            "tolerance_met": self.tolerance_met,
            "steps": self.steps,
            "steps_least": self.steps_least,
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
            "work_sum_error": self.sum_error if np.isfinite(self.sum_error) else None,
            **self.resolution.to_dict(),
            "symplecticity": self.symplecticity,
            "newton_iterations_mean": self.iterations,
            "newton_iterations_max": self.most_iterations,
            "newton_loose_steps": self.loose,
            "newton_left": self.left,
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
            error, value = self._tolerated, f"{run.tolerance:g}"
            word = "not checked after the trial"
            if np.isfinite(error):
                word = "not known: the motion is not resolved, see below"
                if self.tolerance_met is not None:
                    word = "met" if self.tolerance_met else "missed"
                amount = f"{error:.1e}" if error > 0.0 else "below round-off"
                part = "path's error {} in pieces made anew"
                if keeps_energy(run):
                    part = "energy's error {}" + " of the kinetic energy" * (error > 0.0)
                value += f", the {part.format(amount)}"
            rows.append(("tolerance", value, word))
        rows += self.resolution.rows()
        if self.symplecticity is not None and np.isfinite(self.symplecticity):
            rows.append(
                ("symplecticity defect", f"{self.symplecticity:.1e}", self._symplectic_word)
            )
        elif self._has_form and not self._probe.free:
            rows.append(("symplecticity defect", "none", "no freedom is left"))
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
            rows.append(("laws", self._followed[1], ""))
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
            rows.append(("Newton iterations", value, self._newton()))
        if self.charts:
            rows.append(("chart changes", str(self.charts), ""))
        if self.redundant:
            extra = owners(run.system, run.keep)
            rows.append(("redundant", told(run.system, extra, LISTED), "least-norm multipliers"))
        return rows

    @cached_property
    def _ended_loose(self) -> bool:
        """Whether steps ended above round-off also beside what forces and constraints do in one."""
        if not self.loose:
            return False
        usual = LOOSE * MOVED * self.run.system.n  # a share of the largest coordinate
        return self.left > usual * blur(self.run)

    def _newton(self) -> str:
        """Verdict on Newton's iteration."""
        if self.failures:
            return f"{self.failures} failed"
        if self.run.method.name == "corrected" and self.most_iterations >= LIMIT:
            return "some corrections did not converge"
        if self._ended_loose:
            moves = f"last moves of up to {self.left:.0e} of q"
            return f"not to round-off in {self.loose} of the steps: {moves}"
        return ""

    @property
    def tolerance_met(self) -> bool | None:
        """Whether the tolerance was met; None without one, and where that is not known.

        An error tells nothing good where the motion is not resolved: pieces made anew with other
        steps may meet the same switch in the same wrong way, and beyond a pole keep an energy.
        """
        if self.run.tolerance is None or not np.isfinite(self._tolerated):
            return None
        if self._tolerated > self.run.tolerance:
            return False
        return None if self.resolution.lost else True

    @cached_property
    def _tolerated(self) -> float:
        """The error that is held to the tolerance."""
        return run_error(self.run)

    @cached_property
    def _notes(self) -> list[tuple[str, str, str]]:
        return self.run.method.notes(self.run.system)

    def _kept(self, which: int) -> str:
        """Verdict on g (0) or on the hidden constraints (1)."""
        value, found = (self.max_g, self.max_hidden)[which], self._rounding[which]
        rows_met = found.worst.max(initial=0.0) <= ROUNDED
        if value <= self._round_off[which] and rows_met and found.share <= BROKEN:
            return "round-off" if which else f"round-off{self._far}"
        return "not kept" if self.run.method.keeps_hidden or not which else "not asked for"

    @cached_property
    def _far(self) -> str:
        """What being far from the origin costs, in words."""
        if self.run.system.c == 0:
            return ""
        with np.errstate(all="ignore"):
            lost = loss(self.run)
        return f"; {np.log10(lost):.0f} digits are lost far from the origin" if lost > FAR else ""

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
        amount = f"({percent(e.relative, '+')} ± {percent(e.relative_half_width)}) % of the band"
        if np.isinf(e.half_width) or not np.isfinite(e.band):
            amount = "too few steps to tell" if self.steps < LONG_ENOUGH else "beyond measure"
        if self.run.system.conservative:
            start = (
                "energy",
                f"{self.energy0:.8g}, band {e.band:.1e}{self._whose(self.worst)}",
                "",
            )
            mean = " in the mean" if self.run.batch else ""
            return [start, ("energy drift", amount + mean, self.energy_verdict)]
        work = f"{self.work:.6g} (in and out {self.gross_work:.3g})"
        return [
            ("energy, work done", f"{self.energy0:.8g}, {work}{self._whose(self.worst)}", ""),
            ("energy − work", f"constant to {e.band:.1e}", self._balance()),
        ]

    def _balance(self) -> str:
        """Verdict on energy − work: an error of the method, and of the sum of the work.

        It need not oscillate about zero.  It is compared with what was exchanged, which no origin
        and no zero of a potential changes.
        """
        band = self.energy.band
        if self.steps < FEW:
            return "too few steps to tell"
        if band <= self._energy_noise + 8 * EPS * self.gross_work:
            return "round-off"
        scale, what = max(
            (self.gross_work, "the work"), (self._kinetic_range, "the change of the kinetic energy")
        )
        share = f"{percent(band / scale)} % of {what}" if scale > 0 else ""
        if np.isnan(self.sum_error):
            off = "the work is summed to order 2" if self.run.method.order > 2 else ""
        else:
            known = self.sum_error > TOLD * band
            off = f"the sum of the work by itself makes about {self.sum_error:.1e}" if known else ""
        return "; ".join(x for x in (share, off) if x)

    def _whose(self, trajectory: int) -> str:
        """Which trajectory of a batch a value is of: the worst."""
        return f" (trajectory {trajectory})" if self.run.batch else ""

    def _fate(self, w: Watched) -> str:
        """Verdict on a law."""
        if w.broken:
            return f"the model does not keep it: {w.broken}"
        noise = WALKED * EPS * w.size * max(1.0, np.sqrt(self.steps / 1e4))
        if w.drift.band <= noise:
            return "round-off"
        verdict = self._verdict(w.drift)
        # A law may be zero, as a component of a vector is in some directions.
        lost = w.largest_change > LOST * max(abs(w.first), SMALL_LAW * w.size)
        return "not kept" if lost and verdict.startswith(("no drift", "none seen")) else verdict

    @property
    def energy_verdict(self) -> str:
        """What is said of the energy's drift."""
        verdict = self._verdict(self.energy, self._energy_noise)
        if verdict.startswith(("no drift", "none seen")) or not verdict:
            share = self._lost
            if share > LOST and self.energy.band <= self._energy_noise:
                return "round-off"
            # Of a few steps, which may begin at rest, only what blows up.
            gone = self.energy.band > LOST * (self._reach + self._kinetic.max(initial=0.0))
            if share > LOST and (gone or self.steps >= LONG_ENOUGH):
                amount = f"{percent(share)} % of" if share < 1 else "more than"
                return f"wrong by {amount} the kinetic energy"
        return verdict

    @cached_property
    def _kinetic(self) -> np.ndarray:
        """Half of |p·v| at all states where it is finite."""
        with np.errstate(all="ignore"):
            kinetic = 0.5 * np.abs(np.sum(self.run.v * self.run.p, axis=-1))
        return kinetic[np.isfinite(kinetic)]

    @property
    def _kinetic_range(self) -> float:
        known = self._kinetic
        return float(np.ptp(known)) if known.size else 0.0

    @cached_property
    def _reach(self) -> float:
        """What the forces at the start would do along the ways that were gone."""
        run = self.run
        q, v, p = (x.reshape(-1, *x.shape[-2:])[self.worst] for x in (run.q, run.v, run.p))
        pull = run._mechanics.apply("force", float(run.t[0]), run._par, q=q[0], v=v[0], p=p[0])
        with np.errstate(all="ignore"):
            work = np.abs((q - q[0]) * pull).sum(axis=-1)
        return float(np.max(work, initial=0.0, where=np.isfinite(work)))

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
        times = np.resize(run.t, len(q))
        pulls = np.array(
            [m.sizes("force", times[i], run._par, q=q[i], v=v[i], p=p[i]) for i in rows.tolist()]
        )
        far, held = self._own_lengths(q, v, p, times, rows[:: max(1, len(rows) // FEW)])
        work = (pulls * (np.abs(q[rows]) + far)).sum(axis=-1)  # of each term: they may balance
        # A constant is rounded again in every step, but does not walk, and no more do constraints.
        walk = float(np.nanmax(motion) - np.nanmin(motion)) + float(np.nanmax(work, initial=0.0))
        still = abs(self.energy0) + float(np.nanmax(motion, initial=0.0)) + held
        return 8 * EPS * (still + float(np.sqrt(self.steps)) * walk)

    def _own_lengths(self, q, v, p, times, rows: np.ndarray) -> tuple[np.ndarray, float]:
        """Lengths that forces make in a step, and |λ| times the summands of g: a work, too.

        What is at rest at the origin has its energy from them alone.
        """
        run, m = self.run, self.run._mechanics
        far, held = np.zeros(run.system.n), 0.0
        for i in rows[np.isfinite(q[rows] + v[rows] + p[rows]).all(axis=1)].tolist():
            t, member = float(times[i]), i // len(run.t)
            par = run._par_at(t) if run.batch is None else run._par
            keep = run._kept_at(t, member)
            state = q[i], v[i], p[i], t, par
            far = np.fmax(far, abs(run.step) * kicks(m, *state, keep, run.step))
            if m.c and not run.system.first_order:
                sizes = m.apply("size", t, par, q=q[i])
                held = max(held, float(np.abs(multipliers(m, *state, keep)) @ sizes))
        return far, held

    def _verdict(self, drift: Drift, noise: float = 0.0) -> str:
        """In words; the same rule for every method.

        What stays within a band that rounding alone may make is round-off.  A drift that is much
        larger than its interval goes along a line; a walk does not, and may turn at any time.
        """
        if np.isinf(drift.half_width):
            return ""
        if drift.band <= noise:
            return "round-off"
        one_way = drift.turns == 0 and abs(drift.relative) > 0.5
        # Faster than linearly is what no interval of a slope can tell.
        grows = one_way and self.symplectic is False and self.long_enough
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
        many, steps = "", f"{self.steps}"
        if run.batch:
            alike = self.steps_least == self.steps
            many = f"{run.batch} trajectories × " if alike else f"{run.batch} trajectories, "
            steps = steps if alike else f"{self.steps_least} … {steps}"
        speed = 1e9 / self.steps_per_second if self.steps_per_second else np.nan
        short = ", last one shortened" if run.ending.short else ""
        return (
            f"{run.method.label}, {many}{steps} steps of {run.step:g}{short}: "
            f"{run.wall_time:.3g} s ({speed:.0f} ns per step)"
        )


def ended(run: Any) -> list[tuple[str, str, str]]:
    """The row of a run that did not come to its end; the first one, as it bears on all others."""
    why = run.ended_early
    stopped = "stopped" if why.startswith("interrupted") else "failed"
    return [("ended early", why, stopped)] if why else []


@public
def certify(run: Trajectory) -> Certificate:
    """Measure a run: its books cover every step, its stored states the watched laws."""
    books = run.ending.books
    column = {name: books[:, i] for i, name in enumerate(loop.BOOKS)}
    drifts = [_energy_drift(row, run.step) for row in books]
    # What was not begun has no drift: it would make that of the others smaller in the mean.
    begun = [d for d, made in zip(drifts, column["steps"], strict=True) if made > 0]
    worst = max(range(len(drifts)), key=lambda i: drifts[i].band)
    steps = int(column["steps"].max())
    known = column["rough"][worst] <= ROUGH * column["steps"][worst]
    return Certificate(
        run=run,
        steps=steps,
        max_g=float(column["max_g"].max()),
        max_hidden=float(column["max_hidden"].max()),
        energy0=float(column["energy0"][worst]),
        energy=pooled(begun or drifts),
        work=float(column["work"][worst]),
        gross_work=float(column["gross_work"][worst]),
        sum_error=float(column["sum_error"][worst] if known else np.nan),
        iterations=float(column["iterations"].sum() / max(column["steps"].sum(), 1)),
        most_iterations=int(column["most_iterations"].max()),
        loose=int(column["loose"].sum()),
        left=float(column["left"].max()),
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
