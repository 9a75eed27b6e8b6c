"""How ends are held: what moves and what does not, pendulums, rollers, prescribed motions."""

import numpy as np
import pytest
import sympy as sp
from scipy.special import ellipk

import taut
from taut.errors import InputError, TautError, UnknownName
from taut.lie import SO3

t = taut.t
SOFT = {"section": taut.Square(0.05), "density": 1000, "young": 1e7, "poisson": 0.3, "nodes": 11}
SCHEMES = ("poisson", "hamel", "variational")
schemes = pytest.mark.parametrize("method", SCHEMES)
G = 9.81


def soft(length=1, **options):
    return taut.Beam(length, **{**SOFT, **options})


TILTED = (1, 2, -1)


def shaken(rng, ends, method, **options):
    """A run from random strains, with gravity in all directions."""
    beam = soft(ends=ends, gravity=(20, -30, 10), **options)
    strain = 0.3 * rng.normal(size=(10, 6)) * [1, 1, 1, 0.1, 0.1, 0.1]
    return taut.simulate(beam, strain0=strain, duration=0.2, step=1e-4, method=method, every=10)


# ---- what moves and what does not --------------------------------------------------------------


@schemes
def test_clamped(rng, method):
    run = shaken(rng, ("clamped", "clamped"), method)
    for node in (0, 10):
        assert np.array_equal(run.positions[:, node], run.positions[:1, node].repeat(len(run), 0))
        assert np.array_equal(run.frames[:, node], run.frames[:1, node].repeat(len(run), 0))
    assert np.abs(run.positions - run.positions[0]).max() > 1e-3


@schemes
def test_pinned(rng, method):
    run = shaken(rng, ("pinned", "pinned"), method)
    for node in (0, 10):
        assert np.abs(run.positions[:, node] - run.positions[0, node]).max() < 1e-13
        assert np.abs(run.frames[-1, node] - run.frames[0, node]).max() > 1e-2
        assert np.abs(run.velocity[:, node, 3:]).max() < 1e-14


@schemes
def test_hinged(rng, method):
    """Only about the axis, which is given in space."""
    axis = np.array([2.0, 1.0, 2.0]) / 3
    run = shaken(rng, (taut.End("hinged", axis=axis), "free"), method, frame=TILTED)
    np.testing.assert_allclose(run.positions[:, 0], 0, rtol=0, atol=1e-13)
    turned = run.frames[:, 0] @ run.frames[0, 0].T @ axis
    np.testing.assert_allclose(turned, axis[None].repeat(len(run), 0), rtol=0, atol=1e-13)
    assert np.abs(run.frames[-1, 0] - run.frames[0, 0]).max() > 1e-2


def test_a_hinge_turns_about_the_third_axis_by_default():
    beam = soft(ends=("hinged", "free"), frame=(1, 0, 0)).load(force=(0, 0, 5), moment=(0, 1, 0))
    run = taut.simulate(beam.load(force=(0, 1, 0)), duration=0.2, every=10)
    third = beam.frame[:, 2]
    turned = run.frames[:, 0] @ (beam.frame.T @ third)
    np.testing.assert_allclose(turned, third[None].repeat(len(run), 0), rtol=0, atol=1e-13)
    assert np.abs(run.frames[-1, 0] - run.frames[0, 0]).max() > 1e-2


@schemes
@pytest.mark.parametrize("axis", [None, (1, 1, 0)])
def test_sliding(rng, method, axis):
    """Along the tangent, or an axis; no rotation."""
    run = shaken(rng, (taut.End("sliding", axis=axis), "free"), method, frame=TILTED)
    assert np.abs(run.frames[:, 0] - run.frames[0, 0]).max() < 1e-14
    along = np.array(TILTED if axis is None else axis) / np.linalg.norm(axis or TILTED)
    moved = run.positions[:, 0] - run.positions[0, 0]
    rest = moved - np.outer(moved @ along, along)
    assert np.abs(rest).max() < 1e-13
    assert np.abs(moved).max() > 1e-3


