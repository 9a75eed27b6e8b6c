"""What a search may spend, counted while it goes on.

Work is counted in multiplications modulo a prime, so that every machine comes to the same end; a
limit of processor time is for machines that are slower than `SPEED` says.  Long loops say what they
are about to do with `spend`, which raises `Spent` when there is not as much left.
"""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

SPEED = 2e8  # multiplications per second, roughly


class Spent(Exception):
    """The budget is used up; the text says which one.

    Attributes
    ----------
    timed : bool
        Whether it was time: another machine may come farther.
    """

    def __init__(self, why: str, timed: bool) -> None:
        super().__init__(why)
        self.timed = timed


class Budget:
    """Seconds' worth of work, and seconds of the processor."""

    def __init__(self, seconds: float, at_most: float) -> None:
        self.seconds, self.at_most = seconds, at_most
        self.left, self.until = seconds * SPEED, clock.thread_time() + at_most

    def spend(self, amount: float) -> None:
        """Take as much, or raise `Spent`."""
        self.left -= amount
        if self.left < 0:
            raise Spent(f"its budget, {self.seconds:g} s of work, was spent", False)
        if clock.thread_time() > self.until:
            raise Spent(f"{self.at_most:g} s were over", True)


_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)


def spend(amount: float = 0.0) -> None:
    """Count work; without a budget nothing happens."""
    current = _budget.get()
    if current is not None:
        current.spend(amount)


@contextmanager
def limited(budget: Budget | None) -> Iterator[None]:
    """All work inside is counted; None lifts a limit."""
    token = _budget.set(budget)
    try:
        yield
    finally:
        _budget.reset(token)


__all__ = ["Budget", "Spent", "limited", "spend"]
