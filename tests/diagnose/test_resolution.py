"""What certificates say about steps, poles and switches: in words, numbers and colours."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.diagnose.guards import Chatter, Pole
from taut.diagnose.resolution import Resolution
from taut.march.halving import Halved
from taut.show.page import _judged

x, y = Q = taut.coordinates("x y")
OSCILLATOR = taut.System([x], mass=[1], potential=x**2 / 2)


def told(h, steps=200, method="rattle"):
    run = taut.simulate(
        OSCILLATOR, q0=[1], v0=[0], step=h, duration=steps * h, method=method, laws=None
    )
    (row,) = (row for row in run.certificate.rows() if row[0] == "resolution")
    return run.certificate, *row[1:]


@pytest.mark.parametrize(
    ("h", "method", "word", "colour"),
    [
        (0.05, "rattle", "resolved", "good"),
        (0.5, "rattle", "coarse", "open"),
        (1, "rattle", "unresolved", "bad"),
        (3, "gauss-lobatto-4", "unresolved", "bad"),
        (5, "energy-momentum", "unresolved", "bad"),
        (28 * np.pi, "gauss-lobatto-4", "unresolved", "bad"),
        (28 * np.pi, "precise-element", "resolved", "good"),
    ],
)
def test_steps_of_an_oscillator(h, method, word, colour):
    facts, value, verdict = told(h, method=method)
    assert verdict.startswith(word)
    assert _judged(verdict) == colour
    assert facts.resolved == (word != "unresolved")
    assert facts.to_dict()["resolved"] == facts.resolved
    assert ("at least" in value) == (word == "unresolved" or h > np.pi)
    if word == "unresolved":
        assert verdict.endswith("use a smaller step")


def test_numbers_are_those_of_the_row():
    facts, value, _ = told(0.2)
    numbers = facts.to_dict()
    assert value == f"{numbers['step_turn']:.2g} rad, error {numbers['step_error']:.1g} per step"
    facts, value, _ = told(0.2, steps=4)
    assert facts.to_dict()["step_turn"] is None
    assert value.startswith("error")


def test_no_figure_is_zero_where_rounding_hides_it():
    ((_, value, _),) = Resolution(Halved(0.0, 0.05, 0.0, 3)).rows()
    assert value == "0.05 rad, error below round-off"
    falls = taut.System([y], mass=[1], potential=y)
    run = taut.simulate(falls, q0=[1], v0=[1], duration=1, tolerance=1e-9, laws=None)
    (said,) = (row[1] for row in run.certificate.rows() if row[0] == "tolerance")
    assert said == "1e-09, the energy's error below round-off"


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (Halved(0.0, 0.0, 0.0, 3, still=True), "at rest"),
        (Halved(1e-3, 0.1, 0.0, 3), "resolved"),
        (Halved(1e-2, 0.1, 0.0, 3), "coarse"),
        (Halved(1e-2, 0.1, 0.0, 3, share=0.5), "coarse: its quickest parts are unresolved"),
        (Halved(1e-3, 0.1, 0.0, 3, light=0.5), "coarse: its lightest parts are unresolved"),
        (Halved(1e-2, 0.1, 0.0, 3, forcing=0.5), "unresolved: forces change within a step"),
        (Halved(np.inf, 0.1, 2.5, 3), "unresolved at t = 2.5: use a smaller step"),
    ],
)
def test_words(found, word):
    ((_, _, verdict),) = Resolution(found).rows()
    assert verdict == word


def test_poles_and_switches_have_rows_of_their_own():
    calm = Halved(1e-3, 0.1, 0.0, 3)
    poles = (Pole("x", 1.0), Pole("x**2 + y**2", 2.0, near=True))
    shown = Resolution(calm, poles, (Chatter("x_dot", 0.25),))
    assert not shown.resolved
    assert [row[:2] for row in shown.rows()[1:]] == [
        ("pole", "x = 0 at t = 1"),
        ("pole", "x**2 + y**2 ≈ 0 at t = 2"),
        ("switching", "x_dot sticks at 0, or goes to and fro, in 25 % of the steps"),
    ]
    assert [_judged(row[2]) for row in shown.rows()] == ["good", "bad", "bad", "bad"]
    assert shown.verdict == "unresolved: a pole"
    assert Resolution(calm, (), shown.switches).verdict == "unresolved: a switch"
    assert Resolution(None).verdict == "not measured"
    assert shown.to_dict()["poles_passed"] == {"x": 1.0, "x**2 + y**2": 2.0}
    assert shown.to_dict()["switches_chattering"] == {"x_dot": 0.25}


def test_what_cannot_be_measured_is_not_said():
    assert Resolution(None).rows() == []
    assert Resolution(None).resolved is None
    assert Resolution(None).to_dict()["step_error"] is None


PROBLEMS = ["pendulum", "double-pendulum", "car-axis", "fpu", "dzhanibekov", "spatial-four-bar"]


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems_are_resolved_at_their_own_steps(name):
    problem = taut.problems.problem(name)
    for share in (1, 4):
        h = problem.step / share
        facts = problem.simulate(step=h, duration=100 * h, laws=None).certificate
        ((_, _, verdict),) = facts.resolution.rows()
        assert verdict == "resolved"
        assert facts.loose == 0


@pytest.mark.parametrize("mass", [1e-3, 1e-9, 1e-12])
@pytest.mark.parametrize(("turn", "known"), [(2, False), (0.2, True)])
def test_what_is_light_does_not_hide_behind_what_is_heavy(mass, turn, known):
    """Both move as far; next to nothing of the energy is that of the light one."""
    h = 0.005
    two = taut.System(Q, mass=[1, mass], potential=x**2 / 2 + mass * (turn / h) ** 2 * y**2 / 2)
    facts = taut.simulate(two, q0=[1, 1e-2], v0=0, step=h, duration=2, laws=None).certificate
    assert facts.resolved is known


def test_flows_are_judged_by_their_variables():
    hunters = taut.Flow(Q, [x * (1 - y), y * (x - 1)])
    fine = taut.simulate(hunters, q0=[0.5, 1.5], step=0.05, duration=20, laws=None).certificate
    assert [row[2] for row in fine.resolution.rows()] == ["resolved"]
    fast = taut.Flow(Q, [-x, -1000 * (y - sp.cos(x))])
    coarse = taut.simulate(fast, q0=[1, 0], step=0.05, duration=1, laws=None).certificate
    assert not coarse.resolved
    slow = taut.simulate(fast, q0=[0, 1], step=0.05, duration=1, laws=None).certificate
    assert slow.resolved
