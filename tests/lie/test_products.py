"""Translations, and products that are their factors side by side."""

import itertools

import numpy as np
import pytest

from taut import lie
from taut.errors import InputError

FACTORS = (lie.SE3, lie.translations(2), lie.SO3, lie.SE2)
P = lie.product(*FACTORS)
OF_VECTORS = ("hat", "exp", "cay", "cay_ad", "dexp", "dexp_inverse", "dcay", "dcay_inverse",
              "dcay_ad", "dcay_ad_inverse")  # fmt: skip
OF_MATRICES = ("log", "cay_inverse", "cay_ad_inverse", "inverse", "adjoint", "coadjoint")


def outside(matrix, sizes):
    """The largest entry that is in no block."""
    rest, at = np.array(matrix), 0
    for n in sizes:
        rest[at : at + n, at : at + n] = 0
        at += n
    return np.abs(rest).max()


@pytest.fixture
def x(rng):
    return rng.uniform(-1, 1, 14)


def test_of_vectors(x):
    for name in OF_VECTORS:
        whole, at = getattr(P, name)(x), 0
        for factor, own in zip(FACTORS, P.algebra.slices, strict=True):
            part = getattr(factor, name)(x[own])
            n = len(part)
            assert np.array_equal(whole[at : at + n, at : at + n], part), name
            at += n
        assert at == len(whole)
        assert (
            outside(whole, [len(getattr(f, name)(np.zeros(f.algebra.dimension))) for f in FACTORS])
            == 0
        )


def test_of_matrices(x):
    g = P.exp(x)
    parts = P.split(g)
    for name in OF_MATRICES:
        whole = getattr(P, name)(g)
        found = [getattr(f, name)(part) for f, part in zip(FACTORS, parts, strict=True)]
        if whole.ndim == 1:
            assert np.array_equal(whole, np.concatenate(found))
        else:
            at = 0
            for part in found:
                n = len(part)
                assert np.array_equal(whole[at : at + n, at : at + n], part)
                at += n
            assert outside(whole, map(len, found)) == 0
    assert np.array_equal(P.vee(P.hat(x)), x)


def test_the_algebra_is_that_of_the_factors(x):
    y = np.roll(x, 3)
    for name in ("bracket", "dual"):
        whole = getattr(P.algebra, name)(x, y)
        for factor, own in zip(FACTORS, P.algebra.slices, strict=True):
            assert np.array_equal(whole[own], getattr(factor.algebra, name)(x[own], y[own]))


def test_names_and_order():
    so3, se2, line = lie.so3, lie.se2, lie.abelian(1)
    assert (so3 * se2).name == "so(3) × se(2)"
    assert (so3 * line).labels == ("w1", "w2", "w3", "x1")
    assert (so3 * so3).labels[2:4] == ("w3_1", "w1_2")
    assert (so3 * se2) * line == so3 * (se2 * line) == lie.product(so3, se2, line)
    assert so3 * line != line * so3
    assert (so3 * line * se2).slices == (slice(0, 3), slice(3, 4), slice(4, 7))
    assert (so3 * line * so3).factors == (so3, line, so3)
    assert lie.product(lie.SO3, lie.SE2, lie.SE3) == lie.SO3 * (lie.SE2 * lie.SE3)
    assert (lie.SO3 * lie.SE2).algebra == so3 * se2
    assert lie.product(lie.SO3).split(np.eye(3))[0].shape == (3, 3)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_jacobi_holds_in_products(n):
    """Numerically, for every triple of basis vectors; it was proved when they were made."""
    named = [lie.so3, lie.se2, lie.abelian(1), lie.se3]
    for factors in itertools.islice(itertools.permutations(named, n), 5):
        a = lie.product(*factors)
        c = a.structure
        twice = np.einsum("ijl,lkm->ijkm", c, c)
        total = twice + twice.transpose(1, 2, 0, 3) + twice.transpose(2, 0, 1, 3)
        assert not total.any()
        assert np.array_equal(c, -c.transpose(1, 0, 2))


def test_join_and_split(x):
    g = P.exp(x)
    assert np.array_equal(P.join(*P.split(g)), g)
    assert not any(np.shares_memory(part, g) for part in P.split(g))
    many = P.join(np.eye(4), np.eye(3), lie.SO3.exp(np.zeros((5, 3))), np.eye(3))
    assert many.shape == (5, 13, 13)
    with pytest.raises(InputError, match=r"expected: 4 matrices\n *received: 1"):
        P.join(np.eye(4))
    with pytest.raises(InputError, match="not a rotation"):
        P.join(np.eye(4), np.eye(3), 2 * np.eye(3), np.eye(3))


def test_what_is_not_in_the_product_is_refused():
    g = P.identity
    g[0, 12] = 1e-3
    with pytest.raises(InputError, match="zeros outside the blocks"):
        P.log(g)
    g = P.identity
    g[7:10, 7:10] *= 2
    with pytest.raises(InputError, match=r"factor 3, SO\(3\)\) is not a rotation"):
        P.log(g)


def test_translations_add(rng):
    r = lie.translations(3)
    a, b = rng.normal(size=(2, 4, 3))
    assert np.allclose(r.log(r.compose(r.exp(a), r.exp(b))), a + b, atol=1e-15)
    assert np.array_equal(r.log(r.inverse(r.exp(a))), -a)
    assert np.array_equal(r.exp(a), r.cay(a))
    wrong = r.exp(a)
    wrong[2, 0, 1] = 0.5
    with pytest.raises(InputError, match="not a translation"):
        r.log(wrong)


@pytest.mark.parametrize("make", [lie.translations, lie.abelian])
@pytest.mark.parametrize("n", [0, -1, 2.0, "2", True, None])
def test_dimensions_are_whole_numbers(make, n):
    with pytest.raises(InputError, match="whole number"):
        make(n)


@pytest.mark.parametrize("wrong", [(), (lie.so3, lie.SO3), (lie.SO3, 3), ("so3",)])
def test_what_has_no_product_is_refused(wrong):
    with pytest.raises(InputError, match="these have no product"):
        lie.product(*wrong)
    for one in (lie.so3, lie.SO3):
        with pytest.raises(TypeError):
            one * 3
