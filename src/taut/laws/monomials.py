"""Monomials: their exponents, and their values modulo p."""

from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement

import numpy as np

from taut.laws.field import WORD, Field


@cache
def multi_indices(count: int, degree: int) -> np.ndarray:
    """Exponents of the monomials of this degree."""
    chosen = np.array(list(combinations_with_replacement(range(count), degree)), dtype=np.int64)
    rows = np.zeros((len(chosen), count), dtype=np.int64)
    for place in chosen.T:
        rows[np.arange(len(chosen)), place] += 1
    return rows


def up_to(count: int, degree: int) -> list[tuple[int, ...]]:
    """Exponents of all monomials up to this degree."""
    return [tuple(map(int, row)) for k in range(degree + 1) for row in multi_indices(count, k)]


def monomials(f: Field, values: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Of values at points, one row each: a column for every row of exponents."""
    found = np.ones((len(values), len(exponents)), dtype=WORD)
    for i in range(exponents.shape[1]):
        powers = [np.ones(len(values), dtype=WORD)]
        for _ in range(int(exponents[:, i].max(initial=0))):
            powers.append(f.mul(powers[-1], values[:, i]))
        used = np.flatnonzero(exponents[:, i])
        if len(used):
            found[:, used] = f.mul(found[:, used], np.array(powers)[exponents[used, i]].T)
    return found


@cache
def lowered(count: int, degree: int) -> np.ndarray:
    """Where β − eᵢ is among the exponents of one degree less, for every i and β; 0 if nowhere."""
    places = {tuple(row): k for k, row in enumerate(multi_indices(count, degree - 1).tolist())}
    rows = multi_indices(count, degree).tolist()
    found = [
        [places.get((*row[:i], row[i] - 1, *row[i + 1 :]), 0) for row in rows] for i in range(count)
    ]
    return np.array(found, dtype=np.int64)


def homogeneous(f: Field, values: np.ndarray, highest: int) -> list[np.ndarray]:
    """All monomials, a matrix for each degree, as in `monomials`."""
    count = values.shape[1]
    found = [np.ones((len(values), 1), dtype=WORD)]
    for degree in range(1, highest + 1):
        first = np.argmax(multi_indices(count, degree) > 0, axis=1)
        less = lowered(count, degree)[first, np.arange(len(first))]
        found.append(f.mul(found[-1][:, less], values[:, first]))
    return found


__all__ = ["homogeneous", "lowered", "monomials", "multi_indices", "up_to"]
