"""CasADi SX → LLVM: compiled = CasADi's interpreter = exact, lanes = scalar bit for bit."""

import ctypes
import math
from dataclasses import dataclass

import casadi as ca
import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from taut.errors import ModelError
from taut.kernel.emit import Emitter, emit_operation
from taut.kernel.native import compiled
from taut.kernel.step_code import map_code

SX = ca.SX
U = 2.0**-53  # unit round-off
X, Y, Z, W = (SX.sym(name) for name in "xyzw")
OPS = {getattr(ca, name): name for name in dir(ca) if name.startswith("OP_")}
WIDTHS = (2, 4, 8)


def function(*outputs, inputs=(X, Y)):
    return ca.Function("f", list(inputs), list(outputs))


def operations(f):
    return [OPS[f.instruction_id(k)] for k in range(f.n_instructions())]


def instructions(ir, word):
    """Lines of the body that carry out `word`."""
    return [line for line in ir.splitlines() if " = " in line and f"{word}" in line]


def same_bits(a, b):
    """Equal to the bit, signed zeros told apart; all NaN are one."""
    a, b = np.asarray(a), np.asarray(b)
    return np.array_equal(np.isnan(a), np.isnan(b)) and np.array_equal(
        np.where(np.isnan(a), 0.0, a).view(np.uint64), np.where(np.isnan(b), 0.0, b).view(np.uint64)
    )


def ulps(got, exact):
    """|got − exact| in units in the last place of the exact value."""
    if mp.isinf(exact) or mp.isnan(exact) or not math.isfinite(got):
        assert float(exact) == got or (math.isnan(got) and mp.isnan(exact)), (got, exact)
        return 0.0
    return float(abs(mp.mpf(got) - exact) / mp.mpf(math.ulp(float(exact))))


# ------------------------------------------------------------------- one operation at a time


@dataclass(frozen=True)
class Case:
    """An operation, its exact value, where to try it, and how many ulp the library may be off."""

    op: str
    expression: SX
    exact: object
    low: float = -3.0
    high: float = 3.0
    ulps: float = 0.5  # correctly rounded
    points: tuple = ()


LIBRARY_ULPS = 4.0  # what a C library may be off; glibc stays below 2


def library(op, expression, exact, low=-3.0, high=3.0, points=()):
    return Case(op, expression, exact, low, high, LIBRARY_ULPS, points)


def truth(relation):
    return lambda *x: mp.mpf(int(relation(*x)))


