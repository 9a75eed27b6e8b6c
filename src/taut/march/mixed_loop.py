"""The loop over time for fields whose density mixes strains and momenta.

The stress h_γ then depends on the new momenta, so that neighbours are coupled: node and edge sweeps
are repeated until the momenta stay as they are.  Each repetition gains a factor of about
h |h_γμ|/Δs, a Courant number.

Where they mix, symplectic Euler is what (36) says: h_γ is taken with the new momenta and h_μ with
the old strains.  Staggering does not make that a scheme of second order: the parts that mix are of
first order, and the energy stays in a band.
"""

from __future__ import annotations

import numpy as np

from taut.kernel.jit import entry
from taut.march.field_loop import BLOWN_UP, DONE, UNSOLVED, copied, noted, stored, swept

ROUNDS = 200
SMALL, NOISE = 1e-31, 1e-24  # squares of relative changes: below round-off, or rounding if stuck


@entry
def settled(rows, origin, par, stages, halos, table, margin, nodes):
    """Find the momenta of the next time; whether they were found."""
    move, pull = stages[0], stages[1]
    stride, given = rows.shape[1], par.ctypes.data
    sums, idle = np.zeros(4), np.zeros(4)
    last = np.inf
    for r in range(table[2]):
        for j in range(-1, nodes + 1):
            rows[table[1] + r, margin + j] = rows[table[0] + r, margin + j]
    for _ in range(ROUNDS):
        sums[:] = 0.0
        if swept(move, origin, stride, given, sums.ctypes.data) >= 0:
            return False
        copied(rows, halos[0])
        swept(pull, origin, stride, given, idle.ctypes.data)
        copied(rows, halos[1])
        change, size = sums[0], sums[1]
        if change <= SMALL * size or (change >= last and change <= NOISE * size):
            return True
        if not change < 1e300:
            return False
        last = change
    return False


@entry
def counted(rows, origin, par, stages):
    """The energy at the time of the strains, with the momenta that are shown."""
    sums = np.zeros(4)
    swept(stages[2], origin, rows.shape[1], par.ctypes.data, sums.ctypes.data)
    return sums[0]


@entry
def march(
    rows, origin, par, stages, halos, table, books, store, layout, row, h, first, count, every,
    margin, nodes
):  # fmt: skip
    """Make `count` steps; (steps made, next row, code, place)."""
    idle = np.zeros(4)
    for k in range(first, first + count):
        if not settled(rows, origin, par, stages, halos, table, margin, nodes):
            return k - first, row, UNSOLVED, 0
        if k % every == 0:
            stored(rows, margin, nodes, layout, store[row])
            row += 1
        if noted(books, counted(rows, origin, par, stages), 0.0, h):
            return k - first, row, BLOWN_UP, 0
        swept(stages[3], origin, rows.shape[1], par.ctypes.data, idle.ctypes.data)
        copied(rows, halos[1])
    return count, row, DONE, 0
