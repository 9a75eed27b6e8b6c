"""Steps of varying size: reversible, on the manifold, no drift."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut import problems
from taut.problems import kepler_sphere as kepler

ORBIT = problems.problem("kepler-sphere")
x, y, z = ORBIT.system.coordinates
vx, vy, vz = ORBIT.system.velocities
px, py, pz = ORBIT.system.momenta
SCALE = (x**2 + y**2) ** sp.Rational(3, 4)
RATTLE = taut.Adaptive("rattle", scale=SCALE)


def test_no_drift_over_a_hundred_thousand_steps():
    """Some 500 orbits: energy in its band, constraints and angular momentum at round-off."""
    run = ORBIT.simulate(duration=1300, laws={"L": x * py - y * px}, every=7)
    certificate = run.certificate
    assert certificate.steps > 10**5
    assert certificate.max_g < 1e-15
    assert certificate.max_hidden < 1e-13  # speeds go up to 10
    assert abs(certificate.energy.relative) < 0.05
    assert abs(certificate.energy.slope) <= certificate.energy.half_width
    assert certificate.watched[0].largest_change < 1e-14
    assert certificate.to_dict()["symplecticity"] is None
    assert run.t[-1] == 1300


def test_the_same_number_of_equal_steps_fails():
    run = ORBIT.simulate(duration=20)
    equal = 20 / run.certificate.steps
    with pytest.raises(taut.StepError):
        ORBIT.simulate(duration=20, step=equal, method="rattle")


@pytest.mark.parametrize(
    ("base", "steps"), [("rattle", (0.002, 0.001)), ("composition-4", (0.02, 0.01)),
                        ("gauss-lobatto-4", (0.02, 0.01))],
)  # fmt: skip
def test_order_after_half_an_orbit(base, steps):
    """Against the nearest point in closed form."""
    method = taut.Adaptive(base, scale=SCALE)
    near = ORBIT.facts[2]
    errors = [
        np.abs(ORBIT.simulate(duration=near.t, step=h, method=method).q[-1] - near.q).max()
        for h in steps
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(method.order, abs=0.15)


def test_the_orbit_is_the_closed_form():
    run = ORBIT.simulate(step=0.002, method=taut.Adaptive("gauss-lobatto-4", scale=SCALE))
    angle = np.arctan2(run.q[:, 1], run.q[:, 0])
    cot = run.q[:, 2] / np.hypot(run.q[:, 0], run.q[:, 1])
    exact = kepler.STRENGTH / kepler.MOMENTUM**2 * (1 - kepler.eccentricity() * np.cos(angle))
    assert np.abs(cot - exact).max() < 1e-4 * exact.max()


def test_steps_follow_the_scale():
    run = ORBIT.simulate()
    sizes = np.diff(run.t)[:-1]
    scale = run.evaluate(SCALE)
    middle = np.sqrt(scale[:-2] * scale[1:-1])
    share = sizes / middle
    assert sizes.max() > 300 * sizes.min()
    assert np.ptp(share) < 0.2 * share.mean()
    assert sizes[0] == pytest.approx(0.02, rel=0.01)


@pytest.mark.parametrize("base", ["rattle", "composition-4"])
def test_the_way_back_is_the_way_there(base):
    """ρ at a state y is ρ_{n−½} + ½ε G(y); a start with step ε/ρ goes back over the same states."""
    method = taut.Adaptive(base, scale=SCALE)
    there = ORBIT.simulate(duration=20, method=method)
    n = 400
    q, v, p, t = there.q[n], there.v[n], there.p[n], there.t[: n + 1]
    assert t[-1] > ORBIT.facts[2].t  # past the nearest point
    pace = -1.5 * (q[0] * v[0] + q[1] * v[1]) / (q[0] ** 2 + q[1] ** 2)
    step = 1 / (1 / (t[n] - t[n - 1]) + pace / 2)
    back = taut.simulate(ORBIT.system, q0=q, p0=-p, duration=t[-1] - t[0], step=step, method=method)
    assert len(back) == n + 1
    assert np.abs(back.q[::-1] - there.q[: n + 1]).max() < 1e-10
    assert np.abs(back.p[::-1] + there.p[: n + 1]).max() < 1e-9
    assert np.abs((t[-1] - back.t[::-1]) - t).max() < 1e-10


def test_scales_of_velocities_momenta_and_time():
    """Q(q, v), the same of p, and with the time in it: −d/dt ln Q is that of the motion."""
    speed = sp.sqrt(1 + vx**2 + vy**2 + vz**2)
    for scale, tolerance in ((1 / speed, 0.05), (1 / speed.subs(dict(zip((vx, vy, vz), (px, py, pz),
                             strict=True))), 0.05), (sp.exp(-taut.t / 10), 0.01)):  # fmt: skip
        method = taut.Adaptive("rattle", scale=scale)
        run = ORBIT.simulate(duration=4, step=0.005, method=method)
        sizes, value = np.diff(run.t)[:-1], run.evaluate(scale)
        share = sizes / np.sqrt(value[:-2] * value[1:-1])
        assert np.ptp(share) < tolerance * share.mean()
        assert np.ptp(sizes) > 0.2 * sizes.mean()


def test_going_on():
    """In two parts the sizes go on as they were; only the landing step in between is extra."""
    parts = ORBIT.simulate(duration=3).continue_(2.0)
    assert parts.t[-1] == 5
    assert np.all(np.diff(parts.t) > 0)
    assert parts.certificate.steps == len(parts) - 1
    whole = ORBIT.simulate(duration=5)
    assert abs(len(whole) - len(parts)) <= 2
    assert np.abs(parts.q[-1] - whole.q[-1]).max() < 1e-3


def test_storing_a_few():
    whole, few = ORBIT.simulate(duration=3), ORBIT.simulate(duration=3, every=10)
    assert np.array_equal(whole.t[:-1:10], few.t[:-1])
    assert np.array_equal(whole.q[:-1:10], few.q[:-1])
    assert few.t[-1] == 3
    assert np.array_equal(whole.q[-1], few.q[-1])


def test_states_in_between_and_events():
    run = ORBIT.simulate(duration=9, method=taut.Adaptive("gauss-lobatto-4", scale=SCALE),
                         step=0.005, events={"apsis": x * vx + y * vy})  # fmt: skip
    half = kepler.period() / 2
    assert run.events["apsis"].t == pytest.approx(half * np.arange(1, 8), abs=1e-5)
    assert len(run.events["apsis"]) == int(9 / half)
    there = run.at(half)
    assert np.abs(there.q - ORBIT.facts[2].q).max() < 1e-5
    assert abs(np.sum(there.q**2) - 1) < 1e-15
    with pytest.raises(taut.InputError, match="every"):
        ORBIT.simulate(duration=1, every=3).at(0.5)


@pytest.mark.parametrize("base", ["rattle", "composition-4"])
def test_work_of_forces_in_varying_steps(base):
    """The balance of energy and work holds to second order in the varying steps, too."""
    (a,) = taut.coordinates("a")
    damped = taut.System([a], mass=[1], potential=a**2 / 2, forces=[-0.3 * damped_rate(a)])
    bands = []
    for step in (0.02, 0.01):
        method = taut.Adaptive(base, scale=1 / (1 + 4 * a**2))
        run = taut.simulate(damped, q0=[1], v0=0, duration=10, step=step, method=method)
        assert np.ptp(np.diff(run.t)) > 0.01
        bands.append(run.certificate.energy.band)
    assert np.log2(bands[0] / bands[1]) == pytest.approx(2, abs=0.2)


def damped_rate(a):
    return taut.velocities([a])[0]


def test_the_callback_is_told():
    seen = []
    ORBIT.simulate(duration=30, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (1000, 1000)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base": "symplectic-euler", "scale": x}, "cannot be made to vary"),
        ({"base": "time-element-independent", "scale": x}, "cannot be made to vary"),
        ({"base": taut.PreciseElement(), "scale": x}, "cannot be made to vary"),
        ({"base": RATTLE, "scale": x}, "cannot be made to vary"),
        ({}, "nothing to control"),
        ({"scale": 3}, "nothing to control"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(taut.InputError, match=message):
        taut.Adaptive(**options)


def test_refusals_of_a_run():
    with pytest.raises(taut.InputError, match="batch"):
        ORBIT.simulate(q0=[ORBIT.q0, ORBIT.q0], v0=[ORBIT.v0, ORBIT.v0])
    with pytest.raises(taut.TautError, match="nowhere"):
        ORBIT.simulate(method=taut.Adaptive("rattle", scale=sp.Symbol("nowhere")))


def test_a_scale_that_vanishes_fails_with_what_there_is():
    """Q = 0 at the north pole's meridian: the density grows beyond bounds, the run says so."""
    with pytest.raises(taut.TautError) as caught:
        ORBIT.simulate(method=taut.Adaptive("rattle", scale=x - 0.5), duration=20)
    assert len(caught.value.partial) > 10


