"""Newton with a matrix that is kept: guesses, when it gives up, and what happens then."""

import casadi as ca
import numpy as np
import pytest
import sympy as sp

import taut
from taut.kernel import newtons
from taut.kernel.compile import workshop
from taut.kernel.newtons import DEEP, HISTORY, _extrapolated
from taut.march import run as marching
from taut.march.run import one_step
from taut.methods import tableaux

ZG = taut.problems.problem("zg-double")
KEPT = ["gauss-lobatto-8", "lobatto-6", "ggl"]
METHOD = "gauss-lobatto-8"
FINE, COARSE = 0.01, 0.1  # steps that the kept matrix can make all, and not


@pytest.fixture
def always(monkeypatch, afresh):
    """The matrix is kept even where it does not pay."""
    monkeypatch.setattr(newtons, "PAYS", 0.0)
    afresh("always")


def compiled(name, problem=ZG):
    run = problem.simulate(step=FINE, duration=FINE, method=name)
    return workshop(run.system).step(run.method, keep=run.keep)


# ---- guesses -----------------------------------------------------------------------------------


def memory_of(function, nodes, steps):
    """Values at the stages of the steps before now, the last first."""
    return np.concatenate([[function(c - k) for c in nodes] for k in range(1, steps + 1)])


def guessed(nodes, memory, back):
    z, history = ca.SX.sym("z", len(nodes)), ca.SX.sym("m", HISTORY * len(nodes))
    families = [([z[i] for i in range(len(nodes))], np.array(nodes))]
    function = ca.Function("f", [history], [_extrapolated(z, history, families, back)])
    return np.array(function(memory)).ravel()


@pytest.mark.parametrize("back", [1, 2])
@pytest.mark.parametrize("stages", [2, 3, 4, 5])
@pytest.mark.parametrize("kind", ["gauss", "lobatto"])
def test_polynomials_are_guessed_exactly(kind, stages, back):
    nodes = tableaux.rounded([getattr(tableaux, f"{kind}_nodes")(stages)])[0]
    known = stages * back if stages <= DEEP else stages
    if kind == "lobatto" and back == 2 and stages <= DEEP:
        known -= 1  # where two steps meet
    for degree, exact in ((known - 1, True), (known, False)):
        memory = memory_of(lambda t, d=degree: t**d, nodes, HISTORY)
        error = np.abs(guessed(nodes, memory, back) - nodes**degree).max()
        assert (error < 1e-8) == exact, degree


def test_before_the_third_step_the_methods_own_guess_is_not_taken_for_a_step():
    nodes = tableaux.rounded([tableaux.gauss_nodes(3)])[0]
    first = memory_of(lambda t: 5 + t**2, nodes, 1)
    made = guessed(nodes, np.concatenate([first, np.full(3, 7.0), np.full(3, 7.0)]), 2)
    assert made == pytest.approx(5 + nodes**2, rel=1e-12)


def test_what_never_moves_is_guessed_to_stay():
    nodes = tableaux.rounded([tableaux.gauss_nodes(4)])[0]
    assert guessed(nodes, np.full(12, 0.3), 2) == pytest.approx(0.3, abs=1e-12)


# ---- the matrix --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KEPT)
def test_many_stages_keep_their_matrix(name):
    step = compiled(name)
    assert step.simplified
    assert not step.thorough.simplified
    assert step.thorough.slots == step.slots
    for newton in step.program.newtons:
        solved = ca.vertcat(newton.change, newton.factors)
        assert newton.simplified == ca.depends_on(solved, newton.start)


@pytest.mark.parametrize(
    "name", ["rattle", "time-element", "energy-momentum-hidden", "implicit-trapezoid"]
)
def test_one_stage_does_not(name):
    assert not compiled(name).simplified


