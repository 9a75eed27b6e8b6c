"""A quantity that somebody proposes: a law with a proof, or what its rate is.

I is a law if D I = 0 on the variety.  Random points modulo a prime decide at once that it is none;
otherwise the normal form of D I is the proof.  Parameters stay symbols.  Where that fails, and the
system gives them values, the values are put in, one parameter at a time and then all of them: a
law that holds then holds under the condition that is said in ``Law.condition``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any

import numpy as np
import sympy as sp

from taut.calls import public
from taut.errors import InputError, brief
from taut.laws.dynamics import Dynamics, Moving
from taut.laws.field import WORD
from taut.laws.law import Law
from taut.laws.linear import Linear, Part
from taut.laws.normal import FRESH, Normal, shown
from taut.laws.proof import TooLarge, rate
from taut.laws.rates import Jet
from taut.laws.ring import exact, tidy
from taut.laws.symmetry import kind_of, symmetry_of
from taut.model import Flow, Mechanism, System, t

LARGEST = 40  # coordinates
COLUMNS = 300  # monomials of a rate that is shown
NORMAL_FORM = "normal form"
BY_POINTS = f"D I = 0 at {2 * FRESH} random points modulo two primes near 2³¹"


def read(model: System | Flow, expression: Any) -> sp.Expr:
    """An expression of the model's state, with exact numbers: p = L_v, or q̇ = H_p, put in."""
    e = model.read(expression)
    if isinstance(model, System):
        lagrangian = model.form == "lagrangian"
        rates, others = model.momenta, model.velocities
        rates, others = (rates, others) if lagrangian else (others, rates)
        if e.has(*rates):
            slopes = [model.energy_function.diff(x) for x in others]
            e = e.xreplace(dict(zip(rates, slopes, strict=True)))
    return tidy(e)


def model_of(given: Any, what: str) -> System | Flow:
    """The system or the flow whose laws or symmetries are asked for; a mechanism has a system."""
    model = given.system() if isinstance(given, Mechanism) else given
    if not isinstance(model, System | Flow):
        raise InputError(
            f"{what} are found for systems",
            expected="a taut.System, Mechanism or Flow",
            received=type(given).__name__,
        )
    return small_enough(model)


def small_enough(model: Any) -> Any:
    """The model, if it is not too large for exact algebra."""
    count = model.n if isinstance(model, System) else len(model.variables)
    if count > LARGEST:
        raise InputError(
            "the model is too large for a search",
            expected=f"at most {LARGEST} coordinates or variables",
            received=count,
            remedy="search a smaller model of the same kind",
        )
    return model


def controls_of(model: Any) -> set[str]:
    """Names of the parameters that vary: a law holds whatever they are, and does not contain them.

    D I = 0 at all states and for all values of them says that they may as well change.
    """
    return model.controlled if isinstance(model, System) else set()


def with_values(dynamics: Dynamics, table: dict[sp.Symbol, sp.Rational]) -> Dynamics:
    """The same motion with numbers for some of the parameters."""

    def put(x: Any) -> Any:
        if isinstance(x, list):
            return [put(e) for e in x]
        if isinstance(x, dict):
            return {k: put(e) for k, e in x.items()}
        return x.xreplace(table)

    d = copy(dynamics)
    for name in ("ladder", "steps"):
        d.__dict__.pop(name, None)
    for name in (
        "explicit", "mass", "right", "constraints", "hidden", "jacobian", "slopes", "bends",
        "energy_function", "forces", "levels",
    ):  # fmt: skip
        if name in d.__dict__:
            setattr(d, name, put(getattr(d, name)))
    d.parameters = [s for s in d.parameters if s not in table]
    return d


def settings(
    dynamics: Dynamics, values: Mapping[str, float | None] | None = None
) -> Iterator[tuple[dict[sp.Symbol, sp.Rational], Dynamics]]:
    """The motion for all parameters, then with values for one of them, then with all values."""
    yield {}, dynamics
    model = dynamics.model
    if values is None:
        values = model.parameters if isinstance(model, System) else {}
    table = {
        s: exact(float(values[s.name]))  # type: ignore[arg-type]
        for s in dynamics.parameters
        if values.get(s.name) is not None and s.name not in controls_of(model)
    }
    if len(table) > 1:
        for s, x in table.items():
            yield {s: x}, with_values(dynamics, {s: x})
    if table:
        yield table, with_values(dynamics, table)


def said(table: dict[sp.Symbol, sp.Rational]) -> str:
    """A condition in words."""
    return f"at {', '.join(f'{s} = {x}' for s, x in table.items())}" if table else ""


