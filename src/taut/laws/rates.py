"""Second rates and the Jacobian of the motion, at random points modulo a prime.

For z = (q, w) the rate f is known only as the solution x = (ẇ, λ) of A(z, t) x = b(z, t), and so
are its derivatives:

    A x = b,   A ∂x = ∂b − (∂A) x,   D D z = ∂f/∂t + (∂f/∂z) f,
    D D e = e_z·D D z + Σ e_zz ż ż   for a function e(z), t being one of the z.

No matrix is inverted but at points.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import sympy as sp

from taut.laws.dynamics import Dynamics, Moving
from taut.laws.field import WORD, Field
from taut.model import t


class Rates:
    """The derivatives of everything that the rates of a model are made of, as expressions."""

    def __init__(self, dynamics: Dynamics) -> None:
        self.dynamics = d = dynamics
        self.variables = [*d.state, t]
        n, c = len(d.rates_of), len(d.constraints)
        self.size, self.entries, self.right = n + c, {}, {}
        if n:
            rows = [[*d.mass[i], *(d.jacobian[k][i] for k in range(c))] for i in range(n)]
            rows += [[*d.slopes[k], *[sp.Integer(0)] * c] for k in range(c)]
            self.entries = {
                (i, j): e for i, row in enumerate(rows) for j, e in enumerate(row) if e != 0
            }
            self.right = {i: e for i, e in enumerate((*d.right, *d.bends)) if e != 0}

    @cached_property
    def plain(self) -> dict[sp.Symbol, dict]:
        """Slopes of what is known without a solution."""
        return {y: _slopes(self.dynamics.explicit, y) for y in self.variables}

    @cached_property
    def matrix_slopes(self) -> dict[sp.Symbol, dict]:
        """Slopes of A."""
        return {y: _slopes(self.entries, y) for y in self.variables}

    @cached_property
    def right_slopes(self) -> dict[sp.Symbol, dict]:
        """Slopes of b."""
        return {y: _slopes(self.right, y) for y in self.variables}

    def at(self, moving: Moving) -> Jet:
        """The jet of the motion at points."""
        return Jet(self, moving)


def _slopes(entries: dict, y: sp.Symbol) -> dict:
    return {key: s for key, e in entries.items() if (s := e.diff(y)) != 0}


class Jet:
    """Values, rates and second rates of functions at points."""

    def __init__(self, rates: Rates, moving: Moving) -> None:
        self.rates, self.moving = rates, moving
        self.field: Field = moving.point.field
        self.size = len(moving.point)

    def __call__(self, e: sp.Expr) -> np.ndarray:
        return self.moving(e)

    @property
    def first(self) -> dict[sp.Symbol, np.ndarray]:
        """ż, and 1 for the time."""
        return self.moving.rates

    @cached_property
    def jacobian(self) -> dict[sp.Symbol, dict[sp.Symbol, np.ndarray]]:
        """∂ż_x/∂y as found[x][y]; what vanishes is left out."""
        r, d = self.rates, self.rates.dynamics
        found: dict = {x: {} for x in d.state}
        for y in r.variables:
            for x, slope in r.plain[y].items():
                found[x][y] = self(slope)
        if d.rates_of:
            inverse, x = self._solved
            for y in r.variables:
                rest = np.zeros((self.size, r.size), dtype=WORD)
                for i, e in r.right_slopes[y].items():
                    rest[:, i] = self.field.add(rest[:, i], self(e))
                for (i, j), e in r.matrix_slopes[y].items():
                    pull = self.field.mul(self(e), x[:, j])
                    rest[:, i] = self.field.sub(rest[:, i], pull)
                if rest.any():
                    slopes = _applied(self.field, inverse, rest)
                    for i, w in enumerate(d.rates_of):
                        found[w][y] = slopes[:, i]
        return found

    @cached_property
    def _solved(self) -> tuple[np.ndarray, np.ndarray]:
        """The inverse of A, and (ẇ, λ)."""
        m = self.rates.size
        matrix = np.zeros((self.size, m, m), dtype=WORD)
        right = np.zeros((self.size, m, m + 1), dtype=WORD)
        right[:, np.arange(m), np.arange(m)] = 1
        for (i, j), e in self.rates.entries.items():
            matrix[:, i, j] = self(e)
        for i, e in self.rates.right.items():
            right[:, i, m] = self(e)
        found, good = self.field.solve(matrix, right)
        self.moving.point.good &= good
        return found[:, :, :m], found[:, :, m]

    @cached_property
    def second(self) -> dict[sp.Symbol, np.ndarray]:
        """D D z."""
        f = self.field
        found = {}
        for x, slopes in self.jacobian.items():
            total = np.zeros(self.size, dtype=WORD)
            for y, slope in slopes.items():
                total = f.add(total, f.mul(slope, self.first[y]))
            found[x] = total
        return found

    def rate(self, e: sp.Expr) -> np.ndarray:
        """D e."""
        return self.moving.rate(e)

    def bend(self, e: sp.Expr) -> np.ndarray:
        """D D e."""
        f, total = self.field, np.zeros(self.size, dtype=WORD)
        moving = [x for x in self.first if e.has(x)]
        for x in moving:
            slope = e.diff(x)
            if x != t:
                total = f.add(total, f.mul(self(slope), self.second[x]))
            for y in moving:
                curve = slope.diff(y)
                if curve != 0:
                    both = f.mul(self.first[x], self.first[y])
                    total = f.add(total, f.mul(self(curve), both))
        return total


def _applied(f: Field, matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    total = np.zeros_like(vector)
    for j in range(vector.shape[1]):
        total = f.add(total, f.mul(matrix[:, :, j], vector[:, j : j + 1]))
    return total


__all__ = ["Jet", "Rates"]
