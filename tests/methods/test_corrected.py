"""Corrections: SGM's formulas by hand, laws to round-off, dependent laws, symmetry, refusals."""

from itertools import pairwise

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings, strategies as st

import taut
from taut.kernel.compile import workshop
from taut.march.run import one_step
from taut.methods import CATALOGUE

x, y = Q = taut.coordinates("x y")
u, w = taut.velocities(Q)
px, py = taut.momenta(Q)
KEPLER = taut.System(Q, mass=1, potential=-1 / sp.sqrt(x**2 + y**2))
ENERGY = (u**2 + w**2) / 2 - 1 / sp.sqrt(x**2 + y**2)
SPIN = x * w - y * u
AXES = [w * SPIN - x / sp.sqrt(x**2 + y**2), -u * SPIN - y / sp.sqrt(x**2 + y**2)]
ALL = [ENERGY, SPIN, AXES[1], AXES[0]]  # the last is a function of the others where Ay = 0
E = 0.6
ORBIT = {"q0": [1 - E, 0], "v0": [0, ((1 + E) / (1 - E)) ** 0.5]}
TURN = 2 * np.pi

a, b, c = BALL = taut.coordinates("a b c")
da, db, dc = taut.velocities(BALL)
SPHERICAL = taut.System(BALL, mass=[2, 2, 2], potential=2 * c, constraints=[a**2 + b**2 + c**2 - 1])
BALL_LAWS = [da**2 + db**2 + dc**2 + 2 * c, a * db - b * da]
SWING = {"q0": [0, np.sin(1), -np.cos(1)], "v0": [0.6, 0, 0]}

x1, x2, x3 = X = sp.symbols("x1:4")
BODY = taut.Flow(
    X,
    [-x2 * x3 / 6 + x2 / 2, 2 * x3 * x1 / 3 - x1 / 2, -x1 * x2 / 2],
)
BODY_LAWS = [x1**2 + x2**2 + x3**2, (x1**2 + x2**2 / 2 + x3**2 / 3) / 2 + x3 / 2]


def kepler(method, turns=3, steps=200, **options):
    return taut.simulate(
        KEPLER, **ORBIT, duration=turns * TURN, step=TURN / steps, method=method, **options
    )


def swing(method, model=SPHERICAL, **options):
    return taut.simulate(
        model, **{**SWING, "duration": 4, "step": 0.02, "method": method} | options
    )


def wander(run, laws):
    """The largest change of each law."""
    values = [run.evaluate(e) for e in laws]
    return [float(np.abs(v - v[0]).max()) for v in values]


# ---- the formulas --------------------------------------------------------------------------------


def stepped(model, method, q, v, h):
    """One step of the base and of the corrected method, from a bare state."""
    shop = workshop(model)
    chosen = [CATALOGUE[method.inner.name], method.fitted(model, {})]
    p = shop.mechanics.momentum(q, v, 0.0, np.zeros(0))
    found = []
    for one in chosen:
        step = shop.step(one, keep=tuple(range(model.c)))
        found.append(one_step(step, q, v, p, 0.0, h, np.zeros(0))[:2])
    return found


def numbers(expressions, symbols):
    return sp.lambdify(symbols, [sp.sympify(e) for e in expressions])


def test_one_step_is_the_printed_formula_for_constraints():
    """(10)–(20): Δq = Σ C ∇φ with the Gram matrix, then Δq̇ with φ̇ and ∂φ̇/∂q̇ at the new place."""
    rods = [x**2 + y**2 - 1, (x - a) ** 2 + (y - b) ** 2 - 1]
    q = (x, y, a, b)
    v = sp.symbols("vx vy va vb")
    model = taut.System(q, mass=[1, 1, 2, 2], potential=10 * (y + 2 * b), constraints=rods)
    start, speed = np.array([1.0, 0, 2, 0]), np.array([0, 1.0, 0, -1])
    method = taut.Corrected("rk4", [], norm="euclid")
    (q0, v0), (q1, v1) = stepped(model, method, start, speed, 0.1)
    phi = numbers(rods, q)
    slopes = numbers([sp.Matrix(rods).jacobian(q)], q)
    gram = np.array(slopes(*q0)[0], dtype=float)
    by_hand = q0 - gram.T @ np.linalg.solve(gram @ gram.T, np.array(phi(*q0)))
    rates = numbers(list(sp.Matrix(rods).jacobian(q) * sp.Matrix(v)), (*q, *v))
    turned = np.array(slopes(*by_hand)[0], dtype=float)
    fall = np.linalg.solve(turned @ turned.T, np.array(rates(*by_hand, *v0)))
    assert np.abs(q0 - q1).max() > 1e-7
    np.testing.assert_allclose(q1, by_hand, rtol=0, atol=4e-16)
    np.testing.assert_allclose(v1, v0 - turned.T @ fall, rtol=0, atol=2e-15)


