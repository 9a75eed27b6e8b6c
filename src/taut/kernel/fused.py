"""The fused back end: a whole step as one straight-line program with Newton loops in it.

All terms are inlined, everything affine is eliminated, and what is left of each implicit solve
becomes a `Newton` node.  The result is a list of CasADi expressions that `emit` turns into one
LLVM function.

Newton's matrix of a step with several stages is simplified: taken at the guess, with multipliers
left out, it is factorised once.  `thorough` asks for the exact matrix in every iteration instead.

State of a step, in this order: q, p and v (the result, p and v tangent), the compensation of q,
the carried momentum (which may lack the part that makes p tangent), its compensation, the last
move of q, the floor of each coordinate (the smallest size that matters), and for every sub-step
and every Newton unknown its last three values.  Then the vectors that the method remembers, if
any; and where steps vary, a clock: the time, its compensation, and the density ρ that makes the
next step h/ρ long.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import casadi as ca
import numpy as np

from taut.errors import ModelError
from taut.kernel.eliminate import (
    curved,
    entries,
    little_fill,
    operations,
    reduce,
    solve_linear,
    straightened,
    written_out,
)
from taut.kernel.evaluate import AtPoints
from taut.kernel.operators import Operators, column, translated
from taut.methods import tableaux
from taut.methods.base import Method, Step, handed_on
from taut.model.system import System

SX = ca.SX
HISTORY = 3  # values of each Newton unknown that the guess is extrapolated from
HEAD = 8  # vectors of length n at the beginning of the state
ROUNDED, NOISE = 16 * 2.0**-52, 1e-7  # what rounding does to coordinates; noise is never more
DEEP = 4  # stages up to which the polynomial of the guess goes through two steps
PAYS = 4.3  # an iteration with a kept matrix must be cheaper by this: it takes more of them
MODEST = 60  # unknowns up to which both are written down to find out
CLOCK = 3  # numbers at the end of the state where steps vary: t, its compensation, the density


@dataclass
class Newton:
    """One Newton iteration: z ← z + change(z), watched by `measure`.

    A `simplified` one has a matrix that depends on the guess `start` instead of z.

    `curved` says that the equations are nonlinear even for h → 0 (a Lagrangian not quadratic in the
    velocities).  Then a move h·Δv that is small says little about what is left of Δv, and the
    first iteration is never the last.
    """

    unknowns: SX
    residual: SX
    history: SX
    guess: SX
    change: SX
    measure: SX
    curved: bool
    start: SX
    simplified: bool
    noise: SX  # what rounding of the largest coordinate may do to the measure


@dataclass
class FusedProgram:
    """A step with everything inlined; symbols are the inputs that `emit` binds."""

    n: int
    inputs: dict[str, SX]
    newtons: list[Newton]
    q1: SX
    p1: SX
    dq: SX
    dp: SX
    v1: SX
    tangent: SX
    ends: dict[str, SX]
    monitors: SX
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

    @property
    def symbols(self) -> dict[str, SX]:
        """The inputs, and what Newton finds."""
        return self.inputs | {f"z{i}": newton.unknowns for i, newton in enumerate(self.newtons)}

    @property
    def memory(self) -> int:
        """Slots remembered from step to step for the guesses, of each sub-step."""
        return HISTORY * sum(newton.unknowns.numel() for newton in self.newtons)

    @property
    def slots(self) -> int:
        """Length of the state."""
        clock = CLOCK if self.paced else 0
        return HEAD * self.n + self.memory * len(self.substeps) + self.handed.numel() + clock

    @property
    def remembers(self) -> int:
        """How many vectors the method remembers from step to step."""
        return self.handed.numel() // self.n

    @property
    def paced(self) -> bool:
        """Whether the sizes of the steps vary."""
        return self.pace is not None

    @property
    def simplified(self) -> bool:
        """Whether an iteration with the exact matrix may succeed where this one fails."""
        return any(newton.simplified for newton in self.newtons)

    @property
    def needs_velocity(self) -> bool:
        """Whether a step depends on the velocity that the one before it found."""
        solved = [
            x for newton in self.newtons for x in (newton.residual, newton.change, newton.measure)
        ]
        ends = (self.dq, self.dp, self.v1, self.tangent, self.handed)
        return ca.depends_on(ca.vertcat(*solved, *ends), self.inputs["v"])

    def first_memory(self, q: np.ndarray, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The memory before the first step, for a state or for columns of states."""
        rows: list[np.ndarray | None] = [x.reshape(len(x), -1).T for x in (q, p, v)]
        first = self.guesses(rows, q[0].size).T.reshape(-1, *q.shape[1:])
        return np.concatenate([first] * len(self.substeps))

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
            size = newton.unknowns.numel()
            found.append(state[at : at + size])
            at += HISTORY * size
        return np.concatenate(found) if found else np.zeros(0)


