"""On from a balance that is not stable: downhill, until one is.

A step along the motion that grows fastest, to the side on which the energy falls more (where both
are alike, to that on which its largest entry grows), and then steps of

    q₁ = least of U(q) + ½ σ (q − q₀)ᵀM (q − q₀),

backward Euler steps of a motion down the slope: the energy falls in each, whatever the step.  The
stiff walls of a valley, as beams have, are left to Newton's method.  With σ = 2|λ|, λ < 0 being the
lowest eigenvalue of the stiffness, what grows doubles in a step; where there is no such motion any
more, σ falls to zero.

Source: Parikh & Boyd 2014, Found. Trends Optim. 1, 127, §4.1 (proximal minimisation).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taut.march.resting import Resting

STEPS = 200
ASIDE = 0.05  # the first step: a turn, or a part of the coordinates
ALIKE = 1e-9  # of the energy that is won: sides that are not told apart
HALVES = 20  # of that step, until the energy falls
STIFFEST = 1e9  # σ over |λ|: the step is then too short to come anywhere


class _Tied(Resting):
    """A mechanism with springs σM to a configuration."""

    def tie(self, q: np.ndarray, sigma: float) -> None:
        self.at, self.sigma, self.masses = q, sigma, sigma * self.mass(q)

    def forces(self, q: np.ndarray) -> np.ndarray:
        return super().forces(q) + self.masses @ (q - self.at)

    def stiffness(self, q: np.ndarray, held: np.ndarray | float = 0.0) -> tuple[Any, np.ndarray]:
        found, left = super().stiffness(q, held)
        return found + self.masses, left


def settled(here: Resting, q: np.ndarray) -> np.ndarray | None:
    """A stable balance downhill from one that is not; None if none was found."""
    tied = _Tied(here.mechanism, here.mechanics, here.par, here.t)
    sigma, aside = 0.0, True
    for _ in range(STEPS):
        lowest, motion = here.lowest(q)
        if lowest >= 0.0 and not aside:
            there = here.newton(q, np.zeros_like(q), q)
            if there is not None and here.climbed(q, there) <= 0.0:
                if here.low(there) is not False:
                    return there
                q, aside = there, True
                continue
        elif aside:
            q = _aside(here, q, motion)
            aside = False
        sigma = max(2 * abs(lowest), sigma / 4) if lowest < 0 else sigma / 4
        while True:
            tied.tie(q, sigma)
            there = tied.newton(q, np.zeros_like(q), q)
            if there is not None and here.climbed(q, there) <= 0.0:
                break
            sigma *= 4
            if not sigma < STIFFEST * max(abs(lowest), 1e-300):
                return None
        q = there
    return None


def _aside(here: Resting, q: np.ndarray, motion: np.ndarray) -> np.ndarray:
    """A little along a motion."""
    tangents = here.tangents(q)
    motion = motion * np.sign(motion[np.argmax(np.abs(motion))])
    turn = tangents.longest(motion)
    wide = float(np.abs(tangents.basis @ motion).max()) / (float(np.abs(q).max()) or 1.0)
    motion = motion / max(turn, wide)
    found = lower(lambda part: here.onto(tangents.moved(part * motion)), here.climbed, q)
    return q if found is None else found


def lower(
    moved: Callable[[float], np.ndarray | None],
    climbed: Callable[[np.ndarray, np.ndarray], float],
    q: np.ndarray,
) -> np.ndarray | None:
    """A little to the side on which the energy falls more, to the first where both are alike."""
    part = ASIDE
    for _ in range(HALVES):
        sides = moved(part), moved(-part)
        won = [-np.inf if x is None else -climbed(q, x) for x in sides]
        if max(won) > 0:
            return sides[0] if won[0] >= (1 - ALIKE) * won[1] else sides[1]
        part /= 2
    return None
