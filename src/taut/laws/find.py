"""`conserved`: every law in an ansatz that grows, without products of lower ones."""

from __future__ import annotations

import time as clock
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field as filled, replace
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, overload

import numpy as np
import sympy as sp

from taut.calls import public
from taut.errors import InputError, listed, number, whole as checked_whole
from taut.laws.affine import Affine, AffineSymmetry
from taut.laws.budget import Spent, spend
from taut.laws.check import (
    NORMAL_FORM,
    checked,
    degree_of,
    gradient_ranks,
    model_of,
    with_values,
)
from taut.laws.complete import Counted, counted, statement
from taut.laws.course import COLUMNS, about, searched
from taut.laws.decay import decaying, rate_of
from taut.laws.dynamics import Dynamics, Moving
from taut.laws.field import WORD, Field
from taut.laws.generators import constants, generators
from taut.laws.jets import Integrals, Work
from taut.laws.law import Law, Laws, Symmetry
from taut.laws.level import condition_of, levels_of
from taut.laws.present import presented, simplest
from taut.laws.proof import Forms, proved
from taut.laws.recover import coefficients, plain
from taut.laws.ring import Ring, Tangled, tidy
from taut.laws.scale import of_unit_motion
from taut.laws.search import SPARE, Ansatz, Search
from taut.laws.spelling import in_given_symbols
from taut.laws.symmetry import kind_of, symmetry_of, tidied
from taut.model import Flow, Mechanism, System, t

MOST = 4000  # columns at all
FARTHEST = 8  # and where a bound says that there is more
CANCEL = 1  # degrees by which products may be higher than what is left of them
PLAIN = ("energy", "momentum", "angular momentum")  # shown even if products of others give them
VERIFYING = 2  # a block of primes that the search does not use
FRESH = 40  # points modulo each of two other primes at which a law is checked


@dataclass
class Found:
    """A law that has been found, the degree of the ansatz, and the rate of its decay."""

    expression: sp.Expr
    degree: int
    rate: sp.Expr | int = 0
    energy: bool = False
    formal: bool = False  # whether it was proved by a normal form when it was found
    terms: dict[sp.Expr, sp.Expr] = filled(default_factory=dict)


