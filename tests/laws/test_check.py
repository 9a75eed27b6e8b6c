"""Proposed quantities are proved, or refused with their rate."""

import runpy
from pathlib import Path

import pytest
import sympy as sp

import taut
from taut.laws.check import checked
from taut.laws.dynamics import Dynamics
from taut.laws.normal import Normal

CASES = runpy.run_path(str(Path(__file__).with_name("cases.py")))["CASES"]
X, Y = Q = taut.coordinates("x y")
U, V = taut.velocities(Q)
K = sp.Symbol("k", real=True)
R = sp.sqrt(X**2 + Y**2)


def kepler(**given):
    return taut.System(Q, mass=1, potential=-K / R, parameters=given or ["k"])


@pytest.mark.parametrize("name", CASES)
def test_known_laws_are_proved(name):
    model, known, _ = CASES[name]()
    for law in known:
        found = taut.conserved(model, proposed=law)
        assert found.verified == "normal form"
        assert found.condition == ""
        assert sp.expand(model.read(found.expression) - model.read(law)) == 0


def test_a_law_has_its_kind_and_its_symmetry():
    found = taut.conserved(kepler(), proposed=X * V - Y * U)
    assert (found.kind, found.degree, found.point) == ("angular momentum", 2, True)
    assert found.symmetry.xi == (-Y, X)
    hidden = checked(kepler(), V * (X * V - Y * U) - K * X / R)
    assert (hidden.kind, hidden.degree) == ("hidden symmetry", 3)


def test_what_is_not_conserved_is_refused_with_its_rate():
    pull = taut.System(Q, mass=[1, 2], potential=3 * Y)
    with pytest.raises(taut.InputError, match="is not conserved") as caught:
        taut.conserved(pull, proposed=X * V)
    assert caught.value.received == "D(I) = -3*x/2 + x_dot*y_dot"
    flow = taut.Flow([X, Y], [Y, -K * X])
    with pytest.raises(taut.InputError) as caught:
        taut.conserved(flow, proposed=X**2 + Y**2)
    rate = sp.sympify(caught.value.received.split("=")[1], locals={"x": X, "y": Y, "k": K})
    assert sp.expand(rate - 2 * X * Y * (1 - K)) == 0


def test_the_rate_on_constraints_is_the_one_on_the_manifold():
    """The plane pendulum: d(xẏ − yẋ)/dt is the moment of the weight; and a rate with a quotient."""
    pendulum = taut.System(Q, mass=1, potential=Y, constraints=[X**2 + Y**2 - 1])
    for quantity, rate in ((X * V - Y * U, "-x"), (U**2 + V**2 + 2 * Y + X, "x_dot")):
        with pytest.raises(taut.InputError) as caught:
            taut.conserved(pendulum, proposed=quantity)
        assert caught.value.received == f"D(I) = {rate}"
    with pytest.raises(taut.InputError) as caught:
        taut.conserved(pendulum, proposed=X / (2 + Y))
    own = {str(s): s for s in (X, Y, U, V)}
    rate = sp.sympify(caught.value.received.split("=")[1], locals=own)
    at = {X: sp.Rational(3, 5), Y: sp.Rational(4, 5), U: -4, V: 3}
    assert rate.subs(at) == (U / (2 + Y) - X * V / (2 + Y) ** 2).subs(at)


def test_values_of_parameters_make_laws():
    law = V * (X * V - Y * U) - 2 * X / R
    found = checked(kepler(k=2), law)
    assert (found.condition, found.verified) == ("at k = 2", "normal form")
    with pytest.raises(taut.InputError, match="not conserved"):
        checked(kepler(k=3), law)
    with pytest.raises(taut.InputError, match="not conserved"):
        checked(kepler(), law)


def test_only_the_values_that_matter_are_said():
    """Hénon and Heiles' potential with λ = 1 has a second law, whatever g is."""
    g, lam = sp.symbols("g lam", real=True)
    well = g * (X**2 + Y**2) / 2 + X**2 * Y + lam * Y**3 / 3
    model = taut.System(Q, mass=1, potential=well, parameters={"g": 0.5, "lam": 1})
    second = U * V + g * X * Y + X * Y**2 + X**3 / 3
    assert checked(model, second).condition == "at lam = 1"
    both = U * V + X * Y / 2 + X * Y**2 + X**3 / 3
    assert checked(model, both).condition == "at g = 1/2, lam = 1"


