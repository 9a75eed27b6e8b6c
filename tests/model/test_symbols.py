"""Symbols of expressions, in which nodes may be shared."""

import pytest
import sympy as sp

import taut
from taut.errors import ModelError
from taut.model.symbols import distinct, free_symbols, scalar, spelled, spread

x, y, z = sp.symbols("x y z", real=True)


@pytest.mark.parametrize(
    "expression",
    [
        sp.Integer(3),
        x,
        x * y + sp.sin(z) ** 2,
        sp.Piecewise((x, y > 0), (z, True)),
        sp.Integral(x * y, (x, 0, z)),
        sp.Sum(x * y, (x, 1, 4)) + z,
        sp.Derivative(sp.Function("f")(x), x) + y,
    ],
)
def test_free_symbols_are_those_of_sympy(expression):
    assert free_symbols(expression) == expression.free_symbols
    assert free_symbols(expression, z) == expression.free_symbols | {z}
    assert set(distinct(expression)) == set(sp.preorder_traversal(expression))


def test_shared_nodes_are_seen_once():
    """A tree of more than 2⁴⁰ nodes: whoever goes through it one by one does not come back."""
    e = x + y
    for _ in range(40):
        e = sp.Add(e, sp.sin(e, evaluate=False), evaluate=False)
    assert free_symbols(e) == {x, y}
    assert len(distinct(e)) < 200


def test_what_is_not_plainly_real_is_asked():
    w = sp.Symbol("w", imaginary=True)
    for good in (x / y, 2.5 * x**-3, sp.sqrt(x), x ** sp.Rational(1, 3), sp.Symbol("any") * x):
        assert scalar(good, "it") is good
    for wrong in (w, sp.I + x, sp.sqrt(-2) * x, sp.I * x * y):
        with pytest.raises(ModelError, match="it is complex"):
            scalar(wrong, "it")


def test_the_same_expressions_are_spelled_alike_and_others_not():
    x, y, other = sp.Symbol("x", real=True), sp.Symbol("y", real=True), sp.Symbol("x")
    texts = [
        spelled(*e)
        for e in (
            [x + y], [x * y], [x - y], [x + y, x], [x, x + y], [x], [other], [sp.sin(x)], [x**2],
            [x**3], [2 * x], [2.0 * x], [sp.Piecewise((x, y > 0), (y, True))],
            [sp.Piecewise((x, y >= 0), (y, True))], [sp.cos(sp.sin(x))], [sp.sin(sp.cos(x))],
            [x**y], [y**x], [sp.atan2(x, y)], [sp.atan2(y, x)], [],
        )
    ]  # fmt: skip
    assert len(set(texts)) == len(texts)
    assert spelled(sp.sin(x + y) * x) == spelled(sp.sin(y + x) * x)


def test_shared_nodes_are_spelled_once():
    x = e = sp.Symbol("x", real=True)
    for _ in range(40):  # a tree of 2⁴⁰ leaves
        e = sp.Mul(e, sp.sin(e), evaluate=False)
    assert len(spelled(e)) < 5000
    assert 2**40 < spread(e) < 2**42
    assert spread(x * y + 1) == 5
    assert spelled(e) != spelled(sp.Mul(e, x, evaluate=False))


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').getcwd()", "().__class__", "x.diff(x)", "eval(chr(49))", "open(x)",
        "[x for x in (1, 2)]", "lambda: 1", "x if 'a' else 1",
    ],
)  # fmt: skip
def test_a_text_that_is_no_formula_is_not_run(text):
    x = taut.coordinates("x")[0]
    with pytest.raises(taut.ModelError, match="not a formula"):
        taut.System([x], mass=1, potential=text)
    m = taut.Mechanism()
    m.body("b", mass=1, inertia=(1, 1, 1), at=(0, 0, 0))
    m.revolute("h", m.ground, "b", at=(0, 0, 0), axis=(0, 0, 1))
    with pytest.raises(taut.ModelError, match="not a formula"):
        m.drive("h", angle=text)


def test_formulas_may_be_texts():
    found = scalar("1.5e-3*cos(2*y) + abs(x) - .5*E*y + pow(x, 2) + max(1, 2)", "it")
    x, y = sp.symbols("x y")
    by_hand = 1.5e-3 * sp.cos(2 * y) + sp.Abs(x) - 0.5 * sp.E * y + x**2 + 2
    assert float((found - by_hand).subs({x: 0.7, y: -0.3})) == pytest.approx(0, abs=1e-15)


def test_no_text_is_run_wherever_an_expression_may_stand(tmp_path):
    """SymPy runs the texts that it is given: each road of a formula has to look at it first."""
    trace = tmp_path / "trace"
    code = f"__import__('pathlib').Path({str(trace)!r}).touch()"
    x, y = q = taut.coordinates("x y")
    system, flow = taut.System(q, mass=1), taut.Flow(q, [y, -x])
    run = taut.simulate(system, q0=[1, 0], v0=0, duration=0.1, step=0.1, laws=None)
    soft = {"section": taut.Circle(0.1), "density": 1, "young": 1, "poisson": 0.3, "nodes": 3}
    beam = taut.Beam(1, **soft)
    m = taut.Mechanism()
    m.point("p", mass=1, at=(0, 0, 1))
    roads = [
        lambda: taut.System(q, mass=1, potential=code),
        lambda: taut.System(q, mass=code),
        lambda: taut.System(q, mass=1, constraints=[code]),
        lambda: taut.Flow(q, [code, 0]),
        lambda: flow.read(code),
        lambda: system.read(code),
        lambda: run.evaluate(code),
        lambda: run.plot("phase", of=code),
        lambda: taut.Event(code),
        lambda: taut.Adaptive("rattle", scale=code),
        lambda: taut.Corrected("rk4", [code]),
        lambda: taut.EnergyMomentum(invariants=[code]),
        lambda: taut.conserved(flow, proposed=code),
        lambda: taut.conserved(flow, functions=[code]),
        lambda: taut.conserved(flow, on=code),
        lambda: taut.lie_symmetries(flow, proposed=(code, [0, 0])),
        lambda: taut.lie_symmetries(flow, functions=code),
        lambda: taut.noether(system, proposed=(code, [0, 0], 0)),
        lambda: taut.hojman(flow, mu=code),
        lambda: taut.special_values(system, functions=[code]),
        lambda: taut.casimirs(q, [[0, code], [1, 0]]),
        lambda: taut.casimirs(q, [[0, x], [-x, 0]], functions=[code]),
        lambda: beam.load(force=(code, 0, 0)),
        lambda: taut.Beam(1, **soft, curvature=[code] * 3),
        lambda: taut.End("clamped", position=(code, 0, 0)),
        lambda: taut.Drawing({"a": (code, 0)}),
        lambda: m.force("p", (code, 0, 0)),
        lambda: m.spring("s", "ground", "p", energy=code),
        lambda: m.potential(code),
    ]
    for k, road in enumerate(roads):
        with pytest.raises(taut.TautError):
            road()
        assert not trace.exists(), f"road {k}"


@pytest.mark.parametrize("names", ["x:2000000", "x(:1000)(:1000)", "x:90000 y:90000"])
def test_more_names_than_can_be_meant(names):
    """A slip of a digit would count for minutes."""
    with pytest.raises(taut.ModelError, match="coordinates are too many"):
        taut.coordinates(names)
