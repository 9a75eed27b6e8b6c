r"""Lie's symmetries: of the equations of motion, whether or not there is a Lagrangian.

t → t + ε ξ₀, q → q + ε ξ takes solutions of q̈ = α(q, q̇, t) to solutions exactly if the same
symmetry at fixed time, η = ξ − q̇ ξ₀, satisfies (SGM (7), which is printed for ξ₀ = 0)

    D D η = α_q η + α_q̇ D η,   D = ∂_t + q̇·∂_q + α·∂_q̇.

*Point* symmetries have ξ₀(t, q), ξ(t, q); *dynamical* ones ξ₀ = 0 and ξ(t, q, q̇), since a ξ₀ that
depends on velocities changes nothing.  With constraints η is tangent, g_q·η = 0, and both hold on
the manifold for tangent velocities.  A flow ẋ = f(x, t), or a system in phase space, has the
vector fields X(x, t) that commute with it:

    D X = f_x X.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

import numpy as np
import sympy as sp

from taut.calls import public
from taut.errors import InputError, flag
from taut.laws.check import NORMAL_FORM, model_of, read, said, settings
from taut.laws.dynamics import Dynamics
from taut.laws.field import WORD
from taut.laws.find import power_of_time, several, whole
from taut.laws.generators import generators
from taut.laws.linear import Linear, Part
from taut.laws.normal import FRESH, Normal, shown
from taut.laws.proof import TooLarge
from taut.laws.rates import Jet, Rates
from taut.laws.search import Ansatz, Search
from taut.laws.spelling import in_given_symbols
from taut.laws.symmetries import LieSymmetry, Symmetries, parted
from taut.laws.symmetry import tidied
from taut.model import Flow, Mechanism, System, t

COLUMNS = 1000  # of an ansatz that is chosen by itself
DEEPEST = {"point": 3, "dynamical": 2, "flow": 2}
BY_POINTS = f"the equations hold at {2 * FRESH} random points modulo two primes near 2³¹"


class Motion:
    """The linear equations of symmetries, for one of the three kinds."""

    def __init__(self, d: Dynamics, kind: str) -> None:
        self.d, self.kind = d, kind
        self.moved = d.state if kind == "flow" else d.positions
        self.tangent = d.relations if kind == "flow" else d.constraints

    # ---- at points ---------------------------------------------------------------------------

    def parts(self, jet: Jet) -> list[Part]:
        """The equations, with random weights."""
        f, slopes = jet.field, jet.jacobian
        rates_of = self.moved if self.kind == "flow" else self.d.rates_of
        weights = [f.random(jet.size) for _ in rates_of]

        def total(pairs) -> np.ndarray:
            found = np.zeros(jet.size, dtype=WORD)
            for a, b in pairs:
                found = f.add(found, f.mul(a, b))
            return found

        def pulled(y: sp.Symbol) -> np.ndarray:
            """Σ weight ∂rate/∂y."""
            pairs = zip(weights, rates_of, strict=True)
            return total((w, slopes[x][y]) for w, x in pairs if y in slopes[x])

        def minus(a: np.ndarray) -> np.ndarray:
            return f.sub(WORD(0), a)

        pushes = [f.random(jet.size) for _ in self.tangent]

        def pushed(y: sp.Symbol) -> np.ndarray:
            pairs = zip(pushes, self.tangent, strict=True)
            return total((w, jet(e.diff(y))) for w, e in pairs)

        if self.kind == "flow":
            return [
                (f.sub(pushed(x), pulled(x)), w, None)
                for x, w in zip(self.moved, weights, strict=True)
            ]
        q, v = self.d.positions, self.d.rates_of
        found: list[Part] = [
            (f.sub(pushed(x), pulled(x)), minus(pulled(y)), w)
            for x, y, w in zip(q, v, weights, strict=True)
        ]
        if self.kind == "dynamical":
            return found
        speeds, turns = [jet(y) for y in v], [jet.first[y] for y in v]
        twice = f.mul(WORD(2), total(zip(weights, turns, strict=True)))
        inner = total((pulled(y), s) for y, s in zip(v, speeds, strict=True))
        first = (
            f.sub(pushed(t), pulled(t)),
            f.sub(inner, twice),
            minus(total(zip(weights, speeds, strict=True))),
        )
        return [first, *found]

    def holds(self, normal: Normal, eta: list[sp.Expr]) -> bool:
        """Whether the equations hold at fresh points modulo two primes."""
        rates = Rates(self.d)
        for f in self.d.fields(normal.ring, 2, block=6):
            own = self.d.drawn(normal.ring, f)
            jet = rates.at(self.d.moving(normal.ring, f, FRESH, own, True))
            if any(left.any() for left in self._left(jet, eta)):
                return False
        return True

    def _left(self, jet: Jet, eta: list[sp.Expr]):
        f, slopes = jet.field, jet.jacobian
        values = [jet(e) for e in eta]
        rates = [jet.rate(e) for e in eta]
        rates_of = self.moved if self.kind == "flow" else self.d.rates_of
        for i, w in enumerate(rates_of):
            left = rates[i] if self.kind == "flow" else jet.bend(eta[i])
            for x, e in zip(self.moved, values, strict=True):
                if x in slopes[w]:
                    left = f.sub(left, f.mul(slopes[w][x], e))
            if self.kind != "flow":
                for y, e in zip(rates_of, rates, strict=True):
                    if y in slopes[w]:
                        left = f.sub(left, f.mul(slopes[w][y], e))
            yield left
        for g in self.tangent:
            left = np.zeros(jet.size, dtype=WORD)
            for x, e in zip(self.moved, values, strict=True):
                left = f.add(left, f.mul(jet(g.diff(x)), e))
            yield left

    # ---- as expressions ----------------------------------------------------------------------

    def sides(self, normal: Normal, eta: list[sp.Expr]) -> list[tuple[str, sp.Expr]]:
        """What must vanish, by name; raises TooLarge."""
        rates = normal.rates
        found = []
        names = getattr(self.d.model, "constraint_names", ())
        names = [f"constraint {k}" for k in names] + [f"hidden constraint {k}" for k in names]
        for name, g in zip(names, self.tangent, strict=False):
            left = sum(g.diff(x) * e for x, e in zip(self.moved, eta, strict=True))
            found.append((name, left))
        first = [normal.rate(e) for e in eta]
        rates_of = self.moved if self.kind == "flow" else self.d.rates_of
        for i, w in enumerate(rates_of):
            left = first[i] if self.kind == "flow" else normal.rate(first[i])
            left -= sum(rates[w].diff(x) * e for x, e in zip(self.moved, eta, strict=True))
            if self.kind != "flow":
                left -= sum(rates[w].diff(y) * e for y, e in zip(rates_of, first, strict=True))
            found.append((f"the equation of {self.moved[i]}", left))
        return found

    def proof(self, normal: Normal, eta: list[sp.Expr]) -> str | None:
        """How it is known that this is a symmetry; None if it is none."""
        if not self.holds(normal, eta):
            return None
        try:
            if all(e == 0 or normal.zero(e) for _, e in self.sides(normal, eta)):
                return NORMAL_FORM
        except TooLarge:
            pass
        return BY_POINTS

    def evolutionary(self, xi0: sp.Expr, xi: list[sp.Expr]) -> list[sp.Expr]:
        """η = ξ − q̇ ξ₀."""
        if xi0 == 0:
            return list(xi)
        speeds = self.d.explicit
        if not set(self.moved) <= set(speeds):
            speeds = Normal(self.d).rates
        return [tidied(e - speeds[x] * xi0) for x, e in zip(self.moved, xi, strict=True)]


def motion_of(model: System | Flow, d: Dynamics, dynamical: bool) -> Motion:
    """The kind of symmetries that a model has."""
    if not d.mechanical:
        return Motion(d, "flow")
    assert isinstance(model, System)
    if model.form == "hamiltonian":
        if not dynamical:
            raise InputError(
                "point symmetries need velocities",
                expected="a system that is given by mass, kinetic energy or Lagrangian",
                received="one that is given by a Hamiltonian",
                remedy="dynamical=True finds the symmetries X(t, q, p) of phase space",
            )
        return Motion(d, "flow")
    return Motion(d, "dynamical" if dynamical else "point")


@overload
def lie_symmetries(
    model: System | Mechanism | Flow,
    *,
    degree: int | None = None,
    time: int | None = None,
    functions: Iterable[Any] = (),
    dynamical: bool = False,
    proposed: None = None,
) -> Symmetries: ...


@overload
def lie_symmetries(model: System | Mechanism | Flow, *, proposed: Any) -> LieSymmetry: ...


@in_given_symbols
@public
def lie_symmetries(
    model: System | Mechanism | Flow,
    *,
    degree: int | None = None,
    time: int | None = None,
    functions: Iterable[Any] = (),
    dynamical: bool = False,
    proposed: Any = None,
) -> Symmetries | LieSymmetry:
    """Symmetries of the equations of motion within an ansatz.

    Parameters
    ----------
    model : System, Mechanism or Flow
        A system may have constraints and forces; a flow has vector fields that commute with it.
    degree : int, optional
        Of ξ₀ and ξ as polynomials in the variables and the functions of them that occur.  Without
        it the largest up to three (dynamical: two) that is quick.
    time : int, optional
        The highest power of t; without it t may occur as often as the degree allows.
    functions : iterable of Expr
        More functions to build symmetries from.
    dynamical : bool
        ξ₀ = 0 and ξ(t, q, q̇) instead of ξ₀(t, q) and ξ(t, q).  Products of symmetries with laws
        are among these.
    proposed : (xi0, xi), optional
        A symmetry to check instead of a search; it may depend on velocities.

    Returns
    -------
    Symmetries
        A list of `LieSymmetry`; ``print`` shows a table.  With `proposed` the one `LieSymmetry`;
        if it is none, an `InputError` says which equation fails, and by what.

    Examples
    --------
    >>> import sympy as sp, taut
    >>> x, y = q = taut.coordinates("x y")
    >>> print(taut.lie_symmetries(taut.System(q, mass=1, potential=-1/sp.sqrt(x**2 + y**2))))
      symmetry
      ────────────────────────
      ∂t
      -y ∂x + x ∂y
      3*t ∂t + 2*x ∂x + 2*y ∂y
    3 in all; complete in this ansatz: degree ≤ 3 in x, y, 1/sqrt(x**2 + y**2), t
    """
    model = model_of(model, "symmetries")
    d = Dynamics(model)
    if proposed is not None:
        return _checked(model, d, proposed)
    motion = motion_of(model, d, flag("dynamical", dynamical))
    more = [read(model, e) for e in several("functions", functions)]
    time = power_of_time(time)
    search = Search(d, more)
    own = generators(d, search)
    if motion.kind == "point":
        own = [e for e in own if not e.has(*d.rates_of)]
        _forbid_velocities(d, more)
    basis = (*own, *(e for e in more if e not in own), *((t,) if time != 0 else ()))
    count = len(motion.moved) + (motion.kind == "point")
    if degree is None:
        deepest = DEEPEST[motion.kind]
        sizes = {k: count * Ansatz(basis, k, time).columns for k in range(1, deepest + 1)}
        degree = max(k for k, size in sizes.items() if size <= COLUMNS or k == 1)
    degree = whole("degree", degree, 0)
    _regular(d, search)
    linear = Linear(d, search.ring, basis, [degree] * count, time, motion.parts)
    normal = Normal(d, more)

    def split(found: list[sp.Expr]) -> tuple[sp.Expr, list[sp.Expr], list[sp.Expr]]:
        xi0, xi = (found[0], found[1:]) if motion.kind == "point" else (sp.Integer(0), found)
        return xi0, xi, motion.evolutionary(xi0, xi)

    made = []
    for found, proof in linear.solutions(lambda found: motion.proof(normal, split(found)[2])):
        xi0, xi, eta = split(found)
        made.append(LieSymmetry(tuple(motion.moved), xi0, tuple(xi), tuple(eta), proof))
    words = Ansatz(basis, degree, time).words()
    missed = f"; {linear.missed} not recovered" if linear.missed else ""
    return Symmetries(made, ("symmetry",), f"complete in this ansatz: {words}{missed}")


def _forbid_velocities(d: Dynamics, functions: list[sp.Expr]) -> None:
    for e in functions:
        if e.has(*d.rates_of):
            raise InputError(
                f"{e} depends on velocities",
                expected="functions of t and q",
                remedy="dynamical=True",
            )


def _regular(d: Dynamics, search: Search) -> None:
    """The accelerations must exist."""
    if d.rates_of:
        jet = Rates(d).at(d._drawn(search.ring, search.field, 16, search.parameters, True))
        jet.moving.point.good[:] = True
        jet._solved  # noqa: B018
        if not jet.moving.point.good.any():
            raise InputError(
                "the mass matrix is singular, so that there are no accelerations",
                expected="∂²L/∂q̇∂q̇ regular",
                remedy="taut.noether finds point symmetries of singular Lagrangians, too",
            )


def _checked(model: System | Flow, d: Dynamics, proposed: Any) -> LieSymmetry:
    dynamical = isinstance(model, System)
    motion = motion_of(model, d, dynamical)
    given = [read(model, e) for e in parted(proposed, len(motion.moved), 0)]
    first: InputError | None = None
    for table, dynamics in settings(d):
        xi0, *xi = (e.xreplace(table) for e in given)
        found = Motion(dynamics, motion.kind)
        eta = found.evolutionary(xi0, xi)
        normal = Normal(dynamics, eta)
        if all(e == 0 or normal.zero(e) for e in eta):
            raise InputError("the proposed symmetry moves nothing", expected="η = ξ − q̇ ξ0 ≠ 0")
        proof = found.proof(normal, eta)
        if proof is not None:
            return LieSymmetry(
                tuple(motion.moved), xi0, tuple(xi), tuple(eta), proof, said(table)
            )  # fmt: skip
        first = first or _refused(found, normal, eta)
    assert first is not None
    raise first


def _refused(motion: Motion, normal: Normal, eta: list[sp.Expr]) -> InputError:
    equation = "D X = f_x X" if motion.kind == "flow" else "D D η = α_q η + α_q̇ D η"
    if motion.tangent:
        equation += " and η tangent to the constraints"
    try:
        for name, e in motion.sides(normal, eta):
            if not normal.zero(e):
                where, left = name, shown(normal.of(e))
                break
        else:
            where, left = "an equation", "not zero at random points"
    except TooLarge:
        where, left = "an equation", "not zero at random points"
    return InputError(
        f"the proposed symmetry is none: {where} fails",
        expected=equation,
        received=f"left − right = {left}",
    )


__all__ = ["lie_symmetries"]