@pytest.mark.parametrize("norm", ["mass", "euclid"])
def test_one_step_is_the_nearest_state_to_first_order(norm):
    """−N⁻¹Jᵀ(J N⁻¹Jᵀ)⁻¹φ in NumPy, with masses that differ, in L and in H."""
    masses = np.array([1.0, 3.0])
    kinetic = (u**2 + 3 * w**2) / 2
    potential = -1 / sp.sqrt(x**2 + 9 * y**2 / 4) + x * y / 5
    energy = kinetic + potential
    model = taut.System(Q, mass=masses, potential=potential)
    twin = taut.System(Q, hamiltonian=px**2 / 2 + py**2 / 6 + potential)
    q, v, h = np.array([1.0, 0.4]), np.array([0.2, 0.7]), 0.3
    (q0, v0), (q1, v1) = stepped(model, taut.Corrected("rk4", [energy], norm=norm), q, v, h)
    value = numbers([energy], (*Q, u, w))
    slopes = numbers([energy.diff(s) for s in (*Q, u, w)], (*Q, u, w))
    phi = value(*q0, *v0)[0] - value(*q, *v)[0]
    row = np.array(slopes(*q0, *v0), dtype=float)
    light = np.tile(1 / masses if norm == "mass" else np.ones(2), 2)
    delta = -light * row * phi / (row @ (light * row))
    assert np.abs(delta).max() > 1e-6
    np.testing.assert_allclose(np.concatenate([q1 - q0, v1 - v0]), delta, rtol=1e-9, atol=1e-15)
    if norm == "mass":  # M for changes of q and v is M⁻¹ for those of p = M v: the same state
        law = energy.xreplace({u: px, w: py / 3})
        shown = stepped(twin, taut.Corrected("rk4", [law], norm=norm), q, v, h)[1]
        np.testing.assert_allclose(
            np.concatenate(shown), np.concatenate([q1, v1]), rtol=0, atol=3e-15
        )


def test_both_integrals_of_a_flow_by_hand():
    q, h = np.array([1.0, 0.5, 0.2]), 0.5
    model = BODY.system
    shop = workshop(model)
    zero = np.zeros(3)
    ends = []
    for method in (CATALOGUE["rk4"], taut.Corrected("rk4", BODY_LAWS).fitted(model, {})):
        v = shop.mechanics.velocity(q, zero, 0.0, np.zeros(0))
        step = shop.step(method, keep=())
        ends.append(one_step(step, q, v, zero, 0.0, h, np.zeros(0))[0])
    value = numbers(BODY_LAWS, X)
    rows = numbers([sp.Matrix(BODY_LAWS).jacobian(X)], X)
    phi = np.array(value(*ends[0])) - np.array(value(*q))
    j = np.array(rows(*ends[0])[0], dtype=float)
    by_hand = ends[0] - j.T @ np.linalg.solve(j @ j.T, phi)
    assert np.abs(ends[0] - by_hand).max() > 1e-6
    np.testing.assert_allclose(ends[1], by_hand, rtol=0, atol=1e-15)


# ---- what is kept --------------------------------------------------------------------------------


@pytest.mark.parametrize("base", ["rk4", "dop853", "rattle", "gauss-lobatto-4", "composition-4"])
@pytest.mark.parametrize("laws", [[ENERGY], [ENERGY, SPIN], ALL[:3], ALL])
def test_iterated_corrections_keep_laws_to_round_off(base, laws):
    run = kepler(taut.Corrected(base, laws, True))
    assert max(wander(run, laws)) < 4e-15
    if base == "rk4":
        assert run.certificate.iterations < 2.35  # rounding is not taken for slow convergence


