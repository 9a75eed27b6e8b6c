"""Symbolic elimination: unrolled linear solves, and what of an implicit solve is affine."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from taut.kernel.eliminate import little_fill, reduce, solve_linear, straightened

SX = ca.SX
EPS = 2.0**-52


def solved(values, pattern=None):
    """(x, b): the symbolic solution at these numbers, for a random right side."""
    n = len(values)
    pattern = np.ones((n, n), bool) if pattern is None else pattern
    entries = SX.sym("a", int(pattern.sum()))
    matrix = SX(n, n)
    for k, (i, j) in enumerate(np.argwhere(pattern)):
        matrix[i, j] = entries[k]
    right = SX.sym("b", n)
    f = ca.Function("f", [entries, right], [solve_linear(matrix, right)])
    b = np.random.default_rng(n).uniform(-1, 1, n)
    return np.array(f(values[pattern], b)).ravel(), b


def agrees(matrix, x, b, growth=1e3):
    """|x − A⁻¹b| ≤ growth · ε · cond(A) · |A⁻¹b| (no pivoting: the growth is ours to allow)."""
    reference = np.linalg.solve(matrix, b)
    bound = growth * EPS * np.linalg.cond(matrix) * np.abs(reference).max()
    return np.abs(x - reference).max() <= bound


SIZES = range(1, 7)


@pytest.mark.parametrize("n", SIZES)
def test_dense(n, rng):
    for _ in range(10):
        matrix = rng.uniform(-1, 1, (n, n)) + 2 * n * np.eye(n)
        x, b = solved(matrix)
        assert agrees(matrix, x, b, growth=10)


@pytest.mark.parametrize("n", SIZES)
def test_symmetric_positive(n, rng):
    for _ in range(10):
        factor = rng.uniform(-1, 1, (n, n + 1))
        matrix = factor @ factor.T
        x, b = solved(matrix)
        assert agrees(matrix, x, b)


@pytest.mark.parametrize("n", SIZES)
def test_sparse_with_a_diagonal(n, rng):
    for _ in range(10):
        pattern = (rng.uniform(size=(n, n)) < 0.35) | np.eye(n, dtype=bool)
        matrix = np.where(pattern, rng.uniform(-1, 1, (n, n)), 0.0) + 3 * np.eye(n)
        x, b = solved(matrix, pattern)
        assert agrees(matrix, x, b, growth=10)


@pytest.mark.parametrize("n", SIZES)
def test_rows_in_any_order(n, rng):
    """A structural zero on the diagonal makes rows change places."""
    for _ in range(10):
        pattern = ((rng.uniform(size=(n, n)) < 0.3) | np.eye(n, dtype=bool))[rng.permutation(n)]
        matrix = np.where(pattern, rng.uniform(0.5, 1.5, (n, n)), 0.0)
        if np.linalg.cond(matrix) < 1e4:
            x, b = solved(matrix, pattern)
            assert agrees(matrix, x, b, growth=1e6)


@pytest.mark.parametrize("n", SIZES)
def test_permutations_and_triangles(n, rng):
    order = rng.permutation(n)
    permutation = np.eye(n)[order] * rng.uniform(1, 2, (n, 1))
    for matrix in (permutation, np.tril(np.ones((n, n))), np.triu(np.ones((n, n)))[::-1]):
        x, b = solved(matrix, matrix != 0)
        assert agrees(matrix, x, b, growth=10)


@given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.floats(0.2, 1.0))
@settings(max_examples=60)
def test_saddle_points(n, seed, density):
    """[[A, Gᵀ], [G, 0]]: what is left of a step, the multipliers last."""
    rng = np.random.default_rng(seed)
    c = rng.integers(0, n + 1)
    a = np.diag(rng.uniform(1, 2, n))
    g = np.where(rng.uniform(size=(c, n)) < density, rng.uniform(-1, 1, (c, n)), 0.0)
    g[:, :c] += np.diag(rng.uniform(1, 2, c))
    matrix = np.block([[a, g.T], [g, np.zeros((c, c))]])
    x, b = solved(matrix, matrix != 0)
    assert agrees(matrix, x, b)


def test_nothing_to_solve():
    assert solve_linear(SX(0, 0), SX(0, 1)).shape == (0, 1)


def test_a_pivot_that_cancels_is_not_divided_by():
    """1 − 1·1 is found to be zero while eliminating, although the matrix is regular."""
    a, b = SX.sym("a"), SX.sym("b", 4)
    rows = [[1, 1, 0, 0], [1, 1, a, 0], [0, a, 1, 0], [0, 0, 0, a]]
    matrix = ca.sparsify(ca.vertcat(*(ca.horzcat(*row) for row in rows)))
    f = ca.Function("f", [a, b], [solve_linear(matrix, b)])
    numbers = np.array([[1, 1, 0, 0], [1, 1, 3, 0], [0, 3, 1, 0], [0, 0, 0, 3.0]])
    right = np.array([1.0, 2, 3, 4])
    assert np.allclose(np.array(f(3.0, right)).ravel(), np.linalg.solve(numbers, right), rtol=1e-14)


def test_structurally_singular():
    a, n = SX.sym("a", 4), 4
    matrix = SX(n, n)
    for i in range(n):
        matrix[i, 0] = a[i]  # only one column is occupied
    with pytest.raises(ZeroDivisionError, match="singular"):
        solve_linear(matrix, SX.sym("b", n))


# ------------------------------------------------------------------- numeric matrices


@pytest.mark.parametrize("n", SIZES)
def test_constant_matrices_are_inverted_numerically(n, rng):
    matrix = rng.uniform(-1, 1, (n, n)) + n * np.eye(n)
    right = SX.sym("b", n)
    f = ca.Function("f", [right], [solve_linear(SX(matrix), right)])
    ops = {f.instruction_id(k) for k in range(f.n_instructions())}
    assert ca.OP_DIV not in ops
    assert ca.OP_INV not in ops
    b = rng.uniform(-1, 1, n)
    assert agrees(matrix, np.array(f(b)).ravel(), b, growth=10)


def test_constant_diagonal_of_any_scale():
    """Masses of a probe and of a star: small entries of the inverse are not round-off."""
    masses = [1.0, 2e30, 4e-9]
    right = SX.sym("b", 3)
    f = ca.Function("f", [right], [solve_linear(SX(ca.diag(ca.DM(masses))), right)])
    assert np.allclose(np.array(f([1.0, 2e30, 4e-9])).ravel(), 1.0, rtol=1e-15)


def test_round_off_in_an_inverse_is_dropped(rng):
    """A dense matrix whose inverse is tridiagonal: only neighbours are coupled."""
    n = 6
    band = np.diag(rng.uniform(2, 3, n)) + np.diag(rng.uniform(0.3, 0.7, n - 1), 1)
    band = band + np.triu(band, 1).T
    matrix, right = np.linalg.inv(band), SX.sym("b", n)
    noise = np.linalg.inv(matrix)[band == 0]
    assert np.abs(noise).max() > 0  # there is something to drop
    x = solve_linear(SX(matrix), right)
    coupled = np.array(ca.DM(ca.jacobian(x, right).sparsity(), 1))
    assert np.array_equal(coupled != 0, band != 0)


def test_small_matrices_divide_once():
    """Cramer's rule: one division for 2 × 2 and 3 × 3."""
    for n in (2, 3):
        a, b = SX.sym("a", n, n), SX.sym("b", n)
        f = ca.Function("f", [a, b], [solve_linear(a, b)])
        ops = [f.instruction_id(k) for k in range(f.n_instructions())]
        divisors = {
            tuple(f.instruction_input(k))[1]
            for k in range(f.n_instructions())
            if ops[k] == ca.OP_DIV
        }
        assert ca.OP_INV not in ops
        assert len(divisors) == 1


