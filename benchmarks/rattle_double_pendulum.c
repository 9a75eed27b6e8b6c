/* RATTLE (Andersen 1983; Hairer, Lubich & Wanner, Geometric Numerical Integration, VII.1.4) for
 * one problem only: the planar double pendulum in Cartesian coordinates, written by hand to be
 * as fast as scalar C goes.  It is the yardstick the compiled steps of taut are held against.
 *
 *     masses 1 and 2, rods of length 1, gravity 10, y down, q = (x1, y1, x2, y2)
 *     U = -10 y1 - 20 y2
 *     g = (|r|^2 - 1, |d|^2 - 1)      r = (x1, y1),  d = (x2 - x1, y2 - y1)
 *
 * One step of length h from (q0, p0):
 *
 *     p_half = p0 - h/2 U_q - G(q0)^T lambda
 *     q1     = q0 + h M^-1 p_half             with lambda such that g(q1) = 0
 *     p1     = p_half - h/2 U_q - G(q1)^T mu  with mu such that G(q1) M^-1 p1 = 0
 *
 * The loop carries the displacement per step w = h M^-1 p in place of p, and the multipliers
 * a = 2 h lambda_1, b = 2 h lambda_2, so that r moves by w1 - a r + b d: a and b are lengths, and
 * a Newton update of them *is* the update of the coordinates, whose scale is 1.
 *
 * Options (0 or 1):
 *     COMPENSATED  compensated summation of q and w
 *     MONITOR      after every step: max |g|, max |G q'|, min and max of the energy
 */
#include <math.h>

#ifndef COMPENSATED
#define COMPENSATED 0
#endif
#ifndef MONITOR
#define MONITOR 0
#endif

/* Worth 5 %: packing these short dependent chains into vectors only lengthens them. */
#pragma GCC optimize("no-tree-slp-vectorize", "rename-registers")

/* Newton converges quadratically: after an update of 1e-9 the next would be below round-off. */
static const double CONVERGED = 1e-9;
enum { NEWTON_LIMIT = 20 };

/* sum += increment; `low` is what rounding took away, and belongs into the next increment. */
static inline void accumulate(double *sum, double increment, double *low)
{
#if COMPENSATED
    const double rounded = *sum + increment;
    *low = increment - (rounded - *sum);
    *sum = rounded;
#else
    (void)low;
    *sum += increment;
#endif
}

static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }

/* March `steps` steps of length h, replacing q[4] and p[4] by the last state.
 * newton_total is the number of Newton iterations, or -1 if a step did not converge (q and p
 * are then the last good state).  max_g[2] = (max |g|, max |G q'|) and
 * energy_minmax[2] = (min H, max H) over all steps are written only if MONITOR is set. */
