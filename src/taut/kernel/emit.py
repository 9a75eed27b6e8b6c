"""CasADi SX → LLVM IR text, scalar or in SIMD lanes, from one emitter.

One LLVM instruction per SX instruction; products that are used once and added are fused with
`llvm.fma`, explicitly and by the same rule for every width.  No fast-math flag is ever set, so a
lane computes bit for bit what the scalar code computes; library functions are called lane by
lane.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Protocol

import casadi as ca

from taut.errors import ModelError

# CasADi operation → library function.
LIBRARY = {
    ca.OP_EXP: "exp", ca.OP_LOG: "log", ca.OP_POW: "pow", ca.OP_CONSTPOW: "pow",
    ca.OP_SIN: "sin", ca.OP_COS: "cos", ca.OP_TAN: "tan",
    ca.OP_ASIN: "asin", ca.OP_ACOS: "acos", ca.OP_ATAN: "atan", ca.OP_ATAN2: "atan2",
    ca.OP_SINH: "sinh", ca.OP_COSH: "cosh", ca.OP_TANH: "tanh",
    ca.OP_ASINH: "asinh", ca.OP_ACOSH: "acosh", ca.OP_ATANH: "atanh",
    ca.OP_ERF: "erf", ca.OP_FMOD: "fmod", ca.OP_REMAINDER: "remainder",
    ca.OP_LOG1P: "log1p", ca.OP_EXPM1: "expm1", ca.OP_HYPOT: "hypot",
}  # fmt: skip
INTRINSICS = {
    ca.OP_SQRT: "sqrt", ca.OP_FABS: "fabs", ca.OP_FLOOR: "floor", ca.OP_CEIL: "ceil",
    ca.OP_COPYSIGN: "copysign",
}  # fmt: skip
BINARY = {ca.OP_ADD: "fadd", ca.OP_SUB: "fsub", ca.OP_MUL: "fmul", ca.OP_DIV: "fdiv"}
COMPARE = {ca.OP_LT: "olt", ca.OP_LE: "ole", ca.OP_EQ: "oeq", ca.OP_NE: "une"}
EFFECT_FREE = "nounwind willreturn memory(none)"
EXACTLY = {"pow": " nobuiltin"}  # which LLVM takes for exp2 where the base is a power of two


class Values(Protocol):
    """Values by number: a list of them, or what makes one when it is asked for."""

    def __getitem__(self, number: int, /) -> str: ...


class Emitter:
    """Writes the body of one LLVM function.

    Parameters
    ----------
    lanes : int
        Width of every value; 1 is scalar.
    """

    def __init__(self, lanes: int = 1) -> None:
        self.lanes = lanes
        self.type = "double" if lanes == 1 else f"<{lanes} x double>"
        self.mask = "i1" if lanes == 1 else f"<{lanes} x i1>"
        self.suffix = "f64" if lanes == 1 else f"v{lanes}f64"
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self.functions: list[tuple[str, str, Emitter]] = []  # others that it calls
        self._count = 0

    # ---- small pieces ------------------------------------------------------------------------

    def name(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def put(self, text: str) -> str:
        """Append an instruction with a result; its name."""
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def constant(self, value: float) -> str:
        bits = f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"
        return bits if self.lanes == 1 else "<" + ", ".join([f"double {bits}"] * self.lanes) + ">"

    def intrinsic(self, name: str, *args: str) -> str:
        types = ", ".join([self.type] * len(args))
        self.declared.add(f"declare {self.type} @llvm.{name}.{self.suffix}({types})")
        given = ", ".join(f"{self.type} {a}" for a in args)
        return self.put(f"call {self.type} @llvm.{name}.{self.suffix}({given})")

    def library(self, name: str, *args: str) -> str:
        types = ", ".join(["double"] * len(args))
        self.declared.add(f"declare double @{name}({types}) {EFFECT_FREE}")
        end = EXACTLY.get(name, "")
        if self.lanes == 1:
            return self.put(f"call double @{name}({', '.join(f'double {a}' for a in args)}){end}")
        result = "poison"
        for i in range(self.lanes):
            parts = [self.put(f"extractelement {self.type} {a}, i32 {i}") for a in args]
            one = self.put(f"call double @{name}({', '.join(f'double {a}' for a in parts)}){end}")
            result = self.put(f"insertelement {self.type} {result}, double {one}, i32 {i}")
        return result

    def load(self, pointer: str, slot: int) -> str:
        """Value number `slot` of an array of values (structure of arrays, lanes innermost)."""
        at = self.put(f"getelementptr double, ptr {pointer}, i64 {slot * self.lanes}")
        return self.put(f"load {self.type}, ptr {at}, align 8")

    def store(self, pointer: str, slot: int, value: str) -> None:
        at = self.put(f"getelementptr double, ptr {pointer}, i64 {slot * self.lanes}")
        self.do(f"store {self.type} {value}, ptr {at}, align 8")

    def broadcast(self, pointer: str, slot: int) -> str:
        """Number `slot` of an array of doubles, the same in all lanes."""
        at = self.put(f"getelementptr double, ptr {pointer}, i64 {slot}")
        return self.spread(self.put(f"load double, ptr {at}, align 8"))

    def spread(self, one: str) -> str:
        """A double in all lanes."""
        if self.lanes == 1:
            return one
        first = self.put(f"insertelement {self.type} poison, double {one}, i32 0")
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        return self.put(f"shufflevector {self.type} {first}, {self.type} poison, {zeros}")

    def select(self, mask: str, yes: str, no: str) -> str:
        return self.put(f"select {self.mask} {mask}, {self.type} {yes}, {self.type} {no}")

    def compare(self, how: str, a: str, b: str) -> str:
        return self.put(f"fcmp {how} {self.type} {a}, {b}")

    def plus(self, a: str, b: str) -> str:
        return self.put(f"fadd {self.type} {a}, {b}")

    def largest(self, a: str, b: str) -> str:
        return self.select(self.compare("ogt", a, b), a, b)

    def smallest(self, a: str, b: str) -> str:
        return self.select(self.compare("olt", a, b), a, b)

    def number(self, mask: str) -> str:
        """1.0 where `mask`, else 0.0."""
        return self.select(mask, self.constant(1.0), self.constant(0.0))

    def all(self, mask: str) -> str:
        """i1: whether every lane is set."""
        if self.lanes == 1:
            return mask
        bits = self.put(f"bitcast {self.mask} {mask} to i{self.lanes}")
        return self.put(f"icmp eq i{self.lanes} {bits}, -1")

    def likely(self, bit: str) -> str:
        """The same i1, which is expected to be set."""
        self.declared.add("declare i1 @llvm.expect.i1(i1, i1)")
        return self.put(f"call i1 @llvm.expect.i1(i1 {bit}, i1 true)")

    def splat(self, bit: str) -> str:
        """A constant mask."""
        return bit if self.lanes == 1 else "<" + ", ".join([f"i1 {bit}"] * self.lanes) + ">"

    # ---- a CasADi function -------------------------------------------------------------------

    def inline(
        self,
        function: ca.Function,
        inputs: Sequence[Values],
        told: Callable[[int, int, str], None] | None = None,
    ) -> list[list[str]]:
        """Emit all instructions of `function`; `inputs[i][k]` is nonzero k of input i.

        An input is asked for where it is first needed.

        `told` hears of each output (number, nonzero, value) as soon as there is one.
        """
        graph = Graph(function)
        graph.told = told
        return graph.emit(self, inputs)

    def staged(
        self, function: ca.Function, inputs: list[list[str]], late: set[int]
    ) -> tuple[Graph, dict[int, str]]:
        """Emit what does not depend on the inputs numbered in `late`; the rest comes later."""
        graph = Graph(function)
        return graph, graph.emit_early(self, inputs, late)


def lean(function: ca.Function) -> ca.Function:
    """The same function with common subexpressions computed once."""
    inputs = function.sx_in()
    outputs = function(*inputs) if function.n_out() > 1 else [function(*inputs)]
    return ca.Function(function.name(), inputs, ca.cse(list(outputs)))


class Graph:
    """The instruction list of an SX function in single-assignment form."""

    told: Callable[[int, int, str], None] | None = None  # see `Emitter.inline`

    def __init__(self, function: ca.Function) -> None:
        count = function.n_instructions()
        self.function = function
        self.op = [function.instruction_id(k) for k in range(count)]
        self.args: list[tuple[int, ...]] = []
        self.extra: list[object] = []
        self.uses = [0] * count
        written: dict[int, int] = {}
        for k, op in enumerate(self.op):
            slots = function.instruction_input(k)
            if op == ca.OP_INPUT:
                self.args.append(())
                self.extra.append(tuple(slots))
            elif op == ca.OP_CONST:
                self.args.append(())
                self.extra.append(function.instruction_constant(k))
            else:
                args = tuple(written[s] for s in slots)
                self.args.append(args)
                self.extra.append(None)
                for a in args:
                    self.uses[a] += 1
            out = function.instruction_output(k)
            if op == ca.OP_OUTPUT:
                self.extra[k] = tuple(out)
            else:
                written[out[0]] = k

    def emit(self, e: Emitter, inputs: Sequence[Values]) -> list[list[str]]:
        """All instructions in order; the outputs' values."""
        return self._run(e, inputs, {}, range(len(self.op)))

    def emit_early(self, e: Emitter, inputs: list[list[str]], late: set[int]) -> dict[int, str]:
        """Emit the part that does not depend on the `late` inputs; values by instruction."""
        self.late = [False] * len(self.op)
        for k, op in enumerate(self.op):
            if op == ca.OP_INPUT:
                self.late[k] = self.extra[k][0] in late  # type: ignore[index]
            elif op == ca.OP_OUTPUT:
                self.late[k] = True
            else:
                self.late[k] = any(self.late[a] for a in self.args[k])
        values: dict[int, str] = {}
        self._run(e, inputs, values, [k for k in range(len(self.op)) if not self.late[k]])
        return values

    def found(self, values: dict[int, str], output: int) -> list[str]:
        """An output that `emit_early` has come to."""
        every = ((self.extra[k], k) for k, op in enumerate(self.op) if op == ca.OP_OUTPUT)
        entries = sorted((x[1], k) for x, k in every if x[0] == output)  # type: ignore[index]
        return [values[self.args[k][0]] for _, k in entries]

    def emit_late(
        self, e: Emitter, inputs: list[list[str]], values: dict[int, str]
    ) -> list[list[str]]:
        """The rest, after `emit_early`."""
        return self._run(e, inputs, dict(values), [k for k in range(len(self.op)) if self.late[k]])

    def _run(self, e: Emitter, inputs, values: dict[int, str], which) -> list[list[str]]:
        f = self.function
        outputs = [["?"] * f.nnz_out(i) for i in range(f.n_out())]
        stage = set(which)
        absorbed, shared = self._absorbed(stage), self._shared_denominators(stage)
        reciprocals: dict[int, str] = {}
        for k in which:
            op = self.op[k]
            if op == ca.OP_INPUT:
                i, j = self.extra[k]  # type: ignore[misc]
                values[k] = inputs[i][j]
            elif op == ca.OP_CONST:
                values[k] = e.constant(self.extra[k])  # type: ignore[arg-type]
            elif op == ca.OP_OUTPUT:
                i, j = self.extra[k]  # type: ignore[misc]
                outputs[i][j] = values[self.args[k][0]]
                if self.told is not None:
                    self.told(i, j, outputs[i][j])
            elif op == ca.OP_DIV and self.args[k][1] in shared:
                a, b = self.args[k]
                if b not in reciprocals:
                    reciprocals[b] = e.put(f"fdiv {e.type} {e.constant(1.0)}, {values[b]}")
                values[k] = e.put(f"fmul {e.type} {values[a]}, {reciprocals[b]}")
            elif k not in absorbed:
                values[k] = self._instruction(e, k, values)
        return outputs

    def _shared_denominators(self, stage: set[int]) -> set[int]:
        """Values that divide more than once: one reciprocal and products are cheaper."""
        counts: dict[int, int] = {}
        for k in stage:
            if self.op[k] == ca.OP_DIV:
                counts[self.args[k][1]] = counts.get(self.args[k][1], 0) + 1
        return {a for a, count in counts.items() if count > 1}

    def _absorbed(self, stage: set[int]) -> set[int]:
        """Products used once, by a sum of the same stage, which becomes a fused multiply-add."""
        found = set()
        for k in stage:
            if self.op[k] in (ca.OP_ADD, ca.OP_SUB):
                for a in reversed(self.args[k]):
                    if a in stage and self._product(a) and self.uses[a] == 1:
                        found.add(a)
                        break
        return found

    def _product(self, k: int) -> bool:
        return self.op[k] in (ca.OP_MUL, ca.OP_SQ)

    def _instruction(self, e: Emitter, k: int, values: dict[int, str]) -> str:
        op, args = self.op[k], self.args[k]
        if op in (ca.OP_ADD, ca.OP_SUB):
            for position in (1, 0):
                a = args[position]
                if a not in values and self._product(a):
                    return self._fma(e, k, position, values)
        x = [values[a] for a in args]
        return emit_operation(e, op, x, self.function)

    def _fma(self, e: Emitter, k: int, position: int, values: dict[int, str]) -> str:
        product = self.args[k][position]
        factors = [values[a] for a in self.args[product]]
        a, b = factors if len(factors) == 2 else factors * 2
        other = values[self.args[k][1 - position]]
        if self.op[k] == ca.OP_SUB:
            if position == 1:  # other − a·b
                a = e.put(f"fneg {e.type} {a}")
            else:  # a·b − other
                other = e.put(f"fneg {e.type} {other}")
        return e.intrinsic("fma", a, b, other)


