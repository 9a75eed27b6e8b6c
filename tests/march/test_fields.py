"""Runs of fields and beams: steps, what is kept, going on, interruptions, errors half-way."""

import itertools
import subprocess
import sys
import time
from functools import cache

import numpy as np
import pytest
import sympy as sp

import taut
from taut.errors import InputError, StepError, UnstableStep
from taut.march import coupled_run, field_run, plan
from taut.march.limits import stable_step
from taut.methods.fields import Poisson

t, s = taut.t, taut.s
SOFT = {"section": taut.Square(0.05), "density": 1000, "young": 1e7, "poisson": 0.3, "nodes": 9}
SCHEMES = ("poisson", "hamel", "variational")
schemes = pytest.mark.parametrize("method", SCHEMES)
STEP = 1e-4
ARRAYS = ("t", "momentum", "strain", "positions", "frames", "energy", "books")


def soft(length=1, **options):
    return taut.Beam(length, **{**SOFT, **options})


def string(nodes=21):
    g, m = taut.coordinates("gamma mu")
    settings = {"strain": [g], "momentum": [m], "length": 1, "nodes": nodes}
    return taut.Field(taut.lie.abelian(1), m**2 / 2 + g**2 / 2, **settings)


def same(a, b, names=ARRAYS):
    return all(np.array_equal(getattr(a, x), getattr(b, x)) for x in names)


def moved():
    wave = (0.01 * sp.sin(30 * t), 0, 0.2 * t)
    return soft(ends=(taut.End("clamped", position=wave, rotation=(0, t, 0)), "free"))


def loaded():
    """Steady and varying loads on one node, others everywhere, a pin and a roller."""
    beam = soft(ends=("pinned", "roller"))
    beam.load(at=0.5, force=(5, 0, 20 * t)).load(at=0.5, force=(1, 1, 1))
    return beam.load(at="all", force=(s, 0, sp.cos(50 * t))).load(at="all", force=(9.81, 0, s))


def jointed():
    pair = taut.Beams([soft(), soft(at=(0, 1, 0), frame=(1, 0, 0))])
    pair.beams[0].load(force=(1, 2 * t, 3))
    return pair


MODELS = {"free": lambda: soft(curvature=(1, 0, 0.5)).load(force=(1, 0, 0)), "moved": moved,
          "loaded": loaded, "jointed": jointed}  # fmt: skip


# ---- steps -------------------------------------------------------------------------------------


@schemes
def test_without_a_step_half_the_limit_is_taken(method):
    beam = soft()
    run = taut.simulate(beam, v0=[0, 0, 0, 1, 0, 0], duration=0.01, method=method)
    limit = stable_step(beam.mesh())
    assert run.limit == limit
    assert run.step <= limit / 2 < run.step * 1.05
    assert run.t[-1] == pytest.approx(0.01, rel=1e-14)
    assert not run.ending.short
    assert run.certificate.step_ratio == run.step / limit
    short = taut.simulate(beam, duration=1e-6, method=method)
    assert short.t == pytest.approx([0, 1e-6])


def test_what_nothing_limits_takes_one_step():
    stuck = soft(nodes=2, ends=("clamped", "clamped"))
    run = taut.simulate(stuck, duration=2)
    assert run.limit == np.inf
    assert np.array_equal(run.t, [0, 2])
    assert run.certificate.step_ratio == 0


@schemes
def test_a_step_beyond_the_limit_warns_and_blows_up(rng, method):
    beam = soft()
    limit = stable_step(beam.mesh())
    start = {"strain0": 1e-3 * rng.normal(size=(8, 6)), "method": method}
    with pytest.warns(UnstableStep, match="beyond the limit of stability") as heard:
        taut.simulate(beam, **start, duration=3 * limit, step=1.01 * limit)
    assert heard[0].filename == __file__
    calm = taut.simulate(beam, **start, duration=300 * limit, step=0.98 * limit)
    assert calm.energy.max() < 30 * calm.energy[0]
    with pytest.warns(UnstableStep), pytest.raises(StepError, match="has blown up at t") as caught:
        taut.simulate(beam, **start, duration=2000 * limit, step=1.1 * limit)
    error = caught.value
    part = error.partial
    assert error.t == pytest.approx(error.index * 1.1 * limit)
    assert len(part) == error.index + 1
    assert part.t[-1] == pytest.approx(error.t)
    assert np.all(np.isfinite(part.positions[:-1]))
    assert part.certificate.steps in (error.index - 1, error.index)
    assert "smaller step" in error.remedy
    assert part.ended_early == error.what
    assert part.certificate.rows()[0] == ("ended early", error.what, "failed")
    assert repr(part).endswith(error.what)
    with pytest.raises(InputError, match="a run that failed cannot go on"):
        part.continue_(1.0)


