"""`conserved`: every law in an ansatz that grows, without products of lower ones."""

from __future__ import annotations

import time as clock
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from typing import Any, overload

import numpy as np
import sympy as sp
from flint import nmod_mat, nmod_poly

from taut.errors import InputError
from taut.laws.check import checked
from taut.laws.dynamics import Dynamics
from taut.laws.field import WORD, Field, primes
from taut.laws.law import Law, Laws, Symmetry
from taut.laws.proof import proved
from taut.laws.recover import coefficients, plain
from taut.laws.ring import Ring, tidy
from taut.laws.search import SPARE, Ansatz, Search, table
from taut.laws.symmetry import kind_of, symmetry_of, tidied
from taut.model import Flow, System, t

LARGEST = 40  # coordinates
MOST = 4000  # columns at all
COLUMNS = 700  # of an ansatz that is chosen by itself
SMALL_RATE = 6
DEEPEST = 4  # degree that it goes to
CANCEL = 1  # degrees by which products may be higher than what is left of them
PLAIN = ("energy", "momentum", "angular momentum")  # shown even if products of others give them
FRESH = 40  # points modulo each of two other primes at which a law is checked


@dataclass
class Found:
    """A law that has been found, the degree of the ansatz, and the rate of its decay."""

    expression: sp.Expr
    degree: int
    rate: sp.Expr | int = 0
    energy: bool = False


def generators(dynamics: Dynamics, search: Search) -> list[sp.Expr]:
    """The functions that occur, closed under D: roots or their inverses, sines, exponentials."""
    moving = {*dynamics.state, t}
    sources = list(dynamics.explicit.values())
    if dynamics.mechanical:
        sources = [dynamics.energy_function, *dynamics.constraints, *dynamics.forces]
    found: dict[sp.Expr, None] = {}
    for source in sources:
        for e in sp.preorder_traversal(source):
            if not e.free_symbols & moving:
                continue
            if isinstance(e, sp.Pow) and e.exp.is_Rational:
                if not (e.exp.is_Integer and e.exp > 0):
                    found.setdefault(e.base ** sp.Rational(1 if e.exp > 0 else -1, e.exp.q))
            elif (isinstance(e, sp.Pow) and not isinstance(e, sp.exp)) or isinstance(
                e, sp.exp | sp.log | sp.atan
            ):
                found.setdefault(e)
    for base in search.ring.angles.basis:
        if base.free_symbols & moving:
            found.setdefault(sp.sin(base))
            found.setdefault(sp.cos(base))
    return [*dynamics.state, *(e for e in found if e not in dynamics.state)]