def emit_operation(e: Emitter, op: int, x: list[str], function: ca.Function) -> str:
    """One elementary operation on values."""
    t = e.type
    if op in BINARY:
        return e.put(f"{BINARY[op]} {t} {x[0]}, {x[1]}")
    if op in LIBRARY:
        return e.library(LIBRARY[op], *x)
    if op in INTRINSICS:
        return e.intrinsic(INTRINSICS[op], *x)
    if op in COMPARE:
        return e.number(e.compare(COMPARE[op], x[0], x[1]))
    zero, one = e.constant(0.0), e.constant(1.0)
    if op == ca.OP_NEG:
        return e.put(f"fneg {t} {x[0]}")
    if op == ca.OP_SQ:
        return e.put(f"fmul {t} {x[0]}, {x[0]}")
    if op == ca.OP_TWICE:
        return e.put(f"fadd {t} {x[0]}, {x[0]}")
    if op == ca.OP_INV:
        return e.put(f"fdiv {t} {one}, {x[0]}")
    if op == ca.OP_ASSIGN:
        return x[0]
    if op == ca.OP_FMIN:
        return e.smallest(x[0], x[1])
    if op == ca.OP_FMAX:
        return e.largest(x[0], x[1])
    if op == ca.OP_SIGN:
        signed = e.intrinsic("copysign", one, x[0])
        return e.select(e.compare("one", x[0], zero), signed, x[0])
    if op == ca.OP_IF_ELSE_ZERO:
        return e.select(e.compare("une", x[0], zero), x[1], zero)
    if op == ca.OP_NOT:
        return e.number(e.compare("oeq", x[0], zero))
    if op in (ca.OP_AND, ca.OP_OR):
        a, b = (e.compare("une", y, zero) for y in x)
        word = "and" if op == ca.OP_AND else "or"
        return e.number(e.put(f"{word} {e.mask} {a}, {b}"))
    raise ModelError(
        f"no native code for CasADi operation {op} in {function.name()}",
        remedy="write the expression with elementary functions",
    )
