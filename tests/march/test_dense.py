"""States between the stored ones."""

import numpy as np
import pytest

import taut
from taut.methods import CATALOGUE

x1, y1, x2, y2 = Q = taut.coordinates("x1 y1 x2 y2")
DOUBLE = taut.System(
    Q,
    mass=[1, 1, 2, 2],
    potential=-10 * y1 - 20 * y2,
    constraints=[x1**2 + y1**2 - 1, (x2 - x1) ** 2 + (y2 - y1) ** 2 - 1],
)
A = np.sqrt(0.5)
GENERAL = sorted(CATALOGUE)
START = {"q0": [A, A, 0, 2 * A], "v0": 0}
x, y = taut.coordinates("x y")
PENDULUM = taut.System([x, y], mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1])


def go(method, **options):
    given = START | {"duration": 1, "step": 0.01} | options
    return taut.simulate(DOUBLE, **given, method=method)


@pytest.mark.parametrize("method", GENERAL)
@pytest.mark.parametrize("every", [1, 7])
def test_at_stored_times_it_is_the_stored_state(method, every):
    run, full = go(method, every=every), go(method)
    if method == "generalized-alpha":  # it remembers more than what is stored
        full = run
    found = run.at(full.t)
    for name in "qvp":
        gap = np.abs(getattr(found, name) - getattr(full, name)).max()
        assert gap < 1e-13 * (1 + np.abs(getattr(full, name)).max())


@pytest.mark.parametrize("method", GENERAL)
def test_between_them_it_is_on_the_manifold_and_as_accurate(method):
    run = go(method, duration=0.5)
    t = np.sort(np.random.default_rng(1).uniform(0, 0.5, 200))
    found = run.at(t)
    g = [x1**2 + y1**2 - 1, (x2 - x1) ** 2 + (y2 - y1) ** 2 - 1]
    at = [np.array([e.subs(dict(zip(Q, row, strict=True))) for row in found.q[::20]]) for e in g]
    exact = go("gauss-lobatto-8", duration=0.5).at(t)
    own = np.abs(run.q - go("gauss-lobatto-8", duration=0.5).q).max()
    assert np.abs(found.q - exact.q).max() < 1.5 * own + 1e-13
    if CATALOGUE[method].keeps_constraints:
        assert np.abs(np.array(at, dtype=float)).max() < 1e-15


def test_tables_for_every_length():
    """An exponential belongs to one step size: each length in between gets one of its own."""
    spring = taut.System([x, y], mass=[1, 2], potential=8 * x**2 + 3 * (y - x) ** 2)
    start = {"q0": [1, 0], "v0": 0, "duration": 2, "method": taut.PreciseElement()}
    run = taut.simulate(spring, step=0.5, **start)
    fine = taut.simulate(spring, step=0.01, **start)
    assert np.abs(run.at(fine.t).q - fine.q).max() < 1e-13
    assert np.abs(taut.simulate(spring, step=0.5, every=3, **start).at(1.77).q
                  - fine.at(1.77).q).max() < 1e-13  # fmt: skip


def test_it_is_continuous_at_the_joints():
    run = go("rattle")
    before, after = run.at(run.t[1:-1] - 1e-9), run.at(run.t[1:-1] + 1e-9)
    assert np.abs(before.q - after.q).max() < 1e-7
    assert np.abs(before.v - after.v).max() < 1e-6


@pytest.mark.parametrize("every", [1, 4])
def test_just_before_a_stored_time_it_is_not_there_yet(every):
    """A free particle is at v t, to round-off."""
    free = taut.System([x], mass=[1], potential=0)
    run = taut.simulate(free, q0=[0], v0=[3], duration=4, step=0.5, every=every, method="rattle")
    for gap in (1e-8, 1e-10, 1e-12, 1e-14):
        t = run.t[1:] - gap
        assert np.abs(run.at(t).q[:, 0] - 3 * t).max() < 5e-15


def test_order_between_the_stored_states():
    """Against the run with tiny steps: second order at any time for RATTLE."""
    t = np.linspace(0.013, 0.487, 7)
    exact = go("gauss-lobatto-8", duration=0.5).at(t).q
    errors = [
        np.abs(go("rattle", duration=0.5, step=h).at(t).q - exact).max() for h in (0.01, 0.005)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)


def test_shapes_and_order_of_the_times():
    run = go("rattle")
    one = run.at(0.333)
    assert one.q.shape == (4,)
    assert len(one) == 1
    t = np.array([[0.9, 0.1], [0.333, 0.9]])
    many = run.at(t)
    assert many.q.shape == (2, 2, 4)
    assert np.array_equal(many.q[1, 0], one.q)
    assert np.array_equal(many.q[0, 0], many.q[1, 1])
    assert len(run.at([])) == 0


def test_times_in_any_order_between_few_stored_states():
    """Several whole steps lead to a time: one that is asked for later may be earlier."""
    few = go("rattle", every=25)
    t = np.random.default_rng(2).permutation(np.linspace(0.003, 0.993, 100))
    order = np.argsort(t)
    assert np.array_equal(few.at(t).q[order], few.at(t[order]).q)
    assert np.abs(few.at(t).q - go("rattle").at(t).q).max() < 1e-14


