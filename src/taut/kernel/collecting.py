"""No looks for garbage while a model is compiled."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Garbage is collected afterwards.

    Thousands of expressions that a model is compiled from live on, and Python would go through all
    of them time and again: a tenth of the time of a first call.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
