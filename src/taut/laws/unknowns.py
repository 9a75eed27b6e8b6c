"""The unknowns of affine symmetries: their parts of ξ₀, ξ and G, and how many there are."""

from __future__ import annotations

from collections import Counter
from typing import Any

import sympy as sp

from taut.laws.summands import Summands

PAIRS = 9  # coordinates of which any two may be turned into each other
MOST = 1500  # pairs of coordinates at all
FULL = 12  # coordinates up to which A and G are general where M is not constant
SHIFTS = 3  # power of t in translations: those of a uniform field's scaling
HIGHEST = 5  # and in G

AXES = "xyz"  # letters that tell the components of one body, in names
POINT = (3, 2)  # components of a body in space and in the plane

Monomial = tuple[tuple[int, ...], int]  # coordinates, power of t
Entry = tuple[int, Monomial, sp.Expr]  # unknown function (0: ξ₀, i + 1: ξᵢ, n + 1: G), …, number


class Unknowns:
    """Columns of the linear equations; those of G alone come first.

    Attributes
    ----------
    columns : list of list of Entry
    gauges : int
        How many are of G alone.
    plain : list of int
        The columns of translations, boosts and turns of single bodies, with those of G alone.
    limits : str
        What was left out, since there are too many coordinates.
    """

    def __init__(self, action: Summands) -> None:
        self.action, self.n, self.limits = action, action.n, ""
        self.mass = action.mass if action.lagrangian else None
        one, gauge, n = sp.Integer(1), self.n + 1, self.n
        found: list[list[Entry]] = [[(gauge, ((), k), one)] for k in range(1, HIGHEST + 1)]
        general = self.mass is None or action.gyroscopic or action.forces
        if general:
            found += [[(gauge, ((i,), k), one)] for i in range(n) for k in (0, 1)]
        if general and n <= FULL:
            found += [[(gauge, ((i, j), 0), one)] for i in range(n) for j in range(i, n)]
        self.gauges = len(found)
        found.append([(0, ((), 0), one)])
        found += [[(i + 1, ((), 0), one)] for i in range(n)]
        found += [[(i + 1, ((), 1), one), *self._pulled(i, 1)] for i in range(n)]
        self.plain = list(range(len(found)))
        for k in range(2, SHIFTS + 1):
            found += [[(i + 1, ((), k), one), *self._pulled(i, k)] for i in range(n)]
        turns, own = self._turns()
        self.plain += [len(found) + k for k in own]
        found += turns
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

    def _turns(self) -> tuple[list[list[Entry]], list[int]]:
        """A, by its entries or by rotations; and which of them are rotations of single bodies."""
        n, one, mass = self.n, sp.Integer(1), self.mass
        bodies = self._bodies()
        if (mass is None or any(i != j for i, j in mass)) and n <= FULL:
            whole = {(i, j): [(i + 1, ((j,), 0), one)] for i in range(n) for j in range(n)}
            # A turn takes the place of one of its two entries: they span the same.
            whole |= {(i, j): [*whole[j, i], (i + 1, ((j,), 0), -one)] for i, j in bodies}
            places = {pair: k for k, pair in enumerate(whole)}
            more = [[(i + 1, ((i,), 1), one)] for i in range(n) if mass is None]
            return [*whole.values(), *more], [places[pair] for pair in bodies]
        if mass is None or any(i != j for i, j in mass):
            self.limits = "in part, since masses couple many coordinates"
        diagonal: dict[int, Any] = {i: m for (i, j), m in (mass or {}).items() if i == j}
        pairs = [(i, j) for j in range(n) for i in range(j)]
        if n > PAIRS and not self.limits:
            self.limits = "of coordinates that occur in the same terms"
        if n > PAIRS:
            pairs = self._alike(pairs)
        if len(pairs) > MOST:
            pairs, self.limits = [], "of bodies alone, since there are too many pairs"
        pairs = list(dict.fromkeys([*bodies, *pairs]))
        turns: list[list[Entry]] = [
            [
                (i + 1, ((j,), 0), -diagonal.get(j, one) / diagonal.get(i, one)),
                (j + 1, ((i,), 0), one),
            ]
            for i, j in pairs
        ]
        return turns, list(range(len(bodies)))

    def _alike(self, pairs: list[tuple[int, int]], rows: bool = False) -> list[tuple[int, int]]:
        """Those that have half of the groups beside the base in common, or more.

        Components of one body share its partners; a wall may know only some of them.  With `rows`
        so do the ends of rods.
        """
        kinds: list[set[int]] = [set() for _ in range(self.n)]
        for k, g in enumerate(self.action.groups):
            own = g.own if g.row is None and not g.base else []
            if rows and g.row is not None:
                own = [self.action.place[x] for x in g.row.free_symbols if x in self.action.place]
            for i in own:
                kinds[i].add(k)
        return [
            (i, j)
            for i, j in pairs
            if 2 * len(kinds[i] & kinds[j]) >= max(len(kinds[i]), len(kinds[j]))
        ]

    def _bodies(self) -> list[tuple[int, int]]:
        """Pairs of coordinates that may be components of one body: of one mass, with one company.

        What is no body is no symmetry, and bodies that are missed are found with all the others.
        """
        mass = self.action.mass or {}
        if any(i != j for i, j in mass):
            return []
        pairs = [(i, j) for j in range(self.n) for i in range(j) if (i, i) in mass]
        pairs = [(i, j) for i, j in pairs if mass[i, i] == mass.get((j, j))]
        pairs = self._alike(pairs, rows=True)
        partners = Counter(i for pair in pairs for i in pair)
        # Bodies of equal masses between springs cannot be told from each other by their company.
        crowded = {i for i, count in partners.items() if count >= POINT[0]}
        doubtful = [pair for pair in pairs if crowded & {*pair}]
        named = [pair for pair in doubtful if self._named_as_one(*pair)]
        told = set(named or [pair for pair in doubtful if self._written_as_one(*pair)])
        return [pair for pair in pairs if pair in told or not crowded & {*pair}]

    def _named_as_one(self, i: int, j: int) -> bool:
        """Whether two names differ by the letter of an axis."""
        a, b = (self.action.positions[k].name for k in (i, j))
        other = [{x, y} for x, y in zip(a, b, strict=False) if x != y]
        return len(a) == len(b) and len(other) == 1 and other[0] <= set(AXES)

    def _written_as_one(self, i: int, j: int) -> bool:
        """Whether they stand where components of one body do, body by body or axis by axis."""
        fitting = [d for d in POINT if self.n % d == 0]
        return any(i // d == j // d or (j - i) % (self.n // d) == 0 for d in fitting)


__all__ = ["Entry", "Monomial", "Unknowns"]
