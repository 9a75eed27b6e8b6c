"""Runs of damped beams by explicit schemes: order, ends, books, going on, and what is said."""

import itertools

import numpy as np
import pytest
import sympy as sp

import taut
from taut.errors import InputError, StepError
from taut.march import damped_run, field_run
from taut.march.fields import UnstableStep
from taut.march.limits import stable_step

t, s = taut.t, taut.s
SOFT = {
    "section": taut.Square(0.05), "density": 1000, "young": 1e7, "poisson": 0.3, "nodes": 6,
    "damping": 2e-3,
}  # fmt: skip
ARRAYS = ("t", "momentum", "strain", "positions", "frames", "energy", "books")
SCHEMES = ("poisson", "hamel", "variational")
schemes = pytest.mark.parametrize("method", SCHEMES)
STEP = 5e-5
UP = sp.sin(20 * t) ** 2  # begins smoothly
TILTED = (1, 2, 2)


def soft(length=1, **options):
    return taut.Beam(length, **{**SOFT, **options})


def free():
    beam = soft(curvature=(1, 0, 0.5), gravity=(1, -2, 3))
    beam.load(force=(UP, 0.5 * UP, 0.3 * UP), moment=(0.02 * UP, 0, 0.01 * UP))
    return beam.load(at=0.4, force=(0.2 * UP, 0.1 * UP, 0.4 * UP), follower=True)


def moved():
    way = {"position": (0.05 * UP, 0, 0.2 * UP), "rotation": (0.3 * UP, UP, 0)}
    return soft(ends=(taut.End("clamped", **way), "free"), frame=TILTED)


def led():
    end = taut.End("pinned", position=(0.1 * UP, -0.05 * UP, 0.1 * UP))
    return soft(ends=("free", end), frame=TILTED)


def guided():
    ends = (taut.End("hinged", axis=(1, 0, 1)), taut.End("roller", axis=(1, 2, 0)))
    return soft(ends=ends, frame=TILTED).load(at="all", force=(UP, s * UP, 0))


def sliding():
    ends = (taut.End("sliding", axis=(1, 2, 0)), "pinned")
    return soft(ends=ends, frame=TILTED).load(at=0.4, force=(UP, UP, -UP))


def jointed():
    pair = taut.Beams([soft(), soft(at=(0, 1, 0), frame=(1, 0, 0))])
    pair.beams[0].load(force=(UP, 2 * UP, 3 * UP))
    pair.beams[1].load(at="all", force=(0, UP, UP))
    return pair


MODELS = {
    "free": free, "moved": moved, "led": led, "guided": guided, "sliding": sliding,
    "jointed": jointed,
}  # fmt: skip
models = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def same(a, b, names=ARRAYS):
    return all(np.array_equal(getattr(a, x), getattr(b, x)) for x in names)


# ---- what it does ------------------------------------------------------------------------------


@schemes
@models
def test_order_two(make, method):
    settings = {"duration": 0.1, "method": method, "every": 100}
    runs = [taut.simulate(make(), step=0.1 / n, **settings) for n in (1600, 3200, 6400)]
    one, two = (a.positions[-1] - b.positions[-1] for a, b in itertools.pairwise(runs))
    assert np.log2(np.linalg.norm(one) / np.linalg.norm(two)) > 1.7
    bands = [run.certificate.energy.band for run in runs]
    assert np.log2(bands[0] / bands[2]) / 2 > 1.7
    if method != "variational":
        return
    # The implicit scheme has the same strains, and damps in its own equations.
    settings["method"] = "implicit"
    coarse, fine = (taut.simulate(make(), step=0.1 / n, **settings) for n in (800, 1600))
    wanted = (4 * fine.positions[-1] - coarse.positions[-1]) / 3
    found = (4 * runs[2].positions[-1] - runs[1].positions[-1]) / 3
    assert np.abs(found - wanted).max() < 1e-6 * np.abs(wanted - fine.positions[0]).max()
    assert fine.certificate.work - (fine.energy[-1] - fine.energy[0]) == pytest.approx(0, abs=1e-12)