TIES = ((1.0, 1.0), (0.0, -0.0), (2.5, -2.5), (0.0, 1.0), (1.0, 0.0), (0.0, 0.0))
CASES = [
    Case("OP_ADD", X + Y, lambda x, y: x + y),
    Case("OP_SUB", X - Y, lambda x, y: x - y),
    Case("OP_MUL", X * Y, lambda x, y: x * y),
    Case("OP_DIV", X / Y, lambda x, y: x / y),
    Case("OP_NEG", -X, lambda x, y: -x),
    Case("OP_SQ", X * X, lambda x, y: x * x),
    Case("OP_TWICE", 2 * X, lambda x, y: 2 * x),
    Case("OP_INV", 1 / X, lambda x, y: 1 / x),
    Case(
        "OP_SQRT", ca.sqrt(X), lambda x, y: mp.sqrt(x), 0.0, 9.0, points=((1e300, 0), (1e-300, 0))
    ),
    Case("OP_FABS", ca.fabs(X), lambda x, y: abs(x)),
    Case("OP_FLOOR", ca.floor(X), lambda x, y: mp.floor(x), points=((2.0, 0), (-2.0, 0))),
    Case("OP_CEIL", ca.ceil(X), lambda x, y: mp.ceil(x), points=((2.0, 0), (-2.0, 0))),
    Case("OP_SIGN", ca.sign(X), lambda x, y: mp.sign(x), points=((0.0, 0), (1e-310, 0))),
    Case("OP_COPYSIGN", ca.copysign(X, Y), lambda x, y: abs(x) * (1 if y > 0 else -1)),
    Case("OP_FMIN", ca.fmin(X, Y), lambda x, y: min(x, y), points=TIES),
    Case("OP_FMAX", ca.fmax(X, Y), lambda x, y: max(x, y), points=TIES),
    Case("OP_LT", X < Y, truth(lambda x, y: x < y), points=TIES),
    Case("OP_LE", X <= Y, truth(lambda x, y: x <= y), points=TIES),
    Case("OP_EQ", X == Y, truth(lambda x, y: x == y), points=TIES),
    Case("OP_NE", X != Y, truth(lambda x, y: x != y), points=TIES),
    Case("OP_NOT", ca.logic_not(X), truth(lambda x, y: x == 0), points=TIES),
    Case("OP_AND", ca.logic_and(X, Y), truth(lambda x, y: x != 0 and y != 0), points=TIES),
    Case("OP_OR", ca.logic_or(X, Y), truth(lambda x, y: x != 0 or y != 0), points=TIES),
    Case("OP_IF_ELSE_ZERO", ca.if_else(X, Y, 0), lambda x, y: y if x else x * 0, points=TIES),
    library("OP_EXP", ca.exp(X), lambda x, y: mp.exp(x), -700, 700),
    library("OP_LOG", ca.log(X), lambda x, y: mp.log(x), 0.0, 4.0, ((1e300, 0), (1 + 1e-10, 0))),
    library("OP_POW", X**Y, lambda x, y: x**y, 0.0, 5.0),
    library("OP_CONSTPOW", X**2.5, lambda x, y: x ** mp.mpf(2.5), 0.0, 50.0),
    library(
        "OP_SIN", ca.sin(X), lambda x, y: mp.sin(x), -20, 20, ((1e6, 0), (3.14159265358979, 0))
    ),
    library("OP_COS", ca.cos(X), lambda x, y: mp.cos(x), -20, 20, ((1e6, 0), (1.5707963267949, 0))),
    library("OP_TAN", ca.tan(X), lambda x, y: mp.tan(x), -20, 20),
    library("OP_ASIN", ca.asin(X), lambda x, y: mp.asin(x), -1, 1, ((1.0, 0), (-1.0, 0))),
    library("OP_ACOS", ca.acos(X), lambda x, y: mp.acos(x), -1, 1, ((1.0, 0), (-1.0, 0))),
    library("OP_ATAN", ca.atan(X), lambda x, y: mp.atan(x), -30, 30),
    library("OP_ATAN2", ca.atan2(X, Y), lambda x, y: mp.atan2(x, y)),
    library("OP_SINH", ca.sinh(X), lambda x, y: mp.sinh(x), -20, 20, ((1e-9, 0),)),
    library("OP_COSH", ca.cosh(X), lambda x, y: mp.cosh(x), -20, 20),
    library("OP_TANH", ca.tanh(X), lambda x, y: mp.tanh(x), -20, 20, ((1e-9, 0),)),
    library("OP_ASINH", ca.asinh(X), lambda x, y: mp.asinh(x), -30, 30, ((1e-9, 0),)),
    library("OP_ACOSH", ca.acosh(X), lambda x, y: mp.acosh(x), 1.0, 30),
    library("OP_ATANH", ca.atanh(X), lambda x, y: mp.atanh(x), -1, 1, ((1e-9, 0),)),
    library("OP_ERF", ca.erf(X), lambda x, y: mp.erf(x)),
    library("OP_LOG1P", ca.log1p(X), lambda x, y: mp.log1p(x), -1, 5, ((1e-12, 0),)),
    library("OP_EXPM1", ca.expm1(X), lambda x, y: mp.expm1(x), -20, 20, ((1e-12, 0),)),
    library("OP_HYPOT", ca.hypot(X, Y), lambda x, y: mp.hypot(x, y), points=((1e200, 1e200),)),
    Case("OP_FMOD", ca.fmod(X, Y), lambda x, y: x - y * int(x / y), -9, 9),
    Case("OP_REMAINDER", ca.remainder(X, Y), lambda x, y: x - y * mp.nint(x / y), -9, 9),
]


