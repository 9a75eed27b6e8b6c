"""The course of a search: degree after degree, then what needs no search, bounds and proofs.

It ends where it is interrupted, where a higher degree takes too many functions or too long, or
where its limit is spent; what was found so far is always given out, and why it ended is said.
"""

from __future__ import annotations

import time as clock
from contextlib import suppress
from dataclasses import dataclass, field as filled
from typing import TYPE_CHECKING, Any

from taut.laws.budget import Budget, Spent, limited
from taut.laws.check import controls_of
from taut.laws.law import Laws
from taut.model import Flow, System
from taut.progress import Progress

if TYPE_CHECKING:
    from taut.laws.find import Finder

COLUMNS = 700  # of an ansatz that is chosen by itself
DEEPEST = 4  # degree that it goes to
SECONDS = 1.2e-9  # times the cube of the number of columns: what a search takes, roughly
SHARE = 0.08  # of the budget for a bound
REST = (1.0, 0.5)  # seconds' worth of work, and by the clock, for each part after a limited search
LEAST = 2  # degree that a search must reach for nothing to be said


@dataclass
class Course:
    """How far a search has come."""

    finder: Finder
    degree: int | None
    budget: float
    bounded: bool
    limit: Budget | None
    last: int = 0
    stage: str = "degree 1"
    why: str = ""  # it ended before the highest degree
    wide: bool = False  # whether that was for the number of functions
    begin: float = filled(default_factory=clock.thread_time)

    def sizes(self) -> dict[int, int]:
        """The degrees to be searched, and their functions."""
        every = range(1, (self.degree or DEEPEST) + 1)
        sizes = {d: self.finder.ansatz(d).columns for d in every}
        if self.degree is not None:
            return sizes
        for d, size in sizes.items():
            if d > 1 and size > COLUMNS:
                self.why, self.wide = (
                    f"degree {d} takes {size} functions, more than {COLUMNS}",
                    True,
                )
                break
        return {d: size for d, size in sizes.items() if d == 1 or size <= COLUMNS}

    def degrees(self, sizes: dict[int, int], bar: Any) -> None:
        """Search them."""
        finder = self.finder
        for d, size in sizes.items():
            over = clock.thread_time() - self.begin > self.budget
            if self.degree is None and d > 1 and over:
                self.why = f"{self.budget:g} s were over"
                break
            self.stage = f"degree {d}"
            bar.say(f"{self.stage}: {size} functions", SECONDS * size**3)
            finder.at(d)
            self.last = d
            bar.add(size)
            if self.degree is None and finder.settled and (d > 1 or not finder.timed):
                self.why = ""
                break
        self.stage = "the last laws"
        if finder.timed and finder.dynamics.decays:
            finder.decaying(min(self.last, 2))

    def rest(self, bar: Any) -> Laws:
        """Energy, momenta and other laws of symmetries, bounds, and proofs."""
        finder, last = self.finder, self.last
        self.stage, reach = "the symmetries", last
        with suppress(Spent), limited(self._part()):
            finder.complete_seeds(last)
            finder.complete_symmetries(last)
        finder.complete_unfinished()
        bounds: list = []
        if self.bounded:
            self.stage, share = "the bounds", SHARE * self.budget
            bounds = finder.bounds(last, share)
            if self.degree is None:
                bar.say("higher degrees, since there is more")
                reach, bounds = finder.farther(last, bounds, share, self.begin + self.budget)
        self.stage = "the proofs"
        with limited(self._part()):
            return finder.laws(last, reach, bounds)

    def _part(self) -> Budget | None:
        return Budget(*REST) if self.limit else None

    @property
    def stopped(self) -> str:
        """What is said of a search that did not come to its end."""
        if not self.why or (self.wide and self.last >= LEAST):
            return ""
        return f"beyond symmetries and degree {self.last}: {self.why}"


def searched(
    finder: Finder,
    degree: int | None,
    budget: float,
    progress: Any,
    bounded: bool = True,
    limit: Budget | None = None,
) -> Laws:
    """All laws, or those up to an interruption or the end of a limit."""
    course = Course(finder, degree, budget, bounded, limit)
    model, sizes = finder.dynamics.model, course.sizes()
    try:
        with Progress(progress, sum(sizes.values()), model, "searching") as bar:
            try:
                with limited(limit):
                    course.degrees(sizes, bar)
            except Spent as error:
                course.why, course.wide = f"{error} at {course.stage}", False
            found = course.rest(bar)
    except KeyboardInterrupt:
        found = finder.laws(course.last, note=f"interrupted at {course.stage}; up to then ")
    found.stopped = course.stopped
    return _whatever(found, model)


def _whatever(laws: Laws, model: System | Flow) -> Laws:
    """Those that do not contain controls, and hold whatever these are."""
    names = controls_of(model)
    kept = [x for x in laws if not names & {s.name for s in x.expression.free_symbols}]
    if len(kept) == len(laws):
        return laws
    chosen = [i for i, x in enumerate(kept) if x in laws.independent]
    told = f"laws that contain the controls {', '.join(sorted(names))} are left out"
    found = Laws(kept, len(chosen), chosen, told)
    found.stopped = laws.stopped
    return found


def about(columns: int) -> str:
    """How long a search takes."""
    minutes = SECONDS * columns**3 / 60
    return f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:.0f} hours"
