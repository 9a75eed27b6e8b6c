"""Write the tables of the page on corrections: ``python docs/corrections.py`` (some seconds).

Every system runs with RK4 and with RATTLE, without a correction, with the energy corrected, and
with all laws; the tables say what became of the path and of every law.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

import taut
from taut.problems import problem

PAGE = Path(__file__).with_name("corrections.md")
BEGIN, END = "<!-- written by docs/corrections.py -->", "<!-- end -->"
LATER = "<!-- written by docs/corrections.py, growth -->"
REVOLUTIONS = (20, 200, 2000)
ROUND_OFF = 1e-13
NONE, ENERGY, ALL = "none", "energy", "all"
ROWS = (
    ("rk4", NONE, ""),
    ("rk4", ENERGY, "one step"),
    ("rk4", ENERGY, "iterated"),
    ("rk4", ALL, "one step"),
    ("rk4", ALL, "iterated"),
    ("rattle", NONE, ""),
    ("rattle", ENERGY, "iterated"),
    ("rattle", ENERGY, "symmetric"),
    ("rattle", ALL, "iterated"),
    ("rattle", ALL, "symmetric"),
    ("gauss-lobatto-4", NONE, ""),
    ("energy-momentum", NONE, ""),
)


@dataclass(frozen=True)
class Case:
    """A system, its start, and what it keeps; the energy is the first of its laws."""

    title: str
    model: Any
    q0: Any
    v0: Any
    step: float
    duration: float
    laws: dict[str, sp.Expr]
    exact: Callable[[np.ndarray], np.ndarray] | None = None
    redundant: tuple[str, ...] = ()  # laws that the symmetric variant cannot have beside the others

    def simulate(self, method: Any, step: float | None = None, **options: Any) -> taut.Trajectory:
        start = {"q0": self.q0} if self.v0 is None else {"q0": self.q0, "v0": self.v0}
        return taut.simulate(
            self.model, **start, duration=self.duration, step=step or self.step, method=method,
            laws=None, **options,
        )  # fmt: skip

    def path(self, t: np.ndarray) -> np.ndarray:
        """The motion: a closed form, or DOP853 with a tenth of the step."""
        if self.exact is not None:
            return self.exact(t)
        return self.simulate("dop853", self.step / 10, every=10).q


@dataclass(frozen=True)
class Row:
    """What became of the path and of every law; None where no step could be made."""

    method: str
    corrected: str
    how: str
    path: float | None
    laws: dict[str, float | None]


def kepler() -> Case:
    """Eccentricity 0.6, from the point next to the centre, 20 revolutions."""
    x, y = q = taut.coordinates("x y")
    u, v = taut.velocities(q)
    r, turn = sp.sqrt(x**2 + y**2), x * v - y * u
    model = taut.System(q, mass=1, potential=-1 / r)
    laws = {
        "E": (u**2 + v**2) / 2 - 1 / r,
        "L": turn,
        "A_y": -u * turn - y / r,
        "A_x": v * turn - x / r,  # follows from the others: A² = 1 + 2 E L²
    }
    e = 0.6

    def exact(t: np.ndarray) -> np.ndarray:
        angle = t + e * np.sin(t)
        for _ in range(50):  # Kepler's equation, by Newton
            angle = angle - (angle - e * np.sin(angle) - t) / (1 - e * np.cos(angle))
        return np.stack([np.cos(angle) - e, np.sqrt(1 - e**2) * np.sin(angle)], axis=-1)

    start = [1 - e, 0.0], [0.0, float(np.sqrt((1 + e) / (1 - e)))]
    return Case(
        "Kepler", model, *start, 2 * np.pi / 200, 40 * np.pi, laws, exact, redundant=("A_x",)
    )


def toda() -> Case:
    """Three particles on a ring, with a law that depends on time."""
    q = taut.coordinates("q1 q2 q3")
    v = taut.velocities(q)
    e = [sp.exp(q[i] - q[(i + 1) % 3]) for i in range(3)]
    kinetic = sum((x**2 for x in v), sp.Integer(0)) / 2
    total = sum(v, sp.Integer(0))
    laws = {
        "E": kinetic + sum(e),
        "P": total,
        "I": v[0] * v[1] * v[2] - e[0] * v[2] - e[1] * v[0] - e[2] * v[1],
        "Σq − tP": sum(q) - taut.t * total,
    }
    model = taut.System(q, mass=1, potential=sum(e))
    return Case("Toda, three particles", model, [0.5, -0.2, 0.1], [0.7, -0.4, 0.3], 0.1, 100, laws)


def euler() -> Case:
    """The rigid body of SGM, as a flow."""
    x1, x2, x3 = x = sp.symbols("x1:4")
    k = sp.Rational(2, 5)
    rates = [-x2 * x3 / 6 + k * x2, 2 * x3 * x1 / 3 - k * x1, -x1 * x2 / 2]
    laws = {
        "E": x1**2 / 2 + x2**2 / 4 + x3**2 / 6 + k * x3,
        "|x|²": x1**2 + x2**2 + x3**2,
    }
    return Case("Rigid body", taut.Flow(x, rates), [0.4, 1.0, 0.8], None, 0.1, 1000, laws)


def spherical() -> Case:
    """A constraint beside the laws."""
    given = problem("spherical-pendulum")
    x, y, _ = given.system.coordinates
    u, v, _ = given.system.velocities
    energy = taut.conserved(given.system).independent[0].expression
    assert given.exact is not None
    exact = given.exact
    return Case(
        "Spherical pendulum", given.system, given.q0, given.v0, 0.02, 40,
        {"E": energy, "L": x * v - y * u}, lambda t: exact(t)[0],
    )  # fmt: skip


def henon_heiles() -> Case:
    """Chaotic at this energy."""
    x, y = q = taut.coordinates("x y")
    u, v = taut.velocities(q)
    well = (x**2 + y**2) / 2 + x**2 * y - y**3 / 3
    laws = {"E": (u**2 + v**2) / 2 + well}
    model = taut.System(q, mass=1, potential=well)
    return Case("Hénon–Heiles, chaotic", model, [0.0, -0.1], [0.5, 0.15], 0.1, 300, laws)


CASES = (kepler, toda, euler, spherical, henon_heiles)


def method_of(case: Case, base: str, corrected: str, how: str) -> Any:
    if corrected == NONE:
        return base
    left_out = case.redundant if how == "symmetric" else ()
    laws = [law for name, law in case.laws.items() if name not in left_out]
    chosen = laws[:1] if corrected == ENERGY else laws
    return taut.Corrected(base, chosen, iterate=how == "iterated", symmetric=how == "symmetric")


@cache
def measured(make: Callable[[], Case]) -> tuple[Case, list[Row]]:
    """All rows of a system; without "all" where the energy is all there is."""
    case = make()
    found = []
    path = None
    for base, corrected, how in ROWS:
        if corrected == ALL and len(case.laws) == 1:
            continue
        try:
            run = case.simulate(method_of(case, base, corrected, how))
        except taut.StepError:
            found.append(Row(base, corrected, how, None, dict.fromkeys(case.laws)))
            continue
        path = case.path(run.t) if path is None else path
        values = run.evaluate_all(list(case.laws.values()))
        laws = {
            name: float(np.abs(x - x[0]).max()) for name, x in zip(case.laws, values, strict=True)
        }
        found.append(Row(base, corrected, how, float(np.abs(run.q - path).max()), laws))
    return case, found


def size(x: float | None) -> str:
    """One digit of an error; what is below 1e−13 is round-off."""
    if x is None:
        return "fails"
    return "round-off" if x < ROUND_OFF else f"{x:.0e}".replace("e-0", "e−").replace("e-", "e−")


def table(make: Callable[[], Case]) -> str:
    case, rows = measured(make)
    head = ["method", "corrected", "", "path", *(f"{name}" for name in case.laws)]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        cells = [f"`{row.method}`", row.corrected, row.how, size(row.path)]
        lines.append([*cells, *map(size, row.laws.values())])
    text = "\n".join(
        "| " + " | ".join(x.replace("|x|", "\\|x\\|") for x in c) + " |" for c in lines
    )
    steps = round(case.duration / case.step)
    return f"**{case.title}**, step {case.step:.3g}, {steps} steps\n\n{text}\n"


@cache
def grown() -> list[tuple[str, str, list[float]]]:
    """RATTLE on Kepler: a law that is not corrected, over more and more revolutions."""
    case = kepler()
    energy, turn = case.laws["E"], case.laws["L"]
    rows = (
        ("not corrected", "E", "rattle"),
        ("energy, iterated", "L", taut.Corrected("rattle", [energy], iterate=True)),
        ("energy, symmetric", "L", taut.Corrected("rattle", [energy], symmetric=True)),
    )
    found = []
    for what, name, method in rows:
        law = {"E": energy, "L": turn}[name]
        sizes = []
        for revolutions in REVOLUTIONS:
            run = taut.simulate(
                case.model, q0=case.q0, v0=case.v0, duration=2 * np.pi * revolutions,
                step=case.step, method=method, laws=None,
            )  # fmt: skip
            values = run.evaluate(law)
            sizes.append(float(np.abs(values - values[0]).max()))
        found.append((what, name, sizes))
    return found


def growth() -> str:
    lines = ["| corrected | law | " + " | ".join(map(str, REVOLUTIONS)) + " |"]
    lines.append("|" + " --- |" * (2 + len(REVOLUTIONS)))
    for what, name, sizes in grown():
        lines.append("| " + " | ".join([what, name, *map(size, sizes)]) + " |")
    return "\n".join(lines) + "\n"


def tables() -> str:
    return "\n".join(table(make) for make in CASES)


def into_the_page() -> None:
    """Both sets of tables go between their marks."""
    text = PAGE.read_text()
    for begin, made in ((BEGIN, tables()), (LATER, growth())):
        before, _, rest = text.partition(f"{begin}\n")
        text = f"{before}{begin}\n{made}\n{END}{rest.partition(END)[2]}"
    PAGE.write_text(text)


if __name__ == "__main__":
    into_the_page()
    print(f"wrote the tables of {PAGE.name}")