# ------------------------------------------------------------------- reduce

X, Y, Z, A, B, C = (SX.sym(name) for name in "xyzabc")


def table(found):
    return {u.name(): e for u, e in found.known}


def left_over(found, pairs, data, at):
    """Residuals of the eliminated pairs, at numbers for the data and for what is left."""
    known = [list(x) for x in zip(*found.known, strict=True)] or [[], []]
    eliminated = [r for k, (_, r) in enumerate(pairs) if k not in found.left]
    residual = ca.substitute([ca.vertcat(*eliminated)], *known)[0] if eliminated else SX(0, 1)
    free = ca.vertcat(*data, *(pairs[k][0] for k in found.left))
    return np.array(ca.Function("f", [free], [residual])(at[: free.numel()])).ravel()


def test_reduce_everything_affine():
    pairs = [(X, 2 * X - A), (Y, Y * B - X), (Z, Z + X * Y - C)]
    found = reduce(pairs)
    assert found.left == []
    assert [u.name() for u, _ in found.known] == ["x", "y", "z"]
    assert not ca.depends_on(ca.vertcat(*table(found).values()), ca.vertcat(X, Y, Z))
    f = ca.Function("f", [A, B, C], list(table(found).values()))
    x, y, z = (float(v) for v in f(3.0, 4.0, 5.0))
    assert (x, y, z) == (1.5, 0.375, 5 - 1.5 * 0.375)


