"""The defect: its derivative against finite differences, its verdicts on known maps."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

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


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_derivative_is_that_of_the_compiled_step(name):
    system, h, none = sphere(), 0.1, np.zeros(0)
    shop, (q, v) = workshop(system), STATE
    method = CATALOGUE[name].begun(shop.mechanics, none, q)
    p = shop.mechanics.momentum(q, v, 0.0, none)
    chart = best_chart(shop.mechanics, q, 0.0, none, (0,)) if method.charted else None
    step = shop.step(method, keep=(0,), chart=chart)
    basis = tangent_basis(gradients_of(shop, q, v, p, 0.0, none))
    assert basis.shape == (6, 4)
    probe = Probe(taut.simulate(system, q0=q, v0=v, duration=h, step=h, method=name))
    state, exact, t = (q, v, p), basis, 0.0
    for share in method.substeps:
        *state, (exact,) = probe._pushed(*state, t, share * h, [exact], [np.asarray])
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


def planets(length: float, mass: float, time: float) -> dict:
    """Sun, Jupiter and Saturn in astronomical units, solar masses and days; in other units."""
    places = taut.coordinates(" ".join(f"{s}{i}" for i in range(3) for s in "xyz"))
    masses = [mass * m for m in (1.00000597682, 0.000954786104043, 0.000285583733151)]
    k, potential = 2.95912208e-4 * length**3 / (mass * time**2), 0
    for i, j in ((0, 1), (0, 2), (1, 2)):
        away = [a - b for a, b in zip(places[3 * i : 3 * i + 3], places[3 * j :], strict=False)]
        potential -= k * masses[i] * masses[j] / sp.sqrt(sum(d**2 for d in away))
    q0 = [0, 0, 0, -3.5023653, -3.8169847, -1.5507963, 9.0755314, -3.0458353, -1.6483708]
    v0 = [0, 0, 0, 0.00565429, -0.0041249, -0.00190589, 0.00168318, 0.00483525, 0.00192462]
    return {
        "model": taut.System(places, mass=np.repeat(masses, 3).tolist(), potential=potential),
        "q0": length * np.array(q0), "v0": length / time * np.array(v0), "step": 100 * time,
        "duration": 5000 * time, "laws": None,
    }  # fmt: skip


UNITS = [(1, 1, 1), (1, 1, 1 / 365.25), (1.5e11, 2e30, 86400), (1e-6, 1e6, 1e-6), (1e6, 1, 1e6)]


def test_the_defect_is_the_same_in_all_units():
    """In metres, kilograms and seconds that of RATTLE was 1.6e4 once."""
    drifting = []
    for units in UNITS:
        assert taut.simulate(**planets(*units)).certificate.symplecticity < 1e-15
        drifting.append(taut.simulate(**planets(*units), method="rk4").certificate.symplecticity)
    assert drifting[0] > 1e-9
    assert drifting == pytest.approx([drifting[0]] * len(UNITS), rel=1e-5)


def test_coordinates_with_units_of_their_own():
    """An angle and two lengths, one of them in millionths."""
    defects = []
    for unit in (1.0, 1e6):
        s, r, u = taut.coordinates("s r u")
        wide = u / unit
        mass = sp.Matrix([[1 + r**2, r / 3, 0], [r / 3, 1, 0], [0, 0, 3 / unit**2]])
        model = taut.System(
            [s, r, u], mass=mass, potential=sp.cos(s) + (r - wide) ** 2 + sp.sin(wide)
        )
        start = {"q0": [0.3, 1, 0.2 * unit], "v0": [1, 0, 0.5 * unit], "step": 0.1, "duration": 3}
        defects += [
            taut.simulate(model, **start, laws=None, method=name).certificate.symplecticity
            for name in ("rk4", "gauss-lobatto-4")
        ]
    assert defects[0] == pytest.approx(defects[2], rel=1e-6)
    assert max(defects[1], defects[3]) < 2e-15 < 1e-9 < defects[0]


@pytest.mark.parametrize("away", [0.0, 1e3, 1e6, 1e8])
def test_rounding_of_the_derivative_is_not_taken_for_a_defect(away):
    """A pendulum that hangs far from the origin: its rod is known to ε |q|, and so is DΦ."""
    model = taut.System(
        [x, y], mass=1, potential=10 * y, constraints=[(x - away) ** 2 + (y - away) ** 2 - 1]
    )
    start = {"q0": [away + 1, away], "v0": 0, "duration": 2, "step": 0.02, "laws": None}
    certificate = taut.simulate(model, **start).certificate
    probe = certificate._probe
    assert certificate.symplecticity <= probe.rounding / 5
    assert 0.2 < probe.rounding / (1e-13 + 7e-14 * away) < 5
    words = dict((name, word) for name, _, word in certificate.rows())["symplecticity defect"]
    if away < 1e7:
        lost = {1e3: 3, 1e6: 6}.get(away)
        far = "" if lost is None else f"; {lost} digits are lost far from the origin"
        assert words == f"symplectic{far}"
        worse = taut.simulate(model, **start, method="rk4").certificate
        assert worse.symplectic is False
    else:
        assert certificate.symplectic is None
        assert words.startswith("cannot be told: rounding")


@pytest.mark.parametrize("links", [1, 8])
def test_what_is_driven_all_over_has_no_form(links):
    """Eight are more coordinates than are looked at one by one."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    for i in range(links):
        arm = m.body(f"arm {i}", mass=1, inertia=(0.1, 0.2, 0.3), at=(1, i, 0))
        hinge = m.revolute(f"hinge {i}", m.ground, arm, at=(0, i, 0), axis=(0, 1, 0))
        m.drive(hinge, angle=taut.t**2)
    certificate = taut.simulate(m, duration=0.1, step=0.01, laws=None).certificate
    assert (certificate.symplecticity, certificate.symplectic) == (None, None)
    row = ("symplecticity defect", "none", "no freedom is left")
    assert row in certificate.rows()
    m.point("free", mass=1, at=(0, -5, 0))
    assert taut.simulate(m, duration=0.1, step=0.01, laws=None).certificate.symplectic


