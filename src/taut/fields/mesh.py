"""`Mesh`: one or several beams as nodes and edges, the form in which everything computes.

Nodes of all beams are numbered one after the other.  Edge e leads from node e to node e + 1; those
between the last node of a beam and the first of the next do not exist (`alive`).  Beams that are
joined rigidly share a node: one of the end nodes at the joint, the leader, carries the inertia, the
loads and the momentum of all; the others follow it, each turned by a fixed rotation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from taut.errors import InputError
from taut.fields.ends import DEFAULT_AXIS, End
from taut.fields.loads import Load
from taut.fields.spread import spread
from taut.lie import SE3
from taut.portable import product, rotation_near

if TYPE_CHECKING:
    from taut.fields.beam import Beam

MOST_NODES = 1_000_000  # of a beam: their matrices of inertia and stiffness take 0.6 GB
TOGETHER = 1e-9  # of the length of the beams: ends this close are at one place
NEAR = 0.1  # of Δs: ends this close to another beam were meant to meet it


@dataclass(frozen=True)
class Joint:
    """Node `follower` has the pose of node `leader` times `motion`, shape (4, 4), a rotation."""

    leader: int
    follower: int
    motion: np.ndarray


@dataclass(frozen=True)
class Hold:
    """What a held node leaves free.

    Attributes
    ----------
    freedom : ndarray, shape (6, k)
        Orthonormal columns: the velocities left, in the node's frame.
    direction : ndarray, shape (3,), optional
        Of a roller: in space.
    start : ndarray, shape (4, 4), optional
        The node's pose at the start of a run, where that is not the reference configuration.
    """

    node: int
    end: End
    freedom: np.ndarray
    direction: np.ndarray | None = None
    start: np.ndarray | None = None


@dataclass(frozen=True)
class Mesh:
    """Nodes and edges.

    Attributes
    ----------
    s, weight : ndarray, shape (N,)
        Place along its beam, and length of the cell, of each node.
    inertia : ndarray, shape (N, 6, 6)
        Per length, with the bodies at the node (and, of a leader, with what its followers carry):
        the node's inertia is ``weight·inertia``.
    pose : ndarray, shape (N, 4, 4)
        The reference configuration.
    alive : ndarray of bool, shape (N − 1,)
    spacing : ndarray, shape (N − 1,)
    stiffness, reference : ndarray, shapes (N − 1, 6, 6), (N − 1, 6)
    damping : ndarray, shape (N − 1,)
        Times: stress C(γ + damping·γ̇).
    gravity : ndarray, shape (3,)
    spans : tuple of slice
        The nodes of each beam.
    """

    s: np.ndarray
    weight: np.ndarray
    inertia: np.ndarray
    pose: np.ndarray
    alive: np.ndarray
    spacing: np.ndarray
    stiffness: np.ndarray
    reference: np.ndarray
    damping: np.ndarray
    gravity: np.ndarray
    holds: tuple[Hold, ...]
    joints: tuple[Joint, ...]
    loads: tuple[Load, ...]
    spans: tuple[slice, ...]

    @property
    def nodes(self) -> int:
        return len(self.s)

    def beam_of(self, node: int) -> int:
        """The number of the beam that a node belongs to."""
        return next(i for i, span in enumerate(self.spans) if span.start <= node < span.stop)

    def where(self, node: int) -> str:
        """A node in words."""
        which = f"beam {self.beam_of(node)}, " if len(self.spans) > 1 else ""
        return f"{which}s = {self.s[node]:g} (node {node})"


def mesh_of(beams: list[Beam], joints: list[tuple[int, int]] | None = None) -> Mesh:
    """The mesh of beams; `joints` are pairs of nodes that are one."""
    starts = np.cumsum([0, *(b.nodes for b in beams)])
    spans = tuple(slice(int(a), int(z)) for a, z in pairwise(starts))
    count = int(starts[-1])
    alive = np.ones(count - 1, dtype=bool)
    spacing, damping = np.ones(count - 1), np.zeros(count - 1)
    stiffness = np.broadcast_to(np.eye(6), (count - 1, 6, 6)).copy()
    reference = np.zeros((count - 1, 6))
    weight, inertia = np.empty(count), np.empty((count, 6, 6))
    pose, along = np.empty((count, 4, 4)), np.empty(count)
    loads: list[Load] = []
    holds: list[Hold] = []
    gravity = [b.gravity for b in beams if b.gravity is not None]
    if any(not np.array_equal(g, gravity[0]) for g in gravity):
        raise InputError("the beams have different gravity", expected="the same for all of them")
    for beam, span in zip(beams, spans, strict=True):
        edges = slice(span.start, span.stop - 1)
        along[span], weight[span], inertia[span] = beam.places, beam.weights, beam.inertia
        spacing[edges], damping[edges] = beam.spacing, beam.damping
        stiffness[edges], reference[edges] = beam.stiffness, beam.reference
        if span.stop < count:
            alive[span.stop - 1] = False
        pose[span] = configuration(beam.at, beam.frame, beam.spacing * beam.reference)
        for body in beam.bodies:
            node = span.start + body.node
            inertia[node] = inertia[node] + np.reshape(body.inertia, (6, 6)) / weight[node]
        for load in beam.loads:
            if load.node is None:
                loads.append(replace(load, span=(span.start, span.stop)))
            else:
                loads.append(replace(load, node=span.start + load.node))
        for end, node in zip(beam.ends, (span.start, span.stop - 1), strict=True):
            if end.kind != "free":
                holds.append(_hold(end, node, pose[node]))
    mesh = Mesh(
        along, weight, inertia, pose, alive, spacing, stiffness, reference, damping,
        gravity[0] if gravity else np.zeros(3), tuple(holds), (), tuple(loads), spans,
    )  # fmt: skip
    return _joined(mesh, beams, joints)


def configuration(at: np.ndarray, frame: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Poses from node to node: g_{j+1} = g_j cay(Δs χ), shape (…, 4, 4)."""
    first = np.eye(4)
    first[:3, :3], first[:3, 3] = frame, at
    found = [first]
    for motion in SE3.cay_ad(steps):
        found.append(product(found[-1], motion))
    return np.array(found)


