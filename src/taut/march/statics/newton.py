"""Newton's method for the balance of a mesh under given loads.

K z = r, r being the wrenches on the unknowns and K = −∂r/∂z the exact tangent.  Ends that are not
yet where they belong are moved there in the same step.  The geometric part of K is made with the
stress that the step before expected, n + C B η/Δs, not with that of the new poses: the strains of
stiff directions (stretch, shear) are far too large after a step of finite rotations, and would
spoil it (Magisano, Leonetti & Garcea 2017, mixed integration points).  At the solution both are the
same.

Rigid motions that loads neither drive nor stiffen are kept at zero by a border.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taut.march.freedoms import Freedoms, freedoms_of
from taut.march.statics.applied import Applied
from taut.march.statics.balance import Balance, HalfTurn, State
from taut.march.statics.moves import misplaced, moved
from taut.march.statics.rigid import Rigid, parts_of, rigid_motions, unloaded

LIMIT = 30  # iterations
STALLED = 1e-6  # a step this small that does not get smaller is round-off
HUGE = 1e6  # a step that leads nowhere
FAR = 0.2  # steps below it may grow
GROWN = 1.5  # steps that grow by more than this diverge
NEAR = 1e-4  # a rigid motion by which the stiffness of loads is measured
NOISE = 32 * np.finfo(float).eps


class Failed(Exception):
    """An iteration that did not converge, and why."""


@dataclass(frozen=True)
class Solved:
    """An equilibrium.

    Attributes
    ----------
    iterations : int
    precision : float
        The size of the last step: radians, or displacement over the length of the beams.
    """

    state: State
    iterations: int
    precision: float


class Linear:
    """The balance at one state, linearised and factorised."""

    def __init__(self, newton: Newton, state: State, applied: Applied) -> None:
        self.state, self.applied = state, applied
        self.balance, self.freedoms = newton.balance, newton.freedoms(state.pose)
        self.offset = newton.misplaced(state.pose, applied, self.freedoms)
        force = self.balance.force(state, applied)
        self.residual = self.freedoms.reduced(force.total)
        self.noise = NOISE * _sizes(self.freedoms, force.size)
        self.matrix = self.balance.tangent(state, applied, self.freedoms)
        self.gauge = newton.gauge(state, applied, self.freedoms)
        self._factors = None

    def solve(self, right: np.ndarray) -> np.ndarray:
        """K⁻¹ of one or several right-hand sides, shape (n,) or (n, k)."""
        from scipy.sparse import bmat, csc_matrix
        from scipy.sparse.linalg import splu

        m = len(self.gauge)
        if self._factors is None:
            matrix = self.matrix
            if m:
                matrix = csc_matrix(bmat([[matrix, self.gauge.T], [self.gauge, None]]))
            try:
                self._factors = splu(matrix)
            except RuntimeError as error:
                raise Failed("the tangent is singular") from error
        padded = np.concatenate([right, np.zeros((m, *right.shape[1:]))])
        found = self._factors.solve(padded)[: len(right)]
        if not np.all(np.isfinite(found)):
            raise Failed("the tangent is singular")
        return found

    @property
    def right(self) -> np.ndarray:
        """The wrenches that a step is to balance; ends are brought to where they belong."""
        if not self.offset.any():
            return self.residual
        return self.residual - self.freedoms.reduced(self.pushed(self.offset))

    def pushed(self, eta: np.ndarray) -> np.ndarray:
        """What wrenches change by, with the sign of K, if nodes move by η: shape (N, 6)."""
        balance = self.balance
        edges = balance.edges
        blocks = balance.edge_tangent(self.state)
        both = np.einsum("nij,nj->ni", blocks, np.hstack([eta[edges], eta[edges + 1]]))
        loads = balance.load_tangent(self.state.pose, self.applied)
        found = np.einsum("nij,nj->ni", loads, eta)
        found[edges] += both[:, :6]
        found[edges + 1] += both[:, 6:]
        return found


class Newton:
    """Solves one mesh."""

    def __init__(self, balance: Balance, tolerance: float) -> None:
        self.balance, self.tolerance = balance, tolerance
        self.parts = parts_of(balance.mesh)
        self._freedoms = freedoms_of(balance.mesh)
        pose = balance.mesh.pose
        self.loose = len(self.rigid(pose, self._freedoms).motions) > 0

    def freedoms(self, pose: np.ndarray) -> Freedoms:
        """The unknowns at poses."""
        return freedoms_of(self.balance.mesh, pose) if self.balance.rollers else self._freedoms

    def misplaced(self, pose: np.ndarray, applied: Applied, freedoms: Freedoms) -> np.ndarray:
        """What brings held ends to where they belong."""
        return misplaced(self.balance.mesh, pose, applied, freedoms)

    def rigid(self, pose: np.ndarray, freedoms: Freedoms) -> Rigid:
        """Rigid motions that holds allow."""
        return rigid_motions(self.balance.mesh, pose, freedoms, self.parts)

    def loaded(self, state: State, applied: Applied, freedoms: Freedoms):
        """(rigid motions, stiffness of loads between them, work of loads on them, scale)."""
        rigid = self.rigid(state.pose, freedoms)

        def work(pose: np.ndarray) -> np.ndarray:
            return np.einsum("ani,ni->a", rigid.nodal(pose), self.balance.loads(pose, applied))

        stiffness = np.array(
            [
                (work(there) - work(here)) / (2 * NEAR)
                for here, there in rigid.beside(state.pose, NEAR)
            ]
        ).reshape(len(rigid.motions), -1)
        loads = self.balance.loads(state.pose, applied)
        loads[:, 3:] *= self.balance.length  # as moments
        scale = float(np.linalg.norm(freedoms.reduced(loads)))
        return rigid, -stiffness.T, work(state.pose), scale

    def gauge(self, state: State, applied: Applied, freedoms: Freedoms) -> np.ndarray:
        """Rigid motions that nothing determines, shape (m, unknowns)."""
        if not self.loose:
            return np.zeros((0, freedoms.count))
        rigid, stiffness, work, scale = self.loaded(state, applied, freedoms)
        return unloaded(stiffness, work, scale) @ rigid.motions

    def size(self, eta: np.ndarray) -> float:
        """The size of a step."""
        turn = np.abs(eta[:, :3]).max(initial=0.0)
        return float(max(turn, np.abs(eta[:, 3:]).max(initial=0.0) / self.balance.length))

    def solve(self, state: State, applied: Applied) -> Solved:
        """The equilibrium near a state; `Failed` says why there is none."""
        sizes: list[float] = []
        with np.errstate(all="ignore"):
            for iteration in range(LIMIT):
                try:
                    linear = Linear(self, state, applied)
                    there = not linear.offset.any()
                    if there and np.all(np.abs(linear.residual) <= linear.noise):
                        last = sizes[-1] if sizes else 0.0
                        return Solved(self.settled(state), iteration, last)
                    eta = linear.freedoms.nodal(linear.solve(linear.right)) + linear.offset
                    sizes.append(self.size(eta))
                    if diverges(sizes):
                        break
                    state = moved(self.balance, state, eta)
                except HalfTurn as error:
                    raise Failed(self._half_turn(error.edge)) from error
                least = min(sizes[-4:-1], default=np.inf)
                stalled = len(sizes) > 4 and sizes[-1] > 0.3 * least and sizes[-1] < STALLED
                if sizes[-1] <= self.tolerance or stalled:
                    return Solved(self.settled(state), iteration + 1, sizes[-1])
        raise Failed(f"Newton's method did not converge in {len(sizes)} iterations")

    def still(self, state: State) -> Solved:
        """A state as the beginning of a path."""
        return Solved(self.settled(state), 0, 0.0)

    def settled(self, state: State) -> State:
        """A state with the stress of its strains."""
        return State(state.pose, state.turns, self.balance.stress(state.turns))

    def _half_turn(self, edge: int) -> str:
        mesh = self.balance.mesh
        return f"neighbours turned by half a turn: {mesh.where(edge)} and {mesh.where(edge + 1)}"


def diverges(sizes: list[float]) -> bool:
    """Whether steps grow: beyond the first one, or fivefold."""
    last = sizes[-1]
    if len(sizes) < 3:
        return not last < HUGE
    return not last < max(FAR, min(GROWN * sizes[0], max(0.5, 5 * min(sizes))))


def _sizes(freedoms: Freedoms, size: np.ndarray) -> np.ndarray:
    """What entries of the reduced wrench are sums of."""
    positive = Freedoms(
        freedoms.owner, np.abs(freedoms.carry), freedoms.index, freedoms.edges, freedoms.count
    )
    return positive.reduced(size)
