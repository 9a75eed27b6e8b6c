"""The fused back end: a whole step as one straight-line program with Newton loops in it.

All terms are inlined, everything affine is eliminated, and what is left of each implicit solve
becomes a `Newton` node.  The result is a list of CasADi expressions that `emit` turns into one
LLVM function.

Newton's matrix of a step with several stages is simplified: taken at the guess, with multipliers
left out, it is factorised once.  `thorough` asks for the exact matrix in every iteration instead.

State of a step, in this order: q, p and v (the result, p and v tangent), the compensation of q,
the carried momentum (which may lack the part that makes p tangent), its compensation, the last
move of q, the floor of each coordinate (the smallest size that matters), and for every sub-step
and every Newton unknown its last three values, and of corrections to round-off the last one.  Then
the vectors that the method remembers, if any; and where steps vary, a clock: the time, its
compensation, and the density ρ that makes the next step h/ρ long.  What a run holds on to (`held`)
follows the vectors that it remembers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import casadi as ca
import numpy as np
import sympy as sp

from taut.errors import ModelError
from taut.kernel.branches import Choice, Polish
from taut.kernel.correction import correct
from taut.kernel.eliminate import (
    entries,
    reduce,
    solve_linear,
    straightened,
    written_out,
)
from taut.kernel.evaluate import AtPoints
from taut.kernel.newtons import Joint, Newton, Piece, Solve, joint_of, newton_of
from taut.kernel.operators import Operators, column, translated
from taut.methods.base import Method, Step, handed_on
from taut.model.system import System

SX = ca.SX
Parts = tuple[SX, ...]
HEAD = 8  # vectors of length n at the beginning of the state
CLOCK = 3  # numbers at the end of the state where steps vary: t, its compensation, the density


@dataclass
class FusedProgram:
    """A step with everything inlined; symbols are the inputs that `emit` binds."""

    n: int
    inputs: dict[str, SX]
    nodes: list[Newton | Choice | Polish]
    q1: SX
    p1: SX
    dq: SX
    dp: SX
    parts: tuple[Parts, Parts]  # of dq and dp, in the order in which they are added
    v1: SX
    tangent: SX
    ends: dict[str, SX]
    monitors: SX
    span: SX  # of a whole step, where monitors need it
    switched: bool  # whether something jumps in time
    condition: SX
    guesses: AtPoints
    conservative: bool
    charted: bool
    tables: dict[str, tuple[int, int]]
    solves: list[list[tuple[SX, SX]]] = field(repr=False)
    operators: Operators = field(repr=False)
    substeps: tuple[float, ...] = (1.0,)
    pace: SX | None = None  # what the step density grows by, at the end of a step
    handed: SX = field(default_factory=lambda: SX(0, 1))  # what the method remembers next
    held: AtPoints | None = None  # (q, v, p, t, parameters) → what a run holds on to

    @property
    def symbols(self) -> dict[str, SX]:
        """The inputs, and what the nodes find."""
        return self.inputs | {f"z{i}": node.unknowns for i, node in enumerate(self.nodes)}

    @property
    def newtons(self) -> list[Newton | Polish]:
        """What is iterated."""
        return [node for node in self.nodes if not isinstance(node, Choice)]

    def explicit(self, expression: SX) -> SX:
        """An expression with choices written out."""
        choices = [node for node in self.nodes if isinstance(node, Choice)]
        return written_out(expression, [(choice.unknowns, choice.value) for choice in choices])

    @property
    def memory(self) -> int:
        """Slots remembered from step to step, of each sub-step: for guesses, and factors kept."""
        return sum(node.slots for node in self.nodes) + self.room

    @property
    def room(self) -> int:
        """Slots for factors that are kept from step to step."""
        return sum(node.room for node in self.nodes if isinstance(node, Newton))

    @property
    def slots(self) -> int:
        """Length of the state."""
        clock = CLOCK if self.paced else 0
        return HEAD * self.n + self.memory * len(self.substeps) + self.handed.numel() + clock

    @property
    def remembers(self) -> int:
        """How many vectors the method remembers from step to step."""
        return (self.handed.numel() - self.holds) // self.n

    @property
    def implies(self) -> bool:
        """Whether a step depends on more than (q, p), which follows from them at the start."""
        return self.handed.numel() > 0 or self.needs_velocity

    @property
    def holds(self) -> int:
        """How many numbers of its start a run holds on to."""
        return 0 if self.held is None else self.held.length

    @property
    def paced(self) -> bool:
        """Whether the sizes of the steps vary."""
        return self.pace is not None

    @property
    def simplified(self) -> bool:
        """Whether an iteration with the exact matrix may succeed where this one fails."""
        return any(node.simplified for node in self.nodes)

    @property
    def needs_velocity(self) -> bool:
        """Whether a step depends on the velocity that the one before it found."""
        solved = [node.everything for node in self.nodes]
        ends = (self.dq, self.dp, self.v1, self.tangent, self.handed)
        return ca.depends_on(ca.vertcat(*solved, *ends), self.inputs["v"])

    def first_memory(self, q: np.ndarray, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The memory before the first step, for a state or for columns of states."""
        rows: list[np.ndarray | None] = [x.reshape(len(x), -1).T for x in (q, p, v)]
        first = self.guesses(rows, q[0].size).T.reshape(-1, *q.shape[1:])
        nothing = np.zeros((self.room, *q.shape[1:]))
        return np.concatenate([first, nothing] * len(self.substeps))

    def pace_at(self, q, p, v, t: float, par: np.ndarray) -> float:
        """What the step density grows by per unit of h, at one state."""
        return float(cast(ca.DM, self.pace_function(q, p, v, t, par)))

    def density_after(self, density: float, dt: float, q, p, v, t: float, par: np.ndarray) -> float:
        """The density at a state dt after the last one, had this been a part of its step."""
        return density * (1.0 + dt * self.pace_at(q, p, v, t, par))

    @cached_property
    def pace_function(self) -> ca.Function:
        """(q, p, v, t₁, parameters) → `pace`."""
        inputs = [*self.ends.values(), self.inputs["t1"], self.inputs["par"]]
        return ca.Function("pace", inputs, [ca.densify(cast(SX, self.pace))])

    def last_solution(self, state: np.ndarray) -> np.ndarray:
        """What Newton found in the last step, read off the state's memory."""
        at, found = HEAD * self.n, []
        for newton in self.newtons:
            found.append(newton.last(state[at : at + newton.slots]))
            at += newton.slots
        return np.concatenate(found) if found else np.zeros(0)


