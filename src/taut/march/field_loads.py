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

    Steady loads are entered once.  Those that depend on time are compiled maps (t, s, length) →
    wrenches: one for all that act on single nodes, called once, and one for each that is spread
    over a beam, called for every node of it.
    """

    def __init__(self, strand: Strand, mesh: Mesh | None) -> None:
        loads = [] if mesh is None else mesh.loads
        for load in loads:
            if load.steady:
                _steady(strand, mesh, load)  # type: ignore[arg-type]
        varying = [load for load in loads if not load.steady]
        single = [load for load in varying if load.node is not None]
        spread = [load for load in varying if load.node is None]
        groups = [[load] for load in spread] + ([single] if single else [])
        self._maps = [_map_of(group) for group in groups]
        found, places, where = [], [], []
        for group, made in zip(groups, self._maps, strict=True):
            nodes = [None] if group[0].node is not None else _along(mesh, group[0])  # type: ignore
            found.append((made.address, len(nodes), len(group)))
            for node in nodes:
                at = (0.0, 1.0) if node is None else (mesh.s[node], mesh.weight[node])  # type: ignore
                places.append(at)
                where += [(_row(load), load.node if node is None else node) for load in group]
        rows = strand.layout.rows
        self.nodes = np.array([node for _, node in where], dtype=np.int64)
        self._given = (
            np.array(found, dtype=np.int64).reshape(-1, 3),
            np.array(places, dtype=float).reshape(-1, 2),
            np.array([(rows[row][0], MARGIN + n) for row, n in where], dtype=np.int64).reshape(
                -1, 2
            ),
            np.array([strand.view(row)[:, n] for row, n in where]).reshape(-1, 6),
            np.zeros(3 + 6 * max(1, len(single))),
        )

    @property
    def given(self) -> tuple:
        """As the loop takes them."""
        return self._given

    def apply(self, strand: Strand, t: float) -> int:
        """Enter the loads at a time; −1, or the number of one that is not finite."""
        return loop.loaded(strand.rows, t, *self.given)


def _row(load: Load) -> str:
    return "follower" if load.follower else "dead"


def _along(mesh: Mesh, load: Load) -> list[int]:
    """The nodes on which a load is spread; the mesh has put what acts on followers on leaders."""
    led = {joint.follower for joint in mesh.joints}
    return [node for node in range(*load.span) if node not in led]  # type: ignore[misc]


def _map_of(loads: list[Load]) -> CompiledMap:
    """(t, s, length) → the wrenches of these loads on a node."""
    t, place, length = SX.sym("t"), SX.sym("s"), SX.sym("length")
    flat = [x for load in loads for x in load.wrench]
    values = ca.vertcat(*to_casadi(flat, {time_symbol: t, s: place})) * length
    given = ca.vertcat(t, place, length)
    return CompiledMap(ca.Function("loads", [given], [ca.densify(values)]))


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


def _steady(strand: Strand, mesh: Mesh, load: Load) -> None:
    places = [load.node] if load.node is not None else _along(mesh, load)
    rows = strand.view(_row(load))
    for node in places:
        here = {s: float(mesh.s[node])}
        values = [complex(x.xreplace(here)) for x in load.wrench]
        wrench = np.array([x.real if x.imag == 0 else np.nan for x in values])
        if not np.all(np.isfinite(wrench)):
            raise InputError(
                f"a load is not finite at {mesh.where(node)}",
                expected="real numbers",
                received=", ".join(map(str, load.wrench)),
                remedy="look at beam.load(…) there; taut.s is the place",
            )
        rows[:, node] += wrench * (1.0 if load.node is not None else mesh.weight[node])
