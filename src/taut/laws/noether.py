r"""Noether's theorem: symmetries of the action, and a law from each of them.

ξ₀(t, q), ξ(t, q) and G(t, q) are unknown functions in one linear equation (SGM (4)),

    L_t ξ₀ + L_q·ξ + p·ξ̇ − E ξ̇₀ + f·(ξ − v ξ₀) = −Ġ,   p = L_q̇,  E = p·v − L,

which must hold for all t, q, v.  No accelerations occur, so that L_q̇q̇ may be singular.  Forces f
that have no potential take part in it; without them it is SGM's.  With constraints it must hold
where g = 0, for v tangent to them, and ξ has to be tangent too: g_q·ξ + g_t ξ₀ = 0.  On the motion
the rate of

    I = L ξ₀ + p·(ξ − v ξ₀) + G      (SGM (5))

is the left side plus Ġ, and zero.  A Hamiltonian H(q, p) has the same equation with L = p·v − H,
v = H_p, L_q = −H_q: points are then those of phase space.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

import sympy as sp

from taut.calls import public
from taut.errors import InputError, brief
from taut.laws.action import Action, Still
from taut.laws.check import (
    NORMAL_FORM,
    _proved,
    checked,
    degree_of,
    points_of,
    read,
    said,
    settings,
    small_enough,
)
from taut.laws.dynamics import Dynamics
from taut.laws.find import power_of_time, several, whole
from taut.laws.gauge import IDENTITY, gauge_of, moving, vanishing
from taut.laws.generators import generators
from taut.laws.law import Law, Symmetry
from taut.laws.linear import Linear
from taut.laws.normal import Normal, shown
from taut.laws.proof import TooLarge, rate
from taut.laws.rates import Jet, Rates
from taut.laws.ring import tidy
from taut.laws.search import Ansatz, Search
from taut.laws.spelling import in_given_symbols
from taut.laws.symmetries import NoetherSymmetry, Symmetries, parted
from taut.laws.symmetry import kind_of, tidied
from taut.model import Flow, Mechanism, System, t

COLUMNS = 1000  # of an ansatz that is chosen by itself
DEEPEST = 3
HEAD = ("kind", "symmetry", "G", "law")


def needs_lagrangian(model: Any) -> System:
    """The model, if it has an action."""
    model = model.system() if isinstance(model, Mechanism) else model
    if isinstance(model, System):
        return small_enough(model)
    remedy = None
    if isinstance(model, Flow):
        remedy = "taut.lie_symmetries and taut.hojman need no Lagrangian; taut.conserved neither"
    raise InputError(
        "Noether's theorem needs a Lagrangian",
        expected="a taut.System or a taut.Mechanism",
        received=f"a {type(model).__name__}",
        remedy=remedy,
    )


@overload
def noether(
    system: System | Mechanism,
    *,
    degree: int | None = None,
    time: int | None = None,
    functions: Iterable[Any] = (),
    law: None = None,
    proposed: None = None,
) -> Symmetries: ...


@overload
def noether(system: System | Mechanism, *, law: Any) -> NoetherSymmetry: ...


@overload
def noether(system: System | Mechanism, *, proposed: Any) -> NoetherSymmetry: ...


@in_given_symbols
@public
def noether(
    system: System | Mechanism,
    *,
    degree: int | None = None,
    time: int | None = None,
    functions: Iterable[Any] = (),
    law: Any = None,
    proposed: Any = None,
) -> Symmetries | NoetherSymmetry:
    """All Noether symmetries of a system that are point symmetries within an ansatz.

    Parameters
    ----------
    system : System or Mechanism
        With a Lagrangian, which may be singular, or a Hamiltonian; constraints and forces are
        taken into account.
    degree : int, optional
        Of ξ₀ and ξ as polynomials in t, q and the functions of them that occur; G may be higher by
        one.  Without it the largest up to three that is quick.
    time : int, optional
        The highest power of t; without it t may occur as often as the degree allows.
    functions : iterable of Expr
        More functions of t and q, such as sin t and cos t for an oscillator.
    law : Expr, optional
        A law instead of a search: its symmetry, by the inverse of the theorem.
    proposed : (xi0, xi) or (xi0, xi, G), optional
        A symmetry to check instead of a search; it may depend on velocities.  Without G one is
        looked for, up to degree five.

    Returns
    -------
    Symmetries
        A list of `NoetherSymmetry`; ``print`` shows a table.  With `law` or `proposed` the one
        `NoetherSymmetry`; if it is none, an `InputError` says which equation fails, and by what.

    Notes
    -----
    Symmetries that depend on velocities have no end in an ansatz, since each law has one:
    ``taut.conserved(system)[i].symmetry`` is the road to those.

    Examples
    --------
    >>> import taut
    >>> x, y = q = taut.coordinates("x y")
    >>> print(taut.noether(taut.System(q, mass=1, potential=(x**2 + y**2)**2)))
      kind              symmetry      G  law
      ────────────────  ────────────  ─  ────────────────────────────────────────────────────
      energy            ∂t            0  -x**4 - 2*x**2*y**2 - x_dot**2/2 - y**4 - y_dot**2/2
      angular momentum  -y ∂x + x ∂y  0  x*y_dot - x_dot*y
    2 in all; complete in this ansatz: ξ of degree ≤ 3, G of degree ≤ 4 in x, y, t
    """
    system = needs_lagrangian(system)
    if proposed is not None:
        return _checked(system, proposed)
    if law is not None:
        return _inverse(system, law)
    d = Still(system)
    action = Action(d)
    more = [read(system, e) for e in several("functions", functions)]
    for e in more:
        if e.has(*d.rates_of):
            raise InputError(
                f"{e} depends on velocities",
                expected="functions of t and q",
                remedy="taut.conserved(system)[i].symmetry gives symmetries that do",
            )
    time = power_of_time(time)
    search = Search(d, [*action.expressions, *more])
    own = [e for e in generators(d, search) if not e.has(*d.rates_of)]
    basis = (*own, *(e for e in more if e not in own), *((t,) if time != 0 else ()))
    n = len(d.positions)
    if degree is None:
        sizes = {k: (n + 1) * Ansatz(basis, k, time).columns for k in range(1, DEEPEST + 1)}
        degree = max(k for k, size in sizes.items() if size <= COLUMNS or k == 1)
    degree = whole("degree", degree, 0)
    linear = Linear(
        d, search.ring, basis, [*[degree] * (n + 1), degree + 1], time, action.parts,
        without_constant=frozenset({n + 1}), first=(n + 1,),
    )  # fmt: skip
    normal = Normal(d, [*action.expressions, *more])
    regular = _regular(d, normal)

    def check(found: list[sp.Expr]) -> str | None:
        xi0, *xi, gauge = found
        sides = [action.identity(xi0, xi, gauge), *action.pushed(xi0, xi)]
        return vanishing(normal, sides)

    made = []
    for (xi0, *xi, gauge), proof in linear.solutions(check):
        one = _law(system, action, regular, (xi0, xi, gauge), proof)
        made.append(NoetherSymmetry(tuple(d.positions), xi0, tuple(xi), gauge, one, proof))
    names = ", ".join(map(str, basis)) + Ansatz(basis, degree + 1, time).cap
    words = f"ξ of degree ≤ {degree}, G of degree ≤ {degree + 1} in {names}"
    missed = f"; {linear.missed} not recovered" if linear.missed else ""
    return Symmetries(made, HEAD, f"complete in this ansatz: {words}{missed}")


def _regular(d: Dynamics, normal: Normal) -> bool:
    """Whether the equations can be solved for the accelerations."""
    jet = Jet(Rates(d), points_of(normal, 4))
    jet._solved  # noqa: B018
    return bool(jet.moving.point.good.any())


def _law(system: System, action: Action, regular: bool, parts, proof: str) -> Law:
    xi0, xi, gauge = parts
    expression = tidied(action.law(xi0, xi, gauge))
    d = action.d
    kind = kind_of(d, expression, Symmetry(xi0, tuple(xi), gauge, True))
    symmetry = Symmetry(xi0, tuple(xi), gauge, True)
    how = f"Noether's identity, {proof}"
    if regular and system.n > system.c:
        law = _proved(Dynamics(system), expression, "")
        if law is None:
            raise AssertionError(f"{expression} follows from a symmetry and is not conserved")
        how = law.verified
    return Law(expression, kind, degree_of(d, expression), how, symmetry)


def _inverse(system: System, law: Any) -> NoetherSymmetry:
    found = checked(system, law)
    s = found.symmetry
    if s is None:
        raise InputError(
            "the symmetry of this law was not found",
            expected="a system without forces, with few coordinates",
            received=brief(system),
        )
    q = tuple(system.coordinates)
    return NoetherSymmetry(q, s.xi0, s.xi, s.gauge, found, found.verified, found.condition)


def _checked(system: System, proposed: Any) -> NoetherSymmetry:
    """A proposed symmetry, for all parameters or for the values that the system gives them."""
    parts = parted(proposed, len(system.coordinates), 1)
    sought = isinstance(proposed, list | tuple) and len(proposed) == 2
    given_parts = [tidy(read(system, e)) for e in parts]
    d = Still(system)
    Action(d)
    first: InputError | None = None
    for table, motion in settings(d):
        given = [e.xreplace(table) for e in given_parts]
        try:
            if sought and any(e != 0 for e in given):
                given[-1] = gauge_of(motion, given[0], given[1:-1])
            return _identity(system, motion, given, said(table))
        except InputError as error:
            first = first or error
    assert first is not None
    raise first


def _identity(system: System, d: Dynamics, given: list[sp.Expr], condition: str) -> NoetherSymmetry:
    xi0, *xi, gauge = given
    action = Action(d)
    point = not any(e.has(*d.rates_of) for e in given)
    law = tidied(action.law(xi0, xi, gauge))
    normal = Normal(d, [*action.expressions, *given])
    if all(e == 0 or normal.zero(e) for e in (xi0, *xi)):
        raise InputError("the proposed symmetry moves nothing", expected="ξ0 or ξ that is not zero")
    names = getattr(system, "constraint_names", ())
    for name, e in zip(names, action.pushed(xi0, xi), strict=True):
        if vanishing(normal, [e]) is None:
            raise InputError(
                f"the proposed symmetry leaves the constraint {name}",
                expected="g_q·ξ + g_t ξ0 = 0",
                received=f"{shown(normal.of(e))}",
            )
    if point:
        left = action.identity(xi0, xi, gauge)
        proof = vanishing(normal, [left])
        if proof is None:
            raise _refused(shown(normal.of(left)), condition)
    else:
        # With accelerations the left side of (4) plus Ġ is the rate of I.
        motion = Normal(moving(d), [*action.expressions, *given])
        proof = _steady(motion, law, condition)
    symmetry = Symmetry(xi0, tuple(xi), gauge, point)
    kind = kind_of(d, law, symmetry)
    made = Law(law, kind, degree_of(d, law), proof, symmetry, condition)
    return NoetherSymmetry(tuple(d.positions), xi0, tuple(xi), gauge, made, proof, condition)


def _steady(motion: Normal, law: sp.Expr, condition: str) -> str:
    try:
        left = rate(motion.dynamics, motion.forms, law)
        if motion.forms.vanishes(left.top):
            return NORMAL_FORM
    except TooLarge:
        left = None
    if motion.steady(law):
        return IDENTITY
    text = "not zero at random points" if left is None else shown(motion.of(left))
    raise _refused(text, condition)


def _refused(left: str, condition: str) -> InputError:
    return InputError(
        "the proposed symmetry does not satisfy Noether's identity",
        expected="L_t ξ0 + L_q·ξ + L_q̇·ξ̇ + (L − L_q̇·q̇) ξ̇0 + f·(ξ − q̇ ξ0) + Ġ = 0",
        received=f"{left}{' ' + condition if condition else ''}",
    )


__all__ = ["noether"]
