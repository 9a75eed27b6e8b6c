"""SymPy → CasADi: values, derivatives, branches, size of the graph, errors.

The reference is SymPy or mpmath with 50 digits, the candidate is CasADi's interpreter.
"""

import contextlib
import functools
import itertools
import math
import operator
import os
import subprocess
import sys
from fractions import Fraction
from typing import NamedTuple

import casadi as ca
import mpmath as mp
import pytest
import sympy as sp
from hypothesis import assume, given, settings, strategies as st
from sympy.physics.mechanics import dynamicsymbols

from taut.errors import ModelError
from taut.kernel.translate import to_casadi

x, y, z = sp.symbols("x y z", real=True)
X, Y, Z = (ca.SX.sym(name) for name in "xyz")
TABLE = {x: X, y: Y, z: Z}
EPS = 2.0**-52
HALF = sp.Rational(1, 2)


def translate(*expressions):
    return to_casadi(expressions, TABLE)


def number(graph, at=0.0, by=0.0, cz=0.0):
    return float(ca.Function("f", [X, Y, Z], [graph])(at, by, cz))


def value(expression, *point):
    return number(translate(expression)[0], *point)


def exact(expression, *point):
    """The expression at doubles, with 50 digits."""
    point = (*point, 0.0, 0.0)[:3]
    here = {s: sp.Rational(*p.as_integer_ratio()) for s, p in zip((x, y, z), point, strict=True)}
    return sp.N(expression.doit().subs(here), 50)


def assert_within(got, reference, ulps):
    """|got − reference| ≤ ulps · ulp(reference); exactly equal for ulps = 0."""
    error = abs(sp.Rational(*got.as_integer_ratio()) - sp.Rational(str(reference)))
    assert error <= ulps * math.ulp(float(reference)), (
        f"{float(error) / math.ulp(float(reference))} ulp"
    )


def operations(*graphs):
    """Names of the operations that are carried out, sorted; no inputs, constants, outputs."""
    names = {getattr(ca, name): name[3:] for name in dir(ca) if name.startswith("OP_")}
    f = ca.Function("f", [X, Y, Z], list(graphs))
    found = (names[f.instruction_id(i)] for i in range(f.n_instructions()))
    return sorted(name for name in found if name not in ("INPUT", "CONST", "OUTPUT"))


# ------------------------------------------------------------------- one function at a time

# Values: 4 ulp.  Derivatives: 16 ulp, at points where CasADi's formulas (1 − tanh², 1/√(1 − x²), …)
# are well conditioned.
SMOOTH = [
    (x + y, [(0.1, 0.7), (-3.25, 1e-3)]),
    (x - y, [(0.1, 0.7), (3.25, 1e-3)]),
    (-x - y - 3, [(0.1, 0.7)]),
    (2 * x / 3 - y / 7 + sp.pi, [(0.3, 0.9)]),
    (-3 * x * y / z, [(0.3, 0.7, -1.9)]),
    (x / (y * z), [(0.3, 0.7, -1.9)]),
    (1 / (x * sp.sqrt(y) * z**3), [(0.3, 0.7, -1.9)]),
    (sp.Float("0.1", 40) * x, [(0.3,)]),
    (x**2, [(0.3,), (-7.7,)]),
    (x**3, [(0.3,), (-7.7,)]),
    (x**5, [(1.3,), (-0.7,)]),
    (x**-1, [(0.3,), (-7.7,)]),
    (x**-4, [(0.3,), (-7.7,)]),
    (x**101, [(1.01,), (-0.99,)]),
    (x**-120, [(1.01,), (-0.99,)]),
    (sp.sqrt(x), [(0.3,), (1e9,)]),
    (x ** (3 * HALF), [(0.3,), (1e9,), (1e-200,)]),
    (x ** (7 * HALF), [(0.3,), (77.7,)]),
    (x ** (-HALF), [(0.3,), (1e9,)]),
    (x ** (-3 * HALF), [(0.3,), (1e9,)]),
    (x**1.5, [(0.3,)]),
    (x**2.0, [(-0.3,)]),
    (sp.cbrt(x), [(0.3,), (5.5,)]),
    (x ** sp.Rational(-2, 3), [(0.3,), (5.5,)]),
    (x**0.3, [(0.3,), (5.5,)]),
    (x**sp.pi, [(0.3,), (1.5,)]),
    (x**y, [(0.3, 1.7), (1.5, -0.4)]),
    (2**x, [(0.3,), (-1.7,)]),
    (sp.Pow(sp.E, x, evaluate=False), [(0.3,), (-1.7,)]),
    (sp.exp(x), [(0.3,), (-20.1,)]),
    (sp.log(x), [(0.3,), (1e9,)]),
    (sp.log(x, 3), [(0.3,), (1e3,)]),
    (sp.log(x, y, evaluate=False), [(0.3, 2.2)]),
    (sp.sin(x), [(0.3,), (-20.1,)]),
    (sp.cos(x), [(0.3,), (-20.1,)]),
    (sp.tan(x), [(0.3,), (-2.1,)]),
    (sp.cot(x), [(0.3,), (-2.1,)]),
    (sp.sec(x), [(0.3,), (-2.1,)]),
    (sp.csc(x), [(0.3,), (-2.1,)]),
    (sp.asin(x), [(0.3,), (-0.8,)]),
    (sp.acos(x), [(0.3,), (-0.8,)]),
    (sp.atan(x), [(0.3,), (-8.8,)]),
    (sp.acot(x), [(0.3,), (-0.3,), (0.0,), (8.8,), (-8.8,)]),
    (sp.asec(x), [(1.9,), (-3.3,)]),
    (sp.acsc(x), [(1.9,), (-3.3,)]),
    (sp.atan2(x, y), [(0.3, 0.9), (0.3, -0.9), (-0.3, -0.9), (-2.0, 0.5)]),
    (sp.sinh(x), [(0.3,), (-4.4,)]),
    (sp.cosh(x), [(0.3,), (-4.4,)]),
    (sp.tanh(x), [(0.3,), (-0.7,)]),
    (sp.coth(x), [(0.3,), (-0.7,)]),
    (sp.sech(x), [(0.3,), (-4.4,)]),
    (sp.csch(x), [(0.3,), (-4.4,)]),
    (sp.asinh(x), [(0.3,), (-4.4,)]),
    (sp.acosh(x), [(1.7,), (40.4,)]),
    (sp.atanh(x), [(0.3,), (-0.7,)]),
    (sp.acoth(x), [(1.7,), (-4.4,)]),
    (sp.asech(x), [(0.3,), (0.7,)]),
    (sp.acsch(x), [(0.3,), (-4.4,)]),
    (sp.erf(x), [(0.3,), (-1.7,)]),
    (sp.Abs(x), [(0.3,), (-1.7,)]),
    (sp.UnevaluatedExpr(x * y) + 1, [(0.3, 0.7)]),
    (sp.GoldenRatio * x + sp.EulerGamma, [(0.3,)]),
    (sp.sqrt(2) * x / 2, [(0.3,)]),
]
CASES = [
    pytest.param(expression, point, id=f"{expression} at {point}")
    for expression, points in SMOOTH
    for point in points
]


