"""A map over the nodes or edges of a field as one LLVM function, nodes in SIMD lanes.

    i64 sweep(double *rows, i64 stride, const double *par, i64 first, i64 last, double *sums)

`rows` is a structure of arrays: number r of node (or edge) j lies at ``rows[r·stride + j]``.  The
function goes over j = first … last − 1 in blocks of as many as there are lanes; each block reads
what it needs (of its own places and of neighbours), iterates where an equation is to be solved,
writes, and adds to the sums.  The last block is masked, so any range will do; rows are padded by
`MARGIN` places at both ends, which may be read and never count.  `par` holds numbers that are the
same everywhere.  It returns −1, or the first place at which the iteration did not converge; the
places of earlier blocks are then already written.

An equation x = f(x) that is close to x = const (a bracket times a time step) is solved by repeating
it: the error falls by a factor q each time, which is small where a step is short against the
rotation.  It stops when the next change, δ²/δ_before, would be below round-off for every group of
unknowns of one kind (angular, linear).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
from casadi import SX

from taut.kernel.emit import Emitter, Graph, lean

MARGIN = 8  # spare places before the first and after the last one
LIMIT = 60  # repetitions
LONG = 2000  # instructions: a body of more is written once, and always masked
NEXT, SAME = 1e-16, 4e-16  # a change to come, or a change, that does not count
SIGNATURE = (
    "ptr noalias %rows, i64 %stride, ptr noalias readonly %par, i64 %first, i64 %last, "
    "ptr noalias %sums"
)


@dataclass(frozen=True)
class Repeat:
    """x = f(x), to be solved by repetition from `start`.

    Attributes
    ----------
    unknown, start, next : SX
        x, the guess, f(x).
    groups : list of list of int
        Entries of x that have one scale.
    """

    unknown: SX
    start: SX
    next: SX
    groups: list[list[int]]


@dataclass(frozen=True)
class Sweep:
    """What happens at every place.

    Attributes
    ----------
    reads : list of (SX, row, offset)
        Symbols, the first of the rows they are read from, and the neighbour (−1, 0 or 1).
    par : SX
        Symbols of what is the same everywhere.
    writes : list of (SX, row)
    sums : list of SX
        Added up over all places.
    repeat : Repeat, optional
    """

    reads: list[tuple[SX, int, int]]
    par: SX
    writes: list[tuple[SX, int]]
    sums: list[SX] = field(default_factory=list)
    repeat: Repeat | None = None


def sweep_code(sweep: Sweep, lanes: int, name: str = "sweep") -> str:
    """LLVM IR text of a sweep."""
    return _Writer(sweep, lanes).text(name)


class _Writer:
    def __init__(self, sweep: Sweep, lanes: int) -> None:
        self.sweep, self.lanes, self.e = sweep, lanes, Emitter(lanes)
        symbols = [*(x for x, _, _ in sweep.reads), sweep.par]
        results = [*(ca.densify(x) for x, _ in sweep.writes), *map(ca.densify, sweep.sums)]
        self.late: set[int] = set()
        outputs = results
        if (repeat := sweep.repeat) is not None:
            self.late = {len(symbols)}
            self.before = len(symbols)
            symbols = [*symbols, repeat.unknown]
            again = lean(ca.Function("again", symbols, [repeat.next]))
            start = lean(ca.Function("start", symbols[:-1], [repeat.start]))
            self.again, self.start = again, start
        self.rest = lean(ca.Function("rest", symbols, outputs))

    def text(self, name: str) -> str:
        e, n = self.e, self.lanes
        given = [e.broadcast("%par", i) for i in range(self.sweep.par.numel())]
        for i in range(len(self.sweep.sums)):
            e.do(f"%sum{i} = alloca {e.type}, align 64")
            e.do(f"store {e.type} {e.constant(0.0)}, ptr %sum{i}, align 64")
        rows = {row + k for _, row, _ in self._places() for k in range(_)}
        self.base = {}
        for row in sorted(rows):
            at = e.put(f"mul i64 %stride, {row}")
            self.base[row] = e.put(f"getelementptr double, ptr %rows, i64 {at}")
        e.do("br label %test")
        e.label("test")
        j = e.name()
        if self.rest.n_instructions() > LONG and n > 1:
            self._one_body(j, given)
            return self._whole(name)
        hole = len(e.lines)
        e.lines.append("")
        end = e.put(f"add i64 {j}, {n}")
        whole = e.put(f"icmp sle i64 {end}, %last")
        e.do(f"br i1 {whole}, label %block, label %rest")
        e.label("block")
        ways = self._body("block", j, given, None)
        e.do("br label %test")
        e.lines[hole] = f"  {j} = phi i64 [ %first, %entry ], [ {end}, %{ways} ]"
        e.label("rest")
        some = e.put(f"icmp slt i64 {j}, %last")
        e.do(f"br i1 {some}, label %part, label %done")
        e.label("part")
        if n > 1:
            self._body("part", j, given, self._mask(j))
        e.do("br label %done")
        return self._whole(name)

    def _one_body(self, j: str, given: list[str]) -> None:
        """The loop over blocks, all of them masked: half as much code."""
        e = self.e
        hole = len(e.lines)
        e.lines.append("")
        e.do(f"br i1 {e.put(f'icmp slt i64 {j}, %last')}, label %part, label %done")
        e.label("part")
        ways = self._body("part", j, given, self._mask(j))
        end = e.put(f"add i64 {j}, {self.lanes}")
        e.do("br label %test")
        e.lines[hole] = f"  {j} = phi i64 [ %first, %entry ], [ {end}, %{ways} ]"

    def _whole(self, name: str) -> str:
        e = self.e
        e.label("done")
        for i in range(len(self.sweep.sums)):
            self._file(i)
        e.do("ret i64 -1")
        head = sorted(e.declared)
        return "\n".join([*head, f"define i64 @{name}({SIGNATURE}) {{", "entry:", *e.lines, "}"])

    def _places(self):
        for x, row, offset in self.sweep.reads:
            yield offset, row, x.numel()
        for x, row in self.sweep.writes:
            yield 0, row, x.numel()

    def _mask(self, j: str) -> str:
        """Lanes that lie before the end."""
        e, n = self.e, self.lanes
        kind = f"<{n} x i64>"
        left = e.put(f"sub i64 %last, {j}")
        first = e.put(f"insertelement {kind} poison, i64 {left}, i32 0")
        zeros = f"<{n} x i32> zeroinitializer"
        left = e.put(f"shufflevector {kind} {first}, {kind} poison, {zeros}")
        numbers = "<" + ", ".join(f"i64 {i}" for i in range(n)) + ">"
        return e.put(f"icmp slt {kind} {numbers}, {left}")

    def _pointer(self, row: int, j: str, offset: int = 0) -> str:
        e = self.e
        at = e.put(f"add i64 {j}, {offset}") if offset else j
        return e.put(f"getelementptr double, ptr {self.base[row]}, i64 {at}")

    def _body(self, label: str, j: str, given: list[str], mask: str | None) -> str:
        """One block of places; the label of the block that ends it."""
        e, sweep = self.e, self.sweep
        values: list[list[str]] = []
        for x, row, offset in sweep.reads:
            found = []
            for k in range(x.numel()):
                at = self._pointer(row + k, j, offset)
                found.append(e.put(f"load {e.type}, ptr {at}, align 8"))
            values.append(found)
        values.append(given)
        if sweep.repeat is None:
            outputs = e.inline(self.rest, values)
        else:
            solution, ok = self._repeated(label, values, mask)
            good, bad = f"{label}_good", f"{label}_bad"
            e.do(f"br i1 {e.likely(e.all(ok))}, label %{good}, label %{bad}")
            e.label(bad)
            self._give_up(j, ok)
            e.label(good)
            outputs = e.inline(self.rest, [*values, solution])
            label = good
        for (_, row), found in zip(sweep.writes, outputs, strict=False):
            for k, value in enumerate(found):
                self._write(self._pointer(row + k, j), value, mask)
        for i, (value,) in enumerate(outputs[len(sweep.writes) :]):
            if mask is not None:
                value = e.select(mask, value, e.constant(0.0))
            so_far = e.put(f"load {e.type}, ptr %sum{i}, align 64")
            e.do(f"store {e.type} {e.plus(so_far, value)}, ptr %sum{i}, align 64")
        return label

    def _write(self, at: str, value: str, mask: str | None) -> None:
        e = self.e
        if mask is None:
            e.do(f"store {e.type} {value}, ptr {at}, align 8")
            return
        old = e.put(f"load {e.type}, ptr {at}, align 8")
        e.do(f"store {e.type} {e.select(mask, value, old)}, ptr {at}, align 8")

    def _repeated(self, label: str, values: list[list[str]], mask: str | None):
        """The loop that solves x = f(x): the solution, and which lanes have converged."""
        e, repeat = self.e, self.sweep.repeat
        assert repeat is not None
        (first,) = e.inline(self.start, values)
        graph = Graph(self.again)
        early = graph.emit_early(e, [*values, []], self.late)
        loop, after = f"{label}_again", f"{label}_solved"
        idle = e.splat("false") if mask is None else e.put(
            f"xor {e.mask} {mask}, {e.splat('true')}"
        )  # fmt: skip
        x, x_next = ([e.name() for _ in first] for _ in range(2))
        done, done_next, count, count_next, last, moved_all = (e.name() for _ in range(6))
        e.do(f"br label %{loop}")
        e.label(loop)
        for a, b, g in zip(x, x_next, first, strict=True):
            e.do(f"{a} = phi {e.type} [ {g}, %{label} ], [ {b}, %{loop} ]")
        e.do(f"{done} = phi {e.mask} [ {idle}, %{label} ], [ {done_next}, %{loop} ]")
        never = e.constant(0.0)  # one change does not tell how quickly they fall
        e.do(f"{last} = phi {e.type} [ {never}, %{label} ], [ {moved_all}, %{loop} ]")
        e.do(f"{count} = phi i64 [ 0, %{label} ], [ {count_next}, %{loop} ]")
        (new,) = graph.emit_late(e, [*values, x], early)
        change = [e.put(f"fsub {e.type} {b}, {a}") for a, b in zip(x, new, strict=True)]
        for a, b, c in zip(x, x_next, new, strict=True):
            e.do(f"{b} = select {e.mask} {done}, {e.type} {a}, {e.type} {c}")
        moves = [self._square([change[i] for i in group]) for group in repeat.groups]
        sizes = [self._square([new[i] for i in group]) for group in repeat.groups]
        total = moves[0]
        for move in moves[1:]:
            total = e.largest(total, move)
        e.do(f"{moved_all} = fadd {e.type} {total}, {e.constant(1e-300)}")
        enough = None
        for move, size in zip(moves, sizes, strict=True):
            tiny = e.put(f"fmul {e.type} {size}, {e.constant(NEXT**2)}")
            falls = e.put(f"fmul {e.type} {move}, {moved_all}")
            near = e.compare("ole", falls, e.put(f"fmul {e.type} {tiny}, {last}"))
            same = e.compare("ole", move, e.put(f"fmul {e.type} {size}, {e.constant(SAME**2)}"))
            fine = e.put(f"or {e.mask} {near}, {same}")
            enough = fine if enough is None else e.put(f"and {e.mask} {enough}, {fine}")
        e.do(f"{done_next} = or {e.mask} {done}, {enough}")
        e.do(f"{count_next} = add i64 {count}, 1")
        busy = e.put(f"xor i1 {e.all(done_next)}, true")
        within = e.put(f"icmp ult i64 {count_next}, {LIMIT}")
        e.do(f"br i1 {e.put(f'and i1 {busy}, {within}')}, label %{loop}, label %{after}")
        e.label(after)
        return x_next, done_next

    def _square(self, values: list[str]) -> str:
        e = self.e
        found = e.put(f"fmul {e.type} {values[0]}, {values[0]}")
        for value in values[1:]:
            found = e.intrinsic("fma", value, value, found)
        return found

    def _give_up(self, j: str, ok: str) -> None:
        """Return the first place that did not converge."""
        e, n = self.e, self.lanes
        if n == 1:
            e.do(f"ret i64 {j}")
            return
        bits = e.put(f"bitcast {e.mask} {ok} to i{n}")
        bits = e.put(f"xor i{n} {bits}, -1")
        e.declared.add(f"declare i{n} @llvm.cttz.i{n}(i{n}, i1)")
        which = e.put(f"call i{n} @llvm.cttz.i{n}(i{n} {bits}, i1 true)")
        which = e.put(f"zext i{n} {which} to i64")
        e.do(f"ret i64 {e.put(f'add i64 {j}, {which}')}")

    def _file(self, i: int) -> None:
        """Add the lanes of a sum to the sum in memory, in order."""
        e = self.e
        whole = e.put(f"load {e.type}, ptr %sum{i}, align 64")
        at = e.put(f"getelementptr double, ptr %sums, i64 {i}")
        total = e.put(f"load double, ptr {at}, align 8")
        for lane in range(self.lanes):
            part = (
                whole
                if self.lanes == 1
                else e.put(f"extractelement {e.type} {whole}, i32 {lane}")
            )
            total = e.put(f"fadd double {total}, {part}")
        e.do(f"store double {total}, ptr {at}, align 8")
