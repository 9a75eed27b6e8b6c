"""SE(3): motions of space.

se(3) is so(3) over the dual numbers: with ε² = 0, (k, v) stands for the vector k + ε v, its bracket
is the cross product, and Ad of (R, x) is the dual matrix R + ε x^ R.  What holds in so(3) holds in
se(3) when numbers are replaced by dual ones (Kotelnikov's principle of transference), where

    f(u + ε u') = f(u) + ε u' df/du,      |k + ε v|² = |k|² + 2 ε k·v.

So come the tangents of exp and of `cay_ad`, from those of so(3).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taut.calls import public
from taut.errors import InputError
from taut.lie.arrays import applied, cross, real, together
from taut.lie.coefficients import INVERSE_TANGENT, Coefficients, sine_rest, versine
from taut.lie.group import TOLERANCE, Group
from taut.lie.known import se3
from taut.lie.rotations import SO3, check_rotation, quadratic, squared
from taut.portable import product


@public
class Motions(Group):
    """SE(3), matrices [[R, x], [0, 1]]; algebra se(3), ξ = (k, v), angular first.

    With s = 1/(1 + |k|²/4), and a, b of `taut.lie.coefficients`,

        exp      R = exp(k),  x = v + a k × v + b k × (k × v)
        cay      R = cay(k),  x = s (v + k × v/2 + k (k·v)/4)
        cay_ad   R = cay(k),  x = s (v + k × v/2)
    """

    def element(self, rotation: Any, position: Any) -> np.ndarray:
        """[[R, x], [0, 1]] of a rotation (…, 3, 3) and a position (…, 3)."""
        r, x = SO3.check(rotation, "the rotation"), real("the position", position, (3,))
        together("rotation and position", r.shape[:-2], x.shape[:-1])
        return assembled(r, x)

    def parts(self, g: Any) -> tuple[np.ndarray, np.ndarray]:
        """(R, x), of shapes (…, 3, 3) and (…, 3)."""
        g = self.check(g)
        return g[..., :3, :3].copy(), g[..., :3, 3].copy()

    def _hat(self, x: np.ndarray) -> np.ndarray:
        out = np.zeros((*x.shape[:-1], 4, 4))
        out[..., :3, :3], out[..., :3, 3] = cross(x[..., :3]), x[..., 3:]
        return out

    def _vee(self, matrix: np.ndarray) -> np.ndarray:
        return np.concatenate([SO3._vee(matrix[..., :3, :3]), matrix[..., :3, 3]], axis=-1)

    def _check(self, matrix: np.ndarray, what: str) -> None:
        check_rotation(matrix[..., :3, :3], f"the block R of {what}")
        check_last_row(matrix, what)

    def _inverse(self, g: np.ndarray) -> np.ndarray:
        back = np.swapaxes(g[..., :3, :3], -1, -2)
        return assembled(back, -applied(back, g[..., :3, 3]))

    def _adjoint(self, g: np.ndarray) -> np.ndarray:
        r = g[..., :3, :3]
        return dual(r, product(cross(g[..., :3, 3]), r))

    def _exp(self, x: np.ndarray) -> np.ndarray:
        k, v = x[..., :3], x[..., 3:]
        u, kv = squared(k)[..., None], np.cross(k, v)
        return assembled(SO3._exp(k), v + versine(u) * kv + sine_rest(u) * np.cross(k, kv))

    def _log(self, g: np.ndarray) -> np.ndarray:
        """In exp, x = dexp(−k) v with the tangent of so(3); so v = dexp_inverse(−k) x."""
        k = SO3._log(g[..., :3, :3])
        v = applied(quadratic(cross(-k), squared(k), INVERSE_TANGENT), g[..., :3, 3])
        return np.concatenate([k, v], axis=-1)

    def _of_ad(self, x: np.ndarray, of: Coefficients) -> np.ndarray:
        """f₀ + f₁ K + f₂ K² for K = k^ + ε v^, with coefficients of |k|² + 2 ε k·v."""
        k, v = cross(x[..., :3]), cross(x[..., 3:])
        both = 2 * np.sum(x[..., :3] * x[..., 3:], axis=-1)[..., None, None]
        u = squared(x[..., :3])[..., None, None]
        (f0, f1, f2), (g0, g1, g2) = of.values(u), of.slopes(u)
        one, square = np.eye(3), product(k, k)
        return dual(
            f0 * one + f1 * k + f2 * square,
            f1 * v
            + f2 * (product(k, v) + product(v, k))
            + both * (g0 * one + g1 * k + g2 * square),
        )

    def _cay(self, x: np.ndarray) -> np.ndarray:
        k, v = x[..., :3], x[..., 3:]
        along = np.sum(k * v, axis=-1, keepdims=True)
        moved = v + np.cross(k, v) / 2 + k * along / 4
        return assembled(SO3._cay(k), moved / (1 + squared(k)[..., None] / 4))

    def _cay_inverse(self, g: np.ndarray) -> np.ndarray:
        k, x = SO3._cay_inverse(g[..., :3, :3]), g[..., :3, 3]
        return np.concatenate([k, x - np.cross(k, x) / 2], axis=-1)

    def _dcay(self, x: np.ndarray) -> np.ndarray:
        """The matrix s [[1 − k^/2, 0], [−v^ (1 − k^/2)/2, 1 − k^/2 + k kᵀ/4]]."""
        k = x[..., :3]
        s = 1 / (1 + squared(k)[..., None, None] / 4)
        turn = s * (np.eye(3) - cross(k) / 2)
        out = dual(turn, -product(cross(x[..., 3:]), turn) / 2)
        out[..., 3:, 3:] += s * k[..., :, None] * k[..., None, :] / 4
        return out

    def _dcay_inverse(self, x: np.ndarray) -> np.ndarray:
        """[[1 + k^/2 + k kᵀ/4, 0], [(1 + k^/2) v^/2, 1 + k^/2]]."""
        k = x[..., :3]
        turn = np.eye(3) + cross(k) / 2
        out = dual(turn, product(turn, cross(x[..., 3:])) / 2)
        out[..., :3, :3] += k[..., :, None] * k[..., None, :] / 4
        return out

    def _cay_ad(self, x: np.ndarray) -> np.ndarray:
        """Cayley's map of so(3) at k + ε v: R + ε x^ R, x = δR R⁻¹ for δk = v."""
        k, v = x[..., :3], x[..., 3:]
        moved = (v + np.cross(k, v) / 2) / (1 + squared(k)[..., None] / 4)
        return assembled(SO3._cay(k), moved)

    def _cay_ad_inverse(self, g: np.ndarray) -> np.ndarray:
        k, x = SO3._cay_inverse(g[..., :3, :3]), g[..., :3, 3]
        along = np.sum(k * x, axis=-1, keepdims=True)
        return np.concatenate([k, x - np.cross(k, x) / 2 + k * along / 4], axis=-1)


