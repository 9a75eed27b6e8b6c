"""A map over many instances as one LLVM function with the loop inside, in SIMD lanes.

``void part(double *floats, const int64 *table, int64 blocks, int64 count)`` goes over `count`
instances, W of them (a *block*) at a time.  Where its inputs lie and where its outputs go stands in
the table.  Each input is read in one of three ways, each output written in one of eight:

    b  from one address for all instances          u, U  added to (stored at) W addresses in a row
    u  from W addresses in a row, per block        s, S  added to (stored at) W addresses, singly
    g  from W addresses, per block                 m, n  its largest size is left at one address
                                                   +     its sum is added to one address

(m ignores NaN, n reports it.)  The table begins with the addresses of b, m, n and + and goes on
with those of each block, inputs first.  Lanes that write to one address write one after the other.
"""

from __future__ import annotations

import casadi as ca

from taut.kernel.emit import Emitter
from taut.kernel.step_code import module

REDUCED = "mn+"


def loop_code(function: ca.Function, inputs: str, outputs: str, lanes: int) -> str:
    """LLVM IR of `function` (one dense input, one dense output) over all instances."""
    return _Writer(function, inputs, outputs, lanes).text()


class _Writer:
    """Writes the loop of one function."""

    def __init__(self, function: ca.Function, inputs: str, outputs: str, lanes: int) -> None:
        self.function, self.inputs, self.outputs = function, inputs, outputs
        self.lanes, self.e = lanes, Emitter(lanes)
        self.at = 0  # entry of the table that is read next

    def text(self) -> str:
        e = self.e
        fixed = [self._broadcast() for _ in range(self.inputs.count("b"))]
        homes = [self._address("%table") for x in self.outputs if x in REDUCED]
        first = e.put(f"getelementptr i64, ptr %table, i64 {self.at}")
        e.do("%empty = icmp eq i64 %blocks, 0\n  br i1 %empty, label %done, label %loop")
        e.label("loop")
        e.do("%k = phi i64 [ 0, %entry ], [ %more, %loop ]")
        e.do(f"%row = phi ptr [ {first}, %entry ], [ %next, %loop ]")
        sums, zero = [e.name() for _ in homes], e.constant(0.0)
        grown = [e.name() for _ in homes]
        for a, b in zip(sums, grown, strict=True):
            e.do(f"{a} = phi {e.type} [ {zero}, %entry ], [ {b}, %loop ]")
        self.at = 0
        values = self._read(fixed)
        found = e.inline(self.function, [values])[0]
        self._write(found, sums, grown)
        e.do(f"%next = getelementptr i64, ptr %row, i64 {self.at}")
        e.do("%more = add i64 %k, 1")
        e.do("%go = icmp ult i64 %more, %blocks\n  br i1 %go, label %loop, label %done")
        e.label("done")
        self._reduce(homes, grown)
        e.do("ret void")
        given = "ptr %floats, ptr noalias readonly %table, i64 %blocks, i64 %count"
        return module("part", "void", given, e)

    # ---- addresses ---------------------------------------------------------------------------

    def _address(self, table: str) -> str:
        """The pointer that the next entry of the table stands for."""
        e = self.e
        at = e.put(f"getelementptr i64, ptr {table}, i64 {self.at}")
        self.at += 1
        index = e.put(f"load i64, ptr {at}, align 8")
        return e.put(f"getelementptr double, ptr %floats, i64 {index}")

    def _broadcast(self) -> str:
        return self.e.broadcast(self._address("%table"), 0)

    def _read(self, fixed: list[str]) -> list[str]:
        e, values, spare = self.e, [], list(fixed)
        for how in self.inputs:
            if how == "b":
                values.append(spare.pop(0))
            elif how == "u" or self.lanes == 1:
                values.append(e.put(f"load {e.type}, ptr {self._address('%row')}, align 8"))
            else:
                value = "poison"
                for lane in range(self.lanes):
                    one = e.put(f"load double, ptr {self._address('%row')}, align 8")
                    value = e.put(f"insertelement {e.type} {value}, double {one}, i32 {lane}")
                values.append(value)
        return values

    def _write(self, found: list[str], sums: list[str], grown: list[str]) -> None:
        e, at = self.e, 0
        for how, value in zip(self.outputs, found, strict=True):
            if how in REDUCED:
                e.do(f"{grown[at]} = {self._grown(how, sums[at], value)}")
                at += 1
            elif how in "uU":
                where = self._address("%row")
                if how == "u":
                    before = e.put(f"load {e.type}, ptr {where}, align 8")
                    value = e.plus(before, value)
                e.do(f"store {e.type} {value}, ptr {where}, align 8")
            else:
                for lane in range(self.lanes):
                    self._write_lane(how, value, lane)

    def _write_lane(self, how: str, value: str, lane: int) -> None:
        e = self.e
        where = self._address("%row")
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
        begin = e.put(f"mul i64 %k, {self.lanes}")
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
            e.do(f"{end} = phi {e.type} [ {e.constant(0.0)}, %entry ], [ {value}, %loop ]")
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
