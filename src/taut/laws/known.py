"""The laws of a model, looked for once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import sympy as sp

from taut.errors import TautError
from taut.laws.check import small_enough
from taut.laws.find import Finder, searched
from taut.laws.law import Laws
from taut.laws.ring import exact
from taut.model import Flow, System

BUDGET, TIME = 1.0, 2  # seconds after which no higher degree is begun; powers of t


def laws_of(system: System, values: Mapping[str, float]) -> Laws | TautError:
    """The laws of a system, or of the flow that it stands for, at these values of its parameters.

    Those that hold for all values, unless there are more at these.  An error says why there are
    none to be had.
    """
    general = _found(system, {})
    if isinstance(general, TautError) or not values:
        return general
    special = _found(system, values)
    more = not isinstance(special, TautError) and len(special) > len(general)
    return special if more else general


def _found(system: System, values: Mapping[str, float]) -> Laws | TautError:
    names = (system.coordinates, system.velocities, system.momenta)
    slot = _slot(f"{system.key} {names} {sorted(values.items())}")
    if not slot:
        model: System | Flow = system if system.flow is None else system.flow
        known = [sp.Symbol(name, real=True) for name in system.parameters]
        known = model.parameters if isinstance(model, Flow) else known
        fixed = {s: exact(float(values[s.name])) for s in known if s.name in values}
        try:
            finder = Finder(small_enough(model), (), TIME, fixed=fixed)
            slot.append(searched(finder, None, BUDGET, False, bounded=False))
        except TautError as error:
            slot.append(error)
    return slot[0]


@lru_cache(maxsize=256)
def _slot(key: str) -> list[Any]:
    return []
