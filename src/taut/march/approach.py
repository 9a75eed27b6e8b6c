"""The way to velocities from afar, where Newton's method has failed."""

from __future__ import annotations

import numpy as np
from numba import njit

from taut.kernel.blocks import SIZE, solve
from taut.kernel.sweep_code import MARGIN
from taut.march.assembly import balance, scatter
from taut.march.codes import DONE, NOT_FINITE, SLOW
from taut.march.special import impose

LIMIT = 40  # iterations


@njit(nogil=True, cache=True, error_model="numpy")
def approach(c, special, rows, par, room, h):
    """Come near to the velocities with new factors and shortened changes.

    A change λδ is taken if the next one with the same factors is below 1 − λ/4 of δ (Deuflhard
    2011, the natural monotonicity test).
    """
    count = c.unknown.shape[0]
    at, change = np.empty((SIZE, count)), np.empty((SIZE, count))
    part, made = 1.0, 0
    impose(special, rows, c.zeta, c.turn, h)
    for _ in range(LIMIT):
        code = balance(c, special, rows, par, room, h, True)
        if code != DONE:
            return code, made
        made += 1
        solve(c.pattern, room.blocks, room.pivots, room.x)
        scatter(c, special, rows, room.x)
        size = length(c, rows)
        if not np.isfinite(size):
            return NOT_FINITE, made
        for i in range(SIZE):
            for j in range(count):
                at[i, j] = rows[c.zeta + i, MARGIN + j]
                change[i, j] = rows[c.gap + i, MARGIN + j]
        next_size = np.inf
        while True:
            for i in range(SIZE):
                for j in range(count):
                    rows[c.zeta + i, MARGIN + j] = at[i, j] - part * change[i, j]
            impose(special, rows, c.zeta, c.turn, h)
            code = balance(c, special, rows, par, room, h, False)
            if code == DONE:
                solve(c.pattern, room.blocks, room.pivots, room.x)
                scatter(c, special, rows, room.x)
                next_size = length(c, rows)
                if next_size <= (1.0 - 0.25 * part) * size:
                    break
            part *= 0.5
            if part < 1e-3:
                return (SLOW if code == DONE else code), made
        if part == 1.0 and next_size < 0.1 * size:
            return DONE, made
        part = min(1.0, 2.0 * part)
    return SLOW, made


@njit(nogil=True, cache=True, error_model="numpy")
def length(c, rows):
    """The size of a change of velocities, with angles times the spacing as lengths."""
    total = 0.0
    for i in range(SIZE):
        scale = c.spacing * c.spacing if i < 3 else 1.0
        gap = rows[c.gap + i]
        for j in range(MARGIN, MARGIN + c.unknown.shape[0]):
            total += scale * gap[j] * gap[j]
    return np.sqrt(total)