@pytest.mark.parametrize(("expression", "point"), CASES)
def test_value(expression, point):
    assert_within(value(expression, *point), exact(expression, *point), 4)


@pytest.mark.parametrize(("expression", "point"), CASES)
def test_derivative(expression, point):
    graph = translate(expression)[0]
    for symbol, variable in ((x, X), (y, Y)):
        got = number(ca.jacobian(graph, variable), *point)
        # .doit() first: SymPy forgets the base when it differentiates an unevaluated log(x, b)
        assert_within(got, exact(sp.diff(expression.doit(), symbol), *point), 16)


NOT_SMOOTH = [  # expression, point, value, derivative by x; all exact
    (sp.sign(x), -0.3, -1, 0),
    (sp.sign(x), 0.0, 0, 0),
    (sp.Abs(x), 0.0, 0, 0),
    (sp.floor(x), -2.5, -3, 0),
    (sp.floor(x), 2.0, 2, 0),
    (sp.ceiling(x), -2.5, -2, 0),
    (sp.ceiling(x), 2.25, 3, 0),
    (sp.Heaviside(x), -0.5, 0, 0),
    (sp.Heaviside(x), 0.0, 0.5, 0),
    (sp.Heaviside(x), 0.5, 1, 0),
    (sp.Heaviside(x, 1), 0.0, 1, 0),
    (sp.Heaviside(x, 0), 0.0, 0, 0),
    (sp.Heaviside(x, 3), 0.5, 1, 0),
    (sp.Max(x, 2 * x, 0), -0.5, 0, 0),
    (sp.Max(x, 2 * x, 0), 0.5, 1, 2),
    (sp.Min(x, 2 * x, 0), -0.5, -1, 2),
    (sp.Min(x, x**2 + 3), 0.5, 0.5, 1),
]


@pytest.mark.parametrize(("expression", "at", "expected", "slope"), NOT_SMOOTH)
def test_steps_and_corners(expression, at, expected, slope):
    graph = translate(expression)[0]
    assert number(graph, at) == expected
    assert number(ca.jacobian(graph, X), at) == slope


@pytest.mark.parametrize("divisor", [3.0, -3.0, 0.7, -0.7])
@pytest.mark.parametrize("dividend", [7.5, -7.5, 0.0, 3.0, -3.0, 1e9, -1e-3])
@pytest.mark.parametrize("symbolic", [True, False])
def test_mod_has_the_sign_of_the_divisor_as_in_sympy(dividend, divisor, symbolic):
    expression = sp.Mod(x, y) if symbolic else sp.Mod(x, sp.Float(divisor), evaluate=False)
    graph = translate(expression)[0]
    reference = exact(sp.Mod(x, y), dividend, divisor)
    # exact up to the rounding of the last addition; a − b ⌊a/b⌋ in doubles is 1e7 times worse
    assert abs(number(graph, dividend, divisor) - float(reference)) <= EPS * abs(divisor)
    assert number(ca.jacobian(graph, X), dividend, divisor) == 1
    if symbolic:
        by_divisor = number(ca.jacobian(graph, Y), dividend, divisor)
        assert by_divisor == pytest.approx(-math.floor(Fraction(dividend) / Fraction(divisor)))


def test_all_variables_are_real():
    u = sp.Symbol("u")  # no assumptions: SymPy leaves re(u) as it is
    expression = sp.re(u) + 2 * sp.conjugate(u) + 4 * sp.im(u) + sp.re(sp.exp(u), evaluate=False)
    (graph,) = to_casadi([expression], {u: X})
    assert number(graph, 0.5) == pytest.approx(1.5 + math.exp(0.5), rel=4 * EPS)


def test_plain_numbers_are_expressions():
    assert [float(v) for v in translate(3, 0.1, sp.S.Half)] == [3.0, 0.1, 0.5]


# -------------------------------------------------------------------------------- constants


