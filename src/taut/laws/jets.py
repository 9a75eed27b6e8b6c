"""How many laws there can be, whatever functions they are made of: a bound from Taylor series.

A law that is a polynomial of the velocities, I = Σ K_α(z) v^α with |α| ≤ m and z = q or (t, q), has

    D I = Σ_α v^α (∂_t K_α + q̇·∂_q K_α) + K_α Σᵢ αᵢ v^{α−eᵢ} v̇ᵢ = 0,                          (1)

linear in K and of first order.  Let S_k be the space of Taylor polynomials of order k of the K at a
point z₀ that satisfy (1) up to order k − 1.  Then

* *it bounds.*  Of K homogeneous of degree k + 1, (1) keeps Σ v^α (∂_t + v·∂_q) K_α = 0: the laws
  of a free particle, polynomials in v and q − t v, whose coefficients have degree ≤ m.  For k ≥ m
  none is left, so that a law is determined by its k-jet, and there are at most dim S_k of them.
* *it is exact where it stands still.*  If dim S_{k+1} = dim S_k with k > m near z₀, the system is
  formally integrable (its symbol vanishes) and as many laws exist near z₀.
* *modulo p it bounds as well*: at a random point with residues for coordinates and parameters the
  rank of (1) is not higher than at a general one, so that dim S_k can only come out too large.

S_{k+1} is found from S_k: equations of order k on its basis and on the new coefficients, at as many
random lines z₀ + ε ρ, with random v, as there are unknowns.  With time reversal even and odd parts
are separate.  The same is done for point symmetries (ξ₀, ξ, G)(t, q) of Noether,

    L_t ξ₀ + L_q·ξ + L_q̇·ξ̇ + (L − L_q̇·q̇) ξ̇₀ + Ġ = 0.                                        (2)

Source: Goldschmidt 1967, Ann. Math. 86, 246 (formal integrability).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import sympy as sp

from taut.laws.dynamics import Dynamics
from taut.laws.field import WORD, Field
from taut.laws.monomials import homogeneous, lowered, multi_indices, up_to
from taut.laws.ring import Ring
from taut.laws.series import Lines, origin_of
from taut.model import System, t

UNKNOWNS = 1500  # of one order, beyond which a bound is given up
SPEED = 2e8  # multiplications per second, roughly; a limit in seconds must not depend on the clock
HIGHEST = 16  # order of a jet
COST = 1e6  # of one order, besides
SPARE = 8  # more lines than unknowns
DOUBLED = 6  # how often their number is


@dataclass(frozen=True)
class Bound:
    """At most `count` laws; `sharp` if so many exist near a general point."""

    count: int
    order: int
    sharp: bool


class Work:
    """What may be spent, in multiplications, so that every machine comes to the same end."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds * SPEED

    def spend(self, amount: float) -> bool:
        """Whether there is as much; if so it is taken."""
        if amount > self.left:
            return False
        self.left -= amount
        return True


@dataclass
class Operator:
    """Σ_u A_u U_u + Σ_l B_ul ∂_l U_u of unknown functions U_u, with series for A and B.

    Both have the lines last but one and powers of ε last: (u, ·, ·) and (u, l, ·, ·).
    """

    values: np.ndarray
    slopes: np.ndarray


def _rows(f: Field, slopes: np.ndarray, terms: Operator, order: int, keep: Callable) -> list:
    """Coefficients of ε^order, a block of columns for every degree up to order + 1."""
    blocks, (lines, width) = [], slopes.shape
    count = len(terms.values)
    powers = homogeneous(f, slopes, order + 1)
    for s in range(order + 2):
        beta = multi_indices(width, s)
        block = np.zeros((count, lines, len(beta)), dtype=WORD)
        if s <= order:
            block = f.mul(terms.values[:, :, order - s, None], powers[s])
        for l in range(width if s else 0):
            turned = f.mul(powers[s - 1][:, lowered(width, s)[l]], beta[:, l].astype(WORD))
            block = f.fma(block, terms.slopes[:, l, :, order - s + 1, None], turned)
        chosen = np.array([keep(u, beta) for u in range(count)])
        blocks.append(block.transpose(1, 0, 2)[:, chosen])
    return blocks


