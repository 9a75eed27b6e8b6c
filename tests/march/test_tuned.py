"""A tolerance instead of a step."""

import itertools

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import taut
from taut import problems
from taut.march import tuned as tuning
from taut.march.tuned import FORCED, FREE, fitting, run_error
from taut.methods import CATALOGUE, Composition

TOLERANCES = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)
SWING = problems.problem("period-2-pendulum")
DOUBLE = problems.problem("zg-double")
x, y = taut.coordinates("x y")


def tuned(problem, tolerance, **options):
    given = {"q0": problem.q0, "v0": problem.v0, "parameters": problem.parameters} | options
    return taut.simulate(problem.system, tolerance=tolerance, **given)


@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_the_tolerance_is_met_and_not_by_far(tolerance):
    """Position against the closed form after ten swings, and the energy."""
    run = tuned(SWING, tolerance, duration=20)
    facts = run.certificate.to_dict()
    error = np.abs(run.q - SWING.exact(run.t)[0]).max()
    band = facts["energy_band"] / np.max(0.5 * np.sum(run.v * run.p, axis=1))
    assert max(error, band) < 3 * tolerance
    assert max(error, band) > 1e-3 * tolerance
    assert facts["tolerance"] == tolerance
    assert "tolerance" in str(run.certificate)


@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_the_energy_of_a_chaotic_run(tolerance):
    run = tuned(DOUBLE, tolerance, duration=100)
    row = next(row for row in run.certificate.rows() if row[0] == "tolerance")
    assert row[2] == "met"
    kinetic = np.max(0.5 * np.sum(run.v * run.p, axis=1))
    assert np.ptp(run.energy) <= tolerance * kinetic


def test_low_orders_for_crude_wishes_and_high_ones_for_fine():
    orders = [tuned(DOUBLE, x, duration=20).method.order for x in (1e-2, 1e-5, 1e-9)]
    assert orders == sorted(orders)
    assert orders[0] < orders[-1]


def test_a_violent_moment_after_the_trial():
    """Coasting far away, then through a narrow well: the run is made anew with a shorter step."""
    well = taut.System([x], mass=[1], potential=-1 / (1 + 400 * (x - 60) ** 2))
    run = taut.simulate(well, q0=[0], v0=[0.5], duration=140, tolerance=1e-6)
    assert run.q[-1, 0] > 70
    assert np.ptp(run.energy) <= 1e-6 * np.max(0.5 * run.v**2)
    smooth = taut.simulate(well, q0=[0], v0=[0.5], duration=60, tolerance=1e-6)
    assert run.step < 0.5 * smooth.step


def test_a_method_of_your_own_choice():
    run = tuned(SWING, 1e-6, duration=20, method="gauss-lobatto-4")
    assert run.method is CATALOGUE["gauss-lobatto-4"]
    assert np.abs(run.q - SWING.exact(run.t)[0]).max() < 3e-6


def test_forces_do_not_go_backwards():
    damped = taut.System([x], mass=[1], potential=x**2 / 2, forces=["-0.2*x_dot"])
    run = taut.simulate(damped, q0=[1], v0=0, duration=30, tolerance=1e-7)
    assert run.method in [CATALOGUE[name] for name in FORCED]
    w = np.sqrt(0.99)
    exact = np.exp(-0.1 * run.t) * (np.cos(w * run.t) + 0.1 / w * np.sin(w * run.t))
    assert np.abs(run.q[:, 0] - exact).max() < 1e-6


def test_candidates():
    assert [CATALOGUE[name].order for name in FREE] == [2, 4, 6, 8]
    assert not any(isinstance(CATALOGUE[name], Composition) for name in FORCED)


def test_stiff_parts_that_the_start_does_not_show():
    """A spring at rest that will oscillate a hundred times faster than anything at the start."""
    stiff = taut.System([x, y], mass=[1, 1], potential=x**2 / 2 + 5000 * (y - x**2 / 10) ** 2)
    run = taut.simulate(stiff, q0=[1, 0.1], v0=0, duration=20, tolerance=1e-5)
    assert np.ptp(run.energy) <= 1e-5 * np.max(0.5 * np.sum(run.v**2, axis=1))


