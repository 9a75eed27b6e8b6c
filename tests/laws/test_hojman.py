"""Hojman's quantities against a table that was derived by hand, and Darboux polynomials."""

import runpy
from pathlib import Path

import pytest
import sympy as sp

import taut
from taut.laws import darboux, multiplier
from taut.laws.hojman import exponential

CASES = runpy.run_path(str(Path(__file__).with_name("cases.py")))["CASES"]
T = taut.t
X, Y = Q = taut.coordinates("x y")
U, V = taut.velocities(Q)
K, G, W = sp.symbols("k g w", real=True)
R = sp.sqrt(X**2 + Y**2)
TURN = X * V - Y * U
F = sp.exp(2 * G * T) * (U**2 + 2 * G * X * U + W**2 * X**2)


def free():
    return taut.System([X], mass=1)


def spring():
    return taut.System([X], mass=1, potential=X**2 / 2)


def emden():
    return taut.System([X], mass=1, forces=[-3 * X * U - X**3])


def square_drag():
    return taut.System([X], mass=1, forces=[-K * U**2], parameters=["k"])


def damped():
    return taut.System([X], mass=1, forces=[-2 * G * U - W**2 * X], parameters=["g", "w"])


def drag():
    return taut.System(Q, mass=1, forces=[-U, -V])


def kepler():
    return taut.System(Q, mass=1, potential=-K / R, parameters=["k"])


def lane_emden():
    return taut.System([X], lagrangian=T**2 * (U**2 / 2 - X**6 / 6))


M = (U + X**2) ** -3
SWEEP = -(T**4) * X**3 + 4 * T**3 * X**2 - 6 * T**2 * X + 4 * T
LONG = T**2 / 2 - T * X / (U + X**2) + 1 / (U + X**2)
SCALED = tuple(TURN * (2 * a / 3 - T * b) for a, b in ((X, U), (Y, V)))

# (model, μ, ξ₀, ξ, I_H, how its label begins)
TABLE = [
    (free, 1, 0, -X * U, -3 * U, "known: -3*x_dot"),
    (free, 1, 0, X**2 - T * X * U, 3 * (X - T * U), "known"),
    (spring, 1, 0, X**2 * sp.cos(T) - X * U * sp.sin(T), 3 * (X * sp.cos(T) - U * sp.sin(T)),
     "known"),
    (spring, 1, 0, X * (X**2 + U**2), 4 * (X**2 + U**2), "known: 8*"),
    (emden, M, T**2, 2 - 2 * T * X, 6 * (T - X / (U + X**2)), "known: 6*"),
    (emden, M, T**4 * X - 2 * T**3, SWEEP, -12 * LONG, "a function of"),
    (square_drag, sp.exp(2 * K * X), 0, U * sp.exp(K * X), 3 * K * U * sp.exp(K * X),
     "a function of x_dot*exp(k*x)"),
    (damped, sp.exp(2 * G * T), 0, X * F, 4 * F, "known: 4*"),
    (drag, 1 / (U * V), 0, (0, U), U / V, "known: x_dot/y_dot"),
    (drag, sp.exp(2 * T), 0, ((X + U) * X, (X + U) * Y), 5 * (X + U), "known: 5*(x + x_dot)"),
    (kepler, 1, 0, SCALED, TURN, "known: x*y_dot - x_dot*y"),
    (lane_emden, T**2, 0, X / 2 + T * U, 0, "zero"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "mu", "xi0", "xi", "value", "label"), TABLE)
def test_the_table(make, mu, xi0, xi, value, label):
    found = taut.hojman(make(), proposed=(mu, xi0, xi))
    assert sp.simplify(found.expression - value) == 0
    assert found.label.startswith(label)
    assert found.trivial
    assert (found.law is None) == (value == 0)


def test_every_noether_symmetry_gives_zero():
    """With μ = det L_q̇q̇, here r², of the Kepler problem in polar coordinates and of others."""
    r, _ = q = taut.coordinates("r a")
    u, w = taut.velocities(q)
    polar = taut.System(q, mass=[1, r**2], potential=-K / r, parameters=["k"])
    bent = taut.System(q, lagrangian=(1 + r**2) * (u**2 + u * w + w**2) - r**4)
    for model in (polar, bent, CASES["double_pendulum"]()[0], lane_emden(), free()):
        mu = multiplier(model)
        for s in taut.noether(model, degree=1):
            found = taut.hojman(model, proposed=(mu, s.xi0, s.xi), laws=NONE)
            assert (found.label, found.expression) == ("zero", 0)
    assert multiplier(polar) == r**2
    hidden = taut.conserved(polar, proposed=r**2 * w**2 + u**2 - 2 * K / r).symmetry
    found = taut.hojman(polar, proposed=(r**2, hidden.xi0, hidden.xi), laws=NONE)
    assert found.label == "zero"


