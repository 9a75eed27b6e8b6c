"""Factors that serve several steps: when they are renewed, and that nobody can tell."""

from itertools import combinations

import casadi as ca
import numpy as np
import pytest
import sympy as sp

import taut
from taut.kernel import kept_code, newtons
from taut.kernel.compile import workshop
from taut.kernel.eliminate import Factors, cost, operations
from taut.kernel.fused import HEAD

METHOD = "gauss-lobatto-6"
FINE = 0.01


def three_bodies(letter="x"):
    """Every body feels every other: Newton's matrix is full, and its factorisation dear."""
    q = taut.coordinates(" ".join(f"{letter}{i}" for i in range(6)))
    at = [sp.Matrix(q[2 * i : 2 * i + 2]) for i in range(3)]
    potential = -sum(1 / sp.sqrt((a - b).dot(a - b)) for a, b in combinations(at, 2))
    return taut.System(q, mass=[1] * 6, potential=potential)


BODIES = three_bodies()
TURN = 2 * np.pi * np.arange(3) / 3
PLACE = np.column_stack([np.cos(TURN), np.sin(TURN)]).ravel()
SPEED = np.column_stack([-np.sin(TURN), np.cos(TURN)]).ravel() * 3**-0.25


def simulated(slow=0.9, method=METHOD, step=FINE, duration=2.0, **given):
    v0 = np.multiply.outer(slow, SPEED)
    q0 = np.broadcast_to(PLACE, v0.shape)
    return taut.simulate(
        BODIES, q0=q0, v0=v0, method=method, step=step, duration=duration, laws=None, **given
    )


def compiled(run):
    return workshop(run.system).step(run.method, keep=run.keep)


def books(run, member=0):
    """(age, spent, pause) after the last step."""
    program = compiled(run).program
    at = HEAD * program.n + program.memory - program.room
    return run.ending.states[member][at : at + newtons.BOOKS]


# ---- factors -----------------------------------------------------------------------------------


def test_named_factors_solve_as_the_matrix_does():
    rng = np.random.default_rng(3)
    numbers = rng.standard_normal((6, 6)) + 6 * np.eye(6)
    numbers[0, 0] = numbers[2, 1] = 0.0  # a pivot that is missing, and one entry more
    pattern = ca.sparsify(ca.DM(numbers)).sparsity()
    matrix, right = ca.SX.sym("m", pattern), ca.SX.sym("b", 6)
    named, symbols, values = Factors.of(matrix).named("f")
    assert Factors.of(matrix).swaps
    b = rng.standard_normal(6)
    function = ca.Function("f", [matrix], [values])
    solve = ca.Function("s", [symbols, right], [named.solve(right)])
    found = np.array(solve(function(ca.sparsify(ca.DM(numbers))), b)).ravel()
    np.testing.assert_allclose(found, np.linalg.solve(numbers, b), rtol=0, atol=1e-13)


def test_constants_need_no_name():
    x = ca.SX.sym("x")
    matrix = ca.vertcat(ca.horzcat(2, x), ca.horzcat(0, 4))
    _, symbols, values = Factors.of(matrix).named("f")
    assert symbols.numel() == 1
    assert ca.is_equal(values[0], x)


def test_functions_cost_more_than_products():
    x = ca.SX.sym("x")
    expression = ca.sin(x) * x + 1 / x
    assert operations(expression, x) == 4
    assert cost(expression, x) == 20 + 1 + 4 + 1


# ---- when they are kept ------------------------------------------------------------------------


def test_dear_factors_are_kept_and_cheap_ones_are_not():
    program = compiled(simulated()).program
    (newton,) = program.newtons
    assert newton.price > newtons.DEAR
    assert program.room == newton.named.numel() + newtons.BOOKS > newtons.BOOKS
    assert not ca.depends_on(newton.change, newton.start)
    chain = taut.problems.problem("chain", links=3)
    run = chain.simulate(step=0.01, duration=0.1, method="gauss-lobatto-6", laws=None)
    program = compiled(run).program
    assert program.simplified
    assert program.newtons[0].price < newtons.DEAR
    assert program.room == 0


def test_too_many_are_not_kept(afresh, monkeypatch):
    afresh()
    monkeypatch.setattr(newtons, "ROOM", 10)
    assert compiled(simulated()).program.room == 0


def test_those_of_all_sub_steps_fit_on_a_stack(afresh, monkeypatch):
    """Each sub-step has its own; for many of them they were more than a thread has room for."""
    method = taut.Composition("gauss-lobatto-4", order=6)
    parts = len(method.substeps)
    program = compiled(simulated(method=method, duration=2 * FINE)).program
    size = program.room - newtons.BOOKS
    assert 0 < size * parts <= newtons.STACK
    afresh()
    monkeypatch.setattr(newtons, "STACK", size * parts - 1)
    assert compiled(simulated(method=method, duration=2 * FINE)).program.room == 0
    assert compiled(simulated(method="gauss-lobatto-4", duration=2 * FINE)).program.room


@pytest.mark.parametrize("method", ["gauss-lobatto-6", "lobatto-4", "time-element"])
def test_the_solution_is_that_of_new_factors(afresh, monkeypatch, method):
    if method == "time-element":
        method = taut.TimeElement(degree=3)
    steps = (0.16, 0.04, 0.01)
    kept = [simulated(method=method, step=step) for step in steps]
    afresh()
    monkeypatch.setattr(newtons, "DEAR", np.inf)
    new = [simulated(method=method, step=step) for step in steps]
    assert compiled(new[0]).program.room == 0
    for one, two in zip(kept, new, strict=True):
        assert len(one.ending.states[0]) > len(two.ending.states[0])
        np.testing.assert_allclose(one.q, two.q, rtol=0, atol=2e-13)


