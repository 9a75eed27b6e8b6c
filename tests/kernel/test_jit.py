"""Compiled functions that Python may call, and those that it may not."""

from __future__ import annotations

import numpy as np
import pytest

from taut.kernel.jit import copy, entry, within


@within
def doubled(x):
    return 2.0 * x


@entry
def taken(source, target):
    copy(source, target)
    return doubled(target[1]) / (source[0] - target[0])


def test_what_is_within_is_reached_by_what_is_called():
    source, target = np.array([1.0, 3.0, 5.0]), np.zeros(2)
    assert taken(source, target) == np.inf  # and no ZeroDivisionError
    assert target.tolist() == [1.0, 3.0]


def test_python_does_not_reach_it_and_is_told_so():
    with pytest.raises(TypeError, match=r"test_jit\.doubled is called by compiled functions alone"):
        doubled(1.0)
    assert doubled.py_func(1.0) == 2.0