class FusedStep:
    """The `Step` that a method's program is run on; see `taut.methods.base`."""

    def __init__(
        self,
        system: System,
        operators: Operators,
        chart: tuple[int, ...] | None = None,
        parts: int = 1,
    ) -> None:
        self.system, self.operators = system, operators
        n = operators.n
        self.q, self.p, self.v = SX.sym("q", n), SX.sym("p", n), SX.sym("v", n)
        self.carry, self.move = SX.sym("cq", n), SX.sym("move", n)
        self.t, self.t1, self.h = SX.sym("t"), SX.sym("t1"), SX.sym("h")
        self.span = SX.sym("span")  # of a whole step
        self.floor = SX.sym("floor", n)
        self.chart = chart
        self.guesses: list[tuple[SX, SX]] = []
        self.families: list[tuple[list[SX], np.ndarray]] = []
        self.multipliers: set[int] = set()
        self.sums: list[tuple[SX, SX]] = []
        self.changes: list[tuple[SX, SX]] = []
        self.tasks: list[Solve | Joint | Choice | Polish] = []
        self.drags: list[tuple[SX, SX]] = []  # unknowns of solves to come, with their residuals
        self.tables: dict[str, SX] = {}
        self.remembered: dict[str, SX] = {}
        self.holding: list[tuple[SX, sp.Expr]] = []
        self.substeps = parts
        self.last = SX.sym("last") if parts > 1 else SX(1)
        self.end: dict[str, SX] = {}
        self.parts: tuple[Parts, Parts] | None = None

    def __getattr__(self, name: str) -> Any:
        """The mechanics: link, force, g, push and the other operators of the system."""
        return getattr(self.operators, name)

    def unknown(self, name: str, space: str | int = "q", guess: SX | None = None) -> SX:
        n, c = self.operators.n, self.operators.c
        size = space if isinstance(space, int) else n if space == "q" else c
        symbol = SX.sym(name, size)
        if space == "c":
            self.multipliers |= entries(symbol)
        self.guesses.append((symbol, SX.zeros(size) if guess is None else guess))
        return symbol

    def stages(self, name: str, nodes, guess: SX | None = None) -> list[SX]:
        found = [self.unknown(f"{name}{i}", guess=guess) for i in range(len(nodes))]
        self.families.append((found, np.array(nodes, dtype=float)))
        return found

    def table(self, name: str, cols: str = "q") -> SX:
        n = self.operators.n
        return self.tables.setdefault(name, SX.sym(name, n, n if cols == "q" else 1))

    def solve(self, *pairs: tuple[SX, SX], watch: SX, each: Sequence[SX] = ()) -> None:
        unknowns = ca.vertcat(*(u for u, _ in pairs))
        own = [ca.depends_on(residual, unknowns) for _, residual in self.drags]
        mine = [x for x, is_own in zip(self.drags, own, strict=True) if is_own]
        self.drags = [x for x, is_own in zip(self.drags, own, strict=True) if not is_own]
        self.tasks.append(Solve([*pairs, *mine], watch, ca.vertcat(*(each or [watch]))))

    def force(self, q: SX, v: SX, p: SX, t: SX) -> SX:
        """F(q, v, p, t), with unknowns of their own for the sizes of what is like a damper.

        Along known directions only, and where the velocities are unknown: there it would make all
        coordinates that it acts on depend on each other.  Unless they are more than these.
        """
        rest, sizes, directions = self.operators.split_force(q, v, p, t)
        solved = set().union(set(), *(entries(u) for pairs in self.solves for u, _ in pairs))
        unknown = [u for u, _ in self.guesses if not entries(u) <= solved]
        unknowns = ca.vertcat(SX(0, 1), *unknown)
        known = not ca.depends_on(sizes, unknowns)
        if known or sizes.numel() > v.numel() or ca.depends_on(directions, unknowns):
            return self.operators.force(q, v, p, t)
        drag = self.unknown("drag", sizes.numel())
        self.drags.append((drag, drag - sizes))
        return rest + ca.mtimes(directions, drag)

    def choose(self, usual: SX, condition: SX, rare: SX) -> SX:
        """`usual` where `condition` holds, else `rare`; see `taut.kernel.branches`."""
        symbol = SX.sym("chosen", usual.numel())
        self.tasks.append(Choice(symbol, ca.densify(usual), condition, ca.densify(rare)))
        return symbol

    def polish(self, polish: Polish) -> None:
        self.tasks.append(polish)

    @property
    def solves(self) -> list[list[tuple[SX, SX]]]:
        """The pairs of all solves."""
        found = []
        for task in self.tasks:
            if isinstance(task, Solve):
                found.append(task.pairs)
            elif isinstance(task, Joint):
                found += [*(x.pairs for x in task.solves), [(u, r) for u, _, r in task.others]]
        return found

    def moved(self, dq: SX) -> SX:
        return self._sum(dq, self.q + (self.carry + dq))

    def kicked(self, dp: SX) -> SX:
        return self._sum(dp, self.p + dp)

    def _sum(self, change: SX, value: SX) -> SX:
        # A symbol of its own, so that what is affine in the unknowns is found as such, and so
        # that at the end it can stand for the sum as it was rounded.
        symbol = SX.sym("sum", self.operators.n)
        self.sums.append((symbol, value))
        self.changes.append((change, symbol))
        return symbol

    def remember(self, name: str) -> SX:
        return self.remembered.setdefault(name, SX.sym(name, self.operators.n))

    def values(self, expressions, q: SX, v: SX, p: SX, t: SX) -> list[SX]:
        """Expressions in the system's symbols there."""
        return translated(self.system, list(expressions), q, v, p, t, self.operators.par)

    def held(self, expressions) -> list[SX]:
        """What expressions in the system's symbols were at the start of the run."""
        found = [(SX.sym(f"held{i}"), e) for i, e in enumerate(expressions)]
        self.holding += found
        return [symbol for symbol, _ in found]

    def corrected(self, inner: Method, laws, **options: Any) -> None:
        correct(self, inner, laws, **options)

    def advance(
        self, *, q: SX, p: SX, v: SX, tangent: SX | None = None, remember=None, parts=None
    ) -> None:
        """`parts` of q and p are added one after the other: the last of them is known last."""
        self.parts = parts
        tangent = SX.zeros(self.operators.n) if tangent is None else tangent
        held = [symbol for symbol, _ in self.holding]
        handed = ca.vertcat(SX(0, 1), *handed_on(self.remembered, remember), *held)
        self.end = {"dq": q, "dp": p, "v": v, "tangent": tangent, "handed": handed}

    def split(self, x: SX) -> tuple[SX, SX]:
        assert self.chart is not None
        bound = list(self.chart)
        free = [i for i in range(self.operators.n) if i not in bound]
        return x[free], x[bound]

    def null_space(self, q: SX, t: SX) -> SX:
        symbol = SX.sym("q", self.operators.n)
        jacobian = ca.substitute(ca.jacobian(self.g(symbol, t), symbol), symbol, q)
        n, c, bound = self.operators.n, self.operators.c, list(self.chart or ())
        free = [i for i in range(n) if i not in bound]
        basis = SX.zeros(n, n - c)
        for k, i in enumerate(free):
            basis[i, k] = 1
            basis[bound, k] = -solve_linear(jacobian[:, bound], jacobian[:, i])
        return basis


