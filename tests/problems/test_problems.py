"""Every problem: its start, its facts and its closed form fit its system."""

import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import taut
from taut import problems
from taut.problems.gaps import gap

STENCIL = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60  # 6th-order first derivative
SMALL = {"cloth": {"points": 5}}  # what is as good a test, and quicker
INCONSISTENT = ["zg-spatial", "zg-spatial-printed"]
EXACT = [
    "pendulum", "period-2-pendulum", "spherical-pendulum", "circular-track",
    "zg-pendulum", "zg-spherical", "zg-spherical-printed", "iftomm-a01",
]  # fmt: skip
# Which of their equations determine the others is not the same along the whole way.
CHANGING = ["bennett"]
# Closed forms of motions whose multipliers are not unique, or not known: see test_mechanisms.py
MOTIONS = ["iftomm-a02", "dzhanibekov", "spatial-four-bar", "bennett"]


@cache
def built(name):
    return problems.problem(name, **SMALL.get(name, {}))


@pytest.fixture(params=problems.names())
def problem(request):
    return built(request.param)


@pytest.fixture(params=EXACT)
def solved(request):
    return built(request.param)


VALUES = ("q", "v", "p", "multipliers", "energy", "period", "quantity")


def listed(kind, values=VALUES):
    """(problem, fact, name of a value it gives) for all facts of a kind."""
    return pytest.mark.parametrize(
        ("problem", "fact", "which"),
        [
            pytest.param(p, fact, which, id=f"{p.name}: {fact.what}: {which}")
            for p in map(built, problems.names())
            for fact in p.facts
            for which in values
            if getattr(fact, which) is not None and kind(p, fact)
        ],
    )


def test_the_energy_of_a_fact_is_held_against_every_step():
    """Of stored states the two ends would be all, and an oscillation between them unseen."""
    given = built("zg-double")
    fact = next(f for f in given.facts if f.t is None and f.energy is not None and not f.raw)
    whole, ends = (given.simulate(duration=2, every=k) for k in (1, 200))
    assert len(ends.t) == 2
    assert gap(fact, ends) == pytest.approx(gap(fact, whole), rel=1e-9)
    assert gap(fact, whole) == pytest.approx(np.abs(whole.energy - fact.energy).max(), rel=1e-9)
    assert gap(fact, ends) > 1.5 * np.abs(ends.energy - fact.energy).max()


def numeric(problem, *expressions):
    """Expressions of q, v, t as one function (q, v, t) → list of arrays."""
    s = problem.system
    values = dict(zip(s.parameters, s.values(problem.parameters), strict=True))
    table = {sp.Symbol(name, real=True): value for name, value in values.items()}
    ready = [sp.sympify(e).subs(table) for e in expressions]
    f = sp.lambdify([*s.coordinates, *s.velocities, taut.t], ready, modules="numpy")
    return lambda q, v, t: f(*np.moveaxis(q, -1, 0), *np.moveaxis(v, -1, 0), t)


def energy(problem, q, v, t):
    """v·L_v − L, by SymPy."""
    s = problem.system
    lagrangian = s.energy_function
    total = sum(w * lagrangian.diff(w) for w in s.velocities) - lagrangian
    return numeric(problem, total)(np.asarray(q), np.asarray(v), t)[0]


def kinetic_energy(problem, run):
    if problem.mechanism is not None:
        return sum(run[name].kinetic_energy for name in problem.mechanism.parts)
    return energy(problem, run.q, run.v, run.t) - energy(problem, run.q, 0 * run.v, run.t)


def start_of(problem):
    """The first row of a run of one step."""
    return problem.simulate(duration=problem.step, laws=None)


# ---- the catalogue -----------------------------------------------------------------------------


