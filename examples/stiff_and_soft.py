"""Fermi–Pasta–Ulam springs: three stiff ones pass on their energy, and keep its sum.

Six masses, stiff and soft springs in turns (Hairer, Lubich & Wanner 2006, I.5.1).  One stiff spring
is excited.  Over hundreds of its periods the energy wanders to the others; the sum of the three is
an adiabatic invariant, which a symplectic method keeps and needs not to know of.
"""

import sys

import matplotlib.pyplot as plt

from taut.problems import problem

springs = problem("fpu")
run = springs.simulate(duration=200, step=0.01, every=5)
omega = 50
energies = (run.v[:, 3:] ** 2 + omega**2 * run.q[:, 3:] ** 2) / 2


if __name__ == "__main__":
    print(run.certificate)
    total = energies.sum(axis=1)
    print(f"sum of the stiff springs' energies: {total.min():.3f} … {total.max():.3f}")
    if len(sys.argv) > 1:
        figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
        for i, energy in enumerate(energies.T):
            axes.plot(run.t, energy, lw=0.8, label=f"spring {i + 1}")
        axes.plot(run.t, total, lw=0.8, color="0.3", label="sum")
        axes.set(xlabel="t", title="energy of the stiff springs", ylim=(0, 1.25))
        axes.legend(loc="upper right", ncols=4)
        figure.savefig(sys.argv[1], dpi=110)