def test_a_batch():
    q0 = np.array([[0.6, -0.8], [0.0, 1.0], [1.0, 0.0]])
    pendulum = taut.System([x, y], mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1])
    run = taut.simulate(pendulum, q0=q0, v0=[[0, 0], [1, 0], [0, 0]], duration=10, tolerance=1e-6)
    assert run.batch == 3
    kinetic = np.max(0.5 * np.sum(run.v**2, axis=-1))
    assert np.ptp(run.energy, axis=1).max() <= 1e-6 * kinetic


A1, A2, B1, B2 = taut.coordinates("x1 y1 x2 y2")
CHAOTIC = taut.System(
    [A1, A2, B1, B2], mass=[1, 1, 2, 2], potential=-10 * A2 - 20 * B2,
    constraints=[A1**2 + A2**2 - 1, (B1 - A1) ** 2 + (B2 - A2) ** 2 - 1],
)  # fmt: skip


def hung(*angles):
    a, b = np.transpose(angles)
    columns = [np.sin(a), np.cos(a), np.sin(a) + np.sin(b), np.cos(a) + np.cos(b)]
    return np.stack(columns, axis=1)


def counted(monkeypatch):
    """The steps of all trials that are made from now on, and what they keep."""
    made, go = [], tuning._Trial._run

    def run(self, method, step):
        found = go(self, method, step)
        made.append((self.horizon / step, 0 if found is None else 3 * found.q.size))
        return found

    monkeypatch.setattr(tuning._Trial, "_run", run)
    return made


def test_chaos_is_told_from_steps_that_are_too_long(monkeypatch):
    """Rounding grows to more than the tolerance: a batch says so as one trajectory does, soon."""
    rng = np.random.default_rng(0)
    start = hung(*rng.uniform(-3, 3, (1000, 2))[[9, 10]])  # the second one is beyond reach
    made = counted(monkeypatch)
    for q0, whose in ((start[1], None), (start, "trajectory 1 is off most")):
        with pytest.raises(taut.StepError, match="could not be resolved") as refused:
            taut.simulate(CHAOTIC, q0=q0, v0=0, duration=20, tolerance=1e-8, laws=None)
        assert (whose is None) == ("trajectory" not in refused.value.received)
        assert whose is None or whose in refused.value.received
    assert max(steps for steps, _ in made) < 2e5


def test_what_rounding_leaves_may_be_small_enough(monkeypatch):
    """Gaps that stay at 3e-10 make a reference for 1e-8."""
    rng = np.random.default_rng(0)
    (q0,) = hung(rng.uniform(-3, 3, (1000, 2))[2])
    made = counted(monkeypatch)
    run = taut.simulate(CHAOTIC, q0=q0, v0=0, duration=20, tolerance=1e-8, laws=None)
    assert run_error(run) <= 1e-8
    assert max(steps for steps, _ in made) < 4e5


def test_gaps_that_stay():
    falling = [10.0 ** (-2.5 * k) for k in range(5)]
    floor = [2e-10, 5e-10, 1e-10, 3e-10]
    assert tuning._level([*falling, *floor], 8)
    assert not tuning._level(falling, 8)
    assert not tuning._level([0.3, 0.2, 0.1, 0.2, 0.1, 0.1, 0.1], 8)  # it never fell
    assert not tuning._level([*falling, 0.3, 0.2, 0.1, 0.1, 0.1, 0.1], 8)  # something came to light
    jumps = [0.5**k for k in range(20)]
    assert not any(tuning._level([*falling, *jumps[:k]], 8) for k in range(20))


