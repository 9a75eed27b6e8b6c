"""Implicit damping in a step of its own, for schemes that are explicit otherwise.

The same road as that of implicit steps, with the sweeps of `taut.methods.fields.damping`: the
equations are linear, so old factors serve as long as the strains have not changed much.
"""

from __future__ import annotations

from taut.kernel.implicit_code import EDGE, NODE
from taut.kernel.jit import within
from taut.kernel.sweep_code import MARGIN
from taut.march.call import call_sweep
from taut.march.codes import DONE
from taut.march.coupled import KEPT, STEP, newton
from taut.march.finish import bind, clear, pull


@within
def damp(c, special, rows, par, room, notes):
    """Damp the momenta over the time in the slot `span`.

    Parameters
    ----------
    c : Coupling
        Made for `Damping`: its rows `zeta`, `left` and `right` are `slow`, `drag_left` and
        `drag_right`, its slot `step` is `span`.
    special, rows, par, room, notes
        As in `taut.march.coupled.advance`, of which `room` and `notes` are not shared.  The row
        `slow` holds the guess: what it holds after the last time will do.

    Returns
    -------
    (code, dissipated)
        `DONE` or why it was not made, and the energy that it took from nodes: what edges
        dissipated, less the work of moved ends.
    """
    time, sums = par[c.step], room.sums
    if notes[STEP] != time:
        notes[STEP], notes[KEPT] = time, 0.0
    clear(c, special, rows)
    code = newton(c, special, rows, par, room, notes, 0.0)
    if code != DONE:
        notes[KEPT] = 0.0
        return code, 0.0
    pull(c, rows, par, sums, EDGE)
    lost = sums[0]
    lost -= bind(c, special, rows, par, sums, 0.0, time)
    call_sweep(
        c.address[NODE], rows.ctypes.data + 8 * MARGIN, rows.shape[1], par.ctypes.data,
        0, c.unknown.shape[0], sums.ctypes.data,
    )  # fmt: skip
    return DONE, lost
