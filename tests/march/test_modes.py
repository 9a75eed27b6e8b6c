"""Natural frequencies and shapes: orthogonality, damping, gravity, flutter, and what is refused."""

import mpmath
import numpy as np
import pytest
from scipy.linalg import eigh

import taut
from taut.march import spectrum
from taut.march.freedoms import elastic, freedoms_of
from taut.march.statics.applied import nothing
from taut.march.statics.balance import Balance
from taut.march.statics.graded import Graded
from taut.march.statics.solve import as_mesh

R = 0.05
SECTION = {
    "inertia": [R**2, 2 * R**2, R**2, 1, 1, 1],
    "stiffness": [R**2, 0.8 * R**2, 1.5 * R**2, 0.3, 1, 0.3],
}


def bar(nodes=21, ends=("clamped", "free"), **more) -> taut.Beam:
    return taut.Beam(1.0, nodes=nodes, ends=ends, **(SECTION | more))


def matrices(mesh):
    freedoms = freedoms_of(mesh)
    k, m = np.zeros((2, freedoms.count, freedoms.count))
    for matrix, (x, i, j) in (
        (k, freedoms.of_edges(elastic(mesh, freedoms.edges))),
        (m, freedoms.of_nodes(freedoms.inertia(mesh))),
    ):
        np.add.at(matrix, (i, j), x)
    return freedoms, k, m


@pytest.mark.parametrize("nodes", [9, 61])
def test_rigid_motions_of_a_free_beam_come_first(nodes):
    found = taut.modes(bar(nodes, ends=("free", "free"), curvature=(0, 0.3, 1.5)), 12)
    assert found.rigid == 6
    assert found.kinds[:6] == ["rigid"] * 6
    assert not found.frequencies[:6].any()
    assert (found.frequencies[6:] > 0.01).all()
    assert found.stable
    speeds = found.shapes[:6].reshape(6, -1)
    assert np.linalg.matrix_rank(speeds) == 6


@pytest.mark.parametrize("nodes", [9, 61])
def test_shapes_are_orthogonal(nodes):
    beam = bar(nodes, ends=("hinged", "roller"), curvature=(0, 0, 1))
    beam.body(at=0.25, mass=2, offset=(0.1, 0, 0))
    mesh = beam.mesh()
    found = taut.modes(beam, 8)
    heavy = mesh.weight[:, None, None] * mesh.inertia
    mass = np.einsum("ani,nij,bnj->ab", found.shapes, heavy, found.shapes)
    np.testing.assert_allclose(mass, np.eye(8), atol=1e-9)
    _, k, m = matrices(mesh)
    exact = np.sqrt(np.abs(eigh(k, m, eigvals_only=True)))[:8]
    np.testing.assert_allclose(found.frequencies, exact, rtol=1e-6, atol=1e-6)


def test_sparse_and_dense_agree(monkeypatch):
    """Lanczos and Arnoldi with shifts, against dense solves of the same matrices."""
    plain, soft = bar(23), bar(23, damping=0.05)
    pushed = taut.equilibrium(bar(23).load(force=(0, -0.01, 0), follower=True))
    sparse = [taut.modes(x, 7) for x in (plain, soft, pushed)]
    monkeypatch.setattr(spectrum, "SMALL", 10_000)
    dense = [taut.modes(x, 7) for x in (plain, soft, pushed)]
    for one, two in zip(sparse, dense, strict=True):
        np.testing.assert_allclose(one.eigenvalues, two.eigenvalues, rtol=1e-8, atol=1e-10)
        assert one.kinds == two.kinds
        np.testing.assert_allclose(np.abs(one.shapes), np.abs(two.shapes), atol=1e-6)


def test_double_frequencies_are_found_twice():
    """Equal bending in both directions; the count of Sylvester makes sure."""
    round_ = bar(101, stiffness=[R**2, 0.8 * R**2, R**2, 0.3, 1, 0.3])
    found = taut.modes(round_, 16)
    bending = found.frequencies[[kind == "bending" for kind in found.kinds]]
    np.testing.assert_allclose(bending[0:10:2], bending[1:10:2], rtol=1e-7)
    _, k, m = matrices(round_.mesh())
    exact = np.sqrt(eigh(k, m, eigvals_only=True))[:16]
    np.testing.assert_allclose(found.frequencies, exact, rtol=1e-7)


