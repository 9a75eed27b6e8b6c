"""`FieldTrajectory`: the immutable record of a run of a field or of beams."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from taut.calls import public
from taut.cite import Citations, cite
from taut.fields.mesh import Mesh
from taut.lie import SE3, SO3
from taut.march.field_values import FieldValues
from taut.methods.fields.base import Scheme
from taut.portable import product, solve

VIEWS = {
    "certificate": "taut.diagnose.field_certificate:certify",
    "plot": "taut.show.field_plots:plot",
    "report": "taut.show.report:report",
    "animate": "taut.show.animation:animate",
    "card": "taut.show.card:field_card",
}


@dataclass(frozen=True)
class FieldEnding:
    """What a run needs to go on bit by bit."""

    rows: np.ndarray
    books: np.ndarray
    energies: np.ndarray
    steps: int
    short: bool
    failed: bool = False
    carried: list[np.ndarray] = field(default_factory=list)


@public
@dataclass(frozen=True, eq=False)
class FieldTrajectory:
    """A run of a field or of beams.

    Attributes
    ----------
    model : Field, Beam or Beams
    method : Scheme
    t : ndarray, shape (N,)
    momentum : ndarray, shape (N, nodes, n)
        μ per length, at the times t.  Where beams meet, the node of the first of them has that of
        all, per length of its own cell.
    strain : ndarray, shape (N, edges, n)
        γ, relative to the reference shape.
    positions : ndarray, shape (N, nodes, 3)
        Of beams.
    limit : float
        The largest stable step of an explicit scheme, as estimated.
    ended_early : str
        What ended the run before its duration; empty if nothing did.
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
    ended_early: str = ""
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
            return self._values.velocity
        found = solve(self.mesh.inertia, self.momentum[..., None])[..., 0]
        return following(self.mesh, found)

    @cached_property
    def stress(self) -> np.ndarray:
        """Stress n = h_γ on the edges, shape (N, edges, n): of beams moments and forces."""
        if self.mesh is None:
            return self._values.stress
        return np.einsum("eij,tej->tei", self.mesh.stiffness, self.strain)

    @cached_property
    def _values(self) -> FieldValues:
        par = np.array([self.parameters[p.name] for p in self.model.parameters])
        return FieldValues(self.model, par, self.strain, self.momentum)

    @cached_property
    def kinetic(self) -> np.ndarray:
        """Kinetic energy, shape (N,)."""
        if self.mesh is None:
            return self._values.kinetic
        return 0.5 * np.einsum("tji,tji,j->t", self.momentum, self.velocity, self.mesh.weight)

    @cached_property
    def potential(self) -> np.ndarray:
        """Energy of the strains, shape (N,)."""
        if self.mesh is None:
            return self._values.potential
        weight = np.where(self.mesh.alive, self.mesh.spacing, 0.0)
        return 0.5 * np.einsum("tei,tei,e->t", self.strain, self.stress, weight)

    @cached_property
    def energy(self) -> np.ndarray:
        """Kinetic energy and that of the strains (and what mixes them), shape (N,)."""
        return self._values.energy if self.mesh is None else self.kinetic + self.potential

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

    @cached_property
    def reactions(self) -> dict[int, np.ndarray]:
        """Moment about the node and force, in space, by which each held node is held: (N, 6)."""
        from taut.march.reactions import reactions_of

        self._of_beams(self._places, "reactions")
        return reactions_of(self)

    # ---- views from further up ---------------------------------------------------------------

    @cached_property
    def certificate(self) -> Any:
        """What was measured on this run; prints as a table, ``.to_dict()`` for tests."""
        return _view("certificate")(self)

    def plot(self, *panels: str, **options: Any) -> Any:
        """A Matplotlib figure: an overview, or the panels that are named.

        Parameters
        ----------
        *panels : str
            "shapes": beams at evenly spaced times, in the plane if they stay in one;
            "energies": kinetic energy, that of the strains, and their sum;
            "energy": E − E₀ and the line of the measured drift;
            "balance": E − E₀ − work, where loads act;
            "momenta": changes of the momenta in space;
            "strain", "momentum": over place and time, those components that change most.
        axes : matplotlib.axes.Axes, optional
            Draw the one panel that is named into these, with your own settings, and return them.
        of : symbol or name of a component, or several
            Of "strain" and "momentum"; those of beams are gamma1 … gamma6 and mu1 … mu6.
        shapes : int
            How many shapes are drawn (default 12).
        magnify : "auto" or float
            By how much displacements from the reference shape are enlarged; "auto" does it where
            beams that are held move too little to be seen, and the heading says so.
        down : "auto", "x", "y", "z" or None
            The axis that points down on paper; "auto" follows gravity.
        title : str
            The heading of the figure; the method, its step and the nodes if not given.
        points : int
            Samples per curve (default 5000); longer runs keep their extremes.

        Returns
        -------
        matplotlib.figure.Figure, or the axes that were given
        """
        return _view("plot")(self, *panels, **options)

    def report(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write a page with the certificate, an animation, curves and the model: one HTML file."""
        return _view("report")(self, path, title=title)

    def animate(self, path: str | Path | None = None, **options: Any) -> Any:
        """An animation that shows itself in a notebook, or a file: .html, .mp4, .gif, .webm.

        Options: ``speed`` (time of the run per second), ``seconds`` and ``fps`` of a film, ``span``
        (first and last time), ``magnify`` (of displacements); see `taut.show.animation.animate`.
        """
        return _view("animate")(self, path, **options)

    def cite(self) -> Citations:
        """The references of what this run used: prints as a list, ``.bibtex()`` for a paper."""
        return cite(self)

    def continue_(self, duration: float, *, progress: Any = None) -> FieldTrajectory:
        """Go on from the last state; bit-identical to one long run."""
        from taut.march.fields import continued

        return continued(self, duration, progress)

    def to_xarray(self) -> Any:
        """All arrays as an `xarray.Dataset` with named coordinates."""
        from taut.march.field_storage import to_xarray

        return to_xarray(self)

    def save(self, path: str | Path) -> Path:
        """Write the run to a Zarr store, in place of one of that name; ``taut.load`` reads it."""
        from taut.march.storage import save

        return save(self, path)

    def __len__(self) -> int:
        return len(self.t)

    def _repr_html_(self) -> str:
        return _view("card")(self)

    def __repr__(self) -> str:
        return (
            f"FieldTrajectory: {len(self.t)} states of {self.momentum.shape[1]} nodes, "
            f"t = {self.t[0]:g} … {self.t[-1]:g}, {self.method.name}, step {self.step:g}"
            + (f"; {self.ended_early}" if self.ended_early else "")
        )


def following(mesh: Mesh, velocity: np.ndarray) -> np.ndarray:
    """Velocities, shape (…, nodes, 6), those of followers taken from their leaders."""
    found = velocity.copy()
    for joint in mesh.joints:
        back = SE3.adjoint(SE3.inverse(joint.motion))
        found[..., joint.follower, :] = product(found[..., joint.leader, :], back.T)
    return found


def _view(name: str) -> Any:
    module, function = VIEWS[name].split(":")
    return getattr(import_module(module), function)
