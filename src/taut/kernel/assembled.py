"""The assembled back end: kernels per type of term, gathered and scattered.

The method's program is run once on abstract vectors (one symbol stands for a whole vector).  Every
operator it calls becomes a placeholder, and everything it writes down must be affine in vectors
and placeholders with coefficients that depend on h only; then the contribution of a term to any
expression Σ cⱼ oⱼ is Σ cⱼ oⱼ(term), and what belongs to no term is a pseudo-term with one
coordinate (or one constraint) per instance.

The result is a list of stages on a *bank* of vectors.  A stage evaluates kernels: per type of term
a table of bank addresses to gather from and a table of addresses to add to.  A solve stage adds
into a sparse matrix and a right side, an assign stage into new vectors of the bank.

Compiling costs the same for 3 instances and for 3000; only the tables grow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, cast

import casadi as ca
import numpy as np

from taut.errors import InputError
from taut.kernel.eliminate import curved, written_out
from taut.kernel.fused import HEAD
from taut.kernel.machine import Machine, Part, Stage
from taut.kernel.native import Native, compiled
from taut.kernel.newtons import HISTORY
from taut.kernel.operators import ARGUMENTS, SPACES, Local, locals_of
from taut.kernel.plan import SCALARS, AbstractStep, AssignPlan, Placeholder, Planner, SolvePlan
from taut.kernel.sparse import analysed
from taut.kernel.step_code import map_code
from taut.methods.base import Method, Step
from taut.model.system import System

SX = ca.SX
LANES = 4


@dataclass
class Kind:
    """A type of term with its instances: where its local vectors lie in the system's vectors."""

    local: Local | None
    coordinates: np.ndarray
    rows: np.ndarray
    values: np.ndarray
    every: np.ndarray  # rows among all constraints, also those that were dropped
    full: bool = False  # one instance (i, j) for each entry of the tables


@dataclass
class Contribution:
    """What one kind of term adds to a stage.

    Attributes
    ----------
    function : ca.Function
        Local inputs → values and, after them, entries of the matrix.
    gather : ndarray, shape (instances, inputs)
        Where the inputs lie in the bank (−1 for zero).
    rows, cols : ndarray, shape (instances, outputs)
        Where the outputs go; column −1 marks a value, row `size` one that is dropped.
    firm : set of int
        Unknowns whose own equation has them even for h = 0.
    """

    function: ca.Function
    gather: np.ndarray
    rows: np.ndarray
    cols: np.ndarray
    linear: bool
    curved: bool
    firm: set[int]


@dataclass
class AssembledProgram:
    """Stages with their tables, ready to run."""

    n: int
    slots: int
    machine: Machine
    guess: ca.Function
    natives: list[Native] = field(repr=False)
    unknown_sizes: list[list[int]] = field(default_factory=list)  # of each stage
    substeps: int = 1
    tables: dict[str, tuple[int, int]] = field(default_factory=dict)
    remembers: int = 0  # vectors that the method remembers from step to step
    holds: ClassVar[int] = 0
    simplified: ClassVar[bool] = False

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
        """The methods' guesses, repeated."""
        if not self.unknown_sizes:
            return np.zeros(0)
        found = self.guess(q, p, v)
        values = [
            np.array(x).ravel() for x in (found if isinstance(found, tuple | list) else [found])
        ]
        memory = []
        for sizes in self.unknown_sizes:
            own, values = values[: len(sizes)], values[len(sizes) :]
            sized = [np.broadcast_to(x, size) for x, size in zip(own, sizes, strict=True)]
            first = np.concatenate([np.tile(x, HISTORY) for x in sized])
            memory.append(np.tile(first, self.substeps))
        return np.concatenate(memory)


def assemble(system: System, method: Method, *, keep: list[int], chart=None) -> AssembledProgram:
    """Run the program on abstract vectors and lay out its stages."""
    step = AbstractStep(system, locals_of(system, method.invariants_of(system)))
    method.program(cast(Step, step))
    plans = Planner(step).plan()
    return _Layout(system, step, plans, keep).program(method.substeps)