def test_a_batch_needs_no_more_room_than_is_good_for_trials(monkeypatch):
    """RATTLE would need two million steps of all of them; others are known to need fewer."""
    rng = np.random.default_rng(0)
    made = counted(monkeypatch)
    start = hung(*rng.uniform(-3, 3, (1000, 2))[:20])
    run = taut.simulate(CHAOTIC, q0=start, v0=0, duration=20, tolerance=1e-8, every=10, laws=None)
    assert run.batch == 20
    assert run_error(run) <= 1e-8
    assert max(steps for steps, _ in made) < 2e5
    assert max(kept for _, kept in made) <= 2 * tuning.STORED


def test_trials_that_keep_few_states_find_the_same_step(monkeypatch):
    q0 = hung((0.8, 2.0), (1.0, -1.0))
    options = {"v0": 0, "duration": 10, "tolerance": 1e-6, "laws": None}
    whole = taut.simulate(CHAOTIC, q0=q0, **options)
    monkeypatch.setattr(tuning, "STORED", 2**11)
    made = counted(monkeypatch)
    few = taut.simulate(CHAOTIC, q0=q0, **options)
    assert max(kept for _, kept in made) <= 2**12
    assert few.method is whole.method
    assert few.step == pytest.approx(whole.step, rel=1e-2)


def test_a_batch_that_misses_says_whose_fault_it_is():
    pole = taut.System([x], mass=[1], potential=-sp.Rational(1, 100) / sp.Abs(x - 60))
    with pytest.raises(taut.ToleranceError, match="of trajectory 1"):
        taut.simulate(pole, q0=[[0], [0]], v0=[[-0.5], [0.5]], duration=139.7, tolerance=1e-6)


def test_everything_else_is_passed_on():
    run = tuned(
        SWING, 1e-6, duration=4.3, every=5, events={"bottom": SWING.system.coordinates[0]},
        laws={"y": SWING.system.coordinates[1]},
    )  # fmt: skip
    assert run.every == 5
    assert run.t[-1] == pytest.approx(4.3, abs=1e-12)
    assert len(run.events["bottom"]) == 4
    assert run.certificate.watched[0].name == "y"
    later = run.continue_(2.0)
    assert later.t[-1] == pytest.approx(6.3, abs=1e-9)


def test_at_rest():
    run = taut.simulate(
        taut.System([x], mass=[1], potential=x**2), q0=[0], v0=0, duration=1, tolerance=1e-6
    )
    assert np.all(run.q == 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": None}, "there is no step"),
        ({"tolerance": 1e-6, "step": 0.1}, "one too many"),
        ({"tolerance": 0.0}, "out of range"),
        ({"tolerance": 1e-20}, "out of range"),
        ({"tolerance": -1e-6}, "out of range"),
        ({"tolerance": float("nan")}, "tolerance"),
        ({"tolerance": "fine"}, "tolerance"),
        ({"tolerance": 1e-6, "method": "rk44"}, "rk44"),
        ({"tolerance": 1e-6, "method": taut.Adaptive(scale=x**2)}, "steps of one size"),
    ],
)
def test_refusals(options, message):
    free = taut.System([x], mass=[1], potential=x**2 / 2)
    with pytest.raises(taut.InputError, match=message):
        taut.simulate(free, q0=[1], v0=0, duration=1, **options)


def test_what_cannot_be_resolved_says_so():
    rough = taut.System([x], mass=[1], potential=sp.sin(10**9 * x) / 10**4)
    with pytest.raises(taut.StepError, match=r"resolved|no step"):
        taut.simulate(rough, q0=[1], v0=[1], duration=10, tolerance=1e-8, method="rattle")


def test_steps_fit():
    assert fitting(0.3, 1.0) == 0.25
    assert fitting(2.0, 1.0) == 1.0
    assert 10.0 / fitting(0.03, 10.0) == pytest.approx(334, abs=1e-9)


# ---- starts that do not show what is to come ---------------------------------------------------


