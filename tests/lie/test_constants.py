"""Structure constants: read exactly, and refused where they are no Lie algebra's."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from hypothesis import assume, given, settings, strategies as st

from taut import lie
from taut.errors import InputError, UnknownName

QUICK = settings(max_examples=15, deadline=None)
# sl(2), Heisenberg's algebra, and the affine group of the line, beside those with a name
OTHERS = [
    lie.algebra({("h", "x"): {"x": 2}, ("h", "y"): {"y": -2}, ("x", "y"): {"h": 1}}, "h x y"),
    lie.algebra({(0, 1): {2: 1}}),
    lie.algebra({(0, 1): {1: 1}}),
]
ALGEBRAS = [lie.so3, lie.se2, lie.se3, *OTHERS]
FRACTION = st.fractions(-3, 3, max_denominator=4)


def rebased(a, matrix):
    """Structure constants in the basis of the rows of a matrix, as exact as its entries."""
    n, back = a.dimension, sp.Matrix(matrix).inv()
    c = [[[0] * n for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(n):
            row = a.bracket([sp.sympify(x) for x in matrix[i]], [sp.sympify(x) for x in matrix[j]])
            c[i][j] = list(sp.Matrix([row]) * back)
    return c


@pytest.mark.parametrize("a", [lie.so3, lie.se2, *OTHERS], ids=lambda a: a.name or "other")
@QUICK
@given(st.data())
def test_any_basis_will_do(a, data):
    """Jacobi's identity is one of all bases: exact constants pass it exactly, floats nearly."""
    n = a.dimension
    matrix = data.draw(st.lists(st.lists(FRACTION, min_size=n, max_size=n), min_size=n, max_size=n))
    assume(abs(float(sp.Matrix(matrix).det())) > 1e-2)
    c = rebased(a, matrix)
    b = lie.algebra(c)
    assert all(isinstance(x, int | Fraction) for *_, x in b.constants)
    assert np.linalg.matrix_rank(b.killing(), tol=1e-9) == np.linalg.matrix_rank(a.killing())
    floats = np.array(c, dtype=float)
    assert lie.algebra(floats).dimension == n
    assert np.allclose(lie.algebra(floats).structure, b.structure, rtol=1e-14, atol=0)


@pytest.mark.parametrize("a", ALGEBRAS, ids=lambda a: a.name or "other")
def test_constants_that_were_computed_may_have_round_off(a, rng):
    """Entries that should be zero are 1e−17: relative to the largest that is nothing."""
    for _ in range(20):
        matrix = rng.normal(size=(a.dimension,) * 2)
        back = np.linalg.inv(matrix)
        if np.linalg.cond(matrix) < 30:
            c = np.einsum("ia,jb,abc,ck->ijk", matrix, matrix, a.structure, back)
            assert lie.algebra((c - c.transpose(1, 0, 2)) / 2).dimension == a.dimension


@pytest.mark.parametrize("a", [lie.so3, lie.se3, lie.se2, OTHERS[0]], ids=lambda a: a.name or "sl")
@QUICK
@given(st.data())
def test_perturbed_constants_are_refused(a, data):
    """One entry changed alone breaks antisymmetry; with its mirror image, Jacobi's identity.

    Not in every direction: those that keep it are told by the identity itself.
    """
    n = a.dimension
    i, j, k = (data.draw(st.integers(0, n - 1)) for _ in range(3))
    size = data.draw(st.sampled_from([1e-9, 1e-3, 1.0]))
    c = np.array(a.structure)
    c[i, j, k] += size
    with pytest.raises(InputError, match=f"not antisymmetric(.|\n)*c\\[{i}, {j}, {k}\\]"):
        lie.algebra(c)
    assume(i != j)
    c[j, i, k] -= size
    twice = np.einsum("ijl,lkm->ijkm", c, c)
    total = twice + twice.transpose(1, 2, 0, 3) + twice.transpose(2, 0, 1, 3)
    if np.abs(total).max() > 1e-12:
        with pytest.raises(InputError, match="Jacobi"):
            lie.algebra(c, a.labels)
    else:
        assert lie.algebra(c).dimension == n


def test_antisymmetry_names_the_entry():
    c = np.array(lie.so3.structure)
    c[0, 1, 2] = 2
    with pytest.raises(InputError, match=r"c\[0, 1, 2\] = 2, c\[1, 0, 2\] = -1"):
        lie.algebra(c)
    with pytest.raises(InputError, match=r"c\[1, 1, 0\] = 3"):
        lie.algebra({(1, 1): {0: 3}})
    with pytest.raises(InputError, match="not antisymmetric"):
        lie.algebra({(0, 1): {2: 1}, (1, 0): {2: 1}})


def test_jacobi_names_the_triple_and_the_residual():
    """[[x, y], z] + [[y, z], x] + [[z, x], y] = [z, z] + [x, x] + [y/2 + x, y] = z."""
    brackets = {
        ("x", "y"): {"z": 1},
        ("y", "z"): {"x": 1},
        ("z", "x"): {"y": Fraction(1, 2), "x": sp.Rational(2, 3)},
    }
    with pytest.raises(InputError) as error:
        lie.algebra(brackets, "x y z")
    lines = str(error.value).splitlines()
    assert lines[0] == "these structure constants break Jacobi's identity for x, y, z"
    assert lines[1] == "  expected: [[x, y], z] + [[y, z], x] + [[z, x], y] = 0"
    assert lines[2] == "  received: 2/3 z"


