"""Values modulo p obey the rules that functions obey, and so do their rates."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.laws.dynamics import Dynamics, Moving
from taut.laws.field import Field, primes
from taut.laws.proof import proved
from taut.laws.ring import Lattice, Ring, tidy
from taut.laws.symmetry import symmetry_of

X, Y, A = sp.symbols("x y a")
FIELD = Field(primes(1)[0], seed=5)


def points(*expressions, count=40):
    expressions = [tidy(e) for e in expressions]
    ring = Ring(expressions, [X, Y, A])
    point = ring.sample(FIELD, {s: FIELD.random(count) for s in (X, Y, A)})
    values = [point(e) for e in expressions]
    return [v[point.good] for v in values]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (sp.sin(X) ** 2 + sp.cos(X) ** 2, 1),
        (sp.cos(X - Y), sp.cos(X) * sp.cos(Y) + sp.sin(X) * sp.sin(Y)),
        (sp.sin(3 * X), 3 * sp.sin(X) - 4 * sp.sin(X) ** 3),
        (sp.cos(X), 2 * sp.cos(X / 2) ** 2 - 1),
        (sp.tan(X), sp.sin(2 * X) / (1 + sp.cos(2 * X))),
        (sp.exp(X - Y) * sp.exp(Y - X), 1),
        (sp.exp(X + Y), sp.exp(X / 2) ** 2 * sp.exp(Y)),
        (sp.cosh(X) ** 2 - sp.sinh(X) ** 2, 1),
        (sp.sqrt(X**2 + Y) ** 2, X**2 + Y),
        ((X**2 + Y) ** sp.Rational(-3, 2) * sp.sqrt(X**2 + Y), 1 / (X**2 + Y)),
        (sp.cbrt(X + Y) ** 3, X + Y),
        (X ** (A + 1), X * X**A),
        (2**X, sp.exp(X * sp.log(2), evaluate=False)),
        (2.5**X * sp.Rational(2, 5) ** X, 1),
        (2 ** (X + Y), 2**X * 2**Y),
        (0.1 * X, X / 10),
    ],
)
def test_identities_hold(left, right):
    one, two = points(sp.sympify(left), sp.sympify(right))
    assert len(one) > 5
    assert np.array_equal(one, two)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (sp.sin(X), sp.sin(Y)), (sp.exp(X), 1 + X), (sp.log(X), X), (sp.sqrt(X), X),
        (sp.sin(X) ** 2 - sp.cos(X) ** 2, 1),
    ],
)  # fmt: skip
def test_what_is_different_differs(left, right):
    one, two = points(sp.sympify(left), sp.sympify(right))
    assert not np.any(one == two)


def test_one_base_angle_for_a_difference():
    assert Lattice.of([X - Y]).basis == [X - Y]
    assert len(Lattice.of([X, X - Y]).basis) == 2
    halves = Lattice.of([X, X / 2, 3 * X])
    assert halves.basis == [X / 2]
    assert halves.coordinates[3 * X] == (6,)


def test_what_has_no_place_is_named():
    with pytest.raises(taut.ModelError, match="where Heaviside occurs"):
        Ring([sp.Heaviside(X)], [X])
    with pytest.raises(taut.ModelError, match="z is not known"):
        Ring([sp.Symbol("z")], [X])


def moving(model, *more, count=20):
    d = Dynamics(model)
    ring = Ring([*d.expressions, *more], [*d.state, *d.parameters, taut.t])
    own = {s: FIELD.random(1) for s in d.parameters}
    return d, d.moving(ring, FIELD, count, own, True)


def models():
    x, y, z = q = taut.coordinates("x y z")
    px, py, pz = taut.momenta(q)
    sphere = [x**2 + y**2 + z**2 - 1]
    t = taut.t
    mass = [[2 + x**2, 0, 0], [0, 1, y], [0, y, 3]]
    yield taut.System(q, mass=1, potential=z, constraints=sphere)
    yield taut.System(q, mass=mass, potential=sp.cos(x) * z, constraints=sphere)
    yield taut.System(q, mass=1, potential=z, constraints=[(x - sp.sin(t)) ** 2 + y**2 - 4])
    yield taut.System(q, hamiltonian=(px**2 + py**2 / 2 + pz**2) / 2 + x * py, constraints=sphere)
    yield taut.System(q, mass=1, potential=z, constraints=[x**2 + y**2 - 1, x**3 + z**3 + y - 2])


@pytest.mark.parametrize("model", list(models()))
def test_the_variety_is_kept(model):
    """G = 0 and h = 0 at the points, and their rates vanish there."""
    d, found = moving(model)
    for e in d.relations:
        assert not found(e).any()
        assert not found.rate(e).any()
    assert all(found.rate(x).any() for x in d.state)


def test_rates_are_those_of_the_equations():
    """A pendulum, with λ by hand: ẍ = −2λx, ÿ = −1 − 2λy, 2λ = v² − y."""
    x, y = q = taut.coordinates("x y")
    u, v = taut.velocities(q)
    _, found = moving(taut.System(q, mass=1, potential=y, constraints=[x**2 + y**2 - 1]))
    pull = u**2 + v**2 - y
    assert np.array_equal(found.rate(u), found(-pull * x))
    assert np.array_equal(found.rate(v), found(-1 - pull * y))


@pytest.mark.parametrize(
    "e",
    [
        X**3 * Y + 2 * X * Y - 7,
        (X + Y**2) ** -2 * sp.sqrt(X**2 + 3),
        (A * X + 1) ** sp.Rational(-3, 2) + A**2,
        sp.sin(X - Y) * sp.cos(2 * X) * sp.exp(-A * X + Y),
        sp.log(X + Y) * sp.atan(X) * X,
        (X**2 + Y) ** A * Y,
        A * X * sp.exp(Y) ** 2 * sp.cos(A) / Y,
    ],
)
def test_the_chain_rule_by_numbers_is_that_of_derivatives(e):
    """Rates of x and y that are anything; a is constant."""
    slopes = [e.diff(X), e.diff(Y)]
    ring = Ring([e, *slopes], [X, Y, A])
    point = ring.sample(FIELD, {s: FIELD.random(40) for s in (X, Y, A)})
    rates = {s: FIELD.random(40) for s in (X, Y)}
    found = Moving(point, rates)
    shares = [FIELD.mul(point(b), rates[s]) for b, s in zip(slopes, (X, Y), strict=True)]
    wanted, own = FIELD.add(*shares), found.rate(e)
    assert point.good.any()
    assert np.array_equal(own[point.good], wanted[point.good])
    assert not found.rate(A**2).any()
    at = found.gradients([e], [X, Y])
    assert at.tolist() == [[int(point(b)[0]) for b in slopes]] or not point.good[0]


def test_both_forms_of_a_system_have_the_same_laws():
    x, y = q = taut.coordinates("x y")
    px, py = taut.momenta(q)
    sphere = [x**2 + 2 * y**2 - 3]
    one = taut.conserved(taut.System(q, mass=1, potential=x, constraints=sphere))
    two = taut.conserved(taut.System(q, hamiltonian=(px**2 + py**2) / 2 + x, constraints=sphere))
    swap = dict(zip(taut.velocities(q), (px, py), strict=True))
    assert [law.expression.xreplace(swap) for law in one] == [law.expression for law in two]


def test_loops_that_cannot_be_placed_are_named():
    a, b, c = q = taut.coordinates("a b c")
    loop = [sp.sin(a) + sp.cos(b) + c - 1, sp.cos(a) - sp.sin(b) + c**2]
    with pytest.raises(taut.ModelError, match="one by one"):
        taut.conserved(taut.System(q, mass=1, constraints=loop))


def test_proofs_know_the_relation_of_sines():
    """The potential is tan² a, the law has 1/cos² a: they differ by (s² + c²)/c²."""
    (a,) = taut.coordinates("a")
    (u,) = taut.velocities([a])
    model = taut.System([a], mass=1, potential=sp.tan(a) ** 2)
    for law, holds in ((u**2 / 2 + sp.cos(a) ** -2, True), (u**2 / 2 + sp.cos(a) ** -1, False)):
        d, _ = moving(model, law)
        ring = Ring([*d.expressions, law], [*d.state, taut.t])
        assert proved(d, ring, law) == holds


def test_a_time_that_depends_on_the_velocity_is_no_point_symmetry():
    (x,) = taut.coordinates("x")
    (u,) = taut.velocities([x])
    model = taut.System([x], mass=1, potential=0 * x)
    d, found = moving(model)
    assert symmetry_of(d, u, found).point
    assert symmetry_of(d, u**2, found).point  # ξ₀ = −2
    assert not symmetry_of(d, u**3, found).point


@pytest.mark.parametrize("base", [2, 2.5, sp.Rational(1, 3), sp.pi, X])
def test_powers_whose_exponent_moves_have_slopes(base):
    """Their logarithms have places, too."""
    e = sp.sympify(base) ** taut.t
    found = taut.conserved(taut.Flow([X, Y], [0 if base == X else 1, e]))
    assert "y" in {s.name for law in found for s in law.expression.free_symbols}
