"""One table over the whole catalogue: every claim of every method, measured; and its negative.

A method that claims a property must show it; one that does not claim it must visibly lack it, so
that no row can pass by accident.  Orders are measured on a nonlinear problem (mass matrix that
depends on q, transcendental potential, curved constraint; a constant mass for methods that need it)
against a reference from another road: the same Lagrangian in two angles, derived by SymPy,
integrated by DOP853 to 1e−13.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import taut
from taut.methods import CATALOGUE

METHODS = pytest.mark.parametrize("name", sorted(CATALOGUE))
DURATION = 1.0
STEPS = (0.04, 0.02, 0.01, 0.005, 0.0025)
# Steps at higher orders.
COUNTS = {4: (10, 16, 20, 32, 40), 6: (8, 10, 12, 16), 8: (8, 9, 10, 11), 10: (7, 8, 9, 10)}
# Duration and numbers of steps where those of the order do not show the limit.  The eighth order of
# DOP853 is approached from above until round-off comes: hence the room above it.
SETTINGS = {
    "rk4": (1.0, (32, 40, 50, 64, 80)),
    "projected-rk4": (1.0, (32, 40, 50, 64, 80)),
    "baumgarte": (1.0, (32, 40, 50, 64, 80)),
    "dopri5": (1.5, (48, 60, 75, 96)),
    "ggl": (1.0, (10, 12, 16, 20, 24, 32)),
    "dop853": (1.5, (16, 18, 20, 21)),
    "projected-dop853": (1.5, (15, 16, 17, 18)),
}
ROOM = {"dop853": 0.2, "projected-dop853": 0.4}  # the leading terms of its errors are small
COARSE = 0.2  # a step at which the errors of the higher orders can be seen


def settings_of(name: str) -> tuple[float, tuple[float, ...]]:
    """A duration, and step sizes at which the errors are well above round-off."""
    if name in SETTINGS:
        duration, counts = SETTINGS[name]
        return duration, tuple(duration / n for n in counts)
    counts = COUNTS.get(CATALOGUE[name].order)
    if not CATALOGUE[name].keeps_hidden:  # the normal part of p alternates: even numbers of steps
        counts = (20, 40, 80, 160, 320)
    return DURATION, STEPS if counts is None else tuple(DURATION / n for n in counts)


def comparator(name: str) -> bool:
    """A method of higher order that is not symplectic: its defects need larger steps to be seen."""
    return not CATALOGUE[name].symplectic and CATALOGUE[name].order > 2


x, y, z = Q = taut.coordinates("x y z")
MASS = sp.Matrix(
    [[2 + x**2, x * y / 4, 0], [x * y / 4, 1 + y**2, sp.sin(z) / 3], [0, sp.sin(z) / 3, 1.5]]
)
POTENTIAL = z + sp.cos(x)
START, VELOCITY = (0.6, 0.0, 0.8), (0.0, 1.0, 0.0)


def curved_of(name) -> taut.System:
    """A point on the unit sphere, with a q-dependent mass."""
    return taut.System(
        Q, mass=MASS.tolist(), potential=POTENTIAL, constraints=[x**2 + y**2 + z**2 - 1]
    )


@pytest.fixture
def curved(name) -> taut.System:
    return curved_of(name)


@pytest.fixture
def reference(name):
    return known()


@cache
def known():
    """Duration → (q, p) at the end, from the Lagrangian in angles (SymPy) and DOP853."""
    a, b, da, db = sp.symbols("a b da db", real=True)
    place = sp.Matrix([sp.sin(a) * sp.cos(b), sp.sin(a) * sp.sin(b), sp.cos(a)])
    table = dict(zip(Q, place, strict=True))
    velocity = place.jacobian([a, b]) * sp.Matrix([da, db])
    mass = MASS.subs(table)
    lagrangian = (velocity.T * mass * velocity)[0] / 2 - POTENTIAL.subs(table)
    angles, rates = sp.Matrix([a, b]), sp.Matrix([da, db])
    momenta = sp.Matrix([lagrangian.diff(r) for r in rates])
    hessian = momenta.jacobian(rates)
    right = sp.Matrix([lagrangian.diff(s) for s in angles]) - momenta.jacobian(angles) * rates
    evaluate = sp.lambdify((a, b, da, db), (hessian, right), modules="numpy", cse=True)

    def slope(_, u):
        h, r = evaluate(*u)
        return [*u[2:], *np.linalg.solve(np.array(h, float), np.array(r, float).ravel())]

    begin = [np.arccos(0.8), 0.0, 0.0, 1.0 / 0.6]

    @cache
    def ended(duration: float) -> tuple[np.ndarray, np.ndarray]:
        found = solve_ivp(slope, (0, duration), begin, method="DOP853", rtol=1e-13, atol=1e-13)
        values = dict(zip((a, b, da, db), found.y[:, -1], strict=True))
        q = np.array(place.subs(values), dtype=float).ravel()
        v = np.array(velocity.subs(values), dtype=float).ravel()
        m = np.array(MASS.subs(dict(zip(Q, q, strict=True))), dtype=float)
        return q, m @ v

    return ended


@cache
def sharp() -> tuple[np.ndarray, np.ndarray]:
    """The same to round-off, for the highest orders: Gauss–Lobatto of order 12 in tiny steps."""
    curved = taut.System(
        Q, mass=MASS.tolist(), potential=POTENTIAL, constraints=[x**2 + y**2 + z**2 - 1]
    )
    run = taut.simulate(
        curved, q0=START, v0=VELOCITY, duration=DURATION, step=1 / 32, method=taut.GaussLobatto(6)
    )
    for found, exact in zip((run.q[-1], run.p[-1]), known()(DURATION), strict=True):
        assert np.abs(found - exact).max() < 3e-13
    return run.q[-1], run.p[-1]


def slope_of(steps, errors: np.ndarray, floor: float) -> tuple[float, float]:
    """Least-squares order and correlation, over points above the round-off floor."""
    assert np.all(errors > floor), "round-off has been reached: choose larger steps"
    logs = np.log(np.array(steps)), np.log(errors)
    return float(np.polyfit(*logs, 1)[0]), float(np.corrcoef(*logs)[0, 1])


@cache
def ends(name) -> list[dict[str, np.ndarray]]:
    """Where runs of all steps end."""
    duration, steps = settings_of(name)
    given = {"q0": START, "v0": VELOCITY, "duration": duration, "method": name}
    runs = [taut.simulate(curved_of(name), **given, step=step) for step in steps]
    return [{"q": run.q[-1], "p": run.p[-1]} for run in runs]


@METHODS
@pytest.mark.parametrize("part", ["q", "p"])
def test_order(name, part, reference):
    duration, steps = settings_of(name)
    high = CATALOGUE[name].order > 8
    exact = dict(zip("qp", sharp() if high else reference(duration), strict=True))[part]
    errors = [np.abs(end[part] - exact).max() for end in ends(name)]
    order, correlation = slope_of(steps, np.array(errors), 3e-15 if high else 2e-13)
    claimed = CATALOGUE[name].order
    assert claimed - 0.1 < order < claimed + ROOM.get(name, 0.2 if high else 0.1)
    assert correlation > 0.999


@METHODS
def test_constraints(name, curved):
    step = COARSE if comparator(name) else 0.01
    facts = taut.simulate(
        curved, q0=START, v0=VELOCITY, duration=20, step=step, method=name
    ).certificate.to_dict()
    if CATALOGUE[name].keeps_constraints:
        assert facts["max_g"] < 2e-15
    else:
        assert facts["max_g"] > (1e-4 if CATALOGUE[name].order < 8 else 1e-5)
    if CATALOGUE[name].keeps_constraints and CATALOGUE[name].keeps_hidden:
        assert facts["max_hidden"] < 1e-14
    else:
        assert facts["max_hidden"] > 1e-6


@METHODS
def test_symplecticity(name, curved):
    """The defect of the compiled step on the manifold, for two step sizes."""
    steps = (COARSE, COARSE / 2) if comparator(name) else (0.02, 0.01)
    defects = []
    for step in steps:
        run = taut.simulate(curved, q0=START, v0=VELOCITY, duration=2, step=step, method=name)
        defect = run.certificate.symplecticity
        if CATALOGUE[name].symplectic:
            assert defect < 1e-13
        elif comparator(name):
            assert run.certificate.symplectic is False
            assert defect > 1e-9
        else:
            assert defect > 1e-3 * step**2
        defects.append(defect)
    if comparator(name):  # an error of the method, not of the measurement, which would not fall
        # With momenta in √(m/h), what is off by hᵖ⁺¹ in their block counts as hᵖ.
        assert np.log2(defects[0] / defects[1]) > CATALOGUE[name].order - 0.1


@METHODS
def test_reversal(name, curved):
    """There and back: exact for symmetric methods, off by the error of the method for others."""
    order, symmetric = CATALOGUE[name].order, CATALOGUE[name].symmetric
    step = 0.02 if symmetric or order == 1 else COARSE
    out = taut.simulate(curved, q0=START, v0=VELOCITY, duration=2, step=step, method=name)
    back = taut.simulate(
        curved, q0=out.q[-1], p0=-out.p[-1], duration=2, step=step, method=name,
        project=not CATALOGUE[name].keeps_constraints,
    )  # fmt: skip
    gap = max(np.abs(back.q[-1] - out.q[0]).max(), np.abs(back.p[-1] + out.p[0]).max())
    if symmetric:
        assert gap < 1e-12
    else:
        assert gap > (1e-4 if order < 8 else 5e-7)


@METHODS
def test_energy_band(name, curved):
    """The band shrinks as h^order, or is round-off; that it grows is for `test_drift` to see."""
    order = CATALOGUE[name].order
    steps = (0.02, 0.01) if order <= 2 else (0.05, 0.025) if comparator(name) else (0.1, 0.05)
    bands = [
        taut.simulate(
            curved, q0=START, v0=VELOCITY, duration=10, step=h, method=name
        ).certificate.energy.band
        for h in steps
    ]
    if CATALOGUE[name].keeps_energy:
        assert max(bands) < 2e-14
        return
    rate = np.log2(bands[0] / bands[1])
    if CATALOGUE[name].symplectic:
        assert rate == pytest.approx(order, abs=0.1 if order <= 2 else 0.1 * order)
    elif order == 1:
        assert 0.5 < rate < 1.5
    else:
        assert rate == pytest.approx(order, abs=0.1 if order <= 2 else 0.2 * order)


@pytest.fixture
def spherical(name) -> taut.System:
    return taut.System(Q, mass=[1, 1, 1], potential=z, constraints=[x**2 + y**2 + z**2 - 1])


@METHODS
def test_drift(name, spherical):
    """10⁶ steps: no drift for methods that should have none, a significant one for the others."""
    symplectic, keeps = CATALOGUE[name].symplectic, CATALOGUE[name].keeps_energy
    steps = 10**6 if symplectic or keeps else 20_000
    step = 0.3 if comparator(name) else 0.03
    # ZG's example 2: near the bottom, where the comparators live long enough to show their drift.
    run = taut.simulate(
        spherical, q0=(0.0, np.sin(0.1), -np.cos(0.1)), v0=(0.06, 0.0, 0.0),
        duration=steps * step, step=step, every=steps, method=name,
    )  # fmt: skip
    drift = run.certificate.energy
    if keeps:
        assert drift.band < 1e-14
        assert not run.certificate.drifts
    elif symplectic and drift.band < 1e-14:  # a walk of roundings
        assert not run.certificate.drifts
    elif symplectic:
        assert abs(drift.relative) < 1e-3
        assert abs(drift.slope) <= drift.half_width
        assert drift.relative_half_width < 1e-2
    else:
        assert drift.significant
        assert abs(drift.relative) > (0.9 if comparator(name) else 0.3)


@pytest.mark.parametrize("name", ["gauss-lobatto-4", "gauss-lobatto-6", "lobatto-4", "lobatto-6"])
def test_the_step_at_which_the_others_drift_is_a_fair_one(name, spherical):
    """What is symplectic has no drift there, and a smaller error than others of its order."""
    run = taut.simulate(
        spherical, q0=(0.0, np.sin(0.1), -np.cos(0.1)), v0=(0.06, 0.0, 0.0),
        duration=20_000 * 0.3, step=0.3, every=20_000, method=name,
    )  # fmt: skip
    drift = run.certificate.energy
    assert abs(drift.relative) < 1e-3
    assert drift.relative_half_width < 1e-2
    assert drift.band < (2e-7 if CATALOGUE[name].order == 4 else 1e-10)


@METHODS
def test_momentum(name, spherical):
    """Angular momentum about the vertical, a quadratic invariant of the symmetry."""
    px, py, _ = spherical.momenta
    run = taut.simulate(
        spherical, q0=(0.6, 0.0, -0.8), v0=(0.0, 0.3, 0.0), duration=60,
        step=0.3 if comparator(name) else 0.03, method=name, laws={"L_z": x * py - y * px},
    )  # fmt: skip
    change = run.certificate.watched[0].largest_change
    if CATALOGUE[name].symplectic or CATALOGUE[name].keeps_energy or name == "symplectic-euler":
        assert change < 1e-13
    elif CATALOGUE[name].order < 8:
        assert change > 1e-6  # of the projection too: it has another symmetry than the step
    else:
        assert change > 1e-10


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [n for n, m in sorted(CATALOGUE.items()) if m.symplectic or m.keeps_energy],
)
def test_long_chaotic_run(name):
    """ZG's double pendulum, 10⁶ steps: constraints at round-off, energy free of drift."""
    x1, y1, x2, y2 = q = taut.coordinates("x1 y1 x2 y2")
    system = taut.System(
        q,
        mass=[1, 1, 2, 2],
        potential=-10 * y1 - 20 * y2,
        constraints=[x1**2 + y1**2 - 1, (x2 - x1) ** 2 + (y2 - y1) ** 2 - 1],
    )
    a = np.sqrt(0.5)
    step = 0.01 if CATALOGUE[name].order < 6 else 0.025  # so that the band is above round-off
    start = {"q0": [a, a, 0, 2 * a], "v0": 0, "every": 10**5}
    run = taut.simulate(system, **start, duration=10**6 * step, step=step, method=name)
    facts = run.certificate.to_dict()
    assert facts["steps"] == 10**6
    assert facts["max_g"] < 5e-15
    assert facts["max_hidden"] < (1e-14 if CATALOGUE[name].keeps_hidden else 0.02)
    if CATALOGUE[name].keeps_energy:
        assert facts["energy_band"] < 1e-11
        return
    assert abs(facts["energy_drift"]) < 1e-3
    assert abs(facts["energy_slope"]) <= facts["energy_slope_half_width"]
