"""Which steps a run makes, at which times, and which states it keeps."""

from __future__ import annotations

import math
import os
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from taut.errors import InputError, brief, number


@dataclass(frozen=True)
class Plan:
    """Which steps are made: numbers `first` … `last − 1` at t0 + k·step."""

    t0: float
    step: float
    end_step: float
    first: int
    last: int
    every: int

    @classmethod
    def of(cls, t0, duration, step, every, first: int = 0) -> Plan:
        """Check the numbers of a call and count its steps."""
        t0, duration, step = (
            number(*x) for x in (("t0", t0), ("duration", duration), ("step", step))
        )
        if step <= 0:
            raise InputError("step must be positive", expected="step > 0", received=step)
        if duration <= 0:
            raise InputError(
                "duration must be positive", expected="duration > 0", received=duration
            )
        if step > duration * (1 + 1e-9):
            raise InputError(
                "step is longer than duration",
                expected=f"step ≤ duration = {duration:g}",
                received=step,
                remedy="choose a smaller step",
            )
        if isinstance(every, bool) or not isinstance(every, int | np.integer) or every < 1:
            raise InputError(
                "every must be a whole number from 1 on",
                expected="every ≥ 1",
                received=brief(every),
            )
        every = min(int(every), 2**62)
        ratio = duration / step
        if not ratio < 2**53:
            raise InputError(
                "there are too many steps",
                expected="duration/step < 2⁵³",
                received=f"{duration:g}/{step:g}",
                remedy="choose a larger step",
            )
        whole = round(ratio)
        if abs(ratio - whole) <= max(1e-9, 4e-16 * ratio):
            return cls(t0, step, step, first, first + whole, every)
        whole = int(ratio)
        return cls(t0, step, duration - whole * step, first, first + whole + 1, every)

    @property
    def short(self) -> bool:
        """Whether the last step is shorter than the others."""
        return self.end_step != self.step

    def kept(self) -> np.ndarray:
        """Numbers of the states that are stored by the march (the start is not among them)."""
        grid = np.arange((self.first // self.every + 1) * self.every, self.last + 1, self.every)
        return grid if len(grid) and grid[-1] == self.last else np.append(grid, self.last)

    def rows_up_to(self, number: int, t: np.ndarray) -> int:
        """How many rows of an earlier part with times `t` are on the grid, up to this number."""
        here = self.t0 + number * self.step
        count = int(np.searchsorted(t, here, side="right"))
        return count - 1 if number % self.every and t[count - 1] == here else count

    def times(self, numbers: np.ndarray) -> np.ndarray:
        """Times of the states with these numbers."""
        t = self.t0 + numbers * self.step
        if self.short:
            t = np.where(
                numbers == self.last, self.t0 + (self.last - 1) * self.step + self.end_step, t
            )
        return t


@contextmanager
def roomy(plan: Plan, size: int = 0):
    """Too many states to be stored, of `size` numbers each, are the user's to hear of."""
    steps = plan.last - plan.first
    many = steps // plan.every
    room = f", which takes {8e-9 * many * size:.3g} GB" if size else ""
    too_many = InputError(
        "the states do not fit into memory",
        received=f"{steps:,} steps of {plan.step:g}, {many:,} states to be kept{room}",
        remedy="keep fewer with every=…",
    )
    if 8 * many * size > _memory():
        raise too_many
    try:
        yield
    except MemoryError as error:
        raise too_many from error


def _memory() -> float:
    """Bytes that this machine has; systems give more than that away, and stop who takes it."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf
