"""What `taut.methods.corrected` does to a step: the nearest state that keeps laws and constraints.

The state is y = (q, v), or (q, p) for a system given by its Hamiltonian, or x for a flow; φ(y) = 0
are, in this order, the constraints g, the hidden constraints G v + ∂g/∂t, and I − C.  With
J = ∂φ/∂y and the norm yᵀN y the nearest state, to first order, is

    Δy = −N⁻¹Jᵀ (J N⁻¹Jᵀ)⁻¹ φ.

Laws that depend on those before them are left out of the step: see `gram`.  So redundant laws, and
laws that depend on each other at some states only, do no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import casadi as ca
import sympy as sp

from taut.kernel.branches import Choice, Polish
from taut.kernel.eliminate import solve_linear
from taut.kernel.gram import QUICK, TINY, Gram, Quick, Ranked, full, paired, products
from taut.kernel.symmetric import corrected_symmetrically
from taut.methods.base import Method, Step, Vector

if TYPE_CHECKING:
    from taut.kernel.fused import FusedStep

SX = ca.SX
ROUNDING = 2.0**-52  # of each coordinate; half of it is noise that no correction mends
NOISE = 1e-7  # of the step: corrections that may be noise if they do not fall


def correct(
    step: FusedStep,
    inner: Method,
    laws: Sequence[sp.Expr],
    *,
    iterate: bool,
    norm: str,
    symmetric: bool,
) -> None:
    """A step of `inner`, corrected."""
    surface = Surface(step, laws, norm)
    if not surface.rows.numel():
        inner.program(cast(Step, step))
        return
    if symmetric:
        corrected_symmetrically(step, inner, surface)
        return
    landing = Landing(step)
    inner.program(cast(Step, landing))
    place = surface.landed(landing)
    moved = surface.squared(surface.way(landing, place), place)
    if iterate:
        delta = _iterated(step, surface, place, moved)
    elif surface.of_positions:
        delta = surface.in_turn(place, moved)
    else:
        delta = _whole(surface, place, moved).corrected()[0]
    delta = step.last * delta
    dq, dp, v, parts = surface.after(landing, place, delta)
    step.advance(q=dq, p=dp, v=v, remember=landing.remembered, parts=parts)


class Landing:
    """The step that the inner method sees; what it wants to advance by stays here."""

    def __init__(self, step: Any) -> None:
        self._step = step

    def __getattr__(self, name: str) -> Any:
        return getattr(self._step, name)

    def advance(self, *, q: Vector, p: Vector, v: Vector, tangent=None, remember=None) -> None:
        self.dq, self.dp, self.end_v = q, p if tangent is None else p + tangent, v
        self.remembered = remember


class Surface:
    """φ(y) = 0, its gradients, and the norm."""

    def __init__(self, step: FusedStep, laws: Sequence[sp.Expr], norm: str) -> None:
        ops = step.operators
        self.step, self.n, self.norm = step, ops.n, norm
        self.flow = step.system.first_order
        self.lagrangian = ops.form == "lagrangian"
        q, w, t = SX.sym("q", ops.n), SX.sym("w", ops.n), SX.sym("t")
        zero = SX.zeros(ops.n)
        if self.lagrangian:
            v, p = w, -ops.link(q, w, zero, t)
            self.mass = ca.jacobian(p, w)
        else:
            v, p = -ops.link(q, zero, w, t), w
            self.mass = ca.jacobian(v, w)  # its inverse
        self.y = q if self.flow else ca.vertcat(q, w)
        self.time, self.velocity, self.momentum = t, v, p
        self.targets = ca.vertcat(SX(0, 1), *step.held(laws))
        found = step.values(laws, q, v, p, t)
        self.places = ca.vertcat(SX(0, 1), ops.g(q, t))
        self.speeds = ca.vertcat(SX(0, 1), ops.hidden(q, v, t))
        gaps = [x - self.targets[i] for i, x in enumerate(found)]
        self.kept = ca.vertcat(SX(0, 1), *gaps)
        self.q, self.w = q, w
        self.rows = ca.vertcat(self.places, self.speeds, self.kept)

    @property
    def of_positions(self) -> bool:
        """Whether laws are functions of the positions alone (for a flow: of the state)."""
        return self.flow or not ca.depends_on(self.kept, self.w)

    def at(self, expression: SX, y: SX, t: SX | None = None) -> SX:
        """An expression of the state and of time at y, at the end of the step or at t."""
        now = self.step.t1 if t is None else t
        return ca.substitute([expression], [self.y, self.time], [y, now])[0]

    def value(self, y: SX) -> SX:
        """φ there."""
        return self.at(self.rows, y)

    def raised(self, row: SX, y: SX, t: SX | None = None, first: int = 0) -> SX:
        """N⁻¹ times a gradient in y, or in one half of it: of q, or with first=1 of w.

        N⁻¹ is M⁻¹ for gradients in q and v, and M for those in p.
        """
        if self.norm == "euclid" or self.flow:
            return row
        mass = self.at(self.mass, y, t)
        made = []
        for k, part in enumerate((row[: self.n], row[self.n :]), first):
            if part.numel():
                light = self.lagrangian or k == 1
                made.append(solve_linear(mass, part) if light else ca.mtimes(mass, part))
        return ca.vertcat(*made)

    def squared(self, change: SX, y: SX) -> SX:
        """The square of the length of a change of the state."""
        if self.norm == "euclid" or self.flow:
            return ca.dot(change, change)
        mass, parts = self.at(self.mass, y), (change[: self.n], change[self.n :])
        if self.lagrangian:
            return sum((ca.dot(x, ca.mtimes(mass, x)) for x in parts), SX(0))
        return ca.dot(parts[0], solve_linear(mass, parts[0])) + ca.dot(
            parts[1], ca.mtimes(mass, parts[1])
        )

    # ---- from the inner method to a state, and back -------------------------------------------

    def landed(self, landing: Any) -> SX:
        """The state that the inner method has come to."""
        step = self.step
        q = step.moved(landing.dq)
        if self.flow:
            return q
        return ca.vertcat(q, landing.end_v if self.lagrangian else step.kicked(landing.dp))

    def way(self, landing: Any, place: SX) -> SX:
        """The change of the state in the step."""
        if self.flow:
            return landing.dq
        if self.lagrangian:
            return ca.vertcat(landing.dq, landing.end_v - self.step.v)
        return ca.vertcat(landing.dq, landing.dp)

    def after(self, landing: Any, place: SX, delta: SX) -> tuple[SX, SX, SX, Any]:
        """(Δq, Δp, v) of the step that ends `delta` beside `place`, and parts of Δq and Δp."""
        shift = delta[: self.n]
        dq = landing.dq + shift
        q1 = self.step.moved(dq)
        if self.flow:
            parts = (landing.dq, shift), (landing.dp, SX.zeros(self.n))
            return dq, landing.dp, self.at(self.velocity, q1), parts
        change = delta[self.n :]
        if self.lagrangian:
            change = self.lifted(place, delta)
        dp, parts = landing.dp + change, ((landing.dq, shift), (landing.dp, change))
        if self.lagrangian:
            v1, p1 = self.step.unknown("v1", guess=self.step.v), self.step.kicked(dp)
            self.step.solve((v1, self.step.link(q1, v1, p1, self.step.t1)), watch=v1)
            return dq, dp, v1, parts
        return dq, dp, self.at(self.velocity, ca.vertcat(q1, self.step.kicked(dp))), parts

    def lifted(self, y: SX, delta: SX, t: SX | None = None) -> SX:
        """The change of p = L_v along `delta`."""
        slopes = ca.jacobian(self.momentum, self.y)
        if not ca.depends_on(slopes, self.y):
            return ca.mtimes(self.at(slopes, y, t), delta)
        return self.at(self.momentum, y + delta, t) - self.at(self.momentum, y, t)

    # ---- SGM's one-step correction, as printed --------------------------------------------------

    def in_turn(self, y: SX, moved: SX) -> SX:
        """Positions with φ and ∂φ/∂q, then velocities with φ̇ and ∂φ̇/∂q̇: (10) to (20)."""
        n = self.n
        rows = ca.vertcat(self.places, self.kept)
        slopes = self.at(ca.jacobian(rows, self.q), y)
        phi = self.at(rows, y)
        first = Frame(
            self.step,
            [ca.densify(slopes[i, :].T) for i in range(rows.numel())],
            lambda r: self.raised(r, y),
            phi,
            moved,
            self.places.numel(),
        )
        dq = first.corrected()[0]
        if self.flow:
            return dq
        there = ca.vertcat(y[:n] + dq, y[n:])
        rates = self.speeds
        if self.kept.numel():
            rates = ca.vertcat(
                rates,
                ca.jtimes(self.kept, self.q, self.velocity) + ca.jacobian(self.kept, self.time),
            )
        slopes = self.at(ca.jacobian(rates, self.w), there)
        phi = self.at(rates, there)
        second = Frame(
            self.step,
            [ca.densify(slopes[i, :].T) for i in range(rates.numel())],
            lambda r: self.raised(r, there, first=1),
            phi,
            moved,
            self.speeds.numel(),
        )
        return ca.vertcat(dq, second.corrected()[0])


class Frame:
    """Gradients, the values `phi` that are to be corrected, and what came before: see `gram`."""

    def __init__(self, step: FusedStep, rows: list[SX], raised: Any, phi: SX, moved: SX, sure: int):
        self.step, self.rows, self.phi, self.moved, self.sure = step, rows, phi, moved, sure
        self.gram = Gram(rows, [raised(row) for row in rows])
        self.ranked = Ranked(self.gram, phi, moved, sure)
        self.quick = Quick(self.gram) if 0 < len(rows) <= QUICK else None

    def corrected(self, weights: SX | None = None) -> tuple[SX, SX]:
        """Δy, and `weights` of the rows, zero for those that are left out."""
        weights = SX(0, 1) if weights is None else weights
        good = ca.vertcat(SX(0, 1), *self.ranked.good) if weights.numel() else SX(0, 1)
        careful = ca.vertcat(self.ranked.to(self.phi), good * weights)
        size = careful.numel() - weights.numel()
        if self.quick is None:
            return careful[:size], careful[size:]
        delta, square = self.quick.to(self.phi)
        plain = self.quick.plain(self.moved, square, self.sure)
        made = self.step.choose(ca.vertcat(delta, weights), plain, careful)
        return made[:size], made[size:]

    def inverse(self) -> Choice:
        """(J N⁻¹Jᵀ)⁻¹, for a second correction."""
        careful = usual = ca.vertcat(*self.ranked.inverse())
        plain = SX(1)
        if self.quick is not None:
            usual = ca.vertcat(*self.quick.inverse())
            plain = self.quick.plain(self.moved, self.quick.to(self.phi)[1], self.sure)
        return Choice(SX.sym("inverse", usual.numel()), usual, plain, careful)


def _whole(surface: Surface, y: SX, moved: SX) -> Frame:
    """All rows at one state."""
    slopes = surface.at(ca.jacobian(surface.rows, surface.y), y)
    rows = [ca.densify(slopes[i, :].T) for i in range(surface.rows.numel())]
    sure = surface.places.numel() + surface.speeds.numel()
    return Frame(
        surface.step, rows, lambda row: surface.raised(row, y), surface.value(y), moved, sure
    )


def _iterated(step: FusedStep, surface: Surface, place: SX, moved: SX) -> SX:
    """The state on φ = 0 that differs by a combination of the gradients at `place`.

    What is left of φ is measured in units of what rounding the state does to it.
    """
    frame = _whole(surface, place, moved)
    size = len(frame.rows)
    terms = [products(ca.fabs(row), ca.fabs(place)) for row in frame.rows]
    targets = ca.vertcat(SX.zeros(frame.sure), surface.targets)
    bounds = [ROUNDING * (x + ca.fabs(targets[i])) + TINY for i, x in enumerate(terms)]
    start, weights = frame.corrected(ca.vertcat(*(1 / x for x in bounds)))
    delta = step.unknown("correction", start.numel())
    phi = surface.value(place + delta)
    factors = frame.inverse()
    matrix = full([factors.unknowns[i] for i in range(factors.unknowns.numel())], size)

    def kappa(values: list[SX]) -> list[SX]:
        return [paired([a * x for a, x in zip(row, values, strict=True)]) for row in matrix]

    found = kappa([phi[i] for i in range(size)])
    change = frame.gram.moved([-x for x in found])
    along = kappa([ca.dot(row, delta) for row in frame.rows])
    step.polish(
        Polish(
            unknowns=delta,
            start=start,
            before=ca.dot(weights, ca.fabs(frame.phi)),
            left=ca.dot(weights, ca.fabs(phi)),
            change=change,
            settled=ca.dot(phi, ca.vertcat(*found)) <= NOISE**2 * moved,
            factors=factors,
            residual=delta - frame.gram.moved(along) - change,
        )
    )
    return delta
