"""As a script: digests of runs in which linear algebra enters, one line for each."""

import hashlib
import warnings
from itertools import pairwise

import numpy as np
import sympy as sp

import taut

x, y, z = taut.coordinates("x y z")
vx, vy, vz = taut.velocities([x, y, z])
START = {"duration": 0.2, "step": 0.02, "project": True}


def digest(*arrays):
    made = hashlib.sha256()
    for a in arrays:
        made.update(np.ascontiguousarray(a).tobytes())
    return made.hexdigest()[:16]


def of(run):
    return " ".join(digest(a) for a in (run.q, run.v, run.p, run.multipliers, run.energy))


def general():
    n, rng = 9, np.random.default_rng(3)
    half = rng.standard_normal((n, n))
    mass = np.round(half @ half.T, 3)
    mass = (mass + mass.T) / 2 + n * np.eye(n)
    q = taut.coordinates(" ".join(f"a{i}" for i in range(n)))
    return taut.System(
        q, mass=mass, potential=sum(a**4 for a in q),
        constraints=[sum(a**2 for a in q) - 1, q[0] + q[1] * q[2] + q[8]],
        forces=[-0.1 * w for w in taut.velocities(q)],
    )  # fmt: skip


def coupled():
    n, rng = 7, np.random.default_rng(7)
    half = rng.integers(-9, 10, (n, n)) / 8
    q = taut.coordinates(" ".join(f"b{i}" for i in range(n)))
    stiff = sum((a - b) ** 2 for a, b in pairwise(q)) * 20 + q[0] ** 2
    return taut.System(q, mass=half @ half.T + np.eye(n), potential=stiff + q[2] ** 4)


def runs():
    many = np.round(np.random.default_rng(5).standard_normal(9), 2)
    yield taut.simulate(general(), q0=many, v0=0.3 * np.arange(9), **START)
    # Its tables are made of the full mass and of an exponential.
    yield taut.simulate(
        coupled(), q0=0.1 * np.arange(7), v0=0, duration=1, step=0.1, method="precise-element"
    )
    curved = taut.System(
        [x, y, z], potential=x**2 + y**4 + z**2 + x * z, constraints=[x + y + z * y - 0.3],
        kinetic=(vx**2 + 2 * vy**2 + vz**2 + vx * vy * sp.cos(x) + vy * vz * sp.sin(y) / 2) / 2,
    )  # fmt: skip
    start = {"q0": [0.1, 0.1, 1], **START}
    yield taut.simulate(curved, p0=[0.1, 0.2, 0.5], **start)
    yield taut.simulate(curved, v0=[0.1, 0.2, 0.5], **start, method="gauss-lobatto-4")
    p, q, r = taut.momenta([x, y, z])
    given = taut.System(
        [x, y, z], constraints=[x * y + z - 0.2],
        hamiltonian=(p**2 + q**2 * (1 + x**2) + r**2 + p * q * sp.cos(z)) / 2 + x**2 + z**4,
    )  # fmt: skip
    yield taut.simulate(given, v0=[0.1, 0.2, 0.5], **start)
    ball = x**2 + y**2 + z**2 - 1
    redundant = taut.System(
        [x, y, z], mass=[1, 1.3, 0.7], potential=9.81 * z,
        constraints=[ball, 2 * ball, x * y * z - 0.1, ball + x * y * z - 0.1],
    )  # fmt: skip
    run = taut.simulate(redundant, q0=[0.5, 0.5, 0.7], v0=[0.5, -0.5, 0], **START)
    yield run
    yield run.continue_(0.1)
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    inertia = np.array([[0.3, 0.05, 0.02], [0.05, 0.4, 0.01], [0.02, 0.01, 0.35]])
    upper = m.body("upper", mass=2, inertia=inertia, at=(0.3, 0.1, -0.2), rotation=(0.5,) * 4)
    lower = m.body("lower", mass=1, inertia=inertia / 2, at=(0.9, 0.2, -0.3))
    m.spherical("s", m.ground, upper, at=(0, 0, 0))
    m.revolute("r", upper, lower, at=(0.6, 0.15, -0.25), axis=(0.3, 0.7, 0.2))
    yield taut.simulate(m, duration=0.1, step=0.01)
    net, points = taut.Mechanism(gravity=(0, 0, -9.81)), {}
    for i in range(6):
        for j in range(6):
            at = (0.1 * i, 0.1 * j, 0.01 * i * j)
            points[i, j] = net.point(f"p{i}_{j}", mass=1 + 0.1 * i + 0.03 * j, at=at)
            if j:
                net.rod(f"r{i}_{j}", points[i, j - 1], points[i, j])
            if i:
                net.rod(f"s{i}_{j}", points[i - 1, j], points[i, j])
    yield taut.simulate(net, duration=0.02, step=0.002, laws=None)


def beams():
    soft = {"section": taut.Square(0.05), "density": 1000, "young": 1e7, "poisson": 0.3}
    soft |= {"nodes": 7, "gravity": (0, 0, -9.81), "frame": (1, 0.2, 0.3)}
    for method, ends in (("hamel", ("hinged", "free")), ("implicit", ("clamped", "free"))):
        beam = taut.Beam(1, **soft, curvature=(0, 0.3, 0.2), ends=ends)
        run = taut.simulate(beam, duration=2e-3, step=2e-4, method=method)
        yield " ".join(digest(a) for a in (run.momentum, run.strain, run.positions, run.energy))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for run in runs():
        print(of(run))
    for said in beams():
        print(said)
