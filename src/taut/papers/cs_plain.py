"""CS's Algorithm 1 in plain NumPy, node by node, and the Hamel field integrator beside it.

This is the scheme as the paper prints it, not as taut solves it: μⁿ is taken as it is at the
start, both end nodes weigh as much as the others, γ = 0 beyond both ends (56).  Newton's method
solves (53) at every node, a linear system (54) at every edge.  The Hamel field variational
integrator has the trapezoidal bracket in time in place of the midpoint bracket, and is otherwise
the same program, so that the two can be compared as the paper compares them.

Six-vectors are (angular, linear), in the local frame, whose second axis is the tangent:
e₂ = (0, E₂).  Brackets are matrices, [ξ, η] = ad(ξ) η and [ξ, α]* = ad(ξ)ᵀ α.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import pi

import numpy as np

from taut.errors import StepError, UnknownName

E2 = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.0])
ONE3, ONE4, ONE6 = np.eye(3), np.eye(4), np.eye(6)
# Newton converges quadratically: after a change this small the next is below round-off.
TOLERANCE, NEWTON_LIMIT = 1e-9, 20


@dataclass(frozen=True)
class Beam:
    """A straight beam of square section; as it stands, the paper's Table 1.

    The paper refers to another one for D₁ and D₂. Here D₁ = ρ diag(I, 2I, I, A, A, A) and
    D₂ = diag(EI, 2GI, EI, GA, EA, GA): torsion with the polar moment, no shear factor.

    Attributes
    ----------
    length, side : float
    density, young, poisson : float
    nodes : int
        J + 1.
    """

    length: float = 2 * pi / 3
    side: float = 0.1
    density: float = 1000.0
    young: float = 1e7
    poisson: float = 0.35
    nodes: int = 101

    @property
    def spacing(self) -> float:
        """Δs = l/J."""
        return self.length / (self.nodes - 1)

    @cached_property
    def inertia(self) -> np.ndarray:
        """Diagonal of D₁, shape (6,)."""
        area, moment = self.side**2, self.side**4 / 12
        return self.density * np.array([moment, 2 * moment, moment, area, area, area])

    @cached_property
    def stiffness(self) -> np.ndarray:
        """Diagonal of D₂, shape (6,)."""
        area, moment = self.side**2, self.side**4 / 12
        e, g = self.young, self.young / (2 * (1 + self.poisson))
        return np.array([e * moment, 2 * g * moment, e * moment, g * area, e * area, g * area])


@dataclass(frozen=True)
class Start:
    """A beam, and its state at the start.

    Attributes
    ----------
    beam : Beam
    mu : ndarray, shape (J + 1, 6)
        Momenta at the nodes, per length.
    gamma : ndarray, shape (J, 6)
        Strains at the edges.
    frames, positions : ndarray, shapes (J + 1, 3, 3) and (J + 1, 3)
    """

    beam: Beam
    mu: np.ndarray
    gamma: np.ndarray
    frames: np.ndarray
    positions: np.ndarray


@dataclass(frozen=True)
class Run:
    """Stored states, the start first; shapes as in `Start` behind one axis for time.

    Attributes
    ----------
    beam : Beam
    t, mu, gamma, frames, positions : ndarray
    """

    beam: Beam
    t: np.ndarray
    mu: np.ndarray
    gamma: np.ndarray
    frames: np.ndarray
    positions: np.ndarray


# ---- the algebra ------------------------------------------------------------------------------


def hat(w: np.ndarray) -> np.ndarray:
    """The matrix of w ×."""
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def ad(xi: np.ndarray) -> np.ndarray:
    """[(κ, ε), (ω, v)] = (κ × ω, κ × v + ε × ω) as a matrix that acts on (ω, v)."""
    matrix = np.zeros((6, 6))
    matrix[:3, :3] = matrix[3:, 3:] = hat(xi[:3])
    matrix[3:, :3] = hat(xi[3:])
    return matrix


def turned(mu: np.ndarray) -> np.ndarray:
    """ad(ξ)ᵀ μ as a matrix that acts on ξ."""
    matrix = np.zeros((6, 6))
    matrix[:3, :3] = hat(mu[:3])
    matrix[:3, 3:] = matrix[3:, :3] = hat(mu[3:])
    return matrix


def adjoint_cayley(twist: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The motion (R, x) whose 6 × 6 adjoint matrix is (1 − ad/2)⁻¹ (1 + ad/2).

    R = 1 + (k̂ + k̂²/2)/(1 + |k|²/4) and x = (v + k × v/2)/(1 + |k|²/4) for the twist (k, v). This is
    the Cayley map that goes with the brackets of (53) and (54).
    """
    k, v = hat(twist[:3]), twist[3:]
    scale = 1 / (1 + twist[:3] @ twist[:3] / 4)
    return ONE3 + scale * (k + k @ k / 2), scale * (v + k @ v / 2)


