"""ZG's time element: two forms, quadratures, two starts, and degrees above one."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut import problems
from taut.methods import GaussLobatto, LobattoPair, TimeElement

x, y = taut.coordinates("x y")
QUADRATURES = ["trapezoid", "midpoint", "simpson", "gauss2"]


@pytest.fixture
def pendulum():
    return taut.System([x, y], mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1])


@pytest.fixture
def crooked():
    """A mass that depends on q, with cross terms, and a nonlinear potential."""
    mass = [[2 + x**2, x * y / 4], [x * y / 4, 1 + sp.cos(y) ** 2]]
    return taut.System(
        [x, y], mass=mass, potential=10 * y + x**4 + sp.sin(2 * x), constraints=[x**2 + y**2 - 1]
    )


@pytest.fixture
def nonlinear():
    potential = 10 * y + x**4 + sp.sin(3 * x)
    return taut.System([x, y], mass=[1, 1], potential=potential, constraints=[x**2 + y**2 - 1])


@pytest.fixture
def driven():
    u, w = taut.velocities([x, y])
    return taut.System(
        [x, y],
        mass=[1, 2],
        potential=10 * y,
        constraints=[(x - sp.sin(3 * taut.t) / 5) ** 2 + y**2 - 1],
        forces=[-u / 5 + sp.cos(taut.t), -w * sp.Abs(w)],
    )


def both(system, quadrature="trapezoid", start="exact", **settings):
    """The same run in both forms."""
    return [
        taut.simulate(system, method=taut.TimeElement(form, quadrature, start), **settings)
        for form in ("multipliers", "independent")
    ]


# ---- two forms -------------------------------------------------------------------------------


def agree(one, two, tolerance):
    for name in ("q", "v", "p", "energy", "multipliers"):
        a, b = getattr(one, name), getattr(two, name)
        assert abs(a - b).max() <= tolerance * abs(a).max(), name
    for run in (one, two):
        assert run.certificate.max_g < 3e-15
        assert abs(run.hidden).max() < 1e-12


@pytest.mark.parametrize("quadrature", QUADRATURES)
def test_both_forms_are_one_motion_of_the_double_pendulum(quadrature):
    """Ten seconds of ZG's example 3a; neighbouring motions part quickly there."""
    p = problems.problem("zg-double")
    one, two = both(p.system, quadrature, q0=p.q0, v0=p.v0, duration=10, step=0.01)
    assert two.certificate.charts >= 1
    agree(one, two, 1e-10)


@pytest.mark.parametrize("name", ["zg-spatial", "zg-spatial-printed"])
def test_both_forms_are_one_motion_in_space(name):
    p = problems.problem(name)
    one, two = both(p.system, q0=p.q0, v0=p.v0, duration=5, step=0.01, project=True)
    assert two.certificate.charts >= 1
    agree(one, two, 1e-11)


@pytest.mark.parametrize("quadrature", QUADRATURES)
@pytest.mark.parametrize("system", ["pendulum", "nonlinear", "crooked"])
def test_both_forms_go_over_the_top(request, system, quadrature):
    """Round and round, through x = ±1 and y = ±1, with the charts that takes."""
    model = request.getfixturevalue(system)
    one, two = both(model, quadrature, q0=[0, -1], v0=[7, 0], duration=3, step=0.01)
    turns = np.unwrap(np.arctan2(one.q[:, 1], one.q[:, 0]))
    assert turns[-1] - turns[0] > 4 * np.pi
    assert two.certificate.charts >= 6
    assert two.certificate.to_dict()["chart_changes"] == two.certificate.charts
    assert one.certificate.charts == 0
    agree(one, two, 1e-10)


def test_an_oscillation_that_turns_at_the_edge_of_a_chart(pendulum):
    """From rest at x = 1: y is independent there, x at the bottom."""
    one, two = both(pendulum, q0=[1, 0], v0=0, duration=10, step=0.01)
    assert two.certificate.charts > 4
    agree(one, two, 1e-10)  # the energy is 0 up to the error of the method


