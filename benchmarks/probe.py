"""What one fresh process costs; `run.py` starts this file as a subprocess.

`python benchmarks/probe.py import`   prints the seconds `import taut` takes
`python benchmarks/probe.py compile`  prints the seconds from System to the first compiled step
`python benchmarks/probe.py result`   prints a first result; the caller takes the time
`python benchmarks/probe.py chain points 100`  prints the seconds from a Mechanism to its first step
"""

from __future__ import annotations

import sys
import time


def import_seconds():
    """Seconds of `import taut` in a process that has imported nothing else."""
    began = time.perf_counter()
    import taut  # noqa: F401

    return time.perf_counter() - began


def compile_seconds():
    """Seconds from System to the first compiled step, when neither is in any cache.

    Another model (the single pendulum) is run first, so that everything taut imports on demand
    and the loops that are the same for every model are there, and only the model is compiled.
    """
    from pendulum import START, STEP, taut_system

    import taut

    x, y = q = taut.coordinates("x y")
    single = taut.System(q, mass=[1, 1], potential=-10 * y, constraints=[x**2 + y**2 - 1])
    options = {"duration": STEP, "step": STEP, "method": "rattle", "laws": None}
    taut.simulate(single, q0=[1.0, 0.0], v0=[0.0, 0.0], **options)

    began = time.perf_counter()
    taut.simulate(taut_system(), q0=START, v0=[0.0] * 4, **options)
    return time.perf_counter() - began


def first_result():
    """Energy after one second of the double pendulum, all options as a user leaves them."""
    from pendulum import START, STEP, taut_system

    import taut

    run = taut.simulate(
        taut_system(), q0=START, v0=[0.0] * 4, duration=1.0, step=STEP, method="rattle"
    )
    return float(run.energy[-1])


def chain_seconds(kind, links):
    """Seconds from a Mechanism to its first step; what serves every model is there already."""
    from chains import Chain, Taut

    Taut(Chain(40, "points" if kind == "bodies" else "bodies")).march(1)
    chain = Taut(Chain(int(links), kind))
    began = time.perf_counter()
    chain.march(1)
    return time.perf_counter() - began


PROBES = {
    "import": import_seconds,
    "compile": compile_seconds,
    "result": first_result,
    "chain": chain_seconds,
}

if __name__ == "__main__":
    print(PROBES[sys.argv[1]](*sys.argv[2:]), flush=True)
