"""Nodes and edges as a scheme sees them: symbols, brackets, poses; what they become is a `Sweep`.

Six-vectors are dual vectors: (k, v) stands for k + εv with ε² = 0, and everything that holds for
rotations (cross products, Rodrigues' vectors) holds for motions with dual numbers for the entries.
The adjoint Cayley map takes (k, v) to the rotation with Rodrigues' vector k/2 and the displacement
(v + k × v/2)/(1 + |k|²/4).  Poses are unit quaternions and positions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import casadi as ca
from casadi import SX

from taut.kernel.sweep_code import Repeat, Sweep

Terms = tuple[tuple[int, int, int, float], ...]


@dataclass
class Layout:
    """Where the numbers are: rows that differ from place to place, slots that do not."""

    rows: dict[str, tuple[int, int]] = field(default_factory=dict)
    slots: dict[str, tuple[int, int]] = field(default_factory=dict)
    height: int = 0
    width: int = 0

    def row(self, name: str, size: int) -> None:
        self.rows[name] = (self.height, size)
        self.height += size

    def slot(self, name: str, size: int) -> None:
        self.slots[name] = (self.width, size)
        self.width += size

    def has(self, name: str) -> bool:
        return name in self.rows or name in self.slots

    def key(self) -> tuple:
        return (tuple(self.rows.items()), tuple(self.slots.items()))


@dataclass(frozen=True)
class Medium:
    """What a field is made of, as the kernels need to know it.

    Attributes
    ----------
    size : int
        Dimension n of the algebra.
    terms : tuple of (i, j, k, c)
        [x, y]_k = Σ c x_i y_j.
    rigid : bool
        Whether it is se(3), with poses.
    kinetic, potential : functions
        Densities of a momentum or a strain and of further numbers of the place, as SX.
    node_data, edge_data : tuple of str
        Names of these further numbers.
    groups : list of list of int
        Entries of one scale.
    """

    size: int
    terms: Terms
    rigid: bool
    kinetic: Callable[[SX, dict[str, SX]], SX]
    potential: Callable[[SX, dict[str, SX]], SX]
    node_data: tuple[str, ...]
    edge_data: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]
    key: str


class Place:
    """Reads and writes of one sweep, and the operations of the algebra."""

    def __init__(self, layout: Layout, medium: Medium) -> None:
        self.layout, self.medium = layout, medium
        self._par = SX.sym("par", layout.width)
        self._read: dict[tuple[str, int], SX] = {}
        self._written: dict[str, SX] = {}
        self._sums: list[SX] = []
        self._repeat: Repeat | None = None

    def read(self, name: str, offset: int = 0) -> SX:
        """Numbers of this place or a neighbour, or of all places."""
        if name in self.layout.slots:
            at, size = self.layout.slots[name]
            return self._par[at : at + size]
        if offset == 0 and name in self._written:
            return self._written[name]
        if (name, offset) not in self._read:
            self._read[name, offset] = SX.sym(f"{name}{offset}", self.layout.rows[name][1])
        return self._read[name, offset]

    def write(self, name: str, value: SX) -> None:
        self._written[name] = value

    def sweep(self) -> Sweep:
        rows = self.layout.rows
        reads = [(x, rows[name][0], offset) for (name, offset), x in self._read.items()]
        writes = [(x, rows[name][0]) for name, x in self._written.items()]
        return Sweep(reads, self._par, writes, self._sums, self._repeat)

    @property
    def h(self) -> SX:
        return self.read("step")

    # ---- the algebra -------------------------------------------------------------------------

    def bracket(self, x: SX, y: SX) -> SX:
        """[x, y]."""
        found = [SX(0)] * self.medium.size
        for i, j, k, c in self.medium.terms:
            found[k] = found[k] + c * (x[i] * y[j])
        return ca.vertcat(*found)

    def dual(self, x: SX, m: SX) -> SX:
        """[x, m]*, with ⟨[x, m]*, y⟩ = ⟨m, [x, y]⟩."""
        found = [SX(0)] * self.medium.size
        for i, j, k, c in self.medium.terms:
            found[j] = found[j] + c * (x[i] * m[k])
        return ca.vertcat(*found)

    def resolved(self, b: SX, right: SX) -> SX:
        """The solution x of x + [b, x] = right."""
        if self.medium.rigid:  # (1 + ad_b)⁻¹ = (1 − ad_b + b bᵀ)/(1 + b·b), in dual numbers
            inner = right - self.bracket(b, right) + _times(_dot(b, right), b)
            square = _dot(b, b)
            return _times(_inverse((1 + square[0], square[1])), inner)
        if not self.medium.terms:
            return right
        return self._eliminated(b, right)

    def _eliminated(self, b: SX, right: SX) -> SX:
        """The same for any algebra, by elimination: the matrix is close to 1."""
        n = self.medium.size
        rows = [[SX(float(i == k)) for k in range(n)] for i in range(n)]
        for i, j, k, c in self.medium.terms:
            rows[k][j] = rows[k][j] + c * b[i]
        x = [right[i] for i in range(n)]
        for i in range(n):
            for k in range(i + 1, n):
                if rows[k][i].is_zero():
                    continue
                factor = rows[k][i] / rows[i][i]
                for j in range(i + 1, n):
                    rows[k][j] = rows[k][j] - factor * rows[i][j]
                x[k] = x[k] - factor * x[i]
        for i in reversed(range(n)):
            for j in range(i + 1, n):
                x[i] = x[i] - rows[i][j] * x[j]
            x[i] = x[i] / rows[i][i]
        return ca.vertcat(*x)

    def stretched(self, b: SX, m: SX) -> SX:
        """(b bᵀ)ᵀ m, with b bᵀ x = b (b·x) in dual numbers."""
        k, v = b[:3], b[3:]
        moment, force = m[:3], m[3:]
        # ⟨m, b (b·x)⟩ with b·x = (k·ω, k·u + v·ω)
        with_k, with_v = ca.dot(k, force), ca.dot(k, moment) + ca.dot(v, force)
        return ca.vertcat(with_v * k + with_k * v, with_k * k)

    def solve(self, start: SX, equation: Callable[[SX], SX]) -> SX:
        """x = equation(x), by repetition from `start`."""
        unknown = SX.sym("x", start.numel())
        after = self._settled(equation(unknown))
        if not ca.depends_on(after, unknown):
            return after
        assert self._repeat is None, "one equation per sweep"
        groups = [list(group) for group in self.medium.groups]
        self._repeat = Repeat(unknown, self._settled(start), after, groups)
        return unknown

    def _settled(self, value: SX) -> SX:
        return value


class Node(Place):
    """A node with its momentum, velocity, pose and the forces on it."""

    def __init__(self, layout: Layout, medium: Medium) -> None:
        super().__init__(layout, medium)
        self._mu = self.read("mu")
        self._data = {name: self.read(name) for name in medium.node_data}

    mu = property(lambda self: self.read("mu"), lambda self, x: self.write("mu", x))
    zeta = property(lambda self: self.read("zeta"), lambda self, x: self.write("zeta", x))

    def velocity(self, m: SX) -> SX:
        """ζ = h_μ."""
        momentum = SX.sym("m", self.medium.size)
        function = ca.gradient(self.medium.kinetic(momentum, self._data), momentum)
        return ca.substitute(function, momentum, m)

    @property
    def force(self) -> SX:
        """What acts on the node, per length: the edges on both sides, and loads."""
        total = self.read("left") + self.read("right", -1)
        if self.layout.has("follower"):
            total = total + self.read("follower")
        if self.layout.has("dead"):
            turned = self.read("dead")
            q = self._start_turn()
            total = total + ca.vertcat(_back(q, turned[:3]), _back(q, turned[3:]))
        return total * self.read("share")

    def _start_turn(self) -> SX:
        """The rotation at the beginning of the step."""
        key = ("turn", 0)
        if key not in self._read:
            self._read[key] = SX.sym("turn0", 4)
        return self._read[key]

    def now(self, momentum: SX) -> None:
        """Count the energy at the time of the strains, and the power of the loads."""
        self._sums.append(self.medium.kinetic(momentum, self._data) / self.read("share"))

    def move(self, zeta: SX) -> None:
        """g' = g cay(h ζ)."""
        if not self.medium.rigid:
            return
        k, v = self.h * zeta[:3], self.h * zeta[3:]
        half = 0.5 * k
        square = ca.dot(half, half)
        turn, place = self._start_turn(), self.read("place")
        shift = (v + ca.cross(half, v)) / (1 + square)
        self.write("place", place + _forth(turn, shift))
        moved = _product(turn, ca.vertcat(1, half))
        self.write("turn", moved / ca.sqrt(ca.dot(moved, moved)))

    def _settled(self, value: SX) -> SX:
        if not self.layout.has("hold"):
            return value
        return _symmetric_free(self.read("hold"), value)


