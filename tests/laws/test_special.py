"""Special values of parameters: textbook lists, and nothing where there is nothing."""

from itertools import product

import pytest
import sympy as sp

import taut
from taut.laws.special import rationals

X, Y = Q = taut.coordinates("x y")
A, B, LAM = sp.symbols("A B lam")
S, R, B0 = sp.symbols("sigma rho beta")


@pytest.fixture(scope="module")
def heiles():
    well = (A * X**2 + B * Y**2) / 2 + X**2 * Y + LAM / 3 * Y**3
    return taut.System(Q, mass=1, potential=well, parameters=["A", "B", "lam"])


@pytest.fixture(scope="module")
def lorenz():
    x, y, z = sp.symbols("x y z")
    return taut.Flow([x, y, z], [S * (y - x), x * (R - z) - y, x * y - B0 * z])


def holds(model, special):
    """Every law named is conserved with these values, by SymPy."""
    values = {s: special.values.get(s.name, s) for s in (S, R, B0)}
    for law in special.laws:
        rate = law.expression.diff(taut.t) + sum(
            law.expression.diff(x) * e.subs(values)
            for x, e in zip(model.variables, model.rhs, strict=True)
        )
        assert sp.expand(rate) == 0


def test_henon_and_heiles_are_integrable_three_times(heiles):
    grid = {"A": [1], "B": [1, 16], "lam": [-2, -1, 0, 1, 2, 3, 5, 6, 8, 15, 16, 17]}
    found = taut.special_values(heiles, grid, degree=6)
    assert [x.condition for x in found] == [
        "at A = 1, B = 1, lam = 1", "at lam = 6", "at A = 1, B = 16, lam = 16"
    ]  # fmt: skip
    for special in found:
        (law,) = special.laws
        assert law.condition == special.condition
        assert law.verified == "normal form"
    assert found[1].laws[0].expression.has(sp.Symbol("A"))
    assert "3 special cases among 24 values tried, degree ≤ 6" in str(found)


def test_a_hundred_values_take_seconds(heiles):
    grid = {"A": [1], "B": [1], "lam": [x for x in rationals(16, 5) if x != 3]}
    found = taut.special_values(heiles, grid, degree=4)
    assert [x.values["lam"] for x in found] == [1, 6]
    assert found.tried > 100


def test_all_six_cases_of_lorenz(lorenz):
    third = sp.Rational(1, 3)
    cases = [(2, 28, 4), (2, 0, 1), (1, 28, 1), (1, 28, 4), (third, 28, 0), (2, 3, 10)]
    wanted = [
        {"sigma": 2, "beta": 4}, {"rho": 0, "beta": 1}, {"sigma": 1, "beta": 1},
        {"sigma": 1, "beta": 4}, {"sigma": third, "beta": 0}, {"sigma": 2, "rho": 3, "beta": 10},
    ]  # fmt: skip
    for case, values in zip(cases, wanted, strict=True):
        grid = {s: [x] for s, x in zip((S, R, B0), case, strict=True)}
        (special,) = taut.special_values(lorenz, grid, degree=4)
        assert special.values == values
        assert [x.kind for x in special.laws] == ["decaying"]
        holds(lorenz, special)


def test_chaos_has_nothing(lorenz):
    found = taut.special_values(lorenz, {"sigma": [10], "rho": [28], "beta": ["8/3"]}, degree=4)
    assert not found
    assert "nothing special among 1 values" in str(found)


def test_values_that_are_chosen_by_themselves():
    one = taut.System(Q, mass=1, potential=X**2 * Y + LAM / 3 * Y**3, parameters=["lam"])
    found = taut.special_values(one, degree=4)
    assert [x.values["lam"] for x in found] == [1, 6]
    assert found.tried == len(rationals(16, 5)) == 113
    two = taut.System(Q, mass=1, potential=A * X**2 + B * Y**2, parameters=["A", "B"])
    found = taut.special_values(two, degree=2)
    assert found.tried == len(rationals(6, 3)) ** 2
    equal = {(x.values["A"], x.values["B"]) for x in found if len(x.values) == 2}
    assert equal >= {(a, a) for a in rationals(6, 3) if a}
    assert all(a == b or 0 in (a, b) for a, b in equal)
    (one,) = [x for x in found if x.values == {"A": 1, "B": 1}]
    assert [law.kind for law in one.laws] == ["angular momentum", "hidden symmetry"]


def test_where_the_model_has_no_meaning_is_passed_over():
    x, y = sp.symbols("x y")
    flow = taut.Flow([x, y], [y / A, -x])
    found = taut.special_values(flow, {"A": [0, 1, 2]})
    assert found.tried == 3
    assert not found


def test_progress_is_told(heiles):
    told = []
    grid = {"A": [1], "lam": [1, 2, 3]}
    taut.special_values(heiles, grid, progress=lambda *n: told.append(n))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_bad_requests_are_refused(heiles):
    with pytest.raises(taut.UnknownName, match="mu"):
        taut.special_values(heiles, {"mu": [1]})
    with pytest.raises(taut.InputError, match="not a fraction"):
        taut.special_values(heiles, {"lam": ["much"]})
    with pytest.raises(taut.InputError, match="not a mapping"):
        taut.special_values(heiles, [1, 2])
    with pytest.raises(taut.InputError, match="too many values"):
        taut.special_values(heiles, dict.fromkeys(("A", "B", "lam"), range(30)))
    with pytest.raises(taut.InputError, match="no parameters"):
        taut.special_values(taut.System(Q, mass=1, potential=X))
    with pytest.raises(taut.InputError, match="too many monomials"):
        taut.special_values(heiles, degree=12)
    with pytest.raises(taut.InputError, match="found for systems"):
        taut.special_values("lorenz")


def test_fractions():
    small = rationals(3, 2)
    assert small == sorted(
        {sp.Rational(p, q) for p, q in product(range(-3, 4), (1, 2))} - {sp.Rational(2, 2)}
        | {sp.Integer(1)}
    )


def test_variables_that_stand_still_at_a_value():
    x, y = sp.symbols("x y")
    a, b = sp.symbols("a b")
    flow = taut.Flow([x, y], [a * x, b * y])
    found = taut.special_values(flow, {"a": [0, 1], "b": [0, 1]}, degree=2)
    assert found.tried == 4
    assert not found  # a t − log x is −log x at a = 0, and x is a function of it
