"""A fused program as one LLVM function.

    i64 step(void *context, double *state, const double *par, double *out)

`state` and `out` are structures of arrays with the lanes innermost, `par` is shared by all lanes:
t, t₁, h, then the system's parameters.  `out` receives the monitors, the Newton iterations and 1.0
for a lane whose iterations converged.  A lane that failed keeps its state.  The function returns 0
if every lane succeeded.

Newton stops when h·|Δwatch|, relative to the coordinates, is below 1e−9 and falling fast (the next
update would be below round-off), or when it has stagnated at round-off.
"""

from __future__ import annotations

import casadi as ca

from taut.kernel.emit import Emitter
from taut.kernel.fused import HISTORY, MONITORS, FusedProgram

SMALL, FALLING, ROUNDOFF, STALLED, STALL_RATIO = 1e-9, 1e-3, 1e-14, 1e-8, 0.5
LIMIT = 25
PAR = ("t", "t1", "h")
OUT = (*MONITORS, "iterations", "converged")


def step_code(program: FusedProgram, lanes: int = 1) -> str:
    """LLVM IR text of the step."""
    e = Emitter(lanes)
    n = program.n
    bound = _load(e, program)
    q, cq, p, cp, v_old = bound["q"], bound["cq"], bound["p"], bound["cp"], bound["v"]
    names = list(program.inputs)
    symbols = [program.inputs[name] for name in names]
    values = [bound[name] for name in names]
    converged, iterations = None, e.constant(0.0)
    block = "entry"
    history: list[str] = []
    for index, newton in enumerate(program.newtons):
        guess_function = ca.Function("guess", symbols, [newton.guess])
        guess = e.inline(guess_function, values)[0]
        z, done, iterations, block = _newton(e, index, newton, symbols, values, guess, iterations, block)
        converged = done if converged is None else e.put(f"and {e.mask} {converged}, {done}")
        old = bound["memory"][len(history) : len(history) + HISTORY * len(z)]
        history += z + old[: (HISTORY - 1) * len(z)]
        symbols, values = [*symbols, newton.unknowns], [*values, z]
    finish = ca.Function("finish", symbols, [program.dq, program.dp, program.v1, ca.densify(program.monitors)])
    dq, dp, v1, monitors = e.inline(_lean(finish), values)
    q1, cq1 = _compensated(e, q, cq, dq)
    p1, cp1 = _compensated(e, p, cp, dp)
    new = [*q1, *cq1, *p1, *cp1, *v1, bound["scale"][0], *history]
    old = [*q, *cq, *p, *cp, *v_old, bound["scale"][0], *bound["memory"]]
    for slot, value in enumerate([*monitors, iterations]):
        e.store("%out", slot, value)
    if converged is None:
        e.store("%out", len(OUT) - 1, e.constant(1.0))
        _store_state(e, new)
        e.do("ret i64 0")
    else:
        e.store("%out", len(OUT) - 1, e.number(converged))
        if lanes > 1:
            new = [e.select(converged, a, b) if a != b else a for a, b in zip(new, old, strict=True)]
            _store_state(e, new)
            failed = e.put(f"xor {e.mask} {converged}, {_splat(e, 'true')}")
            result = e.put(f"zext i1 {e.any(failed)} to i64")
            e.do(f"ret i64 {result}")
        else:
            e.do(f"br i1 {converged}, label %keep, label %fail")
            e.label("keep")
            _store_state(e, new)
            e.do("ret i64 0")
            e.label("fail")
            e.do("ret i64 1")
    return _module("step", "i64", "ptr %context, ptr noalias %state, ptr noalias readonly %par, ptr noalias %out", e)


def map_code(function: ca.Function) -> str:
    """``void map(const double *in, double *out)``: one evaluation of a dense SX function."""
    e = Emitter()
    inputs, at = [], 0
    for i in range(function.n_in()):
        inputs.append([e.load("%in", at + k) for k in range(function.nnz_in(i))])
        at += function.nnz_in(i)
    at = 0
    for part in e.inline(function, inputs):
        for k, value in enumerate(part):
            e.store("%out", at + k, value)
        at += len(part)
    e.do("ret void")
    return _module("map", "void", "ptr noalias readonly %in, ptr noalias %out", e)


def _module(name: str, result: str, arguments: str, e: Emitter) -> str:
    body = "\n".join(e.lines)
    declarations = "\n".join(sorted(e.declared))
    return f"{declarations}\ndefine {result} @{name}({arguments}) nounwind {{\nentry:\n{body}\n}}\n"


def _lean(function: ca.Function) -> ca.Function:
    """The same function with common subexpressions computed once."""
    inputs = function.sx_in()
    return ca.Function(function.name(), inputs, ca.cse(function(*inputs) if function.n_out() > 1 else [function(*inputs)]))


