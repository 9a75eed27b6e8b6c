"""An arm of six axes, from its URDF file: brakes off, it falls and throws its wrist about.

The file becomes six bodies with 72 coordinates and 66 constraints; the hand is part of the last
one.  Constraints stay at round-off and the energy in its band.  `taut run six-axis-arm` is the
same, with the angles that it should have at t = 1.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import taut

arm = taut.urdf(
    Path(__file__).with_name("six_axis_arm.urdf"),
    positions={"joint_2": 0.9, "joint_3": 0.6, "joint_4": 0.4},
    velocities={"joint_1": 1.0, "joint_6": 2.0},
)
run = taut.simulate(arm, duration=10, step=0.002, method="composition-6")


if __name__ == "__main__":
    print(arm)
    print(run.certificate)
    if len(sys.argv) > 1:
        figure = plt.figure(figsize=(8, 3.6), layout="constrained")
        left, right = figure.add_subplot(121, projection="3d"), figure.add_subplot(122)
        tool = run["tool"].position
        left.plot(*tool[:1000].T, lw=0.6, color="#8c97a3")
        joints = np.stack([run[f"joint_{k}"].position for k in range(1, 7)] + [tool], axis=1)
        for row, shade in zip(range(0, 700, 100), np.linspace(0.15, 1, 7), strict=True):
            left.plot(*joints[row].T, "o-", ms=2, lw=2, color="#D55E00", alpha=shade)
        left.set(xlabel="x", ylabel="y", zlabel="z", title="in the first 1.4 s")
        left.set_aspect("equal")
        left.locator_params(nbins=4)
        for k in range(1, 7):
            turned = run[f"joint_{k}"].angle / (2 * np.pi)
            right.plot(run.t, turned, lw=0.8, label=f"joint {k}")
        right.set(title="turns of the joints", xlabel="t")
        right.legend(fontsize=7)
        figure.savefig(sys.argv[1], dpi=110)
