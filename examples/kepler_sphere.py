"""A comet on a sphere: steps that follow the motion, and a hidden law that holds the orbit.

Kepler's problem on the unit sphere, attracted by the north pole.  All orbits are closed, because of
two hidden laws (a Runge–Lenz vector) which `taut.conserved` finds and proves; the nearest point is
fifty times as near as the farthest.  `Adaptive` makes steps that are small there, and reversible.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import taut
from taut.problems import problem

orbit = problem("kepler-sphere")
laws = taut.conserved(orbit.system)
run = orbit.simulate(duration=100)


if __name__ == "__main__":
    print(laws)
    print(run.certificate)
    if len(sys.argv) > 1:
        figure = plt.figure(figsize=(8, 3.6), layout="constrained")
        left, right = figure.add_subplot(121, projection="3d"), figure.add_subplot(122)
        polar, turn = np.mgrid[0 : 0.6 * np.pi : 14j, 0 : 2 * np.pi : 37j]
        ball = np.sin(polar) * np.cos(turn), np.sin(polar) * np.sin(turn), np.cos(polar)
        left.plot_wireframe(*ball, color="0.85", lw=0.4)
        left.plot(*run.q.T, lw=0.9)
        left.view_init(35, -60)
        left.set_axis_off()
        left.set_box_aspect((1, 1, 0.66), zoom=1.5)
        part = run.t < 7.5
        right.semilogy(run.t[part][1:], np.diff(run.t[part]), lw=0.8)
        right.set(title="step sizes over three revolutions", xlabel="t")
        figure.savefig(sys.argv[1], dpi=110)
