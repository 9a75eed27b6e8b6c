"""Formulas in files: what they mean, what is refused, and that nothing of them is ever run."""

import ast
import builtins
import math
from contextlib import suppress
from pathlib import Path

import casadi as ca
import pytest
import sympy as sp
from hypothesis import HealthCheck, assume, example, given, settings, strategies as st

import taut
from taut.errors import FileError
from taut.files import bounds, expressions, written as writing
from taut.files.bounds import FUNCTIONS, Gate
from taut.files.expressions import ExpressionError, parse
from taut.files.written import written
from taut.kernel.translate import to_casadi

x, y, z = XYZ = taut.coordinates("x y z")
k, l0, m, g = sp.symbols("k l0 m g", real=True)
NAMES = {s.name: s for s in (*XYZ, k, l0, m, g)}
AT = {x: 0.7, y: -1.3, z: 2.1}
NOT_FINITE = (sp.nan, sp.zoo, sp.oo, -sp.oo, sp.I)  # which nothing that is read may have


def read(text, **more):
    return parse(text, NAMES | more)


def value(text):
    return float(read(text).subs(AT))


def error(text, **more):
    with pytest.raises(ExpressionError) as caught:
        read(text, **more)
    return caught.value


# ------------------------------------------------------------------------------ what it means


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", x),
        ("k*(sqrt(x**2 + y**2) - l0)**2/2 + m*g*z",
         k * (sp.sqrt(x**2 + y**2) - l0) ** 2 / 2 + m * g * z),
        ("  -x\t^ 2\n/4 ", -(x**2) / 4),
        ("2*pi*x", 2 * sp.pi * x),
        ("e**x", sp.exp(x)),
        ("exp(1)", sp.E),
        ("sin(pi/6)", sp.Rational(1, 2)),
        ("x - x", sp.Integer(0)),
        ("max(x, y, x)", sp.Max(x, y)),
        ("min(x)", x),
        ("max(2, 7, 3)", sp.Integer(7)),
        ("min(2, sqrt(3), 7/4)", sp.sqrt(3)),
        ("abs(-3*x)", 3 * sp.Abs(x)),
        ("atan2(y, x)", sp.atan2(y, x)),
        ("0**0", sp.Integer(1)),
        ("tan(x + pi/2)", -sp.cot(x)),
    ],
)  # fmt: skip
def test_formulas(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2*3", 7),
        ("(1 + 2)*3", 9),
        ("10 - 4 - 3", 3),
        ("10 - (4 - 3)", 9),
        ("48/4/3", 4),
        ("48/(4/3)", 36),
        ("48/4*3", 36),
        ("2*3**2", 18),
        ("(2*3)**2", 36),
        ("2**3**2", 512),
        ("(2**3)**2", 64),
        ("2^3^2", 512),
        ("-2**2", -4),
        ("(-2)**2", 4),
        ("2**-1", sp.Rational(1, 2)),
        ("2**-2**2", sp.Rational(1, 16)),
        ("-2**-2", -sp.Rational(1, 4)),
        ("2*-3", -6),
        ("2 - -3", 5),
        ("2 + + + 3", 5),
        ("--3", 3),
        ("-+-3", 3),
        ("6/-3", -2),
        ("-6/4*2", -3),
        ("1/3", sp.Rational(1, 3)),
        ("2**100", 2**100),
        ("10**-20", sp.Rational(1, 10**20)),
    ],
)
def test_precedence_and_exact_numbers(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    "text", ["1.5", ".5", "1.", "1e-3", "1E3", "2.5e+10", "0.1", "5e-324", "1.7976931348623157e308"]
)
def test_decimals_are_the_doubles_of_python(text):
    made = read(text)
    assert isinstance(made, sp.Float)
    assert float(made) == float(text)
    assert made == sp.Float(float(text))


def test_whole_numbers_are_exact():
    made = read("9" * 30)
    assert isinstance(made, sp.Integer)
    assert made == 10**30 - 1


