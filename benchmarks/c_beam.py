"""Compile `beam_poisson.c`, check it against the plain NumPy program, and time both.

`python benchmarks/c_beam.py` prints all of it.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from c_rattle import compiler

from taut.papers import cs_plain

SOURCE = Path(__file__).with_name("beam_poisson.c")
# Scheduling before registers are given out, and their renaming after it, are worth some 4 %.
COMMAND = (
    *("gcc", "-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC"),
    *("-fschedule-insns", "-fsched-pressure", "-frename-registers"),
)
STEP = 1e-4
SCHEMES = {"Poisson": cs_plain.poisson, "Hamel": cs_plain.hamel}
_DOUBLES = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")


@dataclass(frozen=True)
class Outcome:
    """Last state, total energies of all states if wanted, and the sweeps of all blocks."""

    mu: np.ndarray
    gamma: np.ndarray
    frames: np.ndarray
    positions: np.ndarray
    energy: np.ndarray | None
    sweeps: int
    seconds: float  # inside C


def build(folder, *options):
    """Compile into `folder`; returns function(start, steps, step, energy) -> Outcome."""
    library = Path(folder) / f"beam_poisson{''.join(options)}.so"
    subprocess.run([*COMMAND, *options, "-o", library, SOURCE, "-lm"], check=True)
    march = ctypes.CDLL(str(library)).run
    march.restype = ctypes.c_long
    march.argtypes = [
        *(ctypes.c_int, ctypes.c_long, ctypes.c_double, ctypes.c_double),
        *(_DOUBLES, _DOUBLES, _DOUBLES, _DOUBLES, _DOUBLES, ctypes.c_void_p),
    ]

    def run(start, steps, step=STEP, energy=False):
        beam, count = start.beam, start.beam.nodes
        d1, d2 = beam.inertia, beam.stiffness
        if np.ptp(d1[3:]):
            raise ValueError("the C program is for a mass without direction: d1[3] = d1[4] = d1[5]")
        mu, gamma = start.mu.copy(), start.gamma.copy()
        pose = np.hstack([start.frames.reshape(count, 9), start.positions])
        found = np.empty(steps + 1) if energy else None
        began = time.perf_counter()
        sweeps = march(
            *(count, steps, step, beam.spacing, d1, d2, mu, gamma, pose),
            None if found is None else found.ctypes.data,
        )
        seconds = time.perf_counter() - began
        if sweeps < 0:
            raise RuntimeError("the sweeps of a node did not converge in C")
        frames, positions = pose[:, :9].reshape(count, 3, 3), pose[:, 9:]
        return Outcome(mu, gamma, frames, positions, found, sweeps, seconds)

    return run


def paper_like(nodes):
    """The paper's beam, made longer or shorter so that the edges keep their length."""
    paper = cs_plain.Beam()
    return cs_plain.example(cs_plain.Beam(length=(nodes - 1) * paper.spacing, nodes=nodes))


def disagreement(run, start, steps, step=STEP):
    """Largest distances of C from the plain program after `steps` steps.

    Velocities against the largest one, energies against their sum; strains and poses as they are.
    """
    ours, plain = run(start, steps, step, energy=True), cs_plain.poisson(start, step, steps)
    energies = cs_plain.energy(start.beam, plain.mu, plain.gamma).sum(axis=-1)
    zeta = plain.mu[-1] / start.beam.inertia
    return {
        "velocities": np.abs(ours.mu / start.beam.inertia - zeta).max() / np.abs(zeta).max(),
        "strains": np.abs(ours.gamma - plain.gamma[-1]).max(),
        "frames": np.abs(ours.frames - plain.frames[-1]).max(),
        "positions": np.abs(ours.positions - plain.positions[-1]).max(),
        "energies": np.abs(ours.energy / energies - 1).max(),
    }


def c_seconds(run, start, steps, energy=True):
    """Wall time of one step in C, the way of the state in and out included."""
    return run(start, steps, STEP, energy).seconds / steps


def along(run, start, steps=1000, parts=10):
    """States in the middle of `parts` equal parts of a run in C, to start from.

    At the start of the paper's example most nodes are still and need fewer iterations than later.
    """
    ends = [run(start, (2 * k + 1) * steps // (2 * parts)) for k in range(parts)]
    return [cs_plain.Start(start.beam, e.mu, e.gamma, e.frames, e.positions) for e in ends]


def plain_seconds(scheme, start, steps=10):
    """Wall time of one step of the plain program; the scheme is 'Poisson' or 'Hamel'."""
    began = time.perf_counter()
    SCHEMES[scheme](start, STEP, steps, every=steps)
    return (time.perf_counter() - began) / steps


def best(calls, repeats=7):
    """Smallest answer of each call; they take turns, so that other work falls on all alike."""
    answers = [[call() for call in calls] for _ in range(repeats)]
    return [min(column) for column in zip(*answers, strict=True)]


def c_costs(run, start, steps):
    """Seconds per step in C, without energies and with them."""
    return best([lambda e=e: c_seconds(run, start, steps, e) for e in (False, True)])


def plain_costs(starts, repeats=3):
    """Seconds per step of the plain program, Poisson and Hamel: the mean over the starts."""

    def both(start):
        return best([lambda s=s: plain_seconds(s, start) for s in SCHEMES], repeats)

    return np.mean([both(start) for start in starts], axis=0)


def main():
    print(compiler(), "·", " ".join(COMMAND))
    paper = paper_like(101)
    with tempfile.TemporaryDirectory() as folder:
        run = build(folder)
        for what, size in disagreement(run, paper, 20).items():
            print(f"C − plain NumPy after 20 steps, {what:<10} {size:.1e}")
        print(f"\n{'nodes':>7} {'steps':>7} {'ns per node and step':>21} {'with energies':>14}")
        for nodes, steps in ((101, 20_000), (10_000, 400), (100_000, 100)):
            costs = [1e9 / nodes * wall for wall in c_costs(run, paper_like(nodes), steps)]
            print(f"{nodes:>7} {steps:>7} {costs[0]:>21.2f} {costs[1]:>14.2f}")
        bare, whole = (1e6 * wall for wall in c_costs(run, paper, 1000))
        starts = along(run, paper)
    print(f"\nthe paper's 1000 steps in C: {bare:.3f} ms, with energies {whole:.3f} ms")
    ours, theirs = plain_costs(starts)
    print(f"the same in plain NumPy: {1e3 * ours:.1f} s, Hamel {1e3 * theirs:.1f} s")
    print(f"Hamel ÷ Poisson {theirs / ours:.3f}; in the paper 1.168 (Python) and 1.033 (MATLAB)")


if __name__ == "__main__":
    main()