def _load(e: Emitter, program: FusedProgram) -> dict[str, list[str]]:
    n, m = program.n, program.memory
    bound, at = {}, 0
    for name, size in (("q", n), ("cq", n), ("p", n), ("cp", n), ("v", n), ("scale", 1), ("memory", m)):
        bound[name] = [e.load("%state", at + k) for k in range(size)]
        at += size
    for slot, name in enumerate(PAR):
        bound[name] = [e.broadcast("%par", slot)]
    count = program.inputs["par"].numel()
    bound["par"] = [e.broadcast("%par", len(PAR) + k) for k in range(count)]
    return bound


def _newton(e: Emitter, index: int, newton, symbols, values, guess: list[str], iterations: str, block: str):
    """Emit one Newton loop; (solution, converged, iterations, present block)."""
    function = _lean(ca.Function("newton", [*symbols, newton.unknowns], [newton.change, newton.measure]))
    graph, early = e.staged(function, [*values, []], {len(symbols)})
    loop, after = f"loop{index}", f"after{index}"
    z, z_next = ([e.name() for _ in guess] for _ in range(2))
    last, measured, done, done_next = (e.name() for _ in range(4))
    count, count_next, trips, trips_next = (e.name() for _ in range(4))
    e.do(f"br label %{loop}")
    e.label(loop)
    for a, b, g in zip(z, z_next, guess, strict=True):
        e.do(f"{a} = phi {e.type} [ {g}, %{block} ], [ {b}, %{loop} ]")
    e.do(f"{last} = phi {e.type} [ {e.constant(1e300)}, %{block} ], [ {measured}, %{loop} ]")
    e.do(f"{done} = phi {e.mask} [ {_splat(e, 'false')}, %{block} ], [ {done_next}, %{loop} ]")
    e.do(f"{trips} = phi {e.type} [ {iterations}, %{block} ], [ {trips_next}, %{loop} ]")
    e.do(f"{count} = phi i64 [ 0, %{block} ], [ {count_next}, %{loop} ]")
    change, (measure,) = graph.emit_late(e, [*values, z], early)
    for a, b, d in zip(z, z_next, change, strict=True):
        moved = e.put(f"fadd {e.type} {a}, {d}")
        e.do(f"{b} = select {e.mask} {done}, {e.type} {a}, {e.type} {moved}")
    e.do(f"{measured} = select {e.mask} {done}, {e.type} {last}, {e.type} {measure}")
    e.do(f"{done_next} = or {e.mask} {done}, {_stops(e, measure, last)}")
    step = e.select(done, e.constant(0.0), e.constant(1.0))
    e.do(f"{trips_next} = fadd {e.type} {trips}, {step}")
    e.do(f"{count_next} = add i64 {count}, 1")
    busy = e.any(e.put(f"xor {e.mask} {done_next}, {_splat(e, 'true')}"))
    within = e.put(f"icmp ult i64 {count_next}, {LIMIT}")
    e.do(f"br i1 {e.put(f'and i1 {busy}, {within}')}, label %{loop}, label %{after}")
    e.label(after)
    return z_next, done_next, trips_next, after


def _stops(e: Emitter, measure: str, last: str) -> str:
    def both(a: str, b: str) -> str:
        return e.put(f"and {e.mask} {a}, {b}")

    def scaled(factor: float) -> str:
        return e.put(f"fmul {e.type} {last}, {e.constant(factor)}")

    small = both(e.compare("ole", measure, e.constant(SMALL)), e.compare("ole", measure, scaled(FALLING)))
    floor = e.compare("ole", measure, e.constant(ROUNDOFF))
    stalled = both(
        e.compare("ole", measure, e.constant(STALLED)), e.compare("oge", measure, scaled(STALL_RATIO))
    )
    return e.put(f"or {e.mask} {e.put(f'or {e.mask} {small}, {floor}')}, {stalled}")


def _splat(e: Emitter, bit: str) -> str:
    return bit if e.lanes == 1 else "<" + ", ".join([f"i1 {bit}"] * e.lanes) + ">"


def _compensated(e: Emitter, x: list[str], carry: list[str], change: list[str]):
    """Kahan's sum x + change with the carry of earlier sums; (sum, new carry)."""
    sums, carries = [], []
    for a, c, d in zip(x, carry, change, strict=True):
        y = e.put(f"fadd {e.type} {c}, {d}")
        s = e.put(f"fadd {e.type} {a}, {y}")
        moved = e.put(f"fsub {e.type} {s}, {a}")
        sums.append(s)
        carries.append(e.put(f"fsub {e.type} {y}, {moved}"))
    return sums, carries


def _store_state(e: Emitter, values: list[str]) -> None:
    for slot, value in enumerate(values):
        e.store("%state", slot, value)
