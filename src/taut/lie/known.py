"""The algebras that mechanics knows by name, and the road to any other.

Six-vectors are (angular, linear), in the plane (angle, x, y).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from taut.calls import public
from taut.errors import InputError, listed, text, whole as checked_whole
from taut.lie.algebras import Algebra
from taut.lie.constants import from_array, from_mapping

CYCLES = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
LARGEST = 1000  # dimensions: tables of structure constants have their cube of entries


@public
def algebra(constants: Any, labels: str | Iterable[str] = (), name: str = "") -> Algebra:
    """A Lie algebra from its structure constants.

    Parameters
    ----------
    constants : array (n, n, n) or mapping
        cᵢⱼᵏ of [eᵢ, eⱼ] = Σₖ cᵢⱼᵏ eₖ; or ``{(i, j): {k: c}}`` of the brackets that are not zero,
        each given once, with numbers from 0 or labels for i, j, k.  Whole numbers, fractions and
        SymPy's rationals stay exact.
    labels : sequence of str, or one string with blanks, optional
        Names of the basis; e1, e2, … if there are none.
    name : str, optional

    Examples
    --------
    >>> from taut import lie
    >>> print(lie.algebra({("q", "p"): {"z": 1}}, "q p z", name="Heisenberg"))
    Heisenberg, dimension 3
      [q, p] = z
    """
    names = labels.split() if isinstance(labels, str) else listed("labels", labels, "names")
    basis = tuple(text("a label", x) for x in names)
    name = text("the name of an algebra", name)
    if isinstance(constants, Mapping):
        n, entries = from_mapping(constants, basis)
    else:
        n, entries = from_array(constants)
    basis = basis or tuple(f"e{i + 1}" for i in range(n))
    if len(basis) != n:
        raise InputError(
            "the labels do not fit the structure constants",
            expected=f"{n} labels",
            received=f"{len(basis)}: {', '.join(map(str, basis))}",
        )
    return Algebra(basis, tuple((*at, c) for at, c in entries.items()), name)


@public
def abelian(n: int) -> Algebra:
    """ℝⁿ, in which all brackets vanish."""
    return Algebra(tuple(f"x{i + 1}" for i in range(whole(n))), (), f"R^{n}")


def whole(n: Any) -> int:
    """`n`, if it is a dimension."""
    return checked_whole("the dimension", n, 1, LARGEST)


def _crossed(*blocks: tuple[int, int, int]) -> dict[Any, Any]:
    """Brackets that are cross products: 3-vectors at a and b give one at c."""
    found: dict[Any, Any] = {}
    for a, b, c in blocks:
        for i, j, k in CYCLES:
            found[a + i, b + j] = {c + k: 1}
            found[a + j, b + i] = {c + k: -1}
    return found


so3 = algebra(_crossed((0, 0, 0)), "w1 w2 w3", "so(3)")
"""Rotations of space: [ω, ω'] = ω × ω'."""

se3 = algebra(_crossed((0, 0, 0), (0, 3, 3)), "w1 w2 w3 v1 v2 v3", "se(3)")
"""Motions of space: [(ω, v), (ω', v')] = (ω × ω', ω × v' + v × ω')."""

se2 = algebra({("w", "v1"): {"v2": 1}, ("w", "v2"): {"v1": -1}}, "w v1 v2", "se(2)")
"""Motions of the plane: [(ω, v), (ω', v')] = (0, ω i v' − ω' i v), where i v = (−v₂, v₁)."""
