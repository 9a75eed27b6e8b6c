"""The loop over time for beams whose nodes are solved for together: see `coupled`."""

from __future__ import annotations

import numpy as np

from taut.kernel.jit import entry, within
from taut.march.codes import DONE
from taut.march.coupled import advance
from taut.march.field_loop import (
    BAD_AIM,
    BAD_LOAD,
    BLOWN_UP,
    GROSS,
    UNSOLVED,
    WORK,
    aimed,
    loaded,
    stored,
    tallied,
)
from taut.march.finish import (
    DISSIPATED,
    ELASTIC,
    FALLEN,
    GRAVITY,
    HELD,
    KINETIC,
    WORK as LOADS,
)


@within
def steered(special, rows, aims, moved, h):
    """Velocities that lead moved ends to where they are to be; see `field_loop.aimed`.

    `moved` holds (hold, column, first row of turn, of place, whether it is pinned).
    """
    k, x, y = np.empty(3), np.empty(3), np.empty(3)
    for i in range(moved.shape[0]):
        hold, j, turn, place, pinned = moved[i]
        to = aims[i, 0]
        for r in range(3):
            x[r] = (rows[to + 4 + r, j] - rows[place + r, j]) / h
        if pinned:
            for r in range(3):
                special.given[hold, r] = x[r]
            continue
        p, q = rows[turn : turn + 4, j], rows[to : to + 4, j]
        scalar = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]
        for r in range(3):  # half of h ω: p⁻¹q = (scalar, …)
            a, b = (r + 1) % 3, (r + 2) % 3
            cross = p[1 + b] * q[1 + a] - p[1 + a] * q[1 + b]
            k[r] = (p[0] * q[1 + r] - q[0] * p[1 + r] + cross) / scalar
        for r in range(3):  # Rᵀ x
            a, b = (r + 1) % 3, (r + 2) % 3
            y[r] = p[1 + a] * x[b] - p[1 + b] * x[a] - p[0] * x[r]
        for r in range(3):
            a, b = (r + 1) % 3, (r + 2) % 3
            special.given[hold, 3 + r] = x[r] + 2.0 * (p[1 + a] * y[b] - p[1 + b] * y[a])
        for r in range(3):
            x[r] = special.given[hold, 3 + r]
        along = k[0] * x[0] + k[1] * x[1] + k[2] * x[2]
        for r in range(3):
            a, b = (r + 1) % 3, (r + 2) % 3
            special.given[hold, 3 + r] = x[r] - (k[a] * x[b] - k[b] * x[a]) + along * k[r]
            special.given[hold, r] = 2.0 * k[r] / h


@entry
def march(
    rows, par, coupling, special, room, notes, sums, moved, loads, aims, books, energies, store,
    layout, row, clock, margin
):  # fmt: skip
    """Make steps; the arguments are those of `coupled.advance` and `field_loop.march`.

    `energies` holds the kinetic and elastic energy together, and that of the weight.
    """
    t0, h, first, count, every = clock
    nodes = coupling.unknown.shape[0]
    for k in range(first, first + count):
        t = t0 + k * h
        if k % every == 0:
            stored(rows, margin, nodes, layout, store[row])
            row += 1
        if tallied(books, energies[0]):
            return k - first, row, BLOWN_UP, 0
        bad = loaded(rows, t + 0.5 * h, t, t + h, *loads)
        if bad >= 0:
            return k - first, row, BAD_LOAD, bad
        bad = aimed(rows, t + h, *aims)
        if bad >= 0:
            return k - first, row, BAD_AIM, bad
        steered(special, rows, aims[2], moved, h)
        code = advance(coupling, special, rows, par, room, notes, sums)
        if code != DONE:
            return k - first, row, UNSOLVED, code
        fallen = sums[FALLEN]  # inertias that are not those of a mass have no height
        energies[0], energies[1] = sums[KINETIC] + sums[ELASTIC], sums[GRAVITY]
        books[WORK] += sums[LOADS] + sums[HELD] + fallen - sums[DISSIPATED]
        books[GROSS] += abs(sums[LOADS]) + abs(sums[HELD]) + abs(fallen) + sums[DISSIPATED]
    return count, row, DONE, 0
