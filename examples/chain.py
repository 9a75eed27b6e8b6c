"""A hanging chain of 300 rods as three types of terms: compiled once, cost in proportion.

One expression per type of term, mapped over its instances with an index table.  The
picture shows the chain at equal times: let go from the horizontal, its free end falls fastest.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp

import taut

n = 300
x, y, a, b, u, w = sp.symbols("x y a b u w", real=True)
points = np.arange(2 * n).reshape(n, 2)
system = taut.System.from_terms(
    sp.symbols(f"q0:{2 * n}", real=True),
    [
        taut.Term("lagrangian", (x, y), [(u**2 + w**2) / 2 - 10 * y], points, rates=(u, w)),
        taut.Term("constraint", (x, y), [x**2 + y**2 - 1], points[:1]),
        taut.Term(
            "constraint",
            (x, y, a, b),
            [(x - a) ** 2 + (y - b) ** 2 - 1],
            np.hstack([points[:-1], points[1:]]),
        ),
    ],
)
start = np.stack([np.arange(1.0, n + 1), np.zeros(n)], axis=1).ravel()
run = taut.simulate(system, q0=start, v0=0, duration=8, step=2e-3, every=10, method="time-element")


if __name__ == "__main__":
    print(system)
    print(run.certificate)
    if len(sys.argv) > 1:
        shapes = run.q.reshape(len(run), n, 2)[::40]
        figure, axes = plt.subplots(figsize=(6.5, 5), layout="constrained")
        for shape, shade in zip(shapes, np.linspace(0.9, 0.1, len(shapes)), strict=True):
            axes.plot(*np.vstack([[0, 0], shape]).T, lw=0.9, color=plt.cm.viridis(shade))
        axes.plot(0, 0, "ko", ms=4)
        axes.set(title=f"every {run.t[40]:.1f} s", xlabel="x", ylabel="y", aspect=1)
        figure.savefig(sys.argv[1], dpi=110)