def supported():
    """Names of all operations the emitter has code for, found by asking it."""
    found, dummy = [], function(X)
    for op, name in OPS.items():
        try:
            emit_operation(Emitter(), op, ["%a", "%b"], dummy)
        except ModelError:
            continue
        found.append(name)
    return found


def test_every_supported_operation_has_a_case():
    # Assignments do not survive in an SX instruction list; everything else is tried below.
    assert sorted(case.op for case in CASES) == sorted(set(supported()) - {"OP_ASSIGN"})
    assert len(CASES) == 47


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.op[3:].lower())
def test_operation(case, native_map, rng):
    """Compiled = exact to the stated ulp, = CasADi to 2 ulp, lanes = scalar to the bit."""
    f = function(case.expression)
    assert case.op in operations(f)
    drawn = rng.uniform(case.low, case.high, (40, 2))
    points = [*map(tuple, drawn), *case.points]
    scalar = native_map(f)
    with mp.workdps(50):
        for point in points:
            exact = mp.mpf(case.exact(*map(mp.mpf, point)))
            got, interpreted = scalar(point)[0], float(f(*point))
            assert ulps(got, exact) <= case.ulps, (point, got, exact)
            assert abs(got - interpreted) <= 2 * math.ulp(interpreted), (point, got, interpreted)
    for lanes in WIDTHS:
        wide = native_map(f, lanes)
        for at in range(0, len(points) - lanes + 1, lanes):
            group = points[at : at + lanes]
            together = wide(np.array(group).T)[0]
            assert same_bits(together, [scalar(point)[0] for point in group])


def test_constants_reach_the_code_unrounded(native_map):
    values = [math.pi, 5e-324, 1.7976931348623157e308, 1 / 3, 0.1, -(2.0**-1030), math.inf]
    f = function(*(SX(v) for v in values))
    assert same_bits(native_map(f)([1.0, 0.0]), values)
    for lanes in WIDTHS:
        out = native_map(f, lanes)(np.ones((2, lanes)))
        assert same_bits(out, np.repeat([values], lanes, axis=0).T.copy())
    assert Emitter().constant(-0.0) == "0x8000000000000000"  # CasADi itself drops the sign


def test_several_inputs_and_outputs_keep_their_places(native_map):
    a, b, none = SX.sym("a", 2, 2), SX.sym("b", 3), SX(0, 1)
    f = ca.Function("f", [a, none, b], [b, ca.vertcat(a[1, 0], 5), SX(0, 1), a[:, 1]])
    out = native_map(f)(np.arange(7.0))  # a by columns: 0 1 | 2 3; b: 4 5 6
    assert out.tolist() == [4, 5, 6, 1, 5, 2, 3]


# ------------------------------------------------------------------- NaN, infinities, zeros