class Finder:
    """A search under way: what is known so far."""

    def __init__(
        self,
        model: System | Flow,
        functions: Iterable[Any],
        time: int | None,
        on: Iterable[Any] = (),
        fixed: Mapping[sp.Symbol, sp.Rational] | None = None,
    ) -> None:
        self.dynamics = levels_of(model, on) if on else Dynamics(model, fixed=fixed)
        self.functions = [tidy(model.read(e)) for e in several("functions", functions)]
        logs = self._logarithms() if not self.dynamics.mechanical else []
        try:
            self.search = Search(self.dynamics, [*self.functions, *logs])
        except Tangled:
            logs = []
            self.search = Search(self.dynamics, self.functions)
        own = generators(self.dynamics, self.search)
        self.basis = [*own, *(e for e in self.functions if e not in own)]
        self.logs = [e for e in logs if e not in self.basis]
        self.time = time  # the highest power of t; None: as the degree allows
        self.timed = time != 0
        self.found: list[Found] = []
        self.still: list[Found] = []  # constant wherever one can get: ± the area of a rigid part
        self.laws_functions: list[sp.Expr] = []
        self._fresh: list[Moving] | None = None
        self._jets: dict[bool, Integrals] = {}
        self._kinds: dict[tuple, tuple[str, Symmetry | None]] = {}
        self.unfinished: list[Found] = []  # of a degree that was not finished
        self.left_out = False  # whether a law had coefficients that could not be told

    def _logarithms(self) -> list[sp.Expr]:
        """Of variables whose zeros are invariant: Dx is divisible by x."""
        flow = self.dynamics.explicit
        return [sp.log(x) for x, e in flow.items() if e != 0 and sp.expand(e).subs(x, 0) == 0]

    @property
    def settled(self) -> bool:
        """Whether there are as many independent laws as there can be, without time if it may be."""
        most = len(self.dynamics.state) - len(self.dynamics.relations) - 1
        if self.timed and (self.dynamics.timed or most == 0):
            return len(self.independent()) > most
        return len(self.independent([x for x in self.found if not x.expression.has(t)])) >= most

    def ansatz(self, degree: int, time: int | None = None) -> Ansatz:
        """All monomials up to this degree."""
        time = self.time if time is None else time
        more = (t,) if time != 0 else ()
        return Ansatz((*self.basis, *more), degree, time, tuple(self.logs))

    # ---- one degree --------------------------------------------------------------------------

    def at(self, degree: int, time: int | None = None) -> None:
        """Add the laws of this degree that are no products of those found."""
        search, f = self.search, self.search.field
        ansatz = self.ansatz(degree, time)
        columns, null = search.null_space(ansatz)
        if not len(null):
            return
        candidates = [np.flatnonzero(row) for row in null]
        points = search.moving(len(null) + 8 + self._products(degree))
        known = self._values(points, degree)
        known_to = {x.expression for x in self.found}
        seeds = [x for x in self._seeds if x.expression not in known_to]
        fresh = [_combined(f, points, columns, row) for row in null]
        if seeds:
            own = [points(x.expression) for x in seeds]
            span = [np.ones_like(fresh[0]), *fresh]
            seeds = [x for x, v in zip(seeds, own, strict=True) if not _independent(f, span, [v])]
        new = _independent(f, known, [*(points(x.expression) for x in seeds), *fresh])
        added: list[Found] = []
        try:
            for i in new:
                if i < len(seeds):
                    added.append(replace(seeds[i], degree=degree))
                    continue
                chosen = candidates[i - len(seeds)]
                residues = null[i - len(seeds)][chosen]
                simple = [x.terms for x in (*self.found, *added) if x.terms]
                law = self._recovered([columns[k] for k in chosen], residues.tolist(), simple)
                if law is not None:
                    made = Found(law[0], degree, terms=law[1])
                    moves = self.independent([made])
                    (added if moves else self.still).append(made)
        except KeyboardInterrupt:
            self.found += added
            raise
        except Spent:
            self.unfinished = added  # they may be sums of others that were not reached
            raise
        self._pruned(added, degree)

    def _pruned(self, added: list[Found], degree: int) -> None:
        """Keep those that are not combinations of products in which higher powers cancel."""
        before = list(self.found)
        self.found = before + added  # what an interruption would keep
        order = sorted(added, key=lambda x: -len(sp.Add.make_args(x.expression)))
        for law in order:
            if self._kind(law)[0] in PLAIN:
                continue
            rest = [x for x in (*self.found, *self.still) if x is not law]
            if not self._new(law, rest, degree + CANCEL):
                self.found = [x for x in self.found if x is not law]

    def _kind(self, law: Found) -> tuple[str, Symmetry | None]:
        """What a law is called, and its symmetry; they take long and are asked for again."""
        key = (law.expression, law.rate, law.energy)
        if key not in self._kinds:
            self._kinds[key] = self._named(law)
        return self._kinds[key]

    def _named(self, law: Found) -> tuple[str, Symmetry | None]:
        spend()
        points = self.search.moving(8)
        symmetry = None if law.rate else symmetry_of(self.dynamics, law.expression, points)
        kind = kind_of(self.dynamics, law.expression, symmetry)
        return "energy" if law.energy else "decaying" if law.rate else kind, symmetry

    @cached_property
    def _seeds(self) -> list[Found]:
        """Momenta of cyclic coordinates and the energy, to be shown as they are known."""
        d = self.dynamics
        if not isinstance(d.model, System):
            return []
        energy, momenta = d.energy_function, list(d.rates_of)
        if d.model.form == "lagrangian":
            momenta = [tidied(energy.diff(v)) for v in d.rates_of]
            energy = tidied(sum(v * energy.diff(v) for v in d.rates_of) - energy)
        cyclic = [
            p for x, p in zip(d.positions, momenta, strict=True) if not d.energy_function.has(x)
        ]
        found = [*(Found(p, 0) for p in cyclic), Found(energy, 0, energy=True)]
        points = self.search.moving(4)
        return [x for x in found if not points.rate(x.expression).any()]

    def complete_seeds(self, degree: int) -> None:
        """Add energy and momenta even if the ansatz was too small, instead of what they give."""
        seeds = self._seeds
        plain = {x.expression for x in seeds}
        for x in seeds:
            if any(law.expression == x.expression for law in self.found):
                continue
            x, before = replace(x, degree=degree + 1), list(self.found)
            if self._new(x, before, degree + 1):
                self.found.insert(0, x)
                continue
            for k, law in enumerate(before):
                rest = [y for y in before if y is not law]
                if law.expression in plain or not self._new(law, rest, degree + 1):
                    continue
                if not self._new(law, [x, *rest], degree + 1):
                    self.found[k] = x
                    break

    def complete_symmetries(self, degree: int) -> None:
        """Add the laws of affine symmetries that an ansatz of a low degree does not hold.

        Momenta come first; of others only those that are no functions of what is known.
        """
        model, d = self.dynamics.model, self.dynamics
        if d.levels or not isinstance(model, System):
            return
        affine = Affine(model, d.fixed)
        # Momenta and boosts are few and quick; what takes long comes when they are kept.
        self._complete(affine.plain(), degree)
        self._complete(affine.others(), degree)

    def _complete(self, known: list[AffineSymmetry], degree: int) -> None:
        d = self.dynamics
        for x in sorted(known, key=lambda x: x.kind not in PLAIN):
            spend()
            if x.expression.has(t) and not self.timed:
                continue
            law = Found(x.expression, degree_of(d, x.expression), formal=x.formal)
            if law.degree <= degree or (x.kind == "energy" and self._seeds):
                continue
            fresh = len(self.independent([*self.found, law])) > len(self.independent())
            plain = x.kind in PLAIN and self._new(law, self.found, max(law.degree, degree + 1))
            if not (fresh or plain):
                continue
            self._kinds[law.expression, law.rate, law.energy] = (x.kind, x.symmetry)
            self.found.append(law)

    def complete_unfinished(self) -> None:
        """Add what an interrupted degree gave, unless it is a function of the rest."""
        for law in self.unfinished:
            if len(self.independent([*self.found, law])) > len(self.independent()):
                self.found.append(law)
        self.unfinished = []

    def _new(self, law: Found, others: list[Found], degree: int) -> bool:
        """Whether it is no combination of products of the others."""
        points = self.search.moving(8 + self._products(degree, others))
        values = self._values(points, degree, others)
        return bool(_independent(points.point.field, values, [points(law.expression)]))

    def _products(self, degree: int, laws: list[Found] | None = None) -> int:
        return len(list(self._powers(degree, laws)))

    def _powers(self, degree: int, laws: list[Found] | None = None):
        """Which of the laws found to multiply, up to this degree."""
        laws = [*self.found, *self.still] if laws is None else laws
        for count in range(degree + 1):
            for chosen in combinations_with_replacement(range(len(laws)), count):
                if sum(laws[i].degree for i in chosen) <= degree:
                    yield chosen

    def _values(self, points, degree: int, laws: list[Found] | None = None) -> list[np.ndarray]:
        laws = [*self.found, *self.still] if laws is None else laws
        f = points.point.field
        values = [points(x.expression) for x in laws]
        made = []
        for chosen in self._powers(degree, laws):
            spend(len(points.point) * (len(chosen) + 1))
            total = np.ones(len(points.point), dtype=WORD)
            for i in chosen:
                total = f.mul(total, values[i])
            made.append(total)
        return made

    def _recovered(
        self, functions: list[sp.Expr], residues: list[int], known: list[dict]
    ) -> tuple[sp.Expr, dict[sp.Expr, sp.Expr]] | None:
        """The law and its exact coefficients; None if they are too complicated."""
        numbers = plain(residues, self.search.field.p)
        if numbers is not None:
            law = dict(zip(functions, numbers, strict=True))
            if self.verified(shown := presented(law)):
                return shown, law
        numbers = coefficients(self.dynamics, self.search.ring, functions)
        if numbers is None:
            numbers = self._with_constants(functions)
        if numbers is None:
            self.left_out = True
            return None
        law = simplest(dict(zip(functions, numbers, strict=True)), known)
        shown = presented(law)
        return (shown, law) if self.verified(shown) else None

    def _with_constants(self, functions: list[sp.Expr]) -> list[sp.Expr] | None:
        """Coefficients in which √a, sin a, π occur: as if these were parameters."""
        d = self.dynamics
        table = constants([*d.expressions, *functions], {*d.state, t})
        if not table:
            return None
        free = with_values(d, table)
        inside = [e.xreplace(table) for e in functions]
        every = [*free.expressions, *inside]
        symbols = set().union(*(e.free_symbols for e in every)) - {*d.state, t}
        free.parameters = sorted(symbols, key=lambda s: s.name)
        ring = Ring(every, [*d.state, *symbols, t])
        found = coefficients(free, ring, inside)
        back = {c.as_base_exp()[0]: e ** (1 / c.as_base_exp()[1]) for e, c in table.items()}
        return None if found is None else [x.xreplace(back) for x in found]

    # ---- decaying laws -----------------------------------------------------------------------

    def decaying(self, degree: int) -> None:
        """Laws I e^{−λt}, see `taut.laws.decay`."""
        search = self.search
        ansatz = Ansatz(tuple(self.basis), degree, 0)
        for x in decaying(ansatz, search.moving(ansatz.columns + SPARE)):
            lam = rate_of(x.rate, self.dynamics, search.parameters, search.field)
            if lam is None:
                continue
            numbers = coefficients(self.dynamics, search.ring, x.functions, lam)
            if numbers is not None:
                terms = dict(zip(x.functions, numbers, strict=True))
                law = presented(terms) * sp.exp(-lam * t)
                self._widened(law)
                if self.verified(law):
                    self._pruned([Found(law, x.degree, lam)], x.degree)

    def _widened(self, law: sp.Expr) -> None:
        """Let the ring know e^{λt}."""
        known = [*self.dynamics.state, *self.dynamics.parameters, t]
        self.laws_functions.append(law)
        more = [*self.dynamics.expressions, *self.functions, *self.logs, *self.laws_functions]
        self.search.ring = Ring(more, known)

    # ---- proof -------------------------------------------------------------------------------

    def verified(self, law: sp.Expr) -> bool:
        """D I = 0 at random points modulo two primes that the search did not use."""
        d, ring = self.dynamics, self.search.ring
        if self._fresh is None or self._fresh[0].point.ring is not ring:
            fields = d.fields(ring, 2, block=VERIFYING)
            self._fresh = [d.moving(ring, f, FRESH, d.drawn(ring, f), True) for f in fields]
        return not any(points.rate(law).any() for points in self._fresh)

    def laws(
        self, degree: int, farther: int = 0, bounds: Sequence[Counted] = (), note: str = ""
    ) -> Laws:
        """What has been found, with symmetries, proofs and what is known of them together."""
        made, forms = [], Forms(self.dynamics, self.search.ring)
        for x in self.found:
            condition = condition_of(self.dynamics, self.search.ring, x.expression)
            kind, symmetry = self._kind(x) if not condition else ("conditional", None)
            proof = NORMAL_FORM if x.formal else self._proof(x.expression, forms)
            law, symmetry = of_unit_motion(x.expression, kind, symmetry, set(self.dynamics.state))
            made.append(Law(law, kind, x.degree, proof, symmetry, condition))
        chosen = self.independent()
        still = len(self.independent([x for x in self.found if not x.expression.has(t)]))
        words = self.ansatz(degree).words()
        if farther > degree:
            words = f"{words}, and degree ≤ {farther} without t"
        if self.left_out:
            words = f"{words}, but for laws whose coefficients are not rational or too complicated"
        words = statement(self.search, (still, len(chosen)), words, bounds)
        return Laws(made, len(chosen), chosen, note + words, bounds)

    def farther(
        self, degree: int, bounds: list[Counted], seconds: float, until: float
    ) -> tuple[int, list[Counted]]:
        """Go on to higher degrees without t, as long as a bound says that there is more."""
        for d in range(degree + 1, FARTHEST + 1):
            met = all(x.complete for x in bounds if not x.time)
            wide = self.ansatz(d, time=0).columns > COLUMNS
            if met or wide or clock.thread_time() > until:
                return d - 1, bounds
            before = len(self.found)
            self.at(d, time=0)
            if len(self.found) > before:
                bounds = self.bounds(degree, seconds)
        return FARTHEST, bounds

    def bounds(self, degree: int, seconds: float) -> list[Counted]:
        """Jet bounds: first without t, if laws may be free of it, then with it."""
        expressions = [x.expression for x in self.found]
        work, made = Work(seconds), []
        for time in (False, True) if self.timed else (False,):
            made += counted(self.search, expressions, degree, time, work, self._jets)
        return made

    def _proof(self, law: sp.Expr, forms: Forms) -> str:
        # Relations with roots or sines in them need not reduce to zero what is zero.
        with suppress(Spent):
            if proved(self.dynamics, self.search.ring, law, forms):
                return NORMAL_FORM
        return f"D I = 0 at {2 * FRESH} random points modulo two primes near 2³¹"

    def independent(self, laws: list[Found] | None = None) -> list[int]:
        """Numbers of functionally independent laws, by the rank of their gradients."""
        laws = self.found if laws is None else laws
        points = self.search.moving(1)
        return gradient_ranks(self.dynamics, points, [x.expression for x in laws])


