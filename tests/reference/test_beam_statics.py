"""Statics and modes of beams against exact values: published problems, closed forms, shooting.

Sections are given as in the sources and permuted: the tangent is our second axis.
"""

import numpy as np
import pytest
from scipy.integrate import solve_bvp, solve_ivp
from scipy.optimize import brentq, fsolve
from scipy.special import ellipk

import taut

X = {"frame": (1, 0, 0), "inertia": np.ones(6)}  # along x; local axis 3 is z


def better(coarse, fine):
    """From results of two meshes, the second twice as fine: Richardson, for order 2."""
    return (4 * np.asarray(fine) - np.asarray(coarse)) / 3


def order(values, exact) -> float:
    """Of the errors on meshes each twice as fine as the one before."""
    errors = [np.linalg.norm(np.asarray(v) - exact) for v in values]
    return float(np.log2(errors[-2] / errors[-1]))


# ---- Bathe & Bolourchi 1979: a bend of 45 degrees --------------------------------------------

BEND = {  # load, shear and torsion stiffness → displacement of the tip, by shooting to 1e-10
    (300, 5e6, 1e7 / 12): (-11.931555629, -7.044540936, 40.191891670),
    (450, 5e6, 1e7 / 12): (-18.472120107, -10.781142956, 48.502927344),
    (600, 5e6, 1e7 / 12): (-23.560239545, -13.604521347, 53.474858792),
    (600, 5e6 * 5 / 6, 1e7 / 12): (-23.560581878, -13.604632402, 53.475477998),
    (600, 5e6, 7.02885e5): (-23.818753337, -13.731536057, 53.607369266),
}


@pytest.mark.parametrize("case", BEND)
def test_bathe_and_bolourchi(case):
    load, shear, torsion = case
    bending = 1e7 / 12

    def moved(nodes):
        beam = taut.Beam(
            100 * np.pi / 4, nodes=nodes, curvature=(0, 0, 0.01), ends=("clamped", "free"), **X,
            stiffness=[bending, torsion, bending, shear, 1e7, shear],
        )  # fmt: skip
        rest = taut.equilibrium(beam.load(force=(0, 0, load)))
        assert rest.stable
        np.testing.assert_allclose(rest.mesh.pose[-1, :3, 3], [70.710678119, 29.289321881, 0])
        return rest.displacements[-1]

    found = [moved(n) for n in (17, 33, 65)]
    assert order(found, BEND[case]) == pytest.approx(2, abs=0.03)
    assert np.linalg.norm(found[-1] - BEND[case]) < 0.06
    np.testing.assert_allclose(better(*found[1:]), BEND[case], atol=1e-4)


# ---- rolling up ------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [0.4, 1.0, 1.6, 2.0])
def test_a_moment_rolls_a_beam_up(part):
    """M = λπ EI/L in one load step; λ = 2 closes the circle (L = 12, E = 3e7, 1 × 1)."""
    length, bending = 12.0, 3e7 / 12
    moment = part * np.pi * bending / length
    radius, angle = bending / moment, part * np.pi
    exact = np.array([radius * np.sin(angle), radius * (1 - np.cos(angle)), 0])

    def tip(nodes):
        beam = taut.Beam(length, nodes=nodes, ends=("clamped", "free"), **X,
                         stiffness=[bending, bending, bending, 1.5e7, 3e7, 1.5e7])  # fmt: skip
        rest = taut.equilibrium(beam.load(moment=(0, 0, moment)))
        assert len(rest.path) == 2  # the start, and the whole load
        assert rest.iterations <= 8
        return rest.tip

    found = [tip(n) for n in (21, 41, 81)]
    assert order(found, exact) == pytest.approx(2, abs=0.02)
    np.testing.assert_allclose(better(*found[1:]), exact, atol=1e-3)


# ---- the elastica ----------------------------------------------------------------------------

ELASTICA = {  # P L²/EI → x/L, y/L, angle
    1: (0.943566764, 0.301720774, 0.461351950),
    2: (0.839358279, 0.493457481, 0.781749832),
    4: (0.671058758, 0.669964182, 1.121239347),
    5: (0.612371639, 0.713791524, 1.215368118),
    10: (0.445004402, 0.810609026, 1.430285539),
}


