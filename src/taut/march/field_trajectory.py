"""`FieldTrajectory`: the immutable record of a run of a field or of beams."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from taut.fields.field import Field
from taut.fields.mesh import Mesh
from taut.kernel.strand import medium_of
from taut.lie import SO3
from taut.methods.fields.base import Scheme

VIEWS = {
    "certificate": "taut.diagnose.field_certificate:certify",
    "plot": "taut.show.field_plots:plot",
}


@dataclass(frozen=True)
class FieldEnding:
    """What a run needs to go on bit by bit."""

    rows: np.ndarray
    books: np.ndarray
    energies: np.ndarray
    steps: int
    short: bool


@dataclass(frozen=True, eq=False)
class FieldTrajectory:
    """A run of a field or of beams.

    Attributes
    ----------
    model : Field, Beam or Beams
    method : Scheme
    t : ndarray, shape (N,)
    momentum : ndarray, shape (N, nodes, n)
        μ per length, at the times t.
    strain : ndarray, shape (N, edges, n)
        γ, relative to the reference shape.
    positions : ndarray, shape (N, nodes, 3)
        Of beams.
    limit : float
        The largest stable step of an explicit scheme, as estimated.
    """

    model: Any
    mesh: Mesh | None
    method: Scheme
    t: np.ndarray
    momentum: np.ndarray
    strain: np.ndarray
    t0: float
    step: float
    every: int
    parameters: dict[str, float]
    limit: float
    wall_time: float
    compile_time: float
    books: np.ndarray = field(repr=False)
    ending: FieldEnding = field(repr=False)
    _places: np.ndarray | None = field(default=None, repr=False)
    _turns: np.ndarray | None = field(default=None, repr=False)

    # ---- what follows from the states --------------------------------------------------------

    @property
    def positions(self) -> np.ndarray:
        """Of the nodes in space, shape (N, nodes, 3)."""
        return self._of_beams(self._places, "positions")

    @cached_property
    def frames(self) -> np.ndarray:
        """Rotations of the nodes, columns the local axes, shape (N, nodes, 3, 3)."""
        return SO3.from_quaternion(self._of_beams(self._turns, "frames"))

    def _of_beams(self, values: np.ndarray | None, name: str) -> np.ndarray:
        if values is None:
            raise AttributeError(f"a field has no {name}: those are of beams")
        return values

    @cached_property
    def velocity(self) -> np.ndarray:
        """ζ at the nodes, shape (N, nodes, n): of beams in the local frame."""
        if self.mesh is None:
            return self._mapped("velocity", self.momentum, self.model.places)
        return np.linalg.solve(self.mesh.inertia, self.momentum[..., None])[..., 0] * self._moving

    @property
    def _moving(self) -> np.ndarray:
        """1, and 0 at followers, whose momentum their leaders carry."""
        found = np.ones((self.momentum.shape[1], 1))
        assert self.mesh is not None
        found[[j.follower for j in self.mesh.joints]] = 0.0
        return found

    @cached_property
    def stress(self) -> np.ndarray:
        """n = h_γ on the edges, shape (N, edges, n): of beams moments and forces."""
        if self.mesh is None:
            return self._mapped("stress", self.strain, self.model.middles)
        return np.einsum("eij,tej->tei", self.mesh.stiffness, self.strain)

    def _mapped(self, what: str, values: np.ndarray, places: np.ndarray) -> np.ndarray:
        """A function of the field's density, at every place."""
        model: Field = self.model
        function = getattr(medium_of(model), what)
        flat = values.reshape(-1, values.shape[-1]).T
        par = np.array([self.parameters[p.name] for p in model.parameters])
        tiled = np.tile(places, len(values))
        data = np.vstack([tiled, np.broadcast_to(par[:, None], (len(par), len(tiled)))])
        found = np.array(function(flat, data)).T
        return found.reshape(*values.shape[:-1], -1)

    @cached_property
    def kinetic(self) -> np.ndarray:
        """Kinetic energy, shape (N,)."""
        if self.mesh is None:
            density = self._mapped("kinetic", self.momentum, self.model.places)[..., 0]
            return density @ self.model.weights
        return 0.5 * np.einsum("tji,tji,j->t", self.momentum, self.velocity, self.mesh.weight)

    @cached_property
    def potential(self) -> np.ndarray:
        """Energy of the strains, shape (N,)."""
        if self.mesh is None:
            density = self._mapped("potential", self.strain, self.model.middles)[..., 0]
            return density.sum(axis=1) * self.model.spacing
        weight = np.where(self.mesh.alive, self.mesh.spacing, 0.0)
        return 0.5 * np.einsum("tei,tei,e->t", self.strain, self.stress, weight)

    @property
    def energy(self) -> np.ndarray:
        """Kinetic energy and that of the strains, shape (N,)."""
        return self.kinetic + self.potential

    @cached_property
    def spatial_momentum(self) -> np.ndarray:
        """Angular (about the origin) and linear momentum in space, shape (N, 6)."""
        assert self.mesh is not None or self._of_beams(None, "momentum in space") is None
        turned = np.einsum("tjab,tjpb->tjpa", self.frames, self.momentum.reshape(
            *self.momentum.shape[:2], 2, 3))  # fmt: skip
        weight = self.mesh.weight[None, :, None]  # type: ignore[union-attr]
        own, linear = weight * turned[:, :, 0], weight * turned[:, :, 1]
        angular = own + np.cross(self.positions, linear)
        return np.hstack([angular.sum(axis=1), linear.sum(axis=1)])

    @property
    def linear_momentum(self) -> np.ndarray:
        """In space, shape (N, 3)."""
        return self.spatial_momentum[:, 3:]

    @property
    def angular_momentum(self) -> np.ndarray:
        """In space about the origin, shape (N, 3)."""
        return self.spatial_momentum[:, :3]

    # ---- views from further up ---------------------------------------------------------------

    @cached_property
    def certificate(self) -> Any:
        """What was measured on this run; prints as a table, ``.to_dict()`` for tests."""
        return _view("certificate")(self)

    def plot(self, **options: Any) -> Any:
        """Shapes, energy and momenta in one Matplotlib figure."""
        return _view("plot")(self, **options)

    def continue_(self, duration: float, *, progress: Any = None) -> FieldTrajectory:
        """Go on from the last state; bit-identical to one long run."""
        from taut.march.fields import continued

        return continued(self, duration, progress)

    def to_xarray(self) -> Any:
        """All arrays as an `xarray.Dataset` with named coordinates."""
        from taut.march.field_storage import to_xarray

        return to_xarray(self)

    def save(self, path: str | Path) -> Path:
        """Write the run to a Zarr store; ``taut.load`` reads it back."""
        from taut.march.storage import save

        return save(self, Path(path))

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        return (
            f"FieldTrajectory: {len(self.t)} states of {self.momentum.shape[1]} nodes, "
            f"t = {self.t[0]:g} … {self.t[-1]:g}, {self.method.name}, step {self.step:g}"
        )


def _view(name: str) -> Any:
    module, function = VIEWS[name].split(":")
    return getattr(import_module(module), function)
