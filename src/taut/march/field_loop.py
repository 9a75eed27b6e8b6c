"""The loop over time for fields and beams: sweeps, one after the other.

In step n the nodes go from t_n to t_{n+1} with the forces that the edges left there, then the edges
follow.  The energy E_n = K_n + V_n of the state at t_n is known once the nodes have been swept (K_n
is counted with the momentum at t_n, V_n was left by the edges one step before), and with it the
balance E_n − E_0 − work, of which the books are kept; the work of loads is the sum of h(P_n +
P_{n+1})/2, P being their power.

The kick at t_n stands for half a step before it and half a step after it, at the start of a run for
the latter alone: what jumps there is taken in the mean, so that no impulse is lost.  A state that
is stored has felt what acted until then.

A line that does not fit into the cache is swept in tiles: a block of nodes makes `DEPTH` steps
before the next block is fetched.  Since a node needs its two edges and an edge its two nodes, the
block moves one node to the left with every step; in that order everything is found at its time, in
place, and each number is computed from the same numbers as without tiles.
"""

from __future__ import annotations

import numpy as np

from taut.kernel.jit import entry, within
from taut.march.call import call_map, call_sweep
from taut.march.loop import (
    BLOCK_LENGTH,
    BOOKS,
    ERROR_SUM,
    IN_BLOCK,
    STEPS,
    close_block,
)

ENERGY0, ERROR_MIN, ERROR_MAX, WORK, POWER, GROSS = (
    BOOKS.index(x) for x in ("energy0", "error_min", "error_max", "work", "power", "gross_work")
)
# Two books that only constraints need are kept for fields otherwise: an energy below which errors
# mean nothing (that of round-off in a beam at rest), and the length of the step after a state.
LEAST, AFTER = (BOOKS.index(x) for x in ("max_g", "max_hidden"))
DONE, UNSOLVED, BLOWN_UP, BAD_LOAD, BAD_AIM, UNDAMPED = 0, 1, 2, 3, 4, 5
DEPTH, BLOCK, LONG = 24, 384, 4096  # steps and nodes of a tile; nodes from which on it pays
LARGEST = 10.0  # error of the energy balance, against the energy there is, that is a blow-up
STORED = ("seen", "chi", "turn", "place")


@entry
def swept(calls, rows, stride, par, sums):
    """Make the sweeps of a stage; −1, or the first place that failed."""
    for i in range(calls.shape[0]):
        failed = call_sweep(calls[i, 0], rows, stride, par, calls[i, 1], calls[i, 2], sums)
        if failed >= 0:
            return failed
    return -1


@within
def swept_within(calls, rows, stride, par, sums, low, high):
    """The same for places low … high − 1 only."""
    for i in range(calls.shape[0]):
        first, last = max(calls[i, 1], low), min(calls[i, 2], high)
        if first < last:
            failed = call_sweep(calls[i, 0], rows, stride, par, first, last, sums)
            if failed >= 0:
                return failed
    return -1


@within
def plain(rows, origin, par, move, bend, books, energies, h, count):
    """Make `count` steps of a line that nothing but steady loads acts on; see `tiled`."""
    stride, given = rows.shape[1], par.ctypes.data
    sums = np.zeros(4)
    at, potential = sums.ctypes.data, energies[0]
    for k in range(count):
        sums[0], sums[1] = 0.0, 0.0
        failed = swept(move, origin, stride, given, at)
        if failed >= 0:
            energies[0] = potential
            return k, UNSOLVED, failed
        if noted(books, sums[0] + potential, sums[1], h):
            energies[0] = potential
            return k, BLOWN_UP, 0
        sums[0] = 0.0
        swept(bend, origin, stride, given, at)
        potential = sums[0]
    energies[0] = potential
    return count, DONE, 0


@within
def tiled(rows, origin, par, move, bend, books, energies, h, phase, count, nodes):
    """Make `count` steps of a tile, number `phase` … of its DEPTH; (steps made, code, place).

    Where blocks begin depends on the number of a step alone, so that sums are rounded in the same
    way however a run is cut into pieces.
    """
    stride, given = rows.shape[1], par.ctypes.data
    moving, bending = np.zeros((count, 4)), np.zeros((count, 4))
    at = 0
    while at - phase - count < nodes:
        for k in range(count):
            low, high = at - phase - k, at + BLOCK - phase - k
            sums = moving[k]
            failed = swept_within(move, origin, stride, given, sums.ctypes.data, low, high)
            if failed >= 0:
                return k, UNSOLVED, failed
            last = nodes if high >= nodes else high - 1
            sums = bending[k]
            swept_within(bend, origin, stride, given, sums.ctypes.data, low - 1, last)
        at += BLOCK
    for k in range(count):
        if noted(books, moving[k, 0] + energies[0], moving[k, 1], h):
            return k, BLOWN_UP, 0
        energies[0] = bending[k, 0]
    return count, DONE, 0


