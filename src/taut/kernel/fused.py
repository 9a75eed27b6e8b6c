"""The fused back end: a whole step as one straight-line program with Newton loops in it.

All terms are inlined, everything affine is eliminated, and what is left of each implicit solve
becomes a `Newton` node.  The result is a list of CasADi expressions that `emit` turns into one
LLVM function.

State of a step, in this order: q, the compensation of q, p, the compensation of p, v, a scale
(the smallest coordinate size that matters), and for every Newton unknown its last three values.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca

from taut.kernel.eliminate import reduce, solve_linear
from taut.kernel.operators import Operators, column
from taut.methods.base import Method
from taut.model.system import System

SX = ca.SX
HISTORY = 3  # values of each Newton unknown that the guess is extrapolated from
MONITORS = ("g", "hidden", "energy", "power", "chart")


@dataclass
class Newton:
    """One Newton iteration: z ← z + change(z), watched by `measure`."""

    unknowns: SX
    residual: SX
    history: SX
    guess: SX
    change: SX
    measure: SX


@dataclass
class FusedProgram:
    """A step with everything inlined; symbols are the inputs that `emit` binds."""

    n: int
    inputs: dict[str, SX]
    newtons: list[Newton]
    dq: SX
    dp: SX
    v1: SX
    monitors: SX
    first_memory: ca.Function
    solves: list[list[tuple[SX, SX]]] = field(repr=False)
    operators: Operators = field(repr=False)

    @property
    def memory(self) -> int:
        """Slots remembered from step to step beyond q, p, v and the scale."""
        return HISTORY * sum(newton.unknowns.numel() for newton in self.newtons)

    @property
    def slots(self) -> int:
        """Length of the state."""
        return 5 * self.n + 1 + self.memory


class FusedStep:
    """The `Step` that a method's program is run on; see `taut.methods.base`."""

    def __init__(self, operators: Operators, chart: tuple[int, ...] | None = None) -> None:
        self.operators = operators
        n = operators.n
        self.q, self.p, self.v = SX.sym("q", n), SX.sym("p", n), SX.sym("v", n)
        self.carry = SX.sym("cq", n)
        self.t, self.t1, self.h = SX.sym("t"), SX.sym("t1"), SX.sym("h")
        self.scale = SX.sym("scale")
        self.chart = chart
        self.guesses: list[tuple[SX, SX]] = []
        self.solves: list[list[tuple[SX, SX]]] = []
        self.watches: list[SX] = []
        self.end: dict[str, SX] = {}
        for name in ("link", "force", "rate", "respond", "g", "push", "hidden", "hidden_rate"):
            setattr(self, name, getattr(operators, name))

    def unknown(self, name: str, space: str = "q", guess: SX | None = None) -> SX:
        size = self.operators.n if space == "q" else self.operators.c
        symbol = SX.sym(name, size)
        self.guesses.append((symbol, SX.zeros(size) if guess is None else guess))
        return symbol

    def solve(self, *pairs: tuple[SX, SX], watch: SX) -> None:
        self.solves.append(list(pairs))
        self.watches.append(watch)

    def moved(self, dq: SX) -> SX:
        return self.q + (self.carry + dq)

    def advance(self, *, q: SX, p: SX, v: SX) -> None:
        self.end = {"dq": q, "dp": p, "v": v}

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
    system: System, method: Method, *, keep: list[int] | None = None, chart: tuple[int, ...] | None = None
) -> FusedProgram:
    """Run the method's program on the system and eliminate what can be eliminated."""
    operators = Operators(system, keep)
    step = FusedStep(operators, chart)
    method.program(step)
    known: list[tuple[SX, SX]] = []
    newtons: list[Newton] = []

    def resolved(expression: SX) -> SX:
        for unknown, found in reversed(known):
            expression = ca.substitute(expression, unknown, found)
        return expression

    for pairs, watch in zip(step.solves, step.watches, strict=True):
        reduced = reduce([(u, resolved(r)) for u, r in pairs])
        known += [(u, e) for u, e in reduced.known]
        if reduced.unknowns.numel():
            newtons.append(_newton(step, reduced.unknowns, reduced.residual, resolved(watch), len(newtons)))
    dq, dp, v1 = (column(resolved(step.end[name])) for name in ("dq", "dp", "v"))
    monitors = _monitors(system, step, resolved)
    inputs = {
        "q": step.q, "cq": step.carry, "p": step.p, "v": step.v, "scale": step.scale,
        "t": step.t, "t1": step.t1, "h": step.h, "par": operators.par,
        "memory": ca.vertcat(*(newton.history for newton in newtons)),
    }
    return FusedProgram(
        operators.n, inputs, newtons, dq, dp, v1, monitors, _first_memory(step, newtons), step.solves, operators
    )


def _newton(step: FusedStep, z: SX, residual: SX, watch: SX, index: int) -> Newton:
    jacobian = ca.jacobian(residual, z)
    change = solve_linear(jacobian, -residual)
    # h·|Δwatch| against the size of each coordinate; a sum, so that a NaN is not lost.
    moved = ca.jtimes(watch, z, change)
    weights = step.h / (ca.fabs(step.q) + step.h * ca.fabs(step.v) + step.scale)
    measure = ca.dot(ca.fabs(moved), weights)
    history = SX.sym(f"m{index}", HISTORY * z.numel())
    a, b, c = (history[i * z.numel() : (i + 1) * z.numel()] for i in range(HISTORY))
    guess = a + ((a - b) + ((a - b) - (b - c)))  # through the last three values
    return Newton(z, residual, history, guess, change, measure)


def _first_memory(step: FusedStep, newtons: list[Newton]) -> ca.Function:
    """(q, p, v) → the memory before the first step: the methods' guesses, repeated."""
    symbols, guesses = (list(x) for x in zip(*step.guesses, strict=True))
    starts = [ca.substitute([n.unknowns], symbols, guesses)[0] for n in newtons]
    memory = ca.vertcat(*(ca.repmat(z, HISTORY) for z in starts)) if starts else SX(0, 1)
    return ca.Function("memory", [step.q, step.p, step.v], [ca.densify(memory)])


def _monitors(system: System, step: FusedStep, resolved) -> SX:
    """max |g|, max |G v + g_t|, energy, power and the chart's condition at the end of the step."""
    ops = step.operators
    q1 = step.moved(step.end["dq"])
    p1, v1, t1 = step.p + step.end["dp"], step.end["v"], step.t1
    values = [
        _largest(ops.g(q1, t1)),
        _largest(ops.hidden(q1, v1, t1)),
        ops.energy(q1, v1, p1, t1),
        SX(0) if system.conservative else power(ops, q1, v1, p1, t1),
        SX(1) if step.chart is None else _condition(step, q1, t1),
    ]
    return ca.vertcat(*(resolved(value) for value in values))


def _condition(step: FusedStep, q: SX, t: SX) -> SX:
    """|det G_bound| relative to the volume √det(G Gᵀ): 1 is best, 0 is singular."""
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
    found = {id(u): e for u, e in reduced.known}
    return found[id(a)], found.get(id(lam), SX(0, 1))


def power(ops: Operators, q: SX, v: SX, p: SX, t: SX) -> SX:
    """dE/dt: work of forces and of moving constraints, and explicit time dependence."""
    _, lam = accelerations(ops, q, v, p, t)
    return ops.power(q, v, p, lam, t)


def _largest(x: SX) -> SX:
    if x.numel() == 0:
        return SX(0)
    best = ca.fabs(x[0])
    for i in range(1, x.numel()):
        best = ca.fmax(best, ca.fabs(x[i]))
    return best
