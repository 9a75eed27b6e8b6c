"""Runs assembled stages: calls kernels, which go over their instances; factorises, substitutes.

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
    types,
)
from numba.extending import intrinsic

from taut.kernel import guesses
from taut.kernel.fused import HEAD
from taut.kernel.guesses import (
    BOOKS,
    DEPTH,
    FIRST_MOVE,
    LARGEST,
    LEFT,
    ORDER,
    PERIOD,
    POSITION,
    ROUNDED,
    SECOND_MOVE,
    SINGLE,
    TRIAL,
    best_order,
    extrapolate,
    learn,
    store,
    sure,
)
from taut.kernel.jit import callback, copy, within
from taut.kernel.newton_code import (
    BENT,
    FALLING,
    FIRST,
    LIMIT,
    LOOSE,
    NEVER,
    NEXT,
    ROUNDOFF,
    SMALL,
    STALL_RATIO,
)
from taut.kernel.newtons import NOISE
from taut.kernel.passes import Pass
from taut.kernel.sparse import ONE, Pattern, factorise_after, substitute
from taut.kernel.step_code import NOTES
from taut.kernel.work import WORK, tell_work

SOLVE, ASSIGN, SUM = 0, 1, 2
NOISE_LIMIT = 1e-3  # of the floors
FLOORED = 1e-7  # the floors, of a length
# Near a singular configuration rounding does more, along what the constraints hardly hold: what
# moves nothing by more than this (1e−10 of a length) and no longer falls is noise there.
SINGULAR, PATIENCE = 1e-3, 3
(
    N, STAGES, FIRST_STAGE, Q, RESULT, V, CQ, P, CP, Q1, V1, DQ, DP, TANGENT, G, HIDDEN,
    ENERGY, POWER, SCALARS, PAR, PARS, CONSERVATIVE, CONSTRAINED, P_END,
    MOVE, FLOOR, SUBSTEPS, SHARES, INHERITED, INHERITED_LENGTH, INHERITED_SLOT, PLACE,
    SUMMED, FOLLOWING, JUMPS,
) = range(HEADER := 35)  # fmt: skip
(
    KIND, PASSES, PASS_TABLE, BACK, BACK_TABLE, ZEROED, ZEROED_LENGTH, SIZE, BLOCKS, BLOCK_TABLE,
    LINEAR, IS_CURVED, IS_KINKED, MEMORY, SAVED, OUTER, START, COLUMN, DIAGONAL, MIRROR,
    ROW, RIGHT, MATRIX, LOST, BAD, MEASURE,
) = range(STAGE_LENGTH := 26)  # fmt: skip
# After the measure of a stage come its largest move, and what is left where rounding does not
# explain it.
MOVED, LEFT_OVER = 1, 2
PASS_LENGTH = 10
_NOTE = {name: i for i, name in enumerate(NOTES)}
MAX_G, MAX_HIDDEN, ENERGY0, ERROR_MIN, ERROR_MAX, ERROR_SUM = (
    _NOTE[k] for k in ("max_g", "max_hidden", "energy0", "error_min", "error_max", "error_sum")
)
ITERATIONS, MOST, WORK_DONE, ERROR, CHART, OK = (
    _NOTE[k] for k in ("iterations", "most_iterations", "work", "error", "chart", "ok")
)
LOOSE_STEPS, LEFT_MOST = _NOTE["loose"], _NOTE["left"]
WORK_NOTES = tuple(_NOTE[k] for k in WORK)


@dataclass
class Stage:
    """A solve or an assignment; see `assembled` and `solves`.

    Attributes
    ----------
    passes, back : list of Pass
        Before and after the sparse factorisation.
    zeroed : (int, int)
        Address and length of what is set to zero before the passes.
    contributions : list of Contribution
        What every kind of term adds, with nothing eliminated.
    batches : list of Batch
        What is eliminated between groups and the sparse factorisation, see `outer`.
    places : (int, int, int)
        Addresses of the right side, the matrix and the lost sizes of `pattern`.
    """

    kind: str
    passes: list[Pass]
    zeroed: tuple[int, int]
    size: int
    unknowns: list[int]
    sizes: list[int]
    contributions: list = field(default_factory=list)
    back: list[Pass] = field(default_factory=list)
    pattern: Pattern | None = None
    places: tuple[int, int, int] = (0, 0, 0)
    bad: int = 0
    measure: int = 0
    memory: int = 0
    linear: bool = True
    curved: bool = False
    kinked: bool = False
    batches: list = field(default_factory=list)


class Machine:
    """Two flat arrays and the address of the function that runs on them."""

    def __init__(
        self, *, n, constrained, floats, reserve, vectors, scalars, parameters, constants, stages,
        conservative, substeps, inherited, place, summed,
    ) -> None:  # fmt: skip
        self.substeps, self.place, self._reserve = len(substeps), place, reserve
        self._ints: list[np.ndarray] = [np.zeros(HEADER, np.int64)]
        self._length = HEADER
        self.before_sum, after = stages
        self.vectors, self.inherited = vectors, inherited[0]
        table = [self._stage(s) for s in self.before_sum]
        table.append([SUM] + [0] * (STAGE_LENGTH - 1))
        table += [self._stage(s) for s in after]
        first = self._append([x for row in table for x in row])
        head = {
            N: n, STAGES: len(table), FIRST_STAGE: first, SCALARS: scalars,
            PAR: parameters[0], PARS: parameters[1], CONSERVATIVE: int(conservative),
            CONSTRAINED: int(constrained),
            SUBSTEPS: self.substeps, SHARES: (shares := reserve(self.substeps)),
            INHERITED: inherited[0], INHERITED_LENGTH: inherited[1], INHERITED_SLOT: inherited[2],
            PLACE: self._append(place), SUMMED: int(summed),
        }  # fmt: skip
        names = {
            Q: "q", RESULT: "result", V: "v", CQ: "cq", P: "p", CP: "cp",
            MOVE: "move", FLOOR: "floor",
            Q1: "q_end", P_END: "p_end", V1: "v1", DQ: "dq", DP: "dp", TANGENT: "tangent",
            G: "g_end", HIDDEN: "hidden_end", ENERGY: "energy_end", POWER: "power_end",
            FOLLOWING: "power_after", JUMPS: "jumps_end",
        }  # fmt: skip
        for key, name in names.items():
            head[key] = vectors.get(name, vectors["zero"])
        for key, value in head.items():
            self._ints[0][key] = int(value)
        self.ints = np.concatenate(self._ints)
        self.floats = np.zeros(reserve(0))
        for at, values in [*constants, (shares, substeps)]:
            self.floats[at : at + len(values)] = values
        self.stages = [*self.before_sum, *after]  # they keep their kernels alive
        where = [self.ints.ctypes.data, len(self.ints), self.floats.ctypes.data, len(self.floats)]
        self._where = np.array(where, dtype=np.int64)
        self.context = self._where.ctypes.data
        self.address = steps_address()

    def _append(self, numbers) -> int:
        array = np.asarray(numbers, dtype=np.int64).ravel()
        self._ints.append(array)
        self._length += len(array)
        return self._length - len(array)

    def _passes(self, passes: list[Pass]) -> int:
        rows = []
        for x in passes:
            rows += [x.address, self._append(x.table), x.runs, x.count]
            for copies in (x.before, x.added, x.stored):
                rows += [self._append(copies), len(copies)]
        return self._append(rows)

    def _stage(self, stage: Stage) -> list[int]:
        row = [0] * STAGE_LENGTH
        row[KIND] = SOLVE if stage.kind == "solve" else ASSIGN
        row[PASSES], row[PASS_TABLE] = len(stage.passes), self._passes(stage.passes)
        row[BACK], row[BACK_TABLE] = len(stage.back), self._passes(stage.back)
        row[ZEROED], row[ZEROED_LENGTH] = stage.zeroed
        row[SIZE] = stage.size
        blocks = [x for pair in zip(stage.unknowns, stage.sizes, strict=True) for x in pair]
        row[BLOCKS], row[BLOCK_TABLE] = len(stage.sizes), self._append(blocks)
        row[LINEAR], row[IS_CURVED] = int(stage.linear), int(stage.curved)
        row[IS_KINKED] = int(stage.kinked)
        row[BAD], row[MEASURE], row[MEMORY] = stage.bad, stage.measure, stage.memory
        if stage.pattern is not None:
            pattern = stage.pattern
            row[OUTER] = len(pattern.order)
            row[START], row[COLUMN] = self._append(pattern.start), self._append(pattern.column)
            row[DIAGONAL] = self._append(pattern.diagonal)
            row[MIRROR] = self._append(pattern.mirror)
            row[ROW] = self._reserve(row[OUTER])
            row[RIGHT], row[MATRIX], row[LOST] = stage.places
            if self.substeps > 1 and not stage.linear:
                row[SAVED] = self._reserve(self.substeps * guesses.room(stage.size))
        return row


@intrinsic
def _pointer(typing, address):
    """An int64 as ``void *``."""

    def codegen(_, builder, __, args):
        return builder.inttoptr(args[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), codegen


@intrinsic
def _call(typing, address, floats, table, runs, count):
    """``((void (*)(double *, const int64 *, int64, int64)) address)(floats, table, …)``."""
    signature = types.void(*[types.int64] * 5)

    def codegen(context, builder, __, args):
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(64)
        function = ir.FunctionType(ir.VoidType(), [pointer, pointer, number, number])
        target = builder.inttoptr(args[0], function.as_pointer())
        where = [builder.inttoptr(a, pointer) for a in args[1:3]]
        builder.call(target, [*where, *args[3:]])
        return context.get_dummy_value()

    return signature, codegen


@within
def evaluate(ints, floats, tables, base, first, count):
    """Call kernels in a row, with the copies before and after each (see `passes`)."""
    for k in range(count):
        at = first + PASS_LENGTH * k
        for i in range(ints[at + 5]):
            pair = np.uint64(ints[at + 4] + 2 * i)
            floats[np.uint64(ints[pair + ONE])] = floats[np.uint64(ints[pair])]
        _call(ints[at], base, tables + 8 * ints[at + 1], ints[at + 2], ints[at + 3])  # pyright: ignore[reportCallIssue]
        for i in range(ints[at + 7]):
            pair = np.uint64(ints[at + 6] + 2 * i)
            here = np.uint64(ints[pair])
            floats[np.uint64(ints[pair + ONE])] += floats[here]
            floats[here] = 0.0
        for i in range(ints[at + 9]):
            pair = np.uint64(ints[at + 8] + 2 * i)
            floats[np.uint64(ints[pair + ONE])] = floats[np.uint64(ints[pair])]


@within
def begin(ints, floats, tables, base, stage):
    """What the kernels of a stage add to, from zero."""
    at = ints[stage + ZEROED]
    floats[at : at + ints[stage + ZEROED_LENGTH]] = 0.0
    evaluate(ints, floats, tables, base, ints[stage + PASS_TABLE], ints[stage + PASSES])


@within
def remembered(ints, stage):
    """Numbers that a stage remembers of one sub-step."""
    return BOOKS + DEPTH * ints[stage + SIZE]


@within
def books_of(ints, state, stage, part):
    """The books of a stage's guesses in one of the sub-steps."""
    at = ints[stage + MEMORY] + part * remembered(ints, stage)
    return state[at : at + BOOKS]


