"""Exponents, and values of monomials, against Python's integers."""

from math import comb, prod

import numpy as np
import pytest

from taut.laws.field import Field, primes
from taut.laws.monomials import homogeneous, lowered, monomials, multi_indices, up_to

P = primes(1)[0]


@pytest.mark.parametrize(("count", "degree"), [(1, 0), (1, 4), (3, 0), (3, 1), (3, 4), (5, 2)])
def test_values_of_monomials(count, degree):
    f = Field(P)
    values = f.random(4, count)
    exponents = multi_indices(count, degree)
    assert len(exponents) == comb(count + degree - 1, degree)
    assert len({tuple(row) for row in exponents.tolist()}) == len(exponents)
    assert (exponents.sum(axis=1) == degree).all()
    wanted = [
        [
            prod(pow(x, e, P) for x, e in zip(point, row, strict=True)) % P
            for row in exponents.tolist()
        ]
        for point in values.tolist()
    ]
    assert monomials(f, values, exponents).tolist() == wanted
    assert homogeneous(f, values, degree)[degree].tolist() == wanted


def test_all_degrees_in_order():
    assert up_to(2, 2) == [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]


def test_places_of_one_power_less():
    less, high, low = lowered(3, 4), multi_indices(3, 4), multi_indices(3, 3)
    for i in range(3):
        for k, row in enumerate(high):
            if row[i]:
                assert np.array_equal(low[less[i, k]], row - np.eye(3, dtype=int)[i])
