"""Nodes and edges of schemes that solve for all nodes together, and their sweeps.

Beyond what explicit schemes read and write there are the rows

    weight    length of a node's cell; 0 for nodes that follow another one
    inertia   per length, 6 numbers of a diagonal matrix or 36 (a row or a slot)
    gap       what is left of a node's balance, then the change of ζ
    own       its slope by the node's own ζ, 36 numbers
    slope     of an edge: slopes of both ends' balances by both ends' ζ, 4 × 36 numbers
    other     forces on a node from elsewhere: held ends, nodes that follow it
    damping   of an edge, a time (a row or a slot)

and for damping in a step of its own

    slow      the mean velocity
    drag_left, drag_right   forces of an edge on both ends
    span      a slot: the time over which it acts

`SWEEPS` are the maps over nodes and edges that a step is made of.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from taut.kernel.native import Native, compiled, lanes
from taut.kernel.places import Edge, Layout, Medium, Node, _back, _forth
from taut.kernel.sweep_code import sweep_code
from taut.methods.fields.damping import Damping

SWEEPS = ("pull", "pull_slopes", "balance", "balance_slopes", "settle", "edge", "node")
PULL, PULL_SLOPES, BALANCE, BALANCE_SLOPES, SETTLE, EDGE, NODE = range(len(SWEEPS))
ROWS = {"gap": 6, "own": 36, "slope": 144, "other": 6, "weight": 1}
DAMPING_ROWS = {**ROWS, "slow": 6, "drag_left": 6, "drag_right": 6}


def _lower(matrix: np.ndarray) -> tuple[SX, SX]:
    """The real and dual parts of a dual matrix."""
    parts = []
    for part in ("x", "y"):
        found = SX.zeros(3, 3)
        for i in range(3):
            for j in range(3):
                found[i, j] = getattr(matrix[i, j], part)
        parts.append(ca.sparsify(found))
    return parts[0], parts[1]


class ImplicitEdge(Edge):
    """An edge over a step whose velocities are to be found."""

    @staticmethod
    def of_motion(x: np.ndarray) -> SX:
        return ca.vertcat(*(a.x for a in x), *(a.y for a in x))

    @staticmethod
    def of_load(x: np.ndarray) -> SX:
        return ca.vertcat(*(a.y for a in x), *(a.x for a in x))

    @staticmethod
    def from_motion_to_motion(matrix: np.ndarray) -> SX:
        x, y = _lower(matrix)
        return ca.blockcat([[x, SX(3, 3)], [y, x]])

    @staticmethod
    def from_load_to_load(matrix: np.ndarray) -> SX:
        x, y = _lower(matrix)
        return ca.blockcat([[x, y], [SX(3, 3), x]])

    @staticmethod
    def from_motion_to_load(matrix: np.ndarray) -> SX:
        x, y = _lower(matrix)
        return ca.blockcat([[y, x], [x, SX(3, 3)]])

    def _energy(self) -> tuple[SX, SX]:
        strain = SX.sym("strain", self.medium.size)
        return self.medium.potential(strain, self.read("stiffness")), strain

    @property
    def _damping(self) -> SX:
        return self.read("damping") if self.layout.has("damping") else SX(0)

    def stress(self, change: SX) -> SX:
        """n̄ = C(½(χ + χ') − χ₀) + damping·C(χ' − χ)/h."""
        density, strain = self._energy()
        mean = self.chi - self.read("reference") + (0.5 + self._damping / self.h) * change
        return ca.substitute(ca.gradient(density, strain), strain, mean)

    @property
    def stiffness(self) -> SX:
        """∂n̄/∂χ'."""
        density, strain = self._energy()
        return (0.5 + self._damping / self.h) * ca.hessian(density, strain)[0]

    def must_be_positive(self, value: SX) -> None:
        """Count the edges where a number is not positive."""
        self._sums.append(value <= 0)

    def write_slopes(self, slopes: list[list[SX]]) -> None:
        """Four blocks, by rows: at end 0 by ends 0 and 1, at end 1 by ends 0 and 1."""
        blocks = [ca.densify(x.T).reshape((36, 1)) for row in slopes for x in row]
        self.write("slope", ca.vertcat(*blocks))

    def stretch(self, change: SX) -> None:
        """The new strain; count its energy, and what is dissipated."""
        density, strain = self._energy()
        after = self.chi + change
        energy = ca.substitute(density, strain, after - self.read("reference"))
        lost = 2 * ca.substitute(density, strain, change) * self._damping / self.h
        self._sums += [energy / self.per_length, lost / self.per_length]
        self.chi = after


class ImplicitNode(Node):
    """A node over a step whose velocity is to be found."""

    of_load = staticmethod(ImplicitEdge.of_load)
    cross, dot, none = staticmethod(ca.cross), staticmethod(ca.dot), SX.zeros(3)

    def __init__(self, layout: Layout, medium: Medium) -> None:
        super().__init__(layout, medium, frozenset())
        self._given, self._weight = SX.zeros(6), SX.zeros(6)

    weight = property(lambda self: self.read("weight"))
    share = property(lambda self: self.read("share"))

    @staticmethod
    def wrench(moment: SX, force: SX) -> SX:
        return ca.vertcat(moment, force)

    def inertia(self, zeta: SX) -> SX:
        """I ζ, per length."""
        given = self.read("inertia")
        if given.numel() == 6:
            return given * zeta
        return ca.mtimes(ca.reshape(given, 6, 6), zeta)  # which is symmetric

    @property
    def edges(self) -> SX:
        """Forces of the edges, and those from elsewhere."""
        return self.read("left") + self.read("right", -1) + self.read("other")

    @property
    def follower(self) -> SX:
        return self.read("follower") if self.layout.has("follower") else SX.zeros(6)

    @property
    def dead(self) -> tuple[SX, SX]:
        """Moment and force of loads that are fixed in space, in the frame before the step."""
        if not self.layout.has("dead"):
            return self.none, self.none
        given, turn = self.read("dead"), self._before
        return _back(turn, given[:3]), _back(turn, given[3:])

    @property
    def gravity(self) -> SX:
        if not self.layout.has("gravity"):
            return self.none
        return _back(self._before, self.read("gravity"))

    def work(self, given: SX, weight: SX) -> None:
        """Loads and weight, of which the work is counted."""
        self._given, self._weight = given, weight

    def now(self, momentum: SX) -> None:
        """Count energies after the step, and the work of loads and weight in it."""
        kinetic = self.medium.kinetic(momentum, self.read("compliance"))
        self._sums += [
            self.weight * kinetic,
            self.weight * self._height(),
            self.h * ca.dot(self._given, self.read("zeta")),
            self.h * ca.dot(self._weight, self.read("zeta")),
        ]

    def _height(self) -> SX:
        """Potential of the weight, per length."""
        if not self.layout.has("gravity"):
            return SX(0)
        given = self.read("inertia")
        mass, place = given[3] if given.numel() == 6 else given[21], self.read("place")
        found = mass * ca.dot(self.read("gravity"), place)
        if given.numel() == 36:  # the centre of mass: linear momentum is m v + ω × (m c)
            centre = ca.vertcat(-given[31], -given[20], -given[24])
            found = found + ca.dot(self.read("gravity"), _forth(self.read("turn"), centre))
        return -found


class DampedEdge(ImplicitEdge):
    """An edge that is damped at fixed poses."""

    slow = property(lambda self: (self.read("slow"), self.read("slow", 1)))
    span = property(lambda self: self.read("span"))

    def viscous(self, rate: SX) -> SX:
        """The stress D χ̇."""
        return ca.mtimes(self.viscosity, rate)

    @property
    def viscosity(self) -> SX:
        density, strain = self._energy()
        return self._damping * ca.hessian(density, strain)[0]

    def lose(self, rate: SX) -> None:
        """Count what is dissipated."""
        self._sums.append(self.span * ca.dot(rate, self.viscous(rate)) / self.per_length)


class DampedNode(ImplicitNode):
    """A node that is damped at fixed poses."""

    slow = property(lambda self: self.read("slow"))
    span = property(lambda self: self.read("span"))

    @property
    def drag(self) -> SX:
        return self.read("drag_left") + self.read("drag_right", -1) + self.read("other")


class Sweeps:
    """Compiled sweeps.

    Parameters
    ----------
    scheme : EnergyMomentumBeam or Damping

    Attributes
    ----------
    address : ndarray of int, in the order of `SWEEPS`
    """

    def __init__(
        self, scheme: Any, layout: Layout, medium: Medium, width: int | None = None
    ) -> None:
        self.code = [sweep_code(x, width or lanes()) for x in sweeps(scheme, layout, medium)]
        self._native: list[Native] = [compiled(text) for text in self.code]
        self.address = np.array([x.address("sweep") for x in self._native], dtype=np.int64)


_KNOWN: dict[tuple, Sweeps] = {}


def sweeps_of(scheme: Any, layout: Layout, medium: Medium) -> Sweeps:
    """Compiled sweeps, made once in a process for the same scheme, layout and medium."""
    key = (repr(scheme), layout.key(), medium, lanes())
    # Of two threads that make the same at a time both get what the first one has put there: the
    # other would end with its maker, and its addresses with it.
    return _KNOWN.get(key) or _KNOWN.setdefault(key, Sweeps(scheme, layout, medium))


def sweeps(scheme: Any, layout: Layout, medium: Medium) -> list[Any]:
    """What the sweeps do, in the order of `SWEEPS`."""
    damped = isinstance(scheme, Damping)
    edge, node = (DampedEdge, DampedNode) if damped else (ImplicitEdge, ImplicitNode)
    unknown = "slow" if damped else "zeta"
    found = []
    for name in SWEEPS:
        place = (edge if name in ("pull", "pull_slopes", "edge") else node)(layout, medium)
        if name == "settle":
            _settle(place, unknown)
        elif name == "balance_slopes":
            scheme.balance(place)
            own = ca.densify(ca.jacobian(place.read("gap"), place.read(unknown)))
            place.write("own", own.T.reshape((36, 1)))
        else:
            getattr(scheme, name)(place)
        found.append(place.sweep())
    return found


def _settle(at: Any, unknown: str) -> None:
    """Take the change from the velocity; count both, with angles times the spacing as lengths."""
    change, scale = at.read("gap"), at.read("spacing") ** 2
    after = at.read(unknown) - change
    at._sums += [scale * ca.sumsqr(x[:3]) + ca.sumsqr(x[3:]) for x in (change, after)]
    at.write(unknown, after)
