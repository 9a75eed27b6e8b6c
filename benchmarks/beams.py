"""The compiled Poisson integrator against plain NumPy, hand-written SIMD C and PyElastica.

The example of CS: 101 nodes, 1000 steps, one core.  `python benchmarks/beams.py` runs alone,
`make bench` runs it, too.  All times are of the march alone, the best of several that take turns.
"""

from __future__ import annotations

import contextlib
import tempfile

import c_beam
import elastica_rod
import numpy as np
import paste
from c_rattle import compiler
from report import Row, Tee, command

from taut.papers import cs_plain

STEPS = 1000
C_RATIO, NUMPY_RATIO, ELASTICA_RATIO, FLAT = 1.5, 1e-3, 0.2, 1.5
LINES = ((101, 20_000), (1001, 2000), (10_001, 300), (100_001, 60))


def beam(nodes, cells="full"):
    """The beam of CS, with more nodes a longer one."""
    import taut

    paper = cs_plain.Beam()
    return taut.Beam(
        (nodes - 1) * paper.spacing,
        taut.Square(paper.side),
        density=paper.density,
        young=paper.young,
        poisson=paper.poisson,
        nodes=nodes,
        cells=cells,
    )


def seconds(model, start, steps, method):
    """Wall time of one step of the march, only the last state kept."""
    import taut

    run = taut.simulate(
        model,
        strain0=start.gamma,
        momentum0=start.mu,
        duration=steps * c_beam.STEP,
        step=c_beam.STEP,
        method=method,
        every=10 * steps,
    )
    return run.wall_time / steps


def versus(quick):
    """Rows of the paper's example."""
    import taut

    start = c_beam.paper_like(101)
    steps, repeats = (STEPS, 5) if quick else (10 * STEPS, 30)
    printed = taut.Poisson(start="printed")
    full, half = beam(101), beam(101, "half")
    calls = {
        "taut poisson, as printed": lambda: seconds(full, start, steps, printed),
        "taut poisson": lambda: seconds(half, start, steps, "poisson"),
        "taut hamel": lambda: seconds(half, start, steps, "hamel"),
        "taut variational": lambda: seconds(half, start, steps, "variational"),
    }
    with tempfile.TemporaryDirectory() as folder:
        if compiler():
            run = c_beam.build(folder)
            calls["C, with energies"] = lambda: c_beam.c_seconds(run, start, steps)
            calls["C, bare"] = lambda: c_beam.c_seconds(run, start, steps, False)
        for call in calls.values():
            call()
        found = dict(zip(calls, c_beam.best(list(calls.values()), repeats), strict=True))
    amount, times = (5, 2) if quick else (30, 3)
    plain = c_beam.best(
        [lambda s=s: c_beam.plain_seconds(s, start, amount) for s in c_beam.SCHEMES], times
    )
    found |= {f"plain NumPy, {s}": x for s, x in zip(c_beam.SCHEMES, plain, strict=True)}
    if elastica_rod.has_elastica():
        found["PyElastica, 100 elements"] = elastica_rod.seconds(500 if quick else 2000, 3)
    return found


def rows_of(found):
    """Times of 1000 steps, and ratios with their targets."""
    rows = [Row(f"{name}, 1000 steps", 1e3 * STEPS * x, "ms") for name, x in found.items()]
    ours = found["taut poisson, as printed"]
    if "C, with energies" in found:
        rows.append(Row("taut poisson ÷ C with energies", ours / found["C, with energies"], "×",
                        C_RATIO))  # fmt: skip
        rows.append(Row("taut poisson ÷ C bare", ours / found["C, bare"], "×", C_RATIO))
    plain = found["plain NumPy, Poisson"]
    rows.append(Row("taut poisson ÷ plain NumPy", ours / plain, "×", NUMPY_RATIO))
    if "PyElastica, 100 elements" in found:
        ratio = ours / found["PyElastica, 100 elements"]
        rows.append(Row("taut poisson ÷ PyElastica", ratio, "×", ELASTICA_RATIO))
    rows.append(Row("poisson ÷ hamel, compiled", found["taut poisson"] / found["taut hamel"], "×"))
    rows.append(Row("Poisson ÷ Hamel, plain NumPy", plain / found["plain NumPy, Hamel"], "×"))
    rows.append(Row("Poisson ÷ Hamel, CS Table 2, Python", 15.9470 / 18.6285, "×"))
    rows.append(Row("Poisson ÷ Hamel, CS Table 2, MATLAB", 13.5543 / 14.0054, "×"))
    return rows


def flat(quick):
    """ns per node and step from 10² to 10⁵ nodes."""
    lines = [(nodes, max(steps // 4, 30)) for nodes, steps in LINES] if quick else LINES
    rows = []
    for method in ("poisson", "variational"):
        made = [(beam(nodes, "half"), c_beam.paper_like(nodes), steps) for nodes, steps in lines]
        calls = [lambda x=x, method=method: seconds(*x, method) for x in made]
        for call in calls:
            call()
        found = np.array(c_beam.best(calls, 5)) / [nodes for nodes, _ in lines] * 1e9
        for (nodes, _), cost in zip(lines, found, strict=True):
            rows.append(Row(f"taut {method}, {nodes} nodes, per node and step", cost, "ns"))
        name = f"taut {method}, dearest ÷ cheapest of these"
        rows.append(Row(name, found.max() / found.min(), "×", FLAT))
    return rows


def run(quick=False, paste_it=False):
    """Measure, print and, if wanted, paste."""
    printed = Tee()
    with contextlib.redirect_stdout(printed):
        print("The beam of Chen & Shi 2025, 101 nodes, h = 1e-4; one core, the march alone.\n")
        print(f"{'':<62}{'measured':>9} {'':<4}{'target':>9}")
        rows = rows_of(versus(quick))
        print(*rows, sep="\n", end="\n\n", flush=True)
        rows += (more := flat(quick))
        print(*more, sep="\n", end="\n\n", flush=True)
        judged = [row.met for row in rows if row.met is not None]
        print(f"{sum(judged)} of {len(judged)} targets met.")
    if paste_it:
        paste.beams_into_the_docs(printed.getvalue())


if __name__ == "__main__":
    command(__doc__, run)
