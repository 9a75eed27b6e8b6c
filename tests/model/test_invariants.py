"""Expressions as functions of at most quadratic ones."""

import pytest
import sympy as sp

from taut.errors import InputError
from taut.model.invariants import degree, known_to, pieces, polarised
from taut.model.terms import whole

a, b, x, y, z = VARIABLES = sp.symbols("a b x y z", real=True)
k, t = sp.symbols("k t", real=True)
R2 = x**2 + y**2 + z**2
DISTANCE = (x - a) ** 2 + (y - b) ** 2


def found(expression, given=(), groups=(VARIABLES,)):
    """[(how, inner functions)] after a check that the pieces make up the expression."""
    parts = pieces(expression, groups, given)
    variables = {s for group in groups for s in group}
    total = sum(
        p.outer.xreplace(dict(zip(p.symbols, p.inner, strict=True))) for p in parts
    ) - expression.xreplace(dict.fromkeys(variables, sp.Integer(1)))
    point = dict.fromkeys(variables)
    for i, s in enumerate(sorted(variables, key=str)):
        point[s] = sp.Rational(3 + i, 4 + 2 * i)
    others = {k: sp.Rational(7, 5), t: sp.Rational(1, 3)}
    for shift in (sp.Integer(0), sp.Rational(1, 7)):
        here = {s: v + shift for s, v in point.items()} | others
        there = {s: v + sp.Rational(1, 3) for s, v in here.items()} | others
        change = [
            sp.N(e.subs(there) - e.subs(here), 20)
            for e in (total, expression)
        ]  # fmt: skip
        assert abs(change[0] - change[1]) < 1e-15
    for p in parts:
        assert all(degree(w, variables) in (1, 2) for w in p.inner)
    return [(p.how, set(map(sp.expand, p.inner))) for p in parts]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (k * x**2 / 2 + 3 * y + 7, [("quadratic", {k * x**2 / 2 + 3 * y})]),
        (-k / sp.sqrt(R2), [("invariants", {R2})]),
        (sp.exp(-R2), [("invariants", {-R2})]),
        (k * (sp.sqrt(DISTANCE) - 1) ** 2 / 2, [("invariants", {sp.expand(DISTANCE)})]),
        (sp.sin(x - a), [("invariants", {a - x})]),
        (sp.cos(x), [("invariants", {x})]),
        (x**4, [("invariants", {x})]),
        ((R2 - 1) ** 2, [("invariants", {R2 - 1})]),
        (z + 1 / (R2 + t), [("quadratic", {z}), ("invariants", {R2 + t})]),
        (z**3 * sp.log(x**2 + y**2), [("invariants", {z, x**2 + y**2})]),
        (sp.sin(x * y**2), [("plain", {x, y})]),
        (sp.sin(x) * sp.cos(y) + x**2 * y**3, [("plain", {x, y})]),
        (sp.Piecewise((R2**2, R2 > 2), (4 * R2 - 4, True)), [("invariants", {R2})]),
    ],
)
def test_what_is_found(expression, expected):
    assert found(expression) == expected


def test_functions_of_the_same_invariants_are_one_piece():
    """Also if they are written with another factor, sign or constant."""
    (piece,) = pieces(1 / (R2 - 2) + sp.exp(-3 * R2) + (2 * R2 + 1) ** 3, [VARIABLES])
    assert len(piece.inner) == 1
    assert found(1 / (R2 - 2) + sp.exp(-3 * R2) + (2 * R2 + 1) ** 3)[0][1] <= {
        R2 - 2,
        -3 * R2,
        2 * R2 + 1,
    }


def test_distances_stay_as_they_are_written():
    """Multiplied out, they would lose all digits far from the origin."""
    (piece,) = pieces(sp.sqrt(DISTANCE) + 1 / DISTANCE, [VARIABLES])
    assert piece.inner == (DISTANCE,)


def test_positions_and_momenta_are_groups_of_the_plain_form():
    px, py = sp.symbols("px py", real=True)
    (piece,) = pieces(sp.sin(x * px) * sp.exp(y * py * x), [(x, y), (px, py)])
    assert (piece.how, piece.groups) == ("plain", ((0, 1), (2, 3)))
    assert found(sp.exp(x * px + y * py), groups=[(x, y), (px, py)]) == [
        ("invariants", {x * px + y * py})
    ]


@pytest.mark.parametrize(
    ("expression", "given", "how"),
    [
        (sp.expand((x**2 + y**2) ** 2), [x**2 + y**2], "given"),
        (sp.sqrt(x**2 + 2 * x * a + a**2 + y**2), [(x + a) ** 2 + y**2], "given"),
        (sp.exp(sp.expand(DISTANCE)) / (1 + DISTANCE), [DISTANCE], "given"),
        (sp.sin(x + y) ** 3, [x + y], "given"),
        (sp.expand((x + y) ** 3), [x + y], "given"),
        (sp.expand((x + y) ** 3), [x - y], "plain"),
        (x**3, [x**2], "invariants"),  # odd: no function of x²
        (sp.sqrt(x**2 + 2 * y**2), [x**2 + y**2], "invariants"),
    ],
)
def test_what_is_given(expression, given, how):
    assert {kind for kind, _ in found(expression, given)} - {"quadratic"} >= {how}


def test_a_piece_along_a_direction():
    """The derivative of F(w) is Σ ∂F/∂w_k ω_k, with ω_k at most quadratic in both."""
    u, v = sp.symbols("u v", real=True)
    (piece,) = pieces(sp.sqrt(x**2 + y**2), [(x, y)])
    along = piece.along({x: u, y: v})
    value = along.outer.xreplace(dict(zip(along.symbols, along.inner, strict=True)))
    assert sp.simplify(value - (x * u + y * v) / sp.sqrt(x**2 + y**2)) == 0
    assert all(degree(w, [x, y, u, v]) == 2 for w in along.inner)


def test_polarised():
    """½ v₀ᵀM v₁ + A·(v₀ + v₁)/2 − U, and nothing else than L if v₀ = v₁."""
    u, v = rates = sp.symbols("u v", real=True)
    energy = (2 + x**2) * u**2 / 2 + x * u * v + v**2 + y * u - sp.cos(x)
    first, second = sp.symbols("u0 v0"), sp.symbols("u1 v1")
    both = polarised(energy, rates, first, second)
    assert (
        sp.expand(both.subs(dict(zip((*first, *second), (u, v, u, v), strict=True))) - energy) == 0
    )
    expected = (2 + x**2) * first[0] * second[0] / 2 + y * (first[0] + second[0]) / 2 - sp.cos(x)
    assert sp.expand(both.subs({first[1]: 0, second[1]: 0}) - expected) == 0


def test_a_lagrangian_that_is_not_quadratic_is_refused():
    u = sp.Symbol("u", real=True)
    with pytest.raises(InputError, match="discrete gradient") as caught:
        polarised(u**4, [u], [u], [u])
    assert "hamiltonian" in caught.value.remedy


def test_what_a_term_knows():
    term = whole("lagrangian", (x, y), [x**2])
    foreign = sp.Symbol("x")
    assert known_to(term, ("k",), [foreign**2 * k, x + z]) == (x**2 * k,)