@pytest.mark.parametrize("load", ELASTICA)
def test_the_elastica(load):
    def tip(nodes):
        beam = taut.Beam(1.0, nodes=nodes, ends=("clamped", "free"), **X,
                         stiffness=[1, 1, 1, 1e8, 1e8, 1e8])  # fmt: skip
        rest = taut.equilibrium(beam.load(force=(0, load, 0)))
        along = rest.frames[-1][:, 1]
        return [*rest.tip[:2], np.arctan2(along[1], along[0])]

    found = [tip(n) for n in (21, 41, 81)]
    assert order(found, ELASTICA[load]) == pytest.approx(2, abs=0.02)
    np.testing.assert_allclose(better(*found[1:]), ELASTICA[load], atol=2e-6)


# ---- helices ---------------------------------------------------------------------------------

HELIX = {  # part of F = 50, M = 200π → tip
    0.05: (0.71148103, 6.28566443, 2.75073621),
    0.10: (0.41020335, 0.05377090, -1.09172902),
    0.15: (0.07206938, 2.11961547, 0.85905335),
    0.20: (0.11506070, 0.00836222, -0.59849749),
    0.25: (0.02576495, 1.27271796, 0.52065125),
    0.30: (0.05239551, 0.00259371, -0.39959276),
    1.00: (0.00480325, 0.00007250, -0.07644174),  # ten turns
}


@pytest.mark.parametrize(
    "part", [x if x < 1 else pytest.param(x, marks=pytest.mark.slow) for x in HELIX]
)
def test_a_force_and_a_moment_wind_a_helix(part):
    """Ibrahimbegovic 1997: digits by extrapolation, ten turns on finer meshes."""

    def tip(nodes):
        beam = taut.Beam(10.0, nodes=nodes, ends=("clamped", "free"), **X,
                         stiffness=[100, 100, 100, 1e4, 1e4, 1e4])  # fmt: skip
        beam.load(force=(0, 0, 50 * part), moment=(0, 0, 200 * np.pi * part))
        return taut.equilibrium(beam).tip

    coarse, middle, fine = found = [
        tip(n) for n in ((121, 241, 481) if part < 1 else (301, 601, 1201))
    ]
    assert order(found, HELIX[part]) == pytest.approx(2, abs=0.01 if part < 1 else 0.1)
    one, two = better(coarse, middle), better(middle, fine)
    limit = (16 * two - one) / 15
    np.testing.assert_allclose(limit, HELIX[part], atol=1e-5 if part < 1 else 2e-3)


def test_a_couple_that_follows_winds_an_exact_helix():
    """Constant strains: two coils of radius 10 and height 50 from a straight rod."""
    radius, height, coils = 10.0, 50.0, 2
    c = height / (2 * np.pi * radius * coils)
    length = np.sqrt(1 + c**2) * 2 * np.pi * radius * coils
    angle = 2 * np.pi * coils
    bending, torsion = 1.0, 1.0  # a circle with G = E/2
    bend = radius * angle**2 / length**2  # curvature, and c times it the twist

    def rest(nodes):
        beam = taut.Beam(length, nodes=nodes, ends=("clamped", "free"), **X,
                         stiffness=[bending, torsion, bending, 1e3, 1e3, 1e3])  # fmt: skip
        moment = (0, c * torsion * bend, bending * bend)
        return taut.equilibrium(beam.load(moment=moment, follower=True))

    found = [rest(n) for n in (41, 81)]
    for one in found:
        assert np.ptp(one.strain, axis=0).max() < 1e-8
    strains = [one.strain[0, :3] for one in found]
    np.testing.assert_allclose(better(*strains), [0, c * bend, bend], atol=5e-5)
    x = found[1].positions
    turn = np.linalg.norm(found[1].strain[0, :3])
    assert turn * length == pytest.approx(np.sqrt(1 + c**2) * length * bend, rel=2e-2)
    assert np.linalg.norm(x[-1] - x[0]) == pytest.approx(height, rel=2e-2)


# ---- loads with shooting as the other road ---------------------------------------------------

SOFT = {"bending": 2.0, "shear": 50.0, "stretch": 120.0}


