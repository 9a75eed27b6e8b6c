"""Motions without stiffness at a rest of a mechanism: what the energy does along them.

K = 0 along a motion says neither that the energy falls there nor that it does not: a free body has
no stiffness, and −x⁴ has none at x = 0.  So it is followed a little way, to where it first changes.
K itself is known as far as forces are in balance: what is left of them is tension, and across a
spring without any it counts as stiffness.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taut.march.natural import Assembled, still

# Of a size, where energies are looked at along motions without stiffness, the nearest first; and of
# what is added up in an energy, what rounding may make of it.
NEARBY, LOSES = 4.0 ** np.arange(-12, -3), 1e-12
POLISHES, SOFT = 5, 1e-9  # steps of Newton; of the largest stiffness: none


def polished(energy: Any, q: np.ndarray) -> np.ndarray:
    """Balance to rounding: Newton's steps, as long as each halves what is left."""

    def left(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        directions = energy.free(x)
        return directions, directions.T @ energy.slope(x)

    directions, slope = left(q)
    for _ in range(POLISHES):
        matrix = directions.T @ energy.bend(q, energy.multipliers(q)) @ directions
        there = energy.onto(q - directions @ np.linalg.lstsq(matrix, slope, rcond=SOFT)[0])
        if there is None:
            break
        ways, rest = left(there)
        if not np.linalg.norm(rest) < 0.5 * np.linalg.norm(slope):
            break
        q, directions, slope = there, ways, rest
    return q


def falls(energy: Any, q: np.ndarray, directions: np.ndarray, here: Assembled) -> bool:
    """Whether the energy falls along a motion without stiffness, where it first changes."""
    away, bend = np.abs(q), abs(energy.bend(q, energy.multipliers(q)))
    size = float(away.max()) or 1.0
    parts = abs(energy.value(q)) + away @ abs(energy.slope(q)) + away @ bend @ away

    def beside(motion: np.ndarray, part: float) -> tuple[float, float] | None:
        sides = [energy.onto(q + x * motion) for x in (part, -part)]
        if any(x is None for x in sides):
            return None
        one, two = (energy.climbed(q, x) for x in sides)
        return (one + two) / 2, (one - two) / 2

    for motion in (directions @ still(here.even())).T:
        odd, motion = 0.0, motion / np.abs(motion).max()
        # A body that may spin is found out at once: far away nothing has changed.
        far = beside(motion, size * NEARBY[-1])
        if far is not None and max(map(abs, far)) <= LOSES * parts:
            continue
        for part in size * NEARBY:
            if (found := beside(motion, part)) is None:
                break
            # What is left of forces is linear, four times as much each time.
            even, bent, odd = found[0], found[1] - 4 * odd, found[1]
            if even < -LOSES * parts or (part > size * NEARBY[0] and abs(bent) > LOSES * parts):
                return True
            if even > LOSES * parts:
                break
    return False


__all__ = ["falls", "polished"]