@within
def guess(ints, floats, state, stage, part):
    """Unknowns of a stage, extrapolated from their last values."""
    at = ints[stage + MEMORY] + part * remembered(ints, stage) + BOOKS
    books = books_of(ints, state, stage, part)
    position = int(books[POSITION])
    order = int(books[ORDER]) if books[LEFT] > 0 else TRIAL
    forget(books)
    for k in range(ints[stage + BLOCKS]):
        pair = ints[stage + BLOCK_TABLE] + 2 * k
        block, n = ints[pair], ints[pair + 1]
        # The history is kept block by block, as the methods' guesses are given.
        extrapolate(floats[block : block + n], state, at, n, position, order)
        at += DEPTH * n


@within
def remember(ints, floats, state, stage, part):
    """Take what a step has found into a stage's memory of one of the sub-steps.

    Returns how many steps since the last trial turn out not to have converged to round-off, and
    what they may have left, in units of floors.
    """
    books = books_of(ints, state, stage, part)
    at = ints[stage + MEMORY] + part * remembered(ints, stage) + BOOKS
    position, first = int(books[POSITION]), ints[stage + BLOCK_TABLE]
    count, lost = 0.0, learn(books)
    if books[LEFT] <= 0:
        if lost > LOOSE * ROUNDED:
            count = books[SINGLE]
        books[SINGLE] = books[LARGEST] = 0.0
        block, n = ints[first], ints[first + 1]
        x = floats[block : block + n]
        books[ORDER] = best_order(x, state, at, n, position, vector(ints, floats, FLOOR))
        books[LEFT] = PERIOD
    else:
        books[LEFT] -= 1
    for k in range(ints[stage + BLOCKS]):
        block, n = ints[first + 2 * k], ints[first + 2 * k + 1]
        store(floats[block : block + n], state, at, n, position)
        at += DEPTH * n
    books[POSITION] = (position + DEPTH - 1) % DEPTH
    forget(books)
    return count, lost


