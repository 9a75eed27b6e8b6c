"""A map over the nodes or edges of a field as one LLVM function, nodes in SIMD lanes.

    i64 sweep(double *rows, i64 stride, const double *par, i64 first, i64 last, double *sums)

`rows` is a structure of arrays: number r of node (or edge) j lies at ``rows[r·stride + j]``.  The
function goes over j = first … last − 1 in blocks of as many as there are lanes; each block reads
what it needs (of its own places and of neighbours), iterates where an equation is to be solved,
writes, and adds to the sums.  The last block is masked, so any range will do; rows are padded by
`MARGIN` places at both ends, which may be read and never count.  `par` holds numbers that are the
same everywhere.  A sum is made in eight parts, of every eighth place, which are added in the end:
so its bits do not depend on the number of lanes.  It returns −1, or the first place at which the
iteration did not converge; the places of earlier blocks are then already written.

An equation x = f(x) that is close to x = const (a bracket times a time step) is solved by repeating
it: the error falls by a factor q each time, which is small where a step is short against the
rotation.  Changes are measured by weighted squares, which make angular and linear entries alike.
It stops when the next change, δ²/δ_before, would be below round-off, or when changes are as small
as rounding and fall no more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import casadi as ca
from casadi import SX

from taut.kernel.emit import Emitter, Graph, lean

MARGIN = 8  # spare places before the first and after the last one
SUMS = 8  # parts of a sum: as many as the widest block has lanes
LIMIT = 60  # repetitions
LONG = 2000  # instructions: a body of more is written once, and always masked
NEXT, SAME = 1e-16, 4e-16  # a change to come, or a change, that does not count
NOISE, FALLS = 1e-12, 0.75  # changes below this that fall by less are rounding: no rate that
#                              LIMIT allows is as slow
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
    weights : SX
        Of the squares of the entries, in the measure of a change.
    """

    unknown: SX
    start: SX
    next: SX
    weights: SX


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


def sweep_code(sweep: Sweep, lanes: int, stride: int | None = None) -> str:
    """LLVM IR text of a sweep.

    Given a `stride` it holds for that one only: all rows are then at fixed distances, and one
    register finds them all.
    """
    return _Writer(sweep, lanes, stride).text("sweep")


def _begun(repeat: Repeat, symbols: list[SX]) -> ca.Function:
    """Two repetitions without a question, the change in the second, and limits of changes."""
    first = ca.substitute(repeat.next, repeat.unknown, repeat.start)
    second = ca.substitute(repeat.next, repeat.unknown, first)
    change = second - first
    moved = ca.dot(repeat.weights, change * change)
    size = ca.dot(repeat.weights, second * second)
    limits = [size * x**2 for x in (NEXT, SAME, NOISE)]
    return lean(ca.Function("start", symbols, [second, moved, *limits]))


