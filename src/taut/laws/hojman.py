r"""Hojman's theorem: a law from a symmetry and a multiplier, without a Lagrangian.

For q̈ = α(q, q̇, t) a multiplier μ(q, q̇, t) satisfies (SGM (8))

    ∂α_s/∂q̇_s + D ln μ = 0,

and for every Lie symmetry, at fixed time η = ξ − q̇ ξ₀, the quantity (SGM (9))

    I_H = (1/μ) ∂(μ η_s)/∂q_s + (1/μ) ∂(μ Dη_s)/∂q̇_s

is constant: the divergence of the symmetry with respect to the volume μ dq dq̇ that the motion
keeps.  The same holds for ẋ = f(x, t) with div f + D ln μ = 0 and I_H = div(μ X)/μ.

Multipliers are looked for in this order: μ = 1, if div = 0; det L_q̇q̇, which always is one where
there is a Lagrangian and no force; exponentials of sums and products of powers, ln μ = Σ c g, where
the g are t, the functions that occur, and logarithms of them, of t and of Darboux polynomials: one
linear equation with a right side.

I_H can be trivial.  Every Noether symmetry gives zero with μ = det L_q̇q̇; others give a number, or a
function of laws that are known.  Each result says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, overload

import numpy as np
import sympy as sp

from taut.calls import public
from taut.errors import InputError, brief, flag, listed
from taut.laws.check import (
    NORMAL_FORM,
    _proved,
    gradient_ranks,
    model_of,
    points_of,
    read,
    said,
    settings,
)
from taut.laws.darboux import darboux
from taut.laws.dynamics import Dynamics
from taut.laws.field import WORD
from taut.laws.find import COLUMNS, Finder, conserved, several, whole
from taut.laws.generators import generators
from taut.laws.law import Law, Laws
from taut.laws.lie import _checked as checked_symmetry, lie_symmetries
from taut.laws.linear import Linear, Part
from taut.laws.normal import Normal, shown
from taut.laws.proof import TooLarge
from taut.laws.rates import Jet
from taut.laws.recover import plain
from taut.laws.search import Search
from taut.laws.spelling import in_given_symbols, in_own_symbols
from taut.laws.symmetries import LieSymmetry, Symmetries
from taut.model import Flow, Mechanism, System, t
from taut.model.latex import block, excerpt
from taut.text import tex

HEAD = ("symmetry", "μ", "I_H", "what it is")
NEW = "new"


@public
@dataclass(frozen=True, eq=False)
class HojmanLaw:
    """What a symmetry and a multiplier give.

    Attributes
    ----------
    mu : Expr
    symmetry : LieSymmetry
    expression : Expr
        I_H.
    law : Law or None
        I_H as a law with its proof; None where it is a number.
    label : str
        ``"zero"``, ``"a number"``, what it is in terms of known laws, or ``"new"``: independent
        of the known ones.
    """

    mu: sp.Expr
    symmetry: LieSymmetry
    expression: sp.Expr
    law: Law | None
    label: str

    @property
    def trivial(self) -> bool:
        """Whether it says nothing that is not known."""
        return self.label != NEW

    def row(self) -> tuple[str, ...]:
        """For a table."""
        return (self.symmetry.field, str(self.mu), str(self.expression), self.label)

    def row_latex(self) -> tuple[str, ...]:
        """For a table in LaTeX."""
        field = self.symmetry.row_latex()
        return (*field, excerpt(self.mu), excerpt(self.expression), tex(self.label))

    def _repr_latex_(self) -> str:
        field, mu, law, label = self.row_latex()
        return block([("X", field), (r"\mu", mu), ("I_H", rf"{law}\quad({label})")])

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "mu": str(self.mu),
            "symmetry": self.symmetry.to_dict(),
            "expression": str(self.expression),
            "law": None if self.law is None else self.law.to_dict(),
            "label": self.label,
        }

    def __str__(self) -> str:
        return f"{self.expression} ({self.label})"


class Volume:
    """The motion as a flow on its state space, with the divergence."""

    def __init__(self, model: System | Flow, d: Dynamics, more: Iterable[sp.Expr] = ()) -> None:
        if d.constraints:
            raise InputError(
                "Hojman's theorem needs independent coordinates",
                expected="a model without constraints",
                received=f"{len(d.constraints)} of them",
                remedy="use coordinates of the manifold; the volume that is kept there has no "
                "divergence in the coordinates around it",
            )
        self.model, self.d = model, d
        self.normal = Normal(d, more)
        try:
            self.rates = self.normal.rates
        except TooLarge:
            raise InputError(
                "the accelerations are too large to be written down",
                expected="a model with fewer coordinates",
                received=f"{len(d.state)} variables of state",
            ) from None
        total = sp.Add(*(self.rates[x].diff(x) for x in d.state))
        self.divergence = self.normal.of(total) if total != 0 else sp.Integer(0)

    def rest(self, mu: sp.Expr) -> sp.Expr:
        """(D μ)/μ + div, which must vanish."""
        return self.normal.rate(mu) / mu + self.divergence

    def quantity(self, mu: sp.Expr, eta: list[sp.Expr]) -> sp.Expr:
        """SGM (9)."""
        d = self.d
        field = list(eta)
        if len(field) < len(d.state):
            field += [self.normal.rate(e) for e in eta]
        total = sp.Integer(0)
        for x, e in zip(d.state, field, strict=True):
            total += e.diff(x) + e * mu.diff(x) / mu
        return total


@public
def multiplier(
    model: System | Mechanism | Flow, *, functions: Iterable[Any] = (), degree: int = 1
) -> sp.Expr:
    """A multiplier μ with div + D ln μ = 0, by the order of the module's head."""
    model = model_of(model, "multipliers")
    functions, degree = several("functions", functions), whole("degree", degree, 1)
    d = Dynamics(model)
    volume = Volume(model, d)
    if volume.divergence == 0:
        return sp.Integer(1)
    if isinstance(model, System) and model.form == "lagrangian" and not d.forced:
        mass = sp.Matrix(d.mass)
        mu = volume.normal.of(mass.det(method="berkowitz"))
        if volume.normal.zero(volume.rest(mu)):
            return mu
    more = [read(model, e) for e in functions]
    more = [*more, *(sp.log(f) for f in _surfaces(model))]
    search = Search(d, more)
    own = [*generators(d, search), t]
    functions_of = [g for g in own if g not in d.state and not isinstance(g, sp.exp | sp.log)]
    logs = [sp.log(g.base if isinstance(g, sp.Pow) else g) for g in functions_of]
    logs = [e for e in logs if d.timed or not e.has(t)]
    basis = tuple(dict.fromkeys([*own, *more, *logs]))
    search = Search(d, [*basis, volume.divergence])
    normal = Normal(d, [*basis, volume.divergence])

    def along(jet: Jet) -> list[Part]:
        return [(None, np.ones(jet.size, dtype=WORD), None)]

    linear = Linear(
        d, search.ring, basis, [degree], degree, along,
        right=lambda jet: jet(-volume.divergence), without_constant=frozenset({0}),
    )  # fmt: skip

    def check(made: list[sp.Expr]) -> str | None:
        rest = normal.rate(made[0]) + volume.divergence
        return NORMAL_FORM if normal.zero(rest) else None

    found = linear.solutions(check)
    if not found:
        raise InputError(
            "no multiplier was found",
            expected="ln μ as a combination of " + ", ".join(map(str, basis)),
            received=f"div = {shown(volume.divergence)}",
            remedy="give functions=… for ln μ, or the multiplier itself: mu=…",
        )
    return exponential(found[0][0][0])