void rattle_run(double *q, double *p, double h, long steps, double *max_g, long *newton_total,
                double *energy_minmax)
{
    const double fall = 0.5 * h * h * 10.0;
    const double per_h = 1.0 / h;
    double x1 = q[0], y1 = q[1], x2 = q[2], y2 = q[3];
    double wx1 = h * p[0], wy1 = h * p[1], wx2 = 0.5 * h * p[2], wy2 = 0.5 * h * p[3];
    double x1_low = 0, y1_low = 0, x2_low = 0, y2_low = 0;
    double wx1_low = 0, wy1_low = 0, wx2_low = 0, wy2_low = 0;
    double a_1 = 0, a_2 = 0, a_3 = 0, b_1 = 0, b_2 = 0, b_3 = 0; /* of the last three steps */
    double dx = x2 - x1, dy = y2 - y1, rd = x1 * dx + y1 * dy;
    long newton = 0;
#if MONITOR
    double worst_g = 0, worst_gv = 0, lowest = INFINITY, highest = -INFINITY;
#endif

    for (long step = 0; step < steps; step++) {
        /* Displacements without the rods: of r, of the second mass, of d. */
        double free_x1 = wx1, free_y1 = wy1 + fall, free_x2 = wx2, free_y2 = wy2 + fall;
#if COMPENSATED
        free_x1 += x1_low, free_y1 += y1_low, free_x2 += x2_low, free_y2 += y2_low;
#endif
        const double free_dx = free_x2 - free_x1, free_dy = free_y2 - free_y1;

        /* g at the start, and the products the Newton matrix is affine in (|r| = |d| = 1). */
        const double g1_start = x1 * x1 + (y1 * y1 - 1.0), g2_start = dx * dx + (dy * dy - 1.0);
        const double rr_free = 1.0 + (free_x1 * x1 + free_y1 * y1);
        const double rd_free = rd + (free_x1 * dx + free_y1 * dy);
        const double dr_free = rd + (free_dx * x1 + free_dy * y1);
        const double dd_free = 1.0 + (free_dx * dx + free_dy * dy);

        double a = 3.0 * (a_1 - a_2) + a_3, b = 3.0 * (b_1 - b_2) + b_3;
        int left = NEWTON_LIMIT;
        for (;;) {
            /* g(q0 + s) = g(q0) + s (2 q0 + s): exact to round-off of the small s. */
            const double sx = free_x1 - a * x1 + b * dx, sy = free_y1 - a * y1 + b * dy;
            const double ex = free_dx + a * x1 - b * (1.5 * dx);
            const double ey = free_dy + a * y1 - b * (1.5 * dy);
            const double g1 = sx * (sx + 2.0 * x1) + (sy * (sy + 2.0 * y1) + g1_start);
            const double g2 = ex * (ex + 2.0 * dx) + (ey * (ey + 2.0 * dy) + g2_start);
            /* 2 [[-m11, m12], [m21, -m22]] is h G(q1) M^-1 G(q0)^T in (a, b). */
            const double m11 = rr_free - a + b * rd, m12 = rd_free - a * rd + b;
            const double m21 = dr_free + a - b * (1.5 * rd);
            const double m22 = 1.5 * dd_free + a * (1.5 * rd) - b * 2.25;
            const double per_det = 0.5 / (m11 * m22 - m12 * m21);
            const double da = (m22 * g1 + m12 * g2) * per_det;
            const double db = (m21 * g1 + m11 * g2) * per_det;
            a += da;
            b += db;
            newton++;
            if (fabs(da) < CONVERGED && fabs(db) < CONVERGED)
                break;
            if (--left == 0) {
                newton = -1;
                goto done;
            }
        }
        a_3 = a_2, a_2 = a_1, a_1 = a;
        b_3 = b_2, b_2 = b_1, b_1 = b;

        /* Kick of the whole step, still without mu; then the positions. */
        double kx1 = b * dx - a * x1, ky1 = 2.0 * fall + b * dy - a * y1;
        double kx2 = -0.5 * b * dx, ky2 = 2.0 * fall - 0.5 * b * dy;
        const double sx1 = free_x1 - a * x1 + b * dx, sy1 = free_y1 - a * y1 + b * dy;
        const double sx2 = free_x2 - 0.5 * b * dx, sy2 = free_y2 - 0.5 * b * dy;
        accumulate(&x1, sx1, &x1_low), accumulate(&y1, sy1, &y1_low);
        accumulate(&x2, sx2, &x2_low), accumulate(&y2, sy2, &y2_low);
        dx = x2 - x1, dy = y2 - y1, rd = x1 * dx + y1 * dy;

        /* Velocity projection: [[1, -rd], [-rd, 3/2]] mu = (r . w1, d . (w2 - w1)). */
        const double ux1 = wx1 + kx1, uy1 = wy1 + ky1, ux2 = wx2 + kx2, uy2 = wy2 + ky2;
        const double along_r = ux1 * x1 + uy1 * y1;
        const double along_d = (ux2 - ux1) * dx + (uy2 - uy1) * dy;
        const double per_det = 1.0 / (1.5 - rd * rd);
        const double mu1 = (1.5 * along_r + rd * along_d) * per_det;
        const double mu2 = (along_d + rd * along_r) * per_det;
#if COMPENSATED
        kx1 += wx1_low, ky1 += wy1_low, kx2 += wx2_low, ky2 += wy2_low;
#endif
        accumulate(&wx1, kx1 - mu1 * x1 + mu2 * dx, &wx1_low);
        accumulate(&wy1, ky1 - mu1 * y1 + mu2 * dy, &wy1_low);
        accumulate(&wx2, kx2 - 0.5 * mu2 * dx, &wx2_low);
        accumulate(&wy2, ky2 - 0.5 * mu2 * dy, &wy2_low);

#if MONITOR
        const double g1 = fabs(x1 * x1 + (y1 * y1 - 1.0)), g2 = fabs(dx * dx + (dy * dy - 1.0));
        const double gv1 = fabs(2.0 * per_h * (x1 * wx1 + y1 * wy1));
        const double gv2 = fabs(2.0 * per_h * (dx * (wx2 - wx1) + dy * (wy2 - wy1)));
        const double twice_kinetic = wx1 * wx1 + wy1 * wy1 + 2.0 * (wx2 * wx2 + wy2 * wy2);
        const double energy = 0.5 * per_h * per_h * twice_kinetic - 10.0 * y1 - 20.0 * y2;
        worst_g = larger(larger(g1, g2), worst_g);
        worst_gv = larger(larger(gv1, gv2), worst_gv);
        lowest = smaller(energy, lowest), highest = larger(energy, highest);
#endif
    }

done:
    q[0] = x1, q[1] = y1, q[2] = x2, q[3] = y2;
    p[0] = per_h * wx1, p[1] = per_h * wy1, p[2] = 2.0 * per_h * wx2, p[3] = 2.0 * per_h * wy2;
    *newton_total = newton;
#if MONITOR
    max_g[0] = worst_g, max_g[1] = worst_gv;
    energy_minmax[0] = lowest, energy_minmax[1] = highest;
#else
    (void)max_g, (void)energy_minmax, (void)larger, (void)smaller;
#endif
}

/* The same for `starts` pendulums one after the other: row k of q (starts x 4), p, max_g
 * (starts x 2), newton_total (starts) and energy_minmax (starts x 2) belongs to the k-th. */
void rattle_batch(double *q, double *p, double h, long steps, double *max_g, long *newton_total,
                  double *energy_minmax, long starts)
{
    for (long k = 0; k < starts; k++)
        rattle_run(q + 4 * k, p + 4 * k, h, steps, max_g + 2 * k, newton_total + k,
                   energy_minmax + 2 * k);
}