def test_exact_constants_must_be_exact():
    """A fraction that is off by 1e−30 is refused; a float that is off by round-off is not."""
    tiny = Fraction(1, 10**30)
    brackets = {(0, 1): {2: 1}, (1, 2): {0: 1}, (2, 0): {1: 1, 0: tiny}}
    with pytest.raises(InputError, match=f"received: 1/{10**30} e3"):
        lie.algebra(brackets)
    third = {(0, 1): {1: Fraction(1, 3)}}
    assert lie.algebra(third).constants == ((0, 1, 1, Fraction(1, 3)), (1, 0, 1, Fraction(-1, 3)))
    c = np.array(lie.se3.structure)
    c[0, 1, 2] += 1e-16
    assert lie.algebra(c).terms()[0] == (0, 1, 2, 1)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (2, 2),
        (2.0, 2),
        (np.int64(3), 3),
        (Fraction(4, 2), 2),
        (Fraction(1, 3), Fraction(1, 3)),
        (sp.Rational(1, 3), Fraction(1, 3)),
        (sp.Integer(5), 5),
        (0.1, 0.1),
        (sp.Float("0.5"), 0.5),
        (sp.sqrt(2), float(sp.sqrt(2))),
        (np.float64(0.25), 0.25),
    ],
)
def test_numbers_are_kept_as_exactly_as_they_came(given, kept):
    a = lie.algebra({(0, 1): {2: given}})
    assert a.constants == ((0, 1, 2, kept), (1, 0, 2, -kept))
    assert type(a.constants[0][3]) is type(kept)
    assert [type(c) for *_, c in a.terms()] == [int if isinstance(kept, int) else float] * 2
    assert a.structure[0, 1, 2] == float(kept)


@pytest.mark.parametrize("wrong", ["a", 1j, np.nan, float("inf"), None, sp.Symbol("x"), [1], "1"])
def test_constants_that_are_no_numbers_are_refused(wrong):
    with pytest.raises(InputError, match="not a finite number"):
        lie.algebra({(0, 1): {2: wrong}})


def test_forms_of_constants():
    """Arrays, nests of lists, SymPy's arrays, mappings with numbers or labels: all the same."""
    a = lie.algebra(lie.so3.structure, "x y z", "rotations")
    assert a == lie.algebra(lie.so3.structure.tolist(), ["x", "y", "z"], "rotations")
    assert a == lie.algebra(sp.Array(lie.so3.structure.astype(int).tolist()), "x y z", "rotations")
    for brackets in (
        {(0, 1): {2: 1}, (1, 2): {0: 1}, (2, 0): {1: 1}},
        {("x", "y"): {"z": 1}, ("y", "z"): {"x": 1}, ("x", "z"): {"y": -1}},
        {("x", 1): {2: 1}, ("z", "y"): {0: -1}, (2, 0): {"y": 1}},
        {(0, 1): {2: 1}, (1, 0): {2: -1}, (1, 2): {0: 1, 1: 0}, (2, 0): {1: 1}},
    ):
        assert lie.algebra(brackets, "x y z", "rotations") == a


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (5, r"three indices(.|\n)*shape \(\)"),
        ([[1, 2], [3]], "three indices"),
        (np.zeros((2, 2)), r"shape \(2, 2\)"),
        (np.zeros((2, 3, 2)), r"shape \(2, 3, 2\)"),
        (np.zeros((0, 0, 0)), "three indices"),
        ({0: {1: 1}}, "two elements"),
        ({(0, 1, 2): 1}, "two elements"),
        ({(0, 1): 2}, "cannot be read"),
        ({("a", "b"): {"c": 1}}, 'labels="x y z"'),
        ({}, "need names"),
    ],
)
def test_what_cannot_be_read_is_refused(wrong, match):
    with pytest.raises(InputError, match=match):
        lie.algebra(wrong)


def test_labels_that_are_not_there_are_refused():
    with pytest.raises(UnknownName, match="no element of the basis called 'z'"):
        lie.algebra({("x", "y"): {"z": 1}}, "x y")
    with pytest.raises(UnknownName, match="called -1"):
        lie.algebra({(0, 1): {-1: 1}}, "x y")
    with pytest.raises(InputError, match=r"twice(.|\n)*\[0, y\] again"):
        lie.algebra({("x", "y"): {"x": 1}, (0, "y"): {"y": 1}}, "x y")
    with pytest.raises(InputError, match="2 labels"):
        lie.algebra(np.zeros((2, 2, 2)), "x")
    for labels, wrong in (("x x", "different names"), (["x", 3], "a label is no text")):
        with pytest.raises(InputError, match=wrong):
            lie.algebra(np.zeros((2, 2, 2)), labels)


@pytest.mark.parametrize("wrong", [(0, 1, 2), (0, 1, 3, 1), (0, 1, -1, 1), (0, 1, "z", 1), 3])
def test_terms_that_cannot_be_read_are_refused(wrong):
    with pytest.raises(InputError, match=r"given as \(i, j, k, c\)"):
        lie.Algebra(("x", "y", "z"), (wrong,))
    with pytest.raises(InputError, match="once"):
        lie.Algebra(("x", "y"), ((0, 1, 1, 1), (1, 0, 1, -1), (0, 1, 1, 1)))


def test_many_dimensions_are_quick():
    """so(8), whose 28 dimensions have 20 000 entries, from its matrices."""
    pairs = [(i, j) for i in range(8) for j in range(i)]
    place = {pair: n for n, pair in enumerate(pairs)}

    def unit(i, j):
        m = np.zeros((8, 8), dtype=int)
        m[i, j], m[j, i] = 1, -1
        return m

    brackets = {}
    for a in pairs:
        for b in pairs[: place[a]]:
            m = unit(*a) @ unit(*b) - unit(*b) @ unit(*a)
            row = {place[p]: int(m[p]) for p in pairs if m[p]}
            if row:
                brackets[place[a], place[b]] = row
    so8 = lie.algebra(brackets)
    assert so8.dimension == 28
    assert np.array_equal(so8.killing(), -12 * np.eye(28))
