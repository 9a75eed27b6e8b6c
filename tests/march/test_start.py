"""Starts: what is consistent, what is nearest, what is redundant, contradictory or singular."""

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import minimize

import taut
from taut.kernel.compile import workshop
from taut.kernel.evaluate import Snapshot
from taut.march.start import smallest_sizes

x, y, z = taut.coordinates("x y z")
a, b = taut.coordinates("a b")
SHORT = {"duration": 0.01, "step": 0.001}


@pytest.fixture
def pendulum():
    return taut.System([x, y], mass=[1, 1], potential=10 * y, constraints={"rod": x**2 + y**2 - 1})


@pytest.fixture
def tracks():
    """Two points with masses 1 and 5 on a rod and a surface."""
    q = taut.coordinates("x1 y1 x2 y2")
    x1, y1, x2, y2 = q
    return taut.System(
        q,
        mass=[1, 1, 5, 5],
        potential=y1 + 5 * y2,
        constraints=[(x2 - x1) ** 2 + (y2 - y1) ** 2 - 4, y1 - sp.cos(x1)],
    )


def refused(system, error=taut.InconsistentStart, **start):
    with pytest.raises(error) as caught:
        taut.simulate(system, **({"v0": 0} | SHORT | start))
    return caught.value


# ---- consistent or not -----------------------------------------------------------------------


def test_an_inconsistent_start_carries_residuals_and_the_nearest_state(pendulum):
    error = refused(pendulum, q0=[1.2, 0], v0=[1, 1])
    np.testing.assert_allclose(error.g, [0.44], rtol=1e-12)
    np.testing.assert_allclose(error.hidden, [2.4], rtol=1e-12)
    np.testing.assert_allclose(error.q, [1, 0], atol=1e-15)
    np.testing.assert_allclose(error.v, [0, 1], atol=1e-15)
    text = str(error)
    assert "rod: g = 0.44, G v + ∂g/∂t = 2.4" in text
    assert "project=True" in text
    assert "1e-10" in text


def test_what_is_broken_most_is_said_first():
    """Of a mechanism by joint, and nothing of what fits."""
    m = taut.Mechanism()
    bar = {"mass": 1.0, "inertia": (0.084, 0.084, 0.002)}
    for k in range(7):
        m.body(f"bar {k}", **bar, at=(0, 0, -0.5 - k))
    for k in range(6):
        m.spherical(f"ball {k}", f"bar {k}", f"bar {k + 1}", at=(0, 0, -1.0 - k))
    q, _ = m.start()
    q[m["bar 3"].first] += 0.01
    q[m["bar 6"].first] += 0.2
    q[m["bar 6"].first + 4] += 0.001  # a director
    error = refused(m, q0=q)
    named = [entry.partition(":")[0] for entry in error.received.split("; ")]
    assert named == [
        *(f"spherical joint ball {k}" for k in (5, 2, 3)), "bar 6 rigid 4", "and 1 more"
    ]  # fmt: skip
    assert "ball 5: g = -0.2" in error.received
    q[m["bar 0"].first] += 1e-6
    q[m["bar 1"].first] += 1e-5
    more = refused(m, q0=q).received
    assert more.endswith("; and 3 more")
    assert more.startswith("spherical joint ball 5: ")


def test_projected_starts_run_from_the_nearest_state(pendulum):
    error = refused(pendulum, q0=[1.2, 0.3], v0=[1, 1])
    run = taut.simulate(pendulum, q0=[1.2, 0.3], v0=[1, 1], project=True, **SHORT)
    assert np.array_equal(run.q[0], error.q)
    assert np.array_equal(run.v[0], error.v)
    assert run.projected
    assert run.certificate.to_dict()["start_projected"]
    assert abs(run.constraints).max() < 1e-15


def test_a_consistent_start_is_taken_as_it_is(pendulum):
    run = taut.simulate(pendulum, q0=[0.6, 0.8], v0=[0.8, -0.6], project=True, **SHORT)
    assert run.q[0].tolist() == [0.6, 0.8]
    assert run.v[0].tolist() == [0.8, -0.6]
    assert not run.projected


