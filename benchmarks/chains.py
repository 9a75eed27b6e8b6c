"""Chains of N links in space, as taut, Pinocchio, exudyn and MuJoCo know them.

Link k goes from joint k to joint k + 1; the first joint is held.  A link is 1 m long and has 1 kg:

    points   a rod without mass, with the mass as a point at its far end
    bodies   a slender bar with a ball joint at either end, J = (J_∥, J_⊥, J_⊥)

All links start at rest, at the same angle to the vertical, and wind round it like a helix.  Every
class holds one chain: `begin()` goes back to the start, `march(steps)` makes steps and says how
many seconds they took, and `state()` is what has been reached, as (centres, velocities, axes,
angular velocities) in space.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np

GRAVITY, STEP = 9.81, 1e-3
LEAN, WIND = 0.4, 0.1  # radians: from the vertical, and from one link to the next
ALONG, ACROSS = 2e-3, 8.4e-2  # J_∥ and J_⊥ of a bar, kg m²
KINDS = ("points", "bodies")


@dataclass(frozen=True)
class Chain:
    """What all of them are asked to simulate."""

    links: int
    kind: str

    @property
    def arm(self):
        """Where the mass of a link is, from its first joint along the link."""
        return 1.0 if self.kind == "points" else 0.5

    @cached_property
    def axes(self):
        """Directions of the links at the start."""
        turn = WIND * np.arange(self.links)
        side = np.sin(LEAN) * np.stack([np.cos(turn), np.sin(turn)], 1)
        return np.hstack([side, np.full((self.links, 1), -np.cos(LEAN))])

    @cached_property
    def joints(self):
        """Where links begin and end, shape (N + 1, 3)."""
        return np.vstack([np.zeros(3), np.cumsum(self.axes, axis=0)])

    @cached_property
    def centres(self):
        return self.joints[:-1] + self.arm * self.axes

    @cached_property
    def frames(self):
        """Rotations whose first column is the link's axis, shape (N, 3, 3)."""
        second = np.cross([0.0, 0.0, 1.0], self.axes)
        second /= np.linalg.norm(second, axis=1)[:, None]
        return np.stack([self.axes, second, np.cross(self.axes, second)], axis=2)

    @cached_property
    def turns(self):
        """The same in the frame of the link before."""
        before = np.concatenate([np.eye(3)[None], self.frames[:-1]])
        return before.transpose(0, 2, 1) @ self.frames

    @property
    def start(self):
        """The state at the start."""
        return self.centres, 0 * self.centres, self.axes, 0 * self.axes

    def energy(self, centres, velocities, axes, omegas):
        """T + V of a state."""
        total = np.sum(velocities**2) / 2 + GRAVITY * np.sum(centres[:, 2])
        if self.kind == "points":
            return total
        spin = np.sum(omegas * axes, axis=1)
        return total + (ACROSS * np.sum(omegas**2) + (ALONG - ACROSS) * np.sum(spin**2)) / 2


def quaternions(rotations):
    """(w, x, y, z) of rotation matrices."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(rotations).as_quat()[:, [3, 0, 1, 2]]


class Taut:
    """taut's RATTLE on a `Mechanism`."""

    name, order, method_name = "taut", 2, "RATTLE"

    def __init__(self, chain, step=STEP, method="rattle"):
        self.chain, self.step, self.method = chain, step, method
        self.mechanism = mechanism(chain)
        self.begin()

    def begin(self):
        self.run = None

    def march(self, steps):
        import taut

        if self.run is None:  # the first step checks the start and compiles, and is not counted
            settings = {"step": self.step, "method": self.method, "every": 10**6, "laws": None}
            self.run = taut.simulate(self.mechanism, duration=self.step, **settings)
            steps -= 1
        began = time.process_time()
        if steps:
            self.run = self.run.continue_(steps * self.step)
        return time.process_time() - began

    def state(self):
        q, v = self.run.q[-1], self.run.v[-1]
        if self.chain.kind == "points":
            return q.reshape(-1, 3), v.reshape(-1, 3), self.chain.axes, None
        q, v = (x.reshape(-1, 4, 3) for x in (q, v))
        omegas = np.cross(q[:, 1:], v[:, 1:]).sum(axis=1) / 2
        return q[:, 0], v[:, 0], q[:, 1], omegas


def mechanism(chain):
    """The chain, part by part."""
    import taut

    found = taut.Mechanism(gravity=(0, 0, -GRAVITY))
    before = found.ground
    for k in range(chain.links):
        if chain.kind == "points":
            part = found.point(f"p{k}", mass=1.0, at=chain.centres[k])
            found.rod(before, part, length=1.0)
        else:
            inertia = (ALONG, ACROSS, ACROSS)
            part = found.body(
                f"b{k}", mass=1.0, inertia=inertia, at=chain.centres[k], rotation=chain.frames[k]
            )
            found.spherical(before, part, at=chain.joints[k])
        before = part
    return found
