"""Small symmetric systems A κ = φ with A = J N⁻¹Jᵀ, in which rows may depend on each other.

Two ways to solve them.  `Ranked` factorises A = L D Lᵀ row by row.  Dₖ is the square of what is
left of a gradient when those before it are taken out of it.  If that is less than `RANK` of its
length, or less than gradients change along the correction (`FAR` times its length, in steps), the
law depends on the others here, and is left out.

`Quick` has no verdicts and a single division at the end of its chain, where L D Lᵀ waits for one
per row: cofactors for up to three rows, and for up to `QUICK` rows those of the Schur complement,
multiplied by the determinant of the first block.  It also tells whether `Ranked` would leave out
nothing, in one inequality.  With Dₖ ≤ Aₖₖ, and |δ|² = φᵀA⁻¹φ, all verdicts are good if

    V ≥ PLAIN,   V |way|² ≥ FAR² |δ|²,   where  V = det A / ∏ Aₖₖ ≤ Dₖ / Aₖₖ  for each k.

So a step branches on this, and a processor that predicts the branch does not wait for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

SX = ca.SX
RANK = 1e-4  # of a gradient that must be left beside the others
FAR = 3.0  # what gradients may change along a correction that is as long as the step
PLAIN = 1e-6  # the volume from which cofactors are as good as elimination
TINY = 1e-200  # of squared gradients: what a gradient that vanishes is divided by
QUICK = 6  # rows up to which cofactors are written down

Matrix = list[list[SX]]


def paired(terms: Sequence[SX]) -> SX:
    """A sum by halves: a chain of additions would wait for every one of them."""
    if len(terms) <= 2:
        return sum(terms, SX(0))
    middle = (len(terms) + 1) // 2
    return paired(terms[:middle]) + paired(terms[middle:])


def products(x: SX, y: SX) -> SX:
    """xᵀy, by halves."""
    every = [x[i] * y[i] for i in range(x.numel())]
    return paired([term for term in every if not term.is_zero()])


class Gram:
    """A = J N⁻¹Jᵀ of gradients (`rows`) and the same times N⁻¹ (`along`)."""

    def __init__(self, rows: Sequence[SX], along: Sequence[SX]) -> None:
        self.along, self.size = list(along), len(rows)
        self.a: Matrix = [[SX(0)] * self.size for _ in rows]
        for i, row in enumerate(rows):
            for j in range(i + 1):
                self.a[i][j] = self.a[j][i] = products(row, along[j])

    @property
    def sizes(self) -> list[SX]:
        """The squared lengths of the gradients."""
        return [self.a[i][i] for i in range(self.size)]

    @property
    def first(self) -> int:
        """How many rows the first block has, of two; none if there is one."""
        return 0 if self.size <= 3 else 2 if self.size <= 5 else 3

    def moved(self, kappa: Sequence[SX]) -> SX:
        """N⁻¹Jᵀκ."""
        total = SX.zeros(*self.along[0].shape) if self.along else SX(0, 1)
        for x, b in zip(kappa, self.along, strict=True):
            total = total + x * b
        return total


class Ranked:
    """L D Lᵀ with verdicts.

    `phi` are the values that are to be corrected, after a move of squared length `moved`.  The
    first `sure` rows are constraints, which the method itself needs to be independent.
    """

    def __init__(self, gram: Gram, phi: SX, moved: SX, sure: int) -> None:
        self.gram = gram
        self.lower: Matrix = []
        self.good: list[SX] = []
        self.over: list[SX] = []  # 1/Dᵢ, zero for what is left out
        gaps: list[SX] = []  # L⁻¹φ
        reach = SX(0)  # the squared length of the correction so far
        for k in range(gram.size):
            shares: list[SX] = []  # Lₖⱼ Dⱼ
            own: list[SX] = []
            for j in range(k):
                rest = gram.a[k][j]
                for share, a in zip(shares, self.lower[j], strict=True):
                    rest = rest - share * a
                shares.append(rest)
                own.append(rest * self.over[j])
            left = size = gram.a[k][k]
            gap = phi[k]
            for share, a, x in zip(shares, own, gaps, strict=True):
                left = left - share * a
                gap = gap - a * x
            good, over = SX(1), 1 / ca.fmax(left, TINY)
            if k >= sure:
                far = FAR**2 * size * (reach * left + gap * gap)
                good = ca.logic_and(left > RANK**2 * size, left * left * moved >= far)
                over = ca.if_else(good, over, 0)  # the reciprocal does not wait for the verdict
            reach = reach + gap * gap * over
            gaps.append(gap * good)
            self.lower.append(own)
            self.good.append(good)
            self.over.append(over)

    def solved(self, phi: Sequence[SX]) -> list[SX]:
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
        return self.gram.moved([-x for x in self.solved([phi[i] for i in range(phi.numel())])])

    def inverse(self) -> list[SX]:
        """Entries of (J N⁻¹Jᵀ)⁻¹ on and below the diagonal, zero for what is left out."""
        size = self.gram.size
        columns = [self.solved([SX(i == j) for i in range(size)]) for j in range(size)]
        return [columns[j][i] for i in range(size) for j in range(i + 1)]


class Quick:
    """The same without verdicts: see the module's head."""

    def __init__(self, gram: Gram) -> None:
        self.gram, k, a = gram, gram.first, gram.a
        self.one = [row[:k] for row in a[:k]]
        self.adj, self.det = adjugate(self.one) if k else ([], SX(1))
        below = [row[:k] for row in a[k:]]
        self.mixed = [_row_times(row, self.adj) for row in below]  # A₂₁ adj A₁₁
        self.schur = [
            [
                self.det * x - _dot(m, other) if k else x
                for x, other in zip(row[k:], below, strict=True)
            ]
            for row, m in zip(a[k:], self.mixed, strict=True)
        ]
        self.adj2, self.det2 = adjugate(self.schur)
        self.whole = self.det * self.det2 if k else self.det2
        self.over = 1 / self.whole

    def to(self, phi: SX) -> tuple[SX, SX]:
        """−N⁻¹Jᵀ (J N⁻¹Jᵀ)⁻¹φ, and its squared length."""
        k, along = self.gram.first, self.gram.along
        upper, lower = ([-phi[i] for i in r] for r in (range(k), range(k, self.gram.size)))
        gaps = [
            self.det * x - _dot(m, upper) if k else x
            for x, m in zip(lower, self.mixed, strict=True)
        ]
        found = [_dot(row, gaps) for row in self.adj2]
        factors = [self.det * x for x in found] if k else found
        push = _sum(factors, along[k:])
        if k:
            back = [-_dot(column, found) for column in zip(*self.mixed, strict=True)]
            push = push + _sum(back, along[:k])
        delta, square = push * self.over, _dot(gaps, found) * self.over
        if k:
            held = [_dot(row, upper) / self.det for row in self.adj]
            delta = _sum(held, along[:k]) + delta
            square = square + _dot(held, upper)
        return delta, square

    def plain(self, moved: SX, square: SX, sure: int) -> SX:
        """Whether nothing would be left out of a correction of this squared length."""
        k, sizes = self.gram.first, self.gram.sizes
        scale = _product(sizes)
        for _ in range(len(sizes) - k - 1 if k else 0):
            scale = scale * self.det
        fine = self.det2 > ca.fmax(PLAIN * scale, TINY)
        # Determinants are high powers of lengths: 1e10 m are too much for those of six rows.
        fine = ca.logic_and(fine, ca.logic_and(self.whole > TINY, self.whole < 1 / TINY))
        if k:
            fine = ca.logic_and(fine, self.det > ca.fmax(PLAIN * _product(sizes[:k]), TINY))
        if sure == self.gram.size:
            return fine
        return ca.logic_and(fine, self.det2 * moved >= FAR**2 * scale * square)

    def inverse(self) -> list[SX]:
        """As `Ranked.inverse`."""
        k, size = self.gram.first, self.gram.size
        over = self.over * self.det if k else self.over  # 1 / det₂
        last = [[x * over for x in row] for row in self.adj2]  # the Schur complement's, / det
        if not k:
            return [last[i][j] for i in range(size) for j in range(i + 1)]
        cross = [[-_dot(row, column) for column in zip(*self.mixed, strict=True)] for row in last]
        first = [
            [
                self.adj[i][j] / self.det
                - _dot([m[i] for m in self.mixed], [row[j] for row in cross]) / self.det
                for j in range(i + 1)
            ]
            for i in range(k)
        ]
        lower = [[*cross[i], *(self.det * x for x in last[i][: i + 1])] for i in range(size - k)]
        return [x for row in (*first, *lower) for x in row]