INF, NAN = math.inf, math.nan
SPECIAL = [
    (ca.sign(X), (NAN, 0), NAN),
    (ca.sign(X), (-0.0, 0), -0.0),
    (ca.sign(X), (0.0, 0), 0.0),
    (ca.sign(X), (-INF, 0), -1.0),
    (ca.fabs(X), (-0.0, 0), 0.0),
    (-X, (0.0, 0), -0.0),
    (ca.sqrt(X), (-0.0, 0), -0.0),
    (ca.sqrt(X), (-1.0, 0), NAN),
    (1 / X, (-0.0, 0), -INF),
    (X / Y, (-1.0, 0.0), -INF),
    (X / Y, (0.0, 0.0), NAN),
    (X * Y, (0.0, INF), NAN),
    (X - Y, (INF, INF), NAN),
    (X + Y, (-0.0, 0.0), 0.0),
    (X + Y, (-0.0, -0.0), -0.0),
    (ca.floor(X), (-0.5, 0), -1.0),
    (ca.ceil(X), (-0.5, 0), -0.0),
    (ca.copysign(X, Y), (1.0, -0.0), -1.0),
    (ca.exp(X), (-INF, 0), 0.0),
    (ca.exp(X), (800.0, 0), INF),
    (ca.log(X), (0.0, 0), -INF),
    (ca.log(X), (-1.0, 0), NAN),
    (ca.atan2(X, Y), (0.0, -1.0), math.pi),
    (ca.atan2(X, Y), (-0.0, -1.0), -math.pi),
    (ca.atan2(X, Y), (-0.0, 1.0), -0.0),
    (ca.asin(X), (1.5, 0), NAN),
    (ca.acosh(X), (0.5, 0), NAN),
    (ca.tanh(X), (INF, 0), 1.0),
    (ca.hypot(X, Y), (INF, NAN), INF),
    (X**Y, (0.0, 0.0), 1.0),
    (X**Y, (-8.0, 3.0), -512.0),
    (X**Y, (-8.0, 0.5), NAN),
    (X < Y, (NAN, 1.0), 0.0),
    (X <= Y, (1.0, NAN), 0.0),
    (X == Y, (NAN, NAN), 0.0),
    (X != Y, (NAN, NAN), 1.0),
    (X == Y, (0.0, -0.0), 1.0),
    (ca.logic_not(X), (NAN, 0), 0.0),
    (ca.if_else(X, Y, 0), (0.0, NAN), 0.0),  # the branch not taken does not poison the other
    (ca.if_else(X > 0, ca.sqrt(X), Y), (-1.0, 2.0), 2.0),
    (ca.if_else(X > 0, ca.log(X), ca.sqrt(-X)), (-4.0, 0), 2.0),
    (ca.fmin(X, Y), (-INF, 1.0), -INF),
    (ca.fmax(X, Y), (-INF, INF), INF),
]


@pytest.mark.parametrize(("expression", "point", "expected"), SPECIAL, ids=str)
def test_special_values(expression, point, expected, native_map):
    f = function(expression)
    assert same_bits(native_map(f)(point), [expected])
    assert same_bits([float(f(*point))], [expected])  # the interpreter agrees
    assert same_bits(native_map(f, 4)(np.repeat([point], 4, axis=0).T), [[expected] * 4])


def test_a_nan_is_not_lost_on_the_way(native_map):
    """Every operation but comparisons, logic and min/max hands a NaN on."""
    kept = {"LT", "LE", "EQ", "NE", "NOT", "AND", "OR", "IF_ELSE_ZERO", "FMIN", "FMAX", "POW"}
    for case in CASES:
        if case.op[3:] not in kept:
            one = native_map(function(case.expression))
            assert math.isnan(one([NAN, 1.25])[0]), case.op


@pytest.mark.parametrize("least", [ca.fmin, ca.fmax])
def test_min_and_max_of_a_nan_is_one_of_the_two(least, native_map):
    one = native_map(function(least(X, Y)))
    for point in ((NAN, 2.0), (2.0, NAN)):
        assert math.isnan(got := one(point)[0]) or got == 2.0
    assert math.isnan(one((NAN, NAN))[0])


# ------------------------------------------------------------------- fused multiply-add

TINY = 2.0**-30
FUSED = [
    (X * Y + Z, 1, lambda x, y, z, w: x * y + z),
    (Z + X * Y, 1, lambda x, y, z, w: x * y + z),
    (X * Y - Z, 1, lambda x, y, z, w: x * y - z),
    (Z - X * Y, 1, lambda x, y, z, w: z - x * y),
    (X * X + Z, 1, lambda x, y, z, w: x * x + z),
    (X * X - Z, 1, lambda x, y, z, w: x * x - z),
    (Z - X * X, 1, lambda x, y, z, w: z - x * x),
]