@pytest.mark.parametrize("at", [300, 333.3, 500])
def test_a_kick_long_after_the_start_at_rest(at):
    kicked = taut.System(
        [x], mass=[1], potential=x**2 / 2 - 10 * x * sp.exp(-50 * (taut.t - at) ** 2)
    )
    run = taut.simulate(kicked, q0=[0], v0=0, duration=1000, tolerance=1e-6)
    assert np.abs(run.q).max() == pytest.approx(
        10 * np.sqrt(np.pi / 50) * np.exp(-1 / 200), rel=0.01
    )
    row = next(row for row in run.certificate.rows() if row[0] == "tolerance")
    assert row[2] == "met"


def test_forces_are_held_to_the_tolerance_after_the_trial():
    """A pulse far behind the trial, in a motion whose energy tells nothing."""
    pulse = "5*exp(-((t - 80)/0.01)**2)"
    late = taut.System([x], mass=[1], potential=x**2 / 2, forces=[f"-0.01*x_dot + {pulse}"])
    run = taut.simulate(late, q0=[1], v0=0, duration=100, tolerance=1e-6, method="rattle")
    coarse = taut.simulate(late, q0=[1], v0=0, duration=100, step=10 * run.step, method="rattle")
    assert run_error(run) <= 1e-6 < run_error(coarse)
    assert np.isfinite(run_error(run))


def test_a_wall_that_is_met_after_the_trial():
    wall = taut.System([x], mass=[1], potential=10 * sp.exp(-200 * (x - 60) ** 2))
    run = taut.simulate(wall, q0=[0], v0=[0.5], duration=140, tolerance=1e-6)
    assert run.q.max() < 60
    assert run.v[-1, 0] == pytest.approx(-0.5, abs=1e-5)


def test_turning_points_do_not_deceive():
    """At t = 10π the oscillator turns: an error in phase is not to be seen in q there."""
    damped = taut.System([x], mass=[1], potential=x**2 / 2, forces=["-1e-4*x_dot"])
    run = taut.simulate(damped, q0=[1], v0=0, duration=10 * np.pi, tolerance=1e-6)
    w = np.sqrt(1 - 2.5e-9)
    exact = np.exp(-5e-5 * run.t) * (np.cos(w * run.t) + 5e-5 / w * np.sin(w * run.t))
    assert np.abs(run.q[:, 0] - exact).max() < 3e-6


def test_driven_from_rest():
    driven = taut.System([x], mass=[1], potential=x**2 / 2 - x * sp.sin(3 * taut.t))
    run = taut.simulate(driven, q0=[0], v0=0, duration=100, tolerance=1e-6)
    exact = (3 * np.sin(run.t) - np.sin(3 * run.t)) / 8
    assert np.abs(run.q[:, 0] - exact).max() < 1e-5


@pytest.mark.parametrize(
    "q0", [[-0.6, -0.8], [0.6, 0.8], [-0.6 + 0.8e-4, -0.8 - 0.6e-4]], ids=["low", "high", "near"]
)
def test_equilibria_and_small_amplitudes(q0):
    pendulum = taut.System(
        [x, y], mass=[1, 1], potential=6 * x + 8 * y, constraints=[x**2 + y**2 - 1]
    )
    run = taut.simulate(pendulum, q0=q0, v0=0, duration=5, tolerance=1e-8, project=True)
    assert np.abs(run.q - run.q[0]).max() < 3e-4


def test_what_does_not_get_better_is_given_up():
    """Into the centre: no step keeps the energy, and that is an error with the nearest run."""
    centre = taut.System([x], mass=[1], potential=-1 / sp.Abs(x))
    with pytest.raises(taut.ToleranceError, match="missed") as missed:
        taut.simulate(centre, q0=[1], v0=0, duration=3, tolerance=1e-6)
    run = missed.value.partial
    assert run.t[-1] == 3
    row = next(row for row in run.certificate.rows() if row[0] == "tolerance")
    assert row[2] == "missed"
    assert missed.value.error == run.certificate.to_dict()["tolerance_error"] > 1e-6
    edge = taut.System([x], mass=[1], potential=sp.sqrt(100 - x))
    with pytest.raises(taut.StepError):
        taut.simulate(edge, q0=[0], v0=[1], duration=200, tolerance=1e-6)


