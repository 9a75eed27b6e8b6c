"""The Newton iterations of a fused step: their matrix, their measure and their guess.

The matrix of a solve for several stages is simplified: taken at the guess, with multipliers left
out, it is factorised once; where that costs several iterations, its factors may serve later steps
too (see `kept_code`).  `thorough` asks for the exact matrix in every iteration instead.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
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
    pivots,
    solve_linear,
)
from taut.methods import tableaux
from taut.model.loops import closed

if TYPE_CHECKING:
    from taut.kernel.fused import FusedStep, _Solved

SX = ca.SX
Weights = tuple[SX, SX]  # of the mean velocity of a step, and of each of those that make it
HISTORY = 3  # values of each Newton unknown that the guess is extrapolated from
ROUNDED, NOISE = 16 * 2.0**-52, 1e-7  # what rounding does to coordinates, and to a measure
PLAIN = 40  # coordinates and unknowns up to which rounding moves all of them alike
DEEP = 4  # stages up to which the polynomial of the guess goes through two steps
PAYS = 4.3  # an iteration with a kept matrix must be cheaper by this: it takes more of them
FEW, FEWER = 20, 3  # unknowns, multipliers: a bound on what they move is good enough
NEVER = 1e300  # the measure before the first iteration, and of one that does not count
AHEAD = 1.5  # moves of the step before: where a singular configuration may be that it meets
COARSE, FLOOR = 0.2, 1e-7  # of its length: a coordinate's second difference; and its floor
# Steps by which signs of pivots are found out.  What is short depends on the units: forces may be
# 10¹⁶ of a unit of acceleration (an electron's, in metres), so the shortest counts that leaves
# pivots, which are products of squares of it, above the smallest numbers.
TRIALS = (1e-24, 1e-12, 1e-6)
NEXT = 1e-16  # what the next update may be
SLOW = 1e-3  # the factor by which multipliers follow an inner iteration
MODEST = 60  # unknowns up to which both are written down to find out
DEAR, ROOM = 2.0, 4096  # factors are kept from step to step if they cost so many iterations
STACK = 16384  # numbers of all sub-steps: a run has them on its stack, 1 MB for eight lanes
BOOKS = 3  # numbers by which a step decides whether to keep them: see `kept_code`


@dataclass
class Newton:
    """One Newton iteration: z ← z + change(z), watched by `measure`.

    A `simplified` one has a matrix that depends on the guess `start` instead of z; a `peeled` one
    shares with it what it computes at the guess.

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
    noise: SX  # whether a move that no longer falls may be due to rounding
    excess: SX  # the move, in units of what rounding the largest coordinate does to all of them
    factors: SX = field(default_factory=lambda: SX(0, 1))
    named: SX = field(default_factory=lambda: SX(0, 1))
    price: float = 0.0
    room: int = 0  # numbers that the state has for what is kept, also if the exact matrix is used
    peeled: bool = False  # whether the first iteration stands before the loop
    # Where parts of a simplified iteration may converge by the factor `SLOW`: the measure from
    # which they are done, too.
    enough: SX | None = None
    size: int = 0  # coordinates of the system
    certain: bool = False  # whether it cannot come to another branch of the constraints

    @property
    def slots(self) -> int:
        """Numbers that are remembered for the next step."""
        return self.history.numel()

    def first_memory(self, guess: SX) -> SX:
        """What is remembered before the first step."""
        return ca.repmat(guess, HISTORY)

    def remembered(self, z: list[str], old: list[str]) -> list[str]:
        """What is remembered after a step."""
        return [*z, *old[: (HISTORY - 1) * len(z)]]

    def last(self, memory: np.ndarray) -> np.ndarray:
        """The solution of the last step."""
        return memory[: self.unknowns.numel()]

    @property
    def everything(self) -> SX:
        """All that it depends on."""
        return ca.vertcat(self.residual, self.change, self.measure, self.factors)


