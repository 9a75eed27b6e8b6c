"""Ranks of constraints: on them only rounding is no rank, on the way to them more is not."""

import numpy as np
import pytest

import taut
from taut.kernel.compile import workshop
from taut.march.project import _reach, check_apart, independent, nearest


@pytest.mark.parametrize("seed", [1, 3])
def test_the_nearest_state_of_a_redundant_loop_is_found_from_far_away(seed):
    """Off the constraints its redundant rows look independent, at some 1e−8 near the end."""
    problem = taut.problems.problem("bennett")
    shop, par = workshop(problem.system), problem.system.values()
    size = np.abs(problem.q0).max()
    far = problem.q0 + 0.1 * size * np.random.default_rng(seed).standard_normal(36)
    found = nearest(shop.mechanics, far, 0 * far, 0.0, par)
    assert np.abs(shop.mechanics.g(found, 0.0, par)).max() < 1e-14
    assert np.linalg.norm(found - far) < 1.2 * 0.1 * size * 36**0.5  # not somewhere else


@pytest.mark.parametrize(("angle", "kept"), [(1e-8, (0, 1)), (1e-10, (0,))])
def test_rows_at_a_small_angle_are_two_and_rows_but_for_rounding_are_one(angle, kept):
    """Where y = 0 and y = angle·x are two constraints there is one point on both."""
    x, y, z = taut.coordinates("x y z")
    system = taut.System([x, y, z], mass=1, constraints=[y, y - angle * (x - 1)])
    shop = workshop(system)
    q = np.array([1.0, 0.0, 1.0])
    assert independent(shop.mechanics, q, 0.0, system.values()) == kept


def test_what_is_near_is_so_in_lengths_of_the_system_and_not_of_its_distance():
    """Else a loop that is redundant everywhere is called singular far from the origin."""
    x, y = q = taut.coordinates("x y")
    found = []
    for away in (0.0, 1e6):
        rod = (x - away) ** 2 + (y - away) ** 2 - 1
        system = taut.System(q, mass=[1, 1], constraints=[rod, 2 * rod + rod**2])
        mechanics, place = workshop(system).mechanics, np.array([away + 0.6, away + 0.8])
        given = place, 0.0, system.values()
        assert independent(mechanics, *given) == (0,)
        slopes = mechanics.gradients(*given)
        found.append(_reach(mechanics.gradients, *given, slopes))
    assert 0.05 < found[1] / found[0] < 100


@pytest.mark.parametrize("seed", [1, 4])
def test_a_run_begins_at_the_nearest_state_of_a_redundant_loop(seed):
    """A bound of 1e−8 for what is near the constraints leads it astray."""
    problem = taut.problems.problem("bennett")
    size = np.abs(problem.q0).max()
    far = problem.q0 + 0.1 * size * np.random.default_rng(seed).standard_normal(36)
    run = taut.simulate(
        problem.system, q0=far, v0=0 * far, duration=0.02, step=0.01, project=True, laws=None
    )
    assert np.abs(run.constraints).max() < 1e-14
    assert np.linalg.norm(run.q[0] - far) < 1.2 * 0.1 * size * 36**0.5


def nearly_one(angle, length=1.0, mass=1.0):
    """Two planes at an angle, in some units."""
    x, _, z = q = taut.coordinates("x y z")
    system = taut.System(
        q, mass=mass, potential=mass * (z + x), constraints={"floor": z, "ramp": z + angle * x}
    )
    given = {"q0": [0, 0, 0], "v0": [0, length, 0], "duration": 0.2, "step": 0.01, "laws": None}
    return taut.simulate(system, **given)


@pytest.mark.parametrize("angle", [1e-8, 1e-9, 1e-10])
@pytest.mark.parametrize(("length", "mass"), [(1, 1), (1e6, 1e-9)])
def test_constraints_that_nearly_depend_on_each_other_are_told(angle, length, mass):
    with pytest.raises(taut.ConstraintError, match="nearly depend on each other: floor, ramp") as e:
        nearly_one(angle, length, mass)
    assert e.value.received == f"an angle of {angle:.1e}, not only here"
    assert e.value.remedy.startswith("drop one of them, or state them apart")
    assert np.abs(nearly_one(1e-6, length, mass).q[-1, 1] / length) == pytest.approx(0.2)


def test_stated_apart_they_are_two():
    """What the remedy says: (ramp − floor)/angle instead of the ramp."""
    x, _, z = q = taut.coordinates("x y z")
    system = taut.System(q, mass=1, potential=z + x, constraints=[z, (z + 1e-8 * x - z) / 1e-8])
    run = taut.simulate(system, q0=[0, 0, 0], v0=[0, 1, 0], duration=0.2, step=0.01, laws=None)
    np.testing.assert_allclose(run.q[-1], [0, 0.2, 0], atol=1e-14)


def test_masses_may_make_one_of_two():
    x, y, z = q = taut.coordinates("x y z")
    given = {"q0": [0, 0, 0], "v0": 0, "duration": 0.2, "step": 0.01, "laws": None}
    system = taut.System(q, mass=[1, 1e10, 1], constraints=[x - z, x - z - y / 1000])
    with pytest.raises(taut.ConstraintError, match="nearly depend on each other: g0, g1") as caught:
        taut.simulate(system, **given)
    assert "but of 7.1e-04 without the masses" in caught.value.received
    assert caught.value.remedy.startswith("masses (or units of coordinates) that differ less")
    system = taut.System(q, mass=[1, 1e4, 1], constraints=[x - z, x - z - y / 1000])
    assert taut.simulate(system, **given).q.shape == (21, 3)


def test_where_they_meet_at_a_small_angle_only_there_they_are_two():
    """The gradients of z and z − x (y − 1), at x = 0, are as far apart as y says."""
    x, y, z = q = taut.coordinates("x y z")
    system = taut.System(q, mass=1, constraints=[z, z - x * (y - 1)])
    mechanics, here = workshop(system).mechanics, np.array([0, 1 + 2e-9, 0])
    check_apart(mechanics, here, 0 * here, 0.0, system.values(), (0, 1))
    with pytest.raises(taut.ConstraintError, match="dependent only at this configuration: g1"):
        taut.simulate(system, q0=[0, 1, 0], v0=[0, 1, 0], duration=0.2, step=0.01)