@schemes
def test_energy_goes_where_the_work_says(method):
    """What is lost is ∫ damping·⟨C γ̇, γ̇⟩ ds dt, once more from the states."""
    beam = soft(nodes=11)
    strain = np.zeros((10, 6))
    strain[:, 0] = 0.5 * np.sin(np.pi * beam.middles) ** 2
    settings = {"strain0": strain, "v0": [0.1, 0, 0, 0, 0.3, 0], "duration": 0.2, "method": method}
    run = taut.simulate(beam, step=2.5e-5, every=4, **settings)
    facts = run.certificate
    fall = run.energy[0] - run.energy[-1]
    assert fall > 0.1 * run.energy[0]
    assert facts.work == pytest.approx(-fall, rel=1e-4)
    assert facts.gross_work == pytest.approx(-facts.work, rel=1e-9)
    rate = np.gradient(run.strain, run.t, axis=0, edge_order=2)
    stress = np.einsum("eij,tej->tei", run.mesh.stiffness, rate)
    power = 2e-3 * run.mesh.spacing[0] * np.einsum("tei,tei->t", rate, stress)
    assert np.trapezoid(power, run.t) == pytest.approx(fall, rel=2e-3)
    # a free beam keeps its momenta; every scheme as well as it does without damping
    exact = 1e-13 if method == "variational" else 1e-3
    assert max(facts.momenta.values()) < exact
    assert facts.kept == {"linear": True, "angular": True}


@schemes
def test_what_is_damped_are_the_strains_of_the_scheme(method):
    """Of a beam that is bent by an angle of one between nodes, where they differ."""
    beam = soft(curvature=(5, 0, 0))
    v0 = np.zeros((6, 6))
    v0[:, 5], v0[:, 1] = 0.3 * np.cos(np.pi * beam.places), 0.5 * beam.places
    run = taut.simulate(beam, v0=v0, duration=0.05, step=1e-5, method=method)
    rate = np.gradient(run.strain, run.t, axis=0, edge_order=2)
    stress = np.einsum("eij,tej->tei", run.mesh.stiffness, rate)
    power = 2e-3 * run.mesh.spacing[0] * np.einsum("tei,tei->t", rate, stress)
    assert -run.certificate.work == pytest.approx(np.trapezoid(power, run.t), rel=1e-3)


@schemes
def test_it_does_not_shorten_the_step(rng, method):
    """At 0.98 of the limit of the undamped beam, with times up to a thousand steps."""
    limit = stable_step(soft(damping=0.0).mesh())
    strain = 1e-3 * rng.normal(size=(5, 6))
    for damping in (1e-5, 1e-3, 1000 * limit):
        beam = soft(damping=damping)
        run = taut.simulate(
            beam, strain0=strain, duration=300 * limit, step=0.98 * limit, method=method
        )
        assert run.limit == limit
        assert run.energy.max() < 3 * run.energy[0]
        assert run.energy[-1] < 0.999 * run.energy[0]


def test_a_mode_decays_as_it_should():
    """A bar in its first axial mode: exp(−τω²t/2)."""
    tau, nodes = 2e-3, 21
    beam = soft(nodes=nodes, ends=("clamped", "free"), damping=tau)
    omega = np.pi / 2 * np.sqrt(1e7 / 1000)
    v0 = np.zeros((nodes, 6))
    v0[:, 4] = 1e-3 * np.sin(np.pi / 2 * beam.places)
    run = taut.simulate(beam, v0=v0, duration=0.1, step=5e-5)
    wet = omega * np.sqrt(1 - (tau * omega / 2) ** 2)
    decay = tau * omega**2 / 2
    wanted = np.exp(-decay * run.t) * (np.cos(wet * run.t) - decay / wet * np.sin(wet * run.t))
    np.testing.assert_allclose(run.velocity[:, -1, 4], 1e-3 * wanted, rtol=0, atol=3e-6)


def test_off_by_default():
    assert taut.Beam(1, taut.Square(1), density=1, young=1, poisson=0).damping == 0


@schemes
def test_ends_that_are_moved_are_where_they_should_be(method):
    run = taut.simulate(moved(), duration=0.1, step=STEP, method=method, every=50)
    up = np.sin(20 * run.t) ** 2
    wanted = np.stack([0.05 * up, 0 * up, 0.2 * up], axis=1)
    np.testing.assert_allclose(run.positions[:, 0], wanted, rtol=0, atol=1e-12)
    run = taut.simulate(led(), duration=0.1, step=STEP, method=method, every=50)
    wanted = run.positions[0, -1] + np.stack([0.1 * up, -0.05 * up, 0.1 * up], axis=1)
    np.testing.assert_allclose(run.positions[:, -1], wanted, rtol=0, atol=1e-12)


# ---- what is kept, going on --------------------------------------------------------------------


