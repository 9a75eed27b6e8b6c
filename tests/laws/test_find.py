"""Known laws are found, all of them, and nothing else."""

import runpy
import sys
import time
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from hypothesis import HealthCheck, given, settings, strategies as st

import taut
from taut.laws.dynamics import Dynamics
from taut.laws.field import Field, downwards, primes
from taut.laws.find import Finder, whole
from taut.laws.present import presented, simplest
from taut.laws.proof import proved
from taut.laws.ring import Ring, tidy
from taut.progress import Progress

CASES = runpy.run_path(str(Path(__file__).with_name("cases.py")))["CASES"]
CHECKED = "normal form"


@pytest.fixture(scope="module")
def found():
    kept = {}

    def laws(name):
        if name not in kept:
            model, known, rank = CASES[name]()
            known = [getattr(model, "read", sp.sympify)(e) for e in known]
            kept[name] = (model, known, rank, taut.conserved(model))
        return kept[name]

    return laws


def gradients(model, laws, seed=3):
    """Rows of ∂law/∂state at a random point of the variety, modulo a prime."""
    d = Dynamics(model)
    laws = [tidy(model.read(e)) for e in laws]
    ring = Ring([*d.expressions, *laws], [*d.state, *d.parameters, taut.t])
    f = Field(primes(1, skip=3)[0], seed)
    own = {s: f.random(1) for s in d.parameters}
    points = d.moving(ring, f, 1, own, True)
    rows = [[points(e.diff(x))[0] for x in d.state] for e in [*d.relations, *laws]]
    return f, np.array(rows, dtype=np.uint64), len(d.relations)


def rank(model, laws):
    f, rows, relations = gradients(model, laws)
    return len(f.reduced(rows)[1]) - relations


@pytest.mark.parametrize("name", CASES)
def test_all_known_laws_are_found(name, found):
    """As many are independent as are known, and the known ones depend on those found."""
    model, known, independent, laws = found(name)
    assert laws.rank == independent
    assert len(laws.independent) == laws.rank == rank(model, [x.expression for x in laws])
    assert rank(model, [*(x.expression for x in laws), *known]) == independent


@pytest.mark.parametrize("name", CASES)
def test_every_law_is_proved(name, found):
    _, _, _, laws = found(name)
    assert laws
    for law in laws:
        assert law.verified == CHECKED


@pytest.mark.parametrize("name", CASES)
def test_what_is_not_conserved_is_not_proved(name, found):
    model, known, _, _ = found(name)
    d = Dynamics(model)
    for law in known:
        wrong = tidy(law + d.state[0] ** 2 * d.state[-1] / 7)
        ring = Ring([*d.expressions, wrong], [*d.state, *d.parameters, taut.t])
        assert not proved(d, ring, wrong)
        right = tidy(law)
        ring = Ring([*d.expressions, right], [*d.state, *d.parameters, taut.t])
        assert proved(d, ring, right)


def test_no_law_is_a_product_of_others(found):
    for name in ("free", "kepler", "charged", "lagrange_top", "toda"):
        laws = found(name)[3]
        for law in laws:
            for other in laws:
                assert sp.expand(law.expression - other.expression**2) != 0
    assert len(found("kepler")[3]) == 7
    assert len(found("kovalevskaya")[3]) == 4
    assert len(found("three_bodies")[3]) == 6


def test_kinds_and_symmetries(found):
    kinds = {name: [x.kind for x in found(name)[3]] for name in ("kepler", "free", "three_bodies")}
    assert kinds["kepler"] == ["energy", *["angular momentum"] * 3, *["hidden symmetry"] * 3]
    assert sorted(kinds["free"]) == ["angular momentum", "boost", "boost", "momentum", "momentum"]
    assert sorted(set(kinds["three_bodies"])) == ["angular momentum", "boost", "energy", "momentum"]
    assert [x.kind for x in found("lorenz")[3]] == ["decaying"]


@pytest.mark.parametrize("name", [x for x in CASES if CASES[x]()[0].__class__ is taut.System])
def test_symmetries_give_their_laws_back(name, found):
    """I = L ξ₀ + L_v·(ξ − v ξ₀) + G, and D G is what Noether's identity leaves."""
    model, _, _, laws = found(name)
    v, action = model.velocities, model.spelled(tidy(model.energy_function))
    for law in laws:
        s = law.symmetry
        if s is None:
            continue
        eta = [x - w * s.xi0 for x, w in zip(s.xi, v, strict=True)]
        again = action * s.xi0 + sum(action.diff(w) * e for w, e in zip(v, eta, strict=True))
        assert sp.simplify(again + s.gauge - law.expression) == 0
        if s.point:
            assert not any(x.has(*v) for x in (s.xi0, *s.xi))