@schemes
@pytest.mark.parametrize("axis", [None, (0.3, 1, -0.2)])
def test_a_roller_stays_on_its_line(rng, method, axis):
    """However it turns."""
    run = shaken(rng, ("pinned", taut.End("roller", axis=axis)), method, frame=TILTED)
    along = np.array(TILTED if axis is None else axis) / np.linalg.norm(axis or TILTED)
    moved = run.positions[:, -1] - run.positions[0, -1]
    rest = moved - np.outer(moved @ along, along)
    assert np.abs(rest).max() < 1e-12
    assert np.abs(moved).max() > 1e-3
    assert np.abs(run.frames[-1, -1] - run.frames[0, -1]).max() > 1e-2
    across = np.einsum("tij,tj->ti", run.frames[:, -1], run.velocity[:, -1, 3:])
    assert np.abs(across - np.outer(across @ along, along)).max() < 1e-12


def test_rollers_and_pins_at_the_other_end():
    """The same beam, from its other end: the mirror image, to round-off."""
    one = soft(ends=("pinned", taut.End("roller", axis=(0, 1, 0))), gravity=(G, 0, 0))
    two = soft(ends=(taut.End("roller", axis=(0, 1, 0)), "pinned"), gravity=(G, 0, 0))
    a, b = (taut.simulate(x, duration=0.3, step=2e-4, every=50) for x in (one, two))
    np.testing.assert_allclose(a.positions[:, ::-1, 0], b.positions[..., 0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(1 - a.positions[:, ::-1, 1], b.positions[..., 1], rtol=0, atol=1e-12)


# ---- pendulums ---------------------------------------------------------------------------------


def stiff(**options):
    """A rod of length 1 and mass 1 that hardly bends."""
    inertia = [0.01, 0.02, 0.01, 1, 1, 1]
    return taut.Beam(1, inertia=inertia, stiffness=[2e3] * 3 + [1e4] * 3, **{"nodes": 9, **options})


def period(times, signal):
    """From where a signal passes through zero, by a parabola through four points."""
    found = []
    for k in np.flatnonzero(signal[1:] * signal[:-1] < 0):
        if 1 <= k < len(signal) - 2:
            near = slice(k - 1, k + 3)
            curve = np.polynomial.Polynomial.fit(signal[near], times[near], 3)
            found.append(curve(0.0))
    return 2 * np.diff(found).mean()


def hanging(beam):
    """Rotary inertia about the root, and the first moment of mass, of the nodes of a rigid rod."""
    mesh = beam.mesh()
    heavy = mesh.weight[:, None, None] * mesh.inertia
    # (ω, v) of node j when the root turns about axis 3 with speed one: v = e₃ × s e₂ = −s e₁.
    velocity = np.zeros((mesh.nodes, 6))
    velocity[:, 2], velocity[:, 3] = 1, -mesh.s
    fall = np.zeros(6)
    fall[3] = -1  # unit gravity along −e₁ pulls with M fall
    return (
        np.einsum("ni,nij,nj->", velocity, heavy, velocity),
        np.einsum("ni,nij,j->", velocity, heavy, fall),
    )


SWINGS = [("pinned", body, m) for body in (None, (0, 0, 0), (0, 0.3, 0)) for m in SCHEMES]
SWINGS += [("hinged", (0, 0.3, 0), "variational")]


@pytest.mark.parametrize(("kind", "body", "method"), SWINGS)
def test_the_period_of_a_pendulum(kind, body, method):
    """Of a rod that swings by 90°, alone or with a body at its tip, off the tip."""
    beam = stiff(ends=(kind, "free"), gravity=(0, G, 0), frame=np.eye(3))
    if body is not None:
        beam.body(mass=0.7, offset=body, inertia=(0.02, 0.01, 0.03))
    rotary, moment = hanging(beam)
    if body is not None:
        reach = 1 + body[1]
        rod = stiff(ends=(kind, "free"))
        alone = hanging(rod)
        assert rotary == pytest.approx(alone[0] + 0.03 + 0.7 * reach**2, rel=1e-12)
        assert moment == pytest.approx(alone[1] + 0.7 * reach, rel=1e-12)
    angle = np.pi / 4
    turned = taut.Beam(
        1, inertia=beam.inertia, stiffness=beam.stiffness, nodes=9, gravity=(0, G, 0),
        ends=(kind, "free"), frame=SO3.exp([0, 0, angle]),
    )  # fmt: skip
    turned.bodies = beam.bodies
    run = taut.simulate(turned, duration=8, method=method, every=10)
    wanted = 4 * np.sqrt(rotary / (moment * G)) * ellipk(np.sin(angle / 2) ** 2)
    assert period(run.t, run.positions[:, -1, 0]) == pytest.approx(wanted, rel=2e-3)


def test_a_rod_on_a_pin_has_two_thirds_of_its_length():
    """T = 2π √(2L/3g) for small swings, if it is thin."""
    thin = taut.Beam(
        1, inertia=[1e-4, 2e-4, 1e-4, 1, 1, 1], stiffness=[200.0] * 3 + [1e4] * 3, nodes=41,
        ends=("hinged", "free"), gravity=(0, G, 0), frame=SO3.exp([0, 0, 0.02]),
    )  # fmt: skip
    run = taut.simulate(thin, duration=5, every=20)
    wanted = 2 * np.pi * np.sqrt(2 / 3 / G)
    assert period(run.t, run.positions[:, -1, 0]) == pytest.approx(wanted, rel=1e-3)


# ---- moved ends --------------------------------------------------------------------------------

SHIFT = (0.1 * sp.sin(5 * t), 0.05 * (1 - sp.cos(3 * t)), -0.02 * t)
SPIN = (0.3 * sp.sin(2 * t), t, -0.4 * (1 - sp.cos(4 * t)))


def at_times(expressions, times):
    function = sp.lambdify(t, expressions, "numpy")
    return np.array([[float(x) for x in function(time)] for time in times])


@schemes
@pytest.mark.parametrize("node", [0, -1])
def test_a_moved_clamp_is_where_it_is_to_be(method, node):
    moved = taut.End("clamped", position=SHIFT, rotation=SPIN)
    ends = (moved, "free") if node == 0 else ("free", moved)
    run = taut.simulate(
        soft(ends=ends, frame=(1, 2, 3)), duration=1, step=2e-4, method=method, every=50
    )
    shift = run.positions[:, node] - run.positions[0, node]
    np.testing.assert_allclose(shift, at_times(SHIFT, run.t), rtol=0, atol=1e-12)
    turned = SO3.exp(at_times(SPIN, run.t)) @ run.frames[0, node]
    np.testing.assert_allclose(run.frames[:, node], turned, rtol=0, atol=1e-12)
    # The momentum shown there is that of its motion.
    speed = np.einsum(
        "tji,tj->ti", run.frames[:, node], at_times([x.diff(t) for x in SHIFT], run.t)
    )
    np.testing.assert_allclose(run.velocity[:, node, 3:], speed, rtol=0, atol=1e-6)


@schemes
def test_a_moved_pin_is_where_it_is_to_be_and_turns(method):
    beam = soft(ends=(taut.End("pinned", position=SHIFT), "free"), gravity=(G, 0, 0))
    run = taut.simulate(beam, duration=1, step=2e-4, method=method, every=50)
    np.testing.assert_allclose(run.positions[:, 0], at_times(SHIFT, run.t), rtol=0, atol=1e-12)
    assert np.abs(run.frames[-1, 0] - np.eye(3)).max() > 0.1
    fine = taut.simulate(beam, duration=0.1, step=2e-4, method=method)
    turned = np.swapaxes(fine.frames[:-2, 0], 1, 2) @ fine.frames[2:, 0]
    np.testing.assert_allclose(
        fine.velocity[1:-1, 0, :3],
        SO3.log(turned) / 4e-4,
        rtol=0,
        atol=2e-3 * np.abs(fine.velocity).max(),
    )
    assert np.abs(fine.velocity[:, 0, :3]).max() > 0.1


def test_motions_are_relative_to_where_the_beam_is_put_at_the_start():
    moved = taut.End("clamped", position=(t - 3, 0, 0))
    beam = soft(at=(1, 2, 3), ends=(moved, "free"))
    run = taut.simulate(beam, t0=3, duration=0.1)
    np.testing.assert_allclose(run.positions[-1, 0], [1.1, 2, 3], rtol=0, atol=1e-13)
    for t0 in (0, 2.999):
        with pytest.raises(InputError, match="a moved end is not where it starts: s = 0"):
            taut.simulate(beam, t0=t0, duration=0.1)
    turned = soft(ends=("free", taut.End("clamped", rotation=(0, 0, 1e-6 + t))))
    with pytest.raises(InputError, match="a moved end is not where it starts: s = 1"):
        taut.simulate(turned, duration=0.1)


def test_a_beam_moved_as_a_whole():
    """Both ends at one speed, started with it: nothing strains."""
    moved = taut.End("clamped", position=(0, 0, 2 * t))
    run = taut.simulate(soft(ends=(moved, moved)), v0=[0, 0, 0, 0, 0, 2.0], duration=0.1)
    np.testing.assert_allclose(
        run.positions[-1] - run.positions[0], [[0, 0, 0.2]] * 11, rtol=0, atol=1e-12
    )
    assert np.abs(run.strain).max() < 1e-12


# ---- energy and work ---------------------------------------------------------------------------

PUSH = (2 * sp.sin(9 * t), 1, 3 * t)
ROLLER = taut.End("roller", axis=(0.3, 1, 0.2))
GENTLY = tuple(x * t for x in SHIFT)  # from rest
CLAMP = taut.End("clamped", position=GENTLY, rotation=tuple(x * t for x in SPIN))
PIN = taut.End("pinned", position=GENTLY)
LOADED = {
    "dead": lambda: soft().load(force=PUSH, moment=(0.1, 0, 0.2 * t)),
    "follower": lambda: soft().load(force=PUSH, moment=(0.1, 0, 0.2 * t), follower=True),
    "distributed": lambda: soft().load(at="all", force=PUSH, moment=(0.1, 0, 0)),
    "distributed follower": lambda: soft().load(at="all", force=PUSH, follower=True),
    "gravity": lambda: soft(ends=("clamped", "free"), gravity=(G, 0, 1)),
    "body": lambda: soft(ends=("pinned", "free"), gravity=(G, 0, 1)).body(
        mass=1, offset=(0.05, 0.1, 0), inertia=(0.01, 0.01, 0.01)
    ),
    "pinned": lambda: soft(ends=("pinned", "free"), gravity=(G, 0, 1)),
    "hinged": lambda: soft(ends=("hinged", "free"), gravity=(G, 0, 1)),
    "sliding": lambda: soft(ends=("sliding", "free"), gravity=(G, 1, 1)),
    "roller": lambda: soft(ends=("pinned", ROLLER), gravity=(G, 1, 1)),
    "moved clamp": lambda: soft(ends=(CLAMP, "free"), gravity=(G, 0, 1)),
    "moved pin": lambda: soft(ends=("free", PIN), gravity=(G, 0, 1)),
    "loaded moved clamp": lambda: soft(ends=(CLAMP, "free")).load(at="root", force=(1, 2, 3)),
}


BALANCED = [(case, m) for case in LOADED for m in ("poisson", "variational")]
BALANCED += [(case, "hamel") for case in ("dead", "roller", "moved clamp")]


@pytest.mark.parametrize(("case", "method"), BALANCED)
def test_energy_less_work_is_constant_to_second_order(case, method):
    """Halving the step leaves a quarter of the error, which is a small part of the work."""
    bands = []
    for step in (2e-4, 1e-4):
        run = taut.simulate(LOADED[case](), duration=0.3, step=step, method=method)
        certificate = run.certificate
        bands.append(certificate.energy.band)
        assert certificate.gross_work > 0.01
        assert certificate.energy.band < 2e-4 * certificate.gross_work
    assert bands[0] / bands[1] == pytest.approx(4, abs=0.25)
    left = run.energy[-1] - run.energy[0] - certificate.work
    assert abs(left) <= certificate.energy.band * (1 + 1e-6) + 1e-12
    assert certificate.energy0 == pytest.approx(run.energy[0], rel=1e-9, abs=1e-12)


# ---- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: taut.End("free", axis=(1, 0, 0)), "a free end has no axis"),
        (lambda: taut.End("clamped", axis=(1, 0, 0)), "a clamped end has no axis"),
        (lambda: taut.End("hinged", axis=(0, 0, 0)), "the axis of an end has no direction"),
        (lambda: taut.End("hinged", axis=(1, 0)), "the axis of an end cannot be read"),
        (lambda: taut.End("roller", axis=(1, 0, np.inf)), "the axis of an end cannot be read"),
        (lambda: taut.End("free", position=(t, 0, 0)), "a free end cannot be given a position"),
        (lambda: taut.End("pinned", rotation=(t, 0, 0)), "a pinned end cannot be given a rotation"),
        (lambda: taut.End("roller", position=(t, 0, 0)), "a roller end cannot be given a position"),
        (lambda: taut.End("clamped", position=(t, 0)), "the position of an end cannot be read"),
        (lambda: taut.End("clamped", position=(taut.s, 0, 0)), "contains s"),
    ],
)
def test_ends_that_cannot_be(make, message):
    with pytest.raises(TautError, match=message):
        make()


