"""How Numba is asked to compile: what Python calls, and what is called from within alone.

A function that Python can call comes with a wrapper which unpacks each array of its arguments; that
takes most of Numba's time for a short function.  Functions that only other compiled ones call
go without it: after an installation the first run of a large system is ready in half the time.

What Numba has compiled it keeps beside taut's own files, or in the user's folder if it cannot write
there; a folder of another name is looked at before anything is taken from it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import config, njit
from numba.core.ccallback import CFunc
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature

from taut.interrupts import unbroken
from taut.kernel.loop_cache import LoopCache
from taut.kernel.vault import check_folder

Function = TypeVar("Function", bound=Callable[..., Any])

# What divides by zero goes on with infinity, and is found to be of no use where results are judged.
OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}
BARE: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


if folder := getattr(config, "CACHE_DIR", ""):
    check_folder(Path(folder), "NUMBA_CACHE_DIR")


class Entry(CPUDispatcher):
    """A compiled function that Python calls: a signal waits until it has been compiled."""

    @unbroken()
    def compile(self, sig: Any) -> Any:
        return super().compile(sig)


class Within(Entry):
    """A compiled function without a wrapper: a call from Python would end in a crash."""

    def __call__(self, *_: Any, **__: Any) -> Any:
        name = f"{self.py_func.__module__}.{self.py_func.__name__}"
        raise TypeError(
            f"{name} is called by compiled functions alone; .py_func is the plain function, and "
            "with @entry instead of @within it can be called"
        )


def entry(function: Function) -> Function:
    """Compile a function that Python calls."""
    return cast(Function, _made(function, Entry, {}))


def within(function: Function) -> Function:
    """Compile a function that only other compiled functions call."""
    return cast(Function, _made(function, Within, BARE))


def _made(function: Callable[..., Any], kind: type, options: dict[str, Any]) -> Any:
    """With NUMBA_DISABLE_JIT it is the plain function."""
    made: Any = njit(**OPTIONS, **options)(function)
    if isinstance(made, CPUDispatcher):
        made.__class__ = kind
        vars(made)["_cache"].__class__ = LoopCache
    return made


def callback(signature: Any) -> Callable[[Callable[..., Any]], CFunc]:
    """Compile a function that has an address, at once; as Numba's `cfunc`."""

    def compiled(function: Callable[..., Any]) -> CFunc:
        made = CFunc(function, normalize_signature(signature), locals={}, options={})
        made.enable_caching()
        vars(made)["_cache"].__class__ = LoopCache
        with unbroken():
            made.compile()
        return made

    return compiled


@within
def copy(source, target):
    """Numbers of one vector into another of the same length.

    As ``target[:] = source``, for which Numba compiles words of errors for seconds.
    """
    for i in range(target.shape[0]):
        target[i] = source[i]