class Jets:
    """The spaces S_k of a linear system of first order for `count` functions.

    `make` gives its operator along lines, `keep` which coefficients of a degree are unknown.
    Dimensions are remembered.
    """

    def __init__(
        self, setting: Setting, count: int, make: Callable[[Lines], Operator], keep: Callable
    ) -> None:
        self.setting, self.count, self.make, self.keep = setting, count, make, keep
        self.basis = np.eye(self._unknown(0), dtype=WORD)
        self.shapes = [self.basis.shape]  # of bases, one for every order

    def _unknown(self, degree: int) -> int:
        beta = multi_indices(self.setting.width, degree)
        return sum(int(self.keep(u, beta).sum()) for u in range(self.count))

    def dimensions(self, work: Work) -> Iterator[int]:
        """The dimensions of S_1, S_2, … until it takes too many unknowns or too long.

        What is remembered costs as much: how far a bound gets must not depend on what was asked.
        """
        for order in range(HIGHEST):
            known, width = self.shapes[order]
            unknowns = known + self._unknown(order + 1)
            cost = unknowns**2 * (unknowns + width) + COST
            if unknowns > UNKNOWNS or not work.spend(cost):
                return
            if order + 1 == len(self.shapes):
                self._advance(order, unknowns)
            yield self.shapes[order + 1][0]

    def _advance(self, order: int, unknowns: int) -> None:
        """From the space of one order to that of the next."""
        g, f, basis = self.setting, self.setting.field, self.basis
        lines = g.enough(unknowns + SPARE, order)
        blocks = _rows(f, lines.slopes, self.make(lines), order, self.keep)
        fine = lines.good
        old, new = np.hstack(blocks[:-1])[fine], blocks[-1][fine]
        known = f.dot(old, np.ascontiguousarray(basis.T))
        null = f.null_space(np.ascontiguousarray(np.hstack([known, new])))
        both = [f.dot(null[:, : len(basis)], basis), null[:, len(basis) :]]
        self.basis = np.hstack(both)
        self.shapes.append(self.basis.shape)

    def bound(self, least: int, goal: int, work: Work) -> Bound | None:
        """The lowest bound, from order `least` on; it ends at `goal`, or when it stands still."""
        best, last = None, -1
        for order, found in enumerate(self.dimensions(work), start=1):
            if order < least:
                continue
            if found == goal:
                return Bound(found, order, True)
            sharp = order > least + 1 and found == last
            best, last = Bound(found, order, sharp), found
            if sharp:
                return best
        return best


class Setting:
    """A model at one random point modulo p, and how its time reversal splits what is unknown."""

    def __init__(self, dynamics: Dynamics, time: bool) -> None:
        self.dynamics, self.time = dynamics, time
        known = [*dynamics.state, *dynamics.parameters, t]
        self.ring = Ring(dynamics.expressions, known)
        (self.field,) = dynamics.fields(self.ring, 1, block=4)
        self.parameters = dynamics.drawn(self.ring, self.field)
        self.origin = origin_of(dynamics, self.ring, self.field, self.parameters)
        self.speeds = len(dynamics.rates_of) - len(dynamics.constraints)
        self.width = self.speeds + time

    def lines(self, count: int, order: int) -> Lines:
        """Lines through the point."""
        d, f = self.dynamics, self.field
        return Lines(d, self.ring, f, self.parameters, count, max(order, 1), self.time, self.origin)

    def enough(self, count: int, order: int) -> Lines:
        """Lines of which at least `count` are good: roots of velocities are not on every one."""
        lines = self.lines(count, order)
        for k in range(1, DOUBLED + 1):
            if lines.good.sum() >= count:
                break
            lines = self.lines(count << k, order)
        return lines

    @property
    def reversible(self) -> bool:
        """Whether t → −t, v → −v changes nothing."""
        d = self.dynamics
        if d.timed:
            return False
        flip = {w: -w for w in d.rates_of}
        return all(sp.expand(e - e.xreplace(flip)) == 0 for e in (d.energy_function, *d.forces))


def applies(dynamics: Dynamics) -> bool:
    """Whether q̇ and p are affine in the variables that laws are polynomials of."""
    d = dynamics
    if not d.mechanical:
        return False
    slopes = [d.explicit[x].diff(w) for x in d.positions for w in d.rates_of]
    masses = [e for row in d.mass for e in row]
    return not any(e.free_symbols & set(d.rates_of) for e in (*slopes, *masses))


def integral_bound(
    dynamics: Dynamics, degree: int, time: bool, goal: int = 0, work: Work | None = None
) -> Bound | None:
    """The number of laws Σ K_α v^α, |α| ≤ degree, with any smooth K_α(q) or K_α(t, q).

    Parameters
    ----------
    dynamics : Dynamics
        Of a system; with constraints v are the velocities of coordinates that are free.
    degree : int
        m, from 1.
    time : bool
        Whether K_α may depend on t; without it the model must not.
    goal : int
        How many are known: with a bound as low as that it ends.
    work : Work, optional
        What may be spent; five seconds by default.

    Returns
    -------
    Bound or None
        None if it would take too long, or if the system has no such bound.
    """
    if not applies(dynamics) or (dynamics.timed and not time):
        return None
    return Integrals(dynamics, time).bound(degree, goal, work or Work(5.0))


