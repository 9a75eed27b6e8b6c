"""The operators of a system as numbers, at one state or at many, for systems of any size.

Every term's CasADi function is mapped over its instances (and over the states asked for); the
results are scattered into arrays.  Used where speed of a loop is not at stake: at the start of a
run, and for the quantities that are computed from stored states.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from taut import portable
from taut.kernel.operators import ARGUMENTS, SPACES, Local, Operators
from taut.kernel.singular import least_squares, svd
from taut.model.symbols import free_symbols
from taut.model.system import System
from taut.portable import product

if TYPE_CHECKING:  # SciPy is loaded when a large system needs it: it takes a quarter of a second
    from scipy import sparse

POINTS = (1, 16, 128)  # evaluated in one call
CALLS = 8  # in place of one that evaluates more points than there are
LARGE = 60  # coordinates from which sparse linear algebra is used


class Mechanics:
    """Numeric operators of a system for given parameter values.

    Vectors have shape (n,) or (B, n); t is a number or (B,), parameters one row or B of them.
    Results have the same leading shape.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.n, self.c = system.n, system.c
        self.form = system.form
        self.locals = [Local(term, tuple(system.parameters)) for term in system.terms]
        self._functions: dict[tuple[int, str, str | None], AtPoints] = {}
        self.patterns: dict[Any, Any] = {}  # of sparse matrices that were factorised

    window: tuple[float, float] | None = None  # of a step; without it, no time

    def during(self, begin: float, end: float) -> Mechanics:
        """The same with what jumps in time in the mean over a step."""
        found = copy(self)
        found.window = begin, end
        return found

    @cached_property
    def _rows(self) -> list[np.ndarray]:
        found, at = [], 0
        for local in self.locals:
            count = local.term.instances * local.rows
            found.append(at + np.arange(count).reshape(local.term.instances, local.rows))
            at += count
        return found

    @cached_property
    def inertia(self) -> str:
        """By which argument `respond` is differentiated to give ∂²L/∂q̇∂q̇ or ∂²H/∂p∂p."""
        return "a" if self.form == "lagrangian" else "r"

    @cached_property
    def constant_mass(self) -> bool:
        """Whether that matrix is the same in all states."""
        return not any(x.varies("respond", self.inertia, ("q", "v", "p", "t")) for x in self.locals)

    @cached_property
    def involved(self) -> np.ndarray:
        """Which coordinates each constraint depends on, shape (c, n)."""
        found = np.zeros((self.c, self.n), dtype=bool)
        found[self.involved_pairs] = True
        return found

    @cached_property
    def involved_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The same as numbers of constraints and coordinates."""
        i_all, j_all = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for local, rows in zip(self.locals, self._rows, strict=True):
            for k in range(local.rows):
                used = free_symbols(local.term.expressions[k])
                here = [i for i, s in enumerate(local.term.coordinates) if s in used]
                i_all.append(np.repeat(rows[:, k], len(here)))
                j_all.append(local.term.indices[:, here].ravel())
        return np.concatenate(i_all), np.concatenate(j_all)

    @cached_property
    def connected(self) -> np.ndarray:
        """A number for each coordinate, the same for those that terms connect, shape (n,)."""
        label = np.arange(self.n)
        tables = [x.term.indices for x in self.locals if x.term.indices.size]
        if self.n > LARGE:
            from scipy.sparse import coo_matrix
            from scipy.sparse.csgraph import connected_components

            i = np.concatenate([np.repeat(x[:, 0], x.shape[1]) for x in tables])
            j = np.concatenate([x.ravel() for x in tables])
            graph = coo_matrix((np.ones(len(i)), (i, j)), (self.n, self.n))
            return connected_components(graph, directed=False)[1]
        while True:
            before = label.copy()
            for x in tables:
                np.minimum.at(label, x, label[x].min(axis=1, keepdims=True))
            if np.array_equal(label, before):
                return label

    def apply(self, operator: str, t, par: np.ndarray, **given: np.ndarray) -> np.ndarray:
        """Σ over terms; the vector that belongs to no term is not included (see `link` …)."""
        return self._added(operator, t, par, given, lambda x: x)

    def sizes(self, operator: str, t, par: np.ndarray, **given: np.ndarray) -> np.ndarray:
        """The same of the sizes of what the terms add."""
        return self._added(operator, t, par, given, np.abs)

    def _added(self, operator: str, t, par, given, taken: Callable) -> np.ndarray:
        lead = next(x.shape[:-1] for x in given.values())
        flat = {k: np.atleast_2d(x) for k, x in given.items()}
        count = next(len(x) for x in flat.values())
        size = {"q": self.n, "c": self.c, "1": 1}[SPACES[operator]]
        total = np.zeros((count, size))
        for number, (local, rows) in enumerate(zip(self.locals, self._rows, strict=True)):
            if not local.has(operator):
                continue
            part = self._mapped(self._function(number, operator), local, rows, flat, t, par, count)
            _scatter(total, _places(local, rows, SPACES[operator]), taken(part))
        return total.reshape(*lead, size)

    def _mapped(
        self, function: AtPoints, local: Local, rows, flat, t, par, count: int
    ) -> np.ndarray:
        """A local function at every state and instance, shape (count, instances, outputs)."""
        instances = local.term.instances
        points = count * instances
        args: list[np.ndarray | None] = []
        for name in ARGUMENTS:
            index = rows if name == "lam" else local.term.indices
            given = name in flat and index.shape[1] > 0
            args.append(flat[name][:, index].reshape(points, -1) if given else None)
        times = np.empty((count, instances, 1))
        times[:] = np.reshape(t, (-1, 1, 1))
        spread = np.empty((count, instances, par.shape[-1]))
        spread[:] = par[:, None] if par.ndim > 1 else par
        constants = local.term.values if count == 1 else np.tile(local.term.values, (count, 1))
        times, window = times.reshape(points, 1), np.empty((points, 2))
        window[:] = times if self.window is None else self.window
        more = times, spread.reshape(points, -1), constants, window
        found = function([*args, *more], points)
        return found.reshape(count, instances, -1)

    def derivative(self, operator: str, by: str, t: float, par, **given) -> sparse.csr_matrix:
        """∂operator/∂by at one state, as a sparse matrix over the whole system."""
        flat = {k: np.atleast_2d(x) for k, x in given.items()}
        space = SPACES[operator]
        shape = ({"q": self.n, "c": self.c, "1": 1}[space], self.c if by == "lam" else self.n)
        i_all, j_all, values = [], [], []
        for number, (local, rows) in enumerate(zip(self.locals, self._rows, strict=True)):
            if not local.has(operator):
                continue
            function = self._function(number, operator, by)
            blocks = self._mapped(function, local, rows, flat, t, par, 1)
            i, j = _blocks(_places(local, rows, space), rows if by == "lam" else local.term.indices)
            i_all.append(i.ravel())
            j_all.append(j.ravel())
            values.append(blocks.ravel())
        from scipy import sparse

        if not values:
            return sparse.csr_matrix(shape)
        data = np.concatenate(values), (np.concatenate(i_all), np.concatenate(j_all))
        return sparse.csr_matrix(data, shape=shape)

    def derivatives(self, operator: str, by: str, t: float, par, **given) -> np.ndarray:
        """∂operator/∂by at many states, dense: shape (B, rows, columns)."""
        count = len(next(iter(given.values())))
        space = SPACES[operator]
        height = {"q": self.n, "c": self.c, "1": 1}[space]
        total = np.zeros((count, height, self.c if by == "lam" else self.n))
        for number, (local, rows) in enumerate(zip(self.locals, self._rows, strict=True)):
            if not local.has(operator):
                continue
            function = self._function(number, operator, by)
            blocks = self._mapped(function, local, rows, given, t, par, count)
            i, j = _blocks(_places(local, rows, space), rows if by == "lam" else local.term.indices)
            _scatter(total.reshape(count, -1), i * total.shape[2] + j, blocks)
        return total

    def parts(self, number: int, expressions: Sequence[Any], t, par, **given) -> np.ndarray:
        """Parts of the expressions of a term, for each of B states and each instance: (B, I, k)."""
        local, key = self.locals[number], (number, str(tuple(expressions)), None)
        if key not in self._functions:
            value = ca.densify(local.written(expressions))
            arguments = list(local.arguments.values())
            self._functions[key] = AtPoints(ca.Function("parts", arguments, [value]))
        count = len(next(iter(given.values())))
        function, rows = self._functions[key], self._rows[number]
        return self._mapped(function, local, rows, given, t, par, count)

    def _function(self, number: int, operator: str, by: str | None = None) -> AtPoints:
        """A term's operator, or the vec of its derivative."""
        key = (number, operator, by)
        if key not in self._functions:
            local = self.locals[number]
            function = local.function(operator)
            if by is not None:
                x = list(local.arguments.values())
                matrix = ca.densify(ca.jacobian(function(*x), local.arguments[by]))
                function = ca.Function("d", x, [ca.vec(matrix)])
            self._functions[key] = AtPoints(function)
        return self._functions[key]

    # ---- the operators by name ---------------------------------------------------------------

    def momentum(self, q, v, t, par) -> np.ndarray:
        """P with p = L_v(q, v, t), or v = H_p(q, p, t) solved for p."""
        if self.form == "lagrangian":
            return -self.apply("link", t, par, q=q, v=v)
        return self._inverted(q, v, t, par, "p", "r")

    def velocity(self, q, p, t, par) -> np.ndarray:
        """V with v = H_p(q, p, t), or p = L_v(q, v, t) solved for v."""
        if self.form == "hamiltonian":
            return -self.apply("link", t, par, q=q, p=p)
        return self._inverted(q, p, t, par, "v", "a")

    def _inverted(self, q, y, t, par, name: str, tangent: str) -> np.ndarray:
        """Solve y + link(q, x) = 0 for x by Newton, one state at a time."""
        if q.ndim > 1:
            times = np.broadcast_to(np.asarray(t, float), (len(q),))
            rows = zip(q, y, times, strict=True)
            return np.array([self._inverted(a, b, s, par, name, tangent) for a, b, s in rows])

        def residual(x):
            return y + self.apply("link", t, par, q=q, **{name: x})

        x, last = np.zeros(self.n), np.inf
        rest = residual(x)
        for _ in range(100):
            matrix = self.derivative("respond", tangent, t, par, q=q, **{name: x})
            change = solve(matrix, rest)  # ∂link/∂x = respond's matrix, which is −Hessian
            x, change, rest = _shortened(residual, x, change, rest)
            size = np.abs(change).max()
            if size <= 1e-15 * np.abs(x).max() or (size >= last and size <= 1e-9 * np.abs(x).max()):
                break
            last = size
        return x

    def mass(self, q, v, p, t, par) -> np.ndarray:
        """L_vv, or the inverse of H_pp, as a dense matrix."""
        if self.form == "lagrangian":
            return -self.derivatives("respond", "a", t, par, q=q[None], v=v[None])[0]
        return portable.inverse(-self.derivatives("respond", "r", t, par, q=q[None], p=p[None])[0])

    def g(self, q, t, par) -> np.ndarray:
        """Constraints g(q, t)."""
        return self.apply("g", t, par, q=q)

    def jacobian(self, q, t, par) -> sparse.csr_matrix:
        """G = ∂g/∂q."""
        return self.derivative("g", "q", t, par, q=q)

    def gradients(self, q, t, par) -> np.ndarray:
        """G = ∂g/∂q as dense matrices, at one state or at many."""
        if self.n > LARGE:
            one = q.ndim == 1
            rows = [self.jacobian(x, t, par).toarray() for x in np.atleast_2d(q)]
            return rows[0] if one else np.array(rows)
        found = self.derivatives("g", "q", t, par, q=np.atleast_2d(q))
        return found.reshape(*q.shape[:-1], self.c, self.n)

    def gradients_again(self, q: np.ndarray, t: float, par: np.ndarray) -> np.ndarray:
        """G = ∂g/∂q at one state, for those who ask often: all terms are one function."""
        function, (rows, cols) = self._gradients
        found = np.zeros((self.c, self.n))
        found[rows, cols] = function([q[None], np.full((1, 1), t), par[None]], 1)[0]
        return found

    @cached_property
    def _gradients(self) -> tuple[AtPoints, tuple[np.ndarray, np.ndarray]]:
        """(q, t, parameters) → the entries of G, and where they stand."""
        ops = Operators(self.system)
        q, t = ca.SX.sym("q", self.n), ca.SX.sym("t")
        matrix = ca.sparsify(ca.jacobian(ops.g(q, t), q))
        rows, cols = (np.array(x, dtype=int) for x in matrix.sparsity().get_triplet())
        entries: Any = matrix.nonzeros()
        function = ca.Function("G", [q, t, ops.par], [ca.densify(ca.vertcat(*entries))])
        return AtPoints(function), (rows, cols)

    def hidden(self, q, v, t, par) -> np.ndarray:
        """G v + ∂g/∂t."""
        return self.apply("hidden", t, par, q=q, v=v)

    def energy(self, q, v, p, t, par) -> np.ndarray:
        """Energy v·L_v − L, or H, without the potential of what depends on time."""
        return self.apply("energy", t, par, q=q, v=v, p=p)[..., 0]

    def whole(self, q, v, p, t, par) -> np.ndarray:
        """Energy v·L_v − L, or H."""
        return self.apply("whole", t, par, q=q, v=v, p=p)[..., 0]

    def push(self, q, t, multipliers, par) -> np.ndarray:
        """Gᵀλ."""
        return self.apply("push", t, par, q=q, lam=multipliers)

    def power(self, q, v, p, multipliers, t, par) -> np.ndarray:
        """dE/dt along the constrained motion."""
        return self.apply("power", t, par, q=q, v=v, p=p, lam=multipliers)[..., 0]

    def accelerations(self, q, v, p, t, par) -> tuple[np.ndarray, np.ndarray]:
        """(v̇, λ); multipliers of least norm where constraints are redundant."""
        if q.ndim == 1:
            a, lam = self.accelerations(q[None], v[None], p[None], t, par)
            return a[0], lam[0]
        if self.n > LARGE and len(q) > 1:  # one after the other, for the sake of memory
            times = np.broadcast_to(np.asarray(t, float), (len(q),))
            rows = zip(q, v, p, times, np.broadcast_to(par, (len(q), par.shape[-1])), strict=True)
            a, lam = zip(*(self.accelerations(*row) for row in rows), strict=True)
            return np.array(a), np.array(lam)
        if self.n > LARGE:
            own = par if par.ndim == 1 else par[0]
            a, lam = self._sparse_accelerations(q[0], v[0], p[0], float(np.ravel(t)[0]), own)
            return a[None], lam[None]
        free, g, response = self._unconstrained(q, v, p, t, par)
        if self.c == 0:
            return free, np.zeros((len(q), 0))
        bend = self.apply("hidden_rate", t, par, q=q, v=v, a=np.zeros_like(q))
        schur = product(g, response)
        size = np.sqrt(np.abs(np.diagonal(schur, axis1=1, axis2=2)))
        scale = 1.0 / np.where(size > 0.0, size, 1.0)  # masses may differ by any factor
        right = scale * (product(g, free[..., None])[..., 0] + bend)
        found, rank = _least_squares(scale[:, :, None] * schur * scale[:, None, :], right)
        multipliers = scale * found
        for i in np.flatnonzero((rank < self.c) & np.all(np.isfinite(multipliers), axis=1)):
            multipliers[i] = least_squares(g[i].T, product(g[i].T, multipliers[i]), 1e-12)
        return free - product(response, multipliers[..., None])[..., 0], multipliers

    def multipliers(self, q, v, p, t, par, keep: tuple[int, ...]) -> np.ndarray:
        """λ at many states of a system that is not large, if the rows `keep` of G are independent.

        The others are G_drop = B G_keep, so that with T = (1, B) the λ of least norm is
        T (TᵀT)⁻¹ λ_keep, with the same Gᵀλ.
        """
        kept = list(keep)
        free, g, response = self._unconstrained(q, v, p, t, par)
        bend = self.apply("hidden_rate", t, par, q=q, v=v, a=np.zeros_like(q))
        own = g[:, kept]
        right = product(own, free[..., None])[..., 0] + bend[:, kept]
        found = portable.solve(product(own, response[:, :, kept]), right[..., None])
        if len(kept) < self.c:
            dropped = sorted(set(range(self.c)) - set(kept))
            turned = np.swapaxes(own, 1, 2)
            spread = np.zeros((len(q), self.c, len(kept)))
            spread[:, kept, np.arange(len(kept))] = 1.0
            shares = portable.solve(
                product(own, turned), product(own, np.swapaxes(g[:, dropped], 1, 2))
            )
            spread[:, dropped] = np.swapaxes(shares, 1, 2)
            found = product(
                spread, portable.solve(product(np.swapaxes(spread, 1, 2), spread), found)
            )
        return found[..., 0]

    def _sparse_accelerations(self, q, v, p, t, par) -> tuple[np.ndarray, np.ndarray]:
        """The same at one state of a large system."""
        from taut.kernel.saddle import Saddle

        zero, missing = np.zeros_like(q), (np.full(self.n, np.nan), np.full(self.c, np.nan))
        if not np.all(np.isfinite(q)):
            return missing  # a state that was never reached
        state = {"q": q, "v": v, "p": p}
        force = self.apply("force", t, par, **state)
        drift = self.apply("rate", t, par, **state, a=zero, r=zero)
        bend = self.apply("hidden_rate", t, par, q=q, v=v, a=zero)
        try:
            saddle = Saddle(self, q, v, p, t, par)
        except RuntimeError:
            return missing
        if self.form == "lagrangian":
            a, lam = saddle.solve(force + drift, -bend)
        else:  # a = W (force − Gᵀλ) − drift
            a, lam = saddle.solve(force, -bend + saddle.g @ drift)
            a = a - drift
        return a, saddle.least(lam)

    def _unconstrained(self, q, v, p, t, par) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Accelerations without constraints, G, and M⁻¹Gᵀ, at many states."""
        state, zero = {"q": q, "v": v, "p": p}, np.zeros_like(q)
        force = self.apply("force", t, par, **state)
        drift = self.apply("rate", t, par, **state, a=zero, r=zero)
        g = self.derivatives("g", "q", t, par, q=q)
        turned = np.swapaxes(g, 1, 2)
        if self.form == "lagrangian":
            mass = -self.derivatives("respond", "a", t, par, q=q, v=v)
            both = portable.solve(mass, np.concatenate([(force + drift)[..., None], turned], 2))
            return both[..., 0], g, both[..., 1:]
        inverse = -self.derivatives("respond", "r", t, par, q=q, p=p)
        return product(inverse, force[..., None])[..., 0] - drift, g, product(inverse, turned)


def _least_squares(matrix: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The solutions of least norm of many square systems, and their ranks."""
    known = np.all(np.isfinite(matrix), axis=(1, 2)) & np.all(np.isfinite(right), axis=1)
    right = np.where(known[:, None], right, np.nan)  # states that were never reached
    u, s, vt = svd(np.where(known[:, None, None], matrix, 0.0))
    large = s > 1e-12 * s.max(axis=1, keepdims=True)
    along = product(np.swapaxes(u, 1, 2), right[..., None])[..., 0]
    along = np.where(large, along / np.where(large, s, 1.0), 0.0)
    return product(np.swapaxes(vt, 1, 2), along[..., None])[..., 0], large.sum(axis=1)


