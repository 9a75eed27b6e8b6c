"""Published and closed-form numbers, reached by runs of decreasing step."""

from functools import cache

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
from scipy.special import ellipk, ellipkinc

from taut import problems

METHODS = ["rattle", "time-element", "time-element-independent"]
methods = pytest.mark.parametrize("method", METHODS)


@cache
def ladder(name, method, t, steps, levels):
    """Last states and multipliers of runs to t with steps, 2 steps, 4 steps … steps."""
    problem = problems.problem(name)
    found = {"q": [], "v": [], "multipliers": []}
    duration = t - problem.t0
    for count in steps * 2 ** np.arange(levels):
        settings = {"duration": duration, "step": duration / count, "every": count}
        run = problem.simulate(**settings, method=method, laws=None)
        assert len(run) == 2
        for which, states in found.items():
            states.append(getattr(run, which)[-1])
    return {which: np.array(states) for which, states in found.items()}


@cache
def known(name, t):
    """The state a problem is known to reach at t; with unit masses p is v."""
    facts = [fact for fact in problems.problem(name).facts if fact.t == t and fact.q is not None]
    assert len(facts) == 1
    v = facts[0].v if facts[0].v is not None else facts[0].p
    return {"q": facts[0].q, "v": v, "multipliers": facts[0].multipliers}


def errors(states, value):
    """Largest error of each run of a ladder."""
    return np.abs(states - value).max(axis=1)


def orders(errors):
    """Measured order between neighbours of a ladder."""
    return np.log2(errors[:-1] / errors[1:])


def extrapolated(states, power=2):
    """Richardson: the leading error term step**power is removed, one run is lost."""
    return (2**power * states[1:] - states[:-1]) / (2**power - 1)


# ---- states known to many digits ----------------------------------------------------------------

# name, t, steps of the coarsest run, error of the finest run, error after extrapolation
REFERENCES = [
    ("pendulum", 1.0, 100, 2e-6, 1e-11),
    ("pendulum", 5.0, 500, 1e-5, 1e-10),
    ("pendulum", 9.99, 999, 3e-5, 1e-9),
    ("pendulum", 10.0, 1000, 3e-5, 1e-9),
    ("spherical-pendulum", 1.3, 130, 2e-6, 1e-11),
    ("spherical-pendulum", 10.0, 1000, 3e-5, 1e-9),
    ("double-pendulum", 1.0, 200, 1e-6, 1e-11),
    ("double-pendulum", 3.0, 600, 2e-6, 1e-11),
    ("zg-double", 2.0, 200, 4e-5, 2e-9),
    ("zg-spatial", 2.0, 200, 1e-5, 1e-9),
    ("zg-spatial-printed", 2.0, 200, 1e-5, 1e-9),
]


@methods
@pytest.mark.parametrize(("name", "t", "steps", "bound", "extrapolated_bound"), REFERENCES)
@pytest.mark.parametrize("which", ["q", "v"])
def test_known_states_are_reached_at_order_2(
    name, t, steps, bound, extrapolated_bound, which, method
):
    found, value = ladder(name, method, t, steps, levels=6)[which], known(name, t)[which]
    error = errors(found, value)
    np.testing.assert_allclose(orders(error), 2, atol=0.03)
    assert error[-1] < bound
    assert errors(extrapolated(found), value)[-1] < extrapolated_bound


REACHED = [
    pytest.param(name, fact, id=f"{name} at {fact.t:g}")
    for name in (
        "pendulum", "period-2-pendulum", "spherical-pendulum", "double-pendulum", "circular-track",
        "zg-double", "zg-spatial", "zg-spatial-printed", "cq-triple", "chain", "fpu",
    )
    for fact in problems.problem(name).facts
    if fact.t is not None and 0 < fact.t <= 10 and fact.q is not None
]  # fmt: skip


@pytest.mark.parametrize(("name", "fact"), REACHED)
def test_known_states_are_reached_to_all_their_digits(name, fact):
    """At order 10: no number can be wrong, also none that constraints and energy do not pin."""
    problem = problems.problem(name)
    duration = fact.t - problem.t0
    count = round(500 * duration)
    settings = {"duration": duration, "step": duration / count, "every": count}
    run = problem.simulate(**settings, method="composition-10", laws=None)
    for which in ("q", "v", "p"):
        value = getattr(fact, which)
        if value is not None:
            found = getattr(run, which)[-1]
            np.testing.assert_allclose(found, value, rtol=0, atol=fact.accuracy)


# ---- car axis -----------------------------------------------------------------------------------

CAR_AXIS = {"name": "car-axis", "t": 3.0, "steps": 3000, "levels": 6}  # step 1e-3 … 3.125e-5


@methods
@pytest.mark.parametrize(("which", "bound"), [("q", 2e-7), ("v", 1e-5), ("multipliers", 2e-8)])
def test_car_axis_converges_to_the_published_digits_at_order_2(which, bound, method):
    error = errors(ladder(method=method, **CAR_AXIS)[which], known("car-axis", 3.0)[which])
    np.testing.assert_allclose(orders(error), 2, atol=0.02)
    assert error[-1] < bound


