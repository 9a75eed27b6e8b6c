"""Brackets: their Casimirs, what they must satisfy, and what they absorb."""

import runpy
from pathlib import Path

import pytest
import sympy as sp

import taut

CASES = runpy.run_path(str(Path(__file__).with_name("cases.py")))["CASES"]
X = sp.symbols("x1:4")
M, G = sp.symbols("M1:4"), sp.symbols("G1:4")
K, C = sp.symbols("k c", positive=True)


def hat(x):
    return sp.Matrix([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def blocks(a, b, c, d):
    return sp.Matrix(sp.BlockMatrix([[a, b], [c, d]]))


SO3 = (X, hat(X), [sum(x**2 for x in X)])
E3 = (
    (*M, *G),
    blocks(hat(M), hat(G), hat(G), sp.zeros(3)),
    [sum(x**2 for x in G), sum(a * b for a, b in zip(M, G, strict=True))],
)
SO4 = (
    (*M, *G),
    blocks(hat(M), hat(G), hat(G), hat(M)),
    [sum(x**2 for x in (*M, *G)), sum(a * b for a, b in zip(M, G, strict=True))],
)


@pytest.mark.parametrize(("x", "bracket", "known"), [SO3, E3, SO4], ids=["so3", "e3", "so4"])
def test_casimirs_of_lie_algebras(x, bracket, known):
    found = taut.casimirs(x, bracket, degree=4)
    assert len(found) == len(known) == found.rank
    assert "all that there are" in found.complete
    for law in found:
        slopes = sp.Matrix([law.expression.diff(y) for y in x])
        assert (bracket * slopes).expand() == sp.zeros(len(x), 1)
        assert law.kind == "Casimir"
    span = sp.Matrix([[e.subs(dict(zip(x, p, strict=True))) for e in (*known, *(
        law.expression for law in found))] for p in POINTS[len(x)]])  # fmt: skip
    assert span.rank() == len(known)


POINTS = {
    n: [[(7 * i + 3 * j * j + i * j) % 11 - 4 for j in range(n)] for i in range(8)] for n in (3, 6)
}


def test_regular_brackets_have_none():
    q, p = sp.symbols("q p")
    found = taut.casimirs([q, p], [[0, 1], [-1, 0]], degree=3)
    assert not found
    assert "corank 0" in found.complete


def test_casimirs_with_parameters_and_functions():
    """A bracket that is a multiple of x × ∇C, C = a x1² + x2² + e^{x3}."""
    a = sp.Symbol("a")
    slopes = [2 * a * X[0], 2 * X[1], sp.exp(X[2])]
    (law,) = taut.casimirs(X, 3 * hat(slopes))
    assert sp.expand(law.expression - (a * X[0] ** 2 + X[1] ** 2 + sp.exp(X[2]))) == 0
    low = taut.casimirs(X, hat(X), degree=1)
    assert not low
    assert "J has corank 1; complete in this ansatz" in low.complete


def test_what_is_no_bracket_is_refused():
    wrong = hat(X)
    wrong[0, 1] = X[2]
    with pytest.raises(taut.ModelError, match="not antisymmetric in x1 and x2") as caught:
        taut.casimirs(X, wrong)
    assert caught.value.received == "2*x3"
    bent = hat([X[1] ** 2, 0, 1])  # b × ∇H with b·curl b = −2 x2
    with pytest.raises(taut.ModelError, match="Jacobi's identity for x1, x2, x3") as caught:
        taut.casimirs(X, bent)
    assert caught.value.received in ("2*x2", "-2*x2")
    with pytest.raises(taut.ModelError, match="does not fit"):
        taut.casimirs(X, [[0, 1], [-1, 0]])
    with pytest.raises(taut.ModelError, match="where Abs occurs"):
        taut.casimirs(X, hat([sp.Abs(X[0]), 0, 0]))
    with pytest.raises(taut.InputError, match="degree"):
        taut.casimirs(X, hat(X), degree=0)


def test_the_gyroscopic_torque_is_absorbed():
    """SGM's example: the additional term is J ∇(k x3), and H + k x3 is conserved."""
    h = taut.absorbed(X, hat(X), [K * X[1], -K * X[0], 0])
    assert h == K * X[2]
    model, (_, energy), _ = CASES["gyrostat"]()
    a = sp.symbols("A1:4", positive=True)
    assert sp.expand(energy - sum(x**2 / (2 * b) for x, b in zip(X, a, strict=True)) - h) == 0
    taut.conserved(model, proposed=energy)


def test_damping_is_not_absorbed():
    with pytest.raises(taut.InputError, match="change the Casimir") as caught:
        taut.absorbed(X, hat(X), [-C * x for x in X])
    assert "-2*c*(x1**2 + x2**2 + x3**2)" in caught.value.received


def test_what_keeps_casimirs_but_not_the_bracket():
    """ẋ = x1 (x × e3) keeps |x| and turns faster where x1 is large."""
    extra = [X[0] * X[1], -(X[0] ** 2), 0]
    with pytest.raises(taut.InputError, match="do not keep the bracket"):
        taut.absorbed(X, hat(X), extra)


def test_an_ansatz_that_is_too_small_is_named():
    h = X[0] ** 3
    extra = list(hat(X) * sp.Matrix([h.diff(x) for x in X]))
    with pytest.raises(taut.InputError, match="no h with") as caught:
        taut.absorbed(X, hat(X), extra)
    assert "degree" in caught.value.expected
    assert taut.absorbed(X, hat(X), extra, degree=3) == h
    with pytest.raises(taut.ModelError, match="additional terms do not fit"):
        taut.absorbed(X, hat(X), [0, 1])