@dataclass(frozen=True)
class Snapshot:
    """A system at one state or at many; what is asked for is computed once."""

    mechanics: Mechanics
    q: np.ndarray
    v: np.ndarray
    p: np.ndarray
    t: float
    par: np.ndarray

    def __getitem__(self, row: int) -> Snapshot:
        """One of many."""
        par = self.par if self.par.ndim == 1 else self.par[row]
        return replace(self, q=self.q[row], v=self.v[row], p=self.p[row], par=par)

    def rows(self) -> Snapshot:
        """The same as many states, if it is one."""
        if self.q.ndim > 1:
            return self
        return replace(self, q=self.q[None], v=self.v[None], p=self.p[None])

    @cached_property
    def energy(self) -> np.ndarray:
        return self.mechanics.energy(self.q, self.v, self.p, self.t, self.par)

    @cached_property
    def force(self) -> np.ndarray:
        return self.mechanics.apply("force", self.t, self.par, q=self.q, v=self.v, p=self.p)

    @cached_property
    def g(self) -> np.ndarray:
        return self.mechanics.g(self.q, self.t, self.par)

    @cached_property
    def hidden(self) -> np.ndarray:
        return self.mechanics.hidden(self.q, self.v, self.t, self.par)

    @cached_property
    def gradients(self) -> np.ndarray:
        return self.mechanics.gradients(self.q, self.t, self.par)

    @cached_property
    def size(self) -> np.ndarray:
        """Of the summands of each constraint."""
        return self.mechanics.apply("size", self.t, self.par, q=self.q)

    @cached_property
    def hessian(self) -> np.ndarray:
        """∂²L/∂q̇∂q̇ or ∂²H/∂p∂p up to its sign, dense."""
        rows = {name: np.atleast_2d(x) for name, x in self._state.items()}
        found = self.mechanics.derivatives(
            "respond", self.mechanics.inertia, self.t, self.par, **rows
        )
        return found.reshape(*self.q.shape[:-1], *found.shape[1:])

    def jacobian(self) -> sparse.csr_matrix:
        """G at one state of a large system."""
        return self.mechanics.jacobian(self.q, self.t, self.par)

    def sparse_hessian(self) -> sparse.csr_matrix:
        """The same at one state of a large system."""
        by = self.mechanics.inertia
        return self.mechanics.derivative("respond", by, self.t, self.par, **self._state)

    @property
    def _state(self) -> dict[str, np.ndarray]:
        return {"q": self.q, "v": self.v, "p": self.p}


