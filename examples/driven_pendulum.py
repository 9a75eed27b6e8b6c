"""A damped pendulum on a shaken support: forces, a moving constraint, and the energy balance.

The support moves as (0, r sin ωt), fast enough to hold the pendulum upright (Kapitza).  Energy is
not conserved; the certificate shows that it changes by exactly the work that is done.
"""

import sys

import sympy as sp

import taut

x, y = q = taut.coordinates("x y")
vx, vy = taut.velocities(q)
t = taut.t
r, w = sp.symbols("r w")
system = taut.System(
    q,
    mass=[1, 1],
    potential=10 * y,
    constraints={"rod": x**2 + (y - r * sp.sin(w * t)) ** 2 - 1},
    forces=[-0.05 * vx, -0.05 * vy],
    parameters={"r": 0.1, "w": 80.0},
)
run = taut.simulate(system, q0=[0.3, 0.95], v0=0, duration=20, step=1e-3, project=True)


if __name__ == "__main__":
    print(run.certificate)
    print(f"upright after 20 s: y = {run.q[-1, 1]:.3f}")
    if len(sys.argv) > 1:
        run.plot().savefig(sys.argv[1], dpi=110)