class _Writer:
    def __init__(self, sweep: Sweep, lanes: int, stride: int | None) -> None:
        self.sweep, self.lanes, self.e = sweep, lanes, Emitter(lanes)
        self.stride = stride
        symbols = [*(x for x, _, _ in sweep.reads), sweep.par]
        results = [*(ca.densify(x) for x, _ in sweep.writes), *map(ca.densify, sweep.sums)]
        self.late: set[int] = set()
        self.first = [sweep.repeat is None for _ in sweep.reads]
        outputs = results
        if (repeat := sweep.repeat) is not None:
            self.late = {len(symbols)}
            self.before = len(symbols)
            symbols = [*symbols, repeat.unknown]
            change = repeat.next - repeat.unknown
            moved = ca.dot(repeat.weights, change * change)
            again = lean(ca.Function("again", symbols, [repeat.next, moved]))
            self.again, self.start = again, _begun(repeat, symbols[:-1])
            needed = ca.vertcat(repeat.start, repeat.next, repeat.weights)
            self.first = [bool(ca.depends_on(needed, x)) for x, _, _ in sweep.reads]
        self.rest = lean(ca.Function("rest", symbols, outputs))

    def text(self, name: str) -> str:
        e, n = self.e, self.lanes
        given = [e.broadcast("%par", i) for i in range(self.sweep.par.numel())]
        for i in range(len(self.sweep.sums)):
            e.do(f"%sum{i} = alloca [{SUMS} x double], align 64")
            e.do(f"store [{SUMS} x double] zeroinitializer, ptr %sum{i}, align 64")
        rows = {row + k for _, row, size in self._places() for k in range(size)}
        self.base = {}
        for row in sorted(rows) if self.stride is None else ():
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
        if self.stride is not None:
            here = e.put(f"getelementptr double, ptr %rows, i64 {j}")
            return e.put(f"getelementptr double, ptr {here}, i64 {row * self.stride + offset}")
        at = e.put(f"add i64 {j}, {offset}") if offset else j
        return e.put(f"getelementptr double, ptr {self.base[row]}, i64 {at}")

    def _body(self, label: str, j: str, given: list[str], mask: str | None) -> str:
        """One block of places; the label of the block that ends it."""
        e, sweep = self.e, self.sweep
        values = self._loaded(j, given, early=True)
        inputs = values
        if sweep.repeat is not None:
            solution, ok = self._repeated(label, values, mask)
            good, bad = f"{label}_good", f"{label}_bad"
            e.do(f"br i1 {e.likely(e.all(ok))}, label %{good}, label %{bad}")
            e.label(bad)
            self._give_up(j, ok)
            e.label(good)
            label = good
        later = self._loaded(j, given, early=False)
        inputs = [now or after for now, after in zip(values, later, strict=True)]
        if sweep.repeat is not None:
            inputs.append(solution)
        places = [row for _, row in sweep.writes]

        def told(i: int, k: int, value: str) -> None:  # written at once, registers are few
            if i < len(places):
                self._write(self._pointer(places[i] + k, j), value, mask)
                return
            i -= len(places)
            if mask is not None:
                value = e.select(mask, value, e.constant(0.0))
            at = self._sum(i, j)
            so_far = e.put(f"load {e.type}, ptr {at}, align {8 * self.lanes}")
            e.do(f"store {e.type} {e.plus(so_far, value)}, ptr {at}, align {8 * self.lanes}")

        e.inline(self.rest, inputs, told)
        return label

    def _sum(self, i: int, j: str) -> str:
        """Where a block adds to a sum."""
        e = self.e
        if self.lanes == SUMS:
            return f"%sum{i}"
        part = e.put(f"and i64 {e.put(f'sub i64 {j}, %first')}, {SUMS - 1}")
        return e.put(f"getelementptr double, ptr %sum{i}, i64 {part}")

    def _loaded(self, j: str, given: list[str], *, early: bool) -> list[list[str]]:
        """What is needed before the repetition, or only after it; the other lists are empty."""
        e, found = self.e, []
        for (x, row, offset), first in zip(self.sweep.reads, self.first, strict=True):
            values = []
            if first == early:
                for k in range(x.numel()):
                    at = self._pointer(row + k, j, offset)
                    values.append(e.put(f"load {e.type}, ptr {at}, align 8"))
            found.append(values)
        return [*found, given if early else []]

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
        first, (before,), (next_one,), (same,), (noise,) = e.inline(self.start, values)
        graph = Graph(self.again)
        early = graph.emit_early(e, [*values, []], self.late)
        loop, after = f"{label}_again", f"{label}_solved"
        idle = e.splat("false") if mask is None else e.put(
            f"xor {e.mask} {mask}, {e.splat('true')}"
        )  # fmt: skip
        x, x_next = ([e.name() for _ in first] for _ in range(2))
        done, done_next, count, count_next, last = (e.name() for _ in range(5))
        hole = self._hole(loop)
        new, (moved,) = graph.emit_late(e, [*values, x], early)
        for a, b, c in zip(x, x_next, new, strict=True):
            e.do(f"{b} = select {e.mask} {done}, {e.type} {a}, {e.type} {c}")
        enough = self._enough(moved, last, next_one, same, noise)
        e.do(f"{done_next} = or {e.mask} {done}, {enough}")
        e.do(f"{count_next} = add i64 {count}, 1")
        busy = e.put(f"xor i1 {e.all(done_next)}, true")
        within = e.put(f"icmp ult i64 {count_next}, {LIMIT}")
        e.do(f"br i1 {e.put(f'and i1 {busy}, {within}')}, label %{loop}, label %{after}")
        phis = [(a, e.type, g, b) for a, b, g in zip(x, x_next, first, strict=True)]
        phis.append((done, e.mask, idle, done_next))
        phis.append((last, e.type, before, moved))
        phis.append((count, "i64", "0", count_next))
        e.lines[hole] = "\n".join(
            f"  {name} = phi {kind} [ {one}, %{label} ], [ {other}, %{loop} ]"
            for name, kind, one, other in phis
        )
        e.label(after)
        return x_next, done_next

    def _hole(self, loop: str) -> int:
        """Enter a loop; where its φ-nodes go."""
        self.e.do(f"br label %{loop}")
        self.e.label(loop)
        self.e.lines.append("")
        return len(self.e.lines) - 1

    def _enough(self, moved: str, last: str, next_one: str, same: str, noise: str) -> str:
        """Whether a change is the last that counts; all are squares."""
        e = self.e

        def times(a: str, b: str) -> str:
            return e.put(f"fmul {e.type} {a}, {b}")

        soon = e.compare("ole", times(moved, moved), times(next_one, last))
        tiny = e.compare("ole", moved, same)
        small = e.compare("ole", moved, noise)
        stuck = e.compare("oge", moved, times(last, e.constant(FALLS**2)))
        rounding = e.put(f"and {e.mask} {small}, {stuck}")
        enough = e.put(f"or {e.mask} {e.put(f'or {e.mask} {soon}, {tiny}')}, {rounding}")
        return e.put(f"and {e.mask} {enough}, {e.compare('olt', noise, e.constant(math.inf))}")

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
        """Add the parts of a sum to the sum in memory, in order."""
        e = self.e
        to = e.put(f"getelementptr double, ptr %sums, i64 {i}")
        total = e.put(f"load double, ptr {to}, align 8")
        for k in range(SUMS):
            at = e.put(f"getelementptr double, ptr %sum{i}, i64 {k}")
            part = e.put(f"load double, ptr {at}, align 8")
            total = e.put(f"fadd double {total}, {part}")
        e.do(f"store double {total}, ptr {to}, align 8")
