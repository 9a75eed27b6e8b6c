"""Nodes that are not free: those that follow another one, and those that are held.

With y the unknowns of a node, its velocity changes by E δy, and its equations are Hᵀ(balance) = 0:

    a follower     ζ = (Rᵀω, Rᵀv) of its leader, E = diag(Rᵀ, Rᵀ)E of the leader, H likewise
    a held node    ζ = given + S y with orthonormal columns S: E = H = S
    on a path      its position moves by h(u + s d): ω is free, and s where there is a direction d

On a path v = N(k)Rᵀ(u + s d) with N(k) = 1 − k×/2 + k kᵀ/4, k = hω: then Δx = h(u + s d) exactly,
with the rotation R before the step.  Held forces are at right angles to N(k)Rᵀd, so that they do no
work on what is free.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from taut.kernel.blocks import SIZE
from taut.kernel.jit import within
from taut.kernel.sweep_code import MARGIN

FIXED, PATH = 0, 1  # kinds of holds


class Special(NamedTuple):
    """Nodes that follow or are held.

    Attributes
    ----------
    node, leader, hold : ndarray, shape (n,)
        Nodes, leaders first; the node that one follows, or −1; its hold, or its leader's, or −1.
    turn, quaternion : ndarray, shapes (n, 3, 3), (n, 4)
        Of followers, from the leader's frame to their own: g = g_leader·turn.
    enter, test : ndarray, shape (n, 6, 6)
        E and H.
    kind, free : ndarray, shape (holds,)
        `FIXED` or `PATH`, and the number of unknowns.
    freedom : ndarray, shape (holds, 6, 6)
        S, with columns that are zero from `free` on.
    direction : ndarray, shape (holds, 3)
        d, in space; zero where there is none.
    given : ndarray, shape (holds, 6)
        The velocity in this step: all of it, in the node's frame, or u on a path, in space.
    extra : ndarray, shape (holds, 6, 6)
        What is added to the diagonal block.
    """

    node: np.ndarray
    leader: np.ndarray
    hold: np.ndarray
    turn: np.ndarray
    quaternion: np.ndarray
    enter: np.ndarray
    test: np.ndarray
    kind: np.ndarray
    free: np.ndarray
    freedom: np.ndarray
    direction: np.ndarray
    given: np.ndarray
    extra: np.ndarray


@within
def back(q, x, out):
    """Rᵀ x of a unit quaternion, scalar first."""
    a0 = q[2] * x[2] - q[3] * x[1] - q[0] * x[0]
    a1 = q[3] * x[0] - q[1] * x[2] - q[0] * x[1]
    a2 = q[1] * x[1] - q[2] * x[0] - q[0] * x[2]
    out[0] = x[0] + 2.0 * (q[2] * a2 - q[3] * a1)
    out[1] = x[1] + 2.0 * (q[3] * a0 - q[1] * a2)
    out[2] = x[2] + 2.0 * (q[1] * a1 - q[2] * a0)


@within
def bowed(k, r, out):
    """N(k) r."""
    along = 0.25 * (k[0] * r[0] + k[1] * r[1] + k[2] * r[2])
    out[0] = r[0] - 0.5 * (k[1] * r[2] - k[2] * r[1]) + along * k[0]
    out[1] = r[1] - 0.5 * (k[2] * r[0] - k[0] * r[2]) + along * k[1]
    out[2] = r[2] - 0.5 * (k[0] * r[1] - k[1] * r[0]) + along * k[2]


@within
def unbowed(k, v, out):
    """N(k)⁻¹v = (1 + k×/2)v/(1 + k·k/4)."""
    scale = 1.0 / (1.0 + 0.25 * (k[0] * k[0] + k[1] * k[1] + k[2] * k[2]))
    out[0] = scale * (v[0] + 0.5 * (k[1] * v[2] - k[2] * v[1]))
    out[1] = scale * (v[1] + 0.5 * (k[2] * v[0] - k[0] * v[2]))
    out[2] = scale * (v[2] + 0.5 * (k[0] * v[1] - k[1] * v[0]))


@within
def bow_slope(k, r, j, out):
    """∂(N(k) r)/∂k_j."""
    along = 0.25 * (k[0] * r[0] + k[1] * r[1] + k[2] * r[2])
    one, two = (j + 1) % 3, (j + 2) % 3
    out[j] = along + 0.25 * k[j] * r[j]
    out[one] = 0.5 * r[two] + 0.25 * k[one] * r[j]
    out[two] = -0.5 * r[one] + 0.25 * k[two] * r[j]


@within
def impose(s, rows, zeta, turn, h):
    """Make the velocities of special nodes what they have to be."""
    work = np.empty((4, 3))
    for n in range(s.node.shape[0]):
        j, hold = MARGIN + s.node[n], s.hold[n]
        if s.leader[n] >= 0:
            other = MARGIN + s.leader[n]
            for part in range(0, SIZE, 3):
                for i in range(3):
                    total = 0.0
                    for k in range(3):
                        total += s.turn[n, k, i] * rows[zeta + part + k, other]
                    rows[zeta + part + i, j] = total
        elif s.kind[hold] == PATH:
            r, d, v, k = work
            for i in range(3):
                k[i] = h * rows[zeta + i, j]
            back(rows[turn : turn + 4, j], s.given[hold, :3], r)
            bowed(k, r, v)
            back(rows[turn : turn + 4, j], s.direction[hold], r)
            bowed(k, r, d)
            size = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
            along = 0.0
            if size > 0.0:
                for i in range(3):
                    along += d[i] * (rows[zeta + 3 + i, j] - v[i]) / size
            for i in range(3):
                rows[zeta + 3 + i, j] = v[i] + along * d[i]
        else:
            found = s.given[hold].copy()
            for free in range(s.free[hold]):
                total = 0.0
                for i in range(SIZE):
                    total += s.freedom[hold, i, free] * (rows[zeta + i, j] - s.given[hold, i])
                for i in range(SIZE):
                    found[i] += total * s.freedom[hold, i, free]
            for i in range(SIZE):
                rows[zeta + i, j] = found[i]


@within
def frames(s, rows, zeta, turn, gap, h):
    """E, H and what is added to diagonal blocks, at the velocities and balances in `rows`."""
    work = np.empty((5, 3))
    for n in range(s.node.shape[0]):
        j, hold = MARGIN + s.node[n], s.hold[n]
        if s.leader[n] >= 0:
            follow(s, n)
            continue
        for i in range(SIZE):
            for k in range(SIZE):
                s.enter[n, i, k] = s.test[n, i, k] = s.freedom[hold, i, k]
                s.extra[hold, i, k] = 1.0 if i == k and i >= s.free[hold] else 0.0
        if s.kind[hold] != PATH:
            continue
        k, r, d, v, slope = work
        for i in range(3):
            k[i] = h * rows[zeta + i, j]
        q = rows[turn : turn + 4, j]
        back(q, s.direction[hold], d)
        unbowed(k, rows[zeta + 3 : zeta + 6, j], r)
        for i in range(3):
            bow_slope(k, r, i, v)
            for m in range(3):
                s.enter[n, 3 + m, i] = h * v[m]
        if s.free[hold] == 4:
            bowed(k, d, v)
            for m in range(3):
                s.enter[n, 3 + m, 3] = s.test[n, 3 + m, 3] = v[m]
            for i in range(3):  # H turns with ω
                bow_slope(k, d, i, slope)
                total = 0.0
                for m in range(3):
                    total += slope[m] * rows[gap + 3 + m, j]
                s.extra[hold, 3, i] = h * total


@within
def follow(s, n):
    """E and H of a follower, from its leader's."""
    other = -1
    for m in range(n):
        if s.node[m] == s.leader[n]:
            other = m
    for part in range(0, SIZE, 3):
        for i in range(3):
            for k in range(SIZE):
                one, two = 0.0, 0.0
                for m in range(3):
                    if other >= 0:
                        one += s.turn[n, m, i] * s.enter[other, part + m, k]
                        two += s.turn[n, m, i] * s.test[other, part + m, k]
                    elif part + m == k:
                        one += s.turn[n, m, i]
                        two += s.turn[n, m, i]
                s.enter[n, part + i, k], s.test[n, part + i, k] = one, two
