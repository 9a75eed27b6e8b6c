"""Block LU on graphs of nodes: the solution, the fill, pivots, and blocks that are singular."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sparse
from hypothesis import given, settings, strategies as st
from numba import njit
from scipy.sparse.linalg import spsolve

from taut.kernel import blocks
from taut.kernel.blocks import SIZE, WIDE, pattern_of, room, slots_of

factorise, solve = (njit(x.py_func) for x in (blocks.factorise, blocks.solve))

EPS = 2.0**-52


class System:
    """A random matrix of blocks on a graph: as factors, and as SciPy has it."""

    def __init__(self, rng, n, pairs, diagonal=4.0):
        self.n, self.pattern = n, pattern_of(n, pairs)
        pairs = np.array(sorted({tuple(sorted(p)) for p in pairs if p[0] != p[1]}), dtype=int)
        pairs = pairs.reshape(-1, 2)
        self.rows = np.concatenate([np.arange(n), pairs[:, 0], pairs[:, 1]])
        self.columns = np.concatenate([np.arange(n), pairs[:, 1], pairs[:, 0]])
        self.values = rng.normal(size=(len(self.rows), SIZE, SIZE))
        self.values[:n] += diagonal * np.eye(SIZE) * (1 + np.bincount(pairs.ravel(), minlength=n))[
            :, None, None
        ]  # fmt: skip
        self.slots = slots_of(self.pattern, self.rows, self.columns)

    def factorised(self):
        blocks, pivots = room(self.pattern)
        blocks[self.slots, :, :SIZE] = self.values
        return blocks, pivots, factorise(self.pattern, blocks, pivots)

    def solve(self, right):
        blocks, pivots, code = self.factorised()
        assert code == -1
        assert np.all(blocks[:, :, SIZE:] == 0.0)
        x = right[self.pattern.order].copy()
        solve(self.pattern, blocks, pivots, x)
        found = np.empty_like(x)
        found[self.pattern.order] = x
        return found

    def matrix(self):
        inside = np.arange(SIZE)
        rows = self.rows[:, None, None] * SIZE + inside[:, None] + 0 * inside
        columns = self.columns[:, None, None] * SIZE + 0 * inside[:, None] + inside
        shape = (SIZE * self.n, SIZE * self.n)
        found = sparse.coo_matrix((self.values.ravel(), (rows.ravel(), columns.ravel())), shape)
        return found.tocsc()


def chain(n):
    return [(i, i + 1) for i in range(n - 1)]


@st.composite
def graphs(draw):
    n = draw(st.integers(2, 25))
    node = st.integers(0, n - 1)
    tree = [(i, draw(st.integers(0, i - 1))) for i in range(1, n)]
    more = draw(st.lists(st.tuples(node, node), max_size=10))
    return n, tree + more, draw(st.integers(0, 2**32 - 1))


@settings(max_examples=40)
@given(graphs())
def test_same_solution_as_scipy(graph):
    n, pairs, seed = graph
    rng = np.random.default_rng(seed)
    system = System(rng, n, pairs)
    right = rng.normal(size=(n, SIZE))
    expected = spsolve(system.matrix(), right.ravel())
    found = system.solve(right).ravel()
    assert np.abs(found - expected).max() <= 200 * EPS * np.abs(expected).max()


def test_a_beam_is_eliminated_along_its_length_without_fill():
    pattern = pattern_of(50, chain(50))
    assert pattern.order.tolist() == list(range(50))
    assert pattern.slots == 50 + 2 * 49
    assert len(pattern.target) == 49


def test_joints_come_late():
    """Three beams that meet in node 0: it waits for two of them, so that nothing fills in."""
    arms = [[0, *range(1 + 7 * k, 8 + 7 * k)] for k in range(3)]
    pairs = [pair for arm in arms for pair in itertools.pairwise(arm)]
    pattern = pattern_of(22, pairs)
    assert pattern.slots == 22 + 2 * 21
    assert pattern.place[0] == 14


def test_a_ring_has_the_fill_it_must_have(rng):
    pairs = [*chain(12), (11, 0)]
    system = System(rng, 12, pairs)
    assert system.pattern.slots == 12 + 2 * (12 + 9)
    right = rng.normal(size=(12, SIZE))
    expected = spsolve(system.matrix(), right.ravel()).reshape(12, SIZE)
    assert np.abs(system.solve(right) - expected).max() < 1e-13


def test_rows_are_exchanged_within_blocks(rng):
    """Diagonal blocks with zeros on their diagonals."""
    system = System(rng, 9, chain(9))
    mixed = np.roll(np.eye(SIZE), 2, axis=0)
    system.values[:9] = 5 * mixed + 0.1 * system.values[:9] * (1 - np.eye(SIZE))
    system.values[9:] *= 0.1
    right = rng.normal(size=(9, SIZE))
    expected = spsolve(system.matrix(), right.ravel()).reshape(9, SIZE)
    assert np.abs(system.solve(right) - expected).max() < 1e-13


@pytest.mark.parametrize("bad", [0.0, np.nan])
def test_a_singular_block_is_named(rng, bad):
    system = System(rng, 5, chain(5))
    system.values[:5][2] = bad
    system.values[5:] = 0.0
    _, _, code = system.factorised()
    assert system.pattern.order[code] == 2


def test_room_is_padded():
    blocks, pivots = room(pattern_of(3, chain(3)))
    assert blocks.shape == (7, SIZE, WIDE)
    assert WIDE >= SIZE
    assert 8 * WIDE % 32 == 0  # bytes of whole registers
    assert pivots.shape == (3, SIZE)
