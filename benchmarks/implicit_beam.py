"""What implicit steps of beams cost: time per node and step, iterations, and parts of a step.

The free beam of CS (101 nodes, explicit limit 2e−4 s) at several step sizes; factorising and
solving against LAPACK's banded solver, through SciPy, on the same matrix.  Run it alone:

    python benchmarks/implicit_beam.py
"""

from __future__ import annotations

import time

import numpy as np
from numba import njit
from scipy.linalg import solve_banded

from taut.fields.beam import Beam
from taut.fields.mesh import mesh_of
from taut.fields.section import Square
from taut.kernel import blocks
from taut.kernel.blocks import SIZE
from taut.kernel.jit import entry
from taut.march import assembly, coupled
from taut.march.coupled import NOTES
from taut.march.coupled_run import CoupledRun, coupled_strand
from taut.march.field_start import poses, quaternions
from taut.march.plan import Plan
from taut.methods.fields.implicit import EnergyMomentumBeam


@entry
def advance(*given):
    """A step, as Python can call it; so are the others."""
    return coupled.advance(*given)


@entry
def balance(*given):
    """What is left of the equations."""
    return assembly.balance(*given)


@entry
def assemble(*given):
    """Their matrix."""
    return assembly.assemble(*given)


@entry
def factorise(*given):
    """Its factors."""
    return blocks.factorise(*given)


@entry
def solve(*given):
    """A solution."""
    return blocks.solve(*given)


NODES, LIMIT = 101, 2e-4


@njit(nogil=True)
def march(c, special, rows, par, room, notes, energy, steps):
    """Steps in a compiled loop."""
    code = 0
    for _ in range(steps):
        code = max(code, advance(c, special, rows, par, room, notes, energy))
    return code == 0


def thrown(h):
    beam = Beam(2 * np.pi / 3, Square(0.1), density=1e3, young=1e7, poisson=0.35, nodes=NODES)
    momentum, strain = np.zeros((NODES, 6)), np.zeros((NODES - 1, 6))
    momentum[:, 3], momentum[:, 4] = 10 * np.sin(np.linspace(0, np.pi, NODES)), 10
    strain[:, 0] = -1
    mesh = mesh_of([beam])
    strand, pose = coupled_strand(mesh), poses(mesh, strain)
    strand.give("turn", quaternions(pose))
    strand.give("place", pose[:, :3, 3])
    strand.give("zeta", np.linalg.solve(mesh.inertia, momentum[..., None])[..., 0])
    strand.view("chi")[:, :-1] = (strain + mesh.reference).T
    run = CoupledRun(strand, EnergyMomentumBeam(), Plan.of(0.0, 1e3 * h, h, 1), mesh)
    run.begin(momentum, h, 0.0)
    return run


def steps_of(h, steps=400, repeats=5):
    """(µs per node and step, iterations and factorisations per step), the best of some runs."""
    best, run = np.inf, thrown(h)
    rows, par = run.strand.rows, run.strand.par
    march(run.coupling, run.special, rows, par, run.room, run.notes, np.zeros(6), 50)
    before = run.notes.copy()
    for _ in range(repeats):
        start = time.perf_counter()
        assert march(run.coupling, run.special, rows, par, run.room, run.notes, np.zeros(6),
                     steps)  # fmt: skip
        best = min(best, time.perf_counter() - start)
    made = (run.notes - before) / (steps * repeats)
    counts = [made[NOTES.index(name)] for name in ("iterations", "factorisations")]
    return best / steps / NODES * 1e6, *counts


def linear_solvers(repeats=300):
    """Microseconds: factorise, solve, and LAPACK's banded solver, on one Newton matrix."""
    run = thrown(20 * LIMIT)
    c, p, room = run.coupling, run.coupling.pattern, run.room
    rows, par = run.strand.rows, run.strand.par
    balance(c, run.special, rows, par, room, run.plan.step, True)
    # The matrix itself: assembled once more, and put into bands.
    assemble(c, run.special, rows, room.blocks)
    kept, n, wide = room.blocks.copy(), SIZE * NODES, 2 * SIZE - 1
    bands = np.zeros((2 * wide + 1, n))

    def put(i, j, block):
        for a in range(SIZE):
            for b in range(SIZE):
                row, column = SIZE * i + a, SIZE * j + b
                bands[wide + row - column, column] = block[a, b]

    for k in range(NODES):
        put(k, k, kept[p.diagonal[k]])
        for u in range(p.start[k], p.start[k + 1]):
            put(k, p.row[u], kept[p.upper[u]])
            put(p.row[u], k, kept[p.lower[u]])
    right = np.random.default_rng(0).normal(size=(NODES, SIZE))
    times = np.full(3, np.inf)
    for _ in range(repeats):
        room.blocks[:] = kept
        x = right.copy()
        marks = [time.perf_counter()]
        factorise(p, room.blocks, room.pivots)
        marks.append(time.perf_counter())
        solve(p, room.blocks, room.pivots, x)
        marks.append(time.perf_counter())
        expected = solve_banded((wide, wide), bands, right.ravel(), check_finite=False)
        marks.append(time.perf_counter())
        times = np.minimum(times, np.diff(marks))
    gap = np.abs(x.ravel() - expected).max() / np.abs(expected).max()
    return times * 1e6, gap


def main():
    print("step/limit | µs per node and step | iterations | factorisations")
    for ratio in (1, 2, 5, 10, 25, 100):
        cost, iterations, factors = steps_of(ratio * LIMIT)
        print(f"{ratio:10} | {cost:20.2f} | {iterations:10.2f} | {factors:14.2f}")
    (first, second, banded), gap = linear_solvers()
    print(f"\n{NODES} blocks: factorise {first:.1f} µs, solve {second:.1f} µs; "
          f"solve_banded {banded:.1f} µs (solutions differ by {gap:.1e})")  # fmt: skip


if __name__ == "__main__":
    main()