def test_one_step_leaves_the_square_of_what_it_corrects():
    """φ is O(h⁵) in a step of RK4, and O(h¹⁰) after the correction."""
    left = [max(wander(kepler(taut.Corrected("rk4", [ENERGY]), 1, n), [ENERGY])) for n in (50, 75)]
    assert 1e-8 < left[0] < 3e-6
    assert np.log(left[0] / left[1]) / np.log(1.5) > 8


@pytest.mark.parametrize(
    ("method", "order"),
    [
        (taut.Corrected("rk4", ALL), 4),
        (taut.Corrected("rk4", ALL[:2], True), 4),
        (taut.Corrected("rattle", ALL[:1], True), 2),
        (taut.Corrected("rattle", ALL[:2], symmetric=True), 2),
        (taut.Corrected("gauss-lobatto-4", ALL[:1], symmetric=True), 4),
        (taut.Corrected("composition-4", ALL[:1], True), 4),
        (taut.Composition(taut.Corrected("rattle", ALL[:1], symmetric=True), order=4), 4),
    ],
    ids=lambda x: x.label if isinstance(x, taut.methods.Method) else None,
)
def test_order_is_kept(method, order):
    errors = [np.abs(kepler(method, 1, n).q[-1] - ORBIT["q0"]).max() for n in (400, 800)]
    assert abs(np.log2(errors[0] / errors[1]) - order) < 0.25


def test_one_law_may_damage_another():
    """Verlet keeps the angular momentum; the projection onto the energy takes it away."""
    plain, held = kepler("rattle"), kepler(taut.Corrected("rattle", [ENERGY], True))
    assert wander(plain, [SPIN])[0] < 2e-15 < 1e-4 < wander(held, [SPIN])[0]
    both = kepler(taut.Corrected("rattle", [ENERGY, SPIN], True))
    assert max(wander(both, [ENERGY, SPIN])) < 4e-15


@pytest.mark.parametrize("base", ["rk4", "rattle", "gauss-lobatto-4", "time-element-independent"])
def test_constraints_and_laws_together(base):
    run = swing(taut.Corrected(base, BALL_LAWS, True))
    assert max(wander(run, BALL_LAWS)) < 2e-15
    assert run.certificate.max_g < 1e-15
    assert run.certificate.max_hidden < 2e-15


def test_constraints_alone():
    """Without laws: the constraints of a method that drifts off them."""
    off, held = swing("rk4"), swing(taut.Corrected("rk4", []))
    assert off.certificate.max_g > 1e-9
    assert held.certificate.max_g < 1e-15
    assert held.certificate.max_hidden < 1e-15


def test_moving_constraints_and_laws_of_time():
    """A bead on a line that is carried along: y = t; x falls freely, ẋ + t is kept."""
    carried = taut.System(Q, mass=1, potential=x, constraints=[y - taut.t])
    law = u + taut.t
    options = {"q0": [0, 0], "v0": [0.3, 1], "duration": 5, "step": 0.1}
    run = taut.simulate(carried, **options, method=taut.Corrected("rk4", [law], True))
    assert wander(run, [law])[0] < 1e-14
    np.testing.assert_allclose(run.q[:, 0], 0.3 * run.t - run.t**2 / 2, rtol=0, atol=1e-13)
    np.testing.assert_allclose(run.q[:, 1], run.t, rtol=0, atol=1e-15)


def test_a_curved_mass():
    """L = ½(1 + x²) ẋ² + …: momenta follow the corrected velocities."""
    model = taut.System(Q, kinetic=(1 + x**2) * u**2 / 2 + w**2 / 2 + u * w * x / 3, potential=y)
    laws = [(1 + x**2) * u**2 / 2 + w**2 / 2 + u * w * x / 3 + y]
    options = {"q0": [0.5, 0], "v0": [1, 0.5], "duration": 10, "step": 0.05}
    for method in (
        taut.Corrected("rk4", laws, True),
        taut.Corrected("rattle", laws, symmetric=True),
    ):
        run = taut.simulate(model, **options, method=method)
        assert wander(run, laws)[0] < 1e-13
        momentum = (1 + run.q[:, 0] ** 2) * run.v[:, 0] + run.v[:, 1] * run.q[:, 0] / 3
        np.testing.assert_allclose(run.p[:, 0], momentum, rtol=0, atol=1e-14)
    coarse = taut.simulate(model, **options | {"step": 0.5}, method=taut.Corrected("rk4", laws))
    momentum = (1 + coarse.q[:, 0] ** 2) * coarse.v[:, 0] + coarse.v[:, 1] * coarse.q[:, 0] / 3
    np.testing.assert_allclose(coarse.p[:, 0], momentum, rtol=1e-13)


