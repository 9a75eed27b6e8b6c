"""taut against hand-written C, SciPy and heyoka, in one run on one machine: `make bench`.

Here every time is the best of several repeats, and what is compared is measured in turns, so that
other work on the machine falls on all alike. Work against precision follows (`work_precision.py`,
which also runs alone), then what corrections cost, what kept factors save, beams and mechanisms
(`corrections.py`, `kept_factors.py`, `beams.py`, `mechanisms.py`, which do, too).
`--quick` measures less of everything.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import beams
import c_rattle
import corrections
import kept_factors
import mechanisms
import numpy as np
import paste
import peers
import work_precision
from c_rattle import BARE, SAME_WORK
from pendulum import START, STEP, constraints, random_starts, taut_system
from report import Row, Tee, environment

RESULTS = Path(__file__).with_name("results") / "latest.json"
PROBE = Path(__file__).with_name("probe.py")
METHODS = ("rattle", "time-element")
RATIO, BATCH_RATIO = 1.3, 0.5  # at most, of C's time per step


@dataclass(frozen=True)
class Amounts:
    """How much is measured."""

    steps: int = 2_000_000
    repeats: int = 9
    starts: int = 4000
    batch_steps: int = 1000
    processes: int = 5
    cold_processes: int = 3
    peer_seconds: float = peers.SECONDS


QUICK = Amounts(
    steps=300_000, repeats=5, batch_steps=200, processes=3, cold_processes=1, peer_seconds=5.0
)


def interleaved(candidates, repeats):
    """All wall times of every candidate, measured in turns after one call that is not counted."""
    times = {name: [] for name in candidates}
    for call in candidates.values():
        call()
    for _ in range(repeats):
        for name, call in candidates.items():
            began = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - began)
    return times


def simulate(system, q0, steps, method, every=None):
    """taut's march of `steps` steps from rest, storing only the last state unless told."""
    import taut

    return taut.simulate(
        system,
        q0=q0,
        v0=np.zeros_like(q0),
        duration=steps * STEP,
        step=STEP,
        every=every or steps,
        method=method,
        laws=None,
    )


def scalar_rows(system, c, amounts):
    """ns per step of one pendulum, and the ratio of taut to C; also the noise of the run."""
    steps = amounts.steps
    calls = {f"C RATTLE, {name}": lambda run=run: run(START, steps) for name, run in c.items()}
    for method in METHODS:
        calls[f"taut {method}"] = lambda method=method: simulate(system, START, steps, method)
    times = interleaved(calls, amounts.repeats)
    best = {name: min(walls) / steps * 1e9 for name, walls in times.items()}
    rows = [Row(f"{name}, per step", value, "ns") for name, value in best.items()]
    for method in METHODS if c else ():
        for variant, said in ((SAME_WORK, "C doing the same work"), (BARE, "bare C")):
            ratio = best[f"taut {method}"] / best[f"C RATTLE, {variant}"]
            rows.append(Row(f"taut {method} ÷ {said}", ratio, "×", RATIO))
    noise = max(statistics.median(walls) / min(walls) for walls in times.values())
    return rows, noise


def batch_rows(system, c, amounts):
    """ns per trajectory-step of many starts on one core, against C on the same starts in turn."""
    starts, steps = random_starts(amounts.starts), amounts.batch_steps
    calls = {f"taut {m}": lambda m=m: simulate(system, starts, steps, m) for m in METHODS}
    for name in (BARE, SAME_WORK) if c else ():
        calls[f"C RATTLE, {name}"] = lambda name=name: c[name](starts, steps)
    times = interleaved(calls, amounts.repeats)
    best = {name: min(walls) / (len(starts) * steps) * 1e9 for name, walls in times.items()}
    rows = [Row(f"{name}, per step of each", value, "ns") for name, value in best.items()]
    for method in METHODS if c else ():
        for variant, said in ((SAME_WORK, "C doing the same work"), (BARE, "bare C")):
            ratio = best[f"taut {method}"] / best[f"C RATTLE, {variant}"]
            rows.append(Row(f"batch, taut {method} ÷ {said}", ratio, "×", BATCH_RATIO))
    return rows


def accuracy_rows(system, c, steps=1000):
    """That both solve the same equations to the same residual, over the first `steps` steps."""
    rows = []
    for method in METHODS:
        run = simulate(system, START, steps, method, every=1)
        worst = np.abs(constraints(run.q)).max()
        rows.append(Row(f"taut {method}, max |g| over {steps} steps", worst, "", 2e-15))
        if c:
            apart = np.abs(run.q[-1] - c[SAME_WORK](START, steps).q[0]).max()
            rows.append(Row(f"taut {method} − C, max |Δq| after {steps} steps", apart, "", 1e-11))
    if c:
        out = c[SAME_WORK](START, steps)
        rows.append(Row(f"C RATTLE, max |g| over {steps} steps", out.max_g[0], ""))
        rows.append(Row("C RATTLE, Newton iterations per step", out.newton[0] / steps, ""))
    return rows