@pytest.mark.parametrize("moves", [0, 1])
def test_a_system_without_freedom_has_no_form(moves):
    """Held where it is, or led along a circle."""
    x, y = taut.coordinates("x y")
    angle = moves * taut.t
    s = taut.System([x, y], mass=1, potential=y, constraints=[x - sp.cos(angle), y - sp.sin(angle)])
    found = taut.simulate(s, q0=[1, 0], v0=[0, moves], duration=0.5, step=0.01, laws=None)
    assert found.certificate.symplecticity is None
    assert ("symplecticity defect", "none", "no freedom is left") in found.certificate.rows()


@pytest.mark.parametrize("method", ["rattle", "gauss-lobatto-4"])
def test_constraints_between_a_light_part_and_heavy_ones(method):
    """Masses that differ by 10⁷: constraints are met to rounding, and the form is kept."""
    a, b, c, d = q = taut.coordinates("a b c d")
    planes = [-1.3 * a + c + 1.1 * d - 1.36, a / 2 - 0.38 * b + 0.68 * c - 1.13]
    model = taut.System(
        q, mass=[2e5 + sp.sin(a), 5e-3, 0.1, 9e3], potential=1e5 * a**2 + 4e3 * d**2 + sp.cos(c),
        constraints=[*planes, b - 0.76 * c + 0.43 * d - 1.17],
    )  # fmt: skip
    certificate = taut.simulate(
        model, q0=[0.5] * 4, v0=[1, 0, 0, 0], project=True, step=0.01, duration=2, method=method,
        laws=None,
    ).certificate  # fmt: skip
    assert certificate.max_hidden < 8e-12
    assert certificate._kept(1) == "round-off"
    assert certificate.symplectic is True