def planar(s, y, force, bent=0.0, bending=2.0, shear=50.0, stretch=120.0):
    """Reissner 1972 in the plane: x, y, angle, moment; the force may depend on s."""
    _, _, angle, moment = y
    fx, fy = force(s)
    cos, sin = np.cos(angle), np.sin(angle)
    along, across = 1 + (fx * cos + fy * sin) / stretch, (fy * cos - fx * sin) / shear
    dx, dy = along * cos - across * sin, along * sin + across * cos
    return np.array([dx, dy, bent + moment / bending, fx * dy - fy * dx])


def soft_beam(nodes, length=2.0, ends=("clamped", "free"), **more) -> taut.Beam:
    return taut.Beam(length, nodes=nodes, ends=ends, **(X | more),
                     stiffness=[2, 2, 2, 50, 120, 50])  # fmt: skip


def test_a_force_that_follows_the_tip():
    """From the tip, where all is known in its own frame, back to the root."""
    force = np.array([-3.0, 2.0])  # along the tip, and across it
    back = solve_ivp(
        lambda s, y: -planar(s, y, lambda _: force), (0, 2), [0, 0, 0, 0], rtol=1e-11, atol=1e-12
    ).y[:, -1]
    cos, sin = np.cos(back[2]), np.sin(back[2])
    exact = -np.array([cos * back[0] + sin * back[1], -sin * back[0] + cos * back[1]])

    def rest(nodes):
        beam = soft_beam(nodes).load(force=(-force[1], force[0], 0), follower=True)
        return taut.equilibrium(beam)

    found = [rest(n).tip[:2] for n in (21, 41)]
    assert order(found, exact) == pytest.approx(2, abs=0.05)
    np.testing.assert_allclose(better(*found), exact, atol=1e-5)
    assert rest(21).stable is None


def test_a_heavy_beam_that_sags_far():
    weight, length = 3.0, 2.0
    grid = np.linspace(0, length, 41)
    found = solve_bvp(
        lambda s, y: planar(s, y, lambda at: (0 * at, -weight * (length - at))),
        lambda a, b: np.array([a[0], a[1], a[2], b[3]]),
        grid, np.vstack([grid, -grid / 4, -grid / 4, -(length - grid)]), tol=1e-8, max_nodes=20_000,
    )  # fmt: skip
    assert found.success
    exact = found.y[:2, -1]
    tips = [taut.equilibrium(soft_beam(n, gravity=(0, -weight, 0))).tip[:2] for n in (21, 41)]
    assert exact[1] < -1
    assert order(tips, exact) == pytest.approx(2, abs=0.1)
    np.testing.assert_allclose(better(*tips), exact, atol=4e-5)


def test_a_shallow_arch_snaps_through():
    """The load over the height of the crown, through both limit points."""
    angle, radius, bending, shear, stretch = 0.3, 10.0, 1.0, 25.0, 50.0
    half, span = radius * angle, radius * np.sin(angle)
    material = {"bent": -1 / radius, "bending": bending, "shear": shear, "stretch": stretch}

    def crown(unknown):
        start, push, load = unknown
        force = (push, -load / 2)
        return solve_ivp(
            lambda s, y: planar(s, y, lambda _: force, **material),
            (0, half), [-span, 0, start, 0], rtol=1e-9, atol=1e-11,
        ).y[:, -1]  # fmt: skip

    heights = np.linspace(radius * (1 - np.cos(angle)), -0.5, 41)
    unknown, loads = np.array([angle, 0.0, 0.0]), []
    for height in heights:
        unknown = fsolve(lambda u, h=height: crown(u)[:3] - [0, h, 0], unknown, xtol=1e-11)
        loads.append(unknown[2])

    turn = -(np.pi / 2 - angle)
    frame = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
    beam = taut.Beam(
        2 * half, nodes=81, at=(-span, 0, 0), frame=frame, curvature=(0, 0, -1 / radius),
        inertia=np.ones(6), stiffness=[99, 99, bending, shear, stretch, shear],
        ends=("hinged", "hinged"),
    )  # fmt: skip
    path = taut.equilibrium(beam.load(at=half, force=(0, -0.3, 0)), arc_length=True).path
    mine, height = 0.3 * path.load_factor, path.positions[:, 40, 1]
    inside = height > -0.5
    assert inside.sum() > 15
    expected = np.interp(-height[inside], -heights, loads)
    np.testing.assert_allclose(mine[inside], expected, atol=4e-4)  # interpolation: 1e-4
    assert mine.max() == pytest.approx(0.3, abs=1e-12)
    peak = int(np.argmax(np.diff(loads) < 0))
    top, low = loads[peak], min(loads[peak:])
    falls = np.flatnonzero(np.diff(mine) < 0)
    assert mine[falls[0]] == pytest.approx(top, rel=0.02)
    assert mine[falls[-1] + 1] == pytest.approx(low, rel=0.06)