@pytest.mark.parametrize("quadrature", QUADRATURES)
def test_both_forms_with_forces_and_a_moving_constraint(driven, quadrature):
    start = {"q0": [0.6, -0.8], "v0": [0.6, 0], "duration": 5, "step": 0.01}
    one, two = both(driven, quadrature, **start)
    agree(one, two, 1e-11)


def test_both_forms_without_constraints():
    s = taut.System([x, y], mass=[1, 3], potential=x**4 + x**2 * y**2 + y**2)
    one, two = both(s, q0=[1, 0.5], v0=[0, 1], duration=5, step=0.01)
    np.testing.assert_allclose(one.q, two.q, atol=1e-12)


def test_both_forms_from_a_hamiltonian():
    p = taut.momenta([x, y])
    H = (p[0] ** 2 + p[1] ** 2 / (1 + x**2)) / 2 + p[0] ** 4 / 20 + 10 * y
    s = taut.System([x, y], hamiltonian=H, constraints=[x**2 + y**2 - 1])
    one, two = both(s, q0=[0.6, -0.8], v0=[0.8, 0.6], duration=3, step=0.01)
    agree(one, two, 1e-11)


def test_all_coordinates_bound():
    s = taut.System([x, y], mass=[1, 1], constraints=[x - sp.sin(taut.t), y - x**2])
    one, two = both(s, q0=[0, 0], v0=[1, 0], duration=2, step=0.01)
    np.testing.assert_allclose(one.q[:, 0], np.sin(one.t), atol=1e-14)
    np.testing.assert_allclose(two.q, one.q, atol=1e-14)


# ---- quadratures -----------------------------------------------------------------------------


def errors(system, steps, fine, **settings):
    known = taut.simulate(system, step=fine, method="rattle", **settings)
    half = taut.simulate(system, step=2 * fine, method="rattle", **settings)
    found = []
    for name in ("q", "p"):
        best = getattr(known, name)[-1] + (getattr(known, name)[-1] - getattr(half, name)[-1]) / 3
        found.append([abs(getattr(run, name)[-1] - best).max() for run in steps])
    return found


@pytest.mark.parametrize("quadrature", QUADRATURES)
@pytest.mark.parametrize("system", ["nonlinear", "crooked", "driven"])
def test_every_quadrature_is_of_order_2(request, system, quadrature):
    model = request.getfixturevalue(system)
    start = {"q0": [0.6, -0.8], "v0": [0.6, 0] if system == "driven" else [0.8, 0.6]}
    method = taut.TimeElement(quadrature=quadrature)
    runs = [
        taut.simulate(model, **start, duration=1, step=h, method=method)
        for h in (0.004, 0.002, 0.001)
    ]
    for error in errors(model, runs, 0.0005, duration=1, **start):
        orders = np.log2(np.array(error[:-1]) / error[1:])
        np.testing.assert_allclose(orders, 2, atol=0.1)


def test_quadratures_coincide_for_a_linear_potential(pendulum):
    runs = [
        taut.simulate(
            pendulum, q0=[1, 0], v0=0, duration=3, step=0.01, method=taut.TimeElement(quadrature=n)
        )
        for n in QUADRATURES
    ]
    for run in runs[1:]:
        np.testing.assert_allclose(run.q, runs[0].q, atol=1e-12)
        np.testing.assert_allclose(run.p, runs[0].p, atol=1e-11)


def test_quadratures_coincide_as_far_as_they_are_exact():
    """Simpson and Gauss integrate cubics; the trapezoid and the midpoint only linear functions."""

    def ends(potential):
        s = taut.System([x, y], mass=[1, 2], potential=potential, constraints=[x**2 + y**2 - 1])
        return [
            taut.simulate(
                s,
                q0=[1, 0],
                v0=[0, 1],
                duration=1,
                step=0.02,
                method=taut.TimeElement(quadrature=n),
            ).q[-1]
            for n in QUADRATURES
        ]

    trapezoid, midpoint, simpson, gauss = ends(x**3 + x * y + 5 * y**2)
    np.testing.assert_allclose(simpson, gauss, atol=1e-13)
    assert abs(trapezoid - midpoint).max() > 1e-6
    assert abs(trapezoid - gauss).max() > 1e-6
    trapezoid, midpoint, simpson, gauss = ends(10 * x**4)
    assert abs(simpson - gauss).max() > 1e-9