def test_the_same_model_has_the_same_key_as_in_python():
    def key(potential):
        return taut.System([x, z], mass=1, potential=potential, constraints=[x**2 + z**2 - 1]).key

    assert key(read("9.81*z + 0.5*(x - 2)**2/3")) == key(9.81 * z + 0.5 * (x - 2) ** 2 / 3)
    assert key(read("9.81*z")) != key(read("9.80*z"))


POINTS = {"asin": 0.3, "acos": 0.3, "atanh": 0.3, "acosh": 1.7}
REFERENCE = {
    "abs": abs, "min": min, "max": max, "cot": lambda a: 1 / math.tan(a),
    "sign": lambda a: math.copysign(1, a),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_against_math_and_in_the_kernel(name):
    at = POINTS.get(name, 0.7)
    reference = REFERENCE.get(name) or getattr(math, name)
    two = name in ("atan2", "min", "max")
    expected = reference(at, -1.3) if two else reference(at)
    made = read(f"{name}(x, y)" if two else f"{name}(x)")
    assert float(made.subs({x: at, y: -1.3})) == pytest.approx(expected, rel=1e-14)
    a, b = ca.SX.sym("a"), ca.SX.sym("b")
    graph = to_casadi([made], {x: a, y: b})[0]
    assert float(ca.Function("f", [a, b], [graph])(at, -1.3)) == pytest.approx(expected, rel=1e-14)
    number = read(f"{name}({at}, -1.3)" if two else f"{name}({at})")
    assert float(number) == pytest.approx(expected, rel=1e-14)


def test_names_are_those_given():
    one = sp.Symbol("e", real=True)
    assert read("e + pi", e=one, pi=sp.Integer(3)) == one + 3
    assert read("sin*sin(x)", sin=one) == one * sp.sin(x)
    assert read("θ_1 + _a", θ_1=one, _a=x) == one + x
    assert parse("2*3", {}) == 6


# --------------------------------------------------------------------------- what is refused

ATTACKS = [
    "__import__('os').system('x')", "__import__", "().__class__", "x.__class__", "x.y",
    "lambda: 0", "lambda x: x", "exec", "exec('x')", "eval(x)", "open(x)", "compile(x)",
    "getattr(x, x)", "globals()", "sympify(x)", "Symbol(x)", "Integer(3)", "S(3)", "f'{x}'",
    "f\"{1}\"", "'x'", '"x"', "'''x", "x; y", "x\\", "\\x41", "x # y", "# x", "x if y else z",
    "[x]", "{x}", "x[0]", "x = y", "x == y", "x < y", "x := 2", "x @ y", "x % 2", "x // 2",
    "x ! y", "factorial(99999)", "99999!", "x and y", "not x", "x | y", "x & y", "~x", "x << 3",
    "1 << 99999999", "$x", "x$", "`x`", "x?", "1j", "0x10", "0b1", "1_000", "1e", "1e+", "1.2.3",
    "..5", "5..", "inf", "nan", "oo", "I", "zoo", "E", "None", "True", "*x", "**x", "x**", "x+",
    "x***y", "x* *y", "x y", "2x", "x2", "x(y)", "2(x)", "(x)(y)", "()", "(", ")", "(x", "x)",
    "((x)", "(x))", ",", "x,y", "(x,y)", "sin", "sin()", "sin(x,)", "sin(,x)", "sin x", "sin(x",
    "sin(x y)", "sin(x, y)", "atan2(x)", "atan2(x, y, z)", "min()", "max(x,)", "", " ", "\n", "\0",
    "x\0", "\ud800", "x\udfff", "\N{ZERO WIDTH SPACE}x", "\N{RIGHT-TO-LEFT OVERRIDE}x",
    "\N{CYRILLIC SMALL LETTER HA}", "\N{FULLWIDTH LATIN SMALL LETTER X}",
    "\N{MATHEMATICAL ITALIC SMALL X}", "x\N{MINUS SIGN}y", "x\N{MULTIPLICATION SIGN}y",
    "x\N{SUPERSCRIPT TWO}", "\N{ARABIC-INDIC DIGIT TWO}", "\N{FULLWIDTH DIGIT TWO}",
    "\N{SQUARE ROOT}x", "x\N{FULLWIDTH PLUS SIGN}y", "\N{FULLWIDTH LEFT PARENTHESIS}x)",
    "\N{BYTE ORDER MARK}x",
]  # fmt: skip


@pytest.mark.parametrize("text", ATTACKS)
def test_what_is_no_formula(text):
    caught = error(text)
    assert isinstance(caught, FileError)
    assert 1 <= caught.column <= len(text) + 1
    str(caught).encode()  # without lone surrogates


NOT_REAL = [
    "sqrt(-1)", "sqrt(-2.5)", "log(-1)", "log(0)", "log(x - x)", "(-1)**0.5", "(-8)**(1/3)",
    "asin(2)", "acos(-1.5)", "acosh(0.5)", "atanh(1)", "atanh(2)", "sqrt(-x**2)", "1/0", "x/0",
    "1/(x - x)", "1/0.0", "0**-1", "0**-0.5", "0**-x", "tan(pi/2)", "cot(0)", "atan2(0, 0)",
    "x*log(0)", "asin(pi)", "exp(800)", "cosh(800)", "sinh(-800)", "1e308*10", "1e308 + 1e308",
    "1e200*x*1e200", "e**e**e**e", "1e999", "-1e999", "1e-999", "1e99999999999999", "exp(-800)",
    "1e-200*1e-200", "2.0**-2000", "10**29*10**29*" * 6 + "1",
]  # fmt: skip


@pytest.mark.parametrize("text", NOT_REAL)
def test_numbers_that_are_not_finite_and_real(text):
    error(text)


HUGE = [
    "9**9**9", "10**10**10", "9**-9**9", "(1/9)**9**9", "2**99999", "1.5**9**9**9", "9" * 31,
    "9" * 20_000, "x**65", "x**-65", "x**1e3", "(x**9)**9", "x**64*x", "((2*x)**64)**64",
    "(2**64)**64", "sqrt(x)**200", "(9**99)**99", "exp(9**9*log(9))", "exp(-9**9*log(9))",
    "exp(x - 9**9*log(9))", "e**(x + 9**9*log(9))", "2**(9**9 + x)*2**-x", "2**(9**9 + x)",
    "(2*x)**(9**20 + y)*(2*x)**-y", "(2**(9**20*x))**(1/x)", "exp(9**20*x*log(7))**(1/x)",
    "exp(9**20*x)**(log(7)/x)", "(9**99)**(999*x)", "abs(9**99*x)**99", "(1 + 1/10**20)**10**19",
    "(sqrt(2)/1.4)**10**9", "(sqrt(2)*7/10)**10**9", "1/3**700", "*".join(["7/11"] * 900),
    "+".join(f"x/{10**28 + 2 * i + 1}" for i in range(300)),
]  # fmt: skip


@pytest.mark.parametrize("text", HUGE, ids=lambda text: text[:30])
def test_numbers_that_would_grow_without_end(text):
    error(text)


LONG = [
    "(" * 20_000, "(" * 61 + "x" + ")" * 61, "-" * 20_000, "-" * 61 + "x", "+" * 61 + "x",
    "**".join(["x"] * 6000), "**".join(["x"] * 62), "sin(" * 61 + "x" + ")" * 61, "sin(" * 5000,
    "x+" * 9_999 + "x", "x*" * 9_999 + "x", "x-" * 9_999 + "x", "a" * 20_000, "x" * 20_001,
    " " * 20_001, "0" * 20_000, "1." + "0" * 20_000, "+".join(f"sin({i}*x)" for i in range(2000)),
    "*".join(f"sqrt({i}*x + y)" for i in range(1200)),
    "max(" + ",".join(f"x**{i}" for i in range(60)) + ")",
    "2*(" * 59 + "+".join(f"x**{i}*y" for i in range(60)) + ")" * 59,
    "abs(" + "+".join(f"log({i}*x)" for i in range(600)) + ")",
    "cot(acos(y) - cosh(" * 12 + "x" + "))" * 12, "sqrt(2 + 3*" * 30 + "2" + ")" * 30,
    "cosh(" + "*".join(f"(log(x + {i}) + y)" for i in range(30)) + ")",
]  # fmt: skip


@pytest.mark.parametrize("text", LONG, ids=lambda text: text[:30])
def test_texts_that_are_too_long(text):
    error(text)


def test_limits_are_not_narrower_than_said():
    assert read("(" * 60 + "x" + ")" * 60) == x
    assert read("+".join(["x", "y"] * 1500)) == 1500 * x + 1500 * y
    assert read("x**64/y**64") == x**64 / y**64
    assert read(" " * 19_999 + "x") == x
    assert read("exp(-10000*x)") == sp.exp(-10000 * x)
    assert read("exp(x - 800)") == sp.exp(x - 800)
    assert read("sqrt(1 + sqrt(2 + 3*sqrt(5)))").is_number
    assert read("log(1 - ((sqrt(x**2 + y**2) - l0)/k)**2)").has(sp.log)
    springs = "+".join(f"k*(sqrt((x - {i})**2 + y**2) - l0)**2/2" for i in range(40))
    assert len(read(springs).args) == 40
    assert read("sin(" * 25 + "x" + ")" * 25).count(sp.sin) == 25


def test_numbers_that_cancel_are_not_decided():
    """SymPy would look for the minimal polynomial of such a number, which may take hours."""
    hidden = "(sqrt(2) + sqrt(3) - sqrt(5 + 2*sqrt(6)))"
    for text in (hidden, f"abs{hidden}", f"x + {hidden}", "log((1 + sqrt(2))*(sqrt(2) - 1))",
                 "max(x + sqrt(2) + sqrt(3), x + sqrt(5 + 2*sqrt(6)))",
                 "min(sqrt(2) + sqrt(3), sqrt(5 + 2*sqrt(6)))"):  # fmt: skip
        assert "cancel" in str(error(text))
    assert read("sqrt(2) - sqrt(2)") == 0
    assert read("sqrt(8) - 2*sqrt(2)") == 0
    assert read("sin(1/10**12)") == sp.sin(sp.Rational(1, 10**12))
    assert read("sin(exp(-8*pi))") == sp.sin(sp.exp(-8 * sp.pi))
    assert read("0.1 + 0.2 - 0.3") == 0.1 + 0.2 - 0.3


def test_roots_beside_decimals_are_decimals():
    """SymPy 1.14 looks for roots of 2.5·√2 for ever: of Floats it finds no greatest divisor."""
    assert read("2.5*sqrt(2)*x") == sp.Float(2.5 * math.sqrt(2)) * x
    assert value("(2.5*2**(1/6)*z)**(1/3)") == pytest.approx((2.5 * 2 ** (1 / 6) * 2.1) ** (1 / 3))
    assert value("exp(log(2.5*2**(1/6))/3)") == pytest.approx((2.5 * 2 ** (1 / 6)) ** (1 / 3))
    assert read("2.5*(sqrt(2)*x + y) - 2.5*y") == sp.Float(2.5 * math.sqrt(2)) * x
    assert read("2.5*pi*sqrt(x)") == 2.5 * sp.pi * sp.sqrt(x)


@pytest.mark.parametrize(
    "given",
    [sp.oo, sp.nan, sp.zoo, sp.I, sp.Integer(2) ** 2000, sp.gamma(x), sp.Piecewise((x, x > 0))],
)
def test_names_for_what_may_not_pass(given):
    error("a", a=given)


@pytest.mark.parametrize("raised", [RecursionError, TypeError, ZeroDivisionError, MemoryError])
def test_what_sympy_stumbles_over_is_an_error_of_the_text(raised, monkeypatch):
    def stumbles(*_):
        raise raised

    monkeypatch.setattr(Gate, "known", stumbles)
    assert error("2*3 + x").column == 2


@pytest.mark.parametrize("text", [None, 3, b"x", ["x"], x])
def test_what_is_no_text(text):
    assert error(text).column == 1


def test_the_work_of_many_texts_is_counted_together():
    text, gate = "+".join(f"sin({i}*x)" for i in range(80)), Gate(most=5_000)
    assert parse(text, NAMES, gate=gate) == read(text)
    assert parse(text, NAMES, gate=gate) == read(text)
    with pytest.raises(ExpressionError, match="5000 steps of SymPy for all"):
        parse(text, NAMES, gate=gate)


# ------------------------------------------------------------------------------- what it says


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("x + ", 5, "the end"),
        ("x + $", 5, "'$'"),
        ("x + foo*y", 5, "foo"),
        ("(x + y", 7, "( at column 1"),
        ("sin(x + (y)", 12, "( at column 4"),
        ("x + y)", 6, "')'"),
        ("2 x", 3, "write a product with *"),
        ("x + k(y)", 5, "write a product with *"),
        ("x + y/0", 6, "a division by zero"),
        ("x + log(-2)", 5, "'log'"),
        ("x*y**99", 4, "powers from -64 to 64"),
        ("x + atan2(y)", 5, "atan2 of 2"),
        ("x \N{MINUS SIGN} y", 3, "write -"),
        ("x*1e400", 3, "'1e400'"),
        ("x*" + "9" * 40, 3, "40 digits"),
        ("m*sinn(x)", 3, "did you mean 'sin'?"),
        ("mass*lo", 1, "mass"),
        ("m*l_0", 3, "did you mean 'l0'?"),
    ],
)
def test_messages_say_where_and_what(text, column, said):
    caught = error(text)
    assert caught.column == column
    assert f"the expression cannot be read at column {column}\n" in str(caught)
    assert said in str(caught)
    assert caught.expected


