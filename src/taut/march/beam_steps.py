"""Steps for mechanisms with beams: waves along beams limit what explicit methods can do.

Störmer–Verlet, and with it RATTLE, is stable for h < 2/ω_max of the fastest waves (see `limits`).
Joints only slow these waves down (the eigenvalues of a system with more constraints lie between
those of the one with less), so that the limit of the beams by themselves is a safe one.  In a
composition the longest of its sub-steps counts.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from taut.errors import InputError, UnstableStep, number
from taut.march.limits import stable_step
from taut.methods.base import Method, Wrapped

if TYPE_CHECKING:
    from taut.model.mechanism import Mechanism

EXPLICIT = ("rattle", "symplectic-euler")
SAFE = 0.5  # of the limit: what is taken if nothing is said
ROUNDED = 1 + 1e-9


def longest_step(mechanism: Mechanism) -> float:
    """The largest stable step of RATTLE that the beams of a mechanism allow; infinite without."""
    return min((stable_step(x.beam.mesh()) for x in mechanism.beams.values()), default=math.inf)


def step_for(
    mechanism: Mechanism, method: Method, step: float | None, duration: float
) -> float | None:
    """The step that was given, with a warning if it is too long, or half of what is stable."""
    if not mechanism.beams:
        return step
    within = method
    while isinstance(within, Wrapped):
        within = within.inner
    explicit = within.name in EXPLICIT
    limit = longest_step(mechanism) / max(abs(x) for x in method.substeps)
    if step is None:
        if not explicit:
            raise InputError(
                "an implicit method needs a step",
                expected="step=…, as fine as the motion asks for",
                remedy=f"rattle would need {limit:.2g}",
            )
        whole = number("duration", duration)
        return whole / max(1, math.ceil(whole / (SAFE * limit))) if whole > 0 else SAFE
    if explicit and isinstance(step, float | int) and step > limit * ROUNDED:
        warnings.warn(
            f"step {step:g} is beyond the limit of stability of beams, about {limit:.4g}: take a "
            'smaller one, or an implicit method such as "energy-momentum"',
            UnstableStep,
            stacklevel=3,
        )
    return step
