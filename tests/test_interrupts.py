"""Ctrl-C and SIGTERM at every stage of a run."""

import importlib
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from multiprocessing import get_context

import numpy as np
import pytest

import taut
from taut import interrupts

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals")
x, y = taut.coordinates("x y")
PENDULUM = taut.System([x, y], mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1])
START = {"q0": [1, 0], "v0": 0, "step": 0.01}
BOTH = (signal.SIGINT, signal.SIGTERM)
driver = importlib.import_module("taut.march.simulate")


@pytest.fixture(autouse=True)
def handlers():
    """Nobody else hears, before and after."""
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert interrupts._now is None


def sends(number):
    """Something to be called that sends a signal the first time."""
    left = [number]

    def called(*_, **__):
        if left:
            signal.raise_signal(left.pop())

    return called


def before(monkeypatch, name, act):
    """Let something happen whenever a function of the driver is called."""
    function = getattr(driver, name)

    def called(*args, **given):
        act()
        return function(*args, **given)

    monkeypatch.setattr(driver, name, called)


def interrupted(call):
    with pytest.raises(taut.Interrupted) as caught:
        call()
    return caught.value


@pytest.mark.parametrize("number", BOTH)
def test_between_states(number):
    error = interrupted(
        lambda: taut.simulate(PENDULUM, **START, duration=300, progress=sends(number))
    )
    made = int(error.partial.ending.steps[0])
    assert 0 < made < 30_000
    assert error.signal == number
    assert error.partial.ended_early == error.what == f"interrupted at t = {made * 0.01:g}"
    whole = taut.simulate(PENDULUM, **START, duration=made * 0.01 + 1)
    np.testing.assert_array_equal(error.partial.continue_(1).q, whole.q)


class Ending:
    """Something whose end is interrupted."""

    def __init__(self, error):
        self.error = error

    def __del__(self):
        raise self.error


def test_where_an_object_ends_a_signal_waits(monkeypatch):
    """Python drops what is raised there, and would say so; other errors are said."""
    said = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: said.append(what.exc_type))
    hook = sys.unraisablehook

    class Interrupted:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    def ends():
        Ending(ValueError())
        Interrupted()

    before(monkeypatch, "workshop", ends)
    error = interrupted(lambda: taut.simulate(PENDULUM, **START, duration=1))
    assert error.signal == signal.SIGINT
    assert len(error.partial) == 1
    assert set(said) == {ValueError}
    assert sys.unraisablehook is hook


@pytest.mark.parametrize("number", BOTH)
@pytest.mark.parametrize("stage", ["prepare", "_kind", "workshop"])
def test_before_there_are_states(monkeypatch, stage, number):
    before(monkeypatch, stage, sends(number))
    error = interrupted(lambda: taut.simulate(PENDULUM, **START, duration=1))
    assert error.what == "interrupted before the first step: nothing had been computed"
    assert error.partial is None
    assert error.signal == number


@pytest.mark.parametrize("number", BOTH)
def test_when_all_steps_have_been_made(monkeypatch, number):
    """A run that is complete is not lost, and the signal is not, either."""
    whole = taut.simulate(PENDULUM, **START, duration=1)
    before(monkeypatch, "_check_dropped", sends(number))
    error = interrupted(lambda: taut.simulate(PENDULUM, **START, duration=1))
    assert error.what == "interrupted when all steps had been made"
    np.testing.assert_array_equal(error.partial.q, whole.q)
    assert error.partial.ended_early == ""
    assert error.signal == number


def test_in_the_last_steps():
    """What was asked for in the last chunk is not forgotten because it was the last."""
    error = interrupted(
        lambda: taut.simulate(PENDULUM, **START, duration=0.01, progress=sends(signal.SIGINT))
    )
    assert error.partial.t[-1] == 0.01


def test_a_signal_that_is_lost_on_the_way_is_heard_later(monkeypatch):
    """Exceptions in callbacks of C are printed and ignored."""

    send = sends(signal.SIGINT)

    def lost():
        with suppress(KeyboardInterrupt):
            send()

    before(monkeypatch, "_kind", lost)
    error = interrupted(lambda: taut.simulate(PENDULUM, **START, duration=300))
    assert error.partial.t[-1] < 300
    assert len(error.partial.continue_(1)) > 100


def test_going_on_keeps_what_there_was(monkeypatch):
    run = taut.simulate(PENDULUM, **START, duration=1)
    before(monkeypatch, "workshop", sends(signal.SIGINT))
    assert interrupted(lambda: run.continue_(1)).partial is run


def test_a_second_signal_forces():
    def twice(*_):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    beam = taut.Beam(1, taut.Square(0.05), density=1e3, young=1e7, poisson=0.3, nodes=5)
    for model, given in ((PENDULUM, START), (beam, {"step": 1e-4})):
        with pytest.raises(KeyboardInterrupt, match="nothing was kept") as caught:
            taut.simulate(model, **given, duration=300, progress=twice)
        assert not isinstance(caught.value, taut.Interrupted)


@pytest.mark.parametrize("number", BOTH)
def test_beams(number):
    beam = taut.Beam(1, taut.Square(0.05), density=1e3, young=1e7, poisson=0.3, nodes=5)
    error = interrupted(
        lambda: taut.simulate(beam, duration=300, step=1e-4, progress=sends(number))
    )
    assert error.signal == number
    assert 0 < error.partial.t[-1] < 300
    assert error.partial.continue_(1e-3).t[-1] > error.partial.t[-1]


