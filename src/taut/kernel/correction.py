"""What `taut.methods.corrected` does to a step: the nearest state that keeps laws and constraints.

The state is y = (q, v), or (q, p) for a system given by its Hamiltonian, or x for a flow; φ(y) = 0
are, in this order, the constraints g, the hidden constraints G v + ∂g/∂t, and I − C.  With
J = ∂φ/∂y and the norm yᵀN y the nearest state, to first order, is

    Δy = −N⁻¹Jᵀ (J N⁻¹Jᵀ)⁻¹ φ.

The matrix is factorised as L D Lᵀ, row by row.  Dₖ is the square of what is left of a gradient
when those before it are taken out of it.  If that is less than `RANK` of its length, or less than
gradients change along the correction (`FAR` times its length, in steps), the law depends on the
others here, and is left out of this step.  So redundant laws, and laws that depend on each other at
some states only, do no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import casadi as ca
import sympy as sp

from taut.kernel.eliminate import solve_linear
from taut.methods.base import Method, Step, Vector

if TYPE_CHECKING:
    from taut.kernel.fused import FusedStep

SX = ca.SX
RANK = 1e-4  # of a gradient that must be left beside the others
FAR = 3.0  # what gradients may change along a correction that is as long as the step
SOFT = 1e-12  # of the squared gradients: what holds multipliers of dependent laws at zero
TINY = 1e-200  # the same for a gradient that vanishes


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
        _symmetric(step, inner, surface)
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
        frame = Frame(surface, place, moved)
        delta = frame.to(frame.phi)
    delta = step.last * delta
    dq, dp, v = surface.after(landing, place, delta)
    step.advance(q=dq, p=dp, v=v, remember=landing.remembered)


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

    def speed(self, y: SX, change: SX) -> SX:
        """The velocity that a change of w makes."""
        return change if self.lagrangian else ca.mtimes(self.at(self.mass, y), change)

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

    def after(self, landing: Any, place: SX, delta: SX) -> tuple[SX, SX, SX]:
        """(Δq, Δp, v) of the step that ends `delta` beside `place`."""
        dq = landing.dq + delta[: self.n]
        q1 = self.step.moved(dq)
        if self.flow:
            return dq, landing.dp, self.at(self.velocity, q1)
        change = delta[self.n :]
        if self.lagrangian:
            dp = landing.dp + self.lifted(place, delta)
            v1, p1 = self.step.unknown("v1", guess=self.step.v), self.step.kicked(dp)
            self.step.solve((v1, self.step.link(q1, v1, p1, self.step.t1)), watch=v1)
            return dq, dp, v1
        dp = landing.dp + change
        return dq, dp, self.at(self.velocity, ca.vertcat(q1, self.step.kicked(dp)))

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
        first = _Basis(
            [slopes[i, :].T for i in range(rows.numel())],
            lambda r: self.raised(r, y),
            phi,
            moved,
            self.places.numel(),
        )
        dq = first.to(phi)
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
        second = _Basis(
            [slopes[i, :].T for i in range(rates.numel())],
            lambda r: self.raised(r, there, first=1),
            phi,
            moved,
            self.speeds.numel(),
        )
        return ca.vertcat(dq, second.to(phi))


class _Basis:
    """Gradients with their Gram matrix J N⁻¹Jᵀ = L D Lᵀ, in which what depends is left out.

    `phi` are the values that are to be corrected, after a move of squared length `moved`.  The
    first `sure` rows are constraints, which the method itself needs to be independent.
    """

    def __init__(self, rows: list[SX], raised: Any, phi: SX, moved: SX, sure: int) -> None:
        self.along = [raised(row) for row in rows]
        self.lower: list[list[SX]] = []
        self.good: list[SX] = []
        self.over: list[SX] = []  # 1/Dᵢ, zero for what is left out
        gaps: list[SX] = []  # L⁻¹φ
        reach = SX(0)  # the squared length of the correction so far
        for k, row in enumerate(rows):
            shares: list[SX] = []  # Lₖⱼ Dⱼ
            own: list[SX] = []
            for j in range(k):
                rest = ca.dot(row, self.along[j])
                for share, a in zip(shares, self.lower[j], strict=True):
                    rest = rest - share * a
                shares.append(rest)
                own.append(rest * self.over[j])
            left = size = ca.dot(row, self.along[k])
            gap = phi[k]
            for share, a, x in zip(shares, own, gaps, strict=True):
                left = left - share * a
                gap = gap - a * x
            # The reciprocal does not wait for the verdict.
            good, over = SX(1), 1 / ca.fmax(left, TINY)
            if k >= sure:
                far = FAR**2 * size * (reach * left + gap * gap)
                good = (left > RANK**2 * size) * (left * left * moved >= far)  # 1 or 0
                over = good * over
            reach = reach + gap * gap * over
            gaps.append(gap * good)
            self.lower.append(own)
            self.good.append(good)
            self.over.append(over)

    def solved(self, phi: SX) -> list[SX]:
        """(J N⁻¹Jᵀ)⁻¹φ, zero for what is left out."""
        found: list[SX] = []
        for k, own in enumerate(self.lower):
            rest = phi[k]
            for a, x in zip(own, found, strict=True):
                rest = rest - a * x
            found.append(rest)
        found = [x * over for x, over in zip(found, self.over, strict=True)]
        for k in reversed(range(len(found))):
            for j in range(k):
                found[j] = found[j] - self.lower[k][j] * found[k]
        return found

    def to(self, phi: SX) -> SX:
        """−N⁻¹Jᵀ (J N⁻¹Jᵀ)⁻¹φ."""
        return self.moved([-x for x in self.solved(phi)])

    def moved(self, kappa: Sequence[SX]) -> SX:
        """N⁻¹Jᵀκ."""
        total = SX.zeros(*self.along[0].shape) if self.along else SX(0, 1)
        for x, b in zip(kappa, self.along, strict=True):
            total = total + x * b
        return total


class Frame(_Basis):
    """The gradients of all rows at one state."""

    def __init__(self, surface: Surface, y: SX, moved: SX) -> None:
        slopes = surface.at(ca.jacobian(surface.rows, surface.y), y)
        rows = [slopes[i, :].T for i in range(surface.rows.numel())]
        self.phi = surface.value(y)
        sure = surface.places.numel() + surface.speeds.numel()
        super().__init__(rows, lambda row: surface.raised(row, y), self.phi, moved, sure)


def _iterated(step: FusedStep, surface: Surface, place: SX, moved: SX) -> SX:
    """The state on φ = 0 that differs by a combination of the gradients at `place`."""
    frame = Frame(surface, place, moved)
    size = surface.rows.numel()
    y = step.unknown("correction", size)
    delta = frame.moved([y[i] for i in range(size)])
    found = frame.solved(surface.value(place + delta))
    out = [x + (1 - frame.good[i]) * y[i] for i, x in enumerate(found)]
    step.solve((y, ca.vertcat(*out)), watch=_watched(step, surface, place, delta), prepared=True)
    return delta


def _watched(step: FusedStep, surface: Surface, place: SX, delta: SX) -> SX:
    """A velocity that changes as the state does."""
    moved = delta[: surface.n] / step.h
    return moved if surface.flow else moved + surface.speed(place, delta[surface.n :])


# ---- the symmetric variant -----------------------------------------------------------------------


class Shifted(Landing):
    """The step of the inner method from a state beside that of the outer one."""

    def __init__(self, step: FusedStep, dq: SX, dp: SX, v: SX) -> None:
        super().__init__(step)
        self.by = dq, dp
        self.q, self.p, self.v = step.moved(dq), step.kicked(dp), v
        self.pairs: list[tuple[SX, SX]] = []
        self.watch = SX.zeros(step.operators.n)

    def unknown(self, name: str, space: str = "q", guess: SX | None = None) -> SX:
        return self._step.unknown(name, space, self._before(guess))

    def stages(self, name: str, nodes, guess: SX | None = None) -> list[SX]:
        return self._step.stages(name, nodes, self._before(guess))

    def _before(self, guess: SX | None) -> SX | None:
        """A guess that does not depend on how far the state is shifted."""
        step = self._step
        own = ((self.q, step.q), (self.p, step.p), (self.v, step.v))
        return next((there for here, there in own if here is guess), guess)

    def solve(self, *pairs: tuple[SX, SX], watch: SX) -> None:
        self.pairs += pairs
        self.watch = self.watch + watch

    def moved(self, dq: SX) -> SX:
        return self._step.moved(self.by[0] + dq)

    def kicked(self, dp: SX) -> SX:
        return self._step.kicked(self.by[1] + dp)

    def advance(self, *, q: Vector, p: Vector, v: Vector, tangent=None, remember=None) -> None:
        p = p if tangent is None else p + tangent
        super().advance(q=self.by[0] + q, p=self.by[1] + p, v=v, remember=remember)


def _symmetric(step: FusedStep, inner: Method, surface: Surface) -> None:
    """Away from the surface and back with the same multipliers μ of the laws.

        ŷ₀ = y₀ + N⁻¹(J_I(y₀)ᵀμ + J_g(y₀)ᵀν₀),   φ_g(ŷ₀) = 0,
        ŷ₁ = Φ_h(ŷ₀),
        y₁ = ŷ₁ + N⁻¹(J_I(y₁)ᵀμ + J_g(y₁)ᵀν₁),   φ_g(y₁) = 0,  φ_I(y₁) + εμ = 0.

    Laws that depend on each other at y₀, where they should all hold, are left out; for those that
    are close to it, ε keeps the multipliers small.
    """
    n, t = surface.n, step.t
    bound = ca.vertcat(surface.places, surface.speeds)
    many, laws = bound.numel(), surface.kept.numel()
    mu = step.unknown("mu", laws)
    before, after = step.unknown("nu0", many), step.unknown("nu1", many)

    def pushed(y: SX, nu: SX, time: SX) -> SX:
        one, other = (ca.jacobian(x, surface.y) for x in (surface.kept, bound))
        slope = ca.mtimes(surface.at(one, y, time).T, mu)
        if many:
            slope = slope + ca.mtimes(surface.at(other, y, time).T, nu)
        return surface.raised(ca.densify(slope), y, time)

    y0 = step.q
    if not surface.flow:
        y0 = ca.vertcat(step.q, step.v if surface.lagrangian else step.p)
    first = pushed(y0, before, t)
    zero = SX.zeros(n)
    if surface.flow:
        dp, v = zero, surface.at(surface.velocity, y0 + first, t)
    elif surface.lagrangian:
        dp, v = surface.lifted(y0, first, t), step.v + first[n:]
    else:
        dp, v = first[n:], surface.at(surface.velocity, y0 + first, t)
    shifted = Shifted(step, first[:n], dp, v)
    inner.program(cast(Step, shifted))
    place = surface.landed(shifted)
    last = step.unknown("back", surface.y.numel())
    y1 = place + last
    gradients = surface.at(ca.jacobian(surface.kept, surface.y), y0, t)
    rows = [gradients[i, :].T for i in range(laws)]
    ties = surface.at(ca.jacobian(bound, surface.y), y0, t)
    every = [*(ties[i, :].T for i in range(many)), *rows]
    left = surface.at(ca.vertcat(bound, surface.kept), y0, t)
    way = step.h * (step.v if surface.lagrangian else surface.at(surface.velocity, y0, t))
    moved = surface.squared(way if surface.flow else ca.vertcat(way, SX.zeros(n)), y0)
    there = _Basis(every, lambda r: surface.raised(r, y0, t), left, moved, many)
    good = ca.vertcat(SX(0, 1), *there.good[many:])
    sizes = ca.vertcat(SX(0, 1), *(ca.dot(r, surface.raised(r, y0, t)) + TINY for r in rows))
    pairs = [
        *shifted.pairs,
        (last, last - pushed(y1, after, step.t1)),
        (before, surface.at(bound, y0 + first, t)),
        (after, surface.at(bound, y1)),
        (mu, good * surface.at(surface.kept, y1) + (SOFT + (1 - good)) * sizes * mu),
    ]
    watch = shifted.watch + _watched(step, surface, place, last)
    step.solve(*(x for x in pairs if x[0].numel()), watch=watch)
    dq, dp, v = surface.after(shifted, place, last)
    step.advance(q=dq, p=dp, v=v, remember=shifted.remembered)
