"""Work against precision: taut's catalogue, heyoka and SciPy on pendulums of 2 to 10 links.

taut has Cartesian coordinates and constraints, the others the angles of the rods. Two runs are
made at every setting: 10 s, for the error of the positions, and 1000 s, for the largest energy
error. Wall times are of the motion alone, compiling is told apart; they are medians of runs made
in turns.
`python benchmarks/work_precision.py --quick` measures less, `--paste` puts it into the docs.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import angles
import numpy as np
import solvers
from curves import Curve, Point, best, time_at
from report import PACKAGES, Row, Tee, command, environment

RESULTS = Path(__file__).with_name("results")
ENERGY, ERROR = 3e-8, 1e-8  # the energy error over the long run and the error after the short one
FINEST = 1e-11  # energy error at which a curve ends
SLOWER = 2  # times the best: a method that is left out of longer chains
PEER = {"heyoka": 10.0, "SciPy": 0.1}  # of their time, at most, at equal energy error on two links


@dataclass(frozen=True)
class Amounts:
    """How much is measured."""

    short: float = 10.0
    long: float = 1000.0
    repeats: int = 7
    again: float = 0.3  # seconds of one setting after which it is not repeated
    patience: dict = field(default_factory=lambda: {"taut": 0.6, "heyoka": 5.0, "SciPy": 5.0})
    patience_chains: float = 4.0
    least_order: int = 2
    chains: tuple = tuple(range(2, 11))


QUICK = Amounts(
    long=50.0, repeats=1, patience={"taut": 0.05, "heyoka": 0.2, "SciPy": 0.2},
    patience_chains=0.2, least_order=4, chains=(2, 4),
)  # fmt: skip


# ---- measuring -----------------------------------------------------------------------------------


def ladder(solver, exact, amounts, enough):
    """The settings from coarse to fine, until the energy error is `enough` or it takes too long."""
    curve, patience = Curve(solver.name, solver.family), amounts.patience[solver.family]
    settings = []
    for setting in solver.settings:
        curve.compile = max(curve.compile, solver.prepare(setting))
        try:
            solver.run(setting, amounts.short)
            wall, place = solver.run(setting, amounts.short)
        except solvers.Failed:
            continue
        point = Point(solver.says(setting), float(np.abs(place - exact).max()))
        point.short.append(wall)
        curve.points.append(point)
        settings.append(setting)
        if wall * amounts.long / amounts.short <= patience:
            with contextlib.suppress(solvers.Failed):
                wall, _ = solver.run(setting, amounts.long)
                point.long.append(wall)
                point.energy = solver.energy_error(setting, amounts.long)
                point.iterations = solver.iterations()
        if (wall > patience / 10 and not point.long) or (point.energy or 1) < enough:
            break
    return curve, settings


def measure(entrants, exact, amounts, enough):
    """The curves of all solvers, then repeats in turns."""
    climbed = [(solver, *ladder(solver, exact, amounts, enough)) for solver in entrants]
    for _ in range(amounts.repeats - 1):
        for solver, curve, settings in climbed:
            for setting, point in zip(settings, curve.points, strict=True):
                for walls, seconds in ((point.short, amounts.short), (point.long, amounts.long)):
                    if walls and sum(walls) <= amounts.again:
                        walls.append(solver.run(setting, seconds)[0])
    return [curve for _, curve, _ in climbed]


def catalogue(least_order, symplectic=False):
    """Names of taut's methods of at least this order."""
    from taut.methods import CATALOGUE

    return [
        name
        for name, method in CATALOGUE.items()
        if method.order >= least_order and not method.charted
        and (method.symplectic or not symplectic)
    ]  # fmt: skip


def fair(curves):
    """Without those of taut's methods that an energy error says nothing about, or that drift.

    Energy–momentum methods keep the energy whatever the error of the path, and what people use
    today is there to be compared with.
    """
    own = catalogue(0, symplectic=True)
    return [c for c in curves if c.family != "taut" or c.solver in own]