@entry
def copied(rows, halo):
    """Columns that are seen from elsewhere: (first row, rows, from, to)."""
    for i in range(halo.shape[0]):
        for r in range(halo[i, 0], halo[i, 0] + halo[i, 1]):
            rows[r, halo[i, 3]] = rows[r, halo[i, 2]]


@entry
def loaded(rows, t, begin, end, maps, numbers, targets, base, scratch, switched):
    """Evaluate the loads that depend on time; the number of a bad one, or −1.

    Parameters
    ----------
    begin, end : float
        For which time they stand: what jumps in it is taken in the mean.
    maps : ndarray, shape (…, 4)
        (address, calls, wrenches per call, numbers) of maps (t, begin, end, numbers) → wrenches.
    numbers : ndarray, shape (…, width)
        Those of each call.
    targets, base : ndarray, shape (…, 2), (…, 6)
        (row, column) of each wrench in turn, and what acts there always.
    """
    for i in range(targets.shape[0]):
        for k in range(6):
            rows[targets[i, 0] + k, targets[i, 1]] = base[i, k]
    place, i, first = 0, 0, 3 + numbers.shape[1]
    for m in range(maps.shape[0]):
        for _ in range(maps[m, 1]):
            scratch[0], scratch[1], scratch[2] = t, begin, end
            for k in range(maps[m, 3]):
                scratch[3 + k] = numbers[place, k]
            place += 1
            call_map(  # pyright: ignore[reportCallIssue]
                maps[m, 0], scratch.ctypes.data, scratch.ctypes.data + 8 * first
            )
            for w in range(maps[m, 2]):
                for k in range(6):
                    value = scratch[first + 6 * w + k]
                    if not np.isfinite(value):
                        return i
                    rows[targets[i, 0] + k, targets[i, 1]] += value
                i += 1
    return -1


@entry
def aimed(rows, t, address, scratch, targets):
    """Where moved nodes are to be at t: quaternion and place; the number of a bad one, or −1."""
    many = targets.shape[0]
    if many == 0:
        return -1
    scratch[0] = t
    call_map(  # pyright: ignore[reportCallIssue]
        address, scratch.ctypes.data, scratch.ctypes.data + 8
    )
    for i in range(many):
        for k in range(7):
            value = scratch[1 + 7 * i + k]
            if not np.isfinite(value):
                return i
            rows[targets[i, 0] + k, targets[i, 1]] = value
    return -1


@entry
def noted(books, energy, power, h):
    """Enter the energy of a state, after which a step of length h is made; whether it blew up."""
    if books[STEPS] > 0:
        done = 0.5 * books[AFTER] * (books[POWER] + power)
        books[WORK] += done
        books[GROSS] += abs(done)
    books[POWER], books[AFTER] = power, h
    return tallied(books, energy)


@entry
def tallied(books, energy):
    """Enter the energy of a state, the work up to it being known; whether it blew up."""
    error = energy - books[ENERGY0] - books[WORK]
    if not abs(error) <= LARGEST * (abs(books[ENERGY0]) + books[GROSS] + books[LEAST]):
        return True
    books[ERROR_MIN] = min(books[ERROR_MIN], error)
    books[ERROR_MAX] = max(books[ERROR_MAX], error)
    books[ERROR_SUM] += error
    books[IN_BLOCK] += 1
    books[STEPS] += 1
    if books[IN_BLOCK] == books[BLOCK_LENGTH]:
        close_block(books)
    return False


@entry
def stored(rows, margin, count, layout, target):
    """Copy a state: `layout` holds (first row, rows)."""
    at = 0
    for i in range(layout.shape[0]):
        for r in range(layout[i, 0], layout[i, 0] + layout[i, 1]):
            for j in range(count):
                target[at, j] = rows[r, margin + j]
            at += 1