def test_laws_are_looked_for_if_none_are_given():
    run = kepler(taut.Corrected("rk4", iterate=True), turns=1)
    assert len(run.method.laws) == 4
    assert max(wander(run, ALL)) < 4e-15
    body = taut.simulate(BODY, q0=[1, 0.5, 0.2], duration=20, step=0.1, method=taut.Corrected())
    assert max(wander(body, BODY_LAWS)) < 1e-14
    found = taut.conserved(KEPLER)
    assert len(taut.Corrected("rk4", found).laws) == len(found) == 4


@pytest.mark.parametrize("base", ["rk4", "rattle", "gauss-lobatto-4"])
@pytest.mark.parametrize("options", [{"iterate": True}, {"symmetric": True}])
@pytest.mark.parametrize("turned", [0.0, 0.25, 0.5])
def test_all_laws_on_orbits_of_every_direction(base, options, turned):
    """Three laws depend on each other on orbits along the axes; all four never do."""
    if base == "rk4":
        options = {"iterate": True}
    turn = np.array([[np.cos(np.pi * turned), -np.sin(np.pi * turned)],
                     [np.sin(np.pi * turned), np.cos(np.pi * turned)]])  # fmt: skip
    start = {name: turn @ np.array(x, float) for name, x in ORBIT.items()}
    method = taut.Corrected(base, taut.conserved(KEPLER), **options)
    run = taut.simulate(KEPLER, **start, duration=20, step=TURN / 200, method=method)
    assert max(wander(run, ALL)) < 3e-14


# ---- laws that depend on each other --------------------------------------------------------------


def test_redundant_laws_do_no_harm():
    some = kepler(taut.Corrected("rk4", ALL[:3], True))
    more = kepler(taut.Corrected("rk4", [*ALL[:3], ENERGY + 2 * SPIN, ALL[3], SPIN**2], True))
    assert np.abs(some.q - more.q).max() < 1e-11
    assert max(wander(more, ALL)) < 4e-15


@pytest.mark.parametrize("options", [{}, {"iterate": True}])
def test_laws_that_depend_on_each_other_everywhere_on_the_way(options):
    """On a circle the gradients of energy and angular momentum are parallel."""
    method = taut.Corrected("rk4", ALL, **options)
    run = taut.simulate(KEPLER, q0=[1, 0], v0=[0, 1], duration=20, step=0.05, method=method)
    assert np.abs(np.hypot(*run.q.T) - 1).max() < 1e-9
    held = taut.Corrected("rattle", ALL, symmetric=True)
    run = taut.simulate(KEPLER, q0=[1, 0], v0=[0, 1], duration=20, step=0.05, method=held)
    assert np.abs(np.hypot(*run.q.T) - 1).max() < 1e-3


@pytest.mark.parametrize(
    ("base", "options"),
    [
        *((b, {}) for b in ("rk4", "rattle", "composition-4", "gauss-lobatto-4")),
        *((b, {"iterate": True}) for b in ("rk4", "rattle", "composition-4", "gauss-lobatto-4")),
        *((b, {"symmetric": True}) for b in ("rattle", "gauss-lobatto-4")),
    ],
)
def test_laws_that_touch_each_other(base, options):
    """Ax² = 1 + 2 E L² − Ay², and Ay = 0: a double root, where Ax has no say of its own."""
    laws = [ENERGY, SPIN, AXES[0]]
    run = kepler(taut.Corrected(base, laws, **options), turns=10)
    kept, free = wander(run, laws), wander(kepler(base, turns=10), laws)
    assert max(kept[:2]) < (1e-5 if not options else 4e-14)
    assert kept[2] < 1e-3 or kept[2] < free[2]


