"""The Newton iterations of a fused step: their matrix, their measure and their guess.

The matrix of a solve for several stages is simplified: taken at the guess, with multipliers left
out, it is factorised once; where that costs several iterations, its factors may serve later steps
too (see `kept_code`).  `thorough` asks for the exact matrix in every iteration instead.  A
`prepared` solve has residuals whose derivative is near the unit matrix, and takes that.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from taut.kernel.eliminate import (
    Factors,
    cost,
    curved,
    entries,
    little_fill,
    operations,
    solve_linear,
)
from taut.methods import tableaux

if TYPE_CHECKING:
    from taut.kernel.fused import FusedStep, _Solved

SX = ca.SX
HISTORY = 3  # values of each Newton unknown that the guess is extrapolated from
ROUNDED = 16 * 2.0**-52  # what rounding does to coordinates
DEEP = 4  # stages up to which the polynomial of the guess goes through two steps
PAYS = 4.3  # an iteration with a kept matrix must be cheaper by this: it takes more of them
MODEST = 60  # unknowns up to which both are written down to find out
DEAR, ROOM = 2.0, 4096  # factors are kept from step to step if they cost so many iterations
BOOKS = 3  # numbers by which a step decides whether to keep them: see `kept_code`


@dataclass
class Newton:
    """One Newton iteration: z ← z + change(z), watched by `measure`.

    A `simplified` one has a matrix that depends on the guess `start` instead of z, a `prepared` one
    needs none, and its best iterate counts if it does not converge.

    Where its factorisation costs as much as several iterations (`price`), `change` is written with
    symbols `named` for its factors, so that those of an earlier step may stand for them.

    `curved` says that the equations are nonlinear even for h → 0 (a Lagrangian not quadratic in the
    velocities).  Then a move h·Δv that is small says little about what is left of Δv, and the
    first iteration is never the last.
    """

    unknowns: SX
    residual: SX
    history: SX
    guess: SX
    change: SX
    measure: SX
    curved: bool
    start: SX
    simplified: bool
    prepared: bool
    excess: SX  # how much larger a move is than what rounding the largest coordinate explains
    factors: SX
    named: SX
    price: float
    room: int  # numbers that the state has for what is kept, also if the exact matrix is used


def newton_of(
    step: FusedStep,
    index: int,
    z: SX,
    residual: SX,
    watch: SX,
    solved: _Solved,
    back: int,
    thorough: bool,
    prepared: bool,
) -> Newton:
    """The iteration for what is left of a solve; `back` steps may be extrapolated from."""
    count = z.numel()
    slope, start = ca.jacobian(residual, z), SX.sym(f"start{index}", count)
    response = ca.jacobian(watch, z)
    bent = curved(slope, z, step.h, ca.substitute(response, step.h, SX(0)).is_zero())
    own, members = entries(z), [x for x, nodes in step.families if len(nodes) > 1]
    several = any(entries(symbols[0]) <= own for symbols in members)
    prepared = prepared and not thorough
    change, kept = -residual, None
    if several and not bent and not prepared:
        kept = _kept(index, _simplified(slope, z, start, step.multipliers), residual, z, step.h)
        change = kept.change
    if not prepared and (thorough or kept is None or count <= MODEST):
        exact = _eliminated(slope, residual, step.h)
        if kept is not None and count <= MODEST:  # otherwise it always pays
            kept = kept if operations(exact, z) > PAYS * operations(kept.change, z) else None
        change = exact if thorough or kept is None else change
    simplified = prepared or (kept is not None and not thorough)
    room = 0 if kept is None or kept.named.numel() == 0 else kept.named.numel() + BOOKS
    if kept is None or thorough:
        kept = _Kept(change, SX(0, 1), SX(0, 1), 0.0)
    # h·|Δwatch| against the size of each coordinate; a sum, so that a NaN is not lost.
    moves = ca.fabs(step.move) + step.floor
    sizes = ca.fabs(step.q) + moves
    # What converges by a factor stops where it is told to: velocities themselves are to be exact.
    against = moves if simplified else sizes
    weights = ca.fabs(step.h) / against
    if ca.depends_on(response, z):
        size = ca.fabs(ca.mtimes(response, change))
    else:  # the bound Σ |Δzⱼ| Σ |∂watchᵢ/∂zⱼ| wᵢ costs less, since the inner sum is a constant
        size, weights = ca.fabs(change), ca.mtimes(ca.fabs(response).T, weights)
    measure, excess = ca.dot(size, weights), SX(0)
    if simplified and not prepared:  # dependent laws magnify rounding; they do not converge slowly
        rounding = ROUNDED * ca.mmax(sizes) * step.q.numel()
        even = SX.ones(step.q.numel()) * ca.fabs(step.h) / rounding
        if not ca.depends_on(response, z):
            even = ca.mtimes(ca.fabs(response).T, even)
        excess = ca.dot(size, even)
    history = SX.sym(f"m{index}", HISTORY * count)
    # Where steps are coarse, polynomials of high degree lead astray; what is kept has a way out.
    guess = _extrapolated(z, history, step.families, back if simplified else 0)
    if prepared:  # what is left to correct is noise, of which nothing can be extrapolated
        guess = SX.zeros(count)
    # Sums of earlier solves have no value of their own while Newton iterates.
    whole = solved.resolved(ca.vertcat(residual, change, measure, excess, kept.factors))
    ends = [0, *np.cumsum([count, count, 1, 1, kept.factors.numel()]).tolist()]
    parts = [whole[a:b] for a, b in pairwise(ends)]
    return Newton(
        z, parts[0], history, guess, parts[1], parts[2], bent, start, simplified, prepared,
        parts[3], parts[4], kept.named, kept.price, room,
    )  # fmt: skip


@dataclass
class _Kept:
    """An update by a matrix that does not depend on the unknowns, and its factors."""

    change: SX
    factors: SX
    named: SX
    price: float


def _kept(index: int, matrix: SX, residual: SX, z: SX, h: SX) -> _Kept:
    """Newton's update, with names for the factors if they are worth keeping."""
    nothing = SX(0, 1)
    if matrix.is_constant() or z.numel() <= 3:
        return _Kept(_eliminated(matrix, residual, h), nothing, nothing, 0.0)
    order = little_fill(matrix, h)
    inverse, right = np.argsort(order).tolist(), -residual[order]
    plain = Factors.of(matrix[order, order])
    twin, named, factors = plain.named(f"f{index}_")
    update = twin.solve(right)[inverse]
    price = cost(factors, ca.vertcat(*ca.symvar(factors))) / cost(update, z)
    if price < DEAR or named.numel() > ROOM:
        return _Kept(plain.solve(right)[inverse], nothing, nothing, price)
    return _Kept(update, factors, named, price)


