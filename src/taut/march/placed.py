"""One state by the names of its mechanism: of an assembly, or of a rest, with its reactions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from taut.kernel.compile import workshop
from taut.march.here import Here, Names
from taut.march.resting import Resting
from taut.model.system import System


class Placed(Here):
    """A state that nobody is asked about: unlike that of a run under way it has multipliers."""

    def __init__(
        self, system: System, q: np.ndarray, v: np.ndarray, t: float, still: bool = False
    ) -> None:
        self._still = still
        self._mechanics, self._par = workshop(system).mechanics, system.values()
        p = self._mechanics.momentum(q, v, t, self._par)
        super().__init__(Names(system), t, 0, 0, np.concatenate([q, p, v]))

    @cached_property
    def multipliers(self) -> np.ndarray:  # type: ignore[override]
        """λ of what would happen next, shape (c,).

        Of a rest what holds the loads, with all that changes with time held as it is.  Redundant
        constraints share the load: λ is then the one of least norm.
        """
        if self._still:
            here = Resting(self.system.mechanism, self._mechanics, self._par, self.t)
            return here.multipliers(self.q, 0.0)
        return self._mechanics.accelerations(self.q, self.v, self.p, self.t, self._par)[1]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.system, self.q, self.v, self.t, self._still)

    def held_values(self) -> dict[str, np.ndarray]:
        """Nobody has said anything: parameters that are controlled are what they were given as."""
        return dict(zip(self.system.parameters, self._par, strict=True))

    def _along(self, evaluated: Callable[..., np.ndarray]) -> np.ndarray:
        return evaluated(self.q[None], self.v[None], self.p[None], np.array([self.t]))[0]
