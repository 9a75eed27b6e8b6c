"""A system and a method become a compiled step, remembered for as long as the process lives."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, cast

import casadi as ca
import numpy as np

from taut.errors import InputError
from taut.kernel.emit import lean
from taut.kernel.evaluate import Mechanics
from taut.kernel.forks import freed
from taut.kernel.fused import FusedProgram, accelerations, fuse
from taut.kernel.native import Native, compiled
from taut.kernel.operators import Operators, locals_of, translated
from taut.kernel.plan import AbstractStep, Planner, SolvePlan
from taut.kernel.sparse import analysed
from taut.kernel.step_code import PAR, map_code, steps_code
from taut.methods.base import Method, Step
from taut.model.system import System

SX = ca.SX
FUSED_LIMIT = 40  # coordinates and constraints up to which a step is unrolled into one kernel
# With one stage a step of more is unrolled, too, if its elimination is short: a few bodies.
MORE = 1.9  # times the limit
# Operations of an elimination that take a second or two to compile, without and with forces in it.
SHORT = {False: 4_000, True: 15_000}
SLENDER = 1e4  # mass times (arm of a joint)² over the inertia of a director: tiny bodies
STAGED_LIMIT = 60_000  # operations of a solve of all stages: more take many seconds to compile
MANY = (
    20_000  # steps that are worth code which takes six times as long to make: see `Workshop.step`
)


@dataclass(frozen=True, eq=False)
class CompiledStep:
    """A compiled pure function: one step of one method for one system.

    Attributes
    ----------
    address, context : int
        What the loop calls.
    slots : int
        Length of the state.
    lanes : int
        Trajectories that advance together.
    guard : context manager
        A lock if the step works on memory of its own, which one thread at a time may use.
    draft : bool
        Whether there is faster code, with the same results to the last bit.
    """

    system: System
    method: Method
    address: int
    context: int
    slots: int
    lanes: int
    keep: tuple[int, ...]
    chart: tuple[int, ...] | None
    program: Any = field(repr=False)
    alive: Any = field(repr=False)
    guard: Any = field(default_factory=nullcontext, repr=False)
    draft: bool = False

    @property
    def simplified(self) -> bool:
        """Whether Newton's matrix is simplified, so that `thorough` may succeed where it fails."""
        return self.program.simplified

    @property
    def thorough(self) -> CompiledStep:
        """The same step with Newton's exact matrix; states and what is handed over are the same."""
        shop, given = workshop(self.system), {"keep": self.keep, "chart": self.chart}
        many = 0 if self.draft else MANY
        return shop.step(self.method, lanes=self.lanes, thorough=True, steps=many, **given)

    def given(self, parameters: np.ndarray, h: float) -> np.ndarray:
        """What the loop hands over besides the state: room for `PAR`, parameters, tables for h."""
        found = self.method.tables(workshop(self.system).mechanics, parameters, h)
        tables = [np.reshape(found[x], size).ravel() for x, size in self.program.tables.items()]
        return np.concatenate([np.zeros(len(PAR)), parameters, *tables])

    def first_memory(self, q: np.ndarray, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        """What the step remembers before its first call: for a state, or for columns of states."""
        return self.program.first_memory(q, p, v)

    def first_inherited(
        self, q: np.ndarray, p: np.ndarray, v: np.ndarray, t, par, state: np.ndarray | None = None
    ) -> np.ndarray:
        """What the step inherits before its first call.

        v̇ for each of the vectors that the method remembers; then what the run holds on to, of
        these states or, if an inner `state` of the run (without a clock) is given, as it is there.
        """
        many, holds = self.program.remembers, self.program.holds
        found = [np.zeros((0, *q.shape[1:]))]
        if many:
            mechanics = workshop(self.system).mechanics
            found += [mechanics.accelerations(q.T, v.T, p.T, t, par)[0].T] * many
        if holds and state is not None:
            kept = state[len(state) - holds :].reshape(holds, *[1] * (q.ndim - 1))
            found.append(np.broadcast_to(kept, (holds, *q.shape[1:])))
        elif holds:
            rows = [np.atleast_2d(x.T) for x in (q, v, p)]
            count = len(rows[0])
            times = np.broadcast_to(np.asarray(t, float), (count,))[:, None]
            values = self.program.held([*rows, times, np.tile(par, (count, 1))], count)
            _check_values(values, getattr(self.method, "laws", None))
            found.append(values.T.reshape(holds, *q.shape[1:]))
        return np.concatenate(found)


def _check_values(values: np.ndarray, laws) -> None:
    """Laws can be held to values that they have."""
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, which = bad[0].tolist()
        named = f"{laws[which]}" if laws and len(laws) == values.shape[1] else f"number {which}"
        raise InputError(
            "a law has no finite value at the start",
            expected="laws that are defined on the way: log(x) where x > 0, say",
            received=f"{named} = {values[row, which]}",
            remedy="leave it out, or write it in another form: x*y for log(x) + log(y)",
        )


class Workshop:
    """Everything compiled for one system (found again by the system's content)."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.mechanics = Mechanics(system)
        self._steps: dict[tuple, CompiledStep] = {}
        self._asked: Counter[tuple] = Counter()
        self._making = freed(threading.RLock())
        self._maps: dict[Any, Any] = {}

    @property
    def small(self) -> bool:
        """Whether the system is small enough to be inlined as a whole."""
        return self.system.n + self.system.c <= FUSED_LIMIT

    def unrolled(self, method: Method) -> bool:
        """Whether steps of this method are unrolled into one kernel."""
        key = ("unrolled", method.key, FUSED_LIMIT, STAGED_LIMIT)  # asked for at every turn
        return self.remembered(key, lambda: self._is_short(method))

    def _is_short(self, method: Method) -> bool:
        if method.depth == 1 and len(method.substeps) == 1:
            size = self.system.n + self.system.c
            few = size <= MORE * FUSED_LIMIT and self._stout
            if self.small or not few:
                return self.small
            pulled = self._pulled(method)
            return self._elimination(pulled) <= SHORT[pulled]
        if not self.small or method.depth == 1:
            return self.small
        return self._elimination(True) * method.depth**3 <= STAGED_LIMIT

    @cached_property
    def _stout(self) -> bool:
        """Whether no body is tiny beside its joints: its multipliers would be lost to rounding."""
        if self.system.mechanism is None:
            return True
        joints = self.system.mechanism.joints.values()
        for body in (x for x in self.system.mechanism.parts.values() if x.shape.directors):
            places = [at for x in joints for side, at in zip((x.a, x.b), x.at, strict=True)
                      if side is body]  # fmt: skip
            arm = max((float(np.linalg.norm(x - body.position)) for x in places), default=0.0)
            lightest = min(body.extents[k - 1] for k in body.shape.directors)
            if body.mass * arm**2 > SLENDER * lightest:
                return False
        return True

    def _pulled(self, method: Method) -> bool:
        """Whether a solve of the method looks at forces where it does not know the coordinates."""
        step = AbstractStep(self.system, locals_of(self.system, method.invariants_of(self.system)))
        method.program(cast(Step, step))
        planner = Planner(step)
        for plan in (x for x in planner.plan() if isinstance(x, SolvePlan)):
            for placeholder in step.called(ca.vertcat(*plan.residuals)):
                moved = (
                    placeholder.arguments.get("q", SX(0)),
                    placeholder.arguments.get("q1", SX(0)),
                )
                if placeholder.operator.endswith("force") and any(
                    planner.reaches(x, plan.unknowns) for x in moved
                ):
                    return True
        return False

    def _elimination(self, pulled: bool) -> int:
        """Operations of a solve for one stage: coordinates and multipliers, with little fill.

        If it is `pulled`, coordinates feel each other through forces.
        """
        return self.remembered(("elimination", pulled), lambda: self._eliminated(pulled))

    def _eliminated(self, pulled: bool) -> int:
        ops = Operators(self.system)
        q, v, p = (SX.sym(name, ops.n) for name in "qvp")
        t, lam = SX.sym("t"), SX.sym("lam", ops.c)
        force, sizes, directions = ops.split_force(q, v, p, t)
        link = ops.link(q, v, p, t)
        balance = link + force + ops.push(q, t, lam)
        rows, cols = ca.jacobian(ops.g(q, t), q).sparsity().get_triplet()
        felt = (q, v, p) if pulled else (v, p)
        entries = [ca.jacobian(balance, x).sparsity().get_triplet() for x in felt]
        entries.append(([ops.n + i for i in rows], cols))
        first = ops.n + ops.c
        for x in (directions.T, ca.jacobian(sizes, v)):
            rows, cols = x.sparsity().get_triplet()
            entries.append(([first + i for i in rows], cols))
        late = np.repeat([0, 2], [ops.n, ops.c + sizes.numel()])
        found = analysed(len(late), [(np.array(i), np.array(j)) for i, j in entries], late)
        # Velocities and momenta are unknown side by side where forces depend on momenta, and
        # where the mass depends on coordinates.
        both = ca.depends_on(force, p) or ca.depends_on(link, q)
        return found.operations * (8 if both else 1)

    def step(
        self,
        method: Method,
        *,
        keep: tuple[int, ...],
        lanes: int = 1,
        chart: tuple[int, ...] | None = None,
        backend: str = "auto",
        thorough: bool = False,
        steps: int = 0,
    ) -> CompiledStep:
        """The compiled step of `method`, made on first use, for so many `steps`.

        Until `MANY` have been asked for, an unrolled step is a draft: translated as it stands, in a
        sixth of the time, into code that takes 1.2 to 2 times as long.  With less than 10⁵ steps
        or so that is the sooner way to the end.
        """
        if backend == "auto":
            backend = "fused" if self.unrolled(method) else "assembled"
        key = (method.key, keep, lanes, chart, backend, thorough)
        with self._making:
            self._asked[key] += steps
            draft, found = self._asked[key] < MANY, self._steps.get(key)
            if found is None or (found.draft and not draft):
                if backend == "fused":
                    found = self._fused(method, keep, lanes, chart, thorough, draft)
                else:
                    found = self._assembled(method, keep, lanes, chart)
                self._steps[key] = found
        return found

    def _fused(
        self, method: Method, keep, lanes: int, chart, thorough: bool, draft: bool
    ) -> CompiledStep:
        program = self.program(method, keep, chart, thorough)
        native = compiled(steps_code(program, lanes), draft=draft)
        return CompiledStep(
            self.system,
            method,
            native.address("steps"),
            0,
            program.slots,
            lanes,
            keep,
            chart,
            program,
            native,
            draft=draft,
        )

    def _assembled(self, method: Method, keep, lanes: int, chart) -> CompiledStep:
        from taut.kernel.assembled import assemble

        assert lanes == 1
        program = assemble(self.system, method, keep=list(keep), chart=chart)
        return CompiledStep(
            self.system,
            method,
            program.address,
            program.context,
            program.slots,
            1,
            keep,
            chart,
            program,
            program,
            freed(threading.Lock()),
        )

    def program(
        self, method: Method, keep: tuple[int, ...], chart=None, thorough: bool = False
    ) -> FusedProgram:
        """The fused program itself, whatever the size: of the step, and for diagnostics."""
        key = ("program", method.key, keep, chart, thorough)
        given = {"keep": list(keep), "chart": chart, "thorough": thorough}
        return self.remembered(key, lambda: fuse(self.system, method, **given))

    def observed(self) -> CompiledMap:
        """(q, v, p, t, parameters) → g, G v + ∂g/∂t and the energy, as a step monitors them."""

        def make() -> CompiledMap:
            ops = Operators(self.system)
            q, v, p = (SX.sym(name, ops.n) for name in "qvp")
            t = SX.sym("t")
            found = [ops.g(q, t), ops.hidden(q, v, t), ops.energy(q, v, p, t)]
            function = ca.Function("seen", [q, v, p, t, ops.par], [ca.densify(ca.vertcat(*found))])
            return CompiledMap(lean(function))

        return self.remembered("observed", make)

    def expressions(self, given: tuple) -> CompiledMap:
        """(q, v, p, t, parameters) → expressions in the system's symbols, compiled."""

        def make() -> CompiledMap:
            ops = Operators(self.system)
            q, v, p = (SX.sym(name, ops.n) for name in "qvp")
            t = SX.sym("t")
            found = ca.vertcat(*translated(self.system, list(given), q, v, p, t, ops.par))
            function = ca.Function("found", [q, v, p, t, ops.par], [ca.densify(found)])
            return CompiledMap(lean(function))

        return self.remembered(("expressions", given), make)

    def remembered(self, key: Any, make: Callable[[], Any]) -> Any:
        """What is made on first use.

        Of two threads that make it both get what the first one has put there: the other would end
        with its maker, and its address with it.
        """
        if key not in self._maps:
            self._maps.setdefault(key, make())
        return self._maps[key]

    def multipliers(self, keep: tuple[int, ...]) -> CompiledMap:
        """(q, v, p, t, parameters) → λ of the kept constraints, compiled."""

        def make() -> CompiledMap:
            ops = Operators(self.system, list(keep))
            q, v, p = (SX.sym(name, ops.n) for name in "qvp")
            t = SX.sym("t")
            _, lam = accelerations(ops, q, v, p, t)
            return CompiledMap(ca.Function("lam", [q, v, p, t, ops.par], [ca.densify(lam)]))

        return self.remembered(("multipliers", keep), make)


class CompiledMap:
    """An SX function compiled for evaluation at many points."""

    def __init__(self, function: ca.Function) -> None:
        self.inputs = function.nnz_in()
        self.outputs = function.nnz_out()
        self._native: Native = compiled(map_code(function))
        self.address = self._native.address("map")


@lru_cache(maxsize=256)
def _workshop(key: str) -> list:
    return []


def workshop(system: System) -> Workshop:
    """The workshop of `system`, shared by all systems with the same equations and names."""
    slot = _workshop(system.named_key)
    if not slot:
        slot.append(Workshop(system))
    return slot[0]
