"""A fused program as one LLVM function that makes many steps.

    i64 steps(void *context, double *state, const double *par, double *notes, i64 count)

`state` and `notes` are structures of arrays with the lanes innermost, `par` is shared by all
lanes: t₀, the number k of the first step, h, a threshold for the chart, then the system's
parameters; step number k goes from t₀ + k h to t₀ + (k+1) h.  Between steps everything stays in
registers.  `notes` accumulates what the certificate needs (see `NOTES`).  The function returns the
number of steps it made: `count`, or less if a lane failed (Newton, or an energy that is not
finite; its `ok` is 0 and it keeps the state before that step) or if the chart's condition fell
below the threshold.

Newton stops when h·|Δwatch|, relative to the coordinates, is below 1e−8 and has fallen by a factor
of 1000 (the next update would be below round-off), or when it is below 1e−7 and no longer falls.
"""

from __future__ import annotations

import casadi as ca

from taut.kernel.emit import Emitter
from taut.kernel.fused import HISTORY, FusedProgram, Newton

SMALL, FALLING, ROUNDOFF, STALLED, STALL_RATIO = 1e-8, 1e-3, 1e-14, 1e-7, 0.6
LIMIT = 25
PAR = ("t0", "k", "h", "threshold")
NOTES = (
    "max_g", "max_hidden", "energy0", "error_min", "error_max", "error_sum", "iterations",
    "most_iterations", "work", "power", "gross_work", "chart", "ok",
)  # fmt: skip
CONSERVATIVE = NOTES[:8]  # what a conservative system needs to touch
SIGNATURE = (
    "ptr %context, ptr noalias %state, ptr noalias readonly %par, ptr noalias %notes, i64 %count"
)


def steps_code(program: FusedProgram, lanes: int = 1) -> str:
    """LLVM IR text of ``steps``."""
    return _Writer(program, lanes).text()