def test_a_law_whose_gradient_vanishes():
    """Angular momentum of a mass at rest in the origin: nothing to correct by."""
    spring = taut.System(Q, mass=1, potential=(x**2 + y**2) / 2)
    laws = [SPIN, (u**2 + w**2 + x**2 + y**2) / 2]
    for method in (
        taut.Corrected("rk4", laws),
        taut.Corrected("rk4", laws, True),
        taut.Corrected("rattle", laws, symmetric=True),
    ):
        run = taut.simulate(spring, q0=[0, 0], v0=0, duration=1, step=0.1, method=method)
        assert np.all(run.q == 0)


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.integers(-3, 3), min_size=4, max_size=4).filter(
        lambda k: k[0] * k[3] != k[1] * k[2]
    )
)
def test_combinations_of_laws_are_as_good_as_the_laws(k):
    mixed = [k[0] * ENERGY + k[1] * SPIN, k[2] * ENERGY + k[3] * SPIN]
    one = kepler(taut.Corrected("rk4", [ENERGY, SPIN], True), 1, 100)
    other = kepler(taut.Corrected("rk4", mixed, True), 1, 100)
    assert np.abs(one.q - other.q).max() < 1e-11


# ---- symmetry ------------------------------------------------------------------------------------


def back(method, model=KEPLER, start=ORBIT, duration=TURN, step=TURN / 100):
    there = taut.simulate(model, **start, duration=duration, step=step, method=method)
    home = taut.simulate(
        model, q0=there.q[-1], v0=-there.v[-1], duration=duration, step=step, method=method
    )
    return float(np.abs(home.q[-1] - there.q[0]).max())


@pytest.mark.parametrize("laws", [ALL[:1], ALL[:2], ALL[:3]])
@pytest.mark.parametrize("base", ["rattle", "gauss-lobatto-4", "lobatto-4"])
def test_the_symmetric_variant_can_be_reversed(base, laws):
    method = taut.Corrected(base, laws, symmetric=True)
    assert method.symmetric
    assert back(method) < 1e-11
    assert max(wander(kepler(method, 1), laws)) < 2e-14
    if base == "rattle":
        assert back(taut.Corrected(base, laws, True)) > 1e-8


@pytest.mark.parametrize("base", ["rattle", "gauss-lobatto-4"])
def test_it_can_be_reversed_on_constraints(base):
    method = taut.Corrected(base, BALL_LAWS[:1], symmetric=True)
    assert back(method, SPHERICAL, SWING, 4, 0.02) < 1e-13
    run = swing(method)
    assert wander(run, BALL_LAWS[:1])[0] < 2e-15
    assert max(run.certificate.max_g, run.certificate.max_hidden) < 2e-15


def test_steps_that_vary():
    scale = (x**2 + y**2) ** sp.Rational(3, 4)
    inside = taut.Adaptive(taut.Corrected("rattle", [ENERGY], symmetric=True), scale=scale)
    outside = taut.Corrected(taut.Adaptive("rattle", scale=scale), [ENERGY], True)
    for method in (inside, outside):
        run = kepler(method)
        assert wander(run, [ENERGY])[0] < 4e-15
        assert np.ptp(np.diff(run.t)) > 0.01
        middle = run.at(run.t[40] + 1e-3)
        assert np.abs(middle.q - run.q[40]).max() < 2e-2


# ---- one run, however it is made -----------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [
        taut.Corrected("rk4", BALL_LAWS),
        taut.Corrected("rattle", BALL_LAWS, True),
        taut.Corrected("composition-4", BALL_LAWS, True),
        taut.Corrected("generalized-alpha", BALL_LAWS, True),
    ],
    ids=lambda m: m.inner.name,
)
def test_continued_read_between_steps_and_in_a_batch(method):
    run = swing(method)
    parts = swing(method, duration=2).continue_(2)
    np.testing.assert_array_equal(parts.q, run.q)
    if method.inner.name != "generalized-alpha":  # which starts afresh between its steps
        np.testing.assert_allclose(run.at(run.t[77]).q, run.q[77], rtol=0, atol=1e-15)
        thin = swing(method, every=50)
        np.testing.assert_allclose(thin.at(run.t[77]).q, run.q[77], rtol=0, atol=1e-13)
    starts = np.array([[0, np.sin(s), -np.cos(s)] for s in (1.0, 0.5, 0.7, 0.2, 0.9)])
    many = swing(method, q0=starts)
    np.testing.assert_array_equal(many.q[0], run.q)
    for one, q0 in zip(many.q, starts, strict=True):
        np.testing.assert_array_equal(one, swing(method, q0=q0).q)


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize(
    "options", [{}, {"iterate": True}, {"symmetric": True}], ids=["one", "iterated", "symmetric"]
)
def test_lanes_branch_together_and_stay_alone(options):
    """A circle, where laws depend on each other, beside ellipses, where they do not."""
    method = taut.Corrected("rattle", ALL[:3], **options)
    speeds = [1.0, 1.2, 0.9, 1.0, 1.1]
    run = {"q0": [1, 0], "duration": 6, "step": 0.05, "method": method}
    many = taut.simulate(KEPLER, **run | {"v0": [[0, s] for s in speeds], "q0": [[1, 0]] * 5})
    for one, s in zip(many.q, speeds, strict=True):
        np.testing.assert_array_equal(one, taut.simulate(KEPLER, **run, v0=[0, s]).q)