def test_reduce_leaves_what_is_not_affine():
    pairs = [(X, X + Y - A), (Y, Y**2 + X - B)]
    found = reduce(pairs)
    assert found.left == [1]
    assert list(table(found)) == ["x"]
    assert float(ca.Function("f", [A, Y], [table(found)["x"]])(5.0, 3.0)) == 2.0


def test_reduce_never_divides_by_an_unknown():
    """y·x = a is affine in x, but its coefficient is an unknown."""
    found = reduce([(X, Y * X - A), (Y, ca.sin(Y) + X - B)])
    assert found.left == [0, 1]
    assert found.known == []


def test_reduce_takes_a_coefficient_once_it_is_known():
    """… and when y is known from elsewhere, so is x."""
    found = reduce([(X, Y * X - A), (Y, Y + B)])
    assert found.left == []
    f = ca.Function("f", [A, B], [table(found)["x"]])
    assert float(f(6.0, 2.0)) == -3.0


def test_reduce_writes_later_results_into_earlier_ones():
    found = reduce([(X, X - Y), (Y, Y - 2 * A), (Z, Z**3 - X)])
    assert found.left == [2]
    assert not ca.depends_on(table(found)["x"], Y)
    assert float(ca.Function("f", [A], [table(found)["x"]])(3.0)) == 6.0


def test_reduce_vectors_with_a_matrix_of_data():
    u, v = SX.sym("u", 3), SX.sym("v", 2)
    m, g = SX.sym("m", 3, 3), SX.sym("g", 2, 3)
    rhs = SX.sym("r", 5)
    pairs = [(u, m @ u + g.T @ v - rhs[:3]), (v, g @ u - rhs[3:])]
    found = reduce(pairs)
    assert found.left == []
    rng = np.random.default_rng(4)
    mass = rng.uniform(-0.3, 0.3, (3, 3)) + 2 * np.eye(3)
    jac, b = rng.uniform(-1, 1, (2, 3)), rng.uniform(-1, 1, 5)
    f = ca.Function("f", [m, g, rhs], [ca.vertcat(*(e for _, e in found.known))])
    whole = np.block([[mass, jac.T], [jac, np.zeros((2, 2))]])
    assert np.allclose(np.array(f(mass, jac, b)).ravel(), np.linalg.solve(whole, b), rtol=1e-12)


def test_reduce_does_not_take_a_rank_deficient_block():
    u, v = SX.sym("u", 2), SX.sym("v", 2)
    # In u alone the first pair has rank one; only both pairs together determine u and v.
    pairs = [(u, ca.vertcat(u[0] - A, v[0] - B)), (v, ca.vertcat(u[1] + v[1] ** 2, v[1] - C))]
    assert reduce(pairs).left == [0, 1]


