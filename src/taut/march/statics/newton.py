"""Newton's method for the balance of a mesh under given loads.

K z = r, r being the wrenches on the unknowns and K = −∂r/∂z the exact tangent, with stresses as
unknowns of their own (see `graded`).  Ends that are not yet where they belong are moved there in
the same step.  The geometric part of K is made with the stress that the step before expected,
n + C B η/Δs, not with that of the new poses: the strains of stiff directions (stretch, shear) are
far too large after a step of finite rotations, and would spoil it (Magisano, Leonetti & Garcea
2017, mixed integration points).  At the solution both are the same, but for round-off of places.

Rigid motions that loads neither drive nor stiffen are kept at zero by a border.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taut.march.freedoms import Freedoms, freedoms_of
from taut.march.statics.applied import Applied
from taut.march.statics.balance import Balance, HalfTurn, State
from taut.march.statics.graded import Factored, Graded
from taut.march.statics.moves import misplaced, moved
from taut.march.statics.rigid import Rigid, parts_of, rigid_motions, unloaded

LIMIT = 30  # iterations
STALLED = 1e-6  # a step this small that does not get smaller is round-off
HUGE = 1e6  # a step that leads nowhere
FAR = 0.2  # steps below it may grow
GROWN = 1.5  # steps that grow by more than this diverge
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


@dataclass(frozen=True)
class Right:
    """A right-hand side: wrenches on the unknowns, and Δs δχ of the edges."""

    force: np.ndarray
    strain: np.ndarray

    def without(self, other: Right) -> Right:
        return Right(self.force - other.force, self.strain - other.strain)

    def beside(self, other: Right) -> Right:
        """Both, as columns."""
        return Right(
            np.stack([self.force, other.force], axis=1),
            np.stack([self.strain, other.strain], axis=1),
        )


class Linear:
    """The balance at one state, linearised and factorised."""

    def __init__(self, newton: Newton, state: State, applied: Applied) -> None:
        self.state, self.applied = state, applied
        self.balance, self.freedoms = newton.balance, newton.freedoms(state.pose)
        self.offset = newton.misplaced(state.pose, applied, self.freedoms)
        force = self.balance.force(state, applied)
        self.residual = self.freedoms.reduced(force.total)
        self.noise = NOISE * _sizes(self.freedoms, force.size)
        self.graded = Graded(self.balance, state, applied, self.freedoms, even=False)
        self.gauge = newton.gauge(state, applied, self.freedoms)

    @property
    def balanced(self) -> bool:
        """Whether nothing is left but round-off: of wrenches, and of strains against stresses."""
        if self.offset.any() or not np.all(np.abs(self.residual) <= self.noise):
            return False
        size = np.ones(6)
        size[3:] = np.abs(self.state.pose[:, :3, 3]).max()
        return bool(np.all(np.abs(self.balance.gap(self.state)) <= NOISE * size))

    @cached_property
    def _factors(self) -> Factored:
        try:
            return self.graded.factored(border=self.gauge)
        except RuntimeError as error:
            raise Failed("the tangent is singular") from error

    def solve(self, right: Right) -> tuple[np.ndarray, np.ndarray]:
        """What one or several right-hand sides lead to: motions and stresses."""
        z, n = self._factors.solve(right.force, right.strain)
        if not np.all(np.isfinite(z)):
            raise Failed("the tangent is singular")
        return z, n.reshape(-1, 6, *n.shape[1:])

    @property
    def right(self) -> Right:
        """What a step is to balance; ends are brought to where they belong."""
        found = Right(self.residual, self.balance.gap(self.state).ravel())
        return found.without(self.pushed(self.offset)) if self.offset.any() else found

    def pushed(self, eta: np.ndarray) -> Right:
        """What nodes that move by η do by themselves, without a change of stresses."""
        balance, edges = self.balance, self.balance.edges
        both = np.hstack([eta[edges], eta[edges + 1]])
        pulled = np.einsum("nij,nj->ni", balance.geometric(self.state), both)
        found = np.einsum("nij,nj->ni", balance.load_tangent(self.state.pose, self.applied), eta)
        found[edges] += pulled[:, :6]
        found[edges + 1] += pulled[:, 6:]
        strain = np.einsum("nij,nj->ni", self.state.maps, both)
        return Right(self.freedoms.reduced(found), strain.ravel())


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
        loads = self.balance.loads(state.pose, applied)
        own = rigid.nodal(state.pose)
        slope = self.balance.load_tangent(state.pose, applied)
        stiffness = np.einsum("ani,nij,bnj->ab", own, slope, own)
        work = np.einsum("ani,ni->a", own, loads)
        loads[:, 3:] *= self.balance.length  # as moments
        scale = float(np.linalg.norm(freedoms.reduced(loads)))
        return rigid, stiffness, work, scale

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
                    if linear.balanced:
                        last = sizes[-1] if sizes else 0.0
                        return Solved(state, iteration, last)
                    z, more = linear.solve(linear.right)
                    eta = linear.freedoms.nodal(z) + linear.offset
                    sizes.append(self.size(eta))
                    if diverges(sizes):
                        break
                    state = moved(self.balance, state, eta, more)
                except HalfTurn as error:
                    raise Failed(self._half_turn(error.edge)) from error
                least = min(sizes[-4:-1], default=np.inf)
                stalled = len(sizes) > 4 and sizes[-1] > 0.3 * least and sizes[-1] < STALLED
                if sizes[-1] <= self.tolerance or stalled:
                    return Solved(state, iteration + 1, sizes[-1])
        raise Failed(f"Newton's method did not converge in {len(sizes)} iterations")

    def still(self, state: State) -> Solved:
        """A state as the beginning of a path."""
        return Solved(state, 0, 0.0)

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
