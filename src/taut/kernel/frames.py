"""Rigid bodies eliminated in closed form: nine coordinates that are three directors.

Of a group with coordinates x = (r, d₁, d₂, d₃), diagonal mass (m, Eᵢ) and the six constraints that
hold its directors orthonormal, an iteration solves for moves δ and multipliers Λ = Λᵀ

    m δr + C⁰ᵣ λ = fᵣ,      Eᵢ δᵢ + Σⱼ Λᵢⱼ D⁰ⱼ + C⁰ᵢ λ = fᵢ,      D¹ᵢ·δⱼ + D¹ⱼ·δᵢ = 2 ρᵢⱼ,

with directors D⁰ where constraints push and D¹ where they are to hold; λ are the multipliers
between bodies, which stay.  The last equations leave a rotation free, and Λ does no work on one:

    δᵢ = θ × D¹ᵢ + pᵢ,   pᵢ = Σⱼ ρᵢⱼ D̂¹ʲ,          Σᵢ D⁰ᵢ × Σⱼ Λᵢⱼ D⁰ⱼ = 0,
    K θ = Σᵢ D⁰ᵢ × (fᵢ − Eᵢ pᵢ − C⁰ᵢ λ),             K = Σᵢ Eᵢ (D⁰ᵢ·D¹ᵢ I − D¹ᵢ D⁰ᵢᵀ),

and Λᵢⱼ = D̂⁰ʲ·(fᵢ − Eᵢ δᵢ − C⁰ᵢ λ).  D̂ is the dual basis, so that nothing is asked of the directors
but that they are independent.  Three equations instead of eighteen: this is the null-space method
(Betsch 2005, doi:10.1016/j.cma.2004.11.017) with both null spaces known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

import casadi as ca
import numpy as np

from taut.kernel.arithmetic import less, minus, no, over, plus, size_of, times
from taut.kernel.sparse import TINY_PIVOT

SX = ca.SX
PAIRS = ((0, 1), (0, 2), (1, 2))
Entries = dict[tuple[int, int], SX]
Vector = list[SX]


@dataclass(frozen=True)
class Frame:
    """Which unknowns of a group are what.

    Attributes
    ----------
    directors : list of list of int
        Moves of the components of three directors.
    own, cross : list of int
        Multipliers of dᵢ·dᵢ and of dᵢ·dⱼ for (i, j) of `PAIRS`.
    others : list of int
        Moves of all other coordinates.
    push, hold : float
        What stands in the column, or row, of dᵢ·dⱼ in units of that of dⱼ·dⱼ.
    """

    directors: list[list[int]]
    own: list[int]
    cross: list[int]
    others: list[int]
    push: float
    hold: float


@dataclass
class FrameElimination:
    """A body that is eliminated, with what `condense.Elimination` has for others."""

    frame: Frame
    matrix: Entries
    right: dict[int, SX]
    outer: list[int]
    schur: Entries = field(default_factory=dict)
    rest: dict[int, SX] = field(default_factory=dict)
    lost: dict[int, SX] = field(default_factory=dict)
    bad: SX = field(default_factory=lambda: SX(0))

    def __post_init__(self) -> None:
        frame, entry = self.frame, self._entry
        moves = frame.directors
        self.push = [[entry(x, c) for x in d] for d, c in zip(moves, frame.own, strict=True)]
        self.hold = [[entry(c, x) for x in d] for d, c in zip(moves, frame.own, strict=True)]
        self.inertia = [entry(d[0], d[0]) for d in moves]
        self.arms = {o: [[entry(x, o) for x in d] for d in moves] for o in self.outer}
        rows = {o: [[entry(o, x) for x in d] for d in moves] for o in self.outer}
        force = [[self.right[x] for x in d] for d in moves]
        self.strain = self._strain()
        free = [
            [minus(f, times(e, p)) for f, p in zip(*pair, strict=True)]
            for e, *pair in zip(self.inertia, force, self.strain, strict=True)
        ]
        inverse = self._inverse()
        self.turn = _times(inverse, _torque(self.push, free))
        self.response = {o: _times(inverse, _torque(self.push, self.arms[o])) for o in self.outer}
        self._condense(rows)

    def _entry(self, i: int, j: int) -> SX:
        return self.matrix.get((i, j), SX(0))

    def _condense(self, rows: dict[int, list[Vector]]) -> None:
        """What the body adds to the matrix and the right side of the outer unknowns."""
        for o, row in rows.items():
            turned = _torque(self.hold, row)
            total = _dot(turned, self.turn)
            for c, p in zip(row, self.strain, strict=True):
                total = plus(total, _dot(c, p))
            for x in self.frame.others:
                part = times(self._entry(o, x), self.right[x])
                total = plus(total, over(part, self._entry(x, x)))
            self.rest[o] = -total
            for to in self.outer:
                turning, moving = _dot(turned, self.response[to]), SX(0)
                for x in self.frame.others:
                    part = times(self._entry(o, x), self._entry(x, to))
                    moving = plus(moving, over(part, self._entry(x, x)))
                self.schur[o, to] = -plus(turning, moving)
                if o == to:
                    self.lost[o] = plus(size_of(turning), size_of(moving))

    def _inverse(self) -> list[Vector]:
        """K⁻¹ by cofactors."""
        k = [[SX(0)] * 3 for _ in range(3)]
        for e, push, hold in zip(self.inertia, self.push, self.hold, strict=True):
            both = _dot(push, hold)
            for a in range(3):
                for b in range(3):
                    across = minus(both if a == b else SX(0), times(hold[a], push[b]))
                    k[a][b] = plus(k[a][b], times(e, across))
        dual, self.bad = _dual(k, self.bad)
        return [[dual[b][a] for b in range(3)] for a in range(3)]

    def _strain(self) -> list[Vector]:
        """The moves pᵢ that mend the directors' lengths and angles."""
        dual, self.bad = _dual(self.hold, self.bad)
        amount = {(i, i): self.right[c] for i, c in enumerate(self.frame.own)}
        for (i, j), c in zip(PAIRS, self.frame.cross, strict=True):
            amount[i, j] = amount[j, i] = self.right[c] / (2 * self.frame.hold)
        return [_combined([amount[i, j] for j in range(3)], dual) for i in range(3)]

    # ---- the second half ---------------------------------------------------------------------

    def _halfway(self) -> dict[tuple, SX]:
        """What the second half goes on with."""
        found: dict[tuple, SX] = {("turn", a): x for a, x in enumerate(self.turn)}
        for i, d in enumerate(self.frame.directors):
            for a, x in enumerate(d):
                found["strain", i, a] = self.strain[i][a]
                found["right", x] = self.right[x]
        found |= {("right", x): self.right[x] for x in self.frame.others}
        found |= {("response", o, a): self.response[o][a] for o in self.outer for a in range(3)}
        return found

    def kept(self) -> dict[tuple, SX]:
        """Numbers that are not computed a second time."""
        return {key: x for key, x in self._halfway().items() if not x.is_constant()}

    def found(self, number: dict[tuple, SX], outside: dict[int, SX]) -> dict[int, SX]:
        """All moves and multipliers of the body, from those outside."""
        frame, entry, number = self.frame, self._entry, self._halfway() | number
        x = {}
        for r in frame.others:
            total = number["right", r]
            for o, value in outside.items():
                total = minus(total, times(entry(r, o), value))
            x[r] = over(total, entry(r, r))
        turn = [number["turn", a] for a in range(3)]
        for o, value in outside.items():
            turn = [minus(t, times(number["response", o, a], value)) for a, t in enumerate(turn)]
        loads = []
        for i, d in enumerate(frame.directors):
            move = _cross(turn, self.hold[i])
            load = []
            for a, place in enumerate(d):
                x[place] = plus(move[a], number["strain", i, a])
                total = minus(number["right", place], times(self.inertia[i], x[place]))
                for o, value in outside.items():
                    total = minus(total, times(self.arms[o][i][a], value))
                load.append(total)
            loads.append(load)
        dual, _ = _dual(self.push, SX(0))
        for i, c in enumerate(frame.own):
            x[c] = _dot(dual[i], loads[i])
        for (i, j), c in zip(PAIRS, frame.cross, strict=True):
            x[c] = _dot(dual[j], loads[i]) / frame.push
        return x


