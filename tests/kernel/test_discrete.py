"""Discrete gradients: exact difference quotients, without a division by zero."""

import casadi as ca
import numpy as np
import pytest
import sympy as sp

import taut
from taut.kernel import discrete
from taut.kernel.discrete import discrete_gradient
from taut.kernel.operators import Operators
from taut.model.invariants import pieces

a, x, y, z = VARIABLES = sp.symbols("a x y z", real=True)
FUNCTIONS = {
    "quadratic": x**2 + 3 * x * y - z,
    "quartic": (x**2 + y**2 - z) ** 2,
    "octic": (x + 2 * y) ** 8 - 3 * z**7,  # of a degree that three Gauss points are not enough for
    "distance": 1 / sp.sqrt(x**2 + y**2 + (z - 3) ** 2),
    "spring": 50 * (sp.sqrt((x - a) ** 2 + y**2 + z**2) - 1) ** 2,
    "one coordinate": sp.cos(3 * x) + sp.exp(y),
    "two invariants": sp.exp(-(x**2) - y**2) * sp.sin(z - a),
    "plain": sp.sin(x * y**2) + sp.exp(z * x) * sp.cos(y) * a**3,
}
RNG = np.random.default_rng(5)
POINTS = [RNG.uniform(0.3, 1.5, (2, 4)) for _ in range(12)]


def numeric(expression, groups=(VARIABLES,)):
    """(x, y) → D f(x, y), and f and ∇f."""
    variables = [s for group in groups for s in group]
    start, end = (ca.SX.sym(name, len(variables)) for name in ("start", "end"))
    out = discrete_gradient(pieces(expression, groups), variables, start, end, {})
    function = ca.Function("d", [start, end], [out])
    value = sp.lambdify([variables], expression)
    slope = sp.lambdify([variables], [expression.diff(s) for s in variables])
    return lambda p, q: np.array(function(p, q)).ravel(), value, lambda p: np.array(slope(p), float)


@pytest.fixture(params=FUNCTIONS)
def one(request):
    return numeric(FUNCTIONS[request.param])


def test_exact_and_symmetric(one):
    d, f, _ = one
    for p, q in POINTS:
        size = abs(f(p)) + abs(f(q)) + np.abs(d(p, q)) @ np.abs(p)
        assert abs(d(p, q) @ (q - p) - (f(q) - f(p))) < 5e-15 * size
        assert np.abs(d(p, q) - d(q, p)).max() < 1e-13 * np.abs(d(p, q)).max()


def test_the_gradient_where_both_points_meet(one):
    d, _, slope = one
    for p, _ in POINTS:
        assert np.abs(d(p, p) - slope(p)).max() < 1e-13 * np.abs(slope(p)).max()


def test_second_order(one):
    """D f = ∇f in the middle + O(|d|²)."""
    d, _, slope = one
    p, q = POINTS[0]
    gaps = []
    for share in (0.02, 0.01):
        ends = (p + q) / 2 - share * (q - p), (p + q) / 2 + share * (q - p)
        gaps.append(np.abs(d(*ends) - slope((p + q) / 2)).max())
    assert gaps[1] < 1e-13 or 3.8 < gaps[0] / gaps[1] < 4.2


@pytest.mark.parametrize("name", ["distance", "spring", "two invariants", "plain"])
def test_close_points(name):
    """No noise: as the points approach, the difference quotient goes to the gradient, smoothly."""
    d, f, slope = numeric(FUNCTIONS[name])
    p, direction = POINTS[0]
    for size in 10.0 ** -np.arange(1, 17):
        q = p + size * direction
        middle = slope((p + q) / 2)
        assert np.abs(d(p, q) - middle).max() < (2 * size**2 + 1e-11) * 100 * np.abs(middle).max()
        scale = abs(f(p)) + np.abs(middle) @ np.abs(p)
        assert abs(d(p, q) @ (q - p) - (f(q) - f(p))) < 1e-14 * scale


def test_noise_of_the_bare_formula(monkeypatch):
    """Guards the test above: Gonzalez' formula as printed divides round-off by |d|."""
    monkeypatch.setattr(discrete, "BENDS", (0.0, 0.0))
    d, _, slope = numeric(FUNCTIONS["spring"])
    p, direction = POINTS[0]
    q = p + 1e-12 * direction
    assert np.abs(d(p, q) - slope(p)).max() > 1e-6 * np.abs(slope(p)).max()


def test_derivatives_are_finite_where_the_points_meet():
    """Newton needs them; 0 · NaN would be NaN."""
    start, end = ca.SX.sym("start", 4), ca.SX.sym("end", 4)
    for expression in FUNCTIONS.values():
        out = discrete_gradient(pieces(expression, [VARIABLES]), [*VARIABLES], start, end, {})
        hessian = ca.Function("h", [start, end], [ca.jacobian(out, end)])
        p = POINTS[0][0]
        here = dict(zip(VARIABLES, p, strict=True))
        exact = np.array(sp.hessian(expression, VARIABLES).subs(here), float)
        assert np.abs(np.array(hessian(p, p)) - exact / 2).max() < 1e-12 * np.abs(exact).max()


