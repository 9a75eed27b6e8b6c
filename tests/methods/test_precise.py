"""The precise element: the doubling, what it is exact for, its twins, its resonances."""

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
from scipy.linalg import expm

import taut
from taut import problems
from taut.kernel.compile import workshop
from taut.march.run import one_step
from taut.methods import PreciseElement, Rattle
from taut.methods.precise import exp_minus_one

x, y, z = Q = taut.coordinates("x y z")
u, v, w = taut.velocities(Q)
SPHERE = [x**2 + y**2 + z**2 - 1]
MASS = [[2, 0.25, 0], [0.25, 1, 0.5], [0, 0.5, 1.5]]
STIFF = 40 * x**2 + 7 * x * y + 3 * y**2 + z**2
K = [[80, 7, 0], [7, 6, 0], [0, 0, 2]]
SOFT = x**4 + sp.cos(z) * y**2
START = {"q0": [0.6, 0, 0.8], "v0": [0, 1, 0]}


@pytest.fixture
def bound():
    """Stiff springs, soft ones, a full constant mass, on the unit sphere."""
    return taut.System(Q, mass=MASS, potential=STIFF + SOFT, constraints=SPHERE)


@pytest.fixture
def driven():
    return taut.System(
        Q,
        mass=MASS,
        potential=STIFF + SOFT,
        constraints=[x**2 + y**2 + z**2 - 1 - sp.sin(2 * taut.t) / 5],
        forces=[-u / 5, sp.cos(taut.t) - v * sp.Abs(v), -u * w],
    )


def off(run, other):
    return max(abs(run.q - other.q).max(), abs(run.p - other.p).max())


# ---- the exponential ---------------------------------------------------------------------------


@pytest.mark.parametrize("h", [1e-9, 1e-3, 0.1, 1.0, 30.0])
def test_the_exponential_of_an_oscillator_to_the_last_digits(h):
    """Also of what is small: cos − 1 for h = 1e−9 has no digit left in exp."""
    omega = 50.0
    with mp.workdps(50):
        angle = mp.mpf(omega) * mp.mpf(h)
        c, s = mp.cos(angle) - 1, mp.sin(angle)
        known = np.array([[c, s / omega], [-omega * s, c]], dtype=float)
    found = exp_minus_one(np.array([[0.0, 1.0], [-(omega**2), 0.0]]), h)
    extended = np.finfo(np.longdouble).eps < 1e-18  # not on every machine
    np.testing.assert_allclose(found, known, rtol=2e-15 if extended else 1e-12)


def test_the_exponential_of_any_matrix():
    rng = np.random.default_rng(1)
    for size in (1, 2, 7, 20):
        a = rng.standard_normal((size, size))
        scale = np.abs(expm(2 * a)).max()
        np.testing.assert_allclose(
            exp_minus_one(a, 2.0), expm(2 * a) - np.eye(size), atol=1e-13 * scale
        )
    assert np.all(exp_minus_one(np.zeros((3, 3)), 1.0) == 0)


# ---- what it is exact for ----------------------------------------------------------------------


def exact(mass, stiffness, centre, q0, v0, t):
    """The motion of M q̈ + K (q − c) = 0 by its modes."""
    from scipy.linalg import eigh

    values, modes = eigh(stiffness, mass)
    a, b = (modes.T @ mass @ x for x in (q0 - centre, v0))
    rates = np.sqrt(values.astype(complex))
    wave = np.cos(np.outer(t, rates)) * a + np.sin(np.outer(t, rates)) / rates * b
    return centre + wave.real @ modes.T


@pytest.mark.parametrize("h", [0.01, 0.3, 2.0, 17.0])
def test_linear_systems_are_exact_at_any_step(h):
    """Also with a shorter last step, and about another centre."""
    centre, q0, v0 = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0, 0.3]), np.array([0, 1.0, -1])
    away = sp.Matrix(Q) - sp.Matrix(centre)
    energy = (away.T * sp.Matrix(K) * away)[0] / 2
    system = taut.System(Q, mass=MASS, potential=energy)
    for method in (PreciseElement(about=centre), PreciseElement(K, centre)):
        run = taut.simulate(system, q0=q0, v0=v0, duration=20.3 * h, step=h, method=method)
        known = exact(np.array(MASS), np.array(K), centre, q0, v0, run.t)
        assert len(run.t) == 22
        np.testing.assert_allclose(run.q, known, atol=2e-14 * (10 + run.t[-1]))


