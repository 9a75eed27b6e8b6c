"""The mechanics of a term as CasADi functions: gradients, Legendre link, constraint forces.

Each operator is a sum over the terms of a system (plus, for three of them, one vector that
belongs to no term).  For a summand ℓ(q, v, t) of L, 𝓗(q, p, t) of H, a force f and constraints g:

| operator      | no term | Lagrangian ℓ                  | Hamiltonian 𝓗                 | force | constraint          |
|---------------|---------|-------------------------------|-------------------------------|-------|---------------------|
| link          | p or v  | −ℓ_v                          | −𝓗_p                         |       |                     |
| force         |         | ℓ_q                           | −𝓗_q                         | f     |                     |
| pull          |         | ℓ_q                           | −𝓗_q                         |       |                     |
| rate          | r or a  | −(ℓ_vv a + ℓ_vq v + ℓ_vt)     | −(𝓗_pp r + 𝓗_pq v + 𝓗_pt)  |       |                     |
| respond       | r or a  | −ℓ_vv a                       | −𝓗_pp r                      |       |                     |
| g             |         |                               |                               |       | g                   |
| size          |         |                               |                               |       | Σ |summands of g|   |
| push          |         |                               |                               |       | Gᵀλ                 |
| hidden        |         |                               |                               |       | G v + g_t           |
| hidden_rate   |         |                               |                               |       | G a + (G v + g_t)_q v + (G v + g_t)_t |
| whole         |         | v·ℓ_v − ℓ                     | 𝓗                            |       |                     |
| energy        |         | v·ℓ_v − ℓ − u                 | 𝓗 − u                        |       |                     |
| power         |         | −(ℓ + u)_t − u_q·v            | (𝓗 − u)_t − u_q·v            | f·v   | λ·g_t               |
| jumps         |         | Σ |Δℓ_q| + |Δℓ_qt|            | Σ |Δ𝓗_q| + |Δ𝓗_qt|          | same  |                     |

so that dE/dt = power along the constrained motion.  u(q, t) is the potential of what depends on
time: those summands of −ℓ, or of 𝓗, that know t, at rest, when they are multiplied out (see
`changing`).  It is a force that does work, and no
part of the energy: a load −F(t)·x would make as much energy as one likes by a shift of the origin,
and any function of time can be added to it.  What jumps in time is taken in the mean over a
`window` in forces and their power (see `switches`); the window is the step, or no time at all.  Δ is
the difference of the means before t and after t, each half of the window: zero unless something
jumps or bends in it.  A flow ẋ = f(x, t) is 𝓗 = p·f at p = 0: link is −f,
rate is −(f_q v + f_t), mean_velocity is f at q̄, and that is all.  Between two states (q, v, p) and (q₁, v₁, p₁), with
v̄ and q̄ their means, D a discrete gradient (see `discrete`), ℓ̂ the polarised ℓ and ψ = G v + g_t:

| operator      | no term       | Lagrangian ℓ              | Hamiltonian 𝓗     | force      | constraint  |
|---------------|---------------|---------------------------|--------------------|------------|-------------|
| mean_velocity | (v + v₁)/2    |                           | D_p 𝓗             |            |             |
| mean_force    |               | D_q ℓ̂                     | −D_q 𝓗            | f(q̄, v̄)  |             |
| mean_push     |               |                           |                    |            | (D_q g)ᵀλ   |
| mean_lift     |               |                           |                    |            | (D_v ψ)ᵀλ   |
| mean_respond  | r or a        | −(ℓ_vv(q) + ℓ_vv(q₁)) a/2 | −D_p (𝓗_p·r)      |            |             |
| mean_bend     |               | −D_q (ℓ_v(q, v̄)·a)       | D_q (𝓗_p·r)       |            | (D_q ψ)ᵀλ   |

(no term, for mean_velocity: of a Lagrangian system only).  Time is that of the middle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np
import sympy as sp

from taut.kernel.discrete import Discrete
from taut.kernel.eliminate import entries
from taut.kernel.translate import to_casadi
from taut.model.changing import changing
from taut.model.invariants import known_to
from taut.model.switches import smeared, switches
from taut.model.symbols import free_symbols, t as time_symbol
from taut.model.system import System
from taut.model.terms import Term

SX = ca.SX

# Output space of each operator: coordinates, constraints, or a number.
SPACES = {
    "link": "q",
    "force": "q",
    "pull": "q",
    "rate": "q",
    "respond": "q",
    "push": "q",
    "mean_velocity": "q",
    "mean_force": "q",
    "mean_push": "q",
    "mean_lift": "q",
    "mean_respond": "q",
    "mean_bend": "q",
    "g": "c",
    "size": "c",
    "hidden": "c",
    "hidden_rate": "c",
    "whole": "1",
    "energy": "1",
    "power": "1",
    "jumps": "1",
}
TINY = 2.0**-1022  # the smallest normal number
ARGUMENTS = ("q", "v", "p", "a", "r", "q1", "v1", "p1", "lam")


def translated(system: System, expressions: list, q: SX, v: SX, p: SX, t: SX, par: SX) -> list[SX]:
    """Expressions in the system's own symbols, as functions of these vectors."""
    names = system.parameter_symbols(dict.fromkeys(system.parameters, 0.0))
    table: dict[sp.Symbol, SX] = {symbol: par[i] for i, symbol in enumerate(names)}
    for group, vector in ((system.coordinates, q), (system.velocities, v), (system.momenta, p)):
        table |= {symbol: vector[i] for i, symbol in enumerate(group)}
    return to_casadi([system.read(e) for e in expressions], table | {system.time: t})