@pytest.mark.parametrize(
    "rational",
    [
        sp.Rational(2**53 + 1, 3),  # float(p)/float(q) is one ulp off
        sp.Rational(10**30 + 1, 10**29 + 7),
        sp.Rational(-1, 10),
        sp.Rational(1, 3 * 2**1060),  # subnormal
        sp.Integer(2**54 + 3),
        sp.Rational(10**400 + 1, 10**399),  # neither fits a double
    ],
)
def test_rationals_are_rounded_once(rational):
    nearest = float(Fraction(int(rational.p), int(rational.q)))
    assert float(translate(rational)[0]) == nearest
    assert value(rational * x, 1.0) == nearest
    assert value(rational * x / y, -1.0, 1.0) == -nearest


def test_long_floats_are_rounded_once_and_not_through_fewer_digits():
    tie = sp.Rational(1) + sp.Rational(1, 2**53)  # half-way between two doubles: to even
    above = tie + sp.Rational(1, 2**120)
    below = tie - sp.Rational(1, 2**120)
    for sign in (1, -1):
        got = [float(translate(sp.Float(sign * r, 60))[0]) for r in (below, tie, above)]
        assert got == [sign * 1.0, sign * 1.0, sign * (1 + EPS)]
    assert float(translate(sp.Float("1e-2000"))[0]) == 0.0
    assert float(translate(sp.Float("3e-310", 40))[0]) == 3e-310


@pytest.mark.parametrize("name", ["pi", "e", "phi", "euler", "catalan"])
def test_named_constants_are_the_nearest_doubles(name):
    symbol = {
        "pi": sp.pi,
        "e": sp.E,
        "phi": sp.GoldenRatio,
        "euler": sp.EulerGamma,
        "catalan": sp.Catalan,
    }[name]
    with mp.workdps(40):
        assert float(translate(symbol)[0]) == float(getattr(mp.mp, name))


# -------------------------------------------------------------------------- random expressions

# Every operation with its argument kept in the domain.
UNARY = [
    sp.sin,
    sp.cos,
    sp.tanh,
    sp.atan,
    sp.asinh,
    sp.erf,
    sp.Abs,
    lambda u: -u,
    lambda u: u**2,
    lambda u: u**3,
    lambda u: sp.exp(sp.sin(u)),
    lambda u: sp.log(u**2 + HALF),
    lambda u: sp.sqrt(u**2 + 1),
    lambda u: (u**2 + 1) ** sp.Rational(3, 2),
    lambda u: (u**2 + 1) ** sp.Rational(-1, 3),
    lambda u: 1 / (sp.cos(u) + 2),
    lambda u: sp.asin(sp.sin(u) / 3),
    lambda u: sp.acosh(u**2 + 2),
    lambda u: sp.atanh(sp.cos(u) / 3),
    lambda u: sp.tan(sp.sin(u)),
    lambda u: sp.sinh(sp.sin(u)),
    lambda u: sp.cosh(sp.cos(u)),
]
BINARY = [
    lambda u, v: u + v,
    lambda u, v: u - v,
    lambda u, v: u * v,
    lambda u, v: u / (v**2 + 1),
    lambda u, v: -2 * u * v / 7,
    lambda u, v: sp.atan2(u, v**2 + 1),
    lambda u, v: (u**2 + 1) ** sp.sin(v),
    lambda u, v: sp.Max(u, v),
    lambda u, v: sp.Piecewise(
        (u * sp.sqrt(x), x > HALF), (v + sp.log(y + 2), y > -1), (u * v, True)
    ),
    lambda u, v: sp.Piecewise(
        (u / y, y > HALF), (v / y + sp.sqrt(x), (x > 0) & (y < -2)), (u, True)
    ),
]
LEAVES = st.one_of(
    st.sampled_from([x, y, z]),
    st.integers(-9, 9).map(sp.Integer),
    st.fractions(-3, 3, max_denominator=99).map(lambda q: sp.Rational(q.numerator, q.denominator)),
    st.sampled_from([sp.pi, sp.E, sp.sqrt(2)]),
)


@st.composite
def trees(draw, steps):
    """An expression made in steps, each applied to the last result and any of the earlier ones.

    Unevaluated: about large expressions, SymPy can think for minutes.
    """
    values = [draw(LEAVES), x, y, z]
    with sp.evaluate(False):
        for _ in range(steps):
            if draw(st.booleans()):
                result = draw(st.sampled_from(UNARY))(values[-1])
            else:
                operands = draw(st.permutations([values[-1], draw(st.sampled_from(values))]))
                result = draw(st.sampled_from(BINARY))(*operands)
            values.append(result)
    return values[-1]


POINTS = st.tuples(*[st.integers(-3 << 20, 3 << 20).map(lambda k: k / (1 << 20))] * 3)

FUNCTIONS = {
    sp.sin: mp.sin,
    sp.cos: mp.cos,
    sp.tan: mp.tan,
    sp.asin: mp.asin,
    sp.atan: mp.atan,
    sp.atan2: mp.atan2,
    sp.sinh: mp.sinh,
    sp.cosh: mp.cosh,
    sp.tanh: mp.tanh,
    sp.asinh: mp.asinh,
    sp.acosh: mp.acosh,
    sp.atanh: mp.atanh,
    sp.exp: mp.exp,
    sp.log: mp.log,
    sp.erf: mp.erf,
    sp.Pow: mp.power,
}


class Unclear(Exception):
    """A comparison within rounding, or a point outside the domain."""