def counts(first, last, factor):
    """Steps in 10 s, each about `factor` times the one before."""
    return [round(first * factor**k) for k in range(100) if first * factor**k <= last]


def entrants(chain, names, everyone=True):
    """The solvers of one problem; of long chains only what can be fast."""
    from taut.methods import CATALOGUE

    found = []
    for name in names:
        factor = 2.0 if CATALOGUE[name].order < 4 else 2**0.5
        found.append(solvers.Taut(chain, name, counts(50, 10**6, factor)))
    found += solvers.heyokas(chain, everyone)
    fine = solvers.tolerances(7, 13, 1.5)
    found += [solvers.Ode(chain, x, angles.by_tensions, fine) for x in ("DOP853", "LSODA")]
    if everyone:
        loose = solvers.tolerances(4, 11, 1.5)
        found.append(solvers.SolveIvp(chain, "Radau", angles.by_tensions, loose))
        found.append(solvers.SolveIvp(chain, "DOP853", angles.by_mass_matrix, loose))
    return found


# ---- telling -------------------------------------------------------------------------------------


def seconds(value):
    """A wall time for the tables."""
    if value is None:
        return "—"
    unit, scale = next(u for u in (("s", 1), ("ms", 1e3), ("µs", 1e6)) if value * u[1] >= 1)
    return f"{value * scale:.3g} {unit}"


def table(curves, amounts):
    """Time at equal errors, the fastest first."""
    lines = [
        f"{'':<34}{f'{amounts.long:g} s at':>12}{f'{amounts.short:g} s at':>13}{'compile':>11}",
        f"{'':<34}{f'|ΔH| {ENERGY:.0e}':>12}{f'|Δq| {ERROR:.0e}':>13}",
    ]
    timed = [(time_at(c.energies(), ENERGY), time_at(c.errors(), ERROR), c) for c in curves]
    for long, short, curve in sorted(timed, key=lambda x: (x[0] or np.inf, x[1] or np.inf)):
        name = f"taut {curve.solver}" if curve.family == "taut" else curve.solver
        lines.append(
            f"{name:<34}{seconds(long):>12}{seconds(short):>13}{seconds(curve.compile):>11}"
        )
    return lines


def chain_line(links, curves):
    """The fastest of each family on a chain."""
    taut, scipy = (best(fair(curves), family, ENERGY) for family in ("taut", "SciPy"))
    ours, name = taut or (None, "none")
    line = f"{links:>5}  {name:<24}{seconds(ours):>9}"
    for wanted in ("heyoka, tensions", "heyoka, lagrangian"):
        wall = next((time_at(c.energies(), ENERGY) for c in curves if c.solver == wanted), None)
        ratio = f"({ours / wall:.2g})" if ours and wall else ""
        line += f"{seconds(wall):>10} {ratio:<7}"
    return line + f"{seconds(scipy and scipy[0]):>10}"


CHAIN_HEAD = [
    f"{'':<7}{'taut':<33}{'heyoka, tensions':>18}{'lagrangian()':>18}{'SciPy':>10}",
    f"{'links':>5}  {'fastest symplectic':<24}{'time':>9}{'time':>10} {'(ratio)':<7}"
    f"{'time':>10} {'(ratio)':<7}{'time':>10}",
]


def ratios(problem, curves, limits):
    """What taut's fastest costs of the fastest peer at equal energy error."""
    rows, ours = [], best(fair(curves), "taut", ENERGY)
    for family, limit in limits.items():
        theirs = best(curves, family, ENERGY)
        if ours and theirs:
            name = f"{problem}: taut {ours[1]} ÷ {theirs[1]}"
            rows.append(Row(name, ours[0] / theirs[0], "×", limit))
    return rows