def points_of(normal: Normal, count: int) -> Moving:
    """Random points of the variety modulo one prime."""
    d = normal.dynamics
    (f,) = d.fields(normal.ring, 1, block=8)
    return d.moving(normal.ring, f, count, d.drawn(normal.ring, f), True)


@public
def checked(
    model: System | Flow, expression: Any, values: Mapping[str, float | None] | None = None
) -> Law:
    """A proposed quantity as a `Law`, proved; otherwise an `InputError` that shows its rate.

    Parameters
    ----------
    model : System or Flow
    expression : Expr
        In the model's symbols.
    values : mapping name → number, optional
        Of the parameters, where it is no law for all of them; otherwise the system's own.
    """
    model = model_of(model, "laws")
    if values is not None and not isinstance(values, Mapping):
        raise InputError("values cannot be read", expected='{"k": 2.0}', received=brief(values))
    dynamics = Dynamics(model)
    law = read(model, expression)
    jumping = sorted({s.name for s in law.free_symbols} & controls_of(model))
    if jumping:
        raise InputError(
            f"{shown(law)} is not conserved",
            expected="D(I) = 0, whatever the controls are",
            received=f"it contains {', '.join(jumping)}, which a controller sets",
        )
    for table, d in settings(dynamics, values):
        found = _proved(d, law.xreplace(table), said(table))
        if found is not None:
            return found
    normal = Normal(dynamics, [law])
    short = _polynomial(normal, law) if dynamics.constraints else None
    try:
        left = short if short is not None else normal.of(rate(dynamics, normal.forms, law))
        left = f"D(I) = {shown(left)}"
    except TooLarge:
        left = "D(I) is not zero at random points"
    raise InputError(f"{shown(law)} is not conserved", expected="D(I) = 0", received=left)


def _polynomial(normal: Normal, law: sp.Expr) -> sp.Expr | None:
    """A polynomial of low degree that D I is on the manifold, where normal forms are clumsy."""
    d = normal.dynamics
    variables = (*d.state, t) if d.timed else tuple(d.state)

    def plain(jet: Jet) -> list[Part]:
        return [(np.ones(jet.size, dtype=WORD), None, None)]

    for degree in (1, 2, 3):
        fit = Linear(
            d, normal.ring, variables, [degree], degree, plain, right=lambda jet: jet.rate(law)
        )  # fmt: skip
        if fit.count > COLUMNS:
            return None

        def same(made: list[sp.Expr]) -> str | None:
            return BY_POINTS if normal.agrees(law, made[0]) else None

        if found := fit.solutions(same):
            return found[0][0][0]
    return None


def _proved(d: Dynamics, law: sp.Expr, condition: str) -> Law | None:
    normal = Normal(d, [law])
    points = points_of(normal, 8)
    if points.rate(law).any():
        return None
    if is_constant(d, points, law):
        raise InputError(
            f"{shown(law)} is constant whatever moves",
            expected="a quantity that the motion keeps and that differs between motions",
        )
    try:
        holds = normal.forms.vanishes(rate(d, normal.forms, law).top)
    except TooLarge:
        holds = False
    if not holds and not normal.steady(law):
        return None
    symmetry = symmetry_of(d, law, points)
    kind = kind_of(d, law, symmetry)
    proof = NORMAL_FORM if holds else BY_POINTS
    return Law(law, kind, degree_of(d, law), proof, symmetry, condition)


def is_constant(d: Dynamics, points: Moving, law: sp.Expr) -> bool:
    """Whether the gradient of a law is a combination of those of the relations."""
    return len(gradient_ranks(d, points, [law])) == 0


def gradient_ranks(d: Dynamics, points: Moving, laws: list[sp.Expr]) -> list[int]:
    """Numbers of functionally independent laws, by their gradients at a random point."""
    first = len(d.relations)
    rows = points.gradients([*d.relations, *laws], d.state)
    return [k - first for k in points.point.field.pivots(rows.T) if k >= first]


def degree_of(d: Dynamics, law: sp.Expr) -> int:
    """The most factors of a term that change with the state or with time."""
    moving, most = {*d.state, t}, 0
    for term in sp.Add.make_args(sp.expand(law)):
        count = 0
        for factor in sp.Mul.make_args(term):
            if factor.free_symbols & moving:
                power = factor.exp if isinstance(factor, sp.Pow) and factor.exp.is_Integer else 1
                count += abs(int(power))
        most = max(most, count)
    return most


__all__ = ["checked", "read"]
