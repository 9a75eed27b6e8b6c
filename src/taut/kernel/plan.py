"""Planning an assembled step: the program on abstract vectors, cut into solves and assignments.

One symbol stands for a whole vector.  Every operator that the program calls becomes a placeholder;
everything it writes down must be affine in vectors and placeholders, with coefficients that depend
on h only.  An unknown that its equation gives explicitly is eliminated if no operator looks at it,
or if it is a sum of vectors; the others are left to a sparse Newton iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from taut.errors import InputError
from taut.kernel.eliminate import entries, written_out
from taut.kernel.operators import Local, separable
from taut.methods.base import handed_on
from taut.model.system import System

SX = ca.SX
SCALARS = ("t", "t1", "h")
RESULTS = ("dq", "dp", "v1", "tangent")  # vectors of the end of a step; no unknown shares them
FULL_LIMIT = 400  # coordinates up to which a step may multiply by full matrices


@dataclass
class Placeholder:
    """An operator that the program called: which, on what."""

    symbol: SX
    operator: str
    arguments: dict[str, SX]
    time: SX
    window: SX


@dataclass
class Table:
    """A matrix that waits for its vector."""

    step: AbstractStep
    name: str

    def __matmul__(self, x: SX) -> SX:
        symbol = SX.sym(f"{self.name}{len(self.step.placeholders)}")
        self.step.placeholders.append(Placeholder(symbol, self.name, {"x": x}, SX(0), SX(2, 1)))
        return symbol


class AbstractStep:
    """The `Step` on which one symbol stands for a whole vector."""

    def __init__(self, system: System, locals: Sequence[Local]) -> None:
        self.form, self.n = system.form, system.n
        self.mixed, self.locals = system.mixed, locals
        self.spaces: dict[str, str] = {}
        self.symbols: dict[str, SX] = {}
        self.q, self.p, self.v, self.carry = (self.vector(name) for name in ("q", "p", "v", "cq"))
        self.t, self.t1, self.h = (SX.sym(name) for name in SCALARS)
        self.window: tuple[SX, SX] | None = self.t, self.t1  # see `taut.model.switches`
        self.placeholders: list[Placeholder] = []
        self.solves: list[tuple[list[tuple[SX, SX]], list[SX]]] = []
        self.sums: list[tuple[SX, SX]] = []
        self.changes: list[tuple[SX, SX]] = []
        self.guesses: dict[str, SX] = {}
        self.end: dict[str, SX] = {}
        self.tables: dict[str, str] = {}
        self.remembered: dict[str, SX] = {}
        self._looks: dict[str, set[str]] = {}  # arguments that operators look at

    @cached_property
    def separable(self) -> bool:
        """Whether v is an affine function of p alone."""
        return separable(self.locals, self.form)

    def vector(self, name: str, space: str = "q") -> SX:
        """A new abstract vector."""
        while name in self.symbols or name in RESULTS:
            name += "'"
        symbol = SX.sym(name)
        self.spaces[name], self.symbols[name] = space, symbol
        return symbol

    def unknown(self, name: str, space: str = "q", guess: SX | None = None) -> SX:
        symbol = self.vector(name, space)
        self.guesses[symbol.name()] = SX(0) if guess is None else guess
        return symbol

    def stages(self, name: str, nodes, guess: SX | None = None) -> list[SX]:
        return [self.unknown(f"{name}{i}", guess=guess) for i in range(len(nodes))]

    def solve(self, *pairs: tuple[SX, SX], watch: SX, each: Sequence[SX] = ()) -> None:
        self.solves.append((list(pairs), list(each) or [watch]))

    def corrected(self, inner, laws, **options) -> None:
        raise InputError(
            "corrections are not available for systems of this size",
            expected="a system whose steps are unrolled into one kernel (some 40 coordinates and "
            "constraints, fewer with several stages): gradients of laws are full",
            received=f"{self.n} coordinates",
            remedy="take a symplectic method, which keeps momenta and does not drift in energy",
        )

    def table(self, name: str, cols: str = "q") -> SX | Table:
        if self.n > FULL_LIMIT:
            raise InputError(
                "this method is not available for systems of this size",
                expected=f"at most {FULL_LIMIT} coordinates: its steps multiply by full matrices",
                received=self.n,
                remedy="use another method",
            )
        self.tables[name] = cols
        return Table(self, name) if cols == "q" else self.vector(name)

    def moved(self, dq: SX) -> SX:
        return self._sum(self.q + (self.carry + dq), dq)

    def kicked(self, dp: SX) -> SX:
        return self._sum(self.p + dp, dp)

    def _sum(self, value: SX, change: SX) -> SX:
        symbol = self.vector("sum")
        self.sums.append((symbol, value))
        self.changes.append((change, symbol))
        return symbol

    def remember(self, name: str) -> SX:
        if name not in self.remembered:
            self.remembered[name] = self.vector(name)
        return self.remembered[name]

    def advance(self, *, q: SX, p: SX, v: SX, tangent: SX | None = None, remember=None) -> None:
        ends = (q, p, v, SX(0) if tangent is None else tangent)
        self.end = dict(zip(RESULTS, ends, strict=True))
        values = handed_on(self.remembered, remember)
        self.end |= dict(zip(self.handed, values, strict=True))

    @property
    def handed(self) -> list[str]:
        """Names of the vectors that are handed on."""
        return [f"next {symbol.name()}" for symbol in self.remembered.values()]

    def called(self, expression: SX) -> list[Placeholder]:
        """The operators in an expression."""
        used = entries(expression)
        return [p for p in self.placeholders if p.symbol.element_hash() in used]

    def _call(self, operator: str, time: SX, **arguments: SX) -> SX:
        """A placeholder, of the arguments that some term really looks at."""
        symbol = SX.sym(f"{operator}{len(self.placeholders)}")
        used = self._looked_at(operator)
        arguments = {name: value for name, value in arguments.items() if name in used}
        span = (time, time) if self.window is None else self.window
        window = ca.vertcat(*span) if "window" in used else SX(2, 1)
        time = time if "t" in used else SX(0)
        self.placeholders.append(Placeholder(symbol, operator, arguments, time, window))
        return symbol

    def _looked_at(self, operator: str) -> set[str]:
        if operator not in self._looks:
            parts = [x for x in self.locals if x.has(operator)]
            self._looks[operator] = {name for x in parts for name in x.looks_at(operator)}
        return self._looks[operator]

    def _mean(self, operator: str, time: SX, **arguments: SX) -> SX:
        """A mean between two states, which may have no terms."""
        found = any(x.has(operator) for x in self.locals)
        return self._call(operator, time, **arguments) if found else SX(0)

    def link(self, q, v, p, t):
        return (p if self.form == "lagrangian" else v) + self._call("link", t, q=q, v=v, p=p)

    def force(self, q, v, p, t):
        return self._call("force", t, q=q, v=v, p=p)

    def rate(self, q, v, p, a, r, t):
        first = r if self.form == "lagrangian" else a
        return first + self._call("rate", t, q=q, v=v, p=p, a=a, r=r)

    def respond(self, q, v, p, w, r, t):
        first = r if self.form == "lagrangian" else w
        return first + self._call("respond", t, q=q, v=v, p=p, a=w, r=r)

    def g(self, q, t):
        return self._call("g", t, q=q)

    def push(self, q, t, multipliers):
        return self._call("push", t, q=q, lam=multipliers)

    def hidden(self, q, v, t):
        return self._call("hidden", t, q=q, v=v)

    def hidden_rate(self, q, v, a, t):
        return self._call("hidden_rate", t, q=q, v=v, a=a)

    def mean_velocity(self, q, v, p, q1, v1, p1, t):
        if self.form == "lagrangian":
            return 0.5 * (v + v1)
        return self._mean("mean_velocity", t, q=q, p=p, q1=q1, p1=p1)

    def mean_force(self, q, v, p, q1, v1, p1, t):
        return self._mean("mean_force", t, q=q, v=v, p=p, q1=q1, v1=v1, p1=p1)

    def mean_push(self, q, q1, t, multipliers):
        return self._mean("mean_push", t, q=q, q1=q1, lam=multipliers)

    def mean_lift(self, q, v, q1, v1, t, multipliers):
        return self._mean("mean_lift", t, q=q, v=v, q1=q1, v1=v1, lam=multipliers)

    def mean_respond(self, q, p, q1, p1, w, r, t):
        first = r if self.form == "lagrangian" else w
        return first + self._mean("mean_respond", t, q=q, p=p, q1=q1, p1=p1, a=w, r=r)

    def mean_bend(self, q, v, p, q1, v1, p1, w, r, t, multipliers):
        return self._mean(
            "mean_bend", t, q=q, v=v, p=p, q1=q1, v1=v1, p1=p1, a=w, r=r, lam=multipliers
        )

    def split(self, _):
        raise InputError(
            "independent coordinates are not available for systems of this size",
            expected="a system small enough to be unrolled",
            remedy='use form="multipliers": it gives the same trajectory',
        )

    null_space = split


@dataclass
class SolvePlan:
    """What is left of an implicit solve: unknowns, their equations, and velocities to watch."""

    unknowns: list[SX]
    residuals: list[SX]
    watch: list[SX]


@dataclass
class AssignPlan:
    """New vectors of the bank: name, space, value."""

    targets: list[tuple[str, str, SX]]


BLANK = SX.sym("blank")


def _equal(one: dict[str, SX], two: dict[str, SX]) -> bool:
    same = one.keys() == two.keys()
    return same and all(ca.is_equal(one[k], two[k], 100) for k in one)


class Planner:
    """Turns a recorded program into solve and assign plans."""

    def __init__(self, step: AbstractStep) -> None:
        self.step = step
        self.known: list[tuple[SX, SX]] = []
        # The symbols that sums, operators and eliminated unknowns are made of.
        self.parts: dict[int, set[int]] = {}
        self.seen: dict[int, set[int]] = {}
        self._look_again()
        self.plans: list[SolvePlan | AssignPlan] = []
        self.done = 0  # solves planned so far
        self.ended: list[str] = []  # vectors of the end that have their values

    def _look_again(self) -> None:
        self.parts |= {s.element_hash(): entries(e) for s, e in self.step.sums}
        self.seen = {
            p.symbol.element_hash(): set().union(*map(entries, p.arguments.values()))
            for p in self.step.placeholders
        }

    def written_out(self, expression: SX, sums: list[tuple[SX, SX]]) -> SX:
        """`expression` with eliminated unknowns and the given sums written out."""
        return written_out(expression, [*self.known, *sums])

    def plan(self) -> list[SolvePlan | AssignPlan]:
        """All stages in order, up to the new state."""
        open_sums = {symbol.name(): (symbol, value) for symbol, value in self.step.sums}
        self._settle(open_sums, [])
        for pairs, watch in self.step.solves:
            unknowns = [u for u, _ in pairs]
            own = [(s, e) for s, e in open_sums.values() if self.reaches(e, unknowns)]
            self._solve(pairs, watch, own)
            self._settle(open_sums, own)
        end = self.step.end
        left = [name for name in end if name not in self.ended]
        self._assign([(name, "q", self.written_out(end[name], [])) for name in left])
        return self.plans

    def _settle(self, open_sums: dict[str, tuple[SX, SX]], own: list[tuple[SX, SX]]) -> None:
        """Give a value to the sums, and to ends beside them, that no later solve can change."""
        ready = [(s.name(), e) for s, e in open_sums.values() if not self._pending(e)]
        if not ready:
            return
        for name, _ in ready:
            del open_sums[name]
        # What the sums are made of is mostly what the ends are, and evaluated once for both.
        ends = [x for x in ("dq", "dp") if x not in self.ended and not self._pending(self.end(x))]
        self.ended += ends
        ready += [(x, self.end(x)) for x in ends]
        self._assign([(name, "q", self.written_out(e, own)) for name, e in ready])

    def end(self, name: str) -> SX:
        """What a step ends with."""
        return self.step.end.get(name, SX(0))

    def reaches(self, expression: SX, unknowns: list[SX]) -> bool:
        """Whether an expression depends on any of these unknowns, also through placeholders."""
        return bool(self._traced(entries(expression), self.seen) & entries(ca.vertcat(*unknowns)))

    def _traced(self, used: set[int], more: dict[int, set[int]] | None = None) -> set[int]:
        """These symbols and all that they are made of."""
        parts, found, fresh = self.parts | (more or {}), set(used), used
        while fresh:
            fresh = set().union(*(parts.get(e, ()) for e in fresh)) - found
            found |= fresh
        return found

    def _pending(self, expression: SX) -> bool:
        later = [u for pairs, _ in self.step.solves[self.done :] for u, _ in pairs]
        return bool(later) and self.reaches(expression, later)

    def _solve(self, pairs, watch: list[SX], own) -> None:
        todo = [(u, r) for u, r in pairs]
        eliminated = []
        while (found := self._double(todo) or self._eliminable(todo, own)) is not None:
            u, value = found
            todo = [(x, r) for x, r in todo if x is not u]
            self.known.append((u, value))
            self.parts[u.element_hash()] = entries(value)
            eliminated.append(u)
            if not self._calls(value):
                self._replace(u, value)
        residuals = [self.written_out(r, own) for _, r in todo]
        self.done += 1
        if todo:
            watch = [self.written_out(x, own) for x in watch]
            self.plans.append(SolvePlan([u for u, _ in todo], residuals, watch))
        self._keep([u for u in eliminated if self._in_demand(u)], own)

    def _keep(self, unknowns: list[SX], own) -> None:
        """Give a value to eliminated unknowns, instead of evaluating their operators each time."""
        names = {u.name() for u in unknowns}
        values = [self.written_out(u, own) for u in unknowns]
        self.known = [(u, e) for u, e in self.known if u.name() not in names]
        for u in unknowns:
            del self.parts[u.element_hash()]
        self._assign(
            [
                (u.name(), self.step.spaces[u.name()], e)
                for u, e in zip(unknowns, values, strict=True)
            ]
        )

    def _in_demand(self, u: SX) -> bool:
        """Whether more than one of the things that come after this solve asks for u."""
        later = [r for pairs, _ in self.step.solves[self.done :] for _, r in pairs]
        asked = [*later, *(e for _, e in self.step.sums), *self.step.end.values()]
        return sum(u.element_hash() in entries(e) for e in asked) > 1

    def _calls(self, expression: SX) -> bool:
        return bool(self.step.called(expression))

    def _replace(self, u: SX, value: SX) -> None:
        """Write an eliminated unknown out in what operators look at."""
        for p in self.step.placeholders:
            p.arguments = {k: ca.substitute(a, u, value) for k, a in p.arguments.items()}
        self.step.sums[:] = [(s, ca.substitute(e, u, value)) for s, e in self.step.sums]
        self._look_again()

    def _double(self, todo) -> tuple[SX, SX] | None:
        """An unknown whose equation is that of an earlier one: RATTLE's v_b, if M is constant.

        The equations of velocities have one solution, which both of them are.
        """
        forms = [(u, self._form(u, r)) for u, r in todo]
        for k, (u, form) in enumerate(forms):
            for other, same in forms[:k]:
                if form is not None and same is not None and _equal(form, same):
                    return u, other
        return None

    def _form(self, u: SX, residual: SX) -> dict[str, SX] | None:
        """A residual that knows its unknown through one link alone, with a blank in its place."""
        own = u.element_hash()
        called = [
            p for p in self.step.called(residual) if own in self.seen[p.symbol.element_hash()]
        ]
        if len(called) != 1 or called[0].operator != "link" or own in entries(residual):
            return None
        link = called[0]
        blanks = {k: ca.substitute(x, u, BLANK) for k, x in link.arguments.items()}
        return blanks | {"": ca.substitute(residual, link.symbol, BLANK), "time": link.time}

    def _eliminable(self, todo, own) -> tuple[SX, SX] | None:
        """The first unknown that its equation gives explicitly.

        Unless it is given by vectors alone, no operator may look at it.
        """
        looked_at = self._traced(set().union(*self.seen.values()))
        for u, r in todo:
            residual = self.written_out(r, own)
            slope = ca.jacobian(residual, u)
            if slope.nnz() == 0 or ca.depends_on(slope, ca.vertcat(*(x for x, _ in todo))):
                continue
            value = -ca.substitute(residual, u, SX(0)) / slope
            if u.element_hash() in looked_at and self._calls(value):
                continue
            return u, value
        return None

    def _assign(self, targets) -> None:
        if targets:
            self.plans.append(AssignPlan(targets))
