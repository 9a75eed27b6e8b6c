"""Laws on a level set: where given expressions vanish, which must stay so.

An expression f with D f = 0 wherever f = 0 has an invariant level set, and what is conserved there
need not be elsewhere: the top of Goryachev and Chaplygin has a fourth law where γ·M = 0.  Points of
the level set take the place of points of the state space, and a proof reduces by f as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy as sp

from taut.errors import InputError, ModelError
from taut.laws.dynamics import Dynamics
from taut.laws.ring import Ring, tidy
from taut.model import Flow, System, t

POINTS = 24


def levels_of(model: System | Flow, on: Iterable[Any]) -> Dynamics:
    """The model where `on` vanishes, if that stays so."""
    levels = [tidy(model.read(e)) for e in on]
    d = Dynamics(model, levels)
    for e in levels:
        if not e.free_symbols & set(d.state):
            raise InputError(
                "a level set needs variables of the state",
                expected="an expression of " + ", ".join(map(str, d.state)),
                received=str(e),
            )
        if d.constraints and any(e.diff(w).has(*d.rates_of) for w in d.rates_of):
            raise ModelError(
                "with constraints a level set must be linear in the velocities", received=str(e)
            )
    ring = _ring(d, levels)
    for e in levels:
        if _changes(d, ring, e):
            raise InputError(
                f"{e} = 0 does not stay so",
                expected="an expression whose rate vanishes wherever it does",
                received=f"D({e}) = {rate}" if (rate := _rate(d, e)) is not None else None,
                remedy="give a conserved quantity minus its value, or an invariant set",
            )
    return d


def condition_of(d: Dynamics, ring: Ring, law: sp.Expr) -> str:
    """Where a law holds: empty if everywhere."""
    if not d.levels or not _changes(Dynamics(d.model), ring, law):
        return ""
    return "where " + ", ".join(f"{e} = 0" for e in d.levels)


def _ring(d: Dynamics, more: list[sp.Expr]) -> Ring:
    return Ring([*d.expressions, *more], [*d.state, *d.parameters, t])


def _changes(d: Dynamics, ring: Ring, e: sp.Expr) -> bool:
    """Whether D e is anything but zero at random points."""
    (field,) = d.fields(ring, 1, block=3)
    own = d.drawn(ring, field)
    more = sorted(e.free_symbols - {*d.state, *own, t}, key=str)
    own |= {s: field.random(1) for s in more}
    return bool(d.moving(ring, field, POINTS, own, True).rate(e).any())


def _rate(d: Dynamics, e: sp.Expr) -> sp.Expr | None:
    """D e, where it can be written down without solving for accelerations."""
    rates = dict(d.explicit)
    if d.rates_of:
        mass = sp.Matrix(d.mass)
        if d.constraints or not mass.is_diagonal():
            return None
        rates |= {
            w: b / mass[i, i] for i, (w, b) in enumerate(zip(d.rates_of, d.right, strict=True))
        }
    return sp.factor(sum((e.diff(x) * dx for x, dx in rates.items()), e.diff(t)))
