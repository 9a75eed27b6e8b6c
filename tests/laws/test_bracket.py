"""Brackets of laws: those of textbooks, in any coordinates, on constraints, and what is none."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.laws.bracket import Pairing
from taut.laws.check import points_of
from taut.laws.normal import Normal

T = taut.t
X, Y, Z = Q = taut.coordinates("x y z")
U, V, W = RATES = taut.velocities(Q)
K, M = sp.symbols("k m")
TURNS = (Y * W - Z * V, Z * U - X * W, X * V - Y * U)
R = sp.sqrt(X**2 + Y**2 + Z**2)


def kepler():
    return taut.System(Q, mass=M, potential=-K / R, parameters=["k", "m"])


def same(a, b):
    return sp.simplify(a - b) == 0


def test_angular_momenta_and_the_axis_of_an_ellipse_make_so4():
    model, turns = kepler(), [M * e for e in TURNS]
    axis = list(
        sp.Matrix([M * v for v in RATES]).cross(sp.Matrix(turns)) - M * K * sp.Matrix(Q) / R
    )
    energy = M * (U**2 + V**2 + W**2) / 2 - K / R
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        found = taut.poisson_bracket(turns[i], turns[j], model)
        assert same(found.expression, turns[k])
        assert (found.kind, found.label, found.verified) == (
            "angular momentum",
            "new",
            "normal form",
        )
        assert same(taut.poisson_bracket(turns[i], axis[j], model).expression, axis[k])
    found = taut.poisson_bracket(axis[0], axis[1], model)
    assert same(found.expression, -2 * M * energy * turns[2])
    zero = taut.poisson_bracket(turns[0], energy, model)
    assert (zero.expression, zero.label, zero.trivial) == (0, "zero", True)
    assert zero.verified == "normal form"


def test_numbers_and_what_the_two_say_already():
    free = taut.System(Q, mass=M, parameters=["m"])
    number = taut.poisson_bracket(M * U, X - U * T, free)
    assert (number.expression, number.label) == (-1, "a number")
    assert number.to_dict()["of"] == ["m*x_dot", "-t*x_dot + x"]
    field = taut.System(
        [X, Y], lagrangian=(U**2 + V**2) / 2 + K * (X * V - Y * U) / 2, parameters=["k"]
    )  # in a magnetic field momenta do not commute
    assert taut.poisson_bracket(U - K * Y, V + K * X, field).expression == -K
    plane = taut.System([X, Y], mass=1, potential=-1 / sp.sqrt(X**2 + Y**2))
    spin = X * V - Y * U
    assert taut.poisson_bracket(spin, spin**2 / 2, plane).label == "zero"
    scaling = taut.System([X], mass=1, potential=1 / X**2)
    energy = U**2 / 2 + 1 / X**2
    found = taut.poisson_bracket(2 * energy * T - X * U, energy, scaling)
    assert same(found.expression, -2 * energy)
    assert found.label == "known: -2*(x_dot**2/2 + x**(-2))"
    powers = taut.poisson_bracket((2 * energy * T - X * U) ** 2, energy, scaling)
    assert powers.label.startswith("a function of")


def test_dirac_s_bracket_is_that_of_the_coordinates_of_the_manifold():
    """A sphere in space and in angles; a bead on a plane that moves."""
    sphere = taut.System(Q, mass=1, constraints=[X**2 + Y**2 + Z**2 - 1])
    found = taut.poisson_bracket(TURNS[0], TURNS[1], sphere)
    assert same(found.expression, TURNS[2])
    a, b = taut.coordinates("theta phi")
    u, v = taut.velocities([a, b])
    angles = taut.System([a, b], kinetic=(u**2 + sp.sin(a) ** 2 * v**2) / 2)
    turns = [
        -sp.sin(b) * u - sp.sin(a) * sp.cos(a) * sp.cos(b) * v,
        sp.cos(b) * u - sp.sin(a) * sp.cos(a) * sp.sin(b) * v,
    ]
    assert same(taut.poisson_bracket(*turns, angles).expression, sp.sin(a) ** 2 * v)
    lifted = taut.System(Q, mass=1, constraints=[Z - T**2 - X])
    got = taut.poisson_bracket(U + W, X - T * (U + W) / 2 + T**2 / 2, lifted)
    assert got.expression == -1


def test_dirac_s_bracket_of_anything_against_its_formula():
    """{a, b} − {a, φ} C⁻¹ {φ, b}, with rational numbers, for a mass that depends on q."""
    kinetic = ((1 + X**2) * U**2 + 2 * X * Y * U * V + (2 + Y**2) * V**2 + 3 * W**2) / 2
    model = taut.System(Q, kinetic=kinetic + Z * U, constraints=[X * Y + Z**2 - 3 + T])
    pairing, (p, r, s) = Pairing(model), sp.symbols("p r s")
    momenta = [(kinetic + Z * U).diff(w) for w in RATES]
    back = sp.solve([e - x for e, x in zip(momenta, (p, r, s), strict=True)], RATES)

    def bracket(a, b):
        return sum(
            a.diff(x) * b.diff(y) - a.diff(y) * b.diff(x) for x, y in zip(Q, (p, r, s), strict=True)
        )

    g = X * Y + Z**2 - 3 + T
    hidden = g.diff(X) * U + g.diff(Y) * V + g.diff(Z) * W + 1
    a, b = X * U + Z * V**2, Y * W - T * X
    phi = [g, hidden.subs(back)]
    inside = [e.subs(back) for e in (a, b)]
    matrix = sp.Matrix(2, 2, lambda i, j: bracket(phi[i], phi[j]))
    normal = Normal(pairing.d, [a, b])
    points = points_of(normal, 3)
    field = points.point.field
    found = pairing.values(points, a, b)
    for k in range(3):
        at = {x: int(points(x)[k]) for x in (*Q, *RATES, T)}
        at |= {y: e.subs(at) for y, e in zip((p, r, s), momenta, strict=True)}
        numbers = matrix.subs(at)
        left = sp.Matrix([[bracket(inside[0], e).subs(at) for e in phi]])
        right = sp.Matrix([bracket(e, inside[1]).subs(at) for e in phi])
        # The point is one modulo p only; so is the value.
        value = bracket(*inside).subs(at) - (left * numbers.inv() * right)[0]
        assert field.number(sp.Rational(value)) == int(found[k])


def test_a_flow_has_the_bracket_that_it_is_given_and_keeps():
    x1, x2, x3 = xs = sp.symbols("x1:4")
    a1, a2, a3, k = sp.symbols("A1 A2 A3 k")
    rates = [
        (a2 - a3) / (a2 * a3) * x2 * x3 + k * x2,
        (a3 - a1) / (a3 * a1) * x3 * x1 - k * x1,
        (a1 - a2) / (a1 * a2) * x1 * x2,
    ]
    turning = [[0, -x3, x2], [x3, 0, -x1], [-x2, x1, 0]]
    body = taut.Flow(xs, rates)
    square, energy = taut.conserved(body)
    zero = taut.poisson_bracket(square, energy, body, bracket=turning)
    assert (zero.expression, zero.verified) == (0, "normal form")
    with pytest.raises(taut.InputError, match="no bracket of its own"):
        taut.poisson_bracket(square, energy, body)
    with pytest.raises(taut.ModelError, match="does not keep the bracket"):
        taut.poisson_bracket(square, energy, body, bracket=[[0, 1, 0], [-1, 0, 0], [0, 0, 0]])
    ball = taut.Flow(xs, [sp.Integer(0)] * 3)
    made = taut.poisson_laws(ball, [x1, x2], bracket=turning)
    assert [law.expression for law in made] == [x1, x2, -x3]


def test_what_is_no_law_is_refused():
    model = kepler()
    with pytest.raises(taut.InputError, match="x is not conserved"):
        taut.poisson_bracket(X, TURNS[0], model)
    # p = v in L, but the forces do not keep the bracket: both are laws, their bracket is none.
    drag = taut.System([X, Y], mass=1, forces=[-U, -V])
    e = sp.exp(T)
    assert taut.poisson_bracket(U + X, V + Y, drag).label == "zero"
    assert taut.conserved(drag, proposed=e * U).expression == e * U
    with pytest.raises(taut.InputError, match="forces that have a potential"):
        taut.poisson_bracket(e * U * X + e * U**2, e * (U * Y + U * V), drag)
    with pytest.raises(taut.InputError, match="brackets"):
        taut.poisson_bracket(U, V, 3)


def test_poisson_s_method_makes_new_laws_of_known_ones():
    model = kepler()
    axis = V * TURNS[2] - W * TURNS[1] - K * X / (M * R)
    made = taut.poisson_laws(model, [TURNS[0], TURNS[1], axis])
    assert made.rank == len(made) == 5
    assert made.complete.startswith("closed")
    plane = taut.System([X, Y], mass=1, potential=(X**2 + Y**2) / 2)
    made = taut.poisson_laws(plane, [X * V - Y * U, U**2 + X**2])
    assert same(made[2].expression, 2 * (U * V + X * Y)) or same(
        made[2].expression, -2 * (U * V + X * Y)
    )
    found = taut.poisson_laws(plane)
    assert found.rank == 3


def test_laws_of_many_bodies_need_no_ansatz():
    names = taut.coordinates(" ".join(f"{a}{i}" for i in range(6) for a in "xyz"))
    rates = taut.velocities(names)
    bodies = [sp.Matrix(names[3 * i : 3 * i + 3]) for i in range(6)]
    well = -sum(
        (i + 1) * (j + 1) / sp.sqrt((bodies[i] - bodies[j]).dot(bodies[i] - bodies[j]))
        for j in range(6)
        for i in range(j)
    )
    mass = [i + 1 for i in range(6) for _ in range(3)]
    model = taut.System(names, mass=mass, potential=well)
    spins = [
        sum(
            mass[3 * i] * b.cross(sp.Matrix(rates[3 * i : 3 * i + 3]))[k]
            for i, b in enumerate(bodies)
        )
        for k in range(3)
    ]
    laws = [taut.Law(sp.expand(e), "angular momentum", 2, "") for e in spins]
    pairing = Pairing(model)
    assert sp.expand(pairing.expression(laws[0].expression, laws[1].expression) - spins[2]) == 0
    points = points_of(Normal(pairing.d, [spins[2]]), 4)
    found = pairing.values(points, laws[0].expression, laws[1].expression)
    np.testing.assert_array_equal(found, points(sp.expand(spins[2])))