class Integrals:
    """The bounds of all degrees for laws of a system, with what they share."""

    def __init__(self, dynamics: Dynamics, time: bool) -> None:
        self.setting, self.time = Setting(dynamics, time), time
        self.reversible = self.setting.reversible
        self._parts: dict[tuple[int, int], Jets] = {}

    def bound(self, degree: int, goal: int, work: Work) -> Bound | None:
        """See `integral_bound`."""
        if not self.reversible:
            return self._whole(degree).bound(max(degree, 1), goal, work)
        return _sum([self._part(degree, parity) for parity in (0, 1)], degree, goal, work)

    def _jets(self, alphas: list[tuple[int, ...]], keep: Callable) -> Jets:
        return Jets(
            self.setting, len(alphas), lambda x: _of_integrals(self.setting, x, alphas), keep
        )

    def _whole(self, degree: int) -> Jets:
        alphas = up_to(self.setting.speeds, degree)
        return self._jets(alphas, lambda _, beta: np.ones(len(beta), dtype=bool))

    def _part(self, degree: int, parity: int) -> Jets:
        """Of one parity of the powers of v and t: D I of an even one is odd.

        Without t it has every other degree of v only, and the part of one degree less may be the
        same.
        """
        if not self.time and degree % 2 != parity:
            degree -= 1
        if (degree, parity) not in self._parts:
            alphas = up_to(self.setting.speeds, degree)
            if not self.time:
                alphas = [a for a in alphas if sum(a) % 2 == parity]

            def keep(u: int, beta: np.ndarray) -> np.ndarray:
                return (sum(alphas[u]) + beta[:, 0] * self.time) % 2 == parity

            self._parts[degree, parity] = self._jets(alphas, keep)
        return self._parts[degree, parity]


def _sum(parts: list[Jets], least: int, goal: int, work: Work) -> Bound | None:
    """Both parities, order by order."""
    best, last = None, -1
    for order, pair in enumerate(zip(*(x.dimensions(work) for x in parts), strict=False), start=1):
        found = sum(pair)
        if order < least:
            continue
        if found == goal:
            return Bound(found, order, True)
        sharp = order > least + 1 and found == last
        best, last = Bound(found, order, sharp), found
        if sharp:
            break
    return best


def _of_integrals(setting: Setting, lines: Lines, alphas: list[tuple[int, ...]]) -> Operator:
    """(1) along lines."""
    f, d = setting.field, setting.dynamics
    flows, pushes = lines.rates()
    speeds = [lines(d.rates_of[i]) for i in lines.own]
    powers: dict[tuple[int, ...], np.ndarray] = {}

    def power(alpha: tuple[int, ...]) -> np.ndarray:
        if alpha not in powers:
            i = next((k for k, a in enumerate(alpha) if a), None)
            if i is None:
                one = np.ones(len(lines.slopes), dtype=WORD)
                powers[alpha] = lines._constant(one)
            else:
                less = (*alpha[:i], alpha[i] - 1, *alpha[i + 1 :])
                powers[alpha] = lines.mul(power(less), speeds[i])
        return powers[alpha]

    values, slopes = [], []
    for alpha in alphas:
        total = np.zeros_like(power(alpha))
        for i, a in enumerate(alpha):
            if a:
                less = (*alpha[:i], a - 1, *alpha[i + 1 :])
                total = f.fma(total, lines.mul(power(less), pushes[i]), WORD(a))
        values.append(total)
        along = [lines.mul(power(alpha), x) for x in flows]
        slopes.append([power(alpha), *along] if setting.time else along)
    return Operator(np.array(values), np.array(slopes))


def noether_bound(dynamics: Dynamics, goal: int = 0, work: Work | None = None) -> Bound | None:
    """The number of point symmetries (ξ₀, ξ, G)(t, q) of Noether, with the constant G.

    L must be quadratic in the velocities; there is no bound with constraints or forces.
    """
    d = dynamics
    if not isinstance(d.model, System) or d.model.form != "lagrangian":
        return None
    bound = d.forced or d.constraints
    if bound or any(e.free_symbols & set(d.rates_of) for row in d.mass for e in row):
        return None
    setting = Setting(d, True)
    action = d.energy_function
    slopes = [action.diff(w) for w in d.rates_of]
    rest = action - sum(p * w for p, w in zip(slopes, d.rates_of, strict=True))
    heads = [rest, *slopes, sp.Integer(1)]
    tails = [action.diff(t), *(action.diff(x) for x in d.positions), sp.Integer(0)]

    def make(lines: Lines) -> Operator:
        speeds = [lines(w) for w in d.rates_of]
        values = [lines(e) for e in tails]
        turned = [[lines(e), *(lines.mul(lines(e), v) for v in speeds)] for e in heads]
        return Operator(np.array(values), np.array(turned))

    jets = Jets(setting, len(heads), make, lambda _, beta: np.ones(len(beta), dtype=bool))
    return jets.bound(2, goal, work or Work(5.0))


__all__ = ["Bound", "Integrals", "Work", "applies", "integral_bound", "noether_bound"]