def test_a_step_that_turns_too_far_has_no_solution():
    """A spin of several radians in a step."""
    beam = taut.Beam(1, inertia=[1, 2, 3, 1, 1, 1], stiffness=[1e-3] * 6, nodes=3)
    v0 = np.zeros((3, 6))
    v0[1, :3] = 9, 7, 5
    with pytest.raises(StepError, match=r"no step could be made at t = 0 .*s = 0\.5 \(node 1\)"):
        taut.simulate(beam, v0=v0, duration=10, step=1.0, method="hamel")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step": 0}, "step must be positive"),
        ({"step": -1e-3}, "step must be positive"),
        ({"step": np.nan}, "step is not finite"),
        ({"step": "small"}, "step is not a number"),
        ({"duration": 0}, "duration must be positive"),
        ({"duration": -1}, "duration must be positive"),
        ({"duration": np.inf}, "duration is not finite"),
        ({"duration": "long"}, "duration is not a number"),
        ({"duration": 0, "step": None}, "duration must be positive"),
        ({"duration": -1, "step": None}, "duration must be positive"),
        ({"duration": np.nan, "step": None}, "duration is not finite"),
        ({"duration": "long", "step": None}, "duration is not a number"),
        ({"duration": 1e-5}, "step is longer than duration"),
        ({"every": 0}, "every must be a whole number"),
        ({"every": 1.5}, "every must be a whole number"),
        ({"t0": np.nan}, "t0 is not finite"),
        ({"q0": [1]}, "fields and beams take no q0"),
        ({"p0": [1]}, "fields and beams take no p0"),
        ({"tolerance": 1e-3}, "fields and beams take no tolerance"),
        ({"laws": []}, "fields and beams take no laws"),
        ({"events": [t]}, "fields and beams take no events"),
        ({"parameters": {"a": 1}}, "a beam has no parameters"),
        ({"method": "rattle"}, "there is no method for beams called 'rattle'"),
        ({"method": 3}, "method is neither a name nor a scheme"),
        ({"momentum0": np.zeros((9, 6)), "v0": 0}, "momentum0 and v0 are one too many"),
        ({"momentum0": np.zeros((9, 3))}, "momentum0 has the wrong shape"),
        ({"v0": np.zeros((8, 6))}, "v0 has the wrong shape"),
        ({"strain0": np.zeros((9, 6))}, "strain0 has the wrong shape"),
        ({"strain0": np.full((8, 6), np.nan)}, "strain0 is not finite"),
        ({"momentum0": [0, 0, 0, 0, 0, np.inf]}, "momentum0 is not finite"),
        ({"v0": "fast"}, "v0 cannot be read"),
    ],
)  # fmt: skip
def test_runs_that_cannot_be(settings, message):
    with pytest.raises(taut.TautError, match=message):
        taut.simulate(soft(), **{"duration": 0.01, "step": STEP, **settings})


def test_starts_of_fields_are_not_for_systems():
    x = taut.coordinates("x")
    system = taut.System(x, mass=[1], potential=x[0] ** 2)
    with pytest.raises(InputError, match="strains and momenta per length are for fields and beams"):
        taut.simulate(system, q0=[1], v0=0, strain0=0, duration=1, step=0.1)


def test_one_vector_is_meant_for_all_places():
    run = taut.simulate(soft(), v0=[0, 0, 0, 1, 2, 3], strain0=[0.1, 0, 0, 0, 0, 0], duration=1e-3)
    assert np.array_equal(run.strain[0], np.tile([0.1, 0, 0, 0, 0, 0], (8, 1)))
    np.testing.assert_allclose(
        run.velocity[0], np.tile([0, 0, 0, 1, 2, 3], (9, 1)), rtol=0, atol=1e-15
    )
    assert np.abs(taut.simulate(soft(), v0=0, duration=1e-3).velocity[0]).max() == 0


