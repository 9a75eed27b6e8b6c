"""What controllers said along a run, and how they are asked.

A sample is taken at the beginning of a step and holds until the next one.  Samples are kept by
their times, each trajectory of a batch with its own.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from taut.errors import ControlError, TautError, brief
from taut.march.here import Here, Names
from taut.model.controls import Channel
from taut.model.system import System
from taut.text import shortened

LONG = 300  # letters of what a controller's own error says
SLACK = 1e-9  # of a step: times of one grid may have been rounded in other ways


@dataclass(frozen=True)
class Held:
    """The samples of a run.

    Attributes
    ----------
    channels : tuple of Channel
        What was controlled, with the functions' sampling.
    functions : list of lists
        For each trajectory the functions that were called, which a run that goes on calls again.
    times : list of ndarray, shape (S,)
    values : list of ndarray, shape (S, m)
        Of all controlled parameters, in the order of the channels.
    """

    channels: tuple[Channel, ...]
    functions: list[list[Callable[..., Any]]] = field(repr=False)
    times: list[np.ndarray] = field(repr=False)
    values: list[np.ndarray] = field(repr=False)

    @property
    def names(self) -> list[str]:
        """Of the parameters."""
        return [name for channel in self.channels for name in channel.parameters]

    def at(self, t: np.ndarray, slack: float, member: int = 0) -> np.ndarray:
        """What was held from these times on, shape (N, m)."""
        times, values = self.times[member], self.values[member]
        if not len(times):
            return np.full((len(t), values.shape[1]), np.nan)
        rows = np.searchsorted(times, np.asarray(t) + slack, side="right") - 1
        return values[np.maximum(rows, 0)]

    def member(self, index: int) -> Held:
        """Of one trajectory of a batch."""
        pick = slice(index, index + 1)
        own = self.functions[pick], self.times[pick], self.values[pick]
        return Held(self.channels, *own)

    def up_to(self, t: float) -> Held:
        """The samples before a time at which the run was cut."""
        rows = [int(np.searchsorted(x, t, side="left")) for x in self.times]
        pairs = list(zip(self.times, self.values, rows, strict=True))
        return replace(
            self, times=[x[:i] for x, _, i in pairs], values=[y[:i] for _, y, i in pairs]
        )


class Sampler:
    """Asks controllers, checks what they say, and writes it down."""

    def __init__(
        self, system: System, channels: Sequence[Channel], step: float, held: Held | None = None
    ) -> None:
        self.system, self.channels, self.names = system, tuple(channels), Names(system)
        controls = [channel.control for channel in channels]
        self.periods = [control.steps(step) for control in controls if control is not None]
        order = list(system.parameters)
        spans = [[order.index(x) for x in channel.parameters] for channel in channels]
        self.spans, self.columns = spans, [i for span in spans for i in span]
        self.functions = [] if held is None else held.functions
        self.times = [] if held is None else [array("d", x) for x in held.times]
        self.values = [] if held is None else [array("d", x.ravel()) for x in held.values]

    def begin(self, members: int) -> None:
        """New trajectories."""
        controls = [channel.control for channel in self.channels]
        self.functions = [[c.fresh() for c in controls if c is not None] for _ in range(members)]
        self.times = [array("d") for _ in range(members)]
        self.values = [array("d") for _ in range(members)]

    def gap(self, k: int) -> int:
        """Steps from number k on until somebody is asked."""
        return min(x - k % x for x in self.periods)

    def due(self, member: int, t: float, k: int) -> bool:
        """Whether somebody is to be asked before step k, and has not been."""
        times = self.times[member]
        return any(k % x == 0 for x in self.periods) and not (times and times[-1] == t)

    def last(self, member: int, values: np.ndarray) -> np.ndarray:
        """Parameters with the values that are held now."""
        found, many = values.copy(), len(self.columns)
        if self.times[member]:
            found[self.columns] = self.values[member][-many:]
        return found

    def ask(self, member: int, t: float, k: int, state: np.ndarray, values: np.ndarray) -> None:
        """Put what the controllers say into the parameters `values`.

        `state` has q, p and v one after the other and is theirs to keep.
        """
        here = Here(self.names, t, k, member, state)
        for i, function in enumerate(self.functions[member]):
            if k % self.periods[i]:
                continue
            try:
                said = function(t, here)
            except Exception as error:
                raise self._failed(i, here, error) from error
            values[self.spans[i]] = self._checked(i, here, said)
        self.times[member].append(t)
        self.values[member].extend(values[self.columns].tolist())

    def _checked(self, i: int, here: Here, said: Any) -> np.ndarray | float:
        if type(said) is float and len(self.spans[i]) == 1 and -1e308 <= said <= 1e308:
            return said  # the usual case, quickly
        many = len(self.spans[i])
        try:
            found = np.asarray(said)
        except ValueError:  # lists of different lengths
            found = np.asarray(None)
        numbers = found.dtype.kind in "fiu" and found.size == many and found.ndim <= 1
        if not numbers or not np.isfinite(found).all():
            name = self.channels[i].name
            wrong = "is not finite" if numbers else "cannot be used"
            raise ControlError(
                f"what the controller of {name} returned at t = {here.t:g} (step {here.k}) {wrong}",
                expected="one finite number" if many == 1 else f"{many} finite numbers",
                received=brief(said),
                remedy="error.partial holds the trajectory up to here",
                t=here.t,
                index=here.k,
            )
        return found.reshape(many)

    def _failed(self, i: int, here: Here, error: Exception) -> ControlError:
        name = self.channels[i].name
        return ControlError(
            f"the controller of {name} failed at t = {here.t:g} (step {here.k})",
            received=shortened(f"{type(error).__name__}: {_said(error)}", LONG),
            remedy="error.partial holds the trajectory up to here; error.partial.continue_(…) asks "
            "it again",
            t=here.t,
            index=here.k,
        )

    def held(self) -> Held:
        """All samples so far."""
        many = len(self.columns)
        return Held(
            self.channels,
            self.functions,
            [np.array(x, dtype=float) for x in self.times],
            [np.array(x, dtype=float).reshape(-1, many) for x in self.values],
        )


def _said(error: Exception) -> str:
    """What an error says, the remedy before long lists of what was expected."""
    if not isinstance(error, TautError):
        return str(error)
    return "\n  ".join(str(x) for x in (error.what, error.remedy, error.expected) if x is not None)
