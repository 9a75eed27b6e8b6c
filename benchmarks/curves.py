"""Work-precision curves: measured points of one solver, and what is read off them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from math import exp, log


@dataclass
class Point:
    """One setting of one solver. Walls are of all repeats; `energy` is None where it took too long.

    error : max |Δ position| after the short run
    energy : max |H − H₀| over the long run
    """

    setting: str
    error: float
    energy: float | None = None
    short: list[float] = field(default_factory=list)
    long: list[float] = field(default_factory=list)
    iterations: float | None = None

    @property
    def short_wall(self):
        return statistics.median(self.short)

    @property
    def long_wall(self):
        return statistics.median(self.long) if self.long else None


@dataclass
class Curve:
    """The points of one solver on one problem, from coarse to fine.

    compile : the longest of its settings, s
    """

    solver: str
    family: str
    points: list[Point] = field(default_factory=list)
    compile: float = 0.0

    def errors(self):
        """(wall time, error) of the short run."""
        return [(p.short_wall, p.error) for p in self.points]

    def energies(self):
        """(wall time, energy error) of the long run."""
        return [(p.long_wall, p.energy) for p in self.points if p.long]


def time_at(pairs, error):
    """Wall time at which a curve [(wall, error), …] first comes down to `error`.

    Straight lines between the points in logarithms; None where the curve does not get there. One
    that begins below cost no more than its first point.
    """
    above = None
    for wall, reached in pairs:
        if reached <= error:
            if above is None or reached <= 0:
                return wall
            share = log(above[1] / error) / log(above[1] / reached)
            return exp(log(above[0]) + share * log(wall / above[0]))
        above = wall, reached
    return None


def best(curves, family, error, pairs=Curve.energies):
    """(wall time, solver) of the family's fastest at `error`, or None."""
    found = [
        (wall, curve.solver)
        for curve in curves
        if curve.family == family and (wall := time_at(pairs(curve), error)) is not None
    ]
    return min(found, default=None)
