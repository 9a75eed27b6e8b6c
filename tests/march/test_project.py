"""Ranks of constraints: on them only rounding is no rank, on the way to them more is not."""

import numpy as np
import pytest

import taut
from taut.kernel.compile import workshop
from taut.march.project import _reach, independent, nearest


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