class Bounded(NamedTuple):
    """Value and derivative by x, each with a first-order bound of its error in doubles."""

    v: mp.mpf
    e: mp.mpf = mp.mpf(0)
    d: mp.mpf = mp.mpf(0)
    de: mp.mpf = mp.mpf(0)

    def __add__(self, other):
        e = self.e + other.e + EPS * (abs(self.v) + abs(other.v))
        de = self.de + other.de + EPS * (abs(self.d) + abs(other.d))
        return Bounded(self.v + other.v, e, self.d + other.d, de)

    def __mul__(self, other):
        (v, e, d, de), (w, f, g, ge) = self, other
        error = abs(v) * f + abs(w) * e + EPS * abs(v * w)
        slope_error = abs(w) * de + abs(d) * f + abs(v) * ge + abs(g) * e
        slope_error += 2 * EPS * (abs(d * w) + abs(g * v))
        return Bounded(v * w, error, d * w + g * v, slope_error)


def apply(node, args):
    """f(args): errors by the first and second partial derivatives of f."""
    f, values = FUNCTIONS[type(node)], [a.v for a in args]

    def partial(*indices):
        return mp.diff(f, values, [indices.count(k) for k in range(len(values))])

    v = f(*values)
    if isinstance(v, mp.mpc) or not mp.isfinite(v):
        raise Unclear
    e, d, de = 4 * EPS * abs(v), mp.mpf(0), mp.mpf(0)
    for i, a in enumerate(args):
        if a.e or a.d:
            slope = partial(i)
            e += abs(slope) * a.e
            d += slope * a.d
            de += abs(slope) * (a.de + 8 * EPS * abs(a.d))
        if a.d:
            if isinstance(node, sp.tanh):
                de += 8 * EPS * abs(a.d)  # CasADi computes 1 − tanh²
            for j, b in enumerate(args):
                if b.e or b.d:
                    de += abs(partial(i, j) * a.d) * (b.e + 8 * EPS * abs(b.v))
    return Bounded(v, e, d, de)


def reference(node, point):
    """Value and derivative with 50 digits, with bounds of what doubles make of them."""
    if node in point:
        return Bounded(point[node], d=mp.mpf(node == x))
    if node.is_Number or node.is_NumberSymbol:
        v = mp.mpf(node.p) / node.q if node.is_Rational else mp.mpf(str(node.evalf(50)))
        return Bounded(v, abs(v - float(v)))
    if isinstance(node, sp.Piecewise):
        return next(reference(branch, point) for branch, c in node.args if holds(c, point))
    args = [reference(a, point) for a in node.args]
    if isinstance(node, sp.Add):
        return functools.reduce(operator.add, args)
    if isinstance(node, sp.Mul):
        return functools.reduce(operator.mul, args)
    if isinstance(node, sp.Abs):
        sign = Bounded(mp.mpf(1 if apart(args[0], Bounded(mp.mpf(0))) else -1))
        return sign * args[0]
    if isinstance(node, sp.Max):
        return functools.reduce(lambda a, b: a if apart(a, b) else b, args)
    return apply(node, args)


def apart(a, b):
    """a > b, if rounding cannot change that."""
    if abs(a.v - b.v) <= 100 * (a.e + b.e):
        raise Unclear
    return a.v > b.v


def holds(condition, point):
    if condition in (sp.true, sp.false):
        return bool(condition)
    if isinstance(condition, sp.And | sp.Or):
        parts = [holds(c, point) for c in condition.args]
        return all(parts) if isinstance(condition, sp.And) else any(parts)
    a, b = (reference(side, point) for side in condition.args)
    return apart(a, b) == (condition.rel_op in (">", ">="))


def compare(expression, point, factor, **graphs):
    """Graphs of the value (v) or of the derivative (d) against the reference."""
    with mp.workdps(50):
        try:
            there = dict(zip((x, y, z), map(mp.mpf, point), strict=True))
            wanted = reference(expression, there)
            assume(abs(wanted.v) < 1e100 and abs(wanted.d) < 1e100)
        except (Unclear, ZeroDivisionError, ValueError, OverflowError):
            assume(False)
        for name, graph in graphs.items():
            got = number(graph, *point)
            exactly, bound = (wanted.v, wanted.e) if name == "value" else (wanted.d, wanted.de)
            # 1e−90: the slopes of the reference itself are differences, with 50 digits.
            assert abs(got - exactly) <= factor * bound + 1e-90, (name, got, exactly, bound)


@settings(max_examples=300)
@given(trees(steps=6), POINTS)
def test_random_expression(expression, point):
    (graph,) = translate(expression)
    compare(expression, point, factor=4, value=graph)


@settings(max_examples=200)
@given(trees(steps=5), POINTS)
def test_derivative_of_random_expression(expression, point):
    (graph,) = translate(expression)
    forward = ca.jtimes(graph, X, ca.SX(1.0))
    reverse = ca.gradient(graph, ca.vertcat(X, Y, Z))[0]
    compare(expression, point, factor=8, forward=forward, reverse=reverse)


# ---------------------------------------------------------------------------------- branches


@contextlib.contextmanager
def simplification(on):
    """CasADi's simplifications, which hide some of the traps, on or off."""
    ca.GlobalOptions.setSimplificationOnTheFly(on)
    try:
        yield
    finally:
        ca.GlobalOptions.setSimplificationOnTheFly(True)


def derivatives(graph, *point):
    """First and second derivative by x, first in all of CasADi's ways."""
    variables = ca.vertcat(X, Y)
    firsts = [
        ca.jacobian(graph, X),
        ca.gradient(graph, variables)[0],
        ca.jtimes(graph, X, ca.SX(1.0)),
        ca.jtimes(graph, X, ca.SX(1.0), True),
    ]
    first, *others = (number(f, *point) for f in firsts)
    assert others == pytest.approx([first] * 3, rel=1e-13, nan_ok=True)
    hessian, gradient = ca.hessian(graph, variables)
    assert number(gradient[0], *point) == pytest.approx(first, rel=1e-13, nan_ok=True)
    return first, number(hessian[0, 0], *point)


