"""Cloth: 20 × 20 points and 760 rods that do not stretch, held at four corners.

The start is the sum of two arcs, so that all rods have the same length.  Meshes shear; the cloth
falls into its sag and swings through it.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from mpl_toolkits.mplot3d.art3d import Line3DCollection

import taut

n = 20


def arc(angle):
    """A hanging polygon of length 1 in n points: across, down."""
    turns = angle * (np.arange(n) / (n - 1) - 0.5)
    radius = 1 / (2 * (n - 1) * np.sin(angle / (2 * (n - 1))))
    return radius * (np.sin(turns) - np.sin(turns[0])), radius * (np.cos(turns[0]) - np.cos(turns))


(x, low), (y, deep) = arc(2.0), arc(1.0)
places = {(i, j): (x[i], y[j], low[i] + deep[j]) for i in range(n) for j in range(n)}
m = taut.Mechanism(gravity=(0, 0, -9.81))
points = {}
for (i, j), place in places.items():
    held = i in (0, n - 1) and j in (0, n - 1)
    points[i, j] = m.ground if held else m.point(f"{i},{j}", mass=1 / n**2, at=place)
for i, j in places:
    for there in ((i + 1, j), (i, j + 1)):
        if there in places:
            ends = places[i, j], places[there]
            m.rod(points[i, j], points[there], ends=ends, length=1 / (n - 1))
run = taut.simulate(m, duration=0.8, step=0.002, every=4, laws=None)


def rods(row):
    """Both ends of every rod at a stored state."""
    found = []
    for joint in m.joints.values():
        sides = zip((joint.a, joint.b), joint.at, strict=True)
        found.append(
            [at if p is m.ground else run.q[row, p.first : p.first + 3] for p, at in sides]
        )
    return np.array(found)


if __name__ == "__main__":
    print(m)
    print(run.certificate)
    if len(sys.argv) > 1:
        figure = plt.figure(figsize=(9, 3.4), layout="constrained")
        for k, row in enumerate((0, len(run) // 2, len(run) - 1)):
            axes = figure.add_subplot(1, 3, k + 1, projection="3d")
            lines = rods(row)
            look = {"cmap": "viridis", "clim": (-0.55, 0.0), "linewidths": 0.8}
            axes.add_collection(Line3DCollection(lines, array=lines[:, :, 2].mean(1), **look))
            axes.set(
                xlim=(0, 0.85), ylim=(0, 0.95), zlim=(-0.6, 0.1), title=f"t = {run.t[row]:.1f}"
            )
            axes.set_box_aspect((0.85, 0.95, 0.7))
            axes.view_init(elev=18, azim=-55)
            axes.locator_params(nbins=3)
        figure.savefig(sys.argv[1], dpi=110)