class Finder:
    """A search under way: what is known so far."""

    def __init__(self, model: System | Flow, functions: Iterable[Any], time: int) -> None:
        self.dynamics = Dynamics(model)
        read = getattr(model, "read", sp.sympify)
        self.functions = [tidy(read(e)) for e in functions]
        logs = self._logarithms() if not self.dynamics.mechanical else []
        self.search = Search(self.dynamics, [*self.functions, *logs], time, primes(1)[0])
        own = generators(self.dynamics, self.search)
        self.basis = [*own, *(e for e in self.functions if e not in own)]
        self.logs = [e for e in logs if e not in self.basis]
        self.time = time
        self.found: list[Found] = []
        self.laws_functions: list[sp.Expr] = []

    def _logarithms(self) -> list[sp.Expr]:
        """Of variables whose zeros are invariant: Dx is divisible by x."""
        flow = self.dynamics.explicit
        return [sp.log(x) for x, e in flow.items() if e != 0 and sp.expand(e).subs(x, 0) == 0]

    @property
    def settled(self) -> bool:
        """Whether there are as many independent laws without time as there can be."""
        most = len(self.dynamics.state) - len(self.dynamics.relations) - 1
        return len(self.independent([x for x in self.found if not x.expression.has(t)])) >= most

    def ansatz(self, degree: int) -> Ansatz:
        """All monomials up to this degree."""
        more = (t,) if self.time else ()
        return Ansatz((*self.basis, *more), degree, self.time, tuple(self.logs))

    # ---- one degree --------------------------------------------------------------------------

    def at(self, degree: int) -> None:
        """Add the laws of this degree that are no products of those found."""
        search, f = self.search, self.search.field
        ansatz = self.ansatz(degree)
        columns, null = search.null_space(ansatz)
        if not len(null):
            return
        candidates = [np.flatnonzero(row) for row in null]
        points = search.moving(len(null) + 8 + self._products(degree))
        known = self._values(points, degree)
        seeds = [e for e in self._seeds() if not any(x.expression == e for x in self.found)]
        fresh = [_combined(f, points, columns, row) for row in null]
        if seeds:
            inside = _independent(f, [np.ones_like(fresh[0]), *fresh], [points(e) for e in seeds])
            seeds = [e for i, e in enumerate(seeds) if i not in inside]
        new = _independent(f, known, [*(points(e) for e in seeds), *fresh])
        added = []
        for i in new:
            if i < len(seeds):
                added.append(Found(seeds[i], degree, energy=True))
            else:
                chosen = candidates[i - len(seeds)]
                residues = null[i - len(seeds)][chosen]
                law = self._recovered([columns[k] for k in chosen], residues.tolist())
                if law is not None:
                    added.append(Found(law, degree))
        self._pruned(added, degree)

    def _pruned(self, added: list[Found], degree: int) -> None:
        """Keep those that are not combinations of products in which higher powers cancel."""
        before = list(self.found)
        order = sorted(added, key=lambda x: -len(sp.Add.make_args(x.expression)))
        for law in order:
            if self._kind(law)[0] in PLAIN:
                continue
            rest = [x for x in added if x is not law]
            self.found = before + rest
            points = self.search.moving(self._products(degree + CANCEL) + 8)
            known = self._values(points, degree + CANCEL)
            if not _independent(points.point.field, known, [points(law.expression)]):
                added = rest
        self.found = before + added

    def _kind(self, law: Found) -> tuple[str, Symmetry | None]:
        points = self.search.moving(8)
        symmetry = None if law.rate else symmetry_of(self.dynamics, law.expression, points)
        kind = kind_of(self.dynamics, law.expression, symmetry)
        return "energy" if law.energy else "decaying" if law.rate else kind, symmetry

    def _seeds(self) -> list[sp.Expr]:
        """The energy, if it is conserved: to be shown as it is known."""
        d = self.dynamics
        if not isinstance(d.model, System):
            return []
        energy = d.energy_function
        if d.model.form == "lagrangian":
            energy = tidied(sum(v * energy.diff(v) for v in d.rates_of) - energy)
        points = self.search.moving(4)
        return [energy] if not points.rate(energy).any() else []

    def complete_seeds(self, degree: int) -> None:
        """Add the energy even if the ansatz was too small for it."""
        known = {x.expression for x in self.found}
        points = self.search.moving(8 + self._products(degree + 1))
        for e in self._seeds():
            values = self._values(points, degree + 1)
            if e not in known and _independent(points.point.field, values, [points(e)]):
                self.found.insert(0, Found(e, degree + 1, energy=True))

    def _products(self, degree: int) -> int:
        return len(list(self._powers(degree)))

    def _powers(self, degree: int):
        """Which of the laws found to multiply, up to this degree."""
        for count in range(degree + 1):
            for chosen in combinations_with_replacement(range(len(self.found)), count):
                if sum(self.found[i].degree for i in chosen) <= degree:
                    yield chosen

    def _values(self, points, degree: int) -> list[np.ndarray]:
        f = points.point.field
        values = [points(x.expression) for x in self.found]
        made = []
        for chosen in self._powers(degree):
            total = np.ones(len(points.point), dtype=WORD)
            for i in chosen:
                total = f.mul(total, values[i])
            made.append(total)
        return made

    def _recovered(self, functions: list[sp.Expr], residues: list[int]) -> sp.Expr | None:
        numbers = plain(residues, self.search.field.p)
        if numbers is not None:
            law = presented(functions, numbers)
            if self.verified(law):
                return law
        numbers = coefficients(self.dynamics, self.search.ring, functions)
        if numbers is None:
            return None
        law = presented(functions, numbers)
        return law if self.verified(law) else None

    # ---- decaying laws -----------------------------------------------------------------------

    def decaying(self, degree: int) -> None:
        """Laws I e^{−λt} with D I = λ I: eigenvalues of D on polynomials, modulo p."""
        search, f = self.search, self.search.field
        ansatz = Ansatz(tuple(self.basis), degree, 0)
        points = search.moving(ansatz.columns + SPARE)
        found = table(ansatz, points)
        _, pivots = f.reduced(found.values)
        values, rates = found.values[:, pivots], found.rates[:, pivots]
        k = len(pivots)
        square, regular = f.solve(values[None, :k], rates[None, :k])
        if not regular[0]:
            return
        matrix = nmod_mat(k, k, square[0].ravel().tolist(), f.p)
        roots = nmod_poly(list(matrix.charpoly()), f.p).roots()
        columns = [found.functions[i] for i in pivots]
        for root, _ in sorted(roots, key=lambda x: int(x[0])):
            residue = int(root)
            if residue == 0:
                continue
            null = f.null_space(f.sub(rates, f.mul(values, WORD(residue))))
            lam = self._rate(residue) if len(null) else None
            if lam is None:
                continue
            for row in null:
                functions = [columns[i] for i in np.flatnonzero(row)]
                numbers = coefficients(self.dynamics, search.ring, functions, lam)
                if numbers is not None:
                    law = presented(functions, numbers) * sp.exp(-lam * t)
                    added = [Found(law, degree, lam)]
                    self._widened(law)
                    if self.verified(law):
                        self._pruned(added, degree)

    def _rate(self, residue: int) -> sp.Expr | None:
        """λ as a combination of the parameters with small whole numbers or halves."""
        f, symbols = self.search.field, self.dynamics.parameters
        numbers = [int(self.search.parameters[s][0]) for s in symbols] + [1]
        for denominator in (1, 2, 3):
            wanted = residue * denominator % f.p
            for size in range(1, SMALL_RATE + 1):
                for chosen in product(range(-size, size + 1), repeat=len(numbers)):
                    if (
                        max(map(abs, chosen)) == size
                        and sum(c * x for c, x in zip(chosen, numbers, strict=True)) % f.p == wanted
                    ):
                        parts = zip(chosen, [*symbols, sp.Integer(1)], strict=True)
                        return sp.Add(*(c * s for c, s in parts)) / denominator
        return None

    def _widened(self, law: sp.Expr) -> None:
        """Let the ring know e^{λt}."""
        known = [*self.dynamics.state, *self.dynamics.parameters, t]
        self.laws_functions.append(law)
        more = [*self.dynamics.expressions, *self.functions, *self.logs, *self.laws_functions]
        self.search.ring = Ring(more, known)

    # ---- proof -------------------------------------------------------------------------------

    def verified(self, law: sp.Expr) -> bool:
        """D I = 0 at random points modulo two primes that the search did not use."""
        d = self.dynamics
        for p in primes(2, skip=8):
            f = Field(p, seed=2)
            own = {s: f.random(1) for s in d.parameters}
            if d.moving(self.search.ring, f, FRESH, own, True).rate(law).any():
                return False
        return True

    def laws(self, degree: int) -> Laws:
        """What has been found, with symmetries, proofs and what is known of them together."""
        made = []
        for x in self.found:
            kind, symmetry = self._kind(x)
            made.append(Law(x.expression, kind, x.degree, self._proof(x.expression), symmetry))
        chosen = self.independent()
        words = f"complete in this ansatz: {self.ansatz(degree).words()}"
        return Laws(made, len(chosen), chosen, words)

    def _proof(self, law: sp.Expr) -> str:
        found = proved(self.dynamics, self.search.ring, law)
        if found is False:
            raise AssertionError(
                f"{law} was found, but its rate has a normal form that is not zero"
            )
        if found:
            return "normal form"
        return f"D I = 0 at {2 * FRESH} random points modulo two primes near 2³¹"

    def independent(self, laws: list[Found] | None = None) -> list[int]:
        """Numbers of functionally independent laws, by the rank of their gradients."""
        laws = self.found if laws is None else laws
        d, f = self.dynamics, self.search.field
        points = self.search.moving(1)
        first = [[int(points(e.diff(x))[0]) for x in d.state] for e in d.relations]
        rows = [[int(points(law.expression.diff(x))[0]) for x in d.state] for law in laws]
        if not rows:
            return []
        matrix = np.array([*first, *rows], dtype=WORD).T
        _, pivots = f.reduced(np.ascontiguousarray(matrix))
        return [k - len(first) for k in pivots if k >= len(first)]


