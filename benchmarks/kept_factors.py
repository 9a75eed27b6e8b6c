"""What it saves to keep the factors of Newton's matrix from one step to the next.

Gauss–Lobatto methods on systems whose matrix is sparse (a planar chain of links), banded (a chain
of springs), or full (pendulums in angles, bodies that attract each other).  The same model is
compiled twice, once with new factors in every step, and both run in turns.

`python benchmarks/kept_factors.py` prints a Markdown table; `make bench` ends with it.
"""

from __future__ import annotations

import contextlib
import json
import statistics
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import sympy as sp
from report import Tee, command, environment, long_runs

RESULTS = Path(__file__).with_name("results") / "kept_factors.json"


@dataclass(frozen=True)
class Amounts:
    """How much is measured."""

    duration: float = 10.0  # three bodies do not stay together for ever
    repeats: int = 25


QUICK = Amounts(duration=2.0, repeats=3)


@dataclass(frozen=True)
class Saved:
    """µs per step and iterations, with new factors in every step and with kept ones."""

    problem: str
    order: int
    step: float
    price: float
    error: float
    new: tuple[float, float]
    kept: tuple[float, float]

    @property
    def share(self) -> float:
        return self.kept[0] / self.new[0]


def chain():
    """Five links, Cartesian."""
    from taut.problems import problem

    made = problem("chain", links=5)
    return made.system, {"q0": made.q0, "v0": made.v0}


def springs():
    """Fermi, Pasta and Ulam's chain with stiff springs, as in the catalogue."""
    from taut.problems import problem

    made = problem("fpu")
    return made.system, {"q0": made.q0, "v0": made.v0}


def angles(count=5):
    """Links of a chain, by their angles."""
    import taut

    a = taut.coordinates(" ".join(f"a{i}" for i in range(count)))
    w = taut.velocities(a)
    lagrangian = 0
    for i in range(1, count + 1):
        x, y = (sum(f(b) * u for b, u in zip(a[:i], w, strict=False)) for f in (sp.cos, sp.sin))
        lagrangian += sp.expand(x**2 + y**2) / 2 + 9.81 * sum(sp.cos(b) for b in a[:i])
    return taut.System(a, lagrangian=lagrangian), {"q0": np.linspace(0.5, 0.8, count), "v0": 0}


def bodies(count=3):
    """Equal masses that attract each other, near the rotating polygon."""
    import taut

    q = taut.coordinates(" ".join(f"x{i}" for i in range(3 * count)))
    at = [sp.Matrix(q[3 * i : 3 * i + 3]) for i in range(count)]
    potential = -sum(1 / sp.sqrt((a - b).dot(a - b)) for a, b in combinations(at, 2))
    system = taut.System(q, mass=[1] * len(q), potential=potential)
    turn = 2 * np.pi * np.arange(count) / count
    pull = sum(1 / (4 * np.sin(np.pi * k / count)) for k in range(1, count))
    lifted = 0.02 * np.cos(3 * turn + 1)
    q0 = np.column_stack([np.cos(turn), np.sin(turn), lifted]).ravel()
    v0 = 0.9 * np.sqrt(pull) * np.column_stack([-np.sin(turn), np.cos(turn), 0 * turn]).ravel()
    return system, {"q0": q0, "v0": v0}


CASES = (
    ("planar chain, 5 links", chain, ((8, 0.01), (8, 0.0025))),
    ("5 pendulums in angles", angles, ((6, 0.02), (6, 0.005), (8, 0.01))),
    ("stiff springs", springs, ((6, 0.02), (8, 0.02))),
    ("3 bodies", bodies, ((4, 0.02), (6, 0.04), (8, 0.04), (8, 0.02))),
)


def saved(name, make, order, step, amounts) -> Saved:
    """Compile both, run them in turns."""
    import taut
    from taut.kernel import compile as compiling, newtons
    from taut.kernel.compile import workshop

    method, given = taut.GaussLobatto(order // 2), {"step": step, "laws": None}
    given |= {"method": method, "duration": amounts.duration}
    shops = []
    for limit in (np.inf, newtons.DEAR):
        system, start = make()
        before, newtons.DEAR = newtons.DEAR, limit
        try:
            with long_runs():
                run = taut.simulate(system, **start, **given)
            shops.append(workshop(system))
        finally:
            newtons.DEAR = before
        price = workshop(system).step(method, keep=run.keep).program.newtons[0].price
        compiling._workshop.cache_clear()
    times: list[list[float]] = [[], []]
    for _ in range(amounts.repeats):
        for shop, taken in zip(shops, times, strict=True):
            run = _with(shop, system, start | given)
            taken.append(run.wall_time * step / amounts.duration * 1e6)
    made = [_with(shop, system, start | given).certificate.iterations for shop in shops]
    error = float(np.ptp(run.energy) / np.abs(run.energy).max())
    new, kept = ((statistics.median(t), m) for t, m in zip(times, made, strict=True))
    return Saved(name, order, step, price, error, new, kept)


def _with(shop, system, given):
    """A run with the steps that this workshop has compiled."""
    import taut
    from taut.kernel import compile as compiling

    usual, compiling._workshop = compiling._workshop, lambda *_: [shop]
    try:
        return taut.simulate(system, **given)
    finally:
        compiling._workshop = usual


def table(found) -> str:
    lines = [
        "| problem | order | step | energy error | factorisation | iterations | µs | ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for x in found:
        told = [x.problem, x.order, x.step, f"{x.error:.0e}", f"{x.price:.1f}"]
        told += [f"{x.new[1]:.1f} → {x.kept[1]:.1f}", f"{x.new[0]:.2f} → {x.kept[0]:.2f}"]
        lines.append(f"| {' | '.join(map(str, told))} | {x.share:.2f} |")
    return "\n".join(lines)


def run(quick=False, paste=False):
    """Measure, print, write the results, and with `paste` put the table into the docs."""
    amounts, printed = QUICK if quick else Amounts(), Tee()
    found = [saved(name, make, *which, amounts) for name, make, all_ in CASES for which in all_]
    print("\nWhat it saves to keep factors from step to step\n")
    with contextlib.redirect_stdout(printed):
        print(table(found))
    RESULTS.parent.mkdir(exist_ok=True)
    rows = [asdict(x) | {"share": x.share} for x in found]
    RESULTS.write_text(json.dumps({"environment": environment(), "rows": rows}, indent=2) + "\n")
    if paste:
        from paste import factors_into_the_docs

        factors_into_the_docs(printed.getvalue())


if __name__ == "__main__":
    command(__doc__, run)
