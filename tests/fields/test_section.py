"""Cross-sections: areas and moments by counting, torsion and shear by what is tabulated."""

import numpy as np
import pytest

import taut
from taut.errors import InputError, UnknownName

# (section, inside(x₁, x₃), half of the side of a square around it)
SHAPES = {
    "rectangle": (taut.Rectangle(0.4, 0.7), lambda x, z: (abs(x) < 0.2) & (abs(z) < 0.35), 0.5),
    "square": (taut.Square(0.6), lambda x, z: (abs(x) < 0.3) & (abs(z) < 0.3), 0.5),
    "circle": (taut.Circle(0.45), lambda x, z: x**2 + z**2 < 0.45**2, 0.5),
    "tube": (taut.Tube(0.45, 0.3), lambda x, z: (x**2 + z**2 > 0.09) & (x**2 + z**2 < 0.2025), 0.5),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_area_and_moments_are_integrals(name):
    section, inside, half = SHAPES[name]
    x = (np.arange(800) + 0.5) / 400 * half - half
    x, z = np.meshgrid(x, x)
    cell = np.where(inside(x, z), (half / 400) ** 2, 0.0)
    assert section.area == pytest.approx(cell.sum(), rel=3e-3)
    assert section.moments[0] == pytest.approx((cell * z**2).sum(), rel=4e-3)
    assert section.moments[1] == pytest.approx((cell * x**2).sum(), rel=4e-3)
    assert section.twist() == sum(section.moments)


def test_matrices_per_length():
    """Bending about axis 1 is resisted by the height along axis 3."""
    section = taut.Rectangle(0.2, 0.3, shear=(0.8, 0.9), torsion=0.01)
    one, three = 0.2 * 0.3**3 / 12, 0.3 * 0.2**3 / 12
    assert section.moments == pytest.approx((one, three), rel=1e-15)
    inertia = 7 * np.diag([one, one + three, three, 0.06, 0.06, 0.06])
    np.testing.assert_allclose(section.inertia(7), inertia, rtol=0, atol=1e-17)
    wanted = np.diag([5 * one, 2 * 0.01, 5 * three, 0.8 * 2 * 0.06, 5 * 0.06, 0.9 * 2 * 0.06])
    np.testing.assert_allclose(section.stiffness(5, 2), wanted, rtol=0, atol=1e-16)


def test_a_square_of_the_paper():
    """CS: D1 = ρ diag(I, 2I, I, A, A, A), D2 = diag(EI, GJ, EI, GA, EA, GA), J = 2I."""
    square, a, shear = taut.Square(0.1), 0.1, 1e7 / 2.7
    i = a**4 / 12
    wanted = 1000 * np.diag([i, 2 * i, i, a**2, a**2, a**2])
    np.testing.assert_allclose(square.inertia(1000), wanted, rtol=0, atol=1e-15)
    wanted = np.diag([1e7 * i, 2 * shear * i, 1e7 * i, shear * a**2, 1e7 * a**2, shear * a**2])
    np.testing.assert_allclose(square.stiffness(1e7, shear), wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("ratio", "wanted"), [(1, 0.1406), (1.5, 0.1958), (2, 0.2287), (3, 0.2633), (10, 0.3123)]
)
def test_torsion_of_rectangles(ratio, wanted):
    """Timoshenko & Goodier, table in §109: J = k a b³, a the longer side."""
    b = 0.3
    for sides in ((ratio * b, b), (b, ratio * b)):
        found = taut.Rectangle(*sides, torsion="saint-venant").twist()
        assert found / (ratio * b**4) == pytest.approx(wanted, abs=6e-5)


def test_torsion_of_a_square_to_more_digits():
    assert taut.Square(2, torsion="saint-venant").twist() == pytest.approx(
        16 * 0.1405770149, rel=2e-7
    )


def test_torsion_of_a_thin_strip():
    found = taut.Rectangle(1000, 1, torsion="saint-venant").twist()
    assert found == pytest.approx(1000 / 3 - 0.2100, abs=1e-3)


def test_torsion_of_round_sections_is_polar():
    assert taut.Circle(0.5, torsion="saint-venant").twist() == pytest.approx(np.pi / 2 * 0.5**4)
    assert taut.Tube(0.5, 0.4, torsion="saint-venant").twist() == taut.Tube(0.5, 0.4).twist()


def test_cowpers_factors():
    """5/6 and 6/7 at ν = 0; a thin tube has 2(1 + ν)/(4 + 3ν)."""
    assert taut.Square(1, shear="cowper").factors(0)[0] == pytest.approx(5 / 6)
    assert taut.Rectangle(1, 2, shear="cowper").factors(0.3)[1] == pytest.approx(13 / 15.3)
    assert taut.Circle(1, shear="cowper").factors(0)[0] == pytest.approx(6 / 7)
    assert taut.Circle(1, shear="cowper").factors(0.3)[0] == pytest.approx(7.8 / 8.8)
    assert taut.Tube(1, 0.9999, shear="cowper").factors(0.3)[0] == pytest.approx(
        2.6 / 4.9, rel=1e-4
    )


def test_cowpers_factors_know_the_material():
    shear = 1.0 / 2.6
    stiff = taut.Square(1, shear="cowper").stiffness(1.0, shear)
    assert stiff[3, 3] == stiff[5, 5] == pytest.approx(13 / 15.3 * shear)


def test_a_circle_is_a_tube_without_a_hole():
    for name in ("area", "moments"):
        assert getattr(taut.Circle(0.3), name) == getattr(taut.Tube(0.3, 0), name)


def test_how_sections_are_shown():
    assert repr(taut.Square(0.1)) == "Square(0.1)"
    assert repr(taut.Circle(0.1, shear="cowper")) == "Circle(0.1, shear='cowper')"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: taut.Square(0), "the section's width is not positive"),
        (lambda: taut.Square(-1), "the section's width is not positive"),
        (lambda: taut.Rectangle(1, np.nan), "the section's height is not finite"),
        (lambda: taut.Rectangle("a", 1), "the section's width is not a number"),
        (lambda: taut.Circle(-1), "the section's outer radius is not positive"),
        (lambda: taut.Tube(1, 1), "a tube needs a wall"),
        (lambda: taut.Tube(1, -0.1), "a tube needs a wall"),
        (lambda: taut.Square(1, shear=0), "a shear factor is not positive"),
        (lambda: taut.Square(1, shear=(1, 2, 3)), "the shear factors cannot be read"),
        (lambda: taut.Square(1, torsion=-2), "the torsion constant is not positive"),
    ],
)  # fmt: skip
def test_sections_that_cannot_be(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_names_that_are_not_there():
    with pytest.raises(UnknownName, match="no shear factor called 'cowpers'"):
        taut.Square(1, shear="cowpers")
    with pytest.raises(UnknownName, match="no torsion constant called 'exact'"):
        taut.Circle(1, torsion="exact")


def test_sections_do_not_change():
    with pytest.raises(AttributeError):
        taut.Square(1).width = 2  # type: ignore[misc]