def exponential(e: sp.Expr) -> sp.Expr:
    """e^e with logarithms as powers."""
    powers, rest = [], []
    for term in sp.Add.make_args(sp.expand(e)):
        logs = [x for x in sp.Mul.make_args(term) if isinstance(x, sp.log)]
        if len(logs) == 1:
            powers.append(logs[0].args[0] ** (term / logs[0]))
        else:
            rest.append(term)
    return sp.Mul(*powers, sp.exp(sp.Add(*rest)))


def _surfaces(model: System | Flow) -> list[sp.Expr]:
    """Darboux polynomials, where rates are rational."""
    try:
        return [x.polynomial for x in in_own_symbols(darboux)(model) if x.cofactor != 0]
    except InputError:
        return []


@overload
def hojman(
    model: System | Mechanism | Flow,
    *,
    mu: Any = None,
    degree: int | None = None,
    time: int | None = None,
    functions: Iterable[Any] = (),
    dynamical: bool = False,
    laws: Laws | None = None,
    proposed: None = None,
) -> Symmetries: ...


@overload
def hojman(
    model: System | Mechanism | Flow, *, laws: Laws | None = None, proposed: Any
) -> HojmanLaw: ...


@in_given_symbols
@public
def hojman(
    model: System | Mechanism | Flow,
    *,
    mu: Any = None,
    degree: int | None = None,
    time: int | None = None,
    functions: Iterable[Any] = (),
    dynamical: bool = False,
    laws: Laws | None = None,
    proposed: Any = None,
) -> Symmetries | HojmanLaw:
    """Hojman's quantities of a model: one for each Lie symmetry, trivial ones labelled.

    Parameters
    ----------
    model : System, Mechanism or Flow
        Without constraints.
    mu : Expr, optional
        The multiplier; without it one is looked for.
    degree, time, functions, dynamical
        For the symmetries, as for `taut.lie_symmetries`.  A Hamiltonian system is taken in phase
        space.
    laws : Laws, optional
        What is known already; without them those that `taut.conserved` finds.
    proposed : (mu, xi0, xi), optional
        A multiplier and a symmetry to check instead of a search.

    Returns
    -------
    Symmetries
        A list of `HojmanLaw`; ``print`` shows a table.  With `proposed` the one `HojmanLaw`; an
        `InputError` says which equation fails, and by what.

    Examples
    --------
    >>> import taut
    >>> (x,) = taut.coordinates("x")
    >>> print(taut.hojman(taut.System([x], mass=1), degree=2, time=1))
      symmetry          μ  I_H               what it is
      ────────────────  ─  ────────────────  ───────────────────────
      ∂t                1  0                 zero
      ∂x                1  0                 zero
      x ∂t              1  -3*x_dot          known: -3*x_dot
      t ∂t              1  -1                a number
      x ∂x              1  2                 a number
      t ∂x              1  0                 zero
      t*x ∂t + x**2 ∂x  1  -3*t*x_dot + 3*x  known: -3*(t*x_dot - x)
    7 in all; complete in this ansatz: degree ≤ 2 in x, t, but t to the power of at most 1
    """
    model = model_of(model, "symmetries")
    if proposed is not None:
        return _proposed(model, proposed, laws)
    functions = several("functions", functions)
    dynamical = flag("dynamical", dynamical)
    d = Dynamics(model)
    Volume(model, d)
    factor = multiplier(model) if mu is None else _multiplier(model, d, read(model, mu))
    phase = isinstance(model, System) and model.form == "hamiltonian"
    found = in_own_symbols(lie_symmetries)(
        model, degree=degree, time=time, functions=functions, dynamical=dynamical or phase
    )
    given = [read(model, e) for e in functions]
    known = _known(model, d, [factor, *given]) if laws is None else _given(model, laws)
    made = [_made(model, d, factor, s, known) for s in found]
    return Symmetries(made, HEAD, found.complete)


