r"""Poisson's theorem: the bracket of two laws is a law.

    {a, b} = ∂a/∂q·∂b/∂p − ∂a/∂p·∂b/∂q.

With velocities p = L_v, W = L_vv and B = L_vq it reads, with α = W⁻¹ a_v and β = W⁻¹ b_v,

    {a, b} = a_q·β − b_q·α − αᵀB β + βᵀB α.

On a manifold g(q, t) = 0, h = G q̇ + g_t = 0 it is Dirac's: to a is added μ·h with {a + μ·h, g} = 0
there, to b in the same way, and what is left of (h, h) vanishes:

    {a, b}* = {a + μ·h, b + ν·h},   (G W⁻¹ h_vᵀ) μ = −G α.

That is linear algebra at points modulo a prime, and no matrix is inverted symbolically.  The
bracket is the polynomial of lowest degree, in the functions that occur, that has these values;
where there is none it is written out, if it is short.  What is given out is proved to be conserved
like every other law.  A flow ẋ = f has a bracket of its own, {a, b} = ∇a·J ∇b, and Poisson's
theorem where it keeps that: f·∇J − J (∂f)ᵀ − (∂f) J + J_t = 0.

Source: SGM, example 1 (Poisson's method); Dirac 1950, Canad. J. Math. 2, 129.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import sympy as sp

from taut.calls import public
from taut.errors import InputError, ModelError, listed
from taut.laws.check import NORMAL_FORM, checked, gradient_ranks, model_of, points_of, read
from taut.laws.dynamics import Dynamics, Moving
from taut.laws.field import WORD
from taut.laws.find import conserved
from taut.laws.generators import generators
from taut.laws.hojman import NEW, label
from taut.laws.law import Law, Laws
from taut.laws.linear import Linear, Part
from taut.laws.normal import FRESH, Normal
from taut.laws.poisson import Bracket
from taut.laws.rates import Jet
from taut.laws.search import Search
from taut.laws.spelling import in_given_symbols, in_own_symbols
from taut.laws.symmetry import tidied
from taut.model import Flow, Mechanism, System, t

HIGHEST = 8  # degree of a polynomial that a bracket is
COLUMNS = 700  # monomials
SHORT = 200  # operations of a bracket that is written out
MANY = 40  # laws of which brackets are taken
ZERO, CONSTANT = "zero", "a number"


@public
@dataclass(frozen=True, eq=False)
class PoissonLaw(Law):
    """The bracket of two laws.

    Attributes
    ----------
    of : (Expr, Expr)
        The two.
    label : str
        ``"zero"``, ``"a number"``, what it is in terms of the two, or ``"new"``: independent of
        them.
    """

    of: tuple[sp.Expr, sp.Expr] = (sp.Integer(0), sp.Integer(0))
    label: str = NEW

    @property
    def trivial(self) -> bool:
        """Whether it says nothing that the two do not say."""
        return self.label != NEW

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return super().to_dict() | {"of": [str(e) for e in self.of], "label": self.label}

    def __repr__(self) -> str:
        return f"PoissonLaw({self.kind}: {self.expression}, {self.label})"


class Pairing:
    """The bracket of a model, as numbers at points and as expressions."""

    def __init__(self, model: System | Flow, matrix: Any = None) -> None:
        self.model, self.d = model, Dynamics(model)
        self.matrix: list[list[sp.Expr]] | None = None
        if isinstance(model, Flow):
            self.matrix = _kept(model, matrix)
        elif matrix is not None:
            raise InputError(
                "a system has its own bracket", expected="bracket= for a taut.Flow", received="both"
            )

    # ---- at points ---------------------------------------------------------------------------

    def values(self, points: Moving, a: sp.Expr, b: sp.Expr) -> np.ndarray:
        """{a, b} at points of the variety."""
        f, d = points.point.field, self.d
        slopes_a, slopes_b = (self._slopes(points, e, d.state) for e in (a, b))
        if self.matrix is not None:
            total = np.zeros(len(points.point), dtype=WORD)
            for i, row in enumerate(self.matrix):
                for j, e in enumerate(row):
                    if e != 0:
                        share = f.mul(slopes_a[:, i], slopes_b[:, j])
                        total = f.add(total, f.mul(share, points(e)))
            return total
        n = len(d.positions)
        by_q = np.stack([slopes_a[:, :n], slopes_b[:, :n]], axis=2)
        by_w = np.stack([slopes_a[:, n:], slopes_b[:, n:]], axis=2)
        by_q, along = self._tangent(points, by_q, by_w)
        total = f.sub(
            _dot(f, by_q[:, :, 0], along[:, :, 1]), _dot(f, by_q[:, :, 1], along[:, :, 0])
        )
        if getattr(d.model, "form", None) == "lagrangian":
            total = self._twisted(points, along, total)
        return total

    def _slopes(self, points: Moving, e: sp.Expr, variables: list[sp.Symbol]) -> np.ndarray:
        """∂e/∂x for all variables, shape (points, variables)."""
        one = np.ones(len(points.point), dtype=WORD)
        own = e.free_symbols
        rows = [
            Moving(points.point, {x: one}).rate(e) if x in own else np.zeros_like(one)
            for x in variables
        ]
        return np.array(rows, dtype=WORD).reshape(len(variables), len(one)).T

    def _tangent(
        self, points: Moving, by_q: np.ndarray, by_w: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The slopes in q, and W⁻¹ times those in w, of a + μ·h and b + ν·h."""
        f, d = points.point.field, self.d
        c = len(d.constraints)
        pushes = self._table(points, d.slopes).transpose(0, 2, 1) if c else by_w[:, :, :0]
        right = np.concatenate([by_w, pushes], axis=2)
        if d.unit_mass or getattr(d.model, "form", None) == "hamiltonian":
            solved = right
        else:
            solved, good = f.solve(self._table(points, d.mass), right)
            points.point.good &= good
        along = solved[:, :, :2]
        if not c:
            return by_q, along
        jacobian = self._table(points, d.jacobian)
        gram, off = (_product(f, jacobian, x) for x in (solved[:, :, 2:], along))
        weights, good = f.solve(gram, f.sub(WORD(0), off))
        points.point.good &= good
        bends = np.stack([self._slopes(points, h, d.positions) for h in d.hidden], axis=2)
        return (
            f.add(by_q, _product(f, bends, weights)),
            f.add(along, _product(f, solved[:, :, 2:], weights)),
        )

    def _table(self, points: Moving, rows: list[list[sp.Expr]]) -> np.ndarray:
        """Values of a matrix of expressions, shape (points, rows, columns)."""
        found = np.zeros((len(points.point), len(rows), len(rows[0])), dtype=WORD)
        for i, row in enumerate(rows):
            for j, e in enumerate(row):
                if e != 0:
                    found[:, i, j] = points(e)
        return found

    def _twisted(self, points: Moving, along: np.ndarray, total: np.ndarray) -> np.ndarray:
        """What terms in L add that hold velocities and coordinates: βᵀB α − αᵀB β."""
        f, d = points.point.field, self.d
        place = set(d.positions)
        for i, v in enumerate(d.rates_of):
            momentum = d.energy_function.diff(v)
            if momentum.free_symbols & place:
                slopes = self._slopes(points, momentum, d.positions)
                for own, other, sign in ((0, 1, f.add), (1, 0, f.sub)):
                    share = _dot(f, slopes, along[:, :, own])
                    total = sign(total, f.mul(along[:, i, other], share))
        return total

    # ---- as an expression --------------------------------------------------------------------

    def is_bracket(self, e: sp.Expr, a: sp.Expr, b: sp.Expr) -> str:
        """How it is known that {a, b} = e: by normal form where the bracket can be written down."""
        normal = Normal(self.d, [a, b, e, *self._entries])
        plain = self._plain(a, b)
        if plain is not None and normal.zero(plain - e):
            return NORMAL_FORM
        return f"its values at {2 * FRESH} random points modulo two primes near 2³¹"

    def expression(self, a: sp.Expr, b: sp.Expr) -> sp.Expr:
        """The bracket as simple as can be."""
        normal = Normal(self.d, [a, b, *self._entries])
        if self._agrees(normal, sp.Integer(0), a, b):
            return sp.Integer(0)
        plain = self._plain(a, b)
        if plain is not None and plain.is_polynomial(*self.d.state, t):
            return plain
        fitted = self._fitted(normal, a, b)
        if fitted is not None:
            return fitted
        if plain is not None and sp.count_ops(plain) <= SHORT:
            return plain
        raise InputError(
            "the bracket is too complicated to be written down",
            expected=f"a polynomial of degree ≤ {HIGHEST} in the functions that occur, among at "
            f"most {COLUMNS} monomials, with coefficients that can be told",
            received=f"the bracket of {str(a)[:60]} and {str(b)[:60]}",
        )

    @property
    def _entries(self) -> list[sp.Expr]:
        return [e for row in self.matrix or () for e in row]

    def _plain(self, a: sp.Expr, b: sp.Expr) -> sp.Expr | None:
        """By its definition, where no system has to be solved."""
        d = self.d
        if self.matrix is not None:
            rows = enumerate(self.matrix)
            parts = [
                a.diff(d.state[i]) * e * b.diff(d.state[j])
                for i, r in rows
                for j, e in enumerate(r)
            ]
            return tidied(sp.Add(*parts))
        masses = [row[i] for i, row in enumerate(d.mass)]
        rest = [e for i, row in enumerate(d.mass) for j, e in enumerate(row) if i != j]
        moving = {*d.state, t}
        if d.constraints or any(rest) or any(e.free_symbols & moving for e in masses):
            return None
        if getattr(d.model, "form", None) == "lagrangian" and any(
            d.energy_function.diff(v).free_symbols & set(d.positions) for v in d.rates_of
        ):
            return None
        parts = []
        for x, w, m in zip(d.positions, d.rates_of, masses, strict=True):
            share = a.diff(x) * b.diff(w) - a.diff(w) * b.diff(x)
            if share != 0:
                parts.append(tidied(share) / m)
        return tidied(sp.Add(*parts))

    def _fitted(self, normal: Normal, a: sp.Expr, b: sp.Expr) -> sp.Expr | None:
        d = self.d
        search = Search(d, [a, b, *self._entries])
        own = generators(d, search)
        inside = {x for e in (a, b) for x in e.atoms(sp.Function, sp.Pow) if _function(x)}
        moving = {*d.state, t}
        more = [x for x in inside if x not in own and x.free_symbols & moving]
        time = (t,) if any(e.has(t) for e in (*d.expressions, a, b)) else ()
        basis = (*own, *sorted(more, key=sp.default_sort_key), *time)

        def plain(jet: Jet) -> list[Part]:
            return [(np.ones(jet.size, dtype=WORD), None, None)]

        def right(jet: Jet) -> np.ndarray:
            return self.values(jet.moving, a, b)

        def check(made: list[sp.Expr]) -> str | None:
            return NORMAL_FORM if self._agrees(normal, made[0], a, b) else None

        for degree in range(HIGHEST + 1):
            linear = Linear(d, normal.ring, basis, [degree], None, plain, right)
            if linear.count > COLUMNS:
                return None
            if found := linear.solutions(check):
                return found[0][0][0]
        return None

    def _agrees(self, normal: Normal, e: sp.Expr, a: sp.Expr, b: sp.Expr) -> bool:
        """Whether an expression has the bracket's values modulo two other primes."""

        def gap(points: Moving) -> np.ndarray:
            return points.point.field.sub(points(e), self.values(points, a, b))

        return normal._everywhere(gap)


