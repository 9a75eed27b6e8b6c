"""Arithmetic modulo a prime, against Python's integers."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sympy import Rational, isprime

from taut.laws.field import WORD, Field, combined, primes, rational

P = primes(1)[0]
NUMBERS = st.integers(0, P - 1)


def test_primes_have_roots_of_small_degrees():
    found = primes(5)
    assert all(isprime(p) and p < 2**31 and p % 4 == 3 for p in found)
    assert all(p % q != 1 for p in found for q in (3, 5, 7))
    assert primes(2, skip=3) == found[3:]


@given(NUMBERS, NUMBERS)
def test_sums_products_and_inverses(a, b):
    f, x, y = Field(P), np.array([a], dtype=WORD), np.array([b], dtype=WORD)
    assert f.add(x, y)[0] == (a + b) % P
    assert f.sub(x, y)[0] == (a - b) % P
    assert f.mul(x, y)[0] == a * b % P
    assert f.power(x, 5)[0] == pow(a, 5, P)
    if a:
        assert f.inverse(x)[0] == pow(a, -1, P)
        assert f.power(x, -3)[0] == pow(a, -3, P)


@pytest.mark.parametrize("q", [2, 3, 4, 5, 6])
def test_roots(q):
    f = Field(P)
    a = f.random(200)
    r, good = f.root(a, q)
    assert np.array_equal(f.power(r, q)[good], a[good])
    assert 0.15 < good.mean() <= 1
    assert good.all() == (q % 2 == 1)


def test_many_linear_systems():
    f = Field(P)
    matrix, x = f.random(30, 4, 4), f.random(30, 4, 1)
    matrix[0] = matrix[0, 0]  # singular
    right = np.zeros((30, 4, 1), dtype=WORD)
    for j in range(4):
        right = f.add(right, f.mul(matrix[:, :, j : j + 1], x[:, j : j + 1]))
    found, good = f.solve(matrix, right)
    assert not good[0]
    assert good[1:].all()
    assert np.array_equal(found[1:], x[1:])


def test_null_spaces():
    f = Field(P)
    rows = f.random(3, 7)
    matrix = np.vstack([rows, f.add(rows[0], rows[1])])
    null = f.null_space(matrix)
    assert null.shape == (4, 7)
    for vector in null:
        for row in matrix:
            assert sum(int(a) * int(b) for a, b in zip(row, vector, strict=True)) % P == 0


def test_columns_that_depend_on_earlier_ones_are_no_pivots():
    f = Field(P)
    a, b, c = f.random(3, 6)
    matrix = np.array([0 * a, a, f.add(a, a), b, f.add(a, b), c]).T.copy()
    assert f.pivots(matrix) == [1, 3, 5] == f.reduced(matrix)[1]
    assert f.rank(matrix) == 3
    echelon = f.reduced(matrix)[0]
    assert np.array_equal(f.dot(matrix[:, [1, 3, 5]], echelon), matrix)
    assert f.pivots(np.zeros((0, 4), dtype=WORD)) == []
    assert np.array_equal(f.null_space(np.zeros((0, 4), dtype=WORD)), np.eye(4, dtype=WORD))


@pytest.mark.parametrize("more", [0, 1, 3, 4])
def test_more_conditions_within_a_null_space(more):
    """One after the other they give the same rows as together."""
    f = Field(P)
    first, second = f.random(4, 8), f.random(more, 8)
    within = f.null_within(f.null_space(first), second)
    assert np.array_equal(within, f.null_space(np.vstack([first, second])))


@given(st.fractions(min_value=-100, max_value=100, max_denominator=300))
def test_rational_numbers_come_back(x):
    residue = Field(P).number(Rational(x.numerator, x.denominator))
    assert rational(residue, P) == (x.numerator, x.denominator)


@given(st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=10**6))
def test_larger_ones_from_several_primes(x):
    moduli = primes(4)
    residues = [Field(p).number(Rational(x.numerator, x.denominator)) for p in moduli]
    assert rational(*combined(residues, moduli)) == (x.numerator, x.denominator)


@pytest.mark.parametrize("size", [1, 7, 300])
def test_products_of_matrices(size):
    f = Field(P)
    a, b = f.random(5, size), f.random(size, 4)
    a[0], b[:, 0] = P - 1, P - 1  # the largest there are
    wanted = [
        [sum(int(x) * int(y) for x, y in zip(row, column, strict=True)) % P for column in b.T]
        for row in a
    ]
    assert f.dot(a, b).tolist() == wanted
