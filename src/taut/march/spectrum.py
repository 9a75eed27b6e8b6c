"""The lowest eigenvalues s of (s²M + sD + K) z = 0, for matrices of meshes and of mechanisms.

Without damping and with K symmetric, s² = −λ with K z = λ M z.  The lowest λ are the largest
θ = 1/(λ − μ) of (K − μM)⁻¹M for a shift μ below them, and are found as such: what is stiff has
θ near zero and does not disturb them, as it does those of K.  Where θ is too small to be exact the
shift moves up, to where a count of eigenvalues (Sylvester) has shown that none is missed.  In other
cases a shift is inverted in the linearised pencil, or in K z = λ M z, which then has complex λ.

Every pair is looked at once more: λ is its Rayleigh quotient, with strains taken before they are
squared, and

    (K − μM)⁻¹M z = θ z + r,        |1/(λ − μ) − θ| ≤ |r|,

says how far λ may be off; to this comes what rounding K has done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

SMALL = 80  # unknowns up to which symmetric matrices are taken as dense; half of it for others
SPARE = 6  # eigenvalues more than are asked for
REAL = 1e-5  # |Im λ| over |λ| of an eigenvalue that counts as real
EXACT = 1e-7  # |r| over θ: more, and the shift moves up
WINDOWS = 40  # shifts: each leads on by four decimal places of λ or more
ROUNDED = 4 * np.finfo(float).eps  # of what is added up: what is left of a difference
ROUNDS = 4  # of scaling: what is left to do is a factor of the 16th root of what was
ITERATIONS = 200  # of Arnoldi's method: a dozen are enough where eigenvalues do not crowd
LIMIT = 500  # doublings of a shift: all of a double's range


class Pencil(Protocol):
    """K, M and D at one place."""

    @property
    def mass(self) -> Any: ...

    def factored(self, value: float = 0.0, border: np.ndarray | None = None) -> Any:
        """K − μM, with rows beside it; `.solve(force)[0]` are motions."""
        ...

    def damped(self, shift: float, border: np.ndarray | None = None) -> Callable:
        """Z of K z + D(a + σz) + σM(a + σz) + M b = 0, of a and b."""
        ...

    def energy(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """zᴴK z of columns, and what rounding may have done to it."""
        ...

    def below(self, value: float, loads: float, gauge: np.ndarray | None) -> tuple[int, int]:
        """How many λ surely lie below a value, and how many may."""
        ...


@dataclass(frozen=True)
class Found:
    """Eigenvalues (λ, or s), vectors in columns, and by how much eigenvalues may be off."""

    values: np.ndarray
    vectors: np.ndarray
    errors: np.ndarray

    def taken(self, which: Any) -> Found:
        return Found(self.values[which], self.vectors[:, which], self.errors[which])


def roots(found: Found) -> Found:
    """The s of λ = −s²: iω, the positive one of a motion that grows, zero to round-off."""
    nothing = np.isfinite(found.errors) & (np.abs(found.values) <= found.errors)
    squares = np.where(nothing, 0.0, found.values)
    size = np.sqrt(np.abs(squares))
    # |δs| = |δλ|/2|s|; where λ may be zero, s may be as large as its root.
    off = np.where(size > 0, found.errors / np.maximum(2 * size, 1e-300), np.sqrt(found.errors))
    return Found(np.where(squares < 0, 1, 1j) * size, found.vectors, off)


# ---- symmetric ---------------------------------------------------------------------------------


def symmetric(pencil: Pencil, count: int, unit: float, gauge: np.ndarray) -> Found:
    """The lowest λ of motions that are M-orthogonal to `gauge` (rows, with K z = 0).

    `unit` is a small typical λ.
    """
    n = pencil.mass.shape[0]
    count = min(count, n - len(gauge))
    shift, further = 0.0, unit
    for _ in range(LIMIT):
        if pencil.below(shift, 1.0, gauge) == (0, 0):
            break
        shift, further = -further, 4 * further
    parts: list[Found] = []
    have = 0
    for _ in range(WINDOWS):
        window, exact, whole = _window(pencil, shift, count - have, gauge)
        many = len(exact) if exact.all() else int(np.argmin(exact))
        if whole and many == n - len(gauge) - have:  # all there are
            parts.append(window)
            have += many
            break
        cut, following = _cut(pencil, window, shift, many, count - have, have, gauge)
        if not cut:
            break
        parts.append(window.taken(slice(cut)))
        have, shift = have + cut, following
        if have >= count:
            break
    if have < count:  # the rest is what it is, and is not sure
        window, _, _ = _window(pencil, shift, count - have, gauge)
        parts.append(Found(window.values, window.vectors, np.full(len(window.values), np.inf)))
    return Found(
        np.concatenate([x.values for x in parts]),
        np.hstack([x.vectors for x in parts]),
        np.concatenate([x.errors for x in parts]),
    ).taken(slice(count))


def _window(
    pencil: Pencil, shift: float, wanted: int, gauge: np.ndarray
) -> tuple[Found, np.ndarray, bool]:
    """The lowest λ above a shift, which of them are exact, and whether all were asked for."""
    m, n = pencil.mass, pencil.mass.shape[0]
    factors = pencil.factored(shift, gauge @ m)
    asked = 2 * wanted + SPARE
    whole = n <= SMALL or 2 * asked > n
    if whole:
        from scipy.linalg import eigh

        root = np.linalg.cholesky(m.toarray())
        inverse = factors.solve(root)[0]
        both = root.T @ inverse
        theta, y = eigh((both + both.T) / 2)
        first = np.argsort(-theta)[: n - len(gauge)]
        first = first[theta[first] > 0]
        z = inverse @ y[:, first]
    else:
        z = _lanczos(m, factors, shift, asked)
    if not z.shape[1]:
        return Found(np.zeros(0), z, np.zeros(0)), np.zeros(0, dtype=bool), whole
    z = z / np.sqrt(_square(m, z))
    energy, noise = pencil.energy(z)
    order = np.argsort(energy)
    values, z, noise = energy[order], z[:, order], noise[order]
    rest = (values - shift) * factors.solve(m @ z)[0] - z
    off, away = np.sqrt(_square(m, rest)), np.abs(values - shift)
    exact = off * away <= EXACT * away + noise  # rounding K does the same to both
    return Found(values, z, off * away + noise), exact, whole


def _square(m: Any, z: np.ndarray) -> np.ndarray:
    """zᴴM z of columns."""
    return np.real(np.einsum("ia,ia->a", z.conj(), m @ z))


def _lanczos(m: Any, factors: Any, shift: float, asked: int) -> np.ndarray:
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    n = m.shape[0]
    operator = LinearOperator((n, n), matvec=lambda x: factors.solve(x)[0], dtype=float)
    start = np.random.default_rng(0).standard_normal(n) / np.sqrt(m.diagonal())
    start = factors.solve(m @ start)[0]  # rid of what the border excludes
    more = min(n, 3 * asked + 20)
    try:
        return eigsh(m, asked, m, shift, "LA", start, more, OPinv=operator)[1]
    except ArpackNoConvergence as error:
        return error.eigenvectors


def _cut(
    pencil: Pencil, window: Found, shift: float, many: int, need: int, have: int, gauge: np.ndarray
) -> tuple[int, float]:
    """How many of the first `many` to take, and a value above them: where the count is right."""
    if not many:
        return 0, shift
    away = window.values[: many + 1] - shift  # the last of these need not be exact
    gaps = away[1:] / away[:-1]
    first = need - 1 if need < many else len(gaps) // 2
    for k in first + np.argsort(-gaps[first:], kind="stable")[:SPARE]:
        step, below = float(np.sqrt(away[k] * away[k + 1])), (have + k + 1,) * 2
        if pencil.below(shift + step, 1.0, gauge) != below:
            continue
        for _ in range(LIMIT if k + 1 < need else 0):  # to where the next one is not far
            if pencil.below(shift + 4 * step, 1.0, gauge) != below:
                break
            step *= 4
        return int(k) + 1, shift + step
    return 0, shift


# ---- others ------------------------------------------------------------------------------------


def general(pencil: Pencil, count: int, unit: float) -> Found:
    """S with s² = −λ, K z = λ M z, of the smallest |λ|; the s with Re s ≥ 0 of each pair."""
    from scipy.linalg import eig
    from scipy.sparse.linalg import LinearOperator

    m = pencil.mass
    n, scale = m.shape[0], 1 / np.sqrt(m.diagonal())
    factors = pencil.factored(-unit)
    wanted = min(2 * count + SPARE, n)
    if n <= SMALL // 2 or 2 * wanted > n:
        inverse = factors.solve(m.toarray() * scale)[0] / scale[:, None]
        theta, z = eig(inverse)
    else:
        start = np.random.default_rng(0).standard_normal(n)
        operator = LinearOperator(
            (n, n), matvec=lambda x: factors.solve(m @ (scale * x))[0] / scale, dtype=float
        )
        theta, z = _arnoldi(operator, wanted, start)
    near = np.abs(theta) > 0
    theta, z = theta[near], scale[:, None] * z[:, near]
    z = z / np.sqrt(_square(m, z))
    values = _real(1 / theta - unit)
    kept = np.flatnonzero(np.imag(values) <= 0)  # of a pair of λ, s² = −λ with Im s ≥ 0
    kept = kept[np.argsort(np.abs(values[kept]))][:count]
    values, z, away = values[kept], z[:, kept], (values + unit)[kept]
    rest = away * factors.solve(m @ z)[0] - z
    errors = np.abs(away) * np.sqrt(_square(m, rest)) + ROUNDED * unit
    root = np.sqrt(-values.astype(complex))
    root = np.where(np.real(root) < 0, -root, root)
    swings = (np.imag(values) == 0) & (np.real(values) > 0)
    root = np.where(swings, 1j * np.abs(root), root)
    return Found(root, z, errors / np.maximum(2 * np.abs(root), np.sqrt(errors)))


def _real(values: np.ndarray) -> np.ndarray:
    """Without imaginary parts that are round-off."""
    return np.where(np.abs(np.imag(values)) <= REAL * np.abs(values), np.real(values), values)


def damped(
    pencil: Pencil, count: int, unit: float, gauge: np.ndarray, idle: int = 0, once: int = 0
) -> Found:
    """S of (s²M + sD + K) z = 0 with the smallest |s|, one of each conjugate pair.

    Without the motions in `gauge` (rows), with K z = D z = 0 and K, D symmetric.  Of others `idle`
    is the number of motions with K z = D z = 0, each of which has s = 0 twice, `once` that of those
    with K z = 0 alone: they come first, each once.
    """
    from scipy.sparse.linalg import LinearOperator

    m = pencil.mass
    n, scale, shift = m.shape[0], 1 / np.sqrt(m.diagonal()), np.sqrt(unit)
    zeros, wanted = 2 * idle + once, 2 * (count + idle + once) + SPARE
    solve = pencil.damped(shift, gauge @ m)

    def inverse(y: np.ndarray) -> np.ndarray:
        # A (z, σw) = (σw, −M⁻¹(K z + D σw)),  (A − σ)(z, σw) = σ(a, σb):  w = a + z,  θ = σ/(s − σ)
        by = scale.reshape(-1, *(1,) * (y.ndim - 1))
        a, b = by * y.reshape(2, n, *y.shape[1:])
        z = solve(shift * a, shift**2 * b)
        return np.concatenate([z / by, (a + z) / by])

    if n <= SMALL // 2 or 2 * wanted > n:
        theta, y = np.linalg.eig(inverse(np.eye(2 * n)))
    else:
        start = inverse(np.random.default_rng(0).standard_normal(2 * n))
        operator = LinearOperator((2 * n, 2 * n), matvec=inverse, dtype=float)
        theta, y = _arnoldi(operator, wanted, start)
    near = np.abs(theta) > 0
    theta, y = theta[near], y[:, near]
    rest = np.linalg.norm(_apply(inverse, y) / theta - y, axis=0) / np.linalg.norm(y, axis=0)
    values = shift * (1 + 1 / theta)
    errors = np.abs(values - shift) * rest
    order = np.argsort(np.abs(values))
    if len(gauge):  # what the border excludes has θ = 0, or round-off
        order = order[: 2 * (n - len(gauge))]
    values, y, errors = _real(values[order]), y[:, order], errors[order]
    kept = zeros + np.flatnonzero(np.imag(values[zeros:]) >= 0)
    kept = np.concatenate([np.arange(idle + once), kept])[:count]
    return Found(values[kept].astype(complex), scale[:, None] * y[:n, kept], errors[kept])


def _arnoldi(operator: Any, wanted: int, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest eigenvalues, as many as converge: of strong damping s crowd at −1/damping."""
    from scipy.sparse.linalg import ArpackNoConvergence, eigs

    more = min(len(start), 3 * wanted + 20)
    try:
        return eigs(operator, wanted, v0=start, ncv=more, maxiter=ITERATIONS)
    except ArpackNoConvergence as error:
        return error.eigenvalues, error.eigenvectors


