"""Is an equilibrium stable?  Directions in which the energy falls, counted.

Loads with a potential make the tangent K at an equilibrium the second derivative of the energy.
Its negative eigenvalues are counted (Sylvester) from compliances, in which what is stiff hides
nothing soft (see `graded`), among the motions that something determines.  They are counted with all
stresses and loads a little larger, and a little smaller: a motion for which that decides has no
stiffness beyond round-off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taut.fields.mesh import Mesh
from taut.march.statics.applied import Applied
from taut.march.statics.balance import State
from taut.march.statics.graded import Graded
from taut.march.statics.newton import Newton

DECIDED = 1e-9  # of loads and stresses, by which round-off of what is counted is far less


def conservative(mesh: Mesh, applied: Applied) -> bool:
    """Whether loads have a potential: no followers, and no moments on what can turn."""
    turns = np.ones(mesh.nodes, dtype=bool)
    for hold in mesh.holds:
        turns[hold.node] = np.abs(hold.freedom[:3]).max(initial=0.0) > 0
    return not (applied.follower.any() or applied.dead[turns, :3].any())


@dataclass(frozen=True)
class Falls:
    """In how many directions the energy falls, and in how many it does not change, to round-off.

    `gauge` of the latter are rigid motions that nothing determines.
    """

    surely: int
    neutral: int
    gauge: int

    def decided(self, known: int) -> int | None:
        """How many; None if more motions than the `known` ones have no stiffness.

        A round shaft that sags between its pins still turns about its axis, though that is no rigid
        motion any more.
        """
        return self.surely if self.neutral <= max(known, self.gauge) else None

    def apart(self, other: Falls) -> int:
        """By how much the numbers differ, whichever way neutral motions are counted."""
        one, two = sorted((self, other), key=lambda x: x.surely)
        return max(two.surely - one.surely - one.neutral, 0)


def falls(newton: Newton, state: State, applied: Applied) -> Falls | None:
    """What small motions do to the energy; None if loads have no potential."""
    freedoms = newton.freedoms(state.pose)
    if not conservative(newton.balance.mesh, applied):
        return None
    if not freedoms.count:
        return Falls(0, 0, 0)
    graded = Graded(newton.balance, state, applied, freedoms, even=True)
    gauge = newton.gauge(state, applied, freedoms)
    found = [graded.below(0.0, 1 + x, gauge) for x in (DECIDED, -DECIDED)]
    surely, perhaps = min(low for low, _ in found), max(high for _, high in found)
    return Falls(surely, perhaps - surely + len(gauge), len(gauge))


def slowest(mesh: Mesh) -> float:
    """EI/(mass·length³): the square of a frequency that is low for such beams."""
    alive = mesh.alive
    soft = float(np.linalg.eigvalsh(mesh.stiffness[alive][:, :3, :3])[:, 0].min())
    weight = float((mesh.weight * mesh.inertia[:, 4, 4]).sum())
    return soft / (weight * float(mesh.spacing[alive].sum()) ** 3)
