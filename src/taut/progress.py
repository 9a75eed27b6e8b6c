"""A progress bar on long work in a terminal; quiet everywhere else."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from taut.errors import InputError, ProgressError, brief

PATIENCE = 1.0  # seconds before a bar appears


def check_wish(wish: Any) -> None:
    """Whether ``progress=`` can be used."""
    if wish is not None and not isinstance(wish, bool) and not callable(wish):
        raise InputError(
            "progress cannot be used",
            expected="True, False, None or a function progress(done, total)",
            received=brief(wish),
        )


class Progress:
    """Counts steps and shows them.

    While one is under way, those that begin inside it show nothing: a terminal has one bar.

    Parameters
    ----------
    wish : None, bool or callable(done, total)
        None: a bar after a second, if standard error is a terminal.
    total : int
    model : object
    label : str
        What is being done.
    """

    def __init__(self, wish: Any, total: int, model: object, label: str = "simulating") -> None:
        check_wish(wish)
        self._call: Callable[[int, int], object] | None = wish if callable(wish) else None
        self._show = (
            bool(wish) if isinstance(wish, bool) else (wish is None and sys.stderr.isatty())
        )
        self._patience = 0.0 if wish is True else PATIENCE
        self._total, self._done = total, 0
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()
        self._begin = time.perf_counter()
        self._model, self._label = str(model), label

    _outer: ClassVar[Progress | None] = None

    def __enter__(self) -> Progress:
        if Progress._outer is None:
            Progress._outer = self
        else:
            self._show = False
        return self

    def expect(self, steps: int) -> None:
        """`steps` more are to be made than was said."""
        with self._lock:
            self._total += steps

    def say(self, label: str, seconds: float = 0.0) -> None:
        """What comes next; a bar appears at once if it will take long."""
        with self._lock:
            self._label = label
            waited = time.perf_counter() - self._begin
            if self._bar is None and self._show and waited + seconds >= self._patience:
                self._open()
            if self._bar is not None:
                self._bar.update(self._task, description=label, completed=self._done)

    def add(self, steps: int) -> None:
        """`steps` more have been made."""
        with self._lock:
            self._done += steps
            if self._call is not None:
                self._tell(self._call)
            if self._show and time.perf_counter() - self._begin >= self._patience:
                bar = self._bar or self._open()
                bar.update(self._task, completed=self._done, total=self._total)

    def _tell(self, call: Callable[[int, int], object]) -> None:
        """Ask a function of the user; one that fails ends the work, and what there is is kept."""
        try:
            call(self._done, self._total)
        except Exception as error:
            self._call = None
            raise ProgressError(
                "the function progress(done, total) failed", received=brief(error)
            ) from error

    def _open(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, Progress as Bar, TextColumn, TimeRemainingColumn

        self._bar = Bar(
            TextColumn("[progress.description]{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task(self._label, total=self._total)
        return self._bar

    def __exit__(self, *_: object) -> None:
        if Progress._outer is self:
            Progress._outer = None
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def waiting(wish: Any, what: str) -> Iterator[None]:
    """Say what is being waited for, if it takes more than a second, and take it back at the end.

    Parameters
    ----------
    wish : None, bool or callable
        As of `Progress`: None says it in a terminal, where no bar is under way.
    what : str
        One line.
    """
    check_wish(wish)
    stream = sys.stderr
    asked = wish is True or (wish is None and stream.isatty())
    if not asked or Progress._outer is not None:
        yield
        return
    lock, said, over = threading.Lock(), threading.Event(), threading.Event()

    def say() -> None:
        with lock:
            if not over.is_set():
                said.set()
                stream.write(f"\r{what} …")
                stream.flush()

    timer = threading.Timer(PATIENCE, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with lock:
            over.set()
            if said.is_set():
                stream.write("\r" + " " * (len(what) + 2) + "\r")
                stream.flush()
