r"""The action as a sum of groups of summands, each with an equation of its own.

Noether's identity is linear in the action.  With ξ₀, ξ, G that are polynomials of t and q,
summands with different roots, poles, exponentials or angles, such as 1/r₁₂ and 1/r₁₃, cannot make
up for each other.  So each group of summands that share any of these has an equation of its own,
which knows few variables.  What is a polynomial, or may leave one behind (a pole whose numerator
moves, a logarithm), belongs to the base, and with it the gauge.

Many groups are alike but for the names of their coordinates and a constant factor, as those of
pairs of bodies are: they have one `Kind`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field as filled
from functools import cached_property

import numpy as np
import sympy as sp

from taut.errors import ModelError
from taut.laws.budget import spend
from taut.laws.dynamics import picked
from taut.laws.field import WORD, Field
from taut.laws.ring import FREE, Point, Ring, terms, tidy
from taut.laws.squares import with_roots
from taut.model import System, t

DRAWN = 8  # times as many points are drawn where roots or poles may leave some out
ROUNDS = 6  # how often their number is raised
FACTORED = 2  # symbols up to which denominators are factored: of pairs of bodies that takes long

ZERO = sp.Integer(0)
BASE = "base"


@dataclass
class Group:
    """Summands of the action, and forces by coordinate, that are to vanish together.

    `names` are its coordinates and their rates as the `kind` knows them.
    """

    energy: list[sp.Expr] = filled(default_factory=list)
    forces: dict[int, list[sp.Expr]] = filled(default_factory=dict)
    base: bool = False  # the one that holds the gauge
    row: sp.Expr | None = None  # a constraint, instead of the rest
    still: bool = False  # an argument of a function: it must not change
    own: list[int] = filled(default_factory=list)  # coordinates that occur, also by their rates
    names: dict[sp.Symbol, sp.Symbol] = filled(default_factory=dict)
    kind: Kind | None = None


@dataclass
class Kind:
    """What multiplies ξ₀, ξ̇₀, ξ, ξ̇ in the identity, and what Hamilton's q̇ is, by expressions."""

    first: sp.Expr = ZERO
    second: sp.Expr = ZERO
    places: dict[int, sp.Expr] = filled(default_factory=dict)
    rates: dict[int, sp.Expr] = filled(default_factory=dict)
    flows: dict[int, sp.Expr] = filled(default_factory=dict)
    sample: Point | None = None

    def every(self) -> list[sp.Expr]:
        """All of them."""
        parts = (self.places, self.rates, self.flows)
        return [self.first, self.second, *(e for x in parts for e in x.values())]


