"""As a script: children are made while other threads compile; each runs a system and a beam."""

import os
import sys
import threading
import warnings

import roads

import taut

CHILDREN = 6


def compile_on(stop, first):
    """Models that nobody has seen, one after the other."""
    number = first
    while not stop.is_set():
        number += 1
        model = roads.pendulum(forces=[roads.x**3 / number, 0])
        taut.simulate(model, **roads.START)
        taut.simulate(roads.beam(5 + number % 9), duration=4e-4, step=2e-4)


def child(number):
    """Something old, and something that must be compiled."""
    roads.fused()
    model = roads.pendulum(forces=[0, roads.y**3 / (7 + number)])
    run = taut.simulate(model, **roads.START)
    assert run.certificate is not None
    taut.simulate(roads.beam(5 + number % 9), duration=4e-4, step=2e-4)


def main():
    roads.fused(), roads.explicit()  # loops are there
    stop = threading.Event()
    threads = [threading.Thread(target=compile_on, args=(stop, 1000 * k)) for k in (1, 2)]
    for thread in threads:
        thread.start()
    codes = []
    for number in range(CHILDREN):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                child(number)
                code = 0
            finally:
                sys.stderr.flush()
                os._exit(code)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    stop.set()
    for thread in threads:
        thread.join()
    return "all came back" if codes == [0] * CHILDREN else f"exit codes {codes}"


if __name__ == "__main__":
    warnings.simplefilter("ignore", DeprecationWarning)  # threads, and a fork
    print(main())