def test_the_second_law_of_the_gyrostat(found):
    """The paper has x1² + x2² + x3² only; the energy comes out as it is written by hand."""
    _, (square, energy), _, laws = found("gyrostat")
    assert [law.expression for law in laws][:1] == [square]
    factor = sp.cancel(laws[1].expression / energy)
    assert not factor.free_symbols & set(sp.symbols("x1:4"))


def test_a_top_without_torque_has_both_laws_as_they_are_written():
    a, x = sp.symbols("A1:4"), sp.symbols("x1:4")
    turn = sp.Matrix([y / b for y, b in zip(x, a, strict=True)])
    laws = taut.conserved(taut.Flow(x, list(sp.Matrix(x).cross(turn))))
    energy = sum(y**2 / b for y, b in zip(x, a, strict=True))
    assert laws[0].expression == sum(y**2 for y in x)
    assert not sp.cancel(laws[1].expression / energy).free_symbols & set(x)


def test_simpler_laws_are_looked_for_by_shared_summands():
    a, b, c = sp.symbols("a b c")
    x, y, z = sp.symbols("x y z")
    known = [{x: sp.Integer(1), y: sp.Integer(1), z: sp.Integer(2)}]
    mixed = {x: 1 / a - 1 / c, y: 1 / b - 1 / c}  # 1/a, 1/b, 2/c without the known one over c
    assert presented(simplest(mixed, known)) == b * c * x + a * c * y + 2 * a * b * z
    assert simplest(mixed, []) == mixed
    plain = {x: a, y: b}
    assert simplest(plain, known) == plain


# ---- the search ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("degree", "laws"), [(2, 2), (4, 5)])
def test_relations_are_no_laws(degree, laws):
    """Columns that depend on earlier ones on the sphere are left out: x² + y² + z² is none."""
    finder = Finder(CASES["spherical_pendulum"]()[0], (), 0)
    columns, null = finder.search.null_space(finder.ansatz(degree))
    points = finder.search.moving(len(columns) + 8)
    values = np.array([points(e) for e in columns])
    assert len(points.point.field.reduced(values)[1]) == len(columns)
    assert len(columns) < finder.ansatz(degree).columns
    independent = {tuple(row) for row in points.point.field.reduced(null)[0].tolist()}
    assert len(independent) == laws  # E, L; E², E L, L²


@pytest.mark.parametrize(("time", "degree"), [(0, 3), (1, 3), (2, 1), (2, 4), (3, 2)])
def test_columns_are_counted_before_they_are_made(time, degree):
    finder = Finder(CASES["lotka_volterra"]()[0], (), time)
    ansatz = finder.ansatz(degree)
    assert ansatz.columns == len(ansatz.exponents) + 2  # and two logarithms


def test_progress_is_told():
    told = []
    taut.conserved(CASES["free"]()[0], degree=3, progress=lambda *n: told.append(n))
    assert told == [(6, 83), (27, 83), (83, 83)]  # columns of each degree: 6, 21, 56


