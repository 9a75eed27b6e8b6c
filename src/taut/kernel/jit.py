"""How Numba is asked to compile: what Python calls, and what is called from within alone.

A function that Python can call comes with a wrapper which unpacks each array of its arguments; that
takes most of Numba's time for a short function.  Functions that only other compiled ones call
go without it: after an installation the first run of a large system is ready in half the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.registry import CPUDispatcher

Function = TypeVar("Function", bound=Callable[..., Any])

# What divides by zero goes on with infinity, and is found to be of no use where results are judged.
OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}
BARE: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class Within(CPUDispatcher):
    """A compiled function without a wrapper: a call from Python would end in a crash."""

    def __call__(self, *_: Any, **__: Any) -> Any:
        name = f"{self.py_func.__module__}.{self.py_func.__name__}"
        raise TypeError(
            f"{name} is called by compiled functions alone; .py_func is the plain function, and "
            "with @entry instead of @within it can be called"
        )


def entry(function: Function) -> Function:
    """Compile a function that Python calls."""
    return cast(Function, njit(**OPTIONS)(function))


def within(function: Function) -> Function:
    """Compile a function that only other compiled functions call."""
    made: Any = njit(**OPTIONS, **BARE)(function)
    if isinstance(made, CPUDispatcher):  # with NUMBA_DISABLE_JIT it is the plain function
        made.__class__ = Within
    return cast(Function, made)


@within
def copy(source, target):
    """Numbers of one vector into another of the same length.

    As ``target[:] = source``, for which Numba compiles words of errors for seconds.
    """
    for i in range(target.shape[0]):
        target[i] = source[i]
