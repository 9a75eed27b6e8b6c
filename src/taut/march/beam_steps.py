"""Steps for mechanisms with beams: waves along beams limit what explicit methods can do.

Störmer–Verlet, and with it RATTLE, is stable for h < 2/ω_max of the fastest waves (see `limits`).
Joints only slow these waves down (the eigenvalues of a system with more constraints lie between
those of the one with less), so that the limit of the beams by themselves is a safe one.  In a
composition the longest of its sub-steps counts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from taut.errors import InputError, UnstableStep, number, warn
from taut.march.limits import stable_step
from taut.march.spring_steps import spring_step
from taut.methods.base import Method, Wrapped

if TYPE_CHECKING:
    from taut.model.mechanism import Mechanism

EXPLICIT = ("rattle", "symplectic-euler")
SAFE = 0.5  # of the limit: what is taken if nothing is said
ROUNDED = 1 + 1e-9


def longest_step(mechanism: Mechanism) -> float:
    """The largest stable step of RATTLE that beams and springs allow; infinite without them."""
    return min(_beam_step(mechanism), spring_step(mechanism))


def beyond(mechanism: Mechanism, method: Method, step: float) -> float | None:
    """What an explicit method could do with a mechanism, if a step is longer than that."""
    if not is_explicit(method):
        return None
    limit = longest_step(mechanism) / max(abs(x) for x in method.substeps)
    return limit if step > limit else None


def is_explicit(method: Method) -> bool:
    """Whether potentials are taken at the beginning of a step, which limits it."""
    while isinstance(method, Wrapped):
        method = method.inner
    return method.name in EXPLICIT


def _beam_step(mechanism: Mechanism) -> float:
    return min((stable_step(x.beam.mesh()) for x in mechanism.beams.values()), default=math.inf)


def step_for(
    mechanism: Mechanism, method: Method, step: float | None, duration: float
) -> float | None:
    """The step that was given, with a warning if it is too long, or half of what is stable."""
    if not mechanism.beams:
        return step
    explicit = is_explicit(method)
    limit = _beam_step(mechanism) / max(abs(x) for x in method.substeps)
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
        told = f"step {step:g} is beyond the limit of stability of beams, about {limit:.4g}"
        other = 'take a smaller one, or an implicit method such as "energy-momentum"'
        warn(UnstableStep(f"{told}: {other}"))
    return step
