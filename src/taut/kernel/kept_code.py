"""Factors of Newton's matrix that serve several steps, as LLVM code.

A factorisation costs as much as `price` iterations.  With the factors of an earlier step there are
more iterations, and more from step to step as the matrix ages.  After `age` steps that took `spent`
iterations in all, a step has cost (price + spent)/age on average.  As long as the last one cost
less than that, going on lowers the average; when it cost more, the next step takes new factors.
That is a rule without a tolerance: it finds the age that makes the average least.

Where even the second step with the same factors costs more than new ones would (coarse steps),
new ones are taken in each of the next `PAUSE` steps, before it is tried again.  A solve that has
not converged after `TRIES` iterations begins once more, with new factors.

Factors and the three numbers `age` (0 asks for new ones), `spent` and `pause` are a part of the
state, lane by lane, so that neither a run that is continued nor a trajectory in a batch depends
on where it was interrupted or who its neighbours are.
"""

from __future__ import annotations

import casadi as ca

from taut.kernel.emit import Emitter, lean
from taut.kernel.newtons import BOOKS, Newton

TRIES = 12
PAUSE = 50.0


class Keeper:
    """Writes what stands around a Newton loop whose factors are kept.

    `entered` finds which lanes need new factors, a second time those that did not converge;
    `renewed` makes them; `ready` goes to the loop; `again` goes back from it, `booked` on.
    """

    def __init__(
        self,
        e: Emitter,
        index: int,
        newton: Newton,
        place: tuple[str, int],
        guess: list[str],
        iterations: str,
    ) -> None:
        self.e, self.index, self.newton = e, index, newton
        self.pointer, self.slot = place
        self.guess, self.iterations = guess, iterations
        self.space = "%space"
        books = (e.load(self.pointer, self.slot + i) for i in range(BOOKS))
        self.age, self.spent, self.pause = books

    def entered(self, symbols, values, before: str) -> tuple[list[str], str, str, str]:
        """(unknowns, lanes that are not to iterate, iterations so far, block) before the loop."""
        e = self.e
        asked = e.compare("oeq", self.age, e.constant(0.0))
        again = self._block("again")
        fresh, self.was, idle, self.good0, trips = (e.name() for _ in range(5))
        z = [e.name() for _ in self.guess]
        # What comes from the second time round is known only when the loop has ended.
        self.missed, self.known, self.rest, self.good, self.trips = (e.name() for _ in range(5))
        self.retried = [e.name() for _ in self.guess]
        none, all_ = e.splat("false"), e.splat("true")
        e.do(f"br label %{self._block('entered')}")
        e.label(self._block("entered"))
        ways = [
            (e.mask, fresh, asked, self.missed),
            (e.mask, self.was, asked, self.known),
            (e.mask, idle, none, self.rest),
            (e.mask, self.good0, none, self.good),
            (e.type, trips, self.iterations, self.trips),
            *((e.type, x, a, b) for x, a, b in zip(z, self.guess, self.retried, strict=True)),
        ]
        for kind, name, one, other in ways:
            e.do(f"{name} = phi {kind} [ {one}, %{before} ], [ {other}, %{again} ]")
        old = e.put(f"xor {e.mask} {fresh}, {all_}")
        renewed, ready = self._block("renewed"), self._block("ready")
        e.do(f"br i1 {e.all(old)}, label %{ready}, label %{renewed}")
        e.label(renewed)
        self._renew(symbols, values, fresh)
        e.do(f"br label %{ready}")
        e.label(ready)
        return z, idle, trips, ready

    def _renew(self, symbols, values, fresh: str) -> None:
        """Call a function that factorises: written here, it would be moved out of the branch."""
        e, name = self.e, self._block("factorised")
        used = ca.which_depends(self.newton.factors, ca.vertcat(*symbols))
        flat = [x for entries in values for x in entries]
        given = [x for x, is_used in zip(flat, used, strict=True) if is_used]
        inputs = [e.number(fresh), *given]
        for i, value in enumerate(inputs):
            e.store(self.space, i, value)
        own = e.put(f"getelementptr double, ptr {self.pointer}, i64 {self.slot * e.lanes}")
        e.do(f"call void @{name}(ptr {self.space}, ptr {own})")
        inner = Emitter(e.lanes)
        new = inner.compare("ogt", inner.load("%in", 0), inner.constant(0.0))
        place = iter(range(1, len(inputs)))
        bound, at = [], 0
        for x in symbols:
            here = used[at : at + x.numel()]
            bound.append([inner.load("%in", next(place)) if u else "poison" for u in here])
            at += x.numel()
        made = inner.inline(lean(ca.Function("factors", symbols, [self.newton.factors])), bound)[0]
        for i, value in enumerate(made):
            if e.lanes > 1:
                value = inner.select(new, value, inner.load("%out", BOOKS + i))
            inner.store("%out", BOOKS + i, value)
        e.functions.append((name, "ptr noalias readonly %in, ptr noalias %out", inner))

    def head(self, before: str, loop: str) -> None:
        """The φ-node of the lanes that have converged."""
        e, self.found = self.e, self.e.name()
        e.do(f"{self.found} = phi {e.mask} [ {self.good0}, %{before} ], [ {self.good}, %{loop} ]")

    def factors(self) -> list[str]:
        """The factors, read anew in every iteration: there are more of them than registers.

        Compilers would read them once, before the loop, and put them aside on the stack: only a
        place that they cannot know prevents it.
        """
        e, count = self.e, self.newton.named.numel()
        first = e.put("load volatile i64, ptr %unknown, align 8")
        place = e.put(f"getelementptr double, ptr {self.pointer}, i64 {first}")
        return [e.load(place, self.slot + BOOKS + i) for i in range(count)]

    def stopped(self, count: str, done: str, enough: str) -> str:
        """Lanes that end here: they have converged, or had their share of tries."""
        e = self.e
        busy = e.put(f"xor {e.mask} {done}, {e.splat('true')}")
        new = e.put(f"and {e.mask} {busy}, {enough}")
        e.do(f"{self.good} = or {e.mask} {self.found}, {new}")
        last = e.put(f"icmp uge i64 {count}, {TRIES - 1}")
        bit = e.spread(e.put(f"uitofp i1 {last} to double"))
        over = e.compare("ogt", bit, e.constant(0.0))
        late = e.select(self.was, e.constant(0.0), e.constant(1.0))
        over = e.put(f"and {e.mask} {over}, {e.compare('ogt', late, e.constant(0.0))}")
        return e.put(f"or {e.mask} {enough}, {over}")

    def left(self, z: list[str], trips: str) -> tuple[str, str]:
        """After the loop: (lanes that have converged, block)."""
        e, again, booked = self.e, self._block("again"), self._block("booked")
        settled = e.put(f"or {e.mask} {self.good}, {self.was}")
        e.do(f"br i1 {e.all(settled)}, label %{booked}, label %{again}")
        e.label(again)
        e.do(f"{self.missed} = xor {e.mask} {settled}, {e.splat('true')}")
        e.do(f"{self.known} = or {e.mask} {self.was}, {self.missed}")
        e.do(f"{self.rest} = or {e.mask} {settled}, {e.splat('false')}")
        e.do(f"{self.trips} = fadd {e.type} {trips}, {e.constant(0.0)}")
        for name, a, b in zip(self.retried, self.guess, z, strict=True):
            e.do(f"{name} = select {e.mask} {self.missed}, {e.type} {a}, {e.type} {b}")
        e.do(f"br label %{self._block('entered')}")
        e.label(booked)
        self._book(trips)
        return self.good, booked

    def _book(self, trips: str) -> None:
        """What the next step goes by."""
        e, price = self.e, self.e.constant(self.newton.price)
        one, zero = e.constant(1.0), e.constant(0.0)
        made = e.put(f"fsub {e.type} {trips}, {self.iterations}")
        age = e.select(self.was, one, e.plus(self.age, one))
        spent = e.select(self.was, made, e.plus(self.spent, made))
        # Either the second step cost more than the first with its factors, or this was no use.
        first = e.put(f"and {e.mask} {e.compare('oeq', age, e.constant(2.0))}, {self._kept()}")
        dear = e.compare("ogt", made, e.plus(self.spent, price))
        failed = e.put(f"and {e.mask} {self.was}, {e.compare('ogt', self.age, zero)}")
        poor = e.put(f"or {e.mask} {e.put(f'and {e.mask} {first}, {dear}')}, {failed}")
        less = e.largest(e.put(f"fsub {e.type} {self.pause}, {one}"), zero)
        pause = e.select(poor, e.constant(PAUSE), less)
        # made > (price + spent)/age
        more = e.compare("ogt", e.put(f"fmul {e.type} {made}, {age}"), e.plus(price, spent))
        new = e.put(f"or {e.mask} {more}, {e.compare('ogt', pause, zero)}")
        for i, value in enumerate((e.select(new, zero, age), spent, pause)):
            e.store(self.pointer, self.slot + i, value)

    def _kept(self) -> str:
        return self.e.put(f"xor {self.e.mask} {self.was}, {self.e.splat('true')}")

    def _block(self, name: str) -> str:
        return f"{name}{self.index}"
