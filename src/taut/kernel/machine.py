"""Runs assembled stages: gather, call a kernel, scatter; factorise, substitute, update.

Everything a run needs lies in two flat arrays, one of integers (tables) and one of doubles (the
bank of vectors, work space), so that one compiled function with the signature of `steps` (see
`step_code`) serves every system.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np
from llvmlite import ir
from numba import (
    carray,  # pyright: ignore[reportPrivateImportUsage]
    cfunc,
    njit,
    types,
)
from numba.extending import intrinsic

from taut.kernel.fused import HEAD
from taut.kernel.newton_code import (
    BENT,
    FALLING,
    FIRST,
    LIMIT,
    NEVER,
    NEXT,
    ROUNDOFF,
    SMALL,
    STALL_RATIO,
)
from taut.kernel.newtons import HISTORY, NOISE
from taut.kernel.sparse import Pattern, factorise, substitute
from taut.kernel.step_code import NOTES

SOLVE, ASSIGN, SUM = 0, 1, 2
(
    N, C, STAGES, FIRST_STAGE, Q, RESULT, V, CQ, P, CP, Q1, V1, DQ, DP, TANGENT, G, HIDDEN,
    ENERGY, POWER, SCALARS, PAR, PARS, CONSERVATIVE, LANES, IN, OUT, P_END,
    MOVE, FLOOR, SUBSTEPS, SHARES, INHERITED, INHERITED_LENGTH, INHERITED_SLOT,
) = range(HEADER := 34)  # fmt: skip
(
    KIND, PARTS, WORK, WORK_LENGTH, SIZE, BLOCKS, LINEAR, MEMORY, HISTORY_AT, ORDER, START, COLUMN,
    DIAGONAL, MIRROR, ROW, RIGHT, BLOCK_TABLE, PART_TABLE, WATCH, IS_CURVED,
) = range(20)  # fmt: skip
STAGE_LENGTH, PART_LENGTH = 20, 6
_NOTE = {name: i for i, name in enumerate(NOTES)}
MAX_G, MAX_HIDDEN, ENERGY0, ERROR_MIN, ERROR_MAX, ERROR_SUM = (
    _NOTE[k] for k in ("max_g", "max_hidden", "energy0", "error_min", "error_max", "error_sum")
)
ITERATIONS, MOST, WORK_DONE, POWER_NOW, GROSS, CHART, OK = (
    _NOTE[k]
    for k in ("iterations", "most_iterations", "work", "power", "gross_work", "chart", "ok")
)


@dataclass
class Part:
    """One kernel with its tables, instances grouped in lanes.

    Attributes
    ----------
    gather, target : ndarray, shapes (groups, inputs, lanes) and (groups, outputs, lanes)
        Bank addresses to read (−1 reads zero) and work addresses to add to (−1 is dropped).
    """

    address: int
    gather: np.ndarray
    target: np.ndarray

    @classmethod
    def of(cls, address: int, gather: np.ndarray, target: np.ndarray, lanes: int) -> Part:
        """Tables of shape (instances, …), padded to whole groups."""
        spare = -len(gather) % lanes

        def grouped(table: np.ndarray, fill_last: bool) -> np.ndarray:
            tail = (
                np.repeat(table[-1:], spare, axis=0)
                if fill_last
                else np.full((spare, table.shape[1]), -1)
            )
            padded = np.concatenate([table, tail]).astype(np.int64)
            shape = (len(padded) // lanes, lanes, table.shape[1])  # a kernel may have no inputs
            return padded.reshape(shape).transpose(0, 2, 1).copy()

        return cls(address, grouped(gather, True), grouped(target, False))


@dataclass
class Stage:
    """A solve or an assignment; see `assembled`."""

    kind: str
    parts: list[Part]
    work: int
    size: int
    unknowns: list[int]
    sizes: list[int]
    contributions: list = field(default_factory=list)
    pattern: Pattern | None = None
    watch: list[float] = field(default_factory=list)
    memory: int = 0
    linear: bool = True
    curved: bool = False


class Machine:
    """Two flat arrays and the address of the function that runs on them."""

    def __init__(
        self, *, n, c, bank, vectors, scalars, parameters, constants, stages, conservative,
        substeps, inherited,
    ) -> None:  # fmt: skip
        self.substeps = len(substeps)
        self._ints: list[int] = [0] * HEADER
        self._floats = bank + 1  # the last slot of the bank is always zero
        self.zero = bank
        lanes = stages[-1].parts[0].gather.shape[2]
        widest = max(p.gather.shape[1] for s in stages for p in s.parts)
        longest = max(p.target.shape[1] for s in stages for p in s.parts)
        ends = [i for i, s in enumerate(stages) if s.kind == "assign"]
        last_assign = next(i for i in reversed(ends[:-1]) if vectors["dq"] in stages[i].unknowns)
        ordered = [*stages[: last_assign + 1], None, *stages[last_assign + 1 :]]
        self.before_sum = stages[: last_assign + 1]
        self.vectors, self.inherited = vectors, inherited[0]
        table = [
            self._stage(s) if s is not None else [SUM] + [0] * (STAGE_LENGTH - 1) for s in ordered
        ]
        first = self._append([x for row in table for x in row])
        head = {
            N: n, C: c, STAGES: len(table), FIRST_STAGE: first, SCALARS: scalars,
            PAR: parameters[0], PARS: parameters[1], CONSERVATIVE: int(conservative), LANES: lanes,
            IN: self._space(widest * lanes), OUT: self._space(longest * lanes),
            SUBSTEPS: self.substeps, SHARES: (shares := self._space(self.substeps)),
            INHERITED: inherited[0], INHERITED_LENGTH: inherited[1], INHERITED_SLOT: inherited[2],
        }  # fmt: skip
        names = {
            Q: "q", RESULT: "result", V: "v", CQ: "cq", P: "p", CP: "cp",
            MOVE: "move", FLOOR: "floor",
            Q1: "q_end", P_END: "p_end", V1: "v1", DQ: "dq", DP: "dp", TANGENT: "tangent",
            G: "g_end", HIDDEN: "hidden_end", ENERGY: "energy_end", POWER: "power_end",
        }  # fmt: skip
        for key, name in names.items():
            head[key] = vectors.get(name, self.zero)
        for key, value in head.items():
            self._ints[key] = int(value)
        self.ints = np.array(self._ints, dtype=np.int64)
        self.floats = np.zeros(self._floats)
        for at, values in constants:
            self.floats[at : at + len(values)] = values
        for at, values in [*self._watches, (shares, substeps)]:
            self.floats[at : at + len(values)] = values
        where = [self.ints.ctypes.data, len(self.ints), self.floats.ctypes.data, len(self.floats)]
        self._where = np.array(where, dtype=np.int64)
        self.context = self._where.ctypes.data
        self.address = steps_address()

    _watches: list[tuple[int, list[float]]]

    def _space(self, size: int) -> int:
        self._floats += size
        return self._floats - size

    def _append(self, numbers) -> int:
        at = len(self._ints)
        self._ints.extend(int(x) for x in np.asarray(numbers).ravel())
        return at

    def _stage(self, stage: Stage) -> list[int]:
        if not hasattr(self, "_watches"):
            self._watches = []
        work = self._space(stage.work + 1)
        dropped = stage.work
        parts = []
        for part in stage.parts:
            gather = np.where(part.gather < 0, self.zero, part.gather)
            target = np.where(part.target < 0, dropped, part.target)
            groups, inputs, _ = gather.shape
            tables = self._append(gather), self._append(target)
            parts += [part.address, groups, inputs, target.shape[1], *tables]
        row = [0] * STAGE_LENGTH
        row[KIND] = SOLVE if stage.kind == "solve" else ASSIGN
        row[PARTS], row[PART_TABLE] = len(stage.parts), self._append(parts)
        row[WORK], row[WORK_LENGTH], row[SIZE] = work, stage.work + 1, stage.size
        blocks = [x for pair in zip(stage.unknowns, stage.sizes, strict=True) for x in pair]
        row[BLOCKS], row[BLOCK_TABLE] = len(stage.sizes), self._append(blocks)
        row[LINEAR], row[IS_CURVED] = int(stage.linear), int(stage.curved)
        if stage.pattern is not None:
            pattern = stage.pattern
            row[ORDER], row[START] = self._append(pattern.order), self._append(pattern.start)
            row[COLUMN], row[DIAGONAL] = (
                self._append(pattern.column),
                self._append(pattern.diagonal),
            )
            row[MIRROR] = self._append(pattern.mirror)
            row[ROW], row[RIGHT] = self._space(stage.size), self._space(stage.size)
            row[WATCH] = self._space(len(stage.watch))
            self._watches.append((row[WATCH], stage.watch))
            row[MEMORY] = stage.memory
            row[HISTORY_AT] = self._space(self.substeps * HISTORY * stage.size)
        return row


@intrinsic
def _pointer(typing, address):
    """An int64 as ``void *``."""

    def codegen(_, builder, __, args):
        return builder.inttoptr(args[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), codegen


@intrinsic
def _call(typing, address, source, target):
    """``((void (*)(const double *, double *)) address)(source, target)``."""
    signature = types.void(types.int64, types.int64, types.int64)

    def codegen(context, builder, __, args):
        pointer = ir.IntType(8).as_pointer()
        function = ir.FunctionType(ir.VoidType(), [pointer] * 2)
        target = builder.inttoptr(args[0], function.as_pointer())
        builder.call(target, [builder.inttoptr(a, pointer) for a in args[1:]])
        return context.get_dummy_value()

    return signature, codegen


@njit(nogil=True, cache=True)
def evaluate(ints, floats, base, stage):
    """Run the kernels of a stage: its work space is the sum of their outputs."""
    lanes = ints[LANES]
    source, result = ints[IN], ints[OUT]
    work = ints[stage + WORK]
    floats[work : work + ints[stage + WORK_LENGTH]] = 0.0
    for k in range(ints[stage + PARTS]):
        part = ints[stage + PART_TABLE] + PART_LENGTH * k
        address, groups, inputs, outputs = (
            ints[part],
            ints[part + 1],
            ints[part + 2],
            ints[part + 3],
        )
        gather, target = ints[part + 4], ints[part + 5]
        for _ in range(groups):
            for i in range(inputs * lanes):
                floats[source + i] = floats[ints[gather + i]]
            _call(address, base + 8 * source, base + 8 * result)  # pyright: ignore[reportCallIssue]
            for i in range(outputs * lanes):
                floats[work + ints[target + i]] += floats[result + i]
            gather += inputs * lanes
            target += outputs * lanes


@njit(nogil=True, cache=True)
def assign(ints, floats, stage):
    """Copy a stage's sums into the bank."""
    at = ints[stage + WORK]
    for k in range(ints[stage + BLOCKS]):
        block, size = (
            ints[ints[stage + BLOCK_TABLE] + 2 * k],
            ints[ints[stage + BLOCK_TABLE] + 2 * k + 1],
        )
        floats[block : block + size] = floats[at : at + size]
        at += size


