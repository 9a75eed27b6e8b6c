"""SPARK: the twins, the tableaux that are refused, both back ends, and what is order two only."""

import itertools

import numpy as np
import pytest
import sympy as sp

import taut
import taut.kernel.compile as compile_room
from taut.kernel.compile import workshop
from taut.methods import CATALOGUE

x, y = Q = taut.coordinates("x y")
u, w = taut.velocities(Q)


@pytest.fixture
def curved():
    """A q-dependent mass on an ellipse: nothing is affine."""
    return taut.System(
        Q,
        mass=[[2 + x**2, x * y / 4], [x * y / 4, 1 + y**2]],
        potential=3 * y + sp.cos(x),
        constraints=[x**2 + 2 * y**2 - 1],
    )


START = {"q0": [1, 0], "v0": [0, 1.5]}


def test_two_lobatto_stages_are_rattle(curved):
    runs = [
        taut.simulate(curved, **START, duration=5, step=0.01, method=m)
        for m in (taut.LobattoPair(2), "rattle")
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=2e-13)
    np.testing.assert_allclose(runs[0].p, runs[1].p, atol=2e-13)


def test_one_gauss_stage_is_the_composition_with_the_midpoint_rule(curved):
    runs = [
        taut.simulate(curved, **START, duration=5, step=0.01, method=m)
        for m in (taut.GaussLobatto(1), taut.SymplecticRK("midpoint"), taut.SymplecticRK("gauss1"))
    ]
    for other in runs[1:]:
        np.testing.assert_allclose(runs[0].q, other.q, atol=2e-13)


def test_inner_methods_differ_where_the_mass_does(curved):
    """On p²/2 plus a linear potential they are one map (CQ's example hides the difference)."""
    flat = taut.System(Q, mass=[1, 1], potential=3 * y, constraints=[x**2 + 2 * y**2 - 1])
    for system, differ in ((flat, False), (curved, True)):
        one, two = (
            taut.simulate(system, **START, duration=1, step=0.05, method=taut.SymplecticRK(name))
            for name in ("midpoint", "gauss2")
        )
        gap = abs(one.q - two.q).max()
        assert gap > 1e-5 if differ else gap < 1e-13


def test_a_tableau_of_ones_own(curved):
    """The midpoint rule twice over half a step each, as one diagonally implicit tableau."""
    halves = ([[0.25, 0], [0.5, 0.25]], [0.5, 0.5])
    run = taut.simulate(curved, **START, duration=5, step=0.02, method=taut.SymplecticRK(halves))
    facts = run.certificate
    assert facts.symplectic
    assert facts.max_g < 2e-15
    assert taut.SymplecticRK(halves).symmetric
    assert taut.SymplecticRK(halves).key == taut.SymplecticRK(tuple(map(np.array, halves))).key
    assert hash(taut.SymplecticRK(halves)) == hash(taut.SymplecticRK(halves))


