"""Functions of the angle against many digits, near zero, over the switch and far away."""

import mpmath as mp
import numpy as np
import pytest

from taut.lie import coefficients as co

ANGLES = [*np.geomspace(1e-12, 1, 25), 1.5, 1.99, 2.0, 2.01, 2.5, 3.0, 4.0, 5.5]
EXACT = {
    "sine": lambda x: mp.sin(x) / x,
    "versine": lambda x: (1 - mp.cos(x)) / x**2,
    "sine_rest": lambda x: (x - mp.sin(x)) / x**3,
    "cotangent_rest": lambda x: (1 - x / 2 * mp.cot(x / 2)) / x**2,
}


def slope(function, x):
    """df/du by a difference of so many digits that none that counts is lost."""
    u, h = x**2, x**2 * mp.mpf(10) ** -40
    return (function(mp.sqrt(u + h)) - function(mp.sqrt(u - h))) / (2 * h)


def error(found, wanted):
    return float(abs((mp.mpf(float(found)) - wanted) / wanted))


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("theta", ANGLES)
def test_values(name, theta):
    with mp.workdps(150):
        x = mp.sqrt(mp.mpf(float(theta**2)))
        assert error(getattr(co, name)(theta**2), EXACT[name](x)) < 2e-15


@pytest.mark.parametrize("name", ["versine", "sine_rest", "cotangent_rest"])
@pytest.mark.parametrize("theta", ANGLES)
def test_slopes(name, theta):
    with mp.workdps(200):
        x = mp.sqrt(mp.mpf(float(theta**2)))
        found = getattr(co, f"{name}_slope")(theta**2)
        assert error(found, slope(EXACT[name], x)) < 4e-15


@pytest.mark.parametrize(
    "name", [*EXACT, "versine_slope", "sine_rest_slope", "cotangent_rest_slope"]
)
def test_nothing_jumps_where_series_end(name):
    below, above = (float(getattr(co, name)(u)) for u in (np.nextafter(co.NEAR, 0), co.NEAR))
    assert below != 0
    assert abs(above - below) < 4e-15 * abs(below)


@pytest.mark.parametrize(
    ("name", "value", "rate"),
    [
        ("versine", 1 / 2, -1 / 24),
        ("sine_rest", 1 / 6, -1 / 120),
        ("cotangent_rest", 1 / 12, 1 / 720),
    ],
)
def test_at_zero(name, value, rate):
    assert getattr(co, name)(0.0) == value
    assert getattr(co, f"{name}_slope")(0.0) == rate


@pytest.mark.parametrize("theta", [0.3, 1.0, 1.9, 2.1, 3.0, 5.0, 7.0, 20.0])
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("TANGENT", lambda x: (1 - np.exp(-x)) / x),
        ("INVERSE_TANGENT", lambda x: x / (1 - np.exp(-x))),
        ("CAYLEY_TANGENT", lambda x: 1 / (1 + x / 2)),
        ("INVERSE_CAYLEY_TANGENT", lambda x: 1 + x / 2),
    ],
)
def test_triples_are_their_functions_at_the_eigenvalues(name, function, theta):
    """f₀ + f₁ X + f₂ X² at X = i θ is f(i θ); and so are the slopes, by a difference."""
    of = getattr(co, name)
    x, h = 1j * theta, 1e-4

    def value(u):
        zero, one, two = (complex(c) for c in of.values(np.array(u)))
        return zero + one * 1j * np.sqrt(u) - two * u

    wanted = function(x)
    assert abs(value(theta**2) - wanted) < 1e-13 * (1 + abs(wanted))
    up, down = of.values(np.array(theta**2 + h)), of.values(np.array(theta**2 - h))
    for slope_found, a, b in zip(of.slopes(np.array(theta**2)), up, down, strict=True):
        assert float(slope_found) == pytest.approx(float((a - b) / (2 * h)), abs=1e-8)


def test_arrays_and_numbers_alike():
    u = np.array([[0.0, 1.0], [4.0, 9.0]])
    for name in EXACT:
        function = getattr(co, name)
        assert np.array_equal(function(u), [[function(x) for x in row] for row in u])