def overtaking(chains, solver):
    """From how many links on taut is faster than `solver`, in words; None if it did not run."""
    faster = {}
    for links, curves in chains.items():
        ours = best(fair(curves), "taut", ENERGY)
        wall = next((time_at(c.energies(), ENERGY) for c in curves if c.solver == solver), None)
        if wall is not None:
            faster[links] = ours is not None and ours[0] < wall
    if not faster:
        return None
    behind = [links for links, ahead in faster.items() if not ahead]
    if behind and behind[-1] == max(faster):
        return f"taut does not overtake {solver} up to {max(faster)} links"
    first = min(links for links in faster if not behind or links > max(behind))
    return f"taut overtakes {solver} from {first} links on"


def bench(amounts):
    """Measure and print everything; returns what the results hold."""
    present = solvers.has_heyoka()
    where = environment((*PACKAGES, *(("heyoka",) if present else ())))
    print(" · ".join(f"{key} {value}" for key, value in where.items()))
    if present:
        import heyoka

        heyoka.llvm_state.set_diskcache_enabled(False)  # compile times are of a first use
    else:
        print("heyoka was not found (pip install heyoka): its rows and targets are left out.")
    found, rows, apart = {}, [], 0.0
    names = catalogue(amounts.least_order)
    for chain, said in ((angles.DOUBLE, "double"), (angles.TRIPLE, "triple")):
        exact, gap = solvers.reference(chain, amounts.short)
        apart = max(apart, gap)
        curves = found[chain.name] = measure(entrants(chain, names), exact, amounts, FINEST)
        print(f"\n{said.capitalize()} pendulum\n", *table(curves, amounts), sep="\n", flush=True)
        rows += ratios(said, curves, PEER if chain is angles.DOUBLE else dict.fromkeys(PEER))
    print(f"\nChains: {amounts.long:g} s at |ΔH| {ENERGY:.0e}\n", *CHAIN_HEAD, sep="\n")
    chains, names = {}, catalogue(max(amounts.least_order, 4), symplectic=True)
    patient = replace(amounts, patience=amounts.patience | {"taut": amounts.patience_chains})
    for links in amounts.chains:
        if links == angles.TRIPLE.links:
            curves = found[angles.TRIPLE.name]
        else:
            chain = angles.chain(links)
            exact, gap = solvers.reference(chain, amounts.short)
            apart = max(apart, gap)
            curves = measure(entrants(chain, names, everyone=False), exact, patient, ENERGY)
            found[chain.name] = curves
        chains[links] = curves
        print(chain_line(links, curves), flush=True)
        names = fast_ones(names, curves)
    print("", *rows, sep="\n")
    for solver in ("heyoka, tensions", "heyoka, lagrangian"):
        print(overtaking(chains, solver) or f"{solver} did not run")
    print(f"References by two roads agree to {apart:.1e}.")
    return {
        "environment": where,
        "amounts": asdict(amounts),
        "rows": [asdict(row) | {"met": row.met} for row in rows],
        "curves": {name: [asdict(c) for c in curves] for name, curves in found.items()},
    }


def fast_ones(names, curves):
    """The methods that may still be the fastest on a longer chain."""
    walls = {c.solver: time_at(c.energies(), ENERGY) for c in fair(curves) if c.family == "taut"}
    reached = [wall for wall in walls.values() if wall is not None]
    if not reached:
        return names
    return [n for n in names if (walls.get(n) or np.inf) <= SLOWER * min(reached)]


def run(quick=False, paste=False):
    """Measure, write the results and the figures, and with `paste` put them into the docs."""
    from figures import draw

    amounts, printed = QUICK if quick else Amounts(), Tee()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
        os.environ["TAUT_CACHE_DIR"] = folder  # compile times are of a first use
        results = bench(amounts)
        print(f"Measured in {time.perf_counter() - began:.0f} s.")
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / "work_precision.json"
    file.write_text(json.dumps(results, indent=1, default=float) + "\n")
    pictures = draw(results, RESULTS)
    if paste:
        from paste import precision_into_the_docs

        precision_into_the_docs(printed.getvalue(), pictures)


if __name__ == "__main__":
    command(__doc__, run)
