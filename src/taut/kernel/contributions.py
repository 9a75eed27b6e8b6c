"""What kinds of terms contribute to the expressions of a plan, in local vectors of the bank.

Everything a program writes down is affine in vectors and operators with coefficients that depend on
h only (see `plan`); then the contribution of a term to any expression Σ cⱼ oⱼ is Σ cⱼ oⱼ(term), and
what belongs to no term is a pseudo-term with one coordinate (or one constraint) per instance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from taut.errors import InputError
from taut.kernel.arithmetic import plus, times
from taut.kernel.eliminate import curved, written_out
from taut.kernel.groups import GroupType, Kind, Member
from taut.kernel.operators import ARGUMENTS, SPACES, Local
from taut.kernel.plan import SCALARS, AbstractStep, Placeholder
from taut.model.system import System

SX = ca.SX


class LocalVectors:
    """Local symbols of bank vectors, made when first asked for."""

    def __init__(self, spaces: dict[str, str], sizes: dict[str, int]) -> None:
        self.spaces, self.sizes = spaces, sizes
        self.made: dict[str, SX] = {}
        self.origin: dict[str, tuple[str, object, int]] = {}

    def elements(self, key: str, size: int, origin: str, what: object) -> SX:
        """`size` symbols that come from one place."""
        if key not in self.made:
            found = []
            for i in range(size):
                name = f"{key}[{i}]"
                self.origin[name] = (origin, what, i)
                found.append(SX.sym(name))
            self.made[key] = ca.vertcat(*found) if found else SX(0, 1)
        return self.made[key]

    def get(self, name: str) -> SX:
        return self.elements(f"v:{name}", self.sizes[self.spaces[name]], "vector", name)

    def scalar(self, name: str) -> SX:
        key = f"s:{name}"
        if key not in self.made:
            self.origin[key] = ("scalar", None, SCALARS.index(name))
            self.made[key] = SX.sym(key)
        return self.made[key]

    def entry(self, name: str, at: int) -> SX:
        """The entry of a table that begins at this address."""
        key = f"t:{name}"
        if key not in self.made:
            self.origin[key] = ("table", None, at)
            self.made[key] = SX.sym(key)
        return self.made[key]

    def constants(self, count: int, member: int = 0) -> SX:
        return self.elements(f"constant{member}", count, "constant", member)

    def parameters(self, count: int) -> SX:
        return self.elements("parameter", count, "parameter", None)

    def placed(self, key: str, addresses: np.ndarray) -> SX:
        """Symbols with addresses of their own, shape (instances, symbols)."""
        return self.elements(key, addresses.shape[1], "placed", addresses)


@dataclass(eq=False)
class Contribution:
    """What one kind of term adds to a stage.

    Attributes
    ----------
    outputs : SX
        Values and, after them, entries of the matrix.
    rows, cols : ndarray, shape (instances, outputs)
        Where the outputs go; column −1 marks a value, row `size` one that is dropped.
    hows : str
        How values are written, see `passes.made_pass`.
    firm : set of int
        Unknowns whose own equation has them even for h = 0.
    """

    bank: Bank
    number: int
    vectors: LocalVectors
    outputs: SX
    rows: np.ndarray
    cols: np.ndarray
    hows: str
    linear: bool
    curved: bool
    firm: set[int]

    @cached_property
    def _whole(self) -> tuple[ca.Function, np.ndarray]:
        return self.selected(np.arange(self.outputs.numel()))

    @property
    def function(self) -> ca.Function:
        """Local inputs → outputs."""
        return self._whole[0]

    @property
    def gather(self) -> np.ndarray:
        """Where the inputs lie in the bank (−1 for zero), shape (instances, inputs)."""
        return self._whole[1]

    def selected(self, which: np.ndarray) -> tuple[ca.Function, np.ndarray]:
        """The function of some of the outputs, and where its inputs lie."""
        kind = self.bank.kinds[self.number]
        places = Places(kind.coordinates, kind.rows, [self.number])
        return self.bank.inputs(places, self.vectors, self.outputs[which.tolist()])


@dataclass
class Places:
    """Where local vectors lie: coordinates, constraints, and the kinds whose constants are used."""

    coordinates: np.ndarray
    rows: np.ndarray
    kinds: list[int]
    instances: list[np.ndarray] | None = None  # of each of the kinds; all of them without it


class Bank:
    """The vectors of a step at their addresses, and expressions in local vectors of them."""

    kinds: list[Kind]
    step: AbstractStep
    system: System

    def __init__(self, sizes: dict[str, int], spaces: dict[str, str]) -> None:
        self.sizes, self.spaces = sizes, spaces
        self.bank: dict[str, int] = {}
        self.end = 0
        self.zero, self.trash = self.reserve(1), self.reserve(1)
        self.tables: dict[str, tuple[int, int]] = {}
        self.table_at: dict[str, int] = {}
        self.scalars = self.par = 0
        self.constants: list[int] = []

    def reserve(self, size: int) -> int:
        """The address of `size` numbers that nobody else uses."""
        self.end += size
        return self.end - size

    def place(self, name: str, space: str) -> None:
        """Give a vector an address, if it has none."""
        if name not in self.bank:
            self.bank[name] = self.reserve(self.sizes[space])
            self.spaces[name] = space

    # ---- contributions of kinds --------------------------------------------------------------

    def contribution(
        self, number: int, expressions, unknowns, starts, spaces=None, slow=False
    ) -> Contribution | None:
        """What one kind adds to the expressions, and to their derivatives by the unknowns."""
        kind = self.kinds[number]
        spaces = spaces or [self.spaces[u.name()] for u in unknowns]
        sizes = {"q": kind.coordinates.shape[1], "c": kind.rows.shape[1]}
        vectors = LocalVectors(self.spaces, sizes)
        values, owners, numbers, hows = [], [], [], ""
        for e, (expression, space) in enumerate(zip(expressions, spaces, strict=True)):
            value = self._local_value(kind, expression, space, vectors)
            if value is None:
                continue
            values.append(value)
            owners.append(self._owners(kind, space, value.numel(), starts, e))
            numbers += [e] * value.numel()
            hows += {"largest": "m", "1": "+"}.get(space, "a") * value.numel()
        if not values:
            return None
        stacked = ca.vertcat(*values)
        rows = np.hstack(owners)
        cols = np.full_like(rows, -1)
        if not unknowns:
            return Contribution(
                self, number, vectors, stacked, rows, cols, hows, True, False, set()
            )
        local, index = self._unknowns(kind, unknowns, starts, vectors)
        z, h = ca.vertcat(*local), vectors.scalar("h")
        jacobian = ca.jacobian(stacked, z)
        linear = not ca.depends_on(jacobian, z) if jacobian.nnz() else True
        i, j = (np.array(x, dtype=int) for x in jacobian.sparsity().get_triplet())
        still = ca.sparsify(ca.substitute(jacobian, h, SX(0)))
        if len(i):
            entries: Any = jacobian.nonzeros()
            stacked = ca.vertcat(stacked, *entries)
            rows = np.hstack([rows, rows[:, i]])
            cols = np.hstack([cols, index[:, j]])
        return Contribution(
            self, number, vectors, stacked, rows, cols, hows + "a" * len(i), linear,
            curved(jacobian, z, h, slow), _firm(still, numbers, local),
        )  # fmt: skip

    def _unknowns(self, kind: Kind, unknowns, starts, vectors) -> tuple[list[SX], np.ndarray]:
        """Local symbols of the unknowns, and their numbers, shape (instances, symbols)."""
        local, index = [], []
        for j, u in enumerate(unknowns):
            local.append(vectors.get(u.name()))
            space = self.spaces[u.name()]
            table = kind.coordinates if space == "q" else kind.rows
            index.append(np.where(table == self.sizes[space], starts[-1], starts[j] + table))
        return local, np.hstack(index)

    def split(
        self, whole: Contribution, expressions, unknowns, starts, first: int
    ) -> tuple[Contribution, int] | None:
        """The same contribution with a helper for each force along a known direction.

        A damper c σ(z) d adds c d ∂σ/∂z to the matrix: all coordinates of both its sides feel each
        other.  With a helper y = ∂σ/∂z·x as one more unknown of the linear system they do not,

            … + c d y = r,      ∂σ/∂z·x − y = 0,

        and parts can still be eliminated one by one.  Helpers are numbered from `first` on; their
        count is returned, too.  None if that cannot be done.
        """
        kind, vectors = self.kinds[whole.number], whole.vectors
        if kind.local is None or not kind.local.has("split"):
            return None
        local, index = self._unknowns(kind, unknowns, starts, vectors)
        z, count = ca.vertcat(*local), len(kind.coordinates)
        values = int(np.sum(whole.cols[0] < 0))
        outputs, rows, cols = [whole.outputs[:values]], [whole.rows[:, :values]], []
        cols.append(whole.cols[:, :values])
        calls: dict[int, tuple[Placeholder, list]] = {}
        for e, expression in enumerate(expressions):
            for p in self.step.called(expression):
                if SPACES.get(p.operator) == "q" and kind.local.has(p.operator):
                    found = calls.setdefault(p.symbol.element_hash(), (p, []))
                    found[1].append((e, self.scaled(ca.jacobian(expression, p.symbol), vectors)))
        helpers = 0
        for p, where in calls.values():
            both = self._local_call(kind.local, replace(p, operator="split"), vectors)
            size, direction = both[0], both[1:]
            if p.operator != "force" or ca.depends_on(direction, z):
                return None
            slope = ca.jacobian(size, z)
            helper = first + helpers + np.arange(count)[:, None]
            helpers += count
            for e, coefficient in where:
                outputs.append(times(coefficient, direction))
                rows.append(self._owners(kind, "q", direction.numel(), starts, e))
                cols.append(np.repeat(helper, direction.numel(), axis=1))
            at = slope.sparsity().get_triplet()[1]
            outputs += [*slope.nonzeros(), SX(-1)]
            rows.append(np.repeat(helper, len(at) + 1, axis=1))
            cols += [index[:, at], helper]
        stacked = ca.vertcat(*outputs)
        hows = whole.hows[:values] + "a" * (stacked.numel() - values)
        made = replace(
            whole, outputs=stacked, rows=np.hstack(rows), cols=np.hstack(cols), hows=hows
        )
        return made, helpers

    def _owners(self, kind: Kind, space: str, width: int, starts, e: int) -> np.ndarray:
        """Where values of this space go; those of dropped constraints after the last."""
        if space in ("1", "largest"):
            return np.full((len(kind.coordinates), width), starts[e])
        index = kind.coordinates if space == "q" else kind.rows
        return np.where(index == self.sizes[space], starts[-1], starts[e] + index)

    def _local_value(self, kind: Kind, expression: SX, space: str, vectors) -> SX | None:
        """The part of an abstract expression that one kind contributes, in its local vectors."""
        called = self.step.called(expression)
        if kind.full:
            return self._products(called, expression, space, vectors)
        if kind.local is None:
            if space in ("1", "largest") or vectors.sizes[space] == 0:
                return None
            value = self.without_operators(called, expression, space, vectors)
            return None if value.is_zero() else value
        total = None
        for p in called:
            wanted = "c" if space == "largest" else space
            if SPACES.get(p.operator) != wanted or not kind.local.has(p.operator):
                continue
            coefficient = self.scaled(ca.jacobian(expression, p.symbol), vectors)
            part = times(coefficient, self._local_call(kind.local, p, vectors))
            total = part if total is None else plus(total, part)
        return total

    def without_operators(self, called, expression: SX, space: str, vectors) -> SX:
        """What belongs to no term."""
        if called:
            nothing = [SX(0)] * len(called)
            expression = ca.substitute([expression], [p.symbol for p in called], nothing)[0]
        return self._vectorised(expression, vectors, space)

    def _products(self, called, expression: SX, space: str, vectors) -> SX | None:
        """What the entry (i, j) of the tables adds to component i, in the local vector (i, j)."""
        found = [p for p in called if p.operator in self.tables]
        if space != "q" or not found:
            return None
        total = SX(0)
        for p in found:
            x = self._vectorised(self._open(p.arguments["x"]), vectors, "q")
            entry = vectors.entry(p.operator, self.table_at[p.operator])
            total += self.scaled(ca.jacobian(expression, p.symbol), vectors) * entry * x[1]
        return ca.vertcat(total, SX(0))

    # ---- contributions to groups -------------------------------------------------------------

    def group_value(self, group: GroupType, expression: SX, space: str, vectors) -> SX:
        """All that the terms attached to a group, and no term, add to its local components."""
        called = self.step.called(expression)
        total = ca.vertsplit(self.without_operators(called, expression, space, vectors))
        for number, member in enumerate(group.members):
            local = self.kinds[member.kind].local
            assert local is not None
            where = member.slots if space == "q" else member.rows
            for p in called:
                if SPACES.get(p.operator) != space or not local.has(p.operator):
                    continue
                coefficient = self.scaled(ca.jacobian(expression, p.symbol), vectors)
                part = times(coefficient, self._local_call(local, p, vectors, member, number))
                for at, x in zip(where, ca.vertsplit(part), strict=True):
                    if at >= 0:
                        total[at] = plus(total[at], x)
        return ca.vertcat(SX(0, 1), *total)

    # ---- expressions in local vectors --------------------------------------------------------

    def _local_call(
        self, local: Local, placeholder: Placeholder, vectors, member: Member | None = None,
        number: int = 0,
    ) -> SX:  # fmt: skip
        given = {}
        for name in ARGUMENTS:
            space = "c" if name == "lam" else "q"
            expression = placeholder.arguments.get(name)
            size = local.arguments[name].numel()
            if expression is None:
                given[name] = SX.zeros(size)
                continue
            value = self._vectorised(self._open(expression), vectors, space)
            if member is not None:
                where = member.slots if space == "q" else member.rows
                every, nothing = ca.vertsplit(value), SX(0)
                value = ca.vertcat(SX(0, 1), *(every[i] if i >= 0 else nothing for i in where))
            given[name] = value
        time = self.scaled(placeholder.time, vectors)
        window = self.scaled(placeholder.window, vectors)
        constants = vectors.constants(len(local.term.constants), number)
        parameters = vectors.parameters(len(self.system.parameters))
        function = local.function(placeholder.operator)
        return function(*given.values(), time, parameters, constants, window)

    def _open(self, expression: SX) -> SX:
        """Arguments in terms of vectors of the bank: sums of the solve under way written out."""
        table = [(s, e) for s, e in self.step.sums if s.name() not in self.bank]
        return written_out(expression, table)

    def scaled(self, expression: SX, vectors) -> SX:
        """A coefficient or a time in the symbols that kernels read from the bank."""
        if expression.is_constant():
            return expression
        scalars = [vectors.scalar(name) for name in SCALARS]
        return ca.substitute([expression], [self.step.t, self.step.t1, self.step.h], scalars)[0]

    def _vectorised(self, expression: SX, vectors, space: str) -> SX:
        """An affine combination of abstract vectors, as local vectors."""
        if expression.is_symbolic() and self.spaces.get(expression.name()) == space:
            return vectors.get(expression.name())
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
            coefficient = self.scaled(ca.jacobian(expression, symbol), vectors)
            total = plus(total, times(coefficient, vectors.get(symbol.name())))
        return total

    # ---- inputs ------------------------------------------------------------------------------

    def inputs(self, places: Places, vectors, outputs: SX) -> tuple[ca.Function, np.ndarray]:
        """The function of the inputs it really needs, and where they lie in the bank."""
        used = ca.symvar(outputs)
        gather = [self._addresses(places, vectors.origin[symbol.name()]) for symbol in used]
        inputs = ca.vertcat(*used) if used else SX(0, 1)
        count = len(places.coordinates)
        table = np.stack(gather, axis=1) if gather else np.zeros((count, 0), int)
        return ca.Function("part", [inputs], [ca.cse(ca.densify(outputs))]), table

    def _addresses(self, places: Places, origin: tuple) -> np.ndarray:
        source, what, position = origin
        count = len(places.coordinates)
        if source == "constant":
            number = places.kinds[what]
            rows = len(self.kinds[number].values)
            instances = places.instances
            index = np.arange(rows) if instances is None else instances[what]
            same = np.ptp(self.kinds[number].values[:, position]) == 0.0
            return self.constants[number] + position * rows + (0 * index if same else index)
        if source == "scalar":
            return np.full(count, self.scalars + position)
        if source == "parameter":
            return np.full(count, self.par + position)
        if source == "table":
            return position + np.arange(count)
        if source == "placed":
            return what[:, position]
        table = places.coordinates if self.spaces[what] == "q" else places.rows
        at = self.bank[what] + table[:, position]
        # A dropped constraint has no multiplier: read the bank's zero.
        return np.where(table[:, position] == self.sizes[self.spaces[what]], -1, at)


def _firm(still: SX, numbers: list[int], unknowns: list[SX]) -> set[int]:
    """Unknowns with a diagonal block that does not vanish with h."""
    owner = [j for j, u in enumerate(unknowns) for _ in range(u.numel())]
    i_all, j_all = still.sparsity().get_triplet()
    return {owner[j] for i, j in zip(i_all, j_all, strict=True) if numbers[i] == owner[j]}
