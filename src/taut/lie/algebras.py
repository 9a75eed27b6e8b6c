"""Lie algebras as data: structure constants, and what follows from them alone.

    [eᵢ, eⱼ] = Σₖ cᵢⱼᵏ eₖ,        ⟨[ξ, α]*, η⟩ = ⟨α, [ξ, η]⟩

Elements ξ of an algebra and α of its dual are arrays whose last axis is as long as the algebra's
dimension; everything broadcasts over the other axes.  [ξ, α]* is the dual bracket of CS (5); others
write ad*_ξ α for it, with either sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from taut.calls import public
from taut.errors import InputError
from taut.lie.arrays import together
from taut.lie.constants import Term, checked
from taut.lie.elements import plus, read, times


@public
@dataclass(frozen=True)
class Algebra:
    """A real Lie algebra of finite dimension; made by `algebra`, `abelian`, or products.

    Algebras with the same data are equal, and have the same hash.

    Parameters
    ----------
    labels : tuple of str
        Names of the basis, as many as there are dimensions.
    constants : tuple of (i, j, k, cᵢⱼᵏ)
        All structure constants that are not zero, exact where they were given so.  Antisymmetry
        and Jacobi's identity are checked.
    name : str
    factors : tuple of Algebra
        Those of a direct product; otherwise there are none.

    Examples
    --------
    >>> from taut import lie
    >>> print(lie.so3)
    so(3), dimension 3
      [w1, w2] = w3
      [w1, w3] = -w2
      [w2, w3] = w1
    >>> lie.so3.bracket([1, 0, 0], [0, 1, 0])
    array([0., 0., 1.])
    """

    labels: tuple[str, ...]
    constants: tuple[Term, ...]
    name: str = ""
    factors: tuple[Algebra, ...] = ()

    def __post_init__(self) -> None:
        labels = tuple(self.labels)
        if (
            not labels
            or not all(isinstance(x, str) for x in labels)
            or len({*labels}) < len(labels)
        ):
            raise InputError(
                "the elements of a basis need names",
                expected="different names, at least one",
                received=", ".join(map(repr, labels)) or "none",
            )
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "constants", checked(self.constants, labels))
        object.__setattr__(self, "factors", tuple(self.factors))

    @property
    def dimension(self) -> int:
        """Of the algebra as a vector space."""
        return len(self.labels)

    @property
    def is_abelian(self) -> bool:
        """Whether all brackets vanish."""
        return not self.constants

    @cached_property
    def structure(self) -> np.ndarray:
        """The structure constants as floats: ``structure[i, j, k]`` is cᵢⱼᵏ."""
        found = np.zeros((self.dimension,) * 3)
        for i, j, k, c in self.constants:
            found[i, j, k] = c
        found.setflags(write=False)
        return found

    @property
    def slices(self) -> tuple[slice, ...]:
        """Where the factors of a product lie in its elements."""
        ends = accumulate((a.dimension for a in self.factors or (self,)), initial=0)
        return tuple(slice(a, b) for a, b in pairwise(ends))

    def terms(self) -> list[tuple[int, int, int, int | float]]:
        """(i, j, k, cᵢⱼᵏ) of all constants that are not zero, as ints or floats.

        With these a bracket can be written in whatever adds and multiplies:
        ``[ξ, η]ₖ += c ξᵢ ηⱼ``, ``[ξ, α]*ⱼ += c ξᵢ αₖ``.
        """
        return [(i, j, k, c if isinstance(c, int) else float(c)) for i, j, k, c in self.constants]

    def bracket(self, xi: Any, eta: Any) -> Any:
        """[ξ, η], in components Σᵢⱼ cᵢⱼᵏ ξᵢ ηⱼ.

        Parameters
        ----------
        xi, eta : array (…, n), or n expressions
            Expressions are anything that adds and multiplies: a list or a matrix of SymPy's, a
            vector of CasADi's.

        Returns
        -------
        array (…, n), or list of n expressions
            Arrays of objects (…, n) hold many elements of expressions.
        """
        return self._contracted(xi, eta, [(k, i, j, c) for i, j, k, c in self.constants])

    def dual(self, xi: Any, alpha: Any) -> Any:
        """[ξ, α]*, with ⟨[ξ, α]*, η⟩ = ⟨α, [ξ, η]⟩ for all η: Σᵢₖ cᵢⱼᵏ ξᵢ αₖ in components.

        Takes and returns what `bracket` does (CS (5)).  In se(3) it is

            [(ω, v), (Π, P)]* = (Π × ω + P × v, P × ω).
        """
        return self._contracted(xi, alpha, [(j, i, k, c) for i, j, k, c in self.constants])

    def ad(self, xi: Any) -> Any:
        """The matrix of η ↦ [ξ, η]: array (…, n, n), or n rows of expressions."""
        x = self._read(xi, "the argument")
        if x.dtype != object:
            return np.einsum("...i,ijk->...kj", x, self.structure)
        out = np.zeros((*x.shape, self.dimension), dtype=object)
        for at in np.ndindex(x.shape[:-1]):
            for i, j, k, c in self.constants:
                out[(*at, k, j)] = plus(out[(*at, k, j)], times(c, x[(*at, i)]))
        return out.tolist() if x.ndim == 1 else out

    def ad_star(self, xi: Any) -> Any:
        """The matrix of α ↦ [ξ, α]*: the transpose of `ad`."""
        found = self.ad(xi)
        if isinstance(found, list):
            return [list(row) for row in zip(*found, strict=True)]
        return np.swapaxes(found, -1, -2)

    def killing(self) -> np.ndarray:
        """The Killing form tr(ad eᵢ ad eⱼ), array (n, n)."""
        return np.einsum("ilk,jkl->ij", self.structure, self.structure)

    def __mul__(self, other: object) -> Algebra:
        return direct_sum(self, other) if isinstance(other, Algebra) else NotImplemented

    def __str__(self) -> str:
        lines = [f"{self.name or 'Lie algebra'}, dimension {self.dimension}"]
        if self.is_abelian:
            lines[0] += ", abelian"
        rows: dict[tuple[int, int], list[str]] = {}
        for i, j, k, c in self.constants:
            if i < j:
                size = "" if abs(c) == 1 else f"{abs(c)} "
                rows.setdefault((i, j), []).append(
                    f"{'-' if c < 0 else '+'} {size}{self.labels[k]}"
                )
        for (i, j), row in rows.items():
            text = " ".join(row)
            text = text[2:] if text.startswith("+") else "-" + text[2:]
            lines.append(f"  [{self.labels[i]}, {self.labels[j]}] = {text}")
        return "\n".join(lines)

    def _contracted(self, first: Any, second: Any, terms: list[Term]) -> Any:
        """Σ c x[i] y[j] in component k, for (k, i, j, c) in `terms`."""
        x, y = self._read(first, "the first argument"), self._read(second, "the second argument")
        shape = together("two elements of an algebra", x.shape, y.shape)
        if object not in (x.dtype, y.dtype):
            out = np.zeros(shape, dtype=np.result_type(x, y, float))
            for k, i, j, c in terms:
                out[..., k] += float(c) * x[..., i] * y[..., j]
            return out
        out = np.zeros(shape, dtype=object)
        x, y = (np.broadcast_to(a.astype(object), shape) for a in (x, y))
        for at in np.ndindex(shape[:-1]):  # one by one: NumPy need not know what they are
            for k, i, j, c in terms:
                out[(*at, k)] = plus(out[(*at, k)], times(c, x[(*at, i)] * y[(*at, j)]))
        return out.tolist() if out.ndim == 1 else out

    def _read(self, value: Any, what: str) -> np.ndarray:
        return read(value, self.dimension, f"{what} is no element of {self.name or 'the algebra'}")


def direct_sum(*algebras: Algebra) -> Algebra:
    """The algebra of a direct product: elements one after the other, no brackets between them."""
    factors = [part for a in algebras for part in (a.factors or (a,))]
    starts = accumulate((a.dimension for a in factors), initial=0)
    constants = [
        (i + at, j + at, k + at, c)
        for a, at in zip(factors, starts, strict=False)
        for i, j, k, c in a.constants
    ]
    labels = [label for a in factors for label in a.labels]
    if len({*labels}) < len(labels):
        labels = [f"{label}_{n}" for n, a in enumerate(factors, 1) for label in a.labels]
    name = " × ".join(a.name or "?" for a in factors)
    return Algebra(tuple(labels), tuple(constants), name, tuple(factors))
