"""Planning an assembled step: the program on abstract vectors, cut into solves and assignments.

One symbol stands for a whole vector.  Every operator that the program calls becomes a placeholder;
everything it writes down must be affine in vectors and placeholders, with coefficients that depend
on h only.  An unknown that its equation gives explicitly, and that no operator looks at, is
eliminated; the others are left to a sparse Newton iteration.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from taut.errors import InputError
from taut.model.system import System

SX = ca.SX
SCALARS = ("t", "t1", "h")
# Arguments that an energy's functions do not look at, by the form of the system.
IGNORED = {"lagrangian": ("p", "r"), "hamiltonian": ("a",)}


@dataclass
class Placeholder:
    """An operator that the program called: which, on what."""

    symbol: SX
    operator: str
    arguments: dict[str, SX]
    time: SX


class AbstractStep:
    """The `Step` on which one symbol stands for a whole vector."""

    def __init__(self, system: System) -> None:
        self.form = system.form
        self.spaces: dict[str, str] = {}
        self.symbols: dict[str, SX] = {}
        self.q, self.p, self.v, self.carry = (self.vector(name) for name in ("q", "p", "v", "cq"))
        self.t, self.t1, self.h = (SX.sym(name) for name in SCALARS)
        self.placeholders: list[Placeholder] = []
        self.solves: list[tuple[list[tuple[SX, SX]], SX]] = []
        self.sums: list[tuple[SX, SX]] = []
        self.changes: list[tuple[SX, SX]] = []
        self.guesses: dict[str, SX] = {}
        self.end: dict[str, SX] = {}

    def vector(self, name: str, space: str = "q") -> SX:
        """A new abstract vector."""
        while name in self.symbols:
            name += "'"
        symbol = SX.sym(name)
        self.spaces[name], self.symbols[name] = space, symbol
        return symbol

    def unknown(self, name: str, space: str = "q", guess: SX | None = None) -> SX:
        symbol = self.vector(name, space)
        self.guesses[symbol.name()] = SX(0) if guess is None else guess
        return symbol

    def solve(self, *pairs: tuple[SX, SX], watch: SX) -> None:
        self.solves.append((list(pairs), watch))

    def moved(self, dq: SX) -> SX:
        return self._sum(self.q + (self.carry + dq), dq)

    def kicked(self, dp: SX) -> SX:
        return self._sum(self.p + dp, dp)

    def _sum(self, value: SX, change: SX) -> SX:
        symbol = self.vector("sum")
        self.sums.append((symbol, value))
        self.changes.append((change, symbol))
        return symbol

    def advance(self, *, q: SX, p: SX, v: SX, tangent: SX | None = None) -> None:
        self.end = {"dq": q, "dp": p, "v1": v, "tangent": SX(0) if tangent is None else tangent}

    def _call(self, operator: str, time: SX, **arguments: SX) -> SX:
        symbol = SX.sym(f"{operator}{len(self.placeholders)}")
        if operator != "hidden_rate":  # constraints look at a in every form
            for name in IGNORED[self.form]:
                arguments.pop(name, None)
        self.placeholders.append(Placeholder(symbol, operator, arguments, time))
        return symbol

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

    def split(self, _):
        raise InputError(
            "independent coordinates are not available for systems of this size",
            expected="a system small enough to be unrolled",
            remedy='use form="multipliers": it gives the same trajectory',
        )

    null_space = split


@dataclass
class SolvePlan:
    """What is left of an implicit solve: unknowns, their equations, and what to watch."""

    unknowns: list[SX]
    residuals: list[SX]
    watch: SX


@dataclass
class AssignPlan:
    """New vectors of the bank: name, space, value."""

    targets: list[tuple[str, str, SX]]


class Planner:
    """Turns a recorded program into solve and assign plans."""

    def __init__(self, step: AbstractStep) -> None:
        self.step = step
        self.known: list[tuple[SX, SX]] = []
        self.plans: list[SolvePlan | AssignPlan] = []
        self.done = 0  # solves planned so far

    def written_out(self, expression: SX, sums: list[tuple[SX, SX]]) -> SX:
        """`expression` with eliminated unknowns and the given sums written out."""
        table = [*self.known, *sums]
        while used := [(s, e) for s, e in table if ca.depends_on(expression, s)]:
            symbols, values = (list(x) for x in zip(*used, strict=True))
            expression = ca.substitute([expression], symbols, values)[0]
        return expression

    def plan(self) -> list[SolvePlan | AssignPlan]:
        """All stages in order, up to the new state."""
        open_sums = {symbol.name(): (symbol, value) for symbol, value in self.step.sums}
        self._settle(open_sums, [])
        for pairs, watch in self.step.solves:
            unknowns = [u for u, _ in pairs]
            own = [(s, e) for s, e in open_sums.values() if self._reaches(e, unknowns)]
            self._solve(pairs, watch, own)
            self._settle(open_sums, own)
        end = self.step.end
        self._assign([(name, "q", self.written_out(end[name], [])) for name in end])
        return self.plans

    def _settle(self, open_sums: dict[str, tuple[SX, SX]], own: list[tuple[SX, SX]]) -> None:
        """Give a value to the sums that no later solve can change."""
        ready = [(s, e) for s, e in open_sums.values() if not self._pending(e)]
        self._assign([(s.name(), "q", self.written_out(e, own)) for s, e in ready])
        for symbol, _ in ready:
            del open_sums[symbol.name()]

    def _reaches(self, expression: SX, unknowns: list[SX]) -> bool:
        """Whether an expression depends on any of these unknowns, also through placeholders."""
        expression = self.written_out(expression, [])
        if any(ca.depends_on(expression, u) for u in unknowns):
            return True
        called = [p for p in self.step.placeholders if ca.depends_on(expression, p.symbol)]
        return any(self._reaches(a, unknowns) for p in called for a in p.arguments.values())

    def _pending(self, expression: SX) -> bool:
        later = [u for pairs, _ in self.step.solves[self.done :] for u, _ in pairs]
        return bool(later) and self._reaches(expression, later)

    def _solve(self, pairs, watch: SX, own) -> None:
        todo = [(u, r) for u, r in pairs]
        while (found := self._eliminable(todo, own)) is not None:
            u, value = found
            todo = [(x, r) for x, r in todo if x is not u]
            self.known.append((u, value))
        residuals = [self.written_out(r, own) for _, r in todo]
        self.done += 1
        if todo:
            self.plans.append(
                SolvePlan([u for u, _ in todo], residuals, self.written_out(watch, own))
            )

    def _eliminable(self, todo, own) -> tuple[SX, SX] | None:
        """The first unknown that its equation gives explicitly and that no operator looks at."""
        for u, r in todo:
            residual = self.written_out(r, own)
            slope = ca.jacobian(residual, u)
            if slope.nnz() == 0 or ca.depends_on(slope, ca.vertcat(*(x for x, _ in todo))):
                continue
            if any(self._looks_at(p, u, own) for p in self.step.placeholders):
                continue
            return u, -ca.substitute(residual, u, SX(0)) / slope
        return None

    def _looks_at(self, placeholder: Placeholder, u: SX, own) -> bool:
        return any(
            ca.depends_on(self.written_out(a, own), u) for a in placeholder.arguments.values()
        )

    def _assign(self, targets) -> None:
        if targets:
            self.plans.append(AssignPlan(targets))
