"""Four thousand starts at once: how far neighbouring double pendulums fall apart.

A batch is a two-dimensional ``q0``; it runs in SIMD lanes on all cores, each trajectory bit by bit
as it would run alone.  The picture shows the cloud of the second masses.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from double_pendulum import system

import taut

angles = np.random.default_rng(0).normal([2.0, 2.5], 1e-3, (4000, 2))
s, c = np.sin(angles), np.cos(angles)
starts = np.stack([s[:, 0], c[:, 0], s.sum(axis=1), c.sum(axis=1)], axis=1)
run = taut.simulate(system, q0=starts, v0=0, duration=20, step=0.01, every=100)
spread = run.q[:, :, 2:].std(axis=0).max(axis=1)


if __name__ == "__main__":
    print(run.certificate)
    for t, d in zip(run.t[::4], spread[::4], strict=True):
        print(f"t = {t:4.0f}   spread of the second mass {d:.2e}")
    if len(sys.argv) > 1:
        figure, panels = plt.subplots(1, 4, figsize=(8, 2.4), sharey=True, layout="constrained")
        for axes, row in zip(panels, (3, 4, 5, 8), strict=True):
            axes.plot(run.q[:, row, 2], -run.q[:, row, 3], ".", ms=1, alpha=0.4)
            axes.set(title=f"t = {run.t[row]:.0f}", xlim=(-2.1, 2.1), ylim=(-2.1, 2.1), aspect=1)
        figure.savefig(sys.argv[1], dpi=110)
