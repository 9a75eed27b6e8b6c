"""The progress bar: what it counts, what it says, and that there is one."""

import pytest

from taut.progress import Progress


def test_a_callable_is_told():
    told = []
    with Progress(lambda *x: told.append(x), 5, "model") as bar:
        bar.say("first", 3)
        bar.add(3)
        bar.expect(1)
        bar.add(3)
    assert told == [(3, 5), (6, 6)]


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