SINGULAR = [  # function of x, a point where it or its derivative is not finite
    (sp.sqrt(x), -1.0),
    (sp.sqrt(x), 0.0),
    (sp.log(x), -1.0),
    (sp.log(x), 0.0),
    (sp.log(x + 3, x + 3, evaluate=False), -2.0),
    (1 / x, 0.0),
    (y / x**2, 0.0),
    (x ** (3 * HALF), -1.0),
    (x ** (-3 * HALF), 0.0),
    (sp.cbrt(x), -1.0),
    (x**y, -1.0),
    (x**-120, 0.0),
    (x**60, 1e90),
    (sp.Integer(2) ** x, 1e4),
    (sp.exp(x), 1e4),
    (sp.log(1 + sp.exp(x)), 1e4),
    (sp.sinh(x), 1e4),
    (sp.cosh(x), 1e4),
    (sp.sech(x), 1e4),
    (sp.csch(x), 0.0),
    (sp.coth(x), 0.0),
    (sp.cot(x), 0.0),
    (sp.csc(x), 0.0),
    (sp.asin(x), 1.0),
    (sp.asin(x), 2.0),
    (sp.acos(x), -2.0),
    (sp.asec(x), 0.5),
    (sp.acsc(x), 0.5),
    (sp.acosh(x), 0.5),
    (sp.atanh(x), 1.0),
    (sp.acoth(x), 0.5),
    (sp.asech(x), -1.0),
    (sp.acsch(x), 0.0),
    (sp.atan2(x, x), 0.0),
    (sp.Mod(y, x), 0.0),
    (sp.asin(sp.sqrt(sp.log(x))), -1.0),
]


@pytest.mark.parametrize("on", [True, False], ids=["simplified", "as written"])
@pytest.mark.parametrize(("function", "at"), SINGULAR, ids=lambda v: str(v))
def test_a_branch_not_taken_leaves_no_trace(function, at, on):
    """Shared by two branches, so that the reverse mode adds up both before it meets the NaN."""
    apart = sp.Ne(x, sp.Float(at))
    expression = y * sp.Piecewise(
        (function + sp.sin(function), apart & (y > 5)), (3 * function, apart), (x**2 + x, True)
    )
    with simplification(on):
        graph = translate(expression)[0]
        assert number(graph, at, 0.5) == 0.5 * (at**2 + at)
        assert derivatives(graph, at, 0.5) == (0.5 * (2 * at + 1), 1.0)


@pytest.mark.parametrize("on", [True, False], ids=["simplified", "as written"])
@pytest.mark.parametrize("function", [f for f, _ in SINGULAR], ids=str)
def test_a_branch_taken_is_not_touched(function, on):
    at, by = (2.5 if function.has(sp.acosh, sp.acoth, sp.asec, sp.acsc) else 0.25), 1.5
    if function == SINGULAR[-1][0]:
        at = 1.5
    expression = sp.Piecewise((function, x < at - 1), (2 * function, x < at + 1), (x, True))
    with simplification(on):
        plain, graph = translate(2 * function, expression)
        assert number(graph, at, by) == number(plain, at, by)
        assert derivatives(graph, at, by) == pytest.approx(derivatives(plain, at, by), rel=1e-14)


def test_the_example_of_the_square_root():
    graph = translate(sp.Piecewise((sp.sqrt(x), x > 0), (0, True)))[0]
    assert number(graph, -1.0) == 0
    assert derivatives(graph, -1.0) == (0, 0)
    assert number(graph, 4.0) == 2
    assert derivatives(graph, 4.0) == (0.25, -1 / 32)


def test_a_needed_singularity_elsewhere_does_not_reach_a_branch_not_taken():
    logarithm, graph = translate(sp.log(x), sp.Piecewise((sp.log(x), x > 1), (x, True)))
    assert math.isnan(number(logarithm, -1.0))
    assert number(graph, -1.0) == -1
    assert derivatives(graph, -1.0) == (1, 0)


def test_a_singularity_in_a_condition_does_not_reach_the_branches():
    root = sp.sqrt(x)
    inner = sp.Piecewise((root, x > 0), (7, True))
    graph = translate(sp.Piecewise((root, inner < 2), (x, True)))[0]
    assert [number(graph, v) for v in (1.0, 9.0, -1.0)] == [1, 9, -1]
    assert derivatives(graph, -1.0) == (1, 0)


def test_nested_branches():
    inner = sp.Piecewise((sp.log(x), x > 1), (sp.sqrt(x), x > 0), (x, True))
    outer = sp.Piecewise((inner**2 + 1 / y, y > 0), (inner, y > -1), (sp.log(-y) * inner, True))
    graph = translate(outer)[0]
    for at in (2.5, 0.3, -0.7):
        for by in (0.4, -0.4, -2.2, 0.0):
            assert_within(number(graph, at, by), exact(outer, at, by), 4)
            wanted = [float(exact(sp.diff(outer, x, k), at, by)) for k in (1, 2)]
            assert derivatives(graph, at, by) == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize("on", [True, False], ids=["simplified", "as written"])
def test_a_branch_is_needed_only_where_its_piecewise_is(on):
    """Of the inner Piecewise the singular branch applies, of the outer one the other branch."""
    inner = sp.Piecewise((sp.log(x) + sp.sin(sp.log(x)), y > 1), (sp.log(x), y > 0), (x, True))
    outer = sp.Piecewise((inner * y, x > 0), (x**2, True), evaluate=False)
    with simplification(on):
        graph = translate(outer)[0]
        assert number(graph, -3.0, 2.0) == 9
        assert derivatives(graph, -3.0, 2.0) == (-6, 2)


