"""The loop over time for beams with damping: see `damper`."""

from __future__ import annotations

import numpy as np
from numba import njit

from taut.march.damper import damped
from taut.march.field_loop import (
    BAD_AIM,
    BAD_LOAD,
    BLOWN_UP,
    DONE,
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


@njit(nogil=True, cache=True)
def eased(rows, origin, par, enter, damper, books):
    """Damp what is shown and take it as the momentum; `DONE` or why not, and a place."""
    if damped(rows, books, damper) != 0:
        return UNDAMPED, 0
    sums = np.zeros(4)
    failed = swept(enter, origin, rows.shape[1], par.ctypes.data, sums.ctypes.data)
    return (DONE, 0) if failed < 0 else (UNSOLVED, failed)


@njit(nogil=True, cache=True)
def march(
    strand,
    stages,
    ties,
    loads,
    aims,
    damper,
    due,
    books,
    energies,
    store,
    layout,
    row,
    clock,
    margin,
):
    """Make steps; see `taut.march.field_loop.march`, whose stages there is `begin` besides."""
    rows, origin, par, nodes = strand
    joints, turns, halo_nodes, halo_edges = ties
    t0, h, first, count, every = clock
    show, move, bend, enter = stages
    stride, sums = rows.shape[1], np.zeros(4)
    for k in range(first, first + count):
        t = t0 + k * h
        bad = loaded(rows, t, *loads)
        if bad >= 0:
            return k - first, row, BAD_LOAD, bad
        bad = aimed(rows, t + h, *aims)
        if bad >= 0:
            return k - first, row, BAD_AIM, bad
        gathered(rows, joints, turns, margin)
        if due[0] == 1.0:
            failed = swept(show, origin, stride, par.ctypes.data, sums.ctypes.data)
            if failed >= 0:
                return k - first, row, UNSOLVED, failed
            code, place = eased(rows, origin, par, enter, damper, books)
            if code != DONE:
                return k - first, row, code, place
            due[0] = 0.0
        sums[:] = 0.0  # between both halves of the damping
        failed = swept(show, origin, stride, par.ctypes.data, sums.ctypes.data)
        if failed >= 0:
            return k - first, row, UNSOLVED, failed
        if k % every == 0:
            stored(rows, margin, nodes, layout, store[row])
            row += 1
        if noted(books, sums[0] + energies[0], sums[1], h):
            return k - first, row, BLOWN_UP, 0
        code, place = eased(rows, origin, par, enter, damper, books)
        if code != DONE:
            return k - first, row, code, place
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