@entry
def march(strand, stages, ties, loads, aims, books, energies, store, layout, row, clock, margin):
    """Make steps.

    Parameters
    ----------
    strand : (rows, origin, par, nodes)
        The numbers, the address of column 0, the slots, the number of nodes.
    stages : three arrays of (address, first, last)
        What is shown, nodes, edges.
    ties : (joints, turns, halo of nodes, halo of edges)
        See `led` and `copied`.
    loads, aims : see `loaded`, `aimed`
    books, energies : ndarray
        `energies[0]` is V at the beginning, and is carried on.
    store, layout, row : ndarray, shape (rows, …, nodes); see `stored`; the next row
    clock : (t0, h, first, count, every)
        Steps number first … first + count − 1 at t0 + k h.

    Returns
    -------
    (steps made, next row, code, place)
    """
    rows, origin, par, nodes = strand
    joints, turns, halo_nodes, halo_edges = ties
    t0, h, first, count, every = clock
    show, move, bend = stages
    stride = rows.shape[1]
    sums = np.zeros(4)
    alone = joints.size + halo_nodes.size + loads[0].size + aims[2].size == 0
    k, end = first, first + count
    while k < end:
        if alone and k % every != 0:
            ask = min(end - k, every - k % every)
            if nodes >= LONG:
                ask = min(DEPTH - k % DEPTH, ask)
                made, code, place = tiled(
                    rows, origin, par, move, bend, books, energies, h, k % DEPTH, ask, nodes
                )
            else:
                made, code, place = plain(rows, origin, par, move, bend, books, energies, h, ask)
            k += made
            if code != DONE:
                return k - first, row, code, place
            continue
        t, before = t0 + k * h, 0.5 * h if k > 0 else 0.0
        shown = k % every == 0
        apart = shown and before > 0.0 and loads[5][0] != 0  # what acted until now is shown
        bad = loaded(rows, t, t - before, t if apart else t + 0.5 * h, *loads)
        if bad >= 0:
            return k - first, row, BAD_LOAD, bad
        bad = aimed(rows, t + h, *aims)
        if bad >= 0:
            return k - first, row, BAD_AIM, bad
        gathered(rows, joints, turns, margin)
        if shown:
            failed = swept(show, origin, stride, par.ctypes.data, sums.ctypes.data)
            if failed >= 0:
                return k - first, row, UNSOLVED, failed
            stored(rows, margin, nodes, layout, store[row])
            row += 1
        if apart:
            bad = loaded(rows, t, t - before, t + 0.5 * h, *loads)
            if bad >= 0:
                return k - first, row, BAD_LOAD, bad
        sums[:] = 0.0
        failed = swept(move, origin, stride, par.ctypes.data, sums.ctypes.data)
        if failed >= 0:
            return k - first, row, UNSOLVED, failed
        if noted(books, sums[0] + energies[0], sums[1], h):
            return k - first, row, BLOWN_UP, 0
        copied(rows, halo_nodes)
        led(rows, joints, turns, margin)
        sums[:] = 0.0
        swept(bend, origin, stride, par.ctypes.data, sums.ctypes.data)
        copied(rows, halo_edges)
        energies[0] = sums[0]
        k += 1
    return count, row, DONE, 0


# ---- joints ----------------------------------------------------------------------------------
# `joints` holds the leader's and the follower's column and the first rows of left, right, joint,
# zeta, turn, place; `turns` the rotation matrix and its quaternion.


@entry
def gathered(rows, joints, turns, margin):
    """Hand the forces on followers to their leaders."""
    for i in range(joints.shape[0]):
        leader = margin + joints[i, 0]
        for r in range(6):
            rows[joints[i, 4] + r, leader] = 0.0
    for i in range(joints.shape[0]):
        leader, follower = margin + joints[i, 0], margin + joints[i, 1]
        left, right, target = joints[i, 2], joints[i, 3], joints[i, 4]
        for part in range(0, 6, 3):
            for r in range(3):
                total = 0.0
                for c in range(3):
                    force = rows[left + part + c, follower] + rows[right + part + c, follower - 1]
                    total += turns[i, 3 * r + c] * force
                rows[target + part + r, leader] += total


@within
def led(rows, joints, turns, margin):
    """Let followers follow: ζ_f = Ad(motion⁻¹) ζ, g_f = g·motion, motion a rotation."""
    for i in range(joints.shape[0]):
        leader, follower = margin + joints[i, 0], margin + joints[i, 1]
        zeta, turn, place = joints[i, 5], joints[i, 6], joints[i, 7]
        for part in range(0, 6, 3):
            for c in range(3):
                total = 0.0
                for r in range(3):
                    total += turns[i, 3 * r + c] * rows[zeta + part + r, leader]
                rows[zeta + part + c, follower] = total
        for r in range(3):
            rows[place + r, follower] = rows[place + r, leader]
        a, b = rows[turn : turn + 4, leader], turns[i, 9:13]
        rows[turn, follower] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
        rows[turn + 1, follower] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2]
        rows[turn + 2, follower] = a[0] * b[2] + a[2] * b[0] + a[3] * b[1] - a[1] * b[3]
        rows[turn + 3, follower] = a[0] * b[3] + a[3] * b[0] + a[1] * b[2] - a[2] * b[1]
