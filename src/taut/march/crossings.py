"""Zero crossings in a run that is over: between the stored states, located on the manifold.

What `taut.Event` finds in every step while a run goes on is found here afterwards, from one stored
state to the next; two crossings between them cancel.
"""

from __future__ import annotations

import numpy as np

from taut.march.dense import States, check_stored, moved
from taut.march.events import DIRECTIONS, Event, roots
from taut.march.trajectory import Trajectory, expression_values


def crossings(run: Trajectory, event: Event) -> States:
    """The states of a single run at which the event's expression crosses zero.

    Each is the root τ of e(Φ_τ(stored state before it)), as for the events of a run.
    """
    check_stored(run)
    fine = np.isfinite(run.q).all(axis=1)  # what depends on t alone goes on after a run has failed
    seen = np.where(fine, run.evaluate_all([event.expression])[0], np.nan)
    before = _before(seen, DIRECTIONS[event.direction])
    begin = States(run.t[before], run.q[before], run.v[before], run.p[before])
    if not len(before):
        return begin
    value = expression_values(run.system, event.expression, run.parameters)
    every = np.arange(len(before))

    def states(dt: np.ndarray) -> States:
        return States(begin.t + dt, *moved(run, begin, every, dt))

    def values(dt: np.ndarray) -> np.ndarray:
        here = states(dt)
        return value(here.q, here.v, here.p, here.t)

    return states(roots(values, run.t[before + 1] - begin.t))


def _before(values: np.ndarray, direction: int) -> np.ndarray:
    """Rows after which values change their sign; zeros and NaN have that of the row before."""
    told = np.flatnonzero(np.isfinite(values) & (values != 0))
    signs = np.sign(values[told])
    turned = signs[1:] * signs[:-1] < 0
    if direction:
        turned &= signs[1:] == direction
    before = told[1:][turned] - 1
    return before[np.isfinite(values[before])]
