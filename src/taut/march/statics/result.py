"""`Equilibrium`: a mesh at rest under loads, and what was measured on the way to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from taut.calls import public
from taut.fields.mesh import Mesh
from taut.fields.turning import turn_per_edge, turning
from taut.march.freedoms import Freedoms, freedoms_of
from taut.march.statics.applied import Applied
from taut.march.statics.balance import Balance, State
from taut.march.statics.stability import conservative
from taut.text import Sheet

TORN = 1.0  # a stretch to twice the length, which rubber bears, but not in proportion to its force


@dataclass(frozen=True, eq=False)
class Path:
    """The equilibria on the way, the start first.

    Attributes
    ----------
    load_factor : ndarray, shape (k,)
    positions : ndarray, shape (k, N, 3)
    frames : ndarray, shape (k, N, 3, 3)
    energy : ndarray, shape (k,)
    iterations : ndarray of int, shape (k,)
    falling : list of int or None
        In how many directions the energy falls: 0 where it is stable, None where that is not
        decided.
    """

    load_factor: np.ndarray
    positions: np.ndarray
    frames: np.ndarray
    energy: np.ndarray
    iterations: np.ndarray
    falling: list[int | None]

    @property
    def tip(self) -> np.ndarray:
        """Where the last node was, shape (k, 3)."""
        return self.positions[:, -1]

    def __len__(self) -> int:
        return len(self.load_factor)

    def __repr__(self) -> str:
        to = self.load_factor[-1]
        return f"<path of {len(self)} equilibria, load factor {self.load_factor[0]:g} to {to:g}>"


@public
@dataclass(frozen=True, eq=False, repr=False)
class Equilibrium(Sheet):
    """A mesh at rest.

    Attributes
    ----------
    load_factor : float
        The part of the loads under which it is at rest: 1, unless a path ended before.
    path : Path
    iterations : int
        Of Newton's method, all together.
    precision : float
        The size of its last step: radians, or displacement over the length of the beams.
    free : str or None
        Rigid motions that neither holds nor loads determine, in words.
    """

    mesh: Mesh = field(repr=False)
    state: State = field(repr=False)
    applied: Applied = field(repr=False)
    load_factor: float
    path: Path
    iterations: int
    precision: float
    free: str | None = None

    # ---- where it is -------------------------------------------------------------------------

    @property
    def poses(self) -> np.ndarray:
        """Shape (N, 4, 4)."""
        return self.state.pose

    @property
    def positions(self) -> np.ndarray:
        """Of the nodes, shape (N, 3)."""
        return self.state.pose[:, :3, 3]

    @property
    def frames(self) -> np.ndarray:
        """Of the nodes, shape (N, 3, 3): columns are the local axes."""
        return self.state.pose[:, :3, :3]

    @property
    def displacements(self) -> np.ndarray:
        """From the reference shape, shape (N, 3)."""
        return self.positions - self.mesh.pose[:, :3, 3]

    @property
    def tip(self) -> np.ndarray:
        """Where the last node is, shape (3,)."""
        return self.positions[-1]

    # ---- what it feels -----------------------------------------------------------------------

    @cached_property
    def balance(self) -> Balance:
        """Wrenches and tangents of the mesh."""
        return Balance(self.mesh)

    @property
    def strain(self) -> np.ndarray:
        """Relative to the reference shape, shape (N − 1, 6); zero between beams."""
        turns = np.einsum("nij,nj->ni", self.balance.compliance, self.state.stress)
        return self._on_edges(turns / self.balance.spacing[:, None])

    @property
    def stress(self) -> np.ndarray:
        """Internal moments and forces in local frames, shape (N − 1, 6); zero between beams."""
        return self._on_edges(self.state.stress)

    def _on_edges(self, rows: np.ndarray) -> np.ndarray:
        found = np.zeros((self.mesh.nodes - 1, 6))
        found[self.balance.edges] = rows
        return found

    @property
    def turn_per_edge(self) -> float:
        """The largest angle between neighbouring nodes, which should be small."""
        return turn_per_edge(self.state.turns)

    @property
    def energy(self) -> float:
        """Of the strains."""
        return self.balance.energy(self.state.turns)

    @property
    def reactions(self) -> dict[int, np.ndarray]:
        """Moment about the node and force, in space, with which each held node is held: (6,)."""
        wrench = self.balance.led(self.balance.force(self.state, self.applied).total)
        found = {}
        for hold in self.mesh.holds:
            frame, own = self.frames[hold.node], -wrench[hold.node]
            found[hold.node] = np.concatenate([frame @ own[:3], frame @ own[3:]])
        return found

    @property
    def _stretched(self) -> str:
        """What is said of stretch or shear of which no material is elastic."""
        size = np.abs(self.strain[:, 3:])
        edge, entry = np.unravel_index(int(np.argmax(size)), size.shape)
        if not size[edge, entry] > TORN:
            return ""
        what = f"{'stretch' if entry == 1 else 'shear'} of {self.strain[edge, 3 + entry]:.3g}"
        where = f"beyond {self.mesh.where(int(edge))}"
        return f"{what} {where}: far beyond elastic; look at units of stiffness and loads"

    # ---- how it answers to being moved -------------------------------------------------------

    @property
    def conservative(self) -> bool:
        """Whether the loads have a potential: no followers, and no moments on what can turn."""
        return conservative(self.mesh, self.applied)

    @property
    def freedoms(self) -> Freedoms:
        """The unknowns here."""
        return freedoms_of(self.mesh, self.state.pose)

    @property
    def falling(self) -> int | None:
        """In how many directions the energy falls; None if that is not decided, see `stable`."""
        return self.path.falling[-1]

    @property
    def stable(self) -> bool | None:
        """Whether the energy has a minimum here, but for motions in `free`.

        None if that is not decided: where loads have no potential (`taut.modes` tells of these), or
        some motion has no more stiffness than round-off (at a critical load).
        """
        return None if self.falling is None else self.falling == 0

    # ---- as text -----------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The facts, as plain numbers and lists."""
        return {
            "load_factor": self.load_factor,
            "tip": self.tip.tolist(),
            "largest_displacement": float(np.linalg.norm(self.displacements, axis=1).max()),
            "energy": self.energy,
            "turn_per_edge": self.turn_per_edge,
            "stable": self.stable,
            "free": self.free,
            "iterations": self.iterations,
            "precision": self.precision,
            "stages": len(self.path) - 1,
            "reactions": {node: wrench.tolist() for node, wrench in self.reactions.items()},
        }

    def title(self) -> str:
        """What it is."""
        return "Equilibrium"

    def rows(self) -> list[tuple[str, str]]:
        """(quantity, value) of the table."""
        moved = np.linalg.norm(self.displacements, axis=1)
        most = int(np.argmax(moved))
        verdict = {
            True: "stable",
            False: "not stable",
            None: "undecided: a motion has no stiffness beyond round-off"
            if self.conservative
            else "see taut.modes: loads without potential",
        }
        rows: list[tuple[str, str]] = [
            ("load factor", f"{self.load_factor:g}"),
            ("largest displacement", f"{moved[most]:.6g} at {self.mesh.where(most)}"),
            ("tip", _triple(self.tip)),
            ("strain energy", f"{self.energy:.6g}"),
            ("verdict", verdict[self.stable]),
            *((name, f"{value}: {word}") for name, value, word in turning(self.turn_per_edge)),
        ]
        if self._stretched:
            rows.append(("strain", self._stretched))
        for node, wrench in self.reactions.items():
            rows.append((f"held at {self.mesh.where(node)}", f"force {_triple(wrench[3:])}"))
            rows.append(("", f"moment {_triple(wrench[:3])}"))
        if self.free:
            rows.append(("not determined", self.free))
        count = len(self.path) - 1
        rows.append(
            ("found in", f"{count} load step{'s' * (count != 1)}, {self.iterations} iterations")
        )
        return rows


def _triple(x: np.ndarray) -> str:
    size = np.abs(x).max()
    return "(" + ", ".join(f"{0.0 if abs(c) < 1e-12 * size else c:.6g}" for c in x) + ")"
