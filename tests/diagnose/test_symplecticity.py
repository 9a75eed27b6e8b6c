"""The defect: its derivative against finite differences, its verdicts on known maps."""

from __future__ import annotations

import numpy as np
import pytest

import taut
import taut.kernel.compile as compile_room
from taut.diagnose.symplecticity import (
    Linearised,
    LinearisedStages,
    Probe,
    gradients_of,
    pairing,
    tangent_basis,
)
from taut.kernel.compile import Workshop, workshop
from taut.march.charts import best_chart
from taut.march.run import one_step
from taut.methods import CATALOGUE

x, y, z = Q = taut.coordinates("x y z")
STATE = (np.array([0.6, 0.0, 0.8]), np.array([0.0, 1.0, 0.0]))


def sphere(**options) -> taut.System:
    return taut.System(
        Q, mass=[[2 + x**2, 0, y / 5], [0, 1, 0], [y / 5, 0, 1]], potential=z + x**3,
        constraints=[x**2 + y**2 + z**2 - 1], **options,
    )  # fmt: skip


def differences(step, shop: Workshop, q, p, h: float, tangents: np.ndarray) -> np.ndarray:
    """DΦ · tangents by fourth-order central differences of the compiled step."""
    n, size = len(q), 2e-3
    none = np.zeros(0)

    def end(u):
        v = shop.mechanics.velocity(u[:n], u[n:], 0.0, none)
        q1, _, p1, _ = one_step(step, u[:n], v, u[n:], 0.0, h, none)
        return np.concatenate([q1, p1])

    at = np.concatenate([q, p])
    columns = []
    for u in tangents.T:
        far, near = (end(at + k * size * u) - end(at - k * size * u) for k in (2, 1))
        columns.append((8 * near - far) / (12 * size))
    return np.array(columns).T


@pytest.mark.parametrize("name", [n for n in sorted(CATALOGUE) if CATALOGUE[n].general])
def test_derivative_is_that_of_the_compiled_step(name):
    system, h, none = sphere(), 0.1, np.zeros(0)
    shop, method = workshop(system), CATALOGUE[name]
    q, v = STATE
    p = shop.mechanics.momentum(q, v, 0.0, none)
    chart = best_chart(shop.mechanics, q, 0.0, none, (0,)) if method.charted else None
    step = shop.step(method, keep=(0,), chart=chart)
    basis = tangent_basis(gradients_of(shop, q, v, p, 0.0, none))
    assert basis.shape == (6, 4)
    probe = Probe(taut.simulate(system, q0=q, v0=v, duration=h, step=h, method=name))
    state, exact, t = (q, v, p), basis, 0.0
    for share in method.substeps:
        *state, exact = probe._pushed(*state, t, share * h, exact)
        t += share * h
    approximate = differences(step, shop, q, p, h, basis)
    assert exact == pytest.approx(approximate, abs=5e-9)  # up to 33 steps in one
    assert np.abs(exact - basis).max() > 1e-2, "the step does nothing"


@pytest.mark.parametrize("name", ["rattle", "time-element"])
def test_stagewise_derivative_agrees(name):
    """The derivative used for large systems equals the one used for small systems."""
    system, h, none = sphere(), 0.05, np.zeros(0)
    shop, method = workshop(system), CATALOGUE[name]
    q, v = STATE
    p = shop.mechanics.momentum(q, v, 0.0, none)
    basis = tangent_basis(gradients_of(shop, q, v, p, 0.0, none))
    fused = shop.step(method, keep=(0,), backend="fused")
    inner = one_step(fused, q, v, p, 0.0, h, none)[3]
    z_found = fused.program.last_solution(inner)
    one = Linearised(shop.program(method, (0,)))(q, p, v, z_found, 0.0, h, none, basis)
    assembled = shop.step(method, keep=(0,), backend="assembled")
    one_step(assembled, q, v, p, 0.0, h, none)
    other = LinearisedStages(assembled.program.machine, q, v, p)(basis)
    assert other == pytest.approx(one, abs=1e-12)


def test_stagewise_derivative_of_a_projection(monkeypatch):
    """At the velocity before it, which no vector of the end of the step overwrites."""
    u, w, _ = taut.velocities(Q)
    energy = u**2 / 2 + w**2 / 2 + (u**2 + w**2) ** 2 / 8 + u**2 * w**2 - 3 * y
    system = taut.System([x, y], lagrangian=energy, constraints=[x**2 + 2 * y**2 - 1])
    found = []
    for limit in (40, -1):
        monkeypatch.setattr(compile_room, "FUSED_LIMIT", limit)
        run = taut.simulate(
            system, q0=[1, 0], v0=[0, 0.5], duration=1, step=0.2, method="projected-rk4"
        )
        found.append(Probe(run).worst())
    assert found[0] > 1e-4
    assert found[1] == pytest.approx(found[0], rel=1e-9)


def test_tangent_vectors_stay_on_the_manifold():
    """Moving along a tangent vector changes g and G v only to second order."""
    shop, none = workshop(sphere()), np.zeros(0)
    q, v = STATE
    p = shop.mechanics.momentum(q, v, 0.0, none)
    basis = tangent_basis(gradients_of(shop, q, v, p, 0.0, none))
    for u in basis.T:
        for size in (1e-3, 1e-4):
            a, b = q + size * u[:3], p + size * u[3:]
            velocity = shop.mechanics.velocity(a, b, 0.0, none)
            off = np.concatenate(
                [shop.mechanics.g(a, 0.0, none), shop.mechanics.hidden(a, velocity, 0.0, none)]
            )
            assert np.abs(off).max() < 20 * size**2


def test_pairing_is_the_canonical_form():
    a = np.array([[1.0, 0], [0, 0], [0, 1.0], [0, 0]])
    assert pairing(a)[0, 1] == 1.0
    assert pairing(a)[1, 0] == -1.0


def test_a_scaling_is_found_out():
    """A map that is not symplectic has a defect of the right size: p₁ = (1 + ε) p."""
    tangents = np.eye(4)
    scaled = np.diag([1, 1, 1.001, 1.001]) @ tangents
    assert np.abs(pairing(scaled) - pairing(tangents)).max() == pytest.approx(1e-3)


def test_forced_systems_claim_nothing():
    vx, vy, vz = taut.velocities(Q)
    run = taut.simulate(
        sphere(forces=[-vx, -vy, -vz]), q0=STATE[0], v0=STATE[1], duration=1, step=0.05
    )
    assert run.certificate.symplecticity is None
