"""Sweeps over places in SIMD lanes: maps, neighbours, sums, and equations solved by repetition."""

import ctypes

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from scipy.optimize import fixed_point

from taut.kernel.native import compiled
from taut.kernel.sweep_code import LIMIT, MARGIN, Repeat, Sweep, sweep_code

LANES = (1, 4, 8)
COUNT = 29
RANGES = [(0, COUNT), (0, 1), (0, 7), (0, 8), (0, 9), (3, 20), (5, 13), (28, 29), (11, 11)]
ADDRESS, COUNTER = ctypes.c_void_p, ctypes.c_int64
CALL = ctypes.CFUNCTYPE(COUNTER, ADDRESS, COUNTER, ADDRESS, COUNTER, COUNTER, ADDRESS)


class Compiled:
    """A sweep as machine code, and its rows with spare places on both sides."""

    def __init__(self, sweep, lanes, stride=None):
        self.native = compiled(sweep_code(sweep, lanes, stride))
        self.call = CALL(self.native.address("sweep"))
        self.sums = np.zeros(max(1, len(sweep.sums)))

    def __call__(self, rows, par, first, last):
        """What it returns; `rows` is changed."""
        stride = rows.shape[1]
        origin = rows.ctypes.data + 8 * MARGIN
        par = np.ascontiguousarray(par, dtype=float)
        return self.call(origin, stride, par.ctypes.data, first, last, self.sums.ctypes.data)


def spare(values):
    """Rows of numbers, shape (height, COUNT), with a margin; the stride is a whole line."""
    stride = COUNT + 2 * MARGIN + 8
    rows = np.full((len(values), stride + -stride % 8), 0.75)
    rows[:, MARGIN : MARGIN + COUNT] = values
    return rows


def inside(rows):
    return rows[:, MARGIN : MARGIN + COUNT]


# ---- maps ----------------------------------------------------------------------------------------


def neighbourly():
    """Two numbers of a place and its neighbours' make three, and two sums."""
    x, left, right, par = SX.sym("x", 2), SX.sym("l", 2), SX.sym("r"), SX.sym("par", 2)
    made = ca.vertcat(
        ca.sin(x[0]) * left[1] + par[0] * right, x[1] / (2 + left[0] ** 2), ca.exp(-x[0]) + par[1]
    )
    reads = [(x, 0, 0), (left, 0, -1), (right, 1, 1)]
    function = ca.Function("f", [x, left, right, par], [made])
    return Sweep(reads, par, [(made, 2)], [made[0], x[1] ** 2]), function


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize(("first", "last"), RANGES)
def test_a_sweep_is_its_function_at_every_place(rng, lanes, first, last):
    sweep, function = neighbourly()
    rows, par = spare(rng.normal(size=(5, COUNT))), [0.3, -1.7]
    before = rows.copy()
    assert Compiled(sweep, lanes)(rows, par, first, last) == -1
    wanted, sums = before.copy(), np.zeros(2)
    for j in range(first, last):
        c = MARGIN + j
        wanted[2:, c] = np.array(
            function(before[:2, c], before[:2, c - 1], before[1, c + 1], par)
        ).ravel()
        sums += wanted[2, c], before[1, c] ** 2
    np.testing.assert_allclose(rows, wanted, rtol=0, atol=4e-15)
    # What lies outside the range is left as it is, to the bit.
    outside = np.ones(rows.shape[1], dtype=bool)
    outside[MARGIN + first : MARGIN + last] = False
    assert np.array_equal(rows[:, outside], before[:, outside])
    assert np.array_equal(rows[:2], before[:2])


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize(("first", "last"), RANGES)
def test_sums_count_every_place_once_and_are_added_to_what_is_there(rng, lanes, first, last):
    sweep, _ = neighbourly()
    rows, par = spare(rng.normal(size=(5, COUNT))), [0.3, -1.7]
    rows[:, MARGIN + last :] = np.nan  # read by the lanes that are left over, and not counted
    rows[1, MARGIN + last] = 0.5  # the neighbour of the last place
    run = Compiled(sweep, lanes)
    run.sums[:] = 10.0, 20.0
    assert run(rows, par, first, last) == -1
    here = slice(MARGIN + first, MARGIN + last)
    wanted = [10 + rows[2, here].sum(), 20 + (rows[1, here] ** 2).sum()]
    np.testing.assert_allclose(run.sums, wanted, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("first", "last"), RANGES)
