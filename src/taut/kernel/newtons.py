"""The Newton iterations of a fused step: their matrix, their measure and their guess.

The matrix of a solve for several stages is simplified: taken at the guess, with multipliers left
out, it is factorised once; `thorough` asks for the exact one in every iteration instead.  A
`prepared` solve has residuals whose derivative is near the unit matrix, and takes that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from taut.kernel.eliminate import curved, entries, little_fill, operations, solve_linear
from taut.methods import tableaux

if TYPE_CHECKING:
    from taut.kernel.fused import FusedStep, _Solved

SX = ca.SX
HISTORY = 3  # values of each Newton unknown that the guess is extrapolated from
ROUNDED, NOISE = 16 * 2.0**-52, 1e-7  # what rounding does to coordinates; noise is never more
DEEP = 4  # stages up to which the polynomial of the guess goes through two steps
PAYS = 4.3  # an iteration with a kept matrix must be cheaper by this: it takes more of them
MODEST = 60  # unknowns up to which both are written down to find out


@dataclass
class Newton:
    """One Newton iteration: z ← z + change(z), watched by `measure`.

    A `simplified` one has a matrix that depends on the guess `start` instead of z, a `prepared` one
    needs none, and its best iterate counts if it does not converge.

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
    noise: SX  # what rounding of the largest coordinate may do to the measure


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
    simplified = (several and not bent and not thorough) or prepared
    if prepared:
        change = -residual
    elif simplified:
        kept = _simplified(slope, z, start, step.multipliers)
        change = _eliminated(kept, residual, step.h)
        if count <= MODEST:  # otherwise it always pays
            exact = _eliminated(slope, residual, step.h)
            simplified = operations(exact, z) > PAYS * operations(change, z)
            change = change if simplified else exact
    else:
        change = _eliminated(slope, residual, step.h)
    # h·|Δwatch| against the size of each coordinate; a sum, so that a NaN is not lost.
    moves = ca.fabs(step.move) + step.floor
    sizes = ca.fabs(step.q) + moves
    # What converges by a factor stops where it is told to: velocities themselves are to be exact.
    against = moves if simplified else sizes
    weights = ca.fabs(step.h) / against
    noise = ca.fmin(ROUNDED * ca.mmax(sizes) * ca.sum1(1 / against), NOISE)
    if prepared:  # nearly dependent rows magnify rounding; it does not converge slowly
        noise = SX(NOISE)
    if ca.depends_on(response, z):
        measure = ca.dot(ca.fabs(ca.mtimes(response, change)), weights)
    else:  # the bound Σ |Δzⱼ| Σ |∂watchᵢ/∂zⱼ| wᵢ costs less, since the inner sum is a constant
        measure = ca.dot(ca.fabs(change), ca.mtimes(ca.fabs(response).T, weights))
    history = SX.sym(f"m{index}", HISTORY * count)
    # Where steps are coarse, polynomials of high degree lead astray; what is kept has a way out.
    guess = _extrapolated(z, history, step.families, back if simplified else 0)
    if prepared:  # what is left to correct is noise, of which nothing can be extrapolated
        guess = SX.zeros(count)
    # Sums of earlier solves have no value of their own while Newton iterates.
    whole = solved.resolved(ca.vertcat(residual, change, measure))
    parts = whole[:count], whole[count : 2 * count], whole[2 * count :]
    return Newton(
        z, parts[0], history, guess, parts[1], parts[2], bent, start, simplified, prepared, noise
    )  # fmt: skip


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