def test_velocities_and_momenta_are_one_start(rng):
    v0 = rng.normal(size=(9, 6))
    beam = soft()
    one = taut.simulate(beam, v0=v0, duration=0.01, step=STEP)
    two = taut.simulate(
        beam, momentum0=np.einsum("nij,nj->ni", beam.inertia, v0), duration=0.01, step=STEP
    )
    np.testing.assert_allclose(one.positions, two.positions, rtol=0, atol=1e-13)


@schemes
def test_what_is_given_is_the_first_state(rng, method):
    strain, momentum = 0.1 * rng.normal(size=(8, 6)), rng.normal(size=(9, 6)) * 1e-3
    run = taut.simulate(
        soft(), strain0=strain, momentum0=momentum, duration=0.001, step=STEP, method=method
    )
    np.testing.assert_allclose(run.strain[0], strain, rtol=0, atol=1e-15)
    np.testing.assert_allclose(run.momentum[0], momentum, rtol=0, atol=2e-15)


def test_a_beam_at_rest_is_at_rest():
    """However it is turned, and until a load comes."""
    late = sp.Piecewise((0, t < 0.02), (1, True))
    for beam in (soft(), soft(frame=(1, 2, 3), at=(1e3, 0, 0)), soft(curvature=(3, 2, 1))):
        run = taut.simulate(beam, duration=0.05, step=STEP, method="variational")
        assert run.energy.max() < 1e-15
        beam.load(force=(late, 0, 0))
        assert taut.simulate(beam, duration=0.05, step=STEP).energy[-1] > 1e-6


@pytest.mark.parametrize("method", [*SCHEMES, "implicit"])
@pytest.mark.parametrize("follower", [False, True])
def test_loads_on_one_node_add_up(method, follower):
    """Steady ones and those that depend on time, at a node and all along the beam."""
    way = {"follower": follower}
    parts = soft().load(at=0.5, force=(5, 0, 200 * t), **way).load(at=0.5, force=(1, 1, 1), **way)
    parts.load(at="all", force=(0, 2, 100 * s * t), **way).load(at="all", force=(3, 0, s), **way)
    parts.load(at="all", moment=(0, t, 0), **way)
    one = soft().load(at=0.5, force=(6, 1, 1 + 200 * t), **way)
    one.load(at="all", force=(3, 2, s + 100 * s * t), moment=(0, t, 0), **way)
    found, wanted = (
        taut.simulate(x, duration=0.02, step=STEP, method=method) for x in (parts, one)
    )
    np.testing.assert_allclose(found.positions, wanted.positions, rtol=0, atol=1e-13)
    assert np.abs(found.positions[-1] - found.positions[0]).max() > 1e-4


def test_times_begin_at_t0():
    ramp = soft().load(force=(t, 0, 0))
    shifted = soft().load(force=(t - 5, 0, 0))
    one = taut.simulate(ramp, duration=0.01, step=STEP)
    two = taut.simulate(shifted, t0=5, duration=0.01, step=STEP)
    np.testing.assert_allclose(two.positions, one.positions, rtol=0, atol=1e-12)
    np.testing.assert_allclose(two.t, 5 + one.t, rtol=0, atol=1e-14)


# ---- long lines --------------------------------------------------------------------------------


@schemes
def test_tiles_compute_the_same(monkeypatch, method):
    """However a run is cut; 4096 nodes or more are swept in tiles between stored states."""
    beam = soft(500, section=taut.Square(5), nodes=4999, ends=("pinned", "clamped"))
    beam.load(at=200.0, force=(1e5, 0, 2e5)).body(at=300.0, mass=1e5, inertia=(1e5,) * 3)
    v0 = np.zeros((4999, 6))
    v0[1:-1, 3], v0[1:-1, 0] = np.sin(beam.places[1:-1] / 7), 0.1
    settings = {"v0": v0, "step": 4e-4, "method": method}
    slow = taut.simulate(beam, **settings, duration=60 * 4e-4)
    run = taut.simulate(beam, **settings, duration=60 * 4e-4, every=60)
    for name in ("positions", "frames", "strain", "momentum"):
        assert np.array_equal(getattr(run, name), getattr(slow, name)[::60])
    np.testing.assert_allclose(run.certificate.work, slow.certificate.work, rtol=1e-12)
    monkeypatch.setattr(field_run, "CHUNK", 1e-9)
    pieces = taut.simulate(beam, **settings, duration=37 * 4e-4, every=60).continue_(23 * 4e-4)
    assert same(pieces, run)


