"""Chains of point masses on unit rods in minimal coordinates, for the solvers taut is held against.

θᵢ is the angle of rod i from the lower vertical. Two roads lead to the accelerations θ̈:

* the textbook's mass matrix, Σⱼ mᵢⱼ (cos(θᵢ − θⱼ) θ̈ⱼ + sin(θᵢ − θⱼ) θ̇ⱼ²) = −g mᵢᵢ sin θᵢ, where
  mᵢⱼ is the mass that hangs on both rods: N³/3 operations;
* the tensions Tᵢ of the rods, which know their neighbours only: with δᵢ = θᵢ₊₁ − θᵢ they follow
  from (1/mᵢ₋₁ + 1/mᵢ) Tᵢ − cos δᵢ Tᵢ₊₁/mᵢ − cos δᵢ₋₁ Tᵢ₋₁/mᵢ₋₁ = θ̇ᵢ²  (for i = 1 without m₀ and
  with g cos θ₁ on the right), and θ̈ᵢ = sin δᵢ Tᵢ₊₁/mᵢ − sin δᵢ₋₁ Tᵢ₋₁/mᵢ₋₁  (θ̈₁ with
  −g sin θ₁): some ten operations per rod. It is the fastest form for heyoka and for compiled code.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numba
import numpy as np


@dataclass(frozen=True)
class Chain:
    """Point masses on unit rods, released at rest."""

    name: str
    masses: tuple[float, ...]
    gravity: float
    angles: tuple[float, ...]
    problem: str  # the same in taut, Cartesian
    up: bool = True  # whether taut's y points up

    @property
    def links(self):
        return len(self.masses)

    @property
    def start(self):
        return np.array([*self.angles, *[0.0] * self.links])

    def places(self, state):
        """Cartesian positions (…, 2N), as taut has them, of states (…, 2N) = (θ, θ̇)."""
        theta = state[..., : self.links]
        x, y = np.cumsum(np.sin(theta), axis=-1), np.cumsum(np.cos(theta), axis=-1)
        return np.stack([x, -y if self.up else y], axis=-1).reshape(state.shape)

    def energy(self, state):
        """H of states (…, 2N)."""
        theta, rate = state[..., : self.links], state[..., self.links :]
        sin, cos = np.sin(theta), np.cos(theta)
        x, y = np.cumsum(cos * rate, axis=-1), np.cumsum(sin * rate, axis=-1)
        return (0.5 * (x * x + y * y) - self.gravity * np.cumsum(cos, axis=-1)) @ self.masses

    def taut_problem(self):
        """The same motion as one of taut's problems."""
        from taut import problems

        name, _, links = self.problem.partition(" ")
        return problems.problem(name, **({"links": int(links)} if links else {}))


DOUBLE = Chain("double", (1.0, 2.0), 10.0, (np.pi / 4, -np.pi / 4), "zg-double", up=False)


def chain(links, name=None):
    """CQ's pendulum with this many links."""
    angles = (np.pi / 6, -np.pi / 6, *[0.0] * (links - 2))
    return Chain(name or f"{links} links", (1.0,) * links, 1.0, angles, f"chain {links}")


TRIPLE = chain(3, "triple")


# ---- right-hand sides for SciPy ------------------------------------------------------------------


def by_mass_matrix(chain):
    """f(t, state) with NumPy."""
    n, g = chain.links, chain.gravity
    hanging = np.cumsum(chain.masses[::-1])[::-1]
    shared = np.minimum.outer(hanging, hanging)

    def rates(_t, state):
        theta, rate = state[:n], state[n:]
        between = theta[:, None] - theta
        load = (shared * np.sin(between)) @ rate**2 + g * hanging * np.sin(theta)
        return np.concatenate([rate, np.linalg.solve(shared * np.cos(between), -load)])

    return rates


def by_tensions(chain):
    """f(t, state), compiled by Numba."""
    n, g, inverse = chain.links, chain.gravity, 1 / np.array(chain.masses)

    @numba.njit("float64[::1](float64, float64[:])")
    def rates(_t, state):
        found, work = np.empty(2 * n), np.empty((4, n))
        cos, sin, diagonal, tension = work[0], work[1], work[2], work[3]
        for i in range(n - 1):
            bend = state[i + 1] - state[i]
            cos[i], sin[i] = inverse[i] * np.cos(bend), inverse[i] * np.sin(bend)
        for i in range(n):
            diagonal[i] = inverse[i] + (inverse[i - 1] if i else 0.0)
            tension[i] = state[n + i] ** 2
        tension[0] += g * np.cos(state[0])
        for i in range(n - 2, -1, -1):
            factor = cos[i] / diagonal[i + 1]
            diagonal[i] -= factor * cos[i]
            tension[i] += factor * tension[i + 1]
        tension[0] /= diagonal[0]
        for i in range(1, n):
            tension[i] = (tension[i] + cos[i - 1] * tension[i - 1]) / diagonal[i]
        for i in range(n):
            turn = -tension[i - 1] * sin[i - 1] if i else -g * np.sin(state[0])
            if i < n - 1:
                turn += tension[i + 1] * sin[i]
            found[i], found[n + i] = state[n + i], turn
        return found

    return rates


# ---- expressions for heyoka ----------------------------------------------------------------------


def heyoka_lagrangian(chain):
    """The equations that heyoka derives from the Lagrangian."""
    import heyoka as hy

    theta, rate = _variables(hy, chain.links)
    hanging = np.cumsum(chain.masses[::-1])[::-1].tolist()
    energy = hy.expression(0.0)
    for i, mass in enumerate(hanging):
        energy += 0.5 * mass * rate[i] ** 2 + chain.gravity * mass * hy.cos(theta[i])
        for j in range(i):
            energy += mass * rate[i] * rate[j] * hy.cos(theta[i] - theta[j])
    return hy.lagrangian(energy, theta, rate)


def heyoka_tensions(chain):
    """The tensions eliminated from the last rod to the first, as expressions."""
    import heyoka as hy

    n, g, inverse = chain.links, chain.gravity, [1 / m for m in chain.masses]
    theta, rate = _variables(hy, n)
    bend = [b - a for a, b in pairwise(theta)]
    cos, sin = ([f(x) * w for x, w in zip(bend, inverse, strict=False)] for f in (hy.cos, hy.sin))
    diagonal = [hy.expression(inverse[i] + (inverse[i - 1] if i else 0.0)) for i in range(n)]
    tension = [w**2 for w in rate]
    tension[0] += g * hy.cos(theta[0])
    for i in reversed(range(n - 1)):
        factor = cos[i] / diagonal[i + 1]
        diagonal[i] -= factor * cos[i]
        tension[i] += factor * tension[i + 1]
    tension[0] /= diagonal[0]
    for i in range(1, n):
        tension[i] = (tension[i] + cos[i - 1] * tension[i - 1]) / diagonal[i]
    turn = [-g * hy.sin(theta[0]), *(-tension[i] * sin[i] for i in range(n - 1))]
    turn = [a + tension[i + 1] * sin[i] for i, a in enumerate(turn[:-1])] + turn[-1:]
    return [*zip(theta, rate, strict=True), *zip(rate, turn, strict=True)]


def _variables(hy, n):
    return ([hy.expression(f"{name}{i}") for i in range(n)] for name in ("theta", "rate"))