def test_kinds_that_are_not_there():
    with pytest.raises(UnknownName, match="did you mean 'clamped'"):
        taut.End("clampd")


def test_rollers_need_their_mass_where_they_are():
    beam = soft(ends=("pinned", "roller")).body(mass=1, offset=(0.1, 0, 0), inertia=(1, 1, 1))
    with pytest.raises(taut.ModelError, match="a roller end needs its mass where it is: s = 1"):
        taut.simulate(beam, duration=0.1)
    beam = soft(ends=("free", taut.End("pinned", position=(t, 0, 0)))).body(
        mass=1, offset=(0.1, 0, 0)
    )
    with pytest.raises(taut.ModelError, match="a pinned end needs its mass where it is: s = 1"):
        taut.simulate(beam, duration=0.1)
    uneven = {"inertia": [1, 1, 1, 1, 2, 1], "stiffness": [1] * 6, "nodes": 5}
    with pytest.raises(taut.ModelError, match="a roller end needs its mass where it is"):
        taut.simulate(taut.Beam(1, **uneven, ends=("pinned", "roller")), duration=0.1)
    # In the centre it may be as heavy as it likes.
    beam = soft(ends=("pinned", "roller")).body(mass=1, inertia=(0.1, 0.1, 0.1))
    assert taut.simulate(beam, duration=0.01).energy[-1] == pytest.approx(0, abs=1e-20)


