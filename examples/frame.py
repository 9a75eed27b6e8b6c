"""A frame of three beams sags under a mass: bending, twist and joints.

A clamped post, an arm and a hand of plastic tube, joined rigidly wherever their ends meet; the
hand holds a weight and is let go.
"""

import sys

import taut

tube = {"section": taut.Tube(0.02, 0.018), "density": 1500, "young": 5e8, "poisson": 0.33}
down = {"gravity": (0, 0, -9.81), "nodes": 16}
post = taut.Beam(1, frame=(0, 0, 1), ends=("clamped", "free"), **tube, **down)
arm = taut.Beam(0.8, at=(0, 0, 1), frame=(1, 0, 0), **tube, **down)
hand = taut.Beam(0.4, at=(0.8, 0, 1), frame=(0, 1, 0), **tube, **down).body(mass=1.5)
run = taut.simulate(taut.Beams([post, arm, hand]), duration=1, every=500)


if __name__ == "__main__":
    print(run.certificate)
    if len(sys.argv) > 1:
        run.plot(shapes=9).savefig(sys.argv[1], dpi=110)
