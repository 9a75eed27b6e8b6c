"""The laws of groups, adjoint maps and tangents, on every group alike."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.linalg import expm, expm_frechet

from taut import lie
from taut.errors import InputError

CASES = runpy.run_path(str(Path(__file__).with_name("cases.py")))
QUICK, few, vectors, apply, close = (
    CASES[name] for name in ("QUICK", "few", "vectors", "apply", "close")
)

every = pytest.mark.parametrize("g", CASES["GROUPS"], ids=CASES["NAMES"])
MAPS = [("exp", "log"), ("cay", "cay_inverse"), ("cay_ad", "cay_ad_inverse")]
TANGENTS = [("exp", "dexp"), ("cay", "dcay"), ("cay_ad", "dcay_ad")]


def cayley(x):
    one = np.eye(len(x))
    return np.linalg.solve(one - x / 2, one + x / 2)


def slope_of(function, x, dx):
    """The derivative of a matrix function at x along dx: a block of the function of a block."""
    n = len(x)
    return function(np.block([[x, dx], [np.zeros_like(x), x]]))[:n, n:]


@every
@QUICK
@given(st.data())
def test_the_bracket_is_the_commutator(g, data):
    x, y = data.draw(few(g, 2))
    a, b = g.hat(x), g.hat(y)
    close(g.hat(g.algebra.bracket(x, y)), a @ b - b @ a)
    close(g.vee(a), x)


@every
@QUICK
@given(st.data())
def test_the_axioms_of_a_group(g, data):
    a, b, c = (g.exp(x) for x in data.draw(few(g, 3)))
    size = np.abs(a).max() * np.abs(b).max() * np.abs(c).max()
    close(g.compose(g.compose(a, b), c), g.compose(a, g.compose(b, c)), size)
    close(g.compose(a, b, c), a @ b @ c, size)
    close(g.compose(a, g.identity), a)
    close(g.compose(a, g.inverse(a)), g.identity, size)
    close(g.compose(g.inverse(a), a), g.identity, size)
    close(g.inverse(g.compose(a, b)), g.compose(g.inverse(b), g.inverse(a)), size)


@every
@QUICK
@given(st.data())
def test_exp_is_the_exponential(g, data):
    x = data.draw(vectors(g, angle=20.0))
    close(g.exp(x), expm(g.hat(x)), 20)


@every
@QUICK
@given(st.data(), st.floats(-2, 2), st.floats(-2, 2))
def test_exp_is_a_one_parameter_group(g, data, s, t):
    x = data.draw(vectors(g))
    close(g.compose(g.exp(s * x), g.exp(t * x)), g.exp((s + t) * x), 10)
    close(g.inverse(g.exp(x)), g.exp(-x))


@every
@pytest.mark.parametrize(("there", "back"), MAPS)
@QUICK
@given(st.data())
def test_maps_and_their_inverses(g, there, back, data):
    """ξ → g → ξ for angles below π, and g → ξ → g."""
    x = data.draw(vectors(g, angle=3.1))
    element = getattr(g, there)(x)
    found = getattr(g, back)(element)
    close(found, x, 10 * (1 + np.abs(x).max()))
    close(getattr(g, there)(found), element, 10)
    turned = element @ g.exp(data.draw(vectors(g, angle=0.03)))  # with errors of its own
    close(getattr(g, there)(getattr(g, back)(turned)), turned, 100)


@every
@QUICK
@given(st.data(), st.sampled_from([1e-3, 1e-9, 1e-15]))
def test_small_elements_come_back_with_all_their_digits(g, data, size):
    x = data.draw(vectors(g)) * size
    for there, back in MAPS:
        found = getattr(g, back)(getattr(g, there)(x))
        close(found / size, x / size, 10)


@every
@QUICK
@given(st.data())
def test_cayleys_map_is_that_of_the_matrices(g, data):
    x = data.draw(vectors(g, angle=20.0))
    close(g.cay(x), cayley(g.hat(x)), 100)
    close(g.inverse(g.cay(x)), g.cay(-x))


@every
@QUICK
@given(st.data())
def test_the_adjoint_map_of_cay_ad_is_cayleys_map_of_ad(g, data):
    x = data.draw(vectors(g, angle=20.0))
    close(g.adjoint(g.cay_ad(x)), cayley(g.algebra.ad(x)), 100)
    close(g.inverse(g.cay_ad(x)), g.cay_ad(-x))


@every
@QUICK
@given(st.data())
def test_the_adjoint_map(g, data):
    """Ad_a ξ is a ξ^ a⁻¹; a homomorphism; an automorphism of the bracket."""
    x, y, u, v = data.draw(few(g, 4))
    a, b = g.exp(x), g.exp(y)
    big = g.adjoint(a)
    size = np.abs(big).max() * np.abs(g.adjoint(b)).max()
    close(g.hat(apply(big, u)), a @ g.hat(u) @ g.inverse(a), size)
    close(g.adjoint(g.compose(a, b)), big @ g.adjoint(b), size)
    close(g.adjoint(g.inverse(a)) @ big, np.eye(len(x)), size**2)
    bracket = g.algebra.bracket
    close(apply(big, bracket(u, v)), bracket(apply(big, u), apply(big, v)), 10 * size**2)


@every
@QUICK
@given(st.data())
def test_the_adjoint_map_of_exp_is_the_exponential_of_ad(g, data):
    x = data.draw(vectors(g, angle=10.0))
    close(g.adjoint(g.exp(x)), expm(g.algebra.ad(x)), 100)


@every
@QUICK
@given(st.data())
def test_the_coadjoint_map(g, data):
    """⟨Ad*_a α, ξ⟩ = ⟨α, Ad_a ξ⟩; Ad*_ab = Ad*_b Ad*_a; its derivative is the dual bracket."""
    x, y, alpha, u = data.draw(few(g, 4))
    a, b = g.exp(x), g.exp(y)
    size = np.abs(g.adjoint(a)).max() * np.abs(g.adjoint(b)).max() * 100
    close(apply(g.coadjoint(a), alpha) @ u, alpha @ apply(g.adjoint(a), u), size)
    close(g.coadjoint(a @ b), g.coadjoint(b) @ g.coadjoint(a), size)
    h = 1e-5
    rate = (g.coadjoint(g.exp(h * x)) - g.coadjoint(g.exp(-h * x))) / (2 * h)
    np.testing.assert_allclose(apply(rate, alpha), g.algebra.dual(x, alpha), atol=1e-6)


@every
@QUICK
@given(st.data())
def test_the_tangent_of_exp(g, data):
    """exp(ξ)⁻¹ δexp(ξ) by SciPy's derivative of the exponential."""
    x, dx = data.draw(few(g, 2))
    e, de = expm_frechet(g.hat(x), g.hat(dx))
    size = np.abs(e).max() * np.abs(de).max()
    close(g.hat(apply(g.dexp(x), dx)), np.linalg.solve(e, de), 10 * (1 + size))