@pytest.mark.parametrize("kind", ["clamped", "pinned", "hinged", "sliding", "roller"])
def test_what_is_held_does_not_move_at_the_start(kind):
    beam = soft(ends=("free", kind))
    allowed = {"pinned": [0, 1, 2], "hinged": [2], "sliding": [4], "roller": [0, 1, 2, 4]}
    for k in range(6):
        v0 = np.zeros((11, 6))
        v0[10, k] = 1e-3
        if k in allowed.get(kind, []):
            run = taut.simulate(beam, v0=v0, duration=1e-3)
            assert run.velocity[0, 10, k] == pytest.approx(1e-3)
            continue
        with pytest.raises(InputError, match=f"a {kind} end moves at the start: s = 1"):
            taut.simulate(beam, v0=v0, duration=1e-3)
        run = taut.simulate(beam, v0=v0, duration=1e-3, project=True, method="poisson")
        assert np.abs(run.velocity[0, 10]).max() < 1e-15
        assert np.abs(run.strain).max() < 1e-15  # it rests


@pytest.mark.parametrize("method", [*SCHEMES, "implicit"])
def test_motions_that_are_no_numbers_at_the_start(method):
    """Also where the other one, or another component, is one."""
    for way in (
        {"rotation": (sp.sin(t**3) / t, 0, 0)},
        {"position": (0, 0, sp.sin(t**3) / t)},
        {"position": (t, 0, 0), "rotation": (0, sp.sin(t**3) / t, 0)},
    ):
        beam = soft(ends=(taut.End("clamped", **way), "free"))
        with pytest.raises(InputError, match=r"a moved end is not where it starts: s = 0 "):
            taut.simulate(beam, duration=0.01, step=1e-4, method=method)


