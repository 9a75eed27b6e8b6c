"""Functions of a moving state along lines through one point, as power series modulo p.

Along z(ε) = z₀ + ε ρ every function of the ring is a series in ε, known from its value at the point
and from the differential equation it obeys:

    r = u^a:  u r′ = a u′ r,     E = e^u:  E′ = u′ E,     (s, c) of u:  s′ = u′ c, c′ = −u′ s,

and f(u)′ = f′(u) u′ for logarithms and the like.  Where constraints bind, the coordinates that
depend on the others follow by Newton's iteration on the series, the velocities by h = 0.
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from taut.errors import ModelError
from taut.laws.dynamics import NOWHERE, Dynamics, Moving
from taut.laws.field import WORD, Field
from taut.laws.ring import Ring
from taut.model import t

DRAWN = 48  # points from which one with all its roots is taken


class NoSeries(ModelError):
    """A function without a series: there is no bound then."""


class Lines:
    """Many lines through one configuration, each with velocities of its own.

    Parameters
    ----------
    count, order : int
        Lines, and the power of ε up to which series are known.
    time : bool
        Whether t changes along the lines.

    Attributes
    ----------
    free, own : list of int
        Numbers of the coordinates, and of the velocities (or momenta), that the others depend on.
    slopes : ndarray, shape (count, k)
        ρ: the directions of t (if it changes) and of the free coordinates.
    good : ndarray of bool
        Lines along which everything has a value.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        ring: Ring,
        field: Field,
        parameters: dict,
        count: int,
        order: int,
        time: bool,
        origin: Moving | None = None,
    ) -> None:
        self.dynamics, self.field, self.order = dynamics, field, order
        d, f = dynamics, field
        start = origin or origin_of(d, ring, f, parameters)
        self.point = point = start.picked(np.zeros(count, dtype=np.int64)).point
        self._shuffle(ring)
        point.move({w: f.random(count) for w in d.rates_of})
        self.free, self.own = range(len(d.positions)), range(len(d.rates_of))
        if d.constraints:
            self.free = self._others([[point(e)[0] for e in row] for row in d.jacobian])
            self.own = self._others([[point(e)[0] for e in row] for row in d.slopes])
            d._make_tangent(point)
        for base, k in ring.roots:
            point.root(base, k)
        directions = [t] * time + [d.positions[i] for i in self.free]
        self.slopes = f.random(count, len(directions))
        self._series: dict[sp.Expr, np.ndarray] = {}
        for x in (*d.state, t, *parameters):
            self._series[x] = self._constant(point(x))
        for x, slope in zip(directions, self.slopes.T, strict=True):
            self._series[x][:, 1] = slope
        if d.constraints:
            self._follow()

    @property
    def good(self) -> np.ndarray:
        return self.point.good

    def _shuffle(self, ring: Ring) -> None:
        """Functions of velocities have a value of their own on every line."""
        f, point, moving = self.field, self.point, set(self.dynamics.rates_of)
        count = len(point)
        for i, e in enumerate(ring.exponents.basis):
            if e.free_symbols & moving:
                point.bases[i] = f.random(count)
        for key in ring.powers:
            if key[0].free_symbols & moving:
                point.powers[key] = f.random(count)
        for e in ring.free:
            if e.free_symbols & moving:
                point.values[e] = f.random(count)
        if any(e.free_symbols & moving for e in ring.angles.basis):
            raise NoSeries("sines of velocities have no series here")

    def _others(self, rows: list[list]) -> list[int]:
        """Columns without a pivot."""
        matrix = np.array(rows, dtype=WORD)
        pivots = self.field.pivots(matrix)
        return [i for i in range(matrix.shape[1]) if i not in set(pivots)]

    # ---- arithmetic --------------------------------------------------------------------------

    def _constant(self, values: np.ndarray) -> np.ndarray:
        found = np.zeros((len(self.point), self.order + 1), dtype=WORD)
        found[:, 0] = values
        return found

    def mul(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The product of two series."""
        f, total = self.field, np.zeros_like(a)
        for i in range(a.shape[1]):
            if a[:, i].any():
                total[:, i:] = f.fma(total[:, i:], a[:, i, None], b[:, : a.shape[1] - i])
        return total

    def inverse(self, a: np.ndarray) -> np.ndarray:
        """1/a: b_j = −b₀ Σ_{i>0} a_i b_{j−i}."""
        f, found = self.field, np.zeros_like(a)
        self.point.good &= a[:, 0] != 0
        found[:, 0] = f.inverse(a[:, 0])
        for j in range(1, a.shape[1]):
            total = np.zeros(len(a), dtype=WORD)
            for i in range(1, j + 1):
                total = f.fma(total, a[:, i], found[:, j - i])
            found[:, j] = f.mul(f.sub(WORD(0), total), found[:, 0])
        return found

    def slope(self, a: np.ndarray) -> np.ndarray:
        """The derivative; the last power is unknown and zero."""
        found = np.zeros_like(a)
        for j in range(1, a.shape[1]):
            found[:, j - 1] = self.field.mul(a[:, j], WORD(j))
        return found

    def _grown(self, start: np.ndarray, rate) -> np.ndarray:
        """The series with this start whose derivative is `rate` of itself, order by order."""
        found = self._constant(start)
        for j in range(1, self.order + 1):
            found[:, j] = self.field.mul(rate(found)[:, j - 1], WORD(pow(j, -1, self.field.p)))
        return found

    def __call__(self, e: sp.Expr) -> np.ndarray:
        """The series of an expression, shape (count, order + 1)."""
        found = self._series.get(e)
        if found is None:
            found = self._series[e] = self._evaluated(e)
        return found

    def _evaluated(self, e: sp.Expr) -> np.ndarray:
        f = self.field
        if not e.args:
            return self._constant(self.point(e))
        if e.is_Add or e.is_Mul:
            total = self(e.args[0])
            for x in e.args[1:]:
                total = f.add(total, self(x)) if e.is_Add else self.mul(total, self(x))
            return total
        if isinstance(e, sp.exp):
            inner = self.slope(self(e.args[0]))
            return self._grown(self.point(e), lambda g: self.mul(inner, g))
        if isinstance(e, sp.sin | sp.cos):
            return self._turned(e)
        if e.is_Pow:
            return self._power(e)
        inner = self.mul(self(e.fdiff(1)), self.slope(self(e.args[0])))
        return self._grown(self.point(e), lambda _: inner)

    def _power(self, e: sp.Expr) -> np.ndarray:
        u = self(e.base)
        if e.exp.is_Integer:
            base, k = (self.inverse(u), -int(e.exp)) if e.exp < 0 else (u, int(e.exp))
            total = base
            for _ in range(k - 1):
                total = self.mul(total, base)
            return total
        if e.exp.free_symbols & {*self.dynamics.state, t}:
            raise NoSeries(f"{e} has no series here")
        inner = self.mul(self.mul(self(e.exp), self.slope(u)), self.inverse(u))
        return self._grown(self.point(e), lambda g: self.mul(inner, g))

    def _turned(self, e: sp.Expr) -> np.ndarray:
        f, u = self.field, e.args[0]
        inner = self.slope(self(u))
        c, s = self._constant(self.point(sp.cos(u))), self._constant(self.point(sp.sin(u)))
        for j in range(1, self.order + 1):
            over = WORD(pow(j, -1, f.p))
            up, down = self.mul(inner, c), self.mul(inner, s)
            s[:, j] = f.mul(up[:, j - 1], over)
            c[:, j] = f.sub(WORD(0), f.mul(down[:, j - 1], over))
        self._series[sp.cos(u)], self._series[sp.sin(u)] = c, s
        return s if isinstance(e, sp.sin) else c

    # ---- equations ---------------------------------------------------------------------------

    def solve(self, matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
        """A(ε) x(ε) = b(ε): A₀ x_j = b_j − Σ_{i>0} A_i x_{j−i}; shapes (N, n, n, ·), (N, n, ·)."""
        f, (count, n) = self.field, matrix.shape[:2]
        unit = np.broadcast_to(np.eye(n, dtype=WORD), (count, n, n))
        first, fine = f.solve(matrix[..., 0], unit)
        self.point.good &= fine
        found = np.zeros_like(right)
        for j in range(right.shape[2]):
            rest = right[:, :, j]
            for i in range(1, j + 1):
                rest = f.sub(rest, _applied(f, matrix[..., i], found[:, :, j - i]))
            found[:, :, j] = _applied(f, first, rest)
        return found

    def _follow(self) -> None:
        """The coordinates, then the velocities, that depend on the others."""
        d, f = self.dynamics, self.field
        bound = [x for i, x in enumerate(d.positions) if i not in set(self.free)]
        slopes = [[self.point(e.diff(x)) for x in bound] for e in d.constraints]
        frozen = np.array(slopes, dtype=WORD).transpose(2, 0, 1)[..., None]
        for _ in range(self.order):  # one more power each time
            rest = np.array([self._anew(e) for e in d.constraints]).transpose(1, 0, 2)
            change = self.solve(np.pad(frozen, [(0, 0)] * 3 + [(0, self.order)]), rest)
            for i, x in enumerate(bound):
                self._series[x] = f.sub(self._series[x], change[:, i])
        if any(self._anew(e).any() for e in d.constraints):
            raise ModelError("the constraints have no series here")
        swept = [w for i, w in enumerate(d.rates_of) if i not in set(self.own)]
        for w in swept:
            self._series[w] = self._constant(np.zeros(len(self.point), dtype=WORD))
        # h is affine in the velocities: what is left without these, and their matrix.
        rest = np.array([f.sub(WORD(0), self._anew(h)) for h in d.hidden]).transpose(1, 0, 2)
        rows = [[self._anew(h.diff(w)) for w in swept] for h in d.hidden]
        solved = self.solve(np.array(rows).transpose(2, 0, 1, 3), rest)
        for i, w in enumerate(swept):
            self._series[w] = solved[:, i]
        self._forget()

    def _forget(self) -> None:
        kept = {x: v for x, v in self._series.items() if x.is_Symbol}
        self._series.clear()
        self._series.update(kept)

    def _anew(self, e: sp.Expr) -> np.ndarray:
        self._forget()
        return self(e)

    def rates(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """q̇ of the free coordinates, and ẇ of the own velocities (or momenta)."""
        d, n, c = self.dynamics, len(self.dynamics.rates_of), len(self.dynamics.constraints)
        flows = [self(d.explicit[d.positions[i]]) for i in self.free]
        if d.unit_mass:
            return flows, [self(e) for e in d.right]
        shape = (len(self.point), n + c, n + c, self.order + 1)
        matrix, right = np.zeros(shape, dtype=WORD), np.zeros(shape[:2] + shape[3:], dtype=WORD)
        for i in range(n):
            for j in range(n):
                if d.mass[i][j] != 0:
                    matrix[:, i, j] = self(d.mass[i][j])
            right[:, i] = self(d.right[i])
        for k in range(c):
            for i in range(n):
                if d.jacobian[k][i] != 0:
                    matrix[:, i, n + k] = self(d.jacobian[k][i])
                if d.slopes[k][i] != 0:
                    matrix[:, n + k, i] = self(d.slopes[k][i])
            right[:, n + k] = self(d.bends[k])
        solved = self.solve(matrix, right)
        return flows, [solved[:, i] for i in self.own]


def origin_of(d: Dynamics, ring: Ring, field: Field, parameters: dict) -> Moving:
    """One random point of the variety; at t = 0 where nothing depends on time."""
    size = DRAWN
    for _ in range(8):
        drawn = d._drawn(ring, field, size, parameters, True)
        good = np.flatnonzero(drawn.point.good)
        if len(good):
            chosen = drawn.picked(good[:1])
            if not d.timed:
                chosen.point.move({t: np.zeros(1, dtype=WORD)})
            return chosen
        size *= 4
    raise ModelError(NOWHERE)


def _applied(f: Field, matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    total = np.zeros(vector.shape, dtype=WORD)
    for j in range(vector.shape[1]):
        total = f.fma(total, matrix[:, :, j], vector[:, j, None])
    return total
