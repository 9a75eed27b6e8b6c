"""One table over the whole catalogue: every claim of every method, measured; and its negative.

A method that claims a property must show it; one that does not claim it must visibly lack it, so
that no row can pass by accident.  Orders are measured on a nonlinear problem (mass matrix that
depends on q, transcendental potential, curved constraint) against a reference from another road:
the same Lagrangian in two angles, derived by SymPy, integrated by DOP853 to 1e−13.
"""

from __future__ import annotations

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


def steps_of(name: str) -> tuple[float, ...]:
    """Step sizes at which the errors are well above round-off."""
    counts = COUNTS.get(CATALOGUE[name].order)
    return STEPS if counts is None else tuple(DURATION / n for n in counts)


x, y, z = Q = taut.coordinates("x y z")
MASS = sp.Matrix(
    [[2 + x**2, x * y / 4, 0], [x * y / 4, 1 + y**2, sp.sin(z) / 3], [0, sp.sin(z) / 3, 1.5]]
)
POTENTIAL = z + sp.cos(x)
START, VELOCITY = (0.6, 0.0, 0.8), (0.0, 1.0, 0.0)


@pytest.fixture(scope="module")
def curved() -> taut.System:
    """A point with q-dependent mass on the unit sphere."""
    return taut.System(
        Q, mass=MASS.tolist(), potential=POTENTIAL, constraints=[x**2 + y**2 + z**2 - 1]
    )