def test_messages_name_the_formula_and_stay_short():
    with pytest.raises(ExpressionError, match=r"^the potential cannot be read at column 3\n"):
        parse("x*q", {"x": x}, where="the potential")
    assert len(str(error("a" * 20_000))) < 500
    assert "e, g, k, l0, m, pi, x, y, z" in str(error("a"))


# -------------------------------------------------------------------------- nothing is run


RUNNERS = {builtins: ("eval", "exec", "compile", "open"), sp: ("sympify", "parse_expr", "lambdify")}


def test_nothing_is_run(monkeypatch):
    formulas = ["k*(sqrt(x**2 + y**2) - l0)**2/2 + max(x, sin(y))*1.5", "abs(log(x) + exp(y))"]
    before = [_outcome(text) for text in (*ATTACKS, *formulas)]  # SymPy imports on first use

    def forbidden(*_, **__):
        raise AssertionError("something was run")

    for owner, names in RUNNERS.items():
        for name in names:
            monkeypatch.setattr(owner, name, forbidden)
    after = [_outcome(text) for text in (*ATTACKS, *formulas)]
    monkeypatch.undo()
    assert after == before
    assert [x for x in after if isinstance(x, sp.Expr)] == [read(text) for text in formulas]


@pytest.mark.parametrize("module", [bounds, expressions, writing], ids=lambda x: x.__name__)
def test_the_modules_do_not_even_name_what_runs_text(module):
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    names = {x.id for x in ast.walk(tree) if isinstance(x, ast.Name)}
    called = {ast.unparse(x) for x in ast.walk(tree) if isinstance(x, ast.Attribute)}
    forbidden = {name for names in RUNNERS.values() for name in names} | {"__import__", "globals"}
    assert not names & forbidden
    assert {x for x in called if x.split(".")[-1] in forbidden} <= {"re.compile"}


