"""A reproduction as files: figures, one self-contained HTML page, and all numbers as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from math import log2
from pathlib import Path
from typing import Any

import numpy as np

from taut.errors import FileError
from taut.show.page import Page


@dataclass(frozen=True)
class Report:
    """What a reproduction made.

    Attributes
    ----------
    page, data : Path
        The HTML page and the JSON file.
    figures : tuple of Path
    numbers : dict
        The content of the JSON file.
    """

    page: Path
    data: Path
    figures: tuple[Path, ...]
    numbers: dict[str, Any]

    @property
    def files(self) -> tuple[Path, ...]:
        """Everything that was written, the page first."""
        return (self.page, self.data, *self.figures)


def written(page: Page, out: Path, name: str, numbers: dict[str, Any]) -> Report:
    """Write page, data and figures into a directory, the page last."""
    text = json.dumps(numbers, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    html = page.html()
    try:
        out.mkdir(parents=True, exist_ok=True)
        for file, data in page.pictures.items():
            (out / file).write_bytes(data)
        (out / f"{name}.json").write_text(text, encoding="utf-8")
        (out / "index.html").write_text(html, encoding="utf-8")
    except OSError as error:
        raise FileError(
            f"the reproduction cannot be written to {out}",
            received=error.strerror or str(error),
            remedy="choose another directory",
        ) from error
    figures = tuple(out / file for file in page.pictures)
    return Report(out / "index.html", out / f"{name}.json", figures, numbers)


def orders(errors: list[float]) -> list[float]:
    """log₂ of the ratio of errors at h and h/2."""
    return [log2(a / b) for a, b in pairwise(errors)]


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