def test_a_blow_up_in_a_tile_is_found():
    beam = soft(500, section=taut.Square(5), nodes=4999)
    rng = np.random.default_rng(0)
    strain = 1e-3 * rng.normal(size=(4998, 6))
    with pytest.warns(UnstableStep), pytest.raises(StepError, match=r"blown up|no step") as caught:
        taut.simulate(beam, strain0=strain, duration=2, step=2e-3, every=1000)
    assert caught.value.partial.t == pytest.approx([0])


# ---- what is kept ------------------------------------------------------------------------------


@pytest.mark.parametrize("every", [1, 3, 7, 1000])
@pytest.mark.parametrize("count", [20, 21, 20.5])
def test_every_kth_state_and_the_last_are_kept(every, count):
    """A last shorter step begins at the state before it, which is kept like any other."""
    beam = soft().load(force=(1, t, 0))
    run = taut.simulate(beam, duration=count * STEP, step=STEP, every=every)
    wanted = [k for k in range(int(count) + 1) if k % every == 0 and k < count] + [count]
    np.testing.assert_allclose(run.t, np.array(wanted) * STEP, rtol=0, atol=1e-15)
    assert run.ending.short == (count == 20.5)
    assert ("last one shortened" in str(run.certificate)) == (count == 20.5)
    assert run.certificate.steps == np.ceil(count)
    whole = taut.simulate(beam, duration=21 * STEP, step=STEP)
    for row, k in enumerate(wanted[:-1] if count == 20.5 else wanted):
        assert np.array_equal(run.positions[row], whole.positions[k])
        np.testing.assert_allclose(run.momentum[row], whole.momentum[k], rtol=0, atol=1e-15)


@schemes
@pytest.mark.parametrize("model", MODELS)
def test_a_shorter_last_step_is_as_good_as_the_others(model, method):
    """It ends where ten times smaller steps do, to second order."""
    made = MODELS[model]()
    fine = taut.simulate(made, duration=30.4 * STEP, step=0.1 * STEP, method=method)
    run = taut.simulate(made, duration=30.4 * STEP, step=STEP, method=method)
    assert run.ending.short
    whole = taut.simulate(made, duration=30 * STEP, step=STEP, method=method)
    error = np.abs(run.positions[-1] - fine.positions[-1]).max()
    usual = np.abs(whole.positions[-1] - fine.positions[300]).max()
    assert error < 3 * usual + 1e-13
    facts, wanted = run.certificate, whole.certificate
    assert facts.energy.band < 3 * wanted.energy.band + 1e-14
    assert facts.work == pytest.approx(fine.certificate.work, rel=2e-3)


@schemes
def test_a_shorter_last_step_of_a_pin_that_has_turned(method):
    """Its velocity in the step before does not depend on how it was turned at the start."""
    up = sp.sin(20 * t) ** 2
    end = taut.End("pinned", position=(0.1 * up, -0.05 * up, 0.1 * up))
    beam, step = soft(nodes=6, ends=("free", end), frame=(1, 2, 2)), 2e-4
    short = taut.simulate(beam, duration=60.4 * step, step=step, method=method)
    whole = taut.simulate(beam, duration=60 * step, step=step, method=method)
    assert np.abs(whole.frames[-1, -1] - whole.frames[0, -1]).max() > 0.02
    assert short.certificate.energy.band < 1.1 * whole.certificate.energy.band
    np.testing.assert_allclose(short.velocity[-2], whole.velocity[-1], rtol=0, atol=3e-5)
    more = short.continue_(10 * step)
    assert more.certificate.energy.band < 1.5 * whole.certificate.energy.band


def test_a_short_step_alone_is_refused_and_a_little_more_than_one_is_not():
    run = taut.simulate(soft(), v0=[0, 0, 0, 1, 0, 0], duration=1.5 * STEP, step=STEP)
    assert run.t == pytest.approx([0, STEP, 1.5 * STEP])
    np.testing.assert_allclose(run.positions[-1, :, 0], 1.5 * STEP, rtol=0, atol=1e-15)


# ---- going on ----------------------------------------------------------------------------------


