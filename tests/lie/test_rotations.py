"""Rotations of space: quaternions, half turns, and what is none."""

import runpy
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.spatial.transform import Rotation

from taut import lie
from taut.errors import InputError

CASES = runpy.run_path(str(Path(__file__).with_name("cases.py")))
QUICK, vectors, close = (CASES[name] for name in ("QUICK", "vectors", "close"))
SO3 = lie.SO3
AXES = np.array(
    [[1, 0, 0], [0, -1, 0], [0, 0, 1], [1, 1, 0], [1, -1, 1], [-3, 2, 0.1], [1e-9, 1, 0], [1, 2, 3]]
)
AXES /= np.linalg.norm(AXES, axis=1, keepdims=True)


def exact(w):
    """exp(ω) by Rodrigues' formula with 50 digits, rounded once; and ω with them."""
    with mp.workdps(50):
        k = mp.matrix([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        theta = mp.norm(mp.matrix(list(w)))
        r = mp.eye(3) + k * (mp.sin(theta) / theta) + k * k * ((1 - mp.cos(theta)) / theta**2)
        return np.array(r.tolist(), dtype=float)


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize(
    "below", [1.0, 1e-1, 1e-3, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14], ids="π−{}".format
)
def test_log_is_accurate_up_to_half_turns(axis, below):
    w = axis * (np.pi - below)
    assert np.abs(SO3.log(exact(w)) - w).max() < 4e-15
    assert np.abs(SO3.exp(w) - exact(w)).max() < 1e-15


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_half_turns_have_a_log(axis):
    """Exactly: 2 a aᵀ − 1; the axis is told up to its sign."""
    r = 2 * np.outer(axis, axis) - np.eye(3)
    found = SO3.log(r)
    assert np.linalg.norm(found) == pytest.approx(np.pi, abs=1e-15)
    assert min(np.abs(found - np.pi * axis).max(), np.abs(found + np.pi * axis).max()) < 2e-15
    close(SO3.exp(found), r)


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_half_turns_are_not_in_the_image_of_cayleys_map(axis):
    for r in (2 * np.outer(axis, axis) - np.eye(3), SO3.exp(np.pi * axis)):
        for back in (SO3.cay_inverse, SO3.cay_ad_inverse):
            with pytest.raises(InputError, match="rotation by π"):
                back(r)
    k = SO3.cay_inverse(SO3.exp((np.pi - 1e-6) * axis))
    assert np.abs(k * np.tan(5e-7) / 2 - axis).max() < 1e-9


@QUICK
@given(vectors(SO3, angle=3.14))
def test_cayleys_map_turns_by_twice_the_arctangent(w):
    theta = np.linalg.norm(w)
    close(SO3.cay_inverse(SO3.exp(w)) * theta, 2 * np.tan(theta / 2) * w, 1e4)


@settings(QUICK, max_examples=60)
@given(vectors(SO3, angle=3.14))
def test_quaternions(w):
    """Of length one, w ≥ 0, there and back, and as SciPy has them (with w last)."""
    r = SO3.exp(w)
    q = SO3.quaternion(r)
    assert np.linalg.norm(q) == pytest.approx(1, abs=1e-15)
    assert q[0] >= 0
    close(SO3.from_quaternion(q), r)
    close(SO3.from_quaternion(-q), r)
    theirs = Rotation.from_rotvec(w)
    close(r, theirs.as_matrix())
    close(q, np.roll(theirs.as_quat(canonical=True), 1))
    half = np.linalg.norm(w) / 2
    close(q[0], np.cos(half))


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_quaternions_of_half_turns(axis):
    q = SO3.quaternion(2 * np.outer(axis, axis) - np.eye(3))
    assert q[0] == pytest.approx(0, abs=1e-16)
    assert abs(q[1:] @ axis) == pytest.approx(1, abs=1e-15)


def test_quaternions_are_made_as_long_as_they_should_be():
    r = SO3.from_quaternion((1 + 5e-9) * np.array([0.5, -0.5, 0.5, 0.5]))
    assert np.abs(r.T @ r - np.eye(3)).max() < 1e-15


def test_quaternions_of_many():
    w = AXES.reshape(2, 4, 3) * np.linspace(0.1, 3.1, 4)[:, None]
    r = SO3.exp(w)
    assert SO3.quaternion(r).shape == (2, 4, 4)
    close(SO3.from_quaternion(SO3.quaternion(r)), r)


@pytest.mark.parametrize("wrong", [[1, 1, 0, 0], [0, 0, 0, 0], [1 + 1e-7, 0, 0, 0]])
def test_quaternions_that_are_no_rotations_are_refused(wrong):
    with pytest.raises(InputError, match="length one"):
        SO3.from_quaternion(wrong)
    with pytest.raises(InputError, match="wrong shape"):
        SO3.from_quaternion(wrong[:3])


def test_what_is_no_rotation_is_refused():
    mirror = np.diag([1.0, 1.0, -1.0])
    for name in ("check", "log", "cay_inverse", "inverse", "adjoint", "coadjoint", "quaternion"):
        with pytest.raises(InputError, match=r"\|RᵀR − 1\| = 0, det R = -1"):
            getattr(SO3, name)(mirror)
        with pytest.raises(InputError, match=r"\|RᵀR − 1\| = 0.002.*det R = 1.003(.|\n)*nearest"):
            getattr(SO3, name)(1.001 * np.eye(3))
    with pytest.raises(InputError, match=r"not a rotation(.|\n)*at index \(1,\)"):
        SO3.log(np.stack([np.eye(3), np.ones((3, 3))]))
    with pytest.raises(InputError, match=r"^the frame is not a rotation"):
        SO3.check(2 * np.eye(3), "the frame")
    assert np.array_equal(SO3.check(np.eye(3) + 1e-9), np.eye(3) + 1e-9)