def _outcome(text):
    try:
        return read(text)
    except ExpressionError as caught:
        return str(caught)


# ----------------------------------------------------------------------------- any text at all

ALPHABET = [
    *NAMES, *FUNCTIONS, "pi", "e", "q", "+", "-", "*", "/", "**", "^", "(", ")", ",", "0", "1",
    "2", "3", "9", "64", "0.5", "1e300", "1e-300", ".", "e", " ", "_", "$", "'", "1/3", "(x+1)",
    "sqrt(2)", "log(", "exp(", "max(x,", "abs(", "-1",
]  # fmt: skip
SLOW = [HealthCheck.too_slow]


def _survives(text):
    made = None
    try:
        made = read(text)
    except ExpressionError as caught:
        column, said = caught.column, str(caught)
    if made is None:
        assert 1 <= column <= len(text) + 1
        said.encode()
    else:
        assert isinstance(made, sp.Expr)
        assert not made.has(*NOT_FINITE)
        assert made.free_symbols <= set(NAMES.values())


@settings(deadline=None)
@given(st.text())
def test_any_text_is_a_formula_or_an_error(text):
    _survives(text)


@settings(max_examples=300, deadline=None, suppress_health_check=SLOW)
@given(st.lists(st.sampled_from(ALPHABET), max_size=30).map("".join))
@example("(x+1)**-1*0")
@example("0*(1/3)**x")
def test_any_tokens_are_a_formula_or_an_error(text):
    _survives(text)