def _hold(end: End, node: int, pose: np.ndarray) -> Hold:
    frame = pose[:3, :3]
    columns: list[np.ndarray] = []
    axis = np.zeros(3)
    if end.kind in DEFAULT_AXIS:
        given = frame[:, DEFAULT_AXIS[end.kind]] if end.axis is None else end.axis
        axis = product(frame.T, given)
    turns, slides = np.eye(6)[:, :3], np.eye(6)[:, 3:]
    if end.kind in ("pinned", "roller"):
        columns += list(turns.T)
    if end.kind == "hinged":
        columns.append(product(turns, axis))
    if end.kind in ("sliding", "roller"):
        columns.append(product(slides, axis))
    freedom = np.array(columns).T if columns else np.zeros((6, 0))
    return Hold(node, end, freedom, product(frame, axis) if end.kind == "roller" else None)


def _joined(mesh: Mesh, beams: list[Beam], joints: list[tuple[int, int]] | None) -> Mesh:
    """The mesh with its joints: end nodes at one place have one leader."""
    ends = [n for span in mesh.spans for n in (span.start, span.stop - 1)]
    scale = TOGETHER * max(b.length for b in beams)
    if joints is None:
        joints = [
            (a, b)
            for i, a in enumerate(ends)
            for b in ends[i + 1 :]
            if np.linalg.norm(mesh.pose[a, :3, 3] - mesh.pose[b, :3, 3]) <= scale
        ]
        _check_misses(mesh, joints)
    if not joints:
        return mesh
    leader = {n: n for n in ends}

    def root(n: int) -> int:
        while leader[n] != n:
            n = leader[n]
        return n

    for a, b in joints:
        gap = mesh.pose[a, :3, 3] - mesh.pose[b, :3, 3]
        if np.linalg.norm(gap) > scale:
            raise InputError(
                "beams that are joined do not meet",
                expected=f"{mesh.where(a)} and {mesh.where(b)} at one place",
                received=f"a gap of {np.linalg.norm(gap):.3g}",
                remedy="choose at=…, frame=… and length=… so that they meet",
            )
        one, other = sorted((root(a), root(b)))
        leader[other] = one
    holder: dict[int, int] = {}
    for node in [h.node for h in mesh.holds]:
        other = holder.setdefault(root(node), node)
        if other != node:
            raise InputError(
                "a joint is held twice",
                expected="at most one held end where beams meet",
                received=f"{mesh.where(other)} and {mesh.where(node)}",
                remedy='leave all but one of them "free"',
            )
    inertia = mesh.inertia.copy()
    found = []
    for node in ends:
        first = root(node)
        if node == first:
            continue
        motion = product(SE3.inverse(mesh.pose[first]), mesh.pose[node])
        motion[:3, 3] = 0.0
        motion[:3, :3] = rotation_near(motion[:3, :3])
        back = SE3.adjoint(SE3.inverse(motion))
        total = mesh.weight[node] * product(back.T, inertia[node], back)
        inertia[first] = inertia[first] + total / mesh.weight[first]
        found.append(Joint(first, node, motion))
    lead = {j.follower: j for j in found}
    loads = tuple(_led(load, lead) for load in mesh.loads)
    loads += tuple(
        _led(lumped, lead)
        for load in mesh.loads
        if load.span is not None
        for node in lead
        if load.span[0] <= node < load.span[1]
        for lumped in _lumped(load, node, mesh)
    )
    holds = tuple(_held_by_leader(h, lead) for h in mesh.holds)
    return replace(mesh, inertia=inertia, joints=tuple(found), loads=loads, holds=holds)