def test_it_is_kept_where_it_pays(monkeypatch):
    """Few unknowns are eliminated sooner than another iteration is made."""
    assert not compiled("gauss-lobatto-4").simplified
    assert compiled("gauss-lobatto-8").simplified
    monkeypatch.setattr(newtons, "PAYS", 1e9)
    own = taut.problems.problem("chain", links=2)
    assert not compiled("gauss-lobatto-8", own).simplified


def test_nor_does_what_bends_with_the_velocities(always):
    """An energy that is not quadratic in them."""
    x, y = q = taut.coordinates("x y")
    u, v = taut.velocities(q)
    energy = (u**2 + v**2) / 2 + u**4 / 4
    system = taut.System(q, lagrangian=energy - y, constraints=[x**2 + y**2 - 1])
    run = taut.simulate(
        system, q0=[0, -1], v0=[1, 0], step=0.01, duration=0.1, method="gauss-lobatto-4"
    )
    assert not workshop(run.system).step(run.method, keep=run.keep).simplified


def test_coordinates_without_a_diagonal_are_no_multipliers(always):
    """A kinetic energy of mixed velocities only: nothing of it may be left out."""
    a, b = q = taut.coordinates("a b")
    u, w = taut.velocities(q)
    system = taut.System(q, lagrangian=u * w * (1 + a**2 / 4) - a * b - a**3 * b)
    run = taut.simulate(
        system, q0=[0.3, 0.2], v0=[0.1, 0.4], step=0.01, duration=1, method="lobatto-4"
    )
    assert workshop(run.system).step(run.method, keep=run.keep).simplified
    assert run.ending.setbacks == [0]


@pytest.mark.parametrize("name", KEPT)
def test_it_finds_what_the_exact_matrix_finds(name, monkeypatch):
    one = ZG.simulate(step=FINE, duration=1, method=name)
    assert one.ending.setbacks == [0]
    thorough = compiled(name).thorough
    monkeypatch.setattr(workshop(one.system), "step", lambda *a, **k: thorough)
    two = ZG.simulate(step=FINE, duration=1, method=name)
    assert np.abs(one.q - two.q).max() < 1e-12
    assert not np.array_equal(one.q, two.q)  # they are two


def far_away(distance):
    x, y = q = taut.coordinates("x y")
    rod = (x - distance) ** 2 + (y - distance) ** 2 - 1
    system = taut.System(q, mass=[1.25, 1.25], potential=12 * y, constraints=[rod])
    return system, {"q0": [distance + 0.6, distance + 0.8], "v0": [0.8, -0.6]}


def stiff():
    x, y = q = taut.coordinates("x y")
    system = taut.System(q, mass=[1, 1.5], potential=5e3 * (x - y) ** 2 + x**4 + sp.cos(y))
    return system, {"q0": [0.5, 0.51], "v0": [1, 0]}


@pytest.mark.parametrize("name", ["gauss-lobatto-4", "gauss-lobatto-8", "lobatto-6"])
@pytest.mark.parametrize(
    ("make", "step"),
    [
        (lambda: far_away(1e6), 0.09), (lambda: far_away(1e4), 0.05), (stiff, 0.03),
        (lambda: (ZG.system, {"q0": ZG.q0, "v0": ZG.v0}), 0.09),
    ],
    ids=["far", "less far", "stiff", "coarse"],
)  # fmt: skip
def test_every_step_is_solved_to_the_end(make, step, name, always):
    """Each step of a run, made again with the exact matrix from the same state."""
    system, start = make()
    run = taut.simulate(system, **start, step=step, duration=60 * step, method=name, laws=None)
    kept = workshop(run.system).step(run.method, keep=run.keep)
    assert kept.simplified
    worst = 0.0
    for q, v, p, t in zip(run.q[:-1], run.v[:-1], run.p[:-1], run.t[:-1], strict=True):
        one, two = (one_step(x, q, v, p, t, step, run._par) for x in (kept, kept.thorough))
        move = np.abs(two[0] - q).max() + 16 * 2.0**-52 * np.abs(q).max() / 1e-11
        worst = max(worst, np.abs(one[0] - two[0]).max() / move)
    assert worst < 1e-11