def test_unstable_directions_are_exact_too():
    system = taut.System([x], mass=[1], potential=-2 * x**2)
    run = taut.simulate(system, q0=[1], v0=0, duration=3, step=0.5, method="precise-element")
    np.testing.assert_allclose(run.q[:, 0], np.cosh(2 * run.t), rtol=1e-14)


# ---- twins -------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", ["bound", "driven"])
def test_without_a_linear_part_it_is_rattle(system, request):
    model = request.getfixturevalue(system)
    settings = START | {"duration": 1.02, "step": 0.02, "project": True}
    one, two = (
        taut.simulate(model, method=m, **settings)
        for m in (PreciseElement(np.zeros((3, 3))), Rattle())
    )
    assert off(one, two) < 2e-13


def test_the_linear_part_may_be_given_in_three_ways(bound):
    k = sp.Symbol("k", real=True)
    soft = taut.System(
        Q, mass=MASS, potential=STIFF.subs(40, k) + SOFT, constraints=SPHERE, parameters={"k": 40}
    )
    settings = START | {"duration": 1, "step": 0.05}
    about = np.array(K, float) + np.diag([0, 2, 0])  # cos z · y² bends, too
    runs = [
        taut.simulate(bound, method=PreciseElement(), **settings),
        taut.simulate(bound, method=PreciseElement(about), **settings),
        taut.simulate(bound, method=PreciseElement(STIFF + y**2), **settings),
        taut.simulate(soft, method=PreciseElement(STIFF.subs(40, k) + y**2), **settings),
    ]
    for run in runs[1:]:
        assert off(runs[0], run) < 1e-13
    other = taut.simulate(bound, method=PreciseElement(STIFF), **settings)
    assert off(runs[0], other) > 1e-6


def test_parameters_of_a_run_reach_the_linear_part():
    k = sp.Symbol("k", real=True)
    system = taut.System([x], mass=[1], potential=k * x**2 / 2, parameters={"k": 1})
    run = taut.simulate(
        system, q0=[1], v0=0, duration=30, step=3, parameters={"k": 25}, method="precise-element"
    )
    np.testing.assert_allclose(run.q[:, 0], np.cos(5 * run.t), atol=1e-13)


def test_a_hamiltonian_makes_the_same_steps(bound):
    p = sp.Matrix(taut.momenta(Q))
    inverse = sp.Matrix(MASS).applyfunc(sp.nsimplify).inv()
    energy = (p.T * inverse * p)[0] / 2 + STIFF + SOFT
    system = taut.System(Q, hamiltonian=energy, constraints=SPHERE)
    one, two = (
        taut.simulate(s, **START, duration=1, step=0.05, method=PreciseElement(K))
        for s in (bound, system)
    )
    assert off(one, two) < 1e-13


@pytest.mark.parametrize("system", ["bound", "driven"])
def test_both_back_ends_make_the_same_steps(system, request, monkeypatch):
    import taut.kernel.compile as room

    model = request.getfixturevalue(system)
    settings = START | {
        "duration": 1.02,
        "step": 0.05,
        "project": True,
        "method": PreciseElement(K),
    }
    fused = taut.simulate(model, **settings)
    monkeypatch.setattr(room, "FUSED_LIMIT", -1)
    assembled = taut.simulate(model, **settings)
    assert off(fused, assembled) < 1e-13
    if model.conservative:
        assert max(fused.certificate.symplecticity, assembled.certificate.symplecticity) < 1e-14