NONE = taut.Laws([], 0, [], "nothing is known")


def test_a_number_is_labelled_and_what_is_new_too():
    found = taut.hojman(kepler())
    assert [(s.expression, s.label) for s in found] == [(0, "zero"), (0, "zero"), (2, "a number")]
    new = taut.hojman(free(), proposed=(1, 0, -X * U), laws=NONE)
    assert (new.label, new.trivial) == ("new", False)
    assert new.law.verified == "normal form"
    text = str(found)
    assert "3*t ∂t + 2*x ∂x + 2*y ∂y  1  2    a number" in text
    assert found.to_dict()["symmetries"][2]["label"] == "a number"


def test_a_search_of_the_modified_emden_equation():
    """All eight symmetries; with a multiplier that was found the laws come out."""
    found = taut.hojman(emden(), degree=7, time=4)
    assert len(found) == 8
    labels = [s.label for s in found]
    assert labels.count("zero") == 3
    known = (X**2 + U) ** 2 / (X**2 + 2 * U)
    assert any(s.expression != 0 and sp.cancel(s.expression / known) == 3 for s in found)
    for s in found:
        assert s.law is None or s.law.verified == "normal form"


# ---- multipliers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [free, spring, emden, square_drag, damped, drag, lane_emden])
def test_multipliers_are_found(make):
    """div + D ln μ = 0, with the accelerations straight from the table."""
    model, mu = make(), multiplier(make())
    alpha = {
        free: [0], spring: [-X], emden: [-3 * X * U - X**3], square_drag: [-K * U**2],
        damped: [-2 * G * U - W**2 * X], drag: [-U, -V], lane_emden: [-2 * U / T - X**5],
    }[make]  # fmt: skip
    q, v = model.coordinates, model.velocities
    rate = mu.diff(T) / mu
    for a, b, c in zip(q, v, map(sp.sympify, alpha), strict=True):
        rate += (b * mu.diff(a) + c * mu.diff(b)) / mu + c.diff(b)
    assert sp.simplify(rate) == 0


def test_multipliers_with_powers_and_exponentials():
    falling = taut.System([X], mass=1, forces=[-K * U / T - X], parameters=["k"])
    assert multiplier(falling) == T**K
    rough = taut.System([X], mass=1, potential=-sp.cos(X), forces=[-K * U], parameters=["k"])
    assert multiplier(rough) == sp.exp(K * T)
    bent = taut.System([X], mass=1, forces=[-U * sp.cos(X) * U / sp.sin(X)])
    assert multiplier(bent) == sp.sin(X) ** 2


def test_multipliers_of_flows():
    assert multiplier(CASES["gyrostat"]()[0]) == 1
    flow = CASES["lorenz"]()[0]
    mu = multiplier(flow)
    rate = mu.diff(T) + sum(mu.diff(x) * e for x, e in zip(flow.variables, flow.rhs, strict=True))
    divergence = sum(e.diff(x) for x, e in zip(flow.variables, flow.rhs, strict=True))
    assert sp.simplify(rate / mu + divergence) == 0
    preys = CASES["lotka_volterra"]()[0]
    mu = multiplier(preys)
    x, y = preys.variables
    assert sp.simplify(mu * x * y).is_number
    (only,) = taut.hojman(flow, mu=sp.exp((3 * sp.Symbol("sigma") + 1) * T))
    assert only.label == "a number"
    assert sp.expand(only.expression - divergence) == 0


def test_what_is_no_multiplier_is_refused():
    r, _ = q = taut.coordinates("r a")
    polar = taut.System(q, mass=[1, r**2], potential=-1 / r)
    with pytest.raises(taut.InputError, match="1 is no multiplier") as caught:
        taut.hojman(polar, proposed=(1, 1, [0, 0]))
    assert caught.value.received == "left side = -2*r_dot/r"
    with pytest.raises(taut.InputError, match="no multiplier"):
        taut.hojman(emden(), mu=X)
    with pytest.raises(taut.InputError, match="must not vanish"):
        taut.hojman(emden(), mu=0)
    with pytest.raises(taut.InputError, match="the equation of x fails"):
        taut.hojman(emden(), proposed=(M, 0, X))
    with pytest.raises(taut.InputError, match="no proposal"):
        taut.hojman(emden(), proposed=M)
    with pytest.raises(taut.InputError, match="independent coordinates"):
        taut.hojman(CASES["spherical_pendulum"]()[0])
    x = sp.Symbol("x")
    with pytest.raises(taut.InputError, match="no multiplier was found") as caught:
        taut.hojman(taut.Flow([x], [sp.exp(x) + sp.sin(x)]))
    assert "div" in caught.value.received


