"""A planar double pendulum in Cartesian coordinates: two rods, no angles, no equations of motion.

Two masses on rigid rods (Zhong & Gao 2006, example 3), y pointing down.  Run it with
``python examples/double_pendulum.py [PICTURE]``; it prints the certificate and draws the run.
"""

import sys

import numpy as np

import taut

x1, y1, x2, y2 = q = taut.coordinates("x1 y1 x2 y2")
system = taut.System(
    q,
    mass=[1, 1, 2, 2],
    potential=-10 * y1 - 20 * y2,
    constraints=[x1**2 + y1**2 - 1, (x2 - x1) ** 2 + (y2 - y1) ** 2 - 1],
)

a = np.sqrt(0.5)
run = taut.simulate(system, q0=[a, a, 0, 2 * a], v0=0, duration=1000, step=0.01)


if __name__ == "__main__":
    print(run.certificate)
    if len(sys.argv) > 1:
        run.plot(down="y").savefig(sys.argv[1], dpi=110)