@njit(nogil=True, cache=True)
def guess(ints, floats, stage, part):
    """Unknowns of a stage: extrapolated from their last values, zero if the stage is linear."""
    history = ints[stage + HISTORY_AT] + part * HISTORY * ints[stage + SIZE]
    at = 0
    for k in range(ints[stage + BLOCKS]):
        block, length = (
            ints[ints[stage + BLOCK_TABLE] + 2 * k],
            ints[ints[stage + BLOCK_TABLE] + 2 * k + 1],
        )
        for i in range(length):
            if ints[stage + LINEAR]:
                floats[block + i] = 0.0
            else:
                # The history is kept block by block, as the methods' guesses are given.
                h = history + HISTORY * at + i
                a, b, c = floats[h], floats[h + length], floats[h + 2 * length]
                floats[block + i] = a + ((a - b) + ((a - b) - (b - c)))
        at += length


@njit(nogil=True, cache=True)
def remember(ints, floats, stage, part):
    """Shift the history of a stage's unknowns in one of the sub-steps."""
    history, at = ints[stage + HISTORY_AT] + part * HISTORY * ints[stage + SIZE], 0
    for k in range(ints[stage + BLOCKS]):
        block, length = (
            ints[ints[stage + BLOCK_TABLE] + 2 * k],
            ints[ints[stage + BLOCK_TABLE] + 2 * k + 1],
        )
        h = history + HISTORY * at
        for i in range(length):
            floats[h + 2 * length + i] = floats[h + length + i]
            floats[h + length + i] = floats[h + i]
            floats[h + i] = floats[block + i]
        at += length


