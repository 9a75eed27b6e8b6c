"""A hanging chain of 300 rods as three types of terms: compiled once, cost in proportion.

One expression per type of term, mapped over its instances with an index table.
"""

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
run = taut.simulate(system, q0=start, v0=0, duration=2, step=2e-3, every=10, method="time-element")


if __name__ == "__main__":
    print(system)
    print(run.certificate)
