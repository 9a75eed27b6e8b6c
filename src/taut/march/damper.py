"""Damping of beams between the steps of explicit schemes, half of it before and half after.

With Ψ a step of the scheme, from momenta at the time of one state to those of the next, and D
damping at fixed poses, a step is

    D(h/2) Ψ(h) D(h/2),

symmetric, and of second order as Ψ is.  Schemes carry other momenta than those of a state: `shown`
leads from one to the other and `begin` back (see `taut.methods.fields.base`), so that a state is
shown, damped, stored, damped, and begun from.  The damping step has rows of its own: momenta,
strains and rotations are handed to it, and momenta come back.
"""

from __future__ import annotations

import numpy as np

from taut.fields.mesh import Mesh
from taut.kernel.implicit_code import DAMPING_ROWS, sweeps_of
from taut.kernel.jit import entry
from taut.kernel.strand import SEEN, Strand, rigid
from taut.kernel.sweep_code import MARGIN
from taut.march.coupled import NOTES
from taut.march.damping import damp
from taut.march.field_loop import GROSS, WORK
from taut.march.implicit_plan import coupling_of, layout_of, room_of, special_of
from taut.march.special import PATH
from taut.methods.fields.base import Scheme
from taut.methods.fields.damping import Damping
from taut.portable import inverse

HANDED = {SEEN: "mu", "chi": "chi", "turn": "turn"}


@entry
def damped(rows, books, given):
    """Damp the momenta that are shown in `rows`; 0, or why it could not be done."""
    coupling, special, own, par, room, notes, table, columns, moved, compliance = given
    count = coupling.unknown.shape[0]
    for i in range(table.shape[0]):
        for r in range(table[i, 2]):
            for j in range(MARGIN, MARGIN + count):
                own[table[i, 1] + r, j] = rows[table[i, 0] + r, j]
    for i in range(moved.shape[0]):  # their velocities are given
        hold, j, turn = moved[i]
        zeta = np.zeros(6)
        for r in range(6):
            for k in range(6):
                zeta[r] += compliance[i, r, k] * rows[table[0, 0] + k, j]
        for r in range(6):
            special.given[hold, r] = zeta[r]
        if special.kind[hold] == PATH:
            q, v, w = rows[turn : turn + 4, j], zeta[3:], np.empty(3)
            for r in range(3):
                a, b = (r + 1) % 3, (r + 2) % 3
                w[r] = q[1 + a] * v[b] - q[1 + b] * v[a] + q[0] * v[r]
            for r in range(3):
                a, b = (r + 1) % 3, (r + 2) % 3
                special.given[hold, r] = v[r] + 2.0 * (q[1 + a] * w[b] - q[1 + b] * w[a])
    code, lost = damp(coupling, special, own, par, room, notes)
    if code == 0:
        for r in range(table[0, 2]):
            for k in range(columns.shape[0]):
                rows[table[0, 0] + r, columns[k]] = own[table[0, 1] + r, columns[k]]
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
        self.columns = np.array(
            [MARGIN + j for _, first, last in strand.classes for j in range(first, last)]
        )
        moved = [(k, hold.node) for k, hold in enumerate(mesh.holds) if hold.end.moved]
        self.moved = np.array(
            [(k, MARGIN + node, here["turn"][0]) for k, node in moved], dtype=np.int64
        ).reshape(-1, 3)
        self.compliance = inverse(mesh.inertia[[node for _, node in moved]])
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
            self.columns,
            self.moved,
            self.compliance,
        )

    @property
    def carried(self) -> list[np.ndarray]:
        """What a run that goes on needs."""
        return [self.own.rows, self.notes, self.room.blocks, self.room.pivots, self.due]
