"""A net of inextensible rods, held at its four corners, falls into its sag (a cloth).

N × N points of mass m, a distance l from their neighbours, are joined by rods along rows and
columns:

    L = Σ (m/2 |ṙ|² − m g z),      |r − r′| = l for neighbours,

m = 1/N², l = 1/(N − 1), g = 9.81 along −z.  Meshes may shear, nothing stretches.  The four corners
are held.  At the start the point (i, j) is at f(i) + g(j), f an arc of a circle of 2 rad in the
plane of x and z and g one of 1 rad in that of y and z, polygons with sides l: a net whose rods all
have the right length.  It is at rest, with the energy Σ m g z.

There are 2 N (N − 1) rods for 3 (N² − 4) coordinates.  They are independent unless a set of pulls
is in balance by itself: along a row that is held at both ends and pulled straight, or in a mesh
that is pulled flat.  So the corners are nearer to each other than rows are long.  Held at two
corners only, meshes below them are pulled flat with a jerk as the cloth falls.  With diagonals it
would not be a cloth but a shell: more rods than coordinates, and rigid.

The cloth is its own mirror image in both planes half-way between the corners, and stays so.

Source: the equations ẍ = M⁻¹(F − Gᵀλ), G M⁻¹ Gᵀ λ = G M⁻¹ F + Ġẋ, of points in space, by DOP853
with two tolerances.
"""

from __future__ import annotations

import numpy as np

from taut.errors import InputError, brief
from taut.model.mechanism import Mechanism
from taut.problems.base import Fact, Problem

GRAVITY = 9.81
SIDE = 20
ARCS = (2.0, 1.0)  # radians of rows and columns at the start
SOURCE = "index-1 equations by DOP853, two tolerances"


def cloth(points: int = SIDE) -> Problem:
    """A cloth of this many points a side."""
    if points != int(points) or points < 3:
        raise InputError(
            "that is no number of points a side",
            expected="a whole number from 3 on",
            received=brief(points),
        )
    n = int(points)
    places = start(n)
    height = places[..., 2].sum() / n**2  # corners are at height zero
    return Problem.of(
        mechanism(places),
        name="cloth",
        title=f"Cloth of {n} × {n} points",
        step=0.001,
        duration=1.0,
        source=SOURCE,
        facts=(
            Fact("the energy", "U at the start", energy=GRAVITY * height),
            *((STATE,) if n == SIDE else ()),
        ),
    )


def start(n: int) -> np.ndarray:
    """Places of all points, shape (n, n, 3): f(i) + g(j)."""
    (x, low), (y, deep) = (_arc(n, arc) for arc in ARCS)
    found = np.zeros((n, n, 3))
    found[..., 0], found[..., 1] = x[:, None], y
    found[..., 2] = low[:, None] + deep
    return found


def _arc(n: int, arc: float) -> tuple[np.ndarray, np.ndarray]:
    """A polygon of n corners and length 1 that hangs in a circle, from its first corner."""
    angles = arc * (np.arange(n) / (n - 1) - 0.5)
    radius = 1 / (2 * (n - 1) * np.sin(arc / (2 * (n - 1))))
    x, z = radius * np.sin(angles), -radius * np.cos(angles)
    return x - x[0], z - z[0]


def corners(n: int) -> set[tuple[int, int]]:
    """Points that are held."""
    return {(i, j) for i in (0, n - 1) for j in (0, n - 1)}


def mechanism(places: np.ndarray) -> Mechanism:
    """The net with its points at these places, at rest."""
    n = len(places)
    m = Mechanism(gravity=(0.0, 0.0, -GRAVITY))
    held = corners(n)
    points = {
        (i, j): m.ground if (i, j) in held else m.point(f"{i},{j}", mass=1 / n**2, at=places[i, j])
        for j in range(n)
        for i in range(n)
    }
    for i, j in points:
        for there in ((i + 1, j), (i, j + 1)):
            if there in points:
                ends = (places[i, j], places[there])
                a, b = points[i, j], points[there]
                m.rod(f"rod {i},{j} {there[0]},{there[1]}", a, b, ends=ends, length=1 / (n - 1))
    return m


STATE = Fact(
    "four points at t = 0.3", SOURCE, t=0.3, accuracy=5e-10,
    parts={
        "1,1": {"position": (0.0475431058871548, 0.047235920995664, -0.0603847470249034)},
        "9,9": {"position": (0.394614011103899, 0.453165088959256, -0.430327230374415)},
        "9,0": {"position": (0.394614011103804, 0.0420972798393964, -0.238299549715176)},
        "0,9": {"position": (0.0700994329263238, 0.453165088959252, -0.100038185517394)},
    },
)  # fmt: skip