def test_the_trapezoid_is_rattle(nonlinear):
    """With a constant mass the two are one method."""
    start = {"q0": [1, 0], "v0": [0, 1], "duration": 3, "step": 0.01}
    one, two = (taut.simulate(nonlinear, **start, method=m) for m in ("time-element", "rattle"))
    np.testing.assert_allclose(one.q, two.q, atol=1e-12)
    np.testing.assert_allclose(one.p, two.p, atol=1e-11)


# ---- starts ----------------------------------------------------------------------------------


def test_the_papers_start_is_its_formula():
    """p₀ = M v₀ + (h/2) U_q for the trapezoid."""
    s = taut.System([x, y], mass=[2, 3], potential=x**3 + 10 * y, constraints=[x**2 + y**2 - 1])
    settings = {"q0": [0.6, -0.8], "v0": [0.8, 0.6], "duration": 0.1, "step": 0.01}
    run = taut.simulate(s, method=taut.TimeElement(start="paper"), **settings)
    known = np.array([2 * 0.8, 3 * 0.6]) + 0.005 * np.array([3 * 0.36, 10])
    np.testing.assert_allclose(run.p[0], known, rtol=1e-15)
    np.testing.assert_allclose(run.v[0], [0.8, 0.6], rtol=0)
    exact = taut.simulate(s, method=taut.TimeElement(), **settings)
    np.testing.assert_allclose(exact.p[0], [1.6, 1.8], rtol=1e-15)


def test_the_papers_start_makes_a_free_element_start_with_v0():
    """Without constraints (q₁ − q₀)/h = v₀ then: that is what it is for."""
    s = taut.System([x], mass=[3], potential=x**4)
    run = taut.simulate(
        s, q0=[1], v0=[0.5], duration=0.1, step=0.01, method=taut.TimeElement(start="paper")
    )
    assert (run.q[1, 0] - run.q[0, 0]) / 0.01 == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("form", ["multipliers", "independent"])
def test_the_papers_start_makes_the_run_first_order(nonlinear, form):
    start = {"q0": [0.6, -0.8], "v0": [0.8, 0.6]}
    runs = {
        name: [
            taut.simulate(
                nonlinear, **start, duration=1, step=h, method=taut.TimeElement(form, start=name)
            )
            for h in (0.004, 0.002, 0.001)
        ]
        for name in ("paper", "exact")
    }
    for name, order in (("paper", 1), ("exact", 2)):
        for error in errors(nonlinear, runs[name], 0.0005, duration=1, **start):
            orders = np.log2(np.array(error[:-1]) / error[1:])
            np.testing.assert_allclose(orders, order, atol=0.15)


def test_both_forms_with_the_papers_start(nonlinear):
    one, two = both(nonlinear, start="paper", q0=[0.6, -0.8], v0=[0.8, 0.6], duration=3, step=0.01)
    np.testing.assert_allclose(one.q, two.q, atol=1e-11)
    np.testing.assert_allclose(one.p, two.p, atol=1e-10)


# ---- options ---------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["form", "quadrature", "start"])
@pytest.mark.parametrize("value", ["euler", "", None, 2])
def test_unknown_options_list_the_known_ones(option, value):
    with pytest.raises(taut.UnknownName) as caught:
        taut.TimeElement(**{option: value})
    known = {
        "form": ("independent", "multipliers"),
        "quadrature": tuple(
            sorted(
                {
                    *QUADRATURES,
                    "gauss",
                    "lobatto",
                    *(f"gauss{r}" for r in range(1, 9)),
                    *(f"lobatto{r}" for r in range(2, 9)),
                }
            )
        ),
        "start": ("exact", "paper"),
    }
    assert caught.value.expected == "one of " + ", ".join(known[option])
    assert f"TimeElement {option}" in caught.value.what


