"""Ctrl-C and SIGTERM while something is computed.

While states are made they are heard between two states, so that all are whole: what there is comes
with `Interrupted`, and a run goes on from it bit by bit.  Before there are states, and after a
second signal, they break in at once.  Only the main thread hears, and only where nobody else does:
a handler of the user's is left alone, and so is SIGTERM in a worker process of ``multiprocessing``,
which has nobody to catch anything.  In the end the signals have the handlers that they had.

What may not be left half-way is `unbroken`: an error between two lines of whoever calls LLVM frees
memory twice, or keeps a lock for ever.  There every signal waits until the section is over.

Where an object ends, and in callbacks of LLVM, Python drops what is raised.  Then the signal counts
as one that waits: it is heard after the next such section, before the first state, or when the call
is over.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from types import FrameType
from typing import Any, TypeVar, cast

from taut.errors import Interrupted

Function = TypeVar("Function", bound=Callable[..., Any])


class Forced(KeyboardInterrupt):
    """A second Ctrl-C: what is under way is given up."""


@dataclass
class _Hearing:
    """What has been heard since taut was called."""

    before: dict[int, Any]
    waits: bool = True  # whether a signal waits until states are whole, or until it is asked for
    whole: bool = False  # whether what is under way may not be left half-way
    asked: int = 0  # the first signal
    forced: bool = False  # whether there has been a second one
    due: bool = False  # whether nothing has been raised since the last one
    told: bool = False  # whether an error has come of it
    stop: Callable[[], None] | None = None

    def heard(self, number: int, frame: FrameType | None) -> None:
        self.due = True
        if self.asked:
            for known, handler in self.before.items():
                signal.signal(known, handler)
            if number != signal.SIGINT:
                os.kill(os.getpid(), number)
            self.forced = True
        else:
            self.asked = number
        # What is raised where an object ends is dropped, and breaks the end off.
        if not _ends(frame):
            self.answer()

    def answer(self) -> None:
        """Raise what is due, or ask for the end, if that may be now."""
        if self.whole or not self.due:
            return
        if self.forced or not self.waits:
            self.due = False
            raise Forced if self.forced else KeyboardInterrupt
        if self.stop is not None:
            self.stop()


def _ends(frame: FrameType | None) -> bool:
    """Whether an object is ending."""
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


_now: _Hearing | None = None  # of the main thread


def _main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _worker() -> bool:
    """Whether this is a process of a pool: whoever has made it ends it by SIGTERM."""
    known = sys.modules.get("multiprocessing.process")
    return known is not None and known.parent_process() is not None


@contextmanager
def listening(*, waits: bool = True) -> Iterator[_Hearing]:
    """Hear signals; inside of another `listening` nothing is changed."""
    global _now
    if not _main() or _now is not None:
        yield (_now if _main() else None) or _Hearing({})
        return
    free: dict[int, Any] = {signal.SIGINT: signal.default_int_handler}
    if not _worker():
        free[signal.SIGTERM] = signal.SIG_DFL
    before = {x: free[x] for x in free if signal.getsignal(x) is free[x]}
    hearing = _now = _Hearing(before)
    hook = sys.unraisablehook

    def dropped(what: Any) -> None:
        if not (hearing.asked and issubclass(what.exc_type, KeyboardInterrupt)):
            hook(what)

    sys.unraisablehook = dropped
    try:
        for number in before:
            signal.signal(number, hearing.heard)
        hearing.waits = waits
        yield hearing
    finally:
        hearing.waits, _now = True, None
        if sys.unraisablehook is dropped:
            sys.unraisablehook = hook
        for number, handler in before.items():
            if signal.getsignal(number) == hearing.heard:
                signal.signal(number, handler)
    if hearing.asked and not hearing.told:  # at the very end
        signal.raise_signal(hearing.asked)


@contextmanager
def unbroken() -> Iterator[None]:
    """Let signals wait until this is over; also where nobody is `listening`."""
    with listening() as hearing:
        outside, hearing.whole = hearing.whole, True
        try:
            yield
        finally:
            hearing.whole = outside
            hearing.answer()


@contextmanager
def between_states(stop: Callable[[], None] | None = None) -> Iterator[None]:
    """From here on a signal calls `stop`, or waits until the call of `interruptible` is over."""
    hearing = _now if _main() else None
    if hearing is None:
        yield
        return
    old, hearing.stop, hearing.waits = hearing.stop, stop, True
    if hearing.asked and stop is not None:
        stop()
    try:
        yield
    finally:
        hearing.stop = old


def interruptible(
    nothing: str, otherwise: Callable[..., Any] = lambda *_, **__: None
) -> Callable[[Function], Function]:
    """Let a function that returns a run be interrupted.

    Whatever it is doing, an `Interrupted` comes of it: the function's own with the run so far, one
    with all of the run if that was complete, and before there are states one that says `nothing`,
    with what `otherwise` makes of the arguments.
    """

    def made(function: Function) -> Function:
        @wraps(function)
        def listens(*args: Any, **given: Any) -> Any:
            with listening() as hearing:
                waits = hearing.waits
                try:
                    hearing.waits = False
                    if hearing.asked:
                        raise KeyboardInterrupt
                    run = function(*args, **given)
                    hearing.waits = True
                    if not hearing.asked:
                        return run
                    error = Interrupted(
                        "interrupted when all steps had been made",
                        remedy="error.partial holds the run; error.partial.continue_(…) goes on",
                        partial=run,
                    )
                except Interrupted as found:
                    error = found
                except Forced:
                    raise KeyboardInterrupt("interrupted twice: nothing was kept") from None
                except KeyboardInterrupt:
                    error = Interrupted(nothing)
                finally:
                    hearing.waits, hearing.due = waits, False
                if error.partial is None:
                    error.partial = otherwise(*args, **given)
                hearing.told, error.signal = True, hearing.asked or signal.SIGINT
                raise error

        return cast(Function, listens)

    return made