def fuse(
    system: System,
    method: Method,
    *,
    keep: list[int] | None = None,
    chart: tuple[int, ...] | None = None,
    thorough: bool = False,
) -> FusedProgram:
    """Run the method's program on the system and eliminate what can be eliminated."""
    operators = Operators(system, keep, method.invariants_of(system))
    step = FusedStep(system, operators, chart, len(method.substeps))
    operators.window = window_of(method, step)
    method.program(cast(Step, step))
    operators.window = None
    _check(step, method)
    solved = _Solved(step)
    back = 0 if len(method.substeps) > 1 else 1 if method.pace is not None else 2
    nodes: list[Newton | Choice | Polish] = []
    for task in step.tasks:
        if isinstance(task, Choice | Polish):
            nodes.append(task.resolved(solved.resolved))
            continue
        solves = task.solves if isinstance(task, Joint) else [task]
        try:
            left = [solved.reduced(one.pairs, one.watch, one.each) for one in solves]
            pieces = [Piece(*found) for found in left if found is not None]
            if isinstance(task, Joint):
                nodes.append(joint_of(step, len(nodes), task, pieces, solved, back, thorough))
            elif pieces:
                nodes.append(newton_of(step, len(nodes), pieces[0], solved, back, thorough))
        except (ZeroDivisionError, np.linalg.LinAlgError) as error:
            pairs = [pair for one in solves for pair in one.pairs]
            raise _unsolvable(system, method, pairs) from error
    end = solved.at_the_end()
    result = {name: SX.sym(name, operators.n) for name in ("q", "p", "v")}
    inputs = {
        "q": step.q, "cq": step.carry, "p": step.p, "v": step.v, "move": step.move,
        "floor": step.floor, "t": step.t, "t1": step.t1, "h": step.h,
        "par": ca.vertcat(operators.par, *(ca.vec(table.T) for table in step.tables.values())),
        "memory": ca.vertcat(*(node.history for node in nodes)),
    }  # fmt: skip
    if step.remembered or step.holding:
        assert method.pace is None or not step.remembered
        kept = [symbol for symbol, _ in step.holding]
        inputs["inherited"] = ca.vertcat(*step.remembered.values(), *kept)
    if step.last.is_symbolic():
        inputs["last"] = step.last
    return FusedProgram(
        n=operators.n,
        inputs=inputs,
        nodes=nodes,
        q1=end.q1,
        p1=end.p1,
        dq=end.dq,
        dp=end.dp,
        parts=end.parts,
        v1=end.v1,
        tangent=end.tangent,
        ends=result,
        monitors=_monitors(system, step, *result.values()),
        span=step.span,
        switched=operators.switched,
        condition=SX(1) if chart is None else _condition(step, result["q"], step.t1),
        guesses=AtPoints(_guesses(step, nodes)),
        conservative=system.conservative,
        charted=chart is not None,
        tables={name: table.shape for name, table in step.tables.items()},
        solves=step.solves,
        operators=operators,
        substeps=method.substeps,
        pace=None if method.pace is None else _pace(system, method, step, *result.values()),
        handed=end.handed,
        held=_held(step) if step.holding else None,
    )


