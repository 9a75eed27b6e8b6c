"""Stiffnesses and inertias along a beam: how they are read, and what they have to be."""

from __future__ import annotations

from typing import Any

import numpy as np

from taut.errors import ModelError
from taut.fields.ends import real_array
from taut.portable import asymmetry


def full(given: Any) -> np.ndarray:
    """A 6 × 6 matrix, given as such or by its diagonal."""
    array = real_array(given)
    if array.shape == (6,):
        return np.diag(array)
    if array.shape != (6, 6):
        raise ValueError(array.shape)
    return array


def check_positive_definite(what: str, matrices: np.ndarray, places: np.ndarray) -> None:
    """An error for the first matrix, of shape (…, 6, 6), that is not positive definite."""
    previous = None
    for place, matrix in zip(places, matrices, strict=True):
        if previous is None or not np.array_equal(matrix, previous):
            _positive_definite(what, matrix, place)
        previous = matrix


def _positive_definite(what: str, matrix: np.ndarray, place: float) -> None:
    """An error that names the place along the beam."""
    if not np.all(np.isfinite(matrix)):
        raise ModelError(
            f"the {what} at s = {place:g} is not finite",
            expected="numbers",
            received=matrix.tolist(),
        )
    if (at := asymmetry(matrix)) is not None:
        i, j = at
        raise ModelError(
            f"the {what} at s = {place:g} is not symmetric",
            expected="a symmetric matrix",
            received=f"{matrix[i, j]:g} at ({i}, {j}) and {matrix[j, i]:g} at ({j}, {i})",
        )
    scale = np.sqrt(np.abs(np.diag(matrix)))
    if np.any(scale == 0) or np.linalg.eigvalsh(matrix / np.outer(scale, scale)).min() <= 0:
        raise ModelError(
            f"the {what} at s = {place:g} is not positive definite",
            expected="positive eigenvalues",
            received=f"smallest {np.linalg.eigvalsh(matrix).min():g}",
            remedy="give every strain a stiffness and every velocity an inertia",
        )
