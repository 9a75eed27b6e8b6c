"""Crank and rocker: four bars in space, the coupler between two ball joints.

The crank turns about z, the rocker swings about y.  What the joints do is known by their names; the
rocker's angle is compared with the solution of the loop's equation.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from taut.problems.spatial_four_bar import pose_at, spatial_four_bar

problem = spatial_four_bar()
run = problem.simulate(duration=3, laws=None)
crank, rocker = run["crank hinge"], run["rocker hinge"]


if __name__ == "__main__":
    print(problem.mechanism.assemble())
    print(run.certificate)
    pose = pose_at(crank.angle)
    off = np.abs(rocker.angle - (pose.phi - pose.phi[0])).max()
    print(f"the rocker's angle is that of the loop to {off:.1e}")
    if len(sys.argv) > 1:
        figure = plt.figure(figsize=(9, 3.6), layout="constrained")
        left, right = figure.add_subplot(121, projection="3d"), figure.add_subplot(122)
        for tip, colour in (("tip of the crank", "#0072B2"), ("tip of the rocker", "#D55E00")):
            left.plot(*run[tip].position.T, lw=1, color=colour)
        left.plot(*run["coupler"].position.T, lw=1, color="#009E73")
        for row in range(0, 700, 100):
            pivots = (0, 0, 0), (1, 0.8, 0)
            tips = (run[f"tip of the {x}"].position[row] for x in ("crank", "rocker"))
            chain = np.array([pivots[0], *tips, pivots[1]])
            left.plot(*chain.T, "-", lw=1.2, color="0.6", zorder=1)
        left.set(xlabel="x", ylabel="y", zlabel="z")
        left.locator_params(nbins=4)
        left.set_aspect("equal")
        right.plot(run.t, np.linalg.norm(crank.force, axis=1), label="force in the crank's hinge")
        right.plot(run.t, np.linalg.norm(rocker.force, axis=1), label="in the rocker's")
        right.set(xlabel="t", title="forces of the ground")
        right.legend()
        figure.savefig(sys.argv[1], dpi=110)
