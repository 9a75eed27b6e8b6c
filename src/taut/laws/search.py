"""First integrals with an ansatz: monomials in the generators, and D I = 0 as linear algebra.

Columns are the monomials m up to a degree, rows are random points modulo p.  With the values M and
the rates DM = m Σ eᵢ (Dgᵢ/gᵢ) of the columns, the law Σ c m is conserved if DM·c = 0.  Relations
among generators, and constraints, make columns depend on each other; those that depend on earlier
ones are left out.  Columns are ordered by degree, so that the reduced null vectors are sparse and
of low degree: energies, momenta and Runge–Lenz vectors come out as textbooks write them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np
import sympy as sp

from taut.laws.budget import spend
from taut.laws.dynamics import Dynamics, Moving
from taut.laws.field import WORD
from taut.laws.monomials import monomials, multi_indices
from taut.laws.ring import Ring
from taut.model import t

SPARE = 24  # more points than columns
EACH = 8  # multiplications for an entry of a table
CUBE = 0.25  # times the cube of the number of columns for its null space


@dataclass(frozen=True)
class Ansatz:
    """Generators, the monomials in them, and how often t may occur in one.

    Without a `time` it may occur as often as the degree allows.
    """

    generators: tuple[sp.Expr, ...]
    degree: int
    time: int | None = None
    single: tuple[sp.Expr, ...] = ()  # functions that occur by themselves only, such as logarithms

    @property
    def power(self) -> int:
        """The highest power of t."""
        return self.degree if self.time is None else self.time

    @cached_property
    def exponents(self) -> np.ndarray:
        """One row per monomial, by degree."""
        count = len(self.generators)
        rows = np.vstack([multi_indices(count, k) for k in range(self.degree + 1)])
        if t in self.generators:
            rows = rows[rows[:, self.generators.index(t)] <= self.power]
        return rows

    @property
    def columns(self) -> int:
        """How many there are."""
        count, time = len(self.generators), 0
        if t in self.generators:
            count, time = count - 1, min(self.power, self.degree)
        each = (comb(count + k, k) for k in range(self.degree - time, self.degree + 1))
        return sum(each) + len(self.single)

    def function(self, row: np.ndarray) -> sp.Expr:
        """The monomial with these exponents."""
        return sp.Mul(*(g ** int(e) for g, e in zip(self.generators, row, strict=True) if e))

    def words(self) -> str:
        """What was searched, for people, with every cap."""
        names = ", ".join(map(str, self.generators))
        alone = f", and {' or '.join(map(str, self.single))} by itself" if self.single else ""
        return f"degree ≤ {self.degree} in {names}{self.cap}{alone}"

    @property
    def cap(self) -> str:
        """What is said of t where it may not occur as often as the degree allows."""
        return capped(self.power, self.degree) if t in self.generators else ""


def capped(time: int, degree: int) -> str:
    """The words for a highest power of t below the degree."""
    return f", but t to the power of at most {time}" if 0 < time < degree else ""


class Functions(Sequence):
    """Some columns of an ansatz as expressions, each written down when it is asked for."""

    def __init__(self, ansatz: Ansatz, chosen: Sequence[int]) -> None:
        self.ansatz, self.chosen = ansatz, chosen
        self._known: dict[int, sp.Expr] = {}

    def __len__(self) -> int:
        return len(self.chosen)

    def __getitem__(self, number):
        k, rows = self.chosen[number], self.ansatz.exponents
        if k not in self._known:
            single = k >= len(rows)
            made = self.ansatz.single[k - len(rows)] if single else self.ansatz.function(rows[k])
            self._known[k] = made
        return self._known[k]

    def picked(self, places: Sequence[int]) -> Functions:
        """The columns at these places."""
        return Functions(self.ansatz, [self.chosen[k] for k in places])


@dataclass
class Table:
    """Values and rates of all columns at many points."""

    functions: Functions
    values: np.ndarray
    rates: np.ndarray


def table(ansatz: Ansatz, moving: Moving) -> Table:
    """Evaluate the columns."""
    f, exponents = moving.point.field, ansatz.exponents
    spend(EACH * len(moving.point) * ansatz.columns)
    of = np.array([moving(g) for g in ansatz.generators])
    values = monomials(f, of.T, exponents)
    slopes = f.mul(np.array([moving.rate(g) for g in ansatz.generators]), f.inverse(of))
    sums = (exponents.astype(WORD) @ slopes % f.modulus).T
    rates = f.mul(values, sums)
    if ansatz.single:
        values = np.hstack([values, np.array([moving(e) for e in ansatz.single]).T])
        rates = np.hstack([rates, np.array([moving.rate(e) for e in ansatz.single]).T])
    return Table(Functions(ansatz, range(values.shape[1])), values, rates)


@dataclass
class Candidate:
    """A law modulo p: its monomials and their residues, the last of which is 1."""

    functions: list[sp.Expr]
    residues: list[int]
    degree: int


class Search:
    """A model in a ring of functions; see the module's head."""

    def __init__(self, dynamics: Dynamics, functions=()) -> None:
        self.dynamics = dynamics
        known = [*dynamics.state, *dynamics.parameters, t]
        self.ring = Ring([*dynamics.expressions, *functions], known)
        (self.field,) = dynamics.fields(self.ring, 1)
        self.parameters = dynamics.drawn(self.ring, self.field)

    def moving(self, count: int) -> Moving:
        """Random points of the variety."""
        return self.dynamics.moving(self.ring, self.field, count, self.parameters, True)

    def null_space(self, ansatz: Ansatz) -> tuple[Functions, np.ndarray]:
        """(columns, null vectors over them): all laws in the ansatz, modulo p; no constants.

        Laws without parameters come first, so that they are not mixed with others.
        """
        f = self.field
        spend(CUBE * ansatz.columns**3)
        found = table(ansatz, self.moving(ansatz.columns + SPARE))
        free = not self.dynamics.relations and all(g.is_Symbol for g in ansatz.generators)
        # Powers of variables that nothing binds do not depend on each other.
        every = list(range(ansatz.columns))
        pivots = every if free and not ansatz.single else f.pivots(found.values)
        null = f.null_space(found.rates[:, pivots])
        if self.parameters and len(null) > 2:
            null = np.vstack([self._for_all(ansatz, pivots, null), null])
        # The first column is the constant 1, which is always conserved.
        null = null[[bool(row[1:].any()) for row in null]]
        return found.functions.picked(pivots), null

    def _for_all(self, ansatz: Ansatz, pivots: list[int], null: np.ndarray) -> np.ndarray:
        """Null vectors that are the same for all parameters.

        Two spaces of laws may meet by chance, so values are added until nothing more is lost.
        What is left is looked for within what there was, for which a few points are enough.
        """
        f, last = self.field, -1
        while True:
            other = self.dynamics.drawn(self.ring, f)
            points = self.dynamics.moving(self.ring, f, len(null) + SPARE, other, True)
            null = f.null_within(null, table(ansatz, points).rates[:, pivots])
            if len(null) in (1, last):
                return null
            last = len(null)