@pytest.mark.parametrize("constant", [3, X**2 + Y**2, K])
def test_constants_are_no_laws(constant):
    ring = taut.System(
        Q, mass=1, potential=K * Y, constraints=[X**2 + Y**2 - 1], parameters={"k": 1}
    )
    with pytest.raises(taut.InputError, match="constant whatever moves"):
        checked(ring, constant)


def test_what_cannot_be_read_is_named():
    flow = taut.Flow([X, Y], [Y, -X])
    with pytest.raises(taut.ModelError, match="contains z"):
        checked(flow, sp.Symbol("z") + X)
    with pytest.raises(taut.ModelError, match="contains z"):
        checked(kepler(), sp.Symbol("z") + X)
    with pytest.raises(taut.ModelError, match="where Abs occurs"):
        checked(flow, sp.Abs(X))
    for wrong in ("x +", [X], None):
        with pytest.raises(taut.TautError, match=r"not a.* expression"):
            checked(flow, wrong)


def test_symbols_are_known_by_their_names():
    x, y = sp.symbols("x y", positive=True)
    found = checked(taut.Flow([X, Y], [Y, -X]), x**2 + y**2)
    assert found.expression == X**2 + Y**2


def test_normal_forms_keep_their_values():
    """At a point of the manifold an expression and its normal form are the same number."""
    sphere = taut.System(Q, mass=1, potential=Y, constraints=[X**2 + Y**2 - 1])
    d = Dynamics(sphere)
    e = (X**3 * U + Y**2 * V) / (X**2 + 2)
    normal = Normal(d, [e])
    at = {X: sp.Rational(3, 5), Y: sp.Rational(4, 5), U: -4, V: 3}
    assert sp.nsimplify(normal.of(e).subs(at)) == e.subs(at)
    assert normal.of(e) != e
    assert normal.of(X**2 + Y**2 - 1) == 0
    assert normal.zero(X * U + Y * V)
    assert not normal.zero(X * U)


LISTS = [None, 3, object(), float("nan"), sp.Symbol("zz")]


@pytest.mark.parametrize("bad", LISTS, ids=["none", "three", "object", "nan", "symbol"])
def test_what_is_no_list_is_refused_in_words(bad):
    x, y = sp.symbols("x y")
    q = taut.coordinates("x")
    model = taut.System(q, mass=1, potential=sp.Symbol("a") * q[0] ** 2, parameters=["a"])
    turn = [[0, 1], [-1, 0]]
    for ask in (
        lambda: taut.Flow(bad, [0]),
        lambda: taut.Flow([x], bad),
        lambda: taut.Flow([x], [[bad]]),
        lambda: taut.conserved(model, functions=bad),
        lambda: taut.conserved(model, budget=bad if bad != 3 else "3s"),
        lambda: taut.special_values(model, {"a": bad if bad != 3 else "3"}),
        lambda: taut.casimirs(bad, turn),
        lambda: taut.casimirs([x, y], [[0, [bad]], [-1, 0]]),
        lambda: taut.absorbed([x, y], turn, [[bad], 0]),
        lambda: taut.Corrected("rk4", [[bad]]),
    ):
        with pytest.raises(taut.TautError):
            ask()
    if bad is not None:
        with pytest.raises(taut.InputError):
            taut.hojman(model, laws=bad, degree=1)
        with pytest.raises(taut.InputError):
            taut.absorbed([x, y], turn, bad)


def test_names_of_a_flow_are_unique():
    x, y = sp.symbols("x y")
    flow = taut.Flow([x, y], [y, -sp.Symbol("x", positive=True)])
    assert flow.rhs == (y, -x)
    assert not flow.parameters
    with pytest.raises(taut.ModelError, match="names"):
        taut.Flow([x, sp.Symbol("x", real=True)], [1, 1])


def test_a_correction_is_not_corrected_again():
    for wrap in (taut.Corrected, taut.Projected, lambda m: taut.Corrected(taut.Composition(m))):
        with pytest.raises(taut.InputError, match="corrected method"):
            wrap(taut.Corrected("rattle", [], symmetric=True))


def test_names_may_be_greek_and_those_that_the_proof_uses_itself():
    _, root = q = taut.coordinates("θ _r0")
    law = taut.velocities(q)[0] * sp.sqrt(1 + root**2)
    model = taut.System(q, lagrangian=(sum(v**2 for v in taut.velocities(q))) / 2 - root**2)
    assert taut.conserved(model, proposed=taut.velocities(q)[0]).kind == "momentum"
    with pytest.raises(taut.TautError, match="θ_dot"):
        taut.conserved(model, proposed=law)