@every
@QUICK
@given(st.data())
def test_the_tangent_of_cay(g, data):
    x, dx = data.draw(few(g, 2, angle=10.0))
    e, de = cayley(g.hat(x)), slope_of(cayley, g.hat(x), g.hat(dx))
    size = np.abs(e).max() * np.abs(de).max()
    close(g.hat(apply(g.dcay(x), dx)), np.linalg.solve(e, de), 10 * (1 + size))


@every
@QUICK
@given(st.data())
def test_the_tangent_of_cay_ad(g, data):
    """In the adjoint representation, in which the map is Cayley's."""
    ad = g.algebra.ad
    x, dx = data.draw(few(g, 2, angle=10.0))
    e, de = cayley(ad(x)), slope_of(cayley, ad(x), ad(dx))
    size = np.abs(e).max() * np.abs(de).max()
    close(ad(apply(g.dcay_ad(x), dx)), np.linalg.solve(e, de), 10 * (1 + size))


@every
@pytest.mark.parametrize(("there", "tangent"), TANGENTS)
@QUICK
@given(st.data())
def test_tangents_and_their_inverses(g, there, tangent, data):
    x, dx = data.draw(few(g, 2, angle=6.0))
    there, of, back = (getattr(g, name) for name in (there, tangent, f"{tangent}_inverse"))
    size = np.abs(of(x)).max() * np.abs(back(x)).max()
    close(of(x) @ back(x), np.eye(len(x)), size)
    close(back(x) @ of(x), np.eye(len(x)), size)
    # Trivialised on the right it is that of −ξ, which is Ad of that on the left.
    right = apply(g.adjoint(there(x)), apply(of(x), dx))
    close(apply(of(-x), dx), right, 10 * (1 + np.abs(right).max()) * (1 + np.abs(there(x)).max()))


