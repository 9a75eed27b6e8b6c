"""Rotations by three angles about the axes of what is turned: Euler's and those of Tait and Bryan.

    R = R_i(α) R_j(β) R_k(γ)

turns first by α about the axis i, then by β about the axis j *as it is then*, then by γ about the
axis k as it is then.  With s = +1 if i, j and the axis beside them follow each other as x, y, z do,
and −1 otherwise, the entries that give the angles back are, for three different axes,

    R_ik = s sin β,   R_ij = −s cos β sin γ,  R_ii = cos β cos γ,  R_jk = −s sin α cos β,
    R_kk = cos α cos β,

and for i = k, l the axis that is not used,

    R_ii = cos β,     R_ij = sin β sin γ,     R_il = s sin β cos γ,  R_ji = sin α sin β,
    R_li = −s cos α sin β.

Where the first and the third axis are the same line (cos β = 0, or sin β = 0) only a sum or a
difference of α and γ is known, and γ = 0 is taken.

Source: Diebel 2006, Representing Attitude.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taut.calls import public
from taut.errors import InputError, brief
from taut.lie.arrays import real
from taut.lie.rotations import SO3
from taut.portable import product

LETTERS = "xyz"
LOCKED = 1e-9  # sin β or cos β, whichever should not vanish


@public
def rotation(angles: Any, axes: str = "zxz") -> np.ndarray:
    """The rotation matrix of three angles in radians, about axes that turn with the body.

    Parameters
    ----------
    angles : array_like, shape (…, 3)
    axes : str
        Three of x, y and z, no two neighbours the same: ``"zxz"`` are Euler's angles (precession,
        nutation, spin), ``"zyx"`` yaw, pitch and roll.

    Returns
    -------
    ndarray, shape (…, 3, 3)
        Columns are the axes of the body in space.

    Examples
    --------
    >>> import numpy as np
    >>> import taut
    >>> turned = taut.rotation((np.pi / 2, 0, 0), "zyx")  # the body's x axis along y
    >>> np.allclose(turned[:, 0], (0, 1, 0))
    True
    """
    given = real("the angles", angles, (3,))
    found: np.ndarray = np.eye(3)
    for k, axis in enumerate(numbers(axes)):
        found = product(found, SO3.exp(given[..., k, None] * np.eye(3)[axis]))
    return found


@public
def euler(rotations: Any, axes: str = "zxz") -> np.ndarray:
    """The angles of rotation matrices, (…, 3, 3) → (…, 3); the inverse of `rotation`.

    The second angle is between −π/2 and π/2 for three different axes, between 0 and π otherwise.
    """
    r = SO3.check(rotations, "the rotation")
    i, j, last = numbers(axes)
    k = 3 - i - j
    s = 1.0 if (i, j, k) in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) else -1.0
    if last == i:
        beta = np.arctan2(np.hypot(r[..., i, j], r[..., i, k]), r[..., i, i])
        alpha = np.arctan2(r[..., j, i], -s * r[..., k, i])
        gamma = np.arctan2(r[..., i, j], s * r[..., i, k])
        locked = np.abs(np.sin(beta)) < LOCKED
    else:
        beta = np.arctan2(s * r[..., i, k], np.hypot(r[..., i, i], r[..., i, j]))
        alpha = np.arctan2(-s * r[..., j, k], r[..., k, k])
        gamma = np.arctan2(-s * r[..., i, j], r[..., i, i])
        locked = np.abs(np.cos(beta)) < LOCKED
    alpha = np.where(locked, np.arctan2(s * r[..., k, j], r[..., j, j]), alpha)
    return np.stack([alpha, beta, np.where(locked, 0.0, gamma)], axis=-1)


def numbers(axes: Any) -> tuple[int, int, int]:
    """Numbers of three axes that are given as letters."""
    good = isinstance(axes, str) and len(axes) == 3 and set(axes) <= set(LETTERS)
    if not good or axes[0] == axes[1] or axes[1] == axes[2]:
        raise InputError(
            "these are no axes of three rotations",
            expected='three of x, y and z, no two neighbours the same, such as "zxz" or "zyx"',
            received=brief(axes, 40),
        )
    first, second, third = (LETTERS.index(letter) for letter in axes)
    return first, second, third
