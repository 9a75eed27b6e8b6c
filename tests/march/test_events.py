"""Zero crossings, located on the manifold."""

import numpy as np
import pytest
import sympy as sp
from scipy.special import ellipk

import taut
from taut.march import events as watching
from taut.march.events import ROOM
from taut.methods import CATALOGUE

x, y = taut.coordinates("x y")
PENDULUM = taut.System([x, y], mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1])
vx, vy = PENDULUM.velocities
START = {"q0": [0.6, -0.8], "v0": 0}
PERIOD = 4 * np.sqrt(1 / 10) * ellipk((1 - 0.8) / 2)  # m = sin²(θ₀/2) = (1 − cos θ₀)/2


def go(**options):
    given = {"duration": 10, "step": 0.02, "method": "gauss-lobatto-8"} | options
    return taut.simulate(PENDULUM, **START, **given)


def test_the_period_of_a_pendulum():
    """Against the elliptic integral, far between the steps."""
    found = go(events=[x]).events["x"]
    assert found.t[0] == pytest.approx(PERIOD / 4, abs=1e-12)
    assert np.diff(found.t) == pytest.approx(PERIOD / 2, abs=2e-12)
    assert len(found) == int((10 - PERIOD / 4) / (PERIOD / 2)) + 1
    assert np.abs(found.q[:, 0]).max() < 3e-15
    assert np.abs(found.q[:, 0] ** 2 + found.q[:, 1] ** 2 - 1).max() < 1e-15


@pytest.mark.parametrize("method", sorted(CATALOGUE))
def test_any_method(method):
    run = go(method=method, step=0.01, duration=2, events=[x])
    close = 2e-2 if CATALOGUE[method].order == 1 else 3e-4
    assert run.events["x"].t == pytest.approx([0.5099, 1.5297], abs=close)
    assert np.abs(run.events["x"].q[:, 0]).max() < 1e-14


def test_directions_and_names():
    run = go(
        events={
            "right": taut.Event(x, direction="up"),
            "left": taut.Event(x, direction="down"),
            "any": x,
        }
    )
    right, left, both = (run.events[name].t for name in ("right", "left", "any"))
    assert np.all(run.events["right"].v[:, 0] > 0)
    assert np.all(run.events["left"].v[:, 0] < 0)
    assert np.array_equal(np.sort(np.concatenate([right, left])), both)
    assert left[0] < right[0]


def test_expressions_of_velocity_momentum_and_time():
    run = go(events={"turn": vx, "clock": taut.t - 3.21, "p": PENDULUM.momenta[0]})
    assert run.events["clock"].t == pytest.approx([3.21], abs=1e-12)
    # At the start from rest the velocity is zero: that is no crossing.
    assert run.events["turn"].t[0] == pytest.approx(PERIOD / 2, abs=1e-10)
    assert np.abs(run.events["turn"].t - run.events["p"].t).max() < 1e-12


def test_a_terminal_event_ends_the_run():
    run = go(events=[taut.Event(x, direction="up", terminal=True), taut.Event(vx, name="turn")])
    end = 3 * PERIOD / 4
    assert run.t[-1] == pytest.approx(end, abs=1e-12)
    assert abs(run.q[-1, 0]) < 3e-15
    assert np.abs(run.constraints).max() < 1e-15
    assert np.all(np.diff(run.t) > 0)
    assert len(run.events["x"]) == 1
    assert np.array_equal(run.events["x"].q[0], run.q[-1])
    assert np.all(run.events["turn"].t < end)
    assert "last one shortened" in run.certificate.title()


@pytest.mark.parametrize("every", [1, 4, 1000])
def test_events_do_not_depend_on_what_is_stored(every):
    one, two = go(events=[x]), go(events=[x], every=every)
    assert np.array_equal(one.events["x"].t, two.events["x"].t)
    last = go(events=[taut.Event(x, terminal=True)], every=every)
    assert last.t[-1] == pytest.approx(PERIOD / 4, abs=1e-12)


def test_watching_does_not_disturb():
    for method in ("rattle", "time-element-independent", "composition-4"):
        plain, seen = go(method=method), go(method=method, events=[x])
        assert np.array_equal(plain.q, seen.q)
        a, b = (r.certificate.to_dict() for r in (plain, seen))
        assert a["energy_band"] == b["energy_band"]
        assert a["max_g"] == b["max_g"]


