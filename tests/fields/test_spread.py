"""Loads that are spread along a beam: force and moment of the shares are those of the load."""

import numpy as np
import pytest
import sympy as sp

from taut.fields.loads import Load, s
from taut.fields.spread import PIECES, spread
from taut.model.symbols import t

P, R = sp.Piecewise, sp.Rational
LOADS = {  # with ∫ f ds and ∫ s f ds from 0 to 1
    "half": (P((1, s < R(1, 2)), (0, True)), 1 / 2, 1 / 8),
    "part": (P((3, (s > 0.317) & (s < 0.602)), (0, True)), 3 * 0.285, 1.5 * (0.602**2 - 0.317**2)),
    "in one edge": (P((1, (s > 0.511) & (s < 0.513)), (0, True)), 0.002, 0.002 * 0.512),
    "narrow": (P((1, sp.Abs(s - 0.512) < 1e-4), (0, True)), 2e-4, 2e-4 * 0.512),
    "quadratic": (P((1, (s - 0.5119) * (s - 0.5121) < 0), (0, True)), 2e-4, 2e-4 * 0.512),
    "product": (sp.Heaviside(s - 0.2) * sp.Heaviside(0.7 - s), 0.5, 0.225),
    "ramp": (P((s - 0.3, (s > 0.3) & (s < 0.8)), (0, True)), 1 / 8, 0.125 * (0.3 + 1 / 3)),
    "bent": (sp.Abs(s - R(1, 3)), 5 / 18, 29 / 162),
    "at a node": (P((1, s >= R(1, 2)), (4, True)), 2.5, 0.375 + 0.5),
    "stairs": (sp.floor(3 * s), 1.0, (4 - 1) / 18 + 2 * (9 - 4) / 18),
    "high degree": (s**20, 1 / 21, 1 / 22),
    "no polynomial": (sp.sin(7 * s), (1 - np.cos(7)) / 7, (np.sin(7) - 7 * np.cos(7)) / 49),
    "steep": (sp.sqrt(s), 2 / 3, 2 / 5),
    "peak": (sp.exp(-(((s - 0.512) / 1e-3) ** 2)), 1e-3 * np.pi**0.5, 0.512e-3 * np.pi**0.5),
}  # fmt: skip


def shares(force, count, load=None):
    places = np.linspace(0, 1, count)
    cells = np.full(count, 1 / (count - 1))
    cells[[0, -1]] /= 2
    zero = (sp.S.Zero,) * 3
    return spread(
        load or Load(None, zero, (force, *zero[1:]), False, (0, count)), places, cells
    ), places


def sums(found, places, time=0.0):
    """Force and first moment of all shares."""
    values = [sum(e[3].subs(t, time) for e in found.on(j)) for j in range(len(places))]
    values = np.array(values, dtype=float)
    return values.sum(), values @ places


@pytest.mark.parametrize("count", [3, 11, 12, 40])
@pytest.mark.parametrize("name", LOADS)
def test_force_and_moment(name, count):
    load, force, moment = LOADS[name]
    found = sums(*shares(load, count))
    assert found == pytest.approx((force, moment), rel=1e-12)


@pytest.mark.parametrize("count", [4, 11])
def test_time_beside_the_place(count):
    part = LOADS["part"]
    found, places = shares(part[0] * sp.sin(3 * t) + s * t, count)
    expected = np.array(part[1:]) * np.sin(1.5) + 0.5 * np.array([1 / 2, 1 / 3])
    assert sums(found, places, 0.5) == pytest.approx(expected, rel=1e-12)
    assert len(found.rows) == count  # one share for each node
    wave, places = shares(sp.sin(3 * s - t), count)
    exact = (np.cos(0.5) - np.cos(3 - 0.5)) / 3
    assert sums(wave, places, 0.5)[0] == pytest.approx(exact, rel=1e-8)


def test_what_moves_is_borne_in_time():
    """At each time to a sample of an edge; in its passage by every sample as long as it should."""
    found, places = shares(P((2, (s > t) & (s < t + R(1, 4))), (0, True)), 6)
    for time in (0.0, 0.213, 0.5):
        assert sums(found, places, time)[0] == pytest.approx(0.5, abs=2 * 0.2 / PIECES)
    times = np.linspace(-0.25, 1, 4001)
    force = sum(sp.Add(*(e[3] for e in found.on(j))) for j in range(6))
    mean = np.mean(sp.lambdify(t, force)(0.5 * (times[1:] + times[:-1]))) * 1.25
    assert mean == pytest.approx(0.5, rel=1e-3)


def test_cells_of_their_own_and_single_nodes():
    """End nodes with whole cells have twice the share; a load on one node is there alone."""
    zero = (sp.S.Zero,) * 3
    load = Load(None, zero, (s, *zero[1:]), False, (2, 5))
    places = np.array([0.0, 1.0, 0.0, 0.5, 1.0])  # another beam comes first
    found = spread(load, places, np.array([9.0, 9.0, 0.5, 0.5, 0.5]))
    values = [float(sum(e[3] for e in found.on(j))) for j in range(5)]
    assert values == pytest.approx([0, 0, 2 * 0.5**2 / 6, 0.25, 2 * (0.125 + 0.25 / 3)])
    one, places = shares(None, 4, Load(2, zero, (t, *zero[1:]), False))
    assert [len(one.on(j)) for j in range(4)] == [0, 0, 1, 0]