# ---- ends, events and interruptions ------------------------------------------------------------

(b,) = taut.coordinates("b,")
SWING = taut.System([b], mass=[1], potential=b**2 / 2)  # b = cos t
SIXTH = taut.Adaptive("gauss-lobatto-6", scale=1 / (1 + b**2))


def test_going_on_from_terminal_events_keeps_the_time():
    run = taut.simulate(
        SWING, q0=[1], v0=0, duration=30, step=0.1, method=SIXTH,
        events=[taut.Event(b, terminal=True)],
    )  # fmt: skip
    for _ in range(4):
        run = run.continue_(10.0)
    assert run.events["b"].t * 2 / np.pi == pytest.approx([1, 3, 5, 7, 9], abs=1e-6)


@pytest.mark.parametrize("terminal", [False, True])
def test_an_event_in_the_landing_step(terminal):
    free = taut.simulate(SWING, q0=[1], v0=0, duration=5, step=0.1, method=SIXTH)
    i = int(np.searchsorted(free.t, 1.5))
    h = free.t[i + 1] - free.t[i]
    when = free.t[i] + 0.5 * h
    event = taut.Event(b - np.cos(when), terminal=terminal, name="e")
    run = taut.simulate(
        SWING, q0=[1], v0=0, duration=free.t[i] + 0.97 * h, step=0.1, method=SIXTH, events=[event]
    )
    assert run.events["e"].t == pytest.approx([when], abs=1e-8)
    assert run.t[-1] == pytest.approx(when if terminal else free.t[i] + 0.97 * h, abs=1e-8)
    if not terminal:
        assert len(run.continue_(1.0).events["e"]) == 1