def assembled(rotation: np.ndarray, position: np.ndarray) -> np.ndarray:
    """[[R, x], [0, 1]], in the plane or in space."""
    d = position.shape[-1]
    shape = np.broadcast_shapes(rotation.shape[:-2], position.shape[:-1])
    out = np.zeros((*shape, d + 1, d + 1))
    out[..., :d, :d], out[..., :d, d], out[..., d, d] = rotation, position, 1.0
    return out


def dual(real_part: np.ndarray, dual_part: np.ndarray) -> np.ndarray:
    """The matrix A + ε B as [[A, 0], [B, A]]."""
    out = np.zeros((*dual_part.shape[:-2], 6, 6))
    out[..., :3, :3] = out[..., 3:, 3:] = real_part
    out[..., 3:, :3] = dual_part
    return out


def check_last_row(matrix: np.ndarray, what: str) -> None:
    """An `InputError` if the last row is not (0, …, 0, 1)."""
    d = matrix.shape[-1] - 1
    last = np.eye(d + 1)[d]
    wrong = np.abs(matrix[..., d, :] - last).max(axis=-1) > TOLERANCE
    if wrong.any():
        raise InputError(
            f"{what} is not a motion",
            expected=f"the last row ({', '.join(['0'] * d)}, 1): [[R, x], [0, 1]]",
            received=f"({', '.join(f'{c:g}' for c in matrix[wrong][0, d])})",
            remedy="positions stand in the last column; transpose the matrix if they do not",
        )


SE3 = Motions("SE(3)", se3, 4)