def test_branches_that_cannot_be_reached():
    never = sp.Piecewise((x, True), (sp.log(x), x > 0), (1 / x, True), evaluate=False)
    same = sp.Piecewise((x, x <= y), (sp.log(x), x > 0), (1 / x, True))  # CasADi finds X ≤ X
    for graph in (translate(never)[0], *to_casadi([same], {x: X, y: X})):
        assert number(graph, 0.0) == 0
        assert derivatives(graph, 0.0) == (1, 0)


def test_what_all_branches_need_is_not_guarded():
    r = sp.sqrt(x**2 + y**2)
    spline = sp.Piecewise((r, r < 1), (2 * r - 1, r < 2), (r**2 / 4 + r, True))
    assert operations(*translate(spline)).count("SQRT") == 1
    inner = sp.Piecewise((sp.sin(r), y < 1), (sp.cos(r), True))
    nested = sp.Piecewise((r, x < 1), (inner, x < 2), (1 - r, True))
    plain = operations(*translate(nested))
    assert plain.count("SQRT") == 1
    assert plain.count("OR") == 0


def test_no_branch_that_applies_is_nan_also_in_derivatives():
    graph = translate(sp.Piecewise((sp.sqrt(x) * y, x > 1), (y, (x > 0) & (y > 0))))[0]
    assert number(graph, 4.0, 3.0) == 6
    assert number(graph, 0.5, 3.0) == 3
    assert derivatives(graph, 4.0, 3.0) == (0.75, -3 / 32)
    for point in ((-1.0, 3.0), (0.5, -3.0)):
        assert math.isnan(number(graph, *point))
        assert math.isnan(number(ca.jacobian(graph, X), *point))
        assert math.isnan(number(ca.jacobian(graph, Y), *point))
        assert math.isnan(derivatives(graph, *point)[0])
    assert math.isnan(value(sp.Piecewise((1, x > 0)), -1.0))
    assert value(sp.Piecewise((1, x > 0)), 1.0) == 1


@pytest.mark.parametrize(
    ("condition", "holds_at"),
    [
        (x < 1, [0.0]),
        (x <= 1, [0.0, 1.0]),
        (x > 1, [2.0]),
        (x >= 1, [1.0, 2.0]),
        (sp.Eq(x, 1), [1.0]),
        (sp.Ne(x, 1), [0.0, 2.0]),
        (sp.And(x > 0, x < 2), [1.0]),
        (sp.Or(x < 1, x > 1), [0.0, 2.0]),
        (sp.Or(sp.Eq(x, 0), sp.Eq(x, 1), sp.Eq(x, 3)), [0.0, 1.0]),
        (sp.Not(sp.And(x > 0, x < 2)), [0.0, 2.0]),
        (sp.Not(x > 1, evaluate=False), [0.0, 1.0]),
        (sp.true, [0.0, 1.0, 2.0]),
    ],
    ids=str,
)
def test_conditions(condition, holds_at):
    expression = sp.Piecewise((5, condition), (7, True))
    assert [v for v in (0.0, 1.0, 2.0) if value(expression, v) == 5] == holds_at
    assert [v for v in (0.0, 1.0, 2.0) if value(expression, v) == 7] == [
        v for v in (0.0, 1.0, 2.0) if v not in holds_at
    ]


def test_relation_with_a_piecewise():
    """SymPy rewrites it as ITE(x > 0, y < 2, z > 1)."""
    test = sp.ITE(x > 0, y < 2, z > 1)
    expression = sp.Piecewise((5, test), (7, True))
    assert expression.has(sp.ITE)
    for point in itertools.product((1.0, -1.0), (1.0, 3.0), (0.0, 2.0)):
        a, b, c = point
        assert value(expression, *point) == (5 if (b < 2 if a > 0 else c > 1) else 7)


def test_a_constant_false_condition():
    expression = sp.Piecewise((5, sp.false), (x, True), evaluate=False)
    assert value(expression, 3.0) == 3


def test_contact_force_has_a_derivative_out_of_contact():
    """k·max(0, δ)^(3/2): in doubles, the derivative of δ·√δ at 0 is 0·∞."""
    for force in (sp.Max(0, x) ** (3 * HALF), sp.Abs(x) ** (5 * HALF), (x**2 + y**2) ** (3 * HALF)):
        graph = translate(force)[0]
        assert abs(number(ca.jacobian(graph, X), 0.0)) < 1e-150
    graph = translate(sp.Max(0, x) ** (3 * HALF))[0]
    assert number(graph, -1.0) == 0
    assert derivatives(graph, -1.0) == (0, 0)
    assert math.isnan(value(x ** (3 * HALF), -1.0))


