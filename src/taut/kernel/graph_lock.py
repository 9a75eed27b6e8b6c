"""One thread at a time in CasADi.

CasADi lets other Python threads run while it works (from 3.7 on), but nodes that all graphs share,
such as the constants 0 and 1, are counted without a lock: two threads that build graphs of their
own end, sooner or later, in a segmentation fault.  And a fork in the middle of a call leaves the
child with a lock of CasADi's that nobody gives back.

So each call, and each end of an object that holds nodes, has the lock of this module; only
functions of numbers are evaluated side by side, which is safe.  It is put in place where Python
meets C++, in `casadi._casadi`, and holds for everybody in the process: taut's own modules, and a
user's.

The lock is a leaf: whoever has it waits for nobody.  Objects end whenever the garbage collector
runs, under any other lock; they never wait either: what cannot end now is left to the next call.
"""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import casadi as ca
from casadi import casadi as wrappers

_LOCK = threading.RLock()
_ENDED: deque[Any] = deque()  # what is to be destroyed by the next that has the lock
_NODES = (ca.SX, ca.MX)  # what is made of shared nodes
_NUMERIC = ("FunctionBuffer", "DM_", "GenDM_", "new_DM", "delete_")  # numbers, and ends of objects


def acquire() -> None:
    """Wait until nobody is in CasADi, and let nobody in."""
    _LOCK.acquire()


def release() -> None:
    """Let others in."""
    _LOCK.release()


def _alone(call: Callable[..., Any]) -> Callable[..., Any]:
    """A call that has the lock."""

    @functools.wraps(call)
    def locked(*args: Any, **names: Any) -> Any:
        with _LOCK:
            if _ENDED:
                _ENDED.clear()
            return call(*args, **names)

    return locked


def _evaluated(call: Callable[..., Any]) -> Callable[..., Any]:
    """A call of a function: it has the lock where its arguments are expressions."""
    alone = _alone(call)

    @functools.wraps(call)
    def chosen(*args: Any, **names: Any) -> Any:
        given = args[1] if len(args) > 1 else ()
        values = given.values() if isinstance(given, dict) else given
        symbolic = any(isinstance(x, _NODES) for x in values)
        return (alone if symbolic else call)(*args, **names)

    return chosen


def __del__(self: Any) -> None:
    """Destroy what this object holds, if nobody is in CasADi; else leave it to the next call."""
    held = self.__dict__.pop("this", None)
    if held is None or _LOCK is None:  # at the end of the process modules are emptied
        return
    if _LOCK.acquire(blocking=False):
        try:
            del held
        finally:
            _LOCK.release()
    else:
        _ENDED.append(held)


def _install() -> None:
    """Once, and before anything is built."""
    module = vars(wrappers)["_casadi"]
    for name, call in list(vars(module).items()):
        if not callable(call) or name.startswith(_NUMERIC):
            continue
        setattr(module, name, _evaluated(call) if name == "Function_call" else _alone(call))
    for kind in (*_NODES, ca.Function):
        kind.__del__ = __del__  # type: ignore[attr-defined]


_install()