def test_exponentials_are_written_as_powers():
    assert exponential(3 * sp.log(X) + 2 * T) == X**3 * sp.exp(2 * T)
    assert exponential(K * sp.log(X + 1)) == (X + 1) ** K


def test_phase_space():
    px, py = taut.momenta(Q)
    model = taut.System(Q, hamiltonian=(px**2 + py**2) / 2 + (X**2 + Y**2) / 2)
    found = taut.hojman(model, degree=1)
    assert len(found) == 8
    assert {s.label for s in found} == {"zero", "a number"}


# ---- Darboux polynomials -------------------------------------------------------------------------


def divides(model, f, lam):
    """D f = λ f, by SymPy."""
    if isinstance(model, taut.Flow):
        rates = dict(zip(model.variables, model.rhs, strict=True))
    else:
        accelerations = model.forces
        rates = dict(zip(model.coordinates, model.velocities, strict=True))
        rates |= dict(zip(model.velocities, accelerations, strict=True))
    rate = sum(f.diff(x) * e for x, e in rates.items())
    return sp.expand(sp.numer(sp.together(rate - lam * f))) == 0


def test_darboux_polynomials_of_the_modified_emden_equation():
    found = darboux(emden())
    pairs = {(x.polynomial, x.cofactor) for x in found}
    assert pairs == {(X**2 + U, -X), (X**2 + 2 * U, -2 * X)}
    (law,) = found.laws
    wanted = (X**2 + U) ** 2 / (X**2 + 2 * U)
    assert sp.cancel(law.expression * wanted) == 1 or sp.cancel(law.expression / wanted) == 1
    laws = taut.conserved(emden(), functions=found.inverses)
    assert laws.rank == 2
    assert str(found).count("\n") == 4


def test_darboux_polynomials_of_flows():
    x, y, z = sp.symbols("x y z")
    a, b, c = sp.symbols("a b c")
    three = taut.Flow([x, y, z], [x * (a * y + b * z), y * (c * z - a * x), -z * (b * x + c * y)])
    found = darboux(three)
    assert {p.polynomial for p in found} == {x, y, z}
    assert all(divides(three, p.polynomial, p.cofactor) for p in found)
    (law,) = found.laws
    assert law.expression == x**c * z**a / y**b
    quotient = taut.Flow([x, y], [y / x, (x + y) / x])
    (only,) = darboux(quotient)
    assert divides(quotient, only.polynomial, only.cofactor)
    assert only.cofactor == 1 / x


def test_surfaces_beside_laws_and_surfaces_that_move():
    """Euler's top has laws of degree two, and planes through its middle axis; x = t moves."""
    x, y, z = sp.symbols("x y z")
    top = taut.Flow([x, y, z], [y * z, -2 * x * z, x * y])
    pairs = {(p.polynomial, p.cofactor) for p in darboux(top)}
    assert pairs >= {(x - z, -y), (x + z, y)}
    (moving,) = darboux(taut.Flow([x], [1 + (x - T) * x]), degree=1)
    assert (sp.expand(moving.polynomial**2 - (x - T) ** 2), moving.cofactor) == (0, x)


@pytest.mark.parametrize("name", ["lorenz", "lotka_volterra"])
def test_constant_cofactors_and_invariant_axes(name):
    model = CASES[name]()[0]
    found = darboux(model)
    assert found
    assert all(divides(model, p.polynomial, p.cofactor) for p in found)
    if name == "lorenz":
        assert found.laws[0].expression.has(T)


def test_surfaces_of_drag():
    found = darboux(drag())
    assert {U, V} <= {p.polynomial for p in found}
    assert all(divides(drag(), p.polynomial, p.cofactor) for p in found)
    for law in found.laws:
        taut.conserved(drag(), proposed=law.expression)


def test_chaos_has_no_surface():
    x, y, z = sp.symbols("x y z")
    rates = [10 * (y - x), x * (28 - z) - y, x * y - sp.Rational(8, 3) * z]
    assert not darboux(taut.Flow([x, y, z], rates))
    assert str(darboux(taut.Flow([x, y, z], rates))) == "no Darboux polynomials"


def test_where_darboux_polynomials_are_not_sought():
    with pytest.raises(taut.InputError, match="rational rates only") as caught:
        darboux(kepler())
    assert "sqrt" in caught.value.received
    with pytest.raises(taut.InputError, match="on constraints"):
        darboux(CASES["spherical_pendulum"]()[0])
