"""What rounding can do to constraints: bounds that are met, and nearly reached."""

from dataclasses import replace

import numpy as np
import pytest

import taut
from taut import problems
from taut.diagnose.rounding import rounding

EPS = np.finfo(float).eps


def light(e=1e-7):
    """Two bodies whose moments of inertia are next to nothing, and a pendulum beside them."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    a = m.body("a", mass=1, inertia=(e, e, e), at=(1, 0, 0))
    b = m.body("b", mass=1, inertia=(e, e, e), at=(2, 0, 0))
    m.spherical("s", m.ground, a, at=(0, 0, 0))
    m.spherical("t", a, b, at=(1.5, 0, 0))
    m.rod(
        "rod",
        m.ground,
        m.point("bob", mass=1, at=(0, 5, 1), velocity=(1, 0, 0)),
        ends=((0, 5, 0), (0, 5, 1)),
    )
    return m


def geared():
    """Angles that count turns, with lent inertia."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    a = m.body("a", mass=1, inertia=(0.2, 0.2, 0.3), at=(0.3, 0, -0.1))
    b = m.body("b", mass=2, inertia=(0.3, 0.2, 0.2), at=(2, 0, 0.4))
    hinges = [
        m.revolute(name, m.ground, part, at=at, axis=(0, 1, 0))
        for name, part, at in (("one", a, (0, 0, 0)), ("two", b, (2, 0, 0)))
    ]
    m.gear(*hinges, ratio=2)
    return m


@pytest.fixture(scope="module")
def run():
    return taut.simulate(light(), duration=2, step=0.005, laws=None, method="rattle")


def verdicts(run):
    return {what: word for what, _, word in run.certificate.rows()}


def test_velocities_of_light_bodies_are_known_to_fewer_digits(run):
    """|G q̇| is 1e-9 and more: what is left of impulses that have moved them fast."""
    found = verdicts(run)
    assert run.certificate.max_hidden > 1e-10
    assert found["max |G q̇ + ∂g/∂t|"] == "round-off"
    assert found["symplecticity defect"] == "symplectic"


@pytest.mark.parametrize("name", ["light", "geared", "bennett"])
def test_the_bound_is_met_by_every_row_and_nearly_reached(run, name):
    if name == "bennett":  # three rows follow from the others, and from other ones in turn
        run = problems.problem("bennett").simulate(
            duration=0.75, step=0.01, method="rattle", laws=None
        )
    elif name == "geared":
        run = taut.simulate(geared(), duration=2, step=0.005, laws=None, method="rattle")
    for found in rounding(run):
        assert 0.05 * EPS < found.worst.max() < 4 * EPS


def test_a_row_is_judged_by_its_own_size(run):
    """The rod of the pendulum is off by less than the light bodies are: that is too much."""
    assert verdicts(run)["max |G q̇ + ∂g/∂t|"] == "round-off"
    off = np.zeros(run.system.n)
    off[-1] = 1e-11
    bent = replace(run, v=run.v + off)
    assert np.abs(bent.hidden).max() < 10 * run.certificate.max_hidden
    assert verdicts(bent)["max |G q̇ + ∂g/∂t|"] == "not kept"


def test_a_row_that_follows_from_others_is_judged_too():
    """One of the rows of Bennett's ring that are not kept at the start."""
    run = problems.problem("bennett").simulate(duration=0.1, step=0.005, laws=None)
    assert verdicts(run)["max |g|"] == "round-off"
    moved = run.q.copy()
    moved[:, 24:27] += 1e-11  # the place of the last bar
    assert verdicts(replace(run, q=moved))["max |g|"] == "not kept"


def test_what_hangs_at_rest_is_judged_by_what_moves_beside_it():
    """A bar whose velocities are 1e-17, and a bob on it that swings sideways."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    bar = m.body("bar", mass=2, inertia=(0.17, 0.17, 0.004), at=(0, 0, -0.5))
    m.revolute("hinge", m.ground, bar, at=(0, 0, 0), axis=(0, 1, 0))
    bob = m.point("bob", mass=0.5, at=(0, 0, -1.5), velocity=(0, 1, 0))
    m.rod(bar, bob, ends=((0, 0, -1), (0, 0, -1.5)))
    run = taut.simulate(m, duration=2, step=0.004, laws=None, method="rattle")
    assert np.abs(run["bar"].velocity).max() < 1e-14 < 0.5 < np.abs(run["bob"].velocity).max()
    assert 0 < run.certificate.max_hidden < 1e-15
    assert verdicts(run)["max |G q̇ + ∂g/∂t|"] == "round-off"
    assert run.certificate.most_iterations < 5  # no multiplier alone is taken for a move