class Summands:
    """The action of one system, or −H, and its groups.

    Parameters
    ----------
    model : System
    fixed : mapping, optional
        Numbers for parameters.
    """

    def __init__(self, model: System, fixed: Mapping[sp.Symbol, sp.Expr] | None = None) -> None:
        self.model, self.fixed = model, dict(fixed or {})
        self.lagrangian = model.form == "lagrangian"
        self.positions = list(model.coordinates)
        self.rates_of = list(model.velocities if self.lagrangian else model.momenta)
        self.n = len(self.positions)
        self.state = [*self.positions, *self.rates_of]
        self.place = {x: i for i, x in enumerate(self.positions)}
        self.speed = {x: i for i, x in enumerate(self.rates_of)}
        self.moving = {*self.state, t}
        self._kinds: dict[tuple, Kind] = {}
        self._gradients: dict[sp.Expr, dict[sp.Symbol, sp.Expr]] = {}
        self._local: list[tuple[sp.Symbol, sp.Symbol]] = []
        self.frozen = False  # whether time may not be stretched: of some functions T is not known
        energy = sp.expand_mul(self._tidy(model.energy_function), deep=False)
        self.energy = energy if self.lagrangian else -energy
        self.summands = sp.Add.make_args(sp.expand_mul(self.energy, deep=False))
        self.forces = self._forces()
        self.constraints = [self._tidy(e) for e in model.constraints]
        self.groups = list(self._groups())
        used = [self.energy, *self.forces.values(), *self.constraints]
        symbols = set().union(*(e.free_symbols for e in used)) - self.moving
        self.parameters = sorted(symbols, key=lambda s: s.name)

    def _tidy(self, e: sp.Expr) -> sp.Expr:
        return tidy(e).xreplace(self.fixed)

    def _forces(self) -> dict[int, sp.Expr]:
        inner: dict = {}
        if not self.lagrangian and self.model.forced:
            inner = {v: self.velocity(i) for i, v in enumerate(self.model.velocities)}
        found = {i: self._tidy(f).xreplace(inner) for i, f in enumerate(self.model.forces)}
        return {i: f for i, f in found.items() if f != 0}

    def velocity(self, i: int) -> sp.Expr:
        """q̇ of a coordinate, in the state."""
        if self.lagrangian:
            return self.rates_of[i]
        return -sum((e.diff(self.rates_of[i]) for e in self.summands), sp.Integer(0))

    @cached_property
    def momenta(self) -> list[sp.Expr]:
        """∂L/∂q̇ for each coordinate, or p."""
        if not self.lagrangian:
            return list(self.rates_of)
        parts: list[list[sp.Expr]] = [[] for _ in self.positions]
        for e in self.summands:
            for x in e.free_symbols & set(self.speed):
                parts[self.speed[x]].append(e.diff(x))
        return [sp.Add(*x) for x in parts]

    @cached_property
    def mass(self) -> dict[tuple[int, int], sp.Expr] | None:
        """The entries of M that are not zero; None if they are not constant."""
        found: dict[tuple[int, int], sp.Expr] = {}
        for e in self.summands:
            own = [x for x in e.free_symbols if x in self.speed]
            for x in own:
                slope = e.diff(x)
                for y in own:
                    m = slope.diff(y)
                    if m != 0:
                        key = (self.speed[x], self.speed[y])
                        found[key] = sp.expand(found.get(key, sp.Integer(0)) + m)
        found = {key: m for key, m in found.items() if m != 0}
        if any(m.free_symbols & self.moving for m in found.values()):
            return None
        return found

    @cached_property
    def gyroscopic(self) -> bool:
        """Whether there are terms linear in q̇."""
        rest = dict.fromkeys(self.rates_of, sp.Integer(0))
        for e in self.summands:
            own = [x for x in e.free_symbols if x in self.speed]
            if any(e.diff(x).xreplace(rest) != 0 for x in own):
                return True
        return False

    # ---- groups ------------------------------------------------------------------------------

    def _groups(self) -> Iterator[Group]:
        """What has an equation of its own."""
        base = Group(base=True)
        groups: list[tuple[set, Group]] = [({BASE}, base)]
        every = [(None, e) for e in self.summands]
        every += [(i, e) for i, f in self.forces.items() for e in sp.Add.make_args(f)]
        for i, e in every:
            if not _known(e):
                # A force of unknown form does nothing where its coordinate and time stay.
                alone = _arguments(e) if i is None else [self.positions[i], t]
                yield from (self._ready(Group(still=True, energy=[x])) for x in alone)
                self.frozen = True
                continue
            marks = self._marks(e) or {BASE}
            met = [x for x in groups if x[0] & marks]
            groups = [x for x in groups if not any(x is y for y in met)]
            group = next((g for _, g in met if g.base), met[0][1] if met else Group())
            for own, g in met:
                marks |= own
                if g is not group:
                    group.energy += g.energy
                    for k, parts in g.forces.items():
                        group.forces.setdefault(k, []).extend(parts)
            groups.append((marks, group))
            if i is None:
                group.energy.append(e)
            else:
                group.forces.setdefault(i, []).append(e)
        groups.sort(key=lambda x: not x[1].base)
        yield from (self._ready(g) for _, g in groups)
        yield from (self._ready(Group(row=e)) for e in self.constraints)

    def _marks(self, e: sp.Expr) -> set:
        """The roots, poles and arguments of functions in a summand; and the base, see above."""
        marks: set = set()
        top = any(x.free_symbols & self.moving and _is_entire(x) for x in sp.Mul.make_args(e))
        for x in e.atoms(sp.Pow, sp.Function):
            if not x.free_symbols & self.moving:
                continue
            if isinstance(x, sp.exp | sp.sin | sp.cos):
                atoms = terms(x.args[0])
                marks |= {("argument", a) for a in atoms if a.free_symbols & self.moving}
            elif isinstance(x, FREE):
                marks |= {x.args[0], BASE}
            elif isinstance(x, sp.Pow) and not (x.exp.is_Integer and x.exp > 0):
                marks.add(x.base)
                if x.exp.is_Integer:
                    marks |= _factors(x.base) | ({BASE} if top else set())
        return marks

    def _ready(self, group: Group) -> Group:
        """With its kind, which is shared with all groups that are alike."""
        every = [*group.energy, *(e for f in group.forces.values() for e in f)]
        every = [group.row] if group.row is not None else every
        if len(group.energy) == 1 and not (group.forces or group.base or group.still):
            # A constant factor does not matter where everything has it.
            group.energy = [group.energy[0].as_independent(*self.moving, as_Add=False)[1]]
            every = group.energy
        used = set().union(*(e.free_symbols for e in every)) if every else set()
        own = {self.place[x] for x in used if x in self.place} | set(group.forces)
        own |= {self.speed[x] for x in used if x in self.speed}
        if group.row is not None or (group.forces and not self.lagrangian):
            own = set(range(self.n))  # combinations of constraints, and q̇, hold all of them
        group.own = sorted(own)
        while len(self._local) < len(group.own):
            k = len(self._local)
            self._local.append((_named("q", k), _named("w", k)))
        for k, i in enumerate(group.own):
            group.names[self.positions[i]], group.names[self.rates_of[i]] = self._local[k]
        return group

    def kind(self, group: Group) -> Kind:
        """The identity of a group, by what multiplies the unknown functions."""
        if group.kind is None:
            local = {i: k for k, i in enumerate(group.own)}
            row = None if group.row is None else group.row.xreplace(group.names)
            energy = [e.xreplace(group.names) for e in group.energy]
            push = {
                local[i]: sp.Add(*parts).xreplace(group.names) for i, parts in group.forces.items()
            }
            velocities = {k: self.velocity(i) for i, k in local.items() if k in push}
            key = (group.base, group.still, row, *energy, *push.items(), *velocities.items())
            if key not in self._kinds:
                pull = {k: v.xreplace(group.names) for k, v in velocities.items()}
                alone = group.still or row is not None
                energy = [row] if row is not None else energy
                self._kinds[key] = self._derived(energy, push, pull, alone)
            group.kind = self._kinds[key]
        return group.kind

    def _derived(
        self, energy: list, push: dict[int, sp.Expr], velocities: dict[int, sp.Expr], alone: bool
    ) -> Kind:
        found = Kind()
        place = {q: k for k, (q, _) in enumerate(self._local)}
        speed = {w: k for k, (_, w) in enumerate(self._local)}
        whole = sp.Add(*energy)
        for x, slope in self._gradient(whole):
            if x == t:
                found.first = slope
            elif x in place:
                found.places[place[x]] = slope
            elif x in speed and self.lagrangian:
                found.rates[speed[x]] = slope
            elif x in speed:
                found.flows[speed[x]] = -slope
        found.second = -sp.Add(*(e * self._local[k][1] for k, e in found.rates.items()))
        if not alone:
            found.second += whole
        for k, e in push.items():
            found.places[k] = found.places.get(k, sp.Integer(0)) + e
            found.first -= e * velocities[k]
        return found

    def _gradient(self, e: sp.Expr) -> Iterator[tuple[sp.Symbol, sp.Expr]]:
        parts: dict[sp.Symbol, list[sp.Expr]] = {}
        local = {t, *(x for pair in self._local for x in pair)}
        for summand in sp.Add.make_args(e):
            spend()
            for x in summand.free_symbols & local:
                parts.setdefault(x, []).append(summand.diff(x))
        yield from ((x, sp.Add(*slopes)) for x, slopes in parts.items())

    # ---- points ------------------------------------------------------------------------------

    def points(self, group: Group, field: Field, values: Mapping, count: int) -> Point | None:
        """Random places of a kind at which all of it has a value, kept; None if there are none."""
        kind = self.kind(group)
        sample = kind.sample
        if sample is None or sample.field is not field or len(sample) < count:
            more = [] if group.row is None else [e.xreplace(group.names) for e in self.constraints]
            kind.sample = self.drawn([*kind.every(), *more], group, field, values, count)
        return kind.sample

    def drawn(
        self, expressions: list[sp.Expr], group: Group, field: Field, values: Mapping, count: int
    ) -> Point | None:
        """Random places at which these expressions in a group's names have values."""
        state = [group.names[x] for x in self.state if x in group.names]
        known = [*state, *self.parameters, t]
        ring = Ring(expressions, known)
        size = count
        for _ in range(ROUNDS):
            given = {x: field.random(size) for x in (*state, t)}
            for s, v in values.items():
                given[s] = np.broadcast_to(v, (size,)).astype(WORD).copy()
            spend(size * (len(known) + 48 * len(ring.roots)))
            with_roots(ring, field, given, state)
            point = ring.sample(field, given)
            for u, k in ring.roots:
                point.root(u, k)
            for e in expressions:
                point(e)
            if point.good.sum() >= count:
                return picked(point, np.flatnonzero(point.good)[:count])
            size = DRAWN * size
        return None


def _named(letter: str, k: int) -> sp.Dummy:
    return sp.Dummy(f"{letter}{k}", real=True, dummy_index=k + (10**6 if letter == "q" else 10**7))


def _factors(pole: sp.Expr) -> set[sp.Expr]:
    """What a denominator may share with another one: its factors, if there are few variables."""
    if len(pole.free_symbols) <= FACTORED and pole.is_polynomial():
        return {e for e, _ in sp.factor_list(pole)[1]}
    return {pole}


def _is_entire(e: sp.Expr) -> bool:
    """Whether a factor has no poles, roots or functions."""
    return e.is_Symbol or e.is_Add or (e.is_Pow and e.exp.is_Integer and e.exp > 0)


def _known(e: sp.Expr) -> bool:
    try:
        Ring([e], {*e.free_symbols})
    except ModelError:
        return False
    return True


def _arguments(e: sp.Basic) -> list[sp.Expr]:
    """Expressions with values modulo a prime, of which this one is made."""
    if isinstance(e, sp.Expr) and _known(e):
        return [e] if e.free_symbols else []
    return [x for argument in e.args for x in _arguments(argument)]


__all__ = ["Group", "Kind", "Summands"]
