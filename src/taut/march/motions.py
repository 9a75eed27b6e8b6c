"""How moved ends of beams move: velocities and their rates, at given times.

An end is at x₀ + x(t), its frame is exp(r(t))R₀; x and r are the expressions of a `taut.End`, and
x₀, R₀ where it starts.  In the frame of the end ω = R₀ᵀ dexp(r) ṙ, with the left-trivialised dexp
of `taut.lie`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import sympy as sp

from taut.fields.mesh import Hold, Mesh
from taut.lie import SO3
from taut.march.statics.applied import values_of
from taut.model.symbols import t
from taut.portable import product

NEAR = 1e-6  # of a span of time: the distance over which rates of rotations are taken


def velocity(hold: Hold, times: np.ndarray) -> np.ndarray:
    """ẋ in space, shape (N, 3)."""
    return _many(map(_rate, hold.end.position or ()), times)


def acceleration(hold: Hold, times: np.ndarray) -> np.ndarray:
    """ẍ in space, shape (N, 3)."""
    return _many((_rate(_rate(x)) for x in hold.end.position or ()), times)


def spin(hold: Hold, mesh: Mesh, times: np.ndarray) -> np.ndarray:
    """ω in the frame of the end, shape (N, 3)."""
    given = hold.end.rotation or ()
    start = (mesh.pose[hold.node] if hold.start is None else hold.start)[:3, :3]
    rate = _many(map(_rate, given), times)
    return product(np.einsum("tij,tj->ti", SO3.dexp(_many(given, times)), rate), start)


def spin_rate(hold: Hold, mesh: Mesh, times: np.ndarray, span: float) -> np.ndarray:
    """ω̇ in the frame of the end, shape (N, 3); nothing much happens in `span`."""
    near = NEAR * span
    after, before = (spin(hold, mesh, times + x) for x in (near, -near))
    return (after - before) / (2 * near)


def _many(expressions: Iterable[sp.Expr], times: np.ndarray) -> np.ndarray:
    found = [values_of(x, None, times) for x in expressions]
    return np.stack(found, axis=1) if found else np.zeros((len(times), 3))


def _rate(x: sp.Expr) -> sp.Expr:
    """ẋ; at a kink, which has none, that of one side."""
    return sp.diff(x, t).replace(sp.DiracDelta, lambda *_: sp.S.Zero)