def test_a_whole_turn_at_the_start_is_none():
    end = taut.End("clamped", rotation=(0, 2 * sp.pi + t, 0))
    run = taut.simulate(soft(ends=(end, "free")), duration=0.01, step=1e-4)
    angle = run.t[-1]
    wanted = run.frames[0, 0] @ SO3.exp([0, angle, 0])
    np.testing.assert_allclose(run.frames[-1, 0], wanted, rtol=0, atol=1e-12)


def test_what_round_off_leaves_at_a_held_end_is_no_motion():
    beam = soft(ends=("free", "clamped"))
    for size, refused in ((1e-9, True), (1e-11, False)):
        v0 = np.zeros((11, 6))
        v0[0, 3], v0[10, 3] = 1.0, size
        if refused:
            with pytest.raises(InputError, match="a clamped end moves at the start"):
                taut.simulate(beam, v0=v0, duration=1e-3)
        else:
            assert taut.simulate(beam, v0=v0, duration=1e-3).velocity[0, 10, 3] == 0


def test_a_roller_that_starts_turned_moves_along_its_axis():
    beam = soft(ends=("pinned", taut.End("roller", axis=(0, 1, 0))))
    strain = [0, 0, -1.0, 0, 0, 0]
    frame = taut.simulate(beam, strain0=strain, duration=1e-3).frames[0, -1]
    v0 = np.zeros((11, 6))
    v0[-1, 3:] = frame.T @ [0, 2.0, 0]
    run = taut.simulate(beam, strain0=strain, v0=v0, duration=1e-3)
    np.testing.assert_allclose(run.velocity[0, -1], v0[-1], rtol=0, atol=1e-14)
    v0[-1, 3:] = [0, 2.0, 0]
    with pytest.raises(InputError, match="a roller end moves at the start"):
        taut.simulate(beam, strain0=strain, v0=v0, duration=1e-3)


