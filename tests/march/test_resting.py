"""Rest and modes of mechanisms with beams, against published numbers and closed forms."""

import numpy as np
import pytest

import taut

ALONG_X = np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]])  # second axis along x, third along z


def cantilever(beam: taut.Beam) -> tuple:
    m = taut.Mechanism()
    made = m.beam("rod", beam)
    m.fixed(m.ground, made.root, at=made.root.position)
    return m, made


def bend(nodes: int, **more) -> taut.Beam:
    """Bathe & Bolourchi 1979: 45° of a circle of radius 100."""
    return taut.Beam(
        25 * np.pi, taut.Square(1.0), density=1, young=1e7, poisson=0, nodes=nodes, frame=ALONG_X,
        curvature=(0, 0, 0.01), **more,
    )  # fmt: skip


def test_45_degree_bend_is_that_of_the_beam_and_converges_to_the_exact_one():
    exact = np.array([47.150438574, 15.684800534, 53.474858792])  # a true arc, P = 600
    errors = []
    for nodes in (9, 17):
        m, made = cantilever(bend(nodes))
        m.force(made.tip, (0, 0, 600))
        found = made.positions(m.equilibrium().q)
        twin = taut.equilibrium(bend(nodes, ends=("clamped", "free")).load(force=(0, 0, 600)))
        np.testing.assert_allclose(found, twin.positions, atol=1e-9)
        errors.append(np.abs(found[-1] - exact).max())
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.15)


def soft(nodes: int) -> taut.Beam:
    stiff = (100, 100, 100, 1e4, 1e4, 1e4)
    return taut.Beam(10, inertia=(1, 2, 1, 1, 1, 1), stiffness=stiff, nodes=nodes, frame=ALONG_X)


def test_a_moment_rolls_a_beam_into_half_a_circle():
    errors = []
    for nodes in (11, 21):
        stiff = (100, 100, 100, 1e4, 1e4, 1e4)
        rod = taut.Beam(10, inertia=(1, 2, 1, 1, 1, 1), stiffness=stiff, nodes=nodes, frame=ALONG_X)
        m, made = cantilever(rod)
        m.torque(made.tip, (0, 0, 10 * np.pi))
        tip = made.positions(m.equilibrium().q)[-1]
        errors.append(np.abs(tip - [0, 20 / np.pi, 0]).max())
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
    assert errors[1] < 0.1


def test_a_force_and_a_moment_wind_a_beam_into_a_helix():
    """Ibrahimbegovic 1997, half a turn: dead loads, of which the moment has no potential."""
    exact, errors = np.array([0.71148103, 6.28566443, 2.75073621]), []
    for nodes in (11, 21):
        m, made = cantilever(soft(nodes))
        m.force(made.tip, (0, 0, 2.5))
        m.torque(made.tip, (0, 0, 10 * np.pi))
        errors.append(np.abs(made.positions(m.equilibrium().q)[-1] - exact).max())
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)


def timoshenko(nodes: int) -> taut.Beam:
    r, shear = 0.025**2, 0.32967033
    return taut.Beam(
        1, inertia=(r, 2 * r, r, 1, 1, 1), stiffness=(r, r, r, shear, 1, shear), nodes=nodes,
        frame=ALONG_X,
    )  # fmt: skip


def test_frequencies_of_a_timoshenko_beam():
    exact = np.array([0.0873907862, 0.5297200423])
    errors = []
    for nodes in (21, 41):
        m, _ = cantilever(timoshenko(nodes))
        found = m.modes(count=4).frequencies
        errors.append(np.abs(found[[0, 2]] - exact))
        np.testing.assert_allclose(found[[1, 3]], found[[0, 2]], rtol=1e-6)  # the other plane
    np.testing.assert_allclose(errors[0] / errors[1], 4, rtol=0.05)


def test_a_free_beam_has_six_motions_without_stiffness():
    m = taut.Mechanism()
    m.beam("rod", timoshenko(11))
    found = m.modes(count=8)
    assert np.all(found.frequencies[:6] == 0)
    twin = taut.modes(timoshenko(11), count=8)
    np.testing.assert_allclose(found.frequencies[6:], twin.frequencies[6:], rtol=1e-7)


def test_joints_and_a_hundred_nodes():
    """A hinged beam whose tip carries a body on a hinge: two links that swing, and one that bends.

    The slowest motions are those of the rigid double pendulum to what bending gives way.
    """
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    rod = taut.Beam(
        1, taut.Square(0.05), density=1e3, young=1e9, poisson=0.3, nodes=101, frame=(0, 0, -1)
    )
    made = m.beam("rod", rod)
    bob = m.body("bob", mass=1.0, inertia=(0.01, 0.01, 0.01), at=(0, 0, -1.5))
    m.revolute(m.ground, made.root, at=(0, 0, 0), axis=(0, 1, 0))
    m.revolute(made.tip, bob, at=(0, 0, -1), axis=(0, 1, 0))
    found = m.modes(count=3)
    heavy, g = 2.5, 9.81
    mass = np.array([[heavy / 3 + 1, 0.5], [0.5, 0.25 + 0.01]])
    pull = g * np.diag([heavy / 2 + 1, 0.5])
    squares = np.sort(np.linalg.eigvals(np.linalg.solve(mass, pull)).real)
    np.testing.assert_allclose(found.frequencies[:2], np.sqrt(squares), rtol=5e-3)
    assert found.stable
    assert len(found.shapes[0]) == 101 * 9 + 12


