"""The assembled back end: kernels per type of term and of group, in loops over their instances.

The method's program is run once on abstract vectors (one symbol stands for a whole vector; see
`plan`).  The result is a list of stages on a *bank* of vectors.  An assign stage lets every kind of
term add what it contributes to new vectors of the bank (see `contributions`), a solve stage to a
sparse matrix and a right side (see `solves`).

Vectors of the bank are sorted so that the same coordinate of all groups of a type lies in a row
(see `groups`): neighbouring groups go into the lanes of one register.

Compiling costs the same for 3 instances and for 3000; only the tables grow.  While a kernel is
compiled, by another thread, the next one is written.
"""

from __future__ import annotations

from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ClassVar, cast

import casadi as ca
import numpy as np

from taut.kernel import guesses
from taut.kernel.contributions import Bank, Contribution, LocalVectors, Places
from taut.kernel.fused import HEAD, window_of
from taut.kernel.groups import Kind, group_types
from taut.kernel.loop_code import loop_code
from taut.kernel.machine import Machine, Stage
from taut.kernel.operators import locals_of
from taut.kernel.outer import Outer
from taut.kernel.passes import LANES, Pass, made_pass
from taut.kernel.plan import SCALARS, AbstractStep, AssignPlan, Planner, SolvePlan
from taut.kernel.solves import SolveStage
from taut.methods.base import Method, Step
from taut.model.system import System

SX = ca.SX
SELDOM = 64  # coordinates for each instance of a kernel that is little used


