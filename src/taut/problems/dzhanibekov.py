"""A free rigid body that spins about its middle axis and turns over (Dzhanibekov's effect).

Moments of inertia I₁ < I₂ < I₃ about the principal axes; the body flies on, with the angular
velocity (0, Ω, ε) in its own axes at the start, which are then the axes of space.  Energy and
angular momentum are kept: 2 E = I₂ Ω² + I₃ ε², L² = I₂² Ω² + I₃² ε² > 2 E I₂.  Euler's equations
are solved by

    ω₁ = −a₁ cn u,   ω₂ = −a₂ sn u,   ω₃ = a₃ dn u,      u = r t − K(m),

    a₁² = (2 E I₃ − L²)/(I₁ (I₃ − I₁)),   a₂ = Ω,   a₃² = (L² − 2 E I₁)/(I₃ (I₃ − I₁)),
    r² = (I₃ − I₂)(L² − 2 E I₁)/(I₁ I₂ I₃),
    1 − m = I₃ ε² (I₃ − I₁)/(I₂ Ω² (I₂ − I₁) + I₃ ε² (I₃ − I₁)).

For small ε it spins steadily about its middle axis, and every 2 K(m)/r turns over: ω₂ = ±Ω.

The rotation follows from n = (I₁ω₁, I₂ω₂, I₃ω₃)/L, the direction of L in the body's axes.  The
angle φ by which the body has turned about L, seen at its third axis, grows by

    φ̇ = L (n₁²/I₁ + n₂²/I₂)/(n₁² + n₂²) = L (c₀ + c₁/(1 − ν sn² u)),

    A = (I₁ a₁/L)²,  B = (I₂ a₂/L)²,  ν = 1 − B/A,  c₀ = (B/I₂ − A/I₁)/(B − A),  c₁ = 1/I₁ − c₀,

an elliptic integral of the third kind.  The body is a box of mass 1 as large as its inertia says.

Source: Landau & Lifshitz 1976, § 37; Poinsot 1834; seen by V. A. Dzhanibekov in orbit in 1985.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ellipj, ellipkm1

from taut.model.mechanism import Mechanism
from taut.problems.base import Fact, Problem
from taut.problems.elliptic import third_kind
from taut.problems.frames import about, crossed, stacked

INERTIA = (0.25, 0.5, 0.625)
SPIN, TILT = 5.0, 0.1  # Ω and ε
VELOCITY = (0.02, 0.0, 0.0)
ENERGY = (INERTIA[1] * SPIN**2 + INERTIA[2] * TILT**2) / 2
MOMENTUM = (0.0, INERTIA[1] * SPIN, INERTIA[2] * TILT)
SOURCE = "Landau & Lifshitz 1976, § 37"


class Turning:
    """The constants of the closed form."""

    def __init__(self) -> None:
        i1, i2, i3 = INERTIA
        slow, fast = i3 * TILT**2 * (i3 - i1), i2 * SPIN**2 * (i2 - i1)  # L² − 2 E I₁ in all
        self.size = float(np.linalg.norm(MOMENTUM))
        self.missing = slow / (slow + fast)
        self.m = fast / (slow + fast)
        self.rate = ((i3 - i2) * (slow + fast) / (i1 * i2 * i3)) ** 0.5
        self.quarter = float(ellipkm1(self.missing))
        self.a1 = SPIN * (i2 * (i3 - i2) / (i1 * (i3 - i1))) ** 0.5
        self.a3 = ((slow + fast) / (i3 * (i3 - i1))) ** 0.5
        self.first = self.body_rates(0.0)[1]  # −π/2
        a, b = (i1 * self.a1 / self.size) ** 2, (i2 * SPIN / self.size) ** 2
        self.nu = 1 - b / a
        self.steady = (b / i2 - a / i1) / (b - a)
        self.other = 1 / i1 - self.steady

    @property
    def flip(self) -> float:
        """Time from one turning over to the next."""
        return 2 * self.quarter / self.rate

    def body_rates(self, t: Any) -> tuple[np.ndarray, np.ndarray]:
        """ω in the body's axes, and am u."""
        u = self.rate * np.asarray(t, dtype=float) - self.quarter
        sn, cn, _, amplitude = ellipj(u, self.m)
        dn = np.sqrt(self.missing + self.m * cn**2)
        return np.stack([-self.a1 * cn, -SPIN * sn, self.a3 * dn], axis=-1), amplitude

    def angle(self, t: Any, amplitude: np.ndarray) -> np.ndarray:
        """Of φ, by how much it has grown."""
        grown = third_kind(self.nu, amplitude, self.m) - third_kind(self.nu, self.first, self.m)
        return self.size * (self.steady * np.asarray(t) + self.other * grown / self.rate)


TURNING = Turning()


def dzhanibekov() -> Problem:
    """A box that turns over."""
    m = Mechanism()
    m.body(
        "box", mass=1.0, inertia=INERTIA, at=(0, 0, 0), velocity=VELOCITY,
        angular_velocity=(0.0, SPIN, TILT),
    )  # fmt: skip
    flip = TURNING.flip
    spins = [(f"ω after {k} turns over", k * flip, (-1) ** k * SPIN) for k in (1, 2)]
    return Problem.of(
        m,
        name="dzhanibekov",
        title="Free body that turns over",
        step=0.005,
        duration=40.0,
        source=SOURCE,
        exact=exact,
        facts=(
            Fact("the energy", SOURCE, energy=ENERGY + sum(x**2 for x in VELOCITY) / 2),
            Fact(
                "angular momentum at the start", SOURCE, t=0.0,
                parts={"box": {"angular_momentum": MOMENTUM}},
            ),
            *(
                Fact(what, SOURCE, t=t, parts={"box": {"body_angular_velocity": (0, spin, TILT)}})
                for what, t, spin in spins
            ),
        ),
    )  # fmt: skip


def exact(t: Any) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) at t."""
    t = np.asarray(t, dtype=float)
    omega, amplitude = TURNING.body_rates(t)
    begin = _facing(TURNING.body_rates(0.0)[0])
    angle = TURNING.angle(t, amplitude)
    # the body's frame seen from L now, turned about L by φ, seen from L at the start
    rotation = np.swapaxes(begin, -1, -2) @ about(2, angle) @ _facing(omega)
    spinning = rotation @ crossed(omega)
    centre = t[..., None] * np.array(VELOCITY)
    return stacked(centre, rotation), stacked(np.array(VELOCITY), spinning)


def _facing(omega: np.ndarray) -> np.ndarray:
    """Rows: two directions across L, the first across d₃ too, and that of L, in body axes."""
    n = omega * np.array(INERTIA) / TURNING.size
    across = np.stack([-n[..., 1], n[..., 0], np.zeros_like(n[..., 0])], axis=-1)  # d₃ × n
    across = across / np.linalg.norm(across, axis=-1, keepdims=True)
    return np.stack([across, np.cross(n, across), n], axis=-2)
