"""Arithmetic modulo a prime, on arrays; and the way back to rational numbers.

Everything exact in the search for laws is done here: values at random points of a variety are
residues modulo a prime p < 2³¹, so that products fit into 64 bits, and a null space is that of a
matrix of residues.  Nothing is ever rounded, and there are no tolerances.

Primes are 3 modulo 4, so that a square root is one power, and not 1 modulo 3, 5 and 7, so that
every number has exactly one root of these degrees.

Source: Wang 1981, Proc. SYMSAC, 212 (rational reconstruction).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice
from math import isqrt

import numpy as np
from flint import fmpz_mat, nmod_mat

WORD = np.uint64
_ODD = (3, 5, 7)
EXACT = 2**20  # terms: so many products of 16 bits add up below 2⁵³
FEW = 48  # numbers that are inverted faster one by one
ONE_THREAD = 2**17  # multiplications of a product of matrices that are not worth a second thread


def downwards(block: int = 0) -> Iterator[int]:
    """The suitable primes below 2³¹, the largest first; blocks have thousands of their own."""
    for p in range(2**31 - 1 - block * 2**20, 2**30, -2):
        if p % 4 == 3 and all(p % q != 1 for q in _ODD) and _is_prime(p):
            yield p


def primes(count: int, skip: int = 0) -> list[int]:
    """So many of them; `skip` leaves out the first ones."""
    return list(islice(downwards(), skip, skip + count))


@cache
def _is_prime(n: int) -> bool:
    """Miller's test with the bases that are enough below 2³²."""
    d, s = n - 1, 0
    while d % 2 == 0:
        d, s = d // 2, s + 1
    for base in (2, 3, 5, 7):
        x = pow(base, d, n)
        if x in (1, n - 1):
            continue
        for _ in range(s - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


class Field:
    """The integers modulo p; arrays of them are of type uint64."""

    def __init__(self, p: int, seed: int = 0) -> None:
        self.p, self.modulus = p, WORD(p)
        self.rng = np.random.default_rng([p, seed])

    def random(self, *shape: int) -> np.ndarray:
        """Numbers drawn from 2 … p − 2: neither zero nor ±1."""
        return self.rng.integers(2, self.p - 1, size=shape, dtype=WORD)

    def number(self, x) -> int:
        """An integer or a fraction as a residue."""
        numerator, denominator = int(x.p), int(x.q)
        return numerator % self.p * pow(denominator, -1, self.p) % self.p

    def add(self, a, b):
        return (a + b) % self.modulus

    def sub(self, a, b):
        return (a + (self.modulus - b)) % self.modulus

    def mul(self, a, b):
        return a * b % self.modulus

    def fma(self, total, a, b):
        """A sum and a product, total + a b, with one remainder."""
        return (total + a * b) % self.modulus

    def power(self, a: np.ndarray, k: int) -> np.ndarray:
        """a^k for an integer k; a negative one inverts."""
        if k < 0:
            k = k % (self.p - 1)
        result, base = np.ones_like(a), a
        while k:
            if k & 1:
                result = self.mul(result, base)
            k >>= 1
            if k:
                base = self.mul(base, base)
        return result

    def inverse(self, a: np.ndarray) -> np.ndarray:
        """1/a; that of zero is zero."""
        if a.size < FEW:
            flat = [pow(x, -1, self.p) if x else 0 for x in a.ravel().tolist()]
            return np.array(flat, dtype=WORD).reshape(a.shape)
        return self.power(a, self.p - 2)

    def root(self, a: np.ndarray, q: int) -> tuple[np.ndarray, np.ndarray]:
        """(r, good) with r^q = a where `good`."""
        good = np.ones(a.shape, dtype=bool)
        while q % 2 == 0:
            r = self.power(a, (self.p + 1) // 4)
            good &= self.mul(r, r) == a
            a, q = r, q // 2
        if q > 1:
            a = self.power(a, pow(q, -1, self.p - 1))
        return a, good

    def dot(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The product of two matrices, by halves that floating-point numbers hold exactly."""
        total = np.zeros((a.shape[0], b.shape[1]), dtype=WORD)
        half, shift = WORD(2**16 - 1), WORD(16)
        for begin in range(0, a.shape[1], EXACT):
            left, right = a[:, begin : begin + EXACT], b[begin : begin + EXACT]
            for up, x in ((0, left & half), (16, left >> shift)):
                for more, y in ((0, right & half), (16, right >> shift)):
                    share = _product(x.astype(float), y.astype(float)).astype(WORD) % self.modulus
                    total = self.fma(total, share, WORD(pow(2, up + more, self.p)))
        return total

    def solve(self, matrix: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solutions of many systems, shapes (N, n, n) and (N, n, k), and which are regular."""
        work = np.concatenate([matrix, right], axis=2)
        count, n = matrix.shape[:2]
        every, good = np.arange(count), np.ones(count, dtype=bool)
        for j in range(n):
            pivot = j + np.argmax(work[:, j:, j] != 0, axis=1)
            good &= work[every, pivot, j] != 0
            rows = work[every, pivot].copy()
            work[every, pivot], work[:, j] = work[:, j], rows
            row = self.mul(rows, self.inverse(rows[:, j])[:, None])
            factors = work[:, :, j].copy()
            factors[:, j] = 0
            work = self.sub(work, self.mul(factors[:, :, None], row[:, None, :]))
            work[:, j] = row
        return work[:, :, n:], good

    def _matrix(self, matrix: np.ndarray) -> nmod_mat:
        """For FLINT; by way of a matrix of integers, which takes them in faster."""
        rows, cols = matrix.shape
        return nmod_mat(fmpz_mat(rows, cols, matrix.ravel().tolist()), self.p)

    def rank(self, matrix: np.ndarray) -> int:
        return int(self._matrix(matrix).rank()) if matrix.size else 0

    def _eliminated(self, matrix: np.ndarray) -> tuple[nmod_mat, list[int]]:
        """The reduced row echelon form and its pivots; entries are dear to look at."""
        cols = matrix.shape[1]
        found, rank = self._matrix(matrix).rref()
        if rank == cols:
            return found, list(range(cols))
        pivots, j = [], 0
        for i in range(rank):
            while not int(found[i, j]):
                j += 1
            pivots.append(j)
            j += 1
        return found, pivots

    def pivots(self, matrix: np.ndarray) -> list[int]:
        """Columns that do not depend on earlier ones."""
        return self._eliminated(matrix)[1] if matrix.size else []

    def _split(self, matrix: np.ndarray) -> tuple[list[int], list[int], np.ndarray]:
        """Pivots, the other columns, and what these are as combinations of the pivots' columns."""
        cols = matrix.shape[1]
        if not matrix.size:
            return [], list(range(cols)), np.zeros((0, cols), dtype=WORD)
        found, pivots = self._eliminated(matrix)
        bound = set(pivots)
        free = [j for j in range(cols) if j not in bound]
        rest = [int(found[i, j]) for i in range(len(pivots)) for j in free]
        return pivots, free, np.array(rest, dtype=WORD).reshape(len(pivots), len(free))

    def reduced(self, matrix: np.ndarray) -> tuple[np.ndarray, list[int]]:
        """The reduced row echelon form without zero rows, and its pivots."""
        pivots, free, rest = self._split(matrix)
        echelon = np.zeros((len(pivots), matrix.shape[1]), dtype=WORD)
        echelon[np.arange(len(pivots)), pivots] = 1
        echelon[:, free] = rest
        return echelon, pivots

    def null_space(self, matrix: np.ndarray) -> np.ndarray:
        """Rows c with matrix·c = 0, each with a 1 at a column that no other has."""
        pivots, free, rest = self._split(matrix)
        found = np.zeros((len(free), matrix.shape[1]), dtype=WORD)
        found[np.arange(len(free)), free] = 1
        found[:, pivots] = self.sub(WORD(0), rest).T
        return found

    def null_within(self, basis: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        """`null_space` of more conditions, `matrix`, among vectors that are known to be in one.

        It needs no more rows than `basis` has, and some; that is what makes it fast.
        """
        weights = self.null_space(self.dot(matrix, np.ascontiguousarray(basis.T)))
        # The last entry of each row is to be a 1 that no other has, as in a null space.
        turned = self.dot(weights, basis)[:, ::-1]
        return np.ascontiguousarray(self.reduced(turned)[0][::-1, ::-1])


def _product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A few rows at a time, for which BLAS starts no threads: waiting for more they hold a core."""
    rows = max(1, ONE_THREAD // max(1, y.size))
    parts = [x[i : i + rows] @ y for i in range(0, len(x), rows)]
    return np.vstack(parts) if parts else x @ y


def rational(residue: int, modulus: int) -> tuple[int, int] | None:
    """The fraction a/b with |a|, b ≤ √(modulus/2) that is congruent to `residue`, if any."""
    bound = isqrt(modulus // 2)
    (a, b), (c, d) = (modulus, 0), (residue % modulus, 1)
    while c > bound:
        quotient = a // c
        (a, b), (c, d) = (c, d), (a - quotient * c, b - quotient * d)
    if d == 0 or abs(d) > bound:
        return None
    return (c, d) if d > 0 else (-c, -d)


def combined(residues: list[int], moduli: list[int]) -> tuple[int, int]:
    """The residue modulo the product (Chinese remainders), and the product."""
    x, m = residues[0], moduli[0]
    for r, p in zip(residues[1:], moduli[1:], strict=True):
        x, m = x + m * ((r - x) * pow(m, -1, p) % p), m * p
    return x % m, m
