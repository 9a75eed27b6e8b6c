"""What acts on the nodes of beams, and where moved ends are to be, as functions of time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import sympy as sp
from casadi import SX

from taut.errors import InputError
from taut.fields.loads import Load
from taut.fields.mesh import Hold, Mesh
from taut.fields.spread import Spread, spread
from taut.kernel.compile import CompiledMap
from taut.kernel.strand import Strand
from taut.kernel.sweep_code import MARGIN
from taut.kernel.translate import to_casadi
from taut.lie import SE3, SO3
from taut.march import field_loop as loop
from taut.model.switches import jumps, smeared, switches
from taut.model.symbols import t as time_symbol
from taut.portable import product


class Loads:
    """What acts on the nodes of a mesh, at a time.

    Steady loads are entered once.  Those that depend on time are compiled maps (t, window, numbers
    of a share) → wrenches: one for all that act on single nodes, called once, and one for each that
    is spread over a beam, called for every share of it (see `taut.fields.spread`).  What jumps in
    time is taken in the mean over the window, the time for which it acts.
    """

    def __init__(self, strand: Strand, mesh: Mesh | None) -> None:
        loads = [] if mesh is None else mesh.loads
        for load in loads:
            if load.steady:
                _steady(strand, mesh, load)  # type: ignore[arg-type]
        varying = [load for load in loads if not load.steady]
        single = [load for load in varying if load.node is not None]
        groups = [([load], _shares(mesh, load)) for load in varying if load.node is None]  # type: ignore
        if single:
            wrench = tuple(x for load in single for x in load.wrench)
            groups.append((single, Spread((), wrench, np.zeros(1, dtype=int), np.zeros((1, 0)))))
        self.switched = any(switches(x, time_symbol, _any) for x in _wrenches(varying))
        self._maps = [_map_of(shares) for _, shares in groups]
        width = max((shares.rows.shape[1] for _, shares in groups), default=0)
        found, numbers, where = [], [], []
        for (group, shares), made in zip(groups, self._maps, strict=True):
            found.append((made.address, len(shares.rows), len(group), shares.rows.shape[1]))
            for node, row in zip(shares.nodes, shares.rows, strict=True):
                numbers.append(np.r_[row, np.zeros(width - len(row))])
                where += [(_row(x), node if x.node is None else x.node) for x in group]
        rows = strand.layout.rows
        self.nodes = np.array([node for _, node in where], dtype=np.int64)
        self._given = (
            np.array(found, dtype=np.int64).reshape(-1, 4),
            np.array(numbers, dtype=float).reshape(len(numbers), width),
            np.array([(rows[row][0], MARGIN + n) for row, n in where], dtype=np.int64).reshape(
                -1, 2
            ),
            np.array([strand.view(row)[:, n] for row, n in where]).reshape(-1, 6),
            np.zeros(3 + width + 6 * max(1, len(single))),
            np.array([self.switched], dtype=np.int64),
        )

    @property
    def given(self) -> tuple:
        """As the loop takes them."""
        return self._given

    def apply(self, strand: Strand, t: float, begin: float, end: float) -> int:
        """Enter the loads at t, which act from `begin` to `end`; −1, or one that is not finite."""
        return loop.loaded(strand.rows, t, begin, end, *self.given)


def _row(load: Load) -> str:
    return "follower" if load.follower else "dead"


def _any(_: sp.Symbol) -> bool:
    return True


def _wrenches(loads: list[Load]) -> list[sp.Expr]:
    return [x for load in loads for x in load.wrench]


def _shares(mesh: Mesh, load: Load) -> Spread:
    """What a load does to nodes; the mesh has put what acts on followers on leaders."""
    led = {joint.follower for joint in mesh.joints}
    shares = spread(load, mesh.s, mesh.weight)
    mine = np.array([node not in led for node in shares.nodes])
    return replace(shares, nodes=shares.nodes[mine], rows=shares.rows[mine])


def _map_of(shares: Spread) -> CompiledMap:
    """(t, begin and end of the window, numbers of a share) → its wrench."""
    begin, end = sp.symbols("begin end", real=True, cls=sp.Dummy)
    symbols = (time_symbol, begin, end, *shares.symbols)
    given = SX.sym("given", len(symbols))
    table = {symbol: given[i] for i, symbol in enumerate(symbols)}
    values = []
    for x in shares.wrench:
        # Steps of order two are exact for what bends at one of their ends, and its mean is not.
        mean, definitions = x, []
        if jumps(x, time_symbol, _any):
            mean, definitions = smeared(x, time_symbol, begin, end, _any)
        for symbol, value in definitions:
            (table[symbol],) = to_casadi([value], table)
        values += to_casadi([mean], table)
    return CompiledMap(ca.Function("loads", [given], [ca.densify(ca.vertcat(*values))]))


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
                poses[0][:3, :3] = product(poses[1][:3, :3], back)
            strand.view("zeta")[:, node] = (
                SE3.cay_ad_inverse(product(SE3.inverse(poses[0]), poses[1])) / h
            )


def _start_of(hold: Hold, mesh: Mesh) -> np.ndarray:
    """The pose from which an end is moved."""
    return mesh.pose[hold.node] if hold.start is None else hold.start


def _check_start(mesh: Mesh, moved: list[Hold], poses: np.ndarray, t0: float) -> None:
    """Moved ends start where they are: an error names the first that does not."""
    for hold, pose in zip(moved, poses, strict=True):
        start = _start_of(hold, mesh)
        place, turn = start[:3, 3], SO3.quaternion(start[:3, :3])
        turned = pose[:4] if product(pose[:4], turn) > 0 else -pose[:4]
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
    rows, shares = strand.view(_row(load)), _shares(mesh, load)
    for node, numbers in zip(shares.nodes, shares.rows, strict=True):
        here = dict(zip(shares.symbols, map(float, numbers), strict=True))
        values = [complex(x.xreplace(here)) for x in shares.wrench]
        wrench = np.array([x.real if x.imag == 0 else np.nan for x in values])
        if not np.all(np.isfinite(wrench)):
            raise InputError(
                f"a load is not finite at {mesh.where(node)}",
                expected="real numbers",
                received=", ".join(map(str, load.wrench)),
                remedy="look at beam.load(…) there; taut.s is the place",
            )
        rows[:, node] += wrench