class _Layout:
    """The bank, the kernels and the tables."""

    def __init__(self, system: System, step: AbstractStep, plans, keep: list[int]) -> None:
        self.system, self.step, self.plans = system, step, plans
        self.n, self.c, self.keep = system.n, len(keep), keep
        self.kinds = self._kinds()
        self.sizes = {"q": self.n, "c": self.c, "every": system.c, "1": 1}
        self.bank: dict[str, int] = {}
        self.spaces: dict[str, str] = dict(step.spaces)
        self.end = 0
        for name in ("q", "result", "v", "cq", "p", "cp", "move", "floor"):
            self._place(name, "q")
        # What the method remembers, and what it hands on: two blocks.
        remembered = [symbol.name() for symbol in step.remembered.values()]
        for name in (*remembered, *step.handed):
            self._place(name, "q")
        self.inherited = self.bank["floor"] + self.n
        self.scalars = self._reserve(len(SCALARS))
        self.par = self._reserve(len(system.parameters))
        self.tables = {
            name: (self.n, self.n if cols == "q" else 1) for name, cols in step.tables.items()
        }
        self.table_at = {
            name: self._reserve(rows * cols) for name, (rows, cols) in self.tables.items()
        }
        self.bank |= {name: at for name, at in self.table_at.items() if self.tables[name][1] == 1}
        self.constants = [self._reserve(kind.values.size) for kind in self.kinds]
        self.natives: list[Native] = []

    def _reserve(self, size: int) -> int:
        self.end += size
        return self.end - size

    def _place(self, name: str, space: str) -> None:
        if name not in self.bank:
            self.bank[name] = self._reserve(self.sizes[space])
            self.spaces[name] = space

    def _kinds(self) -> list[Kind]:
        """Every term, then one pseudo-term per coordinate and one per constraint."""
        number = {row: i for i, row in enumerate(self.keep)}
        kinds, at = [], 0
        for term, local in zip(self.system.terms, self.step.locals, strict=True):
            count = term.instances * local.rows
            rows = at + np.arange(count).reshape(term.instances, local.rows)
            at += count
            every = rows
            # Dropped constraints write to row c, which nobody reads, and their λ is zero.
            rows = np.array(
                [[number.get(int(r), self.c) for r in row] for row in rows], dtype=np.int64
            )
            kinds.append(
                Kind(
                    local,
                    term.indices,
                    rows.reshape(term.instances, local.rows),
                    term.values,
                    every,
                )
            )
        n, c = self.n, self.c
        one = np.zeros((n, 0))
        none = np.zeros((0, 0), np.int64)
        kinds.append(Kind(None, np.arange(n)[:, None], np.zeros((n, 0), np.int64), one, none))
        kinds.append(
            Kind(None, np.zeros((c, 0), np.int64), np.arange(c)[:, None], np.zeros((c, 0)), none)
        )
        if self.step.tables:
            pairs = np.stack(np.divmod(np.arange(n * n), n), axis=1)
            nothing = np.zeros((n * n, 0))
            kinds.append(Kind(None, pairs, nothing.astype(np.int64), nothing, none, full=True))
        return kinds

    # ---- stages ------------------------------------------------------------------------------

    def program(self, substeps: tuple[float, ...]) -> AssembledProgram:
        step, stages = self.step, []
        memory = HEAD * self.n
        guesses, sizes = [], []
        for plan in self.plans:
            if isinstance(plan, SolvePlan):
                stage, size = self._solve_stage(plan, memory)
                memory += len(substeps) * size
                if size:
                    guesses += [step.guesses[u.name()] for u in plan.unknowns]
                    sizes.append([self.sizes[self.spaces[u.name()]] for u in plan.unknowns])
                stages.append(stage)
            else:
                stages.append(self._assign_stage(plan))
        stages += self._monitor_stages()
        q, p, v = (SX.sym(name, self.n) for name in "qpv")
        remembers = len(step.remembered)
        machine = Machine(
            n=self.n,
            c=self.system.c,
            bank=self.end,
            vectors=self.bank,
            scalars=self.scalars,
            parameters=(self.par, self.constants[0] - self.par),
            constants=[
                (at, k.values.ravel()) for at, k in zip(self.constants, self.kinds, strict=True)
            ],
            stages=stages,
            conservative=self.system.conservative,
            substeps=substeps,
            inherited=(self.inherited, remembers * self.n, memory),
        )
        guess = _guess_function(guesses, step, q, p, v)
        parts = len(substeps)
        slots = memory + remembers * self.n
        return AssembledProgram(
            self.n, slots, machine, guess, self.natives, sizes, parts, self.tables, remembers
        )

    def _solve_stage(self, plan: SolvePlan, memory: int) -> tuple[Stage, int]:
        for u in plan.unknowns:
            self._place(u.name(), self.spaces[u.name()])
        sizes = [self.sizes[self.spaces[u.name()]] for u in plan.unknowns]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        total = int(starts[-1])
        coefficients = _coefficients(plan.watch, plan.unknowns, self.step.h)
        slow = not any(coefficients[: len(sizes)])
        parts: list[Contribution] = []
        linear = True
        for number, kind in enumerate(self.kinds):
            made = self._contribution(
                number, kind, plan.residuals, plan.unknowns, starts, slow=slow
            )
            if made is None:
                continue
            linear = linear and made.linear
            parts.append(made)
        firm = set().union(*(part.firm for part in parts))
        late = [
            np.full(size, 2 if self.spaces[u.name()] == "c" else int(j not in firm))
            for j, (u, size) in enumerate(zip(plan.unknowns, sizes, strict=True))
        ]
        pattern = analysed(total, [(p.rows, p.cols) for p in parts], np.concatenate(late))
        finished = []
        for part in parts:
            # Values first, then matrix entries; row `total` swallows what is dropped.
            slots = total + 1 + pattern.slot(part.rows, np.maximum(part.cols, 0))
            target = np.where(part.cols >= 0, slots, part.rows)
            finished.append(self._part(part, target))
        assert linear or any(coefficients), "an iteration that nobody watches"
        history = 0 if linear else HISTORY * total
        stage = Stage(
            kind="solve",
            parts=finished,
            contributions=parts,
            work=total + 1 + pattern.slots + 1,
            size=total,
            pattern=pattern,
            unknowns=[self.bank[u.name()] for u in plan.unknowns],
            sizes=sizes,
            watch=coefficients,
            memory=memory,
            linear=linear,
            curved=any(part.curved for part in parts),
        )
        return stage, history

    def _assign_stage(self, plan: AssignPlan) -> Stage:
        sizes = [self.sizes[space] for _, space, _ in plan.targets]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        values = [value for _, _, value in plan.targets]
        spaces = [space for _, space, _ in plan.targets]
        parts = []
        for number, kind in enumerate(self.kinds):
            made = self._contribution(number, kind, values, [], starts, spaces)
            if made is not None:
                parts.append(made)
        # Only now: while they are computed, the new vectors have no value that could be read.
        for name, space, _ in plan.targets:
            self._place(name, space)
        return Stage(
            kind="assign",
            parts=[self._part(part, part.rows) for part in parts],
            contributions=parts,
            work=int(starts[-1]) + 1,
            size=int(starts[-1]),
            unknowns=[self.bank[name] for name, _, _ in plan.targets],
            sizes=sizes,
        )

    def _monitor_stages(self) -> list[Stage]:
        """g, hidden, energy (and power, after the accelerations) at the new state."""
        step = AbstractStep(self.system, self.step.locals)
        step.placeholders = self.step.placeholders
        for name in ("q_end", "p_end"):
            self._place(name, "q")
        q, p, v = (SX.sym(name) for name in ("q_end", "p_end", "v1"))
        t = step.t1 = self.step.t1
        stages = []
        targets = [("g_end", "every", step.g(q, t)), ("hidden_end", "every", step.hidden(q, v, t))]
        targets.append(("energy_end", "1", step._call("energy", t, q=q, v=v, p=p)))
        if not self.system.conservative:
            a, r, lam = (SX.sym(name) for name in ("a_end", "r_end", "lam_end"))
            self.spaces |= {"a_end": "q", "r_end": "q", "lam_end": "c"}
            push, force = step.push(q, t, lam), step.force(q, v, p, t)
            rate = step.rate(q, v, p, a, r, t)
            bend = step.hidden_rate(q, v, a, t)
            if self.system.form == "lagrangian":
                plan = SolvePlan([a, lam], [ca.substitute(rate, r, force - push), bend], a)
            else:
                plan = SolvePlan([r, a, lam], [r - force + push, rate, bend], a)
            stages.append(self._solve_stage(plan, 0)[0])
            power = step._call("power", t, q=q, v=v, p=p, lam=lam)
            targets.append(("power_end", "1", power))
        if self.c == 0:
            targets = [x for x in targets if x[1] != "every"]
        stages.append(self._assign_stage(AssignPlan(targets)))
        return stages

    # ---- kernels -----------------------------------------------------------------------------

    def _contribution(
        self, number: int, kind: Kind, expressions, unknowns, starts, spaces=None, slow=False
    ) -> Contribution | None:
        """What one kind adds to the expressions, and to their derivatives by the unknowns."""
        spaces = spaces or [self.spaces[u.name()] for u in unknowns]
        sizes = {"q": kind.coordinates.shape[1], "c": kind.rows.shape[1]}
        vectors = _LocalVectors(self.spaces, sizes)
        values, owners, numbers = [], [], []
        for e, (expression, space) in enumerate(zip(expressions, spaces, strict=True)):
            value = self._local_value(kind, expression, space, vectors)
            if value is None:
                continue
            index = {
                "q": kind.coordinates,
                "c": kind.rows,
                "every": kind.every,
                "1": np.zeros((len(kind.coordinates), 1), int),
            }[space]
            # Rows of dropped constraints go to the address after the last, which nobody reads.
            address = np.where(index == self.sizes[space], starts[-1], starts[e] + index)
            values.append(value)
            owners.append(address)
            numbers += [e] * value.numel()
        if not values:
            return None
        stacked = ca.vertcat(*values)
        instances = len(kind.coordinates)
        rows = np.hstack(owners)
        cols = np.full_like(rows, -1)
        outputs = [stacked]
        local_unknowns, unknown_index = [], []
        for j, u in enumerate(unknowns):
            symbol = vectors.get(u.name())
            index = kind.coordinates if self.spaces[u.name()] == "q" else kind.rows
            local_unknowns.append(symbol)
            size = self.sizes[self.spaces[u.name()]]
            unknown_index.append(np.where(index == size, starts[-1], starts[j] + index))
        linear, bent, firm = True, False, set()
        if local_unknowns:
            z = ca.vertcat(*local_unknowns)
            columns = np.hstack(unknown_index) if unknown_index else np.zeros((instances, 0), int)
            jacobian = ca.jacobian(stacked, z)
            linear = not ca.depends_on(jacobian, z) if jacobian.nnz() else True
            i, j = (np.array(x, dtype=int) for x in jacobian.sparsity().get_triplet())
            still = ca.sparsify(ca.substitute(jacobian, vectors.scalar("h"), SX(0)))
            bent = curved(jacobian, z, vectors.scalar("h"), slow)
            firm = self._firm(still, numbers, local_unknowns)
            outputs.append(ca.vertcat(*jacobian.nonzeros()) if len(i) else SX(0, 1))
            rows = np.hstack([rows, rows[:, i]]) if len(i) else rows
            cols = np.hstack([cols, columns[:, j]]) if len(i) else cols
        function, gather = self._compiled_inputs(number, kind, vectors, ca.vertcat(*outputs))
        return Contribution(function, gather, rows, cols, linear, bent, firm)

    def _firm(self, still: SX, numbers: list[int], unknowns: list[SX]) -> set[int]:
        """Unknowns with a diagonal block that does not vanish with h."""
        owner = [j for j, u in enumerate(unknowns) for _ in range(u.numel())]
        i_all, j_all = still.sparsity().get_triplet()
        return {owner[j] for i, j in zip(i_all, j_all, strict=True) if numbers[i] == owner[j]}

    def _local_value(self, kind: Kind, expression: SX, space: str, vectors) -> SX | None:
        """The part of an abstract expression that one kind contributes, in its local vectors."""
        called = self.step.called(expression)
        if kind.full:
            return self._products(called, expression, space, vectors)
        if kind.local is None:
            if space in ("1", "every") or vectors.sizes[space] == 0:
                return None
            nothing = [SX(0)] * len(called)
            zero = (
                ca.substitute([expression], [p.symbol for p in called], nothing)[0]
                if called
                else expression
            )
            value = self._vectorised(zero, vectors, space)
            return None if value.is_zero() else value
        total = None
        for p in called:
            wanted = "c" if space == "every" else space
            if SPACES.get(p.operator) != wanted or not kind.local.has(p.operator):
                continue
            coefficient = self._scalar(ca.jacobian(expression, p.symbol), vectors)
            part = coefficient * self._local_call(kind.local, p, vectors)
            total = part if total is None else total + part
        return total

    def _products(self, called, expression: SX, space: str, vectors) -> SX | None:
        """What the entry (i, j) of the tables adds to component i, in the local vector (i, j)."""
        found = [p for p in called if p.operator in self.tables]
        if space != "q" or not found:
            return None
        total = SX(0)
        for p in found:
            x = self._vectorised(self._open(p.arguments["x"]), vectors, "q")
            entry = vectors.entry(p.operator, self.table_at[p.operator])
            total += self._scalar(ca.jacobian(expression, p.symbol), vectors) * entry * x[1]
        return ca.vertcat(total, SX(0))

    def _local_call(self, local: Local, placeholder: Placeholder, vectors) -> SX:
        given = {}
        for name in ARGUMENTS:
            space = "c" if name == "lam" else "q"
            expression = placeholder.arguments.get(name)
            size = local.arguments[name].numel()
            given[name] = (
                SX.zeros(size)
                if expression is None
                else self._vectorised(self._open(expression), vectors, space)
            )
        time = self._scalar(placeholder.time, vectors)
        constants = vectors.constants(len(local.term.constants))
        parameters = vectors.parameters(len(self.system.parameters))
        return local.function(placeholder.operator)(*given.values(), time, parameters, constants)

    def _open(self, expression: SX) -> SX:
        """Arguments in terms of vectors of the bank: sums of the solve under way written out."""
        table = [(s, e) for s, e in self.step.sums if s.name() not in self.bank]
        return written_out(expression, table)

    def _scalar(self, expression: SX, vectors) -> SX:
        """A coefficient or a time in the symbols that kernels read from the bank."""
        scalars = [vectors.scalar(name) for name in SCALARS]
        return ca.substitute([expression], [self.step.t, self.step.t1, self.step.h], scalars)[0]

    def _vectorised(self, expression: SX, vectors, space: str) -> SX:
        """An affine combination of abstract vectors, as local vectors."""
        total = SX.zeros(vectors.sizes[space])
        for symbol in ca.symvar(expression):
            if symbol.name() in SCALARS:
                continue
            if symbol.name() not in self.spaces:
                raise InputError(
                    "this method cannot be assembled",
                    expected="operators of vectors",
                    received=f"an operator of another one, {symbol.name()}",
                    remedy="give the inner one an unknown of its own in the method's program",
                )
            coefficient = self._scalar(ca.jacobian(expression, symbol), vectors)
            total = total + coefficient * vectors.get(symbol.name())
        return total

    def _compiled_inputs(self, number: int, kind: Kind, vectors, outputs: SX):
        """The function of the inputs it really needs, and where they lie in the bank."""
        used = ca.symvar(outputs)
        gather = []
        for symbol in used:
            origin, position = vectors.origin[symbol.name()]
            instances = len(kind.coordinates)
            if origin == "constant":
                width = kind.values.shape[1]
                gather.append(self.constants[number] + position + width * np.arange(instances))
            elif origin == "scalar":
                gather.append(np.full(instances, self.scalars + position))
            elif origin == "parameter":
                gather.append(np.full(instances, self.par + position))
            elif origin == "table":
                gather.append(position + np.arange(instances))
            else:
                index = kind.coordinates if self.spaces[origin] == "q" else kind.rows
                at = self.bank[origin] + index[:, position]
                # A dropped constraint has no multiplier: read the bank's zero.
                gather.append(
                    np.where(index[:, position] == self.sizes[self.spaces[origin]], -1, at)
                )
        inputs = ca.vertcat(*used) if used else SX(0, 1)
        table = np.stack(gather, axis=1) if gather else np.zeros((len(kind.coordinates), 0), int)
        return ca.Function("part", [inputs], [ca.cse(ca.densify(outputs))]), table

    def _part(self, contribution: Contribution, target: np.ndarray) -> Part:
        native = compiled(map_code(contribution.function, LANES))
        self.natives.append(native)
        return Part.of(native.address("map"), contribution.gather, target, LANES)


