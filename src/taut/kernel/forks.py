"""Locks that are free in the child of a fork, whatever other threads were doing.

A child has one thread, the one that forked, and locks as all threads had them: what another one
was holding is never given back.  So a fork waits until nobody compiles or builds graphs, since LLVM
and CasADi would be left half-way (`before`), and locks of taut's own, which guard what the child
makes anew or does not have, are freed in the child (`after_in_child`).
"""

from __future__ import annotations

import os
import sys
from functools import cached_property
from typing import Any
from weakref import WeakSet

from llvmlite.binding import ffi
from numba.core.compiler_lock import global_compiler_lock as compiler_lock

from taut.kernel import graph_lock

_LOCKS: WeakSet[Any] = WeakSet()
# Each call of LLVM by itself, also of those who do not compile: modules are given back at any time.
_CALLS: Any = getattr(ffi.lib, "_lock", None)


def freed(lock: Any) -> Any:
    """A lock, to be freed in children."""
    _LOCKS.add(lock)
    return lock


def before() -> None:
    """Wait until nobody compiles, and nobody builds graphs."""
    compiler_lock.acquire()
    graph_lock.acquire()
    if _CALLS is not None:
        _CALLS.__enter__()


def after() -> None:
    """Let others compile, here and in the child."""
    if _CALLS is not None:
        _CALLS.__exit__(None, None, None)
    graph_lock.release()
    compiler_lock.release()


def after_in_child() -> None:
    """Free what threads that are not here were holding."""
    after()
    for lock in list(_LOCKS):
        lock._at_fork_reinit()
    if sys.version_info < (3, 12):  # where each has a lock
        for lock in _locks_of_properties():
            lock._at_fork_reinit()


def _locks_of_properties() -> list[Any]:
    names = [x for x in sys.modules if x.partition(".")[0] == "taut"]
    classes = {x for name in names for x in vars(sys.modules[name]).values() if isinstance(x, type)}
    members = [member for x in classes for member in vars(x).values()]
    return [getattr(x, "lock") for x in members if isinstance(x, cached_property)]  # noqa: B009


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=before, after_in_parent=after, after_in_child=after_in_child)