# -------------------------------------------------------------------------------- the graph


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (x, ""),
        (x**2, "SQ"),
        (x**3, "MUL SQ"),
        (x**4, "SQ SQ"),
        (x**7, "MUL MUL SQ SQ"),
        (x**-1, "INV"),
        (x**-2, "INV SQ"),
        (x**-3, "INV MUL SQ"),
        (x**1.0, ""),
        (y + sp.Pow(x, 0, evaluate=False), "ADD"),
        (x**2.0, "SQ"),
        (x**1.5, "ADD MUL SQRT"),
        (x**-1.5, "INV MUL SQRT"),
        (sp.sqrt(x), "SQRT"),
        (x**0.5, "SQRT"),
        (x ** (3 * HALF), "ADD MUL SQRT"),  # the addition: see the contact force
        (x ** (-HALF), "INV SQRT"),
        (x ** (-3 * HALF), "INV MUL SQRT"),
        (sp.cbrt(x), "CONSTPOW"),
        (x**101, "CONSTPOW"),
        (x**y, "POW"),
        (sp.Pow(sp.E, x, evaluate=False), "EXP"),
        (x / y, "DIV"),
        (2 / y, "DIV"),
        (-x / y, "DIV NEG"),
        (3 * x / y, "DIV MUL"),
        (x / (y * z), "DIV MUL"),
        (x * y / z, "DIV MUL"),
        (x / y**2, "DIV SQ"),
        (x / sp.sqrt(y), "DIV SQRT"),
        (x * sp.sec(y), "COS DIV"),
        (x / (1 + 1 / y), "ADD DIV INV"),
        (y * sp.Pow(1 / x, -1, evaluate=False), "MUL"),
        (x / 2, "MUL"),
        (x / 3, "MUL"),
        (-x, "NEG"),
        (-x + y, "SUB"),
        (x - 2 * y, "SUB TWICE"),
        (z - 3 * x * y, "MUL MUL SUB"),
        (z - x / y, "DIV SUB"),
        (-x - y, "ADD NEG"),
        (x - y - z, "SUB SUB"),
        (sp.UnevaluatedExpr(x) ** 2, "SQ"),
        (sp.Mod(x, 3), "ADD FMOD IF_ELSE_ZERO LT"),
        (sp.Piecewise((x, x > 0), (0, True)), "IF_ELSE_ZERO LT"),
        (sp.Piecewise((x, x > 0), (y, True)), "ADD IF_ELSE_ZERO IF_ELSE_ZERO LT NOT"),
        (
            sp.Piecewise((sp.log(x), x > 0), (0, True)),
            "ADD IF_ELSE_ZERO IF_ELSE_ZERO LOG LT NOT",
        ),
    ],
    ids=str,
)
def test_operations_are_as_few_as_can_be(expression, expected):
    assert operations(*translate(expression)) == expected.split()


@pytest.mark.parametrize(
    ("expressions", "expected"),
    [
        ([sp.sin(x) + 1, sp.sin(x) ** 2, sp.exp(sp.sin(x))], "ADD EXP SIN SQ"),
        ([x**2, x**3, x**-2], "INV MUL SQ"),
        ([x**4, x**8, x**9, x**-16], "INV MUL SQ SQ SQ SQ"),
        ([x * y, 2 * x * y, -x * y, 5 * x * y * z], "MUL MUL MUL NEG TWICE"),
        ([1 / sp.sqrt(x), x ** (-3 * HALF), sp.sqrt(x)], "INV INV MUL SQRT"),
        ([sp.log(x), sp.log(x) + sp.Piecewise((sp.log(x), x > 1), (1, True))], None),
    ],
)
def test_common_subexpressions_are_shared(expressions, expected):
    found = operations(*translate(*expressions))
    if expected is None:
        assert found.count("LOG") == 1
    else:
        assert found == expected.split()


def test_equal_expressions_that_are_different_objects_are_shared():
    def tower():
        e = sp.Symbol("x", real=True)
        for _ in range(5000):
            e = sp.sin(e, evaluate=False)
        return e

    assert operations(*translate(tower(), tower())).count("SIN") == 5000


def test_nothing_is_simplified():
    """(x+1)² − x² − 2x − 1 is 0; as written it has rounding errors."""
    expression = (x + 1) ** 2 - x**2 - 2 * x - 1
    assert value(expression, 1e8 / 3) == (1e8 / 3 + 1) ** 2 - (1e8 / 3) ** 2 - 2e8 / 3 - 1 != 0


def test_the_graph_does_not_depend_on_the_hash_seed():
    program = """
import casadi as ca, sympy as sp
from taut.kernel.translate import to_casadi
a, b, c = sp.symbols("a b c")
table = {s: ca.SX.sym(s.name) for s in (a, b, c)}
e = sp.Max(a, b, c, 1) + sp.Piecewise(
    (sp.sqrt(a) / b, sp.And(a > b, b > c, a > 0)), (sp.log(c), sp.Or(a > 1, b > 1, c > 1)))
print(to_casadi([e, e**2 * a * b * c + a + b + c], table))
"""
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(texts) == 1


# ------------------------------------------------------------------------- large expressions


def test_wide_sum():
    """10 000 terms, added in a tree: one after the other, the error is 8 EPS."""
    coefficients = [sp.Rational(10**6 + 7 * i, 10**7) for i in range(10_000)]
    terms = (sp.Mul(c, x, evaluate=False) for c in coefficients)
    graph = translate(sp.Add(*terms, evaluate=False))[0]
    total = sum(Fraction(int(c.p) / int(c.q)) for c in coefficients)
    for got, wanted in (
        (number(graph, 0.1), total * Fraction(0.1)),
        (number(ca.jacobian(graph, X), 0.1), total),
    ):
        assert abs(Fraction(got) - wanted) <= EPS * wanted


def test_wide_product():
    expression = sp.Mul(
        *(sp.Add(1, sp.Rational(i, 10**6) * x) for i in range(1, 5001)), evaluate=False
    )
    wanted = math.exp(math.fsum(math.log1p(i * 1e-7) for i in range(1, 5001)))
    assert value(expression, 0.1) == pytest.approx(wanted, rel=1e-12)


def test_deep_nesting():
    depth = 20_000
    expression = x
    for i in range(depth):
        if i % 2:
            expression = sp.sin(expression, evaluate=False)
        else:
            expression = sp.Add(y, expression, evaluate=False)
    graph = translate(expression)[0]
    wanted, slope = 0.3, 1.0
    for i in range(depth):
        if i % 2:
            wanted, slope = math.sin(wanted), slope * math.cos(wanted)
        else:
            wanted += 0.25
    assert number(graph, 0.3, 0.25) == pytest.approx(wanted, rel=1e-13)
    assert number(ca.jacobian(graph, X), 0.3, 0.25) == pytest.approx(slope, rel=1e-9, abs=1e-300)