@schemes
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("parts", "every"), [((10, 10), 1), ((7, 13), 3), ((6, 9, 5), 5), ((11, 9), 1000)]
)
def test_going_on_is_one_run_bit_by_bit(model, method, parts, every):
    made = MODELS[model]()
    settings = {"step": STEP, "method": method, "every": every}
    whole = taut.simulate(made, duration=20 * STEP, **settings)
    run = taut.simulate(made, duration=parts[0] * STEP, **settings)
    for more in parts[1:]:
        run = run.continue_(more * STEP)
    assert same(run, whole)
    assert run.certificate.steps == 20
    assert run.certificate.work == whole.certificate.work


@pytest.mark.parametrize("method", [*SCHEMES[:2], Poisson(start="printed")], ids=str)
def test_fields_go_on(method):
    field = string()
    start = {"strain0": np.sin(field.middles * 9)[:, None], "momentum0": [0.3]}
    settings = {**start, "step": 0.02, "method": method, "every": 3}
    whole = taut.simulate(field, duration=1, **settings)
    run = taut.simulate(field, duration=0.4, **settings).continue_(0.6)
    assert same(run, whole, ("t", "strain", "momentum", "energy", "books"))


@schemes
@pytest.mark.parametrize("model", MODELS)
def test_going_on_after_a_shorter_step(model, method):
    """The grid of times starts anew there; no state comes twice."""
    made = MODELS[model]()
    run = taut.simulate(made, duration=10.4 * STEP, step=STEP, method=method).continue_(10 * STEP)
    wanted = np.r_[np.arange(11), 10.4 + np.arange(11)] * STEP
    np.testing.assert_allclose(run.t, wanted, rtol=0, atol=1e-15)
    assert not run.ending.short
    again = run.continue_(5 * STEP)
    np.testing.assert_allclose(
        again.t, np.r_[wanted, (20.4 + np.arange(1, 6)) * STEP], rtol=0, atol=1e-15
    )
    fine = taut.simulate(made, duration=25.4 * STEP, step=0.1 * STEP, method=method)
    usual = taut.simulate(made, duration=25 * STEP, step=STEP, method=method)
    error = np.abs(again.positions[-1] - fine.positions[-1]).max()
    assert error < 3 * np.abs(usual.positions[-1] - fine.positions[250]).max() + 1e-13
    assert again.certificate.work == pytest.approx(fine.certificate.work, rel=2e-3)
    assert again.certificate.energy.band < 3 * usual.certificate.energy.band + 1e-14


def test_going_on_for_less_than_a_step_is_refused():
    run = taut.simulate(soft(), duration=10 * STEP, step=STEP)
    with pytest.raises(InputError, match="step is longer than duration"):
        run.continue_(0.5 * STEP)


def test_runs_are_the_same_every_time():
    one, two = (taut.simulate(loaded(), duration=0.02, step=STEP) for _ in range(2))
    assert same(one, two)


# ---- interruptions -----------------------------------------------------------------------------


def stopped(model, call, **settings):
    """The partial run of one that is interrupted at the `call`-th report."""
    count = 0

    def stop(*_):
        nonlocal count
        count += 1
        if count == call:
            raise KeyboardInterrupt

    with pytest.raises(taut.Interrupted) as caught:
        taut.simulate(model, progress=stop, **settings)
    return caught.value


@pytest.mark.parametrize("call", [1, 2, 4])
@pytest.mark.parametrize("every", [1, 7, 1000])
@pytest.mark.parametrize(
    ("model", "method"), [("free", "poisson"), ("loaded", "hamel"), ("moved", "variational")]
)
def test_an_interrupted_run_goes_on_bit_by_bit(monkeypatch, model, method, every, call):
    monkeypatch.setattr(field_run, "CHUNK", 1e-9)  # one step per report
    made = MODELS[model]()
    settings = {"step": STEP, "every": every, "method": method}
    whole = taut.simulate(made, duration=10 * STEP, **settings)
    error = stopped(made, call, duration=10 * STEP, **settings)
    part = error.partial
    assert part.ending.steps == call
    assert error.what == part.ended_early == f"interrupted at t = {call * STEP:g}"
    assert part.t[-1] == call * STEP
    assert part.certificate.steps == call
    joined = part.continue_((10 - call) * STEP)
    assert same(joined, whole)
    assert joined.ended_early == whole.ended_early == ""


