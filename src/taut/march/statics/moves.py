"""From one configuration to the next: nodes move by η, and held ends to where they belong.

Nodes move by g ← g cay_ad(η), with which a rigid motion of the whole mesh stays one whatever its
size.  A roller that turns while it rolls leaves its line by the square of that; the next step
brings it back, as it does any end that is not where it belongs.
"""

from __future__ import annotations

import numpy as np

from taut.fields.mesh import Hold, Mesh
from taut.lie import SE3, SO3
from taut.march.freedoms import Freedoms
from taut.march.statics.applied import Applied
from taut.march.statics.balance import Balance, State

SAME = 4e-16  # relative: an end that is where it belongs


def misplaced(mesh: Mesh, pose: np.ndarray, applied: Applied, freedoms: Freedoms) -> np.ndarray:
    """The η that brings held ends to where they belong, shape (N, 6)."""
    found = np.zeros((len(pose), 6))
    reach = float(mesh.spacing[mesh.alive].sum())
    for hold, target in zip(mesh.holds, applied.poses(mesh), strict=True):
        node, own = hold.node, pose[hold.node]
        back = own[:3, :3].T
        turn, shift = rotation(back @ target[:3, :3]), back @ (target[:3, 3] - own[:3, 3])
        shift[np.abs(shift) <= SAME * np.abs(target[:3, 3]).max(initial=reach)] = 0.0
        k = _turn(hold, turn)
        k[np.abs(k) <= SAME] = 0.0
        if hold.end.kind == "clamped" and k.any():
            found[node] = SE3.cay_ad_inverse(SE3.element(turn, shift))
            continue
        fixed = freedoms.carry[node][:, freedoms.index[node] < 0]
        found[node] = fixed @ (fixed.T @ np.concatenate([k, shift]))
    for joint in mesh.joints:
        back = SE3.adjoint(SE3.inverse(joint.motion))
        found[joint.follower] = back @ found[joint.leader]
    return found


def _turn(hold: Hold, turn: np.ndarray) -> np.ndarray:
    """What is to be turned, (3,), for a rotation `turn` from where an end is to its reference."""
    if hold.end.kind in ("pinned", "roller"):
        return np.zeros(3)
    if hold.end.kind == "hinged":
        axis = hold.freedom[:3, 0]
        return np.cross(axis, turn @ axis)
    return SO3.cay_inverse(turn)


def moved(balance: Balance, state: State, eta: np.ndarray, more: np.ndarray | None = None) -> State:
    """The configuration after a motion η of all nodes, shape (N, 6), with so much more stress.

    That is C B η/Δs, and what was missing before, if it is not given.
    """
    mesh, edges = balance.mesh, balance.edges
    pose = state.pose @ SE3.cay_ad(eta)
    pose[:, :3, :3] = rotation(pose[:, :3, :3])
    for joint in mesh.joints:
        pose[joint.follower] = pose[joint.leader] @ joint.motion  # they are, but for round-off
    if more is None:
        both = np.hstack([eta[edges], eta[edges + 1]])
        stress = balance.stress(state.turns + np.einsum("nij,nj->ni", state.maps, both))
    else:
        stress = state.stress + more
    return State(pose, balance.turns(pose), stress)


def rotation(matrix: np.ndarray) -> np.ndarray:
    """Round-off removed from rotations, by a step of Newton's method for the polar factor."""
    return 1.5 * matrix - 0.5 * matrix @ (np.swapaxes(matrix, -1, -2) @ matrix)
