"""The unknowns of affine symmetries: their parts of ξ₀, ξ and G, and how many there are."""

from __future__ import annotations

from typing import Any

import sympy as sp

from taut.laws.summands import Summands

PAIRS = 9  # coordinates of which any two may be turned into each other
MOST = 1500  # pairs of coordinates at all
FULL = 12  # coordinates up to which A and G are general where M is not constant
SHIFTS = 3  # power of t in translations: those of a uniform field's scaling
HIGHEST = 5  # and in G

Monomial = tuple[tuple[int, ...], int]  # coordinates, power of t
Entry = tuple[int, Monomial, sp.Expr]  # unknown function (0: ξ₀, i + 1: ξᵢ, n + 1: G), …, number


class Unknowns:
    """Columns of the linear equations; those of G alone come first.

    Attributes
    ----------
    columns : list of list of Entry
    gauges : int
        How many are of G alone.
    limits : str
        What was left out, since there are too many coordinates.
    """

    def __init__(self, action: Summands) -> None:
        self.action, self.n, self.limits = action, action.n, ""
        self.mass = action.mass if action.lagrangian else None
        one, gauge, n = sp.Integer(1), self.n + 1, self.n
        found: list[list[Entry]] = [[(gauge, ((), k), one)] for k in range(1, HIGHEST + 1)]
        if (self.mass is None or action.gyroscopic or action.forces) and n <= FULL:
            found += [[(gauge, ((i,), k), one)] for i in range(n) for k in (0, 1)]
            found += [[(gauge, ((i, j), 0), one)] for i in range(n) for j in range(i, n)]
        self.gauges = len(found)
        found.append([(0, ((), 0), one)])
        found += [[(i + 1, ((), 0), one)] for i in range(n)]
        for k in range(1, SHIFTS + 1):
            found += [[(i + 1, ((), k), one), *self._pulled(i, k)] for i in range(n)]
        found += self._turns()
        if not action.frozen:
            found.append([(0, ((), 1), one), *self._stretched(0)])
            square: list[Entry] = []
            if self.mass is not None:
                square = [(gauge, ((i, j), 0), -m / 2) for (i, j), m in self.mass.items()]
            found.append([(0, ((), 2), one), *self._stretched(1), *square])
        self.columns = found

    def _pulled(self, j: int, k: int) -> list[Entry]:
        """−(tᵏ)˙ (M q)_j, a part of G."""
        rows = (self.mass or {}).items()
        return [(self.n + 1, ((i,), k - 1), -k * m) for (a, i), m in rows if a == j]

    def _stretched(self, k: int) -> list[Entry]:
        """ξ = tᵏ q/2, twice that for k = 1."""
        if self.mass is None:
            return []
        return [(i + 1, ((i,), k), sp.Rational(1 + k, 2)) for i in range(self.n)]

    def _turns(self) -> list[list[Entry]]:
        """A, by its entries or by rotations."""
        n, one, mass = self.n, sp.Integer(1), self.mass
        if (mass is None or any(i != j for i, j in mass)) and n <= FULL:
            whole = [[(i + 1, ((j,), 0), one)] for i in range(n) for j in range(n)]
            return whole + [[(i + 1, ((i,), 1), one)] for i in range(n) if mass is None]
        if mass is None or any(i != j for i, j in mass):
            self.limits = "in part, since masses couple many coordinates"
        diagonal: dict[int, Any] = {i: m for (i, j), m in (mass or {}).items() if i == j}
        pairs = [(i, j) for j in range(n) for i in range(j)]
        if n > PAIRS and not self.limits:
            self.limits = "of coordinates that occur in the same terms"
        if n > PAIRS:
            pairs = self._alike(pairs)
        if len(pairs) > MOST:
            pairs, self.limits = [], "left out, since there are too many pairs"
        return [
            [
                (i + 1, ((j,), 0), -diagonal.get(j, one) / diagonal.get(i, one)),
                (j + 1, ((i,), 0), one),
            ]
            for i, j in pairs
        ]

    def _alike(self, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Those that have half of the groups beside the base in common, or more.

        Components of one body share its partners; a wall may know only some of them.
        """
        kinds: list[set[int]] = [set() for _ in range(self.n)]
        for k, g in enumerate(self.action.groups):
            if not g.base and g.row is None:
                for i in g.own:
                    kinds[i].add(k)
        return [
            (i, j)
            for i, j in pairs
            if 2 * len(kinds[i] & kinds[j]) >= max(len(kinds[i]), len(kinds[j]))
        ]


__all__ = ["Entry", "Monomial", "Unknowns"]