@pytest.mark.parametrize(("name", "step"), [("lobatto-6", 0.005), ("gauss-lobatto-8", 0.005)])
def test_it_leaves_no_more_of_a_drift_than_the_exact_matrix(name, step, always, monkeypatch):
    """What is left of each step adds up in the energy over 10⁵ of them."""
    problem = taut.problems.problem("spherical-pendulum")

    def band():
        run = problem.simulate(step=step, duration=1e5 * step, method=name, every=1000, laws=None)
        return run, run.certificate.energy.band

    run, kept = band()
    step_of = workshop(run.system).step(run.method, keep=run.keep)
    assert step_of.simplified
    exact = step_of.thorough
    monkeypatch.setattr(workshop(run.system), "step", lambda *a, **k: exact)
    assert kept < 4 * band()[1] + 1e-14


# ---- setbacks ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KEPT)
def test_steps_it_cannot_make_are_made_with_the_exact_matrix(name, monkeypatch):
    one = ZG.simulate(step=COARSE, duration=3, method=name)
    (setbacks,) = one.ending.setbacks
    assert 0 < setbacks < 30
    thorough = compiled(name).thorough
    monkeypatch.setattr(workshop(one.system), "step", lambda *a, **k: thorough)
    two = ZG.simulate(step=COARSE, duration=3, method=name)
    assert np.abs(one.q - two.q).max() < 1e-10


def test_slow_convergence_is_not_taken_for_noise(monkeypatch):
    """At coarse steps updates may fall little by little, or by turns."""
    one = ZG.simulate(step=COARSE, duration=20, method=METHOD)
    thorough = compiled(METHOD).thorough
    monkeypatch.setattr(workshop(one.system), "step", lambda *a, **k: thorough)
    two = ZG.simulate(step=COARSE, duration=20, method=METHOD)
    assert abs(one.energy[-1] - two.energy[-1]) < 1e-10


def test_after_too_many_setbacks_it_is_given_up(monkeypatch):
    monkeypatch.setattr(marching, "PATIENCE", 2)
    run = ZG.simulate(step=COARSE, duration=3, method=METHOD)
    assert run.ending.setbacks == [marching.GIVEN_UP]
    further = run.continue_(duration=1)
    assert further.ending.setbacks == [marching.GIVEN_UP]


def test_in_a_long_run_more_of_them_are_borne(monkeypatch):
    """One in fifty steps, counted from the beginning of the run and not of its last part."""
    monkeypatch.setattr(marching, "PATIENCE", 0)
    monkeypatch.setattr(marching, "RARE", 1)  # as many as there have been steps
    run = ZG.simulate(step=COARSE, duration=3, method=METHOD)
    assert run.ending.setbacks[0] > 1
    further = run.continue_(duration=3)
    assert further.ending.setbacks[0] > run.ending.setbacks[0]


@pytest.mark.parametrize("patience", [2, 1000])
@pytest.mark.parametrize("cut", [7, 14])
def test_a_run_in_two_parts_is_the_same_to_the_bit(monkeypatch, patience, cut):
    monkeypatch.setattr(marching, "PATIENCE", patience)
    whole = ZG.simulate(step=COARSE, duration=3, method=METHOD)
    part = ZG.simulate(step=COARSE, duration=cut * COARSE, method=METHOD)
    both = part.continue_(duration=3 - cut * COARSE)
    assert both.ending.setbacks == whole.ending.setbacks != [0]
    assert np.array_equal(both.q, whole.q)
    assert both.certificate.max_g == whole.certificate.max_g


