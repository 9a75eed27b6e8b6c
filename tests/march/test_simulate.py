"""`simulate`: the grid of times, bits, batches, going on, failures, interruptions, scales."""

import importlib
import os
import subprocess
import sys

import numpy as np
import pytest
import sympy as sp

import taut
from taut import progress
from taut.diagnose.drift import pooled
from taut.march import loop, plan
from taut.march.run import Run
from taut.show.compare import main_lines

x, y, a, b = taut.coordinates("x y a b")
METHODS = [
    "rattle",
    "time-element",
    "time-element-independent",
    "symplectic-euler",
    "projected-symplectic-euler",
    "generalized-alpha",
]
ARRAYS = ("t", "q", "v", "p")


@pytest.fixture
def pendulum():
    return taut.System([x, y], mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1])


@pytest.fixture
def driven():
    """A pendulum with friction on a support that swings: forces and moving constraints."""
    u, w = taut.velocities([x, y])
    return taut.System(
        [x, y],
        mass=[1, 1],
        potential=10 * y + sp.sin(2 * x),
        constraints=[(x - sp.sin(3 * taut.t) / 5) ** 2 + y**2 - 1],
        forces=[-u / 10, -w / 10],
    )


@pytest.fixture
def bumpy():
    """A pendulum that hits a steep bump: steps fail, are tried again, and fail for good."""
    bump = 200 * sp.exp(-(((x - sp.Rational(4, 5)) * 10) ** 2))
    return taut.System([x, y], mass=[1, 1], potential=10 * y + bump, constraints=[x**2 + y**2 - 1])


@pytest.fixture
def cusp():
    """A point that slides into the cusp of y² = x³, where the constraint loses its gradient."""
    return taut.System([x, y], mass=[1, 1], potential=10 * x, constraints=[y**2 - x**3])


@pytest.fixture
def starts():
    """Many starts of a pendulum: (q0, v0) of shape (count, 2)."""

    def make(count, speed=3.0, seed=1):
        rng = np.random.default_rng(seed)
        angle, rate = rng.uniform(0, 6, count), rng.uniform(-speed, speed, count)
        place = np.stack([np.sin(angle), -np.cos(angle)], axis=1)
        return place, rate[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)

    return make


def same(one, two):
    """Whether two arrays are the same bit by bit."""
    return np.array_equal(one, two, equal_nan=True)


def same_runs(one, two):
    """Whether two runs are the same bit by bit, books included."""
    return all(same(getattr(one, n), getattr(two, n)) for n in ARRAYS) and same(
        one.ending.books, two.ending.books
    )


def measured(run):
    """What a certificate measures, without the times it took."""
    found = run.certificate.to_dict()
    return {
        k: v for k, v in found.items() if k not in ("wall_time", "compile_time", "steps_per_second")
    }


# ---- what is refused -------------------------------------------------------------------------