@dataclass
class Solve:
    """Pairs (unknown, residual), the velocity of the step, and those that it is the mean of."""

    pairs: list[tuple[SX, SX]]
    watch: SX
    each: SX


@dataclass
class Piece:
    """What is left of a solve when all that is affine has been eliminated."""

    z: SX
    residual: SX
    watch: SX
    each: SX


@dataclass
class Joint:
    """Solves of an inner method, with unknowns around them, in one iteration.

    A round goes through `before`, the solves and `after` in turn; each sees what those before it
    have found.  Others than solves are (unknown, change, residual).  The change has `factors`
    (symbols, values) in it that are taken at the first round.  `moves` are unknowns, symbols for
    their changes, and the velocities that these make.
    """

    before: tuple[SX, SX, SX]
    solves: list[Solve]
    after: list[tuple[SX, SX, SX]]
    factors: tuple[SX, SX]
    moves: tuple[SX, SX, list[SX]]

    @property
    def others(self) -> list[tuple[SX, SX, SX]]:
        """All that is no solve."""
        return [x for x in (self.before, *self.after) if x[0].numel()]


def newton_of(
    step: FusedStep, index: int, piece: Piece, solved: _Solved, back: int, thorough: bool
) -> Newton:
    """The iteration for what is left of a solve; `back` steps may be extrapolated from."""
    z, count = piece.z, piece.z.numel()
    start = SX.sym(f"start{index}", count)
    update = _change(step, piece, start, thorough, f"f{index}_")
    change, simplified = update.change, update.simplified
    # What converges by a factor stops where it is told to: velocities themselves are to be exact.
    measure = _measure(step, piece, change, _weights(step, simplified)[0])
    regular, certain = (SX(1), False) if simplified else _regular(step, piece)
    if not simplified:
        measure = ca.if_else(regular, measure, NEVER)
    excess = _excess(step, piece, change)
    noise = excess <= 1 if simplified else measure <= NOISE
    if not simplified and step.q.numel() + z.numel() > PLAIN:
        # Light directors next to long arms: what rounding does to one may be much for another.
        noise = ca.logic_or(noise, excess <= 1)
    history = SX.sym(f"m{index}", HISTORY * count)
    # Where steps are coarse, polynomials of high degree lead astray; what is kept has a way out.
    guess = _extrapolated(z, history, step.families, back if simplified else 0)
    # Sums of earlier solves have no value of their own while Newton iterates.
    sizes = [count, count, 1, 1, 1, update.factors.numel()]
    whole = ca.vertcat(piece.residual, change, measure, noise, excess, update.factors)
    whole = solved.resolved(whole)
    ends = itertools.accumulate(sizes, initial=0)
    parts = [whole[a:b] for a, b in itertools.pairwise(ends)]
    return Newton(
        z, parts[0], history, guess, parts[1], parts[2], update.curved, start, simplified,
        parts[3], parts[4], parts[5], update.named, update.price, update.room,
        size=step.q.numel(), certain=certain,
    )  # fmt: skip