@pytest.mark.parametrize(
    ("expression", "count", "exact"), FUSED, ids=[str(case[0]) for case in FUSED]
)
@pytest.mark.parametrize("lanes", [1, 4])
def test_a_product_in_a_sum_is_rounded_once(expression, count, exact, lanes, native_map):
    """At points where x·y and z cancel, only a fused operation has the right digits."""
    f = function(expression, inputs=(X, Y, Z, W))
    one = native_map(f, lanes)
    assert len(instructions(one.ir, "@llvm.fma")) == count
    assert not instructions(one.ir, "fmul")
    for x, y in ((1 + TINY, 1 - TINY), (1 + TINY, 1 + TINY), (-1 - TINY, 1 - 3 * TINY)):
        for z in (round(x * y, 9), -round(x * y, 9), round(x * x, 9), -round(x * x, 9)):
            with mp.workdps(50):
                wanted = float(exact(*map(mp.mpf, (x, y, z, 0))))
            got = one(np.tile([[x], [y], [z], [0.0]], lanes))
            assert np.all(got == wanted)
    # Without fusing, the difference of x·y and its rounded value would be zero.
    assert one(np.tile([[1 + TINY], [1 - TINY], [-1.0], [0]], lanes))[0, 0] != 0.0


def test_which_products_are_fused():
    def counts(*outputs):
        ir = map_code(function(*outputs, inputs=(X, Y, Z, W)))
        return len(instructions(ir, "@llvm.fma")), len(instructions(ir, "fmul"))

    p = X * Y
    assert counts(X * Y + Z * W) == (1, 1)  # one product goes in, the other is the addend
    assert counts(p + Z, p) == (0, 1)  # a product with two uses is computed once
    assert counts(p + p) == (0, 1)
    assert counts((X * Y + Z) * W + X) == (2, 0)
    assert counts(X * Y * Z + W) == (1, 1)
    assert counts(ca.sin(X * Y)) == (0, 1)
    assert counts(X + Y - Z) == (0, 0)


@pytest.mark.parametrize("lanes", [1, 4])
def test_no_fast_math(lanes):
    ir = map_code(function(X * Y + ca.sqrt(X) / Y, ca.sin(X) - 1 / Y), lanes)
    words = {word for line in ir.splitlines() for word in line.replace(",", " ").split()}
    assert not words & {"fast", "contract", "reassoc", "nnan", "ninf", "nsz", "arcp", "afn"}


# ------------------------------------------------------------------- divisions


def test_a_shared_denominator_costs_one_division(native_map):
    d = Z * Z + 2
    f = function(X / d, Y / d, ca.sin(X) / d, inputs=(X, Y, Z))
    for lanes in (1, 4):
        ir = map_code(f, lanes)
        assert len(instructions(ir, "fdiv")) == 1
    got = native_map(f)([1.1, -2.3, 0.7])
    denominator = mp.mpf(0.7) ** 2 + 2
    for value, x in zip(got, (mp.mpf(1.1), mp.mpf(-2.3), mp.sin(1.1)), strict=True):
        assert ulps(value, x / denominator) <= 3  # denominator, reciprocal and product


def test_a_single_division_stays_correctly_rounded(native_map, rng):
    f = function(X / Y, Y / X)
    assert len(instructions(map_code(f), "fdiv")) == 2
    one = native_map(f)
    for x, y in rng.uniform(-9, 9, (200, 2)):
        assert one([x, y]).tolist() == [x / y, y / x]


# ------------------------------------------------------------------- what cannot be emitted


def never_inlined():
    inner = ca.Function("inner", [X], [X * X], {"never_inline": True})
    return inner(X) + 1