# ---- from a strained start ---------------------------------------------------------------------

BENT = [0.4, 0.3, -0.8, 0, 0, 0]


@schemes
@pytest.mark.parametrize("kind", ["clamped", "pinned"])
def test_a_moved_tip_starts_where_the_strain_has_put_it(method, kind):
    beam = soft(ends=("free", taut.End(kind, position=GENTLY)))
    run = taut.simulate(beam, strain0=BENT, duration=0.02, step=1e-4, method=method)
    shift = run.positions[:, -1] - run.positions[0, -1]
    np.testing.assert_allclose(shift, at_times(GENTLY, run.t), rtol=0, atol=1e-13)
    assert np.abs(run.positions[0, -1] - [0, 1, 0]).max() > 0.1
    assert np.abs(np.diff(run.energy)).max() < 0.05 * run.energy[0]
    again = taut.simulate(beam, strain0=BENT, duration=0.01, step=1e-4, method=method).continue_(
        0.01
    )
    assert np.array_equal(again.positions, run.positions)


@schemes
def test_axes_are_given_in_space_also_for_what_starts_turned(method):
    axis = np.array([0.0, 0.6, 0.8])
    settings = {"strain0": BENT, "duration": 0.1, "step": 1e-4, "method": method, "every": 10}
    run = taut.simulate(soft(ends=("free", taut.End("hinged", axis=axis))), **settings)
    turned = run.frames[:, -1] @ np.swapaxes(run.frames[:1, -1], 1, 2) @ axis
    np.testing.assert_allclose(turned, axis[None].repeat(len(run), 0), rtol=0, atol=1e-13)
    assert np.abs(run.frames[-1, -1] - run.frames[0, -1]).max() > 1e-2
    for kind in ("sliding", "roller"):
        run = taut.simulate(soft(ends=("free", taut.End(kind, axis=axis))), **settings)
        moved = run.positions[:, -1] - run.positions[0, -1]
        assert np.abs(moved - np.outer(moved @ axis, axis)).max() < 1e-13
        assert np.abs(moved).max() > 1e-4


