"""Flows ẋ = f(x, t): simulated like systems, without an energy."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import taut

x1, x2, x3 = X = sp.symbols("x1:4")
A1, A2, A3, k = sp.symbols("A1 A2 A3 k")
BODY = taut.Flow(
    X,
    [
        (A2 - A3) / (A2 * A3) * x2 * x3 + k * x2,
        (A3 - A1) / (A3 * A1) * x3 * x1 - k * x1,
        (A1 - A2) / (A1 * A2) * x1 * x2,
    ],
)
VALUES = {"A1": 1.0, "A2": 2.0, "A3": 3.0, "k": 0.5}
START = [1.0, 0.5, 0.2]
SQUARE = x1**2 + x2**2 + x3**2


def body(method="auto", **options):
    given = {"q0": START, "duration": 5, "step": 0.05, "parameters": VALUES, "method": method}
    return taut.simulate(BODY, **given | options)


@pytest.fixture(scope="module")
def reference():
    rates = sp.lambdify(X, [e.subs(VALUES) for e in BODY.rhs])
    return solve_ivp(lambda t, y: rates(*y), (0, 5), START, rtol=1e-12, atol=1e-14).y[:, -1]


@pytest.mark.parametrize(
    ("method", "order"),
    [
        ("rk4", 4), ("dopri5", 5), ("rattle", 2), ("gauss-lobatto-4", 4), ("gauss-lobatto-6", 6),
        ("energy-momentum", 2), ("implicit-trapezoid", 2), ("composition-4", 4), ("lobatto-4", 4),
        ("ggl", 5), ("dop853", 8),
    ],
)  # fmt: skip
def test_orders_against_scipy(reference, method, order):
    steps = (0.25, 0.125) if order < 6 else (0.5, 0.25) if order == 6 else (1.0, 0.5)
    errors = [np.abs(body(method, step=h).q[-1] - reference).max() for h in steps]
    assert abs(np.log2(errors[0] / errors[1]) - order) < (0.4 if order < 8 else 1)


def test_the_default_keeps_quadratic_integrals():
    run = body()
    assert run.method.name == "gauss-lobatto"
    value = run.evaluate(SQUARE)
    assert np.abs(value - value[0]).max() < 2e-15
    np.testing.assert_allclose(run.v[:, 2], -run.q[:, 0] * run.q[:, 1] / 2, rtol=0, atol=1e-15)


def test_time_in_the_rates():
    """ẋ = t² cos x, against its closed form."""
    x = sp.Symbol("x")
    flow = taut.Flow([x], [taut.t**2 / 3 * sp.cos(x) ** 2])
    run = taut.simulate(flow, q0=[0.2], t0=1, duration=2, step=0.01, method="gauss-lobatto-6")
    exact = np.arctan(np.tan(0.2) + (run.t**3 - 1) / 9)
    np.testing.assert_allclose(run.q[:, 0], exact, rtol=0, atol=1e-13)


def test_as_with_systems():
    """Batches, continued runs, states between steps, tolerances and events."""
    run = body()
    np.testing.assert_array_equal(body(duration=2).continue_(3).q, run.q)
    many = body(q0=np.array([START, [0.2, 0.1, 1], [1, 1, 1]]))
    np.testing.assert_array_equal(many.q[0], run.q)
    np.testing.assert_allclose(run.at(run.t[33]).q, run.q[33], rtol=0, atol=1e-15)
    fine = body(step=None, tolerance=1e-9)
    np.testing.assert_allclose(fine.q[-1], body(step=0.001).q[-1], rtol=0, atol=1e-8)
    stopped = body(events=[taut.Event(x2, terminal=True)])
    assert abs(stopped.q[-1, 1]) < 1e-14


def test_the_certificate_shows_its_laws_and_no_energy():
    certificate = body("rk4", duration=50).certificate
    names = [row[0] for row in certificate.rows()]
    assert not any("energy" in name or "symplectic" in name for name in names)
    assert certificate.symplecticity is None
    assert len(certificate.watched) == 2
    assert {w.proof for w in certificate.watched} == {"normal form"}
    assert max(w.largest_change for w in certificate.watched) > 1e-9


def test_what_does_not_fit_is_refused():
    with pytest.raises(taut.TautError, match="no velocities"):
        body(v0=0)
    with pytest.raises(taut.TautError, match="A1"):
        body(parameters={"A2": 2.0, "A3": 3.0, "k": 0.5})
    with pytest.raises(taut.TautError, match="3"):
        body(q0=[1, 2])
    for method in ("generalized-alpha", "time-element"):
        with pytest.raises(taut.TautError, match="no method for a flow"):
            body(method)
    with pytest.raises(taut.TautError, match="zeta"):
        body(laws=[sp.Symbol("zeta")])


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_a_flow_that_runs_away_is_stopped(method):
    x, y = sp.symbols("x y")
    with pytest.raises(taut.StepError) as caught:
        taut.simulate(taut.Flow([x, y], [x**2, y]), q0=[1, 1], duration=3, step=0.01, method=method)
    assert np.all(np.isfinite(caught.value.partial.q))
    assert 0.95 < caught.value.partial.t[-1] < 1.05


@pytest.mark.parametrize("method", ["auto", "rk4", "gauss-lobatto-8"])
@pytest.mark.parametrize("start", [[0, 0, 1], [0, 0, 0]])
def test_rates_that_vanish_at_the_start(method, start):
    """A variable that is zero and stays so has no size, and a flow no forces to find one by."""
    x, y, z = sp.symbols("x y z")
    flow = taut.Flow([x, y, z], [y * z, -x * z, -x * y])
    run = taut.simulate(flow, q0=start, duration=1, step=0.1, method=method, laws=None)
    assert np.array_equal(run.q[-1], start)