class FusedStep:
    """The `Step` that a method's program is run on; see `taut.methods.base`."""

    def __init__(self, operators: Operators, chart: tuple[int, ...] | None = None) -> None:
        self.operators = operators
        n = operators.n
        self.q, self.p, self.v = SX.sym("q", n), SX.sym("p", n), SX.sym("v", n)
        self.carry, self.move = SX.sym("cq", n), SX.sym("move", n)
        self.t, self.t1, self.h = SX.sym("t"), SX.sym("t1"), SX.sym("h")
        self.floor = SX.sym("floor", n)
        self.chart = chart
        self.guesses: list[tuple[SX, SX]] = []
        self.families: list[tuple[list[SX], np.ndarray]] = []
        self.multipliers: set[int] = set()
        self.sums: list[tuple[SX, SX]] = []
        self.changes: list[tuple[SX, SX]] = []
        self.solves: list[list[tuple[SX, SX]]] = []
        self.watches: list[SX] = []
        self.tables: dict[str, SX] = {}
        self.remembered: dict[str, SX] = {}
        self.end: dict[str, SX] = {}

    def __getattr__(self, name: str) -> Any:
        """The mechanics: link, force, g, push and the other operators of the system."""
        return getattr(self.operators, name)

    def unknown(self, name: str, space: str = "q", guess: SX | None = None) -> SX:
        size = self.operators.n if space == "q" else self.operators.c
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

    def solve(self, *pairs: tuple[SX, SX], watch: SX) -> None:
        self.solves.append(list(pairs))
        self.watches.append(watch)

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

    def advance(self, *, q: SX, p: SX, v: SX, tangent: SX | None = None, remember=None) -> None:
        tangent = SX.zeros(self.operators.n) if tangent is None else tangent
        handed = ca.vertcat(SX(0, 1), *handed_on(self.remembered, remember))
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
    step = FusedStep(operators, chart)
    method.program(cast(Step, step))
    _check(step, method)
    solved = _Solved(step)
    back = 0 if len(method.substeps) > 1 else 1 if method.pace is not None else 2
    newtons: list[Newton] = []
    for pairs, watch in zip(step.solves, step.watches, strict=True):
        try:
            left = solved.reduced(pairs, watch)
            if left is not None:
                newtons.append(_newton(step, len(newtons), *left, solved, back, thorough))
        except (ZeroDivisionError, np.linalg.LinAlgError) as error:
            raise _unsolvable(method, pairs) from error
    end = solved.at_the_end()
    result = {name: SX.sym(name, operators.n) for name in ("q", "p", "v")}
    inputs = {
        "q": step.q, "cq": step.carry, "p": step.p, "v": step.v, "move": step.move,
        "floor": step.floor, "t": step.t, "t1": step.t1, "h": step.h,
        "par": ca.vertcat(operators.par, *(ca.vec(table.T) for table in step.tables.values())),
        "memory": ca.vertcat(*(newton.history for newton in newtons)),
    }  # fmt: skip
    if step.remembered:
        assert method.pace is None
        inputs["inherited"] = ca.vertcat(*step.remembered.values())
    return FusedProgram(
        n=operators.n,
        inputs=inputs,
        newtons=newtons,
        q1=end.q1,
        p1=end.p1,
        dq=end.dq,
        dp=end.dp,
        v1=end.v1,
        tangent=end.tangent,
        ends=result,
        monitors=_monitors(system, step, *result.values()),
        condition=SX(1) if chart is None else _condition(step, result["q"], step.t1),
        guesses=AtPoints(_guesses(step, newtons)),
        conservative=system.conservative,
        charted=chart is not None,
        tables={name: table.shape for name, table in step.tables.items()},
        solves=step.solves,
        operators=operators,
        substeps=method.substeps,
        pace=None if method.pace is None else _pace(system, method, step, *result.values()),
        handed=end.handed,
    )


