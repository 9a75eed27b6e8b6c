"""The symmetric variant of `taut.methods.corrected`: away from the surface, a step, and back.

    ŷ₀ = y₀ + N⁻¹(Tᵀμ + J_g(y₀)ᵀν₀),   φ_g(ŷ₀) = 0,
    ŷ₁ = Φ_h(ŷ₀),
    y₁ = ŷ₁ + N⁻¹(J_I(y₁)ᵀμ + J_g(y₁)ᵀν₁),   φ_g(y₁) = 0,  φ_I(y₁) + εμ = 0.

T are the gradients J_I(y₀) of the laws without what they have of those of the constraints, so that
ν₀ is O(μ²).  Laws that depend on each other at y₀, where they should all hold, are left out; for
those that are close to it, ε keeps the multipliers small.

All this is one iteration, a round of which goes through it once: a step of the inner method's own
Newton iteration at the present ŷ₀, and then, at the ŷ₁ that it leads to, one for the multipliers.
Their matrix needs no derivative of the step.  The laws are kept by the exact flow, so that
∇(I∘Φ) = ∇I + O(hᵖ⁺¹), and Φ maps constraints to constraints, so that the derivative of
(φ_g, φ_I)(y₁) by (ν₁, μ) is

    J N⁻¹Jᵀ at y₁ + (0 in the rows of constraints, T N⁻¹Tᵀ at y₀ in those of laws)

but for terms of the size of the method's error: rounds converge by that factor.  The matrix is
taken at the first round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import casadi as ca

from taut.kernel.eliminate import solve_linear
from taut.kernel.gram import QUICK, TINY, Gram, Quick, Ranked, full, paired, products
from taut.kernel.newtons import Joint, Solve
from taut.methods.base import Method, Step, Vector

if TYPE_CHECKING:
    from taut.kernel.correction import Surface
    from taut.kernel.fused import FusedStep

SX = ca.SX
SOFT = 1e-12  # of the squared gradients: what holds multipliers of dependent laws at zero


class Shifted:
    """The step of the inner method from a state beside that of the outer one."""

    def __init__(self, step: FusedStep, dq: SX, dp: SX, v: SX) -> None:
        self._step, self.by = step, (dq, dp)
        self.q, self.p, self.v = step.moved(dq), step.kicked(dp), v
        self.solves: list[Solve] = []

    def __getattr__(self, name: str):
        return getattr(self._step, name)

    def unknown(self, name: str, space: str = "q", guess: SX | None = None) -> SX:
        return self._step.unknown(name, space, self._before(guess))

    def stages(self, name: str, nodes, guess: SX | None = None) -> list[SX]:
        return self._step.stages(name, nodes, self._before(guess))

    def _before(self, guess: SX | None) -> SX | None:
        """A guess that does not depend on how far the state is shifted."""
        step = self._step
        own = ((self.q, step.q), (self.p, step.p), (self.v, step.v))
        return next((there for here, there in own if here is guess), guess)

    def solve(self, *pairs: tuple[SX, SX], watch: SX, each: Sequence[SX] = ()) -> None:
        self.solves.append(Solve(list(pairs), watch, ca.vertcat(*(each or [watch]))))

    def moved(self, dq: SX) -> SX:
        return self._step.moved(self.by[0] + dq)

    def kicked(self, dp: SX) -> SX:
        return self._step.kicked(self.by[1] + dp)

    def advance(self, *, q: Vector, p: Vector, v: Vector, tangent=None, remember=None) -> None:
        p = p if tangent is None else p + tangent
        self.dq, self.dp, self.end_v = self.by[0] + q, self.by[1] + p, v
        self.remembered = remember


class Beginning:
    """The surface at y₀: where to leave it, and by which laws."""

    def __init__(self, step: FusedStep, surface: Surface) -> None:
        t = step.t
        self.y = y = step.q
        if not surface.flow:
            self.y = y = ca.vertcat(step.q, step.v if surface.lagrangian else step.p)
        self.many = surface.places.numel() + surface.speeds.numel()
        slopes = surface.at(ca.jacobian(surface.rows, surface.y), y, t)
        rows = [ca.densify(slopes[i, :].T) for i in range(surface.rows.numel())]
        gram = Gram(rows, [surface.raised(row, y, t) for row in rows])
        self.sizes = ca.vertcat(SX(0, 1), *(x + TINY for x in gram.sizes[self.many :]))
        self.good = self._good(step, surface, gram)
        ties, laws = range(self.many), range(self.many, gram.size)
        self.ties = _matrix([[gram.a[i][j] for j in ties] for i in ties])
        self.push = ca.horzcat(SX(y.numel(), 0), *(gram.along[i] for i in ties))
        # What laws have of the constraints, taken out of them.
        shares = [solve_linear(self.ties, ca.vertcat(*(gram.a[i][j] for j in ties))) for i in laws]
        mixed = list(zip(laws, shares, strict=True)) if self.many else []
        self.tangents = [gram.along[i] for i in laws]
        self.squares = [[gram.a[i][j] for j in laws] for i in laws]
        for k, (i, share) in enumerate(mixed):
            self.tangents[k] = gram.along[i] - ca.mtimes(self.push, share)
            for m, j in enumerate(laws):
                taken = products(share, ca.vertcat(*(gram.a[j][tie] for tie in ties)))
                self.squares[k][m] = gram.a[i][j] - taken

    def _good(self, step: FusedStep, surface: Surface, gram: Gram) -> SX:
        """1 for laws that do not depend on the others here, else 0."""
        t, y, n = step.t, self.y, surface.n
        left = surface.at(surface.rows, y, t)
        way = step.h * (step.v if surface.lagrangian else surface.at(surface.velocity, y, t))
        moved = surface.squared(way if surface.flow else ca.vertcat(way, SX.zeros(n)), y)
        careful = ca.vertcat(SX(0, 1), *Ranked(gram, left, moved, self.many).good[self.many :])
        if gram.size > QUICK or not careful.numel():
            return careful
        quick = Quick(gram)
        plain = quick.plain(moved, quick.to(left)[1], self.many)
        return step.choose(SX.ones(careful.numel()), plain, careful)

    def left(self, mu: SX, nu: SX) -> SX:
        """ŷ₀ − y₀."""
        total = ca.mtimes(self.push, nu) if self.many else SX.zeros(self.y.numel())
        for k, row in enumerate(self.tangents):
            total = total + mu[k] * row
        return total


def corrected_symmetrically(step: FusedStep, inner: Method, surface: Surface) -> None:
    """A step of `inner`, corrected: see the module's head."""
    n, t = surface.n, step.t
    begin = Beginning(step, surface)
    many, laws = begin.many, surface.kept.numel()
    before, mu, after = (step.unknown(*x) for x in (("nu0", many), ("mu", laws), ("nu1", many)))
    first = begin.left(mu, before)
    y0 = begin.y
    if surface.flow:
        dp, v = SX.zeros(n), surface.at(surface.velocity, y0 + first, t)
    elif surface.lagrangian:
        dp, v = surface.lifted(y0, first, t), step.v + first[n:]
    else:
        dp, v = first[n:], surface.at(surface.velocity, y0 + first, t)
    shifted = Shifted(step, first[:n], dp, v)
    inner.program(cast(Step, shifted))
    place = surface.landed(shifted)
    last = step.unknown("back", surface.y.numel())

    # A round for the multipliers, and where it leads.
    y1 = place + last
    kappa = ca.vertcat(after, mu)
    slopes = surface.at(ca.jacobian(surface.rows, surface.y), y1)
    rows = [ca.densify(slopes[i, :].T) for i in range(surface.rows.numel())]
    gram = Gram(rows, [surface.raised(row, y1, step.t1) for row in rows])
    factors = _inverse(gram, begin)
    inverse = SX.sym("inverse", factors.numel())
    back = gram.moved([kappa[i] for i in range(gram.size)])
    good, ends = begin.good, surface.value(y1)
    soft = (SOFT * good + (1 - good)) * begin.sizes * mu
    held = good * ends[many:] + soft
    # The state goes to ŷ₁ + N⁻¹Jᵀκ in this round; what this does to φ comes before what κ does.
    shifts = [ends[i] + products(row, back - last) for i, row in enumerate(rows)]
    rest = [*shifts[:many], *(good[i] * x + soft[i] for i, x in enumerate(shifts[many:]))]
    matrix = full([inverse[i] for i in range(inverse.numel())], gram.size)
    steps = [-paired([a * x for a, x in zip(row, rest, strict=True)]) for row in matrix]
    outside = surface.at(ca.vertcat(surface.places, surface.speeds), y0 + first, t)
    # How far a round moves the state at the beginning and at the end, as velocities.
    moves = [SX.sym(f"d{i}", x.numel()) for i, x in enumerate((before, mu, last))]
    watch = [
        _watched(step, surface, y0, begin.left(moves[1], moves[0])),
        _watched(step, surface, y0, moves[2]),
    ]
    tied = solve_linear(begin.ties, -outside) if many else SX(0, 1)
    step.tasks.append(
        Joint(
            before=(before, tied, outside),
            solves=shifted.solves,
            after=[
                (after, ca.vertcat(SX(0, 1), *steps[:many]), ends[:many]),
                (mu, ca.vertcat(SX(0, 1), *steps[many:]), held),
                (last, back + gram.moved(steps) - last, last - back),
            ],
            factors=(inverse, factors),
            moves=(ca.vertcat(before, mu, last), ca.vertcat(*moves), watch),
        )
    )
    dq, dp, v, _ = surface.after(shifted, place, last)
    step.advance(q=dq, p=dp, v=v, remember=shifted.remembered)


