"""Quick sums and products are those of CasADi's operators, node for node."""

import casadi as ca
import pytest

from taut.kernel import arithmetic

SX = ca.SX
PAIRS = {
    "plus": lambda a, b: a + b,
    "minus": lambda a, b: a - b,
    "times": lambda a, b: a * b,
    "over": lambda a, b: a / b,
    "less": lambda a, b: a < b,
    "larger_of": ca.fmax,
}
SINGLE = {"size_of": ca.fabs, "no": ca.logic_not}
A, B, V = SX.sym("a"), SX.sym("b"), SX.sym("v", 3)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("pair", [(A, B), (B, A), (0, A), (A, 1.0), (2.5, A), (A, V), (V, 3 * V)])
def test_pairs(name, pair):
    wanted = PAIRS[name](*map(SX, pair))
    found = getattr(arithmetic, name)(*pair)
    assert found.shape == wanted.shape
    assert ca.is_equal(found, wanted, 10)


@pytest.mark.parametrize("name", SINGLE)
def test_single(name):
    assert ca.is_equal(getattr(arithmetic, name)(V), SINGLE[name](V), 10)
