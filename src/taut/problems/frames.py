"""Rotations and coordinates of bodies, for closed forms: arrays of any shape in front."""

from __future__ import annotations

from typing import Any

import numpy as np


def about(axis: int, angle: Any) -> np.ndarray:
    """The rotation about a coordinate axis 0, 1 or 2, shape (…, 3, 3)."""
    angle = np.asarray(angle, dtype=float)
    found = np.zeros((*angle.shape, 3, 3))
    i, j = (axis + 1) % 3, (axis + 2) % 3
    found[..., axis, axis] = 1.0
    found[..., i, i] = found[..., j, j] = np.cos(angle)
    found[..., j, i] = np.sin(angle)
    found[..., i, j] = -found[..., j, i]
    return found


def crossed(omega: np.ndarray) -> np.ndarray:
    """The matrix of ω ×, shape (…, 3, 3)."""
    found = np.zeros((*omega.shape, 3))
    for axis in range(3):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        found[..., j, i] = omega[..., axis]
        found[..., i, j] = -omega[..., axis]
    return found


def stacked(centre: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Coordinates of a body, or their rates: its centre, then the columns of a matrix."""
    flat = np.swapaxes(columns, -1, -2).reshape(*columns.shape[:-2], 9)
    return np.concatenate([np.broadcast_to(centre, (*flat.shape[:-1], 3)), flat], axis=-1)