@within
def forget(books):
    """The moves of a step are nothing that later ones know of, whether it was made or not."""
    books[FIRST_MOVE] = books[SECOND_MOVE] = -1.0


@within
def solve(ints, floats, tables, base, state, stage, part):
    """Newton on a stage; iterations, or −1 if it failed."""
    size = ints[stage + OUTER]
    start = ints[ints[stage + START] : ints[stage + START] + size + 1]
    slots = start[size]
    column = ints[ints[stage + COLUMN] : ints[stage + COLUMN] + slots]
    mirror = ints[ints[stage + MIRROR] : ints[stage + MIRROR] + slots]
    diagonal = ints[ints[stage + DIAGONAL] : ints[stage + DIAGONAL] + size]
    matrix = floats[ints[stage + MATRIX] : ints[stage + MATRIX] + slots]
    row = floats[ints[stage + ROW] : ints[stage + ROW] + size]
    right = floats[ints[stage + RIGHT] : ints[stage + RIGHT] + size]
    lost = floats[ints[stage + LOST] : ints[stage + LOST] + size]
    if not ints[stage + LINEAR]:  # which begins at zero, and knows it
        guess(ints, floats, state, stage, part)
    books = books_of(ints, state, stage, part)
    last = before = NEVER
    for iteration in range(LIMIT):
        begin(ints, floats, tables, base, stage)
        if floats[ints[stage + BAD]] != 0.0:
            return -1
        if not factorise_after(matrix, start, column, diagonal, mirror, row, lost):
            return -1
        substitute(matrix, start, column, diagonal, right)
        evaluate(ints, floats, tables, base, ints[stage + BACK_TABLE], ints[stage + BACK])
        if ints[stage + LINEAR]:
            return 0
        measure = floats[ints[stage + MEASURE]]
        bound = max(ROUNDOFF, min(BENT if ints[stage + IS_CURVED] else SMALL, FALLING * last))
        if iteration == 0:
            bound = 0.0 if ints[stage + IS_CURVED] else FIRST
        # In units of the floors, for the guesses of later steps.
        move = floats[ints[stage + MEASURE] + MOVED]
        if iteration == 0:
            books[FIRST_MOVE] = move
            smooth = not ints[stage + IS_CURVED] and not ints[stage + IS_KINKED]
            if smooth and measure < NOISE_LIMIT and sure(books):
                return 1
        elif iteration == 1:
            books[SECOND_MOVE] = move
        final = measure * measure * measure <= NEXT * last * last
        if measure <= bound and final:
            return iteration + 1
        if measure <= NOISE and measure >= STALL_RATIO * last:
            floats[ints[stage + MEASURE] + LEFT_OVER] = move
            return iteration + 1
        # Rounding the largest coordinate of what hangs together explains a move of this size.
        if iteration > 0 and measure < NOISE_LIMIT and move <= ROUNDED:
            return iteration + 1
        stalled = iteration >= PATIENCE and measure >= STALL_RATIO * last
        if stalled and max(move, before) <= SINGULAR:
            floats[ints[stage + MEASURE] + LEFT_OVER] = move
            return iteration + 1
        before = move
        if not measure < 1e290:
            return -1
        last = measure
    return -1


