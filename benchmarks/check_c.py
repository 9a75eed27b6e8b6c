"""Check the C RATTLE by independent roads: `python benchmarks/check_c.py`.

The reference is the angle form in 25-digit Taylor arithmetic (mpmath), confirmed by SciPy's
DOP853; neither shares a formula with the C program.
"""

from __future__ import annotations

import tempfile

import c_rattle
import mpmath
import numpy as np
from peers import reference_state
from pendulum import GRAVITY, M1, M2, START, STEP, energy, velocities


def precise_state(t):
    """(q, v) at time t by mpmath's Taylor method with 25 digits, from the angle equations."""
    with mpmath.workdps(25):
        quarter = mpmath.pi / 4

        def rates(_t, y):
            sin, cos = mpmath.sin(y[0] - y[1]), mpmath.cos(y[0] - y[1])
            mass = mpmath.matrix([[M1 + M2, M2 * cos], [M2 * cos, M2]])
            load = mpmath.matrix(
                [
                    -M2 * sin * y[3] ** 2 - (M1 + M2) * GRAVITY * mpmath.sin(y[0]),
                    M2 * sin * y[2] ** 2 - M2 * GRAVITY * mpmath.sin(y[1]),
                ]
            )
            return [y[2], y[3], *mpmath.lu_solve(mass, load)]

        end = mpmath.odefun(rates, 0, [quarter, -quarter, mpmath.mpf(0), mpmath.mpf(0)])(t)
        sin, cos = [mpmath.sin(a) for a in end[:2]], [mpmath.cos(a) for a in end[:2]]
        q = np.array([sin[0], cos[0], sum(sin), sum(cos)], dtype=float)
        return q, velocities(np.array(end[:2], dtype=float), np.array(end[2:], dtype=float))


def show_order(run):
    """Error at t = 2 in q and v against the reference while the step is halved."""
    q_exact, v_exact = precise_state(2)
    print("reference at t = 2: mpmath − DOP853", np.abs(q_exact - reference_state(2.0)[0]).max())
    print(f"{'h':>9} {'error q':>10} {'order':>6} {'error v':>10} {'order':>6}")
    last = None
    for h in 0.01 / 2.0 ** np.arange(-1, 8):
        out = run(START, round(2 / h), h)
        errors = np.abs(out.q[0] - q_exact).max(), np.abs(out.v[0] - v_exact).max()
        orders = np.log2(np.divide(last, errors)) if last else (np.nan, np.nan)
        print(f"{h:9.6f} {errors[0]:10.2e} {orders[0]:6.3f} {errors[1]:10.2e} {orders[1]:6.3f}")
        last = errors


def show_drift(run, blocks=20, steps=500_000):
    """Energy band in consecutive blocks of one run, and the residuals over all of it."""
    q, v, exact = START, None, energy(START, np.zeros(4))
    print(f"{blocks} blocks of {steps} steps of {STEP}: energy − H(0), then residuals")
    means, worst_g, worst_gv = [], 0.0, 0.0
    for _ in range(blocks):
        out = run(q, steps, STEP, v)
        q, v = out.q, out.v
        low, high = out.energy_min[0] - exact, out.energy_max[0] - exact
        means.append((low + high) / 2)
        worst_g, worst_gv = max(worst_g, out.max_g[0]), max(worst_gv, out.max_gv[0])
        print(f"  [{low:.9f}, {high:.3e}]  Newton {out.newton[0] / steps:.3f} per step")
    print(f"band middle: last block − first block {means[-1] - means[0]:.1e}")
    print(f"max |g| {worst_g:.2e}   max |G q̇| {worst_gv:.2e}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        variants = c_rattle.build(folder)
        show_order(variants[c_rattle.SAME_WORK])
        show_drift(variants[c_rattle.SAME_WORK])
        states = {name: run(START, 200_000).q[0] for name, run in variants.items()}
        for name, state in states.items():
            print(f"{name:>24}: q after 2·10⁵ steps {state}")


if __name__ == "__main__":
    main()