def test_independent_coordinates_of_a_large_system_are_refused():
    n = 90
    q = taut.coordinates(f"s0:{n}")
    s = taut.System(q, mass=[1] * n, potential=sum(c**2 for c in q), constraints=[q[0] - q[1] ** 2])
    with pytest.raises(taut.InputError, match="not available for systems of this size"):
        taut.simulate(
            s, q0=np.zeros(n), v0=0, duration=0.1, step=0.01, method="time-element-independent"
        )


# ---- higher degree ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ball():
    """A q-dependent mass on the unit sphere, as in the verification table."""
    x, y, z = q = taut.coordinates("x y z")
    mass = [[2 + x**2, x * y / 4, 0], [x * y / 4, 1 + y**2, sp.sin(z) / 3], [0, sp.sin(z) / 3, 1.5]]
    sphere = [x**2 + y**2 + z**2 - 1]
    return taut.System(q, mass=mass, potential=z + sp.cos(x), constraints=sphere)


ON_BALL = {"q0": [0.6, 0, 0.8], "v0": [0, 1, 0], "duration": 4}
TWINS = {
    **{f"gauss {k}": (TimeElement(degree=k, quadrature="gauss"), GaussLobatto(k))
       for k in (1, 2, 3, 5)},
    **{f"lobatto {k}": (TimeElement(degree=k), LobattoPair(k + 1)) for k in range(1, 5)},
}  # fmt: skip


def gap(system, pair, **settings):
    one, two = (taut.simulate(system, method=method, **settings) for method in pair)
    return max(abs(one.q - two.q).max(), abs(one.p - two.p).max())


@pytest.mark.parametrize("name", TWINS)
def test_where_elements_are_spark(name, crooked, driven, nonlinear):
    """With Gauss points always; with Lobatto points where the mass is constant.

    Many stages take long to compile: they meet one system.
    """
    settings = {"q0": [0.6, -0.8], "v0": [0.8, 0.6], "duration": 1, "step": 0.1}
    kind, count = name.split()
    many, straight = int(count) > 3, name in ("lobatto 4", "lobatto 5", "gauss 5")
    if not many or straight:
        assert gap(nonlinear, TWINS[name], **settings) < 1e-13
    if not many:
        assert gap(driven, TWINS[name], **settings | {"v0": [0.6, 0]}) < 1e-13
    if straight:
        return
    if kind == "gauss":
        assert gap(crooked, TWINS[name], **settings) < 1e-13
    else:
        assert gap(crooked, TWINS[name], **settings | {"step": 0.25}) > 1e-9


def test_more_points_than_the_degree_are_no_spark_method(nonlinear):
    settings = {"q0": [0.6, -0.8], "v0": [0.8, 0.6], "duration": 1, "step": 0.1}
    more = TimeElement(degree=2, quadrature="gauss3")
    for other in (GaussLobatto(2), LobattoPair(3), GaussLobatto(3)):
        assert gap(nonlinear, (more, other), **settings) > 1e-6


def test_elements_of_a_hamiltonian(crooked):
    """The same motion from H as from L, and Gauss–Lobatto also there."""
    p = sp.Matrix(taut.momenta([x, y]))
    mass = sp.Matrix([[2 + x**2, x * y / 4], [x * y / 4, 1 + sp.cos(y) ** 2]])
    energy = (p.T * mass.inv() * p)[0] / 2 + 10 * y + x**4 + sp.sin(2 * x)
    system = taut.System([x, y], hamiltonian=energy, constraints=[x**2 + y**2 - 1])
    settings = {"q0": [0.6, -0.8], "v0": [0.8, 0.6], "duration": 1, "step": 0.05}
    for method in (TimeElement(degree=2), TimeElement(degree=3, quadrature="gauss4")):
        one, two = (taut.simulate(s, method=method, **settings) for s in (crooked, system))
        np.testing.assert_allclose(one.q, two.q, atol=1e-13)
    pair = TimeElement(degree=3, quadrature="gauss"), GaussLobatto(3)
    assert gap(system, pair, **settings) < 1e-13