def test_they_serve_many_steps():
    age, spent, pause = books(simulated(duration=5 * FINE))
    assert age == 5
    assert spent >= 5
    assert pause == 0


def test_slow_convergence_of_old_factors_is_not_taken_for_noise():
    """While a coordinate is nearly at rest, moves relative to it are large, and so is noise."""
    chain = taut.problems.problem("chain", links=5)
    run = chain.simulate(step=0.0025, method="gauss-lobatto-8", duration=2.0, laws=None)
    assert compiled(run).program.room
    assert np.ptp(run.energy) < 5e-15 * np.abs(run.energy).max()


@pytest.mark.parametrize(("step", "tries"), [(0.04, kept_code.TRIES), (0.02, 25)])
def test_coarse_steps_pause(afresh, monkeypatch, step, tries):
    """Where old factors fail or do not pay at once, the next steps are made with new ones."""
    afresh()
    monkeypatch.setattr(kept_code, "TRIES", tries)
    zg = taut.problems.problem("zg-double")
    given = {"step": step, "method": "gauss-lobatto-8", "laws": None}
    seen = np.array([books(zg.simulate(**given, duration=k * step)) for k in range(1, 81)])
    age, pause = seen[:, 0], seen[:, 2]
    assert pause.max() == kept_code.PAUSE
    begun = int(np.argmax(pause))
    length = len(pause[begun : begun + 50])
    assert length > 10
    assert np.all(np.diff(pause[begun : begun + 50]) == -1)
    assert np.all(age[begun : begun + 50] == 0)  # the next step takes new ones


def test_where_it_does_not_pay_it_costs_little():
    """Without pauses, every second step would try old factors: 4.9 iterations per step."""
    zg = taut.problems.problem("zg-double")
    run = zg.simulate(step=0.01, duration=5.0, method="gauss-lobatto-8", laws=None)
    assert compiled(run).program.room
    assert run.certificate.iterations < 4.3


def test_what_does_not_converge_begins_again_with_new_factors(afresh, monkeypatch):
    """With one try, old factors fail in every step; the run is the same, and without setbacks."""
    usual = simulated(step=0.04)
    afresh()
    monkeypatch.setattr(kept_code, "TRIES", 1)
    run = simulated(step=0.04)
    assert run.ending.setbacks == [0]
    assert run.certificate.iterations > usual.certificate.iterations * 0.5
    assert books(run)[0] == 0  # and it pauses
    assert books(run)[2] > 0
    np.testing.assert_allclose(run.q, usual.q, rtol=0, atol=2e-13)


# ---- and nobody can tell -----------------------------------------------------------------------


@pytest.mark.parametrize("method", [METHOD, taut.Composition("gauss-lobatto-4", order=6)])
@pytest.mark.parametrize("cut", [1, 7, 50])
def test_a_run_in_two_parts_is_the_same_to_the_bit(method, cut):
    whole = simulated(method=method, duration=1.0)
    both = simulated(method=method, duration=cut * FINE).continue_(duration=1.0 - cut * FINE)
    assert np.array_equal(both.q, whole.q)
    assert np.array_equal(books(both), books(whole))


@pytest.mark.usefixtures("width")
def test_a_trajectory_does_not_depend_on_its_batch():
    """Lanes renew at different times, pause, and begin again, each for itself."""
    slow = np.array([0.3, 0.9, 0.5, 1.0, 0.35, 0.7, 0.4, 0.8, 0.6])
    batch = simulated(slow=slow, step=0.02, duration=4.0)
    ages = set()
    for i, x in enumerate(slow):
        alone = simulated(slow=x, step=0.02, duration=4.0)
        assert np.array_equal(batch.q[i], alone.q), x
        assert np.array_equal(books(batch, i), books(alone)), x
        ages.add(tuple(books(alone)))
    assert len(ages) > 3


@pytest.mark.usefixtures("width")
def test_lanes_that_fail_leave_no_trace_in_others():
    """A step in which one of them fails is taken back by all, with the factors it has renewed."""
    failing, slow = 0.01, np.linspace(0.3, 1.0, 7)
    step = 0.02
    with pytest.raises(taut.StepError) as error:
        simulated(slow=np.array([failing, *slow]), step=step)
    batch = error.value.partial
    for i, x in enumerate(slow, 1):
        alone = simulated(slow=x, step=step)
        assert np.array_equal(batch.q[i], alone.q), x
        assert np.array_equal(books(batch, i), books(alone)), x


def test_between_steps_and_with_varying_ones(monkeypatch):
    run = simulated(duration=1.0, every=10)
    every = simulated(duration=1.0)
    np.testing.assert_allclose(run.at(every.t).q, every.q, rtol=0, atol=1e-12)
    monkeypatch.setattr("taut.march.dense.MOST", 3 * compiled(run).slots)
    np.testing.assert_array_equal(run.at(every.t).q, run.at(every.t[::-1]).q[::-1])
    x, y = BODIES.coordinates[:2]
    adaptive = taut.Adaptive(METHOD, scale=x**2 + y**2)
    varied = simulated(method=adaptive, duration=2.0, slow=0.6)
    fine = simulated(duration=2.0, slow=0.6, step=0.002)
    np.testing.assert_allclose(varied.q[-1], fine.q[-1], rtol=0, atol=1e-6)
