"""The only loop over time.

It knows nothing of the model: it calls compiled steps by address, as many at a time as it can
(until a block of the books is full), and keeps the books that the
certificate is made of.

The books of a trajectory are its notes (kept by the compiled steps, see `step_code`: what came of
constraints, of the energy, and of Newton's iteration), a few counters, and block means of the
energy error.  Blocks are merged in pairs whenever they fill up,
so a run of any length leaves between `BLOCKS`/2 and `BLOCKS` means, the same whether it was made in
one go or continued.
"""

from __future__ import annotations

import numpy as np

from taut.kernel.jit import copy, entry, within
from taut.kernel.step_code import NOTES
from taut.kernel.work import START
from taut.march.call import call_map, call_steps

BLOCKS = 128
SHORTEST = 8  # steps per block at first
BOOKS = (*NOTES, "steps", "block_length", "blocks", "in_block", "failed_at", "charts")
STEPS, BLOCK_LENGTH, BLOCKS_FULL, IN_BLOCK, FAILED_AT, CHARTS = range(len(NOTES), len(BOOKS))
ERROR_SUM, CHART_CONDITION, OK, SINCE = (
    NOTES.index(name) for name in ("error_sum", "chart", "ok", "since")
)
COUNT = len(NOTES)
HEAD = len(BOOKS)
SIZE = HEAD + BLOCKS
DONE, FAILED, CHART, FRAIL, EVENT, TURN = 0, 1, 2, 3, 4, 5
STILL = 1e-6  # of the units of coordinates, which are 1e−7 of their lengths: a step of nothing


def opened(**first: np.ndarray) -> np.ndarray:
    """The heads of the books of trajectories at their start; `first` gives notes by name."""
    books = np.zeros((len(next(iter(first.values()))), HEAD))
    for name, values in first.items():
        books[:, NOTES.index(name)] = values
    books[:, [CHART_CONDITION, OK]], books[:, SINCE] = 1.0, START
    books[:, BLOCK_LENGTH], books[:, FAILED_AT] = SHORTEST, -1.0
    return books