STEPS = {2: (240, 480), 4: (60, 80, 120), 6: (60, 80, 120), 8: (48, 60, 80)}
RULES = [
    (k, f"{family}{r}", min(2 * k, 2 * r if family == "gauss" else 2 * r - 2))
    for k in (1, 2, 3, 4)
    for family in ("gauss", "lobatto")
    for r in ((k, k + 1, k + 2) if k < 3 else (k, k + 1))
    if (k, family, r) != (1, "lobatto", 1)
]


@pytest.fixture(scope="module")
def path(ball):
    return taut.simulate(ball, **ON_BALL, step=4 / 240, method=GaussLobatto(6))


@pytest.mark.parametrize(("degree", "quadrature", "order"), RULES)
def test_order_is_that_of_the_degree_or_of_the_quadrature(degree, quadrature, order, ball, path):
    method = TimeElement(degree=degree, quadrature=quadrature)
    assert method.order == order
    errors = []
    for count in STEPS[order]:
        run = taut.simulate(ball, **ON_BALL, step=4 / count, method=method)
        every, skip = (count // 240, 1) if count > 240 else (1, 240 // count)
        known = zip((run.q, run.p), (path.q, path.p), strict=True)
        errors.append([abs(a[::every] - b[::skip]).max() for a, b in known])
        assert run.certificate.max_g < 1e-15
    assert np.min(errors) > 2e-13
    slopes = np.polyfit(np.log(STEPS[order]), np.log(errors), 1)[0]
    np.testing.assert_allclose(-slopes, order, atol=0.05 * order)


def test_the_last_station_is_the_end_to_the_last_bit():
    k = TimeElement(degree=3).coefficients
    assert k.station.tolist()[0] == 0
    assert k.station.tolist()[-1] == 1
    np.testing.assert_array_equal(k.station_place[-1], k.whole)
    np.testing.assert_array_equal(k.pushed[-1], 0)
    np.testing.assert_array_equal(k.pushed[0], k.whole)


@pytest.mark.parametrize(
    "method", [TimeElement(degree=2), TimeElement(degree=3, quadrature="gauss5")]
)
@pytest.mark.parametrize("system", ["crooked", "driven"])
def test_both_back_ends_make_the_same_elements(method, system, request, monkeypatch):
    import taut.kernel.compile as room

    model = request.getfixturevalue(system)
    settings = {"q0": [0.6, -0.8], "v0": [0.6, 0] if system == "driven" else [0.8, 0.6]}
    settings |= {"duration": 1.02, "step": 0.05, "method": method}
    fused = taut.simulate(model, **settings)
    monkeypatch.setattr(room, "FUSED_LIMIT", -1)
    assembled = taut.simulate(model, **settings)
    np.testing.assert_allclose(fused.q, assembled.q, atol=1e-13)
    np.testing.assert_allclose(fused.p, assembled.p, atol=1e-12)


def test_large_elements_are_assembled():
    """Eight rods are unrolled for degree 1, assembled for degree 5."""
    from taut.kernel.compile import workshop

    points = taut.coordinates("x0:9"), taut.coordinates("y0:9")
    rods = [
        (points[0][i + 1] - points[0][i]) ** 2 + (points[1][i + 1] - points[1][i]) ** 2 - 1
        for i in range(8)
    ]
    q = [c for pair in zip(*points, strict=True) for c in pair]
    system = taut.System(q, mass=1, constraints=rods)
    assert workshop(system).unrolled(TimeElement())
    assert not workshop(system).unrolled(TimeElement(degree=5))


@pytest.mark.parametrize("degree", [0, 7, -1, 2.5, True, "2", None])
def test_degrees_out_of_range(degree):
    with pytest.raises(taut.InputError, match="degree is out of range"):
        TimeElement(degree=degree)


@pytest.mark.parametrize("quadrature", ["trapezoid", "gauss2", "lobatto2"])
def test_too_few_points(quadrature):
    with pytest.raises(taut.InputError, match="too few points for an element of degree 3"):
        TimeElement(degree=3, quadrature=quadrature)


@pytest.mark.parametrize("option", [{"form": "independent"}, {"start": "paper"}])
def test_what_is_for_degree_one_only(option):
    with pytest.raises(taut.InputError, match="is for elements of degree 1"):
        TimeElement(degree=2, **option)