def window_of(method: Method, step: Any) -> tuple[SX, SX]:
    """The time for which forces stand: what jumps in it is taken in the mean."""
    half = 0.5 * step.h
    return (step.t1 - half, step.t1 + half) if method.shared else (step.t, step.t1)


def _held(step: FusedStep) -> AtPoints:
    """(q, v, p, t, parameters) → what a run holds on to."""
    q, v, p = (SX.sym(name, step.operators.n) for name in "qvp")
    t, par = SX.sym("t"), step.operators.par
    values = ca.vertcat(*step.values([e for _, e in step.holding], q, v, p, t))
    return AtPoints(ca.Function("held", [q, v, p, t, par], [ca.densify(values)]))


def _check(step: FusedStep, method: Method) -> None:
    """Refuse a program that says too little."""
    if not step.end:
        raise ModelError(
            f"the program of {method.name} does not say where the step ends",
            expected="step.advance(q=Δq, p=Δp, v=v₁) as its last line",
            received="no such call",
        )
    solved = set().union(set(), *(entries(u) for pairs in step.solves for u, _ in pairs))
    solved |= set().union(set(), *(entries(x.unknowns) for x in step.tasks if type(x) is Polish))
    used = [step.end[name] for name in ("dq", "dp", "v", "tangent", "handed")]
    used += [r for pairs in step.solves for _, r in pairs] + [value for _, value in step.sums]
    met = entries(ca.vertcat(*(ca.vec(x) for x in used)))
    for symbol, _ in step.guesses:
        if entries(symbol) & met and not entries(symbol) <= solved:
            name = symbol[0].name().rsplit("_", 1)[0]
            raise ModelError(
                f"the program of {method.name} uses the unknown {name} without solving for it",
                expected="each unknown in one pair (unknown, residual) of step.solve",
                received=f"{name} in no pair",
            )