def _check(step: FusedStep, method: Method) -> None:
    """Refuse a program that says too little."""
    if not step.end:
        raise ModelError(
            f"the program of {method.name} does not say where the step ends",
            expected="step.advance(q=Δq, p=Δp, v=v₁) as its last line",
            received="no such call",
        )
    solved = set().union(set(), *(entries(u) for pairs in step.solves for u, _ in pairs))
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


def _unsolvable(method: Method, pairs: list[tuple[SX, SX]]) -> ModelError:
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

    def reduced(self, pairs: list[tuple[SX, SX]], watch: SX) -> tuple[SX, SX, SX] | None:
        """Eliminate what is affine; (unknowns, residual, watch) of what is left, or None."""
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
        local = written_out(ca.vertcat(residual, watch), [*own, *known])
        count = z.numel()
        return z, local[:count], straightened(local[count:], z)

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
        v1, tangent, handed = (
            column(self.resolved(end[name], before_end)) for name in ("v", "tangent", "handed")
        )
        q1, p1 = (SX.sym("unused", n) if s is None else s for s in (q1, p1))
        return _End(q1, p1, dq, dp, v1, tangent, handed)

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


def _newton(
    step: FusedStep,
    index: int,
    z: SX,
    residual: SX,
    watch: SX,
    solved: _Solved,
    back: int,
    thorough: bool,
) -> Newton:
    count = z.numel()
    slope, start = ca.jacobian(residual, z), SX.sym(f"start{index}", count)
    response = ca.jacobian(watch, z)
    bent = curved(slope, z, step.h, ca.substitute(response, step.h, SX(0)).is_zero())
    own, members = entries(z), [x for x, nodes in step.families if len(nodes) > 1]
    several = any(entries(symbols[0]) <= own for symbols in members)
    simplified = several and not bent and not thorough
    if simplified:
        kept = _simplified(slope, z, start, step.multipliers)
        change = _eliminated(kept, residual, step.h)
        if count <= MODEST:  # otherwise it always pays
            exact = _eliminated(slope, residual, step.h)
            simplified = operations(exact, z) > PAYS * operations(change, z)
            change = change if simplified else exact
    else:
        change = _eliminated(slope, residual, step.h)
    # h·|Δwatch| against the size of each coordinate; a sum, so that a NaN is not lost.
    moves = ca.fabs(step.move) + step.floor
    sizes = ca.fabs(step.q) + moves
    # What converges by a factor stops where it is told to: velocities themselves are to be exact.
    against = moves if simplified else sizes
    weights = ca.fabs(step.h) / against
    noise = ca.fmin(ROUNDED * ca.mmax(sizes) * ca.sum1(1 / against), NOISE)
    if ca.depends_on(response, z):
        measure = ca.dot(ca.fabs(ca.mtimes(response, change)), weights)
    else:  # the bound Σ |Δzⱼ| Σ |∂watchᵢ/∂zⱼ| wᵢ costs less, since the inner sum is a constant
        measure = ca.dot(ca.fabs(change), ca.mtimes(ca.fabs(response).T, weights))
    history = SX.sym(f"m{index}", HISTORY * count)
    # Where steps are coarse, polynomials of high degree lead astray; what is kept has a way out.
    guess = _extrapolated(z, history, step.families, back if simplified else 0)
    # Sums of earlier solves have no value of their own while Newton iterates.
    whole = solved.resolved(ca.vertcat(residual, change, measure))
    parts = whole[:count], whole[count : 2 * count], whole[2 * count :]
    return Newton(z, parts[0], history, guess, parts[1], parts[2], bent, start, simplified, noise)


