"""The start of a field or a beam: strains, momenta and poses, checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from taut.errors import InputError, brief
from taut.fields.ends import real_array
from taut.fields.mesh import Mesh, configuration
from taut.lie import SE3, SO3
from taut.portable import product

HELD = 1e-10  # of the largest velocity, that a held node may have in a direction it is held in


def given(what: str, values: Any, shape: tuple[int, int]) -> np.ndarray:
    """An array of this shape (or one vector for all places), finite."""
    if values is None:
        return np.zeros(shape)
    try:
        found = real_array(values)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{what} cannot be read", expected=f"shape {shape}", received=brief(values)
        ) from error
    if found.shape == shape[1:] or found.ndim == 0:
        found = np.broadcast_to(found, shape).copy()
    if found.shape != shape:
        raise InputError(
            f"{what} has the wrong shape",
            expected=f"{shape}: one row for each place, or {shape[1:]} for all of them",
            received=found.shape,
        )
    if not np.all(np.isfinite(found)):
        place = int(np.argwhere(~np.isfinite(found))[0, 0])
        raise InputError(f"{what} is not finite", expected="numbers", received=f"row {place}")
    return found


def poses(mesh: Mesh, strain: np.ndarray) -> np.ndarray:
    """The configuration with this strain, the first node of each beam where it is.

    Joined beams are placed one after the other, from the first of them on.
    """
    pose = mesh.pose.copy()
    if not np.any(strain):
        return pose
    steps = mesh.spacing[:, None] * (mesh.reference + strain)
    placed: set[int] = set()
    for number, span in enumerate(mesh.spans):
        if number not in placed:
            _placed(mesh, pose, steps, number, span.start, placed)
    for joint in mesh.joints:
        gap = np.abs(
            product(SE3.inverse(product(pose[joint.leader], joint.motion)), pose[joint.follower])
            - np.eye(4)
        )
        if gap.max() > 1e-9 * max(1.0, float(np.abs(mesh.pose[:, :3, 3]).max())):
            raise InputError(
                "the beams do not meet with this strain",
                expected="strains with which closed frames close",
                received=f"a gap of {gap.max():.3g} at {mesh.where(joint.follower)}",
                remedy="start from taut.equilibrium(…), or with zero strain",
            )
    return pose


def _placed(mesh: Mesh, pose, steps, number: int, known: int, placed: set[int]) -> None:
    """Place beam `number`, whose node `known` is where it should be, and those joined to it."""
    placed.add(number)
    span = mesh.spans[number]
    edges = slice(span.start, span.stop - 1)
    chain = configuration(np.zeros(3), np.eye(3), steps[edges])
    base = product(pose[known], SE3.inverse(chain[known - span.start]))
    pose[span] = product(base, chain)
    for joint in mesh.joints:
        ways = (
            (joint.leader, joint.follower, joint.motion),
            (joint.follower, joint.leader, SE3.inverse(joint.motion)),
        )
        for here, there, motion in ways:
            other = mesh.beam_of(there)
            if span.start <= here < span.stop and other not in placed:
                pose[there] = product(pose[here], motion)
                _placed(mesh, pose, steps, other, there, placed)


def held_at(mesh: Mesh, pose: np.ndarray) -> Mesh:
    """The mesh with its holds where a start has them: axes that are given are given in space."""
    holds = []
    for hold in mesh.holds:
        freedom, turn = (
            hold.freedom,
            product(pose[hold.node, :3, :3].T, mesh.pose[hold.node, :3, :3]),
        )
        if hold.end.kind in ("sliding", "roller") or hold.end.axis is not None:
            freedom = product(np.kron(np.eye(2), turn), freedom)
        holds.append(replace(hold, freedom=freedom, start=pose[hold.node]))
    return replace(mesh, holds=tuple(holds))


def consistent(mesh: Mesh, velocity: np.ndarray, project: bool) -> np.ndarray:
    """Velocities that held nodes and followers may have."""
    found, scale = velocity.copy(), max(float(np.abs(velocity).max()), 1e-300)
    for hold in mesh.holds:
        if hold.end.moved:
            continue
        allowed = product(hold.freedom, product(hold.freedom.T, velocity[hold.node]))
        off = float(np.abs(allowed - velocity[hold.node]).max())
        if off > HELD * scale and not project:
            raise InputError(
                f"a {hold.end.kind} end moves at the start: {mesh.where(hold.node)}",
                expected="no velocity where it is held",
                received=f"{off:.3g} too much",
                remedy="project=True drops it",
            )
        found[hold.node] = allowed
    for joint in mesh.joints:
        back = SE3.adjoint(SE3.inverse(joint.motion))
        off = float(np.abs(product(back, found[joint.leader]) - found[joint.follower]).max())
        if off > HELD * scale and not project:
            raise InputError(
                f"beams that are joined move apart at the start: {mesh.where(joint.follower)}",
                expected="one velocity where they meet",
                received=f"a difference of {off:.3g}",
                remedy="project=True takes that of the first beam",
            )
        found[joint.follower] = product(back, found[joint.leader])
    return found


def quaternions(pose: np.ndarray) -> np.ndarray:
    """Unit quaternions of poses, neighbours on the same side."""
    q = SO3.quaternion(pose[:, :3, :3])
    for j in range(1, len(q)):
        if product(q[j], q[j - 1]) < 0:
            q[j] = -q[j]
    return q