def test_kelvin_voigt_damping_of_every_mode():
    """D = τK: s² + τω²s + ω² = 0, overdamped from τω = 2 on."""
    tau = 0.2
    plain, damped = taut.modes(bar(), 40), taut.modes(bar(damping=tau), 12)
    omega = plain.frequencies
    swings = omega[omega * tau < 2]
    expected = -tau * swings**2 / 2 + 1j * swings * np.sqrt(1 - (tau * swings / 2) ** 2)
    got = damped.eigenvalues[damped.eigenvalues.imag > 0]
    count = min(len(got), len(expected))
    assert count >= 8
    np.testing.assert_allclose(np.sort(got)[-count:], np.sort(expected)[-count:], rtol=1e-7)
    np.testing.assert_allclose(damped.damping_ratios[:3], tau * omega[:3] / 2, rtol=1e-7)
    assert damped.stable
    assert (damped.rates < 0).all()


def test_a_free_damped_beam_has_its_rigid_motions():
    found = taut.modes(bar(61, ends=("free", "free"), damping=0.02), 9)
    assert found.rigid == 6
    assert not found.eigenvalues[:6].any()
    assert (found.rates[6:] < 0).all()
    few = taut.modes(bar(61, ends=("free", "free"), damping=0.02), 3)
    assert few.rigid == len(few) == 3


def test_joined_beams_are_one_beam():
    """A beam in two parts, the second turned about its axis, has the frequencies of the whole."""
    plain = {**SECTION, "stiffness": [R**2, 0.8 * R**2, R**2, 0.3, 1, 0.3]}
    whole = taut.Beam(1.0, nodes=21, ends=("clamped", "free"), **plain)
    first = taut.Beam(0.5, nodes=11, ends=("clamped", "free"), **plain)
    turn = np.array([[np.cos(1), 0, np.sin(1)], [0, 1, 0], [-np.sin(1), 0, np.cos(1)]])
    second = taut.Beam(0.5, nodes=11, at=(0, 0.5, 0), frame=turn, **plain)
    one, two = taut.modes(whole, 9), taut.modes(taut.Beams([first, second]), 9)
    np.testing.assert_allclose(one.frequencies, two.frequencies, rtol=1e-9)
    loaded = [
        taut.modes(taut.equilibrium(x), 9)
        for x in (
            taut.Beam(1.0, nodes=21, ends=("clamped", "free"), **plain).load(force=(1e-3, 0, 1e-3)),
            taut.Beams([first, second.load(force=(1e-3, 0, 1e-3))]),
        )
    ]
    np.testing.assert_allclose(loaded[0].frequencies, loaded[1].frequencies, rtol=1e-8)


def test_a_stiff_pendulum():
    """About its rest under gravity: ω² = 3 g/(2 L), the other motions stay stiff."""
    beam = bar(
        ends=(taut.End("hinged", axis=(0, 0, 1)), "free"), gravity=(0, 1e-6, 0),
        inertia=[1e-6, 2e-6, 1e-6, 1, 1, 1],
    )  # fmt: skip
    found = taut.modes(taut.equilibrium(beam), 3)
    discrete = 3 / 2 * 1e-6 / (1 + 1 / (2 * 20**2))  # Σ w s² = (1 + Δs²/2)/3
    assert found.frequencies[0] ** 2 == pytest.approx(discrete, rel=2e-4)
    assert found.rigid == 0


def test_loads_count_about_an_equilibrium_only():
    plain = taut.modes(bar(), 4).frequencies
    loaded = bar(gravity=(0, -0.002, 0)).load(force=(0, -0.002, 0))
    np.testing.assert_array_equal(taut.modes(loaded, 4).frequencies, plain)
    assert taut.modes(taut.equilibrium(loaded), 4).frequencies[0] < 0.9 * plain[0]


