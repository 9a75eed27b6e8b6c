"""Motions of the plane are motions of space that stay in it."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from taut import lie
from taut.errors import InputError

CASES = runpy.run_path(str(Path(__file__).with_name("cases.py")))
QUICK, few, vectors, close = (CASES[name] for name in ("QUICK", "few", "vectors", "close"))
SE2, SE3 = lie.SE2, lie.SE3
VECTOR, MATRIX = [2, 3, 4], [0, 1, 3]  # where (ω, v₁, v₂), and the plane, are in space


def raised(x):
    out = np.zeros(6)
    out[VECTOR] = x
    return out


@QUICK
@given(few(SE2, 2))
def test_bracket(pair):
    x, y = pair
    close(raised(lie.se2.bracket(x, y)), lie.se3.bracket(raised(x), raised(y)))
    turn = np.array([[0, -1], [1, 0]])
    close(lie.se2.bracket(x, y)[1:], x[0] * turn @ y[1:] - y[0] * turn @ x[1:])


@QUICK
@given(vectors(SE2))
def test_maps(x):
    for name in ("exp", "cay", "cay_ad"):
        found = getattr(SE3, name)(raised(x))
        close(getattr(SE2, name)(x), found[np.ix_(MATRIX, MATRIX)])
        close(found[2], [0, 0, 1, 0])
    for name in ("dexp", "dexp_inverse", "dcay", "dcay_inverse", "dcay_ad", "dcay_ad_inverse"):
        found = getattr(SE3, name)(raised(x))
        close(getattr(SE2, name)(x), found[np.ix_(VECTOR, VECTOR)], 10)
        close(found[5, VECTOR], np.zeros(3), 10)
    close(SE2.adjoint(SE2.exp(x)), SE3.adjoint(SE3.exp(raised(x)))[np.ix_(VECTOR, VECTOR)])
    close(raised(SE2.log(SE2.exp(x))), SE3.log(SE3.exp(raised(x))), 10)
    close(raised(SE2.cay_inverse(SE2.exp(x))), SE3.cay_inverse(SE3.exp(raised(x))), 1e4)


@pytest.mark.parametrize("below", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("side", [1, -1])
def test_near_half_turns(below, side):
    x = np.array([side * (np.pi - below), 1.0, -2.0])
    close(SE2.log(SE2.exp(x)), x)
    g = SE2.exp(x)
    w = SE2.cay_inverse(g)
    # tan is accurate as far as the rounded entries of the matrix tell it
    assert w[0] == pytest.approx(side * 2 / np.tan(below / 2), rel=1e-15 / below + 1e-14)
    assert np.abs(SE2.cay(w) - g).max() < 1e-14


@pytest.mark.parametrize("side", [1, -1])
def test_half_turns(side):
    g = SE2.exp([side * np.pi, 1, 2])
    assert abs(SE2.log(g)[0]) == pytest.approx(np.pi, abs=1e-15)
    close(SE2.exp(SE2.log(g)), g)
    with pytest.raises(InputError, match="rotation by π"):
        SE2.cay_inverse(g)


def test_elements_and_their_parts():
    turn = np.array([[0.0, -1], [1, 0]])
    g = SE2.element(turn, [[1, 2], [3, 4]])
    assert g.shape == (2, 3, 3)
    r, x = SE2.parts(g)
    assert np.array_equal(r[1], turn)
    assert np.array_equal(x, [[1, 2], [3, 4]])
    close(SE2.log(SE2.element(turn, [0, 0])), [np.pi / 2, 0, 0])
    with pytest.raises(InputError, match=r"the rotation is not a rotation(.|\n)*det R = -1"):
        SE2.element(np.diag([1, -1]), [0, 0])
    with pytest.raises(InputError, match="the block R of the matrix is not a rotation"):
        SE2.log(np.diag([2.0, 1, 1]))
    with pytest.raises(InputError, match=r"the last row \(0, 0, 1\)"):
        SE2.log(g[0].T)