def test_a_change_of_chart_does_not_forget_that_it_was_given_up(monkeypatch):
    monkeypatch.setattr(marching, "PATIENCE", 2)
    monkeypatch.setattr(newtons, "PAYS", 0.0)
    a, b, c = q = taut.coordinates("a b c")
    pa, pb, pc = taut.momenta(q)
    energy = pa**2 * (1 + b**2 / 2) + pb**2 * (1 + c**2 / 2) + pc**2 * (1 + a**2 / 2)
    system = taut.System(q, hamiltonian=energy / 2 + 10 * c, constraints=[a**2 + b**2 + c**2 - 1])
    method = taut.TimeElement(form="independent", quadrature="gauss2")
    given = {"q0": [0.6, 0, 0.8], "v0": [0, 1, 0], "step": 0.1, "method": method}
    whole = taut.simulate(system, **given, duration=30)
    assert whole.certificate.charts > 3
    for cut in (1, 2, 4, 9, 13, 17, 21, 26):
        part = taut.simulate(system, **given, duration=cut)
        assert np.array_equal(part.continue_(duration=30 - cut).q, whole.q), cut
    assert part.ending.setbacks == whole.ending.setbacks == [marching.GIVEN_UP]


ANGLES = (0.1, 1.0, 2.0, 3.0)
STARTS = np.array([[np.sin(a), np.cos(a), 2 * np.sin(a), 2 * np.cos(a)] for a in ANGLES])


@pytest.mark.parametrize("patience", [3, 100])
def test_a_trajectory_does_not_depend_on_its_batch(monkeypatch, patience):
    """One that needs the exact matrix goes on alone: all are what they are by themselves."""
    monkeypatch.setattr(marching, "PATIENCE", patience)
    given = {"step": 0.05, "duration": 20, "method": METHOD}
    batch = taut.simulate(ZG.system, q0=STARTS, v0=0 * STARTS, **given)
    alone = [taut.simulate(ZG.system, q0=q, v0=0 * q, **given) for q in STARTS]
    assert batch.ending.setbacks == [run.ending.setbacks[0] for run in alone]
    assert len(set(batch.ending.setbacks)) > 1
    assert np.array_equal(batch.q, np.array([run.q for run in alone]))


@pytest.mark.parametrize("patience", [3, 100])
def test_a_batch_in_two_parts_is_the_same_to_the_bit(monkeypatch, patience):
    monkeypatch.setattr(marching, "PATIENCE", patience)
    given = {"q0": STARTS, "v0": 0 * STARTS, "step": 0.05, "method": METHOD}
    whole = taut.simulate(ZG.system, **given, duration=20)
    for first in (4, 12):
        both = taut.simulate(ZG.system, **given, duration=first).continue_(duration=20 - first)
        assert both.ending.setbacks == whole.ending.setbacks
        assert np.array_equal(both.q, whole.q)


def test_varying_steps_go_on_as_they_were(monkeypatch):
    monkeypatch.setattr(marching, "PATIENCE", 1)
    _, _, x2, y2 = ZG.system.coordinates
    method = taut.Adaptive(METHOD, scale=1 + (x2**2 + y2**2) / 8)
    run = ZG.simulate(step=COARSE, duration=3, method=method)
    assert run.ending.setbacks == [marching.GIVEN_UP]
    monkeypatch.setattr(marching, "PATIENCE", 1000)
    assert run.continue_(duration=1).ending.setbacks == [marching.GIVEN_UP]


def test_between_coarse_steps_and_at_events():
    run = ZG.simulate(step=COARSE, duration=3, method=METHOD, every=10, events=["x1"])
    assert run.ending.setbacks[0] > 0
    every = ZG.simulate(step=COARSE, duration=3, method=METHOD)
    assert np.abs(run.at(every.t).q - every.q).max() < 1e-8
    assert np.abs(run.events["x1"].q[:, 0]).max() < 1e-12


# ---- many multipliers ----------------------------------------------------------------------------


def test_what_rounding_does_to_multipliers_of_light_directors_moves_nothing():
    """Each of them may be off by 1e−13; together they move coordinates by 1e−16, which is noise."""
    run = taut.problems.problem("spatial-four-bar").simulate(duration=0.1, laws=None)
    assert workshop(run.system).unrolled(run.method)
    assert run.certificate.to_dict()["newton_iterations_max"] < 10