@njit(nogil=True, cache=True, error_model="numpy")
def solve(ints, floats, base, stage, part):
    """Newton on a stage; iterations, or −1 if it failed."""
    n, size, work = ints[N], ints[stage + SIZE], ints[stage + WORK]
    order = ints[ints[stage + ORDER] : ints[stage + ORDER] + size]
    start = ints[ints[stage + START] : ints[stage + START] + size + 1]
    slots = start[size]
    column = ints[ints[stage + COLUMN] : ints[stage + COLUMN] + slots]
    mirror = ints[ints[stage + MIRROR] : ints[stage + MIRROR] + slots]
    diagonal = ints[ints[stage + DIAGONAL] : ints[stage + DIAGONAL] + size]
    matrix = floats[work + size + 1 : work + size + 1 + slots]
    row = floats[ints[stage + ROW] : ints[stage + ROW] + size]
    right = floats[ints[stage + RIGHT] : ints[stage + RIGHT] + size]
    h = abs(floats[ints[SCALARS] + 2])
    guess(ints, floats, stage, part)
    last = NEVER
    for iteration in range(LIMIT):
        evaluate(ints, floats, base, stage)
        if not factorise(matrix, start, column, diagonal, mirror, row):
            return -1
        for k in range(size):
            right[k] = -floats[work + order[k]]
        substitute(matrix, start, column, diagonal, right)
        for k in range(size):
            row[order[k]] = right[k]
        measure, at = 0.0, 0
        for i in range(n):
            moved, at = 0.0, 0
            for k in range(ints[stage + BLOCKS]):
                length = ints[ints[stage + BLOCK_TABLE] + 2 * k + 1]
                at_h = ints[stage + WATCH] + ints[stage + BLOCKS] + k
                weight = floats[ints[stage + WATCH] + k] + h * floats[at_h]
                if weight != 0.0:
                    moved += weight * row[at + i]
                at += length
            size_i = (
                abs(floats[ints[Q] + i]) + abs(floats[ints[MOVE] + i]) + floats[ints[FLOOR] + i]
            )
            relative = h * abs(moved) / size_i
            if not relative <= measure:
                measure = relative
        at = 0
        for k in range(ints[stage + BLOCKS]):
            block, length = (
                ints[ints[stage + BLOCK_TABLE] + 2 * k],
                ints[ints[stage + BLOCK_TABLE] + 2 * k + 1],
            )
            for i in range(length):
                floats[block + i] += row[at + i]
            at += length
        row[:] = 0.0
        if ints[stage + LINEAR]:
            return 0
        bound = max(ROUNDOFF, min(BENT if ints[stage + IS_CURVED] else SMALL, FALLING * last))
        if iteration == 0:
            bound = 0.0 if ints[stage + IS_CURVED] else FIRST
        final = measure * measure * measure <= NEXT * last * last
        if (measure <= bound and final) or (measure <= NOISE and measure >= STALL_RATIO * last):
            return iteration + 1
        if not measure < 1e290:
            return -1
        last = measure
    return -1


