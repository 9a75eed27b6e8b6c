"""A slider-crank whose connecting rod bends: a beam as a part of a mechanism.

The crank, the rod and the slider turn about pins that are one axis each; the rod is a beam whose
first and last nodes carry the pins.  Its own inertia bends it, most where it swings fastest.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import taut

CRANK, ROD, SPEED = 0.15, 0.4, 20.0
m = taut.Mechanism(gravity=(0, 0, -9.81))
axis = (0, 1, 0)
crank = m.body(
    "crank", mass=2, inertia=(1e-3, 2e-2, 2e-2), at=(0, 0.03, 0), angular_velocity=(0, SPEED, 0),
    size=(2 * CRANK, 0.02, 0.04),
)  # fmt: skip
rod = m.beam(
    "rod", length=ROD, section=taut.Rectangle(0.02, 0.02), density=1200, young=4e7, poisson=0.4,
    nodes=9, at=(CRANK, 0, 0), frame=(1, 0, 0), velocity=(0, 0, -CRANK * SPEED),
    angular_velocity=(0, -CRANK / ROD * SPEED, 0),
)  # fmt: skip
slider = m.body("slider", mass=0.3, inertia=(2e-4, 2e-4, 2e-4), at=(CRANK + ROD, 0, 0))
m.revolute("shaft", m.ground, crank, at=(0, 0, 0), axis=axis)
m.revolute("crank pin", crank, rod.root, at=(CRANK, 0, 0), axis=axis)
m.revolute("wrist pin", rod.tip, slider, at=(CRANK + ROD, 0, 0), axis=axis)
m.prismatic("guide", m.ground, slider, at=(CRANK + ROD, 0, 0), axis=(1, 0, 0))
run = taut.simulate(m, duration=0.4, laws=None, every=50)  # half of the stable step


if __name__ == "__main__":
    print(m.assemble())
    print(run.certificate)
    places = run["rod"].positions
    chord = places[:, -1] - places[:, 0]
    across = np.cross(chord / np.linalg.norm(chord, axis=1)[:, None], axis)
    sag = np.einsum("tnk,tk->tn", places - places[:, :1], across)[:, 4]
    print(f"the middle of the rod leaves its chord by up to {1000 * np.abs(sag).max():.1f} mm")
    if len(sys.argv) > 1:
        figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
        for k in range(0, len(run.t), len(run.t) // 14):
            left.plot([0, places[k, 0, 0]], [0, places[k, 0, 2]], color="#8c97a3", lw=2)
            left.plot(places[k, :, 0], places[k, :, 2], color="#0072B2", lw=2)
            left.plot(*places[k, -1, [0, 2]], "s", color="#D55E00")
        left.set(aspect="equal", xlabel="x", ylabel="z", title="crank, rod and slider")
        right.plot(run.t, 1000 * sag)
        right.set(xlabel="t", title="middle of the rod beside its chord, mm")
        figure.savefig(sys.argv[1], dpi=110)
