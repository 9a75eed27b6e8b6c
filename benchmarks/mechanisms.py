"""Chains of 10 to 1000 links in space: taut against Pinocchio, exudyn and MuJoCo at equal step.

The models are in `chains` and `chain_peers`; all start from the same state.  Time per step is that
of a long march less that of a short one, divided by the steps between them, the best of several
that take turns; so what a call costs beyond its steps is not counted, whoever makes it.  It is the
processor's time, which other work on the machine disturbs least.
`python benchmarks/mechanisms.py` runs alone, `make bench` runs it, too.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import chain_peers
import numpy as np
import paste
from chains import KINDS, STEP, Chain, Taut
from report import Row, Tee, command, environment

LINKS = (10, 100, 500, 1000)
SHORT, LONG = 100, 400
PROBE = Path(__file__).with_name("probe.py")
# Memory of Pinocchio's Data grows with N³, time of a step of MuJoCo, too.
MOST = {"Pinocchio": 100, "MuJoCo": 100}
LINE = (10, 25, 50)  # links through which Pinocchio's time is continued
FEW = {("MuJoCo", 500): (1, 3), ("exudyn", 500): (20, 80), ("exudyn", 1000): (20, 60)}
SIZE = 500  # links where targets are
TARGETS = {
    "points": {"Pinocchio": 3.0, "exudyn": 20.0},
    "bodies": {"Pinocchio": 1.0, "exudyn": 5.0},
}
EXPONENT, FIRST_CALL = 1.1, 1.0


def measured(kind, links, repeats, only=None):
    """Seconds per step of everybody, or of those named, who can simulate this chain."""
    models = {}
    for make in (Taut, *chain_peers.installed()):
        if only and make.name not in only:
            continue
        if links <= MOST.get(make.name, links) or (make.name, links) in FEW:
            models[make.name] = make(Chain(links, kind))
    best = {(name, k): np.inf for name in models for k in (0, 1)}
    for _ in range(repeats):
        for name, model in models.items():
            for k, steps in enumerate(FEW.get((name, links), (SHORT, LONG))):
                model.begin()
                best[name, k] = min(best[name, k], model.march(steps))
    return {
        name: (best[name, 1] - best[name, 0]) / np.diff(FEW.get((name, links), (SHORT, LONG)))[0]
        for name in models
    }


def extrapolated(times):
    """The time of a step for N links from a straight line through measured ones."""
    slope, offset = np.polyfit(list(times), list(times.values()), 1)
    return {n: offset + slope * n for n in LINKS}


def exponent(times):
    """The slope of log time over log N."""
    return np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0]


def energy_errors(kind, links, parts=20, steps=20):
    """Largest |ΔH| of everybody on the way, looked at `parts` times."""
    chain = Chain(links, kind)
    first = chain.energy(*chain.start)
    found = {}
    for make in (Taut, *chain_peers.installed()):
        model, worst = make(chain), 0.0
        for _ in range(parts):
            model.march(steps)
            worst = np.maximum(worst, abs(chain.energy(*model.state()) - first))
        found[make.name] = worst
    return found


def apart(kind, make, links=10, steps=100):
    """How far from the motion by a method of order 4; by what factor less with half the step."""
    chain = Chain(links, kind)
    exact = Taut(chain, STEP / 10, "composition-4")
    exact.march(10 * steps)
    found = []
    for part in (1, 2):
        model = make(chain, STEP / part)
        model.march(part * steps)
        found.append(np.abs(model.state()[0] - exact.state()[0]).max())
    return found[0], found[0] / found[1]


def first_calls(kind, links, repeats=3):
    """Seconds from a Mechanism to its first step in new processes: nothing cached, and cached.

    The best of several, as of everything here.
    """
    command, found = [sys.executable, str(PROBE), "chain", kind, str(links)], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            environ = os.environ | {"TAUT_CACHE_DIR": folder}
            found.append([
                float(subprocess.run(command, env=environ, check=True, capture_output=True).stdout)
                for _ in range(2)
            ])  # fmt: skip
    return np.min(found, axis=0).tolist()


def table(times, names):
    """Microseconds per step, a column for everybody; extrapolated ones have a tilde."""
    lines = [f"{'':<18}" + "".join(f"{name:>13}" for name in names) + "   taut is faster by"]
    for kind in KINDS:
        for n in LINKS:
            row = times[kind][n]
            cells = []
            for name in names:
                value, mark = row.get(name), ""
                if value is None and name == "Pinocchio":
                    value, mark = times[kind]["line"].get(n), "~"
                cells.append("–" if value is None else f"{mark}{value * 1e6:.4g} µs")
            ratios = [f"{_seconds(times, kind, n, x) / row['taut']:.1f}" for x in names[1:]
                      if _seconds(times, kind, n, x)]  # fmt: skip
            lines.append(
                f"{kind:<8}{n:>5} links" + "".join(f"{x:>13}" for x in cells)
                + "   " + ", ".join(ratios)
            )  # fmt: skip
    return lines


def _seconds(times, kind, links, name):
    known = times[kind][links].get(name)
    return times[kind]["line"].get(links) if known is None and name == "Pinocchio" else known


def speeds(repeats):
    """All times per step; Pinocchio's also at sizes between, for its line."""
    found = {}
    for kind in KINDS:
        found[kind] = {n: measured(kind, n, repeats) for n in LINKS}
        found[kind]["line"] = {}
        if any(x.name == "Pinocchio" for x in chain_peers.installed()):
            line = {n: measured(kind, n, repeats, ["Pinocchio"])["Pinocchio"] for n in LINE}
            found[kind]["line"] = extrapolated(line)
    return found


