"""One step of an implicit scheme for beams: Newton's method for the velocities of all nodes.

The equations of nodes and edges are compiled sweeps (`taut.kernel.implicit_code`); this is what
couples them.  Unknowns are six numbers per node.  A node that follows another one has none: its
velocity is that of its leader, seen in its own frame, and the forces on it act on the leader.  A
held node has as many as its hold leaves free; the equations of the others give the force of the
hold.

Newton's matrix is factorised when it pays and kept otherwise, from iteration to iteration and from
step to step: a factorisation costs as much as `COST` iterations.  With the factors of an earlier
iterate the changes fall by a rate that is seen; with new ones the next change is κ times the last
one squared, and κ is remembered.  It stops when what is left by either rule is round-off: of the
velocity, or of the strains that it makes.  A step that fails leaves everything as it was.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from taut.kernel.blocks import SIZE, Pattern, solve
from taut.kernel.implicit_code import SETTLE
from taut.kernel.jit import within
from taut.kernel.sweep_code import MARGIN
from taut.march.approach import approach
from taut.march.assembly import balance, scatter
from taut.march.call import call_sweep
from taut.march.codes import DONE, NOT_FINITE, SLOW
from taut.march.finish import clear, finish
from taut.march.special import impose

LIMIT = 30  # iterations
COST = 4.0  # of a factorisation, in iterations
TOLERANCE = 2e-15  # of the velocities
SMALL = 2e-17  # strains that a step need not care for
NEAR = 1e-10  # of the velocities: changes that small may be round-off
PAUSE = 16  # steps that start with new factors after old ones have not paid

# What is remembered from step to step.
NOTES = ("step", "kept", "kappa", "along", "pause", "iterations", "factorisations", "made")
STEP, KEPT, KAPPA, ALONG, PAUSED, ITERATIONS, FACTORS, MADE = range(len(NOTES))


class Coupling(NamedTuple):
    """What does not change in a run.

    Attributes
    ----------
    address : ndarray of int
        Of the sweeps, in the order of `taut.kernel.implicit_code.SWEEPS`.
    step : int
        The slot of the step size.
    spacing : float
        A length between nodes.
    zeta, last, change, gap, own, slope, left, right, other, turn, place : int
        First rows; `last` is the velocity in the step before, `change` its last change.
    spans : ndarray, shape (beams, 2)
        First and last (exclusive) node of each beam.
    unknown : ndarray, shape (N,)
        Where a node's equations, or those of its leader, are in the order of elimination.
    slots : ndarray, shape (N, 4)
        Blocks of the edge that starts at a node: (i, i), (i, j), (j, i), (j, j).
    pattern : Pattern
        Of Newton's matrix; see `taut.kernel.blocks`.
    special : ndarray, shape (N,)
        Numbers of nodes that follow or are held (see `taut.march.special`), else −1.
    """

    address: np.ndarray
    step: int
    spacing: float
    zeta: int
    last: int
    change: int
    gap: int
    own: int
    slope: int
    left: int
    right: int
    other: int
    turn: int
    place: int
    spans: np.ndarray
    unknown: np.ndarray
    slots: np.ndarray
    special: np.ndarray
    pattern: Pattern


class Room(NamedTuple):
    """What a step works in: the room of `taut.kernel.blocks`, right-hand sides, sums."""

    blocks: np.ndarray
    pivots: np.ndarray
    x: np.ndarray
    sums: np.ndarray


@within
def advance(c, special, rows, par, room, notes, energy):
    """Make one step.

    Parameters
    ----------
    c : Coupling
    special : Special
        Nodes that follow or are held; what moves held ones in this step is set.
    rows : ndarray, shape (height, stride)
        Loads are those of the middle of the step.
    par : ndarray
    room : Room
    notes : ndarray, shape (len(NOTES),)
        Zero at the start of a run.
    energy : ndarray, shape (len(SUMS),)
        Kinetic, elastic and gravitational energy after the step; work of loads, what is dissipated,
        work of held ends and of the weight, all in this step.

    Returns
    -------
    int
        `DONE`, or why the step was not made; the state is then as before.
    """
    if notes[STEP] != par[c.step]:
        notes[STEP], notes[KEPT], notes[KAPPA], notes[ALONG] = par[c.step], 0.0, 0.0, 0.0
    clear(c, special, rows)
    guess(c, rows, notes[ALONG])
    code = newton(c, special, rows, par, room, notes, par[c.step])
    if code != DONE:  # once more, with care
        guess(c, rows, 0.0)
        code, made = approach(c, special, rows, par, room)
        notes[KEPT], notes[PAUSED] = 0.0, PAUSE
        notes[ITERATIONS] += made
        notes[FACTORS] += made
        if code == DONE:
            code = newton(c, special, rows, par, room, notes, par[c.step])
    if code != DONE:
        guess(c, rows, 0.0)
        notes[KEPT] = 0.0
        return code
    notes[ALONG] = judge(c, rows)
    finish(c, special, rows, par, room, energy)
    notes[MADE] += 1.0
    return DONE


@within
def guess(c, rows, along):
    """The last velocity and a part of its last change."""
    for i in range(SIZE):
        zeta, last, change = rows[c.zeta + i], rows[c.last + i], rows[c.change + i]
        for j in range(MARGIN, MARGIN + c.unknown.shape[0]):
            zeta[j] = last[j] + along * change[j]


@within
def judge(c, rows):
    """Keep the velocity and its change; the part of the last change that would have been best."""
    above, below = 0.0, 0.0
    for i in range(SIZE):
        scale = c.spacing * c.spacing if i < 3 else 1.0
        zeta, last, change = rows[c.zeta + i], rows[c.last + i], rows[c.change + i]
        for j in range(MARGIN, MARGIN + c.unknown.shape[0]):
            new = zeta[j] - last[j]
            above += scale * new * change[j]
            below += scale * change[j] * change[j]
            last[j], change[j] = zeta[j], new
    return min(1.0, max(0.0, above / below)) if below > 0.0 else 1.0


@within
def newton(c, special, rows, par, room, notes, h):
    """Find the velocities; `DONE` or why not.  Poses that stay where they are have h = 0."""
    stride, count = rows.shape[1], c.unknown.shape[0]
    base, numbers, sums = rows.ctypes.data + 8 * MARGIN, par.ctypes.data, room.sums
    kept = notes[KEPT] == 1.0
    if kept and notes[PAUSED] > 0.0:
        notes[PAUSED] -= 1.0
        kept = False
    old, fresh = kept, False  # factors of an earlier step; of the last iterate
    before, before_with = 0.0, 0.0  # the last change, and the last one with the same factors
    small = SMALL * c.spacing / h * np.sqrt(count) if h > 0.0 else 0.0
    impose(special, rows, c.zeta, c.turn, h)
    for _ in range(LIMIT):
        new = not kept
        if new:
            notes[KEPT], before_with = 0.0, 0.0
        code = balance(c, special, rows, par, room, h, new)
        if code != DONE:
            return code
        if new:
            notes[FACTORS] += 1.0
            notes[KEPT], kept, fresh = 1.0, True, True
        solve(c.pattern, room.blocks, room.pivots, room.x)
        scatter(c, special, rows, room.x)
        sums[:] = 0.0
        call_sweep(c.address[SETTLE], base, stride, numbers, 0, count, sums.ctypes.data)
        impose(special, rows, c.zeta, c.turn, h)
        notes[ITERATIONS] += 1.0
        moved, size = np.sqrt(sums[0]), np.sqrt(sums[1])
        if not (np.isfinite(moved) and np.isfinite(size)):
            return NOT_FINITE
        enough = TOLERANCE * size + small
        left, rate = moved, 1.0
        if before_with > 0.0:
            rate = moved / before_with
            if fresh:  # the second change with new factors tells how curved it all is
                notes[KAPPA], fresh = rate / before_with, False
            left = moved * rate / (1.0 - rate) if rate < 1.0 else moved
        elif new and notes[KAPPA] > 0.0:
            left = moved * min(1.0, 8.0 * notes[KAPPA] * moved)
        noise = moved > 0.25 * before and moved < NEAR * size + 100.0 * small
        if left <= enough or moved <= enough or (before > 0.0 and noise):
            return DONE
        if new and before > 0.0 and moved > 2.0 * before:
            return SLOW
        if before_with > 0.0 and not pays(left, rate, enough, notes[KAPPA]):
            kept = False
            if old:
                notes[PAUSED], old = PAUSE, False
        before = before_with = moved
    return SLOW


@within
def pays(left, rate, enough, kappa):
    """Whether going on with old factors is cheaper than making new ones."""
    if rate > 0.5:
        return False
    iterations = np.log(enough / left) / np.log(max(rate, 1e-8))
    after = kappa * left  # the rate with new factors
    rest = 2.0 if after <= 0.0 or after >= 0.5 else max(
        1.0, np.log(enough / left) / np.log(after)
    )  # fmt: skip
    return iterations <= COST + rest