@pytest.mark.parametrize("make", [lambda: ca.erfinv(X), lambda: X.printme(Y), never_inlined])
@pytest.mark.parametrize("lanes", [1, 4])
def test_an_unsupported_operation_is_a_model_error(make, lanes):
    with pytest.raises(ModelError, match="no native code for CasADi operation") as caught:
        map_code(function(make()), lanes)
    assert caught.value.remedy


# ------------------------------------------------------------------- random graphs

# A graph is a list of (operation, i, j): each node takes earlier ones, so that values are shared.
SMOOTH = ["add", "sub", "mul", "div", "neg", "sq", "sqrt", "fabs", "fmin", "fmax"]
LIBRARY = ["sin", "cos", "exp", "tanh", "atan", "hypot", "atan2", "log1p", "pow"]
JUMPS = ["lt", "le", "eq", "if", "sign", "floor", "ceil", "copysign", "not", "and", "inv", "twice"]
BUILD = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a, b: -a,
    "sq": lambda a, b: a * a,
    "sqrt": lambda a, b: ca.sqrt(ca.fabs(a)),
    "fabs": lambda a, b: ca.fabs(a),
    "fmin": ca.fmin,
    "fmax": ca.fmax,
    "sin": lambda a, b: ca.sin(a),
    "cos": lambda a, b: ca.cos(a),
    "exp": lambda a, b: ca.exp(a),
    "tanh": lambda a, b: ca.tanh(a),
    "atan": lambda a, b: ca.atan(a),
    "hypot": ca.hypot,
    "atan2": ca.atan2,
    "log1p": lambda a, b: ca.log1p(ca.fabs(a)),
    "pow": lambda a, b: ca.fabs(a) ** b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "if": lambda a, b: ca.if_else(a > b, a, b),
    "sign": lambda a, b: ca.sign(a),
    "floor": lambda a, b: ca.floor(a),
    "ceil": lambda a, b: ca.ceil(a),
    "copysign": ca.copysign,
    "not": lambda a, b: ca.logic_not(a),
    "and": ca.logic_and,
    "inv": lambda a, b: 1 / a,
    "twice": lambda a, b: 2 * a,
}
INPUTS = (X, Y, Z)
LEAVES = (*INPUTS, SX(0.75), SX(-1 / 3))


def graphs(names, most=24):
    node = st.tuples(st.sampled_from(names), st.integers(0, 99), st.integers(0, 99))
    return st.lists(node, min_size=1, max_size=most)


def built(graph, leaves=LEAVES, table=BUILD):
    """All nodes; the arguments of each are among the leaves and the nodes before it."""
    nodes = list(leaves)
    for name, i, j in graph:
        nodes.append(table[name](nodes[i % len(nodes)], nodes[j % len(nodes)]))
    return nodes


def outputs_of(graph):
    return function(*built(graph)[-4:], inputs=INPUTS)


ANY = st.floats(allow_nan=True, allow_infinity=True)
MODERATE = st.floats(-4.0, 4.0)


def lanes_agree(native_map, f, rows):
    """`rows`: eight points; every width gives the bits of the scalar code."""
    scalar = native_map(f)
    alone = np.array([scalar(row) for row in rows]).T
    for lanes in WIDTHS:
        wide = native_map(f, lanes)
        for at in range(0, 8, lanes):
            part = wide(np.array(rows[at : at + lanes]).T)
            assert same_bits(part, np.ascontiguousarray(alone[:, at : at + lanes])), lanes
    return alone


@given(graphs(SMOOTH + JUMPS), st.lists(st.tuples(ANY, ANY, ANY), min_size=8, max_size=8))
@settings(max_examples=50)
def test_lanes_are_scalars_bit_for_bit(native_map, graph, rows):
    lanes_agree(native_map, outputs_of(graph), rows)


@given(
    graphs(SMOOTH + JUMPS + 2 * LIBRARY), st.lists(st.tuples(ANY, ANY, ANY), min_size=8, max_size=8)
)
@settings(max_examples=30)
def test_lanes_are_scalars_also_with_library_functions(native_map, graph, rows):
    lanes_agree(native_map, outputs_of(graph), rows)


