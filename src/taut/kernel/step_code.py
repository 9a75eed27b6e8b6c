"""A fused program as one LLVM function that makes many steps.

    i64 steps(void *context, double *state, const double *par, double *notes, i64 count,
              double *store, i64 until, i64 every)

`state` and `notes` are structures of arrays with the lanes innermost, `par` is shared by all
lanes: t₀, the number k of the first step, h, a threshold for the chart, then the system's
parameters; step number k goes from t₀ + k h to t₀ + (k+1) h.  Between steps everything stays in
registers.  `notes` accumulates what the certificate needs (see `NOTES`).  The function returns the
number of steps it made: `count`, or less if a lane cannot make the next one (Newton, or an energy
that is not finite; its `ok` is 0, and all lanes stop before that step) or if the chart's condition
fell below the threshold.  After `until` steps, and then after each `every` more, q, p and v are
written to `store`, one row of 3 n values after the other.

Only the Newton solve and the sums q + Δq, p + Δp carry one step to the next.  The rest of a step
(the tangent momentum and velocity, and what is monitored on them) is therefore written down after
the *next* Newton solve: a processor that works ahead fills the waiting times of the solve with it.

    head      Newton for step k + 1
    late      what is left of step k; an energy that is not finite starts all over, up to step k − 1
    kept      whether this state is to be stored, and storing it
    settled   leave if Newton failed
    move      corrections, which cannot fail, and the sums of step k + 1
    last      what is left of the last step

A composition makes several sub-steps of sizes γⱼh per step.  They run through the same loop: only
after the last one is there anything to be late with, to store or to count.  What Newton remembers
is kept for each sub-step by itself, in memory instead of registers; so it is where factors are
kept from step to step (see `kept_code`).  What fails then starts all over, up to the last whole
step.

Where steps vary (see `taut.methods.adaptive`), t₀ is the time to stop at, h the step at density 1,
and the state ends with a clock: t, its compensation, and the density ρ.  A step is h/ρ long; after
it ρ grows by h·G.  The function returns when the next step would go beyond the end; the chart's
condition is then the number of steps that there is room for.

The Newton loops are in `newton_code`, corrections in `branches`.
"""

from __future__ import annotations

import functools
import math

import casadi as ca

from taut.kernel.branches import Choice, Polish, chosen, polished
from taut.kernel.emit import Emitter, lean
from taut.kernel.fused import CLOCK, HEAD, FusedProgram
from taut.kernel.newton_code import newton_loop
from taut.kernel.newtons import Newton
from taut.kernel.work import POWERS, WORK, worked

PAR = ("t0", "k", "h", "threshold")
NOTES = (
    "max_g", "max_hidden", "energy0", "error_min", "error_max", "error_sum", "iterations",
    "most_iterations", "loose", "left", "work", "power", "gross_work", *POWERS, "since",
    "sum_drift", "sum_bends", "sum_error", "rough", "error", "chart", "ok",
)  # fmt: skip
CONSERVATIVE = NOTES[:10]  # what a conservative system needs to touch
INVARIANT = ("floor", "h", "par")  # inputs of a step that do not change from step to step
UNUSED = "poison"
SIGNATURE = (
    "ptr %context, ptr noalias %state, ptr noalias readonly %par, ptr noalias %notes, i64 %count, "
    "ptr noalias %store, i64 %until, i64 %every"
)


def steps_code(program: FusedProgram, lanes: int = 1) -> str:
    """LLVM IR text of ``steps``."""
    return _Writer(program, lanes).text()


