"""Darboux polynomials: surfaces f = 0 that the motion does not leave, and what follows from them.

f is a Darboux polynomial if D f = λ f with a polynomial λ, its cofactor.  Then D ln f = λ, so that

    Σ aᵢ λᵢ = 0       ⇒  Π fᵢ^aᵢ        is conserved,
    Σ aᵢ λᵢ = −c      ⇒  Π fᵢ^aᵢ e^{ct}  is conserved,
    Σ aᵢ λᵢ = −div D  ⇒  Π fᵢ^aᵢ        is a multiplier (see `taut.laws.hojman`).

Every f in a space of polynomials with the basis u₁ … u_N divides the extactic determinant
det (D^k u_j), k = 0 … N − 1 (Pereira 2001), whose factors are therefore tried.  It vanishes if the
space holds a rational law; smaller spaces are taken then.  Polynomials with a constant cofactor
are eigenvectors, and found by linear algebra.  Rates that are quotients are multiplied by their
common denominator: this changes cofactors and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import Any

import sympy as sp
from sympy.polys.matrices import DomainMatrix

from taut.calls import public
from taut.errors import InputError
from taut.laws.check import checked, model_of
from taut.laws.dynamics import Dynamics
from taut.laws.find import Finder, whole
from taut.laws.law import Law
from taut.laws.normal import Normal
from taut.laws.proof import TooLarge, _determinant
from taut.laws.spelling import in_given_symbols
from taut.laws.symmetry import tidied
from taut.model import Flow, Mechanism, System, t
from taut.text import aligned

LARGE = 3000  # terms of a minor of an extactic determinant
WIDE = 10  # its size
COLUMNS = 120  # of the eigenproblem


@dataclass(frozen=True, eq=False)
class Darboux:
    """A polynomial f and its cofactor λ: D f = λ f."""

    polynomial: sp.Expr
    cofactor: sp.Expr

    def __str__(self) -> str:
        return f"D({self.polynomial}) = ({self.cofactor}) ({self.polynomial})"


class DarbouxPolynomials(list):
    """A list of `Darboux`.

    Attributes
    ----------
    laws : list of Law
        Products of powers of them that are conserved, with e^{ct} where needed.
    inverses : list of Expr
        1/f: functions that other laws may be built from, as in
        ``taut.conserved(model, functions=found.inverses)``.
    """

    def __init__(self, found: list[Darboux], laws: list[Law]) -> None:
        super().__init__(found)
        self.laws = laws
        self.inverses = [1 / x.polynomial for x in found]

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if not self:
            return "no Darboux polynomials"
        rows = [("f", "Df/f"), *((str(x.polynomial), str(x.cofactor)) for x in self)]
        lines = aligned(rows, head=True)
        return "\n".join([*lines, *(f"conserved: {law.expression}" for law in self.laws)])


class Surfaces:
    """The search for Darboux polynomials of one model."""

    def __init__(self, model: System | Flow) -> None:
        self.model, self.d = model, Dynamics(model)
        d = self.d
        if d.constraints:
            raise InputError(
                "Darboux polynomials are not sought on constraints",
                expected="a model without constraints",
                received=f"{len(d.constraints)} of them",
                remedy="use coordinates of the manifold",
            )
        self.normal = Normal(d)
        ring = self.normal.ring
        others = [
            *(u ** sp.Rational(1, k) for u, k in ring.roots), *map(sp.exp, ring.exponents.basis),
            *map(sp.sin, ring.angles.basis), *ring.free, *(u**a for u, a in ring.powers),
        ]  # fmt: skip
        if others:
            raise InputError(
                "Darboux polynomials are sought for rational rates only",
                expected="polynomials and their quotients",
                received=", ".join(map(str, others))[:120],
            )
        self.forms = self.normal.forms
        quotients = {x: self.forms(self.normal.rates[x]) for x in d.state}
        common = self.forms.one
        for q in quotients.values():
            common = common / common.gcd(q.bottom) * q.bottom
        self.common = common
        self.rates = {x: q.top * (common / q.bottom) for x, q in quotients.items()}
        if d.timed:
            self.rates[t] = common
        self.at = {x: self.forms.at[self.forms.symbols[x]] for x in self.rates}
        self.number = {x: self.forms.number[self.forms.symbols[x]] for x in self.rates}

    def rate(self, f):
        """D f times the common denominator."""
        total = self.forms.one - self.forms.one
        for x, dx in self.rates.items():
            slope = f.derivative(self.number[x])
            if slope != 0:
                total = total + slope * dx
        return total

    def moves(self, f) -> bool:
        """Whether a polynomial depends on the state."""
        degrees = f.degrees()
        return any(degrees[self.number[x]] for x in self.d.state)

    def cofactor(self, f):
        """λ times the common denominator, or None."""
        if f == 0 or not self.moves(f):
            return None
        found, rest = divmod(self.rate(f), f)
        return found if rest == 0 else None

    # ---- candidates --------------------------------------------------------------------------

    def candidates(self, degree: int):
        """Polynomials to be tried."""
        for x in self.d.state:
            yield self.at[x]
            yield from _factors(self.rates[x])
        full = self._space(list(self.at), degree)
        if len(full) <= WIDE:
            product = self._extactic(full)
            if product is not None and product != 0:
                yield from _factors(product)
                return
        for size in range(1, len(self.at) + 1):
            for chosen in combinations(self.at, size):
                for k in range(1, degree + 1):
                    space = self._space(list(chosen), k)
                    if len(space) <= min(WIDE - 4, len(full) - 1):
                        product = self._extactic(space)
                        if product is not None and product != 0:
                            yield from _factors(product)
        yield from self._eigenvectors(degree)

    def _space(self, variables: list[sp.Symbol], degree: int) -> list:
        found = []
        for k in range(degree + 1):
            for chosen in combinations_with_replacement(variables, k):
                product = self.forms.one
                for x in chosen:
                    product = product * self.at[x]
                found.append(product)
        return found

    def _extactic(self, space: list):
        rows = [space]
        for _ in space[1:]:
            rows.append([self.rate(f) for f in rows[-1]])
            if max(len(f) for f in rows[-1]) > LARGE:
                return None
        try:
            return _determinant(rows, self.forms.one, LARGE)
        except TooLarge:
            return None

    def _eigenvectors(self, degree: int):
        """Those with a constant cofactor."""
        finder = Finder(self.model, (), 1)
        if self.d.timed or finder.ansatz(degree).columns > COLUMNS:
            return
        finder.decaying(degree)
        for law in finder.found:
            f = tidied(sp.powsimp(sp.expand(law.expression * sp.exp(law.rate * t))))
            if not f.has(t):
                yield from _factors(self.forms(f).top)

    def found(self, degree: int) -> list[tuple]:
        """(f, λ), irreducible and different."""
        made: list[tuple] = []
        for f in self.candidates(degree):
            if not any(f == g for g, _ in made) and (lam := self.cofactor(f)) is not None:
                made.append((f, lam))
        return sorted(made, key=lambda x: (x[0].total_degree(), len(x[0])))


def _factors(polynomial) -> list:
    return [f for f, _ in polynomial.factor()[1]] if polynomial != 0 else []


@in_given_symbols
@public
def darboux(model: System | Mechanism | Flow, *, degree: int = 2) -> DarbouxPolynomials:
    """Darboux polynomials of a model with rational rates, and laws made of them.

    Parameters
    ----------
    model : System, Mechanism or Flow
        Without constraints; systems are taken with their accelerations.
    degree : int
        Up to which they are sought in the state (and in t, if it occurs).

    Examples
    --------
    >>> import taut
    >>> from taut.laws import darboux
    >>> (x,) = q = taut.coordinates("x")
    >>> (v,) = taut.velocities(q)
    >>> print(darboux(taut.System(q, mass=1, forces=[-3*x*v - x**3])))
      f               Df/f
      ──────────────  ────
      x**2 + 2*x_dot  -2*x
      x**2 + x_dot    -x
    conserved: (x**2 + 2*x_dot)/(x**2 + x_dot)**2
    """
    model = model_of(model, "Darboux polynomials")
    degree = whole("degree", degree, 1)
    s = Surfaces(model)
    pairs = s.found(degree)
    below = s.normal._written(s.common)
    made = [
        Darboux(s.normal._written(f), sp.cancel(s.normal._written(lam) / below)) for f, lam in pairs
    ]
    return DarbouxPolynomials(made, _laws(model, s.d, made))


def _laws(model: System | Flow, d: Dynamics, found: list[Darboux]) -> list[Law]:
    laws = []
    for vector in combinations_of([x.cofactor for x in found] + [sp.Integer(1)], d):
        *powers, c = vector
        law = sp.Mul(*(x.polynomial**a for x, a in zip(found, powers, strict=True)), sp.exp(c * t))
        if law.free_symbols & set(d.state):
            laws.append(checked(model, law))
    return laws


def combinations_of(cofactors: list[sp.Expr], d: Dynamics) -> list[list[sp.Expr]]:
    """Vectors a with Σ a λ = 0, without denominators."""
    if not cofactors:
        return []
    below = sp.Integer(1)
    for lam in cofactors:
        below = sp.lcm(below, sp.denom(sp.together(lam)))
    polynomials = [sp.Poly(sp.cancel(lam * below), *d.state, t) for lam in cofactors]
    monomials = sorted({m for p in polynomials for m in p.monoms()})
    rows = [[p.coeff_monomial(m) for p in polynomials] for m in monomials]
    symbols = sorted({s for row in rows for e in row for s in e.free_symbols}, key=str)
    domain: Any = sp.QQ.frac_field(*symbols) if symbols else sp.QQ
    matrix = DomainMatrix.from_Matrix(sp.Matrix(rows)).convert_to(domain)
    null = matrix.nullspace().to_Matrix()
    vectors = []
    for i in range(null.rows):
        row = [sp.cancel(e) for e in null.row(i)]
        below = sp.Integer(1)
        for e in row:
            below = sp.lcm(below, sp.denom(sp.together(e)))
        whole_row = [sp.cancel(e * below) for e in row]
        common = sp.Integer(0)
        for e in whole_row:
            common = sp.gcd(common, e)
        vector = [sp.cancel(e / common) for e in whole_row]
        first = next(e for e in vector if e != 0)
        vectors.append([-e for e in vector] if first.could_extract_minus_sign() else vector)
    return vectors


__all__ = ["Darboux", "DarbouxPolynomials", "darboux"]
