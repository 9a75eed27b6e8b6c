"""Small systems with dependent rows: cofactors and elimination against NumPy, and each other."""

from functools import cache

import casadi as ca
import numpy as np
import pytest

from taut.kernel.gram import FAR, QUICK, RANK, Gram, Quick, Ranked, full

SX = ca.SX


def made(rows, phi, moved=1e6, sure=0):
    """(Δ by cofactors, squared length, plain, Δ by elimination, good, both inverses)."""
    return [np.array(x).squeeze() for x in function(*rows.shape, sure)(rows, phi, moved)]


@cache
def function(count, size, sure):
    """What `made` evaluates: (rows, φ, squared length of the move)."""
    j, f, moved = SX.sym("j", count, size), SX.sym("f", count), SX.sym("moved")
    parts = [j[i, :].T for i in range(count)]
    gram = Gram(parts, parts)
    quick, ranked = Quick(gram), Ranked(gram, f, moved, sure)
    delta, square = quick.to(f)
    outputs = [
        delta,
        square,
        quick.plain(moved, square, sure),
        ranked.to(f),
        ca.vertcat(*ranked.good),
        *(ca.vertcat(*(ca.vertcat(*row) for row in full(x.inverse(), count))) for x in
          (quick, ranked)),
    ]  # fmt: skip
    return ca.Function("f", [j, f, moved], outputs)


@pytest.mark.parametrize("count", range(1, QUICK + 1))
@pytest.mark.parametrize("seed", range(5))
def test_both_ways_are_the_nearest_point(count, seed):
    random = np.random.default_rng(seed)
    rows, phi = random.standard_normal((count, 8)), random.standard_normal(count)
    matrix = np.linalg.inv(rows @ rows.T)
    wanted = -rows.T @ matrix @ phi
    quick, square, plain, ranked, good, inverse, other = made(rows, phi)
    assert plain == 1
    assert np.all(good == 1)
    np.testing.assert_allclose(quick, wanted, rtol=0, atol=1e-11)
    np.testing.assert_allclose(ranked, wanted, rtol=0, atol=1e-11)
    np.testing.assert_allclose(square, wanted @ wanted, rtol=1e-11)
    for found in (inverse, other):
        np.testing.assert_allclose(found.reshape(count, count), matrix, rtol=0, atol=1e-9)


@pytest.mark.parametrize("count", range(2, QUICK + 1))
@pytest.mark.parametrize("nearly", [0.0, 0.1 * RANK])
def test_dependent_rows_are_not_plain_and_are_left_out(count, nearly):
    random = np.random.default_rng(count)
    rows, phi = random.standard_normal((count, 8)), random.standard_normal(count)
    rows[-1] = rows[:-1].sum(axis=0) + nearly * random.standard_normal(8)
    _, _, plain, ranked, good, _, inverse = made(rows, phi)
    assert plain == 0
    np.testing.assert_array_equal(good, [1] * (count - 1) + [0])
    first = rows[:-1]
    wanted = -first.T @ np.linalg.solve(first @ first.T, phi[:-1])
    np.testing.assert_allclose(ranked, wanted, rtol=0, atol=1e-11)
    assert np.all(inverse.reshape(count, count)[-1] == 0)


@pytest.mark.parametrize("count", range(1, QUICK + 1))
@pytest.mark.parametrize("length", np.geomspace(0.013, 10, 7))
def test_plain_is_never_more_than_all_good(count, length):
    """Where the quick test lets a correction pass, so does every verdict, near the border too."""
    random = np.random.default_rng(count)
    passed = 0
    for _ in range(20):
        rows = random.standard_normal((count, 8)) + 2 * random.standard_normal(8)
        phi = random.standard_normal(count)
        matrix = np.linalg.inv(rows @ rows.T)
        square = phi @ matrix @ phi
        moved = (length * FAR) ** 2 * square
        _, _, plain, _, good, _, _ = made(rows, phi, moved)
        assert not plain or np.all(good == 1)
        passed += int(plain)
    assert (passed > 0) == (length > 1) or count > 1


def test_constraints_are_never_left_out():
    rows = np.eye(3, 8)
    _, _, plain, _, good, _, _ = made(rows, np.full(3, 1e6), moved=1e-6, sure=3)
    assert plain == 1
    assert np.all(good == 1)


def test_a_gradient_that_vanishes():
    rows = np.zeros((2, 8))
    rows[1, 0] = 1.0
    _, _, plain, ranked, good, _, _ = made(rows, np.array([1.0, 0.5]))
    assert plain == 0
    np.testing.assert_array_equal(good, [0, 1])
    np.testing.assert_array_equal(ranked, [-0.5, 0, 0, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("count", range(1, QUICK + 1))
@pytest.mark.parametrize("sure", [False, True])
def test_determinants_that_overflow_are_left_to_elimination(count, sure):
    """They are products of up to thirty lengths: either cofactors are right, or not asked for."""
    random = np.random.default_rng(count)
    rows, phi = random.standard_normal((count, 8)), 1e-9 * random.standard_normal(count)
    wanted = -rows.T @ np.linalg.solve(rows @ rows.T, phi)
    used = set()
    for unit in 10.0 ** np.arange(-40, 41):
        given = (unit * rows, unit * phi, 1.0, count if sure else 0)
        quick, _, plain, ranked, _, _, _ = made(*given)
        np.testing.assert_allclose(quick if plain else ranked, wanted, rtol=0, atol=1e-17)
        used.add(bool(plain))
    assert True in used
