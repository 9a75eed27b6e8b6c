"""Lie's symmetries: as many as theory says, checked by prolongation."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import taut
from taut.laws.dynamics import Dynamics
from taut.laws.field import Field, primes
from taut.laws.rates import Rates
from taut.laws.ring import Ring

CASES = runpy.run_path(str(Path(__file__).with_name("cases.py")))["CASES"]
T = taut.t
X, Y = Q = taut.coordinates("x y")
U, V = taut.velocities(Q)
K = sp.Symbol("k", real=True)
R = sp.sqrt(X**2 + Y**2)
TURNS = (sp.sin(T), sp.cos(T))


def free():
    return taut.System(Q, mass=1), [0, 0]


def line():
    return taut.System([X], mass=1), [0]


def spring():
    return taut.System([X], mass=1, potential=X**2 / 2), [-X]


def kepler():
    return taut.System(Q, mass=1, potential=-K / R, parameters=["k"]), [
        -K * X / R**3,
        -K * Y / R**3,
    ]


def henon_heiles():
    return CASES["henon_heiles"]()[0], [-X - 2 * X * Y, -Y - X**2 + Y**2]


def emden():
    return taut.System([X], mass=1, forces=[-3 * X * U - X**3]), [-3 * X * U - X**3]


def lane_emden():
    model = taut.System([X], lagrangian=T**2 * (U**2 / 2 - X**6 / 6))
    return model, [-2 * U / T - X**5]


COUNTS = [
    (lane_emden, {}, 1),
    (line, {}, 8),
    (free, {}, 15),
    (spring, {"functions": TURNS}, 8),
    (spring, {}, 2),
    (kepler, {}, 3),
    (henon_heiles, {}, 1),
    (emden, {"degree": 6, "time": 4}, 7),
    (emden, {"degree": 7, "time": 4}, 8),
]


def numbers(symbols, seed=1):
    rng = np.random.default_rng(seed)
    return {s: sp.Float(x, 40) for s, x in zip(symbols, rng.uniform(0.3, 1.7, 40), strict=False)}


def prolonged(model, alpha, s):
    """X⁽²⁾(q̈ − α) on solutions, with ξ₀ and ξ as they are: not the evolutionary road."""
    q, v = model.coordinates, model.velocities

    def dot(e):
        e = sp.sympify(e)
        return e.diff(T) + sum(
            e.diff(a) * b + e.diff(b) * c for a, b, c in zip(q, v, alpha, strict=True)
        )

    one = [dot(e) - w * dot(s.xi0) for e, w in zip(s.xi, v, strict=True)]
    two = [dot(e) - a * dot(s.xi0) for e, a in zip(one, alpha, strict=True)]
    for e, a in zip(two, map(sp.sympify, alpha), strict=True):
        right = s.xi0 * a.diff(T)
        right += sum(x * a.diff(y) for x, y in zip(s.xi, q, strict=True))
        right += sum(x * a.diff(y) for x, y in zip(one, v, strict=True))
        yield e - right


@pytest.mark.parametrize(("make", "given", "count"), COUNTS)
def test_there_are_as_many_as_theory_says(make, given, count):
    model, alpha = make()
    found = taut.lie_symmetries(model, **given)
    assert len(found) == count
    for s in found:
        assert s.verified == "normal form"
        for left in prolonged(model, alpha, s):
            assert abs(left.subs(numbers(sorted(left.free_symbols, key=str)))) < 1e-25


def test_a_symmetry_that_is_not_noethers():
    """Kepler's third law: t → λ³t, q → λ²q."""
    model, _ = kepler()
    names = [s.field for s in taut.lie_symmetries(model)]
    assert "3*t ∂t + 2*x ∂x + 2*y ∂y" in names
    assert not any("3*t" in s.field for s in taut.noether(model))


def test_dynamical_symmetries_of_kepler():
    """Time, rotation, scaling, and the two of Runge and Lenz."""
    model, _ = kepler()
    found = taut.lie_symmetries(model, dynamical=True, degree=2)
    assert len(found) == 5
    law = V * (X * V - Y * U) - K * X / R
    pair = {sp.expand(law.diff(U)), sp.expand(law.diff(V))}
    assert any({sp.expand(e) for e in s.xi} in (pair, {-e for e in pair}) for s in found)
    assert all(s.xi0 == 0 for s in found)


def test_symmetries_on_a_sphere():
    """Free motion on it: three rotations and t → a t + b; gravity leaves one rotation and t."""
    x, y, z = q = taut.coordinates("x y z")
    sphere = [x**2 + y**2 + z**2 - 1]
    found = taut.lie_symmetries(taut.System(q, mass=1, constraints=sphere))
    assert len(found) == 5
    for s in found:
        assert sp.expand(sum(a * b for a, b in zip(q, s.xi, strict=True))) == 0
        assert s.verified == "normal form"
    heavy = taut.System(q, mass=1, potential=z, constraints=sphere)
    assert {s.field for s in taut.lie_symmetries(heavy)} == {"∂t", "-y ∂x + x ∂y"}
    with pytest.raises(taut.InputError, match="equation of"):
        taut.lie_symmetries(heavy, proposed=(0, [0, -z, y]))
    for model in (heavy, taut.System(q, mass=1, constraints=sphere)):
        with pytest.raises(taut.InputError, match="constraint g0 fails") as caught:
            taut.lie_symmetries(model, proposed=(0, [x, y, z]))
        assert caught.value.received == "left − right = 2"