def test_going_on_from_a_terminal_event():
    """The crossing that ended the run is not found again; the next one is."""
    first = go(events=[taut.Event(x, terminal=True)])
    second = first.continue_(5.0)
    assert second.events["x"].t == pytest.approx([PERIOD / 4, 3 * PERIOD / 4], abs=1e-11)
    assert second.t[-1] == pytest.approx(3 * PERIOD / 4, abs=1e-11)


def test_going_on_is_one_long_run():
    whole = go(events=[x])
    parts = go(events=[x], duration=4).continue_(6.0)
    assert np.array_equal(whole.q, parts.q)
    assert np.array_equal(whole.events["x"].t, parts.events["x"].t)


def test_many_crossings():
    """More than fit into the buffer between two looks."""
    run = go(duration=50, events={f"c{k}": x - 0.1 * k for k in range(-5, 6)})
    assert sum(len(found) for found in run.events.values()) > 2 * ROOM
    for k in range(-5, 6):
        found = run.events[f"c{k}"]
        assert np.abs(found.q[:, 0] - 0.1 * k).max() < 1e-14
        assert np.all(np.diff(found.t) > 0)


@pytest.mark.parametrize("room", [1, 16])
def test_crossings_are_written_down_before_the_buffer_is_full(room, monkeypatch):
    """Two crossings in each swing, however few fit into the buffer, also all in one step."""
    monkeypatch.setattr(watching, "ROOM", room)
    run = go(duration=10 * PERIOD, events={f"c{k}": x - 1e-4 * k for k in range(20)})
    assert [len(found) for found in run.events.values()] == [20] * 20


def test_a_run_that_fails_keeps_its_events():
    edge = taut.System([x], mass=[1], potential="2*sqrt(x)")
    with pytest.raises(taut.StepError) as caught:
        taut.simulate(edge, q0=[1], v0=0, duration=20, step=0.01, method="rattle", events=[x - 0.5])
    assert len(caught.value.partial.events["x - 0.5"]) == 1


def test_parameters():
    system = taut.System([x], mass=[1], potential="k*x**2/2", parameters={"k": 1.0, "a": 0.0})
    run = taut.simulate(
        system, q0=[1], v0=0, duration=3, step=0.01, method="gauss-lobatto-8",
        parameters={"k": 4.0, "a": 0.5}, events=["x - a"],
    )  # fmt: skip
    assert run.events["x - a"].t[0] == pytest.approx(np.arccos(0.5) / 2, abs=1e-12)


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (["speed"], "speed"),
        ([x, x], "two events are called x"),
        (3.0, "an event that is a number"),
    ],
)
def test_refusals(events, message):
    with pytest.raises(taut.TautError, match=message):
        go(events=events)


def test_a_direction_that_is_none():
    with pytest.raises(taut.UnknownName, match="sideways"):
        taut.Event(x, direction="sideways")


def test_not_in_a_batch():
    with pytest.raises(taut.InputError, match="batch"):
        taut.simulate(
            PENDULUM, q0=[[0.6, -0.8], [0.8, -0.6]], v0=0, duration=1, step=0.1, events=[x]
        )


def test_an_event_after_the_terminal_one_is_found_later():
    (a,) = taut.coordinates("a,")
    swing = taut.System([a], mass=[1], potential=a**2 / 2)
    events = {"end": taut.Event(a, terminal=True), "next": a + 0.01}
    run = taut.simulate(swing, q0=[1], v0=0, duration=3, step=0.1, events=events)
    assert len(run.events["next"]) == 0
    assert len(run.continue_(1.0).events["next"]) == 1
    assert len(run.continue_(1.0).events["end"]) == 1


def test_the_first_of_two_terminal_events_in_a_step():
    events = {"late": taut.Event(x + 0.005, terminal=True), "early": taut.Event(x, terminal=True)}
    run = go(events=events)
    assert run.t[-1] == pytest.approx(PERIOD / 4, abs=1e-12)
    assert (len(run.events["early"]), len(run.events["late"])) == (1, 0)


def test_in_a_last_step_that_is_shorter():
    quarter = PERIOD / 4
    run = go(duration=quarter + 0.003, step=0.1, events=[x, taut.t - quarter - 0.001])
    assert run.events["x"].t == pytest.approx([quarter], abs=1e-8)
    assert run.events[str(taut.t - quarter - 0.001)].t == pytest.approx([quarter + 0.001], abs=1e-9)


