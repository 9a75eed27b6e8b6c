"""Singular values with the same bits on every machine: see `taut.portable`."""

from __future__ import annotations

from math import prod

import numpy as np

from taut.kernel.jit import entry, within
from taut.portable import orthogonal_rows, product

_orthogonal_rows = within(orthogonal_rows)


@entry
def _all_orthogonal(a, turn):
    for b in range(a.shape[0]):
        _orthogonal_rows(a[b], turn[b])


def svd(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(u, s, vt) with matrix = u s vt, s falling; u is square, and vt has as many rows as `matrix`.

    Rows of vt for a singular value of zero are zero.
    """
    *lead, many, wide = matrix.shape
    a = np.array(matrix, dtype=float, order="C").reshape(prod(lead), many, wide)
    turn = np.broadcast_to(np.eye(many), (len(a), many, many)).copy()
    # Halves of the exponents that there are: squares neither vanish nor overflow.
    size = np.abs(a).max(axis=(1, 2), initial=0.0)
    unit = np.ldexp(1.0, np.frexp(np.where((size > 0.0) & (size < np.inf), size, 1.0))[1])
    a /= unit[:, None, None]
    _all_orthogonal(a, turn)
    s = np.sqrt(np.square(a).sum(axis=2))
    order = np.argsort(-s, axis=1, kind="stable")
    s, a, turn = (np.take_along_axis(x, order.reshape(*order.shape, *[1] * (x.ndim - 2)), 1)
                  for x in (s, a, turn))  # fmt: skip
    vt = a / np.where(s > 0.0, s, 1.0)[..., None]
    u = np.swapaxes(turn, 1, 2).reshape(*lead, many, many)
    return u, (s * unit[:, None]).reshape(*lead, many), vt.reshape(*lead, many, wide)


def least_squares(matrix: np.ndarray, right: np.ndarray, share: float) -> np.ndarray:
    """The x of least norm with matrix·x as near to `right` as can be.

    Singular values below this `share` of the largest count as zero.
    """
    u, s, vt = svd(matrix)
    used = s > share * s.max(initial=0.0)
    return product(np.where(used, product(u.T, right) / np.where(used, s, 1.0), 0.0), vt)