def adjugate(a: Matrix) -> tuple[Matrix, SX]:
    """The adjugate and the determinant of a symmetric matrix of up to three rows."""
    if len(a) == 1:
        return [[SX(1)]], a[0][0]
    if len(a) == 2:
        det = a[0][0] * a[1][1] - a[1][0] * a[1][0]
        return [[a[1][1], -a[1][0]], [-a[1][0], a[0][0]]], det
    c: Matrix = [[SX(0)] * 3 for _ in range(3)]
    for i in range(3):
        for j in range(i + 1):
            (p, q), (r, s) = ([k for k in range(3) if k != x] for x in (i, j))
            minor = a[p][r] * a[q][s] - a[p][s] * a[q][r]
            c[i][j] = c[j][i] = minor if (i + j) % 2 == 0 else -minor
    return c, _dot(a[0], c[0])


def full(entries: Sequence[SX], size: int) -> Matrix:
    """A symmetric matrix from its entries on and below the diagonal."""
    at = iter(entries)
    made: Matrix = [[SX(0)] * size for _ in range(size)]
    for i in range(size):
        for j in range(i + 1):
            made[i][j] = made[j][i] = next(at)
    return made


def _dot(x: Sequence[SX], y: Sequence[SX]) -> SX:
    return sum((a * b for a, b in zip(x, y, strict=True)), SX(0))


def _row_times(row: Sequence[SX], matrix: Matrix) -> list[SX]:
    return [_dot(row, column) for column in zip(*matrix, strict=True)]


def _sum(factors: Sequence[SX], vectors: Sequence[SX]) -> SX:
    return sum((x * b for x, b in zip(factors, vectors, strict=True)), SX(0))


def _product(factors: Sequence[SX]) -> SX:
    total = factors[0]
    for x in factors[1:]:
        total = total * x
    return total