BAD = {
    "step 0": (dict(step=0), "step must be positive"),
    "negative step": (dict(step=-0.1), "step must be positive"),
    "step NaN": (dict(step=np.nan), "step is not finite"),
    "step inf": (dict(step=np.inf), "step is not finite"),
    "step a word": (dict(step="small"), "step is not a number"),
    "step None": (dict(step=None), "there is no step"),
    "step longer than duration": (dict(step=2), "step is longer than duration"),
    "step a little longer": (dict(step=1.00000001), "step is longer than duration"),
    "duration 0": (dict(duration=0), "duration must be positive"),
    "negative duration": (dict(duration=-1), "duration must be positive"),
    "duration NaN": (dict(duration=np.nan), "duration is not finite"),
    "duration inf": (dict(duration=np.inf), "duration is not finite"),
    "too many steps": (dict(duration=1e300, step=1e-300), "too many steps"),
    "too many states": (dict(duration=1e12, step=1e-3), "do not fit into memory"),
    "t0 NaN": (dict(t0=np.nan), "t0 is not finite"),
    "every 0": (dict(every=0), "every must be a whole number"),
    "negative every": (dict(every=-2), "every must be a whole number"),
    "every a half": (dict(every=1.5), "every must be a whole number"),
    "every a float": (dict(every=2.0), "every must be a whole number"),
    "every a truth value": (dict(every=True), "every must be a whole number"),
    "every None": (dict(every=None), "every must be a whole number"),
    "no method": (dict(method=None), "method is neither"),
    "a class as method": (dict(method=taut.Rattle), "method is neither"),
    "parameters a list": (dict(parameters=[1]), "parameters is not a mapping"),
    "laws a number": (dict(laws=3), "laws"),
    "laws a word": (dict(laws="energy"), "laws"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_bad_calls_are_refused(pendulum, change, message):
    given = {"q0": [1, 0], "v0": 0, "duration": 1, "step": 0.1} | change
    with pytest.raises(taut.InputError) as caught:
        taut.simulate(pendulum, **given)
    assert message in caught.value.what
    if message != "there":
        assert caught.value.received is not None


@pytest.mark.parametrize("of", ["the store", "the trajectory"])
def test_states_that_find_no_room(pendulum, monkeypatch, of):
    """NumPy's own error says nothing of steps."""

    def full(*_):
        raise MemoryError("Unable to allocate 3.86 GiB for an array")

    monkeypatch.setattr(Run, "begin" if of == "the store" else "trajectory", full)
    with pytest.raises(taut.InputError, match="do not fit into memory") as caught:
        taut.simulate(pendulum, q0=[[1, 0]] * 3, v0=0, duration=1, step=0.1, every=2)
    assert caught.value.received == "10 steps of 0.1, 5 states to be kept, which takes 1.44e-06 GB"


def test_more_states_than_this_machine_has_room_for(pendulum, monkeypatch):
    """Of a batch those of all trajectories, before any of them is begun."""
    monkeypatch.setattr(plan, "_memory", lambda: 8 * 2 * 6 * 100 * 3 - 1.0)
    given = {"v0": 0, "duration": 1, "step": 0.01, "laws": None}
    assert taut.simulate(pendulum, q0=[1, 0], **given).batch is None
    with pytest.raises(taut.InputError, match=r"100 steps of 0\.01, 100 states"):
        taut.simulate(pendulum, q0=[[1, 0]] * 3, **given)


@pytest.mark.parametrize("model", [None, "pendulum", 3, taut.System])
def test_only_systems_are_simulated(model):
    with pytest.raises(taut.InputError, match="expected: a taut"):
        taut.simulate(model, q0=[1, 0], v0=0, duration=1, step=0.1)


def test_an_unknown_method_lists_the_known_ones(pendulum):
    with pytest.raises(taut.UnknownName) as caught:
        taut.simulate(pendulum, q0=[1, 0], v0=0, duration=1, step=0.1, method="ratle")
    for name in (*METHODS, "auto"):
        assert name in caught.value.expected
    assert caught.value.remedy == "did you mean 'rattle'?"


def test_an_unknown_symbol_in_a_law_is_refused_before_the_run(pendulum):
    with pytest.raises(taut.ModelError, match="contains spin"):
        taut.simulate(
            pendulum, q0=[1, 0], v0=0, duration=1, step=0.1, laws=[sp.Symbol("spin")],
            progress=lambda *_: pytest.fail("it ran"),
        )  # fmt: skip


# ---- the grid of times -----------------------------------------------------------------------


@pytest.mark.parametrize("t0", [0.0, 3.7, -1.2])
def test_times_are_whole_steps_from_the_start(pendulum, t0):
    run = taut.simulate(pendulum, q0=[1, 0], v0=0, t0=t0, duration=1, step=0.01)
    assert same(run.t, t0 + np.arange(101) * 0.01)
    assert not run.certificate.to_dict()["shortened_last_step"]


@pytest.mark.parametrize("off", [5e-10, -5e-10])
def test_a_ratio_near_a_whole_number_is_that_number(pendulum, off):
    run = taut.simulate(pendulum, q0=[1, 0], v0=0, duration=(100 + off) * 0.01, step=0.01)
    assert same(run.t, np.arange(101) * 0.01)
    assert not run.ending.short


def test_a_step_may_exceed_the_duration_by_round_off(pendulum):
    run = taut.simulate(pendulum, q0=[1, 0], v0=0, duration=0.01, step=0.01 * (1 + 5e-10))
    assert len(run) == 2


@pytest.mark.parametrize("off", [0.5, 0.03, 3e-9, -3e-9, 0.999])
def test_otherwise_the_last_step_is_shorter(pendulum, off):
    duration = (100 + off) * 0.01
    run = taut.simulate(pendulum, q0=[1, 0], v0=0, t0=2, duration=duration, step=0.01)
    whole = 100 if off > 0 else 99
    assert len(run) == whole + 2
    assert same(run.t[:-1], 2 + np.arange(whole + 1) * 0.01)
    assert abs(run.t[-1] - (2 + duration)) < 1e-15 * 4
    assert run.ending.short
    assert run.certificate.to_dict()["shortened_last_step"]
    assert "last one shortened" in str(run.certificate)
    long = taut.simulate(pendulum, q0=[1, 0], v0=0, t0=2, duration=1.01, step=0.01)
    assert same(run.q[:-1], long.q[: whole + 1])
    one = taut.simulate(
        pendulum, q0=run.q[-2], v0=run.v[-2], t0=run.t[-2], duration=run.t[-1] - run.t[-2],
        step=run.t[-1] - run.t[-2],
    )  # fmt: skip
    np.testing.assert_allclose(run.q[-1], one.q[-1], atol=1e-14)


def test_row_0_is_the_start(driven):
    run = taut.simulate(driven, q0=[0.6, -0.8], v0=[0.6, 0], t0=0, duration=1, step=0.01)
    assert run.q[0].tolist() == [0.6, -0.8]
    assert run.v[0].tolist() == [0.6, 0]
    assert run.p[0].tolist() == [0.6, 0]
    assert run.t[0] == 0


@pytest.mark.parametrize("every", [2, 3, 10, 99, 100, 101, 10**6, 10**30, np.int64(7)])
@pytest.mark.parametrize("duration", [1.0, 1.005])
def test_stored_states_are_those_of_the_full_run(pendulum, every, duration):
    settings = {"q0": [1, 0], "v0": 0, "duration": duration, "step": 0.01}
    full = taut.simulate(pendulum, **settings)
    run = taut.simulate(pendulum, **settings, every=every)
    last = len(full) - 1
    rows = [k for k in range(last + 1) if k % every == 0 or k == last]
    for name in ARRAYS:
        assert same(getattr(run, name), getattr(full, name)[rows])
    assert same(run.ending.books, full.ending.books)


# ---- bits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_repeated_run_is_the_same(driven, method):
    settings = {"q0": [0.6, -0.8], "v0": [0.6, 0], "duration": 1, "step": 0.01, "method": method}
    assert same_runs(taut.simulate(driven, **settings), taut.simulate(driven, **settings))


@pytest.mark.parametrize("count", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("method", METHODS)
def test_a_batch_is_its_single_runs(pendulum, starts, method, count):
    q0, v0 = starts(count)
    settings = {"duration": 1, "step": 0.01, "method": method, "every": 3}
    batch = taut.simulate(pendulum, q0=q0, v0=v0, **settings)
    assert batch.batch == count
    assert batch.q.shape == (count, 35, 2)
    assert batch.energy.shape == (count, 35)
    assert batch.multipliers.shape == batch.constraints.shape == (count, 35, 1)
    for i in range(count):
        run = taut.simulate(pendulum, q0=q0[i], v0=v0[i], **settings)
        assert same_runs(batch[i], run)
        assert same(batch.q[i], run.q)
        for name in ("energy", "multipliers", "hidden", "reactions"):
            assert same(getattr(batch, name)[i], getattr(run, name))
    assert same(batch[-1].q, batch.q[-1])


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("method", METHODS)
def test_a_batch_with_forces_and_functions_is_its_single_runs(driven, method):
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 6, 5)
    q0 = np.stack([np.sin(angle), -np.cos(angle)], axis=1)
    settings = {"duration": 1, "step": 0.01, "method": method, "project": True}
    batch = taut.simulate(driven, q0=q0, v0=0, **settings)
    for i in range(5):
        assert same_runs(batch[i], taut.simulate(driven, q0=q0[i], v0=0, **settings))


def test_a_batch_of_momenta(pendulum, starts):
    q0, v0 = starts(3)
    batch = taut.simulate(pendulum, q0=q0, p0=v0, duration=1, step=0.01)
    for i in range(3):
        run = taut.simulate(pendulum, q0=q0[i], p0=v0[i], duration=1, step=0.01)
        assert same_runs(batch[i], run)


def test_one_place_and_many_velocities(pendulum):
    v0 = [[0, 1], [0, 2], [0, 3]]
    batch = taut.simulate(pendulum, q0=[1, 0], v0=v0, duration=1, step=0.01)
    assert same(batch[1].q, taut.simulate(pendulum, q0=[1, 0], v0=v0[1], duration=1, step=0.01).q)


def test_a_batch_of_large_systems_is_its_single_runs():
    n = 30
    p, q, c, d, vp, vq = sp.symbols("p q c d vp vq", real=True)
    pairs = np.arange(2 * n).reshape(n, 2)
    links = np.hstack([pairs[:-1], pairs[1:]])
    chain = taut.System.from_terms(
        sp.symbols(f"s0:{2 * n}"),
        [
            taut.Term("lagrangian", (p, q), [(vp**2 + vq**2) / 2 - 10 * q], pairs, rates=(vp, vq)),
            taut.Term("constraint", (p, q), [p**2 + q**2 - 1], pairs[:1]),
            taut.Term("constraint", (p, q, c, d), [(c - p) ** 2 + (d - q) ** 2 - 1], links),
        ],
    )
    angle = np.random.default_rng(0).uniform(-0.3, 0.3, (4, n))
    q0 = np.stack([np.cumsum(f(angle), axis=1) for f in (np.cos, np.sin)], axis=2).reshape(4, -1)
    settings = {"v0": 0, "duration": 0.1, "step": 0.002}
    batch = taut.simulate(chain, q0=q0, **settings)
    for i in range(4):
        assert same_runs(batch[i], taut.simulate(chain, q0=q0[i], **settings))


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("threads", ["1", "2", "5", "0", "many", ""])
def test_threads_do_not_change_a_bit(pendulum, starts, monkeypatch, threads):
    monkeypatch.setenv("TAUT_THREADS", threads)
    known = importlib.import_module("taut.march.run")._threads()
    assert known == (int(threads) if threads in ("1", "2", "5") else os.cpu_count())
    q0, v0 = starts(40)
    run = taut.simulate(pendulum, q0=q0, v0=v0, duration=1, step=0.01)
    monkeypatch.setenv("TAUT_THREADS", "1")
    assert same_runs(run, taut.simulate(pendulum, q0=q0, v0=v0, duration=1, step=0.01))


def test_members_of_a_batch(pendulum, starts):
    q0, v0 = starts(3)
    batch = taut.simulate(pendulum, q0=q0, v0=v0, duration=1, step=0.1)
    assert len(batch) == 3
    assert [len(run) for run in batch] == [11] * 3
    assert same(batch[-3].q, batch[0].q)
    assert same_runs(batch[np.int64(1)], batch[1])
    for index in (3, -4):
        with pytest.raises(IndexError, match="batch of 3"):
            batch[index]
    with pytest.raises(taut.InputError, match="whole number"):
        batch[:2]


def test_a_single_run_has_no_members(pendulum):
    run = taut.simulate(pendulum, q0=[1, 0], v0=0, duration=1, step=0.1)
    assert run.batch is None
    with pytest.raises(taut.InputError, match="no members"):
        run[0]


# ---- going on --------------------------------------------------------------------------------


@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("system", ["pendulum", "driven"])
def test_going_on_is_one_long_run(request, system, method, every):
    model = request.getfixturevalue(system)
    q0, v0 = ([0, -1], [5, 0]) if system == "pendulum" else ([0.6, -0.8], [0.6, 0])
    settings = {"q0": q0, "v0": v0, "step": 0.01, "method": method, "every": every}
    whole = taut.simulate(model, duration=1.2, **settings)
    for cuts in ([0.6, 0.6], [0.01, 0.3, 0.89], [1.18, 0.02], [0.07, 0.07, 1.06]):
        run = taut.simulate(model, duration=cuts[0], **settings)
        for cut in cuts[1:]:
            run = run.continue_(cut)
        assert same_runs(run, whole), cuts
    assert measured(run) == measured(whole)


def test_going_on_over_chart_changes(pendulum):
    settings = {"q0": [0, -1], "v0": [7, 0], "step": 0.01, "method": "time-element-independent"}
    whole = taut.simulate(pendulum, duration=4, **settings)
    assert whole.certificate.charts > 3
    run = taut.simulate(pendulum, duration=0.01, **settings)
    for _ in range(57):
        run = run.continue_(0.07)
    assert same_runs(run, whole)


def test_a_batch_goes_on(pendulum, starts):
    q0, v0 = starts(6)
    settings = {"q0": q0, "v0": v0, "step": 0.01, "every": 4}
    whole = taut.simulate(pendulum, duration=1, **settings)
    run = taut.simulate(pendulum, duration=0.33, **settings).continue_(0.67)
    assert same_runs(run, whole)
    one = taut.simulate(pendulum, duration=0.33, **settings)[2].continue_(0.67)
    assert same_runs(one, whole[2])


def test_going_on_after_a_shortened_step(pendulum):
    settings = {"q0": [1, 0], "v0": 0, "step": 0.01}
    part = taut.simulate(pendulum, duration=0.505, **settings)
    run = part.continue_(0.5)
    assert len(run) == 52 + 50
    assert same(run.q[:52], part.q)
    np.testing.assert_allclose(run.t[52:], 0.505 + 0.01 * np.arange(1, 51), rtol=1e-15)
    assert not run.ending.short
    fine = taut.simulate(pendulum, q0=[1, 0], v0=0, duration=1.005, step=0.001)
    np.testing.assert_allclose(run.q[-1], fine.q[-1], atol=5e-4)
    assert run.certificate.steps == 101
    assert abs(run.constraints).max() < 1e-15
    again = run.continue_(0.5)
    assert same(again.q[: len(run)], run.q)
    assert same(again.t[-50:], run.t[51] + 0.01 * np.arange(51, 101))


def test_going_on_for_less_than_a_step(pendulum):
    run = taut.simulate(pendulum, q0=[1, 0], v0=0, duration=1, step=0.1)
    with pytest.raises(taut.InputError, match="cannot go on for less than a step") as caught:
        run.continue_(0.01)
    assert "at least one step" in caught.value.remedy
    with pytest.raises(taut.InputError, match="duration is not finite"):
        run.continue_(np.nan)


# ---- failures --------------------------------------------------------------------------------


def test_a_step_that_is_too_large(pendulum):
    with pytest.raises(taut.StepError) as caught:
        taut.simulate(pendulum, q0=[1, 0], v0=0, duration=30, step=0.5)
    error = caught.value
    assert "no step could be made" in error.what
    assert f"t = {error.t:g} (step {error.index})" in error.what
    assert "step 0.5" in error.received
    assert "smaller step" in error.remedy
    run = error.partial
    assert isinstance(run, taut.Trajectory)
    assert len(run) == error.index + 1
    assert run.t[-1] == error.t == error.index * 0.5


@pytest.mark.parametrize("every", [1, 4, 1000])
def test_a_constraint_that_becomes_singular(cusp, every):
    settings = {"q0": [1, 1], "v0": 0, "step": 0.01, "every": every}
    with pytest.raises(taut.StepError) as caught:
        taut.simulate(cusp, duration=10, **settings)
    error, run = caught.value, caught.value.partial
    assert 0.3 < error.t < 1
    assert run.t[-1] == error.t
    assert abs(run.q[-1]).max() < 0.2  # near the cusp
    assert np.all(np.isfinite(run.q))
    assert abs(run.constraints).max() < 1e-15
    assert abs(run.energy - 10).max() < 0.2
    good = taut.simulate(cusp, duration=error.index * 0.01, **settings)
    assert all(same(getattr(run, n), getattr(good, n)) for n in ARRAYS)
    assert run.certificate.failures == 1
    assert run.certificate.steps == error.index
    assert run.failed_at == (error.index, error.t)
    assert run.ended_early == error.what
    assert run.certificate.rows()[0] == ("ended early", error.what, "failed")
    assert run.certificate.to_dict()["ended_early"] == error.what
    assert repr(run).endswith(error.what)
    assert (good.failed_at, good.ended_early) == (None, "")
    with pytest.raises(taut.InputError, match="failed cannot go on"):
        run.continue_(1)


def test_a_failure_while_going_on(cusp):
    settings = {"q0": [1, 1], "v0": 0, "step": 0.01, "every": 3}
    with pytest.raises(taut.StepError) as long:
        taut.simulate(cusp, duration=10, **settings)
    part = taut.simulate(cusp, duration=0.2, **settings)
    with pytest.raises(taut.StepError) as caught:
        part.continue_(10)
    assert (caught.value.t, caught.value.index) == (long.value.t, long.value.index)
    assert same_runs(caught.value.partial, long.value.partial)


def test_in_a_batch_only_the_failing_trajectory_is_lost(cusp):
    q0 = [[1, 1], [0.04, 0.008], [4, 8]]
    settings = {"v0": 0, "duration": 0.1, "step": 0.01}
    with pytest.raises(taut.StepError, match=r"for trajectories \[1\]") as caught:
        taut.simulate(cusp, q0=q0, **settings)
    batch = caught.value.partial
    lost = caught.value.index
    assert 0 < lost < 10
    assert np.all(np.isfinite(batch.q[1, : lost + 1]))
    assert np.all(np.isnan(batch.q[1, lost + 1 :]))
    assert batch[1].ended_early == f"no step could be made at t = {lost * 0.01:g} (step {lost})"
    for i in (0, 2):
        run = taut.simulate(cusp, q0=q0[i], **settings)
        assert same_runs(batch[i], run)
        assert batch[i].ended_early == ""
        more = taut.simulate(cusp, q0=q0[i], **(settings | {"duration": 0.2}))
        assert same_runs(batch[i].continue_(0.1), more)
    with pytest.raises(taut.InputError, match="failed cannot go on") as caught:
        batch.continue_(0.1)
    assert "run[i].continue_" in caught.value.remedy


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize(
    ("count", "h", "every"), [(3, 0.08, 7), (4, 0.05, 1), (9, 0.05, 7), (16, 0.03, 7)]
)
def test_steps_that_fail_in_a_batch_are_tried_again_as_in_a_single_run(
    bumpy, starts, monkeypatch, count, h, every
):
    """Lanes that fail go on alone; states, books and progress are those of single runs."""
    module = importlib.import_module("taut.march.rescue")
    rescued, original = [], module.rescued
    monkeypatch.setattr(
        module, "rescued", lambda run, group: rescued.append(original(run, group)) or rescued[-1]
    )
    q0, v0 = starts(count, speed=8.0)
    settings = {
        "duration": 1000 * h, "step": h, "every": every,
        "method": taut.TimeElement(quadrature="midpoint"),
    }  # fmt: skip

    def attempt(**start):
        try:
            return taut.simulate(bumpy, **start, **settings), None
        except taut.StepError as error:
            return error.partial, error

    told = []
    batch, error = attempt(q0=q0, v0=v0, progress=lambda *x: told.append(x))
    assert any(rescued)  # the test shows something
    assert error is not None
    assert all(done <= total for done, total in told)
    first = []
    for i in range(count):
        run, failure = attempt(q0=q0[i], v0=v0[i])
        rows = len(run) if failure is None else failure.index // every + 1
        for name in ("q", "v", "p"):
            found = getattr(batch, name)[i]
            assert same(found[:rows], getattr(run, name)[:rows])
            assert np.all(np.isnan(found[rows:]))
        assert same(batch.ending.books[i], run.ending.books[0])
        assert same(batch.ending.states[i], run.ending.states[0])
        book = batch.ending.books[i]
        filed = book[loop.BLOCKS_FULL] * book[loop.BLOCK_LENGTH] + book[loop.IN_BLOCK]
        assert filed == book[loop.STEPS] == (1000 if failure is None else failure.index)
        first += [] if failure is None else [failure.index]
    assert error.index == min(first)


# ---- interruptions ---------------------------------------------------------------------------


def stopped(system, call, **settings):
    """The partial run of one that is interrupted at the `call`-th report."""
    count = 0

    def stop(*_):
        nonlocal count
        count += 1
        if count == call:
            raise KeyboardInterrupt

    with pytest.raises(taut.Interrupted) as caught:
        taut.simulate(system, progress=stop, **settings)
    return caught.value


@pytest.mark.parametrize("call", [1, 2, 4])
@pytest.mark.parametrize("every", [1, 7, 1000])
@pytest.mark.parametrize("method", ["rattle", "time-element-independent"])
def test_an_interrupted_run_goes_on_bit_by_bit(pendulum, method, every, call):
    settings = {"q0": [0, -1], "v0": [7, 0], "step": 0.01, "every": every, "method": method}
    whole = taut.simulate(pendulum, duration=3, **settings)
    error = stopped(pendulum, call, duration=3, **settings)
    part = error.partial
    made = int(part.ending.steps[0])
    assert 0 < made < 300
    assert error.what == part.ended_early == f"interrupted at t = {made * 0.01:g}"
    assert part.certificate.rows()[0] == ("ended early", error.what, "stopped")
    assert "continue_" in error.remedy
    assert part.t[-1] == made * 0.01  # the last state is there, whatever `every` is
    assert part.certificate.steps == made
    joined = part.continue_((300 - made) * 0.01)
    assert same_runs(joined, whole)
    assert joined.ended_early == ""


@pytest.mark.parametrize("call", [1, 3, 250, 700])
@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("method", ["rattle", "time-element-independent"])
@pytest.mark.usefixtures("width")
def test_an_interrupted_batch_goes_on_bit_by_bit(
    pendulum, starts, monkeypatch, method, threads, call
):
    """In the first group, and in a later one: of 20 trajectories there are three or more."""
    monkeypatch.setenv("TAUT_THREADS", threads)
    monkeypatch.setattr(importlib.import_module("taut.march.run"), "CHUNK_SECONDS", 0.0)
    q0, v0 = starts(20, speed=8.0)
    settings = {"q0": q0, "v0": v0, "step": 0.01, "every": 7, "method": method}
    part = stopped(pendulum, call, duration=3, **settings).partial  # one step per report
    made = part.ending.steps
    assert call <= made.sum()
    if threads == "1":  # another one goes on as long as it likes, until the first is heard
        assert made.sum() <= 8 * (call + 1)
    for i in range(20):  # what has not been reached is NaN
        rows = 1 + made[i] // 7 + (made[i] == 300)
        assert np.all(np.isfinite(part.q[i, :rows]))
        assert np.all(np.isnan(part.q[i, rows:]))
    more = 300 - made.max()
    run = part.continue_(more * 0.01 if more else 1)
    assert same_runs(run, taut.simulate(pendulum, duration=3 if more else 4, **settings))


@pytest.mark.usefixtures("width")
def test_an_interrupted_batch_says_how_far_each_has_come(pendulum, starts, monkeypatch):
    monkeypatch.setenv("TAUT_THREADS", "1")
    monkeypatch.setattr(importlib.import_module("taut.march.run"), "CHUNK_SECONDS", 0.0)
    q0, v0 = starts(20, speed=8.0)
    settings = {"q0": q0, "v0": v0, "step": 0.01, "duration": 3}
    error = stopped(pendulum, 310, **settings)  # one step per report: in the second group
    part, made = error.partial, error.partial.ending.steps
    ahead, begun = int(made.max()), int((made > 0).sum())
    least = int(made[made > 0].min())
    assert 0 < least < ahead
    assert 0 < begun < 20
    assert (
        error.what
        == part.ended_early
        == (
            f"interrupted: {20 - begun} of 20 trajectories not begun, others at t = "
            f"{least * 0.01:g} … {ahead * 0.01:g}"
        )
    )
    found = part.certificate
    assert found.rows()[0] == ("ended early", error.what, "stopped")
    assert f"20 trajectories, 0 … {ahead} steps" in found.title()
    assert found.to_dict()["steps_least"] == 0
    assert main_lines(part)["steps"] == f"0 … {ahead} × 0.01"
    assert found.steps_per_second == pytest.approx(made.sum() / part.wall_time)
    assert part[19].ended_early == "interrupted before the first step"
    assert part[begun - 1].ended_early == f"interrupted at t = {least * 0.01:g}"
    # What was not begun has no part in the mean drift.
    assert found.energy == pooled([part[i].certificate.energy for i in range(begun)])


def test_an_interruption_while_going_on(pendulum):
    settings = {"q0": [1, 0], "v0": 0, "step": 0.01, "every": 10}
    run = taut.simulate(pendulum, duration=0.25, **settings)

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(taut.Interrupted) as caught:
        run.continue_(1, progress=stop)
    part = caught.value.partial
    np.testing.assert_allclose(part.t, [0, 0.1, 0.2, 0.26], rtol=1e-15)
    whole = taut.simulate(pendulum, duration=1, **settings)
    assert same_runs(part.continue_(0.74), whole)


def test_other_errors_of_a_callback_keep_the_run(pendulum, starts):
    def wrong(*_):
        raise ZeroDivisionError

    q0, v0 = starts(30)
    for start in ({"q0": [1, 0], "v0": 0}, {"q0": q0, "v0": v0}):
        with pytest.raises(taut.ProgressError) as caught:
            taut.simulate(pendulum, **start, duration=1, step=0.01, progress=wrong)
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert not isinstance(caught.value, KeyboardInterrupt)
        assert len(caught.value.partial.t) > 1


CTRL_C = """
import os, signal, threading
import numpy as np, taut
x, y = taut.coordinates("x y")
s = taut.System([x, y], mass=[1, 1], potential=10*y, constraints=[x**2 + y**2 - 1])
angle = np.linspace(0, 3, COUNT)
q0 = np.stack([np.sin(angle), -np.cos(angle)], axis=1)
q0 = q0 if COUNT > 1 else q0[0]
start = dict(q0=q0, v0=0, step=1e-3, every=1000)
taut.simulate(s, duration=1, **start)
threading.Timer(0.4, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    taut.simulate(s, duration=1e6, **start)
except taut.Interrupted as error:
    part = error.partial
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
made = part.ending.steps
assert np.array_equal(made, part.ending.books[:, BOOK])
more = 1 + (-made.max()) % 1000
run = part.continue_(more * 1e-3)
whole = taut.simulate(s, duration=(made.max() + more) * 1e-3, **start)
assert np.array_equal(run.q, whole.q) and np.array_equal(run.ending.books, whole.ending.books)
print("same")
"""


@pytest.mark.parametrize("count", [1, 20])
def test_ctrl_c_leaves_whole_states(count):
    program = CTRL_C.replace("COUNT", str(count)).replace("BOOK", str(loop.STEPS))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "same\n", done.stderr


# ---- progress --------------------------------------------------------------------------------


def test_progress_is_told(pendulum, starts):
    told = []
    taut.simulate(
        pendulum, q0=[1, 0], v0=0, duration=100, step=0.01, progress=lambda *n: told.append(n)
    )
    assert {total for _, total in told} == {10_000}
    done = [n for n, _ in told]
    assert done == sorted(set(done))
    assert (done[0], done[-1]) == (1, 10_000)
    told.clear()
    q0, v0 = starts(40)
    taut.simulate(pendulum, q0=q0, v0=v0, duration=1, step=0.01, progress=lambda *n: told.append(n))
    done, total = told[-1]
    assert done == total > 100


def test_progress_of_going_on(pendulum):
    told = []
    run = taut.simulate(pendulum, q0=[1, 0], v0=0, duration=1, step=0.01)
    run.continue_(2, progress=lambda *n: told.append(n))
    assert told[-1] == (200, 200)


@pytest.mark.parametrize("wish", [None, False])
def test_it_is_quiet_without_a_terminal(pendulum, monkeypatch, capfd, wish):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    taut.simulate(pendulum, q0=[1, 0], v0=0, duration=10, step=0.01, progress=wish)
    assert capfd.readouterr() == ("", "")


def test_a_bar_appears_in_a_terminal(pendulum, monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    taut.simulate(pendulum, q0=[1, 0], v0=0, duration=10, step=0.01)
    out, err = capsys.readouterr()
    assert out == ""
    assert "simulating" in err


@pytest.mark.slow
def test_ten_million_steps_take_little_memory():
    program = """
import resource, taut
x, y = taut.coordinates("x y")
s = taut.System([x, y], mass=[1, 1], potential=10*y, constraints=[x**2 + y**2 - 1])
settings = dict(q0=[1, 0], v0=0, step=0.01)
taut.simulate(s, duration=10, **settings).certificate.to_dict()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
run = taut.simulate(s, duration=1e5, every=1000, **settings)
print(len(run), run.certificate.steps, run.certificate.max_g)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    counts, kilobytes = done.stdout.splitlines()
    rows, steps, g = counts.split()
    assert (int(rows), int(steps)) == (10_001, 10_000_000)
    assert float(g) < 1e-15
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes elsewhere
    assert int(kilobytes) * unit < 50e6


# ---- scales ----------------------------------------------------------------------------------

ELEMENTS = [*METHODS, *(taut.TimeElement(quadrature=n) for n in ("midpoint", "simpson", "gauss2"))]


@pytest.mark.parametrize("method", ELEMENTS, ids=str)
def test_newton_is_aware_of_scales(method):
    """The same pendulum in other units of length takes the same steps."""

    def run(length):
        s = taut.System(
            [x, y],
            mass=[1, 1],
            potential=10 * length * y,
            constraints=[x**2 + y**2 - length**2],
        )
        return taut.simulate(
            s, q0=[length, 0], v0=[0, length], duration=2, step=0.01, method=method
        )

    one = run(1.0)
    assert one.certificate.most_iterations <= 10
    for length in (1e3, 1e-3, 1e-6):
        other = run(length)
        assert abs(other.certificate.most_iterations - one.certificate.most_iterations) <= 1
        assert abs(other.certificate.iterations - one.certificate.iterations) < 0.5
        np.testing.assert_allclose(other.q / length, one.q, atol=1e-12)
        np.testing.assert_allclose(other.v / length, one.v, atol=1e-11)
        if method != "symplectic-euler":
            assert other.certificate.max_g < 2e-15 * length**2


@pytest.mark.parametrize("method", ELEMENTS, ids=str)
def test_newton_serves_large_and_small_coordinates_at_once(method):
    one = taut.System([x, y], mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1])
    both = taut.System(
        [x, y, a, b],
        mass=[1, 1, 1, 1],
        potential=1e4 * y + 1e-5 * b,
        constraints=[x**2 + y**2 - 1e6, a**2 + b**2 - 1e-12],
    )
    settings = {"duration": 2, "step": 0.01, "method": method}
    known = taut.simulate(one, q0=[1, 0], v0=0, **settings)
    run = taut.simulate(both, q0=[1e3, 0, 1e-6, 0], v0=0, **settings)
    assert run.certificate.most_iterations <= known.certificate.most_iterations + 1
    np.testing.assert_allclose(run.q[:, :2] / 1e3, known.q, atol=1e-12)
    np.testing.assert_allclose(run.q[:, 2:] / 1e-6, known.q, atol=1e-12)
    # also while the large one is at rest
    run = taut.simulate(both, q0=[0, -1e3, 1e-6, 0], v0=0, **settings)
    np.testing.assert_allclose(run.q[:, 2:] / 1e-6, known.q, atol=1e-9)


ZERO = {
    "falls off the top": (dict(potential=10 * y - 3 * x), False),
    "rests on the top": (dict(potential=10 * y), True),
    "is pushed": (dict(forces=[sp.sin(taut.t), 0]), False),
    "is pushed later": (dict(forces=[sp.Piecewise((0, taut.t < 1), (5, True)), 0]), False),
    "is left alone": ({}, True),
}


@pytest.mark.parametrize(("system", "rests"), ZERO.values(), ids=ZERO)
@pytest.mark.parametrize("method", METHODS)
def test_a_start_in_the_origin(system, rests, method):
    s = taut.System([x, y], mass=[1, 1], constraints=[x**2 + (y + 1) ** 2 - 1], **system)
    run = taut.simulate(s, q0=[0, 0], v0=0, duration=1.5, step=0.01, method=method)
    moved = np.abs(run.q[-1]).max()
    assert moved < 1e-15 if rests else moved > 0.1
    assert run.certificate.most_iterations < 12
    if run.method.order == 2:
        fine = taut.simulate(s, q0=[0, 0], v0=0, duration=1.5, step=0.001)
        np.testing.assert_allclose(run.q[-1], fine.q[-1], atol=0.01)


@pytest.mark.parametrize("method", ["rattle", "time-element", "symplectic-euler"])
def test_a_start_in_the_origin_without_constraints(method):
    """Nothing shows a size until the force sets in."""
    push = sp.Piecewise((0, taut.t < 1), (5, True))
    drag = [sp.sinh(3 * v + v**2) for v in taut.velocities([x, y])]
    forces = [push - drag[0], -push - drag[1]]
    s = taut.System([x, y], mass=[[2 + x**2, x], [x, 3]], forces=forces)
    run = taut.simulate(s, q0=[0, 0], v0=0, duration=1.5, step=0.01, method=method)
    assert same(run.q[:100], np.zeros((100, 2)))
    assert abs(run.q[-1]).min() > 0.05


@pytest.mark.parametrize("far", [1e8, 1e12])
def test_a_distant_coordinate_does_not_loosen_the_others(far):
    """A coordinate counts with those it shares a constraint with, not with the largest of all."""
    s = taut.System([a, x, y], mass=[1, 1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1])
    run = taut.simulate(s, q0=[far, 1, 0], v0=0, duration=10, step=0.1)
    assert run.certificate.max_g < 2e-15


@pytest.mark.parametrize("h", [1e-3, 1e-4, 1e-5])
def test_a_circle_through_the_origin_written_without_a_constant(h):
    """Every summand is zero at the start; the length of the problem is the circle's radius."""
    s = taut.System(
        [x, y], mass=[1, 1], potential=10 * y, constraints=[x**2 + 2 * x + y**2 + 2 * y]
    )
    run = taut.simulate(s, q0=[0, 0], v0=0, duration=2, step=h, every=1000)
    assert run.certificate.max_g < 1e-14


def test_tiny_units_at_rest_until_the_force_sets_in():
    size = 1e-12
    push = sp.Piecewise((0, taut.t < 0.5), (10 * size, True))
    circle = x**2 + 2 * size * x + y**2
    s = taut.System([x, y], mass=[1, 1], forces=[push, push / 3], constraints=[circle])
    run = taut.simulate(s, q0=[0, 0], v0=0, duration=3, step=0.01)
    assert abs(run.q).max() > size / 2
    assert abs(run.constraints).max() < 1e-14 * size**2


@pytest.mark.parametrize("method", ["rattle", "symplectic-euler", "time-element"])
def test_a_coordinate_at_zero_is_measured_by_its_move(method):
    """Crossing an axis, where |q| says nothing, takes no more iterations than elsewhere."""
    s = taut.System([x], kinetic=taut.velocities([x])[0] ** 4 / 4, potential=x**2 / 2)
    run = taut.simulate(s, q0=[1e-30], v0=1, duration=0.1, step=0.01, method=method)
    assert run.certificate.most_iterations <= 6


# ---- what the last step and the books say ----------------------------------------------------


@pytest.mark.parametrize("method", ["rattle", "time-element", "time-element-independent"])
def test_the_shortened_step_ends_at_its_own_time(driven, method):
    run = taut.simulate(
        driven, q0=[0, -1], v0=0, duration=1.237, step=0.05, project=True, method=method
    )
    assert run.t[-1] == pytest.approx(1.237, abs=1e-14)
    assert run.certificate.max_g < 1e-14
    assert abs(run.constraints[-1]).max() < 1e-14


def test_the_work_begins_with_the_first_power(driven):
    """The sum of the power to order 4, with the multipliers of the start in it."""
    run = taut.simulate(driven, q0=[0, -1], v0=[1, 0], duration=0.05, step=0.01, project=True)
    m = run._mechanics
    p = m.power(run.q, run.v, run.p, run.multipliers, run.t, np.zeros(0)).ravel()
    total = (p[0] + 4 * p[1] + p[2]) / 3
    total += sum(9 * p[n] + 19 * p[n - 1] - 5 * p[n - 2] + p[n - 3] for n in (3, 4, 5)) / 24
    assert abs(p[0]) > 0.05
    assert run.certificate.work == pytest.approx(0.01 * total, rel=1e-12)


def test_a_chart_is_changed_at_the_present_time():
    """The rod turns: which coordinate is bound depends on when one asks."""
    turned = x * sp.cos(taut.t) + y * sp.sin(taut.t)
    s = taut.System([x, y], mass=[1, 1], constraints=[turned - 1])
    run = taut.simulate(
        s, q0=[1, 0], v0=[0, 1], t0=0.0, duration=7, step=0.01, method="time-element-independent"
    )
    assert run.certificate.charts >= 4
    assert run.certificate.max_g < 1e-14
    other = taut.simulate(s, q0=[1, 0], v0=[0, 1], duration=7, step=0.01, method="time-element")
    np.testing.assert_allclose(run.q, other.q, atol=1e-12)


def test_many_changes_of_chart_lose_nothing(pendulum):
    """Both forms agree to the growth of round-off over more than 500 changes."""
    settings = {"q0": [0, -1], "v0": [7, 0], "duration": 400, "step": 0.01, "every": 100}
    one = taut.simulate(pendulum, **settings, method="time-element")
    two = taut.simulate(pendulum, **settings, method="time-element-independent")
    assert two.certificate.charts > 500
    assert abs(one.energy - two.energy).max() < 4e-12
    assert abs(one.q - two.q).max() < 2e-10


# ---- interrupted and continued ---------------------------------------------------------------


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("groups", [1, 2])
def test_an_interrupted_batch_with_a_short_last_step(pendulum, starts, monkeypatch, groups):
    """Those that have made the short step wait there for the others."""
    monkeypatch.setenv("TAUT_THREADS", "1")
    run_of = importlib.import_module("taut.march.run").Run
    drive, count = run_of._drive, []

    def driven_some(self, group, bar):
        count.append(group)
        drive(self, group, bar)
        if len(count) == groups:
            self._stop()

    q0, v0 = starts(19)
    settings = {"q0": q0, "v0": v0, "step": 0.01, "every": 3}
    whole = taut.simulate(pendulum, duration=1.055, **settings)
    monkeypatch.setattr(run_of, "_drive", driven_some)
    with pytest.raises(taut.Interrupted) as caught:
        taut.simulate(pendulum, duration=1.055, **settings)
    monkeypatch.setattr(run_of, "_drive", drive)
    part = caught.value.partial
    assert part.ending.short
    assert part.ending.steps.min() == 0
    assert part[0].ending.short
    assert not part[18].ending.short
    assert same_runs(part.continue_(1.0), whole.continue_(1.0))
    alone = part[18].continue_(1.0)
    assert same_runs(
        alone, taut.simulate(pendulum, q0=q0[18], v0=v0[18], duration=1, step=0.01, every=3)
    )


def test_going_on_watches_redundant_constraints():
    bend = sp.Piecewise((0, taut.t < 1), ((taut.t - 1) ** 3, True))
    circle = x**2 + y**2 - 1
    s = taut.System([x, y], mass=[1, 1], potential=10 * y, constraints=[circle, 2 * circle + bend])
    run = taut.simulate(s, q0=[1, 0], v0=0, duration=0.5, step=0.01)
    with pytest.raises(taut.ConstraintError, match="g1 does not hold") as caught:
        run.continue_(1.5)
    assert len(caught.value.partial) == 201


def test_a_batch_whose_charts_leave_different_unknowns():
    u = taut.velocities([x, y])[0]
    s = taut.System(
        [x, y], mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1], forces=[-(u**3), 0]
    )
    q0 = [[1, 0], [0, 1], [0.6, -0.8]]
    settings = {"v0": 0, "duration": 1, "step": 0.01, "method": "time-element-independent"}
    batch = taut.simulate(s, q0=q0, **settings)
    for i, q in enumerate(q0):
        assert same_runs(batch[i], taut.simulate(s, q0=q, **settings))


def test_what_was_never_reached_has_no_multipliers(cusp):
    """Rows of NaN stay NaN, also where constraints are redundant."""
    both = taut.System(
        [x, y], mass=[1, 1], potential=10 * x, constraints=[y**2 - x**3, 2 * y**2 - 2 * x**3]
    )
    with pytest.raises(taut.StepError) as caught:
        taut.simulate(both, q0=[[1, 1], [0.04, 0.008]], v0=0, duration=0.1, step=0.01)
    part = caught.value.partial
    reached = np.isfinite(part.q[..., 0])
    assert not reached.all()
    for values in (part.multipliers, part.reactions):
        assert same(np.isfinite(values[..., 0]), reached)