def test_what_nothing_holds_does_not_rest():
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    m.beam("rod", timoshenko(7))
    with pytest.raises(taut.NoEquilibrium, match="nothing holds rod: under gravity"):
        m.equilibrium()


@pytest.mark.parametrize(("young", "stable"), [(2e11, False), (5e6, True)])
def test_a_balance_that_is_not_stable_says_so(young, stable):
    """An inverted pendulum beside a beam that is far stiffer than gravity."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    steel = {"density": 7800, "young": young, "poisson": 0.3}
    rod = m.beam("rod", taut.Beam(1.0, taut.Square(0.05), **steel, nodes=9, frame=ALONG_X))
    m.fixed(m.ground, rod.root, at=rod.root.position)
    tilt = 0.3 if not stable else np.pi - 0.3
    at = (np.sin(tilt), 1, np.cos(tilt))
    m.body("bob", mass=1, inertia=(0.1, 0.1, 0.1), at=at)
    m.revolute("pivot", m.ground, "bob", at=(0, 1, 0), axis=(0, 1, 0))
    found = m.equilibrium(stable=False)
    assert found.stable is stable is m.modes(found).stable
    assert ("not stable" in str(found)) != stable
    further = m.equilibrium()
    assert further.stable is m.modes(further).stable is True
    bob = m["bob"].first
    np.testing.assert_allclose(further.q[bob : bob + 3], [0, 1, -1], atol=1e-9)
    np.testing.assert_allclose(rod.positions(further.q), rod.positions(found.q), atol=1e-9)


def test_a_beam_that_stands_on_its_hinge_comes_to_hang():
    """From exactly upright, where nothing pushes it to either side."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    rod = m.beam(
        "rod", length=1, section=taut.Square(0.02), density=1000, young=1e9, poisson=0.3, nodes=9,
        frame=(0, 0, 1),
    )  # fmt: skip
    m.revolute(m.ground, rod.root, at=(0, 0, 0), axis=(0, 1, 0))
    assert m.equilibrium(stable=False).stable is False
    found = m.equilibrium()
    assert found.stable
    weight = 1000 * 0.02**2 * 9.81
    longer = weight / 2 / (1e9 * 0.02**2)
    np.testing.assert_allclose(rod.positions(found.q)[-1], [0, 0, -1 - longer], atol=1e-9)
    np.testing.assert_array_equal(found.q, m.equilibrium().q)  # to the same side each time


@pytest.mark.parametrize("over", [0.95, 1.05, 2.0])
def test_a_column_buckles_as_the_beam_does(over):
    """Euler's column, pressed straight: to the side in which it is weaker."""
    column = {"length": 1, "section": taut.Rectangle(0.02, 0.03), "frame": (0, 0, 1), "nodes": 13}
    column |= {"density": 1000, "young": 1e8, "poisson": 0.3}
    critical = np.pi**2 / 4 * 1e8 * 0.03 * 0.02**3 / 12
    down = {"force": (0, 0, -over * critical)}
    m = taut.Mechanism()
    rod = m.beam("rod", taut.Beam(**column).load(**down))
    m.fixed(m.ground, rod.root, at=(0, 0, 0))
    straight, found = m.equilibrium(stable=False), m.equilibrium()
    assert straight.stable is (over < 1)
    assert found.stable
    np.testing.assert_allclose(rod.positions(straight.q)[:, :2], 0, atol=1e-12)
    held = {"ends": ("clamped", "free"), **column}
    pushed = taut.Beam(**held).load(**down).load(force=(0.1 * critical, 0, 0))
    rest = taut.equilibrium(taut.Beam(**held).load(**down), start=taut.equilibrium(pushed))
    assert rest.stable
    mirror = [np.sign(rod.positions(found.q)[-1, 0] * rest.tip[0]) or 1, 1, 1]  # either side
    np.testing.assert_allclose(rod.positions(found.q), mirror * rest.positions, atol=1e-8)
    assert (np.abs(rest.tip[0]) > 0.3) == (over > 1)


def test_loads_without_a_potential_do_not_lead_downhill():
    """A follower that lets a column flutter: there is no energy that could fall."""
    m = taut.Mechanism()
    column = {"section": taut.Rectangle(0.02, 0.03), "density": 1e3, "young": 1e8, "poisson": 0.3}
    beam = taut.Beam(1, **column, nodes=9, frame=(0, 0, 1))
    rod = m.beam("rod", beam.load(force=(0, -60, 0), follower=True))
    m.fixed(m.ground, rod.root, at=(0, 0, 0))
    found = m.equilibrium()
    assert found.stable is m.modes(found).stable is False
    np.testing.assert_allclose(rod.positions(found.q)[:, :2], 0, atol=1e-12)