def test_lanes_agree_to_the_bit(rng, first, last):
    """What is written, and the sums, whose rounding depends on the order of the places."""
    sweep, _ = neighbourly()
    values = rng.normal(size=(5, COUNT))
    found, sums = [], []
    for lanes in (1, 2, 4, 8):
        rows, run = spare(values), Compiled(sweep, lanes)
        run(rows, [0.3, -1.7], first, last)
        found.append(rows.tobytes())
        sums.append(run.sums.tobytes())
    assert len(set(found)) == len(set(sums)) == 1


def test_rows_are_read_before_they_are_written(rng):
    """A place may overwrite what it has read."""
    x = SX.sym("x", 2)
    sweep = Sweep([(x, 0, 0)], SX.sym("p", 0), [(ca.vertcat(x[1], x[0] + x[1]), 0)])
    values = rng.normal(size=(2, COUNT))
    for lanes in LANES:
        rows = spare(values)
        Compiled(sweep, lanes)(rows, [0.0], 0, COUNT)
        assert np.array_equal(inside(rows), [values[1], values[0] + values[1]])


def test_constants_and_zeros_are_written():
    x = SX.sym("x")
    made = ca.vertcat(SX(0), SX(3), x)  # with a structural zero
    for lanes in LANES:
        rows = spare(np.ones((4, COUNT)))
        Compiled(Sweep([(x, 0, 0)], SX.sym("p", 0), [(made, 1)]), lanes)(rows, [0.0], 2, 21)
        assert np.array_equal(inside(rows)[1:, 2:21], np.tile([[0], [3], [1]], 19))


# ---- equations -----------------------------------------------------------------------------------


def contraction():
    """x = b + q (cos x₁, sin x₀): both entries of size one, the rate q at every place."""
    b, q, x = SX.sym("b", 2), SX.sym("q"), SX.sym("x", 2)
    after = b + q * ca.vertcat(ca.cos(x[1]), ca.sin(x[0]))
    repeat = Repeat(x, b, after, SX.ones(2))
    reads = [(b, 0, 0), (q, 2, 0)]
    return Sweep(reads, SX.sym("p", 0), [(x, 3)], [x[0]], repeat)


def settled(b, q):
    def function(x):
        return b + q * np.array([np.cos(x[1]), np.sin(x[0])])

    return fixed_point(function, b, xtol=1e-15, maxiter=2000, method="iteration")


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("largest", [1e-8, 0.01, 0.1, 0.3, 0.5])
def test_equations_are_solved_to_round_off(rng, lanes, largest):
    """Rates differ from lane to lane: one that is done waits for the others."""
    values = np.vstack(
        [rng.normal(size=(2, COUNT)), largest * rng.random((1, COUNT)), np.zeros((2, COUNT))]
    )
    values[2, 17] = largest
    rows = spare(values)
    assert Compiled(contraction(), lanes)(rows, [0.0], 0, COUNT) == -1
    found = inside(rows)[3:].T
    wanted = [settled(b, q) for b, q in zip(values[:2].T, values[2], strict=True)]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-14)


def test_equations_are_solved_alike_in_all_lanes(rng):
    values = np.vstack(
        [rng.normal(size=(2, COUNT)), 0.3 * rng.random((1, COUNT)), np.zeros((2, COUNT))]
    )
    found = []
    for lanes in LANES:
        rows = spare(values)
        Compiled(contraction(), lanes)(rows, [0.0], 3, COUNT)
        found.append(rows)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def linear(weights=(1.0, 1.0)):
    """x = b + q (x₁, −x₀): converges for |q| < 1, at the rate q and no faster."""
    b, q, x = SX.sym("b", 2), SX.sym("q"), SX.sym("x", 2)
    after = b + q * ca.vertcat(x[1], -x[0])
    repeat = Repeat(x, b, after, SX(np.array(weights)))
    return Sweep([(b, 0, 0), (q, 2, 0)], SX.sym("p", 0), [(x, 3)], [], repeat)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("bad", [0, 3, 8, 12, 27, 28])
@pytest.mark.parametrize("rate", [1.0, 3.0, 1e200, np.nan, np.inf])
def test_the_first_place_without_a_solution_is_named(rng, lanes, bad, rate):
    values = np.vstack(
        [rng.normal(size=(2, COUNT)), np.full((1, COUNT), 0.1), np.full((2, COUNT), 7.0)]
    )
    values[2, bad] = values[2, 28] = rate
    rows = spare(values)
    assert Compiled(linear(), lanes)(rows, [0.0], 0, COUNT) == bad
    block = bad // lanes * lanes  # places of earlier blocks are written, those of later ones not
    assert not np.any(inside(rows)[3:, :block] == 7.0)
    assert np.all(inside(rows)[3:, block:] == 7.0)


