"""Runs of beams whose nodes are solved for together: see `coupled` and `coupled_loop`."""

from __future__ import annotations

import time

import numpy as np

from taut.errors import StepError
from taut.fields.mesh import Mesh
from taut.kernel.implicit_code import sweeps_of
from taut.kernel.strand import SEEN, Strand, rigid
from taut.kernel.sweep_code import MARGIN
from taut.lie import SO3
from taut.march import coupled_loop, field_loop as loop
from taut.march.codes import FAILURES
from taut.march.coupled import FACTORS, ITERATIONS, MADE, NOTES
from taut.march.field_loads import Aims, Loads
from taut.march.field_run import FieldRun
from taut.march.finish import SUMS
from taut.march.implicit_plan import coupling_of, layout_of, room_of, special_of
from taut.march.loop import BLOCK_LENGTH, BOOKS, OK, SHORTEST, SIZE
from taut.march.motions import spin, velocity
from taut.march.plan import Plan
from taut.methods.fields.base import Scheme
from taut.portable import product, solve


def coupled_strand(mesh: Mesh) -> Strand:
    """The numbers of beams for an implicit scheme, in their reference configuration."""
    layout, data = layout_of(mesh)
    if any(hold.end.moved for hold in mesh.holds):
        layout.row("target_turn", 4)
        layout.row("target_place", 3)
    strand = Strand(mesh.nodes, rigid(), layout, [], [])
    for name, values in data.items():
        view = strand.view(name)
        if view.ndim == 1:
            view[:] = values
        else:
            view[:, : values.shape[1]] = values
    return strand