def test_a_batch():
    q0 = np.array([START["q0"], [0, 1, 0.6, 1.8]])
    run = go("rattle", q0=q0)
    assert run.at([0.111, 0.777]).q.shape == (2, 2, 4)
    alone = go("rattle", q0=q0[1]).at([0.111, 0.777])
    assert np.abs(run.at([0.111, 0.777]).q[1] - alone.q).max() < 1e-14


def test_the_last_step_may_be_shorter():
    run = go("rattle", duration=0.997)
    assert run.t[-1] == pytest.approx(0.997)
    assert np.array_equal(run.at(0.997).q, run.q[-1])
    assert np.abs(run.at(0.996999).q - run.q[-1]).max() < 1e-5


def test_moving_constraints_and_parameters():
    """A pivot that moves: the state in between meets the constraint at its own time."""
    pivot = taut.t**2 / 3
    system = taut.System(
        [x, y], mass=[1, 1], potential="g*y", parameters={"g": 9.0},
        constraints=[(x - pivot) ** 2 + y**2 - 1],
    )  # fmt: skip
    run = taut.simulate(
        system, q0=[0, -1], v0=0, duration=1, step=0.05, parameters={"g": 3.0}, method="rattle"
    )
    there = run.at(0.777)
    assert abs((there.q[0] - 0.777**2 / 3) ** 2 + there.q[1] ** 2 - 1) < 1e-15
    slow = taut.simulate(system, q0=[0, -1], v0=0, duration=1, step=0.05, method="rattle")
    assert np.abs(slow.at(0.777).q - there.q).max() > 1e-3


@pytest.mark.parametrize("t", [-0.1, 1.1, np.nan, [0.5, 2.0]])
def test_outside_of_the_run(t):
    with pytest.raises(taut.InputError, match="outside of the run") as caught:
        go("rattle").at(t)
    assert "0 ≤ t ≤ 1" in caught.value.expected


def test_no_time():
    with pytest.raises(taut.InputError, match="not a time"):
        go("rattle").at("noon")


def test_charts_change_between_stored_states():
    """Thinned out, a chart may have to be changed on the way: the branch stays the same."""
    start = {"q0": [0.8, -0.6], "v0": [-0.6 * 3.2, -0.8 * 3.2], "duration": 0.9, "step": 0.1}
    one, two = (
        taut.simulate(PENDULUM, **start, every=3, method=m)
        for m in ("time-element-independent", "rattle")
    )
    t = np.linspace(0, 0.9, 31)
    assert np.abs(one.at(t).q - two.at(t).q).max() < 1e-13


def test_thinned_with_another_origin_of_time():
    pivot = taut.t**2 / 3
    system = taut.System(
        [x, y], mass=[1, 1], potential=y, constraints=[(x - pivot) ** 2 + y**2 - 1]
    )
    start = {"q0": [4 / 3, -1], "v0": [4 / 3, 0], "t0": 2.0, "duration": 1, "step": 0.05}
    few, all_ = (taut.simulate(system, **start, every=k, method="rattle") for k in (4, 1))
    t = 2 + np.array([0.03, 0.27, 0.61, 0.99])
    assert np.abs(few.at(t).q - all_.at(t).q).max() < 1e-14
    gap = (few.at(t).q[:, 0] - t**2 / 3) ** 2 + few.at(t).q[:, 1] ** 2 - 1
    assert np.abs(gap).max() < 1e-15


@pytest.mark.parametrize("every", [1, 3])
def test_the_chart_is_that_of_the_time(every):
    """About where the pivot was at t = 0, the mass hangs at a right angle to where it hangs now."""
    pivot = 2 - taut.t, taut.t - 1
    system = taut.System(
        [x, y], mass=[1, 1], potential=y,
        constraints=[(x - pivot[0]) ** 2 + (y - pivot[1]) ** 2 - 1],
    )  # fmt: skip
    start = {"q0": [2, 0], "v0": [-1, 1], "t0": 1.0, "duration": 0.3, "step": 0.05}
    one, two = (
        taut.simulate(system, **start, every=every, method=m)
        for m in ("time-element-independent", "rattle")
    )
    t = 1 + np.array([0.0, 0.01, 0.07, 0.12])
    assert np.abs(one.at(t).q - two.at(t).q).max() < 1e-13


@pytest.mark.parametrize("h", [1e-3, 3e-7])
def test_short_steps_from_rest(h):
    """All velocities of a four-bar turn as it begins to move: that is no other branch."""
    bars = [x1**2 + y1**2 - 1, (x2 - 2) ** 2 + y2**2 - 1.44, (x2 - x1) ** 2 + (y2 - y1) ** 2 - 2.25]
    system = taut.System(Q, mass=1, potential=9.81 * (y1 + y2), constraints=bars)
    start = {"q0": [0.2, 1, 1.8, 1.2], "v0": 0, "project": True, "method": "gauss-lobatto-4"}
    run = taut.simulate(system, **start, duration=20 * h, step=h, laws=None)
    for part in (0.01, 0.1, 0.38):
        alone = taut.simulate(system, **start, duration=part * h, step=part * h, laws=None)
        assert np.abs(run.at(part * h).v - alone.v[-1]).max() < 1e-8 * np.abs(alone.v[-1]).max()
    assert run.certificate.resolved
