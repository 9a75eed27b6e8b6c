"""What moves, as the search for laws sees it: a state, its rate, and the variety it moves on.

Systems with a Lagrangian have the state (q, q̇), with a Hamiltonian (q, p); a `Flow` has its own
variables.  With constraints g(q, t) = 0 the state moves where g = 0 and h = G q̇ + ∂g/∂t = 0, and
the rate is the solution of

    ẇ = F − Gᵀλ  (momenta),   W q̈ + L_q̇q q̇ + L_q̇t = L_q + f − Gᵀλ  (velocities),   dh/dt = 0,

a linear system that is solved at every point modulo p.  No matrix is ever inverted symbolically.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field as filled
from functools import cached_property, reduce
from itertools import islice

import numpy as np
import sympy as sp
from flint import nmod_poly

from taut.errors import ModelError
from taut.laws.budget import spend
from taut.laws.field import WORD, Field, downwards
from taut.laws.ring import Point, Ring, tidy
from taut.laws.squares import with_roots
from taut.laws.triangle import Rung, triangular
from taut.model import Flow, System, t

NOWHERE = (
    "no points were found on the constraints and in `on=`, or the equations are singular there"
)
TRIED = 200  # primes
OVERSAMPLED = 3  # times the points that are needed are drawn at once
ROOT = 48  # multiplications of a root
SPARE = 8  # points at which the mass may turn out to be singular


@dataclass
class Moving:
    """Points of the variety and the rates of the state there."""

    point: Point
    rates: dict[sp.Symbol, np.ndarray]
    slopes: dict[sp.Expr, np.ndarray | None] = filled(default_factory=dict)

    def __call__(self, e: sp.Expr) -> np.ndarray:
        return self.point(e)

    def picked(self, rows: np.ndarray) -> Moving:
        """The same at some of the points."""
        rates = {x: v[rows] for x, v in self.rates.items()}
        return Moving(picked(self.point, rows), rates)

    def rate(self, e: sp.Expr) -> np.ndarray:
        """De, by the chain rule."""
        found = self._slope(e)
        return np.zeros(len(self.point), dtype=WORD) if found is None else found

    def _slope(self, e: sp.Expr) -> np.ndarray | None:
        """De by numbers, since derivatives that are written down take much longer; None is zero."""
        if e not in self.slopes:
            self.slopes[e] = self._chained(e)
        return self.slopes[e]

    def _chained(self, e: sp.Expr) -> np.ndarray | None:
        f, value = self.point.field, self.point
        if not e.args:
            return self.rates.get(e)
        inner = [self._slope(x) for x in e.args]
        if all(x is None for x in inner):
            return None
        if e.is_Add:
            return reduce(f.add, (x for x in inner if x is not None))
        if e.is_Mul:
            whole, total = None, None
            for x, slope in zip(e.args, inner, strict=True):
                total = None if total is None else f.mul(total, value(x))
                if slope is not None:
                    share = slope if whole is None else f.mul(whole, slope)
                    total = share if total is None else f.add(total, share)
                whole = value(x) if whole is None else f.mul(whole, value(x))
            return total
        if isinstance(e, sp.exp):
            return f.mul(value(e), inner[0])
        if isinstance(e, sp.sin):
            return f.mul(value(sp.cos(e.args[0])), inner[0])
        if isinstance(e, sp.cos):
            return f.sub(WORD(0), f.mul(value(sp.sin(e.args[0])), inner[0]))
        if e.is_Pow and inner[1] is None:
            share = f.mul(value(e.exp), f.mul(inner[0], f.inverse(value(e.base))))
            return f.mul(value(e), share)
        return self._by_slopes(e)

    def _by_slopes(self, e: sp.Expr) -> np.ndarray:
        """De of any other function."""
        f, total = self.point.field, np.zeros(len(self.point), dtype=WORD)
        for x, dx in self.rates.items():
            slope = e.diff(x)
            if slope != 0:
                total = f.add(total, f.mul(self.point(slope), dx))
        return total

    def gradients(self, expressions: list[sp.Expr], state: list[sp.Symbol]) -> np.ndarray:
        """Of expressions at the first of the points, one row each."""
        n = len(state)
        units = dict(zip(state, np.eye(n, dtype=WORD), strict=True))
        spread = Moving(picked(self.point, np.zeros(n, dtype=np.int64)), units)
        rows = [spread.rate(e) for e in expressions]
        return np.array(rows, dtype=WORD).reshape(len(expressions), n)


class Dynamics:
    """Equations of motion, ready to be evaluated modulo a prime.

    Laws may be wanted `on` a level set only, where the given expressions vanish as well, and with
    numbers for some of the parameters, which are `fixed`.
    """

    def __init__(
        self,
        model: System | Flow,
        on: Iterable[sp.Expr] = (),
        fixed: Mapping[sp.Symbol, sp.Rational] | None = None,
    ) -> None:
        self.model, self.fixed = model, dict(fixed or {})
        self.levels = [self._tidy(e) for e in on]
        self.mechanical = isinstance(model, System)
        self.forced = isinstance(model, System) and model.forced
        self.constraints: list[sp.Expr] = []
        self.hidden: list[sp.Expr] = []
        if isinstance(model, System):
            self._of_system(model)
        else:
            self.state = list(model.variables)
            self.positions, self.rates_of = self.state, []
            self.explicit = dict(zip(self.state, map(self._tidy, model.rhs), strict=True))
        occurring = set().union(*(e.free_symbols for e in self.expressions))
        self.parameters = sorted(occurring - {*self.state, t}, key=lambda s: s.name)
        self.timed = t in occurring

    def _tidy(self, e: sp.Expr) -> sp.Expr:
        return tidy(e).xreplace(self.fixed)

    # ---- equations ---------------------------------------------------------------------------

    def _of_system(self, model: System) -> None:
        q = list(model.coordinates)
        self.positions = q
        energy = self._tidy(model.energy_function)
        forces = [self._tidy(f) for f in model.forces]
        self.energy_function, self.forces = energy, forces
        g = self.constraints = [self._tidy(e) for e in model.constraints]
        if model.form == "lagrangian":
            w = list(model.velocities)
            self.explicit = dict(zip(q, w, strict=True))
            momenta = [energy.diff(v) for v in w]
            self.mass = [[m.diff(v) for v in w] for m in momenta]
            right = []
            for m, x, f in zip(momenta, q, forces, strict=True):
                drift = sum((m.diff(y) * v for y, v in zip(q, w, strict=True)), m.diff(t))
                right.append(energy.diff(x) + f - drift)
        else:
            w = list(model.momenta)
            flows = [energy.diff(p) for p in w]
            self.explicit = dict(zip(q, flows, strict=True))
            inner = dict(zip(model.velocities, flows, strict=True))
            self.mass = [[sp.Integer(int(i == j)) for j in range(len(q))] for i in range(len(q))]
            right = [f.xreplace(inner) - energy.diff(x) for x, f in zip(q, forces, strict=True)]
        self.rates_of, self.right, self.state = w, right, [*q, *w]
        self.jacobian = [[e.diff(x) for x in q] for e in g]
        self.hidden = [
            sum((a * self.explicit[x] for a, x in zip(row, q, strict=True)), e.diff(t))
            for e, row in zip(g, self.jacobian, strict=True)
        ]
        self.slopes = [[h.diff(v) for v in w] for h in self.hidden]
        self.bends = [
            -sum((h.diff(x) * self.explicit[x] for x in q), h.diff(t)) for h in self.hidden
        ]

    @property
    def unit_mass(self) -> bool:
        """Whether rates are the right-hand sides: momenta, or masses 1, without constraints."""
        n = range(len(self.rates_of))
        return not self.constraints and all(self.mass[i][j] == int(i == j) for i in n for j in n)

    @property
    def decays(self) -> bool:
        """Whether laws that decay are to be expected."""
        return not self.mechanical or self.forced

    @property
    def expressions(self) -> list[sp.Expr]:
        """Everything that the rates are made of, and what these were derived from."""
        found = list(self.explicit.values())
        if self.rates_of:
            found += [self.energy_function, *self.forces]  # a logarithm may be in here alone
            found += [e for row in self.mass for e in row] + self.right
            found += [e for row in (*self.jacobian, *self.slopes) for e in row]
            found += [*self.constraints, *self.hidden, *self.bends]
        return [*found, *self.levels]

    @property
    def relations(self) -> list[sp.Expr]:
        """What vanishes on the variety."""
        return [*self.constraints, *self.hidden, *self.levels]

    @cached_property
    def ladder(self) -> list[Rung]:
        """Constraints in triangular form, in the order in which they are solved."""
        return self._triangle(self.constraints, self.positions, "constraints", "coordinate")

    @cached_property
    def steps(self) -> list[Rung]:
        """The level sets in triangular form; with constraints they are solved for velocities."""
        if self.constraints:
            return []
        return self._triangle(self.levels, self.state[::-1], "level sets", "variable")

    def _triangle(self, equations: list[sp.Expr], variables, what: str, one: str) -> list[Rung]:
        for e in equations:
            _of_one_branch(e, set(variables), what)
        found = triangular(equations, list(variables))
        if found is None:
            raise ModelError(
                f"the {what} cannot be solved one by one",
                expected=f"polynomials of the {one}s, each with a {one} of its own in the end",
                received=", ".join(map(str, equations))[:200],
                remedy=f"choose other {one}s; the search needs points of the {what}",
            )
        return found

    # ---- points ------------------------------------------------------------------------------

    def fields(self, ring: Ring, count: int, block: int = 0) -> list[Field]:
        """Fields of primes modulo which there are points; other ones in each `block`.

        A rigid part of a mechanism, or a root of a number, has a place modulo every other prime
        only.
        """
        numbers = [b for b, _ in ring.roots if not b.free_symbols & {*self.state, t}]
        if not (self.constraints or self.levels or numbers):
            return [Field(p, block) for p in islice(downwards(block), count)]
        found = []
        # Of four roots one prime in 16 has all; what is found by many primes needs many.
        for p in islice(downwards(block), max(TRIED, 40 * count)):
            field = Field(p, block)
            try:
                self.moving(ring, field, 1, self.drawn(ring, field), True)
            except ModelError as error:
                if error.what != NOWHERE:
                    raise
                continue
            found.append(Field(p, block))
            if len(found) == count:
                return found
        raise ModelError(NOWHERE)

    def drawn(self, ring: Ring, field: Field) -> dict[sp.Symbol, np.ndarray]:
        """Random values of the parameters, such that roots of them exist."""
        numbers = [x for x in ring.roots if not x[0].free_symbols & {*self.state, t}]
        for _ in range(TRIED if self.parameters else 1):
            chosen = {s: field.random(1) for s in self.parameters}
            if not numbers:
                return chosen
            point = ring.sample(field, {t: field.random(1), **chosen})
            for base, k in numbers:
                point.root(base, k)
            if point.good.all():
                return chosen
        raise ModelError(NOWHERE)

    def moving(self, ring: Ring, field: Field, count: int, parameters: dict, time: bool) -> Moving:
        """At least `count` random points of the variety, with rates."""
        size = OVERSAMPLED * count + 16
        for _ in range(8):
            point = self._points(ring, field, size, parameters, time)
            good = np.flatnonzero(point.good)
            if len(good) >= count:  # rates are for those that are on the variety
                found = self._rated(picked(point, good[: count + SPARE]), time)
                fine = np.flatnonzero(found.point.good)[:count]
                if len(fine) == count:
                    return found.picked(fine)
            size = max(2 * size, int(1.3 * size * count / len(good)) if len(good) else 0)
        raise ModelError(NOWHERE)

    def _drawn(self, ring: Ring, field: Field, size: int, parameters: dict, time: bool) -> Moving:
        """Random points with rates; some of them may be off the variety, see `Point.good`."""
        return self._rated(self._points(ring, field, size, parameters, time), time)

    def _points(self, ring: Ring, field: Field, size: int, parameters: dict, time: bool) -> Point:
        spend(size * (len(self.state) + ROOT * (len(ring.roots) + 8 * len(self.relations))))
        given = {x: field.random(size) for x in self.state}
        if time:
            given[t] = field.random(size)
        for x, value in parameters.items():
            given[x] = np.broadcast_to(value, (size,)).astype(WORD)
        if not (self.constraints or self.levels):
            with_roots(ring, field, given, self.state)
        point = ring.sample(field, given)
        if self.constraints:
            self._place(point, self.ladder, self.constraints)
            self._make_tangent(point)
        elif self.levels:
            self._place(point, self.steps, self.levels)
        for base, k in ring.roots:
            point.root(base, k)
        return point

    def _rated(self, point: Point, time: bool) -> Moving:
        rates = {x: point(e) for x, e in self.explicit.items()}
        if self.rates_of:
            rates |= self._accelerations(point)
        if time:
            rates[t] = np.ones(len(point), dtype=WORD)
        return Moving(point, rates)

    def _place(self, point: Point, ladder: list[Rung], equations: list[sp.Expr]) -> None:
        """Solve equations one after the other."""
        for e, x in ladder:
            rows = [point(c) for c in sp.Poly(e, x).all_coeffs()]
            value, fine = _roots(point.field, rows)
            point.good &= fine
            point.move({x: value})
        for e in equations:
            point.good &= point(e) == 0

    def _make_tangent(self, point: Point) -> None:
        """Change some of the velocities (or momenta) so that h = 0."""
        f, w = point.field, self.rates_of
        wanted = [*self.hidden, *self.levels]
        rows = [*self.slopes, *([e.diff(x) for x in w] for e in self.levels)]
        c = len(wanted)
        slopes = np.array([[point(e) for e in row] for row in rows]).transpose(2, 0, 1)
        pivots = f.pivots(slopes[np.argmax(point.good)])
        if len(pivots) < c:
            raise ModelError(
                "no states of this system can be drawn: its constraints depend on each other, or "
                "cannot be solved one after the other",
                remedy="leave out redundant ones; momenta of a mechanism with rigid bodies are in "
                "the certificate of its runs",
            )
        # h is affine in the velocities (and in the momenta, if H is quadratic in them).
        rest = np.array([point(e) for e in wanted]).T
        change, good = f.solve(slopes[:, :, pivots], f.sub(WORD(0), rest)[:, :, None])
        point.good &= good
        point.move({w[j]: f.add(point(w[j]), change[:, k, 0]) for k, j in enumerate(pivots)})
        for e in wanted:
            point.good &= point(e) == 0

    def _accelerations(self, point: Point) -> dict[sp.Symbol, np.ndarray]:
        f, n, c = point.field, len(self.rates_of), len(self.constraints)
        size = len(point)
        if self.unit_mass:
            return {x: point(e) for x, e in zip(self.rates_of, self.right, strict=True)}
        spend(size * (n + c) ** 3)
        matrix = np.zeros((size, n + c, n + c), dtype=WORD)
        right = np.zeros((size, n + c, 1), dtype=WORD)
        for i in range(n):
            for j in range(n):
                if self.mass[i][j] != 0:
                    matrix[:, i, j] = point(self.mass[i][j])
            right[:, i, 0] = point(self.right[i])
        for k in range(c):
            for i in range(n):
                if self.jacobian[k][i] != 0:
                    matrix[:, i, n + k] = point(self.jacobian[k][i])
                if self.slopes[k][i] != 0:
                    matrix[:, n + k, i] = point(self.slopes[k][i])
            right[:, n + k, 0] = point(self.bends[k])
        found, good = f.solve(matrix, right)
        point.good &= good
        return {x: found[:, i, 0] for i, x in enumerate(self.rates_of)}


def _of_one_branch(equation: sp.Expr, variables: set[sp.Symbol], what: str) -> None:
    """Refuse a product: points of one of its factors show laws that the others need not keep."""
    top = sp.fraction(sp.together(equation))[0]
    factors = [e for e, _ in sp.factor_list(top)[1] if e.free_symbols & variables]
    if len(factors) > 1:
        raise ModelError(
            f"laws are not searched where {what} are products: each factor is a branch of its own, "
            "and may have laws of its own",
            expected=f"{what} that cannot be factored",
            received=f"{equation}, of the factors {' and '.join(map(str, factors))}"[:200],
            remedy=f"give the factor that the motion is on, such as {factors[0]}",
        )


def _roots(field: Field, rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """One root at each point of the polynomials with these coefficients, highest first."""
    if len(rows) == 2:
        a, b = rows
        return field.mul(field.sub(WORD(0), b), field.inverse(a)), a != 0
    if len(rows) == 3:
        a, b, c = rows
        square = field.sub(field.mul(b, b), field.mul(WORD(4), field.mul(a, c)))
        root, good = field.root(square, 2)
        flip = field.rng.integers(0, 2, size=len(a)).astype(bool)
        root = np.where(flip, field.sub(WORD(0), root), root)
        over = field.inverse(field.mul(WORD(2), a))
        return field.mul(field.sub(root, b), over), good & (a != 0)
    found, good = np.zeros(len(rows[0]), dtype=WORD), np.zeros(len(rows[0]), dtype=bool)
    for i, coefficients in enumerate(np.array(rows).T[:, ::-1].tolist()):
        roots = nmod_poly(coefficients, field.p).roots()
        if roots:
            found[i], good[i] = int(roots[i % len(roots)][0]), True
    return found, good


def picked(p: Point, rows: np.ndarray) -> Point:
    """Some of the points."""
    return Point(
        p.ring,
        p.field,
        {e: v[rows] for e, v in p.values.items()},
        p.good[rows],
        [x[rows] for x in p.bases],
        [(a[rows], b[rows]) for a, b in p.turns],
        {k: v[rows] for k, v in p.powers.items()},
        {k: v[rows] for k, v in p.roots.items()},
    )
