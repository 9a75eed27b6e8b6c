"""Sparse LU with a pattern analysed once: the solution, the fill, the order, lost pivots."""

import numpy as np
import pytest
import scipy.sparse as sparse
from hypothesis import given, settings, strategies as st
from numba import njit
from scipy.sparse.linalg import splu

from taut.kernel import sparse as ours
from taut.kernel.sparse import analysed

factorise, substitute = (njit(x.py_func) for x in (ours.factorise, ours.substitute))

EPS = 2.0**-52


class Factors:
    """A matrix put into the slots of its pattern and factorised."""

    def __init__(self, matrix, late):
        coo = sparse.coo_matrix(matrix)
        self.n = coo.shape[0]
        self.pattern = analysed(self.n, [(coo.row, coo.col)], np.asarray(late))
        self.values = np.zeros(self.pattern.slots + 1)
        np.add.at(self.values, self.pattern.slot(coo.row, coo.col), coo.data)
        self.row = np.zeros(self.n)
        p = self.pattern
        self.good = factorise(self.values, p.start, p.column, p.diagonal, p.mirror, self.row)

    def solve(self, b):
        p = self.pattern
        x = np.asarray(b, dtype=float)[p.order].copy()
        substitute(self.values, p.start, p.column, p.diagonal, x)
        found = np.empty(self.n)
        found[p.order] = x
        return found

    def product(self):
        """P A Pᵀ from the factors."""
        p = self.pattern
        dense = np.zeros((self.n, self.n))
        rows = np.repeat(np.arange(self.n), np.diff(p.start))
        dense[rows, p.column] = self.values[:-1]
        upper = np.triu(dense, 1) + np.diag(1 / np.diag(dense))
        return (np.tril(dense, -1) + np.eye(self.n)) @ upper


def saddle(rng, n, c, density=0.3, skew=0.0):
    """[[A, Gᵀ], [H, 0]]: A sparse and definite, H = G but for a part `skew`."""
    half = sparse.random(n, n, density=density / 2, random_state=rng).toarray()
    a = half @ half.T + np.diag(rng.uniform(1, 2, n))
    g = np.where(rng.uniform(size=(c, n)) < density, rng.uniform(-1, 1, (c, n)), 0.0)
    g[:, :c] += np.diag(rng.uniform(1, 2, c))  # independent rows
    h = g * (1 + skew * rng.uniform(-1, 1, g.shape))
    matrix = np.block([[a, g.T], [h, np.zeros((c, c))]])
    return matrix, np.repeat([0, 1], [n, c])


def chain(n, rng=None):
    """The matrix of one Newton step of a planar chain of n rods: 2n coordinates, n multipliers."""
    rng = rng or np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, n)
    rods = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    g = np.zeros((n, 2 * n))
    for k in range(n):
        g[k, 2 * k : 2 * k + 2] = rods[k]
        if k:
            g[k, 2 * k - 2 : 2 * k] = -rods[k]
    matrix = sparse.bmat([[sparse.eye(2 * n), g.T], [g, None]]).tocsr()
    return matrix, np.repeat([0, 1], [2 * n, n])


# ------------------------------------------------------------------- the solution


@given(st.integers(1, 25), st.floats(0, 1), st.floats(0.02, 1), st.integers(0, 2**32 - 1))
@settings(max_examples=120)
def test_saddle_points(n, share, density, seed):
    rng = np.random.default_rng(seed)
    matrix, late = saddle(rng, n, round(share * n), density, skew=0.05)
    factors = Factors(matrix, late)
    assert factors.good
    b = rng.uniform(-1, 1, len(late))
    reference = splu(sparse.csc_matrix(matrix)).solve(b)
    error = np.abs(factors.solve(b) - reference).max()
    assert error <= 200 * EPS * np.linalg.cond(matrix) * np.abs(reference).max()
    # Backward: the factors multiply to the matrix, and no entry grew out of proportion.
    order = factors.pattern.order
    gap = np.abs(factors.product() - matrix[np.ix_(order, order)]).max()
    assert gap <= 1e-11 * np.abs(matrix).max()