def joint_of(
    step: FusedStep,
    index: int,
    joint: Joint,
    pieces: list[Piece],
    solved: _Solved,
    back: int,
    thorough: bool,
) -> Newton:
    """The iteration of a `Joint`; a thorough one is Newton's, in all unknowns at once."""
    inner = [(piece.z, piece.residual, piece.residual) for piece in pieces]
    every = [x for x in (joint.before, *inner, *joint.after) if x[0].numel()]
    z, residual = (ca.vertcat(*(x[i] for x in every)) for i in (0, 2))
    residual, start = solved.resolved(residual), SX.sym(f"start{index}", z.numel())
    place = {z[i].element_hash(): i for i in range(z.numel())}

    def at(unknowns: SX) -> list[int]:
        return [place[unknowns[i].element_hash()] for i in range(unknowns.numel())]

    own = [_change(step, piece, start[at(piece.z)], False) for piece in pieces]
    if thorough:
        change = ca.densify(_eliminated(ca.jacobian(residual, z), residual, step.h))
    else:
        first = bool(joint.before[0].numel())
        parts = [(u, c) for u, c, _ in every]
        parts[first : first + len(own)] = [
            (piece.z, update.change) for piece, update in zip(pieces, own, strict=True)
        ]
        change = _round(parts, first + len(own), joint.factors, solved, start)
    unknowns, symbols, velocities = joint.moves
    written = [solved.resolved(velocity) for velocity in velocities]

    def measured(weights: Weights) -> SX:
        total = SX(0)
        for piece in pieces:
            total = total + solved.resolved(_measure(step, piece, change[at(piece.z)], weights))
        for velocity in written:
            moved = ca.substitute(velocity, symbols, change[at(unknowns)])
            total = total + ca.dot(ca.fabs(moved), weights[0])
        return total

    weights, rounding = _weights(step, True)
    measure = measured(weights)
    # Rounds converge by a factor: what no longer falls is noise only if rounding explains it.
    # Newton does not, and laws that nearly depend on each other magnify rounding.
    excess = measured(_against_rounding(step))
    noise = ca.logic_or(measure <= NOISE, excess <= 1) if thorough else excess <= 1
    history = SX.sym(f"m{index}", HISTORY * z.numel())
    guess = _extrapolated(z, history, step.families, 0 if thorough else back)
    bent = any(update.curved for update in own)
    return Newton(
        z, residual, history, guess, change, measure, bent, start, not thorough, noise, excess,
        size=step.q.numel(), peeled=not thorough,
        enough=ca.fmax(rounding, NEXT / SLOW) if pieces else None,
    )  # fmt: skip


def _round(
    parts: list[tuple[SX, SX]], first: int, factors: tuple[SX, SX], solved: _Solved, start: SX
) -> SX:
    """The changes of a round, of (unknown, change) in turn.

    Each of the first has what those before it have found in it, and so have the rest, all at once,
    and their factors, which are those of the round at `start`.
    """
    z = ca.vertcat(*(u for u, _ in parts))
    ends = list(itertools.accumulate((u.numel() for u, _ in parts), initial=0))
    shown = ca.densify(solved.resolved(ca.vertcat(*(c for _, c in parts), factors[1])))
    for k in range(first):  # what follows is written with what has been found
        later = shown[ends[k + 1] :]
        found = parts[k][0] + shown[ends[k] : ends[k + 1]]
        shown = ca.vertcat(shown[: ends[k + 1]], ca.substitute(later, parts[k][0], found))
    kept = ca.substitute(shown[ends[-1] :], z, start)
    return ca.densify(ca.substitute(shown[: ends[-1]], factors[0], kept))


@dataclass
class _Update:
    """Newton's update: whether the equations are curved, and what is kept of its matrix."""

    change: SX
    curved: bool
    simplified: bool = False
    factors: SX = field(default_factory=lambda: SX(0, 1))
    named: SX = field(default_factory=lambda: SX(0, 1))
    price: float = 0.0
    room: int = 0


