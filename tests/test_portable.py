"""Linear algebra of our own: right, and with the same bits whatever BLAS would do."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import qr

from taut import portable
from taut.kernel.singular import least_squares, svd
from taut.portable import asymmetry, complement, negative_along, pivoted, product

SIZES = (1, 2, 3, 7, 20)


def same(found, expected, size=1.0):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
def test_equations(rng, n, lead):
    matrix = rng.standard_normal((*lead, n, n)) + 3 * np.eye(n)[rng.permutation(n)]  # with pivots
    right = rng.standard_normal((*lead, n, 2))
    x = portable.solve(matrix, right)
    size = np.abs(x).max() * n
    same(matrix @ x, right, size)
    same(portable.inverse(matrix) @ matrix, np.broadcast_to(np.eye(n), matrix.shape), size)
    if not lead:
        same(portable.solve(matrix, right[:, 0]), x[:, 0], size)


def test_equations_without_unknowns_and_without_a_solution():
    assert portable.solve(np.zeros((0, 0)), np.zeros((0, 6))).shape == (0, 6)
    assert portable.solve(np.zeros((4, 0, 0)), np.zeros((4, 0, 1))).shape == (4, 0, 1)
    assert svd(np.zeros((0, 3)))[0].shape == (0, 0)
    with pytest.raises(np.linalg.LinAlgError):
        portable.solve(np.array([np.eye(2), np.ones((2, 2))]), np.ones((2, 2, 1)))


def test_products(rng):
    a, b, c = (rng.standard_normal(s) for s in ((4, 2, 3), (3, 5), (4, 5, 2)))
    same(product(a, b, c), a @ b @ c)
    for one, other in ((a[0], b[:, 0]), (a[0, :, 0], a[0]), (b[0], b[1]), (a, b[:, 0])):
        same(product(one, other), one @ other)


@pytest.mark.parametrize("shape", [(1, 1), (2, 5), (5, 5), (6, 3), (12, 30)])
def test_singular_values(rng, shape):
    matrix = rng.standard_normal((3, *shape))
    matrix[1] *= 1e-200  # whose squares are nothing
    matrix[2, -1] = matrix[2, 0]  # dependent
    u, s, vt = svd(matrix)
    for k in range(3):
        size = s[k, 0]
        few = min(shape)
        same(s[k, :few], np.linalg.svd(matrix[k], compute_uv=False), size)
        same(u[k] * s[k] @ vt[k], matrix[k], size)
        same(u[k] @ u[k].T, np.eye(shape[0]))
        right = rng.standard_normal(shape[0])
        found = least_squares(matrix[k] / size, right, 1e-12)
        expected = np.linalg.lstsq(matrix[k] / size, right, rcond=1e-12)[0]
        same(found, expected, 1e3 * np.abs(expected).max())


def test_small_singular_values_have_digits():
    """Graded rows: LAPACK's are right to 1e−16 of the largest."""
    rows = np.diag([1.0, 1e-9, 1e-18]) @ np.array([[1.0, 1, 0], [1, -1, 0.5], [0.3, 0.2, 1]])
    exact = abs(np.linalg.det(rows * [[1], [1e9], [1e18]])) * 1e-27
    assert np.prod(svd(rows)[1]) == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (4, 9), (5, 5)])
def test_what_is_across(rng, shape):
    rows = np.linalg.qr(rng.standard_normal(shape[::-1]))[0].T
    whole = np.concatenate([rows, complement(rows)])
    same(whole @ whole.T, np.eye(shape[1]))


def test_pivots_are_those_of_qr(rng):
    for shape in ((3, 8), (8, 3), (5, 5)):
        matrix = rng.standard_normal(shape)
        few = min(shape)
        expected = qr(matrix, mode="r", pivoting=True)[1][:few]
        np.testing.assert_array_equal(pivoted(matrix)[:few], expected)
    assert pivoted(np.eye(3)).tolist() == [0, 1, 2]  # the first of equal ones
    assert sorted(pivoted(np.zeros((2, 4))).tolist()) == [0, 1, 2, 3]


def test_principal_axes(rng):
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    for moments in ([1.0, 2.0, 3.0], [1.0, 1.0, 2.0], [0.0, 1.0, 1.0]):
        matrix = turn * moments @ turn.T
        values, axes = portable.principal((matrix + matrix.T) / 2)
        same(values, moments)
        same(axes * values @ axes.T, matrix)
        assert np.linalg.det(axes) == pytest.approx(1)


def test_a_rotation_nearby(rng):
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    same(portable.rotation_near(turn + 1e-6 * turn @ np.diag([1, 2, 3])), turn)
    np.testing.assert_array_equal(portable.rotation_near(np.eye(3)), np.eye(3))


def test_what_is_symmetric_and_positive_does_not_depend_on_units(rng):
    for _ in range(20):
        units = 10.0 ** rng.uniform(-8, 8, 5)
        half = rng.standard_normal((7, 5)) * units
        matrix = half.T @ half
        rounded = matrix * (1 + 1e-15 * rng.standard_normal((5, 5)))
        assert asymmetry(rounded) is None
        assert negative_along(matrix) is None
        i, j = 1, 3
        rounded[i, j] += 1e-6 * np.sqrt(matrix[i, i] * matrix[j, j])
        assert asymmetry(rounded) in ((i, j), (j, i))
        matrix[2, 2] *= -1
        np.testing.assert_array_equal(negative_along(matrix), np.eye(5)[2])
    assert negative_along(np.diag([0.0, 1.0])) is None
    assert negative_along(np.array([[0.0, 1.0], [1.0, 1.0]])) is not None


# ---- bits ----------------------------------------------------------------------------------------

# Kernels that add and multiply in one rounding, or in two, and those of the CPU itself.
KERNELS = [
    {"OPENBLAS_CORETYPE": "Prescott"},
    {"OPENBLAS_CORETYPE": "Haswell"},
    {"NPY_DISABLE_CPU_FEATURES": "X86_V4 X86_V3", "PYTHONHASHSEED": "7", "TAUT_THREADS": "1"},
]


@pytest.mark.skipif(sys.platform != "linux", reason="kernels are chosen where NumPy has OpenBLAS")
def test_bits_do_not_depend_on_the_kernels_of_blas(tmp_path):
    """Starts that are projected, masses that are solved for, multipliers, frames of bodies."""
    script = Path(__file__).parent / "kernel" / "bits.py"
    env = os.environ | {"TAUT_CACHE_DIR": str(tmp_path)}
    said = []
    for kernel in KERNELS:
        done = subprocess.run(
            [sys.executable, str(script)], env=env | kernel, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.splitlines())
    assert len(said[0]) > 8
    assert said[0] == said[1] == said[2]