class AtPoints:
    """A function with one dense output, evaluated at many points.

    CasADi reads and writes the arrays themselves, a batch of points at a time.
    """

    def __init__(self, function: ca.Function) -> None:
        self.function, self._own = function, threading.local()
        self.length: int = function.nnz_out(0)  # of a row of results

    def _buffer(self, batch: int, given: tuple[int, ...]) -> tuple[Any, Any]:
        """What CasADi reads these arguments from, each thread its own; to make one takes long."""
        if not hasattr(self._own, "buffers"):
            self._own.buffers = {}
        if (batch, given) not in self._own.buffers:
            function = self.function if batch == 1 else self.function.map(batch)
            self._own.buffers[batch, given] = function.buffer()
        return self._own.buffers[batch, given]

    def __call__(self, args: list[np.ndarray | None], points: int) -> np.ndarray:
        """One row of results per row of the arguments; an argument that is None is zero."""
        batch = next((x for x in POINTS if points <= CALLS * x), POINTS[-1])
        padded = -(-points // batch) * batch
        result = np.empty((padded, self.length))
        if not result.size:
            return result[:points]
        given = {i: _rows(x, padded) for i, x in enumerate(args) if x is not None and x.size}
        buffer, evaluate = self._buffer(batch, tuple(given))
        for at in range(0, padded, batch):
            for i, x in given.items():
                buffer.set_arg(i, x[at : at + batch].data)
            buffer.set_res(0, result[at : at + batch].data)
            evaluate()
        return result[:points]


def _rows(x: np.ndarray, count: int) -> np.ndarray:
    """`x` as `count` contiguous rows, the last one repeated."""
    if len(x) < count:
        x = np.concatenate([x, np.broadcast_to(x[-1:], (count - len(x), x.shape[1]))])
    return np.ascontiguousarray(x, float)


def _blocks(lines: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the entries of a term's matrices, in the order of their vec."""
    i, j = np.broadcast_arrays(lines[:, None, :], columns[:, :, None])
    return i.reshape(len(lines), -1), j.reshape(len(lines), -1)


def _scatter(total: np.ndarray, places: np.ndarray, part: np.ndarray) -> None:
    """Add the parts (states, instances, k) to the columns `places` (instances, k) of `total`."""
    if len(total) < len(places):
        np.add.at(total, (slice(None), places), part)  # type: ignore[arg-type]
        return
    for instance, columns in enumerate(places):
        for k, column in enumerate(columns):
            total[:, column] += part[:, instance, k]


def _places(local: Local, rows: np.ndarray, space: str) -> np.ndarray:
    """Where a term's results go in a vector of this space, shape (instances, results)."""
    if space == "1":
        return np.zeros((local.term.instances, 1), int)
    return rows if space == "c" else local.term.indices


def _shortened(residual, x, change, rest):
    """Newton's step x − change, halved until it does not leave the domain or make things worse."""
    limit = 2.0 * np.abs(rest).max()
    for _ in range(60 if limit < np.inf else 1):
        with np.errstate(all="ignore"):
            there = residual(x - change)
        if np.abs(there).max() <= limit:
            break
        change = 0.5 * change
    return x - change, change, there


def dense(matrix: Any) -> np.ndarray:
    """A matrix as an array, sparse or not."""
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def solve(matrix: Any, right: np.ndarray) -> np.ndarray:
    """matrix⁻¹ right, dense for small systems and sparse for large ones."""
    if matrix.shape[0] <= LARGE or isinstance(matrix, np.ndarray):
        return portable.solve(dense(matrix), right)
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import splu

    return splu(csc_matrix(matrix)).solve(np.asarray(right))