def test_a_motion_that_is_not_defined_before_the_start():
    """Where an end was one step before is asked for, and need not be known."""
    known, unknown = (
        taut.simulate(
            soft(ends=(taut.End("clamped", position=(x, 0, 0)), "free")), duration=0.01, step=1e-4
        )
        for x in (t**2, t ** sp.Rational(5, 2))
    )
    assert np.abs(known.positions[-1, 0, 0] - 1e-4) < 1e-15
    assert np.abs(unknown.positions[-1, 0, 0] - 1e-5) < 1e-15
    assert unknown.certificate.energy.band < 0.1 * unknown.certificate.gross_work
    assert unknown.velocity[0, 0, 3] == pytest.approx(1e-4**1.5, rel=1e-9)  # that of the first step
    assert known.velocity[0, 0, 3] == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("kind", ["clamped", "pinned"])
@pytest.mark.parametrize("power", [1, 2, sp.Rational(5, 2)])
def test_velocities_of_moved_ends_of_implicit_runs(kind, power):
    """From the start on, whether or not the motion has a past: momenta do not swing about them."""
    beam = soft(ends=(taut.End(kind, position=(t**power, 0, 0)), "free"), frame=TILTED)
    run = taut.simulate(beam, duration=0.1, step=1e-3, method="implicit")
    velocity = np.einsum("tij,tj->ti", run.frames[:, 0], run.velocity[:, 0, 3:])
    wanted = float(power) * run.t ** (float(power) - 1)
    np.testing.assert_allclose(velocity[:, 0], wanted, rtol=0, atol=2e-4)
    assert np.abs(velocity[:, 1:]).max() < 1e-4
    certificate = run.certificate
    assert certificate.energy.band < 1e-11 * certificate.gross_work
    assert run.energy[-1] - run.energy[0] == pytest.approx(certificate.work, rel=1e-9)


def test_a_moved_body_takes_work():
    """What moves an end accelerates the body on it: half of m v²."""
    end = taut.End("clamped", position=(t**2, 0, 0))
    beam = soft(0.1, ends=(end, "free")).body(at="root", mass=1000)
    for method, step in (("variational", 1e-4), ("implicit", 1e-3)):
        run = taut.simulate(beam, duration=0.2, step=step, method=method, every=50)
        assert run.certificate.work == pytest.approx(0.5 * 1000 * 0.4**2, rel=1e-3)


def test_the_work_of_a_weight_that_has_no_height():
    """Inertia that is not that of a mass (in water, say): its weight has no potential."""
    inertia = np.diag([0.02, 0.03, 0.025, 1, 1.3, 0.9])
    inertia[0, 4] = inertia[4, 0] = 0.02
    made = {"inertia": inertia, "stiffness": [2, 1.5, 2.5, 60, 80, 50], "nodes": 5}
    beam = taut.Beam(1, **made, gravity=(0, 0, -2), ends=("pinned", "free"))
    run = taut.simulate(beam, duration=1, step=5e-3, method="implicit")
    assert run.certificate.gross_work > 0.1
    assert run.certificate.energy.band < 1e-11 * run.certificate.gross_work
    explicit = taut.simulate(beam, duration=1, step=1e-3, method="variational")
    assert run.certificate.work == pytest.approx(explicit.certificate.work, rel=5e-3)


def test_angular_momentum_about_a_pin_is_kept(rng):
    """No moment acts there: round-off for the variational scheme, a body on the pin included."""
    beam = soft(ends=("pinned", "free"), curvature=(1, 0.5, 2))
    beam.body(at="root", mass=1, inertia=(0.3, 0.5, 0.2), offset=(0.02, 0.01, 0))
    v0 = rng.normal(size=(11, 6))
    v0[0, 3:] = 0
    v0[0, :3] *= 30  # half a degree in a step
    run = taut.simulate(beam, v0=v0, duration=0.2, step=2e-4, method="variational")
    assert np.abs(run.positions[:, 0]).max() < 1e-14
    assert run.certificate.momenta["angular"] < 1e-13
    assert run.certificate.energy.band < 1e-3 * run.energy[0]