def test_tension_raises_frequencies():
    """A slender hinged beam under tension: ω² = k⁴ EI/ρA + k² T/ρA, k = nπ/L."""
    r, pull = 1e-3, 40.0
    made = {
        "inertia": [r**2, 2 * r**2, r**2, 1, 1, 1],
        "stiffness": [1, 1, 1, 0.5 / r**2, 1 / r**2, 0.5 / r**2],
    }
    beam = taut.Beam(1.0, nodes=81, ends=("hinged", "roller"), **made).load(force=(0, pull, 0))
    found = taut.modes(taut.equilibrium(beam), 12)
    k = np.pi * np.arange(1, 4)
    exact = np.sqrt(k**4 + k**2 * pull)
    side = found.frequencies[np.abs(found.displacements[:, 20, 0]) > 0.1][:3]
    np.testing.assert_allclose(side, exact, rtol=2e-3)


def test_shapes_in_space():
    """A simply supported beam, turned: half a sine, across its axis."""
    axis = np.array([0.6, 0, 0.8])
    r = 1e-3
    made = {
        "inertia": [r**2, 2 * r**2, r**2, 1, 1, 1],
        "stiffness": [1, 1, 2, 0.5 / r**2, 1 / r**2, 0.5 / r**2],
    }
    beam = taut.Beam(1.0, nodes=41, frame=axis, ends=("pinned", "pinned"), **made)
    found = taut.modes(beam, 3)
    assert found.rigid == 1  # it may turn about its axis
    shape = found.displacements[1]
    assert np.abs(shape @ axis).max() < 1e-6
    across = beam.frame[:, 2]  # EI₁ is the smaller one: it bends along local axis 3
    assert np.abs(across - [0, 0, 1]).max() > 0.1
    sine = np.sqrt(2) * np.sin(np.pi * beam.places)
    np.testing.assert_allclose(np.abs(shape @ across), sine, atol=2e-3)


def test_what_grows_is_not_stable():
    """A column beyond its critical load: one motion each way grows."""
    made = bar(stiffness=[R**2, R**2, R**2, 0.3, 1, 0.3])
    critical = np.pi**2 * R**2 / 4
    rest = taut.equilibrium(made.load(force=(0, -1.2 * critical, 0)))
    found = taut.modes(rest, 4)
    assert not found.stable
    assert sum(found.rates > 0) == rest.falling == 2
    assert not found.frequencies[:2].any()
    assert "a motion grows" in str(found)


def test_text_and_dict():
    found = taut.modes(bar(), 3)
    facts = found.to_dict()
    assert facts["stable"] is True
    assert facts["rigid"] == 0
    assert len(facts["hertz"]) == len(found) == 3
    np.testing.assert_allclose(found.hertz, found.frequencies / (2 * np.pi))
    lines = str(found).splitlines()
    assert lines[0] == "Modes about the reference shape: stable"
    assert lines[1].split() == ["mode", "Hz", "rad/s", "kind"]
    assert len(lines) == 6
    assert "growth" in str(taut.modes(bar(damping=0.1), 3))
    shares = sum(found.shares.values())
    np.testing.assert_allclose(shares, 1)


def test_the_same_twice_is_the_same():
    one, two = taut.modes(bar(61), 6), taut.modes(bar(61), 6)
    np.testing.assert_array_equal(one.eigenvalues, two.eigenvalues)
    np.testing.assert_array_equal(one.shapes, two.shapes)


def test_no_more_modes_than_unknowns():
    assert len(taut.modes(bar(3), 100)) == 12


@pytest.mark.parametrize("count", [0, -1, 2.5, "many", True])
def test_counts_that_are_none(count):
    with pytest.raises(taut.InputError, match="no number of modes"):
        taut.modes(bar(), count)


def test_what_has_no_modes():
    with pytest.raises(taut.InputError, match="nothing can move"):
        taut.modes(bar(2, ends=("clamped", "clamped")))
    with pytest.raises(taut.InputError, match="not a beam"):
        taut.modes("beam")


