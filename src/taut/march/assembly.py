"""Newton's matrix and right-hand side, from the rows that sweeps leave.

See `taut.march.coupled.Coupling` for `c` and `taut.march.special` for E and H.
"""

from __future__ import annotations

import numpy as np

from taut.kernel.blocks import SIZE, factorise
from taut.kernel.implicit_code import BALANCE, BALANCE_SLOPES, PULL, PULL_SLOPES
from taut.kernel.jit import within
from taut.kernel.sweep_code import MARGIN
from taut.march.call import call_sweep
from taut.march.codes import DONE, HALF_TURN, NOT_FINITE, SINGULAR
from taut.march.finish import pull
from taut.march.special import frames


@within
def balance(c, special, rows, par, room, h, slopes):
    """Forces and balances at the velocities in `rows`, or why there are none.

    With slopes, factors of Newton's matrix too.
    """
    stride, count, sums = rows.shape[1], c.unknown.shape[0], room.sums
    base, numbers = rows.ctypes.data + 8 * MARGIN, par.ctypes.data
    pull(c, rows, par, sums, PULL_SLOPES if slopes else PULL)
    if sums[0] > 0.0:
        return HALF_TURN
    way = c.address[BALANCE_SLOPES if slopes else BALANCE]
    call_sweep(way, base, stride, numbers, 0, count, sums.ctypes.data)
    frames(special, rows, c.zeta, c.turn, c.gap, h)
    gather(c, special, rows, room.x)
    if slopes:
        assemble(c, special, rows, room.blocks)
        if factorise(c.pattern, room.blocks, room.pivots) >= 0:
            return SINGULAR if np.isfinite(room.x.sum()) else NOT_FINITE
    return DONE


@within
def gather(c, special, rows, x):
    """The balances of the unknowns: Hᵀ(balance)."""
    x[:] = 0.0
    for node in range(c.unknown.shape[0]):
        k, n, j = c.unknown[node], c.special[node], MARGIN + node
        if n < 0:
            for i in range(SIZE):
                x[k, i] += rows[c.gap + i, j]
        else:
            for i in range(SIZE):
                for m in range(SIZE):
                    x[k, i] += special.test[n, m, i] * rows[c.gap + m, j]


@within
def scatter(c, special, rows, x):
    """The changes of velocities: E δy."""
    for node in range(c.unknown.shape[0]):
        k, n, j = c.unknown[node], c.special[node], MARGIN + node
        if n < 0:
            for i in range(SIZE):
                rows[c.gap + i, j] = x[k, i]
        else:
            for i in range(SIZE):
                total = 0.0
                for m in range(SIZE):
                    total += special.enter[n, i, m] * x[k, m]
                rows[c.gap + i, j] = total


@within
def assemble(c, special, rows, blocks):
    """Newton's matrix, of slopes of nodes and edges."""
    blocks[:] = 0.0
    enter, test = special.enter, special.test
    for node in range(c.unknown.shape[0]):
        n, block, j = c.special[node], blocks[c.pattern.diagonal[c.unknown[node]]], MARGIN + node
        if n >= 0:
            add(block, rows, c.own, j, test, n, enter, n)
            if special.leader[n] < 0:
                extra = special.extra[special.hold[n]]
                for i in range(SIZE):
                    for m in range(SIZE):
                        block[i, m] += extra[i, m]
            continue
        for i in range(SIZE):
            slope = rows[c.own + SIZE * i : c.own + SIZE * (i + 1)]
            for m in range(SIZE):
                block[i, m] += slope[m, j]
    for b in range(c.spans.shape[0]):
        for node in range(c.spans[b, 0], c.spans[b, 1] - 1):
            one, two, j = c.special[node], c.special[node + 1], MARGIN + node
            for k in range(4):
                block, first = blocks[c.slots[node, k]], c.slope + SIZE * SIZE * k
                if one >= 0 or two >= 0:
                    out, into = (one, two)[k // 2], (one, two)[k % 2]
                    add(block, rows, first, j, test, out, enter, into)
                    continue
                for i in range(SIZE):
                    slope = rows[first + SIZE * i : first + SIZE * (i + 1)]
                    for m in range(SIZE):
                        block[i, m] += slope[m, j]


@within
def add(block, rows, first, j, test, one, enter, two):
    """Add HᵀBE, with B from 36 rows, to a block."""
    half = np.empty((SIZE, SIZE))
    for i in range(SIZE):
        for k in range(SIZE):
            total = rows[first + SIZE * i + k, j]
            if two >= 0:
                total = 0.0
                for m in range(SIZE):
                    total += rows[first + SIZE * i + m, j] * enter[two, m, k]
            half[i, k] = total
    for i in range(SIZE):
        for k in range(SIZE):
            if one < 0:
                block[i, k] += half[i, k]
                continue
            for m in range(SIZE):
                block[i, k] += test[one, m, i] * half[m, k]
