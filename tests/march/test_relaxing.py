"""Rest of many parts, far from where they begin: they are let come to it."""

import numpy as np
import pytest
from scipy.optimize import brentq

import taut
from taut.kernel.compile import workshop
from taut.march import relaxing
from taut.march.resting import Resting


def hanging(links, bodies=False):
    """A chain that is laid out level and held at one end."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    before = m.ground
    for k in range(links):
        name, place = f"link {k}", (k, 0, 0)
        if bodies:
            m.body(name, mass=1, inertia=(0.02, 0.1, 0.1), at=(k + 0.5, 0, 0))
            m.spherical(before, name, at=place)
        else:
            m.point(name, mass=1, at=(k + 1, 0, 0))
            m.rod(before, name, ends=(place, (k + 1, 0, 0)))
        before = name
    return m


def test_a_level_chain_hangs_down():
    rest = hanging(40).equilibrium()
    assert rest.stable
    places = rest.q.reshape(-1, 3)
    np.testing.assert_allclose(places[:, 2], -1.0 - np.arange(40), rtol=0, atol=1e-11)
    np.testing.assert_allclose(places[:, :2], 0.0, atol=1e-10)


def test_bodies_that_may_spin_about_their_own_axes():
    m = hanging(24, bodies=True)
    rest = m.equilibrium()
    assert rest.stable
    centres = rest.q.reshape(-1, 12)[:, :3]
    np.testing.assert_allclose(centres[:, 2], -0.5 - np.arange(24), rtol=0, atol=1e-11)


def test_a_chain_between_two_hooks_is_a_polygon_of_a_catenary():
    """Laid out as a tent; the slopes of its links grow by m g/H from one to the next."""
    links, span = 30, 20.0
    half = links // 2
    wide = span / links
    high = np.sqrt(1 - wide**2)
    at = [(k * wide, 0, high * min(k, links - k)) for k in range(links + 1)]
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    names = [m.point(f"bead {k}", mass=1, at=at[k]) for k in range(1, links)]
    sides = [m.ground, *names, m.ground]
    for k in range(links):
        m.rod(sides[k], sides[k + 1], ends=(at[k], at[k + 1]))
    system = m.system()
    here = Resting(m, workshop(system).mechanics, system.values())
    slopes = np.arange(links) - (links - 1) / 2

    def gap(ratio):
        return np.sum(1 / np.sqrt(1 + (ratio * slopes) ** 2)) - span

    ratio = brentq(gap, 1e-3, 10, xtol=1e-15)
    deep = np.cumsum(ratio * slopes / np.sqrt(1 + (ratio * slopes) ** 2))[:-1]
    there = relaxing.relaxed(here, m.start()[0])
    assert there is not None
    for q in (m.equilibrium().q, there):
        np.testing.assert_allclose(q.reshape(-1, 3)[:, 2], deep, rtol=0, atol=1e-9)
    assert deep[half - 1] < -5


def test_what_never_comes_to_rest_is_said():
    """Its last link drives another point away."""
    m = hanging(25)
    m.point("loose", mass=1, at=(30, 5, 0))
    m.central("link 24", "loose", energy=lambda r: -r)
    m.spring(m.ground, "loose", ends=((30, 5, 0), (30, 5, 0)), stiffness=1e-3)
    m.central(m.ground, "loose", energy=lambda r: -(r**2), ends=((29, 5, 0), (30, 5, 0)))
    with pytest.raises(taut.NoEquilibrium):
        m.equilibrium()


def test_few_parts_are_not_let_go(monkeypatch):
    monkeypatch.setattr(relaxing, "relaxed", lambda *_: pytest.fail("it was let go"))
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    m.point("bead", mass=1, at=(1, 0, 0))
    m.spring(m.ground, "bead", energy=lambda s: -(s**2))
    with pytest.raises(taut.NoEquilibrium):
        m.equilibrium()