def taut_peer(system, seconds):
    """taut's RATTLE, every state kept, as a line of the table of solvers."""
    steps = round(seconds / STEP)
    wall = min(interleaved({"": lambda: simulate(system, START, steps, "rattle", 1)}, 5)[""])
    run = simulate(system, START, steps, "rattle", every=1)
    form, setting = "Cartesian", f"h = {STEP}"
    return peers.measured("taut rattle", form, setting, seconds, seconds, wall, run.q, run.v)


def overhead_row(system):
    """A repeated `simulate` of a known model, beyond its steps: here one step."""
    times = interleaved({"one step": lambda: simulate(system, START, 1, "rattle")}, 20)
    return Row("simulate of a known model, beyond its steps", min(times["one step"]) * 1e3, "ms", 5)


def _probe(name, cache):
    """Run one probe in a fresh process; its answer, and the seconds until it was there."""
    environment = os.environ | {"TAUT_CACHE_DIR": str(cache)}
    began = time.perf_counter()
    command = [sys.executable, str(PROBE), name]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        answer = process.stdout.readline()
        seconds = time.perf_counter() - began
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return float(answer), seconds


def process_rows(amounts):
    """What fresh processes cost: import, compiling the model, second start to first result."""
    with tempfile.TemporaryDirectory() as folder:
        caches = [Path(folder, f"cold{k}") for k in range(amounts.cold_processes)]
        cold = min(_probe("compile", cache)[0] for cache in caches)
        fresh = Path(folder, "fresh")
        _, first = _probe("result", fresh)
        second = min(_probe("result", fresh)[1] for _ in range(amounts.processes))
        imported = min(_probe("import", fresh)[0] for _ in range(amounts.processes))
    return [
        Row("compile this model, cold", cold, "s", 0.2),
        Row("import taut", imported, "s", 0.7),
        Row("first process ever, start to first result", first, "s"),
        Row("second process, start to first result", second, "s", 1.5),
    ]


def show(rows):
    """Print rows, and hand them back."""
    print(*rows, sep="\n", end="\n\n", flush=True)
    return rows


def bench(amounts, c, gcc):
    """Measure and print everything; returns what `latest.json` holds."""
    where = environment(gcc=gcc)
    print(" · ".join(f"{key} {value}" for key, value in where.items()))
    print("Planar double pendulum of Zhong & Gao, Cartesian, 4 coordinates, 2 constraints,")
    print(f"h = {STEP}. Best of {amounts.repeats} repeats; compensated + monitored is taut's work.")
    if not c:
        print("gcc was not found: the C rows and every ratio to C are left out.")
    print(f"\n{'':<62}{'measured':>9} {'':<4}{'target':>9}")
    system = taut_system()
    rows, noise = scalar_rows(system, c, amounts)
    show(rows)
    batch = f"A batch of {amounts.starts} random starts × {amounts.batch_steps} steps on one core"
    print(f"{batch}, set-up included:")
    rows += show(batch_rows(system, c, amounts))
    rows += show(accuracy_rows(system, c))
    rows += show([*process_rows(amounts), overhead_row(system)])
    solvers = [taut_peer(system, amounts.peer_seconds), *peers.measure_all(amounts.peer_seconds)]
    print(f"{amounts.peer_seconds:g} s of the same motion; SciPy at the loosest tolerance that is")
    print(f"as accurate at t = 2 as RATTLE with h = {STEP}, and at {peers.TIGHT:.0e}:\n")
    print(*peers.table(solvers), sep="\n", end="\n\n")
    judged = [row.met for row in rows if row.met is not None]
    print(f"{sum(judged)} of {len(judged)} targets met; noise (median ÷ best) {noise:.2f}.")
    if amounts == QUICK:
        print("Of so few steps setting up is a large part: the targets are meant for a full run.")
    return {
        "environment": where,
        "noise": noise,
        "rows": [asdict(row) | {"met": row.met} for row in rows],
        "solvers": [asdict(peer) for peer in solvers],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="measure less of everything")
    parser.add_argument("--paste", action="store_true", help="and put it into README and docs")
    options = parser.parse_args()
    if options.quick and options.paste:
        parser.error("a quick run is not for the documentation")
    amounts = QUICK if options.quick else Amounts()
    os.environ["TAUT_THREADS"] = "1"  # read when taut is imported
    gcc = c_rattle.compiler()
    printed = Tee()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
        results = bench(amounts, c_rattle.build(folder) if gcc else {}, gcc)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2, default=float) + "\n")
    if options.paste:
        paste.into_the_docs(printed.getvalue(), results)
    print("\nWork against precision\n")
    work_precision.run(options.quick, options.paste)
    print("\nWhat a correction costs, as a share of the step\n")
    corrections.run(options.quick, options.paste)
    kept_factors.run(options.quick, options.paste)
    print("\nBeams\n")
    beams.run(options.quick, options.paste)
    print("\nMechanisms\n")
    mechanisms.run(options.quick, options.paste)


if __name__ == "__main__":
    main()
