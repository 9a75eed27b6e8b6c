"""A map over many instances as one LLVM function with the loop inside, in SIMD lanes.

``void part(double *floats, const int64 *table, int64 runs, int64 count)`` goes over `count`
instances, W of them (a *block*) at a time.  Where its inputs lie and where its outputs go stands in
the table.  Each input is read in one of four ways, each output written in one of nine:

    b  from one address for all instances          u, U  added to (stored at) W addresses in a row
    u  from W addresses in a row, per block        s, S  added to (stored at) W addresses, singly
    g  from W addresses, per block                 f     added to the same W addresses in a row
    f  from the same W addresses in a row          m, n  its largest size is left at one address
                                                   +     its sum is added to one address

(m ignores NaN, n reports it.)  The table begins with the addresses of b, f, m, n and + and goes on
with a row for each *run* of blocks: their number, and the addresses of the first, inputs first.
From one block of a run to the next all of them grow by W (on the way back: shrink), so that a pass
over neighbours reads its table once.  Lanes that write to one address write one after the other.

An input is read where it is first needed and an output written as soon as it is known, so that few
registers are held; where a block may write what it reads, all is read first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import casadi as ca

from taut.kernel.emit import Emitter, Values
from taut.kernel.step_code import module

REDUCED = "mn+"
FIXED = REDUCED + "f"  # outputs whose addresses are the same for all blocks


@lru_cache(maxsize=32)
def loop_code(
    function: ca.Function, inputs: str, outputs: str, lanes: int, step: int, apart: bool = False
) -> str:
    """LLVM IR of `function` (one dense input, one dense output) over all instances, remembered.

    Parameters
    ----------
    step : int
        What addresses grow by from block to block: `lanes`, or −`lanes` on the way back.
    apart : bool
        Nothing that a block writes is read by it.
    """
    assert step > 0 or "+" not in outputs, "the last block, which may not be full, comes first"
    return _Writer(function, inputs, outputs, lanes, step, apart).text()


class _Inputs:
    """Inputs that are read when they are asked for."""

    def __init__(self, read: Callable[[int], str]) -> None:
        self.read = read

    def __getitem__(self, number: int) -> str:
        return self.read(number)


class _Writer:
    """Writes the loop of one function."""

    def __init__(
        self, function: ca.Function, inputs: str, outputs: str, lanes: int, step: int, apart: bool
    ) -> None:
        self.function, self.inputs, self.outputs, self.apart = function, inputs, outputs, apart
        self.lanes, self.step, self.e = lanes, step, Emitter(lanes)
        wide = {"u": 1, "U": 1, "g": lanes, "s": lanes, "S": lanes}
        self.places, at = [], 1  # of each input and output in a row of the table
        for how in inputs + outputs:
            self.places.append(at)
            at += wide.get(how, 0)
        self.width = at
        self.fixed: list[str] = []  # values or addresses that are the same for all blocks

    def text(self) -> str:
        e = self.e
        self.at = 0
        self.fixed = [self._before(how) for how in self.inputs]
        self.fixed += [self._address("%table", self._next(), "%floats") if x in FIXED else ""
                       for x in self.outputs]  # fmt: skip
        homes = [x for x, how in zip(self._homes, self.outputs, strict=True) if how in REDUCED]
        first = e.put(f"getelementptr i64, ptr %table, i64 {self.at}")
        begun, sums, grown = ([e.name() for _ in homes] for _ in range(3))
        zero = e.constant(0.0)
        e.do("%empty = icmp eq i64 %runs, 0\n  br i1 %empty, label %done, label %run")
        e.label("run")
        e.do("%number = phi i64 [ 0, %entry ], [ %numbered, %ran ]")
        e.do("%past = phi i64 [ 0, %entry ], [ %passed, %ran ]")
        e.do(f"%row = phi ptr [ {first}, %entry ], [ %next, %ran ]")
        for a, b in zip(begun, grown, strict=True):
            e.do(f"{a} = phi {e.type} [ {zero}, %entry ], [ {b}, %ran ]")
        e.do("%length = load i64, ptr %row, align 8\n  br label %loop")
        e.label("loop")
        e.do("%k = phi i64 [ 0, %run ], [ %more, %loop ]")
        e.do("%at = phi ptr [ %floats, %run ], [ %there, %loop ]")
        for a, x, b in zip(sums, begun, grown, strict=True):
            e.do(f"{a} = phi {e.type} [ {x}, %run ], [ {b}, %loop ]")
        # Hidden from LLVM's search for addresses that grow alike: there are none, and it is long.
        e.do('%here = call ptr asm "", "=r,0"(ptr %at)')
        self._body(sums, grown)
        e.do(f"%there = getelementptr double, ptr %at, i64 {self.step}")
        e.do("%more = add i64 %k, 1")
        e.do("%go = icmp ult i64 %more, %length\n  br i1 %go, label %loop, label %ran")
        e.label("ran")
        e.do(f"%next = getelementptr i64, ptr %row, i64 {self.width}")
        e.do("%passed = add i64 %past, %length")
        e.do("%numbered = add i64 %number, 1")
        e.do("%again = icmp ult i64 %numbered, %runs\n  br i1 %again, label %run, label %done")
        e.label("done")
        self._reduce(homes, grown)
        e.do("ret void")
        given = "ptr %floats, ptr noalias readonly %table, i64 %runs, i64 %count"
        return module("part", "void", given, e)

    @property
    def _homes(self) -> list[str]:
        return self.fixed[len(self.inputs) :]

    # ---- addresses ---------------------------------------------------------------------------

    def _next(self) -> int:
        self.at += 1
        return self.at - 1

    def _address(self, table: str, number: int, base: str) -> str:
        """The pointer that an entry of the table stands for."""
        e = self.e
        at = e.put(f"getelementptr i64, ptr {table}, i64 {number}")
        index = e.put(f"load i64, ptr {at}, align 8")
        return e.put(f"getelementptr double, ptr {base}, i64 {index}")

    def _before(self, how: str) -> str:
        """What of an input is known before the loop: its value, or its address."""
        if how not in "bf":
            return ""
        address = self._address("%table", self._next(), "%floats")
        return self.e.broadcast(address, 0) if how == "b" else address

    def _read(self, number: int) -> str:
        e, how, at = self.e, self.inputs[number], self.places[number]
        if how == "b":
            return self.fixed[number]
        if how == "f":
            return e.put(f"load {e.type}, ptr {self.fixed[number]}, align 8")
        if how == "u" or self.lanes == 1:
            return e.put(f"load {e.type}, ptr {self._address('%row', at, '%here')}, align 8")
        value = "poison"
        for lane in range(self.lanes):
            one = e.put(f"load double, ptr {self._address('%row', at + lane, '%here')}, align 8")
            value = e.put(f"insertelement {e.type} {value}, double {one}, i32 {lane}")
        return value

    def _body(self, sums: list[str], grown: list[str]) -> None:
        """One block."""
        before = [i for i, how in enumerate(self.outputs) if how in REDUCED]
        number = {i: k for k, i in enumerate(before)}
        values: Values = _Inputs(self._read)
        if not self.apart:
            values = [self._read(i) for i in range(len(self.inputs))]

        def told(_: int, i: int, value: str) -> None:
            how = self.outputs[i]
            if how in REDUCED:
                k = number[i]
                self.e.do(f"{grown[k]} = {self._grown(how, sums[k], value)}")
            else:
                self._write(i, how, value)

        self.e.inline(self.function, [values], told)

    def _write(self, number: int, how: str, value: str) -> None:
        e, at = self.e, self.places[len(self.inputs) + number]
        if how in "sS":
            for lane in range(self.lanes):
                self._write_lane(how, value, lane, at + lane)
            return
        where = self._homes[number] if how == "f" else self._address("%row", at, "%here")
        if how != "U":
            value = e.plus(e.put(f"load {e.type}, ptr {where}, align 8"), value)
        e.do(f"store {e.type} {value}, ptr {where}, align 8")

    def _write_lane(self, how: str, value: str, lane: int, at: int) -> None:
        e = self.e
        where = self._address("%row", at, "%here")
        one = self._lane(value, lane)
        if how == "s":
            before = e.put(f"load double, ptr {where}, align 8")
            one = e.put(f"fadd double {before}, {one}")
        e.do(f"store double {one}, ptr {where}, align 8")

    def _lane(self, value: str, lane: int) -> str:
        if self.lanes == 1:
            return value
        return self.e.put(f"extractelement {self.e.type} {value}, i32 {lane}")

    # ---- largest values and sums -------------------------------------------------------------

    def _grown(self, how: str, total: str, value: str) -> str:
        """The instruction that takes `value` into account."""
        e = self.e
        if how == "+" and self.lanes == 1:
            return f"fadd double {total}, {value}"
        if how == "+":
            return f"fadd {e.type} {total}, {e.select(self._real(), value, e.constant(0.0))}"
        size = e.intrinsic("fabs", value)
        larger = e.compare("ogt" if how == "m" else "ugt", size, total)
        if how == "n":  # a NaN stays
            larger = e.put(f"and {e.mask} {larger}, {e.compare('ord', total, total)}")
        return f"select {e.mask} {larger}, {e.type} {size}, {e.type} {total}"

    def _real(self) -> str:
        """Lanes that hold an instance: the last block may not be full."""
        e, wide = self.e, f"<{self.lanes} x i64>"
        block = e.put("add i64 %past, %k")
        begin = e.put(f"mul i64 {block}, {self.lanes}")
        left = e.put(f"sub i64 %count, {begin}")
        first = e.put(f"insertelement {wide} poison, i64 {left}, i32 0")
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        spread = e.put(f"shufflevector {wide} {first}, {wide} poison, {zeros}")
        numbers = "<" + ", ".join(f"i64 {i}" for i in range(self.lanes)) + ">"
        return e.put(f"icmp sgt {wide} {spread}, {numbers}")

    def _reduce(self, homes: list[str], grown: list[str]) -> None:
        e = self.e
        hows = [x for x in self.outputs if x in REDUCED]
        ends = []
        for value in grown:
            end = e.name()
            e.do(f"{end} = phi {e.type} [ {e.constant(0.0)}, %entry ], [ {value}, %ran ]")
            ends.append(end)
        for how, home, end in zip(hows, homes, ends, strict=True):
            total = e.put(f"load double, ptr {home}, align 8")
            for lane in range(self.lanes):
                one = self._lane(end, lane)
                if how == "+":
                    total = e.put(f"fadd double {total}, {one}")
                    continue
                larger = e.put(f"fcmp {'ogt' if how == 'm' else 'ugt'} double {one}, {total}")
                if how == "n":
                    known = e.put(f"fcmp ord double {total}, {total}")
                    larger = e.put(f"and i1 {larger}, {known}")
                total = e.put(f"select i1 {larger}, double {one}, double {total}")
            e.do(f"store double {total}, ptr {home}, align 8")
