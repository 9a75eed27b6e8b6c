"""Beams: what they are made of, their shape, bodies, loads, and what is refused."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.errors import InputError, ModelError, TautError
from taut.lie import SE3, SO3

t, s = taut.t, taut.s
SOFT = {"section": taut.Square(0.05), "density": 1000, "young": 1e7, "poisson": 0.3, "nodes": 11}
schemes = pytest.mark.parametrize("method", ["poisson", "hamel", "variational"])


def soft(length=1, **options):
    return taut.Beam(length, **{**SOFT, **options})


# ---- what it is made of ------------------------------------------------------------------------


def test_sections_and_matrices_make_the_same_beam():
    one = soft()
    square, shear = taut.Square(0.05), 1e7 / 2.6
    two = taut.Beam(
        1, inertia=np.diag(square.inertia(1000)), stiffness=square.stiffness(1e7, shear), nodes=11
    )
    np.testing.assert_allclose(one.inertia, two.inertia, rtol=1e-15)
    np.testing.assert_allclose(one.stiffness, two.stiffness, rtol=1e-15)
    other = soft(poisson=None, shear_modulus=shear)
    assert np.array_equal(other.stiffness, one.stiffness)
    assert one.mass == pytest.approx(2.5, rel=1e-14)
    assert one.spacing == pytest.approx(0.1)
    assert one.weights.sum() == pytest.approx(1)
    assert soft(cells="full").weights.sum() == pytest.approx(1.1)


def test_sections_that_vary():
    """Inertia at the nodes, stiffness at the edges."""

    def taper(x):
        return taut.Circle(0.1 - 0.05 * x)

    beam = soft(section=taper)
    for k, x in enumerate(beam.places):
        assert np.array_equal(beam.inertia[k], taper(x).inertia(1000))
    for k, x in enumerate(beam.middles):
        assert np.array_equal(beam.stiffness[k], taper(x).stiffness(1e7, 1e7 / 2.6))
    fine = soft(section=taper, nodes=2001)
    assert fine.mass == pytest.approx(1000 * np.pi * (0.1**3 - 0.05**3) / 0.15, rel=1e-6)


def test_matrices_that_vary_are_functions_or_stacks():
    def heavy(x):
        return [1 + x, 1, 1, 2, 2, 2]

    one = taut.Beam(1, inertia=heavy, stiffness=lambda x: np.eye(6) * (1 + x), nodes=5)
    two = taut.Beam(
        1,
        inertia=[np.diag(heavy(x)) for x in one.places],
        stiffness=[np.eye(6) * (1 + x) for x in one.middles],
        nodes=5,
    )
    assert np.array_equal(one.inertia, two.inertia)
    assert np.array_equal(one.stiffness, two.stiffness)


@schemes
def test_a_beam_that_varies_in_nothing_is_a_uniform_one(method):
    """The kernels with rows of numbers and those with slots."""
    v0 = np.zeros((11, 6))
    v0[:, 3], v0[:, 0] = np.linspace(0, 1, 11) ** 2, 0.5
    settings = {"v0": v0, "duration": 0.05, "step": 1e-4, "method": method}
    one, two = soft(), soft()
    two.inertia = two.inertia * (1 + 1e-14 * np.arange(11)[:, None, None])
    two.stiffness = two.stiffness * (1 + 1e-14 * np.arange(10)[:, None, None])
    a, b = (taut.simulate(beam, **settings) for beam in (one, two))
    np.testing.assert_allclose(a.positions, b.positions, rtol=0, atol=1e-12)
    assert np.abs(a.strain).max() > 0.01


# ---- its shape ---------------------------------------------------------------------------------


def test_an_arc_has_its_nodes_on_the_circle():
    """Bathe's bend: 45° of radius 100; bending about axis 3 turns the tangent towards −x."""
    beam = taut.Beam(
        100 * np.pi / 4,
        taut.Square(1),
        density=1,
        young=1e7,
        poisson=0,
        nodes=9,
        curvature=(0, 0, -0.01),
    )
    pose = beam.mesh().pose
    angle = beam.places / 100
    wanted = 100 * np.stack([1 - np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    np.testing.assert_allclose(pose[:, :3, 3], wanted, rtol=0, atol=1e-12)
    tangent = np.stack([np.sin(angle), np.cos(angle), 0 * angle], axis=1)
    np.testing.assert_allclose(pose[:, :3, 1], tangent, rtol=0, atol=1e-14)


def test_a_helix_is_a_helix():
    """Constant curvature and twist: every node is a power of the same screw."""
    beam = soft(curvature=(2.0, 1.0, -3.0), at=(1, 2, 3), frame=(0, 0, 1))
    first = np.eye(4)
    first[:3, :3], first[:3, 3] = beam.frame, beam.at
    for k, x in enumerate(beam.places):
        wanted = first @ SE3.exp(x * np.array([2.0, 1, -3, 0, 1, 0]))
        np.testing.assert_allclose(beam.mesh().pose[k], wanted, rtol=0, atol=1e-13)


def test_curvature_is_expressions_or_a_function():
    one = soft(curvature=(sp.sin(s), 0, 1 + s))
    two = soft(curvature=lambda x: (np.sin(x), 0, 1 + x))
    np.testing.assert_allclose(one.reference, two.reference, rtol=0, atol=1e-15)
    assert np.abs(one.reference[0] - one.reference[-1]).max() > 0.5


@schemes
def test_a_reference_shape_is_at_rest(method):
    beam = soft(curvature=(1, 0.5, -2), frame=(1, 2, 3))
    run = taut.simulate(beam, duration=0.05, method=method)
    np.testing.assert_allclose(run.positions[-1], run.positions[0], rtol=0, atol=1e-13)
    assert run.energy.max() < 1e-20


@pytest.mark.parametrize("to", [(0, 1, 0), (0, -1, 0), (0.6, -0.8, 0), (1, 2, -3), (1e-9, -1, 0)])
def test_a_direction_makes_a_frame(to):
    beam = soft(frame=to)
    unit = np.array(to) / np.linalg.norm(to)
    np.testing.assert_allclose(beam.frame[:, 1], unit, rtol=0, atol=1e-12)
    np.testing.assert_allclose(beam.frame.T @ beam.frame, np.eye(3), rtol=0, atol=1e-15)
    assert np.linalg.det(beam.frame) == pytest.approx(1)
    np.testing.assert_allclose(beam.mesh().pose[-1, :3, 3], unit, rtol=0, atol=1e-12)


def test_a_frame_is_taken_as_it_is(rng):
    frame = SO3.exp(rng.normal(size=3))
    assert np.array_equal(soft(frame=frame).frame, frame)


@schemes
def test_where_a_beam_is_does_not_matter(rng, method):
    """Turned and shifted as a whole, start and all."""
    frame, at = SO3.exp(rng.normal(size=3)), rng.normal(size=3)
    start = {"strain0": 0.2 * rng.normal(size=(10, 6)), "v0": rng.normal(size=(11, 6))}
    settings = {**start, "duration": 0.02, "step": 1e-4, "method": method}
    one, two = (taut.simulate(b, **settings) for b in (soft(), soft(at=at, frame=frame)))
    np.testing.assert_allclose(two.positions, one.positions @ frame.T + at, rtol=0, atol=1e-11)
    np.testing.assert_allclose(two.strain, one.strain, rtol=0, atol=1e-9)


def test_the_start_is_built_from_its_strain():
    """γ = (0, 0, κ, 0, ε, 0) everywhere: an arc that is longer."""
    beam = soft(nodes=41)
    run = taut.simulate(beam, strain0=[0, 0, -0.5, 0, 0.1, 0], duration=1e-4)
    angle, radius = 0.5 * beam.places, 1.1 / 0.5
    wanted = radius * np.stack([1 - np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    np.testing.assert_allclose(run.positions[0], wanted, rtol=0, atol=2e-5)
    assert run.certificate.compatibility < 1e-13


# ---- bodies ------------------------------------------------------------------------------------


def test_a_body_has_the_inertia_of_its_points(rng):
    """Of a cloud of points, which is a body about its centre of mass."""
    points, masses = rng.normal(size=(20, 3)), rng.random(20)
    centre = masses @ points / masses.sum()
    about = sum(m * ((p - centre) @ (p - centre) * np.eye(3) - np.outer(p - centre, p - centre))
                for m, p in zip(masses, points, strict=True))  # fmt: skip
    beam = soft().body(at="tip", mass=masses.sum(), inertia=about, offset=centre)
    wanted = np.zeros((6, 6))
    for mass, p in zip(masses, points, strict=True):
        speed = np.hstack([-SO3.hat(p), np.eye(3)])  # v + ω × p
        wanted += mass * speed.T @ speed
    np.testing.assert_allclose(
        np.reshape(beam.bodies[0].inertia, (6, 6)), wanted, rtol=0, atol=1e-12
    )
    assert beam.mass == pytest.approx(2.5 + masses.sum())
    mesh = beam.mesh()
    found = mesh.weight[-1] * (mesh.inertia[-1] - soft().inertia[-1])
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


@schemes
def test_bodies_carry_momentum(rng, method):
    """Off the axis, at both ends and between: momenta in space stay, energy does not drift."""
    beam = soft(at=(0.1, 0.2, 0.3)).body(at="root", mass=1, inertia=(0.01, 0.02, 0.03))
    beam.body(at=0.5, mass=2, offset=(0.05, 0, 0.02), inertia=(0.001,) * 3)
    beam.body(at="tip", mass=0.5, offset=(0, 0.1, 0), inertia=(0.001,) * 3)
    velocity = np.tile([0.3, -0.2, 0.5, 0, 0, 0], (11, 1))
    arm = beam.places[:, None] * np.array([0, 1.0, 0])
    velocity[:, 3:] = np.cross(velocity[:, :3], arm) + np.array([1, 0, 2])
    run = taut.simulate(beam, v0=velocity, duration=0.5, step=1e-4, method=method)
    spin, mesh = velocity[0, :3], run.mesh
    linear, angular = np.zeros(3), np.zeros(3)
    for j in range(11):  # a rigid motion: momenta of all parts
        parts = [
            (
                0.25 if 0 < j < 10 else 0.125,
                np.zeros(3),
                np.diag(mesh.weight[j] * soft().inertia[j])[:3],
            )
        ]
        parts += {0: [(1, np.zeros(3), np.array([0.01, 0.02, 0.03]))],
                  5: [(2, np.array([0.05, 0, 0.02]), np.full(3, 0.001))],
                  10: [(0.5, np.array([0, 0.1, 0]), np.full(3, 0.001))]}.get(j, [])  # fmt: skip
        for mass, offset, rotary in parts:
            speed = velocity[j, 3:] + np.cross(spin, offset)
            linear += mass * speed
            angular += rotary * spin + np.cross(run.positions[0, j] + offset, mass * speed)
    np.testing.assert_allclose(run.linear_momentum[0], linear, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.angular_momentum[0], angular, rtol=0, atol=1e-12)
    changes = run.certificate.momenta
    exact = 1e-12 if method == "variational" else 1e-3
    assert changes["linear"] < exact
    assert changes["angular"] < exact


def test_a_small_body_that_only_turns_is_seen():
    """Moments of inertia are tiny numbers where lengths are: they are compared with their own."""

    def tip(unit):
        made = {
            "inertia": [0.02 * unit] * 3 + [1 / unit] * 3,
            "stiffness": [2 * unit**3] * 3 + [90 * unit] * 3,
            "nodes": 9,
        }
        beam = taut.Beam(unit, ends=("clamped", "free"), **made)
        beam.body(mass=0, inertia=[0.03 * unit**2] * 3).load(force=(unit, 0, 0))
        run = taut.simulate(beam, duration=0.5, step=5e-3, every=100)
        return run.positions[-1, -1] / unit

    np.testing.assert_allclose(tip(1e-9), tip(1), rtol=0, atol=1e-12)


def test_a_body_on_a_clamped_node_does_nothing():
    ends = {"ends": ("clamped", "free")}
    one = soft(**ends).load(force=(1, 0, 0))
    two = soft(**ends).load(force=(1, 0, 0)).body(at="root", mass=100)
    a, b = (taut.simulate(beam, duration=0.05) for beam in (one, two))
    assert np.array_equal(a.positions, b.positions)


# ---- loads -------------------------------------------------------------------------------------


def trapezoids(run, function):
    """The impulse up to each state, as every scheme counts it."""
    values = np.array([function(x) for x in run.t])
    steps = np.diff(run.t)[:, None] * 0.5 * (values[1:] + values[:-1])
    return np.vstack([np.zeros(values.shape[1]), np.cumsum(steps, axis=0)])


@pytest.mark.parametrize("place", ["tip", "root", 0.31])
def test_dead_loads_bring_their_impulse(place):
    beam = soft().load(at=place, force=(1, sp.cos(50 * t), -2 * t), moment=(0.1, 0, t))
    run = taut.simulate(beam, duration=0.1, step=2e-4, method="variational")
    impulse = trapezoids(run, lambda x: [1, np.cos(50 * x), -2 * x])
    np.testing.assert_allclose(run.linear_momentum, impulse, rtol=0, atol=1e-13)
    shares = {"tip": {10: 1}, "root": {0: 1}, 0.31: {3: 0.9, 4: 0.1}}[place]
    force = np.stack([0 * run.t + 1, np.cos(50 * run.t), -2 * run.t], axis=1)
    torque = sum(k * np.cross(run.positions[:, node], force) for node, k in shares.items())
    torque += np.stack([0 * run.t + 0.1, 0 * run.t, run.t], axis=1)
    steps = np.diff(run.t)[:, None] * 0.5 * (torque[1:] + torque[:-1])
    wanted = np.vstack([np.zeros(3), np.cumsum(steps, axis=0)])
    np.testing.assert_allclose(run.angular_momentum, wanted, rtol=0, atol=1e-13)


def test_places_between_nodes():
    """As on a lever: supports carry what they should, and a body its mass and moment."""
    rail = soft(nodes=8, ends=("pinned", "roller")).load(at=0.3, force=(0, 0, -0.1))
    held = taut.equilibrium(rail).reactions
    assert held[0][5] == pytest.approx(0.07, rel=1e-4)
    assert held[0][5] + held[7][5] == pytest.approx(0.1)
    mesh = soft(nodes=8).body(at=0.3, mass=2.0).mesh()
    mass = (mesh.inertia - soft(nodes=8).mesh().inertia)[:, 3, 3] * mesh.weight
    assert mass.sum() == pytest.approx(2.0)
    assert mass @ mesh.s == pytest.approx(0.6)
    assert soft(nodes=11).nodes_at(0.3) == [(3, 1.0)]


def test_followers_turn_with_the_node():
    beam = soft().load(at="tip", force=(5, 1, 50 * t), moment=(0, 0, 1), follower=True)
    run = taut.simulate(beam, duration=0.2, step=2e-4, method="variational")
    force = np.stack([np.full(len(run), 5.0), np.full(len(run), 1.0), 50 * run.t], axis=1)
    there = np.einsum("tij,tj->ti", run.frames[:, -1], force)
    steps = np.diff(run.t)[:, None] * 0.5 * (there[1:] + there[:-1])
    np.testing.assert_allclose(np.diff(run.linear_momentum, axis=0), steps, rtol=0, atol=1e-13)
    assert np.abs(run.frames[-1, -1] - np.eye(3)).max() > 0.1


@pytest.mark.parametrize(
    "force", [(1 + s, 0, s**2), ((1 + s) * t, 0, sp.sin(t) * s)], ids=["steady", "varying"]
)
def test_distributed_loads_are_per_length(force):
    beam = soft().load(at="all", force=force)
    run = taut.simulate(beam, duration=0.05, step=2e-4, method="variational")
    total = sp.Matrix(force).applyfunc(lambda e: sp.integrate(e, (s, 0, beam.length)))
    function = sp.lambdify(t, total, "numpy")
    impulse = trapezoids(run, lambda x: np.ravel(function(x)).astype(float))
    np.testing.assert_allclose(run.linear_momentum, impulse, rtol=0, atol=1e-13)


def test_distributed_followers():
    """A moment per length about each tangent: all of it is spin."""
    beam = soft().load(at="all", moment=(0, 0.01, 0), follower=True)
    run = taut.simulate(beam, duration=0.1, step=2e-4, method="variational")
    np.testing.assert_allclose(run.angular_momentum[-1], [0, 0.01 * 0.1, 0], rtol=0, atol=1e-14)
    assert np.abs(run.strain).max() < 1e-12


def test_loads_at_one_place_add_up():
    """Steady and varying ones, dead ones and followers, distributed and not."""
    one = soft()
    for k in range(1, 4):
        one.load(at="tip", force=(k, 0, k * t))
    one.load(at="all", force=(0, 0, 0.5)).load(at="all", force=(0, 0, t))
    one.load(at="tip", force=(0, 1, 0), follower=True).load(
        at="tip", force=(0, t, 0), follower=True
    )
    two = soft().load(at="tip", force=(6, 0, 6 * t)).load(at="all", force=(0, 0, 0.5 + t))
    two.load(at="tip", force=(0, 1 + t, 0), follower=True)
    a, b = (taut.simulate(beam, duration=0.1, step=2e-4) for beam in (one, two))
    np.testing.assert_allclose(a.positions, b.positions, rtol=0, atol=1e-12)


@schemes
def test_gravity_makes_a_beam_fall(method):
    beam = soft(gravity=(0, 0, -9.81), curvature=(1, 0, 2)).body(mass=1, offset=(0.1, 0, 0))
    run = taut.simulate(beam, duration=0.5, step=2e-4, method=method)
    fall = run.positions - run.positions[0]
    wanted = -0.5 * 9.81 * run.t**2
    np.testing.assert_allclose(fall[..., 2], wanted[:, None].repeat(11, 1), rtol=0, atol=1e-11)
    assert np.abs(fall[..., :2]).max() < 1e-11
    assert np.abs(run.strain).max() < 1e-9
    assert run.certificate.work == pytest.approx(run.energy[-1], rel=1e-9)


def test_loads_on_what_is_held_are_allowed():
    """They do nothing there."""
    held = soft(ends=("clamped", "pinned"))
    held.load(at="root", force=(1, 1, 1), moment=(1, t, 0)).load(at="tip", force=(1, 1, 1))
    run = taut.simulate(held, duration=0.02)
    assert np.abs(run.positions[-1] - run.positions[0]).max() < 1e-14
    assert run.certificate.work == 0


# ---- what is refused ---------------------------------------------------------------------------


def but(diagonal, at, value):
    matrix = np.diag(diagonal).astype(float)
    matrix[at] = value
    return matrix


BAD_BEAMS = [
    ({"length": 0}, "the length of a beam is not positive"),
    ({"length": -2}, "the length of a beam is not positive"),
    ({"length": "long"}, "the length of a beam is not a number"),
    ({"nodes": 1}, "a beam needs nodes"),
    ({"nodes": 10.5}, "a beam needs nodes"),
    ({"nodes": float("inf")}, "a beam needs nodes"),
    ({"nodes": True}, "a beam needs nodes"),
    ({"density": -1}, "the density is not positive"),
    ({"density": None}, "is not known: without the density"),
    ({"young": None}, "is not known: without Young's modulus"),
    ({"young": 0}, "Young's modulus is not positive"),
    ({"poisson": 0.6}, "Poisson's ratio is impossible"),
    ({"poisson": -1}, "Poisson's ratio is impossible"),
    ({"poisson": None}, "is not known: without Poisson's ratio"),
    ({"shear_modulus": 1e6}, "one too many"),
    ({"poisson": None, "shear_modulus": -1}, "the shear modulus is not positive"),
    ({"section": None}, "a beam is made of a section, or of inertia and stiffness"),
    ({"inertia": [1] * 6, "stiffness": [1] * 6}, "a beam is made of a section, or of"),
    ({"section": lambda x: 0.1}, "there is no section at s = 0"),
    ({"at": (0, 0)}, "the place of a beam cannot be read"),
    ({"at": (0, 0, np.nan)}, "the place of a beam cannot be read"),
    ({"frame": (0, 0, 0)}, "the direction of a beam has no direction"),
    ({"frame": 2 * np.eye(3)}, "the frame of a beam is not a rotation"),
    ({"frame": np.diag([1, 1, -1])}, "the frame of a beam is not a rotation"),
    ({"frame": but([1, 1, 1], (0, 1), 1e-6)}, "the frame of a beam is not a rotation"),
    ({"frame": np.full((3, 3), np.nan)}, "the frame of a beam is not finite"),
    ({"frame": np.eye(4)}, "the frame of a beam has the wrong shape"),
    ({"frame": "north"}, "the frame of a beam cannot be read"),
    ({"gravity": 9.81}, "gravity cannot be read"),
    ({"damping": -1e-3}, "the damping of a beam is negative"),
    ({"damping": np.nan}, "the damping of a beam is not finite"),
    ({"cells": "none"}, "cells are unknown"),
    ({"ends": "free"}, "the ends cannot be read"),
    ({"ends": ("free", "free", "free")}, "the ends cannot be read"),
    ({"ends": ("free", 3)}, "an end cannot be read"),
    ({"ends": ("free", "glued")}, "there is no end called 'glued'"),
    ({"curvature": 1}, "the curvature cannot be read"),
    ({"curvature": (1, 2)}, "the curvature cannot be read"),
    ({"curvature": (1, 2, t)}, "the curvature depends on time"),
    ({"curvature": (1, 2, sp.Symbol("x"))}, "contains x"),
    ({"curvature": (0, 0, sp.sqrt(s - 2))}, r"the curvature is not finite at s = 0\.05"),
    ({"curvature": lambda x: (0, 0, np.inf)}, "the curvature at s = 0.05 cannot be read"),
    ({"curvature": (0, 0, 40)}, "half a turn or more between two nodes"),
    ({"ends": {"root": "free", "tip": "free"}}, "the ends cannot be read"),
    ({"at": np.array([1j, 0, 0])}, "the place of a beam cannot be read"),
    ({"frame": 1j * np.eye(3)}, "the frame of a beam cannot be read"),
    ({"section": taut.Square(1e-100)}, "the inertia at s = 0 is not positive definite"),
    ({"section": taut.Square(1e100)}, "the inertia at s = 0 is not finite"),
    (
        {"section": lambda x: taut.Square(1e-90 if x > 0.5 else 1)},
        r"the inertia at s = 0\.6 is not positive definite",
    ),
]


@pytest.mark.parametrize(
    ("options", "message"), BAD_BEAMS, ids=[str(list(o)) for o, _ in BAD_BEAMS]
)
def test_beams_that_cannot_be(options, message):
    options = {"length": 1, **SOFT, **options}
    with pytest.raises(TautError, match=message):
        taut.Beam(**options)


GOOD = np.array([1.0, 1, 1, 2, 2, 2])
BAD_MATRICES = [
    ([1, 1, 1, 2, 2, 0], "at s = {s} is not positive definite"),
    ([1, 1, 1, 2, 2, -1], "at s = {s} is not positive definite"),
    (but(GOOD, (0, 1), 1e-3), "at s = {s} is not symmetric"),
    (but(GOOD, (0, 0), np.nan), "at s = {s} is not finite"),
    (np.ones((6, 6)), "at s = {s} is not positive definite"),
    ([1, 1, 1], "of a beam cannot be read"),
    ("heavy", "of a beam cannot be read"),
    (np.ones((4, 6, 6)), "of a beam has the wrong shape"),
    (lambda x: [1, 1], "of a beam cannot be read"),
    (1j * np.eye(6), "of a beam cannot be read"),
]


@pytest.mark.parametrize("what", ["inertia", "stiffness"])
@pytest.mark.parametrize(("matrix", "message"), BAD_MATRICES)
def test_matrices_that_cannot_be(what, matrix, message):
    given = {"inertia": GOOD, "stiffness": GOOD, what: matrix}
    place = "0" if what == "inertia" else "0.1"
    with pytest.raises(TautError, match=f"the {what} " + message.format(s=place)):
        taut.Beam(1, **given, nodes=6)


def test_a_material_is_not_for_matrices():
    for name in ("density", "young", "shear_modulus"):
        with pytest.raises(InputError, match="inertia and stiffness need no material") as caught:
            taut.Beam(1, inertia=GOOD, stiffness=GOOD, **{name: 3.0})
        assert caught.value.received == f"{name}=3.0"


def test_the_place_of_a_bad_matrix_is_named():
    def stiff(x):
        return [1, 1, 1, 2, 2, 0.5 - x]

    with pytest.raises(ModelError, match=r"the stiffness at s = 0\.5 is not positive definite"):
        taut.Beam(1, inertia=GOOD, stiffness=stiff, nodes=6)


def test_small_entries_are_symmetric_in_their_own_units():
    """A wire: bending is 1e−13 of stretching, and its coupling is judged by itself."""
    wire = np.diag([1e-8, 1e-8, 1e-8, 1e5, 1e5, 1e5])
    wire[0, 1], wire[1, 0] = 3e-9, 2e-9
    with pytest.raises(ModelError, match=r"stiffness at s = 0\.1 is not symmetric"):
        taut.Beam(1, inertia=GOOD, stiffness=wire, nodes=6)
    wire[1, 0] = 3e-9 * (1 + 1e-10)  # as printed
    stiffness = taut.Beam(1, inertia=GOOD, stiffness=wire, nodes=6).stiffness
    np.testing.assert_array_equal(stiffness, np.swapaxes(stiffness, 1, 2))
    beam = taut.Beam(1, inertia=GOOD, stiffness=GOOD, nodes=6)
    small = 1e-14 * np.array([[2.0, 1, 0], [0.5, 2, 0], [0, 0, 2]])
    with pytest.raises(InputError, match="inertia of a body cannot be read"):
        beam.body(mass=1e-9, inertia=small)


def test_small_and_large_entries_are_positive_definite_together():
    """Bending and axial stiffness of a wire differ by many powers of ten."""
    wire = taut.Beam(1, taut.Circle(1e-6), density=8000, young=2e11, poisson=0.3, nodes=5)
    assert np.linalg.cond(wire.stiffness[0]) > 1e11
    units = np.array([1e-9, 1e-9, 1e-9, 1, 1e9, 1])
    coupled = np.outer(units, units) * (np.eye(6) + 0.15)  # whose eigenvalues are below rounding
    assert np.array_equal(taut.Beam(1, inertia=GOOD, stiffness=coupled).stiffness[0], coupled)
    with pytest.raises(ModelError, match="not positive definite"):
        taut.Beam(1, inertia=GOOD, stiffness=[1e-14, 1, 1, 1e10, 1, -1e-9], nodes=5)


BAD_LOADS = [
    ({"at": "middle"}, "there is no such place on a beam"),
    ({"at": 1.2}, "that place is not on the beam"),
    ({"at": -0.1}, "that place is not on the beam"),
    ({"at": np.nan}, "a place on a beam is not finite"),
    ({"force": (1, 2)}, "force cannot be read"),
    ({"force": 1}, "force cannot be read"),
    ({"moment": (1, 2, np.nan)}, "moment is not finite"),
    ({"force": (1, 2, sp.Symbol("F"))}, "force contains F"),
    ({"force": (1, 2, s)}, "force contains s"),
    ({"force": (1, 2, sp.I)}, "force is complex"),
]


@pytest.mark.parametrize(("options", "message"), BAD_LOADS)
def test_loads_that_cannot_be(options, message):
    beam = soft()
    with pytest.raises(TautError, match=message):
        beam.load(**options)
    assert beam.loads == []


BAD_BODIES = [
    ({"mass": -1}, "the mass of a body is negative"),
    ({"mass": "heavy"}, "the mass of a body is not a number"),
    ({"mass": 1, "inertia": (1, 2)}, "the inertia of a body cannot be read"),
    ({"mass": 1, "inertia": (1, 2, -3)}, "the inertia of a body is negative"),
    ({"mass": 1, "inertia": (1, 2, np.nan)}, "the inertia of a body is not finite"),
    ({"mass": 1, "inertia": but([1, 1, 1], (0, 1), 0.5)}, "the inertia of a body cannot be read"),
    ({"mass": 1, "inertia": "thick"}, "the inertia of a body cannot be read"),
    ({"mass": 1, "offset": 0.1}, "the offset of a body cannot be read"),
    ({"mass": 1, "at": "all"}, "there is no such place on a beam"),
]


@pytest.mark.parametrize(("options", "message"), BAD_BODIES)
def test_bodies_that_cannot_be(options, message):
    beam = soft()
    with pytest.raises(InputError, match=message):
        beam.body(**options)
    assert beam.bodies == []


def test_how_a_beam_is_shown():
    text = repr(soft(ends=("clamped", "free")))
    assert "Square(0.05" in text
    assert "11 nodes" in text
    assert "ends clamped and free" in text
    assert "mass 2.5" in text
    assert "lambda" not in repr(soft(section=lambda x: taut.Square(0.1)))


def test_a_section_that_vanishes_is_named_by_its_place():
    with pytest.raises(taut.InputError, match=r"outer radius is not positive, at s = 0\.5"):
        taut.Beam(
            1, lambda s: taut.Circle(0.1 - 0.2 * s), density=1, young=1, poisson=0.3, nodes=11
        )


def test_a_list_of_beams_is_not_yet_a_model():
    with pytest.raises(taut.InputError, match=r"taut\.Beams\(\[…\]\)"):
        taut.simulate([soft()], duration=0.1)


@pytest.mark.parametrize("nodes", [41.0, np.float64(41), np.int64(41), 2 / 0.05 + 1])
def test_nodes_may_be_a_whole_quotient(nodes):
    assert type(taut.Beam(2, inertia=np.ones(6), stiffness=np.ones(6), nodes=nodes).nodes) is int