def test_an_interruption_before_a_shorter_step(monkeypatch):
    """What goes on from there has not made it."""
    monkeypatch.setattr(field_run, "CHUNK", 1e-9)
    beam = soft().load(force=(1, 0, 0))
    part = stopped(beam, 4, duration=10.5 * STEP, step=STEP).partial
    assert not part.ending.short
    whole = taut.simulate(beam, duration=20 * STEP, step=STEP)
    assert same(part.continue_(16 * STEP), whole)


def test_progress_is_told():
    told = []
    beam = soft()
    taut.simulate(beam, duration=100.5 * STEP, step=STEP, progress=lambda *n: told.append(n))
    assert told[-1] == (101, 101)
    assert [a for a, _ in told] == sorted({a for a, _ in told})
    taut.simulate(beam, duration=10 * STEP, step=STEP).continue_(
        5 * STEP, progress=lambda *n: told.append(n)
    )
    assert told[-1] == (5, 5)


CTRL_C = """
import os, signal, threading
import numpy as np, taut
beam = taut.Beam(1, taut.Square(0.05), density=1000, young=1e7, poisson=0.3, nodes=9)
beam.load(force=(0.1 * taut.t / (1 + taut.t), 0, 0.1))
start = dict(step=1e-4, every=1000)
taut.simulate(beam, duration=0.1, **start)
timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
begun = []
def told(*_):  # however long it takes until steps are made
    if not begun:
        begun.append(timer.start())
try:
    taut.simulate(beam, duration=1e4, **start, progress=told)
except taut.Interrupted as error:
    part = error.partial
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
made = part.ending.steps
assert 0 < made < 10**8
run = part.continue_(500 * 1e-4)
whole = taut.simulate(beam, duration=(made + 500) * 1e-4, **start)
assert np.array_equal(run.positions, whole.positions) and np.array_equal(run.books, whole.books)
print("same")
"""


def test_ctrl_c_leaves_whole_states():
    done = subprocess.run([sys.executable, "-c", CTRL_C], capture_output=True, text=True)
    assert done.stdout == "same\n", done.stderr


# ---- errors half-way ---------------------------------------------------------------------------


@schemes
@pytest.mark.parametrize("every", [1, 4])
def test_a_load_that_is_no_number_at_some_time(method, every):
    beam = soft().load(at=0.25, force=(sp.sqrt(10.5 * STEP - t), 0, 0))
    with pytest.raises(StepError) as caught:
        taut.simulate(beam, duration=20 * STEP, step=STEP, every=every, method=method)
    error = caught.value
    assert error.what == f"a load is not finite at t = {11 * STEP:g}, s = 0.25 (node 2)"
    assert (error.t, error.index) == (pytest.approx(11 * STEP), 11)
    part = error.partial
    assert part.t == pytest.approx(np.arange(0, 11, every) * STEP)
    assert np.all(np.isfinite(part.positions))
    assert len(part.certificate.rows()) > 3
    with pytest.raises(InputError, match="a run that failed cannot go on"):
        part.continue_(1.0)


def test_a_load_that_is_no_number_at_the_last_state():
    beam = soft().load(at="all", force=(sp.log(20 * STEP - t), 0, 0))
    with pytest.raises(
        StepError, match=f"a load is not finite at t = {20 * STEP:g}, s = 0 "
    ) as caught:
        taut.simulate(beam, duration=20 * STEP, step=STEP)
    assert len(caught.value.partial) == 20
    with pytest.raises(StepError, match=f"a load is not finite at t = {20.5 * STEP:g}") as caught:
        taut.simulate(
            soft().load(force=(sp.sqrt(20.2 * STEP - t), 0, 0)), duration=20.5 * STEP, step=STEP
        )
    assert len(caught.value.partial) == 21


def test_a_load_that_is_no_number_at_the_start():
    with pytest.raises(StepError, match=r"a load is not finite at t = 0, s = 1 \(node 8\)"):
        taut.simulate(soft().load(force=(1 / t, 0, 0)), duration=0.01, step=STEP)
    load = sp.sqrt(s - sp.Rational(9, 16)) * sp.Heaviside(
        s - 0.4
    )  # imaginary on either side of node 4
    with pytest.raises(InputError, match=r"a load is not finite at s = 0\.375 \(node 3\)"):
        taut.simulate(soft().load(at="all", force=(load, 0, 0)), duration=0.01, step=STEP)
    with pytest.raises(InputError, match=r"a load is not finite at s = 0 \(node 0\)"):
        taut.simulate(soft().load(at="all", force=(1 / s, 0, 0)), duration=0.01, step=STEP)