# ------------------------------------------------------------------- in two stages


def staged_ir(f, late):
    """The function emitted in two stages, as one map."""
    e = Emitter()
    inputs = [[e.load("%in", i)] for i in range(f.n_in())]
    unknown = [x if i not in late else [] for i, x in enumerate(inputs)]
    graph, early = e.staged(f, unknown, late)  # the late inputs do not exist yet
    cut = len(e.lines)
    for k, part in enumerate(graph.emit_late(e, inputs, early)):
        e.store("%out", k, part[0])
    e.do("ret void")
    head, body = "\n".join(sorted(e.declared)), "\n".join(e.lines)
    return f"{head}\ndefine void @map(ptr %in, ptr %out) {{\nentry:\n{body}\n}}\n", e.lines[cut:]


def test_what_does_not_depend_on_late_inputs_is_computed_before():
    slow = ca.sin(X) * Y + ca.sqrt(Y)
    ir, late = staged_ir(function(slow * Z + X, slow - Z, slow, inputs=INPUTS), {2})
    assert "@sin" in ir
    assert not any("@sin" in line or "sqrt" in line for line in late)
    assert sum("fma" in line for line in late) == 1  # slow·z + x


class NativeText:
    """IR text as a callable."""

    def __init__(self, ir, outputs):
        self.native, self.outputs = compiled(ir), outputs
        self.pointer = ctypes.POINTER(ctypes.c_double)
        self.call = ctypes.CFUNCTYPE(None, self.pointer, self.pointer)(self.native.address("map"))

    def __call__(self, x):
        source, target = np.array(x, dtype=float), np.zeros(self.outputs)
        self.call(source.ctypes.data_as(self.pointer), target.ctypes.data_as(self.pointer))
        return target


LATE = st.sampled_from([{0}, {2}, {0, 1}, {1, 2}])
UNFUSED = [name for name in SMOOTH + JUMPS if name not in ("mul", "sq", "div", "inv")]


@given(graphs(UNFUSED), st.tuples(ANY, ANY, ANY), LATE)
@settings(max_examples=20)
def test_two_stages_compute_the_same(native_map, graph, point, late):
    """To the bit, as long as there is nothing to fuse across the stages."""
    f = outputs_of(graph)
    two = NativeText(staged_ir(f, late)[0], f.nnz_out())
    assert same_bits(native_map(f)(point), two(point))


# ------------------------------------------------------------------- the exact value


class Bounded:
    """A number with 40 digits and a bound on the error of computing it in doubles.

    Errors of arguments are carried through the derivative's bound on the interval around them, and
    each operation adds its own rounding: `units` half-ulp (a division by a shared denominator takes
    two roundings, a library function up to `LIBRARY_ULPS` ulp).
    """

    def __init__(self, value, error=0):
        self.value, self.error = mp.mpf(value), mp.mpf(error)

    @property
    def size(self):
        return abs(self.value) + self.error

    def then(self, value, slope, units=1):
        carried = self.error * slope if self.error else mp.mpf(0)
        return Bounded(value, carried + units * U * (abs(value) + carried) + mp.mpf(2) ** -1070)


def _two(value, carried, units=1):
    return Bounded(value, carried + units * U * (abs(value) + carried) + mp.mpf(2) ** -1070)


class OutOfRangeError(Exception):
    """Ill-conditioned or too large: nothing can be asserted here."""


def _divide(a, b):
    low = abs(b.value) - b.error
    if low <= abs(b.value) / 2 or low < 1e-150:
        raise OutOfRangeError
    value = a.value / b.value
    return _two(value, (a.error + abs(value) * b.error) / low, units=3)


def _root(a):
    low = abs(a.value) - a.error
    if low <= abs(a.value) / 2:
        raise OutOfRangeError
    return a.then(mp.sqrt(abs(a.value)), 1 / (2 * mp.sqrt(low)))


