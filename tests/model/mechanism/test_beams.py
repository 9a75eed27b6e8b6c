"""Beams as parts: nodes with names, what they take, and what is refused."""

import numpy as np
import pytest

import taut

SQUARE = {"section": taut.Square(0.1), "density": 1000, "young": 1e7, "poisson": 0.3}


def blade(m: taut.Mechanism, **more):
    return m.beam("blade", **{"length": 2.0, **SQUARE, "nodes": 5, "frame": (1, 0, 0)} | more)


def test_nodes_are_parts_by_name():
    m = taut.Mechanism()
    made = blade(m)
    assert m["blade"] is made
    assert m["blade 4"] is made.tip
    assert made.root.shape.name == "plate"  # no extent along the beam
    assert sum(node.mass for node in made.nodes) == pytest.approx(20.0)
    assert made.near(1.1) is made.nodes[2]
    np.testing.assert_allclose(made.positions(m.start()[0])[-1], (2, 0, 0), atol=1e-15)
    assert np.abs(made.strain(m.start()[0])).max() < 1e-14


def test_a_beam_and_its_parameters_are_the_same():
    one, two = taut.Mechanism(), taut.Mechanism()
    blade(one)
    two.beam("blade", taut.Beam(2.0, **SQUARE, nodes=5, frame=(1, 0, 0)))
    np.testing.assert_array_equal(one.start()[0], two.start()[0])


def test_joints_hold_nodes():
    m = taut.Mechanism()
    made = blade(m)
    m.fixed(m.ground, made.root, at=(0, 0, 0))
    hub = m.body("hub", mass=1, inertia=(1, 1, 1), at=(2, 0, 0))
    m.revolute("hinge", made.tip, hub, at=(2, 0, 0), axis=(0, 0, 1))
    assert m.assemble().freedom == 6 * 5 - 6 + 1


def test_it_starts_as_a_rigid_body_moves():
    m = taut.Mechanism()
    made = blade(m, velocity=(1, 0, 0), angular_velocity=(0, 0, 3))
    np.testing.assert_allclose(made.tip.velocity, (1, 6, 0), atol=1e-14)
    np.testing.assert_array_equal(made.tip.angular_velocity, (0, 0, 3))
    each = np.arange(15.0).reshape(5, 3)
    other = m.beam("other", taut.Beam(1, **SQUARE, nodes=5), velocity=each)
    np.testing.assert_array_equal(other.nodes[3].velocity, each[3])


def test_bodies_on_a_beam_are_in_its_nodes():
    m = taut.Mechanism()
    beam = taut.Beam(2.0, **SQUARE, nodes=5, frame=(1, 0, 0))
    beam.body(at="tip", mass=3.0, inertia=(0.1, 0.1, 0.1), offset=(0, 0, 0.5))
    tip = m.beam("blade", beam).tip
    assert tip.shape.name == "body"
    assert tip.mass == pytest.approx(3 + 2.5)
    np.testing.assert_allclose(tip.position, (2, 0, 0.5 * 3 / 5.5), atol=1e-14)


def test_loads_of_a_beam_act_on_its_nodes():
    m = taut.Mechanism()
    beam = taut.Beam(2.0, **SQUARE, nodes=5, frame=(1, 0, 0))
    beam.load(at="all", force=(0, 0, taut.s))  # per length
    beam.load(at="tip", moment=(0, 4, 0))
    m.beam("blade", beam)
    pulls = [float(x.given[2]) for x in m.forces.values() if not x.torque]
    assert pulls == pytest.approx([1 / 24, 0.25, 0.5, 0.75, 11 / 24])  # ∫ N s ds
    assert [tuple(map(float, x.given)) for x in m.forces.values() if x.torque] == [(0, 4, 0)]


def anisotropic():
    return np.diag([1.0, 2.0, 1.0, 1.0, 1.0, 2.0])


def coupled():
    found = np.diag([1.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    found[0, 3] = found[3, 0] = 0.1
    return found


def in_micrometres():
    """Lengths in them: what couples is small beside the mass, and not a bit less wrong."""
    units = np.array([1e-12, 1e-12, 1e-12, 1, 1, 1])
    return units[:, None] * coupled() * units


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"ends": ("clamped", "free")}, "held already"),
        ({"damping": -0.1}, "negative"),
        ({"gravity": (0, 0, -9)}, "gravity of its own"),
        ({"inertia": anisotropic(), "stiffness": np.ones(6)}, "depends on the direction"),
        ({"inertia": coupled(), "stiffness": np.ones(6)}, "no centre of mass"),
        ({"inertia": in_micrometres(), "stiffness": np.ones(6)}, "no centre of mass"),
        ({"inertia": (1, 3, 1, 1, 1, 1), "stiffness": np.ones(6)}, "not that of a body"),
        ({"inertia": (1, 1e-13, 1, 1, 1, 1), "stiffness": np.ones(6)}, "against twisting"),
        ({"velocity": (1, 2)}, "velocity of blade cannot be read"),
        ({"lenght": 2}, "did you mean length"),
    ],
)
def test_what_is_no_part(given, says):
    made = {"length": 2.0, "nodes": 5} | given | ({} if "inertia" in given else SQUARE)
    with pytest.raises(taut.TautError, match=says):
        taut.Mechanism().beam("blade", **made)


def test_what_is_no_beam():
    m = taut.Mechanism()
    beam = taut.Beam(1, **SQUARE, nodes=3)
    with pytest.raises(taut.TautError, match="is no beam"):
        m.beam("blade", taut.Beams([beam]))
    with pytest.raises(taut.TautError, match="given twice"):
        m.beam("blade", beam, length=2)
    with pytest.raises(taut.TautError, match="made of nothing"):
        m.beam("blade")
    made = m.beam("blade", beam)
    with pytest.raises(taut.TautError, match="already"):
        m.point("blade 1", mass=1, at=(0, 0, 0))
    with pytest.raises(taut.TautError, match="one of its nodes"):
        m.force(made, (0, 0, 1))
    with pytest.raises(taut.TautError, match="one of its nodes"):
        m.force("blade", (0, 0, 1))
    with pytest.raises(taut.TautError, match="not on blade"):
        made.near(1.5)
