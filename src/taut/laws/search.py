"""First integrals with an ansatz: monomials in the generators, and D I = 0 as linear algebra.

Columns are the monomials m up to a degree, rows are random points modulo p.  With the values M and
the rates DM = m Σ eᵢ (Dgᵢ/gᵢ) of the columns, the law Σ c m is conserved if DM·c = 0.  Relations
among generators, and constraints, make columns depend on each other; those that depend on earlier
ones are left out.  Columns are ordered by degree, so that the reduced null vectors are sparse and
of low degree: energies, momenta and Runge–Lenz vectors come out as textbooks write them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb

import numpy as np
import sympy as sp

from taut.laws.dynamics import Dynamics, Moving
from taut.laws.field import WORD
from taut.laws.ring import Ring
from taut.model import t

SPARE = 24  # more points than columns


@dataclass(frozen=True)
class Ansatz:
    """Generators, the monomials in them, and how often t may occur in one."""

    generators: tuple[sp.Expr, ...]
    degree: int
    time: int
    single: tuple[sp.Expr, ...] = ()  # functions that occur by themselves only, such as logarithms

    @property
    def exponents(self) -> np.ndarray:
        """One row per monomial, by degree."""
        count = len(self.generators)
        place = self.generators.index(t) if t in self.generators else -1
        rows = []
        for degree in range(self.degree + 1):
            for chosen in combinations_with_replacement(range(count), degree):
                if place < 0 or chosen.count(place) <= self.time:
                    row = np.zeros(count, dtype=np.int64)
                    np.add.at(row, list(chosen), 1)
                    rows.append(row)
        return np.array(rows)

    @property
    def columns(self) -> int:
        """How many there are."""
        count, time = len(self.generators), 0
        if t in self.generators:
            count, time = count - 1, min(self.time, self.degree)
        each = (comb(count + k, k) for k in range(self.degree - time, self.degree + 1))
        return sum(each) + len(self.single)

    def function(self, row: np.ndarray) -> sp.Expr:
        """The monomial with these exponents."""
        return sp.Mul(*(g ** int(e) for g, e in zip(self.generators, row, strict=True) if e))

    def words(self) -> str:
        """What was searched, for people."""
        names = ", ".join(str(g) for g in (*self.generators, *self.single))
        return f"degree ≤ {self.degree} in {names}"


@dataclass
class Table:
    """Values and rates of all columns at many points."""

    functions: list[sp.Expr]
    values: np.ndarray
    rates: np.ndarray


def table(ansatz: Ansatz, moving: Moving) -> Table:
    """Evaluate the columns."""
    f, exponents = moving.point.field, ansatz.exponents
    count = len(moving.point)
    values = np.ones((count, len(exponents)), dtype=WORD)
    of = [moving(g) for g in ansatz.generators]
    place = {tuple(row): k for k, row in enumerate(exponents)}
    for k, row in enumerate(exponents):
        if row.any():
            i = int(np.flatnonzero(row)[-1])
            row = row.copy()
            row[i] -= 1
            values[:, k] = f.mul(values[:, place[tuple(row)]], of[i])
    slopes = np.array(
        [f.mul(moving.rate(g), f.inverse(v)) for g, v in zip(ansatz.generators, of, strict=True)]
    )
    sums = (exponents.astype(WORD) @ slopes % f.modulus).T
    rates = f.mul(values, sums)
    functions = [ansatz.function(row) for row in exponents]
    if ansatz.single:
        values = np.hstack([values, np.array([moving(e) for e in ansatz.single]).T])
        rates = np.hstack([rates, np.array([moving.rate(e) for e in ansatz.single]).T])
        functions += ansatz.single
    return Table(functions, values, rates)


@dataclass
class Candidate:
    """A law modulo p: its monomials and their residues, the last of which is 1."""

    functions: list[sp.Expr]
    residues: list[int]
    degree: int


class Search:
    """A model in a ring of functions; see the module's head."""

    def __init__(self, dynamics: Dynamics, functions=(), time: int = 2) -> None:
        self.dynamics, self.time = dynamics, time
        known = [*dynamics.state, *dynamics.parameters, t]
        self.ring = Ring([*dynamics.expressions, *functions], known)
        (self.field,) = dynamics.fields(self.ring, 1)
        self.parameters = dynamics.drawn(self.ring, self.field)

    def moving(self, count: int) -> Moving:
        """Random points of the variety."""
        return self.dynamics.moving(self.ring, self.field, count, self.parameters, True)

    def null_space(self, ansatz: Ansatz) -> tuple[list[sp.Expr], np.ndarray]:
        """(columns, null vectors over them): all laws in the ansatz, modulo p; no constants.

        Laws without parameters come first, so that they are not mixed with others.
        """
        f = self.field
        found = table(ansatz, self.moving(ansatz.columns + SPARE))
        _, pivots = f.reduced(found.values)
        rates = found.rates[:, pivots]
        null = f.null_space(rates)
        if self.parameters and len(null) > 2:
            null = np.vstack([self._for_all(ansatz, pivots, rates), null])
        # The first column is the constant 1, which is always conserved.
        null = null[[bool(row[1:].any()) for row in null]]
        return [found.functions[k] for k in pivots], null

    def _for_all(self, ansatz: Ansatz, pivots: list[int], rates: np.ndarray) -> np.ndarray:
        """Null vectors that are the same for all parameters.

        Two spaces of laws may meet by chance, so values are added until nothing more is lost.
        """
        f, count = self.field, ansatz.columns + SPARE
        last = -1
        while True:
            other = self.dynamics.drawn(self.ring, f)
            again = table(ansatz, self.dynamics.moving(self.ring, f, count, other, True))
            rows = np.vstack([rates, again.rates[:, pivots]])
            null = f.null_space(rows)
            if len(null) in (1, last):
                return null
            rates, last = f.reduced(rows)[0][: rows.shape[1]], len(null)
