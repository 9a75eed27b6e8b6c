r"""Symmetries of the action that are affine in the coordinates: momenta need no search.

    ξ₀ = a₀ + a₁ t + a₂ t²,   ξ = (A + a₂ t) q + b₀ + … + b₃ t³,   G a polynomial of t and q,

are translations and rotations of space and time, boosts and scalings, in whatever coordinates and
however these make up points.  Noether's identity (`taut.laws.noether`) is linear in them, and in
the action: it is a sum over the summands of L (of −H) and the forces,

    Σ_T [T_t ξ₀ + T_q·ξ + T_q̇·(ξ̇ − q̇ ξ̇₀) + T ξ̇₀] + f·(ξ − q̇ ξ₀) + Ġ = 0,

and each group of summands that share roots or poles has an equation of its own
(`taut.laws.summands`), at random points modulo a prime of its few variables alone.  That is cheap
for any number of bodies.

With a constant mass matrix M the quadratic part in q̇ asks for A = M⁻¹S + a₁/2 with S = −Sᵀ, and
the linear one for G = −ξ_t·M q; these are built in.  Of many coordinates S turns only those into
each other that occur in the same groups.  Constraints must be invariant as they stand: the change
g_q·ξ + g_t ξ₀ is a combination of the g with constant coefficients, which suffices.  Where a
summand holds functions that have no values modulo a prime, their arguments must stay what they are.

What is found modulo p is proved: the identity, group by group, has the normal form zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp

from taut.laws.budget import spend
from taut.laws.field import WORD, Field, downwards, rational
from taut.laws.law import Symmetry
from taut.laws.proof import Forms, TooLarge
from taut.laws.ring import Point, Ring
from taut.laws.scale import of_unit_motion
from taut.laws.summands import Group, Summands
from taut.laws.symmetry import kind_of, tidied
from taut.laws.unknowns import HIGHEST, Monomial, Unknowns
from taut.model import System, t

SMALL = 1000  # numerators and denominators that one prime tells
SPARE = 8  # more points than unknowns
FRESH = 24  # points modulo each of two primes, where a normal form is too large
STACK, LEAST = 1.5, 200  # times as many equations as unknowns are solved at once, and more


@dataclass(frozen=True)
class AffineSymmetry:
    """A symmetry and its law; `formal` if it was proved by normal forms."""

    symmetry: Symmetry
    expression: sp.Expr
    kind: str
    formal: bool


class Affine:
    """The affine symmetries of one system.

    Parameters
    ----------
    model : System
    fixed : mapping, optional
        Numbers for parameters.

    Attributes
    ----------
    missed : int
        Symmetries modulo a prime whose numbers could not be told.
    limits : str
        What was left out, since there are too many coordinates.
    """

    def __init__(self, model: System, fixed: Mapping[sp.Symbol, sp.Expr] | None = None) -> None:
        self.action = Summands(model, fixed)
        self.unknowns = Unknowns(self.action)
        self.n, self.limits = self.action.n, self.unknowns.limits
        self.positions, self.rates_of = self.action.positions, self.action.rates_of
        self.state, self.parameters = self.action.state, self.action.parameters
        self.columns, self.gauges = self.unknowns.columns, self.unknowns.gauges
        self.missed = 0
        self._told: set[int] = set()
        self._zeros: dict[tuple, bool] = {}
        self._table: np.ndarray | None = None

    def found(self) -> list[AffineSymmetry]:
        """All of them, each proved; time translation first."""
        plain = self.plain()
        return [*plain, *self.others()]

    def plain(self) -> list[AffineSymmetry]:
        """Translations, boosts and rotations of points, each proved: these are few unknowns."""
        return self._among(self.unknowns.plain)

    def others(self) -> list[AffineSymmetry]:
        """All that are no sums of those which were found before."""
        return self._among([c for c in range(len(self.columns)) if c not in self._told])

    def _among(self, chosen: list[int]) -> list[AffineSymmetry]:
        """Those that are made of the chosen columns."""
        basis = self._basis(chosen)
        rows = [row for row in basis if row[self.gauges :].any()]
        found = [parts for row in rows if (parts := self._recovered(row, self._field)) is not None]
        together = self._together(found)
        made = []
        for parts in found:
            formal = True if together else self._proved(parts)
            if formal is not None:
                made.append(self._made(parts, formal))
        self.missed += len(rows) - len(made)
        # Of all solutions, those without one column of each of these are what they do not span.
        self._told |= {int(np.flatnonzero(row)[-1]) for row in rows}
        return made

    # ---- modulo a prime ----------------------------------------------------------------------

    @cached_property
    def _field(self) -> Field:
        return Field(next(downwards(9)), 9)

    @cached_property
    def _values(self) -> dict[sp.Symbol, np.ndarray]:
        return {s: self._field.random(1) for s in self.parameters}

    def _basis(self, chosen: list[int]) -> np.ndarray:
        """What satisfies the equations of all groups; they are solved some at a time."""
        basis = np.ascontiguousarray(np.eye(len(self.columns), dtype=WORD)[chosen])
        used = {self._features[u, m] for c in chosen for u, m, _ in self.columns[c]}
        stack: list[np.ndarray] = []
        for group in self.action.groups:
            rows = self._rows(group, used, len(basis))
            if rows is None:
                return basis[:0]
            stack.append(rows)
            if group.base or sum(map(len, stack)) > STACK * len(basis) + LEAST:
                spend(sum(map(len, stack)) * len(self.columns) * len(basis))
                basis, stack = self._field.null_within(basis, np.vstack(stack)), []
            if not len(basis):
                return basis
        return self._field.null_within(basis, np.vstack(stack)) if stack else basis

    @cached_property
    def _features(self) -> dict[tuple[int, Monomial], int]:
        keys = dict.fromkeys((u, m) for column in self.columns for u, m, _ in column)
        return {key: i for i, key in enumerate(keys)}

    @cached_property
    def _by_function(self) -> dict[int, list[tuple[Monomial, int]]]:
        """The features of ξ₀ (0), of each ξᵢ (i + 1) and of G (n + 1)."""
        found: dict[int, list[tuple[Monomial, int]]] = {}
        for (u, m), at in self._features.items():
            found.setdefault(u, []).append((m, at))
        return found

    def _seen(self, group: Group) -> list[tuple[int, Monomial, int]]:
        """The features that the equation of a group holds."""
        chosen = [0, *(i + 1 for i in group.own)]
        if not self.action.lagrangian and group.base:
            chosen = [0, *(i + 1 for i in range(self.n))]
        if group.base or not self.action.lagrangian:
            chosen.append(self.n + 1)
        return [(u, m, at) for u in chosen for m, at in self._by_function.get(u, ())]

    def _rows(self, group: Group, used: set[int], most: int) -> np.ndarray | None:
        """Equations at points, for columns of the `used` features; None if there are no points."""
        field, values = self._field, self._values
        seen = [x for x in self._seen(group) if x[2] in used]
        count = min(most, len(seen)) + SPARE + len(self.action.constraints)
        point = self.action.points(group, field, values, count)
        if point is None:
            return None
        spend(len(point) * len(seen) * (4 + most))
        table = self._filled(seen, group, point)
        numbers = self._numbers(field, values)[[at for _, _, at in seen]]
        columns = np.flatnonzero(numbers.any(axis=0))
        rows = np.zeros((len(table), numbers.shape[1]), dtype=WORD)
        rows[:, columns] = field.dot(table, np.ascontiguousarray(numbers[:, columns]))
        if group.row is not None:
            # Weights that take away every combination of the constraints.
            own = [e.xreplace(group.names) for e in self.action.constraints]
            left = np.array([point(e) for e in own], dtype=WORD)
            rows = field.dot(field.null_space(np.ascontiguousarray(left)), rows)
        return rows

    def _numbers(self, field: Field, values: dict) -> np.ndarray:
        """What the unknowns are made of, modulo p: (monomials of ξ₀, ξ and G, unknowns)."""
        if self._table is None:
            self._table = np.zeros((len(self._features), len(self.columns)), dtype=WORD)
            own = {x for column in self.columns for _, _, x in column}
            ring = Ring(own, self.parameters)
            drawn = Point(ring, field, dict(values), np.ones(1, bool))
            for c, column in enumerate(self.columns):
                for u, m, x in column:
                    at = self._features[u, m]
                    residue = np.uint64(field.number(x)) if x.is_Rational else drawn(x)[0]
                    self._table[at, c] = field.add(self._table[at, c], residue)
        return self._table

    def _filled(self, seen: list, group: Group, point: Point) -> np.ndarray:
        """The identity for every unknown function and monomial that a group sees."""
        action, kind = self.action, self.action.kind(group)
        f, n, names, base = point.field, self.n, group.names, group.base
        first, second = point(kind.first), point(kind.second)
        places, rates, flows = (
            {group.own[k]: point(e) for k, e in x.items()}
            for x in (kind.places, kind.rates, kind.flows)
        )
        q: dict[int, np.ndarray] = {}
        v: dict[int, np.ndarray] = {}
        for i, (x, w) in enumerate(zip(self.positions, self.rates_of, strict=True)):
            inside = x in names
            q[i] = point(names[x]) if inside else f.random(len(point))
            v[i] = point(names[w]) if inside else f.random(len(point))
        powers = [np.ones(len(point), dtype=WORD)]
        for _ in range(HIGHEST):
            powers.append(f.mul(powers[-1], point(t)))
        zero = np.zeros(len(point), dtype=WORD)

        def value(chosen: tuple[int, ...], k: int) -> np.ndarray:
            total = powers[k]
            for i in chosen:
                total = f.mul(total, q[i])
            return total

        def slope(chosen: tuple[int, ...], k: int) -> np.ndarray:
            """∂/∂t."""
            return f.mul(value(chosen, k - 1), WORD(k)) if k else zero

        def along(chosen: tuple[int, ...], k: int) -> np.ndarray:
            """q̇·∂/∂q, with this group's share of q̇."""
            total = zero
            for place, i in enumerate(chosen):
                speed = v[i] if action.lagrangian else flows.get(i)
                if speed is not None:
                    rest = (*chosen[:place], *chosen[place + 1 :])
                    total = f.add(total, f.mul(value(rest, k), speed))
            return total

        def entry(u: int, chosen: tuple[int, ...], k: int) -> np.ndarray:
            if u == 0:
                return f.add(f.mul(first, value(chosen, k)), f.mul(second, slope(chosen, k)))
            if u == n + 1:
                rate = along(chosen, k)
                return f.add(rate, slope(chosen, k)) if base else rate
            i, total = u - 1, zero
            if i in places:
                total = f.mul(places[i], value(chosen, k))
            if action.lagrangian and i in rates:
                rate = f.add(slope(chosen, k), along(chosen, k))
                total = f.add(total, f.mul(rates[i], rate))
            if not action.lagrangian:
                rate = along(chosen, k)
                rate = f.add(rate, slope(chosen, k)) if base else rate
                total = f.add(total, f.mul(v[i], rate))
            return total

        columns = [entry(u, chosen, k) for u, (chosen, k), _ in seen]
        return np.array(columns, dtype=WORD).reshape(len(seen), len(point)).T

    # ---- as expressions ----------------------------------------------------------------------

    def _recovered(self, row: np.ndarray, field: Field) -> list[sp.Expr] | None:
        """ξ₀, ξ and G, with the numbers solved for that a prime does not tell."""
        spend()
        n = self.n
        sums: list[list[sp.Expr]] = [[] for _ in range(n + 2)]
        unknown = []
        for c in np.flatnonzero(row):
            x = _small(int(row[c]), field) if c >= self.gauges else None
            if x is None:
                unknown.append(x := sp.Dummy(f"g{c}", real=True))
            for u, m, factor in self.columns[c]:
                sums[u].append(x * factor * self._monomial(m))
        parts = [sp.Add(*x) for x in sums]
        table = self._solved(parts, unknown)
        if table is None:
            return None
        parts = [sp.expand(e.xreplace(table)) for e in parts]
        if parts[0] == 1 and not any(parts[1 : n + 1]):
            parts = [-e for e in parts]  # so that the energy has its own sign
        return parts

    def _monomial(self, m: Monomial) -> sp.Expr:
        return sp.Mul(*(self.positions[i] for i in m[0]), t ** m[1])

    def _solved(self, parts: list[sp.Expr], unknown: list[sp.Dummy]) -> dict | None:
        """Numbers that are no small fractions, such as those of parameters, and those in G."""
        equations: dict[tuple, sp.Expr] = {}
        for place, group in enumerate(self.action.groups if unknown else []):
            left = self._left(group, parts)
            if not left.free_symbols & set(unknown):
                continue
            forms = self._forms([left], unknown)
            try:
                top = forms._by_functions(forms(left).top)
            except TooLarge:
                return None
            number = {forms.symbols[s]: s for s in (*unknown, *self.parameters)}
            moving = [k for name, k in forms.number.items() if name not in number]
            for exponents, c in top.to_dict().items():
                key = (place, *(exponents[k] for k in moving))
                powers = (s ** int(exponents[forms.number[x]]) for x, s in number.items())
                term = sp.Mul(sp.Rational(int(c.p), int(c.q)), *powers)
                equations[key] = equations.get(key, sp.Integer(0)) + term
        solved = sp.solve(list(equations.values()), unknown, dict=True) if unknown else [{}]
        if len(solved) != 1 or set(solved[0]) != set(unknown):
            return None
        return {g: sp.cancel(x) for g, x in solved[0].items()}

    def _forms(self, expressions: list[sp.Expr], more: Iterable[sp.Symbol] = ()) -> Forms:
        used = set().union(*(e.free_symbols for e in expressions))
        known = {*self.parameters, *more, t}
        state = [x for x in used if x not in known]
        state.sort(key=lambda x: (x.name, sp.default_sort_key(x)))
        stub = _Free(state, [*self.parameters, *more], state, [])
        ring = Ring(expressions, [*state, *stub.parameters, t])
        return Forms(stub, ring)  # type: ignore[arg-type]

    def _left(self, group: Group, parts: list[sp.Expr]) -> sp.Expr:
        """The identity of a group, in its names, for functions that are written down."""
        return self._identity(group, *self._inside(group, parts))

    def _inside(self, group: Group, parts: list[sp.Expr]) -> tuple:
        """ξ₀, the ξ of the coordinates that a group has, and G, in its names."""
        every = group.own
        if not self.action.lagrangian and group.base:
            every = range(self.n)
        names = group.names
        xi = {i: parts[i + 1].xreplace(names) for i in every if parts[i + 1] != 0}
        return parts[0], xi, parts[-1].xreplace(names)

    def _identity(self, group: Group, xi0: sp.Expr, xi: dict, gauge: sp.Expr) -> sp.Expr:
        action, s = self.action, self.action.kind(group)
        alone = group.row is not None or group.still
        named = {group.names.get(x, x): i for i, x in enumerate(self.positions)}
        place = {i: k for k, i in enumerate(group.own)}
        speed = [group.names.get(w, w) for w in self.rates_of]

        def rate(e: sp.Expr, timed: bool = True) -> sp.Expr:
            along = []
            spend()
            for x in e.free_symbols & set(named):
                i = named[x]
                own = speed[i] if action.lagrangian else s.flows.get(place.get(i, -1))
                along += [] if own is None else [e.diff(x) * own]
            return sp.Add(e.diff(t) if timed else 0, *along)

        total = [a * b for a, b in ((s.first, xi0), (s.second, xi0.diff(t))) if b != 0]
        total += [e * xi[i] for k, e in s.places.items() if (i := group.own[k]) in xi]
        total += [e * rate(xi[i]) for k, e in s.rates.items() if (i := group.own[k]) in xi]
        if not action.lagrangian and not alone:
            total += [speed[i] * rate(e, group.base) for i, e in xi.items()]
        if group.base or not (action.lagrangian or alone):
            total.append(rate(gauge, group.base))
        return sp.Add(*total)

    def _together(self, found: list[list[sp.Expr]]) -> bool:
        """Whether a general sum of all of them has the normal form zero in every group."""
        weights = [sp.Dummy(f"c{k}", real=True, dummy_index=k) for k in range(len(found))]
        parts = [
            sp.Add(*(c * e for c, e in zip(weights, same, strict=True)))
            for same in zip(*found, strict=True)
        ]
        for group in self.action.groups if found else []:
            spend()
            if not self._holds(group, parts, weights):
                return False
        return True

    def _holds(self, group: Group, parts: list[sp.Expr], more: Iterable[sp.Symbol] = ()) -> bool:
        """By normal form; groups that are alike, for the same functions, are looked at once."""
        xi0, xi, gauge = self._inside(group, parts)
        place = {i: k for k, i in enumerate(group.own)}
        own = tuple((place.get(i, -i - 1), e) for i, e in xi.items())
        key = (id(self.action.kind(group)), group.base, xi0, own, gauge if group.base else 0)
        if not self.action.lagrangian:
            key = (*key, gauge)
        if key not in self._zeros:
            left = self._identity(group, xi0, xi, gauge)
            try:
                forms = self._forms([left], more)
                self._zeros[key] = left == 0 or forms._by_functions(forms(left).top) == 0
            except TooLarge:
                self._zeros[key] = False
        return self._zeros[key]

    def _proved(self, parts: list[sp.Expr]) -> bool | None:
        """Whether all groups' identities hold: by normal form, at points (False), or not (None)."""
        formal = True
        for group in self.action.groups:
            spend()
            if self._holds(group, parts):
                continue
            if not self._vanishes(group, self._left(group, parts)):
                return None
            formal = False
        return formal

    def _vanishes(self, group: Group, left: sp.Expr) -> bool:
        """At random points modulo two primes; of a constraint but for combinations of them."""
        own = [e.xreplace(group.names) for e in self.action.constraints]
        own = [] if group.row is None else own
        for block in (10, 11):
            field = Field(next(downwards(block)), block)
            values = {s: field.random(1) for s in self.parameters}
            count = FRESH + len(own)
            point = self.action.drawn([left, *own], group, field, values, count)
            if point is None:
                return False
            rest = point(left)[:, None]
            if own:
                rows = np.array([point(e) for e in own], dtype=WORD)
                rest = field.dot(field.null_space(np.ascontiguousarray(rows)), rest)
            if rest.any():
                return False
        return True

    # ---- laws --------------------------------------------------------------------------------

    def _made(self, parts: list[sp.Expr], formal: bool) -> AffineSymmetry:
        law = self._law(parts)
        symmetry = Symmetry(parts[0], tuple(parts[1:-1]), parts[-1], True)
        kind = kind_of(self, law, symmetry)  # type: ignore[arg-type]
        law, symmetry = of_unit_motion(law, kind, symmetry, set(self.state))
        return AffineSymmetry(symmetry, law, kind, formal)

    def _law(self, parts: list[sp.Expr]) -> sp.Expr:
        """SGM (5); of a Hamiltonian −H ξ₀ + p·ξ + G."""
        xi0, *xi, gauge = parts
        total = [gauge, self.action.energy * xi0 if xi0 != 0 else xi0]  # SymPy looks long at 0 · L
        for i, (p, e) in enumerate(zip(self.action.momenta, xi, strict=True)):
            spend()
            shift = xi0 != 0 and self.action.lagrangian
            eta = e - self.rates_of[i] * xi0 if shift else e
            if eta != 0:
                total.append(tidied(p * eta))
        return tidied(sp.Add(*total))


@dataclass
class _Free:
    """What `Forms` asks of a motion, without constraints."""

    state: list[sp.Symbol]
    parameters: list[sp.Symbol]
    positions: list[sp.Symbol]
    rates_of: list[sp.Symbol]


def _small(residue: int, field: Field) -> sp.Rational | None:
    found = rational(residue, field.p)
    return sp.Rational(*found) if found and max(abs(found[0]), found[1]) < SMALL else None


__all__ = ["Affine", "AffineSymmetry"]
