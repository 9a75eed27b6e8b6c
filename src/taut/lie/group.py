"""What the matrix groups have in common: their maps, and the conventions of all of them.

Elements of a group are matrices in the last two axes, elements of its algebra vectors in the last;
everything broadcasts over the other axes.  Tangents are trivialised on the left, as velocities
and strains are seen from the body:

    exp(ξ)⁻¹ δexp(ξ) = (dexp(ξ) δξ)^,        dexp(ξ) = (1 − e^{−ad ξ})/ad ξ.

Trivialised on the right they are those of −ξ: δexp(ξ) exp(ξ)⁻¹ = (dexp(−ξ) δξ)^, and so for the
other maps.  There are two of Cayley's,

    cay(ξ) = (1 − ξ^/2)⁻¹ (1 + ξ^/2),        Ad cay_ad(ξ) = (1 − ad ξ/2)⁻¹ (1 + ad ξ/2),

of the matrices themselves and of the adjoint representation; they differ in SE(3) (Selig, *Cayley
maps for SE(3)*, 12th IFToMM World Congress, 2007).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from taut.calls import public
from taut.errors import InputError
from taut.lie.algebras import Algebra
from taut.lie.arrays import real, together
from taut.lie.coefficients import (
    CAYLEY_TANGENT,
    INVERSE_CAYLEY_TANGENT,
    INVERSE_TANGENT,
    TANGENT,
    Coefficients,
)
from taut.portable import product

TOLERANCE = 1e-8  # by which what is given may miss the group or its algebra


@public
@dataclass(frozen=True)
class Group(ABC):
    """A group of matrices; `SO3`, `SE2`, `SE3`, `translations` and products are there.

    Attributes
    ----------
    name : str
    algebra : Algebra
        Of dimension n.
    size : int
        m, where elements are matrices m × m.
    """

    name: str
    algebra: Algebra
    size: int

    def __repr__(self) -> str:
        return f"<{self.name}: matrices {self.size} × {self.size}, algebra {self.algebra.name}>"

    def __mul__(self, other: object) -> Group:
        from taut.lie.products import product  # which is made of groups

        return product(self, other) if isinstance(other, Group) else NotImplemented

    # ------------------------------------------------------------------ vectors and matrices

    def hat(self, xi: Any) -> np.ndarray:
        """ξ^, an element of the algebra as a matrix: (…, n) → (…, m, m)."""
        return self._hat(self._vector(xi))

    def vee(self, matrix: Any) -> np.ndarray:
        """The vector of a matrix in the algebra, the inverse of `hat`: (…, m, m) → (…, n)."""
        x = real("the matrix", matrix, (self.size, self.size))
        found = self._vee(x)
        defect = np.abs(self._hat(found) - x).max(initial=0.0)
        if defect > TOLERANCE * max(1.0, np.abs(x).max(initial=0.0)):
            raise InputError(
                f"the matrix is not in the algebra of {self.name}",
                expected=f"a matrix ξ^ of {self.algebra.name}, as `hat` returns it",
                received=f"one that is {defect:.2g} away from such a matrix",
            )
        return found

    def check(self, g: Any, what: str = "the matrix") -> np.ndarray:
        """`g` as an array (…, m, m); an `InputError` if it is not in the group.

        Entries may miss what they should be by 1e−8.  All maps below check what they are given.
        """
        matrix = real(what, g, (self.size, self.size))
        self._check(matrix, what)
        return matrix

    # ------------------------------------------------------------------------ the group itself

    @property
    def identity(self) -> np.ndarray:
        """The unit matrix."""
        return np.eye(self.size)

    def compose(self, *elements: Any) -> np.ndarray:
        """The product of elements, from left to right."""
        found = self.identity
        for g in map(self.check, elements):
            together("two elements", found.shape[:-2], g.shape[:-2])
            found = product(found, g)
        return found

    def inverse(self, g: Any) -> np.ndarray:
        """g⁻¹."""
        return self._inverse(self.check(g))

    def adjoint(self, g: Any) -> np.ndarray:
        """Ad_g, the matrix (…, n, n) of ξ ↦ (g ξ^ g⁻¹)^∨; Ad_gh = Ad_g Ad_h."""
        return self._adjoint(self.check(g))

    def coadjoint(self, g: Any) -> np.ndarray:
        """Ad*_g, the transpose of Ad_g: ⟨Ad*_g α, ξ⟩ = ⟨α, Ad_g ξ⟩.

        So Ad*_gh = Ad*_h Ad*_g, d/dt Ad*_exp(tξ) α = [ξ, α]* at t = 0, and with g from body to
        space Ad*_g takes momenta from space to the body.  (Others write Ad*_{g⁻¹} for this.)
        """
        return np.swapaxes(self.adjoint(g), -1, -2)

    # ------------------------------------------------------------------------------ exponential

    def exp(self, xi: Any) -> np.ndarray:
        """The exponential of ξ^: (…, n) → (…, m, m)."""
        return self._exp(self._vector(xi))

    def log(self, g: Any) -> np.ndarray:
        """The ξ with exp(ξ) = g and an angle θ ≤ π: (…, m, m) → (…, n).

        At θ = π there are two, with opposite axes; one of them is returned.
        """
        return self._log(self.check(g))

    def dexp(self, xi: Any) -> np.ndarray:
        """The tangent of `exp`: exp(ξ)⁻¹ δexp(ξ) = (dexp(ξ) δξ)^; array (…, n, n)."""
        return self._of_ad(self._vector(xi), TANGENT)

    def dexp_inverse(self, xi: Any) -> np.ndarray:
        """The inverse of `dexp`; there is none where θ is a multiple of 2π other than 0."""
        return self._of_ad(self._vector(xi), INVERSE_TANGENT)

    # ----------------------------------------------------------------- Cayley's map of matrices

    def cay(self, xi: Any) -> np.ndarray:
        """(1 − ξ^/2)⁻¹ (1 + ξ^/2): (…, n) → (…, m, m); agrees with `exp` up to ξ³/12."""
        return self._cay(self._vector(xi))

    def cay_inverse(self, g: Any) -> np.ndarray:
        """The ξ with cay(ξ) = g, 2 (g − 1)(g + 1)⁻¹; rotations by π have none."""
        return self._cay_inverse(self.check(g))

    def dcay(self, xi: Any) -> np.ndarray:
        """The tangent of `cay`: (dcay(ξ) δξ)^ = (1 + ξ^/2)⁻¹ δξ^ (1 − ξ^/2)⁻¹."""
        return self._dcay(self._vector(xi))

    def dcay_inverse(self, xi: Any) -> np.ndarray:
        """The inverse of `dcay`, for every ξ: (dcay⁻¹(ξ) η)^ = (1 + ξ^/2) η^ (1 − ξ^/2)."""
        return self._dcay_inverse(self._vector(xi))

    # -------------------------------------------------- Cayley's map of the adjoint representation

    def cay_ad(self, xi: Any) -> np.ndarray:
        """The g with Ad_g = (1 − ad ξ/2)⁻¹ (1 + ad ξ/2): (…, n) → (…, m, m).

        That is `cay` in SO(3), SE(2) and translations, but not in SE(3).  It is what an implicit
        midpoint rule for ξ' = [η, ξ] turns with.
        """
        return self._cay_ad(self._vector(xi))

    def cay_ad_inverse(self, g: Any) -> np.ndarray:
        """The ξ with cay_ad(ξ) = g; rotations by π have none."""
        return self._cay_ad_inverse(self.check(g))

    def dcay_ad(self, xi: Any) -> np.ndarray:
        """The tangent of `cay_ad`: cay_ad(ξ)⁻¹ δcay_ad(ξ) = (dcay_ad(ξ) δξ)^."""
        return self._of_ad(self._vector(xi), CAYLEY_TANGENT)

    def dcay_ad_inverse(self, xi: Any) -> np.ndarray:
        """The inverse of `dcay_ad`, a polynomial, for every ξ."""
        return self._of_ad(self._vector(xi), INVERSE_CAYLEY_TANGENT)

    # --------------------------------------------------------- what each group says for itself

    def _vector(self, xi: Any) -> np.ndarray:
        return real(f"the element of {self.algebra.name}", xi, (self.algebra.dimension,))

    @abstractmethod
    def _hat(self, x: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _vee(self, matrix: np.ndarray) -> np.ndarray:
        """Without a check; linear."""

    @abstractmethod
    def _check(self, matrix: np.ndarray, what: str) -> None: ...

    @abstractmethod
    def _inverse(self, g: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _adjoint(self, g: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _exp(self, x: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _log(self, g: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _of_ad(self, x: np.ndarray, of: Coefficients) -> np.ndarray:
        """f(ad ξ), for a function with these coefficients."""

    @abstractmethod
    def _cay(self, x: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _cay_inverse(self, g: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _dcay(self, x: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _dcay_inverse(self, x: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _cay_ad(self, x: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _cay_ad_inverse(self, g: np.ndarray) -> np.ndarray: ...


@public
class OneCayley(Group):
    """A group in which both maps of Cayley's are the same."""

    def _dcay(self, x: np.ndarray) -> np.ndarray:
        return self._of_ad(x, CAYLEY_TANGENT)

    def _dcay_inverse(self, x: np.ndarray) -> np.ndarray:
        return self._of_ad(x, INVERSE_CAYLEY_TANGENT)

    def _cay_ad(self, x: np.ndarray) -> np.ndarray:
        return self._cay(x)

    def _cay_ad_inverse(self, g: np.ndarray) -> np.ndarray:
        return self._cay_inverse(g)
