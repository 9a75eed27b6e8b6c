"""One thread at a time builds graphs, none waits for the end of an object, forks wait for all."""

import os
import subprocess
import sys
import threading

import casadi as ca
import numpy as np
import pytest

from taut.kernel import graph_lock

MANY = """
import os, sys, threading
if sys.argv[1] == "locked":
    from taut.kernel import forks
import casadi as ca

stop = threading.Event()

def build():
    while not stop.is_set():
        x = y = ca.SX.sym("x", 3)
        for _ in range(5):
            y = ca.vertcat(2.5 * ca.sin(y) + 1, ca.jacobian(ca.dot(y, y), x).T)[:6]
        ca.Function("f", [x], [y])

threads = [threading.Thread(target=build) for _ in range(4)]
for thread in threads:
    thread.start()
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        x = ca.SX.sym("x", 4)
        ca.jacobian(ca.dot(x, x), x)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
stop.set()
for thread in threads:
    thread.join()
print("all came back")
"""


WAIT = 0.2  # seconds in which a thread that has nothing to wait for is done


class Held:
    """The lock, in another thread, until it is given back."""

    def __init__(self):
        self.taken, self.over = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.hold)
        self.thread.start()
        assert self.taken.wait(60)

    def hold(self):
        graph_lock.acquire()
        self.taken.set()
        self.over.wait(60)
        graph_lock.release()

    def give_back(self):
        self.over.set()
        self.thread.join()


@pytest.fixture
def x():
    return ca.SX.sym("x")


@pytest.fixture
def f(x):
    return ca.Function("f", [x], [ca.sin(x)])


@pytest.mark.parametrize(
    "build",
    [
        lambda x, f: ca.SX.sym("z"),
        lambda x, f: x * 2,
        lambda x, f: ca.jacobian(ca.sin(x), x),
        lambda x, f: ca.Function("g", [x], [x]),
        lambda x, f: f(x),
        lambda x, f: f.call({"i0": x}),
        lambda x, f: x.shape,
    ],
    ids=["symbol", "product", "derivative", "function", "call", "named", "shape"],
)
def test_one_thread_at_a_time_builds(build, x, f):
    held, done = Held(), threading.Event()
    thread = threading.Thread(target=lambda: (build(x, f), done.set()))
    thread.start()
    waited = not done.wait(WAIT)
    held.give_back()
    thread.join()
    assert waited
    assert done.is_set()


def test_functions_of_numbers_wait_for_nobody(f):
    held, found = Held(), []
    thread = threading.Thread(target=lambda: found.append(float(f(0.5))))
    thread.start()
    thread.join(30)  # seconds: less than the lock is held
    at_once = list(found)
    held.give_back()
    thread.join()
    assert at_once == [np.sin(0.5)]


def test_objects_end_without_waiting_and_are_destroyed_later(x):
    made = [x + k for k in range(5)]
    held = Held()
    try:
        made.clear()  # would hang
        assert len(graph_lock._ENDED) == 5
    finally:
        held.give_back()
    assert x.is_symbolic()
    assert not graph_lock._ENDED


def test_what_nobody_is_in_ends_at_once(x):
    made = [x + 1]
    made.clear()
    assert not graph_lock._ENDED


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_children_of_forks_while_graphs_are_built():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MANY, "locked"],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "all came back\n"), done.stderr