def test_reduce_skips_empty_unknowns():
    nothing = SX(0, 1)
    found = reduce([(nothing, nothing), (X, X - A)])
    assert found.left == []
    assert list(table(found)) == ["x"]
    assert reduce([]).left == []


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_reduce_solves_what_it_says(seed):
    """Random triangular systems, some equations spoilt by a square: residuals vanish."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    unknowns, data = [SX.sym(f"u{i}") for i in range(n)], [SX.sym(f"d{i}") for i in range(n)]
    spoilt = rng.uniform(size=n) < 0.3
    pairs = []
    for i, u in enumerate(unknowns):
        r = float(rng.uniform(1, 2)) * u - data[i]
        for j in range(n):
            if j != i and rng.uniform() < 0.4:
                # Products with later unknowns keep the equation affine in its own.
                r += float(rng.uniform(-1, 1)) * unknowns[j] * (data[i] if j > i else 1)
        pairs.append((u, r + 0.1 * u**2 if spoilt[i] else r))
    found = reduce(pairs)
    assert found.left == np.flatnonzero(spoilt).tolist()
    at = rng.uniform(0.5, 1.5, 2 * n)
    assert np.abs(left_over(found, pairs, data, at)).max(initial=0.0) <= 1e-10
    for _, value in found.known:
        eliminated = ca.vertcat(*(u for u, _ in found.known))
        assert not ca.depends_on(value, eliminated)


# ------------------------------------------------------------------- straightened


def test_an_affine_expression_is_written_as_constant_and_matrix():
    z, a = SX.sym("z", 2), SX.sym("a", 2)
    e = ca.vertcat(ca.sin(a[0]) * (z[0] + a[1]) + z[1], a[0] - (z[0] - z[1]) * a[1])
    straight = straightened(e, z)
    rng = np.random.default_rng(0)
    f = ca.Function("f", [z, a], [e, straight])
    for _ in range(5):
        one, two = f(rng.uniform(-1, 1, 2), rng.uniform(-1, 1, 2))
        assert np.allclose(np.array(one), np.array(two), rtol=1e-15, atol=1e-15)
    # What multiplies z is free of z: the products with it are all that is left to do per iteration.
    matrix = ca.jacobian(straight, z)
    assert not ca.depends_on(matrix, z)


@pytest.mark.parametrize("expression", [X * X + A, ca.sin(X), A * B, SX(0, 1)], ids=str)
def test_what_is_not_affine_or_does_not_depend_is_left_alone(expression):
    assert straightened(expression, X) is expression


def test_straightened_without_unknowns():
    e = A + B
    assert straightened(e, SX(0, 1)) is e


# ---- the order of elimination --------------------------------------------------------------------


def operations(matrix, x):
    right = SX.sym("b", matrix.shape[0])
    return ca.Function("f", [x, right], [solve_linear(matrix, right)]).n_instructions()


def test_an_arrow_is_eliminated_from_its_tail():
    """With its dense row and column last it has no fill; first, everything fills."""
    n, x, h = 12, SX.sym("x"), SX.sym("h")
    arrow = SX.eye(n) * x
    arrow[0, :], arrow[:, 0] = x, x
    order = little_fill(arrow, h)
    assert order[0] != 0
    assert order.index(0) >= n - 2
    assert operations(arrow[order, order], x) < operations(arrow, x) / 5


def test_multipliers_and_weak_diagonals_come_after_their_neighbours():
    """[[m, 0, g], [0, h k, f], [g, f, 0]]: m has a pivot, h k only with a step, 0 never."""
    m, k, g, f, h = (SX.sym(x) for x in "mkgfh")
    matrix = SX(3, 3)
    matrix[2, 2], matrix[1, 1] = m, h * k
    matrix[0, 1] = matrix[1, 0] = f
    matrix[0, 2] = matrix[2, 0] = g
    assert little_fill(matrix, h)[-1] == 0
    assert set(little_fill(matrix, h)) == {0, 1, 2}
    chained = SX(2, 2)
    chained[0, 0], chained[0, 1], chained[1, 0], chained[1, 1] = h * k, f, f, m
    assert little_fill(chained, h) == [1, 0]
