"""Points that repel each other on a sphere come to rest (Fekete's problem, IVP Test Set).

N points of mass 1 on the unit sphere repel each other with the potential −ln |pᵢ − pⱼ| of every
pair, and are slowed down by −α ṗ, α = 1/2:

    p̈ᵢ = Σⱼ (pᵢ − pⱼ)/|pᵢ − pⱼ|² − α ṗᵢ − 2 λᵢ pᵢ,      |pᵢ|² − 1 = 0,

from rest.  By t = 1000 they rest.  There the force on each point is radial; multiplied by pᵢ and
with pᵢ·(pᵢ − pⱼ) = |pᵢ − pⱼ|²/2 it gives

    λᵢ = (N − 1)/4,      p̈ᵢ = 0,

the same for all.  The test set writes +2 λ pᵢ, so its λ is −(N − 1)/4.  Where the points rest
depends on the way there, since every rotation of a rest is a rest: the published positions are met
only by what is accurate from the beginning.  Angular momentum is zero at all times.

Twenty points start from the rings of the test set, any other number from a spiral that spreads them
over the sphere.

Source: Mazzia & Magherini, Test Set for Initial Value Problem Solvers, release 2.4, fekete.
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from taut.errors import InputError, brief
from taut.model import coordinates
from taut.model.mechanism import Mechanism
from taut.problems.base import Fact, Problem

DAMPING = 0.5
POINTS = 20
SOURCE = "IVP Test Set, fekete"
PUBLISHED = (
    (-0.4070263380333202, 0.3463758772791802, 0.8451942450030429),
    (0.07752934752521549, -0.2628662719972299, 0.9617122871829146),
    (0.7100577833343567, 0.121294805558612, 0.6936177005172217),
    (0.2348267744557627, 0.7449277976923311, 0.6244509285956391),
    (-0.4341114738782885, 0.8785430442262876, 0.199272044423766),
    (-0.9515059600312596, 0.2203508762787005, 0.2146669498274008),
    (-0.6385191643609878, -0.4310833259390688, 0.6375425027722121),
    (-0.1464175087914336, -0.9380871635228862, 0.313933729874469),
    (0.5666974065069942, -0.6739221885076542, 0.4740073135462156),
    (0.9843259538440293, -0.1696995357819996, -0.0480050429060909),
    (0.1464175087914331, 0.9380871635228875, -0.3139337298744656),
    (-0.7092757549979014, 0.5264062637139616, -0.4688542938854929),
    (-0.8665731819284478, -0.4813878059756024, -0.1315929352982178),
    (-0.2347897778700538, -0.859434040801313, -0.4541441287957579),
    (0.5530976940074118, -0.7674370265615124, -0.3242273140037833),
    (0.7711050969896927, 0.6357041816577034, 0.03573685519777001),
    (0.7103951209379591, 0.2403570431280519, -0.6614886725910596),
    (-0.0303820873873566, 0.4501923293640461, -0.8924145871442046),
    (-0.5772996158107093, -0.1766763414971813, -0.7971892020969544),
    (0.2414481766969039, -0.3416456818373135, -0.908284650344625),
)
# rings of the start: how many points, their azimuth beyond the first, their latitude
RINGS = (
    (3, 2 * np.pi / 3 + np.pi / 13, 3 * np.pi / 8),
    (7, 2 * np.pi / 7 + np.pi / 29, np.pi / 8),
    (6, 2 * np.pi / 6 + np.pi / 7, -2 * np.pi / 15),
    (4, np.pi / 17, -3 * np.pi / 10),
)


def fekete(points: int = POINTS) -> Problem:
    """Fekete's problem with this many points."""
    if points != int(points) or points < 2:
        raise InputError(
            "that is no number of points",
            expected="a whole number from 2 on",
            received=brief(points),
        )
    n = int(points)
    m = mechanism(rings() if n == POINTS else spiral(n))
    return Problem.of(
        m,
        name="fekete",
        title=f"{n} points that repel each other on a sphere",
        step=0.1,
        duration=1000.0,
        method="composition-8",
        source=SOURCE,
        facts=(
            Fact(
                "all λ are (N − 1)/4 at rest", "force balance", t=1000.0,
                multipliers=((n - 1) / 4,) * n,
            ),
            *((REST,) if n == POINTS else ()),
        ),
    )  # fmt: skip


def rings() -> np.ndarray:
    """The start of the test set, shape (20, 3)."""
    azimuth = [first + 2 * np.pi * k / many for many, first, _ in RINGS for k in range(many)]
    latitude = [height for many, _, height in RINGS for _ in range(many)]
    return _on_sphere(np.array(azimuth), np.array(latitude))


def spiral(points: int) -> np.ndarray:
    """Points a golden angle and equal heights apart, shape (N, 3)."""
    k = np.arange(points)
    return _on_sphere(np.pi * (3 - 5**0.5) * k, np.arcsin(1 - (2 * k + 1) / points))


def _on_sphere(azimuth: np.ndarray, latitude: np.ndarray) -> np.ndarray:
    flat = np.cos(latitude)
    return np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(latitude)], axis=-1)


def mechanism(places: np.ndarray) -> Mechanism:
    """Points at these places, at rest."""
    m = Mechanism()
    x, y, z = coordinates("x y z")
    points = [m.point(f"p{i + 1}", mass=1.0, at=place) for i, place in enumerate(places)]
    for point in points:
        m.on_surface(point, x**2 + y**2 + z**2 - 1, name=f"sphere of {point.name}")
        drag = [-DAMPING * rate for rate in m.symbols(point)[1]]
        m.force(point, drag, name=f"drag of {point.name}")
    for i, first in enumerate(points):
        for second in points[i + 1 :]:
            m.central(first, second, energy=lambda distance: -sp.log(distance))
    return m


REST = Fact(
    "where twenty points rest", SOURCE, t=1000.0, accuracy=5e-12,
    q=tuple(x for place in PUBLISHED for x in place), v=(0.0,) * (3 * POINTS),
)  # fmt: skip