def test_importing_the_catalogue_builds_nothing():
    code = (
        "import sys, taut.problems as p; "
        "print([m for m in sys.modules if m.startswith('taut.problems.')], len(p.names()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["[]", str(len(problems.PROBLEMS))]


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(taut.UnknownName, match=r"car-axis.*pendulum.*zg-double"):
        problems.problem("pendulm")


def test_problem_and_fact_are_public():
    assert isinstance(problems.problem("pendulum"), problems.Problem)
    assert isinstance(problems.problem("pendulum").facts[0], problems.Fact)
    with pytest.raises(AttributeError):
        _ = problems.Theorem


def test_parameters_change_the_motion_and_drop_the_facts():
    moon = problems.problem("pendulum", g=1.62)
    assert (moon.facts, moon.exact, moon.exact_multipliers) == ((), None, None)
    earth = problems.problem("pendulum")
    # Released at rest the height falls by g t²/2.
    heights = [p.simulate(duration=0.01, step=0.001).q[-1, 1] for p in (earth, moon)]
    assert heights == pytest.approx([-9.81e-4 / 2, -1.62e-4 / 2], rel=1e-4)
    with pytest.raises(taut.UnknownName, match="gravity"):
        problems.problem("pendulum", gravity=1.62)


def test_a_chain_has_as_many_links_as_asked_for():
    three, cq = problems.problem("chain", links=3), problems.problem("cq-triple")
    assert three.q0 == pytest.approx(cq.q0, abs=1e-15)
    runs = [p.simulate(duration=1, step=0.01, laws=None) for p in (three, cq)]
    assert runs[0].q == pytest.approx(runs[1].q, abs=1e-14)
    assert three.facts[0].energy == pytest.approx(cq.facts[0].energy, abs=1e-15)
    eight = problems.problem("chain", links=8.0)  # as the command line reads it
    assert (eight.system.n, eight.system.c, len(eight.facts)) == (16, 8, 1)
    assert problems.problem("chain", links=2, g=2).parameters == {"g": 2}
    for links in (1, 2.5):
        with pytest.raises(taut.InputError, match="from 2 on"):
            problems.problem("chain", links=links)


def test_any_argument_of_a_run_may_be_changed():
    p = problems.problem("zg-spherical")
    run = p.simulate(step=p.more_steps[0], duration=1, method="time-element", p0=(0.01, 0, 0))
    assert (len(run), run.method.name, run.p[0, 0]) == (11, "time-element", 0.01)


def test_a_tolerance_instead_of_the_problems_step():
    run = problems.problem("kepler-sphere").simulate(tolerance=1e-3, duration=3)
    assert run.tolerance == 1e-3
    assert run.method.pace is None
    with pytest.raises(taut.InputError, match="one too many"):
        problems.problem("pendulum").simulate(tolerance=1e-3, step=0.1)


def test_every_problem_says_what_it_is_and_where_it_comes_from(problem):
    module, function = problems.PROBLEMS[problem.name].split(":")
    module = import_module(f"taut.problems.{module}")
    assert "\nSource: " in module.__doc__
    assert len(module.__doc__.strip()) > 300
    assert getattr(module, function).__doc__
    assert problem.title
    assert problem.source
    assert problem.facts
    assert all(fact.what and fact.source for fact in problem.facts)


PAGE = Path(__file__).parents[2] / "docs" / "problems.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not in the source archive")
def test_the_page_lists_every_problem_with_its_settings(problem):
    rows = PAGE.read_text(encoding="utf-8").splitlines()
    row = next(row for row in rows if row.startswith(f"| `{problem.name}` | "))
    steps = " and ".join(f"{step:g}" for step in (problem.step, *problem.more_steps))
    settings = f"{steps}, {problem.duration:g} |".replace("0.0001", "1e−4")
    assert row.endswith(settings)


# ---- starts ------------------------------------------------------------------------------------


