"""What nodes of a mesh of beams are free to do, and matrices in terms of it.

A small motion of the nodes is η_j ∈ se(3) in the frame of node j, g_j ← g_j (1 + η_j).  Holds leave
a part of it, joints tie followers to leaders:

    η_j = carry_j z_{owner(j)},        carry_j = (Ad motion⁻¹) Q,

Q being orthogonal with what a hold leaves free in its first columns; the unknowns are the entries
of z that are not held, numbered from node to node, so that matrices of one beam have a band of 12.

A strain follows the motion of both ends of its edge by

    Δs δχ = T(a) η_{j+1} − T(−a) η_j = B (η_j, η_{j+1}),        a = ½ Δs χ,  T(a) = 1 + ad_a + a aᵀ

(in dual numbers), the inverse tangent of the adjoint Cayley map.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taut.fields.mesh import Mesh
from taut.lie import SE3, SO3

HELD = -1


@dataclass(frozen=True)
class Freedoms:
    """The unknowns of a mesh.

    Attributes
    ----------
    owner : ndarray of int, shape (N,)
        The leader of each follower; every other node itself.
    carry : ndarray, shape (N, 6, 6)
    index : ndarray of int, shape (N, 6)
        The number of each entry of z of the owner; −1 where it is held.
    edges : ndarray of int, shape (E,)
        The edges that exist.
    count : int
    """

    owner: np.ndarray
    carry: np.ndarray
    index: np.ndarray
    edges: np.ndarray
    count: int

    def nodal(self, z: np.ndarray) -> np.ndarray:
        """η of all nodes, shape (N, 6), of unknowns z."""
        padded = np.append(z, 0.0)  # entry −1
        return np.einsum("nij,nj->ni", self.carry, padded[self.index])

    def reduced(self, wrench: np.ndarray) -> np.ndarray:
        """What wrenches on all nodes, shape (N, 6), do to the unknowns."""
        pulled = np.einsum("nji,nj->ni", self.carry, wrench)
        found = np.bincount(_filed(self.index, self.count), pulled.ravel(), self.count + 1)
        return found[: self.count]

    def of_edges(self, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(values, rows, columns) of matrices of edges, shape (E, 12, 12), in nodal motions."""
        left, right = self.carry[self.edges], self.carry[self.edges + 1]
        found = np.empty(blocks.shape)
        for i, one in ((slice(0, 6), left), (slice(6, 12), right)):
            for j, two in ((slice(0, 6), left), (slice(6, 12), right)):
                found[:, i, j] = np.swapaxes(one, 1, 2) @ blocks[:, i, j] @ two
        places = np.concatenate([self.index[self.edges], self.index[self.edges + 1]], axis=1)
        return _triplets(found, places)

    def of_nodes(self, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same of matrices of nodes, shape (N, 6, 6)."""
        found = np.swapaxes(self.carry, 1, 2) @ blocks @ self.carry
        return _triplets(found, self.index)

    def inertia(self, mesh: Mesh) -> np.ndarray:
        """weight·inertia of every node, shape (N, 6, 6); followers have none of their own."""
        found = mesh.weight[:, None, None] * mesh.inertia
        found[self.owner != np.arange(mesh.nodes)] = 0.0
        return found


def freedoms_of(mesh: Mesh, pose: np.ndarray | None = None) -> Freedoms:
    """The unknowns of a mesh in its reference configuration, or at poses of shape (N, 4, 4)."""
    turned = np.broadcast_to(np.eye(6), (mesh.nodes, 6, 6)).copy()
    free = np.ones((mesh.nodes, 6), dtype=bool)
    for hold in mesh.holds:
        columns = hold.freedom
        if hold.direction is not None and pose is not None:  # a roller: fixed in space
            columns = columns.copy()
            columns[3:, -1] = pose[hold.node, :3, :3].T @ hold.direction
        many = columns.shape[1]
        whole, _ = np.linalg.qr(np.hstack([columns, np.eye(6)]))
        whole[:, :many] = columns  # QR may turn signs
        turned[hold.node], free[hold.node] = whole, np.arange(6) < many
    owner, carry = np.arange(mesh.nodes), turned.copy()
    for joint in mesh.joints:
        owner[joint.follower] = joint.leader
        back = SE3.adjoint(SE3.inverse(joint.motion))
        carry[joint.follower] = back @ turned[joint.leader]
        free[joint.follower] = False
    index = np.where(free, np.cumsum(free).reshape(free.shape) - 1, HELD)[owner]
    return Freedoms(owner, carry, index, np.flatnonzero(mesh.alive), int(free.sum()))


def strain_maps(turns: np.ndarray) -> np.ndarray:
    """B = (−T(−a), T(a)) of edges with Δs χ = `turns` = 2 a, shape (E, 6, 12)."""
    k, v = 0.5 * turns[:, :3], 0.5 * turns[:, 3:]
    odd, even = np.zeros((2, len(turns), 6, 6))  # ad_a and 1 + a aᵀ, as dual matrices
    mixed = k[:, :, None] * v[:, None, :]
    odd[:, :3, :3] = odd[:, 3:, 3:] = SO3.hat(k)
    even[:, :3, :3] = even[:, 3:, 3:] = np.eye(3) + k[:, :, None] * k[:, None, :]
    odd[:, 3:, :3], even[:, 3:, :3] = SO3.hat(v), mixed + np.swapaxes(mixed, 1, 2)
    return np.concatenate([odd - even, odd + even], axis=-1)


def elastic(mesh: Mesh, edges: np.ndarray) -> np.ndarray:
    """BᵀC B/Δs of edges of the reference configuration, shape (E, 12, 12)."""
    ds = mesh.spacing[edges]
    b = strain_maps(ds[:, None] * mesh.reference[edges])
    return np.swapaxes(b, 1, 2) @ (mesh.stiffness[edges] / ds[:, None, None]) @ b


def _triplets(blocks: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = np.broadcast_to(index[:, :, None], blocks.shape)
    columns = np.broadcast_to(index[:, None, :], blocks.shape)
    kept = (rows != HELD) & (columns != HELD)
    return blocks[kept], rows[kept], columns[kept]


def _filed(index: np.ndarray, count: int) -> np.ndarray:
    """Numbers for `np.bincount`: what is held comes last."""
    return np.where(index == HELD, count, index).ravel()