def _change(step: FusedStep, piece: Piece, start: SX, thorough: bool, prefix: str = "") -> _Update:
    """Newton's update; with a `prefix` for their names, its factors may be kept."""
    z, residual = piece.z, piece.residual
    slope, response = ca.jacobian(residual, z), ca.jacobian(piece.each, z)
    bent = curved(slope, z, step.h, ca.substitute(response, step.h, SX(0)).is_zero())
    own, members = entries(z), [x for x, nodes in step.families if len(nodes) > 1]
    several = any(entries(symbols[0]) <= own for symbols in members)
    if not several or bent:
        return _Update(_eliminated(slope, residual, step.h), bent)
    matrix, most = _simplified(slope, z, start, step.multipliers), min(ROOM, STACK // step.substeps)
    update = _kept(matrix, residual, z, step.h, prefix, most)
    if not thorough and z.numel() > MODEST:  # it always pays
        return update
    exact = _eliminated(slope, residual, step.h)
    if z.numel() <= MODEST and operations(exact, z) <= PAYS * operations(update.change, z):
        return _Update(exact, bent)
    return _Update(exact, bent, room=update.room) if thorough else update


def _kept(matrix: SX, residual: SX, z: SX, h: SX, prefix: str, most: int) -> _Update:
    """The update by a matrix without unknowns, with names for factors that are worth keeping.

    If there are more than `most`, none is kept.
    """
    if not prefix or matrix.is_constant() or z.numel() <= 3:
        return _Update(_eliminated(matrix, residual, h), False, True)
    order = little_fill(matrix, h)
    inverse, right = np.argsort(order).tolist(), -residual[order]
    plain = Factors.of(matrix[order, order])
    twin, named, factors = plain.named(prefix)
    change = twin.solve(right)[inverse]
    price = cost(factors, ca.vertcat(*ca.symvar(factors))) / cost(change, z)
    if price < DEAR or named.numel() > most:
        return _Update(plain.solve(right)[inverse], False, True, price=price)
    return _Update(change, False, True, factors, named, price, named.numel() + BOOKS)


def _weights(step: FusedStep, moved: bool) -> tuple[Weights, SX]:
    """What velocities are multiplied by: h over the move of a coordinate, or over its size.

    And what rounding the largest coordinate does to the sum.
    """
    moves = ca.fabs(step.move) + step.floor
    sizes = ca.fabs(step.q) + moves
    against = moves if moved else sizes
    noise = ca.fmin(ROUNDED * ca.mmax(sizes) * ca.sum1(1 / against), NOISE)
    each = ca.fabs(step.h) / sizes
    return (ca.fabs(step.h) / moves if moved else each, each), noise


def _measure(step: FusedStep, piece: Piece, change: SX, weights: Weights) -> SX:
    """The sum of h·|Δ| of the velocities, relative to the coordinates; a NaN is not lost in it.

    What the step moves is weighted as it is told.  Velocities of which that is the mean move
    coordinates within the step, which are rounded at their size: they are weighted by that.
    """
    mean, each = weights
    if piece.each.numel() == piece.watch.numel():
        return _moving(step, piece, piece.watch, change, mean)
    several = ca.repmat(each, piece.each.numel() // each.numel(), 1)
    total = _moving(step, piece, piece.each, change, several)
    return total if mean is each else total + _moving(step, piece, piece.watch, change, mean)


def _moving(step: FusedStep, piece: Piece, velocities: SX, change: SX, weights: SX) -> SX:
    """The weighted sum of what the velocities change by."""
    response = ca.jacobian(velocities, piece.z)
    few = FEWER if entries(piece.z) <= step.multipliers else FEW
    if piece.z.numel() > few or ca.depends_on(response, piece.z):
        return ca.dot(ca.fabs(ca.mtimes(response, change)), weights)
    # The bound Σ |Δzⱼ| Σ |∂watchᵢ/∂zⱼ| wᵢ costs less, since the inner sum is a constant.  Of many
    # multipliers it says too much: rounding moves those of light directors by a lot, and together
    # they move nothing.
    return ca.dot(ca.fabs(change), ca.mtimes(ca.fabs(response).T, weights))


def _regular(step: FusedStep, piece: Piece) -> tuple[SX, bool]:
    """Whether a step of multipliers alone does not cross a singular configuration; if it can tell.

    Their matrix is G(q₁) A G(q₀)ᵀ with a positive definite A.  Where several branches of g = 0 meet
    in q*, what the constraints hold least changes its sign on the way through q*: pivots have
    another sign than in a short step if the motion went straight on, and the same if it turned into
    another branch (see `taut.march.passage`).  So none may have changed at q₁, nor at q₀ + AHEAD ·
    (the move of the step before), where the motion would be if it went straight on, and further.
    Nor may the step turn so much that this does not say where it leads.
    """
    z = piece.z
    if z.numel() != step.operators.c or not entries(z) <= step.multipliers:
        return SX(1), False
    slope = ca.jacobian(piece.residual, z)
    order = little_fill(slope, step.h)
    found = _pivots(slope[order, order])
    pairs = ([_somewhere(step, found, h) for h in (h, -h)] for h in TRIALS)
    regular = (x for x in pairs if np.all(np.isfinite(x)) and np.all(x))
    first = next(regular, None)
    if not found.numel() or first is None:
        return SX(1), False
    usual, other = first
    signs = ca.if_else(step.h > 0, SX(ca.DM(np.sign(usual))), SX(ca.DM(np.sign(other))))
    expected = _expected(step, piece, slope)
    if expected is None:
        return ca.mmin(signs * found) > 0, False
    ahead = _pivots(expected[order, order])
    straight = COARSE / FLOOR * step.floor - ca.fabs(step.h * piece.watch - step.move)
    return ca.mmin(ca.vertcat(signs * found, signs * ahead, straight)) > 0, True


def _pivots(matrix: SX) -> SX:
    """What has the signs of the pivots of a matrix: for few rows its leading minors.

    The last of them, what `solve_linear` divides by, has changed its sign twice where two pivots
    have.
    """
    n = matrix.shape[0]
    found = [x for x, _ in pivots(matrix)]
    if found and len(found) < n:
        a, b, c, d = matrix[0, 0], matrix[0, 1], matrix[1, 0], matrix[1, 1]
        found = [a, a * d - b * c][: n - 1] + found
    return ca.vertcat(SX(0, 1), *found)


def _expected(step: FusedStep, piece: Piece, slope: SX) -> SX | None:
    """The matrix of `_regular` further ahead; None where that says nothing.

    Nothing is singular where constraints close no loop; and a move says where the next one leads
    only if it is no sub-step.
    """
    q = SX.sym("q", step.q.numel())
    gradients = ca.jacobian(step.operators.g(q, step.t1), q)
    pairs = zip(*gradients.sparsity().get_triplet(), strict=True)
    if step.substeps > 1 or not closed(step.system, pairs):
        return None
    moved = step.h * ca.jacobian(piece.watch, piece.z)  # ∂q₁/∂z
    if ca.depends_on(moved, piece.z) or slope.sparsity() != ca.mtimes(gradients, moved).sparsity():
        return None
    return ca.mtimes(ca.substitute(gradients, q, step.q + AHEAD * step.move), moved)


def _somewhere(step: FusedStep, expression: SX, h: float) -> np.ndarray:
    """What an expression is in a short step from some place, at rest."""
    known = ca.symvar(ca.vertcat(ca.vec(expression), step.h))
    places = entries(ca.vertcat(step.q, step.operators.par))
    some = np.random.default_rng(0).uniform(0.5, 1.5, len(known))
    size = {step.h.element_hash(): h}
    values = [
        size.get(x.element_hash(), some[k] if x.element_hash() in places else 0.0)
        for k, x in enumerate(known)
    ]
    return np.array(ca.Function("somewhere", known, [ca.densify(expression)])(*values))


def _excess(step: FusedStep, piece: Piece, change: SX) -> SX:
    """The sum of h·|Δ|, relative to what rounding the largest coordinate does to all."""
    return _measure(step, piece, change, _against_rounding(step))


def _against_rounding(step: FusedStep) -> Weights:
    """What velocities are multiplied by: h over what rounding the largest coordinate does."""
    sizes, n = ca.fabs(step.q) + ca.fabs(step.move) + step.floor, step.q.numel()
    weights = SX.ones(n) * ca.fabs(step.h) / (ROUNDED * n * ca.mmax(sizes))
    return weights, weights


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