@njit(nogil=True, cache=True)
def add_up(ints, floats):
    """Compensated sums of q and of the carried momentum, and the tangent momentum."""
    for i in range(ints[N]):
        y = floats[ints[CQ] + i] + floats[ints[DQ] + i]
        floats[ints[Q1] + i] = floats[ints[Q] + i] + y
        y = floats[ints[CP] + i] + floats[ints[DP] + i]
        floats[ints[P_END] + i] = (floats[ints[P] + i] + y) + floats[ints[TANGENT] + i]


@njit(nogil=True, cache=True)
def commit(ints, floats):
    """Make the new state the present one."""
    for i in range(ints[N]):
        q, p = floats[ints[Q] + i], floats[ints[P] + i]
        y = floats[ints[CQ] + i] + floats[ints[DQ] + i]
        floats[ints[Q] + i] = q + y
        floats[ints[CQ] + i] = y - (floats[ints[Q] + i] - q)
        y = floats[ints[CP] + i] + floats[ints[DP] + i]
        floats[ints[P] + i] = p + y
        floats[ints[CP] + i] = y - (floats[ints[P] + i] - p)
        floats[ints[MOVE] + i] = floats[ints[DQ] + i]
        floats[ints[V] + i] = floats[ints[V1] + i]
        floats[ints[RESULT] + i] = floats[ints[P_END] + i]
    at, length = ints[INHERITED], ints[INHERITED_LENGTH]
    floats[at : at + length] = floats[at + length : at + 2 * length]


