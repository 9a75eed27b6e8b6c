"""Runs of beams with damping by explicit schemes: see `damper`."""

from __future__ import annotations

import numpy as np

from taut.errors import StepError
from taut.fields.mesh import Mesh
from taut.kernel.strand import SEEN, Strand
from taut.kernel.sweep_code import MARGIN
from taut.march import damped_loop
from taut.march.damper import Damper, damped
from taut.march.field_run import FieldRun
from taut.march.plan import Plan
from taut.methods.fields.base import Scheme


class DampedRun(FieldRun):
    """Marches beams with damping."""

    loop, patience = damped_loop.march, 30.0
    cost = 1e-5

    def __init__(
        self, strand: Strand, scheme: Scheme, plan: Plan, mesh: Mesh, *, going_on: bool = False
    ) -> None:
        super().__init__(strand, scheme, plan, mesh, going_on=going_on)
        self.calls["weighed"] = strand.calls(scheme, "weighed")
        self.damper = Damper(strand, mesh, scheme, plan.step)
        rows = strand.layout.rows
        self.again = (rows[SEEN][0], *rows["mu"])

    @property
    def carried(self) -> list[np.ndarray]:
        return self.damper.carried

    def begin(self, momentum: np.ndarray, h: float, t: float, k: int = 0) -> None:
        self.damper.span(h)
        super().begin(momentum, h, t, k)

    def _advance(self, store, row, t0, h, k, count):
        strand = self.strand
        return damped_loop.march(
            (strand.rows, strand.origin, strand.par, strand.count),
            tuple(self.calls[x] for x in ("shown", "weighed", "begin", "node", "edge")),
            (self.joints, self.turns, *self.halo),
            self.loads.given,
            self.aims.given,
            self.damper.given,
            self.damper.due,
            self.again,
            self.books,
            self.energies,
            store,
            self.layout,
            row,
            (t0, h, k, count, self.plan.every),
            MARGIN,
        )

    def _shown(self, t: float, k: int) -> np.ndarray:
        """The state before step k, with the second half of the damping of the step before it."""
        super()._shown(t, k)
        if self.damper.due[0] == 1.0:
            if damped(self.strand.rows, self.books, self.damper.given) != 0:
                raise self._undamped(k)
            self.damper.due[0] = 0.0
        return self._swept("weighed", t, k)

    def _last(self, store: np.ndarray, row: int, k: int) -> int:
        """Keep the last state; a run that goes on makes it once more, from the same numbers.

        After a shorter step it begins anew, from what is kept.
        """
        if self.plan.short and k == self.plan.last:
            return super()._last(store, row, k)
        books, carried = self.books, [x.copy() for x in self.carried]
        self.books = books.copy()
        try:
            return super()._last(store, row, k)
        finally:
            self.books = books
            for target, kept in zip(self.carried, carried, strict=True):
                target[:] = kept

    def _undamped(self, k: int) -> StepError:
        t = self.plan.t0 + k * self.plan.step
        return StepError(
            f"damping could not be solved for at t = {t:g} (step {k})",
            expected="finite strains and momenta",
            received=f"method {self.scheme.name}, step {self.plan.step:g}",
            remedy="use a smaller step; the run may have blown up",
            t=t,
            index=k,
        )

    def _failed(self, code: int, place: int, k: int) -> StepError:
        if code == damped_loop.UNDAMPED:
            return self._undamped(k)
        return super()._failed(code, place, k)
