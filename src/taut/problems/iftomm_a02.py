"""N four-bar mechanisms side by side, through their singular configurations (IFToMM benchmark A02).

N + 1 uniform bars of mass 1 and length 1 stand on hinges at (i, 0), and N more join their tops to
N squares; y up, gravity g = 9.81 along −y.  The top of the first bar moves with ẋ = 1.  All
standing bars are parallel at all times: with the angle θ from the upright, clockwise,

    ½ I θ̇² + P g cos θ = const,      I = (N + 1)/3 + N,      P = (N + 1)/2 + N,

so θ̈ = (P/I) g sin θ, θ(0) = 0, θ̇(0) = 1, a pendulum that turns over the top and again and again
(`taut.problems.elliptic.over_the_top`).  The energy is P g + I/2.

Twice in each turn all bars lie in one line.  There the rank of the constraints drops and N more
motions branch off, in which a window folds while the others go on; momentum goes on along this one.
Besides, hinges in a plane hold it in the plane more often than needed: in every configuration 3 N
of their equations are redundant, so multipliers are not unique.

The bars are bodies with hinges along z.  Their moments of inertia across the bar are 1/12; the one
about it, which plays no part in the plane, is that of a bar of width 1/10.

Source: IFToMM Multibody Benchmark, problem A02; the closed form is classical.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taut.errors import InputError, brief
from taut.model.mechanism import Mechanism
from taut.problems.base import Fact, Problem
from taut.problems.elliptic import Motion, full_turn, over_the_top

GRAVITY = 9.81
RATE = 1.0  # of all bars at the start
ACROSS, ABOUT = 1 / 12, 0.1**2 / 6
WINDOWS = 2
SOURCE = "IFToMM Multibody Benchmark A02"
AT = "closed form, evaluated in extended precision"

# The top of the first bar: windows, t, place, velocity.
TOPS = (
    (2, 1.0, (-0.1950203019494351, -0.9807992056621738), (-6.676678036881158, 1.327578325160487)),
    (2, 4.0, (0.1176161023768086, 0.9930591384513251), (1.069039265028969, -0.1266150491667203)),
    (2, 10.0, (0.3284581115408154, 0.9445185381786010), (1.423051470206944, -0.4948688454870430)),
    (40, 10.0, (0.1805122266867284, 0.9835727405823116), (1.148441277469414, -0.2107700667794239)),
)


def iftomm_a02(windows: int = WINDOWS) -> Problem:
    """A02 with this many windows."""
    if windows != int(windows) or windows < 1:
        raise InputError(
            "that is no number of windows",
            expected="a whole number from 1 on",
            received=brief(windows),
        )
    n = int(windows)
    inertia, lever = (n + 1) / 3 + n, (n + 1) / 2 + n
    pull = lever * GRAVITY / inertia
    return Problem.of(
        mechanism(n),
        name="iftomm-a02",
        title=f"{n} four-bar mechanisms in a row",
        step=0.002,
        duration=10.0,
        source=SOURCE,
        exact=motion(n, pull),
        facts=(
            Fact("the energy is P g + I/2", SOURCE, energy=lever * GRAVITY + inertia / 2),
            Fact("the time of a turn", AT, period=full_turn(RATE, pull)),
            *(
                Fact(
                    f"the top of the first bar at t = {t:g}", AT, t=t,
                    parts={"top 0": {"position": (*place, 0.0), "velocity": (*velocity, 0.0)}},
                )
                for count, t, place, velocity in TOPS
                if count == n
            ),
        ),
    )  # fmt: skip


def mechanism(windows: int) -> Mechanism:
    """The bars upright, their tops moving to the right."""
    m = Mechanism(gravity=(0.0, -GRAVITY, 0.0))
    standing, lying = (ACROSS, ABOUT, ACROSS), (ABOUT, ACROSS, ACROSS)
    half, spin = (RATE / 2, 0.0, 0.0), (0.0, 0.0, -RATE)
    for i in range(windows + 1):
        bar = m.body(
            f"bar {i}", mass=1.0, inertia=standing, at=(i, 0.5, 0),
            velocity=half, angular_velocity=spin,
        )  # fmt: skip
        m.revolute(f"foot {i}", m.ground, bar, at=(i, 0, 0), axis=(0, 0, 1))
    for i in range(windows):
        beam = m.body(
            f"beam {i}", mass=1.0, inertia=lying, at=(i + 0.5, 1, 0), velocity=(RATE, 0, 0)
        )
        m.revolute(f"top {i}", beam, f"bar {i}", at=(i, 1, 0), axis=(0, 0, 1))
        m.revolute(f"end {i}", beam, f"bar {i + 1}", at=(i + 1, 1, 0), axis=(0, 0, 1))
    return m


def motion(windows: int, pull: float) -> Motion:
    """(q, v) at t, in the order of the bodies: centre, then the columns of the rotation."""

    def exact(t: Any) -> tuple[np.ndarray, np.ndarray]:
        sin, cos, rate = over_the_top(t, RATE, pull)
        none, one = np.zeros_like(sin), np.ones_like(sin)
        # the columns (cos θ, −sin θ, 0) and (sin θ, cos θ, 0) of a rotation by −θ about z
        turned = [cos, -sin, none, sin, cos, none, none, none, one]
        turning = [-sin, -cos, none, cos, -sin, none, none, none, none]
        fixed = [one, none, none, none, one, none, none, none, one]
        bar = [[i + sin / 2, cos / 2, none, *turned] for i in range(windows + 1)]
        beam = [[i + 0.5 + sin, cos, none, *fixed] for i in range(windows)]
        bar_rates = [cos / 2, -sin / 2, none, *turning]
        beam_rates = [cos, -sin, none, *[none] * 9]
        v = [x for many, k in ((windows + 1, bar_rates), (windows, beam_rates)) for x in many * k]
        q = [x for body in (*bar, *beam) for x in body]
        return np.stack(q, axis=-1), rate[..., None] * np.stack(v, axis=-1)

    return exact