@within
def close_block(books):
    """File the mean of a full block; merge in pairs when there is no room."""
    k = int(books[BLOCKS_FULL])
    books[HEAD + k] = books[ERROR_SUM] / books[BLOCK_LENGTH]
    k += 1
    books[ERROR_SUM] = 0.0
    books[IN_BLOCK] = 0.0
    if k == BLOCKS:
        for i in range(BLOCKS // 2):
            books[HEAD + i] = 0.5 * (books[HEAD + 2 * i] + books[HEAD + 2 * i + 1])
        k = BLOCKS // 2
        books[BLOCK_LENGTH] *= 2.0
    books[BLOCKS_FULL] = k


@entry
def march(
    address, context, sheet, par, books, store, row, t0, h, end_h, first, count, every, last, frail
):  # fmt: skip
    """Make `count` steps, numbers `first` … `first + count − 1` of a run of `last` steps.

    Parameters
    ----------
    address, context : int
        The compiled steps and what they need.
    sheet : ndarray, shape (2·slots + notes, lanes)
        The state; the last good state of lanes that failed (they go on as copies of another); the
        notes.
    par : ndarray, shape (2, …)
        t₀, k, h, chart threshold, parameters and tables; the second row is for a shorter last step.
    books : ndarray, shape (lanes, SIZE)
    store : ndarray, shape (rows, 3 n, lanes)
        q, p, v of stored states; `row` is the next free one.
    end_h : float
        Size of step number `last − 1`, which may be shorter.
    frail : bool
        Whether to return as soon as a lane cannot make a step, and let nobody fail.

    Returns
    -------
    (steps made, next row, code)
    """
    slots, lanes = (sheet.shape[0] - COUNT) // 2, sheet.shape[1]
    state, graves, notes = sheet[:slots], sheet[slots : 2 * slots], sheet[2 * slots :]
    at = sheet.ctypes.data
    notes_at = at + 16 * slots * lanes
    wide = store.shape[1]
    k, end = first, first + count
    for lane in range(lanes):
        for i in range(COUNT):
            notes[i, lane] = books[lane, i]
    revive(state, notes, books)
    code = DONE
    while k < end and code == DONE:
        # All lanes alive have made the same number of steps, so their blocks fill up together.
        lead = alive(books)
        room = int(books[lead, BLOCK_LENGTH] - books[lead, IN_BLOCK])
        ask = min(end - k, room)
        if k + ask == last and end_h != h:
            ask -= 1
        given, short = par[0], ask <= 0
        if not short:
            given[0], given[1], given[2] = t0, k, h
        else:
            ask, given = 1, par[1]
            given[0], given[1], given[2] = t0 + k * h, 0.0, end_h
            notes[SINCE] = 0.0  # powers at other distances: the sum of the work begins anew
        made = call_steps(  # pyright: ignore[reportCallIssue]
            address, context, at, given.ctypes.data, notes_at, ask,
            store.ctypes.data + 8 * row * wide * lanes, every - k % every, every,
        )  # fmt: skip
        row += (k + made) // every - k // every
        k += made
        if short:
            notes[SINCE] = 0.0
        if made < ask and frail and stopped(notes):
            code = FRAIL
        elif made < ask:  # all lanes stopped before the step that some cannot make
            for lane in range(lanes):
                if notes[OK, lane] == 0.0 and books[lane, FAILED_AT] < 0.0:
                    books[lane, FAILED_AT] = k
                    books[lane, STEPS] += made
                    books[lane, IN_BLOCK] += made
                    for i in range(COUNT):
                        books[lane, i] = notes[i, lane]
                    copy(state[:, lane], graves[:, lane])
            if alive(books) < 0:
                code = FAILED
            else:
                revive(state, notes, books)
        for lane in range(lanes):
            if books[lane, FAILED_AT] < 0.0:
                books[lane, STEPS] += made
                books[lane, IN_BLOCK] += made
                if books[lane, IN_BLOCK] == books[lane, BLOCK_LENGTH]:
                    books[lane, ERROR_SUM] = notes[ERROR_SUM, lane]
                    close_block(books[lane])
                    notes[ERROR_SUM, lane] = 0.0
        if made > 0 and k == last and k % every != 0:  # the last state is always stored
            for i in range(wide):
                copy(state[i], store[row, i])
            row += 1
        if code == DONE and notes[CHART_CONDITION, 0] < par[0, 3]:
            code = CHART
    for lane in range(lanes):
        if books[lane, FAILED_AT] < 0.0:
            for i in range(COUNT):
                books[lane, i] = notes[i, lane]
    return k - first, row, code


@entry
def guarded(
    address, context, sheet, par, books, store, row, t0, h, end_h, first, count, every, last, frail,
    units, most,
):  # fmt: skip
    """As `march` for one lane, but not beyond a step in which velocities turn by more than `most`.

    They are measured by `units`.  Such a step is taken back, with the code `TURN`; unless it moves
    nothing at all, where velocities are what rounding leaves of none.
    """
    n, slots = store.shape[1] // 3, (sheet.shape[0] - COUNT) // 2
    state, noted = np.empty(slots), np.empty(books.shape[1])
    done, code = 0, DONE
    while done < count and code == DONE:
        copy(sheet[:slots, 0], state)
        copy(books[0], noted)
        made, after, code = march(
            address, context, sheet, par, books, store, row, t0, h, end_h, first + done, 1, every,
            last, frail,
        )  # fmt: skip
        if made == 0:
            break
        turned = speed = 0.0
        for i in range(n):
            was, now = state[2 * n + i], sheet[2 * n + i, 0]
            turned = max(turned, abs(now - was) / units[i])
            speed = max(speed, abs(was) / units[i], abs(now) / units[i])
        if turned > most * speed and abs(h) * speed > STILL:
            copy(state, sheet[:slots, 0])
            copy(noted, books[0])
            return done, row, TURN
        row = after
        done += 1
    return done, row, code


@within
def stopped(notes):
    """Whether some lane cannot make its next step."""
    for lane in range(notes.shape[1]):  # noqa: SIM110 - Numba has no generators here
        if notes[OK, lane] == 0.0:
            return True
    return False


@within
def alive(books):
    """The first lane that has not failed, or −1."""
    for lane in range(books.shape[0]):
        if books[lane, FAILED_AT] < 0.0:
            return lane
    return -1


@within
def revive(state, notes, books):
    """Lanes that failed go on as copies of one that did not, so that they cost nothing."""
    source = alive(books)
    for lane in range(books.shape[0]):
        if books[lane, FAILED_AT] >= 0.0:
            copy(state[:, source], state[:, lane])
            copy(notes[:, source], notes[:, lane])


@entry
def evaluate(address, source, target, source_address, target_address, rows, results):
    """Evaluate a compiled map at every row."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            source[j] = rows[i, j]
        call_map(address, source_address, target_address)  # pyright: ignore[reportCallIssue]
        for j in range(results.shape[1]):
            results[i, j] = target[j]
