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
    whole : functions (γ, μ, data) → h, h_γ, h_μ; None
        Where the density mixes strains and momenta.
    """

    size: int
    terms: Terms
    rigid: bool
    kinetic: Density
    velocity: Density
    potential: Density
    stress: Density
    whole: tuple[Callable[..., SX], ...] | None = None


def quadratic(x: SX, packed: SX) -> SX:
    """½⟨x, Ax⟩; see `applied`."""
    return 0.5 * ca.dot(x, applied(x, packed))


def applied(x: SX, packed: SX) -> SX:
    """A x, with A given by its diagonal or row by row; 4 numbers are (a₁, a₂, a₃, b, b, b)."""
    n = x.numel()
    if packed.numel() == 4 and n == 6:
        return ca.vertcat(packed[:3] * x[:3], packed[3] * x[3:])
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
        if self.medium.rigid:
            w, per = b[:3], 1 / (1 + ca.dot(b[:3], b[:3]))
            angular = _unturned(w, right[:3]) * per
            linear = _unturned(w, right[3:] - ca.cross(b[3:], angular)) * per
            return ca.vertcat(angular, linear)
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
        """Solve x = equation(x), by repetition from `start`."""
        unknown = SX.sym("x", start.numel())
        after = self._settled(equation(unknown))
        if not ca.depends_on(after, unknown):
            return after
        return self._repeated(unknown, self._settled(start), after, self._weights())

    def _repeated(self, unknown: SX, start: SX, after: SX, weights: SX) -> SX:
        assert self._repeat is None, "one equation per sweep"
        self._repeat = Repeat(unknown, start, after, weights)
        return unknown

    def _settled(self, value: SX) -> SX:
        return value

    def _weights(self) -> SX:
        """Of the squares of momenta: a compliance makes them energies."""
        return SX.ones(self.medium.size)


class Node(Place):
    """A node with its momentum, velocity, pose and the forces on it.

    The linear momentum of a roller is carried in space, along its axis, where nothing turns it; its
    mass is where it is, so that its rotation knows nothing of that.  `entered` and `shown` lead
    there and back, and its row of velocities has what its edges need, as that of all nodes.

    Parameters
    ----------
    features : set of str
        What is special about the node: "own" (inertia of its own), "held", "roller", "moved",
        "dead" and "follower" (loads), "gravity", "joint".
    """

    def __init__(self, layout: Layout, medium: Medium, features: frozenset[str]) -> None:
        super().__init__(layout, medium)
        self.features = features
        self._before = self.read("turn") if medium.rigid else SX(0)
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

    def turning(self, m: SX, old: SX | None = None) -> SX:
        """[h_μ(m), m]*; given `old`, with ½(h_μ(old) + h_μ(2m − old)): the same if it is linear."""
        if self.medium.rigid or old is None:
            return self.dual(self.velocity(m), m)
        return self.dual(0.5 * (self.velocity(old) + self.velocity(2 * m - old)), m)

    def spun(self, known: SX, factor: SX, old: SX | None = None) -> SX:
        """The solution m of m = known + factor·turning(m, old)."""
        c = self._own("compliance") if self.medium.rigid else SX(0)
        if c.numel() != 4 or self.features & {"held", "roller", "moved"}:
            return self.solve(known, lambda m: known + factor * self.turning(m, old))
        # The mass has no direction, so P × v = 0: Π turns by itself, and P with it.
        spin, rest = SX.sym("x", 3), [(1, 2), (2, 0), (0, 1)]
        after = [
            known[i] + (factor * (c[k] - c[j])) * (spin[j] * spin[k])
            for i, (j, k) in enumerate(rest)
        ]
        spin = self._repeated(spin, known[:3], ca.vertcat(*after), c[:3])
        w = (factor * c[:3]) * spin  # P + w × P = known
        push = _unturned(w, known[3:]) * (1 / (1 + ca.dot(w, w)))
        return ca.vertcat(spin, push)

    def velocity(self, m: SX) -> SX:
        """ζ = h_μ."""
        return self.medium.velocity(m, self._own("compliance"))

    def dual(self, x: SX, m: SX) -> SX:
        return super().dual(self._turning(x), self._turning(m))

    def stretched(self, b: SX, m: SX) -> SX:
        return super().stretched(self._turning(b), self._turning(m))

    def _turning(self, x: SX) -> SX:
        """Of a roller, what turns with it."""
        return ca.vertcat(x[:3], SX.zeros(3)) if "roller" in self.features else x

    def entered(self, x: SX) -> SX:
        """A momentum or force in the local frame, as it is carried."""
        if "roller" not in self.features:
            return x
        along = self.read("along")
        return ca.vertcat(x[:3], along * ca.dot(along, _forth(self._before, x[3:])))

    def _displaced(self, shift: SX, spin: SX) -> SX:
        """The v for which a step with ω = `spin` shifts the node by `shift` per time, in space."""
        half = 0.5 * self.h * spin
        local = _back(self._before, shift)
        return local - ca.cross(half, local) + half * ca.dot(half, local)

    def _guided(self, zeta: SX) -> SX:
        """The velocity of a moved node, which leads to where it is to be; that of a roller."""
        if "roller" in self.features:
            return ca.vertcat(zeta[:3], self._displaced(zeta[3:], zeta[:3]))
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
        return self.entered(total)

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
        weight = self.read("weight")
        kinetic = self.medium.kinetic(momentum, self._own("compliance"))
        acting = self._loads()
        if "gravity" in self.features:
            fall = ca.vertcat(SX.zeros(3), _back(self._before, self.read("gravity")))
            acting = acting + applied(fall, self._own("inertia")) * weight
        velocity = self.velocity(momentum)
        power = ca.dot(self.entered(acting), velocity)
        if "moved" in self.features:  # what moves it works against edges, loads and its inertia
            which = slice(3, 6) if "held" in self.features else slice(0, 6)
            after = self._guided(velocity)
            mean, against = 0.5 * (after + self._old), acting - self.force * weight
            power = power + ca.dot(against[which], mean[which])
            own = ca.vertcat(SX.zeros(which.start), mean[which])
            carried = applied(own, self._own("inertia"))
            kinetic = kinetic + 0.5 * ca.dot(carried, own)
            power = power + weight * ca.dot(carried[which], (after - self._old)[which]) / self.h
        self._sums += [kinetic * weight, power]

    def weigh(self, seen: SX) -> None:
        """Count the same with a momentum as it is shown."""
        self.now(self._settled(self.entered(seen)))

    def _mean_velocity(self, momentum: SX) -> SX:
        """The velocity of a moved node at the time of the strains."""
        return 0.5 * (self._guided(self.velocity(momentum)) + self._old)

    def shown(self, momentum: SX) -> SX:
        """The momentum that is shown, in the local frame: of a moved node that of its motion."""
        if "roller" in self.features:
            return ca.vertcat(momentum[:3], _back(self._before, momentum[3:]))
        if "moved" not in self.features:
            return self._settled(momentum)
        mean = self._mean_velocity(momentum)
        if "held" in self.features:
            mean = ca.vertcat(self.velocity(momentum)[:3], mean[3:])
        return applied(mean, self._own("inertia"))

    def move(self, zeta: SX) -> None:
        """Go on to g' = g cay(h ζ)."""
        if not self.medium.rigid:
            return
        half, v = (0.5 * self.h) * zeta[:3], self.h * zeta[3:]
        turn, place = self._before, self.read("place")
        per = 1 / (1 + ca.dot(half, half))
        shift = (v + ca.cross(half, v)) * per
        self.write("place", place + _forth(turn, shift))
        # |q (1, half)| = |q|/√per, and |q| is 1 but for rounding, which is taken back here.
        scale = ca.sqrt(per) * (1.5 - 0.5 * ca.dot(turn, turn))
        self.write("turn", _product(turn, ca.vertcat(1, half)) * scale)

    def _weights(self) -> SX:
        if not self.medium.rigid:
            return super()._weights()
        given, n = self._own("compliance"), self.medium.size
        if given.numel() == 4:
            return ca.vertcat(given[:3], given[3], given[3], given[3])
        return given if given.numel() == n else given[:: n + 1]

    def either(self, *, free: SX, held: SX) -> SX:
        """One of two expressions that are equal where nothing holds the node."""
        return held if self.features & {"held", "moved"} else free

    def _settled(self, value: SX) -> SX:
        """The momentum that belongs to a velocity which the node's hold allows."""
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


def _unturned(w: SX, b: SX) -> SX:
    """(1 + w²) x with x + w × x = b."""
    return b + ca.dot(w, b) * w - ca.cross(w, b)


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
