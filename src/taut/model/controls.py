"""Controls: parameters of the forces that a Python function sets while a run is under way.

A function is called at *sampling instants*, once per step or every few steps, and what it returns
is held until the next one (zero-order hold).  Within a step a control is a parameter like others:

    f(q, v, t, u),      u = u_k  from t_k to t_{k+1},      u_k = controller(t_k, state at t_k).

Controls stand in forces only, so that all they do to the energy is work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp

from taut.calls import public
from taut.errors import InputError, ModelError, UnknownName, brief, number
from taut.model.symbols import name_of


@public
@dataclass(frozen=True, eq=False)
class Control:
    """A Python function ``controller(t, state)`` and when it is called.

    Parameters
    ----------
    function : callable, optional
        Returns a number, or as many as there are parameters to be set.  It may keep what it likes
        between calls; a run that goes on calls the same function.
    every : int
        Steps from one call to the next.
    period : float, optional
        Time from one call to the next instead: a multiple of the step.
    make : callable, optional
        Instead of `function`: called at the start of each trajectory, it returns the function for
        it.  For controllers that remember, in batches: ``make=Pid`` gives each its own.

    Examples
    --------
    >>> import taut
    >>> x, u = taut.coordinates("x u")
    >>> def brake(t, state):
    ...     return -2.0 * state.v[0]
    >>> cart = taut.System([x], mass=1, forces=[u], controls={u: taut.Control(brake, every=2)})
    >>> run = taut.simulate(cart, q0=[0], v0=[1], duration=1, step=0.1)
    >>> run.controls["u"].shape
    (11, 1)
    """

    function: Callable[..., Any] | None = None
    every: int = 1
    period: float | None = None
    make: Callable[[], Callable[..., Any]] | None = None

    def __post_init__(self) -> None:
        if (self.function is None) == (self.make is None):
            raise InputError(
                "a control has one function", expected="function=… or make=…, and not both"
            )
        if not callable(self.function if self.make is None else self.make):
            raise InputError(
                "a control cannot be called",
                expected="a function controller(t, state)",
                received=brief(self.make if self.function is None else self.function),
            )
        whole = isinstance(self.every, int | np.integer) and not isinstance(self.every, bool)
        if not whole or self.every < 1:
            raise InputError(
                "every must be a whole number of steps", expected="every ≥ 1", received=self.every
            )
        if self.period is not None:
            if self.every != 1:
                raise InputError("every and period are one too many", expected="one of them")
            if not number("the period of a control", self.period) > 0:
                raise InputError("the period of a control is not positive", received=self.period)

    def fresh(self) -> Callable[..., Any]:
        """The function for a new trajectory."""
        if self.make is None:
            assert self.function is not None
            return self.function
        made = self.make()
        if not callable(made):
            raise InputError(
                "make returned nothing that can be called",
                expected="a function controller(t, state)",
                received=brief(made),
            )
        return made

    def steps(self, step: float) -> int:
        """Steps from one call to the next."""
        if self.period is None:
            return int(self.every)
        ratio = self.period / step
        if round(ratio) < 1 or abs(ratio - round(ratio)) > 1e-9 * ratio:
            raise InputError(
                "the period of a control is no multiple of the step",
                expected="a whole number of steps between two calls",
                received=f"{self.period:g}/{step:g} = {ratio:g}",
                remedy="choose a step that divides the period",
            )
        return round(ratio)


@dataclass(frozen=True, eq=False)
class Channel:
    """Parameters that one control sets together.

    Attributes
    ----------
    name : str
    parameters : tuple of str
    control : Control, optional
        To be given in the call, if there is none.
    """

    name: str
    parameters: tuple[str, ...]
    control: Control | None = None

    @property
    def symbols(self) -> tuple[sp.Symbol, ...]:
        """Of its parameters."""
        return tuple(sp.Symbol(name, real=True) for name in self.parameters)


def control_of(given: Any, every: int | None = None) -> Control:
    """A `Control` from one, or from a function."""
    if not isinstance(given, Control):
        return Control(given, every=1 if every is None else every)
    if every is not None:
        raise InputError("every is given twice", expected="taut.Control(…, every=…) alone")
    return given


def is_control(given: Any) -> bool:
    """Whether it is a function to be sampled, not an expression."""
    return isinstance(given, Control) or (callable(given) and not isinstance(given, sp.Basic))


def channels_of(given: Any) -> tuple[Channel, ...]:
    """The channels of ``controls={symbol or name, or several: function, Control or None}``."""
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        if isinstance(given, list | tuple) and all(isinstance(x, Channel) for x in given):
            return tuple(given)
        raise ModelError(
            "controls cannot be read",
            expected="controls={symbol: function, …}",
            received=brief(given),
        )
    found = []
    for key, control in given.items():
        several = isinstance(key, Sequence) and not isinstance(key, str)
        names = tuple(x if isinstance(x, str) else name_of(x) for x in (key if several else (key,)))
        made = None if control is None else control_of(control)
        found.append(Channel(" ".join(names), names, made))
    return tuple(found)


def with_controls(
    parameters: Mapping[Any, float | None] | Sequence[Any] | None, channels: Sequence[Channel]
) -> Any:
    """Parameters of a system and those that its controls set, which are zero without them."""
    if not channels:
        return parameters
    own = dict.fromkeys(parameters or ()) if not isinstance(parameters, Mapping) else parameters
    known = [x if isinstance(x, str) else name_of(x) for x in own]
    for channel in channels:
        for name in channel.parameters:
            if name in known:
                raise ModelError(
                    f"{name} is set twice",
                    expected="each name once, in parameters or in one of the controls",
                )
            known.append(name)
    return {**own, **{name: 0.0 for channel in channels for name in channel.parameters}}


def chosen(channels: Sequence[Channel], given: Any) -> list[Channel]:
    """The channels of a system with the functions that a call gives; none may be missing."""
    if given is not None and not isinstance(given, Mapping):
        raise InputError(
            "controls cannot be read",
            expected="controls={name: function, …}",
            received=brief(given),
        )
    named = {channel.name: channel for channel in channels}
    for key, control in (given or {}).items():
        name = key if isinstance(key, str) else name_of(key)
        if name not in named:
            raise UnknownName("control", name, named)
        named[name] = replace(named[name], control=control_of(control))
    for channel in named.values():
        if channel.control is None:
            raise InputError(
                f"nothing sets the control {channel.name}",
                expected=f"simulate(…, controls={{{channel.name!r}: function}})",
            )
    return list(named.values())
