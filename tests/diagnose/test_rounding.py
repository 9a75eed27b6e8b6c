"""What rounding can do to constraints: bounds that are met, and nearly reached."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import taut
from taut import problems
from taut.diagnose.rounding import loss, rounding

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


# ---- far from the origin ---------------------------------------------------------------------

X, Y, X2, Y2 = taut.coordinates("x y x2 y2")
ROD = taut.System([X, Y, X2, Y2], mass=[1] * 4, constraints=[(X - X2) ** 2 + (Y - Y2) ** 2 - 1])


def rod(away, **changes):
    """A rod that turns, along a diagonal: its coordinates go in pairs."""
    start = [away, away, away + 0.6, away + 0.8]
    settings = {"v0": [0, 1, 0, 0], "step": 0.01, "duration": 3, "laws": None, "project": True}
    return taut.simulate(ROD, q0=start, **settings | changes)


def pinned(away):
    """Two bodies on a ball joint: the constraints are not curved."""
    m = taut.Mechanism()
    a, b = (
        m.body(name, mass=1, inertia=(0.1, 0.1, 0.1), at=(away + at, 0, 0))
        for name, at in (("a", 0.5), ("b", 1.5))
    )
    m.spherical("ball", a, b, at=(away + 1, 0, 0))
    return taut.simulate(m, step=0.01, duration=0.1, laws=None)


def hung(away):
    """A pendulum whose pivot is far away."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    bob = m.point("bob", mass=1, at=(away + 1, 0, 0))
    m.rod("rod", m.ground, bob, ends=((away, 0, 0), (away + 1, 0, 0)))
    return taut.simulate(m, step=0.01, duration=1, laws=None)


@pytest.mark.parametrize("make", [rod, pinned, hung])
def test_digits_that_are_lost_far_from_the_origin(make):
    assert loss(make(0.0)) < 10
    assert np.log10(loss(make(1e6))) == pytest.approx(6, abs=0.7)
    near, far = verdicts(make(0.0)), verdicts(make(1e6))
    assert near["max |g|"] == "round-off"
    assert far["max |g|"] == "round-off; 6 digits are lost far from the origin"


def test_digits_are_lost_on_the_way():
    run = rod(0.0, v0=[1e5, 0, 1e5, 1], duration=10)
    assert run.certificate.max_g > 1e-11
    assert "far from the origin" in verdicts(run)["max |g|"]
    assert verdicts(run)["symplecticity defect"].startswith("symplectic")
    calm = verdicts(rod(0.0, duration=10))
    assert calm["symplecticity defect"] == "symplectic"


def test_what_is_not_kept_is_found_out_far_away():
    for away in (0, 1e4):
        found = verdicts(rod(away, method="baumgarte"))
        assert found["max |g|"] == "not kept"
        assert found["symplecticity defect"].startswith("not symplectic")


@pytest.mark.parametrize("name", ["car-axis", "double-pendulum"])
def test_problems_are_near_the_origin(name):
    problem = problems.problem(name)
    run = problem.simulate(step=problem.step, duration=5 * problem.step, laws=None)
    assert loss(run) < 100


def test_centres_that_are_pinned_to_each_other_lose_nothing():
    """x₁ = x₂: a difference that is zero is no length."""
    pair = taut.System([X, X2], mass=[1, 1], potential=X**2, constraints=[X - X2])
    run = taut.simulate(pair, q0=[1e-3, 1e-3], v0=0, step=0.01, duration=1, laws=None)
    assert loss(run) == 1.0


def test_a_full_mass_matrix_gives_a_light_coordinate_the_rounding_of_heavy_ones():
    x, y, z = q = taut.coordinates("x y z")
    mass = [[1e-5, 0.6, 0], [0.6, 8e4, 0], [0, 0, 1]]
    system = taut.System(q, mass=mass, constraints=[x - sp.sin(y) / 3 - z / 5])
    run = taut.simulate(
        system, q0=[0, 0, 0], v0=[1 / 3, 1, 0], duration=2, step=0.01, method="gauss-lobatto-4",
        laws=None,
    )  # fmt: skip
    assert run.certificate._kept(1) == "round-off"
    hidden = rounding(run)[1]
    assert hidden.size.max() > 0.3 / 1e-5  # ε of the heavy one's momentum, of the light mass


@pytest.mark.parametrize("length", [100.0, 0.1])
def test_a_pivot_that_moves_quickly_is_not_far_away(length):
    """In millimetres as in metres: what a constraint that moves adds to ġ has no length."""
    pivot = length / 20 * sp.sin(200 * taut.t)
    swing = taut.System([X, Y], mass=1, constraints=[X**2 + (Y - pivot) ** 2 - length**2])
    run = taut.simulate(
        swing, q0=[0.6 * length, 0.8 * length], v0=0, project=True, step=1e-4, duration=0.05,
        laws=None,
    )  # fmt: skip
    assert loss(run) < 5
    assert verdicts(run)["max |g|"] == "round-off"
