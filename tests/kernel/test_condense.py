"""Elimination written out, and in rounds: solutions of random block systems."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from taut.kernel.condense import LAST, eliminated, elimination_order
from taut.kernel.outer import FEWEST, Outer, _half, neighbours
from taut.kernel.passes import LANES

SX = ca.SX


@given(st.integers(1, 7), st.integers(0, 4), st.floats(0.1, 1), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_a_part_of_a_system(k, b, density, seed):
    """Eliminating K, solving for B and substituting is solving at once."""
    rng = np.random.default_rng(seed)
    size = k + b
    full = np.where(rng.uniform(size=(size, size)) < density, rng.uniform(-1, 1, (size, size)), 0)
    full += np.diag(np.full(size, 2.0 * size))
    right = rng.uniform(-1, 1, size)
    places = [(i, j) for i in range(size) for j in range(size) if full[i, j] and min(i, j) < k]
    matrix = {p: SX(full[p]) for p in places}
    late = np.repeat([0, LAST], [k, b])
    order = elimination_order(size, places, late)
    assert sorted(order) == list(range(k))
    e = eliminated(matrix, {i: SX(right[i]) for i in range(k)}, order)
    schur, rest = full[k:, k:].copy(), right[k:].copy()
    for (i, j), value in e.schur.items():
        schur[i - k, j - k] += float(value)
    for i, value in e.rest.items():
        rest[i - k] += float(value)
    outside = np.linalg.solve(schur, rest) if b else np.zeros(0)
    known = {k + i: SX(x) for i, x in enumerate(outside)}
    x = e.solution(e.upper, e.inverse, e.right, known)
    found = np.concatenate([[float(x[i]) for i in range(k)], outside])
    assert np.allclose(found, np.linalg.solve(full, right), rtol=1e-11, atol=1e-13)
    assert float(e.bad) == 0


def test_a_lost_pivot_is_reported():
    entries = {(0, 0): SX(1), (0, 1): SX(1), (1, 0): SX(1), (1, 1): SX(1)}
    for last, bad in ((1.0, 1), (1.0 + 1e-10, 0), (float("nan"), 1)):
        e = eliminated(entries | {(1, 1): SX(last)}, {0: SX(1), 1: SX(1)}, [0, 1])
        assert float(e.bad) == bad


def test_cancellation_in_earlier_rounds_counts():
    """A pivot that is small against what was subtracted from it before."""
    forward = _half(1, 0)[0]
    for lost, bad in ((0.0, 0), (1.0, 0), (1e3, 1)):
        assert float(forward(ca.DM([1e-12, 1.0, lost]))[-1]) == bad


def chained(numbers, closed=False):
    """A chain (or ring) of unknowns with these numbers: each has a place, each entry a slot."""
    n = len(numbers)
    i, j = (numbers, np.roll(numbers, -1)) if closed else (numbers[:-1], numbers[1:])
    every = np.arange(n)
    outer = Outer(neighbours([(i, j), (every, every)], n), np.full(n, 2))
    assert sorted(outer.place[:n]) == list(range(n))
    slots = outer.slot(np.concatenate([i, j, every]), np.concatenate([j, i, every]))
    assert len(np.unique(slots)) == len(slots)
    assert slots.max() < outer.slots
    return outer


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("n", [40, 43, 400])
def test_strands_of_a_chain(n, closed):
    """Neighbours in one lane: all but the ends of the lanes are eliminated one after the other."""
    length = n // LANES
    blocks = np.arange(LANES * length).reshape(length, LANES).T.ravel()
    outer = chained(np.concatenate([blocks, np.arange(LANES * length, n)]), closed)
    (batch,) = outer.batches
    assert batch.strand
    assert n - outer.begin <= 4 * LANES
    own = batch.own.reshape(-1, LANES)
    ahead, start = batch.around.reshape(-1, LANES, 2).transpose(2, 0, 1)
    assert np.array_equal(ahead[:-1], own[1:])
    assert np.array_equal(start, np.tile(start[:1], (len(own), 1)))
    # Lanes do not meet but in what is left.
    assert not {*ahead[-1], *start[0]} & set(own.ravel())


@pytest.mark.parametrize("n", [3, 20, 100, 333])
def test_rounds_of_a_chain(n):
    """Every unknown has one place, every entry one slot; few are left."""
    outer = chained(np.arange(n))
    assert n - outer.begin < 2 * FEWEST
    for batch in outer.batches:  # independent, and eliminated before their neighbours
        assert not set(batch.own.ravel()) & set(batch.around.ravel())
        assert np.all(outer.place[batch.around] >= batch.first + batch.own.size)