REFUSED = {
    "explicit Euler": ([[0]], [1]),
    "classical RK4": (
        [[0, 0, 0, 0], [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 1, 0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6],
    ),
    "the trapezoidal rule": ([[0, 0], [0.5, 0.5]], [0.5, 0.5]),
}  # fmt: skip


@pytest.mark.parametrize("tableau", REFUSED.values(), ids=REFUSED)
def test_tableaux_that_are_not_symplectic_are_refused(tableau):
    with pytest.raises(taut.InputError, match="not symplectic") as caught:
        taut.SymplecticRK(tableau)
    assert "defect of 0." in caught.value.received or "defect of 1" in caught.value.received


@pytest.mark.parametrize(
    "given", [3, ([1, 2], [1]), ([[1]], [1, 2]), ([[np.nan]], [1]), "gauss9", (1,)]
)
def test_what_is_no_tableau(given):
    with pytest.raises(taut.InputError):
        taut.SymplecticRK(given)


@pytest.mark.parametrize("family", [taut.GaussLobatto, taut.LobattoPair])
@pytest.mark.parametrize("stages", [0, 7, -1, 2.5, True, "2", None])
def test_stages_out_of_range(family, stages):
    with pytest.raises(taut.InputError, match="stages is out of range"):
        family(stages)


def test_weights_must_add_up():
    with pytest.raises(taut.InputError, match="do not add up"):
        taut.SymplecticRK(([[0.25]], [0.5]))


@pytest.mark.parametrize(
    "method", [taut.GaussLobatto(1), taut.GaussLobatto(3), taut.LobattoPair(3)]
)
def test_both_back_ends_make_the_same_steps(method, curved, monkeypatch):
    import taut.kernel.compile as room

    fused = taut.simulate(curved, **START, duration=1, step=0.05, method=method)
    monkeypatch.setattr(room, "FUSED_LIMIT", -1)
    assembled = taut.simulate(curved, **START, duration=1, step=0.05, method=method)
    np.testing.assert_allclose(fused.q, assembled.q, atol=1e-13)
    np.testing.assert_allclose(fused.p, assembled.p, atol=1e-12)


@pytest.mark.parametrize("name", ["gauss-lobatto-4", "gauss-lobatto-6", "lobatto-4", "lobatto-6"])
def test_order_with_forces_and_a_moving_constraint(name):
    """Forces and rheonomic constraints keep the order: errors against a fine run of order eight."""
    system = taut.System(
        Q,
        mass=[1, 2],
        potential=5 * y,
        constraints=[(x - sp.sin(taut.t) / 3) ** 2 + y**2 - 1],
        forces=[-u / 5, -w / 5 + sp.cos(3 * taut.t)],
    )
    start = {"q0": [1, 0], "v0": [1 / 3, 1], "duration": 1, "project": True}
    exact = taut.simulate(system, **start, step=1 / 80, method="gauss-lobatto-8")
    counts = (10, 14, 20) if CATALOGUE[name].order == 4 else (8, 10, 14)
    for part in ("q", "p"):
        errors = []
        for n in counts:
            run = taut.simulate(system, **start, step=1 / n, method=name)
            errors.append(abs(getattr(run, part)[-1] - getattr(exact, part)[-1]).max())
        slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
        assert slope == pytest.approx(CATALOGUE[name].order, abs=0.4)


def test_six_stages():
    """Order twelve: round-off from a step of a tenth."""
    pendulum = taut.System(Q, mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1])
    start = {"q0": [1, 0], "v0": 0, "duration": 2}
    coarse = taut.simulate(pendulum, **start, step=0.1, method=taut.GaussLobatto(6))
    fine = taut.simulate(pendulum, **start, step=0.02, method=taut.GaussLobatto(6))
    assert abs(coarse.q[-1] - fine.q[-1]).max() < 2e-11
    assert fine.certificate.max_g < 2e-15


def rods(n):
    q = taut.coordinates(" ".join(f"x{i} y{i}" for i in range(n)))
    points = [(0, 0), *zip(q[::2], q[1::2], strict=True)]
    lengths = [(a - c) ** 2 + (b - d) ** 2 - 1 for (a, b), (c, d) in itertools.pairwise(points)]
    return taut.System(q, mass=[1] * 2 * n, potential=10 * sum(q[1::2]), constraints=lengths)


def test_many_stages_of_many_rods_are_assembled(monkeypatch):
    """Unrolled, they would take too long to compile."""
    shop = workshop(rods(13))
    assert shop.unrolled(CATALOGUE["rattle"])
    assert shop.unrolled(CATALOGUE["gauss-lobatto-6"])
    assert not shop.unrolled(CATALOGUE["gauss-lobatto-8"])
    monkeypatch.setattr(compile_room, "STAGED_LIMIT", 0)  # fewer of both are sooner compiled
    system = rods(5)
    assert not workshop(system).unrolled(CATALOGUE["gauss-lobatto-6"])
    start = np.ravel([[i + 1.0, 0.0] for i in range(5)])
    batch = np.stack([start, start])
    given = {"v0": 0, "duration": 0.2, "step": 0.02, "method": "gauss-lobatto-6", "laws": None}
    run = taut.simulate(system, q0=batch, **given)
    assert run.certificate.max_g < 1e-13
    alone = taut.simulate(system, q0=start, **given)
    assert np.array_equal(run[1].q, alone.q)


@pytest.mark.parametrize(
    "tableau", [([[0.5]], [np.nan]), ([[0.5]], [[1.0]]), ([[0.5]], 1.0), ([[np.inf]], [1.0])]
)
def test_tableaux_that_are_none(tableau):
    with pytest.raises(taut.InputError, match="no tableau"):
        taut.SymplecticRK(tableau)


def test_a_tableau_that_is_not_symmetric():
    """Two midpoint rules one after the other, of unequal length: symplectic, not symmetric."""
    a = np.array([[0.15, 0.0], [0.3, 0.35]])
    method = taut.SymplecticRK((a, [0.3, 0.7]))
    assert not method.symmetric
    assert taut.SymplecticRK("gauss2").symmetric
