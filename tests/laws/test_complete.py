"""How many laws there can be: jet bounds, what is known of them, and what is said."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import taut
from taut.laws.complete import Counted, counted
from taut.laws.dynamics import Dynamics
from taut.laws.field import Field, primes
from taut.laws.find import Finder
from taut.laws.jets import Integrals, Work, integral_bound, noether_bound
from taut.laws.ring import Ring
from taut.laws.series import Lines, origin_of
from taut.laws.span import Span

CASES = runpy.run_path(str(Path(__file__).with_name("cases.py")))["CASES"]
X, Y = Q = taut.coordinates("x y")
U, V = taut.velocities(Q)
KINETIC = (U**2 + V**2) / 2
R = sp.sqrt(X**2 + Y**2)


def heiles(lam):
    well = (X**2 + Y**2) / 2 + X**2 * Y + sp.Rational(lam) / 3 * Y**3
    return taut.System(Q, lagrangian=KINETIC - well)


PLANE = {
    "free": taut.System(Q, lagrangian=KINETIC),
    "oscillator": taut.System(Q, lagrangian=KINETIC - (X**2 + Y**2) / 2),
    "kepler": taut.System(Q, lagrangian=KINETIC + 1 / R),
    "polar": taut.System(Q, lagrangian=(U**2 + X**2 * V**2) / 2 + 1 / X),
    "heiles": heiles(-1),
    "integrable": heiles(1),
}


# ---- the bound -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "degree", "time", "count"),
    [
        ("free", 1, False, 4), ("free", 2, False, 10), ("free", 2, True, 20),
        ("oscillator", 2, False, 6), ("oscillator", 2, True, 20),
        ("kepler", 2, False, 6), ("kepler", 2, True, 6), ("polar", 2, False, 6),
        ("heiles", 4, False, 3), ("integrable", 4, False, 6),
    ],
)  # fmt: skip
def test_bounds_of_systems_in_the_plane(name, degree, time, count):
    """Killing tensors of the plane; 1, L, L², three of Fradkin; and so on."""
    found = integral_bound(Dynamics(PLANE[name]), degree, time)
    assert (found.count, found.sharp) == (count, True)


@pytest.mark.parametrize(
    ("name", "degree", "count"),
    [
        ("kepler", 2, 14), ("toda", 3, 7), ("double_pendulum", 2, 4),
        ("spherical_pendulum", 2, 4), ("neumann", 2, 3), ("neumann", 4, 6),
    ],
)  # fmt: skip
def test_bounds_with_constraints_roots_sines_and_exponentials(name, degree, count):
    found = integral_bound(Dynamics(CASES[name]()[0]), degree, False)
    assert (found.count, found.sharp) == (count, True)


def test_bounds_of_point_symmetries():
    (z,) = taut.coordinates("z")
    (w,) = taut.velocities([z])
    emden = taut.System([z], lagrangian=taut.t**2 * (w**2 / 2 - z**6 / 6))
    counts = {"oscillator": 9, "kepler": 3, "heiles": 2, "free": 9}
    for name, count in counts.items():
        assert noether_bound(Dynamics(PLANE[name])).count == count
    assert noether_bound(Dynamics(emden)).count == 2
    assert noether_bound(Dynamics(taut.System(Q, mass=1, forces=[-U, 0]))) is None


def test_momenta_and_velocities_have_the_same_bound():
    px, py = taut.momenta(Q)
    turned = taut.System(Q, hamiltonian=(px**2 + py**2) / 2 - 1 / R + px * Y - py * X)
    assert integral_bound(Dynamics(turned), 2, False).count == 4  # 1, H, L, L²
    fast = taut.System(Q, hamiltonian=sp.sqrt(1 + px**2 + py**2) - 1 / R)
    assert integral_bound(Dynamics(fast), 2, False) is None


def test_no_bound_without_t_where_the_model_has_it():
    moved = taut.System(Q, lagrangian=KINETIC - taut.t * X)
    assert integral_bound(Dynamics(moved), 1, False) is None
    assert integral_bound(Dynamics(moved), 1, True).count == 6


def test_constraints_that_move_have_the_bound_of_an_angle():
    """A ring of radius 1 around (t², 0), with constraints and without."""
    (a,) = taut.coordinates("a")
    (w,) = taut.velocities([a])
    t, well = taut.t, Y
    ring = taut.System(Q, mass=1, potential=well, constraints=[(X - t**2) ** 2 + Y**2 - 1])
    place = [t**2 + sp.cos(a), sp.sin(a)]
    speed = [e.diff(t) + e.diff(a) * w for e in place]
    angle = taut.System([a], lagrangian=sum(e**2 for e in speed) / 2 - place[1])
    counts = [integral_bound(Dynamics(m), 2, True, 2).count for m in (ring, angle)]
    assert counts == [2, 2]  # in the frame of the ring the pull is constant: 1 and an energy


def test_a_bound_ends_where_the_work_does():
    assert integral_bound(Dynamics(PLANE["kepler"]), 2, True, work=Work(1e-6)) is None
    early = integral_bound(Dynamics(PLANE["kepler"]), 2, True, work=Work(0.06))
    assert early.count > 6
    assert not early.sharp


@pytest.mark.parametrize(("name", "time"), [("kepler", False), ("free", True), ("turning", False)])
def test_jets_that_are_remembered_say_and_cost_the_same(name, time):
    turning = taut.System(Q, lagrangian=KINETIC + X * V - Y * U + 1 / R)  # not reversible
    d = Dynamics({**PLANE, "turning": turning}[name])
    kept = Integrals(d, time)
    for degree in (1, 2, 3, 2):
        one, two = Work(0.3), Work(0.3)
        assert kept.bound(degree, 0, one) == integral_bound(d, degree, time, 0, two)
        assert one.left == two.left


def test_order_by_order_is_the_same_as_all_at_once():
    """The rank of all equations on all coefficients of the oscillator, by hand in rationals."""
    order, z = 4, sp.symbols("z0:2")
    unknowns, law = [], 0
    powers = [U**i * V**j for i in range(3) for j in range(3 - i)]
    for p in powers:
        for i in range(order + 1):
            for j in range(order + 1 - i):
                unknowns.append(sp.Dummy())
                law += unknowns[-1] * z[0] ** i * z[1] ** j * p
    at = {z[0]: sp.Rational(2, 3), z[1]: sp.Rational(5, 7)}  # q = at + z
    rate = law.diff(z[0]) * U + law.diff(z[1]) * V
    rate -= law.diff(U) * (at[z[0]] + z[0]) + law.diff(V) * (at[z[1]] + z[1])
    terms = sp.Poly(sp.expand(rate), *z, U, V).terms()
    rows = [[c.coeff(s) for s in unknowns] for e, c in terms if e[0] + e[1] < order]
    left = len(unknowns) - sp.Matrix(rows).rank()
    assert left == integral_bound(Dynamics(PLANE["oscillator"]), 2, False).count == 6


# ---- series --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["functions", "constraints"])
def test_series_have_the_derivatives_of_their_functions(kind):
    """Coefficients of ε^k are derivatives along ρ at the point, over k!."""
    x, y, z = q = taut.coordinates("x y z")
    e = sp.sqrt(1 + x**2) / y + sp.exp(x - 2 * y) * sp.sin(x + y) + sp.log(x * y) * sp.cos(2 * y)
    model = taut.System(q, mass=1, potential=e + z**2)
    if kind == "constraints":
        model = taut.System(q, mass=1, potential=z, constraints=[x**2 + y * z - 1])
        e = x**3 * z
    d = Dynamics(model)
    ring = Ring(d.expressions, [*d.state, taut.t])
    f = Field(primes(1)[0], seed=9)
    lines = Lines(d, ring, f, {}, 5, 4, False, origin_of(d, ring, f, {}))
    assert lines.good.any()
    free = [q[i] for i in lines.free]
    eps = sp.Dummy()
    if kind == "constraints":
        (bound,) = set(q) - set(free)
        solved = sp.solve(model.constraints[0], bound)
        e = e.subs(bound, solved[0])  # rational: it is solved for y or z
        assert len(free) == 2
    rho = sp.symbols("rho:3")
    path = e.subs({a: a + eps * r for a, r in zip(free, rho, strict=False)}, simultaneous=True)
    target = lines(sp.sympify(x**3 * z)) if kind == "constraints" else lines(e)
    for k in range(4):
        slope = path.diff(eps, k).subs(eps, 0) / sp.factorial(k)
        known = {**lines.point.values}
        for i, r in enumerate(rho[: len(free)]):
            lines.point.values[r] = lines.slopes[:, i]
        wanted = lines.point(slope)
        assert np.array_equal(target[:, k], wanted)
        lines.point.values.clear()
        lines.point.values.update(known)


# ---- what is known -------------------------------------------------------------------------------


def span_of(model, laws, time):
    finder = Finder(model, (), 2)
    return Span(finder.search, [model.read(e) for e in laws], time)


def test_products_are_counted():
    energy, turn = KINETIC - 1 / R, X * V - Y * U
    axis = [V * turn - X / R, -U * turn - Y / R]
    span = span_of(PLANE["kepler"], [energy, turn, *axis], False)
    assert [span.dimension(m) for m in (1, 2, 3)] == [2, 6, 10]


def test_what_products_cancel_to_is_counted():
    """A charge: p_x² + p_y² + p_z² − 2E is of degree 1, and its cube of degree 3."""
    model, (px, py, pz, boost, turn, energy), _ = CASES["charged"]()
    span = span_of(model, [px, py, pz, energy, boost], False)
    assert [span.dimension(m) for m in (1, 2, 3)] == [5, 15, 35]
    span = span_of(model, [px, py, pz, turn, boost], True)
    assert span.dimension(1) == 6


def test_products_with_time_that_are_free_of_it_are_counted():
    laws = [U, V, X - taut.t * U, Y - taut.t * V]
    span = span_of(PLANE["free"], laws, False)
    assert [span.dimension(m) for m in (1, 2)] == [4, 10]


# ---- what is said --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["oscillator", "kepler", "heiles", "free"])
def test_laws_of_the_plane_are_complete(name):
    laws = taut.conserved(PLANE[name])
    assert "complete: every law" in laws.complete
    assert any(x.complete and x.degree >= 2 and not x.time for x in laws.bounds)


def test_only_the_energy_and_why():
    laws = taut.conserved(PLANE["heiles"])
    assert [x.kind for x in laws] == ["energy"]
    assert Counted(4, False, 3, 3, True) in laws.bounds
    assert "every law without t of degree ≤ 4" in laws.complete
    assert "jet bound 3 = 3 found" in laws.complete


@pytest.mark.parametrize(("name", "missing"), [("oscillator", 3), ("kepler", 3), ("free", 0)])
def test_a_law_that_is_left_out_is_missed(name, missing):
    finder = Finder(PLANE[name], (), 2)
    for degree in (1, 2, 3):
        finder.at(degree)
    laws = [x.expression for x in finder.found]
    whole = counted(finder.search, laws, 2, False, Work(2))
    assert [x.complete for x in whole] == [True, True]
    less = counted(finder.search, laws[:missing] + laws[missing + 1 :], 2, False, Work(2))
    assert not less[-1].complete
    assert "more exist" in less[-1].words()


def test_laws_outside_the_functions_are_told_of():
    laws = taut.conserved(PLANE["oscillator"])
    assert "found 2, bound 6: more exist outside degree ≤ 2 in x, y" in laws.complete
    assert [x.degree for x in laws.bounds if x.time] == [1]
    t = taut.t
    more = taut.conserved(PLANE["oscillator"], functions=[sp.sin(t), sp.cos(t)], degree=2)
    assert more.rank == 4
    assert "locally every law is a function of these, 4 of them independent" in more.complete
    assert "more exist" not in more.complete


def test_where_a_bound_says_there_is_more_the_search_goes_on():
    """A law of degree six, which a search of degree four has not."""
    well = (X**2 + 16 * Y**2) / 2 + X**2 * Y + sp.Rational(16, 3) * Y**3
    laws = taut.conserved(taut.System(Q, mass=1, potential=well))
    assert [(law.kind, law.degree) for law in laws] == [("energy", 3), ("hidden symmetry", 6)]
    assert "every law without t of degree ≤ 4" in laws.complete
    assert "more exist" not in laws.complete
    less = taut.conserved(taut.System(Q, mass=1, potential=well), degree=4)
    assert "found 3, bound 4: more exist outside degree ≤ 4" in less.complete


@pytest.mark.slow
def test_what_a_bound_says_of_three_bodies_on_a_line():
    """Calogero's have laws of degree 4, which products of one with t² give: t²E − … is affine."""
    model = CASES["calogero"]()[0]
    laws = taut.conserved(model)
    assert laws.complete == (
        "complete: every law without t of degree ≤ 2 in the velocities, with any smooth "
        "coefficients (jet bound 7 = 7 found); locally every law is a function of these, 6 of "
        "them independent"
    )
    more = taut.conserved(model, degree=4, time=0)
    assert more.rank == 5
    assert "locally every law without t is a function of these, 5" in more.complete