def test_no_room_for_a_whole_step():
    drift = taut.System([b], mass=[1], potential=0)
    grown = taut.simulate(
        drift, q0=[0], v0=[1], duration=4, step=0.02, method=taut.Adaptive(scale=1 + b**2)
    )
    for more in (0.02, 0.001):
        assert grown.continue_(more).t[-1] == pytest.approx(4 + more, abs=1e-12)
    short = taut.simulate(
        drift, q0=[0], v0=[1], duration=0.1, step=0.1, method=taut.Adaptive(scale=sp.exp(4 * b))
    )
    assert short.t.tolist() == [0, 0.1]
    with pytest.raises(taut.InputError, match="too quickly"):
        taut.simulate(
            drift, q0=[0], v0=[1], duration=1, step=0.1, method=taut.Adaptive(scale=sp.exp(30 * b))
        )


def test_a_run_that_is_stopped_says_so():
    import os
    import signal
    import threading

    given = {"q0": [1], "v0": 0, "step": 0.01, "every": 10**5}
    given["method"] = taut.Adaptive(scale=1 / (1 + b**2))
    taut.simulate(SWING, duration=1, **given)  # so that it is compiled when it is stopped
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(taut.Interrupted) as caught:
        taut.simulate(SWING, duration=1e8, **given)
    timer.cancel()
    partial = caught.value.partial
    assert 0 < partial.t[-1] < 1e8
    assert partial.continue_(10.0).t[-1] == pytest.approx(partial.t[-1] + 10)


def test_a_start_that_is_not_zero_and_a_moving_constraint():
    """The clock starts at t₀, and Q, G and the constraint see the time of the clock."""
    u, w = taut.coordinates("u w")
    pivot = sp.sin(taut.t) / 3
    moving = taut.System(
        [u, w], mass=[1, 1], potential=w, constraints=[(u - pivot) ** 2 + w**2 - 1]
    )
    at = 2.0
    begin = {"q0": [np.sin(at) / 3, -1], "v0": [np.cos(at) / 3, 0], "t0": at, "duration": 3}
    scale = 1 + sp.cos(taut.t) ** 2 / 2 + u**2
    for base in ("rattle", "composition-4"):
        run = taut.simulate(moving, **begin, step=0.01, method=taut.Adaptive(base, scale=scale))
        assert (run.t[0], run.t[-1]) == (at, at + 3)
        assert np.abs(run.constraints).max() < 1e-15
        exact = taut.simulate(moving, **begin, step=0.01, method="gauss-lobatto-8")
        assert np.abs(run.q[-1] - exact.q[-1]).max() < (1e-4 if base == "rattle" else 1e-7)
        sizes, value = np.diff(run.t)[:-1], run.evaluate(scale)
        share = sizes / np.sqrt(value[:-2] * value[1:-1])
        assert np.ptp(share) < 0.01 * share.mean()
        assert np.abs(run.at(at + 1.234).q - exact.at(at + 1.234).q).max() < 1e-4