def test_nothing_happens_after_a_last_step_that_is_shorter():
    """A whole step would have gone past it."""
    run = go(duration=0.97, step=0.1, events={"clock": taut.t - 0.98, "turn": vx})
    assert len(run.events["clock"]) == 0
    late = go(duration=PERIOD / 2 - 0.001, step=0.1, events={"turn": vx})
    assert late.t[-1] % 0.1 > 0.01
    assert len(late.events["turn"]) == 0
    twice = (taut.t - 0.96) * (taut.t - 0.99)
    assert go(duration=0.97, step=0.1, events={"e": twice}).events["e"].t == pytest.approx([0.96])


def test_zero_exactly_on_the_grid_is_one_crossing():
    run = go(events={"clock": taut.t - 2.0, "touch": (taut.t - 3.0) ** 2}, step=0.5, duration=5)
    assert run.events["clock"].t == pytest.approx([2.0], abs=1e-12)
    assert len(run.events["touch"]) == 0


def test_none_are_none():
    assert go(events=None, duration=1).events == {}


def test_an_event_without_a_value_is_told():
    """A root that is real only now and then, and one that never is."""
    problem = taut.problems.problem("pendulum")
    y = problem.system.coordinates[1]
    events = {
        "never": sp.sqrt(y - 3),
        "often": sp.sqrt(y + sp.Rational(9, 10)) - sp.Rational(1, 5),
    }
    run = problem.simulate(duration=5, step=0.01, events=events)
    rows = {row[0]: row for row in run.certificate.rows()}
    assert rows["event never"][1] == "not a number after 500 of the steps"
    assert len(run.events["never"].t) == 0
    inside = run.q[:, 1] > -0.9
    assert 0 < inside.sum() < len(run.t)
    assert rows["event often"][1] == f"not a number after {(~inside[1:]).sum()} of the steps"
    assert len(run.events["often"].t) > 0


def test_names_that_are_nearly_right():
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    m.rod(m.ground, m.point("bob", mass=1, at=(1, 0, 0)), length=1)
    for given, remedy in {
        "x_bbo": "did you mean 'x_bob'? Else add it",
        "bob.z": "'.z' in 'bob.z'",
    }.items():
        with pytest.raises(taut.ModelError) as caught:
            taut.simulate(m, duration=1, step=0.1, events=given)
        assert remedy in str(caught.value)


@pytest.fixture(scope="module")
def wheel():
    m = taut.Mechanism()
    m.body("wheel", mass=1, inertia=(1, 1, 1), at=(0, 0, 0), angular_velocity=(0, 2, 0))
    m.revolute("hinge", m.ground, "wheel", at=(0, 0, 0), axis=(0, 1, 0))
    return m


GOING = {"step": 0.01, "method": "composition-4", "laws": None}


def test_an_angle_that_jumps_by_a_turn_has_not_crossed_zero(wheel):
    angle = wheel.symbols("hinge")[0]
    events = {"zero": angle, "late": angle - 1, "down": taut.Event(angle - 1, "down")}
    run = taut.simulate(wheel, duration=8, events=events, **GOING)
    assert run.events["zero"].t == pytest.approx([np.pi, 2 * np.pi], abs=1e-6)
    assert run.events["late"].t == pytest.approx([0.5, 0.5 + np.pi, 0.5 + 2 * np.pi], abs=1e-6)
    assert len(run.events["down"].t) == 0


def test_a_jump_ends_no_run(wheel):
    angle = wheel.symbols("hinge")[0]
    ends = taut.Event(angle + 0.5, "both", terminal=True)
    run = taut.simulate(wheel, duration=8, events={"end": ends}, **GOING)
    assert run.t[-1] == pytest.approx(np.pi - 0.25, abs=1e-6)
    # The step in which it jumps is cut off before that, and the next one jumps.
    ends = taut.Event(taut.t - 1.5705, terminal=True)
    run = taut.simulate(wheel, duration=8, events={"end": ends, "zero": angle}, **GOING)
    assert run.t[-1] == pytest.approx(1.5705, abs=1e-9)
    more = run.continue_(2)
    assert more.t[-1] == pytest.approx(3.5705, abs=1e-9)
    assert more.events["zero"].t == pytest.approx([np.pi], abs=1e-6)


def test_a_pole_is_no_zero():
    a = taut.coordinates("a")[0]
    free = taut.System([a], mass=[1])
    events = {"pole": 1 / (a - 1), "zero": (a - 2) ** 3, "step": sp.sign(a - 1.5) + 0.3}
    run = taut.simulate(free, q0=[0.0], v0=[1.0], duration=3, step=0.07, events=events)
    assert [len(run.events[x].t) for x in events] == [0, 1, 1]
    assert run.events["zero"].t == pytest.approx([2], abs=1e-4)
    assert run.events["step"].t == pytest.approx([1.5], abs=1e-12)