def matrix_cayley(twist: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The motion (R, x) that (55) prints: (1 − ξ/2)⁻¹ (1 + ξ/2) in 4 × 4 matrices.

    R is that of `adjoint_cayley`; x has a further k (k·v)/4/(1 + |k|²/4).
    """
    half = np.zeros((4, 4))
    half[:3, :3], half[:3, 3] = hat(twist[:3]) / 2, twist[3:] / 2
    motion = np.linalg.solve(ONE4 - half, ONE4 + half)
    return motion[:3, :3], motion[:3, 3]


CAYLEY = {"adjoint": adjoint_cayley, "printed": matrix_cayley}
VELOCITIES = ("new", "printed")


def placed(gamma: np.ndarray, spacing: float) -> tuple[np.ndarray, np.ndarray]:
    """Frames and positions of nodes with these strains between them; node 0 at the origin."""
    frames, positions = np.zeros((len(gamma) + 1, 3, 3)), np.zeros((len(gamma) + 1, 3))
    frames[0] = ONE3
    for j, strain in enumerate(gamma):
        turn, shift = adjoint_cayley(spacing * (strain + E2))
        frames[j + 1] = frames[j] @ turn
        positions[j + 1] = positions[j] + frames[j] @ shift
    return frames, positions


def example(beam: Beam | None = None) -> Start:
    """The paper's numerical example: a third of a circle that is thrown.

    μ_j⁰ = (0, 0, 0, a²ρ sin(jπ/J), a²ρ, 0) and γ⁰ = (−1, 0, 0, 0, 0, 0). The paper lets the axis
    lie on E₂ at first, which these strains contradict: here node 0 is at the origin with the
    reference frame, its tangent along E₂, and the other nodes follow from the strains.

    Parameters
    ----------
    beam : Beam, optional
        The paper's unless given.
    """
    beam = beam or Beam()
    mu = np.zeros((beam.nodes, 6))
    mu[:, 3] = beam.inertia[3] * np.sin(np.linspace(0, pi, beam.nodes))
    mu[:, 4] = beam.inertia[4]
    gamma = np.tile([-1.0, 0, 0, 0, 0, 0], (beam.nodes - 1, 1))
    return Start(beam, mu, gamma, *placed(gamma, beam.spacing))


# ---- the two integrators ----------------------------------------------------------------------


def forces(beam: Beam, gamma: np.ndarray) -> np.ndarray:
    """What the strains do to the nodes in (53), with γ = 0 beyond both ends; shape (J + 1, 6).

    (D₂γ_{j+½} − D₂γ_{j−½})/Δs − ½([γ_{j+½} + e₂, D₂γ_{j+½}]* + [γ_{j−½} + e₂, D₂γ_{j−½}]*)
    """
    force = np.zeros((len(gamma) + 1, 6))
    for j, strain in enumerate(gamma):
        stress = beam.stiffness * strain
        pull = stress / beam.spacing
        bracket = ad(strain + E2).T @ stress / 2
        force[j] += pull - bracket
        force[j + 1] -= pull + bracket
    return force


def poisson_node(
    mu: np.ndarray, force: np.ndarray, inertia: np.ndarray, step: float, tolerance: float
) -> np.ndarray:
    """The new momentum of one node by Newton's method on (53).

    μ₁ − μ = Δt (force + [ζ̄, μ̄]*), ζ̄ = D₁⁻¹ μ̄, μ̄ = (μ + μ₁)/2
    """
    new = mu.copy()
    for _ in range(NEWTON_LIMIT):
        middle = (mu + new) / 2
        bracket = ad(middle / inertia).T
        residual = new - mu - step * (force + bracket @ middle)
        jacobian = ONE6 - step / 2 * (bracket + turned(middle) / inertia)
        change = np.linalg.solve(jacobian, residual)
        new -= change
        if _small(change, new, inertia, tolerance):
            return new
    raise ArithmeticError


def hamel_node(
    mu: np.ndarray, force: np.ndarray, inertia: np.ndarray, step: float, tolerance: float
) -> np.ndarray:
    """The new momentum of one node in the Hamel field integrator, by Newton's method.

    μ₁ − μ = Δt (force + ½[ζ, μ]* + ½[ζ₁, μ₁]*), ζ = D₁⁻¹ μ
    """
    known = mu + step * (force + ad(mu / inertia).T @ mu / 2)
    new = mu.copy()
    for _ in range(NEWTON_LIMIT):
        bracket = ad(new / inertia).T
        residual = new - known - step / 2 * (bracket @ new)
        jacobian = ONE6 - step / 2 * (bracket + turned(new) / inertia)
        change = np.linalg.solve(jacobian, residual)
        new -= change
        if _small(change, new, inertia, tolerance):
            return new
    raise ArithmeticError


def _small(change: np.ndarray, mu: np.ndarray, inertia: np.ndarray, tolerance: float) -> bool:
    """Whether the velocities changed by less than the tolerance, against 1 + |ζ|."""
    return abs(change / inertia).max() <= tolerance * (1 + abs(mu / inertia).max())


def edge(
    strain: np.ndarray, left: np.ndarray, right: np.ndarray, spacing: float, step: float
) -> np.ndarray:
    """The new strain of one edge between nodes of velocities `left` and `right`: (54), linear.

    γ₁ − γ = Δt ((ζ_r − ζ_l)/Δs + [χ̄, ζ̄]), ζ̄ = (ζ_l + ζ_r)/2, χ̄ = (γ + γ₁)/2 + e₂
    """
    half = step / 2 * ad((left + right) / 2)  # Δt/2 [χ, ζ̄] = −half χ
    known = strain - half @ (strain + 2 * E2) + step / spacing * (right - left)
    return np.linalg.solve(ONE6 + half, known)


def poisson(
    start: Start,
    step: float,
    steps: int,
    *,
    every: int = 1,
    velocity: str = "new",
    cayley: str = "adjoint",
    tolerance: float = TOLERANCE,
) -> Run:
    """CS's Algorithm 1: (53), (54), (55).

    Parameters
    ----------
    start : Start
        Its μ is μ⁰ of (53), as printed; in truth this is the momentum half a step earlier.
    step : float
    steps : int
    every : int
        Of how many steps one is stored; the last one is only if it is among them.
    velocity : {'new', 'printed'}
        Whether configurations move with ζⁿ⁺¹, which (54) uses, or with D₁⁻¹μⁿ, as (55) prints.
    cayley : {'adjoint', 'printed'}
        Whether they move by the Cayley map of 6 × 6 or, as (55) prints, of 4 × 4 matrices.
    tolerance : float
        Newton stops after a change of the velocities that is smaller, against 1 + |ζ|.
    """
    return _march(poisson_node, start, step, steps, every, velocity, cayley, tolerance)


def hamel(
    start: Start,
    step: float,
    steps: int,
    *,
    every: int = 1,
    velocity: str = "new",
    cayley: str = "adjoint",
    tolerance: float = TOLERANCE,
) -> Run:
    """The Hamel field variational integrator, from the same start and with the same ends.

    Wang, An & Shi, Acta Sci. Nat. Univ. Pekin. 52(4), 2016. Parameters as for `poisson`.
    """
    return _march(hamel_node, start, step, steps, every, velocity, cayley, tolerance)


def _march(
    node: Callable[..., np.ndarray],
    start: Start,
    step: float,
    steps: int,
    every: int,
    velocity: str,
    cayley: str,
    tolerance: float,
) -> Run:
    if cayley not in CAYLEY:
        raise UnknownName("Cayley map", cayley, CAYLEY)
    if velocity not in VELOCITIES:
        raise UnknownName("velocity", velocity, VELOCITIES)
    beam, inertia, motion = start.beam, start.beam.inertia, CAYLEY[cayley]
    mu, gamma = start.mu.copy(), start.gamma.copy()
    frames, positions = start.frames.copy(), start.positions.copy()
    stored = [(0.0, mu.copy(), gamma.copy(), frames.copy(), positions.copy())]
    for n in range(steps):
        old = mu / inertia
        force = forces(beam, gamma)
        for j in range(beam.nodes):
            try:
                mu[j] = node(mu[j], force[j], inertia, step, tolerance)
            except ArithmeticError as error:
                raise StepError(
                    f"Newton's method does not converge at node {j}",
                    t=n * step,
                    index=n,
                    remedy="take a smaller step",
                ) from error
        zeta = mu / inertia
        for j in range(beam.nodes - 1):
            gamma[j] = edge(gamma[j], zeta[j], zeta[j + 1], beam.spacing, step)
        moving = zeta if velocity == "new" else old
        for j in range(beam.nodes):
            turn, shift = motion(step * moving[j])
            positions[j] += frames[j] @ shift
            frames[j] = frames[j] @ turn
        if (n + 1) % every == 0:
            now = (n + 1) * step
            stored.append((now, mu.copy(), gamma.copy(), frames.copy(), positions.copy()))
    return Run(beam, *map(np.array, zip(*stored, strict=True)))


# ---- what is measured -------------------------------------------------------------------------


def energy(beam: Beam, mu: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """Kinetic and potential energy, on a last axis of two: (49) times Δs."""
    kinetic = (mu**2 / beam.inertia).sum(axis=(-2, -1)) / 2
    potential = (beam.stiffness * gamma**2).sum(axis=(-2, -1)) / 2
    return beam.spacing * np.stack([kinetic, potential], axis=-1)


def momentum(beam: Beam, mu: np.ndarray, frames: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Spatial angular momentum about the origin and linear momentum, on a last axis of six."""
    turn, push = ((frames @ mu[..., part, None])[..., 0] for part in (slice(3), slice(3, 6)))
    both = np.concatenate([turn + np.cross(positions, push), push], axis=-1)
    return beam.spacing * both.sum(axis=-2)


def read_strains(beam: Beam, frames: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """γ between neighbours from their configurations, by the inverse of `adjoint_cayley`."""
    back = frames[..., :-1, :, :].swapaxes(-1, -2)
    turn = back @ frames[..., 1:, :, :]
    shift = (back @ np.diff(positions, axis=-2)[..., None])[..., 0]
    skew = turn - turn.swapaxes(-1, -2)
    trace = np.trace(turn, axis1=-2, axis2=-1)[..., None]
    k = 2 * np.stack([skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]], axis=-1) / (1 + trace)
    # (1 + k̂/2) v = (1 + |k|²/4) x is solved by v = x − k × x/2 + k (k·x)/4.
    v = shift - np.cross(k, shift) / 2 + k * (k * shift).sum(axis=-1, keepdims=True) / 4
    return np.concatenate([k, v], axis=-1) / beam.spacing - E2
