"""SE(2): motions of the plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from taut.calls import public
from taut.lie.arrays import applied, real, together
from taut.lie.coefficients import INVERSE_TANGENT, Coefficients, sine, versine
from taut.lie.group import OneCayley
from taut.lie.known import se2
from taut.lie.motions import assembled, check_last_row
from taut.lie.rotations import (
    HALF_TURN,
    check_rotation,
    quadratic,
    refuse_half_turn,
    squared,
)


@public
class PlanarMotions(OneCayley):
    """SE(2), matrices [[R, x], [0, 1]]; algebra se(2), ξ = (ω, v), angle first.

    With i v = (−v₂, v₁), and a = (1 − cos ω)/ω²,

        exp    R = exp(ω i),                     x = (sin ω/ω) v + a ω i v
        cay    R = (1 + ω i/2)/(1 − ω i/2),      x = (v + ω i v/2)/(1 + ω²/4)

    It is SE(3) with k = (0, 0, ω) and v = (v₁, v₂, 0); as k·v = 0, both maps of Cayley's are one.
    """

    def element(self, rotation: Any, position: Any) -> np.ndarray:
        """[[R, x], [0, 1]] of a rotation (…, 2, 2) and a position (…, 2)."""
        r, x = real("the rotation", rotation, (2, 2)), real("the position", position, (2,))
        check_rotation(r, "the rotation")
        together("rotation and position", r.shape[:-2], x.shape[:-1])
        return assembled(r, x)

    def parts(self, g: Any) -> tuple[np.ndarray, np.ndarray]:
        """(R, x), of shapes (…, 2, 2) and (…, 2)."""
        g = self.check(g)
        return g[..., :2, :2].copy(), g[..., :2, 2].copy()

    def _hat(self, x: np.ndarray) -> np.ndarray:
        out = np.zeros((*x.shape[:-1], 3, 3))
        out[..., :2, :2], out[..., :2, 2] = turned(0.0, x[..., 0]), x[..., 1:]
        return out

    def _vee(self, matrix: np.ndarray) -> np.ndarray:
        w = (matrix[..., 1, 0] - matrix[..., 0, 1]) / 2
        return np.stack([w, matrix[..., 0, 2], matrix[..., 1, 2]], axis=-1)

    def _check(self, matrix: np.ndarray, what: str) -> None:
        check_rotation(matrix[..., :2, :2], f"the block R of {what}")
        check_last_row(matrix, what)

    def _inverse(self, g: np.ndarray) -> np.ndarray:
        back = np.swapaxes(g[..., :2, :2], -1, -2)
        return assembled(back, -applied(back, g[..., :2, 2]))

    def _adjoint(self, g: np.ndarray) -> np.ndarray:
        """[[1, 0], [−i x, R]]."""
        out = np.zeros((*g.shape[:-2], 3, 3))
        out[..., 0, 0], out[..., 1:, 1:] = 1.0, g[..., :2, :2]
        out[..., 1, 0], out[..., 2, 0] = g[..., 1, 2], -g[..., 0, 2]
        return out

    def _exp(self, x: np.ndarray) -> np.ndarray:
        w, u = x[..., 0], np.square(x[..., 0])
        move = turned(sine(u), w * versine(u))
        return assembled(turned(np.cos(w), np.sin(w)), applied(move, x[..., 1:]))

    def _log(self, g: np.ndarray) -> np.ndarray:
        w = np.arctan2(g[..., 1, 0] - g[..., 0, 1], g[..., 0, 0] + g[..., 1, 1])
        back = quadratic(turned(0.0, -w), np.square(w), INVERSE_TANGENT)
        v = applied(back, g[..., :2, 2])
        return np.concatenate([w[..., None], v], axis=-1)

    def _of_ad(self, x: np.ndarray, of: Coefficients) -> np.ndarray:
        return quadratic(self.algebra.ad(x), squared(x[..., :1]), of)

    def _cay(self, x: np.ndarray) -> np.ndarray:
        half = x[..., 0] / 2
        s = 1 / (1 + np.square(half))
        rotation = turned((1 - np.square(half)) * s, 2 * half * s)
        return assembled(rotation, applied(turned(s, half * s), x[..., 1:]))

    def _cay_inverse(self, g: np.ndarray) -> np.ndarray:
        """ω = 2 tan(θ/2) and v = x − ω i x/2."""
        cosine, sinus = g[..., 0, 0] + g[..., 1, 1], g[..., 1, 0] - g[..., 0, 1]
        back = cosine < 0  # where 1 + cos θ cancels, 1 − cos θ does not
        refuse_half_turn(back & (np.abs(sinus) < 4 * HALF_TURN))
        tangent = np.where(back, 2 - cosine, sinus) / np.where(back, sinus, 2 + cosine)
        v = applied(turned(1.0, -tangent), g[..., :2, 2])
        return np.concatenate([2 * tangent[..., None], v], axis=-1)


def turned(one: Any, i: Any) -> np.ndarray:
    """The matrix of one + i·(quarter turn)."""
    one, i = np.broadcast_arrays(np.asarray(one, float), i)
    return np.stack([np.stack([one, -i], axis=-1), np.stack([i, one], axis=-1)], axis=-2)


SE2 = PlanarMotions("SE(2)", se2, 3)
