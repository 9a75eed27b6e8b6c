"""Linear equations for unknown functions, solved in an ansatz.

Every theory of symmetries ends in equations that are linear in some unknown functions u of the
state and time,

    Σ (a u + b D u + d D D u) = r   at every point of the variety,

with known a, b, d, r.  The unknown functions are sums of monomials in generators, their
coefficients are the unknowns, and a random point modulo a prime p gives one row.  Several
equations at a point are added up with random weights, which loses nothing when there are more
points than columns.  Null vectors are found modulo p; their numbers, or rational functions of the
parameters, are recovered as those of laws are (`taut.laws.recover`), and every solution is handed
to an exact check before it is given out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field as filled

import numpy as np
import sympy as sp

from taut.errors import InputError
from taut.laws.dynamics import Dynamics, Moving
from taut.laws.field import WORD
from taut.laws.rates import Jet, Rates
from taut.laws.recover import plain, solved
from taut.laws.ring import Ring
from taut.laws.search import SPARE, Ansatz

MOST = 3000  # columns
Part = tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]


@dataclass
class Columns:
    """(unknown function, exponents of its monomial) for each column."""

    unknown: list[int]
    exponents: np.ndarray

    def __len__(self) -> int:
        return len(self.unknown)

    def chosen(self, where) -> Columns:
        """Some of them."""
        return Columns([self.unknown[k] for k in where], self.exponents[where])


@dataclass
class Linear:
    """Unknown functions and the equations for them.

    Parameters
    ----------
    dynamics, ring
        Where points come from.
    generators : tuple of Expr
        What monomials are made of.
    degrees : list of int
        Of each unknown function.
    time : int or None
        The highest power of t; None is as the degree allows.
    parts : callable
        (a, b, d) for each unknown function at a jet; None for zero.
    right : callable, optional
        r at a jet.
    without_constant : set of int
        Unknown functions that matter up to a constant only.
    first : tuple of int
        Unknown functions whose columns come first: those that the others determine.
    """

    dynamics: Dynamics
    ring: Ring
    generators: tuple[sp.Expr, ...]
    degrees: list[int]
    time: int | None
    parts: Callable[[Jet], list[Part]]
    right: Callable[[Jet], np.ndarray] | None = None
    without_constant: frozenset[int] = frozenset()
    first: tuple[int, ...] = ()
    missed: int = 0
    rates: Rates = filled(init=False)

    def __post_init__(self) -> None:
        self.rates = Rates(self.dynamics)
        (self.field,) = self.dynamics.fields(self.ring, 1, block=5)
        self.parameters = self.dynamics.drawn(self.ring, self.field)
        self.ansatz = Ansatz(self.generators, max(self.degrees), self.time)

    # ---- columns -----------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many columns there are, at most."""
        sizes = (Ansatz(self.generators, k, self.time).columns for k in self.degrees)
        return sum(sizes)

    def _columns(self) -> Columns:
        """Monomials that are independent on the variety, for each unknown function."""
        exponents = self.ansatz.exponents
        points = self._moving(len(exponents) + SPARE, self.parameters)
        pivots = self.field.pivots(self._monomials(exponents, self.rates.at(points), 0)[0])
        kept = exponents[pivots]
        rows = []
        for u, degree in enumerate(self.degrees):
            for e in kept:
                total = int(e.sum())
                if total <= degree and not (total == 0 and u in self.without_constant):
                    rows.append((u not in self.first, total, u, e))
        rows.sort(key=lambda row: row[:3])
        return Columns([row[2] for row in rows], np.array([row[3] for row in rows]))

    def _moving(self, count: int, parameters: dict) -> Moving:
        return self.dynamics.moving(self.ring, self.field, count, parameters, True)

    def _monomials(self, exponents: np.ndarray, jet: Jet, order: int) -> list[np.ndarray]:
        """Values, rates and second rates of monomials, shape (points, monomials) each."""
        f = jet.field
        of = [jet(g) for g in self.generators]
        values = np.ones((jet.size, len(exponents)), dtype=WORD)
        for i, g in enumerate(of):
            for k in range(1, int(exponents[:, i].max(initial=0)) + 1):
                columns = np.flatnonzero(exponents[:, i] == k)
                values[:, columns] = f.mul(values[:, columns], f.power(g, k)[:, None])
        if order == 0:
            return [values]
        powers = exponents.astype(WORD)
        over = [f.inverse(g) for g in of]
        slopes = np.array(
            [f.mul(jet.rate(g), o) for g, o in zip(self.generators, over, strict=True)]
        )
        sums = (powers @ slopes % f.modulus).T
        rates = f.mul(values, sums)
        if order == 1:
            return [values, rates]
        bends = np.array(
            [f.mul(jet.bend(g), o) for g, o in zip(self.generators, over, strict=True)]
        )
        curves = (powers @ f.sub(bends, f.mul(slopes, slopes)) % f.modulus).T
        return [values, rates, f.mul(values, f.add(curves, f.mul(sums, sums)))]

    def _rows(self, columns: Columns, jet: Jet) -> np.ndarray:
        """One row per point; with a right side it is the last column, with a minus sign."""
        f, parts = jet.field, self.parts(jet)
        order = max(k for part in parts for k in range(3) if part[k] is not None)
        different, place = np.unique(columns.exponents, axis=0, return_inverse=True)
        tables = self._monomials(different, jet, order)
        total = np.zeros((jet.size, len(columns)), dtype=WORD)
        unknown, place = np.array(columns.unknown), place.ravel()
        for u, part in enumerate(parts):
            mine = np.flatnonzero(unknown == u)
            for factor, table in zip(part, tables, strict=False):
                if factor is not None and len(mine):
                    more = f.mul(table[:, place[mine]], factor[:, None])
                    total[:, mine] = f.add(total[:, mine], more)
        if self.right is not None:
            total = np.hstack([total, f.sub(WORD(0), self.right(jet))[:, None]])
        return total

    # ---- solutions ---------------------------------------------------------------------------

    def solutions(
        self, check: Callable[[list[sp.Expr]], str | None]
    ) -> list[tuple[list[sp.Expr], str]]:
        """Unknown functions with what `check` says of them; those it refuses are `missed`.

        With a right side all solutions differ from the first by solutions without it.
        """
        if self.count > MOST:
            raise InputError(
                "the ansatz has too many monomials",
                expected=f"at most {MOST}, a matter of minutes",
                received=f"{self.count} in {', '.join(map(str, self.generators))}",
                remedy="ask for a lower degree, or for a lower power of t",
            )
        columns = self._columns()
        null = self._null_space(columns)
        if self.right is not None:
            null = null[null[:, -1] != 0]
        found = []
        for row in null:
            solution = self._recovered(columns, row, check)
            if solution is None:
                self.missed += 1
            else:
                found.append(solution)
        return found

    def _null_space(self, columns: Columns) -> np.ndarray:
        f, count = self.field, len(columns) + SPARE
        rows = self._rows(columns, self.rates.at(self._moving(count, self.parameters)))
        null = f.null_space(rows)
        if self.parameters and len(null) > 1:
            # Solutions without parameters first, so that they are not mixed with others.
            other = {s: f.random(1) for s in self.parameters}
            points = self._moving(len(null) + SPARE, other)
            again = self._rows(columns, self.rates.at(points))
            null = np.vstack([f.null_within(null, again), null])
            pivots = f.pivots(np.ascontiguousarray(null.T))
            null = null[pivots]
        return null

    def _recovered(self, columns: Columns, row: np.ndarray, check):
        support = np.flatnonzero(row)
        extra = self.right is not None
        chosen = columns.chosen(support[:-1] if extra else support)
        numbers = plain(row[support].tolist(), self.field.p)
        for attempt in range(2):
            if attempt:
                numbers = self._exact(chosen, len(support))
            if numbers is not None:
                made = self._written(chosen, numbers)
                said = check(made)
                if said is not None:
                    return made, said
        return None

    def _exact(self, chosen: Columns, count: int) -> list[sp.Expr] | None:
        def rows(drawn: Moving) -> np.ndarray:
            return self._rows(chosen, self.rates.at(drawn)).T

        return solved(self.dynamics, self.ring, rows, count)

    def _written(self, chosen: Columns, numbers: list[sp.Expr]) -> list[sp.Expr]:
        """The unknown functions; without a right side free of common factors."""
        if self.right is None:
            numbers = without_common_factors(numbers)
        parts: list[list[sp.Expr]] = [[] for _ in self.degrees]
        for u, e, x in zip(chosen.unknown, chosen.exponents, numbers, strict=False):
            parts[u].append(sp.expand(x) * self.ansatz.function(e))
        return [sp.Add(*part) for part in parts]


def without_common_factors(numbers: list[sp.Expr]) -> list[sp.Expr]:
    """In the same ratios, without denominators."""
    below = sp.Integer(1)
    for x in numbers:
        below = sp.lcm(below, sp.denom(sp.together(x)))
    whole = [sp.cancel(x * below) for x in numbers]
    common = whole[0]
    for x in whole[1:]:
        common = sp.gcd(common, x)
    return [sp.cancel(x / common) for x in whole]


__all__ = ["Linear", "without_common_factors"]
