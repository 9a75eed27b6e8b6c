"""Numbers of a reproduction: as JSON knows them, and as a page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log2
from typing import Any

import numpy as np

from taut.show.style import number


def orders(errors: Sequence[float]) -> list[float]:
    """log₂ of the ratio of errors at h and h/2."""
    return [log2(a / b) for a, b in pairwise(errors)]


def rates(found: Sequence[float]) -> str:
    """Orders for a cell of a table."""
    return " · ".join(f"{r:.2f}" for r in found)


def signed(x: float) -> str:
    """A number with its sign."""
    return ("+" if x > 0 else "") + number(x)


def fixed(x: float, digits: int) -> str:
    """A number with so many decimals."""
    return f"{x:.{digits}f}".replace("-", "−")


def ratio(ours: float, theirs: float) -> str:
    """Ours ÷ theirs: with four decimals where they are close, two digits elsewhere."""
    found = ours / theirs
    return fixed(found, 4) if 0.9 < abs(found) < 1.1 else number(found)


def plain(value: Any) -> Any:
    """Numbers, strings, lists and dicts that JSON knows; what is not finite becomes None."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(v) for v in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value if value is None else str(value)