def _combined(f: Field, points, columns, row: np.ndarray) -> np.ndarray:
    total = np.zeros(len(points.point), dtype=WORD)
    for k in np.flatnonzero(row):
        total = f.add(total, f.mul(points(columns[k]), row[k]))
    return total


def _independent(f: Field, known: list[np.ndarray], new: list[np.ndarray]) -> list[int]:
    """Which of the new vectors depend neither on the known ones nor on each other."""
    pivots = f.pivots(np.array([*known, *new]).T.copy())
    return [k - len(known) for k in pivots if k >= len(known)]


def whole(what: str, value: Any, least: int) -> int:
    """A whole number, checked; of degrees as high as there may be monomials nothing is found."""
    return checked_whole(what, value, least, MOST)


def several(what: str, given: Any) -> list[Any]:
    """Expressions: one that stands alone, or a list of them."""
    one = isinstance(given, sp.Basic | str | Law) and not isinstance(given, sp.MatrixBase)
    return [given] if one else listed(what, given)


def power_of_time(time: Any) -> int | None:
    """The highest power of t; None is as the degree allows."""
    return None if time is None else whole("time", time, 0)


@overload
def conserved(
    model: System | Mechanism | Flow,
    *,
    degree: int | None = None,
    time: int | None = None,
    functions: Iterable[Any] = (),
    on: Any = (),
    budget: float = 5.0,
    progress: Any = None,
    proposed: None = None,
) -> Laws: ...