def minimised(q0, mass, constraints):
    """min (q − q₀)ᵀM(q − q₀) subject to g = 0, by another method."""
    found = minimize(
        lambda q: (q - q0) @ mass @ (q - q0),
        q0,
        jac=lambda q: 2 * mass @ (q - q0),
        constraints={"type": "eq", "fun": constraints},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    assert found.success
    return found.x


@pytest.mark.parametrize("seed", range(6))
def test_the_nearest_state_is_the_orthogonal_projection_in_the_mass_metric(tracks, seed):
    rng = np.random.default_rng(seed)
    q0 = np.array([0.3, 1.0, 2.0, 0.5]) + rng.uniform(-0.5, 0.5, 4)
    v0 = rng.uniform(-1, 1, 4)
    error = refused(tracks, q0=q0, v0=v0)
    mass = np.diag([1.0, 1, 5, 5])

    def g(q):
        return [(q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2 - 4, q[1] - np.cos(q[0])]

    best = minimised(q0, mass, g)
    np.testing.assert_allclose(g(error.q), 0, atol=1e-14)
    away, away_best = ((q - q0) @ mass @ (q - q0) for q in (error.q, best))
    assert away <= away_best * (1 + 1e-6)
    np.testing.assert_allclose(error.q, best, atol=1e-5)
    # Exactly: M (q − q₀) and M (v − v₀) lie in the range of Gᵀ.
    q = error.q
    G = np.array(
        [
            [2 * (q[0] - q[2]), 2 * (q[1] - q[3]), 2 * (q[2] - q[0]), 2 * (q[3] - q[1])],
            [np.sin(q[0]), 1, 0, 0],
        ]
    )
    for push in (mass @ (q - q0), mass @ (error.v - v0)):
        assert abs(push - G.T @ np.linalg.lstsq(G.T, push)[0]).max() < 1e-10
    np.testing.assert_allclose(G @ error.v, 0, atol=1e-14)


@pytest.mark.parametrize("q0", [(3, 4), (30, 40), (100, 1), (0.1, 0.05), (0.01, 0.3), (-0.2, 9)])
def test_the_nearest_state_of_a_far_start(q0):
    circle = taut.System([x, y], mass=[1, 5], constraints=[x**2 + y**2 - 1])
    error = refused(circle, q0=q0)
    angle = np.linspace(0, 2 * np.pi, 200_001)
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    best = points[np.argmin((points - q0) ** 2 @ [1, 5])]
    np.testing.assert_allclose(error.q, best, atol=1e-4)
    pull = (error.q - q0) * [1, 5]
    assert abs(pull[0] * error.q[1] - pull[1] * error.q[0]) < 1e-11 * np.abs(pull).max()


def test_the_nearest_state_with_a_mass_that_depends_on_q():
    s = taut.System([x, y], mass=[[2 + x**2, x], [x, 3]], constraints=[x**2 + y**2 - 1])
    error = refused(s, q0=[1.2, 0.4], v0=[0.3, 0.1])
    at_start = np.array([[2 + 1.44, 1.2], [1.2, 3]])
    pull = at_start @ (error.q - [1.2, 0.4])
    assert abs(pull[0] * error.q[1] - pull[1] * error.q[0]) < 1e-12
    there = np.array([[2 + error.q[0] ** 2, error.q[0]], [error.q[0], 3]])
    pull = there @ (error.v - [0.3, 0.1])
    assert abs(pull[0] * error.q[1] - pull[1] * error.q[0]) < 1e-12


def test_moving_constraints_are_met_in_velocity():
    s = taut.System([x, y], mass=[1, 1], constraints=[x - sp.sin(3 * taut.t)])
    error = refused(s, q0=[0, 0], v0=[1, 2])
    np.testing.assert_allclose(error.hidden, [-2], rtol=1e-14)
    np.testing.assert_allclose(error.v, [3, 2], rtol=1e-14)
    run = taut.simulate(s, q0=[0, 0], v0=[3, 2], **SHORT)
    assert not run.projected
    run = taut.simulate(s, q0=[1, 0], v0=[0, 0], t0=np.pi / 6, **SHORT)
    np.testing.assert_allclose(run.q[:, 0], np.sin(3 * run.t), atol=1e-14)


# ---- tolerance -------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1e-6, 1.0, 1e3])
@pytest.mark.parametrize(
    ("off", "fits"), [(2e-11, True), (8e-11, True), (3e-10, False), (1e-8, False)]
)
def test_the_tolerance_is_1e_10_of_the_scale(length, off, fits):
    s = taut.System(
        [x, y], mass=[1, 1], potential=10 * length * y, constraints=[x**2 + y**2 - length**2]
    )
    start = {"q0": [0.6 * length * (1 + off), 0.8 * length * (1 + off)], "v0": 0}
    if not fits:
        refused(s, **start)
        return
    run = taut.simulate(s, **start, **SHORT)
    assert not run.projected
    assert not run.certificate.to_dict()["start_projected"]
    assert abs(run.constraints[0, 0]) < 4e-16 * length**2  # repaired without a word
    np.testing.assert_allclose(run.q[0] / length, [0.6, 0.8], rtol=1e-14)


@pytest.mark.parametrize("speed", [1e-6, 1.0, 1e3])
@pytest.mark.parametrize(("off", "fits"), [(5e-11, True), (5e-10, False)])
def test_the_tolerance_for_velocities(pendulum, speed, off, fits):
    start = {"q0": [1, 0], "v0": [off * speed, speed]}
    if not fits:
        refused(pendulum, **start, duration=1e-4, step=1e-5)
        return
    run = taut.simulate(pendulum, **start, duration=1e-4, step=1e-5)
    assert not run.projected
    assert run.hidden[0, 0] == 0


def test_a_small_part_of_a_system_is_not_judged_by_the_large_one():
    q = [x, y, a, b]
    s = taut.System(
        q,
        mass=[1, 1, 1, 1],
        potential=1e4 * y + 1e-5 * b,
        constraints=[x**2 + y**2 - 1e6, a**2 + b**2 - 1e-12],
    )
    refused(s, q0=[1e3, 0, 1e-6 * (1 + 1e-4), 0])
    taut.simulate(s, q0=[1e3, 0, 1e-6, 0], v0=0, **SHORT)


def test_round_off_in_a_coordinate_that_should_be_zero_is_repaired():
    s = taut.System([x, y], mass=[1, 1], constraints=[x])
    run = taut.simulate(s, q0=[5 * np.cos(np.pi / 2), 5], v0=0, **SHORT)
    assert run.q[0].tolist() == [0, 5]
    assert not run.projected


@pytest.mark.parametrize("angle", [1e-3, 1e-6, 1e-9])
def test_small_coordinates_of_a_large_system_are_no_contradiction(angle):
    """The circle of radius 1 through the origin is known to round-off of 1, not of q."""
    s = taut.System([x, y], mass=[1, 1], potential=10 * y, constraints=[x**2 + (y - 1) ** 2 - 1])
    run = taut.simulate(s, q0=[np.sin(angle), 2 * np.sin(angle / 2) ** 2], v0=0, **SHORT)
    assert abs(run.constraints).max() <= 4.5e-16


# ---- rank ------------------------------------------------------------------------------------


@pytest.fixture
def parallel():
    """A beam on three parallel rods: the third is redundant while the beam stays level."""
    q = taut.coordinates("x1 y1 x2 y2 x3 y3")
    x1, y1, x2, y2, x3, y3 = q
    return q, {
        "rod 1": x1**2 + y1**2 - 1,
        "beam 12": x2 - x1 - 1,
        "level 12": y2 - y1,
        "beam 13": x3 - x1 - 2,
        "level 13": y3 - y1,
        "rod 2": (x2 - 1) ** 2 + y2**2 - 1,
        "beam 23": x3 - x2 - 1,
    }


def test_redundant_constraints_are_named_and_share_the_load(parallel):
    q, constraints = parallel
    masses, potential = [1, 1, 2, 2, 3, 3], 10 * (q[1] + 2 * q[3] + 3 * q[5])
    kept = {name: g for name, g in constraints.items() if name not in ("rod 2", "beam 23")}
    full = taut.System(q, mass=masses, potential=potential, constraints=constraints)
    lean = taut.System(q, mass=masses, potential=potential, constraints=kept)
    start = {"q0": [1, 0, 2, 0, 3, 0], "v0": 0, "duration": 2, "step": 0.01}
    run, other = taut.simulate(full, **start), taut.simulate(lean, **start)
    assert run.certificate.redundant == ("rod 2", "beam 23")
    assert run.certificate.to_dict()["redundant_constraints"] == ["rod 2", "beam 23"]
    assert "rod 2, beam 23" in str(run.certificate)
    assert other.certificate.redundant == ()
    np.testing.assert_allclose(run.q, other.q, atol=1e-13)
    np.testing.assert_allclose(run.reactions, other.reactions, atol=1e-10)
    assert abs(run.constraints).max() < 5e-15
    # least norm: λ is in the range of G
    for k in (0, 50, 200):
        x1, y1, x2, y2, _, _ = run.q[k]
        G = np.zeros((7, 6))
        G[0, :2] = 2 * x1, 2 * y1
        G[1, [0, 2]] = G[3, [0, 4]] = G[6, [2, 4]] = -1, 1
        G[2, [1, 3]] = G[4, [1, 5]] = -1, 1
        G[5, 2:4] = 2 * (x2 - 1), 2 * y2
        least = np.linalg.pinv(G.T) @ -run.reactions[k]
        np.testing.assert_allclose(run.multipliers[k], least, atol=1e-10)


def test_the_same_constraint_twice(pendulum):
    twice = taut.System(
        [x, y], mass=[1, 1], potential=10 * y,
        constraints={"rod": x**2 + y**2 - 1, "again": 3 * x**2 + 3 * y**2 - 3},
    )  # fmt: skip
    start = {"q0": [1, 0], "v0": 0, "duration": 1, "step": 0.01}
    run, one = (taut.simulate(s, **start) for s in (twice, pendulum))
    assert run.certificate.redundant == ("again",)
    assert np.array_equal(run.q, one.q)
    lam = one.multipliers[:, 0] / (1 + 9)  # λ₁ + 3 λ₂ = λ with least λ₁² + λ₂²
    np.testing.assert_allclose(run.multipliers, np.stack([lam, 3 * lam], axis=1), atol=1e-12)
    np.testing.assert_allclose(run.reactions, one.reactions, atol=1e-12)


CONTRADICTIONS = {
    "two radii": ({"one": x**2 + y**2 - 1, "two": x**2 + y**2 - 2}, [1, 0], 0, "one, two"),
    "three lines": ({"u": x, "v": y, "w": x + y - 1}, [0, 0], 0, "u, v, w"),
    "two speeds": ({"u": x - taut.t, "v": x - 2 * taut.t}, [0, 0], [1, 0], "u, v"),
    "two accelerations": ({"u": x - taut.t**2, "v": x - 2 * taut.t**2}, [0, 0], 0, "v"),
    "out of reach": ({"u": x**2 + y**2 + 1}, [1, 1], 0, "u"),
    "no gradient": ({"rod": x**2 + y**2 - 1}, [0, 0], 0, "rod"),
}


@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize(
    ("constraints", "q0", "v0", "names"), CONTRADICTIONS.values(), ids=CONTRADICTIONS
)
def test_contradictory_constraints_are_named(constraints, q0, v0, names, project):
    s = taut.System([x, y], mass=[1, 1], constraints=constraints)
    error = refused(s, taut.ConstraintError, q0=q0, v0=v0, project=project)
    if len(constraints) > 1:
        assert error.what.endswith(f"contradict each other near the start: {names}")
    else:
        assert error.what == f"constraint {names} cannot be met near the start"
        assert "gradient may vanish" in error.remedy


SINGULAR = {
    "a crossing": ({"cross": x * y}, [0, 0], "cross"),
    "two circles that touch": ({"p": x**2 + y**2 - 1, "q": (x - 2) ** 2 + y**2 - 1}, [1, 0], "q"),
}


@pytest.mark.parametrize(("constraints", "q0", "name"), SINGULAR.values(), ids=SINGULAR)
def test_singular_configurations_are_refused(constraints, q0, name):
    s = taut.System([x, y], mass=[1, 1], constraints=constraints)
    error = refused(s, taut.ConstraintError, q0=q0)
    assert "singular configuration" in error.what
    assert error.received.endswith(f": {name}")


def test_constraints_of_very_different_size_are_not_singular():
    s = taut.System(
        [x, y, a, b],
        mass=[1, 1, 1, 1],
        potential=1e6 * y + 1e-6 * b,
        constraints=[x**2 + y**2 - 1e10, a**2 + b**2 - 1e-14],
    )
    run = taut.simulate(s, q0=[1e5, 0, 1e-7, 0], v0=0, **SHORT)
    assert run.certificate.redundant == ()


# ---- mass ------------------------------------------------------------------------------------


def test_masses_may_differ_by_any_factor():
    s = taut.System(
        [x, y, a, b],
        mass=[2e30, 2e30, 1e3, 1e3],
        potential=2e31 * y + 1e4 * b,
        constraints=[x**2 + y**2 - 1, a**2 + b**2 - 1],
    )
    error = refused(s, q0=[1.1, 0, 0, 1.1], v0=[1, 1, 1, 1])
    np.testing.assert_allclose(error.q, [1, 0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(error.v, [0, 1, 1, 0], atol=1e-15)
    run = taut.simulate(s, q0=[1, 0, 1, 0], v0=0, duration=1, step=0.01)
    np.testing.assert_allclose(run.q[:, :2], run.q[:, 2:], atol=1e-13)


@pytest.mark.parametrize("given", [{"v0": 0}, {"v0": None, "p0": [0, 1]}], ids=["v0", "p0"])
def test_a_mass_that_is_singular_at_the_start(given):
    by_value = taut.System([x, y], mass=["m", 1], parameters={"m": 0})
    error = refused(by_value, taut.InputError, q0=[1, 1], **given)
    assert "mass matrix is singular at the start" in error.what
    by_place = taut.System([x, y], mass=[x**2, 1])
    error = refused(by_place, taut.InputError, q0=[0, 1], **given)
    assert "mass matrix is singular at the start" in error.what
    taut.simulate(by_value, q0=[1, 1], **({"v0": 0} | given), parameters={"m": 1}, **SHORT)


def test_a_singular_hamiltonian_at_the_start():
    p = taut.momenta([x])[0]
    error = refused(taut.System([x], hamiltonian=p**2 * x**2), taut.InputError, q0=[0], v0=[0])
    assert "∂²H/∂p∂p regular" in error.expected


def test_a_velocity_without_a_momentum():
    p = taut.momenta([x])[0]
    light = taut.System([x], hamiltonian=sp.sqrt(1 + p**2))
    error = refused(light, taut.InputError, q0=[0], v0=[1.5])
    assert error.what == "the start has no momentum"
    error = refused(light, taut.InputError, q0=[[0], [0]], v0=[[0.5], [1.5]])
    assert error.what == "the start[1] has no momentum"
    run = taut.simulate(light, q0=[0], v0=[0.6], **SHORT)
    np.testing.assert_allclose(run.p[0], [0.75], rtol=1e-14)


def test_velocities_and_momenta_give_the_same_start():
    s = taut.System([x, y], mass=[[2, 1], [1, 3]], potential=x**2, constraints=[x - y])
    one = taut.simulate(s, q0=[1, 1], v0=[0.5, 0.5], duration=1, step=0.01)
    two = taut.simulate(s, q0=[1, 1], p0=[1.5, 2.0], duration=1, step=0.01)
    np.testing.assert_allclose(one.p[0], [1.5, 2.0], rtol=1e-15)
    np.testing.assert_allclose(one.q, two.q, atol=1e-14)


# ---- values ----------------------------------------------------------------------------------

BAD_INPUT = {
    "neither": (dict(v0=None), "needs velocities or momenta"),
    "both": (dict(p0=0), "needs velocities or momenta"),
    "no q0": (dict(q0=None), "q0 is missing"),
    "q0 a number": (dict(q0=1.0), "q0 has the wrong shape"),
    "q0 too short": (dict(q0=[1]), "q0 has the wrong shape"),
    "q0 too long": (dict(q0=[1, 0, 0]), "q0 has the wrong shape"),
    "q0 empty": (dict(q0=[]), "q0 has the wrong shape"),
    "empty batch": (dict(q0=np.zeros((0, 2))), "q0 has the wrong shape"),
    "three axes": (dict(q0=np.zeros((2, 2, 2))), "q0 has the wrong shape"),
    "ragged": (dict(q0=[[1, 0], [1]]), "q0 is not an array"),
    "letters": (dict(q0=["a", "b"]), "q0 is not an array"),
    "symbols": (dict(q0=[x, y]), "q0 is not an array"),
    "complex": (dict(q0=[1, 1j]), "q0 is not an array"),
    "NaN": (dict(q0=[1, np.nan]), "q0 is not finite"),
    "inf": (dict(q0=[np.inf, 0]), "q0 is not finite"),
    "v0 too short": (dict(v0=[1]), "v0 has the wrong shape"),
    "v0 NaN": (dict(v0=[0, np.nan]), "v0 is not finite"),
    "v0 a NaN": (dict(v0=np.nan), "v0 is not finite"),
    "p0 inf": (dict(v0=None, p0=[0, -np.inf]), "p0 is not finite"),
    "batches that do not fit": (
        dict(q0=[[1, 0], [0, 1], [1, 0]], v0=[[0, 1], [1, 0]]), "batches of different length"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "message"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_starts_are_refused(pendulum, change, message):
    error = refused(pendulum, taut.InputError, **({"q0": [1, 0]} | change))
    assert message in error.what


def test_one_number_is_a_velocity_for_all(pendulum):
    run = taut.simulate(pendulum, q0=[np.sqrt(0.5), -np.sqrt(0.5)], v0=2, **SHORT)
    assert run.v[0].tolist() == [2, 2]
    run = taut.simulate(pendulum, q0=[1, 0], p0=0, **SHORT)
    assert run.p[0].tolist() == [0, 0]


OUTSIDE = {
    "energy": dict(potential=sp.log(x)),
    "force": dict(potential=sp.sqrt(x - 1)),
    "force ": dict(forces=[0, sp.log(x)]),
    "constraint": dict(constraints=[sp.sqrt(x) - y]),
}


@pytest.mark.parametrize("what", OUTSIDE)
def test_a_start_outside_the_domain(what):
    s = taut.System([x, y], mass=[1, 1], **OUTSIDE[what])
    place = [1, 0] if what == "force" else [-1, 0]
    error = refused(s, taut.InputError, q0=place)
    assert error.what == f"the {what.strip()} is not finite at the start"
    error = refused(s, taut.InputError, q0=[[4, 2], [4, 2], place])
    assert error.what == f"the {what.strip()} is not finite at the start[2]"


def test_errors_in_a_batch_name_the_row(pendulum):
    good = [1, 0]
    error = refused(pendulum, q0=[good, good, [1, 1]])
    assert error.what == "the start[2] does not satisfy the constraints"
    np.testing.assert_allclose(error.q, np.sqrt([0.5, 0.5]), rtol=1e-14)
    error = refused(pendulum, q0=[[1, 1], good])
    assert "start[0]" in error.what
    error = refused(pendulum, q0=[good, good], v0=[[0, 1], [1, 0]])
    assert "start[1]" in error.what
    error = refused(pendulum, taut.InputError, q0=[good, [np.nan, 0]])
    assert "[1, 0]" in error.received
    massless = taut.System([x, y], mass=[x**2, 1])
    error = refused(massless, taut.InputError, q0=[[1, 0], [2, 0], [0, 0]])
    assert error.what == "the mass matrix is singular at the start[2]"
    cross = taut.System([x, y], mass=[1, 1], constraints=[x * y])
    error = refused(cross, taut.ConstraintError, q0=[[1, 0], [0, 2], [0, 0]])
    assert "the start[2] is a singular configuration" in error.what
    moody = taut.System([x, y], mass=[1, 1], constraints=[x * (x**2 + y**2 + 1)])
    error = refused(moody, q0=[[0, 1], [1, 0]])
    assert "start[1]" in error.what


def test_a_batch_is_projected_row_by_row(pendulum):
    rows = np.array([[1.0, 0], [1.2, 0.3], [0.6, 0.8], [2, 2]])
    batch = taut.simulate(pendulum, q0=rows, v0=[0.1, 0.2], project=True, **SHORT)
    assert batch.projected
    for i, q0 in enumerate(rows):
        run = taut.simulate(pendulum, q0=q0, v0=[0.1, 0.2], project=True, **SHORT)
        assert np.array_equal(batch.q[i], run.q)
        assert np.array_equal(batch.v[i], run.v)


def test_a_batch_within_the_tolerance_is_not_called_projected(pendulum):
    angle = np.linspace(0, 6, 50)
    rows = np.stack([np.cos(angle), np.sin(angle)], axis=1) * (1 + 1e-12)
    run = taut.simulate(pendulum, q0=rows, v0=0, **SHORT)
    assert not run.projected
    assert abs(run.constraints).max() < 1e-15


def test_a_large_system_is_projected_too():
    n = 40
    p, q = sp.symbols("p q", real=True)
    pairs = np.arange(2 * n).reshape(n, 2)
    c, d = sp.symbols("c d", real=True)
    vp, vq = sp.symbols("vp vq", real=True)
    s = taut.System.from_terms(
        sp.symbols(f"s0:{2 * n}"),
        [
            taut.Term("lagrangian", (p, q), [(vp**2 + vq**2) / 2 - q], pairs, rates=(vp, vq)),
            taut.Term("constraint", (p, q), [p**2 + q**2 - 1], pairs[:1]),
            taut.Term(
                "constraint", (p, q, c, d), [(c - p) ** 2 + (d - q) ** 2 - 1],
                np.hstack([pairs[:-1], pairs[1:]]),
            ),
        ],
    )  # fmt: skip
    q0 = np.stack([np.arange(1, n + 1) * 1.01, np.zeros(n)], axis=1).ravel()
    error = refused(s, q0=q0, v0=0.0)
    np.testing.assert_allclose(error.q[::2], np.arange(1, n + 1), rtol=1e-13)
    run = taut.simulate(s, q0=q0, v0=0, project=True, duration=0.01, step=0.001)
    assert abs(run.constraints).max() < 1e-12


# ---- a batch is judged as its rows -------------------------------------------------------------


def test_a_singular_row_of_a_batch_is_found():
    s = taut.System([x, y, z], mass=[1, 1, 1], constraints=[z - x * y, z])
    with pytest.raises(taut.ConstraintError, match=r"start\[1\] is a singular configuration"):
        taut.simulate(s, q0=[[1, 0, 0], [0, 0, 0]], v0=0, duration=0.1, step=0.01)


@pytest.mark.parametrize("gap", [1e-3, 1e-8, 1e-13, 0.0])
def test_a_row_with_a_small_gradient_is_judged_as_it_is_alone(gap):
    """∂(x y) = (gap, 0) beside a coordinate of size 1, which says how small that is."""
    s = taut.System([x, y, z, a], mass=[1, 1, 1, 1], constraints=[x * y, z])
    settings = {"v0": 0, "duration": 0.1, "step": 0.01}

    def outcome(q0):
        try:
            return taut.simulate(s, q0=q0, **settings).q[..., -1, :].tolist()
        except taut.TautError as error:
            return type(error)

    alone, both = outcome([0, gap, 0, 1]), outcome([[0, 1, 0, 1], [0, gap, 0, 1]])
    assert both == alone if isinstance(alone, type) else both[1] == alone
    assert (alone is taut.ConstraintError) == (gap < 1e-12)


def test_a_row_with_more_independent_constraints_than_the_first():
    """On the left the second constraint repeats the first, on the right it does not."""
    s = taut.System([x, y, z], mass=[1, 1, 1], constraints=[y, y + z * sp.Max(x, 0) ** 2])
    settings = {"v0": 0, "duration": 0.1, "step": 0.01}
    assert taut.simulate(s, q0=[-1, 0, 0], **settings).keep == (0,)
    assert taut.simulate(s, q0=[1, 0, 0], **settings).keep == (0, 1)
    with pytest.raises(taut.ConstraintError, match=r"start\[1\] has other redundant constraints"):
        taut.simulate(s, q0=[[-1, 0, 0], [1, 0, 0]], **settings)


def test_rows_with_other_redundant_constraints_are_refused():
    """The first constraint is empty on the left, and says all on the right."""
    s = taut.System([x, y], mass=[1, 1], constraints=[y * sp.Max(x, 0) ** 2, y])
    settings = {"v0": 0, "duration": 0.1, "step": 0.01}
    assert taut.simulate(s, q0=[1, 0], **settings).keep == (0,)
    assert taut.simulate(s, q0=[-1, 0], **settings).keep == (1,)
    with pytest.raises(taut.ConstraintError, match=r"start\[1\] has other redundant constraints"):
        taut.simulate(s, q0=[[1, 0], [-1, 0]], **settings)


def test_sizes_at_rest_in_the_origin_are_those_of_the_push_to_come():
    s = taut.System([x, y], mass=[1, 2], forces=[1e-9 * sp.sin(taut.t), 0])
    zero = np.zeros((1, 2))
    here = Snapshot(workshop(s).mechanics, zero, zero, zero, 0.0, np.zeros(0))
    (found,) = smallest_sizes(here, 0.01)
    np.testing.assert_allclose(found, 1e-7 * 1e-4 * 1e-9 * np.sin(0.01), rtol=1e-12)


def test_a_push_that_cancels_is_no_size():
    """Masses in free fall turn no rod: what is left of the sum is round-off, and not a length."""
    q = taut.coordinates("r s alpha beta")
    r, s, alpha, beta = q
    u, w = 2 * r * sp.cos(alpha) + s * sp.cos(beta), r * sp.cos(alpha) + s * sp.cos(beta)
    place = sp.Matrix([r * sp.sin(alpha), u - w, r * sp.sin(alpha) + s * sp.sin(beta), w])
    slope = place.jacobian(q)
    system = taut.System(
        q, mass=(slope.T * slope).tolist(), potential=-10 * u, constraints=[r - 1, s - 1]
    )
    run = taut.simulate(system, q0=[1, 1, 0.5, 0], v0=0, duration=1, step=0.01)
    assert run.certificate.most_iterations < 8
    assert abs(run.q[-1, 3]) > 0.1


def test_sizes_are_shared_by_the_coordinates_of_a_constraint():
    s = taut.System([x, y, z], mass=[1, 1, 1], constraints=[x**2 + y**2 - 1])
    q, rest = np.array([[1, 0, 1e6]]), np.zeros((1, 3))
    here = Snapshot(workshop(s).mechanics, q, rest, rest, 0.0, np.zeros(0))
    (found,) = smallest_sizes(here, 0.01)
    np.testing.assert_allclose(found, [1e-7, 1e-7, 0.1], rtol=1e-12)


def test_a_batch_tells_that_a_row_was_projected():
    s = taut.System([x, y], mass=[1, 1], constraints=[x**2 + y**2 - 1])
    settings = {"v0": 0, "duration": 0.1, "step": 0.01, "project": True}
    assert not taut.simulate(s, q0=[[1, 0], [0, 1]], **settings).projected
    assert taut.simulate(s, q0=[[1, 0], [0, 1.1]], **settings).projected
    assert taut.simulate(s, q0=[[1.1, 0], [0, 1]], **settings).projected


@pytest.mark.parametrize("mass", ["of q", "of v"])
def test_a_row_with_a_singular_mass_is_found(mass):
    u, w = taut.velocities([x, y])
    kinetic = (x**2 * u**2 + w**2) / 2 if mass == "of q" else u**4 + w**2 / 2
    s = taut.System([x, y], kinetic=kinetic)
    start = {"of q": ([[1, 0], [0, 1]], 0), "of v": ([[1, 0], [1, 0]], [[1, 0], [0, 1]])}[mass]
    with pytest.raises(taut.InputError, match=r"singular at the start\[1\]"):
        taut.simulate(s, q0=start[0], v0=start[1], duration=0.1, step=0.01)


# ------------------------------------------------------------- what is held at zero


def suspension(path):
    """An arm on a spring, on a point that is moved."""
    m = taut.Mechanism(gravity=(0, 0, -10))
    m.point("road", mass=1, at=(0, 0, 0))
    m.move("road", path)
    m.body("arm", mass=1, inertia=(0.1, 0.1, 0.01), at=(0.5, 0, 0.3))
    m.revolute("hinge", m.ground, "arm", at=(0, 0, 0.3), axis=(0, 1, 0))
    m.spring("road", "arm", stiffness=500, damping=5, length=0.7)
    return m


def test_a_run_from_rest_of_what_is_held_at_zero():
    """No coordinate is measured by what rounding has left of forces in balance."""
    m = suspension((0, 0, 0))
    run = taut.simulate(m, q0=m.equilibrium().q, v0=0, duration=1, step=1e-3, laws=None)
    assert np.abs(run.q - run.q[0]).max() < 1e-14
    rows = {row[0]: row[-1] for row in run.certificate.rows()}
    assert rows["max |g|"] == rows["energy − work"] == "round-off"


def test_a_bump_that_has_not_begun():
    """At the start the road is at 1e−69 and has a speed of 1e−67: that is, none."""
    m = suspension((0, 0, 0.05 * sp.exp(-(((taut.t - 1) / 0.08) ** 2))))
    run = taut.simulate(m, q0=m.equilibrium().q, v0=0, duration=2, step=1e-3, laws=None)
    assert run["road"].position[:, 2].max() == pytest.approx(0.05, rel=1e-3)
    fine = taut.simulate(m, q0=run.q[0], v0=0, duration=2, step=5e-4, laws=None)
    assert np.abs(run.q[-1] - fine.q[-1]).max() < 1e-4


# ---- constraints that have no slope --------------------------------------------------------------


CIRCLE = x**2 + y**2 - 1


class TestNoSlope:
    @pytest.mark.parametrize(
        "g", [CIRCLE**2, CIRCLE**3, sp.Abs(CIRCLE), 1000 * CIRCLE**2, CIRCLE**2 * (2 + x)]
    )
    @pytest.mark.parametrize("off", [0.0, 1e-13, 0.1])
    def test_wherever_it_holds(self, g, off):
        s = taut.System([x, y], mass=1, potential=y, constraints=[g])
        smooth = not g.has(sp.Abs)
        if off and not smooth:
            return  # beside the circle |f| has a slope
        with pytest.raises(taut.ConstraintError, match="wherever g0 holds, it has no slope"):
            taut.simulate(s, q0=[1 + off, 0], v0=[0, 1], duration=1, step=0.1, project=True)

    def test_a_sum_of_squares(self):
        s = taut.System([x, y, z], mass=1, constraints=[x**2 + y**2])
        with pytest.raises(taut.ConstraintError, match="no slope") as caught:
            taut.simulate(s, q0=[0, 0, 1], v0=[0, 0, 1], duration=1, step=0.1)
        assert "of a sum of squares each one by itself" in caught.value.remedy

    @pytest.mark.parametrize("g", [x**2 - y**2, x**2 - y**2 / 10**4, x**3 - y**2, x * y])
    def test_where_branches_meet_it_is_that_place_alone(self, g):
        s = taut.System([x, y], mass=1, constraints=[g])
        with pytest.raises(taut.ConstraintError, match="the start is a singular configuration"):
            taut.simulate(s, q0=[0, 0], v0=[0, 0], duration=1, step=0.1)

    def test_on_a_surface_of_a_mechanism(self):
        m = taut.Mechanism()
        m.point("a", mass=1, at=(2, 0, 0))
        m.on_surface("a", (sp.Symbol("x") - 1) ** 2, name="wall")
        with pytest.raises(taut.ConstraintError, match="wherever surface joint wall holds"):
            m.assemble()


def test_rods_of_another_length_say_lengths():
    m = taut.Mechanism()
    m.point("a", mass=1, at=(1, 0, 0))
    m.point("b", mass=1, at=(2, 0, 0))
    m.rod("one", m.ground, "a", length=1.5)
    m.rod("two", "a", "b", length=0.2)
    with pytest.raises(taut.InconsistentStart) as caught:
        taut.simulate(m, duration=1, step=0.1)
    said = {"rod joint one: length 1 instead of 1.5", "rod joint two: length 1 instead of 0.2"}
    assert set(caught.value.received.split("; ")) == said
    m.rod("three", m.ground, "b", length=5)
    with pytest.raises(taut.ConstraintError, match=r"rod joint three: length 4\.\d+ instead of 5"):
        m.assemble()


@pytest.mark.parametrize("away", [1e4, 1e6, 1e8])
def test_a_rod_far_from_the_origin_has_a_slope(away):
    """A thousandth of the distance from the origin is no small step there."""
    x, y = q = taut.coordinates("x y")
    rod = (x - away) ** 2 + (y - away) ** 2 - 1
    system = taut.System(q, mass=[1, 1], potential=10 * y, constraints=[rod])
    run = taut.simulate(system, q0=[away + 1, away], v0=[0, 0], laws=None, **SHORT)
    assert len(run) == 11
    squared = taut.System(q, mass=[1, 1], potential=10 * y, constraints=[rod**2])
    refused(squared, taut.ConstraintError, q0=[away + 1, away])
