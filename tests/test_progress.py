"""The progress bar: what it counts, what it says, and that there is one."""

import io
import time
from types import SimpleNamespace

import numpy as np
import pytest

import taut
from taut import progress
from taut.march.run import Run
from taut.progress import Progress, waiting


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    made = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=made))
    monkeypatch.setattr(progress, "PATIENCE", 0.02)
    return made


def until(told, what):
    """Wait for a text."""
    for _ in range(500):
        if what in told.getvalue():
            return
        time.sleep(0.01)
    raise AssertionError(told.getvalue())


def test_a_callable_is_told():
    told = []
    with Progress(lambda *x: told.append(x), 5, "model") as bar:
        bar.say("first", 3)
        bar.add(3)
        bar.expect(1)
        bar.add(3)
    assert told == [(3, 5), (6, 6)]


def test_one_that_fails_ends_the_work_and_nothing_is_lost():
    (x,) = taut.coordinates("x,")
    spring = taut.System([x], mass=1, potential=x**2 / 2)

    def fails(done, total):
        raise ZeroDivisionError("in the user's function")

    settings = {"q0": [1], "v0": 0, "duration": 1, "step": 0.1, "laws": None}
    with pytest.raises(taut.ProgressError) as caught:
        taut.simulate(spring, **settings, progress=fails)
    assert "ZeroDivisionError" in caught.value.received
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    partial = caught.value.partial
    assert len(partial) > 1
    whole = taut.simulate(spring, **settings)
    assert np.array_equal(partial.q, whole.q[: len(partial)])


@pytest.mark.parametrize("wish", ["yes", 1, [], np.ones(2)])
def test_a_wish_that_is_none(wish):
    with pytest.raises(taut.InputError, match="progress cannot be used"):
        Progress(wish, 1, "model")
    with pytest.raises(taut.InputError, match="progress cannot be used"), waiting(wish, "it"):
        pass


def test_the_bar_says_what_is_done():
    with Progress(True, 5, "model", "starting") as bar:
        assert bar._bar is None
        bar.say("zg: figures", 3)
        (task,) = bar._bar.tasks
        assert (task.description, task.completed, task.total) == ("zg: figures", 0, 5)
        bar.add(3)
        bar.say("cq: figures")
        assert (task.description, task.completed) == ("cq: figures", 3)
    assert not bar._bar.live.is_started


def test_where_there_is_no_terminal_nothing_is_shown(capsys):
    with Progress(None, 5, "model") as bar:
        bar.say("long", 100)
        bar.add(5)
    assert bar._bar is None
    assert capsys.readouterr() == ("", "")


def test_inside_another_one_a_bar_stays_quiet_and_still_counts():
    told = []
    with Progress(True, 5, "outer") as outer:
        outer.say("first", 3)
        with Progress(True, 2, "inner") as inner, Progress(lambda *x: told.append(x), 2, "") as it:
            inner.say("second", 3)
            inner.add(2)
            it.add(2)
        assert inner._bar is None
        assert outer._bar is not None
    assert told == [(2, 2)]
    with Progress(True, 2, "afterwards") as free:
        free.say("third", 3)
        assert free._bar is not None


def test_an_error_frees_the_terminal():
    with pytest.raises(ZeroDivisionError), Progress(True, 1, "model"):
        _ = 1 / 0
    assert Progress._outer is None


def test_what_is_waited_for_is_said_and_taken_back(terminal):
    with waiting(None, "compiling"):
        until(terminal, "\rcompiling …")
    shown = terminal.getvalue().split("\r")
    assert shown == ["", "compiling …", " " * 11, ""]


def test_what_does_not_take_long_is_not_said(terminal, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    with waiting(None, "compiling"):
        pass
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("wish", [False, lambda done, total: None])
def test_who_does_not_want_to_know_is_not_told(terminal, wish):
    with waiting(wish, "compiling"):
        time.sleep(0.1)
    assert terminal.getvalue() == ""


def test_beside_a_bar_nothing_is_said(terminal):
    with Progress(None, 5, "outer"), waiting(None, "compiling"):
        time.sleep(0.1)
    assert "compiling" not in terminal.getvalue()


def test_where_there_is_no_terminal_waiting_is_silent(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    stream = io.StringIO()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    with waiting(None, "compiling"):
        time.sleep(0.1)
    assert stream.getvalue() == ""


def test_an_error_while_waiting_frees_the_line(terminal):
    def fail():
        until(terminal, "compiling")
        return 1 / 0

    with pytest.raises(ZeroDivisionError), waiting(None, "compiling"):
        fail()
    assert terminal.getvalue().endswith(" \r")


def test_a_first_call_says_what_it_compiles(terminal, monkeypatch):
    """A step that takes its time to compile."""
    x, y = taut.coordinates("x y")
    system = taut.System([x, y], mass=[1, 3], potential=y * x**4 / 7)
    original = Run.begin

    def slow(self, start):
        until(terminal, "compiling rattle for 2 coordinates, 0 constraints …")
        original(self, start)

    monkeypatch.setattr(Run, "begin", slow)
    taut.simulate(system, q0=[1, 0], v0=0, duration=1, step=0.1)
    assert terminal.getvalue().endswith(" \r")
