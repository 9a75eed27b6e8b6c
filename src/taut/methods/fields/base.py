"""What a scheme for fields is: what happens at a node and at an edge in one step.

Momenta μ and velocities ζ live at the nodes of a line, strains χ (with the reference strain) on the
edges between them, so that a scheme is two short programs: `node` goes from one time to the next
with the forces that the edges left there, `edge` takes the new velocities or poses and leaves new
forces.  Nothing in them looks further than the next neighbour.  The engine differentiates, solves
the equations at each place, compiles both for SIMD lanes and marches.

`shown` is the momentum at the time of the strain, which staggered schemes do not carry; `begin` is
its inverse, so that a start at one time is taken as such.

See `taut.kernel.places` for the operations; h is the step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from taut.calls import public
from taut.cite import Sourced
from taut.text import table

Place = Any  # taut.kernel.places.Node or Edge
Vector = Any


@public
class Scheme(Sourced, ABC):
    """A method for fields and beams.

    Attributes
    ----------
    name, order : what it is called, its order
    references : where it is from, see `taut.cite.Sourced`
    posed : bool
        Whether strains are read from poses: it is then for beams only.
    implicit : bool
        Whether all nodes are solved for together.
    """

    name: ClassVar[str]
    order: ClassVar[int] = 2
    posed: ClassVar[bool] = False
    implicit: ClassVar[bool] = False

    @property
    def key(self) -> str:
        return repr(self)

    @property
    def label(self) -> str:
        """For people."""
        return self.name

    def _repr_html_(self) -> str:
        rows = [
            ("order", self.order),
            ("all nodes together", "yes" if self.implicit else "no"),
            ("for", "beams" if self.posed else "beams and fields"),
            ("source", self.source),
        ]
        return table(rows, self.label)

    @abstractmethod
    def begin(self, at: Place) -> Vector:
        """What is carried, given the momentum at the time of the start."""

    @abstractmethod
    def shown(self, at: Place) -> Vector:
        """The momentum at the time of the strain, given what is carried."""

    @abstractmethod
    def node(self, at: Place) -> None:
        """One step at a node."""

    @abstractmethod
    def edge(self, at: Place) -> None:
        """One step at an edge."""