@pytest.mark.parametrize(
    ("model", "laws", "start"),
    [(KEPLER, ALL[:3], ORBIT), (SPHERICAL, BALL_LAWS, SWING), (BODY.system, BODY_LAWS, None)],
    ids=["kepler", "ball", "body"],
)
@pytest.mark.parametrize("base", ["rattle", "gauss-lobatto-4"])
def test_the_exact_matrix_finds_the_same_symmetric_step(model, laws, start, base):
    """Rounds through the step and the multipliers, and Newton for everything at once."""
    method = taut.Corrected(base, laws, symmetric=True).fitted(model, {})
    step = workshop(model).step(method, keep=tuple(range(model.c)))
    assert step.simplified
    assert not step.thorough.simplified
    assert step.thorough.slots == step.slots
    mechanics, none = workshop(model).mechanics, np.zeros(0)
    if start is None:
        q, p = np.array([1, 0.5, 0.2]), np.zeros(3)
        v = mechanics.velocity(q, p, 0.0, none)
    else:
        q, v = np.array(start["q0"], float), np.array(start["v0"], float)
        p = mechanics.momentum(q, v, 0.0, none)
    one, other = (one_step(x, q, v, p, 0.0, 0.02, none)[0] for x in (step, step.thorough))
    assert np.abs(one - q).max() > 1e-3
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-14)


def test_what_is_held_is_what_the_run_began_with():
    """One correction leaves 1e−6 here: between its steps a run goes on towards its own start."""
    method = taut.Corrected("rk4", [ENERGY])
    full, thin = kepler(method, 1, 60), kepler(method, 1, 60, every=3)
    assert wander(full, [ENERGY])[0] > 1e-8
    np.testing.assert_allclose(thin.at(full.t).q, full.q, rtol=0, atol=1e-13)


def test_events_and_files(tmp_path):
    method = taut.Corrected("rk4", BALL_LAWS, True)
    run = swing(method, events=[taut.Event(c + 0.7, terminal=True)])
    assert abs(run.q[-1, 2] + 0.7) < 1e-12
    on = run.continue_(1)
    assert max(wander(on, BALL_LAWS)) < 1e-13
    assert "corrected" in str(run.method.label)
    kept = taut.load(run.save(tmp_path / "run.zarr"))
    np.testing.assert_array_equal(kept.q.values, run.q)


def test_the_certificate_measures_it():
    run = kepler(taut.Corrected("rk4", ALL[:2], True))
    text = str(run.certificate)
    assert "rk4 corrected (2 laws, to round-off)" in text
    assert "not symplectic" in text
    assert not run.method.symplectic
    measured = {w.name: w for w in run.certificate.watched}
    assert len(measured) == 3
    assert all(w.proof for w in measured.values())


def test_what_cannot_be_held_is_said():
    """A plunge past the centre in few steps: laws that were left out are not passed over."""
    plunge = {"q0": [1, 0], "v0": [0, 0.1], "duration": 10, "step": 0.02}
    run = taut.simulate(KEPLER, **plunge, method=taut.Corrected("rk4", ALL, True))
    assert run.certificate.held > 1e-3
    assert "not held everywhere" in str(run.certificate)
    fine = kepler(taut.Corrected("rk4", ALL, True)).certificate
    assert fine.held < 1e-14
    assert "not held" not in str(fine)
    assert "laws held" in str(fine)
    assert kepler("rk4").certificate.held is None


# ---- what is refused -----------------------------------------------------------------------------


def refused(action, *words):
    with pytest.raises(taut.TautError) as error:
        action()
    for word in words:
        assert word in str(error.value)


