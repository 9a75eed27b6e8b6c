"""Planar pendulum of a point and a rod, as a mechanism (IFToMM benchmark A01).

A point of mass 1 on a massless rod of length 1, x to the right, y up, g = 9.81 along −y, from (−1,
0) at rest.  With the rod's angle θ from the lower vertical, (x, y) = (−sin θ, −cos θ) is known at
all times: sin(θ/2) = k sn(K(k) − √g t), k = sin(π/4) (`taut.problems.elliptic.plane_angle`).  The
energy is 0.

The point moves in space and stays in the plane z = 0 by itself.  The multiplier of the rod is its
pull, |v|² − g y.  Problem ``pendulum`` is the same in two coordinates.

Source: IFToMM Multibody Benchmark, problem A01; the closed form is classical.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taut.model.mechanism import Mechanism
from taut.problems import pendulum
from taut.problems.base import Fact, Problem
from taut.problems.elliptic import plane_period

SOURCE = "IFToMM Multibody Benchmark A01"
AT = "closed form, evaluated in extended precision"

# t, (x, y), (ẋ, ẏ)
STATES = (
    (1.0, (0.98629175113187532, -0.16501085312554117), (0.29690551591631582, 1.7746436411126556)),
    (5.0, (-0.94230543504375734, -0.33475433841400058), (0.85790425688594907, -2.4149286543704886)),
    (10.0, (-0.27508746257611686, -0.96141920509912506), (4.1755981009517288, -1.1947490545604753)),
)


def iftomm_a01() -> Problem:
    """A01: 10 s in the closed form's company."""
    m = Mechanism(gravity=(0.0, -pendulum.GRAVITY, 0.0))
    bob = m.point("bob", mass=1.0, at=(-1.0, 0.0, 0.0))
    m.rod("rod", m.ground, bob)
    return Problem.of(
        m,
        name="iftomm-a01",
        title="Planar pendulum as a mechanism",
        step=0.01,
        duration=10.0,
        source=SOURCE,
        exact=exact,
        exact_multipliers=exact_multipliers,
        facts=(
            Fact("the energy is 0", SOURCE, energy=0.0),
            Fact("period", AT, period=plane_period(0.0, pendulum.GRAVITY)),
            *(
                Fact(
                    f"the bob at t = {t:g}", AT, t=t,
                    parts={"bob": {"position": (*place, 0.0), "velocity": (*velocity, 0.0)}},
                )
                for t, place, velocity in STATES
            ),
        ),
    )  # fmt: skip


def exact(t: Any) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) at t."""
    q, v = (_in_space(x) for x in pendulum.exact(t))
    return q, v


def exact_multipliers(t: Any) -> np.ndarray:
    """The pull of the rod, |v|² − g y, at t."""
    return 2.0 * pendulum.exact_multipliers(t)


def _in_space(plane: np.ndarray) -> np.ndarray:
    return np.concatenate([plane, np.zeros_like(plane[..., :1])], axis=-1)
