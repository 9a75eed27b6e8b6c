"""Coefficients: exact where exact values are known, and of the order and symmetry they claim."""

import mpmath as mp
import numpy as np
import pytest

from taut.methods import tableaux
from taut.methods.spark import GaussLobatto, LobattoPair

STAGES = range(1, 7)


def test_known_nodes():
    root = mp.sqrt(3) / 6
    with mp.workdps(50):
        known = {
            1: [mp.mpf(1) / 2],
            2: [mp.mpf(1) / 2 - mp.sqrt(3) / 6, mp.mpf(1) / 2 + mp.sqrt(3) / 6],
            3: [mp.mpf(1) / 2 - mp.sqrt(15) / 10, mp.mpf(1) / 2, mp.mpf(1) / 2 + mp.sqrt(15) / 10],
        }
        for s, nodes in known.items():
            assert all(
                abs(a - b) < 1e-45 for a, b in zip(tableaux.gauss_nodes(s), nodes, strict=True)
            )
        inner = (1 - mp.sqrt(mp.mpf(1) / 5)) / 2
        assert abs(tableaux.lobatto_nodes(4)[1] - inner) < 1e-45
    assert root > 0


@pytest.mark.parametrize("s", STAGES)
def test_quadratures_are_exact_to_their_degree(s):
    with mp.workdps(50):
        for nodes, degree in (
            (tableaux.gauss_nodes(s), 2 * s - 1),
            (tableaux.lobatto_nodes(s + 1), 2 * s - 1),
        ):
            (weights,) = tableaux.integrals(nodes, [1])
            for k in range(degree + 1):
                found = sum(w * c**k for w, c in zip(weights, nodes, strict=True))
                assert abs(found - mp.mpf(1) / (k + 1)) < 1e-40
            beyond = sum(w * c ** (degree + 1) for w, c in zip(weights, nodes, strict=True))
            assert abs(beyond - mp.mpf(1) / (degree + 2)) > 1e-12


@pytest.mark.parametrize("s", STAGES)
def test_gauss_lobatto_is_a_symplectic_and_symmetric_pair(s):
    k = GaussLobatto(s).coefficients
    assert tableaux.symplectic_defect(k.a, k.b) < 1e-16
    np.testing.assert_allclose(k.a_hat, k.a, atol=1e-16)  # Gauss is its own conjugate
    # bᵢ ãᵢⱼ + b̃ⱼ āⱼᵢ = bᵢ b̃ⱼ
    left = k.b[:, None] * k.a_tilde + (k.node_b[:, None] * k.node_a).T
    np.testing.assert_allclose(left, np.outer(k.b, k.node_b), atol=1e-16)
    np.testing.assert_allclose(k.a + k.a[::-1, ::-1], np.tile(k.b, (s, 1)), atol=1e-16)
    assert np.all(k.node_a[0] == 0)
    np.testing.assert_array_equal(k.node_a[-1], k.b)  # q₁ is the last node, to the last bit
    assert np.all(k.a_tilde[:, -1] == 0)  # the last multiplier acts on p₁ alone


@pytest.mark.parametrize("s", range(2, 7))
def test_lobatto_is_the_pair_iiia_iiib(s):
    k = LobattoPair(s).coefficients
    np.testing.assert_array_equal(k.a, k.node_a)
    assert np.all(k.a[0] == 0)
    np.testing.assert_array_equal(k.a[-1], k.b)
    assert np.all(k.a_hat[:, -1] == 0)
    np.testing.assert_allclose(k.a_hat[:, 0], np.full(s, k.b[0]), atol=1e-16)


def test_lobatto_iiib_of_order_four_is_the_published_one():
    found = LobattoPair(3).coefficients.a_hat
    np.testing.assert_allclose(
        found, [[1 / 6, -1 / 6, 0], [1 / 6, 1 / 3, 0], [1 / 6, 5 / 6, 0]], atol=1e-16
    )
