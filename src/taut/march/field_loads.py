"""What acts on the nodes of beams, and where moved ends are to be, as functions of time."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import sympy as sp
from casadi import SX

from taut.errors import InputError
from taut.fields.loads import Load, s
from taut.fields.mesh import Hold, Mesh
from taut.kernel.compile import CompiledMap
from taut.kernel.strand import Strand
from taut.kernel.sweep_code import MARGIN
from taut.kernel.translate import to_casadi
from taut.lie import SE3, SO3
from taut.march import field_loop as loop
from taut.model.symbols import t as time_symbol


class Loads:
    """What acts on the nodes of a mesh, at a time.

    Steady loads are entered once.  Those of single nodes that depend on time are one compiled map
    t → numbers; so are distributed ones, node by node.  Nodes that follow have none of these: the
    mesh has put what acts there on their leaders.
    """

    def __init__(self, strand: Strand, mesh: Mesh | None) -> None:
        self.targets, self.base = np.zeros((0, 2), dtype=np.int64), np.zeros((0, 6))
        self.nodes = np.zeros(0, dtype=np.int64)
        self.scratch, self.address = np.zeros(1), 0
        if mesh is None or not mesh.loads:
            return
        varying: dict[tuple[str, int], list] = {}
        for load in mesh.loads:
            name = "follower" if load.follower else "dead"
            if load.steady:
                _steady(strand, mesh, load, name)
            elif load.node is not None:
                there = varying.setdefault((name, load.node), [0] * 6)
                varying[name, load.node] = [a + b for a, b in zip(there, load.wrench, strict=True)]
            else:  # every node by itself
                for node in _places(mesh, load):
                    here = {s: float(mesh.s[node])}
                    scaled = [x.xreplace(here) * float(mesh.weight[node]) for x in load.wrench]
                    there = varying.setdefault((name, node), [0] * 6)
                    varying[name, node] = [a + b for a, b in zip(there, scaled, strict=True)]
        if not varying:
            return
        rows = strand.layout.rows
        self.nodes = np.array([node for _, node in varying], dtype=np.int64)
        self.targets = np.array(
            [(rows[name][0], MARGIN + node) for name, node in varying], dtype=np.int64
        )
        self.base = np.array([strand.view(name)[:, node] for name, node in varying])
        t = SX.sym("t")
        flat = [x for wrench in varying.values() for x in wrench]
        values = ca.vertcat(*to_casadi(flat, {time_symbol: t}))
        self._map = CompiledMap(ca.Function("loads", [t], [ca.densify(values)]))
        self.address = self._map.address
        self.scratch = np.zeros(1 + len(flat))

    @property
    def given(self) -> tuple:
        """As the loop takes them."""
        return self.address, self.scratch, self.targets, self.base

    def apply(self, strand: Strand, t: float) -> int:
        """Enter the loads at a time; −1, or the number of one that is not finite."""
        return loop.loaded(strand.rows, t, *self.given)


class Aims:
    """Where moved ends are to be, at a time; at t0 they are where the mesh has them."""

    def __init__(self, strand: Strand, mesh: Mesh | None, t0: float | None) -> None:
        moved = [] if mesh is None else [h for h in mesh.holds if h.end.moved]
        self.nodes = [h.node for h in moved]
        self.pinned = [h.end.kind == "pinned" for h in moved]
        self.targets, self.scratch = np.zeros((0, 2), dtype=np.int64), np.zeros(1)
        self.address = 0
        if not moved:
            return
        row = strand.layout.rows["target_turn"][0]
        self.targets = np.array([(row, MARGIN + node) for node in self.nodes], dtype=np.int64)
        t, poses = SX.sym("t"), []
        for hold in moved:
            start = _start_of(hold, mesh)  # type: ignore[arg-type]
            poses.append(_posed(hold.end, start[:3, 3], start[:3, :3], t))
        function = ca.Function("aims", [t], [ca.densify(ca.vertcat(*poses))])
        if t0 is not None:
            _check_start(mesh, moved, np.array(function(t0)).reshape(-1, 7), t0)  # type: ignore
        self._map = CompiledMap(function)
        self.address, self.scratch = self._map.address, np.zeros(1 + 7 * len(moved))

    @property
    def given(self) -> tuple:
        """As the loop takes them."""
        return self.address, self.scratch, self.targets

    def apply(self, strand: Strand, t: float) -> int:
        """Enter where they are to be at t; −1, or the number of one that is not finite."""
        return loop.aimed(strand.rows, t, *self.given)

    def start(self, strand: Strand, h: float) -> None:
        """Velocities of the step before the first, given where the ends were then.

        Pinned ends turn as they do: they go on with the spin that they have.
        """
        for node, pinned in zip(self.nodes, self.pinned, strict=True):
            before = [strand.view(x)[:, node] for x in ("target_turn", "target_place")]
            now = [strand.view(x)[:, node] for x in ("turn", "place")]
            poses = [np.eye(4), np.eye(4)]
            for pose, (turn, place) in zip(poses, (before, now), strict=True):
                pose[:3, :3], pose[:3, 3] = SO3.from_quaternion(turn), place
            if pinned:
                back = SO3.cay(-h * strand.view("zeta")[:3, node])
                poses[0][:3, :3] = poses[1][:3, :3] @ back
            strand.view("zeta")[:, node] = SE3.cay_ad_inverse(SE3.inverse(poses[0]) @ poses[1]) / h


def _start_of(hold: Hold, mesh: Mesh) -> np.ndarray:
    """The pose from which an end is moved."""
    return mesh.pose[hold.node] if hold.start is None else hold.start


def _check_start(mesh: Mesh, moved: list[Hold], poses: np.ndarray, t0: float) -> None:
    """Moved ends start where they are: an error names the first that does not."""
    for hold, pose in zip(moved, poses, strict=True):
        start = _start_of(hold, mesh)
        place, turn = start[:3, 3], SO3.quaternion(start[:3, :3])
        turned = pose[:4] if pose[:4] @ turn > 0 else -pose[:4]
        away = np.abs(np.r_[pose[4:] - place, turned - turn]).max()  # not a number if one is not
        if not away <= 1e-9 * max(1.0, float(np.abs(place).max())):
            raise InputError(
                f"a moved end is not where it starts: {mesh.where(hold.node)}",
                expected=f"position and rotation that are zero at t = {t0:g}",
                received=f"off by {away:.3g}",
                remedy="they are relative to where the beam is put",
            )


def _posed(end: Any, place: np.ndarray, turn: np.ndarray, t: SX) -> SX:
    """Quaternion and place of a moved end at t."""
    zero = (sp.S.Zero,) * 3
    shift = ca.vertcat(*to_casadi(list(end.position or zero), {time_symbol: t}))
    spin = ca.vertcat(*to_casadi(list(end.rotation or zero), {time_symbol: t}))
    angle = ca.sqrt(ca.dot(spin, spin) + 1e-300)
    p = ca.vertcat(ca.cos(angle / 2), ca.sin(angle / 2) / angle * spin)
    q = SX(SO3.quaternion(turn))
    scalar = p[0] * q[0] - ca.dot(p[1:], q[1:])
    vector = p[0] * q[1:] + q[0] * p[1:] + ca.cross(p[1:], q[1:])
    return ca.vertcat(scalar, vector, SX(place) + shift)


def _places(mesh: Mesh, load: Load) -> list[int]:
    """The nodes that a load acts on."""
    if load.node is not None:
        return [load.node]
    led = {joint.follower for joint in mesh.joints}
    return [node for node in range(*load.span) if node not in led]  # type: ignore[misc]


def _steady(strand: Strand, mesh: Mesh, load: Load, name: str) -> None:
    rows = strand.view(name)
    for node in _places(mesh, load):
        here = {s: float(mesh.s[node])}
        values = np.array([complex(x.xreplace(here)) for x in load.wrench])
        wrench = np.real(values)
        if not np.all(np.isfinite(wrench)) or np.any(np.imag(values)):
            raise InputError(
                f"a load is not finite at {mesh.where(node)}",
                expected="real numbers",
                received=", ".join(map(str, load.wrench)),
                remedy="look at beam.load(…) there; taut.s is the place",
            )
        rows[:, node] += wrench * (1.0 if load.node is not None else mesh.weight[node])