def test_what_is_no_law_is_refused_with_its_rate():
    refused(lambda: kepler(taut.Corrected("rk4", [u])), "x_dot is not conserved", "D(I) = ")
    refused(lambda: kepler(taut.Corrected("rk4", [sp.Symbol("zeta")])), "zeta")


def test_a_law_at_one_value_of_a_parameter():
    k = sp.Symbol("k")
    model = taut.System(Q, mass=1, potential=(x**2 + k * y**2) / 2, parameters={"k": 2})
    run = {"q0": [1, 0.2], "v0": [0, 1], "duration": 1, "step": 0.1}
    method = taut.Corrected("rk4", [SPIN], True)
    refused(lambda: taut.simulate(model, **run, method=method), "is not conserved")
    kept = taut.simulate(model, **run, method=method, parameters={"k": 1})
    assert wander(kept, [SPIN])[0] < 1e-15


def test_options_that_make_no_sense():
    refused(lambda: taut.Corrected("rk4", norm="max"), "one of euclid, mass")
    refused(lambda: taut.Corrected("rk4", "energy"), "a list of laws")
    refused(lambda: taut.Corrected("rk4", [], "yes"), "iterate is neither True nor False")
    refused(lambda: taut.Corrected("rk4", symmetric=True), "symmetric")
    refused(lambda: taut.Corrected("composition-4", symmetric=True), "Composition(Corrected(")
    refused(lambda: taut.Corrected("verlett"), "verlett")


def test_large_systems_are_refused():
    chain = taut.problems.problem("chain", links=30)
    method = taut.Corrected("rattle", [])
    refused(lambda: chain.simulate(method=method, duration=0.1), "of this size")


# ---- where a coordinate is at rest ---------------------------------------------------------------


@pytest.mark.parametrize("base", ["rattle", "gauss-lobatto-4"])
@pytest.mark.parametrize("step", [0.05, 0.01])
def test_symmetric_corrections_of_a_coordinate_at_rest(base, step):
    """Two bodies, one of which has no speed along x: relative to it everything is noise."""
    q = taut.coordinates("x1 y1 x2 y2")
    apart = sp.sqrt((q[0] - q[2]) ** 2 + (q[1] - q[3]) ** 2)
    bodies = taut.System(q, mass=1, potential=-1 / apart)
    laws = taut.conserved(bodies)
    method = taut.Corrected(base, laws, symmetric=True)
    run = taut.simulate(
        bodies, q0=[0, 0, 1, 0], v0=[0, -0.6, 0.1, 0.6], duration=1, step=step, method=method,
        laws=None,
    )  # fmt: skip
    for law in laws:
        values = run.evaluate(law.expression)
        assert np.abs(values - values[0]).max() < 1e-13


def test_symplecticity_where_laws_depend_on_each_other():
    """The certificate's defect is that of the corrected step, and not that of differences."""
    start = {"q0": [0.5, 0], "v0": [0.1, 1.6], "duration": 5, "step": 0.05, "laws": None}
    found = taut.conserved(KEPLER)
    assert len(found) > len(found.independent)

    def defect(method):
        return taut.simulate(KEPLER, **start, method=method).certificate.to_dict()["symplecticity"]

    assert defect(taut.Corrected("rk4", found)) == pytest.approx(
        defect(taut.Corrected("rk4", found.independent)), rel=1e-4
    )
    assert defect(taut.Corrected("dop853", found)) < 5e-11


def test_laws_by_name_and_a_base_that_is_not_symmetric():
    named = taut.Corrected("rk4", {"energy": ENERGY, "spin": SPIN})
    assert named.laws == (ENERGY, SPIN)
    with pytest.raises(taut.TautError, match="iterate=True"):
        taut.Corrected("rk4", [ENERGY], symmetric=True)
    with pytest.raises(taut.TautError, match="other way round"):
        taut.Corrected(taut.Composition("rattle", order=4), [ENERGY], symmetric=True)


def test_a_law_without_a_value_at_the_start_is_refused():
    p, r = sp.symbols("p r")
    flow = taut.Flow([p, r], [p, -r])
    method = taut.Corrected("rk4", [sp.log(p) + sp.log(r)])
    good = taut.simulate(flow, q0=[1, 2], duration=0.1, step=0.1, method=method, laws=None)
    assert np.isfinite(good.q).all()
    with pytest.raises(taut.TautError, match=r"log\(p\) \+ log\(r\) = nan"):
        taut.simulate(flow, q0=[-1, 2], duration=0.1, step=0.1, method=method, laws=None)


