"""What a correction costs: the time that `Corrected` adds to a step, as a share of the step.

Kepler, a double pendulum with its constraints, and a rigid body as a flow; one law and all of them;
one correction per step, iterated, symmetric.  Times are of the march alone, medians of runs made in
turns.  `python benchmarks/corrections.py` prints a Markdown table; `make bench` ends with it.
"""

from __future__ import annotations

import contextlib
import json
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path

import sympy as sp
from report import Tee, command, environment

RESULTS = Path(__file__).with_name("results") / "corrections.json"
BASES = ("rk4", "dop853", "rattle", "gauss-lobatto-4")
SYMMETRIC = ("rattle", "gauss-lobatto-4")
WAYS = (("one step", 1), ("iterated", 1), ("one step", None), ("iterated", None),
        ("symmetric", None))  # fmt: skip


@dataclass(frozen=True)
class Amounts:
    """How much is measured."""

    steps: int = 40_000
    repeats: int = 11


QUICK = Amounts(steps=4000, repeats=3)


@dataclass(frozen=True)
class Case:
    """A model, its start and its laws, the energy first."""

    name: str
    model: object
    start: dict
    step: float
    laws: list

    def run(self, method, steps):
        import taut

        return taut.simulate(
            self.model, **self.start, duration=steps * self.step, step=self.step, every=steps,
            method=method, laws=None,
        )  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """ns per step of a method by itself, and corrected; None where there is no such variant."""

    problem: str
    base: str
    laws: int
    how: str
    alone: float
    corrected: float | None

    @property
    def share(self):
        """What the correction adds, as a share of the step."""
        return None if self.corrected is None else self.corrected / self.alone - 1


def cases():
    """The three problems."""
    import taut
    from taut.problems import problem

    x, y = q = taut.coordinates("x y")
    kepler = taut.System(q, mass=1, potential=-1 / sp.sqrt(x**2 + y**2))
    orbit = {"q0": [0.4, 0.0], "v0": [0.0, 2.0]}
    double = problem("zg-double")
    x1, x2, x3 = z = sp.symbols("x1:4")
    k = sp.Rational(2, 5)
    body = taut.Flow(
        z, [-x2 * x3 / 6 + k * x2, 2 * x3 * x1 / 3 - k * x1, -x1 * x2 / 2]
    )  # fmt: skip
    energy = x1**2 / 2 + x2**2 / 4 + x3**2 / 6 + k * x3
    hanging = {"q0": double.q0, "v0": double.v0}
    return [
        Case("Kepler", kepler, orbit, 0.02, _laws(kepler)),
        Case("double pendulum", double.system, hanging, 0.002, _laws(double.system)),
        Case("rigid body", body, {"q0": [0.4, 1.0, 0.8]}, 0.1, [energy, sum(w**2 for w in z)]),
    ]


def _laws(model):
    """Independent laws, as they are found; the energy is the first of them."""
    import taut

    found = taut.conserved(model).independent
    assert found[0].kind == "energy"
    return [law.expression for law in found]


def medians(candidates, repeats):
    """Median of what every candidate returns, called in turns after a call that is not counted."""
    for call in candidates.values():
        call()
    found = {name: [] for name in candidates}
    for _ in range(repeats):
        for name, call in candidates.items():
            found[name].append(call())
    return {name: statistics.median(values) for name, values in found.items()}


def ways(case):
    """How many laws and how, without "all" where there is but one."""
    listed = [(how, count or len(case.laws)) for how, count in WAYS]
    return list(dict.fromkeys(listed))


def corrected(case, base, how, count):
    """The base, held to the first laws of a case."""
    import taut

    return taut.Corrected(
        base, case.laws[:count], iterate=how == "iterated", symmetric=how == "symmetric"
    )


def costs(case, base, amounts):
    """The base by itself and with every correction."""

    def timed(method):
        return lambda: case.run(method, amounts.steps).wall_time / amounts.steps * 1e9

    wanted = ways(case)
    calls = {"alone": timed(base)}
    for how, count in wanted:
        if how != "symmetric" or base in SYMMETRIC:
            calls[how, count] = timed(corrected(case, base, how, count))
    found = medians(calls, amounts.repeats)
    return [
        Cost(case.name, base, count, how, found["alone"], found.get((how, count)))
        for how, count in wanted
    ]


def table(found):
    """A line per problem and base, a column per correction; shares of the base's step."""
    lines = []
    for problem in dict.fromkeys(c.problem for c in found):
        here = [c for c in found if c.problem == problem]
        columns = list(dict.fromkeys((c.laws, c.how) for c in here))
        said = [f"{n} law{'s'[: n > 1]}, {how}" for n, how in columns]
        lines += [f"| {problem} | ns | {' | '.join(said)} |", "|---" * (2 + len(columns)) + "|"]
        for base in dict.fromkeys(c.base for c in here):
            share = {(c.laws, c.how): c.share for c in here if c.base == base}
            alone = next(c.alone for c in here if c.base == base)
            cells = [_percent(share[k]) for k in columns]
            lines.append(f"| `{base}` | {alone:.0f} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines).rstrip()


def _percent(share):
    return "" if share is None else f"{100 * share:+.0f} %".replace("-", "−")


def run(quick=False, paste=False):
    """Measure, print, write the results, and with `paste` put the table into the docs."""
    amounts, printed = QUICK if quick else Amounts(), Tee()
    found = [cost for case in cases() for base in BASES for cost in costs(case, base, amounts)]
    with contextlib.redirect_stdout(printed):
        print(table(found))
    RESULTS.parent.mkdir(exist_ok=True)
    rows = [asdict(cost) | {"share": cost.share} for cost in found]
    results = {"environment": environment(), "rows": rows}
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    if paste:
        from paste import corrections_into_the_docs

        corrections_into_the_docs(printed.getvalue())


if __name__ == "__main__":
    command(__doc__, run)
