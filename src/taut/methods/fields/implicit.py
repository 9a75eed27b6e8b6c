"""An energy–momentum scheme for beams: energy and the momenta in space kept for every step size.

With half vectors b = hζ/2 of nodes, U = cay(hζ), g' = g U, and a = Δs χ/2 of edges, f = cay(Δs χ) =
g_i⁻¹g_j, and with the inertia I of a node, its weight included, a step is

    m' − m = h [ζ, m̄]* + h (F + loads),      m̄ = ½(m + m') = I ζ,
    n̄ = C(½(χ + χ') − χ₀) + damping·C(χ' − χ)/h,
    F_j = −½(1 − b_j×) y,     F_i = ½(1 − b_i×) f y,
    y = (1 + a·a)/(2c)·[(1 + e×)(n̄ + f⁻¹n̄) + (1 − e×)(U_j n̄ + f⁻¹U_i n̄)],

β = f⁻¹b_i, e = ½(β + b_j), c = 1 + β·b_j − a·q and q = b_j − β − β × b_j.  Here vectors are dual
(see `dual`), × is the bracket, and f and U act as rotations do.  The forces are such that, for any
step,

    n̄·(a' − a) = −(F_i·b_i + F_j·b_j),        a' = a + (1 + a× + a aᵀ)q/c               (energy)
    (1 + b_i×)⁻¹F_i + f'(1 + b_j×)⁻¹F_j = 0                                   (momenta in space)

hold exactly, and they are the same going back in time, or along the beam from its other end.  So,
for energies that are quadratic, the energy changes by the work h ζ·(loads) and the loss Δs
(damping/h)(χ' − χ)·C(χ' − χ), and momenta in space by the impulse of the loads: to round-off, and
whatever the step size.  The order is 2.

A moment τ that is fixed in space acts with (1 − k×/2)Rᵀτ, k = hω, so that its angular impulse is
hτ; a force p with (1 − k×/2)Rᵀp and the moment −k(p·Δx)/4, so that its impulse is hp and its work
p·Δx.  The energy of beams under their own weight is kept with the same accuracy.

Sources: the form of the forces, with the adjoint Cayley map for both velocities and strains, is
taut's own; its aims and the choice of n̄ are those of Simo, Tarnow & Doblaré 1995 and Gonzalez
1996.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taut.calls import public
from taut.methods.fields import dual
from taut.methods.fields.base import Place, Scheme, Vector
from taut.methods.fields.dual import load, motion
from taut.methods.fields.turning import Turning


@public
@dataclass(frozen=True)
class EnergyMomentumBeam(Scheme):
    """The energy–momentum scheme; all nodes are solved for together."""

    name: ClassVar[str] = "implicit"
    references: ClassVar[tuple[str, ...]] = ("simo1995", "gonzalez1996")
    posed: ClassVar[bool] = True
    implicit: ClassVar[bool] = True

    def begin(self, at: Place) -> Vector:
        return at.mu

    def shown(self, at: Place) -> Vector:
        return at.mu

    # ---- edges -------------------------------------------------------------------------------

    def _turning(self, at: Place) -> tuple[Turning, dual.Vector, Vector]:
        """The motion of an edge, n̄ and χ' − χ; forces are left."""
        half, (first, second) = 0.5 * at.h, at.zeta
        a = motion(at.chi * (0.5 / at.per_length))
        step = Turning(a, (motion(half * first), motion(half * second)))
        change = (2 * at.per_length) * at.of_motion(step.change)
        n = load(at.stress(change))
        left, right = step.forces(n)
        at.write("left", at.of_load(left))
        at.write("right", at.of_load(right))
        at.must_be_positive(step.c.x)
        return step, n, change

    def pull(self, at: Place) -> None:
        """Leave the forces on both ends."""
        self._turning(at)

    def pull_slopes(self, at: Place) -> None:
        """Leave the forces, and the slopes of −½h F by ζ."""
        step, n, _ = self._turning(at)
        stiff = at.from_load_to_load(step.by_stress()) @ (2 * at.per_length * at.stiffness)
        slopes = [
            at.from_motion_to_load(bent) + stiff @ at.from_motion_to_motion(strain)
            for bent, strain in zip(step.by_ends(n), step.strains, strict=True)
        ]
        scale = -0.25 * at.h * at.h
        found = [
            [scale * (at.from_load_to_load(on) @ slope) for slope in slopes]
            for on in step.on_ends()
        ]
        for end, turning in enumerate(step.turning(n)):
            found[end][end] += scale * at.from_motion_to_load(turning)
        at.write_slopes(found)

    def edge(self, at: Place) -> None:
        """Forces, and the strain after the step."""
        _, _, change = self._turning(at)
        at.stretch(change)

    # ---- nodes -------------------------------------------------------------------------------

    def _loads(self, at: Place) -> Vector:
        """The loads that are given, and the weight."""
        k, v = at.h * at.zeta[:3], at.h * at.zeta[3:]
        half = 0.5 * k

        def mean(x: Vector) -> Vector:
            return x - at.cross(half, x)

        def balance(force: Vector, way: Vector) -> Vector:
            """−k(f·Δx)/4."""
            shift = (way + at.cross(half, way)) / (1 + at.dot(half, half))
            return (-0.25 * at.dot(force, shift)) * k

        moment, force = at.dead
        given = at.follower + at.wrench(mean(moment) + balance(force, v), mean(force))
        heavy = at.inertia(at.wrench(at.none, mean(at.gravity)))
        lift = balance(at.gravity, at.h * at.inertia(at.zeta)[3:])
        weight = at.weight * (heavy + at.wrench(lift, at.none))
        at.work(given, weight)
        return given + weight

    def balance(self, at: Place) -> None:
        """Leave I ζ − m − ½h([ζ, I ζ]* + F + loads), which is to vanish."""
        zeta = at.zeta
        m = at.inertia(zeta)
        own = m - at.mu - (0.5 * at.h) * at.dual(zeta, m)
        at.write("gap", at.weight * own - (0.5 * at.h) * (at.edges + self._loads(at)))

    def node(self, at: Place) -> None:
        """Momentum and pose after the step: (1 + b×)m̄ = m + ½h(F + loads), m' = 2m̄ − m.

        With m̄ from this equation, not from ζ, momenta in space do not depend on how exactly ζ is
        known.
        """
        kicked = at.mu + (0.5 * at.h * at.share) * (at.edges + self._loads(at))
        b, right = motion((0.5 * at.h) * at.zeta), load(kicked)
        mean = right - dual.cross(b, right) + dual.dot(b, right) * b
        mean = (1 + dual.dot(b, b)).inverse() * mean
        at.mu = 2 * at.of_load(mean) - at.mu
        at.move(at.zeta)
        at.now(at.mu)