def rows_of(times):
    """Ratios and exponents with their targets."""
    rows = []
    for kind in KINDS:
        ours = {n: times[kind][n]["taut"] for n in LINKS}
        for name, factor in TARGETS[kind].items():
            theirs = _seconds(times, kind, SIZE, name)
            if theirs:
                said = f"{kind}, {SIZE} links: taut ÷ {name}"
                rows.append(Row(said, ours[SIZE] / theirs, "×", round(1 / factor, 4)))
        said = f"{kind}: time per step ~ N^"
        rows.append(Row(f"{said}, 10 to 1000 links", exponent(ours), "", EXPONENT))
        large = {n: ours[n] for n in LINKS if n > 10}
        rows.append(Row(f"{said}, 100 to 1000 links", exponent(large), "", EXPONENT))
    return rows


def first_call_rows():
    """What the first step of a chain costs a new process."""
    rows = []
    for kind in KINDS:
        for n in LINKS:
            cold, warm = first_calls(kind, n)
            rows.append(Row(f"{kind}, {n} links: first step, cold", cold, "s", FIRST_CALL))
            rows.append(Row(f"{kind}, {n} links: first step, compiled before", warm, "s"))
    return rows


def about_pinocchio():
    """What has to be known about its column."""
    overhead = chain_peers.Pinocchio.overhead() * 1e6
    sizes = ", ".join(map(str, LINE))
    return [
        f"~ a straight line through {sizes} links: Pinocchio's Data holds tensors of (3N)³",
        "  numbers, so that longer ones do not fit into memory. Of each of its steps",
        f"  {overhead:.1f} µs are spent in calls from Python. Accelerations of more than some 50",
        "  ball joints in a row are lost to rounding in its articulated inertias: there it is",
        "  time alone.",
    ]


def report(quick):
    """Measure and print everything."""
    peers = chain_peers.installed()
    where = environment(("taut", "numpy", *(x.wheel for x in peers)))
    print(" · ".join(f"{key} {value}" for key, value in where.items()))
    print(f"Chains of links of 1 m and 1 kg in space, h = {STEP:g} s; one core.")
    for name in chain_peers.missing():
        print(f"{name} is not installed and left out: make peers")
    times = speeds(2 if quick else 5)
    print(*table(times, ["taut", *(x.name for x in peers)]), sep="\n", end="\n\n", flush=True)
    if "Pinocchio" in [x.name for x in peers]:
        print(*about_pinocchio(), sep="\n", end="\n\n")
    print(f"{'':<62}{'measured':>9} {'':<4}{'target':>9}")
    rows = rows_of(times)
    print(*rows, sep="\n", end="\n\n", flush=True)
    rows += (more := first_call_rows())
    print(*more, sep="\n", end="\n\n", flush=True)
    print("Largest energy error in 0.4 s, in J, of 10 and of 100 links; distance from the exact")
    print("motion of 10 links after 0.1 s, in m, and by what it falls with half the step:\n")
    for kind in KINDS:
        few, many = energy_errors(kind, 10), energy_errors(kind, 100)
        for make in (Taut, *peers):
            far, factor = apart(kind, make)
            print(f"{kind:<8}{make.name:<12}{make.method_name:<28}{few[make.name]:>9.1e}"
                  f"{many[make.name]:>9.1e}{far:>10.1e}{factor:>6.2f}", flush=True)  # fmt: skip
    judged = [row.met for row in rows if row.met is not None]
    print(f"\n{sum(judged)} of {len(judged)} targets met.")


def run(quick=False, paste_it=False):
    """Measure, print and, if wanted, paste."""
    printed = Tee()
    with contextlib.redirect_stdout(printed):
        report(quick)
    if paste_it:
        paste.mechanisms_into_the_docs(printed.getvalue())


if __name__ == "__main__":
    command(__doc__, run)
