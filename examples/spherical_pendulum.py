"""A spherical pendulum for ten thousand swings: its rosette turns, and nothing else changes.

RATTLE keeps the sphere and the angular momentum about the vertical to round-off, and the energy in
a band.  The classical Runge–Kutta method at the same step leaves the sphere.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import taut

x, y, z = q = taut.coordinates("x y z")
system = taut.System(q, mass=1, potential=9.81 * z, constraints=[x**2 + y**2 + z**2 - 1])
start = {"q0": [0.8, 0, -0.6], "v0": [0, 0.9, 0], "step": 0.02}
run = taut.simulate(system, **start, duration=10_000)
other = taut.simulate(system, **start, duration=400, method="rk4")


if __name__ == "__main__":
    print(run.certificate)
    print(f"rk4: |q|² − 1 reaches {np.abs(other.constraints).max():.1e} after 400 s")
    if len(sys.argv) > 1:
        figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
        first = run.t < 40
        left.plot(run.q[first, 0], run.q[first, 1], lw=0.6)
        left.set(title="from above, 40 s", xlabel="x", ylabel="y", aspect=1)
        for made, name in ((other, "rk4"), (run, "rattle")):
            shown = slice(1, 20_000, 20)
            right.semilogy(made.t[shown], np.abs(made.constraints[shown]) + 1e-17, label=name)
        right.set(title="distance from the sphere, |q|² − 1", xlabel="t", ylim=(3e-18, 1))
        right.legend(loc="center right")
        figure.savefig(sys.argv[1], dpi=110)