@njit(nogil=True, cache=True)
def one_step(ints, floats, base, part):
    """All stages of a sub-step; Newton iterations, or −1 if one failed or energy is not finite."""
    total, whole = 0, part == ints[SUBSTEPS] - 1
    for k in range(ints[STAGES]):
        stage = ints[FIRST_STAGE] + STAGE_LENGTH * k
        if ints[stage + KIND] == SOLVE:
            made = solve(ints, floats, base, stage, part)
            if made < 0:
                return -1
            total += made
        elif ints[stage + KIND] == ASSIGN:
            evaluate(ints, floats, base, stage)
            assign(ints, floats, stage)
        elif whole:
            add_up(ints, floats)
        else:  # what follows only watches the end of a step
            return total
    return total if abs(floats[ints[ENERGY]]) < np.inf else -1


@njit(nogil=True, cache=True)
def take_notes(ints, floats, notes, iterations, h):
    """What the certificate needs; the same as the fused back end's."""
    for i in range(ints[C]):
        notes[MAX_G] = max(notes[MAX_G], abs(floats[ints[G] + i]))
        notes[MAX_HIDDEN] = max(notes[MAX_HIDDEN], abs(floats[ints[HIDDEN] + i]))
    error = floats[ints[ENERGY]] - notes[ENERGY0]
    if not ints[CONSERVATIVE]:
        power = floats[ints[POWER]]
        work = 0.5 * h * (notes[POWER_NOW] + power)
        notes[WORK_DONE] += work
        notes[GROSS] += abs(work)
        notes[POWER_NOW] = power
        error -= notes[WORK_DONE]
    notes[ERROR_MIN] = min(notes[ERROR_MIN], error)
    notes[ERROR_MAX] = max(notes[ERROR_MAX], error)
    notes[ERROR_SUM] += error
    notes[ITERATIONS] += iterations
    notes[CHART] = 1.0


