"""The discrete bracket (33): antisymmetry, the equations it makes, its rank, its Casimirs."""

from functools import cache

import numpy as np
import pytest
import sympy as sp

import taut
from taut import lie
from taut.errors import InputError

HEISENBERG = np.zeros((3, 3, 3))
HEISENBERG[0, 1, 2], HEISENBERG[1, 0, 2] = 1, -1
ALGEBRAS = {
    "abelian": lie.abelian(2), "so(3)": lie.so3, "se(2)": lie.se2, "se(3)": lie.se3,
    "given": lie.algebra(HEISENBERG),
}  # fmt: skip
algebras = pytest.mark.parametrize("algebra", ALGEBRAS.values(), ids=ALGEBRAS)
ENDS = [("free", "free"), ("clamped", "free"), ("clamped", "clamped"), "periodic"]


@cache
def line(algebra, nodes=5, ends=("free", "free"), **options):
    n = algebra.dimension
    gamma, mu = sp.symbols(f"g:{n}", real=True), sp.symbols(f"m:{n}", real=True)
    density = sum((k + 1) * x**2 for k, x in enumerate((*mu, *gamma))) / 2 + gamma[0] ** 4
    return taut.Field(
        algebra, density, strain=gamma, momentum=mu, length=1, nodes=nodes, ends=ends,
        reference=[0.3 * (k + 1) for k in range(n)], **options,
    )  # fmt: skip


def state(rng, field):
    shapes = (len(field.middles), field.size), (field.nodes, field.size)
    strain, momentum = (0.5 * rng.normal(size=x) for x in shapes)
    for end, node in zip(field.ends, (0, -1), strict=True):
        if end == "clamped":
            momentum[node] = 0.0
    return strain, momentum


def slopes(field, strain, momentum):
    """(h_γ, h_μ) of the density of `line`."""
    n = field.size
    stress = strain * (n + 1 + np.arange(n))
    stress[:, 0] += 4 * strain[:, 0] ** 3
    return stress, momentum * (1 + np.arange(n))


@algebras
@pytest.mark.parametrize("ends", ENDS, ids=str)
@pytest.mark.parametrize("cells", ["half", "full"])
def test_it_is_antisymmetric(rng, algebra, ends, cells):
    field = line(algebra, ends=ends, cells=cells)
    bracket = field.bracket(*state(rng, field))
    assert bracket.antisymmetry < 1e-15
    f, g = (state(rng, field) for _ in range(2))
    assert bracket.of(f, g) == pytest.approx(-bracket.of(g, f), rel=1e-12)
    assert abs(bracket.of(f, g)) > 1e-3
    assert bracket.of(f, f) == pytest.approx(0, abs=1e-12)


@algebras
def test_as_printed_it_is_not(rng, algebra):
    field = line(algebra)
    z = state(rng, field)
    assert field.bracket(*z, printed=True).antisymmetry > 0.1
    with pytest.raises(InputError, match=r"\(33\) is printed for free ends"):
        line(algebra, ends="periodic").bracket(printed=True)


@algebras
@pytest.mark.parametrize("ends", ENDS, ids=str)
def test_it_makes_the_equations_that_are_solved(rng, algebra, ends):
    """ż = {z, H} is what the scheme does in short steps."""
    field = line(algebra, ends=ends)
    strain, momentum = state(rng, field)
    h = 1e-5
    run = taut.simulate(
        field, strain0=strain, momentum0=momentum, duration=2 * h, step=h, method="poisson"
    )
    now = run.strain[1], run.momentum[1]
    bracket = field.bracket(*now)
    weights = np.repeat(
        np.r_[np.full(len(field.middles), field.spacing), field.weights], field.size
    )
    gradient = np.r_[tuple(x.ravel() for x in slopes(field, *now))] * weights
    rates = bracket.matrix @ gradient
    found = np.r_[
        (run.strain[2] - run.strain[0]).ravel(), (run.momentum[2] - run.momentum[0]).ravel()
    ] / (2 * h)
    np.testing.assert_allclose(rates, found, rtol=0, atol=1e-6 * np.abs(found).max())