@methods
@pytest.mark.parametrize(
    ("which", "accuracy"), [("q", 5e-13), ("v", 6e-12), ("multipliers", 5e-14)]
)
def test_car_axis_extrapolated_is_as_good_as_the_published_digits(which, accuracy, method):
    """Two extrapolations (errors in even powers of the step) leave the reference's own error."""
    limit = extrapolated(extrapolated(ladder(method=method, **CAR_AXIS)[which]), power=4)
    assert errors(limit, known("car-axis", 3.0)[which])[-1] < accuracy


# ---- A01 against its closed form, all along -----------------------------------------------------


@methods
def test_a01_follows_its_closed_form_at_order_2(method):
    problem = problems.problem("pendulum")
    worst = []
    for k in range(4):
        run = problem.simulate(step=0.01 / 2**k, method=method, laws=None)
        q, v = problem.exact(run.t)
        multipliers = problem.exact_multipliers(run.t)
        worst.append([
            np.abs(run.q - q).max(), np.abs(run.v - v).max(),
            np.abs(run.multipliers - multipliers).max(),
        ])  # fmt: skip
    np.testing.assert_allclose(orders(np.array(worst)), 2, atol=0.02)
    assert worst[-1][0] < 1e-4


def test_a01_energy_error_beats_the_published_one():
    """EXUDYN, generalized-α: below 5e-5 J at step 0.8e-3.  RATTLE's band is half of that."""
    run = problems.problem("pendulum").simulate(step=0.8e-3, laws=None)
    assert np.abs(run.energy).max() < 2.5e-5


# ---- Arévalo: a force that does work -------------------------------------------------------------


@methods
def test_forced_motion_on_the_track_has_order_2(method):
    problem = problems.problem("circular-track")
    worst = []
    for k in range(5):
        run = problem.simulate(step=0.005 / 2**k, method=method, laws=None)
        q, v = problem.exact(run.t)
        worst.append([np.abs(run.q - q).max(), np.abs(run.v - v).max()])
    np.testing.assert_allclose(orders(np.array(worst)), 2, atol=0.02)
    assert worst[-1][0] < 3e-4


@methods
@pytest.mark.parametrize("step", [0.02, 0.005])
def test_a_constant_tangential_force_is_integrated_exactly(step, method):
    """|v| = 2t at every step, and with it the energy 2t² and the multiplier |v|²/2 = 2t²."""
    problem = problems.problem("circular-track")
    run = problem.simulate(step=step, method=method, laws=None)
    np.testing.assert_allclose(run.multipliers, problem.exact_multipliers(run.t), rtol=3e-13)
    np.testing.assert_allclose(run.energy, 2 * run.t**2, rtol=3e-13)


# ---- the pendulum of period 2, over 10⁵ periods --------------------------------------------------


def phase(run, gravity):
    """Fraction of a period since the start, from sin(θ/2) = k sn u and θ̇ = −2k √g cn u."""
    theta = np.arctan2(run.q[:, 0], -run.q[:, 1])
    rate = run.v[:, 0] * np.cos(theta) + run.v[:, 1] * np.sin(theta)
    m = rate**2 / (4 * gravity) + np.sin(theta / 2) ** 2
    amplitude = np.arctan2(np.sin(theta / 2), -rate / (2 * gravity**0.5))
    return (1 - ellipkinc(amplitude, m) / ellipk(m)) / 4


def lag(run):
    """Phase error in periods, unwrapped: the exact phase is t/2."""
    gravity = run.parameters["g"]
    return np.unwrap(run.t / 2 - phase(run, gravity), period=1)


@pytest.fixture(scope="module")
def predicted():
    """C in ΔT/T = C step² + O(step⁴), from the modified Hamiltonian by quadrature.

    On the circle a step is: half a kick, Δθ = arcsin(h p), half a kick.  The drift is the flow of
    K(p) with K′ = arcsin(h p)/h, and the symmetric Baker–Campbell–Hausdorff formula gives

        H₂ = [h²] K − {U, {U, T}}/24 + {T, {T, U}}/12.

    At fixed energy the action J(E) = ∮ p dθ changes by −h² ∮ H₂ dt, and the orbit that starts at
    the turning point has the energy E + h² H₂(start), so with T = J′(E)

        ΔT = h² (T′(E) H₂(start) − d/dE ∮ H₂ dt).
    """
    theta, p, g, h = sp.symbols("theta p g h", real=True)

    def bracket(a, b):
        return a.diff(theta) * b.diff(p) - a.diff(p) * b.diff(theta)

    kinetic, potential = p**2 / 2, -g * sp.cos(theta)
    drift = sp.integrate(sp.series(sp.asin(h * p) / h, h, 0, 4).removeO(), p).expand()
    assert drift.coeff(h, 0) == kinetic
    second = (
        drift.coeff(h, 2)
        - bracket(potential, bracket(potential, kinetic)) / 24
        + bracket(kinetic, bracket(kinetic, potential)) / 12
    )
    h2 = sp.lambdify((theta, p, g), second, modules="mpmath")

    with mp.workdps(25):
        gravity = 4 * mp.ellipk(mp.mpf(1) / 2) ** 2

        def around(energy):
            """∮ H₂ dt with sin(θ/2) = k sin a, dt = da/(√g √(1 − k² sin² a))."""
            k = mp.sqrt((energy + gravity) / (2 * gravity))

            def integrand(a):
                half = mp.asin(k * mp.sin(a))
                speed = 2 * mp.sqrt(gravity) * k * mp.cos(a)
                return h2(2 * half, speed, gravity) / (mp.sqrt(gravity) * mp.cos(half))

            return 4 * mp.quad(integrand, [0, mp.pi / 2])

        def period(energy):
            return 4 * mp.ellipk((energy + gravity) / (2 * gravity)) / mp.sqrt(gravity)

        change = mp.diff(period, 0) * h2(mp.pi / 2, mp.mpf(0), gravity) - mp.diff(around, 0)
        return float(change / period(0))