def _check_misses(mesh: Mesh, joints: list[tuple[int, int]]) -> None:
    """An error for ends that are on another beam, or just beside it, and are not joined to it."""
    joined = set(joints) | {(b, a) for a, b in joints}
    for span in mesh.spans:
        for node in (span.start, span.stop - 1):
            for other in mesh.spans:
                ends = (other.start, other.stop - 1)
                if other == span or any((node, end) in joined for end in ends):
                    continue
                gap = _distance(mesh.pose[node, :3, 3], mesh.pose[other, :3, 3])
                if gap > NEAR * min(mesh.spacing[span.start], mesh.spacing[other.start]):
                    continue
                raise InputError(
                    f"the end of a beam is near another beam, and not joined to it: "
                    f"{mesh.where(node)}",
                    expected="beams that meet at their ends, or stay apart",
                    received=f"a gap of {gap:.3g} to beam {mesh.beam_of(other.start)}",
                    remedy="choose at=…, frame=… and length=… so that ends meet; make two beams of "
                    "one that is joined in between; or say what is joined: joints=[…]",
                )


def _distance(point: np.ndarray, line: np.ndarray) -> float:
    """Of a point from a line through nodes, shape (n, 3)."""
    first, along = line[:-1], np.diff(line, axis=0)
    share = np.einsum("ni,ni->n", point - first, along) / np.einsum("ni,ni->n", along, along)
    nearest = first + np.clip(share, 0.0, 1.0)[:, None] * along
    return float(np.linalg.norm(point - nearest, axis=1).min())


def _lumped(load: Load, node: int, mesh: Mesh) -> list[Load]:
    """What a distributed load puts on one node."""
    shares = spread(load, mesh.s, mesh.weight).on(node)
    return [Load(node, wrench[:3], wrench[3:], load.follower) for wrench in shares]


def _led(load: Load, lead: dict[int, Joint]) -> Load:
    """A load on a follower acts on its leader."""
    joint = None if load.node is None else lead.get(load.node)
    if joint is None:
        return load
    moment, force = load.moment, load.force
    if load.follower:
        turn = joint.motion[:3, :3]
        moment, force = (
            tuple(sum(float(turn[i, k]) * part[k] for k in range(3)) for i in range(3))
            for part in (moment, force)
        )
    return Load(joint.leader, moment, force, load.follower)


def _held_by_leader(hold: Hold, lead: dict[int, Joint]) -> Hold:
    joint = lead.get(hold.node)
    if joint is None:
        return hold
    freedom = product(SE3.adjoint(joint.motion), hold.freedom)
    return Hold(joint.leader, hold.end, freedom, hold.direction)