@pytest.mark.parametrize("length", [1e-9, 1e-6, 1e6])
@pytest.mark.parametrize("damping", [0, 0.01])
@pytest.mark.parametrize("follower", [False, True])
def test_units_do_not_matter(length, damping, follower):
    """A hinged frame under its weight, in other units of length: the same shape and frequencies."""

    def frame(unit):
        made = {
            "inertia": np.array([0.02, 0.03, 0.025, 0, 0, 0]) * unit
            + np.array([0, 0, 0, 1, 1, 1]) / unit,
            "stiffness": np.array([2, 1.5, 2.5, 0, 0, 0]) * unit**3
            + np.array([0, 0, 0, 60, 80, 50]) * unit,
            "nodes": 9,
            "gravity": (-0.5 * unit, 0.5 * unit, -0.1 * unit),
            "damping": damping,
        }
        one = taut.Beam(unit, ends=("pinned", "free"), **made)
        two = taut.Beam(unit, at=(0, unit, 0), frame=(1, 0, 0), ends=("free", "roller"), **made)
        two.load(at=unit / 2, force=(0.05 * unit, 0, 0.02 * unit), follower=follower)
        rest = taut.equilibrium(taut.Beams([one, two]))
        return rest, taut.modes(rest, count=8)

    (here, wanted), (there, found) = frame(1), frame(length)
    np.testing.assert_allclose(there.positions / length, here.positions, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.eigenvalues, wanted.eigenvalues, rtol=1e-9)
    assert (there.free is None) == (here.free is None)
    assert (there.stable, found.stable) == (here.stable, wanted.stable)
    loose = taut.modes(taut.Beam(length, **_round(length)), count=8)  # free in space
    assert loose.rigid == 6
    assert loose.frequencies[6] == pytest.approx(_first_bending(), rel=1e-8)


def _round(unit):
    mass = np.array([0.02 * unit] * 3 + [1 / unit] * 3)
    return {"inertia": mass, "stiffness": [2 * unit**3] * 3 + [90 * unit] * 3, "nodes": 9}


def _first_bending():
    return taut.modes(taut.Beam(1, **_round(1)), count=8).frequencies[6]


# ---- slender beams -----------------------------------------------------------------------------


def wire(radius, nodes=41, ends=("clamped", "free"), mass=1.0, length=1.0, time=1.0):
    """A steel wire, in other units."""
    return taut.Beam(
        length, taut.Circle(radius * length), density=7800 * mass / length**3,
        young=2.1e11 * mass / (length * time**2), poisson=0.3, nodes=nodes, ends=ends,
    )  # fmt: skip


@pytest.mark.parametrize("radius", [0.1, 1e-2, 1e-4, 2e-6])
@pytest.mark.parametrize("nodes", [11, 41, 161])
@pytest.mark.parametrize(
    ("ends", "wave"),
    [
        (("clamped", "free"), 1.8751040687119611),
        (("pinned", "pinned"), np.pi),
        (("free", "free"), 4.730040744862704),
    ],
)
def test_slender_beams_have_eulers_frequencies(radius, nodes, ends, wave):
    """However slender: L/r is from 20 to a million; shear and inertia of sections lower them."""
    found = taut.modes(wire(radius, nodes, ends), 12)
    slow = found.frequencies[found.rigid :][:2]
    euler = wave**2 * np.sqrt(2.1e11 * radius**2 / 4 / 7800)
    np.testing.assert_allclose(slow, euler, rtol=4 / nodes**2 + 20 * radius**2)
    assert slow[1] == pytest.approx(slow[0], rel=1e-12)
    assert np.all(found.errors <= 1e-8 * np.abs(found.eigenvalues))
    assert np.all(found.errors[found.rigid :][:2] <= 1e-11 * slow)
    assert "±" not in str(found)


