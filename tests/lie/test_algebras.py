"""Brackets and dual brackets: of numbers, of many at once, and of expressions."""

import runpy
from fractions import Fraction
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings, strategies as st

from taut import lie
from taut.errors import InputError

CASES = runpy.run_path(str(Path(__file__).with_name("cases.py")))
close, apply = CASES["close"], CASES["apply"]
QUICK = settings(max_examples=25, deadline=None)
HALF = lie.algebra({("q", "p"): {"z": Fraction(1, 2)}}, "q p z", "half Heisenberg")
ALGEBRAS = [lie.so3, lie.se2, lie.se3, lie.abelian(2), HALF, lie.so3 * lie.abelian(1) * lie.se2]
every = pytest.mark.parametrize("a", ALGEBRAS, ids=lambda a: a.name)
NUMBER = st.floats(-3, 3)


def elements(a, count):
    return st.tuples(
        *[st.lists(NUMBER, min_size=a.dimension, max_size=a.dimension).map(np.array)] * count
    )


@every
@QUICK
@given(st.data())
def test_the_axioms_of_a_lie_algebra(a, data):
    """Bilinear, antisymmetric, Jacobi's."""
    x, y, z = data.draw(elements(a, 3))
    s = data.draw(NUMBER)
    b = a.bracket
    close(b(x, y), -b(y, x))
    close(b(s * x + z, y), s * b(x, y) + b(z, y), 100)
    close(b(x, s * y + z), s * b(x, y) + b(x, z), 100)
    close(b(b(x, y), z) + b(b(y, z), x) + b(b(z, x), y), np.zeros(len(x)), 1000)


@every
@QUICK
@given(st.data())
def test_the_dual_bracket(a, data):
    """⟨[ξ, α]*, η⟩ = ⟨α, [ξ, η]⟩; it represents: [[ξ, η], α]* = [η, [ξ, α]*]* − [ξ, [η, α]*]*."""
    x, y, alpha = data.draw(elements(a, 3))
    close(a.dual(x, alpha) @ y, alpha @ a.bracket(x, y), 100)
    d = a.dual
    close(d(a.bracket(x, y), alpha), d(y, d(x, alpha)) - d(x, d(y, alpha)), 1000)


@every
@QUICK
@given(st.data())
def test_matrices(a, data):
    x, y = data.draw(elements(a, 2))
    close(a.ad(x) @ y, a.bracket(x, y), 10)
    close(a.ad_star(x) @ y, a.dual(x, y), 10)
    close(a.ad(a.bracket(x, y)), a.ad(x) @ a.ad(y) - a.ad(y) @ a.ad(x), 1000)
    close(a.killing() @ y @ x, np.trace(a.ad(x) @ a.ad(y)), 1000)


def test_so3_is_the_cross_product(rng):
    x, y = rng.normal(size=(2, 7, 3))
    close(lie.so3.bracket(x, y), np.cross(x, y))
    close(lie.so3.dual(x, y), np.cross(y, x))
    assert np.array_equal(lie.so3.killing(), -2 * np.eye(3))


@every
def test_everything_broadcasts(a, rng):
    n = a.dimension
    x, y = rng.normal(size=(2, 1, n)), rng.normal(size=(3, n))
    for name in ("bracket", "dual"):
        found = getattr(a, name)(x, y)
        assert found.shape == (2, 3, n)
        for i, j in np.ndindex(2, 3):
            close(found[i, j], getattr(a, name)(x[i, 0], y[j]))
    assert a.ad(x).shape == (2, 1, n, n)
    assert a.ad_star(x).shape == (2, 1, n, n)
    assert a.bracket(np.zeros((0, n)), y[0]).shape == (0, n)


def test_complex_numbers_and_whole_ones():
    assert lie.so3.bracket([1, 0, 0], [0, 1j, 0])[2] == 1j
    assert lie.so3.bracket([1, 0, 0], [0, 1, 0]).dtype == float
    assert lie.so3.ad([1, 2, 3]).dtype == float


@every
def test_expressions_of_sympy(a):
    n = a.dimension
    x, y = sp.symbols(f"x1:{n + 1}"), sp.symbols(f"y1:{n + 1}")
    values = {s: sp.Rational(3 * i + 1, i + 2) for i, s in enumerate([*x, *y])}
    numbers = [np.array([float(values[s]) for s in z]) for z in (x, y)]
    for name in ("bracket", "dual"):
        found = getattr(a, name)(x, y)
        assert isinstance(found, list)
        assert len(found) == n
        close(
            np.array([sp.sympify(e).subs(values) for e in found], float),
            getattr(a, name)(*numbers),
            10,
        )
        assert getattr(a, name)(list(x), sp.Matrix(y)) == found
        assert getattr(a, name)(sp.Matrix(x), y) == found
        assert not any(sp.sympify(e).has(sp.Float) for e in found)
    rows = sp.Matrix(a.ad(x))
    assert list(rows * sp.Matrix(y)) == [sp.expand(e) for e in a.bracket(x, y)] or sp.simplify(
        rows * sp.Matrix(y) - sp.Matrix(a.bracket(x, y))
    ) == sp.zeros(n, 1)
    assert sp.Matrix(a.ad_star(x)) == rows.T


