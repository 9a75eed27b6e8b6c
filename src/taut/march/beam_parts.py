"""A beam of a mechanism along a run: the same words as those of a run of `taut.Beam`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from taut.march.parts import PartView, when
from taut.march.view import View

if TYPE_CHECKING:
    from taut.march.trajectory import Trajectory
    from taut.model.mechanism.beams import BeamPart


@dataclass(frozen=True)
class BeamView(View):
    """A beam of a mechanism along a run; arrays have one row per stored state.

    Six-vectors are (angular, linear) in the local frame, whose second axis is tangent.
    """

    run: Trajectory
    part: BeamPart

    @cached_property
    def nodes(self) -> list[PartView]:
        """Views of the nodes, from the root to the tip."""
        return [PartView(self.run, node) for node in self.part.nodes]

    @cached_property
    def positions(self) -> np.ndarray:
        """Of the nodes in space, shape (N, nodes, 3)."""
        return self.part.positions(self.run.q)

    @cached_property
    def frames(self) -> np.ndarray:
        """Rotations of the nodes, columns the local axes, shape (N, nodes, 3, 3)."""
        return self.part.frames(self.run.q)

    @cached_property
    def velocity(self) -> np.ndarray:
        """ζ of the nodes in the local frames, shape (N, nodes, 6)."""
        spin = np.stack([node.angular_velocity for node in self.nodes], axis=-2)
        centre = np.stack([node.velocity for node in self.nodes], axis=-2)
        arm = np.stack([node.position for node in self.nodes], axis=-2) - self.positions
        moving = centre - np.cross(spin, arm)
        own = [np.einsum("...ji,...j->...i", self.frames, x) for x in (spin, moving)]
        return np.concatenate(own, axis=-1)

    @cached_property
    def strain(self) -> np.ndarray:
        """γ of the edges relative to the reference shape, shape (N, edges, 6)."""
        return self.part.strain(self.run.q)

    @cached_property
    def stress(self) -> np.ndarray:
        """Moments and forces C γ on the edges, shape (N, edges, 6)."""
        return np.einsum("eij,...ej->...ei", self.part.stiffness, self.strain)

    @cached_property
    def kinetic(self) -> np.ndarray:
        """Kinetic energy, shape (N,)."""
        return np.sum([node.kinetic_energy for node in self.nodes], axis=0)

    @cached_property
    def potential(self) -> np.ndarray:
        """Energy of the strains, shape (N,)."""
        return 0.5 * self.part.spacing * np.sum(self.strain * self.stress, axis=(-1, -2))

    @cached_property
    def energy(self) -> np.ndarray:
        """Kinetic energy and that of the strains, shape (N,)."""
        return self.kinetic + self.potential

    @cached_property
    def linear_momentum(self) -> np.ndarray:
        """In space, shape (N, 3)."""
        return np.sum([node.momentum for node in self.nodes], axis=0)

    @cached_property
    def angular_momentum(self) -> np.ndarray:
        """In space about the origin, shape (N, 3)."""
        each = [x.angular_momentum + np.cross(x.position, x.momentum) for x in self.nodes]
        return np.sum(each, axis=0)

    def __repr__(self) -> str:
        return f"<beam {self.part.name!r} of {len(self.nodes)} nodes {when(self.run)}>"
