"""The loop over time for beams with damping: see `damper`."""

from __future__ import annotations

import numpy as np

from taut.kernel.jit import entry
from taut.march.damper import damped
from taut.march.field_loop import (
    BAD_AIM,
    BAD_LOAD,
    BLOWN_UP,
    DONE,
    POWER,
    UNDAMPED,
    UNSOLVED,
    aimed,
    copied,
    gathered,
    led,
    loaded,
    noted,
    stored,
    swept,
)


@entry
def march(
    strand,
    stages,
    ties,
    loads,
    aims,
    damper,
    due,
    again,
    books,
    energies,
    store,
    layout,
    row,
    clock,
    margin,
):
    """Make steps; see `taut.march.field_loop.march`.

    Parameters
    ----------
    stages : five arrays of (address, first, last)
        What is shown, its energy, what is begun from, nodes, edges.
    damper, due : see `Damper`
    again : (int, int, int)
        First rows of what is shown and of what is carried, and how many they are.
    """
    rows, origin, par, nodes = strand
    joints, turns, halo_nodes, halo_edges = ties
    t0, h, first, count, every = clock
    show, weigh, begin, move, bend = stages
    stride, sums = rows.shape[1], np.zeros(4)
    for k in range(first, first + count):
        t, before = t0 + k * h, 0.5 * h if k > 0 else 0.0
        # The halves of a kick are apart: until now, and from now on.
        apart = before > 0.0 and loads[5][0] != 0
        bad = loaded(rows, t, t - before, t if apart else t + 0.5 * h, *loads)
        if bad >= 0:
            return k - first, row, BAD_LOAD, bad
        bad = aimed(rows, t + h, *aims)
        if bad >= 0:
            return k - first, row, BAD_AIM, bad
        gathered(rows, joints, turns, margin)
        failed = swept(show, origin, stride, par.ctypes.data, sums.ctypes.data)
        if failed >= 0:
            return k - first, row, UNSOLVED, failed
        if due[0] == 1.0 and damped(rows, books, damper) != 0:
            return k - first, row, UNDAMPED, 0
        if k % every == 0:
            stored(rows, margin, nodes, layout, store[row])
            row += 1
        sums[:] = 0.0
        swept(weigh, origin, stride, par.ctypes.data, sums.ctypes.data)
        if noted(books, sums[0] + energies[0], sums[1], h):
            return k - first, row, BLOWN_UP, 0
        if damped(rows, books, damper) != 0:
            return k - first, row, UNDAMPED, 0
        if apart:
            bad = loaded(rows, t, t, t + 0.5 * h, *loads)
            if bad >= 0:
                return k - first, row, BAD_LOAD, bad
            sums[:] = 0.0
            swept(weigh, origin, stride, par.ctypes.data, sums.ctypes.data)
            books[POWER] = sums[1]
        seen, mu, size = again
        for r in range(size):
            rows[mu + r] = rows[seen + r]
        failed = swept(begin, origin, stride, par.ctypes.data, sums.ctypes.data)
        if failed < 0:
            failed = swept(move, origin, stride, par.ctypes.data, sums.ctypes.data)
        if failed >= 0:
            return k - first, row, UNSOLVED, failed
        copied(rows, halo_nodes)
        led(rows, joints, turns, margin)
        sums[:] = 0.0
        swept(bend, origin, stride, par.ctypes.data, sums.ctypes.data)
        copied(rows, halo_edges)
        energies[0] = sums[0]
        due[0] = 1.0
    return count, row, DONE, 0