def _inverse(gram: Gram, begin: Beginning) -> SX:
    """That of the matrix of the multipliers, on and below the diagonal."""
    many, size = begin.many, gram.size
    summed = Gram([], [])
    summed.size, summed.along = size, gram.along
    summed.a = [list(row) for row in gram.a]
    weight = [SX(1)] * many + [begin.good[i] for i in range(size - many)]
    for i in range(many, size):
        k = i - many
        for j in range(size):
            own = gram.a[i][j] + (begin.squares[k][j - many] if j >= many else 0)
            own = weight[i] * weight[j] * own
            own = own + (1 - weight[i]) * begin.sizes[k] if i == j else own
            summed.a[i][j] = summed.a[j][i] = own
    if 3 < size <= QUICK:
        return _levelled(summed)
    if size <= QUICK:
        return ca.vertcat(*Quick(summed).inverse())
    ranked = Ranked(summed, SX.zeros(size), SX(0), size)
    return ca.vertcat(*ranked.inverse())


def _levelled(gram: Gram) -> SX:
    """The inverse by cofactors of a matrix with ones on its diagonal.

    Nobody looks at determinants here, which are high powers of lengths; with 1e10 m they overflow.
    """
    size = gram.size
    over = [1 / ca.sqrt(ca.fmax(x, TINY)) for x in gram.sizes]
    level = Gram([], [])
    level.size, level.along = size, gram.along
    level.a = [[x * over[i] * over[j] for j, x in enumerate(row)] for i, row in enumerate(gram.a)]
    weights = [over[i] * over[j] for i in range(size) for j in range(i + 1)]
    return ca.vertcat(*(x * w for x, w in zip(Quick(level).inverse(), weights, strict=True)))


def _matrix(rows: list[list[SX]]) -> SX:
    return ca.vertcat(*(ca.horzcat(*row) for row in rows)) if rows else SX(0, 0)


def _watched(step: FusedStep, surface: Surface, y: SX, delta: SX) -> SX:
    """A velocity that changes as the state does."""
    moved, change = delta[: surface.n] / step.h, delta[surface.n :]
    if surface.flow:
        return moved
    light = surface.lagrangian
    return moved + (change if light else ca.mtimes(surface.at(surface.mass, y, step.t), change))