def frame_of(matrix: Entries, moves: list[int], private: list[int]) -> Frame | None:
    """How a group is a rigid body, or None if it is not one of those above.

    The matrix is asked at two sets of numbers that are as good as any.
    """
    if len(private) != 6:
        return None
    known, again = _numbers(matrix, 0), _numbers(matrix, 1)
    support = {c: [x for x in moves if known.get((x, c))] for c in private}
    if any(support[c] != [x for x in moves if known.get((c, x))] for c in private):
        return None
    own = [c for c in private if len(support[c]) == 3]
    directors = [support[c] for c in own]
    if len(own) != 3 or len({x for d in directors for x in d}) != 9:
        return None
    cross = []
    for i, j in PAIRS:
        both = sorted(directors[i] + directors[j])
        cross += [c for c in private if sorted(support[c]) == both]
    others = [x for x in moves if all(x not in d for d in directors)]
    if len(cross) != 3 or not _fits(known, directors, moves, private):
        return None
    weights = [_weights(x, directors, own, cross) for x in (known, again)]
    if not np.allclose(weights, np.array(weights)[0, :, :1], rtol=1e-12, atol=0):
        return None
    push, hold = (float(x[0]) for x in weights[0])
    return Frame(directors, own, cross, others, push, hold)


def _numbers(matrix: Entries, seed: int) -> dict[tuple[int, int], float]:
    every = ca.vertcat(*matrix.values())
    symbols = ca.symvar(every)
    given = np.random.default_rng(seed).uniform(0.5, 1.5, len(symbols))
    found = np.array(ca.Function("entries", [ca.vertcat(*symbols)], [every])(given)).ravel()
    return {place: x for place, x in zip(matrix, found.tolist(), strict=True) if x}