def _eliminated(slope: SX, residual: SX, h: SX) -> SX:
    """Newton's update."""
    order = little_fill(slope, h)
    inverse = np.argsort(order).tolist()
    return solve_linear(slope[order, order], -residual[order])[inverse]


def _simplified(slope: SX, z: SX, start: SX, multipliers: set[int]) -> SX:
    """Newton's matrix at the guess, without what multipliers contribute to it.

    They bend the equations by h²λ ∂²g, which is small where several stages pay; without it blocks
    of masses stay as sparse as they are.
    """
    free = [z[i].element_hash() not in multipliers for i in range(z.numel())]
    at = ca.vertcat(*(start[i] if is_free else SX(0) for i, is_free in enumerate(free)))
    return ca.sparsify(ca.substitute(slope, z, at))


def _extrapolated(z: SX, history: SX, families, back: int) -> SX:
    """The guess: through the last three values, or through all stages of the last `back` steps."""
    count = z.numel()
    a, b, c = (history[i * count : (i + 1) * count] for i in range(HISTORY))
    guess = a + ((a - b) + ((a - b) - (b - c)))
    place = {z[i].element_hash(): i for i in range(count)}
    for symbols, nodes in families:
        first = [place.get(symbol[0].element_hash()) for symbol in symbols]
        if len(nodes) == 1 or back == 0 or None in first:
            continue
        rows = [slice(i, i + symbols[0].numel()) for i in first]
        one = [a[row] for row in rows]
        guessed = _combined(one, nodes - 1, nodes)
        if back > 1 and len(nodes) <= DEEP:
            # Before the third step b is not the solution of a step, but the method's own guess.
            begun = ca.sum1(ca.fabs(b - c)) > 0
            # The end of one step and the beginning of the next are known once.
            older = [
                (b[row], x) for row, x in zip(rows, nodes - 2, strict=True) if x not in nodes - 1
            ]
            known = np.append(nodes - 1, [x for _, x in older])
            two = _combined([*one, *(x for x, _ in older)], known, nodes)
            guessed = [ca.if_else(begun, y, x) for x, y in zip(guessed, two, strict=True)]
        for row, value in zip(rows, guessed, strict=True):
            guess[row] = value
    return guess


def _combined(values: list[SX], known: np.ndarray, wanted: np.ndarray) -> list[SX]:
    """Of the polynomial with `values` at `known`, the values at `wanted`."""
    weights = tableaux.rounded(tableaux.values(known.tolist(), wanted.tolist()))
    return [
        sum((w * x for w, x in zip(row, values, strict=True)), SX(0)) for row in weights.tolist()
    ]


def _guesses(step: FusedStep, newtons: list[Newton]) -> ca.Function:
    """(q, p, v) → the memory before the first step: the methods' guesses, repeated."""
    symbols, guesses = (list(x) for x in zip(*step.guesses, strict=True))
    starts = [ca.substitute([n.unknowns], symbols, guesses)[0] for n in newtons]
    memory = ca.vertcat(*(ca.repmat(z, HISTORY) for z in starts)) if starts else SX(0, 1)
    return ca.Function("memory", [step.q, step.p, step.v], [ca.densify(memory)])


def _monitors(system: System, step: FusedStep, q1: SX, p1: SX, v1: SX) -> SX:
    """Max |g|, max |G v + g_t|, energy and power at the end of the step."""
    ops, t1 = step.operators, step.t1
    # All constraints are watched, also those that were found to follow from the others.
    every = ops if ops.c == ops.all_c else Operators(system)
    watched = [every.g(q1, t1), every.hidden(q1, v1, t1)]
    return ca.vertcat(
        *(_largest(x) for x in ca.substitute(watched, [every.par], [ops.par])),
        ops.energy(q1, v1, p1, t1),
        SX(0) if system.conservative else power(ops, q1, v1, p1, t1),
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
