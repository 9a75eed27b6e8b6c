"""Is an equilibrium stable?  Directions in which the energy falls, counted.

Loads with a potential make the tangent K at an equilibrium the second derivative of the energy.
The number of its negative eigenvalues is that of the negative pivots of K + σM (Sylvester), σ being
the square of a frequency too low to count: motions that nothing determines have zero, or round-off.
"""

from __future__ import annotations

import numpy as np

from taut.fields.mesh import Mesh
from taut.march.freedoms import Freedoms
from taut.march.statics.applied import Applied
from taut.march.statics.balance import Balance, State

CLOSE_TO_ZERO = 1e-6  # of the square of the lowest frequency that a beam of that kind may have
ROUND_OFF = 1e-14  # of the square of the highest


def conservative(mesh: Mesh, applied: Applied) -> bool:
    """Whether loads have a potential: no followers, and no moments on what can turn."""
    turns = np.ones(mesh.nodes, dtype=bool)
    for hold in mesh.holds:
        turns[hold.node] = np.abs(hold.freedom[:3]).max(initial=0.0) > 0
    return not (applied.follower.any() or applied.dead[turns, :3].any())


def falling(balance: Balance, state: State, applied: Applied, freedoms: Freedoms) -> int | None:
    """In how many directions the energy falls; None if loads have no potential."""
    if not conservative(balance.mesh, applied):
        return None
    if not freedoms.count:
        return 0
    from scipy.sparse import csc_matrix

    shape = (freedoms.count, freedoms.count)
    matrix = balance.tangent(state, applied, freedoms)
    values, rows, columns = freedoms.of_nodes(balance.heavy)
    mass = csc_matrix((values, (rows, columns)), shape=shape)
    highest = float(np.max(np.abs(matrix.diagonal()) / mass.diagonal()))
    small = max(CLOSE_TO_ZERO * slowest(balance.mesh), ROUND_OFF * highest)
    return below(csc_matrix((matrix + matrix.T) / 2), mass, -small)


def below(k, m, value: float) -> int | None:
    """How many λ of K z = λ M z lie below a value; None if the factorisation cannot tell."""
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import splu

    try:
        factors = splu(
            csc_matrix(k - value * m),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError:  # a pivot is zero
        return None
    return int(np.sum(factors.U.diagonal() < 0))


def slowest(mesh: Mesh) -> float:
    """EI/(mass·length³): the square of a frequency that is low for such beams."""
    alive = mesh.alive
    soft = float(np.linalg.eigvalsh(mesh.stiffness[alive][:, :3, :3])[:, 0].min())
    weight = float((mesh.weight * mesh.inertia[:, 4, 4]).sum())
    return soft / (weight * float(mesh.spacing[alive].sum()) ** 3)