@pytest.mark.parametrize("method", [*SCHEMES, "implicit"])
def test_a_steady_load_that_is_not_real_somewhere(method):
    """As one that depends on time, and as in `taut.equilibrium`."""
    beam = soft(ends=("clamped", "free")).load(at="all", force=(sp.sqrt(s - 0.5), 0, 0))
    with pytest.raises(InputError, match="a load is not finite at s = 0"):
        taut.simulate(beam, duration=0.01, step=1e-4, method=method)


def test_a_bad_load_is_found_among_good_ones():
    pair = jointed()
    pair.beams[1].load(at=0.5, force=(0, sp.sqrt(4.5 * STEP - t), 0))
    with pytest.raises(StepError, match=r"beam 1, s = 0\.5 \(node 13\)"):
        taut.simulate(pair, duration=20 * STEP, step=STEP)


def test_a_motion_that_is_no_number_at_some_time():
    end = taut.End("clamped", position=(sp.sqrt(1 - t / (10.5 * STEP)) - 1, 0, 0))
    with pytest.raises(StepError) as caught:
        taut.simulate(soft(ends=("free", end)), duration=20 * STEP, step=STEP)
    wanted = f"an end is moved to nowhere at t = {11 * STEP:g}, s = 1 (node 8)"
    assert caught.value.what == wanted
    assert len(caught.value.partial) == 11 - 1


def test_errors_while_going_on_keep_all_there_is():
    beam = soft().load(force=(sp.sqrt(10.5 * STEP - t), 0, 0))
    run = taut.simulate(beam, duration=5 * STEP, step=STEP)
    with pytest.raises(StepError, match="a load is not finite") as caught:
        run.continue_(20 * STEP)
    assert caught.value.partial.t == pytest.approx(np.arange(11) * STEP)


# ---- what a run is -----------------------------------------------------------------------------


def test_how_a_run_is_shown():
    run = taut.simulate(soft(), duration=0.01, step=STEP)
    assert (
        repr(run)
        == "FieldTrajectory: 101 states of 9 nodes, t = 0 … 0.01, variational, step 0.0001"
    )
    assert len(run) == 101


def test_momenta_and_energy_of_a_run(rng):
    """Sums over nodes and edges, once more."""
    beam = soft(curvature=(1, 2, 3), at=(1, 0, 0)).body(
        mass=1, offset=(0, 0.1, 0), inertia=(0.1,) * 3
    )
    run = taut.simulate(
        beam,
        v0=rng.normal(size=(9, 6)),
        strain0=0.1 * rng.normal(size=(8, 6)),
        duration=0.01,
        step=STEP,
    )
    mesh, row = run.mesh, 57
    linear, angular, kinetic = np.zeros(3), np.zeros(3), 0.0
    for j in range(9):
        heavy = mesh.weight[j] * mesh.inertia[j]
        momentum = heavy @ run.velocity[row, j]
        kinetic += 0.5 * momentum @ run.velocity[row, j]
        force = run.frames[row, j] @ momentum[3:]
        linear += force
        angular += run.frames[row, j] @ momentum[:3] + np.cross(run.positions[row, j], force)
    np.testing.assert_allclose(run.linear_momentum[row], linear, rtol=0, atol=1e-13)
    np.testing.assert_allclose(run.angular_momentum[row], angular, rtol=0, atol=1e-13)
    assert run.kinetic[row] == pytest.approx(kinetic, rel=1e-13)
    stress = np.einsum("eij,ej->ei", beam.stiffness, run.strain[row])
    np.testing.assert_allclose(run.stress[row], stress, rtol=0, atol=1e-10)
    assert run.potential[row] == pytest.approx(
        0.5 * 0.125 * np.sum(stress * run.strain[row]), rel=1e-13
    )
    assert run.energy[row] == pytest.approx(run.kinetic[row] + run.potential[row], rel=1e-15)


# ---- damping ---------------------------------------------------------------------------------

