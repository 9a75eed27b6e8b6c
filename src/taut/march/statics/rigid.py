"""Motions without strain that holds leave to a mesh, and those that loads leave too.

A rigid motion ξ ∈ se(3), in space, moves the nodes of a part of the mesh by η_j = Ad(g_j⁻¹) ξ; a
hold allows it if η_j lies in what it leaves free.  Loads take some of these motions away (a beam
that hangs from a hinge does not turn): what is left does no work and meets no stiffness, and an
equilibrium is determined but for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taut.fields.mesh import Mesh
from taut.lie import SE3
from taut.march.freedoms import Freedoms

SMALL = 1e-8  # of what is compared: nothing


@dataclass(frozen=True)
class Rigid:
    """Rigid motions that holds allow.

    Attributes
    ----------
    twists : ndarray, shape (m, 6)
        In space, about `centres`.
    motions : ndarray, shape (m, unknowns)
        The same in terms of the unknowns, of length one: angles, and displacements over the reach
        of the part.
    parts : list of int
        The first node of the part of the mesh that moves.
    of : ndarray of int, shape (N,)
        The part that each node belongs to.
    """

    twists: np.ndarray
    centres: np.ndarray
    motions: np.ndarray
    parts: list[int]
    of: np.ndarray

    def nodal(self, pose: np.ndarray) -> np.ndarray:
        """η of all nodes for each motion, at these or other poses: shape (m, N, 6)."""
        found = np.zeros((len(self.twists), len(pose), 6))
        for k, (twist, centre, part) in enumerate(
            zip(self.twists, self.centres, self.parts, strict=True)
        ):
            own = self.of == part
            maps = SE3.adjoint(SE3.inverse(_about(centre) @ pose[own]))
            found[k, own] = maps @ twist
        return found

    def turned(self, pose: np.ndarray, loads: np.ndarray) -> np.ndarray:
        """By how much more work of loads on a falls, moved by b, if a stays in space: (m, m).

        Moved by b, a is a − [b, a] to those who move along.
        """
        many = len(self.twists)
        found = np.zeros((many, many))
        for b, (twist, centre, part) in enumerate(
            zip(self.twists, self.centres, self.parts, strict=True)
        ):
            own = self.of == part
            maps = SE3.adjoint(SE3.inverse(_about(centre) @ pose[own]))
            pulled = np.einsum("nij,ni->j", maps, loads[own])
            mine = np.array([p == part for p in self.parts])
            turns, shifts = self.twists[mine, :3], self.twists[mine, 3:]
            linear = np.cross(twist[:3], shifts) + np.cross(twist[3:], turns)
            found[mine, b] = np.hstack([np.cross(twist[:3], turns), linear]) @ pulled
        return found

    def words(self, mesh: Mesh, chosen: np.ndarray) -> str:
        """Combinations of the motions (in rows) in words."""
        found = []
        for part in sorted(set(self.parts)):
            own = np.array([p == part for p in self.parts])
            rows = chosen[:, own] @ self.twists[own]
            rows = rows[np.linalg.norm(rows, axis=1) > SMALL * np.abs(chosen).max()]
            if not len(rows):
                continue
            centre = self.centres[self.parts.index(part)]
            text = _described(rows, centre)
            many = len(mesh.spans) > 1
            found.append(f"beam {mesh.beam_of(part)}: {text}" if many else text)
        return "; ".join(found)


def parts_of(mesh: Mesh) -> np.ndarray:
    """For every node, the first node of the part that it is connected with."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    edges = np.flatnonzero(mesh.alive)
    ends = [(j.leader, j.follower) for j in mesh.joints]
    rows = np.concatenate([edges, [a for a, _ in ends]]).astype(int)
    columns = np.concatenate([edges + 1, [b for _, b in ends]]).astype(int)
    graph = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(mesh.nodes, mesh.nodes))
    _, label = connected_components(graph, directed=False)
    first = np.full(label.max() + 1, mesh.nodes)
    np.minimum.at(first, label, np.arange(mesh.nodes))
    return first[label]