class _Writer:
    """Writes the function down, block by block."""

    def __init__(self, program: FusedProgram, lanes: int) -> None:
        self.program, self.e = program, Emitter(lanes)
        n = program.n
        # Where the carried parts of the state begin; p and v of the result are only shown.
        at = {"q": 0, "cq": 3, "p": 4, "cp": 5, "move": 6}
        self.slots = {name: range(i * n, (i + 1) * n) for name, i in at.items()}
        if program.needs_velocity:
            self.slots["v"] = range(2 * n, 3 * n)
        self.parts = len(program.substeps)
        self.guarded = program.charted or program.paced
        self.scratched = self.parts > 1 or program.room > 0
        if not self.scratched:
            self.slots["memory"] = range(HEAD * n, HEAD * n + program.memory)
        if many := program.handed.numel():
            end = program.slots - (CLOCK if program.paced else 0)
            self.slots["inherited"] = range(end - many, end)
        if program.paced:
            self.slots["clock"] = range(program.slots - CLOCK, program.slots)
        self.names = CONSERVATIVE if program.conservative else NOTES[:-2]
        self.rest = lean(
            ca.Function(
                "rest",
                [*program.symbols.values(), program.q1, program.p1],
                [program.v1, program.tangent],
            )
        )
        self.needs = _needs(program)

    def text(self) -> str:
        e = self.e
        self._entry()
        e.label("start")
        limit, good = e.name(), e.name()
        start = self._hole()
        self._copy_memory("%scratch", self.remembered)
        some = e.put(f"icmp ne i64 {limit}, 0")
        e.do(f"br i1 {some}, label %head, label %none")

        e.label("head")
        self.block = "head"
        k, state, notes, old, chart, row = self._carried()
        head = self._hole()
        bound = self._bound(state, k)
        z: dict[str, list[str]] = {}
        history: list[str] = []
        ok, iterations = self._solves(bound, z, history, self.program.nodes[: self.fixed])
        first = e.put(f"icmp eq i64 {k}, 0")
        if self.parts > 1:  # within a step there is nothing left over from the one before
            first = e.put(f"or i1 {first}, {e.put(f'icmp ne i64 {self.part}, 0')}")
        e.do(f"br i1 {first}, label %settled, label %late")
        solved = self.block

        e.label("late")
        shown, noted, finite = self._late(state, old, notes)
        e.do(f"br i1 {e.all(finite)}, label %kept, label %spoiled")
        next_row = self._kept("kept", "written", "settled", state, shown, row)

        e.label("settled")
        ways = (solved, "kept", "written")
        values = zip(self.shown, shown, shown, strict=True)
        shown = [self._merged(e.type, ways, x) for x in values]
        noted = {x: self._merged(e.type, ways, (notes[x], *[noted[x]] * 2)) for x in noted}
        row = [
            self._merged(kind, ways, (now, *after))
            for kind, now, after in zip(("ptr", "i64"), row, next_row, strict=True)
        ]
        if not self.scratched:
            e.do(f"br i1 {e.all(ok)}, label %move, label %failed")
        else:
            e.do(f"br i1 {e.all(ok)}, label %move, label %unfit")
            e.label("unfit")
            up_to = e.put(f"add i64 {k}, 1")
            whole = e.put(f"icmp eq i64 {self.part}, 0") if self.parts > 1 else "true"
            if self.program.room:  # the factors of other lanes may have been renewed
                whole = "false"
            e.do(f"br i1 {whole}, label %failed, label %spoiled")

        e.label("move")
        self.block = "move"
        _, iterations = self._solves(
            bound, z, history, self.program.nodes[self.fixed :], iterations
        )
        new = self._moved(bound, z, history)
        counted = noted | self._counted(noted, iterations)
        new_old = self._picked(bound | z)
        k_next, part_next, whole_step = self._counted_on(k)
        if self.program.paced:
            new["clock"] = self._ticked(bound | z, new, whole_step)
        new_chart = self._chart(new, bound)
        more = e.put(f"icmp ult i64 {k_next}, {limit}")
        if self.guarded:
            inside = e.compare("oge", new_chart, self.par["threshold"])
            if self.parts > 1:
                inside = e.put(f"or i1 {inside}, {e.put(f'xor i1 {whole_step}, true')}")
            more = e.put(f"and i1 {more}, {inside}")
        e.do(f"br i1 {more}, label %head, label %last")

        e.label("last")
        last_shown, last_noted, last_finite = self._late(new, new_old, counted)
        e.do(f"br i1 {e.all(last_finite)}, label %last_kept, label %spoiled")
        self._kept("last_kept", "last_written", "out", new, last_shown, row)

        e.label("spoiled")
        ways, counts, fine = ("late", "last"), (k, k_next), (finite, last_finite)
        if self.scratched:
            ways, counts, fine = (*ways, "unfit"), (*counts, up_to), (*fine, ok)
        spoiled = self._merged("i64", ways, counts)
        spared = self._merged(e.mask, ways, fine)
        before = e.put(f"add i64 {spoiled}, -1")
        e.do("br label %start")

        e.label("out")
        self._leave(new, last_shown, last_noted, new_chart, good, k_next)
        e.label("failed")
        survived = e.put(f"and {e.mask} {good}, {ok}")
        self._leave(state, shown, noted, chart, survived, k)
        e.label("none")
        e.store("%notes", NOTES.index("ok"), e.number(good))
        e.do("ret i64 0")

        self._fill(start, [(limit, "i64", "%count", before)], "%entry", "%spoiled")
        self._fill(start, [(good, e.mask, e.splat("true"), spared)], "%entry", "%spoiled")
        place, left = self.row
        whole = [(k, "i64", "0", k_next), (place, "ptr", "%store", row[0])]
        if self.parts > 1:
            whole.append((self.part, "i64", "0", part_next))
        end = f"%{self.block}"
        self._fill(head, [*whole, (left, "i64", "%until", row[1])], "%start", end)
        pairs = [
            (name, e.type, before, after)
            for part, names in state.items()
            for name, before, after in zip(names, self.first[part], new[part], strict=True)
        ]
        pairs += [(notes[x], e.type, self.first_notes[x], counted[x]) for x in self.names]
        zero = e.constant(0.0)
        for part, entries in old.items():
            pairs += [(x, e.type, zero, new_old[part][i]) for i, x in entries.items()]
        if self.guarded:
            pairs.append((chart, e.type, e.constant(1.0), new_chart))
        self._fill(head, pairs, "%start", end)
        return _tables(self.program.substeps) + module("steps", "i64", SIGNATURE, e)

    # ---- pieces of the loop ------------------------------------------------------------------

    def _entry(self) -> None:
        e, n = self.e, self.program.n
        self.first = {
            part: [e.load("%state", i) for i in slots] for part, slots in self.slots.items()
        }
        self.shown = [e.load("%state", n + i) for i in range(2 * n)]
        self.floor = [e.load("%state", (HEAD - 1) * n + i) for i in range(n)]
        self.first_notes = {key: e.load("%notes", NOTES.index(key)) for key in self.names}
        self.par = {name: e.broadcast("%par", i) for i, name in enumerate(PAR)}
        count = self.program.inputs["par"].numel()
        self.parameters = [e.broadcast("%par", len(PAR) + i) for i in range(count)]
        if self.scratched:
            values = self.program.memory * self.parts * e.lanes
            e.do(f"%scratch = alloca [{max(values, 1)} x double], align 64")
            at = HEAD * n * e.lanes
            self.remembered = e.put(f"getelementptr double, ptr %state, i64 {at}")
        if self.program.room:
            given = 1 + sum(x.numel() for x in self.program.symbols.values())
            e.do(f"%space = alloca [{given * e.lanes} x double], align 64")
            e.do("%unknown = alloca i64, align 8")
            e.do("store i64 0, ptr %unknown, align 8")
        e.do("br label %start")

    remembered = ""
    left = ""  # the most that a solve of this step has left, if rounding may not explain it

    def _copy_memory(self, target: str, source: str) -> None:
        """What Newton remembers of all sub-steps, from the state to the scratch space or back."""
        if not self.scratched:
            return
        size = 8 * self.program.memory * self.parts * self.e.lanes
        self.e.declared.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        given = f"ptr align 8 {target}, ptr align 8 {source}, i64 {size}, i1 false"
        self.e.do(f"call void @llvm.memcpy.p0.p0.i64({given})")

    def _counted_on(self, k: str) -> tuple[str, str, str]:
        """The numbers of the next step and sub-step; whether this one completes a step."""
        e = self.e
        if self.parts == 1:
            return e.put(f"add i64 {k}, 1"), "0", "true"
        after = e.put(f"add i64 {self.part}, 1")
        whole = e.put(f"icmp eq i64 {after}, {self.parts}")
        k_next = e.put(f"add i64 {k}, {e.put(f'zext i1 {whole} to i64')}")
        return k_next, e.put(f"select i1 {whole}, i64 0, i64 {after}"), whole

    def _hole(self) -> int:
        """A place for φ-nodes whose values are known only at the end."""
        self.e.lines.append("")
        return len(self.e.lines) - 1

    def _fill(self, hole: int, values, one: str, other: str) -> None:
        lines = [f"  {x} = phi {t} [ {a}, {one} ], [ {b}, {other} ]" for x, t, a, b in values]
        self.e.lines[hole] = "\n".join([*filter(None, [self.e.lines[hole]]), *lines])

    def _merged(self, kind: str, ways, values) -> str:
        """A φ-node."""
        pairs = ", ".join(f"[ {x}, %{way} ]" for way, x in zip(ways, values, strict=True))
        return self.e.put(f"phi {kind} {pairs}")

    def _kept(self, block: str, written: str, after: str, state, shown: list[str], row):
        """Store the state if it is its turn: what `row` is then, if not stored and if stored."""
        e, (place, left) = self.e, row
        e.label(block)
        fewer = e.put(f"add i64 {left}, -1")
        due = e.put(f"icmp eq i64 {fewer}, 0")
        e.do(f"br i1 {due}, label %{written}, label %{after}")
        e.label(written)
        values = [*state["q"], *shown, *state.get("clock", [])[:1]]
        for i, value in enumerate(values):
            e.store(place, i, value)
        further = e.put(f"getelementptr double, ptr {place}, i64 {len(values) * e.lanes}")
        e.do(f"br label %{after}")
        return (place, further), (fewer, "%every")

    def _carried(self):
        """Names of what the head of the loop is given: see `text`."""
        e = self.e
        state = {part: [e.name() for _ in slots] for part, slots in self.slots.items()}
        notes = {key: e.name() for key in self.names}
        old = {part: {i: e.name() for i in entries} for part, entries in self.needs.items()}
        chart = e.name() if self.guarded else e.constant(1.0)
        self.row = (e.name(), e.name())  # where the next row goes, after how many steps
        self.part = e.name()  # number of the sub-step
        return e.name(), state, notes, old, chart, self.row

    def _leave(self, state, shown: list[str], notes, chart: str, ok: str, made: str) -> None:
        """Write everything down and return."""
        e, n = self.e, self.program.n
        for part, slots in self.slots.items():
            for slot, value in zip(slots, state[part], strict=True):
                e.store("%state", slot, value)
        for i, value in enumerate(shown):
            e.store("%state", n + i, value)
        self._copy_memory(self.remembered, "%scratch")
        for key, value in {**notes, "chart": chart, "ok": e.number(ok)}.items():
            e.store("%notes", NOTES.index(key), value)
        e.do(f"ret i64 {made}")

    # ---- one step ----------------------------------------------------------------------------

    def _bound(self, state: dict[str, list[str]], k: str) -> dict[str, list[str]]:
        """Values of the program's inputs in this step."""
        e = self.e
        bound = {"v": [UNUSED] * self.program.n} | state
        bound |= {"floor": self.floor, "h": [self.par["h"]], "par": self.parameters}
        if self.scratched:
            bound["memory"] = self._own_memory()
        if self.program.paced:
            return self._paced(bound)
        number = e.spread(e.put(f"uitofp i64 {k} to double"))
        now = e.put(f"fadd {e.type} {self.par['k']}, {number}")
        if self.parts == 1:
            ends = [now, e.put(f"fadd {e.type} {now}, {e.constant(1.0)}")]
        else:
            ends = [e.plus(now, self._of_table("nodes", shift)) for shift in (0, 1)]
            bound |= self._part_of(self.par["h"])
        for name, count in zip(("t", "t1"), ends, strict=True):
            moved = e.put(f"fmul {e.type} {count}, {self.par['h']}")
            bound[name] = [e.put(f"fadd {e.type} {self.par['t0']}, {moved}")]
        return bound

    def _part_of(self, h: str) -> dict[str, list[str]]:
        """The size of this sub-step of a step of size h, and whether it is the last."""
        e = self.e
        share = e.put(f"fmul {e.type} {self._of_table('shares', 0)}, {h}")
        whole = e.put(f"icmp eq i64 {self.part}, {self.parts - 1}")
        last = e.spread(e.put(f"uitofp i1 {whole} to double"))
        return {"h": [share], "last": [last]}

    own = "%scratch"

    def _own_memory(self) -> list[str]:
        """What is remembered of this sub-step, for the guesses."""
        e, program = self.e, self.program
        if self.parts > 1:
            first = e.put(f"mul i64 {self.part}, {program.memory * e.lanes}")
            self.own = e.put(f"getelementptr double, ptr %scratch, i64 {first}")
        return [e.load(self.own, i) for i in range(program.memory - program.room)]

    def _paced(self, bound: dict[str, list[str]]) -> dict[str, list[str]]:
        """The same where steps vary: times by the clock, sizes by the density."""
        e, (now, _, density) = self.e, bound["clock"]
        h = e.put(f"fdiv {e.type} {self.par['h']}, {density}")
        bound |= {"h": [h], "t": [now], "t1": [e.plus(now, h)]}
        if self.parts > 1:
            for name, shift in (("t", 0), ("t1", 1)):
                moved = e.put(f"fmul {e.type} {self._of_table('nodes', shift)}, {h}")
                bound[name] = [e.plus(now, moved)]
            bound |= self._part_of(h)
        return bound

    def _ticked(self, known, new, whole_step: str) -> list[str]:
        """The clock after this step; within a step it stands still."""
        e, program = self.e, self.program
        now, carry, density = known["clock"]
        h = e.put(f"fdiv {e.type} {self.par['h']}, {density}")
        (t,), (left,) = _compensated(e, [now], [carry], [h])
        values = [known[name] for name in program.symbols]
        v1, tangent = e.inline(self.rest, [*values, new["q"], new["p"]])
        p1 = [e.plus(a, b) for a, b in zip(new["p"], tangent, strict=True)]
        pace = lean(program.pace_function)
        ((growth,),) = e.inline(pace, [new["q"], p1, v1, [t], self.parameters])
        grown = e.plus(density, e.put(f"fmul {e.type} {self.par['h']}, {growth}"))
        after = [t, left, grown]
        if self.parts == 1:
            return after
        return [
            e.put(f"select i1 {whole_step}, {e.type} {a}, {e.type} {b}")
            for a, b in zip(after, known["clock"], strict=True)
        ]

    def _of_table(self, name: str, shift: int) -> str:
        """The entry of a table (see `_tables`) for this sub-step, or the one after it."""
        e = self.e
        at = e.put(f"add i64 {self.part}, {shift}")
        place = e.put(f"getelementptr double, ptr @{name}, i64 {at}")
        return e.spread(e.put(f"load double, ptr {place}, align 8"))

    @property
    def fixed(self) -> int:
        """How many nodes there are up to the last that may fail: those make the head."""
        nodes = self.program.nodes
        return max((i + 1 for i, node in enumerate(nodes) if isinstance(node, Newton)), default=0)

    def _solves(self, bound, solutions: dict[str, list[str]], history: list[str], nodes, count=""):
        """Emit nodes, adding to solutions and history: (converged, iterations so far)."""
        e, program = self.e, self.program
        given = [*program.inputs, *solutions]
        symbols = [program.symbols[name] for name in given]
        values = [(bound | solutions)[name] for name in given]
        ok, iterations = e.splat("true"), count or e.constant(0.0)
        room = program.memory - program.room  # where factors are kept begins
        for index, node in enumerate(nodes, len(solutions)):
            if isinstance(node, Choice):
                z, self.block = chosen(e, str(index), node, symbols, values, self.block)
            elif isinstance(node, Polish):
                made = polished(e, str(index), node, symbols, values, iterations, self.block)
                z, iterations, self.block = made
            else:
                guess = e.inline(ca.Function("guess", symbols, [node.guess]), values)[0]
                known = list(zip(symbols, values, strict=True))
                place = (self.own, room) if node.factors.numel() else None
                loop = newton_loop(e, index, node, known, guess, iterations, self.block, place)
                z, done, iterations, left, self.block = loop
                if left:
                    self.left = e.largest(left, self.left) if self.left else left
                room += node.room
                ok = done if ok == e.splat("true") else e.put(f"and {e.mask} {ok}, {done}")
            if not isinstance(node, Choice):
                old = bound["memory"][len(history) : len(history) + node.slots]
                history += node.remembered(z, old)
            solutions[f"z{index}"] = z
            symbols, values = [*symbols, node.unknowns], [*values, z]
        return ok, iterations

    def _moved(self, bound, solutions, history: list[str]) -> dict[str, list[str]]:
        """The new state, as far as the next step needs it."""
        e, program = self.e, self.program
        known = bound | solutions
        symbols = list(program.symbols.values())
        values = [known[name] for name in program.symbols]
        moves = e.inline(lean(ca.Function("move", symbols, list(program.parts[0]))), values)
        q1, cq1 = _compensated(e, bound["q"], bound["cq"], *moves)
        dq = [functools.reduce(e.plus, parts) for parts in zip(*moves, strict=True)]
        kick = ca.Function("kick", [*symbols, program.q1], list(program.parts[1]))
        p1, cp1 = _compensated(e, bound["p"], bound["cp"], *e.inline(lean(kick), [*values, q1]))
        new = {"q": q1, "cq": cq1, "p": p1, "cp": cp1, "move": dq}
        if not self.scratched:
            new["memory"] = history
        else:
            for i, value in enumerate(history):
                e.store(self.own, i, value)
        if program.needs_velocity:
            new["v"] = e.inline(self.rest, [*values, q1, p1])[0]
        if program.handed.numel():
            hand = ca.Function("hand", [*symbols, program.q1, program.p1], [program.handed])
            new["inherited"] = e.inline(lean(hand), [*values, q1, p1])[0]
        return new

    def _picked(self, known: dict[str, list[str]]) -> dict[str, dict[int, str]]:
        """What the rest of this step needs besides the new state."""
        return {name: {i: known[name][i] for i in entries} for name, entries in self.needs.items()}

    def _chart(self, new, bound) -> str:
        """The chart's condition at the new state, or how many steps there is room for."""
        e, program = self.e, self.program
        if program.paced:
            now, _, density = new["clock"]
            left = e.put(f"fsub {e.type} {self.par['t0']}, {now}")
            return e.put(
                f"fdiv {e.type} {e.put(f'fmul {e.type} {left}, {density}')}, {self.par['h']}"
            )
        if not program.charted:
            return e.constant(1.0)
        inputs = [program.ends["q"], program.inputs["t1"], program.inputs["par"]]
        function = lean(ca.Function("chart", inputs, [program.condition]))
        return e.inline(function, [new["q"], bound["t1"], bound["par"]])[0][0]

    def _late(self, state, old, notes):
        """The rest of a step: (p and v of the result, notes, whether it is finite)."""
        e, program = self.e, self.program
        last = self.program.substeps[-1]
        if program.paced:
            span = e.put(f"fdiv {e.type} {old['h'][0]}, {e.constant(last)}")
            known = {"floor": self.floor, "par": self.parameters}
        else:
            span = self.par["h"]
            h = e.put(f"fmul {e.type} {e.constant(last)}, {span}")
            known = {"floor": self.floor, "h": [h], "par": self.parameters}
        for name, symbol in program.symbols.items():
            if name not in known:
                entries = old.get(name, {})
                known[name] = [entries.get(i, UNUSED) for i in range(symbol.numel())]
        q1, carried = state["q"], state["p"]
        v1, tangent = e.inline(self.rest, [*(known[name] for name in program.symbols), q1, carried])
        p1 = [e.plus(a, b) for a, b in zip(carried, tangent, strict=True)]
        inputs = [*program.ends.values(), program.inputs["t1"], program.span, program.inputs["par"]]
        monitor = lean(ca.Function("monitor", inputs, [ca.densify(program.monitors)]))
        given = [q1, p1, v1, known["t1"], [span], known["par"]]
        g, hidden, energy, *powers = e.inline(monitor, given)[0]
        size = e.intrinsic("fabs", energy)
        if program.monitors[2].is_constant():  # a flow has none
            for x in q1:
                size = e.plus(size, e.intrinsic("fabs", x))
        finite = e.compare("olt", size, e.constant(float("inf")))
        return [*p1, *v1], self._noted(notes, g, hidden, energy, powers, span), finite

    def _noted(self, notes: dict[str, str], g, hidden, energy, powers, span) -> dict[str, str]:
        """The accumulated notes after this step."""
        e = self.e
        error = e.put(f"fsub {e.type} {energy}, {notes['energy0']}")
        after, waits, second, before = dict(notes), None, "", ""
        if not self.program.conservative:
            function = worked(self.program.switched, self.program.paced)
            *done, off, wait, known = e.inline(
                function, [[notes[x] for x in WORK], powers, [span]]
            )[0]
            after |= dict(zip(WORK, done, strict=True))
            error = e.put(f"fsub {e.type} {error}, {after['work']}")
            waits, second = (e.compare("ogt", x, e.constant(0.5)) for x in (wait, known))
            before = e.plus(notes["error"], off)
            after |= {"error": error, "error_sum": e.plus(notes["error_sum"], off)}
        least, most = notes["error_min"], notes["error_max"]
        if (
            waits is not None
        ):  # the balance before this step is known now, if it has been waited for
            least = e.select(second, e.smallest(before, least), least)
            most = e.select(second, e.largest(before, most), most)
        low, high = e.smallest(error, least), e.largest(error, most)
        return after | {
            "max_g": e.largest(g, notes["max_g"]),
            "max_hidden": e.largest(hidden, notes["max_hidden"]),
            "error_min": low if waits is None else e.select(waits, least, low),
            "error_max": high if waits is None else e.select(waits, most, high),
            "error_sum": e.plus(after["error_sum"], error),
        }

    def _counted(self, notes: dict[str, str], iterations: str) -> dict[str, str]:
        """The notes on Newton."""
        e = self.e
        found = {
            "iterations": e.plus(notes["iterations"], iterations),
            "most_iterations": e.largest(iterations, notes["most_iterations"]),
        }
        if self.left:
            loose = e.compare("ogt", self.left, e.constant(0.0))
            found["loose"] = e.plus(notes["loose"], e.number(loose))
            found["left"] = e.largest(self.left, notes["left"])
        return found


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
    return module("map", "void", "ptr noalias readonly %in, ptr noalias %out", e)


