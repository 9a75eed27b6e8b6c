"""What jumps in time or along a beam, in the mean over a span."""

import numpy as np
import pytest
import sympy as sp

from taut.model.switches import jumps, roots, smeared, switches
from taut.model.symbols import t

a, b = sp.symbols("a b", real=True)
q, late = sp.symbols("q late", real=True)
H, R, P = sp.Heaviside, sp.Rational, sp.Piecewise
JUMPS = {
    "on": P((2, t > 1), (0, True)),
    "product": 2 * H(t - R(1002, 1000)) * H(R(1005, 1000) - t),
    "nested": P((P((2, t < R(1005, 1000)), (3, True)), t > R(1002, 1000)), (0, True)),
    "or": P((2, (t < R(1001, 1000)) | (t > R(1006, 1000))), (1, True)),
    "three": P((2, (t > R(1001, 1000)) & (t < R(1005, 1000)) & (t > R(1002, 1000))), (0, True)),
    "two pulses": P((1, (t > 1.001) & (t < 1.002)), (5, (t > 1.004) & (t < 1.007)), (2, True)),
    "square": H(t - R(1003, 1000)) ** 2,
    "root": sp.sqrt(P((4, t > R(1003, 1000)), (1, True))),
    "sign": sp.sign(t - R(1007, 1000)),
    "narrow": P((7, sp.Abs(t - R(1004, 1000)) < R(1, 1000)), (0, True)),
    "quadratic": P((7, (t - 1.004) * (t - 1.005) < 0), (0, True)),
    "floor": sp.floor(t / R(1003, 1000)),
    "ceiling": sp.ceiling(t / R(1003, 1000)),
    "saw": sp.Mod(t, R(1006, 2000)),
    "wave": P((3, sp.Mod(t, R(1, 2)) < R(7, 1000)), (0, True)),
    "ramp": P((0, t < R(1004, 1000)), (5 * (t - R(1004, 1000)), True)),
    "bend": sp.Abs(t - R(1004, 1000)),
    "hat": sp.Max(0, R(3, 1000) - sp.Abs(t - R(1005, 1000))),
    "only there": P((sp.sqrt(t - R(1002, 1000)), t > R(1002, 1000)), (0, True)) ** 2,
    "once": P((5, sp.Eq(t, R(1005, 1000))), (1, True)),
}


def means(expression, left, right, points):
    """The mean over a span, at some places in it."""
    mean, definitions = smeared(expression, t, a, b, lambda s: s != q)
    names, values = [t, a, b], []
    for name, value in definitions:
        values.append((name, sp.lambdify(names, value, "math")))
        names.append(name)
    last = sp.lambdify(names, mean, "math")
    found = []
    for x in points:
        given = [x, left, right]
        for _, value in values:
            given.append(value(*given))
        found.append(last(*given))
    return np.array(found)


@pytest.mark.parametrize("name", JUMPS)
@pytest.mark.parametrize(("left", "right"), [(1.0, 1.01), (0.999, 1.0085), (1.0035, 1.0055)])
def test_no_impulse_is_lost(name, left, right):
    """The trapezoidal rule of the means is the integral of everything that is piecewise linear."""
    expression = JUMPS[name]
    cuts = np.union1d(np.linspace(left, right, 20001), [1 + k / 1000 for k in range(-1, 10)])
    cuts = cuts[(cuts >= left) & (cuts <= right)]
    middles = 0.5 * (cuts[1:] + cuts[:-1])
    exact = np.sum(
        np.diff(cuts) * np.broadcast_to(sp.lambdify(t, expression)(middles), len(middles))
    )
    found = (right - left) * means(expression, left, right, [left, right]).mean()
    assert found == pytest.approx(exact, rel=1e-6, abs=1e-9)  # a cut of its grid is 5e−7 long


@pytest.mark.parametrize("name", JUMPS)
def test_spans_of_no_length_and_without_cuts(name):
    function = sp.lambdify(t, JUMPS[name], "math")
    for x in (0.9, 1.0, 1.0031, 1.0049, 1.2):
        assert means(JUMPS[name], x, x, [x])[0] == pytest.approx(function(x), abs=1e-12)
    far = [1.1, 1.105, 1.11]
    assert means(JUMPS[name], far[0], far[-1], far) == pytest.approx([function(x) for x in far])


def test_quadratures_are_those_of_each_piece():
    """Stages of a step at Gauss's places integrate both pieces as they would a smooth force."""
    switched = P((sp.sin(50 * t), t > R(3, 1000)), (sp.cos(50 * t), True))
    x, w = np.polynomial.legendre.leggauss(4)
    found = 0.005 * w @ means(switched, 0.0, 0.01, 0.005 * (x + 1))
    exact = np.sin(0.15) / 50 + (np.cos(0.15) - np.cos(0.5)) / 50
    assert found == pytest.approx(exact, rel=1e-9)


def test_parameters_may_say_when_and_states_may_not():
    known = P((1, t > late), (0, True))
    mean, definitions = smeared(known, t, a, b, lambda s: s != q)
    for name, value in reversed(definitions):
        mean = mean.xreplace({name: value})
    assert mean.subs({late: 0.25, a: 0, b: 1, t: 0}) == pytest.approx(0.75)
    assert switches(P((1, t > q), (0, True)), t, lambda s: s != q) == []
    both = P((q**2, (t > 1) & (q > 0)), (0, True))  # as far as the time says
    assert switches(both, t, lambda s: s != q) == [sp.Gt(t, 1)]
    assert switches(sp.sin(t) * q, t, lambda s: s != q) == []


def test_long_tables_stay_short():
    """Terms grow with the table, not with its square."""
    sizes = []
    for many in (4, 8, 12):
        table = P(*((k, t < k) for k in range(many)), (0, True))
        sizes.append(sum(sp.count_ops(v) for _, v in smeared(table, t, a, b, lambda s: True)[1]))
    assert sizes[2] - sizes[1] < 1.5 * (sizes[1] - sizes[0])


@pytest.mark.parametrize(
    ("level", "zeros"),
    [
        ((t - 0.31) * (t - 0.59), [0.31, 0.59]), (t**2 - 2, [-(2**0.5), 2**0.5]),
        (3 * t - 1, [1 / 3]),
        (sp.pi * t**2 - 1, [-(sp.pi**-0.5), sp.pi**-0.5]), (t**2 + 1, []), (sp.sin(t), None),
        (t - q, None),
    ],
)  # fmt: skip
def test_roots(level, zeros):
    found = roots(level, t)
    assert (
        found == zeros if zeros in (None, []) else found == pytest.approx(list(map(float, zeros)))
    )


@pytest.mark.parametrize(
    ("expression", "jumping"),
    [
        (sp.Piecewise((80 * t, t <= 2.5), (80 * (5 - t), t <= 5), (0, True)), False),
        (sp.Piecewise((80 * t, t <= 2.5), (80 * (4 - t), t <= 4), (0, True)), True),
        (sp.Abs(t - 1), False),
        (sp.Max(t, 2), False),
        (sp.Heaviside(t - 1), True),
        (sp.sign(t - 1) * (t - 1), False),
        (sp.Piecewise((0, sp.sin(t) < 0), (1, True)), True),
    ],
)
def test_what_bends_is_told_from_what_jumps(expression, jumping):
    assert jumps(expression, t, lambda _: True) is jumping