@within
def vector(ints, floats, which):
    """One of the vectors of the header."""
    return floats[ints[which] : ints[which] + ints[N]]


@within
def new_sum(x, carry, change, found):
    """X + change with the carry of earlier sums."""
    for i in range(x.shape[0]):
        found[i] = x[i] + (carry[i] + change[i])


@within
def take_sum(x, carry, change):
    """The same in place, with the new carry (Kahan)."""
    for i in range(x.shape[0]):
        before = x[i]
        y = carry[i] + change[i]
        after = before + y
        x[i] = after
        carry[i] = y - (after - before)


@within
def add_to(x, change):
    """X ← x + change."""
    for i in range(x.shape[0]):
        x[i] += change[i]


@within
def add_up(ints, floats):
    """Compensated sums of q (if no stage has it) and of the carried momentum; tangent momentum."""
    if not ints[SUMMED]:
        new_sum(
            vector(ints, floats, Q), vector(ints, floats, CQ), vector(ints, floats, DQ),
            vector(ints, floats, Q1),
        )  # fmt: skip
    end = vector(ints, floats, P_END)
    new_sum(vector(ints, floats, P), vector(ints, floats, CP), vector(ints, floats, DP), end)
    add_to(end, vector(ints, floats, TANGENT))


@within
def commit(ints, floats):
    """Make the new state the present one."""
    take_sum(vector(ints, floats, Q), vector(ints, floats, CQ), vector(ints, floats, DQ))
    take_sum(vector(ints, floats, P), vector(ints, floats, CP), vector(ints, floats, DP))
    copy(vector(ints, floats, DQ), vector(ints, floats, MOVE))
    copy(vector(ints, floats, V1), vector(ints, floats, V))
    copy(vector(ints, floats, P_END), vector(ints, floats, RESULT))
    at, length = ints[INHERITED], ints[INHERITED_LENGTH]
    copy(floats[at + length : at + 2 * length], floats[at : at + length])