def test_flows_with_all_their_laws_say_so():
    model, _, _ = CASES["gyrostat"]()
    laws = taut.conserved(model)
    assert laws.complete == (
        "complete: locally every law without t is a function of these, 2 of them independent"
    )
    x, y, z = sp.symbols("x y z")
    chaos = taut.conserved(taut.Flow([x, y, z], [y - x, x * (28 - z) - y, x * y - 8 * z / 3]))
    assert chaos.complete.startswith("complete in this ansatz: degree ≤ 4 in x, y, z")


def test_a_small_budget_claims_less():
    laws = taut.conserved(PLANE["heiles"], budget=0.001, degree=3)
    assert laws.complete == "complete in this ansatz: degree ≤ 3 in x, y, x_dot, y_dot, t"


def test_roots_of_velocities_leave_enough_lines_for_a_bound():
    x, y = q = taut.coordinates("x y")
    u, v = taut.velocities(q)
    slow = sp.sqrt(1 - u**2 - v**2)
    laws = taut.conserved(taut.System(q, lagrangian=-slow - (x**2 + y**2) / 2))
    assert laws.rank == 2
    assert sp.expand((x * v - y * u) / slow) in [law.expression for law in laws]
    assert "more exist" not in laws.complete


def test_a_bead_on_a_wire_that_turns():
    x, y = q = taut.coordinates("x y")
    wire = x * sp.sin(taut.t) - y * sp.cos(taut.t)
    laws = taut.conserved(taut.System(q, mass=1, constraints=[wire], forces=[0, 0]))
    assert laws.rank == 2
    assert {law.verified for law in laws} == {"normal form"}


