"""Equations of motion: the same as by definition, at random places, and short."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.model.tidy import tidy

t = taut.t


def cart_and_pole():
    _, a = q = taut.coordinates("x a")
    u, w = taut.velocities(q)
    M, m, l, g = sp.symbols("M m l g", positive=True)
    kinetic = M * u**2 / 2 + m * ((u + l * w * sp.cos(a)) ** 2 + (l * w * sp.sin(a)) ** 2) / 2
    values = {"M": 1.0, "m": 0.1, "l": 0.5, "g": 9.81}
    return taut.System(q, lagrangian=kinetic - m * g * l * sp.cos(a), parameters=values)


def chain(n):
    """A pendulum of n equal points, in angles."""
    q = taut.coordinates(" ".join(f"a{k}" for k in range(1, n + 1)))
    v = taut.velocities(q)
    places = [(sum(map(sp.sin, q[:k])), -sum(map(sp.cos, q[:k]))) for k in range(1, n + 1)]
    rates = [sum(e.diff(x) * w for x, w in zip(q, v, strict=True)) for p in places for e in p]
    return taut.System(q, lagrangian=sp.Add(*(e**2 for e in rates)) / 2 - sum(y for _, y in places))


def coupled():
    """Terms of each kind: linear in rates, with time, a diagonal block, floats, roots."""
    x, y, z = q = taut.coordinates("x y z")
    u, v, w = taut.velocities(q)
    kinetic = u**2 + v**2 * (1 + x**2) + sp.Rational(1, 3) * u * v * sp.sin(y - x) + 0.7 * w**2
    L = kinetic + w * sp.cos(t) + 0.3 * u * y - sp.sqrt(1 + z**2) + sp.exp(x * y / 5)
    return taut.System(q, lagrangian=L, forces=[-0.1 * u, 0, t])


def from_energy():
    x, y = q = taut.coordinates("x y")
    p, r = taut.momenta(q)
    H = p**2 / 2 + r**2 * (2 + sp.cos(x)) + p * r * sp.sin(y) / 4 + x * y + p * y
    return taut.System(q, hamiltonian=H, constraints=[x**2 + y - 1])


@pytest.mark.parametrize("made", [cart_and_pole, lambda: chain(2), coupled])
def test_from_a_lagrangian_they_are_what_they_are_by_definition(made):
    s = made()
    found, q, v, p = s.equations(), s.coordinates, s.velocities, s.momenta
    L, a = s.energy_function, [sp.Symbol(f"{x.name}_ddot", real=True) for x in s.coordinates]
    rng = np.random.default_rng(3)
    at = dict(zip([*q, *v, *a, t], rng.uniform(-1, 1, 3 * len(q) + 1), strict=True))
    at |= {sp.Symbol(x, positive=True): y for x, y in (s.parameters or {}).items()}
    at |= {x: s.parameters[x.name] for x in L.free_symbols if x.name in s.parameters}

    def number(e):
        return float(sp.N(e.xreplace(at)))

    slopes = [L.diff(x) for x in v]
    at |= dict(zip(p, map(number, slopes), strict=True))
    assert number(found.hamiltonian) == pytest.approx(
        number(sum(b * c for b, c in zip(p, v, strict=True)) - L), abs=1e-12
    )
    steps = list(zip([*q, *v], [*v, *a], strict=True))
    for x, m, equation in zip(q, slopes, found.euler_lagrange, strict=True):
        rate = m.diff(t) + sum(m.diff(y) * w for y, w in steps) - L.diff(x)
        assert number(equation.lhs) == pytest.approx(number(rate), abs=1e-12)
    rates = [*v, *(L.diff(x) + f for x, f in zip(q, s.forces, strict=True))]
    for equation, rate in zip(found.canonical, rates, strict=True):
        assert number(equation.rhs) == pytest.approx(number(rate), abs=1e-12)


def test_from_a_hamiltonian_and_back():
    s = from_energy()
    found = s.equations()
    back = taut.System(s.coordinates, lagrangian=found.lagrangian).equations().hamiltonian
    rng = np.random.default_rng(1)
    for _ in range(3):
        values = rng.uniform(-1, 1, 4)
        at = dict(zip((*s.coordinates, *s.momenta), values, strict=True))
        assert float((back - s.energy_function).xreplace(at)) == pytest.approx(0, abs=1e-12)


def test_a_cart_with_a_pole_fits_a_screen():
    found = cart_and_pole().equations()
    one, other = (str(e.lhs) for e in found.euler_lagrange)
    assert one == "a_ddot*l*m*cos(a) - a_dot**2*l*m*sin(a) + x_ddot*(M + m)"
    assert other == "a_ddot*l**2*m - g*l*m*sin(a) + l*m*x_ddot*cos(a)"
    assert len(str(found)) < 800  # it was 6354
    assert len(str(chain(3).equations())) < 6000  # it was 496,542


def test_coupled_masses_of_many_have_no_hamiltonian_that_fills_a_book():
    found = chain(5).equations()
    assert found.hamiltonian is None
    assert len(found.euler_lagrange) == 5
    assert max(len(str(e)) for e in found.euler_lagrange) < 600
    x = taut.coordinates("x1 x2 x3 x4 x5")
    mass = np.eye(5) + np.diag(np.full(4, 0.25), 1) + np.diag(np.full(4, 0.25), -1)
    assert taut.System(x, mass=mass, potential=x[0] ** 2).equations().hamiltonian is not None


def test_tidy_never_makes_longer():
    x, y = taut.coordinates("x y")
    for e in (x / (x + y), sp.Abs(x) ** 3, (x + y) ** 9 * (x - y) ** 9, sp.exp(x) * sp.sin(x) ** 2):
        found = tidy(e, [x])
        assert sp.count_ops(found) <= sp.count_ops(e)
        at = {x: 0.3, y: -0.7}
        assert float(found.xreplace(at)) == pytest.approx(float(e.xreplace(at)))