# ---- the density, by hand ----------------------------------------------------------------------

DRIFT = taut.System([b], mass=[1], potential=0)


def grown(run):
    """How much 1/h = ρ/ε grows from each whole step to the next: G at the state between them."""
    return np.diff(1 / np.diff(run.t)[:-1])


def test_the_density_grows_by_the_scale_at_the_time_of_each_state():
    """Q = exp(−t²): G = 2t, also at the start, which is not at 0."""
    method = taut.Adaptive(scale=sp.exp(-(taut.t**2)))
    run = taut.simulate(DRIFT, q0=[0], v0=[1], t0=3.0, duration=0.5, step=0.01, method=method)
    assert 1 / (run.t[1] - run.t[0]) == pytest.approx(1 / 0.01 + 3.0, rel=1e-11)
    assert grown(run) == pytest.approx(2 * run.t[1:-2], rel=1e-7)
    # The landing is a part of a step: ρ grows in proportion, with G where it lands.
    whole, landed = np.diff(run.t)[-2], run.t[-1] - run.t[-2]
    there = (1 / whole + 2 * run.t[-2]) * (1 + landed * 2 * run.t[-1])
    later = run.continue_(0.5)
    assert 1 / (later.t[len(run)] - run.t[-1]) == pytest.approx(there, rel=1e-11)


def test_the_density_grows_by_the_scale_of_tangent_momenta():
    """A point on a circle: ṗ = F − Gᵀλ with λ = (|v|² − 10 y)/2 by hand, at the states stored."""
    u, w = taut.coordinates("u w")
    pu, pw = taut.momenta([u, w])
    pendulum = taut.System([u, w], mass=[1, 1], potential=10 * w, constraints=[u**2 + w**2 - 1])
    run = taut.simulate(
        pendulum, q0=[0.6, -0.8], v0=[0.8, 0.6], duration=2, step=0.05,
        method=taut.Adaptive(scale=1 / (3 + pu + pw**2)),
    )  # fmt: skip
    q, v, p = run.q[1:-2], run.v[1:-2], run.p[1:-2]
    push = (v**2).sum(axis=1) - 10 * q[:, 1]
    rate = np.array([0, -10]) - push[:, None] * q
    exact = (rate[:, 0] + 2 * p[:, 1] * rate[:, 1]) / (3 + p[:, 0] + p[:, 1] ** 2)
    assert np.abs(grown(run) - exact).max() < 1e-9 * np.abs(exact).max()


def test_a_density_that_falls_below_zero_is_a_failure():
    """Q = exp(b⁴) grows more within a step than a density can fall."""
    with pytest.raises(taut.StepError) as caught:
        taut.simulate(
            DRIFT, q0=[0], v0=[1], duration=10, step=0.1, method=taut.Adaptive(scale=sp.exp(b**4))
        )
    assert 0.5 < caught.value.partial.t[-1] < 3


def test_a_landing_that_fails_keeps_what_there_is():
    """Beyond an edge in the middle of the last step there is no energy."""
    method = taut.Adaptive(scale=1 + b**2 / 1000)
    options = {"q0": [0], "v0": [1], "duration": 1.05, "step": 0.1, "method": method}
    free = taut.simulate(DRIFT, **options)
    edge = float(np.mean(free.t[-2:]))
    edged = taut.System([b], mass=[1], potential=1e-12 * sp.log(edge - b))
    with pytest.raises(taut.StepError) as caught:
        taut.simulate(edged, **options)
    partial = caught.value.partial
    assert partial.t == pytest.approx(free.t[:-1], abs=1e-10)
    assert partial.q[:, 0] == pytest.approx(free.t[:-1], abs=1e-9)
