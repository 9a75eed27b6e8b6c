"""What springs allow an explicit method, and what is said where a step was too long for them."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.march import spring_steps

BOX = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}


def cluster():
    """Bodies, a plate, a thin rod and a point with springs at rest between places on them."""
    m, rng = taut.Mechanism(), np.random.default_rng(3)
    for name, inertia in (("a", (0.1, 0.2, 0.25)), ("b", (0.3, 0.1, 0.4)), ("c", (0.2, 0.2, 0))):
        turned = taut.rotation(rng.normal(size=3))
        mass, at = rng.uniform(1, 2), rng.normal(size=3)
        m.body(name, mass=mass, inertia=inertia, at=at, rotation=turned)
    m.point("d", mass=0.7, at=(2, 1, 0))
    m.spring(m.ground, "a", stiffness=50, ends=rng.normal(size=(2, 3)))
    m.spring("a", "b", stiffness=90, ends=rng.normal(size=(2, 3)))
    m.spring("b", "c", stiffness=20)
    far = float(np.linalg.norm(m["c"].position - m["d"].position))
    m.spring("c", "d", energy=lambda s: 30 * sp.cosh(s - far))
    return m


def fastest(m):
    """By another road: modes of the whole, from directors and null spaces."""
    return 2 / np.sqrt(m.modes(at=m.start()[0], count=50).squares.max())


def test_of_free_parts_it_is_two_over_the_largest_frequency():
    m = cluster()
    assert m.stable_step() == pytest.approx(fastest(m), rel=1e-9)


def test_joints_only_make_it_longer(monkeypatch):
    m = cluster()
    m.spherical(m.ground, "a", at=(0, 0, 0))
    assert m.stable_step() < fastest(m)
    monkeypatch.setattr(spring_steps, "LARGE", 1)  # and a bound is on the safe side
    assert 0.3 * fastest(m) < m.stable_step() < fastest(m)


def test_in_hinges_and_along_sliders():
    m = taut.Mechanism()
    m.body("wheel", **BOX, at=(0, 0, 0))
    m.revolute("hinge", m.ground, "wheel", at=(0, 0, 0), axis=(0, 1, 0))
    m.torsion("hinge", stiffness=40)
    assert m.stable_step() == pytest.approx(fastest(m), rel=1e-9)
    m.body("cart", **BOX, at=(2, 0, 0))
    m.prismatic("rail", m.ground, "cart", at=(2, 0, 0), axis=(1, 0, 0))
    m.push("rail", stiffness=900)
    assert m.stable_step() == pytest.approx(2 / 30, rel=1e-9)
    assert m.stable_step() == pytest.approx(fastest(m), rel=1e-9)


def test_what_is_no_spring_does_not_count():
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    m.point("a", mass=1, at=(1, 0, 0))
    m.damper(m.ground, "a", damping=3)
    m.force("a", (1, 0, 0))
    assert m.stable_step() == np.inf


class TestStepError:
    def stiff(self, **changes):
        m = taut.Mechanism(gravity=(0, 0, -9.81))
        m.point("a", mass=1, at=(1, 0, 0))
        m.spring("spring", m.ground, "a", stiffness=1e8, length=0.9)
        with pytest.raises(taut.StepError) as caught:
            taut.simulate(m, duration=1, laws=None, **{"step": 0.01, **changes})
        return m, caught.value.remedy

    def test_it_says_what_springs_allow(self):
        m, remedy = self.stiff()
        assert m.stable_step() == pytest.approx(2e-4)
        assert "use a smaller step, below 0.0002" in remedy
        assert "m.stable_step()" in remedy

    def test_of_a_composition_its_longest_part_counts(self):
        _, remedy = self.stiff(method="composition-4")
        longest = max(abs(x) for x in taut.methods.catalogue.method_of("composition-4").substeps)
        assert f"below {2e-4 / longest:.3g}:" in remedy

    def test_an_implicit_method_has_no_such_limit(self):
        m = taut.Mechanism()
        m.point("a", mass=1, at=(1, 0, 0))
        m.potential(-sp.exp(m.symbols("a")[0][0] ** 2), name="hill")
        m.spring("spring", m.ground, "a", stiffness=1e6)
        with pytest.raises(taut.StepError) as caught:
            taut.simulate(
                m, duration=9, step=0.1, laws=None, method="gauss-lobatto-4", v0=[9, 0, 0]
            )
        assert "stable_step" not in caught.value.remedy


def test_springs_that_pull_are_stiff_across_their_line_too():
    m = taut.Mechanism(gravity=(0, 0, 0))
    m.body("hub", mass=1, inertia=(1e-3,) * 3, at=(0, 0, 0))
    for side in (1, -1):
        ends = (2 * side, 0, 0), (0.1 * side, 0, 0)
        m.spring(m.ground, "hub", ends=ends, stiffness=100, length=0.2)
    assert 0.9 * fastest(m) < m.stable_step() <= fastest(m)
    m = taut.Mechanism(gravity=(0, 0, 0))
    m.point("bead", mass=1, at=(0, 0, 0))
    for side in (1, -1):
        m.spring(m.ground, "bead", ends=((side, 0, 0), (0, 0, 0)), energy=lambda s: 1e6 * s)
    assert m.stable_step() == pytest.approx(fastest(m), rel=1e-9)
