"""Symmetries that are planted are found; without symmetry there is the energy, and nothing else."""

import pytest
import sympy as sp
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import taut

T = taut.t
X, Y = Q = taut.coordinates("x y")
U, V = taut.velocities(Q)
NUMBERS = st.integers(1, 9)
SIGNED = st.integers(-9, 9).filter(bool)
QUICK = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))


def rate(model, law):
    """D I with accelerations from SymPy: an independent road to what was found."""
    energy, v = model.energy_function, model.velocities
    mass = sp.hessian(energy, v)
    right = [
        energy.diff(x) - sum(energy.diff(w).diff(y) * z for y, z in zip(Q, v, strict=True))
        for x, w in zip(Q, v, strict=True)
    ]
    push = mass.LUsolve(sp.Matrix(right))
    total = law.diff(T) + sum(law.diff(x) * w for x, w in zip(Q, v, strict=True))
    return sp.simplify(total + sum(law.diff(w) * a for w, a in zip(v, push, strict=True)))


def spans(laws, wanted):
    """Whether `wanted` is a combination of these, with rational numbers."""
    c = sp.symbols(f"c:{len(laws)}")
    rest = wanted - sum(a * b for a, b in zip(c, laws, strict=True))
    numerator = sp.numer(sp.together(rest))
    equations = sp.Poly(sp.expand(numerator), X, Y, U, V, T).coeffs()
    return bool(sp.linsolve(equations, c)) if laws else not equations


def found(model, **options):
    return taut.conserved(model, budget=0.05, **options)


def expressions(laws):
    return [law.expression for law in laws]


@QUICK
@given(st.tuples(*[NUMBERS] * 3), st.integers(0, 9), st.integers(0, 4))
def test_rotations(numbers, field, drag):
    """With a mass that depends on the distance, and a magnetic field."""
    a, b, c = numbers
    s = X**2 + Y**2
    action = (1 + drag * s) * (U**2 + V**2) / 2 + field * (X * V - Y * U) - a * s - b * s**2
    model = taut.System(Q, lagrangian=action - c * s**3)
    turn = X * action.diff(V) - Y * action.diff(U)
    laws = found(model, degree=5 if drag else 4, time=0)
    assert spans(expressions(laws), turn)
    assert all(rate(model, x) == 0 for x in expressions(laws))


@QUICK
@given(st.tuples(*[SIGNED] * 4), st.tuples(NUMBERS, NUMBERS))
def test_translations(numbers, masses):
    """A potential that is constant along (p, q)."""
    p, q, a, b = numbers
    m, n = masses
    s = q * X - p * Y
    model = taut.System(Q, mass=[m, n], potential=a * s**2 + b * s**3)
    laws = found(model, degree=2)
    assert spans(expressions(laws), p * m * U + q * n * V)


@QUICK
@given(st.tuples(*[NUMBERS] * 4), st.integers(0, 2))
def test_scalings(numbers, kind):
    """A potential that is homogeneous of degree −2: x·v − 2 t E."""
    a, b, c, d = numbers
    potential = [
        a / X**2 + b / Y**2,
        (a * X**2 + b * X * Y + c * Y**2) / (X**2 + Y**2) ** 2,
        a / (X - d * Y) ** 2 + b / X**2,
    ][kind]
    model = taut.System(Q, mass=1, potential=potential)
    energy = (U**2 + V**2) / 2 + potential
    laws = found(model, degree=5 if kind == 1 else 3, time=1)
    assert spans(expressions(laws), X * U + Y * V - 2 * T * energy)


@QUICK
@given(st.tuples(NUMBERS, NUMBERS), st.tuples(SIGNED, SIGNED))
def test_boosts(masses, numbers):
    """Two bodies on a line: m x + n y − t P."""
    m, n = masses
    a, b = numbers
    model = taut.System(Q, mass=[m, n], potential=a * (X - Y) ** 2 + b * (X - Y) ** 3)
    laws = found(model, degree=2, time=1)
    assert spans(expressions(laws), m * X + n * Y - T * (m * U + n * V))
    assert any(law.kind == "boost" for law in laws)


@QUICK
@given(NUMBERS, NUMBERS, st.fractions(-3, 3, max_denominator=4))
def test_without_symmetry_there_is_the_energy(a, b, c):
    """Hénon's and Heiles' potential away from the three values that are known to be integrable."""
    c = sp.Rational(c.numerator, c.denominator)
    assume(3 * c not in (0, 1, 6, 16))
    model = taut.System(Q, mass=1, potential=(a * X**2 + b * Y**2) / 2 + X**2 * Y + c * Y**3)
    laws = found(model, degree=4)
    assert [law.kind for law in laws] == ["energy"]
    assert rate(model, laws[0].expression) == 0


@QUICK
@given(st.lists(SIGNED, min_size=9, max_size=9))
def test_flows_of_a_random_hamiltonian_keep_it(numbers):
    """ẋ = H_y, ẏ = −H_x: H is found, whatever it is, and nothing that is not conserved."""
    monomials = [X, Y, X**2, X * Y, Y**2, X**3, X**2 * Y, X * Y**2, Y**3]
    h = sum(c * m for c, m in zip(numbers, monomials, strict=True))
    laws = found(taut.Flow([X, Y], [h.diff(Y), -h.diff(X)]), degree=3)
    assert spans(expressions(laws), h)
    for e in expressions(laws):
        assert sp.expand(e.diff(T) + e.diff(X) * h.diff(Y) - e.diff(Y) * h.diff(X)) == 0


@pytest.mark.parametrize("numbers", [(1, 2, 3), (2, 3, 7), (1, 5, 9)])
def test_laws_of_a_planted_flow(numbers):
    """ẋ = ∇f × ∇g keeps f and g."""
    a, b, c = numbers
    x = sp.symbols("x1:4")
    f, g = a * x[0] ** 2 + b * x[1] ** 2 + c * x[2], x[0] * x[1] + x[2] ** 2
    slopes = [sp.Matrix([e.diff(y) for y in x]) for e in (f, g)]
    laws = found(taut.Flow(x, list(slopes[0].cross(slopes[1]))))
    assert {sp.expand(law.expression) for law in laws} == {f, g}
