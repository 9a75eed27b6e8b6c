"""Coordinates that are large against the scale on which forces bend: nothing is lost there."""

import numpy as np
import pytest
import sympy as sp

import taut

(a,) = taut.coordinates("a,")
ROTOR = taut.System([a], mass=[1], potential=-sp.cos(a))
x1, y1, x2, y2 = Q = taut.coordinates("x1 y1 x2 y2")
DUMBBELL = taut.System(
    Q, mass=[1, 1, 2, 2], potential=-3 * sp.cos(x1 - x2),
    constraints=[(x1 - x2) ** 2 + (y1 - y2) ** 2 - 1],
)  # fmt: skip
METHODS = pytest.mark.parametrize(
    "method",
    ["gauss-lobatto-4", "gauss-lobatto-8", "time-element-6", "energy-momentum", "composition-8"],
)


@METHODS
def test_an_angle_that_winds(method):
    """16 000 turns: at the end a is 2·10⁵, and what is left is the rounding of a itself."""
    run = taut.simulate(ROTOR, q0=[0], v0=[2.5], duration=1e5, step=0.1, method=method, every=1000)
    assert run.q[-1, 0] > 1e5
    certificate = run.certificate
    assert certificate.energy.band < (1.2e-6 if run.method.order == 4 else 1e-8)
    assert not certificate.drifts


@METHODS
def test_far_from_the_origin_as_near_it(method):
    far = taut.simulate(
        ROTOR, q0=[2000 * np.pi], v0=[1], duration=1e3, step=0.1, method=method, every=100
    )
    near = taut.simulate(ROTOR, q0=[0], v0=[1], duration=1e3, step=0.1, method=method, every=100)
    assert np.abs(far.q - 2000 * np.pi - near.q).max() < 1e-8
    assert abs(far.certificate.energy.band - near.certificate.energy.band) < 2e-11


@pytest.mark.parametrize("method", ["rattle", "gauss-lobatto-6", "energy-momentum-hidden"])
def test_a_body_that_flies_away(method):
    run = taut.simulate(
        DUMBBELL, q0=[0, 0, 1, 0], v0=[1, 1, 1, -1], duration=5e3, step=0.05, method=method,
        every=100,
    )  # fmt: skip
    size = np.abs(run.q).max()
    assert size > 1e3
    assert run.certificate.max_g < 8 * np.spacing(size)
    assert run.certificate.energy.band < (2e-2 if method == "rattle" else 5e-9)


def test_the_hidden_constraint_in_tiny_parts_of_steps():
    """Not quadratic in p, and parts of a step ten times shorter than the step."""
    x, y, z = q = taut.coordinates("x y z")
    px, py, pz = taut.momenta(q)
    radius = 1 + sp.sin(taut.t) / 4
    system = taut.System(
        q, hamiltonian=sp.sqrt(1 + px**2 + py**2 + pz**2) + z,
        constraints=[x**2 + 2 * y**2 + z**2 - radius**2],
    )  # fmt: skip
    run = taut.simulate(
        system, q0=[0.6, 0, 0.8], p0=[0.2, 0.5, -0.1], project=True, duration=30, step=0.03,
        method="composition-8",
    )  # fmt: skip
    assert run.certificate.max_hidden < 3e-15