class Edge(Place):
    """An edge with its strain, between two nodes."""

    def __init__(self, layout: Layout, medium: Medium) -> None:
        super().__init__(layout, medium)
        self._data = {name: self.read(name) for name in medium.edge_data}

    chi = property(lambda self: self.read("chi"), lambda self, x: self.write("chi", x))

    @property
    def zeta(self) -> tuple[SX, SX]:
        """The velocities of both ends."""
        return self.read("zeta"), self.read("zeta", 1)

    @property
    def per_length(self) -> SX:
        return self.read("per_length")

    def relative(self) -> SX:
        """χ = cay⁻¹(g_j⁻¹ g_{j+1})/Δs."""
        first, second = self.read("turn"), self.read("turn", 1)
        q = _product(ca.vertcat(first[0], -first[1:]), second)
        half = q[1:] / q[0]
        shift = _back(first, self.read("place", 1) - self.read("place"))
        # t = (v + half × v)/(1 + half²)  ⟹  v = (1 + half²)(1 + half×)⁻¹ t
        v = shift - ca.cross(half, shift) + half * ca.dot(half, shift)
        return ca.vertcat(2 * half, v) * self.per_length

    def pull(self, chi: SX, *, exact: bool = False) -> None:
        """Leave the forces on both ends, and count the energy."""
        strain = SX.sym("strain", self.medium.size)
        gamma = chi - self.read("reference")
        density = self.medium.potential(strain, self._data)
        n = ca.substitute(ca.gradient(density, strain), strain, gamma)
        a = chi * (0.5 / self.per_length)
        turned = self.dual(a, n)
        straight = n + self.stretched(a, n) if exact else n
        self.write("left", straight - turned)
        self.write("right", -(straight + turned))
        self._sums.append(ca.substitute(density, strain, gamma) / self.per_length)