@pytest.mark.parametrize("unit", [1e-8, 1e9, 1e10, 1e12])
def test_rods_of_any_length(unit):
    """Three rods have six rows; determinants of them are high powers of a length."""
    q = taut.coordinates("x1 y1 x2 y2 x3 y3")
    ends = [sp.zeros(2, 1), *(sp.Matrix(q[i : i + 2]) for i in (0, 2, 4))]
    rods = [(k - j).dot(k - j) - unit**2 for j, k in pairwise(ends)]
    model = taut.System(q, mass=1, potential=unit * (q[1] + q[3] + q[5]), constraints=rods)
    run = taut.simulate(
        model,
        q0=unit * np.array([1, 0, 2, 0, 3, 0]),
        v0=0,
        duration=0.5,
        step=0.01,
        method=taut.Corrected("rk4", [], iterate=True),
    )
    assert np.abs(run.constraints).max() < 1e-14 * unit**2
    assert np.abs(run.hidden).max() < 1e-14 * unit**2


@pytest.mark.parametrize("step", [0.28, 0.37])
def test_slow_rounds_are_not_taken_for_noise(step):
    """Where steps are coarse, rounds converge by a factor near one: what is left is no noise."""
    method = taut.Corrected("rattle", [ENERGY, SPIN], symmetric=True)
    orbit = {"q0": [0.6, 0], "v0": [0, 1.5], "duration": 400 * step, "step": step}
    run = taut.simulate(KEPLER, **orbit, method=method, laws=None)
    assert max(wander(run, [ENERGY, SPIN])) < 3e-12


def test_a_second_correction_is_not_trusted_too_early():
    """With the matrix of the first it leaves twice what Newton's would, which is to be seen."""
    orbit = {"q0": [0.4, 0], "v0": [0, 2.0], "duration": 200, "step": 0.1}
    run = taut.simulate(KEPLER, **orbit, method=taut.Corrected("rk4", ALL, iterate=True), laws=None)
    assert run.certificate.iterations > 1.1
    assert wander(run, [SPIN])[0] < 1.5e-15
    assert max(wander(run, ALL)) < 3.5e-15


@pytest.mark.usefixtures("width")
def test_lanes_are_polished_each_for_itself():
    """Those that are done neither move nor count while others go on."""
    method = taut.Corrected("rk4", ALL, iterate=True)
    given = {"duration": 40, "step": 0.1, "method": method, "laws": None}
    speeds = [[0, s] for s in (1.5, 2.0, 1.6, 2.1, 1.7)]
    many = taut.simulate(KEPLER, q0=[[0.4, 0]] * 5, v0=speeds, **given)
    alone = [taut.simulate(KEPLER, q0=[0.4, 0], v0=v0, **given) for v0 in speeds]
    for one, run in zip(many.q, alone, strict=True):
        np.testing.assert_array_equal(one, run.q)
    each = [run.certificate.iterations for run in alone]
    assert np.ptp(each) > 0.01
    assert many.certificate.iterations == pytest.approx(np.mean(each), rel=1e-12)


@pytest.mark.parametrize("unit", [1e-8, 1e10, 1e12])
def test_symmetric_corrections_at_any_length(unit):
    """Two rods in space with two laws: a determinant that overflows must not mean no correction."""
    q = taut.coordinates("x1 y1 z1 x2 y2 z2")
    v = taut.velocities(q)
    one, two = sp.Matrix(q[:3]), sp.Matrix(q[3:])
    rods = [one.dot(one) - unit**2, (two - one).dot(two - one) - unit**2]
    weight = unit * (q[2] + q[5])
    model = taut.System(q, mass=1, potential=weight, constraints=rods)
    laws = [
        sum(s**2 for s in v) / 2 + weight,
        q[0] * v[1] - q[1] * v[0] + q[3] * v[4] - q[4] * v[3],
    ]
    run = taut.simulate(
        model,
        q0=unit * np.array([1, 0, 0, 2, 0, 0]),
        v0=unit * np.array([0, 0.3, 0, 0, 0.2, 0]),
        duration=1,
        step=0.01,
        method=taut.Corrected("rattle", laws, symmetric=True),
        laws=None,
    )
    assert max(wander(run, laws)) < 1e-14 * unit**2