def _unsolvable(system: System, method: Method, pairs: list[tuple[SX, SX]]) -> ModelError:
    if system.first_order:
        return ModelError(
            f"{method.name} is no method for a flow",
            expected="a method for ẋ = f(x, t): it has no momenta",
            received=method.label,
            remedy='take "rk4", "dop853" or "gauss-lobatto-4"',
        )
    names = [u[0].name().rsplit("_", 1)[0] for u, _ in pairs if u.numel()]
    return ModelError(
        f"the equations of {method.name} cannot be solved for their unknowns",
        expected="residuals that depend on the unknowns, each paired with one that it determines",
        received=f"pairs for {', '.join(names)}",
        remedy="an unknown that its own residual lacks comes last, as multipliers do",
    )


def _pace(system: System, method: Method, step: FusedStep, q: SX, p: SX, v: SX) -> SX:
    """−d/dt ln Q along the motion, at the end of a step."""
    ops, t = step.operators, step.t1
    (scale,) = translated(system, [method.pace], q, v, p, t, ops.par)
    change = ca.jtimes(scale, q, v) + ca.jtimes(scale, t, SX(1))
    if ca.depends_on(scale, ca.vertcat(v, p)):
        a, lam = accelerations(ops, q, v, p, t)
        rate = ops.force(q, v, p, t) - ops.push(q, t, lam)
        change += ca.jtimes(scale, v, a) + ca.jtimes(scale, p, rate)
    return -change / scale