@pytest.fixture(scope="module")
def reference() -> tuple[np.ndarray, np.ndarray]:
    """(q, p) at the end, from the Lagrangian in angles (SymPy) and DOP853."""
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
    u = solve_ivp(slope, (0, DURATION), begin, method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    values = dict(zip((a, b, da, db), u, strict=True))
    q = np.array(place.subs(values), dtype=float).ravel()
    v = np.array(velocity.subs(values), dtype=float).ravel()
    m = np.array(MASS.subs(dict(zip(Q, q, strict=True))), dtype=float)
    return q, m @ v


@pytest.fixture(scope="module")
def sharp(curved, reference) -> tuple[np.ndarray, np.ndarray]:
    """The same to round-off, for the highest orders: Gauss–Lobatto of order 12 in tiny steps."""
    run = taut.simulate(
        curved, q0=START, v0=VELOCITY, duration=DURATION, step=1 / 32, method=taut.GaussLobatto(6)
    )
    for found, exact in zip((run.q[-1], run.p[-1]), reference, strict=True):
        assert np.abs(found - exact).max() < 3e-13
    return run.q[-1], run.p[-1]


def slope_of(steps, errors: np.ndarray, floor: float) -> tuple[float, float]:
    """Least-squares order and correlation, over points above the round-off floor."""
    assert np.all(errors > floor), "round-off has been reached: choose larger steps"
    logs = np.log(np.array(steps)), np.log(errors)
    return float(np.polyfit(*logs, 1)[0]), float(np.corrcoef(*logs)[0, 1])


@METHODS
@pytest.mark.parametrize("part", ["q", "p"])
def test_order(name, part, curved, reference, sharp):
    high = CATALOGUE[name].order > 8
    exact = dict(zip("qp", sharp if high else reference, strict=True))[part]
    errors = []
    steps = steps_of(name)
    for step in steps:
        run = taut.simulate(
            curved, q0=START, v0=VELOCITY, duration=DURATION, step=step, method=name
        )
        errors.append(np.abs(getattr(run, part)[-1] - exact).max())
    order, correlation = slope_of(steps, np.array(errors), 3e-15 if high else 2e-13)
    claimed = CATALOGUE[name].order
    assert order == pytest.approx(claimed, abs=0.2 if high else 0.1)
    assert correlation > 0.999


@METHODS
def test_constraints(name, curved):
    facts = taut.simulate(
        curved, q0=START, v0=VELOCITY, duration=20, step=0.01, method=name
    ).certificate.to_dict()
    if CATALOGUE[name].keeps_constraints:
        assert facts["max_g"] < 2e-15
        assert facts["max_hidden"] < 1e-14
    else:
        assert facts["max_g"] > 1e-4


@METHODS
def test_symplecticity(name, curved):
    """The defect of the compiled step on the manifold, for two step sizes."""
    for step in (0.02, 0.01):
        run = taut.simulate(curved, q0=START, v0=VELOCITY, duration=2, step=step, method=name)
        defect = run.certificate.symplecticity
        if CATALOGUE[name].symplectic:
            assert defect < 1e-13
        else:
            assert defect > 1e-3 * step**2


@METHODS
def test_reversal(name, curved):
    """There and back: exact for symmetric methods, off by the error of the method for others."""
    out = taut.simulate(curved, q0=START, v0=VELOCITY, duration=2, step=0.02, method=name)
    back = taut.simulate(
        curved, q0=out.q[-1], p0=-out.p[-1], duration=2, step=0.02, method=name,
        project=not CATALOGUE[name].keeps_constraints,
    )  # fmt: skip
    gap = max(np.abs(back.q[-1] - out.q[0]).max(), np.abs(back.p[-1] + out.p[0]).max())
    if CATALOGUE[name].symmetric:
        assert gap < 1e-12
    else:
        assert gap > 1e-4


@METHODS
def test_energy_band(name, curved):
    """The band shrinks as h^order for symplectic methods, only as h for the others."""
    order = CATALOGUE[name].order
    steps = (0.02, 0.01) if order <= 2 else (0.1, 0.05)
    bands = [
        taut.simulate(
            curved, q0=START, v0=VELOCITY, duration=10, step=h, method=name
        ).certificate.energy.band
        for h in steps
    ]
    rate = np.log2(bands[0] / bands[1])
    if CATALOGUE[name].symplectic:
        assert rate == pytest.approx(order, abs=0.1 if order <= 2 else 0.1 * order)
    else:
        assert 0.5 < rate < 1.5


@pytest.fixture(scope="module")
def spherical() -> taut.System:
    return taut.System(Q, mass=[1, 1, 1], potential=z, constraints=[x**2 + y**2 + z**2 - 1])


@METHODS
def test_drift(name, spherical):
    """10⁶ steps: no drift for symplectic methods, a significant one for the others."""
    symplectic = CATALOGUE[name].symplectic
    steps = 10**6 if symplectic else 20_000
    # ZG's example 2: near the bottom, where the comparators live long enough to show their drift.
    run = taut.simulate(
        spherical, q0=(0.0, np.sin(0.1), -np.cos(0.1)), v0=(0.06, 0.0, 0.0),
        duration=steps * 0.03, step=0.03, every=steps, method=name,
    )  # fmt: skip
    drift = run.certificate.energy
    if symplectic:
        assert abs(drift.relative) < 1e-3
        assert abs(drift.slope) <= drift.half_width
        assert drift.relative_half_width < 1e-2
    else:
        assert drift.significant
        assert abs(drift.relative) > 0.3


@METHODS
def test_momentum(name, spherical):
    """Angular momentum about the vertical, a quadratic invariant of the symmetry."""
    px, py, _ = spherical.momenta
    run = taut.simulate(
        spherical, q0=(0.6, 0.0, -0.8), v0=(0.0, 0.3, 0.0), duration=60, step=0.03,
        method=name, laws={"L_z": x * py - y * px},
    )  # fmt: skip
    change = run.certificate.watched[0].largest_change
    if name == "projected-symplectic-euler":
        assert change > 1e-6  # the projection has another symmetry than the step
    else:
        assert change < 1e-13


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in sorted(CATALOGUE) if CATALOGUE[n].symplectic])
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
    assert facts["max_g"] < 3e-15
    assert facts["max_hidden"] < 1e-14
    assert abs(facts["energy_drift"]) < 1e-3
    assert abs(facts["energy_slope"]) <= facts["energy_slope_half_width"]
