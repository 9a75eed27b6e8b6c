"""The balance of a mesh: wrenches on its nodes, and how they change when nodes move.

Edges pull their nodes with the wrench −Bᵀn, n = C(χ − χ₀), in the local frames,

    F_left = T(−a)ᵀ n,        F_right = −T(a)ᵀ n,        a = ½ Δs χ,

the static part of `taut.methods.fields.variational`: minus the derivative of Σ Δs V(χ).  With
Δs δχ = B η they change by

    δ(Bᵀn) = BᵀC B η/Δs + ½ (D − E, D + E) B η,      D δa = ad_δaᵀ n,   E δa = δ((a aᵀ)ᵀ n),

the elastic and the geometric part (D − E for the left node, D + E for the right one).  A dead load
(τ, f) is (Rᵀτ, Rᵀf) in the local frame, gravity w I (0, Rᵀg); R ← R (1 + k^) changes them by
(Rᵀτ × k, Rᵀf × k).  Off equilibrium the tangent is not symmetric in these frames; at an equilibrium
it is, if the loads have a potential.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taut.fields.mesh import Mesh
from taut.lie import SE3, SO3
from taut.march.freedoms import Freedoms, freedoms_of, strain_maps
from taut.march.statics.applied import Applied

HALF_TURN = 1e-6  # 1 + tr R of what counts as half a turn


class HalfTurn(Exception):
    """Neighbours are turned by half a turn against each other."""

    def __init__(self, edge: int) -> None:
        super().__init__(edge)
        self.edge = edge


@dataclass(frozen=True, eq=False)
class State:
    """A configuration.

    Attributes
    ----------
    pose : ndarray, shape (N, 4, 4)
    turns : ndarray, shape (E, 6)
        Δs χ of the edges that exist.
    stress : ndarray, shape (E, 6)
        n, what the last step expected it to be: C(χ − χ₀) where Newton's method is at its end, but
        not by way of places, whose round-off a stiff beam makes large.
    """

    pose: np.ndarray
    turns: np.ndarray
    stress: np.ndarray

    @cached_property
    def maps(self) -> np.ndarray:
        """B of all edges, shape (E, 6, 12)."""
        return strain_maps(self.turns)


@dataclass(frozen=True)
class Force:
    """Wrenches on nodes, shape (N, 6), and the size of what they are sums of."""

    total: np.ndarray
    size: np.ndarray


class Balance:
    """Wrenches and tangents of one mesh."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.edges = np.flatnonzero(mesh.alive)
        self.spacing = mesh.spacing[self.edges]
        self.stiffness = mesh.stiffness[self.edges]
        self.reference = mesh.reference[self.edges]
        reference = freedoms_of(mesh)
        self.heavy = reference.inertia(mesh)
        self.rollers = [h.node for h in mesh.holds if h.direction is not None]
        self.length = float(np.sum(self.spacing))

    # ---- configurations ----------------------------------------------------------------------

    def at(self, pose: np.ndarray) -> State:
        """The state at poses."""
        turns = self.turns(pose)
        return State(pose, turns, self.stress(turns))

    def unloaded(self) -> State:
        """The reference configuration, without any stress."""
        pose = self.mesh.pose.copy()
        return State(pose, self.turns(pose), np.zeros((len(self.edges), 6)))

    def turns(self, pose: np.ndarray) -> np.ndarray:
        """Δs χ of all edges."""
        first, second = pose[self.edges], pose[self.edges + 1]
        relative = first.copy()
        back = np.swapaxes(first[:, :3, :3], 1, 2)
        relative[:, :3, :3] = back @ second[:, :3, :3]
        relative[:, :3, 3] = np.einsum("nij,nj->ni", back, second[:, :3, 3] - first[:, :3, 3])
        half = 1 + np.trace(relative[:, :3, :3], axis1=1, axis2=2) < HALF_TURN
        if half.any():
            raise HalfTurn(int(self.edges[np.argmax(half)]))
        return SE3.cay_ad_inverse(relative)

    def strain(self, turns: np.ndarray) -> np.ndarray:
        """γ = χ − χ₀."""
        return turns / self.spacing[:, None] - self.reference

    def gap(self, state: State) -> np.ndarray:
        """By how much Δs χ differs from what the stress says it is, shape (E, 6)."""
        expected = np.einsum("nij,nj->ni", self.compliance, state.stress)
        return expected + self.spacing[:, None] * self.reference - state.turns

    def stress(self, turns: np.ndarray) -> np.ndarray:
        """N = C γ."""
        return np.einsum("nij,nj->ni", self.stiffness, self.strain(turns))

    def energy(self, turns: np.ndarray) -> float:
        """Σ Δs ½⟨C γ, γ⟩."""
        density = np.einsum("ni,ni->n", self.stress(turns), self.strain(turns))
        return float(0.5 * self.spacing @ density)

    @cached_property
    def compliance(self) -> np.ndarray:
        """F = Δs C⁻¹: the strains times Δs that stresses cause, shape (E, 6, 6)."""
        scale = 1 / np.sqrt(np.einsum("eii->ei", self.stiffness))
        both = scale[:, :, None] * scale[:, None, :]
        found = both * np.linalg.inv(both * self.stiffness) * self.spacing[:, None, None]
        return (found + np.swapaxes(found, 1, 2)) / 2

    # ---- wrenches ----------------------------------------------------------------------------

    def loads(self, pose: np.ndarray, applied: Applied) -> np.ndarray:
        """What loads and gravity do to the nodes, shape (N, 6)."""
        back = np.swapaxes(pose[:, :3, :3], 1, 2)
        found = applied.follower.copy()
        found[:, :3] += np.einsum("nij,nj->ni", back, applied.dead[:, :3])
        found[:, 3:] += np.einsum("nij,nj->ni", back, applied.dead[:, 3:])
        if applied.gravity.any():
            found += np.einsum("nij,nj->ni", self.heavy[:, :, 3:], back @ applied.gravity)
        return found

    def force(self, state: State, applied: Applied) -> Force:
        """All that acts on the nodes, but for what holds them."""
        pulled = -np.einsum("nij,ni->nj", state.maps, state.stress)
        total = self.loads(state.pose, applied)
        size = np.abs(total)
        for part, nodes in ((pulled[:, :6], self.edges), (pulled[:, 6:], self.edges + 1)):
            total[nodes] += part  # an edge has a left node of its own, and a right one
            size[nodes] += np.abs(part)
        return Force(total, size)

    # ---- tangents ----------------------------------------------------------------------------

    def edge_tangent(self, state: State) -> np.ndarray:
        """−∂(wrench)/∂η of every edge, shape (E, 12, 12)."""
        inner = np.swapaxes(state.maps, 1, 2) @ self.stiffness
        inner /= self.spacing[:, None, None]
        return inner @ state.maps + self.geometric(state)

    def geometric(self, state: State) -> np.ndarray:
        """The part of it that comes with the stress, shape (E, 12, 12)."""
        turned, stretched = 0.5 * _turned(state.stress), 0.5 * _stretched(state.turns, state.stress)
        return np.concatenate([turned - stretched, turned + stretched], axis=1) @ state.maps

    def damping(self, state: State) -> np.ndarray:
        """BᵀC B·damping/Δs of every edge: Kelvin–Voigt."""
        times = (self.mesh.damping[self.edges] / self.spacing)[:, None, None]
        return np.swapaxes(state.maps, 1, 2) @ (times * self.stiffness) @ state.maps

    def load_tangent(self, pose: np.ndarray, applied: Applied) -> np.ndarray:
        """−∂(wrench)/∂η of the loads on every node, shape (N, 6, 6)."""
        back = np.swapaxes(pose[:, :3, :3], 1, 2)
        found = np.zeros((len(pose), 6, 6))
        for part in (slice(0, 3), slice(3, 6)):
            found[:, part, :3] = -SO3.hat(np.einsum("nij,nj->ni", back, applied.dead[:, part]))
        if applied.gravity.any():
            found[:, :, :3] -= self.heavy[:, :, 3:] @ SO3.hat(back @ applied.gravity)
        return found

    def nodal_tangent(self, state: State, applied: Applied) -> np.ndarray:
        """The same of loads and of what holds, shape (N, 6, 6)."""
        nodes = self.load_tangent(state.pose, applied)
        if self.rollers:  # the direction of what is free is fixed in space: the wrench turns in it
            own = self.led(self.force(state, applied).total)
            nodes[self.rollers, 3:, :3] += SO3.hat(own[self.rollers, 3:])
        return nodes

    def tangent(self, state: State, applied: Applied, freedoms: Freedoms):
        """K = −∂(reduced wrench)/∂z, a sparse matrix (CSC)."""
        from scipy.sparse import csc_matrix

        nodes = self.nodal_tangent(state, applied)
        parts = [freedoms.of_edges(self.edge_tangent(state)), freedoms.of_nodes(nodes)]
        values, rows, columns = (np.concatenate(x) for x in zip(*parts, strict=True))
        return csc_matrix((values, (rows, columns)), shape=(freedoms.count, freedoms.count))

    def led(self, wrench: np.ndarray) -> np.ndarray:
        """Wrenches with those of followers on their leaders."""
        found = wrench.copy()
        for joint in self.mesh.joints:
            for part in (slice(0, 3), slice(3, 6)):
                found[joint.leader, part] += joint.motion[:3, :3] @ found[joint.follower, part]
            found[joint.follower] = 0.0
        return found


def _turned(n: np.ndarray) -> np.ndarray:
    """The matrices D with D a = ad_aᵀ n."""
    found = np.zeros((len(n), 6, 6))
    found[:, :3, :3] = SO3.hat(n[:, :3])
    found[:, :3, 3:] = found[:, 3:, :3] = SO3.hat(n[:, 3:])
    return found


def _stretched(turns: np.ndarray, n: np.ndarray) -> np.ndarray:
    """The matrices E with E δa = δ((a aᵀ)ᵀ n), a = turns/2."""
    k, v = 0.5 * turns[:, :3], 0.5 * turns[:, 3:]
    moment, force = n[:, None, :3], n[:, None, 3:]
    with_k = np.sum(k * n[:, 3:], axis=1)
    with_v = np.sum(k * n[:, :3] + v * n[:, 3:], axis=1)
    found = np.zeros((len(n), 6, 6))
    found[:, :3, :3] = k[:, :, None] * moment + v[:, :, None] * force
    found[:, :3, 3:] = found[:, 3:, :3] = k[:, :, None] * force
    for i in range(3):
        found[:, i, i] += with_v
        found[:, i, 3 + i] += with_k
        found[:, 3 + i, i] += with_k
    return found