def test_the_work_row_is_clean_on_exit(rng):
    matrix, late = saddle(rng, 12, 5)
    assert not np.any(Factors(matrix, late).row)
    matrix[:, 3] = matrix[3, :] = 0.0
    failed = Factors(matrix, late)
    assert not failed.good
    assert not np.any(failed.row)


def test_a_pattern_serves_many_matrices(rng):
    """Analysed once; entries that happen to be zero are no trouble."""
    matrix, late = saddle(rng, 15, 6)
    p = Factors(matrix, late).pattern
    for k in range(3):
        other = matrix * rng.uniform(0.9, 1.1, matrix.shape)
        if k == 2:
            other[:15, :15] = np.diag(np.diag(other[:15, :15]))
        rows, cols = np.nonzero(matrix)
        values = np.zeros(p.slots + 1)
        np.add.at(values, p.slot(rows, cols), other[rows, cols])
        assert factorise(values, p.start, p.column, p.diagonal, p.mirror, np.zeros(len(late)))
        b = rng.uniform(-1, 1, len(late))
        x = b[p.order]
        substitute(values, p.start, p.column, p.diagonal, x)
        assert np.allclose(x[p.place], np.linalg.solve(other, b), rtol=1e-10)


def test_scales_do_not_matter(rng):
    """Rows in different units: the guard against tiny pivots is relative."""
    matrix, late = saddle(rng, 10, 4)
    scale = 10.0 ** rng.integers(-8, 9, len(late))
    scaled = scale[:, None] * matrix * scale
    factors = Factors(scaled, late)
    assert factors.good
    b = rng.uniform(-1, 1, len(late))
    x = factors.solve(scale * b) * scale
    assert np.allclose(x, np.linalg.solve(matrix, b), rtol=1e-9)


def test_one_by_one():
    factors = Factors(np.array([[4.0]]), [0])
    assert factors.good
    assert factors.solve([2.0]).tolist() == [0.5]


# ------------------------------------------------------------------- the pattern


