"""Nodes and edges of fields whose density mixes strains and momenta.

H = Σ over edges of the mean of h over the momenta of both ends; so the velocity of a node is a mean
over its edges and the stress of an edge one over its nodes.
"""

from __future__ import annotations

import casadi as ca
from casadi import SX

from taut.kernel.places import Edge, Layout, Medium, Node


class MixedNode(Node):
    """A node of a field whose density mixes strains and momenta.

    All nodes are solved for together, by repeating node and edge sweeps: "old" is the momentum
    before the step, "mu" the newest one, and the sums are squares of its change and of itself.
    """

    @property
    def mu(self) -> SX:
        return self._written.get("mu", self.read("old"))

    @mu.setter
    def mu(self, value: SX) -> None:
        change = value - self._guess
        self._sums += [ca.dot(change, change), ca.dot(value, value)]
        self.write("mu", value)

    def __init__(self, layout: Layout, medium: Medium, features: frozenset[str]) -> None:
        super().__init__(layout, medium, features)
        self._guess = self.read("mu")

    def velocity(self, m: SX) -> SX:
        """δH/δμ: the mean over the edges on both sides."""
        assert self.medium.whole is not None
        found, sides = SX.zeros(self.medium.size), self.read("sides")
        for i, offset in enumerate((-1, 0)):
            gamma = self.read("chi", offset) - self.read("reference", offset)
            slope = self.medium.whole[2](gamma, m, self.read("stiffness", offset))
            found = found + ca.if_else(sides[i] > 0, sides[i] * slope, 0)
        return found

    def now(self, momentum: SX) -> None:
        self.write("seen", momentum)

    def shown(self, momentum: SX) -> SX:
        return momentum


class MixedEdge(Edge):
    """An edge of such a field."""

    def _ends(self, which: int, gamma: SX, name: str) -> SX:
        """The mean of h or a derivative with the momenta of both ends."""
        assert self.medium.whole is not None
        values = [
            self.medium.whole[which](gamma, self.read(name, offset), self.read("stiffness"))
            for offset in (0, 1)
        ]
        return 0.5 * (values[0] + values[1])

    def pull(self, chi: SX, *, exact: bool = False) -> None:
        gamma = chi - self.read("reference")
        n = self._ends(1, gamma, "mu")
        turned = self.dual(chi * (0.5 / self.per_length), n)
        self.write("left", n - turned)
        self.write("right", -(n + turned))
        self._sums.append(SX(0))

    def count(self) -> None:
        """The energy at the time of the strains."""
        gamma = self.chi - self.read("reference")
        self._sums.append(self._ends(0, gamma, "seen") / self.per_length)