@every
@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
def test_expressions_of_casadi(a, kind, rng):
    n = a.dimension
    x, y = kind.sym("x", n), kind.sym("y", n)
    numbers = rng.normal(size=(2, n))
    for name in ("bracket", "dual"):
        found = getattr(a, name)(x, y)
        function = ca.Function("f", [x, y], [ca.vertcat(*found)])
        close(np.array(function(*numbers)).ravel(), getattr(a, name)(*numbers))
        parts = [x[i] for i in range(n)]
        again = ca.Function("f", [x, y], [ca.vertcat(*getattr(a, name)(parts, y))])
        close(np.array(again(*numbers)), np.array(function(*numbers)))
        mixed = getattr(a, name)(x, numbers[1])
        third = ca.Function("f", [x], [ca.vertcat(*mixed)])
        close(np.array(third(numbers[0])).ravel(), getattr(a, name)(*numbers))


def test_fractions_stay_exact():
    assert HALF.bracket([Fraction(1, 3), 0, 0], [0, 1, 0]) == [0, 0, Fraction(1, 6)]
    assert HALF.bracket(sp.symbols("x y z"), [0, 1, 0])[2] == sp.Symbol("x") / 2
    assert HALF.bracket([1, 0, 0], [0, 1, 0])[2] == 0.5


def test_many_elements_of_expressions():
    x = np.array(sp.symbols("x1:7"), dtype=object).reshape(2, 3)
    y = sp.symbols("y1:4")
    found = lie.so3.bracket(x, y)
    assert found.shape == (2, 3)
    assert list(found[1]) == lie.so3.bracket(list(x[1]), y)
    assert lie.so3.ad(x).shape == (2, 3, 3)
    assert lie.so3.ad(x)[1].tolist() == lie.so3.ad(list(x[1]))
    assert lie.so3.ad_star(x)[1].tolist() == lie.so3.ad_star(list(x[1]))


def test_terms_write_a_bracket_by_hand(rng):
    x, y = rng.normal(size=(2, 6))
    out, dual = [0.0] * 6, [0.0] * 6
    for i, j, k, c in lie.se3.terms():
        out[k] += c * x[i] * y[j]
        dual[j] += c * x[i] * y[k]
    close(out, lie.se3.bracket(x, y))
    close(dual, lie.se3.dual(x, y))
    assert len(lie.se3.terms()) == 18


@pytest.mark.parametrize(
    "wrong",
    [
        [1, 2],
        np.ones((3, 2)),
        3.0,
        None,
        "abc",
        ["a", "b", "c"],
        [[1, 2, 3], [4]],
        np.array(["a", "b", "c"]),
        [[sp.Symbol("x")] * 3] * 3,
        sp.symbols("x y"),
        ca.SX.sym("x", 2),
    ],
    ids=repr,
)
def test_what_is_no_element_is_refused(wrong):
    for question in (
        lambda: lie.so3.bracket(wrong, [1, 2, 3]),
        lambda: lie.so3.dual([1, 2, 3], wrong),
        lambda: lie.so3.ad(wrong),
        lambda: lie.so3.ad_star(wrong),
    ):
        with pytest.raises(InputError, match=r"no element of so\(3\)(.|\n)*shape \(…, 3\)"):
            question()


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_numbers_that_are_none_are_refused(wrong):
    with pytest.raises(InputError, match=f"second argument(.|\n)*received: {wrong} among them"):
        lie.so3.bracket([1, 2, 3], [[1, 2, 3], [1, wrong, 3]])


def test_axes_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match=r"\(2, 3\) and \(4, 3\)"):
        lie.so3.bracket(np.ones((2, 3)), np.ones((4, 3)))


def test_algebras_are_values():
    again = lie.algebra(lie.se3.structure, lie.se3.labels, "se(3)")
    assert again == lie.se3
    assert hash(again) == hash(lie.se3)
    assert len({lie.so3, lie.se2, lie.se3, lie.abelian(3), again}) == 4
    assert lie.abelian(3).is_abelian
    assert not lie.se2.is_abelian
    with pytest.raises(AttributeError):
        lie.so3.name = "mine"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        lie.so3.structure[0, 0, 0] = 1


def test_an_algebra_prints_its_brackets():
    shown = lie.algebra({(0, 1): {0: -1, 2: Fraction(3, 2)}, (1, 2): {2: -2}}, "x y z")
    assert str(shown) == "Lie algebra, dimension 3\n  [x, y] = -x + 3/2 z\n  [y, z] = -2 z"
    assert str(lie.abelian(2)) == "R^2, dimension 2, abelian"
    assert str(lie.se2).splitlines()[1:] == ["  [w, v1] = v2", "  [w, v2] = -v1"]
