"""Does it pay to keep Newton's factors from one step to the next?

The stage equations of chains of links are solved in plain NumPy with a matrix that is factorised
in every step, or in every second, fourth, … one, and iterations are counted.  Together with the
operations that a factorisation and an iteration take, as `taut` compiles them, this gives the work
of a step.  `python benchmarks/kept_factors.py` prints the table of docs/engine.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import casadi as ca
import numpy as np
from scipy.linalg import lu_factor, lu_solve

import taut
from taut.kernel import fused, newtons
from taut.kernel.eliminate import operations
from taut.problems import problem

AGES = (1, 2, 4, 8)
LIMIT, SMALL, NEXT, NOISE, STALLS = 25, 1e-8, 1e-16, 1e-10, 0.6
CASES = (
    (2, 3, (0.04, 0.02, 0.01, 0.005)),
    (4, 4, (0.02, 0.01, 0.005, 0.0025)),
    (8, 3, (0.02, 0.01, 0.005)),
)


@dataclass
class Work:
    """What a step took on average."""

    iterations: float
    factorisations: float
    operations: float


class Stages:
    """The stage equations of a Gauss–Lobatto step on a chain, and what they cost."""

    def __init__(self, links: int, stages: int) -> None:
        self.problem = problem("chain", links=links)
        self.method = taut.GaussLobatto(stages)
        matrices: list[ca.SX] = []

        def kept(*arguments):
            matrices.append(simplified(*arguments))
            return matrices[-1]

        simplified, pays = newtons._simplified, newtons.PAYS
        newtons._simplified, newtons.PAYS = kept, 0.0
        try:
            self.program = fused.fuse(self.problem.system, self.method)
        finally:
            newtons._simplified, newtons.PAYS = simplified, pays
        (newton,) = self.program.newtons
        self.size = newton.unknowns.numel()
        given, z = list(self.program.inputs.values()), newton.unknowns
        program = self.program
        self.guess = ca.Function("guess", given, [newton.guess])
        self.matrix = ca.Function("matrix", [*given, newton.start], [ca.densify(matrices[0])])
        self.residual = ca.Function("residual", [*given, z], [newton.residual])
        self.move = ca.Function("move", [*given, z], [program.dq])
        self.kick = ca.Function("kick", [*given, z, program.q1], [program.dp])
        self.end = ca.Function("end", [*given, z, program.q1, program.p1], [program.v1])
        whole, alone = _count(newton.change), _count(newton.residual)
        self.iteration = operations(newton.change, z)
        self.constants = alone - operations(newton.residual, z)
        self.factorisation = whole - self.iteration - self.constants

    def walk(self, h: float, age: int, steps: int = 250) -> Work | None:
        """So many steps with a matrix that is used `age` times; None where Newton failed."""
        program = self.program
        first = self.problem.simulate(method="rattle", step=h, duration=h, laws=None)
        q, p, v = (np.array(x[0]) for x in (first.q, first.p, first.v))
        par = np.array([float(x) for x in self.problem.system.parameters.values()])
        memory, move, made, factors = program.first_memory(q, p, v), h * v, 0, 0
        fixed = {"cq": 0 * q, "floor": 0 * q + 1e-3, "h": h, "par": par}
        lu = None
        for k in range(steps):
            state = {"q": q, "p": p, "v": v, "move": move, "memory": memory}
            now = fixed | state | {"t": k * h, "t1": (k + 1) * h}
            given = [now[name] for name in program.inputs]
            z = np.array(self.guess(*given)).ravel()
            if k % age == 0:
                lu, factors = lu_factor(np.array(self.matrix(*given, z))), factors + 1
            found = self._solved(given, z, lu, np.abs(v).max())
            if found is None:
                return None
            z, made = found[0], made + found[1]
            move = np.array(self.move(*given, z)).ravel()
            after = q + move
            pushed = p + np.array(self.kick(*given, z, after)).ravel()
            v = np.array(self.end(*given, z, after, pushed)).ravel()
            q, p, memory = after, pushed, np.concatenate([z, memory[: 2 * self.size]])
        work = (factors * self.factorisation + made * self.iteration) / steps + self.constants
        return Work(made / steps, factors / steps, work)

    def _solved(self, given, z, lu, speed):
        """The stages and the iterations that they took, by the rules of kernel/newton_code.py."""
        moves = []
        for _ in range(LIMIT):
            change = -lu_solve(lu, np.array(self.residual(*given, z)).ravel(), check_finite=False)
            z = z + change
            moves.append(np.abs(change[: self.program.n]).max() / max(speed, 1e-3))
            if not np.isfinite(moves[-1]):
                return None
            for last, this in list(pairwise(moves))[-1:]:
                final = this <= SMALL and this * this <= NEXT * last
                if final or (this <= NOISE and this >= STALLS * last):
                    return z, len(moves)
        return None


def _count(expression: ca.SX) -> int:
    inputs = ca.vertcat(*ca.symvar(expression))
    return ca.Function("all", [inputs], ca.cse([expression])).n_instructions()


def table() -> str:
    """Work in operations per step, relative to factors of its own in every step."""
    lines = [
        "| links | order | factorisation | step | energy error | iterations | work |",
        "|---|---|---|---|---|---|---|",
    ]
    for links, stages, steps in CASES:
        equations = Stages(links, stages)
        share = equations.factorisation / equations.iteration
        for h in steps:
            run = equations.problem.simulate(
                method=equations.method, step=h, duration=20.0, laws=None
            )
            error = np.ptp(run.energy) / abs(run.energy).max()
            walks = [equations.walk(h, age) for age in AGES]
            made = ["fails" if w is None else f"{w.iterations:.1f}" for w in walks]
            work = [
                "–" if w is None else f"{w.operations / walks[0].operations:.2f}" for w in walks
            ]
            cells = [links, 2 * stages, f"{share:.1f}", h, f"{error:.0e}"]
            told = [*map(str, cells), ", ".join(made), ", ".join(work[1:])]
            lines.append(f"| {' | '.join(told)} |")
    return "\n".join(lines)


def large() -> str:
    """Iterations per step where systems are large and the matrix is exact in each of them."""
    lines = ["| links | order | step | iterations |", "|---|---|---|---|"]
    for links in (20, 60):
        for stages in (2, 3):
            for h in (0.01, 0.005, 0.002):
                run = problem("chain", links=links).simulate(
                    method=taut.GaussLobatto(stages), step=h, duration=1.0, laws=None
                )
                made = run.certificate.iterations
                lines.append(f"| {links} | {2 * stages} | {h} | {made:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(), large(), sep="\n\n")