def test_while_a_step_is_chosen(monkeypatch):
    """A trial is not the run that was asked for."""
    before(monkeypatch, "_check_dropped", sends(signal.SIGINT))
    error = interrupted(
        lambda: taut.simulate(PENDULUM, q0=[1, 0], v0=0, duration=10, tolerance=1e-6)
    )
    assert error.what.startswith("interrupted while the step was chosen")
    assert error.partial is None


@pytest.mark.parametrize("number", BOTH)
def test_handlers_of_the_users_are_left_alone(number):
    heard = []
    old = signal.signal(number, lambda *_: heard.append(1))
    try:
        run = taut.simulate(PENDULUM, **START, duration=1, progress=sends(number))
    finally:
        signal.signal(number, old)
    assert heard == [1]
    assert run.t[-1] == 1


def test_workers_of_a_pool_end_at_once(monkeypatch):
    """Whoever has made them terminates them, and joins them."""
    monkeypatch.setattr(interrupts, "_worker", lambda: True)
    seen = []
    taut.simulate(
        PENDULUM, **START, duration=1, progress=lambda *_: seen.append(signal.getsignal(15))
    )
    assert set(seen) == {signal.SIG_DFL}


def test_who_is_a_worker():
    """A process that `multiprocessing` has started, as it says itself."""
    with get_context("spawn").Pool(1) as pool:
        assert pool.apply(interrupts._worker) is True
    assert interrupts._worker() is False


def test_a_call_inside_another_leaves_it_as_it_was():
    """Whether a signal waits there, whatever became of the call."""
    with interrupts.listening(waits=False):
        taut.simulate(PENDULUM, **START, duration=0.1)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)  # does not wait
        interrupts._now.asked = 0
    with interrupts.listening() as hearing:
        with pytest.raises(taut.InputError):
            taut.simulate(PENDULUM, **START, duration=-1)
        signal.raise_signal(signal.SIGINT)  # waits
        hearing.asked = 0


@pytest.mark.parametrize("number", BOTH)
def test_a_signal_at_the_very_end_is_not_lost(number):
    """After the last look, and before the handlers are what they were."""
    heard = []
    with interrupts.listening() as hearing:
        # Whoever hears it then is not taut: this test, since nobody survives SIGTERM.
        hearing.before = {x: lambda *x: heard.append(x[0]) for x in BOTH}
        signal.raise_signal(number)
        for known in BOTH:
            signal.signal(known, hearing.before[known])
    assert heard == [number]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_a_second_sigterm_ends_the_process():
    """As it does everywhere else."""
    code = (
        "import signal\nfrom taut.interrupts import listening\n"
        "with listening():\n"
        "    signal.raise_signal(signal.SIGTERM)\n"
        "    print('first', flush=True)\n"
        "    signal.raise_signal(signal.SIGTERM)\n"
        "    print('second')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("first\n", -signal.SIGTERM)


def test_other_threads_hear_nothing():
    seen = []

    def work():
        taut.simulate(
            PENDULUM, **START, duration=1, progress=lambda *_: seen.append(signal.getsignal(2))
        )

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert set(seen) == {signal.default_int_handler}


# ---- what may not be left half-way --------------------------------------------------------------

BROKEN = """
import faulthandler, signal, sys, threading
import numpy as np
from llvmlite.binding import ffi
from taut.interrupts import listening
from taut.kernel.native import Native, object_code
from taut.kernel.singular import _all_orthogonal

faulthandler.dump_traceback_later(60, exit=True)  # a lock that nobody gives back
stage, heard = sys.argv[1:]
said = ""


def code(number):
    return object_code(f"define i64 @f() {{ ret i64 {number} }}")


def numba(kind):
    _all_orthogonal(np.eye(2, dtype=kind)[None], np.eye(2, dtype=kind)[None])


lock, dispose = type(ffi.lib._lock), ffi.lib.LLVMPY_DisposeString
enter, call = lock.__enter__, type(dispose).__call__
armed = []


def entered(self):
    enter(self)
    hit("lock")


def called(self, *args, **given):
    answer = call(self, *args, **given)
    if self is dispose and args[0].value:
        hit("free")
    return answer


def hit(where):
    global said
    if armed and (where == "free") == (stage == "free"):
        armed.clear()
        signal.raise_signal(signal.SIGINT)
        said = "waited"


lock.__enter__, type(dispose).__call__ = entered, called
modules = [Native(code(1))]
acts = {"lock": lambda: code(2), "free": lambda: code(2), "numba": lambda: numba(np.float64),
        "end": lambda: (modules.clear(), code(3))}
armed.append(1)
try:
    if heard == "heard":
        with listening(waits=False):
            acts[stage]()
            said = "went on"
    else:
        acts[stage]()
        said = "went on"
except KeyboardInterrupt:
    said += ", then interrupted"
assert not armed
thread = threading.Thread(target=lambda: (code(4), numba(np.float32)))
thread.start()
thread.join()
print(said)
"""


@pytest.mark.parametrize(
    ("stage", "heard"),
    [(x, y) for x in ("lock", "free", "numba") for y in ("heard", "nobody hears")]
    + [("end", "heard")],
)
def test_compilers_are_not_left_half_way(tmp_path, stage, heard):
    """A signal after llvmlite took its lock, or gave memory back: heard when LLVM has been left.

    Half-way, all other threads wait for ever, or memory is freed twice and the process aborted.
    """
    (tmp_path / "numba").mkdir(mode=0o700)
    done = subprocess.run(
        [sys.executable, "-c", BROKEN, stage, heard], capture_output=True, text=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "numba"), "TAUT_CACHE_DIR": os.devnull},
    )  # fmt: skip
    assert done.stdout == "waited, then interrupted\n", done.stderr
    assert done.returncode == 0