def _needs(program: FusedProgram) -> dict[str, list[int]]:
    """Entries of a step's inputs and solutions that its rest depends on, beside the new state."""
    rest = ca.vertcat(program.v1, program.tangent, program.monitors)
    found = {}
    for name, symbol in program.symbols.items():
        if name not in INVARIANT and symbol.numel():
            used = ca.which_depends(rest, symbol)
            found[name] = [i for i, is_used in enumerate(used) if is_used]
    return found | ({"h": [0]} if program.paced else {})


def _tables(substeps: tuple[float, ...]) -> str:
    """Sizes of the sub-steps in units of h, and where they begin and end."""
    if len(substeps) == 1:
        return ""
    nodes = [0.0, *(math.fsum(substeps[: i + 1]) for i in range(len(substeps) - 1)), 1.0]
    e, text = Emitter(), ""
    for name, values in (("shares", substeps), ("nodes", nodes)):
        entries = ", ".join(f"double {e.constant(x)}" for x in values)
        text += f"@{name} = internal constant [{len(values)} x double] [{entries}]\n"
    return text


def module(name: str, result: str, arguments: str, e: Emitter) -> str:
    """The IR of a function with this body, and of those that it calls."""
    # Registers that are spilled to the stack would otherwise straddle cache lines.
    aligned = f"alignstack({8 * e.lanes}) " if e.lanes > 2 else ""
    declared = set(e.declared)
    text = ""
    for own, given, inner in e.functions:
        declared |= inner.declared
        body = "\n".join(inner.lines)
        head = f"define internal void @{own}({given}) noinline nounwind {aligned}"
        text += f"{head}{{\nentry:\n{body}\n  ret void\n}}\n"
    body = "\n".join(e.lines)
    head = f"define {result} @{name}({arguments}) nounwind {aligned}"
    return "\n".join([*sorted(declared), f"{text}{head}{{\nentry:\n{body}\n}}\n"])


def _compensated(e: Emitter, x: list[str], carry: list[str], *changes: list[str]):
    """Kahan's sum x + changes with the carry of earlier sums; (sum, new carry)."""
    sums, carries = [], []
    for a, c, *parts in zip(x, carry, *changes, strict=True):
        y = functools.reduce(e.plus, parts, c)
        s = e.put(f"fadd {e.type} {a}, {y}")
        moved = e.put(f"fsub {e.type} {s}, {a}")
        sums.append(s)
        carries.append(e.put(f"fsub {e.type} {y}, {moved}"))
    return sums, carries
