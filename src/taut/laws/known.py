"""The laws of a model, looked for once."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping
from functools import lru_cache
from math import comb
from typing import Any

import sympy as sp

from taut.errors import InputError, TautError
from taut.laws.alone import laws_of_symmetries
from taut.laws.budget import Budget, Spent, limited
from taut.laws.check import small_enough
from taut.laws.course import COLUMNS, LEAST, searched
from taut.laws.find import Finder
from taut.laws.law import Laws
from taut.laws.ring import exact
from taut.model import Flow, System

BUDGET = 1.0  # seconds after which no higher degree is begun, and seconds' worth of work at most
PATIENCE = 1.0  # seconds by the clock; symmetries and proofs have half of one each


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
        slot.append(_searched(system, values))
    return slot[0]


def _searched(system: System, values: Mapping[str, float]) -> Laws | TautError:
    model: System | Flow = system if system.flow is None else system.flow
    known = [sp.Symbol(name, real=True) for name in system.parameters]
    known = model.parameters if isinstance(model, Flow) else known
    fixed = {s: exact(float(values[s.name])) for s in known if s.name in values}
    begun = clock.thread_time()
    size = comb(2 * (system.n + 1) + 1, 2) if isinstance(model, System) else 0  # at least
    why = f"degree {LEAST} takes {size} functions or more, and may take {COLUMNS}"
    if size <= COLUMNS:
        limit = Budget(BUDGET, PATIENCE)
        try:
            with limited(limit):
                finder = Finder(small_enough(model), (), None, fixed=fixed)
            size = finder.ansatz(LEAST).columns
            why = f"degree {LEAST} takes {size} functions, and may take {COLUMNS}"
            if size <= COLUMNS or isinstance(model, Flow):
                made = searched(finder, None, BUDGET, False, bounded=False, limit=limit)
                if not made.stopped or isinstance(model, Flow):
                    return made
                # It may have stopped on the way to momenta, which have a budget of their own.
                why = made.stopped.partition(": ")[2]
                alone = laws_of_symmetries(model, fixed, why, PATIENCE)
                more = not isinstance(alone, TautError) and len(alone) >= len(made)
                return alone if more else made
        except Spent as error:
            why = f"of a search for all laws {error}"
        except TautError as error:
            why = str(error).splitlines()[0]
    if isinstance(model, Flow):
        return InputError(why)
    return laws_of_symmetries(model, fixed, why, clock.thread_time() - begun)


@lru_cache(maxsize=256)
def _slot(key: str) -> list[Any]:
    return []