@every
def test_everything_broadcasts(g, rng):
    n = g.algebra.dimension
    many = rng.uniform(-1, 1, (2, 3, n))
    elements = g.exp(many)
    for name in ("hat", "exp", "dexp", "dexp_inverse", "cay", "dcay", "dcay_inverse", "cay_ad",
                 "dcay_ad", "dcay_ad_inverse"):  # fmt: skip
        found = getattr(g, name)(many)
        assert found.shape[:2] == (2, 3)
        for i, j in np.ndindex(2, 3):
            close(found[i, j], getattr(g, name)(many[i, j]))
    for name in ("log", "cay_inverse", "cay_ad_inverse", "inverse", "adjoint", "coadjoint"):
        found = getattr(g, name)(elements)
        assert found.shape[:2] == (2, 3)
        for i, j in np.ndindex(2, 3):
            close(found[i, j], getattr(g, name)(elements[i, j]))
    assert g.exp(np.zeros((0, n))).shape == (0, g.size, g.size)
    assert g.log(np.zeros((0, g.size, g.size))).shape == (0, n)
    assert g.compose(elements, elements[:1, :1]).shape == elements.shape
    assert g.dexp(np.zeros((4, n))).shape == (4, n, n)


@every
def test_results_share_no_memory_with_what_was_given(g):
    x, element = np.full(g.algebra.dimension, 0.3), g.exp(np.full(g.algebra.dimension, 0.3))
    for name in ("inverse", "adjoint", "coadjoint", "log"):
        found = getattr(g, name)(element)
        assert not np.shares_memory(found, element)
        assert found.flags.writeable
    assert not np.shares_memory(g.vee(g.hat(x)), x)


@every
def test_zero(g):
    n = g.algebra.dimension
    zero = np.zeros(n)
    for there, back in MAPS:
        assert np.array_equal(getattr(g, there)(zero), g.identity)
        assert np.array_equal(getattr(g, back)(g.identity), zero)
    for _, tangent in TANGENTS:
        assert np.array_equal(getattr(g, tangent)(zero), np.eye(n))
        assert np.array_equal(getattr(g, f"{tangent}_inverse")(zero), np.eye(n))


@every
@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e60])
def test_numbers_that_are_none_are_refused(g, wrong):
    x = np.full((2, g.algebra.dimension), 0.1)
    x[1, 0] = wrong
    with pytest.raises(InputError, match=r"not finite(.|\n)*at index \(1, 0\)"):
        g.exp(x)
    m = np.array(g.identity)
    m[0, 0] = wrong
    with pytest.raises(InputError, match="not finite"):
        g.log(m)


@every
@pytest.mark.parametrize(
    "wrong", ["abc", [1, 2, 3, 4, 5], 1.0, [[1, 2], [3]], None, [1j] * 20, [lie], ["1"] * 3]
)
def test_what_is_no_array_of_its_shape_is_refused(g, wrong):
    for name in ("exp", "hat", "dexp", "dcay_inverse", "cay_ad", "log", "inverse", "vee", "check"):
        with pytest.raises(InputError, match="expected"):
            getattr(g, name)(wrong)


def test_shapes_are_told():
    with pytest.raises(InputError, match=r"shape \(…, 3\)\n *received: shape \(2,\)"):
        lie.SO3.exp([1, 2])
    with pytest.raises(InputError, match=r"shape \(…, 4, 4\)\n *received: shape \(3, 3\)"):
        lie.SE3.log(np.eye(3))


def test_elements_whose_axes_do_not_fit_are_refused():
    one = np.eye(4)
    with pytest.raises(InputError, match=r"\(2,\) and \(3,\)"):
        lie.SE3.compose(np.stack([one] * 2), np.stack([one] * 3))


@pytest.mark.parametrize("g", [g for g in CASES["GROUPS"] if g.name != "R^2"], ids=str)
def test_matrices_outside_the_algebra_are_refused(g):
    with pytest.raises(InputError, match="not in the algebra"):
        g.vee(np.ones((g.size, g.size)))
    x = g.hat(np.ones(g.algebra.dimension))
    x[0, 0] += 1e-6
    with pytest.raises(InputError, match="1e-06 away"):
        g.vee(x)


@pytest.mark.parametrize("turns", [1, 2, 3])
@pytest.mark.parametrize("g", [lie.SO3, lie.SE2, lie.SE3], ids=str)
def test_no_inverse_tangent_at_full_turns(g, turns):
    x = np.ones(g.algebra.dimension)
    x[: 1 if g is lie.SE2 else 3] = 0
    x[0] = 2 * np.pi * turns
    with pytest.raises(InputError, match="no inverse here"):
        g.dexp_inverse(x)
    x[0] -= 1e-3
    size = np.abs(g.dexp_inverse(x)).max()
    close(g.dexp(x) @ g.dexp_inverse(x), np.eye(len(x)), size * 10)


def test_groups_are_values():
    assert lie.translations(2) == lie.translations(2)
    assert len({lie.SO3, lie.SE3, lie.SE2, lie.translations(1), lie.translations(2)}) == 5
    assert repr(lie.SE3) == "<SE(3): matrices 4 × 4, algebra se(3)>"
