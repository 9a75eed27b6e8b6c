"""The symmetry behind a law: the inverse of Noether's theorem.

For a law I(q, q̇, t) of a Lagrangian with W = L_q̇q̇ the evolutionary generator is η = W⁻¹ I_q̇, and
with constraints W η + Gᵀμ = I_q̇, G η = 0.  It is a point symmetry exactly if
ηᵢ = ξᵢ(t, q) − q̇ᵢ ξ₀(t, q); otherwise ξ₀ = 0 and ξ = η, since a ξ₀ that depends on velocities is
pure gauge.  Then

    G = I − L ξ₀ − L_q̇·(ξ − q̇ ξ₀).
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from taut.laws.dynamics import Dynamics, Moving
from taut.laws.law import Symmetry
from taut.laws.present import cancelled
from taut.model import System, t

WIDE = 4  # unknowns up to which the generator is solved for symbolically


def symmetry_of(dynamics: Dynamics, law: sp.Expr, points: Moving) -> Symmetry | None:
    """The symmetry of a law; None without a Lagrangian, or if it is too large to write down."""
    d = dynamics
    if not isinstance(d.model, System) or d.forced:
        return None
    if d.model.form == "hamiltonian":
        eta = [law.diff(p) for p in d.rates_of]
        gauge = law - sum(p * x for p, x in zip(d.rates_of, eta, strict=True))
        point = not any(x.has(*d.rates_of) for x in eta)
        return Symmetry(sp.Integer(0), tuple(map(tidied, eta)), tidied(gauge), point)
    eta = _generator(d, law, points)
    if eta is None:
        return None
    v, lagrangian = d.rates_of, d.energy_function
    xi0 = _time_part(d, eta)
    point = xi0 is not None
    xi0 = xi0 if point else sp.Integer(0)
    xi = [tidied(e + w * xi0) for e, w in zip(eta, v, strict=True)]
    action = sum(lagrangian.diff(w) * e for e, w in zip(eta, v, strict=True))
    return Symmetry(xi0, tuple(xi), tidied(law - lagrangian * xi0 - action), point)


def tidied(e: sp.Expr) -> sp.Expr:
    """Multiplied out, with roots, denominators and functions as they are."""
    hidden: dict[sp.Expr, sp.Dummy] = {}

    def hide(x: sp.Expr) -> sp.Expr:
        if isinstance(x, sp.Function) or (isinstance(x, sp.Pow) and not x.exp.is_positive):
            return hidden.setdefault(x, sp.Dummy())
        if isinstance(x, sp.Pow) and not x.exp.is_Integer:
            return hidden.setdefault(x, sp.Dummy())
        return x.func(*map(hide, x.args)) if x.args else x

    inside = sp.expand(hide(e))
    return inside.xreplace({dummy: x for x, dummy in hidden.items()})


def _generator(d: Dynamics, law: sp.Expr, points: Moving) -> list[sp.Expr] | None:
    slopes = [law.diff(v) for v in d.rates_of]
    n, c = len(slopes), len(d.constraints)
    mass = sp.Matrix(d.mass)
    if mass.is_diagonal():
        eta = [tidied(s / mass[i, i]) for i, s in enumerate(slopes)]
    elif n <= WIDE:
        eta = _solved(mass, slopes)
    else:
        return None
    pushed = [sum(a * x for a, x in zip(row, eta, strict=True)) for row in d.jacobian]
    if not any(points(e).any() for e in pushed):  # tangent where it matters
        return eta
    if n + c > WIDE:
        return None
    whole = sp.zeros(n + c, n + c)
    whole[:n, :n] = mass
    whole[n:, :n] = sp.Matrix(d.jacobian)
    whole[:n, n:] = sp.Matrix(d.jacobian).T
    return _solved(whole, [*slopes, *[0] * c])[:n]


def _solved(matrix: sp.Matrix, right: list[sp.Expr]) -> list[sp.Expr]:
    """By cofactors: of fractions in fractions a common denominator takes longer."""
    below = matrix.det()
    return [cancelled(x / below) for x in matrix.adjugate() * sp.Matrix(right)]


def _time_part(d: Dynamics, eta: list[sp.Expr]) -> sp.Expr | None:
    """ξ₀ if this is a point symmetry."""
    v = d.rates_of
    xi0 = -eta[0].diff(v[0])
    for i, e in enumerate(eta):
        for j, w in enumerate(v):
            rest = e.diff(w) + (xi0 if i == j else 0)
            if rest != 0 and tidied(rest) != 0:
                return None
    return None if xi0.has(*v) else tidied(xi0)


def kind_of(dynamics: Dynamics, law: sp.Expr, symmetry: Symmetry | None) -> str:
    """What people call a law with this symmetry."""
    if symmetry is None:
        return "time-dependent integral" if law.has(t) else "integral"
    if not symmetry.point:
        return "hidden symmetry"
    q, xi0, xi = dynamics.positions, symmetry.xi0, symmetry.xi
    if xi0 != 0:
        if not xi0.free_symbols & {*q, t} and not any(xi):
            return "energy"
        linear = xi0.diff(t) != 0 and xi0.diff(t, 2) == 0
        return "scaling" if linear else "point symmetry"
    if not any(x.free_symbols & {*q, t} for x in xi):
        return "momentum"
    if any(x.has(t) for x in xi):
        steady = not any(x.has(*q) or x.diff(t, 2) != 0 for x in xi)
        return "boost" if steady else "point symmetry"
    return "angular momentum" if _turns(q, xi) else "point symmetry"


def _turns(q: Sequence[sp.Symbol], xi: Sequence[sp.Expr]) -> bool:
    """Whether ξ_q = −ξ_qᵀ is constant."""
    place = {x: i for i, x in enumerate(q)}
    slopes = {(i, place[x]): e.diff(x) for i, e in enumerate(xi) for x in e.free_symbols & set(q)}
    return all(
        not s.free_symbols & set(q) and s + slopes.get((j, i), 0) == 0
        for (i, j), s in slopes.items()
    )


__all__ = ["kind_of", "symmetry_of", "tidied"]