class _Writer:
    """Writes the function down, block by block."""

    def __init__(self, program: FusedProgram, lanes: int) -> None:
        self.program, self.e = program, Emitter(lanes)
        n, m = program.n, program.memory
        # p and v of the result stay in memory, the rest is carried from step to step in registers.
        self.shown = 2 * n
        self.layout = {"q": n, "cq": n, "p": n, "cp": n, "scale": 1, "memory": m}
        self.slots = [*range(n), *range(3 * n, program.slots)]
        self.names = CONSERVATIVE if program.conservative else NOTES[:-2]

    def text(self) -> str:
        e = self.e
        self._entry()
        e.label("head")
        state, notes, k = self._phis()
        bound = self._bound(state, k)
        ok, iterations, symbols, values, history = self._solves(bound)
        new = self._end(bound, symbols, values, history)
        ok = self._finite(new["energy"], ok)
        noted = self._noted(notes, new, iterations)
        last_block = self.block
        if e.lanes > 1:
            new["state"] = [
                a if a == b else e.select(ok, a, b)
                for a, b in zip(new["state"], state, strict=True)
            ]
            noted = {key: e.select(ok, noted[key], notes[key]) for key in noted}
            old = [e.load("%state", self.program.n + i) for i in range(self.shown)]
            new["shown"] = [e.select(ok, a, b) for a, b in zip(new["shown"], old, strict=True)]
        else:
            e.do(f"br i1 {ok}, label %good, label %bad")
            e.label("good")
            last_block = "good"
        for i, value in enumerate(new["shown"]):
            e.store("%state", self.program.n + i, value)
        self._loop(last_block, new, noted, k, ok)
        self._exits(state, notes, new, noted, k, ok)
        return _module("steps", "i64", SIGNATURE, e)

    # ---- loop over steps ---------------------------------------------------------------------

    def _entry(self) -> None:
        e = self.e
        self.first = [e.load("%state", slot) for slot in self.slots]
        self.first_notes = {key: e.load("%notes", NOTES.index(key)) for key in self.names}
        self.par = {name: e.broadcast("%par", i) for i, name in enumerate(PAR)}
        count = self.program.inputs["par"].numel()
        self.parameters = [e.broadcast("%par", len(PAR) + i) for i in range(count)]
        e.do("br label %head")

    def _phis(self):
        """State, notes and step number at the head of the loop; patched when the end is known."""
        e = self.e
        state, notes = [e.name() for _ in self.first], {key: e.name() for key in self.names}
        k = e.name()
        self.hole = len(e.lines)
        e.lines.append("")
        self.block = "head"
        return state, notes, k

    def _loop(self, last_block: str, new, noted, k: str, ok: str) -> None:
        """Close the loop: go on while steps are left, no lane failed and the chart is good."""
        e = self.e
        state = self.heads["state"]
        notes = self.heads["notes"]
        k_next = e.put(f"add i64 {k}, 1")
        lines = [f"  {k} = phi i64 [ 0, %entry ], [ {k_next}, %{last_block} ]"]
        pairs = list(zip(state, self.first, new["state"], strict=True))
        pairs += [(notes[key], self.first_notes[key], noted[key]) for key in self.names]
        for name, first, after in pairs:
            lines.append(f"  {name} = phi {e.type} [ {first}, %entry ], [ {after}, %{last_block} ]")
        e.lines[self.hole] = "\n".join(lines)
        go = e.put(f"icmp ult i64 {k_next}, %count")
        if e.lanes > 1:
            go = e.put(f"and i1 {go}, {e.all(ok)}")
        if self.program.charted:
            good = e.compare("oge", new["chart"], self.par["threshold"])
            go = e.put(f"and i1 {go}, {good}")
        e.do(f"br i1 {go}, label %head, label %out")
        self.k_next = k_next

    def _exits(self, state, notes, new, noted, k: str, ok: str) -> None:
        e = self.e
        e.label("out")
        self._store(new["state"], noted)
        e.store("%notes", NOTES.index("chart"), new["chart"])
        flag = e.constant(1.0) if e.lanes == 1 else e.number(ok)
        e.store("%notes", NOTES.index("ok"), flag)
        e.do(f"ret i64 {self.k_next}")
        if e.lanes == 1:
            e.label("bad")
            self._store(state, notes)
            e.store("%notes", NOTES.index("ok"), e.constant(0.0))
            e.do(f"ret i64 {k}")

    def _store(self, state: list[str], notes: dict[str, str]) -> None:
        for slot, value in zip(self.slots, state, strict=True):
            self.e.store("%state", slot, value)
        for key, value in notes.items():
            self.e.store("%notes", NOTES.index(key), value)

    # ---- one step ----------------------------------------------------------------------------

    def _bound(self, state: list[str], k: str) -> dict[str, list[str]]:
        """Values of the program's inputs in this step."""
        e, bound, at = self.e, {}, 0
        self.heads = {"state": state, "notes": None}
        for name, size in self.layout.items():
            bound[name] = state[at : at + size]
            at += size
        bound["v"] = [e.load("%state", 2 * self.program.n + i) for i in range(self.program.n)]
        number = e.spread(e.put(f"uitofp i64 {k} to double"))
        now = e.put(f"fadd {e.type} {self.par['k']}, {number}")
        after = e.put(f"fadd {e.type} {now}, {e.constant(1.0)}")
        for name, count in (("t", now), ("t1", after)):
            moved = e.put(f"fmul {e.type} {count}, {self.par['h']}")
            bound[name] = [e.put(f"fadd {e.type} {self.par['t0']}, {moved}")]
        bound["h"], bound["par"] = [self.par["h"]], self.parameters
        return bound

    def _solves(self, bound):
        """All Newton loops of the step."""
        e, program = self.e, self.program
        symbols = list(program.inputs.values())
        values = [bound[name] for name in program.inputs]
        ok, iterations = None, e.constant(0.0)
        history: list[str] = []
        for index, newton in enumerate(program.newtons):
            guess = e.inline(ca.Function("guess", symbols, [newton.guess]), values)[0]
            z, done, iterations = self._newton(index, newton, symbols, values, guess, iterations)
            ok = done if ok is None else e.put(f"and {e.mask} {ok}, {done}")
            old = bound["memory"][len(history) : len(history) + HISTORY * len(z)]
            history += z + old[: (HISTORY - 1) * len(z)]
            symbols, values = [*symbols, newton.unknowns], [*values, z]
        return ok, iterations, symbols, values, history

    def _end(self, bound, symbols, values, history) -> dict:
        """The new state and what is monitored on it."""
        e, program = self.e, self.program
        dq = e.inline(_lean(ca.Function("move", symbols, [program.dq])), values)[0]
        q1, cq1 = _compensated(e, bound["q"], bound["cq"], dq)
        kick = ca.Function("kick", [*symbols, program.q1], [program.dp])
        dp = e.inline(_lean(kick), [*values, q1])[0]
        carried, cp1 = _compensated(e, bound["p"], bound["cp"], dp)
        rest = ca.Function(
            "rest", [*symbols, program.q1, program.p1], [program.v1, program.tangent]
        )
        v1, tangent = e.inline(_lean(rest), [*values, q1, carried])
        p1 = [e.put(f"fadd {e.type} {a}, {b}") for a, b in zip(carried, tangent, strict=True)]
        watch = [program.ends, program.inputs["t1"], program.inputs["par"]]
        monitor = _lean(ca.Function("monitor", watch, [ca.densify(program.monitors)]))
        g, hidden, energy, power, chart = e.inline(
            monitor, [[*q1, *p1, *v1], bound["t1"], bound["par"]]
        )[0]
        state = [*q1, *cq1, *carried, *cp1, bound["scale"][0], *history]
        return {
            "state": state,
            "shown": [*p1, *v1],
            "g": g,
            "hidden": hidden,
            "energy": energy,
            "power": power,
            "chart": chart,
        }

    def _finite(self, energy: str, ok: str | None) -> str:
        """Whether the step is good: Newton converged, and the new state has a finite energy."""
        e = self.e
        finite = e.compare("olt", e.intrinsic("fabs", energy), e.constant(float("inf")))
        return finite if ok is None else e.put(f"and {e.mask} {ok}, {finite}")

    def _noted(self, notes: dict[str, str], new: dict, iterations: str) -> dict[str, str]:
        """The accumulated notes after this step."""
        e = self.e
        self.heads["notes"] = notes

        def largest(a: str, b: str) -> str:
            return e.select(e.compare("ogt", a, b), a, b)

        def smallest(a: str, b: str) -> str:
            return e.select(e.compare("olt", a, b), a, b)

        def plus(a: str, b: str) -> str:
            return e.put(f"fadd {e.type} {a}, {b}")

        error = e.put(f"fsub {e.type} {new['energy']}, {notes['energy0']}")
        after = {"energy0": notes["energy0"]}
        if not self.program.conservative:
            half = e.put(f"fmul {e.type} {self.par['h']}, {e.constant(0.5)}")
            work = e.put(f"fmul {e.type} {half}, {plus(notes['power'], new['power'])}")
            after["work"] = plus(notes["work"], work)
            after["gross_work"] = plus(notes["gross_work"], e.intrinsic("fabs", work))
            after["power"] = new["power"]
            error = e.put(f"fsub {e.type} {error}, {after['work']}")
        return after | {
            "max_g": largest(new["g"], notes["max_g"]),
            "max_hidden": largest(new["hidden"], notes["max_hidden"]),
            "error_min": smallest(error, notes["error_min"]),
            "error_max": largest(error, notes["error_max"]),
            "error_sum": plus(notes["error_sum"], error),
            "iterations": plus(notes["iterations"], iterations),
            "most_iterations": largest(iterations, notes["most_iterations"]),
        }

    def _newton(
        self, index: int, newton: Newton, symbols, values, guess: list[str], iterations: str
    ):
        """Emit one Newton loop; (solution, converged, iterations)."""
        e = self.e
        function = _lean(
            ca.Function("newton", [*symbols, newton.unknowns], [newton.change, newton.measure])
        )
        graph, early = e.staged(function, [*values, []], {len(symbols)})
        before, loop, after = self.block, f"newton{index}", f"solved{index}"
        z, z_next = ([e.name() for _ in guess] for _ in range(2))
        last, measured, done, done_next = (e.name() for _ in range(4))
        count, count_next, trips, trips_next = (e.name() for _ in range(4))
        e.do(f"br label %{loop}")
        e.label(loop)
        for a, b, g in zip(z, z_next, guess, strict=True):
            e.do(f"{a} = phi {e.type} [ {g}, %{before} ], [ {b}, %{loop} ]")
        e.do(f"{last} = phi {e.type} [ {e.constant(1e300)}, %{before} ], [ {measured}, %{loop} ]")
        e.do(f"{done} = phi {e.mask} [ {e.splat('false')}, %{before} ], [ {done_next}, %{loop} ]")
        e.do(f"{trips} = phi {e.type} [ {iterations}, %{before} ], [ {trips_next}, %{loop} ]")
        e.do(f"{count} = phi i64 [ 0, %{before} ], [ {count_next}, %{loop} ]")
        bound = _bound(e, last)
        change, (measure,) = graph.emit_late(e, [*values, z], early)
        for a, b, d in zip(z, z_next, change, strict=True):
            moved = e.put(f"fadd {e.type} {a}, {d}")
            e.do(f"{b} = select {e.mask} {done}, {e.type} {a}, {e.type} {moved}")
        e.do(f"{measured} = select {e.mask} {done}, {e.type} {last}, {e.type} {measure}")
        arrived = e.put(
            f"or {e.mask} {e.compare('ole', measure, bound)}, {_stalled(e, measure, last)}"
        )
        e.do(f"{done_next} = or {e.mask} {done}, {arrived}")
        step = e.select(done, e.constant(0.0), e.constant(1.0))
        e.do(f"{trips_next} = fadd {e.type} {trips}, {step}")
        e.do(f"{count_next} = add i64 {count}, 1")
        busy = e.put(f"xor i1 {e.all(done_next)}, true")
        within = e.put(f"icmp ult i64 {count_next}, {LIMIT}")
        e.do(f"br i1 {e.put(f'and i1 {busy}, {within}')}, label %{loop}, label %{after}")
        e.label(after)
        self.block = after
        return z_next, done_next, trips_next


def map_code(function: ca.Function, lanes: int = 1) -> str:
    """``void map(const double *in, double *out)``: a dense SX function, in each lane at once."""
    e = Emitter(lanes)
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
    outputs = function(*inputs) if function.n_out() > 1 else [function(*inputs)]
    return ca.Function(function.name(), inputs, ca.cse(list(outputs)))


def _bound(e: Emitter, last: str) -> str:
    """What the measure must not exceed, given the one before, for the next to be round-off."""
    falling = e.put(f"fmul {e.type} {last}, {e.constant(FALLING)}")
    quick = e.select(e.compare("olt", falling, e.constant(SMALL)), falling, e.constant(SMALL))
    return e.select(e.compare("ogt", quick, e.constant(ROUNDOFF)), quick, e.constant(ROUNDOFF))


def _stalled(e: Emitter, measure: str, last: str) -> str:
    """Small and no longer falling: noise, where half the last one would be slow convergence."""
    small = e.compare("ole", measure, e.constant(STALLED))
    rest = e.put(f"fmul {e.type} {last}, {e.constant(STALL_RATIO)}")
    return e.put(f"and {e.mask} {small}, {e.compare('oge', measure, rest)}")


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
