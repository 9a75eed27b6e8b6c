"""Elements of an algebra, of numbers or of expressions: how they are read, added and multiplied."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from taut.errors import InputError, brief
from taut.lie.constants import Number

NUMBERS = "biufc"  # NumPy's letters for them


def read(value: Any, n: int, wrong: str) -> np.ndarray:
    """An array (…, n) of numbers, or of objects where they are expressions.

    Parameters
    ----------
    value : array, nest of lists of numbers, or n expressions
        In a list, a tuple, a SymPy matrix or a CasADi vector.
    n : int
    wrong : str
        What to say if it is none of them.
    """
    try:
        plain = hasattr(value, "dtype") or _numeric(value)
        array = np.asarray(value) if plain else _objects(value)
    except Exception:  # no list, one that is in itself, or a thing of somebody's own
        array = np.zeros(0)
    if array.dtype.kind not in NUMBERS + "O" or array.shape[-1:] != (n,):
        raise InputError(
            wrong,
            expected=f"an array of shape (…, {n}), or {n} expressions",
            received=f"shape {array.shape}" if array.size else brief(value),
        )
    if array.dtype.kind in NUMBERS and not np.isfinite(array).all():
        raise InputError(
            wrong,
            expected="finite numbers",
            received=f"{array[~np.isfinite(array)][0]} among them",
        )
    return array


def plus(total: Any, part: Any) -> Any:
    """The sum; nothing is added to a zero that stands for an empty sum."""
    return part if isinstance(total, int) and total == 0 else total + part


def times(c: Number, part: Any) -> Any:
    """A structure constant times an expression."""
    if c == 1:
        return part
    if c == -1:
        return -part
    if isinstance(c, Fraction):
        try:
            return c * part  # SymPy's expressions stay exact
        except TypeError:  # CasADi's take floats only
            return float(c) * part
    return c * part


def _numeric(value: Any) -> bool:
    """Whether a nest of lists holds nothing but plain numbers."""
    if isinstance(value, list | tuple):
        return all(map(_numeric, value))
    return isinstance(value, int | float | complex | np.number | np.ndarray)


def _objects(value: Any) -> np.ndarray:
    """Expressions as an array of objects, without asking NumPy what they are."""
    if isinstance(value, str | bytes):
        raise TypeError
    # CasADi's vectors have entries, but refuse to be iterated over.
    items = [value[i] for i in range(value.numel())] if hasattr(value, "numel") else list(value)
    if any(isinstance(item, list | tuple | str) for item in items):
        raise TypeError  # many elements of expressions come as an array of objects
    out = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        out[i] = item
    return out