class CoupledRun(FieldRun):
    """Marches beams by an implicit scheme."""

    loop, patience, lag = coupled_loop.march, 30.0, 0.5
    cost = 1e-5

    def __init__(
        self, strand: Strand, scheme: Scheme, plan: Plan, mesh: Mesh, *, going_on: bool = False
    ) -> None:
        self.strand, self.scheme, self.plan, self.mesh = strand, scheme, plan, mesh
        self.going_on = going_on
        begin = time.perf_counter()
        self.sweeps = sweeps_of(scheme, strand.layout, strand.medium)
        self.coupling = coupling_of(mesh, strand.layout, self.sweeps.address)
        self.special, self.room = special_of(mesh), room_of(self.coupling)
        self.loads = Loads(strand, mesh)
        self.aims = Aims(strand, mesh, None if going_on else plan.t0)
        self.compile_time = time.perf_counter() - begin
        rows = strand.layout.rows
        self.kept = {SEEN: rows["mu"]} | {x: rows[x] for x in loop.STORED if x != SEEN}
        self.layout = np.array(list(self.kept.values()), dtype=np.int64)
        self.notes, self.sums, self.energies = (
            np.zeros(len(NOTES)),
            np.zeros(len(SUMS)),
            np.zeros(2),
        )
        self.books = np.zeros(SIZE)
        self.books[BLOCK_LENGTH], self.books[OK] = SHORTEST, 1.0
        holds = {hold.node: k for k, hold in enumerate(mesh.holds)}
        self.moved = np.array(
            [
                (holds[n], MARGIN + n, rows["turn"][0], rows["place"][0],
                 mesh.holds[holds[n]].end.kind == "pinned")
                for n in self.aims.nodes
            ],
            dtype=np.int64,
        ).reshape(-1, 5)  # fmt: skip

    @property
    def carried(self) -> list[np.ndarray]:
        return [self.notes, self.room.blocks, self.room.pivots]

    def begin(self, momentum: np.ndarray, h: float, t: float, k: int = 0) -> None:
        strand = self.strand
        strand.give("step", np.array([h]))
        strand.give("mu", momentum)
        self._set_off(h, t, k)
        strand.view("last")[:] = strand.view("zeta")
        strand.view("change")[:] = 0.0
        self.energies[:] = self._energies()

    def _set_off(self, h: float, t: float, k: int) -> None:
        """Velocities of moved ends at t; at the start of a run their momenta, too.

        Momenta go from step to step by m' = 2m̄ − m: one that is not of the motion swings about it.
        """
        strand, mesh = self.strand, self.mesh
        assert mesh is not None
        zeta, mu, now = strand.view("zeta"), strand.view("mu"), np.array([t])
        for hold in mesh.holds:
            if not hold.end.moved:
                continue
            node, inertia = hold.node, mesh.inertia[hold.node]
            turn = SO3.from_quaternion(strand.view("turn")[:, node])
            found = solve(inertia, mu[:, node])
            found[3:] = product(velocity(hold, now)[0], turn)
            if hold.end.kind == "clamped":
                found[:3] = spin(hold, mesh, now)[0]
            if not np.all(np.isfinite(found)):  # it starts as √t does: that of the first step
                self._aimed(t + h, k)
                self.aims.start(strand, -h)
                which = slice(0, 6) if hold.end.kind == "clamped" else slice(3, 6)
                found[which] = zeta[which, node]
            zeta[:, node] = found
            if not self.going_on:
                mu[:, node] = product(inertia, found)

    def _energies(self) -> tuple[float, float]:
        """Kinetic and elastic energy together, and that of the weight."""
        strand, mesh = self.strand, self.mesh
        assert mesh is not None
        mu = strand.view("mu").T
        velocity = solve(mesh.inertia, mu[..., None])[..., 0]
        weight = strand.view("weight")[0]
        kinetic = 0.5 * product(weight, np.einsum("ni,ni->n", mu, velocity))
        gamma = strand.view("chi").T[:-1] - mesh.reference
        elastic = np.einsum("ei,eij,ej->e", gamma, mesh.stiffness, gamma)
        elastic = 0.5 * product(np.where(mesh.alive, mesh.spacing, 0.0), elastic)
        first = mesh.inertia[:, :3, 3:]  # the mass times the centre of mass, as a cross product
        centre = np.stack([first[:, 2, 1], first[:, 0, 2], first[:, 1, 0]], axis=1)
        turned = np.einsum("nij,nj->ni", self._frames(), centre)
        heavy = mesh.inertia[:, 3, 3, None] * strand.view("place").T + turned
        return float(kinetic + elastic), -float(product(weight, product(heavy, mesh.gravity)))

    def _frames(self) -> np.ndarray:
        return SO3.from_quaternion(self.strand.view("turn").T)

    def opened(self) -> None:
        self.books[BOOKS.index("energy0")] = self.energies[0]
        self.books[loop.LEAST] = self._least(0.0)

    def _advance(self, store, row, t0, h, k, count):
        strand = self.strand
        made = coupled_loop.march(
            strand.rows, strand.par, self.coupling, self.special, self.room, self.notes, self.sums,
            self.moved, self.loads.given, self.aims.given, self.books, self.energies, store,
            self.layout, row, (t0, h, k, count, self.plan.every), MARGIN,
        )  # fmt: skip
        names = ("iterations", "most_iterations")
        self.books[[BOOKS.index(x) for x in names]] = self.notes[ITERATIONS], self.notes[FACTORS]
        return made

    def _shorter(self, store: np.ndarray, row: int, k: int):
        t, plan = self.plan.t0 + k * self.plan.step, self.plan
        self.strand.give("step", np.array([plan.end_step]))
        kept = k % plan.every == 0
        where = store[row:] if kept else np.empty((1, *store.shape[1:]))
        every = 1 if kept else 2
        strand = self.strand
        _, _, code, place = coupled_loop.march(
            strand.rows, strand.par, self.coupling, self.special, self.room, self.notes, self.sums,
            self.moved, self.loads.given, self.aims.given, self.books, self.energies, where,
            self.layout, 0, (t - (1 - kept) * plan.end_step, plan.end_step, 1 - kept, 1, every),
            MARGIN,
        )  # fmt: skip
        return row + kept, None if code == loop.DONE else self._failed(code, place, k)

    def _last(self, store: np.ndarray, row: int, k: int) -> int:
        self.final = self.books.copy()
        loop.tallied(self.final, self.energies[0])
        loop.stored(self.strand.rows, MARGIN, self.strand.count, self.layout, store[row])
        return row + 1

    def _unsolved(self, place: int, t: float, k: int, partial: object) -> StepError:
        return StepError(
            f"no step could be made at t = {t:g} (step {k}): {FAILURES[place]}",
            expected="a state near the one before, and Newton to find it",
            received=f"method {self.scheme.name}, step {self.plan.step:g}, after "
            f"{int(self.notes[MADE])} steps",
            remedy="use a smaller step",
            t=t,
            index=k,
            partial=partial,
        )
