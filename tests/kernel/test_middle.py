"""Mechanisms of a few bodies: unrolled as a whole, and the same steps as the assembled ones."""

import numpy as np
import pytest

import taut
from taut.kernel.compile import workshop
from taut.methods import method_of


def hinges(axes):
    """Bars that hang on each other by hinges; light across, heavy along."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    before, top = m.ground, np.zeros(3)
    for k, axis in enumerate(axes):
        inertia = (0.084, 0.083, 0.002)
        bar = m.body(f"b{k}", mass=1.0, inertia=inertia, at=top + np.array([0, 0.1 * k, -0.5]))
        m.revolute(f"j{k}", before, bar, at=top + np.array([0, 0.1 * k, 0]), axis=np.eye(3)[axis])
        before, top = bar, top - [0, 0, 1.0]
    return m


def test_which_are_unrolled():
    two, three = (workshop(hinges(axes).system()) for axes in ((0, 1), (0, 1, 0)))
    four = workshop(hinges((0, 1, 0, 1)).system())
    assert not two.small
    for shop in (two, three):
        assert shop.unrolled(method_of("rattle"))
        assert not shop.unrolled(method_of("gauss-lobatto-4"))
        assert not shop.unrolled(method_of("composition-4"))
    assert not four.unrolled(method_of("rattle"))


def test_light_directors_next_to_long_arms(backend):
    """Rounding the place of the last bar moves directors by more than their own rounding."""
    runs = []
    for name in ("fused", "assembled"):
        backend(name)
        mechanism = hinges((0, 1, 0))
        runs.append(taut.simulate(mechanism, duration=0.03, step=1e-3, method="rattle", laws=None))
    one, two = runs
    assert np.abs(one.q - two.q).max() <= 1e-12
    assert np.abs(one.v - two.v).max() <= 1e-9
    assert one.q[-1] != pytest.approx(one.q[0], abs=1e-4)
