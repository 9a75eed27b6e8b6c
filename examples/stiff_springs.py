"""A rod with a weight on a stiff spring, free in space: energy and angular momentum to round-off.

The step is half of the spring's period.  The discrete gradients go through the squared
distances between the bodies, which know nothing of place and orientation.
"""

import sys

import sympy as sp

import taut

points = [taut.coordinates(f"x{i} y{i} z{i}") for i in range(3)]
q = [s for point in points for s in point]


def square(i: int, j: int) -> sp.Expr:
    """The squared distance between two bodies."""
    return sum((a - b) ** 2 for a, b in zip(points[i], points[j], strict=True))


system = taut.System(
    q,
    mass=[1, 1, 1, 2, 2, 2, 3, 3, 3],
    potential=500 * (sp.sqrt(square(1, 2)) - 1) ** 2,
    constraints={"rod": square(0, 1) - 1},
)
momenta = [system.momenta[3 * i : 3 * i + 3] for i in range(3)]
turn = {
    f"L_{name}": sum(
        r[k - 2] * p[k - 1] - r[k - 1] * p[k - 2] for r, p in zip(points, momenta, strict=True)
    )
    for k, name in enumerate("xyz")
}
run = taut.simulate(
    system,
    q0=[0, 0, 0, 1, 0, 0, 1, 1.05, 0.1],
    v0=[0, 0.5, 0.3, 0, -0.4, 0.75, 0, 0.1, -0.6],
    duration=200,
    step=0.1,
    method="energy-momentum-hidden",
    laws=turn,
)


if __name__ == "__main__":
    print(run.certificate)
    if len(sys.argv) > 1:
        run.plot().savefig(sys.argv[1], dpi=110)