@dataclass
class AssembledProgram:
    """Stages with their tables, ready to run."""

    n: int
    slots: int
    machine: Machine
    guess: ca.Function
    unknown_spaces: list[list[str]] = field(default_factory=list)  # of each stage
    sizes: dict[str, int] = field(default_factory=dict)
    substeps: int = 1
    tables: dict[str, tuple[int, int]] = field(default_factory=dict)
    remembers: int = 0  # vectors that the method remembers from step to step
    holds: ClassVar[int] = 0
    simplified: ClassVar[bool] = False
    history: ClassVar[int] = guesses.ORDERS[0]  # solutions that guesses are extrapolated from

    @property
    def implies(self) -> bool:
        """Whether a step depends on more than (q, p), which follows from them at the start."""
        return self.remembers > 0

    @property
    def address(self) -> int:
        """What the march calls."""
        return self.machine.address

    @property
    def context(self) -> int:
        """What it needs."""
        return self.machine.context

    def first_memory(self, q: np.ndarray, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The methods' guesses, repeated, in the order of the bank."""
        if not self.unknown_spaces:
            return np.zeros(0)
        found = self.guess(q, p, v)
        values = [
            np.array(x).ravel() for x in (found if isinstance(found, tuple | list) else [found])
        ]
        order = np.argsort(self.machine.place)
        memory = []
        for spaces in self.unknown_spaces:
            own, values = values[: len(spaces)], values[len(spaces) :]
            sized = [
                np.broadcast_to(x, self.sizes[space]) for x, space in zip(own, spaces, strict=True)
            ]
            sized = [x[order] if s == "q" else x for x, s in zip(sized, spaces, strict=True)]
            memory += [sized] * self.substeps
        return np.concatenate([guesses.first_memory(x) for x in memory])

    @property
    def _parts(self) -> list[list[int]]:
        """Sizes of the blocks of unknowns, of each stage and sub-step."""
        found = ([self.sizes[s] for s in spaces] for spaces in self.unknown_spaces)
        return [sizes for sizes in found for _ in range(self.substeps)]

    def newest(self, memory: np.ndarray) -> list[np.ndarray]:
        """The last solution in a memory, block by block: of each stage, sub-step and unknown."""
        found, at = [], 0
        for sizes in self._parts:
            length = guesses.room(sum(sizes))
            found += guesses.newest(memory[at : at + length], sizes)
            at += length
        return found

    def remembering(self, solutions: list[list[np.ndarray]]) -> np.ndarray:
        """The memory of these solutions, the newest first."""
        memory, at = [], 0
        for sizes in self._parts:
            blocks = [[x[at + k] for x in solutions] for k in range(len(sizes))]
            memory.append(guesses.memory_of(blocks))
            at += len(sizes)
        return np.concatenate(memory)


def assemble(system: System, method: Method, *, keep: list[int], chart=None) -> AssembledProgram:
    """Run the program on abstract vectors and lay out its stages."""
    step = AbstractStep(system, locals_of(system, method.invariants_of(system)))
    step.window = window_of(method, step)
    method.program(cast(Step, step))
    plans = Planner(step).plan()
    with ThreadPoolExecutor(1) as pool:
        return Layout(system, step, plans, keep, pool).program(method.substeps)


class Layout(Bank):
    """The bank, the kernels and the tables."""

    def __init__(
        self, system: System, step: AbstractStep, plans, keep: list[int], pool: Executor
    ) -> None:
        self.system, self.step, self.plans, self.pool = system, step, plans, pool
        self.outers: dict[tuple[bytes, bytes], Outer] = {}  # by their neighbours
        self.n, self.c, self.keep = system.n, len(keep), keep
        super().__init__({"q": self.n, "c": self.c, "1": 1, "largest": 1}, dict(step.spaces))
        self.kinds = self._kinds()
        # Tables of a method are full matrices in the order of the coordinates.
        self.types = [] if step.tables else group_types(self.kinds, self.n, self.c)
        self.order = {"q": np.arange(self.n), "c": np.arange(self.c)}
        if self.types:
            self._sort()
        for name in ("q", "result", "v", "cq", "p", "cp", "move", "floor"):
            self.place(name, "q")
        # What the method remembers, and what it hands on: two blocks.
        remembered = [symbol.name() for symbol in step.remembered.values()]
        for name in (*remembered, *step.handed):
            self.place(name, "q")
        self.inherited = self.bank["floor"] + self.n
        self.scalars = self.reserve(len(SCALARS))
        self.par = self.reserve(len(system.parameters))
        self.tables = {
            name: (self.n, self.n if cols == "q" else 1) for name, cols in step.tables.items()
        }
        self.table_at = {
            name: self.reserve(rows * cols) for name, (rows, cols) in self.tables.items()
        }
        self.handed = self.end - self.par
        self.bank |= {name: at for name, at in self.table_at.items() if self.tables[name][1] == 1}
        self.constants = [self.reserve(kind.values.size) for kind in self.kinds]

    def _kinds(self) -> list[Kind]:
        """Every term, then one pseudo-term per coordinate and one per constraint."""
        n, c = self.n, self.c
        # Dropped constraints write to row c, which nobody reads, and their λ is zero.
        number = np.full(self.system.c, c, np.int64)
        number[self.keep] = np.arange(c)
        kinds, at = [], 0
        for term, local in zip(self.system.terms, self.step.locals, strict=True):
            count = term.instances * local.rows
            rows = number[at : at + count].reshape(term.instances, local.rows)
            at += count
            kinds.append(Kind(local, term.indices, rows, term.values))
        none = np.zeros((n, 0), np.int64)
        kinds.append(Kind(None, np.arange(n)[:, None], none, np.zeros((n, 0))))
        none = np.zeros((c, 0), np.int64)
        kinds.append(Kind(None, none, np.arange(c)[:, None], np.zeros((c, 0))))
        if self.step.tables:
            pairs = np.stack(np.divmod(np.arange(n * n), n), axis=1)
            nothing = np.zeros((n * n, 0))
            kinds.append(Kind(None, pairs, nothing.astype(np.int64), nothing, full=True))
        return kinds

    def _sort(self) -> None:
        """Number coordinates and constraints so that those of a type's groups lie in rows."""
        q = self._numbered("q", [x for group in self.types for x in group.own.T])
        # Constraints between groups, and terms, in the order of the groups that they touch.
        outer = np.concatenate([np.zeros(0, np.int64), *(x for g in self.types for x in g.outer.T)])
        outer = outer[np.sort(np.unique(outer, return_index=True)[1])]
        c = self._numbered("c", [*(x for g in self.types for x in g.private.T), outer])
        c = np.append(c, self.c)
        for number, kind in enumerate(self.kinds):
            if kind.local is not None:
                self._sort_kind(number, kind, q, c)
        for group in self.types:
            group.own, group.foreign = q[group.own], q[group.foreign]
            group.private, group.outer = c[group.private], c[group.outer]

    def _numbered(self, space: str, columns: list[np.ndarray]) -> np.ndarray:
        """The new number of each component: first those of the columns, then the others."""
        size = self.sizes[space]
        first = np.concatenate([np.zeros(0, np.int64), *columns])
        rest = np.ones(size, dtype=bool)
        rest[first] = False
        self.order[space] = np.empty(size, np.int64)
        self.order[space][np.concatenate([first, np.flatnonzero(rest)])] = np.arange(size)
        return self.order[space]

    def _sort_kind(self, number: int, kind: Kind, q: np.ndarray, c: np.ndarray) -> None:
        order = np.argsort(q[kind.coordinates].min(axis=1, initial=self.n), kind="stable")
        kind.coordinates, kind.rows = q[kind.coordinates[order]], c[kind.rows[order]]
        kind.values = kind.values[order]
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        for member in (m for group in self.types for m in group.members if m.kind == number):
            member.instances = place[member.instances]

    # ---- stages ------------------------------------------------------------------------------

    def program(self, substeps: tuple[float, ...]) -> AssembledProgram:
        """All stages, laid out."""
        step, stages = self.step, []
        memory = HEAD * self.n
        guesses, spaces = [], []
        for plan in self.plans:
            if isinstance(plan, SolvePlan):
                stage, size = SolveStage(self, plan).built(memory)
                memory += len(substeps) * size
                if size:
                    guesses += [step.guesses[u.name()] for u in plan.unknowns]
                    spaces.append([self.spaces[u.name()] for u in plan.unknowns])
                stages.append(stage)
            else:
                stages += self._assign_stages(plan)
        before = len(stages)
        stages += self._monitor_stages(substeps[-1])
        remembers = len(step.remembered)
        machine = Machine(
            n=self.n,
            constrained=self.system.c > 0,
            floats=self.end,
            reserve=self.reserve,
            vectors=self.bank | {"zero": self.zero},
            scalars=self.scalars,
            parameters=(self.par, self.handed),
            constants=[
                (at, k.values.T.ravel()) for at, k in zip(self.constants, self.kinds, strict=True)
            ],
            stages=(stages[:before], stages[before:]),
            conservative=self.system.conservative,
            substeps=substeps,
            inherited=(self.inherited, remembers * self.n, memory),
            place=self.order["q"],
            summed=self._summed() is not None,
        )
        q, p, v = (SX.sym(name, self.n) for name in "qpv")
        guess = _guess_function(guesses, step, q, p, v)
        slots = memory + remembers * self.n
        return AssembledProgram(
            self.n, slots, machine, guess, spaces, self.sizes, len(substeps), self.tables, remembers
        )

    def _assign_stages(self, plan: AssignPlan) -> list[Stage]:
        """One for new vectors, and one for those that are handed on, which have their places.

        What is a vector of the bank already is called by another name.
        """
        placed = [x for x in plan.targets if x[0] in self.bank]
        fresh = []
        for name, space, value in plan.targets:
            same = value.name() if value.is_symbolic() else ""
            if name not in self.bank and same in self.bank and self.spaces[same] == space:
                self.bank[name], self.spaces[name] = self.bank[same], space
            elif name not in self.bank:
                fresh.append((name, space, value))
        return [self._assign_stage(AssignPlan(x)) for x in (fresh, placed) if x]

    def _assign_stage(self, plan: AssignPlan) -> Stage:
        sizes = [self.sizes[space] for _, space, _ in plan.targets]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        values = [value for _, _, value in plan.targets]
        spaces = [space for _, space, _ in plan.targets]
        found = (self.contribution(k, values, [], starts, spaces) for k in range(len(self.kinds)))
        parts = [x for x in found if x is not None]
        alone = self._alone(values, parts) if set(spaces) == {"q"} else []
        # Only now: while they are computed, the new vectors have no value that could be read.
        for name, space, _ in plan.targets:
            self.place(name, space)
        first, total = self.bank[plan.targets[0][0]], int(starts[-1])
        assert [self.bank[name] for name, _, _ in plan.targets] == (first + starts[:-1]).tolist()
        if alone:
            return self._stage_by_groups(plan, starts, parts, alone)
        # Who has something to say on every component of the new vectors stores it, first.
        whole = [x for x in parts if set(x.hows) == {"a"} and _covers(x.rows, total)][:1]
        parts = [*whole, *(x for x in parts if x not in whole)]
        return Stage(
            kind="assign",
            passes=[self._sum(part, first, total, part in whole) for part in parts],
            contributions=parts,
            zeroed=(first, 0 if whole else total),
            size=total,
            unknowns=[self.bank[name] for name, _, _ in plan.targets],
            sizes=sizes,
        )

    def _alone(self, values: list[SX], parts: list[Contribution]) -> list[tuple]:
        """What groups make of these values for themselves, if that is less work than by terms.

        Groups that evaluate all that is attached to them write each component once; terms between
        two groups are evaluated for both.
        """
        found, work = [], 0
        for group in self.types:
            tables = np.hstack([group.own, group.foreign]), np.hstack([group.private, group.outer])
            sizes = {"q": tables[0].shape[1], "c": tables[1].shape[1]}
            vectors = LocalVectors(self.spaces, sizes)
            own = list(range(group.own.shape[1]))
            local = [self.group_value(group, x, "q", vectors)[own] for x in values]
            kinds = [m.kind for m in group.members]
            places = Places(*tables, kinds, [m.instances for m in group.members])
            function, gather = self.inputs(places, vectors, ca.vertcat(*local))
            found.append((group, function, gather))
            work += group.count * function.n_instructions()
        terms = sum(len(x.rows) * (x.function.n_instructions() + x.rows.shape[1]) for x in parts)
        return found if work < terms else []

    def _stage_by_groups(self, plan: AssignPlan, starts: np.ndarray, parts, alone) -> Stage:
        """Groups store their own components; what is in no group is stored and added to by terms.

        All targets are vectors of coordinates.
        """
        first, passes = self.bank[plan.targets[0][0]], []
        rest = np.ones(self.n + 1, dtype=bool)
        for group, function, gather in alone:
            target = np.hstack([first + start + group.own for start in starts[:-1]])
            passes.append(self.passed(function, gather, target, "=" * target.shape[1]))
            rest[group.own] = False
        left = np.flatnonzero(rest[: self.n])
        if len(left):
            nothing = ca.Function("part", [SX(0, 1)], [SX(0)])
            at = np.concatenate([first + start + left for start in starts[:-1]])
            none = np.zeros((len(at), 0), np.int64)
            passes.append(self.passed(nothing, none, at[:, None], "="))
        inside = np.concatenate([*(~rest[: self.n] for _ in plan.targets), [True]])
        for part in parts:
            which = np.flatnonzero(~inside[part.rows].all(axis=1))
            if len(which):
                rows = part.rows[which]
                target = np.where(inside[rows], self.trash, first + rows)
                passes.append(self.passed(part.function, part.gather[which], target, part.hows))
        return Stage(
            kind="assign",
            passes=passes,
            contributions=parts,
            zeroed=(first, 0),
            size=int(starts[-1]),
            unknowns=[self.bank[name] for name, _, _ in plan.targets],
            sizes=[self.n] * len(plan.targets),
        )

    def _sum(self, part: Contribution, first: int, total: int, stored: bool) -> Pass:
        """What adds a kind's values to new vectors, which lie one after the other."""
        target = np.where(part.rows < total, first + part.rows, self.trash)
        hows = "=" * len(part.hows) if stored else part.hows
        return self.passed(part.function, part.gather, target, hows)

    def passed(
        self, function: ca.Function, gather: np.ndarray, target: np.ndarray, how: str, back=False
    ) -> Pass:
        """The pass of a function; gathering −1 reads zero."""
        gather = np.where(gather < 0, self.zero, gather)
        given = function, gather, target, how, self.reserve, self.trash, self.pool
        # The ends of a chain, say, are a kernel each and next to nothing of a step.
        rare = len(gather) < LANES and len(gather) * SELDOM <= self.n
        return made_pass(*given, loop_code, back, 0 if rare else 1)

    def _summed(self) -> str | None:
        """The sum that is where the step ends, if the method looks at it."""
        dq, sums = self.step.end["dq"], {s.name(): e for s, e in self.step.sums}
        for change, symbol in self.step.changes:
            name = symbol.name()
            moved = name in self.bank and ca.depends_on(sums[name], self.step.q)
            if moved and ca.is_equal(change, dq, 100):
                return name
        return None

    def _monitor_stages(self, last: float) -> list[Stage]:
        """g, hidden, energy (and power) at the new state.

        Power as the step has it that ends there, and as the next one has it, and whether something
        jumps or bends in them.  The step is `last` times as short as it should be.
        """
        step = AbstractStep(self.system, self.step.locals)
        step.placeholders = self.step.placeholders
        if (summed := self._summed()) is not None:
            self.bank["q_end"], self.spaces["q_end"] = self.bank[summed], "q"
        for name in ("q_end", "p_end"):
            self.place(name, "q")
        q, p, v = (SX.sym(name) for name in ("q_end", "p_end", "v1"))
        t = step.t1 = self.step.t1
        step.window = None
        stages = []
        targets = [
            ("g_end", "largest", step.g(q, t)),
            ("hidden_end", "largest", step.hidden(q, v, t)),
        ]
        targets.append(("energy_end", "1", step._call("energy", t, q=q, v=v, p=p)))
        if not self.system.conservative:
            span, switched = self.step.h / last, any(x.switched for x in step.locals)
            windows = [(t - span, t), (t, t + span)] if switched else [None]
            for name, step.window in zip(("power_end", "power_after"), windows, strict=False):
                lam = {}
                if self.system.rheonomic:  # what moves a constraint does work by its multiplier
                    stages.append(self._accelerations(step, q, v, p, t, name))
                    lam = {"lam": SX.sym(f"{name} lam")}
                targets.append((name, "1", step._call("power", t, q=q, v=v, p=p, **lam)))
            if switched:
                step.window = (t - span, t + span)
                targets.append(("jumps_end", "1", step._call("jumps", t, q=q, v=v, p=p)))
        if self.system.c == 0:
            targets = [x for x in targets if x[1] != "largest"]
        stages += self._assign_stages(AssignPlan(targets))
        if "power_end" in self.bank:
            self.bank.setdefault("power_after", self.bank["power_end"])
        return stages

    def _accelerations(self, step: AbstractStep, q: SX, v: SX, p: SX, t: SX, name: str) -> Stage:
        """Solves the index-1 equations for the multipliers."""
        names = [f"{name} {x}" for x in ("a", "r", "lam")]
        a, r, lam = (SX.sym(x) for x in names)
        self.spaces |= dict(zip(names, ("q", "q", "c"), strict=True))
        push, force = step.push(q, t, lam), step.force(q, v, p, t)
        rate = step.rate(q, v, p, a, r, t)
        bend = step.hidden_rate(q, v, a, t)
        if self.system.form == "lagrangian":
            plan = SolvePlan([a, lam], [ca.substitute(rate, r, force - push), bend], [a])
        else:
            plan = SolvePlan([r, a, lam], [r - force + push, rate, bend], [a])
        return SolveStage(self, plan).built(0)[0]


def _covers(rows: np.ndarray, total: int) -> bool:
    """Whether every component is among the rows once."""
    return rows.size == total and len(np.unique(rows)) == total and rows.max(initial=0) < total


def _guess_function(guesses, step: AbstractStep, q: SX, p: SX, v: SX) -> ca.Function:
    vectors = {"q": q, "p": p, "v": v}
    values = []
    for guess in guesses:
        total = SX(0)
        for symbol in ca.symvar(guess):
            total = total + ca.jacobian(guess, symbol) * vectors[symbol.name()]
        values.append(ca.densify(total))
    return ca.Function("guess", [q, p, v], values if values else [SX(0)])
