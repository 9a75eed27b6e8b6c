"""The gauge function of a symmetry that is proposed without one: Ġ = −(left side of SGM (4))."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import sympy as sp

from taut.errors import InputError
from taut.laws.action import Action
from taut.laws.check import NORMAL_FORM
from taut.laws.dynamics import Dynamics
from taut.laws.generators import generators
from taut.laws.linear import Linear, Part
from taut.laws.normal import FRESH, Normal, shown
from taut.laws.rates import Jet
from taut.laws.search import Search
from taut.laws.symmetry import tidied
from taut.model import t

COLUMNS = 1000  # of an ansatz
GAUGE = 5  # degree of a G that is looked for, where the left side is no polynomial
IDENTITY = f"Noether's identity at {2 * FRESH} random points modulo two primes near 2³¹"
NEVER = "the proposed symmetry does not satisfy Noether's identity, whatever G is"
ZERO = sp.Integer(0)


def gauge_of(d: Dynamics, xi0: sp.Expr, xi: list[sp.Expr]) -> sp.Expr:
    """The G with Ġ = −(left side of SGM (4)), as simple as can be; 0 if none was found.

    The left side plus Ġ is the rate of I, so that −Ġ is the rate of I without G.  Of a point
    symmetry G depends on t and q alone, and no accelerations occur.  If none is found, the error
    says whether there is one.
    """
    action = Action(d)
    normal = Normal(d, [*action.expressions, xi0, *xi])
    point = not any(e.has(*d.rates_of) for e in (xi0, *xi))
    motion, whole = d, ZERO
    if point:
        left = action.identity(xi0, xi, ZERO)
    else:
        motion, left = moving(d), _along_velocities(action, normal, xi0, xi)
        whole = left - action.law(xi0, xi, ZERO)
    if point and (left == 0 or normal.zero(left)):
        return ZERO
    search = Search(motion, [*action.expressions, xi0, *xi])
    own = [e for e in generators(motion, search) if not e.has(*d.rates_of)]
    inside = {x for e in (xi0, *xi) for x in e.atoms(sp.Function) if not x.has(*d.rates_of)}
    basis = (*own, *sorted(inside - set(own), key=sp.default_sort_key), t)

    def right(jet: Jet) -> np.ndarray:
        value = jet(left) if point else jet.rate(left)
        return jet.field.sub(np.uint64(0), value)

    def plain(jet: Jet) -> list[Part]:
        return [(None, np.ones(jet.size, dtype=np.uint64), None)]

    def check(made: list[sp.Expr]) -> str | None:
        if point:
            return vanishing(normal, [action.identity(xi0, xi, made[0])])
        steady = Normal(motion, [*action.expressions, left, *made]).steady(left + made[0])
        return IDENTITY if steady else None

    reached, most = 0, GAUGE
    if left.is_polynomial(*d.state, t):  # then G is one, too
        most = sp.Poly(left, *d.state, t).total_degree() + 1
    for degree in range(1, most + 1):
        linear = Linear(
            motion, search.ring, basis, [degree], None, plain, right, frozenset({0})
        )  # fmt: skip
        if linear.count > COLUMNS:
            break
        reached = degree
        if found := linear.solutions(check):
            return tidied(whole + found[0][0][0])
    none = point and not d.constraints and not _exact(normal, left, d)
    raise InputError(
        NEVER if none else "no G was found",
        expected="a left side of SGM (4) that is a total derivative −Ġ",
        received=f"{shown(normal.of(left))}" if point else "one with accelerations",
        remedy=None
        if none
        else f"looked for up to degree {reached} in "
        f"{', '.join(map(str, basis))}; give G, if you know it: proposed=(xi0, xi, G)",
    )


def _along_velocities(action: Action, normal: Normal, xi0: sp.Expr, xi: list[sp.Expr]) -> sp.Expr:
    """Of I all that depends on velocities, ∫ v·W η: by the inverse of the theorem I_v = W η.

    Without this, every ξ would be a symmetry, with the G for which I is zero.
    """
    d, scale = action.d, sp.Dummy("s", positive=True)
    w = d.rates_of
    eta = [e - v * xi0 for e, v in zip(xi, action.v, strict=True)]
    pull = [sp.Add(*(m * e for m, e in zip(row, eta, strict=True))) for row in d.mass]
    if d.constraints or not all(e.is_polynomial(*w) for e in pull):
        raise InputError(
            "G is needed",
            expected="(xi0, xi, G), with constraints or where ξ is no polynomial of velocities",
            received="(xi0, xi)",
        )
    for i, j in combinations(range(len(w)), 2):
        if not normal.zero(pull[i].diff(w[j]) - pull[j].diff(w[i])):
            raise InputError(
                NEVER,
                expected="∂(W η)_i/∂v_j = ∂(W η)_j/∂v_i, with η = ξ − v ξ0",
                received=f"W η = ({', '.join(map(str, pull))})",
            )
    bent = {v: scale * v for v in w}
    along = sp.Add(*(v * e.xreplace(bent) for v, e in zip(w, pull, strict=True)))
    return sp.expand(sp.integrate(sp.expand(along), (scale, 0, 1)))


def _exact(normal: Normal, left: sp.Expr, d: Dynamics) -> bool:
    """Whether a function of t, q, v is the total derivative of one of t and q."""
    q, v = d.positions, [normal.dynamics.explicit[x] for x in d.positions]
    if d.rates_of != v:
        return True  # a Hamiltonian's: not looked at
    slopes = [left.diff(w) for w in v]
    curls = [s.diff(w) for s in slopes for w in v]
    for x, s in zip(q, slopes, strict=True):
        along = sp.Add(*(s.diff(y) * w for y, w in zip(q, v, strict=True)))
        curls.append(left.diff(x) - s.diff(t) - along)
    return all(e == 0 or normal.zero(e) or normal.fresh(e) for e in curls)


def moving(d: Dynamics) -> Dynamics:
    """The same with accelerations."""
    full = Dynamics.__new__(Dynamics)
    full.__dict__.update(d.__dict__)
    return full


def vanishing(normal: Normal, sides: list[sp.Expr]) -> str | None:
    """How it is known that all of these vanish on the variety; None if they do not."""
    proof = NORMAL_FORM
    for e in sides:
        holds = e == 0 or normal.zero(e)
        if not holds:
            if not normal.fresh(e):
                return None
            proof = IDENTITY
    return proof


__all__ = ["IDENTITY", "gauge_of", "moving", "vanishing"]