def test_what_is_not_resolved_has_met_no_tolerance():
    """Dry friction: after the stop velocities go to and fro, in pieces made anew as well."""
    rubbed = taut.System([x], mass=[2], forces=[-0.4 * 9.81 * sp.sign(taut.velocities([x])[0])])
    run = taut.simulate(rubbed, q0=[0], v0=[3], duration=20, tolerance=1e-4)
    found = run.certificate
    assert found.resolution.switches
    assert run_error(run) <= 1e-4
    row = next(row for row in found.rows() if row[0] == "tolerance")
    assert row[2] == "not known: the motion is not resolved, see below"
    assert found.tolerance_met is found.to_dict()["tolerance_met"] is None
    before = taut.simulate(rubbed, q0=[0], v0=[3], duration=1, tolerance=1e-4)  # it slides
    assert before.q[-1, 0] == pytest.approx(3 - 0.981, abs=1e-4)
    assert before.certificate.to_dict()["tolerance_met"] is True


def test_a_terminal_event_before_the_trouble():
    edge = taut.System([x], mass=[1], potential=2 * sp.sqrt(x))
    end = [taut.Event(x - 0.5, terminal=True)]
    run = taut.simulate(edge, q0=[1], v0=0, duration=5, tolerance=1e-6, events=end)
    assert run.q[-1, 0] == pytest.approx(0.5, abs=1e-12)


def test_the_worst_of_a_batch_counts():
    pendulum = taut.System([x, y], mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1])
    q0 = np.array([[0.01, -np.sqrt(1 - 1e-4)], [1.0, 0.0]])
    run = taut.simulate(pendulum, q0=q0, v0=0, duration=20, tolerance=1e-6)
    alone = taut.simulate(pendulum, q0=q0[1], v0=0, duration=20, tolerance=1e-6)
    assert run.step < 1.5 * alone.step
    assert np.ptp(run.energy[1]) <= 1e-6 * np.max(0.5 * np.sum(run.v**2, axis=-1))


def test_the_worst_of_a_batch_counts_also_after_the_trial():
    """Only one of two goes through the narrow well: its energy is what the run is held to."""
    well = taut.System([x], mass=[1], potential=-1 / (1 + 400 * (x - 60) ** 2))
    go = {"duration": 140, "tolerance": 1e-6, "method": "gauss-lobatto-4"}
    run = taut.simulate(well, q0=[[0], [0]], v0=[[-0.5], [0.5]], **go)
    assert run.q[1, -1, 0] > 70
    assert np.ptp(run.energy[1]) <= 1e-6 * np.max(0.5 * run.v**2)


def test_a_run_that_fails_is_made_anew_with_shorter_steps():
    """The wall is thinner than a step of the trial, and behind it there is no energy."""
    wall = taut.System([x], mass=[1], potential=sp.Rational(1, 100) / sp.sqrt(61 - x))
    start = {"q0": [0], "v0": [0.5], "duration": 240}
    with pytest.raises(taut.StepError):  # the longest step that meets the tolerance before it
        taut.simulate(wall, **start, step=240 / 2001, method="rattle")
    run = taut.simulate(wall, **start, tolerance=1e-4)
    assert 60.9 < run.q.max() < 61
    assert run.v[-1, 0] == pytest.approx(-0.5, abs=1e-3)


def test_units_do_not_matter():
    """The same pendulum in metres and in millimetres: the same method, the same step."""
    found = []
    for size in (1, 1000):
        rod = [x**2 + y**2 - size**2]
        pendulum = taut.System([x, y], mass=[1, 1], potential=10 * size * y, constraints=rod)
        q0 = [0.6 * size, -0.8 * size]
        found.append(taut.simulate(pendulum, q0=q0, v0=0, duration=10, tolerance=1e-6))
    assert found[0].method is found[1].method
    assert found[1].step == pytest.approx(found[0].step, rel=1e-9)