@within
def one_step(ints, floats, tables, base, state, part):
    """All stages of a sub-step; Newton iterations, or −1 if one failed or energy is not finite.

    With them what the last iteration left that rounding does not explain, in units of floors.
    """
    total, left, whole = 0, 0.0, part == ints[SUBSTEPS] - 1
    for k in range(ints[STAGES]):
        stage = ints[FIRST_STAGE] + STAGE_LENGTH * k
        if ints[stage + KIND] == SOLVE:
            made = solve(ints, floats, tables, base, state, stage, part)
            if made < 0:
                return -1, left
            total += made
            if made:
                left = max(left, floats[ints[stage + MEASURE] + LEFT_OVER])
        elif ints[stage + KIND] == ASSIGN:
            begin(ints, floats, tables, base, stage)
        elif whole:
            add_up(ints, floats)
        else:  # what follows only watches the end of a step
            return total, left
    return (total if abs(floats[ints[ENERGY]]) < np.inf else -1), left


@within
def take_notes(ints, floats, notes, iterations, h):
    """What the certificate needs; the same as the fused back end's."""
    if ints[CONSTRAINED]:
        notes[MAX_G] = max(notes[MAX_G], floats[ints[G]])
        notes[MAX_HIDDEN] = max(notes[MAX_HIDDEN], floats[ints[HIDDEN]])
    error, waits = floats[ints[ENERGY]] - notes[ENERGY0], False
    if not ints[CONSERVATIVE]:
        power, following = floats[ints[POWER]], floats[ints[FOLLOWING]]
        smooth = floats[ints[JUMPS]] == 0.0
        off, waits, known = tell_work(notes, WORK_NOTES, power, following, smooth, h)
        error -= notes[WORK_DONE]
        notes[ERROR_SUM] += off
        if known:  # the balance before this step
            before = notes[ERROR] + off
            notes[ERROR_MIN] = min(notes[ERROR_MIN], before)
            notes[ERROR_MAX] = max(notes[ERROR_MAX], before)
        notes[ERROR] = error
    if not waits:
        notes[ERROR_MIN] = min(notes[ERROR_MIN], error)
        notes[ERROR_MAX] = max(notes[ERROR_MAX], error)
    notes[ERROR_SUM] += error
    notes[ITERATIONS] += iterations
    notes[CHART] = 1.0


@within
def count_loose(notes, count, left):
    """Steps that did not converge to round-off, and the most that is left, in units of floors."""
    if count > 0.0:
        notes[LOOSE_STEPS] += count
        notes[LEFT_MOST] = max(notes[LEFT_MOST], FLOORED * left)


@within
def vectors_exchanged(ints, floats, state, at, slot, count, out):
    """Copy vectors of the bank, which are sorted, from or (`out`) to a state, which is not."""
    n = np.uint64(ints[N])
    place = ints[ints[PLACE] : ints[PLACE] + ints[N]].view(np.uint64)
    for k in range(np.uint64(count)):
        here, there = np.uint64(at) + k * n, np.uint64(slot) + k * n
        for i in range(n):
            if out:
                state[there + i] = floats[here + place[i]]
            else:
                floats[here + place[i]] = state[there + i]