# ---- dual numbers, quaternions ---------------------------------------------------------------


def _dot(x: SX, y: SX) -> tuple[SX, SX]:
    return ca.dot(x[:3], y[:3]), ca.dot(x[:3], y[3:]) + ca.dot(x[3:], y[:3])


def _times(s: tuple[SX, SX], x: SX) -> SX:
    return ca.vertcat(s[0] * x[:3], s[0] * x[3:] + s[1] * x[:3])


def _inverse(s: tuple[SX, SX]) -> tuple[SX, SX]:
    first = 1 / s[0]
    return first, -(s[1] * first) * first


def _product(p: SX, q: SX) -> SX:
    """Of quaternions (scalar first)."""
    scalar = p[0] * q[0] - ca.dot(p[1:], q[1:])
    return ca.vertcat(scalar, p[0] * q[1:] + q[0] * p[1:] + ca.cross(p[1:], q[1:]))


def _forth(q: SX, x: SX) -> SX:
    """R x of a unit quaternion: x + 2 u × (u × x + q₀ x)."""
    u = q[1:]
    return x + 2 * ca.cross(u, ca.cross(u, x) + q[0] * x)


def _back(q: SX, x: SX) -> SX:
    """Rᵀ x."""
    u = q[1:]
    return x + 2 * ca.cross(u, ca.cross(u, x) - q[0] * x)


def _symmetric_free(packed: SX, x: SX) -> SX:
    """A matrix given by its rows, times x."""
    n = x.numel()
    return ca.vertcat(*(ca.dot(packed[i * n : (i + 1) * n], x) for i in range(n)))