def _apply(function: Callable, y: np.ndarray) -> np.ndarray:
    """A real function of complex columns."""
    return function(np.real(y).copy()) + 1j * function(np.imag(y).copy())


# ---- solves -----------------------------------------------------------------------------------


class Solver:
    """A sparse matrix with rows of a border beside it, scaled and factorised."""

    def __init__(self, matrix: Any, border: np.ndarray | None = None) -> None:
        from scipy.sparse import bmat, csc_matrix, csr_matrix
        from scipy.sparse.linalg import splu

        self.motions = matrix.shape[0]
        if border is not None and len(border):
            beside = csr_matrix(border)
            matrix = bmat([[matrix, beside.T], [beside, None]])
        matrix = csc_matrix(matrix)
        self.scale = scaling(matrix)
        matrix.data = matrix.data * (
            self.scale[matrix.indices] * np.repeat(self.scale, np.diff(matrix.indptr))
        )
        self._matrix, self._factors = matrix, splu(matrix)

    def solve(self, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What solves it, and the forces of the border."""
        whole = np.zeros((len(self.scale), *right.shape[1:]), dtype=right.dtype)
        whole[: self.motions] = right
        scale = self.scale.reshape(-1, *(1,) * (right.ndim - 1))
        if np.iscomplexobj(whole):
            found = scale * _apply(self._each, scale * whole)
        else:
            found = scale * self._each(scale * whole)
        return found[: self.motions], found[self.motions :]

    def _each(self, right: np.ndarray) -> np.ndarray:
        # Many columns at once are left to threads, which cost more than such small solves.
        if right.ndim > 1:
            return np.array([self._each(x) for x in right.T]).reshape(right.T.shape).T
        found = self._factors.solve(right)
        return found + self._factors.solve(right - self._matrix @ found)  # refined


def scaling(matrix: Any) -> np.ndarray:
    """D for which columns of diag(d) A diag(d) have largest entries near one (Ruiz 2001).

    A is sparse (CSC) with a symmetric pattern.
    """
    entries, rows = np.abs(matrix.data), matrix.indices
    filled = np.diff(matrix.indptr) > 0
    starts = matrix.indptr[:-1][filled]
    scale = np.ones(matrix.shape[0])
    for _ in range(ROUNDS if len(entries) else 0):
        most = scale[filled] * np.maximum.reduceat(entries * scale[rows], starts)
        scale[filled] /= np.sqrt(np.where(most > 0, most, 1.0))
    return scale
