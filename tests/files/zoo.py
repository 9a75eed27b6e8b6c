"""A mechanism with every part, joint and force, in an order that mixes them."""

import numpy as np
import sympy as sp

import taut


def zoo():
    """Most of its joints hang from the ground, each with a body of its own."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    bar = {"mass": 1.0, "inertia": (0.084, 0.09, 0.02)}
    lump = np.array([[0.1, 0.01, 0], [0.01, 0.12, 0], [0, 0, 0.2]])
    half = np.sqrt(0.5)
    a = m.point("a", mass=1, at=(0.3, 0, -0.9), velocity=(0, 0.1, 0))
    b = m.body("b", **bar, at=(1, 0, 0), rotation=(half, 0, half, 0))
    m.rod("string", m.ground, a)
    m.revolute("h1", m.ground, b, at=(1, 0, 0.5), axis=(0, 1, 0))
    c = m.body("c", mass=2, inertia=lump, at=(2, 0, 0), look="box", size=(1, 1, 2), colour="orange")
    m.revolute(m.ground, c, at=(2, 0, 0.5), axis=(0, 1, 0))  # without a name
    m.angle("h1")
    m.gear("h1", "joint 3", ratio=2.0, name="gear")
    bodies = {name: m.body(name, **bar, at=(k + 3, 0, 0)) for k, name in enumerate("defghij")}
    m.prismatic("rail", m.ground, bodies["d"], at=(3, 0, 0), axis=(1, 0, 0))
    m.cylindrical("tube", m.ground, bodies["e"], at=(4, 0, 0), axis=(0, 0, 1))
    m.screw("screw", m.ground, bodies["f"], at=(5, 0, 0), axis=(0, 0, 1), pitch=0.3)
    m.rolling(
        "wheel", m.ground, bodies["g"], at=(6, 0, 0), axis=(0, 1, 0), along=(1, 0, 0), radius=1
    )
    m.universal("cross", m.ground, bodies["h"], at=(7, 0, 0.5), axes=((1, 0, 0), (0, 1, 0)))
    m.planar("table", m.ground, bodies["i"], at=(8, 0, 0), normal=(0, 0, 1))
    m.fixed("glue", bodies["i"], bodies["j"], at=(8, 0, -0.5))
    k = m.body("k", **bar, at=(9, 0, 0), angular_velocity=(0, 0, 0.2))
    m.spherical("ball", m.ground, k, at=(9, 0, 0.5))
    m.frame("tool", k, at=(9, 0, -0.5), rotation=(half, half, 0, 0))
    m.look(k, "ball", size=0.1, at=(9, 0, -0.5), colour=(1, 0, 0))
    m.look(m.ground, "box", size=(20, 2, 0.1))
    x, y, z, s = sp.symbols("x y z s", real=True)
    l = m.point("l", mass=1, at=(10, 0, 1))
    m.on_surface(l, (x - 10) ** 2 + y**2 + z**2 - 1, name="sphere")
    n = m.point("n", mass=1, at=(11, 0, 1))
    m.on_curve(n, ((11 + sp.sin(s), 0 * s, sp.cos(s)), s), name="ring")
    o = m.point("o", mass=1, at=(12, 0, 1))
    m.on_curve(o, (x - 12, y**2 + z**2 - 1), name="other ring")
    m.drive("rail", slide=sp.sin(taut.t) ** 2 / 10, name="pusher")
    p = m.point("p", mass=1, at=(13, 0, 0))
    m.move(p, (13, 0, taut.t**2 / 2), name="hand")
    wing = taut.Beam(
        1, taut.Tube(0.1, 0.08, shear=(0.5, 0.6), torsion="saint-venant"), density=1000, young=1e6,
        shear_modulus=4e5, nodes=4, at=(14, 0, 0), frame=(0, 0, 1), cells="full",
        curvature=(0.1, taut.s / 3, 0),
    )  # fmt: skip
    wing.load(at="all", force=(0, taut.s * taut.t, 0.5), follower=True)
    wing.load(at=0.4, moment=(0, 0, 1), force=(taut.t, 0, 0))
    wing.body(at="root", mass=0.2, inertia=(0.01, 0.02, 0.015), offset=(0.01, 0.02, 0))
    wing.body(mass=0.1, inertia=lump / 100)
    m.beam("wing", wing, velocity=(0, 0, 0.1), angular_velocity=np.full((4, 3), 0.01))
    m.beam(
        "bar", length=0.5, inertia=lambda s: np.diag([1, 2, 1, 3, 3, 3]) * (1 + s),
        stiffness=np.arange(1, 7.0), nodes=3, at=(15, 0, 0), curvature=lambda s: (s, 0, 0),
    )  # fmt: skip
    m.spherical("socket", m.ground, "wing root", at=(14, 0, 0))
    m.spring("coil", a, b, stiffness=3, damping=0.1, length=0.5)
    m.spring(
        "quartic", a, m.ground, energy=lambda q: 0.3 * (q - 1) ** 4,
        pull=lambda q, r: 0.05 * r * q, ends=((0.3, 0, -0.9), (0, 0, 1)),
    )  # fmt: skip
    m.central("star", l, m.ground, energy=lambda r: -1 / r)
    m.rope("rope", k, l, stiffness=10)
    m.damper("oil", b, c, damping=0.2)
    m.torsion("h1", stiffness=2, angle=0.1, damping=0.03, name="watch")
    m.torsion("joint 3", energy=sp.cos, name="magnet")
    m.torsion("joint 3", stiffness=0.1, turns=True, name="clock")
    m.motor("h1", 0.3 * sp.sin(taut.t), name="starter")
    m.motor("tube", law=lambda slide, rate: -0.1 * slide - rate / 7, of="slide", name="servo")
    m.push("tube", stiffness=5, slide=0.2, name="pneumatic")
    _, (u, *_) = m.symbols(k)
    m.force(k, (-0.1 * u, sp.sin(taut.t), 0), at=(9, 0, -0.5), name="drag")
    tilt, spin = m.symbols("tube")[:2]
    m.torque(bodies["e"], (0, 0, -tilt - 0.1 * spin), name="balance")
    m.force(b, (0, 0, 1.5), follower=True, name="thrust")
    m.torque(bodies["h"], (0, 0.1, taut.t), name="motor")
    angle, place = sp.symbols("angle_h1 x_a", real=True)
    m.potential(angle**2 / 3 + 0.1 * place**2, name="field")
    m.spring("stay", "wing 2", "bar tip", stiffness=1)
    return m