# ---- columns ---------------------------------------------------------------------------------


def column(nodes, ends=("clamped", "free"), r=1e-3) -> taut.Beam:
    """EI = ρA = L = 1, slender."""
    stretch = 1 / r**2
    return taut.Beam(
        1.0, nodes=nodes, ends=ends, inertia=[r**2, 2 * r**2, r**2, 1, 1, 1],
        stiffness=[1, 1, 1, stretch / 2, stretch, stretch / 2],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ends", "critical"),
    [(("clamped", "free"), np.pi**2 / 4), (("hinged", "roller"), np.pi**2),
     (("clamped", "sliding"), 4 * np.pi**2)],
)  # fmt: skip
def test_columns_buckle(ends, critical):
    """ω² of the first mode falls to zero at the load of Euler 1744."""

    def square(load, nodes):
        rest = taut.equilibrium(column(nodes, ends).load(force=(0, -load, 0)))
        slow = taut.modes(rest, 4)
        own = next(k for k, kind in enumerate(slow.kinds) if kind == "bending")
        return float(np.real(-(slow.eigenvalues[own] ** 2)))

    found = [brentq(square, 0.9 * critical, 1.05 * critical, (n,), xtol=1e-6) for n in (21, 41)]
    assert better(*found) == pytest.approx(critical, rel=1e-4)
    assert order([[x] for x in found], critical) == pytest.approx(2, abs=0.1)
    assert taut.equilibrium(column(21, ends).load(force=(0, -0.9 * critical, 0))).stable
    assert not taut.equilibrium(column(21, ends).load(force=(0, -1.1 * critical, 0))).stable


def test_becks_column_flutters():
    """A force that follows the tip: P = 20.05 EI/L² (Beck 1952)."""

    def flutter(nodes):
        low, high = 19.0, 21.0
        for _ in range(12):
            middle = (low + high) / 2
            rest = taut.equilibrium(column(nodes).load(force=(0, -middle, 0), follower=True))
            low, high = (middle, high) if taut.modes(rest, 4).stable else (low, middle)
        return (low + high) / 2

    assert better(flutter(16), flutter(31)) == pytest.approx(20.0509, abs=5e-3)
    rest = taut.equilibrium(column(31).load(force=(0, -21.0, 0), follower=True))
    grows = taut.modes(rest, 4)
    assert grows.rates[0] > 0.1
    assert grows.frequencies[0] > 10  # it swings while it grows


# ---- frequencies -----------------------------------------------------------------------------

TIMOSHENKO = {  # L = EA = ρA = 1, EI = ρI = r², r = 0.025, GA = (6/7)/2.6
    ("clamped", "free"): (0.0873907862, 0.5297200423, 1.4132768519, 2.6038006153),
    ("free", "free"): (0.5449208977, 1.4367628518, 2.6600913232, 4.1184382413),
    ("clamped", "clamped"): (0.5330548814, 1.3888626416, 2.5503931234, 3.9279928991),
    ("pinned", "pinned"): (0.2437402144, 0.9419566965, 2.0136057626, 3.3647612524),
    ("clamped", "pinned"): (0.3746331022, 1.1601311596, 2.2816968273, 3.6494674450),
}
SPAGHETTI = {  # Simo & Vu-Quoc 1988: L = 10, EI = GJ = 500, EA = GA = 1e4
    ("free", "free"): (2.03379836, 4.08203766, 6.36785993, 8.63425657),
    ("clamped", "free"): (0.64685182, 2.43987086, 4.9368796, 7.26736112),
}


def across(beam: taut.Beam) -> np.ndarray:
    """Frequencies of motions along local axis 3 (bending and its shear), the first four."""
    found = taut.modes(beam, min(40, 6 * beam.nodes - 12))
    moves = np.abs(found.shapes[:, :, 5]).max(axis=1) > 1e-3
    swings = np.abs(found.shapes[:, :, 1]).max(axis=1) < 1e-6  # no twist
    apart = np.abs(found.shapes[:, :, 3]).max(axis=1) < 1e-3
    return found.frequencies[moves & swings & apart & (found.frequencies > 0)][:4]


