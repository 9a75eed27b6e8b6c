"""Functions of a moving state, evaluated modulo a prime at random points of its variety.

Models contain more than polynomials: roots, sines, exponentials, logarithms.  Each of them is a
*generator*.  Over the rational functions of the state they are algebraic (a root r with rᵏ = u; a
sine and a cosine with s² + c² = 1) or transcendental (an exponential, a logarithm), and their
derivatives are rational in them again.  A random point of the variety is therefore

* a random value of every variable, parameter and transcendental generator,
* roots by exponentiation (points where there is none are dropped),
* sines and cosines of base angles by s = 2τ/(1 + τ²), c = (1 − τ²)/(1 + τ²), of multiples of them
  by addition theorems,
* exponentials as products of powers of base ones,

and every expression of the model has a value there, exactly, modulo p.  Arguments of sines and of
exponentials are combinations of *atoms* with rational coefficients; a lattice basis of them gives
the base angles, so that cos(a − b) alone is one angle and not two.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field as filled
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import sympy as sp

from taut.errors import ModelError
from taut.laws.field import WORD, Field
from taut.model.symbols import t

_BY_SINES = (sp.tan, sp.cot, sp.sec, sp.csc)
_HYPERBOLIC = (sp.sinh, sp.cosh, sp.tanh, sp.coth, sp.sech, sp.csch)
FREE = (sp.log, sp.atan, sp.asinh, sp.asin, sp.acos, sp.acosh, sp.atanh, sp.erf)

ROUNDED = 2.0**-51  # of a number: what two roundings change, at most
DIGITS = 10  # of a decimal that a float stands for even where it is not the nearest one
LARGEST = (100, 10_000, 1_000_000)  # denominators of fractions that floats are taken for


def exact(value: float) -> sp.Rational:
    """The simplest fraction that a float stands for: 0.1 is 1/10, and 1/3 in floats is 1/3.

    What one rounding or two have spoiled, as in 3 · 0.1 = 0.30000000000000004, stands for the same.
    """
    whole, near = Fraction(value), ROUNDED * abs(value)
    large = abs(value) > 1 / ROUNDED  # a whole number, of which only the first digits are known
    for largest, off in zip(() if large else LARGEST, (near, near, 0.0), strict=False):
        simple = whole.limit_denominator(largest)
        if simple and abs(float(simple) - value) <= off:
            return sp.Rational(simple.numerator, simple.denominator)
    short = f"{value:.{DIGITS}g}"
    return sp.Rational(short if abs(float(short) - value) <= near else repr(value))


def tidy(expression: Any) -> sp.Expr:
    """The same expression with exact numbers, and with sines and exponentials only."""
    e = sp.sympify(expression)
    floats = {x: exact(float(x)) for x in e.atoms(sp.Float)}
    e = e.xreplace(floats) if floats else e
    if e.has(*_BY_SINES):
        e = e.replace(lambda x: isinstance(x, _BY_SINES), _by_sines)
    if e.has(sp.pi):
        e = e.replace(lambda x: isinstance(x, sp.sin | sp.cos), _without_phase)
    if e.has(*_HYPERBOLIC):
        e = e.replace(lambda x: isinstance(x, _HYPERBOLIC), lambda x: x.rewrite(sp.exp))
    e = e.replace(_is_exponential, lambda x: sp.exp(x.exp * sp.log(x.base)))
    return e.replace(lambda x: isinstance(x, sp.log) and x.args[0].is_Rational, sp.expand_log)


def _is_exponential(x: sp.Basic) -> bool:
    """Whether it is a power whose exponent moves, 2ᵗ = exp(t log 2), unlike xⁿ with some n."""
    if not isinstance(x, sp.Pow) or not x.exp.free_symbols:
        return False
    return bool(x.base.is_number) or t in x.exp.free_symbols


def _by_sines(x: sp.Expr) -> sp.Expr:
    s, c = sp.sin(x.args[0]), sp.cos(x.args[0])
    return {sp.tan: s / c, sp.cot: c / s, sp.sec: 1 / c, sp.csc: 1 / s}[type(x)]


def _without_phase(x: sp.Expr) -> sp.Expr:
    """By the addition theorem, so that a phase of 2π/3 is known by its cosine −½."""
    phase = terms(x.args[0]).get(sp.pi, sp.Integer(0)) * sp.pi
    rest = sp.expand(x.args[0] - phase)
    if phase == 0 or rest == 0:
        return x
    c, s = sp.cos(phase), sp.sin(phase)
    if isinstance(x, sp.sin):
        return sp.expand(sp.sin(rest) * c + sp.cos(rest) * s)
    return sp.expand(sp.cos(rest) * c - sp.sin(rest) * s)


def terms(argument: sp.Expr) -> dict[sp.Expr, sp.Rational]:
    """An argument of a sine or an exponential as atoms with rational coefficients."""
    found: dict[sp.Expr, sp.Rational] = {}
    for term in sp.Add.make_args(sp.expand(argument)):
        factor, atom = term.as_coeff_Mul(rational=True)
        found[atom] = found.get(atom, sp.Integer(0)) + factor
    return {atom: c for atom, c in found.items() if c}


@dataclass
class Lattice:
    """A basis of the arguments of one kind: each argument is a combination with whole numbers."""

    atoms: list[sp.Expr] = filled(default_factory=list)
    basis: list[sp.Expr] = filled(default_factory=list)
    coordinates: dict[sp.Expr, tuple[int, ...]] = filled(default_factory=dict)

    @classmethod
    def of(cls, arguments: Iterable[sp.Expr]) -> Lattice:
        """The lattice that these arguments span."""
        split = {u: terms(u) for u in arguments}
        atoms = sorted({a for x in split.values() for a in x}, key=sp.default_sort_key)
        if not atoms:
            return cls()
        rows = [[x.get(a, sp.Integer(0)) for a in atoms] for x in split.values()]
        scale = lcm(*(int(c.q) for row in rows for c in row))
        whole = [[int(c * scale) for c in row] for row in rows]
        basis = _hermite(whole)
        functions = [
            sp.Add(*(sp.Rational(c, scale) * a for c, a in zip(row, atoms, strict=True)))
            for row in basis
        ]
        places = {u: _in_basis(row, basis) for u, row in zip(split, whole, strict=True)}
        return cls(atoms, functions, places)


def _hermite(rows: list[list[int]]) -> list[list[int]]:
    """A basis of the lattice of integer rows, in echelon form."""
    work, found = [row[:] for row in rows if any(row)], []
    for j in range(len(rows[0])):
        while True:
            active = [row for row in work if row[j]]
            if len(active) <= 1:
                break
            pivot = min(active, key=lambda row: abs(row[j]))
            for row in active:
                if row is not pivot:
                    k = row[j] // pivot[j]
                    row[:] = [a - k * b for a, b in zip(row, pivot, strict=True)]
        if active:
            (pivot,) = active
            work = [row for row in work if row is not pivot and any(row)]
            found.append(pivot if pivot[j] > 0 else [-a for a in pivot])
    return found


def _in_basis(row: list[int], basis: list[list[int]]) -> tuple[int, ...]:
    rest, found = row[:], []
    for vector in basis:
        j = next(i for i, x in enumerate(vector) if x)
        k = rest[j] // vector[j]
        rest = [a - k * b for a, b in zip(rest, vector, strict=True)]
        found.append(k)
    assert not any(rest)
    return tuple(found)


class Tangled(ModelError):
    """Functions depend on each other in a way that the search would not see."""


class Ring:
    """All functions that occur, in the order in which they can be evaluated.

    Parameters
    ----------
    expressions : iterable of Expr
        Everything that will be evaluated, up to differentiation.
    known : iterable of Symbol
        Variables, time and parameters.
    """

    def __init__(self, expressions: Iterable[sp.Expr], known: Iterable[sp.Symbol]) -> None:
        self.known = set(known)
        self.roots: dict[tuple[sp.Expr, int], None] = {}  # (u, k) for the k-th root of u
        self.powers: dict[tuple[sp.Expr, sp.Expr], None] = {}  # (u, a) for uᵃ, a not rational
        self.free: dict[sp.Expr, None] = {}  # logarithms and the like, and constants such as π
        angles: dict[sp.Expr, None] = {}
        exponents: dict[sp.Expr, None] = {}
        exponents_of: dict[sp.Expr, dict[sp.Expr, None]] = {}
        self._seen: set[sp.Expr] = set()
        for e in expressions:
            self._visit(e, angles, exponents, exponents_of)
        self.angles, self.exponents = Lattice.of(angles), Lattice.of(exponents)
        self._powers_of = {u: Lattice.of(rests) for u, rests in exponents_of.items()}
        for u, lattice in self._powers_of.items():
            self.powers |= {(u, a): None for a in lattice.basis}
        self._untangled()

    def _untangled(self) -> None:
        """Refuse log x beside log x², and xᵃ yᵃ beside (x y)ᵃ: they were taken for independent."""
        logs = {e.args[0] for e in self.free if isinstance(e, sp.log)}
        for bases in (logs, set(self._powers_of)):
            if len(bases) > 1 and (both := _dependent(sorted(bases, key=sp.default_sort_key))):
                raise Tangled(
                    "laws cannot be searched where logarithms or powers depend on each other",
                    expected="log x alone instead of log x and log x², xᵃ yᵃ instead of (x y)ᵃ",
                    received="those of " + " and ".join(map(str, both))[:120],
                )

    def power(self, base: sp.Expr, exponent: sp.Expr) -> tuple[sp.Rational, dict[tuple, int]]:
        """A power as a rational one times powers of generators."""
        number, rest = split(exponent)
        lattice = self._powers_of.get(base, Lattice())
        places = zip(lattice.basis, _coordinates(rest, lattice), strict=True)
        return number, {(base, a): k for a, k in places if k}

    def _visit(self, e: sp.Expr, angles, exponents, exponents_of) -> None:
        if e in self._seen:
            return
        self._seen.add(e)
        if isinstance(e, sp.exp):
            for atom in terms(e.args[0]):
                self._visit(atom, angles, exponents, exponents_of)
            exponents.setdefault(e.args[0])
            return
        for x in e.args:
            self._visit(x, angles, exponents, exponents_of)
        if isinstance(e, sp.sin | sp.cos):
            angles.setdefault(e.args[0])
        elif isinstance(e, sp.Pow) and not e.exp.is_Integer:
            if e.exp.is_Rational:
                self.roots.setdefault((e.base, int(e.exp.q)))
            else:
                number, rest = split(e.exp)
                exponents_of.setdefault(e.base, {}).setdefault(rest)
                if number.q > 1:
                    self.roots.setdefault((e.base, int(number.q)))
        elif isinstance(e, FREE) or (isinstance(e, sp.NumberSymbol) and e is not sp.E):
            self.free.setdefault(e)
        elif isinstance(e, sp.Symbol):
            if e not in self.known:
                raise ModelError(
                    f"{e} is not known to the system",
                    expected="its variables, t and parameters",
                    remedy="declare it as a parameter",
                )
        elif not isinstance(e, sp.Add | sp.Mul | sp.Pow | sp.Rational) and e is not sp.E:
            raise ModelError(
                f"laws cannot be searched where {e.func.__name__} occurs",
                expected="polynomials, roots, sines, exponentials, logarithms, powers",
                received=str(e)[:80],
            )

    # ---- points ------------------------------------------------------------------------------

    def sample(self, field: Field, given: dict[sp.Symbol, np.ndarray]) -> Point:
        """Values of all generators where variables and parameters are `given`; roots follow."""
        size = len(next(iter(given.values())))
        point = Point(self, field, dict(given), np.ones(size, dtype=bool))
        for e in self.free:
            point.values[e] = _drawn(field, given, e, size, "free")
        for e in self.exponents.basis:
            point.bases.append(_drawn(field, given, e, size, "exp"))
        for e in self.angles.basis:
            tau = _drawn(field, given, e, size, "angle")
            square = field.mul(tau, tau)
            over = field.inverse(field.add(WORD(1), square))
            point.turns.append(
                (
                    field.mul(field.sub(WORD(1), square), over),
                    field.mul(field.mul(WORD(2), tau), over),
                )
            )
        for u, a in self.powers:
            point.powers[u, a] = _drawn(field, given, u**a, size, "power")
        return point


def _drawn(field: Field, given: dict, e: sp.Expr, size: int, kind: str) -> np.ndarray:
    """Values that look random, but are the same where all that e depends on is the same."""
    digest = hashlib.sha256(f"{field.p} {kind} {e}".encode()).digest()
    made = np.full(size, int.from_bytes(digest[:8], "little"), dtype=np.uint64)
    for x in sorted(e.free_symbols, key=str):
        made = _mixed(made ^ _mixed(given[x] if x in given else field.random(size)))
    return (made % np.uint64(field.p - 3) + np.uint64(2)).astype(WORD)


def _mixed(x: np.ndarray) -> np.ndarray:
    """Splitmix64."""
    x = x.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def split(exponent: sp.Expr) -> tuple[sp.Rational, sp.Expr]:
    """An exponent as a rational number and the rest."""
    return sp.expand(exponent).as_coeff_Add(rational=True)


def _dependent(bases: list[sp.Expr]) -> list[sp.Expr]:
    """Bases of which products of powers are 1, if there are any."""
    factors: dict[sp.Expr, int] = {}
    rows = []
    for u in bases:
        row: dict[int, sp.Expr] = {}
        for sign, part in zip((1, -1), sp.fraction(sp.together(u)), strict=True):
            number, parts = sp.factor_list(part)
            primes = sp.factorint(number).items() if number.is_Rational else [(number, 1)]
            for factor, k in (*parts, *primes):
                place = factors.setdefault(factor, len(factors))
                row[place] = row.get(place, 0) + sign * k
        rows.append(row)
    matrix = sp.Matrix(len(rows), len(factors), lambda i, j: rows[i].get(j, 0))
    null = matrix.T.nullspace()
    return [u for u, x in zip(bases, null[0], strict=True) if x] if null else []


@dataclass
class Point:
    """Many points at once: the values of everything that occurs."""

    ring: Ring
    field: Field
    values: dict[sp.Expr, np.ndarray]
    good: np.ndarray
    bases: list[np.ndarray] = filled(default_factory=list)
    turns: list[tuple[np.ndarray, np.ndarray]] = filled(default_factory=list)
    powers: dict = filled(default_factory=dict)
    roots: dict = filled(default_factory=dict)

    def __len__(self) -> int:
        return len(self.good)

    def root(self, base: sp.Expr, k: int) -> np.ndarray:
        """A k-th root; points without one are no longer good."""
        if (base, k) not in self.roots:
            value, good = self.field.root(self(base), k)
            self.good &= good & (value != 0)
            self.roots[base, k] = value
        return self.roots[base, k]

    def move(self, changes: dict[sp.Symbol, np.ndarray]) -> None:
        """Give variables other values; what was computed from them is forgotten."""
        kept = {x: v for x, v in self.values.items() if x.is_Symbol or x in self.ring.free}
        self.values.clear()
        self.values.update(kept | changes)
        self.roots.clear()

    def __call__(self, e: sp.Expr) -> np.ndarray:
        """The values of an expression."""
        found = self.values.get(e)
        if found is None:
            found = self.values[e] = self._evaluated(e)
        return found

    def _evaluated(self, e: sp.Expr) -> np.ndarray:
        f = self.field
        if e.is_Rational:
            return np.full(len(self), f.number(e), dtype=WORD)
        if e.is_Add:
            total = self(e.args[0])
            for x in e.args[1:]:
                total = f.add(total, self(x))
            return total
        if e.is_Mul:
            total = self(e.args[0])
            for x in e.args[1:]:
                total = f.mul(total, self(x))
            return total
        if isinstance(e, sp.exp):
            return self._exponential(e.args[0])
        if isinstance(e, sp.sin | sp.cos):
            return self._turned(e.args[0])[isinstance(e, sp.sin)]
        if e.is_Pow:
            return self._power(e.base, e.exp)
        raise ModelError(f"{e} has no value here")

    def _power(self, base: sp.Expr, exponent: sp.Expr) -> np.ndarray:
        f = self.field
        if exponent.is_Integer:
            value = self(base)
            if exponent.is_negative:
                self.good &= value != 0
            return f.power(value, int(exponent))
        if exponent.is_Rational:
            return f.power(self.root(base, int(exponent.q)), int(exponent.p))
        number, places = self.ring.power(base, exponent)
        total = self._power(base, number)
        for key, k in places.items():
            total = f.mul(total, f.power(self.powers[key], k))
        return total

    def _exponential(self, argument: sp.Expr) -> np.ndarray:
        places = self.ring.exponents.coordinates
        if argument not in places:
            places[argument] = _coordinates(argument, self.ring.exponents)
        total = np.ones(len(self), dtype=WORD)
        for k, base in zip(places[argument], self.bases, strict=True):
            if k:
                total = self.field.mul(total, self.field.power(base, k))
        return total

    def _turned(self, argument: sp.Expr) -> tuple[np.ndarray, np.ndarray]:
        """Cosine and sine."""
        f, places = self.field, self.ring.angles.coordinates
        if argument not in places:
            places[argument] = _coordinates(argument, self.ring.angles)
        c, s = np.ones(len(self), dtype=WORD), np.zeros(len(self), dtype=WORD)
        for k, (a, b) in zip(places[argument], self.turns, strict=True):
            b = b if k > 0 else f.sub(WORD(0), b)
            for _ in range(abs(k)):
                c, s = f.sub(f.mul(c, a), f.mul(s, b)), f.add(f.mul(c, b), f.mul(s, a))
        return c, s


def _coordinates(argument: sp.Expr, lattice: Lattice) -> tuple[int, ...]:
    """Of an argument that did not occur itself, but lies in the lattice."""
    split = terms(argument)
    if not set(split) <= set(lattice.atoms):
        raise ModelError(f"the argument {argument} is not among those of the model")
    rows = [[terms(b).get(a, sp.Integer(0)) for a in lattice.atoms] for b in lattice.basis]
    wanted = [split.get(a, sp.Integer(0)) for a in lattice.atoms]
    scale = lcm(*(int(c.q) for row in [*rows, wanted] for c in row))
    basis = [[int(c * scale) for c in row] for row in rows]
    return _in_basis([int(c * scale) for c in wanted], basis)