OPERANDS = st.sampled_from(
    ["x", "y", "z", "2", "3", "0.5", "7", "(x + y)", "sin(y)", "exp(x)", "(x)"]
)
SIGNS = st.sampled_from(["", "", "", "-", "+", "--"])
POWERS = st.sampled_from(["", "", "", "**2", "**-1", "**3", "**-2", "**2**2", "^2"])
FACTORS = st.tuples(SIGNS, OPERANDS, POWERS).map("".join)


@settings(deadline=None)
@given(FACTORS, st.lists(st.tuples(st.sampled_from([" + ", " - ", "*", "/"]), FACTORS), max_size=7))
def test_arithmetic_is_that_of_python(first, rest):
    text = first + "".join(operator + factor for operator, factor in rest)
    here = {"sin": math.sin, "exp": math.exp, **{s.name: v for s, v in AT.items()}}
    expected = eval(text.replace("^", "**"), here)
    try:
        made = read(text)
    except ExpressionError as caught:
        assume("cancel" not in str(caught))
        raise
    assert float(made.subs(AT)) == pytest.approx(expected, rel=1e-9, abs=1e-9)


# -------------------------------------------------------------------------------- the way back


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (k * (sp.sqrt(x**2 + y**2) - l0) ** 2 / 2, "k*(sqrt(x**2 + y**2) - l0)**2/2"),
        (x - y, "x - y"),
        (-x * y / 2, "-x*y/2"),
        (-sp.Rational(2, 3) * x, "-2*x/3"),
        (sp.Rational(-2, 3), "-2/3"),
        (1 / x, "1/x"),
        (x / (y * z), "x/y/z"),
        (x**-2, "1/x**2"),
        (1 / sp.sqrt(x), "1/sqrt(x)"),
        ((-x) ** y, "(-x)**y"),
        (x**-y, "x**(-y)"),
        (x ** (y**z), "x**(y**z)"),
        ((x**y) ** z, "(x**y)**z"),
        (x ** sp.Rational(1, 3), "x**(1/3)"),
        (sp.Integer(-2) ** x, "(-2)**x"),
        (9.81 * x, "9.81*x"),
        (-1e-5 * x, "-1e-05*x"),
        (x - 1.5, "x - 1.5"),
        (sp.E * x, "exp(1)*x"),
        (sp.exp(-x), "exp(-x)"),
        (sp.Max(x, 0) * sp.Abs(y), "abs(y)*max(0, x)"),
        (-sp.cot(x), "-cot(x)"),
        (sp.Mul(-1, x + y, sp.sin(z)), "-sin(z)*(x + y)"),
        (sp.Mul(-1, x + y, 1 / z), "-1*(x + y)/z"),
        (sp.sqrt(2) / (x + y) / 2, "sqrt(2)/2/(x + y)"),
        (k - (x + y) / z, "k - (x + y)/z"),
        (sp.pi / 2, "pi/2"),
        (sp.Integer(-3), "-3"),
    ],
)
def test_written(expression, text):
    found = written(expression)
    assert found == text
    assert read(found) == expression


