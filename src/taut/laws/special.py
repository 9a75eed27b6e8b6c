"""Values of parameters at which there are more laws than at others.

For general values of the parameters the space of laws in an ansatz has some dimension; it can only
grow at special ones.  So many numbers are tried: modulo p, a rank for each of them.  Where the
dimension jumps, the parameters that do not matter are told from those that do by drawing them
anew, and the laws that are new there are found and proved like all others.

Of laws that decay, D I = λ I, those with λ ≠ 0 are counted, see `taut.laws.decay`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import gcd, prod
from typing import Any

import numpy as np
import sympy as sp

from taut.calls import public
from taut.errors import InputError, ModelError, UnknownName, brief, listed
from taut.laws.check import model_of
from taut.laws.decay import decaying
from taut.laws.find import Finder, Found, several, whole
from taut.laws.law import Law
from taut.laws.search import SPARE, Ansatz, table
from taut.laws.spelling import in_given_symbols
from taut.model import Flow, Mechanism, System
from taut.progress import Progress
from taut.text import aligned

MANY = 20_000  # combinations of values
COLUMNS = 700
FEW = 100  # monomials of an ansatz that is chosen by itself

Values = dict[sp.Symbol, sp.Rational]


def rationals(highest: int, below: int) -> list[sp.Rational]:
    """Fractions p/q with |p| ≤ highest, q ≤ below."""
    found = {
        sp.Rational(p, q)
        for q in range(1, below + 1)
        for p in range(-highest, highest + 1)
        if gcd(p, q) == 1 or (p == 0 and q == 1)
    }
    return sorted(found)


@public
@dataclass(frozen=True)
class Special:
    """Values of parameters, and the laws that hold there but not in general."""

    values: dict[str, sp.Rational]
    laws: tuple[Law, ...]

    @property
    def condition(self) -> str:
        """In words."""
        return "at " + ", ".join(f"{name} = {x}" for name, x in self.values.items())

    def __str__(self) -> str:
        return "\n".join([self.condition, *aligned([(x.kind, x.expression) for x in self.laws])])


@public
class Specials(list):
    """A list of `Special`.

    Attributes
    ----------
    tried : int
        How many combinations of values.
    searched : str
        The ansatz.
    """

    def __init__(self, found: Iterable[Special], tried: int, searched: str) -> None:
        super().__init__(found)
        self.tried, self.searched = tried, searched

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        many = f"{len(self)} special case{'s'[: len(self) > 1]}"
        count = many if self else "nothing special"
        return "\n".join(
            [*map(str, self), f"{count} among {self.tried} values tried, {self.searched}"]
        )


@in_given_symbols
@public
def special_values(
    model: System | Mechanism | Flow,
    values: Mapping[Any, Iterable[Any]] | None = None,
    *,
    degree: int | None = None,
    time: int = 0,
    functions: Iterable[Any] = (),
    progress: Any = None,
) -> Specials:
    """Look for values of the parameters at which there are more laws than in general.

    Parameters
    ----------
    model : System, Mechanism or Flow
        With parameters that are symbols.
    values : mapping name → numbers, optional
        What to try: all combinations.  Parameters that are not named stay general.  Without it
        small fractions are tried, in all combinations for up to two parameters, and for more of
        them in one at a time.
    degree : int, optional
        Of the ansatz; without it, four or as many as have at most a hundred monomials.
    time, functions
        As in `conserved`.
    progress : bool or callable(done, total), optional

    Returns
    -------
    Specials
        A list of `Special`: values, and laws whose ``condition`` names them.

    Examples
    --------
    >>> import sympy as sp, taut
    >>> x, y = q = taut.coordinates("x y")
    >>> well = x**2 * y + sp.Symbol("a") * y**3
    >>> system = taut.System(q, mass=1, potential=well, parameters=["a"])
    >>> print(taut.special_values(system, {"a": [0, 1, 2, 3]}, degree=4))
    at a = 2
      hidden symmetry  x**4 + 4*x**2*y**2 + 4*x*x_dot*y_dot - 4*x_dot**2*y
    1 special case among 4 values tried, degree ≤ 4 in x, y, x_dot, y_dot
    """
    model = model_of(model, "special values")
    time = whole("time", time, 0)
    if degree is None:
        finder = Finder(model, functions, time)
        few = [d for d in (2, 3, 4) if finder.ansatz(d).columns <= FEW]
        degree = few[-1] if few else 2
    scan = Scan(model, whole("degree", degree, 1), time, functions)
    grid = scan.grid(values)
    alone = values is None and len(scan.dynamics.parameters) > 2
    hits: dict[tuple, None] = {}
    with Progress(progress, len(grid), model, "special values") as bar:
        for chosen in grid:
            count = scan.count(chosen)
            if count is not None and any(a > b for a, b in zip(count, scan.general, strict=True)):
                hits.setdefault(tuple(scan.narrowed(chosen, count).items()))
            bar.add(1)
    found = []
    for key in hits:
        laws = scan.laws(dict(key), [dict(other) for other in hits if set(other) < set(key)])
        if laws:
            found.append(Special({s.name: x for s, x in key}, tuple(laws)))
    how = "one parameter at a time, " if alone else ""
    return Specials(found, len(grid), how + scan.ansatz.words())


class Scan:
    """The dimension of the space of laws for values of the parameters."""

    def __init__(self, model: System | Flow, degree: int, time: int, functions) -> None:
        self.model, self.degree, self.time = model, degree, time
        self.functions = several("functions", functions)
        self.finder = Finder(model, self.functions, time)
        self.search, self.dynamics = self.finder.search, self.finder.dynamics
        if not self.dynamics.parameters:
            raise InputError(
                "the model has no parameters", remedy="write symbols where numbers are to be tried"
            )
        self.ansatz = self.finder.ansatz(degree)
        if self.ansatz.columns > COLUMNS:
            raise InputError(
                f"degree {degree} takes too many monomials to try many values",
                expected=f"at most {COLUMNS}",
                received=self.ansatz.columns,
                remedy="ask for a lower degree",
            )
        self.decaying = Ansatz(tuple(self.finder.basis), degree, 0)
        points = self.search.moving(self.ansatz.columns + SPARE)
        self.pivots = self.search.field.pivots(table(self.ansatz, points).values)
        self.general = self._counted(self.search.parameters)

    # ---- values ------------------------------------------------------------------------------

    def grid(self, values: Mapping[Any, Iterable[Any]] | None) -> list[Values]:
        """What to try."""
        symbols = self.dynamics.parameters
        if values is None:
            if len(symbols) == 1:
                return [{symbols[0]: x} for x in rationals(16, 5)]
            if len(symbols) == 2:
                return [
                    dict(zip(symbols, x, strict=True)) for x in product(rationals(6, 3), repeat=2)
                ]
            return [{s: x} for s in symbols for x in rationals(16, 5)]
        if not isinstance(values, Mapping) or not values:
            raise InputError(
                "values is not a mapping",
                expected="values={name: [numbers], …}",
                received=type(values).__name__,
            )
        named = {s.name: s for s in symbols}
        lists = {}
        for key, numbers in values.items():
            name = str(key)
            if name not in named:
                raise UnknownName("parameter", name, named)
            numbers = numbers if isinstance(numbers, Iterable) else [numbers]
            lists[named[name]] = [
                _number(name, x) for x in listed(name, numbers, "a list of numbers")
            ]
        if (size := prod(map(len, lists.values()))) > MANY:
            raise InputError(
                "too many values to try",
                expected=f"at most {MANY} combinations",
                received=size,
                remedy="try fewer, or one parameter at a time",
            )
        return [dict(zip(lists, x, strict=True)) for x in product(*lists.values())]

    # ---- dimensions --------------------------------------------------------------------------

    def count(self, values: Values) -> tuple[int, int] | None:
        """(laws, laws that decay) with these values; None if the model has no meaning there."""
        f = self.search.field
        given = {s: np.array([f.number(x)], dtype=np.uint64) for s, x in values.items()}
        try:
            return self._counted(self.search.parameters | given)
        except ModelError:
            return None

    def _counted(self, parameters: dict) -> tuple[int, int]:
        f, ring = self.search.field, self.search.ring
        size = self.ansatz.columns + SPARE
        points = self.dynamics.moving(ring, f, size, parameters, True)
        rates = table(self.ansatz, points).rates[:, self.pivots]
        also = len(decaying(self.decaying, points)) if self.dynamics.decays else 0
        return len(self.pivots) - f.rank(rates), also

    def narrowed(self, values: Values, count: tuple[int, int]) -> Values:
        """Only the values that matter: without the others there are as many laws."""
        own = dict(values)
        for s in values:
            rest = {k: x for k, x in own.items() if k != s}
            if rest and self.count(rest) == count:
                own = rest
        return own

    # ---- laws --------------------------------------------------------------------------------

    def laws(self, values: Values, parts: list[Values]) -> list[Law]:
        """Those that are new at these values, compared to general ones and to some of them."""
        known: list[Found] = []
        for fixed in sorted(([{}, *parts]), key=len):
            known += self._found(fixed, known)
        finder = self._finder(values)
        settled = [_at(x, values) for x in known]
        settled = [x for x in settled if x.expression.free_symbols]
        finder.found = list(settled)
        self._run(finder)
        finder.found = [x for x in finder.found if x not in settled]
        condition = Special({s.name: x for s, x in values.items()}, ()).condition
        return [replace(x, condition=condition) for x in finder.laws(self.degree)]

    def _found(self, fixed: Values, known: list[Found]) -> list[Found]:
        finder = self._finder(fixed)
        before = [_at(x, fixed) for x in known]
        finder.found = list(before)
        self._run(finder)
        return [x for x in finder.found if x not in before]

    def _finder(self, fixed: Values) -> Finder:
        return Finder(self.model, self.functions, self.time, fixed=fixed)

    def _run(self, finder: Finder) -> None:
        for law in list(finder.found):  # e^{λt}, or a logarithm that is no function here
            finder._widened(law.expression)
        for degree in range(1, self.degree + 1):
            finder.at(degree)
        if finder.dynamics.decays:
            finder.decaying(self.degree)


def _at(law: Found, values: Values) -> Found:
    """The law with numbers for parameters."""
    rate = sp.sympify(law.rate).xreplace(values)
    return replace(law, expression=law.expression.xreplace(values), rate=rate, terms={})


def _number(name: str, x: Any) -> sp.Rational:
    try:
        found = sp.Rational(str(x))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"a value of {name} is not a fraction", expected="3, '1/3', 0.25", received=brief(x)
        ) from error
    return found