def test_deep_branches():
    expression = sp.sqrt(x)
    for i in range(1000):
        pair = (sp.Add(expression, 1, evaluate=False), x > -sp.Integer(i))
        expression = sp.Piecewise(pair, (x, True), evaluate=False)
    graph = translate(expression)[0]
    assert number(graph, 4.0) == 1002
    assert number(ca.gradient(graph, X), 4.0) == 0.25
    assert number(graph, -10.5) == -10.5 + 989
    assert number(ca.gradient(graph, X), -10.5) == 1


def test_branches_that_use_each_other_twice_do_not_multiply():
    expression = x
    for i in range(1, 41):
        expression = sp.Piecewise(
            (sp.sqrt(expression + 1), y > i), (sp.log(expression + 2), True), evaluate=False
        )
    assert len(operations(*translate(expression))) < 40 * 30


# --------------------------------------------------------------------------------- variables


def test_dynamicsymbols_and_their_derivatives():
    q, w = dynamicsymbols("q w")
    qd, qdd = q.diff(), q.diff(dynamicsymbols._t, 2)
    a, b, c, d = (ca.SX.sym(n) for n in "abcd")
    expression = sp.sin(q) * qd**2 + qdd * w
    (graph,) = to_casadi([expression], {q: a, qd: b, qdd: c, w: d})
    f = ca.Function("f", [a, b, c, d], [graph])
    assert float(f(0.5, 2.0, 3.0, 7.0)) == pytest.approx(math.sin(0.5) * 4 + 21, rel=EPS)


def test_known_nodes_are_not_looked_into():
    f = sp.Function("f")
    integral = sp.Integral(f(z), (z, 0, 1))
    (graph,) = to_casadi([integral + 2 * f(x, y)], {integral: X, f(x, y): Y})
    assert number(graph, 0.5, 3.0) == 6.5


def test_a_variable_may_stand_for_an_expression():
    graph, *_ = to_casadi([x**2], {x: X - Y})
    assert number(graph, 5.0, 2.0) == 9


# ------------------------------------------------------------------------------------ errors


def test_unknown_symbol_lists_the_known_ones():
    with pytest.raises(ModelError, match="symbol w is unknown") as error:
        translate(x + sp.Symbol("w"))
    assert error.value.expected == "one of x, y, z"
    assert "parameter" in error.value.remedy


def test_symbol_with_other_assumptions():
    with pytest.raises(ModelError, match="symbol x is unknown") as error:
        translate(sp.Symbol("x", positive=True))
    assert "assumptions" in error.value.remedy


def test_unknown_function_of_time():
    q = dynamicsymbols("q")
    with pytest.raises(ModelError, match=r"symbol q\(t\) is unknown"):
        translate(q)
    with pytest.raises(ModelError, match=r"derivative Derivative\(q\(t\), t\) is not a variable"):
        to_casadi([q.diff()], {q: X})


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        (sp.I * x, "I"),
        (sp.sqrt(-2) * x, "I"),
        (x + sp.zoo, "zoo"),
        (sp.nan, "nan"),
        (sp.oo, "oo"),
        (sp.Piecewise((-sp.oo, x < 0), (x, True)), "-oo"),
        (sp.gamma(x), "gamma(x)"),
        (sp.Integral(sp.exp(-(z**2)), (z, 0, x)), "Integral(exp(-z**2), (z, 0, x))"),
        (sp.Sum(x**z, (z, 0, y)), "Sum(x**z, (z, 0, y))"),
        (sp.Derivative(sp.Abs(x), x), "Derivative(Abs(x), x)"),
        (sp.DiracDelta(x), "DiracDelta(x)"),
        (sp.Piecewise((1, sp.Contains(x, sp.S.Integers, evaluate=False)), (2, True)), "Contains"),
    ],
    ids=str,
)
def test_what_cannot_be_translated_is_named(expression, name):
    with pytest.raises(ModelError) as error:
        translate(expression)
    assert name in error.value.what
    assert error.value.remedy


@pytest.mark.parametrize(
    "expression",
    [
        x + sp.acos(2),
        sp.Pow(-1, sp.Rational(1, 3)) * x,
        sp.exp(1000) * x,
        sp.Integer(10) ** 400 * x,
        sp.Float("1e1000") * x,
        sp.Float((0, 1, 10**12, 1)) * x,
        x ** (sp.Integer(10) ** 400),
    ],
    ids=["acos(2)", "root of -1", "exp", "integer", "float", "huge float", "exponent"],
)
def test_constants_that_no_double_can_be(expression):
    with pytest.raises(ModelError, match="not a finite real number") as error:
        translate(expression)
    assert error.value.remedy


@pytest.mark.parametrize("thing", [sp.Matrix([x, y]), x > 0, "x", None, [x]], ids=str)
def test_only_scalars(thing):
    with pytest.raises(ModelError, match="not a scalar"):
        translate(thing)


def test_an_error_deep_down_or_high_up_is_still_told():
    deep = x
    for _ in range(20_000):
        deep = sp.sin(deep, evaluate=False)
    with pytest.raises(ModelError, match=r"gamma\(…\)"):
        translate(sp.gamma(deep, evaluate=False))
    deep = sp.Symbol("w")
    for _ in range(20_000):
        deep = sp.sin(deep, evaluate=False)
    with pytest.raises(ModelError, match="w is unknown"):
        translate(deep)
