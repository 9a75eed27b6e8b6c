"""Guesses of assembled steps: polynomials through a ring of values, and what is learnt of κ."""

import numpy as np
import pytest
import sympy as sp
from numba import njit

import taut
from taut.kernel import guesses
from taut.kernel.assembled import assemble
from taut.kernel.guesses import BOOKS, DEPTH, KAPPA, LEFT, ORDER
from taut.methods.catalogue import method_of

# As Python can call them.
back = njit(guesses.back.py_func)
best_order = njit(guesses.best_order.py_func)
extrapolate = njit(guesses.extrapolate.py_func)
learn = njit(guesses.learn.py_func)
store = njit(guesses.store.py_func)
sure = njit(guesses.sure.py_func)


def ring(values, position):
    """Values, the newest first, as they lie in a stage's memory."""
    found = np.empty((DEPTH, values.shape[1]))
    for k, x in enumerate(values):
        found[(position + k) % DEPTH] = x
    return found.ravel()


@pytest.mark.parametrize("position", [0, 2, 5])
@pytest.mark.parametrize("order", [2, 3, 4, 5, 6])
def test_polynomials_are_continued(order, position):
    t = -np.arange(DEPTH + 1.0)[:, None] / 8
    rates = np.random.default_rng(order).normal(size=(order, 5))
    values = sum(rates[k] * (t + 1) ** k for k in range(order))
    x = np.empty(5)
    extrapolate(x, ring(values[1:], position), 0, 5, position, order)
    assert x == pytest.approx(values[0], rel=1e-13)
    constant = np.full((DEPTH, 5), 0.1)
    extrapolate(x, ring(constant, position), 0, 5, position, order)
    assert np.all(x == 0.1)


def test_the_oldest_values_make_room():
    values = np.arange(DEPTH * 3.0).reshape(DEPTH, 3)
    memory = ring(values, 4)
    store(np.full(3, -1.0), memory, 0, 3, 4)
    newest_first = [back(memory, 0, 3, 3, k).tolist() for k in range(DEPTH)]
    assert newest_first == [[-1.0] * 3, *values[:-1].tolist()]


@pytest.mark.parametrize(("noise", "best"), [(0.0, 6), (1e-5, 3)])
def test_the_best_order_depends_on_noise(noise, best):
    t = 0.05 * np.arange(DEPTH + 1, 0, -1)[:, None]
    values = np.sin(t + np.arange(40)) + noise * np.random.default_rng(0).normal(size=(7, 40))
    smooth = np.sin(t[0] - 0.05 + 0.05 + np.arange(40))
    given = (smooth, ring(values[1:], 1), 0, 40, 1, np.full(40, 1e-7))
    assert best_order(*given) == best


def test_one_iteration_is_enough_when_kappa_says_so():
    books = guesses.first_memory([])
    assert len(books) == BOOKS
    assert books[ORDER] == 3
    books[guesses.FIRST_MOVE] = 1e-12
    assert not sure(books)  # nothing is known
    books[LEFT], books[guesses.FIRST_MOVE], books[guesses.SECOND_MOVE] = 0, 1e-1, 1e-6
    learn(books)
    assert books[KAPPA] == pytest.approx(1e-4)
    books[guesses.FIRST_MOVE] = 1e-5
    assert not sure(books)  # a trial is made to the end
    books[LEFT] = 5
    assert sure(books)
    books[guesses.FIRST_MOVE] = 1e-3
    assert not sure(books)


def test_kappa_grows_at_once_and_falls_in_trials():
    books = guesses.first_memory([])
    books[LEFT], books[KAPPA] = 5, 1.0
    for second, expected in ((4e-2, 4.0), (1e-3, 4.0), (-1.0, 4.0)):
        books[guesses.FIRST_MOVE], books[guesses.SECOND_MOVE] = 0.1, second
        learn(books)
        assert books[KAPPA] == pytest.approx(expected)
    books[LEFT], books[guesses.SECOND_MOVE] = 0, 1e-3
    learn(books)
    assert books[KAPPA] == pytest.approx(0.1)
    books[guesses.SECOND_MOVE] = 0.0  # below the noise nothing can be told apart
    learn(books)
    assert books[KAPPA] == pytest.approx(guesses.NOISE / 0.01)


@pytest.mark.parametrize(("kinked", "law"), [(False, lambda s: s**2), (True, sp.Abs)])
def test_where_forces_have_kinks_one_iteration_is_never_enough(kinked, law):
    """Moves need not fall quadratically across a kink, so κ says nothing."""
    a, b, u = sp.symbols("a b u", real=True)
    n = 50
    pairs = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    system = taut.System.from_terms(
        taut.coordinates(" ".join(f"x{i}" for i in range(n))),
        [
            taut.Term("lagrangian", (a,), (u**2 / 2 - a**2,), np.arange(n)[:, None], rates=(u,)),
            taut.Term("lagrangian", (a, b), (-law(b - a),), pairs),
        ],
    )
    program = assemble(system, method_of("gauss-lobatto-4").fitted(system, {}), keep=[])
    solves = [x for x in program.machine.before_sum if x.kind == "solve"]
    assert any(x.kinked for x in solves) == kinked


def test_a_trial_tells_what_steps_of_one_iteration_have_left():
    """κ r² of the largest first move since the last trial, with the κ of this one."""
    books = guesses.first_memory([])
    books[LEFT], books[KAPPA] = 5, 1e-6
    for move in (1e-3, 4e-3, 2e-3):  # three steps of one iteration
        books[guesses.FIRST_MOVE], books[guesses.SECOND_MOVE] = move, -1.0
        assert learn(books) == 0.0
    assert books[guesses.SINGLE] == 3
    assert books[guesses.LARGEST] == 4e-3
    books[LEFT], books[guesses.FIRST_MOVE], books[guesses.SECOND_MOVE] = 0, 1e-2, 1e-3
    assert learn(books) == pytest.approx(10 * 4e-3**2)  # κ = 10: it had been promised 1e−6


def test_before_the_first_trial_nothing_is_known_of_kappa():
    """Moves from rest, where equations are nearly linear, say next to nothing of it."""
    books = guesses.first_memory([])
    books[guesses.FIRST_MOVE], books[guesses.SECOND_MOVE] = 1e-2, 1e-9
    learn(books)
    assert books[KAPPA] < 0
