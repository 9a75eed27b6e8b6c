"""`Problem`: a model with a start and the exact facts known about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from taut.march.simulate import simulate
from taut.march.trajectory import Trajectory
from taut.model.system import System


@dataclass(frozen=True)
class Fact:
    """Something known about the motion, from outside taut.

    Attributes
    ----------
    what : str
        One line, as printed by ``taut problems NAME``.
    source : str
        Publication, closed form, or how it was computed.
    t : float or None
        Time at which the values hold; ``None`` for a quantity that is constant.
    q, v, p, multipliers : sequences or None
        Values at t.
    energy, period : float or None
    digits : float
        Absolute accuracy of the values.
    """

    what: str
    source: str
    t: float | None = None
    q: Sequence[float] | None = None
    v: Sequence[float] | None = None
    p: Sequence[float] | None = None
    multipliers: Sequence[float] | None = None
    energy: float | None = None
    period: float | None = None
    digits: float = 1e-12


@dataclass(frozen=True)
class Problem:
    """A model, a start, sensible settings, and known facts.

    Attributes
    ----------
    name, title : str
    system : System
    q0, v0 : sequences
    step, duration : float
        Settings that show the motion well.
    facts : tuple of Fact
    source : str
    exact : callable t → (q, v), optional
        The exact motion where it is known in closed form.
    parameters : mapping
        Values for this problem's run.
    project : bool
        Whether the start is deliberately inconsistent and has to be projected.
    """

    name: str
    title: str
    system: System
    q0: Sequence[float]
    v0: Sequence[float]
    step: float
    duration: float
    source: str
    t0: float = 0.0
    facts: tuple[Fact, ...] = ()
    exact: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)
    project: bool = False

    def simulate(self, **changes: Any) -> Trajectory:
        """Run the problem; any argument of `taut.simulate` may be changed."""
        settings = {
            "q0": self.q0,
            "v0": self.v0,
            "t0": self.t0,
            "duration": self.duration,
            "step": self.step,
            "parameters": self.parameters,
            "project": self.project,
        }
        return simulate(self.system, **{**settings, **changes})
