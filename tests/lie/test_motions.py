"""Motions of space: brackets, two maps of Cayley's, and tangents on another road."""

import runpy
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given

from taut import lie
from taut.errors import InputError

CASES = runpy.run_path(str(Path(__file__).with_name("cases.py")))
QUICK, few, vectors, apply, close = (
    CASES[name] for name in ("QUICK", "few", "vectors", "apply", "close")
)
SE3, SO3, se3 = lie.SE3, lie.SO3, lie.se3


@QUICK
@given(few(SE3, 2))
def test_bracket_and_dual_bracket_are_cross_products(pair):
    x, y = pair
    k, e, w, v = x[:3], x[3:], y[:3], y[3:]
    close(se3.bracket(x, y), [*np.cross(k, w), *(np.cross(k, v) + np.cross(e, w))])
    # [(ω, v), (Π, P)]* with (ω, v) = x and (Π, P) = y
    close(se3.dual(x, y), [*(np.cross(w, k) + np.cross(v, e)), *np.cross(v, k)])


@QUICK
@given(vectors(SE3, angle=6.0))
def test_tangents_of_exp_as_polynomials_of_degree_four(x):
    """ad (ad² + θ²)² = 0, so that they are: another road to what dual numbers gave."""
    t = np.linalg.norm(x[:3])
    if t < 0.5 or t > 5.5:
        x[:3] += 1.0
        t = np.linalg.norm(x[:3])
    s, c = np.sin(t), np.cos(t)
    tangent = [
        1,
        (t * s + 4 * c - 4) / (2 * t**2),
        (4 * t + t * c - 5 * s) / (2 * t**3),
        (t * s + 2 * c - 2) / (2 * t**4),
        (2 * t + t * c - 3 * s) / (2 * t**5),
    ]
    inverse = [
        1,
        1 / 2,
        2 / t**2 - (t + 3 * s) / (4 * t * (1 - c)),
        0,
        1 / t**4 - (t + s) / (4 * t**3 * (1 - c)),
    ]
    ad = se3.ad(x)
    powers = [np.linalg.matrix_power(ad, n) for n in range(5)]
    size = 100 * np.abs(powers[4]).max()
    close(SE3.dexp(x), sum(f * p for f, p in zip(tangent, powers, strict=True)), size)
    close(SE3.dexp_inverse(x), sum(f * p for f, p in zip(inverse, powers, strict=True)), size)


@pytest.mark.parametrize("angle", [1e-12, 1e-9, 1e-6, 1e-4, 1e-2, 0.3, 1, 1.999, 2.001, 3])
@pytest.mark.parametrize("inverse", [False, True])
def test_tangents_of_exp_against_fifty_digits(angle, inverse):
    """Σ (−ad)ⁿ/(n + 1)!, whose linear part is long: what is divided by angles must not be lost."""
    x = np.array([0.6, -0.48, 0.64, 3e3, 2e3, -1e3])
    x[:3] *= angle
    found = (SE3.dexp_inverse if inverse else SE3.dexp)(x)
    with mp.workdps(50):
        ad = mp.matrix(se3.ad(x).tolist())
        total = term = mp.eye(6)
        for n in range(1, 120):
            term = -term * ad / (n + 1)
            total = total + term
        wanted = np.array((total**-1 if inverse else total).tolist(), dtype=float)
    assert np.abs(found - wanted).max() < 1e-15 * np.abs(wanted).max()
    for block in (np.s_[:3, :3], np.s_[3:, :3]):
        size = np.abs(wanted[block]).max()
        assert np.abs(found[block] - wanted[block]).max() < 2e-15 * size


@QUICK
@given(vectors(SE3, angle=3.0))
def test_the_two_maps_of_cayleys(x):
    """They differ by s k (k·v)/4 in the position, and in nothing else."""
    k, v = x[:3], x[3:]
    apart = SE3.cay(x) - SE3.cay_ad(x)
    close(apart[:3, 3], k * (k @ v) / (4 + k @ k))
    assert np.array_equal(apart[:3, :3], np.zeros((3, 3)))
    flat = np.array([*k, *np.cross(k, v)])
    close(SE3.cay(flat), SE3.cay_ad(flat), 10)
    close(SE3.dcay(flat) @ flat, SE3.dcay_ad(flat) @ flat, 100)


@QUICK
@given(vectors(SE3, angle=3.0))
def test_cay_ad_inverse_in_closed_form(x):
    """k = 2 (Q − Qᵀ)^∨/(1 + tr Q), v = (1 + |k|²/4) (1 + k^/2)⁻¹ x."""
    g = SE3.exp(x)
    q, position = SE3.parts(g)
    k = 2 * SO3.vee(q - q.T) / (1 + np.trace(q))
    v = (1 + k @ k / 4) * np.linalg.solve(np.eye(3) + SO3.hat(k) / 2, position)
    scale = 100 * (1 + k @ k)
    close(SE3.cay_ad_inverse(g), np.array([*k, *v]), scale)


@QUICK
@given(few(SE3, 2, angle=3.0))
def test_cay_ad_is_the_midpoint_rule(pair):
    """y₁ − y₀ = [x, (y₀ + y₁)/2] is solved by y₁ = Ad y₀; so is its dual."""
    x, y = pair
    ad = SE3.adjoint(SE3.cay_ad(x))
    after = apply(ad, y)
    close(after - y, se3.bracket(x, (y + after) / 2), 100 * (1 + np.abs(after).max()))
    dual = apply(SE3.coadjoint(SE3.cay_ad(x)), y)
    close(dual - y, se3.dual(x, (y + dual) / 2), 100 * (1 + np.abs(dual).max()))


def test_half_turns_are_not_in_the_image_of_cayleys_maps():
    g = SE3.exp([0, np.pi, 0, 1, 2, 3])
    for back in (SE3.cay_inverse, SE3.cay_ad_inverse):
        with pytest.raises(InputError, match="rotation by π"):
            back(g)
    close(SE3.exp(SE3.log(g)), g, 10)


def test_elements_and_their_parts(rng):
    rotations, positions = SO3.exp(rng.normal(size=(4, 3))), rng.normal(size=(5, 1, 3))
    g = SE3.element(rotations, positions)
    assert g.shape == (5, 4, 4, 4)
    r, x = SE3.parts(g)
    assert np.array_equal(r[3], rotations)
    assert np.array_equal(x[:, 2], positions[:, 0])
    moved = SE3.compose(SE3.element(np.eye(3), [1, 2, 3]), SE3.element(rotations[0], [0, 0, 0]))
    assert np.array_equal(SE3.parts(moved)[1], [1, 2, 3])
    with pytest.raises(InputError, match=r"\(4,\) and \(5,\)"):
        SE3.element(rotations, positions[:, 0])
    with pytest.raises(InputError, match="the rotation is not a rotation"):
        SE3.element(np.ones((3, 3)), [0, 0, 0])
    with pytest.raises(InputError, match="the position has the wrong shape"):
        SE3.element(np.eye(3), [0, 0])


def test_what_is_no_motion_is_refused():
    g = SE3.element(SO3.exp([1, 2, 3]), [1.0, 2, 3])
    with pytest.raises(InputError, match=r"last row \(0, 0, 0, 1\)(.|\n)*received: \(1, 2, 3, 1\)"):
        SE3.log(g.T)
    g[0, 0] += 1e-4
    with pytest.raises(InputError, match="the block R of the matrix is not a rotation"):
        SE3.inverse(g)
    close(SE3.check(np.eye(4), "it"), np.eye(4))