@given(st.integers(1, 30), st.floats(0, 1), st.floats(0.02, 0.5), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_late_unknowns_come_after_their_neighbours(n, share, density, seed):
    """… of a lower rank: P before v before λ."""
    rng = np.random.default_rng(seed)
    matrix, late = saddle(rng, n, round(share * n), density)
    late = np.where(late == 1, 2, rng.integers(0, 2, len(late)))
    pattern = Factors(matrix, late).pattern
    assert sorted(pattern.order) == list(range(len(late)))
    assert np.array_equal(pattern.order[pattern.place], np.arange(len(late)))
    for i, j in np.argwhere(matrix != 0):
        if late[i] > late[j]:
            assert pattern.place[i] > pattern.place[j], (i, j)


@given(st.integers(1, 20), st.floats(0.02, 0.6), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_the_pattern_holds_the_fill_and_nothing_else(n, density, seed):
    """Compared with a symbolic elimination of the permuted matrix, entry by entry."""
    rng = np.random.default_rng(seed)
    matrix, late = saddle(rng, n, n // 3, density)
    p = Factors(matrix, late).pattern
    full = (matrix != 0) | (matrix.T != 0) | np.eye(len(late), dtype=bool)
    full = full[np.ix_(p.order, p.order)]
    for k in range(len(late)):
        below = np.flatnonzero(full[k + 1 :, k]) + k + 1
        full[np.ix_(below, below)] = True
    rows = np.repeat(np.arange(len(late)), np.diff(p.start))
    assert [*zip(rows, p.column, strict=True)] == [*map(tuple, np.argwhere(full))]
    assert np.array_equal(p.column[p.diagonal], np.arange(len(late)))
    assert np.array_equal(rows[p.mirror], p.column)
    assert np.array_equal(p.column[p.mirror], rows)


def test_slots_of_entries(rng):
    matrix, late = saddle(rng, 8, 3)
    p = Factors(matrix, late).pattern
    rows, cols = np.nonzero(matrix)
    at = np.repeat(np.arange(11), np.diff(p.start))[p.slot(rows, cols)]
    assert np.array_equal(p.order[at], rows)
    assert np.array_equal(p.order[p.column[p.slot(rows, cols)]], cols)
    # Rows or columns that do not exist go to the slot after the last.
    assert p.slot(np.array([11, 0]), np.array([0, 11])).tolist() == [p.slots, p.slots]


def test_entries_outside_are_ignored():
    rows, cols = np.array([0, 1, 2, 0, 2, 1]), np.array([0, 1, -1, 2, 0, -1])
    p = analysed(2, [(rows, cols)], np.zeros(2, int))
    assert p.slots == 2


# ------------------------------------------------------------------- fill


@pytest.mark.parametrize("n", [50, 100, 200, 400])
def test_chains_fill_linearly(n):
    factors = Factors(*chain(n))
    # 3n unknowns with 2n + 2·(4n − 2) entries; minimum degree adds less than 4 per rod.
    assert factors.pattern.slots <= 14 * n
    assert factors.good
    b = np.random.default_rng(n).uniform(-1, 1, 3 * n)
    matrix, _ = chain(n)
    assert np.abs(matrix @ factors.solve(b) - b).max() <= 1e-9


def test_the_numbering_does_not_matter_for_the_fill(rng):
    """A chain whose coordinates and constraints are numbered at random fills little more."""
    matrix, late = chain(120)
    shuffled = rng.permutation(len(late))
    plain, mixed = (
        Factors(m, k) for m, k in ((matrix, late), (matrix[shuffled][:, shuffled], late[shuffled]))
    )
    assert mixed.good
    assert mixed.pattern.slots <= 1.25 * plain.pattern.slots


def test_a_star_fills_nothing():
    """Eliminating the hub first would make everything dense; minimum degree takes the leaves."""
    n = 60
    matrix = sparse.eye(n).tolil()
    matrix[0, :] = 0.01
    matrix[:, 0] = 0.01
    matrix[0, 0] = 1.0
    factors = Factors(matrix.tocsr(), np.zeros(n, int))
    assert factors.good
    assert factors.pattern.slots == 3 * n - 2
    assert factors.pattern.place[0] >= n - 2


# ------------------------------------------------------------------- lost pivots


def test_a_singular_matrix_is_reported(rng):
    matrix, late = saddle(rng, 10, 4)
    twice = matrix.copy()
    twice[13], twice[:, 13] = twice[12], twice[:, 12]  # the same constraint once more
    assert not Factors(twice, late).good
    empty = matrix.copy()
    empty[5], empty[:, 5] = 0.0, 0.0
    assert not Factors(empty, late).good
    assert not Factors(np.zeros((3, 3)), [0, 0, 0]).good
    assert Factors(matrix, late).good


def test_a_multiplier_that_touches_nothing_is_reported():
    assert not Factors(np.diag([1.0, 2.0, 0.0]), [0, 0, 1]).good


def test_nan_and_infinity_are_reported(rng):
    for bad in (np.nan, np.inf):
        matrix, late = saddle(rng, 8, 3)
        matrix[2, 2] = bad
        matrix[9, 1] = bad
        assert not Factors(matrix, late).good


def test_nearly_singular(rng):
    """A pivot lost to cancellation is refused; one that is merely small is used, and well.

    The pivot of the second of two constraints that differ by `gap` is of size gap².
    """
    matrix, late = saddle(rng, 10, 2, density=0.9)
    for gap, good in ((1e-3, True), (1e-5, True), (1e-8, False), (1e-12, False)):
        close = matrix.copy()
        close[11, :10] = close[10, :10] * (1 + gap * np.sin(np.arange(10)))
        close[:10, 11] = close[11, :10]
        factors = Factors(close, late)
        assert factors.good == good, gap
        if good:
            b = rng.uniform(-1, 1, 12)
            x = factors.solve(b)
            residual = np.abs(close @ x - b).max()
            assert residual <= 1e-12 * np.abs(close).max() * np.abs(x).max()