def test_other_coordinates_have_as_many():
    """Free motion in skew coordinates, and in curved ones, where the mass depends on q."""
    skew = [[2, 1], [1, 3]]
    moving = taut.System(Q, mass=skew)
    assert (len(taut.lie_symmetries(moving)), len(taut.noether(moving))) == (15, 8)
    curved = taut.System(Q, lagrangian=(U**2 + (V + 2 * X * U) ** 2) / 2)  # y → y + x²
    assert (len(taut.lie_symmetries(curved, degree=4)), len(taut.noether(curved))) == (15, 8)


def test_fields_that_commute_with_a_flow():
    """ẋ = A x: they are the matrices that commute with A."""
    x = sp.symbols("x1:4")
    matrix = sp.Matrix([[0, 1, 0], [-1, 0, 0], [0, 0, 2]])
    flow = taut.Flow(x, list(matrix * sp.Matrix(x)))
    found = taut.lie_symmetries(flow, degree=1, time=0)
    assert len(found) == 3
    for s in found:
        other = sp.Matrix([[e.diff(y) for y in x] for e in s.xi])
        assert matrix * other == other * matrix
    (own,) = taut.lie_symmetries(CASES["gyrostat"]()[0])
    rates = CASES["gyrostat"]()[0].rhs
    assert len({sp.cancel(a / b) for a, b in zip(own.xi, rates, strict=True)}) == 1


def test_phase_space():
    px, py = taut.momenta(Q)
    model = taut.System(Q, hamiltonian=(px**2 + py**2) / 2 + (X**2 + Y**2) / 2)
    assert len(taut.lie_symmetries(model, dynamical=True, degree=1)) == 8
    with pytest.raises(taut.InputError, match="point symmetries need velocities"):
        taut.lie_symmetries(model)
    turn = taut.lie_symmetries(model, proposed=(0, [-Y, X, -py, px]))
    assert turn.verified == "normal form"
    late = taut.lie_symmetries(model, proposed=(1, [0, 0, 0, 0]))
    assert late.eta == (-px, -py, X, Y)


def test_proposals():
    model, _ = kepler()
    found = taut.lie_symmetries(model, proposed=(3 * T, [2 * X, 2 * Y]))
    assert found.eta == (2 * X - 3 * T * U, 2 * Y - 3 * T * V)
    with pytest.raises(taut.InputError, match="the equation of x fails") as caught:
        taut.lie_symmetries(taut.System([X], mass=1, potential=X**3), proposed=(0, X))
    assert caught.value.received == "left − right = 3*x**2"
    pinned = taut.System([X], mass=1, potential=K * X**2 / 2 + (K - 2) * X**3, parameters={"k": 2})
    assert taut.lie_symmetries(pinned, proposed=(0, X)).condition == "at k = 2"
    with pytest.raises(taut.InputError, match="symmetries are found for systems"):
        taut.lie_symmetries(None)
    with pytest.raises(taut.InputError, match="depends on velocities"):
        taut.lie_symmetries(model, functions=[U])
    with pytest.raises(taut.InputError, match="too large"):
        taut.lie_symmetries(taut.problems.problem("chain", links=21).system)


def test_functions_that_the_equations_have_lost():
    """A logarithm in the potential, of which the forces know nothing."""
    model = taut.System(Q, mass=1, potential=sp.log(X**2 + Y**2))
    names = [s.field for s in taut.lie_symmetries(model)]
    assert names == ["∂t", "-y ∂x + x ∂y", "t ∂t + x ∂x + y ∂y"]
    with pytest.raises(taut.InputError, match="moves nothing"):
        taut.lie_symmetries(model, proposed=(0, [0, 0]))


def test_a_singular_lagrangian_is_refused():
    x, y, u, v = sp.symbols("x y u v", real=True)
    term = taut.Term("lagrangian", (x, y), [(u - y) ** 2 / 2], [[0, 1]], rates=(u, v))
    with pytest.raises(taut.InputError, match="mass matrix is singular"):
        taut.lie_symmetries(taut.System.from_terms([x, y], [term]))


def test_second_rates_of_a_pendulum():
    """On the circle ẍ = −(v² − y) x; D of that by hand, and the slopes of the rates."""
    d = Dynamics(taut.System(Q, mass=1, potential=Y, constraints=[X**2 + Y**2 - 1]))
    ring = Ring(d.expressions, [*d.state, T])
    jet = Rates(d).at(d.moving(ring, Field(primes(1)[0]), 12, {}, True))
    pull = U**2 + V**2 - Y
    assert np.array_equal(jet.bend(X), jet(-pull * X))
    later = -pull * U + 3 * V * X
    assert np.array_equal(jet.second[U], jet(later))
    assert np.array_equal(jet.bend(X * U), jet.rate(U**2 - pull * X**2))