def _combined(f: Field, points, columns, row: np.ndarray) -> np.ndarray:
    total = np.zeros(len(points.point), dtype=WORD)
    for k in np.flatnonzero(row):
        total = f.add(total, f.mul(points(columns[k]), row[k]))
    return total


def _independent(f: Field, known: list[np.ndarray], new: list[np.ndarray]) -> list[int]:
    """Which of the new vectors depend neither on the known ones nor on each other."""
    _, pivots = f.reduced(np.array([*known, *new]).T.copy())
    return [k - len(known) for k in pivots if k >= len(known)]


def presented(functions: list[sp.Expr], numbers: list[sp.Expr]) -> sp.Expr:
    """Σ number·function without denominators and common factors."""
    below = sp.Integer(1)
    for x in numbers:
        below = sp.lcm(below, sp.denom(sp.together(x)))
    whole = [sp.cancel(x * below) for x in numbers]
    common = whole[0]
    for x in whole[1:]:
        common = sp.gcd(common, x)
    return sp.Add(
        *(sp.expand(sp.cancel(x / common)) * e for x, e in zip(whole, functions, strict=True))
    )


def whole(what: str, value: Any, least: int) -> int:
    """A whole number, checked."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(
            f"{what} is not a number that counts",
            expected=f"a whole number from {least}",
            received=repr(value)[:80],
        )
    return int(value)


@overload
def conserved(
    model: System | Flow,
    *,
    degree: int | None = None,
    time: int = 2,
    functions: Iterable[Any] = (),
    budget: float = 5.0,
    proposed: None = None,
) -> Laws: ...


@overload
def conserved(model: System | Flow, *, proposed: Any) -> Law: ...


def conserved(
    model: System | Flow,
    *,
    degree: int | None = None,
    time: int = 2,
    functions: Iterable[Any] = (),
    budget: float = 5.0,
    proposed: Any = None,
) -> Laws | Law:
    """Every law of a model within an ansatz that grows, each proved.

    Parameters
    ----------
    model : System or Flow
        Its parameters stay symbols: the laws hold for all their values but special ones.
    degree : int, optional
        Up to which monomials are tried.  Without it the degree grows to four, as long as there are
        few enough of them and no more independent laws are possible.
    time : int
        The highest power of t in a monomial; 0 leaves out laws that depend on time.
    functions : iterable of Expr
        More functions to build laws from, besides those that occur in the equations.
    budget : float
        Seconds after which no higher degree is begun.
    proposed : Expr, optional
        A quantity to check instead of a search.

    Returns
    -------
    Laws
        A list of `Law` without products of lower ones; ``print`` shows a table.  With `proposed`
        the one `Law`, proved; if it is none, an `InputError` shows its rate.

    Examples
    --------
    >>> import taut
    >>> x, y = q = taut.coordinates("x y")
    >>> print(taut.conserved(taut.System(q, mass=1, potential=(x**2 + y**2)/2)))
      energy            x**2/2 + x_dot**2/2 + y**2/2 + y_dot**2/2
      angular momentum  -x*y_dot + x_dot*y
      hidden symmetry   x**2 + x_dot**2
      hidden symmetry   x*y + x_dot*y_dot
    4 laws, 3 independent; complete in this ansatz: degree ≤ 2 in x, y, x_dot, y_dot, t
    """
    if not isinstance(model, System | Flow):
        raise InputError(
            "laws are found for systems", expected="a taut.System or a taut.Flow",
            received=type(model).__name__,
        )  # fmt: skip
    count = model.n if isinstance(model, System) else len(model.variables)
    if count > LARGEST:
        raise InputError(
            "the model is too large for a search",
            expected=f"at most {LARGEST} coordinates or variables",
            received=count,
            remedy="search a smaller model of the same kind",
        )
    if proposed is not None:
        return checked(model, proposed)
    degree = None if degree is None else whole("degree", degree, 1)
    finder = Finder(model, functions, whole("time", time, 0))
    if degree is not None and (size := finder.ansatz(degree).columns) > MOST:
        raise InputError(
            f"degree {degree} takes too many monomials",
            expected=f"at most {MOST}, a matter of minutes",
            received=f"{size} in {len(finder.ansatz(1).generators)} functions",
            remedy="ask for a lower degree, or for time=0",
        )
    begin, last = clock.perf_counter(), 1
    for d in range(1, (degree or DEEPEST) + 1):
        late = clock.perf_counter() - begin > budget
        if degree is None and d > 1 and (late or finder.ansatz(d).columns > COLUMNS):
            break
        finder.at(d)
        last = d
        if degree is None and finder.settled:
            break
    if finder.time and (not finder.dynamics.mechanical or finder.dynamics.forced):
        finder.decaying(min(last, 2))
    finder.complete_seeds(last)
    return finder.laws(last)
