"""Rotations by three angles, against SciPy's."""

from itertools import product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import taut
from taut.lie import euler, rotation

AXES = ["".join(x) for x in product("xyz", repeat=3) if x[0] != x[1] != x[2]]
GIVEN = np.random.default_rng(1).uniform(-3, 3, (40, 3))


@pytest.mark.parametrize("axes", AXES)
def test_rotations_are_those_of_turning_axes(axes):
    expected = Rotation.from_euler(axes.upper(), GIVEN).as_matrix()  # capitals: axes that turn
    np.testing.assert_allclose(rotation(GIVEN, axes), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("axes", AXES)
def test_angles_come_back(axes):
    angles = GIVEN.copy()
    angles[:, 1] = angles[:, 1] / 2 if axes[0] != axes[2] else np.abs(angles[:, 1])
    np.testing.assert_allclose(euler(rotation(angles, axes), axes), angles, rtol=0, atol=1e-12)


@pytest.mark.parametrize("axes", AXES)
def test_where_two_axes_are_one_line_the_rotation_comes_back(axes):
    locked = [0.0, np.pi] if axes[0] == axes[2] else [-np.pi / 2, np.pi / 2]
    for beta in locked:
        turned = rotation((0.7, beta, -0.4), axes)
        found = euler(turned, axes)
        assert found[2] == 0
        np.testing.assert_allclose(rotation(found, axes), turned, rtol=0, atol=1e-15)


@pytest.mark.parametrize("axes", ["zz", "zzx", "abc", "ZXZ", 3])
def test_other_axes_are_refused(axes):
    with pytest.raises(taut.InputError, match="zxz"):
        taut.rotation((0, 0, 0), axes)


def test_what_is_no_rotation_has_no_angles():
    with pytest.raises(taut.InputError, match="not a rotation"):
        euler(-np.eye(3))