def test_a_batch_and_a_continued_run_make_the_same_steps(bound):
    settings = {"v0": 0, "step": 0.05, "method": PreciseElement(K)}
    starts = np.array([[0.6, 0, 0.8], [0, 0.6, 0.8], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    batch = taut.simulate(bound, q0=starts, duration=1.02, **settings)
    for i, q0 in enumerate(starts):
        alone = taut.simulate(bound, q0=q0, duration=1.02, **settings)
        assert np.array_equal(batch[i].q, alone.q)
    whole = taut.simulate(bound, q0=starts[0], duration=1, **settings)
    part = taut.simulate(bound, q0=starts[0], duration=0.5, **settings).continue_(0.5)
    assert np.array_equal(part.q, whole.q)


# ---- what it takes the linear part about ---------------------------------------------------------


def test_uniform_gravity_is_a_part_of_what_is_exact():
    """A spring that hangs, and a thrown stone: no equilibrium at the origin."""
    system = taut.System([x, y], mass=[2, 3], potential=450 * x**2 + 20 * x - 30 * y)
    run = taut.simulate(
        system, q0=[0, 0], v0=[0, -1], duration=20, step=0.8, method="precise-element"
    )
    omega, sag = np.sqrt(450.0), 20 / 900
    np.testing.assert_allclose(run.q[:, 0], sag * (np.cos(omega * run.t) - 1), atol=1e-13)
    np.testing.assert_allclose(run.q[:, 1], -run.t + 5 * run.t**2, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("form", ["lagrangian", "hamiltonian"])
def test_gyroscopic_terms_are_a_part_of_what_is_exact(form):
    """A charge in a uniform magnetic and an electric field, with momenta that are not m v."""
    field, electric = 3.0, 0.7
    if form == "lagrangian":
        energy = (u**2 + v**2) / 2 + field * (x * v - y * u) / 2 + electric * x + u / 3
        system = taut.System([x, y], lagrangian=energy)
    else:
        px, py = taut.momenta([x, y])
        away = px + field * y / 2 - sp.Rational(1, 3), py - field * x / 2
        energy = (away[0] ** 2 + away[1] ** 2) / 2 - electric * x
        system = taut.System([x, y], hamiltonian=energy)
    run = taut.simulate(
        system, q0=[0, 0], v0=[1, 0], duration=30, step=1.7, method="precise-element"
    )
    drift = -electric / field  # v̇ = B v × e + E: a circle, and E/B across
    wave = (1 + 1j * (0 - drift)) * np.exp(-1j * field * run.t)
    np.testing.assert_allclose(run.v[:, 0] + 1j * run.v[:, 1], wave + 1j * drift, atol=1e-12)
    assert run.certificate.symplecticity < 1e-13


@pytest.mark.parametrize("name", ["zg-pendulum", "zg-spherical", "zg-double", "zg-spatial"])
def test_serves_the_examples_of_zg(name):
    """Constant gravity is all of the linear part: the steps are those of RATTLE."""
    given = problems.problem(name)
    one = given.simulate(duration=2, method="precise-element")
    two = given.simulate(duration=2, method="rattle")
    assert off(one, two) < 1e-10


@pytest.mark.parametrize("form", ["lagrangian", "hamiltonian"])
def test_a_mass_that_depends_on_q_is_frozen(form):
    """Order 2, symmetric and symplectic with constraints, gyroscopic terms and a stiff spring."""
    inertia = 2 + sp.cos(x)
    stiff = 200 * (y - x) ** 2 + sp.sin(z)
    if form == "lagrangian":
        energy = inertia * u**2 / 2 + v**2 / 2 + w**2 + u * sp.sin(y) + x * v / 2 - stiff
        system = taut.System(Q, lagrangian=energy, constraints=[z - x * y])
    else:
        p = taut.momenta(Q)
        energy = (p[0] - sp.sin(y)) ** 2 / (2 * inertia) + (p[1] - x / 2) ** 2 / 2 + p[2] ** 2 / 4
        system = taut.System(Q, hamiltonian=energy + stiff, constraints=[z - x * y])
    q0 = [1, 1.02, 1.02]
    start = {"q0": q0, "v0": [0.2, 0.1, 0.304], "duration": 1.0}
    fine = taut.simulate(system, **start, step=1e-3, method="gauss-lobatto-6")
    errors = []
    for step in (0.02, 0.01, 0.005):
        run = taut.simulate(system, **start, step=step, method=PreciseElement(about="start"))
        errors.append(max(abs(run.q[-1] - fine.q[-1]).max(), abs(run.p[-1] - fine.p[-1]).max()))
        assert run.method == PreciseElement(about=q0)
        assert run.certificate.max_g < 1e-14
        assert run.certificate.symplecticity < 1e-12
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 2, atol=0.15)
    shop = workshop(system)
    step = shop.step(run.method, keep=(0,))
    q, p, rate, none = run.q[3], run.p[3], run.v[3], np.zeros(0)
    q1, v1, p1, _ = one_step(step, q, rate, p, 0.0, 0.05, none)
    q2, _, p2, _ = one_step(step, q1, v1, p1, 0.0, -0.05, none)
    assert max(abs(q2 - q).max(), abs(p2 - p).max()) < 1e-13


def test_where_the_origin_has_no_linear_part_it_is_taken_at_the_start():
    """A spring with a length; a batch has many starts, and has to be told."""
    spring = 50 * (sp.sqrt(x**2 + y**2) - 1) ** 2 + 10 * y
    system = taut.System([x, y], mass=1, potential=spring)
    settings = {"v0": 0, "duration": 1, "step": 0.02}
    run = taut.simulate(system, q0=[0.8, 0.6], method="precise-element", **settings)
    assert run.method == PreciseElement(about=[0.8, 0.6])
    known = taut.simulate(system, q0=[0.8, 0.6], method=run.method, **settings)
    assert np.array_equal(run.q, known.q)
    half = taut.simulate(
        system, q0=[0.8, 0.6], method="precise-element", **settings | {"duration": 0.5}
    )
    assert np.array_equal(half.continue_(0.5).q, run.q)
    with pytest.raises(taut.InputError, match="a batch has many starts") as caught:
        taut.simulate(system, q0=[[0.8, 0.6], [1, 0]], method="precise-element", **settings)
    assert "about=" in caught.value.remedy
    with pytest.raises(taut.InputError, match="no linear part to take"):
        taut.simulate(system, q0=[1, 0], method=PreciseElement(about=[0, 0]), **settings)


ORBIT = -1 / sp.sqrt(x**2 + y**2 + sp.Rational(25, 10000))
HUNG = 50 * (sp.sqrt((x - 1) ** 2 + y**2) - 1) ** 2 + 10 * y


@pytest.mark.parametrize(
    ("potential", "q0", "v0", "worse"),
    [(ORBIT, [1, 0], [0, 1], 8), (ORBIT, [1, 0], [0, 0.7], 1), (HUNG, [1, -1.3], [0.5, 0], 4)],
)
@pytest.mark.parametrize("length", [1, 1e3])
def test_far_from_the_origin_it_is_taken_at_the_start(potential, q0, v0, worse, length):
    """A smooth origin of another stiffness says nothing of an orbit, whatever the units."""
    small = {s: s / length for s in (x, y)}
    energy = length**2 * potential.xreplace(small)
    system = taut.System([x, y], mass=1, potential=energy)
    settings = {"q0": length * np.array(q0), "v0": length * np.array(v0), "duration": 3}
    fine = taut.simulate(system, step=1e-3, method="gauss-lobatto-6", **settings, laws=None)
    errors = []
    for method in ("rattle", "precise-element"):
        runs = [
            taut.simulate(system, step=h, method=method, **settings, laws=None)
            for h in (0.01, 0.005, 0.0025)
        ]
        errors.append([abs(run.q[-1] - fine.q[-1]).max() / length for run in runs])
    assert runs[0].method == PreciseElement(about=length * np.array(q0, dtype=float))
    np.testing.assert_allclose(np.log2(np.array(errors[1][:-1]) / errors[1][1:]), 2, atol=0.1)
    assert errors[1][0] < worse * errors[0][0]


def test_near_the_origin_it_stays_there():
    """Also of batches, and with gyroscopic terms, whose stiffness is none of the potential."""
    spring = taut.System([x, y], mass=[1, 4], potential=50 * x**2 + y**2 + x**4 + y**3 / 3)
    settings = {"v0": 0, "duration": 0.1, "step": 0.05, "method": "precise-element"}
    for q0 in ([0.1, 0.1], [[0.1, 0.1], [-0.2, 0.3]], [0, 0]):
        assert taut.simulate(spring, q0=q0, **settings).method == PreciseElement()
    with pytest.raises(taut.InputError, match="a batch has many starts"):
        taut.simulate(spring, q0=[[0.1, 0.1], [7, 0.3]], **settings)
    assert taut.simulate(spring, q0=[7, 0.3], **settings).method == PreciseElement(about=[7, 0.3])
    given = PreciseElement(50 * x**2 + y**2)
    run = taut.simulate(spring, q0=[7, 0.3], **settings | {"method": given})
    assert run.method == given
    turning = (u**2 + v**2) / 2 + 3 * (x * v - y * u) / 2 - x**2 / 10
    px, py = taut.momenta([x, y])
    same = ((px + 3 * y / 2) ** 2 + (py - 3 * x / 2) ** 2) / 2 + x**2 / 10
    for system in (
        taut.System([x, y], lagrangian=turning), taut.System([x, y], hamiltonian=same),
    ):  # fmt: skip
        assert taut.simulate(system, q0=[1, 2], **settings).method == PreciseElement()


# ---- order and structure -----------------------------------------------------------------------


@pytest.mark.parametrize("system", ["bound", "driven"])
def test_order_two_with_constraints_and_forces(system, request):
    model = request.getfixturevalue(system)
    settings = START | {"duration": 1, "project": True}
    fine = taut.simulate(model, step=0.005, method="gauss-lobatto-6", **settings)
    steps = (0.02, 0.01, 0.005)
    errors = []
    for step in steps:
        run = taut.simulate(model, step=step, method=PreciseElement(K), **settings)
        errors.append([abs(run.q[-1] - fine.q[-1]).max(), abs(run.p[-1] - fine.p[-1]).max()])
        assert run.certificate.max_g < 1e-15
    slopes = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    np.testing.assert_allclose(slopes, 2, atol=0.05)


def test_a_chain_of_springs_with_rods():
    """Four masses in the plane: stiff springs along the chain, and a rod across each pair of it."""
    q = taut.coordinates("x0 y0 x1 y1 x2 y2 x3 y3")
    points = list(zip(q[::2], q[1::2], strict=True))
    spring = 500 * sum(
        (a - c) ** 2 + (b - d) ** 2 for (a, b), (c, d) in zip(points[1:], points, strict=False)
    )
    soft = sum(c**4 for c in q)
    rods = [
        (points[i][0] - points[i + 2][0]) ** 2 + (points[i][1] - points[i + 2][1]) ** 2 - 1
        for i in (0, 1)
    ]
    system = taut.System(q, mass=1, potential=spring + soft, constraints=rods)
    start = {"q0": [0, 0, 0.2, 0, 1, 0, 1.2, 0], "v0": [0, 1, 0, 0, 0, -1, 0, 0]}
    run = taut.simulate(system, **start, duration=200, step=0.02, method="precise-element")
    facts = run.certificate
    assert facts.max_g < 5e-15
    assert facts.max_hidden < 1e-12
    assert facts.symplecticity < 1e-13
    back = taut.simulate(
        system, q0=run.q[50], p0=-run.p[50], duration=1, step=0.02, method="precise-element"
    )
    np.testing.assert_allclose(back.q[-1], run.q[0], atol=1e-11)


# ---- stiff springs -----------------------------------------------------------------------------


def fpu(angle: float, method, duration=100):
    """Largest changes of the energy (relative) and of the oscillatory energy at h ω = angle."""
    p = problems.problem("fpu")
    run = p.simulate(step=angle / 50, duration=duration, method=method)
    stiff = (run.v[:, 3:] ** 2).sum(1) / 2 + 1250 * (run.q[:, 3:] ** 2).sum(1)
    return abs(run.energy / run.energy[0] - 1).max(), abs(stiff - 1).max()


@pytest.mark.parametrize("angle", [1.5, 2.5, 4.0, 5.0])
def test_the_step_is_not_bound_by_the_fast_frequency(angle):
    """Störmer–Verlet leaves at h ω = 2."""
    energy, stiff = fpu(angle, "precise-element")
    assert energy < 0.3
    assert stiff < 0.3
    if angle > 2:
        with pytest.raises(taut.StepError):
            fpu(angle, "rattle")


def test_resonance_where_the_kicks_fall_in_step():
    """At odd multiples of π it is sharp, at even ones broad."""
    here, before, after = (fpu(a * np.pi, "precise-element") for a in (1, 0.9, 1.1))
    assert min(here) > 50 * max(before + after)
    assert min(fpu(1.9 * np.pi, "precise-element", 50)) > 50 * max(before + after)


def test_no_drift_between_resonances():
    p = problems.problem("fpu")
    run = p.simulate(step=2.5 / 50, duration=5e4, every=1000, method="precise-element")
    facts = run.certificate.energy
    assert abs(facts.slope) <= facts.half_width
    assert abs(facts.relative) < 1e-2


# ---- what it refuses ---------------------------------------------------------------------------


def refused(system, match, method=None, **start):
    start = start or {"q0": np.zeros(system.n), "v0": 0}
    method = PreciseElement() if method is None else method
    with pytest.raises(taut.InputError, match=match) as caught:
        taut.simulate(system, **start, duration=1, step=0.1, method=method)
    return caught.value


def test_flows_are_refused():
    flow = taut.Flow([x, y], [y, -x])
    with pytest.raises(taut.InputError, match="for mechanics"):
        taut.simulate(flow, q0=[1, 0], duration=1, step=0.1, method=PreciseElement())


def test_linear_parts_that_are_none():
    system = taut.System([x, y], mass=1, potential=x**2 + y**2)
    for method, match in (
        (PreciseElement(x**3), "not quadratic"),
        (PreciseElement([[1, 0], [1, 1]]), "no stiffness matrix"),
        (PreciseElement([[1]]), "no stiffness matrix"),
        (PreciseElement(about=[1]), "about does not fit"),
    ):
        refused(system, match, method)


@pytest.mark.parametrize("given", ["stiff", [1, 2], [[np.nan]], 3, [[1, 2], [3]]])
def test_what_is_no_matrix(given):
    with pytest.raises(taut.InputError, match="linear cannot be used"):
        PreciseElement(given)


@pytest.mark.parametrize("given", ["here", [[1, 2]], [np.inf], 3])
def test_what_is_no_point(given):
    with pytest.raises(taut.InputError, match="about cannot be used"):
        PreciseElement(about=given)


def test_full_matrices_have_their_limit(monkeypatch):
    import taut.kernel.compile as room
    import taut.kernel.plan as planning

    monkeypatch.setattr(room, "FUSED_LIMIT", -1)
    monkeypatch.setattr(planning, "FULL_LIMIT", 2)
    system = taut.System(Q, mass=1, potential=2 * x**2 + y**2 + z**2 + x**4)
    error = refused(system, "not available for systems of this size")
    assert error.expected.startswith("at most 2 coordinates")


def test_methods_are_values():
    one, two = PreciseElement(K), PreciseElement(np.array(K))
    assert one == two
    assert hash(one) == hash(two)
    assert one.key == two.key != PreciseElement().key
    assert PreciseElement().label == "precise-element"
    assert PreciseElement(K, [0, 0, 0]).label == "precise-element (own linear part, about a state)"


@pytest.mark.parametrize("linear", ["3*x", "x_dot**2", "7 + x"])
def test_a_linear_part_that_is_not_quadratic(linear):
    (x,) = taut.coordinates("x,")
    spring = taut.System([x], mass=[1], potential=200 * x**2)
    with pytest.raises(taut.InputError, match="not quadratic"):
        taut.simulate(
            spring,
            q0=[1],
            v0=0,
            duration=1,
            step=0.05,
            method=taut.PreciseElement(linear=spring.read(linear)),
        )
