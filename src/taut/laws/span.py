"""What products of laws span: the part of all laws of a degree that is known.

    V_m = { Σ c P : P a product of laws, Σ c P of degree ≤ m in the velocities, and free of t },

the latter if laws with t are not counted.  Products may be of a higher degree than what is left of
their sum: of a charge in a field, p_x² + p_y² + p_z² − 2E is the angular momentum, of degree 1.
What is found so is a law like the others from then on.  All is linear algebra at random points:
degrees by interpolation in s of P(q, s v), and derivatives in t by dual numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np
import sympy as sp

from taut.laws.dynamics import Moving
from taut.laws.field import WORD
from taut.laws.search import Search
from taut.model import t

OVER = 2  # degrees by which products may be higher than what is left of them
PRODUCTS = 600  # beyond which they are not counted

Choice = tuple[int, ...]  # which laws to multiply


@dataclass
class Member:
    """A law, or a sum of products of earlier ones with residues for coefficients."""

    degree: int
    timed: bool
    law: sp.Expr | None = None
    products: tuple[Choice, ...] = ()
    residues: Sequence = ()


@lru_cache(maxsize=256)
def degree_of(law: sp.Expr, speeds: tuple[sp.Symbol, ...]) -> int | None:
    """In the velocities; None if it is no polynomial of them."""
    if not law.is_polynomial(*speeds):
        return None
    return int(sp.Poly(law, *speeds).total_degree())


class Span:
    """The spaces V_1, V_2, …, to be asked for in this order.

    Parameters
    ----------
    laws : list of Expr
        Those that are no polynomials of the velocities are left out.
    time : bool
        Whether what depends on t is counted.
    """

    def __init__(self, search: Search, laws: list[sp.Expr], time: bool) -> None:
        self.search, self.time = search, time
        d = search.dynamics
        self.scales = not any(g.has(t) for g in d.constraints)  # s·v is tangent if v is
        degrees = [(x, degree_of(x, tuple(d.rates_of))) for x in laws]
        self.members = [Member(k, x.has(t), x) for x, k in degrees if k]
        self.active = list(range(len(self.members)))

    def dimension(self, degree: int) -> int | None:
        """Of V_m; None if there are too many products."""
        self._drop(degree)
        chosen = next(
            (
                c
                for over in ((OVER, 1, 0) if self.scales else (0,))
                if len(c := self._choices(degree + over)) <= PRODUCTS
            ),
            None,
        )
        if chosen is None:
            return None
        f = self.search.field
        points = self.search.moving(len(chosen) + 8)
        values, conditions = self._values(points, chosen), []
        if not self.time and any(x.timed for x in self.members):
            conditions.append(self._slopes(points, chosen))
        highest = max(self._degree(c) for c in chosen)
        if highest > degree:
            conditions += self._too_high(points, chosen, degree, highest)
        weights = np.eye(len(chosen), dtype=WORD)
        if conditions:
            weights = self._fulfilling(np.vstack(conditions))
        spanned = f.dot(values, np.ascontiguousarray(weights.T))
        plain = [k for k, c in enumerate(chosen) if self._is_plain(c, degree)]
        matrix = np.hstack([values[:, plain], spanned])
        pivots = f.pivots(np.ascontiguousarray(matrix))
        for k in pivots:
            if k >= len(plain):
                row = weights[k - len(plain)]
                used = np.flatnonzero(row)
                timed = any(self.members[i].timed for j in used for i in chosen[j])
                products = tuple(chosen[j] for j in used)
                new = Member(degree, timed and self.time, None, products, row[used])
                self.members.append(new)
                self.active.append(len(self.members) - 1)
        return len(pivots)

    def _fulfilling(self, conditions: np.ndarray) -> np.ndarray:
        """Their null space; products that are in V_m by themselves have columns of zeros."""
        bound = np.flatnonzero(conditions.any(axis=0))
        free = np.flatnonzero(~conditions.any(axis=0))
        null = self.search.field.null_space(np.ascontiguousarray(conditions[:, bound]))
        weights = np.zeros((len(free) + len(null), conditions.shape[1]), dtype=WORD)
        weights[np.arange(len(free)), free] = 1
        weights[len(free) :, bound] = null
        return weights

    def _degree(self, chosen: Choice) -> int:
        return sum(self.members[i].degree for i in chosen)

    def _is_plain(self, chosen: Choice, degree: int) -> bool:
        """Whether a product is in V_m by itself."""
        free = self.time or not any(self.members[i].timed for i in chosen)
        return free and self._degree(chosen) <= degree

    def _choices(self, highest: int) -> list[Choice]:
        """Products of laws up to a degree, the empty one first."""
        found: list[Choice] = [()]
        for size in range(1, highest + 1):
            for c in combinations_with_replacement(self.active, size):
                if self._degree(c) <= highest:
                    found.append(c)
            if len(found) > PRODUCTS:
                break
        return found

    def _drop(self, degree: int) -> None:
        """Laws of this degree that products of the others give are no longer needed."""
        f = self.search.field
        for i in [k for k in self.active if self.members[k].degree == degree]:
            rest = [c for c in self._choices(degree) if i not in c]
            if len(rest) > PRODUCTS:
                return
            points = self.search.moving(len(rest) + 8)
            pivots = f.pivots(self._values(points, [*rest, (i,)]))
            if len(rest) not in pivots:
                self.active.remove(i)

    def _values(self, points: Moving, chosen: list[Choice]) -> np.ndarray:
        """Of the products, one column each."""
        f, size = self.search.field, len(points.point)
        known: dict[Choice, np.ndarray] = {(): np.ones(size, dtype=WORD)}

        def product(c: Choice) -> np.ndarray:
            if c not in known:
                known[c] = f.mul(product(c[:-1]), known[c[-1:]])
            return known[c]

        for i, member in enumerate(self.members):
            if member.law is not None:
                known[i,] = points(member.law)
                continue
            total = np.zeros(size, dtype=WORD)
            for c, residue in zip(member.products, member.residues, strict=True):
                total = f.fma(total, product(c), residue)
            known[i,] = total
        return np.ascontiguousarray(np.array([product(c) for c in chosen]).T)

    def _slopes(self, points: Moving, chosen: list[Choice]) -> np.ndarray:
        """∂/∂t of the products, by dual numbers."""
        size = len(points.point)
        rates = {t: np.ones(size, dtype=WORD)}
        moved = Moving(points.point, rates)
        f, one, zero = self.search.field, rates[t], np.zeros(size, dtype=WORD)
        duals: list[tuple[np.ndarray, np.ndarray]] = []

        def product(c: Choice) -> tuple[np.ndarray, np.ndarray]:
            a, da = one, zero
            for i in c:
                b, db = duals[i]
                a, da = f.mul(a, b), f.fma(f.mul(a, db), da, b)
            return a, da

        for member in self.members:
            if member.law is not None:
                duals.append((points(member.law), moved.rate(member.law)))
                continue
            a, da = zero, zero
            for c, residue in zip(member.products, member.residues, strict=True):
                b, db = product(c)
                a, da = f.fma(a, b, residue), f.fma(da, db, residue)
            duals.append((a, da))
        return np.ascontiguousarray(np.array([product(c)[1] for c in chosen]).T)

    def _too_high(self, points: Moving, chosen, degree: int, highest: int) -> list[np.ndarray]:
        """What multiplies s^k, k > degree, in products with velocities s·v."""
        f, speeds = self.search.field, self.search.dynamics.rates_of
        nodes = list(range(1, highest + 2))
        powers = np.array([[pow(s, k, f.p) for k in range(highest + 1)] for s in nodes])
        unit = np.eye(highest + 1, dtype=WORD)
        inverse = f.solve(powers.astype(WORD)[None], unit[None])[0][0]
        start = {w: points(w) for w in speeds}
        scaled = []
        for s in nodes:
            points.point.move({w: f.mul(v, WORD(s)) for w, v in start.items()})
            scaled.append(self._values(points, chosen))
        found = []
        for k in range(degree + 1, highest + 1):
            total = np.zeros_like(scaled[0])
            for weight, part in zip(inverse[k], scaled, strict=True):
                total = f.fma(total, part, weight)
            found.append(total)
        return found