@pytest.mark.parametrize("every", [1, 3, 1000])
@pytest.mark.parametrize("count", [20, 20.5])
def test_every_kth_state_and_the_last_are_kept(every, count):
    run = taut.simulate(free(), duration=count * STEP, step=STEP, every=every)
    wanted = [k for k in range(int(count) + 1) if k % every == 0 and k < count] + [count]
    np.testing.assert_allclose(run.t, np.array(wanted) * STEP, rtol=0, atol=1e-15)
    assert run.certificate.steps == np.ceil(count)
    whole = taut.simulate(free(), duration=21 * STEP, step=STEP)
    for row, k in enumerate(wanted[:-1] if count == 20.5 else wanted):
        for name in ("positions", "momentum", "strain"):
            one, other = getattr(run, name)[row], getattr(whole, name)[k]
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-15)


@schemes
@models
def test_a_shorter_last_step_is_as_good_as_the_others(make, method):
    h = 4 * STEP
    settings = {"method": method, "every": 10}
    fine = taut.simulate(make(), duration=60.4 * h, step=0.1 * h, **settings)
    short = taut.simulate(make(), duration=60.4 * h, step=h, **settings)
    whole = taut.simulate(make(), duration=60 * h, step=h, **settings)
    usual = np.abs(whole.positions[-1] - fine.positions[60]).max()
    assert np.abs(short.positions[-1] - fine.positions[-1]).max() < 1.5 * usual
    assert short.certificate.energy.band < 2 * whole.certificate.energy.band
    more = short.continue_(10 * h)
    fine = fine.continue_(10 * h)
    assert more.t[-1] == pytest.approx(70.4 * h)
    assert np.abs(more.positions[-1] - fine.positions[-1]).max() < 3 * usual
    assert more.certificate.energy.band < 3 * whole.certificate.energy.band


@schemes
@models
@pytest.mark.parametrize(("parts", "every"), [((10, 10), 1), ((6, 9, 5), 5), ((11, 9), 1000)])
def test_going_on_is_one_run_bit_by_bit(make, method, parts, every):
    model = make()
    settings = {"step": STEP, "method": method, "every": every}
    whole = taut.simulate(model, duration=20 * STEP, **settings)
    run = taut.simulate(model, duration=parts[0] * STEP, **settings)
    for more in parts[1:]:
        run = run.continue_(more * STEP)
    assert same(run, whole)
    assert run.certificate.work == whole.certificate.work


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

    settings = {"duration": 10 * STEP, "step": STEP, "every": every}
    whole = taut.simulate(free(), **settings)
    with pytest.raises(taut.Interrupted) as caught:
        taut.simulate(free(), **settings, progress=stop)
    part = caught.value.partial
    assert part.t[-1] == call * STEP
    assert same(part.continue_((10 - call) * STEP), whole)


# ---- errors half-way ---------------------------------------------------------------------------


@schemes
def test_a_load_and_a_motion_that_are_no_numbers(method):
    beam = soft().load(at=0.4, force=(sp.sqrt(10.5 * STEP - t), 0, 0))
    with pytest.raises(StepError) as caught:
        taut.simulate(beam, duration=20 * STEP, step=STEP, method=method)
    assert caught.value.what == f"a load is not finite at t = {11 * STEP:g}, s = 0.4 (node 2)"
    assert len(caught.value.partial) == 11
    end = taut.End("clamped", position=(sp.sqrt(1 - t / (10.5 * STEP)) - 1, 0, 0))
    with pytest.raises(StepError) as caught:
        taut.simulate(soft(ends=("free", end)), duration=20 * STEP, step=STEP, method=method)
    wanted = f"an end is moved to nowhere at t = {11 * STEP:g}, s = 1 (node 5)"
    assert caught.value.what == wanted
    assert len(caught.value.partial) == 10


def test_a_blow_up_is_found(rng):
    beam = soft(damping=1e-9)
    limit, strain = stable_step(beam.mesh()), 1e-3 * rng.normal(size=(5, 6))
    with pytest.warns(UnstableStep), pytest.raises(StepError, match=r"blown up|no step") as caught:
        taut.simulate(beam, strain0=strain, duration=3000 * limit, step=1.2 * limit)
    assert len(caught.value.partial) == caught.value.index + 1
    with pytest.raises(InputError, match="a run that failed cannot go on"):
        caught.value.partial.continue_(1.0)


@pytest.mark.parametrize("count", [20, 1])
def test_damping_that_cannot_be_solved_for(monkeypatch, count):
    """In the loop and after its last step."""
    beam = soft()
    build = damped_run.Damper.__init__

    def broken(self, *given):
        build(self, *given)
        self.own.view("damping")[:] = np.nan

    monkeypatch.setattr(damped_run.Damper, "__init__", broken)
    with pytest.raises(StepError, match=r"damping could not be solved for at t = 0 \(step 0\)"):
        taut.simulate(beam, v0=[0, 0, 0, 1, 0, 0], duration=count * STEP, step=STEP)