@njit(nogil=True, cache=True)
def exchange(ints, floats, state, out):
    """Copy the state into the bank, or (`out`) back."""
    n = ints[N]
    places = (ints[Q], ints[RESULT], ints[V], ints[CQ], ints[P], ints[CP], ints[MOVE], ints[FLOOR])
    for k in range(HEAD):
        for i in range(n):
            if out:
                state[k * n + i] = floats[places[k] + i]
            else:
                floats[places[k] + i] = state[k * n + i]
    for k in range(ints[STAGES]):
        stage = ints[FIRST_STAGE] + STAGE_LENGTH * k
        if ints[stage + KIND] == SOLVE and not ints[stage + LINEAR]:
            at, length = ints[stage + MEMORY], ints[SUBSTEPS] * HISTORY * ints[stage + SIZE]
            for i in range(length):
                if out:
                    state[at + i] = floats[ints[stage + HISTORY_AT] + i]
                else:
                    floats[ints[stage + HISTORY_AT] + i] = state[at + i]
    at, slot, length = ints[INHERITED], ints[INHERITED_SLOT], ints[INHERITED_LENGTH]
    if out:
        state[slot : slot + length] = floats[at : at + length]
    else:
        floats[at : at + length] = state[slot : slot + length]


@njit(nogil=True, cache=True)
def run(ints, floats, base, state, par, notes, count, store, until, every):
    """`count` steps on the flat arrays; the number made."""
    exchange(ints, floats, state, False)
    t0, k0, h = par[0], par[1], par[2]
    for i in range(ints[PARS]):
        floats[ints[PAR] + i] = par[4 + i]
    notes[OK] = 1.0
    made = row = 0
    most = notes[MOST]
    at, parts = ints[SCALARS], ints[SUBSTEPS]
    while made < count:
        if parts > 1:
            exchange(ints, floats, state, True)
        total, node = 0, 0.0
        for part in range(parts):
            share = floats[ints[SHARES] + part]
            floats[at], floats[at + 2] = t0 + (k0 + made + node) * h, share * h
            node = node + share if part < parts - 1 else 1.0
            floats[at + 1] = t0 + (k0 + made + node) * h
            iterations = one_step(ints, floats, base, part)
            if iterations < 0:
                break
            total += iterations
            most = max(most, iterations)
            if part == parts - 1:
                take_notes(ints, floats, notes, total, h)
            commit(ints, floats)
            for k in range(ints[STAGES]):
                stage = ints[FIRST_STAGE] + STAGE_LENGTH * k
                if ints[stage + KIND] == SOLVE and not ints[stage + LINEAR]:
                    remember(ints, floats, stage, part)
        if iterations < 0:
            notes[OK] = 0.0
            if parts > 1:
                return made  # the state before this step has been written down
            break
        notes[MOST] = most
        made += 1
        until -= 1
        if until == 0:
            until, n = every, ints[N]
            for part in (ints[Q], ints[RESULT], ints[V]):
                store[row : row + n] = floats[part : part + n]
                row += n
    exchange(ints, floats, state, True)
    return made


@cache
def steps_address() -> int:
    """Address of ``i64 steps(context, state, par, notes, count, store, until, every)``."""
    return int(_steps.address)  # pyright: ignore[reportArgumentType]


_SIGNATURE = types.int64(
    types.CPointer(types.int64),
    types.CPointer(types.float64),
    types.CPointer(types.float64),
    types.CPointer(types.float64),
    types.int64,
    types.CPointer(types.float64),
    types.int64,
    types.int64,
)


@cfunc(_SIGNATURE, cache=True)
def _steps(context, state, par, notes, count, store, until, every):
    where = carray(context, (4,))
    ints = carray(_pointer(where[0]), (where[1],), np.int64)  # pyright: ignore
    floats = carray(_pointer(where[2]), (where[3],), np.float64)  # pyright: ignore
    n = ints[N]
    slots = HEAD * n + ints[INHERITED_LENGTH]
    for k in range(ints[STAGES]):
        stage = ints[FIRST_STAGE] + STAGE_LENGTH * k
        if ints[stage + KIND] == SOLVE and not ints[stage + LINEAR]:
            slots += ints[SUBSTEPS] * HISTORY * ints[stage + SIZE]
    numbers = carray(state, (slots,))
    parameters = carray(par, (4 + ints[PARS],))
    noted = carray(notes, (len(NOTES),))
    rows = 0 if count < until else 1 + (count - until) // every
    stored = carray(store, (3 * n * rows,))
    return run(ints, floats, where[2], numbers, parameters, noted, count, stored, until, every)