@within
def exchange(ints, floats, state, out):
    """Copy the state into the bank, or (`out`) back."""
    n = ints[N]
    places = (ints[Q], ints[RESULT], ints[V], ints[CQ], ints[P], ints[CP], ints[MOVE], ints[FLOOR])
    for k in range(HEAD - 1 if out else HEAD):  # the floors are what they were
        vectors_exchanged(ints, floats, state, places[k], k * n, 1, out)
    if n:
        count = ints[INHERITED_LENGTH] // n
        vectors_exchanged(ints, floats, state, ints[INHERITED], ints[INHERITED_SLOT], count, out)


@within
def save(ints, floats, state, back):
    """Write down what stages remember before a step of several sub-steps, or (`back`) undo it."""
    for k in range(ints[STAGES]):
        stage = ints[FIRST_STAGE] + STAGE_LENGTH * k
        if ints[stage + KIND] == SOLVE and not ints[stage + LINEAR]:
            length, at = ints[SUBSTEPS] * remembered(ints, stage), ints[stage + MEMORY]
            saved, here = ints[stage + SAVED], state[at : at + length]
            if back:
                copy(floats[saved : saved + length], here)
            else:
                copy(here, floats[saved : saved + length])


@within
def run(ints, floats, tables, base, state, par, notes, count, store, until, every):
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
            save(ints, floats, state, False)
        total, node, rest, late, lost = 0, 0.0, 0.0, 0.0, 0.0
        for part in range(parts):
            share = floats[ints[SHARES] + part]
            floats[at], floats[at + 2] = t0 + (k0 + made + node) * h, share * h
            node = node + share if part < parts - 1 else 1.0
            floats[at + 1] = t0 + (k0 + made + node) * h
            iterations, left = one_step(ints, floats, tables, base, state, part)
            if iterations < 0:
                break
            total += iterations
            rest = max(rest, left)
            most = max(most, iterations)
            if part == parts - 1:
                take_notes(ints, floats, notes, total, h)
            commit(ints, floats)
            for k in range(ints[STAGES]):
                stage = ints[FIRST_STAGE] + STAGE_LENGTH * k
                if ints[stage + KIND] == SOLVE and not ints[stage + LINEAR]:
                    unsure, far = remember(ints, floats, state, stage, part)
                    late, lost = late + unsure, max(lost, far)
        if iterations < 0:
            notes[OK] = 0.0
            if parts > 1:  # the state before this step has been written down
                save(ints, floats, state, True)
                return made
            for k in range(ints[STAGES]):
                stage = ints[FIRST_STAGE] + STAGE_LENGTH * k
                if ints[stage + KIND] == SOLVE and not ints[stage + LINEAR]:
                    forget(books_of(ints, state, stage, 0))
            break
        notes[MOST] = most
        count_loose(notes, 1.0 if rest > LOOSE * ROUNDED else 0.0, rest)
        count_loose(notes, late, lost)
        made += 1
        until -= 1
        if until == 0:
            until, n = every, ints[N]
            for part in (ints[Q], ints[RESULT], ints[V]):
                vectors_exchanged(ints, floats, store, part, row, 1, True)
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


@callback(_SIGNATURE)
def _steps(context, state, par, notes, count, store, until, every):
    where = carray(context, (4,))
    ints = carray(_pointer(where[0]), (where[1],), np.int64)  # pyright: ignore
    floats = carray(_pointer(where[2]), (where[3],), np.float64)  # pyright: ignore
    n = ints[N]
    slots = HEAD * n + ints[INHERITED_LENGTH]
    for k in range(ints[STAGES]):
        stage = ints[FIRST_STAGE] + STAGE_LENGTH * k
        if ints[stage + KIND] == SOLVE and not ints[stage + LINEAR]:
            slots += ints[SUBSTEPS] * remembered(ints, stage)
    numbers = carray(state, (slots,))
    parameters = carray(par, (4 + ints[PARS],))
    noted = carray(notes, (len(NOTES),))
    rows = 0 if count < until else 1 + (count - until) // every
    stored = carray(store, (3 * n * rows,))
    return run(
        ints, floats, where[0], where[2], numbers, parameters, noted, count, stored, until, every
    )