def test_the_predicted_constant_is_minus_five_eighths_pi(predicted):
    assert predicted == pytest.approx(-5 * np.pi / 8, rel=1e-12)


@methods
def test_on_the_circle_a_step_is_kick_drift_kick(method):
    problem = problems.problem("period-2-pendulum")
    step, gravity = 0.05, problem.system.parameters["g"]
    run = problem.simulate(step=step, duration=100 * step, method=method, laws=None)
    theta, p = np.pi / 2, 0.0
    states = [(theta, p)]
    for _ in range(100):
        p -= step / 2 * gravity * np.sin(theta)
        theta += np.arcsin(step * p)
        p -= step / 2 * gravity * np.sin(theta)
        states.append((theta, p))
    theta, p = np.array(states).T
    sin, cos = np.sin(theta), np.cos(theta)
    np.testing.assert_allclose(run.q, np.stack([sin, -cos], axis=-1), atol=1e-12)
    np.testing.assert_allclose(run.v, np.stack([p * cos, p * sin], axis=-1), atol=1e-11)


@cache
def line(method, step):
    """Times, phase errors and the straight line through them, of 500 periods."""
    problem = problems.problem("period-2-pendulum")
    run = problem.simulate(step=step, duration=1000, every=33, method=method, laws=None)
    error = lag(run)
    return run.t, error, np.polyfit(run.t, error, 1)


@methods
@pytest.mark.parametrize("step", [0.02, 0.01, 0.005])
def test_the_phase_error_grows_linearly_and_as_predicted(method, step, predicted):
    t, error, (slope, offset) = line(method, step)
    # The period is 2 (1 + C step²): the phase lags by C step² t/2, which is a lead for C < 0.
    assert 2 * slope / step**2 == pytest.approx(predicted, rel=15 * step**2)
    # Straight: what is left beside the line is the wobble within a period, as small as step².
    assert np.abs(error - slope * t - offset).max() < 0.4 * step**2
    # Twice the time, twice the error.
    half = len(t) // 2
    assert error[-1] / error[half] == pytest.approx(t[-1] / t[half], rel=3e-3)


@methods
def test_the_phase_error_differs_from_the_prediction_by_the_next_even_order(method, predicted):
    steps = np.array([0.02, 0.01, 0.005])
    slopes = np.array([line(method, step)[2][0] for step in steps])
    rest = 2 * slopes / steps**2 - predicted
    np.testing.assert_allclose(rest[:-1] / rest[1:], 4, rtol=0.1)


@pytest.mark.slow
def test_a_hundred_thousand_periods(predicted):
    problem = problems.problem("period-2-pendulum")
    step = 0.01
    # 333 steps are no simple fraction of a period: the stored states sample it evenly.
    run = problem.simulate(step=step, duration=2e5, every=333, laws=None)
    measured = run.certificate.to_dict()  # over all steps, not only the stored ones
    assert measured["steps"] == 20_000_000
    assert measured["max_g"] <= 1e-14
    assert np.abs(run.constraints).max() <= 1e-14
    # Energy: a band in proportion to step², and no drift in it, by two estimates.
    assert measured["energy_band"] < 75 * step**2
    assert abs(measured["energy_drift"]) < 1e-3
    assert not measured["energy_drifts"]
    blocks = run.energy[: len(run) // 60 * 60].reshape(60, -1).mean(axis=1)
    assert abs(np.polyfit(np.linspace(0, 1, 60), blocks, 1)[0]) < 1e-3 * measured["energy_band"]
    # Phase: 19.65 periods early after 100 000, as predicted, on a straight line all the way.
    error = lag(run)
    slope, offset = np.polyfit(run.t, error, 1)
    assert 2 * slope / step**2 == pytest.approx(predicted, rel=1e-3)
    assert np.abs(error - slope * run.t - offset).max() < 0.4 * step**2
    assert error[-1] == pytest.approx(predicted * step**2 * 2e5 / 2, rel=1e-3)