def column(x: SX | list) -> SX:
    """A dense column, also of nothing."""
    x = ca.vertcat(*x) if isinstance(x, list) else x
    return ca.densify(x) if x.numel() else SX(0, 1)


@dataclass(frozen=True, eq=False)
class Local:
    """One term's operators in its own local variables.

    Attributes
    ----------
    arguments : dict
        Local symbols: q, v, p, a, r, q1, v1, p1 (k of each), lam (one per constraint), t, par,
        const, window (begin and end of the time for which what is found at t stands).
    invariants : tuple of Expr
        At most quadratic functions of the local coordinates that discrete gradients may go through.
    """

    term: Term
    parameters: tuple[str, ...]
    invariants: tuple[sp.Expr, ...] = ()

    @cached_property
    def arguments(self) -> dict[str, SX]:
        k, m = len(self.term.coordinates), self.rows
        names = {name: SX.sym(name, k) for name in ARGUMENTS[:-1]}
        names["lam"] = SX.sym("lam", m)
        names["t"] = SX.sym("t")
        names["par"] = SX.sym("par", len(self.parameters))
        names["const"] = SX.sym("const", len(self.term.constants))
        names["window"] = SX.sym("window", 2)
        return names

    @property
    def rows(self) -> int:
        """Constraints per instance."""
        return len(self.term.expressions) if self.term.kind == "constraint" else 0

    @cached_property
    def _table(self) -> dict[sp.Symbol, SX]:
        """What the symbols of the term's expressions stand for."""
        x, term = self.arguments, self.term
        rates = x["p"] if term.kind == "hamiltonian" else x["v"]
        table = {time_symbol: x["t"]}
        table |= {s: x["q"][i] for i, s in enumerate(term.coordinates)}
        table |= {s: rates[i] for i, s in enumerate(term.rates)}
        table |= {s: x["const"][i] for i, s in enumerate(term.constants)}
        free = free_symbols(*term.expressions, *self.invariants) - set(table)
        by_name = {name: x["par"][i] for i, name in enumerate(self.parameters)}
        table |= {s: by_name[s.name] for s in free if s.name in by_name}
        # Symbols may differ from ours in their assumptions only (time above all).
        return table | {s: x["t"] for s in free if s.name == time_symbol.name}

    @cached_property
    def value(self) -> SX:
        """The term's expressions as a column."""
        return column(to_casadi(list(self.term.expressions), self._table))

    def written(self, expressions: Sequence[sp.Expr]) -> SX:
        """Parts of the term's expressions as a column."""
        return column(to_casadi(list(expressions), self._table))

    # ---- what depends on time --------------------------------------------------------------------

    @cached_property
    def smooth(self) -> tuple[Term, dict[sp.Symbol, SX]]:
        """The term with what jumps in time in the mean over the window, and its symbols."""
        (*found,), table = self._smeared(self.term.expressions)
        return replace(self.term, expressions=tuple(found)), table

    def _smeared(self, expressions: Sequence[sp.Expr]) -> tuple[list[sp.Expr], dict]:
        """Expressions without what jumps in time, and what their symbols stand for."""
        begin, end = sp.symbols("begin end", real=True, cls=sp.Dummy)
        window, found = self.arguments["window"], []
        table = {**self._table, begin: window[0], end: window[1]}
        for e in expressions:
            mean, definitions = smeared(
                e.xreplace(self._clocks), time_symbol, begin, end, self._still
            )
            for symbol, value in definitions:
                (table[symbol],) = to_casadi([value], table)
            found.append(mean)
        return found, table

    @property
    def _clocks(self) -> dict[sp.Symbol, sp.Symbol]:
        """Symbols of the time that differ from ours in their assumptions."""
        free = free_symbols(*self.term.expressions)
        known = {*self.term.coordinates, *self.term.rates, *self.term.constants}
        return {s: time_symbol for s in free - known if s.name == time_symbol.name}

    @cached_property
    def switched(self) -> bool:
        """Whether something in it jumps in time."""
        if self.term.kind in ("constraint", "flow"):
            return False
        parts = (e.xreplace(self._clocks) for e in self.term.expressions)
        return any(switches(e, time_symbol, self._still) for e in parts)

    def _still(self, symbol: sp.Symbol) -> bool:
        """Whether it does not change along the motion."""
        return symbol not in self.term.coordinates and symbol not in self.term.rates

    @cached_property
    def potential(self) -> sp.Expr:
        """u(q, t): what of an energy depends on time and not on rates."""
        (e,), kind = self.term.expressions, self.term.kind
        parts = [x.xreplace(self._clocks) for x in sp.Add.make_args(e)]
        still = dict.fromkeys(self.term.rates, sp.S.Zero)
        rest = sp.Add(*(x for x in parts if x.has(time_symbol))).xreplace(still)
        if not rest.has(time_symbol) or rest.has(sp.nan, sp.zoo, sp.oo, -sp.oo):
            return sp.S.Zero
        rest = changing(rest, time_symbol)
        return -rest if kind == "lagrangian" else rest

    def _own(self, e: SX, rates: SX) -> tuple[SX, SX, SX]:
        """The energy e without u, u, and the power u_q·v of its force."""
        x = self.arguments
        (u,) = to_casadi([self.potential], self._table)
        (mean,), table = self._smeared([self.potential])
        slope = ca.gradient(to_casadi([mean], table)[0], x["q"])
        return e - u, u, ca.dot(slope, rates)

    def _jumps(self, function: ca.Function) -> SX:
        """By how much a force, and its slope in time, differ before and after the middle."""
        x = dict(self.arguments)
        force = function(*x.values())
        both, window = ca.vertcat(force, ca.jacobian(force, x["t"])), x["window"]
        sides = [(window[0], x["t"]), (x["t"], window[1])]
        before, after = (ca.substitute(both, window, ca.vertcat(*side)) for side in sides)
        return ca.sum1(ca.fabs(after - before))

    def _size(self) -> SX:
        """The sizes of what is added up in each expression, together: the scale of its round-off."""
        parts = (sp.Add.make_args(e) for e in self.term.expressions)
        return column([ca.sum1(ca.fabs(column(to_casadi(list(p), self._table)))) for p in parts])

    @cached_property
    def _formulas(self) -> dict[str, Callable[[], SX]]:
        x, e = self.arguments, self.value
        q, v, p, a, r, lam, t = (x[name] for name in ("q", "v", "p", "a", "r", "lam", "t"))
        middle = [(x[name] + x[f"{name}1"]) / 2 for name in ("q", "v")]

        def d(f: SX, s: SX) -> SX:
            return ca.densify(ca.jacobian(f, s))

        def along(f: SX, dv: SX, rates: SX) -> SX:
            """Total time derivative of f(q, rates, t) along q̇ = v, rates' = dv."""
            return ca.jtimes(f, rates, dv) + ca.jtimes(f, q, v) + d(f, t)

        def grad(s: SX) -> SX:
            return column(ca.gradient(e, s))

        def pull() -> SX:
            term, table = self.smooth
            return column(ca.gradient(column(to_casadi(list(term.expressions), table)), q))

        jumps = {"jumps": lambda: self._jumps(self.function("force"))} if self.switched else {}
        if self.term.kind == "lagrangian":
            return jumps | {
                "link": lambda: -grad(v),
                "force": pull,
                "pull": lambda: grad(q),
                "rate": lambda: -along(grad(v), a, v),
                "respond": lambda: -ca.jtimes(grad(v), v, a),
                "whole": lambda: _legendre(e, v),
                "energy": lambda: _legendre(-self._own(-e, v)[0], v),
                "power": lambda: d((own := self._own(-e, v))[0], t) - own[2],
                "mean_force": lambda: self.discrete.gradient("q"),
                "mean_respond": lambda: -ca.mtimes(_mean_mass(grad(v), v, q, x["q1"]), a),
                "mean_bend": lambda: -self.discrete.bend("q"),
            }
        if self.term.kind == "hamiltonian":
            return jumps | {
                "link": lambda: -grad(p),
                "force": lambda: -pull(),
                "pull": lambda: -grad(q),
                "rate": lambda: -along(grad(p), r, p),
                "respond": lambda: -ca.jtimes(grad(p), p, r),
                "whole": lambda: e,
                "energy": lambda: self._own(e, v)[0],
                "power": lambda: d((own := self._own(e, v))[0], t) - own[2],
                "mean_velocity": lambda: self.discrete.gradient("p"),
                "mean_force": lambda: -self.discrete.gradient("q"),
                "mean_respond": lambda: -self.discrete.bend("p"),
                "mean_bend": lambda: self.discrete.bend("q"),
            }
        if self.term.kind == "flow":
            return {
                "link": lambda: -e,
                "rate": lambda: -along(e, a, p),
                "mean_velocity": lambda: ca.substitute(e, q, middle[0]),
            }
        if self.term.kind == "force":
            found, table = self._drawn
            e, split = column(to_casadi(found, table)), self._split
            e = -column(ca.gradient(e, v)) if self.term.dissipates else e
            found = jumps | {
                "force": lambda: e,
                "power": lambda: ca.dot(e, v),
                "mean_force": lambda: ca.substitute(e, ca.vertcat(q, v), ca.vertcat(*middle)),
            }
            return found if split is None else found | {"split": lambda: split}
        hidden = ca.jtimes(e, q, v) + d(e, t)
        return {
            "g": lambda: e,
            "size": self._size,
            "push": lambda: column(ca.jtimes(e, q, lam, True)),
            "hidden": lambda: hidden,
            "hidden_rate": lambda: ca.jtimes(e, q, a) + ca.jtimes(hidden, q, v) + d(hidden, t),
            "power": lambda: ca.dot(lam, d(e, t)),
            "mean_push": lambda: self.discrete.gradient("q"),
            "mean_lift": lambda: self.discrete.bend("v"),
            "mean_bend": lambda: self.discrete.bend("q"),
        }

    @property
    def _drawn(self) -> tuple[list[sp.Expr], dict[sp.Symbol, SX]]:
        """A force without what jumps in time, and its symbols; with slopes at rest, too.

        The derivative of √(v·v) is 0/0 where v = 0, though |v| v is smooth there.  That of
        √(v·v + 2⁻¹⁰²²) is zero, and the root is the same double wherever v² does not underflow.
        """
        term, table = self.smooth
        expressions, rates = list(term.expressions), set(term.rates)
        if not term.dissipates:
            roots = {
                x: (x.base + sp.Float(TINY)) ** x.exp
                for x in sp.Tuple(*expressions).atoms(sp.Pow)
                if x.exp.is_Number and 0 < x.exp < 1 and rates & x.free_symbols
            }
            expressions = [e.xreplace(roots) for e in expressions]
        return expressions, table

    @cached_property
    def _split(self) -> SX | None:
        """A force along a direction that knows no rates, as (size, direction): dampers, motors."""
        if self.term.kind != "force" or self.term.dissipates:
            return None
        rates, knows = set(self.term.rates), dict[sp.Basic, bool]()
        size: tuple[sp.Basic, ...] = ()
        directions = []
        found, table = self._drawn
        for e in found:
            factors = sp.Mul.make_args(e)
            for x in factors:
                if x not in knows:
                    knows[x] = not rates.isdisjoint(free_symbols(x))
            moving = tuple(x for x in factors if knows[x])
            if e != 0 and (not moving or Counter(size or moving) != Counter(moving)):
                return None
            size = size or moving
            directions.append(sp.Mul(*(x for x in factors if not knows[x])))
        return column(to_casadi([sp.Mul(*size), *directions], table)) if size else None

    @cached_property
    def discrete(self) -> Discrete:
        """The discrete gradients of the term."""
        return Discrete(self.smooth[0], self.invariants, self.arguments, self.smooth[1])

    def has(self, operator: str) -> bool:
        """Whether this term contributes to `operator`."""
        return operator in self._formulas

    def looks_at(self, operator: str) -> list[str]:
        """Names of the arguments that the contribution to `operator` depends on."""
        used = entries(self.function(operator)(*self.arguments.values()))
        return [name for name, x in self._entries.items() if not used.isdisjoint(x)]

    def varies(self, operator: str, by: str | None, names: Sequence[str]) -> bool:
        """Whether an operator, or its derivative by an argument, depends on any of these."""
        if not self.has(operator):
            return False
        function, places = self.function(operator), list(self.arguments)
        if by is not None:
            x = list(self.arguments.values())
            slope = ca.jacobian(function(*x), self.arguments[by])
            function = ca.Function("slope", x, [ca.vec(ca.densify(slope))])
        return any(function.sparsity_jac(places.index(name), 0).nnz() for name in names)

    @cached_property
    def _entries(self) -> dict[str, set[int]]:
        return {name: entries(x) for name, x in self.arguments.items()}

    def function(self, operator: str) -> ca.Function:
        """The contribution to `operator` as a function of all `arguments`, in their order."""
        if operator not in self._functions:
            out = ca.densify(self._formulas[operator]())
            self._functions[operator] = ca.Function(operator, list(self.arguments.values()), [out])
        return self._functions[operator]

    @cached_property
    def _functions(self) -> dict[str, ca.Function]:
        return {}


