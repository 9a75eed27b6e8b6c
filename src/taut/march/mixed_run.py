"""Runs of fields whose density mixes strains and momenta: see `mixed_loop`."""

from __future__ import annotations

import numpy as np

from taut.errors import InputError
from taut.kernel.strand import SEEN, Strand
from taut.kernel.sweep_code import MARGIN
from taut.march import field_loop as loop, mixed_loop as mixed
from taut.march.field_run import FieldRun
from taut.march.loop import BOOKS
from taut.march.plan import Plan
from taut.methods.fields.base import Scheme
from taut.methods.fields.poisson import Poisson


class MixedRun(FieldRun):
    """Marches a strand whose nodes are solved for together."""

    loop = mixed.march
    cost = 2e-6

    def __init__(self, strand: Strand, scheme: Scheme, plan: Plan, *, going_on: bool = False):
        if not isinstance(scheme, Poisson):
            raise InputError(
                f"{scheme.name} is not for densities that mix strains and momenta",
                expected='method="poisson"',
                received=scheme.name,
            )
        super().__init__(strand, scheme, plan, None, going_on=going_on)
        self.calls["count"] = strand.calls(scheme, "count")
        rows = strand.layout.rows
        self.table = np.array([*(rows[x][0] for x in ("mu", "old")), rows["mu"][1]], dtype=np.int64)
        self.stages = tuple(self.calls[x] for x in ("node", "pull", "count", "edge"))

    def begin(self, momentum: np.ndarray, h: float, t: float, k: int = 0) -> None:
        strand = self.strand
        strand.give("step", np.array([h]))
        for name in ("mu", "old"):
            strand.give(name, momentum)
        loop.copied(strand.rows, self.halo[0])
        self._swept("pull", t, k)
        loop.copied(strand.rows, self.halo[1])
        self._swept("begin", t, k)
        loop.copied(strand.rows, self.halo[0])

    def _seen(self, t: float | None = None, k: int = 0) -> float:
        """Make the momenta at the time of the strains; the energy with them."""
        strand, before = self.strand, self.strand.rows.copy()
        if not mixed.settled(
            strand.rows, strand.origin, strand.par, self.stages, self.halo, self.table, MARGIN,
            strand.count,
        ):  # fmt: skip
            raise self._failed(loop.UNSOLVED, 0, k)
        energy = mixed.counted(strand.rows, strand.origin, strand.par, self.stages)
        seen = strand.view(SEEN).copy()
        strand.rows[:] = before  # as if nobody had looked
        strand.view(SEEN)[:] = seen
        return energy

    def opened(self) -> None:
        energy = self._seen()
        self.books[BOOKS.index("energy0")] = energy
        self.energies[0] = energy
        self.books[loop.LEAST] = self._least(0.0)

    def _advance(self, store, row, t0, h, k, count):
        strand = self.strand
        return mixed.march(
            strand.rows, strand.origin, strand.par, self.stages, self.halo, self.table, self.books,
            store, self.layout, row, h, k, count, self.plan.every, MARGIN, strand.count,
        )  # fmt: skip

    def _shorter(self, store: np.ndarray, row: int, k: int):
        t = self.plan.t0 + k * self.plan.step
        self._seen(t, k)
        self.begin(self.strand.view(SEEN).T.copy(), self.plan.end_step, t, k)
        kept = k % self.plan.every == 0
        where = store[row:] if kept else np.empty((1, *store.shape[1:]))
        _, _, code, place = self._advance(where, 0, t, self.plan.end_step, 0, 1)
        return row + kept, None if code == loop.DONE else self._failed(code, place, k)

    def _last(self, store: np.ndarray, row: int, k: int) -> int:
        strand = self.strand
        energy = self._seen(None, k)
        self.final = self.books.copy()
        loop.noted(self.final, energy, 0.0, self.plan.step)
        loop.stored(strand.rows, MARGIN, strand.count, self.layout, store[row])
        return row + 1