def test_orthogonal_to_symmetries():
    """D f·(ξ z̄ + c) = 0 for the rotations and translations that the invariants have."""
    d, _, _ = numeric(1 / sp.sqrt((x - a) ** 2 + (y - z) ** 2))  # points (x, y) and (a, z)
    turned, _, _ = numeric(sp.exp(-(x**2) - y**2) + (x**2 + y**2) ** 5)
    for p, q in POINTS:
        slope, middle = d(p, q), (p + q) / 2
        assert abs(slope[0] + slope[1]) < 1e-14 * np.abs(slope).max()
        turn = np.array([-middle[3], -middle[2], middle[1], middle[0]])  # of both points
        assert abs(slope @ turn) < 1e-13 * np.abs(slope).max()
        slope = turned(p, q)
        assert abs(slope[1] * middle[2] - slope[2] * middle[1]) < 1e-13 * np.abs(slope).max()


def test_coordinates_that_do_not_occur_get_nothing():
    """The plain form must not leak into cyclic coordinates."""
    d, _, _ = numeric(sp.sin(x * y**2) * sp.exp(x))
    p, q = POINTS[0]
    assert d(p, q)[0] == d(p, q)[3] == 0.0


def test_units_of_q_and_p_need_not_be_compared():
    """D f is the same in other units of one group of the variables."""
    u, v = sp.symbols("u v", real=True)
    energy = sp.exp(x * u) * sp.sin(y * v + u**2)
    d, _, _ = numeric(energy, [(x, y), (u, v)])
    other, _, _ = numeric(energy.subs({u: 1000 * u, v: 1000 * v}), [(x, y), (u, v)])
    units = np.array([1, 1, 1e-3, 1e-3])
    for p, q in POINTS:
        assert d(p, q) == pytest.approx(other(units * p, units * q) * units, rel=1e-10)


# ------------------------------------------------------------------- means of a whole system

T = taut.t
X, Y = Q = taut.coordinates("x y")
U, V = taut.velocities(Q)
PX, PY = taut.momenta(Q)
HOLD = sp.sqrt((X - sp.sin(T)) ** 2 + Y**2) - 1 + sp.exp(X * Y * T)
SYSTEMS = {
    "lagrangian": taut.System(
        Q,
        lagrangian=(2 + sp.sin(X * Y)) * U**2 / 2 + X * U * V + 2 * V**2 + sp.exp(X) * V - Y**4 * X,
        constraints=[HOLD, X**2 * Y - 1],
    ),
    "hamiltonian": taut.System(
        Q,
        hamiltonian=sp.sqrt(1 + PX**2 * (2 + sp.cos(Y)) + PY**2)
        + (X * PX + Y * PY) ** 2
        + X**3 * PY,
        constraints=[HOLD, X**2 * Y - 1],
    ),
}


@pytest.mark.parametrize("form", SYSTEMS)
def test_identities_of_the_means(form):
    """ΔE = v̄·Δp − F̄·Δq,  λ·Δg = mean_push·Δq,  λ·Δψ = w·Δp + mean_bend·Δq, at one time."""
    ops = Operators(SYSTEMS[form])
    names = ("q", "v", "p", "q1", "v1", "p1")
    ends = q, v, p, q1, v1, p1 = [ca.SX.sym(name, 2) for name in names]
    w, r, lam, t = (ca.SX.sym(name, n) for name, n in (("w", 2), ("r", 2), ("lam", 2), ("t", 1)))
    found = [
        ops.link(q, v, p, t), ops.link(q1, v1, p1, t), ops.energy(q, v, p, t),
        ops.energy(q1, v1, p1, t), ops.mean_velocity(*ends, t), ops.mean_force(*ends, t),
        ops.mean_push(q, q1, t, lam), ops.g(q, t), ops.g(q1, t),
        ops.mean_lift(q, v, q1, v1, t, lam), ops.mean_respond(q, p, q1, p1, w, r, t),
        ops.mean_bend(*ends, w, r, t, lam), ops.hidden(q, v, t), ops.hidden(q1, v1, t),
    ]  # fmt: skip
    evaluate = ca.Function("all", [*ends, w, r, lam, t], found)

    def at(q, v, p, q1, v1, p1, w, r):
        values = evaluate(q, v, p, q1, v1, p1, w, r, [0.7, -1.3], 0.4)
        return [np.array(x).ravel() for x in values]

    rng, zero = np.random.default_rng(1), np.zeros(2)
    for _ in range(5):
        q, q1, v, v1, p, p1 = (rng.uniform(0.4, 1.2, 2) for _ in range(6))
        rest = at(q, v if form == "lagrangian" else zero, p, q1, v1, p1, zero, zero)
        if form == "lagrangian":  # link is p − L_v, else v − H_p
            p, p1 = p - rest[0], p1 - rest[1]
        else:
            rest = at(q, zero, p, q1, zero, p1, zero, zero)
            v, v1 = -rest[0], -rest[1]
        lift = at(q, v, p, q1, v1, p1, zero, zero)[9]
        if form == "lagrangian":
            columns = [at(q, v, p, q1, v1, p1, e, zero)[10] for e in np.eye(2)]
            w = np.linalg.solve(-np.stack(columns, axis=1), lift)
        else:
            w = -at(q, v, p, q1, v1, p1, zero, lift)[10]
        *_, e0, e1, drift, force, push, g0, g1, _, respond, bend, psi0, psi1 = at(
            q, v, p, q1, v1, p1, w, lift
        )
        dq, dp, multipliers = q1 - q, p1 - p, np.array([0.7, -1.3])
        assert np.abs(respond).max() < 1e-13
        assert e1 - e0 == pytest.approx(drift @ dp - force @ dq, abs=1e-13)
        assert multipliers @ (g1 - g0) == pytest.approx(push @ dq, abs=1e-14)
        assert multipliers @ (psi1 - psi0) == pytest.approx(w @ dp + bend @ dq, abs=1e-13)
