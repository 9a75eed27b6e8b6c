"""The motion every row of the table simulates: the planar double pendulum of Zhong & Gao (2006).

Masses 1 and 2, rods of length 1, gravity 10, y down, released at rest from
(1/√2, 1/√2) and (0, √2). Cartesian states are (x1, y1, x2, y2); angles are measured from the
downward vertical.
"""

from __future__ import annotations

import numpy as np

M1, M2, GRAVITY = 1.0, 2.0, 10.0
MASS = np.array([M1, M1, M2, M2])
FORCE = np.array([0.0, GRAVITY * M1, 0.0, GRAVITY * M2])
STEP = 0.01
START = np.array([np.sqrt(0.5), np.sqrt(0.5), 0.0, np.sqrt(2.0)])
START_ANGLES = np.array([np.pi / 4, -np.pi / 4])


def positions(angles):
    """Cartesian positions (…, 4) of angles (…, 2)."""
    sin, cos = np.sin(angles), np.cos(angles)
    return np.stack([sin[..., 0], cos[..., 0], sin.sum(axis=-1), cos.sum(axis=-1)], axis=-1)


def velocities(angles, rates):
    """Cartesian velocities (…, 4) of angles and their rates (…, 2)."""
    x, y = np.cos(angles) * rates, -np.sin(angles) * rates
    return np.stack([x[..., 0], y[..., 0], x.sum(axis=-1), y.sum(axis=-1)], axis=-1)


def energy(q, v):
    """H = ½ vᵀMv + U of Cartesian states (…, 4)."""
    return 0.5 * (v * v) @ MASS - q @ FORCE


def constraints(q):
    """g = (|q1|² − 1, |q2 − q1|² − 1) of positions (…, 4)."""
    r, d = q[..., :2], q[..., 2:] - q[..., :2]
    return np.stack([(r * r).sum(axis=-1) - 1, (d * d).sum(axis=-1) - 1], axis=-1)


def random_starts(count, seed=2006):
    """`count` starts at rest with both angles uniform in [−π, π), as positions (count, 4)."""
    return positions(np.random.default_rng(seed).uniform(-np.pi, np.pi, (count, 2)))


def angle_ode(_t, state):
    """Right-hand side in (θ1, θ2, ω1, ω2), derived by hand."""
    th1, th2, om1, om2 = state
    sin, cos = np.sin(th1 - th2), np.cos(th1 - th2)
    f1 = -M2 * sin * om2**2 - (M1 + M2) * GRAVITY * np.sin(th1)
    f2 = M2 * sin * om1**2 - M2 * GRAVITY * np.sin(th2)
    det = M2 * (M1 + M2 * sin**2)
    return [om1, om2, M2 * (f1 - cos * f2) / det, ((M1 + M2) * f2 - M2 * cos * f1) / det]


def cartesian_ode(_t, state):
    """Right-hand side in (q, v): the index-1 form, multipliers from G M⁻¹Gᵀλ = G M⁻¹F + Ġ v."""
    q, v = state[:4], state[4:]
    r, d, dr, dd = q[:2], q[2:] - q[:2], v[:2], v[2:] - v[:2]
    jacobian = np.array([[2 * r[0], 2 * r[1], 0, 0], [-2 * d[0], -2 * d[1], 2 * d[0], 2 * d[1]]])
    curvature = np.array([2 * dr @ dr, 2 * dd @ dd])
    by_mass = jacobian / MASS
    multipliers = np.linalg.solve(by_mass @ jacobian.T, by_mass @ FORCE + curvature)
    return np.concatenate([v, (FORCE - jacobian.T @ multipliers) / MASS])


def taut_system():
    """The same pendulum as a taut model."""
    import taut  # here, so that the other rows do not need taut

    x1, y1, x2, y2 = q = taut.coordinates("x1 y1 x2 y2")
    return taut.System(
        q,
        mass=[1, 1, 2, 2],
        potential=-10 * y1 - 20 * y2,
        constraints=[x1**2 + y1**2 - 1, (x2 - x1) ** 2 + (y2 - y1) ** 2 - 1],
    )
