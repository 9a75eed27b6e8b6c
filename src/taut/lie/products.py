"""Translations, and direct products of groups and of algebras."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, overload

import numpy as np

from taut.calls import public
from taut.errors import InputError, brief
from taut.lie.algebras import Algebra, direct_sum
from taut.lie.arrays import blocks
from taut.lie.coefficients import Coefficients
from taut.lie.group import TOLERANCE, Group, OneCayley
from taut.lie.known import abelian, whole


class Translations(OneCayley):
    """ℝⁿ with addition, matrices [[1, x], [0, 1]]; exp, cay and cay_ad are the same."""

    def _hat(self, x: np.ndarray) -> np.ndarray:
        out = np.zeros((*x.shape[:-1], self.size, self.size))
        out[..., :-1, -1] = x
        return out

    def _vee(self, matrix: np.ndarray) -> np.ndarray:
        return matrix[..., :-1, -1].copy()

    def _check(self, matrix: np.ndarray, what: str) -> None:
        rest = np.array(matrix)
        rest[..., :-1, -1] = 0
        defect = np.abs(rest - self.identity).max(initial=0.0)
        if defect > TOLERANCE:
            raise InputError(
                f"{what} is not a translation",
                expected="[[1, x], [0, 1]]",
                received=f"a matrix that is {defect:.2g} away from one",
            )

    def _inverse(self, g: np.ndarray) -> np.ndarray:
        return 2 * self.identity - g

    def _adjoint(self, g: np.ndarray) -> np.ndarray:
        return np.zeros((*g.shape[:-2], 1, 1)) + np.eye(self.size - 1)

    def _exp(self, x: np.ndarray) -> np.ndarray:
        return self.identity + self._hat(x)

    def _log(self, g: np.ndarray) -> np.ndarray:
        return self._vee(g)

    def _of_ad(self, x: np.ndarray, of: Coefficients) -> np.ndarray:
        zero, *_ = of.values(np.zeros((*x.shape[:-1], 1, 1)))
        return np.broadcast_to(zero * np.eye(self.size - 1), (*x.shape, self.size - 1)).copy()

    _cay, _cay_inverse = _exp, _log


@public
@dataclass(frozen=True, repr=False)
class Product(Group):
    """A direct product: matrices in blocks on the diagonal, vectors one after the other."""

    factors: tuple[Group, ...] = ()

    @property
    def slices(self) -> tuple[slice, ...]:
        """Where the factors lie in the rows and columns of a matrix."""
        ends = accumulate((g.size for g in self.factors), initial=0)
        return tuple(slice(a, b) for a, b in pairwise(ends))

    def split(self, g: Any) -> list[np.ndarray]:
        """The elements of the factors."""
        return [part.copy() for part in self._cut(self.check(g))]

    def join(self, *elements: Any) -> np.ndarray:
        """The element of the product that is made of those of the factors."""
        if len(elements) != len(self.factors):
            raise InputError(
                f"an element of {self.name} has one of every factor",
                expected=f"{len(self.factors)} matrices",
                received=f"{len(elements)}",
            )
        return blocks([f.check(g) for f, g in zip(self.factors, elements, strict=True)])

    def _cut(self, matrix: np.ndarray) -> list[np.ndarray]:
        return [matrix[..., at, at] for at in self.slices]

    def _of_vectors(self, x: np.ndarray, maps: list[Callable]) -> np.ndarray:
        parts = zip(maps, self.algebra.slices, strict=True)
        return blocks([of(x[..., at]) for of, at in parts])

    def _of_matrices(self, matrix: np.ndarray, maps: list[Callable]) -> list[np.ndarray]:
        return [of(part) for of, part in zip(maps, self._cut(matrix), strict=True)]

    def _check(self, matrix: np.ndarray, what: str) -> None:
        for n, (factor, part) in enumerate(zip(self.factors, self._cut(matrix), strict=True), 1):
            factor._check(part, f"{what} (factor {n}, {factor.name})")
        defect = np.abs(matrix - blocks(self._cut(matrix))).max(initial=0.0)
        if defect > TOLERANCE:
            raise InputError(
                f"{what} is not in {self.name}",
                expected="zeros outside the blocks of the factors",
                received=f"{defect:.2g}",
                remedy="`join` makes an element of those of the factors",
            )

    def _hat(self, x: np.ndarray) -> np.ndarray:
        return self._of_vectors(x, [f._hat for f in self.factors])

    def _vee(self, matrix: np.ndarray) -> np.ndarray:
        return np.concatenate(self._of_matrices(matrix, [f._vee for f in self.factors]), axis=-1)

    def _inverse(self, g: np.ndarray) -> np.ndarray:
        return blocks(self._of_matrices(g, [f._inverse for f in self.factors]))

    def _adjoint(self, g: np.ndarray) -> np.ndarray:
        return blocks(self._of_matrices(g, [f._adjoint for f in self.factors]))

    def _exp(self, x: np.ndarray) -> np.ndarray:
        return self._of_vectors(x, [f._exp for f in self.factors])

    def _log(self, g: np.ndarray) -> np.ndarray:
        return np.concatenate(self._of_matrices(g, [f._log for f in self.factors]), axis=-1)

    def _of_ad(self, x: np.ndarray, of: Coefficients) -> np.ndarray:
        parts = zip(self.factors, self.algebra.slices, strict=True)
        return blocks([f._of_ad(x[..., at], of) for f, at in parts])

    def _cay(self, x: np.ndarray) -> np.ndarray:
        return self._of_vectors(x, [f._cay for f in self.factors])

    def _cay_inverse(self, g: np.ndarray) -> np.ndarray:
        maps = [f._cay_inverse for f in self.factors]
        return np.concatenate(self._of_matrices(g, maps), axis=-1)

    def _dcay(self, x: np.ndarray) -> np.ndarray:
        return self._of_vectors(x, [f._dcay for f in self.factors])

    def _dcay_inverse(self, x: np.ndarray) -> np.ndarray:
        return self._of_vectors(x, [f._dcay_inverse for f in self.factors])

    def _cay_ad(self, x: np.ndarray) -> np.ndarray:
        return self._of_vectors(x, [f._cay_ad for f in self.factors])

    def _cay_ad_inverse(self, g: np.ndarray) -> np.ndarray:
        maps = [f._cay_ad_inverse for f in self.factors]
        return np.concatenate(self._of_matrices(g, maps), axis=-1)


@public
def translations(n: int) -> Translations:
    """ℝⁿ with addition, as matrices (n + 1) × (n + 1)."""
    return Translations(f"R^{whole(n)}", abelian(n), n + 1)


@overload
def product(*factors: Algebra) -> Algebra: ...
@overload
def product(*factors: Group) -> Group: ...
@public
def product(*factors: Any) -> Any:
    """The direct product of algebras, or of groups; ``a * b`` for two of them.

    Examples
    --------
    >>> from taut import lie
    >>> lie.product(lie.SE3, lie.translations(2))
    <SE(3) × R^2: matrices 7 × 7, algebra se(3) × R^2>
    >>> (lie.so3 * lie.so3).labels
    ('w1_1', 'w2_1', 'w3_1', 'w1_2', 'w2_2', 'w3_2')
    """
    if factors and all(isinstance(f, Algebra) for f in factors):
        return direct_sum(*factors)
    if not factors or not all(isinstance(f, Group) for f in factors):
        raise InputError(
            "these have no product",
            expected="algebras, or groups; at least one",
            received=", ".join(getattr(f, "name", brief(f, 40)) for f in factors) or "none",
        )
    flat = [g for f in factors for g in (f.factors if isinstance(f, Product) else (f,))]
    return Product(
        " × ".join(g.name for g in flat),
        direct_sum(*(g.algebra for g in flat)),
        sum(g.size for g in flat),
        tuple(flat),
    )
