"""What is given to a group, as arrays of floats; and 3-vectors as matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from taut.errors import InputError, brief
from taut.portable import product

# Fifth powers of angles occur in closed forms; they stay below the largest float.
LARGEST = 1e50


def real(what: str, value: Any, tail: tuple[int, ...]) -> np.ndarray:
    """`value` as floats in an array (…, *tail), or an `InputError` that says what it is instead."""
    expected = f"real numbers, shape (…, {', '.join(map(str, tail))})"
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biufO":
            raise TypeError
        array = np.asarray(array, dtype=float)
    except Exception as error:  # foreign types raise what they like
        raise InputError(
            f"{what} cannot be read", expected=expected, received=brief(value)
        ) from error
    if array.shape[array.ndim - min(len(tail), array.ndim) :] != tail:
        raise InputError(
            f"{what} has the wrong shape", expected=expected, received=f"shape {array.shape}"
        )
    within = np.abs(array) <= LARGEST  # neither NaN nor inf is
    if not within.all():
        at = tuple(map(int, np.argwhere(~within)[0]))
        raise InputError(
            f"{what} is not finite",
            expected=f"finite numbers, up to {LARGEST:g} in size",
            received=f"{array[at]} at index {at}",
        )
    return array


def together(what: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape of leading axes."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise InputError(
            f"{what} do not fit each other",
            expected="leading axes that broadcast",
            received=" and ".join(map(str, shapes)),
        ) from error


def cross(k: np.ndarray) -> np.ndarray:
    """k̂, the matrix of x ↦ k × x."""
    out = np.zeros((*k.shape, 3))
    out[..., 2, 1], out[..., 0, 2], out[..., 1, 0] = k[..., 0], k[..., 1], k[..., 2]
    return out - np.swapaxes(out, -1, -2)


def applied(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Matrices times vectors."""
    return product(matrix, vector[..., None])[..., 0]


def blocks(matrices: list[np.ndarray]) -> np.ndarray:
    """Square matrices on the diagonal of a larger one."""
    shape = np.broadcast_shapes(*(m.shape[:-2] for m in matrices))
    size = sum(m.shape[-1] for m in matrices)
    out, at = np.zeros((*shape, size, size)), 0
    for m in matrices:
        own = slice(at, at + m.shape[-1])
        out[..., own, own] = m
        at = own.stop
    return out