@pytest.mark.parametrize("ends", TIMOSHENKO)
def test_timoshenko_beams(ends):
    r, shear = 0.025, (6 / 7) / 2.6
    made = {
        "inertia": [r**2, 2 * r**2, 1.0001 * r**2, 1, 1, 1],  # apart from bending the other way
        "stiffness": [r**2, 1.3 * shear * r**2, 1.1 * r**2, 1.05 * shear, 1, shear],
    }
    found = [across(taut.Beam(1.0, nodes=n, ends=ends, **made)) for n in (41, 81)]
    np.testing.assert_allclose(found[1], TIMOSHENKO[ends], rtol=1e-3)
    np.testing.assert_allclose(better(*found), TIMOSHENKO[ends], rtol=1e-5)


@pytest.mark.parametrize("ends", SPAGHETTI)
def test_the_spaghetti(ends):
    made = {
        "inertia": [10, 20, 10.001, 1, 1, 1],
        "stiffness": [500, 500, 520, 1.1e4, 1e4, 1e4],
    }
    found = [across(taut.Beam(10.0, nodes=n, ends=ends, **made)) for n in (41, 81)]
    np.testing.assert_allclose(better(*found), SPAGHETTI[ends], rtol=1e-5)


@pytest.mark.parametrize(("ends", "free"), [(("clamped", "free"), 0.5), (("free", "free"), 0.0)])
def test_stretch_and_torsion(ends, free):
    """ω = (n − ½)π c/L or nπ c/L; on nodes, 2 c/Δs sin of half the phase between them."""
    nodes, speed = 31, {"stretch": 2.0, "torsion": 0.7}
    beam = taut.Beam(1.0, nodes=nodes, ends=ends, inertia=[1, 1, 1, 1, 1, 1],
                     stiffness=[30, 0.49, 30, 30, 4, 30])  # fmt: skip
    found = taut.modes(beam, 40)
    for kind, c in speed.items():
        mine = found.frequencies[[k == kind for k in found.kinds]][:4]
        phase = np.pi * (np.arange(1, 5) - free) / (nodes - 1)
        exact = 2 * c * (nodes - 1) * np.sin(phase / 2)
        np.testing.assert_allclose(mine, exact[: len(mine)], rtol=1e-9)
        assert len(mine) >= 3


@pytest.mark.parametrize("ratio", [0.5, 2.0])
def test_a_body_at_the_tip(ratio):
    """A slender cantilever: 1 + cos β cosh β = μβ (sin β cosh β − cos β sinh β)."""

    def equation(b):
        return (1 + np.cos(b) * np.cosh(b)) - ratio * b * (
            np.sin(b) * np.cosh(b) - np.cos(b) * np.sinh(b)
        )

    roots = [brentq(equation, *x) for x in ((0.1, 2.0), (3.5, 4.6))]
    found = [taut.modes(column(n).body(mass=ratio), 6).frequencies[[0, 2]] for n in (21, 41)]
    np.testing.assert_allclose(better(*found), np.square(roots), rtol=5e-5)


@pytest.mark.parametrize("how", [{}, {"steps": 40}, {"arc_length": True}], ids=str)
@pytest.mark.parametrize("slender", [1e2, 1e5])
def test_a_column_buckles_towards_its_side_load(slender, how):
    """Clamped, pressed by 1.5 times Euler's load: the elastica, whatever the stretch.

    With p = sin(α/2), α the slope of the tip, P L² = K(p)² EI, and the sideways motion of the tip
    is 2p L/K(p).
    """
    press = 1.5 * (np.pi / 2) ** 2
    stiff = [1, 1, 1, slender * 1e2, slender * 1e2, slender * 1e2]
    column = taut.Beam(1.0, inertia=np.ones(6), stiffness=stiff, nodes=41, ends=("clamped", "free"))
    rest = taut.equilibrium(column.load(force=(1e-3, -press, 0)), **how)
    p = brentq(lambda x: ellipk(x * x) - np.sqrt(press), 1e-3, 0.999)
    assert rest.load_factor == 1.0
    assert rest.stable
    assert rest.tip[0] == pytest.approx(2 * p / ellipk(p * p), abs=2e-3)
    assert len(rest.path) < 200