def test_rank_and_jacobi(rng):
    """Of an abelian algebra they are those of a Poisson bracket."""
    field = line(ALGEBRAS["abelian"])
    bracket = field.bracket(*state(rng, field))
    assert bracket.corank == 2  # the total momentum
    assert bracket.jacobi == 0
    assert line(ALGEBRAS["abelian"], ends=("clamped", "free")).bracket().corank == 0
    assert line(ALGEBRAS["abelian"], ends="periodic").bracket().corank == 4  # and the total strain
    turning = line(lie.so3, nodes=3)
    assert turning.bracket(*state(rng, turning)).jacobi > 1e-4


def poses(group, field, strain):
    """The product of Cayley maps from node 0 on."""
    cay = group.cay_ad if group is lie.SE3 else group.cay
    found = [np.eye(4 if group is lie.SE3 else 3)]
    for chi in field.reference + strain:
        found.append(found[-1] @ cay(field.spacing * chi))
    return found


def test_casimirs_are_those_of_the_momentum_in_space(rng):
    field = line(lie.so3)
    strain, momentum = state(rng, field)
    total = sum(
        w * r @ m
        for w, r, m in zip(field.weights, poses(lie.SO3, field, strain), momentum, strict=True)
    )
    (found,) = field.bracket(strain, momentum).casimirs()
    assert found.name == "|M|²"
    assert found.value == pytest.approx(total @ total, rel=1e-12)
    field = line(lie.se3)
    strain, momentum = state(rng, field)
    total = sum(
        w * lie.SE3.adjoint(lie.SE3.inverse(g)).T @ m
        for w, g, m in zip(field.weights, poses(lie.SE3, field, strain), momentum, strict=True)
    )
    square, pitch = field.bracket(strain, momentum).casimirs()
    assert (square.name, pitch.name) == ("|P|²", "P·L")
    assert square.value == pytest.approx(total[3:] @ total[3:], rel=1e-12)
    assert pitch.value == pytest.approx(total[3:] @ total[:3], rel=1e-12)
    field = line(ALGEBRAS["abelian"])
    strain, momentum = state(rng, field)
    found = field.bracket(strain, momentum).casimirs()
    assert [c.name for c in found] == ["M1", "M2"]
    np.testing.assert_allclose([c.value for c in found], field.weights @ momentum, rtol=1e-12)
    assert max(c.defect for c in found) < 1e-10


@pytest.mark.parametrize("algebra", [lie.so3, lie.se2], ids=["so(3)", "se(2)"])
def test_casimirs_hold_in_the_limit(algebra):
    """Of smooth states: the finer the grid, the better."""
    defects = []
    for nodes in (5, 9, 17):
        field = line(algebra, nodes=nodes)
        waves = np.arange(1, algebra.dimension + 1)
        bracket = field.bracket(
            np.sin(np.outer(field.middles, waves)), np.cos(np.outer(field.places, waves))
        )
        defects.append(max(c.defect for c in bracket.casimirs()))
    assert defects[0] > 2 * defects[1] > 4 * defects[2] > 0


def test_where_there_are_none():
    assert line(lie.so3, ends=("clamped", "free")).bracket().casimirs() == []
    assert line(lie.so3, ends="periodic").bracket().casimirs() == []
    assert line(ALGEBRAS["given"]).bracket().casimirs() == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("bent", None), "the strain cannot be read"),
        ((np.zeros((3, 3)), None), "the strain does not fit the field"),
        ((None, np.full((5, 3), np.nan)), "the momentum does not fit the field"),
        ((None, 1j * np.ones((5, 3))), "the momentum cannot be read"),
    ],
)
def test_states_that_cannot_be(given, message):
    with pytest.raises(InputError, match=message):
        line(lie.so3).bracket(*given)
