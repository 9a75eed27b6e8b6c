"""The only loop over time.

It knows nothing of the model: it calls a compiled step by address, keeps the books that the
certificate is made of, and stores every k-th state.  The books of a trajectory are one row of
`BOOKS` numbers followed by block means of the energy error; blocks are merged in pairs whenever
they fill up, so a run of any length leaves between `BLOCKS`/2 and `BLOCKS` means, the same
whether it was made in one go or continued.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from taut.march.call import call_map, call_step

BLOCKS = 256
BOOKS = (
    "steps", "max_g", "max_hidden", "energy0", "error_min", "error_max", "work", "power",
    "iterations", "most_iterations", "block_length", "blocks", "in_block", "block_sum",
    "gross_work", "energy_min", "energy_max", "failed_at", "charts",
)  # fmt: skip
(
    STEPS, MAX_G, MAX_HIDDEN, ENERGY0, ERROR_MIN, ERROR_MAX, WORK, POWER,
    ITERATIONS, MOST_ITERATIONS, BLOCK_LENGTH, BLOCKS_FULL, IN_BLOCK, BLOCK_SUM,
    GROSS_WORK, ENERGY_MIN, ENERGY_MAX, FAILED_AT, CHARTS,
) = range(len(BOOKS))  # fmt: skip
SIZE = len(BOOKS) + BLOCKS
DONE, FAILED, CHART = 0, 1, 2


def opened(g: float, hidden: float, energy: float, power: float) -> np.ndarray:
    """The books of a trajectory at its start."""
    books = np.zeros(SIZE)
    books[MAX_G], books[MAX_HIDDEN], books[ENERGY0], books[POWER] = g, hidden, energy, power
    books[BLOCK_LENGTH], books[FAILED_AT] = 1.0, -1.0
    books[ENERGY_MIN] = books[ENERGY_MAX] = energy
    return books


@njit(nogil=True, cache=True, error_model="numpy")
def note(books, g, hidden, energy, power, iterations, h):
    """Enter one step into the books of one trajectory."""
    books[STEPS] += 1.0
    # Written so that a NaN is kept.
    if not g <= books[MAX_G]:
        books[MAX_G] = g
    if not hidden <= books[MAX_HIDDEN]:
        books[MAX_HIDDEN] = hidden
    work = 0.5 * h * (books[POWER] + power)
    books[WORK] += work
    books[GROSS_WORK] += abs(work)
    books[POWER] = power
    error = energy - books[ENERGY0] - books[WORK]
    books[ERROR_MIN] = min(books[ERROR_MIN], error)
    books[ERROR_MAX] = max(books[ERROR_MAX], error)
    books[ENERGY_MIN] = min(books[ENERGY_MIN], energy)
    books[ENERGY_MAX] = max(books[ENERGY_MAX], energy)
    books[ITERATIONS] += iterations
    books[MOST_ITERATIONS] = max(books[MOST_ITERATIONS], iterations)
    books[BLOCK_SUM] += error
    books[IN_BLOCK] += 1.0
    if books[IN_BLOCK] == books[BLOCK_LENGTH]:
        close_block(books)


@njit(nogil=True, cache=True)
def close_block(books):
    """File the mean of a full block; merge in pairs when there is no room."""
    head = len(BOOKS)
    k = int(books[BLOCKS_FULL])
    books[head + k] = books[BLOCK_SUM] / books[BLOCK_LENGTH]
    k += 1
    books[BLOCK_SUM] = 0.0
    books[IN_BLOCK] = 0.0
    if k == BLOCKS:
        for i in range(BLOCKS // 2):
            books[head + i] = 0.5 * (books[head + 2 * i] + books[head + 2 * i + 1])
        k = BLOCKS // 2
        books[BLOCK_LENGTH] *= 2.0
    books[BLOCKS_FULL] = k


@njit(nogil=True, cache=True)
def march(
    address, context, state, par, out, addresses, books, store, row, t0, h, end_h, first, count, every,
    last, threshold,
):  # fmt: skip
    """Make `count` steps, numbers `first` … `first + count − 1` of a run of `last` steps.

    Parameters
    ----------
    address, context : int
        The compiled step and what it needs.
    state, out : ndarray, shapes (slots, lanes) and (outputs, lanes)
    par : ndarray
        t, t₁, h and the parameters.
    addresses : ndarray of int64
        Addresses of state, par and out.
    books : ndarray, shape (lanes, SIZE)
    store : ndarray, shape (lanes, rows, 3 n)
        q, p, v of stored states; `row` is the next free one.
    end_h : float
        Size of step number `last − 1`, which may be shorter.
    threshold : float
        Stop with `CHART` when the chart's condition falls below it.

    Returns
    -------
    (steps made, next row, code)
    """
    lanes = state.shape[1]
    n = store.shape[2] // 3
    where_state, where_par, where_out = addresses[0], addresses[1], addresses[2]
    for k in range(first, first + count):
        size = end_h if k == last - 1 else h
        par[0] = t0 + k * h
        par[1] = t0 + (k + 1) * h if k < last - 1 else t0 + k * h + end_h
        par[2] = size
        code = call_step(address, context, where_state, where_par, where_out)
        if code != 0:
            alive = 0
            for lane in range(lanes):
                if out[6, lane] == 0.0 and books[lane, FAILED_AT] < 0.0:
                    books[lane, FAILED_AT] = k
                if books[lane, FAILED_AT] < 0.0:
                    alive += 1
            if alive == 0:
                return k - first, row, FAILED
        for lane in range(lanes):
            if books[lane, FAILED_AT] < 0.0:
                note(
                    books[lane], out[0, lane], out[1, lane], out[2, lane], out[3, lane],
                    out[5, lane], size,
                )  # fmt: skip
        if (k + 1) % every == 0 or k + 1 == last:
            for lane in range(lanes):
                for i in range(n):
                    store[lane, row, i] = state[i, lane]
                    store[lane, row, n + i] = state[2 * n + i, lane]
                    store[lane, row, 2 * n + i] = state[4 * n + i, lane]
            row += 1
        if out[4, 0] < threshold:
            return k + 1 - first, row, CHART
    return count, row, DONE


@njit(nogil=True, cache=True)
def evaluate(address, source, target, source_address, target_address, rows, results):
    """Evaluate a compiled map at every row."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            source[j] = rows[i, j]
        call_map(address, source_address, target_address)
        for j in range(results.shape[1]):
            results[i, j] = target[j]
