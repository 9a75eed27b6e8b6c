"""The size of laws that have a name in mechanics: that of a unit motion, whatever the masses.

A law is found but for a factor.  Where ξ has a unit, I = L ξ₀ + L_q̇·(ξ − q̇ ξ₀) + G fixes it:

    energy             ξ₀ = −1
    momentum           ξ = b              max |b| = 1
    boost              ξ = t b + c        max |b| = 1
    angular momentum   ξ = A q + b        max |A| = 1
    scaling            ξ₀ = a t + b,      a and ξ_q whole numbers without a common factor

Where parameters are in the ratios of these, factors that all of them share are taken out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import overload

import sympy as sp

from taut.laws.law import Symmetry
from taut.laws.present import cancelled, whole
from taut.laws.symmetry import tidied
from taut.model import t


@overload
def of_unit_motion(
    law: sp.Expr, kind: str, symmetry: Symmetry, state: set[sp.Symbol]
) -> tuple[sp.Expr, Symmetry]: ...
@overload
def of_unit_motion(
    law: sp.Expr, kind: str, symmetry: Symmetry | None, state: set[sp.Symbol]
) -> tuple[sp.Expr, Symmetry | None]: ...
def of_unit_motion(
    law: sp.Expr, kind: str, symmetry: Symmetry | None, state: set[sp.Symbol]
) -> tuple[sp.Expr, Symmetry | None]:
    """A law and its symmetry in the scale of the unit motion; others as they are."""
    parts = [] if symmetry is None else _motion(kind, symmetry, state)
    if symmetry is None or not parts:
        return law, symmetry
    factor = cancelled(1 / _size(parts, common=kind == "scaling"))
    if kind == "energy":
        factor = -1 / symmetry.xi0
    if factor == 1:
        return law, symmetry
    xi = tuple(tidied(factor * e) for e in symmetry.xi)
    moved = replace(
        symmetry, xi0=tidied(factor * symmetry.xi0), xi=xi, gauge=tidied(factor * symmetry.gauge)
    )
    return tidied(factor * law), moved


def _motion(kind: str, symmetry: Symmetry, state: set[sp.Symbol]) -> list[sp.Expr]:
    """The constants of the motion that have a unit."""
    xi0, xi = symmetry.xi0, symmetry.xi
    found: list[sp.Expr] = []
    if kind == "energy":
        found = [xi0]
    elif kind == "momentum":
        found = list(xi)
    elif kind == "boost":
        found = [e.diff(t) for e in xi]
    elif kind in ("angular momentum", "scaling"):
        found = [e.diff(x) for e in xi for x in sorted(e.free_symbols & state, key=str)]
        found += [xi0.diff(t)] if kind == "scaling" else []
    found = [e for e in found if e != 0]
    return [] if any(e.free_symbols & {*state, t} for e in found) else found


def _size(parts: list[sp.Expr], common: bool) -> sp.Expr:
    """The largest of them, or (`common`, or of parameters) what they have in common; positive."""
    first = parts[0]
    ratios = [cancelled(e / first) for e in parts]
    if common or any(e.free_symbols for e in ratios):
        size = cancelled(first / whole(parts)[0])
    else:
        size = first * max(abs(e) for e in ratios)
    return -size if size.could_extract_minus_sign() else size


__all__ = ["of_unit_motion"]