def _known(model: System | Flow, d: Dynamics, given: list[sp.Expr]) -> Laws:
    """Laws of a model, with Darboux polynomials as denominators and the functions that occur."""
    moving = {*d.state, t}
    inside = sorted({x for e in given for x in e.atoms(sp.Function)}, key=sp.default_sort_key)
    more = [x for x in inside if x.free_symbols & moving and not isinstance(x, sp.log)]
    more += [1 / f for f in _surfaces(model)]
    degree = 3 if more else 2
    finder = Finder(model, more, None)
    return in_own_symbols(conserved)(
        model, functions=more, degree=degree if finder.ansatz(degree).columns <= COLUMNS else None
    )


def _multiplier(model: System | Flow, d: Dynamics, mu: sp.Expr) -> sp.Expr:
    volume = Volume(model, d, [mu])
    if mu == 0:
        raise InputError("a multiplier must not vanish", expected="μ ≠ 0", received=0)
    rest = volume.rest(mu)
    if not volume.normal.zero(rest) and not volume.normal.fresh(rest):
        raise InputError(
            f"{shown(mu)} is no multiplier",
            expected="∂α_s/∂q̇_s + D ln μ = 0" if d.rates_of else "div f + D ln μ = 0",
            received=f"left side = {shown(volume.normal.of(rest))}",
        )
    return mu