@pytest.mark.parametrize("lanes", LANES)
def test_what_is_not_a_number_is_no_solution(rng, lanes):
    values = np.vstack(
        [rng.normal(size=(2, COUNT)), np.full((1, COUNT), 0.1), np.zeros((2, COUNT))]
    )
    values[1, 19] = np.nan
    assert Compiled(linear(), lanes)(spare(values), [0.0], 0, COUNT) == 19
    assert Compiled(linear(), lanes)(spare(values), [0.0], 0, 19) == -1
    assert Compiled(linear(), lanes)(spare(values), [0.0], 20, COUNT) == -1


@pytest.mark.parametrize("lanes", LANES)
def test_slow_equations_are_solved_within_the_limit_and_no_slower_ones(lanes):
    """The change after n repetitions is qⁿ: 1e-16 is reached in time up to q = 0.5 or so."""
    slowest = np.exp(np.log(1e-16) / LIMIT)
    for rate, solved in ((0.9 * slowest, True), (1.15 * slowest, False)):
        values = np.zeros((5, COUNT))
        values[0], values[2] = 1.0, rate
        rows = spare(values)
        failed = Compiled(linear(), lanes)(rows, [0.0], 0, COUNT)
        assert (failed == -1) == solved
        if solved:
            wanted = np.array([1, -rate]) / (1 + rate**2)
            error = np.abs(inside(rows)[3:] - wanted[:, None]).max()
            assert error < 1e-15


@pytest.mark.parametrize("lanes", [1, 8])
def test_small_entries_beside_large_ones(lanes):
    """Weights make entries of different units alike: both are right to their last digits."""
    scale = 1e9
    b, q, x = SX.sym("b", 2), SX.sym("q"), SX.sym("x", 2)
    after = b + q * ca.vertcat(scale * ca.cos(x[1]), ca.sin(x[0] / scale))
    repeat = Repeat(x, b, after, SX(np.array([scale**-2, 1.0])))
    sweep = Sweep([(b, 0, 0), (q, 2, 0)], SX.sym("p", 0), [(x, 3)], [], repeat)
    values = np.zeros((5, COUNT))
    values[0], values[1], values[2] = 0.3 * scale, 0.7, 0.3
    rows = spare(values)
    assert Compiled(sweep, lanes)(rows, [0.0], 0, COUNT) == -1
    wanted = settled(np.array([0.3, 0.7]), 0.3)
    np.testing.assert_allclose(inside(rows)[3] / scale, wanted[0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(inside(rows)[4], wanted[1], rtol=0, atol=1e-15)


@pytest.mark.parametrize("size", [1e-60, 1e-30, 1.0, 1e30, 1e60])
def test_units_do_not_matter(size):
    """Nothing is compared with a number that has none."""
    values = np.zeros((5, COUNT))
    values[0], values[1], values[2] = size, 0.2 * size, 0.4
    rows = spare(values)
    assert Compiled(linear(), 1)(rows, [0.0], 0, COUNT) == -1
    exact = np.linalg.solve([[1, -0.4], [0.4, 1]], [1, 0.2])
    np.testing.assert_allclose(
        inside(rows)[3:] / size, exact[:, None].repeat(COUNT, 1), rtol=0, atol=3e-16
    )


@pytest.mark.parametrize("lanes", LANES)
def test_what_is_too_large_to_be_measured_is_not_solved(lanes):
    """Squares that overflow do not tell how large a change is."""
    values = np.zeros((5, COUNT))
    values[0], values[2] = 1e170, 0.5
    assert Compiled(linear(), lanes)(spare(values), [0.0], 3, COUNT) == 3


def test_what_vanishes_is_solved_at_once():
    rows = spare(np.zeros((5, COUNT)))
    assert Compiled(linear(), 8)(rows, [0.0], 0, COUNT) == -1
    assert not np.any(inside(rows)[3:])


def test_code_for_one_stride_does_the_same(rng):
    sweep, _ = neighbourly()
    rows = spare(rng.normal(size=(5, COUNT)))
    other = rows.copy()
    assert Compiled(sweep, 4)(rows, [0.3, 0.2], 3, COUNT) == -1
    assert Compiled(sweep, 4, rows.shape[1])(other, [0.3, 0.2], 3, COUNT) == -1
    np.testing.assert_array_equal(rows, other)