class _LocalVectors:
    """Local symbols of bank vectors, made when first asked for."""

    def __init__(self, spaces: dict[str, str], sizes: dict[str, int]) -> None:
        self.spaces, self.sizes = spaces, sizes
        self.made: dict[str, SX] = {}
        self.origin: dict[str, tuple[str, int]] = {}

    def _elements(self, key: str, size: int, origin: str) -> SX:
        if key not in self.made:
            elements = []
            for i in range(size):
                name = f"{key}[{i}]"
                self.origin[name] = (origin, i)
                elements.append(SX.sym(name))
            self.made[key] = ca.vertcat(*elements) if elements else SX(0, 1)
        return self.made[key]

    def get(self, name: str) -> SX:
        return self._elements(f"v:{name}", self.sizes[self.spaces[name]], name)

    def scalar(self, name: str) -> SX:
        key = f"s:{name}"
        if key not in self.made:
            self.origin[key] = ("scalar", SCALARS.index(name))
            self.made[key] = SX.sym(key)
        return self.made[key]

    def entry(self, name: str, at: int) -> SX:
        """The entry of a table that begins at this address."""
        key = f"t:{name}"
        if key not in self.made:
            self.origin[key] = ("table", at)
            self.made[key] = SX.sym(key)
        return self.made[key]

    def constants(self, count: int) -> SX:
        return self._elements("constant", count, "constant")

    def parameters(self, count: int) -> SX:
        return self._elements("parameter", count, "parameter")


def _coefficients(watch: SX, unknowns: list[SX], h: SX) -> list[float]:
    """Watch = Σ (cⱼ + h dⱼ) · unknownⱼ: first all c, then all d."""
    slopes = ca.vertcat(*(ca.jacobian(watch, u) for u in unknowns))
    parts = ca.substitute(slopes, h, SX(0)), ca.jacobian(slopes, h)
    return [float(x) if x.is_constant() else 0.0 for e in parts for x in ca.vertsplit(e)]


def _guess_function(guesses, step: AbstractStep, q: SX, p: SX, v: SX) -> ca.Function:
    vectors = {"q": q, "p": p, "v": v}
    values = []
    for guess in guesses:
        total = SX(0)
        for symbol in ca.symvar(guess):
            total = total + ca.jacobian(guess, symbol) * vectors[symbol.name()]
        values.append(ca.densify(total))
    return ca.Function("guess", [q, p, v], values if values else [SX(0)])
