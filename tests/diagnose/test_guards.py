"""Poles that were passed and switches that stick: found where they are, and nowhere else."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.diagnose.guards import chattering, passed

x, y = Q = taut.coordinates("x y")
vx, vy = taut.velocities(Q)
REPELLED = taut.System([x], mass=[1], potential=sp.Rational(1, 1000) / x**2)
SPACE = taut.System(Q, mass=[1, 1], potential=sp.Rational(1, 1000) / sp.sqrt(x**2 + y**2))


def run_of(system, q0, v0, h, duration, method="rattle", **options):
    return taut.simulate(
        system, q0=q0, v0=v0, step=h, duration=duration, method=method, laws=None, **options
    )


def friction(force, method="rattle", start=1.0, push=1, h=0.01, spring=0):
    """A block that is pushed and rubs."""
    potential = spring * x**2 / 2
    system = taut.System([x], mass=[1], potential=potential, forces=[push - force])
    return chattering(run_of(system, [0], [start], h, 4, method))


@pytest.mark.parametrize("method", ["energy-momentum", "rattle", "gauss-lobatto-4"])
def test_a_pole_that_was_jumped_over(method):
    run = run_of(REPELLED, [1], [-1], 0.3, 3, method)
    assert run.q.min() < 0
    (pole,) = passed(run)
    assert (pole.guard, pole.near) == ("x", False)
    assert pole.t == pytest.approx(1.05, abs=0.15)
    assert passed(run_of(REPELLED, [1], [-1], 0.003, 3, method)) == []


def test_a_pole_of_a_formula_that_is_none_of_the_forces():
    smooth = taut.System([x], mass=[1], potential=sp.sin(x) / x)
    run = run_of(smooth, [1], [-2], 0.01, 1)
    assert run.q.min() < 0
    assert passed(run) == []


@pytest.mark.parametrize("beside", [1e-7, 1e-4, 1e-3])
def test_a_pole_that_was_jumped_past(beside):
    """In a plane chords miss it; the true motion is turned back or aside."""
    (pole,) = passed(run_of(SPACE, [1, beside], [-1, 0], 0.3, 3, "energy-momentum"))
    assert pole.guard == "x**2 + y**2"
    assert pole.t == pytest.approx(1, abs=0.05)
    assert passed(run_of(SPACE, [1, beside], [-1, 0], 0.001, 0.5)) == []


def test_poles_that_do_next_to_nothing_are_not_worth_a_word():
    weak = taut.System(Q, mass=[1, 1], potential=1e-12 / sp.sqrt(x**2 + y**2))
    assert passed(run_of(weak, [1, 1e-4], [-1, 0], 0.3, 3)) == []


def test_chords_between_states_that_are_steps_apart_are_no_ways():
    """Half a turn round the sun: the chord goes through it."""
    kepler = taut.System(Q, mass=[1, 1], potential=-1 / sp.sqrt(x**2 + y**2))
    h = 2 * np.pi / 1000
    run = run_of(kepler, [1, 0], [0, 1], h, 500 * h * 8, every=500)
    assert passed(run) == []


@pytest.mark.parametrize("method", ["rattle", "gauss-lobatto-4", "rk4", "implicit-trapezoid"])
def test_a_block_that_rests_under_friction_creeps(method):
    """Whether velocities change their sign then is decided by rounding."""
    for h in (0.01, 1 / 128):
        (switch,) = friction(2 * sp.sign(vx), method, h=h)
        assert switch.switch == "x_dot"
        assert switch.share == pytest.approx(0.75, abs=0.1)  # it stops at t = 1 of 4


@pytest.mark.parametrize(
    "force",
    [
        sp.sign(vx) / 2,  # it slides on
        vx * sp.Abs(vx),
        2 * vx / (sp.Abs(vx) + sp.Rational(1, 10)),
        2 * sp.tanh(20 * vx),
    ],
)
def test_forces_that_do_not_hold_the_block_are_no_chatter(force):
    assert friction(force) == []


def test_a_force_that_is_steep_does_not_jump():
    """The block comes to rest at v = 0, where both sides of a smooth force lead back, too."""
    assert friction(2 * vx / (sp.Abs(vx) + sp.Rational(1, 10)), push=0) == []


def test_a_switch_that_is_thrown_and_left_behind_does_not_stick():
    """A block on a spring turns back every 15 steps, while the spring pulls more than friction."""
    assert friction(sp.sign(vx) / 2, start=30.0, push=0, h=0.2, spring=1) == []


def test_stick_and_slip_on_a_belt():
    (switch,) = friction(2 * sp.sign(vx - sp.Rational(1, 2)), push=0, spring=4)
    assert switch.switch == "x_dot - 1/2"
    assert 0.05 < switch.share < 1


def test_signs_of_rounding_are_no_chatter():
    """A coordinate that stays where it is but for its last digit, beside a kink."""
    kinked = taut.System(Q, mass=[1, 1], potential=x**2 / 2 + 1000 * sp.Max(0, y) ** 2 + y**2)
    assert chattering(run_of(kinked, [1, 1e-17], [0, 0], 0.05, 20)) == []


def test_a_contact_that_is_too_stiff_for_its_steps():
    """Forces change with the switch in every step."""
    well = taut.System([x], mass=[1], potential=sp.Abs(x))
    assert chattering(run_of(well, [1], [0], 0.01, 10)) == []
    (switch,) = chattering(run_of(well, [1e-5], [0], 0.01, 10))
    assert switch.share > 0.5