def _function(x: sp.Expr) -> bool:
    return isinstance(x, sp.Function) or not (x.exp.is_Integer and x.exp > 0)


def _dot(f, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    total = np.zeros(len(a), dtype=WORD)
    for i in range(a.shape[1]):
        total = f.add(total, f.mul(a[:, i], b[:, i]))
    return total


def _product(f, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of many matrices."""
    total = np.zeros((len(a), a.shape[1], b.shape[2]), dtype=WORD)
    for i in range(a.shape[2]):
        total = f.add(total, f.mul(a[:, :, i, None], b[:, i, None, :]))
    return total


def _kept(flow: Flow, matrix: Any) -> list[list[sp.Expr]]:
    """J, if it is a bracket and the flow keeps it."""
    if matrix is None:
        raise InputError(
            "a flow has no bracket of its own",
            expected="bracket=J, a matrix of expressions in its variables",
            received="none",
            remedy="of the rigid body J is [[0, -x3, x2], [x3, 0, -x1], [-x2, x1, 0]]",
        )
    d = Bracket(flow.variables, matrix, flow.rhs)
    normal = Normal(d, d.entries)
    d.checked(normal)
    n, x, rate = len(d.state), d.state, d.extra
    for i, j in combinations(range(n), 2):
        left = [d.matrix[i][j].diff(t)]
        for k in range(n):
            left.append(rate[k] * d.matrix[i][j].diff(x[k]))
            left.append(-d.matrix[k][j] * rate[i].diff(x[k]) - d.matrix[i][k] * rate[j].diff(x[k]))
        if not normal.zero(sp.Add(*left)):
            raise ModelError(
                "the flow does not keep the bracket, so that brackets of laws need not be laws",
                expected="f·∇J − J (∂f)ᵀ − (∂f) J + J_t = 0, as for f = J ∇H",
                received=f"it fails for ({x[i]}, {x[j]})",
            )
    return d.matrix


@in_given_symbols
@public
def poisson_bracket(
    a: Any, b: Any, model: System | Mechanism | Flow, *, bracket: Any = None
) -> PoissonLaw:
    """The Poisson bracket {a, b} of two laws, which is a law.

    Parameters
    ----------
    a, b : Law or Expr
        Laws of the model, in its symbols; an expression is proved to be one first.
    model : System, Mechanism or Flow
        The bracket is the canonical one, by Legendre's map where there are velocities, and Dirac's
        on constraints.
    bracket : (n, n) matrix of Expr, optional
        For a flow: J(x) with {a, b} = ∇a·J ∇b, which the flow has to keep, as ẋ = J ∇H does.

    Returns
    -------
    PoissonLaw
        The law with its proof.  ``label`` says whether it is ``"zero"``, ``"a number"``, something
        that a and b say already, or ``"new"``.

    Examples
    --------
    Two components of the angular momentum make the third:

    >>> import taut, sympy as sp
    >>> x, y, z = q = taut.coordinates("x y z")
    >>> u, v, w = taut.velocities(q)
    >>> central = taut.System(q, mass=1, potential=-1/sp.sqrt(x**2 + y**2 + z**2))
    >>> taut.poisson_bracket(y*w - z*v, z*u - x*w, central)
    PoissonLaw(angular momentum: x*y_dot - x_dot*y, new)
    """
    model = model_of(model, "brackets")
    pairing = Pairing(model, bracket)
    return _law(pairing, _read(pairing, a), _read(pairing, b))


def _read(pairing: Pairing, given: Any) -> sp.Expr:
    e = read(pairing.model, given)
    if not isinstance(given, Law):
        checked(pairing.model, e)
    return e


def _law(pairing: Pairing, a: sp.Expr, b: sp.Expr) -> PoissonLaw:
    d, model = pairing.d, pairing.model
    value = pairing.expression(a, b)
    if value == 0:
        return PoissonLaw(value, ZERO, 0, pairing.is_bracket(value, a, b), of=(a, b), label=ZERO)
    normal = Normal(d, [a, b, value])
    points = points_of(normal, 16)
    if not gradient_ranks(d, points, [value]):
        proof = pairing.is_bracket(value, a, b)
        return PoissonLaw(value, CONSTANT, 0, proof, of=(a, b), label=CONSTANT)
    try:
        law = checked(model, value)
    except InputError as error:
        for e in (a, b):
            checked(model, e)  # or it says by what it is none
        raise InputError(
            f"the bracket {str(value)[:80]} of these laws is no law",
            expected="forces that have a potential: others need not keep the bracket",
            received=str(error.received or error),
        ) from error
    both = Laws([Law(e, "", 0, "") for e in (a, b)], 2, (), "")
    return PoissonLaw(
        law.expression, law.kind, law.degree, law.verified, law.symmetry, law.condition, (a, b),
        label(d, points, value, both),
    )  # fmt: skip


@in_given_symbols
@public
def poisson_laws(
    model: System | Mechanism | Flow, laws: Iterable[Any] | None = None, *, bracket: Any = None
) -> Laws:
    """Poisson's method: new laws from known ones, by brackets until nothing new comes.

    Parameters
    ----------
    model : System, Mechanism or Flow
    laws : iterable of Law or Expr, optional
        What is known; without it what `taut.conserved` finds.
    bracket : (n, n) matrix of Expr, optional
        For a flow, as for `poisson_bracket`.

    Returns
    -------
    Laws
        The given ones and those that are independent of them.

    Examples
    --------
    >>> import taut
    >>> x, y, z = q = taut.coordinates("x y z")
    >>> u, v, w = taut.velocities(q)
    >>> top = taut.System(q, mass=1, constraints=[x**2 + y**2 + z**2 - 1])
    >>> print(taut.poisson_laws(top, [y*w - z*v, z*u - x*w]))
      angular momentum  y*z_dot - y_dot*z
      angular momentum  -x*z_dot + x_dot*z
      angular momentum  x*y_dot - x_dot*y
    3 laws, 3 independent, proved by normal form
    closed: every bracket of two of these is a number or a function of these
    """
    model = model_of(model, "brackets")
    pairing = Pairing(model, bracket)
    if laws is None:
        found = list(in_own_symbols(conserved)(model))
    else:
        every = listed("laws", laws, "laws")
        found = [x if isinstance(x, Law) else checked(model, read(model, x)) for x in every]
        found = [_owned(model, x) for x in found]
    chosen, done = _independent(pairing, found), set()
    while todo := [pair for pair in combinations(range(len(found)), 2) if pair not in done]:
        pair = todo[0]
        done.add(pair)
        value = pairing.expression(*(found[i].expression for i in pair))
        points = points_of(Normal(pairing.d, [value]), 1)
        if value == 0 or not gradient_ranks(pairing.d, points, [value]):
            continue
        law = _law(pairing, *(found[i].expression for i in pair))
        more = _independent(pairing, [*found, law])
        if len(more) > len(chosen):
            found.append(law)
            chosen = more
    words = "closed: every bracket of two of these is a number or a function of these"
    return Laws(found, len(chosen), chosen, words)


def _owned(model: System | Flow, law: Law) -> Law:
    """The same in our symbols."""
    return replace(law, expression=read(model, law))


def _independent(pairing: Pairing, laws: list[Law]) -> list[int]:
    expressions = [x.expression for x in laws]
    points = points_of(Normal(pairing.d, expressions), 1)
    return gradient_ranks(pairing.d, points, expressions)


__all__ = ["PoissonLaw", "poisson_bracket", "poisson_laws"]
