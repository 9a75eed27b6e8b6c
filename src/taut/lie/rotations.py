"""SO(3): rotations of space, and quaternions."""

from __future__ import annotations

from typing import Any

import numpy as np

from taut.calls import public
from taut.errors import InputError
from taut.lie.arrays import cross, real
from taut.lie.coefficients import Coefficients, sine, versine
from taut.lie.group import TOLERANCE, OneCayley
from taut.lie.known import CYCLES, so3
from taut.portable import norm, product

# A rotation so close to π that the direction of tan(θ/2) is round-off.
HALF_TURN = 16 * np.finfo(float).eps


@public
class Rotations(OneCayley):
    """SO(3), matrices R with RᵀR = 1 and det R = 1; algebra so(3), ξ = ω, ω^ x = ω × x.

    With θ = |ω|,

        exp    R = 1 + (sin θ/θ) ω^ + ((1 − cos θ)/θ²) ω^²
        cay    R = 1 + (ω^ + ω^²/2)/(1 + θ²/4)

    As ad ω = ω^, both maps of Cayley's are one.
    """

    def quaternion(self, rotation: Any) -> np.ndarray:
        """(w, x, y, z) of a rotation, of length one, w ≥ 0: (…, 3, 3) → (…, 4).

        The largest component is found first, so that nothing cancels (Shepperd, J. Guidance and
        Control 1 (1978) 223).  Mind the order: w, the cosine of θ/2, is first.
        """
        return self._quaternion(self.check(rotation))

    def from_quaternion(self, quaternion: Any) -> np.ndarray:
        """The rotation of a quaternion (w, x, y, z) of length one: (…, 4) → (…, 3, 3)."""
        q = real("the quaternion", quaternion, (4,))
        length = np.sqrt(np.sum(np.square(q), axis=-1, keepdims=True))
        far = np.abs(length - 1) > TOLERANCE
        if far.any():
            raise InputError(
                "a quaternion of a rotation has length one",
                expected="w² + x² + y² + z² = 1",
                received=f"length {length[far].flat[0]:.6g}",
                remedy="divide it by its length",
            )
        q = q / length
        turn = cross(q[..., 1:])
        return np.eye(3) + 2 * (q[..., :1, None] * turn + product(turn, turn))

    def _quaternion(self, r: np.ndarray) -> np.ndarray:
        # Row i of `rows` is 4 qᵢ (w, x, y, z); the one with the largest 4 qᵢ² is taken.
        rows = np.empty((*r.shape[:-2], 4, 4))
        trace = r[..., 0, 0] + r[..., 1, 1] + r[..., 2, 2]
        rows[..., 0, 0] = 1 + trace
        for i, j, k in CYCLES:
            rows[..., 0, i + 1] = rows[..., i + 1, 0] = r[..., k, j] - r[..., j, k]
            rows[..., i + 1, i + 1] = 1 + 2 * r[..., i, i] - trace
            rows[..., i + 1, j + 1] = rows[..., j + 1, i + 1] = r[..., i, j] + r[..., j, i]
        best = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
        q = np.take_along_axis(rows, best[..., None, None], axis=-2)[..., 0, :]
        q = q / norm(q)[..., None]
        return np.where(q[..., :1] < 0, -q, q)

    def _hat(self, x: np.ndarray) -> np.ndarray:
        return cross(x)

    def _vee(self, matrix: np.ndarray) -> np.ndarray:
        return np.stack(
            [(matrix[..., k, j] - matrix[..., j, k]) / 2 for _, j, k in CYCLES], axis=-1
        )

    def _check(self, matrix: np.ndarray, what: str) -> None:
        check_rotation(matrix, what)

    def _inverse(self, g: np.ndarray) -> np.ndarray:
        return np.swapaxes(g, -1, -2).copy()

    def _adjoint(self, g: np.ndarray) -> np.ndarray:
        return g.copy()

    def _exp(self, x: np.ndarray) -> np.ndarray:
        u, turn = squared(x)[..., None, None], cross(x)
        return np.eye(3) + sine(u) * turn + versine(u) * product(turn, turn)

    def _log(self, g: np.ndarray) -> np.ndarray:
        """2 arctan(|x|/w) x/|x| of the quaternion: accurate from θ = 0 to π."""
        q = self._quaternion(g)
        w, x = q[..., :1], q[..., 1:]
        length = norm(x)[..., None]
        none = length == 0  # then x is zero, or so small that 2 x is the limit
        return x * np.where(none, 2.0, 2 * np.arctan2(length, w) / np.where(none, 1.0, length))

    def _of_ad(self, x: np.ndarray, of: Coefficients) -> np.ndarray:
        return quadratic(cross(x), squared(x), of)

    def _cay(self, x: np.ndarray) -> np.ndarray:
        u, turn = squared(x)[..., None, None], cross(x)
        return np.eye(3) + (turn + product(turn, turn) / 2) / (1 + u / 4)

    def _cay_inverse(self, g: np.ndarray) -> np.ndarray:
        """2 (R − Rᵀ)^∨/(1 + tr R), which is 2 (x, y, z)/w of the quaternion."""
        q = self._quaternion(g)
        refuse_half_turn(q[..., 0] < HALF_TURN)
        return 2 * q[..., 1:] / q[..., :1]


def squared(x: np.ndarray) -> np.ndarray:
    """θ² = |ω|²."""
    return np.asarray(np.sum(np.square(x), axis=-1))


def quadratic(ad: np.ndarray, u: np.ndarray, of: Coefficients) -> np.ndarray:
    """f₀ + f₁ ad + f₂ ad², where ad³ = −u ad."""
    zero, one, two = of.values(u[..., None, None])
    return zero * np.eye(ad.shape[-1]) + one * ad + two * product(ad, ad)


def check_rotation(r: np.ndarray, what: str) -> None:
    """An `InputError` if matrices are no rotations of the plane or of space."""
    defects = np.abs(np.swapaxes(r, -1, -2) @ r - np.eye(r.shape[-1])).max(axis=(-2, -1))
    wrong = np.asarray((defects > TOLERANCE) | (np.linalg.det(r) < 0))
    if wrong.any():
        at = tuple(map(int, np.argwhere(wrong)[0]))
        det = np.linalg.det(r[at])
        near = bool(det > 0 and defects[at] < 1e-2)
        raise InputError(
            f"{what} is not a rotation",
            expected="RᵀR = 1 and det R = 1",
            received=f"|RᵀR − 1| = {defects[at]:.2g}, det R = {det:.6g}"
            + (f" at index {at}" if at else ""),
            remedy="its columns are the axes of a frame: of length one, at right angles, "
            "right-handed" + "; the nearest rotation is U V of its SVD, U S V" * near,
        )


def refuse_half_turn(half: np.ndarray) -> None:
    """An `InputError` if there are rotations by π."""
    if np.any(half):
        raise InputError(
            "a rotation by π is not in the image of Cayley's map",
            expected="angles below π",
            received="θ = π (to round-off)",
            remedy="use `log`, which has no such gap; or take half of the motion",
        )


SO3 = Rotations("SO(3)", so3, 3)