def _exp(a):
    if a.size > 50:
        raise OutOfRangeError
    return a.then(mp.exp(a.value), mp.exp(a.size), 2 * LIBRARY_ULPS)


def _power(a, b):
    low = abs(a.value) - a.error
    if low <= abs(a.value) / 2 or b.size > 20 or not 1e-3 < abs(a.value) < 1e3:
        raise OutOfRangeError
    value = abs(a.value) ** b.value
    relative = b.size * a.error / low + (abs(mp.log(abs(a.value))) + 1) * b.error
    if relative > 0.01:
        raise OutOfRangeError
    return _two(value, 2 * value * relative, 2 * LIBRARY_ULPS)


def _atan2(a, b):
    radius = mp.hypot(a.value, b.value) - a.error - b.error
    # Across the cut on the negative axis the angle jumps.
    if radius <= 1e-100 or (b.value <= b.error and abs(a.value) <= a.error):
        raise OutOfRangeError
    value = mp.atan2(a.value, b.value)
    return _two(value, (a.error + b.error) / radius, 2 * LIBRARY_ULPS)


def _sized(result):
    if result.size > 1e100:
        raise OutOfRangeError
    return result


L2 = 2 * LIBRARY_ULPS
BOUND = {
    "add": lambda a, b: _two(a.value + b.value, a.error + b.error),
    "sub": lambda a, b: _two(a.value - b.value, a.error + b.error),
    "mul": lambda a, b: _sized(_two(a.value * b.value, a.size * b.error + b.size * a.error)),
    "div": _divide,
    "neg": lambda a, b: Bounded(-a.value, a.error),
    "sq": lambda a, b: _sized(_two(a.value**2, 2 * a.size * a.error)),
    "sqrt": lambda a, b: _root(a),
    "fabs": lambda a, b: Bounded(abs(a.value), a.error),
    "fmin": lambda a, b: Bounded(min(a.value, b.value), max(a.error, b.error)),
    "fmax": lambda a, b: Bounded(max(a.value, b.value), max(a.error, b.error)),
    "sin": lambda a, b: a.then(mp.sin(a.value), 1, L2),
    "cos": lambda a, b: a.then(mp.cos(a.value), 1, L2),
    "exp": lambda a, b: _exp(a),
    "tanh": lambda a, b: a.then(mp.tanh(a.value), 1, L2),
    "atan": lambda a, b: a.then(mp.atan(a.value), 1, L2),
    "hypot": lambda a, b: _two(mp.hypot(a.value, b.value), a.error + b.error, L2),
    "atan2": _atan2,
    "log1p": lambda a, b: a.then(mp.log1p(abs(a.value)), 1, L2),
    "pow": _power,
}


def outputs(f, point):
    found = f(*point)
    return found if isinstance(found, tuple | list) else [found]


@given(graphs(SMOOTH + LIBRARY), st.tuples(MODERATE, MODERATE, MODERATE), LATE)
@settings(max_examples=150)
def test_every_road_stays_within_round_off(native_map, graph, point, late):
    """The distance from the exact value is what conditioning and roundings allow, on every road."""
    with mp.workdps(40):
        leaves = [*map(Bounded, point), Bounded(0.75), Bounded(-1 / 3)]
        try:
            exact = built(graph, leaves, BOUND)[-4:]
        except OutOfRangeError:
            return
        f = outputs_of(graph)
        roads = {
            "compiled": native_map(f)(point),
            "in two stages": NativeText(staged_ir(f, late)[0], f.nnz_out())(point),
            "CasADi": [float(x) for x in ca.DM.nonzeros(ca.vertcat(*outputs(f, point)))],
        }
        for road, values in roads.items():
            for value, one in zip(values, exact, strict=True):
                assert abs(mp.mpf(float(value)) - one.value) <= one.error, road