X, Y = taut.coordinates("x y")
K = sp.Symbol("k", real=True)


@pytest.mark.parametrize(("constraint", "factor"), [
    (X * Y, "x"), (X**2 - Y**2, "x - y"), (Y * sp.sin(X) / X, "y"),
    ((X**2 + Y**2 - 1) * (X**2 + Y**2 - 4), "x**2 + y**2 - 4"),
])  # fmt: skip
def test_constraints_that_are_products_have_branches(constraint, factor):
    """A momentum of one branch was proved for all, or more laws were found than there can be."""
    model = taut.System([X, Y], mass=1, potential=Y, constraints=[constraint])
    with pytest.raises(taut.ModelError, match="each factor is a branch of its own") as told:
        taut.conserved(model)
    assert told.value.remedy.endswith(f"such as {factor}")
    with pytest.raises(taut.ModelError, match="branch"):
        taut.conserved(model, proposed=taut.velocities([X, Y])[1] + taut.t)
    one = taut.System([X, Y], mass=1, potential=Y, constraints=[factor])
    assert taut.conserved(one)


def test_constraints_that_are_products_at_a_value_of_a_parameter():
    wires = X**2 - K**2 * Y**2 - K + 1
    model = taut.System([X, Y], mass=1, constraints=[wires], parameters=["k"])
    assert Dynamics(model).ladder
    with pytest.raises(taut.ModelError, match="branch"):
        _ = Dynamics(model, fixed={K: sp.Integer(1)}).ladder


def test_level_sets_that_are_products_have_branches():
    flow = taut.Flow([X, Y], [X, Y * X])
    with pytest.raises(taut.ModelError, match="level sets are products"):
        taut.conserved(flow, on=[X * Y])


def test_branches_that_no_rational_factor_tells_make_no_bound():
    """x² = 2 y² is two lines: v_x v_y and v_y² are one function on each, and two on both."""
    lines = taut.System([X, Y], mass=1, constraints=[X**2 - 2 * Y**2])
    laws = taut.conserved(lines)
    assert laws.rank == 2
    assert "jet bound" not in laws.complete


def test_a_flow_that_depends_on_time_is_searched_up_to_the_highest_degree():
    """It ended at degree two, since there can be no law without t."""
    x, y = sp.symbols("x y")
    (law,) = taut.conserved(taut.Flow([x], [-4 * taut.t**3]))
    assert law.expression == x + taut.t**4
    rates = [y, -12 * taut.t**2]
    laws = taut.conserved(taut.Flow([x, y], rates))
    assert {y + 4 * taut.t**3} < {law.expression for law in laws}
    assert (
        laws.complete == "complete: locally every law is a function of these, 2 of them independent"
    )