def test_the_start_is_consistent_exactly_where_it_is_said_to_be(problem):
    assert problem.project == (problem.name in INCONSISTENT)
    settings = {"duration": problem.step, "project": False}
    if problem.project:
        with pytest.raises(taut.InconsistentStart) as caught:
            problem.simulate(**settings)
        # Positions fit; it is the velocities that leave the constraints.
        assert np.abs(caught.value.g).max() < 1e-15
        assert np.abs(caught.value.hidden).max() > 0.05
    else:
        run = problem.simulate(**settings)
        assert not run.projected
        for found, given in ((run.q[0], problem.q0), (run.v[0], problem.v0)):
            atol = 1e-15 * max(0.6, np.abs(given).max())  # a few roundings
            np.testing.assert_allclose(found, given, rtol=0, atol=atol)


def test_constraints_stay_at_round_off(problem):
    run = problem.simulate(duration=300 * problem.step)
    scale = max(1, np.abs(run.q).max() / 2)  # differences of coordinates keep their round-off
    if problem.name in CHANGING:
        scale *= 1e4
    light = 1 if problem.mechanism is None else 5  # thin bodies have directors of little mass
    assert np.abs(run.constraints).max(initial=0) <= 2e-15 * scale
    assert np.abs(run.hidden).max(initial=0) <= 4e-15 * light * scale * np.abs(run.v).max()


def test_the_settings_show_the_motion(problem):
    """The declared step resolves it: energy (or the balance of work) stays in a narrow band."""
    run = problem.simulate()
    assert np.all(np.isfinite(run.q))
    steps = problem.duration / problem.step
    assert steps == pytest.approx(round(steps), abs=1e-9)
    if problem.system.conservative:
        kinetic = kinetic_energy(problem, run)
        limit = 5e-2 if problem.name == "cq-triple" else 1e-2  # the paper's own step is coarse
        assert np.ptp(run.energy) < limit * kinetic.max()


# ---- facts -------------------------------------------------------------------------------------


@listed(lambda p, f: f.raw, ["energy"])
def test_the_energy_of_a_start_before_projection_is_the_known_one(problem, fact, which):
    found = energy(problem, problem.q0, problem.v0, problem.t0)
    assert found == pytest.approx(fact.energy, abs=fact.accuracy, rel=0)
    assert abs(found - start_of(problem).energy[0]) > 1e-3  # projection changes it


@listed(lambda p, f: f.t in (None, p.t0) and not f.raw, ["q", "v", "p", "multipliers", "energy"])
def test_the_start_is_the_known_one(problem, fact, which):
    found = getattr(start_of(problem), which)[0]
    np.testing.assert_allclose(found, getattr(fact, which), rtol=0, atol=fact.accuracy)


@listed(lambda p, f: True, ["quantity"])
def test_conserved_quantities_have_the_known_value(problem, fact, which):
    run = problem.simulate(duration=100 * problem.step)
    values = numeric(problem, fact.quantity)(run.q, run.v, run.t)[0]
    np.testing.assert_allclose(values, fact.value, rtol=0, atol=fact.accuracy)


@listed(lambda p, f: p.exact is not None and f.t is not None)
def test_facts_lie_on_the_closed_form(problem, fact, which):
    q, v = problem.exact(fact.t)
    found = {
        "q": q, "v": v, "p": v, "multipliers": problem.exact_multipliers(fact.t),
        "energy": energy(problem, q, v, fact.t),
    }[which]  # fmt: skip
    np.testing.assert_allclose(found, getattr(fact, which), rtol=0, atol=fact.accuracy)


@listed(lambda p, f: True, ["period"])
def test_the_period_is_the_period(problem, fact, which):
    t = np.linspace(0.1, 1.4, 7) * fact.period
    here, later, half = (problem.exact(s)[0] for s in (t, t + fact.period, t + fact.period / 2))
    np.testing.assert_allclose(later, here, rtol=0, atol=1e-13)
    assert np.abs(half - here).max() > 1