class _Solved:
    """What is known so far of a program's unknowns and sums.

    A solve is reduced in its own unknowns; whatever earlier ones have found stays a symbol until
    the end, so that the work grows with the number of solves and not with its square.
    """

    def __init__(self, step: FusedStep) -> None:
        self.step = step
        self.known: list[tuple[SX, SX]] = []
        self.unknowns: list[SX] = []

    def resolved(self, expression: SX, sums: list[tuple[SX, SX]] | None = None) -> SX:
        """`expression` with sums and eliminated unknowns written out."""
        return written_out(expression, [*self.known, *(self.step.sums if sums is None else sums)])

    def reduced(self, pairs: list[tuple[SX, SX]], watch: SX, each: SX) -> tuple[SX, ...] | None:
        """Eliminate what is affine; (unknowns, residual, watch, each) of what is left, or None."""
        own = self._own_sums(ca.vertcat(*(u for u, _ in pairs)))
        found = reduce([(u, written_out(r, own)) for u, r in pairs])
        if not found.left:
            self.known += found.known
            return None
        z = ca.vertcat(*(pairs[k][0] for k in found.left))
        self.unknowns.append(z)
        known = [(u, straightened(e, z)) for u, e in found.known]
        self.known += known
        own = [(s, straightened(written_out(e, [*own, *known]), z)) for s, e in own]
        residual = ca.vertcat(*(pairs[k][1] for k in found.left))
        local = written_out(ca.vertcat(residual, watch, each), [*own, *known])
        count, end = z.numel(), z.numel() + watch.numel()
        shown = local[count:end], local[end:]
        return z, local[:count], *(straightened(x, z) for x in shown)

    def _own_sums(self, unknowns: SX) -> list[tuple[SX, SX]]:
        """The sums that these unknowns change, directly or through one another."""
        own, reached = [], unknowns
        for symbol, value in self.step.sums:
            if ca.depends_on(value, reached):
                own.append((symbol, value))
                reached = ca.vertcat(reached, symbol)
        return own

    def at_the_end(self) -> _End:
        """The increments; final sums stay symbols, bound to their values as they were rounded."""
        end, n = self.step.end, self.step.operators.n
        dq = column(self.resolved(end["dq"]))
        for z in self.unknowns:
            dq = straightened(dq, z)
        q1, p1 = (self._symbol(end[name]) for name in ("dq", "dp"))
        before_p = [(s, e) for s, e in self.step.sums if s is not q1]
        before_end = [(s, e) for s, e in before_p if s is not p1]
        dp = column(self.resolved(end["dp"], before_p))
        parts = ((dq,), (dp,))
        if self.step.parts is not None:
            one, other = self.step.parts
            parts = (self._each(one, None), self._each(other, before_p))
        v1, tangent, handed = (
            column(self.resolved(end[name], before_end)) for name in ("v", "tangent", "handed")
        )
        q1, p1 = (SX.sym("unused", n) if s is None else s for s in (q1, p1))
        return _End(q1, p1, dq, dp, v1, tangent, handed, parts)

    def _each(self, parts: Parts, sums: list[tuple[SX, SX]] | None) -> Parts:
        """Parts of an increment, as far as they are known."""
        both = column(self.resolved(ca.vertcat(*parts), sums))
        size = parts[0].numel()
        return both[:size], both[size:]

    def _symbol(self, change: SX) -> SX | None:
        """The symbol of the sum with this increment, if the method asked for it."""
        return next((symbol for given, symbol in self.step.changes if given is change), None)