def _given(model: System | Flow, laws: Any) -> Laws:
    """Laws that somebody else has found, in our symbols."""
    if not all(isinstance(law, Law) for law in listed("laws", laws, "what taut.conserved found")):
        raise InputError(
            "laws cannot be read", expected="what taut.conserved found", received=repr(laws)[:80]
        )
    rank = getattr(laws, "rank", len(laws))
    read_in = [replace(law, expression=model.read(law.expression)) for law in laws]
    return Laws(read_in, rank, (), "")


def _proposed(model: System | Flow, proposed: Any, laws: Laws | None) -> HojmanLaw:
    if not isinstance(proposed, list | tuple) or len(proposed) != 3:
        raise InputError(
            "this is no proposal", expected="(mu, xi0, xi)", received=brief(proposed, 120)
        )
    mu = read(model, proposed[0])
    d, first = Dynamics(model), None
    for table, dynamics in settings(d):
        try:
            factor = _multiplier(model, dynamics, mu.xreplace(table))
        except InputError as error:
            first = first or error
            continue
        symmetry = checked_symmetry(model, dynamics, tuple(proposed[1:]))
        known = _known(model, d, [mu, *symmetry.eta]) if laws is None else _given(model, laws)
        return _made(model, dynamics, factor, symmetry, known, said(table))
    assert first is not None
    raise first


def _made(
    model: System | Flow,
    d: Dynamics,
    mu: sp.Expr,
    symmetry: LieSymmetry,
    known: Laws,
    condition: str = "",
) -> HojmanLaw:
    volume = Volume(model, d, [mu, *symmetry.eta, *(law.expression for law in known)])
    normal = volume.normal
    raw = volume.quantity(mu, list(symmetry.eta))
    if raw == 0 or normal.zero(raw):
        return HojmanLaw(mu, symmetry, sp.Integer(0), None, "zero")
    value = normal.of(raw)
    points = points_of(normal, len(known) + 12)
    if not gradient_ranks(d, points, [value]):
        return HojmanLaw(mu, symmetry, value, None, "a number")
    law = _proved(d, value, condition or symmetry.condition)
    if law is None:
        raise AssertionError(f"{value} is Hojman's quantity and is not conserved")
    return HojmanLaw(mu, symmetry, value, law, label(d, points, value, known))


def label(d: Dynamics, points, value: sp.Expr, known: Laws) -> str:
    """What a law is in terms of those that are known."""
    expressions = [law.expression for law in known]
    f = points.point.field
    columns = [np.ones(len(points.point), dtype=WORD), *(points(e) for e in expressions)]
    columns.append(points(value))
    null = f.null_space(np.ascontiguousarray(np.array(columns).T))
    for row in null:
        if row[-1]:
            scaled = f.mul(f.sub(WORD(0), row), f.inverse(row[-1:]))
            numbers = plain(scaled[:-1].tolist(), f.p)
            if numbers is not None:
                total = zip(numbers, [sp.Integer(1), *expressions], strict=True)
                parts = [_multiple(c, e) for c, e in total if c != 0]
                return f"known: {' + '.join(parts)}"
    for count in range(1, len(expressions) + 1):
        for chosen in combinations(range(len(expressions)), count):
            some = [expressions[i] for i in chosen]
            if len(gradient_ranks(d, points, some)) < count:
                continue
            if len(gradient_ranks(d, points, [*some, value])) == count:
                return f"a function of {', '.join(map(str, some))}"
        if count >= known.rank:
            break
    return NEW


def _multiple(c: sp.Rational, e: sp.Expr) -> str:
    """The law as it is shown elsewhere, times a number."""
    if c == 1:
        return str(e)
    factor = "-" if c == -1 else f"{c}*"
    return f"{factor}({e})" if isinstance(e, sp.Add) else f"{factor}{e}"


__all__ = ["HojmanLaw", "hojman", "multiplier"]
