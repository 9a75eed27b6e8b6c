"""Damping of beams between the steps of explicit schemes, half of it before and half after.

The damping step has rows of its own: momenta, strains and rotations are handed to it, and momenta
come back.  Every step of length h is preceded by damping over h/2, and followed by as much before
its state is shown; so the whole is symmetric, and of second order.  The momenta that are damped are
those at the time of the strains, in local frames, as they are shown: what a scheme carries lives
half a step earlier.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from taut.fields.mesh import Mesh
from taut.kernel.implicit_code import DAMPING_ROWS, sweeps_of
from taut.kernel.strand import SEEN, Strand, rigid
from taut.kernel.sweep_code import MARGIN
from taut.march.coupled import NOTES
from taut.march.damping import damp
from taut.march.field_loop import GROSS, WORK
from taut.march.implicit_plan import coupling_of, layout_of, room_of, special_of
from taut.march.special import PATH
from taut.methods.fields.base import Scheme
from taut.methods.fields.damping import Damping

HANDED = {SEEN: "mu", "chi": "chi", "turn": "turn"}  # here and there


@njit(nogil=True, cache=True, error_model="numpy")
def damped(rows, books, given):
    """Damp the momenta that are shown; 0, or why it could not be done.

    They are left in the rows of momenta, from which the stage `begin` makes what is carried.
    """
    coupling, special, own, par, room, notes, table, moved, light, carried = given
    count = coupling.unknown.shape[0]
    for i in range(table.shape[0]):
        for r in range(table[i, 2]):
            for j in range(MARGIN, MARGIN + count):
                own[table[i, 1] + r, j] = rows[table[i, 0] + r, j]
    v, w = np.empty(6), np.empty(3)
    for i in range(moved.shape[0]):  # their velocities are given
        hold, j, turn = moved[i]
        for r in range(6):
            v[r] = 0.0
            for c in range(6):
                v[r] += light[i, r, c] * own[table[0, 1] + c, j]
        for r in range(6):
            special.given[hold, r] = v[r]
        if special.kind[hold] == PATH:
            q = rows[turn : turn + 4, j]
            for r in range(3):
                a, b = (r + 1) % 3, (r + 2) % 3
                w[r] = q[1 + a] * v[3 + b] - q[1 + b] * v[3 + a] + q[0] * v[3 + r]
            for r in range(3):
                a, b = (r + 1) % 3, (r + 2) % 3
                special.given[hold, r] = v[3 + r] + 2.0 * (q[1 + a] * w[b] - q[1 + b] * w[a])
    code, lost = damp(coupling, special, own, par, room, notes)
    if code == 0:
        for r in range(table[0, 2]):
            for j in range(MARGIN, MARGIN + count):
                rows[carried + r, j] = own[table[0, 1] + r, j]
        books[WORK] -= lost
        books[GROSS] += abs(lost)
    return code


class Damper:
    """What damping between steps needs.

    Attributes
    ----------
    due : ndarray, shape (1,)
        1 where the second half of a step's damping has not been made yet.
    """

    def __init__(self, strand: Strand, mesh: Mesh, scheme: Scheme, h: float) -> None:
        layout, data = layout_of(mesh, DAMPING_ROWS)
        self.own = Strand(mesh.nodes, rigid(), layout, [], [])
        for name, values in data.items():
            view = self.own.view(name)
            if view.ndim == 1:
                view[:] = values
            else:
                view[:, : values.shape[1]] = values
        self.sweeps = sweeps_of(Damping(posed=scheme.posed), layout, rigid())
        self.coupling = coupling_of(mesh, layout, self.sweeps.address, damping=True)
        self.special, self.room = special_of(mesh), room_of(self.coupling)
        self.notes, self.due = np.zeros(len(NOTES)), np.zeros(1)
        there, here = layout.rows, strand.layout.rows
        self.table = np.array(
            [(here[x][0], there[y][0], here[x][1]) for x, y in HANDED.items()], dtype=np.int64
        )
        holds = [(k, hold.node) for k, hold in enumerate(mesh.holds) if hold.end.moved]
        self.moved = np.array(
            [(k, MARGIN + node, here["turn"][0]) for k, node in holds], dtype=np.int64
        ).reshape(-1, 3)
        self.target = here["mu"][0]
        self.light = np.linalg.inv(mesh.inertia[[node for _, node in holds]])
        self.span(h)

    def span(self, h: float) -> None:
        """Damp over half a step of length h from now on."""
        self.own.give("span", np.array([0.5 * h]))

    @property
    def given(self) -> tuple:
        """As the loop takes it."""
        own = self.own
        return (
            self.coupling,
            self.special,
            own.rows,
            own.par,
            self.room,
            self.notes,
            self.table,
            self.moved,
            self.light,
            self.target,
        )

    @property
    def carried(self) -> list[np.ndarray]:
        """What a run that goes on needs."""
        return [self.own.rows, self.notes, self.room.blocks, self.room.pivots, self.due]