@dataclass
class _End:
    q1: SX
    p1: SX
    dq: SX
    dp: SX
    v1: SX
    tangent: SX
    handed: SX
    parts: tuple[Parts, Parts]


def _guesses(step: FusedStep, nodes: list[Newton | Choice | Polish]) -> ca.Function:
    """(q, p, v) → the memory before the first step: the methods' guesses, repeated."""
    symbols, guesses = (list(x) for x in zip(*step.guesses, strict=True))
    starts = [
        node.first_memory(ca.substitute([node.unknowns], symbols, guesses)[0])
        for node in nodes
        if not isinstance(node, Choice)
    ]
    memory = ca.vertcat(SX(0, 1), *starts)
    return ca.Function("memory", [step.q, step.p, step.v], [ca.densify(memory)])


def _monitors(system: System, step: FusedStep, q1: SX, p1: SX, v1: SX) -> SX:
    """Max |g|, max |G v + g_t|, energy and power at the end of the step.

    Power as the step has it that ends there, and as the next one has it, of the same length, and
    whether something jumps or bends in them, so that they are not of one smooth function.
    """
    ops, t1 = step.operators, step.t1
    # All constraints are watched, also those that were found to follow from the others.
    every = ops if ops.c == ops.all_c else Operators(system)
    watched = [every.g(q1, t1), every.hidden(q1, v1, t1)]
    powers = [SX(0), SX(0), SX(0)]
    if not system.conservative:
        windows = [(t1 - step.span, t1), (t1, t1 + step.span)] if ops.switched else [None]
        for k, window in enumerate(windows):
            ops.window = window
            powers[k:2] = [power(system, ops, q1, v1, p1, t1)] * (2 - k)
        if ops.switched:
            ops.window = (t1 - step.span, t1 + step.span)
            powers[2] = ops.jumps(q1, v1, p1, t1)
        ops.window = None
    return ca.vertcat(
        *(_largest(x) for x in ca.substitute(watched, [every.par], [ops.par])),
        ops.energy(q1, v1, p1, t1),
        *powers,
    )


def _condition(step: FusedStep, q: SX, t: SX) -> SX:
    """|det G_bound| relative to the volume √det(G Gᵀ): 1 is best, 0 is singular."""
    if step.operators.c == 0:
        return SX(1)
    symbol = SX.sym("q", step.operators.n)
    jacobian = ca.jacobian(step.g(symbol, t), symbol)
    small = ca.fabs(ca.det(jacobian[:, list(step.chart or ())]))
    volume = ca.sqrt(ca.det(ca.mtimes(jacobian, jacobian.T)))
    return ca.substitute(small / volume, symbol, q)


def accelerations(ops: Operators, q: SX, v: SX, p: SX, t: SX) -> tuple[SX, SX]:
    """(v̇, λ) from  ṗ = F − Gᵀλ  and  d/dt (G v + g_t) = 0  (index-1 equations)."""
    a, r, lam = SX.sym("a", ops.n), SX.sym("r", ops.n), SX.sym("lam", ops.c)
    reduced = reduce(
        [
            (r, r - ops.force(q, v, p, t) + ops.push(q, t, lam)),
            (a, ops.rate(q, v, p, a, r, t)),
            (lam, ops.hidden_rate(q, v, a, t)),
        ]
    )
    assert not reduced.left
    found = {id(u): e for u, e in reduced.known}
    return found[id(a)], found.get(id(lam), SX(0, 1))


def power(system: System, ops: Operators, q: SX, v: SX, p: SX, t: SX) -> SX:
    """dE/dt: work of forces and of moving constraints, and explicit time dependence."""
    lam = accelerations(ops, q, v, p, t)[1] if system.rheonomic else SX.zeros(ops.c)
    return ops.power(q, v, p, lam, t)


def _largest(x: SX) -> SX:
    if x.numel() == 0:
        return SX(0)
    best = ca.fabs(x[0])
    for i in range(1, x.numel()):
        best = ca.fmax(best, ca.fabs(x[i]))
    return best