def separable(locals: Sequence[Local], form: str) -> bool:
    """Whether v is an affine function of p alone: a constant mass, and no terms like q v or t v."""
    inertia = "a" if form == "lagrangian" else "r"
    return not any(
        x.varies("link", None, ("q", "t")) or x.varies("respond", inertia, ("q", "v", "p", "t"))
        for x in locals
    )


def _mean_mass(momentum: SX, v: SX, q: SX, q1: SX) -> SX:
    mass = ca.jacobian(momentum, v)
    return (mass + ca.substitute(mass, q, q1)) / 2


def _legendre(e: SX, v: SX) -> SX:
    """v·ℓ_v − ℓ; for ℓ quadratic in v the same as ½ vᵀℓ_vv v − ℓ(v = 0), with fewer operations."""
    gradient = column(ca.gradient(e, v))
    curved = ca.jtimes(gradient, v, v)
    if ca.depends_on(ca.jacobian(gradient, v), v):
        return ca.dot(v, gradient) - e
    return ca.dot(v, curved) / 2 - ca.substitute(e, v, SX.zeros(*v.shape))


class Operators:
    """All operators of a system on whole vectors (the fused back end's mechanics)."""

    def __init__(
        self, system: System, keep: list[int] | None = None, invariants: Sequence[sp.Expr] = ()
    ) -> None:
        self.n, self.all_c = system.n, system.c
        self.keep = list(range(system.c)) if keep is None else keep
        self.form, self.mixed = system.form, system.mixed
        self.par = SX.sym("par", len(system.parameters))
        self.locals = locals_of(system, invariants)
        self.window: tuple[SX, SX] | None = None  # of a step; without it, no time

    @cached_property
    def separable(self) -> bool:
        """Whether v is an affine function of p alone."""
        return separable(self.locals, self.form)

    @property
    def c(self) -> int:
        """Number of constraints in use."""
        return len(self.keep)

    def apply(self, operator: str, t: SX, **given: SX) -> SX:
        """Σ over terms and instances, scattered; vectors not given are zero."""
        space = SPACES[operator]
        total = {"q": SX.zeros(self.n), "c": SX.zeros(self.all_c), "1": SX.zeros(1)}[space]
        for _, index, lines, part in self._parts(operator, t, given):
            total[{"q": index, "c": lines, "1": [0]}[space]] += part
        if space == "c":
            return total[self.keep] if self.keep else SX(0, 1)
        return total

    def _parts(self, operator: str, t: SX, given: dict[str, SX]):
        """(Term, places of its coordinates and of its constraints, contribution) of each instance."""
        lam = given.get("lam", SX.zeros(self.c))
        full = {name: given.get(name, SX.zeros(self.n)) for name in ARGUMENTS[:-1]}
        full["lam"] = SX.zeros(self.all_c)
        window = ca.vertcat(t, t) if self.window is None else ca.vertcat(*self.window)
        if self.keep:
            full["lam"][self.keep] = lam
        row = 0
        for local in self.locals:
            term = local.term
            rows = row + _rows(local)
            row += term.instances * local.rows
            if not local.has(operator):
                continue
            function = local.function(operator)
            for i in range(term.instances):
                index, lines = term.indices[i].tolist(), rows[i].tolist()
                args = [full[name][index] for name in ARGUMENTS[:-1]]
                args += [full["lam"][lines] if lines else SX(0, 1), t, self.par, SX(term.values[i])]
                yield local, index, lines, function(*args, window)

    def split_force(self, q: SX, v: SX, p: SX, t: SX) -> tuple[SX, SX, SX]:
        """The force as f + D σ: σ are sizes along directions D that know no velocities."""
        sizes, directions = [], []
        for _, index, _, part in self._parts("split", t, {"q": q, "v": v, "p": p}):
            direction = SX(self.n, 1)
            direction[index] = part[1:]
            sizes.append(part[0])
            directions.append(direction)
        rest = SX.zeros(self.n)
        for local, index, _, part in self._parts("force", t, {"q": q, "v": v, "p": p}):
            if not local.has("split"):
                rest[index] += part
        return rest, ca.vertcat(SX(0, 1), *sizes), ca.horzcat(SX(self.n, 0), *directions)

    # The operators by the names methods use.  `first` is the one vector that belongs to no term.

    def link(self, q, v, p, t):
        first = p if self.form == "lagrangian" else v
        return first + self.apply("link", t, q=q, v=v, p=p)

    def force(self, q, v, p, t):
        return self.apply("force", t, q=q, v=v, p=p)

    def rate(self, q, v, p, a, r, t):
        first = r if self.form == "lagrangian" else a
        return first + self.apply("rate", t, q=q, v=v, p=p, a=a, r=r)

    def respond(self, q, v, p, w, r, t):
        first = r if self.form == "lagrangian" else w
        return first + self.apply("respond", t, q=q, v=v, p=p, a=w, r=r)

    def g(self, q, t):
        return self.apply("g", t, q=q)

    def push(self, q, t, multipliers):
        return self.apply("push", t, q=q, lam=multipliers)

    def hidden(self, q, v, t):
        return self.apply("hidden", t, q=q, v=v)

    def hidden_rate(self, q, v, a, t):
        return self.apply("hidden_rate", t, q=q, v=v, a=a)

    def mean_velocity(self, q, v, p, q1, v1, p1, t):
        if self.form == "lagrangian":
            return 0.5 * (v + v1)
        return self.apply("mean_velocity", t, q=q, p=p, q1=q1, p1=p1)

    def mean_force(self, q, v, p, q1, v1, p1, t):
        return self.apply("mean_force", t, q=q, v=v, p=p, q1=q1, v1=v1, p1=p1)

    def mean_push(self, q, q1, t, multipliers):
        return self.apply("mean_push", t, q=q, q1=q1, lam=multipliers)

    def mean_lift(self, q, v, q1, v1, t, multipliers):
        return self.apply("mean_lift", t, q=q, v=v, q1=q1, v1=v1, lam=multipliers)

    def mean_respond(self, q, p, q1, p1, w, r, t):
        first = r if self.form == "lagrangian" else w
        return first + self.apply("mean_respond", t, q=q, p=p, q1=q1, p1=p1, a=w, r=r)

    def mean_bend(self, q, v, p, q1, v1, p1, w, r, t, multipliers):
        return self.apply(
            "mean_bend", t, q=q, v=v, p=p, q1=q1, v1=v1, p1=p1, a=w, r=r, lam=multipliers
        )

    @property
    def switched(self) -> bool:
        """Whether something jumps in time."""
        return any(local.switched for local in self.locals)

    def energy(self, q, v, p, t):
        return self.apply("energy", t, q=q, v=v, p=p)

    def power(self, q, v, p, multipliers, t):
        return self.apply("power", t, q=q, v=v, p=p, lam=multipliers)

    def jumps(self, q, v, p, t):
        return self.apply("jumps", t, q=q, v=v, p=p)


def locals_of(system: System, invariants: Sequence[sp.Expr] = ()) -> list[Local]:
    """The terms of a system, each with those of the invariants that it knows all symbols of."""
    names = tuple(system.parameters)
    return [Local(x, names, known_to(x, names, invariants)) for x in system.terms]


def _rows(local: Local) -> np.ndarray:
    return np.arange(local.term.instances * local.rows).reshape(local.term.instances, local.rows)