def test_a_bar_says_how_much_is_searched(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    taut.conserved(CASES["free"]()[0], degree=2, progress=True)
    assert "degree 2" in capsys.readouterr().err
    taut.conserved(CASES["free"]()[0], degree=2)
    assert capsys.readouterr() == ("", "")


def test_ctrl_c_keeps_the_degrees_that_were_done(monkeypatch):
    at = Finder.at

    def interrupted(self, degree):
        if degree == 3:
            raise KeyboardInterrupt
        at(self, degree)

    monkeypatch.setattr(Finder, "at", interrupted)
    laws = taut.conserved(CASES["kepler"]()[0])
    assert [law.kind for law in laws] == ["energy", *["angular momentum"] * 3]
    assert laws.complete.startswith("interrupted at degree 3; up to then complete in this ansatz")
    assert "degree ≤ 2" in laws.complete
    assert laws.rank == 4


def test_ctrl_c_keeps_what_the_last_degree_had_found(monkeypatch):
    recovered, count = Finder._recovered, []

    def interrupted(self, *given):
        count.append(1)
        if len(count) == 3:
            raise KeyboardInterrupt
        return recovered(self, *given)

    monkeypatch.setattr(Finder, "_recovered", interrupted)
    laws = taut.conserved(CASES["kepler"]()[0])
    assert [law.kind for law in laws] == ["energy", *["angular momentum"] * 2]
    assert "interrupted at degree 2" in laws.complete
    assert all(law.verified == CHECKED for law in laws)


def test_ctrl_c_in_the_end_keeps_everything(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Finder, "bounds", interrupted)
        laws = taut.conserved(CASES["oscillator"]()[0])
    assert len(laws) == 4
    assert laws.complete.startswith("interrupted at the bounds; up to then complete")


def test_long_work_is_announced_and_short_work_is_not(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress(None, 10, "model") as bar:
        bar.say("a moment")
        assert capsys.readouterr().err == ""
        bar.say("half an hour", seconds=1800)
    assert "half an hour" in capsys.readouterr().err


def test_numbers_of_many_digits_come_back():
    x, y = q = taut.coordinates("x y")
    (u, _), large = taut.velocities(q), 10**17 + 3
    laws = taut.conserved(
        taut.System(q, mass=1, potential=large * x**2 + y**4), degree=2, time=0, budget=0
    )
    assert any(sp.expand(law.expression - u**2 - 2 * large * x**2) == 0 for law in laws)


def test_what_vanishes_modulo_the_primes_of_the_search_is_no_law():
    (x,) = q = taut.coordinates("x")
    (u,) = taut.velocities(q)
    finder = Finder(taut.System(q, mass=1, potential=x**2), (), 0)
    assert finder.verified(u**2 / 2 + x**2)
    for block in (0, 1):
        wrong = sp.prod(islice(downwards(block), 12)) * x
        assert not finder.verified(u**2 / 2 + x**2 + wrong)


def test_laws_with_parameters_of_their_own_are_all_found():
    x, y = q = taut.coordinates("x y")
    u, v = taut.velocities(q)
    a, b = sp.symbols("a b")
    thrown = taut.System(q, mass=1, potential=a * x + b * y, parameters=["a", "b"])
    laws = taut.conserved(thrown)
    known = {a * taut.t + u, a * v - b * u}
    assert known <= {law.expression for law in laws}
    assert laws.rank == 4
    assert all(law.degree <= 2 for law in laws)
    x, y = sp.symbols("x y")
    laws = taut.conserved(taut.Flow([x, y], [a * x, b * y]), degree=1)
    assert {a * taut.t - sp.log(x), b * taut.t - sp.log(y)} <= {law.expression for law in laws}


def test_constants_that_are_not_rational_are_coefficients_too():
    (x,) = q = taut.coordinates("x")
    (v,) = taut.velocities(q)
    g, a = sp.symbols("g a")
    for c in (g * sp.sin(a), sp.sqrt(a), sp.exp(a), sp.pi, sp.sqrt(2), 1 / sp.sqrt(a + g)):
        names = sorted(s.name for s in c.free_symbols)
        slope = taut.System(q, mass=1, potential=c * x, parameters=names)
        laws = taut.conserved(slope)
        (law,) = [law.expression for law in laws if law.expression.has(taut.t)]
        assert sp.simplify(law.diff(v) * c - law.diff(taut.t)) == 0
        assert "bound 6 = 6" in laws.complete
    x, y = sp.symbols("x y")
    (law,) = taut.conserved(taut.Flow([x, y], [y * sp.cos(a), x * sp.sin(a)]))
    assert sp.expand(law.expression - (x**2 * sp.sin(a) - y**2 * sp.cos(a))) == 0


def test_three_phases_cancel():
    (x,) = q = taut.coordinates("x")
    (v,) = taut.velocities(q)
    wave = sum(sp.cos(x + 2 * k * sp.pi / 3) for k in range(3))
    laws = taut.conserved(taut.System(q, mass=1, potential=wave))
    assert {law.expression for law in laws} == {v, taut.t * v - x}


def test_powers_of_one_base_know_each_other():
    (x,) = q = taut.coordinates("x")
    (v,) = taut.velocities(q)
    n = sp.Symbol("n", real=True)
    force = -n * x ** (n - 1) * (v + v**2) - n * x ** (2 * n - 1) * v
    model = taut.System(q, mass=1, forces=[force], parameters=["n"])
    law = (v + x**n) * sp.exp(x**n)
    assert taut.conserved(model, proposed=law).verified == CHECKED
    (found,) = taut.conserved(model, functions=[sp.exp(x**n)])
    assert sp.powsimp(sp.expand(found.expression - law)) == 0


def test_logarithms_that_depend_on_each_other_make_no_laws():
    x, y = sp.symbols("x y")
    rhs = [x * sp.log(x * y) - x * sp.log(x), -y * sp.log(x)]
    (law,) = taut.conserved(taut.Flow([x, y], rhs))
    positive = law.expression.subs({s: sp.Symbol(s.name, positive=True) for s in (x, y)})
    assert sp.expand(sp.expand_log(positive)).free_symbols
    a, b = q = taut.coordinates("x y")
    with pytest.raises(taut.ModelError, match="depend on each other"):
        taut.conserved(taut.System(q, mass=1, forces=[sp.log(a * b) - sp.log(a) - sp.log(b), 0]))


def test_roots_that_depend_on_each_other_are_checked_at_points():
    x, y = sp.symbols("x y")
    (law,) = taut.conserved(taut.Flow([x, y], [sp.sqrt(x * y), -sp.sqrt(x) * sp.sqrt(y)]))
    assert law.expression == x + y
    assert "random points" in law.verified


def test_functions_without_a_series_have_no_bound():
    x, y = q = taut.coordinates("x y")
    u, v = taut.velocities(q)
    laws = taut.conserved(taut.System(q, mass=1, forces=[-sp.sin(u), 0]), degree=2)
    assert v in [law.expression for law in laws]
    assert laws.complete.startswith("complete in this ansatz")
    (law,) = taut.conserved(taut.System(q, mass=1, potential=x**y), degree=2)
    assert law.kind == "energy"


def test_functions_that_occur_are_in_the_ansatz():
    x, y = q = taut.coordinates("x y")
    laws = taut.conserved(taut.System(q, mass=1, potential=sp.erf(x) + sp.asin(y)))
    assert laws.rank == 2


def test_rates_among_many_parameters_are_not_sought_for_ever():
    x, y, *rest = sp.symbols("x y a b c d e f g h")
    a, b, c, d, e, f, g, h = rest
    begin = time.perf_counter()
    laws = taut.conserved(taut.Flow([x, y], [a * b * x, c * d * e * y + f * g * h]), degree=1)
    assert sp.exp(-a * b * taut.t) * x in [law.expression for law in laws]
    assert time.perf_counter() - begin < 5


def test_products_of_decaying_laws_are_left_out():
    x, y, z = sp.symbols("x y z")
    flow = taut.Flow([x, y, z], [y - x, -x * z - y, x * y - z])
    laws = taut.conserved(flow, degree=4)
    assert [law.expression for law in laws] == [(y**2 + z**2) * sp.exp(2 * taut.t)]


def test_fast_decays_have_their_rate():
    x, y = sp.symbols("x y")
    laws = taut.conserved(taut.Flow([x, y], [-40 * x, x - 7 * y / 2]), degree=1)
    wanted = {x * sp.exp(40 * taut.t), (2 * x + 73 * y) * sp.exp(7 * taut.t / 2)}
    assert {law.expression for law in laws if law.kind == "decaying"} == wanted


def test_negative_cases_have_the_energy_only(found):
    assert [x.kind for x in found("henon_heiles")[3]] == ["energy"]
    assert "degree ≤ 4" in found("henon_heiles")[3].complete


def test_an_energy_that_no_ansatz_reaches_is_named():
    laws = taut.conserved(taut.problems.problem("fpu").system)
    assert [x.kind for x in laws] == ["energy"]


def test_floats_are_the_decimals_that_were_written():
    x, y = q = taut.coordinates("x y")
    model = taut.System(q, mass=[0.5, 0.5], potential=0.1 * (x**2 + y**2))
    assert [x.kind for x in taut.conserved(model)][:2] == ["energy", "angular momentum"]


def test_a_hamiltonian_has_laws_in_its_momenta():
    x, y = q = taut.coordinates("x y")
    px, py = taut.momenta(q)
    model = taut.System(q, hamiltonian=(px**2 + py**2) / 2 + (x**2 + y**2) ** 2)
    laws = taut.conserved(model)
    assert sorted(law.kind for law in laws) == ["angular momentum", "energy"]
    (turn,) = (law for law in laws if law.kind == "angular momentum")
    assert sp.expand(turn.expression**2 - (px * y - py * x) ** 2) == 0
    assert turn.point


def test_forces_take_laws_away_or_make_them_decay():
    x, _ = q = taut.coordinates("x y")
    u, v = taut.velocities(q)
    pull = taut.System(q, mass=1, forces=[0, 1])
    assert any(law.expression == u for law in taut.conserved(pull))
    drag = taut.conserved(taut.System(q, mass=1, forces=[-u, -v]))
    assert {law.kind for law in drag} >= {"decaying"}
    assert any(sp.simplify(law.expression - (u + x)) == 0 for law in drag)


def test_a_logarithm_that_is_in_the_energy_alone():
    x, y = q = taut.coordinates("x y")
    laws = taut.conserved(taut.System(q, mass=1, potential=sp.log(x**2 + y**2)))
    assert sorted(law.kind for law in laws) == ["angular momentum", "energy"]


def test_functions_and_degrees_can_be_given():
    x, v = sp.symbols("x v")
    flow = taut.Flow([x, v], [v, -3 * x * v - x**3])
    assert not taut.conserved(flow)
    laws = taut.conserved(flow, functions=[1 / (v + x**2)])
    assert laws.rank == 2
    (y,) = taut.coordinates("y")
    (w,) = taut.velocities([y])
    emden = taut.System([y], lagrangian=taut.t**2 * (w**2 / 2 - y**6 / 6))
    (law,) = taut.conserved(emden, degree=9, time=3)
    assert law.point
    (law,) = taut.conserved(emden)  # a scaling, which takes no degree
    assert law.point


def test_bad_requests_are_refused():
    model = CASES["kepler"]()[0]
    for wrong in (0, -1, 1.5, True, "2"):
        with pytest.raises(taut.InputError, match="degree"):
            taut.conserved(model, degree=wrong)
    with pytest.raises(taut.InputError, match="time"):
        taut.conserved(model, time=-1)
    with pytest.raises(taut.InputError, match="found for systems"):
        taut.conserved("kepler")
    with pytest.raises(taut.InputError, match="too many monomials") as caught:
        taut.conserved(model, degree=12)
    assert "in 8 functions" in str(caught.value)
    with pytest.raises(taut.InputError, match="too large for a search"):
        taut.conserved(taut.problems.problem("chain", links=21).system)
    x = sp.Symbol("x", real=True)
    with pytest.raises(taut.ModelError, match="where Abs occurs"):
        taut.conserved(taut.Flow([x], [sp.Abs(x)]))
    assert whole("degree", 3, 1) == 3


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_planted_symmetries_are_found_and_no_others(data):
    """A random potential of distances, or of differences, or of neither."""
    x, y = q = taut.coordinates("x y")
    u, v = taut.velocities(q)
    numbers = st.integers(1, 9)
    a, b, c = (data.draw(numbers) for _ in range(3))
    planted = data.draw(st.sampled_from(["rotation", "translation", "none"]))
    s = {"rotation": x**2 + y**2, "translation": x - 2 * y}.get(planted)
    if s is None:
        potential = a * x**3 + b * x * y**2 + c * y**4 + x
    else:
        potential = a * s + b * s**2 + c * s**3
    laws = taut.conserved(taut.System(q, mass=1, potential=potential), degree=3, time=1, budget=0.1)
    plain = [law for law in laws if law.kind != "energy"]
    if planted == "rotation":
        assert any(law.kind == "angular momentum" for law in plain)
    elif planted == "translation":
        assert any(sp.cancel(law.expression / (2 * u + v)).is_number for law in plain)
    else:
        assert not plain


def test_finding_it_twice_gives_the_same(found):
    first, second = (Finder(CASES["kepler"]()[0], (), 2) for _ in range(2))
    for finder in (first, second):
        finder.at(1)
        finder.at(2)
    assert [x.expression for x in first.found] == [x.expression for x in second.found]


def test_a_negative_budget_is_refused():
    x, y = q = taut.coordinates("x y")
    system = taut.System(q, mass=1, potential=x**2 + y**2)
    with pytest.raises(taut.TautError, match="budget"):
        taut.conserved(system, budget=-3)
    assert len(taut.conserved(system, budget=0)) > 0