@overload
def conserved(model: System | Mechanism | Flow, *, proposed: Any) -> Law: ...


@in_given_symbols
@public
def conserved(
    model: System | Mechanism | Flow,
    *,
    degree: int | None = None,
    time: int | None = None,
    functions: Iterable[Any] = (),
    on: Any = (),
    budget: float = 5.0,
    progress: Any = None,
    proposed: Any = None,
) -> Laws | Law:
    """Every law of a model within an ansatz that grows, each proved.

    Parameters
    ----------
    model : System, Mechanism or Flow
        Its parameters stay symbols: the laws hold for all their values but special ones, which
        `special_values` looks for.
    degree : int, optional
        Up to which monomials are tried.  Without it the degree grows to four, as long as there are
        few enough of them and no more independent laws are possible; and farther, without t, where
        a bound says that there are more laws.
    time : int, optional
        The highest power of t in a monomial; 0 leaves out laws that depend on time.  Without it t
        may occur as often as the degree allows.
    functions : iterable of Expr
        More functions to build laws from, besides those that occur in the equations.
    on : Expr or iterable of Expr
        Laws that hold only where these expressions vanish are found as well.  The set where they do
        must be invariant.
    budget : float
        Seconds after which no higher degree is begun, and some more of them to bound what
        other laws there can be.
    progress : bool or callable(done, total), optional
        As in `simulate`: a bar on a terminal if it takes long.  Ctrl-C ends the search with what
        was found.
    proposed : Expr, optional
        A quantity to check instead of a search.

    Returns
    -------
    Laws
        A list of `Law` without products of lower ones; ``print`` shows a table.  ``complete`` says
        what was proved of the whole set.  With `proposed` the one `Law`, proved; if it is none, an
        `InputError` shows its rate.

    Examples
    --------
    >>> import taut
    >>> x, y = q = taut.coordinates("x y")
    >>> print(taut.conserved(taut.System(q, mass=1, potential=(x**2 + y**2)/2), time=0))
      energy            x**2/2 + x_dot**2/2 + y**2/2 + y_dot**2/2
      angular momentum  x*y_dot - x_dot*y
      hidden symmetry   x**2 + x_dot**2
      hidden symmetry   x*y + x_dot*y_dot
    4 laws, 3 independent, proved by normal form
    complete: every law without t of degree ≤ 2 in the velocities, with any smooth coefficients (jet
    bound 6 = 6 found); locally every law without t is a function of these, 3 of them independent
    """
    model = model_of(model, "laws")
    if proposed is not None:
        return checked(model, proposed)
    degree = None if degree is None else whole("degree", degree, 1)
    levels = several("on", on)
    budget = number("budget", budget, "a number of seconds")
    if budget < 0:
        raise InputError("budget is negative", expected="seconds, or 0", received=budget)
    finder = Finder(model, functions, power_of_time(time), levels)
    if degree is not None and (size := finder.ansatz(degree).columns) > MOST:
        raise InputError(
            f"degree {degree} takes too many monomials",
            expected=f"at most {MOST}, a matter of minutes",
            received=f"{size} in {len(finder.ansatz(1).generators)} functions, about {about(size)}",
            remedy="ask for a lower degree, or for time=0",
        )
    return searched(finder, degree, budget, progress)