def test_what_sympy_would_not_make_by_itself_is_written_all_the_same():
    assert read(written(sp.Mul(2, x + y, evaluate=False))) == 2 * x + 2 * y
    assert read(written(sp.Add(x, x, evaluate=False))) == 2 * x
    assert read(written(sp.Pow(sp.Integer(2), 3, evaluate=False))) == 8


@pytest.mark.parametrize(
    "expression",
    [
        sp.gamma(x), sp.Piecewise((x, x > 0), (0, True)), sp.I * x, sp.oo, sp.nan, sp.zoo,
        sp.Function("f")(x), sp.Derivative(sp.Function("f")(x), x), sp.Symbol("a b"),
        sp.Symbol("2x"), sp.Symbol(""), sp.Symbol("x", positive=True) * x, sp.Symbol("pi") * sp.pi,
        sp.Float("0.1", 50) * x, x**100, sp.floor(x), sp.Integer(10) ** 400, sp.Integral(x, x),
        sp.EulerGamma * x, sp.MatrixSymbol("A", 2, 2), sp.Float("1e400"),
        sp.sqrt(-1 - x**2 + x**2), "x", 3.0, None,
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_written(expression):
    with pytest.raises(ExpressionError) as caught:
        written(expression)
    assert caught.value.expected


def test_what_is_too_deep_cannot_be_written():
    deep = x
    for _ in range(3000):
        deep = sp.sin(deep, evaluate=False)
    with pytest.raises(ExpressionError, match="written"):
        written(deep)


NUMBERS = st.one_of(
    st.integers(-9, 9).map(sp.Integer),
    st.fractions(-3, 3, max_denominator=12).map(lambda a: sp.Rational(a.numerator, a.denominator)),
    st.floats(-9, 9).map(lambda a: sp.Float(round(a, 3))),
    st.sampled_from([sp.pi, sp.E, sp.sqrt(2)]),
)
LEAVES = st.one_of(st.sampled_from([*XYZ, k]), st.sampled_from([*XYZ, k]), NUMBERS)
EXPONENTS = st.sampled_from([2, 3, -1, -2, sp.Rational(1, 2), sp.Rational(-3, 2), 1.5, x, -y])
CALLS = st.sampled_from([f for f in FUNCTIONS.values() if f not in (sp.atan2, sp.Min, sp.Max)])
PAIRS = (sp.Add, sp.Mul, sp.atan2, sp.Min, sp.Max)


@st.composite
def trees(draw, depth=4):
    """Expressions as SymPy makes them, real and finite as far as their numbers go."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(LEAVES)
    one, two = trees(depth - 1), trees(depth - 2) if depth > 1 else LEAVES
    way = draw(st.sampled_from([*PAIRS, sp.Pow, "call", "call"]))
    made = sp.nan
    with suppress(ValueError):  # the least of complex numbers
        if way == "call":
            made = draw(CALLS)(draw(one))
        else:
            made = way(draw(one), draw(EXPONENTS if way is sp.Pow else two))
    assume(_is_real(made))
    return made


def _is_real(expression):
    """Whether all numbers in it are doubles, hidden ones too: √cos 2 and exp(exp(7)) are not."""
    if expression.has(*NOT_FINITE):
        return False
    numbers = [sp.N(e) for e in sp.preorder_traversal(expression) if e.is_number]
    return all(e.is_real and (e.is_zero or 1e-300 < abs(e) < 1e300) for e in numbers)


LIMITS = ("steps", "digits", "large power", "grow too large", "cancel")


def _rebuilt(expression):
    """Made once more from its leaves: SymPy does not always see at once what it sees then."""
    return expression.func(*map(_rebuilt, expression.args)) if expression.args else expression


@settings(max_examples=200, deadline=None, suppress_health_check=SLOW)
@given(trees())
def test_the_way_there_and_back(expression):
    try:
        text = written(expression)
    except ExpressionError as caught:
        assume(not any(limit in str(caught) for limit in LIMITS))
        raise
    again = read(text)
    if again == expression:
        assert written(again) == text
    elif not expression.has(sp.Float):
        assert again == _rebuilt(expression)
    else:  # √2 is a decimal beside decimals
        here = {x: 2, y: 3, z: 5, k: 7}
        with suppress(ValueError, TypeError):  # where the least of complex numbers is asked for
            was, now = sp.N(expression.subs(here)), sp.N(again.subs(here))
            assert not was.is_finite or abs(now - was) <= 1e-9 * abs(was)
