"""Names of methods: what an error says about those that are not there."""

import pytest

import taut
from taut.methods.registry import method_of


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("gauss-lobatto-10", "GaussLobatto"),
        ("lobatto-8", "LobattoPair"),
        ("composition-12", "Composition"),
        ("RK4", "did you mean 'rk4'"),
        ("ratle", "did you mean 'rattle'"),
    ],
)
def test_unknown_names_have_a_remedy(name, hint):
    with pytest.raises(taut.UnknownName, match="remedy") as caught:
        method_of(name)
    assert hint in str(caught.value)


def test_an_order_that_was_given_as_a_scheme():
    with pytest.raises(taut.UnknownName, match="order=8"):
        taut.Composition("rattle", 8)