def rigid_motions(mesh: Mesh, pose: np.ndarray, freedoms: Freedoms, parts: np.ndarray) -> Rigid:
    """What holds allow at poses; `parts` as `parts_of` finds them."""
    held = {h.node for h in mesh.holds}
    twists, centres, motions, firsts = [], [], [], []
    for part in np.unique(parts):
        nodes = np.flatnonzero(parts == part)
        centre = pose[nodes, :3, 3].mean(axis=0)
        reach = float(np.ptp(pose[nodes, :3, 3], axis=0).max()) or 1.0
        maps = SE3.adjoint(SE3.inverse(_about(centre) @ pose[nodes]))  # η_j of ξ about the centre
        maps[:, :, 3:] *= reach
        rows = [np.zeros((1, 6))]
        for j, node in enumerate(nodes):
            if node in held:
                fixed = freedoms.index[node] < 0
                row = freedoms.carry[node][:, fixed].T @ maps[j]
                rows.append(row / np.linalg.norm(row, axis=1, keepdims=True))
        _, sizes, right = np.linalg.svd(np.vstack(rows))
        rank = int(np.sum(sizes > SMALL))
        for twist in right[rank:]:
            eta = np.zeros((mesh.nodes, 6))
            eta[nodes] = maps @ twist
            motion = _unknowns(eta, freedoms)
            size = np.linalg.norm(_unknowns(eta / [1, 1, 1, reach, reach, reach], freedoms))
            scaled = twist * np.array([1, 1, 1, reach, reach, reach])
            twists.append(scaled / size)
            motions.append(motion / size)
            centres.append(centre)
            firsts.append(int(part))
    return Rigid(
        np.array(twists).reshape(-1, 6),
        np.array(centres).reshape(-1, 3),
        np.array(motions).reshape(len(motions), freedoms.count),
        firsts,
        parts,
    )


def _about(centre: np.ndarray) -> np.ndarray:
    """The motion that takes a point to the origin."""
    found = np.eye(4)
    found[:3, 3] = -centre
    return found


def _unknowns(eta: np.ndarray, freedoms: Freedoms) -> np.ndarray:
    """The z with η = carry z."""
    back = np.einsum("nji,nj->ni", freedoms.carry, eta)  # Q is orthogonal
    own = freedoms.owner == np.arange(len(eta))
    found = np.zeros(freedoms.count + 1)
    found[freedoms.index[own].ravel()] = back[own].ravel()  # entry −1 is thrown away
    return found[:-1]


def unloaded(stiffness: np.ndarray, work: np.ndarray, scale: float) -> np.ndarray:
    """Combinations of rigid motions, in rows, that loads neither drive nor stiffen.

    Parameters
    ----------
    stiffness : ndarray, shape (m, m)
        Of the loads: entry (a, b) is by how much their work on a, which moves along, falls when the
        mesh is moved by b.
    work : ndarray, shape (m,)
        Of the loads on the motions.
    scale : float
        The size of the loads.
    """
    others = np.eye(len(work))
    if np.linalg.norm(work) > SMALL * scale:
        others = np.linalg.svd(work[None])[2][1:]
    between = others @ stiffness @ others.T
    _, sizes, right = np.linalg.svd(between)
    rank = int(np.sum(sizes > SMALL * scale)) if scale > 0 else 0
    return right[rank:] @ others


def unstoppable(stiffness: np.ndarray, work: np.ndarray, scale: float) -> np.ndarray | None:
    """The rigid motion that loads drive and go on driving wherever the mesh moves; or None."""
    left, sizes, _ = np.linalg.svd(stiffness)
    never = left[:, sizes <= SMALL * scale]
    driven = never @ (never.T @ work)
    return driven if np.linalg.norm(driven) > SMALL * scale else None


def _described(twists: np.ndarray, centre: np.ndarray) -> str:
    """Twists about a centre in words."""
    if len(twists) == 6:
        return "every motion"
    words = []
    turning = np.linalg.matrix_rank(twists[:, :3], tol=SMALL * np.abs(twists).max())
    if turning == 3 and len(twists) == 3:
        # ω × (x − centre) + v = 0 for all ω: the point that stays
        omega, v = twists[:, :3], twists[:, 3:]
        cross = np.vstack([np.cross(np.eye(3), w).T for w in omega])
        point = centre + np.linalg.lstsq(-cross, -v.ravel(), rcond=None)[0]
        return f"rotation about the point {_triple(point)}"
    # Combinations that only translate, and others that rotate.
    left, sizes, _ = np.linalg.svd(twists[:, :3])
    rank = int(np.sum(sizes > SMALL * np.abs(twists).max()))
    combined = left.T @ twists
    for twist in combined[:rank]:
        omega, v = twist[:3], twist[3:]
        axis = omega / np.linalg.norm(omega)
        point = centre + np.cross(omega, v) / (omega @ omega)
        words.append(f"rotation about the axis {_axis(axis)} through {_triple(point)}")
    if len(combined) - rank == 3:
        return ", ".join([*words, "every translation"])
    for twist in combined[rank:]:
        words.append(f"translation along {_axis(twist[3:] / np.linalg.norm(twist[3:]))}")
    return ", ".join(words)


def _axis(x: np.ndarray) -> str:
    """A direction, with a sign that is always the same."""
    return _triple(x * np.sign(x[np.argmax(np.abs(x) > 1e-9)]))


def _triple(x: np.ndarray) -> str:
    return "(" + ", ".join(f"{c + 0.0:.4g}" for c in np.where(np.abs(x) < 1e-9, 0.0, x)) + ")"