def exact(beam):
    """All frequencies, with fifty digits, of the matrices whose parts modes are made of."""
    mesh = as_mesh(beam)
    balance, freedoms = Balance(mesh), freedoms_of(mesh)
    graded = Graded(balance, balance.unloaded(), nothing(mesh), freedoms, even=True)
    with mpmath.workdps(60):
        b = mpmath.matrix(graded.strains.toarray())
        stiff = mpmath.zeros(b.rows)
        for e, (block, ds) in enumerate(zip(balance.stiffness, balance.spacing, strict=True)):
            for i, j in np.argwhere(block):
                stiff[6 * e + int(i), 6 * e + int(j)] = mpmath.mpf(block[i, j]) / mpmath.mpf(ds)
        lower = mpmath.cholesky(mpmath.matrix(graded.mass.toarray()))
        back = lower**-1
        both = back * b.T * stiff * b * back.T
        values = mpmath.eigsy((both + both.T) / 2, eigvals_only=True)
        return np.array([float(mpmath.sqrt(abs(x))) for x in values])


@pytest.mark.parametrize("radius", [1e-2, 1e-4, 1e-6])
def test_every_mode_of_a_slender_beam_is_that_of_fifty_digits(radius):
    """Squares of frequencies have a range of 10²⁵."""
    beam = wire(radius, nodes=5)
    found = taut.modes(beam, 1000)
    assert len(found) == 24
    np.testing.assert_allclose(found.frequencies, exact(beam), rtol=1e-10)


def test_beams_of_different_slenderness_that_are_joined():
    """A thin wire on a thick post, and a body at its end."""
    post = taut.Beam(1, taut.Circle(0.05), density=7800, young=2.1e11, poisson=0.3, nodes=4,
                     frame=(0, 0, 1), ends=("clamped", "free"))  # fmt: skip
    whip = taut.Beam(1, taut.Circle(1e-5), density=7800, young=2.1e11, poisson=0.3, nodes=5,
                     at=(0, 0, 1), frame=(1, 0, 1)).body(mass=1e-3)  # fmt: skip
    made = taut.Beams([post, whip])
    want = exact(made)
    found = taut.modes(made, 10)
    np.testing.assert_allclose(found.frequencies, want[:10], rtol=1e-10)


@pytest.mark.parametrize("unit", ["mass", "length", "time"])
@pytest.mark.parametrize("by", [1e-6, 1e6])
def test_slender_beams_in_other_units(unit, by):
    plain = taut.modes(wire(1e-4, 21), 8).frequencies
    other = taut.modes(wire(1e-4, 21, **{unit: by}), 8).frequencies
    np.testing.assert_allclose(other * (by if unit == "time" else 1), plain, rtol=1e-13)


def test_what_is_not_verified_is_shown_as_such(monkeypatch):
    monkeypatch.setattr(spectrum, "EXACT", -1.0)
    found = taut.modes(wire(1e-3, 11), 4)
    assert np.all(np.isinf(found.errors))
    assert found.stable is None
    assert "lost in round-off" in str(found)
    assert str(found).count("not verified") == 4


def test_the_fastest_modes_of_a_slender_beam_are_verified_too():
    found = taut.modes(wire(1e-6, 11), 1000)
    assert len(found) == 60
    assert np.all(found.errors <= 1e-6 * np.abs(found.eigenvalues))


@pytest.mark.parametrize("radius", [1e-2, 1e-4, 1e-5])
def test_slender_beams_that_are_damped_or_pushed_along(radius):
    """Kelvin–Voigt damping of each mode, and Beck's column at 20.05 EI/L²."""
    plain = taut.modes(wire(radius, 31), 6)
    tau, omega = 0.02 / plain.frequencies[0], plain.frequencies
    beam = taut.Beam(1.0, taut.Circle(radius), density=7800, young=2.1e11, poisson=0.3, nodes=31,
                     ends=("clamped", "free"), damping=tau)  # fmt: skip
    want = -tau * omega**2 / 2 + 1j * omega * np.sqrt(1 - (tau * omega / 2) ** 2 + 0j)
    found = taut.modes(beam, 6)
    np.testing.assert_allclose(found.eigenvalues, want, rtol=1e-8)
    for load, stable in ((19.5, True), (20.5, False)):
        column = wire(radius, 31)
        push = -load * column.stiffness[0, 0, 0]
        rest = taut.equilibrium(column.load(force=(0, push, 0), follower=True))
        assert rest.stable is None
        assert taut.modes(rest, 4).stable is stable