@listed(lambda p, f: f.t is not None, ["v", "p"])
def test_known_states_meet_the_constraints_and_the_known_energy(problem, fact, which):
    s = problem.system
    q = np.array(fact.q if fact.q is not None else problem.q0)
    v = np.array(getattr(fact, which))
    rates = [*zip(s.coordinates, s.velocities, strict=True), (taut.t, 1)]
    hidden = [sum(g.diff(x) * rate for x, rate in rates) for g in s.constraints]
    residuals = numeric(problem, *s.constraints, *hidden)(q, v, fact.t)
    assert np.abs(residuals).max(initial=0) <= 10 * fact.accuracy
    if s.conservative:
        start = start_of(problem).energy[0]
        assert energy(problem, q, v, fact.t) == pytest.approx(start, abs=50 * fact.accuracy)


# ---- closed forms ------------------------------------------------------------------------------


def test_the_closed_forms_are_those_listed(problem):
    assert (problem.exact is not None) == (problem.name in EXACT + MOTIONS)
    assert (problem.exact_multipliers is not None) == (problem.name in EXACT)


def test_the_closed_form_begins_at_the_start(solved):
    q, v = solved.exact(solved.t0)
    np.testing.assert_allclose(q, solved.q0, rtol=0, atol=1e-15)
    np.testing.assert_allclose(v, solved.v0, rtol=0, atol=2e-15)


def test_the_closed_form_takes_times_of_any_shape(solved):
    t = solved.t0 + np.array([[0.1, 2.0, 0.7], [0.0, 3.1, 1.3]])
    q, v = solved.exact(t)
    n = solved.system.n
    assert q.shape == v.shape == (2, 3, n)
    assert solved.exact_multipliers(t).shape == (2, 3, solved.system.c)
    np.testing.assert_array_equal(q[1, 2], solved.exact(t[1, 2])[0])
    np.testing.assert_array_equal(v[0, 1], solved.exact(float(t[0, 1]))[1])


def test_the_closed_form_satisfies_constraints_and_equations_of_motion(solved):
    """L_vv a + L_vq v + L_vt − L_q − f + Gᵀλ = 0 and q̇ = v, derivatives by differences in time."""
    s = solved.system
    t = solved.t0 + solved.duration * np.linspace(0.003, 0.997, 61)
    small = 2e-3
    around = t[:, None] + small * np.arange(-3, 4)
    q_around, v_around = solved.exact(around)
    rate, acceleration = (np.einsum("k,tkn->tn", STENCIL, x) / small for x in (q_around, v_around))
    q, v = solved.exact(t)
    size = np.abs(v).max()
    np.testing.assert_allclose(rate, v, rtol=0, atol=1e-10 * size)

    lagrangian, multipliers = s.energy_function, solved.exact_multipliers(t)
    a, lam = sp.symbols(f"a0:{s.n}"), sp.symbols(f"l0:{s.c}")
    rates = [*zip(s.coordinates, s.velocities, strict=True), *zip(s.velocities, a, strict=True)]
    rates.append((taut.t, 1))
    residual = []
    for x, w, force in zip(s.coordinates, s.velocities, s.forces, strict=True):
        change = sum(lagrangian.diff(w, y) * rate for y, rate in rates)
        push = sum(g.diff(x) * l for g, l in zip(s.constraints, lam, strict=True))
        residual.append(change - lagrangian.diff(x) - force + push)
    values = dict(zip(s.parameters, s.values(solved.parameters), strict=True))
    table = {sp.Symbol(name, real=True): value for name, value in values.items()}
    f = sp.lambdify(
        [*s.coordinates, *s.velocities, *a, *lam, taut.t],
        [e.subs(table) for e in (*s.constraints, *residual)],
        modules="numpy",
    )
    found = f(*q.T, *v.T, *acceleration.T, *multipliers.T, t)
    assert np.abs(found[: s.c]).max() <= 2e-15
    assert np.abs(found[s.c :]).max() <= 1e-9 * np.abs(acceleration).max()


def test_the_period_2_pendulum_repeats_itself_after_any_time():
    exact = problems.problem("period-2-pendulum").exact
    t = np.array([0.25, 0.5, 1.125])
    for now, later in zip(exact(t), exact(t + 2e6), strict=True):
        np.testing.assert_array_equal(now, later)
