"""Beams of mechanisms in motion: the twin of `taut.Beam`, momenta, energy, and steps."""

from itertools import pairwise

import numpy as np
import pytest

import taut
from taut.lie import SO3

RUBBER = {"density": 1000, "young": 1e7, "poisson": 0.3}
SPIN = np.array([15.0, 10.0, -20.0])
ROD = taut.Beam(
    1, taut.Rectangle(0.1, 0.05), **RUBBER, nodes=9, frame=(1, 0, 0), curvature=(0.3, 0.2, 0.5),
)  # fmt: skip
DURATION = 0.01


def free() -> taut.Mechanism:
    """A bent beam that spins, and is bent by that."""
    m = taut.Mechanism()
    m.beam("rod", ROD, angular_velocity=SPIN)
    return m


def turning(beam: taut.Beam) -> np.ndarray:
    """Velocities in local frames of a beam that turns about its root."""
    pose = beam.mesh().pose
    frames, places = pose[:, :3, :3], pose[:, :3, 3]
    moving = np.cross(SPIN, places - places[0])
    return np.hstack(
        [np.einsum("nji,j->ni", frames, SPIN), np.einsum("nji,nj->ni", frames, moving)]
    )


@pytest.fixture(scope="module")
def runs():
    """The same motion of the mechanism and of the beam, with steps h and h/2."""
    v0, m, found = turning(ROD), free(), []
    for parts in (50, 100):
        step = DURATION / parts
        found.append(
            (
                taut.simulate(m, duration=DURATION, step=step, laws=None),
                taut.simulate(ROD, v0=v0, duration=DURATION, step=step),
            )
        )
    return found


def test_it_moves_as_the_beam_does_to_second_order_of_the_step(runs):
    """Both are the same beam in space, so that they differ by the error of their steps alone."""
    for name in ("positions", "strain"):
        coarse, fine = (
            np.abs(getattr(one["rod"], name)[-1] - getattr(two, name)[-1]).max()
            for one, two in runs
        )
        assert coarse < 0.02 * np.abs(getattr(runs[0][1], name)[-1]).max()
        assert coarse / fine == pytest.approx(4, rel=0.1), name


def test_views_agree_with_those_of_the_beam(runs):
    one, two = runs[0]
    seen = one["rod"]
    for name in ("positions", "frames", "velocity", "kinetic", "energy", "angular_momentum"):
        np.testing.assert_allclose(getattr(seen, name)[0], getattr(two, name)[0], atol=1e-9)
    assert seen.stress.shape == two.stress.shape
    np.testing.assert_allclose(seen.energy, one.energy, rtol=1e-12)
    assert "9 nodes" in repr(seen)


def test_a_free_beam_keeps_momenta_to_round_off_and_energy_in_a_band(runs):
    seen = runs[0][0]["rod"]
    for momentum in (seen.linear_momentum, seen.angular_momentum):
        assert np.abs(momentum - momentum[0]).max() < 1e-12 * np.abs(momentum).max()
    assert np.ptp(seen.potential) > 1e-3 * seen.energy[0]  # it is bent
    assert np.ptp(seen.energy) < 1e-5 * seen.energy[0]


def test_a_damped_beam_moves_as_the_beam_does_and_loses_what_it_dissipates():
    """To second order of the step; its momenta stay, as what is inside can change neither."""
    given = {"section": taut.Rectangle(0.1, 0.05), "nodes": 4, "frame": (1, 0, 0), **RUBBER}
    beam = taut.Beam(1, damping=2e-3, curvature=(0.3, 0.2, 0.5), **given)
    m, gaps = taut.Mechanism(), []
    m.beam("rod", beam, angular_velocity=SPIN)
    for parts in (60, 120):
        one = taut.simulate(m, duration=0.02, step=0.02 / parts, laws=None)
        two = taut.simulate(beam, v0=turning(beam), duration=0.02, step=0.02 / parts)
        gaps.append(np.abs(one["rod"].positions[-1] - two.positions[-1]).max())
    assert gaps[0] / gaps[1] == pytest.approx(4, rel=0.15)
    assert gaps[1] < 1e-4
    seen = one["rod"]
    for momentum in (seen.linear_momentum, seen.angular_momentum):
        assert np.abs(momentum - momentum[0]).max() < 1e-11 * np.abs(momentum).max()
    # Σ Δs τ γ̇·C γ̇ over time, with γ̇ by differences of the strains
    rate = np.gradient(seen.strain, one.t, axis=0)
    part = seen.part
    lost = 2e-3 * part.spacing * np.einsum("tei,eij,tej->t", rate, part.stiffness, rate)
    drop = one.energy[0] - one.energy[-1]
    assert drop > 1e-2 * np.ptp(seen.potential)
    assert drop == pytest.approx(np.trapezoid(lost, one.t), rel=1e-2)
    assert one.certificate.work == pytest.approx(-drop, rel=5e-2)


