"""What a step does on a condition: branches, where a selection would wait for both sides.

A processor goes on with the side that it expects before it knows the condition.  So a `Choice`
between a quick expression and a careful one costs as much time as the quick one, as long as it
applies; and a `Polish`, which looks whether anything is left to correct, costs hardly any if there
is nothing.  In a batch the lanes branch together, and each takes the side that it would take
alone.

Polish: the values of laws are looked at, in units of what rounding the state does to them.  Below
one there is nothing to do.  Otherwise the matrix of the first correction serves once more; what
it leaves falls by a factor.  The first was Newton's, ½φ''δ²; the next is φ''δδ', twice as far, or
some more between several laws: s is followed by less than `WORSE` s²/s₋₁, and if that is less than
one nobody looks again.  It may go on for ever where laws touch each other, a double root; then the
best state counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from taut.kernel.emit import Emitter, lean

SX = ca.SX
LIMIT = 25  # looks at what is left
WORSE = 4.0  # see above: 2 for one law
FALLING = 0.6  # of what was left before: more is not falling any longer
NEVER = 1e300


@dataclass
class Choice:
    """`unknowns` are `usual` where `condition` is not 0, else `rare`."""

    unknowns: SX
    usual: SX
    condition: SX
    rare: SX

    slots = 0  # numbers that are remembered for the next step
    simplified = False
    history = SX(0, 1)

    @property
    def value(self) -> SX:
        """Both sides in one expression."""
        return ca.if_else(self.condition, self.usual, self.rare)

    @property
    def everything(self) -> SX:
        """All that it depends on."""
        return ca.vertcat(self.usual, self.condition, self.rare)

    def resolved(self, written: Callable[[SX], SX]) -> Choice:
        """With every expression written out, all at once, so that they share what they can."""
        size, every = self.unknowns.numel(), written(self.everything)
        return Choice(self.unknowns, every[:size], every[size], every[size + 1 :])


@dataclass
class Polish:
    """δ ← δ + change(δ, factors) from `start`, until `left` is below one.

    `factors` are the choice that `change` needs; `settled` says that a change is so small that it
    is noise if what is left does not fall.
    """

    unknowns: SX
    start: SX
    before: SX  # what was left before the first correction
    left: SX
    change: SX
    settled: SX
    factors: Choice
    residual: SX  # zero at the solution

    simplified = False

    @property
    def slots(self) -> int:
        """It remembers its solution, for diagnostics."""
        return self.unknowns.numel()

    @property
    def history(self) -> SX:
        return SX.sym("m", self.slots)

    def first_memory(self, guess: SX) -> SX:
        return guess

    def remembered(self, z: list[str], old: list[str]) -> list[str]:
        return z

    def last(self, memory: Any) -> Any:
        return memory

    @property
    def everything(self) -> SX:
        """All that it depends on, besides its factors."""
        return ca.vertcat(*self._parts, self.factors.everything)

    @property
    def _parts(self) -> tuple[SX, ...]:
        return (self.start, self.before, self.left, self.change, self.settled, self.residual)

    def resolved(self, written: Callable[[SX], SX]) -> Polish:
        """With every expression written out."""
        names = ("start", "before", "left", "change", "settled", "residual")
        ends = [0]
        for part in self._parts:
            ends.append(ends[-1] + part.numel())
        every = written(ca.vertcat(*self._parts))
        made = {x: every[a:b] for x, (a, b) in zip(names, itertools.pairwise(ends), strict=True)}
        factors = self.factors.resolved(written)
        explicit = ca.substitute(made["residual"], factors.unknowns, factors.value)
        return replace(self, **made | {"residual": explicit}, factors=factors)


def chosen(
    e: Emitter, name: str, choice: Choice, symbols: list[SX], values: list[list[str]], block: str
) -> tuple[list[str], str]:
    """Emit a choice; (values, the block that follows)."""
    usual, (number,) = e.inline(
        lean(ca.Function("usual", symbols, [choice.usual, choice.condition])), values
    )
    mask = e.compare("une", number, e.constant(0.0))
    rarely, after = f"rare{name}", f"chosen{name}"
    e.do(f"br i1 {e.likely(e.all(mask))}, label %{after}, label %{rarely}")
    e.label(rarely)
    (rare,) = e.inline(lean(ca.Function("rare", symbols, [choice.rare])), values)
    other = [e.select(mask, a, b) for a, b in zip(usual, rare, strict=True)]
    e.do(f"br label %{after}")
    e.label(after)
    found = [
        e.put(f"phi {e.type} [ {a}, %{block} ], [ {b}, %{rarely} ]")
        for a, b in zip(usual, other, strict=True)
    ]
    return found, after


def polished(
    e: Emitter,
    name: str,
    polish: Polish,
    symbols: list[SX],
    values: list[list[str]],
    iterations: str,
    block: str,
) -> tuple[list[str], str, str]:
    """Emit the loop; (solution, iterations so far, the block that follows)."""
    look, again, begin, after = (f"{x}{name}" for x in ("look", "again", "begin", "polished"))
    glance = ca.Function("glance", [*symbols, polish.unknowns], [polish.left])
    start, (before,) = e.inline(
        lean(ca.Function("start", symbols, [polish.start, polish.before])), values
    )
    ((left,),) = e.inline(lean(glance), [*values, start])
    fine = e.compare("ole", left, e.constant(1.0))
    trips = e.plus(iterations, e.constant(1.0))
    e.do(f"br i1 {e.all(fine)}, label %{after}, label %{begin}")

    e.label(begin)
    factors, factored = chosen(e, f"_{name}", polish.factors, symbols, values, begin)
    known = [*symbols, polish.factors.unknowns, polish.unknowns]
    change = lean(ca.Function("change", known, [polish.change, polish.settled]))
    graph, early = e.staged(change, [*values, factors, []], {len(known) - 1})
    e.do(f"br label %{again}")

    # Here a lane is done, or what is left of it is more than one.
    e.label(again)
    names = {key: [e.name() for _ in start] for key in ("here", "best")}
    scalars = {key: e.name() for key in ("left", "last", "least", "trips")}
    done, count = e.name(), e.name()
    hole = len(e.lines)
    changes, (settled,) = graph.emit_late(e, [*values, factors, names["here"]], early)
    less = e.compare("olt", scalars["left"], scalars["least"])
    least = e.select(less, scalars["left"], scalars["least"])
    best = [e.select(less, a, b) for a, b in zip(names["here"], names["best"], strict=True)]
    there = [e.select(done, a, e.plus(a, d)) for a, d in zip(names["here"], changes, strict=True)]
    square = e.put(f"fmul {e.type} {scalars['left']}, {scalars['left']}")
    square = e.put(f"fmul {e.type} {square}, {e.constant(WORSE)}")
    falls = e.put(f"fmul {e.type} {scalars['last']}, {e.constant(FALLING)}")
    ends = e.put(
        f"or {e.mask} {e.compare('ole', square, scalars['last'])}, "
        f"{e.compare('oge', scalars['left'], falls)}"
    )
    quiet = e.put(f"and {e.mask} {e.compare('une', settled, e.constant(0.0))}, {ends}")
    now = e.put(f"or {e.mask} {done}, {quiet}")
    e.do(f"br i1 {e.all(now)}, label %{after}, label %{look}")

    e.label(look)
    ((seen,),) = e.inline(lean(glance), [*values, there])
    seen = e.select(now, scalars["left"], seen)
    finished = e.put(f"or {e.mask} {now}, {e.compare('ole', seen, e.constant(1.0))}")
    more = e.plus(scalars["trips"], e.select(now, e.constant(0.0), e.constant(1.0)))
    after_that = e.put(f"add i64 {count}, 1")
    ended = e.put(f"icmp uge i64 {after_that}, {LIMIT}")
    out = [e.select(finished, a, b) for a, b in zip(there, best, strict=True)]
    stop = e.put(f"or i1 {e.all(finished)}, {ended}")
    e.do(f"br i1 {stop}, label %{after}, label %{again}")

    ways = [f"%{factored}", f"%{look}"]
    joins = [
        *zip(names["here"], [e.type] * len(start), start, there, strict=True),
        *zip(names["best"], [e.type] * len(start), start, best, strict=True),
        (scalars["left"], e.type, left, seen),
        (scalars["last"], e.type, before, scalars["left"]),
        (scalars["least"], e.type, e.constant(NEVER), least),
        (scalars["trips"], e.type, trips, more),
        (done, e.mask, fine, finished),
        (count, "i64", "0", after_that),
    ]
    e.lines[hole:hole] = [
        f"  {x} = phi {kind} [ {a}, {ways[0]} ], [ {b}, {ways[1]} ]" for x, kind, a, b in joins
    ]
    e.label(after)
    merged = [
        e.put(f"phi {e.type} [ {a}, %{block} ], [ {b}, %{again} ], [ {c}, %{look} ]")
        for a, b, c in zip([*start, trips], [*there, scalars["trips"]], [*out, more], strict=True)
    ]
    return merged[:-1], merged[-1], after
