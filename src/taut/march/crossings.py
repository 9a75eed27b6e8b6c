"""Zero crossings in a run that is over: between the stored states, located on the manifold.

What `taut.Event` finds in every step while a run goes on is found here afterwards, from one stored
state to the next; two crossings between them cancel.
"""

from __future__ import annotations

import numpy as np

from taut.march.dense import EPS, States, check_stored, moved
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

    def states(dt: np.ndarray, rows: np.ndarray) -> States:
        start = States(*(getattr(begin, x)[rows] for x in "tqvp"))
        return States(start.t + dt, *moved(run, start, np.arange(len(rows)), dt))

    def values(dt: np.ndarray, rows: np.ndarray) -> np.ndarray:
        here = states(dt, rows)
        return value(here.q, here.v, here.p, here.t)

    blur = 2 * EPS * np.abs(begin.t)  # times that are one number
    found = roots(values, run.t[before + 1] - begin.t, blur)
    return states(found, np.arange(len(found)))


def _before(values: np.ndarray, direction: int) -> np.ndarray:
    """Rows after which values change their sign; zeros and NaN have that of the row before."""
    told = np.flatnonzero(np.isfinite(values) & (values != 0))
    signs = np.sign(values[told])
    turned = signs[1:] * signs[:-1] < 0
    if direction:
        turned &= signs[1:] == direction
    before = told[1:][turned] - 1
    return before[np.isfinite(values[before])]
