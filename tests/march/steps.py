"""`ImplicitRun`: single steps of `taut.march.coupled.advance`, for its tests.

It lays out the rows, evaluates loads and the ways of moved ends in plain NumPy, and shows what is
in the rows; runs of users (`taut.march.coupled_run`) have nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp
from numba import njit

from taut.fields.loads import s as place_symbol
from taut.fields.mesh import Mesh
from taut.kernel.implicit_code import sweeps_of
from taut.kernel.strand import rigid
from taut.kernel.sweep_code import MARGIN
from taut.lie import SE3, SO3
from taut.march import coupled
from taut.march.codes import FAILURES
from taut.march.coupled import NOTES
from taut.march.finish import SUMS
from taut.march.implicit_plan import (
    EDGE_ROWS,
    coupling_of,
    layout_of,
    room_of,
    special_of,
)
from taut.methods.fields.implicit import EnergyMomentumBeam
from taut.model.symbols import t


@njit(error_model="numpy")  # uncached: this file is run, not imported
def advance(coupling, special, rows, par, room, notes, sums):
    """A step, as Python can call it."""
    return coupled.advance(coupling, special, rows, par, room, notes, sums)


class ImplicitRun:
    """Beams on the move.

    Parameters
    ----------
    mesh : Mesh
    step : float
    momentum : ndarray, shape (nodes, 6), optional
        Per length.
    strain : ndarray, shape (nodes − 1, 6), optional
        Relative to the reference shape; poses follow from the first node of each beam.

    Attributes
    ----------
    time : float
    energy : dict
        After the last step; see `taut.march.coupled.SUMS`.
    """

    def __init__(
        self, mesh: Mesh, step: float, *, momentum: Any = None, strain: Any = None
    ) -> None:
        self.mesh, self.step, self.time = mesh, step, 0.0
        self.layout, data = layout_of(mesh)
        count = mesh.nodes
        stride = count + 2 * MARGIN
        self.rows = np.zeros((self.layout.height, stride + -stride % 8))
        self.par = np.zeros(self.layout.width)
        for name, values in data.items():
            self[name] = values
        self["step"] = step
        self["turn"], self["place"] = SO3.quaternion(mesh.pose[:, :3, :3]).T, mesh.pose[:, :3, 3].T
        self["chi"] = mesh.reference.T if strain is None else (mesh.reference + strain).T
        if strain is not None:
            self._pose()
        if momentum is not None:
            self["mu"] = np.asarray(momentum, dtype=float).T
        velocity = np.linalg.solve(mesh.inertia, self["mu"].T[..., None])[..., 0]
        self["zeta"] = self["last"] = velocity.T
        self.sweeps = sweeps_of(EnergyMomentumBeam(), self.layout, rigid())
        self.coupling = coupling_of(mesh, self.layout, self.sweeps.address)
        self.special, self.room = special_of(mesh), room_of(self.coupling)
        self.notes, self._energy = np.zeros(len(NOTES)), np.zeros(len(SUMS))
        self._loads = _loads(mesh)
        self._ways = [_way(h.end, mesh.pose[h.node]) for h in mesh.holds]

    def __getitem__(self, name: str) -> np.ndarray:
        """The numbers of all nodes or edges, shape (size, nodes), or of a slot."""
        if name in self.layout.slots:
            at, size = self.layout.slots[name]
            return self.par[at : at + size]
        at, size = self.layout.rows[name]
        many = self.mesh.nodes - 1 if name in EDGE_ROWS else self.mesh.nodes
        return self.rows[at : at + size, MARGIN : MARGIN + many]

    def __setitem__(self, name: str, values: Any) -> None:
        self[name][:] = values

    def _pose(self) -> None:
        for span in self.mesh.spans:
            for j in range(span.start + 1, span.stop):
                chi = self["chi"][:, j - 1] * self.mesh.spacing[j - 1]
                pose = self.pose(j - 1) @ SE3.cay_ad(chi)
                self["turn"][:, j] = SO3.quaternion(pose[:3, :3])
                self["place"][:, j] = pose[:3, 3]

    def pose(self, node: int) -> np.ndarray:
        """The pose g of a node, shape (4, 4)."""
        return SE3.element(SO3.from_quaternion(self["turn"][:, node]), self["place"][:, node])

    @property
    def frames(self) -> np.ndarray:
        """Rotations, shape (nodes, 3, 3)."""
        return SO3.from_quaternion(self["turn"].T)

    @property
    def positions(self) -> np.ndarray:
        return self["place"].T.copy()

    @property
    def momentum(self) -> np.ndarray:
        """Total angular (about the origin) and linear momentum in space, shape (6,)."""
        body = (self["weight"] * self["mu"]).T
        turned = np.einsum("nij,npj->npi", self.frames, body.reshape(-1, 2, 3))
        linear = turned[:, 1]
        return np.concatenate(
            [(turned[:, 0] + np.cross(self.positions, linear)).sum(0), linear.sum(0)]
        )

    @property
    def energy(self) -> dict[str, float]:
        return dict(zip(SUMS, self._energy.tolist(), strict=True))

    @property
    def total(self) -> float:
        """Kinetic, elastic and gravitational energy, from the state alone."""
        mesh = self.mesh
        mu = self["mu"].T
        kinetic = (
            0.5
            * self["weight"][0]
            @ np.einsum("ni,ni->n", mu, np.linalg.solve(mesh.inertia, mu[..., None])[..., 0])
        )
        gamma = (self["chi"].T - mesh.reference)[mesh.alive]
        elastic = (
            0.5
            * mesh.spacing[mesh.alive]
            @ np.einsum("ni,nij,nj->n", gamma, mesh.stiffness[mesh.alive], gamma)
        )
        first = mesh.inertia[:, :3, 3:]  # m ĉ
        centre = np.stack([first[:, 2, 1], first[:, 0, 2], first[:, 1, 0]], axis=1)
        heavy = mesh.inertia[:, 3, 3, None] * self.positions + np.einsum(
            "nij,nj->ni", self.frames, centre
        )
        return float(kinetic + elastic - self["weight"][0] @ (heavy @ mesh.gravity))

    def run(self, steps: int) -> ImplicitRun:
        """Make steps."""
        for _ in range(steps):
            middle = self.time + 0.5 * self.step
            for name, node, _ in self._loads:
                self[name][:, node] = 0.0
            for name, node, wrench in self._loads:
                self[name][:, node] += wrench(middle)
            for hold, way in enumerate(self._ways):
                if way is not None:
                    pose = self.pose(self.mesh.holds[hold].node)
                    self.special.given[hold] = way(self.time + self.step, self.step, pose)
            code = advance(
                self.coupling,
                self.special,
                self.rows,
                self.par,
                self.room,
                self.notes,
                self._energy,
            )
            if code:
                raise RuntimeError(f"{FAILURES[code]} at t = {self.time:g}")
            self.time += self.step
        return self


def _loads(mesh: Mesh) -> list[tuple[str, int, Callable[[float], np.ndarray]]]:
    """(row, node, wrench of time) of every load; those all along a beam are one per node."""
    found = []
    for load in mesh.loads:
        name = "follower" if load.follower else "dead"
        nodes = range(mesh.nodes) if load.node is None else [load.node]
        for node in nodes:
            parts = load.wrench
            if load.node is None:
                here = {place_symbol: mesh.s[node]}
                parts = tuple(sp.sympify(x).subs(here) * mesh.weight[node] for x in parts)
            function = sp.lambdify(t, list(parts), "numpy")
            found.append((name, node, lambda time, f=function: np.array(f(time), dtype=float)))
    return found


def _way(end: Any, start: np.ndarray) -> Callable[[float, float, np.ndarray], np.ndarray] | None:
    """The mean velocity over a step that leads a moved end to where it is at a time."""
    if not end.moved:
        return None
    position = sp.lambdify(t, list(end.position or (0, 0, 0)), "numpy")
    rotation = sp.lambdify(t, list(end.rotation or (0, 0, 0)), "numpy")

    def given(time: float, step: float, pose: np.ndarray) -> np.ndarray:
        to = start[:3, 3] + np.array(position(time), dtype=float)
        if end.kind == "pinned":
            return np.concatenate([(to - pose[:3, 3]) / step, np.zeros(3)])
        turn = SO3.exp(np.array(rotation(time), dtype=float)) @ start[:3, :3]
        return SE3.cay_ad_inverse(SE3.inverse(pose) @ SE3.element(turn, to)) / step

    return given
