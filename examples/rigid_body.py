"""A rigid body with a torque, held to its laws: the one-step correction of SGM.

Shang, Guo & Mei 2008: x is the angular momentum in the body, and |x|² is kept.  `taut.conserved`
finds a second law; held to both, RK4 stays on the curve in which their surfaces meet, where plain
RK4 spirals away from it.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp

import taut

x1, x2, x3 = x = sp.symbols("x1:4")
A1, A2, A3, k = sp.symbols("A1:4 k")
body = taut.Flow(
    x,
    [
        (A2 - A3) / (A2 * A3) * x2 * x3 + k * x2,
        (A3 - A1) / (A3 * A1) * x3 * x1 - k * x1,
        (A1 - A2) / (A1 * A2) * x1 * x2,
    ],
)
laws = taut.conserved(body)
values = {"A1": 1, "A2": 2, "A3": 3, "k": 0.4}
start = {"q0": [0.4, 1, 0.8], "duration": 2000, "step": 0.5, "parameters": values}
plain = taut.simulate(body, **start, method="rk4")
run = taut.simulate(body, **start, method=taut.Corrected("rk4", laws, iterate=True))


if __name__ == "__main__":
    print(laws)
    print(plain.certificate)
    print(run.certificate)
    if len(sys.argv) > 1:
        figure = plt.figure(figsize=(8, 3.6), layout="constrained")
        left, right = figure.add_subplot(121, projection="3d"), figure.add_subplot(122)
        left.plot(*plain.q.T, ".", ms=1, color="#D55E00")
        left.plot(*run.q.T, ".", ms=1.5, color="#0072B2")
        left.set(xlabel="x₁", ylabel="x₂", zlabel="x₃")
        for made, name, colour in ((plain, "rk4", "#D55E00"), (run, "held", "#0072B2")):
            for law, line in zip(laws, "-:", strict=True):
                kept = made.evaluate(law.expression)
                error = np.abs(kept - kept[0]) + 1e-17
                label = f"{name}, law {1 + '-:'.index(line)}"
                right.semilogy(made.t[1::10], error[1::10], line, lw=0.9, color=colour, label=label)
        right.set(title="errors of the two laws", xlabel="t")
        right.legend(loc="center right")
        figure.savefig(sys.argv[1], dpi=110)
