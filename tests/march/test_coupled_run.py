"""Runs by the implicit scheme, as users start them: accuracy, books, going on, errors half-way."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.errors import InputError, StepError
from taut.lie import SO3
from taut.march import field_run

t, s = taut.t, taut.s
SOFT = {"section": taut.Square(0.05), "density": 1000, "young": 1e7, "poisson": 0.3, "nodes": 6}
ARRAYS = ("t", "momentum", "strain", "positions", "frames", "energy", "books")
STEP = 5e-4
UP = sp.sin(20 * t) ** 2  # begins smoothly
TILTED = (1, 2, 2)


def soft(length=1, **options):
    return taut.Beam(length, **{**SOFT, **options})


def free(**options):
    beam = soft(curvature=(1, 0, 0.5), **options)
    beam.load(force=(UP, 0.5 * UP, 0.3 * UP), moment=(0.02 * UP, 0, 0.01 * UP))
    return beam.load(at=0.4, force=(0.2 * UP, 0.1 * UP, 0.4 * UP), follower=True)


def moved(**options):
    way = {"position": (0.05 * UP, 0, 0.2 * UP), "rotation": (0.3 * UP, UP, 0)}
    return soft(ends=(taut.End("clamped", **way), "free"), frame=TILTED, **options)


def led(**options):
    end = taut.End("pinned", position=(0.1 * UP, -0.05 * UP, 0.1 * UP))
    return soft(ends=("free", end), frame=TILTED, **options)


def guided(**options):
    ends = (taut.End("hinged", axis=(1, 0, 1)), taut.End("roller", axis=(1, 2, 0)))
    return soft(ends=ends, frame=TILTED, **options).load(at="all", force=(UP, s * UP, 1 - UP))


def jointed(**options):
    pair = taut.Beams([soft(**options), soft(at=(0, 1, 0), frame=(1, 0, 0), **options)])
    pair.beams[0].load(force=(UP, 2 * UP, 3 * UP)).load(at="all", force=(0.2 * UP, 0, 0))
    pair.beams[1].load(at="all", force=(0, UP, UP)).load(at="all", force=(0, 0, 1), follower=True)
    return pair


MODELS = {"free": free, "moved": moved, "led": led, "guided": guided, "jointed": jointed}
models = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
FALL = {"gravity": (1, -2, 3)}


def run_of(model, **settings):
    return taut.simulate(model, method="implicit", **{"step": STEP, **settings})


def same(a, b, names=ARRAYS):
    return all(np.array_equal(getattr(a, x), getattr(b, x)) for x in names)


# ---- how accurate they are ---------------------------------------------------------------------


@models
def test_order_two_and_the_limit_of_the_variational_scheme(make):
    """Both have the same strains, so that they agree on any grid as the step goes to 0."""
    coarse, middle, fine = (run_of(make(), duration=0.1, step=0.1 / n) for n in (200, 400, 800))
    one = coarse.positions[-1] - middle.positions[-1]
    two = middle.positions[-1] - fine.positions[-1]
    assert np.log2(np.linalg.norm(one) / np.linalg.norm(two)) == pytest.approx(2, abs=0.25)
    found = (4 * fine.positions[-1] - middle.positions[-1]) / 3
    half, whole = (
        taut.simulate(make(), duration=0.1, step=0.1 / n, method="variational", every=100)
        for n in (1600, 3200)
    )
    wanted = (4 * whole.positions[-1] - half.positions[-1]) / 3
    assert np.abs(found - wanted).max() < 0.15 * np.abs(two).max()
    assert np.abs(wanted - whole.positions[0]).max() > 1e-4


@models
@pytest.mark.parametrize("damping", [0.0, 2e-3])
def test_energy_less_work_is_constant(make, damping):
    """To round-off: with loads of all kinds, weight, damping, and ends that are moved."""
    run = run_of(make(damping=damping, **FALL), duration=0.1)
    facts = run.certificate
    assert facts.energy.band < 1e-12 * facts.gross_work
    assert facts.work == pytest.approx(run.energy[-1] - run.energy[0], rel=1e-9)
    assert facts.steps == 200


def test_work_is_that_of_loads_weight_and_damping():
    """Once more from the states, with the parts that go in and out."""
    swing, fall = sp.sin(60 * t), np.array([0, 0, -0.3])
    beam = soft(ends=("clamped", "free"), gravity=fall, damping=5e-4)
    beam.load(force=(swing, 0, 0), moment=(0, 0, 0.05 * swing))
    run = run_of(beam, duration=0.3, step=1e-4)
    mesh, now = run.mesh, np.sin(60 * run.t)
    speed, spin = (
        np.einsum("tjab,tjb->tja", run.frames, run.velocity[..., k : k + 3]) for k in (3, 0)
    )
    loads = now * (speed[:, -1, 0] + 0.05 * spin[:, -1, 2])
    heavy = mesh.weight[:, None] * mesh.inertia[:, 3, 3, None] * fall
    weight = np.einsum("tja,ja->t", speed, heavy)
    rate = np.gradient(run.strain, run.t, axis=0, edge_order=2)
    stress = np.einsum("eij,tej->tei", mesh.stiffness, rate)
    lost = 5e-4 * np.einsum("e,tei,tei->t", mesh.spacing, rate, stress)
    parts = [np.trapezoid(x, run.t) for x in (loads, weight, lost)]
    assert min(abs(x) for x in parts) > 1e-3 * max(abs(x) for x in parts)
    facts = run.certificate
    assert facts.work == pytest.approx(parts[0] + parts[1] - parts[2], rel=2e-3)
    gross = [np.trapezoid(abs(x), run.t) for x in (loads, weight, lost)]
    assert facts.gross_work == pytest.approx(sum(gross), rel=1e-2)


def test_the_weight_of_a_body_beside_the_beam():
    """Its height counts from the first step on."""
    beam = free(gravity=(1, -2, 3)).body(
        mass=2, inertia=(0.01, 0.02, 0.03), offset=(0.2, -0.1, 0.3)
    )
    facts = run_of(beam, v0=[0, 2, 0, 0, 0, 0], duration=0.05).certificate
    assert facts.energy.band < 1e-12 * facts.gross_work


def test_distributed_loads_act_once_where_beams_meet():
    """The impulse of what is spread over both beams, and a limit that needs no smaller step."""
    pair = taut.Beams([soft(), soft(at=(0, 1, 0), frame=(1, 0, 0))])
    for beam in pair.beams:
        beam.load(at="all", force=(0, 2 * t, 1 + s))
    run = run_of(pair, duration=0.1)
    assert run.linear_momentum[-1] == pytest.approx([0, 2 * 0.01, 0.1 * 3], rel=1e-12, abs=1e-14)
    centre = np.einsum("j,tji->ti", run.mesh.weight, run.positions) / run.mesh.weight.sum()
    wanted = [0, 2 * 1e-3 / 6 / 2.5 / 2 * 2, 0.5 * 1e-2 * 3 / 5]
    np.testing.assert_allclose((centre[-1] - centre[0])[1:], wanted[1:], rtol=1e-4)


def test_momenta_and_frames_of_a_free_beam():
    beam = soft(nodes=11, at=(1, 2, 3))
    strain = np.zeros((10, 6))
    strain[:, 0], strain[:, 2] = 0.8, -0.4
    start = {"strain0": strain, "v0": [0.3, 1, 0, 0.2, 0, 0.1]}
    facts = run_of(beam, **start, duration=1, step=1e-3, every=50).certificate
    assert facts.kept == {"linear": True, "angular": True}
    assert max(facts.momenta.values()) < 1e-13
    assert facts.energy.band < 1e-13 * facts.energy0
    assert facts.compatibility < 1e-12
    assert facts.orthogonality < 1e-13
    words = {name: word for name, _, word in facts.rows()}
    assert words["step against its limit"] == ""
    assert words["energy drift"] == "round-off"


# ---- far beyond the limit ----------------------------------------------------------------------


def test_the_beam_of_cs_with_a_hundred_times_the_explicit_step():
    nodes = 101
    beam = taut.Beam(
        2 * np.pi / 3, taut.Square(0.1), density=1e3, young=1e7, poisson=0.35, nodes=nodes
    )
    momentum, strain = np.zeros((nodes, 6)), np.zeros((nodes - 1, 6))
    momentum[:, 3], momentum[:, 4] = 10 * np.sin(np.linspace(0, np.pi, nodes)), 10
    strain[:, 0] = -1
    run = run_of(beam, momentum0=momentum, strain0=strain, duration=4, step=2.5e-2)
    assert run.certificate.step_ratio > 100
    assert not run.certificate.drifts
    assert np.abs(run.energy / run.energy[0] - 1).max() < 1e-12
    assert max(run.certificate.momenta.values()) < 1e-12


def test_a_slender_rod_is_spun_up_with_a_hundred_times_the_explicit_step():
    """Length over diameter 10³: spun by a moment that ends, it keeps what it was given."""
    rod = taut.Beam(1, taut.Circle(5e-4), density=7850, young=2e11, poisson=0.3, nodes=31)
    pulse = sp.Piecewise((0.05 * sp.sin(sp.pi * t / 0.05) ** 2, t < 0.05), (0, True))
    rod.load(at="root", moment=(pulse, 0, 0.3 * pulse))
    run = run_of(rod, duration=0.2, step=5e-5)
    assert run.certificate.step_ratio > 100
    assert run.certificate.energy.band < 1e-12 * run.certificate.gross_work
    after = run.energy[run.t > 0.05]
    assert np.ptp(after) < 1e-12 * after[0]
    wanted = [0.05 * 0.025, 0, 0.3 * 0.05 * 0.025]
    assert run.angular_momentum[-1] == pytest.approx(wanted, rel=1e-10, abs=1e-15)


# ---- what is kept, going on --------------------------------------------------------------------


@pytest.mark.parametrize("every", [1, 3, 7, 1000])
@pytest.mark.parametrize("count", [20, 21, 20.5])
def test_every_kth_state_and_the_last_are_kept(every, count):
    run = run_of(free(), duration=count * STEP, every=every)
    wanted = [k for k in range(int(count) + 1) if k % every == 0 and k < count] + [count]
    np.testing.assert_allclose(run.t, np.array(wanted) * STEP, rtol=0, atol=1e-15)
    assert run.certificate.steps == np.ceil(count)
    assert run.ending.short == (count == 20.5)
    assert np.array_equal(run.positions[-1], run_of(free(), duration=count * STEP).positions[-1])
    whole = run_of(free(), duration=21 * STEP)
    for row, k in enumerate(wanted[:-1] if count == 20.5 else wanted):
        for name in ("positions", "momentum", "strain"):
            assert np.array_equal(getattr(run, name)[row], getattr(whole, name)[k])


@models
def test_a_shorter_last_step_is_as_good_as_the_others(make):
    fine = run_of(make(damping=1e-3), duration=30.4 * STEP, step=0.1 * STEP)
    short = run_of(make(damping=1e-3), duration=30.4 * STEP)
    whole = run_of(make(damping=1e-3), duration=30 * STEP)
    error = np.abs(short.positions[-1] - fine.positions[-1]).max()
    assert error < 1.5 * np.abs(whole.positions[-1] - fine.positions[300]).max()
    facts = short.certificate
    assert facts.energy.band < 1e-11 * facts.gross_work
    assert facts.work == pytest.approx(fine.certificate.work, rel=1e-2)
    more = short.continue_(10 * STEP)
    wanted = np.r_[np.arange(31), 30.4 + np.arange(11)] * STEP
    np.testing.assert_allclose(more.t, wanted, rtol=0, atol=1e-15)
    assert more.certificate.energy.band < 1e-11 * more.certificate.gross_work
    fine = fine.continue_(10 * STEP)
    error = np.abs(more.positions[-1] - fine.positions[-1]).max()
    assert error < 3 * np.abs(whole.positions[-1] - fine.positions[300]).max()


@models
@pytest.mark.parametrize(
    ("parts", "every"), [((10, 10), 1), ((7, 13), 3), ((6, 9, 5), 5), ((11, 9), 1000)]
)
def test_going_on_is_one_run_bit_by_bit(make, parts, every):
    model = make(damping=1e-3, **FALL)
    whole = run_of(model, duration=20 * STEP, every=every)
    run = run_of(model, duration=parts[0] * STEP, every=every)
    for more in parts[1:]:
        run = run.continue_(more * STEP)
    assert same(run, whole)
    assert run.certificate.steps == 20


@pytest.mark.parametrize("call", [1, 4])
@pytest.mark.parametrize("every", [1, 7])
def test_an_interrupted_run_goes_on_bit_by_bit(monkeypatch, every, call):
    monkeypatch.setattr(field_run, "CHUNK", 1e-9)  # one step per report
    count = 0

    def stop(*_):
        nonlocal count
        count += 1
        if count == call:
            raise KeyboardInterrupt

    whole = run_of(moved(), duration=10 * STEP, every=every)
    with pytest.raises(taut.Interrupted) as caught:
        run_of(moved(), duration=10 * STEP, every=every, progress=stop)
    part = caught.value.partial
    assert part.t[-1] == call * STEP
    assert same(part.continue_((10 - call) * STEP), whole)


def test_times_begin_at_t0():
    """Loads act in the middle of steps, ends are led to where they are after them."""

    def at(start):
        now = t - start
        way = (0.1 * sp.sin(9 * now) ** 2, 0, 0)
        beam = soft(ends=(taut.End("clamped", position=way), "free"))
        return beam.load(force=(0, 0, sp.cos(30 * now)))

    one = run_of(at(0), duration=0.02)
    two = run_of(at(5), duration=0.02, t0=5)
    np.testing.assert_allclose(two.positions, one.positions, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        one.positions[:, 0, 0], 0.1 * np.sin(9 * one.t) ** 2, rtol=0, atol=1e-14
    )


def test_ends_that_are_moved_are_where_they_should_be():
    """Also where they turn about the way they go."""
    run = run_of(moved(), duration=0.1, step=2e-3)
    up = np.sin(20 * run.t) ** 2
    wanted = np.stack([0.05 * up, 0 * up, 0.2 * up], axis=1)
    np.testing.assert_allclose(run.positions[:, 0], wanted, rtol=0, atol=1e-13)
    turned = SO3.exp(np.stack([0.3 * up, up, 0 * up], axis=1)) @ run.frames[0, 0]
    np.testing.assert_allclose(run.frames[:, 0], turned, rtol=0, atol=1e-13)
    run = run_of(led(), duration=0.1, step=2e-3)
    wanted = run.positions[0, -1] + np.stack([0.1 * up, -0.05 * up, 0.1 * up], axis=1)
    np.testing.assert_allclose(run.positions[:, -1], wanted, rtol=0, atol=1e-13)


# ---- errors half-way ---------------------------------------------------------------------------


def test_it_needs_a_step():
    with pytest.raises(InputError, match="an implicit scheme needs a step") as caught:
        taut.simulate(soft(), duration=1, method="implicit")
    assert "explicit schemes would need" in caught.value.remedy


@pytest.mark.parametrize("every", [1, 4])
def test_a_load_that_is_no_number_at_some_time(every):
    """Loads are those of the middle of a step: that is the time that is named."""
    beam = soft(nodes=9).load(at=0.25, force=(sp.sqrt(10.7 * STEP - t), 0, 0))
    with pytest.raises(StepError) as caught:
        run_of(beam, duration=20 * STEP, every=every)
    error = caught.value
    assert error.what == f"a load is not finite at t = {11.5 * STEP:g}, s = 0.25 (node 2)"
    assert (error.t, error.index) == (pytest.approx(11.5 * STEP), 11)
    part = error.partial
    assert part.t == pytest.approx(np.arange(0, 12, every) * STEP)
    assert np.all(np.isfinite(part.positions))
    with pytest.raises(InputError, match="a run that failed cannot go on"):
        part.continue_(1.0)


def test_a_load_that_is_no_number_in_a_shorter_last_step():
    beam = soft(nodes=9).load(force=(sp.sqrt(20.1 * STEP - t), 0, 0))
    with pytest.raises(StepError, match=f"not finite at t = {20.2 * STEP:g}, ") as caught:
        run_of(beam, duration=20.4 * STEP)
    assert len(caught.value.partial) == 21


@pytest.mark.parametrize("count", [20, 11.4])
def test_a_motion_that_is_no_number_at_some_time(count):
    end = taut.End("clamped", position=(sp.sqrt(1 - t / (11.2 * STEP)) - 1, 0, 0))
    with pytest.raises(StepError) as caught:
        run_of(soft(ends=("free", end)), duration=count * STEP)
    late = min(12, count) * STEP
    assert caught.value.what == f"an end is moved to nowhere at t = {late:g}, s = 1 (node 5)"
    assert caught.value.t == pytest.approx(late)
    assert len(caught.value.partial) == 12


def test_a_motion_that_is_not_defined_before_the_start():
    end = taut.End("clamped", position=(t ** sp.Rational(5, 2), 0, 0))
    run = run_of(soft(ends=(end, "free")), duration=0.05)
    np.testing.assert_allclose(run.positions[:, 0, 0], run.t**2.5, rtol=0, atol=1e-14)


def test_a_step_that_cannot_be_made(rng):
    v0 = 300 * rng.normal(size=(6, 6))
    with pytest.raises(StepError, match=r"no step could be made at t = 0 \(step 0\): ") as caught:
        run_of(soft(), v0=v0, duration=10, step=1.0)
    error = caught.value
    assert (error.t, error.index) == (0, 0)
    assert error.received == "method implicit, step 1, after 0 steps"
    assert error.remedy == "use a smaller step"
    assert len(error.partial) == 1
    np.testing.assert_allclose(error.partial.velocity[0], v0, rtol=1e-12)


def test_a_step_that_cannot_be_made_later():
    """A pin that is torn away: what was run until then is kept."""
    kick = sp.Piecewise((0, t < 10.5 * STEP), (1e9, True))
    beam = soft().load(moment=(kick, 0, kick))
    with pytest.raises(StepError, match=r"no step could be made|blown up") as caught:
        run_of(beam, duration=40 * STEP)
    part = caught.value.partial
    assert caught.value.index >= 10
    assert len(part) == caught.value.index + 1
    assert np.all(np.isfinite(part.positions))
    assert np.abs(part.positions[10] - part.positions[0]).max() == 0
