"""What a set of laws is complete in: a theorem where there is one.

1. A state of dimension d has at most d − 1 independent laws without t, and d with it; if so many
   were found, every other is locally a function of them.
2. Laws that are polynomials of the velocities of degree ≤ m span a space whose dimension is bounded
   by jets (`taut.laws.jets`).  The products of what was found span a part of it:

       { Σ c P : P a product of laws, Σ c P of degree ≤ m in v, and free of t }.

   If both dimensions agree, nothing is missing, whatever the coefficients may be made of.
3. Otherwise the set is complete in the ansatz that was searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp

from taut.laws.jets import Integrals, Work, applies
from taut.laws.search import Search
from taut.laws.series import NoSeries
from taut.laws.span import Span


@dataclass(frozen=True)
class Counted:
    """Laws of degree ≤ `degree` in the velocities: how many are known, and can be at most.

    Attributes
    ----------
    degree : int
    time : bool
        Whether laws that depend on t are counted.
    found, bound : int
        Dimensions of spaces, with the constant 1 in both.
    sharp : bool
        Whether so many exist near a general point, not only at most so many.
    """

    degree: int
    time: bool
    found: int
    bound: int
    sharp: bool

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.found == self.bound

    def words(self, searched: str = "") -> str:
        """For people."""
        kind = "" if self.time else " without t"
        if self.complete:
            return (
                f"every law{kind} of degree ≤ {self.degree} in the velocities, with any smooth "
                f"coefficients (jet bound {self.bound} = {self.found} found)"
            )
        return (
            f"{kind.strip() or 'with t'}, of degree ≤ {self.degree} in the velocities: found "
            f"{self.found}, bound {self.bound}: more exist outside {searched or 'these functions'}"
        )


def counted(
    search: Search,
    laws: list[sp.Expr],
    highest: int,
    time: bool,
    work: Work,
    kept: dict[bool, Integrals] | None = None,
) -> list[Counted]:
    """Bounds for the degrees 1, 2, … that can be had, up to the first that is not met.

    Jets are `kept` for the next time, since they do not depend on the laws that are known.
    """
    d, kept = search.dynamics, {} if kept is None else kept
    made: list[Counted] = []
    if not applies(d) or d.levels or (d.timed and not time):
        return made
    span = Span(search, laws, time)
    for degree in range(1, highest + 1):
        known = span.dimension(degree)
        if known is None:
            break
        try:
            if time not in kept:
                kept[time] = Integrals(d, time)
            bound = kept[time].bound(degree, known, work)
        except NoSeries:
            break
        if bound is None or (bound.count > known and not bound.sharp):
            break
        if bound.count < known and d.constraints:
            # x² = 2 y² has branches that no factor with rational numbers tells: functions that
            # differ on both of them, such as those of x/y, need not differ on one.
            break
        if bound.count < known:
            raise AssertionError(f"{known} laws were found where there can be {bound.count}")
        made.append(Counted(degree, time, known, bound.count, bound.sharp))
        if bound.count > known:
            break
    return made


def statement(search: Search, ranks: tuple[int, int], words: str, made: Sequence[Counted]) -> str:
    """The theorems, or what was searched (`words`).

    Parameters
    ----------
    ranks : (int, int)
        How many laws are independent without t, and in all.
    """
    d = search.dynamics
    most = len(d.state) - len(d.relations)
    proved, missing = [], []
    for time in (True, False):
        rows = [x for x in made if x.time == time]
        good = [x for x in rows if x.complete]
        if good and not any(x.time and x.degree >= good[-1].degree for x in proved):
            proved.append(good[-1])
        missing += [x for x in rows if not x.complete]
    parts = [x.words() for x in proved]
    if ranks[1] == most:
        parts.append(f"locally every law is a function of these, {most} of them independent")
    elif ranks[0] == most - 1 > 0:
        parts.append(
            f"locally every law without t is a function of these, {ranks[0]} of them independent"
        )
    text = "complete: " + "; ".join(parts) if parts else f"complete in this ansatz: {words}"
    if not missing:
        return text
    places = [words, *["this ansatz"] * len(missing)]
    told = [x.words(place) for x, place in zip(missing, places, strict=False)]
    advice = "a higher degree= or more functions= may find them"
    return f"not all: {'; '.join(told)}; {advice}" + (f". {text}" if parts else "")
