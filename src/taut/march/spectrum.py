"""The lowest eigenvalues s of (s²M + sD + K) z = 0, for sparse matrices of meshes.

Without damping and with K symmetric, s² = −λ with K z = λ M z; a shift below all λ (where K − σM is
positive definite) makes the lowest ones the nearest, and the pivots of K − μM tell how many lie
below μ (Sylvester), so that none is missed.  Otherwise a shift is inverted in the linearised
pencil, or in K z = λ M z, which then has complex λ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taut.march.limits import definite
from taut.march.statics.stability import below

SMALL = 240  # unknowns up to which symmetric matrices are taken as dense; half of it for others
SPARE = 6  # eigenvalues more than are asked for
REAL = 1e-5  # |Im λ| over |λ| of an eigenvalue that counts as real


def symmetric(k: Any, m: Any, count: int, unit: float) -> tuple[np.ndarray, np.ndarray]:
    """(λ, z) of the lowest eigenvalues of symmetric matrices; `unit` is a small typical λ."""
    n = k.shape[0]
    count = min(count, n)
    if n <= SMALL or 4 * count > n:
        return _dense_symmetric(k, m, count)
    from scipy.sparse.linalg import eigsh

    c = k.tocoo(), m.tocoo()
    above = definite(n, *(((-1) ** (i == 0) * x.data, x.row, x.col) for i, x in enumerate(c)))
    shift = unit
    while not above(shift):
        shift *= 4
    start = np.random.default_rng(0).standard_normal(n)
    for extra in (SPARE, 4 * SPARE):
        asked = min(count + extra, n - 1)
        values, vectors = eigsh(k, asked, m, sigma=-shift, v0=start, ncv=min(n, 3 * asked + 20))
        order = np.argsort(values)
        values, vectors = values[order], vectors[:, order]
        gaps = np.diff(values[count - 1 :]) / np.maximum(np.abs(values[count:]), unit)
        best = count + int(np.argmax(gaps))
        middle = 0.5 * (values[best - 1] + values[best])
        if below(k, m, middle) == best:
            break
    return values[:count], vectors[:, :count]


def _dense_symmetric(k: Any, m: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    from scipy.linalg import eigh

    return eigh(k.toarray(), m.toarray(), subset_by_index=[0, count - 1])


def general(k: Any, m: Any, count: int, unit: float) -> tuple[np.ndarray, np.ndarray]:
    """(s, z) with s² = −λ, K z = λ M z, of the smallest |λ|; the s with Re s ≥ 0 of each pair."""
    from scipy.linalg import eig
    from scipy.sparse.linalg import eigs

    n = k.shape[0]
    wanted = min(2 * count + SPARE, n)
    if n <= SMALL // 2 or 2 * wanted > n:
        values, vectors = eig(k.toarray(), m.toarray())
    else:
        start = np.random.default_rng(0).standard_normal(n)
        values, vectors = eigs(k, wanted, m, sigma=-unit, v0=start, ncv=min(n, 3 * wanted + 20))
    values = _real(values)
    kept = np.flatnonzero(np.imag(values) <= 0)  # of a pair of λ, s² = −λ with Im s ≥ 0
    kept = kept[np.argsort(np.abs(values[kept]))][:count]
    root = np.sqrt(-values[kept].astype(complex))
    root = np.where(np.real(root) < 0, -root, root)
    swings = (np.imag(values[kept]) == 0) & (np.real(values[kept]) > 0)
    root = np.where(swings, 1j * np.abs(root), root)
    return root, vectors[:, kept]


def _real(values: np.ndarray) -> np.ndarray:
    """Without imaginary parts that are round-off."""
    return np.where(np.abs(np.imag(values)) <= REAL * np.abs(values), np.real(values), values)


def damped(
    k: Any, d: Any, m: Any, count: int, unit: float, idle: int, once: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """(s, z) of (s²M + sD + K) z = 0 with the smallest |s|, one of each conjugate pair.

    `idle` is the number of motions with K z = D z = 0, each of which has s = 0 twice, `once` that
    of those with K z = 0 alone: they come first, each once.
    """
    n = k.shape[0]
    zeros, wanted = 2 * idle + once, 2 * (count + idle + once) + SPARE
    if n <= SMALL // 2 or 2 * wanted > n:
        values, vectors = _dense_damped(k, d, m)
    else:
        values, vectors = _sparse_damped(k, d, m, wanted, np.sqrt(unit))
    order = np.argsort(np.abs(values))
    values, vectors = _real(values[order]), vectors[:, order]
    kept = zeros + np.flatnonzero(np.imag(values[zeros:]) >= 0)
    kept = np.concatenate([np.arange(idle + once), kept])[:count]
    return values[kept].astype(complex), vectors[:n, kept]


def _dense_damped(k: Any, d: Any, m: Any) -> tuple[np.ndarray, np.ndarray]:
    from scipy.linalg import cho_factor, cho_solve, eig

    n = k.shape[0]
    factors = cho_factor(m.toarray())
    right = cho_solve(factors, np.hstack([-k.toarray(), -d.toarray()]))
    return eig(np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), right]))


def _sparse_damped(k: Any, d: Any, m: Any, wanted: int, shift: float):
    """A y = s y with y = (z, s z), by (A − σ)⁻¹: one factorisation of σ²M + σD + K."""
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import LinearOperator, eigs, splu

    n = k.shape[0]
    factors = splu(csc_matrix(shift**2 * m + shift * d + k))

    def inverse(y: np.ndarray) -> np.ndarray:
        # (A − σ)(z, w) = (a, b):  w = a + σ z,  −K z − D w − σ M w = M b
        a, b = y[:n], y[n:]
        z = -factors.solve(m @ b + d @ a + shift * (m @ a))
        return np.concatenate([z, a + shift * z])

    start = np.random.default_rng(0).standard_normal(2 * n)
    operator = LinearOperator((2 * n, 2 * n), matvec=inverse, dtype=float)
    near, vectors = eigs(operator, wanted, v0=start, ncv=min(2 * n, 3 * wanted + 20))
    return shift + 1 / near, vectors
