"""The wrenches with which held nodes of beams are held, along a run.

In its own frame a node with the inertia I (bodies, and what follows it, included) moves by

    I ζ̇ = [ζ, Iζ]* + F + R,

F being what its edges and loads do, R what holds it.  A hold leaves ζ = S y + u free: with

    ζ̇ = S ẏ + c,        Sᵀ R = 0,

    clamped, pinned, hinged, sliding     c = 0
    roller, along Rᵀd in its frame       c = −(0, ω × v)
    moved, to x(t) in space              c = (ω̇, Rᵀẍ − ω × v), where ω̇ is given as well

ẏ solves SᵀI S ẏ = Sᵀ([ζ, Iζ]* + F − I c), and then R is what is left over.  All is taken at the
time of the stored states, and in the end turned into space.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from taut.fields.mesh import Hold
from taut.fields.spread import spread
from taut.lie import se3
from taut.march.freedoms import strain_maps
from taut.march.motions import acceleration, spin_rate
from taut.march.statics.applied import values_of

if TYPE_CHECKING:
    from taut.march.field_trajectory import FieldTrajectory


def reactions_of(run: FieldTrajectory) -> dict[int, np.ndarray]:
    """Moment about the node and force, in space, of every hold, shape (N, 6), by its node."""
    mesh = run.mesh
    assert mesh is not None
    found = {}
    for hold in mesh.holds:
        node = hold.node
        inertia = mesh.weight[node] * mesh.inertia[node]
        zeta, frame = run.velocity[:, node], run.frames[:, node]
        known = se3.dual(zeta, zeta @ inertia.T) + _edges(run, node) + _loads(run, node, inertia)
        free, rate = _left(run, hold)
        known = known - rate @ inertia.T
        weights = np.swapaxes(free, 1, 2) @ inertia @ free
        right = np.swapaxes(free, 1, 2) @ known[..., None]
        rest = inertia @ free @ np.linalg.solve(weights, right) if free.shape[-1] else 0.0
        own = np.reshape(rest - known[..., None], (-1, 2, 3))
        found[node] = np.einsum("tij,tpj->tpi", frame, own).reshape(-1, 6)
    return found


def _left(run: FieldTrajectory, hold: Hold) -> tuple[np.ndarray, np.ndarray]:
    """S and c, shapes (N, 6, k) and (N, 6)."""
    many, node, end = len(run.t), hold.node, hold.end
    zeta, frame = run.velocity[:, node], run.frames[:, node]
    turned = np.hstack([np.zeros((many, 3)), np.cross(zeta[:, 3:], zeta[:, :3])])  # −(0, ω × v)
    if hold.direction is not None:
        free = np.zeros((many, 6, 4))
        free[:, :3, :3], free[:, 3:, 3] = np.eye(3), hold.direction @ frame
        return free, turned
    free = np.broadcast_to(hold.freedom, (many, *hold.freedom.shape))
    if not end.moved:
        return free, np.zeros((many, 6))
    rate = turned.copy()
    rate[:, 3:] += np.einsum("tji,tj->ti", frame, acceleration(hold, run.t))
    if end.kind == "clamped":
        assert run.mesh is not None
        rate[:, :3] = spin_rate(hold, run.mesh, run.t, run.step)
    return free, rate


def _edges(run: FieldTrajectory, node: int) -> np.ndarray:
    """What the edges of a node and of those that follow it do, in its frame."""
    mesh = run.mesh
    assert mesh is not None
    total = _pulled(run, node)
    for joint in mesh.joints:
        if joint.leader == node:
            parts = _pulled(run, joint.follower).reshape(-1, 2, 3) @ joint.motion[:3, :3].T
            total = total + parts.reshape(-1, 6)
    return total


def _pulled(run: FieldTrajectory, node: int) -> np.ndarray:
    mesh = run.mesh
    assert mesh is not None
    total = np.zeros((len(run.t), 6))
    for edge, side in ((node - 1, slice(6, 12)), (node, slice(0, 6))):
        if not 0 <= edge < mesh.nodes - 1 or not mesh.alive[edge]:
            continue
        turns = mesh.spacing[edge] * (run.strain[:, edge] + mesh.reference[edge])
        maps = strain_maps(turns) if run.method.posed else _plain_maps(turns)
        stress = run.stress[:, edge]
        if mesh.damping[edge]:
            ends = run.velocity[:, edge : edge + 2].reshape(-1, 12)
            rate = np.einsum("tij,tj->ti", maps, ends) / mesh.spacing[edge]
            stress = stress + mesh.damping[edge] * (rate @ mesh.stiffness[edge].T)
        total -= np.einsum("tij,ti->tj", maps[..., side], stress)
    return total


def _plain_maps(turns: np.ndarray) -> np.ndarray:
    """The same where strains are not read from poses: (−1 + a×, 1 + a×)."""
    odd = se3.ad(0.5 * turns)
    return np.concatenate([odd - np.eye(6), odd + np.eye(6)], axis=-1)


def _loads(run: FieldTrajectory, node: int, inertia: np.ndarray) -> np.ndarray:
    """Loads and weight on a node, in its frame."""
    mesh = run.mesh
    assert mesh is not None
    dead, follower = np.zeros((2, len(run.t), 6))
    for load in mesh.loads:
        if load.node not in (node, None):
            continue
        if load.node is None and not load.span[0] <= node < load.span[1]:  # type: ignore[index]
            continue
        for share in spread(load, mesh.s, mesh.weight).on(node):
            wrench = np.stack([values_of(x, None, run.t) for x in share], axis=1)
            (follower if load.follower else dead)[:] += wrench
    back = np.swapaxes(run.frames[:, node], 1, 2)
    fall = np.hstack([np.zeros((len(run.t), 3)), back @ mesh.gravity])
    turned = np.einsum("tij,tpj->tpi", back, dead.reshape(-1, 2, 3)).reshape(-1, 6)
    return follower + turned + fall @ inertia.T
