"""The way to velocities from afar, where Newton's method has failed: by steps that grow.

The equations of a very short step are almost linear, and their solution is the velocity at the
start.  As the step grows to its full size the solution changes continuously, and is followed.
"""

from __future__ import annotations

import numpy as np

from taut.kernel.blocks import SIZE, solve
from taut.kernel.jit import within
from taut.kernel.sweep_code import MARGIN
from taut.march.assembly import balance, scatter
from taut.march.codes import DONE, NOT_FINITE, SLOW
from taut.march.special import impose

FIRST = 1e-3  # of the step: the shortest one
GROWTH = 4.0  # from one to the next, at most
LEAST = 1.001  # growth that is too slow
CLOSE = 1e-6  # of the velocities: near enough to go on
ITERATIONS = 12
LIMIT = 100  # steps on the way


@within
def approach(c, special, rows, par, room):
    """Come near to the velocities; `DONE` or why not, and the number of factorisations."""
    whole, count = par[c.step], c.unknown.shape[0]
    before, here = np.empty((SIZE, count)), np.empty((SIZE, count))
    keep(c, rows, here)
    made, growth = 0, GROWTH
    h_before, h_here, h = 0.0, 0.0, FIRST * whole
    code = SLOW
    for _ in range(LIMIT):
        along = (h - h_here) / (h_here - h_before) if h_before > 0.0 else 0.0
        for i in range(SIZE):
            for j in range(count):
                guess = here[i, j]
                if along > 0.0:
                    guess += min(1.0, along) * (guess - before[i, j])
                rows[c.zeta + i, MARGIN + j] = guess
        par[c.step] = h
        code, iterations = pursue(c, special, rows, par, room, h)
        made += iterations
        if code == DONE:
            if h == whole:
                break
            h_before, h_here, growth = h_here, h, min(GROWTH, growth * growth)
            before, here = here, before
            keep(c, rows, here)
        elif h_here == 0.0:
            h /= GROWTH * GROWTH
        else:
            growth = np.sqrt(growth)
            if growth < LEAST:
                break
        h = min(whole, (h_here if h_here > 0.0 else h) * growth)
    par[c.step] = whole
    return code, made


@within
def keep(c, rows, out):
    """Copy the velocities."""
    for i in range(SIZE):
        for j in range(out.shape[1]):
            out[i, j] = rows[c.zeta + i, MARGIN + j]


@within
def pursue(c, special, rows, par, room, h):
    """Newton's method with new factors in every iteration; `DONE` or why not, and their number."""
    before, count = np.inf, c.unknown.shape[0]
    impose(special, rows, c.zeta, c.turn, h)
    for iteration in range(ITERATIONS):
        code = balance(c, special, rows, par, room, h, True)
        if code != DONE:
            return code, iteration + 1
        solve(c.pattern, room.blocks, room.pivots, room.x)
        scatter(c, special, rows, room.x)
        moved, size = 0.0, 0.0
        for i in range(SIZE):
            scale = c.spacing * c.spacing if i < 3 else 1.0
            zeta, gap = rows[c.zeta + i], rows[c.gap + i]
            for j in range(MARGIN, MARGIN + count):
                zeta[j] -= gap[j]
                moved += scale * gap[j] * gap[j]
                size += scale * zeta[j] * zeta[j]
        impose(special, rows, c.zeta, c.turn, h)
        if not np.isfinite(moved):
            return NOT_FINITE, iteration + 1
        if moved <= CLOSE * CLOSE * size:
            return DONE, iteration + 1
        if iteration > 1 and moved > 4.0 * before:
            return SLOW, iteration + 1
        before = moved
    return SLOW, ITERATIONS
