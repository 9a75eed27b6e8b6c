"""Dzhanibekov: a free body that spins about its middle axis turns over, again and again.

The angular velocity in the body's own axes is a motion of Jacobi's elliptic functions, which
the crosses show; momentum in space and energy stay what they are.  Nothing acts on the body.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import taut
from taut.problems.dzhanibekov import TURNING as turning  # the closed form

m = taut.Mechanism()
spin = (0, 5, 0.1)
m.body("box", mass=1, inertia=(0.25, 0.5, 0.625), at=(0, 0, 0), body_angular_velocity=spin)
run = taut.simulate(m, duration=20, step=0.005)
box = run["box"]


if __name__ == "__main__":
    print(run.certificate)
    size = np.linalg.norm(box.angular_momentum, axis=1)
    print(f"turns over every {turning.flip:.3f}, |L| constant to {np.ptp(size) / size[0]:.1e}")
    if len(sys.argv) > 1:
        figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
        times = np.linspace(0, 20, 60)
        exact = turning.body_rates(times)[0]
        for k, colour in enumerate(("#009E73", "#D55E00", "#0072B2")):
            left.plot(run.t, box.body_angular_velocity[:, k], color=colour, label=f"ω{'₁₂₃'[k]}")
            left.plot(times, exact[:, k], "x", ms=4, color=colour)
        left.set(xlabel="t", title="angular velocity in the body's axes")
        left.legend(loc="lower right")
        tip = box.rotation[:, :, 1]  # where the middle axis points
        shades = right.scatter(tip[:, 0], tip[:, 1], c=run.t, s=1.5, cmap="viridis")
        right.set(xlabel="x", ylabel="y", aspect=1, title="where the middle axis points")
        figure.colorbar(shades, label="t", ax=right)
        figure.savefig(sys.argv[1], dpi=110)