DAMPED_ENDS = {
    "clamped": ("clamped", "free"),
    "roller": ("pinned", taut.End("roller", axis=(1, 3, 0.5))),
    "moved clamp": (
        taut.End(
            "clamped",
            position=(0.05 * sp.sin(9 * taut.t), 0, 0),
            rotation=(taut.t, 0, 0.5 * taut.t),
        ),
        "free",
    ),
    "moved pin": (taut.End("pinned", position=(0, 0.03 * sp.sin(9 * t), t**2)), "free"),
}


def damped_run(ends, method, step):
    soft = SOFT | {"section": taut.Square(0.1), "young": 1e6}
    beam = taut.Beam(1.0, **soft, ends=ends, gravity=(0, 2.0, -5.0), damping=2e-3)
    beam.load(at="tip", force=(sp.cos(20 * t), 0, 2), moment=(0, 0.1, 0))
    v0 = np.zeros((9, 6))
    v0[:, 0], v0[:, 5] = 1 - np.cos(np.pi * beam.places), 0.5 * np.sin(np.pi * beam.places)
    return taut.simulate(beam, v0=v0, duration=0.2, step=step, method=method, project=True)


@cache
def damped_implicitly(name):
    return damped_run(DAMPED_ENDS[name], "implicit", 1e-4)


@pytest.mark.parametrize("method", ["poisson", "hamel", "variational"])
@pytest.mark.parametrize("name", DAMPED_ENDS)
def test_damping_between_steps_is_of_second_order(name, method):
    """Places, velocities and the balance of energy; the limit is near that of implicit steps."""
    runs = [damped_run(DAMPED_ENDS[name], method, h) for h in (4e-4, 2e-4, 1e-4)]
    for what in ("positions", "velocity"):
        last = [getattr(run, what)[-1] for run in runs]
        gaps = [np.linalg.norm(a - b) for a, b in itertools.pairwise(last)]
        assert np.log2(gaps[0] / gaps[1]) == pytest.approx(2, abs=0.1)
    exact = damped_implicitly(name)
    away = np.abs(exact.positions - runs[-1].positions).max()
    near = 1e-3 if method == "variational" else 0.03  # strains that are not those of the poses
    assert away < near * np.abs(exact.positions - exact.positions[0]).max()
    bands = [run.certificate.energy.band for run in runs]
    assert bands[2] < bands[1] / 3


# ---- before the first step -------------------------------------------------------------------


def test_states_that_do_not_fit_are_refused():
    beam = taut.Beam(1.0, **SOFT)
    with pytest.raises(InputError, match=r"do not fit into memory\n.*GB\n.*every="):
        taut.simulate(beam, duration=1e9, step=1e-4)


def test_more_than_the_machine_has_is_not_even_asked_for(monkeypatch):
    """Systems give away more memory than there is, and end who uses it."""
    monkeypatch.setattr(plan, "_memory", lambda: 1e5)
    beam = taut.Beam(1.0, **SOFT)
    with pytest.raises(InputError, match=r"100 states to be kept, which takes 0\.000137 GB"):
        taut.simulate(beam, duration=0.01, step=1e-4)
    assert len(taut.simulate(beam, duration=0.01, step=1e-4, every=10)) == 11


@pytest.mark.parametrize("method", [*SCHEMES, "implicit"])
def test_ctrl_c_while_it_compiles(monkeypatch, method):
    def interrupted(*_):
        raise KeyboardInterrupt

    for kind in (field_run.FieldRun, coupled_run.CoupledRun):
        monkeypatch.setattr(kind, "_advance", interrupted)
    with pytest.raises(taut.Interrupted, match="interrupted while compiling"):
        taut.simulate(taut.Beam(1.0, **SOFT), duration=0.1, step=1e-4, method=method)


def test_compiling_is_counted_as_such(monkeypatch):
    """What the first call of the loop takes is not in the time of the run."""
    real = field_run.FieldRun._advance

    def slow(self, store, row, t0, h, k, count):
        time.sleep(0.2 if count == 0 else 0.0)
        return real(self, store, row, t0, h, k, count)

    monkeypatch.setattr(field_run.FieldRun, "_advance", slow)
    run = taut.simulate(taut.Beam(1.0, **SOFT), duration=1e-3, step=1e-4)
    assert run.compile_time >= 0.2
    assert run.wall_time < run.compile_time
