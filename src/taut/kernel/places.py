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
Density = Callable[[SX, SX], SX]


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


@dataclass(frozen=True, eq=False)
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
        Densities of a momentum or a strain and of the numbers of the place called "compliance" and
        "stiffness", as SX.
    velocity, stress : functions
        Their gradients.
    """

    size: int
    terms: Terms
    rigid: bool
    kinetic: Density
    velocity: Density
    potential: Density
    stress: Density


def quadratic(x: SX, packed: SX) -> SX:
    """½⟨x, Ax⟩; see `applied`."""
    return 0.5 * ca.dot(x, applied(x, packed))


def applied(x: SX, packed: SX) -> SX:
    """A x, with A given by its diagonal or row by row."""
    n = x.numel()
    if packed.numel() == n:
        return packed * x
    return ca.vertcat(*(ca.dot(packed[i * n : (i + 1) * n], x) for i in range(n)))


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
        self._repeat = Repeat(unknown, self._settled(start), after, self._weights())
        return unknown

    def _settled(self, value: SX) -> SX:
        return value

    def _weights(self) -> SX:
        """Of the squares of momenta: a compliance makes them energies."""
        return SX.ones(self.medium.size)


class Node(Place):
    """A node with its momentum, velocity, pose and the forces on it.

    Parameters
    ----------
    features : set of str
        What is special about the node: "own" (inertia of its own), "held", "roller", "moved",
        "dead" and "follower" (loads), "gravity", "joint".
    """

    def __init__(self, layout: Layout, medium: Medium, features: frozenset[str]) -> None:
        super().__init__(layout, medium)
        self.features = features
        self._before = self.read("turn") if medium.rigid else None
        if "moved" in features:
            self._start_place, self._old = self.read("place"), self.read("zeta")

    mu = property(lambda self: self.read("mu"), lambda self, x: self.write("mu", x))

    @property
    def zeta(self) -> SX:
        return self.read("zeta")

    @zeta.setter
    def zeta(self, value: SX) -> None:
        self.write("zeta", self._guided(value))

    def _own(self, name: str) -> SX:
        return self.read(f"own_{name}" if "own" in self.features else name)

    def velocity(self, m: SX) -> SX:
        """ζ = h_μ; of a roller, what is left of it."""
        found = self.medium.velocity(m, self._own("compliance"))
        return self._rolled(found, found) if "roller" in self.features else found

    def _rolled(self, x: SX, velocity: SX) -> SX:
        """(a, b) with b along the roller's axis: that of the displacement in this step."""
        along = self._displaced(self.read("along"), velocity[:3])
        return ca.vertcat(x[:3], along * (ca.dot(along, x[3:]) / ca.dot(along, along)))

    def _displaced(self, shift: SX, spin: SX) -> SX:
        """v for which a step with ω = `spin` shifts the node by `shift` per time, in space."""
        half = 0.5 * self.h * spin
        local = _back(self._before, shift)
        return local - ca.cross(half, local) + half * ca.dot(half, local)

    def _guided(self, zeta: SX) -> SX:
        """The velocity of a moved node, which leads to where it is to be."""
        if "moved" not in self.features:
            return zeta
        spin = zeta[:3]
        if "held" not in self.features:  # clamped
            q = _product(ca.vertcat(self._before[0], -self._before[1:]), self.read("target_turn"))
            spin = (2 / self.h) * q[1:] / q[0]
        shift = (self.read("target_place") - self._start_place) / self.h
        return ca.vertcat(spin, self._displaced(shift, spin))

    @property
    def force(self) -> SX:
        """What acts on the node, per length: the edges on both sides, and loads."""
        total = self.read("left") + self.read("right", -1)
        if "joint" in self.features:
            total = total + self.read("joint")
        total = (total + self._loads()) * self.read("share")
        if "gravity" in self.features:
            fall = ca.vertcat(SX.zeros(3), _back(self._before, self.read("gravity")))
            total = total + applied(fall, self._own("inertia"))
        return total

    def _loads(self) -> SX:
        total = SX.zeros(self.medium.size)
        if "follower" in self.features:
            total = total + self.read("follower")
        if "dead" in self.features:
            given, q = self.read("dead"), self._before
            total = total + ca.vertcat(_back(q, given[:3]), _back(q, given[3:]))
        return total

    def now(self, momentum: SX) -> None:
        """Count the energy at the time of the strains, and the power of what acts."""
        share = self.read("share")
        self._sums.append(self.medium.kinetic(momentum, self._own("compliance")) / share)
        acting = self._loads()
        if "gravity" in self.features:
            fall = ca.vertcat(SX.zeros(3), _back(self._before, self.read("gravity")))
            acting = acting + applied(fall, self._own("inertia")) / share
        velocity = self.velocity(momentum)
        power = ca.dot(acting, velocity)
        if "moved" in self.features:  # what moves it works against the edges and the loads
            which = slice(3, 6) if "held" in self.features else slice(0, 6)
            mean, against = self._mean_velocity(momentum), acting - self.force / share
            power = power + ca.dot(against[which], mean[which])
        self._sums.append(power)

    def _mean_velocity(self, momentum: SX) -> SX:
        """The velocity of a moved node at the time of the strains."""
        return 0.5 * (self._guided(self.velocity(momentum)) + self._old)

    def shown(self, momentum: SX) -> SX:
        """The momentum that is shown: of a moved node that of its motion."""
        if "moved" not in self.features:
            return self._settled(momentum)
        mean = self._mean_velocity(momentum)
        if "held" in self.features:
            mean = ca.vertcat(self.velocity(momentum)[:3], mean[3:])
        return applied(mean, self._own("inertia"))

    def move(self, zeta: SX) -> None:
        """g' = g cay(h ζ)."""
        if not self.medium.rigid:
            return
        k, v = self.h * zeta[:3], self.h * zeta[3:]
        half = 0.5 * k
        square = ca.dot(half, half)
        turn, place = self._before, self.read("place")
        shift = (v + ca.cross(half, v)) / (1 + square)
        self.write("place", place + _forth(turn, shift))
        moved = _product(turn, ca.vertcat(1, half))
        self.write("turn", moved / ca.sqrt(ca.dot(moved, moved)))

    def _weights(self) -> SX:
        if not self.medium.rigid:
            return super()._weights()
        given, n = self._own("compliance"), self.medium.size
        return given if given.numel() == n else given[:: n + 1]

    def either(self, *, free: SX, held: SX) -> SX:
        """One of two expressions that are equal where nothing holds the node."""
        return held if self.features & {"held", "roller", "moved"} else free

    def _settled(self, value: SX) -> SX:
        """The momentum that belongs to a velocity which the node's hold allows."""
        if "roller" in self.features:
            return self._rolled(value, self.medium.velocity(value, self._own("compliance")))
        if "held" in self.features:
            return applied(value, self.read("hold"))
        return SX.zeros(value.numel()) if "moved" in self.features else value


class Edge(Place):
    """An edge with its strain, between two nodes."""

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
        gamma, stiffness = chi - self.read("reference"), self.read("stiffness")
        n = self.medium.stress(gamma, stiffness)
        a = chi * (0.5 / self.per_length)
        turned = self.dual(a, n)
        straight = n + self.stretched(a, n) if exact else n
        self.write("left", straight - turned)
        self.write("right", -(straight + turned))
        self._sums.append(self.medium.potential(gamma, stiffness) / self.per_length)


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