CANTILEVER = {"length": 1, "section": taut.Rectangle(0.02, 0.03), "frame": (1, 0, 0)}
CANTILEVER |= {"density": 1100, "young": 2e7, "poisson": 0.45}


@pytest.mark.parametrize(
    ("nodes", "end", "damping", "load"),
    [
        (6, "clamped", 0.01, None),
        (6, "free", 0.02, None),
        (31, "clamped", 0.003, None),  # sparse
        (6, "clamped", 0.01, {"force": (0, 0, -0.5)}),
        (6, "clamped", 0.0, {"force": (0, -40, 0), "follower": True}),  # flutter
        (6, "clamped", 0.01, {"force": (0, -3, 0), "follower": True}),
    ],
)
def test_decay_and_growth_are_those_of_the_beam(nodes, end, damping, load):
    """The same s to round-off, with damping inside and with followers, whose K is not symmetric."""
    beam = taut.Beam(**CANTILEVER, nodes=nodes, damping=damping, ends=(end, "free"))
    part = taut.Beam(**CANTILEVER, nodes=nodes, damping=damping)
    for x in (beam, part) if load else ():
        x.load(**load)
    m = taut.Mechanism()
    rod = m.beam("rod", part)
    if end == "clamped":
        m.fixed("clamp", m.ground, rod.root, at=(0, 0, 0))
    count = 30 if load else 10  # all: of mechanisms those that grow come first, of beams the slow
    found = m.modes(at=m.equilibrium(stable=False) if load else m.start()[0], count=count)
    want = taut.modes(taut.equilibrium(beam) if load else beam, count=count)
    one, two = (
        sorted(x.eigenvalues, key=lambda s: (round(abs(s), 6), round(s.real, 6)))
        for x in (found, want)
    )
    np.testing.assert_allclose(one, two, atol=1e-9 * np.abs(two).max())
    assert found.stable == want.stable
    if damping and not load:
        assert np.all(found.rates[6 * (end == "free") :] < 0)


def test_flying_spaghetti_is_where_others_find_it():
    """Simo & Vu-Quoc 1988 in space at t = 2; the reference has six digits."""
    ends = np.array([[1.647067, 8.093373, 0.281818], [4.068264, -0.496175, -0.223947]])
    errors = []
    for nodes in (11, 21):
        stiff, heavy = (500, 500, 500, 1e4, 1e4, 1e4), (10, 20, 10, 1, 1, 1)
        rod = taut.Beam(
            10, inertia=heavy, stiffness=stiff, nodes=nodes, at=(0, 8, 0), frame=(0.6, -0.8, 0)
        )
        pull = 80 * taut.t
        rod.load(at="tip", force=(pull / 10, 0, 0), moment=(0, pull / 2, -pull))
        m = taut.Mechanism()
        m.beam("rod", rod)
        seen = taut.simulate(m, duration=2.0, laws=None)["rod"]
        errors.append(np.abs(seen.positions[-1, [0, -1]] - ends).max())
        np.testing.assert_allclose(seen.linear_momentum[-1], (16, 0, 0), atol=1e-12)
    assert errors[1] < 0.01
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)


def test_steps_are_half_of_what_is_stable_unless_given():
    m = free()
    limit = m.stable_step()
    run = taut.simulate(m, duration=DURATION, laws=None)
    assert 0.45 * limit < run.step <= 0.5 * limit
    with pytest.warns(taut.UnstableStep, match="limit of stability of beams"):
        taut.simulate(m, duration=3 * limit, step=1.5 * limit, laws=None)
    with pytest.raises(taut.TautError, match="implicit method needs a step"):
        taut.simulate(m, duration=DURATION, method="energy-momentum", laws=None)
    assert taut.Mechanism().stable_step() == np.inf


def test_bodies_between_springs_may_rest_at_zero():
    """Forces that cancel leave round-off, which is no length that steps are measured by."""
    m = taut.Mechanism()
    box = {"mass": 1, "inertia": (1.0, 1.5, 2.0)}
    turns = [SO3.exp(0.1 * k * np.array([1.0, 0.3, 0.5])) for k in range(12)]
    row = [
        m.body(f"b{k}", **box, at=(k, 0, 0), rotation=turns[k], angular_velocity=(0.1 * k, 0.2, 0))
        for k in range(12)
    ]
    off = np.array([0.1, 0.2, 0.1])
    for a, b in pairwise(row):
        m.spring(a, b, stiffness=1.0, ends=(a.position + off, b.position - off))
    run = taut.simulate(m, duration=0.1, step=0.01, laws=None)
    assert run.t[-1] == pytest.approx(0.1)
