"""Compositions: their coefficients with all digits, and what they inherit."""

from itertools import product

import mpmath as mp
import numpy as np
import pytest

import taut
from taut.methods.composition import BEST, SCHEMES, Composition, fractions
from taut.methods.tableaux import DIGITS

x, y = taut.coordinates("x y")
PENDULUM = taut.System([x, y], mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1])
START = {"q0": [0.6, -0.8], "v0": [0.8, 0.6]}
# Σ |γᵢ| as published by Hairer, Lubich & Wanner (V.3.2), two digits.
SIZES = {"67": 5.71, "69": 3.83, "815": 6.53, "817": 5.35, "1033": 8.89, "1034": 6.79}


def of_order(scheme: str) -> int:
    return next(order for order in BEST if scheme.startswith(str(order)))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_order_conditions(scheme):
    """Palindrome, Σ γ = 1 and Σ γᵏ = 0 for the odd k below the order, with all digits."""
    order = of_order(scheme)
    with mp.workdps(DIGITS):
        gamma = fractions(scheme)
        assert gamma == gamma[::-1]
        digits = mp.mpf(10) ** (-55 if order == 4 else -24)
        assert abs(sum(gamma) - 1) < digits
        for k in range(3, order, 2):
            assert abs(sum(g**k for g in gamma)) < digits


@pytest.mark.parametrize("scheme", SIZES)
def test_sizes_as_published(scheme):
    assert float(sum(abs(g) for g in fractions(scheme))) == pytest.approx(SIZES[scheme], abs=0.006)


@pytest.mark.parametrize("order", BEST)
def test_the_default_has_the_smallest_coefficients(order):
    sizes = {s: sum(abs(g) for g in fractions(s)) for s in SCHEMES if of_order(s) == order}
    assert BEST[order] == min(sizes, key=sizes.__getitem__)
    assert Composition(order=order).scheme == BEST[order]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_has_its_order(scheme):
    """On a pendulum, against the elliptic functions' stand-in: Gauss–Lobatto of order 12."""
    order = of_order(scheme)
    exact = taut.simulate(
        PENDULUM, **START, duration=1, step=1 / 64, method=taut.GaussLobatto(6)
    ).q[-1]
    counts = {4: (24, 48), 6: (12, 20), 8: (8, 12), 10: (7, 9)}[order]
    errors = []
    for count in counts:
        method = Composition("rattle", order=order, scheme=scheme)
        run = taut.simulate(PENDULUM, **START, duration=1, step=1 / count, method=method)
        errors.append(np.abs(run.q[-1] - exact).max())
    assert errors[1] > 3e-14  # above round-off
    slope = np.log(errors[0] / errors[1]) / np.log(counts[1] / counts[0])
    assert slope == pytest.approx(order, abs=0.15 * order)


@pytest.mark.parametrize(
    "base", ["time-element", "symplectic-rk", "lobatto-4", "time-element-independent"]
)
def test_any_symmetric_base(base):
    """The parts of a step are steps of the base: one after the other they give the same state."""
    method = Composition(base, order=6)
    run = taut.simulate(PENDULUM, **START, duration=0.2, step=0.1, method=method)
    q, p = np.array(START["q0"]), np.array(START["v0"])
    for share in 2 * method.substeps:
        # A negative step is a positive one with the motion turned round.
        sign = np.sign(share)
        part = taut.simulate(
            PENDULUM, q0=q, p0=sign * p, duration=0.1 * abs(share), step=0.1 * abs(share),
            method=base,
        )  # fmt: skip
        q, p = part.q[-1], sign * part.p[-1]
    assert np.abs(run.q[-1] - q).max() < 1e-13
    assert np.abs(run.p[-1] - p).max() < 1e-13
    assert np.abs(run.v[-1] - p).max() < 1e-13  # the masses are 1


def test_a_composition_of_a_composition():
    inner = Composition("rattle", order=4, scheme="43")
    method = Composition(inner, order=6)
    assert len(method.substeps) == 27
    assert sum(method.substeps) == pytest.approx(1, abs=1e-14)
    assert method.whole == taut.Rattle()
    outer, own = Composition(order=6).substeps, inner.substeps
    assert method.substeps == tuple(a * b for a, b in product(outer, own))
    facts = taut.simulate(
        PENDULUM, **START, duration=20, step=0.1, method=method
    ).certificate.to_dict()
    assert facts["max_g"] < 1e-15
    assert facts["symplecticity"] < 1e-13


def test_times_of_the_parts():
    """A force that depends on time is seen at the times of the parts: order 4 survives."""
    driven = taut.System([x], mass=[1], potential=x**2 / 2 - x * taut.t**3)
    exact = taut.simulate(driven, q0=[1], v0=0, duration=1, step=0.01, method="gauss-lobatto-8")
    errors = [
        abs(taut.simulate(driven, q0=[1], v0=0, duration=1, step=h, method="composition-4").q[-1]
            - exact.q[-1])[0]
        for h in (0.1, 0.05)
    ]  # fmt: skip
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4, abs=0.1)


def test_the_balance_is_of_order_4_over_whole_steps():
    """The load's power at the ends of whole steps, not of their parts, is summed to order 4.

    Methods of a higher order, or of more accurate steps, have left the same of the balance.
    """
    driven = taut.System([x], mass=[1], potential=x**2 / 2 - x * taut.t**3)
    bands = {
        name: [
            taut.simulate(driven, q0=[1], v0=0, duration=2, step=h, method=name)
            .certificate.energy.band
            for h in (0.02, 0.01)
        ]
        for name in ("composition-4", "gauss-lobatto-6")
    }  # fmt: skip
    coarse, fine = bands["composition-4"]
    assert np.log2(coarse / fine) == pytest.approx(4, abs=0.1)
    assert bands["composition-4"] == pytest.approx(bands["gauss-lobatto-6"], rel=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base": "symplectic-euler"}, "cannot be composed"),
        ({"base": "gauss-lobatto-4"}, "cannot be composed to order 4"),
        ({"base": "energy-momentum"}, "cannot be composed"),  # p is not tangent
        ({"base": taut.PreciseElement()}, "cannot be composed"),  # tables of one step size
        ({"base": taut.Adaptive(scale=x)}, "cannot be composed"),
        ({"order": 5}, "order of a composition"),
        ({"order": 6, "scheme": "815"}, "scheme of order 6"),
        ({"base": "rattel"}, "rattel"),
        ({"base": 3}, "neither a name nor a method"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(taut.InputError, match=message):
        Composition(**options)


def test_labels_and_keys():
    method = Composition("rattle", order=8)
    assert method.label == "composition-8"
    assert Composition("rattle", order=4, scheme="43").label == "composition-4 (scheme 43)"
    other = Composition("time-element", order=6)
    assert other.label == "composition-6 of time-element"
    assert method.key == "composition(order=8, base=Rattle(), scheme='817')"
    assert method == Composition(taut.Rattle(), order=8, scheme="817")
