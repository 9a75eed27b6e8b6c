"""The end of a step whose velocities are known: strains, momenta, poses, energies."""

from __future__ import annotations

from taut.kernel.blocks import SIZE
from taut.kernel.implicit_code import BALANCE, EDGE, NODE
from taut.kernel.jit import within
from taut.kernel.sweep_code import MARGIN
from taut.march.call import call_sweep
from taut.march.special import frames

SUMS = ("kinetic", "elastic", "gravity", "work", "dissipated", "held", "fallen")
KINETIC, ELASTIC, GRAVITY, WORK, DISSIPATED, HELD, FALLEN = range(len(SUMS))


@within
def clear(c, special, rows):
    """Forget the forces of holds and followers in the last step."""
    for n in range(special.node.shape[0]):
        j = special.node[n] if special.leader[n] < 0 else special.leader[n]
        for i in range(SIZE):
            rows[c.other + i, MARGIN + j] = 0.0


@within
def finish(c, special, rows, par, room, energy):
    """Strains, momenta and poses after the step, with the velocities that were found."""
    h, count, sums = par[c.step], c.unknown.shape[0], room.sums
    base, stride, numbers = rows.ctypes.data + 8 * MARGIN, rows.shape[1], par.ctypes.data
    pull(c, rows, par, sums, EDGE)
    energy[ELASTIC], energy[DISSIPATED] = sums[1], sums[2]
    energy[HELD] = bind(c, special, rows, par, sums, h, h)
    sums[:] = 0.0
    call_sweep(c.address[NODE], base, stride, numbers, 0, count, sums.ctypes.data)
    energy[KINETIC], energy[GRAVITY], energy[WORK] = sums[0], sums[1], sums[2]
    energy[FALLEN] = sums[3]
    for n in range(special.node.shape[0]):
        if special.leader[n] >= 0:
            lead(c, special, rows, n)


@within
def pull(c, rows, par, sums, which):
    """A sweep over the edges of all beams; `sums` are made anew."""
    base, stride, numbers = rows.ctypes.data + 8 * MARGIN, rows.shape[1], par.ctypes.data
    sums[:] = 0.0
    for b in range(c.spans.shape[0]):
        first, last = c.spans[b, 0], c.spans[b, 1] - 1
        call_sweep(c.address[which], base, stride, numbers, first, last, sums.ctypes.data)


@within
def bind(c, special, rows, par, sums, h, time):
    """Forces of followers on their leaders, and of holds; the work of holds over a time."""
    base, stride, numbers = rows.ctypes.data + 8 * MARGIN, rows.shape[1], par.ctypes.data
    for n in range(special.node.shape[0]):
        if special.leader[n] < 0:
            continue
        j, other = MARGIN + special.node[n], MARGIN + special.leader[n]
        for part in range(0, SIZE, 3):
            for i in range(3):
                for k in range(3):
                    force = rows[c.left + part + k, j] + rows[c.right + part + k, j - 1]
                    rows[c.other + part + i, other] += special.turn[n, i, k] * force
    frames(special, rows, c.zeta, c.turn, c.gap, h)
    work = 0.0
    for n in range(special.node.shape[0]):
        if special.leader[n] < 0:
            node = special.node[n]
            call_sweep(c.address[BALANCE], base, stride, numbers, node, node + 1, sums.ctypes.data)
            work += react(c, special, rows, n, time)
    return work


@within
def react(c, special, rows, n, h):
    """Add the force of a hold to the others on its node; the work of the force."""
    j, hold = MARGIN + special.node[n], special.hold[n]
    free = special.free[hold]
    work = 0.0
    for i in range(SIZE):
        force = rows[c.gap + i, j]
        for k in range(free):  # columns of H are at right angles
            size, along = 0.0, 0.0
            for m in range(SIZE):
                size += special.test[n, m, k] ** 2
                along += special.test[n, m, k] * rows[c.gap + m, j]
            force -= special.test[n, i, k] * along / size
        rows[c.other + i, j] += 2.0 / h * force
        work += 2.0 * force * rows[c.zeta + i, j]
    return work


@within
def lead(c, special, rows, n):
    """Put a follower where its leader is."""
    j, other, q = MARGIN + special.node[n], MARGIN + special.leader[n], special.quaternion[n]
    p = rows[c.turn : c.turn + 4, other]
    rows[c.turn, j] = p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3]
    for i in range(3):
        one, two = (i + 1) % 3, (i + 2) % 3
        rows[c.turn + 1 + i, j] = (
            p[0] * q[1 + i] + q[0] * p[1 + i] + p[1 + one] * q[1 + two] - p[1 + two] * q[1 + one]
        )
        rows[c.place + i, j] = rows[c.place + i, other]