def _fits(known: dict[tuple[int, int], float], directors, moves, private) -> bool:
    """Whether masses are diagonal and the same for all components of a director."""
    inner = {*moves, *private}
    for i, j in known:
        if i in inner and j in inner and i != j and (i in moves) == (j in moves):
            return False
    masses = [[known.get((x, x), 0.0) for x in d] for d in directors]
    isotropic = all(np.ptp(m) <= 1e-12 * abs(m[0]) for m in masses)
    return isotropic and all(known.get((x, x)) for x in moves)


def _weights(known: dict[tuple[int, int], float], directors, own, cross) -> np.ndarray:
    """What stands in columns and rows of dᵢ·dⱼ in units of those of dⱼ·dⱼ, shape (2, 18)."""
    found = []
    for flip in (1, -1):
        for (i, j), c in zip(PAIRS, cross, strict=True):
            for a, b in ((i, j), (j, i)):
                for x, y in zip(directors[a], directors[b], strict=True):
                    found.append(known.get((x, c)[::flip], 0.0) / known.get((y, own[b])[::flip], 1))
    return np.array(found).reshape(2, -1)


# ---- vectors -----------------------------------------------------------------------------------


def _dot(a: Vector, b: Vector) -> SX:
    first, second, third = map(times, a, b)
    return plus(plus(first, second), third)


def _cross(a: Vector, b: Vector) -> Vector:
    return [minus(times(a[i - 2], b[i - 1]), times(a[i - 1], b[i - 2])) for i in range(3)]


def _combined(amounts: Vector, vectors: list[Vector]) -> Vector:
    return [_dot(amounts, [v[a] for v in vectors]) for a in range(3)]


def _torque(directors: list[Vector], forces: list[Vector]) -> Vector:
    """Σᵢ dᵢ × fᵢ."""
    parts = [_cross(d, f) for d, f in zip(directors, forces, strict=True)]
    return [reduce(plus, (p[a] for p in parts), SX(0)) for a in range(3)]


def _times(matrix: list[Vector], vector: Vector) -> Vector:
    return [_dot(row, vector) for row in matrix]


def _dual(vectors: list[Vector], bad: SX) -> tuple[list[Vector], SX]:
    """D̂ʲ with D̂ʲ·Dᵢ = δᵢⱼ; `bad` grows if the vectors are not independent."""
    crossed = [_cross(vectors[i - 2], vectors[i - 1]) for i in range(3)]
    volume = _dot(vectors[0], crossed[0])
    size = reduce(plus, map(size_of, map(times, vectors[0], crossed[0])), SX(0))
    bad = plus(bad, no(less(times(TINY_PIVOT, size), size_of(volume))))
    inverse = 1 / volume
    return [[times(x, inverse) for x in c] for c in crossed], bad