def test_the_reference_is_far_better_than_the_tolerance(monkeypatch):
    """Against the closed form, at the times at which trials are compared."""
    seen = []

    class Seen(tuning._Trial):
        def __init__(self, *given):
            super().__init__(*given)
            seen.append(self)

    monkeypatch.setattr(tuning, "_Trial", Seen)
    for tolerance in (1e-2, 1e-4, 1e-6, 1e-8):
        tuned(SWING, tolerance, duration=20)
        (trial,) = seen
        seen.clear()
        t = trial.horizon * np.linspace(0, 1, tuning.LOOKS)[1:]
        error = np.abs(trial.reference[:, :2] - SWING.exact(t)[0]).max()
        assert error < 1e-3 * tolerance * trial.size


# ---- forces over time, against an independent code -----------------------------------------------

T, STEADY = taut.t, x**2 / 2
(vx,) = taut.velocities([x])
OVER_TIME = {  # forces, duration (no multiple of anything), when the reference begins anew
    "late pulse": (5 * sp.exp(-(((T - 40) / sp.Rational(1, 100)) ** 2)), 47.3, (39.8, 40.2)),
    "switched": (sp.Piecewise((1, (T > 3.01) & (T < 17.077)), (0, True)), 31.7, (3.01, 17.077)),
    "blow": (sp.Piecewise((50, (T > 21.001) & (T < 21.0213)), (0, True)), 30.1, (21.001, 21.0213)),
    "chirp": (sp.sin(T**2), 11.3, ()),
}  # fmt: skip


def reference(force, times, cuts):
    value = sp.lambdify(T, force, "math")
    found, state = np.zeros(len(times)), np.array([0.2, 0.0])
    ends = [0.0, *cuts, float(times[-1])]
    for low, high in itertools.pairwise(ends):
        inside = (times >= low) & (times <= high)
        near = 1e-12 * (high - low)

        def rate(t, y, low=low, high=high, near=near):
            return y[1], -y[0] - y[1] / 50 + value(min(max(t, low + near), high - near))

        at = np.unique(np.r_[low, times[inside], high])
        made = solve_ivp(rate, (low, high), state, "DOP853", at, rtol=1e-12, atol=1e-13)
        found[inside], state = made.y[0, np.searchsorted(at, times[inside])], made.y[:, -1]
    return found


@pytest.mark.parametrize("tolerance", [1e-4, 1e-7])
@pytest.mark.parametrize("name", OVER_TIME)
def test_what_is_met_is_met(name, tolerance):
    force, duration, cuts = OVER_TIME[name]
    model = taut.System([x], mass=[1], potential=STEADY, forces=[force - vx / 50])
    run = taut.simulate(model, q0=[0.2], v0=0, duration=duration, tolerance=tolerance)
    error = np.abs(run.q[:, 0] - reference(force, run.t, cuts)).max()
    assert error < 4 * tolerance * np.ptp(run.q)
    assert run.t[-1] == pytest.approx(duration)


@pytest.mark.parametrize("drag", [0, 1])
@pytest.mark.parametrize("v0", [[0.5], [[-0.5], [0.5]]], ids=["alone", "one of two"])
def test_a_pole_long_after_the_trial(drag, v0):
    """Through it no step leads; with drag no energy tells that."""
    pole = -sp.Rational(1, 100) / sp.Abs(x - 60)
    model = taut.System([x], mass=[1], potential=pole, forces=[-drag * vx / 10**6])
    q0 = np.zeros_like(v0)
    with pytest.raises(taut.ToleranceError) as missed:
        taut.simulate(model, q0=q0, v0=v0, duration=139.7, tolerance=1e-6)
    run = missed.value.partial
    assert missed.value.error > 1e-6
    assert run.batch == (None if q0.ndim == 1 else 2)
    assert run.t[-1] == pytest.approx(139.7)
    assert {row[0]: row[2] for row in run.certificate.rows()}["tolerance"] == "missed"