def _eliminated(slope: SX, residual: SX, h: SX) -> SX:
    """Newton's update."""
    order = little_fill(slope, h)
    inverse = np.argsort(order).tolist()
    return solve_linear(slope[order, order], -residual[order])[inverse]


def _simplified(slope: SX, z: SX, start: SX, multipliers: set[int]) -> SX:
    """Newton's matrix at the guess, without what multipliers contribute to it.

    They bend the equations by h²λ ∂²g, which is small where several stages pay; without it blocks
    of masses stay as sparse as they are.
    """
    free = [z[i].element_hash() not in multipliers for i in range(z.numel())]
    at = ca.vertcat(*(start[i] if is_free else SX(0) for i, is_free in enumerate(free)))
    return ca.sparsify(ca.substitute(slope, z, at))


def _extrapolated(z: SX, history: SX, families, back: int) -> SX:
    """The guess: through the last three values, or through all stages of the last `back` steps."""
    count = z.numel()
    a, b, c = (history[i * count : (i + 1) * count] for i in range(HISTORY))
    guess = a + ((a - b) + ((a - b) - (b - c)))
    place = {z[i].element_hash(): i for i in range(count)}
    for symbols, nodes in families:
        first = [place.get(symbol[0].element_hash()) for symbol in symbols]
        if len(nodes) == 1 or back == 0 or None in first:
            continue
        rows = [slice(i, i + symbols[0].numel()) for i in first]
        one = [a[row] for row in rows]
        guessed = _combined(one, nodes - 1, nodes)
        if back > 1 and len(nodes) <= DEEP:
            # Before the third step b is not the solution of a step, but the method's own guess.
            begun = ca.sum1(ca.fabs(b - c)) > 0
            # The end of one step and the beginning of the next are known once.
            older = [
                (b[row], x) for row, x in zip(rows, nodes - 2, strict=True) if x not in nodes - 1
            ]
            known = np.append(nodes - 1, [x for _, x in older])
            two = _combined([*one, *(x for x, _ in older)], known, nodes)
            guessed = [ca.if_else(begun, y, x) for x, y in zip(guessed, two, strict=True)]
        for row, value in zip(rows, guessed, strict=True):
            guess[row] = value
    return guess


def _combined(values: list[SX], known: np.ndarray, wanted: np.ndarray) -> list[SX]:
    """Of the polynomial with `values` at `known`, the values at `wanted`."""
    weights = tableaux.rounded(tableaux.values(known.tolist(), wanted.tolist()))
    return [
        sum((w * x for w, x in zip(row, values, strict=True)), SX(0)) for row in weights.tolist()
    ]
